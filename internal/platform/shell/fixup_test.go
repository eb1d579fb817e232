package shell_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"mvdan.cc/sh/v3/syntax"

	"github.com/burin-dev/burin/internal/platform/shell"
)

func TestStripTail(t *testing.T) {
	tests := []struct {
		in, want string
		removed  []string
	}{
		{`make | tail`, `make`, []string{"| tail"}},
		{`make 2>&1 | tail -20`, `make`, []string{"2>&1", "| tail -20"}},
		{`make |& tail -n 5`, `make`, []string{"|& tail -n 5"}},
		{`make 2>&1`, `make`, []string{"2>&1"}},
		{`go test ./... | grep -v ok | head -n50`, `go test ./... | grep -v ok`, []string{"| head -n50"}},
		{`ls | head -3 | tail -1`, `ls`, []string{"| head -3", "| tail -1"}},
		{`ls|head --lines=3`, `ls`, []string{"|head --lines=3"}},
		{`a | head -c 100 && b | tail -5; c 2>&1 | head & d || e | tail`, `a && b; c & d || e`, []string{"| head -c 100", "| tail -5", "2>&1", "| head", "| tail"}},
		{`grep -w -F x y | head -5`, `grep -w -F x y`, []string{"| head -5"}},
		{`cat x | tail -20 # the end`, `cat x # the end`, []string{"| tail -20"}},
		{`  make | tail  `, `  make  `, []string{"| tail"}},
		{`make 2>&1 | tee log | tail`, `make 2>&1 | tee log`, []string{"| tail"}},
		{`{ a; b; } 2>&1 | tail`, `{ a; b; }`, []string{"2>&1", "| tail"}},
		{`echo 'a | head' "b | tail" | head -1`, `echo 'a | head' "b | tail"`, []string{"| head -1"}},
		// What stays.
		{in: `make >log 2>&1`},
		{in: `make 2>&1 >log`},
		{in: `make 2>&1 | grep x`},
		{in: `tail -20 x`},
		{in: `a | tail -f`},
		{in: `a | tail -n +5`},
		{in: `a | head -n -5`},
		{in: `a | tail x`},
		{in: `a | tail -5 >x`},
		{in: `a | tail -5 | sort`},
		{in: `x=$(a | tail -5)`},
		{in: `(a | tail -5)`},
		{in: `a | tail -$N`},
		{in: `a | A=1 tail`},
		{in: `! a | tail`},
		{in: "a | tail\nb | tail"},
		{in: `a | tail "`},
		{in: ``},
		{in: `| tail`},
		{in: `yes | head`},
		{in: `/usr/bin/yes | cat | head -3`},
		{in: `cat /dev/urandom | head -c 100`},
		{in: `xxd </dev/urandom | head`},
		{in: `while true; do date; done | head`},
		{in: `journalctl -u x -f | head`},
		{in: `$CMD | head`},
		{in: `kubectl logs --follow x | head`},
	}
	for _, tt := range tests {
		want := tt.want
		if tt.removed == nil {
			want = tt.in
		}
		got, removed := shell.StripTail(tt.in)
		if got != want || !cmp.Equal(removed, tt.removed) {
			t.Errorf("%s\ngives %q without %q\nwant  %q without %q", tt.in, got, removed, want, tt.removed)
		}
	}
}

func TestLeadingCd(t *testing.T) {
	tests := []struct{ in, dir, rest string }{
		{`cd /x && make`, "/x", "make"},
		{` cd "a b" && make | tail && x; y `, "a b", "make | tail && x; y"},
		{`cd 'it'\''s' && ls`, "it's", "ls"},
		{`cd a\ b/"c"d && ls`, "a b/cd", "ls"},
		{`cd ~/src && ls`, "~/src", "ls"},
		{`cd ~ && ls`, "~", "ls"},
		{`cd '~' && ls`, "./~", "ls"},
		{`cd a && cd b && ls`, "a", "cd b && ls"},
		{`cd a && ls &`, "a", "ls &"},
		// No folder to take out.
		{in: `cd a`},
		{in: `cd && ls`},
		{in: `cd - && ls`},
		{in: `cd -P a && ls`},
		{in: `cd -- a && ls`},
		{in: `cd $D && ls`},
		{in: `cd "$D" && ls`},
		{in: `cd a* && ls`},
		{in: `cd {a,b} && ls`},
		{in: `cd ~u && ls`},
		{in: `cd $(pwd) && ls`},
		{in: `cd a && ls || x`},
		{in: `cd a || ls`},
		{in: `cd a; ls`},
		{in: `(cd a && ls)`},
		{in: `! cd a && ls`},
		{in: `cd a >x && ls`},
		{in: `A=1 cd a && ls`},
		{in: `ls && cd a`},
		{in: "cd a &&\nls"},
		{in: `cd a && `},
		{in: ``},
		{in: `{ cd a && ls; } >x`},
		{in: `cd '' && ls`},
		{in: `cd a b && ls`},
	}
	for _, tt := range tests {
		dir, rest, ok := shell.LeadingCd(tt.in)
		if want := tt.dir != ""; ok != want || ok && (dir != tt.dir || rest != tt.rest) {
			t.Errorf("%s: %q, %q, %v; want %q, %q", tt.in, dir, rest, ok, tt.dir, tt.rest)
		}
	}
}

func FuzzFixups(f *testing.F) {
	for _, s := range []string{`a 2>&1 | head -5 && b | tail; cd x`, `cd 'x' && a | tail`, "a |& tail &", `cd a\b && x`, "ä | tail", `a | head "\`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, command string) {
		parses := func(s string) bool {
			_, err := syntax.NewParser().Parse(strings.NewReader(s), "")
			return err == nil
		}
		got, removed := shell.StripTail(command)
		if got == command != (len(removed) == 0) {
			t.Fatalf("%q: removed %q", command, removed)
		}
		if len(removed) > 0 && !parses(got) {
			t.Fatalf("%q became %q, which cannot be parsed", command, got)
		}
		if again, more := shell.StripTail(got); again != got {
			t.Fatalf("%q became %q, and that %q without %q", command, got, again, more)
		}
		if dir, rest, ok := shell.LeadingCd(command); ok && (dir == "" || rest == "" || !strings.HasSuffix(strings.TrimSpace(command), rest)) {
			t.Fatalf("%q: %q, %q", command, dir, rest)
		}
	})
}

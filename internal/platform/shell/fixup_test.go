package shell_test

import (
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"

	"github.com/burin-dev/burin/internal/platform/shell"
)

func TestStripTail(t *testing.T) {
	tests := []struct {
		in, want string
		lines    int
	}{
		{`make | tail`, `make`, 10},
		{`make 2>&1 | tail -20`, `make 2>&1`, 20},
		{`make |& tail -n 5`, `make`, 5},
		{`make | tail -n50`, `make`, 50},
		{`make | tail --lines=3 `, `make`, 3},
		{`a | grep -v ok | tail --lines 3`, `a | grep -v ok`, 3},
		{`cat x | tail -20 # the end`, `cat x`, 20},
		{`cd x && make | tail`, `cd x && make`, 10},
		{`cd "$D" && cd y && make | tail`, `cd "$D" && cd y && make`, 10},
		{`{ a; b; } 2>&1 | tail -1`, `{ a; b; } 2>&1`, 1},
		{`echo 'a | tail' | tail -1`, `echo 'a | tail'`, 1},
		// What stays.
		{in: `make 2>&1`},
		{in: `ls | head`},
		{in: `ls | head -3`},
		{in: `ls | tail -3 | head -1`},
		{in: `tail -20 x`},
		{in: `a | tail -f`},
		{in: `a | tail -n +5`},
		{in: `a | tail -n -5`},
		{in: `a | tail -n 0`},
		{in: `a | tail -n 9999999`},
		{in: `a | tail -c 100`},
		{in: `a | tail x`},
		{in: `a | tail -5 x`},
		{in: `a | tail -5 >x`},
		{in: `a | tail -5 | sort`},
		{in: `a | tail -5 &`},
		{in: `a; b | tail -5`},
		{in: `a && b | tail -5`},
		{in: `cd - && b | tail -5`},
		{in: `cd x >y && b | tail -5`},
		{in: `b | tail -5 && a`},
		{in: `a || b | tail -5`},
		{in: `x=$(a | tail -5)`},
		{in: `(a | tail -5)`},
		{in: `a | tail -$N`},
		{in: `a | A=1 tail`},
		{in: `! a | tail`},
		{in: "a | tail\nb | tail"},
		{in: `a | tail "`},
		{in: ``},
		{in: `| tail`},
	}
	for _, tt := range tests {
		got, lines, ok := shell.StripTail(tt.in)
		if ok != (tt.lines > 0) || ok && (got != tt.want || lines != tt.lines) {
			t.Errorf("%s gives %q, %d, %v; want %q, %d", tt.in, got, lines, ok, tt.want, tt.lines)
		}
	}
}

func FuzzStripTail(f *testing.F) {
	for _, s := range []string{`a 2>&1 | tail -5`, `cd 'x' && a | tail`, "a |& tail &", "ä | tail", `a | tail "\`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, command string) {
		rest, lines, ok := shell.StripTail(command)
		if !ok {
			return
		}
		if lines < 1 || !strings.HasPrefix(command, rest) {
			t.Fatalf("%q became %q, %d lines", command, rest, lines)
		}
		if _, err := syntax.NewParser().Parse(strings.NewReader(rest), ""); err != nil {
			t.Fatalf("%q became %q, which cannot be parsed: %v", command, rest, err)
		}
	})
}

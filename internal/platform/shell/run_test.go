package shell_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/internal/platform/shell"
)

// The same commands, one after the other, in every shell.
func TestRun(t *testing.T) {
	long := strings.Repeat("0123456789abcde\n", 5000)
	tests := []struct {
		name, line, want string
		code             int
		env              map[string]string
	}{
		{name: "output", line: `echo one; echo two >&2; printf three`, want: "one\ntwo\nthree"},
		{name: "nothing", line: ``},
		{name: "comment", line: `# nothing`},
		{name: "exit code", line: `(exit 9)`, code: 9},
		{name: "not found", line: `no-such-program-1 2>/dev/null`, code: 127},
		{name: "pipeline", line: `printf 'b\na\n' | sort | tr a-z A-Z`, want: "A\nB\n"},
		{name: "empty input", line: `cat; read x; echo "[$x]"`, want: "[]\n"},
		{name: "several lines", line: "if true; then\n\techo 'it''s'\nfi\nfor i in 1 2; do\n  echo \"$i\"\ndone", want: "its\n1\n2\n"},
		{name: "quotes", line: `echo "a'b" 'c"d' e\ f \\ '$HOME' "\$x"`, want: "a'b c\"d e f \\ $HOME $x\n"},
		{name: "here-document", line: "cat <<'EOF'\n$x `y` 'z'\nEOF\necho after", want: "$x `y` 'z'\nafter\n"},
		{name: "long here-document", line: "cat <<'EOF' | wc -c | tr -d ' '\n" + long + "EOF", want: "80000\n"},
		{name: "unicode", line: `echo 'ä€😀'`, want: "ä€😀\n"},
		{name: "substitution", line: `echo $(echo $(echo in))`, want: "in\n"},
		{name: "variables", line: `echo "$A-$B"; sh -c 'echo "$A-$B"'`, env: map[string]string{"A": "x y", "B": "it's $A \\ \"\n."}, want: "x y-it's $A \\ \"\n.\nx y-it's $A \\ \"\n.\n"},
		{name: "variables are gone", line: `echo "[$A$B]"; sh -c 'echo "[$A$B]"'`, want: "[]\n[]\n"},
		{name: "stray break", line: `break 2>/dev/null; echo on`, want: "on\n"},
		{name: "colours", line: `printf '\033[31mred\033[0m\r\n'`, want: "red\n"},
		{name: "progress", line: `printf '10%%\r20%%\rdone\n'`, want: "done\n"},
		{name: "not UTF-8", line: `printf 'a\377b\n'`, want: "a\uFFFDb\n"},
		{name: "no file descriptors", line: `ls -l /dev/fd/8 /dev/fd/9 2>/dev/null | wc -l | tr -d ' '`, want: "0\n"},
	}
	table := func(t *testing.T, kind string) {
		s := open(t, shell.Options{Shell: kind})
		for _, tt := range tests {
			o := run(t, s, shell.Command{Line: tt.line, Env: tt.env})
			want := tt.want
			if tt.name == "stray break" && o.Output.Text == "" {
				want = "" // a shell that ends the line there
			}
			if o.Output.Text != want || o.ExitCode != tt.code || o.Note != "" {
				t.Errorf("%s: %q, code %d, note %q\nwant %q, code %d", tt.name, o.Output.Text, o.ExitCode, o.Note, want, tt.code)
			}
		}
	}
	eachKind(t, table)
	// Shells that are another one under a name of their own.
	for name, program := range map[string]string{"ash": "busybox", "sh": "bash", "mksh": "mksh"} {
		path, err := exec.LookPath(program)
		if err != nil {
			continue
		}
		link := filepath.Join(tempDir(t), name)
		if err := os.Symlink(path, link); err != nil {
			t.Skip(err)
		}
		t.Run(program+" as "+name, func(t *testing.T) { table(t, link) })
	}
}

func TestTheShellRemembers(t *testing.T) {
	eachKind(t, func(t *testing.T, kind string) {
		dir := tempDir(t)
		if err := os.MkdirAll(filepath.Join(dir, "sub folder", "it's"), 0o700); err != nil {
			t.Fatal(err)
		}
		s := open(t, shell.Options{Shell: kind, Dir: dir})
		s.Warm()
		o := says(t, s, `cd 'sub folder'; A=1; export B=2; f() { echo "f $1"; }; set -f`, "")
		if want := filepath.Join(dir, "sub folder"); o.Dir != want {
			t.Errorf("the shell is in %s, want %s", o.Dir, want)
		}
		says(t, s, `basename "$PWD"; echo $A; sh -c 'echo [$A$B]'; f x; echo *`, "sub folder\n1\n[2]\nf x\n*\n")
		// A folder for one command.
		o = run(t, s, shell.Command{Line: `pwd; cd ..`, Dir: filepath.Join(dir, "sub folder", "it's")})
		if want := filepath.Join(dir, "sub folder", "it's") + "\n"; o.Output.Text != want {
			t.Errorf("in a given folder: %q, want %q", o.Output.Text, want)
		}
		says(t, s, `basename "$PWD"; unset B; sh -c 'echo [$B]'`, "sub folder\n[]\n")
		o = run(t, s, shell.Command{Line: "set -e; echo a; false; echo b", Dir: dir})
		if o.Output.Text != "a\n" || o.ExitCode != 1 || filepath.Base(o.Dir) != "sub folder" {
			t.Errorf("set -e in a given folder: %+v", o)
		}
		// A failing command does not end the shell of the next one.
		says(t, s, `set -e; true`, "")
		if o := run(t, s, shell.Command{Line: `false; echo on`}); o.Output.Text != "on\n" || o.Note != "" {
			t.Errorf("after set -e of an earlier command: %q, note %q", o.Output.Text, o.Note)
		}
	})
}

func TestCommandsThatEndTheShell(t *testing.T) {
	t.Parallel()
	tests := []struct {
		line, want string
		code       int

		notBuiltin, onlyBuiltin bool
	}{
		{line: `f() { f; }; f`, code: 2, onlyBuiltin: true},
		{line: `echo a; exit 7`, want: "a\n", code: 7},
		{line: `set -e; echo a; false; echo b`, want: "a\n", code: 1},
		{line: `exec sh -c 'echo replaced; exit 3'`, want: "replaced\n", code: 3},
		{line: `kill -9 $$`, code: 137, notBuiltin: true},
		{line: `echo a; kill $$; sleep 5; echo b`, want: "a\n", code: 143, notBuiltin: true},
		{line: `kill -9 $PPID; sleep 5`, code: 137, notBuiltin: true},
	}
	eachKind(t, func(t *testing.T, kind string) {
		dir := tempDir(t)
		s := open(t, shell.Options{Shell: kind, Dir: dir})
		says(t, s, `mkdir d; cd d; export KEPT="a 'b' \"c\"
d"; LOST=1`, "")
		for _, tt := range tests {
			if kind == "builtin" && tt.notBuiltin || kind != "builtin" && tt.onlyBuiltin {
				continue
			}
			o := run(t, s, shell.Command{Line: `cd /; export NEW=1; ` + tt.line})
			if o.Output.Text != tt.want || o.ExitCode != tt.code {
				t.Errorf("%s: %q with code %d, want %q with %d", tt.line, o.Output.Text, o.ExitCode, tt.want, tt.code)
			}
			if !strings.Contains(o.Note, "ended") || !strings.Contains(o.Note, filepath.Join(dir, "d")) {
				t.Errorf("%s: the note does not tell of the end: %q", tt.line, o.Note)
			}
			o = says(t, s, `basename "$PWD"; sh -c 'echo "$KEPT[$LOST$NEW]"'`, "d\na 'b' \"c\"\nd[]\n")
			if o.Note != "" {
				t.Errorf("after %s: another note: %q", tt.line, o.Note)
			}
		}
	})
}

// Nothing that a command does to its shell keeps the next command from running.
func TestTheProtocolHolds(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	lines := []string{
		`set`, `set -x`, `set -v`, `set -u`, `set -a`, `IFS=x`, `unset PATH`, `exec >/dev/null 2>&1`, `exec >&- 2>&-`,
		`exec 8>&- 9>&-`, `for i in 3 4 5 6 7 8 9; do eval "echo x >&$i"; done`, `printf '\036%s\036\0' x 0 / y`,
		`trap 'echo trap; printf "\0\0\0\0"' EXIT`, `trap 'echo err' ERR`, `trap 'echo debug' DEBUG`, `trap '' TERM INT HUP PIPE`,
		`printf() { echo mine; }; pwd() { echo mine; }; cd() { echo mine; }; set() { echo mine; }`,
		`alias printf=false pwd=false export=false eval=false command=false for=false`,
		`umask 777`, `echo "unbalanced`, `echo 'unbalanced`, `echo $(`, `cat <<EOF`, `if true`, `)`, `;;`, `}`, "`",
		`_burin=1`, `head -c 1000000 /dev/zero`, `sleep 0.01 & wait`, `continue; break`, `readonly PWD OLDPWD HOME`,
		`cd /; cd -`, `PWD=/nowhere`, `unset PWD HOME`, `exec 0<&-`, `read -r a b </proc/self/environ`, `true & disown`,
		`readonly _burin`, `declare -r _burin=1`, `set -r`, `set -C`, `set -k`, `set -t`, `set -o posix`, `ulimit -f 0`, `ulimit -t 1`, `exec 1>/dev/full`, `typeset -fr command`,
		`for i in 10 11 12 13 14 15 20 255; do eval "exec $i>&-"; done`, `for i in 10 11 12 13; do eval "echo x >&$i"; done`, `command() { exit 4; }`, `trap 'exit 3' DEBUG`, `trap 'kill -9 $$' EXIT; exit`,
		`exec 0</dev/zero`, `echo 99999999 >/proc/$$/fd/0`, `export LC_ALL=ja_JP.SJIS`, `TMOUT=1`, `IFS=0123456789`, `readonly IFS PATH`, `set -o history -o vi`, `for ((;;)); do break 99; done`,
		`shopt -s expand_aliases nullglob extdebug; alias printf=false`, `return 3`, `enable -n printf`, `hash -r`,
	}
	for _, kind := range kinds()[1:] {
		t.Run(filepath.Base(kind), func(t *testing.T) {
			t.Parallel()
			s := open(t, shell.Options{Shell: kind})
			for _, line := range lines {
				run(t, s, shell.Command{Line: line, Timeout: time.Minute})
				o := run(t, s, shell.Command{Line: `echo "ok"; PATH=/bin:/usr/bin`, Timeout: time.Minute})
				text := strings.TrimPrefix(o.Output.Text, "debug\n")
				if strings.HasPrefix(line, "set -x") {
					text = o.Output.Text[strings.LastIndex(o.Output.Text, "\nok")+1:]
				}
				if !strings.Contains(text, "ok\n") || o.TimedOut {
					t.Errorf("after %s: %q, note %q", line, o.Output.Text, o.Note)
				}
				run(t, s, shell.Command{Line: `kill -9 $$`}) // a fresh one for the next
			}
		})
	}
}

func TestBackgroundProcessesOfTheShell(t *testing.T) {
	for _, kind := range kinds()[1:] {
		t.Run(filepath.Base(kind), func(t *testing.T) {
			t.Parallel()
			s := open(t, shell.Options{Shell: kind})
			// The command ends although its child holds the output open.
			o := says(t, s, `mkfifo go; (read x <go; echo late; echo done >done; exec sleep 60) & echo started`, "started\n")
			if o.Elapsed > 40*time.Second {
				t.Errorf("the command took %s: it waited for its child", o.Elapsed)
			}
			says(t, s, `echo now >go; while ! [ -s done ]; do :; done`, "late\n")
			says(t, s, `rm done; (read x <go; printf later; echo done >done) & true`, "")
			if err := os.WriteFile(filepath.Join(o.Dir, "go"), []byte("now\n"), 0); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the child has written", func() bool {
				b, err := os.ReadFile(filepath.Join(o.Dir, "done"))
				return err == nil && len(b) > 0
			})
			says(t, s, `echo next`, "[background processes have written since the last command]\nlater\n[end]\nnext\n")
			says(t, s, `echo next`, "next\n")
			// Of much of it the end is shown.
			says(t, s, `rm done; (read x <go; seq 5000; echo done >done) & true`, "")
			if err := os.WriteFile(filepath.Join(o.Dir, "go"), []byte("now\n"), 0); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the child has written", func() bool {
				b, err := os.ReadFile(filepath.Join(o.Dir, "done"))
				return err == nil && len(b) > 0
			})
			text := run(t, s, shell.Command{Line: `echo next`}).Output.Text
			if !strings.HasPrefix(text, "[the end of what background") || !strings.HasSuffix(text, "\n4999\n5000\n[end]\nnext\n") || len(text) > 9<<10 {
				t.Errorf("much output of a child: %d bytes: %.100q", len(text), text)
			}
		})
	}
}

func TestTimeout(t *testing.T) {
	eachKind(t, func(t *testing.T, kind string) {
		dir := tempDir(t)
		s := open(t, shell.Options{Shell: kind, Dir: dir})
		says(t, s, `export A=1`, "")
		o := run(t, s, shell.Command{
			Line:    `export A=2; (sleep 60; echo no) & setsid sleep 60 & echo begin; sleep 60; echo end`,
			Timeout: time.Millisecond, // is raised to a second
		})
		if text := o.Output.Text; !strings.HasPrefix(text, "begin\n") || strings.Contains(text, "end") || !o.TimedOut || o.Cancelled || o.ExitCode != -1 || o.Timeout != time.Second {
			t.Errorf("outcome: %+v", o)
		}
		if o.Elapsed < time.Second || o.Elapsed > 40*time.Second {
			t.Errorf("it took %s", o.Elapsed)
		}
		if !strings.Contains(o.Note, "killed") {
			t.Errorf("note: %q", o.Note)
		}
		says(t, s, `echo $A`, "1\n")
		if kind != "builtin" { // a shell that stands still
			if o := run(t, s, shell.Command{Line: `kill -STOP $$`, Timeout: time.Second}); !o.TimedOut || o.Elapsed > 40*time.Second {
				t.Errorf("a stopped shell: %+v", o)
			}
			says(t, s, `echo $A`, "1\n")
		}
		for _, p := range living(t, dir) {
			if strings.Contains(p, "sleep") {
				t.Errorf("still there: %s", p)
			}
		}
	})
}

func TestCancel(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, kind string) {
		s := open(t, shell.Options{Shell: kind})
		tests := []struct {
			name, line, want string
			least, most      time.Duration
		}{
			{"a loop", `echo begin; while :; do :; done`, "begin\n", 0, time.Second},
			{"a program", `sh -c 'trap "echo bye; exit" TERM; echo begin; while :; do sleep 0.05; done'; echo on`, "begin\nbye\n", 0, time.Second},
			{"a stubborn one", `sh -c 'trap "" TERM; echo begin; while :; do sleep 0.05; done'`, "begin\n", 2 * time.Second, 3 * time.Second},
		}
		for _, tt := range tests {
			var took time.Duration
			for range 10 { // on a machine that does something else it may take longer
				if took = cancelled(t, s, tt.line, tt.want); took <= pacetest.Within(tt.most) {
					break
				}
			}
			if took < tt.least-100*time.Millisecond || took > pacetest.Within(tt.most) {
				t.Errorf("%s: it took %s to end", tt.name, took)
			}
		}
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if _, err := s.Run(ctx, shell.Command{Line: "touch ran"}, nil); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled before it began: %v", err)
		}
		says(t, s, "ls", "")
	})
}

// cancelled runs a command, cancels it when it has begun, checks what it has written and
// says how long it took to end.
func cancelled(t *testing.T, s *shell.Shells, line, want string) (took time.Duration) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	begun := time.Now()
	o, err := s.Run(ctx, shell.Command{Line: line}, func(text string) {
		if strings.Contains(text, "begin") {
			begun = time.Now()
			cancel()
		}
	})
	took = time.Since(begun)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(o.Output.Text, "Terminated\n", "") // which some shells say
	if text != want || !o.Cancelled || o.TimedOut || o.ExitCode != -1 {
		t.Errorf("%s: %+v", line, o)
	}
	return took
}

// While the shell is busy a command has one of its own, with the same folder and
// variables.
func TestCommandsAtTheSameTime(t *testing.T) {
	eachKind(t, func(t *testing.T, kind string) {
		s := open(t, shell.Options{Shell: kind})
		says(t, s, `mkdir d; cd d; mkfifo go; export A=1; B=2`, "")
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		var once sync.Once
		begun := make(chan struct{})
		first := make(chan *shell.Outcome, 1)
		go func() {
			o, err := s.Run(ctx, shell.Command{Line: `echo begin; cat go; C=3`}, func(string) { once.Do(func() { close(begun) }) })
			if err != nil {
				t.Error(err)
			}
			first <- o
		}()
		<-begun
		o := says(t, s, `basename "$PWD"; echo "$A$B"; A=9; cd /`, "d\n1\n")
		if o.Note != "" || filepath.Base(o.Dir) != "d" {
			t.Errorf("note %q, folder %s", o.Note, o.Dir)
		}
		says(t, s, `echo now >go`, "")
		if o := <-first; o.Output.Text != "begin\nnow\n" || o.ExitCode != 0 {
			t.Errorf("the first: %+v", o)
		}
		says(t, s, `basename "$PWD"; echo "$A$B$C"`, "d\n123\n")
	})
}

func TestManyAtOnce(t *testing.T) {
	pacetest.Costly(t)
	eachKind(t, func(t *testing.T, kind string) {
		s := open(t, shell.Options{Shell: kind})
		s.Warm()
		var wg sync.WaitGroup
		for i := range 24 {
			wg.Go(func() {
				text := strings.Repeat(strconv.Itoa(i), 3000)
				o, err := s.Run(context.Background(), shell.Command{Line: "echo $A; exit " + strconv.Itoa(i), Env: map[string]string{"A": text}}, func(string) {})
				if err != nil {
					t.Error(err)
					return
				}
				if o.ExitCode != i || o.Output.Text != text[:768]+"…\n" {
					t.Errorf("%d: code %d, %d bytes", i, o.ExitCode, len(o.Output.Text))
				}
			})
		}
		wg.Wait()
		says(t, s, "echo ok", "ok\n")
	})
}

func TestBadCommands(t *testing.T) {
	dir := tempDir(t)
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := open(t, shell.Options{Dir: dir})
	tests := []struct {
		c    shell.Command
		want string
	}{
		{shell.Command{Line: "a\x00b"}, "NUL"},
		{shell.Command{Line: strings.Repeat("x", shell.MaxLine+1)}, "100001 bytes, at most 100000"},
		{shell.Command{Line: "true", Dir: "relative"}, "not absolute"},
		{shell.Command{Line: "true", Dir: filepath.Join(dir, "none")}, "does not exist: " + filepath.Join(dir, "none")},
		{shell.Command{Line: "true", Dir: file}, "not a directory: " + file},
		{shell.Command{Line: "true", Dir: dir + "\x00"}, "NUL"},
		{shell.Command{Line: "true", Env: map[string]string{"A-B": ""}}, `"A-B"`},
		{shell.Command{Line: "true", Env: map[string]string{"A=B": ""}}, `"A=B"`},
		{shell.Command{Line: "true", Env: map[string]string{"A": "\x00"}}, "A contains a NUL"},
	}
	for _, tt := range tests {
		if _, err := s.Run(context.Background(), tt.c, nil); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Run: %v, want %q in it", err, tt.want)
		}
		if _, err := s.Start(tt.c); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Start: %v, want %q in it", err, tt.want)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := tempDir(t)
	tests := []struct {
		o    shell.Options
		want string
	}{
		{shell.Options{Dir: "."}, "not absolute"},
		{shell.Options{Dir: filepath.Join(dir, "none")}, "does not exist"},
		{shell.Options{Dir: dir, Shell: "/bin/zsh"}, `give it bash, sh or "builtin"`},
		{shell.Options{Dir: dir, Shell: "/none/bash"}, "/none/bash cannot be used"},
		{shell.Options{Dir: dir, Env: map[string]string{"A B": ""}}, `"A B"`},
	}
	for _, tt := range tests {
		if _, err := shell.Open(tt.o); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: %v, want %q in it", tt.o, err, tt.want)
		}
	}
}

// A folder that is removed under the shell does not stop it, but a command that was
// meant for that folder does not run in another.
func TestTheFolderIsGone(t *testing.T) {
	eachKind(t, func(t *testing.T, kind string) {
		dir := tempDir(t)
		s := open(t, shell.Options{Shell: kind, Dir: dir})
		refused := func() {
			t.Helper()
			_, err := s.Run(context.Background(), shell.Command{Line: "touch ran"}, nil)
			if err == nil || !strings.Contains(err.Error(), "is gone, so the command was not run; the shell is in "+dir) {
				t.Errorf("in a folder that is gone: %v", err)
			}
			says(t, s, `pwd; ls`, dir+"\n")
		}
		says(t, s, `mkdir d; cd d`, "")
		if err := os.Remove(filepath.Join(dir, "d")); err != nil {
			t.Fatal(err)
		}
		refused()
		says(t, s, `mkdir e; cd e; rmdir ../e`, "")
		refused()
		says(t, s, `mkdir e; cd e`, "")
		if err := os.Remove(filepath.Join(dir, "e")); err != nil {
			t.Fatal(err)
		}
		if o := run(t, s, shell.Command{Line: "pwd", Dir: dir}); o.Output.Text != dir+"\n" || o.Dir != dir {
			t.Errorf("with a folder of its own: %+v", o)
		}
		says(t, s, `pwd; mkdir e; cd e`, dir+"\n")
		if err := os.Remove(filepath.Join(dir, "e")); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Start(shell.Command{Line: "touch ran"}); err == nil {
			t.Error("a job runs where the shell was not")
		}
		says(t, s, `pwd; ls`, dir+"\n")
	})
}

// A shell that does not start says why.
func TestTheShellDoesNotStart(t *testing.T) {
	for script, want := range map[string]string{
		"#!/bin/sh\necho it is broken >&2\nexit 3\n": "bash does not start: it is broken",
		"#!/bin/sh\nexit 3\n":                        "bash does not start: it ends with code 3",
	} {
		path := filepath.Join(tempDir(t), "bash")
		if err := os.WriteFile(path, []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
		s := open(t, shell.Options{Shell: path})
		s.Warm()
		if _, err := s.Run(context.Background(), shell.Command{Line: "true"}, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q in it", err, want)
		}
		if err := os.WriteFile(path, []byte("#!/bin/sh\nexec sleep 60"), 0o700); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		if _, err := s.Run(ctx, shell.Command{Line: "true"}, nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("of a shell that hangs: %v", err)
		}
		cancel()
	}
}

// A shell that ends between two commands is replaced before the second.
func TestTheShellDiesAlone(t *testing.T) {
	for _, kind := range kinds()[1:] {
		s := open(t, shell.Options{Shell: kind})
		o := says(t, s, `mkfifo go; export A=1; B=2; (read x <go; kill -9 $$; echo >go) &`, "")
		if err := os.WriteFile(filepath.Join(o.Dir, "go"), []byte("now\n"), 0); err != nil {
			t.Fatal(err)
		}
		var note string
		eventually(t, "the shell has ended", func() bool {
			o := run(t, s, shell.Command{Line: `echo $A$B`})
			note += o.Note
			return o.Output.Text == "1\n"
		})
		if !strings.Contains(note, "ended") {
			t.Errorf("%s: note %q", kind, note)
		}
	}
}

func TestLinksAreResolved(t *testing.T) {
	dir := tempDir(t)
	real := filepath.Join(dir, "real")
	link := filepath.Join(dir, "link")
	if err := os.Mkdir(real, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, link); err != nil {
		t.Skip(err)
	}
	s := open(t, shell.Options{Dir: link})
	says(t, s, `pwd`, real+"\n")
	if o := run(t, s, shell.Command{Line: "pwd", Dir: link}); o.Output.Text != real+"\n" {
		t.Errorf("in a link: %q", o.Output.Text)
	}
}

func TestPrefix(t *testing.T) {
	s := open(t, shell.Options{Prefix: "env PREFIXED=5"})
	says(t, s, "printenv PREFIXED", "5\n")
}

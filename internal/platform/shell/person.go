package shell

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/platform/process"
)

// person is the shell that runs a person's own commands.
type person struct {
	kind kind
	path string
	// args is the command line that runs a command in zsh or fish, which are not driven like
	// sh; nil: the shell is.
	args func(line, token string) []string
}

// Person is the shell of a person for Options.Own, where $SHELL is the value: bash, zsh or
// fish. Any other is "", since burin may not know how to run a command in it.
func Person(value string) string {
	if runtime.GOOS == "windows" || !filepath.IsAbs(value) {
		return ""
	}
	switch filepath.Base(value) {
	case "bash", "zsh", "fish":
		if path, err := locate(value); err == nil {
			return path
		}
	}
	return ""
}

// findPerson gives the shell that Options.Own asks for.
func findPerson(name string) (person, error) {
	args := zshArgs
	switch base := strings.TrimSuffix(strings.ToLower(filepath.Base(name)), ".exe"); {
	case base == "zsh":
	case base == "fish":
		args = fishArgs
	case base == "bash", slices.Contains(posixShells, base), name == builtinName:
		k, path, err := find(name)
		return person{kind: k, path: path}, err
	default:
		return person{}, fmt.Errorf("%s cannot run your own commands: userShellPath wants bash, zsh, fish, sh or %q", name, builtinName)
	}
	path, err := locate(name)
	if err != nil {
		return person{}, fmt.Errorf("the shell %s cannot be used: %w", name, err)
	}
	return person{path: path, args: args}, nil
}

// zshArgs and fishArgs run a command behind the start-up files: zsh reads them if it is
// interactive, fish always. The command's output follows a mark, since start-up files may
// print too; then the shell reports on standard error, which the command does not hold.
func zshArgs(line, token string) []string {
	return []string{"-i", "-c", `\builtin printf '%s' '` + beginMark(token) + `'` + "\n" +
		`\builtin eval ` + posix.quote(line) + " </dev/null 2>&1\n" +
		`\builtin printf '%s\0%s\0%s\0' ` + token + ` "$?" "$PWD" >&2`}
}

func fishArgs(line, token string) []string {
	quoted := "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(line) + "'"
	return []string{"-c", `builtin printf '%s' '` + beginMark(token) + `'` + "\n" +
		"begin; eval " + quoted + "; end </dev/null 2>&1\n" +
		`builtin printf '%s\0%s\0%s\0' ` + token + ` "$status" "$PWD" >&2`}
}

// PersonIsBash reports whether a person's commands are read by bash or sh, so that what is
// known of such commands holds for them.
func (s *Shells) PersonIsBash() bool { return s.person.args == nil }

// visit runs a person's command in zsh or fish.
func (s *Shells) visit(ctx context.Context, r request, onOutput func(string)) (*Outcome, error) {
	st := s.current()
	token := newToken()
	args := s.person.args(r.line, token)
	if len(args[len(args)-1]) > maxArgument {
		return nil, fmt.Errorf("the command is too long for %s: write it into a file and run that", s.person.path)
	}
	files, err := pipes(2)
	if err != nil {
		return nil, fmt.Errorf("start a command: %w", err)
	}
	out := s.capture(onOutput)
	v := &visitor{token: token, begin: splitter{mark: beginMark(token)}, out: out}
	reports := startPump(files[1].r, &v.report)
	began := time.Now()
	v.program, err = start(launch{
		path: s.person.path, args: args, options: process.Options{Dir: st.dir, Env: s.shellEnv(st, confinement{})},
		stdout: files[0].w, stderr: files[1].w, out: files[0].r, to: v,
		after: func(*program) { reports.finish() },
	})
	if err != nil {
		reports.finish()
		out.close()
		return nil, fmt.Errorf("start the shell %s: %w", s.person.path, err)
	}
	o := &Outcome{}
	s.supervise(ctx.Done(), v, o, began)
	o.Elapsed = time.Since(began)
	v.settle()
	if !v.res.ended && !o.Cancelled {
		if dir, err := folder(v.res.state.dir); err == nil {
			s.bringBack(dir)
		}
	}
	o.Dir = s.current().dir
	conclude(o, v.res, out, nil)
	return o, nil
}

// visitor is a command in a shell that runs it and reports once.
type visitor struct {
	*program
	token  string
	begin  splitter
	begun  bool // the output is that of the command
	before late // what the start-up files print
	report late
	out    *capture
	res    result
}

var _ task = (*visitor)(nil)

func (v *visitor) finished() <-chan struct{} { return v.ended }
func (v *visitor) result() result            { return v.res }

// Write takes what comes out of the shell.
func (v *visitor) Write(p []byte) (int, error) {
	n := len(p)
	if !v.begun {
		var noise []byte
		noise, p, v.begun = v.begin.split(p)
		v.before.add(noise)
		if !v.begun {
			return n, nil
		}
	}
	_, _ = v.out.Write(p)
	return n, nil
}

// settle reads the report of a shell that has ended. Where the command never began, what
// the shell said instead is its output.
func (v *visitor) settle() {
	v.res = result{code: v.code, ended: true}
	if !v.begun {
		_, _ = v.out.Write(v.before.buf)
		_, _ = v.out.Write(v.report.buf)
		return
	}
	_, text, _ := strings.Cut(string(v.report.buf), v.token+"\x00")
	f := strings.Split(text, "\x00")
	if len(f) != 3 {
		return // it has ended with the command
	}
	if code, err := strconv.Atoi(f[0]); err == nil {
		v.res = result{code: code, state: state{dir: f[1]}}
	}
}

// Write makes late a place for the end of what is written.
func (l *late) Write(p []byte) (int, error) {
	l.add(p)
	return len(p), nil
}

var _ io.Writer = (*late)(nil)

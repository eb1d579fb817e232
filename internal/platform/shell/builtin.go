package shell

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/interp"
	"mvdan.cc/sh/v3/syntax"
)

// interpreterName is the first argument of a burin that is an interpreter.
const interpreterName = "(shell)"

// Main is the shell in burin if this process was started as one, and then does not
// return. main calls it right after process.Main, and so does TestMain in packages
// that use that shell.
//
// It is a process of its own, as any shell: what a command does to it, endless
// recursion for instance, it does not do to burin, and a sandbox confines it.
func Main() {
	if len(os.Args) < 2 || os.Args[1] != interpreterName {
		return
	}
	debug.SetMaxStack(16 << 20) // a gigabyte would be filled before endless recursion ends
	in, err := newInterpreter()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(126)
	}
	if len(os.Args) == 4 && os.Args[2] == "-c" {
		os.Exit(in.script(os.Args[3]))
	}
	os.Exit(in.serve(os.Stdin, os.Stdout, os.Stderr))
}

// self is the executable of burin.
func self() (string, error) {
	if runtime.GOOS == "linux" {
		return "/proc/self/exe", nil // right even if the file was replaced by an update
	}
	path, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find burin's executable: %w", err)
	}
	return path, nil
}

// interpreter runs commands one after the other.
type interpreter struct {
	ctx    context.Context // ends when this process is asked to end
	runner *interp.Runner
}

func newInterpreter() (*interpreter, error) {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		if s, ok := (<-signals).(syscall.Signal); ok {
			cancel(interp.ExitStatus(128 + int(s)))
		}
	}()
	// Programs get the signal themselves, and are waited for. The pause is for the
	// goroutines on the way from the signal to ctx, so that nothing more is run.
	patient := func(next interp.ExecHandlerFunc) interp.ExecHandlerFunc {
		return func(programs context.Context, args []string) error {
			err := next(context.WithoutCancel(programs), args)
			pause := time.NewTimer(signalTime(err))
			defer pause.Stop()
			select {
			case <-ctx.Done():
			case <-pause.C:
			}
			return err
		}
	}
	r, err := interp.New(interp.ExecHandlers(patient), interp.StdIO(os.Stdin, os.Stdout, os.Stderr))
	if err != nil {
		return nil, fmt.Errorf("start the shell in burin: %w", err)
	}
	r.Reset()
	return &interpreter{ctx: ctx, runner: r}, nil
}

// signalTime is how long a signal to this process may be on its way when a program
// has ended with err. What ended a program by SIGINT or SIGTERM, Ctrl-C for instance,
// nearly always meant the whole group, so ours is waited for however busy the machine
// is; a program that was meant alone costs that wait once.
func signalTime(err error) time.Duration {
	var status interp.ExitStatus
	if errors.As(err, &status) && (status == 128+interp.ExitStatus(syscall.SIGINT) || status == 128+interp.ExitStatus(syscall.SIGTERM)) {
		return time.Second
	}
	return time.Millisecond
}

// script runs a whole text, and gives the exit code.
func (in *interpreter) script(text string) int {
	file, err := syntax.NewParser().Parse(strings.NewReader(text), "")
	if err != nil {
		fmt.Fprintf(os.Stderr, "sh: %v\n", err)
		return 2
	}
	return in.code(in.runner.Run(in.ctx, file))
}

// The frames that the interpreter reads are fields, each ended by NUL: the token,
// and of the request move, dir, back, line, the variables, and an empty field.
func interpreterFrame(r request, token string) string {
	fields := append([]string{token, r.move, r.dir, r.back, r.line}, r.env...)
	return strings.Join(fields, "\x00") + "\x00\x00"
}

func readInterpreterFrame(from *bufio.Reader) (r request, token string, err error) {
	for _, field := range []*string{&token, &r.move, &r.dir, &r.back, &r.line} {
		if *field, err = readField(from); err != nil {
			return r, "", err
		}
	}
	for {
		v, err := readField(from)
		if err != nil || v == "" {
			return r, token, err
		}
		r.env = append(r.env, v)
	}
}

// serve runs the commands that it reads, until one of them ends the shell. A first
// report says that it is ready.
func (in *interpreter) serve(from io.Reader, out *os.File, reports io.Writer) int {
	null, err := os.Open(os.DevNull)
	if err != nil {
		fmt.Fprintln(reports, err)
		return 126
	}
	_ = interp.StdIO(null, out, out)(in.runner) // files cannot fail
	in.report(reports, newToken(), 0)
	frames := bufio.NewReader(from)
	for {
		r, token, err := readInterpreterFrame(frames)
		if err != nil {
			return 0 // burin has ended
		}
		_, _ = out.WriteString(beginMark(token))
		code, ended := in.run(r, out)
		if ended {
			return code
		}
		in.eval("set +e")
		_, _ = out.WriteString(endMark(token))
		in.report(reports, token, code)
	}
}

// run runs the statements of r one after the other, as a prompt does: an exit trap
// waits for the exit.
func (in *interpreter) run(r request, out *os.File) (code int, ended bool) {
	file, err := syntax.NewParser().Parse(strings.NewReader(r.line), "")
	if err != nil {
		fmt.Fprintf(out, "sh: %v\n", err)
		return 2, false
	}
	if r.move != "" {
		in.eval("cd " + literalWord(r.move))
	}
	if r.dir != "" {
		if code := in.eval("cd " + literalWord(r.dir)); code != 0 {
			return code, false
		}
		defer in.eval("cd " + literalWord(r.back))
	}
	defer in.scope(r.env)()
	for _, stmt := range file.Stmts {
		err = in.runner.Run(in.ctx, stmt)
		if in.runner.Exited() || in.ctx.Err() != nil {
			return in.code(err), true
		}
	}
	return in.code(err), false
}

// scope sets the variables of one command, and gives what sets them back.
func (in *interpreter) scope(env []string) func() {
	var restore []string
	for _, v := range env {
		name, value, _ := strings.Cut(v, "=")
		old, ok := in.runner.Vars[name]
		switch {
		case !ok || !old.IsSet():
			restore = append(restore, "unset "+name)
		case old.Exported:
			restore = append(restore, "export "+name+"="+literalWord(old.String()))
		default:
			restore = append(restore, "unset "+name+"; "+name+"="+literalWord(old.String()))
		}
		in.eval("export " + name + "=" + literalWord(value))
	}
	return func() {
		for _, text := range restore {
			in.eval(text)
		}
	}
}

// eval runs a line of burin's own.
func (in *interpreter) eval(line string) int {
	file, err := syntax.NewParser().Parse(strings.NewReader(line), "")
	if err != nil {
		return 2
	}
	for _, stmt := range file.Stmts {
		err = in.runner.Run(context.Background(), stmt)
	}
	return in.code(err)
}

// code is the exit code that an error of the runner stands for.
func (in *interpreter) code(err error) int {
	if in.ctx.Err() != nil {
		err = context.Cause(in.ctx)
	}
	var status interp.ExitStatus
	switch {
	case err == nil:
		return 0
	case errors.As(err, &status):
		return int(status)
	}
	return 1
}

// report prints what a real shell's frame prints.
func (in *interpreter) report(w io.Writer, token string, code int) {
	dir := in.runner.Dir
	if !isDir(dir) {
		dir = ""
	}
	var exports []string
	for name, v := range in.runner.Vars {
		if v.Exported && v.IsSet() && v.Kind == expand.String {
			exports = append(exports, "export "+name+"="+posix.quote(v.Str)+"\n")
		}
	}
	slices.Sort(exports)
	fmt.Fprintf(w, "%s\x00%d\x00%s\n\x00%s\x00", token, code, dir, strings.Join(exports, ""))
}

// literalWord is a word that the interpreter takes literally. It does not take the
// \' of quote in an assignment.
func literalWord(s string) string {
	word, err := syntax.Quote(s, syntax.LangBash)
	if err != nil { // a NUL, which was refused before
		return "''"
	}
	return word
}

package script

import (
	"bufio"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"
	"time"
	"unicode/utf8"

	"modernc.org/quickjs"
)

// marker is the only argument of the engine's process.
const marker = "(script)"

//go:embed prelude.js
var prelude string

// Main runs the engine if this process was started as one, and then does not return. It is one of the first
// calls of main, and of TestMain in packages that run programs.
func Main() {
	if len(os.Args) != 2 || os.Args[1] != marker {
		return
	}
	debug.SetMemoryLimit(4 * maxHeap)
	debug.SetMaxStack(64 << 20)
	if err := serve(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// machine is a program that runs.
type machine struct {
	vm       *quickjs.VM
	in       *bufio.Reader
	out      *json.Encoder
	library  string // whose code runs
	kept     int    // bytes that were printed
	dropped  int
	deadline time.Time
	limit    time.Duration
}

// halted is what a program that has called halt is left with: a panic, which it can't catch.
type halted struct{}

var errTime = errors.New("the time is over")

func serve(in io.Reader, out io.Writer) error {
	m := &machine{in: bufio.NewReaderSize(in, 64<<10), out: json.NewEncoder(out)}
	m.out.SetEscapeHTML(false)
	var s start
	if err := m.read(&s); err != nil {
		return err
	}
	m.limit, m.deadline = s.Time, time.Now().Add(s.Time)
	vm, err := quickjs.NewVM()
	if err != nil {
		return err
	}
	m.vm = vm
	vm.SetMemoryLimit(maxHeap)
	e := m.run(s)
	return m.out.Encode(message{Dropped: m.dropped, End: &e})
}

// run runs a program to its end, which halt and an empty heap are, too.
func (m *machine) run(s start) (e end) {
	defer func() {
		switch r := recover(); r.(type) {
		case nil:
		case halted:
			e = end{Result: "Halted", Failed: true, Halted: true}
		default:
			panic(r)
		}
	}()
	drive, err := m.prepare(s.Files)
	if err != nil {
		return m.failure(err)
	}
	for _, l := range s.Libraries {
		m.library = l.Name
		if err := m.eval(l.Code); err != nil {
			if errors.Is(err, errTime) || m.late() {
				return m.failure(errTime)
			}
			m.print("ERROR", "It failed, and the program runs without the rest of it: "+m.failure(err).Result)
		}
	}
	m.library = ""
	m.rest()
	// On one line, so that errors name the lines of the program; the end is on one of its own for the sake of comments.
	code, err := m.vm.EvalValue(`(async function () { "use strict"; `+s.Code+"\n})", quickjs.EvalGlobal)
	if err != nil {
		return m.failure(err)
	}
	m.rest()
	if _, err := drive.Call(quickjs.UndefinedValue, "start", code); err != nil {
		return m.failure(err)
	}
	for {
		if err := m.jobs(); err != nil {
			return m.failure(err)
		}
		if state, _ := m.ask(drive, "state"); state != "running" {
			said, err := m.ask(drive, "outcome")
			if err != nil {
				return m.failure(err)
			}
			return end{Result: said, Failed: state == "failed"}
		}
		m.rest()
		wait, err := drive.Call(quickjs.UndefinedValue, "due")
		if err != nil {
			return m.failure(err)
		}
		if err := m.wait(wait); err != nil {
			return m.failure(err)
		}
	}
}

// prepare makes the global scope of a program. What it gives back drives the program.
func (m *machine) prepare(files bool) (quickjs.Value, error) {
	for name, f := range map[string]quickjs.HostFunc{
		"__print": func(a []any) (any, error) { m.print(text(a, 0), text(a, 1)); return nil, nil },
		"__halt":  func([]any) (any, error) { panic(halted{}) },
		"__text":  func(a []any) (any, error) { return transcode(text(a, 0), text(a, 1)) },
		"__file":  func(a []any) (any, error) { return m.file(text(a, 0)) },
	} {
		if err := m.vm.RegisterHostFunc(name, f); err != nil {
			return quickjs.Value{}, err
		}
	}
	drive, err := m.vm.EvalValue(prelude, quickjs.EvalGlobal)
	if err == nil && !files {
		_, err = m.vm.Eval("delete globalThis.fs", quickjs.EvalGlobal)
	}
	return drive, err
}

func text(args []any, i int) string {
	if i >= len(args) {
		return ""
	}
	s, _ := args[i].(string)
	return s
}

// transcode turns text into base64 of its UTF-8 and back. nil: it isn't UTF-8, which was asked for.
func transcode(how, s string) (any, error) {
	if how == "encode" {
		return base64.StdEncoding.EncodeToString([]byte(s)), nil
	}
	raw, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		return nil, err
	}
	if how == "decodeFatal" && !utf8.Valid(raw) {
		return nil, nil
	}
	return string([]rune(string(raw))), nil
}

func (m *machine) print(level, s string) {
	room := MaxOutput - m.kept
	if room <= 0 {
		m.dropped += len(s)
		return
	}
	if len(s) > room {
		m.dropped += len(s) - room
		s = strings.ToValidUTF8(s[:room], "")
	}
	m.kept += len(s) + 1
	m.say(message{Print: &Line{Library: m.library, Level: level, Text: s}})
}

// file asks the process that started this one.
func (m *machine) file(ask string) (string, error) {
	var c fileCall
	if err := json.Unmarshal([]byte(ask), &c); err != nil {
		return "", err
	}
	m.say(message{File: &c})
	answer, err := m.in.ReadString('\n')
	if err != nil {
		panic(err)
	}
	return answer, nil
}

// say panics when nobody listens any more: then the program's process has no purpose.
func (m *machine) say(what message) {
	if err := m.out.Encode(what); err != nil {
		panic(err)
	}
}

func (m *machine) read(to any) error {
	line, err := m.in.ReadBytes('\n')
	if err != nil {
		return err
	}
	return json.Unmarshal(line, to)
}

func (m *machine) late() bool { return !time.Now().Before(m.deadline) }

// rest gives the next call of the engine what is left of the time.
func (m *machine) rest() {
	_ = m.vm.SetEvalTimeout(max(time.Until(m.deadline), time.Millisecond))
}

func (m *machine) eval(code string) error {
	m.rest()
	v, err := m.vm.EvalValue(code, quickjs.EvalGlobal)
	if err != nil {
		return err
	}
	v.Free()
	return m.jobs()
}

// jobs runs what promises wait for.
func (m *machine) jobs() error {
	for {
		if m.late() {
			return errTime
		}
		m.rest()
		if n, err := m.vm.ExecutePendingJobs(); n == 0 || err != nil {
			return err
		}
	}
}

func (m *machine) ask(drive quickjs.Value, what string) (string, error) {
	got, err := drive.Call(quickjs.UndefinedValue, what)
	if err != nil {
		return "failed", err
	}
	s, _ := got.(string)
	return s, nil
}

// wait waits for the next timer, which is due in so many milliseconds.
func (m *machine) wait(due any) error {
	var ms float64
	switch n := due.(type) {
	case int:
		ms = float64(n)
	case float64:
		ms = n
	}
	if ms < 0 {
		if n, err := m.vm.ExecutePendingJobs(); n > 0 || err != nil {
			return err
		}
		return errors.New("Error: Promise did not resolve: nothing is left that could resolve it")
	}
	// No timer is waited for that is due when the time is over.
	left := time.Until(m.deadline)
	if ms >= float64(left.Milliseconds()) {
		time.Sleep(left)
		return errTime
	}
	time.Sleep(time.Duration(ms * float64(time.Millisecond)))
	return nil
}

// failure is the end of a program that an error ended.
func (m *machine) failure(err error) end {
	var thrown *quickjs.Error
	switch {
	case errors.Is(err, errTime) || m.late():
		return end{Result: timedOut(m.limit), Failed: true}
	case errors.As(err, &thrown) && thrown.Name == "":
		// No memory was left to say what went wrong.
		said := err.Error()
		if said == "null" {
			said = "InternalError: out of memory"
		}
		return end{Result: said, Failed: true}
	case errors.As(err, &thrown):
		said := thrown.Name + ": " + thrown.Message
		if thrown.LineNumber > 0 {
			said += fmt.Sprintf(" (line %d)", thrown.LineNumber)
		}
		if stack := strings.TrimRight(thrown.Stack, "\n"); stack != "" {
			said += "\n" + stack[:min(len(stack), 2000)]
		}
		return end{Result: said, Failed: true}
	}
	return end{Result: err.Error(), Failed: true}
}

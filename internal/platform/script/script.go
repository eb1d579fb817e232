// Package script runs JavaScript that a model wrote.
//
// The engine is QuickJS, in a process of its own that [Main] recognizes: burin's executable once
// more. It is C that was translated to Go, so a mistake in it could be used against the process it
// is in. That process holds nothing, gets no environment, can start no program, reaches no network
// and, under Linux with Landlock, opens no file; on macOS it could read files, on Windows only the engine keeps the program in,
// which has no function for any of that.
//
// A program is the body of a strict async function. It finds ECMAScript 2023 without Intl and modules,
// and console, setTimeout, setInterval, TextEncoder, TextDecoder, btoa, atob, queueMicrotask,
// performance.now, self, halt and fs. Whatever it does in fs is done by [Files], in the caller's process.
//
// # Limits
//
// A program and its libraries have [MaxTime] together, and a heap of 64 MB. What it prints is kept up
// to [MaxOutput], as is its result; what is left out is said. As many run at a time as [New] says, others wait.
package script

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/platform/sandbox"
)

const (
	// MaxTime is how long a program runs.
	MaxTime = 60 * time.Second
	// MaxOutput is how many bytes of what a program prints, and of its result, are kept.
	MaxOutput = 256 << 10

	maxHeap    = 64 << 20
	maxMessage = 64 << 20        // of the engine's process: the largest file as base64, with room
	grace      = 5 * time.Second // after MaxTime until the process is killed
)

// Program is what is run.
type Program struct {
	Code string
	// Libraries are run before, one after the other, in the global scope.
	Libraries []Library
	// Files does what the program does with files. nil: it has none.
	Files Files
	// Time is how long it runs, at most [MaxTime], which 0 is, too.
	Time time.Duration
}

// Library is code that is run before a program.
type Library struct {
	Name string `json:"name"`
	Code string `json:"code"`
}

// Files does what a program asks of fs. What went wrong is a [*FileError] if the program can do something about it.
type Files func(ctx context.Context, ask FileCall) (FileAnswer, error)

// FileCall is one call of fs. Op is read, write, exists, mkdir, readdir, unlink, rmdir, rename or stat.
type FileCall struct {
	Op   string
	Path string
	To   string // of rename
	Data []byte // of write
}

// FileAnswer is what fs gives back.
type FileAnswer struct {
	Data   []byte   `json:"data,omitempty"`
	Names  []string `json:"names,omitempty"`
	Exists bool     `json:"exists,omitempty"`
	Stat   *Stat    `json:"stat,omitempty"`
}

// Stat is what is known of a file.
type Stat struct {
	Dir      bool   `json:"dir,omitempty"`
	Size     int64  `json:"size,omitempty"`
	ReadOnly bool   `json:"readOnly,omitempty"`
	Modified int64  `json:"modified,omitempty"` // milliseconds since 1970
	Binary   bool   `json:"binary,omitempty"`
	MIME     string `json:"mime,omitempty"`
}

// FileError is what a program can catch: its code is that of Node, such as ENOENT.
type FileError struct{ Code, Text string }

func (e *FileError) Error() string { return e.Code + ": " + e.Text }

// Line is what a program printed. Library is "" for the program itself.
type Line struct {
	Library string
	Level   string // LOG, INFO, WARN, ERROR or DEBUG
	Text    string
}

// Outcome is what has become of a program.
type Outcome struct {
	Printed []Line
	Dropped int    // bytes that it printed and that aren't kept
	Result  string // what it returned as text, or the error that it ended with
	Failed  bool
	Halted  bool // it called halt, and has no result
}

// Engine runs programs.
type Engine struct{ slots chan struct{} }

// New makes an engine that runs so many programs at a time.
func New(atATime int) *Engine { return &Engine{slots: make(chan struct{}, atATime)} }

// Run runs a program to its end. An error says that it could not be run; what went wrong in the program is
// in its outcome. When ctx ends, the program does, and what it wrote stays written.
func (e *Engine) Run(ctx context.Context, p Program) (*Outcome, error) {
	select {
	case e.slots <- struct{}{}:
		defer func() { <-e.slots }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if p.Time <= 0 || p.Time > MaxTime {
		p.Time = MaxTime
	}
	ctx, cancel := context.WithTimeout(ctx, p.Time+grace)
	defer cancel()
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("run JavaScript: find burin's executable: %w", err)
	}
	cmd := exec.CommandContext(ctx, self, marker)
	cmd.Env = []string{"TZ=UTC"}
	in, toEngine, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("run JavaScript: %w", err)
	}
	fromEngine, out, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("run JavaScript: %w", err), in.Close(), toEngine.Close())
	}
	cmd.Stdin, cmd.Stdout = in, out
	var said tail
	cmd.Stderr = &said
	ended := make(chan error, 1)
	go func() {
		err := sandbox.Sealed(cmd)
		if errors.Is(err, sandbox.ErrCannotIsolate) {
			err = cmd.Run() // see the package's comment
		}
		ended <- err
		_, _ = in.Close(), out.Close() // so that nobody waits for the process any more
	}()
	outcome, err := p.drive(ctx, toEngine, fromEngine)
	if err != nil {
		cancel()
	}
	_, _ = toEngine.Close(), fromEngine.Close()
	failed := <-ended
	switch {
	case err != nil:
		return nil, fmt.Errorf("run JavaScript: %w", err)
	case outcome.done:
		return &outcome.Outcome, nil
	case ctx.Err() == context.DeadlineExceeded:
		outcome.Result, outcome.Failed = timedOut(p.Time), true
		return &outcome.Outcome, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case strings.Contains(said.String(), "out of memory") || strings.Contains(said.String(), "stack overflow"):
		outcome.Result, outcome.Failed = "InternalError: out of memory", true
		return &outcome.Outcome, nil
	}
	return nil, fmt.Errorf("run JavaScript: the engine ended: %w: %s", failed, firstLine(said.String()))
}

func timedOut(limit time.Duration) string {
	return fmt.Sprintf("Error: Execution timeout (%gs)", limit.Seconds())
}

// Messages between the processes are JSON, one to a line. The engine gets a start, and an answer to each of its calls.
type start struct {
	Code      string        `json:"code"`
	Libraries []Library     `json:"libraries,omitempty"`
	Time      time.Duration `json:"time"`
	Files     bool          `json:"files,omitempty"`
}

// message is what the engine says: a line that was printed, a call of fs, or the end.
type message struct {
	Print   *Line     `json:"print,omitempty"`
	Dropped int       `json:"dropped,omitempty"`
	File    *fileCall `json:"file,omitempty"`
	End     *end      `json:"end,omitempty"`
}

type fileCall struct {
	Op   string  `json:"op"`
	Path string  `json:"path"`
	To   string  `json:"to,omitempty"`
	Data []byte  `json:"data,omitempty"`
	Text *string `json:"text,omitempty"`
}

type fileAnswer struct {
	FileAnswer
	Code  string `json:"code,omitempty"`
	Error string `json:"error,omitempty"`
}

type end struct {
	Result string `json:"result"`
	Failed bool   `json:"failed,omitempty"`
	Halted bool   `json:"halted,omitempty"`
}

type partial struct {
	Outcome
	done bool
}

// drive tells the engine's process what to run, and answers it until it ends. What the process says is not
// trusted: the program may have taken it over.
func (p Program) drive(ctx context.Context, to io.Writer, from io.Reader) (*partial, error) {
	enc := json.NewEncoder(to)
	o := &partial{}
	if err := enc.Encode(start{Code: p.Code, Libraries: p.Libraries, Time: p.Time, Files: p.Files != nil}); err != nil {
		return o, nil // it ended at once: Run says why
	}
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, maxMessage)
	kept := 0
	for lines.Scan() {
		var m message
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			return nil, fmt.Errorf("the engine said what isn't a message: %w", err)
		}
		o.Dropped += m.Dropped
		switch {
		case m.Print != nil:
			if kept += len(m.Print.Text) + 1; kept > MaxOutput+1 {
				o.Dropped += len(m.Print.Text)
				continue
			}
			o.Printed = append(o.Printed, *m.Print)
		case m.File != nil && p.Files != nil:
			if err := enc.Encode(p.file(ctx, m.File)); err != nil {
				return o, nil
			}
		case m.End != nil:
			o.Result, o.Failed, o.Halted, o.done = cut(m.End.Result), m.End.Failed, m.End.Halted, true
			return o, nil
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return nil, fmt.Errorf("the engine said more than %d bytes at once", maxMessage)
	}
	return o, nil
}

func (p Program) file(ctx context.Context, c *fileCall) fileAnswer {
	if c.Text != nil {
		c.Data = []byte(*c.Text)
	}
	got, err := p.Files(ctx, FileCall{Op: c.Op, Path: c.Path, To: c.To, Data: c.Data})
	if err == nil {
		return fileAnswer{FileAnswer: got}
	}
	if wrong, ok := errors.AsType[*FileError](err); ok {
		return fileAnswer{Code: wrong.Code, Error: wrong.Error()}
	}
	return fileAnswer{Code: "EIO", Error: "EIO: " + err.Error()}
}

// cut keeps what fits of a result.
func cut(s string) string {
	if len(s) <= MaxOutput {
		return s
	}
	return strings.ToValidUTF8(s[:MaxOutput], "") + fmt.Sprintf("\n[%d more bytes]", len(s)-MaxOutput)
}

// tail keeps the beginning of what a process says on standard error, which holds the reason.
type tail struct{ strings.Builder }

func (t *tail) Write(p []byte) (int, error) {
	if room := 4096 - t.Len(); room > 0 {
		t.Builder.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}

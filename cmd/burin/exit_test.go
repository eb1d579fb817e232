package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/host/words"
	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/anthropic"
	"github.com/burin-dev/burin/llm/llmtest"
	"github.com/burin-dev/burin/transcript"
	"github.com/burin-dev/burin/transcript/place"
)

// command is the real program: this binary under burin's name, with a home of
// its own and nothing of the environment.
func command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	cmd := exec.Command(self)
	cmd.Args = append([]string{"burin"}, args...)
	cmd.Dir = home
	cmd.Env = []string{
		"HOME=" + home, "BURIN_HOME=" + home + "/burin", "BURIN_NO_KEYRING=1", "PATH=" + os.Getenv("PATH"),
		"TMPDIR=" + home, "GORACE=" + noPause, "SYSTEMROOT=" + os.Getenv("SYSTEMROOT"),
	}
	return cmd
}

func exitCode(t *testing.T, err error) int {
	t.Helper()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	}
	t.Fatal(err)
	return 0
}

func TestExitCodes(t *testing.T) {
	t.Parallel()
	all := []struct {
		args []string
		want int
	}{
		{[]string{"--version"}, exitDone},
		{[]string{"keys", "remove", "7"}, exitFailed},
		{[]string{"--nope"}, exitUsage},
		{[]string{"help"}, exitDone},
		{[]string{"models", "--all", "claude"}, exitDone},
		{[]string{"-p", "hi", "--model", "x/y", "--base-url", "http://127.0.0.1:1"}, exitFailed},
		{[]string{"-p"}, exitUsage},
		{[]string{"keys", "remove"}, exitUsage},
	}
	for _, tt := range all[:pacetest.Cases(3, len(all))] {
		var out, errs bytes.Buffer
		cmd := command(t, tt.args...)
		cmd.Stdout, cmd.Stderr = &out, &errs
		if code := exitCode(t, cmd.Run()); code != tt.want {
			t.Errorf("%v: exit code %d, want %d; %s", tt.args, code, tt.want, &errs)
		}
		if failed := tt.want != exitDone; failed != (errs.Len() > 0) || failed == (out.Len() > 0) {
			t.Errorf("%v: wrote %q, and %q on standard error", tt.args, &out, &errs)
		}
	}
}

// What could not be written is not taken for done.
func TestFullOutput(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("needs /dev/full")
	}
	file := sessionIn(t, t.TempDir(), transcript.Options{}, message(llm.RoleUser, llm.Text{Text: "Hi."}), message(llm.RoleAssistant, llm.Text{Text: "Hello."}))
	for _, args := range [][]string{
		{"--version"},
		{"help"},
		{"help", "sessions"},
		{"sessions", "--help"},
		{"completion", "bash"},
		{"models", "--all", "claude"},
		{"keys", "add", "openai"},
		{"sessions", "show", file},
		{"sessions", "show", file, "--json"},
		{"sessions", "replay", file},
		{"sessions", "replay", file, "--mode", "json"},
		{"sessions", "fork", file},
		{"sessions", "export", file, "-o", "-"},
		{"sessions", "list", "--json"},
		{"usage", "--json"},
		{"sessions", "delete", file},
	} {
		full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		var errs bytes.Buffer
		cmd := command(t, args...)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader("sk-proj-aaaaaaaaaaaaaaaaaaaaaaaa"), full, &errs
		if code := exitCode(t, cmd.Run()); code != exitFailed || !strings.Contains(errs.String(), "no space left on device\n") {
			t.Errorf("%v: exit code %d, says %q", args, code, &errs)
		}
		full.Close()
	}
}

// Who does not want to read on is told nothing about it.
func TestClosedOutput(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	defer w.Close()
	var errs bytes.Buffer
	p := program{in: os.Stdin, out: w, err: &errs, getenv: func(string) string { return "" }}
	if code := p.run([]string{"--version"}); code != exitFailed || errs.Len() > 0 {
		t.Errorf("exit code %d, says %q", code, &errs)
	}
}

// watched is a writer that tells when a text has been written to it.
type watched struct {
	want string
	seen chan struct{}

	mu  sync.Mutex
	buf bytes.Buffer
}

func (w *watched) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	before := strings.Contains(w.buf.String(), w.want)
	w.buf.Write(b)
	if !before && strings.Contains(w.buf.String(), w.want) {
		close(w.seen)
	}
	return len(b), nil
}

func (w *watched) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.buf.String()
}

// promptly is the time within which an interrupt ends the program, on a quiet machine.
const promptly = 100 * time.Millisecond

// interrupt starts a prompt, sends it a signal when ready is closed, and
// returns what it wrote and how long it took to end.
func interrupt(t *testing.T, cmd *exec.Cmd, out io.Writer, ready <-chan struct{}, signal os.Signal) time.Duration {
	t.Helper()
	var errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = out, &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case <-ready:
	case err := <-ended:
		t.Fatalf("ended before it was interrupted: %v; %s", err, &errs)
	case <-time.After(2 * time.Minute):
		_ = cmd.Process.Kill()
		t.Fatalf("is not ready to be interrupted; %s", &errs)
	}
	began := time.Now()
	if err := cmd.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-ended:
		took := time.Since(began)
		if code := exitCode(t, err); code != exitInterrupted {
			t.Errorf("exit code %d, want %d; %s", code, exitInterrupted, &errs)
		}
		if got := errs.String(); got != "burin: interrupted\n" {
			t.Errorf("said %q", got)
		}
		return took
	case <-time.After(2 * time.Minute):
		_ = cmd.Process.Kill()
		t.Fatal("goes on after the signal")
	}
	return 0
}

func TestInterrupt(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("os.Process.Signal cannot interrupt a process on windows")
	}
	t.Run("while the answer stands still", func(t *testing.T) {
		best(t, func(t *testing.T) time.Duration {
			srv, err := llmtest.Serve(anthropic.Server{}, llmtest.Script{Turns: []llmtest.Turn{{
				Parts: []llmtest.Part{{Text: "only the beginning of it"}}, Fault: llmtest.Fault{StallAfterEvents: 4},
			}}})
			if err != nil {
				t.Fatal(err)
			}
			defer srv.Close()
			out := &watched{want: "only the", seen: make(chan struct{})}
			cmd := command(t, "-p", "hi", "--no-tools", "--model", "x/y", "--api", "anthropic-messages", "--base-url", srv.URL)
			took := interrupt(t, cmd, out, out.seen, os.Interrupt)
			if got := out.String(); !strings.HasPrefix(got, "only the") || !strings.HasSuffix(got, "\n") {
				t.Errorf("what had come: %q", got)
			}
			return took
		})
	})
	t.Run("in JSON", func(t *testing.T) {
		srv, err := llmtest.Serve(anthropic.Server{}, llmtest.Script{Turns: []llmtest.Turn{{
			Parts: []llmtest.Part{{Text: "only the beginning of it"}}, Fault: llmtest.Fault{StallAfterEvents: 4},
		}}})
		if err != nil {
			t.Fatal(err)
		}
		defer srv.Close()
		out := &watched{want: `"delta":"only`, seen: make(chan struct{})}
		cmd := command(t, "-p", "hi", "--mode", "json", "--model", "x/y", "--api", "anthropic-messages", "--base-url", srv.URL)
		interrupt(t, cmd, out, out.seen, os.Interrupt)
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		if end := lines[len(lines)-1]; !strings.HasPrefix(end, `{"type":"agent_settled"`) || !strings.Contains(end, `"reason":"aborted"`) {
			t.Errorf("the last line is %s", end)
		}
		if end := lines[len(lines)-2]; !strings.HasPrefix(end, `{"type":"agent_end"`) || !strings.Contains(end, `"stopReason":"aborted"`) {
			t.Errorf("the last line is %s", end)
		}
	})
	for name, signal := range map[string]os.Signal{"before the answer begins": os.Interrupt, "by SIGTERM": syscall.SIGTERM} {
		t.Run(name, func(t *testing.T) {
			best(t, func(t *testing.T) time.Duration {
				asked := make(chan struct{})
				srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
					_, _ = io.Copy(io.Discard, r.Body) // only then does net/http notice that the client has gone
					close(asked)
					<-r.Context().Done()
				}))
				defer srv.Close()
				var out bytes.Buffer
				cmd := command(t, "-p", "hi", "--model", "x/y", "--base-url", srv.URL)
				took := interrupt(t, cmd, &out, asked, signal)
				if out.Len() > 0 {
					t.Errorf("wrote %q", &out)
				}
				return took
			})
		})
	}
	t.Run("while standard input is open", func(t *testing.T) {
		best(t, func(t *testing.T) time.Duration {
			cmd := command(t, "-p", "--model", "x/y", "--base-url", "http://127.0.0.1:1")
			in, write, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer write.Close()
			defer in.Close()
			cmd.Stdin = in
			// It is ready when it has taken what is in the pipe.
			taken := make(chan struct{})
			go func() {
				defer close(taken)
				_, _ = write.Write(make([]byte, 256<<10)) // more than a pipe holds
			}()
			return interrupt(t, cmd, io.Discard, taken, os.Interrupt)
		})
	})
}

// best allows for a machine that is busy: one of many tries must be prompt.
func best(t *testing.T, try func(*testing.T) time.Duration) {
	t.Helper()
	var took []time.Duration
	limit := pacetest.Within(promptly)
	for range 20 {
		d := try(t)
		if d < limit {
			return
		}
		took = append(took, d)
	}
	t.Errorf("took %v to end, want less than %v", took, limit)
}

// A session that another burin has open is not written; what can be done instead is said,
// and can be done.
func TestSessionOpenElsewhere(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	ctx := context.Background()
	dir := t.TempDir()
	said := []transcript.Entry{message(llm.RoleUser, llm.Text{Text: "Hi."}), message(llm.RoleAssistant, llm.Text{Text: "Hello."})}
	file := sessionIn(t, dir, transcript.Options{}, said...)
	database := filepath.Join(dir, "talks.db") + "#review"
	for _, name := range []string{file, database} {
		open := func() (*transcript.Log, error) {
			l, _, err := place.Open(ctx, name, nil, transcript.Options{})
			return l, err
		}
		if name == database {
			open = func() (*transcript.Log, error) {
				return place.Create(ctx, name, nil, false, transcript.Header{CWD: "/p"}, transcript.Options{})
			}
		}
		l, err := open()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		for _, e := range said {
			if _, err := l.Append(e); err != nil {
				t.Fatal(err)
			}
		}
		for _, args := range [][]string{
			{"-p", "again", "--resume", name, "--model", "x/y", "--base-url", "http://127.0.0.1:1"},
			{"-p", "again", "--session", name, "--model", "x/y", "--base-url", "http://127.0.0.1:1"},
			{"sessions", "handoff", name, "--model", "x/y", "--base-url", "http://127.0.0.1:1"},
		} {
			var errs bytes.Buffer
			cmd := command(t, args...)
			cmd.Stderr = &errs
			want := "burin: session " + words.ShortPath(name) + " is open in another burin: close it there, or take a copy that burin sessions fork makes"
			if args[0] == "-p" {
				want += ", or ask without it, with --no-session"
			}
			if code := exitCode(t, cmd.Run()); code != exitFailed || errs.String() != want+"\n" {
				t.Errorf("%v: exit code %d, says %q, want %q", args, code, &errs, want)
			}
		}
		var errs bytes.Buffer
		cmd := command(t, "sessions", "fork", name)
		cmd.Stderr = &errs
		if code := exitCode(t, cmd.Run()); code != exitDone {
			t.Errorf("fork %s: exit code %d, says %q", name, code, &errs)
		}
	}
}

// message is an entry in which someone says something.
func message(role llm.Role, content ...llm.Block) transcript.Entry {
	return transcript.Entry{Type: transcript.TypeMessage, Message: &llm.Message{Role: role, Content: content}}
}

// sessionIn writes a session of the folder /p under root and gives its file.
func sessionIn(t *testing.T, root string, o transcript.Options, entries ...transcript.Entry) string {
	t.Helper()
	path, id := transcript.NewPath(root, "/p", time.Now())
	l, err := transcript.Create(transcript.CreateFile(path), transcript.Header{ID: id, CWD: "/p"}, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if _, err := l.Append(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

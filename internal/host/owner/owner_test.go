package owner_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/burin-dev/burin/internal/host/owner"
	"github.com/burin-dev/burin/internal/platform/ipc"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/anthropic"
	"github.com/burin-dev/burin/llm/wire"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/session/handletest"
	"github.com/burin-dev/burin/session/remote"
	"github.com/burin-dev/burin/tool/permit"
	"github.com/burin-dev/burin/transcript"
)

// ownerVariable has the test be the owner of a session, in a process of its own: how, the
// file and the data folder, a line each. Nobody that an owner has started may join it.
const ownerVariable = "OWNER_TEST"

func TestMain(m *testing.M) {
	if as := os.Getenv(ownerVariable); as != "" {
		if err := own(strings.Split(as, "\n")); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	// The library of pipes on Windows has one goroutine that waits for all of them, for good.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/Microsoft/go-winio.ioCompletionProcessor"))
}

// own owns a session until standard input ends, or as it is told.
func own(as []string) error {
	how, path, place := as[0], as[1], owner.Place{Data: as[2], Getenv: func(string) string { return "not used" }}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // however it ends
		cancel()
	}()
	jobs := func() []session.Job { return []session.Job{{ID: "1"}, {ID: "2", Running: how == "busy"}} }
	if how == "terminal" {
		h, err := place.Join(ctx, path, how, true, func() (*session.Session, error) { return open(path, jobs) })
		if err != nil {
			return err
		}
		fmt.Println("owns:", h.Owns())
		<-ctx.Done()
		return h.Close()
	}
	s, err := open(path, jobs)
	if err != nil {
		return err
	}
	b, err := place.Background(s)
	if err != nil {
		return errors.Join(err, s.Close())
	}
	fmt.Println("owns:", b.Owns())
	fmt.Println(b.Wait(ctx, 500*time.Millisecond))
	return b.Close()
}

func background(jobs func() []session.Job) session.Background {
	if jobs == nil {
		return nil
	}
	return handletest.Background{OnList: jobs}
}

// open opens a session, as the one process that may.
func open(path string, jobs func() []session.Job) (*session.Session, error) {
	log, _, err := transcript.OpenSession(path, transcript.Options{})
	if err != nil {
		return nil, err
	}
	return session.New(session.Options{
		Client: anthropic.New(anthropic.Options{Endpoint: wire.Endpoint{BaseURL: "http://127.0.0.1:1"}}), Log: log, Path: path, Jobs: background(jobs),
		Request: llm.Request{Model: &llm.Model{ID: "m", Provider: "anthropic", API: llm.APIAnthropic, ContextWindow: 200_000, MaxOutput: 1000}},
	})
}

// desk is a place with a session file.
type desk struct {
	testing.TB
	owner.Place
	path string
}

func atDesk(t testing.TB) *desk {
	t.Helper()
	dir := t.TempDir()
	d := &desk{TB: t, path: filepath.Join(dir, "s.jsonl")}
	d.Place = owner.Place{Data: filepath.Join(dir, "data"), Getenv: func(string) string { return "not used" }}
	if err := os.Mkdir(d.Data, 0o700); err != nil {
		t.Fatal(err)
	}
	log, err := transcript.Create(transcript.CreateFile(d.path), transcript.Header{ID: "x", CWD: dir}, transcript.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []llm.Message{llm.UserText("hello"), {Role: llm.RoleAssistant, Content: []llm.Block{llm.Text{Text: "Hello."}}}} {
		if _, err := log.Append(transcript.Entry{Type: transcript.TypeMessage, Message: &m}); err != nil {
			t.Fatal(err)
		}
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	return d
}

// takePipe has another listener hold the name of the session's pipe.
func (d *desk) takePipe() {
	d.Helper()
	path, err := filepath.EvalSymlinks(d.path)
	if err != nil {
		d.Fatal(err)
	}
	address, err := ipc.Address(path, d.Data, d.Getenv)
	if err != nil {
		d.Fatal(err)
	}
	l, err := ipc.Listen(address)
	if err != nil {
		d.Fatal(err)
	}
	d.Cleanup(func() { l.Close() }) //nolint:errcheck // it held a name only
}

// other is a process that owns the session.
type other struct {
	t   testing.TB
	cmd *exec.Cmd
	in  io.Closer
	out *bufio.Reader
}

func (d *desk) other(how string) *other {
	d.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), ownerVariable+"="+how+"\n"+d.path+"\n"+d.Data)
	in, err := cmd.StdinPipe()
	if err != nil {
		d.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		d.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		d.Fatal(err)
	}
	d.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()
	})
	o := &other{d, cmd, in, bufio.NewReader(out)}
	if line := o.line(); line != "owns: true" {
		d.Fatalf("the owner says %q", line)
	}
	return o
}

func (o *other) line() string {
	line, _ := o.out.ReadString('\n') // "" where it has ended
	return strings.TrimSuffix(line, "\n")
}

func (d *desk) join(name string, answers bool) session.Handle {
	d.Helper()
	h, err := d.Join(d.Context(), d.path, name, answers, func() (*session.Session, error) { return open(d.path, nil) })
	if err != nil {
		d.Fatal(err)
	}
	d.Cleanup(func() { h.Close() }) //nolint:errcheck // it may have been closed
	return h
}

// The first who joins owns the session, the others are its clients; when it ends in order
// or is killed, one of them owns it.
func TestJoin(t *testing.T) {
	d := atDesk(t)
	if _, err := d.Attach(t.Context(), d.path, "x", remote.Own); !errors.Is(err, owner.ErrNobody) {
		t.Errorf("attached to nobody: %v", err)
	}
	for name, end := range map[string]func(*other) error{
		"in order": func(o *other) error { return o.in.Close() },
		"killed":   func(o *other) error { return o.cmd.Process.Kill() },
	} {
		first := d.other("terminal")
		second := d.join("second", true)
		if second.Owns() {
			t.Fatal("two own it")
		}
		feed := second.Events(session.Cursor{})
		if err := end(first); err != nil {
			t.Fatal(err)
		}
		for err := error(nil); err == nil; {
			if _, err = feed.Next(t.Context()); err != nil && !errors.Is(err, session.ErrClosed) && !errors.Is(err, session.ErrOwnerGone) {
				t.Errorf("%s: %v", name, err)
			}
		}
		third := d.join("third", true)
		if !third.Owns() {
			t.Errorf("%s: nobody owns it any more", name)
		}
		if err := third.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Open begins a session, or joins the owner of the one that it resumes.
func TestOpen(t *testing.T) {
	d := atDesk(t)
	began := errors.New("began")
	fail := func() (*session.Session, error) { return nil, began }
	if _, err := d.Open(t.Context(), "", "x", true, fail); !errors.Is(err, began) {
		t.Errorf("a new session: %v", err)
	}
	if _, err := d.Open(t.Context(), d.path, "x", true, fail); !errors.Is(err, began) {
		t.Errorf("a session that nobody owns: %v", err)
	}
	first := d.other("terminal")
	h, err := d.Open(t.Context(), d.path, "x", true, fail)
	if err != nil || h.Owns() {
		t.Fatalf("a session that another process owns: %v", err)
	}
	if err := errors.Join(h.Close(), first.cmd.Process.Kill()); err != nil {
		t.Fatal(err)
	}
	_ = first.cmd.Wait() // it was killed
	h, err = d.Open(t.Context(), "", "x", true, func() (*session.Session, error) { return open(d.path, nil) })
	if err != nil || !h.Owns() {
		t.Fatalf("a new session: %v", err)
	}
	defer h.Close()
	if h.(interface{ Faces() int }).Faces() != 0 { // it waits until the owner listens
		t.Error("somebody is attached")
	}
	if _, err := d.Address(t.Context(), d.path); errors.Is(err, owner.ErrNobody) { // this process itself is refused
		t.Error("nobody can attach to it")
	}
}

// A face that answers nothing gets no right to.
func TestJoinWithoutAnswers(t *testing.T) {
	d := atDesk(t)
	d.other("terminal")
	h := d.join("script", false)
	if err := h.Questions().Answer(t.Context(), "none", session.Reply{}); !errors.Is(err, session.ErrDenied) {
		t.Errorf("it may answer: %v", err)
	}
	if err := h.Models().SetMode(t.Context(), "full"); !errors.Is(err, session.ErrDenied) {
		t.Errorf("it may change the mode: %v", err)
	}
	if _, err := h.Queue().Waiting(t.Context()); err != nil {
		t.Errorf("it may not look: %v", err)
	}
}

// A process can't join itself, nor what it has started.
func TestOwnProcessesAreRefused(t *testing.T) {
	d := atDesk(t)
	if h := d.join("first", true); !h.Owns() {
		t.Fatal("it is open elsewhere")
	}
	if _, err := d.Attach(t.Context(), d.path, "x", remote.Watch); !errors.Is(err, session.ErrOwnerGone) {
		t.Errorf("it joined itself: %v", err)
	}
}

// A file is one session by whatever path it is reached, also while it is a draft; another
// is another.
func TestAddress(t *testing.T) {
	d := atDesk(t)
	d.other("terminal")
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(filepath.Dir(d.path), link); err != nil {
		t.Skip("no symbolic links here")
	}
	if _, err := os.Readlink(link); err != nil {
		t.Skipf("a link was made and is none, as Wine does: %v", err)
	}
	for path, there := range map[string]bool{d.path: true, filepath.Join(link, "s.jsonl"): true, d.path + ".draft": true, filepath.Join(link, "t.jsonl"): false} {
		h, err := d.Attach(t.Context(), path, "x", remote.Watch)
		if (err == nil) != there {
			t.Errorf("%s: %v", path, err)
		}
		if err == nil {
			h.Close() //nolint:errcheck // it only leaves
		}
	}
}

// Where it can't listen the session opens all the same; in the background it does not.
func TestNoSocket(t *testing.T) {
	d := atDesk(t)
	if runtime.GOOS == "windows" {
		d.takePipe()
	} else {
		d.Data = filepath.Join(d.path, "no folder")
	}
	h := d.join("first", true)
	if !h.Owns() {
		t.Error("it is not open")
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	s, err := open(d.path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if b, err := d.Background(s); err == nil {
		b.Close() //nolint:errcheck // it should not be there
		t.Error("it is in the background, and nobody can join it")
	}
}

// What is in the background ends when it is told to, when its process is, and when it was
// idle: not while a job runs, or somebody is attached.
func TestBackground(t *testing.T) {
	t.Run("told", func(t *testing.T) {
		d := atDesk(t)
		o := d.other("busy")
		h, err := d.Attach(t.Context(), d.path, "x", remote.Answer)
		if err != nil {
			t.Fatal(err)
		}
		if err := h.(*remote.Client).End(t.Context()); !errors.Is(err, session.ErrDenied) {
			t.Errorf("who may only answer ends it: %v", err)
		}
		h.Close() //nolint:errcheck // it only leaves
		if jobs, err := d.End(t.Context(), d.path); err != nil || len(jobs) != 1 || jobs[0].ID != "2" {
			t.Errorf("it stopped %v, %v", jobs, err)
		}
		if why := o.line(); why != string(owner.Told) {
			t.Errorf("it ended because %q", why)
		}
	})
	t.Run("signalled", func(t *testing.T) {
		o := atDesk(t).other("busy")
		if err := o.in.Close(); err != nil {
			t.Fatal(err)
		}
		if why := o.line(); why != string(owner.Signalled) {
			t.Errorf("it ended because %q", why)
		}
	})
	t.Run("idle", func(t *testing.T) {
		d := atDesk(t)
		o := d.other("idle")
		h, err := d.Attach(t.Context(), d.path, "x", remote.Watch)
		if err != nil {
			t.Fatal(err)
		}
		why := make(chan string, 1)
		go func() { why <- o.line() }()
		select {
		case got := <-why:
			t.Errorf("it ended with somebody there: %q", got)
		case <-time.After(time.Second):
		}
		h.Close() //nolint:errcheck // it only leaves
		if got := <-why; got != string(owner.Idle) {
			t.Errorf("it ended because %q", got)
		}
	})
	t.Run("not a terminal's", func(t *testing.T) {
		d := atDesk(t)
		d.other("terminal")
		if _, err := d.End(t.Context(), d.path); err == nil || !strings.Contains(err.Error(), "not in the background") {
			t.Errorf("a terminal's session was ended from elsewhere: %v", err)
		}
	})
}

// A question names who asks, if it isn't the session itself.
func TestAskedNamesTheAgent(t *testing.T) {
	permission := &permit.Question{Request: permit.Request{Tool: "write"}}
	for want, q := range map[string]session.Question{
		"may run write?":          {Permission: permission},
		"writer: may run write?":  {From: "writer", Permission: permission},
		"writer: red or blue?":    {From: "writer", Choices: []session.Choice{{Text: "red or blue?"}}},
		"writer: review the plan": {From: "writer", Plan: &session.Plan{}},
		"server: Its name":        {From: "server", Title: "Its name"},
		"a question":              {},
	} {
		if got := owner.Asked(q); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

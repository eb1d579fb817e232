package tui

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/mode/tui/key"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/llmtest"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/session/handletest"
)

// A session may have said something before it is shown: what comes to its end without
// another event is not waited for longer.
func TestEventsBeforeTheSessionIsShown(t *testing.T) {
	d := atDesk(t, nil)
	inner := d.switcher.opens
	d.switcher.opens = func(ctx context.Context, w Wish) (session.Handle, error) {
		s, err := inner(ctx, w)
		if err == nil {
			_ = s.Conversation().SetTitle(ctx, "A title")
		}
		return s, err
	}
	before := d.session
	d.switcher.open(Wish{Resume: "two"})
	d.until("the second session", func() bool { return d.session != nil && d.session != before })
	d.outbox.send("/retry", steerNow) // there is nothing to try again
	d.until("the end of it", func() bool { return !d.work.on })
}

// A prompt whose session is left before anything was done with it comes back.
func TestPromptOfASessionThatIsLeft(t *testing.T) {
	reading := make(chan struct{})
	d := atDesk(t, func(w Wish, o *session.Options) {
		o.Expand = func(ctx context.Context, text string) (string, error) {
			if w.Resume == "" && text == "hello" {
				close(reading)
				<-ctx.Done()
			}
			return text, nil
		}
	})
	before := d.session
	d.outbox.send("hello", steerNow)
	<-reading
	d.switcher.open(Wish{Resume: "two"})
	d.until("the second session", func() bool { return d.session != nil && d.session != before })
	d.until("the prompt", func() bool { d.inbox.rouse(); return d.composer.editor.Text() == "hello" })
}

// The same, where the person quits: what was written is there when the terminal is given
// back, to be kept.
func TestPromptOfASessionThatIsQuit(t *testing.T) {
	for range 20 {
		reading := make(chan struct{})
		d := atDesk(t, func(_ Wish, o *session.Options) {
			o.Expand = func(ctx context.Context, text string) (string, error) {
				close(reading)
				<-ctx.Done()
				return text, nil
			}
		})
		d.outbox.send("hello", steerNow)
		<-reading
		d.quit = true
		d.until("the end", d.over)
		d.display.stopKeys = func() {}
		d.end()
		if got := d.composer.editor.Text(); got != "hello" {
			t.Fatalf("the editor has %q", got)
		}
	}
}

// A prompt that is sent when the work has ended does not overtake one whose files are
// still being read.
func TestLetterDoesNotOvertake(t *testing.T) {
	answers := make([]llmtest.Turn, 6)
	for i := range answers {
		answers[i].Parts = []llmtest.Part{{Text: "Answer."}}
	}
	disk := make(chan struct{})
	d := atDesk(t, func(_ Wish, o *session.Options) {
		o.Expand = func(_ context.Context, text string) (string, error) {
			if text == "slow" {
				<-disk
			}
			return text, nil
		}
	}, answers...)
	d.outbox.send("work", steerNow)
	d.outbox.send("slow", steerNow)
	d.until("the end of the work", func() bool { return !d.work.on })
	d.outbox.send("fast", steerNow)
	if got := d.shown(); !strings.Contains(got, "next: slow") || !strings.Contains(got, "fast") {
		t.Errorf("it shows:\n%s", got)
	}
	close(disk)
	var said []string
	// Until its turn has begun, nothing shows that the session has taken a prompt in.
	d.until("all answers", func() bool {
		d.inbox.rouse()
		said = nil
		for _, m := range lastMessages(d.session.Log()) {
			if m.Role == llm.RoleUser {
				said = append(said, m.Text())
			}
		}
		return !d.work.on && len(said) == 3
	})
	if diff := cmp.Diff([]string{"work", "slow", "fast"}, said); diff != "" {
		t.Errorf("the session has (-want +got):\n%s", diff)
	}
}

// A command of the person's whose session is left does not stand there as if it ran, and
// what is said after it goes into the scrollback.
func TestLeaveAnOwnCommand(t *testing.T) {
	began := make(chan struct{})
	d := atDesk(t, func(_ Wish, o *session.Options) {
		handletest.On(o).OnRun = func(ctx context.Context, _ string, _ bool, _ func(string)) (session.CommandResult, error) {
			close(began)
			<-ctx.Done()
			return session.CommandResult{ExitCode: -1, Cancelled: true}, nil
		}
	})
	before := d.session
	d.outbox.send("!sleep 100", steerNow)
	<-began
	d.switcher.open(Wish{Resume: "two"})
	d.until("the second session", func() bool { return d.session != nil && d.session != before })
	d.until("the end of the command", func() bool {
		d.inbox.rouse()
		for _, b := range d.talk.blocks {
			if !b.done() {
				return false
			}
		}
		return true
	})
	if got := d.shown(); strings.Contains(got, "Done in the session before") {
		t.Errorf("it shows:\n%s", got)
	}
}

// A command that was begun while the model worked can be stopped when that is done.
func TestStopAnOwnCommandBesideTheWork(t *testing.T) {
	turn, asked, answer := held("Done.")
	began := make(chan struct{})
	d := atDesk(t, func(_ Wish, o *session.Options) {
		handletest.On(o).OnRun = func(ctx context.Context, _ string, _ bool, _ func(string)) (session.CommandResult, error) {
			close(began)
			<-ctx.Done()
			return session.CommandResult{ExitCode: -1, Cancelled: true}, nil
		}
	}, turn)
	d.outbox.send("work", steerNow)
	<-asked
	d.outbox.send("!sleep 100", steerNow)
	<-began
	answer()
	d.until("the end of the work", func() bool { return !d.work.on })
	if !d.brake.stop() {
		t.Error("there is nothing to stop")
	}
	d.until("the end of the command", func() bool { return strings.Contains(d.shown(), "✗ You  sleep 100  stopped") })
	if d.brake.stop() {
		t.Error("there is still something to stop")
	}
}

// What a person answers in a pane of a session that is being left, or was, is for nobody.
func TestPaneOfASessionThatIsLeft(t *testing.T) {
	for _, call := range []string{"/rename", "/mode", "/thinking"} {
		set, free := slow(t, nil)
		d := atDesk(t, set)
		d.facts.model = &llm.Model{ID: "m", Provider: "anthropic"}
		d.outbox.send(call, steerNow)
		if d.panes.top() == nil {
			t.Fatalf("%s opens nothing", call)
		}
		d.switcher.open(Wish{Resume: "two"})
		d.until("closing", func() bool { return d.session == nil })
		d.types("x", key.Key("enter"))
		free()
		d.until("the second session", func() bool { return d.session != nil && !d.opening })
		if got := d.session.Stats().Title; got != "" {
			t.Errorf("%s: the title of the next session is %q", call, got)
		}
		d.types("", key.Key("enter"), key.Key("esc"))
	}
}

// What was being written when burin died is given back also to a process of the same
// number, as programs in containers have it, and is not thrown away with that.
func TestUnsentOfTheSameNumber(t *testing.T) {
	a := alone(t, func(o *Options) { o.Paths.State = t.TempDir() })
	dir, prefix := a.composer.unsent.folder()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, fmt.Sprint(prefix, os.Getpid()))
	if err := os.WriteFile(file, []byte("words of an earlier life"), 0o600); err != nil {
		t.Fatal(err)
	}
	a.composer.unsent.find(a.composer.giveBack)
	posts, _ := a.inbox.take(nil, nil)
	for _, f := range posts {
		f()
	}
	if got := a.composer.editor.Text(); got != "words of an earlier life" {
		t.Errorf("the editor has %q", got)
	}
	if kept, err := os.ReadFile(file); err != nil || string(kept) != "words of an earlier life" {
		t.Errorf("the file has %q, %v", kept, err)
	}
}

// Commands that what is sent next builds on are done one after the other, in the order
// in which they were sent.
func TestStepsInOrder(t *testing.T) {
	var ran []string
	let := make(chan struct{})
	d := atDesk(t, func(_ Wish, o *session.Options) {
		handletest.On(o).OnRun = func(_ context.Context, line string, _ bool, _ func(string)) (session.CommandResult, error) {
			<-let
			ran = append(ran, line)
			return session.CommandResult{}, nil
		}
		o.Models = handletest.Opener(func(_ context.Context, selector string) (*llm.Model, llm.Client, error) {
			ran = append(ran, selector)
			return o.Request.Model, o.Client, nil
		})
	}, llmtest.Turn{Parts: []llmtest.Part{{Text: "Answer."}}})
	for _, text := range []string{"!one", "/model other", "!two", "the prompt"} {
		d.outbox.send(text, steerNow)
	}
	if got := d.shown(); strings.Contains(got, "Wait") || !strings.Contains(got, "next: /model other") {
		t.Errorf("it shows:\n%s", got)
	}
	close(let)
	d.until("the answer", func() bool { return len(d.outbox.waiting) == 0 && d.work.busy == "" && !d.work.on })
	if got := d.shown(); strings.Contains(got, "  stopped") || strings.Contains(got, "did not end") {
		t.Errorf("what has ended by itself is shown so:\n%s", got)
	}
	ran = append(ran, lastMessages(d.session.Log())[len(lastMessages(d.session.Log()))-2].Text())
	if diff := cmp.Diff([]string{"one", "other", "two", "the prompt"}, ran); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Where the attempts to get an answer are stopped between two of them, that is said.
func TestStoppedBetweenAttempts(t *testing.T) {
	d := atDesk(t, nil, llmtest.Turn{Fault: llmtest.Fault{Error: &llm.Error{Kind: llm.ErrOverload, Message: "busy"}}})
	d.outbox.send("hello", steerNow)
	d.until("the second attempt", func() bool { return d.work.retry != nil })
	d.brake.stop()
	d.until("the end", func() bool { return !d.work.on })
	if got := d.shown(); strings.Count(got, "Stopped.") != 1 {
		t.Errorf("it shows:\n%s", got)
	}
}

// A prompt that the conversation has, and that was stopped before the model was asked, is
// told to be stopped.
func TestStoppedBeforeTheFirstRequest(t *testing.T) {
	begun, let := make(chan struct{}), make(chan struct{})
	d := atDesk(t, func(_ Wish, o *session.Options) {
		handletest.On(o).OnBeginTurn = func(string, string) error { close(begun); <-let; return nil }
	})
	d.outbox.send("hello", steerNow)
	<-begun
	d.brake.stop()
	close(let)
	d.until("the end", func() bool { return !d.work.on })
	if got := d.shown(); strings.Count(got, "Stopped.") != 1 || d.composer.editor.Text() != "" {
		t.Errorf("it shows:\n%s", got)
	}
}

// /compact does not take an answer away that is being written: it waits, and says so.
func TestCompactDoesNotStopTheWork(t *testing.T) {
	turn, asked, answer := held("The whole answer.")
	d := atDesk(t, nil, turn)
	d.outbox.send("work", steerNow)
	<-asked
	d.outbox.send("/compact the numbers", steerNow)
	if got := d.shown(); !strings.Contains(got, "/compact must wait until the work is done") {
		t.Errorf("it shows:\n%s", got)
	}
	if got := d.composer.editor.Text(); got != "/compact the numbers" {
		t.Errorf("the editor has %q", got)
	}
	answer()
	d.until("the answer", func() bool { return !d.work.on })
	if got := d.shown(); !strings.Contains(got, "The whole answer.") || strings.Contains(got, "Stopped.") {
		t.Errorf("it shows:\n%s", got)
	}
}

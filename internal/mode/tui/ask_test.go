package tui

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/mode/tui/key"
	"github.com/burin-dev/burin/internal/mode/tui/pane"
	"github.com/burin-dev/burin/internal/mode/tui/question"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/tool/permit"
)

// asked is a question in the face, as await makes it.
func asked(a *app) *ask {
	q := &ask{gone: func() {}}
	q.pane = func() pane.Pane {
		return a.asks.approvalPane(&session.Question{Permission: &permit.Question{Request: permit.Request{Tool: "bash"}}}, nil)
	}
	return q
}

// What opens by itself while a question is shown waits behind it: a key that closes it
// would answer the question, and one that answers would go astray.
func TestQuestionStaysInFront(t *testing.T) {
	t.Parallel()
	a, _ := face(t)
	q := asked(a)
	a.asks.enqueue(q)
	a.panes.report("A report", "that was asked for before")
	if _, ok := a.panes.top().(*question.Approval); !ok {
		t.Fatalf("in front is a %T", a.panes.top())
	}
	a.asks.answered(q)
	if a.panes.top() == nil {
		t.Error("the report is lost")
	}
}

// Who asked and does not wait any more before the question is shown has none shown.
func TestQuestionThatIsOver(t *testing.T) {
	t.Parallel()
	a, _ := face(t)
	q := asked(a)
	a.asks.answered(q) // the context ended
	a.asks.enqueue(q)  // the events before it have come
	if a.panes.top() != nil || len(a.asks.list) > 0 {
		t.Errorf("a question of nobody is shown: %T", a.panes.top())
	}
}

// The shown question says how many wait behind it.
func TestQuestionsWaiting(t *testing.T) {
	t.Parallel()
	a, _ := face(t)
	var told []int
	first := asked(a)
	first.pane = func() pane.Pane { return &counter{told: &told} }
	a.asks.enqueue(first)
	second := asked(a)
	a.asks.enqueue(second)
	a.asks.answered(second)
	if len(told) != 3 || told[0] != 0 || told[1] != 1 || told[2] != 0 {
		t.Errorf("it was told %v", told)
	}
}

type counter struct {
	pane.Pane
	told *[]int
}

func (c *counter) SetWaiting(n int) { *c.told = append(*c.told, n) }

// A task whose session was left does not hold up the next one, and what it would do at
// its end is not done to another session.
func TestTaskOfASessionThatWasLeft(t *testing.T) {
	t.Parallel()
	a, _ := face(t)
	ended := make(chan struct{})
	done := false
	a.work.task("something", func(ctx context.Context) (func(), error) {
		<-ended
		return func() { done = true }, nil
	})
	a.work.reset() // as leave does
	a.work.task("something else", func(ctx context.Context) (func(), error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	close(ended)
	a.pump(func() bool { return len(a.talk.blocks) > 0 })
	if done {
		t.Error("it was done to another session")
	}
	if a.work.busy != "something else" {
		t.Errorf("busy with %q", a.work.busy)
	}
	if !a.brake.stop() {
		t.Error("the other one cannot be stopped")
	}
	a.pump(func() bool { return a.work.busy == "" })
}

// pump runs what was posted until ok.
func (a *app) pump(ok func() bool) {
	for !ok() {
		<-a.inbox.wake
		posts, _ := a.inbox.take(nil, nil)
		for _, f := range posts {
			f()
		}
	}
}

// A prompt that comes back comes without the files that went with it.
func TestTyped(t *testing.T) {
	t.Parallel()
	m := llm.UserText("look at @a.txt")
	m.Content = append(m.Content, llm.Text{Text: "<file path=\"a.txt\">\nwords\n</file>"})
	if got := typed(&m); got != "look at @a.txt" {
		t.Errorf("typed %q", got)
	}
	if got := typed(&llm.Message{}); got != "" {
		t.Errorf("typed %q", got)
	}
}

// A task that fails after it was told to stop says so once, and Esc has reached the rest.
func TestStopTwice(t *testing.T) {
	t.Parallel()
	a, _ := face(t)
	hold := make(chan struct{})
	a.work.task("something", func(context.Context) (func(), error) {
		<-hold
		return nil, errors.New("late")
	})
	if !a.brake.stop() {
		t.Error("it cannot be stopped")
	}
	if a.brake.stop() {
		t.Error("nothing is left to be stopped, without a session")
	}
	close(hold)
	a.pump(func() bool { return a.work.busy == "" })
}

// What is typed while a question appears is in the prompt, and so are words of a note that
// was not sent when the question is gone.
func TestWordsOfAQuestion(t *testing.T) {
	t.Parallel()
	a, _ := face(t)
	now := time.Date(2026, 3, 4, 14, 5, 6, 0, time.UTC)
	a.env.Now = func() time.Time { return now }
	a.input.onKey(key.Press{Key: "a", Text: "a"})
	q := asked(a)
	a.asks.enqueue(q)
	a.draw()
	a.input.onKey(key.Press{Key: "b", Text: "b"})
	if got := a.hint.text; !strings.Contains(got, "ab") {
		t.Errorf("it says %q", got)
	}
	now = now.Add(time.Minute)
	for _, r := range "yes" { // of which the first alone would answer
		a.input.onKey(key.Press{Key: key.Key(string(r)), Text: string(r)})
	}
	now = now.Add(time.Minute)
	a.frame()
	if q.over {
		t.Fatal("it is answered")
	}
	a.asks.answered(q)
	if got := a.composer.editor.Text(); got != "yes\n\nab" {
		t.Errorf("the prompt has %q", got)
	}
}

// A letter that stands alone answers when its time has come, and the loop wakes for that.
// A key that is there by then comes first.
func TestLetterAnswersByTheClock(t *testing.T) {
	t.Parallel()
	for _, late := range []bool{false, true} {
		a, _ := face(t)
		now := time.Date(2026, 3, 4, 14, 5, 6, 0, time.UTC)
		a.env.Now = func() time.Time { return now }
		answers := 0
		q := &ask{gone: func() {}}
		q.pane = func() pane.Pane {
			return a.asks.approvalPane(&session.Question{Permission: &permit.Question{Request: permit.Request{Tool: "bash"}}}, func(session.Reply) { answers++ })
		}
		a.asks.enqueue(q)
		a.frame()
		now = now.Add(time.Minute)
		a.input.onKey(key.Press{Key: "y", Text: "y"})
		if next := a.frame(); next <= 0 || next > 300*time.Millisecond {
			t.Errorf("the loop comes back after %v", next)
		}
		if late {
			a.display.keys <- key.Press{Key: "o", Text: "o"}
		}
		now = now.Add(time.Minute)
		next := a.frame()
		if want := map[bool]int{false: 1, true: 0}[late]; answers != want {
			t.Errorf("late %v: %d answers", late, answers)
		}
		if next != 0 {
			t.Errorf("late %v: it wakes after %v for nothing", late, next)
		}
	}
}

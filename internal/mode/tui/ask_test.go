package tui

import (
	"context"
	"errors"
	"testing"

	"github.com/burin-dev/burin"
	"github.com/burin-dev/burin/internal/mode/tui/pane"
	"github.com/burin-dev/burin/internal/mode/tui/question"
	"github.com/burin-dev/burin/llm"
)

// asked is a question in the face, as await makes it.
func asked(a *app) *ask {
	q := &ask{gone: func() {}}
	q.pane = func() pane.Pane { return a.approvalPane(burin.Request{Tool: "bash"}, burin.Decision{}, nil) }
	return q
}

// What opens by itself while a question is shown waits behind it: a key that closes it
// would answer the question, and one that answers would go astray.
func TestQuestionStaysInFront(t *testing.T) {
	t.Parallel()
	a, _ := face(t)
	q := asked(a)
	a.enqueue(q)
	a.report("A report", "that was asked for before")
	if _, ok := a.top().(*question.Approval); !ok {
		t.Fatalf("in front is a %T", a.top())
	}
	a.answered(q)
	if a.top() == nil {
		t.Error("the report is lost")
	}
}

// Who asked and does not wait any more before the question is shown has none shown.
func TestQuestionThatIsOver(t *testing.T) {
	t.Parallel()
	a, _ := face(t)
	q := asked(a)
	a.answered(q) // the context ended
	a.enqueue(q)  // the events before it have come
	if a.top() != nil || len(a.asks) > 0 {
		t.Errorf("a question of nobody is shown: %T", a.top())
	}
}

// The shown question says how many wait behind it.
func TestQuestionsWaiting(t *testing.T) {
	t.Parallel()
	a, _ := face(t)
	var told []int
	first := asked(a)
	first.pane = func() pane.Pane { return &counter{told: &told} }
	a.enqueue(first)
	second := asked(a)
	a.enqueue(second)
	a.answered(second)
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
	a.task("something", func(ctx context.Context) (func(), error) {
		<-ended
		return func() { done = true }, nil
	})
	a.work = work{} // as leave does
	a.task("something else", func(ctx context.Context) (func(), error) {
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
	if !a.stop() {
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
	a.task("something", func(context.Context) (func(), error) {
		<-hold
		return nil, errors.New("late")
	})
	if !a.stop() {
		t.Error("it cannot be stopped")
	}
	if a.stop() {
		t.Error("nothing is left to be stopped, without a session")
	}
	close(hold)
	a.pump(func() bool { return a.work.busy == "" })
}

package tui

import (
	"context"
	"time"

	"github.com/burin-dev/burin/internal/mode/tui/card"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/tool/permit"
	"github.com/burin-dev/burin/tool/todo"
)

// opened is the session that is shown. It may live in another process; its methods are
// what the loop asks while it waits for the answer: each is quick, or an error after
// askTime.
type opened struct {
	session.Handle
	stop context.CancelFunc // of following its events
	ctx  context.Context    // ends with the face
}

// current is the session that the face shows. The switcher alone changes it; the other
// parts look here.
type current struct {
	base      *base
	session   *opened // nil while none is open
	opening   bool    // one is being opened, or closed before that
	openSince time.Time
	// chosen is the model, thinking and mode that the person has chosen since burin began.
	// New sessions begin so.
	chosen Wish
}

// still reports whether the session that a pane is about is shown, and says so where it
// is not: a copy or a handoff that was under way may have put another in its place.
func (c *current) still(s *opened) bool {
	if s != nil && s == c.session {
		return true
	}
	c.base.notice(card.Warning, "That was about the previous session: nothing changed.")
	return false
}

// askTime is how long the loop waits for the session's owner.
const askTime = 2 * time.Second

func (s *opened) brief() (context.Context, context.CancelFunc) {
	return context.WithTimeout(s.ctx, askTime)
}

// asks gives what a session answers; where it doesn't, the zero value.
func asks[T any](s *opened, ask func(context.Context) (T, error)) T {
	ctx, cancel := s.brief()
	defer cancel()
	v, err := ask(ctx)
	if err != nil {
		var none T
		return none
	}
	return v
}

// tells has a session do something.
func (s *opened) tells(do func(context.Context) error) error {
	ctx, cancel := s.brief()
	defer cancel()
	return do(ctx)
}

func (s *opened) Stats() session.Stats    { return s.Facts().Stats }
func (s *opened) Mode() string            { return s.Facts().Mode }
func (s *opened) Log() session.Transcript { return s.Transcript() }

// Path is the session's file; ok is false where nothing is in it to go on with.
func (s *opened) Path() (path string, ok bool) {
	f := s.Facts()
	return f.Path, f.Kept
}

func (s *opened) Todos() []todo.Phase          { return asks(s, s.Work().Todos) }
func (s *opened) Goal() session.Goal           { return asks(s, s.Work().Goal) }
func (s *opened) Pins() []string               { return asks(s, s.Work().Pins) }
func (s *opened) Background() []session.Job    { return asks(s, s.Jobs().List) }
func (s *opened) SubAgents() []session.Agent   { return asks(s, s.Agents().List) }
func (s *opened) Tooling() []session.ToolState { return asks(s, s.Tools().List) }
func (s *opened) Waits() session.Queued        { return asks(s, s.Queue().Waiting) }
func (s *opened) TakeBack() []session.Input    { return asks(s, s.Queue().TakeBack) }
func (s *opened) Breakdown() session.Breakdown { return asks(s, s.Conversation().Breakdown) }
func (s *opened) Abort()                       { _ = s.tells(s.Conversation().Abort) } // who has gone does nothing more

// planOf is the plan of the session.
func planOf(s *opened) session.Plan { return asks(s, s.Work().Plan) }

func (s *opened) Rules() []permit.Rule {
	if s.Permissions() == nil {
		return nil
	}
	return asks(s, s.Permissions().Rules)
}

func (s *opened) SetTodos(list []todo.Phase) error {
	return s.tells(func(ctx context.Context) error { return s.Work().SetTodos(ctx, list) })
}

func (s *opened) SetGoal(g session.Goal) error {
	return s.tells(func(ctx context.Context) error { return s.Work().SetGoal(ctx, g) })
}

// pin keeps a text in the model's sight, or stops that.
func (s *opened) pin(text string, on bool) error {
	return s.tells(func(ctx context.Context) error {
		if on {
			return s.Work().Pin(ctx, text)
		}
		return s.Work().Unpin(ctx, text)
	})
}

func (s *opened) SetThinking(level llm.Level) error {
	return s.tells(func(ctx context.Context) error { return s.Models().SetThinking(ctx, level) })
}

func (s *opened) SetMode(mode string) error {
	return s.tells(func(ctx context.Context) error { return s.Models().SetMode(ctx, mode) })
}

func (s *opened) SetTitle(title string) error {
	return s.tells(func(ctx context.Context) error { return s.Conversation().SetTitle(ctx, title) })
}

func (s *opened) SetLabel(id, label string) error {
	return s.tells(func(ctx context.Context) error { return s.Tree().SetLabel(ctx, id, label) })
}

func (s *opened) Offer(names []string) error {
	return s.tells(func(ctx context.Context) error { return s.Tools().Offer(ctx, names) })
}

func (s *opened) Force(name string) error {
	return s.tells(func(ctx context.Context) error { return s.Tools().Force(ctx, name) })
}

package handletest

import (
	"context"
	"errors"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/tool"
	"github.com/burin-dev/burin/tool/todo"
)

// Ground is a ground made of functions; nil is what [session.Bare] does.
type Ground struct {
	session.Bare
	OnRun       func(ctx context.Context, line string, journal bool, output func(chunk string)) (session.CommandResult, error)
	OnBeginTurn func(id, label string) error
	OnSetMode   func(mode string) (words string, err error)
	OnArtifact  func(kind, text string) (ref string, err error)
	OnAuthorize func(ctx context.Context, t *tool.Tool, c tool.Call) error
	OnAdapt     func(m *llm.Model) []*tool.Tool
}

// On is the ground of options, which gets one if it has none.
func On(o *session.Options) *Ground {
	if o.Ground == nil {
		o.Ground = &Ground{}
	}
	return o.Ground.(*Ground)
}

// Run implements [session.Ground].
func (g *Ground) Run(ctx context.Context, line string, journal bool, output func(string)) (session.CommandResult, error) {
	if g.OnRun == nil {
		return g.Bare.Run(ctx, line, journal, output)
	}
	return g.OnRun(ctx, line, journal, output)
}

// BeginTurn implements [session.Ground].
func (g *Ground) BeginTurn(id, label string) error {
	if g.OnBeginTurn == nil {
		return nil
	}
	return g.OnBeginTurn(id, label)
}

// SetMode implements [session.Ground].
func (g *Ground) SetMode(mode string) (string, error) {
	if g.OnSetMode == nil {
		return g.Bare.SetMode(mode)
	}
	return g.OnSetMode(mode)
}

// Artifact implements [session.Ground].
func (g *Ground) Artifact(kind, text string) (string, error) {
	if g.OnArtifact == nil {
		return g.Bare.Artifact(kind, text)
	}
	return g.OnArtifact(kind, text)
}

// Authorize implements [session.Ground].
func (g *Ground) Authorize(ctx context.Context, t *tool.Tool, c tool.Call) error {
	if g.OnAuthorize == nil {
		return nil
	}
	return g.OnAuthorize(ctx, t, c)
}

// Adapt implements [session.Ground].
func (g *Ground) Adapt(m *llm.Model) []*tool.Tool {
	if g.OnAdapt == nil {
		return nil
	}
	return g.OnAdapt(m)
}

// Tasks is a list of work in a variable.
type Tasks struct {
	Phases     *[]todo.Phase // nil: it is empty
	OnReminder func() string // nil: nothing is left undone
}

// List implements [session.Tasks].
func (t Tasks) List() []todo.Phase {
	if t.Phases == nil {
		return nil
	}
	return *t.Phases
}

// Set implements [session.Tasks].
func (t Tasks) Set(phases []todo.Phase) ([]todo.Phase, error) {
	*t.Phases = phases
	return phases, nil
}

// Reminder implements [session.Tasks].
func (t Tasks) Reminder([]llm.Message) string {
	if t.OnReminder == nil {
		return ""
	}
	return t.OnReminder()
}

// Background are background jobs made of functions.
type Background struct {
	OnList   func() []session.Job
	OnKill   func(id string) error
	OnOutput func(id string) (string, error)
}

// List implements [session.Jobs].
func (b Background) List(context.Context) ([]session.Job, error) { return b.OnList(), nil }

// Kill implements [session.Jobs].
func (b Background) Kill(_ context.Context, id string) error {
	if b.OnKill == nil {
		return errors.ErrUnsupported
	}
	return b.OnKill(id)
}

// Output implements [session.Jobs].
func (b Background) Output(_ context.Context, id string) (string, error) {
	if b.OnOutput == nil {
		return "", errors.ErrUnsupported
	}
	return b.OnOutput(id)
}

// Watch implements [session.Background]. Nothing changes.
func (Background) Watch(func()) {}

// Opener is an opener made of a function. It knows no larger models.
type Opener func(ctx context.Context, selector string) (*llm.Model, llm.Client, error)

// Open implements [session.Opener].
func (f Opener) Open(ctx context.Context, selector string) (session.Opened, error) {
	model, client, err := f(ctx, selector)
	return session.Opened{Model: model, Client: client}, err
}

// Larger implements [session.Opener].
func (Opener) Larger(*llm.Model) string { return "" }

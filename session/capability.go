package session

import (
	"context"
	"errors"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/tool"
	"github.com/burin-dev/burin/tool/todo"
)

// Ground is what a session stands on: the workspace with its rules, its shell and its
// undo journal. A method that a ground has nothing for returns [errors.ErrUnsupported];
// embed [Bare] to write only the others.
type Ground interface {
	// Run runs a person's own command. With journal, what it changes is recorded in the
	// turn that is open.
	Run(ctx context.Context, line string, journal bool, output func(chunk string)) (CommandResult, error)
	// BeginTurn opens a turn of the undo journal for a prompt.
	BeginTurn(id, label string) error
	// SetMode puts a permission mode to work and describes it for the model.
	SetMode(mode string) (words string, err error)
	// Artifact keeps a text outside the conversation and returns where to read it.
	Artifact(kind, text string) (ref string, err error)
	// Authorize decides whether a call may run: nil lets it run, an error is what the
	// model reads. The arguments are those the tool gets, secrets included. It is asked
	// after all interceptors: what it has judged is what runs.
	Authorize(ctx context.Context, t *tool.Tool, c tool.Call) error
	// Adapt returns the tools that depend on the model, as a model needs them: an edit
	// format, limits of pictures. Each takes the place of the tool with its name. It is
	// called when the model changes.
	Adapt(m *llm.Model) []*tool.Tool
	// Attach makes what a person attaches to a message fit for a model: images within its
	// limits, the text of documents that it does not read. Each block keeps its place. The
	// notes tell the person what was changed or left out. content is not changed.
	Attach(ctx context.Context, m *llm.Model, content []llm.Block) (fitted []llm.Block, notes []string)
}

// Bare is a ground with nothing on it, for embedding. Every call may run.
type Bare struct{}

var _ Ground = Bare{}

// Run implements [Ground].
func (Bare) Run(context.Context, string, bool, func(string)) (CommandResult, error) {
	return CommandResult{}, errors.ErrUnsupported
}

// BeginTurn implements [Ground]. It records nothing.
func (Bare) BeginTurn(string, string) error { return nil }

// SetMode implements [Ground].
func (Bare) SetMode(string) (string, error) { return "", errors.ErrUnsupported }

// Artifact implements [Ground].
func (Bare) Artifact(string, string) (string, error) { return "", errors.ErrUnsupported }

// Authorize implements [Ground]. Every call may run.
func (Bare) Authorize(context.Context, *tool.Tool, tool.Call) error { return nil }

// Adapt implements [Ground]. All models have the same tools.
func (Bare) Adapt(*llm.Model) []*tool.Tool { return nil }

// Attach implements [Ground]. Everything is sent as it is.
func (Bare) Attach(_ context.Context, _ *llm.Model, content []llm.Block) ([]llm.Block, []string) {
	return content, nil
}

// Tasks is the list of work that the model and people share.
type Tasks interface {
	// List returns the list as it is now. A compaction passes on its open tasks word for
	// word.
	List() []todo.Phase
	// Set replaces the list and returns what it has become. An error changes nothing.
	Set(phases []todo.Phase) ([]todo.Phase, error)
	// Reminder tells the model what it has left undone, "" if nothing, when it ends by
	// itself. The messages are what was said since the prompt, or since the last reminder.
	Reminder(since []llm.Message) string
}

// Background is the commands that run in the background.
type Background interface {
	Jobs
	// Watch is given what to call when a job has started or ended.
	Watch(changed func())
}

// Opened is a model with what asks it.
type Opened struct {
	Model  *llm.Model
	Client llm.Client
	Level  llm.Level // how hard to think, as the selector says; "" if it does not
}

// Opener finds models other than the session's own, for promotion, fallback and small
// tasks.
type Opener interface {
	Open(ctx context.Context, selector string) (Opened, error)
	// Larger is the selector of a model to go on with when a conversation outgrows m; ""
	// if there is none. It is asked for models that do not name one themselves.
	Larger(m *llm.Model) string
}

package session

import (
	"context"
	"errors"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/tool"
	"github.com/burin-dev/burin/tool/todo"
)

// Ground is what a session runs on: the workspace with its rules, its shell and its undo
// journal. A method that a ground doesn't support returns [errors.ErrUnsupported]; embed
// [Bare] to implement only the others.
type Ground interface {
	// Run runs a command of the user's own. With journal, its changes are recorded in the open
	// turn.
	Run(ctx context.Context, line string, journal bool, output func(chunk string)) (CommandResult, error)
	// BeginTurn opens a turn of the undo journal for a prompt.
	BeginTurn(id, label string) error
	// SetMode applies an approval mode and returns its description for the model.
	SetMode(mode string) (words string, err error)
	// Artifact stores a text outside the conversation and returns where to read it.
	Artifact(kind, text string) (ref string, err error)
	// Authorize decides whether a call may run: nil allows it, an error is what the model
	// reads. The arguments are those that the tool gets, including secrets. It is called after
	// all interceptors, so what it has judged is what runs.
	Authorize(ctx context.Context, t *tool.Tool, c tool.Call) error
	// Adapt returns the tools that depend on the model, in the form for that model: an edit
	// format, limits of images. Each replaces the tool with its name. It is called when the
	// model changes.
	Adapt(m *llm.Model) []*tool.Tool
	// Attach prepares the attachments of a message for a model: it resizes images, and
	// extracts text from documents that the model can't read. Each block keeps its place. The
	// notes tell the user what was changed or left out. An error refuses the message. It must not modify content.
	Attach(ctx context.Context, m *llm.Model, content []llm.Block) (fitted []llm.Block, notes []string, err error)
}

// Bare is an empty ground, for embedding. It allows every call.
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

// Authorize implements [Ground]. It allows every call.
func (Bare) Authorize(context.Context, *tool.Tool, tool.Call) error { return nil }

// Adapt implements [Ground]. All models get the same tools.
func (Bare) Adapt(*llm.Model) []*tool.Tool { return nil }

// Attach implements [Ground]. It changes nothing.
func (Bare) Attach(_ context.Context, _ *llm.Model, content []llm.Block) ([]llm.Block, []string, error) {
	return content, nil, nil
}

// Tasks is the list of todos that the model and the user share.
type Tasks interface {
	// List returns the current list. A compaction keeps its open todos word for word.
	List() []todo.Phase
	// Set replaces the list and returns the result. If it fails, nothing has changed.
	Set(phases []todo.Phase) ([]todo.Phase, error)
	// Reminder returns what to tell the model about unfinished todos when it stops, or "". The
	// messages are those since the prompt, or since the last reminder.
	Reminder(since []llm.Message) string
}

// Background is the set of commands that run in the background.
type Background interface {
	Jobs
	// Watch sets the function to call when a job has started or ended.
	Watch(changed func())
}

// Opened is a model and its client.
type Opened struct {
	Model  *llm.Model
	Client llm.Client
	Level  llm.Level // how hard to think, as the selector says; "" if it doesn't say
}

// Opener finds models other than the session's own, for promotion, fallbacks and small tasks.
type Opener interface {
	Open(ctx context.Context, selector string) (Opened, error)
	// Larger returns the selector of a larger model that takes over when a conversation
	// outgrows m; "" if there is none. It is called for models that don't name one themselves.
	Larger(m *llm.Model) string
}

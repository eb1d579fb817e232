package session

import (
	"errors"
	"fmt"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/transcript"
)

// Failure is an error that crosses a connection. Its Err matches the same errors of this
// package with errors.Is, and has the same [llm.Error].
type Failure struct {
	Message string       `json:"message,omitempty"`
	Code    string       `json:"code,omitempty"`  // which of the well-known errors it is; "" if none
	Model   *llm.Message `json:"model,omitempty"` // holds the error of a model's stream
}

// ErrOwnerGone means that the process that owns the session has ended, or does not answer.
var ErrOwnerGone = errors.New("the process that owns the session has ended")

// ErrDenied means that a face may not do what it asked for.
var ErrDenied = errors.New("this connection may not do that")

// ErrServer means that the process that has the session can't do something now, whoever asks
// for it, such as when its database fails.
var ErrServer = errors.New("the server can't do this now: burin serve --check says why")

// codes name the errors that faces distinguish.
var codes = []struct {
	code string
	err  error
}{
	{"goal_budget", ErrGoalBudget}, // before ErrBudget, which also matches it
	{"budget", ErrBudget},
	{"turns", ErrTurns},
	{"busy", ErrBusy},
	{"closed", ErrClosed},
	{"unsent", ErrUnsent},
	{"not_begun", ErrNotBegun},
	{"no_result", ErrNoResult},
	{"answered", ErrAnswered},
	{"settled", ErrSettled},
	{"no_program", ErrNoProgram},
	{"queue_full", agent.ErrQueueFull},
	{"owner_gone", ErrOwnerGone},
	{"denied", ErrDenied},
	{"later", ErrLater},
	{"locked", transcript.ErrLocked},
	{"server", ErrServer},
}

// FailureOf converts an error; nil stays nil.
func FailureOf(err error) *Failure {
	if err == nil {
		return nil
	}
	f := &Failure{Message: err.Error()}
	for _, c := range codes {
		if errors.Is(err, c.err) {
			f.Code = c.code
			break
		}
	}
	var e *llm.Error
	if errors.As(err, &e) {
		f.Model = &llm.Message{Role: llm.RoleAssistant, Provider: e.Provider, Error: e}
	}
	return f
}

// Err returns the error; nil stays nil.
func (f *Failure) Err() error {
	if f == nil {
		return nil
	}
	e := &failed{text: f.Message}
	for _, c := range codes {
		if f.Code == c.code {
			e.is = append(e.is, c.err)
		}
	}
	if f.Model != nil && f.Model.Error != nil {
		e.is = append(e.is, f.Model.Error)
	}
	return e
}

// failed is an error that was read from a connection.
type failed struct {
	text string
	is   []error
}

func (e *failed) Error() string   { return e.text }
func (e *failed) Unwrap() []error { return e.is }

// missing reports that something doesn't exist.
func missing(what, id string) error { return fmt.Errorf("there is no %s %q", what, id) }

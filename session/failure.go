package session

import (
	"errors"
	"fmt"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/transcript"
)

// Failure is an error as it crosses a wire: what reads it there finds the same errors of
// this package in it, by errors.Is, and the same [llm.Error].
type Failure struct {
	Message string       `json:"message,omitempty"`
	Code    string       `json:"code,omitempty"`  // which of the errors that programs know; "": none of them
	Model   *llm.Message `json:"model,omitempty"` // holds the error of a model's stream
}

// ErrOwnerGone is that the process that owns the session has ended, or does not answer.
var ErrOwnerGone = errors.New("the process that owns the session has ended")

// ErrDenied is that a face may not do what it asked for.
var ErrDenied = errors.New("this connection may not do that")

// codes name the errors that a face tells apart.
var codes = []struct {
	code string
	err  error
}{
	{"goal_budget", ErrGoalBudget}, // before ErrBudget, which it is too
	{"budget", ErrBudget},
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
}

// FailureOf writes an error down; nil of nil.
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

// Err is the error again; nil of nil.
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

// failed is an error that was read from a wire.
type failed struct {
	text string
	is   []error
}

func (e *failed) Error() string   { return e.text }
func (e *failed) Unwrap() []error { return e.is }

// missing is that there is no such thing.
func missing(what, id string) error { return fmt.Errorf("there is no %s %q", what, id) }

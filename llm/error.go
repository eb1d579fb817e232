package llm

import (
	"errors"
	"fmt"
	"time"
)

// ErrorKind groups errors by what a caller can do about them.
type ErrorKind string

const (
	ErrAuth            ErrorKind = "auth"             // the key is missing, wrong, or lacks a permission
	ErrRateLimit       ErrorKind = "rate_limit"       // too many requests or tokens at the moment; wait RetryAfter
	ErrOverload        ErrorKind = "overload"         // the provider is busy or failed (5xx, 529)
	ErrUsageLimit      ErrorKind = "usage_limit"      // quota, plan or balance used up; until ResetAt if known
	ErrContextOverflow ErrorKind = "context_overflow" // the conversation is larger than the model's window
	ErrInvalidRequest  ErrorKind = "invalid_request"  // the provider does not accept the request
	ErrContentFilter   ErrorKind = "content_filter"   // the provider refused the content of the request or the answer
	ErrTransport       ErrorKind = "transport"        // the connection failed, or the stream broke off or was invalid
	ErrStalled         ErrorKind = "stalled"          // nothing, or only signs of life, came within the first-event or idle timeout
	ErrAnswerLimit     ErrorKind = "answer_limit"     // the answer was larger than its token limit allows; it was ended, and what came is kept
	ErrAborted         ErrorKind = "aborted"          // the caller canceled
)

// Error says why an answer failed.
type Error struct {
	Kind       ErrorKind
	Message    string        // one line for users; never contains the request or a secret
	Status     int           // HTTP status, 0 if there was none
	Code       string        // the provider's own code
	RetryAfter time.Duration // how long the provider asks to wait; 0 if it did not say
	ResetAt    time.Time     // when a usage limit ends; zero if the provider did not say
	RequestID  string        // the provider's id of the request
	Provider   string
	Media      bool  // with ErrInvalidRequest: the provider does not accept an image or a document
	Err        error // cause, if any
}

func (e *Error) Error() string {
	s := e.Message
	if s == "" && e.Err != nil {
		s = e.Err.Error()
	}
	if s == "" {
		s = string(e.Kind)
	}
	if e.Provider != "" {
		s = e.Provider + ": " + s
	}
	if e.Status != 0 {
		s += fmt.Sprintf(" (HTTP %d)", e.Status)
	}
	return s
}

func (e *Error) Unwrap() error { return e.Err }

// Retryable reports whether the same request may succeed later without a change by the user.
// It says nothing about whether retrying is safe.
func (e *Error) Retryable() bool {
	switch e.Kind {
	case ErrRateLimit, ErrOverload, ErrTransport, ErrStalled:
		return true
	}
	return false
}

// KindOf returns the kind of err if it is or wraps an [Error], otherwise "".
func KindOf(err error) ErrorKind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return ""
}

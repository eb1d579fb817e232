package llm

import (
	"errors"
	"fmt"
	"time"
)

// ErrorKind sorts what can go wrong by what a caller can do about it.
type ErrorKind string

const (
	ErrAuth            ErrorKind = "auth"             // the key is missing, wrong or not allowed to do this
	ErrRateLimit       ErrorKind = "rate_limit"       // too many requests or tokens for now; wait RetryAfter
	ErrOverload        ErrorKind = "overload"         // the vendor is busy or failed on its side (5xx, 529)
	ErrUsageLimit      ErrorKind = "usage_limit"      // quota, plan or balance used up; until ResetAt if known
	ErrContextOverflow ErrorKind = "context_overflow" // the conversation is larger than the model's window
	ErrInvalidRequest  ErrorKind = "invalid_request"  // the vendor does not accept the request as it is
	ErrContentFilter   ErrorKind = "content_filter"   // the vendor refused the content, in or out
	ErrTransport       ErrorKind = "transport"        // the connection failed or the stream broke off or made no sense
	ErrStalled         ErrorKind = "stalled"          // nothing came within the first-event or idle time-out, or only signs of life
	ErrAnswerLimit     ErrorKind = "answer_limit"     // the answer was larger than its token limit can mean; it was ended and what came is kept
	ErrAborted         ErrorKind = "aborted"          // the caller cancelled
)

// Error is why an answer failed.
type Error struct {
	Kind       ErrorKind
	Message    string        // one line for a person; never holds the request or a secret
	Status     int           // HTTP status, 0 if there was none
	Code       string        // the vendor's own code
	RetryAfter time.Duration // how long the vendor asks to wait; 0 = it did not say
	ResetAt    time.Time     // when a usage limit ends; zero = it did not say
	RequestID  string        // the vendor's id of the request
	Provider   string
	Media      bool  // with ErrInvalidRequest: an image or a document is what the vendor does not accept
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

// Retryable says whether the same request may succeed later without a change
// by the user. It says nothing about whether repeating it is safe.
func (e *Error) Retryable() bool {
	switch e.Kind {
	case ErrRateLimit, ErrOverload, ErrTransport, ErrStalled:
		return true
	}
	return false
}

// KindOf is the kind of err if it is or wraps an [Error], else "".
func KindOf(err error) ErrorKind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return ""
}

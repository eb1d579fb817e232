package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/burin-dev/burin/internal/chat/project"
	"github.com/burin-dev/burin/internal/chat/store"
	"github.com/burin-dev/burin/internal/chat/vfs"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/session/remote"
)

// Problem is an error, as RFC 9457 has it.
type Problem struct {
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`         // what is wrong and what to do, for people
	Code   string `json:"code,omitempty"` // for programs: busy, closed, settled, denied and others of docs/machine-faces.md
}

// fail answers with a problem.
func fail(w http.ResponseWriter, status int, code string, err error) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(Problem{http.StatusText(status), status, wordsOf(w, err.Error()), code}) // who has gone reads nothing
}

// failed answers with the problem of an error of a session.
func failed(w http.ResponseWriter, err error) {
	status, code := statusOf(err)
	retryAfter(w.Header(), err)
	if broken(status, code) {
		unable(w, err)
		return
	}
	if large, ok := errors.AsType[*http.MaxBytesError](err); ok {
		err = fmt.Errorf("the body has more than %d bytes, which is the most here", large.Limit)
	}
	fail(w, status, code, err)
}

// broken reports whether a status says that the server is at fault, and no more.
func broken(status int, code string) bool {
	return status == http.StatusInternalServerError && code == ""
}

// unable answers that the server can't do something, which isn't the sender's fault. The log has the
// cause: it may name what nobody else has to know.
func unable(w http.ResponseWriter, cause error) {
	if p, ok := w.(*problems); ok {
		p.cause = cause
	}
	fail(w, http.StatusInternalServerError, "", session.ErrServer)
}

func statusOf(err error) (status int, code string) {
	if f := session.FailureOf(err); f != nil {
		code = f.Code
	}
	if _, locked := errors.AsType[*project.LockedError](err); locked { // whoever asks has nothing to unlock
		return http.StatusLocked, "owner_locked"
	}
	if errors.Is(err, project.ErrDenied) {
		return http.StatusForbidden, "member"
	}
	if status, code := statusOfPeople(err); status != 0 {
		return status, code
	}
	if status, code := statusOfFiles(err); status != 0 {
		return status, code
	}
	if status, code := statusOfAttachment(err); status != 0 {
		return status, code
	}
	if status, code := statusOfPrivate(err); status != 0 {
		return status, code
	}
	var large *http.MaxBytesError
	switch {
	case isAbsent(err):
		return http.StatusNotFound, code
	case errors.As(err, &large):
		return http.StatusRequestEntityTooLarge, code
	case errors.Is(err, remote.ErrParameters), errors.Is(err, project.ErrInvalid):
		return http.StatusBadRequest, code
	case errors.Is(err, project.ErrUnreadable):
		return http.StatusUnprocessableEntity, "unreadable"
	case errors.Is(err, project.ErrChanged):
		return http.StatusConflict, "changed"
	case errors.Is(err, ErrUnknown), errors.Is(err, project.ErrUnknown), errors.Is(err, session.ErrNoAgent), errors.Is(err, session.ErrNoProgram):
		return http.StatusNotFound, code
	case errors.Is(err, session.ErrDenied):
		return http.StatusForbidden, code
	case errors.Is(err, session.ErrBudget):
		return http.StatusPaymentRequired, code
	case errors.Is(err, session.ErrTurns):
		return http.StatusTooManyRequests, code
	case errors.Is(err, session.ErrOwnerGone):
		return http.StatusServiceUnavailable, code
	case code != "": // the session is not in the state for it
		return http.StatusConflict, code
	case store.Failed(err) && !modelFailed(err):
		return http.StatusInternalServerError, ""
	}
	return http.StatusUnprocessableEntity, code // it was understood, and can't be done
}

// modelFailed reports whether an error is one of a model's provider.
func modelFailed(err error) bool {
	_, ok := errors.AsType[*llm.Error](err)
	return ok
}

// problems makes problems of what libraries say is wrong, which is a text or nothing.
type problems struct {
	http.ResponseWriter
	asked  *http.Request // whose language it is told in; nil: English
	status int           // of a problem that isn't told yet
	cause  error         // of one that is the server's, for the log
}

func (p *problems) WriteHeader(status int) {
	head := p.Header()
	kind, _, _ := strings.Cut(head.Get("Content-Type"), ";")
	if status < http.StatusBadRequest || kind == "application/problem+json" || kind == "text/html" {
		p.ResponseWriter.WriteHeader(status)
		return
	}
	for _, of := range []string{"Content-Length", "Content-Disposition", "Etag", "Last-Modified"} { // of what would have come
		head.Del(of)
	}
	p.status = status
}

func (p *problems) Write(text []byte) (int, error) {
	if p.status != 0 {
		p.tell(strings.TrimSpace(string(text)))
		return len(text), nil
	}
	return p.ResponseWriter.Write(text)
}

// tell tells the problem, if there is one.
func (p *problems) tell(detail string) {
	if status := p.status; status != 0 {
		p.status = 0
		code := ""
		if status == http.StatusPreconditionFailed { // as those who write a file are told
			code = string(vfs.Changed)
		}
		fail(p.ResponseWriter, status, code, errors.New(p.told(detail)))
	}
}

// Unwrap is [http.ResponseController]'s.
func (p *problems) Unwrap() http.ResponseWriter { return p.ResponseWriter }

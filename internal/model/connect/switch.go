package connect

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/burin-dev/burin/internal/model/credential"
	"github.com/burin-dev/burin/internal/model/credential/oauth"
	"github.com/burin-dev/burin/llm"
)

// switching is a client that goes on with another stored credential when the
// vendor refuses one: a login is renewed once, a key that met its limit is put
// aside for as long as the vendor says, one that is not accepted is disabled
// with the cause. It does so only while nothing of an answer has come, so no
// side effect happens twice, and each time with another credential, so it ends.
// Credentials that are not stored are never switched from.
type switching struct {
	inner llm.Client
	keys  *keyring
}

var _ llm.Client = (*switching)(nil)

func (c *switching) Stream(ctx context.Context, req *llm.Request) llm.Stream {
	s := &switchingStream{client: c, ctx: ctx, req: req, renewed: map[int64]bool{}}
	s.life, s.end = context.WithCancel(ctx)
	s.open(nil)
	return s
}

// maxSwitches bounds how often one request changes its credential.
const maxSwitches = 8

type switchingStream struct {
	client *switching
	req    *llm.Request
	// ctx is that of the request. life ends with the stream as well: it bounds
	// what is done between two attempts. Attempts are not in it, so that the end
	// of a complete answer can still be read and its connection used again.
	ctx, life context.Context
	end       context.CancelFunc

	// These belong to the reader.
	attempt  *attempt
	begun    bool // something of an answer has come
	switches int
	renewed  map[int64]bool // logins that were renewed for this request

	// inner is written by the reader only; mu is for Close, which may run at the
	// same time.
	mu     sync.Mutex
	inner  llm.Stream
	closed bool
}

// open begins an attempt, with the given credential if there is one.
func (s *switchingStream) open(given *credential.Resolved) {
	s.attempt = &attempt{given: given}
	inner := s.client.inner.Stream(context.WithValue(s.ctx, attemptKey{}, s.attempt), s.req)
	s.mu.Lock()
	old, closed := s.inner, s.closed
	s.inner = inner
	s.mu.Unlock()
	if old != nil {
		old.Close()
	}
	if closed {
		inner.Close() // it came too late for Close to see it
	}
}

// Close ends the stream, also between two attempts.
func (s *switchingStream) Close() error {
	s.end()
	s.mu.Lock()
	s.closed = true
	inner := s.inner
	s.mu.Unlock()
	return inner.Close()
}

// Next gives the next event.
func (s *switchingStream) Next() (llm.Event, bool) {
	for {
		ev, ok := s.inner.Next()
		if !ok {
			return ev, false
		}
		if ev.Type != llm.EventError {
			s.begun = true
			if ev.Type == llm.EventDone {
				s.end()
			}
			return ev, true
		}
		next := s.after(ev.Message.Error)
		if next == nil {
			if !s.begun && s.life.Err() != nil && ev.Message.Error.Kind != llm.ErrAborted {
				ev = aborted(ev, context.Cause(s.life))
			}
			s.end()
			return ev, true
		}
		s.switches++
		s.open(next)
	}
}

// aborted is the terminal event of a stream that was ended between two attempts.
func aborted(ev llm.Event, cause error) llm.Event {
	gone := llm.Failed(*ev.Message, &llm.Error{Kind: llm.ErrAborted, Message: "cancelled", Err: cause})
	ev, _ = gone.Next()
	return ev
}

// after notes what the error says of the credential it was met with, and gives
// the one to go on with, nil if there is none. A failure to write a note down is
// no failure of the answer, and is met again with the next request.
func (s *switchingStream) after(e *llm.Error) *credential.Resolved {
	used := s.attempt.used.Load()
	if used == nil || used.CredentialID == 0 {
		return nil
	}
	switch {
	case e.Kind == llm.ErrUsageLimit, e.Kind == llm.ErrRateLimit:
		if s.block(used.CredentialID, e) != nil {
			return nil
		}
	case refused(e) && !s.begun:
		if next, decided := s.renew(used, e); decided {
			return next
		}
	default:
		return nil
	}
	if s.begun || s.switches == maxSwitches {
		return nil
	}
	next, err := s.client.keys.find(s.life)
	var blocked *credential.BlockedError
	if errors.As(err, &blocked) {
		promise(e, blocked.Until)
	}
	if err != nil || next.CredentialID == used.CredentialID || next.Secret == "" {
		return nil
	}
	return &next
}

// refused says whether the vendor does not know the key. 403 is none of the
// key's: it may be good for other models. 400 is how Google says it.
func refused(e *llm.Error) bool {
	return e.Kind == llm.ErrAuth && (e.Status == http.StatusUnauthorized || e.Status == http.StatusBadRequest)
}

// block puts a credential aside until its limit ends.
func (s *switchingStream) block(id int64, e *llm.Error) error {
	now := time.Now()
	until := e.ResetAt
	if e.RetryAfter > 0 && (e.Kind == llm.ErrRateLimit || !until.After(now)) {
		until = now.Add(e.RetryAfter)
	}
	keys := s.client.keys.accounts.keys
	switch {
	case until.After(now):
		return keys.MarkUsageLimit(s.life, id, until)
	case e.Kind == llm.ErrRateLimit:
		return keys.MarkBackoff(s.life, id, 0)
	}
	return keys.MarkUsageLimit(s.life, id, time.Time{})
}

// promise makes the error say when the first credential is free again, so that
// whoever tries again then is not turned away.
func promise(e *llm.Error, until time.Time) {
	wait := max(time.Until(until), time.Millisecond)
	switch {
	case e.Kind == llm.ErrRateLimit && (e.RetryAfter <= 0 || wait < e.RetryAfter):
		e.RetryAfter = wait
	case e.Kind == llm.ErrUsageLimit && (e.ResetAt.IsZero() || until.Before(e.ResetAt)):
		e.ResetAt = until
	}
}

// renew deals with a credential that was refused: a login is renewed, once for
// each request, anything else is disabled. Where that decides how to go on, next
// is what with, nil if not at all; otherwise another credential is to be found.
func (s *switchingStream) renew(used *credential.Resolved, e *llm.Error) (next *credential.Resolved, decided bool) {
	keys, id := s.client.keys, used.CredentialID
	if used.Kind == credential.KindOAuth && !s.renewed[id] {
		s.renewed[id] = true
		r, err := keys.accounts.keys.Renew(s.life, *used)
		var unusable *credential.UnusableError
		switch {
		case err == nil:
			return &r, true
		case oauth.Revoked(err):
			return nil, false // disabled by whoever renews, with the better cause
		case errors.Is(err, credential.ErrNotRenewable), errors.As(err, &unusable) && !unusable.Transient:
		default:
			return nil, true // it may succeed another time
		}
	}
	if keys.foreign {
		return nil, true
	}
	return nil, keys.accounts.keys.Disable(s.life, id, "not accepted: "+e.Message) != nil
}

package connect

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"

	"github.com/burin-dev/burin/internal/model/credential"
	"github.com/burin-dev/burin/llm"
)

// keyring gives the key of each request of a client.
type keyring struct {
	keys     *credential.Manager
	provider string
	session  string
	optional bool // the host can be reached with another credential, or none
}

// usedKey is the context key under which a request notes the credential it was
// sent with.
type usedKey struct{}

type used = atomic.Pointer[credential.Resolved]

func (k *keyring) get(ctx context.Context) (string, error) {
	r, err := k.keys.Key(ctx, k.provider, k.session)
	var none *credential.NotFoundError
	if k.optional && errors.As(err, &none) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	if u, ok := ctx.Value(usedKey{}).(*used); ok {
		u.Store(&r)
	}
	return r.Secret.Reveal(), nil
}

// switching is a client that goes on with another stored credential when the
// vendor refuses one: a login is renewed once, a key that met its limit is put
// aside for as long as the vendor says, one that is not accepted is disabled
// with the cause. It does so only while nothing of an answer has come, so no
// side effect happens twice, and each time with a different credential, so it
// ends.
type switching struct {
	inner llm.Client
	keys  *credential.Manager
}

func (c *switching) Stream(ctx context.Context, req *llm.Request) llm.Stream {
	s := &switchingStream{client: c, ctx: ctx, req: req}
	s.open()
	return s
}

// maxSwitches bounds how often one request changes its credential.
const maxSwitches = 8

type switchingStream struct {
	llm.Stream
	client   *switching
	ctx      context.Context
	req      *llm.Request
	used     *used
	begun    bool
	switches int
	renewed  bool
}

func (s *switchingStream) open() {
	s.used = new(used)
	s.Stream = s.client.inner.Stream(context.WithValue(s.ctx, usedKey{}, s.used), s.req)
}

func (s *switchingStream) Next() (llm.Event, bool) {
	for {
		ev, ok := s.Stream.Next()
		if !ok || ev.Type != llm.EventError {
			s.begun = true
			return ev, ok
		}
		if !s.another(ev.Message.Error) || s.begun {
			return ev, true
		}
		s.Stream.Close()
		s.open()
	}
}

// another notes what the error says of the credential, and says whether the
// request may be sent again with another one. A failure to write it down is no
// failure of the answer, and is met again with the next request.
func (s *switchingStream) another(e *llm.Error) bool {
	r := s.used.Load()
	if r == nil || r.CredentialID == 0 || s.switches == maxSwitches {
		return false
	}
	s.switches++
	keys, ctx := s.client.keys, context.WithoutCancel(s.ctx)
	var err error
	switch {
	case e.Kind == llm.ErrUsageLimit:
		err = keys.MarkUsageLimit(ctx, r.CredentialID, e.ResetAt)
	case e.Kind == llm.ErrRateLimit:
		err = keys.MarkBackoff(ctx, r.CredentialID, e.RetryAfter)
	case e.Kind == llm.ErrAuth && e.Status == http.StatusUnauthorized:
		if r.Kind == credential.KindOAuth && !s.renewed {
			s.renewed = true
			if _, err = keys.Renew(ctx, *r); err == nil {
				return true
			}
		}
		err = keys.Disable(ctx, r.CredentialID, "not accepted: "+e.Message)
	default:
		return false
	}
	if err != nil {
		return false
	}
	next, err := keys.Key(s.ctx, r.Provider, "")
	return err == nil && next.CredentialID != r.CredentialID
}

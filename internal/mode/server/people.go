package server

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/burin-dev/burin/internal/chat/oidc"
	"github.com/burin-dev/burin/internal/chat/passkey"
	"github.com/burin-dev/burin/internal/chat/people"
	"github.com/burin-dev/burin/internal/chat/push"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/session/remote"
)

const (
	maxAccount  = 64 << 10         // bytes of a request about people
	accountTime = 30 * time.Second // for which its sender may take
)

// accounts serves what is about people.
type accounts struct {
	people    *people.People
	log       *slog.Logger // nil is not told
	push      *push.Store  // nil is off
	providers []*oidc.Provider
	o         *Options
	keys      *keys
}

func (s *Server) accounts() accounts {
	return accounts{s.o.People, s.o.Log, s.o.Push, s.o.Providers, &s.o, s.keys}
}

// whoKey is the context's key for who sends a request.
type whoKey struct{}

// sender is who sends a request; the zero value is nobody.
func sender(r *http.Request) Who {
	who, _ := r.Context().Value(whoKey{}).(Who)
	return who
}

// person is who sends a request, by id.
func person(r *http.Request) string { return sender(r).Person }

// rights are those of a request.
func rights(r *http.Request) remote.Rights { return sender(r).Rights }

// who says who sends a request: the holder of a token, or somebody who is signed in. Nobody is
// not an error.
func (s *Server) who(w http.ResponseWriter, r *http.Request) (Who, error) {
	who, err := s.identify(w, r)
	if errors.Is(err, people.ErrUnknown) {
		return Who{}, nil
	}
	return who, err
}

func (s *Server) identify(w http.ResponseWriter, r *http.Request) (Who, error) {
	if head := r.Header.Get("Authorization"); head != "" {
		token, ok := strings.CutPrefix(head, "Bearer ")
		switch {
		case !ok || token == "":
			return Who{}, nil
		case same(token, s.o.Token):
			return Who{Who: people.Who{Name: "server", Person: people.OwnerID, Role: people.Admin, Rights: remote.Own}}, nil
		case same(token, s.o.PeerToken):
			return Who{people.Who{Name: "another server", Rights: remote.Own}, true}, nil
		}
		who, err := s.o.People.Token(r.Context(), token)
		return Who{Who: who}, err
	}
	cookies := r.CookiesNamed(cookieName(r))
	if len(cookies) != 1 { // none, or another server of this machine has set one, too
		return Who{}, nil
	}
	who, fresh, err := s.o.People.Device(r.Context(), cookies[0].Value)
	if fresh != "" {
		keepCookie(w, r, fresh)
	}
	return Who{Who: who}, err
}

// same compares a token with one that is known; "" is none.
func same(token, known string) bool {
	given, is := sha256.Sum256([]byte(token)), sha256.Sum256([]byte(known)) // of equal length, which the comparison needs
	return known != "" && subtle.ConstantTimeCompare(given[:], is[:]) == 1
}

// watch ends a request that goes on, such as a stream, when who sends it may no more what they
// might: their token was removed or expired, they were signed out, their role was changed.
func (s *Server) watch(r *http.Request, had Who, end context.CancelFunc) (stop func()) {
	if had.Token == 0 && had.Device == "" {
		return func() {}
	}
	var mu sync.Mutex
	var again *time.Timer // nil: the request has ended
	mu.Lock()
	defer mu.Unlock()
	again = time.AfterFunc(recheck, func() {
		if now, err := s.o.People.Again(r.Context(), had.Who); errors.Is(err, people.ErrUnknown) || err == nil && now != had.Who {
			end()
			return
		}
		mu.Lock()
		defer mu.Unlock()
		if again != nil {
			again.Reset(recheck)
		}
	})
	return func() {
		mu.Lock()
		defer mu.Unlock()
		again.Stop()
		again = nil
	}
}

// secure reports whether the browser speaks https. Where the server has another name than those of
// this machine, nobody reaches it without, even if it doesn't know the proxy in between.
func secure(r *http.Request) bool { return isHTTPS(r) || !local(hostOf(r.Host)) }

// cookieName is the name of the cookie that says who is signed in. With the prefix no other host
// and no page without https can set it.
func cookieName(r *http.Request) string {
	if secure(r) {
		return "__Host-burin"
	}
	return "burin"
}

// keepCookie has a browser keep the secret of its device; "" has it forget it.
func keepCookie(w http.ResponseWriter, r *http.Request, secret string) {
	c := &http.Cookie{
		Name: cookieName(r), Value: secret, Path: "/", MaxAge: int(people.SecretFor / time.Second),
		Secure: secure(r), HttpOnly: true, SameSite: http.SameSiteLaxMode,
	}
	if secret == "" {
		c.MaxAge = -1
	}
	http.SetCookie(w, c)
}

// address is where a request comes from, for limits and the log: "" if that is unknown. Of an
// IPv6 network it is the part that one customer has.
func address(r *http.Request) string {
	ip := clientAddr(r)
	switch {
	case !ip.IsValid(), ip.IsLoopback() && !local(hostOf(r.Host)): // a proxy that isn't known
		return ""
	case ip.Is6() && !ip.IsLoopback():
		if network, err := ip.Prefix(64); err == nil {
			return network.String()
		}
	}
	return ip.String()
}

// by says who does something, for the log.
func by(r *http.Request) people.By { return people.By{Person: person(r), Address: address(r)} }

// from says where somebody signs in.
func from(r *http.Request) people.From {
	return people.From{Address: address(r), Agent: r.UserAgent(), Device: sender(r).Device}
}

// site is the address of this server, as the browser has it.
func site(r *http.Request) string {
	if secure(r) {
		return "https://" + r.Host
	}
	return "http://" + r.Host
}

// sameOrigin refuses what a page of another origin could have a browser send that is signed in.
// A browser says where a request comes from; programs have tokens. form is that it is one, which
// any page can send without asking.
func sameOrigin(r *http.Request, who Who, form bool) error {
	site, origin := r.Header.Get("Sec-Fetch-Site"), r.Header.Get("Origin")
	safe := r.Method == http.MethodGet || r.Method == http.MethodHead
	switch {
	case !safe && (form || who.Device != "") && site == "" && origin == "":
		return errors.New("the browser doesn't say which page sends this: a program signs in with a token, as Authorization: Bearer TOKEN")
	case safe && !form && who.Device != "" && site != "" && site != "same-origin" && site != "none":
		return errors.New("a page of another origin may not ask this server")
	}
	return nil
}

// statusOfPeople is the status for an error of package people; 0 is that it is none.
func statusOfPeople(err error) (status int, code string) {
	if status, code := statusOfKeys(err); status != 0 {
		return status, code
	}
	_, wait := errors.AsType[people.WaitError](err)
	_, input := errors.AsType[people.InputError](err)
	switch {
	case wait:
		return http.StatusTooManyRequests, "wait"
	case errors.Is(err, people.ErrBusy):
		return http.StatusServiceUnavailable, "busy"
	case errors.Is(err, people.ErrRefused), errors.Is(err, people.ErrPasskey):
		return http.StatusUnauthorized, "refused"
	case errors.Is(err, people.ErrLink):
		return http.StatusGone, "link"
	case errors.Is(err, people.ErrUnknown):
		return http.StatusNotFound, ""
	case errors.Is(err, people.ErrTaken):
		return http.StatusConflict, "taken"
	case errors.Is(err, people.ErrOwner):
		return http.StatusForbidden, "owner"
	case errors.Is(err, oidc.ErrDown):
		return http.StatusServiceUnavailable, "down"
	case errors.Is(err, oidc.ErrRefused):
		return http.StatusUnauthorized, "refused"
	case errors.Is(err, passkey.ErrAddress):
		return http.StatusUnprocessableEntity, "address"
	case errors.Is(err, session.ErrServer):
		return http.StatusInternalServerError, ""
	case input:
		return http.StatusUnprocessableEntity, "input"
	}
	return statusOfPush(err)
}

// failed answers with the problem of an error of package people. Whoever may not be signed
// in isn't told what else is wrong.
func (s accounts) failed(w http.ResponseWriter, r *http.Request, err error) {
	failed(w, s.said(r, err))
}

// said is what somebody is told of an error.
func (s accounts) said(r *http.Request, err error) error {
	if status, _ := statusOfPeople(err); status != 0 {
		return err
	}
	if s.log != nil && r.Context().Err() == nil {
		s.log.Error("people", "route", r.Pattern, "error", err.Error())
	}
	return session.ErrServer
}

// retryAfter says in the head when to try again.
func retryAfter(head http.Header, err error) {
	if wait, ok := errors.AsType[people.WaitError](err); ok {
		head.Set("Retry-After", strconv.Itoa(int(wait.Wait/time.Second)+1))
	} else if wait, ok := errors.AsType[push.WaitError](err); ok {
		head.Set("Retry-After", strconv.Itoa(int(wait.Wait/time.Second)))
	} else if errors.Is(err, people.ErrBusy) {
		head.Set("Retry-After", "2")
	}
}

// may says why who sends a request may not have an operation; nil is that they may.
func (o *route) may(r *http.Request) error {
	who := sender(r)
	switch {
	case who.Peer && o.path != attachPath:
		return errors.New("another server may only join chats")
	case who.Peer:
		return nil
	case !who.Role.Include(o.role):
		return fmt.Errorf("%s %s is for the role %q, and you have %q: an admin can change that", o.verb, o.path, o.role, who.Role)
	case o.device && who.Device == "":
		return errors.New("accounts are changed by who is signed in with a browser, not with a token")
	case !o.device && !who.Rights.Include(o.needs):
		return fmt.Errorf("%s %s needs the right %q, and you have %q", o.verb, o.path, o.needs, who.Rights)
	}
	return nil
}

package server

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/burin-dev/burin/internal/chat/people"
	"github.com/burin-dev/burin/internal/chat/vault"
)

// Bodies of requests and answers about keys.
type (
	// MyKeys say who opens the keys of somebody's data.
	MyKeys struct {
		Mode vault.Mode `json:"mode"` // server, or own: only with the password
		Open bool       `json:"open"` // they are, on this server
	}
	// Unlocking opens one's keys.
	Unlocking struct {
		Password string `json:"password"`           // of the account
		Old      string `json:"old,omitempty"`      // the one that the keys were locked with, if it is another: the new one opens them then
		Recovery string `json:"recovery,omitempty"` // the recovery key, in its place
	}
	// KeyMode is a choice of who opens one's keys.
	KeyMode struct {
		Mode     vault.Mode `json:"mode"` // server or own
		Password string     `json:"password"`
	}
	// Recovery is a new recovery key. It is shown once.
	Recovery struct {
		Recovery string `json:"recovery,omitempty"` // missing: there is none, or the one before stays
	}
)

// KeysStayLocked is what a reset of a password doesn't do.
const KeysStayLocked = "their data stays locked: the new password opens it only together with the old one or their recovery key"

// keys are those of people that only they open.
type keys struct {
	vault *vault.Vault

	mu      sync.Mutex
	pending map[string]func(context.Context) error // to open them, by the ticket of a sign-in that isn't over
}

const (
	pendingFor = 5 * time.Minute
	maxPending = 1000
)

func newKeys(v *vault.Vault) *keys {
	return &keys{vault: v, pending: map[string]func(context.Context) error{}}
}

// signedIn opens the keys of somebody who has signed in with a password, or will when they have given the code of
// their second factor. Keys that the password doesn't open stay locked: the account says so.
func (k *keys) signedIn(ctx context.Context, in people.Entrance, password string) error {
	if in.Person == "" {
		return nil
	}
	open, err := k.vault.Unlocking(ctx, in.Person, people.Phrase(password))
	switch {
	case errors.Is(err, vault.ErrMode), errors.Is(err, vault.ErrPassphrase):
		return nil
	case err != nil:
		return err
	case in.Ticket == "":
		return open(ctx)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.pending) < maxPending { // else they unlock them later
		k.pending[in.Ticket] = open
		time.AfterFunc(pendingFor, func() { k.take(in.Ticket) })
	}
	return nil
}

func (k *keys) take(ticket string) func(context.Context) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	open := k.pending[ticket]
	delete(k.pending, ticket)
	return open
}

// confirmed opens the keys of somebody who has given the code of the second factor.
func (k *keys) confirmed(ctx context.Context, ticket string) error {
	if open := k.take(ticket); open != nil {
		return open(ctx)
	}
	return nil
}

// leave signs somebody out on a device; with the last one their keys are locked here.
func (s accounts) leave(r *http.Request, device string) error {
	who := person(r)
	err := s.people.SignOut(r.Context(), by(r), who, device)
	if err != nil {
		return err
	}
	if in, err := s.people.SignedIn(r.Context(), who); err == nil && !in { // else it is looked for later, as for what others do
		s.keys.vault.Lock(who)
	}
	return nil
}

// keyRoutes are the operations on one's keys.
func (s accounts) keyRoutes() []route {
	return []route{
		about(s, "POST", "/v1/me/unlock", "Opens one's keys on this server, with the password; gives a new recovery key where the old one was used.",
			func(_ http.ResponseWriter, r *http.Request, in Unlocking) (Recovery, error) { return s.unlock(r, in) }),
		about(s, "POST", "/v1/me/lock", "Locks one's keys on this server. Turns that run end first.", func(_ http.ResponseWriter, r *http.Request, _ nothing) (none nothing, err error) {
			s.keys.vault.Lock(person(r))
			return none, nil
		}),
		about(s, "POST", "/v1/me/keys", "Chooses who opens one's keys: the server at any time, or only the password. Gives the recovery key.",
			func(_ http.ResponseWriter, r *http.Request, in KeyMode) (Recovery, error) { return s.setKeys(r, in) }),
	}
}

func (s accounts) myKeys(r *http.Request) (is MyKeys, err error) {
	is.Mode, is.Open, err = s.keys.vault.Mode(r.Context(), person(r))
	return is, err
}

func (s accounts) unlock(r *http.Request, in Unlocking) (is Recovery, err error) {
	ctx, who, v := r.Context(), person(r), s.keys.vault
	if in.Old != "" || in.Recovery != "" { // the password opens them from now on: it must be that of the account
		if err := s.people.Confirmed(ctx, by(r), who, in.Password); err != nil {
			return is, err
		}
	}
	phrase := people.Phrase(in.Password)
	err = s.people.Guess(ctx, by(r), who, func() (err error) {
		switch {
		case in.Recovery != "":
			is.Recovery, err = v.Recover(ctx, who, in.Recovery, phrase)
		case in.Old != "":
			if err = v.ChangePassphrase(ctx, who, people.Phrase(in.Old), phrase); err == nil {
				err = v.Unlock(ctx, who, phrase)
			}
		default:
			err = v.Unlock(ctx, who, phrase)
		}
		return err
	})
	if err == nil && in.Recovery != "" {
		err = s.people.NoteKeys(ctx, by(r), who, "recovered")
	}
	return is, wrongKey(in, err)
}

// wrongKey says which field is wrong.
func wrongKey(in Unlocking, err error) error {
	switch {
	case !errors.Is(err, vault.ErrPassphrase):
		return err
	case in.Recovery != "":
		return people.InputError{Field: "recovery", Wrong: "that is not the recovery key"}
	case in.Old != "":
		return people.InputError{Field: "old", Wrong: "the keys were locked with another password"}
	}
	return people.InputError{Field: "password", Wrong: "it doesn't open the keys: if it was changed by a reset, give the old one or the recovery key, too"}
}

func (s accounts) setKeys(r *http.Request, in KeyMode) (is Recovery, err error) {
	ctx, who := r.Context(), person(r)
	if err := s.people.Confirmed(ctx, by(r), who, in.Password); err != nil {
		return is, err
	}
	if is.Recovery, err = s.keys.vault.SetMode(ctx, who, in.Mode, people.Phrase(in.Password)); err == nil {
		err = s.people.NoteKeys(ctx, by(r), who, string(in.Mode))
	}
	return is, err
}

// statusOfKeys is the status of an error of keys; 0: it is none.
func statusOfKeys(err error) (status int, code string) {
	switch {
	case errors.Is(err, vault.ErrLocked):
		return http.StatusLocked, "locked"
	case errors.Is(err, vault.ErrMode):
		return http.StatusConflict, "mode"
	case errors.Is(err, vault.ErrPassphrase), errors.Is(err, vault.ErrWeak):
		return http.StatusUnprocessableEntity, "input"
	}
	return 0, ""
}

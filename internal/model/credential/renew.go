package credential

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/model/credential/oauth"
)

// renewTimeout bounds a renewal: waiting for another process that renews the same
// login, and two requests.
const renewTimeout = time.Minute

// unsaved is a renewed token that could not be stored, because the disk is full
// or the database busy. The vendor may have spent the old one, so this is the
// only copy; every use tries to store it again.
type unsaved struct {
	payload  *payload
	revision int64 // of the row it replaces
}

// open opens a row, or gives the newer token that could not be stored.
func (m *Manager) open(ctx context.Context, s *store, r *row) (*payload, error) {
	m.mu.Lock()
	u, ok := m.unsaved[r.id]
	m.mu.Unlock()
	if ok && u.revision == r.revision {
		_ = m.save(ctx, s, r, u.payload)
		return u.payload, nil
	}
	p, err := m.keys.open(ctx, r)
	if err != nil {
		return nil, unreadable(r, err)
	}
	return p, nil
}

// save stores a renewed token and says whether the row is still the one that was
// renewed.
func (m *Manager) save(ctx context.Context, s *store, r *row, p *payload) bool {
	key, err := m.keys.get(ctx, true)
	same := false
	if err == nil {
		same, err = s.replace(ctx, key, r, p)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err != nil {
		m.unsaved[r.id] = unsaved{p, r.revision}
		return true
	}
	delete(m.unsaved, r.id)
	if same {
		r.revision++
	}
	return same
}

// Renew renews a login whose access token the vendor refused although it had not
// expired, and returns the new one. If the login has been renewed since r was
// given out, that token is returned without another renewal. What is no login
// gives [ErrNotRenewable]: the credential is then to be disabled.
func (m *Manager) Renew(ctx context.Context, r Resolved) (Resolved, error) {
	if r.CredentialID == 0 || r.Kind != KindOAuth {
		return Resolved{}, ErrNotRenewable
	}
	s, err := m.store(ctx, false)
	if err != nil {
		return Resolved{}, err
	}
	if s == nil {
		return Resolved{}, ErrNoCredential
	}
	row, err := s.get(ctx, r.CredentialID)
	if err != nil {
		return Resolved{}, err
	}
	p, err := m.renew(ctx, &row, r.Secret, true)
	if err != nil {
		return Resolved{}, err
	}
	return resolved(&row, p), nil
}

// renew renews the login of row r, whose access token was used. All callers of
// one login share one renewal, which goes on when a caller gives up.
func (m *Manager) renew(ctx context.Context, r *row, used Secret, force bool) (*payload, error) {
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		return nil, errClosed
	}
	m.renewals.Add(1)
	m.mu.Unlock()
	flight := m.flights.DoChan(strconv.FormatInt(r.id, 10)+strconv.FormatBool(force), func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), renewTimeout)
		defer cancel()
		return m.renewAlone(ctx, r.id, used, force)
	})
	done := make(chan singleResult, 1)
	go func() {
		defer m.renewals.Done()
		res := <-flight
		p, _ := res.Val.(*payload)
		done <- singleResult{p, res.Err}
	}()
	select {
	case res := <-done:
		return res.payload, res.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

type singleResult struct {
	payload *payload
	err     error
}

// renewAlone renews under the lock that other processes respect. Whoever waited
// for the lock finds the work done.
func (m *Manager) renewAlone(ctx context.Context, id int64, used Secret, force bool) (*payload, error) {
	unlock, err := lockFile(ctx, m.o.Home, fmt.Sprintf("credential-%d", id))
	if err != nil {
		return nil, err
	}
	defer unlock()
	s, err := m.store(ctx, false)
	if err != nil || s == nil {
		return nil, errors.Join(ErrNoCredential, err)
	}
	r, err := s.get(ctx, id)
	if err != nil {
		return nil, err
	}
	p, err := m.open(ctx, s, &r)
	if err != nil {
		return nil, err
	}
	if p.secret() != used && p.validFor(early, m.now()) {
		return p, nil
	}
	if r.disabled != "" {
		return nil, ended(&r, r.disabled, nil)
	}
	if p.Refresh == "" {
		if p.validFor(0, m.now()) {
			if force {
				return nil, ErrNotRenewable
			}
			return p, nil
		}
		return nil, m.end(ctx, s, &r, "it expired and cannot be renewed", nil)
	}
	asked := m.now()
	token, err := m.auth.Refresh(ctx, p.renewal())
	switch {
	case oauth.Revoked(err):
		return nil, m.end(ctx, s, &r, err.Error(), err)
	case err != nil && !force && p.validFor(0, m.now()):
		return p, nil // renewed early: there is still time to try again
	case err != nil:
		return nil, &UnusableError{
			Provider: r.provider, ID: r.id, Transient: oauth.Transient(err), Err: err,
			Reason: fmt.Sprintf("%s could not be renewed: %v", r.name(), err),
		}
	}
	renewed := *p
	renewed.setToken(token, asked)
	if !m.save(ctx, s, &r, &renewed) {
		// The row is another one than was renewed: a new login took its place, or
		// it was removed.
		if r, err = s.get(ctx, id); err != nil {
			return nil, err
		}
		return m.open(ctx, s, &r)
	}
	return &renewed, nil
}

// end disables a login that the vendor has ended, unless it was replaced in the
// meantime.
func (m *Manager) end(ctx context.Context, s *store, r *row, cause string, err error) error {
	if _, dbErr := s.change(ctx, "UPDATE credentials SET disabled = ? WHERE id = ? AND revision = ?", cause, r.id, r.revision); dbErr != nil {
		return errors.Join(ended(r, cause, err), dbErr)
	}
	return ended(r, cause, err)
}

func ended(r *row, cause string, err error) *UnusableError {
	again := "burin login " + r.provider
	if strings.HasPrefix(r.provider, servicePrefix) {
		again = "burin mcp login " + r.label
	}
	return &UnusableError{
		Provider: r.provider, ID: r.id, Err: err,
		Reason: fmt.Sprintf("%s has ended: %s; run \"%s\"", r.name(), cause, again),
	}
}

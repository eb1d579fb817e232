package credential

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"slices"
	"strconv"
	"time"
)

// Found says where a credential came from.
type Found struct {
	From Origin
	// Source says it in words: "stored key 3", "variable OPENAI_API_KEY".
	Source string
}

// Origin is a kind of place that credentials come from.
type Origin string

const (
	FromCommandLine Origin = "command line"
	FromModelsYAML  Origin = "models.yml" // written there, or in a variable named there
	FromStore       Origin = "store"      // burin.db
	FromVariable    Origin = "variable"   // the provider's own
	FromNowhere     Origin = ""           // no key is needed
)

// Resolved is a credential for one request.
type Resolved struct {
	Secret   Secret // empty if Kind is KindNone
	Kind     Kind
	Provider string
	Found
	CredentialID int64  // 0 = not stored
	Account      string // of a login, if known
	// Warning is one line about a stored credential that should have been used
	// and could not; empty = none.
	Warning string
}

// Key finds the credential for a request of a session; the package comment gives
// the order. An empty session has no affinity: credentials take turns.
//
// Errors are a [*NotFoundError], a [*BlockedError], an [*UnusableError], or that
// of ctx.
func (m *Manager) Key(ctx context.Context, provider, session string) (Resolved, error) {
	if key := m.override(provider); key != "" {
		return Resolved{Secret: key, Kind: KindAPIKey, Provider: provider, Found: Found{FromCommandLine, "--api-key"}}, nil
	}
	settings := m.o.Provider(provider)
	if settings.Pinned {
		if r, ok := m.configured(provider, settings); ok {
			return r, nil
		}
	}
	found, disabled, err := m.stored(ctx, provider, session)
	if found.Secret != "" {
		return found, nil
	}
	var soft *UnusableError
	if err != nil && (!errors.As(err, &soft) || soft.Transient) {
		return Resolved{}, err
	}
	r, ok := m.outside(provider, settings)
	switch {
	case ok && soft != nil:
		r.Warning = soft.Error()
		return r, nil
	case ok:
		return r, nil
	case soft != nil:
		return Resolved{}, soft
	}
	return Resolved{}, m.notFound(provider, settings, disabled)
}

// outside looks where nothing is stored: variables, models.yml, and whether a
// key is needed at all.
func (m *Manager) outside(provider string, settings Settings) (Resolved, bool) {
	if r, ok := m.fromEnv(provider); ok {
		return r, true
	}
	if r, ok := m.configured(provider, settings); ok {
		return r, true
	}
	return Resolved{Kind: KindNone, Provider: provider, Found: Found{FromNowhere, "no key needed"}}, settings.Keyless
}

func (m *Manager) fromEnv(provider string) (Resolved, bool) {
	for _, v := range variables[provider] {
		if v.When != "" && !m.env.on(v.When) {
			continue
		}
		if r, ok := m.variable(provider, v.Name); ok {
			if v.Bearer {
				r.Kind = KindOAuth
			}
			return r, true
		}
	}
	return Resolved{}, false
}

func (m *Manager) variable(provider, name string) (Resolved, bool) {
	value, file := m.env.get(name)
	if value == "" {
		return Resolved{}, false
	}
	source := "variable " + name
	if file != "" {
		source += " of " + file
	}
	return Resolved{Secret: Secret(value), Kind: KindAPIKey, Provider: provider, Found: Found{FromVariable, source}}, true
}

// configured is the key that models.yml gives.
func (m *Manager) configured(provider string, s Settings) (Resolved, bool) {
	if s.APIKeyEnv != "" {
		if r, ok := m.variable(provider, s.APIKeyEnv); ok {
			r.From, r.Source = FromModelsYAML, r.Source+" (models.yml)"
			return r, true
		}
	}
	if s.APIKey == "" {
		return Resolved{}, false
	}
	if name := s.APIKey.Reveal(); envName.MatchString(name) {
		if r, ok := m.variable(provider, name); ok {
			r.From, r.Source = FromModelsYAML, r.Source+" (models.yml)"
			return r, true
		}
	}
	// Said in full, because the name of a variable that is not set ends here.
	return Resolved{Secret: s.APIKey, Kind: KindAPIKey, Provider: provider, Found: Found{FromModelsYAML, "apiKey of models.yml, as it stands there"}}, true
}

// stored picks one of the stored credentials. With an error nothing was found;
// an [*UnusableError] that is not transient leaves other sources to try.
func (m *Manager) stored(ctx context.Context, provider, session string) (found Resolved, disabled []string, err error) {
	s, err := m.store(ctx, false)
	if s == nil && err == nil {
		return Resolved{}, nil, nil
	}
	var rows []row
	if err == nil {
		rows, err = s.list(ctx, provider)
	}
	if err != nil {
		if ctx.Err() != nil {
			return Resolved{}, nil, ctx.Err()
		}
		return Resolved{}, nil, &UnusableError{Provider: provider, Reason: "the stored credentials cannot be read: " + err.Error(), Err: err}
	}
	now := m.now()
	var usable []row
	blocked := BlockedError{Provider: provider, now: now}
	for _, r := range rows {
		switch {
		case r.disabled != "":
			disabled = append(disabled, r.name()+" ("+r.disabled+")")
		case r.blocked.After(now):
			blocked.Count++
			if blocked.Until.IsZero() || r.blocked.Before(blocked.Until) {
				blocked.Until = r.blocked
			}
		default:
			usable = append(usable, r)
		}
	}
	var soft, hard error
	for _, i := range m.order(usable, provider, session) {
		r := &usable[i]
		found, err := m.use(ctx, s, r)
		if err == nil {
			m.touch(ctx, s, r, usable)
			return found, disabled, nil
		}
		var u *UnusableError
		switch {
		case ctx.Err() != nil:
			return Resolved{}, nil, ctx.Err()
		case errors.Is(err, ErrNoCredential): // removed since it was read
		case errors.As(err, &u) && !u.Transient:
			soft = cmp.Or(soft, err)
		default:
			hard = cmp.Or(hard, err)
		}
	}
	switch {
	case hard != nil:
		return Resolved{}, disabled, hard
	case blocked.Count > 0:
		return Resolved{}, disabled, &blocked
	}
	return Resolved{}, disabled, soft
}

// order is the order in which usable credentials are tried: API keys before
// logins, and among each the session's own or the one whose turn it is first.
//
// A session's own is found by rendezvous hashing: every process comes to the same
// one without a record, and one that is added, blocked or removed moves only
// the sessions it concerns.
func (m *Manager) order(rows []row, provider, session string) []int {
	order := make([]int, len(rows))
	weight := make([]uint64, len(rows))
	for i := range rows {
		order[i] = i
		if session != "" && len(rows) > 1 {
			sum := sha256.Sum256([]byte(session + "\x00" + strconv.FormatInt(rows[i].id, 10)))
			weight[i] = binary.BigEndian.Uint64(sum[:])
		}
	}
	last := int64(0)
	if session == "" && len(rows) > 1 {
		last = m.lastTurn(rows, provider)
	}
	slices.SortFunc(order, func(a, b int) int {
		ra, rb := &rows[a], &rows[b]
		return cmp.Or(
			cmp.Compare(ra.kind, rb.kind), // api_key, oauth
			cmp.Compare(weight[b], weight[a]),
			compareBool(ra.id <= last, rb.id <= last),
			cmp.Compare(ra.id, rb.id),
		)
	})
	return order
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// lastTurn is who had the last turn: as this process knows, else whoever was
// used last by any.
func (m *Manager) lastTurn(rows []row, provider string) int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	if id, ok := m.turn[provider]; ok {
		return id
	}
	latest := slices.MaxFunc(rows, func(a, b row) int { return a.lastUsed.Compare(b.lastUsed) })
	if latest.lastUsed.IsZero() {
		return 0
	}
	return latest.id
}

// touchEvery is how exactly the time of last use is kept.
const touchEvery = time.Minute

// touch records that r was used. It must not hold up a request, so it neither
// waits long for other writers nor fails.
func (m *Manager) touch(ctx context.Context, s *store, r *row, usable []row) {
	latest := r.lastUsed
	if len(usable) > 1 {
		m.mu.Lock()
		m.turn[r.provider] = r.id
		m.mu.Unlock()
		latest = slices.MaxFunc(usable, func(a, b row) int { return a.lastUsed.Compare(b.lastUsed) }).lastUsed
	}
	now := m.now()
	// Whoever takes the next turn in another process goes by the latest.
	if now.Sub(r.lastUsed) < touchEvery && !latest.After(r.lastUsed) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	_, _ = s.change(ctx, "UPDATE credentials SET last_used = ? WHERE id = ?", now.UnixMilli(), r.id)
}

// use opens a row and renews it if its time has come.
func (m *Manager) use(ctx context.Context, s *store, r *row) (Resolved, error) {
	p, err := m.open(ctx, s, r)
	if err != nil {
		return Resolved{}, err
	}
	if r.kind == KindOAuth && !p.validFor(early, m.now()) {
		if p, err = m.renew(ctx, r, p.secret(), false); err != nil {
			return Resolved{}, err
		}
	}
	return resolved(r, p), nil
}

func resolved(r *row, p *payload) Resolved {
	source := "stored " + r.name()
	if p.Account != "" && r.kind == KindOAuth {
		source += " of " + p.Account
	}
	return Resolved{Secret: p.secret(), Kind: r.kind, Provider: r.provider, Found: Found{FromStore, source}, CredentialID: r.id, Account: p.Account}
}

// notFound says all that was looked for.
func (m *Manager) notFound(provider string, s Settings, disabled []string) *NotFoundError {
	e := &NotFoundError{Providers: []string{provider}, Disabled: disabled}
	for _, v := range variables[provider] {
		if v.When == "" || m.env.on(v.When) {
			e.Variables = append(e.Variables, v.Name)
		}
	}
	if s.APIKeyEnv != "" && !slices.Contains(e.Variables, s.APIKeyEnv) {
		e.Variables = append(e.Variables, s.APIKeyEnv)
	}
	if _, ok := m.login(provider); ok {
		e.Logins = append(e.Logins, provider)
	}
	return e
}

// Available says for which of the providers a credential is at hand, and where
// it would come from. Nothing is unsealed or renewed, and blocked credentials
// count: it is for choosing a model, not for a request. The error is that of the
// database; what was found elsewhere is returned with it.
func (m *Manager) Available(ctx context.Context, providers ...string) (map[string]Found, error) {
	have := map[string]row{}
	s, err := m.store(ctx, false)
	if s != nil {
		var rows []row
		rows, err = s.list(ctx, "")
		for i := range rows {
			r := &rows[i]
			if before, ok := have[r.provider]; r.disabled == "" && (!ok || r.kind < before.kind) {
				have[r.provider] = *r
			}
		}
	}
	out := map[string]Found{}
	for _, provider := range providers {
		settings := m.o.Provider(provider)
		pinned, isPinned := Resolved{}, false
		if settings.Pinned {
			pinned, isPinned = m.configured(provider, settings)
		}
		switch stored, ok := have[provider]; {
		case m.override(provider) != "":
			out[provider] = Found{FromCommandLine, "--api-key"}
		case isPinned:
			out[provider] = pinned.Found
		case ok:
			out[provider] = Found{FromStore, "stored " + stored.name()}
		default:
			if r, ok := m.outside(provider, settings); ok {
				out[provider] = r.Found
			}
		}
	}
	return out, err
}

package bench

import (
	"context"

	"github.com/burin-dev/burin/internal/platform/permission"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/tool/permit"
	"github.com/burin-dev/burin/transcript"
)

// liveRules are the rules of a session that runs, for faces.
type liveRules struct {
	policy *permission.Policy
	log    *transcript.Log
}

var _ session.Permissions = (*liveRules)(nil)

func (l *liveRules) Rules(context.Context) ([]permit.Rule, error) {
	var all []permit.Rule
	for _, r := range l.policy.Rules() {
		all = append(all, permission.InWords(r))
	}
	return all, nil
}

func (l *liveRules) Grant(_ context.Context, rule string, scope permit.Scope) (permit.Rule, error) {
	r, err := permission.ParseRule(rule)
	if err != nil {
		return permit.Rule{}, err
	}
	r.Scope = scope
	if r, err = l.policy.Grant(r); err != nil {
		return permit.Rule{}, err
	}
	return permission.InWords(r), nil
}

func (l *liveRules) Revoke(_ context.Context, id string) error { return l.policy.Revoke(id) }

func (l *liveRules) Try(_ context.Context, rules ...string) ([]permit.Tried, error) {
	parsed := make([]permit.Rule, 0, len(rules))
	for _, text := range rules {
		r, err := permission.ParseRule(text)
		if err != nil {
			return nil, err
		}
		parsed = append(parsed, r)
	}
	var calls pastCalls
	calls.of(l.log)
	return calls.try(l.policy, parsed...), nil
}

// changes are the turns of the workspace for faces; nil if no journal is kept.
func (b *seat) changes() session.Changes {
	if !b.journaled {
		return nil
	}
	return &Changes{b.ws, func() { b.cache.Invalidate(b.dir) }}
}

// Watch implements [session.Background].
func (js jobs) Watch(changed func()) {
	b := js.seat
	b.mu.Lock()
	defer b.mu.Unlock()
	b.onJobs = changed
}

func (b *seat) jobsChanged() {
	b.mu.Lock()
	tell := b.onJobs
	b.mu.Unlock()
	if tell != nil {
		tell()
	}
}

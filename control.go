package burin

import (
	"context"

	"github.com/burin-dev/burin/internal/platform/permission"
	"github.com/burin-dev/burin/internal/platform/workspace"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/transcript"
)

// liveRules are the rules of a session that runs, for faces.
type liveRules struct {
	policy *permission.Policy
	log    *transcript.Log
}

var _ session.Permissions = (*liveRules)(nil)

func ruleOf(r Rule) session.Rule {
	return session.Rule{
		ID: r.ID, Text: r.String(), Words: r.Words(), Verdict: string(r.Verdict), Scope: string(r.Scope), Source: r.Source, Expires: r.Expires,
	}
}

func (l *liveRules) Rules() []session.Rule {
	var all []session.Rule
	for _, r := range l.policy.Rules() {
		all = append(all, ruleOf(r))
	}
	return all
}

func (l *liveRules) Grant(rule, scope string) (session.Rule, error) {
	r, err := permission.ParseRule(rule)
	if err != nil {
		return session.Rule{}, err
	}
	r.Scope = permission.Scope(scope)
	if r, err = l.policy.Grant(r); err != nil {
		return session.Rule{}, err
	}
	return ruleOf(r), nil
}

func (l *liveRules) Revoke(id string) error { return l.policy.Revoke(id) }

func (l *liveRules) Try(rules ...string) ([]session.Tried, error) {
	parsed := make([]Rule, 0, len(rules))
	for _, text := range rules {
		r, err := permission.ParseRule(text)
		if err != nil {
			return nil, err
		}
		parsed = append(parsed, r)
	}
	var calls pastCalls
	calls.of(l.log)
	var all []session.Tried
	for _, t := range calls.try(l.policy, parsed...) {
		all = append(all, session.Tried{Tool: t.Tool, Target: t.Target, Verdict: string(t.Decision.Verdict), Reason: t.Decision.Reason})
	}
	return all, nil
}

// changes are the turns of the workspace for faces; nil if no journal is kept.
func (b *builder) changes() session.Changes {
	if !b.journaled {
		return nil
	}
	return &liveChanges{b.ws, func() { b.cache.Invalidate(b.dir) }}
}

// liveChanges are the turns of a workspace whose session runs.
type liveChanges struct {
	ws      *workspace.Workspace
	changed func() // tells that files may have changed
}

var _ session.Changes = (*liveChanges)(nil)

func (l *liveChanges) Turns() ([]session.Turn, error) {
	turns, err := l.ws.Turns()
	if err != nil {
		return nil, err
	}
	all := make([]session.Turn, 0, len(turns))
	for _, t := range turns {
		all = append(all, session.Turn(t))
	}
	return all, nil
}

func (l *liveChanges) Preview(ctx context.Context, turn string) ([]session.PlannedUndo, error) {
	planned, err := l.ws.PreviewUndo(ctx, turn)
	if err != nil {
		return nil, err
	}
	all := make([]session.PlannedUndo, 0, len(planned))
	for _, p := range planned {
		all = append(all, session.PlannedUndo{Path: p.Path, Action: string(p.Action), Reason: p.Reason})
	}
	return all, nil
}

func (l *liveChanges) Undo(ctx context.Context, turn string) (*session.Undone, error) {
	done, err := l.ws.Undo(ctx, turn)
	l.changed()
	if done == nil {
		return nil, err
	}
	out := &session.Undone{Restored: done.Restored}
	for _, k := range done.Kept {
		out.Kept = append(out.Kept, session.PlannedUndo{Path: k.Path, Action: "keep", Reason: k.Reason})
	}
	return out, err
}

// watchJobs is told what to call when a job has started or ended.
func (b *builder) watchJobs(changed func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.onJobs = changed
}

func (b *builder) jobsChanged() {
	b.mu.Lock()
	tell := b.onJobs
	b.mu.Unlock()
	if tell != nil {
		tell()
	}
}

package permission

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/burin-dev/burin/tool"
)

// Asker puts a question to a person. It returns the rules the person granted
// (their scope may be Once) and whether this call may run; a note is for the model.
type Asker interface {
	Ask(ctx context.Context, r Request, d Decision) (Answer, error)
}

// Authorize decides and, for a question, asks. Without an asker a question is a
// refusal. The error is a *Refused, or ctx's.
//
// Questions are asked one at a time. A call that waited is judged again before
// it is asked about, so that one grant answers all it covers.
func (p *Policy) Authorize(ctx context.Context, r Request, a Asker) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	d, settled, err := p.settled(r)
	if settled {
		if refused := (*Refused)(nil); a != nil && errors.As(err, &refused) {
			refused.Flag = "" // somebody is there, and this is not asked about
		}
		return err
	}
	if a == nil {
		return &Refused{Request: r, Decision: d, Flag: p.flag(r)}
	}
	select {
	case p.asking <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-p.asking }()
	if d, settled, err = p.settled(r); settled {
		return err
	}
	answer, err := a.Ask(ctx, r, d)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return &Refused{Request: r, Decision: d, Note: "The question could not be asked: " + err.Error(), Flag: p.flag(r)}
	}
	for _, g := range answer.Grant {
		p.grantAnswer(g)
	}
	if !answer.Allow {
		note := answer.Note
		if note == "" {
			note = "The user said no. Do not try the same by other means; ask what to do instead."
		}
		return &Refused{Request: r, Decision: d, Note: note}
	}
	p.remember(r)
	return nil
}

// grantAnswer keeps what a person granted beside the one call. What cannot be
// kept in the file holds for the session; Problem tells of it.
func (p *Policy) grantAnswer(g Rule) {
	if g.Scope == Once {
		return // the answer itself
	}
	_, err := p.Grant(g)
	if err == nil || g.Scope == Session || g.Scope == "" {
		return
	}
	g.Scope = Session
	_, _ = p.Grant(g)
	p.mu.Lock()
	p.unkept = err
	p.mu.Unlock()
}

// settled judges a request and reports whether that is the end of it.
func (p *Policy) settled(r Request) (Decision, bool, error) {
	for {
		d, j := p.decide(r)
		switch {
		case d.Verdict == Deny:
			return d, true, &Refused{Request: r, Decision: d, Flag: p.flag(r)}
		case d.Verdict == Question:
			return d, false, nil
		case p.useUp(j):
			p.remember(r)
			return d, true, nil
		}
	}
}

// remember keeps a call for examples.
func (p *Policy) remember(r Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.recent) >= maxRecent {
		p.recent = slices.Delete(p.recent, 0, 1)
	}
	p.recent = append(p.recent, r)
}

// useUp takes back the rules that a judge needed and that were for once only. It
// reports whether they were all still there.
func (p *Policy) useUp(j *judge) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	used := map[string]bool{}
	for i := range j.findings {
		if r := j.findings[i].rule; r != nil && r.Scope == Once {
			used[r.ID] = true
		}
	}
	if len(used) == 0 {
		return true
	}
	n := len(p.session)
	p.session = slices.DeleteFunc(p.session, func(c *compiled) bool { return used[c.ID] })
	return len(p.session) == n-len(used)
}

// flag is what would have allowed a request on the command line; empty if nothing
// would: a rule refuses it or asks about it.
func (p *Policy) flag(r Request) string {
	rules := p.rules()
	if newJudge(p.at, AutoEdit, p.walled.Load(), rules).decide(r).Verdict == Allow {
		return "--approval auto-edit"
	}
	mode, prefix := p.Mode(), ""
	if mode == Plan {
		mode, prefix = Ask, "--approval ask"
	}
	j := newJudge(p.at, mode, p.walled.Load(), rules)
	switch d := j.decide(r); d.Verdict {
	case Allow:
		return prefix
	case Deny:
		return ""
	}
	if dir := p.outside(r); dir != "" {
		return strings.TrimSpace(prefix + " --add-dir " + quoteShell(dir))
	}
	if s := offerFlags(j.offers(r, nil, false), prefix, r); s != "" && len(s) <= 500 {
		return s
	}
	// A whole tool is offered only where it does nothing but ask somewhere.
	offline := func(a tool.Access) bool { return a.Kind != tool.AccessNetwork }
	if c, err := compile(Rule{Tool: r.Tool, Verdict: Allow}, p.at); err == nil && !slices.ContainsFunc(r.Access, offline) && newJudge(p.at, mode, p.walled.Load(), withRule(rules, c)).decide(r).Verdict == Allow {
		return strings.TrimSpace(prefix + " --allow " + quoteShell(r.Tool))
	}
	if j = newJudge(p.at, Full, p.walled.Load(), rules); j.decide(r).Verdict == Allow {
		return "--approval full"
	}
	return ""
}

// outside is the folder of a file of the request that lies outside of the workspace:
// tools reach it only if it is one of the session's. Commands go where they like.
func (p *Policy) outside(r Request) string {
	for _, a := range r.Access {
		if a.Kind != tool.AccessRead && a.Kind != tool.AccessWrite || !filepath.IsAbs(a.Target) {
			continue
		}
		if !slices.ContainsFunc(append([]string{p.at.Root}, p.at.Extra...), func(dir string) bool {
			rel, err := filepath.Rel(dir, a.Target)
			return err == nil && filepath.IsLocal(rel)
		}) {
			return filepath.Dir(a.Target)
		}
	}
	return ""
}

// offerFlags are the flags that grant one of the offers; empty without any.
func offerFlags(offers []Offer, prefix string, r Request) string {
	if len(offers) == 0 {
		return ""
	}
	flags := []string{}
	if prefix != "" {
		flags = append(flags, prefix)
	}
	offer := offers[0]
	if len(offers) > 1 && slices.ContainsFunc(r.Access, func(a tool.Access) bool { return a.Kind == tool.AccessExecute }) {
		offer = offers[1] // whoever repeats a run wants its commands, not this one line
	}
	for _, g := range offer.Rules {
		flags = append(flags, "--allow "+quoteShell(g.String()))
	}
	return strings.Join(flags, " ")
}

// quoteShell makes a word that every shell of sh's family takes as it stands.
func quoteShell(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

package bench

import (
	"encoding/json"
	"path/filepath"
	"sync"
	"time"

	"github.com/burin-dev/burin/internal/platform/permission"
	"github.com/burin-dev/burin/internal/platform/private"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/tool"
	"github.com/burin-dev/burin/tool/permit"
	"github.com/burin-dev/burin/transcript"
)

// Permissions are the rules that hold in a workspace.
type Permissions struct{ policy *permission.Policy }

// OpenPermissions reads the rules of the workspace dir: those that were granted for
// good, kept in file, and those given.
func OpenPermissions(dir, file string, allow, deny []string) (*Permissions, error) {
	dir, err := realDir(dir)
	if err != nil {
		return nil, err
	}
	b := &Bench{Options: Options{Allow: allow, Deny: deny, PermissionFile: file, Now: time.Now}, dir: dir}
	policy, err := b.policy(permission.Ask)
	if err != nil {
		return nil, err
	}
	return &Permissions{policy}, nil
}

// Withheld gives what says why a file, by its absolute path, is kept from a model that nobody
// watches: it usually holds secrets, or the rules of a workspace refuse it or ask about it. The
// rules are read with the first question; where they cannot be, every file is withheld.
func Withheld(dir, file string, allow, deny []string) func(path string) string {
	open := sync.OnceValues(func() (*Permissions, error) { return OpenPermissions(dir, file, allow, deny) })
	return func(path string) string {
		p, err := open()
		if err != nil {
			return err.Error()
		}
		return withheld(p.policy, dir)(path)
	}
}

// withheld is Withheld for rules that have been read.
func withheld(policy *permission.Policy, dir string) func(path string) string {
	return func(path string) string {
		if private.Named(path) {
			return "it usually holds keys or passwords"
		}
		test := policy.Withheld(".")
		if rel, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(rel) {
			path = rel
		}
		if test != nil && test(filepath.ToSlash(path)) {
			return "rules keep it from the model"
		}
		return ""
	}
}

// Rules are all rules that hold, in the order they are looked at.
func (p *Permissions) Rules() []permit.Rule { return p.policy.Rules() }

// Revoke takes a lasting grant back.
func (p *Permissions) Revoke(id string) error { return p.policy.Revoke(id) }

// Try gives the calls of past sessions to which a rule would have made a difference, and
// of how many. Calls that touch nothing or never ended are left out, and each call counts
// once.
func (p *Permissions) Try(rule string, sessions []string) (changed []permit.Tried, of int, err error) {
	r, err := permission.ParseRule(rule)
	if err != nil {
		return nil, 0, err
	}
	var calls pastCalls
	for _, path := range sessions {
		l, _, err := transcript.ReadSession(path, transcript.Options{})
		if err != nil {
			continue // what cannot be read holds no calls
		}
		calls.of(l)
		l.Close() //nolint:errcheck // it was only read
	}
	return calls.try(p.policy, r), len(calls.requests), nil
}

// pastCalls are calls of sessions, each once.
type pastCalls struct {
	seen     map[string]bool
	requests []permit.Request
	tried    []permit.Tried
}

// of takes in the calls of a session that have ended. One that is asked about just now is
// not of the past.
func (p *pastCalls) of(l *transcript.Log) {
	if p.seen == nil {
		p.seen = map[string]bool{}
	}
	ended := map[string]bool{}
	for e, err := range l.All() {
		if err == nil && e.Message != nil && e.Message.Role == llm.RoleToolResult {
			ended[e.Message.ToolCallID] = true
		}
	}
	for e, err := range l.All() {
		if err != nil || e.Message == nil {
			continue
		}
		for _, c := range e.Message.ToolCalls() {
			q, target, ok := pastCall(c.Name, c.Arguments)
			if !ok || !ended[c.ID] || p.seen[c.Name+"\x00"+target] {
				continue
			}
			p.seen[c.Name+"\x00"+target] = true
			p.requests = append(p.requests, q)
			p.tried = append(p.tried, permit.Tried{Tool: c.Name, Target: target})
		}
	}
}

// try gives those of them to which rules make a difference, with what they make of them.
func (p *pastCalls) try(policy *permission.Policy, rules ...permit.Rule) (changed []permit.Tried) {
	for i, d := range policy.DryRun(p.requests, rules...) {
		if d.Changed() {
			p.tried[i].Decision = d.With
			changed = append(changed, p.tried[i])
		}
	}
	return changed
}

// pastCall is what a call of a transcript touched, as far as its arguments tell.
func pastCall(name, arguments string) (q permit.Request, target string, ok bool) {
	var args struct{ Command, Path, URL string }
	if json.Unmarshal([]byte(arguments), &args) != nil {
		return q, "", false
	}
	a, effects := tool.Access{}, tool.Effects(0)
	switch {
	case args.Command != "":
		a, effects = tool.Access{Kind: tool.AccessExecute, Target: args.Command}, tool.Executes|tool.Writes|tool.Reads|tool.Network
	case args.URL != "":
		a, effects = tool.Access{Kind: tool.AccessNetwork, Target: args.URL}, tool.Network
	case args.Path != "" && (name == "write" || name == "edit" || name == "undo_edit"):
		a, effects = tool.Access{Kind: tool.AccessWrite, Target: args.Path}, tool.Writes
	case args.Path != "":
		a, effects = tool.Access{Kind: tool.AccessRead, Target: args.Path}, tool.Reads
	default:
		return q, "", false
	}
	return permit.Request{Tool: name, Effects: effects, Access: []tool.Access{a}}, a.Target, true
}

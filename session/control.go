package session

import (
	"context"
	"time"
)

// Permissions are the rules by which calls run, while the session lives. Rules are in
// text: bash(go test:*), !edit(.env), ask fetch.
type Permissions interface {
	// Rules are all rules that hold, in the order they are looked at.
	Rules() []Rule
	// Grant adds a rule. The scope is session, project or user; "" is session.
	Grant(rule, scope string) (Rule, error)
	// Revoke takes a rule back, by its id. Rules of flags and configuration have none.
	Revoke(id string) error
	// Try gives the calls of this session that have ended and to which the rules, held
	// together, make a difference; also where they hold already.
	Try(rules ...string) ([]Tried, error)
}

// Rule is a rule of permission.
type Rule struct {
	ID      string // to revoke it by; "" if it cannot be
	Text    string // as it is written
	Words   string // what it means
	Verdict string // allow, deny or ask
	Scope   string // session, project or user
	Source  string // "--allow", "you, 2 Jan 2026"
	Expires time.Time
}

// Tried is a call of the past and what rules make of it.
type Tried struct {
	Tool, Target string
	Verdict      string // allow, deny or ask
	Reason       string
}

// Changes are what the turns of sessions have changed in the workspace.
type Changes interface {
	// Turns are the turns that changed something, newest first, those of other
	// sessions and processes too.
	Turns() ([]Turn, error)
	// Preview says what Undo would do with each path, and does nothing.
	Preview(ctx context.Context, turn string) ([]PlannedUndo, error)
	// Undo restores what a turn changed; of a turn that is undone it brings the
	// changes back. What someone changed since is left as it is and reported.
	Undo(ctx context.Context, turn string) (*Undone, error)
}

// Turn is a prompt, or a person's command, and what was changed for it.
type Turn struct {
	ID      string // for Preview and Undo
	Session string
	Label   string
	Time    time.Time
	Paths   []string // sorted; what begins with ".git/" is git's
	Undone  bool
}

// PlannedUndo is a path of a turn with what an undo would do.
type PlannedUndo struct {
	Path   string
	Action string // restore, delete or keep
	Reason string // of keep
}

// Undone is what an undo did.
type Undone struct {
	Restored []string
	Kept     []PlannedUndo // of action keep, with the reason
}

// Permissions are the rules by which calls run; nil where the session has none.
func (s *Session) Permissions() Permissions { return s.o.Permissions }

// Changes are what turns have changed; nil where no journal is kept.
func (s *Session) Changes() Changes { return s.o.Changes }

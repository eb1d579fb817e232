// Package permission decides which calls of tools may run.
//
// A [Policy] judges a [Request], the accesses that a call is about to make, by a
// [Mode] and by rules, and says what it decided and why. A question goes to an
// [Asker]; what the person grants beside the one call is a [Rule] again, with a
// scope, and can be looked at, tried on past calls and taken back.
//
// # How a call is judged
//
// Every access is judged by itself, of a shell command every simple command and
// every redirection in it; the strictest verdict is that of the call. For each,
// in this order:
//
//  1. a rule that refuses
//  2. a rule that asks
//  3. a rule that allows exactly this text
//  4. what is dangerous is a question, in every mode
//  5. a rule that allows, the most specific one
//  6. the mode
//
// A rule that refuses wins over everything. It also refuses what cannot be taken
// apart, or is not known before it runs, as soon as that names what the rule is
// about; what may be meant but is not named is a question that no grant answers.
//
// In plan mode nothing that changes something runs, whatever rules allow.
//
// # Rules
//
// In text a rule is "tool" or "tool(pattern)". A rule that refuses begins with
// "!" or "deny ", one that asks with "ask "; "allow " may be written out.
//
//	bash(git status)       exactly this command
//	bash(go test:*)        these words and anything after them
//	bash("a | b")          exactly this text; in Go's quotes nothing is special. It never
//	                       holds for a line with variables that other commands may set
//	edit(src/**)           files by pattern, relative to the workspace, or absolute, or from ~/
//	fetch(example.com)     a host; *.example.com is all below it; :8080 a port
//	bash                   every call of the tool
//
// A rule is for one tool, with three families: read is for all tools that look at
// files (read, ls, find, grep), edit for all that change them (edit, write,
// undo_edit), bash for all that run commands (bash, job_start). Rules of read and
// edit also hold for what commands surely read and for the files that
// redirections write.
//
// Words after ":*" never bring in more than arguments: each command in a pipe, a
// list or a substitution needs a rule of its own. Arguments that make a program
// run another one (git -c, tar --to-command, find -exec, python -c) are a question
// unless the rule itself names them.
//
// # Where grants are kept
//
// Lasting grants are in one file of the user's, by project path. Nothing is ever
// read from the project itself: a clone cannot grant itself anything.
package permission

import (
	"fmt"
	"time"

	"github.com/burin-dev/burin/tool"
)

// Mode is how much runs without a question.
type Mode string

const (
	Plan     Mode = "plan"      // only what changes nothing
	Ask      Mode = "ask"       // reading runs, all else asks
	AutoEdit Mode = "auto-edit" // reading and editing files of the workspace run, all else asks
	Full     Mode = "full"      // everything runs but what is refused by a rule or dangerous
)

// ParseMode reads a mode, also by the names that other programs give it.
func ParseMode(s string) (Mode, error) {
	switch s {
	case "plan", "read-only":
		return Plan, nil
	case "ask", "always-ask", "default":
		return Ask, nil
	case "auto-edit", "write", "acceptEdits":
		return AutoEdit, nil
	case "full", "yolo":
		return Full, nil
	}
	return "", fmt.Errorf("approval mode %q: the modes are plan, ask, auto-edit and full", s)
}

// Request is a call that wants to run.
type Request struct {
	Tool    string
	Effects tool.Effects
	// Access is what it will touch. Without any, each effect but Asks counts as one
	// access without a target. A tool that does not say what it does must be given
	// the effect Executes by the caller.
	Access []tool.Access
	// Call is the id of the call, by which a face finds it; nothing is judged by it.
	Call string
}

// Verdict is what becomes of a request.
type Verdict string

const (
	Allow    Verdict = "allow"
	Deny     Verdict = "deny"
	Question Verdict = "ask"
)

// Decision is a verdict with its reasons.
type Decision struct {
	Verdict Verdict
	Reason  string  // one line, for people and for the model
	Rule    *Rule   // that decided; nil if the mode did
	Parts   []Part  // of a command: what became of each simple command in it
	Offers  []Offer // of a question: what can be granted for good, narrowest first
	// Dangerous says what is dangerous about it, in words; empty: nothing known.
	Dangerous string
}

// Part is one simple command of a compound one, or one path or host.
type Part struct {
	Text    string
	Verdict Verdict
	Reason  string
}

// Offer is a grant that a person can choose.
type Offer struct {
	Rules    []Rule   // with the scope Session; see In
	Words    string   // "`go test` with any arguments"
	Examples []string // calls seen or likely that it would allow too
	Scopes   []Scope  // that may be chosen, shortest first
}

// In gives the rules of the offer with the scope that the person chose.
func (o Offer) In(s Scope) []Rule {
	rules := make([]Rule, len(o.Rules))
	for i, r := range o.Rules {
		r.Scope = s
		rules[i] = r
	}
	return rules
}

// Rule allows, refuses or asks about calls of a tool by argument. In text it is
// "tool" or "tool(pattern)", as in bash(go test:*), edit(src/**), fetch(example.com).
type Rule struct {
	Tool    string
	Pattern string
	Verdict Verdict
	Scope   Scope
	Expires time.Time // zero: never
	ID      string    // to revoke it by; given when it is stored
	Source  string    // "--allow", "config.yml:12", "you, 2 Jan 2026"
}

// Scope is how long a grant holds.
type Scope string

const (
	Once    Scope = "once"    // for the next call that needs it
	Session Scope = "session" // as long as this process runs
	Project Scope = "project" // kept with the user's files, by the project's path; never in the repository
	User    Scope = "user"    // kept, for all projects
)

// Package permit holds what is asked before a tool call runs, and what a person can
// answer: plain data that every face reads and any wire carries, and the words in which
// all faces put the answers.
//
// It judges nothing itself.
package permit

import (
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/tool"
)

// Request is a call that wants to run.
type Request struct {
	Tool    string       `json:"tool"`
	Effects tool.Effects `json:"effects"`
	// Access is what it will touch. Without any, each effect but Asks counts as one
	// access without a target. A tool that does not say what it does must be given
	// the effect Executes by the caller.
	Access []tool.Access `json:"access,omitempty"`
	// Call is the id of the call, by which a face finds it; nothing is judged by it.
	Call string `json:"callId,omitempty"`
}

// String is the call on one line of at most 100 characters.
func (r Request) String() string {
	var parts []string
	for _, a := range r.Access {
		switch {
		case a.Kind == tool.AccessExecute:
			parts = append(parts, a.Target)
		case a.Target != "":
			parts = append(parts, r.Tool+" "+a.Target)
		}
	}
	if len(parts) == 0 {
		return r.Tool
	}
	return prose.Clip(prose.Line(strings.Join(parts, ", ")), 100)
}

// Verdict is what becomes of a request.
type Verdict string

const (
	Allow Verdict = "allow"
	Deny  Verdict = "deny"
	Ask   Verdict = "ask"
)

// Decision is a verdict with its reasons.
type Decision struct {
	Verdict Verdict `json:"verdict"`
	Reason  string  `json:"reason,omitempty"` // one line, for people and for the model
	Rule    *Rule   `json:"rule,omitempty"`   // that decided; nil if the mode did
	Parts   []Part  `json:"parts,omitempty"`  // of a command: what became of each simple command in it
	Offers  []Offer `json:"offers,omitempty"` // of a question: what can be granted for good, narrowest first
	// Dangerous says what is dangerous about it, in words; empty: nothing known.
	Dangerous string `json:"dangerous,omitempty"`
}

// Part is one simple command of a compound one, or one path or host.
type Part struct {
	Text    string  `json:"text"`
	Verdict Verdict `json:"verdict"`
	Reason  string  `json:"reason,omitempty"`
}

// Offer is a grant that a person can choose.
type Offer struct {
	Rules []Rule `json:"rules"` // with the scope Session; see In
	// Words name the calls in at most [MaxWords] columns: "all `go test` commands". The
	// words of the rules say it in full.
	Words    string   `json:"words"`
	Examples []string `json:"examples,omitempty"` // calls seen or likely that it would allow too
	Scopes   []Scope  `json:"scopes"`             // that may be chosen, shortest first
	// Expires is when a grant for a project or for all projects ends; zero: never.
	Expires time.Time `json:"expires,omitzero"`
}

// In gives the rules of the offer with the scope that the person chose.
func (o Offer) In(s Scope) []Rule {
	rules := make([]Rule, len(o.Rules))
	for i, r := range o.Rules {
		r.Scope = s
		if s == Project || s == User {
			r.Expires = o.Expires
		}
		rules[i] = r
	}
	return rules
}

// Rule allows, refuses or asks about calls of a tool by argument. In text it is
// "tool" or "tool(pattern)", as in bash(go test:*), edit(src/**), fetch(example.com).
type Rule struct {
	Tool    string    `json:"tool"`
	Pattern string    `json:"pattern,omitempty"`
	Verdict Verdict   `json:"verdict"`
	Scope   Scope     `json:"scope,omitempty"`
	Expires time.Time `json:"expires,omitzero"` // zero: never
	ID      string    `json:"id,omitempty"`     // to revoke it by; given when it is stored
	Source  string    `json:"source,omitempty"` // "--allow", "config.yml:12", "you, 2 Jan 2026"
	// Words are what it does, for people: "allow `go test` with any arguments"; "" where
	// nobody has said it. Meaning says how long, too.
	Words string `json:"words,omitempty"`
}

// String is the rule as it is written: with "!" before it one that refuses, with "ask "
// one that asks.
func (r Rule) String() string {
	s := r.Tool
	if r.Pattern != "" {
		s += "(" + r.Pattern + ")"
	}
	switch r.Verdict {
	case Deny:
		return "!" + s
	case Ask:
		return "ask " + s
	}
	return s
}

// Meaning says in plain English what the rule does, where and how long.
func (r Rule) Meaning() string {
	s := r.Words
	switch r.Scope {
	case Once:
		s += ", once"
	case Session:
		s += ", in this session"
	case Project:
		s += ", in this project"
	case User:
		s += ", in all projects"
	}
	if !r.Expires.IsZero() {
		s += ", until " + r.Expires.Format("2 Jan 2006 15:04")
	}
	return s
}

// Scope is how long a grant holds.
type Scope string

const (
	Once    Scope = "once"    // for the next call that needs it
	Session Scope = "session" // as long as the process runs
	Project Scope = "project" // kept with the user's files, by the project's path; never in the repository
	User    Scope = "user"    // kept, for all projects
)

// Question is a call about which a person is asked.
type Question struct {
	Request  Request  `json:"request"`
	Decision Decision `json:"decision"`
}

// Answer is a person's.
type Answer struct {
	Allow bool   `json:"allow"`
	Grant []Rule `json:"grant,omitempty"` // beside the one call; their scope may be Once
	Note  string `json:"note,omitempty"`  // for the model, of a call that may not run
	Stop  bool   `json:"stop,omitempty"`  // what asked is to be stopped, too
}

// Tried is a call of the past and what rules make of it.
type Tried struct {
	Tool     string   `json:"tool"`
	Target   string   `json:"target"`
	Decision Decision `json:"decision"`
}

// Refused is a call that was not allowed. Its text is for the model.
type Refused struct {
	Request  Request
	Decision Decision
	Note     string
	// Flag is what would allow it on the command line: --allow 'bash(go test:*)'.
	Flag string
}

// Error says in one or two lines what was refused and why and, where nobody could
// be asked, what would allow it.
func (e *Refused) Error() string {
	var b strings.Builder
	b.WriteString("refused, nothing was run: ")
	text := e.Request.String()
	if e.Request.Tool != "" && !strings.HasPrefix(text, e.Request.Tool) {
		b.WriteString(e.Request.Tool + " ")
	}
	b.WriteString("`" + text + "`")
	if e.Decision.Reason != "" {
		b.WriteString(": " + e.Decision.Reason)
	}
	if d := e.Decision.Dangerous; d != "" && !strings.Contains(e.Decision.Reason, d) {
		b.WriteString(" (dangerous: it " + d + ")")
	}
	b.WriteString(".")
	switch {
	case e.Note != "":
		b.WriteString("\n" + e.Note)
	case e.Flag != "":
		b.WriteString("\nburin can't ask here. To allow it, start burin with " + e.Flag)
	}
	return b.String()
}

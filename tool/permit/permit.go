// Package permit holds what burin asks before a tool call runs, and what the user can answer,
// as plain data that every face reads and any transport carries, and the words in which
// all faces put the answers.
//
// It doesn't judge calls; the permission package does.
package permit

import (
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/tool"
)

// Request is a call that asks to run.
type Request struct {
	Tool    string       `json:"tool"`
	Effects tool.Effects `json:"effects"`
	// Access lists what the call will touch. If it is empty, each effect except Asks counts as
	// one access without a target. If a tool doesn't declare its effects, the caller must set
	// Executes.
	Access []tool.Access `json:"access,omitempty"`
	// Call is the id of the call, for faces; it plays no part in the decision.
	Call string `json:"callId,omitempty"`
}

// String returns the call on one line of at most 100 characters.
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

// Verdict is the decision about a request.
type Verdict string

const (
	Allow Verdict = "allow"
	Deny  Verdict = "deny"
	Ask   Verdict = "ask"
)

// Decision is a verdict with its reasons.
type Decision struct {
	Verdict Verdict `json:"verdict"`
	Reason  string  `json:"reason,omitempty"` // one line, for users and for the model
	Rule    *Rule   `json:"rule,omitempty"`   // the rule that decided; nil if the mode did
	Parts   []Part  `json:"parts,omitempty"`  // of a command: the verdict on each simple command in it
	Offers  []Offer `json:"offers,omitempty"` // of a question: the lasting grants to choose from, narrowest first
	// Dangerous says what is dangerous about the call; empty if nothing is known.
	Dangerous string `json:"dangerous,omitempty"`
}

// Part is one simple command of a compound one, or one path or host.
type Part struct {
	Text    string  `json:"text"`
	Verdict Verdict `json:"verdict"`
	Reason  string  `json:"reason,omitempty"`
}

// Offer is a grant that the user can choose.
type Offer struct {
	Rules []Rule `json:"rules"` // with the scope Session; see In
	// Words name the calls in at most [MaxWords] columns: "all `go test` commands". The
	// words of the rules say it in full.
	Words    string   `json:"words"`
	Examples []string `json:"examples,omitempty"` // known or likely calls that it would allow too
	Scopes   []Scope  `json:"scopes"`             // to choose from, shortest first
	// Expires is when a grant for a project or for all projects ends; zero means never.
	Expires time.Time `json:"expires,omitzero"`
}

// In returns the rules of the offer with the scope that the user chose.
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

// Rule allows, denies or asks about calls of a tool by their arguments. Its text is "tool" or
// "tool(pattern)", such as bash(go test:*), edit(src/**), fetch(example.com).
type Rule struct {
	Tool    string    `json:"tool"`
	Pattern string    `json:"pattern,omitempty"`
	Verdict Verdict   `json:"verdict"`
	Scope   Scope     `json:"scope,omitempty"`
	Expires time.Time `json:"expires,omitzero"` // zero means never
	ID      string    `json:"id,omitempty"`     // for revoking it; set when it is stored
	Source  string    `json:"source,omitempty"` // "--allow", "config.yml:12", "you, 2 Jan 2026"
	// Words says what the rule does, for users: "allow `go test` with any arguments"; "" if
	// nobody has said. Meaning also says for how long.
	Words string `json:"words,omitempty"`
}

// String returns the rule as text: with "!" in front if it denies, with "ask " if it asks.
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

// Meaning says in plain English what the rule does, where and for how long.
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

// Scope is how long a grant lasts.
type Scope string

const (
	Once    Scope = "once"    // for the next call that needs it
	Session Scope = "session" // until the process ends
	Project Scope = "project" // stored with the user's files, by the project's path; never in the repository
	User    Scope = "user"    // stored, for all projects
)

// Question asks the user about a call.
type Question struct {
	Request  Request  `json:"request"`
	Decision Decision `json:"decision"`
}

// Answer is the user's answer to a question.
type Answer struct {
	Allow bool   `json:"allow"`
	Grant []Rule `json:"grant,omitempty"` // in addition to the call; their scope may be Once
	Note  string `json:"note,omitempty"`  // for the model, if the call may not run
	Stop  bool   `json:"stop,omitempty"`  // also stop what asked
}

// Tried is a past call and what rules would make of it.
type Tried struct {
	Tool     string   `json:"tool"`
	Target   string   `json:"target"`
	Decision Decision `json:"decision"`
}

// Refused reports a call that was not allowed. Its text is for the model.
type Refused struct {
	Request  Request
	Decision Decision
	Note     string
	// Flag is the command-line flag that would allow the call: --allow 'bash(go test:*)'.
	Flag string
}

// Error says in one or two lines what was refused and why and, if nobody could be asked, what
// would allow it.
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

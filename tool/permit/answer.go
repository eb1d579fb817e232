package permit

import (
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/prose"
)

// The answers that every question has. Those that grant something are the Labels of its
// offers.
const (
	Yes     = "Yes, this once"
	No      = "No"
	Instead = "No, and say what to do instead"
)

// An answer is one line in a terminal of 80 columns, with its number in front.
const (
	MaxWords = 40 // columns of an offer's Words
	MaxLabel = 75 // columns of its Label
)

// Label is the answer that gives the grant for a scope, on one line of at most [MaxLabel]
// columns: what is allowed, where, and how long.
func (o Offer) Label(s Scope, now time.Time) string {
	verb := "Allow "
	if o.lasts(s) && o.Expires.IsZero() {
		verb = "Always allow "
	}
	return verb + prose.Middle(prose.Inline(prose.Clip(o.Words, 16*MaxWords)), MaxWords) + " " + o.Where(s, now)
}

// Where says where and how long the grant holds: "in this project for 30 days".
func (o Offer) Where(s Scope, now time.Time) string {
	where := map[Scope]string{Session: "in this session", Project: "in this project", User: "in all projects"}[s]
	switch {
	case where == "":
		return "this once"
	case !o.lasts(s) || o.Expires.IsZero():
		return where
	}
	const day = 24 * time.Hour
	days := max(1, int((o.Expires.Sub(now)+day/2)/day))
	if days > 999 { // the label has room for no more
		return where + " for years"
	}
	return where + " for " + prose.Count(days, "day")
}

// lasts reports whether a grant outlives the process.
func (o Offer) lasts(s Scope) bool { return s == Project || s == User }

// Detail is a line of the fine print: a name of at most six letters, and text. Lines
// that continue the one before have no name.
type Detail struct{ Name, Text string }

// Details are the fine print of the answer that gives the grant for a scope: until when it
// holds, its rules, what they mean, other calls that they cover, and the risk. Texts may
// hold what a model or a repository wrote: faces make them harmless.
func (o Offer) Details(s Scope, d Decision) []Detail {
	holds := "until burin ends"
	if o.lasts(s) {
		holds = "until you revoke it with burin permissions"
		if !o.Expires.IsZero() {
			holds = "until " + o.Expires.Format("2 January 2006") + " (permissions.grantDays) or until you revoke it with burin permissions"
		}
	}
	out := []Detail{{"Holds", holds}}
	for _, r := range o.In(s) {
		out = append(out, Detail{"Rule", r.String()}, Detail{"", r.Meaning()})
	}
	for i, e := range o.Examples {
		name := "Also"
		if i > 0 {
			name = ""
		}
		out = append(out, Detail{name, e})
	}
	return append(out, d.risk()...)
}

// Details are the fine print of an answer that grants nothing.
func (a Answer) Details(d Decision) []Detail {
	if a.Allow {
		return append([]Detail{{"Effect", "It runs once. burin asks again next time."}}, d.risk()...)
	}
	return []Detail{{"Effect", "It does not run. The model is told and continues."}}
}

// risk says what is dangerous about the call.
func (d Decision) risk() []Detail {
	if d.Dangerous == "" {
		return nil
	}
	return []Detail{{"Risk", "it " + strings.TrimPrefix(d.Dangerous, "it ")}}
}

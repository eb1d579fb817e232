package permission

import (
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/burin-dev/burin/tool"
)

// addressed reports whether a target, or the pattern of a rule, is an address such as
// local://plan.md. No path has two slashes after a colon: those that are judged are clean.
func addressed(target string) bool { return strings.Contains(target, "://") }

// address judges a file behind an address. Rules name it by its address: a pattern of paths,
// ** included, is about files of the workspace.
func (j *judge) address(f *finding, name string, k tool.AccessKind, at string) {
	everyone := "read"
	if k == tool.AccessWrite {
		everyone = "edit"
	}
	for _, c := range j.rules {
		allows := order(c.Verdict) == 2
		if !c.is(name) && (allows || c.bare() || !c.is(everyone)) {
			continue
		}
		if !c.bare() && (!addressed(c.glob) || !doublestar.MatchUnvalidated(c.glob, at)) {
			continue
		}
		if allows && j.mode == Plan && k == tool.AccessWrite {
			continue
		}
		f.ruled(c)
		return
	}
	switch {
	case slices.ContainsFunc(j.at.Scratch, func(own string) bool { return strings.HasPrefix(at, own) }):
		f.Verdict, f.Reason = Allow, "it is the session's own"
	case k == tool.AccessRead, j.mode == Full:
		f.Verdict, f.Reason = Allow, j.modeAllows()
	case j.mode == Plan:
		f.Verdict, f.Reason = Deny, planRefuses
	default: // in auto-edit mode, too: it lasts longer than the session, and other sessions read it
		scheme, _, _ := strings.Cut(at, "://")
		f.ask("it writes "+at, Rule{Tool: familyOf(name), Pattern: quoteGlob(at)}, Rule{Tool: familyOf(name), Pattern: scheme + "://**"})
	}
}

package rule

import (
	"fmt"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/burin-dev/burin/internal/customize/front"
)

// Where a rule may interrupt; see interruptMode.
const (
	InterruptAlways = "always"
	InterruptProse  = "prose-only"
	InterruptTools  = "tool-only"
	InterruptNever  = "never"
)

// place is a part of an answer.
type place uint8

const (
	inText place = iota
	inThinking
	inTool // arguments of a call
)

// scope is a part of answers that a stream rule watches.
type scope struct {
	kind  place
	tool  string   // lower case; "" is any
	globs []string // files that the call names; none is any
}

// parseScope reads "text", "thinking", "tool", "tool:edit" or "tool:edit(*.ts, *.tsx)".
func parseScope(s string) (scope, error) {
	s = strings.TrimSpace(s)
	head, rest, named := strings.Cut(s, ":")
	var sc scope
	switch strings.ToLower(strings.TrimSpace(head)) {
	case "text", "prose":
		sc.kind = inText
	case "thinking":
		sc.kind = inThinking
	case "tool", "toolcall", "tools":
		sc.kind = inTool
	default:
		return sc, fmt.Errorf("unknown scope %q; use text, thinking, tool or tool:NAME(GLOB)", s)
	}
	if !named {
		return sc, nil
	}
	name, inside, globbed := strings.Cut(rest, "(")
	sc.tool = strings.ToLower(strings.TrimSpace(name))
	if sc.kind != inTool || sc.tool == "" {
		return sc, fmt.Errorf("unknown scope %q; use text, thinking, tool or tool:NAME(GLOB)", s)
	}
	if sc.tool == "*" {
		sc.tool = ""
	}
	if !globbed {
		return sc, nil
	}
	inside, closed := strings.CutSuffix(strings.TrimSpace(inside), ")")
	sc.globs = front.Entry{Raw: inside}.List()
	for _, g := range sc.globs {
		if !doublestar.ValidatePattern(g) {
			return sc, fmt.Errorf("the scope %q has an invalid glob %q", s, g)
		}
	}
	if !closed || len(sc.globs) == 0 {
		return sc, fmt.Errorf("the scope %q must end with a glob and a parenthesis", s)
	}
	return sc, nil
}

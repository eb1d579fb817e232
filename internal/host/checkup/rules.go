package checkup

import (
	"context"
	"fmt"
	"strings"

	"github.com/burin-dev/burin/internal/host"
)

// Rules lists the rules for the model that hold in the folder, and what is wrong with their
// files.
func Rules(h *host.Host) Check {
	const most = 10 // of one source
	return Check{Name: "rules", Run: func(context.Context) []Result {
		set, warnings, err := h.Rules()
		if err != nil {
			return one(Note, "not looked at: they say which are off; see settings", "")
		}
		out := one(OK, set.Count(), "")
		for _, g := range set.Groups() {
			if n := len(g.Rules) - most; n > 0 {
				g.Rules = append(g.Rules[:most:most], fmt.Sprintf("and %d more; /rules lists all", n))
			}
			out = append(out, Result{State: Note, Text: g.Source + ": " + strings.Join(g.Rules, ", ")})
		}
		for _, w := range warnings {
			out = append(out, Result{State: Warning, Text: w, Do: "see docs/rules.md for what a rule can say"})
		}
		return out
	}}
}

package checkup

import (
	"context"
	"fmt"
	"strings"

	"github.com/burin-dev/burin/internal/host"
	"github.com/burin-dev/burin/internal/prose"
)

// Skills lists the skills by where they are from, and looks what is wrong with some.
func Skills(h *host.Host) Check {
	return Check{Name: "skills", Run: func(context.Context) []Result {
		set := h.Skills()
		if len(set.List()) == 0 && len(set.Warnings()) == 0 {
			return one(Note, "none", "")
		}
		names := map[string][]string{}
		var sources []string // in the order of names
		for _, k := range set.List() {
			if names[k.Source] == nil {
				sources = append(sources, k.Source)
			}
			names[k.Source] = append(names[k.Source], k.Name)
		}
		var out []Result
		for _, s := range sources {
			text := fmt.Sprintf("%s from %s: %s", prose.Count(len(names[s]), "skill"), s, strings.Join(names[s], ", "))
			out = append(out, Result{State: OK, Text: prose.Short(text, 500)})
		}
		for _, k := range set.Shadowed() {
			out = append(out, Result{State: Note, Text: k.Path + " is not used: " + k.ShadowedBy + " has the same name"})
		}
		for _, w := range set.Warnings() {
			out = append(out, Result{State: Warning, Text: w})
		}
		return out
	}}
}

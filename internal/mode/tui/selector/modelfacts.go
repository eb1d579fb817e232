package selector

import (
	"net/url"
	"strings"

	"github.com/burin-dev/burin/internal/mode/tui/theme"
	"github.com/burin-dev/burin/internal/model/catalog"
	"github.com/burin-dev/burin/llm"
)

// preview is all that is known of a model. Keys that are written in models.yml are
// never part of it.
func (m *Models) preview(ref string, width, height int) []string {
	x := m.byRef[ref]
	s := newSheet(m.env.Styles, width, height)
	if x == nil {
		return nil
	}
	name := x.Name
	if name == "" {
		name = x.ID
	}
	s.title(name)
	if !m.ready[ref] {
		s.text(remedy(x), theme.Warning)
	}
	s.fact("In use for", strings.Join(m.rolesOf(ref), ", "))
	s.fact("Window", limits(x))
	s.fact("Price", prices(x.Price))
	s.fact("Cache", cachePrices(x.Price))
	for _, step := range x.Price.Steps {
		s.fact("Beyond "+catalog.TokenWords(step.Above), catalog.RateWords(step.Input, x.Price.Unreliable)+" in, "+catalog.RateWords(step.Output, x.Price.Unreliable)+" out")
	}
	if x.Price.WebSearch.Known() {
		s.fact("Web search", catalog.RateWords(x.Price.WebSearch, x.Price.Unreliable)+" per thousand")
	}
	s.fact("Thinks", thinks(x.Thinking))
	s.fact("Reads", reads(x))
	s.fact("Reference", ref)
	if x.Upstream() != x.ID {
		s.fact("Sent as", x.Upstream())
	}
	if m.o.Canonical != nil {
		s.fact("Canonical", m.o.Canonical(x))
	}
	s.fact("Format", string(x.API))
	s.fact("Address", address(x.BaseURL))
	s.fact("Key", keyOf(x))
	s.fact("Released", x.Released)
	s.fact("Overflow", x.PromotionTarget)
	s.fact("Known from", string(x.Origin))
	return s.lines
}

// remedy says what to do about a model that cannot be used.
func remedy(x *catalog.Model) string {
	switch {
	case len(x.Needs) > 0:
		return "Its address is incomplete: set " + strings.Join(x.Needs, ", ") + " in the environment."
	case x.Auth == catalog.AuthNone:
		return "Its provider is turned off."
	}
	return "No key for " + x.Provider + ". Enter to log in or add one."
}

func limits(x *catalog.Model) string {
	out := catalog.TokenWords(x.ContextWindow) + " tokens"
	if x.MaxOutput > 0 {
		out += ", answers up to " + catalog.TokenWords(x.MaxOutput)
	}
	return out
}

// prices says what a million tokens cost.
func prices(p llm.Price) string {
	if !p.Input.Known() && !p.Output.Known() {
		return "unknown (not free)"
	}
	out := catalog.RateWords(p.Input, p.Unreliable) + " in, " + catalog.RateWords(p.Output, p.Unreliable) + " out, per million tokens"
	if p.Unreliable {
		out += "; ~ is the price of a similar model"
	}
	return out
}

func cachePrices(p llm.Price) string {
	var parts []string
	for _, r := range []struct {
		llm.Rate
		name string
	}{{p.CacheRead, "read"}, {p.CacheWrite, "written"}, {p.CacheWriteLong, "written for long"}} {
		if r.Known() {
			parts = append(parts, catalog.RateWords(r.Rate, p.Unreliable)+" "+r.name)
		}
	}
	return strings.Join(parts, ", ")
}

func thinks(t llm.ThinkingSupport) string {
	if t.Mode == llm.ThinkingNone {
		return "no"
	}
	var names []string
	for _, l := range levels(t) {
		names = append(names, string(l))
	}
	out := strings.Join(names, ", ")
	if t.Default != "" {
		out += "; " + string(t.Default) + " unless told otherwise"
	}
	return out
}

func reads(x *catalog.Model) string {
	kinds := []string{"text"}
	for _, k := range x.Input {
		switch k {
		case llm.ModalityText:
		case llm.ModalityDocument:
			kinds = append(kinds, "PDF")
		default:
			kinds = append(kinds, string(k))
		}
	}
	return strings.Join(kinds, ", ")
}

// address is a base URL without what may be secret in it.
func address(base string) string {
	if base == "" {
		return ""
	}
	u, err := url.Parse(base)
	if err != nil {
		return "" // what cannot be read may hold anything
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}

func keyOf(x *catalog.Model) string {
	switch {
	case x.Auth == catalog.AuthNone:
		return "none needed"
	case x.APIKeyEnv != "":
		return "variable " + x.APIKeyEnv
	case x.APIKey != "":
		return "in models.yml"
	}
	return ""
}

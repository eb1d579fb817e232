package selector

import (
	"fmt"
	"math"
	"net/url"
	"strconv"
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
		s.fact("Beyond "+tokens(step.Above), rate(step.Input, x.Price.Unreliable)+" in, "+rate(step.Output, x.Price.Unreliable)+" out")
	}
	if x.Price.WebSearch.Known() {
		s.fact("Web search", rate(x.Price.WebSearch, x.Price.Unreliable)+" per thousand")
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
		return "Its address is not complete: set " + strings.Join(x.Needs, ", ") + " in the environment."
	case x.Auth == catalog.AuthNone:
		return "Its provider is switched off here."
	}
	return "There is no key for " + x.Provider + ". Enter lets you log in or give one."
}

func limits(x *catalog.Model) string {
	out := tokens(x.ContextWindow) + " tokens"
	if x.MaxOutput > 0 {
		out += ", answers up to " + tokens(x.MaxOutput)
	}
	return out
}

// prices says what a million tokens cost.
func prices(p llm.Price) string {
	if !p.Input.Known() && !p.Output.Known() {
		return "unknown, which is not free"
	}
	out := rate(p.Input, p.Unreliable) + " in, " + rate(p.Output, p.Unreliable) + " out, per million tokens"
	if p.Unreliable {
		out += "; ~ is of a similar model"
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
			parts = append(parts, rate(r.Rate, p.Unreliable)+" "+r.name)
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

// tokens writes a number of tokens in thousands or millions.
func tokens(n int) string {
	switch {
	case n == 0:
		return "?"
	case n >= 1_000_000:
		return strconv.FormatFloat(float64(n/100_000)/10, 'f', -1, 64) + "M"
	case n >= 1000:
		return strconv.Itoa(n/1000) + "k"
	}
	return strconv.Itoa(n)
}

// rate writes a price; "~" marks one taken over from a similar model.
func rate(r llm.Rate, unreliable bool) string {
	if !r.Known() {
		return "?"
	}
	d := r.Dollars()
	if d == 0 {
		return "free"
	}
	s := "$" + strconv.FormatFloat(d, 'f', -1, 64)
	if cents := d * 100; d != math.Trunc(d) && (math.Abs(cents-math.Round(cents)) < 1e-6 || d >= 10) {
		s = fmt.Sprintf("$%.2f", d)
	}
	if unreliable {
		return "~" + s
	}
	return s
}

package catalog

import (
	"cmp"
	"slices"
	"strings"

	"github.com/burin-dev/burin/llm"
)

// Promotion is the model to go on with when the context of m overflows: the one
// m names, else the smallest larger one of the same server, wire format and
// family. Targets that cannot be used are passed over. Of those that m does not
// name so are older ones, those that would lose a kind of input m reads, and those
// that cost more than m: whoever chose a cheap model has not asked for another
// bill. m need not be in r. ok is false where there is none.
func Promotion(r *Registry, m *Model) (target *Model, ok bool) {
	if ref := m.PromotionTarget; ref != "" {
		if t, ok := r.Lookup(m.Provider, ref); ok && t.Ref() != m.Ref() && r.Available(t) {
			return t, true
		}
		if provider, id, ok := llm.SplitRef(ref); ok {
			if t, ok := r.Lookup(provider, id); ok && t.Ref() != m.Ref() && r.Available(t) {
				return t, true
			}
		}
	}
	own := nameOf(m.ID)
	for _, c := range r.All() {
		if c.Provider != m.Provider || c.BaseURL != m.BaseURL || c.API != m.API || c.ContextWindow <= m.ContextWindow || m.ContextWindow == 0 || !r.Available(c) {
			continue
		}
		name := nameOf(c.ID)
		if !name.sameFamily(own) || own.newer(name) || dearer(c, m) ||
			slices.ContainsFunc(m.Input, func(k llm.Modality) bool { return !c.Accepts(k) }) {
			continue
		}
		if target == nil || cmp.Or(
			cmp.Compare(c.ContextWindow, target.ContextWindow),
			cmp.Compare(c.Price.Output.Dollars(), target.Price.Output.Dollars()),
			strings.Compare(c.ID, target.ID),
		) < 0 {
			target = c
		}
	}
	return target, target != nil
}

// dearer says whether a request that outgrows m costs more with c, or whether only
// m's price is known.
func dearer(c, m *Model) bool {
	if !m.Price.Known() {
		return false // what costs more than nobody knows what
	}
	u := llm.Usage{Input: m.ContextWindow + 1, Output: 1000}
	return !c.Price.Known() || c.Price.Cost(u).Total > m.Price.Cost(u).Total
}

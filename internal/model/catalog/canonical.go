package catalog

import (
	"cmp"
	"slices"
)

// Canonical is the official id of the model's group, or "" if it has none.
func (r *Registry) Canonical(m *Model) string {
	ix := r.indexed()
	if own, ok := ix.byRef[m.Ref()]; ok {
		return ix.groups().of[own]
	}
	id, _ := r.sources.canonicalID(m, ix.reference)
	return id
}

// Variants lists the models of a canonical id in the order in which they are
// preferred: those that can be used first, then by the place of the provider.
func (r *Registry) Variants(canonical string) []*Model {
	return r.preferred(r.indexed().groups().variants[canonical])
}

// preferred sorts models that stand for the same thing.
func (r *Registry) preferred(models []*Model) []*Model {
	out := slices.Clone(models)
	usable := map[*Model]bool{}
	for _, m := range out {
		usable[m] = r.Available(m)
	}
	rank := r.indexed().rank
	slices.SortStableFunc(out, func(a, b *Model) int {
		if usable[a] != usable[b] {
			if usable[a] {
				return -1
			}
			return 1
		}
		return cmp.Compare(place(rank, a.Provider), place(rank, b.Provider))
	})
	return out
}

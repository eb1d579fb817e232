package search

import (
	"maps"
	"slices"
)

// Kinds are the names that [Filter.Types] knows, sorted.
func Kinds() []string { return slices.Sorted(maps.Keys(kinds())) }

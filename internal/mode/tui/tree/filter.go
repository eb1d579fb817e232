package tree

import (
	"slices"

	"github.com/burin-dev/burin/internal/mode/tui/key"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/transcript"
)

// Filter says what the tree shows, by the name that the setting treeFilterMode uses.
type Filter string

// The filters, in the order in which keys cycle through them.
const (
	Default Filter = "default"
	NoTools Filter = "no-tools"
	Users   Filter = "user-only"
	Labeled Filter = "labeled-only"
	All     Filter = "all"
)

func filters() []Filter { return []Filter{Default, NoTools, Users, Labeled, All} }

func (f Filter) known() bool { return slices.Contains(filters(), f) }

// cycled is the filter so many steps behind f.
func (f Filter) cycled(by int) Filter {
	all := filters()
	return all[(slices.Index(all, f)+by+len(all))%len(all)]
}

func (f Filter) words() string {
	switch f {
	case NoTools:
		return "no tool results"
	case Users:
		return "prompts only"
	case Labeled:
		return "named points only"
	case All:
		return "everything"
	}
	return "the conversation"
}

// filterOf is the filter that an action wants, as it is now f.
func filterOf(a key.Action, f Filter) (Filter, bool) {
	switch a {
	case key.TreeFilterNext:
		return f.cycled(1), true
	case key.TreeFilterPrev:
		return f.cycled(-1), true
	case key.TreeDefault:
		return Default, true
	case key.TreeNoTools:
		return NoTools, true
	case key.TreeUserOnly:
		return Users, true
	case key.TreeLabeled:
		return Labeled, true
	case key.TreeAll:
		return All, true
	}
	return "", false
}

// keeps reports for each node whether the filter and the search leave it.
func (t *Tree) keeps() []bool {
	kept := make([]bool, len(t.nodes))
	for i := range t.nodes {
		kept[i] = t.filter.keeps(&t.nodes[i]) && (t.search.query == "" || i < len(t.search.hits) && t.search.hits[i])
	}
	return kept
}

func (f Filter) keeps(n *transcript.Node) bool {
	switch f {
	case All:
		return true
	case Labeled:
		return n.Label != ""
	case Users:
		return n.Role == llm.RoleUser
	case NoTools:
		if n.Role == llm.RoleToolResult {
			return false
		}
	}
	switch n.Type {
	case transcript.TypeMessage, transcript.TypeCustomMessage, transcript.TypeCompaction, transcript.TypeBranchSummary:
		return true
	}
	return false
}

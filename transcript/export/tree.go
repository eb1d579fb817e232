package export

import (
	"fmt"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/transcript"
)

// tree is a session with what follows from it. Nodes are numbered as the entries
// are, and a node's parent always has a smaller number.
type tree struct {
	page  *Page
	nodes []node
	path  []int // the active branch, from its root to its leaf
	title string

	all    Totals // of every branch: what was paid for
	active Totals // of the active branch
}

type node struct {
	entry    *transcript.Entry
	parent   int // -1: a root
	children []int
	active   bool // on the active branch
	label    string
	// Of a tool result: the answer that called, or -1, and the call's place in it.
	caller, block int
}

// maxBack is how far a tool result looks for its call.
const maxBack = 4096

// newTree links the entries. An entry whose parent does not come before it is a
// root, so that no damage to a file can make a loop.
func newTree(p *Page) (*tree, error) {
	t := &tree{page: p, nodes: make([]node, len(p.Entries)), title: p.Title}
	if t.title == "" {
		t.title = p.Header.Title
	}
	byID := make(map[string]int, len(p.Entries))
	for i := range p.Entries {
		e := &p.Entries[i]
		n := &t.nodes[i]
		*n = node{entry: e, parent: -1, caller: -1}
		if e.ParentID != nil {
			if at, ok := byID[*e.ParentID]; ok {
				n.parent = at
				t.nodes[at].children = append(t.nodes[at].children, i)
			}
		}
		byID[e.ID] = i
		switch {
		case e.Type == transcript.TypeLabel:
			if at, ok := byID[e.TargetID]; ok {
				t.nodes[at].label = e.Label
			}
		case e.Type == transcript.TypeInfo && p.Title == "" && e.Name != "":
			t.title = e.Name
		}
		t.findCall(i)
		t.all.add(e)
	}
	leaf := len(t.nodes) - 1
	if p.Leaf != "" {
		at, ok := byID[p.Leaf]
		if !ok {
			return nil, fmt.Errorf("export session %s: no entry has the id %q", p.Header.ID, p.Leaf)
		}
		leaf = at
	}
	t.path = t.branch(leaf)
	for _, i := range t.path {
		t.nodes[i].active = true
		t.active.add(t.nodes[i].entry)
	}
	return t, nil
}

// branch is the way from the root to node i.
func (t *tree) branch(i int) []int {
	n := 0
	for at := i; at >= 0; at = t.nodes[at].parent {
		n++
	}
	path := make([]int, n)
	for at := i; at >= 0; at = t.nodes[at].parent {
		n--
		path[n] = at
	}
	return path
}

// findCall finds the call that the tool result i answers.
func (t *tree) findCall(i int) {
	m := t.nodes[i].entry.Message
	if m == nil || m.Role != llm.RoleToolResult || m.ToolCallID == "" {
		return
	}
	at := t.nodes[i].parent
	for range maxBack {
		if at < 0 {
			return
		}
		if a := t.nodes[at].entry.Message; a != nil && a.Role == llm.RoleAssistant {
			for k, b := range a.Content {
				if c, ok := b.(llm.ToolCall); ok && c.ID == m.ToolCallID {
					t.nodes[i].caller, t.nodes[i].block = at, k
				}
			}
			return
		}
		at = t.nodes[at].parent
	}
}

// results are the answers on the active branch to the calls of node i, which is
// at place of the branch.
func (t *tree) results(i, place int) map[int][]int {
	var found map[int][]int
	for _, k := range t.path[place+1:] {
		n := &t.nodes[k]
		if m := n.entry.Message; m != nil && m.Role == llm.RoleAssistant {
			break
		}
		if n.caller == i {
			if found == nil {
				found = map[int][]int{}
			}
			found[n.block] = append(found[n.block], k)
		}
	}
	return found
}

// side is a branch that leaves the active one.
type side struct {
	root     int // its first entry
	messages int // in it and in what branches off it
	words    string
	label    string
	tip      int // its last entry
}

// sides are the branches off the active one that say something, in order.
func (t *tree) sides() []side {
	var found []side
	of := make([]int, len(t.nodes)) // index in found, plus 1
	for i := range t.nodes {
		n := &t.nodes[i]
		if n.active {
			continue
		}
		if n.parent >= 0 && !t.nodes[n.parent].active {
			of[i] = of[n.parent]
		} else {
			found = append(found, side{root: i})
			of[i] = len(found)
		}
		s := &found[of[i]-1]
		s.tip = i
		if n.label != "" && s.label == "" {
			s.label = n.label
		}
		if n.entry.Type == transcript.TypeMessage {
			s.messages++
			if s.words == "" {
				s.words = excerpt(n.entry)
			}
		}
	}
	kept := found[:0]
	for _, s := range found {
		if s.messages > 0 {
			kept = append(kept, s)
		}
	}
	return kept
}

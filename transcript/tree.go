package transcript

import (
	"fmt"
	"slices"

	"github.com/burin-dev/burin/llm"
)

// tree is the shape of a session: what is known about its entries without reading them.
type tree struct {
	nodes  []node
	byID   map[string]int32
	names  []string // types of entries, by node.typ
	words  words    // names of tools and custom types, by node.name
	labels map[string]string
}

// node is what is known about an entry without reading it.
type node struct {
	id     string
	parent int32 // -1 for a root
	typ    uint8
	kind   kind
	name   uint16 // the tool of a result, or the custom type; 0 if unknown
	ref    Ref
}

// kind groups entries by what reading a branch needs to know.
type kind uint8

const (
	kindOther kind = iota
	kindUser
	kindAssistant
	kindToolResult
	kindMessage // of any other role
	kindPrune
)

// Node is an entry's place in the tree.
type Node struct {
	ID     string   `json:"id"`
	Parent int      `json:"parent"` // index in [Log.Nodes]; -1 for a root
	Type   string   `json:"type"`
	Role   llm.Role `json:"role"` // of a message, if it is user, assistant or tool result
	Name   string   `json:"name"` // the tool of a result, or the custom type; "" if unknown
	Label  string   `json:"label"`
}

// typ returns the type of a node's entry.
func (t *tree) typ(i int32) string { return t.names[t.nodes[i].typ] }

// id returns the id of a node; "" for -1.
func (t *tree) id(i int32) string {
	if i < 0 {
		return ""
	}
	return t.nodes[i].id
}

// find returns the node of an id; -1 for "".
func (t *tree) find(id string) (int32, error) {
	if id == "" {
		return -1, nil
	}
	i, ok := t.byID[id]
	if !ok {
		return 0, fmt.Errorf("the session has no entry %q", id)
	}
	return i, nil
}

// freeID returns an unused id.
func (t *tree) freeID() string {
	for {
		id := randomHex(4)
		if _, taken := t.byID[id]; !taken {
			return id
		}
	}
}

// place gives an entry its place in the tree.
func (t *tree) place(e *Entry, i int32) {
	n := &t.nodes[i]
	e.ID, e.ParentID = n.id, nil
	if n.parent >= 0 {
		parent := t.nodes[n.parent].id
		e.ParentID = &parent
	}
}

func (t *tree) node(i int32) Node {
	n := &t.nodes[i]
	return Node{ID: n.id, Parent: int(n.parent), Type: t.typ(i), Role: n.kind.role(), Name: t.words.word(n.name), Label: t.labels[n.id]}
}

// above reports whether entry a is on the branch to b.
func (t *tree) above(a, b int32) bool {
	for b > a { // parents come before their children
		b = t.nodes[b].parent
	}
	return a == b
}

// path returns the nodes from the root to i.
func (t *tree) path(i int32) []int32 {
	var path []int32
	for ; i >= 0; i = t.nodes[i].parent {
		path = append(path, i)
	}
	slices.Reverse(path)
	return path
}

// typeOf returns the number of a type of entries.
func (t *tree) typeOf(name string) uint8 {
	i := slices.Index(t.names, name)
	if i < 0 {
		if len(t.names) > 250 {
			return t.typeOf("…") // more types than any program has: no need to distinguish them
		}
		t.names = append(t.names, name)
		i = len(t.names) - 1
	}
	return uint8(i)
}

func kindOf(e *Entry) kind {
	switch {
	case e.Type == TypeCustom && e.CustomType == CustomPrune:
		return kindPrune
	case e.Message == nil:
		return kindOther
	}
	return kindOfRole(string(e.Message.Role))
}

func kindOfRole(role string) kind {
	switch llm.Role(role) {
	case llm.RoleUser:
		return kindUser
	case llm.RoleAssistant:
		return kindAssistant
	case llm.RoleToolResult:
		return kindToolResult
	}
	return kindMessage
}

func (k kind) role() llm.Role {
	switch k {
	case kindUser:
		return llm.RoleUser
	case kindAssistant:
		return llm.RoleAssistant
	case kindToolResult:
		return llm.RoleToolResult
	}
	return ""
}

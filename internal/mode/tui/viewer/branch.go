package viewer

import (
	"slices"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/transcript"
)

// kind is what an entry is to a reader.
type kind uint8

const (
	hidden kind = iota
	user
	answer
	result
	note // a message of another role
	condensed
	back // the summary of another branch
	custom
)

func kindOf(typ string, role llm.Role) kind {
	switch typ {
	case transcript.TypeMessage:
		switch role {
		case llm.RoleUser:
			return user
		case llm.RoleAssistant:
			return answer
		case llm.RoleToolResult:
			return result
		}
		return note
	case transcript.TypeCompaction:
		return condensed
	case transcript.TypeBranchSummary:
		return back
	case transcript.TypeCustomMessage:
		return custom
	}
	return hidden
}

// entry is an entry that may be shown. It does not change, so that a search may look
// at a slice of them while others are added behind.
type entry struct {
	id   string
	kind kind
	item int32
}

// item is what is selected as one: entries first up to first+n.
type item struct{ first, n int32 }

// branch is the shape of what is shown.
type branch struct {
	leaf    string
	entries []entry
	items   []item
}

// load looks at the whole tree, without reading an entry.
func load(log session.Transcript) branch {
	b := branch{leaf: log.Leaf()}
	nodes := log.Nodes()
	at := len(nodes) - 1
	for at >= 0 && nodes[at].ID != b.leaf {
		at--
	}
	if b.leaf == "" {
		at = -1
	}
	var path []int32
	for ; at >= 0; at = nodes[at].Parent {
		if kindOf(nodes[at].Type, nodes[at].Role) != hidden {
			path = append(path, int32(at))
		}
	}
	b.entries = make([]entry, 0, len(path))
	b.items = make([]item, 0, len(path))
	for _, i := range slices.Backward(path) {
		b.add(nodes[i].ID, kindOf(nodes[i].Type, nodes[i].Role))
	}
	return b
}

// add adds an entry. Results belong to the answer before them.
func (b *branch) add(id string, k kind) {
	last := len(b.items) - 1
	if k == result && last >= 0 && b.first(last).kind == answer {
		b.items[last].n++
	} else {
		b.items = append(b.items, item{first: int32(len(b.entries)), n: 1})
		last++
	}
	b.entries = append(b.entries, entry{id: id, kind: k, item: int32(last)})
}

func (b *branch) first(i int) entry { return b.entries[b.items[i].first] }

// members are the entries of item i.
func (b *branch) members(i int) []entry {
	it := b.items[i]
	return b.entries[it.first : it.first+it.n]
}

// find is the item that the entry of that id begins; -1 if there is none.
func (b *branch) find(id string) int {
	for i := range b.items {
		if b.first(i).id == id {
			return i
		}
	}
	return -1
}

// maxGrow is how many new entries are read to find where they begin. A log that grew
// by more is looked at as a whole, which costs less.
const maxGrow = 256

// grow adds what follows the leaf that was shown, and says from which entry on it is
// new. ok is false if the leaf is not above the new one.
func (b *branch) grow(log session.Transcript) (fresh int, ok bool) {
	leaf := log.Leaf()
	var add []entry
	for at := leaf; at != b.leaf; {
		if at == "" || len(add) >= maxGrow {
			return 0, false
		}
		e, err := log.Entry(at)
		if err != nil {
			return 0, false
		}
		role := llm.Role("")
		if e.Message != nil {
			role = e.Message.Role
		}
		add = append(add, entry{id: at, kind: kindOf(e.Type, role)})
		at = ""
		if e.ParentID != nil {
			at = *e.ParentID
		}
	}
	fresh = len(b.entries)
	for _, e := range slices.Backward(add) {
		if e.kind != hidden {
			b.add(e.id, e.kind)
		}
	}
	b.leaf = leaf
	return fresh, true
}

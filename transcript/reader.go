package transcript

import "slices"

// Reader reads a session, in this process or another. [Log] implements it.
type Reader interface {
	Header() Header
	ID() string
	Len() int
	Leaf() string
	Label(id string) string
	// Nodes returns all entries in short form, in the order in which they were written. The
	// slice must not be modified.
	Nodes() []Node
	Entry(id string) (*Entry, error)
}

var _ Reader = (*Log)(nil)

// LastOf returns the last entry on the branch to id for which pick and match return true; nil
// if there is none. It reads only entries that pick accepts.
func LastOf(r Reader, id string, pick func(Node) bool, match func(*Entry) bool) *Entry {
	nodes := r.Nodes()
	at := slices.IndexFunc(nodes, func(n Node) bool { return n.ID == id })
	for ; at >= 0; at = nodes[at].Parent {
		if !pick(nodes[at]) {
			continue
		}
		if e, err := r.Entry(nodes[at].ID); err == nil && match(e) {
			return e
		}
	}
	return nil
}

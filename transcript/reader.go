package transcript

import "slices"

// Reader reads a session, wherever it lives. A [Log] is one.
type Reader interface {
	Header() Header
	ID() string
	Len() int
	Leaf() string
	Label(id string) string
	// Nodes are all entries in short, in the order in which they were written, for reading.
	Nodes() []Node
	Entry(id string) (*Entry, error)
}

var _ Reader = (*Log)(nil)

// LastOf gives the last entry on the branch to id that match accepts, of those that pick
// does; nil if there is none. Only those are read.
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

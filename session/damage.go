package session

import (
	"fmt"
	"slices"

	"github.com/burin-dev/burin/transcript"
)

// unread looks for entries of the branch that are too damaged to be read, and gives what
// to tell the person of those that nobody was told of; "" is nothing. Entries that a
// summary stands for do not count.
func (s *Session) unread(c *transcript.Context) string {
	if c.Unread == 0 {
		return ""
	}
	nodes := s.log.Nodes()
	leaf := s.log.Leaf()
	from := ""
	if c.Compaction != nil {
		if from = c.Compaction.FirstKeptID; from == "" {
			from = c.Compaction.ID
		}
	}
	var found []string
	at := slices.IndexFunc(nodes, func(n transcript.Node) bool { return n.ID == leaf })
	for ; at >= 0; at = nodes[at].Parent {
		id := nodes[at].ID
		if _, err := s.log.Entry(id); err != nil {
			found = append(found, id)
		}
		if id == from {
			break
		}
	}
	slices.Reverse(found)
	s.mu.Lock()
	defer s.mu.Unlock()
	found = slices.DeleteFunc(found, func(id string) bool { return s.damaged[id] })
	if len(found) == 0 {
		return ""
	}
	if s.damaged == nil {
		s.damaged = map[string]bool{}
	}
	for _, id := range found {
		s.damaged[id] = true
	}
	if len(found) == 1 {
		return fmt.Sprintf("entry %s of this branch is damaged: it cannot be read, and the model does not have it", found[0])
	}
	return fmt.Sprintf("%d entries of this branch are damaged, from %s on: they cannot be read, and the model does not have them", len(found), found[0])
}

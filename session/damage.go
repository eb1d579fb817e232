package session

import (
	"fmt"
	"slices"
	"sync"

	"github.com/burin-dev/burin/transcript"
)

// damage tells the user once about damage in the transcript.
type damage struct {
	log *transcript.Log

	mu   sync.Mutex
	told map[string]bool // unreadable pieces that the user knows about
}

// harm returns lines about parts of the branch that the model lacks and that nobody was told
// about.
func (d *damage) harm(c *transcript.Context) (lines []string) {
	for _, line := range []string{d.unread(c), d.lost(c)} {
		if line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// lost reports pieces that were in blobs.
func (d *damage) lost(c *transcript.Context) string {
	fresh := slices.Clone(c.Lost)
	d.mu.Lock()
	fresh = slices.DeleteFunc(fresh, func(p transcript.Lost) bool { return !d.tell(fmt.Sprint(p.EntryID, "/", p.Block)) })
	d.mu.Unlock()
	switch len(fresh) {
	case 0:
		return ""
	case 1:
		p := &fresh[0]
		return fmt.Sprintf("the %s of entry %s %s: the model gets a note instead", p.What, p.EntryID, p.Why())
	}
	return fmt.Sprintf("%d pieces of this branch (images, documents, long texts), the first in entry %s, are missing or damaged: the model gets notes instead", len(fresh), fresh[0].EntryID)
}

// tell reports whether the user must be told about some damage, which is only the first time.
// The caller holds mu.
func (d *damage) tell(what string) bool {
	if d.told == nil {
		d.told = map[string]bool{}
	}
	known := d.told[what]
	d.told[what] = true
	return !known
}

// unread reports entries of the branch that are too damaged to read; "" if there are none.
// Entries that a summary replaces don't count.
func (d *damage) unread(c *transcript.Context) string {
	if c.Unread == 0 {
		return ""
	}
	nodes := d.log.Nodes()
	leaf := d.log.Leaf()
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
		if _, err := d.log.Entry(id); err != nil {
			found = append(found, id)
		}
		if id == from {
			break
		}
	}
	slices.Reverse(found)
	d.mu.Lock()
	defer d.mu.Unlock()
	found = slices.DeleteFunc(found, func(id string) bool { return !d.tell(id) })
	if len(found) == 0 {
		return ""
	}
	if len(found) == 1 {
		return fmt.Sprintf("entry %s of this branch is damaged and left out of what the model sees", found[0])
	}
	return fmt.Sprintf("%d entries of this branch are damaged, from %s on, and left out of what the model sees", len(found), found[0])
}

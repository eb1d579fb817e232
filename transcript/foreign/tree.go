package foreign

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/transcript"
)

// maxBad is how many unreadable places of a conversation are listed one by one;
// the others are counted together.
const maxBad = 20

// root is the parent of an entry without one.
const root = -1

// tree builds a session. Entries are known by their index.
type tree struct {
	format  Format
	s       Session
	parents []int
	ids     map[string]bool
	first   int  // the session_init entry, or root
	bad     int  // unreadable places so far
	priced  bool // some answer says what it cost
}

// newTree starts the session that the source calls id.
func newTree(f Format, source, id string) *tree {
	if id == "" {
		id = source
	}
	t := &tree{format: f, ids: map[string]bool{}, first: root}
	t.s.Header = transcript.Header{Type: "session", Version: transcript.Version, ID: sessionID(f, id)}
	t.s.Report = Report{Source: prose.Plain(source, maxPath), Format: string(f)}
	return t
}

// sessionID is the id of the session that a program calls id, the same each time.
func sessionID(f Format, id string) string {
	sum := sha256.Sum256([]byte(string(f) + "\x00" + id))
	return hex.EncodeToString(sum[:8])
}

// head fills in the header.
func (t *tree) head(title, cwd string, created stamp) {
	if title = prose.Plain(title, maxTitle); title != "" {
		t.s.Header.Title, t.s.Report.Title = title, title
	}
	if cwd = prose.Plain(cwd, maxPath); cwd != "" {
		t.s.Header.CWD = cwd
	}
	if text := created.text(); text != "" {
		t.s.Header.Timestamp = text
	}
}

// forked notes the session that this one came from.
func (t *tree) forked(id string) {
	if id != "" {
		t.s.Header.ParentSession = sessionID(t.format, id)
	}
}

// system begins the session with the system prompt. It comes before all messages.
func (t *tree) system(prompt string, at stamp) {
	if prompt == "" {
		return
	}
	if t.first == root {
		t.first = t.add(root, at, transcript.Entry{Type: transcript.TypeInit, SystemPrompt: prompt})
		return
	}
	e := &t.s.Entries[t.first]
	if e.SystemPrompt != prompt {
		e.SystemPrompt += "\n\n" + prompt
	}
}

// add puts an entry behind parent.
func (t *tree) add(parent int, at stamp, e transcript.Entry) int {
	i := len(t.s.Entries)
	e.ID, e.Timestamp = t.freshID(i), at.text()
	if parent == root {
		parent = t.first
	}
	if parent != root {
		id := t.s.Entries[parent].ID
		e.ParentID = &id
	}
	t.s.Entries = append(t.s.Entries, e)
	t.parents = append(t.parents, parent)
	return i
}

func (t *tree) freshID(i int) string {
	for n := 0; ; n++ {
		sum := sha256.Sum256(fmt.Appendf(nil, "%s/%d/%d", t.s.Header.ID, i, n))
		if id := hex.EncodeToString(sum[:4]); !t.ids[id] {
			t.ids[id] = true
			return id
		}
	}
}

// message puts a message behind parent, without what the program added to it. One
// that was added whole is left out.
func (t *tree) message(parent int, at stamp, m llm.Message) int {
	if m.Role == llm.RoleUser || m.Role == llm.RoleToolResult || m.Role == llm.RoleCustom {
		had := len(m.Content)
		if m.Content = t.own(m.Role, m.Content); had > 0 && len(m.Content) == 0 && m.Role != llm.RoleToolResult {
			return parent
		}
	}
	m.Time = at.time()
	if m.Usage != nil && m.Usage.Cost != nil {
		t.priced = true
	}
	return t.add(parent, at, transcript.Entry{Type: transcript.TypeMessage, Message: &m})
}

// note puts words of the program, which are not the user's, behind parent.
func (t *tree) note(parent int, at stamp, kind string, show bool, blocks []llm.Block) int {
	return t.message(parent, at, llm.Message{
		Role: llm.RoleCustom, CustomType: string(t.format) + "." + kind, Display: show, Content: blocks,
	})
}

// label names the entry target and ends the branch at end with it.
func (t *tree) label(target, end int, text string) {
	at := t.s.Entries[end].Timestamp
	i := t.add(end, stamp{}, transcript.Entry{Type: transcript.TypeLabel, TargetID: t.s.Entries[target].ID, Label: prose.Plain(text, maxTitle)})
	t.s.Entries[i].Timestamp = at
}

// lose counts what did not come over.
func (t *tree) lose(n int, what, why string) {
	if n == 0 {
		return
	}
	for i := range t.s.Report.Lossy {
		if l := &t.s.Report.Lossy[i]; l.What == what && l.Why == why {
			l.Count += n
			return
		}
	}
	t.s.Report.Lossy = append(t.s.Report.Lossy, Loss{what, n, why})
}

// unreadable notes a place of the source that could not be read.
func (t *tree) unreadable(where string, err error) {
	if t.bad++; t.bad > maxBad {
		t.lose(1, "further places", "they could not be read")
		return
	}
	t.lose(1, prose.Plain(where, maxTitle), prose.Plain("not read: "+err.Error(), maxTitle))
}

// finish returns the session, whose entries have the ids that they keep, with the branch that ends at active as the active one.
func (t *tree) finish(active int) *Session {
	s := &t.s
	if active == root {
		active = t.first
	}
	children := make([]int, len(s.Entries))
	for _, p := range t.parents {
		if p != root {
			children[p]++
		}
	}
	for i, n := range children {
		if n == 0 && i != active {
			s.Report.Branches++
		}
	}
	t.tally()
	switch {
	case active == root || active == len(s.Entries)-1:
	case children[active] > 0:
		at := s.Entries[active].Timestamp
		i := t.add(active, stamp{}, transcript.Entry{Type: transcript.TypeCustom, CustomType: transcript.CustomLeaf})
		s.Entries[i].Timestamp = at
	default:
		end := s.Entries[active] // nothing follows it, so it may stand behind all
		s.Entries = append(slices.Delete(s.Entries, active, active+1), end)
	}
	t.name()
	return s
}

// name gives the entries the ids that they keep. They follow from what an entry says and
// from its place, not from how many others there are: when a conversation has grown, what
// was there before has the ids that it had.
func (t *tree) name() {
	taken := map[string]bool{}
	named := map[string]string{} // the ids so far, and those that are kept
	for i := range t.s.Entries {
		e := &t.s.Entries[i]
		was := e.ID
		e.ID, e.TargetID, e.FirstKeptID = "", named[e.TargetID], named[e.FirstKeptID]
		if e.ParentID != nil {
			parent := named[*e.ParentID]
			e.ParentID = &parent
		}
		record, err := encode(e)
		if err != nil {
			record = []byte(was) // [Session.Records] says what cannot be written
		}
		for n := 0; e.ID == "" || taken[e.ID]; n++ {
			h := sha256.New()
			fmt.Fprintf(h, "%s/%d/", t.s.Header.ID, n)
			h.Write(record)
			e.ID = hex.EncodeToString(h.Sum(nil)[:4])
		}
		taken[e.ID], named[was] = true, e.ID
	}
}

// tally counts what is there and what is missing everywhere.
func (t *tree) tally() {
	r := &t.s.Report
	answers := 0
	for i := range t.s.Entries {
		m := t.s.Entries[i].Message
		if m == nil {
			continue
		}
		r.count(m)
		if m.Role == llm.RoleAssistant {
			answers++
		}
	}
	if r.ToolCalls > 0 {
		t.lose(r.ToolCalls, "tool calls", "they are kept as history; the tools of "+t.format.Title()+" have other names and arguments")
	}
	if answers > 0 && !t.priced {
		t.lose(answers, "costs", "the source does not say what the answers cost")
	}
}

// parentsFirst returns 0 to n-1 in an order in which parents come before children
// and which is else that of the source. parent gives an index, or root. Where
// parents form a circle it is cut; cut counts that.
func parentsFirst(n int, parent func(int) int) (order []int, cut int) {
	const (
		fresh = iota
		open
		done
	)
	state := make([]uint8, n)
	order = make([]int, 0, n)
	var path []int
	for i := range n {
		path = path[:0]
		for at := i; at != root && state[at] != done; at = parent(at) {
			if state[at] == open {
				cut++
				break
			}
			state[at] = open
			path = append(path, at)
		}
		for _, at := range slices.Backward(path) {
			state[at] = done
			order = append(order, at)
		}
	}
	return order, cut
}

package compact

import (
	"encoding/json"
	"slices"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/transcript"
)

// kind is what an entry is to a cut.
type kind uint8

const (
	aside  kind = iota // nothing that the model reads; it goes with what follows
	said               // by the user or the program: a turn may begin here
	answer             // by the model
	result             // of a call: never without the answer before it
	inline             // other words that the model reads, at which nothing begins
)

func kindOf(e *transcript.Entry) kind {
	switch e.Type {
	case transcript.TypeCustomMessage, transcript.TypeBranchSummary:
		return said
	case transcript.TypeMessage:
	default:
		return aside
	}
	m := e.Message
	if m == nil || m.CustomType == transcript.CustomExcluded {
		return aside
	}
	switch m.Role {
	case llm.RoleAssistant:
		return answer
	case llm.RoleToolResult:
		return result
	case llm.RoleSystem:
		return inline
	}
	return said
}

// window is the part of a path that the model gets as it is.
type window struct {
	start    int // index of its first entry
	previous int // index of the last compaction; -1 if there is none
}

// windowOf finds the part of the path that is not summarized yet. It begins with
// what the last compaction kept, not behind that compaction: what was kept is in no
// summary, and would be lost.
func windowOf(path []transcript.Entry) window {
	w := window{previous: -1}
	for i := len(path) - 1; i >= 0; i-- {
		if path[i].Type == transcript.TypeCompaction {
			w.previous = i
			break
		}
	}
	if w.previous < 0 {
		return w
	}
	w.start = w.previous + 1
	kept := path[w.previous].FirstKeptID
	for i := w.previous - 1; i >= 0 && kept != ""; i-- {
		if path[i].ID == kept {
			w.start = i
			break
		}
	}
	return w
}

// shortened holds what prunes left of messages. It is filled on the way from the
// leaf to the root: a prune comes after what it shortens.
type shortened map[string][]transcript.Short

// note takes up a prune; other entries change nothing.
func (s *shortened) note(e *transcript.Entry) {
	if e.Type != transcript.TypeCustom || e.CustomType != transcript.CustomPrune {
		return
	}
	var p transcript.Prune
	if json.Unmarshal(e.Data, &p) != nil {
		return // as for the model, which then gets the whole
	}
	if *s == nil {
		*s = shortened{}
	}
	for _, short := range slices.Backward(p.Entries) {
		(*s)[short.EntryID] = append((*s)[short.EntryID], short)
	}
}

// blocks is what the model gets of an entry; the later prune of a block wins.
func (s shortened) blocks(e *transcript.Entry) []llm.Block {
	var content []llm.Block
	switch kindOf(e) {
	case aside:
		return nil
	default:
		switch e.Type {
		case transcript.TypeMessage:
			content = e.Message.Content
		case transcript.TypeCustomMessage:
			content, _ = e.Words() // what cannot be read is not sent either
		case transcript.TypeBranchSummary:
			content = []llm.Block{llm.Text{Text: e.Summary}}
		}
	}
	if len(s) == 0 || len(s[e.ID]) == 0 {
		return content
	}
	content = slices.Clone(content)
	for _, short := range slices.Backward(s[e.ID]) {
		switch {
		case short.Block == nil:
			content = []llm.Block{llm.Text{Text: short.Text}}
		case *short.Block >= 0 && *short.Block < len(content):
			content[*short.Block] = llm.Text{Text: short.Text}
		}
	}
	return content
}

// tokens estimates what an entry takes of the window.
func (s shortened) tokens(e *transcript.Entry) int {
	switch {
	case kindOf(e) == aside:
		return 0
	case e.Type == transcript.TypeBranchSummary:
		return messageTokens + textTokens(e.Summary)
	case e.Type == transcript.TypeMessage && len(s[e.ID]) == 0:
		return Tokens(e.Message)
	case e.Type == transcript.TypeCustomMessage && len(e.Content) > 0 && e.Content[0] == '"':
		return messageTokens + textTokens(e.Content) // a plain string needs no decoding
	}
	return messageTokens + blocksTokens(s.blocks(e))
}

// textOf joins the texts of blocks.
func textOf(blocks []llm.Block) string {
	m := llm.Message{Content: blocks}
	return m.Text()
}

// Package export writes a session for people and programs that do not have burin:
// [HTML] is one page that opens anywhere and loads nothing, [Markdown] is the
// active branch as a document for a code host, [JSON] is everything for programs.
//
// A session is hostile text: models, web pages and files wrote it. All three forms
// show what is there and let none of it act. The page runs no script but its own,
// follows no address but the ones a reader clicks, and shows control characters
// that reorder or hide text. Nothing is removed: who must not see a secret must
// not be given the export of a session that holds it.
//
// The page renders every entry once, on this side: the active branch in the
// document, so that it can be read without JavaScript, and the entries of other
// branches in an inert template, from which the page's script takes them. The
// script gets the shape of the tree as JSON and never builds HTML from text.
package export

import (
	"time"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/transcript"
)

// Page is what is exported. Nothing in it is changed.
type Page struct {
	Header  transcript.Header
	Entries []transcript.Entry // in the order of the file
	// Leaf is the id of the entry that the active branch ends with; "" is the last
	// entry. An id that no entry has is an error.
	Leaf  string
	Title string // "" is the header's, or a later name of the session
	// System and Tools are what the model gets besides the messages; shown folded.
	System    string
	Tools     []llm.Tool
	Generated time.Time // zero: not shown
	Version   string    // of burin
}

// Limits of HTML and Markdown. JSON has none.
const (
	maxText  = 1 << 20  // bytes of one piece of text; the rest is left out, and the page says so
	maxImage = 16 << 20 // bytes of one picture; a larger one is named, not shown
)

// Totals sums up what a session did and cost.
type Totals struct {
	Messages    int `json:"messages"`
	Prompts     int `json:"prompts"` // by the user
	Answers     int `json:"answers"`
	ToolCalls   int `json:"toolCalls"`
	ToolErrors  int `json:"toolErrors"`
	Compactions int `json:"compactions"`
	// Usage is the sum over all answers; its cost is that of the answers whose
	// price is known.
	Usage llm.Usage `json:"usage"`
	// Unpriced counts answers whose cost, or part of it, is unknown. If it is not 0,
	// the cost is a lower bound.
	Unpriced int `json:"unpriced"`
}

func (t *Totals) add(e *transcript.Entry) {
	if e.Type == transcript.TypeCompaction {
		t.Compactions++
	}
	m := e.Message
	if e.Type != transcript.TypeMessage || m == nil {
		return
	}
	t.Messages++
	switch m.Role {
	case llm.RoleUser:
		t.Prompts++
	case llm.RoleToolResult:
		if m.IsError {
			t.ToolErrors++
		}
	case llm.RoleAssistant:
		t.Answers++
		for _, b := range m.Content {
			if _, ok := b.(llm.ToolCall); ok {
				t.ToolCalls++
			}
		}
		if m.Usage != nil {
			t.Usage = t.Usage.Add(*m.Usage)
		}
		if unpriced(m) {
			t.Unpriced++
		}
	}
}

// unpriced reports whether it is unknown what an answer cost. One that failed without
// any usage is taken to be free: providers bill what they generated.
func unpriced(m *llm.Message) bool {
	if m.Usage == nil {
		return m.StopReason != llm.StopError
	}
	return m.Usage.Cost == nil || m.Usage.Cost.Unknown
}

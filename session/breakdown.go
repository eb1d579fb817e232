package session

import (
	"cmp"
	"slices"

	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session/compact"
	"github.com/burin-dev/burin/transcript"
)

// Breakdown says what fills the window of the model, in tokens. The parts are
// estimated with the counter that the session itself fits requests with, and scaled so
// that System, Tools and Messages together are Total, which is what the vendor counted
// as far as it did.
type Breakdown struct {
	Window  int `json:"window"`  // of the model; 0 is unknown
	Total   int `json:"total"`   // of the next request, without what is typed
	Reserve int `json:"reserve"` // kept free for the answer: beyond it the conversation is condensed
	Free    int `json:"free"`    // what is left before that; 0 if there is none, or the window is unknown

	System   []Share `json:"system"`   // the system prompt: burin's own words first, then each instruction file
	Tools    []Share `json:"tools"`    // each tool that is offered
	Messages []Share `json:"messages"` // by kind, in the order of the Kind constants; results by tool; empty ones are left out
	Largest  []Big   `json:"largest"`  // the 10 largest single messages, largest first
}

// Share is a part of the window.
type Share struct {
	Kind   Kind   `json:"kind"`
	Name   string `json:"name"` // of a file, or a tool; else ""
	Tokens int    `json:"tokens"`
	Count  int    `json:"count"` // of texts, calls, results or pictures; 1 for files and tools
}

// Kind is a source of what fills the window.
type Kind string

// Kinds of what fills the window.
const (
	KindWords     Kind = "words"       // burin's own, of the system prompt
	KindFile      Kind = "file"        // instructions
	KindTool      Kind = "tool"        // a tool's description and schema
	KindUser      Kind = "user"        // what people said
	KindAssistant Kind = "assistant"   // what the model said
	KindThinking  Kind = "thinking"    // what it thought
	KindCall      Kind = "tool_call"   // its calls
	KindResult    Kind = "tool_result" // their results
	KindImage     Kind = "image"       // pictures and documents, wherever they are
	KindSummary   Kind = "summary"     // of what was condensed, or left on another branch
	KindPin       Kind = "pin"         // words to keep
	KindCustom    Kind = "custom"      // what the program said, and output of the person's own commands
)

// Big is a large message.
type Big struct {
	Index  int    `json:"index"` // in Messages()
	Kind   Kind   `json:"kind"`
	Name   string `json:"name"` // of the tool, of a result
	Text   string `json:"text"` // its beginning, one line of at most 80 characters
	Tokens int    `json:"tokens"`
}

// mostBig is how many large messages a breakdown lists.
const mostBig = 10

// Breakdown says what fills the window now. It looks at every message, so it is for
// when a person asks.
func (s *Session) Breakdown() Breakdown {
	messages, tools := s.agent.Messages(), s.tools.offered()
	b := Breakdown{Window: s.mind.window(), Total: s.gauge.tokens(messages)}
	system := s.mind.system()
	if t := s.o.Compaction.Threshold(b.Window); t > 0 {
		b.Reserve = b.Window - t
	}
	b.Free = max(0, b.Window-b.Reserve-b.Total)

	own := textTokens(system)
	for _, p := range s.o.Parts {
		n := textTokens(p.Text)
		own = max(0, own-n)
		b.System = append(b.System, Share{KindFile, p.Name, n, 1})
	}
	b.System = slices.Insert(b.System, 0, Share{KindWords, "", own, 1})
	for _, t := range tools {
		b.Tools = append(b.Tools, Share{KindTool, t.Name, toolTokens(t), 1})
	}
	var c census
	for i := range messages {
		c.add(i, &messages[i])
	}
	b.Messages, b.Largest = c.sorted()
	b.scale()
	return b
}

// scale makes the parts add up to Total.
func (b *Breakdown) scale() {
	var shares []*Share
	sum := 0
	for _, list := range [][]Share{b.System, b.Tools, b.Messages} {
		for i := range list {
			shares = append(shares, &list[i])
			sum += list[i].Tokens
		}
	}
	if sum == 0 {
		return
	}
	left := b.Total
	for _, s := range shares {
		s.Tokens = s.Tokens * b.Total / sum
		left -= s.Tokens
	}
	// What rounding has left over is small beside the largest part.
	slices.MaxFunc(shares, func(x, y *Share) int { return x.Tokens - y.Tokens }).Tokens += left
	for i := range b.Largest {
		b.Largest[i].Tokens = b.Largest[i].Tokens * b.Total / sum
	}
}

// census counts messages by kind.
type census struct {
	shares []Share
	big    []Big // the largest so far, largest first
}

// add counts a message, block by block.
func (c *census) add(index int, m *llm.Message) {
	kind := kindOfMessage(m)
	total := compact.Tokens(m)
	border := compact.Tokens(&llm.Message{}) // of each message, however much is in it
	c.share(kind, m.ToolName, border, 0)
	for _, block := range m.Content {
		n := compact.Tokens(&llm.Message{Content: []llm.Block{block}}) - border
		c.share(kindOfBlock(kind, block), m.ToolName, n, 1)
	}
	if n := len(c.big); n == mostBig && c.big[n-1].Tokens >= total {
		return
	}
	at, _ := slices.BinarySearchFunc(c.big, total, func(b Big, t int) int { return cmp.Compare(t, b.Tokens) })
	c.big = slices.Insert(c.big, at, Big{Index: index, Kind: kind, Name: m.ToolName, Text: beginning(m.Text()), Tokens: total})
	c.big = c.big[:min(len(c.big), mostBig)]
}

// share adds to the part of a kind; results are told apart by tool.
func (c *census) share(kind Kind, tool string, tokens, count int) {
	if kind != KindResult {
		tool = ""
	}
	i := slices.IndexFunc(c.shares, func(s Share) bool { return s.Kind == kind && s.Name == tool })
	if i < 0 {
		i = len(c.shares)
		c.shares = append(c.shares, Share{Kind: kind, Name: tool})
	}
	c.shares[i].Tokens += tokens
	c.shares[i].Count += count
}

func (c *census) sorted() ([]Share, []Big) {
	order := []Kind{KindUser, KindAssistant, KindThinking, KindCall, KindResult, KindImage, KindSummary, KindPin, KindCustom}
	slices.SortStableFunc(c.shares, func(x, y Share) int {
		return cmp.Or(slices.Index(order, x.Kind)-slices.Index(order, y.Kind), y.Tokens-x.Tokens)
	})
	return c.shares, c.big
}

// kindOfMessage is the kind of a message as a whole.
func kindOfMessage(m *llm.Message) Kind {
	switch m.Role {
	case llm.RoleUser:
		return KindUser
	case llm.RoleAssistant:
		return KindAssistant
	case llm.RoleToolResult:
		return KindResult
	}
	switch m.CustomType {
	case transcript.CustomSummary, transcript.CustomBranch:
		return KindSummary
	case customPin, customUnpin:
		return KindPin
	}
	return KindCustom
}

// kindOfBlock is the kind of a block in a message of a kind.
func kindOfBlock(message Kind, b llm.Block) Kind {
	switch b.(type) {
	case llm.Image, llm.Document:
		return KindImage
	case llm.Thinking, llm.Opaque: // what is opaque is reasoning that only its vendor reads
		return KindThinking
	case llm.ToolCall:
		return KindCall
	}
	return message
}

// beginning is the beginning of a text, on one line.
func beginning(text string) string { return prose.Short(text, 80) }

package session

import (
	"cmp"
	"slices"

	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/internal/sorting"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session/compact"
	"github.com/burin-dev/burin/transcript"
)

// Breakdown says what fills the model's window, in tokens. The parts are estimated with the
// counter that the session itself uses to fit requests, and scaled so that System, Tools and
// Messages add up to Total. Total is what the provider counted, as far as it did.
type Breakdown struct {
	Window  int `json:"window"`  // of the model; 0 means unknown
	Total   int `json:"total"`   // of the next request, without the text being typed
	Reserve int `json:"reserve"` // kept free for the answer: beyond it the conversation is compacted
	Free    int `json:"free"`    // what is left before that; 0 if nothing is, or the window is unknown

	System   []Share `json:"system"`   // the system prompt: burin's own text first, then each instruction file
	Tools    []Share `json:"tools"`    // each offered tool
	Messages []Share `json:"messages"` // by kind, in the order of the Kind constants; results by tool; without empty ones
	Largest  []Big   `json:"largest"`  // the 10 largest messages, largest first
}

// Share is a part of the window.
type Share struct {
	Kind   Kind   `json:"kind"`
	Name   string `json:"name"` // of a file or a tool; otherwise ""
	Tokens int    `json:"tokens"`
	Count  int    `json:"count"` // of texts, calls, results or images; 1 for files and tools
}

// Kind is something that fills the window.
type Kind string

// Kinds of what fills the window.
const (
	KindWords     Kind = "words"       // burin's own text of the system prompt
	KindFile      Kind = "file"        // instruction files
	KindTool      Kind = "tool"        // a tool's description and schema
	KindUser      Kind = "user"        // what the user said
	KindAssistant Kind = "assistant"   // what the model said
	KindThinking  Kind = "thinking"    // the model's thinking
	KindCall      Kind = "tool_call"   // the model's calls
	KindResult    Kind = "tool_result" // results of calls
	KindImage     Kind = "image"       // images and documents, wherever they are
	KindSummary   Kind = "summary"     // summaries of what was compacted, or left on another branch
	KindPin       Kind = "pin"         // pins
	KindCustom    Kind = "custom"      // messages of the program, and output of the user's own commands
)

// Big is a large message.
type Big struct {
	Index  int    `json:"index"` // in Messages()
	Kind   Kind   `json:"kind"`
	Name   string `json:"name"` // of the tool, for a result
	Text   string `json:"text"` // its start, on one line of at most 80 characters
	Tokens int    `json:"tokens"`
}

// mostBig is how many large messages a breakdown lists.
const mostBig = 10

// Breakdown says what fills the window now. It looks at every message, so call it only when
// the user asks.
func (s *Session) Breakdown() Breakdown {
	messages, tools := s.agent.Messages(), s.tools.offered()
	b := Breakdown{Window: s.modelState.window(), Total: s.tokenCounter.tokens(messages)}
	system := s.modelState.system()
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
	// The rounding error is small compared with the largest part.
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
	border := compact.Tokens(&llm.Message{}) // for each message, however long it is
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
	sorting.Stable(c.shares, func(x, y Share) int {
		return cmp.Or(slices.Index(order, x.Kind)-slices.Index(order, y.Kind), y.Tokens-x.Tokens)
	})
	return c.shares, c.big
}

// kindOfMessage returns the kind of a whole message.
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

// kindOfBlock returns the kind of a block in a message of a kind.
func kindOfBlock(message Kind, b llm.Block) Kind {
	switch b.(type) {
	case llm.Image, llm.Document:
		return KindImage
	case llm.Thinking, llm.Opaque: // opaque blocks are reasoning that only their provider can read
		return KindThinking
	case llm.ToolCall:
		return KindCall
	}
	return message
}

// beginning returns the start of a text, on one line.
func beginning(text string) string { return prose.Short(text, 80) }

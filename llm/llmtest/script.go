package llmtest

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/burin-dev/burin/llm"
)

// Script is a model's part in a conversation. Turn N answers request N, counted
// in the order in which requests arrive; a request after the last turn is
// refused with "the script has ended".
type Script struct {
	Turns []Turn
}

// Turn is one answer. What the model says is Reply's result, or else Parts
// followed by Events.
type Turn struct {
	Parts []Part
	// Events may be put together from the helpers of this package. Indexes need
	// only tell apart the blocks that are open at the same time. Start and
	// terminal events are added where they are missing. An error event becomes
	// the format's error inside the stream.
	Events []llm.Event
	// Reply makes the answer from the request.
	Reply func(*llm.Request) []llm.Event
	// Check looks at the request first. Its error refuses the request (HTTP 400)
	// with its text and is kept in Server.Err.
	Check func(*llm.Request) error
	// Fault is what goes wrong on the way.
	Fault Fault
	// Pace is the pause before each event after the first.
	Pace time.Duration
}

// Part is one block of an answer as plain data: thinking if Thinking is set, a
// call if Call is set, else text.
type Part struct {
	Text string

	Thinking  string
	Signature string // of Thinking

	Call string // name of the tool
	ID   string // of the call; empty = one that is unique within the script
	Args string // JSON object; empty = no arguments
}

// Fault is what goes wrong with an answer. The zero value is nothing. Faults
// that can happen in the same answer may be combined.
type Fault struct {
	// Error refuses the request: the format's error answer, with the status of
	// its kind.
	Error *llm.Error
	// Header is added to the head of the answer, whether it is refused or not.
	Header http.Header
	// Drop closes the connection without an answer.
	Drop bool
	// StallHead lets the client wait for the head until it goes away.
	StallHead bool
	// StallAfterEvents sends that many events, the start counted, and then
	// nothing until the client goes away. Negative: nothing after the head.
	StallAfterEvents int
	// CutAfterBytes closes the connection after that many bytes of the body.
	// Negative: after the head.
	CutAfterBytes int
	// MalformedAfterEvents damages the first frame that follows that many events.
	MalformedAfterEvents int
	// RepeatEnd sends what ends the answer twice.
	RepeatEnd bool
	// Trailing is sent after the end of the answer.
	Trailing string
}

// Say is a block of text, in deltas of one word.
func Say(text string) []llm.Event {
	return block(llm.Text{}, llm.Text{Text: text}, words(text),
		llm.EventTextStart, llm.EventTextDelta, llm.EventTextEnd)
}

// Think is a block of reasoning, in deltas of one word; signature may be empty.
func Think(text, signature string) []llm.Event {
	return block(llm.Thinking{}, llm.Thinking{Text: text, Signature: signature}, words(text),
		llm.EventThinkingStart, llm.EventThinkingDelta, llm.EventThinkingEnd)
}

// Redacted is a block of reasoning that the provider encrypted as data.
func Redacted(data string) []llm.Event {
	return block(llm.Thinking{}, llm.Thinking{Signature: data, Redacted: true}, nil,
		llm.EventThinkingStart, llm.EventThinkingDelta, llm.EventThinkingEnd)
}

// Call is a tool call whose arguments arrive in deltas of a few characters.
func Call(id, name, argsJSON string) []llm.Event {
	c := llm.ToolCall{ID: id, Name: name}
	whole := c
	whole.Arguments = argsJSON
	return block(c, whole, pieces(argsJSON, 12),
		llm.EventToolCallStart, llm.EventToolCallDelta, llm.EventToolCallEnd)
}

// Opaque is an item of a provider's own; without an API, of the format that is served.
func Opaque(o llm.Opaque) []llm.Event {
	return []llm.Event{{Type: llm.EventOpaque, Block: o}}
}

// Stop ends an answer.
func Stop(reason llm.StopReason, u llm.Usage) []llm.Event {
	return []llm.Event{{Type: llm.EventDone, Message: &llm.Message{StopReason: reason, Usage: &u}}}
}

// Fail ends an answer with an error inside the stream.
func Fail(err *llm.Error) []llm.Event {
	return []llm.Event{{Type: llm.EventError, Message: &llm.Message{StopReason: llm.StopError, Error: err}}}
}

// Message is a whole answer: a start with the response's id, every block, and
// the end with usage, stop reason and error.
func Message(m llm.Message) []llm.Event {
	out := []llm.Event{{Type: llm.EventStart, Message: &llm.Message{ResponseID: m.ResponseID}}}
	for i, b := range m.Content {
		for _, ev := range blockEvents(b) {
			ev.Index = i
			out = append(out, ev)
		}
	}
	end := llm.Event{Type: llm.EventDone, Message: &m}
	if m.Error != nil {
		end.Type = llm.EventError
	}
	return append(out, end)
}

func blockEvents(b llm.Block) []llm.Event {
	switch b := b.(type) {
	case llm.Text:
		events := Say(b.Text)
		events[len(events)-1].Block = b
		return events
	case llm.Thinking:
		if b.Redacted {
			return Redacted(b.Signature)
		}
		return Think(b.Text, b.Signature)
	case llm.ToolCall:
		events := Call(b.ID, b.Name, b.Arguments)
		events[len(events)-1].Block = b
		return events
	case llm.Opaque:
		return Opaque(b)
	}
	return nil // models do not answer with images and documents
}

// events is what the turn says to req as its n-th answer.
func (t *Turn) events(req *llm.Request, n int) []llm.Event {
	if t.Reply != nil {
		return t.Reply(req)
	}
	var out []llm.Event
	for k, p := range t.Parts {
		switch {
		case p.Thinking != "":
			out = append(out, Think(p.Thinking, p.Signature)...)
		case p.Call != "":
			id := p.ID
			if id == "" {
				id = fmt.Sprintf("call_%d_%d", n, k)
			}
			out = append(out, Call(id, p.Call, p.Args)...)
		default:
			out = append(out, Say(p.Text)...)
		}
	}
	return append(out, t.Events...)
}

func block(open, whole llm.Block, deltas []string, start, delta, end llm.EventType) []llm.Event {
	out := []llm.Event{{Type: start, Block: open}}
	for _, d := range deltas {
		out = append(out, llm.Event{Type: delta, Delta: d})
	}
	return append(out, llm.Event{Type: end, Block: whole})
}

// words cuts s after each space.
func words(s string) []string {
	return slices.DeleteFunc(strings.SplitAfter(s, " "), func(w string) bool { return w == "" })
}

// pieces cuts s into pieces of at most n bytes, or one character if that is
// longer, between characters.
func pieces(s string, n int) []string {
	var out []string
	for len(s) > 0 {
		end := min(n, len(s))
		for end < len(s) && end > 0 && !utf8.RuneStart(s[end]) {
			end--
		}
		if end == 0 {
			_, end = utf8.DecodeRuneInString(s)
		}
		out = append(out, s[:end])
		s = s[end:]
	}
	return out
}

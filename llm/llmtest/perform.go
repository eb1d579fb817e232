package llmtest

import (
	"iter"
	"slices"
	"strings"

	"github.com/burin-dev/burin/llm"
)

// Perform plays loosely written events through a builder, so that an encoder
// sees exactly what a gateway would hand it: a start, triplets with their whole
// blocks, and one terminal event with the whole message. Of head, the API,
// model and response id are used.
func Perform(head llm.Message, events []llm.Event) iter.Seq[llm.Event] {
	return func(yield func(llm.Event) bool) {
		p := performer{head: head, index: map[int]int{}, items: map[int]llm.Opaque{}}
		for _, ev := range events {
			p.play(ev)
			for next, ok := p.next(); ok; next, ok = p.next() {
				if !yield(next) {
					return
				}
			}
			if p.b.Ended() {
				return
			}
		}
		p.play(llm.Event{Type: llm.EventDone, Message: &llm.Message{StopReason: llm.StopEnd}})
		for next, ok := p.next(); ok; next, ok = p.next() {
			if !yield(next) {
				return
			}
		}
	}
}

type performer struct {
	head  llm.Message
	b     *llm.Builder
	index map[int]int // index of a block in the script -> index in the message
	items map[int]llm.Opaque
}

// next takes an event from the builder, which takes all items for the format's
// own, and gives back to items the API that the script names.
func (p *performer) next() (llm.Event, bool) {
	ev, ok := p.b.Next()
	if !ok {
		return ev, false
	}
	if item, is := p.items[ev.Index]; is && ev.Type == llm.EventOpaque {
		ev.Block = item
	}
	if ev.Type.Terminal() && len(p.items) > 0 {
		ev.Message.Content = slices.Clone(ev.Message.Content)
		for i, item := range p.items {
			ev.Message.Content[i] = item
		}
	}
	return ev, true
}

func (p *performer) play(ev llm.Event) {
	if p.b == nil {
		if ev.Type == llm.EventStart && ev.Message != nil {
			p.head.ResponseID = or(ev.Message.ResponseID, p.head.ResponseID)
			p.head.Model = or(ev.Message.Model, p.head.Model)
			if u := ev.Message.Usage; u != nil {
				known := *u
				p.head.Usage = &known
			}
		}
		p.b = llm.NewBuilder(p.head)
		p.b.Start()
	}
	switch ev.Type {
	case llm.EventTextStart:
		p.index[ev.Index] = p.b.OpenText()
	case llm.EventThinkingStart:
		p.index[ev.Index] = p.b.OpenThinking()
	case llm.EventToolCallStart:
		call, _ := ev.Block.(llm.ToolCall)
		p.index[ev.Index] = p.b.OpenToolCall(call.ID, call.Name)
	case llm.EventTextDelta, llm.EventThinkingDelta, llm.EventToolCallDelta:
		if i, ok := p.index[ev.Index]; ok {
			p.b.Delta(i, ev.Delta)
		}
	case llm.EventTextEnd, llm.EventThinkingEnd, llm.EventToolCallEnd:
		if i, ok := p.index[ev.Index]; ok {
			p.end(i, ev.Block)
		}
	case llm.EventOpaque:
		if o, ok := ev.Block.(llm.Opaque); ok {
			i := p.b.Opaque(o.Kind, o.Raw)
			if o.API != "" {
				p.items[i] = o
			}
		}
	case llm.EventDone, llm.EventError:
		p.finish(ev)
	}
}

// end closes block i as the script's whole block says; what its deltas have not
// told is added.
func (p *performer) end(i int, whole llm.Block) {
	switch w := whole.(type) {
	case llm.Text:
		p.rest(i, w.Text)
		p.b.Sign(i, w.Signature)
		for _, c := range w.Citations {
			p.b.Cite(i, c)
		}
	case llm.Thinking:
		if w.Redacted {
			p.b.Redact(i, w.Signature)
			break
		}
		p.rest(i, w.Text)
		p.b.Sign(i, w.Signature)
	case llm.ToolCall:
		p.b.Name(i, w.ID, w.Name)
		p.rest(i, w.Arguments)
		p.b.Sign(i, w.Signature)
	}
	p.b.CloseBlock(i)
}

func (p *performer) rest(i int, text string) {
	if more, ok := strings.CutPrefix(text, string(p.b.Written(i))); ok {
		p.b.Delta(i, more)
	}
}

func (p *performer) finish(ev llm.Event) {
	m := ev.Message
	if m == nil {
		m = &llm.Message{}
	}
	if m.Usage != nil {
		*p.b.Usage() = *m.Usage
	}
	if ev.Type == llm.EventError {
		failure := llm.Error{Kind: llm.ErrOverload}
		if m.Error != nil {
			failure = *m.Error
		}
		p.b.Fail(&failure)
		return
	}
	reason := m.StopReason
	if reason == "" {
		reason = llm.StopEnd
	}
	p.b.Done(reason)
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

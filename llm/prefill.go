package llm

import "strings"

// claudeRefuses is when the first Claude was released (4.6) that refuses a prefilled answer.
const claudeRefuses = "2026-02-05"

// Begun returns what a request has the answer begin with: its Prefill without spaces at the end, which
// Anthropic refuses. It is "" where the model would not continue it: in formats that don't define that,
// for Claude since 4.6, and while the model thinks, which comes before its answer.
func (r *Request) Begun() string {
	if r.Prefill == "" || r.Model == nil || r.Model.Thinking.Clamp(r.Thinking.Level) != LevelOff {
		return ""
	}
	switch r.Model.API {
	case APIAnthropic:
		if strings.Contains(r.Model.Upstream(), "claude") && (r.Model.Released == "" || r.Model.Released >= claudeRefuses) {
			return ""
		}
	case APICompletions:
	default:
		return ""
	}
	return strings.TrimRight(r.Prefill, " \t\r\n")
}

// Prefilled returns the answer to a request with what the request began it with before its first text,
// so that readers have it as the model does. An answer without text, such as a call of a tool, stays as
// it is.
func Prefilled(s Stream, r *Request) Stream {
	text := r.Begun()
	if text == "" {
		return s
	}
	return &prefilled{Stream: s, text: text, at: -1}
}

type prefilled struct {
	Stream
	text string
	at   int  // the block that begins with it; -1: none yet
	next bool // its delta is the next event
}

// Next implements [Stream].
func (p *prefilled) Next() (Event, bool) {
	if p.next {
		p.next = false
		return Event{Type: EventTextDelta, Index: p.at, Delta: p.text}, true
	}
	e, ok := p.Stream.Next()
	switch {
	case !ok:
	case e.Type == EventTextStart && p.at < 0:
		p.at, p.next = e.Index, true
	case e.Type == EventTextEnd && e.Index == p.at:
		e.Block = p.whole(e.Block)
	case e.Type.Terminal() && e.Message != nil && p.at >= 0 && p.at < len(e.Message.Content):
		e.Message.Content[p.at] = p.whole(e.Message.Content[p.at]) // it belongs to the reader
	}
	return e, ok
}

func (p *prefilled) whole(b Block) Block {
	if t, ok := b.(Text); ok {
		t.Text = p.text + t.Text
		return t
	}
	return b
}

package llm

import (
	"io"
	"iter"
)

// EventType names an event of a stream.
type EventType string

const (
	EventStart         EventType = "start"
	EventTextStart     EventType = "text_start"
	EventTextDelta     EventType = "text_delta"
	EventTextEnd       EventType = "text_end"
	EventThinkingStart EventType = "thinking_start"
	EventThinkingDelta EventType = "thinking_delta"
	EventThinkingEnd   EventType = "thinking_end"
	EventToolCallStart EventType = "toolcall_start"
	EventToolCallDelta EventType = "toolcall_delta"
	EventToolCallEnd   EventType = "toolcall_end"
	EventOpaque        EventType = "opaque" // a provider's item arrived whole
	EventDone          EventType = "done"
	EventError         EventType = "error"
)

// Delta reports whether the event is a piece of a block.
func (t EventType) Delta() bool {
	return t == EventTextDelta || t == EventThinkingDelta || t == EventToolCallDelta
}

// Terminal reports whether the event ends the stream.
func (t EventType) Terminal() bool { return t == EventDone || t == EventError }

// Event is one step of an answer.
type Event struct {
	Type  EventType
	Index int    // index of the block in Message.Content; 0 for start, done and error
	Delta string // of a delta: text, thinking, or a piece of JSON text; always whole UTF-8 characters
	// Block is the block so far for *_start (the id and name of a tool call), and the whole
	// block for *_end and opaque.
	Block Block
	// Message is set for start (who answers), and for done and error (all of it). It belongs
	// to the reader.
	Message *Message
}

// Stream is an answer in progress. It has a single reader.
type Stream interface {
	// Next waits for the next event. ok is false after the terminal event.
	Next() (ev Event, ok bool)
	io.Closer // ends the stream early and frees its connection; may be called at any time, more than once
}

// Events ranges over a stream, and closes it when the loop ends.
func Events(s Stream) iter.Seq[Event] {
	return func(yield func(Event) bool) {
		defer s.Close()
		for {
			ev, ok := s.Next()
			if !ok || !yield(ev) {
				return
			}
		}
	}
}

// Collect reads a stream to its end. The message is valid, though it may be partial, even if
// err is not nil; err is then an [*Error].
func Collect(s Stream) (*Message, error) {
	for ev := range Events(s) {
		if ev.Type == EventDone {
			return ev.Message, nil
		}
		if ev.Type == EventError {
			return ev.Message, ev.Message.Error
		}
	}
	return &Message{Role: RoleAssistant, StopReason: StopError}, &Error{Kind: ErrTransport, Message: "the stream was closed before it ended"}
}

// Failed returns a stream with only an error.
func Failed(m Message, err *Error) Stream {
	b := NewBuilder(m)
	b.Fail(err)
	return &failed{b}
}

type failed struct{ b *Builder }

func (f *failed) Next() (Event, bool) { return f.b.Next() }
func (f *failed) Close() error        { return nil }

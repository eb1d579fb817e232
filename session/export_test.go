package session

import (
	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/llm"
)

// PlanTitle is the name that a session gets from the title of a plan.
func PlanTitle(title string) string { return planTitle(title) }

// Recounted is the size of the next request, with every message looked at anew.
func Recounted(s *Session) int { return s.tokenCounter.tokens(s.agent.Messages()) }

// Fingerprinted reports whether the messages of the last request are known by what
// they say, as far as the conversation has only grown since.
func Fingerprinted(s *Session) bool {
	messages, replaced := s.agent.Grown()
	w := s.cache
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.asked.replaced != replaced {
		return true
	}
	for i, h := range w.asked.messages {
		if i >= len(messages) || h != messageHash(w.seed, &messages[i]) {
			return false
		}
	}
	return true
}

// Shape is a type of event, for pages and tests.
type Shape struct {
	Type    agent.EventType
	About   string // when it comes
	Payload any    // a value of the type whose fields it has beside those of all; nil: none
}

// Shapes are the types of all events.
func Shapes() []Shape {
	all := make([]Shape, len(shapes))
	for i, s := range shapes {
		all[i] = Shape{s.typ, s.about, s.payload}
	}
	return all
}

// FollowUps are the messages that wait, as the model reads them.
func (s *Session) FollowUps() []llm.Message {
	_, followUps := s.agent.Queued()
	return followUps
}

// Feed reads what happens from a cursor on.
func (s *Session) Feed(from Cursor) Feed { return s.hub.feed(from) }

package session

import "github.com/burin-dev/burin/session/compact"

// tally is an estimate of messages of the conversation that need not be made again:
// it holds as long as the conversation does nothing but grow. Figures are asked for
// with each message, so they must not cost more in a long conversation.
type tally struct {
	replaced int // how often the conversation had been replaced
	from, to int // the messages that are counted
	tokens   int
}

// contextTokens is [Session.tokens] of the conversation. Each message is looked at
// once. The caller holds mu.
func (s *Session) contextTokens() int {
	messages, replaced := s.agent.Grown()
	n, from := s.anchor(len(messages))
	c := &s.counted
	if c.replaced != replaced || c.from != from || c.to > len(messages) {
		*c = tally{replaced: replaced, from: from, to: from}
	}
	for ; c.to < len(messages); c.to++ {
		c.tokens += compact.Tokens(&messages[c.to])
	}
	return n + c.tokens
}

// anchor is what is known of the size of a request with that many messages, and from
// which message on it is to be estimated. The caller holds mu.
func (s *Session) anchor(messages int) (tokens, from int) {
	if from = s.known.messages; from > 0 && from <= messages {
		return s.known.tokens, from
	}
	tokens = textTokens(s.request.System)
	for _, t := range s.tools {
		tokens += toolTokens(t)
	}
	return tokens, 0
}

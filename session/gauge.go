package session

import (
	"slices"
	"sync"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session/compact"
	"github.com/burin-dev/burin/transcript"
)

// gauge says how large the conversation is, in tokens: as the vendor counted, and an
// estimate of what came since. Figures are asked for with each message, so they must not
// cost more in a long conversation.
type gauge struct {
	loop  *agent.Agent
	mind  *mind
	tools *ToolSet

	mu      sync.Mutex
	known   measure
	counted tally
	stuck   int // tokens of the conversation when it could not be condensed; 0: it could
}

// measure is what the vendor counted: that many messages were tokens, the answer to
// them included.
type measure struct{ messages, tokens int }

// tally is an estimate of messages of the conversation that need not be made again:
// it holds as long as the conversation does nothing but grow.
type tally struct {
	replaced int // how often the conversation had been replaced
	from, to int // the messages that are counted
	tokens   int

	tokenizer compact.Tokenizer
}

// measured takes what the vendor counted for an answer.
func (g *gauge) measured(m *llm.Message) {
	if !measures(m) {
		return
	}
	n := len(g.loop.Messages())
	g.mu.Lock()
	defer g.mu.Unlock()
	g.known = measure{n, m.Usage.Context()}
}

// measures reports whether a vendor has counted a message, and what came before it.
func measures(m *llm.Message) bool {
	return m.Role == llm.RoleAssistant && m.Error == nil && m.Usage != nil && m.Usage.Prompt() > 0
}

// recall takes what the model's vendor counted last in a conversation that was read from
// its transcript, unless it was made smaller since: for a resumed session an estimate
// alone is too rough.
func (g *gauge) recall(log *transcript.Log) {
	smaller := func(e *transcript.Entry) bool {
		return e.Type == transcript.TypeCompaction || e.CustomType == transcript.CustomPrune
	}
	e := log.Last(log.Leaf(),
		func(n transcript.Node) bool {
			return n.Role == llm.RoleAssistant || n.Type == transcript.TypeCompaction || n.Type == transcript.TypeCustom
		},
		func(e *transcript.Entry) bool { return smaller(e) || e.Message != nil && measures(e.Message) })
	model := g.mind.model()
	if e == nil || smaller(e) || e.Message.Provider != model.Provider || e.Message.Model != model.ID {
		return
	}
	messages := g.loop.Messages()
	for i := range slices.Backward(messages) {
		if m := &messages[i]; measures(m) {
			if m.Usage.Context() == e.Message.Usage.Context() {
				g.mu.Lock()
				g.known = measure{i + 1, m.Usage.Context()}
				g.mu.Unlock()
			}
			return
		}
	}
}

// reset forgets what the vendor counted: it holds for another model, or conversation.
func (g *gauge) reset() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.known, g.stuck = measure{}, 0
}

// vendor is what the vendor counted last; 0: nothing is known.
func (g *gauge) vendor() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.known.tokens
}

// couldNot notes at which size the conversation could not be condensed.
func (g *gauge) couldNot(size int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.stuck = size
}

// hopeless reports whether a conversation of a size was tried to be condensed a moment ago.
func (g *gauge) hopeless(size, window int) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.stuck > 0 && size < g.stuck+window/10
}

// tokens is how large a request of these messages is.
func (g *gauge) tokens(messages []llm.Message) int {
	tokenizer := g.tokenizer()
	g.mu.Lock()
	n, from := g.anchor(tokenizer, len(messages))
	g.mu.Unlock()
	for i := range messages[from:] {
		n += tokenizer.Tokens(&messages[from+i])
	}
	return n
}

// context is tokens of the conversation. Each message is looked at once.
func (g *gauge) context() int {
	tokenizer := g.tokenizer()
	g.mu.Lock()
	defer g.mu.Unlock()
	messages, replaced := g.loop.Grown()
	n, from := g.anchor(tokenizer, len(messages))
	c := &g.counted
	if c.tokenizer != tokenizer || c.replaced != replaced || c.from != from || c.to > len(messages) {
		*c = tally{tokenizer: tokenizer, replaced: replaced, from: from, to: from}
	}
	for ; c.to < len(messages); c.to++ {
		c.tokens += tokenizer.Tokens(&messages[c.to])
	}
	return n + c.tokens
}

// tokenizer is that of the model.
func (g *gauge) tokenizer() compact.Tokenizer { return compact.TokenizerOf(g.mind.model().ID) }

// anchor is what is known of the size of a request with that many messages, and from
// which message on it is to be estimated. The caller holds mu.
func (g *gauge) anchor(tokenizer compact.Tokenizer, messages int) (tokens, from int) {
	if from = g.known.messages; from > 0 && from <= messages {
		return g.known.tokens, from
	}
	tokens = tokenizer.Text(g.mind.system())
	for _, t := range g.tools.offered() {
		tokens += tokenizer.Text(t.Description) + tokenizer.Text(string(t.Parameters))
	}
	return tokens, 0
}

// prompt estimates a request as it is sent.
func (g *gauge) prompt(r *llm.Request) int {
	g.mu.Lock()
	known := g.known.messages
	g.mu.Unlock()
	if known > 0 && known <= len(r.Messages) {
		return g.tokens(r.Messages)
	}
	tokenizer := g.tokenizer()
	n := tokenizer.Text(r.System)
	for i := range r.Tools {
		n += tokenizer.Text(r.Tools[i].Description) + tokenizer.Text(string(r.Tools[i].Schema))
	}
	for i := range r.Messages {
		n += tokenizer.Tokens(&r.Messages[i])
	}
	return n
}

// estimate is how large the messages of the conversation are, estimated each: what the
// vendor counted tells nothing of a conversation that has changed.
func (g *gauge) estimate() (n int) {
	messages := g.loop.Messages()
	for i := range messages {
		n += compact.Tokens(&messages[i])
	}
	return n
}

// textTokens estimates a text.
func textTokens(text string) int {
	m := llm.UserText(text)
	return compact.Tokens(&m)
}

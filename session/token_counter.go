package session

import (
	"slices"
	"sync"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session/compact"
	"github.com/burin-dev/burin/transcript"
)

// tokenCounter knows the size of the conversation, in tokens: what the provider counted, plus an
// estimate of what was added since. Figures are needed for each message, so they must not cost
// more in a long conversation.
type tokenCounter struct {
	loop       *agent.Agent
	modelState *modelState
	tools      *ToolSet

	mu      sync.Mutex
	known   measure
	counted tally
	stuck   int // tokens of the conversation when it could not be compacted; 0 if it could
}

// measure is what the provider counted: the tokens of so many messages, including the answer.
type measure struct{ messages, tokens int }

// tally caches an estimate of messages. It is valid as long as the conversation only grows.
type tally struct {
	replaced int // how many times the conversation had been replaced
	from, to int // the messages it covers
	tokens   int

	tokenizer compact.Tokenizer
}

// measured records what the provider counted for an answer.
func (k *tokenCounter) measured(m *llm.Message) {
	if !measures(m) {
		return
	}
	n := len(k.loop.Messages())
	k.mu.Lock()
	defer k.mu.Unlock()
	k.known = measure{n, m.Usage.Context()}
}

// measures reports whether a provider has counted a message and everything before it.
func measures(m *llm.Message) bool {
	return m.Role == llm.RoleAssistant && m.Error == nil && m.Usage != nil && m.Usage.Prompt() > 0
}

// recall restores the model's last count in a conversation that was read from its transcript,
// unless the conversation was shortened since: for a resumed session, an estimate alone is too
// rough.
func (k *tokenCounter) recall(log *transcript.Log) {
	smaller := func(e *transcript.Entry) bool {
		return e.Type == transcript.TypeCompaction || e.CustomType == transcript.CustomPrune
	}
	e := log.Last(log.Leaf(),
		func(n transcript.Node) bool {
			return n.Role == llm.RoleAssistant || n.Type == transcript.TypeCompaction || n.Type == transcript.TypeCustom
		},
		func(e *transcript.Entry) bool { return smaller(e) || e.Message != nil && measures(e.Message) })
	model := k.modelState.model()
	if e == nil || smaller(e) || e.Message.Provider != model.Provider || e.Message.Model != model.ID {
		return
	}
	messages := k.loop.Messages()
	for i := range slices.Backward(messages) {
		if m := &messages[i]; measures(m) {
			if m.Usage.Context() == e.Message.Usage.Context() {
				k.mu.Lock()
				k.known = measure{i + 1, m.Usage.Context()}
				k.mu.Unlock()
			}
			return
		}
	}
}

// reset forgets what the provider counted, because it applies to another model or
// conversation.
func (k *tokenCounter) reset() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.known, k.stuck = measure{}, 0
}

// vendor returns what the provider last counted; 0 means unknown.
func (k *tokenCounter) vendor() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.known.tokens
}

// couldNot notes the size at which the conversation could not be compacted.
func (k *tokenCounter) couldNot(size int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.stuck = size
}

// hopeless reports whether compacting a conversation of that size failed a moment ago.
func (k *tokenCounter) hopeless(size, window int) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.stuck > 0 && size < k.stuck+window/10
}

// tokens returns the size of a request with these messages.
func (k *tokenCounter) tokens(messages []llm.Message) int {
	tokenizer := k.tokenizer()
	k.mu.Lock()
	n, from := k.anchor(tokenizer, len(messages))
	k.mu.Unlock()
	for i := range messages[from:] {
		n += tokenizer.Tokens(&messages[from+i])
	}
	return n
}

// context returns the tokens of the conversation. It looks at each message once.
func (k *tokenCounter) context() int {
	tokenizer := k.tokenizer()
	k.mu.Lock()
	defer k.mu.Unlock()
	messages, replaced := k.loop.Grown()
	n, from := k.anchor(tokenizer, len(messages))
	c := &k.counted
	if c.tokenizer != tokenizer || c.replaced != replaced || c.from != from || c.to > len(messages) {
		*c = tally{tokenizer: tokenizer, replaced: replaced, from: from, to: from}
	}
	for ; c.to < len(messages); c.to++ {
		c.tokens += tokenizer.Tokens(&messages[c.to])
	}
	return n + c.tokens
}

// tokenizer returns the tokenizer of the model.
func (k *tokenCounter) tokenizer() compact.Tokenizer {
	return compact.TokenizerOf(k.modelState.model().ID)
}

// anchor returns the known size of a request with that many messages, and the first message to
// estimate. The caller holds mu.
func (k *tokenCounter) anchor(tokenizer compact.Tokenizer, messages int) (tokens, from int) {
	if from = k.known.messages; from > 0 && from <= messages {
		return k.known.tokens, from
	}
	tokens = tokenizer.Text(k.modelState.system())
	for _, t := range k.tools.offered() {
		tokens += tokenizer.Text(t.Description) + tokenizer.Text(string(t.Parameters))
	}
	return tokens, 0
}

// prompt estimates a complete request.
func (k *tokenCounter) prompt(r *llm.Request) int {
	k.mu.Lock()
	known := k.known.messages
	k.mu.Unlock()
	if known > 0 && known <= len(r.Messages) {
		return k.tokens(r.Messages)
	}
	tokenizer := k.tokenizer()
	n := tokenizer.Text(r.System)
	for i := range r.Tools {
		n += tokenizer.Text(r.Tools[i].Description) + tokenizer.Text(string(r.Tools[i].Schema))
	}
	for i := range r.Messages {
		n += tokenizer.Tokens(&r.Messages[i])
	}
	return n
}

// estimate returns the size of the conversation, with every message estimated: the provider's
// count says nothing about a conversation that was changed.
func (k *tokenCounter) estimate() (n int) {
	messages := k.loop.Messages()
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

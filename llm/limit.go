package llm

import "fmt"

// The size of an answer is limited by its token limit. The limits exist for an endpoint that
// never stops, so they are far above what a model says: real text has about four bytes per
// token, runs of spaces and newlines eight to sixteen, and a provider that repeats arguments
// may triple that with escapes. They are not higher because the conversation, the session file
// and each face have another copy of an answer, so that a process needs several times the
// limit.
const (
	bytesPerToken  = 64
	spareBytes     = 1 << 20   // allowed in addition, for requests with few tokens
	defaultTokens  = 128 << 10 // if the limit is unknown
	maxAnswerBytes = 16 << 20  // however many tokens there are

	// maxCarriedBytes limits what a provider sends besides the model's text: signatures,
	// encrypted reasoning, citations, images, results of its own tools.
	maxCarriedBytes = 96 << 20

	// blockBytes is added for each block, so that endless empty blocks end too.
	blockBytes = 1 << 10
)

// AnswerLimit returns the largest text of an answer to r, in bytes: text, reasoning and
// arguments together.
func AnswerLimit(r *Request) int {
	tokens := defaultTokens
	switch {
	case r.MaxTokens > 0:
		tokens = r.MaxTokens
	case r.Model != nil && r.Model.MaxOutput > 0:
		tokens = r.Model.MaxOutput
	}
	if tokens >= maxAnswerBytes/bytesPerToken {
		return maxAnswerBytes
	}
	thinking := max(r.Thinking.Budget, DefaultBudget(r.Thinking.Level)) // some codecs add it
	thinking = min(thinking, maxAnswerBytes/bytesPerToken)
	return min(spareBytes+bytesPerToken*(tokens+thinking), maxAnswerBytes)
}

// Limit ends the answer with [ErrAnswerLimit] if its text exceeds that many bytes. What came
// stays, and open calls are marked as cut. Without Limit, text is unlimited. What comes
// besides the text has a fixed limit.
func (b *Builder) Limit(text int) { b.limit = text }

// Hold counts n bytes that a codec buffers until it can report them, and reports whether it
// may continue.
func (b *Builder) Hold(n int) bool {
	b.carried += n
	if b.carried > maxCarriedBytes {
		b.tooLong("data beside its text", maxCarriedBytes)
	}
	return !b.done
}

// write counts n bytes of text.
func (b *Builder) write(n int) {
	b.written += n
	if b.limit > 0 && b.written > b.limit {
		b.tooLong("text", b.limit)
	}
}

func (b *Builder) tooLong(what string, limit int) {
	b.Fail(&Error{Kind: ErrAnswerLimit, Message: fmt.Sprintf(
		"answer ended after %s of %s: its token limit does not allow more", size(limit), what)})
}

// size formats a number of bytes for users.
func size(n int) string {
	if n < 1<<20 {
		return fmt.Sprintf("%d bytes", n)
	}
	return fmt.Sprintf("%d MiB", n>>20)
}

// Received returns how many bytes of any kind the answer has so far. Everything that a
// provider sends, except signs of life, increases it.
func (b *Builder) Received() int { return b.written + b.carried }

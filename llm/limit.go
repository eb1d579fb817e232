package llm

import "fmt"

// An answer's size follows from the tokens it may have. The limits exist for an
// endpoint that never stops, so they lie far above what a model says: real text has
// about four bytes per token, runs of spaces and of lines eight to sixteen, and a
// vendor that prints arguments again may triple that with escapes. They aren't
// higher because the conversation, the session's file and each face hold an answer
// once more, so that a process needs several times the limit.
const (
	bytesPerToken  = 64
	spareBytes     = 1 << 20   // for requests of few tokens, of whatever length
	defaultTokens  = 128 << 10 // where nobody knows the limit
	maxAnswerBytes = 16 << 20  // whatever the tokens are

	// maxCarriedBytes bounds what a vendor sends along that the model did not write
	// as text: signatures, encrypted reasoning, citations, pictures, results of its
	// own tools.
	maxCarriedBytes = 96 << 20

	// blockBytes is what a block counts beyond its text, so that endless empty
	// blocks end as well.
	blockBytes = 1 << 10
)

// AnswerLimit is the largest text of an answer to r, in bytes: text, reasoning and
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

// Limit ends the answer with [ErrAnswerLimit] when its text has more than that many
// bytes. What came stays, and calls that were open are marked as cut. Without it,
// there is no limit on text. What comes beside the text has a fixed limit.
func (b *Builder) Limit(text int) { b.limit = text }

// Hold counts n bytes that a codec keeps to itself until it can report them, and
// says whether it may go on.
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

// size is a number of bytes as people read it.
func size(n int) string {
	if n < 1<<20 {
		return fmt.Sprintf("%d bytes", n)
	}
	return fmt.Sprintf("%d MiB", n>>20)
}

// Received is how many bytes the answer holds so far, of all kinds. It grows with
// everything a vendor sends except signs of life.
func (b *Builder) Received() int { return b.written + b.carried }

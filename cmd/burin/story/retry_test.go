package story_test

import (
	"strings"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/llmtest"
)

func overloaded() llmtest.Turn {
	return llmtest.Turn{Fault: llmtest.Fault{Error: &llm.Error{Kind: llm.ErrOverload, Message: "Overloaded"}}}
}

// A provider that has too much to do is asked again by itself.
func TestRetry(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	s := begin(t, []llmtest.Turn{overloaded(), say("Now it worked.")}, func(o *setting) {
		o.config = "retry: {baseDelayMs: 4000}\n" // long enough to be seen in any case
	})
	s.send("hello")
	s.WaitText("retrying in")
	s.WaitText("Overloaded")
	s.WaitText("Now it worked.")
	s.WaitGone("Working")
	s.WaitGone("esc stops")
	if strings.Contains(s.all(), "Overloaded") {
		t.Error("a failure that passed stays there")
	}
	if n := len(s.model.Requests()); n != 2 {
		t.Errorf("the model was asked %d times", n)
	}
}

// Esc does not wait for it.
func TestStopRetry(t *testing.T) {
	t.Parallel()
	s := begin(t, []llmtest.Turn{overloaded(), say("never said")}, func(o *setting) {
		o.config = "retry: {baseDelayMs: 60000}\n"
	})
	s.send("hello")
	s.WaitText("retrying in")
	s.Press("esc")
	s.WaitText("Ask anything")
	s.WaitGone("esc")
	if n := len(s.model.Requests()); n != 1 {
		t.Errorf("the model was asked %d times", n)
	}
}

// A failure that may pass names the way to go on.
func TestRetryByHand(t *testing.T) {
	t.Parallel()
	s := begin(t, []llmtest.Turn{overloaded(), say("Now it worked.")}, func(o *setting) {
		o.config = "retry: {enabled: false}\n"
	})
	s.send("hello")
	s.WaitText("/retry tries again.")
	s.send("/retry")
	s.WaitText("Now it worked.")
}

// A key that is refused is no riddle: it is said where it came from.
func TestKeyRefused(t *testing.T) {
	t.Parallel()
	refusal := &llm.Error{Kind: llm.ErrAuth, Message: "invalid x-api-key", Status: 401}
	s := begin(t, []llmtest.Turn{{Fault: llmtest.Fault{Error: refusal}}})
	s.send("hello")
	s.WaitText("invalid x-api-key (HTTP 401)")
	s.WaitText("The key came from apiKey of models.yml")
}

// later is a refusal that says when the provider can be asked again.
func later(wait time.Duration) llmtest.Turn {
	return llmtest.Turn{Fault: llmtest.Fault{Error: &llm.Error{Kind: llm.ErrRateLimit, Message: "Come back later", RetryAfter: wait}}}
}

// A wait that is too long to be made unasked is offered.
func TestWaitThatTheProviderAsksFor(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	s := begin(t, []llmtest.Turn{later(2 * time.Second), say("Now it worked.")}, func(o *setting) {
		o.config = "retry: {maxDelayMs: 1000}\n"
	})
	s.send("hello")
	s.WaitText("and try again?")
	s.answer("y")
	s.WaitText("Now it worked.")
	s.WaitGone("aiting until")
	if n := len(s.model.Requests()); n != 2 {
		t.Errorf("the model was asked %d times", n)
	}
}

// Esc ends that wait, and what was typed meanwhile stays.
func TestWaitThatTheProviderAsksForStops(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	s := begin(t, []llmtest.Turn{later(time.Hour), say("Another answer.")})
	s.send("hello")
	s.WaitText("and try again?")
	s.answer("y")
	s.WaitText("aiting until")
	s.Press("esc")
	s.WaitText("Stopped: waiting until")
	s.send("something else")
	s.WaitText("Another answer.")
}

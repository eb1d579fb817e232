package story_test

import (
	"strings"
	"testing"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/llmtest"
)

func overloaded() llmtest.Turn {
	return llmtest.Turn{Fault: llmtest.Fault{Error: &llm.Error{Kind: llm.ErrOverload, Message: "Overloaded"}}}
}

// A provider that has too much to do is asked again by itself.
func TestRetry(t *testing.T) {
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

// A key that is refused is no riddle: it is said where it came from.
func TestKeyRefused(t *testing.T) {
	t.Parallel()
	refusal := &llm.Error{Kind: llm.ErrAuth, Message: "invalid x-api-key", Status: 401}
	s := begin(t, []llmtest.Turn{{Fault: llmtest.Fault{Error: refusal}}})
	s.send("hello")
	s.WaitText("invalid x-api-key (HTTP 401)")
	s.WaitText("The key came from apiKey of models.yml")
}

// Package demo shows the program at work without a key or a network: a scripted
// model answers a question over a real wire format, served on loopback. It says
// plainly that the model is scripted.
package demo

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/burin-dev/burin/internal/mode/print"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/llmtest"
	"github.com/burin-dev/burin/llm/openai"
	"github.com/burin-dev/burin/llm/wire"
)

// The conversation.
const (
	question = "What can you do for me?"
	thought  = "They have just started burin and want to know what it is. I should be brief and honest that I am only a script."
	answer   = `I am a script, not a model, but everything between us is real: this text
travelled as server-sent events through the same code that talks to OpenAI,
Anthropic, Google and Amazon, token by token.

With a key or a local server, ask me from the shell:

  export ANTHROPIC_API_KEY=...        # or OPENAI_API_KEY, GEMINI_API_KEY, ...
  burin -p "why is the sky blue?"
  git diff | burin -p "review this"
  burin models                        # which models there are, and what they cost
`
)

// pace is the time between two events of the scripted model, as of a fast one.
const pace = 8 * time.Millisecond

// Run plays the demo. What the model says goes to out, what the demo itself has
// to say to notes.
func Run(ctx context.Context, out, notes io.Writer) error {
	srv, err := llmtest.Serve(openai.CompletionsServer{}, llmtest.Script{Turns: []llmtest.Turn{{
		Parts: []llmtest.Part{{Thinking: thought}, {Text: answer}},
		Pace:  pace,
	}}})
	if err != nil {
		return fmt.Errorf("start the scripted model: %w", err)
	}
	defer srv.Close()
	fmt.Fprintf(notes, "This is a demo: the model is a script on this machine. No key is used and nothing leaves it.\n\n> %s\n\n", question)
	client := openai.NewCompletions(openai.CompletionsOptions{Endpoint: wire.Endpoint{BaseURL: srv.URL}})
	req := &llm.Request{
		Model:    &llm.Model{ID: "scripted", Provider: "demo", API: llm.APICompletions},
		Messages: []llm.Message{llm.UserText(question)},
	}
	_, err = print.Run(ctx, client, req, print.Text, out)
	return err
}

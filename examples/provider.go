package main

import (
	"context"
	"fmt"
	"io"

	"github.com/burin-dev/burin"
	"github.com/burin-dev/burin/llm"
)

// parrot is a model that makes the calls it was given, one an answer, and then repeats what
// was said. A real one sends the request somewhere and reports what comes.
type parrot struct {
	calls map[string]string // arguments, by the tool's name
	order []string
}

// Stream implements [llm.Client].
func (p parrot) Stream(_ context.Context, r *llm.Request) llm.Stream {
	done, said := 0, ""
	for i := range r.Messages {
		switch m := &r.Messages[i]; m.Role {
		case llm.RoleToolResult:
			done++
		case llm.RoleUser:
			said = m.Text()
		}
	}
	b := llm.NewBuilder(llm.Message{API: r.Model.API, Provider: r.Model.Provider, Model: r.Model.ID})
	if done < len(p.order) {
		name := p.order[done]
		b.Delta(b.OpenToolCall(fmt.Sprint("call_", done), name), p.calls[name])
		b.Done(llm.StopToolUse)
	} else {
		b.Delta(b.OpenText(), "You said: "+said)
		b.Done(llm.StopEnd)
	}
	return answer{b}
}

// answer is an answer that is there at once.
type answer struct{ *llm.Builder }

// Close implements [llm.Stream].
func (answer) Close() error { return nil }

func parrotModel() *llm.Model {
	return &llm.Model{Provider: "birds", ID: "parrot", API: "parrot", ContextWindow: 8000, MaxOutput: 1000}
}

// provider runs a session with a model of the program's own.
func provider(ctx context.Context, out io.Writer) error {
	s, err := burin.New(ctx, burin.Options{Alone: true, Files: burin.NewMemory(), Model: parrotModel(), Client: parrot{}})
	if err != nil {
		return err
	}
	defer s.Close()
	outcome := s.Prompt(ctx, llm.UserText("Pieces of eight!"))
	fmt.Fprintln(out, outcome.Text())
	return outcome.Err
}

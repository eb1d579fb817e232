package main

import (
	"context"
	"fmt"
	"io"

	"github.com/burin-dev/burin"
	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
)

// stream writes what the model says as it says it, and the calls that it makes.
func stream(ctx context.Context, out io.Writer) error {
	s, err := burin.New(ctx, burin.Options{NoSession: true})
	if err != nil {
		return err
	}
	defer s.Close()
	events := s.Events(ctx) // before the prompt, so that nothing is missed
	if _, err := s.Submit(ctx, session.Input{Message: llm.UserText("What is in this folder?")}); err != nil {
		return err
	}
	written := 0 // bytes of the answer that comes
	for e := range events {
		switch {
		case e.Type == agent.MessageUpdate && e.Stream.Type == llm.EventTextDelta:
			fmt.Fprint(out, e.Stream.Delta)
			written += len(e.Stream.Delta)
		case e.Type == agent.MessageEnd && e.Message.Role == llm.RoleAssistant:
			// Once an answer is whole, who was slow doesn't get its pieces any more.
			text := e.Message.Text()
			fmt.Fprint(out, text[min(written, len(text)):])
			written = 0
		case e.Type == agent.ToolStart:
			fmt.Fprintf(out, "[%s]\n", e.Call.Name)
		case e.Type == session.AgentSettled:
			fmt.Fprintln(out)
			return nil
		}
	}
	return ctx.Err()
}

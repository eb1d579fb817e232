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

// steer says something while the model works. It is read with the next request; a message
// that is to wait until the work is done has When: session.After.
func steer(ctx context.Context, out io.Writer) error {
	s, err := burin.New(ctx, burin.Options{NoSession: true, Approval: "full"})
	if err != nil {
		return err
	}
	defer s.Close()
	// What programs have to say is no person's: it has a type of its own.
	red := llm.Message{Role: llm.RoleCustom, CustomType: "ci", Content: []llm.Block{llm.Text{Text: "The build is red."}}}
	if _, err := s.Submit(ctx, session.Input{Message: red, When: session.Next}); err != nil {
		return err
	}
	events := s.Events(ctx)
	first, err := s.Submit(ctx, session.Input{Message: llm.UserText("Look around.")})
	if err != nil {
		return err
	}
	for e := range events {
		if e.Type == agent.ToolStart { // it works: now is a time to change its mind
			if _, err := s.Submit(ctx, session.Input{Message: llm.UserText("Only look at Go files.")}); err != nil {
				return err
			}
			break
		}
	}
	outcome, err := s.Wait(ctx, first.ID)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, outcome.Text())
	return outcome.Err
}

package main

import (
	"context"
	"fmt"
	"io"

	"github.com/burin-dev/burin"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/transcript"
)

// branch goes back to a message, and on from there another way. Both ways stay in the
// session's file.
func branch(ctx context.Context, out io.Writer) error {
	s, err := burin.New(ctx, burin.Options{Alone: true, Files: burin.NewMemory(), Model: parrotModel(), Client: parrot{}})
	if err != nil {
		return err
	}
	defer s.Close()
	for _, text := range []string{"one", "two"} {
		if outcome := s.Prompt(ctx, llm.UserText(text)); outcome.Err != nil {
			return outcome.Err
		}
	}
	asked := lastPrompt(s.Log())
	edit, err := s.Navigate(ctx, asked, session.Navigation{})
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "instead of %q\n", edit)
	outcome := s.Prompt(ctx, llm.UserText("three"))
	fmt.Fprintln(out, outcome.Text())
	for _, m := range s.Messages() {
		if m.Role == llm.RoleUser {
			fmt.Fprintln(out, "the model has read:", m.Text())
		}
	}
	return outcome.Err
}

// lastPrompt is the id of the last message of a person.
func lastPrompt(log transcript.Reader) (id string) {
	for _, n := range log.Nodes() {
		if n.Role == llm.RoleUser {
			id = n.ID
		}
	}
	return id
}

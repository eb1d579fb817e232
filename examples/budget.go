package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/burin-dev/burin"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
)

// budget lets a session spend half a dollar at most, and a prompt take two requests. A
// session with a budget refuses models whose price isn't known.
func budget(ctx context.Context, out io.Writer) error {
	s, err := burin.New(ctx, burin.Options{NoSession: true, MaxCost: llm.Dollars(0.50), MaxTurns: 2, Approval: "full"})
	if err != nil {
		return err
	}
	defer s.Close()
	outcome := s.Prompt(ctx, llm.UserText("List the files here until I say stop."))
	if errors.Is(outcome.Err, session.ErrBudget) {
		fmt.Fprintln(out, "the money is spent")
		return nil
	}
	fmt.Fprintf(out, "it ended with %q after %d requests and %v\n", outcome.Reason, outcome.Turns, s.Stats().Cost)
	return outcome.Err
}

package main

import (
	"context"
	"fmt"
	"io"

	"github.com/burin-dev/burin"
	"github.com/burin-dev/burin/llm"
)

// hello asks one thing, with the user's settings, in the current folder.
func hello(ctx context.Context, out io.Writer) error {
	s, err := burin.New(ctx, burin.Options{})
	if err != nil {
		return err
	}
	defer s.Close()
	outcome := s.Prompt(ctx, llm.UserText("Say hello."))
	fmt.Fprintln(out, outcome.Text())
	return outcome.Err
}

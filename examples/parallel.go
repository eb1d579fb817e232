package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/burin-dev/burin"
	"github.com/burin-dev/burin/llm"
)

// parallel asks three sessions at once. They share nothing: each has files and a
// conversation of its own.
func parallel(ctx context.Context, out io.Writer) error {
	questions := []string{"red", "green", "blue"}
	answers, errs := make([]string, len(questions)), make([]error, len(questions))
	var wg sync.WaitGroup
	for i, q := range questions {
		wg.Go(func() {
			s, err := burin.New(ctx, burin.Options{Alone: true, Files: burin.NewMemory(), Model: parrotModel(), Client: parrot{}})
			if err != nil {
				errs[i] = err
				return
			}
			defer s.Close()
			outcome := s.Prompt(ctx, llm.UserText(q))
			answers[i], errs[i] = outcome.Text(), outcome.Err
		})
	}
	wg.Wait()
	for _, a := range answers {
		fmt.Fprintln(out, a)
	}
	return errors.Join(errs...)
}

package main

import (
	"context"
	"fmt"
	"io"

	"github.com/burin-dev/burin"
	"github.com/burin-dev/burin/llm"
)

// memory lets a model edit files that are nowhere on the disk. The model is the one of
// provider; with Alone nothing is read of the user's settings, and nothing is kept.
func memory(ctx context.Context, out io.Writer) error {
	files := burin.NewMemory()
	if err := files.WriteFile("greeting.txt", []byte("hello\n"), 0o644); err != nil {
		return err
	}
	s, err := burin.New(ctx, burin.Options{
		Alone: true, Files: files, Approval: "full", EditEngine: "replace",
		Model: parrotModel(), Client: parrot{calls: map[string]string{
			"read": `{"path":"greeting.txt"}`,
			"edit": `{"path":"greeting.txt","edits":[{"old":"hello","new":"good morning"}]}`,
		}, order: []string{"read", "edit"}},
	})
	if err != nil {
		return err
	}
	defer s.Close()
	outcome := s.Prompt(ctx, llm.UserText("Make the greeting politer."))
	if outcome.Err != nil {
		return outcome.Err
	}
	text, err := files.ReadFile("greeting.txt")
	fmt.Fprintf(out, "greeting.txt: %s", text)
	return err
}

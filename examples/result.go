package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/burin-dev/burin"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/tool"
)

// result gets a value of a Go type in place of words. What the model hands over is checked
// by the type's schema, and the model asked again where it doesn't fit.
func result(ctx context.Context, out io.Writer) error {
	type release struct {
		Version  string   `json:"version"`
		Breaking bool     `json:"breaking"`
		Changes  []string `json:"changes"`
	}
	s, err := burin.New(ctx, burin.Options{NoSession: true, NoTools: true, Output: tool.SchemaOf[release]()})
	if err != nil {
		return err
	}
	defer s.Close()
	outcome := s.Prompt(ctx, llm.UserText("Version 2 removes the flag -x and adds -y. Fill in the release."))
	raw, ok := session.Result(outcome)
	if !ok {
		return errors.Join(errors.New("there is no result"), outcome.Err)
	}
	var r release
	if err := json.Unmarshal(raw, &r); err != nil {
		return err
	}
	fmt.Fprintf(out, "version %s, breaking: %t, %d changes\n", r.Version, r.Breaking, len(r.Changes))
	return nil
}

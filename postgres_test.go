package burin_test

import (
	"bytes"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/burin-dev/burin"
	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/internal/platform/pgtest"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/llmtest"
)

// A program keeps its session on a server, whose password it gives with the address: burin
// shows it to nobody, and writes it nowhere.
func TestServerSession(t *testing.T) {
	const password = "quince-7391"
	server := pgtest.Start(t, pgtest.Options{})
	server.Exec(t, "postgres", "CREATE ROLE ann LOGIN PASSWORD '"+password+"' IN ROLE "+pgtest.Guarded, "CREATE DATABASE talks OWNER ann")
	shown := server.AddressOf("ann", "talks") + "#one"
	dir, state := project(t), t.TempDir()
	o := burin.Options{Dir: dir, StateDir: state, Approval: "full", Resume: strings.Replace(shown, "ann@", "ann:"+password+"@", 1)}
	for _, answer := range []string{"one", "two"} {
		s, srv := start(t, "anthropic", llmtest.Script{Turns: []llmtest.Turn{
			{Parts: []llmtest.Part{{Call: "bash", Args: `{"command":"env; seq 1 50000"}`}}},
			{Parts: []llmtest.Part{{Text: answer}}},
		}}, o)
		if out := s.Prompt(t.Context(), llm.UserText("count")); out.Reason != agent.ReasonDone {
			t.Fatal(out.Err)
		}
		if path, ok := s.Path(); path != shown || !ok {
			t.Errorf("the session is at %s, %v", path, ok)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		for _, r := range srv.Raw() {
			if bytes.Contains(r.Body, []byte(password)) {
				t.Error("the model was told the password")
			}
		}
	}
	for _, root := range []string{dir, state} {
		err := fs.WalkDir(os.DirFS(root), ".", func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			text, err := fs.ReadFile(os.DirFS(root), path)
			if bytes.Contains(text, []byte(password)) {
				t.Errorf("%s has the password", path)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
}

package burin_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/burin-dev/burin"
	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/internal/platform/pgtest"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/llmtest"
	"github.com/burin-dev/burin/transcript"
	"github.com/burin-dev/burin/transcript/pgstore"
)

// A program keeps its session on a server, whose password it gives with the address: burin
// shows it to nobody, and writes it nowhere.
func TestServerSession(t *testing.T) {
	pacetest.Costly(t)
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

// A session that another burin has taken over goes on without being kept, which is said once and
// on a line; what the other one wrote stays as it is.
func TestTakenOverSession(t *testing.T) {
	pacetest.Costly(t)
	server := pgtest.Start(t, pgtest.Options{})
	address := server.Database(t)
	db, err := pgstore.Connect(address, "")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var mu sync.Mutex
	var warned []string
	o := burin.Options{Dir: project(t), StateDir: t.TempDir(), NoTools: true, Resume: address + "#one", Warn: func(line string) {
		mu.Lock()
		defer mu.Unlock()
		warned = append(warned, line)
	}}
	s, _ := start(t, "anthropic", llmtest.Script{Turns: []llmtest.Turn{
		{Parts: []llmtest.Part{{Text: "first"}}}, {Parts: []llmtest.Part{{Text: "stale"}}}, {Parts: []llmtest.Part{{Text: "stale"}}},
	}}, o)
	prompt := func(text string) {
		t.Helper()
		if out := s.Prompt(t.Context(), llm.UserText(text)); out.Reason != agent.ReasonDone {
			t.Fatal(out.Err)
		}
	}
	prompt("hello")
	if _, err := db.Exec(`UPDATE burin.sessions SET expires = 0`); err != nil { // as after a long stop
		t.Fatal(err)
	}
	other, err := pgstore.Open(t.Context(), db, "one")
	if err != nil {
		t.Fatal(err)
	}
	count := func() (n int) {
		t.Helper()
		err := other.Records(func(_ transcript.Ref, r []byte) error {
			if bytes.Contains(r, []byte("stale")) {
				t.Errorf("it was written: %s", r)
			}
			n++
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := count()
	prompt("stale")
	prompt("stale again")
	if now := count(); now != before {
		t.Errorf("%d records were %d", now, before)
	}
	if err := s.Close(); !errors.Is(err, pgstore.ErrTakenOver) {
		t.Errorf("at the end: %v", err)
	}
	if err := other.Close(); err != nil {
		t.Error(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(warned) != 1 || !strings.HasSuffix(warned[0], pgstore.ErrTakenOver.Error()) || strings.Contains(warned[0], "\n") {
		t.Errorf("it says %q", warned)
	}
}

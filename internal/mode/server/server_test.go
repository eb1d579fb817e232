package server

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"slices"
	"testing"

	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/session/remote"
)

var update = flag.Bool("update", false, "write docs/openapi.json")

// docs/openapi.json is what the server says of itself.
func TestOpenAPI(t *testing.T) {
	const file = "../../../docs/openapi.json"
	want, err := NewServer(Options{}).OpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(file, append(want, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(bytes.TrimSpace(got), want) {
		t.Errorf("%s is stale: go test ./internal/mode/server -update", file)
	}
	var doc struct {
		Paths map[string]map[string]struct{ OperationID, Summary string }
	}
	if err := json.Unmarshal(want, &doc); err != nil {
		t.Fatal(err)
	}
	var ids []string
	for path, verbs := range doc.Paths {
		for verb, op := range verbs {
			if op.Summary == "" || slices.Contains(ids, op.OperationID) {
				t.Errorf("%s %s has the id %q and the summary %q", verb, path, op.OperationID, op.Summary)
			}
			ids = append(ids, op.OperationID)
		}
	}
	if len(ids) < len(remote.Methods()) {
		t.Errorf("only %d operations", len(ids))
	}
}

func TestHosts(t *testing.T) {
	s := NewServer(Options{Host: func(name string) bool { return name == "proxy.example.org" }})
	for host, want := range map[string]bool{
		"localhost": true, "LOCALHOST:80": true, "127.0.0.1:4647": true, "127.9.9.9": true, "[::1]:4647": true, "::1": true,
		"": false, "example.org": false, "localhost.example.org": false, "127.0.0.1.example.org:80": false, "192.168.1.2": false, "proxy.example.org": true, "proxy.example.org:443": true, "0.0.0.0": false, "[::]:80": false,
	} {
		if s.named(host) != want {
			t.Errorf("named(%q) is %v", host, !want)
		}
	}
}

func FuzzCursor(f *testing.F) {
	for _, text := range []string{"a@b.1", "a", "@b.1", "a@.1", "a@b.x", "a@b.1@c.2", "a\n@b.1", "a@b.18446744073709551615"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		id, c, err := parseCursor(text)
		if err != nil {
			return
		}
		if c == (session.Cursor{}) {
			if id != text {
				t.Errorf("%q has the id %q", text, id)
			}
			return
		}
		again, d, err := parseCursor(formatCursor(id, c))
		if err != nil || again != id || d != c {
			t.Errorf("%q is %q %v, then %q %v %v", text, id, c, again, d, err)
		}
	})
}

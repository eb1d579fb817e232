package lsp_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/platform/lsp"
	"github.com/burin-dev/burin/internal/platform/lsp/lsptest"
	"github.com/burin-dev/burin/internal/platform/process"
)

func TestMain(m *testing.M) {
	process.Main()
	lsptest.Main()
	os.Exit(m.Run())
}

// link gives a link to a scripted server.
func link(t *testing.T, options ...string) (*lsp.Link, string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	pool := lsp.NewPool(lsp.Options{Version: "test", Idle: time.Hour})
	t.Cleanup(func() { _ = pool.Close() })
	s := &lsp.Server{Name: "scripted", Path: self, Args: append([]string{lsptest.Marker}, options...), FileTypes: []string{".txt"}, Settings: json.RawMessage(`{"a":{"b":7}}`)}
	return pool.Link(s, dir), dir
}

// document writes a file, and gives it as a document.
func document(t *testing.T, dir, name, text string) lsp.Document {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return lsp.Document{Path: path, Data: []byte(text)}
}

package tui

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/mode/tui/key"
)

// Who gives a key to another action is told when the file is saved, and not at each start; a
// mistake is told at each.
func TestTakenKeysAreToldOnce(t *testing.T) {
	write := func(dir, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "keybindings.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	a := alone(t)
	write(a.show.folder, `{"app.session.tree": "ctrl+t", "app.nosuch": "f5"}`)
	a.env.Keys = nil
	a.follower.start()
	if got := a.shown(); strings.Contains(got, "no longer") || !strings.Contains(got, "app.nosuch") {
		t.Errorf("the start says:\n%s", got)
	}
	if action, _ := a.env.Keys.Lookup(key.App, "ctrl+t"); action != key.OpenTree {
		t.Errorf("ctrl+t is %q", action)
	}
	write(a.show.folder, `{"app.session.tree": "ctrl+l"}`)
	a.follower.useKeys(readBindings(a.show.folder))
	if got := strings.Join(strings.Fields(a.shown()), " "); !strings.Contains(got, "ctrl+l is app.session.tree now and no longer app.model.select") {
		t.Errorf("the change says:\n%s", got)
	}
}

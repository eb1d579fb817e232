package watch

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Changes are told however they are made, and what happens to other files is not.
func TestChanges(t *testing.T) {
	t.Cleanup(func() { goleak.VerifyNone(t) })
	dir := t.TempDir()
	config, themes, elsewhere := filepath.Join(dir, "config.yml"), filepath.Join(dir, "themes"), filepath.Join(t.TempDir(), "real.json")
	write(t, config, "a")
	write(t, elsewhere, "{}")
	if err := os.Symlink(elsewhere, filepath.Join(dir, "keys.json")); err != nil {
		t.Fatal(err)
	}
	told := make(chan bool, 100)
	w, err := New(func() { told <- true })
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	set := func() { w.Set(config, filepath.Join(dir, "keys.json"), themes) }
	set()
	for _, step := range []struct {
		name string
		do   func()
	}{
		{"written", func() { write(t, config, "b") }},
		{"replaced", func() {
			write(t, config+"~", "c")
			if err := os.Rename(config+"~", config); err != nil {
				t.Fatal(err)
			}
		}},
		{"written after it was replaced", func() { write(t, config, "d") }},
		{"what a link leads to", func() { write(t, elsewhere, "[]") }},
		{"a new folder", func() {
			if err := os.Mkdir(themes, 0o700); err != nil {
				t.Fatal(err)
			}
		}},
		{"a file in it", func() { set(); write(t, filepath.Join(themes, "mine.json"), "{}") }},
		{"removed", func() {
			if err := os.Remove(config); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		write(t, filepath.Join(dir, "other.txt"), step.name)
		step.do()
		select {
		case <-told:
		case <-time.After(20 * time.Second):
			t.Fatalf("%s: not told", step.name)
		}
		if len(told) > 0 {
			t.Errorf("%s: told more than once", step.name)
		}
	}

	// What was written before a folder was watched is told when it is.
	later := filepath.Join(t.TempDir(), "later.json")
	write(t, later, "{}")
	w.Set(config, later)
	select {
	case <-told:
	case <-time.After(20 * time.Second):
		t.Fatal("a new folder: not told")
	}

	// What is told last is told after all else, so that this one proves silence.
	for range 20 {
		write(t, filepath.Join(dir, "other.txt"), "x")
	}
	write(t, config, "e")
	<-told
	if len(told) > 0 {
		t.Error("changes of other files were told")
	}
}

package trust_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/customize/trust"
)

func item(name, content string) trust.Item {
	return trust.Item{Name: name, What: "1 hook: " + content, Sum: trust.Sum([]byte(content))}
}

func TestTrust(t *testing.T) {
	file := filepath.Join(t.TempDir(), "data", "trust.json")
	l := trust.Open(file)
	project := t.TempDir()
	hooks, settings := item("hooks.json", "go vet"), item("config.yml", "shellPath: x")
	states := func(want ...trust.State) {
		t.Helper()
		got, err := trust.Open(file).States(project, []trust.Item{hooks, settings}) // as the next process sees it
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	decide := func(state trust.State, items ...trust.Item) {
		t.Helper()
		if err := l.Decide(project, state, items); err != nil {
			t.Fatal(err)
		}
	}
	states(trust.Unknown, trust.Unknown)
	decide(trust.Trusted, hooks)
	decide(trust.Refused, settings)
	states(trust.Trusted, trust.Refused)

	hooks, settings = item("hooks.json", "curl evil"), item("config.yml", "shellPath: y")
	states(trust.Changed, trust.Unknown) // who refused one content is asked about another
	decide(trust.Trusted, hooks)
	states(trust.Trusted, trust.Unknown)

	if got, err := l.States(project+"/", []trust.Item{hooks}); err != nil || got[0] != trust.Trusted {
		t.Errorf("the same folder, written otherwise: %v, %v", got, err)
	}
	if got, err := l.States(filepath.Join(project, "sub"), []trust.Item{hooks}); err != nil || got[0] != trust.Unknown {
		t.Errorf("another folder with the same file: %v, %v", got, err)
	}
	decide(trust.Unknown, hooks, settings)
	states(trust.Unknown, trust.Unknown)
	if d, err := l.Decisions(project); err != nil || len(d) != 0 {
		t.Errorf("left: %v, %v", d, err)
	}
	if err := l.Decide(project, "perhaps", []trust.Item{hooks}); err == nil {
		t.Error("a state that there is not was taken")
	}
}

func TestDamagedListTrustsNothing(t *testing.T) {
	file := filepath.Join(t.TempDir(), "trust.json")
	if err := os.WriteFile(file, []byte("{\"/p\": [{"), 0o600); err != nil {
		t.Fatal(err)
	}
	hooks := item("hooks.json", "go vet")
	states, err := trust.Open(file).States("/p", []trust.Item{hooks})
	if err == nil || states[0] != trust.Unknown || !strings.Contains(err.Error(), file) {
		t.Errorf("%v, %v", states, err)
	}
	if err := trust.Open(file).Decide("/p", trust.Trusted, []trust.Item{hooks}); err == nil {
		t.Error("the damaged file was written over")
	}
}

func TestDecideTogether(t *testing.T) {
	file := filepath.Join(t.TempDir(), "trust.json")
	var all sync.WaitGroup
	names := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
	for _, name := range names {
		all.Go(func() {
			if err := trust.Open(file).Decide("/p", trust.Trusted, []trust.Item{item(name, name)}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if d, err := trust.Open(file).Decisions("/p"); err != nil || len(d) != len(names) {
		t.Errorf("%d decisions are left of %d: %v", len(d), len(names), err)
	}
}

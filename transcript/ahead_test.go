package transcript_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/transcript"
)

// However the records of a branch lie in the file, and however long they are, its
// context, and what a compaction works on, is what its entries say one by one.
func TestContextOfScatteredBranches(t *testing.T) {
	pacetest.Costly(t)
	rng := rand.New(rand.NewPCG(1, 2))
	sizes := []int{1, 100, 5000, 100_000, 300_000} // around what is read ahead, and the gaps in it
	for round := range 8 {
		l, path := create(t)
		var ids []string
		for i := range 60 {
			text := fmt.Sprint(i, strings.Repeat("é\n", sizes[rng.IntN(len(sizes)-round%2)]/3))
			e := user(text)
			switch rng.IntN(5) {
			case 0, 1:
				e = assistant(text)
			case 2:
				m := llm.ToolResultText(llm.ToolCall{ID: "c", Name: "read"}, text, false)
				e.Message = &m
			}
			ids = append(ids, add(t, l, e)...)
			if rng.IntN(4) == 0 {
				if err := l.Move(ids[rng.IntN(len(ids))]); err != nil {
					t.Fatal(err)
				}
			}
		}
		leaf := ids[len(ids)-1]
		sameContext(t, l, leaf)
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if round%3 == 0 { // one entry is lost, one is found within a damaged line
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			lines := bytes.SplitAfter(text, []byte("\n"))
			lines[20] = append([]byte(`{"type":"mess`), lines[20]...)
			lines[30] = []byte("x\n")
			if err := os.WriteFile(path, bytes.Join(lines, nil), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		again, _ := open(t, path)
		for _, n := range again.Nodes() {
			if rng.IntN(8) == 0 || n.ID == leaf {
				sameContext(t, again, n.ID)
			}
		}
	}
}

// sameContext holds the context at an entry against the entries of its branch.
func sameContext(t *testing.T, l *transcript.Log, leaf string) {
	t.Helper()
	branch, err := l.Branch(leaf)
	if err != nil {
		t.Fatal(err)
	}
	recent, err := l.Recent(leaf)
	if err != nil {
		t.Fatal(err)
	}
	var want []llm.Message
	var ids []string
	for i, e := range branch {
		if e.Raw = nil; len(recent) != len(branch) || !cmp.Equal(e, recent[i]) {
			t.Fatalf("at %s, of %d entries, the recent entry %d of %d is another", leaf, len(branch), i, len(recent))
		}
		if e.Message != nil {
			want, ids = append(want, *e.Message), append(ids, e.ID)
		}
	}
	c, err := l.Context(leaf)
	if err != nil {
		t.Fatal(err)
	}
	if !cmp.Equal(want, c.Messages) || !cmp.Equal(ids, c.IDs) {
		t.Errorf("at %s there are %d messages, want %d", leaf, len(c.Messages), len(want))
	}
}

// The index knows the tools of results and custom types, as far as they are few.
func TestNames(t *testing.T) {
	l, path := create(t)
	result := func(tool string) transcript.Entry {
		m := llm.ToolResultText(llm.ToolCall{ID: "c", Name: tool}, "done", false)
		return transcript.Entry{Type: transcript.TypeMessage, Message: &m}
	}
	long := strings.Repeat("x", 65)
	add(t, l, user("hi"), assistant("ho"), result("read"), result("to\"do"), result(long),
		transcript.Entry{Type: transcript.TypeCustom, CustomType: "mine"}, result("read"))
	want := []string{"", "", "read", "to\"do", "", "mine", "read"}
	names := func(l *transcript.Log) (out []string) {
		for _, n := range l.Nodes() {
			out = append(out, n.Name)
		}
		return out
	}
	if diff := cmp.Diff(want, names(l)); diff != "" {
		t.Error(diff)
	}
	for i := range 1000 {
		add(t, l, result(fmt.Sprint("tool", i)))
	}
	if got := names(l); got[len(want)+996] != "tool996" || got[len(want)+997] != "" {
		t.Errorf("the last names are %q", got[len(got)-6:])
	}
	if l.Count(llm.RoleToolResult) != 1004 || l.Count(llm.RoleUser) != 1 || l.Count(llm.RoleAssistant) != 1 {
		t.Errorf("there are %d results", l.Count(llm.RoleToolResult))
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	again, _ := open(t, path)
	if diff := cmp.Diff(names(l), names(again)); diff != "" {
		t.Errorf("after opening: %s", diff)
	}
	again.Close()

	// A name that cannot be read costs no entry its place in the tree.
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, bytes.Replace(text, []byte(`"toolName":"read"`), []byte(`"toolName":"re\xd"`), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	damaged, damage := open(t, path)
	if got := names(damaged); len(got) != len(names(l)) || got[2] != "" || got[3] != want[3] || damage.String() != "nothing is damaged" {
		t.Errorf("with a damaged name: %d names, %q, %v", len(got), got[:4], damage)
	}
}

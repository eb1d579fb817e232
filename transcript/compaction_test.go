package transcript_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/transcript"
)

// change replaces the first of what stands in a file.
func change(t *testing.T, path, was, is string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(text, []byte(was)) {
		t.Fatalf("there is no %q in %s", was, text)
	}
	if err := os.WriteFile(path, bytes.Replace(text, []byte(was), []byte(is), 1), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Where the last compaction cannot be read, the one before it counts, and not the whole
// history. Opening says that there is damage, and which line it is.
func TestDamagedCompaction(t *testing.T) {
	for name, is := range map[string]string{"a control character": "second\x01summary", "an escape that is none": `second\_summary`} {
		t.Run(name, func(t *testing.T) {
			l, path := create(t)
			ids := add(t, l, user("1"), assistant("2"), user("3"), assistant("4"))
			first := add(t, l, transcript.Entry{Type: transcript.TypeCompaction, Summary: "first summary", FirstKeptID: ids[2]})
			more := add(t, l, user("5"), assistant("6"))
			last := add(t, l, transcript.Entry{Type: transcript.TypeCompaction, Summary: "second summary", FirstKeptID: more[0]}, user("7"))
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			change(t, path, "second summary", is)

			l, d, err := transcript.OpenSession(path, transcript.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			if !d.Serious() || d.String() != "line 9 is damaged" {
				t.Errorf("damage: %v", d)
			}
			if set, err := os.ReadFile(path + ".damage"); err != nil || !bytes.Contains(set, []byte(is)) {
				t.Errorf("set aside: %s %v", set, err)
			}
			c, err := l.Context(l.Leaf())
			if err != nil {
				t.Fatal(err)
			}
			if c.Unread != 1 || c.Compaction == nil || c.Compaction.ID != first[0] {
				t.Errorf("%d entries are unread, the compaction is %+v", c.Unread, c.Compaction)
			}
			got := said(t, l, l.Leaf())
			if !strings.Contains(got[0], "first summary") {
				t.Errorf("the context begins with %q", got[0])
			}
			if diff := cmp.Diff([]string{"user: 3", "assistant: 4", "user: 5", "assistant: 6", "user: 7"}, got[1:]); diff != "" {
				t.Error(diff)
			}
			recent, err := l.Recent(l.Leaf())
			if err != nil {
				t.Fatal(err)
			}
			var have []string
			for _, e := range recent {
				have = append(have, e.ID)
			}
			if diff := cmp.Diff([]string{ids[2], ids[3], first[0], more[0], more[1], last[1]}, have); diff != "" {
				t.Errorf("what a compaction works on: %s", diff)
			}
		})
	}
}

// The whole branch is what is left where no compaction can be read.
func TestNoCompactionReadable(t *testing.T) {
	l, path := create(t)
	ids := add(t, l, user("1"), assistant("2"), transcript.Entry{Type: transcript.TypeCompaction, Summary: "the summary"}, user("3"))
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	change(t, path, "the summary", "the\x01summary")
	l, d := open(t, path)
	if !d.Serious() {
		t.Errorf("damage: %v", d)
	}
	want := []string{"user: 1", "assistant: 2", "user: 3"}
	if diff := cmp.Diff(want, said(t, l, ids[3])); diff != "" {
		t.Error(diff)
	}
	if recent, err := l.Recent(ids[3]); err != nil || len(recent) != 3 {
		t.Errorf("%d entries: %v", len(recent), err)
	}
}

package transcript_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/transcript"
)

func user(text string) transcript.Entry {
	m := llm.UserText(text)
	return transcript.Entry{Type: transcript.TypeMessage, Message: &m}
}

func assistant(text string) transcript.Entry {
	m := llm.AssistantText(text)
	return transcript.Entry{Type: transcript.TypeMessage, Message: &m}
}

// create starts a session in a file.
func create(t testing.TB) (*transcript.Log, string) {
	t.Helper()
	path, id := transcript.NewPath(t.TempDir(), "/home/ann/my work:1", time.Now())
	l, err := transcript.Create(transcript.CreateFile(path), transcript.Header{ID: id, CWD: "/home/ann/my work:1"}, transcript.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return l, path
}

// add appends entries and gives their ids.
func add(t testing.TB, l *transcript.Log, entries ...transcript.Entry) (ids []string) {
	t.Helper()
	for _, e := range entries {
		id, err := l.Append(e)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	return ids
}

// open opens a session file and gives what is wrong with it.
func open(t testing.TB, path string) (*transcript.Log, *transcript.Damage) {
	t.Helper()
	store, err := transcript.OpenFile(path)
	if err != nil {
		t.Fatal(err)
	}
	l, d, err := transcript.Open(store, transcript.Options{})
	if err != nil {
		store.Close()
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l, d
}

// said are the messages of a branch, with their roles.
func said(t testing.TB, l *transcript.Log, leaf string) (out []string) {
	t.Helper()
	c, err := l.Context(leaf)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range c.Messages {
		out = append(out, string(m.Role)+": "+m.Text())
	}
	return out
}

func TestFile(t *testing.T) {
	l, path := create(t)
	add(t, l, transcript.Entry{Type: transcript.TypeModel, Model: "anthropic/claude"}, transcript.Entry{Type: transcript.TypeMode, Mode: "ask"})
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*")); len(left) > 0 {
		t.Errorf("there is %v before anything was said", left)
	}
	add(t, l, user("hi"))
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("there is a session before the first answer: %v", err)
	}
	if text, err := os.ReadFile(path + ".draft"); err != nil || !strings.Contains(string(text), `"hi"`) {
		t.Fatalf("what was typed is not safe: %v %s", err, text)
	}
	add(t, l, assistant("<hello> & good day"), user("more"))
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, error %v: others must not read a conversation", info, err)
	}
	// Each entry is on the disk when Append returns, without Close.
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(text, []byte("\n")); n != 6 || !bytes.Contains(text, []byte("<hello> & good day")) {
		t.Errorf("%d lines: %s", n, text)
	}
	if want := "--home-ann-my work-1--"; filepath.Base(filepath.Dir(path)) != want {
		t.Errorf("the folder is %s, want %s", filepath.Dir(path), want)
	}
	if _, err := transcript.OpenFile(path); !errors.Is(err, transcript.ErrLocked) {
		t.Errorf("a second writer: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	again, d := open(t, path)
	if d.Serious() || d.Torn {
		t.Errorf("damage %+v", d)
	}
	if h := again.Header(); h.Version != 3 || h.CWD != "/home/ann/my work:1" || !strings.HasSuffix(path, "_"+h.ID+".jsonl") {
		t.Errorf("header %+v", h)
	}
	c, err := again.Context(again.Leaf())
	if err != nil || c.Models["default"] != "anthropic/claude" || c.Mode != "ask" {
		t.Errorf("state %+v, %v", c, err)
	}
	if diff := cmp.Diff([]string{"user: hi", "assistant: <hello> & good day", "user: more"}, said(t, again, again.Leaf())); diff != "" {
		t.Error(diff)
	}
}

// A session that nobody answered leaves nothing; one that was killed leaves its draft.
func TestDraft(t *testing.T) {
	l, path := create(t)
	add(t, l, user("never answered"))
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*")); len(left) > 0 {
		t.Errorf("there is %v", left)
	}
	if err := os.WriteFile(path+".draft", []byte(`{"type":"session","version":3,"id":"x"}`+"\n"+`{"type":"message","id":"a","parentId":null,"message":{"role":"user","content":"typed"}}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	l, _ = open(t, path+".draft")
	add(t, l, assistant("answered after all"))
	if diff := cmp.Diff([]string{"user: typed", "assistant: answered after all"}, said(t, l, l.Leaf())); diff != "" {
		t.Error(diff)
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("the draft has not become a session: %v", err)
	}
}

func TestTree(t *testing.T) {
	l, path := create(t)
	ids := add(t, l, user("1"), assistant("2"), user("3"), assistant("4"))
	if err := l.Move(ids[1]); err != nil {
		t.Fatal(err)
	}
	other := add(t, l, user("other 3"), transcript.Entry{Type: transcript.TypeLabel, TargetID: ids[2], Label: "here"})
	if err := l.Move(""); err != nil {
		t.Fatal(err)
	}
	root := add(t, l, user("another beginning"))
	if err := l.Move("nobody"); err == nil || !strings.Contains(err.Error(), `no entry "nobody"`) {
		t.Errorf("error %v", err)
	}
	check := func(l *transcript.Log) {
		t.Helper()
		for leaf, want := range map[string][]string{
			ids[3]:   {"user: 1", "assistant: 2", "user: 3", "assistant: 4"},
			other[1]: {"user: 1", "assistant: 2", "user: other 3"},
			root[0]:  {"user: another beginning"},
			"":       nil,
		} {
			if diff := cmp.Diff(want, said(t, l, leaf)); diff != "" {
				t.Errorf("at %q: %s", leaf, diff)
			}
		}
		if got := l.Label(ids[2]); got != "here" {
			t.Errorf("label %q", got)
		}
		parents := ""
		for _, n := range l.Nodes() {
			parents += fmt.Sprint(n.Parent, " ")
		}
		if parents != "-1 0 1 2 1 4 -1 " {
			t.Errorf("parents %s", parents)
		}
	}
	check(l)
	// Where one has moved is where one comes back to.
	if err := l.Move(ids[1]); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	again, _ := open(t, path)
	if diff := cmp.Diff([]string{"user: 1", "assistant: 2"}, said(t, again, again.Leaf())); diff != "" {
		t.Error(diff)
	}
}

// What this version does not know stays in the file, and in the entry.
func TestUnknownIsKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.jsonl")
	const future = `{"type":"dream","id":"b","parentId":"a","of":["sheep"]}`
	text := `{"type":"title","title":"A name","pad":"      "}
{"type":"session","version":3,"id":"x","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/","mood":"good"}
{"type":"message","id":"a","parentId":null,"message":{"role":"user","content":"one"}}
` + future + "\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	l, d := open(t, path)
	if d.Serious() || l.Title() != "A name" {
		t.Errorf("damage %v, title %q", d, l.Title())
	}
	add(t, l, assistant("two"))
	if e, err := l.Entry("b"); err != nil || string(e.Raw) != future {
		t.Errorf("entry %+v, %v", e, err)
	}
	now, err := os.ReadFile(path)
	if err != nil || !strings.HasPrefix(string(now), text) {
		t.Errorf("the file begins with something else: %s", now)
	}
	if diff := cmp.Diff([]string{"user: one", "assistant: two"}, said(t, l, l.Leaf())); diff != "" {
		t.Error(diff)
	}
}

// Versions 1 and 2 of the format, and the roles of other programs.
func TestOldVersions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.jsonl")
	old := `{"type":"session","id":"x","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/"}
{"type":"message","timestamp":"2025-01-01T00:00:01.000Z","message":{"role":"user","content":"one"}}
{"type":"message","message":{"role":"assistant","content":[{"type":"text","text":"two"}]}}
{"type":"message","message":{"role":"user","content":"three"}}
{"type":"compaction","summary":"so far","firstKeptEntryIndex":3,"tokensBefore":7}
{"type":"message","message":{"role":"hookMessage","content":"by a hook"}}
{"type":"message","message":{"role":"bashExecution","command":"ls","output":"a b","exitCode":2}}
{"type":"message","message":{"role":"bashExecution","command":"cat secret","output":"s","excludeFromContext":true}}
`
	if err := os.WriteFile(path, []byte(old), 0o600); err != nil {
		t.Fatal(err)
	}
	l, d := open(t, path)
	if !d.Migrated || d.Serious() {
		t.Errorf("damage %+v", d)
	}
	check := func(l *transcript.Log, more ...string) {
		t.Helper()
		got := said(t, l, l.Leaf())
		if len(got) == 0 || !strings.Contains(got[0], "so far") {
			t.Fatalf("messages %q", got)
		}
		want := append([]string{"user: three", "custom: by a hook", "custom: The user ran:\nls\n\nOutput:\na b\n\nExit code: 2"}, more...)
		if diff := cmp.Diff(want, got[1:]); diff != "" {
			t.Error(diff)
		}
	}
	check(l)
	if now, _ := os.ReadFile(path); string(now) != old {
		t.Error("opening has changed the file")
	}
	add(t, l, assistant("four"))
	check(l, "assistant: four")
	l.Close()
	kept, err := filepath.Glob(path + ".before-*")
	if err != nil || len(kept) != 1 {
		t.Fatalf("copies of the old file: %v, %v", kept, err)
	}
	if text, _ := os.ReadFile(kept[0]); string(text) != old {
		t.Errorf("the copy holds %s", text)
	}
	again, d := open(t, path)
	if d.Migrated || again.Header().Version != 3 {
		t.Errorf("after rewriting: %+v, version %d", d, again.Header().Version)
	}
	check(again, "assistant: four")
}

// A compaction of version 1 names what it kept by the number of its record, which damage
// does not change. The header keeps what it held when it is rewritten.
func TestDamagedVersion1(t *testing.T) {
	records := []string{
		`{"type":"session","id":"x","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/","provider":"anthropic"}`,
		`{"type":"message","message":{"role":"user","content":"one"}}`,
		`{"type":"message","message":{"role":"assistant","content":"two"}}`,
		`{"type":"message","message":{"role":"user","content":"three"}}`,
		`{"type":"message","message":{"role":"assistant","content":"four"}}`,
		`{"type":"compaction","summary":"so far","firstKeptEntryIndex":3}`,
		`{"type":"message","message":{"role":"user","content":"five"}}`,
	}
	for name, tt := range map[string]struct {
		damaged int // record; -1: none
		want    []string
	}{
		"whole":               {-1, []string{"user: three", "assistant: four", "user: five"}},
		"before what it kept": {1, []string{"user: three", "assistant: four", "user: five"}},
		"what it kept first":  {3, []string{"assistant: four", "user: five"}},
		"the header":          {0, []string{"user: three", "assistant: four", "user: five"}},
	} {
		t.Run(name, func(t *testing.T) {
			lines := slices.Clone(records)
			if tt.damaged >= 0 {
				lines[tt.damaged] = "\x00" + lines[tt.damaged][1:]
			}
			path := filepath.Join(t.TempDir(), "2025_x.jsonl")
			if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			l, _ := open(t, path)
			if diff := cmp.Diff(tt.want, said(t, l, l.Leaf())[1:]); diff != "" {
				t.Error(diff)
			}
			add(t, l, assistant("six"))
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			l, d := open(t, path)
			if diff := cmp.Diff(append(tt.want, "assistant: six"), said(t, l, l.Leaf())[1:]); diff != "" || d.String() != "nothing is damaged" {
				t.Errorf("rewritten: %v %s", d, diff)
			}
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if head, _, _ := strings.Cut(string(text), "\n"); tt.damaged != 0 && !strings.Contains(head, `"provider":"anthropic"`) {
				t.Errorf("the header has become %s", head)
			}
		})
	}
}

// A compaction stands for what it left out; prunes shorten, and change nothing else.
func TestContext(t *testing.T) {
	l, _ := create(t)
	ids := add(t, l, user("1"), assistant("2"), user("3"), assistant("4"))
	add(t, l, transcript.Entry{Type: transcript.TypeCompaction, Summary: "one and two", FirstKeptID: ids[2], TokensBefore: 10},
		transcript.Entry{Type: transcript.TypeThinking, ThinkingLevel: "high"}, user("5"))
	words, err := json.Marshal("note")
	if err != nil {
		t.Fatal(err)
	}
	prune, err := json.Marshal(transcript.Prune{Reason: "old", Entries: []transcript.Short{{EntryID: ids[3], Text: "[short]"}}})
	if err != nil {
		t.Fatal(err)
	}
	last := add(t, l, transcript.Entry{Type: transcript.TypeCustomMessage, CustomType: "x", Content: words, Display: true},
		transcript.Entry{Type: transcript.TypeCustom, CustomType: transcript.CustomPrune, Data: prune},
		transcript.Entry{Type: transcript.TypeCustom, CustomType: "state", Data: words},
		transcript.Entry{Type: transcript.TypeBranchSummary, FromID: "root", Summary: "elsewhere"})
	c, err := l.Context(last[3])
	if err != nil || c.Thinking != llm.LevelHigh || c.Compaction == nil {
		t.Fatalf("%+v, %v", c, err)
	}
	got := said(t, l, last[3])
	for i, want := range []string{"one and two", "user: 3", "assistant: [short]", "user: 5", "custom: note", "elsewhere"} {
		if len(got) != 6 || !strings.Contains(got[i], want) {
			t.Errorf("message %d of %q lacks %q", i, got, want)
		}
	}
	if len(c.IDs) != len(c.Messages) || c.IDs[2] != ids[3] {
		t.Errorf("ids %v", c.IDs)
	}
	// Before the prune, and before the compaction, everything is as it was.
	if diff := cmp.Diff([]string{"user: 1", "assistant: 2", "user: 3", "assistant: 4"}, said(t, l, ids[3])); diff != "" {
		t.Error(diff)
	}
}

// long is a session with calls, results, branches and states.
func long(t testing.TB, l *transcript.Log, n int) {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	var ids []string
	for i := 0; len(ids) < n; i++ {
		call := llm.Message{Role: llm.RoleAssistant, API: llm.APIAnthropic, Provider: "anthropic", Model: "m", StopReason: llm.StopToolUse, Content: []llm.Block{
			llm.Thinking{Text: "hm", Signature: "sig"}, llm.ToolCall{ID: fmt.Sprint("c", i), Name: "read", Arguments: `{"path":"a.go"}`},
		}}
		result := llm.ToolResultText(llm.ToolCall{ID: fmt.Sprint("c", i), Name: "read"}, "line \"1\"\n\\", false)
		ids = append(ids, add(t, l, user(fmt.Sprint("do ", i)), transcript.Entry{Type: transcript.TypeMessage, Message: &call},
			transcript.Entry{Type: transcript.TypeMessage, Message: &result}, assistant(fmt.Sprint("done ", i)))...)
		if r.IntN(20) == 0 {
			if err := l.Move(ids[r.IntN(len(ids))]); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// damaged opens bytes as a session, checks what must hold whatever they are, and
// gives the entries that can be read. Only those of the ids in near are decoded,
// unless whole.
func damaged(t *testing.T, text []byte, near []string, whole bool) map[string]bool {
	t.Helper()
	l, _, err := transcript.Open(&lines{text: text}, transcript.Options{})
	if errors.Is(err, transcript.ErrNotSession) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for _, n := range l.Nodes() {
		got[n.ID] = true
	}
	for _, id := range near {
		if e, err := l.Entry(id); err != nil || e.Message == nil {
			delete(got, id)
		}
	}
	if whole {
		c, err := l.Context(l.Leaf())
		if err != nil {
			t.Fatal(err)
		}
		legal := llm.Legal(c.Messages, llm.Target{API: llm.APIResponses})
		if len(legal) == 0 || legal[0].Role != llm.RoleUser {
			t.Fatalf("the history begins with %v", legal)
		}
	}
	return got
}

// lines is a store of bytes as they are.
type lines struct {
	transcript.Memory
	text []byte
}

func (s *lines) Records(yield func(transcript.Ref, []byte) error) error {
	pos := 0
	for line := range bytes.SplitSeq(s.text, []byte("\n")) {
		if len(line) > 0 {
			if err := yield(transcript.Ref{Pos: int64(pos), Len: int32(len(line))}, line); err != nil {
				return err
			}
		}
		pos += len(line) + 1
	}
	return nil
}

func (s *lines) Read(r transcript.Ref) ([]byte, error) {
	return bytes.Clone(s.text[r.Pos : r.Pos+int64(r.Len)]), nil
}

// A session that is cut at any byte has every entry before the cut, and one in
// which any bit is flipped has every entry but the one that was hit. With
// BURIN_LONG=1 it has 1,000 entries, which takes some ten minutes.
func TestDamage(t *testing.T) {
	pacetest.Costly(t)
	n, every := pacetest.Long(48, 250, 1000), 50
	l, path := create(t)
	long(t, l, n)
	var ids []string
	for _, node := range l.Nodes() {
		ids = append(ids, node.ID)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lineOf := func(at int) int { return bytes.Count(text[:at], []byte("\n")) - 1 } // of an entry; -1: the header
	near := func(line int) []string { return ids[max(0, line-1):max(0, min(line+2, n))] }
	for at := range len(text) + 1 {
		got := damaged(t, text[:at], nil, at%every == 0)
		for _, id := range ids[:max(0, lineOf(at))] {
			if !got[id] {
				t.Fatalf("cut at %d: entry %s, before the cut, is lost", at, id)
			}
		}
	}
	r := rand.New(rand.NewPCG(3, 4))
	for at := range text {
		bit := byte(1) << r.IntN(8)
		line := lineOf(at)
		text[at] ^= bit
		got := damaged(t, text, near(line), at%every == 0)
		text[at] ^= bit
		for i, id := range ids {
			// A damaged line end may cost the entries on both sides of it.
			hit := i == line || text[at] == '\n' && i == line+1
			if !got[id] && !hit {
				t.Fatalf("bit %d flipped at %d, in %q: entry %d is lost", bit, at, text[max(0, at-40):min(len(text), at+40)], i)
			}
		}
	}
}

// Entries of a damaged file are as good as before after more was appended.
func TestAppendToDamaged(t *testing.T) {
	for name, damage := range map[string]func([]byte) []byte{
		"torn":        func(b []byte) []byte { return b[:len(b)-10] },
		"torn inside": func(b []byte) []byte { return bytes.Replace(b, []byte(`two"`), []byte("tw\n"), 1) },
		"no header":   func(b []byte) []byte { return append([]byte("{garbage"), b[20:]...) },
		"line end":    func(b []byte) []byte { i := bytes.IndexByte(b[200:], '\n') + 200; b[i] = ' '; return b },
	} {
		t.Run(name, func(t *testing.T) {
			l, path := create(t)
			add(t, l, user("one"), assistant("two"), user("three"), assistant("four"), user("five"))
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			text = damage(text)
			if err := os.WriteFile(path, text, 0o600); err != nil {
				t.Fatal(err)
			}
			l, _ = open(t, path)
			before := said(t, l, l.Leaf())
			if len(before) < 3 {
				t.Fatalf("before: %q", before)
			}
			add(t, l, user("new"), assistant("newer"))
			want := append(before, "user: new", "assistant: newer")
			if diff := cmp.Diff(want, said(t, l, l.Leaf())); diff != "" {
				t.Error(diff)
			}
			id := l.ID()
			l.Close()
			again, d := open(t, path)
			if diff := cmp.Diff(want, said(t, again, again.Leaf())); diff != "" || d.NoHeader || again.ID() != id {
				t.Errorf("again: %+v, id %s want %s, %s", d, again.ID(), id, diff)
			}
			if now, _ := os.ReadFile(path); !bytes.HasPrefix(now, text) {
				if kept, _ := filepath.Glob(path + ".before-*"); len(kept) != 1 {
					t.Error("the damaged file was overwritten without a copy")
				}
			}
		})
	}
}

// A last line that has its end was acknowledged: it is damage, and set aside. One without
// is what a crash has left.
func TestDamagedLastLine(t *testing.T) {
	for form, wrap := range stores(t) {
		for name, tt := range map[string]struct {
			spoil func([]byte) []byte
			torn  bool
		}{
			"damaged": {func(text []byte) []byte { text[bytes.LastIndexByte(text[:len(text)-1], '\n')+1] ^= 1; return text }, false},
			"cut":     {func(text []byte) []byte { return text[:len(text)-10] }, true},
		} {
			t.Run(form+" "+name, func(t *testing.T) {
				l, _, path := startOn(t, wrap)
				add(t, l, assistant("an answer"))
				if err := l.Close(); err != nil {
					t.Fatal(err)
				}
				text, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, tt.spoil(text), 0o600); err != nil {
					t.Fatal(err)
				}
				unseal := func(s transcript.Store) (transcript.Store, error) { return wrap(s), nil }
				l, d, err := transcript.OpenSession(path, transcript.Options{Unseal: unseal})
				if err != nil {
					t.Fatal(err)
				}
				defer l.Close()
				if d.Torn != tt.torn || d.Serious() == tt.torn {
					t.Errorf("damage %+v", d)
				}
				if _, err := os.Stat(path + ".damage"); errors.Is(err, fs.ErrNotExist) != tt.torn {
					t.Errorf("set aside: %v", err)
				}
				if diff := cmp.Diff([]string{"user: a prompt"}, said(t, l, l.Leaf())); diff != "" {
					t.Error(diff)
				}
			})
		}
	}
}

// What a crash has left of a line is no damage either once others were added behind it:
// nothing that was acknowledged is lost.
func TestTornLineInside(t *testing.T) {
	pacetest.Costly(t)
	l, path := create(t)
	add(t, l, user("one"), assistant("two"), user("three"))
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	last := bytes.LastIndexByte(whole[:len(whole)-1], '\n') + 1
	for cut := last + 1; cut < len(whole)-1; cut++ {
		if err := os.WriteFile(path, whole[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		for n := range 2 {
			l, damage, err := transcript.OpenSession(path, transcript.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if damage.Serious() || !damage.Torn {
				t.Fatalf("cut at %d, opened %d times: %v", cut-last, n+1, damage)
			}
			add(t, l, assistant("four"))
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
		}
		l := read(t, path)
		want := []string{"user: one", "assistant: two", "assistant: four", "assistant: four"}
		if diff := cmp.Diff(want, said(t, l, l.Leaf())); diff != "" {
			t.Fatalf("cut at %d: %s", cut-last, diff)
		}
	}
}

// A store that fails loses nothing: what it did not take is written with the next.
func TestStoreFails(t *testing.T) {
	store := new(failing)
	l, err := transcript.Create(store, transcript.Header{}, transcript.Options{})
	if err != nil {
		t.Fatal(err)
	}
	add(t, l, user("one"))
	store.err = errors.New("disk full")
	id, err := l.Append(assistant("two"))
	if !errors.Is(err, store.err) || l.Leaf() != id {
		t.Fatalf("leaf %q, error %v", l.Leaf(), err)
	}
	want := []string{"user: one", "assistant: two"}
	if diff := cmp.Diff(want, said(t, l, id)); diff != "" {
		t.Error(diff)
	}
	store.err = nil
	add(t, l, user("three"))
	again, _, err := transcript.Open(&store.Memory, transcript.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(append(want, "user: three"), said(t, again, again.Leaf())); diff != "" {
		t.Error(diff)
	}
}

type failing struct {
	transcript.Memory
	err error
}

func (f *failing) Append(records ...[]byte) ([]transcript.Ref, error) {
	if f.err != nil {
		return nil, f.err
	}
	return f.Memory.Append(records...)
}

func BenchmarkAppend(b *testing.B) {
	l, _ := create(b)
	e := assistant(strings.Repeat("a line of an answer\n", 50))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := l.Append(e); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkOpen opens a session of 100,000 entries of some 600 bytes.
func BenchmarkOpen(b *testing.B) {
	l, path := create(b)
	for range 50_000 {
		add(b, l, user(strings.Repeat("What is it? ", 30)), assistant(strings.Repeat("This is it. ", 30)))
	}
	if err := l.Close(); err != nil {
		b.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(info.Size())
	b.ReportAllocs()
	for b.Loop() {
		store, err := transcript.OpenFileReadOnly(path)
		if err != nil {
			b.Fatal(err)
		}
		l, _, err := transcript.Open(store, transcript.Options{})
		if err != nil || l.Len() != 100_000 {
			b.Fatal(err)
		}
		store.Close()
	}
}

func FuzzOpen(f *testing.F) {
	f.Add([]byte(`{"type":"session","version":3,"id":"x"}` + "\n" + `{"type":"message","id":"a","parentId":"b"}`))
	f.Add([]byte(`{"type":"session","id":"x"}` + "\n" + `{"id":"a","parentId":"a"}` + "\n" + `{"type":"message","id":"a","parentId":"a","message":{"role":"user"}}`))
	f.Add([]byte(`{"type":"message","message":{"role":"bashExecution"}} {"type":"message","id":"a\u0041"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		store := &lines{text: text}
		l, d, err := transcript.Open(store, transcript.Options{})
		if err != nil {
			return
		}
		_ = d.String()
		for _, n := range l.Nodes() {
			c, err := l.Context(n.ID)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range llm.Legal(c.Messages, llm.Target{API: llm.APIResponses}) {
				if _, err := json.Marshal(m); err != nil {
					t.Errorf("a message that was read cannot be written: %v", err)
				}
			}
		}
	})
}

// Recent is the branch from what the last compaction kept.
func TestRecent(t *testing.T) {
	l, _ := create(t)
	ids := add(t, l, user("1"), assistant("2"), user("3"))
	list := func(leaf string) (out []string) {
		t.Helper()
		entries, err := l.Recent(leaf)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			out = append(out, e.ID)
		}
		return out
	}
	if diff := cmp.Diff(ids, list(ids[2])); diff != "" {
		t.Errorf("without a compaction: %s", diff)
	}
	first := add(t, l, transcript.Entry{Type: transcript.TypeCompaction, Summary: "s", FirstKeptID: ids[1]}, user("4"))
	if diff := cmp.Diff([]string{ids[1], ids[2], first[0], first[1]}, list(first[1])); diff != "" {
		t.Errorf("after a compaction: %s", diff)
	}
	second := add(t, l, transcript.Entry{Type: transcript.TypeCompaction, Summary: "s", FirstKeptID: "nowhere"}, user("5"))
	if diff := cmp.Diff([]string{second[0], second[1]}, list(second[1])); diff != "" {
		t.Errorf("after one that kept nothing: %s", diff)
	}
}

// Of a header with values of the wrong kind all others are read, and the damage is told of.
func TestHeaderFieldByField(t *testing.T) {
	good := transcript.Header{Type: "session", Version: 3, ID: "ab", Timestamp: "2026-01-01T00:00:00.000Z", CWD: "/w", Title: "name", ParentSession: "cd"}
	for name, tt := range map[string]struct {
		header string
		want   func(*transcript.Header)
		whole  bool
	}{
		"the version as text": {
			`{"type":"session","version":"3","id":"ab","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w","title":"name","parentSession":"cd"}`,
			func(h *transcript.Header) { h.Version = 0 }, false,
		},
		"another version as text": {
			`{"type":"session","version":"newest","id":"ab","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w","title":"name","parentSession":"cd"}`,
			func(h *transcript.Header) { h.Version = 0 }, false,
		},
		"the folder a number": {
			`{"type":"session","version":3,"id":"ab","timestamp":"2026-01-01T00:00:00.000Z","cwd":5,"title":"name","parentSession":"cd"}`,
			func(h *transcript.Header) { h.CWD = "" }, false,
		},
		"several": {
			`{"type":"session","version":3.5,"id":"ab","timestamp":17,"cwd":["/w"],"title":{"a":1},"parentSession":"cd"}`,
			func(h *transcript.Header) { h.Version, h.Timestamp, h.CWD, h.Title = 0, "", "", "" }, false,
		},
		"the id a number": {
			`{"type":"session","version":3,"id":7,"timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w","title":"name","parentSession":"cd"}`,
			func(h *transcript.Header) { h.ID = "of-the-file" }, false,
		},
		"nothing is wrong": {
			`{"type":"session","version":3,"id":"ab","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w","title":"name","parentSession":"cd","mood":[1]}`,
			func(*transcript.Header) {}, true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "2026-01-01T00-00-00-000Z_of-the-file.jsonl")
			entry := `{"type":"message","id":"a1","parentId":null,"message":{"role":"user","content":"hi"}}`
			if err := os.WriteFile(path, []byte(tt.header+"\n"+entry+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			want := good
			tt.want(&want)
			other := filepath.Join(t.TempDir(), filepath.Base(path))
			if err := os.WriteFile(other, []byte(tt.header+"\n"+entry+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			moved, err := transcript.Move(other, t.TempDir(), "/elsewhere")
			if err != nil {
				t.Fatal(err)
			}
			if l, _ := open(t, moved); l.Header().CWD != "/elsewhere" || l.ID() != want.ID || l.Len() != 1 {
				t.Errorf("moved: %+v", l.Header())
			}
			l, damage, err := transcript.OpenSession(path, transcript.Options{})
			if err != nil {
				t.Fatal(err)
			}
			got := l.Header()
			if want.Timestamp == "" {
				want.Timestamp = got.Timestamp // one is made up
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if damage.Serious() == tt.whole || !tt.whole && damage.String() != "its header is damaged" {
				t.Errorf("damage: %+v, %v", damage, damage)
			}
			add(t, l, assistant("answer"))
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			again, damage, err := transcript.ReadSession(path, transcript.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer again.Close()
			if again.Len() != 2 || damage.Serious() || again.Header().CWD != want.CWD || again.ID() != want.ID {
				t.Errorf("after the next entry: %d entries, %v, %+v", again.Len(), damage, again.Header())
			}
		})
	}
}

package transcript_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/transcript"
)

func create(t *testing.T) *transcript.File {
	t.Helper()
	f, err := transcript.Create(t.TempDir(), "/home/ann/my work:1")
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func user(text string) *llm.Message {
	m := llm.UserText(text)
	return &m
}

func assistant(text string) *llm.Message {
	m := llm.AssistantText(text)
	return &m
}

func TestFile(t *testing.T) {
	f := create(t)
	model := &llm.Model{Provider: "anthropic", ID: "claude"}
	for _, err := range []error{f.AppendModel(model), f.AppendMode("ask"), f.AppendMessage(user("hi"))} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(f.Path()); !errors.Is(err, fs.ErrNotExist) || f.Written() {
		t.Fatalf("there is a file before the first answer: %v", err)
	}
	if err := f.AppendMessage(assistant("<hello> & good day")); err != nil {
		t.Fatal(err)
	}
	// Each entry is on the disk when its append returns, without Close.
	if err := f.AppendMessage(user("more")); err != nil {
		t.Fatal(err)
	}
	h, entries, bad, err := transcript.Read(f.Path())
	if err != nil || bad != 0 {
		t.Fatalf("%d bad lines, error %v", bad, err)
	}
	if h.Version != 3 || h.ID != f.ID() || h.CWD != "/home/ann/my work:1" {
		t.Errorf("header %+v", h)
	}
	var types []string
	parent := ""
	for _, e := range entries {
		types = append(types, e.Type)
		if got := deref(e.ParentID); got != parent {
			t.Errorf("parent of %s is %q, want %q", e.ID, got, parent)
		}
		parent = e.ID
	}
	if diff := cmp.Diff([]string{"model_change", "mode_change", "message", "message", "message"}, types); diff != "" {
		t.Error(diff)
	}
	if entries[0].Model != "anthropic/claude" {
		t.Errorf("model %q", entries[0].Model)
	}
	var said []string
	for _, m := range transcript.Messages(entries) {
		said = append(said, string(m.Role)+": "+m.Text())
	}
	if diff := cmp.Diff([]string{"user: hi", "assistant: <hello> & good day", "user: more"}, said); diff != "" {
		t.Error(diff)
	}
	if want := "--home-ann-my work-1--"; filepath.Base(filepath.Dir(f.Path())) != want {
		t.Errorf("the folder is %s, want %s", filepath.Dir(f.Path()), want)
	}
	info, err := os.Stat(f.Path())
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, error %v: others must not read a conversation", info.Mode(), err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// Each entry is one line and one write, also when many goroutines append.
func TestConcurrentAppends(t *testing.T) {
	f := create(t)
	if err := f.AppendMessage(assistant("first")); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			if err := f.AppendMessage(user(fmt.Sprint(i))); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	_, entries, bad, err := transcript.Read(f.Path())
	if err != nil || bad != 0 || len(transcript.Messages(entries)) != 51 {
		t.Errorf("%d entries, %d bad, %v", len(entries), bad, err)
	}
}

// A process that was killed leaves a torn line; what stands before it is read.
func TestReadTornFile(t *testing.T) {
	f := create(t)
	for i := range 4 {
		if err := f.AppendMessage(assistant(fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
	}
	whole, err := os.ReadFile(f.Path())
	if err != nil {
		t.Fatal(err)
	}
	header := bytes.IndexByte(whole, '\n')
	for n := range len(whole) {
		path := filepath.Join(t.TempDir(), "torn.jsonl")
		if err := os.WriteFile(path, whole[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		_, entries, _, err := transcript.Read(path)
		if n < header {
			if err == nil || !strings.Contains(err.Error(), "not a session file") {
				t.Fatalf("%d bytes: error %v", n, err)
			}
			continue
		}
		// Bytes up to the last brace of a line are the whole line.
		want := bytes.Count(whole[header+1:min(n+1, len(whole))], []byte("\n"))
		if err != nil || len(entries) != want {
			t.Fatalf("%d bytes: %d entries, want %d; error %v", n, len(entries), want, err)
		}
	}
}

func TestReadSkipsWhatIsBroken(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.jsonl")
	text := `{"type":"session","version":3,"id":"x","timestamp":"","cwd":"/"}
{"type":"message","id":"a","parentId":null,"message":{"role":"user","content":"one"}}
{"type":"message","id":"b","parentId":"a","mess
{"type":"unheard_of","id":"c","parentId":"a"}

{"type":"message","id":"d","parentId":"c","message":{"role":"assistant","content":[{"type":"text","text":"two"}]}}
`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	_, entries, bad, err := transcript.Read(path)
	if err != nil || bad != 1 || len(entries) != 3 {
		t.Fatalf("%d entries, %d bad, %v", len(entries), bad, err)
	}
	if got := transcript.Messages(entries); len(got) != 2 || got[1].Text() != "two" {
		t.Errorf("messages %v", got)
	}
}

// A disk that fails is an error once and for all, not a file with a hole.
func TestFailureIsKept(t *testing.T) {
	root := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(root, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := transcript.Create(root, "/x")
	if err != nil {
		t.Fatal(err)
	}
	first := f.AppendMessage(assistant("a"))
	if first == nil || !strings.HasPrefix(first.Error(), "write session: ") {
		t.Fatalf("error %v", first)
	}
	if err := os.Remove(root); err != nil {
		t.Fatal(err)
	}
	if again := f.AppendMessage(assistant("b")); !errors.Is(again, first) {
		t.Errorf("the second append says %v", again)
	}
}

func TestArtifacts(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a[b]*", "s")
	a := transcript.NewArtifacts(dir)
	if _, err := a.Open("0"); err == nil || !strings.Contains(err.Error(), "there are: none") {
		t.Errorf("error %v", err)
	}
	put := func(a *transcript.Artifacts, kind, text string) string {
		t.Helper()
		w, err := a.Create(kind)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return w.ID()
	}
	put(a, "bash", "one")
	put(a, "../evil kind", "two")
	// A session that is opened again goes on counting.
	if id := put(transcript.NewArtifacts(dir), "bash", "three"); id != "2" {
		t.Errorf("id %s after 0 and 1", id)
	}
	for id, want := range map[string]string{"0": "one", "1": "two", "2": "three"} {
		r, err := a.Open(id)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if _, err := b.ReadFrom(r); err != nil || b.String() != want || r.Size() != int64(len(want)) {
			t.Errorf("artifact %s is %q, %v", id, b.String(), err)
		}
		r.Close()
	}
	for _, id := range []string{"3", "-1", "x", "../0", ""} {
		if r, err := a.Open(id); err == nil {
			r.Close()
			t.Errorf("artifact %q opened", id)
		}
	}
	names, err := os.ReadDir(dir)
	if err != nil || len(names) != 3 || names[1].Name() != "1.-evil-kind.log" {
		t.Errorf("files %v, %v", names, err)
	}
}

func BenchmarkAppend(b *testing.B) {
	f, err := transcript.Create(b.TempDir(), "/x")
	if err != nil {
		b.Fatal(err)
	}
	m := assistant(strings.Repeat("a line of an answer\n", 50))
	b.ReportAllocs()
	for b.Loop() {
		if err := f.AppendMessage(m); err != nil {
			b.Fatal(err)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(`{"type":"session","version":3,"id":"x"}` + "\n" + `{"type":"message","id":"a","parentId":"b"}`)
	f.Add(`{"type":"session","id":"x"}` + "\n" + `{"id":"a","parentId":"a"}` + "\n" + `{"id":"a","parentId":"a","message":{"role":"user"}}`)
	f.Fuzz(func(t *testing.T, text string) {
		path := filepath.Join(t.TempDir(), "s")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, entries, _, err := transcript.Read(path)
		if err != nil {
			return
		}
		for _, m := range transcript.Messages(entries) { // ends, whatever the parents say
			if _, err := json.Marshal(m); err != nil {
				t.Errorf("a message that was read cannot be written: %v", err)
			}
		}
	})
}

package edit_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/platform/edit"
)

// files are a source in memory.
type files map[string]string

func (f files) ReadFile(name string) ([]byte, error) {
	if s, ok := f[name]; ok {
		return []byte(s), nil
	}
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

func arguments(t testing.TB, v any) json.RawMessage {
	t.Helper()
	if raw, ok := v.(string); ok {
		return json.RawMessage(raw)
	}
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// apply runs an engine and gives the files afterwards. What is no refusal fails the
// test, and so does a result that contradicts itself or names files that Paths
// did not.
func apply(t testing.TB, engine string, before files, args any) (files, *edit.Result, *edit.Refusal) {
	t.Helper()
	e := edit.Engines()[engine]
	raw := arguments(t, args)
	paths, pathsErr := e.Paths(raw)
	kept := maps.Clone(before)
	res, err := e.Apply(before, raw)
	if diff := cmp.Diff(kept, before); diff != "" {
		t.Errorf("the engine changed its source:\n%s", diff)
	}
	if err != nil {
		var r *edit.Refusal
		if !errors.As(err, &r) {
			t.Fatalf("error is no refusal: %v", err)
		}
		if res != nil {
			t.Error("a refusal and a result")
		}
		if r.Reason == "" || strings.Contains(r.Reason, "\n") || len(r.Error()) > 4000 {
			t.Errorf("bad refusal: %q", r.Error())
		}
		return kept, nil, r
	}
	if pathsErr != nil {
		t.Errorf("applied, but Paths fails: %v", pathsErr)
	}
	after := maps.Clone(before)
	for _, c := range res.Changes {
		at := c.Path
		if c.From != "" {
			at = c.From
		}
		if old, ok := before[at]; ok != (c.Before != nil) || old != string(c.Before) {
			t.Errorf("%s: Before is %q, the file %q", at, c.Before, old)
		}
		delete(after, at)
		if c.After != nil {
			after[c.Path] = string(c.After)
		}
		for _, p := range []string{c.Path, c.From} {
			if p != "" && !strings.Contains("\x00"+strings.Join(paths, "\x00")+"\x00", "\x00"+p+"\x00") {
				t.Errorf("Paths %q lacks %s", paths, p)
			}
		}
	}
	return after, res, nil
}

// expect runs a case of a table. It wants the files afterwards, or words of the
// refusal; and words of a note.
func expect(t *testing.T, engine string, before files, args any, want files, refusal, note string) {
	t.Helper()
	got, res, r := apply(t, engine, before, args)
	switch {
	case refusal != "":
		if r == nil {
			t.Fatalf("applied, want a refusal with %q: %q", refusal, got)
		}
		if !strings.Contains(r.Error(), refusal) {
			t.Fatalf("refusal lacks %q:\n%s", refusal, r.Error())
		}
		return
	case r != nil:
		t.Fatalf("refused: %v", r)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if notes := strings.Join(res.Notes, "\n"); note == "" && notes != "" || !strings.Contains(notes, note) {
		t.Errorf("notes %q, want %q", notes, note)
	}
}

func TestForModel(t *testing.T) {
	for id, want := range map[string]string{
		"gpt-5": "patch", "openai/gpt-5.1-codex": "patch", "openrouter/openai/gpt-5-mini": "patch",
		"codex-mini-latest": "patch", "o3": "patch", "o4-mini": "patch", "GPT-4.1-mini": "patch", "openai.gpt-oss-120b": "patch",
		"gpt-4o": "replace", "chatgpt-4o-latest": "replace", "claude-sonnet-4-5": "replace", "anthropic/claude-opus-4": "replace",
		"us.anthropic.claude-haiku": "replace", "gemini-2.5-pro": "replace", "qwen3-coder": "replace", "olmo-2": "replace", "": "replace",
	} {
		if got := edit.ForModel(id).Name(); got != want {
			t.Errorf("%q: %s, want %s", id, got, want)
		}
	}
}

// What the model is told goes out with every request.
func TestEnginesAreSmall(t *testing.T) {
	all := edit.Engines()
	if len(all) != 4 {
		t.Errorf("%d engines", len(all))
	}
	for name, e := range all {
		if e.Name() != name {
			t.Errorf("%s is called %s", name, e.Name())
		}
		if n := len(e.Description()); n == 0 || n > 1200 {
			t.Errorf("%s: description of %d bytes", name, n)
		}
		var schema struct {
			Type       string
			Properties map[string]any
			Required   []string
		}
		if err := json.Unmarshal(e.Parameters(), &schema); err != nil || schema.Type != "object" || len(schema.Required) == 0 {
			t.Errorf("%s: schema %s: %v", name, e.Parameters(), err)
		}
		if n := len(e.Parameters()); n > 500 {
			t.Errorf("%s: schema of %d bytes", name, n)
		}
	}
}

func TestBadArguments(t *testing.T) {
	for _, tt := range []struct{ engine, args, want string }{
		{"replace", `[]`, "not a JSON object"},
		{"replace", `{"path":"a","edits":"x"}`, "edits is a string"},
		{"replace", `{"path":"a","edits":[]}`, "no edits"},
		{"replace", `{"path":" ","edits":[{"old":"x","new":"y"}]}`, "path is empty"},
		{"replace", `{"path":"a\nb","edits":[{"old":"x","new":"y"}]}`, "line break"},
		{"replace", `{"path":"a","edits":[{"old":"x","new":"\ud83d"}]}`, "surrogate"},
		{"replace", `{"path":"a","edits":[{"old":"x","new":"\ude00\ud83d"}]}`, "surrogate"},
		{"replace", "{\"path\":\"a\",\"edits\":[{\"old\":\"x\",\"new\":\"\xff\"}]}", "surrogate"},
		{"whole", `{"path":"a"}`, "no content"},
		{"whole", `{"path":"","content":"x"}`, "path is empty"},
		{"hashline", `{"path":"a","tag":"1234","edits":[]}`, "no edits"},
		{"patch", `{"patch":""}`, "no patch"},
		{"patch", `{"patch":"*** Begin Patch\n*** End Patch"}`, "empty"},
	} {
		_, err := edit.Engines()[tt.engine].Apply(files{"a": "x"}, json.RawMessage(tt.args))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s %s: %v, want %q", tt.engine, tt.args, err, tt.want)
		}
	}
	got, _, r := apply(t, "replace", files{"a": "x"}, `{"path":"a","edits":[{"old":"x","new":"\ud83d\ude00 \\ud83d"}]}`)
	if r != nil || got["a"] != "😀 \\ud83d" {
		t.Errorf("a sound pair: %q, %v", got, r)
	}
}

// A failing source is an error of the source, not a refusal.
func TestSourceFails(t *testing.T) {
	for _, name := range []string{"replace", "whole"} {
		args := `{"path":"a","content":"x","edits":[{"old":"x","new":"y"}]}`
		_, err := edit.Engines()[name].Apply(failing{}, json.RawMessage(args))
		var r *edit.Refusal
		if !errors.Is(err, fs.ErrPermission) || errors.As(err, &r) {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := edit.Engines()["whole"].Apply(huge{}, json.RawMessage(`{"path":"a","content":"x"}`))
	if err == nil || !strings.Contains(err.Error(), "files over 64 MB") {
		t.Errorf("huge file: %v", err)
	}
}

type failing struct{}

func (failing) ReadFile(string) ([]byte, error) { return nil, fs.ErrPermission }

// huge has a file that must not be read.
type huge struct{ failing }

func (huge) Stat(string) (fs.FileInfo, error) { return size(65 << 20), nil }

type size int64

func (size) Name() string       { return "a" }
func (s size) Size() int64      { return int64(s) }
func (size) Mode() fs.FileMode  { return 0o644 }
func (size) ModTime() time.Time { return time.Time{} }
func (size) IsDir() bool        { return false }
func (size) Sys() any           { return nil }

func TestRefusalText(t *testing.T) {
	_, _, r := apply(t, "replace", files{"a.go": "one\nx := compute(1)\nthree\n"}, map[string]any{
		"path": "a.go", "edits": []map[string]string{{"old": "one", "new": "1"}, {"old": "x := compute(2)", "new": "y"}},
	})
	want := "a.go: edit 2: old is not in the file\nNearest text, at line 2:\nx := compute(1)\n" +
		`Line 2 is "x := compute(1)"; the edit has "x := compute(2)".`
	if r == nil || r.Error() != want {
		t.Errorf("got:\n%v\nwant:\n%s", r, want)
	}
}

package file_test

import (
	"archive/zip"
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"image"
	"image/png"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	_ "modernc.org/sqlite"

	"github.com/burin-dev/burin/internal/platform/edit"
	"github.com/burin-dev/burin/internal/platform/search"
	"github.com/burin-dev/burin/internal/platform/workspace"
	"github.com/burin-dev/burin/internal/tools/file"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/tool"
	"github.com/burin-dev/burin/transcript"
)

// bench is a workspace with the tools that act on it.
type bench struct {
	*testing.T
	dir   string
	ws    *workspace.Workspace
	tools map[string]*tool.Tool
}

func open(t *testing.T, engine string, files map[string]string) *bench {
	t.Helper()
	return openWith(t, engine, files, file.Options{})
}

func openWith(t *testing.T, engine string, files map[string]string, o file.Options) *bench {
	t.Helper()
	return openIn(t, engine, files, o, workspace.Options{StateDir: t.TempDir()})
}

func openIn(t *testing.T, engine string, files map[string]string, o file.Options, wo workspace.Options) *bench {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{T: t, dir: dir, tools: map[string]*tool.Tool{}}
	for name, text := range files {
		b.put(name, text)
	}
	if b.ws, err = workspace.Open(dir, wo); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.ws.Close() })
	o.Workspace, o.Engine, o.Cache, o.Artifacts = b.ws, edit.Engines()[engine], search.NewCache(), transcript.NewArtifacts(t.TempDir())
	o.URLs = map[string]func(context.Context, string) (string, error){
		"skill": func(_ context.Context, url string) (string, error) { return "the skill of " + url + "\n", nil },
	}
	for _, one := range file.NewKit(o).Tools() {
		b.tools[one.Name] = one
	}
	return b
}

func (b *bench) put(name, text string) {
	b.Helper()
	path := filepath.Join(b.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		b.Fatal(err)
	}
}

func (b *bench) get(name string) string {
	b.Helper()
	data, err := os.ReadFile(filepath.Join(b.dir, filepath.FromSlash(name)))
	if err != nil {
		b.Fatal(err)
	}
	return string(data)
}

// call runs a tool as the loop does: arguments are checked against the schema first.
func (b *bench) call(name string, args map[string]any) (string, error) {
	b.Helper()
	r, err := b.result(name, args)
	if err != nil {
		return "", err
	}
	var text strings.Builder
	for _, block := range r.Content {
		if t, ok := block.(llm.Text); ok {
			text.WriteString(t.Text)
		}
	}
	return text.String(), nil
}

func (b *bench) result(name string, args map[string]any) (*tool.Result, error) {
	b.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		b.Fatal(err)
	}
	one := b.tools[name]
	valid, err := one.Validate(llm.ToolCall{ID: "c", Name: name, Arguments: string(raw)})
	if err != nil {
		return nil, err
	}
	if _, err := one.Accesses(valid); err != nil { // as a session does before each call
		b.Fatal(err)
	}
	return one.Run(context.Background(), tool.Call{ID: "c", Name: name, Arguments: valid, Update: func(tool.Result) {}})
}

func (b *bench) want(name string, args map[string]any, want string) {
	b.Helper()
	got, err := b.call(name, args)
	if err != nil || got != want {
		b.Errorf("%s %v gave %q, %v; want %q", name, args, got, err, want)
	}
}

func (b *bench) wantPart(name string, args map[string]any, parts ...string) {
	b.Helper()
	got, err := b.call(name, args)
	for _, part := range parts {
		if err != nil || !strings.Contains(got, part) {
			b.Errorf("%s %v gave %q, %v; want %q in it", name, args, got, err, part)
		}
	}
}

func (b *bench) refused(name string, args map[string]any, part string) {
	b.Helper()
	if got, err := b.call(name, args); err == nil || !strings.Contains(err.Error(), part) {
		b.Errorf("%s %v gave %q, %v; want an error with %q", name, args, got, err, part)
	}
}

type args = map[string]any

func TestReadText(t *testing.T) {
	b := open(t, "replace", map[string]string{
		"a.txt":         "one\r\ntwo\nthree\nfour\nfive",
		"empty":         "",
		"odd:1-2":       "a file with a name like lines\n",
		"utf16.txt":     "\xff\xfeh\x00i\x00",
		"bin":           "a\x00b",
		"merge.go":      "a\n<<<<<<< HEAD\nb\n=======\nc\n>>>>>>> topic\n",
		"src/deep/x.go": "package x\n", "src/y/x.go": "package y\n", "lib/one.go": "package one\n", ".hidden/h.go": "package h\n",
	})
	for path, want := range map[string]string{
		"a.txt":              "1|one\n2|two\n3|three\n4|four\n5|five\n",
		"a.txt:3-3":          "2|two\n3|three\n4|four\n5|five\n",
		"a.txt:1-1":          "1|one\n2|two\n3|three\n4|four\n",
		"a.txt:4-":           "4|four\n5|five\n",
		"a.txt:L3+1":         "2|two\n3|three\n4|four\n5|five\n",
		"a.txt:2-2,3-3":      "2|two\n3|three\n",
		"a.txt:6-8":          "[No such lines: there are 5; use :1 or :5.]",
		"a.txt:4-5,1-2,2":    "1|one\n2|two\n3|three\n4|four\n5|five\n",
		"a.txt:1,5-9":        "1|one\n2|two\n3|three\n4|four\n5|five\n",
		"a.txt:1-1,5-9":      "1|one\n…\n5|five\n",
		"a.txt:raw":          "one\ntwo\nthree\nfour\nfive\n",
		"a.txt:3-3:raw":      "three\n",
		"a.txt:9-12":         "[No such lines: there are 5; use :1 or :5.]",
		"empty":              "[Empty.]",
		"odd:1-2":            "1|a file with a name like lines\n",
		"utf16.txt":          "1|hi\n",
		"merge.go:conflicts": "conflict://1: merge.go:2-6, HEAD against topic\n[1 conflict. Read one by its address, then write what it should be to that address, without the marks; @ours, @theirs, @base or @both on a line of its own stands for a side.]",
		"one.go":             "[one.go does not exist; this is lib/one.go.]\n1|package one\n",
		"deep/x.go:1":        "[deep/x.go does not exist; this is src/deep/x.go.]\n1|package x\n",
		"skill://go:1":       "1|the skill of skill://go\n",
		filepath.ToSlash(filepath.Join(b.dir, "a.txt")) + ":5": "5|five\n",
	} {
		b.want("read", args{"path": path}, want)
	}
	for path, want := range map[string]string{
		"a.txt:0":           "lines count from 1",
		"a.txt:3-2":         "M not before N",
		"a.txt:3+0":         "at least 1",
		"bin":               "binary file",
		"x.go":              "x.go does not exist; there is src/",
		"h.go":              "h.go does not exist",
		"?.go":              "does not exist",
		"../secret":         "outside the workspace",
		"/etc/passwd":       "outside the workspace",
		"artifact://x":      "the id is a number",
		"artifact://7":      "no artifact://7",
		"https://a.example": "use fetch",
	} {
		b.refused("read", args{"path": path}, want)
	}
}

func TestReadLimits(t *testing.T) {
	b := open(t, "replace", map[string]string{
		"many": strings.Repeat("line\n", 5000),
		"long": strings.Repeat("x", 3000) + "\n" + strings.Repeat(strings.Repeat("y", 1000)+"\n", 100),
	})
	got, err := b.call("read", args{"path": "many"})
	if err != nil || !strings.HasSuffix(got, "2000|line\n[2000 lines of 5000 shown; continue with :2001.]") {
		t.Errorf("it ends with %q, %v", got[max(0, len(got)-80):], err)
	}
	got, err = b.call("read", args{"path": "long"})
	if err != nil || len(got) > 53<<10 || !strings.Contains(got, "continue with :5") || !strings.Contains(got, "1 long line cut at 2000 bytes") {
		t.Errorf("%d bytes, it ends with %q, %v", len(got), got[max(0, len(got)-200):], err)
	}
}

// The notice stands on a line of its own, whatever it follows.
func TestNoticeOfLongText(t *testing.T) {
	for _, text := range []string{strings.Repeat("row\n", 20_000), strings.Repeat("row\n", 20_000) + "end"} {
		got := file.Fit(text)
		before, _, found := strings.Cut(got, "\n[Showing ")
		if !found || strings.HasSuffix(before, "\n") {
			t.Errorf("it ends with %q", got[len(got)-150:])
		}
	}
}

func TestReadKinds(t *testing.T) {
	b := open(t, "replace", map[string]string{
		"nb.ipynb": `{"nbformat":4,"nbformat_minor":5,"metadata":{},"cells":[{"cell_type":"code","id":"a","metadata":{},"outputs":[],"execution_count":null,"source":["print(1)\n"]}]}`,
	})
	var pic bytes.Buffer
	if err := png.Encode(&pic, image.NewGray(image.Rect(0, 0, 4, 3))); err != nil {
		t.Fatal(err)
	}
	b.put("pic.dat", pic.String())
	r, err := b.result("read", args{"path": "pic.dat"})
	if err != nil || len(r.Content) != 2 || r.Content[0].(llm.Text).Text != "pic.dat: image/png, 4×3 pixels" || len(r.Content[1].(llm.Image).Data) == 0 {
		t.Errorf("a picture gives %+v, %v", r, err)
	}
	var z bytes.Buffer
	w := zip.NewWriter(&z)
	f, err := w.Create("docs/a.txt")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte("inside\nmore\n")); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	b.put("x/a.zip", z.String())
	b.wantPart("read", args{"path": "x/a.zip"}, "docs/a.txt  12 B\n")
	b.want("read", args{"path": "x/a.zip:docs/a.txt:2"}, "2|more\n")
	b.refused("read", args{"path": "x/a.zip:docs/none"}, "docs/none")
	b.wantPart("read", args{"path": "nb.ipynb"}, "|# %% [code] cell:0", "|print(1)")
	b.wantPart("read", args{"path": "nb.ipynb:raw"}, `"nbformat":4`)

	db, err := sql.Open("sqlite", filepath.Join(b.dir, "app.db"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(`create table users(id integer primary key, name text); insert into users(name) values('ann'),('bob')`); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	b.wantPart("read", args{"path": "app.db"}, "users")
	b.wantPart("read", args{"path": "app.db:users:2"}, "bob")
	b.wantPart("read", args{"path": "app.db?q=SELECT count(*) AS n FROM users"}, "2")
	b.wantPart("write", args{"path": "app.db:users", "content": `{"name":"cid"}`}, "users")
	b.wantPart("read", args{"path": "app.db:users:3"}, "cid")
	b.wantPart("write", args{"path": "x/new.zip:b/c.txt", "content": "hello\n"}, "Wrote x/new.zip:b/c.txt")
	b.want("read", args{"path": "x/new.zip:b/c.txt"}, "1|hello\n")
}

func TestLists(t *testing.T) {
	b := open(t, "replace", map[string]string{"a/b/c.txt": "12345", "a/z.go": "", ".git/config": ""})
	b.wantPart("ls", args{}, "a/  now\n")
	b.wantPart("ls", args{"path": "a", "depth": 2}, "b/", "  c.txt  5 B", "z.go  0 B")
	b.wantPart("read", args{"path": "a"}, "z.go", "  c.txt")
	if got, _ := b.call("ls", args{"depth": 5}); strings.Contains(got, ".git") {
		t.Errorf("git's own files are listed: %s", got)
	}
	for i := range 20 {
		b.put("a/many/"+string(rune('a'+i)), "")
	}
	b.wantPart("ls", args{"depth": 3}, "… 8 more", "[8 entries not shown")
	b.refused("ls", args{"path": "nope"}, "does not exist")
}

func TestGrep(t *testing.T) {
	b := open(t, "replace", map[string]string{
		"a.go": "package a\n\nfunc A() {}\nfunc B() {}\n// end\n\n\n\nfunc C() {}\n", "sub/b.go": "func A() int\n", "c.txt": "func A\n",
		".gitignore": "ignored.go\n", "ignored.go": "func A()\n", ".github/workflows/ci.yml": "run: tests\n", ".git/ci.yml": "run: nothing\n",
	})
	// Files whose names begin with a dot are searched like others, but for git's own.
	b.want("grep", args{"pattern": "^run:"}, ".github/workflows/ci.yml\n1:run: tests\n")
	b.want("grep", args{"pattern": "^run:", "glob": []string{"*.yml"}, "output": "files"}, ".github/workflows/ci.yml\n")
	b.wantPart("find", args{"pattern": "*.yml"}, ".github/workflows/ci.yml  ")
	b.wantPart("find", args{"pattern": "workfl", "fuzzy": true}, ".github/workflows/ci.yml")
	b.wantPart("find", args{"pattern": "nothing.yml"}, "[No matches; ignored files were left out.]")
	b.refused("read", args{"path": "ci/ci.yml"}, "there is .github/workflows/ci.yml")
	b.want("grep", args{"pattern": `^func [AB]\(`, "type": "go"}, "a.go\n3:func A() {}\n4:func B() {}\n\nsub/b.go\n1:func A() int\n")
	b.want("grep", args{"pattern": `func [ABC]`, "path": "a.go", "context": 1},
		"a.go\n2-\n3:func A() {}\n4:func B() {}\n5-// end\n…\n8-\n9:func C() {}\n")
	b.want("grep", args{"pattern": "func A", "glob": []string{"a.*", "sub/*"}, "output": "files"}, "a.go\nsub/b.go\n")
	b.want("grep", args{"pattern": "func", "output": "count", "path": "a.go"}, "a.go: 3\n")
	b.want("grep", args{"pattern": "func", "limit": 1}, "a.go\n3:func A() {}\n[1 shown, there are more: narrow the pattern, or continue with offset=1.]")
	b.wantPart("grep", args{"pattern": "func A", "ignored": true}, "ignored.go\n1:func A()")
	b.wantPart("grep", args{"pattern": "nowhere"}, "[No matches in", "ignored ones were not searched")
	b.refused("grep", args{"pattern": "a("}, "a(")
	b.refused("grep", args{"pattern": "a", "output": "lots"}, "output")
	b.refused("grep", args{"pattern": "a", "path": "../x"}, "outside the workspace")
	// What was just written is found, though listings are kept for a while.
	if _, err := b.call("write", args{"path": "new/n.go", "content": "func New()\n"}); err != nil {
		t.Fatal(err)
	}
	b.want("grep", args{"pattern": "func New"}, "new/n.go\n1:func New()\n")
}

func TestFind(t *testing.T) {
	b := open(t, "replace", map[string]string{"cmd/main.go": "", "cmd/main_test.go": "", "README.md": "", "node_modules/x/main.go": ""})
	b.wantPart("find", args{"pattern": "*_test.go"}, "cmd/main_test.go  now\n")
	b.wantPart("find", args{"pattern": "cmain", "fuzzy": true, "limit": 1}, "cmd/main.go\n[1 shown, there are more")
	b.wantPart("find", args{"pattern": "*.rs"}, "[No matches")
	if got, _ := b.call("find", args{"pattern": "**/*.go"}); strings.Contains(got, "node_modules") {
		t.Errorf("found %s", got)
	}
}

func TestEdit(t *testing.T) {
	b := open(t, "replace", map[string]string{"a.go": "package a\r\n\r\nfunc A() {}\r\n"})
	b.want("edit", args{"path": "a.go", "edits": []args{{"old": "func A() {}", "new": "func B() {}"}}}, "Edited a.go\n+1 -1 lines")
	if got := b.get("a.go"); got != "package a\r\n\r\nfunc B() {}\r\n" {
		t.Errorf("the file holds %q", got)
	}
	b.refused("edit", args{"path": "a.go", "edits": []args{{"old": "func C() {}", "new": "x"}}}, "func B() {}")
	b.refused("edit", args{"path": "../a.go", "edits": []args{{"old": "a", "new": "b"}}}, "outside the workspace")
	b.put("zz.pb.go", "// Code generated by protoc. DO NOT EDIT.\npackage z\n")
	b.refused("edit", args{"path": "zz.pb.go", "edits": []args{{"old": "package z", "new": "package y"}}}, "is generated")
}

func TestEditByPatch(t *testing.T) {
	b := open(t, "patch", map[string]string{"a.txt": "one\ntwo\n", "old.txt": "x\n", "gone.txt": "y\n"})
	patch := "*** Begin Patch\n*** Update File: a.txt\n@@\n one\n-two\n+2\n*** Add File: new/n.txt\n+fresh\n*** Delete File: gone.txt\n*** Update File: old.txt\n*** Move to: moved.txt\n@@\n-x\n+z\n*** End Patch\n"
	key := "patch"
	var schema struct{ Properties map[string]any }
	if err := json.Unmarshal(b.tools["edit"].Parameters, &schema); err != nil {
		t.Fatal(err)
	}
	for name := range schema.Properties {
		key = name
	}
	b.wantPart("edit", args{key: patch}, "Edited a.txt\n", "Created new/n.txt\n", "Removed gone.txt\n", "Moved old.txt to moved.txt\n")
	if b.get("a.txt") != "one\n2\n" || b.get("new/n.txt") != "fresh\n" || b.get("moved.txt") != "z\n" {
		t.Error("the files hold something else")
	}
	access, err := b.tools["edit"].Access(mustJSON(t, args{key: patch}))
	if err != nil || len(access) != 5 {
		t.Errorf("a patch of five paths asks for %v, %v", access, err)
	}
	// Taking it back takes all of it back.
	b.wantPart("undo_edit", args{"path": "a.txt"}, "Restored a.txt", "Removed new/n.txt again", "Restored gone.txt", "Moved moved.txt back to old.txt")
	if b.get("a.txt") != "one\ntwo\n" || b.get("old.txt") != "x\n" || b.get("gone.txt") != "y\n" {
		t.Error("not everything is back")
	}
	if _, err := os.Stat(filepath.Join(b.dir, "moved.txt")); err == nil {
		t.Error("moved.txt is still there")
	}
}

func mustJSON(t *testing.T, v any) json.RawMessage {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// With line hashes, what read shows is what edit takes, and each edit shows the
// next hashes.
func TestReadShowsHashes(t *testing.T) {
	b := open(t, "hashline", map[string]string{"a.txt": "one\ntwo\n"})
	got, err := b.call("read", args{"path": "a.txt"})
	if err != nil || got != edit.Tagged("a.txt", []byte("one\ntwo\n"), 1, 2) {
		t.Errorf("read gave %q, %v", got, err)
	}
	b.wantPart("write", args{"path": "b.txt", "content": "x\n"}, edit.Tagged("b.txt", []byte("x\n"), 1, 1))
}

// Nobody's work is overwritten unseen.
func TestWrite(t *testing.T) {
	b := open(t, "replace", map[string]string{"a.txt": "mine\n"})
	b.want("write", args{"path": "dir/new.sh", "content": "#!/bin/sh\nexit\n"}, "Created dir/new.sh: 15 B, 2 lines")
	if info, err := os.Stat(filepath.Join(b.dir, "dir", "new.sh")); err != nil || info.Mode()&0o111 == 0 {
		t.Errorf("the script has mode %v, %v", info.Mode(), err)
	}
	b.refused("write", args{"path": "a.txt", "content": "yours\n"}, "have not read it")
	b.want("read", args{"path": "a.txt"}, "1|mine\n")
	b.put("a.txt", "mine, and more\n")
	b.refused("write", args{"path": "a.txt", "content": "yours\n"}, "has changed since you read it")
	b.want("read", args{"path": "a.txt"}, "1|mine, and more\n")
	b.want("write", args{"path": "a.txt", "content": "yours\n"}, "Wrote a.txt: 6 B, 1 line")
	b.want("write", args{"path": "a.txt", "content": "ours\n"}, "Wrote a.txt: 5 B, 1 line") // it knows what it wrote
	b.want("write", args{"path": "a.txt", "content": "ours\n"}, "a.txt already holds exactly this")
	b.want("undo_edit", args{"path": "a.txt"}, "Restored a.txt")
	b.want("undo_edit", args{"path": "a.txt"}, "Restored a.txt")
	if got := b.get("a.txt"); got != "mine, and more\n" {
		t.Errorf("undone twice it holds %q", got)
	}
	b.refused("undo_edit", args{"path": "a.txt"}, "no edit of yours left")
	b.want("undo_edit", args{"path": "dir/new.sh"}, "Removed dir/new.sh again")
	b.refused("write", args{"path": "a.txt:3", "content": ""}, "takes no lines")
	b.refused("write", args{"path": "/etc/burin-test", "content": ""}, "outside the workspace")
}

func TestUndoKeepsWhatOthersWrote(t *testing.T) {
	b := open(t, "replace", map[string]string{"a.txt": "one\n"})
	b.wantPart("edit", args{"path": "a.txt", "edits": []args{{"old": "one", "new": "two"}}}, "Edited")
	b.put("a.txt", "two, said the user\n")
	b.refused("undo_edit", args{"path": "a.txt"}, "changed since your edit")
	if got := b.get("a.txt"); got != "two, said the user\n" {
		t.Errorf("it holds %q", got)
	}
}

// What permission is asked about is what the call touches.
func TestAccess(t *testing.T) {
	b := open(t, "replace", map[string]string{"a.zip": "", "sub/there.txt": ""})
	for _, tt := range []struct {
		tool string
		args args
		kind tool.AccessKind
		want string
	}{
		{"read", args{"path": "a/../b.txt:10-20"}, tool.AccessRead, "b.txt"},
		{"read", args{"path": "a.zip:x/y"}, tool.AccessRead, "a.zip"},
		{"read", args{"path": "../x"}, tool.AccessRead, "../x"},
		{"read", args{"path": "there.txt:5"}, tool.AccessRead, "sub/there.txt"},
		{"read", args{"path": "file://sub/there.txt"}, tool.AccessRead, "sub/there.txt"},
		{"write", args{"path": filepath.Join(b.dir, "c"), "content": ""}, tool.AccessWrite, "c"},
		{"write", args{"path": "a.zip:x/y", "content": ""}, tool.AccessWrite, "a.zip"},
		{"edit", args{"path": "./d", "edits": []args{}}, tool.AccessWrite, "d"},
		{"undo_edit", args{"path": "e"}, tool.AccessWrite, "e"},
		{"grep", args{"pattern": "x"}, tool.AccessRead, "."},
		{"find", args{"pattern": "x", "path": "/"}, tool.AccessRead, "."},
	} {
		got, err := b.tools[tt.tool].Access(mustJSON(t, tt.args))
		if err != nil || len(got) != 1 || got[0].Kind != tt.kind || got[0].Target != tt.want {
			t.Errorf("%s %v asks for %v, %v; want %s %s", tt.tool, tt.args, got, err, tt.kind, tt.want)
		}
	}
}

const book = `{"nbformat":4,"nbformat_minor":5,"metadata":{"k":1},"cells":[{"cell_type":"code","id":"a","metadata":{"m":2},"outputs":[],"execution_count":null,"source":["print(\"1\")\n","x = 1"]}]}`

// What read shows of a notebook is what edit takes, and so is its JSON.
func TestEditNotebook(t *testing.T) {
	b := open(t, "replace", map[string]string{"nb.ipynb": book, "broken.ipynb": `{"a":1}`})
	b.want("read", args{"path": "nb.ipynb"}, "1|# %% [code] cell:0\n2|print(\"1\")\n3|x = 1\n")
	b.want("edit", args{"path": "nb.ipynb", "edits": []args{{"old": "print(\"1\")\nx = 1", "new": "print(\"2\")\nx = 2"}}}, "Edited nb.ipynb\n+2 -2 lines")
	b.want("read", args{"path": "nb.ipynb"}, "1|# %% [code] cell:0\n2|print(\"2\")\n3|x = 2\n")
	if got := b.get("nb.ipynb"); !strings.Contains(got, `"m":2`) && !strings.Contains(got, `"m": 2`) {
		t.Errorf("the metadata is gone: %s", got)
	}
	b.want("undo_edit", args{"path": "nb.ipynb"}, "Restored nb.ipynb")
	if got := b.get("nb.ipynb"); got != book {
		t.Errorf("undone it holds %s", got)
	}
	b.wantPart("edit", args{"path": "nb.ipynb", "edits": []args{{"old": `"k":1`, "new": `"k":3`}}}, "Edited nb.ipynb")
	if got := b.get("nb.ipynb"); got != strings.Replace(book, `"k":1`, `"k":3`, 1) {
		t.Errorf("it holds %s", got)
	}
	b.refused("edit", args{"path": "nb.ipynb", "edits": []args{{"old": `"k":3`, "new": `"k":`}}}, "nb.ipynb")
	b.refused("edit", args{"path": "nb.ipynb", "edits": []args{{"old": "# %% [code] cell:0", "new": "# %% [code] cell:7"}}}, "no cell 7")
	b.wantPart("edit", args{"path": "broken.ipynb", "edits": []args{{"old": `"a"`, "new": `"b"`}}}, "Edited")
	b.wantPart("read", args{"path": "nb.ipynb:raw"}, `"k":3`)
	b.wantPart("write", args{"path": "nb.ipynb", "content": "# %% [code] cell:0\ny = 3\n# %% [markdown]\nhello\n"}, "Wrote nb.ipynb")
	b.want("read", args{"path": "nb.ipynb"}, "1|# %% [code] cell:0\n2|y = 3\n3|# %% [markdown] cell:1\n4|hello\n")
}

func TestEditNotebookByHashes(t *testing.T) {
	b := open(t, "hashline", map[string]string{"nb.ipynb": book})
	text := "# %% [code] cell:0\nprint(\"1\")\nx = 1\n"
	b.want("read", args{"path": "nb.ipynb"}, edit.Tagged("nb.ipynb", []byte(text), 1, 3))
}

// What read puts in front of lines does not get into files.
func TestWriteTakesTagsOff(t *testing.T) {
	b := open(t, "replace", map[string]string{"a.txt": "one\n\ntwo\nthree\n", "data": "7|a\n8|b\n"})
	note := "\nNote: the line names that read shows were left out."
	b.wantPart("read", args{"path": "a.txt"}, "1|one")
	b.want("write", args{"path": "a.txt", "content": "1|one\n2|\n3|two\n4|3\n"}, "Wrote a.txt: 11 B, 4 lines"+note)
	b.want("write", args{"path": "a.txt", "content": "1|un\n2|deux\n3|trois\n4|\n"}, "Wrote a.txt: 23 B, 4 lines") // not what was read
	b.wantPart("read", args{"path": "data"}, "1|7|a")
	b.want("write", args{"path": "data", "content": "7|a\n8|c\n"}, "Wrote data: 8 B, 2 lines")
	b.want("write", args{"path": "new", "content": "1|a\n2|b\n"}, "Created new: 8 B, 2 lines")

	b = open(t, "hashline", map[string]string{"a.txt": "one\n\ntwo\n"})
	shown, err := b.call("read", args{"path": "a.txt"})
	if err != nil {
		t.Fatal(err)
	}
	b.wantPart("write", args{"path": "a.txt", "content": strings.Replace(shown, "|two", "|2", 1)}, note)
	if got := b.get("a.txt"); got != "one\n\n2\n" {
		t.Errorf("it holds %q", got)
	}
	b.wantPart("write", args{"path": "b.txt", "content": shown}, "Created b.txt: 9 B", note)
	b.wantPart("write", args{"path": "c.txt", "content": "1:abc|x\n"}, "Created c.txt: 8 B")
}

func TestWriteScript(t *testing.T) {
	b := open(t, "replace", map[string]string{"a.sh": "exit\n", "lib.py": "#!/usr/bin/python\n", "own.sh": "exit\n"})
	if err := os.Chmod(filepath.Join(b.dir, "own.sh"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := b.ws.BeginTurn("t1", "scripts"); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]os.FileMode{"a.sh": 0o755, "lib.py": 0o644, "own.sh": 0o600} {
		b.wantPart("read", args{"path": name}, "1|")
		b.wantPart("write", args{"path": name, "content": "#!/bin/sh\nexit 1\n"}, "Wrote")
		if info, err := os.Stat(filepath.Join(b.dir, name)); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s has mode %v, %v", name, info.Mode(), err)
		}
	}
	if done, err := b.ws.Undo(context.Background(), "t1"); err != nil || len(done.Kept) > 0 {
		t.Fatalf("undo gave %+v, %v", done, err)
	}
	if info, err := os.Stat(filepath.Join(b.dir, "a.sh")); err != nil || info.Mode().Perm() != 0o644 || b.get("a.sh") != "exit\n" {
		t.Errorf("undone it has mode %v and holds %q, %v", info.Mode(), b.get("a.sh"), err)
	}
}

func TestGeneratedFiles(t *testing.T) {
	const text = "// Code generated by protoc. DO NOT EDIT.\npackage z\n"
	for _, allowed := range []bool{false, true} {
		b := openWith(t, "replace", map[string]string{"z.go": text}, file.Options{EditGenerated: allowed})
		b.wantPart("read", args{"path": "z.go"}, "package z")
		for name, a := range map[string]args{
			"write": {"path": "z.go", "content": "package y\n"},
			"edit":  {"path": "z.go", "edits": []args{{"old": "package z", "new": "package y"}}},
		} {
			b.put("z.go", text)
			b.wantPart("read", args{"path": "z.go"}, "package z")
			if _, err := b.call(name, a); (err == nil) != allowed {
				t.Errorf("%s, allowed %v: %v", name, allowed, err)
			}
		}
	}
}

// Long source code is shown as an outline, unless lines are asked for.
func TestReadOutline(t *testing.T) {
	filler := strings.Repeat("\tx++ // work\n", 3000)
	inner := ""
	for range 500 {
		inner += "    def inner(self): pass\n"
	}
	b := open(t, "replace", map[string]string{
		"a.go":     "package a\n\ntype T struct{}\n\nfunc (T) M() {\n" + filler + "}\n\nvar v int\n\nconst c = 1\n\nfunc F() {}\n",
		"b.py":     strings.Repeat("class A:\n", 6) + inner + strings.Repeat("# x\n", 2000),
		"few.go":   "package a\n\nfunc F() {\n" + filler + "}\n",
		"short.go": "package a\n\nfunc A()\nfunc B()\nfunc C()\nfunc D()\nfunc E()\n",
		"a.txt":    strings.Repeat("func F() {}\n", 3000),
	})
	const head = "3|type T struct{}\n5|func (T) M() {\n3008|var v int\n3010|const c = 1\n3012|func F() {}\n"
	b.want("read", args{"path": "a.go"}, head+"[a.go has 3012 lines. These are its Go declarations; read what you need with :N-M, or all from the start with :1.]")
	b.want("read", args{"path": "b.py"}, "1|class A:\n2|class A:\n3|class A:\n4|class A:\n5|class A:\n6|class A:\n"+
		"[b.py has 2506 lines. These are its Python declarations, without 500 that are further inside or below; read what you need with :N-M, or all from the start with :1.]")
	for path, want := range map[string]string{
		"a.go:1": "1|package a\n", "a.go:raw": "package a\n", "few.go": "1|package a\n", "short.go": "1|package a\n", "a.txt": "1|func F() {}\n2|",
	} {
		if got, err := b.call("read", args{"path": path}); err != nil || !strings.HasPrefix(got, want) {
			t.Errorf("%s begins with %.60q, %v", path, got, err)
		}
	}
}

// Each language's declarations are found, and statements are not.
func TestOutlineLanguages(t *testing.T) {
	for name, lines := range map[string][]string{
		"x.ts":    {"export class A {", "  async load(id: string): Promise<void> {", "export const f = () => 1", "interface I {", "type T = string", "-  if (a) {", "-  load(id);"},
		"x.rs":    {"pub(crate) async fn f() {", "    fn g(&self) {", "impl T for U {", "pub struct S;", "mod m {", "-    let x = 1;", "-    f();"},
		"X.java":  {"public final class A {", "    private static <T> List<T> f(int a) {", "    public A(int x) {", "interface I {", "enum E {", "-    return f(a);", "-    private final A a = new A(1);"},
		"x.kt":    {"data class A(val x: Int)", "    override fun f() {", "object O {", "fun g() = 1", "interface I", "-    val x = f()"},
		"X.cs":    {"namespace N", "public sealed class A", "    public async Task<int> F(int a)", "    private static void G()", "struct S", "-    return F(a);"},
		"x.swift": {"public struct S {", "    init(a: Int) {", "    static func f() {", "extension S {", "protocol P {", "-    let x = f()"},
		"x.c":     {"typedef struct a {", "static int f(int a, char *b)", "#define M(a) a", "struct b {", "void g(void) {", "-    f(1, 2);", "-int h(void);"},
		"x.rb":    {"class A", "  def f", "module M", "  def self.g(a)", "  class B", "-  f"},
		"x.php":   {"final class A {", "    public static function f() {", "function g() {", "trait T {", "interface I {", "-    return f();"},
		"x.sh":    {"f() {", "function g {", "a-b() {", "  h () {", "i(){", "-  f x"},
	} {
		text, want := "", ""
		for i, line := range lines {
			line, other := strings.CutPrefix(line, "-")
			text += line + "\n"
			if !other {
				want += string(rune('1'+i)) + "|" + line + "\n"
			}
		}
		b := open(t, "replace", map[string]string{name: text + strings.Repeat("\n", 2500)})
		got, err := b.call("read", args{"path": name})
		if got, _, _ = strings.Cut(got, "["+name); err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", name, got, err, want)
		}
	}
}

// A search of a folder opens no file that is withheld and says how many there were; a
// file that is the path of the call is permission's own affair.
func TestGrepLeavesOutWithheldFiles(t *testing.T) {
	asked := ""
	b := openWith(t, "replace", map[string]string{"a.txt": "note a\n", ".env": "note secret\n", "sub/b.key": "note secret\n", "sub/c.txt": "other\n"}, file.Options{
		Withheld: func(folder string) func(string) bool {
			asked = folder
			return func(name string) bool { return strings.HasSuffix(name, ".env") || strings.HasSuffix(name, ".key") }
		},
	})
	for _, output := range []string{"lines", "files", "count"} {
		for _, multiline := range []bool{false, true} {
			got, err := b.call("grep", map[string]any{"pattern": "note", "ignored": true, "output": output, "multiline": multiline})
			if err != nil || strings.Contains(got, "note secret") || strings.Contains(got, "b.key") || !strings.Contains(got, "a.txt") || !strings.Contains(got, "2 files left out") || asked != "." {
				t.Errorf("%s, multiline %v, of %s: %s", output, multiline, asked, got)
			}
		}
	}
	if got, err := b.call("grep", map[string]any{"pattern": "nothing", "path": "sub"}); err != nil || !strings.Contains(got, "1 file left out") || asked != "sub" {
		t.Errorf("of %s: %s", asked, got)
	}
	if got, err := b.call("grep", map[string]any{"pattern": "note", "path": ".env"}); err != nil || !strings.Contains(got, "note secret") || strings.Contains(got, "left out") {
		t.Error(got)
	}
}

// The engine of whole files replaces none that the model has not read as it is now.
func TestWholeEditOfUnreadFile(t *testing.T) {
	b := open(t, "whole", map[string]string{"a.txt": "work of a person\n"})
	edit := map[string]any{"path": "a.txt", "content": "mine\n"}
	if _, err := b.call("edit", edit); err == nil || !strings.Contains(err.Error(), "you have not read it: read it first") || strings.Contains(err.Error(), "or use edit") {
		t.Errorf("unread: %v", err)
	}
	if _, err := b.call("read", map[string]any{"path": "a.txt"}); err != nil {
		t.Fatal(err)
	}
	b.put("a.txt", "changed meanwhile\n")
	if _, err := b.call("edit", edit); err == nil || !strings.Contains(err.Error(), "has changed since you read it") {
		t.Errorf("changed: %v", err)
	}
	if got := b.get("a.txt"); got != "changed meanwhile\n" {
		t.Fatalf("it holds %q", got)
	}
	if _, err := b.call("read", map[string]any{"path": "a.txt"}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.call("edit", edit); err != nil {
		t.Error(err)
	}
	if _, err := b.call("edit", map[string]any{"path": "new.txt", "content": "new\n"}); err != nil {
		t.Errorf("a new file: %v", err)
	}
}

// skills is a tree of two skills: one in the workspace, one elsewhere.
type skills struct{ inside, outside string }

func (s skills) Path(address string) string {
	rest, ok := strings.CutPrefix(address, "skill://in")
	if !ok {
		return filepath.Join(s.outside, strings.TrimPrefix(address, "skill://out"))
	}
	return filepath.Join(s.inside, rest)
}

func (s skills) Open(address string, use func(fs.FS, string) error) error {
	rest, ok := strings.CutPrefix(address, "skill://out")
	if !ok {
		return errors.New("no such skill")
	}
	r, err := os.OpenRoot(s.outside)
	if err != nil {
		return err
	}
	defer r.Close()
	return use(r.FS(), path.Join(".", rest))
}

// Addresses are searched and listed like folders. What lies in the workspace is judged and
// searched as its files are; elsewhere only the files of the address can be seen.
func TestTrees(t *testing.T) {
	outside := t.TempDir()
	tree := skills{outside: outside}
	b := openWith(t, "replace", map[string]string{"skills/in/SKILL.md": "needle inside\n", "skills/in/.env": "needle=1\n"}, file.Options{
		Trees: map[string]file.Tree{"skill": &tree},
		Withheld: func(folder string) func(string) bool {
			return func(name string) bool { return folder == "skills/in" && strings.HasSuffix(name, ".env") }
		},
	})
	tree.inside = filepath.Join(b.dir, "skills", "in")
	for name, text := range map[string]string{"SKILL.md": "needle outside\n", "docs/more.md": "a needle\n", "docs/.env": "needle=2\n"} {
		path := filepath.Join(outside, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	const left = "[1 file left out that rules refuse or that usually hold secrets: search one by its own path to ask for it.]"
	b.want("grep", args{"pattern": "needle", "path": "skill://out"}, "skill://out/SKILL.md\n1:needle outside\n\nskill://out/docs/more.md\n1:a needle\n"+left)
	b.want("grep", args{"pattern": "needle", "path": "skill://out/docs"}, "skill://out/docs/more.md\n1:a needle\n"+left)
	b.want("grep", args{"pattern": "needle", "path": "skill://in"}, "skills/in/SKILL.md\n1:needle inside\n"+left)
	b.want("find", args{"pattern": "**/*.md", "path": "skill://out/docs"}, "skill://out/docs/more.md  now\n")
	b.want("ls", args{"path": "skill://out/docs/more.md"}, "more.md  9 B  now")
	for path, want := range map[string]string{
		"skill://none": "no such skill", "rule://x": "unknown scheme rule://", "skill://out/../x": "",
	} {
		for _, tool := range []string{"grep", "find"} {
			b.refused(tool, args{"path": path, "pattern": "x"}, want)
		}
		b.refused("ls", args{"path": path}, want)
	}
	b.refused("read", args{"path": "skill://out/docs/.env"}, "usually holds keys or passwords")
	b.refused("read", args{"path": "skil://out"}, "unknown scheme skil://")
	for _, address := range []string{"skill://out/SKILL.md", "nosuch://a/b"} {
		b.refused("write", args{"path": address, "content": "x"}, "cannot be written; write takes paths and conflict://")
		b.refused("edit", args{"path": address, "edits": []any{args{"old": "needle", "new": "x"}}}, "cannot be written")
	}
	for name, want := range map[string]string{"skill://in/": "skills/in", "skill://in/docs:3-4": "skills/in/docs", "skill://out/docs": "skill://out/docs", "nosuch://x": "nosuch://x"} {
		access, err := b.tools["read"].Accesses([]byte(`{"path":"` + name + `"}`))
		got := ""
		if len(access) > 0 {
			got = access[0].Target
		}
		if got != want || err != nil {
			t.Errorf("%s: %v, %v; want %s", name, access, err, want)
		}
	}
}

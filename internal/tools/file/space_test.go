package file_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/platform/edit"
	"github.com/burin-dev/burin/internal/platform/search"
	"github.com/burin-dev/burin/internal/platform/workspace"
	"github.com/burin-dev/burin/internal/tools/file"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/tool"
)

// openBuffer is one open document.
type openBuffer struct{ name, text string }

func (o *openBuffer) Read(_ context.Context, name string) ([]byte, bool, error) {
	return []byte(o.text), name == o.name, nil
}

func (o *openBuffer) Write(_ context.Context, name string, before, after []byte) (bool, error) {
	if name != o.name {
		return false, nil
	}
	if o.text != string(before) {
		return false, &workspace.StaleError{Path: name}
	}
	o.text = string(after)
	return true, nil
}

func (o *openBuffer) Names() []string { return []string{o.name} }

// The tools do the same on every file system.
func TestToolsOnAnyFileSystem(t *testing.T) {
	seed := map[string]string{
		"a.txt": "one\ntwo\n", "in/b.txt": "two too\n", "in/c.log": "two\n", "out/d.txt": "two\n", "x/e.txt": "two\n",
		".gitignore": "*.log\n", ".git/info/exclude": "/out/\n", "x/.gitignore": "e.txt\n", "db.sqlite": "SQLite format 3\x00",
	}
	memory := workspace.NewMemory()
	for name, text := range seed {
		if err := memory.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	disk := open(t, "replace", seed).ws
	for name, w := range map[string]*workspace.Workspace{
		"directory": open(t, "replace", seed).ws, "memory": workspace.New(memory), "overlay": workspace.New(workspace.NewOverlay(disk.Files())), "buffers": open(t, "replace", seed).ws,
	} {
		t.Run(name, func(t *testing.T) {
			ctx, buffer := t.Context(), &openBuffer{"a.txt", seed["a.txt"]}
			if name == "buffers" {
				if err := w.Files().WriteFile("a.txt", []byte("saved long ago\n"), 0o644); err != nil {
					t.Fatal(err)
				}
				ctx = workspace.WithBuffers(ctx, buffer)
			}
			tools := map[string]*tool.Tool{}
			for _, one := range file.NewKit(file.Options{Workspace: w, Engine: edit.Engines()["replace"], Cache: search.NewCache()}).Tools() {
				tools[one.Name] = one
			}
			call := func(name string, a args, want string) {
				t.Helper()
				raw, err := json.Marshal(a)
				if err != nil {
					t.Fatal(err)
				}
				r, err := tools[name].Run(ctx, tool.Call{ID: "c", Name: name, Arguments: raw, Update: func(tool.Result) {}})
				got := ""
				if err != nil {
					got = err.Error()
				} else {
					for _, block := range r.Content {
						if t, ok := block.(llm.Text); ok {
							got += t.Text
						}
					}
				}
				if !strings.Contains(got, want) {
					t.Errorf("%s %v gave %q; want %q in it", name, a, got, want)
				}
			}
			call("write", args{"path": "a.txt", "content": "x"}, "have not read it")
			call("grep", args{"pattern": "two"}, "a.txt\n2:two\n\nin/b.txt\n1:two too\n")
			call("grep", args{"pattern": "two", "output": "count", "ignored": true}, "in/c.log: 1\nout/d.txt: 1\nx/e.txt: 1\n")
			call("grep", args{"pattern": "none"}, "No matches in 5 files")
			call("read", args{"path": "a.txt"}, "one\n")
			call("edit", args{"path": "a.txt", "edits": []args{{"old": "two", "new": "three"}}}, "+1 -1 lines")
			call("read", args{"path": "a.txt"}, "three\n")
			call("undo_edit", args{"path": "a.txt"}, "Restored a.txt")
			call("write", args{"path": "n/new.txt", "content": "fresh\n"}, "Created n/new.txt")
			call("find", args{"pattern": "**/*.txt"}, "n/new.txt")
			call("find", args{"pattern": "newtxt", "fuzzy": true}, "n/new.txt")
			call("grep", args{"pattern": "fresh"}, "1:fresh")
			call("ls", args{"path": "n"}, "new.txt")
			call("read", args{"path": "a.tx"}, "there is a.txt")
			if name == "memory" {
				call("read", args{"path": "db.sqlite"}, "file on disk")
			}
			if name == "buffers" {
				if data, err := w.Files().ReadFile("a.txt"); err != nil || string(data) != "saved long ago\n" || buffer.text != seed["a.txt"] {
					t.Errorf("the file holds %q, %v; the document %q", data, err, buffer.text)
				}
			}
		})
	}
}

package vfs_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/chat/store"
	"github.com/burin-dev/burin/internal/chat/store/storetest"
	"github.com/burin-dev/burin/internal/chat/vfs"
	"github.com/burin-dev/burin/internal/platform/edit"
	"github.com/burin-dev/burin/internal/platform/search"
	"github.com/burin-dev/burin/internal/platform/workspace"
	"github.com/burin-dev/burin/internal/tools/file"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/tool"
	"github.com/burin-dev/burin/transcript"
)

// The tools of models work on a project's files as on a folder.
func TestTools(t *testing.T) {
	storetest.Each(t, []store.Part{vfs.Part}, func(t *testing.T, open func() *store.DB) {
		for _, persona := range []string{"", "/minions/p"} {
			t.Run("in "+persona, func(t *testing.T) {
				b := create(t, open(), vfs.Limits{})
				b.write("/outside.txt", "needle outside")
				b.write("/share/s.txt", "needle shared")
				tree := b.Tree
				if persona != "" {
					var err error
					tree, err = b.Namespace(persona)
					b.ok(err)
				}
				tools(b, tree, persona == "")
			})
		}
	})
}

func tools(b *bench, tree *vfs.Tree, whole bool) {
	kit := file.NewKit(file.Options{
		Workspace: workspace.New(tree.Files(b.ctx)), Engine: edit.Engines()["replace"], Cache: search.NewCache(),
		Artifacts: transcript.NewArtifacts(b.TempDir()),
	})
	byName := map[string]*tool.Tool{}
	for _, one := range kit.Tools() {
		byName[one.Name] = one
	}
	call := func(name string, args map[string]any) (string, error) {
		raw, err := json.Marshal(args)
		b.ok(err)
		valid, err := byName[name].Validate(llm.ToolCall{ID: "c", Name: name, Arguments: string(raw)})
		if err != nil {
			return "", err
		}
		r, err := byName[name].Run(b.ctx, tool.Call{ID: "c", Name: name, Arguments: valid, Update: func(tool.Result) {}})
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
	says := func(name string, args map[string]any, parts ...string) {
		b.Helper()
		got, err := call(name, args)
		for _, part := range parts {
			if without, ok := strings.CutPrefix(part, "!"); err != nil || strings.Contains(got, without) == ok {
				b.Errorf("%s %v gave %q, %v; want %q", name, args, got, err, part)
			}
		}
	}
	says("write", map[string]any{"path": "notes/__proto__/a b.md", "content": "one\nneedle\nthree\n"}, "a b.md")
	says("read", map[string]any{"path": "notes/__proto__/a b.md"}, "needle", "three")
	says("read", map[string]any{"path": "/notes/__proto__/a b.md:2-2"}, "needle")
	says("edit", map[string]any{"path": "notes/__proto__/a b.md", "edits": []map[string]any{{"old": "needle", "new": "$& needle $1"}}}, "a b.md")
	if data, info, err := tree.Read(b.ctx, "/notes/__proto__/a b.md"); err != nil || string(data) != "one\n$& needle $1\nthree\n" || info.Version != 2 {
		b.Errorf("the file holds %q as %+v, %v", data, info, err)
	}
	says("ls", map[string]any{"path": ".", "depth": 3}, "notes/", "__proto__/", "a b.md", "share/")
	outside := "!outside"
	if whole {
		outside = "outside.txt"
	}
	says("grep", map[string]any{"pattern": "nee.le"}, "a b.md", "s.txt", outside)
	says("find", map[string]any{"pattern": "**/*.{md,txt}"}, "notes/__proto__/a b.md", "share/s.txt", outside)
	says("undo_edit", map[string]any{"path": "notes/__proto__/a b.md"}, "a b.md")
	says("read", map[string]any{"path": "notes/__proto__/a b.md"}, "needle", "!$&")

	// What another wrote meanwhile isn't overwritten.
	_, err := tree.Write(b.ctx, "/notes/__proto__/a b.md", []byte("another's\n"), vfs.Anything)
	b.ok(err)
	if got, err := call("edit", map[string]any{"path": "notes/__proto__/a b.md", "edits": []map[string]any{{"old": "needle", "new": "x"}}}); err == nil {
		b.Errorf("an edit of what isn't there gave %q", got)
	}
	says("read", map[string]any{"path": "notes/__proto__/a b.md"}, "another's")
	for _, path := range []string{"../outside.txt", "/../outside.txt", "share/../../outside.txt"} {
		if got, err := call("read", map[string]any{"path": path}); err == nil && !whole && strings.Contains(got, "needle") {
			b.Errorf("%s is %q", path, got)
		}
	}
	if !whole {
		if got, err := call("write", map[string]any{"path": "share/s.txt", "content": "mine"}); err == nil {
			b.Errorf("share was written: %q", got)
		}
		b.holds("/share/s.txt", "needle shared")
	}
}

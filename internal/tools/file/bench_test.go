package file_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/platform/edit"
	"github.com/burin-dev/burin/internal/platform/search"
	"github.com/burin-dev/burin/internal/platform/workspace"
	"github.com/burin-dev/burin/internal/tools/file"
	"github.com/burin-dev/burin/tool"
)

// BenchmarkTools calls tools on a directory that has no journal, which would cost more
// than they do.
func BenchmarkTools(b *testing.B) {
	w, err := workspace.Open(b.TempDir(), workspace.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer w.Close()
	const name = "a/b/c/f.txt"
	if err := w.Files().WriteFile(name, []byte(strings.Repeat("a line of the file\n", 1000)+"end 0\n"), 0o644); err != nil {
		b.Fatal(err)
	}
	tools := map[string]*tool.Tool{}
	for _, one := range file.NewKit(file.Options{Workspace: w, Engine: edit.Engines()["replace"], Cache: search.NewCache()}).Tools() {
		tools[one.Name] = one
	}
	ends := [2]string{"end 0", "end 1"}
	for tool, arguments := range map[string]func(i int) args{
		"read": func(int) args { return args{"path": name} },
		"edit": func(i int) args {
			return args{"path": name, "edits": []args{{"old": ends[i%2], "new": ends[(i+1)%2]}}}
		},
	} {
		b.Run(tool, func(b *testing.B) { benchmarkTool(b, tools[tool], arguments) })
		if err := w.Files().WriteFile(name, []byte(strings.Repeat("a line of the file\n", 1000)+"end 0\n"), 0o644); err != nil {
			b.Fatal(err)
		}
	}
}

func benchmarkTool(b *testing.B, t *tool.Tool, arguments func(i int) args) {
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		raw, err := json.Marshal(arguments(i))
		if err != nil {
			b.Fatal(err)
		}
		if _, err := t.Run(b.Context(), tool.Call{ID: "c", Name: t.Name, Arguments: raw, Update: func(tool.Result) {}}); err != nil {
			b.Fatal(err)
		}
	}
}

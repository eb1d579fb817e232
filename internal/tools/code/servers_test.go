package code_test

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/internal/platform/lsp"
	"github.com/burin-dev/burin/internal/platform/process"
	"github.com/burin-dev/burin/internal/platform/search"
	"github.com/burin-dev/burin/internal/platform/workspace"
	"github.com/burin-dev/burin/internal/tools/code"
	"github.com/burin-dev/burin/internal/tools/file"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/tool"
	"github.com/burin-dev/burin/transcript"
)

func TestMain(m *testing.M) {
	process.Main()
	os.Exit(m.Run())
}

// project is a real project with a real server, and what each action of the tool says there.
type project struct {
	server, program string
	files           map[string]string
	steps           []step
	// cannot are actions that this server does not know; the call says so.
	cannot []string
	after  map[string]string // files, when all is done
}

// step is a call, with texts of its result; ID in it is the id that was given last.
type step struct {
	call  string // arguments
	wants string // parts of the result, with "|" between them
	later bool   // once the server, which does not say when, has looked at the whole project
}

// program finds the program of a server: gopls by BURIN_GOPLS, those of npm by BURIN_NPM, or in PATH.
func program(t *testing.T, name string) string {
	t.Helper()
	pacetest.Costly(t)
	for _, path := range []string{os.Getenv("BURIN_GOPLS"), filepath.Join(os.Getenv("BURIN_NPM"), "node_modules", ".bin", name)} {
		if _, err := os.Stat(path); err == nil && strings.HasPrefix(filepath.Base(path), name) {
			return path
		}
	}
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skip(name + " is not installed: see .ci/run")
	}
	return path
}

// kit gives the tool for a project, and the project's folder.
func kit(t *testing.T, p *project) (*tool.Tool, string) {
	t.Helper()
	path := program(t, p.program)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range p.files {
		write(t, filepath.Join(dir, name), text)
	}
	i := slices.IndexFunc(lsp.Table(), func(s lsp.Server) bool { return s.Name == p.server })
	s := lsp.Table()[i]
	s.Path = path
	ws, err := workspace.Open(dir, workspace.Options{StateDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ws.Close() })
	pool := lsp.NewPool(lsp.Options{Version: "test"})
	t.Cleanup(func() { _ = pool.Close() })
	kept := transcript.NewArtifacts(t.TempDir())
	files := file.NewKit(file.Options{Workspace: ws, Artifacts: kept, Cache: search.NewCache()})
	return code.New(code.Options{
		Workspace: ws, Pool: pool, Servers: []lsp.Server{s}, Artifacts: kept, Commit: files.Commit, OnEdit: true,
		Deadline: 30 * time.Second, Timeout: 2 * time.Minute,
	}).Tool(), dir
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// run calls the tool as a session does.
func run(t *testing.T, one *tool.Tool, call string) (string, error) {
	t.Helper()
	valid, err := one.Validate(llm.ToolCall{ID: "c", Name: one.Name, Arguments: call})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := one.Accesses(valid); err != nil {
		t.Fatal(err)
	}
	r, err := one.Run(context.Background(), tool.Call{ID: "c", Name: one.Name, Arguments: valid, Update: func(tool.Result) {}})
	if err != nil {
		return "", err
	}
	var text strings.Builder
	for _, block := range r.Content {
		if b, ok := block.(llm.Text); ok {
			text.WriteString(b.Text)
		}
	}
	return text.String(), nil
}

// Each action of the tool does with each real server what it says, or says that this server can't.
func TestEveryActionWithRealServers(t *testing.T) {
	for _, p := range projects() {
		t.Run(p.server, func(t *testing.T) {
			t.Parallel()
			one, dir := kit(t, &p)
			done := map[string]bool{}
			last := ""
			for _, s := range p.steps {
				call := strings.ReplaceAll(s.call, "ID", last)
				got, err := run(t, one, call)
				for began := time.Now(); s.later && err == nil && !strings.Contains(got, s.wants) && time.Since(began) < 20*time.Second; {
					got, err = run(t, one, call)
				}
				if err != nil {
					t.Errorf("%s: %v", call, err)
					continue
				}
				for want := range strings.SplitSeq(s.wants, "|") {
					if !strings.Contains(got, want) {
						t.Errorf("%s gave\n%s\nwant %q", call, got, want)
					}
				}
				if i := strings.LastIndex(got, "change-"); i >= 0 {
					last = got[i:][:len("change-")+strings.IndexFunc(got[i+len("change-"):]+" ", func(r rune) bool { return r < '0' || r > '9' })]
				}
				done[action(t, call)] = true
			}
			for _, name := range p.cannot {
				call, _ := json.Marshal(map[string]any{"action": name, "path": slices.Max(slices.Collect(maps.Keys(p.files))), "line": 1, "new_name": "x", "new_path": "new", "query": "source"})
				if got, err := run(t, one, string(call)); err == nil && !strings.Contains(got, "can't change imports") || err != nil && !strings.Contains(err.Error(), "not supported") {
					t.Errorf("%s: %q, %v; it can", name, got, err)
				}
				done[name] = true
			}
			var schema struct {
				Properties struct{ Action struct{ Enum []string } }
			}
			if err := json.Unmarshal(one.Parameters, &schema); err != nil || len(schema.Properties.Action.Enum) < 18 {
				t.Fatalf("the actions are %v, %v", schema, err)
			}
			for _, name := range schema.Properties.Action.Enum {
				if !done[name] {
					t.Errorf("%s has no step", name)
				}
			}
			for name, want := range p.after {
				if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != want {
					t.Errorf("%s holds %q, %v; want %q", name, got, err, want)
				}
			}
		})
	}
}

func action(t *testing.T, call string) string {
	t.Helper()
	var a struct{ Action string }
	if err := json.Unmarshal([]byte(call), &a); err != nil {
		t.Fatal(err)
	}
	return a.Action
}

func projects() []project {
	return []project{
		{
			server: "gopls", program: "gopls",
			files: map[string]string{
				"go.mod":   "module example.com/p\n\ngo 1.24\n",
				"shape.go": "package p\n\n// Shape has an area.\ntype Shape interface{ Area(scale int) int }\n\n// Square is one.\ntype Square struct{ side int }\n\n// Area says how large it is.\nfunc (s Square) Area(scale int) int { return s.side * s.side * scale }\n",
				"use.go":   "package p\n\nfunc total(all []Shape) int {\n\tsum := 0\n\tfor _, one := range all {\n\t\tsum += one.Area(2)\n\t}\n\treturn sum\n}\n\nvar ä, whole = \"😀\", total(nil)\n",
				"ugly.go":  "package p\nfunc  ugly( ) { fmt.Println() }\n",
			},
			steps: []step{
				{call: `{"action":"diagnostics"}`, wants: "ugly.go:2: error: undefined: fmt"}, // before it knows of any document
				{call: `{"action":"definition","path":"use.go","symbol":"total","line":11}`, wants: "use.go:3: func total"},
				{call: `{"action":"type_definition","path":"use.go","symbol":"one","line":6}`, wants: "shape.go:4: type Shape"},
				{call: `{"action":"implementation","path":"shape.go","symbol":"Shape","line":4}`, wants: "shape.go:7: type Square"},
				{call: `{"action":"references","path":"use.go","symbol":"total","line":3}`, wants: "use.go:3:|use.go:11: var ä, whole"},
				{call: `{"action":"hover","path":"shape.go","symbol":"Square","line":7}`, wants: "Square is one"},
				{call: `{"action":"signature","path":"use.go","symbol":"total","line":11}`, wants: "all []Shape"},
				{call: `{"action":"symbols","path":"shape.go"}`, wants: "4: interface Shape|7: struct Square"},
				{call: `{"action":"symbols","query":"Square"}`, wants: "shape.go:7: struct"},
				{call: `{"action":"callers","path":"use.go","symbol":"total","line":3}`, wants: "use.go:"},
				{call: `{"action":"callees","path":"use.go","symbol":"total","line":3}`, wants: "shape.go:4: function Area"},
				{call: `{"action":"supertypes","path":"shape.go","symbol":"Square","line":7}`, wants: "shape.go:4: interface Shape"},
				{call: `{"action":"subtypes","path":"shape.go","symbol":"Shape","line":4}`, wants: "shape.go:7: class Square"},
				{call: `{"action":"hints","path":"use.go"}`, wants: "No hints there."},
				{call: `{"action":"diagnostics","path":"ugly.go"}`, wants: "ugly.go:2: error: undefined: fmt"},
				{call: `{"action":"actions","path":"ugly.go","query":"source.organizeImports"}`, wants: "Organize Imports"},
				{call: `{"action":"apply","id":"ID"}`, wants: "Applied: Organize Imports"},
				{call: `{"action":"format","path":"ugly.go"}`, wants: "Formatted"},
				{call: `{"action":"rename","path":"use.go","symbol":"total","line":3,"new_name":"sumOf"}`, wants: "use.go +2 -2"},
				{call: `{"action":"apply","id":"ID"}`, wants: "Applied"},
				{call: `{"action":"rename_file","path":"use.go","new_path":"used.go"}`, wants: "used.go, from use.go"},
				{call: `{"action":"apply","id":"ID"}`, wants: "Applied"},
			},
			after: map[string]string{
				"ugly.go": "package p\n\nimport \"fmt\"\n\nfunc ugly() { fmt.Println() }\n",
				"used.go": "package p\n\nfunc sumOf(all []Shape) int {\n\tsum := 0\n\tfor _, one := range all {\n\t\tsum += one.Area(2)\n\t}\n\treturn sum\n}\n\nvar ä, whole = \"😀\", sumOf(nil)\n",
			},
		},
		{
			server: "typescript-language-server", program: "typescript-language-server",
			files: map[string]string{
				"package.json":  "{}",
				"tsconfig.json": `{"compilerOptions": {"strict": true, "module": "esnext", "moduleResolution": "bundler"}}`,
				"shape.ts":      "export interface Shape { area(scale: number): number }\n\n/** A square. */\nexport class Square implements Shape {\n  constructor(private side: number) {}\n  area(scale: number) { return this.side * this.side * scale }\n}\n",
				"use.ts":        "import { Shape, Square } from './shape'\n\nexport function total(all: Shape[]) { return all.length }\n\nconst one: Shape = new Square(3)\nexport const sum: string = total([one])\n",
				"ugly.ts":       "export   const a=new   Square( 1 )\n",
			},
			steps: []step{
				{call: `{"action":"definition","path":"use.ts","symbol":"total","line":6}`, wants: "use.ts:3: export function total"},
				{call: `{"action":"type_definition","path":"use.ts","symbol":"one","line":5}`, wants: "shape.ts:1: export interface Shape"},
				{call: `{"action":"implementation","path":"shape.ts","symbol":"Shape","line":1}`, wants: "shape.ts:4: export class Square"},
				{call: `{"action":"references","path":"use.ts","symbol":"total","line":3}`, wants: "use.ts:3:|use.ts:6:"},
				{call: `{"action":"hover","path":"shape.ts","symbol":"Square","line":4}`, wants: "A square."},
				{call: `{"action":"signature","path":"use.ts","symbol":"total","line":6}`, wants: "all: Shape[]"},
				{call: `{"action":"symbols","path":"shape.ts"}`, wants: "interface Shape|class Square"},
				{call: `{"action":"symbols","query":"Square"}`, wants: "shape.ts:4: class Square"},
				{call: `{"action":"callers","path":"use.ts","symbol":"total","line":3}`, wants: "use.ts"},
				{call: `{"action":"callees","path":"use.ts","symbol":"total","line":3}`, wants: "No callees"},
				{call: `{"action":"hints","path":"use.ts"}`, wants: "hints"},
				{call: `{"action":"diagnostics","path":"use.ts"}`, wants: "use.ts:6: error: Type 'number' is not assignable to type 'string'"},
				{call: `{"action":"diagnostics"}`, wants: "use.ts:6: error"},
				{call: `{"action":"actions","path":"ugly.ts","line":1,"symbol":"Square"}`, wants: `change-1: Add import from "./shape" (quickfix), ugly.ts`},
				{call: `{"action":"apply","id":"change-1"}`, wants: "Applied"},
				{call: `{"action":"format","path":"ugly.ts"}`, wants: "Formatted"},
				{call: `{"action":"rename","path":"use.ts","symbol":"total","line":3,"new_name":"sumOf"}`, wants: "use.ts +2 -2"},
				{call: `{"action":"apply","id":"ID"}`, wants: "Applied"},
				{call: `{"action":"rename_file","path":"shape.ts","new_path":"form.ts"}`, wants: "form.ts, from shape.ts|use.ts +1 -1"},
				{call: `{"action":"apply","id":"ID"}`, wants: "Applied"},
			},
			cannot: []string{"supertypes", "subtypes"},
			after:  map[string]string{"use.ts": "import { Shape, Square } from './form'\n\nexport function sumOf(all: Shape[]) { return all.length }\n\nconst one: Shape = new Square(3)\nexport const sum: string = sumOf([one])\n"},
		},
		{
			server: "pyright", program: "pyright-langserver",
			files: map[string]string{
				"pyproject.toml": "",
				"shape.py":       "class Shape:\n    def area(self, scale: int) -> int:\n        return 0\n\n\nclass Square(Shape):\n    \"\"\"A square.\"\"\"\n\n    def area(self, scale: int) -> int:\n        return scale\n",
				"use.py":         "from shape import Shape, Square\n\n\ndef total(all: list[Shape]) -> int:\n    return len(all)\n\n\none: Shape = Square()\nsum: str = total([one])\n",
			},
			steps: []step{
				{call: `{"action":"definition","path":"use.py","symbol":"total","line":9}`, wants: "use.py:4: def total"},
				{call: `{"action":"type_definition","path":"use.py","symbol":"one","line":8}`, wants: "shape.py:"},
				{call: `{"action":"references","path":"use.py","symbol":"total","line":4}`, wants: "use.py:4:|use.py:9:"},
				{call: `{"action":"hover","path":"shape.py","symbol":"Square","line":6}`, wants: "A square."},
				{call: `{"action":"signature","path":"use.py","symbol":"total","line":9}`, wants: "all: list[Shape]"},
				{call: `{"action":"symbols","path":"shape.py"}`, wants: "class Shape|class Square"},
				{call: `{"action":"symbols","query":"Square"}`, wants: "shape.py:6: class Square"},
				{call: `{"action":"callers","path":"use.py","symbol":"total","line":4}`, wants: "use.py"},
				{call: `{"action":"callees","path":"use.py","symbol":"total","line":4}`, wants: "len"},
				{call: `{"action":"diagnostics","path":"use.py"}`, wants: `use.py:9: error: Type "int" is not assignable to declared type "str"`},
				{call: `{"action":"diagnostics"}`, wants: "use.py:9: error"},
				{call: `{"action":"actions","path":"use.py","line":9}`, wants: "No actions there."},
				{call: `{"action":"rename","path":"use.py","symbol":"total","line":4,"new_name":"sum_of"}`, wants: "use.py +2 -2"},
				{call: `{"action":"apply","id":"ID"}`, wants: "Applied"},
				{call: `{"action":"rename_file","path":"shape.py","new_path":"form.py"}`, wants: "form.py, from shape.py"},
			},
			cannot: []string{"implementation", "supertypes", "subtypes", "hints", "format"},
			after:  map[string]string{"use.py": "from shape import Shape, Square\n\n\ndef sum_of(all: list[Shape]) -> int:\n    return len(all)\n\n\none: Shape = Square()\nsum: str = sum_of([one])\n"},
		},
		{
			server: "bashls", program: "bash-language-server",
			files: map[string]string{
				"lib.sh": "#!/bin/bash\n# says hello\ngreet() {\n  echo hello\n}\n",
				"use.sh": "#!/bin/bash\nsource ./lib.sh\n\ngreet\nwelcome() { greet; }\nwelcome\n",
			},
			steps: []step{
				{call: `{"action":"definition","path":"use.sh","symbol":"greet","line":4}`, wants: "lib.sh:3: greet()", later: true},
				{call: `{"action":"references","path":"use.sh","symbol":"welcome","line":5}`, wants: "use.sh:5:|use.sh:6:"},
				{call: `{"action":"hover","path":"use.sh","symbol":"greet","line":4}`, wants: "says hello"},
				{call: `{"action":"symbols","path":"lib.sh"}`, wants: "function greet"},
				{call: `{"action":"symbols","query":"greet"}`, wants: "lib.sh:3: function greet"},
				{call: `{"action":"diagnostics","path":"use.sh"}`, wants: "No diagnostics."},
				{call: `{"action":"diagnostics"}`, wants: "No diagnostics."},
				{call: `{"action":"actions","path":"use.sh","line":4}`, wants: "No actions there."},
				{call: `{"action":"format","path":"lib.sh"}`, wants: "formatted already"}, // by shfmt, or because that isn't there
				{call: `{"action":"rename","path":"use.sh","symbol":"welcome","line":5,"new_name":"hello"}`, wants: "use.sh +2 -2"},
				{call: `{"action":"apply","id":"ID"}`, wants: "Applied"},
				{call: `{"action":"rename_file","path":"lib.sh","new_path":"library.sh"}`, wants: "library.sh, from lib.sh"},
			},
			cannot: []string{"type_definition", "implementation", "signature", "callers", "callees", "supertypes", "subtypes", "hints"},
			after:  map[string]string{"use.sh": "#!/bin/bash\nsource ./lib.sh\n\ngreet\nhello() { greet; }\nhello\n"},
		},
	}
}

// Package burin_test holds the rules of the house: what may import what, what
// must be documented, what tests and packages must not do, and why each
// dependency is there. They are tests so that no one has to remember them.
package burin_test

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/burin-dev/burin"

type pkg struct {
	ImportPath   string
	Dir          string
	Doc          string
	Name         string
	GoFiles      []string
	Imports      []string
	TestImports  []string
	XTestImports []string
}

// packages lists all packages of the module.
func packages(t *testing.T) []pkg {
	t.Helper()
	cmd := exec.Command("go", "list", "-e", "-json=ImportPath,Dir,Doc,Name,GoFiles,Imports,TestImports,XTestImports", "./...")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var pkgs []pkg
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return pkgs
		} else if err != nil {
			t.Fatal(err)
		}
		p.ImportPath = strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
		pkgs = append(pkgs, p)
	}
}

// layers say what each room may import beside its own packages; "x/..." is x and
// all below it. A package's room is the longest prefix that matches. Rooms that are not here yet are
// listed when they are built.
var layers = map[string][]string{
	"cmd":                     {"", "internal/mode/...", "internal/model/...", "internal/customize/...", "session/...", "agent", "transcript/...", "tool", "llm/..."},
	"internal/mode":           {"", "internal/markdown/...", "internal/model/...", "internal/customize/...", "session/...", "agent", "transcript/...", "tool", "llm", "llm/wire"},
	"internal/mode/tui":       {"", "internal/markdown/...", "internal/platform/sqlfile", "internal/model/...", "internal/customize/...", "session/...", "agent", "transcript/...", "tool", "llm", "llm/wire"},
	"internal/mode/demo":      {"", "internal/mode/print", "internal/model/...", "internal/customize/...", "llm/..."},
	"":                        {"session/...", "agent", "transcript/...", "tool", "llm", "internal/tools/...", "internal/platform/...", "internal/customize/..."},
	"session":                 {"session/...", "agent", "transcript", "tool", "llm"},
	"session/compact":         {"transcript", "tool", "llm"},
	"session/secret":          {"llm"},
	"agent":                   {"tool", "llm"},
	"transcript":              {"tool", "llm", "internal/platform/filelock", "internal/platform/sqlfile", "internal/markdown/..."},
	"internal/prose":          {},
	"internal/jsontext":       {},
	"internal/fuzzy":          {},
	"internal/markdown":       {},
	"tool":                    {"llm", "llm/schema"},
	"internal/tools":          {"tool", "llm", "transcript", "internal/platform/..."},
	"internal/platform":       {"tool", "llm"},
	"internal/model":          {"llm/...", "internal/platform/filelock", "internal/platform/sqlfile"},
	"internal/model/connect":  {"internal/model/...", "llm/..."},
	"internal/customize":      {"internal/model/catalog", "internal/model/credential/oauth", "llm"},
	"llm":                     {},
	"llm/wire":                {"llm"},
	"llm/schema":              {},
	"llm/internal":            {"llm", "llm/wire"},
	"llm/awsauth":             {"llm", "llm/wire"},
	"llm/gcpauth":             {"llm", "llm/wire"},
	"llm/anthropic":           {"llm", "llm/wire", "llm/schema", "llm/internal/..."},
	"llm/openai":              {"llm", "llm/wire", "llm/schema", "llm/internal/..."},
	"llm/google":              {"llm", "llm/wire", "llm/schema", "llm/internal/..."},
	"llm/bedrock":             {"llm", "llm/wire", "llm/schema", "llm/awsauth"},
	"llm/llmtest":             {"llm", "llm/wire"},
	"llm/llmtest/conformance": {"llm", "llm/wire", "llm/llmtest"},
}

// everywhere may be imported by every room, and imports none of ours.
var everywhere = []string{"internal/prose", "internal/jsontext", "internal/fuzzy"}

// room is the key of layers that path belongs to.
func room(path string) (string, bool) {
	best, found := "", false
	for r := range layers {
		if (path == r || strings.HasPrefix(path, r+"/")) && (!found || len(r) > len(best)) {
			best, found = r, true
		}
	}
	return best, found
}

func TestImportDirections(t *testing.T) {
	for _, p := range packages(t) {
		if len(p.GoFiles) == 0 { // only tests
			continue
		}
		from, ok := room(p.ImportPath)
		if !ok {
			t.Errorf("%s is in no room: add it to the rooms in house_test.go and ARCHITECTURE.md", p.ImportPath)
			continue
		}
		for _, imp := range p.Imports {
			if imp != module && !strings.HasPrefix(imp, module+"/") {
				continue
			}
			imp = strings.TrimPrefix(strings.TrimPrefix(imp, module), "/")
			if !mayImport(from, p.ImportPath, imp) {
				t.Errorf("%s must not import %s: the direction is cmd → mode → session → agent, transcript → tool, llm", p.ImportPath, imp)
			}
		}
	}
}

func mayImport(from, path, imp string) bool {
	if to, ok := room(imp); ok && to == from && (from != "internal/mode" || strings.HasPrefix(imp, path+"/")) {
		return true // within one room, except that faces never know each other
	}
	if slices.Contains(everywhere, imp) {
		return true
	}
	for _, allowed := range layers[from] {
		tree, whole := strings.CutSuffix(allowed, "/...")
		if imp == tree || whole && strings.HasPrefix(imp, tree+"/") {
			return true
		}
	}
	return false
}

func TestPackagesAreDocumented(t *testing.T) {
	for _, p := range packages(t) {
		if len(p.GoFiles) == 0 { // only tests
			continue
		}
		if len(strings.Fields(p.Doc)) < 5 {
			t.Errorf("%s has no package comment that says what it is for", p.ImportPath)
		}
	}
}

// goFiles parses the project's Go files; generated ones are left out.
func goFiles(t *testing.T, tests bool, visit func(path string, fset *token.FileSet, f *ast.File)) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "node_modules" || d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && path != ".") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") != tests {
			return nil
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, path, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		visit(path, fset, f)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Package-level variables are tables, errors, compiled patterns, interface
// guards and build facts, or values computed once; none is written by any
// function, and there is no init.
func TestNoPackageState(t *testing.T) {
	type global struct{ pkg, name string }
	globals := map[global]token.Position{}
	goFiles(t, false, func(path string, fset *token.FileSet, f *ast.File) {
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Name.Name == "init" && d.Recv == nil {
					t.Errorf("%s: init functions run in every process: do the work where it is needed", fset.Position(d.Pos()))
				}
			case *ast.GenDecl:
				if d.Tok != token.VAR {
					continue
				}
				for _, s := range d.Specs {
					for _, name := range s.(*ast.ValueSpec).Names {
						if name.Name != "_" {
							globals[global{filepath.Dir(path), name.Name}] = fset.Position(name.Pos())
						}
					}
				}
			}
		}
	})
	goFiles(t, false, func(path string, fset *token.FileSet, f *ast.File) {
		dir := filepath.Dir(path)
		report := func(e ast.Expr, shadow map[string]bool) {
			name := rootName(e)
			if pos, ok := globals[global{dir, name}]; ok && !shadow[name] {
				t.Errorf("%s: writes the package-level variable %s of %s: state belongs to a value", fset.Position(e.Pos()), name, pos)
			}
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Body == nil {
				continue
			}
			local := localNames(fn)
			ast.Inspect(fn.Body, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.AssignStmt:
					if n.Tok != token.DEFINE {
						for _, l := range n.Lhs {
							report(l, local)
						}
					}
				case *ast.IncDecStmt:
					report(n.X, local)
				case *ast.CallExpr:
					if id, ok := n.Fun.(*ast.Ident); ok && id.Name == "delete" && len(n.Args) > 0 {
						report(n.Args[0], local)
					}
				}
				return true
			})
		}
	})
}

// rootName is the variable an assignable expression begins with.
func rootName(e ast.Expr) string {
	for {
		switch x := e.(type) {
		case *ast.Ident:
			return x.Name
		case *ast.IndexExpr:
			e = x.X
		case *ast.SelectorExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.ParenExpr:
			e = x.X
		default:
			return ""
		}
	}
}

// localNames are the names a function declares anywhere.
func localNames(fn *ast.FuncDecl) map[string]bool {
	names := map[string]bool{}
	fields := func(l *ast.FieldList) {
		if l == nil {
			return
		}
		for _, f := range l.List {
			for _, n := range f.Names {
				names[n.Name] = true
			}
		}
	}
	fields(fn.Recv)
	ast.Inspect(fn, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncType:
			fields(n.Params)
			fields(n.Results)
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				for _, l := range n.Lhs {
					names[rootName(l)] = true
				}
			}
		case *ast.RangeStmt:
			for _, e := range []ast.Expr{n.Key, n.Value} {
				if n.Tok == token.DEFINE && e != nil {
					names[rootName(e)] = true
				}
			}
		case *ast.ValueSpec:
			for _, id := range n.Names {
				names[id.Name] = true
			}
		}
		return true
	})
	return names
}

func TestNoTestSleeps(t *testing.T) {
	goFiles(t, true, func(path string, fset *token.FileSet, f *ast.File) {
		ast.Inspect(f, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok && s.Sel.Name == "Sleep" && rootName(s.X) == "time" {
				t.Errorf("%s: a test sleeps: wait for a state, or use testing/synctest", fset.Position(n.Pos()))
			}
			return true
		})
	})
}

// Every module in go.mod that burin asks for itself has a line in
// docs/dependencies.md: why it is there, what it costs, what would replace it.
func TestDependenciesAreExplained(t *testing.T) {
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := os.ReadFile("docs/dependencies.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]int{}
	for line := range strings.Lines(string(doc)) {
		cells := strings.Split(line, "|")
		if len(cells) < 3 || !strings.Contains(cells[1], "`") {
			continue
		}
		filled := 0
		for _, c := range cells[2 : len(cells)-1] {
			if strings.TrimSpace(c) != "" {
				filled++
			}
		}
		rows[strings.Trim(strings.TrimSpace(cells[1]), "`")] = filled
	}
	require := regexp.MustCompile(`(?m)^\t([^\s/]+/\S+) v\S+( // indirect)?$|^require (\S+) v\S+$`)
	direct := map[string]bool{}
	for _, m := range require.FindAllStringSubmatch(string(mod), -1) {
		if m[2] != "" {
			continue
		}
		path := m[1] + m[3]
		direct[path] = true
		if n, ok := rows[path]; !ok || n < 3 {
			t.Errorf("go.mod asks for %s, and docs/dependencies.md does not say why it is there, what it costs and what would replace it", path)
		}
	}
	for path := range rows {
		if !direct[path] {
			t.Errorf("docs/dependencies.md speaks of %s, which go.mod does not ask for", path)
		}
	}
	if len(direct) == 0 {
		t.Error("found no direct dependency in go.mod: the pattern is wrong")
	}
}

// The rules themselves must be able to fail.
func TestImportRule(t *testing.T) {
	for _, tt := range []struct {
		from, imp string
		want      bool
	}{
		{"llm", "llm/wire", false},
		{"llm/anthropic", "llm/openai", false},
		{"llm/anthropic", "llm/wire", true},
		{"llm/google", "internal/model/catalog", false},
		{"internal/mode/print", "internal/mode/tui", false},
		{"internal/mode/print", "internal/model/catalog", true},
		{"internal/model/catalog", "internal/mode/print", false},
		{"cmd/burin", "internal/mode/print", true},
	} {
		from, _ := room(tt.from)
		if got := mayImport(from, tt.from, tt.imp); got != tt.want {
			t.Errorf("%s imports %s: allowed %v, want %v", tt.from, tt.imp, got, tt.want)
		}
	}
}

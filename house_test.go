// Package burin_test holds the rules of the house: what may import what, what
// must be documented, what tests and packages must not do, and why each
// dependency is there. They are tests so that no one has to remember them.
package burin_test

import (
	"bytes"
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
	"sync"
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
	pkgs, err := listed()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	return pkgs
}

// listed are the packages, which are listed once for all tests.
var listed = sync.OnceValues(func() (pkgs []pkg, err error) {
	cmd := exec.Command("go", "list", "-e", "-json=ImportPath,Dir,Doc,Name,GoFiles,Imports,TestImports,XTestImports", "./...")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return pkgs, nil
		} else if err != nil {
			return nil, err
		}
		p.ImportPath = strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
		pkgs = append(pkgs, p)
	}
})

// layers say what each room may import beside its own packages; "x/..." is x and
// all below it. A package's room is the longest prefix that matches. Rooms that are not here yet are
// listed when they are built.
var layers = map[string][]string{
	"cmd":                     {"", "internal/chat/...", "internal/installed", "internal/platform/certificate", "internal/platform/keyfile", "internal/platform/smallfile", "internal/host/...", "internal/host", "internal/bench", "internal/mode/...", "internal/model/...", "internal/customize/...", "session/...", "agent", "transcript/...", "tool/...", "llm/..."},
	"internal/host":           {"internal/bench", "internal/installed", "internal/platform/workspace", "internal/platform/search", "internal/platform/split", "internal/platform/smallfile", "internal/platform/mcp", "internal/platform/lsp", "internal/platform/outbound", "internal/model/...", "internal/customize/...", "session/...", "agent", "transcript/...", "tool/...", "llm", "llm/wire"},
	"internal/host/checkup":   {"internal/host", "internal/host/archive", "internal/host/inventory", "internal/installed", "internal/platform/filelock", "internal/platform/sandbox", "internal/model/...", "internal/customize/...", "llm", "llm/wire"},
	"internal/chat":           {"session", "session/remote", "tool/...", "transcript/...", "llm", "internal/platform/..."},
	"internal/host/chats":     {"agent", "internal/host", "internal/host/owner", "internal/chat/...", "session/...", "transcript", "llm"},
	"internal/host/update":    {"internal/installed", "internal/platform/filelock", "llm/wire"},
	"internal/host/owner":     {"agent", "session/...", "transcript/...", "llm", "internal/installed", "internal/platform/ipc"},
	"internal/host/schedule":  {"internal/installed", "internal/platform/filelock", "internal/platform/smallfile", "internal/platform/timer"},
	"web":                     {},
	"internal/mode":           {"docs", "web", "internal/chat/...", "internal/host", "internal/host/...", "internal/installed", "internal/markdown/...", "internal/model/...", "internal/customize/...", "session/...", "agent", "transcript/...", "tool/...", "llm", "llm/wire"},
	"internal/mode/tui":       {"internal/host", "internal/host/...", "internal/markdown/...", "internal/installed", "internal/platform/git", "internal/platform/smallfile", "internal/platform/sqlfile", "internal/model/...", "internal/customize/...", "session/...", "agent", "transcript/...", "tool/...", "llm", "llm/wire"},
	"internal/acp":            {},
	"internal/external":       {"internal/acp", "internal/platform/edit", "tool/...", "llm"},
	"internal/mode/acp":       {"internal/acp", "internal/host", "internal/host/...", "internal/model/...", "internal/customize/...", "internal/platform/workspace", "session/...", "agent", "transcript/...", "tool/...", "llm", "llm/wire"},
	"internal/mode/mcp":       {},
	"internal/mode/private":   {"internal/chat/vault", "internal/tools/eval", "internal/tools/plan", "session", "session/remote", "agent", "transcript", "transcript/sealed", "tool", "llm", "llm/wire", "llm/anthropic", "llm/openai", "llm/google"},
	"internal/mode/demo":      {"internal/bench", "internal/installed", "internal/mode/print", "internal/model/...", "internal/customize/...", "llm/..."},
	"docs":                    {},
	"internal/bench":          {"docs", "session/...", "agent", "transcript/...", "tool/...", "llm", "internal/tools/...", "internal/platform/...", "internal/customize/prompt", "internal/customize/rule", "internal/customize/source", "internal/installed", "internal/external"},
	"":                        {"internal/host", "internal/bench", "internal/customize/config", "internal/platform/workspace", "session/...", "agent", "transcript/...", "tool/...", "llm"},
	"examples":                {"", "session", "agent", "transcript", "tool", "llm"},
	"session":                 {"session/...", "agent", "transcript", "tool/...", "llm"},
	"session/handletest":      {"session", "agent", "transcript", "tool/...", "llm/..."},
	"session/compact":         {"transcript", "tool/...", "llm"},
	"session/secret":          {"llm"},
	"agent":                   {"tool", "llm"},
	"transcript":              {"tool", "llm", "internal/platform/filelock", "internal/platform/sqlfile", "internal/markdown/..."},
	"internal/markdown":       {},
	"internal/prose":          {},
	"internal/jsontext":       {},
	"internal/fuzzy":          {},
	"internal/sorting":        {},
	"internal/pacetest":       {},
	"internal/browsertest":    {},
	"tool":                    {"llm", "llm/schema"},
	"internal/tools":          {"tool/...", "llm", "transcript", "internal/installed", "internal/platform/..."},
	"internal/installed":      {},
	"internal/platform":       {"tool/...", "llm", "internal/installed"},
	"internal/platform/mcp":   {"internal/platform/process", "internal/platform/smallfile", "llm/wire"},
	"internal/platform/lsp":   {"internal/platform/process"},
	"internal/model":          {"llm/...", "internal/platform/filelock", "internal/platform/smallfile", "internal/platform/sqlfile"},
	"internal/model/connect":  {"internal/model/...", "llm/..."},
	"internal/customize":      {"internal/model/catalog", "internal/model/credential/oauth", "internal/platform/filelock", "internal/platform/mcp", "internal/platform/smallfile", "llm"},
	"llm":                     {},
	"llm/wire":                {"llm"},
	"llm/schema":              {},
	"llm/internal":            {"llm", "llm/wire"},
	"llm/internal/azureauth":  {"llm", "llm/wire", "internal/installed"},
	"llm/awsauth":             {"llm", "llm/wire", "internal/installed"},
	"llm/gcpauth":             {"llm", "llm/wire"},
	"llm/anthropic":           {"llm", "llm/wire", "llm/schema", "llm/internal/..."},
	"llm/openai":              {"llm", "llm/wire", "llm/schema", "llm/internal/..."},
	"llm/google":              {"llm", "llm/wire", "llm/schema", "llm/internal/..."},
	"llm/bedrock":             {"llm", "llm/wire", "llm/schema", "llm/awsauth"},
	"llm/llmtest":             {"llm", "llm/wire"},
	"llm/llmtest/conformance": {"llm", "llm/wire", "llm/llmtest"},
}

// everywhere may be imported by every room, and imports none of ours.
var everywhere = []string{"internal/prose", "internal/jsontext", "internal/fuzzy", "internal/pacetest", "internal/sorting"}

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
			if imp == "internal/pacetest" && !strings.HasSuffix(p.Name, "test") && p.Name != "conformance" {
				t.Errorf("%s must not import %s: it is for tests", p.ImportPath, imp)
			}
			if !mayImport(from, p.ImportPath, imp) {
				t.Errorf("%s must not import %s: the direction is cmd → mode → host → bench → session → agent, transcript → tool, llm", p.ImportPath, imp)
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
	read := programFiles
	if tests {
		read = testFiles
	}
	files, err := read()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files.files {
		visit(f.path, files.fset, f.parsed)
	}
}

// parsedFiles are files with their syntax. Visitors leave it as it is.
type parsedFiles struct {
	fset  *token.FileSet
	files []parsedFile
}

type parsedFile struct {
	path   string
	parsed *ast.File
}

// They are parsed once for all tests.
var (
	programFiles = sync.OnceValues(func() (parsedFiles, error) { return parseFiles(false) })
	testFiles    = sync.OnceValues(func() (parsedFiles, error) { return parseFiles(true) })
)

func parseFiles(tests bool) (parsedFiles, error) {
	all := parsedFiles{fset: token.NewFileSet()}
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
		f, err := parser.ParseFile(all.fset, path, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		all.files = append(all.files, parsedFile{path, f})
		return nil
	})
	return all, err
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

// What burin starts by itself runs unconfined, so no command may have put it there:
// package installed finds it. The exceptions start burin itself, a program at a path that
// is known, or what runs under a guard.
func TestProgramsAreFoundInOnePlace(t *testing.T) {
	exceptions := []string{
		"internal/installed/", "internal/platform/process/", "internal/platform/script/", "internal/platform/git/", "internal/platform/shell/find.go",
		"internal/mode/tui/robot/", "internal/mode/tui/vt/tmuxtest/", "transcript/storetest/", "internal/pacetest/", "internal/platform/pgtest/", "internal/browsertest/", "internal/platform/lsp/lsptest/", // for tests
	}
	goFiles(t, false, func(path string, fset *token.FileSet, f *ast.File) {
		path = filepath.ToSlash(path)
		if slices.ContainsFunc(exceptions, func(e string) bool { return strings.HasPrefix(path, e) }) {
			return
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok && rootName(s.X) == "exec" && (s.Sel.Name == "LookPath" || strings.HasPrefix(s.Sel.Name, "Command")) {
				t.Errorf("%s: exec.%s starts what a command may have put into PATH: use package installed", fset.Position(n.Pos()), s.Sel.Name)
			}
			return true
		})
	})
}

// Text is put on one line, cut, counted and made harmless in package prose. Copies of that
// differed in what they let through.
func TestTextIsPreparedInOnePlace(t *testing.T) {
	names := []string{"oneLine", "plural", "counted", "printable", "ellipsize", "clip", "shorten", "deceptive"}
	exceptions := []string{
		"internal/prose/",
		"internal/mode/tui/key/", "internal/model/usage/render.go", "session/compact/quote.go", "session/compact/cut.go", "internal/customize/config/config.go", // other things of that name
		"internal/platform/edit/refusal.go", "internal/mode/tui/viewer/render.go", "tool/example.go",
		"transcript/storetest/", "llm/llmtest/", // texts of tests
	}
	goFiles(t, false, func(path string, fset *token.FileSet, f *ast.File) {
		path = filepath.ToSlash(path)
		if slices.ContainsFunc(exceptions, func(e string) bool { return strings.HasPrefix(path, e) }) {
			return
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, fn.Name.Name) }) {
				t.Errorf("%s: %s: use package prose", fset.Position(fn.Pos()), fn.Name.Name)
			}
		}
	})
}

// A function that only tests call is code that no user has. It is looked for by name,
// which finds most of them at little cost. Public packages are for others, too, and
// exported methods may be what an interface asks for.
func TestFunctionsAreCalled(t *testing.T) {
	forTests := func(dir string) bool {
		return strings.HasSuffix(dir, "test") || slices.Contains([]string{"internal/mode/tui/vt", "internal/mode/tui/robot"}, dir)
	}
	exceptions := []string{ // of faces that are not built yet
		"internal/platform/workspace.New", "internal/platform/workspace.NewMemory", "internal/platform/workspace.NewOverlay", "internal/platform/workspace.WithBuffers",
		"internal/host/update/minisign.ParseSeed", // releases are signed by .ci/release
	}
	const method = "method "
	declared, used := map[string]token.Position{}, map[string]bool{}
	goFiles(t, false, func(path string, fset *token.FileSet, f *ast.File) {
		dir := filepath.ToSlash(filepath.Dir(path))
		program := (strings.HasPrefix(dir, "internal/") || strings.HasPrefix(dir, "cmd/")) && !forTests(dir)
		imports := map[string]string{}
		for _, i := range f.Imports {
			if imported, ours := strings.CutPrefix(strings.Trim(i.Path.Value, `"`), module+"/"); ours {
				as := imported[strings.LastIndexByte(imported, '/')+1:]
				if i.Name != nil {
					as = i.Name.Name
				}
				imports[as] = imported
			}
		}
		noUse := map[*ast.Ident]bool{}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				noUse[n.Name] = true
				switch {
				case !program || n.Name.Name == "main":
				case n.Recv == nil:
					declared[dir+"."+n.Name.Name] = fset.Position(n.Pos())
				case !n.Name.IsExported():
					declared[method+n.Name.Name] = fset.Position(n.Pos())
				}
			case *ast.SelectorExpr:
				noUse[n.Sel] = true
				used[method+n.Sel.Name] = true
				used[imports[rootName(n.X)]+"."+n.Sel.Name] = true
			case *ast.InterfaceType:
				for _, m := range n.Methods.List {
					for _, name := range m.Names {
						used[method+name.Name] = true
					}
				}
			case *ast.Ident:
				if !noUse[n] {
					used[dir+"."+n.Name] = true
				}
			}
			return true
		})
	})
	for name, where := range declared {
		if !used[name] && !slices.Contains(exceptions, name) {
			t.Errorf("%s: nothing but tests calls %s", where, name)
		}
	}
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
	before, app, _ := bytes.Cut(doc, []byte("\n## In the chat app\n")) // which npm asks for
	_, after, _ := bytes.Cut(app, []byte("\n## In tests only\n"))
	doc = slices.Concat(before, after)
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

// docs/own.md says of each package that a library could stand for what we saw of one, or
// that there is none: by its name, or by that of a tree, "x/...".
func TestOwnPartsAreExplained(t *testing.T) {
	doc, err := os.ReadFile("docs/own.md")
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	for _, m := range regexp.MustCompile("`((?:cmd|internal|llm|session|tool|transcript)(?:/[a-z0-9./]+)?)`").FindAllStringSubmatch(string(doc), -1) {
		named[m[1]] = false
	}
	for _, p := range packages(t) {
		covered := false
		for name := range named {
			tree, whole := strings.CutSuffix(name, "/...")
			if p.ImportPath == tree || whole && strings.HasPrefix(p.ImportPath, tree+"/") {
				named[name], covered = true, true
			}
		}
		top := regexp.MustCompile("^(internal/(platform|tools|markdown|jsontext)|llm|transcript)(/|$)")
		if !covered && top.MatchString(p.ImportPath) {
			t.Errorf("docs/own.md does not say why burin has %s of its own", p.ImportPath)
		}
	}
	for name, found := range named {
		if !found {
			t.Errorf("docs/own.md speaks of %s, which is no package", name)
		}
	}
}

// AGENTS.md names files, folders and tests that are there.
func TestAgentsPageIsTrue(t *testing.T) {
	page, err := os.ReadFile("AGENTS.md")
	if err != nil {
		t.Fatal(err)
	}
	paths := regexp.MustCompile("`((?:cmd|internal|docs|llm|session|agent|transcript|testdata)[\\w./*-]*|[A-Z]+\\.md)`").FindAllStringSubmatch(string(page), -1)
	if len(paths) < 10 {
		t.Errorf("only %d paths were found", len(paths))
	}
	for _, m := range paths {
		if found, err := filepath.Glob(m[1]); err != nil || len(found) == 0 {
			t.Errorf("AGENTS.md names %s, which is not there", m[1])
		}
	}
	for _, m := range regexp.MustCompile(`go test \./(\S+) -run (\w+)`).FindAllStringSubmatch(string(page), -1) {
		files, _ := filepath.Glob(filepath.Join(m[1], "*_test.go"))
		if !slices.ContainsFunc(files, func(name string) bool {
			text, err := os.ReadFile(name)
			return err == nil && strings.Contains(string(text), "func "+m[2]+"(")
		}) {
			t.Errorf("AGENTS.md runs %s of %s, which is not there", m[2], m[1])
		}
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
		{"cmd/burin", "internal/host/archive", true},
		{"internal/mode/tui", "internal/host/archive", true},
		{"internal/host/archive", "internal/mode/print", false},
		{"internal/host/archive", "cmd/burin", false},
		{"session", "internal/host/archive", false},
	} {
		from, _ := room(tt.from)
		if got := mayImport(from, tt.from, tt.imp); got != tt.want {
			t.Errorf("%s imports %s: allowed %v, want %v", tt.from, tt.imp, got, tt.want)
		}
	}
}

package burin_test

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// checked are the module's packages with their types, by path within the module. The bodies
// of one of them are looked at too: handed are the methods that it uses without calling them.
func checked(t *testing.T, bodies string) (packages map[string]*types.Package, handed []*types.Selection) {
	t.Helper()
	cmd := exec.Command("go", "list", "-e", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles", "./...")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	fset, exports := token.NewFileSet(), map[string]string{}
	packages = map[string]*types.Package{}
	compiled := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			ImportPath, Dir, Export string
			GoFiles                 []string
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return packages, handed
		} else if err != nil {
			t.Fatal(err)
		}
		if p.ImportPath != module && !strings.HasPrefix(p.ImportPath, module+"/") {
			exports[p.ImportPath] = p.Export
			continue
		}
		var files []*ast.File
		for _, name := range p.GoFiles {
			f, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, f)
		}
		path := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
		conf := types.Config{
			IgnoreFuncBodies: path != bodies,
			Importer: importFunc(func(path string) (*types.Package, error) {
				if rest, ok := strings.CutPrefix(path, module); ok {
					return packages[strings.TrimPrefix(rest, "/")], nil
				}
				return compiled.Import(path)
			}),
		}
		info := &types.Info{Selections: map[*ast.SelectorExpr]*types.Selection{}}
		if packages[path], err = conf.Check(p.ImportPath, fset, files, info); err != nil {
			t.Fatal(err)
		}
		if path != bodies {
			continue
		}
		for _, f := range files {
			ast.Inspect(f, func(n ast.Node) bool {
				if call, ok := n.(*ast.CallExpr); ok {
					if s, ok := call.Fun.(*ast.SelectorExpr); ok {
						delete(info.Selections, s)
					}
				}
				return true
			})
		}
		for _, s := range info.Selections {
			if s.Kind() == types.MethodVal {
				handed = append(handed, s)
			}
		}
	}
}

type importFunc func(path string) (*types.Package, error)

func (f importFunc) Import(path string) (*types.Package, error) { return f(path) }

// maxMethods is how many methods a type may have, promoted ones counted: one with more is
// several things.
const maxMethods = 45

// methodsOf counts the methods of a type, promoted ones too, that this module has written.
func methodsOf(t types.Type) (n int) {
	if !types.IsInterface(t) {
		t = types.NewPointer(t)
	}
	for s := range types.NewMethodSet(t).Methods() {
		if p := s.Obj().Pkg(); p != nil && strings.HasPrefix(p.Path(), module) {
			n++
		}
	}
	return n
}

// wholes are the types that are made of parts. A part that could reach its whole could do
// everything, whatever its fields say.
var wholes = map[string]string{"internal/mode/tui": "app", "internal/platform/undo": "Journal", "session": "Session"}

func TestTypesAreSmall(t *testing.T) {
	packages, handed := checked(t, "internal/mode/tui")
	for path, p := range packages {
		for _, name := range p.Scope().Names() {
			o, ok := p.Scope().Lookup(name).(*types.TypeName)
			if !ok || o.IsAlias() {
				continue
			}
			full := strings.TrimPrefix(path+"."+name, ".")
			if n := methodsOf(o.Type()); n > maxMethods {
				t.Errorf("%s has %d methods, promoted ones counted, and may have %d: split it", full, n, maxMethods)
			}
		}
	}
	for path, name := range wholes {
		whole := packages[path].Scope().Lookup(name).Type().(*types.Named)
		if way := wayTo(whole, whole, map[types.Type]bool{}); way != "" {
			t.Errorf("%s leads back to %s: a part gets what it needs of others, not its whole", way, name)
		}
		for _, s := range handed {
			if recv := s.Obj().(*types.Func).Signature().Recv(); recv != nil && types.Identical(pointed(recv.Type()), whole) {
				t.Errorf("%s.%s is handed on without being called: a part that has it reaches %s", name, s.Obj().Name(), name)
			}
		}
	}
}

// wayTo is the way from a type over fields of the module's structs to another; "" is none.
func wayTo(from types.Type, to *types.Named, seen map[types.Type]bool) string {
	n, ok := from.(*types.Named)
	if !ok || seen[n] || n.Obj().Pkg() == nil || !strings.HasPrefix(n.Obj().Pkg().Path(), module) {
		return ""
	}
	seen[n] = true
	s, ok := n.Underlying().(*types.Struct)
	if !ok {
		return ""
	}
	for f := range s.Fields() {
		held := pointed(f.Type())
		if types.Identical(held, to) {
			return n.Obj().Name() + "." + f.Name()
		}
		if way := wayTo(held, to, seen); way != "" {
			return n.Obj().Name() + "." + f.Name() + " → " + way
		}
	}
	return ""
}

// pointed is what a type holds at last: behind pointers, in lists and tables.
func pointed(t types.Type) types.Type {
	for {
		switch x := t.(type) {
		case *types.Pointer:
			t = x.Elem()
		case *types.Slice:
			t = x.Elem()
		case *types.Array:
			t = x.Elem()
		case *types.Chan:
			t = x.Elem()
		case *types.Map:
			t = x.Elem()
		default:
			return t
		}
	}
}

package burin_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/customize/config"
)

// readers are the places of product code outside of package config that read settings: keys
// as texts, and selectors such as "Compaction.Strategy".
type readers struct{ texts, selectors map[string]bool }

func findReaders(t *testing.T) readers {
	t.Helper()
	r := readers{map[string]bool{}, map[string]bool{}}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if err == nil && (strings.HasPrefix(d.Name(), ".") && path != "." || d.Name() == "testdata" || path == filepath.Join("internal", "customize", "config") || d.Name() == "node_modules") {
				return fs.SkipDir
			}
			return err
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		short := map[string]string{} // own := c.Compaction
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				for i, right := range n.Rhs {
					if u, ok := right.(*ast.UnaryExpr); ok {
						right = u.X
					}
					if sel, ok := right.(*ast.SelectorExpr); ok && i < len(n.Lhs) {
						if name, ok := n.Lhs[i].(*ast.Ident); ok {
							short[name.Name] = sel.Sel.Name
						}
					}
				}
			case *ast.BasicLit:
				if text, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING {
					r.texts[text] = true
				}
			case *ast.SelectorExpr:
				switch x := n.X.(type) {
				case *ast.SelectorExpr:
					r.selectors[x.Sel.Name+"."+n.Sel.Name] = true
				case *ast.Ident:
					r.selectors[n.Sel.Name] = true
					if of := short[x.Name]; of != "" {
						r.selectors[of+"."+n.Sel.Name] = true
					}
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// selector is a setting in Go: "Compaction.Strategy" for compaction.strategy.
func selector(t *testing.T, key string) string {
	t.Helper()
	at, out := reflect.TypeFor[config.Config](), ""
	for part := range strings.SplitSeq(key, ".") {
		found := false
		for i := range at.NumField() {
			if tag, _, _ := strings.Cut(at.Field(i).Tag.Get("yaml"), ","); tag == part {
				out, at, found = out+"."+at.Field(i).Name, at.Field(i).Type, true
				break
			}
		}
		if !found {
			t.Fatalf("no field of %s", key)
		}
	}
	return out[1:]
}

// Every setting is read by product code and has a test in which two values of it give
// different requests, results or screens. testdata/effects.txt names that test.
func TestSettingsHaveAnEffect(t *testing.T) {
	list, err := os.ReadFile("testdata/effects.txt")
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]string{}
	for line := range strings.Lines(string(list)) {
		if key, where, ok := strings.Cut(strings.TrimSpace(line), " "); ok && key != "#" {
			if tests[key] != "" {
				t.Errorf("%s is listed twice", key)
			}
			tests[key] = where
		}
	}
	read := findReaders(t)
	if len(read.texts) < 1000 || len(read.selectors) < 1000 {
		t.Fatalf("only %d texts and %d selectors were found", len(read.texts), len(read.selectors))
	}
	for _, s := range config.Settings() {
		if !read.texts[s.Key] && !read.selectors[selector(t, s.Key)] {
			t.Errorf("no product code reads %s", s.Key)
		}
		where := tests[s.Key]
		delete(tests, s.Key)
		file, name, _ := strings.Cut(where, ":")
		text, err := os.ReadFile(file)
		if where == "" || err != nil {
			t.Errorf("%s has no test in which two values differ: name it in testdata/effects.txt (%v)", s.Key, err)
			continue
		}
		body := string(text)
		switch {
		case name != "":
			_, rest, ok := strings.Cut(body, "\nfunc "+name+"(")
			if body, _, _ = strings.Cut(rest, "\n}\n"); !ok {
				t.Errorf("%s: %s has no test %s", s.Key, file, name)
				continue
			}
		case strings.HasSuffix(file, ".go"):
			t.Errorf("%s: which test of %s?", s.Key, file)
		}
		last := s.Key[strings.LastIndexByte(s.Key, '.')+1:]
		if !regexp.MustCompile(`\b` + last + `\b`).MatchString(body) {
			t.Errorf("%s: %s doesn't set it", s.Key, where)
		}
	}
	for key := range tests {
		t.Errorf("testdata/effects.txt lists %s, which is not a setting", key)
	}
}

package burin_test

import (
	"go/ast"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// Messages, help and pages don't use phrases that were replaced with plain English:
// testdata/phrases.txt lists them, each with the wording to use instead.
func TestPlainWords(t *testing.T) {
	text, err := os.ReadFile("testdata/phrases.txt")
	if err != nil {
		t.Fatal(err)
	}
	instead := map[string]string{}
	var alternatives []string
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		old, plain, ok := strings.Cut(line, " => ")
		if !ok || plain == "" {
			t.Fatalf("phrases.txt: %q: want OLD => NEW", line)
		}
		old = strings.ToLower(old)
		instead[old] = plain
		alternatives = append(alternatives, regexp.QuoteMeta(old))
	}
	if len(instead) < 20 {
		t.Fatalf("only %d phrases", len(instead))
	}
	phrases := regexp.MustCompile(`(?:^|\W)(` + strings.Join(alternatives, "|") + `)(?:\W|$)`)
	check := func(where, text string) {
		text = strings.Join(strings.Fields(strings.ToLower(text)), " ")
		for _, m := range phrases.FindAllStringSubmatch(text, -1) {
			t.Errorf("%s: %q: write %q", where, m[1], instead[m[1]])
		}
	}
	goFiles(t, false, func(path string, fset *token.FileSet, f *ast.File) {
		ast.Inspect(f, func(n ast.Node) bool {
			if _, ok := n.(*ast.ImportSpec); ok {
				return false
			}
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if text, err := strconv.Unquote(lit.Value); err == nil {
					check(fset.Position(lit.Pos()).String(), text)
				}
			}
			return true
		})
	})
	pages := []string{"README.md"}
	err = filepath.WalkDir("docs", func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".md") {
			pages = append(pages, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		check(page, string(text))
	}
}

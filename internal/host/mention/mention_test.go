package mention

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFind(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the names are those of Unix")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"ws/main.go", "ws/a b.txt", "ws/src/x.go", "ws/odd).", "outside.txt"} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	ws := filepath.Join(dir, "ws")
	if err := os.Symlink("../outside.txt", filepath.Join(ws, "out")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("src/x.go", filepath.Join(ws, "in")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", dir)
	for _, tt := range []struct {
		text string
		want []string // as written, =, the path below dir; folders end with /
	}{
		{"fix @main.go", []string{"@main.go=ws/main.go"}},
		{"(@main.go), `@src/x.go`: why?", []string{"@main.go=ws/main.go", "@src/x.go=ws/src/x.go"}},
		{"in @src...\nand @./main.go!", []string{"@src=ws/src/", "@./main.go=ws/main.go"}},
		{`"see @main.go" or "@in`, []string{"@main.go=ws/main.go", "@in=ws/in"}},
		{`@"a b.txt", @"a b`, []string{`@"a b.txt"=ws/a b.txt`}},
		{"@odd).", []string{"@odd).=ws/odd)."}},
		{"@main.go @main.go", []string{"@main.go=ws/main.go"}},
		{"mail me@main.go, @@main.go, @nothing @. @ @/ @..", nil},
		{"@../outside.txt @out @src/../../outside.txt", nil},
		{"@" + dir + "/outside.txt @~/outside.txt @" + dir + "/ws/src", []string{"@" + dir + "/outside.txt=outside.txt", "@" + dir + "/ws/src=ws/src/"}},
		{"@local://../main.go @./skill://../src/x.go", nil},
		{"@/dev/null", nil},
		{"ünï @main.go ü", []string{"@main.go=ws/main.go"}},
		{strings.Repeat("@no ", 2*maxLookups) + "@main.go", nil}, // beyond what is looked for
	} {
		var got []string
		for _, m := range Find(tt.text, ws) {
			rel, err := filepath.Rel(dir, m.Path)
			if err != nil {
				t.Fatal(err)
			}
			if m.Dir {
				rel += "/"
			}
			got = append(got, tt.text[m.Start:m.End]+"="+rel)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%.60q: -want +got:\n%s", tt.text, diff)
		}
	}
}

package ignore_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/platform/search/ignore"
)

func base(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

func TestGlobs(t *testing.T) {
	for _, tt := range []struct {
		globs string // separated by spaces
		path  string
		want  ignore.Verdict
	}{
		{"*.go", "a/b.go", ignore.Keep},
		{"*.go", "a/b.ts", ignore.None},
		{"*.go !*_test.go", "b_test.go", ignore.Ignore},
		{"!*_test.go *.go", "b_test.go", ignore.Keep},
		{"*.{go,ts}", "x.ts", ignore.Keep},
		{"{a,b/{c,d}}/*.go", "b/d/x.go", ignore.Keep},
		{"{a,b/{c,d}}/*.go", "b/x.go", ignore.None},
		{"*.{go,ts", "x.ts", ignore.Keep},
		{"x.{a,}", "x.", ignore.Keep},
		{"a{b}c", "abc", ignore.Keep},
		{`a\{b,c\}`, "a{b,c}", ignore.Keep},
		{"[{]a,b[}]", "{a,b}", ignore.Keep},
		{"src/**/*.go", "src/x.go", ignore.Keep},
		{"src/**/*.go", "src/a/b/x.go", ignore.Keep},
		{"src/*.go", "src/a/x.go", ignore.None},
		{"#x", "#x", ignore.Keep},
		{"**", "a/b/c", ignore.Keep},
		{"a/", "a", ignore.None},
	} {
		r, err := ignore.Globs(strings.Fields(tt.globs))
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Match([]byte(tt.path), base(tt.path), false); got != tt.want {
			t.Errorf("%q of %q: %v, want %v", tt.globs, tt.path, got, tt.want)
		}
	}
	for _, bad := range []string{"[a", `a\`, "a/[[:x:]]", strings.Repeat("a", 5000), strings.Repeat("{a,b,c}", 9)} {
		if _, err := ignore.Globs([]string{bad}); err == nil || strings.Contains(err.Error(), "\n") || len(err.Error()) > 200 {
			t.Errorf("%.40q: error %v", bad, err)
		}
	}
}

func TestFold(t *testing.T) {
	rules := "README*\n*.LOG\nBuild/\nsrc/[A-C]X\n/Über[[:upper:]]\n"
	for path, want := range map[string]bool{
		"readme.md": true, "a.log": true, "x/BUILD": true, "SRC/ax": true, "src/dx": false, "ÜberZ": true, "Überz": true, "über9": false,
	} {
		got := ignore.Parse([]byte(rules), true).Match([]byte(path), base(path), true) == ignore.Ignore
		if got != want {
			t.Errorf("%s is ignored: %v", path, got)
		}
		if exact := ignore.Parse([]byte(rules), false).Match([]byte(path), base(path), true); exact == ignore.Ignore && path != "ÜberZ" {
			t.Errorf("%s is ignored although its case is another", path)
		}
	}
}

// Below never keeps a walk from what a rule wants.
func TestBelow(t *testing.T) {
	for seed := range uint64(2000) {
		d := draw{rand.New(rand.NewPCG(seed, 5))}
		pattern := strings.TrimLeft(d.pattern(), "!#")
		r, err := ignore.Globs([]string{pattern})
		if err != nil {
			continue
		}
		for range 30 {
			path := d.path()
			if r.Match([]byte(path), base(path), false) != ignore.Keep {
				continue
			}
			for i := range path {
				if path[i] == '/' && !r.Below(path[:i]) {
					t.Fatalf("%q keeps %s, but nothing below %s", pattern, path, path[:i])
				}
			}
		}
	}
}

// The time of a match stays small for patterns that make naive matchers slow.
func TestManyStars(t *testing.T) {
	name := strings.Repeat("a", 250)
	r := ignore.Parse([]byte(strings.Repeat("*a", 60)+"*b\n"+strings.Repeat("**/*a", 30)+"/b\n"), false)
	path := strings.Repeat(name+"/", 12) + name
	for range 20 {
		if v := r.Match([]byte(path), name, false); v != ignore.None {
			t.Fatal(v)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("*.go\n!a/**/b\n[[:alpha:]]\\ \n", "a/b.go")
	f.Add("**/**/*[!a-]\\", "a")
	f.Fuzz(func(t *testing.T, rules, path string) {
		if len(rules) > 2000 || len(path) > 500 {
			t.Skip()
		}
		r := ignore.Parse([]byte(rules), false)
		r.Match([]byte(path), base(path), false)
		if g, err := ignore.Globs(strings.Split(rules, "\n")); err == nil {
			g.Match([]byte(path), base(path), true)
			g.Below(path)
		}
	})
}

func BenchmarkMatch(b *testing.B) {
	rules := "# of a usual project\nnode_modules/\ndist\n*.log\n*.tmp\n.DS_Store\n/build\ncoverage/\n*.py[cod]\n.env*\n!.env.example\nvendor/**/testdata\n__pycache__/\n*.swp\n"
	r := ignore.Parse([]byte(rules), false)
	path := []byte("internal/platform/search/walk.go")
	b.ReportAllocs()
	for b.Loop() {
		if r.Match(path, "walk.go", false) != ignore.None {
			b.Fatal("matched")
		}
	}
}

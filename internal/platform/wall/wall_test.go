package wall_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/burin-dev/burin/internal/platform/wall"
)

func build(t testing.TB, root string, walls ...wall.Wall) *wall.Set {
	t.Helper()
	s, err := wall.Build(root, walls)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestRefuses(t *testing.T) {
	s := build(t, "/src/project",
		wall.Wall{Glob: "vendor/**", Write: true},
		wall.Wall{Glob: "**/.env", Read: true},
		wall.Wall{Glob: "docs/*.{md,txt}", Write: true},
		wall.Wall{Glob: "Makefile", Read: true, Write: true},
		wall.Wall{Glob: "/etc/shadow", Read: true},
		wall.Wall{Glob: "/**/*.pem", Read: true},
	)
	for _, tt := range []struct {
		name        string
		read, write bool
	}{
		{"/src/project/vendor/a/v.txt", false, true},
		{"vendor/v.txt", false, true},
		{"/src/project/vendor", false, true}, // or it could be moved away
		{"/src/project/VENDOR/v.txt", false, true},
		{"/src/project/vendored/v.txt", false, false},
		{"/src/project/sub/vendor/v.txt", false, false},
		{"/src/projects/vendor/v.txt", false, false},
		{"/src/vendor/v.txt", false, false},
		{"/src/project/.env", true, false},
		{"a/b/.ENV", true, false},
		{"a/b/x.env", false, false},
		{"/elsewhere/.env", false, false},
		{"docs/a.md", false, true},
		{"docs/a/a.md", false, false},
		{"docs/A.TXT", false, true},
		{"makefile", true, true},
		{"sub/Makefile", false, false},
		{"/etc/shadow", true, false},
		{"etc/shadow", false, false},
		{"/src/project/keys/a.pem", true, false},
		{"keys/a.pem", true, false},
		{"/home/me/a.pem", true, false},
		{".", false, false},
		{"/src/project", false, false},
		{"/", false, false},
		{"", false, false},
	} {
		if read, write := s.Refuses(tt.name); read != tt.read || write != tt.write {
			t.Errorf("%q: read %v, write %v; want %v, %v", tt.name, read, write, tt.read, tt.write)
		}
	}
}

func TestBelow(t *testing.T) {
	s := build(t, "/src/project", wall.Wall{Glob: "a/vendor/**", Write: true}, wall.Wall{Glob: "keys/x.pem", Read: true}, wall.Wall{Glob: "gen/*.go", Write: true})
	for name, want := range map[string][2]bool{
		"/src/project/a":            {false, true},
		"a":                         {false, true},
		"a/vendor":                  {false, true},
		"a/vendor/x":                {false, true},
		"ab":                        {false, false},
		"keys":                      {true, false},
		"/src/project":              {true, true},
		"gen":                       {false, true},
		"/src/project/other/folder": {false, false},
	} {
		if read, write := s.Below(name); [2]bool{read, write} != want {
			t.Errorf("%q: read %v, write %v; want %v", name, read, write, want)
		}
	}
	if _, write := build(t, "/p", wall.Wall{Glob: "**/x", Write: true}).Below("any/folder"); !write {
		t.Error("a name in any folder may be below this one")
	}
}

func TestZeroSetRefusesNothing(t *testing.T) {
	var none *wall.Set
	for _, s := range []*wall.Set{none, {}} {
		if read, write := s.Refuses("/etc/passwd"); read || write {
			t.Error("it refuses a file")
		}
	}
}

func TestBuildReportsInvalidPatterns(t *testing.T) {
	for _, glob := range []string{"", "[", "a/{b"} {
		if _, err := wall.Build("/p", []wall.Wall{{Glob: glob, Read: true}}); err == nil || !strings.Contains(err.Error(), "pattern") {
			t.Errorf("%q: %v", glob, err)
		}
	}
}

func TestWallsTravelAsJSON(t *testing.T) {
	walls := []wall.Wall{{Glob: "vendor/**", Write: true}, {Glob: ".env", Read: true}}
	data, err := json.Marshal(walls)
	if err != nil {
		t.Fatal(err)
	}
	var back []wall.Wall
	if err := json.Unmarshal(data, &back); err != nil || !slices.Equal(walls, back) {
		t.Errorf("%s: %v, %v", data, back, err)
	}
}

// The short ways to compare agree with what the pattern means.
func FuzzPattern(f *testing.F) {
	for _, glob := range []string{"a/**", "**/a", "a", "**", "a/*/b", "{a,b}/**", "A/[A-C]*", `a\*b`, "/**", "**/a/b"} {
		for _, name := range []string{"a", "a/b", "A/B", "b/a", "", ".", "a*b", "/a", "ba", "x/a/b"} {
			f.Add(glob, name)
		}
	}
	f.Fuzz(func(t *testing.T, glob, name string) {
		p, err := wall.Compile(glob)
		if err != nil || name != strings.ToValidUTF8(name, "") || glob != strings.ToValidUTF8(glob, "") {
			return
		}
		want := doublestar.MatchUnvalidated(glob, name) || doublestar.MatchUnvalidated(strings.ToLower(glob), strings.ToLower(name))
		if got := p.Match(name); got != want {
			t.Errorf("%q on %q: %v, want %v", glob, name, got, want)
		}
	})
}

// Each file that a confined command opens is looked up.
func BenchmarkRefuses(b *testing.B) {
	s := build(b, "/src/project", wall.Wall{Glob: "vendor/**", Write: true}, wall.Wall{Glob: "**/.env", Read: true}, wall.Wall{Glob: "docs/*.{md,txt}", Write: true}, wall.Wall{Glob: "/etc/shadow", Read: true})
	for name, path := range map[string]string{"inside": "/src/project/internal/platform/wall/wall.go", "outside": "/usr/lib/x86_64-linux-gnu/libc.so.6", "capitals": "/src/project/README.md", "walled": "/src/project/vendor/modules.txt"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				s.Refuses(path)
			}
		})
	}
}

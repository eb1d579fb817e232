package file_test

import (
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/platform/edit"
	"github.com/burin-dev/burin/internal/tools/file"
)

// What is taken off is numbers in front of lines, and a header: no line gets lost
// or changes otherwise.
func FuzzUntagged(f *testing.F) {
	f.Add("1|a\n2|b\n", "a\nb\n")
	f.Add(edit.Tagged("x", []byte("a\nb\n"), 1, 2), "a\nb\n")
	f.Add("9|\r\n10|x", "x")
	f.Add("[x#0000]\n1:aaa|x\n", "")
	f.Fuzz(func(t *testing.T, content, before string) {
		plain, copied := file.Untagged(content, []byte(before))
		if !copied {
			if plain != content {
				t.Fatalf("%q became %q, and nothing was said", content, plain)
			}
			return
		}
		from, to := strings.SplitAfter(content, "\n"), strings.SplitAfter(plain, "\n")
		from = from[len(from)-min(len(to), len(from)):]
		for i := range to {
			if i >= len(from) || !strings.HasSuffix(from[i], to[i]) {
				t.Fatalf("%q became %q", content, plain)
			}
		}
	})
}

// Each line of an outline is a line of the file, or its beginning.
func FuzzDeclarations(f *testing.F) {
	for _, s := range []string{"func A() {\n", "class A:\n  def b(self):\n", "\tpublic void f(int a) {\r\n", "export const x = {\n", "int é(\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		lines := strings.Split(text, "\n")
		file.Declarations(text, func(n int, shown string) {
			if n < 1 || n > len(lines) || !strings.HasPrefix(strings.ToValidUTF8(lines[n-1], ""), strings.ToValidUTF8(strings.TrimSuffix(shown, "…"), "")) {
				t.Fatalf("%d|%q is not of the file", n, shown)
			}
		})
	})
}

func BenchmarkReadOutline(b *testing.B) {
	text := strings.Repeat("// work\n    public static int work(int a, int b) {\n        int c = compute(a, b);\n        return c;\n    }\n\n", 2000)
	for _, name := range []string{"a.go", "a.py", "a.ts", "a.java", "a.c"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				file.Outline(name, text)
			}
		})
	}
}

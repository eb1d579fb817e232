package regex_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/platform/search/regex"
)

// sources is 4 MB of Go.
func sources(tb testing.TB) []byte {
	tb.Helper()
	var text []byte
	dir, err := exec.Command("go", "list", "-f", "{{.Dir}}", "net/http").Output()
	if err != nil {
		tb.Skip("no sources of Go here")
	}
	files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(dir)), "*.go"))
	if err != nil || len(files) == 0 {
		tb.Skip("no sources of Go here")
	}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			tb.Fatal(err)
		}
		text = append(text, data...)
	}
	for len(text) < 4<<20 {
		text = append(text, text...)
	}
	return text[:4<<20]
}

// BenchmarkNext counts matching lines: each way to find them has a pattern.
func BenchmarkNext(b *testing.B) {
	text := append(sources(b), '\n')
	for _, bb := range []struct {
		name, pattern string
		o             regex.Options
	}{
		{"literal", "ListenAndServeTLS", regex.Options{}},
		{"common-literal", "error", regex.Options{}},
		{"ignore-case", "listenandserve", regex.Options{IgnoreCase: true}},
		{"ignore-case-kin", "task", regex.Options{IgnoreCase: true}},
		{"alternation", "TODO|FIXME|XXX|HACK", regex.Options{}},
		{"alternation-pairs", "foo|bar|baz", regex.Options{}},
		{"alternation-triples", "deadline|timeout|cancel", regex.Options{}},
		{"alternation-ignore-case", "error|warning|panic", regex.Options{IgnoreCase: true}},
		{"alternation-short", "if|for|go", regex.Options{}},
		{"alternation-word", "get|set|put", regex.Options{Word: true}},
		{"alternation-class", `(get|set)[A-Z]\w+`, regex.Options{}},
		{"inner-literal", `[A-Z]\w+Error\(`, regex.Options{}},
		{"word", "err", regex.Options{Word: true}},
		{"line-start", `^\s*return .*err`, regex.Options{}},
		{"no-literal", `[a-z]+\d+[a-z]+`, regex.Options{}},
		{"unicode-class", `\p{Lu}\p{Ll}{9,}\b`, regex.Options{}},
		{"blow-up", `[a-f]*a[a-f]{14}`, regex.Options{}},
	} {
		b.Run(bb.name, func(b *testing.B) {
			re, err := regex.Compile(bb.pattern, bb.o)
			if err != nil {
				b.Fatal(err)
			}
			m := re.Matcher(nil)
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			lines := 0
			for b.Loop() {
				lines = 0
				for at := 0; at < len(text); {
					block := text[at:min(at+128<<10, len(text))]
					for block[len(block)-1] != '\n' {
						block = block[:len(block)-1]
					}
					m.Reset(block)
					for from := 0; ; {
						_, end, ok := m.Next(from)
						if !ok {
							break
						}
						lines++
						from = end + 1
					}
					at += len(block)
				}
			}
			b.ReportMetric(float64(lines), "lines")
		})
	}
}

func BenchmarkSpans(b *testing.B) {
	re, err := regex.Compile(`func \(\w+ \*?\w+\) (\w+)\(`, regex.Options{})
	if err != nil {
		b.Fatal(err)
	}
	m := re.Matcher(nil)
	line := []byte("func (srv *Server) ListenAndServeTLS(certFile, keyFile string) error {")
	var spans [][2]int
	b.ReportAllocs()
	for b.Loop() {
		spans = m.Spans(spans[:0], line, 100)
	}
}

func BenchmarkCompile(b *testing.B) {
	for _, bb := range []struct {
		name, pattern string
		o             regex.Options
	}{
		{"literal", "ListenAndServe", regex.Options{}},
		{"alternation", "deadline|timeout|cancel", regex.Options{}},
		{"expression", `func \(\w+ \*?\w+\) (\w+)\(`, regex.Options{}},
		{"word", "err", regex.Options{Word: true}},
		{"unicode", `\p{Lu}\p{Ll}+`, regex.Options{}},
	} {
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := regex.Compile(bb.pattern, bb.o); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

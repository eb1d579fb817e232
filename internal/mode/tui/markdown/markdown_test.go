package markdown

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/markdown/syntax"
	"github.com/burin-dev/burin/internal/mode/tui/theme"
	"github.com/burin-dev/burin/internal/mode/tui/theme/themetest"
)

var update = flag.Bool("update", false, "write the golden files anew")

// sources are the texts in testdata, by name.
func sources(t testing.TB) map[string]string {
	t.Helper()
	found, err := filepath.Glob("testdata/*.md")
	if err != nil || len(found) == 0 {
		t.Fatal("no texts in testdata")
	}
	all := map[string]string{}
	for _, path := range found {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all[strings.TrimSuffix(filepath.Base(path), ".md")] = string(data)
	}
	return all
}

// Golden files hold every text plain at three widths, with the names of all looks
// at one, without sequences, and as hyperlinks.
func TestGolden(t *testing.T) {
	styles := themetest.Styles()
	for name, text := range sources(t) {
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			for _, width := range []int{40, 80, 120} {
				fmt.Fprintf(&b, "=== width %d\n", width)
				for _, line := range Render(text, width, Options{Styles: styles}) {
					b.WriteString(strings.TrimRight(ansi.Strip(line), " ") + "\n")
				}
			}
			b.WriteString("=== looks, width 80\n")
			for _, line := range Render(text, 80, Options{Styles: styles, Links: true}) {
				b.WriteString(themetest.Dump(line) + "\n")
			}
			b.WriteString("=== no sequences, ASCII, width 60\n")
			bare := theme.NewStyles(themetest.Theme(), theme.NoStyle).WithSymbols(theme.SymbolsOf(theme.ASCII, nil))
			for _, line := range Render(text, 60, Options{Styles: bare, Links: true}) {
				b.WriteString(strings.TrimRight(line, " ") + "\n")
			}
			path := filepath.Join("testdata", name+".golden")
			if *update {
				if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), b.String()); diff != "" {
				t.Errorf("%s: run with -update if this is meant (-want +got):\n%s", path, diff)
			}
		})
	}
}

// follow feeds every prefix of text, at places of steps bytes, and checks that
// lines once called stable never change, and that how the text came makes no
// difference.
func follow(t *testing.T, text string, steps, width int) {
	t.Helper()
	o := Options{Styles: themetest.Styles(), Links: true}
	s := New(o)
	var stable []string
	for at := 0; at < len(text); at += steps {
		s.Write(text[at:min(len(text), at+steps)])
		lines := s.Lines(width)
		harmless(t, lines, width)
		if s.Stable() < len(stable) || !slices.Equal(lines[:len(stable)], stable) {
			t.Fatalf("after %q:\nstable lines changed (-before +now):\n%s", text[:min(len(text), at+steps)], cmp.Diff(stable, lines[:min(len(lines), len(stable))]))
		}
		stable = append(stable, lines[len(stable):s.Stable()]...)
	}
	s.Close()
	got := slices.Clone(s.Lines(width))
	if !slices.Equal(got[:min(len(got), len(stable))], stable) {
		t.Fatalf("%q: the end changed stable lines (-before +now):\n%s", text, cmp.Diff(stable, got))
	}
	if s.Stable() != len(got) {
		t.Fatalf("%d of %d lines are stable at the end", s.Stable(), len(got))
	}
	if slices.ContainsFunc(s.blocks, func(b syntax.Block) bool { return b.Kind == syntax.Definition }) {
		s.Lines(width + 1) // what was shown before a definition came is shown with it once all is shown again
		got = slices.Clone(s.Lines(width))
	}
	if want := Render(text, width, o); !slices.Equal(got, want) {
		t.Fatalf("%q: piecewise it is rendered otherwise than at once (-once +piecewise):\n%s", text, cmp.Diff(want, got))
	}
}

func TestEveryPrefix(t *testing.T) {
	for name, text := range sources(t) {
		t.Run(name, func(t *testing.T) {
			follow(t, text, 1, 50)
			follow(t, text, 7, 23)
		})
	}
}

// What is being written must not jump: shown is what stands there at each step.
func TestCalm(t *testing.T) {
	for _, tt := range []struct {
		text string
		bad  string // must never be shown while the text comes
	}{
		{"some **bold** text", "*"},
		{"some *em* and ~~gone~~ text", "*~"},
		{"a `code span` here", "`"},
		{"see [the page](https://example.com/a/long/path) now", "(/"},
		{"Paragraph\n\n- one\n- two\n", "-"},
		{"Paragraph\n- one\n- [x] two\n", "-[]"},
		{"Text\n\n```go\nx := 1\n```\n", "`"},
		{"| A | B |\n|---|---|\n| 1 | 2 |\n", "|-"},
		{"# Title\n\n## Next\n", "#"},
		{"Text\n\n1. one\n2. two\n", ""},
		{"> quoted\n> more\n", ">"},
		{"x $\\alpha$ y", "$\\"},
		{"***both*** end", "*"},
	} {
		s := New(Options{Styles: themetest.Styles(), Links: true})
		for i := range len(tt.text) {
			s.Write(tt.text[i : i+1])
			for _, line := range s.Lines(40) {
				if plain := ansi.Strip(line); tt.bad != "" && strings.ContainsAny(plain, tt.bad) {
					t.Errorf("%q: after %q the screen shows %q", tt.text, tt.text[:i+1], plain)
				}
			}
		}
	}
}

// harmless fails if a line is wider than width or has a sequence that is neither a
// look nor a hyperlink to an address that is allowed.
func harmless(t *testing.T, lines []string, width int) {
	t.Helper()
	for _, line := range lines {
		if w := ansi.StringWidth(line); w > width {
			t.Fatalf("a line of %d cells at width %d: %q", w, width, line)
		}
		if w := ansi.StringWidth(ansi.Strip(line)); w > width {
			t.Fatalf("without looks a line of %d cells at width %d: %q", w, width, line)
		}
		rest := themetest.Dump(line)
		for _, r := range rest {
			if r < ' ' || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
				t.Fatalf("%U in %q", r, line)
			}
		}
		if strings.Contains(rest, `\x1b`) && !strings.Contains(ansi.Strip(line), `\x1b`) {
			t.Fatalf("a strange sequence in %q", line)
		}
		for _, part := range strings.Split(line, "\x1b]8;;")[1:] {
			target, _, _ := strings.Cut(part, "\x1b\\")
			scheme, _, _ := strings.Cut(target, ":")
			if target != "" && !slices.Contains([]string{"http", "https", "mailto", "file"}, scheme) {
				t.Fatalf("a link to %q", target)
			}
		}
	}
}

func TestNoWidthIsTooSmall(t *testing.T) {
	for name, text := range sources(t) {
		for width := 1; width < 60; width += 3 {
			t.Run(fmt.Sprint(name, width), func(t *testing.T) {
				harmless(t, Render(text, width, Options{Styles: themetest.Styles()}), width)
				harmless(t, Render(text, width, Options{Styles: theme.NewStyles(themetest.Theme(), theme.NoStyle)}), width)
			})
		}
	}
}

func FuzzStream(f *testing.F) {
	for _, text := range sources(f) {
		for part := range strings.SplitSeq(text, "\n\n") {
			f.Add(part, uint8(3), uint8(30))
		}
	}
	f.Add("- \n\n  a\n-\tb\n 1) c", uint8(1), uint8(9))
	f.Add("[a] ![b][a]\n\n- [a]: http://x.example 'c'\n> [a]\n[b", uint8(2), uint8(20))
	f.Add("☁\ufe0f*☁*\ufe0f `1`\u20e3 \u0301 🇩🇪*🇩*🇪", uint8(1), uint8(5))
	f.Add("\x1b]8;;x\x07\u202e[a](javascript:x) [b](https://a@b.example/\x07)", uint8(2), uint8(20))
	f.Fuzz(func(t *testing.T, text string, steps, width uint8) {
		if len(text) > 600 {
			return
		}
		follow(t, text, int(steps%40)+1, int(width%100)+1)
	})
}

// Long lines, long paragraphs and long tables become final in parts.
func TestLongBlocksBecomeStable(t *testing.T) {
	for name, text := range map[string]string{
		"paragraph of one line":   strings.Repeat("words ", 10_000),
		"paragraph of many lines": strings.Repeat("some words\n", 5_000),
		"word":                    strings.Repeat("x", 50_000),
		"code":                    "```\n" + strings.Repeat("code\n", 5_000),
		"table":                   "|a|b|\n|-|-|\n" + strings.Repeat("| 1 | 2 |\n", 5_000),
		"list":                    strings.Repeat("- item\n", 5_000),
		"quote":                   strings.Repeat("> text\n", 5_000),
		"formula":                 "$$\n" + strings.Repeat("a+b\n", 10_000),
	} {
		s := New(Options{Styles: themetest.Styles()})
		s.Write(text)
		if all, stable := len(s.Lines(80)), s.Stable(); stable == 0 || all-stable > 600 {
			t.Errorf("%s: %d of %d lines are stable", name, stable, all)
		}
	}
}

func TestResize(t *testing.T) {
	text := sources(t)["all"]
	s := New(Options{Styles: themetest.Styles()})
	s.Write(text)
	s.Close()
	for _, width := range []int{80, 40, 80, 120} {
		if diff := cmp.Diff(Render(text, width, Options{Styles: themetest.Styles()}), s.Lines(width)); diff != "" {
			t.Fatalf("width %d (-new +resized):\n%s", width, diff)
		}
	}
}

// A long answer stays in bounds: its text, its blocks and its lines.
func TestMemoryOfALongAnswer(t *testing.T) {
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	tokens := answer(200_000)
	before := heap()
	s := New(Options{Styles: themetest.Styles(), Links: true})
	for i, token := range tokens {
		s.Write(token)
		if i%50 == 0 {
			s.Lines(100)
		}
	}
	s.Lines(100)
	if used := heap() - before; used > 40<<20 {
		t.Errorf("%d MB are held", used>>20)
	}
	runtime.KeepAlive(s)
}

func TestLinks(t *testing.T) {
	for _, tt := range []struct{ in, href, shown string }{
		{"https://example.com/a b", "https://example.com/a%20b", "example.com/a%20b"},
		{"http://user@evil.example/x/", "http://evil.example/x/", "evil.example/x"},
		{"https://xn--80ak6aa92e.com", "https://xn--80ak6aa92e.com", "xn--80ak6aa92e.com"},
		{"https://аpple.com", "https://xn--pple-43d.com", "xn--pple-43d.com"},
		{"mailto:a@b.example", "mailto:a@b.example", "a@b.example"},
		{"file:///etc/hosts", "file:///etc/hosts", "/etc/hosts"},
		{"javascript:alert(1)", "", ""},
		{"file://server/share", "", ""},
		{"//example.com", "", ""},
		{"data:text/html,x", "", ""},
		{"https://", "", ""},
	} {
		href, shown, ok := safeLink(tt.in)
		if ok != (tt.href != "") || ok && (href != tt.href || shown != tt.shown) {
			t.Errorf("%q: %q %q %v, want %q %q", tt.in, href, shown, ok, tt.href, tt.shown)
		}
	}
	for words, want := range map[string]bool{"the page": false, "example.com": false, "https://example.com/x": false, "https://bank.example": true, "bank.com": true, "main.go": false} {
		if got := pretends(words, "https://example.com/x", "example.com/x"); got != want {
			t.Errorf("%q pretends: %v, want %v", words, got, want)
		}
	}
}

// Texts of fragments that mean something to Markdown or to a terminal, put
// together at random, find what nobody writes down as a case.
func TestRandomTexts(t *testing.T) {
	fragments := []string{
		"*", "**", "_", "`", "``", "```", "\n", "\n", "\n\n", "- ", "1. ", "2) ", "> ", "  ", "    ", "\t", "# ", "---", "===", "|", "|-|-|", "| a | b |",
		"[a](", "http://x.example", ")", "](", "![", "\\", "$", "$$", "\\[", "\\]", "\\frac{a}{b}", "<br>", "&amp;", "word", "日本", "👍🏽", "é", "\u0301",
		"[x]: http://x.example", "[x]", "![x][", "[x][]", "]: <", "\n[x]:\n", "<a:b>",
		"\ufe0f", "☁", "1", "\u20e3", "🇩", "\u200d", "\x1b[31m", "\u202e", "~~", "~~~", "go", "- [ ] ", "- [x] ", ":", "text with words ", "\xff", "[x]", "+", "\r\n", "\r",
	}
	for seed := range uint64(1500) {
		r := rand.New(rand.NewPCG(seed, 1))
		var b strings.Builder
		for range r.IntN(30) + 1 {
			b.WriteString(fragments[r.IntN(len(fragments))])
		}
		follow(t, b.String(), r.IntN(10)+1, r.IntN(60)+1)
	}
}

// TestDrop drops what is final after every piece, at changing widths: the lines of one
// width, put together, are those of a stream that dropped nothing.
func TestDrop(t *testing.T) {
	text := "# Title\n\nSome *text* that goes on for a while, longer than the width.\n\n" +
		"```go\n/* a comment\nthat goes on */ func f() {}\n```\n\n- one\n- two\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nend"
	styles := themetest.Styles()
	for _, size := range []int{1, 3, 17, len(text)} {
		s := New(Options{Styles: styles})
		var got []string
		for rest := text; rest != ""; rest = rest[min(size, len(rest)):] {
			s.Write(rest[:min(size, len(rest))])
			s.Lines(11) // a window that is made narrow for a moment
			lines := s.Lines(40)
			got = append(got, lines[:s.Stable()]...)
			s.Drop()
			if again := s.Lines(40); s.Stable() != 0 {
				t.Fatalf("lines are final twice: %q", again[:s.Stable()])
			}
		}
		s.Close()
		got = append(got, s.Lines(40)...)
		if diff := cmp.Diff(Render(text, 40, Options{Styles: styles}), got); diff != "" {
			t.Errorf("in pieces of %d (-want +got):\n%s", size, diff)
		}
	}
}

// A screen reader gets the cells of a table with their names, and no lines.
func TestTableForScreenReader(t *testing.T) {
	o := Options{Styles: theme.NewStyles(themetest.Theme(), theme.NoStyle).WithSymbols(theme.SymbolsOf(theme.Spoken, nil))}
	if diff := cmp.Diff([]string{"a: 1", "b: 2"}, Render("| a | b |\n|---|---|\n| 1 | 2 |\n", 40, o)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// plain are lines without their looks.
func plain(lines []string) (all []string) {
	for _, line := range lines {
		all = append(all, ansi.Strip(line))
	}
	return all
}

// A link that is defined after its use stays as it was written where it is final by
// then, and its definition is shown. What is shown again knows all definitions.
func TestDefinitionAfterItsUse(t *testing.T) {
	const use, definition = "See [the page][1].\n\n", "[1]: https://x.example/a\n[2]: https://x.example/b\n\nAnd [the page][1] again.\n"
	late := []string{"See [the page][1].", "", "[1]: x.example/a", "", "And the page again."}
	early := []string{"See the page.", "", "And the page again."}
	for _, dropped := range []bool{false, true} {
		s := New(Options{Styles: themetest.Styles(), Links: true})
		s.Write(use)
		got := plain(s.Lines(40)[:s.Stable()])
		if dropped {
			s.Drop()
		} else {
			got = nil
		}
		s.Write(definition)
		s.Close()
		if diff := cmp.Diff(late, append(got, plain(s.Lines(40))...)); diff != "" {
			t.Errorf("dropped %v (-want +got):\n%s", dropped, diff)
		}
		want := early
		if dropped { // the use is in the scrollback, so the definition stays
			want = late[1:]
		}
		if diff := cmp.Diff(want, plain(s.Lines(41))); diff != "" {
			t.Errorf("at another width, dropped %v (-want +got):\n%s", dropped, diff)
		}
	}
	if diff := cmp.Diff(early, plain(Render(use+definition, 40, Options{Styles: themetest.Styles(), Links: true}))); diff != "" {
		t.Errorf("at once (-want +got):\n%s", diff)
	}
}

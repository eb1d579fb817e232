package syntax

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/markdown/spectest"
	"github.com/burin-dev/burin/internal/pacetest"
)

// hostile are pieces of text that, repeated, make naive readers slow.
func hostile() []string {
	return []string{
		"*a ", "*a*", "**a *b ", "_a*", "**a_", "*_", "a**b", "***a*", "~~a", "a*b_c~~", "**a *b* ",
		"[", "]", "[]", "![", "](", "[a](", "[a](b", "![a](", "[a](<b", "[a](b \"", "[a](b '", "[a](b (", "[[a](x)", "![[a](x)", "[a][", "[a][b", "[a]", "[a][b]", "[[a]]", "![[a][b]", "[\\]",
		"`", "``a`", "`a``b```c````d", "<", "<a", "<a:", "<a@b.", "<!--", "&", "&a", "&#1", "\\", "\\[", "\\(", "\\(\\", "$", "$a", "$$", "$$a$", "https://", "https://a)", "a https://a.example/(",
	}
}

// linear fails if what read does takes much more than four times as long for four
// times the text. What is done in a moment proves nothing and passes, and what a busy
// machine made slow is measured once more.
func linear(t *testing.T, name string, text func(size int) string, read func(string)) {
	t.Helper()
	const size = 100_000
	quarter, whole := text(size/4), text(size)
	few, many := time.Hour, time.Hour
	for range 6 {
		start := time.Now()
		read(quarter)
		few = min(few, time.Since(start))
		start = time.Now()
		read(whole)
		many = min(many, time.Since(start))
		if many < 300*time.Millisecond || many < 10*few {
			return
		}
	}
	t.Errorf("%s: %v for %d bytes, %v for %d", name, few, len(quarter), many, len(whole))
}

// Text without a line feed reaches Inline as one piece: a heading, a cell.
func TestHostileInlineIsLinear(t *testing.T) {
	pacetest.Costly(t)
	for _, part := range hostile() {
		for _, end := range []string{"", "](x)", "])`*$\\)\\]"} {
			linear(t, part+"…"+end, func(size int) string { return strings.Repeat(part, size/len(part)) + end }, func(s string) {
				var defs Definitions
				Inline(s, true, &defs)
				Flow(s, &defs)
			})
		}
	}
	for name, halves := range map[string][2]string{
		"nested emphasis": {"*a **b ", " c** d*"}, "nested pictures": {"![", "](x)"}, "nested brackets": {"[", "]"}, "nested parentheses": {"[a](" + "(", ")"},
		"brackets before links": {"[", "[a](x)"}, "pictures before links": {"![", "[a](x)"}, "runs": {"**", "*"}, "underscores": {"a_", "_a"},
	} {
		linear(t, name, func(size int) string {
			n := size / 2
			return strings.Repeat(halves[0], n/len(halves[0])) + "x" + strings.Repeat(halves[1], n/len(halves[1]))
		}, func(s string) { Flow(s, nil) })
	}
}

func TestHostileBlocksAreLinear(t *testing.T) {
	for _, part := range []string{
		"> ", "- ", "1. ", "> - ", "- a\n", "- a\n\n", "> a\n\n", "- ```\n", "```\n", "    a\n\n", "\n", "    \n", "[a]: b\n", "[a]: b 'c\n", "[a", "[a]:\n", "[a]: <b\n", "[a]: b\n\n[a]\n\n",
		"a\n=\n", "a\n-\n", "|a|b|\n|-|-|\n", "|", "|`", "a|b\n-|-\n", "$$\n", "\\[\n", "a  \n", "\t", ">\t", "-\t- ", "* - + ", "- - a\n  - b\n", "1. a\n  - b\n", "> > a\n> b\nc\n",
	} {
		linear(t, part, func(size int) string { return strings.Repeat(part, size/len(part)) }, func(s string) {
			var scanner Scanner
			var defs Definitions
			give := func(b Block) {
				if b.Kind == Definition {
					defs.Define(b)
				}
				Flow(b.Text, &defs)
			}
			for line := range strings.SplitSeq(s, "\n") {
				scanner.Line(line, give)
			}
			scanner.End("", false, give)
		})
	}
}

// FuzzNesting checks what every reading of a text promises: elements begin and end in
// order, spans have no marks that they do not stand in, and no link holds another.
func FuzzNesting(f *testing.F) {
	for _, e := range spectest.Examples() {
		f.Add(e.Markdown)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var s Scanner
		var blocks []Block
		var defs Definitions
		give := func(b Block) {
			blocks = append(blocks, b)
			if b.Kind == Definition {
				defs.Define(b)
			}
		}
		for line := range strings.SplitSeq(text[:min(len(text), 4096)], "\n") {
			s.Line(line, give)
		}
		s.End("", false, give)
		for i, b := range blocks {
			if b.Shared > len(b.Containers) || i > 0 && b.Shared > len(blocks[i-1].Containers) {
				t.Fatalf("%q: block %d shares %d of %d containers", text, i, b.Shared, len(b.Containers))
			}
			nested(t, b.Text, Flow(b.Text, &defs))
		}
	})
}

func nested(t *testing.T, text string, spans []Span) {
	t.Helper()
	var open []Mark
	for _, s := range spans {
		for _, m := range s.Begin {
			if (m == Linked || m == Picture) && slices.Contains(open, m) {
				t.Fatalf("%q: a link in a link: %+v", text, spans)
			}
			open = append(open, m)
		}
		for _, m := range [...]Mark{Strong, Em, Strike} {
			if (s.Mark&m != 0) != slices.Contains(open, m) {
				t.Fatalf("%q: marks of %+v within %v", text, s, open)
			}
		}
		if (s.Link != nil) != (slices.Contains(open, Linked) || slices.Contains(open, Picture)) || (s.Image != nil) != slices.Contains(open, Picture) {
			t.Fatalf("%q: link of %+v within %v", text, s, open)
		}
		open = open[:len(open)-s.End]
	}
	if len(open) > 0 {
		t.Fatalf("%q: %v never end", text, open)
	}
}

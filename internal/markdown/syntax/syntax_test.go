package syntax

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// outline is a document's blocks, a line each.
func outline(text string) []string {
	var all []string
	give := func(b Block) {
		var w strings.Builder
		if b.Gap {
			w.WriteString("~ ")
		}
		for _, c := range b.Containers {
			switch {
			case c.Quote:
				w.WriteString("> ")
			case !c.First:
				w.WriteString("  ")
			case c.Ordered:
				fmt.Fprintf(&w, "%d. ", c.Number)
			default:
				w.WriteString([...]string{"- ", "[ ] ", "[x] "}[c.Task])
			}
		}
		w.WriteString([...]string{"p", "h", "start", "code", "rule", "table", "math", "empty", "define"}[b.Kind])
		if b.Level > 0 {
			fmt.Fprint(&w, b.Level)
		}
		if b.Kind == CodeStart {
			w.WriteString(" " + b.Lang)
		}
		if b.Text != "" {
			fmt.Fprintf(&w, " %q", b.Text)
		}
		if b.Rows != nil {
			fmt.Fprintf(&w, " %q %v", b.Rows, b.Align)
		}
		all = append(all, w.String())
	}
	var s Scanner
	lines := strings.Split(text, "\n")
	for _, line := range lines[:len(lines)-1] {
		s.Line(line, give)
	}
	s.End(lines[len(lines)-1], false, give)
	return all
}

func TestBlocks(t *testing.T) {
	for _, tt := range []struct {
		text string
		want []string
	}{
		{"a\nb\n\nc", []string{`p "a\nb"`, `~ p "c"`}},
		{"# A #\ntext\n## B", []string{`h1 "A"`, `p "text"`, `~ h2 "B"`}},
		{"A\n===\nB\n---\n", []string{`h1 "A"`, `~ h2 "B"`}},
		{"#no\n####### no", []string{`p "#no\n####### no"`}},
		{"- a\n- b\n\n- c", []string{`- p "a"`, `- p "b"`, `~ - p "c"`}},
		{"- a\n  - b\n    c\n- d", []string{`- p "a"`, `  - p "b\nc"`, `- p "d"`}},
		{"1. a\n  - b\n2. c", []string{`1. p "a"`, `  - p "b"`, `2. p "c"`}},
		{"3. a\n3. b", []string{`3. p "a"`, `4. p "b"`}},
		{"text\n2. not a list", []string{`p "text\n2. not a list"`}},
		{"- [ ] a\n- [x] b\n- [y] c", []string{`[ ] p "a"`, `[x] p "b"`, `- p "[y] c"`}},
		{"-\n- b\n-", []string{`- empty`, `- p "b"`, `- empty`}},
		{"- a\n-\n- c", []string{`- p "a"`, `- empty`, `- p "c"`}},
		{"> a\nb\n\nc", []string{`> p "a\nb"`, `~ p "c"`}},
		{"> a\n>\n> b", []string{`> p "a"`, `~ > p "b"`}},
		{"> - a\n>   b\n> - c", []string{`> - p "a\nb"`, `> - p "c"`}},
		{"```go x\na\n\nb\n```\nc", []string{"start go", `code "a"`, "code", `code "b"`, `~ p "c"`}},
		{"~~~\n```\n~~~", []string{"code \"```\""}},
		{"- a\n  ```\n  x\n   y\n  ```\n- b", []string{`- p "a"`, `  code "x"`, `  code " y"`, `- p "b"`}},
		{"```\nopen", []string{`code "open"`}},
		{"    a\n\n    b\nc", []string{`code "a"`, "code", `code "b"`, `~ p "c"`}},
		{"a\n\n---\n\n* * *", []string{`p "a"`, "~ rule", "~ rule"}},
		{"|a|b|\n|-|:-:|\n|1|2|3|\n|x|\n\nc", []string{`table [["a" "b"] ["1" "2"] ["x"]] [0 1]`, `~ p "c"`}},
		{"intro\na|b\n-|-:\n`1|2`|3\\|4", []string{`p "intro"`, "~ table [[\"a\" \"b\"] [\"`1|2`\" \"3|4\"]] [0 2]"}},
		{"a | b\nc", []string{`p "a | b\nc"`}},
		{"$$\na\n- b\n$$\nc", []string{`math "a\n- b"`, `~ p "c"`}},
		{"\\[ x \\]", []string{`math "x"`}},
		{"$$x$$ is inline", []string{`p "$$x$$ is inline"`}},
		{"", nil},
	} {
		if diff := cmp.Diff(tt.want, outline(tt.text)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tt.text, diff)
		}
	}
}

func inlined(text string, open bool) string {
	var b strings.Builder
	for _, s := range Inline(text, open, nil) {
		for i, tag := range [...]string{"B", "I", "S", "C", "M"} {
			if s.Mark&(1<<i) != 0 {
				b.WriteString(tag)
			}
		}
		if s.Image != nil {
			b.WriteString("P")
			if s.Image != s.Link {
				b.WriteString("<" + s.Image.Address + ">")
			}
		}
		if s.Link != nil {
			b.WriteString("<" + s.Link.Address + ">")
		}
		b.WriteString("[" + s.Text + "]")
	}
	return b.String()
}

// Who fills lines anew is told which breaks were asked for.
func TestFlow(t *testing.T) {
	for text, want := range map[string]string{
		"a\nb":         "a\nb",
		"a  \nb":       "a|b",
		"a\\\nb":       "a|b",
		"a<br>b\vc":    "a|b c",
		"*a\nb*":       "a\nb",
		"`a<br>\\\nb`": "a<br>\\ b",
	} {
		var got strings.Builder
		for _, s := range Flow(text, nil) {
			got.WriteString(strings.ReplaceAll(s.Text, string(HardBreak), "|"))
		}
		if got.String() != want {
			t.Errorf("%q: got %q, want %q", text, got.String(), want)
		}
	}
}

func TestInline(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"plain", "[plain]"},
		{"*a* _b_ **c** __d__ ~~e~~", "I[a][ ]I[b][ ]B[c][ ]B[d][ ]S[e]"},
		{"***a** b*", "BI[a]I[ b]"},
		{"a_b_c 2 * 3 * 4", "[a_b_c 2 * 3 * 4]"},
		{"**a", "[**a]"},
		{"`a` ``b`c`` `d", "C[a][ ]C[b`c][ `d]"},
		{"*a `*` b*", "I[a ]IC[*]I[ b]"},
		{"[a *b*](u \"t\") c", "<u>[a ]I<u>[b][ c]"},
		{"![x](y)", "P<y>[x]"},
		{"[a](b c)", "[[a](b c)]"},
		{"[a](<b c>)", "<b c>[a]"},
		{"[a](b(c)d)", "<b(c)d>[a]"},
		{"see https://x.example/a_(b). And", "[see ]<https://x.example/a_(b)>[https://x.example/a_(b)][. And]"},
		{"\\*a\\* &amp; &x", "[*a* & &x]"},
		{"a<br>b", "[a\nb]"},
		{"$x^2$ $5 and $6", "M[x^2][ $5 and $6]"},
		{"\\(a\\)b", "M[a][b]"},
	} {
		if got := inlined(tt.text, false); got != tt.want {
			t.Errorf("%q: %s, want %s", tt.text, got, tt.want)
		}
	}
}

func TestInlineOpen(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"a **b", "[a ]B[b]"},
		{"a **b*", "[a ]B[b]"},
		{"a **b**", "[a ]B[b]"},
		{"a *", "[a ]"},
		{"a ***b", "[a ]BI[b]"},
		{"a ~~b", "[a ]S[b]"},
		{"a `b c", "[a ]C[b c]"},
		{"[a](http://x", "<>[a]"},
		{"x $\\alph", "[x ]"},
		{"2 * 3", "[2 * 3]"},
	} {
		if got := inlined(tt.text, true); got != tt.want {
			t.Errorf("%q: %s, want %s", tt.text, got, tt.want)
		}
	}
}

func TestCloneIsItsOwn(t *testing.T) {
	var s Scanner
	var got []string
	give := func(b Block) { got = append(got, b.Text) }
	for _, line := range []string{"- a", "b", "c"} { // leaves room in what the clone could share
		s.Line(line, give)
	}
	c := s.Clone()
	c.Line("  of the clone", give)
	s.Line("  of the first", give)
	c.End("", false, give)
	s.End("", false, give)
	if diff := cmp.Diff([]string{"a\nb\nc\nof the clone", "a\nb\nc\nof the first"}, got); diff != "" {
		t.Error(diff)
	}
}

// No text may take time that grows faster than it does.
func TestHostileTextIsLinear(t *testing.T) {
	for _, part := range []string{"*a ", "[", "](", "`", "``a`", "_a*", "**a_", "<", "&", "$a", "![a](", "\\(", "> ", "- ", "|", "https://"} {
		text := strings.Repeat(part, 200_000/len(part))
		var s Scanner
		give := func(b Block) { Inline(b.Text, true, nil) }
		for len(text) > maxText {
			s.Part(text[:maxText], give)
			text = text[maxText:]
		}
		s.End(text, true, give)
	}
}

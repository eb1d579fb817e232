package markdown

import (
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/mode/tui/theme"
)

// answer is a text of about n tokens, in tokens.
func answer(n int) []string {
	const part = `## A part of the answer

The first paragraph has **strong words**, *others*, ` + "`code`" + ` and [a link](https://example.com/path), and is
as long as paragraphs of models are: four or five lines at the width of a terminal, with
a few numbers such as 3.14 and 2,718 in between, so that nothing is as simple as it looks.

1. An item with text that goes on for a while
2. Another
   - nested, with ` + "`names`" + ` in it
   - nested again

` + "```go" + `
func Sum(values []int) (total int) {
	for _, v := range values { // add them
		total += v
	}
	return total
}
` + "```" + `

| Name | Value | Remark |
|------|------:|--------|
| one | 1 | the first |
| two | 2 | the **second** |

`
	var tokens []string
	for len(tokens) < n {
		for text := part; text != ""; {
			size := min(4, len(text))
			tokens = append(tokens, text[:size])
			text = text[size:]
		}
	}
	return tokens[:n]
}

// A face that draws after every single token pays the first; one that draws when
// it can, as a terminal that gets 200,000 tokens at once does, the second.
func BenchmarkStream200k(b *testing.B) {
	t, _ := theme.Builtin(theme.DefaultDark)
	o := Options{Styles: theme.NewStyles(t, theme.TrueColor), Links: true}
	tokens := answer(200_000)
	for name, every := range map[string]int{"each": 1, "burst": 16} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				s := New(o)
				for i, token := range tokens {
					s.Write(token)
					if i%every == 0 {
						s.Lines(100)
					}
				}
				s.Close()
				s.Lines(100)
			}
		})
	}
}

// One code block, one list and one table without end must not cost more.
func BenchmarkOneBlock(b *testing.B) {
	t, _ := theme.Builtin(theme.DefaultDark)
	o := Options{Styles: theme.NewStyles(t, theme.TrueColor)}
	for name, line := range map[string]string{
		"code": "\tvalue := compute(input, 42) // and so on\n", "list": "- an item with some words in it\n", "paragraph": "words without any end and ",
		"table": "| a cell | another | 42 |\n", "quote": "> quoted words, again and again\n",
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				s := New(o)
				switch name {
				case "code":
					s.Write("```go\n")
				case "table":
					s.Write("| A | B | C |\n|---|---|---|\n")
				}
				for text := strings.Repeat(line, 20_000*4/len(line)); text != ""; {
					size := min(4, len(text))
					s.Write(text[:size])
					s.Lines(100)
					text = text[size:]
				}
			}
		})
	}
}

func BenchmarkResize(b *testing.B) {
	t, _ := theme.Builtin(theme.DefaultDark)
	s := New(Options{Styles: theme.NewStyles(t, theme.TrueColor)})
	s.Write(strings.Join(answer(200_000), ""))
	s.Close()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		s.Lines(80 + i%2)
	}
}

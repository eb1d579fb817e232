package syntax

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/markdown/spectest"
)

// Every example of CommonMark's specification comes out as it says, but for those with
// HTML, which is text here.
func TestCommonMark(t *testing.T) {
	for _, e := range spectest.Examples() {
		got := flat(page(e.Markdown))
		want := flat(e.HTML)
		switch {
		case got == want && e.Tags != "":
			t.Errorf("example %d is listed as one with HTML and passes", e.Number)
		case got != want && e.Tags == "":
			t.Errorf("example %d, %s: %q\nwant %s\ngot  %s", e.Number, e.Section, e.Markdown, want, got)
		}
	}
}

// flat is HTML without the line feeds that only set its source.
func flat(s string) string {
	for _, tag := range []string{"p", "ul", "ol", "li", "blockquote", "h1", "h2", "h3", "h4", "h5", "h6", "pre"} {
		s = strings.ReplaceAll(s, "\n<"+tag+">", "<"+tag+">")
		s = strings.ReplaceAll(s, "<"+tag+">\n", "<"+tag+">")
		s = strings.ReplaceAll(s, "\n</"+tag+">", "</"+tag+">")
		s = strings.ReplaceAll(s, "</"+tag+">\n", "</"+tag+">")
	}
	s = strings.ReplaceAll(s, "\n<ol start", "<ol start")
	s = strings.ReplaceAll(s, "<br />\n", "<br />")
	s = strings.ReplaceAll(s, "\n<hr />", "<hr />")
	return strings.TrimSpace(strings.ReplaceAll(s, "<hr />\n", "<hr />"))
}

// page is a document as HTML, as CommonMark's specification writes it.
func page(text string) string {
	var p pager
	var s Scanner
	give := func(b Block) {
		p.blocks = append(p.blocks, b)
		if b.Kind == Definition {
			p.defs.Define(b)
		}
	}
	lines := strings.Split(text, "\n")
	for _, line := range lines[:len(lines)-1] {
		s.Line(line, give)
	}
	s.End(lines[len(lines)-1], false, give)
	p.within(p.blocks, 0, false)
	return p.String()
}

type pager struct {
	strings.Builder
	blocks []Block
	defs   Definitions
}

// within writes blocks that share depth containers.
func (p *pager) within(blocks []Block, depth int, tight bool) {
	for len(blocks) > 0 {
		n := 1
		if b := blocks[0]; len(b.Containers) <= depth {
			for b.Kind <= Code && n < len(blocks) && blocks[n].Continued {
				n++
			}
			p.leaf(blocks[:n], tight)
			blocks = blocks[n:]
			continue
		}
		item := func(from int) int {
			for from++; from < len(blocks) && blocks[from].Shared > depth; from++ {
				continue
			}
			return from
		}
		if n = item(0); blocks[0].Containers[depth].Quote {
			p.WriteString("<blockquote>")
			p.within(blocks[:n], depth+1, false)
			p.WriteString("</blockquote>")
			blocks = blocks[n:]
			continue
		}
		ends := []int{n}
		for n < len(blocks) && len(blocks[n].Containers) > depth && !blocks[n].Containers[depth].Quote && !blocks[n].Containers[depth].Start {
			n = item(n)
			ends = append(ends, n)
		}
		tight := true
		for _, b := range blocks[1:n] {
			next := b.Shared == depth+1 && (len(b.Containers) == depth+1 || b.Containers[depth+1].Quote || b.Containers[depth+1].Start)
			tight = tight && !(b.Blank && (b.Shared == depth || next))
		}
		tag := "ul"
		if c := blocks[0].Containers[depth]; c.Ordered {
			tag = "ol"
			fmt.Fprint(p, "<ol", map[bool]string{true: "", false: fmt.Sprintf(` start="%d"`, c.Number)}[c.Number == 1], ">")
		} else {
			p.WriteString("<ul>")
		}
		from := 0
		for _, end := range ends {
			p.WriteString("<li>")
			p.within(blocks[from:end], depth+1, tight)
			p.WriteString("</li>")
			from = end
		}
		p.WriteString("</" + tag + ">")
		blocks = blocks[n:]
	}
}

func (p *pager) leaf(blocks []Block, tight bool) {
	switch b := blocks[0]; b.Kind {
	case Paragraph:
		if tight {
			p.inline(b.Text)
			p.WriteString("\n")
			return
		}
		p.WriteString("<p>")
		p.inline(b.Text)
		p.WriteString("</p>")
	case Heading:
		tag := "h" + strconv.Itoa(b.Level) + ">"
		p.WriteString("<" + tag)
		p.inline(b.Text)
		p.WriteString("</" + tag)
	case CodeStart, Code:
		p.WriteString("<pre><code")
		if b.Lang != "" {
			p.WriteString(` class="language-` + b.Lang + `"`)
		}
		p.WriteString(">")
		for _, line := range blocks {
			if line.Kind == Code {
				p.WriteString(escaped(line.Text) + "\n")
			}
		}
		p.WriteString("</code></pre>")
	case Rule:
		p.WriteString("<hr />")
	case Definition, Empty:
	default:
		fmt.Fprintf(p, "%+v", b)
	}
}

func (p *pager) inline(text string) {
	var open []Mark
	picture := 0
	for _, s := range Flow(text, &p.defs) {
		for _, m := range s.Begin {
			open = append(open, m)
			switch {
			case picture > 0:
			case m == Picture:
				p.WriteString(`<img src="` + encoded(s.Image.Address) + `" alt="`)
			case m == Linked && (!s.Link.Shown || s.Link.Angle): // bare addresses are GitHub's
				p.WriteString(`<a href="` + encoded(s.Link.Address) + `"` + titled(s.Link) + ">")
			default:
				p.WriteString(map[Mark]string{Em: "<em>", Strong: "<strong>"}[m])
			}
			if picture > 0 || m == Picture {
				picture++
			}
		}
		words := escaped(s.Text)
		if s.Mark&CodeSpan != 0 && picture == 0 {
			words = "<code>" + words + "</code>"
		}
		p.WriteString(strings.ReplaceAll(words, string(HardBreak), "<br />"))
		for range s.End {
			m := open[len(open)-1]
			open = open[:len(open)-1]
			if picture > 0 {
				picture--
			}
			switch {
			case picture > 0:
			case m == Picture:
				p.WriteString(`"` + titled(s.Image) + " />")
			case m == Linked && (!s.Link.Shown || s.Link.Angle):
				p.WriteString("</a>")
			default:
				p.WriteString(map[Mark]string{Em: "</em>", Strong: "</strong>"}[m])
			}
		}
	}
}

func titled(l *Link) string {
	if l.Title == "" {
		return ""
	}
	return ` title="` + escaped(l.Title) + `"`
}

func escaped(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;").Replace(s)
}

// encoded is an address with what may not stand in one as percents.
func encoded(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; wordByte(c) || strings.IndexByte(`-.!~*'();/?:@&=+$,#%`, c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return strings.ReplaceAll(b.String(), "&", "&amp;")
}

package markup

import (
	"strconv"
	"strings"

	"github.com/burin-dev/burin/internal/markdown/syntax"
)

// AppendMarkdown appends s, Markdown as models write it: CommonMark, and GitHub's tables,
// task lists, struck text and bare addresses, as the terminal reads them
// (internal/markdown/syntax). HTML in it is text, except <br>. Formulas are shown as they
// are written. Images are links: nothing is loaded; one in a link is that link's words.
// Headings begin at h3. If breaks is set, a line feed is a new line, as people who type
// into a chat expect.
func AppendMarkdown(dst []byte, s string, breaks bool) []byte {
	r := renderer{dst: dst, breaks: breaks, defs: &syntax.Definitions{}}
	var blocks []syntax.Block
	give := func(b syntax.Block) {
		blocks = append(blocks, b)
		if b.Kind == syntax.Definition {
			r.defs.Define(b)
		}
	}
	var scanner syntax.Scanner
	for more := true; more; {
		var line string
		if line, s, more = strings.Cut(s, "\n"); more {
			scanner.Line(line, give)
		} else {
			scanner.End(line, false, give)
		}
	}
	r.blocks(blocks, 0, false)
	return r.dst
}

type renderer struct {
	dst    []byte
	breaks bool
	defs   *syntax.Definitions
}

func (r *renderer) put(s string) { r.dst = append(r.dst, s...) }

// blocks renders blocks that share depth containers. tight leaves paragraphs bare, as
// in a list without blank lines.
func (r *renderer) blocks(blocks []syntax.Block, depth int, tight bool) {
	for len(blocks) > 0 {
		n := 1
		switch b := &blocks[0]; {
		case len(b.Containers) > depth && b.Containers[depth].Quote:
			n = within(blocks, depth)
			r.put("<blockquote>")
			r.blocks(blocks[:n], depth+1, false)
			r.put("</blockquote>")
		case len(b.Containers) > depth:
			n = r.list(blocks, depth)
		default:
			n = r.leaf(blocks, tight)
		}
		blocks = blocks[n:]
	}
}

// within is how many of the blocks stand in the container of the first one at depth.
func within(blocks []syntax.Block, depth int) int {
	n := 1
	for n < len(blocks) && blocks[n].Shared > depth {
		n++
	}
	return n
}

// list renders the list that the blocks begin with and says how many they are.
func (r *renderer) list(blocks []syntax.Block, depth int) int {
	ends := items(blocks, depth)
	all := ends[len(ends)-1]
	tight := !loose(blocks[:all], depth)
	first := blocks[0].Containers[depth]
	tag := "ul>"
	if first.Ordered {
		tag = "ol>"
	}
	if first.Ordered && first.Number != 1 {
		r.put(`<ol start="` + strconv.Itoa(first.Number) + `">`)
	} else {
		r.put("<" + tag)
	}
	from := 0
	for _, end := range ends {
		switch blocks[from].Containers[depth].Task {
		case syntax.NoTask:
			r.put("<li>")
		case syntax.TaskOpen:
			r.put(`<li class="task"><input type="checkbox" disabled> `)
		case syntax.TaskDone:
			r.put(`<li class="task"><input type="checkbox" disabled checked> `)
		}
		r.blocks(blocks[from:end], depth+1, tight)
		r.put("</li>")
		from = end
	}
	r.put("</" + tag)
	return all
}

// items is where each item ends of the list that the blocks begin with.
func items(blocks []syntax.Block, depth int) (ends []int) {
	for at := 0; ; {
		at += within(blocks[at:], depth)
		ends = append(ends, at)
		if at == len(blocks) || len(blocks[at].Containers) <= depth {
			return ends
		}
		if next := blocks[at].Containers[depth]; next.Quote || next.Start {
			return ends
		}
	}
}

// loose reports whether blank lines stand between the items of a list, or between the
// blocks directly in one of them.
func loose(list []syntax.Block, depth int) bool {
	for _, b := range list[1:] {
		if !b.Blank || b.Shared > depth+1 {
			continue
		}
		if b.Shared == depth || len(b.Containers) == depth+1 {
			return true
		}
		if c := b.Containers[depth+1]; c.Quote || c.Start { // not the next item of a list in it
			return true
		}
	}
	return false
}

// leaf renders the block at the beginning, with those that continue with it, and says
// how many they are.
func (r *renderer) leaf(blocks []syntax.Block, tight bool) int {
	n := 1
	for n < len(blocks) && blocks[n].Continued {
		n++
	}
	switch b := &blocks[0]; b.Kind {
	case syntax.Paragraph:
		r.paragraph(blocks[:n], tight)
	case syntax.Heading:
		tag := "h" + strconv.Itoa(min(b.Level+2, 6)) + ">"
		r.put("<" + tag)
		r.inline(b.Text)
		r.put("</" + tag)
	case syntax.CodeStart:
		r.code(b.Lang, blocks[1:n])
	case syntax.Code:
		r.code(b.Lang, blocks[:n])
	case syntax.Rule:
		r.put("<hr>")
	case syntax.Table:
		r.table(blocks[:n])
	case syntax.Math:
		r.put(`<pre><code data-lang="latex">`)
		r.dst = AppendText(r.dst, b.Text+"\n")
		r.put("</code></pre>")
	case syntax.Empty, syntax.Definition:
	}
	return n
}

func (r *renderer) paragraph(parts []syntax.Block, tight bool) {
	if !tight {
		r.put("<p>")
	}
	for i, p := range parts {
		if i > 0 {
			r.put("\n")
		}
		r.inline(p.Text)
	}
	if !tight {
		r.put("</p>")
	}
}

func (r *renderer) code(lang string, lines []syntax.Block) {
	r.put("<pre><code")
	if lang != "" {
		r.put(` data-lang="` + lang + `"`)
	}
	r.put(">")
	for _, line := range lines {
		if lang == "diff" || lang == "patch" {
			r.dst = AppendDiff(r.dst, line.Text+"\n")
			continue
		}
		r.dst = AppendText(r.dst, line.Text)
		r.put("\n")
	}
	r.put("</code></pre>")
}

func (r *renderer) table(parts []syntax.Block) {
	classes := [...]string{syntax.Left: "", syntax.Center: ` class="mid"`, syntax.Right: ` class="end"`}
	row := func(tag string, cells []string) {
		r.put("<tr>")
		for k, c := range cells {
			class := ""
			if k < len(parts[0].Align) {
				class = classes[parts[0].Align[k]]
			}
			r.put("<" + tag + class + ">")
			r.inline(c)
			r.put("</" + tag + ">")
		}
		r.put("</tr>")
	}
	r.put(`<div class="wide" tabindex="0"><table><thead>`)
	row("th", parts[0].Rows[0])
	r.put("</thead><tbody>")
	for i, p := range parts {
		rows := p.Rows
		if i == 0 {
			rows = rows[1:]
		}
		for _, cells := range rows {
			row("td", cells)
		}
	}
	r.put("</tbody></table></div>")
}

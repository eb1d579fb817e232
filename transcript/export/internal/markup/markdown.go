package markup

import (
	"strconv"
	"strings"
)

// Limits of Markdown. What is beyond them is shown as plain text.
const (
	maxDepth   = 12  // quotes and lists within each other
	maxColumns = 100 // of a table
)

// AppendMarkdown appends s, Markdown as models write it: CommonMark's blocks and
// inlines without reference links, and GitHub's tables, task lists, struck text
// and bare addresses. HTML in it is text, except <br>. Images are links: nothing
// is loaded. Headings begin at h3. If breaks is set, a line feed is a new line, as
// people who type into a chat expect.
func AppendMarkdown(dst []byte, s string, breaks bool) []byte {
	r := renderer{dst: dst, breaks: breaks}
	r.blocks(strings.Split(strings.ReplaceAll(s, "\r\n", "\n"), "\n"), 0, false)
	return r.dst
}

type renderer struct {
	dst    []byte
	breaks bool
}

func (r *renderer) put(s string) { r.dst = append(r.dst, s...) }

// blocks renders lines as a sequence of blocks. tight leaves paragraphs bare, as in
// a list without blank lines.
func (r *renderer) blocks(lines []string, depth int, tight bool) {
	for i := 0; i < len(lines); {
		line := lines[i]
		in, text := indent(line)
		switch {
		case text == "":
			i++
		case in >= 4:
			i = r.indented(lines, i)
		case fence(text) > 0:
			i = r.fenced(lines, i)
		case heading(text) > 0:
			r.heading(text)
			i++
		case rule(text):
			r.put("<hr>")
			i++
		case text[0] == '>' && depth < maxDepth:
			i = r.quote(lines, i, depth)
		case depth < maxDepth && marker(text).width > 0:
			i = r.list(lines, i, depth)
		case i+1 < len(lines) && strings.Contains(text, "|") && columns(lines[i+1]) != nil:
			i = r.table(lines, i, tight)
		default:
			i = r.paragraph(lines, i, depth, tight)
		}
	}
}

// indent is the width of the white space line begins with, and the rest.
func indent(line string) (width int, rest string) {
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case ' ':
			width++
		case '\t':
			width += 4 - width%4
		default:
			return width, line[i:]
		}
	}
	return width, ""
}

// outdent removes up to n columns of white space.
func outdent(line string, n int) string {
	width := 0
	for i := 0; i < len(line); i++ {
		switch {
		case width >= n:
			return line[i:]
		case line[i] == ' ':
			width++
		case line[i] == '\t':
			width += 4 - width%4
		default:
			return line[i:]
		}
	}
	return ""
}

// fence is the length of the code fence that text begins with, or 0.
func fence(text string) int {
	if len(text) < 3 || text[0] != '`' && text[0] != '~' {
		return 0
	}
	n := 0
	for n < len(text) && text[n] == text[0] {
		n++
	}
	if n < 3 || text[0] == '`' && strings.IndexByte(text[n:], '`') >= 0 {
		return 0
	}
	return n
}

func heading(text string) int {
	n := 0
	for n < len(text) && text[n] == '#' {
		n++
	}
	if n == 0 || n > 6 || n < len(text) && text[n] != ' ' && text[n] != '\t' {
		return 0
	}
	return n
}

func rule(text string) bool {
	if text[0] != '-' && text[0] != '*' && text[0] != '_' {
		return false
	}
	n := 0
	for i := range len(text) {
		switch text[i] {
		case text[0]:
			n++
		case ' ', '\t':
		default:
			return false
		}
	}
	return n >= 3
}

// bullet is the marker of a list item; width 0 means there is none.
type bullet struct {
	char   byte // '-', '*', '+', '.' or ')'
	number int  // of an ordered list
	length int  // bytes of the marker itself
	width  int  // columns from the marker's start to the item's text
	empty  bool
}

func marker(text string) bullet {
	n := 0
	b := bullet{}
	for n < len(text) && n < 9 && '0' <= text[n] && text[n] <= '9' {
		b.number = b.number*10 + int(text[n]-'0')
		n++
	}
	if n == len(text) || n == 0 && strings.IndexByte("-*+", text[0]) < 0 || n > 0 && text[n] != '.' && text[n] != ')' {
		return bullet{}
	}
	b.char = text[n]
	n++
	b.length = n
	spaces, rest := indent(text[n:])
	switch {
	case rest == "":
		b.width, b.empty = n+1, true
	case spaces == 0:
		return bullet{}
	case spaces > 4:
		b.width = n + 1
	default:
		b.width = n + spaces
	}
	return b
}

func (r *renderer) indented(lines []string, i int) int {
	r.put("<pre><code>")
	end := i
	for j := i; j < len(lines); j++ {
		in, text := indent(lines[j])
		if text != "" && in < 4 {
			break
		}
		if text != "" {
			end = j + 1
		}
	}
	for _, line := range lines[i:end] {
		r.dst = AppendText(r.dst, outdent(line, 4))
		r.put("\n")
	}
	r.put("</code></pre>")
	return end
}

func (r *renderer) fenced(lines []string, i int) int {
	in, text := indent(lines[i])
	n, char := fence(text), text[0]
	lang := language(text[n:])
	end := i + 1
	for ; end < len(lines); end++ {
		w, t := indent(lines[end])
		if w < 4 && t != "" && t[0] == char && fence(t) >= n && strings.Trim(t, t[:1]+" \t") == "" {
			break
		}
	}
	r.put("<pre><code")
	if lang != "" {
		r.put(` data-lang="` + lang + `"`)
	}
	r.put(">")
	for _, line := range lines[i+1 : end] {
		line = outdent(line, in)
		if lang == "diff" || lang == "patch" {
			r.dst = AppendDiff(r.dst, line+"\n")
			continue
		}
		r.dst = AppendText(r.dst, line)
		r.put("\n")
	}
	r.put("</code></pre>")
	return min(end+1, len(lines))
}

// language is the first word of a fence's info, if it is harmless.
func language(info string) string {
	word, _, _ := strings.Cut(strings.TrimSpace(info), " ")
	word = strings.ToLower(strings.Trim(word, "{}."))
	if len(word) > 24 {
		return ""
	}
	for i := range len(word) {
		if c := word[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') && strings.IndexByte("+#._-", c) < 0 {
			return ""
		}
	}
	return word
}

func (r *renderer) heading(text string) {
	n := heading(text)
	text = strings.TrimSpace(text[n:])
	if cut := strings.TrimRight(text, "#"); cut == "" || strings.HasSuffix(cut, " ") {
		text = strings.TrimSpace(cut)
	}
	r.title(n, text)
}

func (r *renderer) title(level int, text string) {
	tag := "h" + strconv.Itoa(min(level+2, 6)) + ">"
	r.put("<" + tag)
	r.inline(text)
	r.put("</" + tag)
}

func (r *renderer) quote(lines []string, i, depth int) int {
	var inner []string
	lazy := false
	for ; i < len(lines); i++ {
		in, text := indent(lines[i])
		if in < 4 && strings.HasPrefix(text, ">") {
			inner = append(inner, strings.TrimPrefix(text[1:], " "))
			_, rest := indent(text[1:])
			lazy = rest != "" && fence(rest) == 0
			continue
		}
		if !lazy || interrupts(text, in) {
			break
		}
		inner = append(inner, lines[i])
	}
	r.put("<blockquote>")
	r.blocks(inner, depth+1, false)
	r.put("</blockquote>")
	return i
}

// interrupts says whether a line ends the paragraph before it.
func interrupts(text string, in int) bool {
	if text == "" {
		return true
	}
	if in >= 4 {
		return false
	}
	m := marker(text)
	return fence(text) > 0 || heading(text) > 0 || rule(text) || text[0] == '>' ||
		m.width > 0 && !m.empty && (m.number == 1 || m.char != '.' && m.char != ')')
}

func (r *renderer) list(lines []string, i, depth int) int {
	_, text := indent(lines[i])
	first := marker(text)
	items, loose, end := itemsOf(lines, i, first)
	tag := "ul>"
	if first.char == '.' || first.char == ')' {
		tag = "ol>"
	}
	if tag == "ol>" && first.number != 1 {
		r.put(`<ol start="` + strconv.Itoa(first.number) + `">`)
	} else {
		r.put("<" + tag)
	}
	for _, item := range items {
		r.put(taskBox(item))
		r.blocks(item, depth+1, !loose)
		r.put("</li>")
	}
	r.put("</" + tag)
	return end
}

// taskBox is the start tag of an item and the box of a task, whose sign it takes
// off the item's first line.
func taskBox(item []string) string {
	if len(item[0]) < 4 || item[0][0] != '[' || item[0][2:4] != "] " {
		return "<li>"
	}
	checked := ""
	switch item[0][1] {
	case ' ':
	case 'x', 'X':
		checked = " checked"
	default:
		return "<li>"
	}
	item[0] = item[0][4:]
	return `<li class="task"><input type="checkbox" disabled` + checked + `> `
}

// itemsOf collects the lines of each item of the list that starts at line i.
func itemsOf(lines []string, i int, first bullet) (items [][]string, loose bool, end int) {
	width, blank, inFence := 0, false, 0
	for ; i < len(lines); i++ {
		in, text := indent(lines[i])
		if text == "" {
			blank = true
			if len(items) > 0 {
				items[len(items)-1] = append(items[len(items)-1], "")
			}
			continue
		}
		m := marker(text)
		nested := width > 0 && (in >= width || in >= 2 && m.width > 0)
		switch {
		case nested:
			last := &items[len(items)-1]
			line := outdent(lines[i], width)
			if f := fence(strings.TrimLeft(line, " ")); f > 0 {
				inFence = 1 - inFence
			}
			if blank && inFence == 0 && m.width == 0 && in < width+2 {
				loose = true
			}
			*last = append(*last, line)
		case in < 4 && m.width > 0 && sameList(m, first) && !rule(text):
			if blank && len(items) > 0 {
				loose = true
			}
			width, inFence = in+m.width, 0
			items = append(items, []string{outdent(text[m.length:], m.width-m.length)})
		case !blank && len(items) > 0 && !interrupts(text, in):
			last := &items[len(items)-1]
			*last = append(*last, text)
		default:
			return items, loose, i
		}
		blank = false
	}
	return items, loose, i
}

func sameList(a, b bullet) bool { return a.char == b.char }

// columns are the alignments of a table's delimiter row; nil if line is none.
func columns(line string) []string {
	line = strings.TrimSpace(line)
	if !strings.Contains(line, "-") || strings.Trim(line, "|-: \t") != "" {
		return nil
	}
	cells := cellsOf(line)
	if len(cells) > maxColumns {
		return nil
	}
	align := make([]string, len(cells))
	for i, c := range cells {
		if strings.Trim(c, ":") == "" || strings.Trim(c, ":-") != "" {
			return nil
		}
		left, right := c[0] == ':', c[len(c)-1] == ':'
		switch {
		case left && right:
			align[i] = ` class="mid"`
		case right:
			align[i] = ` class="end"`
		}
	}
	return align
}

// cellsOf splits a row at its bars.
func cellsOf(line string) []string {
	line = strings.TrimSpace(line)
	line = strings.TrimPrefix(line, "|")
	if strings.HasSuffix(line, "|") && !strings.HasSuffix(line, `\|`) {
		line = line[:len(line)-1]
	}
	var cells []string
	from := 0
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case '\\':
			i++
		case '|':
			cells = append(cells, strings.ReplaceAll(strings.TrimSpace(line[from:i]), `\|`, "|"))
			from = i + 1
		}
	}
	return append(cells, strings.ReplaceAll(strings.TrimSpace(line[from:]), `\|`, "|"))
}

func (r *renderer) table(lines []string, i int, tight bool) int {
	head, align := cellsOf(lines[i]), columns(lines[i+1])
	if len(head) != len(align) {
		return r.paragraph(lines, i, maxDepth, tight)
	}
	row := func(tag string, cells []string) {
		r.put("<tr>")
		for k, c := range cells[:min(len(cells), len(align))] {
			r.put("<" + tag + align[k] + ">")
			r.inline(c)
			r.put("</" + tag + ">")
		}
		r.put("</tr>")
	}
	r.put(`<div class="wide" tabindex="0"><table><thead>`)
	row("th", head)
	r.put("</thead><tbody>")
	for i += 2; i < len(lines); i++ {
		in, text := indent(lines[i])
		if interrupts(text, in) && !strings.HasPrefix(text, "|") {
			break
		}
		row("td", cellsOf(lines[i]))
	}
	r.put("</tbody></table></div>")
	return i
}

func (r *renderer) paragraph(lines []string, i, depth int, tight bool) int {
	start := i
	for i++; i < len(lines); i++ {
		in, text := indent(lines[i])
		if in < 4 && text != "" && strings.Trim(strings.TrimRight(text, " \t"), text[:1]) == "" && (text[0] == '=' || text[0] == '-') {
			level := 1
			if text[0] == '-' {
				level = 2
			}
			r.title(level, join(lines[start:i]))
			return i + 1
		}
		if interrupts(text, in) {
			break
		}
		if depth < maxDepth && i+1 < len(lines) && strings.Contains(text, "|") && len(columns(lines[i+1])) > 1 {
			break
		}
	}
	if tight {
		r.inline(join(lines[start:i]))
		return i
	}
	r.put("<p>")
	r.inline(join(lines[start:i]))
	r.put("</p>")
	return i
}

// join makes one text of a paragraph's lines, without their indentation.
func join(lines []string) string {
	var b strings.Builder
	for i, l := range lines {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(strings.TrimLeft(l, " \t"))
	}
	return strings.TrimRight(b.String(), " \t")
}

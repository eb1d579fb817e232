package syntax

import "strings"

// cursor is what is left of a line, and the column at which it stands: how wide a tab
// is depends on it.
type cursor struct {
	s   string
	col int
}

// indent is the width of the white space that the line begins with from here, and the rest.
func (c cursor) indent() (width int, rest string) {
	for i := range len(c.s) {
		switch c.s[i] {
		case ' ':
			width++
		case '\t':
			width += 4 - (c.col+width)%4
		default:
			return width, c.s[i:]
		}
	}
	return width, ""
}

// outdent removes up to n columns of white space. Of a tab that reaches beyond,
// the columns beyond stay, as spaces.
func (c cursor) outdent(n int) cursor {
	width, i := 0, 0
	for i < len(c.s) && width < n && (c.s[i] == ' ' || c.s[i] == '\t') {
		if c.s[i] == '\t' {
			width += 3 - (c.col+width)%4
		}
		width++
		i++
	}
	if width > n {
		return cursor{strings.Repeat(" ", width-n) + c.s[i:], c.col + n}
	}
	return cursor{c.s[i:], c.col + width}
}

// skip removes n bytes of one column each.
func (c cursor) skip(n int) cursor { return cursor{c.s[n:], c.col + n} }

// fence is the length of the code fence that text begins with, or 0.
func fence(text string) int {
	if len(text) < 3 || text[0] != '`' && text[0] != '~' {
		return 0
	}
	n := run(text)
	if n < 3 || text[0] == '`' && strings.IndexByte(text[n:], '`') >= 0 {
		return 0
	}
	return n
}

// run is how often the first byte of s is repeated.
func run(s string) int {
	n := 1
	for n < len(s) && s[n] == s[0] {
		n++
	}
	return n
}

// heading is the level of the heading that text is, or 0.
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

// title is the words of a heading.
func title(text string, level int) string {
	text = strings.Trim(text[level:], " \t")
	if cut := strings.TrimRight(text, "#"); cut == "" || strings.HasSuffix(cut, " ") || strings.HasSuffix(cut, "\t") {
		text = strings.TrimRight(cut, " \t")
	}
	return text
}

func rule(text string) bool {
	if text == "" || text[0] != '-' && text[0] != '*' && text[0] != '_' {
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

// underline is the level of the heading that text makes of the paragraph before
// it, or 0.
func underline(text string) int {
	text = strings.TrimRight(text, " \t")
	if text == "" || text[0] != '=' && text[0] != '-' || run(text) != len(text) {
		return 0
	}
	if text[0] == '=' {
		return 1
	}
	return 2
}

// bullet is the marker of a list item; width 0 means there is none.
type bullet struct {
	char   byte // '-', '*', '+', '.' or ')'
	number int  // of an ordered list
	length int  // bytes of the marker itself
	width  int  // columns from the marker's start to the item's text
	empty  bool
}

func (b bullet) ordered() bool { return b.char == '.' || b.char == ')' }

// marker reads the marker that text, which stands at column col, begins with.
func marker(text string, col int) bullet {
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
	spaces, rest := cursor{text[n:], col + n}.indent()
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

// task is the box that the first line of an item begins with.
func task(text string) Task {
	if len(text) < 4 || text[0] != '[' || text[2:4] != "] " {
		return NoTask
	}
	switch text[1] {
	case ' ':
		return TaskOpen
	case 'x', 'X':
		return TaskDone
	}
	return NoTask
}

// Limits of tables. Columns beyond are dropped; rows beyond go on as a table of
// their own with the same columns.
const (
	maxColumns = 50
	maxRows    = 50
)

// columns reads the line between a table's head and its body; nil if it is none.
func columns(line string) []Align {
	in, text := cursor{s: line}.indent()
	if in >= 4 || !strings.Contains(text, "-") || strings.Trim(text, "|-: \t") != "" {
		return nil
	}
	cells := cells(text)
	aligns := make([]Align, 0, len(cells))
	for _, c := range cells {
		dashes := strings.Trim(c, ":")
		if dashes == "" || run(dashes) != len(dashes) || dashes[0] != '-' {
			return nil
		}
		a := Left
		switch left, right := strings.HasPrefix(c, ":"), strings.HasSuffix(c, ":"); {
		case left && right:
			a = Center
		case right:
			a = Right
		}
		aligns = append(aligns, a)
	}
	return aligns
}

// cells are the cells of a row. A pipe in code or after a backslash parts nothing.
func cells(row string) []string {
	row = strings.TrimSpace(row)
	row = strings.TrimPrefix(row, "|")
	var all []string
	start, code := 0, 0
	for i := 0; i < len(row); i++ {
		switch row[i] {
		case '\\':
			i++
		case '`':
			n := run(row[i:])
			switch code {
			case 0:
				if strings.Contains(row[i+n:], row[i:i+n]) {
					code = n
				}
			case n:
				code = 0
			}
			i += n - 1
		case '|':
			if code == 0 && len(all) < maxColumns {
				all = append(all, cell(row[start:i]))
				start = i + 1
			}
		}
	}
	if rest := strings.TrimSpace(row[start:]); rest != "" && len(all) < maxColumns {
		all = append(all, cell(rest))
	}
	return all
}

func cell(s string) string { return strings.ReplaceAll(strings.TrimSpace(s), `\|`, "|") }

// Unfinished reports whether a line that is still being written may become
// anything: it is better not shown yet. Inside code only what may be the closing
// fence is.
func unfinished(line string, inCode bool) bool {
	if inCode {
		t := strings.TrimLeft(line, " \t>")
		return t != "" && (t[0] == '`' || t[0] == '~') && run(t) == len(t)
	}
	t := strings.TrimLeft(line, " \t>")
	if t == "" || strings.Trim(t, "-=*+_#`~|:. \t") == "" || strings.HasPrefix(t, "```") || strings.HasPrefix(t, "~~~") ||
		t == "$" || t == "$$" || t == `\` || t == `\[` {
		return true
	}
	digits := strings.TrimLeft(t, "0123456789")
	if len(digits) < len(t) && (digits == "" || digits == "." || digits == ")") {
		return true
	}
	if m := marker(t, 0); m.width > 0 {
		item := strings.TrimLeft(t[m.length:], " ")
		return item != "" && len(item) <= 4 && (item == "[" || item == "[ " || item == "[x" || item == "[X" ||
			item == "[ ]" || item == "[x]" || item == "[X]" || item == "[ ] " || item == "[x] " || item == "[X] " ||
			strings.Trim(item, "-*_#`~") == "")
	}
	return false
}

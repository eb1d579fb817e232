// Package syntax reads Markdown as models write it, line by line: CommonMark's
// blocks and inlines without reference links, GitHub's tables, task lists and
// struck text, and mathematics between dollars or \( \). HTML is text.
//
// A [Scanner] takes lines and gives [Block]s as soon as nothing that follows can
// change them: paragraphs, rows and lines of code, never whole lists or quotes,
// which are only written on each block as its [Container]s. So a text of any
// length is read with a bounded memory, each line once. What is still open is
// seen by cloning the scanner and ending the clone. [Inline] reads the text in a
// block. Nothing here knows how it is shown.
package syntax

import (
	"slices"
	"strings"
)

// Kind is what a block is.
type Kind uint8

const (
	Paragraph Kind = iota
	Heading
	CodeStart // the language of the code that follows
	Code      // a line of code
	Rule
	Table
	Math  // display mathematics, as LaTeX
	Empty // an item without text
)

// Block is a piece of a document that contains no other.
type Block struct {
	Kind       Kind
	Text       string // paragraphs, headings, lines of code, mathematics
	Level      int    // of a heading, 1 to 6
	Lang       string // of CodeStart and Code, lower case; may be ""
	Align      []Align
	Rows       [][]string  // of a table; the first is its head, unless it is Continued
	Containers []Container // from the outermost
	Shared     int         // how many of them hold the block before, too
	Gap        bool        // a blank line stands before
	// Continued says that the block goes on where the one before stopped: it was
	// too long to be kept whole, or it is the next line of the same code.
	Continued bool
	// Open says that the block is still being written.
	Open bool
}

// Align is how the cells of a column are set.
type Align uint8

const (
	Left Align = iota
	Center
	Right
)

// Task is the box of an item.
type Task uint8

const (
	NoTask Task = iota
	TaskOpen
	TaskDone
)

// Container is a quote or an item of a list around a block.
type Container struct {
	Quote   bool
	Ordered bool
	Number  int // of an ordered item
	Depth   int // of a list within lists, from 0
	Task    Task
	First   bool // the block is the item's first: the marker stands before it
}

// Limits of the scanner.
const (
	maxDepth = 12      // containers within each other; deeper ones are text
	maxText  = 4 << 10 // bytes of a paragraph; a longer one goes on as another block
	maxMath  = 2 << 10 // bytes of a formula; what follows is text
)

type leaf uint8

const (
	noLeaf leaf = iota
	paragraph
	fenced
	indented
	table
	math
)

// container is an open one.
type container struct {
	Container
	id     int
	indent int // columns that lines of the item are indented by
	base   int // columns before its marker
	char   byte
	used   bool // a block has been given that shows the marker
}

// Scanner reads a document. The zero value is ready; it is copied by [Scanner.Clone].
type Scanner struct {
	stack []container
	next  int // id of the next container

	leaf      leaf
	text      []string // lines of the paragraph or formula
	size      int
	continued bool // the leaf goes on
	fenceChar byte
	fenceLen  int
	fenceIn   int // columns of the fence's indentation
	mathEnd   string
	lang      string
	align     []Align
	rows      [][]string

	blanks  int   // blank lines since the last line with text
	gap     bool  // there were some before the leaf
	last    Kind  // of the last block
	any     bool  // there was a block
	parents []int // ids of the containers of the last block
	closed  []container
	midline bool // what comes is the rest of a line

	give func(Block)
}

// Clone is a scanner in the same state.
func (s *Scanner) Clone() Scanner {
	c := *s
	c.stack = slices.Clone(s.stack)
	c.text = slices.Clip(s.text)
	c.rows = slices.Clip(s.rows)
	c.closed = slices.Clip(s.closed)
	return c
}

// InCode reports whether the next line is code between fences.
func (s *Scanner) InCode() bool { return s.leaf == fenced }

// Line reads a line, without its end, and gives the blocks that it ends.
func (s *Scanner) Line(line string, give func(Block)) {
	s.give = give
	if s.midline {
		s.midline = false
		s.rest(line)
		return
	}
	s.line(line)
}

// Part reads the beginning of a line that is too long to wait for its end. The
// rest of it, which comes next, is text and begins no block.
func (s *Scanner) Part(part string, give func(Block)) {
	s.Line(part, give)
	s.midline = true
}

// End ends the document. With partial, the beginning of a line not yet ended is
// read first, unless it may still become anything, and the last block is Open.
func (s *Scanner) End(partial string, open bool, give func(Block)) {
	var held *Block
	s.give = func(b Block) {
		if held != nil {
			give(*held)
		}
		held = &b
	}
	switch {
	case !open && (partial != "" || s.midline):
		s.Line(partial, s.give)
	case s.midline && partial != "":
		s.rest(partial)
	case partial != "" && !unfinished(partial, s.leaf == fenced):
		s.line(partial)
	}
	if open && s.leaf == paragraph && len(s.text) == 1 && !s.continued && strings.HasPrefix(strings.TrimLeft(s.text[0], " "), "|") {
		s.leaf, s.rows, s.align = table, [][]string{cells(s.text[0])}, nil // what begins like a table is one until it is not
	}
	s.close(0)
	if held != nil {
		held.Open = open
		give(*held)
	}
	s.give = nil
}

// rest reads the rest of a line.
func (s *Scanner) rest(text string) {
	switch s.leaf {
	case fenced:
		s.code(text)
	case paragraph:
		if len(s.text) == 0 {
			s.add(text)
			return
		}
		s.text = append(s.text[:len(s.text)-1:len(s.text)-1], s.text[len(s.text)-1]+text)
		s.size += len(text)
		s.limit()
	default:
		s.finish()
		s.leaf, s.continued = paragraph, true
		s.add(text)
	}
}

func (s *Scanner) line(line string) {
	matched, rest := s.match(line)
	in, text := indent(rest)
	if matched < len(s.stack) {
		sibling := !s.stack[matched].Quote && text != "" && marker(text).width > 0
		if s.leaf == paragraph && in < 4 && text != "" && !sibling && !s.interrupts(text) && s.blanks == 0 {
			s.add(rest) // a lazy continuation
			return
		}
		s.close(matched)
	}
	switch {
	case s.leaf == fenced:
		s.fencedLine(rest)
		return
	case s.leaf == math:
		s.mathLine(rest)
		return
	case text == "":
		s.blank()
		return
	}
	rest = s.open(rest)
	s.start(rest)
	s.blanks = 0
}

// match finds how many of the open containers the line stands in, and what it is
// inside of them.
func (s *Scanner) match(line string) (int, string) {
	for i := range s.stack {
		c := &s.stack[i]
		in, text := indent(line)
		switch {
		case c.Quote && in < 4 && strings.HasPrefix(text, ">"):
			line = strings.TrimPrefix(text[1:], " ")
		case c.Quote:
			return i, line
		case text == "":
			line = ""
		case in >= c.indent:
			line = outdent(line, c.indent)
		case in >= c.base+2 && i == len(s.stack)-1 && s.leaf != fenced && marker(text).width > 0:
			line = text // a nested list, indented less than CommonMark wants
		default:
			return i, line
		}
	}
	return len(s.stack), line
}

// interrupts says whether a line ends the paragraph before it.
func (s *Scanner) interrupts(text string) bool {
	m := marker(text)
	return fence(text) > 0 || heading(text) > 0 || rule(text) || text[0] == '>' || mathStart(text) != "" ||
		m.width > 0 && !m.empty && (m.number == 1 || !m.ordered() || s.inList())
}

func (s *Scanner) inList() bool { return len(s.stack) > 0 && !s.stack[len(s.stack)-1].Quote }

// open opens the containers that the line begins with.
func (s *Scanner) open(line string) string {
	for len(s.stack) < maxDepth {
		in, text := indent(line)
		if text == "" || in >= 4 {
			return line
		}
		if text[0] == '>' {
			s.begin()
			s.push(container{Container: Container{Quote: true}})
			line = strings.TrimPrefix(text[1:], " ")
			continue
		}
		m := marker(text)
		if m.width == 0 || rule(text) || s.leaf == paragraph && !s.interrupts(text) ||
			s.leaf == paragraph && underline(text) > 0 {
			return line
		}
		s.begin()
		c := container{Container: Container{Ordered: m.ordered(), Number: m.number}, indent: in + m.width, base: in, char: m.char}
		if at := len(s.stack); at < len(s.closed) && s.closed[at].char == m.char && !s.closed[at].Quote {
			c.Number = s.closed[at].Number + 1 // the next of the same list
		}
		for _, outer := range s.stack {
			if !outer.Quote {
				c.Depth++
			}
		}
		line = outdent(text[m.length:], m.width-m.length)
		c.Task, line = task(line)
		s.push(c)
	}
	return line
}

func (s *Scanner) push(c container) {
	s.next++
	c.id = s.next
	s.closed = s.closed[:min(len(s.closed), len(s.stack)):min(len(s.closed), len(s.stack))]
	s.stack = append(s.stack, c)
}

// start reads what stands in the innermost container.
func (s *Scanner) start(line string) {
	in, text := indent(line)
	if text == "" {
		return
	}
	if s.leaf == table {
		if !s.interrupts(text) {
			s.row(text)
			return
		}
		s.begin()
	}
	switch {
	case s.leaf == paragraph && in < 4 && underline(text) > 0:
		s.underlined(underline(text))
	case in >= 4 && s.leaf != paragraph:
		s.indentedLine(line)
	case fence(text) > 0:
		s.begin()
		s.leaf, s.fenceChar, s.fenceLen, s.fenceIn, s.lang = fenced, text[0], fence(text), in, language(text[fence(text):])
		s.continued = false
		if s.lang != "" {
			s.emit(Block{Kind: CodeStart, Lang: s.lang})
			s.continued = true
		}
	case heading(text) > 0:
		s.begin()
		level := heading(text)
		s.emit(Block{Kind: Heading, Level: level, Text: title(text, level)})
	case rule(text):
		s.begin()
		s.emit(Block{Kind: Rule})
	case mathStart(text) != "":
		s.begin()
		s.leaf, s.mathEnd = math, mathStart(text)
		s.mathLine(text[2:])
	default:
		s.textLine(line)
	}
}

func (s *Scanner) textLine(line string) {
	if s.leaf == paragraph && len(s.text) > 0 && !s.continued {
		if align := columns(line); align != nil {
			head := cells(s.text[len(s.text)-1])
			if strings.Contains(s.text[len(s.text)-1], "|") && len(head) == len(align) {
				s.text = s.text[:len(s.text)-1]
				s.finish()
				s.leaf, s.align, s.rows = table, align, [][]string{head}
				return
			}
		}
	}
	if s.leaf != paragraph {
		s.begin()
		s.leaf = paragraph
	}
	s.add(line)
}

// add adds a line to the paragraph.
func (s *Scanner) add(line string) {
	hard := strings.HasSuffix(line, "  ")
	line = strings.TrimLeft(line, " \t")
	if !hard {
		line = strings.TrimRight(line, "\t\r")
	}
	s.text = append(s.text, line)
	s.size += len(line) + 1
	s.blanks = 0
	s.limit()
}

// limit gives a paragraph that has become too long, and goes on with an empty one.
func (s *Scanner) limit() {
	if s.size <= maxText {
		return
	}
	s.finish()
	s.leaf, s.continued = paragraph, true
}

func (s *Scanner) underlined(level int) {
	text := strings.Join(s.text, " ")
	s.text, s.size, s.leaf = nil, 0, noLeaf
	s.emit(Block{Kind: Heading, Level: level, Text: strings.TrimSpace(text)})
}

func (s *Scanner) blank() {
	switch s.leaf {
	case indented: // may go on
	default:
		s.finish()
	}
	s.blanks++
	if n := len(s.stack); n > 0 && s.stack[n-1].Quote {
		return
	}
	// An item that has nothing after its marker takes no paragraph after a blank line.
	if n := len(s.stack); n > 0 && !s.stack[n-1].used {
		s.close(n - 1)
	}
}

func (s *Scanner) row(text string) {
	row := cells(text)
	s.rows = append(s.rows, row[:min(len(row), len(s.align))])
	if len(s.rows) < maxRows {
		return
	}
	align := s.align
	s.finish()
	s.leaf, s.align, s.continued = table, align, true
}

func (s *Scanner) indentedLine(line string) {
	if s.leaf != indented {
		s.begin()
		s.leaf, s.lang, s.continued = indented, "", false
	} else {
		for range min(s.blanks, 20) {
			s.code("")
		}
	}
	s.code(outdent(line, 4))
}

func (s *Scanner) fencedLine(line string) {
	in, text := indent(line)
	if in < 4 && text != "" && text[0] == s.fenceChar && fence(text) >= s.fenceLen && strings.TrimRight(text[run(text):], " \t\r") == "" {
		s.finish()
		return
	}
	s.code(outdent(line, min(in, s.fenceIn)))
}

func (s *Scanner) code(line string) {
	s.emit(Block{Kind: Code, Text: strings.TrimSuffix(line, "\r"), Lang: s.lang, Continued: s.continued})
	s.continued = true
}

// mathStart is what ends the formula that text begins, "" if it begins none or
// ends it itself with words after it.
func mathStart(text string) string {
	end := ""
	switch {
	case strings.HasPrefix(text, "$$"):
		end = "$$"
	case strings.HasPrefix(text, `\[`):
		end = `\]`
	default:
		return ""
	}
	if at := strings.Index(text[2:], end); at >= 0 && strings.TrimSpace(text[4+at:]) != "" {
		return ""
	}
	return end
}

func (s *Scanner) mathLine(line string) {
	before, _, closed := strings.Cut(line, s.mathEnd)
	s.text = append(s.text, before)
	s.size += len(before) + 1
	if closed || s.size > maxMath {
		s.finish()
	}
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

// finish ends the leaf and gives its block.
func (s *Scanner) finish() {
	was, continued := s.leaf, s.continued
	s.leaf, s.continued = noLeaf, false
	switch was {
	case paragraph:
		text := strings.TrimRight(strings.Join(s.text, "\n"), " \t\n")
		s.text, s.size = nil, 0
		if text != "" {
			s.emit(Block{Kind: Paragraph, Text: text, Continued: continued})
		}
	case math:
		text := strings.TrimSpace(strings.Join(s.text, "\n"))
		s.text, s.size = nil, 0
		s.emit(Block{Kind: Math, Text: text})
	case table:
		rows := s.rows
		s.rows = nil
		if len(rows) > 0 {
			s.emit(Block{Kind: Table, Rows: rows, Align: s.align, Continued: continued})
		}
	}
}

// begin ends the leaf and makes ready for another.
func (s *Scanner) begin() {
	s.finish()
	s.gap = s.blanks > 0
}

// close ends the leaf and the containers from index from on.
func (s *Scanner) close(from int) {
	s.finish()
	for len(s.stack) > from {
		n := len(s.stack) - 1
		if !s.stack[n].used && !s.stack[n].Quote {
			s.emit(Block{Kind: Empty})
		}
		s.closed = append(s.closed[:min(n, len(s.closed)):min(n, len(s.closed))], s.stack[n])
		for len(s.closed) <= n { // keep the index the depth
			s.closed = append([]container{{}}, s.closed...)
		}
		s.stack = s.stack[:n]
	}
}

// emit gives a block with its containers.
func (s *Scanner) emit(b Block) {
	shared := 0
	for shared < len(s.stack) && shared < len(s.parents) && s.stack[shared].id == s.parents[shared] {
		shared++
	}
	b.Shared = shared
	if len(s.stack) > 0 {
		b.Containers = make([]Container, len(s.stack))
	}
	s.parents = make([]int, len(s.stack))
	for i := range s.stack {
		c := &s.stack[i]
		b.Containers[i] = c.Container
		b.Containers[i].First = !c.Quote && !c.used
		c.used = true
		s.parents[i] = c.id
	}
	if !b.Continued {
		b.Gap = s.any && (s.gap || b.Kind == Heading || len(s.stack) == 0 && (apart(b.Kind) || apart(s.last)))
	}
	if len(s.stack) == 0 {
		s.closed = nil
	}
	s.any, s.last = true, b.Kind
	s.give(b)
}

// apart reports whether a block stands apart from its neighbours though no blank
// line was written.
func apart(k Kind) bool { return k == CodeStart || k == Code || k == Table || k == Rule || k == Math }

// Package syntax reads Markdown as models write it, line by line: CommonMark's
// blocks and inlines, GitHub's tables, task lists, struck text and bare addresses,
// and mathematics between dollars or \( \). HTML is text, except <br>. Every
// example of CommonMark's specification without HTML in it is a test.
//
// A [Scanner] takes lines and gives [Block]s as soon as nothing that follows can
// change them: paragraphs, rows and lines of code, never whole lists or quotes,
// which are only written on each block as its [Container]s. So a text of any
// length is read with a bounded memory, each line once. What is still open is
// seen by cloning the scanner and ending the clone. [Inline] reads the text in a
// block. Nothing here knows how it is shown.
//
// Links may be defined anywhere, also after their uses. The scanner gives each
// definition as a block; who reads inlines keeps them in [Definitions]. Who has the
// whole text collects all of them first. Who shows text as it comes knows only those
// that came, and sees from [Definitions.Missed] that a use was shown without.
package syntax

import (
	"slices"
	"strings"
	"unicode"
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
	Empty // an item or quote without text
	// Definition is where the links with a label lead. It shows nothing, unless it is
	// the first of an item, whose marker it then stands for.
	Definition
)

// Block is a piece of a document that contains no other.
type Block struct {
	Kind       Kind
	Text       string // paragraphs, headings, lines of code, mathematics; the label of a definition
	Level      int    // of a heading, 1 to 6
	Lang       string // of CodeStart and Code, lower case; may be ""
	Align      []Align
	Rows       [][]string  // of a table; the first is its head, unless it is Continued
	Containers []Container // from the outermost
	Shared     int         // how many of them hold the block before, too
	Link       *Link       // of a definition
	Gap        bool        // it is shown apart from the block before
	// Blank says that a blank line stands before the block, in the innermost container
	// that holds the block before, too. A list is loose if one stands between its items
	// or between the blocks directly in one of them.
	Blank bool
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
	Start   bool // the item is the first of its list
}

// Limits of the scanner.
const (
	maxDepth = 12      // containers within each other; deeper ones are text
	maxText  = 4 << 10 // bytes of a paragraph; a longer one goes on as another block
	maxMath  = 2 << 10 // bytes of a formula; what follows is text
	maxBlank = 100     // blank lines within indented code; more are left out
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

	held    []string // blank lines that indented code may go on after
	blanks  bool     // there were blank lines since the last line with text
	outer   int      // and the fewest containers that one of them stood in for sure
	gap     bool     // there were some before the leaf
	gapIn   int      // as outer, for gap
	last    Kind     // of the last block
	any     bool     // there was a block
	parents []int    // ids of the containers of the last block
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
	c.held = slices.Clip(s.held)
	c.closed = slices.Clip(s.closed)
	return c
}

// InCode reports whether the next line is code between fences.
func (s *Scanner) InCode() bool { return s.leaf == fenced }

// Line reads a line, without its end, and gives the blocks that it ends.
func (s *Scanner) Line(line string, give func(Block)) {
	s.give = give
	line = strings.TrimSuffix(line, "\r")
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
	matched, c := s.match(cursor{s: line})
	in, text := c.indent()
	if matched < len(s.stack) {
		if s.leaf == paragraph && text != "" && (in >= 4 || !s.interrupts(text, c.col+in, false)) {
			s.add(text) // a lazy continuation
			return
		}
		s.close(matched)
	}
	switch {
	case s.leaf == fenced:
		s.fencedLine(c)
		return
	case s.leaf == math:
		s.mathLine(c.s)
		return
	case text == "":
		s.blank(c)
		return
	}
	s.start(s.open(c))
	s.blanks = false
}

// match finds how many of the open containers the line stands in, and what it is
// inside of them.
func (s *Scanner) match(c cursor) (int, cursor) {
	for i := range s.stack {
		k := &s.stack[i]
		in, text := c.indent()
		switch {
		case k.Quote && in < 4 && strings.HasPrefix(text, ">"):
			c = c.outdent(in).skip(1).outdent(1)
		case k.Quote:
			return i, c
		case text == "", in >= k.indent:
			c = c.outdent(k.indent)
		case in >= k.base+2 && i == len(s.stack)-1 && s.leaf != fenced && s.nested(k, text, c.col+in):
			k.indent = in
			c = c.outdent(in)
		default:
			return i, c
		}
	}
	return len(s.stack), c
}

// nested reports whether text begins a list in the item k though it is indented less
// than CommonMark wants: models indent a list below "10. " as below "1. ", and some by
// two. After "10) ", which they don't write, CommonMark's rule holds.
func (s *Scanner) nested(k *container, text string, col int) bool {
	m := marker(text, col)
	return k.char != ')' && m.width > 0 && !rule(text) && !(m.char == k.char && m.ordered() && m.number == k.Number+1)
}

// interrupts says whether a line ends the paragraph before it. Within says that the
// line stands in all containers of the paragraph: only some lists begin there.
func (s *Scanner) interrupts(text string, col int, within bool) bool {
	if fence(text) > 0 || heading(text) > 0 || rule(text) || text[0] == '>' || mathStart(text) != "" {
		return true
	}
	m := marker(text, col)
	return m.width > 0 && (!within || !m.empty && (m.number == 1 || !m.ordered()))
}

// open opens the containers that the line begins with.
func (s *Scanner) open(c cursor) cursor {
	for len(s.stack) < maxDepth {
		in, text := c.indent()
		if text == "" || in >= 4 {
			return c
		}
		if text[0] == '>' {
			s.begin()
			s.push(container{Container: Container{Quote: true}})
			c = c.outdent(in).skip(1).outdent(1)
			continue
		}
		m := marker(text, c.col+in)
		if m.width == 0 || rule(text) || s.leaf == paragraph && (underline(text) > 0 || !s.interrupts(text, c.col+in, true)) {
			return c
		}
		s.begin()
		item := container{Container: Container{Ordered: m.ordered(), Number: m.number, Start: true}, indent: in + m.width, base: in, char: m.char}
		if at := len(s.stack); at < len(s.closed) && s.closed[at].char == m.char && !s.closed[at].Quote {
			item.Number, item.Start = s.closed[at].Number+1, false // the next of the same list
		}
		for _, outer := range s.stack {
			if !outer.Quote {
				item.Depth++
			}
		}
		c = c.outdent(in).skip(m.length).outdent(m.width - m.length)
		if item.Task = task(c.s); item.Task != NoTask {
			c = c.skip(len("[ ] "))
		}
		s.push(item)
	}
	return c
}

func (s *Scanner) push(c container) {
	s.next++
	c.id = s.next
	s.closed = s.closed[:min(len(s.closed), len(s.stack)):min(len(s.closed), len(s.stack))]
	s.stack = append(s.stack, c)
}

// start reads what stands in the innermost container.
func (s *Scanner) start(c cursor) {
	in, text := c.indent()
	if text == "" {
		return
	}
	if s.leaf == table {
		if !s.interrupts(text, c.col+in, true) {
			s.row(text)
			return
		}
		s.begin()
	}
	switch {
	case s.leaf == paragraph && in < 4 && underline(text) > 0 && s.underlined(underline(text)):
	case in >= 4 && s.leaf != paragraph:
		s.indentedLine(c)
	case in >= 4:
		s.add(text)
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
		s.textLine(text)
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
	line = strings.TrimLeft(line, " \t")
	s.text = append(s.text, line)
	s.size += len(line) + 1
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

// underlined makes a heading of the paragraph, unless all of it defines links.
func (s *Scanner) underlined(level int) bool {
	text := strings.TrimSpace(s.paragraph())
	if text == "" {
		return false
	}
	s.emit(Block{Kind: Heading, Level: level, Text: text})
	return true
}

// paragraph ends the paragraph and is its text without the definitions of links that
// it begins with, which are given.
func (s *Scanner) paragraph() string {
	text := strings.TrimRight(strings.Join(s.text, "\n"), " \t\n")
	defines := !s.continued
	s.text, s.size, s.leaf, s.continued = nil, 0, noLeaf, false
	for defines && strings.HasPrefix(text, "[") {
		label, link, n := definition(text)
		if n == 0 {
			break
		}
		s.emit(Block{Kind: Definition, Text: label, Link: link})
		text = strings.TrimLeft(text[n:], " \t\n")
	}
	return text
}

func (s *Scanner) blank(c cursor) {
	if s.leaf != indented { // which may go on
		s.finish()
	} else if len(s.held) < maxBlank {
		s.held = append(s.held, c.outdent(4).s)
	}
	n := len(s.stack)
	outer := n
	for outer > 0 && !s.stack[outer-1].Quote {
		outer--
	}
	if !s.blanks || outer < s.outer {
		s.outer = outer
	}
	s.blanks = true
	// An item that has nothing after its marker takes no paragraph after a blank line.
	if n > 0 && !s.stack[n-1].Quote && !s.stack[n-1].used {
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

func (s *Scanner) indentedLine(c cursor) {
	if s.leaf != indented {
		s.begin()
		s.leaf, s.lang, s.continued = indented, "", false
	}
	for _, line := range s.held {
		s.code(line)
	}
	s.held = nil
	s.code(c.outdent(4).s)
}

func (s *Scanner) fencedLine(c cursor) {
	in, text := c.indent()
	if in < 4 && text != "" && text[0] == s.fenceChar && fence(text) >= s.fenceLen && strings.TrimRight(text[run(text):], " \t") == "" {
		s.finish()
		return
	}
	s.code(c.outdent(min(in, s.fenceIn)).s)
}

func (s *Scanner) code(line string) {
	s.emit(Block{Kind: Code, Text: line, Lang: s.lang, Continued: s.continued})
	s.continued = true
}

// mathStart is what ends the formula that text begins, "" if it begins none or
// ends it itself with words after it. \[ with a word right behind it, and no end, is a
// bracket that was escaped.
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
	at := strings.Index(text[2:], end)
	if at >= 0 && strings.TrimSpace(text[4+at:]) != "" || at < 0 && end == `\]` && len(text) > 2 && strings.IndexByte(" \t\\", text[2]) < 0 {
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

// language is the first word of a fence's info, if it is harmless: letters, digits and
// a few signs.
func language(info string) string {
	info = unescape(strings.Trim(info, " \t"))
	if end := strings.IndexAny(info, " \t"); end >= 0 {
		info = info[:end]
	}
	word := strings.ToLower(strings.Trim(info, "{}."))
	if len(word) > 24 {
		return ""
	}
	for _, c := range word {
		if !unicode.IsLetter(c) && !unicode.IsDigit(c) && !strings.ContainsRune("+#._-;", c) {
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
		s.continued = continued
		if text := s.paragraph(); text != "" {
			s.emit(Block{Kind: Paragraph, Text: text, Continued: continued})
		}
	case fenced:
		if !continued {
			s.emit(Block{Kind: CodeStart})
		}
	case indented:
		s.held = nil
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
	s.gap, s.gapIn = s.blanks, s.outer
}

// close ends the leaf and the containers from index from on.
func (s *Scanner) close(from int) {
	s.finish()
	for len(s.stack) > from {
		n := len(s.stack) - 1
		if !s.stack[n].used {
			s.emit(Block{Kind: Empty})
		}
		for len(s.closed) < n { // keep the index the depth
			s.closed = append(s.closed, container{})
		}
		s.closed = append(s.closed[:n:n], s.stack[n])
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
		b.Blank = s.gap && s.gapIn <= shared
		b.Gap = s.any && (s.gap || b.Kind == Heading || len(s.stack) == 0 && (apart(b.Kind) || apart(s.last)))
		s.gap = false
	}
	s.closed = s.closed[:min(len(s.closed), len(s.stack))]
	if b.Kind != Definition || len(s.stack) > 0 {
		s.any, s.last = true, b.Kind
	}
	s.give(b)
}

// apart reports whether a block stands apart from its neighbours though no blank
// line was written.
func apart(k Kind) bool { return k == CodeStart || k == Code || k == Table || k == Rule || k == Math }

package office

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Word gives the text of a docx file: headings, lists, tables, links, notes. Of
// changes that are tracked it shows the text as it would be accepted.
func Word(ctx context.Context, r io.ReaderAt, size int64, max int) (string, error) {
	c, err := open(ctx, r, size)
	if err != nil {
		return "", err
	}
	return c.word(max)
}

func (c *container) word(max int) (string, error) {
	part, err := c.main("word/document.xml")
	if err != nil {
		return "", err
	}
	w := &word{c: c, out: out{max: max}, counters: map[string]*[9]int{}}
	if err := w.load(part); err != nil {
		return w.out.text(err)
	}
	return w.out.text(w.body(part))
}

// word is a Word document that is being read.
type word struct {
	c        *container
	out      out
	rels     map[string]relation
	kinds    map[string]string // type of a relation -> part
	styles   map[string]wordStyle
	numbers  map[string]map[string]string // id of a list -> level -> format
	counters map[string]*[9]int

	paragraphs []*paragraph // those that are open; text boxes put some within others
	tables     []*wordTable
	skip       int // depth within an element whose text does not count
	props      int // depth within properties of a paragraph
	inTables   int // bytes of the row that is read, with the tables in it
	inText     bool
	inList     bool // the last line was an item
}

// cellBytes is about what a text in a table costs beyond itself.
const cellBytes = 64

type wordStyle struct {
	level int // of a heading, from 1; 0: none
	list  string
}

type paragraph struct {
	text  []byte
	style string
	list  string
	deep  int // level in the list
	level int // of a heading that the paragraph itself says
	links []link
}

type link struct {
	at  int // where its text begins
	url string
}

type wordTable struct {
	rows  int
	cells []string
	cell  []string // paragraphs
	span  int
}

// load reads what the body refers to.
func (w *word) load(part string) error {
	var err error
	if w.rels, err = w.c.relations(part); err != nil {
		return err
	}
	w.kinds = map[string]string{}
	for _, r := range w.rels {
		w.kinds[r.kind] = r.target
	}
	if err := w.loadStyles(w.kinds["styles"]); err != nil {
		return err
	}
	return w.loadNumbers(w.kinds["numbering"])
}

func (w *word) loadStyles(part string) error {
	w.styles = map[string]wordStyle{}
	id := ""
	return w.c.optional(part, handler{start: func(name string, a attrs) error {
		s := w.styles[id]
		switch name {
		case "style":
			id = a.get("styleId")
			return nil
		case "name":
			s.level = max(s.level, headingByName(a.get("val")))
		case "outlineLvl":
			s.level = headingByOutline(a.get("val"))
		case "numId":
			s.list = a.get("val")
		default:
			return nil
		}
		if id != "" {
			w.styles[id] = s
		}
		return nil
	}})
}

func headingByName(name string) int {
	name = strings.ToLower(name)
	if name == "title" {
		return 1
	}
	n, err := strconv.Atoi(strings.TrimPrefix(name, "heading "))
	if err != nil || n < 1 || n > 9 {
		return 0
	}
	return min(n, 6)
}

// headingByOutline is the heading of an outline level; 9 is body text.
func headingByOutline(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 || n > 8 {
		return 0
	}
	return min(n+1, 6)
}

func (w *word) loadNumbers(part string) error {
	w.numbers = map[string]map[string]string{}
	abstract := map[string]map[string]string{}
	var id, num, level string
	return w.c.optional(part, handler{start: func(name string, a attrs) error {
		switch name {
		case "abstractNum":
			id = a.get("abstractNumId")
			abstract[id] = map[string]string{}
		case "lvl":
			level = a.get("ilvl")
		case "numFmt":
			if f := abstract[id]; f != nil && f[level] == "" {
				f[level] = a.get("val")
			}
		case "num":
			num, id = a.get("numId"), ""
		case "abstractNumId":
			if num != "" {
				w.numbers[num] = abstract[a.get("val")]
			}
		}
		return nil
	}})
}

func (w *word) body(part string) error {
	if err := w.c.walk(part, handler{w.start, w.end, w.chars}); err != nil {
		return err
	}
	for _, notes := range []struct{ kind, mark string }{{"footnotes", ""}, {"endnotes", "e"}} {
		if err := w.notes(w.kinds[notes.kind], notes.mark); err != nil {
			return err
		}
	}
	return nil
}

// notes writes the notes below the text.
func (w *word) notes(part, mark string) error {
	if part == "" {
		return nil
	}
	return w.c.optional(part, handler{
		start: func(name string, a attrs) error {
			if name == "footnote" || name == "endnote" {
				if a.get("type") != "" { // lines that separate notes from text
					w.skip++
					return nil
				}
				return w.out.add(fmt.Sprintf("[^%s%s]: ", mark, a.get("id")))
			}
			return w.start(name, a)
		},
		end: func(name string) error {
			if name == "footnote" || name == "endnote" {
				w.skip = 0
				return nil
			}
			return w.end(name)
		},
		text: w.chars,
	})
}

// skipped are elements whose text appears elsewhere, or was removed.
func skipped(name string) bool {
	return name == "Fallback" || name == "moveFrom" || name == "del"
}

func (w *word) start(name string, a attrs) error {
	if w.skip > 0 || skipped(name) {
		w.skip++
		return nil
	}
	if w.props > 0 {
		w.props++
		w.property(name, a)
		return nil
	}
	switch name {
	case "p":
		w.paragraphs = append(w.paragraphs, &paragraph{})
	case "pPr":
		w.props = 1
	case "t":
		w.inText = true
	case "tab", "ptab":
		w.write("\t")
	case "br", "cr":
		w.write("\n")
	case "noBreakHyphen":
		w.write("-")
	case "sym":
		if n, err := strconv.ParseUint(a.get("char"), 16, 16); err == nil && (n < 0xe000 || n > 0xf8ff) {
			w.write(string(rune(n)))
		}
	case "footnoteReference":
		w.write("[^" + a.get("id") + "]")
	case "endnoteReference":
		w.write("[^e" + a.get("id") + "]")
	case "docPr":
		if d := a.get("descr"); d != "" {
			w.write("![" + cellText(d) + "]")
		}
	case "hyperlink":
		if p := w.paragraph(); p != nil {
			p.links = append(p.links, link{len(p.text), w.rels[a.rel()].target})
		}
	case "tbl":
		w.tables = append(w.tables, &wordTable{})
	case "gridSpan":
		if t := w.table(); t != nil {
			t.span, _ = strconv.Atoi(a.get("val"))
		}
	}
	return nil
}

// property reads what stands in front of a paragraph's text.
func (w *word) property(name string, a attrs) {
	p := w.paragraph()
	if p == nil {
		return
	}
	switch name {
	case "pStyle":
		p.style = a.get("val")
	case "numId":
		p.list = a.get("val")
	case "ilvl":
		p.deep, _ = strconv.Atoi(a.get("val"))
	case "outlineLvl":
		p.level = headingByOutline(a.get("val"))
	}
}

func (w *word) end(name string) error {
	if w.skip > 0 {
		w.skip--
		return nil
	}
	if w.props > 0 {
		w.props--
		return nil
	}
	switch name {
	case "t":
		w.inText = false
	case "hyperlink":
		if p := w.paragraph(); p != nil {
			p.closeLink(w.out.max - w.out.Len())
		}
	case "p":
		return w.endParagraph()
	case "tc":
		if t := w.table(); t != nil {
			t.endCell()
		}
	case "tr":
		return w.endRow()
	case "tbl":
		return w.endTable()
	}
	return nil
}

func (w *word) chars(s string) error {
	if w.inText && w.skip == 0 {
		w.write(s)
	}
	return nil
}

func (w *word) write(s string) {
	if p := w.paragraph(); p != nil && w.out.Len()+len(p.text) <= w.out.max {
		p.text = append(p.text, s...)
	}
}

func (w *word) paragraph() *paragraph {
	if len(w.paragraphs) == 0 {
		return nil
	}
	return w.paragraphs[len(w.paragraphs)-1]
}

func (w *word) table() *wordTable {
	if len(w.tables) == 0 {
		return nil
	}
	return w.tables[len(w.tables)-1]
}

// closeLink gives the text of a link its address while the paragraph has less than
// room bytes.
func (p *paragraph) closeLink(room int) {
	if len(p.links) == 0 {
		return
	}
	l := p.links[len(p.links)-1]
	p.links = p.links[:len(p.links)-1]
	label := string(p.text[l.at:])
	if l.url != "" && strings.TrimSpace(label) != "" && label != l.url && len(p.text) < room {
		p.text = fmt.Appendf(p.text[:l.at], "[%s](%s)", label, l.url)
	}
}

func (w *word) endParagraph() error {
	p := w.paragraph()
	if p == nil {
		return nil
	}
	w.paragraphs = w.paragraphs[:len(w.paragraphs)-1]
	text := strings.TrimSpace(string(p.text))
	if text == "" {
		return nil
	}
	if t := w.table(); t != nil {
		if w.inTables += len(text) + cellBytes; w.inTables > w.out.max {
			return errFull
		}
		t.cell = append(t.cell, text)
		return nil
	}
	if outer := w.paragraph(); outer != nil { // a text box
		w.write(text + "\n")
		return nil
	}
	style := w.styles[p.style]
	if p.list == "" {
		p.list = style.list
	}
	level := max(p.level, style.level)
	if level == 0 && p.list != "" && p.list != "0" {
		w.inList = true
		return w.out.add(w.bullet(p) + text + "\n")
	}
	if level > 0 {
		text = strings.Repeat("#", level) + " " + strings.ReplaceAll(text, "\n", " ")
	}
	return w.out.add(w.gap() + text + "\n\n")
}

// gap is the empty line that ends a list.
func (w *word) gap() string {
	if !w.inList {
		return ""
	}
	w.inList = false
	return "\n"
}

// bullet is what stands in front of an item of a list, and counts it.
func (w *word) bullet(p *paragraph) string {
	deep := min(max(p.deep, 0), 8)
	indent := strings.Repeat("  ", deep)
	switch w.numbers[p.list][strconv.Itoa(deep)] {
	case "bullet", "none", "":
		return indent + "- "
	}
	n := w.counters[p.list]
	if n == nil {
		n = new([9]int)
		w.counters[p.list] = n
	}
	n[deep]++
	clear(n[deep+1:])
	return fmt.Sprintf("%s%d. ", indent, n[deep])
}

func (t *wordTable) endCell() {
	t.cells = append(t.cells, strings.Join(t.cell, "\n"))
	for range min(t.span, 64, maxColumns-len(t.cells)) - 1 {
		t.cells = append(t.cells, "")
	}
	t.cell, t.span = nil, 0
}

func (w *word) endRow() error {
	t := w.table()
	if t == nil || len(t.cells) == 0 {
		return nil
	}
	cells := t.cells
	t.cells = nil
	if len(w.tables) == 1 {
		w.inTables = 0
	}
	t.rows++
	switch {
	case len(w.tables) > 1: // a table in a cell becomes lines of it
		outer := w.tables[len(w.tables)-2]
		outer.cell = append(outer.cell, strings.Join(cells, " "))
		return nil
	case t.rows == 1:
		if err := w.out.add(w.gap()); err != nil {
			return err
		}
		return head(&w.out, cells)
	}
	return row(&w.out, cells)
}

func (w *word) endTable() error {
	if len(w.tables) == 0 {
		return nil
	}
	w.tables = w.tables[:len(w.tables)-1]
	if len(w.tables) > 0 {
		return nil
	}
	return w.out.add("\n")
}

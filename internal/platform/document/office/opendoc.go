package office

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
)

const maxRepeat = 1000 // how often a cell or row that has text is repeated

// OpenDocument gives the text of an odt, ods or odp file: headings, lists,
// tables, links; sheets and slides headed.
func OpenDocument(ctx context.Context, r io.ReaderAt, size int64, max int) (string, error) {
	c, err := open(ctx, r, size)
	if err != nil {
		return "", err
	}
	d := &openDoc{out: out{max: max}}
	return d.out.text(c.walk("content.xml", handler{d.start, d.end, d.chars}))
}

// openDoc is an OpenDocument file that is being read.
type openDoc struct {
	out  out
	skip int // depth within what is not shown

	text    strings.Builder // of the paragraph that is open
	open    int             // paragraphs within each other
	level   int             // of the heading that is open
	lists   []int           // for each list that is open, its items so far
	links   []link
	slides  int
	sheets  bool // tables are sheets
	tables  []*odfTable
	pending string // what stands in front of the next paragraph
	inList  bool
}

type odfTable struct {
	rows   int
	cells  []string
	cell   []string
	span   int // how often the cell that is open is repeated
	repeat int // how often the row is
}

func (d *openDoc) start(name string, a attrs) error {
	if d.skip > 0 || name == "annotation" || name == "tracked-changes" || name == "notes-configuration" || name == "forms" {
		d.skip++
		return nil
	}
	switch name {
	case "h", "p":
		d.open++
		if name == "h" {
			d.level, _ = strconv.Atoi(a.get("outline-level"))
			d.level = min(max(d.level, 1), 6)
		}
	case "s":
		d.text.WriteString(strings.Repeat(" ", min(max(count(a.get("c")), 1), 100)))
	case "tab":
		d.text.WriteByte('\t')
	case "line-break":
		d.text.WriteByte('\n')
	case "a":
		d.links = append(d.links, link{d.text.Len(), a.get("href")})
	case "list":
		d.lists = append(d.lists, 0)
	case "list-item":
		if n := len(d.lists); n > 0 {
			d.lists[n-1]++
			d.pending = strings.Repeat("  ", min(n-1, 8)) + "- "
		}
	case "page":
		d.slides++
		heading := fmt.Sprintf("## Slide %d", d.slides)
		return d.out.add(d.gap() + heading + "\n\n")
	case "notes":
		d.pending = "Notes: "
	case "spreadsheet":
		d.sheets = true
	case "note-citation", "note-body":
		d.text.WriteString(" [")
	case "table":
		return d.startTable(a)
	case "table-row":
		if t := d.table(); t != nil {
			t.repeat = max(count(a.get("number-rows-repeated")), 1)
			t.cells = nil
		}
	case "table-cell", "covered-table-cell":
		if t := d.table(); t != nil {
			t.span = max(count(a.get("number-columns-repeated")), 1)
			t.cell = nil
		}
	}
	return nil
}

func count(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

func (d *openDoc) startTable(a attrs) error {
	d.tables = append(d.tables, &odfTable{})
	if len(d.tables) > 1 {
		return nil
	}
	if err := d.out.add(d.gap()); err != nil || !d.sheets {
		return err
	}
	return d.out.add("## Sheet: " + a.get("name") + "\n\n")
}

func (d *openDoc) end(name string) error {
	if d.skip > 0 {
		d.skip--
		return nil
	}
	switch name {
	case "h", "p":
		return d.endParagraph()
	case "a":
		d.closeLink()
	case "note-citation", "note-body":
		d.text.WriteString("]")
	case "list":
		if n := len(d.lists); n > 0 {
			d.lists = d.lists[:n-1]
		}
	case "table-cell", "covered-table-cell":
		if t := d.table(); t != nil {
			t.endCell()
		}
	case "table-row":
		return d.endRow()
	case "table":
		if n := len(d.tables); n > 0 {
			d.tables = d.tables[:n-1]
		}
		return d.out.add("\n")
	}
	return nil
}

func (d *openDoc) chars(s string) error {
	if d.skip == 0 && d.open > 0 && d.text.Len() < d.out.max {
		d.text.WriteString(lines.Replace(s))
	}
	return nil
}

// lines are broken in a part for its reader's sake, not for the text's.
var lines = strings.NewReplacer("\n", " ", "\r", "", "\t", " ")

func (d *openDoc) table() *odfTable {
	if len(d.tables) == 0 {
		return nil
	}
	return d.tables[len(d.tables)-1]
}

func (d *openDoc) closeLink() {
	n := len(d.links)
	if n == 0 {
		return
	}
	l := d.links[n-1]
	d.links = d.links[:n-1]
	all := d.text.String()
	if l.at > len(all) {
		return
	}
	if label := all[l.at:]; l.url != "" && strings.TrimSpace(label) != "" && label != l.url {
		d.text.Reset()
		d.text.WriteString(all[:l.at] + "[" + label + "](" + l.url + ")")
	}
}

func (d *openDoc) endParagraph() error {
	d.open--
	if d.open > 0 { // of a note or a text box: part of the paragraph around it
		d.text.WriteByte(' ')
		return nil
	}
	d.open = 0
	text := strings.TrimSpace(d.text.String())
	d.text.Reset()
	d.links = nil
	level := d.level
	d.level = 0
	if text == "" {
		return nil
	}
	if t := d.table(); t != nil {
		t.cell = append(t.cell, text)
		return nil
	}
	front := d.pending
	d.pending = ""
	switch {
	case level > 0:
		return d.out.add(d.gap() + strings.Repeat("#", level) + " " + strings.ReplaceAll(text, "\n", " ") + "\n\n")
	case len(d.lists) > 0:
		d.inList = true
		return d.out.add(front + text + "\n")
	}
	return d.out.add(d.gap() + front + text + "\n\n")
}

// gap is the empty line that ends a list.
func (d *openDoc) gap() string {
	if !d.inList {
		return ""
	}
	d.inList = false
	return "\n"
}

// endCell adds the cell. Sheets fill their whole width with one empty cell that
// is repeated, so empty ones are only counted until one with text follows.
func (t *odfTable) endCell() {
	text := strings.Join(t.cell, "\n")
	repeat := maxRepeat
	if text == "" {
		repeat = maxColumns
	}
	for range min(t.span, repeat, maxColumns-len(t.cells)) {
		t.cells = append(t.cells, text)
	}
	t.cell = nil
}

func (d *openDoc) endRow() error {
	t := d.table()
	if t == nil {
		return nil
	}
	cells := t.cells
	t.cells = nil
	for len(cells) > 0 && cells[len(cells)-1] == "" {
		cells = cells[:len(cells)-1]
	}
	if len(cells) == 0 {
		return nil
	}
	if len(d.tables) > 1 { // a table in a cell becomes lines of it
		outer := d.tables[len(d.tables)-2]
		outer.cell = append(outer.cell, strings.Join(cells, " "))
		return nil
	}
	for range min(t.repeat, maxRepeat) {
		write := row
		if t.rows++; t.rows == 1 {
			write = head
		}
		if err := write(&d.out, cells); err != nil {
			return err
		}
	}
	return nil
}

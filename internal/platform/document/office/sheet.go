package office

import (
	"context"
	"errors"
	"io"
	"strconv"
	"strings"
)

const (
	maxColumns = 1 << 14  // of a sheet, as the format has it
	maxStrings = 16 << 20 // bytes of shared texts; cells with others stay empty
)

var errStrings = errors.New("too many shared texts")

// Sheet gives the cells of an xlsx file as tables, sheet by sheet: values as they
// were last computed, dates as dates. Of a formula that was never computed the
// formula is given. Empty rows are left out.
func Sheet(ctx context.Context, r io.ReaderAt, size int64, max int) (string, error) {
	c, err := open(ctx, r, size)
	if err != nil {
		return "", err
	}
	o := &out{max: max}
	return o.text(workbook(c, o))
}

// book is what all sheets of a workbook share.
type book struct {
	strings []string
	dates   []dateKind // by style of a cell
	epoch   int        // days from 1899-12-30 to day 0
}

func workbook(c *container, o *out) error {
	part, err := c.main("xl/workbook.xml")
	if err != nil {
		return err
	}
	rels, err := c.relations(part)
	if err != nil {
		return err
	}
	var b book
	type sheet struct{ name, part string }
	var sheets []sheet
	err = c.walk(part, handler{start: func(name string, a attrs) error {
		switch name {
		case "sheet":
			sheets = append(sheets, sheet{a.get("name"), rels[a.rel()].target})
		case "workbookPr":
			if v := a.get("date1904"); v == "1" || v == "true" {
				b.epoch = 1462
			}
		}
		return nil
	}})
	if err != nil {
		return err
	}
	for _, r := range rels {
		switch r.kind {
		case "sharedStrings":
			if err = b.loadStrings(c, r.target); errors.Is(err, errStrings) {
				o.cut, err = true, nil
			}
		case "styles":
			err = b.loadStyles(c, r.target)
		}
		if err != nil {
			return err
		}
	}
	for _, s := range sheets {
		if err := o.add("## Sheet: " + s.name + "\n\n"); err != nil {
			return err
		}
		g := &grid{book: &b, out: o}
		if err := c.optional(s.part, g.handler()); err != nil {
			return err
		}
		if err := o.add("\n"); err != nil {
			return err
		}
	}
	return nil
}

func (b *book) loadStrings(c *container, part string) error {
	var text strings.Builder
	var inText, phonetic bool
	total := 0
	return c.optional(part, handler{
		start: func(name string, _ attrs) error {
			switch name {
			case "si":
				text.Reset()
			case "t":
				inText = true
			case "rPh": // how the text is spoken
				phonetic = true
			}
			return nil
		},
		end: func(name string) error {
			switch name {
			case "t":
				inText = false
			case "rPh":
				phonetic = false
			case "si":
				if total += text.Len() + 32; total > maxStrings {
					return errStrings
				}
				b.strings = append(b.strings, text.String())
			}
			return nil
		},
		text: func(s string) error {
			if inText && !phonetic {
				text.WriteString(s)
			}
			return nil
		},
	})
}

// grid reads the cells of one sheet.
type grid struct {
	book *book
	out  *out

	started bool
	row     []string
	col     int
	size    int // bytes of the row's shared texts
	kind    string
	style   int
	value   strings.Builder
	formula strings.Builder
	into    *strings.Builder
	phon    bool
}

func (g *grid) handler() handler { return handler{g.start, g.end, g.chars} }

func (g *grid) start(name string, a attrs) error {
	switch name {
	case "row":
		g.row, g.col, g.size = g.row[:0], -1, 0
	case "c":
		g.col = columnOf(a.get("r"), g.col+1)
		g.kind = a.get("t")
		g.style, _ = strconv.Atoi(a.get("s"))
		g.value.Reset()
		g.formula.Reset()
	case "v", "t":
		if !g.phon {
			g.into = &g.value
		}
	case "f":
		g.into = &g.formula
	case "rPh":
		g.phon = true
	}
	return nil
}

func (g *grid) end(name string) error {
	switch name {
	case "v", "t", "f":
		g.into = nil
	case "rPh":
		g.phon = false
	case "c":
		g.endCell()
	case "row":
		return g.endRow()
	}
	return nil
}

func (g *grid) chars(s string) error {
	if g.into != nil && g.into.Len() < g.out.max {
		g.into.WriteString(s)
	}
	return nil
}

func (g *grid) endCell() {
	text := g.cell()
	if text == "" || g.col < 0 || g.col >= maxColumns {
		return
	}
	for len(g.row) <= g.col {
		g.row = append(g.row, "")
	}
	g.row[g.col] = text
}

// cell is the text of the cell that ends.
func (g *grid) cell() string {
	v := g.value.String()
	switch g.kind {
	case "s":
		i, err := strconv.Atoi(strings.TrimSpace(v))
		if err != nil || i < 0 || i >= len(g.book.strings) {
			return ""
		}
		s := g.book.strings[i]
		if g.size += len(s); g.size > g.out.max {
			return ""
		}
		return s
	case "b":
		if v == "1" {
			return "TRUE"
		}
		return "FALSE"
	case "inlineStr", "str", "e", "d":
		return v
	}
	if v == "" && g.formula.Len() > 0 {
		return "=" + g.formula.String()
	}
	kind := notDate
	if g.style >= 0 && g.style < len(g.book.dates) {
		kind = g.book.dates[g.style]
	}
	return number(strings.TrimSpace(v), kind, g.book.epoch)
}

func (g *grid) endRow() error {
	if len(g.row) == 0 {
		return nil
	}
	if !g.started {
		g.started = true
		return head(g.out, g.row)
	}
	return row(g.out, g.row)
}

// columnOf is the column of a reference such as "AB12", from 0; next where the
// cell does not say.
func columnOf(ref string, next int) int {
	n := 0
	for i := range len(ref) {
		c := ref[i] &^ 0x20
		if c < 'A' || c > 'Z' {
			break
		}
		if n = n*26 + int(c-'A') + 1; n > maxColumns {
			return maxColumns
		}
	}
	if n == 0 {
		return next
	}
	return n - 1
}

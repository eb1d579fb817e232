package office

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Slides gives the text of a pptx file, slide by slide in the order they are
// shown: title, lists, tables, then the speaker's notes.
func Slides(ctx context.Context, r io.ReaderAt, size int64, max int) (string, error) {
	c, err := open(ctx, r, size)
	if err != nil {
		return "", err
	}
	o := &out{max: max}
	return o.text(slides(c, o))
}

func slides(c *container, o *out) error {
	part, err := c.main("ppt/presentation.xml")
	if err != nil {
		return err
	}
	rels, err := c.relations(part)
	if err != nil {
		return err
	}
	var shown []string
	err = c.walk(part, handler{start: func(name string, a attrs) error {
		if name == "sldId" {
			shown = append(shown, rels[a.rel()].target)
		}
		return nil
	}})
	if err != nil {
		return err
	}
	for i, name := range shown {
		if err := slide(c, o, i+1, name); err != nil {
			return err
		}
	}
	return nil
}

func slide(c *container, o *out, number int, name string) error {
	s := &slideText{max: o.max - o.Len()}
	if err := c.optional(name, s.handler()); err != nil {
		return err
	}
	heading := fmt.Sprintf("## Slide %d", number)
	if s.title != "" {
		heading += ": " + s.title
	}
	if err := o.add(heading + "\n\n" + s.body.String() + "\n"); err != nil {
		return err
	}
	rels, err := c.relations(name)
	if err != nil {
		return err
	}
	for _, r := range rels {
		if r.kind != "notesSlide" {
			continue
		}
		notes := &slideText{max: o.max - o.Len(), notes: true}
		if err := c.optional(r.target, notes.handler()); err != nil {
			return err
		}
		if text := strings.TrimSpace(notes.body.String()); text != "" {
			return o.add("Notes: " + text + "\n\n")
		}
	}
	return nil
}

// slideText is the text of a slide, or of its notes.
type slideText struct {
	max   int
	notes bool // only the body of the notes counts

	title string
	body  strings.Builder
	para  strings.Builder
	level int
	kind  string // of the placeholder that the shape fills

	row    []string
	cell   []string
	rows   int
	inCell bool
	inText bool
}

func (s *slideText) handler() handler { return handler{s.start, s.end, s.chars} }

func (s *slideText) start(name string, a attrs) error {
	switch name {
	case "sp":
		s.kind = ""
	case "ph":
		s.kind = a.get("type")
		if s.kind == "" {
			s.kind = "body"
		}
	case "p":
		s.para.Reset()
		s.level = 0
	case "pPr":
		s.level, _ = strconv.Atoi(a.get("lvl"))
	case "t":
		s.inText = true
	case "br":
		s.para.WriteByte('\n')
	case "tbl":
		s.rows = 0
	case "tc":
		s.inCell, s.cell = true, nil
	case "cNvPr":
		if d := a.get("descr"); d != "" && !s.notes {
			s.body.WriteString("![" + cellText(d) + "]\n")
		}
	}
	return nil
}

func (s *slideText) end(name string) error {
	switch name {
	case "t":
		s.inText = false
	case "p":
		s.endParagraph()
	case "tc":
		s.inCell = false
		s.row = append(s.row, strings.Join(s.cell, "\n"))
	case "tr":
		o := &out{max: s.max}
		write := row
		if s.rows++; s.rows == 1 {
			write = head
		}
		err := write(o, s.row)
		s.body.WriteString(o.String())
		s.row = nil
		return err
	case "tbl":
		s.body.WriteByte('\n')
	}
	if s.body.Len() > s.max {
		return errFull
	}
	return nil
}

func (s *slideText) chars(text string) error {
	if s.inText && s.para.Len() < s.max {
		s.para.WriteString(text)
	}
	return nil
}

func (s *slideText) endParagraph() {
	text := strings.TrimSpace(s.para.String())
	switch {
	case text == "":
	case s.inCell:
		s.cell = append(s.cell, text)
	case s.notes:
		if s.kind == "body" {
			s.body.WriteString(text + "\n")
		}
	case s.kind == "title", s.kind == "ctrTitle":
		if s.title != "" {
			s.title += " "
		}
		s.title += strings.ReplaceAll(text, "\n", " ")
	case s.kind == "sldNum", s.kind == "dt", s.kind == "ftr": // on every slide
	case s.kind == "subTitle", s.kind == "":
		s.body.WriteString(text + "\n\n")
	default:
		s.body.WriteString(strings.Repeat("  ", min(max(s.level, 0), 8)) + "- " + text + "\n")
	}
}

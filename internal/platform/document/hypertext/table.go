package hypertext

import (
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

const maxSpan = 50 // columns that one cell fills

// table writes a table. One that holds another, or has one column, is only there
// for the looks.
func (w *writer) table(n *html.Node, depth int) error {
	if w.layout[n] || w.inline > 0 {
		return w.block(n, depth, 2)
	}
	w.lines(2)
	rows := 0
	for c := range n.Descendants() {
		switch {
		case c.Type != html.ElementNode:
		case c.DataAtom == atom.Caption:
			if err := w.block(c, depth+1, 2); err != nil {
				return err
			}
		case c.DataAtom == atom.Tr && !Hidden(c):
			cells, err := w.row(c, depth+1)
			if err != nil {
				return err
			}
			if len(cells) == 0 {
				continue
			}
			rows++
			w.lines(1)
			if err := w.raw("| " + strings.Join(cells, " | ") + " |"); err != nil {
				return err
			}
			if rows == 1 {
				w.lines(1)
				if err := w.raw(strings.Repeat("| --- ", len(cells)) + "|"); err != nil {
					return err
				}
			}
		}
	}
	w.lines(2)
	return nil
}

// row gives the cells of a row, each on one line.
func (w *writer) row(n *html.Node, depth int) ([]string, error) {
	var cells []string
	filled, left := false, w.left
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.DataAtom != atom.Td && c.DataAtom != atom.Th || Hidden(c) {
			continue
		}
		cell := &writer{ctx: w.ctx, base: w.base, layout: w.layout, left: left, visited: w.visited, inline: 1, inCell: true}
		if err := cell.children(c, depth+1); err != nil {
			return nil, err
		}
		w.visited = cell.visited
		text := strings.TrimSpace(cell.out.String())
		left -= len(text)
		filled = filled || text != ""
		cells = append(cells, text)
		span, _ := strconv.Atoi(attribute(c, "colspan"))
		for range min(span, maxSpan) - 1 {
			cells = append(cells, "")
		}
	}
	if !filled {
		return nil, nil
	}
	return cells, nil
}

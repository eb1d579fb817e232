// Package hypertext makes Markdown of HTML, for a reader that is a model: nothing
// is escaped, pictures are their descriptions, and what a page does not show
// (scripts, hidden elements, controls) is left out.
//
// It takes time and memory in proportion to the page and the limit of its output,
// also for pages that were made to do harm; trees come from [html.Parse], which
// bounds their depth. [Content] finds the part of a page that is its content.
package hypertext

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/burin-dev/burin/internal/prose"
)

// Options of [Markdown].
type Options struct {
	// Base is the address of the page. Links and pictures are given with their
	// addresses, made absolute with it. Nil leaves all addresses out: in a book
	// they lead nowhere.
	Base *url.URL
	Max  int // bytes of Markdown; 0 is 16 MB. What is beyond is left out, and the last line says so.
}

const (
	defaultMax = 16 << 20
	maxDepth   = 2000 // elements within each other
	maxIndent  = 12   // lists within each other that are indented
	maxAddress = 2000 // bytes of an address that is given
)

var errFull = errors.New("enough text")

// Markdown gives a tree as Markdown. It fails when ctx ends.
func Markdown(ctx context.Context, n *html.Node, o Options) (string, error) {
	if o.Max <= 0 {
		o.Max = defaultMax
	}
	w := &writer{ctx: ctx, base: o.Base, left: o.Max, layout: layoutTables(n)}
	err := w.node(n, 0)
	text := strings.TrimSpace(w.out.String())
	if errors.Is(err, errFull) {
		return text + fmt.Sprintf("\n\n[the page was cut here, at %d bytes]\n", o.Max), nil
	}
	if err != nil {
		return "", err
	}
	if text == "" {
		return "", nil
	}
	return text + "\n", nil
}

// layoutTables are the tables that hold others, which no Markdown table can.
func layoutTables(n *html.Node) map[*html.Node]bool {
	layout := map[*html.Node]bool{}
	var visit func(n, table *html.Node, depth int)
	visit = func(n, table *html.Node, depth int) {
		if depth > maxDepth {
			return
		}
		if n.DataAtom == atom.Table && n.Type == html.ElementNode {
			if table != nil {
				layout[table] = true
			}
			if r := attribute(n, "role"); r == "presentation" || r == "none" {
				layout[n] = true
			}
			table = n
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			visit(c, table, depth+1)
		}
	}
	visit(n, nil, 0)
	return layout
}

func (w *writer) children(n *html.Node, depth int) error {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if err := w.node(c, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) node(n *html.Node, depth int) error {
	if depth > maxDepth {
		return nil
	}
	if w.visited++; w.visited%1024 == 0 && w.ctx.Err() != nil {
		return w.ctx.Err()
	}
	switch n.Type {
	case html.TextNode:
		return w.text(n.Data)
	case html.ElementNode:
		if Hidden(n) {
			return nil
		}
		return w.element(n, depth)
	case html.DocumentNode:
		return w.children(n, depth)
	}
	return nil
}

func (w *writer) element(n *html.Node, depth int) error {
	switch n.DataAtom {
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		return w.heading(n, depth)
	case atom.P, atom.Section, atom.Article, atom.Main, atom.Header, atom.Footer, atom.Nav, atom.Aside, atom.Figure,
		atom.Form, atom.Fieldset, atom.Address, atom.Details, atom.Dl, atom.Body:
		return w.block(n, depth, 2)
	case atom.Div, atom.Summary, atom.Figcaption, atom.Caption, atom.Legend, atom.Dt, atom.Tr, atom.Center, atom.Hgroup:
		return w.block(n, depth, 1)
	case atom.Dd:
		return w.indented(n, depth, 1, ": ", "  ")
	case atom.Blockquote:
		return w.indented(n, depth, 2, "> ", "> ")
	case atom.Ul, atom.Ol, atom.Menu, atom.Dir:
		return w.list(n, depth)
	case atom.Li:
		return w.item(n, depth, "- ")
	case atom.Br:
		w.lines(1)
		return nil
	case atom.Hr:
		return w.rule()
	case atom.Pre, atom.Listing, atom.Xmp:
		return w.code(n)
	case atom.Table:
		return w.table(n, depth)
	case atom.Td, atom.Th:
		return w.block(n, depth, 1)
	case atom.A:
		return w.link(n, depth)
	case atom.B, atom.Strong:
		return w.marked(n, depth, "**")
	case atom.I, atom.Em, atom.Cite, atom.Dfn:
		return w.marked(n, depth, "*")
	case atom.S, atom.Del, atom.Strike:
		return w.marked(n, depth, "~~")
	case atom.Code, atom.Kbd, atom.Samp, atom.Tt:
		return w.inlineCode(n)
	case atom.Sup:
		if isPower(n) {
			if err := w.text("^"); err != nil {
				return err
			}
		}
	case atom.Img:
		return w.picture(n)
	case atom.Math:
		return w.formula(n)
	}
	return w.children(n, depth)
}

// isPower reports whether a raised text is a number, which would become part of
// the one before it.
func isPower(n *html.Node) bool {
	c := n.FirstChild
	if c == nil || c.NextSibling != nil || c.Type != html.TextNode || len(c.Data) > 20 {
		return false
	}
	s := strings.TrimSpace(c.Data)
	return s != "" && strings.Trim(s, "0123456789+-−n") == ""
}

// block is an element that stands on lines of its own, with gap-1 empty ones
// around it.
func (w *writer) block(n *html.Node, depth, gap int) error {
	w.lines(gap)
	err := w.children(n, depth)
	w.lines(gap)
	return err
}

func (w *writer) heading(n *html.Node, depth int) error {
	if w.inline > 0 {
		return w.block(n, depth, 1)
	}
	w.lines(2)
	w.front = strings.Repeat("#", int(n.Data[1]-'0')) + " "
	w.inline++
	err := w.children(n, depth)
	w.inline--
	w.front = ""
	w.lines(2)
	return err
}

func (w *writer) indented(n *html.Node, depth, gap int, first, rest string) error {
	w.lines(gap)
	outer := w.indent(first, rest)
	err := w.children(n, depth)
	w.outdent(outer)
	w.lines(gap)
	return err
}

func (w *writer) list(n *html.Node, depth int) error {
	gap := 2
	if w.lists > 0 {
		gap = 1
	}
	w.lines(gap)
	w.lists++
	number, numbered := 1, n.DataAtom == atom.Ol
	if s, err := strconv.Atoi(attribute(n, "start")); err == nil {
		number = s
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		var err error
		switch {
		case c.DataAtom != atom.Li || Hidden(c):
			err = w.node(c, depth+1)
		case numbered:
			err = w.item(c, depth+1, strconv.Itoa(number)+". ")
			number++
		default:
			err = w.item(c, depth+1, "- ")
		}
		if err != nil {
			return err
		}
	}
	w.lists--
	w.lines(gap)
	return nil
}

func (w *writer) item(n *html.Node, depth int, mark string) error {
	w.lines(1)
	rest := strings.Repeat(" ", len(mark))
	if w.lists > maxIndent {
		rest = ""
	}
	outer := w.indent(mark, rest)
	err := w.children(n, depth)
	w.outdent(outer)
	w.lines(1)
	return err
}

func (w *writer) rule() error {
	w.lines(2)
	err := w.text("---")
	w.lines(2)
	return err
}

// code is text whose lines are kept.
func (w *writer) code(n *html.Node) error {
	text := strings.Trim(preformatted(n), "\n")
	if strings.TrimSpace(text) == "" {
		return nil
	}
	if w.inline > 0 {
		return w.text(text)
	}
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	w.lines(2)
	if err := w.raw(fence + language(n)); err != nil {
		return err
	}
	for line := range strings.SplitSeq(text, "\n") {
		w.lines(1)
		if err := w.raw(strings.TrimRight(line, "\r")); err != nil {
			return err
		}
	}
	w.lines(1)
	err := w.raw(fence)
	w.lines(2)
	return err
}

// language is what a class of the element, the code in it or the box around it
// says: "language-go", "lang-go", "highlight-source-go".
func language(n *html.Node) string {
	around := []*html.Node{n, n.Parent}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		around = append(around, c)
	}
	for _, at := range around[:min(len(around), 6)] {
		if at == nil {
			continue
		}
		for class := range strings.FieldsSeq(attribute(at, "class")) {
			for _, prefix := range []string{"language-", "lang-", "highlight-source-"} {
				if name, ok := strings.CutPrefix(class, prefix); ok && len(name) < 30 && !strings.ContainsAny(name, "`{") {
					return name
				}
			}
		}
	}
	return ""
}

func (w *writer) inlineCode(n *html.Node) error {
	text := prose.Line(textOf(n, 1<<20))
	if text == "" {
		return nil
	}
	mark := "`"
	for strings.Contains(text, mark) {
		mark += "`"
	}
	if len(mark) > 1 {
		text = " " + text + " "
	}
	return w.word(mark + text + mark)
}

// marked is an element whose text stands between marks.
func (w *writer) marked(n *html.Node, depth int, mark string) error {
	if w.open(mark, mark) {
		defer w.close(mark)
	}
	return w.children(n, depth)
}

func (w *writer) link(n *html.Node, depth int) error {
	to := w.address(attribute(n, "href"))
	if to == "" || w.inLink {
		return w.children(n, depth)
	}
	w.inLink = true
	w.inline++ // a link that holds blocks is still one
	w.open("[", "]("+to+")")
	err := w.children(n, depth)
	w.close("[")
	w.inline--
	w.inLink = false
	return err
}

// parentheses in an address would end the link.
var parentheses = strings.NewReplacer("(", "%28", ")", "%29")

// address is where a reference leads, or "" if that is nowhere else.
func (w *writer) address(ref string) string {
	ref = strings.TrimSpace(ref)
	if w.base == nil || ref == "" || ref[0] == '#' || len(ref) > maxAddress {
		return ""
	}
	u, err := w.base.Parse(ref)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "mailto" {
		return ""
	}
	s := parentheses.Replace(u.String())
	if len(s) > maxAddress {
		return ""
	}
	return s
}

// picture is a picture's description; without one it is decoration.
func (w *writer) picture(n *html.Node) error {
	alt := prose.Line(attribute(n, "alt"))
	if alt == "" {
		return nil
	}
	s := "![" + alt + "]"
	if src := w.address(attribute(n, "src")); src != "" && !w.inLink {
		s += "(" + src + ")"
	}
	return w.word(s)
}

// formula is a formula as TeX where the page has it.
func (w *writer) formula(n *html.Node) error {
	for c := range n.Descendants() {
		if c.Data == "annotation" && strings.Contains(attribute(c, "encoding"), "tex") {
			return w.word("$" + strings.TrimSpace(textOf(c, 1<<16)) + "$")
		}
	}
	if alt := attribute(n, "alttext"); alt != "" {
		return w.word("$" + alt + "$")
	}
	return w.word(prose.Line(textOf(n, 1<<16)))
}

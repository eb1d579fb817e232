// Package pdf gives the text of PDF files.
//
// It reads what text extraction needs of ISO 32000: tables of objects of both
// kinds, and a search of the whole file where they are broken; compressed
// objects; the filters that text passes through; encryption that asks for no
// password; fonts by their encodings, their maps to Unicode and the names of
// their glyphs. It draws each page without drawing: it follows the operators to
// know where text stands, and makes lines of it.
//
// The file is read in windows, not whole, so memory follows what is unpacked: at
// most 64 MB over the whole file, 12 MB of one stream. Depth, loops, numbers of
// objects, operators and pages are limited; the limits stand beside their use. A
// context ends the work within a few milliseconds.
package pdf

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/burin-dev/burin/internal/platform/document/bounded"
	"github.com/burin-dev/burin/internal/prose"
)

const (
	maxPages = 50_000
	maxTree  = 64 // levels of the tree of pages
)

// ErrNoText is a file whose pages hold no text: they are pictures, or their fonts
// do not say what their characters mean.
var ErrNoText = errors.New("the PDF holds no text that can be read (its pages may be pictures)")

// Text gives the text of a PDF file, page by page under headings, in the order in
// which it is drawn. Text beyond max bytes is left out, and so is what comes after
// the file's allowance of unpacked data; the last line says so.
func Text(ctx context.Context, r io.ReaderAt, size int64, max int) (s string, err error) {
	defer func() {
		if x := recover(); x != nil { // a file is never worth the program
			s, err = "", fmt.Errorf("pdf: malformed: %v", x)
		}
	}()
	f, err := open(ctx, r, size)
	if err != nil {
		return "", err
	}
	d := &extraction{file: f, fonts: map[object]*font{}, max: max, seen: map[int]bool{}}
	err = d.tree(f.pages(), nil, 0)
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded) && d.texts > 0:
		d.out.WriteString("\n[the rest was not read: it took too long]\n")
	case ctx.Err() != nil:
		return "", ctx.Err()
	case errors.Is(err, errOften):
		d.out.WriteString("\n[the rest was not read: the pages draw more than is followed]\n")
	case errors.Is(err, errMuch):
		fmt.Fprintf(&d.out, "\n[the text was cut here, at %d bytes]\n", max)
	case errors.Is(err, bounded.ErrTooLarge) && d.texts > 0:
		d.out.WriteString("\n[the rest was not read: the file unpacks to more than is read of one file]\n")
	case err != nil:
		return "", err
	}
	if f.cut {
		fmt.Fprintf(&d.out, "\n[of streams of more than %d MB only the beginning was read]\n", maxStream>>20)
	}
	if d.texts == 0 {
		return "", ErrNoText
	}
	return d.out.String(), nil
}

// extraction is the way through the pages.
type extraction struct {
	file  *file
	fonts map[object]*font
	out   strings.Builder
	max   int
	page  int
	texts int          // pages that had text
	seen  map[int]bool // nodes of the tree, to find loops

	operators int // of all pages so far
}

// tree visits the pages below a node. Resources are those it inherits.
func (d *extraction) tree(node, resources dict, depth int) error {
	if depth > maxTree {
		return errors.New("pdf: pages too deep within each other")
	}
	if r := d.file.dict(node["Resources"]); r != nil {
		resources = r
	}
	kids := d.file.array(node["Kids"])
	if kids == nil && d.file.name(node["Type"]) != "Pages" {
		return d.onePage(node, resources)
	}
	for _, kid := range kids {
		if r, ok := kid.(ref); ok {
			if d.seen[r.num] {
				continue
			}
			d.seen[r.num] = true
		}
		child := d.file.dict(kid)
		if child == nil {
			continue
		}
		if err := d.tree(child, resources, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (d *extraction) onePage(page, resources dict) error {
	if d.page++; d.page > maxPages {
		return fmt.Errorf("pdf: more than %d pages", maxPages)
	}
	if err := d.file.ctx.Err(); err != nil {
		return err
	}
	content, err := d.content(page)
	if err != nil {
		return err
	}
	p := &painter{file: d.file, fonts: d.fonts, max: d.max - d.out.Len(), operators: d.operators}
	p.g = graphics{ctm: identity, stretch: 1}
	p.tm, p.line = identity, identity
	err = p.paint(content, resources)
	d.operators = p.operators
	if errors.Is(err, errDeep) {
		err = nil // a page whose content is broken has the text before
	}
	body := layout(p.pieces) + d.fields(page)
	if strings.TrimSpace(body) == "" {
		body = "[no text on this page]\n"
	} else {
		d.texts++
	}
	if room := d.max - d.out.Len(); len(body) > room {
		body = prose.Head(body, room)
		err = errMuch
	}
	fmt.Fprintf(&d.out, "## Page %d\n\n%s\n", d.page, body)
	return err
}

// content is the content of a page, whose parts are drawn as one.
func (d *extraction) content(page dict) ([]byte, error) {
	var parts array
	switch c := d.file.resolve(page["Contents"]).(type) {
	case *stream:
		parts = array{c}
	case array:
		parts = c
	}
	var all []byte
	for _, o := range parts {
		s, ok := d.file.resolve(o).(*stream)
		if !ok {
			continue
		}
		data, err := d.file.data(s)
		if errors.Is(err, bounded.ErrTooLarge) || d.file.ctx.Err() != nil {
			return nil, err
		}
		if err != nil {
			continue
		}
		if len(all)+len(data) > maxStream {
			break
		}
		all = append(append(all, data...), '\n')
	}
	return all, nil
}

// fields gives what was filled in on a page.
func (d *extraction) fields(page dict) string {
	var b strings.Builder
	for _, o := range d.file.array(page["Annots"]) {
		a := d.file.dict(o)
		if d.file.name(a["Subtype"]) != "Widget" || b.Len() > 1<<20 {
			continue
		}
		parent := d.file.dict(a["Parent"])
		get := func(key name) string {
			v := d.file.resolve(a[key])
			if v == nil {
				v = d.file.resolve(parent[key])
			}
			switch v := v.(type) {
			case text:
				return decodeText(string(v))
			case name:
				return string(v)
			}
			return ""
		}
		if v := strings.TrimSpace(get("V")); v != "" && v != "Off" {
			fmt.Fprintf(&b, "[%s: %s]\n", get("T"), v)
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return "\n" + b.String()
}

// decodeText reads a text string: UTF-16 or UTF-8 with a mark, else about Latin-1.
func decodeText(s string) string {
	switch {
	case strings.HasPrefix(s, "\xfe\xff"):
		return utf16BE(s[2:])
	case strings.HasPrefix(s, "\xef\xbb\xbf"):
		return strings.ToValidUTF8(s[3:], "\ufffd")
	}
	var b strings.Builder
	for i := range len(s) {
		b.WriteRune(rune(s[i]))
	}
	return b.String()
}

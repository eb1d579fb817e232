// Package office gives the text of office documents and books as Markdown: Word,
// PowerPoint and Excel files of the XML kind, OpenDocument files, EPUB and RTF.
//
// All but RTF are zip files of XML parts. The parts are read as streams of tokens
// and never as trees, so what is held is the text and a few tables (styles,
// shared strings), whatever the document pretends to be. One allowance of 24 MB
// of unpacked bytes serves a whole document, which is what a second is enough for.
// What lies beyond it, beyond the context's deadline or beyond the caller's limit of
// text is left out, and the last line says so; if nothing was read by then, that is
// an error, which wraps [bounded.ErrTooLarge] where it is about size.
package office

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"golang.org/x/net/html/charset"

	"github.com/burin-dev/burin/internal/platform/document/bounded"
	"github.com/burin-dev/burin/internal/prose"
)

const (
	maxUnpacked = 24 << 20 // bytes of all parts of a document together
	maxDepth    = 2000     // elements within each other
	maxToken    = 1 << 20  // bytes of one element's head, or of one text
)

var (
	errFull   = errors.New("enough text") // ends the walk when out is full
	errAbsent = errors.New("part is missing")
	errDeep   = fmt.Errorf("more than %d elements within each other", maxDepth)
	errToken  = fmt.Errorf("a single text or element of more than %d MB", maxToken>>20)
)

// out collects text up to a limit.
type out struct {
	strings.Builder
	max int
	cut bool // some shared texts were left out
}

// add appends text. It fails with errFull once nothing more fits; what fits of s
// has then been added.
func (o *out) add(s string) error {
	room := o.max - o.Len()
	if len(s) <= room {
		o.WriteString(s)
		return nil
	}
	o.WriteString(prose.Head(s, room))
	return errFull
}

// text ends the collection. Err is what the walk ended with.
func (o *out) text(err error) (string, error) {
	s := strings.TrimSpace(o.String())
	note := ""
	switch {
	case err == nil:
	case errors.Is(err, errFull):
		note = fmt.Sprintf("\n[the text was cut here, at %d bytes]\n", o.max)
	case s != "" && isLimit(err):
		note = fmt.Sprintf("\n[the rest was not read: %s]\n", limitWords(err))
	default:
		return "", err
	}
	if o.cut {
		note += fmt.Sprintf("\n[cells are empty whose texts lie beyond the first %d MB of texts]\n", maxStrings>>20)
	}
	if s == "" {
		return note, nil
	}
	return s + "\n" + note, nil
}

// isLimit reports whether err means that a document asked for more than it may have.
func isLimit(err error) bool {
	return errors.Is(err, bounded.ErrTooLarge) || errors.Is(err, errDeep) || errors.Is(err, errToken) || errors.Is(err, context.DeadlineExceeded)
}

func limitWords(err error) string {
	switch {
	case errors.Is(err, bounded.ErrTooLarge):
		return fmt.Sprintf("the document unpacks to more than %d MB", maxUnpacked>>20)
	case errors.Is(err, context.DeadlineExceeded):
		return "it took too long"
	}
	return err.Error()
}

// container is a document that is a zip of parts.
type container struct {
	ctx   context.Context // of the one call that reads the document
	files map[string]*zip.File
	left  int64
}

func open(ctx context.Context, r io.ReaderAt, size int64) (*container, error) {
	z, err := bounded.Zip(r, size)
	if err != nil {
		return nil, err
	}
	c := &container{ctx: ctx, files: make(map[string]*zip.File, len(z.File)), left: maxUnpacked}
	for _, f := range z.File {
		c.files[strings.TrimPrefix(path.Clean("/"+strings.ReplaceAll(f.Name, `\`, "/")), "/")] = f
	}
	return c, nil
}

// part opens a part. The error wraps errAbsent if there is none.
func (c *container) part(name string) (io.ReadCloser, error) {
	f := c.files[strings.TrimPrefix(name, "/")]
	if f == nil {
		return nil, fmt.Errorf("%s: %w", name, errAbsent)
	}
	if f.Flags&1 != 0 {
		return nil, fmt.Errorf("%s is encrypted", name)
	}
	rc, err := f.Open()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return struct {
		io.Reader
		io.Closer
	}{bounded.Reader(c.ctx, rc, &c.left), rc}, nil
}

// handler is told what an XML part holds. Names are without prefix. Each of its
// functions may be nil; an error ends the walk.
type handler struct {
	start func(name string, a attrs) error
	end   func(name string) error
	text  func(s string) error
}

// attrs are the attributes of an element.
type attrs []xml.Attr

// get is the attribute name, with any prefix but that of relations.
func (a attrs) get(name string) string {
	for _, x := range a {
		if x.Name.Local == name && x.Name.Space != "r" {
			return x.Value
		}
	}
	return ""
}

// rel is the id of the relation that the element refers to.
func (a attrs) rel() string {
	for _, x := range a {
		if x.Name.Space == "r" && x.Name.Local == "id" {
			return x.Value
		}
	}
	return ""
}

// walk reads a part from beginning to end.
func (c *container) walk(name string, h handler) error {
	rc, err := c.part(name)
	if err != nil {
		return err
	}
	defer rc.Close()
	if err := walkXML(rc, h); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// optional is walk for a part that need not be there.
func (c *container) optional(name string, h handler) error {
	if err := c.walk(name, h); !errors.Is(err, errAbsent) {
		return err
	}
	return nil
}

func walkXML(r io.Reader, h handler) error {
	d := xml.NewDecoder(&tokens{r: r})
	d.Strict = false
	d.CharsetReader = charset.NewReaderLabel
	for depth := 0; ; {
		t, err := d.RawToken()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		switch t := t.(type) {
		case xml.StartElement:
			if depth++; depth > maxDepth {
				return errDeep
			}
			if h.start != nil {
				err = h.start(t.Name.Local, t.Attr)
			}
		case xml.EndElement:
			depth--
			if h.end != nil {
				err = h.end(t.Name.Local)
			}
		case xml.CharData:
			if h.text != nil {
				err = h.text(string(t))
			}
		}
		if err != nil {
			return err
		}
	}
}

// tokens ends XML whose elements or texts are too long: the decoder holds each whole,
// several times over.
type tokens struct {
	r    io.Reader
	size int // since the last bracket
}

func (t *tokens) Read(p []byte) (int, error) {
	n, err := t.r.Read(p[:min(len(p), maxToken)])
	if last := bytes.LastIndexAny(p[:n], "<>"); last >= 0 {
		t.size = n - last
	} else if t.size += n; t.size > maxToken {
		return 0, errToken
	}
	return n, err
}

// relation points from one part to another, or to an address outside.
type relation struct {
	kind   string // the last word of its type: "slide", "hyperlink"
	target string // the name of a part; an address if outside
}

// relations are those of a part, by id. The empty name is the document itself.
func (c *container) relations(name string) (map[string]relation, error) {
	dir, file := path.Split(name)
	rels := map[string]relation{}
	err := c.optional(dir+"_rels/"+file+".rels", handler{start: func(el string, a attrs) error {
		if el != "Relationship" {
			return nil
		}
		target := a.get("Target")
		if a.get("TargetMode") != "External" {
			if !strings.HasPrefix(target, "/") {
				target = "/" + dir + target
			}
			target = strings.TrimPrefix(path.Clean(target), "/")
		}
		rels[a.get("Id")] = relation{path.Base(a.get("Type")), target}
		return nil
	}})
	return rels, err
}

// main is the part that the document is about, where its relations name none
// usual.
func (c *container) main(usual string) (string, error) {
	rels, err := c.relations("")
	if err != nil {
		return "", err
	}
	for _, r := range rels {
		if r.kind == "officeDocument" && c.files[r.target] != nil {
			return r.target, nil
		}
	}
	return usual, nil
}

// row writes a row of a Markdown table.
func row(o *out, cells []string) error {
	for _, cell := range cells {
		if err := o.add("| " + cellText(cell) + " "); err != nil {
			return err
		}
	}
	return o.add("|\n")
}

// head writes the first row of a table and the line below it.
func head(o *out, cells []string) error {
	if err := row(o, cells); err != nil {
		return err
	}
	return o.add(strings.Repeat("| --- ", len(cells)) + "|\n")
}

// cellText makes text fit a cell of a table.
func cellText(s string) string {
	s = strings.TrimSpace(s)
	if strings.ContainsAny(s, "|\n\r\t") {
		s = strings.NewReplacer("|", `\|`, "\r\n", "<br>", "\n", "<br>", "\r", "<br>", "\t", " ").Replace(s)
	}
	return s
}

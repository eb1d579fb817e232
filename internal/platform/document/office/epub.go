package office

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path"
	"strings"

	"golang.org/x/net/html"

	"github.com/burin-dev/burin/internal/platform/document/hypertext"
	"github.com/burin-dev/burin/internal/prose"
)

const maxChapter = 8 << 20 // bytes of a chapter's HTML, of which a tree is made

// EPUB gives the text of a book, chapter by chapter in reading order.
func EPUB(ctx context.Context, r io.ReaderAt, size int64, max int) (string, error) {
	c, err := open(ctx, r, size)
	if err != nil {
		return "", err
	}
	o := &out{max: max}
	return o.text(readBook(c, o))
}

// edition is what a book's package says of it.
type edition struct {
	title, author string
	chapters      []string // parts, in reading order
}

func readBook(c *container, o *out) error {
	e, err := readEdition(c)
	if err != nil {
		return err
	}
	if e.title != "" {
		if err := o.add("# " + e.title + "\n\n"); err != nil {
			return err
		}
	}
	if e.author != "" {
		if err := o.add("By " + e.author + "\n\n"); err != nil {
			return err
		}
	}
	locked, err := encrypted(c)
	if err != nil {
		return err
	}
	read := 0
	for _, name := range e.chapters {
		if locked[name] {
			continue
		}
		text, err := chapter(c, name)
		if errors.Is(err, errAbsent) {
			continue
		}
		if err != nil {
			return err
		}
		read++
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		if err := o.add(text + "\n\n"); err != nil {
			return err
		}
	}
	if read == 0 && len(locked) > 0 {
		return errors.New("the book is encrypted")
	}
	return nil
}

func readEdition(c *container) (*edition, error) {
	var opf string
	err := c.walk("META-INF/container.xml", handler{start: func(name string, a attrs) error {
		if name == "rootfile" && opf == "" {
			opf = a.get("full-path")
		}
		return nil
	}})
	if err != nil {
		return nil, err
	}
	e := &edition{}
	items := map[string]string{}
	var into *string
	err = c.walk(opf, handler{
		start: func(name string, a attrs) error {
			into = nil
			switch name {
			case "title":
				if e.title == "" {
					into = &e.title
				}
			case "creator":
				if e.author != "" {
					e.author += ", "
				}
				into = &e.author
			case "item":
				if strings.Contains(a.get("media-type"), "html") {
					items[a.get("id")] = within(opf, a.get("href"))
				}
			case "itemref":
				if part := items[a.get("idref")]; part != "" {
					e.chapters = append(e.chapters, part)
				}
			}
			return nil
		},
		end: func(string) error { into = nil; return nil },
		text: func(s string) error {
			if into != nil && len(*into) < 1000 {
				*into += prose.Line(s)
			}
			return nil
		},
	})
	return e, err
}

// within is the part that a reference in another part means.
func within(from, href string) string {
	if plain, err := url.PathUnescape(href); err == nil {
		href = plain
	}
	return strings.TrimPrefix(path.Join("/", path.Dir(from), href), "/")
}

// encrypted are the parts that only a shop's reader opens. Fonts are often among
// them, which does not matter here.
func encrypted(c *container) (map[string]bool, error) {
	parts := map[string]bool{}
	err := c.optional("META-INF/encryption.xml", handler{start: func(name string, a attrs) error {
		if name == "CipherReference" {
			parts[within("", a.get("URI"))] = true
		}
		return nil
	}})
	return parts, err
}

func chapter(c *container, name string) (string, error) {
	rc, err := c.part(name)
	if err != nil {
		return "", err
	}
	defer rc.Close()
	page := &io.LimitedReader{R: rc, N: maxChapter}
	n, err := html.Parse(page)
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	text, err := hypertext.Markdown(c.ctx, n, hypertext.Options{})
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	if page.N <= 0 {
		text += fmt.Sprintf("\n[the chapter was cut here, at %d MB]", maxChapter>>20)
	}
	return text, nil
}

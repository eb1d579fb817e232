package web

import (
	"bytes"
	"context"
	"encoding/json"
	"net/url"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/burin-dev/burin/internal/platform/document/hypertext"
)

// maxMarkdown is how much Markdown of a page is kept.
const maxMarkdown = 4 << 20

// markdown makes Markdown of a page: of its content, under its title. A page that
// is no tree (nested beyond all measure) gives its text alone.
func markdown(ctx context.Context, source string, base *url.URL) (string, error) {
	doc, err := html.Parse(strings.NewReader(source))
	if err != nil {
		return words(source), nil
	}
	title := hypertext.Title(doc)
	out, err := hypertext.Markdown(ctx, hypertext.Content(doc), hypertext.Options{Base: baseOf(doc, base), Max: maxMarkdown})
	if err != nil {
		return "", err
	}
	if title != "" && !strings.Contains(out, "# "+title) {
		out = "# " + title + "\n\n" + out
	}
	return out, nil
}

// baseOf is what the addresses of a page are relative to.
func baseOf(doc *html.Node, base *url.URL) *url.URL {
	for n := range doc.Descendants() {
		switch n.DataAtom {
		case atom.Base:
			if u, err := base.Parse(attribute(n, "href")); err == nil && strings.HasPrefix(u.Scheme, "http") {
				return u
			}
		case atom.Body:
			return base
		}
	}
	return base
}

// alternate is the address of the same page as Markdown, if the page names one on
// its own host.
func alternate(source string, base *url.URL) *url.URL {
	z := html.NewTokenizer(strings.NewReader(source[:min(len(source), 64<<10)]))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return nil
		case html.StartTagToken, html.SelfClosingTagToken:
			t := z.Token()
			if t.DataAtom == atom.Body {
				return nil
			}
			n := &html.Node{Attr: t.Attr}
			if t.DataAtom != atom.Link || !hasClass(attribute(n, "rel"), "alternate") || attribute(n, "type") != "text/markdown" {
				continue
			}
			if u, err := base.Parse(attribute(n, "href")); err == nil && u.Host == base.Host && u.Scheme == base.Scheme {
				return u
			}
		}
	}
}

// words is the text of a page, without any of its form.
func words(source string) string {
	var b strings.Builder
	skip := 0
	for z := html.NewTokenizer(strings.NewReader(source)); ; {
		switch z.Next() {
		case html.ErrorToken:
			return b.String()
		case html.StartTagToken:
			if name, _ := z.TagName(); unseen(string(name)) {
				skip++
			}
		case html.EndTagToken:
			if name, _ := z.TagName(); unseen(string(name)) && skip > 0 {
				skip--
			}
		case html.TextToken:
			if t := strings.TrimSpace(string(z.Text())); skip == 0 && t != "" {
				b.WriteString(t + "\n")
			}
		}
	}
}

func unseen(tag string) bool { return tag == "script" || tag == "style" || tag == "noscript" }

// pretty is JSON with line ends.
func pretty(s string) string {
	var b bytes.Buffer
	if json.Indent(&b, []byte(s), "", "  ") != nil {
		return s
	}
	return b.String()
}

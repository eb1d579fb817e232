package web

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"

	"golang.org/x/net/html"

	"github.com/burin-dev/burin/internal/platform/document/hypertext"
	"github.com/burin-dev/burin/internal/prose"
)

const (
	maxEntries = 100     // of a feed that are shown
	maxEntry   = 4 << 10 // bytes of an entry's text
)

// errNoFeed is XML of another kind.
var errNoFeed = errors.New("no feed")

// entry is an entry of a feed, RSS or Atom.
type entry struct{ title, link, date, summary, content string }

// feed makes Markdown of a feed: its entries with dates, addresses and the
// beginnings of their texts. It fails with errNoFeed for other XML.
func feed(ctx context.Context, source string, base *url.URL) (string, error) {
	title, entries, err := parseFeed(source)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n", prose.Short(title, 200))
	for i, e := range entries {
		if i == maxEntries {
			fmt.Fprintf(&b, "\n[%d more entries]\n", len(entries)-maxEntries)
			break
		}
		fmt.Fprintf(&b, "\n## %s\n", prose.Short(e.title, 300))
		if u, err := base.Parse(strings.TrimSpace(e.link)); err == nil && e.link != "" {
			fmt.Fprintf(&b, "%s\n", u)
		}
		if e.date != "" {
			fmt.Fprintf(&b, "%s\n", prose.Short(e.date, 60))
		}
		if e.content == "" {
			e.content = e.summary
		}
		text, err := fragment(ctx, e.content, base)
		if err != nil {
			return "", err
		}
		if text != "" {
			b.WriteString("\n" + text)
		}
	}
	return b.String(), nil
}

// fragment is the text of an entry, which is HTML in most feeds.
func fragment(ctx context.Context, s string, base *url.URL) (string, error) {
	doc, err := html.Parse(strings.NewReader(s[:min(len(s), 16*maxEntry)]))
	if err != nil {
		return "", nil //nolint:nilerr // an entry without text is still one
	}
	return hypertext.Markdown(ctx, doc, hypertext.Options{Base: base, Max: maxEntry})
}

// parseFeed reads a feed token by token. Elements are known by their names, which
// do not clash in the formats.
func parseFeed(source string) (title string, entries []entry, err error) {
	d := xml.NewDecoder(strings.NewReader(source))
	d.Strict = false
	d.CharsetReader = func(_ string, r io.Reader) (io.Reader, error) { return r, nil } // it is decoded already
	d.Entity = xml.HTMLEntity
	isFeed := false
	var path []string
	for {
		t, err := d.RawToken()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			if len(entries) > 0 {
				break // what there is
			}
			return "", nil, errNoFeed
		}
		switch t := t.(type) {
		case xml.StartElement:
			name := t.Name.Local
			path = append(path, name)
			if len(path) > 100 {
				return "", nil, errNoFeed
			}
			switch {
			case len(path) == 1:
				if isFeed = name == "rss" || name == "feed" || name == "RDF"; !isFeed {
					return "", nil, errNoFeed
				}
			case name == "item" || name == "entry":
				entries = append(entries, entry{})
			case name == "link" && inEntry(path):
				entries[len(entries)-1].addLink(t.Attr)
			}
		case xml.EndElement:
			if len(path) > 0 {
				path = path[:len(path)-1]
			}
		case xml.CharData:
			if len(path) == 0 {
				continue
			}
			name := path[len(path)-1]
			switch {
			case inEntry(path):
				entries[len(entries)-1].add(name, string(t))
			case name == "title" && len(path) <= 3:
				title += string(t)
			}
		}
	}
	if !isFeed {
		return "", nil, errNoFeed
	}
	return title, entries, nil
}

// addLink takes the address of an Atom entry, which stands in an attribute.
func (e *entry) addLink(attrs []xml.Attr) {
	var href, rel string
	for _, a := range attrs {
		switch a.Name.Local {
		case "href":
			href = a.Value
		case "rel":
			rel = a.Value
		}
	}
	if href != "" && (e.link == "" || rel == "alternate") {
		e.link = href
	}
}

func (e *entry) add(name, s string) {
	switch name {
	case "title":
		e.title += s
	case "link":
		e.link += strings.TrimSpace(s)
	case "pubDate", "published", "updated", "date":
		if e.date == "" {
			e.date = strings.TrimSpace(s)
		}
	case "description", "summary":
		e.summary += s
	case "encoded", "content":
		e.content += s
	}
}

// inEntry reports whether the last element of a path stands directly in an entry.
func inEntry(path []string) bool {
	return len(path) > 1 && (path[len(path)-2] == "item" || path[len(path)-2] == "entry")
}

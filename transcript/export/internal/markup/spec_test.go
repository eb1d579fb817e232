package markup

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/burin-dev/burin/internal/markdown/spectest"
)

// A page shows every example of CommonMark's specification with the elements that it
// asks for, but for those with HTML and those where a bare address becomes a link.
func TestCommonMark(t *testing.T) {
	bare := map[int]bool{602: true, 608: true, 611: true}
	for _, e := range spectest.Examples() {
		if e.Tags != "" || bare[e.Number] {
			continue
		}
		got, want := elements(t, string(AppendMarkdown(nil, e.Markdown, false)), 0), elements(t, e.HTML, 2)
		if got != want {
			t.Errorf("example %d, %s: %q\nwant %s\ngot  %s", e.Number, e.Section, e.Markdown, want, got)
		}
	}
}

// elements is HTML, of the specification or of ours, reduced to what both say: the
// nesting of blocks and emphasis, links that may be followed, and all words. Headings
// are so many levels lower.
func elements(t *testing.T, s string, lower int) string {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(s))
	if err != nil {
		t.Fatal(err)
	}
	r := reducer{lower: lower}
	for n := range doc.Descendants() {
		if n.Data == "body" {
			r.children(n)
		}
	}
	return regexp.MustCompile(`\s*(</?(?:p|h\d|ul|ol|li|blockquote|pre|hr|br)>)\s*`).ReplaceAllString(r.String(), "$1")
}

type reducer struct {
	strings.Builder
	lower int
	link  bool
}

func (r *reducer) children(n *html.Node) {
	for c := range n.ChildNodes() {
		r.node(c)
	}
}

func (r *reducer) node(n *html.Node) {
	attrs := map[string]string{}
	for _, a := range n.Attr {
		attrs[a.Key] = a.Val
	}
	link, safe := SafeURL(attrs["href"] + attrs["src"])
	name := n.Data
	switch {
	case n.Type == html.TextNode:
		r.WriteString(html.EscapeString(n.Data))
		return
	case name == "small": // where a link leads
		before := strings.TrimSuffix(r.String(), " ")
		r.Reset()
		r.WriteString(before)
		return
	case name == "img" && safe && !r.link:
		r.WriteString("<a>image: " + html.EscapeString(attrs["alt"]) + "</a>")
		return
	case name == "img":
		r.WriteString(html.EscapeString(attrs["alt"]))
		return
	case name == "a" && !safe:
		r.link = true
		if n.FirstChild != nil && n.FirstChild.Data == strings.ReplaceAll(attrs["href"], "%60", "`") { // <a:b>, where nothing is taken away
			r.WriteString("&lt;" + html.EscapeString(n.FirstChild.Data) + "&gt;")
		} else {
			r.children(n)
		}
		r.link = false
		return
	case name == "a" && n.FirstChild == nil:
		r.WriteString(link.shown)
		return
	case name[0] == 'h' && len(name) == 2 && name != "hr":
		name = "h" + strconv.Itoa(min(int(name[1]-'0')+r.lower, 6))
	}
	r.WriteString("<" + name + ">")
	r.link = r.link || name == "a"
	r.children(n)
	r.link = r.link && name != "a"
	r.WriteString("</" + name + ">")
}

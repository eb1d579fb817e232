package hypertext

import (
	"unicode"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/burin-dev/burin/internal/prose"
)

// minContent is how much text, in letters, the content of a page must have to
// stand for it.
const minContent = 400

// Content is the part of a page that holds its content. What says that it is (the
// one element main, the one article) is believed. Otherwise navigation, headers,
// footers and asides are removed from the tree, and of the rest the smallest
// element is taken that has four fifths of the prose. Of lists, forms and short
// pages, which have none, that is the whole page.
func Content(doc *html.Node) *html.Node {
	if n := declared(doc); n != nil {
		return n
	}
	prune(doc, 0)
	return densest(doc)
}

// Title is the title of a page: its element, or what it calls itself for others.
func Title(doc *html.Node) string {
	var meta string
	for n := range doc.Descendants() {
		switch {
		case n.DataAtom == atom.Title && n.Parent != nil && n.Parent.DataAtom == atom.Head:
			if s := prose.Line(textOf(n, 1000)); s != "" {
				return s
			}
		case n.DataAtom == atom.Meta && attribute(n, "property") == "og:title":
			meta = prose.Line(attribute(n, "content"))
		case n.DataAtom == atom.Body:
			return meta
		}
	}
	return meta
}

func declared(doc *html.Node) *html.Node {
	var mains, articles []*html.Node
	for n := range doc.Descendants() {
		if n.Type != html.ElementNode || Hidden(n) {
			continue
		}
		switch {
		case n.DataAtom == atom.Main || attribute(n, "role") == "main":
			mains = append(mains, n)
		case n.DataAtom == atom.Article:
			articles = append(articles, n)
		}
	}
	for _, found := range [][]*html.Node{mains, articles} {
		// An element main within one with the role is the same.
		if len(found) == 1 || len(found) == 2 && found[1].Parent == found[0] {
			if letters(found[0]) >= minContent {
				return found[0]
			}
		}
	}
	return nil
}

// letters counts letters of a node, up to minContent. A node of very many others
// is taken to have enough.
func letters(n *html.Node) int {
	count, nodes := 0, 0
	for c := range n.Descendants() {
		if nodes++; nodes > 20_000 {
			return minContent
		}
		if c.Type == html.TextNode && c.Parent.DataAtom != atom.Script && c.Parent.DataAtom != atom.Style {
			count += lettersIn(c.Data)
		}
		if count >= minContent {
			break
		}
	}
	return count
}

func lettersIn(s string) int {
	count := 0
	for _, r := range s {
		if unicode.IsLetter(r) {
			count++
		}
	}
	return count
}

// prune removes what stands around the content, where no article claims it.
func prune(n *html.Node, depth int) {
	for c := n.FirstChild; c != nil; {
		next := c.NextSibling
		switch {
		case c.Type == html.ElementNode && around(c):
			n.RemoveChild(c)
		case c.DataAtom != atom.Article && c.DataAtom != atom.Main && depth < maxDepth:
			prune(c, depth+1)
		}
		c = next
	}
}

func around(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Nav, atom.Footer, atom.Aside:
		return true
	case atom.Header:
		return letters(n) < minContent // a title is often in one
	}
	switch attribute(n, "role") {
	case "navigation", "banner", "contentinfo", "complementary", "search":
		return true
	}
	return false
}

// densest goes down from the page to where its prose divides.
func densest(doc *html.Node) *html.Node {
	counts := map[*html.Node]int{}
	total := countProse(doc, counts, false, 0)
	if total < minContent {
		return doc
	}
	n := doc
	for {
		var best *html.Node
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			if counts[c]*5 >= total*4 && c.Type == html.ElementNode {
				best = c
			}
		}
		if best == nil || best.DataAtom == atom.P || best.DataAtom == atom.Pre || best.DataAtom == atom.Td {
			return n
		}
		n = best
	}
}

// countProse counts the letters of text in paragraphs and code that are not in
// links: what menus lack.
func countProse(n *html.Node, counts map[*html.Node]int, prose bool, depth int) int {
	if depth > maxDepth || n.Type == html.ElementNode && (n.DataAtom == atom.A || Hidden(n) && n.DataAtom != atom.Head) {
		return 0
	}
	if n.Type == html.TextNode {
		if prose {
			return lettersIn(n.Data)
		}
		return 0
	}
	switch n.DataAtom {
	case atom.P, atom.Pre, atom.Blockquote, atom.Td, atom.Dd, atom.Li:
		prose = true
	case atom.Head:
		return 0
	}
	sum := 0
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		sum += countProse(c, counts, prose, depth+1)
	}
	if sum > 0 {
		counts[n] = sum
	}
	return sum
}

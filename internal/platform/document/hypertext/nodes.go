package hypertext

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Hidden reports whether an element is not shown, or shown as something else than
// text.
func Hidden(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Script, atom.Style, atom.Noscript, atom.Template, atom.Iframe, atom.Object, atom.Embed, atom.Svg, atom.Canvas,
		atom.Video, atom.Audio, atom.Head, atom.Link, atom.Meta, atom.Button, atom.Select, atom.Input, atom.Textarea, atom.Dialog:
		return true
	}
	for _, a := range n.Attr {
		switch a.Key {
		case "hidden":
			return true
		case "aria-hidden":
			if a.Val == "true" && n.DataAtom != atom.Div && n.DataAtom != atom.Pre {
				return true
			}
		case "style":
			if strings.Contains(strings.ReplaceAll(strings.ToLower(a.Val), " ", ""), "display:none") {
				return true
			}
		}
	}
	return false
}

func attribute(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

// textOf is the text in a node, at most about limit bytes.
func textOf(n *html.Node, limit int) string {
	var b strings.Builder
	for c := range n.Descendants() {
		if b.Len() >= limit {
			break
		}
		if c.Type == html.TextNode {
			b.WriteString(c.Data)
		}
	}
	return b.String()
}

// preformatted is the text in a node with its breaks.
func preformatted(n *html.Node) string {
	var b strings.Builder
	for c := range n.Descendants() {
		switch {
		case c.Type == html.TextNode:
			b.WriteString(c.Data)
		case c.DataAtom == atom.Br:
			b.WriteByte('\n')
		}
	}
	return b.String()
}

package markdown

import (
	"strings"

	"github.com/burin-dev/burin/internal/markdown/syntax"
	"github.com/burin-dev/burin/internal/mode/tui/markdown/latex"
	"github.com/burin-dev/burin/internal/mode/tui/theme"
	"github.com/burin-dev/burin/internal/mode/tui/theme/styled"
	"github.com/burin-dev/burin/internal/prose"
)

// maxTarget is how much of a link's target is shown, in cells.
const maxTarget = 60

// inline gives the lines of a text, not yet wrapped: as many as it has line
// breaks, and one at least.
func (r *renderer) inline(text string, base theme.Look, open bool) []styled.Line {
	spans := syntax.Inline(text, open, r.defs)
	lines := make([]styled.Line, 1, 1+strings.Count(text, "\n"))
	lines[0] = make(styled.Line, 0, len(spans))
	for i := range spans {
		span := &spans[i]
		if span.Link == nil {
			lines = put(lines, r.span(span, base))
			continue
		}
		first := i == 0 || spans[i-1].Link != span.Link
		last := i+1 == len(spans) || spans[i+1].Link != span.Link
		lines[len(lines)-1] = append(lines[len(lines)-1], r.link(span, r.span(span, base), first, last, spans[:i+1])...)
	}
	return lines
}

// definition is where the links of a label lead, for the reader of a use that is none.
func (r *renderer) definition(dst []string, b *syntax.Block, first, rest styled.Line) []string {
	if !r.defs.Missed(*b) {
		return r.wrap(dst, nil, first, rest)
	}
	look := theme.Look{Fg: theme.MdLinkURL}
	href, shown, ok := safeLink(b.Link.Address)
	target := styled.Span{Text: prose.Inline(shown), Look: look}
	if !ok {
		target.Text = prose.Inline(b.Link.Address)
	} else if r.o.Links {
		target.Link = href
	}
	label := prose.Line(prose.Inline(b.Text))
	return r.wrap(dst, styled.Line{{Text: "[" + label + "]: ", Look: look}, target}, first, rest)
}

// put adds a span to the last of lines, and begins another where it breaks.
func put(lines []styled.Line, s styled.Span) []styled.Line {
	for {
		part, rest, more := strings.Cut(s.Text, "\n")
		n := len(lines) - 1
		if n > 0 && len(lines[n]) == 0 {
			part = strings.TrimLeft(part, " ") // after <br>
		}
		if part != "" {
			lines[n] = append(lines[n], styled.Span{Text: part, Look: s.Look})
		}
		if !more {
			return lines
		}
		lines = append(lines, nil)
		s.Text = rest
	}
}

// span is the text of a span as it looks.
func (r *renderer) span(s *syntax.Span, base theme.Look) styled.Span {
	look := base
	if s.Mark&syntax.Strong != 0 {
		look.Mod |= theme.Bold
	}
	if s.Mark&syntax.Em != 0 {
		look.Mod ^= theme.Italic
	}
	if s.Mark&syntax.Strike != 0 {
		look.Mod |= theme.Strike
	}
	text := s.Text
	switch {
	case s.Mark&syntax.MathSpan != 0:
		text = prose.Line(latex.Unicode(text))
		look.Mod |= theme.Italic
	case s.Mark&syntax.CodeSpan != 0:
		look.Fg = theme.MdCode
		if r.plain {
			text = "`" + text + "`"
		}
	}
	text = prose.Clean(text, 1)
	return styled.Span{Text: text, Look: look}
}

// link is what is shown of a part of a link: its text, and around the whole of it
// what it is. First and last say that the part is the first or last of its link,
// before are the spans up to it.
func (r *renderer) link(s *syntax.Span, span styled.Span, first, last bool, before []syntax.Span) styled.Line {
	span.Text = strings.ReplaceAll(span.Text, "\n", " ")
	if span.Look.Fg != theme.MdCode {
		span.Look.Fg = theme.MdLink
	}
	span.Look.Mod |= theme.Underline
	var line styled.Line
	if first && s.Link == s.Image { // a picture in a link is the link's words
		line = append(line, styled.Span{Text: "image: ", Look: theme.Look{Fg: theme.MdLinkURL}})
	}
	href, shown, ok := safeLink(s.Link.Address)
	if !ok && s.Link.Angle {
		span.Text = "<" + span.Text + ">" // as <std::string>, which is no address
		return append(line, span)
	}
	if ok && r.o.Links {
		span.Link = href
	}
	if first && last && s.Text == "" { // no words: the address is what there is to read
		if span.Text = prose.Inline(shown); !ok {
			span.Text = prose.Inline(s.Link.Address)
		}
		return append(line, styled.Truncate(styled.Line{span}, maxTarget, r.sign.Ellipsis)...)
	}
	line = append(line, span)
	if !last || s.Link.Shown && ok || s.Link.Address == "" {
		return line
	}
	if !ok {
		shown = prose.Inline(s.Link.Address)
	}
	words := ""
	for i := range before {
		if before[i].Link == s.Link {
			words += before[i].Text
		}
	}
	if ok && (words == shown || words == href || r.o.Links && !pretends(words, href, shown)) {
		return line
	}
	target := styled.Truncate(styled.Of(prose.Inline(shown), theme.MdLinkURL), maxTarget, r.sign.Ellipsis)
	line = append(line, styled.Span{Text: " (", Look: theme.Look{Fg: theme.MdLinkURL}})
	line = append(line, target...)
	return append(line, styled.Span{Text: ")", Look: theme.Look{Fg: theme.MdLinkURL}})
}

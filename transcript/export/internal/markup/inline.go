package markup

import (
	"strings"

	"github.com/burin-dev/burin/internal/markdown/syntax"
	"github.com/burin-dev/burin/internal/prose"
)

// tag is the element of a mark, without the sign that begins it.
func tag(m syntax.Mark) string {
	switch m {
	case syntax.Strong:
		return "strong>"
	case syntax.Em:
		return "em>"
	}
	return "s>"
}

// inline appends s with emphasis, code, links and breaks.
func (r *renderer) inline(s string) {
	w := spanWriter{renderer: r}
	spans := syntax.Flow(s, r.defs)
	for i := range spans {
		s := &spans[i]
		for _, m := range s.Begin {
			w.begin(m, s)
		}
		w.span(s)
		for range s.End {
			w.end(spans[:i+1])
		}
	}
}

// spanWriter nests the elements of spans.
type spanWriter struct {
	*renderer
	open []syntax.Mark // elements, from the outermost
	link *syntax.Link  // that the words of an <a> belong to
	safe Link
	ok   bool // safe is where link leads
}

func (w *spanWriter) begin(m syntax.Mark, s *syntax.Span) {
	w.open = append(w.open, m)
	switch m {
	case syntax.Linked:
		w.follow(s.Link)
	case syntax.Picture:
		if s.Link == s.Image { // no link around it
			w.follow(s.Link)
			if w.ok {
				w.put("image: ")
			}
		}
	default:
		w.put("<" + tag(m))
	}
}

// follow begins a link, if it is safe.
func (w *spanWriter) follow(to *syntax.Link) {
	w.link = to
	if w.safe, w.ok = SafeURL(to.Address); w.ok {
		w.put(w.safe.open())
	}
}

func (w *spanWriter) span(s *syntax.Span) {
	switch {
	case s.Mark&(syntax.CodeSpan|syntax.MathSpan) != 0:
		w.put("<code>")
		w.dst = AppendText(w.dst, s.Text)
		w.put("</code>")
	case s.Link != nil && s.Link.Angle && s.Link.Shown && !w.ok: // <std::string> is no address
		w.text("<" + s.Text + ">")
	case s.Text == "" && s.Link != nil && w.ok:
		w.text(prose.Clip(w.safe.shown, 60))
	default:
		w.text(s.Text)
	}
}

// end ends the innermost element, after the last of spans.
func (w *spanWriter) end(spans []syntax.Span) {
	last := len(w.open) - 1
	m := w.open[last]
	w.open = w.open[:last]
	s := &spans[len(spans)-1]
	switch {
	case m == syntax.Picture && s.Link != s.Image:
	case m == syntax.Linked || m == syntax.Picture:
		w.leave(spans)
	default:
		w.put("</" + tag(m))
	}
}

// leave ends a link, and says where it leads if its words don't.
func (w *spanWriter) leave(spans []syntax.Span) {
	to := w.link
	switch {
	case !w.ok && !to.Shown:
		w.put(` <small class="to">` + string(AppendText(nil, prose.Clip(to.Address, 80))) + "</small>")
	case w.ok:
		w.put("</a>")
		if words := words(spans, to); !to.Shown && words != "" {
			w.put(w.safe.target(words))
		}
	}
	w.link = nil
}

// words are the words of the link that the last of spans belongs to.
func words(spans []syntax.Span, to *syntax.Link) string {
	from := len(spans)
	for from > 0 && spans[from-1].Link == to {
		from--
	}
	if len(spans)-from == 1 {
		return spans[from].Text
	}
	var b strings.Builder
	for _, s := range spans[from:] {
		b.WriteString(s.Text)
	}
	return b.String()
}

// text appends plain text with its breaks.
func (w *spanWriter) text(s string) {
	breaks := string(syntax.HardBreak)
	if w.breaks {
		breaks += "\n"
	}
	for {
		at := strings.IndexAny(s, breaks)
		if at < 0 {
			w.dst = AppendText(w.dst, s)
			return
		}
		w.dst = AppendText(w.dst, s[:at])
		w.put("<br>")
		s = s[at+1:]
	}
}

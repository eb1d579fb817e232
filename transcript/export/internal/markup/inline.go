package markup

import (
	"strings"

	"github.com/burin-dev/burin/internal/markdown/syntax"
)

// marks are the elements of what text is, from the outermost where several begin
// together.
var marks = [...]struct {
	mark syntax.Mark
	tag  string
}{{syntax.Em, "em>"}, {syntax.Strong, "strong>"}, {syntax.Strike, "s>"}}

// inline appends s with emphasis, code, links and breaks.
func (r *renderer) inline(s string) {
	w := spanWriter{renderer: r}
	spans := syntax.Flow(s)
	for len(spans) > 0 {
		n := 1
		for n < len(spans) && spans[n].Link == spans[0].Link {
			n++
		}
		if spans[0].Link == nil {
			w.spans(spans[:n])
		} else {
			w.link(spans[:n])
		}
		spans = spans[n:]
	}
	w.keep(0)
}

// spanWriter nests the elements of spans.
type spanWriter struct {
	*renderer
	open []int // of marks, from the outermost
}

func (w *spanWriter) spans(spans []syntax.Span) {
	for _, s := range spans {
		w.keep(s.Mark)
		for i, m := range marks {
			if s.Mark&m.mark != 0 && !w.has(i) {
				w.put("<" + m.tag)
				w.open = append(w.open, i)
			}
		}
		if s.Mark&(syntax.CodeSpan|syntax.MathSpan) != 0 {
			w.put("<code>")
			w.dst = AppendText(w.dst, s.Text)
			w.put("</code>")
			continue
		}
		w.text(s.Text)
	}
}

// keep ends the elements that are not among want, and those within them.
func (w *spanWriter) keep(want syntax.Mark) {
	n := 0
	for n < len(w.open) && marks[w.open[n]].mark&want != 0 {
		n++
	}
	for len(w.open) > n {
		last := len(w.open) - 1
		w.put("</" + marks[w.open[last]].tag)
		w.open = w.open[:last]
	}
}

func (w *spanWriter) has(i int) bool {
	for _, o := range w.open {
		if o == i {
			return true
		}
	}
	return false
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

// link appends the words of one link, and where it leads if they do not say.
func (w *spanWriter) link(spans []syntax.Span) {
	w.keep(0)
	target := spans[0].Link.Address
	link, ok := SafeURL(target)
	if ok {
		w.put(link.open())
		if spans[0].Mark&syntax.Picture != 0 {
			w.put("image: ")
		}
	}
	w.spans(spans)
	w.keep(0)
	switch {
	case !ok && !spans[0].Link.Shown:
		w.put(` <small class="to">` + string(AppendText(nil, shorten(target, 80))) + "</small>")
	case ok && spans[0].Link.Shown:
		w.put("</a>")
	case ok:
		w.put("</a>" + link.target(words(spans)))
	}
}

// words is the text of the spans, if it is one piece: enough to see that a link shows
// its own address.
func words(spans []syntax.Span) string {
	if len(spans) != 1 {
		return ""
	}
	return spans[0].Text
}

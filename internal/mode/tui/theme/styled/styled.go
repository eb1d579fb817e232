// Package styled holds pieces of text with a look, makes foreign text harmless,
// wraps it to a width and writes it for a terminal.
//
// What is rendered passes three steps: [Clean] or [Inline] for text of others,
// [Wrap] or [Truncate] for the width, [Append] for the sequences. The text of a
// [Span] must be clean and have no line feed: Append writes it as it is.
package styled

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"github.com/burin-dev/burin/internal/mode/tui/theme"
	"github.com/burin-dev/burin/internal/prose"
)

// Span is a piece of text of one look.
type Span struct {
	Text string
	Look theme.Look
	Link string // target of a hyperlink, printable ASCII; "" for none
}

// Line is what stands in one line, or, before it is wrapped, in one paragraph.
type Line []Span

// Of is a line of one piece.
func Of(text string, fg theme.Token) Line {
	if text == "" {
		return nil
	}
	return Line{{Text: text, Look: theme.Look{Fg: fg}}}
}

// Text is the line without its looks.
func (l Line) Text() string {
	if len(l) == 1 {
		return l[0].Text
	}
	var b strings.Builder
	for i := range l {
		b.WriteString(l[i].Text)
	}
	return b.String()
}

// At is the span in column x of l; -1 where there is none.
func (l Line) At(x int) int {
	end := 0
	for i, s := range l {
		if end += Width(s.Text); x < end {
			return i
		}
	}
	return -1
}

// Width is the number of cells that l takes.
func (l Line) Width() int {
	n := 0
	for i := range l {
		n += Width(l[i].Text)
	}
	return n
}

// Width is the number of cells that clean text takes.
func Width(s string) int { return prose.Width(s) }

// Append appends the line for a terminal: sequences where the look changes, and
// none that goes on after its end.
func Append(dst []byte, s *theme.Styles, l Line) []byte {
	var look theme.Look
	link := ""
	for i := range l {
		span := &l[i]
		if span.Text == "" {
			continue
		}
		if span.Link != link {
			dst = appendLink(dst, s, span.Link)
			link = span.Link
		}
		if !s.Same(span.Look, look) {
			dst = s.AppendLook(dst, span.Look)
			look = span.Look
		}
		dst = append(dst, span.Text...)
	}
	if link != "" {
		dst = appendLink(dst, s, "")
	}
	if !s.Same(look, theme.Look{}) {
		dst = s.AppendLook(dst, theme.Look{})
	}
	return dst
}

// Render is [Append] to nothing.
func Render(s *theme.Styles, l Line) string {
	if len(l) == 1 && l[0].Link == "" && s.Same(l[0].Look, theme.Look{}) {
		return l[0].Text
	}
	return string(Append(nil, s, l))
}

func appendLink(dst []byte, s *theme.Styles, target string) []byte {
	if s.Profile() == theme.NoStyle {
		return dst
	}
	dst = append(dst, "\x1b]8;;"...)
	dst = append(dst, target...)
	return append(dst, "\x1b\\"...)
}

// Pointed is a line that the mouse points at: its words are underlined, which every terminal
// shows, whatever its colors.
func Pointed(l Line) Line {
	out := slices.Clone(l)
	for i, s := range out {
		if strings.TrimSpace(s.Text) != "" {
			out[i].Look.Mod |= theme.Underline
		}
	}
	return out
}

// Truncate cuts l to width cells; what is cut ends with tail.
func Truncate(l Line, width int, tail string) Line {
	if l.Width() <= width {
		return l
	}
	room := max(0, width-Width(tail))
	if Width(tail) > width {
		tail = ""
	}
	out := make(Line, 0, len(l))
	for i := range l {
		span := l[i]
		kept := span.Text
		for at := 0; at < len(span.Text); {
			size, w := cluster(span.Text[at:])
			if w > room {
				kept = span.Text[:at]
				break
			}
			at, room = at+size, room-w
		}
		whole := len(kept) == len(span.Text)
		span.Text = kept
		out = append(out, span)
		if !whole {
			out[len(out)-1].Text += tail
			break
		}
	}
	return out
}

// Pad fills l with spaces of a look up to width cells.
func Pad(l Line, width int, look theme.Look) Line {
	if n := width - l.Width(); n > 0 {
		l = append(l[:len(l):len(l)], Span{Text: strings.Repeat(" ", n), Look: look})
	}
	return l
}

// cluster is the size in bytes and the width in cells of the first character of
// s, as people count characters.
func cluster(s string) (size, width int) {
	if s[0] < utf8.RuneSelf && (len(s) == 1 || s[1] < utf8.RuneSelf) {
		return 1, 1
	}
	c, w := ansi.FirstGraphemeCluster(s, ansi.GraphemeWidth)
	if len(c) == 0 {
		_, n := utf8.DecodeRuneInString(s)
		return n, 1
	}
	return len(c), w
}

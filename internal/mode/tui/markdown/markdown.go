// Package markdown renders Markdown for a terminal while it is being written.
//
// A [Stream] takes the text as it comes. Blocks that nothing can change any more
// are rendered once and kept; only what is open at the end, a paragraph, a table,
// a line of code, is rendered again when text was added, so that a token costs
// the same at the end of a long answer as at its beginning. [Stream.Stable] says
// how many lines are final: a face may let them go into the scrollback. [Render]
// does all at once.
//
// A link may be defined after its use. The use is a link if its definition has come
// when it is rendered: always in [Render] and after a change of the width, not in
// lines that are final by then. So that nothing is lost, such a use stays as it was
// written, "[words][label]", and its definition is shown where it stands, while all
// other definitions are left out.
//
// Whatever the text is, no line is wider than the width and none has a sequence
// but for its looks and hyperlinks. The blocks come from the package syntax, the
// colours of code from highlight, mathematics from latex.
package markdown

import (
	"strings"

	"github.com/burin-dev/burin/internal/markdown/syntax"
	"github.com/burin-dev/burin/internal/mode/tui/theme"
)

// Options of a rendering.
type Options struct {
	Styles *theme.Styles
	// Links says that the terminal knows hyperlinks (OSC 8). Without it the target
	// stands behind the words of a link.
	Links bool
	// Look is the base of all text, for text that stands back as thinking does.
	// The zero value is the theme's text.
	Look theme.Look
}

// Stream is an answer that is being written. It is for one goroutine.
type Stream struct {
	scanner syntax.Scanner
	defs    *syntax.Definitions
	partial []byte // the line not yet ended
	blocks  []syntax.Block
	closed  bool

	from     renderer // in the state before the first of blocks
	out      renderer
	done     int // blocks that are rendered
	lines    []string
	stable   int
	rendered bool // lines are those of all that was written
}

// New is an empty stream.
func New(o Options) *Stream {
	r := newRenderer(o)
	r.defs = &syntax.Definitions{}
	return &Stream{defs: r.defs, from: r, out: r}
}

// maxPartial is how much of a line is kept until it ends, in bytes. Of a longer
// one the beginning becomes final, and the rest begins no block.
const maxPartial = 4 << 10

// Write adds text. It may end anywhere, even within a character.
func (s *Stream) Write(delta string) {
	if delta == "" || s.closed {
		return
	}
	s.rendered = false
	for {
		line, rest, ended := strings.Cut(delta, "\n")
		s.partial = append(s.partial, line...)
		for len(s.partial) > maxPartial {
			cut := cutPoint(s.partial[:maxPartial])
			s.scanner.Part(string(s.partial[:cut]), s.add)
			s.partial = append(s.partial[:0], s.partial[cut:]...)
		}
		if !ended {
			return
		}
		s.scanner.Line(strings.TrimSuffix(string(s.partial), "\r"), s.add)
		s.partial = s.partial[:0]
		delta = rest
	}
}

// cutPoint is where a line that is too long is cut: after a space in its second
// half, or else before the last character.
func cutPoint(line []byte) int {
	for i := len(line) - 1; i > len(line)/2; i-- {
		if line[i] == ' ' {
			return i + 1
		}
	}
	cut := len(line) - 1
	for cut > len(line)/2 && line[cut]&0xc0 == 0x80 {
		cut--
	}
	return cut
}

// Close says that nothing follows. What is open is final then.
func (s *Stream) Close() {
	if s.closed {
		return
	}
	s.closed, s.rendered = true, false
	s.scanner.End(string(s.partial), false, s.add)
	s.partial = nil
}

func (s *Stream) add(b syntax.Block) {
	if b.Kind == syntax.Definition {
		s.defs.Define(b)
	}
	s.blocks = append(s.blocks, b)
}

// Lines gives the lines at a width of so many cells; at less than 1 it is 1. The
// result is good until the next call of a method; its lines may be kept. A width
// other than that of the last call renders all again.
func (s *Stream) Lines(width int) []string {
	width = max(width, 1)
	if width != s.out.width {
		s.out = s.from
		s.out.width, s.out.widths = width, nil
		s.defs.Again()
		s.lines, s.done, s.stable, s.rendered = s.lines[:0], 0, 0, false
	}
	if s.rendered {
		return s.lines
	}
	s.lines = s.lines[:s.stable]
	for ; s.done < len(s.blocks); s.done++ {
		s.lines = s.out.block(s.lines, &s.blocks[s.done])
	}
	s.stable = len(s.lines)
	if !s.closed {
		rest := s.scanner.Clone()
		out := s.out
		s.defs.Draft = true
		rest.End(string(s.partial), true, func(b syntax.Block) { s.lines = out.block(s.lines, &b) })
		s.defs.Draft = false
	}
	s.rendered = true
	return s.lines
}

// Stable is how many of the lines that Lines gave last will never change.
func (s *Stream) Stable() int { return s.stable }

// Drop forgets what is final: its lines are not given again, at no width, and what
// they were made of is let go. A face drops what it has let go into the scrollback.
func (s *Stream) Drop() {
	s.lines = append(s.lines[:0], s.lines[s.stable:]...)
	s.blocks = append(s.blocks[:0], s.blocks[s.done:]...)
	s.done, s.stable = 0, 0
	s.from = s.out
	s.defs.Keep()
}

// Render gives the lines of a whole text.
func Render(text string, width int, o Options) []string {
	s := New(o)
	s.Write(text)
	s.Close()
	return s.Lines(width)
}

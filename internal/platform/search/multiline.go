package search

import (
	"bytes"

	"github.com/burin-dev/burin/internal/platform/search/regex"
)

// searchWhole reads the file and reports matches of any number of lines. Matches
// that share a line are one. Line ends of CR LF are read as LF, so that patterns
// with a line end find them.
func (s *searcher) searchWhole(p *place, e entry) error {
	if err := s.blocks.all(s.stop.Load); err != nil {
		return err
	}
	text := s.buf[:s.end]
	if bytes.Contains(text, []byte("\r\n")) {
		text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	}
	text = regex.DecodeText(text)
	s.text = text
	s.matcher.Reset(text)
	at := 0 // the line that is present
	for s.number < s.most {
		g := s.nextGroup()
		if !g.ok {
			break
		}
		s.number++
		switch s.o.Mode {
		case GrepFiles:
			s.report(p, e, Match{})
			return nil
		case GrepLines:
			s.pass(at, g.start)
			s.begins(p, e, g.start, g.end, g.spans)
		case GrepCount:
		}
		at = g.end + 1
	}
	if s.o.Mode == GrepLines && s.holds {
		s.pass(min(at, len(text)), len(text))
	}
	return nil
}

// group are matches that share lines.
type group struct {
	ok         bool
	start, end int // of the lines, without the last line end
	spans      [][2]int
}

// nextGroup gives the next matches that share lines.
func (s *searcher) nextGroup() group {
	g := s.ahead
	s.ahead = group{}
	for {
		lo, hi, next, ok := s.matcher.Find(s.lookOn)
		if !ok || lo >= len(s.text) { // behind the last line end there is no line
			s.lookOn = len(s.text) + 1
			return g
		}
		s.lookOn = next
		last := max(hi-1, lo)
		end := last + bytes.IndexByte(s.text[last:], '\n')
		switch {
		case !g.ok:
			g = group{ok: true, start: bytes.LastIndexByte(s.text[:lo], '\n') + 1, end: end}
		case lo > g.end:
			s.ahead = group{ok: true, start: bytes.LastIndexByte(s.text[:lo], '\n') + 1, end: end}
			s.ahead.add(lo, hi)
			return g
		default:
			g.end = max(g.end, end)
		}
		g.add(lo, hi)
	}
}

func (g *group) add(lo, hi int) {
	if hi = min(hi, g.end); lo < hi && len(g.spans) < maxSpans {
		g.spans = append(g.spans, [2]int{lo - g.start, hi - g.start})
	}
}

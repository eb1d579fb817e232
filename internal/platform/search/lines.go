package search

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"unicode/utf8"

	"github.com/burin-dev/burin/internal/platform/search/regex"
)

// Bounds of a match.
const (
	maxSpans   = 256     // reported of one line
	maxContext = 1 << 20 // bytes kept for context when a file is read piece by piece
)

// searcher searches files for one worker.
type searcher struct {
	o       *GrepOptions
	most    int // matches of one file that can be reported, and one
	matcher *regex.Matcher
	stop    *atomic.Bool
	filter  *filter
	blocks

	// The file that is searched.
	out    *results[found]
	path   string
	text   []byte // what offsets refer to
	line   int    // number of the line at the present offset
	shown  int    // offset behind the last line that is part of a match
	last   found  // the match that may still get context behind it
	after  int    // how many lines of that
	holds  bool   // there is such a match
	number int    // of matches
	lookOn int    // in a multiline search: where to look for more
	ahead  group  // and what has been found already
}

func (s *searcher) visit(p *place, e entry, out *results[found]) {
	if !e.named && s.o.Withheld != nil && s.o.Withheld(p.join(e.name)) {
		out.stats.withheld++
		return
	}
	dir, err := p.open()
	var f file
	if err == nil {
		f, err = dir.file(e.name)
	}
	if err != nil {
		if !gone(err) {
			out.note(p.join(e.name), reason(err))
		}
		return
	}
	defer f.Close()
	if s.filter.maxSize > 0 {
		if n, err := f.size(); err != nil || n > s.filter.maxSize {
			out.note(p.join(e.name), tooLarge(n, err))
			return
		}
	}
	out.stats.searched++
	s.out, s.path = out, ""
	s.line, s.shown, s.number, s.lookOn, s.ahead = 1, 0, 0, 0, group{}
	s.blocks.reset(f)
	if s.o.Multiline {
		err = s.searchWhole(p, e)
	} else {
		err = s.searchLines(p, e)
	}
	s.flush()
	if s.o.Mode == GrepCount && s.number > 0 {
		s.report(p, e, Match{Count: s.number})
	}
	if err != nil && (!errors.Is(err, errBinary) || e.named) {
		out.note(p.join(e.name), reason(err))
	}
}

func tooLarge(size int64, err error) string {
	if err != nil {
		return reason(err)
	}
	return fmt.Sprintf("has %d bytes, more than are asked for", size)
}

// report adds a match of the present file.
func (s *searcher) report(p *place, e entry, m Match) {
	m.Path = s.name(p, e)
	s.out.add(found{m, s.out.stats.searched})
}

// name is the path of the present file. It is only made for files with matches.
func (s *searcher) name(p *place, e entry) string {
	if s.path == "" {
		s.path = p.join(e.name)
	}
	return s.path
}

// searchLines goes through the file piece by piece.
func (s *searcher) searchLines(p *place, e entry) error {
	keep := 0
	for !s.stop.Load() {
		if err := s.blocks.next(keep); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		s.text, s.shown = s.buf[:s.end], 0
		if done := s.searchBlock(p, e); done {
			return nil
		}
		keep = 0
		if s.o.Before > 0 && s.o.Mode == GrepLines {
			if keep = s.end - s.back(s.end); keep > maxContext {
				keep = 0
			}
		}
	}
	return nil
}

// searchBlock reports the matching lines between s.begin and s.end. It reports
// whether the rest of the file need not be read.
func (s *searcher) searchBlock(p *place, e entry) bool {
	at := s.begin
	s.matcher.Reset(s.text[s.begin:])
	for s.number < s.most {
		start, end, ok := s.matcher.Next(at - s.begin)
		if !ok {
			break
		}
		start, end = start+s.begin, end+s.begin
		s.number++
		switch s.o.Mode {
		case GrepFiles:
			s.report(p, e, Match{})
			return true
		case GrepLines:
			s.pass(at, start)
			s.begins(p, e, start, end, nil)
		case GrepCount:
		}
		at = end + 1
	}
	if s.o.Mode == GrepLines && (!s.blocks.last() || s.holds && s.after > 0) {
		s.pass(at, len(s.text))
	}
	return s.number >= s.most && (!s.holds || s.after == 0)
}

// pass goes over the lines from at to to, none of which begins a match.
func (s *searcher) pass(at, to int) {
	s.line += bytes.Count(s.text[at:to], []byte("\n"))
	for s.holds && s.after > 0 && at < to {
		end := at + bytes.IndexByte(s.text[at:to], '\n')
		s.last.After = append(s.last.After, s.context(s.text[at:end]))
		s.after--
		at = end + 1
		s.shown = at
	}
}

// begins makes the lines from start to end a match, whose first line is the
// present one.
func (s *searcher) begins(p *place, e entry, start, end int, spans [][2]int) {
	s.flush()
	m := Match{Path: s.name(p, e), Line: s.line}
	if s.o.Before > 0 {
		for at := s.back(start); at < start; {
			next := at + bytes.IndexByte(s.text[at:start], '\n')
			m.Before = append(m.Before, s.context(s.text[at:next]))
			at = next + 1
		}
	}
	text := s.text[start:end]
	if !s.o.Multiline {
		text = regex.Decode(text)
		spans = s.matcher.Spans(nil, text, maxSpans)
	}
	m.fill(text, spans, s.o.MaxColumns)
	s.last, s.after, s.holds = found{m, s.out.stats.searched}, s.o.After, true
	s.shown = end + 1
	s.line += 1 + bytes.Count(s.text[start:end], []byte("\n"))
}

// flush hands over the match that was waiting for context.
func (s *searcher) flush() {
	if s.holds {
		s.out.add(s.last)
		s.last, s.holds = found{}, false
	}
}

// back is where the lines before offset begin that are context and have not been
// shown yet.
func (s *searcher) back(offset int) int {
	for range s.o.Before {
		if offset <= s.shown {
			break
		}
		offset = s.shown + bytes.LastIndexByte(s.text[s.shown:offset-1], '\n') + 1
	}
	return offset
}

// context is a line of context.
func (s *searcher) context(line []byte) string {
	line = regex.Decode(line)
	if s.o.MaxColumns > 0 {
		line = line[:columns(line, 0, s.o.MaxColumns)]
	}
	return string(line)
}

// columns is the offset n characters behind offset at.
func columns(text []byte, at, n int) int {
	if len(text)-at <= n {
		return len(text)
	}
	for ; n > 0 && at < len(text); n-- {
		_, size := utf8.DecodeRune(text[at:])
		at += size
	}
	return at
}

// fill sets the text of a match, cut to a number of characters. A cut text begins
// with the line, unless the first span would not be in it: then it begins shortly
// before that.
func (m *Match) fill(text []byte, spans [][2]int, most int) {
	m.Spans = spans
	end := len(text)
	if most > 0 {
		end = columns(text, 0, most)
	}
	if end == len(text) {
		m.Text = string(text)
		return
	}
	m.Cut = true
	if len(spans) > 0 && spans[0][1] > end {
		m.From = spans[0][0]
		for n := most / 4; n > 0 && m.From > 0; n-- {
			_, size := utf8.DecodeLastRune(text[:m.From])
			m.From -= size
		}
		end = columns(text, m.From, most)
	}
	m.Text = string(text[m.From:end])
	m.Spans = nil
	for _, s := range spans {
		lo, hi := max(s[0], m.From)-m.From, min(s[1], end)-m.From
		if lo < hi {
			m.Spans = append(m.Spans, [2]int{lo, hi})
		}
	}
}

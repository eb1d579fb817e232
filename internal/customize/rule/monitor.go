package rule

import (
	"bytes"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/dlclark/regexp2"

	"github.com/burin-dev/burin/internal/jsontext"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
)

// Limits of what a pattern sees: the newest text of a block of an answer.
const (
	reach  = 4 << 10 // bytes before and after a literal that a match may have
	behind = 32      // bytes before that for what looks back
	keep   = 2*reach + behind
	blind  = 1 << 10 // bytes that a pattern without a literal sees

	maxSlow = 5 // patterns that take too long before all are off: an answer must not wait for a repository's
)

// StreamOptions are the settings of stream rules.
type StreamOptions struct {
	Interrupt string // where rules may interrupt unless they say it themselves; "" is always
	Gap       int    // answers after which a rule may come again; 0 is never
	// Workspace is the folder that paths in calls start from.
	Workspace string
	Warn      func(string)
}

// Monitor looks for the patterns of stream rules in the answers of a session. One answer is
// read at a time; the other methods are safe for concurrent use.
//
// The cost of a token does not grow with the number of rules: an automaton looks for texts
// that each match must contain, and a pattern is tried only near one. A pattern without such a
// text is tried with every token.
type Monitor struct {
	o        StreamOptions
	rules    []*Rule
	patterns []pattern
	compiled sync.Once
	finds    *automaton
	without  []int32 // patterns without a literal
	slow     int     // patterns that took too long

	mu      sync.Mutex
	answers int
	came    map[string]int // when rules came last, by name: answers
}

// pattern is one condition of a rule.
type pattern struct {
	rule    *Rule
	source  string
	re      *regexp2.Regexp // nil: not compiled yet
	oneLine bool
	tail    int
	off     bool // it took too long
}

// NewMonitor returns a monitor for the stream rules of a set; nil if there are none.
func NewMonitor(s *Set, o StreamOptions) *Monitor {
	m := &Monitor{o: o, rules: s.on(Stream), came: map[string]int{}}
	if len(m.rules) == 0 {
		return nil
	}
	if m.o.Warn == nil {
		m.o.Warn = func(string) {}
	}
	return m
}

// prepare builds the automaton, when the first answer begins.
func (m *Monitor) prepare() {
	var lits [][]string
	for _, r := range m.rules {
		for _, c := range r.conditions {
			lit := literals(c)
			if lit == nil {
				m.without = append(m.without, int32(len(m.patterns)))
			}
			m.patterns = append(m.patterns, pattern{rule: r, source: c, oneLine: onOneLine(c), tail: tail(c)})
			lits = append(lits, lit)
		}
	}
	var full []int32
	m.finds, full = build(lits)
	m.without = append(m.without, full...)
}

// Came notes that rules have come already: in the part of a session that was resumed.
func (m *Monitor) Came(names []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, n := range names {
		m.came[n] = m.answers
	}
}

// After notes that the rules came that an earlier monitor of the session has seen come.
func (m *Monitor) After(earlier *Monitor) {
	if m == nil || earlier == nil {
		return
	}
	earlier.mu.Lock()
	defer earlier.mu.Unlock()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.answers, m.came = earlier.answers, maps.Clone(earlier.came)
}

// may reports whether a rule may come now.
func (m *Monitor) may(r *Rule) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	at, came := m.came[r.Name]
	return !came || m.o.Gap > 0 && m.answers-at >= m.o.Gap
}

// Hit says that rules apply to what an answer has said.
type Hit struct {
	Rules     []*Rule
	Text      string // that matched, of the first of them
	Interrupt bool   // the answer is to be stopped
	Call      string // the id of the call; "" for text
}

// Answer reads one answer.
type Answer struct {
	m     *Monitor
	lanes []*lane
}

// Answer begins to read an answer.
func (m *Monitor) Answer() *Answer {
	m.compiled.Do(m.prepare)
	m.mu.Lock()
	m.answers++
	m.mu.Unlock()
	return &Answer{m: m}
}

// See reads an event. It returns a hit with the event that makes it certain.
func (a *Answer) See(e *llm.Event) *Hit {
	switch e.Type {
	case llm.EventTextDelta, llm.EventThinkingDelta:
		l := a.lane(e)
		if l.idle {
			return nil
		}
		feed(l, e.Delta)
		return l.look(false)
	case llm.EventToolCallStart:
		a.lane(e)
	case llm.EventToolCallDelta:
		l := a.lane(e)
		if l.idle {
			return nil
		}
		l.arguments(e.Delta)
		return l.look(false)
	case llm.EventTextEnd, llm.EventThinkingEnd, llm.EventToolCallEnd:
		l := a.lane(e)
		if l.idle {
			return nil
		}
		if c, ok := e.Block.(llm.ToolCall); ok {
			if l.call == "" {
				l.call = c.ID
			}
			if !l.fed {
				l.arguments(c.Arguments) // this provider sends them whole
			}
		}
		return l.look(true)
	}
	return nil
}

// lane is the block of an event.
func (a *Answer) lane(e *llm.Event) *lane {
	if e.Index < 0 || e.Index > 1000 {
		return &lane{idle: true}
	}
	for len(a.lanes) <= e.Index {
		a.lanes = append(a.lanes, nil)
	}
	if l := a.lanes[e.Index]; l != nil {
		return l
	}
	l := &lane{m: a.m}
	l.give = l.value
	switch e.Type {
	case llm.EventThinkingStart, llm.EventThinkingDelta, llm.EventThinkingEnd:
		l.place = inThinking
	case llm.EventToolCallStart, llm.EventToolCallDelta, llm.EventToolCallEnd:
		l.place = inTool
		if c, ok := e.Block.(llm.ToolCall); ok {
			l.tool, l.call = strings.ToLower(c.Name), c.ID
		}
	}
	l.idle = !slices.ContainsFunc(a.m.rules, func(r *Rule) bool { return r.watches(l.place, l.tool) })
	if !l.idle {
		for _, i := range a.m.without {
			l.tries = append(l.tries, try{pattern: i, always: true})
		}
	}
	a.lanes[e.Index] = l
	return l
}

// watches reports whether a rule is about a part of an answer, of whichever files.
func (r *Rule) watches(p place, tool string) bool {
	return slices.ContainsFunc(r.scopes, func(s scope) bool { return s.is(p, tool) })
}

func (s *scope) is(p place, tool string) bool {
	return s.kind == p && (s.tool == "" || s.tool == tool)
}

// lane is a block of an answer: a text, thinking, or the arguments of a call. Of a call it has
// the texts that the model writes, without JSON around them.
type lane struct {
	m          *Monitor
	idle       bool // no rule watches it
	place      place
	tool, call string
	fed        bool
	json       jsontext.Pieces
	files      []string // absolute paths that the call has named
	give       func(key, text []byte, end bool)
	line       []byte // of a patch, or a path, until it is whole
	adding     bool   // the line of the patch is one that it adds

	buf   []byte // the newest text
	off   int    // how much was before it
	state int    // of the automaton
	start int    // where the current line begins
	begun int    // where the line of the last look began
	tries []try
	late  []int32 // patterns that match, if the call turns out to be about their files
	runes []rune  // for matching
}

// try is a pattern that may match in a lane.
type try struct {
	pattern int32
	always  bool // it has no literal
	from    int  // where to look from
	last    int  // where its literal was last
}

// feed reads text.
func feed[S string | []byte](l *lane, s S) {
	if len(s) == 0 {
		return
	}
	l.fed = true
	if len(l.buf)+len(s) > 2*keep && len(l.buf) > keep {
		cut := len(l.buf) - keep
		for cut < len(l.buf) && !utf8.RuneStart(l.buf[cut]) {
			cut++
		}
		l.buf = append(l.buf[:0], l.buf[cut:]...)
		l.off += cut
	}
	end := l.off + len(l.buf)
	f, state := l.m.finds, l.state
	for i := range len(s) {
		state = int(f.next[state*f.width+int(f.class[s[i]])])
		if hits := f.hits[state]; hits != nil {
			for _, p := range hits {
				l.hit(p, end+i)
			}
		}
		if s[i] == '\n' {
			l.start = end + i + 1
		}
	}
	l.state = state
	l.buf = append(l.buf, s...)
}

// hit notes that a literal of a pattern ends at a place.
func (l *lane) hit(p int32, at int) {
	for i := range l.tries {
		if l.tries[i].pattern == p {
			l.tries[i].last = at
			return
		}
	}
	pat := &l.m.patterns[p]
	if pat.off || !pat.rule.watches(l.place, l.tool) {
		return
	}
	from := max(0, at-reach)
	if pat.oneLine {
		from = max(from, l.start)
	}
	l.tries = append(l.tries, try{pattern: p, from: from, last: at})
}

// look tries the patterns that may match. final says that nothing follows.
func (l *lane) look(final bool) (hit *Hit) {
	if len(l.tries) == 0 && len(l.late) == 0 {
		l.begun = l.start
		return nil
	}
	end := l.off + len(l.buf)
	left := l.tries[:0]
	for _, t := range l.tries {
		p := &l.m.patterns[t.pattern]
		if p.off || !p.rule.watches(l.place, l.tool) {
			continue
		}
		if t.always {
			t.from = max(end-blind, 0)
			if p.oneLine {
				t.from = max(t.from, l.begun)
			}
		}
		t.from = max(t.from, end-2*reach, l.off)
		text, found, certain := l.match(p, t.from, final)
		switch {
		case found && certain:
			if !l.claim(t.pattern, &hit, text) {
				l.late = append(l.late, t.pattern)
			}
		case found, t.always, !p.oneLine && end-t.last < reach, p.oneLine && l.start <= t.last:
			left = append(left, t)
		}
	}
	l.tries = left
	late := l.late[:0]
	for _, i := range l.late {
		if !l.claim(i, &hit, "") && !final {
			late = append(late, i)
		}
	}
	l.late = late
	l.begun = l.start
	return hit
}

// claim adds the rule of a pattern to a hit, if it is about the files of the call and may come
// now. It reports false if the call may still name such a file.
func (l *lane) claim(i int32, hit **Hit, text string) bool {
	r := l.m.patterns[i].rule
	if !l.m.may(r) {
		return true
	}
	if !l.concerns(r) {
		return false
	}
	h := *hit
	if h == nil {
		h = &Hit{Text: text, Call: l.call}
		*hit = h
	}
	if !slices.Contains(h.Rules, r) {
		h.Rules = append(h.Rules, r)
	}
	mode := r.interrupt
	if mode == "" {
		mode = l.m.o.Interrupt
	}
	switch mode {
	case InterruptNever:
	case InterruptProse:
		h.Interrupt = h.Interrupt || l.place != inTool
	case InterruptTools:
		h.Interrupt = h.Interrupt || l.place == inTool
	default:
		h.Interrupt = true
	}
	l.m.Came([]string{r.Name})
	return true
}

// concerns reports whether a rule is about one of the files that the call has named.
func (l *lane) concerns(r *Rule) bool {
	names := func(globs []string) bool {
		return len(globs) == 0 || slices.ContainsFunc(l.files, func(f string) bool { return matches(globs, f, l.base(r)) })
	}
	return names(r.Globs) && slices.ContainsFunc(r.scopes, func(s scope) bool { return s.is(l.place, l.tool) && names(s.globs) })
}

func (l *lane) base(r *Rule) string {
	if r.base != "" {
		return r.base
	}
	return l.m.o.Workspace
}

// match looks for a pattern from a place on. It is certain once nothing that may follow can
// change it.
func (l *lane) match(p *pattern, from int, final bool) (text string, found, certain bool) {
	if p.re == nil {
		re, err := compile(p.source)
		if err != nil {
			p.off = true
			return "", false, false
		}
		p.re = re
	}
	at := from - l.off
	context := max(0, at-behind)
	for context < len(l.buf) && !utf8.RuneStart(l.buf[context]) {
		context++
	}
	l.runes = l.runes[:0]
	start := 0
	for i := context; i < len(l.buf); {
		r, size := utf8.DecodeRune(l.buf[i:])
		if i < at {
			start++
		}
		l.runes = append(l.runes, r)
		i += size
	}
	m, err := p.re.FindRunesMatchStartingAt(l.runes, min(start, len(l.runes)))
	if err != nil {
		p.off = true
		if l.m.slow++; l.m.slow == maxSlow {
			for i := range l.m.patterns {
				l.m.patterns[i].off = true
			}
			l.m.o.Warn(fmt.Sprintf("stream rules are off for this session: %d patterns took longer than %s each, the last one that of the rule %s", maxSlow, matchTime, p.rule.Name))
			return "", false, false
		}
		l.m.o.Warn(fmt.Sprintf("the rule %s is off for this session: its pattern %s took longer than %s", p.rule.Name, prose.Cut(p.source, 60), matchTime))
		return "", false, false
	}
	if m == nil {
		return "", false, false
	}
	return m.String(), true, final || len(l.runes)-(m.Index+m.Length) >= p.tail
}

// arguments reads a piece of the JSON of a call.
func (l *lane) arguments(piece string) {
	l.fed = true
	l.json.Feed(piece, l.give)
}

// value reads a piece of a text in the arguments of a call.
func (l *lane) value(key, text []byte, end bool) {
	switch string(key) {
	case "path", "file", "file_path", "filename", "paths", "files":
		l.line = append(l.line, text...)
		if end {
			l.names(string(l.line), false)
			l.line = l.line[:0]
		}
		return
	case "old", "tag", "at", "to", "op":
		if l.tool == "edit" {
			return // of the file as it is
		}
	case "patch":
		if l.tool == "edit" {
			l.patch(text, end)
			return
		}
	}
	feed(l, text)
	if end {
		feed(l, "\n")
		l.state = 0
	}
}

// names notes a file that the call is about; alone says that the others are done with.
func (l *lane) names(path string, alone bool) {
	if path == "" {
		return
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(l.m.o.Workspace, filepath.FromSlash(path))
	}
	if alone {
		l.files = l.files[:0]
	}
	l.files = append(l.files, filepath.Clean(path))
}

// newFile begins the line of a unified diff that names a file.
const newFile = "+++ b/"

// patch reads a piece of a patch: the lines that it adds, and the files that it names.
func (l *lane) patch(text []byte, end bool) {
	for len(text) > 0 {
		n := bytes.IndexByte(text, '\n') + 1
		whole := n > 0
		if !whole {
			n = len(text)
		}
		piece := text[:n]
		text = text[n:]
		if l.adding {
			feed(l, piece)
		} else {
			l.line = append(l.line, piece...)
			named := strings.HasPrefix(newFile, string(l.line[:min(len(l.line), len(newFile))])) // so far
			switch {
			case l.line[0] == '+' && (!named || whole && len(l.line) < len(newFile)):
				l.adding = true
				feed(l, l.line[1:])
			case whole:
				l.header(string(l.line))
			}
		}
		if whole || l.adding {
			l.line = l.line[:0]
		}
		l.adding = l.adding && !whole
	}
	if end {
		l.header(string(l.line))
		l.line, l.adding = l.line[:0], false
	}
}

// header reads the line of a patch that may name a file.
func (l *lane) header(line string) {
	for _, prefix := range []string{"*** Update File: ", "*** Add File: ", "*** Move to: ", newFile} {
		if name, ok := strings.CutPrefix(line, prefix); ok {
			l.names(strings.TrimSpace(name), true)
			l.state = 0
		}
	}
}

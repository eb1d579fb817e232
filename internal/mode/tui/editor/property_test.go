package editor

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"github.com/burin-dev/burin/internal/mode/tui/key"
)

// model is the text as a list of grapheme clusters, and how many are before the
// cursor: all there is to an editor, without any of its speed.
type model struct {
	clusters []string
	cursor   int
}

func split(text string) []string {
	var out []string
	for text != "" {
		n := clusterLen([]byte(text))
		if c := text[:n]; strings.Contains(c, "\n") && c != "\n" { // clusters end with the line
			n = max(1, strings.IndexByte(c, '\n'))
		}
		out = append(out, text[:n])
		text = text[n:]
	}
	return out
}

// edit replaces clusters from up to to by text; what belongs together then is
// one cluster, and the cursor is behind it.
func (m *model) edit(from, to int, text string) {
	before := strings.Join(m.clusters[:from], "") + text
	m.clusters = split(before + strings.Join(m.clusters[to:], ""))
	m.cursor = 0
	for n := 0; n < len(before); m.cursor++ {
		n += len(m.clusters[m.cursor])
	}
}

func (m *model) text() string { return strings.Join(m.clusters, "") }

// lineBounds are the clusters at which the cursor's line begins and ends.
func (m *model) lineBounds() (start, end int) {
	start, end = m.cursor, m.cursor
	for start > 0 && m.clusters[start-1] != "\n" {
		start--
	}
	for end < len(m.clusters) && m.clusters[end] != "\n" {
		end++
	}
	return start, end
}

func (m *model) word(step int) int {
	at, in := m.cursor, classSpace
	for {
		next := at + step
		if next < 0 || next > len(m.clusters) {
			return at
		}
		c := classOf([]byte(m.clusters[min(at, next)]))
		if in != classSpace && c != in {
			return at
		}
		if in == classSpace {
			in = c
		}
		at = next
	}
}

// apply does what action means; false for actions the model does not know.
func (m *model) apply(a key.Action) bool {
	start, end := m.lineBounds()
	kill := func(to int) { m.edit(min(m.cursor, to), max(m.cursor, to), "") }
	switch a {
	case key.CursorLeft:
		m.cursor = max(0, m.cursor-1)
	case key.CursorRight:
		m.cursor = min(len(m.clusters), m.cursor+1)
	case key.CursorLineStart:
		m.cursor = start
	case key.CursorLineEnd:
		m.cursor = end
	case key.CursorTextStart:
		m.cursor = 0
	case key.CursorTextEnd:
		m.cursor = len(m.clusters)
	case key.CursorWordLeft:
		m.cursor = m.word(-1)
	case key.CursorWordRight:
		m.cursor = m.word(1)
	case key.DeleteBackward:
		kill(max(0, m.cursor-1))
	case key.DeleteForward:
		kill(min(len(m.clusters), m.cursor+1))
	case key.DeleteWordBackward:
		kill(m.word(-1))
	case key.DeleteWordForward:
		kill(m.word(1))
	case key.DeleteToLineStart:
		if start == m.cursor {
			start = max(0, start-1)
		}
		kill(start)
	case key.DeleteToLineEnd:
		if end == m.cursor {
			end = min(len(m.clusters), end+1)
		}
		kill(end)
	case key.NewLine:
		m.edit(m.cursor, m.cursor, "\n")
	default:
		return false
	}
	return true
}

var modelActions = []key.Action{
	key.CursorLeft, key.CursorRight, key.CursorLineStart, key.CursorLineEnd, key.CursorTextStart,
	key.CursorTextEnd, key.CursorWordLeft, key.CursorWordRight, key.DeleteBackward, key.DeleteForward,
	key.DeleteWordBackward, key.DeleteWordForward, key.DeleteToLineStart, key.DeleteToLineEnd, key.NewLine,
}

// otherActions change the text in ways the model takes over from the editor.
var otherActions = []key.Action{
	key.CursorUp, key.CursorDown, key.EditorPageUp, key.EditorPageDown, key.Undo, key.Redo, key.Yank, key.YankPop,
}

// pieces are what tests type: all that makes wrapping and clusters hard.
var pieces = []string{
	"a", "bc", " ", "  ", "word ", "漢", "字漢", "é", "e\u0301", "\u0301", "👨‍👩‍👧", "👨", "\u200d", "🇩", "🇪", "\ufe0f", "❤",
	"\t", "longwordlongword", ".", "--", "\n", "x\ny", "\u1100", "\u1161", "\u0e33", "\u200b", "\u0600", "क", "\u094d", "ष",
}

func (e *Editor) asModel() model {
	return model{split(e.doc.slice(pos{}, e.doc.end())), len(split(e.doc.slice(pos{}, e.cur)))}
}

func TestAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := New(Options{})
		var m model
		steps := rapid.IntRange(1, 60).Draw(t, "steps")
		for range steps {
			switch rapid.IntRange(0, 9).Draw(t, "kind") {
			case 0, 1, 2, 3:
				text := rapid.SampledFrom(pieces).Draw(t, "type")
				e.Handle(key.Press{Key: "x", Text: text})
				m.edit(m.cursor, m.cursor, text)
			case 4:
				text := rapid.SampledFrom([]string{"one\ntwo", strings.Repeat("x\n", 20), strings.Repeat("long", 400)}).Draw(t, "paste")
				e.Handle(key.Paste{Text: text})
				if lineCount(text) > foldLines || len(text) > foldChars {
					text = fmt.Sprintf("%s%d%s", foldStart, e.folds.last, foldEnd)
				}
				m.edit(m.cursor, m.cursor, text)
			case 5:
				e.Do(rapid.SampledFrom(otherActions).Draw(t, "other"))
				m = e.asModel()
			default:
				a := rapid.SampledFrom(modelActions).Draw(t, "action")
				e.Do(a)
				m.apply(a)
			}
			got := e.asModel()
			if got.text() != m.text() || !slices.Equal(got.clusters, m.clusters) || got.cursor != m.cursor {
				t.Fatalf("editor %q at %d, model %q at %d", got.clusters, got.cursor, m.clusters, m.cursor)
			}
			checkView(t, e, rapid.IntRange(1, 30).Draw(t, "width"), rapid.IntRange(1, 8).Draw(t, "height"))
		}
		for e.Do(key.Redo) {
		}
		last := e.Text()
		if size := len(e.doc.slice(pos{}, e.doc.end())); e.doc.size != size {
			t.Fatalf("document counts %d bytes, has %d", e.doc.size, size)
		}
		for e.Do(key.Undo) {
		}
		if !e.Empty() || e.cur != (pos{}) {
			t.Fatalf("undone to %q", e.Text())
		}
		for e.Do(key.Redo) {
		}
		if e.Text() != last {
			t.Fatalf("undone and redone to %q, want %q", e.Text(), last)
		}
		if e.journal.bytes != journalSize(&e.journal) {
			t.Fatalf("journal counts %d bytes, has %d", e.journal.bytes, journalSize(&e.journal))
		}
	})
}

func journalSize(j *journal) (n int) {
	for i := range j.done {
		n += j.done[i].size()
	}
	return n
}

type failer interface {
	Fatalf(format string, args ...any)
	Helper()
}

// checkView draws the text twice: as it is, and laid out anew. Both must be the
// same, within the width, and have at the cursor what comes next in the text.
func checkView(t failer, e *Editor, width, height int) {
	t.Helper()
	lines, row, col := e.View(width, height)
	width = max(width, minWidth)
	if len(lines) == 0 || len(lines) > height || row < 0 || row >= len(lines) || col < 0 || col >= width {
		t.Fatalf("%d lines of %d, cursor %d,%d in width %d", len(lines), height, row, col, width)
	}
	for _, l := range lines {
		if ansi.StringWidth(l) > width {
			t.Fatalf("%q is wider than %d", l, width)
		}
	}
	s := e.doc.at(e.cur.line).s
	if rest := s[e.cur.col:]; len(rest) > 0 {
		c := string(rest[:clusterLen(rest)])
		if id, ok := foldID([]byte(c)); ok {
			c = ansi.Truncate(e.folds.label(id), width-1, "")
		} else if c == "\t" {
			c = " "
		} else {
			c = glyph([]byte(c))
		}
		if !hasAt(lines[row], col, c) {
			t.Fatalf("cursor at %d,%d of %q, want it before %q", row, col, lines, c)
		}
	} else if ansi.StringWidth(lines[row]) != col {
		t.Fatalf("cursor at %d,%d of %q, want it at the end of the line", row, col, lines)
	}
	for i := range e.doc.lines() {
		l := e.doc.at(i)
		if l.width != e.lay.width {
			continue
		}
		fresh := &line{s: l.s}
		if !slices.Equal(e.lay.rows(fresh), l.rows) {
			t.Fatalf("line %q has rows %v, laid out anew %v", l.s, l.rows, fresh.rows)
		}
	}
}

// hasAt reports whether want is in s at column col. Columns are counted as the
// view counts them, by cluster.
func hasAt(s string, col int, want string) bool {
	x := 0
	for i := 0; ; {
		if x == col && strings.HasPrefix(s[i:], want) {
			return true
		}
		if i == len(s) {
			return false
		}
		n := clusterLen([]byte(s[i:]))
		x += ansi.StringWidth(s[i : i+n])
		i += n
	}
}

// A narrow character typed at the end of a line appears where the cursor was,
// unless it makes the row break.
func TestTypedWhereTheCursorIs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := New(Options{})
		text := strings.Join(rapid.SliceOf(rapid.SampledFrom([]string{"a", " ", "漢", "word", "\n"})).Draw(t, "text"), "")
		if err := e.SetText(text); err != nil {
			t.Fatal(err)
		}
		width := rapid.IntRange(3, 20).Draw(t, "width")
		before, row, col := e.View(width, 100)
		e.Handle(key.Press{Key: "x", Text: "x"})
		after, _, _ := e.View(width, 100)
		if len(after) == len(before) && !hasAt(after[row], col, "x") {
			t.Fatalf("x not at %d,%d of %q", row, col, after)
		}
	})
}

// Long lines are patched rather than laid out again.
func TestLongLineLayout(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := New(Options{})
		e.lay.width = rapid.IntRange(3, 12).Draw(t, "width")
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			l := e.doc.at(0)
			e.lay.rows(l)
			_, from := e.lay.boundaries(l, rapid.IntRange(0, len(l.s)).Draw(t, "from"))
			_, to := e.lay.boundaries(l, min(len(l.s), from+rapid.IntRange(0, 9).Draw(t, "length")))
			text := strings.ReplaceAll(strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 12).Draw(t, "text"), ""), "\n", "")
			e.doc.replace(pos{0, from}, pos{0, to}, text, &e.lay)
			fresh := &line{s: l.s}
			if want := e.lay.rows(fresh); !slices.Equal(e.lay.rows(l), want) {
				t.Fatalf("%q: rows %v, want %v", l.s, l.rows, want)
			}
		}
	})
}

func FuzzEditor(f *testing.F) {
	for i, p := range pieces {
		f.Add([]byte(p+"\x00"+p), uint8(i), uint8(i%7))
	}
	f.Fuzz(func(t *testing.T, in []byte, width, height uint8) {
		if len(in) > 512 {
			return
		}
		actions := slices.Concat(modelActions, otherActions)
		e := New(Options{})
		for i := 0; i < len(in); {
			if c := int(in[i]); c < 0x20 && c < len(actions) {
				e.Do(actions[c])
				i++
				continue
			}
			n := min(len(in), i+1+int(in[i]&7))
			if in[i] == '~' {
				e.Handle(key.Paste{Text: strings.Repeat(string(in[i:n]), 300)})
			} else {
				e.Handle(key.Press{Key: "x", Text: string(in[i:n])})
			}
			i = n
		}
		checkView(t, e, int(width)%40+1, int(height)%10+1)
		if text := e.Text(); !utf8.ValidString(text) || clean(text) != text {
			t.Errorf("text %q", text)
		}
		for e.Do(key.Undo) {
		}
		if !e.Empty() {
			t.Errorf("undone to %q", e.Text())
		}
	})
}

package editor

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/mode/tui/key"
	"github.com/burin-dev/burin/internal/pacetest"
)

// do handles keys by name, and text in quotes: do(e, `"abc"`, "left", "ctrl+k").
func do(t *testing.T, e *Editor, keys ...string) {
	t.Helper()
	for _, k := range keys {
		if text, ok := strings.CutPrefix(k, `"`); ok {
			for _, r := range strings.TrimSuffix(text, `"`) {
				e.Handle(key.Press{Key: key.Key(r), Text: string(r)})
			}
			continue
		}
		parsed, err := key.Parse(k)
		if err != nil {
			t.Fatal(err)
		}
		e.Handle(key.Press{Key: parsed})
	}
}

// shown is the text with "|" at the cursor, folded pastes by their labels.
func shown(e *Editor) string {
	var b strings.Builder
	for i := range e.doc.lines() {
		s := e.doc.at(i).s
		if i > 0 {
			b.WriteByte('\n')
		}
		for at := 0; ; {
			if e.cur == (pos{i, at}) {
				b.WriteByte('|')
			}
			if at == len(s) {
				break
			}
			n := clusterLen(s[at:])
			if id, ok := foldID(s[at : at+n]); ok {
				b.WriteString(e.folds.label(id))
			} else {
				b.Write(s[at : at+n])
			}
			at += n
		}
	}
	return b.String()
}

func TestKeys(t *testing.T) {
	const family = "👨‍👩‍👧"
	for _, tt := range []struct {
		name string
		keys []string
		want string
	}{
		{"typing", []string{`"hello"`}, "hello|"},
		{"in the middle", []string{`"helo"`, "left", `"l"`}, "hel" + "l|o"},
		{"new lines", []string{`"a"`, "shift+enter", `"b"`, "alt+enter", "ctrl+j", `"c"`}, "a\nb\n\nc|"},
		{"backslash and enter", []string{`"a\"`, "enter", `"b"`}, "a\nb|"},
		{"join lines", []string{`"a"`, "ctrl+j", `"b"`, "home", "backspace"}, "a|b"},
		{"join lines from above", []string{`"a"`, "ctrl+j", `"b"`, "up", "end", "delete"}, "a|b"},
		{"over a line end", []string{`"a"`, "ctrl+j", `"b"`, "left", "left"}, "a|\nb"},
		{"grapheme left", []string{`"a` + family + `b"`, "left", "left"}, "a|" + family + "b"},
		{"grapheme erased", []string{`"a` + family + `b"`, "left", "backspace"}, "a|b"},
		{"combining joins", []string{`"ae"`, "\"\u0301\"", "backspace"}, "a|"},
		{"word left", []string{`"one two-three"`, "alt+left", "alt+b", "ctrl+left"}, "one |two-three"},
		{"word right", []string{`"one two"`, "home", "alt+f", "ctrl+right"}, "one two|"},
		{"word left over lines", []string{`"one"`, "ctrl+j", `"  "`, "alt+left"}, "|one\n  "},
		{"kill word", []string{`"one two"`, "ctrl+w"}, "one |"},
		{"kill word after", []string{`"one two"`, "home", "alt+d"}, "| two"},
		{"kill to end, then the line end", []string{`"one"`, "ctrl+j", `"two"`, "up", "home", "ctrl+k", "ctrl+k"}, "|two"},
		{"kill to start, then the line end", []string{`"one"`, "ctrl+j", `"two"`, "ctrl+u", "ctrl+u"}, "one|"},
		{"yank", []string{`"one two"`, "ctrl+w", "home", "ctrl+y"}, "two|one "},
		{"kills in a row are one", []string{`"one two"`, "ctrl+w", "ctrl+w", "ctrl+y"}, "one two|"},
		{"kills in both directions", []string{`"one two"`, "left", "ctrl+k", "ctrl+u", "ctrl+y"}, "one two|"},
		{"a motion parts kills", []string{`"one two"`, "ctrl+w", "left", "right", "ctrl+w", "ctrl+y"}, "one |"},
		{"yank-pop", []string{`"one two"`, "ctrl+w", "left", "right", "ctrl+w", "ctrl+y", "alt+y"}, "two|"},
		{"yank-pop goes round", []string{`"one two"`, "ctrl+w", "left", "right", "ctrl+w", "ctrl+y", "alt+y", "alt+y"}, "one |"},
		{"yank-pop needs a yank", []string{`"one two"`, "ctrl+w", "left", "right", "ctrl+w", "ctrl+y", `"x"`, "alt+y"}, "one x|"},
		{"undo a word at a time", []string{`"one two"`, "ctrl+-"}, "one |"},
		{"undo twice", []string{`"one two"`, "ctrl+-", "ctrl+-"}, "|"},
		{"redo", []string{`"one two"`, "ctrl+-", "ctrl+-", "alt+-"}, "one |"},
		{"a change ends redo", []string{`"one two"`, "ctrl+-", `"x"`, "alt+-"}, "one x|"},
		{"undo erased letters at once", []string{`"one"`, "backspace", "backspace", "ctrl+-"}, "one|"},
		{"undo deleted letters at once", []string{`"one"`, "home", "delete", "delete", "ctrl+-"}, "|one"},
		{"undo a kill", []string{`"one two"`, "ctrl+u", "ctrl+-"}, "one two|"},
		{"line start and end", []string{`"ab"`, "ctrl+j", `"cd"`, "ctrl+a", `"x"`, "ctrl+e", `"y"`}, "ab\nxcdy|"},
		{"text start and end", []string{`"ab"`, "ctrl+j", `"cd"`, "ctrl+home", `"x"`, "ctrl+end", `"y"`}, "xab\ncdy|"},
		{"column is remembered", []string{`"abcd"`, "ctrl+j", `"e"`, "ctrl+j", `"fghi"`, "up", "up"}, "abcd|\ne\nfghi"},
		{"up from the first row", []string{`"abcd"`, "left", "up"}, "|abcd"},
		{"down from the last row", []string{`"abcd"`, "home", "right", "down"}, "abcd|"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := New(Options{})
			do(t, e, tt.keys...)
			if got := shown(e); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// What the editor leaves to its caller.
func TestNotHandled(t *testing.T) {
	e := New(Options{})
	for _, k := range []key.Key{"ctrl+d", "esc", "ctrl+c", "f5", "ctrl+p", "enter", "up", "down", "ctrl+-"} {
		if e.Handle(key.Press{Key: k}) {
			t.Errorf("an empty editor takes %s", k)
		}
	}
	do(t, e, `"ab"`, "left")
	if !e.Handle(key.Press{Key: "ctrl+d"}) || e.Text() != "a" {
		t.Errorf("ctrl+d deletes while there is text: %q", e.Text())
	}
	if e.Handle(key.Focus{In: true}) {
		t.Error("a focus event is the editor's")
	}
}

func TestSubmit(t *testing.T) {
	var got []string
	e := New(Options{OnSubmit: func(s string) { got = append(got, s) }})
	do(t, e, `" "`, "enter")
	if len(got) != 0 || e.Text() != " " {
		t.Errorf("white space was submitted: %q, left %q", got, e.Text())
	}
	big := strings.Repeat("line\n", 50)
	e.Handle(key.Paste{Text: big})
	do(t, e, `"end"`, "enter")
	if diff := cmp.Diff([]string{" " + big + "end"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !e.Empty() || e.Do(key.Undo) {
		t.Errorf("after submit: %q", e.Text())
	}
}

func TestPasteFolds(t *testing.T) {
	lines := strings.TrimSuffix(strings.Repeat("x\n", 11), "\n")
	for _, tt := range []struct{ name, paste, want string }{
		{"short", "a\nb", "a\nb|"},
		{"ten lines", strings.TrimSuffix(strings.Repeat("x\n", 10), "\n"), strings.TrimSuffix(strings.Repeat("x\n", 10), "\n") + "|"},
		{"eleven lines", lines, "[paste #1 +11 lines]|"},
		{"a thousand characters", strings.Repeat("é", 1000), strings.Repeat("é", 1000) + "|"},
		{"more", strings.Repeat("é", 1001), "[paste #1 1001 chars]|"},
		{"controls and marks", "a\x1b\x00\r\nb\uFDD01\uFDD1", "a\nb\uFFFD1\uFFFD|"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := New(Options{})
			if err := e.Paste(tt.paste); err != nil {
				t.Fatal(err)
			}
			if got := shown(e); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}

	e := New(Options{})
	e.Handle(key.Paste{Text: lines})
	e.Handle(key.Paste{Text: lines + "y"})
	do(t, e, "left", "backspace")
	if got := shown(e); got != "|[paste #2 +11 lines]" {
		t.Errorf("a fold is one character: %q", got)
	}
	do(t, e, "ctrl+k", "ctrl+y", `"z"`)
	if got := e.Text(); got != lines+"yz" {
		t.Errorf("killed and yanked: %q", got)
	}
	do(t, e, "ctrl+-", "ctrl+-", "ctrl+-", "ctrl+-")
	if got := e.Text(); got != lines+lines+"y" {
		t.Errorf("undone: %q", got)
	}
	// What is in the kill ring outlives the prompt it came from.
	do(t, e, "ctrl+e", "ctrl+u", `"x"`)
	if _, ok := e.Submit(); !ok {
		t.Fatal("not submitted")
	}
	do(t, e, "ctrl+y")
	if got := e.Text(); got != lines+lines+"y" {
		t.Errorf("yanked into the next prompt: %q", got)
	}
}

func TestPasteTooLarge(t *testing.T) {
	pacetest.Costly(t)
	var problems []string
	e := New(Options{OnProblem: func(err error) { problems = append(problems, err.Error()) }})
	e.Handle(key.Paste{Text: "some", Dropped: 7})
	if e.Text() != "some" || len(problems) != 1 || !strings.Contains(problems[0], "7 bytes") {
		t.Errorf("text %q, problems %q", e.Text(), problems)
	}
	half := strings.Repeat("x", MaxText/2)
	if err := e.Paste(half); err != nil {
		t.Fatal(err)
	}
	if err := e.Paste(half); !errors.Is(err, ErrFull) {
		t.Errorf("got %v, want %v", err, ErrFull)
	}
	if n := len(e.Text()); n != len(half)+4 {
		t.Errorf("%d bytes, want %d", n, len(half)+4)
	}
}

func TestHistory(t *testing.T) {
	entries := []string{"fix the test", "write docs", "fix the\nbuild"} // the latest last
	o := Options{History: func(prefix string, back int) (string, bool) {
		for i := len(entries) - 1; i >= 0; i-- {
			if strings.HasPrefix(entries[i], prefix) {
				if back--; back == 0 {
					return entries[i], true
				}
			}
		}
		return "", false
	}}
	for _, tt := range []struct {
		name string
		keys []string
		want string
	}{
		{"latest", []string{"up"}, "fix the\nbuild|"},
		{"through a long entry", []string{"up", "up", "up"}, "write docs|"},
		{"oldest", []string{"up", "up", "up", "up", "up", "up"}, "|fix the test"},
		{"and back", []string{"up", "up", "up", "down"}, "fix the\nbuild|"},
		{"back to the draft", []string{`"fi"`, "left", "up", "down"}, "f|i"},
		{"by prefix", []string{`"w"`, "up"}, "write docs|"},
		{"no such prefix", []string{`"zz"`, "up"}, "|zz"},
		{"an entry is changed", []string{`"w"`, "up", `"!"`, "down"}, "write docs!|"},
		{"undo brings the draft", []string{`"f"`, "up", "up", "up", "ctrl+-"}, "f|"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := New(o)
			do(t, e, tt.keys...)
			if got := shown(e); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestHandoff(t *testing.T) {
	e := New(Options{})
	e.Handle(key.Paste{Text: strings.Repeat("x\n", 20)})
	before := shown(e)
	if err := e.Return(e.Handoff()); err != nil || shown(e) != before {
		t.Errorf("unchanged text: %v, %q", err, shown(e))
	}
	if err := e.Return("new\r\ntext\x07\n"); err != nil || shown(e) != "new\ntext|" {
		t.Errorf("changed text: %v, %q", err, shown(e))
	}
	e.Do(key.Undo)
	if shown(e) != before {
		t.Errorf("undone: %q, want %q", shown(e), before)
	}
}

// files completes after "@" and, asked, the last word.
type files struct {
	names []string
	later bool
	asked []Query
}

func (f *files) Complete(q Query) (Completion, bool) {
	f.asked = append(f.asked, q)
	return f.answer(q), !f.later
}

func (f *files) answer(q Query) Completion {
	at := strings.LastIndexByte(q.Line, '@')
	if q.Asked {
		at = strings.LastIndexByte(q.Line, ' ')
	} else if at < 0 {
		return Completion{}
	}
	c := Completion{Start: at + 1}
	for _, n := range f.names {
		if strings.HasPrefix(n, q.Line[at+1:]) {
			c.Items = append(c.Items, Item{Label: n, More: strings.HasSuffix(n, "/")})
		}
	}
	return c
}

func TestCompletion(t *testing.T) {
	names := []string{"main.go", "make", "docs/", "docs/a.md", "docs/b.md"}
	for _, tt := range []struct {
		name  string
		keys  []string
		want  string
		items int
	}{
		{"offered", []string{`"see @ma"`}, "see @ma|", 2},
		{"accepted", []string{`"see @ma"`, "enter"}, "see @main.go|", 0},
		{"the second", []string{`"see @ma"`, "down", "tab"}, "see @make|", 0},
		{"goes round", []string{`"see @ma"`, "up", "tab"}, "see @make|", 0},
		{"dismissed", []string{`"see @ma"`, "esc"}, "see @ma|", 0},
		{"narrowed", []string{`"see @mai"`}, "see @mai|", 1},
		{"widened", []string{`"see @mai"`, "backspace"}, "see @ma|", 2},
		{"left", []string{`"see @ma"`, "left"}, "see @m|a", 0},
		{"into a folder", []string{`"@do"`, "enter"}, "@docs/|", 3},
		{"asked", []string{`"see mak"`, "tab"}, "see make|", 0},
		{"asked, several", []string{`"see ma"`, "tab"}, "see ma|", 2},
		{"empty", []string{"tab"}, "|", 0},
		{"erased", []string{`"@m"`, "backspace", "backspace"}, "|", 0},
		{"undo", []string{`"@ma"`, "enter", "ctrl+-"}, "@ma|", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := &files{names: names}
			e := New(Options{Completer: f})
			do(t, e, tt.keys...)
			p, _ := e.Popup()
			if got := shown(e); got != tt.want || len(p.Items) != tt.items {
				t.Errorf("got %q with %d items, want %q with %d", got, len(p.Items), tt.want, tt.items)
			}
		})
	}
}

func TestCompletionLater(t *testing.T) {
	f := &files{names: []string{"main.go", "make"}, later: true}
	e := New(Options{Completer: f})
	do(t, e, `"@ma"`)
	last := len(f.asked) - 1
	if e.Completed(f.asked[last-1].Generation, f.answer(f.asked[last-1])) {
		t.Error("an answer to an older query is taken")
	}
	if !e.Completed(f.asked[last].Generation, f.answer(f.asked[last])) {
		t.Fatal("the answer is dropped")
	}
	do(t, e, `"k"`) // the list stays until there is a new one, and still fits
	do(t, e, "down", "enter")
	if got := shown(e); got != "@make|" {
		t.Errorf("got %q", got)
	}
	for _, change := range []func(){
		func() { do(t, e, "left") },
		func() { do(t, e, "ctrl+-") },
		func() { e.Handle(key.Paste{Text: "x"}) },
		func() { _ = e.SetText("@m") },
		func() { do(t, e, "esc") },
	} {
		_ = e.SetText("")
		do(t, e, `"@m"`)
		q := f.asked[len(f.asked)-1]
		if _, open := e.Popup(); open {
			t.Fatal("a list without an answer")
		}
		change()
		if stale := e.Completed(q.Generation, f.answer(q)); stale && shown(e) != "@m|" {
			t.Errorf("%q: a stale answer is taken", shown(e))
		}
	}
}

func TestCompletionSeesFolds(t *testing.T) {
	f := &files{}
	e := New(Options{Completer: f})
	e.Handle(key.Paste{Text: strings.Repeat("x\n", 20)})
	do(t, e, `"@"`)
	q := f.asked[0]
	if !strings.HasPrefix(q.Line, fold) || !strings.HasSuffix(q.Line, "@") || !q.First {
		t.Errorf("query %+v", q)
	}
	e.Completed(q.Generation, Completion{Start: len(q.Line), Items: []Item{{Label: "file"}}})
	e.Accept()
	if got := shown(e); got != "[paste #1 +20 lines]@file|" {
		t.Errorf("got %q", got)
	}
}

// What is written out is not completed to itself, nor to something longer.
func TestWritten(t *testing.T) {
	for text, want := range map[string]bool{"src": true, "src/": true, "src/a.go": true, "sr": false, "rc": false} {
		f := &files{}
		e := New(Options{Completer: f})
		if e.Written() {
			t.Errorf("%q: written before anything is proposed", text)
		}
		do(t, e, `"@`+text+`"`)
		q := f.asked[len(f.asked)-1]
		e.Completed(q.Generation, Completion{Start: 1, Items: []Item{{Label: "src-old/"}, {Label: "src", Insert: "src/"}, {Label: "src/a.go "}}})
		if got := e.Written(); got != want {
			t.Errorf("%q: written is %v", text, got)
		}
		if e.Select(1); e.Written() {
			t.Errorf("%q: written although another one is chosen", text)
		}
	}
}

func TestInsertAndCursor(t *testing.T) {
	e := New(Options{})
	big := strings.Repeat("x\n", 20)
	if err := e.Paste(big); err != nil {
		t.Fatal(err)
	}
	if err := e.Insert("é\r\nmore\x1b text"); err != nil {
		t.Fatal(err)
	}
	do(t, e, "alt+b")
	if got, want := e.Text()[:e.Cursor()], big+"é\nmore "; got != want {
		t.Errorf("before the cursor: %q, want %q", got, want)
	}
	if got := e.Line(); got != "more text" {
		t.Errorf("line %q", got)
	}
	do(t, e, "up")
	if got := e.Line(); got != big+"é" {
		t.Errorf("line above %q", got)
	}
}

func TestFullEditorTakesNoMore(t *testing.T) {
	var problems int
	e := New(Options{OnProblem: func(err error) {
		if errors.Is(err, ErrFull) {
			problems++
		}
	}})
	if err := e.Paste(strings.Repeat("x", MaxText-10)); err != nil {
		t.Fatal(err)
	}
	before := shown(e)
	do(t, e, `"ab"`)
	for _, err := range []error{e.Insert("abcd"), e.SetText("0123456789a")} {
		if !errors.Is(err, ErrFull) {
			t.Errorf("got %v, want %v", err, ErrFull)
		}
	}
	do(t, e, "ctrl+w", "ctrl+y", "ctrl+y", `"c"`, "ctrl+j")
	if problems == 0 || e.doc.size+e.folds.size > MaxText {
		t.Errorf("%d bytes, %d problems; began with %q", e.doc.size+e.folds.size, problems, before)
	}
}

func TestKillRingIsBounded(t *testing.T) {
	var r ring
	for i := range maxKills + 5 {
		r.push(fmt.Sprint(i), false, false)
	}
	if len(r.entries) != maxKills || r.entries[0] != "5" {
		t.Errorf("%d entries, the oldest %q", len(r.entries), r.entries[0])
	}
	r.push(strings.Repeat("x", maxKillBytes+1), false, false)
	if len(r.entries) != 1 {
		t.Errorf("%d entries beside one that is too large", len(r.entries)-1)
	}
}

func TestUndoIsBounded(t *testing.T) {
	pacetest.Costly(t)
	e := New(Options{})
	for i := range maxUndo + 50 {
		if err := e.SetText(fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
	}
	n := 0
	for e.Do(key.Undo) {
		n++
	}
	if n != maxUndo || e.Text() != "49" {
		t.Errorf("%d steps back to %q, want %d to 49", n, e.Text(), maxUndo)
	}
	huge := strings.Repeat("x", maxUndoBytes)
	for range 3 {
		if err := e.SetText(huge); err != nil {
			t.Fatal(err)
		}
	}
	if !e.Do(key.Undo) {
		t.Error("the last change cannot be undone")
	}
}

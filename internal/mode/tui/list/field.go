package list

import (
	"strings"
	"unicode/utf8"

	"github.com/burin-dev/burin/internal/mode/tui/editor"
	"github.com/burin-dev/burin/internal/mode/tui/key"
	"github.com/burin-dev/burin/internal/prose"
)

// maxQuery is how many bytes of a search are taken; what goes beyond is not.
const maxQuery = 1000

// field is one line that people write in.
type field struct {
	ed  *editor.Editor
	max int
}

func newField(limit int) *field { return &field{ed: editor.New(editor.Options{}), max: limit} }

func (f *field) text() string { return f.ed.Text() }

// set replaces the text, cut at the limit.
func (f *field) set(s string) {
	s = prose.Head(unbroken(s), f.max)
	// One line below the limit of a field is far below that of an editor.
	_ = f.ed.SetText(s)
}

// handle does what an event means in one line; false where it means nothing.
func (f *field) handle(b *key.Bindings, ev key.Event) bool {
	switch ev := ev.(type) {
	case key.Press:
		if a, ok := b.Lookup(key.Editor, ev.Key); ok {
			switch a {
			case key.Submit, key.NewLine, key.Complete, key.CursorUp, key.CursorDown, key.EditorPageUp, key.EditorPageDown:
				return false
			}
			return f.ed.Do(a)
		}
		return ev.Text != "" && f.room(len(ev.Text)) && f.ed.Handle(ev)
	case key.Paste:
		s := strings.TrimRight(unbroken(ev.Text), " ")
		return s != "" && f.room(len(s)) && f.ed.Insert(s) == nil
	}
	return false
}

func (f *field) room(n int) bool { return len(f.ed.Text())+n <= f.max }

// view is the part of the text around the cursor, and the cursor's column in it.
func (f *field) view(width int) (string, int) {
	lines, row, col := f.ed.View(max(width, 3), 1)
	return lines[row], col
}

// dots is view for a secret: one dot for each character.
func (f *field) dots(dot string, width int) (string, int) {
	text := f.ed.Text()
	n, at := utf8.RuneCountInString(text), utf8.RuneCountInString(text[:f.ed.Cursor()])
	from := max(0, at-width+1)
	return strings.Repeat(dot, min(n-from, width)), at - from
}

// unbroken makes line ends and tabs spaces: a pasted path or key keeps its parts apart.
func unbroken(s string) string {
	return strings.NewReplacer("\r\n", " ", "\n", " ", "\r", " ", "\t", " ").Replace(s)
}

package list

import (
	"strings"

	"github.com/burin-dev/burin/internal/mode/tui/key"
	"github.com/burin-dev/burin/internal/mode/tui/pane"
	"github.com/burin-dev/burin/internal/mode/tui/screen"
	"github.com/burin-dev/burin/internal/mode/tui/theme"
	"github.com/burin-dev/burin/internal/mode/tui/theme/styled"
	"github.com/burin-dev/burin/internal/prose"
)

// MaxInput is how many bytes an [Input] takes. What would go beyond is refused as a
// whole, and said.
const MaxInput = 64 << 10

// InputOptions of an [Input].
type InputOptions struct {
	Title string
	// Text is what stands there to begin with.
	Text string
	// Placeholder is shown while there is no text.
	Placeholder string
	// Hint is a line below: what the text is for, and where to get it.
	Hint string
	// Secret shows a dot for each character. The text is held in memory, and given
	// to Validate and OnDone; nothing else sees it.
	Secret bool
	// Validate says in one line what is wrong with the text; nil where nothing is. It
	// is asked at Enter, and after each change from the first refusal on.
	Validate func(string) error

	OnDone   func(text string) // Enter, with a text that is right
	OnCancel func()            // Esc, Ctrl+C
}

// Input is a pane that asks for one line.
type Input struct {
	env     *pane.Env
	o       InputOptions
	field   *field
	problem string
	refused bool // once: from then on it says at each change what is wrong
}

var _ pane.Pane = (*Input)(nil)

// NewInput makes an input.
func NewInput(env *pane.Env, o InputOptions) *Input {
	in := &Input{env: env, o: o, field: newField(MaxInput)}
	in.field.set(o.Text)
	return in
}

// SetProblem says in one line what was wrong with the text that was given; the next
// change takes it away. For what only shows later, as a key that a vendor refuses.
func (in *Input) SetProblem(s string) { in.problem = s }

// Handle is [pane.Pane]'s.
func (in *Input) Handle(ev key.Event) {
	if p, ok := ev.(key.Press); ok {
		a, ok := in.env.Keys.Lookup(key.Select, p.Key)
		if e, is := in.env.Keys.Lookup(key.Editor, p.Key); is && e == key.Submit {
			a, ok = key.SelectConfirm, true
		}
		switch {
		case ok && a == key.SelectConfirm:
			in.done()
			return
		case ok && a == key.SelectCancel:
			if in.o.OnCancel != nil {
				in.o.OnCancel()
			}
			return
		}
	}
	if p, ok := ev.(key.Paste); ok && (p.Dropped > 0 || !in.field.room(len(p.Text))) {
		in.problem = "Too long: at most 64 KB fit here."
		return
	}
	before := in.field.text()
	if in.field.handle(in.env.Keys, ev); in.field.text() == before {
		return
	}
	in.problem = ""
	if in.refused {
		in.check()
	}
}

// check reports whether the text is right.
func (in *Input) check() bool {
	if in.o.Validate == nil {
		return true
	}
	if err := in.o.Validate(in.field.text()); err != nil {
		in.problem, in.refused = err.Error(), true
		return false
	}
	return true
}

func (in *Input) done() {
	if in.check() && in.o.OnDone != nil {
		in.o.OnDone(in.field.text())
	}
}

// Draw is [pane.Pane]'s. The line that is written in comes first where there is
// little room, then what is wrong, the title and the hint.
func (in *Input) Draw(width, height int) ([]string, screen.Cursor) {
	width, height = max(1, width), max(1, height)
	st, sign := in.env.Styles, in.env.Styles.Symbols()
	wrap := func(s string, k theme.Look, limit int) []string {
		var out []string
		for i, l := range styled.Wrap(nil, styled.Line{{Text: prose.Inline(s), Look: k}}, width, nil, nil) {
			if i == limit || s == "" {
				break
			}
			out = append(out, styled.Render(st, l))
		}
		return out
	}
	problem := wrap(in.problem, theme.Look{Fg: theme.Error}, min(3, height-1))
	left := height - 1 - len(problem)
	title := wrap(in.o.Title, theme.Look{Fg: theme.Accent, Mod: theme.Bold}, min(2, left))
	hint := wrap(in.o.Hint, theme.Look{Fg: theme.Muted}, min(3, left-len(title)))
	line, x := in.line(width, sign)
	out := append(title, styled.Render(st, styled.Truncate(line, width, sign.Ellipsis)))
	cursor := screen.Cursor{X: min(x, width-1), Y: len(out) - 1}
	return append(append(out, problem...), hint...), cursor
}

// line is what was written, and the column of the cursor.
func (in *Input) line(width int, sign theme.Symbols) (styled.Line, int) {
	const prompt = "> "
	room := max(1, width-len(prompt)-1)
	look := theme.Look{Fg: theme.Text}
	var text string
	var x int
	switch {
	case in.field.ed.Empty():
		text, look = prose.Inline(in.o.Placeholder), theme.Look{Fg: theme.Dim}
	case in.o.Secret:
		dot := sign.Bullets[0]
		if styled.Width(dot) != 1 {
			dot = "*"
		}
		text, x = in.field.dots(dot, room)
	default:
		text, x = in.field.view(room)
	}
	return styled.Line{{Text: prompt, Look: theme.Look{Fg: theme.Accent}}, {Text: strings.TrimRight(text, "\n"), Look: look}}, len(prompt) + x
}

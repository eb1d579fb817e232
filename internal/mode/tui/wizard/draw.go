package wizard

import (
	"fmt"
	"strings"

	"github.com/burin-dev/burin/internal/mode/tui/screen"
	"github.com/burin-dev/burin/internal/mode/tui/theme"
	"github.com/burin-dev/burin/internal/mode/tui/theme/styled"
	"github.com/burin-dev/burin/internal/prose"
)

// Draw is [pane.Pane]'s. The step comes first where there is little room, then the name
// of it, what happened, and the keys.
func (w *Wizard) Draw(width, height int) ([]string, screen.Cursor) {
	width, height = max(1, width), max(1, height)
	var head, foot []string
	if height >= 3 {
		head = append(head, w.row(w.title(), width))
	}
	if height >= 6 {
		head = append(head, w.notes(width)...)
		foot = append(foot, w.row(styled.Of(w.keys(), theme.Dim), width))
	}
	room := height - len(head) - len(foot)
	cursor := screen.Cursor{Hidden: true}
	var body []string
	if w.body != nil {
		body, cursor = w.body.Draw(width, room)
	} else if height < 6 {
		body = w.notes(width) // what is waited for is all there is
	}
	body = body[:min(len(body), room)]
	if cursor.Y >= len(body) {
		cursor.Hidden = true
	}
	cursor.Y += len(head)
	w.head = len(head)
	if w.task != nil && !w.task.open {
		cursor.Hidden = true
	}
	return append(append(head, body...), foot...), cursor
}

func (w *Wizard) row(l styled.Line, width int) string {
	return styled.Render(w.env.Styles, styled.Truncate(l, width, w.env.Styles.Symbols().Ellipsis))
}

// title says where one is.
func (w *Wizard) title() styled.Line {
	if w.o.Quick {
		return styled.Line{
			{Text: "Welcome to burin", Look: theme.Look{Fg: theme.Accent, Mod: theme.Bold}},
			{Text: "  " + w.o.Reason, Look: theme.Look{Fg: theme.Muted}},
		}
	}
	at, all := 0, 0
	for s := stepQuick; s <= stepEnd; s++ {
		if w.applies(s) {
			if all++; s <= w.step {
				at++
			}
		}
	}
	return styled.Line{
		{Text: "Set up burin", Look: theme.Look{Fg: theme.Accent, Mod: theme.Bold}},
		{Text: fmt.Sprintf("  %d of %d  ", at, all), Look: theme.Look{Fg: theme.Muted}},
		{Text: w.step.name(), Look: theme.Look{Fg: theme.Text}},
	}
}

// notes are what runs, or how the last action went, in at most two rows.
func (w *Wizard) notes(width int) []string {
	sign := w.env.Styles.Symbols()
	text, token, mark := w.note, theme.Success, sign.Done
	switch {
	case w.task == nil && w.failed:
		token, mark = theme.Error, sign.Failed
	case w.task == nil:
	case w.stopped:
		text, token, mark = "Stopping"+sign.Ellipsis, theme.Muted, sign.Running
	default:
		text, token, mark = w.task.what+sign.Ellipsis, theme.Muted, sign.Running
	}
	if text == "" {
		return nil
	}
	return wrap(w.env.Styles, styled.Of(prose.Inline(text), token), width, 2, styled.Of(mark+" ", token))
}

// keys are the keys that work in every step.
func (w *Wizard) keys() string {
	dot := " " + w.env.Styles.Symbols().Dot + " "
	switch {
	case w.task != nil && w.task.writes:
		return "Esc stops"
	case w.step == stepEnd:
		return "Enter starts" + dot + "Esc back"
	case w.o.Quick:
		return "Ctrl+C leaves the setup"
	case w.before() < 0:
		return "Tab skips" + dot + "Ctrl+C ends"
	}
	return "Tab skips" + dot + "Esc back" + dot + "Ctrl+C ends"
}

// wrap breaks a line into at most limit rows, of which the last tells by an ellipsis
// that there are more; the first begins with a mark.
func wrap(st *theme.Styles, l styled.Line, width, limit int, mark styled.Line) []string {
	rest := styled.Of(strings.Repeat(" ", mark.Width()), theme.Plain)
	lines := styled.Wrap(nil, l, width, mark, rest)
	var out []string
	for i, l := range lines {
		if i == limit {
			last := append(lines[i-1], l...) // longer than the width: it is cut
			out[i-1] = styled.Render(st, styled.Truncate(last, width, st.Symbols().Ellipsis))
			break
		}
		out = append(out, styled.Render(st, l))
	}
	return out
}

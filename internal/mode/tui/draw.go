package tui

import (
	"fmt"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/mode/tui/card"
	"github.com/burin-dev/burin/internal/mode/tui/screen"
	"github.com/burin-dev/burin/internal/mode/tui/theme"
	"github.com/burin-dev/burin/internal/mode/tui/theme/styled"
)

const (
	// maxPromptPart is the part of the screen that a long prompt may have.
	maxPromptPart = 2 // a half
	// least is what is left to the conversation, and to the status, by a pane that could
	// fill the screen.
	least = 3
	// lowest is the height below which the prompt has no borders.
	lowest = 5
)

// compose gives the live part: what is not finished, panels, and the prompt or what
// stands in its place.
func (a *app) compose(width, height int, now time.Time) ([]string, screen.Cursor) {
	rows := a.talk.rows(a.rows[:0])
	if len(rows) > 0 || a.talk.begun {
		rows = append(rows, "")
	}
	rows = a.panels(rows, width, now)
	var below []string
	var cursor screen.Cursor
	if top := a.top(); top != nil {
		below, cursor = top.Draw(width, max(height-least, 1))
		below = append(below, a.statusRows(width, now)...)
	} else {
		below, cursor = a.promptRows(width, height, now)
	}
	cursor.Y += len(rows)
	rows = append(rows, below...)
	a.rows = rows
	return rows, cursor
}

// promptRows are the prompt with its borders, what is proposed, and the status. What is
// written comes first: where there is little room, the rest gives way, so that above it
// stands at least the row that says how much is hidden.
func (a *app) promptRows(width, height int, now time.Time) ([]string, screen.Cursor) {
	const mark = 2 // cells before the text
	status := a.statusRows(width, now)
	borders := 2
	if a.show.screenReader || height < lowest {
		borders = 0
	}
	room := max(1, height-1-borders-len(status))
	proposed := 0
	if p, open := a.editor.Popup(); open {
		proposed = min(a.show.popupRows, len(p.Items))
	}
	text, y, x := a.editor.View(max(width-mark-1, 3), max(1, min(height/maxPromptPart, room-min(proposed, 1))))
	rows := make([]string, 0, len(text)+4)
	if borders > 0 {
		rows = append(rows, a.border(width, a.promptLabel()))
	}
	cursor := screen.Cursor{X: x + mark, Y: y + len(rows)}
	sign := a.line(styled.Of(a.promptSign()+" ", a.borderToken()))
	for i, t := range text {
		if i == 0 {
			rows = append(rows, sign+t)
		} else {
			rows = append(rows, strings.Repeat(" ", mark)+t)
		}
	}
	proposed = min(proposed, room-len(text))
	if borders > 0 {
		rows = append(rows, a.border(width, a.popupLabel(proposed)))
	}
	rows = append(rows, a.popupRows(width, proposed)...)
	return append(rows, status...), cursor
}

// border is the line above or below the prompt. Its colour says how hard the model
// thinks, or what the prompt is for.
func (a *app) border(width int, label string) string {
	rule := a.env.Styles.Symbols().Rule
	token := a.borderToken()
	if label == "" || styled.Width(label)+8 > width {
		return a.line(styled.Of(strings.Repeat(rule, width), token))
	}
	right := strings.Repeat(rule, 2)
	left := strings.Repeat(rule, width-styled.Width(label)-4)
	return a.line(styled.Line{
		{Text: left, Look: theme.Look{Fg: token}},
		{Text: " " + label + " ", Look: theme.Look{Fg: theme.Muted}},
		{Text: right, Look: theme.Look{Fg: token}},
	})
}

// line writes a line for the terminal.
func (a *app) line(l styled.Line) string { return styled.Render(a.env.Styles, l) }

// cut writes as much of a line as there is room for.
func (a *app) cut(l styled.Line, width int) string {
	return a.line(styled.Truncate(l, width, a.env.Styles.Symbols().Ellipsis))
}

// dot stands between facts.
func (a *app) dot() string { return " " + a.env.Styles.Symbols().Dot + " " }

// hidden stands above the rows that there is room for.
func (a *app) hidden(n int) string {
	return fmt.Sprintf("%s %s above", a.env.Styles.Symbols().Ellipsis, counted(n, "more line", "more lines"))
}

// popupLabel stands above what is proposed where not all of it is shown: which one of how
// many is selected.
func (a *app) popupLabel(shown int) string {
	p, ok := a.editor.Popup()
	if !ok || len(p.Items) <= shown {
		return ""
	}
	return fmt.Sprintf("%d of %d", p.Selected+1, len(p.Items))
}

// popupRows are what is proposed to go on with, as many rows as there are to be.
func (a *app) popupRows(width, most int) []string {
	p, ok := a.editor.Popup()
	if !ok || most <= 0 {
		return nil
	}
	if a.show.screenReader { // what is written anew is read out: the one that is chosen
		it := p.Items[p.Selected]
		words := fmt.Sprintf("%d of %d: %s  %s", p.Selected+1, len(p.Items), styled.Inline(it.Label), styled.Inline(it.Detail))
		return []string{a.cut(styled.Of(words, theme.Text), width)}
	}
	from := min(max(0, p.Selected-most/2), len(p.Items)-most)
	labels := 0
	for _, it := range p.Items[from : from+most] {
		labels = max(labels, styled.Width(styled.Inline(it.Label)))
	}
	labels = min(labels, max(width/2, 8))
	var rows []string
	arrow := a.env.Styles.Symbols().Arrow + " "
	for i, it := range p.Items[from : from+most] {
		label := theme.Look{Fg: theme.Text}
		detail := theme.Look{Fg: theme.Muted}
		mark := strings.Repeat(" ", styled.Width(arrow))
		if from+i == p.Selected {
			label.Fg, label.Mod = theme.Accent, theme.Bold
			mark = arrow
		}
		l := styled.Truncate(styled.Line{{Text: styled.Inline(it.Label), Look: label}}, labels, a.env.Styles.Symbols().Ellipsis)
		row := append(styled.Line{{Text: mark, Look: label}}, styled.Pad(l, labels, label)...)
		row = append(row, styled.Span{Text: "  " + styled.Inline(it.Detail), Look: detail})
		rows = append(rows, a.cut(row, width))
	}
	return rows
}

// greeting is what stands first in the scrollback.
func (a *app) greeting(v card.View) []string {
	name := styled.Line{
		{Text: "burin", Look: theme.Look{Fg: theme.Accent, Mod: theme.Bold}},
		{Text: " " + a.o.Version, Look: theme.Look{Fg: theme.Dim}},
	}
	where := styled.Of(a.homePath(a.o.Dir), theme.Muted)
	end := v.Styles.Symbols().Ellipsis
	return []string{
		styled.Render(v.Styles, styled.Truncate(name, v.Width, end)),
		styled.Render(v.Styles, styled.Truncate(where, v.Width, end)),
	}
}

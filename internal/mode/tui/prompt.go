package tui

import (
	"fmt"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/mode/tui/screen"
	"github.com/burin-dev/burin/internal/mode/tui/status"
	"github.com/burin-dev/burin/internal/mode/tui/theme"
	"github.com/burin-dev/burin/internal/mode/tui/theme/styled"
	"github.com/burin-dev/burin/internal/prose"
)

const (
	// maxPromptPart is the part of the screen that a long prompt may have.
	maxPromptPart = 2 // a half
	// lowest is the height below which the prompt has no borders.
	lowest = 5
)

// prompt draws what is being written, and what is proposed to go on with.
type prompt struct {
	*base
	show     *appearance
	facts    *facts
	composer *composer
}

// rows are the prompt with its borders, what is proposed, and the status. What is
// written comes first: where there is little room, the rest gives way, so that above it
// stands at least the row that says how much is hidden.
func (v *prompt) rows(width, height int, now time.Time) ([]string, screen.Cursor) {
	const mark = 2 // cells before the text
	status := v.facts.statusRows(width, height, now)
	borders := 2
	if v.show.screenReader || height < lowest {
		borders = 0
	}
	room := max(1, height-1-borders-len(status))
	proposed := 0
	if p, open := v.composer.editor.Popup(); open {
		proposed = min(v.show.popupRows, len(p.Items))
	}
	text, y, x := v.composer.editor.View(max(width-mark-1, 3), max(1, min(height/maxPromptPart, room-min(proposed, 1))))
	rows := make([]string, 0, len(text)+4)
	if borders > 0 {
		rows = append(rows, v.border(width, v.label()))
	}
	cursor := screen.Cursor{X: x + mark, Y: y + len(rows)}
	sign := v.line(styled.Of(v.sign()+" ", v.borderToken()))
	for i, t := range text {
		if i == 0 {
			rows = append(rows, sign+t)
		} else {
			rows = append(rows, strings.Repeat(" ", mark)+t)
		}
	}
	proposed = min(proposed, room-len(text))
	if borders > 0 {
		rows = append(rows, v.border(width, v.popupLabel(proposed)))
	}
	rows = append(rows, v.popupRows(width, proposed)...)
	return append(rows, status...), cursor
}

// border is the line above or below the prompt. Its colour says how hard the model
// thinks, or what the prompt is for.
func (v *prompt) border(width int, label string) string {
	rule := v.env.Styles.Symbols().Rule
	token := v.borderToken()
	if label == "" || styled.Width(label)+8 > width {
		return v.line(styled.Of(strings.Repeat(rule, width), token))
	}
	right := strings.Repeat(rule, 2)
	left := strings.Repeat(rule, width-styled.Width(label)-4)
	return v.line(styled.Line{
		{Text: left, Look: theme.Look{Fg: token}},
		{Text: " " + label + " ", Look: theme.Look{Fg: theme.Muted}},
		{Text: right, Look: theme.Look{Fg: token}},
	})
}

// popupLabel stands above what is proposed where not all of it is shown: which one of how
// many is selected.
func (v *prompt) popupLabel(shown int) string {
	p, ok := v.composer.editor.Popup()
	if !ok || len(p.Items) <= shown {
		return ""
	}
	return fmt.Sprintf("%d of %d", p.Selected+1, len(p.Items))
}

// popupRows are what is proposed to go on with, as many rows as there are to be.
func (v *prompt) popupRows(width, most int) []string {
	p, ok := v.composer.editor.Popup()
	if !ok || most <= 0 {
		return nil
	}
	if v.show.screenReader { // what is written anew is read out: the one that is chosen
		it := p.Items[p.Selected]
		words := fmt.Sprintf("%d of %d: %s  %s", p.Selected+1, len(p.Items), prose.Inline(it.Label), prose.Inline(it.Detail))
		return []string{v.cut(styled.Of(words, theme.Text), width)}
	}
	from := min(max(0, p.Selected-most/2), len(p.Items)-most)
	labels := 0
	for _, it := range p.Items[from : from+most] {
		labels = max(labels, styled.Width(prose.Inline(it.Label)))
	}
	labels = min(labels, max(width/2, 8))
	var rows []string
	arrow := v.env.Styles.Symbols().Arrow + " "
	for i, it := range p.Items[from : from+most] {
		label := theme.Look{Fg: theme.Text}
		detail := theme.Look{Fg: theme.Muted}
		mark := strings.Repeat(" ", styled.Width(arrow))
		if from+i == p.Selected {
			label.Fg, label.Mod = theme.Accent, theme.Bold
			mark = arrow
		}
		l := styled.Truncate(styled.Line{{Text: prose.Inline(it.Label), Look: label}}, labels, v.env.Styles.Symbols().Ellipsis)
		row := append(styled.Line{{Text: mark, Look: label}}, styled.Pad(l, labels, label)...)
		row = append(row, styled.Span{Text: "  " + prose.Inline(it.Detail), Look: detail})
		rows = append(rows, v.cut(row, width))
	}
	return rows
}

// borderToken is the colour of the prompt's border.
func (v *prompt) borderToken() theme.Token {
	return status.Border(status.Prompt{
		Level: v.facts.status.Thinking, Bash: v.sign() == "!", Plan: v.facts.status.Mode == "plan",
	})
}

// sign stands before the prompt.
func (v *prompt) sign() string {
	if strings.HasPrefix(v.composer.editor.Line(), "!") {
		return "!"
	}
	if v.env.Styles.Symbols().Arrow == "->" {
		return ">"
	}
	return "›"
}

// label stands in the border: what is different from every day.
func (v *prompt) label() string {
	var parts []string
	switch v.facts.status.Mode {
	case "plan":
		parts = append(parts, "plan mode")
	case "full":
		parts = append(parts, "full access")
	}
	if n := len(v.composer.attached); n > 0 {
		parts = append(parts, prose.Count(n, "picture"))
	}
	return strings.Join(parts, v.dot())
}

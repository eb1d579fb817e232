package tui

import (
	"fmt"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/mode/tui/editor"
	"github.com/burin-dev/burin/internal/mode/tui/key"
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

	seen  proposals    // what was drawn last
	hover *editor.Item // what the mouse points at; nil: nothing
}

// proposals are the rows of what is proposed, as a person sees them.
type proposals struct {
	top   int // the row of the first one, from the prompt's first
	items []editor.Item
}

// at is the proposal in a row; nil: there is none.
func (s *proposals) at(y int) *editor.Item {
	if y < s.top || y >= s.top+len(s.items) {
		return nil
	}
	return &s.items[y-s.top]
}

// proposes reports whether there is something to click on.
func (v *prompt) proposes() bool {
	_, open := v.composer.editor.Popup()
	return open && !v.show.screenReader
}

// Handle takes a click: it chooses the proposal that was drawn there, as Tab does.
func (v *prompt) Handle(ev key.Event) {
	click, ok := ev.(key.Click)
	p, open := v.composer.editor.Popup()
	if !ok || !open {
		return
	}
	it := v.seen.at(click.Y)
	for i := range p.Items {
		if &p.Items[i] == it { // they are those that were drawn
			v.composer.editor.Select(i - p.Selected)
			v.composer.editor.Accept()
			v.composer.unsent.changed()
			return
		}
	}
}

// Hover shows which proposal the mouse points at. Enter goes on to mean the selected one.
func (v *prompt) Hover(h key.Hover) (changed bool) {
	was := v.hover
	v.hover = v.seen.at(h.Y)
	return v.hover != was
}

// wheel moves among proposals, and is false where there are none.
func (v *prompt) wheel(k key.Key) bool {
	by := map[key.Key]int{"wheelup": -1, "wheeldown": 1}[k]
	if by == 0 || !v.proposes() {
		return false
	}
	v.composer.editor.Select(by)
	return true
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
	v.seen = proposals{top: len(rows)}
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
	v.seen.items = p.Items[from : from+most]
	labels := 0
	for _, it := range p.Items[from : from+most] {
		labels = max(labels, styled.Width(prose.Inline(it.Label)))
	}
	labels = min(labels, max(width/2, 8))
	var rows []string
	arrow := v.env.Styles.Symbols().Arrow + " "
	for i := range v.seen.items {
		it := &v.seen.items[i]
		label := theme.Look{Fg: theme.Text}
		detail := theme.Look{Fg: theme.Muted}
		mark := strings.Repeat(" ", styled.Width(arrow))
		if from+i == p.Selected {
			label.Fg, label.Mod = theme.Accent, theme.Bold
			mark = arrow
		}
		l := styled.Truncate(styled.Line{{Text: prose.Inline(it.Label), Look: label}}, labels, v.env.Styles.Symbols().Ellipsis)
		row := append(styled.Line{{Text: mark, Look: label}}, styled.Pad(l, labels, label)...)
		row = append(row, styled.Span{Text: "  ", Look: detail}, styled.Span{Text: prose.Inline(it.Detail), Look: detail})
		if it == v.hover {
			row = styled.Pointed(row)
		}
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

package settings

import (
	"slices"
	"strconv"
	"strings"

	"github.com/burin-dev/burin/internal/customize/config"
	"github.com/burin-dev/burin/internal/mode/tui/theme"
	"github.com/burin-dev/burin/internal/mode/tui/theme/styled"
	"github.com/burin-dev/burin/internal/prose"
)

const (
	helpRows = 3  // of the help, and of what went wrong
	fullRows = 12 // height from which on everything is shown
	fewRows  = 6
)

// frame is what stands above and below the list: tabs, and help for the selected
// setting. Where there is little room the list gets it.
func (p *Pane) frame(width, height int) (head, foot []string) {
	if height < fewRows && p.note == "" {
		return nil, nil
	}
	if height >= fewRows {
		tabs, _ := p.tabs(width)
		head = append(head, p.line(tabs, width))
	}
	rows := 1
	if height >= fullRows {
		rows = helpRows
		rule := p.env.Styles.Symbols().Rule
		foot = append(foot, p.line(styled.Of(strings.Repeat(rule, width/max(1, styled.Width(rule))), theme.BorderMuted), width))
	}
	help := p.help(width, rows)
	for i := range rows {
		row := ""
		if i < len(help) {
			row = help[i]
		}
		foot = append(foot, row)
	}
	if height >= fullRows {
		foot = append(foot, p.line(styled.Of(p.hint(width), theme.Dim), width))
	}
	return head, foot
}

// line writes a line that fits.
func (p *Pane) line(l styled.Line, width int) string {
	return styled.Render(p.env.Styles, styled.Truncate(l, width, p.env.Styles.Symbols().Ellipsis))
}

// help is what happened last, or what the selected setting is for.
func (p *Pane) help(width, rows int) []string {
	var lines []styled.Line
	switch e := p.byKey[p.list.Selected()]; {
	case p.note != "":
		look := theme.Success
		if p.problem {
			look = theme.Error
		}
		lines = p.wrapped(styled.Of(prose.Inline(p.note), look), width, rows)
	case e != nil:
		lines = p.wrapped(styled.Of(e.Help, theme.Text), width, max(1, rows-1))
		if rows > 1 {
			lines = append(lines, styled.Of(prose.Inline(p.facts(e.Setting)), theme.Muted))
		}
	}
	var out []string
	for _, l := range lines {
		out = append(out, p.line(l, width))
	}
	return out
}

// wrapped wraps words into so many rows, the last of which says where more are left out.
func (p *Pane) wrapped(words styled.Line, width, rows int) []styled.Line {
	more := p.env.Styles.Symbols().Ellipsis
	lines := styled.Wrap(nil, words, width, nil, nil)
	if len(lines) > rows {
		lines = lines[:rows]
		last := styled.Truncate(lines[rows-1], max(1, width-styled.Width(more)), "")
		lines[rows-1] = append(last, styled.Span{Text: more, Look: words[0].Look})
	}
	return lines
}

// hint says what keys do. Where there is little room the first and the last of it stay.
func (p *Pane) hint(width int) string {
	dot := " " + p.env.Styles.Symbols().Dot + " "
	words := []string{"Enter changes", "Delete resets", "Tab next group", "Esc closes"}
	switch {
	case p.sub != nil:
		words = []string{"Enter saves", "Esc goes back"}
	case p.hits != nil:
		words = []string{"Enter changes", "Tab next group", "Esc clears the search"}
	}
	for len(words) > 2 && styled.Width(strings.Join(words, dot)) > width {
		words = slices.Delete(words, len(words)-2, len(words)-1)
	}
	return strings.Join(words, dot)
}

// tabs are the groups, as many as there is room for around the present one. In a search
// they count what was found. The spans stand for the groups from first on, what says that there
// are more for the next one.
func (p *Pane) tabs(width int) (line styled.Line, first int) {
	groups := config.Groups()
	cells := make([]styled.Span, len(groups))
	for i, g := range groups {
		name, look := string(g), theme.Look{Fg: theme.Muted}
		if p.hits != nil {
			if look.Fg = theme.Dim; p.hits[i] > 0 {
				name, look.Fg = name+" "+strconv.Itoa(p.hits[i]), theme.Text
			}
		}
		// The brackets say which it is where there are no colours.
		if name = " " + name + " "; i == p.tab {
			name, look = "["+name[1:len(name)-1]+"]", theme.Look{Fg: theme.Accent, Mod: theme.Bold}
		}
		cells[i] = styled.Span{Text: name, Look: look}
	}
	from, to := p.tab, p.tab+1
	used := styled.Width(cells[p.tab].Text)
	more := p.env.Styles.Symbols().Ellipsis
	room := width - 2*styled.Width(more)
	if all := styled.Line(cells).Width(); all <= width {
		return cells, 0
	}
	for from > 0 || to < len(cells) {
		switch {
		case to < len(cells) && used+styled.Width(cells[to].Text) <= room:
			used += styled.Width(cells[to].Text)
			to++
			continue
		case from > 0 && used+styled.Width(cells[from-1].Text) <= room:
			from--
			used += styled.Width(cells[from].Text)
			continue
		}
		break
	}
	first = from
	if from > 0 {
		first--
		line = append(line, styled.Span{Text: more, Look: theme.Look{Fg: theme.Dim}})
	}
	line = append(line, cells[from:to]...)
	if to < len(cells) {
		line = append(line, styled.Span{Text: more, Look: theme.Look{Fg: theme.Dim}})
	}
	return line, first
}

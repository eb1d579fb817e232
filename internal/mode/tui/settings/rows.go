package settings

import (
	"reflect"
	"slices"
	"strings"

	"github.com/burin-dev/burin/internal/customize/config"
	"github.com/burin-dev/burin/internal/mode/tui/list"
	"github.com/burin-dev/burin/internal/mode/tui/theme"
	"github.com/burin-dev/burin/internal/mode/tui/theme/styled"
	"github.com/burin-dev/burin/internal/prose"
)

const (
	minLabel, maxLabel = 6, 32 // cells of the column of labels
	minValue           = 4
)

func tabOf(g config.Group) int { return max(0, slices.Index(config.Groups(), g)) }

// shown says whether people see a setting: it is theirs, and of use.
func (p *Pane) shown(s config.Setting) bool { return !s.Own && s.Holds(p.config) }

// items are the settings of the group, or, in a search, all.
func (p *Pane) items() []list.Item {
	var items []list.Item
	for i := range p.all {
		if e := &p.all[i]; (p.hits != nil || e.group == p.tab) && p.shown(e.Setting) {
			items = append(items, list.Item{ID: e.Key, Label: e.Label, Line: p.row(e.Setting)})
		}
	}
	return items
}

// row is a setting in one line. The list puts an arrow and a space in front.
func (p *Pane) row(s config.Setting) styled.Line {
	sign := p.env.Styles.Symbols()
	room := max(0, p.width-styled.Width(sign.Arrow)-1)
	label := min(max(room*2/5, minLabel), maxLabel)
	value, token, mark := p.words(s), theme.Muted, " "
	if p.changed(s) {
		// The sign says it where there are no colours.
		token, mark = theme.Warning, sign.Bullets[0]
	}
	if styled.Width(mark) != 1 {
		mark = "*"
	}
	row := styled.Line{{Text: mark + " ", Look: theme.Look{Fg: token}}, {Text: s.Label, Look: theme.Look{Fg: theme.Text}}}
	row = styled.Pad(styled.Truncate(row, label+2, sign.Ellipsis), label+2, theme.Look{})
	left := room - row.Width() - 2
	if left < minValue {
		return row
	}
	beside := ""
	if p.hits != nil {
		beside = string(s.Group)
	} else if from := p.config.Source(s.Key); from.Kind != config.ByDefault {
		beside = from.String()
	}
	cell := styled.Truncate(styled.Of(value, token), left, sign.Ellipsis)
	if beside = prose.Inline(beside); cell.Width()+2+styled.Width(beside) > left {
		beside = "" // the value counts for more
	}
	row = append(append(row, styled.Span{Text: "  "}), cell...)
	if beside != "" {
		row = append(row, styled.Span{Text: strings.Repeat(" ", left-cell.Width()-styled.Width(beside)) + beside, Look: theme.Look{Fg: theme.Dim}})
	}
	return row
}

// changed says whether a value is another than the default.
func (p *Pane) changed(s config.Setting) bool {
	v := p.config.Value(s.Key)
	return v != nil && !reflect.DeepEqual(v, s.Default)
}

// words are the value of a setting for people, harmless.
func (p *Pane) words(s config.Setting) string {
	return show(s, p.config.Value(s.Key))
}

func show(s config.Setting, v any) string {
	if v == nil {
		return s.Else
	}
	if s.Secret {
		return "set"
	}
	switch v := v.(type) {
	case []string:
		if len(v) == 0 {
			return "none"
		}
	case int, float64:
		n := s.Format(v)
		switch s.Unit {
		case "$":
			return "$" + n
		case "%":
			return n + " %"
		}
		return strings.TrimSpace(n + " " + s.Unit)
	case string, bool:
	default: // a record, or a list with entries for folders
		return prose.Count(reflect.ValueOf(v).Len(), "entry")
	}
	return prose.Inline(s.Format(v))
}

// facts say where a value comes from and what the default is.
func (p *Pane) facts(s config.Setting) string {
	dot := " " + p.env.Styles.Symbols().Dot + " "
	text := s.Key
	if from := p.config.Source(s.Key); from.Kind != config.ByDefault {
		text += dot + "from " + from.String()
		if until := from.Until(); until != "" {
			text += ", " + until
		}
	}
	if s.Default == nil {
		return text + dot + "if not set: " + s.Else
	}
	return text + dot + "default: " + show(s, s.Default)
}

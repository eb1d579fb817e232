package selector

import (
	"slices"
	"strings"

	"github.com/burin-dev/burin/internal/mode/tui/list"
	"github.com/burin-dev/burin/internal/mode/tui/pane"
	"github.com/burin-dev/burin/internal/mode/tui/theme"
	"github.com/burin-dev/burin/internal/mode/tui/theme/styled"
)

// ThemeOptions of [Themes].
type ThemeOptions struct {
	Current string
	Dir     string // of theme files; "" is none
	// OnMove shows a theme that is looked at; it sets the styles of the pane's Env.
	OnMove   func(*theme.Theme)
	OnChoose func(*theme.Theme)
	// OnCancel is called after OnMove has shown the current theme again.
	OnCancel func()
}

// maxThemes is how many theme files are read; more are not shown.
const maxThemes = 200

// themes is the state of one pane of themes.
type themes struct {
	env     *pane.Env
	o       ThemeOptions
	loaded  map[string]*theme.Theme
	problem map[string]error
}

// Themes is a pane to choose a theme in. Each is shown at once when it is selected;
// Esc brings back the one before. Built-in themes win over files of the same name, as
// they do in the settings. A file that cannot be used is listed with the reason.
func Themes(env *pane.Env, o ThemeOptions) *list.List {
	t := &themes{env: env, o: o, loaded: map[string]*theme.Theme{}, problem: map[string]error{}}
	return list.New(env, list.Options{
		Title: "Themes", Items: t.items(), Selected: o.Current, Preview: t.preview,
		OnMove: t.show, OnChoose: t.choose, OnCancel: t.cancel,
	})
}

func (t *themes) items() []list.Item {
	var items []list.Item
	for _, name := range theme.Names() {
		if th, ok := theme.Builtin(name); ok {
			t.loaded[name] = th
			items = append(items, t.item(name, "built in"))
		}
	}
	if t.o.Dir == "" {
		return items
	}
	files := theme.List(t.o.Dir)
	for _, name := range files[:min(len(files), maxThemes)] {
		if t.loaded[name] != nil {
			continue
		}
		th, err := theme.Load(t.o.Dir, name)
		if err != nil {
			t.problem[name] = err
		} else {
			t.loaded[name] = th
		}
		items = append(items, t.item(name, "yours"))
	}
	return slices.Clip(items)
}

func (t *themes) item(name, group string) list.Item {
	it := list.Item{ID: name, Label: name, Group: group}
	switch th := t.loaded[name]; {
	case th == nil:
		it.Dim, it.Detail = true, "cannot be used"
	case th.Light:
		it.Detail = "light"
	default:
		it.Detail = "dark"
	}
	if name == t.o.Current {
		it.Mark = t.env.Styles.Symbols().Done
	}
	return it
}

func (t *themes) show(name string) {
	if th := t.loaded[name]; th != nil && t.o.OnMove != nil {
		t.o.OnMove(th)
	}
}

func (t *themes) choose(name string) {
	if th := t.loaded[name]; th != nil && t.o.OnChoose != nil {
		t.o.OnChoose(th)
	}
}

func (t *themes) cancel() {
	t.show(t.o.Current)
	if t.o.OnCancel != nil {
		t.o.OnCancel()
	}
}

// preview is a sample in the styles of the face, which are those of the theme.
func (t *themes) preview(name string, width, height int) []string {
	s := newSheet(t.env.Styles, width, height)
	s.title(name)
	if err := t.problem[name]; err != nil {
		s.text(err.Error(), theme.Error)
		return s.lines
	}
	span := func(text string, token theme.Token) styled.Span {
		return styled.Span{Text: text, Look: theme.Look{Fg: token}}
	}
	s.add(styled.Line{span("Text ", theme.Text), span("muted ", theme.Muted), span("dim ", theme.Dim), span("link", theme.MdLink)})
	s.add(styled.Line{span("success ", theme.Success), span("warning ", theme.Warning), span("error", theme.Error)})
	s.add(styled.Line{span("func ", theme.SyntaxKeyword), span("main", theme.SyntaxFunction), span("() { ", theme.SyntaxPunctuation), span("// note", theme.SyntaxComment)})
	s.add(styled.Line{span(`  print`, theme.SyntaxFunction), span("(", theme.SyntaxPunctuation), span(`"text"`, theme.SyntaxString), span(", ", theme.SyntaxPunctuation), span("42", theme.SyntaxNumber), span(") }", theme.SyntaxPunctuation)})
	s.add(styled.Line{span("+ a line that was added", theme.ToolDiffAdded)})
	s.add(styled.Line{span("- a line that was removed", theme.ToolDiffRemoved)})
	s.add(styled.Line{{Text: strings.TrimSpace(" what you wrote "), Look: theme.Look{Fg: theme.UserMessageText, Bg: theme.UserMessageBg}}})
	return s.lines
}

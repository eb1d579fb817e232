package servers

import (
	"strconv"
	"strings"

	"github.com/burin-dev/burin/internal/host"

	"github.com/burin-dev/burin/internal/mode/tui/list"
	"github.com/burin-dev/burin/internal/mode/tui/theme"
	"github.com/burin-dev/burin/internal/mode/tui/theme/styled"
	"github.com/burin-dev/burin/internal/prose"
)

// What is shown of a server.
const (
	tools = iota
	log
	words
)

// show shows a server.
func (p *Panel) show(id string) {
	p.open, p.view = id, tools
	p.showOne()
}

// back shows all servers again.
func (p *Panel) back() { p.one, p.open = nil, "" }

// showOne shows the server that is open as it is now.
func (p *Panel) showOne() {
	v := p.get(p.open)
	if v == nil {
		p.back()
		return
	}
	said := lines(v.Words)
	o := list.Options{
		Title: v.Name, Chips: []string{"Tools " + strconv.Itoa(len(v.Tools)), "Log " + strconv.Itoa(len(v.Log)), "Stderr " + strconv.Itoa(len(said))}, Chip: p.view,
		Toggle: p.view == tools, Empty: "It wrote nothing here.", NoMatch: "Nothing matches. Esc clears the search.",
		Hint:     "Tab other views, Ctrl+R reconnect, Esc back",
		OnCancel: p.back, OnKey: p.press,
		OnChip: func(i int) { p.view, p.one = i, nil; p.showOne() },
	}
	var texts []string // in full
	switch p.view {
	case tools:
		id := v.ID
		o.Hint = "Space on/off, " + o.Hint
		o.OnToggle = func(tool string, on bool) { p.do(switching(on), id, v.Tools[number(tool)].Name) }
		o.Empty = "No tools are known. " + v.State + ": " + v.Why
		texts, o.Items = make([]string, len(v.Tools)), make([]list.Item, len(v.Tools))
		for i := range o.Items {
			t, it := &v.Tools[i], &o.Items[i]
			texts[i] = t.Description
			it.Label, it.Detail, it.On, it.Dim = t.Name, prose.Row(t.Description, 200), t.On, !t.On
		}
	case log:
		said = v.Log
		fallthrough
	default:
		texts, o.Items = said, make([]list.Item, len(said))
		for i := range said {
			o.Items[i].Label = said[i]
		}
		o.Selected = strconv.Itoa(len(said) - 1) // the newest
	}
	for i := range o.Items {
		o.Items[i].ID = strconv.Itoa(i)
	}
	o.Preview = func(id string, width, height int) []string {
		var rows []styled.Line
		text := prose.Head(texts[number(id)], width*height*8) // a cell has few bytes
		for _, line := range lines(prose.Clean(text, 4)) {
			rows = styled.Wrap(rows, styled.Line{{Text: line, Look: theme.Look{Fg: theme.Text}}}, width, nil, nil)
		}
		return p.render(rows, height)
	}
	if old := p.one; old != nil { // it looks as before, with what is there now
		o.Query = old.Query()
		if at := old.Selected(); at != "" && p.view == tools {
			o.Selected = at
		}
	}
	p.one = list.New(p.env, o)
}

// number is the place of an item in its list.
func number(id string) int {
	i, _ := strconv.Atoi(id) // all are numbers
	return i
}

// about are the facts of a server.
func (p *Panel) about(id string, width, height int) []string {
	v := p.get(id)
	if v == nil {
		return nil
	}
	facts := v.Facts()
	if v.Login {
		facts = append(facts, strings.Repeat(" ", host.FactWidth)+"Ctrl+L logs in")
	}
	var rows []styled.Line
	indent := styled.Line{{Text: strings.Repeat(" ", host.FactWidth)}}
	for _, f := range facts {
		name := styled.Line{{Text: f[:host.FactWidth], Look: theme.Look{Fg: theme.Muted}}}
		rows = styled.Wrap(rows, styled.Line{{Text: prose.Inline(f[host.FactWidth:]), Look: theme.Look{Fg: theme.Text}}}, width, name, indent)
	}
	return p.render(rows, height)
}

func (p *Panel) render(rows []styled.Line, height int) (out []string) {
	for _, l := range rows[:min(len(rows), height)] {
		out = append(out, styled.Render(p.env.Styles, l))
	}
	return out
}

func lines(text string) []string {
	if text = strings.TrimSpace(text); text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

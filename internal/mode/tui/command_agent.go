package tui

import (
	"context"
	"strconv"
	"strings"

	"github.com/burin-dev/burin/internal/customize/subagent"
	"github.com/burin-dev/burin/internal/mode/tui/card"
	"github.com/burin-dev/burin/internal/mode/tui/key"
	"github.com/burin-dev/burin/internal/mode/tui/list"
	"github.com/burin-dev/burin/internal/mode/tui/pane"
	"github.com/burin-dev/burin/internal/mode/tui/theme"
	"github.com/burin-dev/burin/internal/mode/tui/theme/styled"
	"github.com/burin-dev/burin/internal/prose"
)

// AgentDefinitions are the definitions of agents in the folder.
type AgentDefinitions interface {
	// Find finds them as they are now, those included that are off.
	Find() (set *subagent.Set, warnings []string, err error)
	// Get finds one by its name.
	Get(name string) (*subagent.Definition, error)
	// File is the file of an agent, and Save writes what a person has made of it.
	File(d *subagent.Definition) (path, text string, err error)
	Save(d *subagent.Definition, before, text string) (path string, wrong []string, err error)
}

// agents is the command about the definitions of agents.
type agents struct {
	*base
	panes    *panes
	composer *composer
	work     *work
	host     AgentDefinitions
}

// command lists the agents, or does something with one.
func (as *agents) command(arg string) {
	word, name, _ := strings.Cut(arg, " ")
	do := map[string]func(*subagent.Definition){"show": as.show, "edit": as.edit, "try": as.try}[word]
	if do == nil || strings.TrimSpace(name) == "" {
		do, name = as.show, arg
	}
	if name = strings.TrimSpace(name); name == "" {
		as.open()
		return
	}
	as.work.task("looking for agents", func(context.Context) (func(), error) {
		d, err := as.host.Get(name)
		return func() { do(d) }, err
	})
}

// open lists the agents.
func (as *agents) open() {
	as.work.task("looking for agents", func(context.Context) (func(), error) {
		set, warnings, err := as.host.Find()
		return func() { as.list(set.List(), warnings) }, err
	})
}

func (as *agents) list(all []*subagent.Definition, warnings []string) {
	items := make([]list.Item, len(all))
	for i, d := range all {
		detail := prose.Short(d.Description, 200)
		if s := d.Status(); s != "" {
			detail = "not used: " + s
		}
		items[i] = list.Item{ID: strconv.Itoa(i), Label: d.Name, Group: d.Source, Detail: detail, Dim: d.Status() != ""}
	}
	var p pane.Pane
	leave := func(do func(*subagent.Definition), id string) {
		at, err := strconv.Atoi(id)
		if err != nil || at >= len(all) {
			return // the list is empty
		}
		as.panes.remove(p)
		do(all[at])
	}
	hint := "Enter shows · e edits · t tries"
	if n := len(warnings); n > 0 {
		hint += " · w " + prose.Count(n, "problem")
	}
	p = list.New(as.env, list.Options{
		Title: "Agents", Items: items, Hint: hint, NoSearch: true,
		Preview: func(id string, width, height int) []string {
			at, err := strconv.Atoi(id)
			if err != nil || at >= len(all) {
				return nil
			}
			return as.preview(all[at], width, height)
		},
		OnChoose: func(id string) { leave(as.show, id) },
		OnCancel: func() { as.panes.remove(p) },
		OnKey: func(k key.Press, id string) bool {
			switch k.Text {
			case "e":
				leave(as.edit, id)
			case "t":
				leave(as.try, id)
			case "w":
				if len(warnings) == 0 {
					return false
				}
				as.panes.reportText("Problems with agents", strings.Join(warnings, "\n"))
			default:
				return false
			}
			return true
		},
	})
	as.panes.push(p)
}

// preview is what is said of the selected agent.
func (as *agents) preview(d *subagent.Definition, width, height int) []string {
	lines := styled.Wrap(nil, styled.Of(prose.Inline(d.Description), theme.Text), width, nil, nil)
	for _, f := range d.Facts() {
		line := append(styled.Of(f.Name+": ", theme.Muted), styled.Of(f.Value, theme.Text)...)
		lines = styled.Wrap(lines, line, width, nil, styled.Of("  ", theme.Plain))
	}
	var rows []string
	for _, l := range lines[:min(len(lines), height)] {
		rows = append(rows, styled.Render(as.env.Styles, l))
	}
	return rows
}

func (as *agents) show(d *subagent.Definition) { as.panes.report(d.Name, d.Show()) }

// edit gives the file of an agent to the person's own editor.
func (as *agents) edit(d *subagent.Definition) {
	_, before, err := as.host.File(d)
	if err != nil {
		as.sayError(err)
		return
	}
	after, err := as.composer.desktop.outside(before)
	if err != nil {
		as.sayError(err)
		return
	}
	if after == before {
		as.notice(card.Info, "Nothing changed in "+d.Name+".")
		return
	}
	as.work.task("writing the agent", func(context.Context) (func(), error) {
		path, wrong, err := as.host.Save(d, before, after)
		return func() {
			if len(wrong) > 0 {
				as.notice(card.Warning, strings.Join(wrong, "\n"))
				return
			}
			as.notice(card.Info, "Written: "+path)
		}, err
	})
}

// try begins a prompt for an agent.
func (as *agents) try(d *subagent.Definition) {
	if s := d.Status(); s != "" {
		as.notice(card.Warning, d.Name+" can't be started: "+s)
		return
	}
	as.composer.giveBack("Use the agent " + d.Name + " for this: ")
}

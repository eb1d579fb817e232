package card

import (
	"fmt"
	"slices"
	"strings"

	"github.com/burin-dev/burin/internal/mode/tui/markdown"
	"github.com/burin-dev/burin/internal/mode/tui/theme"
	"github.com/burin-dev/burin/internal/mode/tui/theme/styled"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/tool/todo"
)

// Todo gives the lines of a list, without a title. Collapsed, it shows the phase
// that is under way.
func Todo(phases []todo.Phase, v View) []string {
	p := newPainter(v)
	p.phases(phases)
	return p.lines
}

func (p *painter) todo(c *Call, _ fields) {
	d := read[struct {
		Phases []todo.Phase `json:"phases"`
	}](c.Details)
	done, all := todo.Progress(d.Phases)
	fact := ""
	if all > 0 {
		fact = fmt.Sprintf("%d of %d done", done, all)
	}
	p.title(c, subject{}, fact)
	if c.State == Failed && all == 0 {
		p.failure(c)
		return
	}
	p.phases(d.Phases)
}

func (p *painter) phases(phases []todo.Phase) {
	shown := phases
	if !p.Expanded && len(phases) > 1 {
		shown = phases[:1]
		for i, ph := range phases {
			if ph.Active() {
				shown = phases[i : i+1]
				break
			}
		}
	}
	hidden := 0
	for _, ph := range phases {
		hidden += len(ph.Tasks)
	}
	limit := p.limit(10)
	for _, ph := range shown {
		if len(phases) > 1 && ph.Name != "" {
			p.prose(styled.Line{{Text: prose.Inline(ph.Name), Look: theme.Look{Fg: theme.Accent, Mod: theme.Bold}}})
		}
		for _, t := range ph.Tasks {
			if limit == 0 {
				break
			}
			limit--
			hidden--
			p.task(t)
		}
	}
	if hidden > 0 {
		p.note(fmt.Sprintf("%s %s", p.sign.Ellipsis, prose.Count(hidden, "more task")))
	}
}

func (p *painter) task(t todo.Task) {
	box, boxLook, look := p.sign.TaskOpen, theme.Look{Fg: theme.Muted}, theme.Look{Fg: theme.Text}
	switch t.Status {
	case todo.InProgress:
		box, boxLook, look.Mod = p.sign.TaskPart, theme.Look{Fg: theme.Accent}, theme.Bold
	case todo.Completed:
		box, boxLook, look = p.sign.TaskDone, theme.Look{Fg: theme.Success}, theme.Look{Fg: theme.Muted}
	case todo.Abandoned:
		box, look = p.sign.TaskDrop, theme.Look{Fg: theme.Dim, Mod: theme.Strike}
	}
	first := styled.Line{{Text: bodyIndent}, {Text: box + " ", Look: boxLook}}
	rest := styled.Line{{Text: strings.Repeat(" ", first.Width())}}
	for _, line := range styled.Wrap(nil, styled.Line{{Text: prose.Inline(t.Content), Look: look}}, p.Width, first, rest) {
		p.add(line)
	}
}

// handedOver shows a plan that was handed over. While it waits for the person, the question shows it.
func handedOver(p *painter, c *Call, args fields) {
	p.title(c, words(read[string](args["title"]), theme.Text))
	if p.failure(c) || c.State == Running {
		return
	}
	rows := markdown.Render(read[string](args["plan"]), p.Width, markdown.Options{Styles: p.Styles, Links: p.Links})
	shown := min(len(rows), p.limit(60))
	p.lines = append(p.lines, rows[:shown]...)
	p.more(len(rows) - shown)
	p.note(firstLine(c.text()))
}

// ask shows questions with what was chosen.
func (p *painter) ask(c *Call, args fields) {
	d := read[struct {
		Results []struct {
			Question        string   `json:"question"`
			Multi           bool     `json:"multi"`
			Options         []string `json:"options"`
			SelectedOptions []string `json:"selectedOptions"`
			CustomInput     string   `json:"customInput"`
		} `json:"results"`
	}](c.Details)
	asked := read[[]struct {
		Question string `json:"question"`
		Multi    bool   `json:"multi"`
		Options  []struct {
			Label string `json:"label"`
		} `json:"options"`
	}](args["questions"])
	p.title(c, subject{}, prose.Count(max(len(d.Results), len(asked)), "question"))
	if p.failure(c) {
		return
	}
	for _, r := range d.Results {
		p.prose(styled.Of(prose.Inline(r.Question), theme.Text))
		for _, o := range r.Options {
			chosen := slices.Contains(r.SelectedOptions, o)
			if chosen || p.Expanded {
				p.option(o, chosen, r.Multi)
			}
		}
		if r.CustomInput != "" {
			p.option(r.CustomInput, true, r.Multi)
		}
		if len(r.SelectedOptions) == 0 && r.CustomInput == "" {
			p.note("nothing chosen")
		}
	}
	if len(d.Results) > 0 {
		return
	}
	for _, q := range asked {
		p.prose(styled.Of(prose.Inline(q.Question), theme.Text))
		for _, o := range q.Options {
			p.option(o.Label, false, q.Multi)
		}
	}
}

// option is a choice with the sign that the question had, wrapped: an answer is short, and
// all of it was meant.
func (p *painter) option(label string, chosen, multi bool) {
	sign, look := p.sign.Running, theme.Look{Fg: theme.Muted}
	if multi {
		sign = p.sign.TaskOpen
	}
	if chosen {
		sign, look = p.sign.Done, theme.Look{Fg: theme.Accent}
		if multi {
			sign = p.sign.TaskDone
		}
	}
	first := styled.Line{{Text: bodyIndent}, {Text: "  " + sign + " ", Look: look}}
	rest := styled.Line{{Text: strings.Repeat(" ", first.Width())}}
	for _, line := range styled.Wrap(nil, styled.Of(prose.Inline(label), look.Fg), p.Width, first, rest) {
		p.add(line)
	}
}

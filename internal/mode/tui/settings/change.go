package settings

import (
	"reflect"
	"slices"

	"github.com/burin-dev/burin/internal/customize/config"
	"github.com/burin-dev/burin/internal/mode/tui/list"
	"github.com/burin-dev/burin/internal/prose"
)

// change is Enter on a setting.
func (p *Pane) change(id string) {
	e := p.byKey[id]
	if e == nil || p.o.Open != nil && p.o.Open(id) {
		return
	}
	s := e.Setting
	v := p.config.User(id) // what changes is the user's file, whatever overrides it here
	choices := s.Choices
	if len(choices) == 0 {
		choices = p.o.Choices[id]
	}
	items, plain := v.([]string)
	switch {
	case s.Type == config.Record || s.Type == config.List && v != nil && !plain:
		p.say("This setting is a table: change it in "+p.where(id)+".", true)
	case s.Type == config.Bool:
		p.set(s, v != true)
	case s.Type == config.List && len(choices) > 0:
		p.checkboxes(s, choices, items)
	case len(choices) == 2 && s.Type == config.Enum && v != nil:
		p.set(s, choices[1-max(0, slices.Index(choices, s.Format(v)))])
	case len(choices) > 0:
		p.choose(s, choices, s.Format(v))
	case s.Secret:
		p.write(s, "")
	default:
		p.write(s, s.Format(v))
	}
}

func (p *Pane) where(id string) string {
	if from := p.config.Source(id); from.File != "" {
		return from.String()
	}
	return "config.yml"
}

// choose opens the choices of a setting.
func (p *Pane) choose(s config.Setting, choices []string, now string) {
	items := make([]list.Item, len(choices))
	for i, c := range choices {
		items[i] = list.Item{ID: c, Label: c}
		if c == now {
			items[i].Mark = p.env.Styles.Symbols().Bullets[0]
		}
		if c == s.Default {
			items[i].Detail = "default"
		}
	}
	open := list.New
	if len(s.Choices) > 0 { // a few
		open = list.Choice
	}
	before := p.config.Value(s.Key) // which is seen
	p.sub = open(p.env, list.Options{
		Title: s.Label, Items: items, Selected: now,
		OnMove: func(id string) { p.preview(s.Key, id) },
		OnChoose: func(id string) {
			p.sub = nil
			if !p.set(s, id) {
				p.preview(s.Key, before)
			}
		},
		OnCancel: func() {
			p.sub = nil
			p.preview(s.Key, before)
		},
	})
}

// checkboxes opens a list of which several can be chosen. Their order is that in which
// they were checked.
func (p *Pane) checkboxes(s config.Setting, choices, on []string) {
	on = slices.Clone(on)
	items := make([]list.Item, 0, len(choices))
	for _, c := range on {
		items = append(items, list.Item{ID: c, Label: c, On: true})
	}
	for _, c := range choices {
		if !slices.Contains(on, c) {
			items = append(items, list.Item{ID: c, Label: c})
		}
	}
	before := p.config.Value(s.Key)
	p.sub = list.New(p.env, list.Options{
		Title: s.Label, Items: items, Toggle: true, Hint: "Space selects, in the order you want",
		OnToggle: func(id string, checked bool) {
			on = slices.DeleteFunc(on, func(c string) bool { return c == id })
			if checked {
				on = append(on, id)
			}
			p.preview(s.Key, slices.Clone(on))
		},
		OnChoose: func(string) {
			p.sub = nil
			if !p.set(s, on) {
				p.preview(s.Key, before)
			}
		},
		OnCancel: func() {
			p.sub = nil
			p.preview(s.Key, before)
		},
	})
}

// write opens a line for a value.
func (p *Pane) write(s config.Setting, now string) {
	hint := ""
	switch {
	case s.Type == config.List:
		hint = "Separate entries with commas."
	case s.Unit != "" && s.Unit != "$":
		hint = "In " + s.Unit + "."
	case s.Unit == "$":
		hint = "In US dollars."
	}
	p.sub = list.NewInput(p.env, list.InputOptions{
		Title: s.Label, Text: now, Hint: hint,
		Validate: func(text string) error {
			_, err := s.Read(text)
			return err
		},
		OnDone: func(text string) {
			p.sub = nil
			if v, err := s.Read(text); err == nil {
				p.set(s, v)
			}
		},
		OnCancel: func() { p.sub = nil },
	})
}

func (p *Pane) preview(key string, v any) {
	if p.o.OnPreview != nil {
		p.o.OnPreview(key, v)
	}
}

// set writes a value; false where that was refused.
func (p *Pane) set(s config.Setting, v any) bool {
	if err := p.o.OnSet(s.Key, v); err != nil {
		p.say(err.Error(), true)
		return false
	}
	p.Refresh()
	if from := p.config.Source(s.Key); from.Until() != "" {
		p.say("Saved. "+from.String()+" overrides it "+from.Until()+".", false)
	}
	return true
}

// reset gives a setting its default back. Lists and mappings are work that somebody
// has put in: they go with the second press.
func (p *Pane) reset(id string) {
	e := p.byKey[id]
	if e == nil {
		return
	}
	s := e.Setting
	from := p.config.Source(id)
	if from.Kind == config.ByDefault {
		p.say("This is the default.", false)
		return
	}
	v := reflect.ValueOf(p.config.User(id))
	if (s.Type == config.List || s.Type == config.Record) && v.IsValid() && v.Len() > 0 && p.sure != id {
		p.sure = id
		p.say("Press again to discard "+prose.Count(v.Len(), "entry")+".", true)
		return
	}
	p.sure = ""
	if err := p.o.OnUnset(id); err != nil {
		p.say(err.Error(), true)
		return
	}
	p.Refresh()
	switch from := p.config.Source(id); from.Kind {
	case config.ByDefault:
		p.say(s.Label+": back to the default.", false)
	case config.ByFile:
	default:
		p.say("Reset. "+from.String()+" overrides it "+from.Until()+".", false)
	}
}

func (p *Pane) say(note string, problem bool) { p.note, p.problem = note, problem }

package wizard

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/customize/discover"
	"github.com/burin-dev/burin/internal/mode/tui/key"
	"github.com/burin-dev/burin/internal/mode/tui/list"
	"github.com/burin-dev/burin/internal/mode/tui/pane"
	"github.com/burin-dev/burin/internal/mode/tui/screen"
	"github.com/burin-dev/burin/internal/mode/tui/theme"
	"github.com/burin-dev/burin/internal/mode/tui/theme/styled"
	"github.com/burin-dev/burin/internal/prose"
)

// The rows of the one screen that are no providers. No provider has such an id.
const (
	quickImport = "/import/" // and the number of the finding
	quickMore   = "/more"
	quickDemo   = "/demo"
)

// hastyTime is how long after the screen appears letters still count as typed for the prompt, which
// stood there before: they were typed, or about to be, before anybody could read it.
const hastyTime = 400 * time.Millisecond

// maxFound is how many findings the screen tells; /setup lists all.
const maxFound = 4

// likeliest are the providers most people have a key of.
func likeliest() []string { return []string{"anthropic", "openai", "google"} }

// hasty passes on what was typed for the prompt. Keys that move and choose count at once.
func (q *quick) hasty(ev key.Event) bool {
	w := q.w
	if !w.o.Quick || w.o.OnTyped == nil || w.ended || w.env.Now().Sub(q.opened) > hastyTime {
		return false
	}
	switch ev := ev.(type) {
	case key.Paste:
	case key.Press:
		switch {
		case ev.Text != "":
		case ev.Key == "enter" && q.typing: // the end of the prompt, which can't be sent yet
			return true
		default:
			q.opened = time.Time{} // whoever moves or chooses has seen the screen
			return false
		}
	default:
		return false
	}
	q.typing, q.opened = true, w.env.Now() // until the typing pauses
	w.o.OnTyped(ev)
	return true
}

// enter shows the ways on at once, and beside them what is found meanwhile.
func (q *quick) enter() {
	w := q.w
	q.show()
	if w.looked {
		return
	}
	w.start(task{what: "Looking for keys and servers on this machine", open: true, run: func(ctx context.Context) func() {
		var found []discover.Finding
		if w.o.Find != nil {
			found = w.o.Find(ctx)
		}
		providers, err := w.o.Providers(ctx)
		return func() {
			if err != nil {
				w.say(brief(err), true)
			}
			w.found, w.looked = found, true
			w.providers, w.known = w.found.withServers(providers), true
			if w.body == pane.Pane(q) {
				w.chosen = "" // the best that was found is the first to be chosen
				if q.touched {
					w.chosen = q.list.Selected()
				}
				q.show()
			}
		}
	}})
}

// quick is the list of ways on, below what was found.
type quick struct {
	w       *Wizard
	list    *list.List
	touched bool      // the person has moved in it
	opened  time.Time // or when the last letter was passed on
	typing  bool      // letters were passed on
	above   int       // rows above the list
}

// show shows the screen as far as things are known.
func (q *quick) show() {
	w := q.w
	q.touched = w.chosen != ""
	q.list = list.New(w.env, list.Options{
		Items: q.items(), Selected: w.chosen, NoSearch: true,
		OnChoose: q.chosen,
		OnCancel: w.finish,
		OnKey: func(p key.Press, id string) bool {
			if p.Text == "" {
				return false
			}
			q.search(p)
			return true
		},
	})
	w.put(q)
}

// items are the likeliest ways to a model: keys that other tools keep, the provider
// of the model that was asked for, and those that most people have a key of.
func (q *quick) items() []list.Item {
	w := q.w
	var items []list.Item
	for i, f := range w.found {
		if f.Kind == discover.Keys && f.Import != nil {
			items = append(items, list.Item{ID: quickImport + strconv.Itoa(i), Label: "Import", Detail: "the keys of " + f.Program + " (" + strings.Join(f.Providers, ", ") + ")"})
		}
	}
	ids := likeliest()
	if w.o.Wanted != "" {
		ids = append([]string{w.o.Wanted}, slices.DeleteFunc(ids, func(id string) bool { return id == w.o.Wanted })...)
	}
	for _, id := range ids {
		p := Provider{ID: id}
		if i := slices.IndexFunc(w.providers, func(p Provider) bool { return p.ID == id }); i >= 0 {
			p = w.providers[i]
		}
		it := w.providerItem(p)
		it.Label = display(id)
		items = append(items, it)
	}
	items = append(items, list.Item{ID: quickMore, Label: "Others", Detail: "search all providers: type a name"})
	if w.o.Demo != nil {
		items = append(items, list.Item{ID: quickDemo, Label: "Demo", Detail: "watch burin fix a bug; no key, no network"})
	}
	return items
}

// display is how a vendor writes its name.
func display(id string) string {
	switch id {
	case "anthropic":
		return "Anthropic"
	case "openai":
		return "OpenAI"
	case "google":
		return "Google"
	}
	return id
}

func (q *quick) chosen(id string) {
	w := q.w
	w.chosen, w.note = id, ""
	switch number, imports := strings.CutPrefix(id, quickImport); {
	case imports:
		w.importAll([]string{number})
	case id == quickMore:
		q.search(nil)
	case id == quickDemo:
		w.o.Demo()
	default:
		access{w}.choose(id)
	}
}

// search shows the list of all providers, with the letter that asked for it in
// the search.
func (q *quick) search(letter key.Event) {
	w := q.w
	show := func() {
		w.chosen = ""
		access{w}.show()
		if letter != nil {
			w.body.Handle(letter)
		}
	}
	if w.known {
		show()
		return
	}
	w.start(task{what: "Looking for keys and logins", run: w.askProviders(show)})
}

// backFromKey goes back to where a provider was chosen.
func (a access) backFromKey() {
	w := a.w
	if w.o.Quick {
		w.abandon()
		w.unchecked = ""
		w.quick.enter()
		return
	}
	a.show()
}

// Draw is [pane.Pane]'s. What was found gives way to the list where there is little room.
func (q *quick) Draw(width, height int) ([]string, screen.Cursor) {
	w, sign := q.w, q.w.env.Styles.Symbols()
	var rows []string
	row := func(text string, t theme.Token) { rows = append(rows, w.row(styled.Of(prose.Inline(text), t), width)) }
	row("Paste an API key, log in, or start a local model server (Ollama, LM Studio).", theme.Text)
	told := w.found.told()
	for _, f := range told[:min(len(told), maxFound)] {
		row(sign.Bullets[0]+" "+f, theme.Muted)
	}
	if more := len(told) - maxFound; more > 0 {
		row(sign.Bullets[0]+" "+prose.Count(more, "more finding")+": /setup lists all", theme.Muted)
	}
	rows = append(rows, "")
	foot := []string{"", w.row(styled.Of("Enter chooses "+sign.Dot+" type to search all providers "+sign.Dot+" Esc goes to the prompt", theme.Dim), width)}
	need := len(q.items())
	if len(rows)+need+len(foot) > height {
		rows, foot = nil, nil
	}
	body, cursor := q.list.Draw(width, max(1, height-len(rows)-len(foot)))
	q.above = len(rows)
	cursor.Y += q.above
	return slices.Concat(rows, body, foot), cursor
}

// Handle is [pane.Pane]'s.
func (q *quick) Handle(ev key.Event) {
	q.touched = true
	if paste, ok := ev.(key.Paste); ok {
		q.search(paste)
		return
	}
	if c, ok := ev.(key.Click); ok {
		ev = c.In(q.above)
	}
	q.list.Handle(ev)
}

var _ pane.Pane = (*quick)(nil)

// told says of each finding what it is, those first that could help to a model.
func (fs findings) told() []string {
	var out []string
	for _, f := range fs {
		if f.Kind == discover.Keys && f.Import != nil {
			continue // it is a row of the list
		}
		what := f.What
		if f.Program != "" && f.Kind != discover.Server {
			what = f.Program + ": " + what
		}
		out = append(out, what)
	}
	return out
}

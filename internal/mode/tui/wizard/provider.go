package wizard

import (
	"context"
	"errors"
	"slices"
	"strings"
	"unicode"

	"github.com/burin-dev/burin/internal/customize/discover"
	"github.com/burin-dev/burin/internal/mode/tui/key"
	"github.com/burin-dev/burin/internal/mode/tui/list"
)

// addKey asks for a key where Enter would log in or go on.
const addKey key.Key = "ctrl+n"

// keyPages are where vendors make keys, for the hint of the question.
var keyPages = map[string]string{
	"anthropic":   "console.anthropic.com/settings/keys",
	"cerebras":    "cloud.cerebras.ai",
	"deepseek":    "platform.deepseek.com/api_keys",
	"fireworks":   "fireworks.ai/account/api-keys",
	"google":      "aistudio.google.com/apikey",
	"groq":        "console.groq.com/keys",
	"huggingface": "huggingface.co/settings/tokens",
	"mistral":     "console.mistral.ai/api-keys",
	"openai":      "platform.openai.com/api-keys",
	"openrouter":  "openrouter.ai/keys",
	"together":    "api.together.ai/settings/api-keys",
	"xai":         "console.x.ai",
}

// enterProvider asks which providers there are, and shows them.
func (w *Wizard) enterProvider() {
	w.start(task{what: "Looking for keys and logins", run: w.askProviders(access{w}.show)})
}

// askProviders is the part of a task that reads them anew.
func (w *Wizard) askProviders(then func()) func(ctx context.Context) func() {
	return func(ctx context.Context) func() {
		found, err := w.o.Providers(ctx)
		return func() {
			if err != nil {
				w.say(brief(err), true) // what could be found is there all the same
			}
			w.providers, w.known = w.found.withServers(found), true
			then()
		}
	}
}

// withServers adds the model servers that were found on this machine.
func (fs findings) withServers(providers []Provider) []Provider {
	out := slices.Clone(providers)
	for _, f := range fs {
		if f.Kind != discover.Server || f.Models == 0 {
			continue
		}
		i := slices.IndexFunc(out, func(p Provider) bool { return p.ID == f.Program })
		switch {
		case i < 0:
			out = append(out, Provider{ID: f.Program, Ready: "runs on this machine"})
		case out[i].Ready == "":
			out[i].Ready = "runs on this machine"
		}
	}
	return out
}

// ready says whether some provider can be used, as far as is known.
func ready(providers []Provider) bool {
	for _, p := range providers {
		if p.Ready != "" {
			return true
		}
	}
	return false
}

// access leads to a provider that can be used: it shows them, asks for a key, logs in.
type access struct{ w *Wizard }

func (a access) show() {
	w := a.w
	w.body, w.unchecked = nil, ""
	groups := [...]string{"Ready", "Not set up yet"}
	var sorted [len(groups)][]list.Item
	for _, p := range w.providers {
		g, it := 1, w.providerItem(p)
		if p.Ready != "" {
			g, it.Detail, it.Mark = 0, p.Ready, w.env.Styles.Symbols().Done
		}
		it.Group = groups[g]
		sorted[g] = append(sorted[g], it)
	}
	title := "Choose a provider"
	if len(sorted[0]) > 0 && !w.o.Quick {
		title = "Ready to use; Enter continues"
	}
	w.put(list.New(w.env, list.Options{
		Title: title, Items: slices.Concat(sorted[:]...), Selected: w.chosen,
		Empty:    "No providers. Esc goes back, Tab continues.",
		Hint:     "Enter chooses " + w.env.Styles.Symbols().Dot + " " + addKey.Text() + " enters a key",
		OnChoose: a.choose,
		OnKey: func(p key.Press, id string) bool {
			if p.Key == addKey && id != "" {
				w.chosen = id
				a.askKey(id)
			}
			return p.Key == addKey
		},
		OnCancel: a.back,
	}))
}

// choose goes on with a provider: at once, by a login, or by its key.
func (a access) choose(id string) {
	w := a.w
	w.chosen = id
	i := slices.IndexFunc(w.providers, func(p Provider) bool { return p.ID == id })
	switch {
	case i >= 0 && w.providers[i].Ready != "":
		w.note = ""
		w.next()
	case i >= 0 && w.providers[i].Login && w.o.Login != nil:
		a.login(id)
	default:
		a.askKey(id)
	}
}

// back goes back to the step before, or to the one screen.
func (a access) back() {
	w := a.w
	if w.o.Quick {
		w.chosen = quickMore
		w.quick.enter()
		return
	}
	w.back()
}

// providerItem is the row of a provider that is not ready yet.
func (w *Wizard) providerItem(p Provider) list.Item {
	it := list.Item{ID: p.ID, Label: p.ID}
	switch page := keyPages[p.ID]; {
	case p.Login && w.o.Login != nil:
		it.Detail = "log in with the browser"
	case page != "":
		it.Detail = "API key from " + page
	}
	return it
}

// askKey asks for the key of a provider.
func (a access) askKey(id string) {
	w := a.w
	if w.o.SaveKey == nil {
		w.say("Keys cannot be stored here: set the variable of "+id+" and start burin again.", true)
		return
	}
	w.note = ""
	hint := "Paste it here. It is not shown, and is stored encrypted on this machine."
	if page := keyPages[id]; page != "" {
		hint = "Create a key at https://" + page + " and paste it here. It is not shown, and is stored encrypted on this machine."
	}
	var in *list.Input
	in = list.NewInput(w.env, list.InputOptions{
		Title: "API key for " + id, Secret: true, Hint: hint, Validate: keyProblem,
		OnDone: func(text string) { a.tryKey(in, id, strings.TrimSpace(text)) }, OnCancel: a.backFromKey,
	})
	w.put(in)
}

// keyProblem says what is wrong with a key before anybody is asked.
func keyProblem(text string) error {
	text = strings.TrimSpace(text)
	switch {
	case text == "":
		return errors.New("paste a key, or press Esc")
	case strings.ContainsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) || r > unicode.MaxASCII }):
		return errors.New("not a key: it contains spaces or special characters")
	}
	return nil
}

// tryKey asks the provider whether it takes a key, and stores it. A key that was not
// taken is stored at the second Enter: the network may be what is missing.
func (a access) tryKey(in *list.Input, id, text string) {
	w := a.w
	if w.o.Check == nil || w.unchecked == text {
		a.saveKey(id, text)
		return
	}
	w.note = ""
	w.start(task{what: "Checking the key with " + id, run: func(ctx context.Context) func() {
		err := w.o.Check(ctx, id, text)
		return func() {
			if err != nil {
				w.unchecked = text
				problem := brief(err)
				if !strings.HasSuffix(problem, ".") && !strings.HasSuffix(problem, "?") {
					problem += "."
				}
				in.SetProblem(problem + " Press Enter again to store it anyway.")
				return
			}
			a.saveKey(id, text)
		}
	}})
}

func (a access) saveKey(id, text string) {
	w := a.w
	did := "Stored the key for " + id + "."
	if w.unchecked == text {
		did = "Stored the key for " + id + " without a check."
	}
	w.unchecked = ""
	w.write("Storing the key", did, func(ctx context.Context) error { return w.o.SaveKey(ctx, id, text) }, func() {})
}

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
	w.start(task{what: "Looking for keys and logins", run: w.askProviders(w.showProviders)})
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

func (w *Wizard) showProviders() {
	w.body, w.unchecked = nil, ""
	groups := [...]string{"Ready", "Log in", "Give a key"}
	var sorted [len(groups)][]list.Item
	byID := make(map[string]Provider, len(w.providers))
	for _, p := range w.providers {
		byID[p.ID] = p
		g, it := 2, list.Item{ID: p.ID, Label: p.ID, Detail: keyPages[p.ID]}
		switch {
		case p.Ready != "":
			g, it.Detail, it.Mark = 0, p.Ready, w.env.Styles.Symbols().Done
		case p.Login:
			g, it.Detail = 1, "with the browser"
		}
		it.Group = groups[g]
		sorted[g] = append(sorted[g], it)
	}
	title := "Whom shall burin ask?"
	if len(sorted[0]) > 0 {
		title = "Ready to use; Enter goes on"
	}
	w.put(list.New(w.env, list.Options{
		Title: title, Items: slices.Concat(sorted[:]...), Selected: w.chosen,
		Empty: "There are no providers. Esc goes back, Tab goes on.",
		Hint:  "Enter chooses " + w.env.Styles.Symbols().Dot + " " + addKey.Text() + " gives a key",
		OnChoose: func(id string) {
			w.chosen = id
			switch p := byID[id]; {
			case p.Ready != "":
				w.note = ""
				w.next()
			case p.Login && w.o.Login != nil:
				w.login(id)
			default:
				w.askKey(id)
			}
		},
		OnKey: func(p key.Press, id string) bool {
			if p.Key == addKey && id != "" {
				w.chosen = id
				w.askKey(id)
			}
			return p.Key == addKey
		},
		OnCancel: w.back,
	}))
}

// askKey asks for the key of a provider.
func (w *Wizard) askKey(id string) {
	if w.o.SaveKey == nil {
		w.say("Keys cannot be stored here: set the variable of "+id+" and begin again.", true)
		return
	}
	w.note = ""
	hint := "Paste it here. It is not shown, and is kept sealed on this machine."
	if page := keyPages[id]; page != "" {
		hint = "Keys are made at https://" + page + " . What you paste is not shown, and is kept sealed on this machine."
	}
	var in *list.Input
	in = list.NewInput(w.env, list.InputOptions{
		Title: "The key of " + id, Secret: true, Hint: hint, Validate: keyProblem,
		OnDone: func(text string) { w.tryKey(in, id, strings.TrimSpace(text)) }, OnCancel: w.showProviders,
	})
	w.put(in)
}

// keyProblem says what is wrong with a key before anybody is asked.
func keyProblem(text string) error {
	text = strings.TrimSpace(text)
	switch {
	case text == "":
		return errors.New("there is no key yet; paste it here, or press Esc")
	case strings.ContainsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) || r > unicode.MaxASCII }):
		return errors.New("that is no key: it has spaces or special characters in it")
	}
	return nil
}

// tryKey asks the provider whether it takes a key, and stores it. A key that was not
// taken is stored at the second Enter: the network may be what is missing.
func (w *Wizard) tryKey(in *list.Input, id, text string) {
	if w.o.Check == nil || w.unchecked == text {
		w.saveKey(id, text)
		return
	}
	w.note = ""
	w.start(task{what: "Asking " + id + " whether it takes the key", run: func(ctx context.Context) func() {
		err := w.o.Check(ctx, id, text)
		return func() {
			if err != nil {
				w.unchecked = text
				problem := brief(err)
				if !strings.HasSuffix(problem, ".") && !strings.HasSuffix(problem, "?") {
					problem += "."
				}
				in.SetProblem(problem + " Enter stores it all the same.")
				return
			}
			w.saveKey(id, text)
		}
	}})
}

func (w *Wizard) saveKey(id, text string) {
	did := "The key of " + id + " is stored."
	if w.unchecked == text {
		did = "The key of " + id + " is stored; it was not checked."
	}
	w.unchecked = ""
	w.write("Storing the key", did, func(ctx context.Context) error { return w.o.SaveKey(ctx, id, text) }, func() {})
}

package tui

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/burin-dev/burin/internal/mode/tui/card"
	"github.com/burin-dev/burin/internal/mode/tui/editor"
	"github.com/burin-dev/burin/internal/mode/tui/list"
	"github.com/burin-dev/burin/internal/mode/tui/pane"
	"github.com/burin-dev/burin/internal/mode/tui/selector"
	"github.com/burin-dev/burin/internal/model/catalog"
	"github.com/burin-dev/burin/internal/model/credential"
	"github.com/burin-dev/burin/internal/model/credential/oauth"
	"github.com/burin-dev/burin/llm"
)

// modelCommands are about which model answers, and how it is paid.
func modelCommands() []command {
	return []command{
		{name: "model", aliases: []string{"models", "switch"}, args: "[name]", help: "choose the model and those of the roles", waits: true, run: (*app).openModels},
		{
			name: "thinking", aliases: []string{"effort"}, args: "[level]", help: "how hard the model thinks", needs: aSession, run: (*app).openThinking,
			complete: func(a *app, arg string) []editor.Item {
				var words []string
				for _, l := range a.thinkingLevels() {
					words = append(words, string(l))
				}
				return choices(words...)(a, arg)
			},
		},
		{name: "login", args: "[provider]", help: "log in to a provider, or store a key", run: (*app).openLogin},
		{name: "logout", args: "[provider]", help: "forget logins and keys", run: (*app).openLogin},
		{name: "cost", aliases: []string{"usage", "stats"}, help: "what was spent, by day and model", run: (*app).openUsage},
		{name: "context", help: "what fills the model's window", needs: aSession, run: (*app).openContext},
	}
}

// openModels shows the models, or goes to the one that is named.
func (a *app) openModels(name string) {
	s := a.session
	if name == "" || s == nil {
		a.showModels(name)
		return
	}
	a.ahead("changing the model", func(ctx context.Context) (func(), error) {
		err := s.SetModel(ctx, name)
		if err == nil || ctx.Err() != nil {
			return nil, err
		}
		if e, ok := errors.AsType[*catalog.NotFoundError](err); ok {
			e.Hint = "" // it is for the command line; here the list is shown
			err = e
		}
		return func() { // what comes near it can be chosen
			a.sayError(err)
			a.showModels(name)
		}, nil
	})
}

// showModels shows the models that a query finds.
func (a *app) showModels(name string) {
	models, err := a.o.Host.Models()
	if err != nil {
		a.sayError(err)
		return
	}
	var p pane.Pane
	p = selector.NewModels(a.env, selector.ModelOptions{
		Models: models.All(), Usable: models.Available, Canonical: models.Canonical,
		Current: a.facts.status.Model, Roles: selector.Roles(models.Registry), Query: name,
		OnChoose: func(m *catalog.Model, usable bool) {
			a.remove(p)
			switch {
			case !usable:
				a.openLogin(m.Provider)
			case a.session == nil:
				a.open(Wish{Model: m.Ref()})
			default:
				a.useModel(m.Ref())
			}
		},
		OnRole: func(role, ref string) {
			if err := a.setRole(role, ref); err != nil {
				a.sayError(err)
			}
		},
		OnCancel: func() { a.remove(p) },
	})
	a.push(p)
}

// cycle are the models that a key goes round: those of the roles in cycleOrder.
func (a *app) cycle() []string {
	models, err := a.o.Host.Models()
	if err != nil {
		return nil
	}
	var refs []string
	for _, role := range a.show.cycle {
		for _, r := range selector.Roles(models.Registry) {
			if r.Name == role && r.Ref != "" && !slices.Contains(refs, r.Ref) {
				refs = append(refs, r.Ref)
			}
		}
	}
	return refs
}

func (a *app) openThinking(level string) {
	if level != "" {
		l, err := llm.ParseLevel(level)
		if err != nil {
			a.sayError(err)
			return
		}
		a.session.SetThinking(l)
		return
	}
	s := a.session
	var p pane.Pane
	p = selector.Thinking(a.env, selector.ThinkingOptions{
		Model: a.facts.model.Name, Support: a.facts.model.Thinking, Current: a.facts.status.Thinking,
		OnChoose: func(l llm.Level) {
			a.remove(p)
			if a.still(s) {
				s.SetThinking(l)
			}
		},
		OnCancel: func() { a.remove(p) },
	})
	a.push(p)
}

// thinkingLevels are those that the model knows, the least first.
func (a *app) thinkingLevels() []llm.Level {
	if a.facts.model == nil {
		return nil
	}
	t := a.facts.model.Thinking
	var levels []llm.Level
	for _, l := range llm.Levels() {
		if t.Clamp(l) == l {
			levels = append(levels, l)
		}
	}
	return levels
}

// openLogin shows the providers and what is stored for them, beginning at the one that is
// named.
func (a *app) openLogin(provider string) {
	models, err := a.o.Host.Models()
	if err != nil {
		a.sayError(err)
		return
	}
	read := func() []selector.Provider {
		providers, err := selector.Providers(a.ctx, models)
		if err != nil {
			a.inbox.post(func() { a.sayError(err) })
		}
		return providers
	}
	go func() {
		providers := read()
		a.inbox.post(func() {
			if provider != "" && !slices.ContainsFunc(providers, func(p selector.Provider) bool { return p.ID == provider }) {
				a.say(card.Warning, "There is no provider "+oneLine(provider)+": /login shows those there are, and models.yml adds others.")
				return
			}
			var p *selector.Logins
			again := func() {
				go func() {
					news := read()
					a.inbox.post(func() { p.SetProviders(news) })
				}()
			}
			p = selector.NewLogins(a.env, selector.ProviderOptions{
				Providers: providers, Selected: provider,
				OnLogin: func(provider string) { a.remove(p); a.login(provider) },
				OnKey:   func(provider string) { a.askKey(provider, again) },
				OnLogout: func(provider string) {
					a.runCommand("logging out", "", "logout", provider)
					again()
				},
				OnRemove: func(id int64) {
					if err := models.Keys.Remove(a.ctx, id); err != nil {
						a.sayError(err)
					}
					again()
				},
				OnCancel: func() { a.remove(p) },
			})
			a.push(p)
		})
	}()
}

// sayKey says what to do where a provider refused the key. Where that came from is looked
// for beside the loop.
func (a *app) sayKey(err error) {
	var e *llm.Error
	models, broken := a.o.Host.Models()
	if !errors.As(err, &e) || e.Kind != llm.ErrAuth || e.Provider == "" || broken != nil {
		return
	}
	go func() {
		found, _ := models.Keys.Available(a.ctx, e.Provider) // without the database it is said all the same
		a.inbox.post(func() { a.notice(card.Info, keyWords(e.Provider, found[e.Provider], e.Status)) })
	}()
}

// keyWords say what to do where a provider refused the key that was found there.
func keyWords(provider string, found credential.Found, status int) string {
	from := found.Source
	if strings.HasPrefix(from, "variable ") {
		from = "the " + from
	}
	words := "/login " + provider + " stores another key or logs in anew"
	switch found.From {
	case credential.FromVariable:
		words = "The key came from " + from + ": /login " + provider + " stores another, which is used before it"
	case credential.FromModelsYAML, credential.FromCommandLine:
		words = "The key came from " + from + ": give another one there and start burin again"
	}
	if status == http.StatusForbidden { // the key may be good for others
		words += "; /model chooses another model"
	}
	return words + "."
}

// askKey asks for a key and stores it.
func (a *app) askKey(provider string, stored func()) {
	var p pane.Pane
	p = list.NewInput(a.env, list.InputOptions{
		Title: "Key of " + provider, Secret: true, Hint: "It is stored sealed on this machine. " + a.keyFor("tui.select.cancel") + " stores nothing.",
		OnCancel: func() { a.remove(p) },
		OnDone: func(key string) {
			a.remove(p)
			models, err := a.o.Host.Models()
			if err == nil {
				_, _, err = models.Keys.Add(a.ctx, provider, "", credential.Secret(key))
			}
			if err != nil {
				a.sayError(err)
				return
			}
			a.notice(card.Info, "The key of "+provider+" is stored.")
			stored()
			a.beginIfNone()
		},
	})
	a.push(p)
}

// login logs in with the browser.
func (a *app) login(provider string) {
	models, err := a.o.Host.Models()
	if err != nil {
		a.sayError(err)
		return
	}
	a.task("logging in to "+provider, func(ctx context.Context) (func(), error) {
		info, err := models.Keys.Login(ctx, provider, credential.LoginOptions{}, a.loginUI())
		return func() {
			a.notice(card.Info, fmt.Sprintf("Logged in to %s.", info.Provider))
			a.beginIfNone()
		}, err
	})
}

// loginUI shows what a login needs, and takes the address that the browser ended at.
func (a *app) loginUI() oauth.UI {
	return oauth.UI{
		Open: a.o.OpenPage,
		Show: func(n oauth.Notice) {
			a.inbox.post(func() {
				if n.UserCode != "" {
					a.notice(card.Info, "Open "+n.URL+" and type the code "+n.UserCode)
					return
				}
				a.notice(card.Info, "Log in here; a browser should open by itself:\n"+n.URL)
			})
		},
		Paste: func(ctx context.Context, problem string) (string, error) {
			return await(ctx, a, func(answer func(string, error)) pane.Pane {
				p := list.NewInput(a.env, list.InputOptions{
					Title: "Or paste the address the browser ended at", Hint: "The browser goes on by itself where it can.",
					OnDone:   func(text string) { answer(text, nil) },
					OnCancel: func() { answer("", context.Canceled); a.stop() },
				})
				p.SetProblem(problem)
				return p
			})
		},
	}
}

// beginIfNone opens a session where none could be opened before.
func (a *app) beginIfNone() {
	if a.session == nil && !a.opening {
		a.open(Wish{})
	}
}

package tui

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/burin-dev/burin/internal/mode/tui/card"
	"github.com/burin-dev/burin/internal/mode/tui/key"
	"github.com/burin-dev/burin/internal/mode/tui/list"
	"github.com/burin-dev/burin/internal/mode/tui/pane"
	"github.com/burin-dev/burin/internal/mode/tui/selector"
	"github.com/burin-dev/burin/internal/model/catalog"
	"github.com/burin-dev/burin/internal/model/connect"
	"github.com/burin-dev/burin/internal/model/credential"
	"github.com/burin-dev/burin/internal/model/credential/oauth"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
)

// models are the commands about which model answers, and how it is paid.
type models struct {
	*base
	*current
	show     *appearance
	facts    *facts
	panes    *panes
	work     *work
	asks     *questions
	switcher *switcher
	stop     func() bool // stops what runs
	host     modelHost
	openPage func(url string) error // in the browser
}

// modelHost opens the models, and the keys to them.
type modelHost interface {
	Models() (*connect.Models, error)
}

// openModels shows the models, or goes to the one that is named.
func (ms *models) openModels(name string) {
	s := ms.session
	if name == "" || s == nil {
		ms.showModels(name)
		return
	}
	ms.work.ahead("changing the model", func(ctx context.Context) (func(), error) {
		err := s.Models().SetModel(ctx, name)
		if err == nil || ctx.Err() != nil {
			return func() { ms.chosen.Model = name }, err
		}
		query := name
		if e, ok := errors.AsType[*catalog.NotFoundError](err); ok {
			e.Hint = "" // it is for the command line; here the list is shown
			err = e
			if len(e.Similar) > 0 {
				query = e.Similar[0] // what was typed finds nothing
			}
		}
		return func() { // what comes near it can be chosen
			ms.sayError(err)
			ms.showModels(query)
		}, nil
	})
}

// showModels shows the models that a query finds.
func (ms *models) showModels(name string) {
	models, err := ms.host.Models()
	if err != nil {
		ms.sayError(err)
		return
	}
	known := models.Catalog.Registry
	var p pane.Pane
	p = selector.NewModels(ms.env, selector.ModelOptions{
		Models: known.All(), Usable: known.Available, Canonical: known.Canonical,
		Current: ms.facts.status.Model, Roles: selector.Roles(models.Catalog.Resolver), Query: name,
		OnChoose: func(m *catalog.Model, usable bool) {
			ms.panes.remove(p)
			switch {
			case !usable:
				ms.openLogin(m.Provider)
			case ms.session == nil:
				ms.switcher.open(Wish{Model: m.Ref()})
			default:
				ms.useModel(m.Ref())
			}
		},
		OnRole: func(role, ref string) {
			if err := ms.show.setRole(role, ref); err != nil {
				ms.sayError(err)
			}
		},
		OnCancel: func() { ms.panes.remove(p) },
	})
	ms.panes.push(p)
}

// cycle are the models that a key goes round: those of the roles in cycleOrder, or, where
// fewer than two roles have one, the usable ones of enabledModels, as in pi.
func (ms *models) cycle() []string {
	models, err := ms.host.Models()
	if err != nil {
		return nil
	}
	var refs []string
	for _, role := range ms.show.cycle {
		for _, r := range selector.Roles(models.Catalog.Resolver) {
			if r.Name == role && r.Ref != "" && !slices.Contains(refs, r.Ref) {
				refs = append(refs, r.Ref)
			}
		}
	}
	if len(refs) > 1 {
		return refs
	}
	var enabled []string
	for _, c := range models.Catalog.Resolver.Enabled() {
		if models.Catalog.Registry.Available(c.Model) {
			enabled = append(enabled, c.Model.Ref())
		}
	}
	return enabled
}

func (ms *models) openThinking(level string) {
	if level != "" {
		l, err := llm.ParseLevel(level)
		if err != nil {
			ms.sayError(err)
			return
		}
		ms.think(ms.session, l)
		return
	}
	s := ms.session
	var p pane.Pane
	p = selector.Thinking(ms.env, selector.ThinkingOptions{
		Model: ms.facts.model.Name, Support: ms.facts.model.Thinking, Current: ms.facts.status.Thinking,
		OnChoose: func(l llm.Level) {
			ms.panes.remove(p)
			if ms.still(s) {
				ms.think(s, l)
			}
		},
		OnCancel: func() { ms.panes.remove(p) },
	})
	ms.panes.push(p)
}

// thinkingLevels are those that the model knows, the least first.
func (ms *models) thinkingLevels() []llm.Level {
	if ms.facts.model == nil {
		return nil
	}
	t := ms.facts.model.Thinking
	var levels []llm.Level
	for _, l := range llm.Levels() {
		if t.Clamp(l) == l {
			levels = append(levels, l)
		}
	}
	return levels
}

// logout forgets the logins of a provider; then runs once that is done.
func (ms *models) logout(models *connect.Models, provider string, then func()) {
	ms.work.task("logging out", func(ctx context.Context) (func(), error) {
		n, err := models.Keys.Logout(ctx, provider)
		if err == nil && n == 0 {
			err = fmt.Errorf("no login for %s; to remove a stored key: burin keys remove ID", provider)
		}
		return func() {
			ms.notice(card.Info, "Forgot "+prose.Count(n, "login")+" of "+provider+" on this machine.")
			then()
		}, err
	})
}

// openLogin shows the providers and what is stored for them, beginning at the one that is
// named.
func (ms *models) openLogin(provider string) {
	models, err := ms.host.Models()
	if err != nil {
		ms.sayError(err)
		return
	}
	read := func() []selector.Provider {
		providers, err := selector.Providers(ms.ctx, models)
		if err != nil {
			ms.inbox.post(func() { ms.sayError(err) })
		}
		return providers
	}
	go func() {
		providers := read()
		ms.inbox.post(func() {
			if provider != "" && !slices.ContainsFunc(providers, func(p selector.Provider) bool { return p.ID == provider }) {
				ms.notice(card.Warning, "Unknown provider "+prose.Line(provider)+": /login lists the providers, and models.yml adds more.")
				return
			}
			var p *selector.Logins
			again := func() {
				go func() {
					news := read()
					ms.inbox.post(func() { p.SetProviders(news) })
				}()
			}
			p = selector.NewLogins(ms.env, selector.ProviderOptions{
				Providers: providers, Selected: provider,
				OnLogin: func(provider string) { ms.panes.remove(p); ms.login(provider) },
				OnKey:   func(provider string) { ms.askKey(provider, again) },
				OnLogout: func(provider string) {
					ms.logout(models, provider, again)
				},
				OnRemove: func(id int64) {
					if err := models.Keys.Remove(ms.ctx, id); err != nil {
						ms.sayError(err)
					}
					again()
				},
				OnCancel: func() { ms.panes.remove(p) },
			})
			ms.panes.push(p)
		})
	}()
}

// sayKey says what to do where a provider refused the key. Where that came from is looked
// for beside the loop.
func (ms *models) sayKey(err error) {
	var e *llm.Error
	models, broken := ms.host.Models()
	if !errors.As(err, &e) || e.Kind != llm.ErrAuth || e.Provider == "" || broken != nil {
		return
	}
	go func() {
		found, _ := models.Keys.Available(ms.ctx, e.Provider) // without the database it is said all the same
		ms.inbox.post(func() { ms.notice(card.Info, keyWords(e.Provider, found[e.Provider], e.Status)) })
	}()
}

// keyWords say what to do where a provider refused the key that was found there.
func keyWords(provider string, found credential.Found, status int) string {
	from := found.Source
	if strings.HasPrefix(from, "variable ") {
		from = "the " + from
	}
	words := "/login " + provider + " stores another key or logs in again"
	switch found.From {
	case credential.FromVariable:
		words = "The key came from " + from + ": /login " + provider + " stores another one, which is used first"
	case credential.FromModelsYAML, credential.FromCommandLine:
		words = "The key came from " + from + ": change it there and restart burin"
	}
	if status == http.StatusForbidden { // the key may be good for others
		words += "; /model chooses another model"
	}
	return words + "."
}

// askKey asks for a key and stores it.
func (ms *models) askKey(provider string, stored func()) {
	var p pane.Pane
	p = list.NewInput(ms.env, list.InputOptions{
		Title: "Key of " + provider, Secret: true, Hint: "It is stored encrypted on this machine. " + ms.keyFor("tui.select.cancel") + " stores nothing.",
		OnCancel: func() { ms.panes.remove(p) },
		OnDone: func(key string) {
			ms.panes.remove(p)
			models, err := ms.host.Models()
			if err == nil {
				_, _, err = models.Keys.Add(ms.ctx, provider, "", credential.Secret(key))
			}
			if err != nil {
				ms.sayError(err)
				return
			}
			ms.notice(card.Info, "The key of "+provider+" is stored.")
			stored()
			ms.switcher.beginIfNone()
		},
	})
	ms.panes.push(p)
}

// login logs in with the browser.
func (ms *models) login(provider string) {
	models, err := ms.host.Models()
	if err != nil {
		ms.sayError(err)
		return
	}
	ms.loginTo(provider, func(ctx context.Context, ui oauth.UI) (string, error) {
		info, err := models.Keys.Login(ctx, provider, credential.LoginOptions{}, ui)
		return "Logged in to " + info.Provider + ".", err
	})
}

// loginTo logs in with the browser, as run does it, and says what that says.
func (ms *models) loginTo(name string, run func(context.Context, oauth.UI) (said string, err error)) {
	ms.work.task("logging in to "+name, func(ctx context.Context) (func(), error) {
		said, err := run(ctx, ms.loginUI())
		return func() {
			ms.notice(card.Info, said)
			ms.switcher.beginIfNone()
		}, err
	})
}

// loginUI shows what a login needs, and takes the address that the browser ended at.
func (ms *models) loginUI() oauth.UI {
	return oauth.UI{
		Open: ms.openPage,
		Show: func(n oauth.Notice) {
			ms.inbox.post(func() {
				if n.UserCode != "" {
					ms.notice(card.Info, "Open "+n.URL+" and type the code "+n.UserCode)
					return
				}
				ms.notice(card.Info, "Log in here; a browser should open by itself:\n"+n.URL)
			})
		},
		Paste: func(ctx context.Context, problem string) (string, error) {
			return await(ctx, ms.asks, func(answer func(string, error)) pane.Pane {
				p := list.NewInput(ms.env, list.InputOptions{
					Title: "Or paste the address the browser ended at", Hint: "The browser usually continues by itself.",
					OnDone:   func(text string) { answer(text, nil) },
					OnCancel: func() { answer("", context.Canceled); ms.stop() },
				})
				p.SetProblem(problem)
				return p
			})
		},
	}
}

// think says how hard the model thinks.
func (ms *models) think(s *opened, l llm.Level) {
	if err := s.SetThinking(l); err != nil {
		ms.sayError(err)
		return
	}
	ms.chosen.Thinking = l
}

// cycleThinking goes to the next level that the model knows.
func (ms *models) cycleThinking() {
	levels := ms.thinkingLevels()
	if ms.session == nil || len(levels) < 2 {
		ms.flash("this model has only one thinking level")
		return
	}
	i := slices.Index(levels, ms.facts.status.Thinking)
	next := levels[(i+1)%len(levels)]
	ms.think(ms.session, next)
	ms.flash("thinking: " + string(next) + "; /mode chooses what runs without a question")
}

// cycleModel goes to the model of the next role.
func (ms *models) cycleModel(step int) {
	refs := ms.cycle()
	if ms.session == nil || len(refs) < 2 {
		ms.flash("only one model to switch between: list more in enabledModels, or give one a role in " + ms.keyFor(key.SelectModel))
		return
	}
	i := slices.Index(refs, ms.facts.status.Model)
	ms.useModel(refs[(i+step+len(refs))%len(refs)])
}

// useModel changes the model of the session.
func (ms *models) useModel(selector string) {
	s := ms.session
	ms.work.ahead("changing the model", func(ctx context.Context) (func(), error) {
		err := s.Models().SetModel(ctx, selector)
		return func() { ms.chosen.Model = selector }, err
	})
}

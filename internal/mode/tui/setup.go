package tui

import (
	"context"
	"errors"
	"fmt"

	"github.com/burin-dev/burin/internal/customize/discover"
	"github.com/burin-dev/burin/internal/mode/tui/card"
	"github.com/burin-dev/burin/internal/mode/tui/selector"
	"github.com/burin-dev/burin/internal/mode/tui/theme"
	"github.com/burin-dev/burin/internal/mode/tui/wizard"
	"github.com/burin-dev/burin/internal/model/catalog"
	"github.com/burin-dev/burin/internal/model/connect"
	"github.com/burin-dev/burin/internal/model/credential"
	"github.com/burin-dev/burin/internal/model/credential/oauth"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/transcript/foreign"
)

// setup helps with what burin needs before it works, and with what people like to choose.
type setup struct {
	*base
	*current
	show     *appearance
	facts    *facts
	panes    *panes
	switcher *switcher
	host     modelHost
	openPage func(url string) error // in the browser
	prompt   string                 // to be sent at once; "" is none
	resuming bool                   // the first session is one to resume
	offered  bool                   // it has shown itself once
	exit     *exit
}

// start is what decides whether the setup shows itself.
func (su *setup) start() wizard.Start {
	c := su.show.config
	return wizard.Start{
		Interactive: su.prompt == "", Resuming: su.resuming,
		Enabled: c.Bool("startup.setupWizard"), Seen: c.Int("setupVersion"), Skip: su.getenv("BURIN_SKIP_SETUP"),
	}
}

// offer names the setup in one line, once, where a model works without it.
func (su *setup) offer() {
	if su.offered || !wizard.Needed(su.start()) {
		return
	}
	su.offered = true
	su.notice(card.Info, "New here? /setup chooses the model, theme and permissions, and imports from other tools; /help lists commands and keys.")
	su.show.set("setupVersion", wizard.Version)
}

// welcome shows the one screen for somebody without a usable model. It reports false where
// err says something else, or where the person wants no setup; then left is never called.
// Otherwise it is called when the person leaves the screen without a model.
func (su *setup) welcome(err error, left func()) bool {
	var none *credential.NotFoundError
	if su.offered || !wizard.Wanted(su.start()) || !errors.As(err, &none) || len(none.Disabled) > 0 {
		return false
	}
	su.offered = true // /setup and /login are the ways to come back
	o := su.options()
	o.Quick, o.Demo, o.OnTyped = true, su.demo, su.panes.typed
	o.Reason = "no API key, login or local model server found"
	if len(none.Providers) == 1 {
		o.Wanted = none.Providers[0]
		o.Reason = "no API key for " + o.Wanted
	}
	su.place(o, func(r wizard.Result) {
		switch {
		case r.Ready:
			su.notice(card.Info, "Ready. /model changes the model, /setup sets theme and permissions.")
			su.switcher.beginIfNone()
		case !su.exit.quit:
			su.notice(card.Warning, notOpened(err))
			left()
		}
	})
	return true
}

// open shows the wizard, step by step. Where no session is open, one is opened at its end.
func (su *setup) open(string) {
	o := su.options()
	if su.session != nil {
		o.Check = nil // the session's own key would be put aside for it
	}
	su.place(o, func(r wizard.Result) {
		if r.Finished || r.Ready {
			su.show.set("setupVersion", wizard.Version)
		}
		su.show.apply()
		su.switcher.beginIfNone()
	})
}

// place puts the wizard in the prompt's place until it is done.
func (su *setup) place(o wizard.Options, done func(wizard.Result)) {
	var w *wizard.Wizard
	o.OnDone = func(r wizard.Result) {
		su.panes.remove(w)
		done(r)
	}
	w = wizard.New(su.env, o)
	su.panes.push(w)
}

// options join the wizard to the program.
func (su *setup) options() wizard.Options {
	return wizard.Options{
		Find: su.find, Providers: su.providers, Check: su.checkKey, SaveKey: su.saveKey, Login: su.login,
		Models: su.models, Model: su.facts.status.Model,
		SetModel: func(ref string) error { return su.show.setRole(catalog.RoleDefault, ref) },
		Theme:    su.show.themeName(), ThemeDir: su.show.themeDir(), Symbols: theme.Preset(su.show.symbols),
		Show: func(t *theme.Theme, p theme.Preset) {
			su.show.symbols = string(p)
			su.show.useTheme(t)
		},
		SetTheme: func(t *theme.Theme) error {
			if t.Light {
				return su.show.write("theme.light", t.Name)
			}
			return su.show.write("theme.dark", t.Name)
		},
		SetSymbols:  func(p theme.Preset) error { return su.show.write("symbolPreset", string(p)) },
		Approval:    su.show.config.Text("approval"),
		SetApproval: func(mode string) error { return su.show.write("approval", mode) },
	}
}

// demo leaves the face for the demo.
func (su *setup) demo() {
	su.exit.demo, su.exit.quit = true, true
}

// keeper stores the keys that the wizard takes over.
type keeper struct{ models *connect.Models }

// SetKey is [discover.Store]'s.
func (k keeper) SetKey(ctx context.Context, provider, label, key string) (bool, error) {
	_, added, err := k.models.Keys.Add(ctx, provider, label, credential.Secret(key))
	return added, err
}

// find looks what there is on this machine.
func (su *setup) find(ctx context.Context) []discover.Finding {
	o := discover.Options{
		UserHome: su.home, ConfigDir: su.show.folder, Getenv: su.getenv,
		Variables: func(provider string) []string {
			var names []string
			for _, v := range credential.Variables(provider) {
				names = append(names, v.Name)
			}
			return names
		},
		Conversations: func() []discover.Kept {
			var kept []discover.Kept
			for _, s := range foreign.Default(su.home) {
				kept = append(kept, discover.Kept{Program: string(s.Format), Path: s.Path, Count: s.Files})
			}
			return kept
		},
	}
	if models, err := su.host.Models(); err == nil {
		o.Store = keeper{models}
	}
	return discover.Setups(ctx, o)
}

// providers are those that can be asked, with what makes them ready.
func (su *setup) providers(ctx context.Context) ([]wizard.Provider, error) {
	models, err := su.host.Models()
	if err != nil {
		return nil, err
	}
	known, err := selector.Providers(ctx, models)
	var out []wizard.Provider
	for _, p := range known {
		ready := p.Source
		if p.Keyless && ready == "" {
			ready = "needs no key"
		}
		out = append(out, wizard.Provider{ID: p.ID, Ready: ready, Login: p.Login})
	}
	return out, err
}

// models are the models that can be used now.
func (su *setup) models(context.Context) ([]wizard.Model, error) {
	models, err := su.host.Models()
	if err != nil {
		return nil, err
	}
	first := ""
	if c, err := models.Catalog.Resolver.Initial(catalog.Wish{}); err == nil {
		first = c.Model.Ref()
	}
	var out []wizard.Model
	known := models.Catalog.Registry
	for _, m := range known.All() {
		if !known.Available(m) {
			continue
		}
		w := wizard.Model{Ref: m.Ref(), Name: m.Name, Detail: fmt.Sprintf("%s, %s tokens", m.Provider, prose.Tokens(m.ContextWindow))}
		if w.Ref == first {
			out = append([]wizard.Model{w}, out...)
			continue
		}
		out = append(out, w)
	}
	return out, nil
}

// checkKey asks the provider one cheap thing with a key.
func (su *setup) checkKey(ctx context.Context, provider, key string) error {
	models, err := su.host.Models()
	if err != nil {
		return err
	}
	m := models.Catalog.Registry.Cheapest(provider)
	if m == nil {
		return nil // nothing to ask it for: the first prompt will tell
	}
	models.Keys.Override(provider, credential.Secret(key))
	defer models.Keys.Override(provider, "")
	client, err := models.Client(m, "")
	if err != nil {
		return err
	}
	_, err = llm.Collect(client.Stream(ctx, &llm.Request{
		Model: &m.Model, MaxTokens: 16, Messages: []llm.Message{llm.UserText("Say yes.")},
	}))
	return err
}

// saveKey stores a key.
func (su *setup) saveKey(ctx context.Context, provider, key string) error {
	models, err := su.host.Models()
	if err == nil {
		_, _, err = models.Keys.Add(ctx, provider, "", credential.Secret(key))
	}
	return err
}

// login logs in with the browser.
func (su *setup) login(ctx context.Context, provider string, ui oauth.UI) error {
	models, err := su.host.Models()
	if err != nil {
		return err
	}
	ui.Open = su.openPage
	_, err = models.Keys.Login(ctx, provider, credential.LoginOptions{}, ui)
	return err
}

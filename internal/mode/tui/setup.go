package tui

import (
	"context"
	"fmt"

	"github.com/burin-dev/burin/internal/customize/config"
	"github.com/burin-dev/burin/internal/customize/discover"
	"github.com/burin-dev/burin/internal/mode/tui/selector"
	"github.com/burin-dev/burin/internal/mode/tui/theme"
	"github.com/burin-dev/burin/internal/mode/tui/wizard"
	"github.com/burin-dev/burin/internal/model/catalog"
	"github.com/burin-dev/burin/internal/model/connect"
	"github.com/burin-dev/burin/internal/model/credential"
	"github.com/burin-dev/burin/internal/model/credential/oauth"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/transcript/foreign"
)

// needsSetup reports whether the first-run wizard is shown.
func (a *app) needsSetup() bool {
	c := a.o.Settings
	return wizard.Needed(wizard.Start{
		Interactive: a.o.Prompt == "", Resuming: a.o.Resume || a.o.Choose,
		Enabled: c.Bool("startup.setupWizard"), Seen: c.Int("setupVersion"), Skip: a.o.Getenv("BURIN_SKIP_SETUP"),
	})
}

// openSetup shows the wizard. Where no session is open, one is opened at its end.
func (a *app) openSetup(string) {
	var w *wizard.Wizard
	o := wizard.Options{
		Find: a.findSetups, Providers: a.setupProviders, Check: a.checkKey, SaveKey: a.saveKey, Login: a.setupLogin,
		Models: a.setupModels, Model: a.facts.status.Model,
		SetModel: func(ref string) error { return a.setRole(catalog.RoleDefault, ref) },
		Theme:    a.themeName(), ThemeDir: a.themeDir(), Symbols: theme.Preset(a.show.symbols),
		Show: func(t *theme.Theme, p theme.Preset) {
			a.show.symbols = string(p)
			a.useTheme(t)
		},
		SetTheme: func(t *theme.Theme) error {
			if t.Light {
				return a.writeSetting("theme.light", t.Name)
			}
			return a.writeSetting("theme.dark", t.Name)
		},
		SetSymbols:  func(p theme.Preset) error { return a.writeSetting("symbolPreset", string(p)) },
		Approval:    a.o.Settings.Text("approval"),
		SetApproval: func(mode string) error { return a.writeSetting("approval", mode) },
		OnDone: func(r wizard.Result) {
			a.remove(w)
			if r.Finished || r.Ready {
				a.set("setupVersion", wizard.Version)
			}
			a.applySettings()
			a.beginIfNone()
		},
	}
	if a.session != nil {
		o.Check = nil // the session's own key would be put aside for it
	}
	w = wizard.New(a.env, o)
	a.push(w)
}

func (a *app) themeName() string {
	if a.show.onLight {
		return a.show.light
	}
	return a.show.dark
}

// writeSetting writes a setting beside the loop; what it changes is taken over when the
// wizard has ended.
func (a *app) writeSetting(name string, value any) error {
	return config.Set(a.o.Paths.Config, name, value)
}

// keeper stores the keys that the wizard takes over.
type keeper struct{ models *connect.Models }

// SetKey is [discover.Store]'s.
func (k keeper) SetKey(ctx context.Context, provider, label, key string) (bool, error) {
	_, added, err := k.models.Keys.Add(ctx, provider, label, credential.Secret(key))
	return added, err
}

// findSetups looks what there is on this machine.
func (a *app) findSetups(ctx context.Context) []discover.Finding {
	o := discover.Options{
		UserHome: a.o.Home, ConfigDir: a.o.Paths.Config, Getenv: a.o.Getenv,
		Variables: func(provider string) []string {
			var names []string
			for _, v := range credential.Variables(provider) {
				names = append(names, v.Name)
			}
			return names
		},
		Conversations: func() []discover.Kept {
			var kept []discover.Kept
			for _, s := range foreign.Default(a.o.Home) {
				kept = append(kept, discover.Kept{Program: string(s.Format), Path: s.Path, Count: s.Files})
			}
			return kept
		},
	}
	if models, err := a.o.Host.Models(); err == nil {
		o.Store = keeper{models}
	}
	return discover.Setups(ctx, o)
}

// setupProviders are those that can be asked, with what makes them ready.
func (a *app) setupProviders(ctx context.Context) ([]wizard.Provider, error) {
	models, err := a.o.Host.Models()
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

// setupModels are the models that can be used now.
func (a *app) setupModels(context.Context) ([]wizard.Model, error) {
	models, err := a.o.Host.Models()
	if err != nil {
		return nil, err
	}
	first := ""
	if c, err := models.Initial(catalog.Wish{}); err == nil {
		first = c.Model.Ref()
	}
	var out []wizard.Model
	for _, m := range models.All() {
		if !models.Available(m) {
			continue
		}
		w := wizard.Model{Ref: m.Ref(), Name: m.Name, Detail: fmt.Sprintf("%s, %s tokens", m.Provider, thousands(m.ContextWindow))}
		if w.Ref == first {
			out = append([]wizard.Model{w}, out...)
			continue
		}
		out = append(out, w)
	}
	return out, nil
}

// checkKey asks the provider one cheap thing with a key.
func (a *app) checkKey(ctx context.Context, provider, key string) error {
	models, err := a.o.Host.Models()
	if err != nil {
		return err
	}
	m := cheapest(models, provider)
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

// cheapest is the model of a provider whose answers cost least.
func cheapest(models *connect.Models, provider string) *catalog.Model {
	var best *catalog.Model
	for _, m := range models.All() {
		if m.Provider == provider && (best == nil || m.Price.Output.Known() && m.Price.Output.Dollars() < best.Price.Output.Dollars()) {
			best = m
		}
	}
	return best
}

// saveKey stores a key.
func (a *app) saveKey(ctx context.Context, provider, key string) error {
	models, err := a.o.Host.Models()
	if err == nil {
		_, _, err = models.Keys.Add(ctx, provider, "", credential.Secret(key))
	}
	return err
}

// setupLogin logs in with the browser.
func (a *app) setupLogin(ctx context.Context, provider string, ui oauth.UI) error {
	models, err := a.o.Host.Models()
	if err != nil {
		return err
	}
	ui.Open = a.o.OpenPage
	_, err = models.Keys.Login(ctx, provider, credential.LoginOptions{}, ui)
	return err
}

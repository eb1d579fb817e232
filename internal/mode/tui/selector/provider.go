package selector

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/mode/tui/key"
	"github.com/burin-dev/burin/internal/mode/tui/list"
	"github.com/burin-dev/burin/internal/mode/tui/pane"
	"github.com/burin-dev/burin/internal/mode/tui/screen"
	"github.com/burin-dev/burin/internal/mode/tui/theme"
	"github.com/burin-dev/burin/internal/model/catalog"
	"github.com/burin-dev/burin/internal/model/connect"
	"github.com/burin-dev/burin/internal/model/credential"
)

// Provider is a provider of models, and what is known of its credentials.
type Provider struct {
	ID string
	// Login says that one can log in to it.
	Login   bool
	Keyless bool // needs no key
	// Source says where the credential in use comes from, "" where there is none.
	Source string
	Stored []credential.Info
}

// Providers asks which providers there are and what is stored for them. It may open
// the credential database and belongs in a goroutine. With an error, what could be
// found is returned.
func Providers(ctx context.Context, m *connect.Models) ([]Provider, error) {
	stored, err := m.Keys.List(ctx)
	if err != nil {
		err = fmt.Errorf("list the stored keys: %w", err)
	}
	ids := m.Catalog.Registry.Providers()
	found, ferr := m.Keys.Available(ctx, ids...)
	if err == nil && ferr != nil {
		err = fmt.Errorf("look for keys: %w", ferr)
	}
	logins := m.Logins()
	for _, id := range logins {
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	out := make([]Provider, 0, len(ids))
	for _, id := range ids {
		p := Provider{ID: id, Login: slices.Contains(logins, id), Source: found[id].Source}
		if c, ok := m.Catalog.Registry.Provider(id); ok {
			p.Keyless = c.Auth == catalog.AuthNone
		}
		for _, s := range stored {
			if s.Provider == id {
				p.Stored = append(p.Stored, s)
			}
		}
		out = append(out, p)
	}
	return out, err
}

// ProviderOptions of [NewLogins].
type ProviderOptions struct {
	Providers []Provider
	Selected  string

	OnLogin  func(provider string) // log in with the browser
	OnKey    func(provider string) // ask for an API key and store it
	OnLogout func(provider string) // forget all its logins; a question was answered before
	// OnRemove deletes a stored credential; a question was answered before.
	OnRemove func(id int64)
	OnCancel func()
}

// Keys that the pane of providers has beyond those of lists.
const (
	addKey    key.Key = "ctrl+n"
	forgetKey key.Key = "ctrl+d"
)

// Logins is a pane of the providers: those with a credential, those one can log in
// to, those that want a key. Enter logs in, or asks for a key where there is no login.
type Logins struct {
	env      *pane.Env
	o        ProviderOptions
	list     *list.List
	question *list.List
	byID     map[string]*Provider
}

var _ pane.Pane = (*Logins)(nil)

// NewLogins makes the pane.
func NewLogins(env *pane.Env, o ProviderOptions) *Logins {
	l := &Logins{env: env, o: o}
	dot := " " + env.Styles.Symbols().Dot + " "
	l.list = list.New(env, list.Options{
		Title: "Providers", Items: l.items(), Selected: o.Selected, Empty: "No providers. models.yml can add one.",
		Hint:    "Enter log in" + dot + addKey.Text() + " add a key" + dot + forgetKey.Text() + " forget",
		Preview: l.preview, OnChoose: l.choose, OnKey: l.press, OnCancel: l.cancel,
	})
	return l
}

// SetProviders shows what has changed, as after a login.
func (l *Logins) SetProviders(p []Provider) {
	l.o.Providers = p
	l.list.SetItems(l.items())
}

func (l *Logins) items() []list.Item {
	l.byID = make(map[string]*Provider, len(l.o.Providers))
	groups := [3]string{"Ready", "Log in", "Add a key"}
	var sorted [3][]list.Item
	for i := range l.o.Providers {
		p := &l.o.Providers[i]
		l.byID[p.ID] = p
		g := 2
		switch {
		case p.Source != "" || p.Keyless || len(p.Stored) > 0:
			g = 0
		case p.Login:
			g = 1
		}
		it := list.Item{ID: p.ID, Label: p.ID, Group: groups[g], Detail: l.state(p)}
		if p.Source != "" {
			it.Mark = l.env.Styles.Symbols().Done
		}
		sorted[g] = append(sorted[g], it)
	}
	return slices.Concat(sorted[0], sorted[1], sorted[2])
}

// state says in a few words what a provider has or wants.
func (l *Logins) state(p *Provider) string {
	switch {
	case p.Source != "":
		text := p.Source
		for _, s := range p.Stored {
			if s.Kind == credential.KindOAuth {
				text = "login"
				if n := nameOf(s); n != "" {
					text += " of " + n
				}
				break
			}
		}
		if n := len(p.Stored); n > 1 {
			text += fmt.Sprintf(", %d stored", n)
		}
		return text
	case len(p.Stored) > 0:
		return l.stateOf(p.Stored[0])
	case p.Keyless:
		return "needs no key"
	case p.Login:
		return "not logged in"
	}
	return "no key"
}

func nameOf(s credential.Info) string {
	for _, n := range []string{s.Label, s.Account, s.Hint} {
		if n != "" {
			return n
		}
	}
	return ""
}

// stateOf says whether a stored credential can be used.
func (l *Logins) stateOf(s credential.Info) string {
	switch {
	case s.Problem != "":
		return s.Problem
	case s.Disabled != "":
		return "disabled: " + s.Disabled
	case l.env.Now().Before(s.Blocked):
		return "at its limit until " + s.Blocked.In(l.env.Now().Location()).Format("15:04 on 2 January")
	}
	return "ready"
}

func (l *Logins) preview(id string, width, height int) []string {
	p := l.byID[id]
	s := newSheet(l.env.Styles, width, height)
	s.title(p.ID)
	s.fact("In use", p.Source)
	for _, c := range p.Stored {
		s.blank()
		s.fact(kindOf(c), nameOf(c))
		s.fact("State", l.stateOf(c))
		s.fact("Last used", l.day(c.LastUsed))
	}
	var names []string
	for _, v := range credential.Variables(id) {
		names = append(names, v.Name)
	}
	s.blank()
	s.fact("Variables", strings.Join(names, ", "))
	switch {
	case p.Login:
		s.text("Enter logs in with the browser; "+addKey.Text()+" stores a key.", theme.Muted)
	case p.Keyless:
		s.text("No key needed.", theme.Muted)
	default:
		s.text("Enter asks for a key and stores it encrypted on this machine.", theme.Muted)
	}
	return s.lines
}

func kindOf(c credential.Info) string {
	if c.Kind == credential.KindOAuth {
		return "Login"
	}
	return "Key"
}

func (l *Logins) day(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return t.In(l.env.Now().Location()).Format("2 January 2006, 15:04")
}

func (l *Logins) choose(id string) {
	if p := l.byID[id]; p.Login {
		call(l.o.OnLogin, id)
	} else {
		call(l.o.OnKey, id)
	}
}

func call(f func(string), s string) {
	if f != nil {
		f(s)
	}
}

func (l *Logins) press(p key.Press, id string) bool {
	if p.Key != addKey && p.Key != forgetKey {
		return false
	}
	switch {
	case id == "":
	case p.Key == addKey:
		call(l.o.OnKey, id)
	default:
		l.ask(l.byID[id])
	}
	return true
}

// ask puts the question what to forget in the place of the list. The answer that
// changes nothing is selected.
func (l *Logins) ask(p *Provider) {
	items := []list.Item{{ID: "", Label: "Keep all"}}
	forget := map[string]func(){}
	logins := 0
	for _, c := range p.Stored {
		if c.Kind == credential.KindOAuth {
			logins++
			continue
		}
		id := fmt.Sprint(c.ID)
		items = append(items, list.Item{ID: id, Label: "Delete the key " + nameOf(c), Detail: "stored key " + id})
		forget[id] = func() {
			if l.o.OnRemove != nil {
				l.o.OnRemove(c.ID)
			}
		}
	}
	if logins > 0 {
		items = append(items, list.Item{ID: "logins", Label: fmt.Sprintf("Log out (%d)", logins)})
		forget["logins"] = func() { call(l.o.OnLogout, p.ID) }
	}
	title := "Remove credentials of " + p.ID + "?"
	if len(items) == 1 {
		title = "Nothing is stored for " + p.ID + "."
		if p.Source != "" {
			title += " In use: " + p.Source + "."
		}
		items[0].Label = "Back"
	}
	done := func() { l.question = nil }
	l.question = list.Choice(l.env, list.Options{Title: title, Items: items, OnCancel: done, OnChoose: func(id string) {
		done()
		if f := forget[id]; f != nil {
			f()
		}
	}})
}

func (l *Logins) cancel() {
	if l.o.OnCancel != nil {
		l.o.OnCancel()
	}
}

// Draw is [pane.Pane]'s.
func (l *Logins) Draw(width, height int) ([]string, screen.Cursor) {
	if l.question != nil {
		return l.question.Draw(width, height)
	}
	return l.list.Draw(width, height)
}

// Hover is [pane.Hovered]'s.
func (l *Logins) Hover(h key.Hover) bool {
	if l.question != nil {
		return l.question.Hover(h)
	}
	return l.list.Hover(h)
}

// Handle is [pane.Pane]'s.
func (l *Logins) Handle(ev key.Event) {
	if l.question != nil {
		l.question.Handle(ev)
		return
	}
	l.list.Handle(ev)
}

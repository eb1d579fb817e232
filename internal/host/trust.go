package host

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/burin-dev/burin/internal/customize/config"
	"github.com/burin-dev/burin/internal/customize/hook"
	"github.com/burin-dev/burin/internal/customize/trust"
	"github.com/burin-dev/burin/internal/host/hooks"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/session"
)

// Wanted is something that runs if the person trusts it.
type Wanted struct {
	trust.Item
	Owner   string      `json:"owner"` // whose it is: "Claude Code, project"
	Path    string      `json:"path"`
	Project string      `json:"project"` // the folder for which trust holds
	State   trust.State `json:"state"`
}

// where is the file, as people write it.
func (w *Wanted) where() string {
	if home, err := os.UserHomeDir(); err == nil && home == w.Project && !filepath.IsAbs(w.Name) {
		return "~/" + w.Name
	}
	return w.Name
}

func trustList(h *Host) *trust.List {
	return trust.Open(filepath.Join(h.o.Paths.Data, "trust.json"))
}

// Wanted lists what this folder and the setups of other programs would run, with what the
// person has decided about it.
func (h *Host) Wanted() ([]Wanted, error) {
	found, warnings := hook.Discover(h.Sources())
	for _, w := range warnings {
		h.o.Warn(w)
	}
	return h.WantedOf(found)
}

// ProjectSettings is the owner of a project's settings that need trust.
const ProjectSettings = "settings of the project"

// WantedOf is Wanted for hooks that were found.
func (h *Host) WantedOf(found *hook.Set) ([]Wanted, error) {
	all, err := wantedHooks(h, found)
	if err != nil {
		return nil, err
	}
	list := trustList(h)
	for _, c := range h.commands().List() {
		if c.Repository() == "" {
			continue
		}
		w, err := wantedBy(&c)
		if err != nil {
			h.o.Warn(c.Path + ": " + err.Error())
		}
		if err != nil || w == nil {
			continue
		}
		states, err := list.States(w.Project, []trust.Item{w.Item})
		if err != nil {
			return nil, err
		}
		w.State = states[0]
		all = append(all, *w)
	}
	settings, err := h.Settings()
	if err != nil {
		return nil, err
	}
	file, text, reaching := settings.Reaching()
	if file == "" {
		return all, nil
	}
	project, item := settingsItem(file, text)
	item.What = strings.Join(reaching, "\n")
	states, err := list.States(project, []trust.Item{item})
	if err != nil {
		return nil, err
	}
	return append(all, Wanted{item, ProjectSettings, file, project, states[0]}), nil
}

// settingsItem is the settings file of a project as something to be trusted.
func settingsItem(file string, text []byte) (project string, item trust.Item) {
	folder := filepath.Dir(file)
	name := filepath.Join(filepath.Base(folder), filepath.Base(file))
	return filepath.Dir(folder), trust.Item{Name: filepath.ToSlash(name), Sum: trust.Sum(text)}
}

// trustsSettings says what the person has decided about the settings of a project.
func (h *Host) trustsSettings(file string, text []byte) (trusted, decided bool) {
	project, item := settingsItem(file, text)
	states, err := trustList(h).States(project, []trust.Item{item})
	if err != nil { // who asks about hooks is told why
		return false, false
	}
	return states[0] == trust.Trusted, states[0] == trust.Trusted || states[0] == trust.Refused
}

func wantedHooks(h *Host, found *hook.Set) ([]Wanted, error) {
	list := trustList(h)
	var all []Wanted
	for i := range found.Files {
		f := &found.Files[i]
		if f.Own {
			continue
		}
		states, err := list.States(f.Project, []trust.Item{f.Item})
		if err != nil {
			return nil, err
		}
		all = append(all, Wanted{f.Item, f.Owner, f.Path, f.Project, states[0]})
	}
	return all, nil
}

// Decide remembers what the person has decided about such things.
func (h *Host) Decide(state trust.State, all []Wanted) error {
	list := trustList(h)
	for _, w := range all {
		if err := list.Decide(w.Project, state, []trust.Item{w.Item}); err != nil {
			return err
		}
	}
	return nil
}

// hooked is what a session knows of files with hooks.
type hooked struct {
	mu      sync.Mutex
	trusted map[string]bool // by path
}

func (k *hooked) may(f *hook.File) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return f.Own || k.trusted[f.Path]
}

func (k *hooked) trust(path string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.trusted[path] = true
}

// addHooks lets hooks take part in a session. begin is called when the session is open.
func addHooks(h *Host, o *Session, settings *config.Config) (begin func(*session.Session)) {
	nothing := func(*session.Session) {}
	if settings.Hooks.Enabled != nil && !*settings.Hooks.Enabled || o.Ground.Files != nil {
		return nothing
	}
	found, warnings := hook.Discover(h.Sources())
	for _, w := range warnings {
		o.Warn(w)
	}
	if len(found.Files) == 0 {
		return nothing
	}
	wanted, err := wantedHooks(h, found)
	if err != nil {
		o.Warn("no hook of this folder runs: " + err.Error())
	}
	known := &hooked{trusted: map[string]bool{}}
	var open []Wanted
	for _, w := range wanted {
		switch w.State {
		case trust.Trusted:
			known.trust(w.Path)
		case trust.Unknown, trust.Changed:
			open = append(open, w)
		case trust.Refused:
		}
	}
	transport := o.Ground.HTTP
	if transport == nil {
		transport = http.DefaultTransport
	}
	e := hooks.New(hooks.Options{
		Set: found, May: known.may, Dir: o.Ground.Dir, HTTP: transport, Getenv: h.o.Getenv, Warn: o.Warn,
		Unconfined: settings.Hooks.Confined != nil && !*settings.Hooks.Confined, Resumed: o.Resume != "",
	})
	own := e.Chains()
	o.Chains.Calls = append(o.Chains.Calls, own.Calls...)
	o.Chains.Continue = append(o.Chains.Continue, own.Continue...)
	o.Chains.Compactions = append(o.Chains.Compactions, own.Compactions...)
	o.Hooks = e
	if emit := o.Emit; emit != nil {
		o.Emit = func(ev session.Event) { e.Watch(ev); emit(ev) }
	} else {
		o.Emit = e.Watch
	}
	o.Brief = e.Prompt
	return func(s *session.Session) {
		e.Bind(s)
		askTrust(h, e, known, o, open)
	}
}

// askTrust asks about hooks that nobody has decided about, and lets those that are trusted
// take part from then on. Where nobody can be asked, the person is told.
func askTrust(h *Host, e *hooks.Engine, known *hooked, o *Session, open []Wanted) {
	if len(open) == 0 {
		return
	}
	if o.Desk == nil || !o.Desk.CanAsk() {
		for _, w := range open {
			o.Warn(fmt.Sprintf("%s: its hooks do not run before you trust them: burin trust shows them", w.where()))
		}
		return
	}
	e.Go(func(ctx context.Context) {
		state, err := askOf(ctx, o.Desk, "These hooks want to run by themselves, with the rights of commands:", open)
		if err != nil || state == trust.Unknown {
			return // it is asked again the next time
		}
		if state == trust.Trusted { // first: the person may send a prompt at once
			for _, w := range open {
				known.trust(w.Path)
			}
			e.Start()
		}
		if err := h.Decide(state, open); err != nil {
			o.Warn(err.Error())
		}
	})
}

// askOf asks whether things may run. Unknown is that the person has not decided.
func askOf(ctx context.Context, desk *session.Desk, intro string, all []Wanted) (trust.State, error) {
	const yes, later, never = "Trust it", "Not now", "Never run this"
	reply, err := desk.Ask(ctx, session.Question{Kind: session.AskChoice, Choices: []session.Choice{{
		ID: "trust", Text: inWords(intro, all), Options: []string{yes, later, never}, Recommended: -1,
	}}})
	if err != nil || len(reply.Choices) == 0 {
		return trust.Unknown, err
	}
	switch strings.Join(reply.Choices[0].Selected, "") {
	case yes:
		return trust.Trusted, nil
	case never:
		return trust.Refused, nil
	}
	return trust.Unknown, nil
}

// inWords says what would run, for a question.
func inWords(intro string, all []Wanted) string {
	var b strings.Builder
	b.WriteString(intro + "\n\n")
	for _, w := range all {
		changed := ""
		if w.State == trust.Changed {
			changed = " (changed since you trusted it)"
		}
		fmt.Fprintf(&b, "%s (%s)%s\n", w.where(), w.Owner, changed)
		for line := range strings.SplitSeq(w.What, "\n") {
			fmt.Fprintf(&b, "  %s\n", prose.Inline(line))
		}
	}
	return b.String() + "\nburin trust changes the answer later."
}

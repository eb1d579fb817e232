package host

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"

	files "github.com/burin-dev/burin/internal/customize/command"
	"github.com/burin-dev/burin/internal/customize/config"
	"github.com/burin-dev/burin/internal/customize/hook"
	"github.com/burin-dev/burin/internal/customize/mcpserver"
	"github.com/burin-dev/burin/internal/customize/subagent"
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
		return "~/" + w.File()
	}
	return w.File()
}

// File is the name of the file. Several items may come from one.
func (w *Wanted) File() string {
	return strings.TrimSuffix(strings.TrimSuffix(w.Name, mcpserver.ItemSuffix), languageSuffix)
}

func trustList(h *Host) *trust.List {
	return trust.Open(filepath.Join(h.o.Paths.Data, "trust.json"))
}

// Wanted lists what this folder and the setups of other programs would run or loosen, with what
// the person has decided about it.
func (h *Host) Wanted() ([]Wanted, error) {
	found, warnings := hook.Discover(h.Sources())
	for _, w := range warnings {
		h.o.Warn(w)
	}
	all, warnings, err := h.WantedOf(found, h.FileCommands())
	for _, w := range warnings {
		h.o.Warn(w)
	}
	return all, err
}

// ProjectSettings is the owner of a project's settings that need trust.
const ProjectSettings = "settings of the project"

// WantedOf is Wanted for hooks and commands that were found; agents and settings are looked for.
func (h *Host) WantedOf(found *hook.Set, commands *files.Set) (all []Wanted, warnings []string, err error) {
	if all, err = wantedHooks(h, found); err != nil {
		return nil, nil, err
	}
	for _, c := range commands.List() {
		if c.Repository() == "" {
			continue
		}
		w, err := wantedBy(&c)
		if err != nil {
			warnings = append(warnings, c.Path+": "+err.Error())
		}
		if w != nil {
			all = append(all, *w)
		}
	}
	agents, _ := subagent.Discover(h.Sources()) // what is wrong with them is told where they are listed
	all = append(all, wantedAgents(agents)...)
	for _, f := range projectServers(h) {
		all = append(all, Wanted{Item: f.Item, Owner: f.Owner, Path: f.Path, Project: f.Project})
	}
	all = append(all, wantedLanguageServers(h)...)
	settings, err := h.Settings()
	if err != nil {
		return nil, nil, err
	}
	if file, text, reaching := settings.Reaching(); file != "" {
		project, item := settingsItem(file, text)
		item.What = strings.Join(reaching, "\n")
		all = append(all, Wanted{Item: item, Owner: ProjectSettings, Path: file, Project: project})
	}
	return all, warnings, h.decided(all)
}

// decided fills in what the person has decided.
func (h *Host) decided(all []Wanted) error {
	list := trustList(h)
	for from, to := 0, 0; from < len(all); from = to {
		var items []trust.Item
		for to = from; to < len(all) && all[to].Project == all[from].Project; to++ {
			items = append(items, all[to].Item)
		}
		states, err := list.States(all[from].Project, items)
		if err != nil {
			return err
		}
		for i, state := range states {
			all[from+i].State = state
		}
	}
	return nil
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

func wantedHooks(h *Host, found *hook.Set) (all []Wanted, err error) {
	for i := range found.Files {
		if f := &found.Files[i]; !f.Own {
			all = append(all, Wanted{Item: f.Item, Owner: f.Owner, Path: f.Path, Project: f.Project})
		}
	}
	return all, h.decided(all)
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

// addHooks lets hooks take part in a session. begin is called when the session is open: it asks
// about what waits for trust.
func addHooks(h *Host, o *Session, settings *config.Config) (begin func(*session.Session)) {
	if o.Ground.Files != nil { // nothing of this machine
		return func(*session.Session) {}
	}
	t := &truster{host: h, o: o, found: &hook.Set{}, trusted: map[string]bool{}}
	t.life, t.stop = context.WithCancel(context.Background())
	closed := o.Closed
	o.Closed = func() error {
		t.stop()
		t.asking.Wait()
		if closed == nil {
			return nil
		}
		return closed()
	}
	if settings.Hooks.Enabled != nil && !*settings.Hooks.Enabled {
		return t.begin
	}
	found, warnings := hook.Discover(h.Sources())
	for _, w := range warnings {
		o.Warn(w)
	}
	if len(found.Files) == 0 {
		return t.begin
	}
	t.found = found
	wanted, err := wantedHooks(h, found)
	if err != nil {
		o.Warn("no hook of this folder runs: " + err.Error())
	}
	for _, w := range wanted {
		if w.State == trust.Trusted {
			t.trust(w.Path)
		}
	}
	transport := o.Ground.HTTP
	if transport == nil {
		transport = http.DefaultTransport
	}
	t.hooks = hooks.New(hooks.Options{
		Set: found, May: t.may, Dir: o.Ground.Dir, HTTP: transport, Getenv: h.o.Getenv, Warn: o.Warn,
		Unconfined: settings.Hooks.Confined != nil && !*settings.Hooks.Confined, Resumed: o.Resume != "", Agent: o.agent,
	})
	own := t.hooks.Chains()
	o.Chains.Calls = append(o.Chains.Calls, own.Calls...)
	o.Chains.Continue = append(o.Chains.Continue, own.Continue...)
	o.Chains.Compactions = append(o.Chains.Compactions, own.Compactions...)
	o.Hooks = t.hooks
	if emit := o.Emit; emit != nil {
		o.Emit = func(ev session.Event) { t.hooks.Watch(ev); emit(ev) }
	} else {
		o.Emit = t.hooks.Watch
	}
	if o.Under == nil || o.agent != nil { // a person's words, or the first of an agent's task
		o.Brief = t.hooks.Prompt
	}
	return t.begin
}

// truster knows which hooks of a session may run, and asks about what waits for trust.
type truster struct {
	host  *Host
	o     *Session
	found *hook.Set
	hooks *hooks.Engine // nil: there are none

	life   context.Context
	stop   context.CancelFunc
	asking sync.WaitGroup

	mu      sync.Mutex
	trusted map[string]bool // files of hooks, by path
}

func (t *truster) may(f *hook.File) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return f.Own || t.trusted[f.Path]
}

func (t *truster) trust(path string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.trusted[path] = true
}

// begin runs the hooks of the start, and asks beside the session. Where nobody can be asked, the
// person is told of hooks; settings and commands have words of their own where they matter.
func (t *truster) begin(s *session.Session) {
	if t.hooks != nil {
		t.hooks.Bind(s)
	}
	if t.o.Under != nil {
		return // the session that it works for has asked
	}
	if t.o.Desk != nil && t.o.Desk.CanAsk() {
		t.asking.Go(t.ask)
		return
	}
	if line := waitingAgents(t.host); line != "" {
		t.o.Warn(line)
	}
	wanted, err := wantedHooks(t.host, t.found)
	if err != nil {
		return // it was told
	}
	for _, w := range undecided(wanted) {
		t.o.Warn(fmt.Sprintf("%s: its hooks do not run before you trust them: burin trust shows them", w.where()))
	}
}

// undecided are those that the person has not decided about as they are.
func undecided(all []Wanted) (open []Wanted) {
	for _, w := range all {
		if w.State == trust.Unknown || w.State == trust.Changed {
			open = append(open, w)
		}
	}
	return open
}

// ask asks once about everything that nobody has decided about. Hooks that are trusted take part
// from then on.
func (t *truster) ask() {
	commands, _ := files.Discover(t.host.Sources()) // what is wrong with them is told when one is called
	wanted, _, err := t.host.WantedOf(t.found, commands)
	open := undecided(wanted)
	if err != nil || len(open) == 0 {
		return // who opened the session was told
	}
	state, err := askOf(t.life, t.o.Desk, "This waits for your trust. Hooks run by themselves, what commands use counts when you call them, agents when a model starts them, settings and MCP servers count from the next session on.", open)
	if err != nil || state == trust.Unknown {
		return // it is asked again the next time
	}
	if state == trust.Trusted && t.hooks != nil { // first: the person may send a prompt at once
		for _, w := range open {
			t.trust(w.Path)
		}
		t.hooks.Start()
	}
	if err := t.host.Decide(state, open); err != nil {
		t.o.Warn(err.Error())
	}
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
	const most = 30 // lines
	var b strings.Builder
	b.WriteString(intro + "\n\n")
	lines := 0
	for _, w := range all {
		changed := ""
		if w.State == trust.Changed {
			changed = " (changed since you trusted it)"
		}
		fmt.Fprintf(&b, "%s (%s)%s\n", w.where(), w.Owner, changed)
		for line := range strings.SplitSeq(w.What, "\n") {
			if lines++; lines <= most {
				fmt.Fprintf(&b, "  %s\n", prose.Inline(line))
			}
		}
	}
	if lines > most {
		fmt.Fprintf(&b, "\n%d more lines are not shown here: burin trust shows all.", lines-most)
	}
	return b.String() + "\nburin trust decides about each of them, now or later."
}

// Package inventory lists what burin takes from the setups of programs, its own included: each
// thing with the file it comes from, and for what is not used, why.
//
// Nothing that is found is run. [Take] looks at the files as they are now, in the way sessions
// do, so the list is what the next session has.
package inventory

import (
	"cmp"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/burin-dev/burin/internal/customize/command"
	"github.com/burin-dev/burin/internal/customize/hook"
	"github.com/burin-dev/burin/internal/customize/prompt"
	"github.com/burin-dev/burin/internal/customize/source"
	"github.com/burin-dev/burin/internal/customize/trust"
	"github.com/burin-dev/burin/internal/host"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/internal/sorting"
)

// State says what has become of a thing.
type State string

// The states.
const (
	Used      State = "used"
	Shadowed  State = "shadowed"  // another one of its name wins
	Untrusted State = "untrusted" // it runs or loosens something, and waits for trust
	Off       State = "off"       // switched off
	Invalid   State = "invalid"   // left out, or something in it is wrong
	Unused    State = "unused"    // burin has no use for it yet
)

// Item is one thing.
type Item struct {
	Source string      `json:"source"` // id of the program: "claude"; "" is a folder that settings name
	Owner  string      `json:"owner"`  // for people: "Claude Code, project"
	Kind   source.Kind `json:"kind"`
	Name   string      `json:"name,omitempty"`
	Path   string      `json:"path,omitempty"` // absolute; "" is part of burin
	Line   int         `json:"line,omitempty"`
	State  State       `json:"state"`
	Why    string      `json:"why,omitempty"` // of what is not simply used
}

// taker collects items.
type taker struct {
	host  *host.Host
	o     source.Options
	items []Item
	found *command.Set
}

// Take lists everything, by source in the order in which sources win. warnings are about none of
// them. An error is that of the settings.
func Take(h *host.Host) (items []Item, warnings []string, err error) {
	if _, err := h.Settings(); err != nil {
		return nil, nil, err
	}
	t := &taker{host: h, o: h.Sources()}
	t.instructions()
	rest, err := t.rules()
	if err != nil {
		return nil, nil, err
	}
	rest = append(rest, t.commands()...)
	rest = append(rest, t.skills()...)
	agents, err := t.agents()
	if err != nil {
		return nil, nil, err
	}
	rest = append(rest, agents...)
	if err := t.runs(); err != nil {
		return nil, nil, err
	}
	t.servers()
	t.unused()
	t.off()
	ids, kinds := append(source.IDs(), ""), source.Kinds()
	sorting.Stable(t.items, func(a, b Item) int {
		return cmp.Or(cmp.Compare(slices.Index(ids, a.Source), slices.Index(ids, b.Source)), cmp.Compare(slices.Index(kinds, a.Kind), slices.Index(kinds, b.Kind)))
	})
	return t.items, rest, nil
}

// add adds an item of an owner, as "Claude Code, project" names it.
func (t *taker) add(i Item) {
	program, _, _ := strings.Cut(i.Owner, ", ")
	for _, s := range source.All() {
		if s.Name == program {
			i.Source = s.ID
		}
	}
	if i.Kind == source.Additions { // which of the two it is makes no difference to people
		i.Kind = source.Instructions
	}
	i.Name, i.Why = prose.Inline(prose.Line(i.Name)), prose.Inline(prose.Line(i.Why))
	t.items = append(t.items, i)
}

// one adds a thing that is used, or is shadowed by another.
func (t *taker) one(kind source.Kind, owner, name, path, shadowedBy string) {
	i := Item{Kind: kind, Owner: owner, Name: name, Path: path, State: Used}
	if shadowedBy != "" {
		i.State, i.Why = Shadowed, shadowedBy+" is used instead"
	}
	t.add(i)
}

var position = regexp.MustCompile(`^(?::(\d+))?(?::\d+)?: `)

// faults adds warnings to the places that they are about, and gives those that are about none.
func (t *taker) faults(warnings []string, kinds ...source.Kind) (rest []string) {
	for _, w := range warnings {
		if path, _, _ := strings.Cut(w, ": "); !filepath.IsAbs(path) && slices.Contains(kinds, source.Instructions) {
			w = filepath.Join(t.o.Root, filepath.FromSlash(path)) + strings.TrimPrefix(w, path)
		}
		if !t.fault(w, kinds) {
			rest = append(rest, w)
		}
	}
	return rest
}

func (t *taker) fault(w string, kinds []source.Kind) bool {
	for _, kind := range kinds {
		for _, p := range source.Places(t.o, kind) {
			below, ok := strings.CutPrefix(w, p.Path)
			if !ok || below == "" || below[0] != ':' && below[0] != filepath.Separator {
				continue
			}
			i := Item{Kind: kind, Owner: p.Owner(), Path: w, State: Invalid}
			for at := len(p.Path); at < len(w); at++ {
				if m := position.FindStringSubmatch(w[at:]); m != nil {
					i.Path, i.Why = w[:at], w[at+len(m[0]):]
					i.Line, _ = strconv.Atoi(m[1])
					break
				}
			}
			t.add(i)
			return true
		}
	}
	return false
}

func (t *taker) instructions() {
	found := prompt.Discover(t.o)
	for _, f := range found.Files {
		owner := f.Source
		if owner == "" { // it is imported, and so its importer's
			owner = t.items[len(t.items)-1].Owner
		}
		t.one(source.Instructions, owner, filepath.Base(f.Name), f.Path, "")
	}
	for _, f := range found.Shadowed {
		t.one(source.Instructions, f.Source, filepath.Base(f.Name), f.Path, f.ShadowedBy)
	}
	for _, w := range t.faults(found.Warnings, source.Instructions, source.Additions) {
		t.add(Item{Kind: source.Instructions, Owner: "AGENTS.md, project", State: Invalid, Why: w})
	}
}

func (t *taker) rules() (rest []string, err error) {
	set, warnings, err := t.host.Rules()
	if err != nil {
		return nil, err
	}
	for i := range set.List() {
		r := &set.List()[i]
		item := Item{Kind: source.Rules, Owner: r.Source, Name: r.Name + " (" + r.When() + ")", Path: r.Path, State: Used}
		if r.Off != "" {
			item.Name, item.State, item.Why = r.Name, Off, r.Off
			if by, ok := strings.CutPrefix(r.Off, "hidden by "); ok {
				item.State, item.Why = Shadowed, by+" is used instead"
			}
		}
		t.add(item)
	}
	return t.faults(warnings, source.Rules), nil
}

func (t *taker) commands() (rest []string) {
	set, warnings := command.Discover(t.o)
	t.found = set
	for _, c := range slices.Concat(set.List(), set.Shadowed()) {
		t.one(source.Commands, c.Source, "/"+c.Name, c.Path, c.ShadowedBy)
	}
	return t.faults(warnings, source.Commands)
}

func (t *taker) skills() (rest []string) {
	set := t.host.Skills()
	for _, k := range slices.Concat(set.List(), set.Shadowed()) {
		path := k.Path
		if k.Bundled() {
			path = ""
		}
		t.one(source.Skills, k.Source, k.Name, path, k.ShadowedBy)
	}
	return t.faults(set.Warnings(), source.Skills)
}

func (t *taker) agents() (rest []string, err error) {
	set, warnings, err := host.AgentsOf(t.host).Find()
	if err != nil {
		return nil, err
	}
	for _, d := range set.List() {
		item := Item{Kind: source.Agents, Owner: d.Source, Name: d.Name, Path: d.Path, State: Used}
		switch {
		case host.WaitsForTrust(d):
			item.State = Untrusted
			item.Why, _, _ = strings.Cut(d.Off, ";") // what to do is told beside it
		case d.Off != "":
			item.State, item.Why = Off, d.Off
		case d.ShadowedBy != "":
			item.State, item.Why = Shadowed, d.Status()
		}
		t.add(item)
	}
	return t.faults(warnings, source.Agents), nil
}

// runs adds what runs or loosens something: hooks, shell lines of commands, settings.
func (t *taker) runs() error {
	found, warnings := hook.Discover(t.o)
	t.faults(warnings, source.Hooks)
	wanted, _, err := t.host.WantedOf(found, t.found)
	if err != nil {
		return err
	}
	states := map[string]host.Wanted{}
	for _, w := range wanted {
		states[w.Path] = w
	}
	settings, err := t.host.Settings()
	if err != nil {
		return err
	}
	enabled := settings.Hooks.Enabled == nil || *settings.Hooks.Enabled
	for _, f := range found.Files {
		for i := range f.Hooks {
			item := Item{Kind: source.Hooks, Owner: f.Owner, Name: f.Hooks[i].String(), Path: f.Path, State: Used}
			switch w := states[f.Path]; {
			case !enabled:
				item.State, item.Why = Off, "switched off by hooks.enabled"
			case !f.Own && w.State != trust.Trusted:
				item.State, item.Why = Untrusted, untrusted(w.State)
			}
			t.add(item)
		}
	}
	for _, u := range found.Unmapped {
		t.add(Item{Kind: source.Hooks, Owner: u.Owner, Name: u.Event, Path: u.Path, Line: u.Line, State: Unused, Why: "burin has no such moment"})
	}
	for _, w := range wanted {
		at := slices.IndexFunc(t.items, func(i Item) bool { return i.Path == w.Path && i.Kind == source.Commands && i.State == Used })
		switch {
		case w.State == trust.Trusted:
		case at >= 0:
			t.items[at].State, t.items[at].Why = Untrusted, "what it runs or sets: "+untrusted(w.State)
		case w.Owner == host.ProjectSettings:
			t.add(Item{Kind: source.Settings, Owner: "burin, project", Name: strings.ReplaceAll(w.What, "\n", ", "), Path: w.Path, State: Untrusted, Why: untrusted(w.State)})
		}
	}
	return nil
}

func untrusted(s trust.State) string {
	switch s {
	case trust.Refused:
		return "you refused to trust it"
	case trust.Changed:
		return "changed since you trusted it"
	case trust.Trusted, trust.Unknown:
	}
	return "not trusted yet"
}

// off adds what sources that are switched off have.
func (t *taker) off() {
	o := t.o
	o.Off = nil
	seen := map[string]bool{}
	for _, kind := range source.Kinds() {
		for _, p := range source.Places(o, kind) {
			if !slices.Contains(t.o.Off, p.Source.ID) || !kind.Used() || seen[p.Path] {
				continue
			}
			if _, err := os.Lstat(p.Path); err == nil {
				seen[p.Path] = true
				t.add(Item{Kind: kind, Owner: p.Owner(), Name: filepath.Base(p.Path), Path: p.Path, State: Off, Why: "switched off by disabledSources"})
			}
		}
	}
}

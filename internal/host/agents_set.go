package host

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/burin-dev/burin/internal/customize/subagent"
	"github.com/burin-dev/burin/internal/customize/trust"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/internal/sorting"
)

// Agents are the agents that models of sessions in the folder may start, as the files and
// settings have them now: those that settings disable, and those of a project that the person
// doesn't trust, are left out.
func (h *Host) Agents() *subagent.Set {
	set, warnings, err := AgentsOf(h).Find()
	if err != nil {
		h.o.Warn("only the agents that are part of burin can be started: " + err.Error())
		set = (&subagent.Set{}).WithBundled()
	}
	for _, w := range warnings {
		if strings.HasPrefix(w, "task.") { // what is wrong with files is told where they are listed
			h.o.Warn(w)
		}
	}
	h.agents.Store(set)
	return set
}

// Definitions are the definitions of agents in a host's folder: those that are off too.
type Definitions struct{ host *Host }

// AgentsOf are the definitions of agents in the host's folder.
func AgentsOf(h *Host) Definitions { return Definitions{h} }

// Find finds the agents as they are now. Warnings say what was left out or not understood.
func (ds Definitions) Find() (*subagent.Set, []string, error) {
	h := ds.host
	settings, err := h.Settings()
	if err != nil {
		return nil, nil, err
	}
	found, warnings := subagent.Discover(h.Sources())
	wanted := wantedAgents(found)
	if err := h.decided(wanted); err != nil { // nothing is trusted
		warnings = append(warnings, err.Error())
	}
	states := map[string]trust.State{}
	for _, w := range wanted {
		states[w.Path] = w.State
	}
	models := maps.Clone(settings.Task.AgentModelOverrides)
	if bound := boundModels(h); len(bound) > 0 {
		all := maps.Clone(bound)
		maps.Copy(all, models)
		models = all
	}
	set := found.WithBundled().Edit(func(d *subagent.Definition) {
		d.Trusted = d.Trusted || states[d.Path] == trust.Trusted
		switch {
		case slices.ContainsFunc(settings.Task.DisabledAgents, d.Is):
			d.Off = "disabled by task.disabledAgents"
		case d.Off == "" && !d.Trusted:
			d.Off = untrustedAgent(states[d.Path])
		}
		for name, model := range models {
			if d.Is(name) {
				d.Models = []string{model}
			}
		}
	})
	return set, append(warnings, agentSettings(h, set)...), nil
}

// boundModels are the models of agents that models.yml names.
func boundModels(h *Host) map[string]string {
	models, err := h.Models()
	if err != nil {
		return nil // who asks a model is told why
	}
	return models.Catalog.Resolver.AgentModels()
}

// agentSettings says what is wrong with settings about agents.
func agentSettings(h *Host, set *subagent.Set) (wrong []string) {
	settings, err := h.Settings()
	if err != nil {
		return nil
	}
	unknown := func(key, name string) {
		if slices.ContainsFunc(set.List(), func(d *subagent.Definition) bool { return d.Is(name) }) {
			return
		}
		near := ""
		if like := set.Near(name); len(like) > 0 {
			near = " (did you mean " + strings.Join(like, " or ") + "?)"
		}
		wrong = append(wrong, fmt.Sprintf("%s: no agent %s%s: burin agents lists them", key, prose.Short(name, 60), near))
	}
	for _, name := range settings.Task.DisabledAgents {
		unknown("task.disabledAgents", name)
	}
	if len(settings.Task.AgentModelOverrides) == 0 {
		return wrong
	}
	models, err := h.Models()
	for _, name := range slices.Sorted(maps.Keys(settings.Task.AgentModelOverrides)) {
		unknown("task.agentModelOverrides", name)
		selector := settings.Task.AgentModelOverrides[name]
		if err != nil || models.Catalog.Resolver.Unset(selector) { // who asks a model is told why; the session's model
			continue
		}
		if _, err := models.Catalog.Resolver.Resolve(selector); err != nil {
			wrong = append(wrong, fmt.Sprintf("task.agentModelOverrides.%s: %v", name, err))
		}
	}
	return wrong
}

// WaitsForTrust reports whether an agent isn't used because the person doesn't trust it.
func WaitsForTrust(d *subagent.Definition) bool {
	return slices.ContainsFunc([]trust.State{trust.Unknown, trust.Changed, trust.Refused}, func(s trust.State) bool { return d.Off == untrustedAgent(s) })
}

func untrustedAgent(s trust.State) string {
	switch s {
	case trust.Refused:
		return "you refused to trust it; burin trust --allow changes that"
	case trust.Changed:
		return "changed since you trusted it; burin trust shows it"
	case trust.Trusted, trust.Unknown:
	}
	return "not trusted yet; burin trust shows it"
}

// waitingAgents is the note that agents of the project wait for trust; "" if none does, or if the
// session didn't ask for agents.
func waitingAgents(h *Host) string {
	set := h.agents.Load()
	if set == nil {
		return ""
	}
	var names []string
	for _, d := range set.List() {
		if WaitsForTrust(d) && d.Off != untrustedAgent(trust.Refused) {
			names = append(names, d.Name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("%s of this project can't be started before you trust them: %s (burin trust shows them)",
		prose.Count(len(names), "agent"), prose.Short(strings.Join(names, ", "), 200))
}

// wantedAgents are the agents of projects, which need trust: their words are those of somebody
// else, and so is the model that the person pays for.
func wantedAgents(found *subagent.Set) (all []Wanted) {
	for _, d := range found.List() {
		if !d.Project || d.Off != "" {
			continue
		}
		name, err := filepath.Rel(d.Repository, d.Path)
		if err != nil {
			continue
		}
		what := "agent " + d.Name + ": " + prose.Short(d.Description, 200)
		for _, f := range d.Facts() {
			what += "\n" + f.Name + ": " + f.Value
		}
		all = append(all, Wanted{
			Item:  trust.Item{Name: filepath.ToSlash(name), What: what, Sum: d.Sum},
			Owner: d.Source, Path: d.Path, Project: d.Repository,
		})
	}
	sorting.Stable(all, func(a, b Wanted) int { return cmp.Compare(a.Project, b.Project) })
	return all
}

package catalog

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/burin-dev/burin/llm"
)

// Names of the roles burin uses itself. Settings may name others.
const (
	RoleDefault    = "default"
	RoleSmol       = "smol" // quick and cheap: titles, summaries
	RoleSlow       = "slow" // thorough
	RoleVision     = "vision"
	RoleTranscribe = "transcribe" // writes recordings down
	RolePlan       = "plan"
	RoleDesigner   = "designer"
	RoleCommit     = "commit"
	RoleTask       = "task"
	RoleAdvisor    = "advisor" // reads what the model does
)

var knownRoles = []string{RoleDefault, RoleSmol, RoleSlow, RoleVision, RoleTranscribe, RolePlan, RoleDesigner, RoleCommit, RoleTask, RoleAdvisor}

// roleVariables are the environment variables that set a role, the first one
// that is set wins.
var roleVariables = map[string][]string{
	RoleDefault: {"BURIN_MODEL"},
	RoleSmol:    {"BURIN_SMOL_MODEL", "PI_SMOL_MODEL"},
	RoleSlow:    {"BURIN_SLOW_MODEL", "PI_SLOW_MODEL"},
	RolePlan:    {"BURIN_PLAN_MODEL", "PI_PLAN_MODEL"},
}

// RoleVariable is what the environment sets a role to, and the variable that does; "" if none.
func RoleVariable(role string, getenv func(string) string) (selector, name string) {
	for _, name := range roleVariables[role] {
		if s := strings.TrimSpace(getenv(name)); s != "" {
			return s, name
		}
	}
	return "", ""
}

// RoleSelector is what a role is set to, and where: the command line, then the
// environment, the settings, and modelBindings of models.yml last, because the
// settings are what a person changes and the bindings come with a provider.
func (r *Resolver) RoleSelector(role string) (selector, from string) {
	if s := r.roleFlags[role]; s != "" {
		return s, "the command line"
	}
	if s, name := RoleVariable(role, r.sources.getenv); s != "" {
		return s, name
	}
	if s := r.roles[role]; s != "" {
		return s, "modelRoles"
	}
	if s := r.sources.config.ModelBindings.ModelRoles[role]; s != "" {
		return s, "modelBindings of models.yml"
	}
	return "", ""
}

// AgentModels are the models of agents that modelBindings of models.yml names, by agent.
func (r *Resolver) AgentModels() map[string]string {
	return r.sources.config.ModelBindings.AgentModelOverrides
}

// Roles lists the names of all roles: those burin uses and those that are set.
func (r *Resolver) Roles() []string {
	names := slices.Clone(knownRoles)
	for _, m := range []map[string]string{r.roleFlags, r.roles, r.sources.config.ModelBindings.ModelRoles} {
		for _, name := range slices.Sorted(maps.Keys(m)) {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// Role resolves a role. A role may be set to another one and then means what
// that one means; a level it adds itself wins. A role that is not set means
// what default means, and default, if it is not set either, is chosen as by
// [Resolver.Initial].
func (r *Resolver) Role(name string) (Choice, error) {
	var level llm.Level
	path := []string{name}
	for {
		selector, from := r.RoleSelector(name)
		if selector == "" {
			if name == RoleDefault {
				c, err := r.fallback()
				return c.with(level), err
			}
			if !slices.Contains(r.Roles(), name) {
				return Choice{}, fmt.Errorf("no role %q%s", name, didYouMean(name, r.Roles()))
			}
			name = RoleDefault
		} else {
			target, own, isRole := r.roleTarget(selector)
			if level == "" {
				level = own
			}
			if !isRole {
				c, err := r.resolve(selector)
				if err != nil {
					return Choice{}, fmt.Errorf("role %s (%s): %w", name, from, err)
				}
				return c.with(level), nil
			}
			name = target
		}
		if slices.Contains(path, name) {
			return Choice{}, fmt.Errorf("the model roles form a circle: %s", strings.Join(append(path, name), " → "))
		}
		path = append(path, name)
	}
}

func (c Choice) with(l llm.Level) Choice {
	if l != "" {
		c.Level = l
	}
	return c
}

// Unset reports whether a selector stands for a role that isn't set.
func (r *Resolver) Unset(selector string) bool {
	role, _, ok := r.roleTarget(selector)
	if !ok {
		return false
	}
	set, _ := r.RoleSelector(role)
	return set == ""
}

// roleTarget says whether a role's selector names another role.
func (r *Resolver) roleTarget(selector string) (role string, level llm.Level, ok bool) {
	if role, level, ok = roleAlias(selector); ok {
		return role, level, true
	}
	if slices.Contains(r.Roles(), selector) {
		return selector, "", true
	}
	rest, suffix := cutSuffix(selector)
	if l, err := llm.ParseLevel(suffix); err == nil && slices.Contains(r.Roles(), rest) {
		return rest, l, true
	}
	return "", "", false
}

// roleAlias reads "pi/role[:level]" and "burin/role[:level]".
func roleAlias(s string) (role string, level llm.Level, ok bool) {
	for _, prefix := range []string{"burin/", "pi/"} {
		rest, found := strings.CutPrefix(s, prefix)
		if !found || rest == "" {
			continue
		}
		name, suffix := cutSuffix(rest)
		if l, err := llm.ParseLevel(suffix); err == nil {
			return name, l, true
		}
		return rest, "", true
	}
	return "", "", false
}

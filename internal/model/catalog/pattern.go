package catalog

import (
	"slices"
	"strings"

	"github.com/burin-dev/burin/llm"
)

// Match lists the models that patterns name, as in enabledModels and --models:
// a canonical id stands for all its variants, provider/id for that model, a
// pattern with "*" or "?" for all models whose id or provider/id fits, and
// anything else for what [Resolver.Resolve] makes of it. ":level" may follow
// each. Models of disabled providers are left out, and no model comes twice.
// Patterns that fit nothing are returned beside the models.
func (r *Resolver) Match(patterns []string) (choices []Choice, unmatched []string) {
	seen := map[string]bool{}
	for _, p := range patterns {
		found := r.match(strings.TrimSpace(p))
		if len(found) == 0 {
			unmatched = append(unmatched, p)
		}
		for _, c := range found {
			if !seen[c.Model.Ref()] {
				seen[c.Model.Ref()] = true
				choices = append(choices, c)
			}
		}
	}
	return choices, unmatched
}

// Enabled lists the models of enabledModels, in their order.
func (r *Resolver) Enabled() []Choice {
	choices, _ := r.Match(r.enabled)
	return choices
}

func (r *Resolver) match(pattern string) []Choice {
	forms := []struct {
		text  string
		level llm.Level
	}{{pattern, ""}}
	if rest, suffix := cutSuffix(pattern); suffix != "" {
		if level, err := llm.ParseLevel(suffix); err == nil {
			forms = append(forms, struct {
				text  string
				level llm.Level
			}{rest, level})
		}
	}
	for _, f := range forms {
		if models := r.matchModels(f.text); len(models) > 0 {
			var out []Choice
			for _, m := range models {
				out = append(out, Choice{Model: m, Level: f.level})
			}
			return out
		}
	}
	if c, err := r.Resolve(pattern); err == nil && !strings.ContainsAny(pattern, "*?") {
		return []Choice{c}
	}
	return nil
}

func (r *Resolver) matchModels(pattern string) []*Model {
	if strings.ContainsAny(pattern, "*?") {
		fits := r.globs(pattern)
		return slices.DeleteFunc(slices.Clone(r.registry.All()), func(m *Model) bool {
			return r.registry.disabled[m.Provider] || !fits(&m.Model)
		})
	}
	if provider, id, ok := llm.SplitRef(pattern); ok {
		if m, ok := r.registry.Lookup(provider, id); ok {
			return r.registry.enabled([]*Model{m})
		}
	}
	return r.registry.enabled(r.registry.Variants(pattern))
}

// globs is the test whether a model fits a pattern with "*" or "?". It is made once for thousands of
// models: to ask the registry for each of them takes 10 ms of a start.
func (r *Resolver) globs(pattern string) func(*llm.Model) bool {
	p := strings.ToLower(pattern)
	provider, _, _ := strings.Cut(pattern, "/")
	named := r.registry.Knows(provider) // openai/* is that provider's, not what a gateway files under openai/
	return func(m *llm.Model) bool {
		return glob(p, strings.ToLower(m.Ref())) || !named && glob(p, strings.ToLower(m.ID))
	}
}

// Fits reports whether a model is one of those that patterns name, as [Resolver.Match] lists them.
// It may be of a disabled provider.
func (r *Resolver) Fits(m *llm.Model, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		p = strings.TrimSpace(p)
		if strings.ContainsAny(p, "*?") {
			rest, suffix := cutSuffix(p)
			return r.globs(p)(m) || suffix != "" && r.globs(rest)(m)
		}
		return slices.ContainsFunc(r.match(p), func(c Choice) bool { return c.Model.Ref() == m.Ref() })
	})
}

// glob matches "*" with any text, slashes too, and "?" with any one byte.
func glob(pattern, s string) bool {
	star, mark := -1, 0
	i := 0
	for j := 0; j < len(s); {
		switch {
		case i < len(pattern) && (pattern[i] == '?' || pattern[i] == s[j]) && pattern[i] != '*':
			i++
			j++
		case i < len(pattern) && pattern[i] == '*':
			star, mark = i, j
			i++
		case star >= 0:
			mark++
			i, j = star+1, mark
		default:
			return false
		}
	}
	return strings.Trim(pattern[i:], "*") == ""
}

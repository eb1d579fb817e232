package catalog

import (
	"fmt"
	"slices"
	"strings"

	"github.com/burin-dev/burin/llm"
)

// Choice is a model someone meant, and how it shall think.
type Choice struct {
	Model *Model
	Level llm.Level // "" where the selector named none
	// Note says how a loose selector was understood, for showing to the person
	// who wrote it; "" where it named the model outright.
	Note string
}

// NotFoundError says that nothing goes by that name.
type NotFoundError struct {
	Selector string
	What     string   // "model" or "provider"
	Similar  []string // what may have been meant, likeliest first
	Hint     string   // what to do about it
}

func (e *NotFoundError) Error() string {
	text := fmt.Sprintf("no %s %q", e.What, e.Selector)
	if len(e.Similar) > 0 {
		text += "; did you mean " + strings.Join(e.Similar, " or ") + "?"
	}
	if e.Hint != "" {
		text += " (" + e.Hint + ")"
	}
	return text
}

// AmbiguousError says that a selector fits models of different kinds.
type AmbiguousError struct {
	Selector   string
	Candidates []string // "provider/id", in order of preference
}

func (e *AmbiguousError) Error() string {
	shown, more := e.Candidates, ""
	if len(shown) > maxCandidates {
		more = fmt.Sprintf(" and %d more", len(shown)-maxCandidates)
		shown = shown[:maxCandidates]
	}
	return fmt.Sprintf("%q fits %d models: %s%s; name one of them", e.Selector, len(e.Candidates), strings.Join(shown, ", "), more)
}

// maxCandidates is how many candidates a message names.
const maxCandidates = 8

// Resolver says which model a selector or a role means.
type Resolver struct {
	sources   *sources
	registry  *Registry
	enabled   []string          // the models to choose from; nil = all
	roles     map[string]string // of the settings
	roleFlags map[string]string // of the command line
}

// Resolve finds the model a selector means:
//
//	provider/id        that model; never another
//	canonical id       the preferred one of the models behind it
//	id                 the preferred one of the models with that id
//	part of an id      the best fit; the newest of one family; else [*AmbiguousError]
//
// Each may be followed by ":level". An id may itself hold ":" and "/", so the
// whole text is tried before a level is taken off its end. "pi/role" and
// "burin/role" mean what the role means. Case matters only to tell apart what
// differs in nothing else.
func (r *Resolver) Resolve(selector string) (Choice, error) {
	selector = strings.TrimSpace(selector)
	if role, level, ok := roleAlias(selector); ok {
		c, err := r.Role(role)
		if err == nil && level != "" {
			c.Level = level
		}
		return c, err
	}
	return r.resolve(selector)
}

func (r *Resolver) resolve(selector string) (Choice, error) {
	if selector == "" {
		return Choice{}, fmt.Errorf("no model named: want provider/id")
	}
	rest, suffix := cutSuffix(selector)
	level, levelErr := llm.ParseLevel(suffix)
	var unusable *Choice // named outright, but only providers without credentials have it
	for _, text := range []string{selector, rest} {
		c, ok, err := r.exact(text)
		if err != nil {
			return Choice{}, err
		}
		if !ok {
			continue
		}
		if text != selector {
			if levelErr != nil {
				return Choice{}, fmt.Errorf("%s exists, but %w", rest, levelErr)
			}
			c.Level = level
		}
		if r.registry.Available(c.Model) || strings.EqualFold(text, c.Model.Ref()) {
			return c, nil
		}
		if unusable == nil {
			unusable = &c
		}
	}
	if levelErr != nil {
		rest, level = selector, ""
	}
	c, err := r.loose(rest, unusable != nil)
	if err != nil && unusable != nil {
		return *unusable, nil
	}
	return c.with(level), err
}

// cutSuffix splits at the last ":".
func cutSuffix(s string) (rest, suffix string) {
	i := strings.LastIndexByte(s, ':')
	if i < 0 {
		return s, ""
	}
	return s[:i], s[i+1:]
}

// exact tries the ways in which a text names a model outright. A disabled
// provider named outright is an error, not a reason to take another.
func (r *Resolver) exact(s string) (Choice, bool, error) {
	if provider, id, ok := llm.SplitRef(s); ok {
		if m, ok := r.lookupNamed(provider, id); ok {
			if r.registry.disabled[m.Provider] {
				return Choice{}, false, fmt.Errorf("the provider %s is disabled here by disabledProviders", m.Provider)
			}
			return Choice{Model: m}, true, nil
		}
	}
	if s == "" {
		return Choice{}, false, nil
	}
	for _, form := range []string{s, versionSign(s, '.', '-'), versionSign(s, '-', '.')} {
		if vs := r.registry.enabled(r.registry.Variants(form)); len(vs) > 0 {
			return Choice{Model: vs[0], Note: note(s, vs)}, true, nil
		}
	}
	if vs := r.registry.enabled(r.registry.preferred(r.registry.indexed().byID[strings.ToLower(s)])); len(vs) > 0 {
		return Choice{Model: vs[0], Note: note(s, vs)}, true, nil
	}
	if c, ok := r.retired(s); ok {
		return c, true, nil
	}
	return Choice{}, false, nil
}

func note(selector string, variants []*Model) string {
	if len(variants) == 1 {
		return ""
	}
	return fmt.Sprintf("%s is %s, the preferred of %d", selector, variants[0].Ref(), len(variants))
}

// lookupNamed is Lookup that forgives upper and lower case and a version with
// dots for dashes, and knows the routing suffixes of OpenRouter.
func (r *Resolver) lookupNamed(provider, id string) (*Model, bool) {
	for _, form := range []string{id, versionSign(id, '.', '-'), versionSign(id, '-', '.')} {
		if m, ok := r.registry.Lookup(provider, form); ok {
			return m, true
		}
	}
	if !r.registry.Knows(strings.ToLower(provider)) && !r.registry.Knows(provider) {
		return nil, false
	}
	for _, m := range r.registry.indexed().byID[strings.ToLower(id)] {
		if strings.EqualFold(m.Provider, provider) {
			return m, true
		}
	}
	if base, route := cutSuffix(id); provider == "openrouter" && slices.Contains(openRouterRoutes, route) {
		if m, ok := r.registry.Lookup(provider, base); ok {
			routed := *m
			routed.ID, routed.Price.Unreliable = id, true // another host may charge another price
			return &routed, true
		}
	}
	return nil, false
}

// openRouterRoutes may follow any model id of OpenRouter and choose a host:
// openrouter.ai/docs, model variants.
var openRouterRoutes = []string{"nitro", "floor", "exacto", "online", "extended"}

// retired understands names under which a model used to be sold as two: with
// "-thinking", or with the level, at the end. The live name always wins, since
// this is asked only when there is none.
func (r *Resolver) retired(s string) (Choice, bool) {
	rest, suffix, ok := cutLast(s, "-")
	if !ok {
		return Choice{}, false
	}
	level := llm.LevelDefault
	if suffix != "thinking" {
		l, err := llm.ParseLevel(suffix)
		if err != nil || l == llm.LevelOff || !strings.Contains(rest, "gemini-") {
			return Choice{}, false
		}
		level = l
	}
	c, found, err := r.exactName(rest)
	if !found || err != nil || c.Model.Thinking.Mode == llm.ThinkingNone {
		return Choice{}, false
	}
	c.Level = level
	c.Note = fmt.Sprintf("%s is %s now", s, c.Model.Ref())
	return c, true
}

func cutLast(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i <= 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// exactName is exact without the retired names, so that these are not stacked.
func (r *Resolver) exactName(s string) (Choice, bool, error) {
	if provider, id, ok := llm.SplitRef(s); ok {
		if m, ok := r.lookupNamed(provider, id); ok && !r.registry.disabled[m.Provider] {
			return Choice{Model: m}, true, nil
		}
	}
	if vs := r.registry.enabled(r.registry.Variants(s)); len(vs) > 0 {
		return Choice{Model: vs[0]}, true, nil
	}
	return Choice{}, false, nil
}

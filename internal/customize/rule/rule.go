// Package rule finds the rules that people write for models, in burin's folders and in those
// of other programs, and says when each of them matters.
//
// [Discover] reads the files once and gives a [Set]. What becomes of a rule is its [Use]:
//
//   - Always: its text is part of the system prompt ([Set.Sections]).
//   - Files: its text joins the result of the first call that reads or changes a matching
//     file ([Set.For]).
//   - Described: the model sees its name and description, and reads it by address
//     ([Set.Read]).
//   - Stream: a pattern in an answer stops it, and the model answers again with the rule
//     before it ([Monitor]).
//   - Manual: it is read by address, where a person asks for it.
//
// A rule is words for the model and grants nothing, so that a repository may bring rules
// without being trusted. What a repository brings must lie in it: links that lead out are
// refused.
//
// Where two rules have one name, the first in the order of package source wins; the rules
// that burin brings itself come last. The others are kept in the list, with what hides them.
package rule

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/burin-dev/burin/internal/customize/source"
	"github.com/burin-dev/burin/internal/prose"
)

// Limits. What lies beyond is left out or cut, and a warning says so.
const (
	MaxRules = 500      // files that are looked at
	MaxText  = 32 << 10 // bytes of one rule
	maxDepth = 4        // folders in folders
	maxName  = 100      // bytes

	maxAlways    = 64 << 10 // bytes of all rules in the system prompt
	maxListed    = 100      // rules that the system prompt lists
	maxDescribed = 300      // characters of a description there
)

// Use says when a rule reaches the model.
type Use string

// The uses.
const (
	Always    Use = "always"    // in the system prompt
	Files     Use = "files"     // with the first matching file
	Described Use = "described" // the model reads it when its description fits
	Stream    Use = "stream"    // when its pattern appears in an answer
	Manual    Use = "manual"    // when somebody names it
)

// Rule is a rule that was found.
type Rule struct {
	Name        string // of the file, with the folders below that of rules: "react", "web/forms"
	Path        string // of the file; "" for burin's own
	Source      string // for people: "Cursor, project"
	Description string // one line; may be empty
	Text        string // without the head of the file
	Use         Use
	Globs       []string // files it is about; of a stream rule, the only ones that it watches
	// Off says why the rule does nothing; "" means that it is on.
	Off string
	// Builtin marks the rules that burin brings.
	Builtin bool

	base       string // folder that globs start from; "" is the workspace
	conditions []string
	scopes     []scope
	interrupt  string // interruptMode; "" is that of the settings
}

// Conditions returns the patterns of a stream rule.
func (r *Rule) Conditions() []string { return slices.Clone(r.conditions) }

// Options say where rules are looked for, and which are off.
type Options struct {
	source.Options
	Disabled  []string // names of rules that are off
	NoBuiltin bool     // without burin's own
	NoStream  bool     // stream rules are off
}

// Set holds the rules that were found. It does not change.
type Set struct {
	all    []Rule // in the order in which they win, hidden ones included
	byName map[string]*Rule
}

// List returns all rules in the order in which they win, with those that are off. It must not
// be changed.
func (s *Set) List() []Rule {
	if s == nil {
		return nil
	}
	return s.all
}

// on yields the rules of a use that are on.
func (s *Set) on(use Use) (rules []*Rule) {
	for i := range s.List() {
		if r := &s.all[i]; r.Use == use && r.Off == "" {
			rules = append(rules, r)
		}
	}
	return rules
}

// newSet settles which rule of a name is used.
func newSet(found []Rule, o Options) *Set {
	s := &Set{all: found, byName: map[string]*Rule{}}
	for i := range s.all {
		r := &s.all[i]
		key := strings.ToLower(r.Name)
		first, taken := s.byName[key]
		switch {
		case taken:
			r.Off = "hidden by " + cmp.Or(first.Path, "burin's own rule")
			continue
		case slices.Contains(o.Disabled, r.Name):
			r.Off = "turned off by ttsr.disabledRules"
		case r.Builtin && o.NoBuiltin:
			r.Off = "turned off by ttsr.builtinRules"
		case r.Use == Stream && o.NoStream:
			r.Off = "turned off by ttsr.enabled"
		}
		s.byName[key] = r
	}
	return s
}

// Read returns the text of a rule by its address, rule://name.
func (s *Set) Read(_ context.Context, url string) (string, error) {
	name := strings.Trim(strings.TrimPrefix(url, "rule://"), "/")
	r, ok := s.byName[strings.ToLower(name)]
	if ok && r.Off == "" {
		return r.Text, nil
	}
	if ok {
		return "", fmt.Errorf("rule://%s: %s", name, r.Off)
	}
	var names []string
	for i := range s.all {
		if r := &s.all[i]; r.Off == "" && !r.Builtin {
			names = append(names, r.Name)
		}
	}
	slices.Sort(names)
	if len(names) == 0 {
		return "", fmt.Errorf("rule://%s: no such rule; this workspace has no rules", name)
	}
	if n := len(names) - maxListed; n > 0 {
		names = append(names[:maxListed], fmt.Sprintf("and %d more", n))
	}
	return "", fmt.Errorf("rule://%s: no such rule; there are %s", name, strings.Join(names, ", "))
}

// Section is a part of the system prompt.
type Section struct{ Name, Text string }

// Sections returns what the system prompt says about rules: those that always hold, and the
// list of those that the model reads itself. Equal rules give equal bytes.
func (s *Set) Sections() (sections []Section, warnings []string) {
	left := maxAlways
	for _, r := range s.on(Always) {
		text := r.Block()
		if len(text) > left {
			warnings = append(warnings, fmt.Sprintf("%s: left out of the system prompt: the rules before it fill the %d KB there are for rules that always apply", r.where(), maxAlways>>10))
			continue
		}
		left -= len(text)
		if len(sections) == 0 {
			text = "# Rules\n\nRules of the user and the repository. They never widen what is permitted.\n\n" + text
		}
		sections = append(sections, Section{r.where(), text})
	}
	if list := s.Listed(); list != "" {
		sections = append(sections, Section{"list of rules", list})
	}
	return sections, warnings
}

// Always are the rules that always hold.
func (s *Set) Always() []*Rule { return s.on(Always) }

// Listed is the list of rules that the model reads itself; "" if there are none.
func (s *Set) Listed() string {
	var b strings.Builder
	n := 0
	for i := range s.List() {
		r := &s.all[i]
		if r.Off != "" || r.Description == "" || r.Use != Described && r.Use != Files {
			continue
		}
		if n++; n > maxListed {
			continue
		}
		fmt.Fprintf(&b, "- %s", r.Name)
		if len(r.Globs) > 0 {
			fmt.Fprintf(&b, " (%s)", prose.Cut(strings.Join(r.Globs, ", "), maxDescribed))
		}
		fmt.Fprintf(&b, ": %s\n", prose.Cut(prose.Line(r.Description), maxDescribed))
	}
	if n == 0 {
		return ""
	}
	if n > maxListed {
		fmt.Fprintf(&b, "[%d more rules are not listed.]\n", n-maxListed)
	}
	return "# More rules\n\nWhen your work touches one of these, read it first, at rule:// and its name, and follow it.\n\n" + b.String()
}

// where names a rule for people.
func (r *Rule) where() string { return cmp.Or(r.Path, "burin's rule "+r.Name) }

// Block is the rule as the model reads it.
func (r *Rule) Block() string {
	return r.Marker() + "\n" + r.Text + "\n</rule>"
}

// Marker is the line that begins the rule wherever the model reads it.
func (r *Rule) Marker() string { return fmt.Sprintf("<rule name=%q>", r.Name) }

// For returns the rules that are about a file, by its absolute path. workspace is the folder
// that the globs of the user's own rules start from.
func (s *Set) For(file, workspace string) (rules []*Rule) {
	for _, r := range s.on(Files) {
		if r.About(file, workspace) {
			rules = append(rules, r)
		}
	}
	return rules
}

// Texts are rules as the model reads them.
func Texts(rules []*Rule) string {
	var b strings.Builder
	for _, r := range rules {
		b.WriteString(r.Block() + "\n")
	}
	return b.String()
}

// About reports whether a file is one of those that the globs name; without globs, every file
// is.
func (r *Rule) About(file, workspace string) bool {
	return len(r.Globs) == 0 || matches(r.Globs, file, cmp.Or(r.base, workspace))
}

// matches reports whether a file matches one of the globs, which start from base. A glob
// without a slash is about names in all folders, and one that names a folder about all that
// is below it, as in ignore files.
func matches(globs []string, file, base string) bool {
	rel := file
	if base != "" {
		var err error
		if rel, err = filepath.Rel(base, file); err != nil || !filepath.IsLocal(rel) {
			return false
		}
	}
	rel = filepath.ToSlash(rel)
	name := rel[strings.LastIndexByte(rel, '/')+1:]
	for _, g := range globs {
		subject := rel
		if !strings.Contains(g, "/") {
			subject = name
			g, _ = strings.CutPrefix(g, "**")
			if g == "" {
				return true
			}
		}
		g = strings.TrimPrefix(g, "/")
		if doublestar.MatchUnvalidated(g, subject) || doublestar.MatchUnvalidated(g+"/**", rel) {
			return true
		}
	}
	return false
}

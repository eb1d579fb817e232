// Package subagent finds the definitions of agents: files that say who works on a task that a
// model hands to another. It reads burin's own, those of other programs, and a few that are
// part of the program.
//
// [Discover] reads the files once and gives a [Set]; [Set.WithBundled] adds burin's own, which
// come last, so that a file can replace each. [Set.All] are the agents that a model may start.
//
// What it promises:
//
//   - A definition is text and choices among what the parent has. It never widens what is
//     permitted. Only that of burin's own folders may name a program that does the work.
//   - Of a repository it is somebody else's text with somebody else's model. The package says
//     where a definition is from ([Definition.Project]) and the sum of its file; the caller
//     decides whether the person trusts it, and turns it off with [Set.Edit] if not.
//   - Names of tools are burin's. What another program calls its tools is translated; a tool
//     that burin doesn't have is a warning, and so is what can't be understood. The rest of the
//     file counts.
//   - Left out is what has no description, no text, or a name that can't be used.
//
// Where two agents have one name, the first in the order of package source wins. The others are
// listed by [Set.List].
package subagent

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/burin-dev/burin/internal/customize/source"
	"github.com/burin-dev/burin/internal/fuzzy"
	"github.com/burin-dev/burin/llm"
)

// Limits. What lies beyond is left out, and a warning says so.
const (
	MaxFile        = source.MaxFile // bytes of a file
	MaxAgents      = 300            // files that are looked at
	MaxDescription = 1024           // characters; more is cut
	maxName        = 64             // characters
	maxDepth       = 4              // folders in folders
)

// Definition says who an agent is and what it may use.
type Definition struct {
	Name, Description string
	// Aliases are other names that find it where no file has them.
	Aliases  []string
	Prompt   string          // what the agent is told of its part
	Tools    []string        // burin's names; nil is all that the parent has
	Spawns   []string        // agents that it may start; "*" is any, nil is none
	Models   []string        // selectors or roles, of which the first usable counts; nil is the parent's model
	Thinking llm.Level       // "" is the model's default
	Output   json.RawMessage // JSON schema, of an object, of the result; nil is text
	Blocking bool            // who starts it always waits for it
	Skills   []string        // that it knows from the start
	Requests int             // soft budget of requests; 0 is the setting
	Isolated *bool           // whether it works in a copy of the repository; nil is as the call says
	// ACP is the program, with arguments, of another agent that does the work in place of a model;
	// nil: a model does. ACPEnv are variables that it gets, as NAME or NAME=VALUE.
	ACP, ACPEnv []string

	Source string // for people: "Claude Code, project"
	Path   string // of the file; "" is part of burin
	// Project says that the file is of a project, and Repository the folder for which trust holds.
	Project    bool
	Repository string
	Sum        string // of the file's content; "" for those that are not of a project
	Trusted    bool   // it is not of a project, or the caller has found that the person trusts it
	// Off says why the agent isn't used; "" is that it is.
	Off string
	// ShadowedBy is the path of the agent of the same name that is used instead. Only [Set.List]
	// fills it in.
	ShadowedBy string

	known string // the name by which the pi family has it, whose file takes its place
}

// Is reports whether a name is the agent's, or an alias.
func (d *Definition) Is(name string) bool {
	same := func(own string) bool { return strings.EqualFold(own, name) }
	return same(d.Name) || slices.ContainsFunc(d.Aliases, same)
}

// Names are those by which hooks of several programs may mean the agent: its own, its aliases,
// and the way in which Claude Code writes names such as Explore.
func (d *Definition) Names() []string {
	_, n := utf8.DecodeRuneInString(d.Name)
	return append([]string{d.Name, strings.ToUpper(d.Name[:n]) + d.Name[n:]}, d.Aliases...)
}

// Bundled reports whether the agent is part of the program.
func (d *Definition) Bundled() bool { return d.Path == "" }

// Set holds the agents that were found, in the order in which they win.
type Set struct {
	found []*Definition
}

// Of is a set of definitions that were not found but made.
func Of(definitions ...*Definition) *Set { return &Set{found: definitions} }

// All are the agents that can be started, in the order in which they win. The definitions must
// not be changed.
func (s *Set) All() []*Definition {
	var all []*Definition
	taken := winners{}
	for _, d := range s.found {
		if d.Off == "" && taken.take(d) == nil {
			all = append(all, d)
		}
	}
	return all
}

// winners are the agents that have a name, by name.
type winners map[string]*Definition

// take gives a definition its name; who has it already is returned.
func (w winners) take(d *Definition) *Definition {
	for _, name := range []string{d.Name, d.known} {
		if other := w[name]; other != nil {
			return other
		}
	}
	w[d.Name] = d
	return nil
}

// List are copies of all that were found, those included that are off or shadowed, in the order
// in which they win.
func (s *Set) List() []*Definition {
	list := make([]*Definition, 0, len(s.found))
	taken := winners{}
	for _, d := range s.found {
		c := *d
		if d.Off == "" {
			if other := taken.take(d); other != nil {
				c.ShadowedBy = other.Path
			}
		}
		list = append(list, &c)
	}
	return list
}

// Get finds an agent that can be started by its name, or by an alias. Upper and lower case are
// one where no name is the same to the letter.
func (s *Set) Get(name string) (*Definition, bool) {
	all := s.All()
	for _, same := range []func(*Definition) bool{
		func(d *Definition) bool { return d.Name == name },
		func(d *Definition) bool { return strings.EqualFold(d.Name, name) },
		func(d *Definition) bool { return d.Is(name) },
	} {
		if i := slices.IndexFunc(all, same); i >= 0 {
			return all[i], true
		}
	}
	return nil, false
}

// Why says why an agent of that name isn't used; "" if none was found.
func (s *Set) Why(name string) string {
	for _, d := range s.found {
		if d.Off != "" && d.Is(name) {
			return d.Off
		}
	}
	return ""
}

// Near are names of agents like one that isn't there, at most three.
func (s *Set) Near(name string) (near []string) {
	const names = 3
	name = strings.ToLower(name)
	wrong := max(1, min(3, len(name)/2)) // letters at most
	all := s.All()
	for d := 1; d <= wrong; d++ {
		for _, k := range all {
			if len(near) < names && fuzzy.Distance(name, strings.ToLower(k.Name), wrong) == d {
				near = append(near, k.Name)
			}
		}
	}
	return near
}

// Edit gives a set of copies that change has changed. What it turns off leaves its name to the
// next.
func (s *Set) Edit(change func(*Definition)) *Set {
	out := &Set{found: make([]*Definition, len(s.found))}
	for i, d := range s.found {
		c := *d
		change(&c)
		out.found[i] = &c
	}
	return out
}

// Package skill finds skills: folders with a SKILL.md that tells a model how to do one kind
// of task, in the Agent Skills format (agentskills.io). It reads burin's own, those of other
// programs, and a few that are part of the program.
//
// [Discover] looks into the folders once, reads the beginnings of the files, and gives a
// [Set]. The model is told names and descriptions ([Set.Section]) and reads a skill when a
// task fits it ([Set.Read]); a person calls one with "/skill:" and its name ([Set.Expand]).
// Both read the file as it is then.
//
// What it promises:
//
//   - A skill is text for the model and nothing else. allowed-tools, hooks and `!` lines in it
//     are read by nobody, and scripts beside it run only through the rules for commands.
//   - Nothing outside of a skill's folder can be read through it. A link of a repository leads
//     nowhere but to another folder of skills in it.
//   - What breaks the format and can still be used is used, and a warning says what to
//     correct. Left out is what has no text, no name that can be written after "/skill:", or
//     more than [MaxFile] bytes.
//
// Where two skills have one name, the first in the order of package source wins, then the
// folders that settings name, then what is bundled; the others are listed by [Set.Shadowed].
package skill

import (
	"slices"
	"strings"

	"github.com/burin-dev/burin/internal/customize/source"
	"github.com/burin-dev/burin/internal/fuzzy"
)

// Limits. What lies beyond is left out, and a warning says so.
const (
	MaxFile        = source.MaxFile // bytes of a file
	MaxSkills      = 500            // skills
	MaxName        = 64             // characters, as the format has it
	MaxDescription = 1024           // characters, the same; more is cut
	maxCompatible  = 500            // characters of compatibility, the same
	maxHead        = 8 << 10        // bytes that are read of each file to list it
	maxDepth       = 6              // folders in folders of Options.Folders
	maxFolders     = 2000           // that are looked into below one of them
)

// Options say where skills are looked for.
type Options struct {
	source.Options
	Folders   []string // looked into with all folders below them, after the sources; absolute
	Ignored   []string // patterns of names that are left out
	Included  []string // patterns of the only names that count; empty is all
	NoBundled bool     // leave out what is part of the program
	// NoCommands leaves skills to the model: a person cannot call them.
	NoCommands bool
}

// Skill is one that was found.
type Skill struct {
	Name        string
	Description string // one line
	Path        string // of its SKILL.md; "skill://name" where it is part of the program
	Source      string // for people: "Claude Code, project"
	License     string
	// Unlisted keeps it from the model's list, and Uncallable from a person's: what its author
	// wrote as disable-model-invocation and user-invocable.
	Unlisted, Uncallable bool
	// ShadowedBy is the path of the skill of the same name that is used instead.
	ShadowedBy string

	home home
}

// Bundled reports whether the skill is part of the program.
func (s *Skill) Bundled() bool { return s.home.bundled }

// Set holds the skills that were found.
type Set struct {
	list     []Skill // by name
	shadowed []Skill
	warnings []string
	refused  map[string]string // by name of the folder: the warning
	commands bool              // a person can call them
}

// List are the skills by name. The slice must not be changed.
func (s *Set) List() []Skill { return s.list }

// Callable are the skills that a person may call, by name.
func (s *Set) Callable() []Skill {
	if !s.commands {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(s.list), func(k Skill) bool { return k.Uncallable })
}

// Shadowed are those that another one hides, by name. The slice must not be changed.
func (s *Set) Shadowed() []Skill { return s.shadowed }

// Warnings say in one line each what is wrong with skills, and what was left out; at most 50.
func (s *Set) Warnings() []string { return s.warnings }

// Lookup finds a skill by its name.
func (s *Set) Lookup(name string) (Skill, bool) {
	i, ok := slices.BinarySearchFunc(s.list, name, func(k Skill, name string) int { return strings.Compare(k.Name, name) })
	if !ok {
		return Skill{}, false
	}
	return s.list[i], true
}

// UnknownError is the error for a name that no skill has.
type UnknownError struct {
	Name    string
	Refused string   // why a skill of that name was left out; "" is that there is none
	Near    []string // names like it
}

func (e *UnknownError) Error() string {
	switch {
	case e.Refused != "":
		return e.Refused
	case len(e.Near) > 0:
		return "no skill " + e.Name + " (did you mean " + strings.Join(e.Near, " or ") + "?)"
	}
	return "no skill " + e.Name
}

// find is Lookup with an error that helps.
func (s *Set) find(name string) (Skill, error) {
	if k, ok := s.Lookup(name); ok {
		return k, nil
	}
	e := &UnknownError{Name: name, Refused: s.refused[name]}
	const names = 3
	wrong := max(1, min(3, len(name)/2)) // letters at most
	like := func(fits func(known string) bool) {
		for _, k := range s.list {
			if len(e.Near) < names && fits(k.Name) {
				e.Near = append(e.Near, k.Name)
			}
		}
	}
	for d := 1; d <= wrong; d++ {
		like(func(known string) bool { return fuzzy.Distance(strings.ToLower(name), known, wrong) == d })
	}
	if len(e.Near) == 0 && len(name) > 2 {
		like(func(known string) bool { return strings.Contains(known, strings.ToLower(name)) })
	}
	return Skill{}, e
}

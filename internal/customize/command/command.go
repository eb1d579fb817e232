// Package command finds commands that are files: Markdown whose text becomes the prompt
// when a person writes "/" and its name. It reads burin's own and those of other
// programs, so that a team's commands work here as they are.
//
// [Discover] looks into the folders once and gives a [Set]; call it when a person first
// types "/", and again where the folder changes. It reads the beginnings of files;
// [Set.Expand] reads the file it needs, so that a change counts at once.
//
// What it promises:
//
//   - A command is words for the model. Its @files stay as they are written; [Command.Attached] names
//     them for the caller, who attaches them by the rules that hold for the model. Its shell
//     lines run only through [Run], with which the caller decides; see [Command.Repository].
//   - model, thinking, tools and allowed-tools are read and told. The caller puts them to work,
//     and decides whether a repository may: it must not widen what may run without a question.
//   - A link that leads out of the folder of commands, and a file above [MaxFile], is
//     refused with one line that says so.
//   - Arguments are put in once: what a person writes is never expanded again.
//
// Commands that are part of burin come last, so that a file can take the place of each.
//
// Where two commands have one name, the first in the order of package source wins, and
// commands before prompts; the others are listed by [Set.Shadowed]. The forerunners put
// some users' before projects'; one rule is easier to remember, and what is nearer is meant.
package command

import (
	"cmp"
	"strings"

	"github.com/burin-dev/burin/internal/customize/source"
	"github.com/burin-dev/burin/internal/sorting"
)

// Limits. What lies beyond is left out, and a warning says so.
const (
	MaxFile     = source.MaxFile // bytes of a file
	MaxCommands = 1000           // files that are looked at
	MaxExpanded = 1 << 20        // bytes of a prompt
	maxHead     = 16 << 10       // bytes that are read of each file to list it
	maxDepth    = 4              // folders in folders
	maxName     = 100            // bytes
)

// Command is a command that is a file.
type Command struct {
	Name   string // without "/"; sub-folders are part of it, as "git:commit"
	Path   string // of the file
	Source string // for people: "Claude Code, project"
	// Description is one short line: of the file's head, else its first line of text.
	Description string
	// Hint says which arguments it takes, as its author wrote it; may be empty.
	Hint string
	// Model, Thinking, Tools and Allow are what the author wants for the prompt's turn; see the
	// package comment. Tools are the only ones to offer, Allow the calls that run without a
	// question, by the names that the author's program has for them.
	Model, Thinking string
	Tools, Allow    []string
	// ShadowedBy is the path of the command of the same name that is used instead.
	ShadowedBy string

	place source.Place // the folder of commands it is read from again
	file  string       // its name there
	kind  kind
	text  string // of one that is part of the program, or was read when it was called
}

// Repository is the repository that a command comes from; "" if it is the user's own.
func (c *Command) Repository() string { return c.place.Repository }

// kind is the form of a file.
type kind uint8

const (
	markdown kind = iota
	toml          // Gemini's
)

// Options say where commands are looked for.
type Options = source.Options

// Set holds the commands that were found.
type Set struct {
	list     []Command // by name
	shadowed []Command
	byName   map[string]int // lower case
}

// List are the commands by name. The slice must not be changed.
func (s *Set) List() []Command { return s.list }

// Shadowed are those that another one hides, by name. The slice must not be changed.
func (s *Set) Shadowed() []Command { return s.shadowed }

// Lookup finds a command by its name; upper and lower case are one. Codex's may be
// called "prompts:name" too, as Codex does.
func (s *Set) Lookup(name string) (Command, bool) {
	i, ok := s.byName[strings.ToLower(name)]
	if !ok {
		var short string
		if short, ok = strings.CutPrefix(strings.ToLower(name), "prompts:"); ok {
			i, ok = s.byName[short]
		}
	}
	if !ok {
		return Command{}, false
	}
	return s.list[i], true
}

// newSet orders commands that are given in the order in which they win.
func newSet(found []Command) *Set {
	s := &Set{byName: make(map[string]int, len(found))}
	first := map[string]string{}
	for _, c := range found {
		name := strings.ToLower(c.Name)
		if path, taken := first[name]; taken {
			c.ShadowedBy = path
			s.shadowed = append(s.shadowed, c)
			continue
		}
		first[name] = c.Path
		s.list = append(s.list, c)
	}
	byName := func(a, b Command) int {
		return cmp.Or(strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)), strings.Compare(a.Path, b.Path))
	}
	sorting.Stable(s.list, byName)
	sorting.Stable(s.shadowed, byName)
	for i, c := range s.list {
		s.byName[strings.ToLower(c.Name)] = i
	}
	return s
}

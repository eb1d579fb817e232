package command

import (
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/burin-dev/burin/internal/customize/source"
	"github.com/burin-dev/burin/internal/prose"
)

// form is how a source writes its commands, where that is not Markdown in folders.
type form struct {
	kind    kind
	suffix  string // of the files' names, in place of the kind's
	flat    bool   // sub-folders mean nothing to it
	renames bool   // "name" in the head of a file counts
}

// formOf is the form of a source.
func formOf(s *source.Source) form {
	switch s.ID {
	case "burin", "oh-my-pi", "pi", "arcane", "gajae":
		return form{renames: true}
	case "codex":
		return form{flat: true, renames: true}
	case "gemini":
		return form{kind: toml}
	case "copilot", "vscode":
		return form{suffix: ".prompt.md", flat: true}
	}
	return form{}
}

func (f form) extension() string {
	switch {
	case f.suffix != "":
		return f.suffix
	case f.kind == toml:
		return ".toml"
	}
	return ".md"
}

// finder collects commands.
type finder struct {
	found    []Command
	warnings source.Warnings
	looked   int
	full     bool
}

// Discover looks for commands. Folders that are not there are no mistake; warnings, at
// most 50, say in one line each what was left out.
func Discover(o Options) (*Set, []string) {
	f := &finder{warnings: source.Warnings{About: "commands"}}
	for _, p := range source.Places(o, source.Commands) {
		if f.full {
			break
		}
		f.folder(p)
	}
	return newSet(f.found), f.warnings.Lines()
}

// folder adds the commands of a folder.
func (f *finder) folder(p source.Place) {
	how := formOf(p.Source)
	depth := maxDepth
	if how.flat {
		depth = 0
	}
	p.Walk(&f.warnings, depth, nil, func(r *os.Root, name string) bool {
		if hasSuffixFold(name, how.extension()) {
			f.file(r, how, Command{place: p, kind: how.kind, Source: p.Owner()}, name)
		}
		return !f.full
	})
}

func hasSuffixFold(name, suffix string) bool {
	return len(name) > len(suffix) && strings.EqualFold(name[len(name)-len(suffix):], suffix)
}

// file adds the command of a file.
func (f *finder) file(r *os.Root, how form, c Command, name string) {
	if f.looked++; f.looked > MaxCommands {
		f.full = true
		f.warnings.Add("%s: left out with all that follow: %d files of commands were found before", filepath.Join(c.place.Path, name), MaxCommands)
		return
	}
	c.file, c.Path = name, filepath.Join(c.place.Path, filepath.FromSlash(name))
	most := int64(maxHead)
	if c.kind == toml { // half of it is no TOML
		most = MaxFile
	}
	text, err := source.Read(r, name, most)
	if err != nil {
		f.warnings.Add("%s: left out: %s", c.Path, source.Reason(err))
		return
	}
	c.Name = strings.ReplaceAll(name[:len(name)-len(how.extension())], "/", ":")
	d, line, err := parse(text, c.kind)
	if err != nil {
		f.warnings.Add("%s:%d: left out: %v", c.Path, line, err)
		return
	}
	if d.name != "" && how.renames {
		c.Name = d.name
	}
	if c.Name = strings.TrimPrefix(c.Name, "/"); !validName(c.Name) {
		f.warnings.Add("%s: left out: %q cannot be a command's name; use letters, digits and -_.:", c.Path, prose.Cut(c.Name, 40))
		return
	}
	c.tell(d)
	f.found = append(f.found, c)
}

// tell takes over what a file says of itself.
func (c *Command) tell(d document) {
	c.Description, c.Hint, c.Model, c.Thinking, c.Tools, c.Allow = d.description, d.hint, d.model, d.thinking, d.tools, d.allow
}

// validName keeps names that can be written after "/" and told apart from paths.
func validName(name string) bool {
	if name == "" || len(name) > maxName || strings.Trim(name, ".:-_") == "" {
		return false
	}
	return !strings.ContainsFunc(name, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) && !strings.ContainsRune("-_.:", r)
	})
}

package subagent

import (
	"os"
	"path"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/burin-dev/burin/internal/customize/source"
	"github.com/burin-dev/burin/internal/customize/trust"
	"github.com/burin-dev/burin/internal/prose"
)

// finder collects agents.
type finder struct {
	found    []*Definition
	warnings source.Warnings
	looked   int
}

// Discover looks for agents. Folders that are not there are no mistake; warnings, at most 50, say
// in one line each what was left out or not understood.
func Discover(o source.Options) (*Set, []string) {
	f := &finder{warnings: source.Warnings{About: "agents"}}
	for _, p := range source.Places(o, source.Agents) {
		if f.looked > MaxAgents {
			break
		}
		f.folder(p)
	}
	return &Set{found: f.found}, f.warnings.Lines()
}

// extension is how the names of a program's files end; "" for a file that is none.
func extension(p source.Place, name string) string {
	endings := []string{".md"}
	switch {
	case p.Source.ID == "codex":
		endings = []string{".toml", ".md"}
	case p.Source.ID == "copilot" && path.Base(filepath.ToSlash(p.Path)) == "chatmodes":
		endings = []string{".chatmode.md"}
	case p.Source.ID == "copilot":
		endings = []string{".agent.md", ".md"}
	}
	for _, e := range endings {
		if len(name) > len(e) && strings.EqualFold(name[len(name)-len(e):], e) {
			return name[len(name)-len(e):]
		}
	}
	return ""
}

// folder adds the agents of a folder.
func (f *finder) folder(p source.Place) {
	p.Walk(&f.warnings, maxDepth, nil, func(r *os.Root, name string) bool {
		ext := extension(p, name)
		if ext == "" {
			return true
		}
		where := filepath.Join(p.Path, filepath.FromSlash(name))
		if f.looked++; f.looked > MaxAgents {
			f.warnings.Add("%s: left out with all that follow: %d files of agents were found before", where, MaxAgents)
			return false
		}
		text, err := source.Read(r, name, MaxFile)
		if err != nil {
			f.warnings.Add("%s: left out: %s", where, source.Reason(err))
			return true
		}
		f.add(p, text, where, strings.TrimSuffix(path.Base(name), ext), strings.EqualFold(ext, ".toml"))
		return true
	})
}

// add adds the agent of a file; base is the file's name without its ending.
func (f *finder) add(p source.Place, text, where, base string, toml bool) {
	d := document{source: p.Source.ID, named: base}
	if toml {
		d.codex(text)
	} else {
		d.markdown(text)
	}
	for _, w := range d.faults {
		f.warnings.Add("%s:%d: %s", where, max(1, w.line), w.text)
	}
	def := d.definition()
	if d.refusal == "" && !usable(def.Name) {
		d.refusal = "the name " + prose.Short(def.Name, maxName) + " can't be used; use letters, digits, dots, hyphens and underscores, at most 64"
	}
	if d.refusal != "" {
		f.warnings.Add("%s: left out: %s", where, d.refusal)
		return
	}
	def.Source, def.Path, def.Project, def.Repository = p.Owner(), where, p.Repository != "", p.Repository
	if def.Trusted = !def.Project; def.Project {
		def.Sum = trust.Sum([]byte(text))
	}
	f.found = append(f.found, def)
}

// usable reports whether a name can be an agent's.
func usable(name string) bool {
	return name != "" && utf8.RuneCountInString(name) <= maxName && strings.Trim(name, "-_.") != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_.", r)
	})
}

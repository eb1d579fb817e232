package rule

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/burin-dev/burin/internal/customize/source"
	"github.com/burin-dev/burin/internal/prose"
)

// finder collects rules.
type finder struct {
	found    []Rule
	warnings source.Warnings
	looked   int
	full     bool
}

// Discover looks for rules. Folders that are not there are no mistake; warnings say in one
// line each what was left out, and why.
func Discover(o Options) (*Set, []string) {
	f := &finder{warnings: source.Warnings{About: "rules"}}
	for _, p := range source.Places(o.Options, source.Rules) {
		if f.full {
			break
		}
		f.place(p)
	}
	if !slices.Contains(o.Off, "burin") {
		f.found = append(f.found, builtins()...)
	}
	return newSet(f.found, o), f.warnings.Lines()
}

// place adds the rules of a folder, or of a file that is one rule.
func (f *finder) place(p source.Place) {
	r, err := p.Open()
	if err == nil {
		defer r.Close()
		f.walk(r, p, ".", 0)
		return
	}
	if strings.EqualFold(filepath.Ext(p.Path), ".md") || filepath.Base(p.Path) == ".clinerules" {
		f.single(p)
		return
	}
	if !source.Missing(err) {
		f.warnings.Add("%s: left out: %s", p.Path, source.Reason(err))
	}
}

// single adds a file that is one rule and always holds.
func (f *finder) single(p source.Place) {
	text, err := p.ReadFile()
	switch {
	case err != nil && source.Missing(err):
		return
	case err != nil:
		f.warnings.Add("%s: left out: %s", p.Path, source.Reason(err))
		return
	}
	name := strings.TrimPrefix(filepath.Base(p.Path), ".")
	f.add(p, strings.TrimSuffix(name, filepath.Ext(name)), p.Path, text, true)
}

// suffixes are the names of rules in the folders of a source.
func suffixes(id string) []string {
	switch id {
	case "copilot", "vscode":
		return []string{".instructions.md"}
	case "cursor", "burin", "oh-my-pi", "pi", "arcane", "gajae", "agents":
		return []string{".mdc", ".md"}
	}
	return []string{".md"}
}

func (f *finder) walk(r *os.Root, p source.Place, at string, depth int) {
	entries, err := source.List(r, at)
	if err != nil {
		f.warnings.Add("%s: left out: %s", filepath.Join(p.Path, at), source.Reason(err))
		return
	}
	for _, e := range entries {
		name := path.Join(at, e.Name())
		switch {
		case f.full:
			return
		case strings.HasPrefix(e.Name(), "."):
		case e.IsDir(): // a link to a folder is none
			if depth < maxDepth && !(p.Source.ID == "cline" && depth == 0 && slices.Contains([]string{"workflows", "hooks", "skills"}, e.Name())) {
				f.walk(r, p, name, depth+1)
			}
		default:
			for _, suffix := range suffixes(p.Source.ID) {
				if len(e.Name()) > len(suffix) && strings.EqualFold(name[len(name)-len(suffix):], suffix) {
					f.file(r, p, name, name[:len(name)-len(suffix)])
					break
				}
			}
		}
	}
}

// file adds the rule of a file in a folder.
func (f *finder) file(r *os.Root, p source.Place, file, name string) {
	full := filepath.Join(p.Path, filepath.FromSlash(file))
	if f.looked++; f.looked > MaxRules {
		f.full = true
		f.warnings.Add("%s: left out with all that follow: %d files of rules were found before", full, MaxRules)
		return
	}
	text, err := source.Read(r, file, source.MaxFile)
	if err != nil {
		f.warnings.Add("%s: left out: %s", full, source.Reason(err))
		return
	}
	f.add(p, name, full, text, false)
}

// add adds a rule.
func (f *finder) add(p source.Place, name, full, text string, always bool) {
	if !validName(name) {
		f.warnings.Add("%s: left out: %q cannot be the name of a rule; use letters, digits, spaces and -_.", full, prose.Cut(name, 40))
		return
	}
	r := Rule{Name: name, Path: full, Source: p.Owner(), base: p.Base}
	on := parse(&r, p.Source.ID, text, func(line int, format string, args ...any) {
		f.warnings.Add("%s:%d: %s", full, line, fmt.Sprintf(format, args...))
	})
	if always {
		r.Use = Always
	}
	switch {
	case !on:
		return
	case r.Text == "":
		f.warnings.Add("%s: left out: it has no text", full)
		return
	case len(r.Text) > MaxText:
		f.warnings.Add("%s: only the first %d KB are used", full, MaxText>>10)
		r.Text = prose.Head(r.Text, MaxText) + "\n[cut]"
	}
	f.found = append(f.found, r)
}

// validName keeps names that can be written in an address.
func validName(name string) bool {
	if name == "" || len(name) > maxName || strings.Trim(name, "./-_ ") == "" {
		return false
	}
	return !strings.ContainsFunc(name, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) && !strings.ContainsRune("-_./ +@", r)
	})
}

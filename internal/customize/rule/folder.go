package rule

import (
	"fmt"
	"io/fs"
	"os"
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
	f.places(source.Places(o.Options, source.Rules))
	if !slices.Contains(o.Off, "burin") {
		f.found = append(f.found, builtins()...)
	}
	return newSet(f.found, o), f.warnings.Lines()
}

// InFolder finds the rules of one folder below the working directory, which are about the files
// below it: those that always apply there, and those for some of its files. Others need a session
// that begins there.
func InFolder(o Options, folder string) (rules []Rule) {
	f := &finder{warnings: source.Warnings{About: "rules"}}
	name, err := filepath.Rel(o.Root, folder)
	if err != nil {
		return nil
	}
	o.Dir = folder
	f.places(slices.DeleteFunc(source.Places(o.Options, source.Rules), func(p source.Place) bool { return p.Base != folder }))
	for _, r := range newSet(f.found, o).all {
		if r.Off != "" || r.Use != Always && r.Use != Files {
			continue
		}
		if r.Use == Always {
			r.Use, r.Globs = Files, []string{"**"}
		}
		r.Name = filepath.ToSlash(name) + ": " + r.Name
		rules = append(rules, r)
	}
	return rules
}

// Stamp is a text that differs where a file of rules was added, changed or taken away.
func Stamp(o source.Options) string {
	var b strings.Builder
	note := func(name string, info fs.FileInfo) {
		fmt.Fprintf(&b, "%s %d %d\n", name, info.Size(), info.ModTime().UnixNano())
	}
	for _, p := range source.Places(o, source.Rules) {
		if !p.Walk(&source.Warnings{}, maxDepth, nil, func(r *os.Root, name string) bool {
			if info, err := r.Stat(name); err == nil {
				note(p.Path+"/"+name, info)
			}
			return b.Len() < maxStamp
		}) {
			if info, err := os.Lstat(p.Path); err == nil {
				note(p.Path, info)
			}
		}
	}
	return b.String()
}

// maxStamp is how long a stamp gets.
const maxStamp = 1 << 20

// places adds the rules of places.
func (f *finder) places(all []source.Place) {
	for _, p := range all {
		if f.full {
			return
		}
		f.place(p)
	}
}

// place adds the rules of a folder, or of a file that is one rule.
func (f *finder) place(p source.Place) {
	if strings.EqualFold(filepath.Ext(p.Path), ".md") {
		f.single(p)
		return
	}
	var skip func(string) bool
	if p.Source.ID == "cline" {
		skip = func(name string) bool { return slices.Contains([]string{"workflows", "hooks", "skills"}, name) }
	}
	found := p.Walk(&f.warnings, maxDepth, skip, func(r *os.Root, name string) bool {
		for _, suffix := range suffixes(p.Source.ID) {
			if len(filepath.Base(name)) > len(suffix) && strings.EqualFold(name[len(name)-len(suffix):], suffix) {
				f.file(r, p, name, name[:len(name)-len(suffix)])
				break
			}
		}
		return !f.full
	})
	if !found && filepath.Base(p.Path) == ".clinerules" {
		f.single(p)
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

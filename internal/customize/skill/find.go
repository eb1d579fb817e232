package skill

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/burin-dev/burin/internal/customize/source"
	"github.com/burin-dev/burin/internal/sorting"
)

// file is the name of the file that makes a folder a skill.
const file = "SKILL.md"

//go:embed bundled
var bundled embed.FS

// home is where a skill lies.
type home struct {
	place   source.Place // its own folder
	bundled bool
}

// open gives the files of a skill to use, and no others.
func (h home) open(name string, use func(fs.FS) error) error {
	if h.bundled {
		sub, err := fs.Sub(bundled, "bundled/"+name)
		if err != nil {
			return err
		}
		return use(sub)
	}
	r, err := h.place.Open()
	if err != nil {
		return err
	}
	defer r.Close()
	return use(r.FS())
}

// finder collects skills in the order in which they win.
type finder struct {
	o        Options
	found    []Skill
	real     map[string]bool // folders, without links, that were looked at
	refused  map[string]string
	warnings source.Warnings
	full     bool
}

// Discover looks for skills. Folders of programs that are not there are no mistake.
func Discover(o Options) *Set {
	f := &finder{o: o, real: map[string]bool{}, refused: map[string]string{}, warnings: source.Warnings{About: "skills"}}
	f.patterns("ignoredSkills", o.Ignored)
	f.patterns("includeSkills", o.Included)
	for _, p := range source.Places(o.Options, source.Skills) {
		f.folder(p)
	}
	for _, dir := range o.Folders {
		f.tree(dir)
	}
	if !o.NoBundled {
		f.bundled()
	}
	return f.set()
}

func (f *finder) patterns(key string, all []string) {
	for _, p := range all {
		if _, err := path.Match(p, ""); err != nil {
			f.warnings.Add("skills.%s: %q is not a pattern; write it as review-*", key, p)
		}
	}
}

// set puts together what was found.
func (f *finder) set() *Set {
	s := &Set{warnings: f.warnings.Lines(), refused: f.refused, commands: !f.o.NoCommands}
	first := map[string]string{}
	for _, k := range f.found {
		if at, taken := first[k.Name]; taken {
			k.ShadowedBy = at
			s.shadowed = append(s.shadowed, k)
			continue
		}
		first[k.Name] = k.Path
		s.list = append(s.list, k)
	}
	byName := func(a, b Skill) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Path, b.Path))
	}
	sorting.Stable(s.list, byName)
	sorting.Stable(s.shadowed, byName)
	return s
}

// folder adds the skills of a program's folder.
func (f *finder) folder(p source.Place) {
	r, err := p.Open()
	if err != nil {
		if !source.Missing(err) {
			f.warnings.Add("%s: left out: %s", p.Path, source.Reason(err))
		}
		return
	}
	defer r.Close()
	entries, err := source.List(r, ".")
	if err != nil {
		f.warnings.Add("%s: left out: %s", p.Path, source.Reason(err))
		return
	}
	real, err := filepath.EvalSymlinks(p.Path)
	if err != nil {
		real = p.Path
	}
	for _, e := range entries {
		f.entry(r, p, real, e)
	}
}

// entry adds the skill of an entry of a folder, if it is one. real is the folder without
// links.
func (f *finder) entry(r *os.Root, p source.Place, real string, e fs.DirEntry) {
	linked := e.Type()&fs.ModeSymlink != 0
	if strings.HasPrefix(e.Name(), ".") || !e.IsDir() && !linked {
		return
	}
	at := p
	at.Path, real = filepath.Join(p.Path, e.Name()), filepath.Join(real, e.Name())
	if linked {
		to, err := filepath.EvalSymlinks(at.Path)
		if err != nil {
			f.refuse(at, "%s", source.Reason(err))
			return
		}
		if info, err := os.Stat(to); err != nil || !info.IsDir() {
			return
		}
		own, err := at.Open() // a link of the user's may lead anywhere, which r refuses
		if err != nil {
			f.refuse(at, "%s", source.Reason(err))
			return
		}
		defer own.Close()
		f.skill(own, file, at, to)
		return
	}
	f.skill(r, e.Name()+"/"+file, at, real)
}

// isSkills reports whether a folder of a repository is one that skills are kept in. A
// repository's link must not make a skill of any folder: what lies in a skill is read
// without a question.
func isSkills(dir string) bool {
	base := filepath.Base(dir)
	return base == "skills" || base == "skill"
}

// skill adds the skill of the file name in r, if it is there. real is its folder without links.
func (f *finder) skill(r *os.Root, name string, at source.Place, real string) {
	text, err := source.Read(r, name, maxHead)
	switch {
	case err != nil && source.Missing(err):
		return
	case f.real[real]:
		return // several programs share it
	case at.Repository != "" && !isSkills(filepath.Dir(real)):
		f.refuse(at, "it is a link to a folder that is not in a folder named skills; put the skill itself there")
		return
	case err != nil:
		f.refuse(at, "%s", source.Reason(err))
		return
	}
	f.real[real] = true
	f.add(text, at.Owner(), filepath.Join(at.Path, file), filepath.Base(at.Path), home{place: at})
}

// refuse leaves a skill out.
func (f *finder) refuse(at source.Place, format string, args ...any) {
	line := filepath.Join(at.Path, file) + ": left out: " + fmt.Sprintf(format, args...)
	f.warnings.Add("%s", line)
	f.refused[filepath.Base(at.Path)] = line
}

// add adds a skill by the beginning of its file.
func (f *finder) add(text, owner, where, folder string, h home) {
	if f.full {
		return
	}
	if len(f.found) == MaxSkills {
		f.full = true
		f.warnings.Add("%s: left out with all that follow: %d skills were found before; skills.ignoredSkills leaves out others", where, MaxSkills)
		return
	}
	d := parse(text, folder)
	if d.name != "" && !f.counts(d.name) {
		return
	}
	for _, w := range d.faults {
		f.warnings.Add("%s:%d: %s", where, w.line, w.text)
	}
	if d.refusal != "" {
		f.refuse(h.place, "%s", d.refusal)
		return
	}
	f.found = append(f.found, Skill{
		Name: d.name, Description: d.description, Path: where, Source: owner, License: d.license,
		Unlisted: d.unlisted, Uncallable: d.uncallable, home: h,
	})
}

// counts reports whether the person wants skills of that name.
func (f *finder) counts(name string) bool {
	like := func(p string) bool {
		ok, _ := path.Match(p, name) // a bad pattern has its warning
		return ok
	}
	return !slices.ContainsFunc(f.o.Ignored, like) && (len(f.o.Included) == 0 || slices.ContainsFunc(f.o.Included, like))
}

// tree adds all skills below a folder that the person named.
func (f *finder) tree(dir string) {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		f.warnings.Add("skills.customDirectories: %s: it is not a folder", dir)
		return
	}
	looked := 0
	var walk func(dir string, depth int)
	walk = func(dir string, depth int) {
		if looked++; looked > maxFolders {
			return
		}
		at := source.Place{Source: &source.Source{Name: "custom folder"}, Path: dir}
		r, err := at.Open()
		if err != nil {
			f.warnings.Add("%s: left out: %s", dir, source.Reason(err))
			return
		}
		defer r.Close()
		if _, err := r.Lstat(file); err == nil {
			real, err := filepath.EvalSymlinks(dir)
			if err != nil {
				real = dir
			}
			f.skill(r, file, at, real)
			return
		}
		entries, err := source.List(r, ".")
		if err != nil {
			f.warnings.Add("%s: left out: %s", dir, source.Reason(err))
			return
		}
		for _, e := range entries {
			if strings.HasPrefix(e.Name(), ".") || e.Name() == "node_modules" || depth == maxDepth {
				continue
			}
			below := filepath.Join(dir, e.Name())
			if e.Type()&fs.ModeSymlink != 0 { // it may be a skill; what is below it could be a circle
				if info, err := os.Stat(filepath.Join(below, file)); err != nil || !info.Mode().IsRegular() {
					continue
				}
			} else if !e.IsDir() {
				continue
			}
			walk(below, depth+1)
		}
	}
	walk(dir, 0)
	if looked > maxFolders {
		f.warnings.Add("skills.customDirectories: %s: only %d folders were looked into; name the folders of skills themselves", dir, maxFolders)
	}
}

// bundled adds what is part of the program.
func (f *finder) bundled() {
	entries, err := bundled.ReadDir("bundled")
	if err != nil {
		return // there is always one: a test reads it
	}
	for _, e := range entries {
		text, err := bundled.ReadFile(path.Join("bundled", e.Name(), file))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		f.add(string(text), "burin, bundled", scheme+e.Name(), e.Name(), home{bundled: true})
	}
}

package shell

import (
	"os"
	"path/filepath"
	"strings"
)

// maxNamed is how many words of a command, and how many files, are looked at.
const maxNamed = 64

// named tells Options.Named which files a command names, as far as its words can be
// seen for paths, and gives a function that does it once more.
func (s *Shells) named(c Command) (again func()) {
	if s.o.Named == nil {
		return func() {}
	}
	dir := c.Dir
	if dir == "" {
		dir = s.current().dir
	}
	words := strings.FieldsFunc(c.Line, func(r rune) bool { return strings.ContainsRune(" \t\n'\"`;|&<>()=,{}$@", r) })
	tell := func() {
		var files []string
		for _, w := range words[:min(len(words), maxNamed)] {
			if strings.HasPrefix(w, "-") || len(w) > 1024 {
				continue
			}
			if home, ok := strings.CutPrefix(w, "~/"); ok {
				if h, err := os.UserHomeDir(); err == nil {
					w = filepath.Join(h, home)
				}
			}
			if !filepath.IsAbs(w) {
				w = filepath.Join(dir, w)
			}
			found := []string{w}
			if strings.ContainsAny(w, "*?[") {
				found, _ = filepath.Glob(w) // of a wrong pattern nothing
			}
			for _, f := range found {
				if info, err := os.Stat(f); err == nil && info.Mode().IsRegular() && len(files) < maxNamed {
					files = append(files, f)
				}
			}
		}
		if len(files) > 0 {
			s.o.Named(files)
		}
	}
	tell()
	return tell
}

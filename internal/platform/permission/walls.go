package permission

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/burin-dev/burin/internal/platform/permission/command"
	"github.com/burin-dev/burin/internal/platform/wall"
)

// Walls are the rules that hold now and refuse files to everybody, for whatever runs
// commands to enforce: those of the families read and edit with a pattern. A rule
// without one ("!edit") is about tools only, as no command works without any file,
// and a rule that asks cannot be asked from there. Where the folder that a pattern
// names is a link, there is also a wall around what it leads to now.
func (p *Policy) Walls() []wall.Wall {
	var out []wall.Wall
	for _, c := range p.rules() {
		if !c.isWall() {
			continue
		}
		for _, glob := range linked(p.at, c.glob) {
			w := wall.Wall{Glob: glob, Read: c.is("read"), Write: c.is("edit")}
			if !slices.Contains(out, w) {
				out = append(out, w)
			}
		}
	}
	return out
}

// isWall reports whether a rule refuses files to everybody.
func (c *compiled) isWall() bool {
	return order(c.Verdict) == 0 && c.glob != "" && !addressed(c.glob) && (c.is("read") || c.is("edit"))
}

// linked are a pattern and, if the folders that it names lead elsewhere by links,
// the pattern for there.
func linked(at command.Place, glob string) []string {
	parts := strings.Split(glob, "/")
	n := 0
	for n < len(parts) && !strings.ContainsAny(parts[n], `*?[{\`) {
		n++
	}
	named := filepath.FromSlash(strings.Join(parts[:n], "/"))
	if named == "" || !filepath.IsAbs(named) && at.Root == "" {
		return []string{glob}
	}
	if !filepath.IsAbs(named) {
		named = filepath.Join(at.Root, named)
	}
	real := resolved(named)
	if real == filepath.Clean(named) {
		return []string{glob}
	}
	other := quoteGlob(filepath.ToSlash(real))
	if root := quoteGlob(strings.TrimSuffix(filepath.ToSlash(at.Root), "/")) + "/"; at.Root != "" {
		other = strings.TrimPrefix(other, root)
	}
	if n < len(parts) {
		other += "/" + strings.Join(parts[n:], "/")
	}
	return []string{glob, other}
}

// resolved is where a name leads by links, as far as it exists.
func resolved(name string) string {
	name = filepath.Clean(name)
	for dir, rest := name, ""; ; {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			return filepath.Join(real, rest)
		}
		up := filepath.Dir(dir)
		if up == dir {
			return name
		}
		dir, rest = up, filepath.Join(filepath.Base(dir), rest)
	}
}

package command

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/burin-dev/burin/internal/platform/private"
)

// Place is where a command runs and what belongs to the workspace there.
type Place struct {
	Root  string   // the workspace, absolute and without links; empty: names are judged by their text alone
	Extra []string // further folders that belong to it, absolute
	// Scratch are addresses, such as local://, of files that are the session's own.
	Scratch []string
	Home    string // what ~ stands for; empty: not known
	// Private are the places of keys and passwords; nil: only names tell.
	Private *private.Places
	Dir     string // where the shell is: relative to Root, or absolute; empty is Root
	// Shell is the program that runs the line; empty is bash. A shell that is not of
	// bash's or sh's family makes every line opaque.
	Shell string
	// Exported reports whether a variable is in the environment of the shell, where
	// setting it reaches programs; nil: none is.
	Exported func(name string) bool
}

// Path is a file that a command names.
type Path struct {
	Text  string // as written
	Name  string // relative to the workspace if it is in it, else absolute; empty if it is not known
	Where Where
	Real  string // where Name leads by links, if that is somewhere else in the workspace
	// May are the files it may be where Name is not known because the folder is one of
	// a few: the first if all commands before it succeed. Empty: it may be any file.
	May []Path
}

// Known reports whether the file, or the few that it may be, are known.
func (p Path) Known() bool { return p.Name != "" || len(p.May) > 0 }

// named reports whether the file usually holds keys or passwords, by its name.
func (p Path) named() bool { return private.Named(p.Name) || p.Real != "" && private.Named(p.Real) }

// Where says where a path leads.
type Where uint8

const (
	Unknown Where = iota // not known before it runs
	Inside               // into the workspace
	Outside              // out of it
)

// dir is what is known of the shell's folder at some point of a line.
type dir struct {
	name   string // relative to the root, or absolute; "" if not known
	inside bool   // it is surely in the workspace
	// may are the folders it may be if name is not known, each on a line, first the one
	// where all commands before succeed; "" if that is not known either.
	may string
}

// maxDirs is how many folders are kept apart; with more, none is known.
const maxDirs = 8

// names are the folders it may be; none if that is not known.
func (d dir) names() []string {
	switch {
	case d.name != "":
		return []string{d.name}
	case d.may != "":
		return strings.Split(d.may, "\n")
	}
	return nil
}

func (p Place) start() dir {
	q := p.Resolve(dir{name: "."}, path.Clean(filepath.ToSlash(p.Dir)))
	return dir{name: q.Name, inside: q.Where == Inside}
}

// merge is what is known when either may hold, d rather than o.
func (d dir) merge(o dir) dir {
	if d == o {
		return d
	}
	m := dir{inside: d.inside && o.inside}
	a, b := d.names(), o.names()
	if len(a) == 0 || len(b) == 0 {
		return m
	}
	for _, n := range b {
		if !slices.Contains(a, n) {
			a = append(a, n)
		}
	}
	if len(a) <= maxDirs {
		m.may = strings.Join(a, "\n")
	}
	return m
}

// isAbs also knows the absolute paths of Windows, on every system.
func isAbs(p string) bool {
	return strings.HasPrefix(p, "/") || len(p) > 2 && p[1] == ':' && (p[2] == '/' || p[2] == '\\')
}

// Resolve says where a path leads that is used in d. Links are followed as far as
// the path exists.
func (p Place) Resolve(d dir, text string) Path {
	r := Path{Text: text}
	name := filepath.ToSlash(text)
	switch {
	case p.detours(d, name):
		return r
	case isAbs(name):
		name = path.Clean(name)
	case d.name != "":
		name = path.Join(d.name, name)
	default:
		if d.inside && !hasDotDot(name) {
			r.Where = Inside // somewhere in the workspace
		}
		return p.resolveMay(r, d)
	}
	if !isAbs(name) && (name == ".." || strings.HasPrefix(name, "../")) {
		if p.Root == "" {
			r.Where, r.Name = Outside, name
			return r
		}
		name = path.Join(filepath.ToSlash(p.Root), name)
	}
	if isAbs(name) {
		rel, ok := within(p.Root, name)
		if !ok {
			r.Name, r.Where = name, Outside
			if p.inExtra(name) {
				r.Where = Inside
			}
			return r
		}
		name = rel
	}
	r.Name, r.Where = name, Inside
	switch real, where := p.follow(name); {
	case where == Outside:
		r.Name, r.Where = real, Outside
	case real != name:
		r.Real = real
	}
	return r
}

// resolveMay says which files a name may be that is used in one of a few folders.
func (p Place) resolveMay(r Path, d dir) Path {
	inside := d.may != ""
	for _, name := range d.names() {
		one := p.Resolve(dir{name: name, inside: d.inside}, r.Text)
		if one.Name == "" {
			return Path{Text: r.Text, Where: r.Where}
		}
		inside = inside && one.Where == Inside
		r.May = append(r.May, one)
	}
	if inside {
		r.Where = Inside
	}
	return r
}

// detours reports whether a name goes up from a link. Programs then come out
// beside what the link leads to, not beside the link, and a shell that changes its
// folder may do either.
func (p Place) detours(d dir, name string) bool {
	if p.Root == "" || !hasDotDot(name) || !isAbs(name) && d.name == "" {
		return false
	}
	cur := "/"
	if !isAbs(name) {
		if cur = filepath.FromSlash(d.name); !isAbs(d.name) {
			cur = filepath.Join(p.Root, cur)
		}
	}
	for part := range strings.SplitSeq(name, "/") {
		if part != ".." {
			cur = filepath.Join(cur, part)
			continue
		}
		if info, err := os.Lstat(cur); err == nil && info.Mode()&os.ModeSymlink != 0 {
			return true
		}
		cur = filepath.Dir(cur)
	}
	return false
}

// File says where a name of the workspace leads: one relative to its root, or an
// absolute one.
func (p Place) File(name string) Path { return p.Resolve(dir{name: ".", inside: true}, name) }

// within is the rest of name below root.
func within(root, name string) (rel string, ok bool) {
	if root == "" {
		return "", false
	}
	root = filepath.ToSlash(root)
	if name == root {
		return ".", true
	}
	rel, ok = strings.CutPrefix(name, strings.TrimSuffix(root, "/")+"/")
	return rel, ok
}

func (p Place) inExtra(name string) bool {
	for _, e := range p.Extra {
		if _, ok := within(e, name); ok {
			return true
		}
	}
	return false
}

// follow follows the links on the way of a name in the workspace and gives where
// it leads. What does not exist leads nowhere else.
func (p Place) follow(name string) (real string, where Where) {
	if p.Root == "" {
		return name, Inside
	}
	cur, linked := p.Root, false
	for rest := name; rest != "" && rest != "."; {
		var part string
		part, rest, _ = strings.Cut(rest, "/")
		cur = filepath.Join(cur, part)
		info, err := os.Lstat(cur)
		if err != nil {
			cur = filepath.Join(cur, filepath.FromSlash(rest))
			break
		}
		if info.Mode()&os.ModeSymlink == 0 {
			continue
		}
		linked = true
		to, err := filepath.EvalSymlinks(cur)
		if err != nil {
			return filepath.ToSlash(cur), Outside // a loop, or a target that is not there yet
		}
		if _, ok := within(p.Root, filepath.ToSlash(to)); !ok {
			to = path.Join(filepath.ToSlash(to), rest)
			if p.inExtra(to) {
				return to, Inside
			}
			return to, Outside
		}
		cur = to
	}
	if !linked {
		return name, Inside
	}
	real, _ = within(p.Root, filepath.ToSlash(cur))
	return real, Inside
}

func hasDotDot(name string) bool {
	for rest := name; rest != ""; {
		var part string
		part, rest, _ = strings.Cut(rest, "/")
		if part == ".." {
			return true
		}
	}
	return false
}

package command

import (
	"os"
	"path"
	"path/filepath"
	"strings"
)

// Place is where a command runs and what belongs to the workspace there.
type Place struct {
	Root  string   // the workspace, absolute and without links; empty: names are judged by their text alone
	Extra []string // further folders that belong to it, absolute
	Home  string   // what ~ stands for; empty: not known
	Dir   string   // where the shell is: relative to Root, or absolute; empty is Root
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
}

// Secret reports whether the file usually holds keys or passwords.
func (p Path) Secret() bool { return Secret(p.Name) || p.Real != "" && Secret(p.Real) }

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
}

func (p Place) start() dir {
	q := p.Resolve(dir{name: "."}, path.Clean(filepath.ToSlash(p.Dir)))
	return dir{name: q.Name, inside: q.Where == Inside}
}

// merge is what is known when either may hold.
func (d dir) merge(o dir) dir {
	if d == o {
		return d
	}
	return dir{inside: d.inside && o.inside}
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
	case d.inside && !hasDotDot(name):
		r.Where = Inside // somewhere in the workspace
		return r
	default:
		return r
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

package command

import (
	"bytes"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/burin-dev/burin/internal/platform/private"
	"github.com/burin-dev/burin/internal/platform/smallfile"
)

// Tree is a folder that a call reads with all below it, to show or copy what is there.
type Tree struct {
	Root Path
	// Secrets says that files count that usually hold keys: it looks where a search
	// usually does not, or at everything.
	Secrets bool
	// Unlikely says that it reads this folder only if a command before it fails to leave it.
	Unlikely bool

	hidden  bool     // names that begin with a dot are read
	tracked bool     // only files in git's index
	only    []string // patterns of the names of files; empty: all
	not     []string // patterns of names of files and folders that are left out
}

// maxTree is how many names of a folder are looked at.
const maxTree = 20_000

// Trees are the folders that a call reads with all below.
func (p *Part) Trees() []Tree {
	words := p.Call().Words
	if p.Kind != Run || len(words) == 0 || !words[0].Exact {
		return nil
	}
	args := words[1:]
	t := Tree{Secrets: true, hidden: true}
	switch name := base(words[0].Text); name {
	case "grep", "egrep", "fgrep", "rgrep":
		s := scan(grepOptions+" -R --dereference-recursive", args, false)
		deep := name == "rgrep" || s.bad != "" || s.has("-r", "-R", "--recursive", "--dereference-recursive")
		for _, o := range s.options {
			switch v := o.value.literal(); o.name {
			case "-d", "--directories":
				deep = deep || v != "skip" && v != "read"
			case "--include":
				t.only = append(t.only, v)
			case "--exclude", "--exclude-dir":
				t.not = append(t.not, v)
			}
		}
		if s.bad != "" {
			t.only, t.not = nil, nil
		}
		if !deep {
			return nil
		}
		return p.trees(t, s.sought(args, "-e", "-f", "--regexp", "--file"))
	case "rg", "ag", "ack":
		return p.trees(t.searched(args), scan(rgOptions+" -uuu", args, false).sought(args, "-e", "-f", "--regexp", "--file", "--files"))
	case "git":
		c := parseGit(args)
		if c.sub != "grep" {
			return nil
		}
		options, _ := gitReader("grep")
		s := scan(options, c.args, false)
		t.tracked = s.bad == "" && !s.has("--no-index", "--untracked")
		return p.trees(t, s.sought(c.args, "-e", "-f"))
	case "diff":
		if !(call{name, args, p}).option("-r", "--recursive") {
			return nil
		}
	case "cp":
		if !(call{name, args, p}).option("-r", "-R", "-a", "--recursive", "--archive") {
			return nil
		}
	case "scp", "rsync":
		if !(call{name, args, p}).option("-r", "-a", "--recursive", "--archive") {
			return nil
		}
	case "tar", "bsdtar":
		if call := (call{name, args, p}); !call.option("-c", "-r", "-u", "--create", "--append", "--update") && strings.Trim(call.verb(0), "cru") == call.verb(0) {
			return nil
		}
	case "zip", "7z", "7za", "mv", "ln", "ditto", "pax":
	default:
		return nil
	}
	var roots []Word
	for _, a := range args {
		if !a.mayBeOption() {
			roots = append(roots, a)
		}
	}
	if len(roots) == 0 {
		return nil
	}
	return p.trees(t, roots)
}

// literal is the value of a word, or its pattern as written.
func (w Word) literal() string {
	if w.Exact {
		return w.Text
	}
	return strings.Trim(w.Source[max(0, strings.IndexByte(w.Source, '=')+1):], `"'`)
}

// sought are the folders that a search is given behind its pattern: the one it runs
// in if there are none.
func (s scanned) sought(args []Word, patterns ...string) []Word {
	roots := s.operands
	if s.bad != "" {
		roots = nil
		for _, a := range args {
			if !a.mayBeOption() {
				roots = append(roots, a)
			}
		}
	}
	if s.bad == "" && !s.has(patterns...) && len(roots) > 0 {
		roots = roots[1:]
	}
	if len(roots) == 0 || s.bad != "" {
		roots = append(roots[:len(roots):len(roots)], Word{Text: ".", Exact: true, Source: "."})
	}
	return roots
}

// searched is what rg and its like look at with these arguments: files that are
// neither hidden nor ignored, unless they are told otherwise.
func (t Tree) searched(args []Word) Tree {
	t.hidden, t.Secrets = false, false
	u := 0
	for i, a := range args {
		name, value, has := strings.Cut(a.Text, "=")
		if !has && i+1 < len(args) {
			value = args[i+1].literal()
		}
		switch {
		case !a.Exact && a.mayBeOption(), name == "--hidden", name == "-.", name == "--files-from":
			t.hidden = true
		case strings.HasPrefix(name, "--no-ignore"), strings.HasPrefix(name, "--unres"), name == "--all-types", name == "-a":
			t.Secrets = true
			u++
		case name == "--glob", name == "--iglob", strings.HasPrefix(name, "-g"):
			if len(name) > 2 && name[1] == 'g' {
				value = name[2:]
			}
			if value = strings.Trim(value, `"'`); value != "" && value[0] != '!' && (strings.HasPrefix(value, ".") || strings.Contains(value, "/.") || strings.Contains(value, "{") || private.Named(value)) {
				t.hidden = true // a pattern that asks for them finds them
			}
		case len(name) > 1 && name[0] == '-' && name[1] != '-' && strings.Contains(name, "u"):
			u += strings.Count(name, "u")
			t.Secrets = true
		case len(name) > 1 && name[0] == '-' && name[1] != '-' && strings.Contains(name, "."):
			t.hidden = true
		}
	}
	t.hidden = t.hidden || u > 1
	t.Secrets = t.Secrets || t.hidden
	return t
}

// trees are the folders among words.
func (p *Part) trees(t Tree, words []Word) []Tree {
	var out []Tree
	for _, w := range words {
		var paths []Path
		if w.Exact {
			paths = []Path{p.at.Resolve(p.dir, w.Text)}
		} else {
			paths = p.at.candidates(nil, p.dir, w)
		}
		for _, q := range paths {
			for i, root := range append(q.May[:len(q.May):len(q.May)], q) {
				if root.Name != "" {
					one := t
					one.Root = root
					one.Unlikely = i > 0 && len(q.May) > 0 && p.at.exists(q.May[0].Name)
					out = append(out, one)
				}
			}
		}
	}
	return out
}

// Find looks for a file below a tree that is refused, or that usually holds keys if
// the tree is asked for those and it is not free. It gives its name; ok is false if
// there is too much to look at everything.
func (p Place) Find(t Tree, refused, free func(name string) bool) (name string, ok bool) {
	top := p.abs(t.Root.Name)
	if t.Root.Real != "" {
		top = p.abs(t.Root.Real)
	}
	if p.Root == "" && !isAbs(t.Root.Name) {
		return "", true
	}
	f := finder{Place: p, tree: t, refused: refused, free: free, left: maxTree}
	f.mayKeep = p.Private.Below(top)
	if t.tracked {
		f.index, f.packed = p.index()
	}
	return f.folder(top, t.Root.Name)
}

// finder walks a tree.
type finder struct {
	Place
	tree    Tree
	refused func(name string) bool
	free    func(name string) bool
	left    int
	index   []byte // git's index; nil if it is not to be looked at
	mayKeep bool   // places of keys lie below it
	packed  bool   // in a form in which it is not searched: everything may be in it
}

func (f *finder) folder(dir, name string) (found string, ok bool) {
	entries, err := readNames(dir, f.left+1)
	if err != nil {
		return "", true // no folder, or not for us
	}
	if f.left -= len(entries); f.left < 0 {
		return "", false
	}
	if strings.HasPrefix(name, "./") || name == "." {
		name = strings.TrimPrefix(name[1:], "/")
	}
	ok = true
	for _, e := range entries {
		base := e.Name()
		if base[0] == '.' && !f.tree.hidden || base == ".git" || matchesAny(f.tree.not, base) {
			continue
		}
		rel := base
		if name != "" {
			rel = strings.TrimSuffix(name, "/") + "/" + base
		}
		if e.IsDir() {
			if f.tree.Secrets && f.keeps(rel) && !f.frees(rel) {
				return rel, true
			}
			if found, ok := f.folder(filepath.Join(dir, base), rel); found != "" || !ok {
				return found, ok
			}
			continue
		}
		if len(f.tree.only) > 0 && !matchesAny(f.tree.only, base) {
			continue
		}
		secret := f.tree.Secrets && (private.Named(base) || f.mayKeep && f.keeps(rel)) && !f.frees(rel)
		if (secret || f.refused != nil && f.refused(rel)) && f.inIndex(rel) {
			return rel, true
		}
	}
	return "", ok
}

func (f *finder) frees(name string) bool { return f.free != nil && f.free(name) }

// readNames reads a folder, unsorted, and stops when there are more than it may.
func readNames(dir string, most int) ([]os.DirEntry, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	entries, err := f.ReadDir(most)
	if len(entries) > 0 {
		err = nil
	}
	return entries, err
}

func matchesAny(patterns []string, name string) bool {
	for _, p := range patterns {
		if ok, err := path.Match(p, name); ok && err == nil {
			return true
		}
	}
	return false
}

// inIndex reports whether a file may be one that git tracks.
func (f *finder) inIndex(name string) bool {
	return !f.tree.tracked || f.packed || isAbs(name) || bytes.Contains(f.index, append([]byte(name), 0))
}

// maxIndex is the most bytes of a list of files that is read: about half a million
// names. Of a longer one nothing is known.
const maxIndex = 64 << 20

// index reads the list of files that git tracks in the workspace. Its usual forms
// hold names as they are; packed says that this one does not, or cannot be read.
func (p Place) index() (data []byte, packed bool) {
	data, err := smallfile.Read(filepath.Join(p.Root, ".git", "index"), maxIndex)
	if os.IsNotExist(err) && exists(filepath.Join(p.Root, ".git"), "HEAD") {
		return nil, false // nothing was added yet
	}
	return data, err != nil || len(data) < 12 || data[7] > 3 || bytes.Contains(data, []byte("link\x00\x00\x00"))
}

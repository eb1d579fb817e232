package search

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/burin-dev/burin/internal/platform/search/ignore"
)

// scope are the ignore rules that hold in a folder. It never changes. As with
// ripgrep, what .rgignore files say counts before .ignore files, these before
// .gitignore files, and these before .git/info/exclude and the user's global
// file. Within a kind the innermost file that has something to say is heard.
type scope struct {
	rg, dot, git *layer
}

// layer is an ignore file, with the ones that are heard if it says nothing.
type layer struct {
	rules *ignore.Rules
	base  int // length of the part of full paths that its own paths are without
	up    *layer
}

func (l *layer) push(rules *ignore.Rules, base int) *layer {
	if rules.Empty() {
		return l
	}
	return &layer{rules, base, l}
}

func (l *layer) verdict(full []byte, name string, folder bool) ignore.Verdict {
	for ; l != nil; l = l.up {
		if v := l.rules.Match(full[l.base:], name, folder); v != ignore.None {
			return v
		}
	}
	return ignore.None
}

// verdict is what the rules say of an entry. full is its path from the root of
// the repository, and name its last part.
func (s *scope) verdict(full []byte, name string, folder bool) ignore.Verdict {
	for _, l := range [...]*layer{s.rg, s.dot, s.git} {
		if v := l.verdict(full, name, folder); v != ignore.None {
			return v
		}
	}
	return ignore.None
}

// maxIgnoreFile is how much of an ignore file is read.
const maxIgnoreFile = 1 << 20

// userRules are what a user and a machine set up for git.
type userRules struct {
	global *ignore.Rules
	fold   bool // core.ignoreCase
}

// enter is the scope in a folder whose files may add to it. base is the length of
// its full path with the slash behind it. A repository in it begins anew, unless
// it is the one that [outer] has found: then base is 0.
func (s *scope) enter(f folder, entries []entry, base int, u *userRules) *scope {
	var files [3]bool
	repository, any := false, false
	for _, e := range entries {
		if e.name == "" || e.name[0] != '.' {
			continue
		}
		switch {
		case e.name == ".git":
			repository = base > 0
			any = any || repository
		case e.kind != kindFile: // as git does, links are not followed
		case e.name == ".gitignore":
			files[0], any = true, true
		case e.name == ".ignore":
			files[1], any = true, true
		case e.name == ".rgignore":
			files[2], any = true, true
		}
	}
	if !any {
		return s
	}
	in := *s
	if repository {
		in.git = (*layer)(nil).push(u.global, base).push(excludes(f, u.fold), base)
	}
	if files[0] {
		in.git = in.git.push(readRules(f, ".gitignore", u.fold), base)
	}
	if files[1] {
		in.dot = in.dot.push(readRules(f, ".ignore", u.fold), base)
	}
	if files[2] {
		in.rg = in.rg.push(readRules(f, ".rgignore", u.fold), base)
	}
	return &in
}

// readRules reads an ignore file in an open folder. One that cannot be read has
// no rules.
func readRules(f folder, name string, fold bool) *ignore.Rules {
	h, err := f.file(name)
	if err != nil {
		return nil
	}
	defer h.Close()
	data, err := io.ReadAll(io.LimitReader(h, maxIgnoreFile))
	if err != nil {
		return nil
	}
	return ignore.Parse(data, fold)
}

// excludes reads the .git/info/exclude of a repository in f.
func excludes(f folder, fold bool) *ignore.Rules {
	for _, name := range []string{".git", "info"} {
		next, err := f.child(name)
		if err != nil {
			return nil
		}
		defer next.close()
		f = next
	}
	return readRules(f, "exclude", fold)
}

// outer finds what holds above dir, the real directory of a search: the rules of
// its parents up to the root of the repository it is in. prefix is the path from
// there to dir, with a slash behind it unless it is empty. Without a repository
// the parents do not count, but .gitignore files in dir do: where no repository
// has been made yet they still say what nobody wants to see.
func outer(dir string, environ func(string) string) (s *scope, prefix string, u *userRules) {
	s = &scope{}
	top := repositoryOf(dir)
	git := gitDirs{}
	if top != "" {
		git = findGitDirs(top)
	}
	u = readUserRules(git, environ)
	if top == "" {
		s.git = s.git.push(u.global, 0)
		return s, "", u
	}
	s.git = s.git.push(u.global, 0).push(readFile(filepath.Join(git.common, "info", "exclude"), u.fold), 0)
	rel, err := filepath.Rel(top, dir)
	if err != nil || rel == "." {
		return s, "", u
	}
	prefix = filepath.ToSlash(rel) + "/"
	base := 0
	at := top
	for part := range strings.SplitSeq(filepath.ToSlash(rel), "/") {
		s.git = s.git.push(readFile(filepath.Join(at, ".gitignore"), u.fold), base)
		s.dot = s.dot.push(readFile(filepath.Join(at, ".ignore"), u.fold), base)
		s.rg = s.rg.push(readFile(filepath.Join(at, ".rgignore"), u.fold), base)
		at = filepath.Join(at, part)
		base += len(part) + 1
	}
	return s, prefix, u
}

// inner finds what holds in a file system without a real directory, by the repository
// that it is: the user's own rules are about their directories.
func inner(t tree) (*scope, *userRules) {
	s, u := &scope{}, &userRules{}
	root, err := t.open(".")
	if err != nil {
		return s, u
	}
	defer root.close()
	if git, err := root.child(".git"); err == nil {
		if h, err := git.file("config"); err == nil {
			data, _ := io.ReadAll(io.LimitReader(h, maxIgnoreFile)) // without it nothing is folded
			_ = h.Close()
			for key, value := range coreSettings(string(data)) {
				u.fold = key == "ignorecase" && isTrue(value) || key != "ignorecase" && u.fold
			}
		}
		git.close()
	}
	s.git = s.git.push(excludes(root, u.fold), 0)
	return s, u
}

// repositoryOf is the directory of the repository that dir is in, "" if it is in
// none.
func repositoryOf(dir string) string {
	for {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			return ""
		}
		dir = up
	}
}

func readFile(name string, fold bool) *ignore.Rules {
	data, err := readSmall(name)
	if err != nil {
		return nil
	}
	return ignore.Parse(data, fold)
}

var errNotRegular = errors.New("not a regular file")

// readSmall reads the beginning of a regular file.
func readSmall(name string) ([]byte, error) {
	if info, err := os.Stat(name); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "read", Path: name, Err: errNotRegular}
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxIgnoreFile))
}

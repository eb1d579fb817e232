package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/burin-dev/burin/internal/customize/source"
)

// Reach says what the file of a project may do with a setting. Somebody else may have written
// that file.
type Reach string

// What a project may do.
const (
	Free      Reach = "free"      // set it
	Stricter  Reach = "stricter"  // make it stricter than the user has it
	IfTrusted Reach = "trusted"   // set it, once the user trusts the project
	Never     Reach = "user only" // nothing
)

// Project is where a project's settings are: .burin/config.yml of the nearest folder that has
// one, from Dir up to Root.
type Project struct {
	Dir  string // where burin works, without symbolic links; "" has no project
	Root string // of the repository; "" is Dir
	Home string // the user's, whose .burin is not a project's; "" is not known
	// Trusted reports whether the user trusts what a file holds, and whether they have decided
	// about it; nil: nobody has.
	Trusted func(file string, data []byte) (trusted, decided bool)
}

// File is the file that the project has or, where it has none, would have; "" where that is
// the user's own.
func (p Project) File(user string) string {
	if file := p.file(user); file != "" {
		return file
	}
	root := p.Root
	if root == "" {
		root = p.Dir
	}
	file := filepath.Join(root, folder, name)
	if sameFile(root, p.Home) || sameFile(filepath.Dir(file), filepath.Dir(user)) {
		return ""
	}
	return file
}

// file is the project's file; "" if there is none. That of the user is not a project's.
func (p Project) file(user string) string {
	for at := p.Dir; at != ""; at = filepath.Dir(at) {
		file := filepath.Join(at, folder, name)
		if info, err := os.Lstat(file); err == nil && !info.IsDir() && !sameFile(file, user) && !sameFile(at, p.Home) {
			return file
		}
		if at == p.Root || p.Root == "" || at == filepath.Dir(at) {
			break
		}
	}
	return ""
}

// Within returns an error if the file of a project leads out of the project's folder: somebody
// else may have made a link there.
func Within(file string) error {
	root, err := os.OpenRoot(filepath.Dir(filepath.Dir(file)))
	if err != nil {
		return fmt.Errorf("write the settings: %w", err)
	}
	defer root.Close()
	for _, path := range []string{folder, filepath.Join(folder, name)} {
		if _, err := root.Stat(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s: not written: %s", file, source.Reason(err))
		}
	}
	return nil
}

func sameFile(a, b string) bool {
	if a == b {
		return true
	}
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// read reads the project's file. One that leads out of the repository is not read.
func (p Project) read(path string, before *part) part {
	out := part{kind: ByProject, path: path}
	root := p.Root
	if root == "" {
		root = p.Dir
	}
	text, err := source.Place{Path: path, Repository: root}.ReadFile()
	if err != nil {
		out.problem = fmt.Sprintf("%s: settings ignored: %s", path, source.Reason(err))
		return out
	}
	data := plain([]byte(text))
	if p.Trusted != nil {
		out.trusted, out.decided = p.Trusted(path, data)
	}
	if before != nil && before.config != nil && bytes.Equal(before.config.file.data, data) {
		out.config = before.config
		return out
	}
	if out.config, err = parse(path, data); err != nil {
		out.config, out.problem = nil, err.Error()+"; the settings of this project are ignored until it is fixed"
	}
	return out
}

// takeProject takes over what a project may set, and says what it may not.
func (c *Config) takeProject(p part, userFolder string) {
	var untrusted, looser, never []string
	for i := range table {
		s := &table[i]
		if !p.config.has(s.Key) {
			continue
		}
		switch {
		case s.Project == Free, s.Project == IfTrusted && p.trusted:
			c.take(p, s)
		case s.Project == IfTrusted && p.decided: // not to be trusted: nothing to tell
		case s.Project == IfTrusted:
			untrusted = append(untrusted, s.Key)
		case s.Project == Stricter && s.stricter(c.Value(s.Key), p.config.Value(s.Key)):
			c.take(p, s)
		case s.Project == Stricter:
			looser = append(looser, s.Key)
		default:
			never = append(never, s.Key)
		}
	}
	for _, w := range []struct {
		keys []string
		why  string
	}{
		{untrusted, "burin trust lets you trust %s; or write %s into " + File(userFolder)},
		{looser, "a project can only make %s stricter; " + File(userFolder) + " and flags can loosen %s"},
		{never, "a project can't set %s; write %s into " + File(userFolder)},
	} {
		if len(w.keys) > 0 {
			it := "it"
			if len(w.keys) > 1 {
				it = "them"
			}
			c.warnings = append(c.warnings, fmt.Sprintf("%s: ignored %s: "+w.why, p.path, listed(w.keys), it, it))
		}
	}
}

// Reaching is what the project's file needs trust for: the file, its text, and each setting with
// its value. It is nothing where there is none.
func (c *Config) Reaching() (file string, text []byte, settings []string) {
	for _, p := range c.parts {
		if p.kind != ByProject || p.config == nil {
			continue
		}
		for i := range table {
			s := &table[i]
			if s.Project == IfTrusted && p.config.has(s.Key) {
				e := Entry{Key: s.Key, Setting: *s, Value: p.config.Value(s.Key)}
				settings = append(settings, s.Key+": "+e.Text())
			}
		}
		if len(settings) > 0 {
			return p.path, p.config.file.data, settings
		}
	}
	return "", nil, nil
}

func listed(keys []string) string {
	if len(keys) == 1 {
		return keys[0]
	}
	last := len(keys) - 1
	return strings.Join(keys[:last], ", ") + " and " + keys[last]
}

// stricter reports whether a project's value is at least as strict as the user's.
func (s *Setting) stricter(user, project any) bool {
	switch s.Type {
	case List:
		return s.Adds
	case Bool:
		return project == s.Strict || project == user
	case Enum: // the choices begin with the strictest
		mine, theirs := s.index(user), s.index(project)
		return theirs == 0 || theirs <= mine
	case Number: // 0 is no limit
		mine, theirs := number(user), number(project)
		return theirs == mine || theirs > 0 && (mine == 0 || theirs < mine)
	}
	return false
}

// index is the place of a choice; -1 if there is none.
func (s *Setting) index(v any) int {
	word, _ := v.(string)
	return slices.Index(s.Choices, word)
}

func number(v any) float64 {
	switch v := v.(type) {
	case int:
		return float64(v)
	case float64:
		return v
	}
	return 0
}

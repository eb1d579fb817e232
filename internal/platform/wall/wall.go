// Package wall holds the files that rules refuse to everybody, and answers fast
// whether a path is one of them.
//
// The rules of package permission give the walls, and what runs commands enforces
// them: it knows the file that a program really opens, where the rules know only
// the text of a command. A wall travels between processes as JSON, with a pattern
// that is relative to the workspace or absolute. [Build] makes a [Set] of them that
// is asked at each file a confined command opens.
//
// Patterns are those of rules: "*" and "?" stay within a folder, "**" does not,
// [a-z] and {a,b} are as usual. Capitals don't count, as file systems differ in
// that: a wall that holds too much is safer than one that holds too little.
//
// Whoever enforces walls must know that a wall is for a name. Moving or linking a
// walled file, or a folder above it ([Set.Below]), gives it a name without a wall.
package wall

import (
	"fmt"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"
)

// Wall refuses files by pattern.
type Wall struct {
	Glob  string `json:"glob"` // relative to the workspace, or absolute; with slashes
	Read  bool   `json:"read,omitempty"`
	Write bool   `json:"write,omitempty"`
}

// Set is a list of walls ready to be asked. It is safe for concurrent use; the
// zero value refuses nothing.
type Set struct {
	root  string // of the workspace, with slashes and without one at the end
	walls []compiled
}

type compiled struct {
	Pattern
	read, write, abs bool
}

// Build prepares walls for a workspace: an absolute path without links, or empty if
// there is none.
func Build(root string, walls []Wall) (*Set, error) {
	s := &Set{root: strings.TrimSuffix(root, "/")}
	for _, w := range walls {
		p, err := Compile(w.Glob)
		if err != nil {
			return nil, err
		}
		s.walls = append(s.walls, compiled{p, w.Read, w.Write, isAbs(w.Glob)})
	}
	return s, nil
}

// Refuses reports whether a path may not be read and may not be written. It is
// absolute and without links, or relative to the workspace.
func (s *Set) Refuses(name string) (read, write bool) {
	return s.ask(name, Pattern.match)
}

// Below reports whether files that may not be read or written can lie in a folder or
// below it: whether moving it would move a walled file. It may be too careful where a
// pattern begins with "*".
func (s *Set) Below(dir string) (read, write bool) {
	return s.ask(dir, Pattern.reaches)
}

func (s *Set) ask(name string, is func(p Pattern, name, lower string) bool) (read, write bool) {
	if s == nil || len(s.walls) == 0 {
		return false, false
	}
	full, rel, inside := name, name, true
	if isAbs(name) {
		if rel, inside = strings.CutPrefix(name, s.root); inside {
			inside = rel == "" || rel[0] == '/'
			rel = strings.TrimPrefix(rel, "/")
		}
	} else {
		full = "" // made only if a pattern needs it
	}
	if rel == "" {
		rel = "."
	}
	var lowRel, lowFull string
	for i := range s.walls {
		w := &s.walls[i]
		if (read || !w.read) && (write || !w.write) {
			continue
		}
		switch {
		case !w.abs && !inside:
			continue
		case !w.abs:
			if lowRel == "" {
				lowRel = lower(rel)
			}
			if !is(w.Pattern, rel, lowRel) {
				continue
			}
		default:
			if full == "" {
				full = path.Join(s.root+"/", name)
			}
			if lowFull == "" {
				lowFull = lower(full)
			}
			if !is(w.Pattern, full, lowFull) {
				continue
			}
		}
		read, write = read || w.read, write || w.write
	}
	return read, write
}

// Pattern is a pattern of paths, ready to be compared. The zero value matches
// nothing.
type Pattern struct {
	glob  string
	lower string
	head  string // what every match begins with, in lower case
	kind  kind
}

// kind is what a pattern can be compared by without reading it as one.
type kind uint8

const (
	nothing kind = iota
	name         // one name: a/b.go
	tree         // a folder and all below it: a/b/**
	last         // a name in any folder: **/b.go
	general
)

// Compile prepares a pattern.
func Compile(glob string) (Pattern, error) {
	if glob == "" || !doublestar.ValidatePattern(glob) {
		return Pattern{}, fmt.Errorf("%q is not a valid pattern of paths", glob)
	}
	p := Pattern{glob: glob, lower: lower(glob), kind: general}
	folder, below := strings.CutSuffix(p.lower, "/**")
	base, anywhere := strings.CutPrefix(p.lower, "**/")
	switch {
	case plain(p.lower):
		p.kind, p.head = name, p.lower
	case below && plain(folder):
		p.kind, p.head = tree, folder
	case anywhere && plain(base):
		p.kind, p.head = last, base
	default:
		p.head = p.lower[:strings.IndexAny(p.lower, special)]
	}
	return p, nil
}

const special = `*?[{\`

func plain(glob string) bool { return !strings.ContainsAny(glob, special) }

// Match reports whether a path matches, with capitals as they are or with none.
func (p Pattern) Match(path string) bool { return p.match(path, lower(path)) }

// Reaches reports whether a match can be the folder or lie below it. It says so where
// a pattern that begins with "*" leaves it open.
func (p Pattern) Reaches(dir string) bool { return p.reaches(dir, lower(dir)) }

func (p Pattern) match(path, low string) bool {
	switch p.kind {
	case nothing:
		return false
	case name:
		return low == p.head
	case tree:
		return isBelow(low, p.head)
	case last:
		at := len(low) - len(p.head)
		return at >= 0 && low[at:] == p.head && (at == 0 || low[at-1] == '/')
	}
	return strings.HasPrefix(low, p.head) && doublestar.MatchUnvalidated(p.lower, low) ||
		path != low && doublestar.MatchUnvalidated(p.glob, path)
}

func (p Pattern) reaches(dir, low string) bool {
	switch {
	case p.kind == nothing:
		return false
	case p.kind == last || p.match(dir, low):
		return true
	case low == ".":
		return !isAbs(p.lower)
	case low == "/":
		return isAbs(p.lower)
	case p.kind == general && len(p.head) < len(low):
		return strings.HasPrefix(low, p.head) // what the rest can match is not worked out
	}
	return isBelow(p.head, low)
}

// isBelow reports whether a name is dir or lies below it.
func isBelow(name, dir string) bool {
	return strings.HasPrefix(name, dir) && (len(name) == len(dir) || name[len(dir)] == '/' || dir == "/")
}

// isAbs also knows the absolute paths of Windows, on every system.
func isAbs(p string) bool {
	return p != "" && p[0] == '/' || len(p) > 2 && p[1] == ':' && (p[2] == '/' || p[2] == '\\')
}

// lower is strings.ToLower for paths, which may not be UTF-8: bytes that are none
// stay as they are.
func lower(s string) string {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c >= utf8.RuneSelf || 'A' <= c && c <= 'Z' {
			return folded(s)
		}
	}
	return s
}

func folded(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			b.WriteByte(s[i])
		} else {
			b.WriteRune(unicode.ToLower(r))
		}
		i += n
	}
	return b.String()
}

// Quote makes a pattern that matches exactly one name.
func Quote(name string) string {
	var b strings.Builder
	for i := range len(name) {
		if strings.IndexByte(`*?[]{}\`, name[i]) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(name[i])
	}
	return b.String()
}

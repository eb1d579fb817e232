package wall

import (
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// Moved reports whether giving the folder or file from the name to, both absolute and
// without links, moves something walled to where the wall does not hold, or something
// else to where it does. Both may be folders that hold others.
func (s *Set) Moved(from, to string) bool {
	if s == nil {
		return false
	}
	for i := range s.walls {
		w := &s.walls[i]
		a, aIn := s.relative(w, from)
		b, bIn := s.relative(w, to)
		if !w.abs && (s.root != "" && (isBelow(s.root, from) || isBelow(s.root, to))) {
			return true // the workspace itself, or what it lies in
		}
		switch {
		case aIn && w.leads(a) || bIn && w.leads(b):
			return true
		case aIn != bIn && w.anywhere():
			// What lies below matches here and not there, or the other way around.
			return true
		}
	}
	return false
}

// relative is a name as the wall's pattern has it, in lower case.
func (s *Set) relative(w *compiled, name string) (string, bool) {
	if w.abs {
		return lower(name), true
	}
	rel, inside := strings.CutPrefix(name, s.root)
	if !inside || rel != "" && rel[0] != '/' {
		return "", false
	}
	return lower(strings.TrimPrefix(rel, "/")), true
}

// anywhere reports whether a pattern is for names in any folder.
func (p Pattern) anywhere() bool {
	return strings.HasPrefix(p.lower, "**/") || strings.HasPrefix(p.lower, "/**/")
}

// leads reports whether a match below the folder low needs the folder's own name: then
// another name of the folder makes a difference to the match.
func (p Pattern) leads(low string) bool {
	if strings.ContainsAny(p.lower, "{\\") { // slashes in there don't part names
		return p.reaches(low, low)
	}
	parts := strings.Split(p.lower, "/")
	for n := 1; n < len(parts); n++ {
		part := strings.Join(parts[:n], "/")
		if parts[n-1] == "**" || part == "" {
			continue // whatever the folder is called
		}
		if match, err := doublestar.Match(part, low); err == nil && match {
			return true
		}
	}
	return false
}

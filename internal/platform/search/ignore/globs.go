package ignore

import (
	"fmt"
	"strings"
)

// Bounds of a pattern: its length, and what its braces may stand for.
const (
	maxPattern      = 4096
	maxAlternatives = 1000
)

// Globs reads patterns of which one that fits gives [Keep] and one that begins
// with "!" gives [Ignore]; the last that fits counts. They are those of ignore
// files, with {a,b} in addition. A brace that is left open is closed at the end.
func Globs(patterns []string) (*Rules, error) {
	r := &Rules{}
	for _, p := range patterns {
		if len(p) > maxPattern {
			return nil, fmt.Errorf("glob %.40q...: is longer than %d bytes", p, maxPattern)
		}
		pattern, exclude := strings.CutPrefix(p, "!")
		alternatives, err := expand(pattern)
		if err != nil {
			return nil, fmt.Errorf("glob %q: %w", p, err)
		}
		for _, a := range alternatives {
			if err := r.add(a, !exclude); err != nil {
				return nil, fmt.Errorf("glob %q: %w", p, err)
			}
		}
	}
	return r, nil
}

// Keeps reports whether a rule can give [Keep].
func (r *Rules) Keeps() bool {
	for _, k := range r.keeps {
		if k {
			return true
		}
	}
	return false
}

// Below reports whether a rule may give [Keep] to something inside folder.
func (r *Rules) Below(folder string) bool {
	for _, table := range []map[string]own{r.names, r.ends} {
		for _, o := range table {
			if o.any >= 0 && r.keeps[o.any] || o.folder >= 0 && r.keeps[o.folder] {
				return true
			}
		}
	}
	folder += "/"
	for i := range r.others {
		o := &r.others[i]
		switch {
		case !r.keeps[o.nth]:
		case o.anywhere:
			return true
		case o.depth >= 0 && o.depth < strings.Count(folder, "/"):
		case strings.HasPrefix(folder, o.prefix), strings.HasPrefix(o.prefix, folder):
			return true
		}
	}
	return false
}

// expand gives the patterns that one with braces stands for.
func expand(pattern string) ([]string, error) {
	open, end, commas := braces(pattern)
	if open < 0 {
		return []string{pattern}, nil
	}
	rest := ""
	if end < len(pattern) {
		rest = pattern[end+1:]
	}
	tails, err := expand(rest)
	if err != nil {
		return nil, err
	}
	var out []string
	for i := range len(commas) + 1 {
		from, to := open+1, end
		if i > 0 {
			from = commas[i-1] + 1
		}
		if i < len(commas) {
			to = commas[i]
		}
		middles, err := expand(pattern[from:to])
		if err != nil {
			return nil, err
		}
		if len(out)+len(middles)*len(tails) > maxAlternatives {
			return nil, fmt.Errorf("its braces stand for more than %d patterns", maxAlternatives)
		}
		for _, m := range middles {
			for _, t := range tails {
				out = append(out, pattern[:open]+m+t)
			}
		}
	}
	return out, nil
}

// braces finds the first group of braces: where it opens, -1 if there is none,
// where it closes, at the latest at the end, and its commas.
func braces(s string) (open, end int, commas []int) {
	open = -1
	level, class := 0, false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\':
			i++
		case class:
			class = c != ']'
		case c == '[' && strings.IndexByte(s[i+1:], ']') > 0:
			class = true
			i++ // a bracket right behind it is one of the characters
		case c == '{':
			if level++; open < 0 {
				open = i
			}
		case c == ',' && level == 1:
			commas = append(commas, i)
		case c == '}' && level > 0:
			if level--; level == 0 {
				return open, i, commas
			}
		}
	}
	return open, len(s), commas
}

// Package ignore decides by their names which files count, with the rules of
// .gitignore files.
//
// [Parse] reads such a file and [Rules.Match] asks its last rule that fits, as
// git does: "!" takes back, "**" spans folders, a slash anchors, a slash at the
// end means folders only. [Globs] reads the patterns that people give to a
// search, which have braces in addition and choose instead of leaving out.
//
// Most rules are a name or an ending. They are found in tables, so that long
// files of them cost no more than short ones.
package ignore

import (
	"bytes"
	"fmt"
	"strings"
)

// Verdict is what rules say of a path.
type Verdict int8

const (
	None   Verdict = iota // no rule fits
	Ignore                // left out
	Keep                  // taken back by "!"
)

// maxRules is how many rules of one file count. The others are ignored.
const maxRules = 20_000

// Rules are those of one file, in its order. They never change.
type Rules struct {
	fold   bool
	keeps  []bool         // by rule: begins with "!"
	names  map[string]own // rules that are a name
	ends   map[string]own // rules that are "*" and an ending without "."; the key is the ending from its last "."
	others []rule         // the rest, in order
}

// own are the last rules for a name: one for whatever has it, one for folders
// only; -1 is none.
type own struct{ any, folder int32 }

// rule is one that must be matched.
type rule struct {
	nth      int32
	folder   bool   // only folders
	anywhere bool   // looks at the name only, not at the path
	prefix   string // what the path begins with, without wildcards
	glob     *glob  // the rest
	depth    int    // number of slashes in the path; -1 if it varies
}

// Parse reads an ignore file. Names match in any case if fold is set. Rules that
// cannot match anything are left out.
func Parse(data []byte, fold bool) *Rules {
	r := &Rules{fold: fold}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	for line := range bytes.Lines(data) {
		line = bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		pattern, keep := strings.CutPrefix(trimSpaces(string(line)), "!")
		_ = r.add(pattern, keep) // git takes no notice of what it cannot read
	}
	return r
}

// Empty reports whether there are no rules.
func (r *Rules) Empty() bool { return r == nil || len(r.keeps) == 0 }

// trimSpaces cuts spaces at the end, unless they are escaped.
func trimSpaces(s string) string {
	end := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case ' ':
			continue
		case '\\':
			i++
		}
		end = min(i+1, len(s))
	}
	return s[:end]
}

func (r *Rules) add(pattern string, keep bool) error {
	if len(r.keeps) >= maxRules {
		return fmt.Errorf("more than %d patterns", maxRules)
	}
	pattern, folder := strings.CutSuffix(pattern, "/")
	if rest, ok := strings.CutPrefix(pattern, "**/"); ok && !strings.Contains(rest, "/") {
		pattern = rest // the same
	}
	if pattern == "" {
		return nil
	}
	nth := int32(len(r.keeps))
	anywhere := !strings.Contains(pattern, "/")
	if anywhere && r.tabulate(pattern, folder, nth) {
		r.keeps = append(r.keeps, keep)
		return nil
	}
	pattern = strings.TrimPrefix(pattern, "/")
	plain := strings.IndexAny(pattern, `*?[\`)
	if plain < 0 {
		plain = len(pattern)
	}
	glob, err := compileGlob(pattern[plain:], r.fold)
	if err != nil {
		return err
	}
	o := rule{nth: nth, folder: folder, anywhere: anywhere, prefix: pattern[:plain], glob: glob, depth: strings.Count(pattern, "/")}
	if strings.Contains(pattern, "**") || strings.Contains(pattern, "[") {
		o.depth = -1
	}
	if r.fold {
		o.prefix = strings.Map(lowerRune, o.prefix)
	}
	r.others = append(r.others, o)
	r.keeps = append(r.keeps, keep)
	return nil
}

// tabulate takes a rule that is a name, or "*" and an ending with one ".".
func (r *Rules) tabulate(pattern string, folder bool, nth int32) bool {
	if r.fold {
		pattern = strings.Map(lowerRune, pattern)
	}
	table, key := &r.names, pattern
	if end, ok := strings.CutPrefix(pattern, "*"); ok && strings.LastIndexByte(end, '.') == 0 {
		table, key = &r.ends, end
	}
	if strings.ContainsAny(key, `*?[\`) {
		return false
	}
	if *table == nil {
		*table = map[string]own{}
	}
	o, ok := (*table)[key]
	if !ok {
		o = own{-1, -1}
	}
	if folder {
		o.folder = nth
	} else {
		o.any = nth
	}
	(*table)[key] = o
	return true
}

// Match gives the verdict of the last rule that fits a file or folder. path is
// relative to where the rules are from, and name its last part.
func (r *Rules) Match(path []byte, name string, folder bool) Verdict {
	if r.Empty() {
		return None
	}
	if r.fold {
		name = strings.Map(lowerRune, name)
	}
	best := int32(-1)
	look := func(table map[string]own, key string) {
		if o, ok := table[key]; ok {
			best = max(best, o.any)
			if folder {
				best = max(best, o.folder)
			}
		}
	}
	if len(r.names) > 0 {
		look(r.names, name)
	}
	if len(r.ends) > 0 {
		if dot := strings.LastIndexByte(name, '.'); dot >= 0 {
			look(r.ends, name[dot:])
		}
	}
	return r.verdict(r.matchOthers(path, name, folder, best))
}

// matchOthers gives the last rule that fits and comes after best, or best.
func (r *Rules) matchOthers(path []byte, name string, folder bool, best int32) int32 {
	slashes := -1
	for i := len(r.others) - 1; i >= 0 && r.others[i].nth > best; i-- {
		o := &r.others[i]
		if o.folder && !folder {
			continue
		}
		if o.anywhere {
			if len(name) >= len(o.prefix) && name[:len(o.prefix)] == o.prefix && match(o.glob, name[len(o.prefix):]) {
				return o.nth
			}
			continue
		}
		if o.depth >= 0 {
			if slashes < 0 {
				slashes = bytes.Count(path, []byte("/"))
			}
			if o.depth != slashes {
				continue
			}
		}
		if hasPrefix(path, o.prefix, r.fold) && match(o.glob, path[len(o.prefix):]) {
			return o.nth
		}
	}
	return best
}

func (r *Rules) verdict(best int32) Verdict {
	switch {
	case best < 0:
		return None
	case r.keeps[best]:
		return Keep
	}
	return Ignore
}

func lowerRune(r rune) rune {
	if 'A' <= r && r <= 'Z' {
		return r + 'a' - 'A'
	}
	return r
}

func hasPrefix(path []byte, prefix string, fold bool) bool {
	if len(path) < len(prefix) {
		return false
	}
	if !fold {
		return string(path[:len(prefix)]) == prefix
	}
	for i := range len(prefix) {
		if lower(path[i]) != prefix[i] {
			return false
		}
	}
	return true
}

package search

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/burin-dev/burin/internal/fuzzy"
)

// matcher is a query of [Find]. It is not safe for concurrent use.
type matcher struct {
	text  []byte // lower case, without spaces
	plain []byte // text without what separates words
	mask  uint64 // the characters of text, as maskOf tells them apart

	// Scratch, which each path uses again: there are very many of them.
	path  []byte // the path in lower case
	words []byte // and without what separates words
}

// What fits better has a higher class. Within a class score gives details, which
// are less than a step between classes.
const (
	classStep       = 1000
	classScattered  = 1  // the characters are in the path, in this order
	classInName     = 2  // and in its last part
	classPlainPath  = 3  // together, if separators count for nothing
	classPlainName  = 4  // and in the last part
	classPath       = 5  // together
	className       = 6  // and in the last part
	classPathStart  = 7  // at the beginning
	classPlainStart = 8  // at the beginning of the last part, if separators count for nothing
	classNameWord   = 9  // at the beginning of a word of the last part
	classNameStart  = 10 // at the beginning of the last part
	classPlainExact = 11 // the last part, if separators count for nothing
	classStem       = 12 // the last part without its extension
	classExact      = 13 // the last part, or the path
)

func newMatcher(query string) *matcher {
	text := strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return -1
		case r == '\\':
			return '/'
		}
		return unicode.ToLower(r)
	}, query)
	f := &matcher{text: []byte(strings.TrimPrefix(text, "./"))}
	f.plain = withoutSeparators(nil, f.text)
	f.mask = maskOf(f.text)
	return f
}

func (f *matcher) clone() *matcher {
	return &matcher{text: f.text, plain: f.plain, mask: f.mask}
}

// maskOf is a set of the bytes of s. Some share a bit.
func maskOf(s []byte) uint64 {
	mask := uint64(0)
	for _, b := range s {
		mask |= 1 << (b & 63)
	}
	return mask
}

func isSeparator(b byte) bool {
	return strings.IndexByte("/\\-_. ,;:+@#()[]{}'\"", b) >= 0
}

func withoutSeparators(dst, s []byte) []byte {
	for _, b := range s {
		if !isSeparator(b) {
			dst = append(dst, b)
		}
	}
	return dst
}

// lowered leaves path in lower case in f.path.
func (f *matcher) lowered(path string) {
	f.path = f.path[:0]
	for _, r := range path {
		switch {
		case r >= utf8.RuneSelf:
			f.path = utf8.AppendRune(f.path, unicode.ToLower(r))
			continue
		case 'A' <= r && r <= 'Z':
			r |= 0x20
		}
		f.path = append(f.path, byte(r))
	}
}

// score says how well a path fits; 0 is not at all. Of what fits equally well,
// folders and short paths come first, and matches at the beginning of words.
func (f *matcher) score(path string, dir bool) int {
	f.lowered(path)
	detail := 300 - min(len(path), 300)/2
	if dir {
		detail += 20
	}
	if len(f.text) == 0 {
		return classStep + detail
	}
	if f.mask&^maskOf(f.path) != 0 && f.joined() {
		return 0
	}
	low := f.path
	name := low[bytes.LastIndexByte(low, '/')+1:]
	class, bonus := f.together(low, name, path)
	if class < classPlainStart {
		if plain := f.plainly(low, name); plain > class {
			class, bonus = plain, 0
		}
	}
	if class > 0 {
		return class*classStep + detail + bonus
	}
	if bonus, ok := f.scattered(path[len(path)-min(len(name), len(path)):], name); ok {
		return classInName*classStep + detail/4 + bonus
	}
	if bonus, ok := f.scattered(path, low); ok {
		return classScattered*classStep + detail/4 + bonus
	}
	return 0
}

// joined says that nothing in the query separates words.
func (f *matcher) joined() bool { return len(f.plain) == len(f.text) }

// together looks for the query as it is.
func (f *matcher) together(low, name []byte, path string) (class, bonus int) {
	stem, _, _ := bytes.Cut(name, []byte{'.'})
	switch at := bytes.Index(name, f.text); {
	case bytes.Equal(name, f.text), bytes.Equal(low, f.text):
		return classExact, 0
	case bytes.Equal(stem, f.text):
		return classStem, 0
	case at == 0:
		return classNameStart, 0
	case at > 0 && f.atWord(low, path, len(low)-len(name)+at):
		return classNameWord, 0
	case at > 0:
		return className, 0
	case bytes.HasPrefix(low, f.text):
		return classPathStart, 0
	}
	at := bytes.LastIndex(low, f.text)
	switch {
	case at < 0:
		return 0, 0
	case f.atWord(low, path, at):
		return classPath, 200
	}
	return classPath, 0
}

// atWord reports whether a word begins at index at of path, as far as that can be
// said of its lower case.
func (f *matcher) atWord(low []byte, path string, at int) bool {
	return len(low) == len(path) && wordStart(path, at)
}

// plainly looks for the query where separators count for nothing.
func (f *matcher) plainly(low, name []byte) int {
	if len(f.plain) == 0 {
		return 0
	}
	f.words = withoutSeparators(f.words[:0], name)
	switch {
	case bytes.Equal(f.words, f.plain):
		return classPlainExact
	case bytes.HasPrefix(f.words, f.plain):
		return classPlainStart
	case bytes.Contains(f.words, f.plain):
		return classPlainName
	}
	f.words = withoutSeparators(f.words[:0], low)
	if bytes.Contains(f.words, f.plain) {
		return classPlainPath
	}
	return 0
}

// wordStart reports whether a word begins at index at of s.
func wordStart(s string, at int) bool {
	if at == 0 || isSeparator(s[at-1]) {
		return true
	}
	upper := func(b byte) bool { return 'A' <= b && b <= 'Z' }
	digit := func(b byte) bool { return '0' <= b && b <= '9' }
	return upper(s[at]) && !upper(s[at-1]) || digit(s[at]) != digit(s[at-1])
}

// scattered looks for the characters of the query one after the other and prefers
// few gaps and the beginnings of words. s is in the case it is written in if that
// has the length of low.
func (f *matcher) scattered(s string, low []byte) (bonus int, ok bool) {
	text := f.text
	end := fuzzy.End(text, low)
	if end < 0 {
		return 0, false
	}
	runs, words, start := 0, 0, end
	for _, at := range fuzzy.Back(text, low, end) {
		if at != start-1 {
			runs++
		}
		start = at
		if len(s) == len(low) && wordStart(s, at) {
			words++
		}
	}
	gaps := end - start - len(text)
	bonus = 500*words/len(text) + 300*(len(text)-runs)/len(text) - min(gaps, 100)
	return max(bonus, 0), true
}

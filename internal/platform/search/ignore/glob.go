package ignore

import (
	"errors"
	"fmt"
	"strings"
)

// glob is a compiled wildcard pattern. It never changes.
type glob struct {
	tokens []token
	fold   bool
}

type token struct {
	kind tokenKind
	char byte
	set  *[4]uint64 // of tokenSet
}

type tokenKind uint8

const (
	tokenChar tokenKind = iota
	tokenAny            // "?": one character but "/"
	tokenSet            // "[a-z]": one of some characters, never "/"
	tokenStar           // "*": any characters but "/"
	tokenDeep           // "**": any characters
	tokenDirs           // "**/": nothing, or any characters and a "/"
)

var errUnclosed = errors.New("has an unclosed [")

// compileGlob reads a pattern as git does: "**" spans folders only where it is a
// whole part of the path. Patterns that git takes to match nothing are errors.
func compileGlob(pattern string, fold bool) (*glob, error) {
	g := &glob{fold: fold}
	for i := 0; i < len(pattern); {
		switch c := pattern[i]; c {
		case '\\':
			if i+1 == len(pattern) {
				return nil, errors.New(`ends with a lone \`)
			}
			g.char(pattern[i+1])
			i += 2
		case '?':
			g.tokens = append(g.tokens, token{kind: tokenAny})
			i++
		case '*':
			i += g.stars(pattern, i)
		case '[':
			set, n, err := parseSet(pattern[i:], fold)
			if err != nil {
				return nil, err
			}
			g.tokens = append(g.tokens, token{kind: tokenSet, set: set})
			i += n
		default:
			g.char(c)
			i++
		}
	}
	return g, nil
}

func (g *glob) char(c byte) {
	if g.fold {
		c = lower(c)
	}
	g.tokens = append(g.tokens, token{kind: tokenChar, char: c})
}

// stars reads the run of stars at i and gives the length of what it took.
func (g *glob) stars(pattern string, i int) int {
	n := 1
	for i+n < len(pattern) && pattern[i+n] == '*' {
		n++
	}
	rest := pattern[i+n:]
	part := i == 0 || pattern[i-1] == '/'
	switch {
	case n < 2 || !part:
	case rest == "" || strings.HasPrefix(rest, `\/`):
		g.tokens = append(g.tokens, token{kind: tokenDeep})
		return n
	case rest[0] == '/':
		g.tokens = append(g.tokens, token{kind: tokenDirs})
		return n + 1
	}
	g.tokens = append(g.tokens, token{kind: tokenStar})
	return n
}

// parseSet reads the bracket expression that s begins with and gives its length.
func parseSet(s string, fold bool) (*[4]uint64, int, error) {
	set := new([4]uint64)
	i := 1
	negated := i < len(s) && (s[i] == '!' || s[i] == '^')
	if negated {
		i++
	}
	prev := -1 // what a range may begin with
	for first := true; ; first = false {
		if i >= len(s) {
			return nil, 0, errUnclosed
		}
		c := s[i]
		switch {
		case c == ']' && !first:
			finish(set, negated, fold)
			return set, i + 1, nil
		case c == '-' && prev >= 0 && i+1 < len(s) && s[i+1] != ']':
			i++
			if s[i] == '\\' {
				if i++; i >= len(s) {
					return nil, 0, errUnclosed
				}
			}
			for b := prev; b <= int(s[i]); b++ {
				add(set, byte(b))
			}
			prev = -1
		case c == '[' && i+1 < len(s) && s[i+1] == ':':
			n, ok, err := parseNamed(set, s[i:])
			if err != nil {
				return nil, 0, err
			}
			if ok {
				prev = -1
				i += n
				continue
			}
			add(set, '[')
			prev = '['
		default:
			if c == '\\' {
				if i++; i >= len(s) {
					return nil, 0, errUnclosed
				}
				c = s[i]
			}
			add(set, c)
			prev = int(c)
		}
		i++
	}
}

// parseNamed reads a class such as [:alpha:]. ok is false if s only looks like
// the beginning of one.
func parseNamed(set *[4]uint64, s string) (n int, ok bool, err error) {
	end := strings.IndexByte(s[2:], ']')
	if end < 0 {
		return 0, false, errUnclosed
	}
	name := s[2 : 2+end]
	if !strings.HasSuffix(name, ":") {
		return 0, false, nil
	}
	in, known := named(strings.TrimSuffix(name, ":"))
	if !known {
		return 0, false, fmt.Errorf("has an unknown class [:%s]", name)
	}
	for b := range 128 {
		if in(byte(b)) {
			add(set, byte(b))
		}
	}
	return 2 + end + 1, true, nil
}

func named(name string) (func(byte) bool, bool) {
	between := func(lo, hi byte) func(byte) bool { return func(b byte) bool { return lo <= b && b <= hi } }
	switch name {
	case "alpha":
		return isAlpha, true
	case "digit":
		return isDigit, true
	case "alnum":
		return func(b byte) bool { return isAlpha(b) || isDigit(b) }, true
	case "upper":
		return between('A', 'Z'), true
	case "lower":
		return between('a', 'z'), true
	case "blank":
		return func(b byte) bool { return b == ' ' || b == '\t' }, true
	case "space":
		return func(b byte) bool { return b == ' ' || '\t' <= b && b <= '\r' }, true
	case "cntrl":
		return func(b byte) bool { return b < ' ' || b == 0x7F }, true
	case "print":
		return between(' ', '~'), true
	case "graph":
		return between('!', '~'), true
	case "punct":
		return func(b byte) bool { return '!' <= b && b <= '~' && !isAlpha(b) && !isDigit(b) }, true
	case "xdigit":
		return func(b byte) bool { return isDigit(b) || 'a' <= b|0x20 && b|0x20 <= 'f' }, true
	}
	return nil, false
}

func isAlpha(b byte) bool { return 'a' <= b|0x20 && b|0x20 <= 'z' }
func isDigit(b byte) bool { return '0' <= b && b <= '9' }

func lower(b byte) byte {
	if 'A' <= b && b <= 'Z' {
		return b + 'a' - 'A'
	}
	return b
}

func add(set *[4]uint64, b byte)      { set[b>>6] |= 1 << (b & 63) }
func has(set *[4]uint64, b byte) bool { return set[b>>6]&(1<<(b&63)) != 0 }

// finish applies negation and case. "/" is in no set.
func finish(set *[4]uint64, negated, fold bool) {
	if fold {
		for b := byte('A'); b <= 'Z'; b++ {
			if has(set, b) || has(set, b|0x20) {
				add(set, b)
				add(set, b|0x20)
			}
		}
	}
	if negated {
		for i := range set {
			set[i] = ^set[i]
		}
	}
	set['/'>>6] &^= 1 << ('/' & 63)
}

// match reports whether the whole of path matches.
//
// It goes back to the last star that can take more, and when that cannot, to
// the last that spans folders: what stands between two of those need only be
// found once, as early as possible.
func match[T ~string | ~[]byte](g *glob, path T) bool {
	type retry struct{ token, at int }
	star, deep := retry{-1, 0}, retry{-1, 0}
	t, at := 0, 0
	for {
		if t < len(g.tokens) {
			k := &g.tokens[t]
			switch {
			case k.kind == tokenStar:
				star = retry{t, at}
				t++
				continue
			case k.kind == tokenDeep:
				deep, star.token = retry{t, at}, -1
				t++
				continue
			case k.kind == tokenDirs:
				deep, star.token = retry{t, at}, -1
				t++
				continue
			case at < len(path) && g.one(k, path[at]):
				t++
				at++
				continue
			}
		} else if at == len(path) {
			return true
		}
		switch {
		case star.token >= 0 && star.at < len(path) && path[star.at] != '/':
			star.at++
			t, at = star.token+1, star.at
		case deep.token >= 0 && deep.at < len(path):
			deep.at++
			if g.tokens[deep.token].kind == tokenDirs {
				for deep.at < len(path) && path[deep.at-1] != '/' {
					deep.at++
				}
				if path[deep.at-1] != '/' {
					return false
				}
			}
			star.token = -1
			t, at = deep.token+1, deep.at
		default:
			return false
		}
	}
}

// one reports whether character c is what token k stands for.
func (g *glob) one(k *token, c byte) bool {
	if g.fold {
		c = lower(c)
	}
	switch k.kind {
	case tokenChar:
		return c == k.char
	case tokenAny:
		return c != '/'
	case tokenSet:
		return has(k.set, c)
	case tokenStar, tokenDeep, tokenDirs:
	}
	return false
}

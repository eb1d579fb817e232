package rule

import "strings"

const (
	maxLiteral = 16     // bytes of a literal that are looked for; a longer one begins with them
	maxStates  = 60_000 // of the automaton
)

// automaton finds many literals in one pass over text that arrives in pieces. Upper and lower
// case of ASCII are one. It costs one look into a table per byte, however many literals there
// are (Aho and Corasick, Communications of the ACM 18, 1975).
type automaton struct {
	class [256]uint8 // bytes that are in no literal share class 0
	width int
	next  []uint16  // state*width + class
	hits  [][]int32 // by state: whose literals end there
}

// build makes an automaton of the literals of patterns. full lists patterns whose literals
// found no room.
func build(literals [][]string) (a *automaton, full []int32) {
	a = &automaton{width: 1}
	each := func(f func(pattern int32, lit string)) {
		for i, set := range literals {
			for _, lit := range set {
				f(int32(i), lit[:min(len(lit), maxLiteral)])
			}
		}
	}
	each(func(_ int32, lit string) {
		for i := range len(lit) {
			if c := lit[i]; a.class[c] == 0 && a.width < 255 {
				a.class[c] = uint8(a.width)
				a.width++
			}
		}
	})
	for c := byte('a'); c <= 'z'; c++ {
		a.class[c-'a'+'A'] = a.class[c]
	}
	a.grow()
	each(func(pattern int32, lit string) {
		state := 0
		for i := range len(lit) {
			at := state*a.width + int(a.class[lit[i]])
			if a.class[lit[i]] == 0 || a.next[at] == 0 && len(a.hits) >= maxStates {
				full = append(full, pattern)
				return
			}
			if a.next[at] == 0 {
				a.next[at] = uint16(len(a.hits))
				a.grow()
			}
			state = int(a.next[at])
		}
		a.hits[state] = append(a.hits[state], pattern)
	})
	a.link()
	return a, full
}

func (a *automaton) grow() {
	a.next = append(a.next, make([]uint16, a.width)...)
	a.hits = append(a.hits, nil)
}

// link makes every state go on with the longest end of its text that begins a literal.
func (a *automaton) link() {
	fail := make([]uint16, len(a.hits))
	var queue []uint16
	for c := range a.width {
		if s := a.next[c]; s != 0 {
			queue = append(queue, s)
		}
	}
	for len(queue) > 0 {
		s := int(queue[0])
		queue = queue[1:]
		f := int(fail[s])
		a.hits[s] = append(a.hits[s], a.hits[f]...)
		for c := range a.width {
			at := s*a.width + c
			if to := a.next[at]; to != 0 {
				fail[to] = a.next[f*a.width+c]
				queue = append(queue, to)
			} else {
				a.next[at] = a.next[f*a.width+c]
			}
		}
	}
}

// lower is for literals: strings.ToLower may change letters beyond ASCII, which the automaton
// compares as they are.
func lower(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r - 'A' + 'a'
		}
		return r
	}, s)
}

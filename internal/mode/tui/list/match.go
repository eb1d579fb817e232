package list

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/burin-dev/burin/internal/fuzzy"
)

// What a word costs, by how it fits; less is better. An item costs the sum of its
// words. What fits only letter by letter comes after everything that fits literally.
const (
	costExact  = 0 // the label
	costPrefix = 1
	costWord   = 2 // at the start of a word of the label
	costInside = 3
	costBeside = 5 // in what is searched beside the label
	costFuzzy  = 8 // and one for each jump into the middle of a word

	fuzzyClass = 64  // once, where any word is fuzzy
	maxCost    = 255 // costs are counted in a table of that size
)

// verdict is how an item fits.
type verdict uint8

const (
	no    verdict = iota // nor will it fit any longer query
	weak                 // by chance, as it seems: not shown, but a longer query may fit
	shown                // fits
)

// words splits a query into what must all be found, in lower case.
func words(query string) []string {
	w := strings.Fields(strings.ToLower(query))
	return w[:min(len(w), maxWords)]
}

// maxWords is how many words of a query count.
const maxWords = 12

// match says how words fit an item of that label and rest, both in lower case.
func match(words []string, label, rest string) (cost int, v verdict) {
	fuzzy := 0
	v = shown
	for _, w := range words {
		c := literal(w, label)
		switch {
		case c >= 0:
		case strings.Contains(rest, w):
			c = costBeside
		default:
			f := fuzzyMatch(w, label)
			if !f.ok {
				return 0, no
			}
			if !f.strong(len(w)) {
				v = weak
			}
			c, fuzzy = min(costFuzzy+f.jumps, maxCost), fuzzyClass
		}
		cost += c
	}
	return min(cost+fuzzy, maxCost), v
}

// literal is the cost of the best place of w in the label; -1 where it is not there.
func literal(w, label string) int {
	at := strings.Index(label, w)
	if at < 0 {
		return -1
	}
	if at == 0 {
		if len(w) == len(label) {
			return costExact
		}
		return costPrefix
	}
	for {
		if starts(label, at) {
			return costWord
		}
		next := strings.Index(label[at+1:], w)
		if next < 0 {
			return costInside
		}
		at += 1 + next
	}
}

// starts reports whether a word begins at byte i of s: after what is no letter and no
// digit, or where one goes over into the other.
func starts(s string, i int) bool {
	if i == 0 {
		return true
	}
	before, _ := utf8.DecodeLastRuneInString(s[:i])
	r, _ := utf8.DecodeRuneInString(s[i:])
	if !unicode.IsLetter(before) && !unicode.IsDigit(before) {
		return true
	}
	return unicode.IsDigit(before) != unicode.IsDigit(r)
}

// scattered is how the letters of a word stand in a label.
type scattered struct {
	ok         bool
	start, end int // bytes of the label
	jumps      int // letters that neither follow the one before nor begin a word
}

// strong reports whether a word of n letters is hardly there by chance: its pieces
// begin words, or nearly all do, or it is a word with letters left out.
func (f scattered) strong(n int) bool {
	return f.jumps <= n/4 || n >= 3 && f.end-f.start <= 2*n && f.jumps <= n/2+1
}

// fuzzyMatch finds the letters of w in their order in s. Only ASCII is found so: in
// scripts with many signs, each says too much to be left out.
func fuzzyMatch(w, s string) scattered {
	end := fuzzy.End(w, s)
	if end < 0 || strings.ContainsFunc(w, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return scattered{}
	}
	f := scattered{ok: true, end: end}
	next := end
	for i, at := range fuzzy.Back(w, s, end) {
		follows := i > 0 && at > 0 && s[at-1] == w[i-1]
		if !follows && !starts(s, at) {
			f.jumps++
		}
		// Part of a number is another number: 3 is not in 13 nor in 30.
		if !follows && at > 0 && digit(s[at]) && digit(s[at-1]) || at+1 < next && digit(s[at]) && digit(s[at+1]) {
			f.jumps += numberJump
		}
		f.start, next = at, at
	}
	return f
}

const numberJump = 8

func digit(c byte) bool { return c >= '0' && c <= '9' }

// ranges marks the bytes of a label, in lower case, that words were found at.
func ranges(words []string, label string) []bool {
	if len(words) == 0 {
		return nil
	}
	hit := make([]bool, len(label))
	for _, w := range words {
		if at := strings.Index(label, w); at >= 0 {
			for i := range len(w) {
				hit[at+i] = true
			}
			continue
		}
		if f := fuzzyMatch(w, label); f.ok && f.strong(len(w)) {
			for _, at := range fuzzy.Back(w, label, f.end) {
				hit[at] = true
			}
		}
	}
	return hit
}

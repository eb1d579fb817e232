package edit

import (
	"errors"
	"iter"
	"strings"
)

// blockTolerances are tried in this order until one finds something. Line endings
// never matter to blocks.
var blockTolerances = [...]tolerance{
	0,
	otherTrailing,
	otherTrailing | otherTypography,
	otherTrailing | otherIndent,
	otherTrailing | otherIndent | otherTypography,
}

// block is a run of lines of a document that equals some wanted lines.
type block struct {
	at     int    // the first line
	indent indent // how the document's indentation comes from the wanted lines'
}

// errRepetitive is given up for: the time for it would have no bound.
var errRepetitive = errors.New("the file repeats itself so much that it takes too long to find the place")

// maxCompared is how many lines are looked at closely.
const maxCompared = 1 << 20

// blocks gives all runs of lines that equal want with the tolerance, overlapping
// ones too. Its time grows with the sum of both lengths. With otherSign, the lines
// that may have lost a space in front are found with and without it.
func (d *document) blocks(want []string, t tolerance, lost ...bool) ([]block, error) {
	if len(want) == 0 || len(want) > d.lines() {
		return nil, nil
	}
	keys := make([]string, len(want))
	pattern := make([]int32, len(want)) // numbers in place of keys, equal for equal ones
	numbers := make(map[string]int32, len(want))
	longest, lengths := 0, uint64(0)
	for i, line := range want {
		keys[i] = lineKey(line, t)
		if len(keys[i]) > len(keys[longest]) {
			longest = i
		}
		key := foldTypography(keys[i], t)
		if numbers[key] == 0 {
			numbers[key] = int32(len(numbers) + 1)
		}
		pattern[i] = numbers[key]
		lengths |= 1 << (len(key) & 63)
	}
	if t != 0 && keys[longest] == "" {
		return nil, nil // blank lines alone say nothing about a place
	}
	if c := core(keys[longest], t); !strings.Contains(d.text, keys[longest][c[0]:c[1]]) {
		return nil, nil
	}
	var out []block
	compared := 0
	number := func(line string) int32 {
		key := foldTypography(lineKey(line, t), t)
		if lengths>>(len(key)&63)&1 == 0 {
			return 0 // most lines need no look into the map
		}
		return numbers[key]
	}
	for at := range runs(d, pattern, number) {
		if b, ok := d.blockAt(at, want, keys, t); ok && (t&otherSign == 0 || d.fitSigns(at, want, lost, t)) {
			out = append(out, b)
		}
		if t&(otherIndent|otherTypography|otherSign) == 0 {
			continue
		}
		if compared += len(want); compared > maxCompared {
			return nil, errRepetitive
		}
	}
	return out, nil
}

// runs gives the lines at which a pattern of numbers is found, by the method of
// Knuth, Morris and Pratt.
func runs(d *document, pattern []int32, number func(line string) int32) iter.Seq[int] {
	return func(yield func(int) bool) {
		border := make([]int, len(pattern)+1) // of each beginning: its longest end that begins the pattern
		border[0] = -1
		for i, k := 0, -1; i < len(pattern); {
			for k >= 0 && pattern[i] != pattern[k] {
				k = border[k]
			}
			i, k = i+1, k+1
			border[i] = k
		}
		k := 0
		for i := range d.lines() {
			n := number(d.line(i))
			for k >= 0 && (k == len(pattern) || pattern[k] != n) {
				k = border[k]
			}
			if k++; k == len(pattern) && !yield(i+1-k) {
				return
			}
		}
	}
}

// blockAt looks closely at a place that seems to fit.
func (d *document) blockAt(at int, want, keys []string, t tolerance) (block, bool) {
	b := block{at: at}
	if t&otherTypography != 0 {
		for i, key := range keys {
			if !sameTypography(lineKey(d.line(at+i), t), key) {
				return b, false
			}
		}
	}
	ok := true
	if t&otherIndent != 0 {
		b.indent, ok = fitIndent(want, d.around(at, at+len(want)))
	}
	return b, ok
}

// fitSigns says whether the lines at a place are those wanted, or with one space
// more in front those that may have lost it. But for the space in front of them,
// they are known to be equal.
func (d *document) fitSigns(at int, want []string, lost []bool, t tolerance) bool {
	for i, line := range want {
		have := d.line(at + i)
		if t&otherTrailing != 0 {
			if isBlank(line) {
				continue
			}
			have, line = indentation(have), indentation(line)
		}
		if have != line && (!lost[i] || have != " "+line) {
			return false
		}
	}
	return true
}

// lineKey is what of a line has to be equal.
func lineKey(line string, t tolerance) string {
	switch {
	case t&(otherIndent|otherSign) != 0:
		return strings.Trim(line, " \t")
	case t&otherTrailing != 0:
		return strings.TrimRight(line, " \t")
	}
	return line
}

// indentation is the whitespace a line begins with.
func indentation(line string) string {
	return line[:len(line)-len(strings.TrimLeft(line, " \t"))]
}

func isBlank(line string) bool { return strings.Trim(line, " \t") == "" }

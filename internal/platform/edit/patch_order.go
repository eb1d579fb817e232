package edit

import "slices"

// candidates are the places that a hunk fits, in order.
type candidates struct {
	h       *hunk
	found   []block
	t       tolerance
	headers []int // the lines at which the innermost of its headers is found
}

// maxCandidates is how many places, beyond one each, the hunks of a file may fit
// together before the patch is refused: all of them are held until it is known
// which ones are meant.
const maxCandidates = 1 << 17

// order settles hunks that still fit several places: in the order in which they
// stand, with their changes apart from each other, there has to be one way only.
func (w *placing) order(all []*candidates) error {
	several := func(c *candidates) bool { return len(c.found) > 1 }
	first := slices.IndexFunc(all, several)
	if first < 0 {
		return nil
	}
	w.i = first + 1
	before := all[first].found
	// What is left after both passes is part of at least one way.
	lo := 0
	for _, c := range all {
		start, reach := c.h.changed()
		c.found = slices.DeleteFunc(slices.Clone(c.found), func(b block) bool { return b.at+start < lo })
		if len(c.found) == 0 {
			return w.ambiguous(before)
		}
		lo = c.found[0].at + start + reach
	}
	hi := w.d.lines() + 1
	for _, c := range slices.Backward(all) {
		start, reach := c.h.changed()
		c.found = slices.DeleteFunc(c.found, func(b block) bool { return b.at+start+reach > hi })
		if len(c.found) == 0 {
			return w.ambiguous(before)
		}
		hi = c.found[len(c.found)-1].at + start
	}
	if first = slices.IndexFunc(all, several); first >= 0 {
		w.i = first + 1
		return w.ambiguous(all[first].found)
	}
	return nil
}

func (w *placing) ambiguous(found []block) *Refusal {
	at := make([]int, len(found))
	for i, f := range found {
		at[i] = f.at + 1
	}
	r := w.d.ambiguous("the hunk", at).number(w.i, len(w.s.hunks))
	r.unit = "hunk"
	return r.hint("Give more context, or a line of what encloses the place after @@.")
}

// changed says how many lines of the file a hunk has before its first change, and
// how many lines further the next hunk's first change can be. Two hunks do not add
// lines at the same place. A hunk without changes says where the next ones follow.
func (h *hunk) changed() (start, reach int) {
	line, end, any := 0, 0, false
	for _, l := range h.lines {
		if l.op != ' ' && !any {
			start, any = line, true
		}
		if l.op != '+' {
			line++
		}
		if l.op == '-' {
			end = line
		}
	}
	if !any {
		return line, 0
	}
	return start, max(end-start, 1)
}

package edit

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/burin-dev/burin/internal/sorting"
)

// The search for the nearest text is bounded: it looks at the first lines of a
// file, at the beginning of each, for a few of the wanted lines.
const (
	nearLines  = 200_000
	nearBytes  = 160 // of a line
	nearProbes = 6
	nearPicks  = 4
	nearEnough = 0.5 // share of the wanted pairs of letters that must be there
)

// probe is one of the wanted lines.
type probe struct {
	offset int // among the wanted lines
	text   string
	sig    signature
}

// signature is the set of a line's pairs of neighbouring letters, as a filter that
// may show pairs it does not hold.
type signature [4]uint64

func sign(line string) signature {
	var s signature
	line = line[:min(len(line), nearBytes)]
	for i := 1; i < len(line); i++ {
		h := (uint32(line[i-1])<<8 | uint32(line[i])) * 0x9e3779b1 >> 24
		s[h>>6] |= 1 << (h & 63)
	}
	return s
}

func (s *signature) size() int {
	return bits.OnesCount64(s[0]) + bits.OnesCount64(s[1]) + bits.OnesCount64(s[2]) + bits.OnesCount64(s[3])
}

func (s *signature) common(o *signature) int {
	return bits.OnesCount64(s[0]&o[0]) + bits.OnesCount64(s[1]&o[1]) +
		bits.OnesCount64(s[2]&o[2]) + bits.OnesCount64(s[3]&o[3])
}

// nearest adds to a refusal the text that is most like the wanted lines, and where
// it first differs.
func (d *document) nearest(r *Refusal, want []string) *Refusal {
	for len(want) > 0 && isBlank(want[0]) {
		want = want[1:]
	}
	for len(want) > 0 && isBlank(want[len(want)-1]) {
		want = want[:len(want)-1]
	}
	at, ok := d.closest(probes(want))
	if !ok {
		return r
	}
	r.Line = at + 1
	r.Nearest = excerpt(d.around(at, at+len(want)))
	unit := cmp.Or(r.unit, "edit")
	for i, line := range want {
		if at+i >= d.lines() {
			return r.hint("The file ends there; the %s continues with %q.", unit, clip(line, 120))
		}
		if have := d.line(at + i); have != line {
			return r.hint("Line %d is %q; the %s has %q.", at+i+1, clip(have, 120), unit, clip(line, 120))
		}
	}
	return r
}

// probes picks the longest of the wanted lines, as they tell most.
func probes(want []string) []probe {
	var all []probe
	for i, line := range want {
		if text := strings.TrimSpace(line); len(text) > 1 {
			all = append(all, probe{offset: i, text: text})
		}
	}
	sorting.Stable(all, func(a, b probe) int {
		return min(len(b.text), nearBytes) - min(len(a.text), nearBytes)
	})
	all = all[:min(len(all), nearProbes)]
	for i := range all {
		all[i].sig = sign(all[i].text)
	}
	return all
}

// closest is the line at which the wanted lines fit best.
func (d *document) closest(probes []probe) (int, bool) {
	if len(probes) == 0 {
		return 0, false
	}
	scores := make([]int32, min(d.lines(), nearLines))
	for i := range scores {
		sig := sign(strings.TrimLeft(d.line(i), " \t"))
		size := sig.size()
		for j := range probes {
			if at := i - probes[j].offset; at >= 0 {
				// Shared pairs count; what the probe does not have counts a little against.
				scores[at] += int32(5*probes[j].sig.common(&sig) - size)
			}
		}
	}
	best, bestShare := 0, 0.0
	for _, at := range highest(scores) {
		if share := d.share(at, probes); share > bestShare {
			best, bestShare = at, share
		}
	}
	return best, bestShare >= nearEnough
}

// highest gives the places of the highest scores, best first.
func highest(scores []int32) []int {
	var picks []int
	for at, s := range scores {
		if len(picks) == nearPicks && s <= scores[picks[nearPicks-1]] {
			continue
		}
		i := len(picks)
		for i > 0 && scores[picks[i-1]] < s {
			i--
		}
		picks = slices.Insert(picks, i, at)
		picks = picks[:min(len(picks), nearPicks)]
	}
	return picks
}

// share is how much of the probes' pairs of letters the lines at a place have.
func (d *document) share(at int, probes []probe) float64 {
	const most = 16 * nearBytes // of a line
	hit, all := 0, 0
	for _, p := range probes {
		text := p.text[:min(len(p.text), most)]
		all += len(text) - 1
		if at+p.offset >= d.lines() {
			continue
		}
		line := strings.TrimSpace(d.line(at + p.offset))
		hit += commonPairs(text, line[:min(len(line), most)])
	}
	return float64(hit) / float64(all)
}

// commonPairs counts the pairs of neighboring letters that two texts have in common.
func commonPairs(a, b string) int {
	pairs := map[string]int{}
	for i := 1; i < len(b); i++ {
		pairs[b[i-1:i+1]]++
	}
	n := 0
	for i := 1; i < len(a); i++ {
		if pair := a[i-1 : i+1]; pairs[pair] > 0 {
			pairs[pair]--
			n++
		}
	}
	return n
}

// alike says that one line may be the other one after a change.
func alike(a, b string) bool {
	a, b = strings.TrimSpace(clip(a, nearBytes)), strings.TrimSpace(clip(b, nearBytes))
	return a == b || 2*commonPairs(a, b) > min(len(a), len(b))-1
}

// maxPlaces is how many places of an ambiguous edit are told.
const maxPlaces = 5

// ambiguous is the refusal of an edit that fits several places, given by their
// lines from 1.
func (d *document) ambiguous(what string, lines []int) *Refusal {
	count, more := fmt.Sprint(len(lines)), ""
	if len(lines) > maxPlaces {
		count, more = fmt.Sprintf("more than %d", maxPlaces), ", …"
	}
	list := strings.Trim(fmt.Sprint(lines[:min(len(lines), maxPlaces)]), "[]")
	r := refuse(d.path, "%s fits %s places (lines %s%s)", what, count, strings.ReplaceAll(list, " ", ", "), more)
	r.Line = lines[0]
	r.Nearest = excerpt(d.around(lines[0]-1, lines[0]+1))
	return r
}

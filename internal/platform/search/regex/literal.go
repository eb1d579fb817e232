package regex

import (
	"math"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// literals is a set of texts. A match holds at least one of them.
type literals struct {
	texts []string
	fold  bool // in any case; texts are lower case
}

// needs is what is known of the matches of an expression.
type needs struct {
	exact    literals // the whole of a match is one of them, if texts is not empty
	inside   literals // otherwise: one of them is somewhere in it, if texts is not empty
	complete bool     // each text of exact is a match, wherever it stands
}

// Bounds of a set of literals. Larger ones cost more than they save.
const (
	maxLiterals   = 48
	maxLiteralLen = 64
)

// required is the set that every match holds one of; none if texts is empty.
func (n needs) required() literals {
	if len(n.exact.texts) > 0 {
		return n.exact
	}
	return n.inside
}

// extract finds out what the matches of re hold. re is simplified.
func extract(re *syntax.Regexp) needs {
	switch re.Op {
	case syntax.OpLiteral:
		return extractLiteral(re)
	case syntax.OpCharClass:
		return extractClass(re)
	case syntax.OpEmptyMatch:
		return needs{exact: literals{texts: []string{""}}, complete: true}
	case syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText,
		syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return needs{exact: literals{texts: []string{""}}}
	case syntax.OpCapture:
		return extract(re.Sub[0])
	case syntax.OpPlus:
		return needs{inside: extract(re.Sub[0]).required()}
	case syntax.OpQuest:
		sub := extract(re.Sub[0])
		if len(sub.exact.texts) == 0 {
			return needs{}
		}
		sub.exact.texts = append(slices.Clone(sub.exact.texts), "")
		return sub
	case syntax.OpConcat:
		return extractConcat(re.Sub)
	case syntax.OpAlternate:
		return extractAlternate(re.Sub)
	}
	return needs{}
}

// extractLiteral splits a literal that ignores case where a character beyond
// ASCII has another case: its bytes are then not known.
func extractLiteral(re *syntax.Regexp) needs {
	if re.Flags&syntax.FoldCase == 0 {
		return needs{exact: literals{texts: []string{string(re.Rune)}}, complete: true}
	}
	var parts []needs
	var run strings.Builder
	fold := false
	end := func() {
		if run.Len() > 0 {
			parts = append(parts, needs{exact: literals{texts: []string{run.String()}, fold: fold}, complete: true})
		}
		run.Reset()
	}
	for _, r := range re.Rune {
		if r >= utf8.RuneSelf && unicode.SimpleFold(r) != r {
			end()
			parts = append(parts, needs{})
			continue
		}
		fold = fold || unicode.IsLetter(r) && r < utf8.RuneSelf
		run.WriteRune(lowerASCII(r))
	}
	end()
	return join(parts)
}

func lowerASCII(r rune) rune {
	if 'A' <= r && r <= 'Z' {
		return r + 'a' - 'A'
	}
	return r
}

// extractClass spells out a class of few characters.
func extractClass(re *syntax.Regexp) needs {
	var texts []string
	for i := 0; i+1 < len(re.Rune); i += 2 {
		lo, hi := re.Rune[i], re.Rune[i+1]
		if int(hi-lo)+len(texts) >= 10 {
			return needs{}
		}
		for r := lo; r <= hi; r++ {
			texts = append(texts, string(r))
		}
	}
	return needs{exact: literals{texts: texts}, complete: true}
}

func extractConcat(subs []*syntax.Regexp) needs {
	parts := make([]needs, len(subs))
	for i, sub := range subs {
		parts[i] = extract(sub)
	}
	return join(parts)
}

// join combines what follows each other: texts of neighbours become longer ones,
// and of all that is required the rarest is kept.
func join(parts []needs) needs {
	run := needs{exact: literals{texts: []string{""}}, complete: true}
	var best literals
	broken := false
	better := func(l literals) {
		if l.cost() < best.cost() {
			best = l
		}
	}
	for _, p := range parts {
		if len(p.exact.texts) > 0 {
			if product, ok := cross(run.exact, p.exact); ok {
				if product.fold && !(run.exact.same(product) && p.exact.same(product)) {
					run.complete = false
				}
				run.exact, run.complete = product, run.complete && p.complete
				continue
			}
		}
		broken = true
		better(run.exact)
		better(p.required())
		run = needs{exact: literals{texts: []string{""}}}
		if len(p.exact.texts) > 0 {
			run.exact = p.exact
		}
	}
	if !broken {
		return run
	}
	better(run.exact)
	return needs{inside: best}
}

// same reports whether folding l to the case of to adds nothing to it.
func (l literals) same(to literals) bool {
	if l.fold == to.fold {
		return true
	}
	for _, t := range l.texts {
		if strings.IndexFunc(t, func(r rune) bool { return 'a' <= lowerASCII(r) && lowerASCII(r) <= 'z' }) >= 0 {
			return false
		}
	}
	return true
}

// cross appends each text of b to each of a, if the result is not too large.
func cross(a, b literals) (literals, bool) {
	if len(a.texts)*len(b.texts) > maxLiterals {
		return literals{}, false
	}
	out := literals{fold: a.fold || b.fold}
	for _, x := range a.texts {
		for _, y := range b.texts {
			if len(x)+len(y) > maxLiteralLen {
				return literals{}, false
			}
			out.texts = append(out.texts, x+y)
		}
	}
	return out.folded(), true
}

// folded makes the texts lower case if they match in any.
func (l literals) folded() literals {
	if l.fold {
		for i, t := range l.texts {
			l.texts[i] = strings.Map(lowerASCII, t)
		}
	}
	return l
}

func extractAlternate(subs []*syntax.Regexp) needs {
	out := needs{complete: true}
	var all literals
	exact := true
	for _, sub := range subs {
		n := extract(sub)
		l := n.required()
		if len(l.texts) == 0 || len(all.texts)+len(l.texts) > maxLiterals {
			return needs{}
		}
		exact = exact && len(n.exact.texts) > 0
		joined := literals{fold: all.fold || l.fold, texts: slices.Concat(all.texts, l.texts)}
		if joined.fold && !(all.same(joined) && l.same(joined)) {
			out.complete = false
		}
		all = joined.folded()
		out.complete = out.complete && n.complete
	}
	if exact {
		out.exact = all
		return out
	}
	return needs{inside: all}
}

// finder looks for the required literals, if there are any that are worth it.
func (n needs) finder() *finder {
	l := n.required()
	if l.cost() >= scanCost {
		return nil
	}
	return newFinder(l)
}

// Costs are estimates in nanoseconds for a byte of text.
const (
	scanCost    = 1.8  // of the automaton
	sweepCost   = 0.05 // of looking for one byte value
	stopCost    = 10   // of each place where that finds one
	lookCost    = 0.6  // of looking at two or three bytes
	gramStop    = 15   // of each place where these may be some of a literal
	lineCost    = 120  // of each line that must be looked at because of a literal
	costNothing = math.MaxFloat64
)

// cost is what looking for l first would cost.
func (l literals) cost() float64 {
	if len(l.texts) == 0 || slices.Contains(l.texts, "") {
		return costNothing
	}
	_, find := l.finding()
	lines := 0.0
	for _, t := range l.texts {
		lines += share(t, l.fold)
	}
	return find + lines*lineCost
}

// sweeping is what looking for the rarest byte of each text costs.
func (l literals) sweeping() float64 {
	total := 0.0
	for _, t := range l.texts {
		rare, sweeps := 1.0, 0.0
		for i := range len(t) {
			if p, n := frequency(t[i], l.fold); p < rare {
				rare, sweeps = p, n
			}
		}
		total += sweeps*sweepCost + rare*stopCost
	}
	return total
}

// finding is what looking for l costs, and whether it is cheaper to look for all texts
// together than for one after the other.
func (l literals) finding() (together bool, cost float64) {
	cost = l.sweeping()
	width, step := stride(l.shortest())
	if width == 0 || len(l.texts) == 1 {
		return false, cost
	}
	stops := 0.0
	for _, t := range l.texts {
		_, s := window(t, width, step, l.fold)
		stops += s
	}
	if c := (lookCost + stops*gramStop) / float64(step); c < cost {
		return true, c
	}
	return false, cost
}

// shortest is the length of the shortest text.
func (l literals) shortest() int {
	shortest := math.MaxInt
	for _, t := range l.texts {
		shortest = min(shortest, len(t))
	}
	return shortest
}

// share is that of the places in a text where the bytes of s stand.
func share(s string, fold bool) float64 {
	rare, whole := 1.0, 0.5
	for i := range len(s) {
		p, _ := frequency(s[i], fold)
		rare = min(rare, p)
		whole *= min(1, p*2) // neighbours are not independent
	}
	return min(rare, whole)
}

// frequency is the share of bytes that are b, or b in either case, and how many
// byte values that are.
func frequency(b byte, fold bool) (share, values float64) {
	share = math.Exp2(-float64(rarity[b]) / 8)
	if fold && 'a' <= b && b <= 'z' {
		return share + math.Exp2(-float64(rarity[b-'a'+'A'])/8), 2
	}
	return share, 1
}

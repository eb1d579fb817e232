package secret

import (
	"slices"
	"strings"

	"github.com/burin-dev/burin/internal/sorting"
)

// spans are the pieces of s that must not leave, in order, apart from each other.
// Values that detectors find are remembered, and s is searched for them again.
func (v *Vault) spans(s string) []span {
	for round := 1; ; round++ {
		v.mu.RLock()
		raw := v.index.scan(s, nil)
		if !v.noDetect {
			raw = v.orphans(s, v.private.scan(s, raw))
		}
		v.mu.RUnlock()
		for _, p := range v.patterns {
			raw = p.scan(s, raw)
		}
		if len(raw) == 0 {
			return nil
		}
		merged := merge(raw)
		if !v.learn(s, merged) || round == maxRounds {
			return merged
		}
	}
}

// merge joins spans that overlap, so that no part of any of them stays, and takes
// placeholders out of them.
func merge(raw []span) []span {
	sorting.Stable(raw, func(a, b span) int {
		if a.lo != b.lo {
			return a.lo - b.lo
		}
		return b.hi - a.hi
	})
	var barriers, out []span
	for _, sp := range raw {
		if sp.barrier {
			barriers = append(barriers, sp)
		}
	}
	var pieces []span
	for _, sp := range raw {
		if sp.barrier {
			continue
		}
		pieces = appendOutside(pieces, sp, barriers)
	}
	sorting.Stable(pieces, func(a, b span) int { return a.lo - b.lo })
	for _, sp := range pieces {
		if n := len(out) - 1; n >= 0 && sp.lo < out[n].hi {
			join(&out[n], sp)
			continue
		}
		out = append(out, sp)
	}
	return out
}

// join widens a by b, which begins within it. Of two names for the same piece
// that of the known value or the more specific kind stays. Replace mode wins,
// since its text must not be restored.
func join(a *span, b span) {
	if a.replace != nil {
		b.replace = a.replace
	}
	if a.lo == b.lo && a.hi == b.hi {
		if a.value == nil && (b.value != nil || weak(a.kind)) || a.replace == nil && b.replace != nil {
			*a = b
		}
		return
	}
	if a.replace = b.replace; b.hi > a.hi {
		a.hi, a.value = b.hi, nil
	}
}

// appendOutside adds the parts of sp that no barrier covers. A finding that contains a
// placeholder does not count: the secret in it is hidden already.
func appendOutside(out []span, sp span, barriers []span) []span {
	at, _ := slices.BinarySearchFunc(barriers, sp.lo, func(b span, lo int) int {
		if b.hi <= lo {
			return -1
		}
		return 1
	})
	for _, b := range barriers[at:] {
		if b.lo >= sp.hi {
			break
		}
		if !sp.pattern {
			return out
		}
		if b.lo > sp.lo {
			piece := sp
			piece.hi = b.lo
			out = append(out, piece)
		}
		sp.lo = min(b.hi, sp.hi)
	}
	if sp.lo < sp.hi {
		out = append(out, sp)
	}
	return out
}

// learn remembers the texts of the spans and reports whether there is anything new
// to search for.
func (v *Vault) learn(s string, spans []span) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	fresh := false
	for _, sp := range spans {
		if sp.value != nil {
			continue
		}
		if v.teach(s[sp.lo:sp.hi], sp) {
			fresh = true
		}
	}
	return fresh
}

// teach makes one detected text known. Texts that are short, very long or one
// too many can be restored, but are not searched for.
func (v *Vault) teach(text string, sp span) bool {
	if sp.replace == nil {
		v.hold(placeholderName(sp.name()), text)
	}
	if sp.kind == keyKind && !sp.guess && v.learnKey(strings.Clone(text)) {
		v.age.Add(1)
		if sp.piece {
			return true
		}
	}
	if sp.piece {
		return false
	}
	if len(text) < minEnv || len(text) > maxSought || v.learnt >= maxLearnt || v.byText[text] != nil {
		return false
	}
	v.learnt++
	return v.know(strings.Clone(text), sp.kind, placeholderName(sp.name()), sp.replace)
}

// name is what the placeholder of a span is called.
func (sp *span) name() string {
	return sp.kind[strings.IndexByte(sp.kind, ':')+1:]
}

// detected reports whether a detector found the span, now or earlier.
func (sp *span) detected() bool { return !strings.Contains(sp.kind, ":") }

// apply is s with its spans substituted.
func (v *Vault) apply(s string, spans []span) string {
	var out strings.Builder
	out.Grow(len(s) + 32*len(spans))
	last := 0
	for _, sp := range spans {
		out.WriteString(s[last:sp.lo])
		out.WriteString(v.substitute(s, sp))
		last = sp.hi
	}
	out.WriteString(s[last:])
	return out.String()
}

// substitute is what stands in place of a span.
func (v *Vault) substitute(s string, sp span) string {
	text := s[sp.lo:sp.hi]
	switch {
	case sp.replace != nil:
		return sp.replace.stand(text)
	case sp.value != nil:
		return sp.value.placeholder
	}
	v.mu.RLock()
	defer v.mu.RUnlock()
	if val := v.byText[text]; val != nil && val.replace == nil {
		return val.placeholder
	}
	return v.placeholder(placeholderName(sp.name()), text)
}

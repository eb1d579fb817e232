package secret

import (
	"encoding/json"
	"iter"
	"slices"
	"strings"

	"github.com/burin-dev/burin/internal/jsontext"
)

// jsonToken is a piece of a JSON text: the inside of a string, or a number.
type jsonToken struct {
	lo, hi int
	str    bool
	cut    bool // a string that does not end
}

var numberByte = newClass("0-9+.eE-")

// jsonTokens lists strings and numbers of a text. It takes any text; a quote
// begins a string wherever it stands.
func jsonTokens(s string) iter.Seq[jsonToken] {
	return func(yield func(jsonToken) bool) {
		text := []byte(s)
		for i := 0; i < len(s); {
			switch c := s[i]; {
			case c == '"':
				end := len(s)
				if n := jsontext.End(text[i+1:]); n >= 0 {
					end = i + 1 + n
				}
				if !yield(jsonToken{i + 1, end, true, end == len(s)}) {
					return
				}
				i = end + 1
			case c == '-' || digits[c]:
				end := numberByte.run(s, i, len(s))
				if !yield(jsonToken{lo: i, hi: end}) {
					return
				}
				i = end
			default:
				i++
			}
		}
	}
}

// HideJSON is Hide for JSON text. It hides secrets in the decoded value of each string, and
// a number that is a secret becomes a string, so the result is JSON of the same shape.
// Field names are strings like others: a caller that depends on some has to check them.
// Text that is not JSON is hidden as it is written. If b has no secret, b itself is
// returned; it is never changed.
func (v *Vault) HideJSON(b []byte) []byte {
	if !json.Valid(b) {
		return v.HideBytes(b)
	}
	text := string(b)
	hidden := v.hideJSON(text)
	if hidden == text {
		return b
	}
	return []byte(hidden)
}

// ReportJSON lists what [Vault.HideJSON] hides. The offset of a finding is that of the
// string or number that it stands in, its length that of what is meant.
func (v *Vault) ReportJSON(b []byte) []Finding {
	text := string(b)
	if !json.Valid(b) {
		return v.Report(text)
	}
	pieces, some := v.lookAround(text)
	if !some {
		return nil
	}
	var out []Finding
	for tok := range jsonTokens(text) {
		meant := tok.meaning(text)
		for _, sp := range v.tokenSpans(text, tok, meant, pieces) {
			out = append(out, Finding{sp.kind, tok.lo, sp.hi - sp.lo, v.substitute(meant, sp)})
		}
	}
	return out
}

// hideJSON hides the secrets of a JSON text and keeps it JSON: strings are
// hidden as what they mean, whatever escapes they are written with; a number that
// is a secret becomes a string. What does not begin like JSON is plain text.
func (v *Vault) hideJSON(s string) string {
	t := strings.TrimLeft(s, " \t\r\n")
	if t == "" || strings.IndexByte(`{["`, t[0]) < 0 {
		return v.Hide(s)
	}
	pieces, some := v.lookAround(s)
	if !some {
		return s
	}
	var out []byte
	last := 0
	for tok := range jsonTokens(s) {
		text := tok.meaning(s)
		spans := v.tokenSpans(s, tok, text, pieces)
		if len(spans) == 0 {
			continue
		}
		hidden := v.Hide(v.apply(text, spans))
		if hidden == text {
			continue
		}
		q := appendQuoted(nil, hidden)
		if tok.str {
			q = q[1 : len(q)-1]
		}
		out = append(append(out, s[last:tok.lo]...), q...)
		last = tok.hi
	}
	if last == 0 {
		return s
	}
	return string(append(out, s[last:]...))
}

// lookAround looks at a JSON text as it is written, which finds what only the text around
// a string gives away, as in "password": "…". It gives the pieces of strings that are
// secret, and false if nothing can be secret anywhere.
func (v *Vault) lookAround(s string) (pieces []span, some bool) {
	if spans := v.spans(s); len(spans) > 0 {
		return v.learnStrings(s, spans), true
	}
	return nil, strings.IndexByte(s, '\\') >= 0
}

// tokenSpans returns the secrets in the decoded value of a token. It adds the pieces that the
// surrounding text identified, because only a limited number of values is known everywhere.
func (v *Vault) tokenSpans(s string, tok jsonToken, text string, pieces []span) []span {
	out := v.spans(text)
	alone := len(out)
	at, _ := slices.BinarySearchFunc(pieces, tok.lo, func(p span, lo int) int {
		if p.hi <= lo {
			return -1
		}
		return 1
	})
	for _, p := range pieces[at:] {
		if p.lo >= tok.hi {
			break
		}
		before, within := unescape(s[tok.lo:p.lo]), unescape(s[p.lo:p.hi])
		p.lo, p.hi = len(before), len(before)+len(within)
		if p.hi > len(text) || text[p.lo:p.hi] != within {
			p.lo, p.hi = 0, len(text) // it was cut within an escape
		}
		out = append(out, p)
	}
	if len(out) > alone {
		out = merge(out)
	}
	return out
}

// meaning is what the token of a text stands for.
func (t jsonToken) meaning(s string) string {
	if t.str {
		return unescape(s[t.lo:t.hi])
	}
	return s[t.lo:t.hi]
}

// learnStrings makes the strings known that spans of the written text touch, and gives
// what of the spans lies in them, in order. Of a span over several strings only the last
// counts: those before it are names. But what a detector found has no end in the first
// one then, such as a quote that is never closed: the others are no part of it.
func (v *Vault) learnStrings(s string, spans []span) (pieces []span) {
	v.mu.Lock()
	defer v.mu.Unlock()
	n := 0
	var tok jsonToken
	var found bool
	flush := func(sp span) {
		lo, hi := max(tok.lo, sp.lo), min(tok.hi, sp.hi)
		if !found || lo >= hi || !tok.str {
			return
		}
		text := unescape(s[lo:hi])
		if common(text) {
			return
		}
		sp.value, sp.lo, sp.hi = nil, lo, hi
		v.teach(text, sp)
		pieces = append(pieces, sp)
	}
	for t := range jsonTokens(s) {
		for n < len(spans) && t.lo >= spans[n].hi {
			flush(spans[n])
			n, found = n+1, false
		}
		if n == len(spans) {
			return pieces
		}
		if t.hi > spans[n].lo && (!found || !spans[n].detected()) {
			tok, found = t, true
		}
	}
	if n < len(spans) {
		flush(spans[n])
	}
	return pieces
}

// unescape is what the inside of a JSON string means. Where it is not sound it is
// taken as it is written.
func unescape(s string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	if text, _, ok := jsontext.Unquote(make([]byte, 0, len(s)), []byte(s)); ok {
		return string(text)
	}
	var out string // of halves of surrogate pairs
	if json.Unmarshal([]byte(`"`+s+`"`), &out) == nil {
		return out
	}
	return s
}

package secret

import (
	"encoding/json"
	"iter"
	"strings"
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
		for i := 0; i < len(s); {
			switch c := s[i]; {
			case c == '"':
				end := stringEnd(s, i+1)
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

// stringEnd is where the string whose inside begins at i is closed.
func stringEnd(s string, i int) int {
	for i < len(s) && s[i] != '"' {
		if s[i] == '\\' {
			i++
		}
		i++
	}
	return min(i, len(s))
}

// hideJSON hides the secrets of a JSON text and keeps it JSON: strings are
// hidden as what they mean, whatever escapes they are written with; a number that
// is a secret becomes a string. What does not begin like JSON is plain text.
func (v *Vault) hideJSON(s string) string {
	t := strings.TrimLeft(s, " \t\r\n")
	if t == "" || strings.IndexByte(`{["`, t[0]) < 0 {
		return v.Hide(s)
	}
	// A look at the text as it is written finds what only the text around a
	// string gives away, as in "password": "…".
	if spans := v.spans(s); len(spans) > 0 {
		v.learnStrings(s, spans)
	} else if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	var out []byte
	last := 0
	for tok := range jsonTokens(s) {
		text := s[tok.lo:tok.hi]
		if tok.str && strings.IndexByte(text, '\\') >= 0 {
			text = unescape(text)
		}
		hidden := v.Hide(text)
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

// learnStrings makes the strings known that spans of the written text touch. Of a
// span over several strings only the last counts: those before it are names.
func (v *Vault) learnStrings(s string, spans []span) {
	v.mu.Lock()
	defer v.mu.Unlock()
	n := 0
	var last jsonToken
	flush := func(sp span) {
		lo, hi := max(last.lo, sp.lo), min(last.hi, sp.hi)
		if lo < hi && last.str {
			text := unescape(s[lo:hi])
			sp.value = nil
			if !common(text) {
				v.teach(text, sp)
			}
		}
	}
	for tok := range jsonTokens(s) {
		for n < len(spans) && tok.lo >= spans[n].hi {
			flush(spans[n])
			n++
		}
		if n == len(spans) {
			return
		}
		if tok.hi > spans[n].lo {
			last = tok
		}
	}
	if n < len(spans) {
		flush(spans[n])
	}
}

// unescape is what the inside of a JSON string means. Where it is not sound it is
// taken as it is written.
func unescape(s string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	var out string
	if json.Unmarshal([]byte(`"`+s+`"`), &out) == nil {
		return out
	}
	return s
}

package secret

import (
	"crypto/hmac"
	"crypto/sha256"
	"strings"
)

// A placeholder is SECRET.NAME.tag, for example SECRET.GITHUB_TOKEN.k3f9qz2wxp.
//
// It consists of letters, digits, dots and underscores only, because these mean
// nothing to JSON, URLs, Markdown source and shells: a placeholder that reaches a
// command unrestored is one harmless word, not a redirection or an expansion.
// It is ASCII, so that models copy it back byte for byte. The tag has an alphabet
// without vowels, so it is no word of any language, and its fixed length ends the
// placeholder even where text follows without a gap.
//
// The first seven characters of the tag name the value, the last three prove
// that the placeholder was made with the key. Without the proof, a program could
// print a secret in the shape of a placeholder, and it would pass.
const (
	placeholderStart = "SECRET."
	tagAlphabet      = "bcdfghjkmnpqrstvwxyz23456789"
	tagLength        = 10
	valueTag         = 7 // of the tag: names the value
	maxName          = 40
)

var tagByte = newClass("bcdfghjkmnpqrstvwxyz2-9")

// mac is n characters that depend on the key, the purpose and the text.
func mac(key []byte, purpose, text string, n int) string {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(purpose))
	h.Write([]byte(text))
	var out [sha256.Size]byte
	for i, b := range h.Sum(nil)[:n] {
		out[i] = tagAlphabet[int(b)%len(tagAlphabet)]
	}
	return string(out[:n])
}

// placeholder is what stands for text, the same in every process with the key
// unless another text of this process has the same tag already.
func (v *Vault) placeholder(name, text string) string {
	tag := mac(v.key, "value\x00", text, valueTag)
	for held, ok := v.byTag[tag]; ok && held != text; held, ok = v.byTag[tag] {
		tag = mac(v.key, "value\x00"+tag+"\x00", text, valueTag)
	}
	return placeholderStart + name + "." + tag + mac(v.key, "name\x00", name+"."+tag, tagLength-valueTag)
}

// genuine reports whether a placeholder was made with this Vault's key.
func (v *Vault) genuine(p found) bool {
	return p.tag[valueTag:] == mac(v.key, "name\x00", p.name+"."+p.tag[:valueTag], tagLength-valueTag)
}

// placeholderName makes the middle of a placeholder from the name of a variable,
// an entry or a kind.
func placeholderName(name string) string {
	out := make([]byte, 0, maxName)
	for i := 0; i < len(name) && len(out) < maxName; i++ {
		c := name[i]
		switch {
		case lowers[c]:
			c -= 'a' - 'A'
		case !alnum[c]:
			c = '_'
		}
		out = append(out, c)
	}
	if len(out) == 0 {
		return "VALUE"
	}
	return string(out)
}

// found is what looks like a placeholder in a text.
type found struct {
	name string // in capitals, without escapes
	tag  string
	end  int
}

// parsePlaceholder reads the placeholder that begins at at. Letter case of the
// start and the name does not matter, and underscores may be escaped as Markdown
// wants them, in plain text or inside JSON: the tag alone says which value is
// meant, and it must be exact.
func parsePlaceholder(s string, at int) (found, bool) {
	i := at + len(placeholderStart)
	if i > len(s) || !strings.EqualFold(s[at:i], placeholderStart) {
		return found{}, false
	}
	n := 0
	for ; i < len(s) && n <= maxName; n++ {
		for k := 0; k < 2 && s[i] == '\\' && i+1 < len(s) && (s[i+1] == '_' || s[i+1] == '\\'); k++ {
			i++
		}
		if !wordByte[s[i]] {
			break
		}
		i++
	}
	if n == 0 || n > maxName || i+1+tagLength > len(s) || s[i] != '.' {
		return found{}, false
	}
	i++
	if tag := s[i : i+tagLength]; tagByte.all(tag) {
		name := strings.ReplaceAll(strings.ToUpper(s[at+len(placeholderStart):i-1]), `\`, "")
		return found{name, tag, i + tagLength}, true
	}
	return found{}, false
}

// nextPlaceholder is where a placeholder may begin in s, from i on, or -1.
func nextPlaceholder(s string, i int) int {
	for from := i; ; {
		dot := strings.IndexByte(s[from:], '.')
		if dot < 0 {
			return -1
		}
		from += dot + 1
		if at := from - len(placeholderStart); at >= i && strings.EqualFold(s[at:from], placeholderStart) {
			return at
		}
	}
}

// Restore puts the values back in place of the placeholders that this Vault has
// made. Placeholders it does not know, and those of replaced values, stay.
func (v *Vault) Restore(s string) string {
	return v.restore(s, 0, len(s), func(b []byte, text string) []byte { return append(b, text...) })
}

// RestoreArgs restores the placeholders inside the strings of a JSON text, each
// value escaped as JSON wants it. Everything else keeps its bytes, so valid JSON
// stays valid, and so does the damage of JSON that is not.
func (v *Vault) RestoreArgs(args string) string {
	if nextPlaceholder(args, 0) < 0 {
		return args
	}
	var out []byte
	last := 0
	for tok := range jsonTokens(args) {
		if !tok.str {
			continue
		}
		body := v.restore(args, tok.lo, tok.hi, func(b []byte, text string) []byte {
			q := appendQuoted(nil, text)
			return append(b, q[1:len(q)-1]...)
		})
		if body != args[tok.lo:tok.hi] {
			out = append(append(out, args[last:tok.lo]...), body...)
			last = tok.hi
		}
	}
	if last == 0 {
		return args
	}
	return string(append(out, args[last:]...))
}

// Lost is the first placeholder in s that was made with this key and whose value this
// Vault does not know, as after a detector has found it in another process; "" if there is
// none.
func (v *Vault) Lost(s string) string {
	for at := nextPlaceholder(s, 0); at >= 0; {
		p, ok := parsePlaceholder(s, at)
		if !ok {
			at = nextPlaceholder(s, at+1)
			continue
		}
		v.mu.RLock()
		_, known := v.byTag[p.tag[:valueTag]]
		v.mu.RUnlock()
		if !known && v.genuine(p) {
			return placeholderStart + p.name + "." + p.tag
		}
		at = nextPlaceholder(s, p.end)
	}
	return ""
}

// restore is s[lo:hi] with values in place of placeholders.
func (v *Vault) restore(s string, lo, hi int, put func([]byte, string) []byte) string {
	s = s[lo:hi]
	var out []byte
	last := 0
	for at := nextPlaceholder(s, 0); at >= 0; {
		p, ok := parsePlaceholder(s, at)
		if !ok {
			at = nextPlaceholder(s, at+1)
			continue
		}
		v.mu.RLock()
		text, known := v.byTag[p.tag[:valueTag]]
		v.mu.RUnlock()
		if known {
			out = put(append(out, s[last:at]...), text)
			last = p.end
		}
		at = nextPlaceholder(s, p.end)
	}
	if last == 0 {
		return s
	}
	return string(append(out, s[last:]...))
}

// Package markup turns text that nobody vouches for into HTML that does nothing
// but show it: [AppendText] and [AppendAttr] for plain text, [Terminal] for the
// output of commands, [AppendDiff] for diffs, [AppendMarkdown] for Markdown.
//
// All of them append to a byte slice, take time linear in their input, emit only
// elements and classes that are written in this package, and show control
// characters that could make text look like something else.
package markup

import (
	"fmt"
	"unicode/utf8"

	"github.com/burin-dev/burin/internal/prose"
)

// AppendText appends s as the text of an element. Line feeds and tabs stay; other
// control characters become their pictures, and invisible or reordering
// characters become <span class="u"> with their code.
func AppendText(dst []byte, s string) []byte { return appendEscaped(dst, s, false) }

// AppendAttr appends s as an attribute value between double quotes. Characters
// that [AppendText] marks are written as ⟨U+202E⟩ here.
func AppendAttr(dst []byte, s string) []byte { return appendEscaped(dst, s, true) }

// Plain is s with its control characters made visible as in [AppendAttr], and
// without any escaping: for formats other than HTML.
func Plain(s string) string {
	clean := true
	for i := 0; i < len(s) && clean; i++ {
		clean = s[i] < utf8.RuneSelf && picture(s[i]) == 0 && s[i] != '\r'
	}
	if clean {
		return s
	}
	out := make([]byte, 0, len(s)+16)
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == '\r':
			if i+1 == len(s) || s[i+1] != '\n' {
				out = append(out, '\n')
			}
		case r < utf8.RuneSelf && picture(byte(r)) != 0:
			out = utf8.AppendRune(out, picture(byte(r)))
		case prose.Deceptive(r):
			out = fmt.Appendf(out, "⟨U+%04X⟩", r)
		default:
			out = utf8.AppendRune(out, r) // an invalid byte becomes U+FFFD
		}
		i += n
	}
	return string(out)
}

func appendEscaped(dst []byte, s string, attr bool) []byte {
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if rep := replacement(c, attr); rep != "" {
				dst = append(append(dst, s[from:i]...), rep...)
				from = i + 1
			} else if p := picture(c); p != 0 {
				dst = utf8.AppendRune(append(dst, s[from:i]...), p)
				from = i + 1
			} else if c == '\r' {
				dst = append(dst, s[from:i]...)
				if i+1 == len(s) || s[i+1] != '\n' {
					dst = append(dst, '\n')
				}
				from = i + 1
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 || prose.Deceptive(r) {
			dst = append(dst, s[from:i]...)
			switch {
			case r == utf8.RuneError && n == 1:
				dst = utf8.AppendRune(dst, utf8.RuneError)
			case attr:
				dst = fmt.Appendf(dst, "⟨U+%04X⟩", r)
			default:
				dst = fmt.Appendf(dst, `<span class="u">U+%04X</span>`, r)
			}
			from = i + n
		}
		i += n
	}
	return append(dst, s[from:]...)
}

func replacement(c byte, attr bool) string {
	switch c {
	case '&':
		return "&amp;"
	case '<':
		return "&lt;"
	case '>':
		return "&gt;"
	case '"':
		return "&#34;"
	case '\'':
		return "&#39;"
	case '\n':
		if attr {
			return "&#10;"
		}
	}
	return ""
}

// picture returns the visible sign of a control character; 0 if c is not one or is
// common in text.
func picture(c byte) rune {
	switch {
	case c == '\n', c == '\t', c == '\r':
		return 0
	case c < 0x20:
		return 0x2400 + rune(c)
	case c == 0x7f:
		return 0x2421
	}
	return 0
}

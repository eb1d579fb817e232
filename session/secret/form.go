package secret

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"
)

// form is a way in which a value may be written in a text.
type form struct{ text, suffix string }

// minForm is the least length of an encoded form, in bytes. A shorter one would
// be found in text that has nothing to do with the value.
const minForm = 8

// forms are the value itself and its encodings, each once. The suffix tells them
// apart in placeholders, since each is restored exactly as it was written.
func forms(v string) []form {
	out := []form{{v, ""}}
	add := func(text, suffix string) {
		for _, f := range out {
			if f.text == text || len(text) < minForm {
				return
			}
		}
		out = append(out, form{text, suffix})
	}
	query := url.QueryEscape(v)
	add(query, "_URL")
	add(url.PathEscape(v), "_URL")
	component := strings.ReplaceAll(query, "+", "%20")
	add(component, "_URL")
	for _, c := range [...]string{"!", "'", "(", ")", "*"} {
		component = strings.ReplaceAll(component, url.QueryEscape(c), c)
	}
	add(component, "_URL")
	add(lowerHex(query), "_URL")
	plain, html := jsonForms(v)
	add(plain, "_JSON")
	add(html, "_JSON")
	add(strings.ReplaceAll(plain, "/", `\/`), "_JSON")
	nested, _ := jsonForms(plain)
	add(nested, "_JSON")
	for shift := range 3 {
		add(stableBase64(base64.RawStdEncoding, v, shift), "_BASE64")
		add(stableBase64(base64.RawURLEncoding, v, shift), "_BASE64")
	}
	return out
}

// lowerHex writes the digits of %XX in lower case.
func lowerHex(s string) string {
	b := []byte(s)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			copy(b[i:], bytes.ToLower(b[i:i+3]))
		}
	}
	return string(b)
}

// jsonForms are v inside a JSON string, without and with the escapes of <, > and &.
func jsonForms(v string) (plain, html string) {
	q := appendQuoted(nil, v)
	plain = string(q[1 : len(q)-1])
	return plain, strings.NewReplacer("<", `\u003c`, ">", `\u003e`, "&", `\u0026`).Replace(plain)
}

// appendQuoted appends s as a JSON string. Only what must be escaped is.
func appendQuoted(b []byte, s string) []byte {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil { // a string always encodes
		return append(b, `""`...)
	}
	return append(b, bytes.TrimSuffix(buf.Bytes(), []byte("\n"))...)
}

// stableBase64 is the part of the encoding of a longer text that v alone decides,
// when v begins shift bytes into a group of three.
func stableBase64(enc *base64.Encoding, v string, shift int) string {
	padded := append(make([]byte, shift, shift+len(v)), v...)
	text := enc.EncodeToString(padded)
	first, last := (8*shift+5)/6, 8*(shift+len(v))/6
	return text[first:last]
}

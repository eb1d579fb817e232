package anthropic

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
)

// object is a JSON object that keeps the order of its keys. The order of a
// schema's properties is the order in which a model fills them in, and what a
// provider signed should come back as it was.
type object []member

type member struct {
	key   string
	value json.RawMessage
}

var errNotObject = errors.New("not a JSON object")

// parseObject reads one JSON object. Values keep their bytes.
func parseObject(raw []byte) (object, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, errNotObject
	}
	var o object
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		m := member{key: key.(string)} // the decoder has checked that keys are strings
		if err := d.Decode(&m.value); err != nil {
			return nil, err
		}
		o = append(o, m)
	}
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	return o, nil
}

// get is the value of a key, nil when there is none.
func (o object) get(key string) json.RawMessage {
	for _, m := range o {
		if m.key == key {
			return m.value
		}
	}
	return nil
}

// str is the value of a key that is a string, else "".
func (o object) str(key string) string {
	var s string
	if json.Unmarshal(o.get(key), &s) != nil {
		return ""
	}
	return s
}

// set replaces the value of a key where it stands, or appends it.
func (o object) set(key string, value json.RawMessage) object {
	for i := range o {
		if o[i].key == key {
			o[i].value = value
			return o
		}
	}
	return append(o, member{key, value})
}

// without leaves keys out.
func (o object) without(keys ...string) object {
	return slices.DeleteFunc(slices.Clone(o), func(m member) bool { return slices.Contains(keys, m.key) })
}

// json writes the object, compact apart from what its values hold.
func (o object) json() json.RawMessage {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(quote(m.key))
		b.WriteByte(':')
		b.Write(m.value)
	}
	b.WriteByte('}')
	return b.Bytes()
}

// quote is the JSON of a string.
func quote(s string) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string always encodes
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// mendSurrogates replaces \u escapes of half a surrogate pair, which models
// write and JSON parsers of providers refuse, by U+FFFD.
func mendSurrogates(raw []byte) []byte {
	if !bytes.Contains(raw, []byte(`\ud`)) && !bytes.Contains(raw, []byte(`\uD`)) {
		return raw
	}
	out := bytes.Clone(raw)
	for i := 0; i+5 < len(out); i++ {
		if out[i] != '\\' {
			continue
		}
		if out[i+1] != 'u' {
			i++ // an escaped character, which may be a backslash itself
			continue
		}
		switch {
		case isHalf(out[i:], "89ab") && len(out) >= i+12 && isHalf(out[i+6:], "cdef"):
			i += 11
		case isHalf(out[i:], "89abcdef"):
			copy(out[i+2:], "fffd")
			i += 5
		}
	}
	return out
}

// isHalf reports whether b begins with the escape of a surrogate whose second hex
// digit is one of kinds.
func isHalf(b []byte, kinds string) bool {
	lower := func(c byte) byte { return c | 0x20 }
	return b[0] == '\\' && b[1] == 'u' && lower(b[2]) == 'd' && bytes.IndexByte([]byte(kinds), lower(b[3])) >= 0
}

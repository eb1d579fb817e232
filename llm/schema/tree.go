package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// tree is a JSON value that keeps the order of object members. It is an object
// if fields is not nil, an array if items is not nil, else the scalar raw.
type tree struct {
	fields []field
	items  []*tree
	raw    json.RawMessage
}

type field struct {
	key   string
	value *tree
}

const maxDepth = 100 // nesting of a schema or of arguments that is still read

var (
	errDepth = errors.New("nested too deeply")
	errTail  = errors.New("more than one value")
)

// parseTree reads one JSON value. Of duplicate keys the last value counts.
func parseTree(data []byte) (*tree, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	t, err := readTree(dec, 0)
	if err != nil {
		return nil, err
	}
	if dec.More() {
		return nil, errTail
	}
	return t, nil
}

func readTree(dec *json.Decoder, depth int) (*tree, error) {
	if depth > maxDepth {
		return nil, errDepth
	}
	tok, err := dec.Token()
	if err != nil {
		return nil, err
	}
	switch tok {
	case json.Delim('{'):
		t := object()
		at := map[string]int{} // set would look through all members for each
		for dec.More() {
			key, err := dec.Token()
			if err != nil {
				return nil, err
			}
			value, err := readTree(dec, depth+1)
			if err != nil {
				return nil, err
			}
			name := key.(string)
			if i, seen := at[name]; seen {
				t.fields[i].value = value
				continue
			}
			at[name] = len(t.fields)
			t.fields = append(t.fields, field{name, value})
		}
		_, err = dec.Token()
		return t, err
	case json.Delim('['):
		t := array()
		for dec.More() {
			item, err := readTree(dec, depth+1)
			if err != nil {
				return nil, err
			}
			t.items = append(t.items, item)
		}
		_, err = dec.Token()
		return t, err
	}
	return scalar(tok), nil
}

func object() *tree              { return &tree{fields: []field{}} }
func array(items ...*tree) *tree { return &tree{items: append([]*tree{}, items...)} }

// scalar is a string, number, boolean or null.
func scalar(v any) *tree {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // scalars always encode
	return &tree{raw: bytes.TrimSuffix(buf.Bytes(), []byte("\n"))}
}

func (t *tree) isObject() bool { return t != nil && t.fields != nil }
func (t *tree) isArray() bool  { return t != nil && t.items != nil }
func (t *tree) isNull() bool   { return t != nil && string(t.raw) == "null" }
func (t *tree) isTrue() bool   { return t != nil && string(t.raw) == "true" }
func (t *tree) isFalse() bool  { return t != nil && string(t.raw) == "false" }

// text is the string t holds.
func (t *tree) text() (string, bool) {
	if t == nil || len(t.raw) == 0 || t.raw[0] != '"' {
		return "", false
	}
	var s string
	err := json.Unmarshal(t.raw, &s)
	return s, err == nil
}

// get is the member called key, or nil.
func (t *tree) get(key string) *tree {
	if t == nil {
		return nil
	}
	for _, f := range t.fields {
		if f.key == key {
			return f.value
		}
	}
	return nil
}

// set replaces the member called key, or adds it at the end.
func (t *tree) set(key string, value *tree) {
	for i := range t.fields {
		if t.fields[i].key == key {
			t.fields[i].value = value
			return
		}
	}
	t.fields = append(t.fields, field{key, value})
}

// first puts a member in front of the others.
func (t *tree) first(key string, value *tree) {
	t.fields = slices.Insert(t.fields, 0, field{key, value})
}

func (t *tree) remove(key string) {
	t.fields = slices.DeleteFunc(t.fields, func(f field) bool { return f.key == key })
}

// shallow is a copy whose own members can be changed.
func (t *tree) shallow() *tree {
	return &tree{fields: slices.Clone(t.fields), items: slices.Clone(t.items), raw: t.raw}
}

// at follows a local JSON pointer ("#", "#/$defs/Name"); nil if it leads nowhere.
func (t *tree) at(pointer string) *tree {
	rest, ok := strings.CutPrefix(pointer, "#")
	if !ok {
		return nil
	}
	if rest == "" {
		return t
	}
	if rest[0] != '/' {
		return nil
	}
	if decoded, err := url.PathUnescape(rest); err == nil {
		rest = decoded
	}
	for step := range strings.SplitSeq(rest[1:], "/") {
		step = strings.ReplaceAll(strings.ReplaceAll(step, "~1", "/"), "~0", "~")
		if t.isArray() {
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(t.items) {
				return nil
			}
			t = t.items[i]
			continue
		}
		if t = t.get(step); t == nil {
			return nil
		}
	}
	return t
}

// bytes is the JSON text of t.
func (t *tree) bytes() json.RawMessage { return t.append(nil) }

func (t *tree) append(dst []byte) []byte {
	switch {
	case t.isObject():
		dst = append(dst, '{')
		for i, f := range t.fields {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(dst, scalar(f.key).raw...)
			dst = append(dst, ':')
			dst = f.value.append(dst)
		}
		return append(dst, '}')
	case t.isArray():
		dst = append(dst, '[')
		for i, item := range t.items {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = item.append(dst)
		}
		return append(dst, ']')
	}
	return append(dst, t.raw...)
}

package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// coerce changes args where that can't change their meaning; see [Tool.Validate].
func (v *validator) coerce(args json.RawMessage) json.RawMessage {
	value, err := decodeNumbers(args)
	if err != nil {
		return args
	}
	c := coercer{w: v.walker()}
	value = c.value(v.root, value)
	if !c.changed {
		return args
	}
	out, err := encode(value)
	if err != nil {
		return args
	}
	return out
}

// decodeNumbers decodes one JSON value and keeps numbers as written.
func decodeNumbers(p []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(p))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one value")
	}
	return v, nil
}

// encode is json.Marshal without escaping of <, > and &.
func encode(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

type coercer struct {
	w       *walker
	changed bool
}

func (c *coercer) value(s *Schema, v any) any {
	if !c.w.step() {
		return v
	}
	if c.w.types(s)&typeOf(v) == 0 {
		return c.convert(s, v)
	}
	at := c.w.settle(s, v)
	if at == nil {
		return v
	}
	switch v := v.(type) {
	case map[string]any:
		for name, p := range at.Properties {
			if old, given := v[name]; given {
				v[name] = c.value(p, old)
			}
		}
	case []any:
		if at.Items != nil {
			for i := range v {
				v[i] = c.value(at.Items, v[i])
			}
		}
	}
	return v
}

// convert turns v, whose type s does not accept, into a value that s accepts.
func (c *coercer) convert(s *Schema, v any) any {
	want := c.w.types(s)
	if text, ok := v.(string); ok {
		if inner, ok := unquote(text, want); ok {
			c.changed = true
			return c.value(s, inner)
		}
	}
	if want&typeArray == 0 || typeOf(v)&(typeString|typeObject) == 0 {
		return v
	}
	list := []any{v}
	at := c.w.settle(s, list)
	if at == nil || at.Items == nil || c.w.types(at.Items)&typeOf(v) == 0 {
		return v
	}
	c.changed = true
	return c.value(s, list)
}

// unquote reads a string that contains exactly one JSON value of a wanted type; a number
// without white space around it.
func unquote(text string, want typeSet) (any, bool) {
	v, err := decodeNumbers([]byte(text))
	if err != nil || typeOf(v)&want&^typeNull == 0 {
		return nil, false
	}
	if n, ok := v.(json.Number); ok && string(n) != text {
		return nil, false
	}
	return v, true
}

// integers rewrites whole numbers in args without point and exponent: the schema accepts those
// as integers, Go does not.
func integers(args json.RawMessage) (json.RawMessage, bool) {
	v, err := decodeNumbers(args)
	if err != nil {
		return nil, false
	}
	out, err := encode(rewrite(v))
	return out, err == nil
}

func rewrite(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			v[k] = rewrite(v[k])
		}
	case []any:
		for i := range v {
			v[i] = rewrite(v[i])
		}
	case json.Number:
		whole, _ := integral(string(v))
		return json.Number(whole)
	}
	return v
}

package anthropic

import (
	"encoding/json"
	"slices"
	"strings"
)

// noArguments is the schema of a tool that takes none.
var noArguments = json.RawMessage(`{"type":"object","properties":{}}`)

// inputSchema is the schema of a tool's arguments as the API takes it: an
// object that says so.
func inputSchema(raw json.RawMessage) (json.RawMessage, error) {
	if len(raw) == 0 {
		return noArguments, nil
	}
	o, err := parseObject(raw)
	if err != nil {
		return nil, err
	}
	if o.get("type") == nil {
		o = append(object{{"type", json.RawMessage(`"object"`)}}, o...)
	}
	return o.json(), nil
}

// Limits of schemas the provider compiles, for one request together.
const (
	maxStrictTools    = 20
	maxStrictOptional = 24 // properties that are not required
	maxStrictUnions   = 16
)

// compiler turns schemas into the dialect that the provider enforces and counts
// what they need of the limits.
type compiler struct {
	optional, unions int
	open             bool // met an object with free keys, which cannot be enforced
	bad              bool // met something that is not a schema
}

// strict is raw in the enforced dialect. ok is false when the schema means
// something the dialect cannot say.
func (c *compiler) strict(raw json.RawMessage) (out json.RawMessage, ok bool) {
	c.open, c.bad = false, false
	out = c.schema(raw)
	return out, !c.open && !c.bad
}

// formats of strings that the dialect knows.
var formats = []string{"date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"}

// schema rewrites one schema. What cannot be enforced (lengths, ranges,
// patterns) moves into the description, where the model still reads it.
func (c *compiler) schema(raw json.RawMessage) json.RawMessage {
	in, err := parseObject(raw)
	if err != nil {
		c.bad = true
		return raw
	}
	var out object
	var notes []string
	for _, m := range in {
		switch m.key {
		case "type":
			if strings.HasPrefix(string(m.value), "[") {
				c.unions++
			}
			out = append(out, m)
		case "$ref", "title", "enum", "const", "required", "default":
			out = append(out, m)
		case "description", "additionalProperties", "$schema", "$id", "$comment":
		case "properties", "$defs", "definitions":
			out = append(out, member{m.key, c.each(m.value)})
		case "items":
			out = append(out, member{m.key, c.schema(m.value)})
		case "anyOf", "allOf":
			out = append(out, member{m.key, c.list(m.value)})
		case "oneOf":
			out = append(out, member{"anyOf", c.list(m.value)})
		case "format":
			if slices.Contains(formats, in.str("format")) {
				out = append(out, m)
			} else {
				notes = append(notes, "format: "+string(m.value))
			}
		case "minItems":
			if s := string(m.value); s == "0" || s == "1" {
				out = append(out, m)
			} else {
				notes = append(notes, "minItems: "+s)
			}
		default:
			notes = append(notes, m.key+": "+string(m.value))
		}
	}
	if text := strings.Join(slices.DeleteFunc([]string{in.str("description"), strings.Join(notes, ", ")}, func(s string) bool { return s == "" }), "\n"); text != "" {
		out = out.set("description", quote(text))
	}
	if in.str("type") == "object" || in.get("properties") != nil {
		if extra := string(in.get("additionalProperties")); extra != "" && extra != "false" {
			c.open = true
		}
		if in.get("properties") == nil {
			c.open = true
		}
		out = out.set("additionalProperties", json.RawMessage("false"))
		c.countOptional(in)
	}
	return out.json()
}

func (c *compiler) each(raw json.RawMessage) json.RawMessage {
	o, err := parseObject(raw)
	if err != nil {
		c.bad = true
		return raw
	}
	for i := range o {
		o[i].value = c.schema(o[i].value)
	}
	return o.json()
}

func (c *compiler) list(raw json.RawMessage) json.RawMessage {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		c.bad = true
		return raw
	}
	c.unions++
	parts := make([]string, len(list))
	for i := range list {
		parts[i] = string(c.schema(list[i]))
	}
	return json.RawMessage("[" + strings.Join(parts, ",") + "]")
}

func (c *compiler) countOptional(in object) {
	var required []string
	_ = json.Unmarshal(in.get("required"), &required) // no list: nothing is required
	properties, err := parseObject(in.get("properties"))
	if err != nil {
		return
	}
	for _, p := range properties {
		if !slices.Contains(required, p.key) {
			c.optional++
		}
	}
}

// within reports whether the limits of one request hold.
func (c *compiler) within() bool {
	return c.optional <= maxStrictOptional && c.unions <= maxStrictUnions
}

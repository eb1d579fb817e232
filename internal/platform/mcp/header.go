package mcp

import (
	"encoding/base64"
	"encoding/json"
	"math"
	"strconv"
	"strings"
)

// headersOf are the headers that repeat what a request says, for what stands between burin and the server.
func headersOf(version, method string, params map[string]any, more map[string]string) map[string]string {
	h := map[string]string{"Mcp-Protocol-Version": version, "Mcp-Method": method}
	name, _ := params["name"].(string)
	if method == "resources/read" {
		name, _ = params["uri"].(string)
	}
	if asksDuring(method) {
		h["Mcp-Name"] = headerValue(name)
	}
	for k, v := range more {
		h[k] = v
	}
	return h
}

// headerValue writes a text so that it arrives as it is.
func headerValue(s string) string {
	const begin, end = "=?base64?", "?="
	plain := strings.Trim(s, " \t") == s && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' })
	if plain && !(strings.HasPrefix(s, begin) && strings.HasSuffix(s, end)) {
		return s
	}
	return begin + base64.StdEncoding.EncodeToString([]byte(s)) + end
}

// parameter is a parameter of a tool that goes along as a header.
type parameter struct {
	path []string // in the arguments
	name string   // of the header, after Mcp-Param-
}

// maxParameters is how many parameters of a tool go along as headers.
const maxParameters = 100

// parameters are those of a schema that go along as headers. ok is false if the schema has one that must
// not be: then the tool can't be called over HTTP.
func parameters(schema json.RawMessage) (all []parameter, ok bool) {
	if !strings.Contains(string(schema), "x-mcp-header") { // as almost all
		return nil, true
	}
	var whole map[string]any
	if json.Unmarshal(schema, &whole) != nil {
		return nil, true // it is replaced by one that allows everything
	}
	seen := map[string]bool{}
	var inside func(node map[string]any, path []string, reached bool) bool
	inside = func(node map[string]any, path []string, reached bool) bool {
		if header, marked := node["x-mcp-header"]; marked && (len(path) > 0 || !reached) {
			name, _ := header.(string)
			kind, _ := node["type"].(string)
			lower := strings.ToLower(name)
			if !reached || !token(name) || seen[lower] || kind != "string" && kind != "integer" && kind != "boolean" || len(all) == maxParameters {
				return false
			}
			seen[lower] = true
			all = append(all, parameter{append([]string(nil), path...), name})
		}
		for key, v := range node {
			switch v := v.(type) {
			case map[string]any:
				if key != "properties" {
					if key != "default" && key != "const" && !inside(v, nil, false) {
						return false
					}
					continue
				}
				for name, p := range v {
					if property, is := p.(map[string]any); is && !inside(property, append(path, name), reached) {
						return false
					}
				}
			case []any:
				if key == "enum" || key == "examples" {
					continue
				}
				for _, e := range v {
					if m, is := e.(map[string]any); is && !inside(m, nil, false) {
						return false
					}
				}
			}
		}
		return true
	}
	return all, inside(whole, nil, true)
}

// token reports whether a text can be a part of the name of a header.
func token(s string) bool {
	return s != "" && len(s) <= 100 && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("!#$%&'*+-.^_`|~", r))
	})
}

// headersFor are those of a call: the arguments that the tool's schema wants there.
func headersFor(l *Link, c *conn, tool string, args json.RawMessage) map[string]string {
	if _, over := c.transport.(*web); !over || c.stateless == "" {
		return nil
	}
	var schema json.RawMessage
	l.mu.Lock()
	for i := range l.tools {
		if l.tools[i].Name == tool {
			schema = l.tools[i].InputSchema
		}
	}
	l.mu.Unlock()
	marked, _ := parameters(schema)
	if len(marked) == 0 {
		return nil
	}
	out := map[string]string{}
	for _, p := range marked {
		if v, ok := argument(args, p.path); ok {
			out["Mcp-Param-"+p.name] = headerValue(v)
		}
	}
	return out
}

// argument is the argument at a path, as a header has it.
func argument(args json.RawMessage, path []string) (string, bool) {
	for _, name := range path {
		var object map[string]json.RawMessage
		if json.Unmarshal(args, &object) != nil {
			return "", false
		}
		args = object[name]
	}
	var v any
	if len(args) == 0 || json.Unmarshal(args, &v) != nil {
		return "", false
	}
	switch v := v.(type) {
	case string:
		return v, true
	case bool:
		return strconv.FormatBool(v), true
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
			return strconv.FormatInt(int64(v), 10), true
		}
	}
	return "", false
}

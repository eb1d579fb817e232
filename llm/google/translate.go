package google

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/burin-dev/burin/llm/wire"
)

// camelCase renames the snake_case fields of a request, which proto3 JSON
// allows as well and hand-written clients often send. Arguments, results and
// schemas belong to the user and stay as they are.
func camelCase(body []byte) []byte {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	var doc map[string]any
	if !snakeField(body) || dec.Decode(&doc) != nil {
		return body
	}
	out, err := wire.Marshal(camelFields(doc))
	if err != nil {
		return body
	}
	return out
}

// snakeField reports whether a key with an underscore may be in body.
func snakeField(body []byte) bool {
	for _, name := range []string{
		`"system_instruction"`, `"generation_config"`, `"tool_config"`, `"function_declarations"`, `"function_call`,
		`"function_response"`, `"inline_data"`, `"mime_type"`, `"file_data"`, `"file_uri"`, `"thought_signature"`,
		`"google_search"`, `"url_context"`, `"cached_content"`,
	} {
		if bytes.Contains(body, []byte(name)) {
			return true
		}
	}
	return false
}

func camelFields(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, value := range v {
			key = camel(key)
			switch key {
			case "args", "response", "parameters", "parametersJsonSchema", "responseSchema", "responseJsonSchema":
			default:
				value = camelFields(value)
			}
			out[key] = value
		}
		return out
	case []any:
		for i := range v {
			v[i] = camelFields(v[i])
		}
	}
	return v
}

func camel(s string) string {
	words := strings.Split(s, "_")
	for i, w := range words[1:] {
		if w != "" {
			words[i+1] = strings.ToUpper(w[:1]) + w[1:]
		}
	}
	return strings.Join(words, "")
}

// jsonSchema turns a Schema object of the format into a JSON schema: types in
// lower case, nullable as a null among the types. Anything else has the same
// name there.
func jsonSchema(raw json.RawMessage) json.RawMessage {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var doc any
	if len(raw) == 0 || dec.Decode(&doc) != nil {
		return raw
	}
	out, err := wire.Marshal(plainSchema(doc))
	if err != nil {
		return raw
	}
	return out
}

func plainSchema(v any) any {
	s, ok := v.(map[string]any)
	if !ok {
		return v
	}
	for key, value := range s {
		switch key {
		case "items":
			s[key] = plainSchema(value)
		case "anyOf":
			if list, ok := value.([]any); ok {
				for i := range list {
					list[i] = plainSchema(list[i])
				}
			}
		case "properties":
			if fields, ok := value.(map[string]any); ok {
				for name := range fields {
					fields[name] = plainSchema(fields[name])
				}
			}
		}
	}
	delete(s, "propertyOrdering")
	t, ok := s["type"].(string)
	if ok {
		s["type"] = strings.ToLower(t)
	}
	if s["nullable"] != true {
		delete(s, "nullable")
		return s
	}
	delete(s, "nullable")
	if ok {
		s["type"] = []any{strings.ToLower(t), "null"}
	}
	if list, limited := s["enum"].([]any); limited {
		s["enum"] = append(list, nil)
	}
	return s
}

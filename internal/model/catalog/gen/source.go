package main

import (
	"encoding/json"
	"fmt"
	"strings"
)

// source is a model as the package states it.
type source struct {
	ID               string             `json:"id"`
	Name             string             `json:"name"`
	API              string             `json:"api"`
	Provider         string             `json:"provider"`
	BaseURL          string             `json:"baseUrl"`
	Reasoning        bool               `json:"reasoning"`
	ThinkingLevelMap map[string]*string `json:"thinkingLevelMap"`
	Input            []string           `json:"input"`
	Cost             cost               `json:"cost"`
	ContextWindow    int                `json:"contextWindow"`
	MaxTokens        int                `json:"maxTokens"`
	Compat           map[string]any     `json:"compat"`
}

// cost is in dollars per million tokens; 0 and less mean not stated.
type cost struct {
	Input      float64 `json:"input"`
	Output     float64 `json:"output"`
	CacheRead  float64 `json:"cacheRead"`
	CacheWrite float64 `json:"cacheWrite"`
}

// readSource reads the models of the package's data file: a JavaScript module
// that exports one object literal, provider → id → model.
func readSource(js string) ([]source, error) {
	begin := strings.Index(js, "= {")
	end := strings.LastIndexByte(js, '}')
	if begin < 0 || end < begin {
		return nil, fmt.Errorf("no object literal found")
	}
	text, err := jsonOf(js[begin+2 : end+1])
	if err != nil {
		return nil, err
	}
	var providers map[string]map[string]source
	if err := json.Unmarshal([]byte(text), &providers); err != nil {
		return nil, fmt.Errorf("read the object literal: %w", err)
	}
	var models []source
	for provider, byID := range providers {
		for id, m := range byID {
			if m.ID != id || m.Provider != provider {
				return nil, fmt.Errorf("%s/%s calls itself %s/%s", provider, id, m.Provider, m.ID)
			}
			models = append(models, m)
		}
	}
	return models, nil
}

// jsonOf turns a literal of plain data into JSON: it quotes bare keys and drops
// comments and trailing commas.
func jsonOf(js string) (string, error) {
	var out strings.Builder
	for i := 0; i < len(js); {
		c := js[i]
		switch {
		case c == '"':
			n, err := stringEnd(js[i:])
			if err != nil {
				return "", err
			}
			out.WriteString(js[i : i+n])
			i += n
		case strings.HasPrefix(js[i:], "//"):
			n := strings.IndexByte(js[i:], '\n')
			if n < 0 {
				n = len(js) - i
			}
			i += n
		case isWord(c):
			n := 1
			for i+n < len(js) && isWord(js[i+n]) {
				n++
			}
			word := js[i : i+n]
			if strings.HasPrefix(strings.TrimLeft(js[i+n:], " "), ":") {
				word = `"` + word + `"`
			}
			out.WriteString(word)
			i += n
		case c == ',' && closes(js[i+1:]):
			i++
		case strings.IndexByte("{}[]:,-. \n\r\t", c) >= 0:
			out.WriteByte(c)
			i++
		default:
			return "", fmt.Errorf("unexpected %q at byte %d", c, i)
		}
	}
	return out.String(), nil
}

// isWord says whether c may stand in a key, a number or a literal. A number
// with a fraction is read in pieces around its point.
func isWord(c byte) bool {
	return c == '_' || c == '$' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

func closes(s string) bool {
	s = strings.TrimLeft(s, " \r\n\t")
	return s != "" && (s[0] == '}' || s[0] == ']')
}

// stringEnd is the length of the string literal s begins with.
func stringEnd(s string) (int, error) {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i + 1, nil
		}
	}
	return 0, fmt.Errorf("a string does not end")
}

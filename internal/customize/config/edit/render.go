package edit

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
)

// render writes a value so that it fits into one line.
func render(v any) (string, error) {
	switch v := v.(type) {
	case bool:
		return strconv.FormatBool(v), nil
	case int:
		return strconv.Itoa(v), nil
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			break
		}
		return strconv.FormatFloat(v, 'f', -1, 64), nil
	case string:
		if !utf8.ValidString(v) {
			break
		}
		return scalar(v), nil
	case []string:
		items := make([]string, len(v))
		for i, item := range v {
			var err error
			if items[i], err = render(item); err != nil {
				return "", err
			}
		}
		return "[" + strings.Join(items, ", ") + "]", nil
	case map[string]any:
		var entries []string
		for _, k := range slices.Sorted(maps.Keys(v)) {
			value, err := render(v[k])
			if err != nil {
				return "", err
			}
			entries = append(entries, scalar(k)+": "+value)
		}
		return "{" + strings.Join(entries, ", ") + "}", nil
	}
	return "", fmt.Errorf("a %T cannot be written as a setting", v)
}

var harmless = regexp.MustCompile(`^[A-Za-z~/.][A-Za-z0-9_./~*+@-]*(:[A-Za-z0-9_./~*+@-]+)*$`)

// scalar writes a text without quotes where it is read back as the same text.
func scalar(s string) string {
	if harmless.MatchString(s) {
		var back []any
		if err := yaml.Unmarshal([]byte("["+s+"]"), &back); err == nil && len(back) == 1 && back[0] == s {
			return s
		}
	}
	var quoted strings.Builder
	enc := json.NewEncoder(&quoted)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return strconv.Quote(s)
	}
	return strings.TrimSuffix(quoted.String(), "\n")
}

// plain makes what the parser gives and what callers give comparable.
func plain(v any) any {
	switch v := v.(type) {
	case int:
		return float64(v)
	case uint64:
		return float64(v)
	case int64:
		return float64(v)
	case []string:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = item
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for k, item := range v {
			out[k] = plain(item)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = plain(item)
		}
		return out
	}
	return v
}

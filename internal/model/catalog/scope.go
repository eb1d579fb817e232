package catalog

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

// ScopedList is a list of the settings whose entries may hold for some
// directories only: enabledModels, disabledProviders.
type ScopedList []ScopedEntry

// ScopedEntry is values that hold in Paths and below, or everywhere where Paths
// is nil.
type ScopedEntry struct {
	Values []string
	Paths  []string // "~" is the user's home
}

// For lists the values that hold in dir, without repeating one.
func (l ScopedList) For(dir, userHome string) []string {
	var values []string
	seen := map[string]bool{}
	for _, e := range l {
		if !e.holds(dir, userHome) {
			continue
		}
		for _, v := range e.Values {
			if !seen[v] {
				seen[v] = true
				values = append(values, v)
			}
		}
	}
	return values
}

func (e ScopedEntry) holds(dir, userHome string) bool {
	if e.Paths == nil {
		return true
	}
	for _, p := range e.Paths {
		if p == "~" || strings.HasPrefix(p, "~/") {
			if userHome == "" {
				continue
			}
			p = filepath.Join(userHome, strings.TrimPrefix(p, "~"))
		}
		// ~/job holds for ~/job/x and not for ~/jobs.
		rel, err := filepath.Rel(p, dir)
		if err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
			return true
		}
	}
	return false
}

// UnmarshalYAML reads an entry of the settings: a text, or a mapping with one
// of path, paths, pathPrefix, pathPrefixes and one of values, models, providers.
func (e *ScopedEntry) UnmarshalYAML(unmarshal func(any) error) error {
	var text string
	if unmarshal(&text) == nil {
		*e = ScopedEntry{Values: []string{text}}
		return nil
	}
	var raw map[string]any
	if err := unmarshal(&raw); err != nil {
		return errors.New("want a text, or a mapping with path and values")
	}
	var out ScopedEntry
	for key, value := range raw {
		list, err := textList(value)
		if err != nil {
			return fmt.Errorf("%q: %w", key, err)
		}
		switch key {
		case "path", "paths", "pathPrefix", "pathPrefixes":
			out.Paths = append(out.Paths, list...)
		case "values", "models", "providers":
			out.Values = append(out.Values, list...)
		default:
			return fmt.Errorf("unknown key %q%s", key, didYouMean(key, []string{
				"path", "paths", "pathPrefix", "pathPrefixes", "values", "models", "providers",
			}))
		}
	}
	if len(out.Paths) == 0 || len(out.Values) == 0 {
		return errors.New("an entry for some directories needs path and values")
	}
	*e = out
	return nil
}

func textList(v any) ([]string, error) {
	switch x := v.(type) {
	case string:
		return []string{x}, nil
	case []any:
		var out []string
		for _, item := range x {
			s, ok := item.(string)
			if !ok {
				return nil, errors.New("want a list of texts")
			}
			out = append(out, s)
		}
		return out, nil
	}
	return nil, errors.New("want a text or a list of texts")
}

package config

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Read makes a value of what a person typed. Entries of lists are separated by
// commas; one that has a comma itself stands in brackets or quotes: bash(a, b),
// "a, b". The error says in a few words what is wrong.
func (s Setting) Read(text string) (any, error) {
	text = strings.TrimSpace(text)
	var v any = text
	switch s.Type {
	case Bool:
		switch strings.ToLower(text) {
		case "true", "on", "yes":
			v = true
		case "false", "off", "no":
			v = false
		default:
			return nil, errors.New("say on or off")
		}
	case Number:
		n, err := s.number(text)
		if err != nil {
			return nil, err
		}
		v = n
	case List:
		items, err := split(text)
		if err != nil {
			return nil, err
		}
		v = items
	case String, Enum:
		if text == "" {
			return nil, errors.New("it is empty: reset the setting to use the default")
		}
	case Record:
		return nil, errors.New("change it in config.yml")
	}
	return v, s.Check(v)
}

func (s Setting) number(text string) (any, error) {
	if n, err := strconv.Atoi(text); err == nil {
		return n, nil
	}
	f, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil || f-f != 0: // no NaN, nothing infinite
		return nil, fmt.Errorf("%q is not a number", text)
	case !s.Fraction:
		return nil, fmt.Errorf("%s is not a whole number", text)
	}
	return f, nil
}

// Format writes a value as [Setting.Read] takes it; "" for nil, and for what cannot
// be typed.
func (s Setting) Format(v any) string {
	switch v := v.(type) {
	case bool:
		if v {
			return "on"
		}
		return "off"
	case string:
		return v
	case int:
		return strconv.Itoa(v)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case []string:
		items := make([]string, len(v))
		for i, item := range v {
			if items[i] = item; strings.ContainsAny(item, `,"\`) || item != strings.TrimSpace(item) || !balanced(item) {
				items[i] = strconv.Quote(item)
			}
		}
		return strings.Join(items, ", ")
	}
	return ""
}

func balanced(item string) bool {
	back, err := split(item)
	return err == nil && len(back) == 1 && back[0] == item
}

// split parts a text at the commas that stand neither in brackets nor in quotes.
func split(text string) ([]string, error) {
	items := []string{}
	add := func(item string) error {
		item = strings.TrimSpace(item)
		if strings.HasPrefix(item, `"`) {
			plain, err := strconv.Unquote(item)
			if err != nil {
				return fmt.Errorf("%s: a quote is not closed", item)
			}
			item = plain
		}
		if item != "" {
			items = append(items, item)
		}
		return nil
	}
	depth, quoted, escaped, from := 0, false, false, 0
	for i, r := range text {
		switch {
		case escaped:
			escaped = false
		case r == '\\' && quoted:
			escaped = true
		case r == '"':
			quoted = !quoted
		case quoted:
		case r == '(' || r == '[' || r == '{':
			depth++
		case r == ')' || r == ']' || r == '}':
			depth = max(0, depth-1)
		case r == ',' && depth == 0:
			if err := add(text[from:i]); err != nil {
				return nil, err
			}
			from = i + 1
		}
	}
	if err := add(text[from:]); err != nil {
		return nil, err
	}
	if depth > 0 || quoted {
		return nil, errors.New("a bracket or a quote is not closed")
	}
	return items, nil
}

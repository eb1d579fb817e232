package mcp

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/burin-dev/burin/internal/prose"
)

// Form is what a server wants a person to fill in, or a page where the person does something else.
type Form struct {
	Message string
	Fields  []Field // in the server's order
	// URL is the address of a page, https or http, without a user's name; "" for forms. Nobody but the person
	// opens it.
	URL string

	page string // the server's name for it; "" is none
}

// Field is a field of a form.
type Field struct {
	Name        string
	Title       string // Name if the server gives none
	Description string
	Type        string   // string, number, integer, boolean, array
	Options     []Option // of a string or an array: the only values; nil is any
	Required    bool
	Default     any // string, float64, bool or []string; nil is none

	format              string
	least, most         *float64 // of a number
	shortest, longest   *int     // of a string, in characters
	fewest, mostChoices *int     // of an array
}

// Option is a value of a field.
type Option struct{ Value, Title string }

// Limits of forms.
const (
	maxFields  = 20
	maxOptions = 50
	maxWords   = 4 << 10 // bytes of the message
	maxAnswer  = 64 << 10

	maxPage     = 2 << 10 // bytes of its address
	maxPageName = 1000
)

// schema is that of a field, as servers write it.
type schema struct {
	Type        string          `json:"type"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	Format      string          `json:"format"`
	Default     json.RawMessage `json:"default"`
	Enum        []string        `json:"enum"`
	EnumNames   []string        `json:"enumNames"`
	OneOf       []constant      `json:"oneOf"`
	AnyOf       []constant      `json:"anyOf"`
	Items       *schema         `json:"items"`
	Minimum     *float64        `json:"minimum"`
	Maximum     *float64        `json:"maximum"`
	MinLength   *int            `json:"minLength"`
	MaxLength   *int            `json:"maxLength"`
	MinItems    *int            `json:"minItems"`
	MaxItems    *int            `json:"maxItems"`
}

type constant struct {
	Const string `json:"const"`
	Title string `json:"title"`
}

// ParseForm reads the parameters of elicitation/create.
func ParseForm(params json.RawMessage) (f Form, err error) {
	var in struct {
		Mode    string `json:"mode"`
		Message string `json:"message"`
		URL     string `json:"url"`
		Page    string `json:"elicitationId"`
		Schema  struct {
			Properties json.RawMessage `json:"properties"`
			Required   []string        `json:"required"`
		} `json:"requestedSchema"`
	}
	if err := json.Unmarshal(params, &in); err != nil {
		return f, err
	}
	if in.Mode == "url" {
		f.Message, f.URL, f.page = prose.Clip(visible(in.Message), maxWords), in.URL, in.Page
		if len(f.page) > maxPageName {
			f.page = ""
		}
		return f, checkPage(f.URL)
	}
	if in.Mode != "" && in.Mode != "form" {
		return f, fmt.Errorf("burin has no elicitation of mode %q", prose.Short(prose.Inline(in.Mode), 20))
	}
	f.Message = prose.Clip(visible(in.Message), maxWords)
	dec := json.NewDecoder(bytes.NewReader(in.Schema.Properties))
	if len(in.Schema.Properties) == 0 {
		return f, nil
	}
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return f, errors.New("properties is no object")
	}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return f, err
		}
		var s schema
		if err := dec.Decode(&s); err != nil {
			return f, fmt.Errorf("property %v: %w", name, err)
		}
		field, err := s.field(name.(string)) // the name of a property
		if err != nil {
			return f, err
		}
		field.Required = slices.Contains(in.Schema.Required, field.Name)
		if f.Fields = append(f.Fields, field); len(f.Fields) > maxFields {
			return f, fmt.Errorf("a form has at most %d fields", maxFields)
		}
	}
	return f, nil
}

// checkPage reports what is wrong with the address of a page. A person must see all of it, and where it leads.
func checkPage(address string) error {
	u, err := url.Parse(address)
	switch {
	case err != nil, u.Host == "", u.Scheme != "https" && u.Scheme != "http":
		return fmt.Errorf("%q is not the address of a page", prose.Short(prose.Inline(address), 100))
	case u.User != nil:
		return errors.New("the address of a page has no user's name in it")
	case len(address) > maxPage:
		return fmt.Errorf("the address of a page has at most %d bytes", maxPage)
	case strings.ContainsFunc(address, func(r rune) bool { return r <= ' ' || r > '~' }):
		return errors.New("the address of a page is written in ASCII, without spaces")
	}
	return nil
}

func (s *schema) field(name string) (Field, error) {
	text := func(t string, most int) string { return prose.Short(prose.Inline(visible(t)), most) }
	f := Field{
		Name: name, Title: text(cmp.Or(s.Title, name), 200), Description: text(s.Description, 500), Type: s.Type, format: s.Format,
		least: s.Minimum, most: s.Maximum, shortest: s.MinLength, longest: s.MaxLength, fewest: s.MinItems, mostChoices: s.MaxItems,
	}
	of := s
	switch s.Type {
	case "string", "number", "integer", "boolean":
	case "array":
		if s.Items == nil {
			return f, fmt.Errorf("property %q: an array needs items", name)
		}
		of = s.Items
	default:
		return f, fmt.Errorf("property %q: the type %q has no field", name, prose.Short(s.Type, 20))
	}
	for i, v := range of.Enum {
		o := Option{Value: v, Title: v}
		if i < len(of.EnumNames) {
			o.Title = of.EnumNames[i]
		}
		f.Options = append(f.Options, o)
	}
	for _, c := range slices.Concat(of.OneOf, of.AnyOf) {
		f.Options = append(f.Options, Option{Value: c.Const, Title: cmp.Or(c.Title, c.Const)})
	}
	if len(f.Options) > maxOptions || s.Type == "array" && len(f.Options) == 0 {
		return f, fmt.Errorf("property %q: a choice has 1 to %d values", name, maxOptions)
	}
	seen := map[string]bool{}
	for i := range f.Options {
		o := &f.Options[i]
		if o.Title = text(o.Title, 200); o.Title == "" || seen[o.Title] { // a person could not tell them apart
			o.Title = strings.TrimSpace(o.Title + " (" + text(o.Value, 100) + ")")
		}
		seen[o.Title] = true
	}
	if len(s.Default) > 0 && string(s.Default) != "null" {
		if s.Type == "array" {
			var all []string
			if json.Unmarshal(s.Default, &all) == nil {
				f.Default = all
			}
		} else {
			_ = json.Unmarshal(s.Default, &f.Default) // what is no JSON was refused before
		}
		if f.check(f.Default) != nil {
			f.Default = nil
		}
	}
	return f, nil
}

// Parse gives the value that a person means by words. For an array they are one of its values.
func (f *Field) Parse(words string) (v any, err error) {
	words = strings.TrimSpace(words)
	if len(words) > maxAnswer {
		return nil, errors.New("that is too long")
	}
	for _, o := range f.Options {
		if words == o.Title || words == o.Value {
			words = o.Value
			break
		}
	}
	switch f.Type {
	case "number", "integer":
		n, err := strconv.ParseFloat(words, 64)
		if err != nil || math.IsInf(n, 0) || math.IsNaN(n) || f.Type == "integer" && n != math.Trunc(n) {
			return nil, fmt.Errorf("%s needs a number", f.Title)
		}
		v = n
	case "boolean":
		switch strings.ToLower(words) {
		case "yes", "y", "true":
			v = true
		case "no", "n", "false":
			v = false
		default:
			return nil, fmt.Errorf("%s is yes or no", f.Title)
		}
	case "array":
		v = []string{words}
	default:
		v = words
	}
	return v, f.check(v)
}

// check reports what is wrong with a value.
func (f *Field) check(v any) error {
	wrong := fmt.Errorf("%s has another type", f.Title)
	known := func(s string) bool {
		return f.Options == nil || slices.ContainsFunc(f.Options, func(o Option) bool { return o.Value == s })
	}
	switch f.Type {
	case "number", "integer":
		n, ok := v.(float64)
		switch {
		case !ok:
			return wrong
		case f.Type == "integer" && n != math.Trunc(n):
			return fmt.Errorf("%s needs a whole number", f.Title)
		case f.least != nil && n < *f.least:
			return fmt.Errorf("%s must be at least %v", f.Title, *f.least)
		case f.most != nil && n > *f.most:
			return fmt.Errorf("%s must be at most %v", f.Title, *f.most)
		}
	case "boolean":
		if _, ok := v.(bool); !ok {
			return wrong
		}
	case "array":
		all, ok := v.([]string)
		if !ok {
			return wrong
		}
		for _, s := range all {
			if !known(s) {
				return fmt.Errorf("%s: choose from the list", f.Title)
			}
		}
	default:
		s, ok := v.(string)
		n := utf8.RuneCountInString(s)
		switch {
		case !ok:
			return wrong
		case !known(s):
			return fmt.Errorf("%s: choose from the list", f.Title)
		case f.shortest != nil && n < *f.shortest:
			return fmt.Errorf("%s needs at least %s", f.Title, prose.Count(*f.shortest, "character"))
		case f.longest != nil && n > *f.longest:
			return fmt.Errorf("%s may have at most %s", f.Title, prose.Count(*f.longest, "character"))
		}
		return f.formatted(s)
	}
	return nil
}

// Chosen checks how many values of an array were chosen.
func (f *Field) Chosen(values []string) error {
	switch {
	case f.fewest != nil && len(values) < *f.fewest:
		return fmt.Errorf("%s: choose at least %d", f.Title, *f.fewest)
	case f.mostChoices != nil && len(values) > *f.mostChoices:
		return fmt.Errorf("%s: choose at most %d", f.Title, *f.mostChoices)
	}
	return f.check(values)
}

func (f *Field) formatted(s string) error {
	bad := false
	switch f.format {
	case "email":
		name, host, ok := strings.Cut(s, "@")
		bad = !ok || name == "" || host == "" || strings.ContainsAny(s, " <>,\"") || strings.Contains(host, "@")
	case "uri":
		u, err := url.Parse(s)
		bad = err != nil || u.Scheme == ""
	case "date":
		_, err := time.Parse(time.DateOnly, s)
		bad = err != nil
	case "date-time":
		_, err := time.Parse(time.RFC3339, s)
		bad = err != nil
	}
	if bad {
		return fmt.Errorf("%s needs the form of a %s", f.Title, map[string]string{"email": "mail address", "uri": "web address", "date": "date, 2026-11-28", "date-time": "time, 2026-11-28T14:30:00Z"}[f.format])
	}
	return nil
}

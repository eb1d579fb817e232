package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/burin-dev/burin/internal/model/catalog"
)

// Type is what values of a setting are.
type Type string

// The types, and what [Config.Value] gives for them.
const (
	Bool   Type = "bool"   // bool
	Enum   Type = "enum"   // string, one of Choices
	Number Type = "number" // int, or float64 where Fraction is set
	String Type = "string" // string
	List   Type = "list"   // []string; a catalog.ScopedList where entries hold for some folders only
	Record Type = "record" // a map by names the user chooses
)

// Group is where people look for a setting.
type Group string

// The groups, in the order in which they are shown.
const (
	Appearance  Group = "appearance"
	Model       Group = "model"
	Interaction Group = "interaction"
	Context     Group = "context"
	Tools       Group = "tools"
	Money       Group = "money & safety"
	Sessions    Group = "sessions"
	Providers   Group = "providers"
)

// Groups are all groups in order.
func Groups() []Group {
	return []Group{Appearance, Model, Interaction, Context, Tools, Money, Sessions, Providers}
}

// A Setting describes one key of config.yml for people.
type Setting struct {
	Key   string // as in "compaction.enabled"
	Type  Type
	Group Group
	Label string
	Help  string // one sentence
	// Default is what holds where nothing is set. nil is nothing, and Else says what
	// happens then.
	Default  any
	Else     string
	Choices  []string // of an Enum, or of the items of a List
	Min, Max *float64 // of a Number; nil is no bound
	Unit     string   // of a Number
	Fraction bool     // of a Number: dollars have cents
	// When is the setting that this one is for: "key" is a switch that is on,
	// "key=value" a choice. It is of no use otherwise.
	When string
	// Own is for what the program writes down for itself; people need not see it.
	Own bool
	// Secret is for values that are not shown unless somebody asks for this one.
	Secret bool
	// Project is what the file of a project may do with it.
	Project Reach
	Strict  bool // of a Bool that is Stricter: the strict value
	Adds    bool // of a List: entries of stronger places come to those of weaker ones
}

// Check says what is wrong with a value in a few words.
func (s Setting) Check(v any) error {
	switch v := v.(type) {
	case nil:
		return nil
	case string:
		return s.checkText(v)
	case int:
		return s.checkNumber(float64(v))
	case float64:
		return s.checkNumber(v)
	case []string:
		for _, item := range v {
			if strings.TrimSpace(item) == "" {
				return errors.New("an entry of the list is empty")
			}
			if err := s.checkText(item); err != nil {
				return err
			}
		}
	case bool, catalog.ScopedList:
	}
	return nil
}

func (s Setting) checkText(v string) error {
	if !utf8.ValidString(v) || strings.ContainsFunc(v, unicode.IsControl) {
		return errors.New("control characters cannot be part of a setting")
	}
	if len(s.Choices) > 0 && !slices.Contains(s.Choices, v) {
		last := len(s.Choices) - 1
		return fmt.Errorf("%q must be %s or %s", v, strings.Join(s.Choices[:last], ", "), s.Choices[last])
	}
	return nil
}

func (s Setting) checkNumber(v float64) error {
	if s.Min != nil && v < *s.Min {
		return fmt.Errorf("%v is less than %v", v, *s.Min)
	}
	if s.Max != nil && v > *s.Max {
		return fmt.Errorf("%v is more than %v", v, *s.Max)
	}
	return nil
}

// Find is the setting of a key.
func Find(key string) (Setting, bool) {
	for i := range table {
		if table[i].Key == key {
			return table[i], true
		}
	}
	return Setting{}, false
}

// Settings describes every key of config.yml, by group. The slices in it must not be
// changed.
func Settings() []Setting { return slices.Clone(table) }

// Holds says whether the setting is of use with the values of c; see When.
func (s Setting) Holds(c *Config) bool {
	if s.When == "" {
		return true
	}
	key, want, choice := strings.Cut(s.When, "=")
	if on, ok := Find(key); ok && !on.Holds(c) {
		return false
	}
	v := c.Value(key)
	if choice {
		return v == want
	}
	return v == true
}

package config

import (
	"fmt"
	"reflect"
	"strings"
	"sync"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/burin-dev/burin/internal/model/catalog"
)

// Kind says what a value comes from.
type Kind uint8

// The kinds, the weakest first.
const (
	ByDefault Kind = iota
	ByFile
	ByEnvironment
	ByFlag
)

// Source says where a value comes from.
type Source struct {
	Kind Kind
	Line int    // ByFile: of config.yml; 0 is not known
	Name string // of the flag or the variable
}

// String is the source for people: "default", "config.yml:12", "--approval".
func (s Source) String() string {
	switch {
	case s.Kind == ByDefault:
		return "default"
	case s.Kind != ByFile:
		return s.Name
	case s.Line == 0:
		return name
	}
	return fmt.Sprintf("%s:%d", name, s.Line)
}

// held is a value that is stronger than the file's.
type held struct {
	value any
	from  Source
}

// file is the text of config.yml; where its keys stand is only looked up when
// somebody asks.
type file struct {
	data  []byte
	once  sync.Once
	lines map[string]int
}

// Hold says that a flag or a variable gives a value for as long as the program runs,
// whatever the file says. It is what Value and Source answer then; the fields stay as
// they are.
func (c *Config) Hold(key string, value any, from Source) {
	if c.held == nil {
		c.held = map[string]held{}
	}
	c.held[key] = held{value, from}
}

// Value is what holds for a setting, as its type says; nil where that is nothing. It
// panics for a key that is no setting.
func (c *Config) Value(key string) any {
	if h, ok := c.held[key]; ok {
		return h.value
	}
	if v := c.own(key); v != nil {
		return v
	}
	s, _ := Find(key)
	return s.Default
}

// Bool, Int, Text and List are values of settings of these types.
func (c *Config) Bool(key string) bool { v, _ := c.Value(key).(bool); return v }

// Int: see Bool.
func (c *Config) Int(key string) int { v, _ := c.Value(key).(int); return v }

// Text: see Bool.
func (c *Config) Text(key string) string { v, _ := c.Value(key).(string); return v }

// List: see Bool. Entries that hold for some folders only are not among them.
func (c *Config) List(key string) []string { v, _ := c.Value(key).([]string); return v }

// Source is where the value of a setting comes from.
func (c *Config) Source(key string) Source {
	if h, ok := c.held[key]; ok {
		return h.from
	}
	line := c.line(key)
	if line == 0 && c.own(key) == nil {
		return Source{}
	}
	return Source{Kind: ByFile, Line: line}
}

// own is the value that the file gives, nil where it gives none or says nothing.
func (c *Config) own(key string) any {
	v := reflect.ValueOf(c).Elem()
	for part := range strings.SplitSeq(key, ".") {
		i := field(v.Type(), part)
		if i < 0 {
			panic("config: " + key + " is not a setting")
		}
		v = v.Field(i)
	}
	pointer := v.Kind() == reflect.Pointer
	if pointer {
		if v.IsNil() {
			return nil
		}
		v = v.Elem()
	}
	switch v.Kind() {
	case reflect.String:
		if v.Len() == 0 {
			return nil
		}
		return v.String()
	case reflect.Slice, reflect.Map:
		if v.IsNil() {
			return nil
		}
	default:
		if !pointer && v.IsZero() {
			return nil
		}
	}
	if l, ok := v.Interface().(catalog.ScopedList); ok {
		return unscoped(l)
	}
	return v.Interface()
}

// unscoped is a list of texts, if none of its entries is for some folders only.
func unscoped(l catalog.ScopedList) any {
	items := []string{}
	for _, e := range l {
		if e.Paths != nil {
			return l
		}
		items = append(items, e.Values...)
	}
	return items
}

func field(t reflect.Type, key string) int {
	if t.Kind() != reflect.Struct {
		return -1
	}
	for i := range t.NumField() {
		if tag, _, _ := strings.Cut(t.Field(i).Tag.Get("yaml"), ","); tag == key {
			return i
		}
	}
	return -1
}

// line is where a key stands in the file, 0 where it does not.
func (c *Config) line(key string) int {
	f := c.file
	if f == nil {
		return 0
	}
	f.once.Do(func() {
		f.lines = map[string]int{}
		tree, err := parser.ParseBytes(f.data, 0)
		if err != nil {
			return
		}
		for _, doc := range tree.Docs {
			keyLines(f.lines, "", doc.Body)
		}
		if at, ok := f.lines["theme"]; ok { // "theme: name" is both
			for _, k := range []string{"theme.dark", "theme.light"} {
				if f.lines[k] == 0 && c.own(k) != nil {
					f.lines[k] = at
				}
			}
		}
	})
	return f.lines[key]
}

func keyLines(lines map[string]int, prefix string, n ast.Node) {
	m, ok := n.(*ast.MappingNode)
	if !ok {
		return
	}
	for _, v := range m.Values {
		if _, ok := v.Value.(*ast.NullNode); ok {
			continue
		}
		at := v.Key.GetToken()
		key := prefix + at.Value
		lines[key] = at.Position.Line
		keyLines(lines, key+".", v.Value)
	}
}

// flatTheme says that the file names one theme for all terminals.
func (f *file) flatTheme() bool {
	tree, err := parser.ParseBytes(f.data, 0)
	if err != nil || len(tree.Docs) == 0 {
		return false
	}
	m, ok := tree.Docs[0].Body.(*ast.MappingNode)
	if !ok {
		return false
	}
	for _, v := range m.Values {
		if v.Key.GetToken().Value == "theme" {
			_, flat := v.Value.(*ast.StringNode)
			return flat
		}
	}
	return false
}

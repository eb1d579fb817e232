package config

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"sync"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/burin-dev/burin/internal/model/catalog"
)

// Kind says what a value comes from.
type Kind uint8

// The kinds, the weakest first.
const (
	ByDefault Kind = iota
	ByFile         // the user's
	ByProject
	ByOverlay // a file of --config
	ByEnvironment
	ByFlag
)

// String is the word of JSON.
func (k Kind) String() string {
	return [...]string{"default", "user", "project", "overlay", "environment", "flag"}[k]
}

// Source says where a value comes from.
type Source struct {
	Kind Kind
	File string // full path
	Line int    // of File; 0 is not known
	Name string // of the flag or the variable
}

// String is the source for people: "default", "config.yml:12", ".burin/config.yml:3",
// "--approval".
func (s Source) String() string {
	switch {
	case s.Kind == ByDefault:
		return "default"
	case s.File == "":
		return s.Name
	}
	file := filepath.Base(s.File)
	if s.Kind == ByProject {
		file = filepath.Join(folder, file)
	}
	if s.Line == 0 {
		return file
	}
	return fmt.Sprintf("%s:%d", file, s.Line)
}

// Until says how long a value overrides that of the user's file; "" if it doesn't.
func (s Source) Until() string {
	switch s.Kind {
	case ByProject:
		return "in this project"
	case ByEnvironment:
		return "while it is set"
	case ByOverlay, ByFlag:
		return "until burin ends"
	}
	return ""
}

// Entry is a setting, or an entry of one that is a mapping, with its value.
type Entry struct {
	Key     string
	Setting Setting
	Value   any // as Config.Value gives it
	Source  Source
}

// Plain is the value in the types of JSON and YAML.
func (e Entry) Plain() any {
	switch v := e.Value.(type) {
	case nil, bool, int, float64, string, []string:
		return v
	case catalog.ScopedList:
		list := make([]any, 0, len(v))
		for _, entry := range v {
			if entry.Paths != nil {
				list = append(list, map[string]any{"paths": entry.Paths, "values": entry.Values})
				continue
			}
			for _, value := range entry.Values {
				list = append(list, value)
			}
		}
		return list
	}
	text, err := yaml.Marshal(e.Value)
	if err != nil {
		return nil
	}
	var plain any
	if yaml.Unmarshal(text, &plain) != nil {
		return nil
	}
	return plain
}

// Text is the value on one line: as [Setting.Read] takes it, or as JSON where it can't be typed;
// "" for nothing.
func (e Entry) Text() string {
	switch v := e.Value.(type) {
	case nil:
		return ""
	case bool, int, float64, string, []string:
		return e.Setting.Format(v)
	}
	text, err := json.Marshal(e.Plain())
	if err != nil {
		return ""
	}
	return string(text)
}

// Named is the setting of a key. An entry of a mapping has a setting of its own:
// modelRoles.smol is a text.
func Named(key string) (Setting, error) {
	path, err := keyPath(key)
	if err != nil {
		return Setting{}, err
	}
	if s, ok := Find(key); ok {
		return s, nil
	}
	s, _ := Find(strings.Join(path[:len(path)-1], "."))
	switch (&Config{}).field(s.Key).Type().Elem().Kind() {
	case reflect.String:
		s.Type = String
	case reflect.Slice:
		s.Type = List
	}
	s.Default, s.Else = nil, "not set"
	return s, nil
}

// Lookup is a setting with its value, or an entry of one that is a mapping.
func (c *Config) Lookup(key string) (Entry, error) {
	s, err := Named(key)
	if err != nil {
		return Entry{}, err
	}
	e := Entry{Key: key, Setting: s}
	if s.Key == key {
		e.Value, e.Source = c.Value(key), c.Source(key)
		return e, nil
	}
	name := strings.TrimPrefix(key, s.Key+".")
	if v := c.field(s.Key).MapIndex(reflect.ValueOf(name)); v.IsValid() {
		e.Value, e.Source = v.Interface(), c.place(key)
	}
	return e, nil
}

// held is a value that is stronger than those of files.
type held struct {
	value any
	from  Source
}

// file is the text of a settings file; where its keys stand is only looked up when
// somebody asks.
type file struct {
	path  string
	data  []byte // as it is
	text  []byte // in today's words, line for line; see modernize
	once  sync.Once
	lines map[string]int
}

// Hold says that a flag or a variable gives a value for as long as the program runs,
// whatever the files say. It is what Value and Source answer then; the fields stay as
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

// User is what the user's file gives a setting, or its default, whatever overrides it.
func (c *Config) User(key string) any {
	if len(c.parts) > 0 {
		c = c.parts[0].config
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

// Source is where the value of a setting comes from. Of a mapping, or a list that adds up, it
// is the strongest place that has a part of it.
func (c *Config) Source(key string) Source {
	if h, ok := c.held[key]; ok {
		return h.from
	}
	return c.place(key)
}

func (c *Config) place(key string) Source {
	if from, ok := c.places[key]; ok {
		return from
	}
	line := c.line(key)
	if _, whole := Find(key); line == 0 && (!whole || c.own(key) == nil) {
		return Source{}
	}
	from := Source{Kind: ByFile, Line: line}
	if c.file != nil {
		from.File = c.file.path
	}
	return from
}

// field is where a setting is kept.
func (c *Config) field(key string) reflect.Value {
	v := reflect.ValueOf(c).Elem()
	for part := range strings.SplitSeq(key, ".") {
		i := field(v.Type(), part)
		if i < 0 {
			panic("config: " + key + " is not a setting")
		}
		v = v.Field(i)
	}
	return v
}

// own is the value that the files give, nil where they give none or say nothing.
func (c *Config) own(key string) any {
	v := c.field(key)
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

// has reports whether the file says something of a setting, be it nothing more than the
// zero value.
func (c *Config) has(key string) bool { return c.own(key) != nil || c.line(key) > 0 }

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
		tree, err := parser.ParseBytes(f.text, 0)
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

var fraction = regexp.MustCompile(`[:\s]-?\d*\.\d`)

// fraction says which whole number has a fraction, which the decoder would cut off: as
// "line:column: what"; "" if none has.
func (f *file) fraction() string {
	if !fraction.Match(f.text) { // nearly always
		return ""
	}
	tree, err := parser.ParseBytes(f.text, 0)
	if err != nil || len(tree.Docs) == 0 {
		return ""
	}
	for i := range table {
		s := &table[i]
		if s.Type != Number || s.Fraction {
			continue
		}
		if n, ok := nodeAt(tree.Docs[0].Body, strings.Split(s.Key, ".")).(*ast.FloatNode); ok {
			at := n.GetToken()
			return fmt.Sprintf("%d:%d: %s is not a whole number", at.Position.Line, at.Position.Column, at.Value)
		}
	}
	return ""
}

// nodeAt is the value at a path; nil if there is none.
func nodeAt(n ast.Node, path []string) ast.Node {
	if len(path) == 0 {
		return n
	}
	m, ok := n.(*ast.MappingNode)
	if !ok {
		return nil
	}
	for _, v := range m.Values {
		if v.Key.GetToken().Value == path[0] {
			return nodeAt(v.Value, path[1:])
		}
	}
	return nil
}

// flatTheme says that the file names one theme for all terminals.
func (f *file) flatTheme() bool {
	tree, err := parser.ParseBytes(f.text, 0)
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

package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/burin-dev/burin/internal/platform/smallfile"
)

// Layers are the places that settings come from. Over the defaults stand, the weakest first, the
// user's file, the project's, the files of --config, the environment and flags.
//
// They merge by key: a value replaces the weaker one, entries of a mapping replace those of the
// same name, and lists that name what is allowed, refused or switched off add up (see
// [Setting.Adds]).
type Layers struct {
	Folder   string // of the user's config.yml
	Project  Project
	Overlays []string // files of --config, as [OverlayPath] gives them; later ones win
	Getenv   func(string) string
	Flags    []Flag
}

// Flag is a flag that sets a setting for as long as the program runs. What it does, the program
// does by itself; here it is only shown.
type Flag struct {
	Key   string
	Value any
	Name  string // "--approval"
}

// part is a file that settings were read from.
type part struct {
	kind    Kind
	path    string
	config  *Config // nil: there is none, or it is unusable
	trusted bool    // of the project's
	decided bool    // whether it is trusted
	problem string  // why the project's is unusable
}

// Load reads all layers. It gives last, as it gave it, where no file has changed since; nil was
// never loaded. A mistake in the user's file, an overlay or a variable is an error, one in the
// project's file a warning, because somebody else made it.
func (l Layers) Load(last *Config) (*Config, error) {
	var old []part
	if last != nil {
		old = last.parts
	}
	before := func(kind Kind, path string) *part {
		for i := range old {
			if old[i].kind == kind && old[i].path == path {
				return &old[i]
			}
		}
		return nil
	}
	user := part{kind: ByFile, path: File(l.Folder)}
	var was *Config
	if p := before(ByFile, user.path); p != nil {
		was = p.config
	}
	var err error
	if user.config, err = load(l.Folder, was); err != nil {
		return nil, err
	}
	parts := []part{user}
	if path := l.Project.file(user.path); path != "" {
		parts = append(parts, l.Project.read(path, before(ByProject, path)))
	}
	for _, path := range l.Overlays {
		overlay, err := readOverlay(path, before(ByOverlay, path))
		if err != nil {
			return nil, err
		}
		parts = append(parts, overlay)
	}
	if last != nil && same(parts, old) {
		return last, nil
	}
	return l.join(parts)
}

func same(a, b []part) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

func (l Layers) join(parts []part) (*Config, error) {
	merged := *parts[0].config
	c := &merged
	c.parts, c.places = parts, map[string]Source{}
	for _, p := range parts[1:] {
		switch {
		case p.kind == ByOverlay:
			for i := range table {
				c.take(p, &table[i])
			}
		case p.config == nil:
			c.warnings = append(c.warnings, p.problem)
		default:
			c.takeProject(p, l.Folder)
		}
	}
	if err := c.takeEnvironment(l.Getenv); err != nil {
		return nil, err
	}
	for _, f := range l.Flags {
		v := f.Value
		if list, ok := v.([]string); ok {
			v = append(append([]string{}, c.List(f.Key)...), list...)
		}
		c.Hold(f.Key, v, Source{Kind: ByFlag, Name: f.Name})
	}
	return c, nil
}

// take takes a setting over from a stronger file, if that has it.
func (c *Config) take(p part, s *Setting) {
	if !p.config.has(s.Key) {
		return
	}
	from := Source{Kind: p.kind, File: p.path, Line: p.config.line(s.Key)}
	c.places[s.Key] = from
	v := p.config.field(s.Key)
	c.merge(s, v)
	if s.Type == Record {
		for _, name := range v.MapKeys() {
			key := s.Key + "." + name.String()
			from.Line = p.config.line(key)
			c.places[key] = from
		}
	}
}

// merge puts a stronger value over what a setting has.
func (c *Config) merge(s *Setting, v reflect.Value) {
	to := c.field(s.Key)
	switch {
	case s.Type == Record:
		both := reflect.MakeMap(v.Type())
		for _, m := range []reflect.Value{to, v} {
			for _, k := range m.MapKeys() {
				both.SetMapIndex(k, m.MapIndex(k))
			}
		}
		to.Set(both)
	case s.Adds:
		to.Set(reflect.AppendSlice(to.Slice3(0, to.Len(), to.Len()), v)) // which leaves the weaker list as it is
	default:
		to.Set(v)
	}
}

// Older is what of the files is called otherwise today, a line for each file: once is often enough to
// read it.
func (c *Config) Older() (lines []string) {
	parts := c.parts
	if parts == nil && c.file != nil {
		parts = []part{{kind: ByFile, path: c.file.path, config: c}}
	}
	for _, p := range parts {
		if p.config == nil || len(p.config.older) == 0 {
			continue
		}
		line := p.path + ": took " + listed(p.config.older)
		if p.kind == ByFile {
			line += "; burin config migrate rewrites the file and keeps a copy"
		}
		lines = append(lines, line)
	}
	return lines
}

// Warnings are what a person should know about these settings, a line each.
func (c *Config) Warnings() []string { return c.warnings }

// OverlayPath is the file that --config names: a path from the working directory, or from the
// home folder with "~".
func OverlayPath(name, home string) (string, error) {
	if rest, ok := strings.CutPrefix(name, "~"); ok && home != "" && (rest == "" || rest[0] == '/' || rest[0] == filepath.Separator) {
		name = filepath.Join(home, rest)
	}
	if name == "" {
		return "", errors.New("the name of the file is missing")
	}
	return filepath.Abs(name)
}

func readOverlay(path string, before *part) (part, error) {
	p := part{kind: ByOverlay, path: path}
	data, err := smallfile.Given(path, smallfile.Settings)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return p, fmt.Errorf("config overlay not found: %s", path)
	case err != nil:
		return p, fmt.Errorf("read config overlay: %w", err)
	case before != nil && bytes.Equal(plain(data), before.config.file.data):
		return *before, nil
	}
	if p.config, err = parse(path, data); err != nil {
		var text any
		if yaml.Unmarshal(data, &text) == nil {
			if _, mapping := text.(map[string]any); !mapping {
				return p, fmt.Errorf("config overlay must be a YAML mapping: %s", path)
			}
		}
		return p, fmt.Errorf("config overlay %w", err)
	}
	return p, nil
}

package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/burin-dev/burin/internal/customize/config/edit"
	"github.com/burin-dev/burin/internal/model/catalog"
	"github.com/burin-dev/burin/internal/platform/smallfile"
)

// An older is a key of the pi family, or of an older burin, that is something else here.
type older struct {
	key, now string // now is "" where burin has nothing of it
	// value is what it is now; false leaves it, nil takes over what is there.
	value func(v any) (any, bool)
	// foreign says that the value means something else in a file of burin's.
	foreign bool
}

func word(words map[string]string) func(any) (any, bool) {
	return func(v any) (any, bool) {
		old, _ := v.(string)
		now, ok := words[old]
		return now, ok
	}
}

// olders are these keys: oh-my-pi's CFG-020 and CFG-021, and pi's settings.json.
func olders() []older {
	formats := map[string]string{"atom": "hashline", "vim": "hashline", "apply_patch": "patch"}
	segments := func(v any) (any, bool) {
		list := slices.Clone(texts(v))
		i := slices.Index(list, "plan_mode")
		if i < 0 {
			return nil, false
		}
		list[i] = "mode"
		return list, true
	}
	return []older{
		{key: "queueMode", now: "steeringMode"},
		{key: "tools.approvalMode", now: "approval", value: word(map[string]string{"always-ask": "ask", "write": "auto-edit", "yolo": "full"})},
		{key: "todo.reminders.max", now: "todo.remindersMax"},
		{key: "ask.timeout", now: "ask.timeout", foreign: true, value: func(v any) (any, bool) {
			const most = 1000 // seconds; more are milliseconds
			n, ok := whole(v)
			return n / 1000, ok && n > most
		}},
		{key: "edit.mode", now: "edit.mode", value: word(formats)},
		{key: "edit.modelVariants", now: "edit.modelVariants", value: func(v any) (any, bool) {
			variants, _ := v.(map[string]any)
			changed, out := false, map[string]any{}
			for id, mode := range variants {
				if now, ok := word(formats)(mode); ok {
					changed, mode = true, now
				}
				out[id] = mode
			}
			return out, changed
		}},
		{key: "compaction.strategy", now: "compaction.strategy", value: word(map[string]string{"shake-summary": "shake"})},
		{key: "statusLine.leftSegments", now: "statusLine.leftSegments", value: segments},
		{key: "statusLine.rightSegments", now: "statusLine.rightSegments", value: segments},
		{key: "memories.enabled", now: "memory.backend", value: func(v any) (any, bool) {
			on, ok := v.(bool)
			return map[bool]string{true: "local", false: "off"}[on], ok
		}},
		{key: "quietStartup", now: "startup.quiet"},
		{key: "enableSkillCommands", now: "skills.enableSkillCommands"},
		{key: "terminal.imageWidthCells", now: "tui.maxInlineImageColumns"},
		{key: "skills", now: "skills.customDirectories", foreign: true, value: func(v any) (any, bool) {
			list, ok := v.([]any)
			return texts(v), ok && len(list) == len(texts(v))
		}},
		{key: "lastChangelogVersion"},
		{key: "task.simple"},
		{key: "providers.parallelFetch"},
	}
}

func whole(v any) (int, bool) {
	switch v := v.(type) {
	case uint64:
		return int(v), v < 1<<40
	case int64:
		return int(v), true
	case int:
		return v, true
	}
	return 0, false
}

func texts(v any) (out []string) {
	list, _ := v.([]any)
	for _, item := range list {
		if s, ok := item.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

// valueAt is the value at a path of a tree; false if there is none.
func valueAt(tree map[string]any, key string) (any, bool) {
	path := strings.Split(key, ".")
	for _, part := range path[:len(path)-1] {
		below, ok := tree[part].(map[string]any)
		if !ok {
			return nil, false
		}
		tree = below
	}
	v, ok := tree[path[len(path)-1]]
	return v, ok && v != nil
}

// modernize is a file in the words of today, and what was changed in it for that, each in a few
// words. A file that needs nothing, or can't be changed safely, comes back as it is. With keepLines
// what follows a removed line stands where it stood.
func modernize(text []byte, keepLines bool) (out []byte, told []string) {
	if !slices.ContainsFunc(olders(), func(o older) bool { // nearly always
		last := o.key[strings.LastIndexByte(o.key, '.')+1:]
		return !o.foreign && bytes.Contains(text, []byte(last))
	}) {
		return text, nil
	}
	var tree map[string]any
	if yaml.Unmarshal(text, &tree) != nil {
		return text, nil
	}
	out = text
	for _, o := range olders() {
		v, there := valueAt(tree, o.key)
		now, ok := o.of(v)
		if !there || !ok || o.foreign {
			continue
		}
		next, words, err := o.replace(out, tree, now, keepLines)
		if err != nil {
			continue // the strict reader names the key
		}
		out, told = next, append(told, words)
	}
	return out, told
}

// of is what a value is now; false: what it was.
func (o older) of(v any) (now any, ok bool) {
	if o.value != nil {
		return o.value(v)
	}
	if n, isNumber := whole(v); isNumber {
		return n, true
	}
	return v, true
}

// replace puts the value into its place of today.
func (o older) replace(text []byte, tree map[string]any, value any, keepLines bool) (out []byte, told string, err error) {
	if o.key == o.now {
		out, err = edit.Set(text, strings.Split(o.key, "."), value)
		if word, ok := value.(string); ok {
			return out, o.key + " as " + word, err
		}
		return out, o.key + " in today's words", err
	}
	if out, err = edit.Unset(text, strings.Split(o.key, ".")); err != nil {
		return nil, "", err
	}
	if keepLines {
		out = sameLines(text, out)
	}
	if o.now == "" {
		return out, o.key + " as nothing", nil
	}
	if _, set := valueAt(tree, o.now); set {
		return out, fmt.Sprintf("%s as nothing, because %s is set", o.key, o.now), nil
	}
	out, err = edit.Set(out, strings.Split(o.now, "."), value)
	return out, o.key + " as " + o.now, err
}

// sameLines is a changed text in which what follows the first change stands where it stood, so that
// places in it are those of the file.
func sameLines(before, after []byte) []byte {
	missing := bytes.Count(before, []byte("\n")) - bytes.Count(after, []byte("\n"))
	if missing <= 0 {
		return after
	}
	line := 0 // where the next one begins that both have
	for i := 0; i < len(before) && i < len(after) && before[i] == after[i]; i++ {
		if before[i] == '\n' {
			line = i + 1
		}
	}
	return slices.Concat(after[:line], bytes.Repeat([]byte("\n"), missing), after[line:])
}

// Adopted is what the settings of another program of the family are here.
type Adopted struct {
	Values []Entry  // by their order in [Settings]; an entry of a mapping is one of its own
	Left   []string // keys that burin doesn't have, or whose values it doesn't take
}

// Adopt reads the settings of a program of the family: its config.yml, or settings.json.
func Adopt(text []byte) (Adopted, error) {
	var tree map[string]any
	if err := smallfile.CheckNesting(text); err != nil {
		return Adopted{}, err
	}
	if err := yaml.Unmarshal(plain(text), &tree); err != nil {
		return Adopted{}, errors.New(OneLine(err))
	}
	found := map[string]any{}
	a := Adopted{}
	a.flatten(found, "", tree)
	old := map[string]older{}
	for _, o := range olders() {
		old[o.key] = o
	}
	for _, key := range slices.Sorted(maps.Keys(found)) {
		o, is := old[key]
		if !is {
			continue
		}
		v, ok := o.of(found[key])
		if ok || o.key != o.now {
			delete(found, key)
		}
		if _, set := found[o.now]; ok && o.now != "" && !set {
			found[o.now] = v
		}
	}
	if model, ok := found["defaultModel"].(string); ok { // pi's
		if provider, ok := found["defaultProvider"].(string); ok {
			model = provider + "/" + model
		}
		if _, set := found["modelRoles.default"]; !set {
			found["modelRoles.default"] = model
		}
		delete(found, "defaultModel")
		delete(found, "defaultProvider")
	}
	for i := range table {
		for _, key := range slices.Sorted(maps.Keys(found)) {
			if s := &table[i]; key == s.Key || s.Type == Record && strings.HasPrefix(key, s.Key+".") {
				a.take(key, s, found[key])
				delete(found, key)
			}
		}
	}
	a.Left = append(a.Left, slices.Sorted(maps.Keys(found))...)
	slices.Sort(a.Left)
	return a, nil
}

// flatten puts each value under its whole key: those of settings, those that were, and all others at
// the end of their path.
func (a *Adopted) flatten(into map[string]any, prefix string, tree map[string]any) {
	for name, v := range tree {
		key := prefix + name
		s, known := Find(key)
		below, mapping := v.(map[string]any)
		switch {
		case v == nil:
		case known && s.Type == Record && mapping:
			for entry, v := range below {
				into[key+"."+entry] = v
			}
		case mapping && len(below) > 0:
			a.flatten(into, key+".", below)
		default:
			into[key] = v
		}
	}
}

// take takes a value over if the strict reader would.
func (a *Adopted) take(key string, s *Setting, v any) {
	path := strings.Split(s.Key, ".")
	if key != s.Key {
		path = append(path, strings.TrimPrefix(key, s.Key+"."))
	}
	var nested any = v
	for _, part := range slices.Backward(path) {
		nested = map[string]any{part: nested}
	}
	text, err := yaml.Marshal(nested)
	if err == nil {
		var c *Config
		if c, err = parse(name, text); err == nil {
			e, err := c.Lookup(key)
			if _, scoped := e.Value.(catalog.ScopedList); err == nil && !scoped && !s.Own && e.Source.Kind != ByDefault {
				a.Values = append(a.Values, e)
				return
			}
		}
	}
	a.Left = append(a.Left, key)
}

// Write writes the values into config.yml of a folder where it has none of its own for them, and
// gives the keys that it wrote and those that it kept.
func (a *Adopted) Write(dir string) (wrote, kept []string, err error) {
	own, err := Load(dir)
	if err != nil {
		return nil, nil, err
	}
	for _, e := range a.Values {
		if mine, err := own.Lookup(e.Key); err == nil && mine.Source.Kind != ByDefault {
			kept = append(kept, e.Key)
			continue
		}
		value := e.Value
		switch e.Value.(type) {
		case bool, int, float64, string, []string:
		default:
			value = e.Plain()
		}
		if err := Set(dir, e.Key, value); err != nil {
			return wrote, kept, err
		}
		wrote = append(wrote, e.Key)
	}
	return wrote, kept, nil
}

// Migrate rewrites config.yml of a folder in today's words, and keeps what it was as config.yml.bak. It gives what it
// changed; copied is "" where that is nothing.
func Migrate(dir string) (copied string, told []string, err error) {
	file := File(dir)
	err = change(dir, func(_ string, data []byte) ([]byte, error) {
		var out []byte
		if out, told = modernize(plain(data), false); len(told) == 0 {
			return data, nil
		}
		if copied == "" { // a second attempt is possible
			if copied, err = keepCopy(file, data); err != nil {
				return nil, err
			}
		}
		return out, nil
	})
	return copied, told, err
}

// keepCopy writes data beside file, under a name that is free.
func keepCopy(file string, data []byte) (string, error) {
	for n := 1; ; n++ {
		to := file + ".bak"
		if n > 1 {
			to = fmt.Sprintf("%s.bak%d", file, n)
		}
		f, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return "", fmt.Errorf("keep a copy: %w", err)
		}
		_, err = f.Write(data)
		return to, errors.Join(err, f.Sync(), f.Close())
	}
}

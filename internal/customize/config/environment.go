package config

import (
	"fmt"
	"maps"
	"reflect"
	"strconv"
	"strings"
	"unicode"

	"github.com/burin-dev/burin/internal/model/catalog"
)

// Variable is the environment variable that sets a setting: BURIN_DISPLAY_TAB_WIDTH sets
// display.tabWidth. Mappings have none.
func (s Setting) Variable() string {
	if s.Type == Record || s.Own {
		return ""
	}
	var b strings.Builder
	b.WriteString("BURIN_")
	inWord := false
	for _, r := range s.Key {
		switch {
		case r == '.':
			b.WriteByte('_')
		case unicode.IsUpper(r) && inWord:
			b.WriteByte('_')
			fallthrough
		default:
			b.WriteRune(unicode.ToUpper(r))
		}
		inWord = unicode.IsLower(r)
	}
	return b.String()
}

// takeEnvironment takes over what variables say. An empty one says nothing.
func (c *Config) takeEnvironment(getenv func(string) string) error {
	if getenv == nil {
		return nil
	}
	for i := range table {
		s := &table[i]
		name := s.Variable()
		if name == "" {
			continue
		}
		text := strings.TrimSpace(getenv(name))
		if text == "" {
			continue
		}
		from := Source{Kind: ByEnvironment, Name: name}
		if strings.HasPrefix(s.Key, "stream.") { // package connect reads it: there 0 is no limit
			if n, err := strconv.Atoi(text); err == nil {
				if n == 0 {
					n = -1
				}
				c.Hold(s.Key, n, from)
			}
			continue
		}
		v, err := s.readVariable(text)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		value := reflect.New(c.field(s.Key).Type()).Elem()
		assign(value, v)
		c.merge(s, value)
		c.places[s.Key] = from
	}
	c.takeRoles(getenv)
	if name := "SEARXNG_ENDPOINT"; c.SearXNG.Endpoint == "" && getenv(name) != "" {
		c.Hold("searxng.endpoint", getenv(name), Source{Kind: ByEnvironment, Name: name})
	}
	return nil
}

// takeRoles shows the models of roles that variables name, as package catalog obeys them.
func (c *Config) takeRoles(getenv func(string) string) {
	for _, role := range []string{catalog.RoleDefault, catalog.RoleSmol, catalog.RoleSlow, catalog.RolePlan} {
		selector, name := catalog.RoleVariable(role, getenv)
		if selector == "" {
			continue
		}
		roles := maps.Clone(c.ModelRoles)
		if roles == nil {
			roles = map[string]string{}
		}
		roles[role] = selector
		c.ModelRoles = roles
		from := Source{Kind: ByEnvironment, Name: name}
		c.places["modelRoles"], c.places["modelRoles."+role] = from, from
	}
}

// readVariable is Read, with the words that switch variables on and off.
func (s *Setting) readVariable(text string) (any, error) {
	if s.Type == Bool {
		switch strings.ToLower(text) {
		case "1", "y":
			text = "on"
		case "0", "n":
			text = "off"
		}
	}
	return s.Read(text)
}

// assign gives a field a value as [Setting.Read] gives it.
func assign(to reflect.Value, v any) {
	if to.Kind() == reflect.Pointer {
		p := reflect.New(to.Type().Elem())
		assign(p.Elem(), v)
		to.Set(p)
		return
	}
	if list, ok := v.([]string); ok && to.Type() == reflect.TypeFor[catalog.ScopedList]() {
		v = catalog.ScopedList{{Values: list}}
	}
	to.Set(reflect.ValueOf(v).Convert(to.Type()))
}

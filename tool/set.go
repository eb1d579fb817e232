package tool

import (
	"fmt"
	"slices"
	"strings"

	"github.com/burin-dev/burin/llm"
)

// Set is a list of tools with different names, in the order in which the model
// is told of them. It is not changed.
type Set struct {
	tools  []*Tool
	byName map[string]*Tool
}

// maxName is what vendors take.
const maxName = 64

// NewSet makes a set. Two tools of one name, or a name that vendors do not take,
// are an error.
func NewSet(tools ...*Tool) (*Set, error) {
	s := &Set{tools: slices.Clone(tools), byName: make(map[string]*Tool, len(tools))}
	for _, t := range tools {
		if !legalName(t.Name) {
			return nil, fmt.Errorf("tool %q: a name has 1 to %d letters, digits, \"_\" and \"-\"", t.Name, maxName)
		}
		if s.byName[t.Name] != nil {
			return nil, fmt.Errorf("two tools are called %q", t.Name)
		}
		s.byName[t.Name] = t
	}
	return s, nil
}

func legalName(name string) bool {
	for _, c := range []byte(name) {
		if c != '_' && c != '-' && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') {
			return false
		}
	}
	return name != "" && len(name) <= maxName
}

// All are the tools in order. The slice belongs to the set.
func (s *Set) All() []*Tool { return s.tools }

// Find is the tool that a model means by name: the one of that name, or the only
// one whose name differs in nothing but case. Some models put "functions." in
// front. The error tells the model what there is.
func (s *Set) Find(name string) (*Tool, error) {
	if t := s.byName[name]; t != nil {
		return t, nil
	}
	name = strings.TrimPrefix(name, "functions.")
	var found []*Tool
	var names []string
	for _, t := range s.tools {
		if t.Name == name {
			return t, nil
		}
		if strings.EqualFold(t.Name, name) {
			found = append(found, t)
		}
		names = append(names, t.Name)
	}
	if len(found) == 1 {
		return found[0], nil
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("no tool %s: no tools are available", quote(name))
	}
	return nil, fmt.Errorf("no tool %s.%s The tools are %s", quote(name), suggest(name, names), strings.Join(names, ", "))
}

// Definitions is what a request says of the tools. A schema is sent in its plain
// form, because vendors refuse identifiers, dynamic references and older drafts.
func (s *Set) Definitions() []llm.Tool {
	if len(s.tools) == 0 {
		return nil
	}
	out := make([]llm.Tool, len(s.tools))
	for i, t := range s.tools {
		out[i] = llm.Tool{Name: t.Name, Description: t.Description, Schema: t.plain(), Strict: t.Strict}
	}
	return out
}

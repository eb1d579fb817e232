package tool

import (
	"fmt"
	"slices"
	"strings"

	"github.com/burin-dev/burin/llm"
)

// Set is an immutable list of tools with different names, in the order in which the model sees
// them.
type Set struct {
	tools  []*Tool
	byName map[string]*Tool
}

// maxName is the longest name that providers accept.
const maxName = 64

// NewSet makes a set. It fails if two tools have the same name, or if providers would not
// accept a name.
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

// All returns the tools in order. The slice belongs to the set and must not be modified.
func (s *Set) All() []*Tool { return s.tools }

// Find returns the tool that a model means by name: the one with that name, or the only one
// whose name differs just in case. Some models prefix "functions.". The error tells the model
// which tools there are.
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

// Definitions returns the tools as a request sends them. Schemas are in their plain form,
// because providers refuse identifiers, dynamic references and older drafts.
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

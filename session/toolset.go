package session

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/tool"
)

// ToolState is a tool of the session, offered to the model or not.
type ToolState struct {
	Name        string       `json:"name"`
	Label       string       `json:"label"`       // for people
	Description string       `json:"description"` // as the model reads it
	Effects     tool.Effects `json:"effects"`
	Enabled     bool         `json:"enabled"`
	Tokens      int          `json:"tokens"` // that each request pays for it while it is enabled, estimated
}

// ToolSet is the tools of a session. They may change at any time, from any goroutine: a
// change holds from the next request on. A [ToolsChanged] event comes with each change of
// what is offered.
//
// Tools are what a request begins with, so that a change costs the provider's cache of the
// conversation: all of it where a tool is taken out or changed, and none where one is
// added by [ToolSet.Put] or taken away by [ToolSet.Remove]. Some providers cache tools as
// one piece; there an addition costs as much as a change.
type ToolSet struct {
	use  func(offered []*tool.Tool) // has the loop offer them
	tell func(names string)         // of those that are offered

	changing sync.Mutex // held while a change goes to the loop, so that the last one holds

	mu     sync.Mutex
	all    []member // in the order in which they are offered
	forced string   // the tool that the next answer must call
}

// member is a tool of a set.
type member struct {
	*tool.Tool
	offered bool
	gone    bool // it was removed; what is declared in its place says so
}

var _ Tools = (*ToolSet)(nil)

func newToolSet(offered, more []*tool.Tool) *ToolSet {
	s := &ToolSet{}
	for _, t := range offered {
		s.all = append(s.all, member{Tool: t, offered: true})
	}
	for _, t := range more {
		s.all = append(s.all, member{Tool: t})
	}
	return s
}

// List returns all tools, in the order in which they are offered.
func (s *ToolSet) List(context.Context) ([]ToolState, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []ToolState
	for _, m := range s.all {
		if m.gone {
			continue
		}
		list = append(list, ToolState{
			Name: m.Name, Label: m.Label, Description: m.Description, Effects: m.Effects,
			Enabled: m.offered, Tokens: toolTokens(m.Tool),
		})
	}
	return list, nil
}

// Put adds tools behind those there are. A tool whose name is taken takes the place of the
// one that has it. All of them are offered. An error, such as that of a name that providers
// refuse, changes nothing.
func (s *ToolSet) Put(tools ...*tool.Tool) error {
	return s.change(func(all []member) ([]member, error) {
		for _, t := range tools {
			m := member{Tool: t, offered: true}
			if i := index(all, t.Name); i >= 0 {
				all[i] = m
			} else {
				all = append(all, m)
			}
		}
		return all, nil
	})
}

// Remove takes tools away, as when the server that has them is gone. The model keeps their
// definitions, so that its provider's cache holds; a call tells it that the tool is not
// available any more. The definitions go when the cache is lost for another reason:
// with another model, or with Offer.
func (s *ToolSet) Remove(names ...string) error {
	return s.change(func(all []member) ([]member, error) {
		for _, name := range names {
			i := index(all, name)
			switch {
			case i < 0 || all[i].gone:
				return nil, missingTool(name, all)
			case all[i].offered:
				all[i] = member{Tool: unavailable(all[i].Tool), offered: true, gone: true}
			default:
				all = slices.Delete(all, i, i+1)
			}
		}
		return all, nil
	})
}

// unavailable is declared like a tool and does nothing.
func unavailable(t *tool.Tool) *tool.Tool {
	return &tool.Tool{
		Name: t.Name, Label: t.Label, Description: t.Description, Parameters: t.Parameters, Strict: t.Strict,
		Access: func(json.RawMessage) ([]tool.Access, error) { return nil, nil },
		Run: func(context.Context, tool.Call) (*tool.Result, error) {
			return nil, fmt.Errorf("the tool %s is not available any more. Do not call it again", t.Name)
		},
	}
}

// Offer offers exactly the tools of these names, from the next request on. The tool that
// hands over a result of a schema is always offered.
func (s *ToolSet) Offer(_ context.Context, names []string) error {
	return s.change(func(all []member) ([]member, error) {
		all = slices.DeleteFunc(all, func(m member) bool { return m.gone })
		for _, name := range names {
			if index(all, name) < 0 {
				return nil, missingTool(name, all)
			}
		}
		for i := range all {
			all[i].offered = all[i].Name == ResultTool || slices.Contains(names, all[i].Name)
		}
		return all, nil
	})
}

// Force has the first answer to the next prompt call a tool. Models that must think before
// they call one answer without thinking, or, where they cannot, as they like.
func (s *ToolSet) Force(_ context.Context, name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	offered := slices.DeleteFunc(slices.Clone(s.all), func(m member) bool { return m.gone || !m.offered })
	if index(offered, name) < 0 {
		return missingTool(name, offered)
	}
	s.forced = name
	return nil
}

// adapt puts tools in the place of those with their names, offered or not, for another
// model. The cache of the conversation is lost with the model before: what was removed
// goes.
func (s *ToolSet) adapt(tools []*tool.Tool) error {
	return s.change(func(all []member) ([]member, error) {
		all = slices.DeleteFunc(all, func(m member) bool { return m.gone })
		for _, t := range tools {
			if i := index(all, t.Name); i >= 0 {
				all[i].Tool = t
			}
		}
		return all, nil
	})
}

// change changes the set and has the loop and faces know, if it makes a difference.
func (s *ToolSet) change(f func(all []member) ([]member, error)) error {
	s.changing.Lock()
	defer s.changing.Unlock()
	s.mu.Lock()
	before := s.all
	all, err := f(slices.Clone(before))
	if err == nil {
		_, err = tool.NewSet(tools(all)...)
	}
	if err == nil {
		s.all = all
	}
	s.mu.Unlock()
	if err != nil {
		return err
	}
	if was, now := tools(before), tools(all); !slices.Equal(was, now) {
		s.use(now)
	}
	if !slices.EqualFunc(shown(before), shown(all), sameForFaces) {
		s.tell(toolNames(shown(all)))
	}
	return nil
}

// sameForFaces reports whether a list of tools looks the same with either of two.
func sameForFaces(a, b member) bool {
	return a.Name == b.Name && a.Label == b.Label && a.Description == b.Description
}

// shown are the tools that people see as offered.
func shown(all []member) []member {
	return slices.DeleteFunc(slices.Clone(all), func(m member) bool { return m.gone || !m.offered })
}

// tools are those that requests have.
func tools(all []member) (on []*tool.Tool) {
	for _, m := range all {
		if m.offered {
			on = append(on, m.Tool)
		}
	}
	return on
}

func index(all []member, name string) int {
	return slices.IndexFunc(all, func(m member) bool { return m.Name == name })
}

func missingTool(name string, all []member) error {
	all = slices.DeleteFunc(slices.Clone(all), func(m member) bool { return m.gone })
	return fmt.Errorf("there is no tool %q; there are %s", name, toolNames(all))
}

// force has the next answer call a tool; "" lets it be.
func (s *ToolSet) force(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forced = name
}

// choice is the tool that the next answer must call; "" is none.
func (s *ToolSet) choice() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.forced
}

// offered are the tools of the next request.
func (s *ToolSet) offered() []*tool.Tool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return tools(s.all)
}

// definitions are the tools as requests have them.
func (s *ToolSet) definitions() []llm.Tool {
	set, err := tool.NewSet(s.offered()...)
	if err != nil {
		return nil
	}
	return set.Definitions()
}

// has reports whether a tool is offered.
func (s *ToolSet) has(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.all, func(m member) bool { return m.Name == name && m.offered && !m.gone })
}

func toolTokens(t *tool.Tool) int {
	return textTokens(t.Description) + textTokens(string(t.Parameters))
}

func toolNames(all []member) string {
	var names []string
	for _, m := range all {
		names = append(names, m.Name)
	}
	return strings.Join(names, ", ")
}

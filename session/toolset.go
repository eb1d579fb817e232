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
	Label       string       `json:"label"`       // for users
	Description string       `json:"description"` // as the model reads it
	Effects     tool.Effects `json:"effects"`
	Enabled     bool         `json:"enabled"`
	Tokens      int          `json:"tokens"` // estimated cost per request while it is enabled
}

// ToolSet is the set of tools of a session. It is safe for concurrent use. Changes apply from
// the next request on. Each change of what is offered emits [ToolsChanged].
//
// Requests start with the tools, so a change invalidates the provider's cache of the
// conversation: completely if a tool is left out or changed, and not at all if one is added by
// [ToolSet.Put] or removed by [ToolSet.Remove]. Some providers cache tools as one piece;
// there, an addition costs as much as a change.
type ToolSet struct {
	use  func(offered []*tool.Tool) // makes the loop offer them
	tell func(names string)         // emits the names of offered tools

	changing sync.Mutex // held while a change goes to the loop, so that the last one wins

	mu     sync.Mutex
	all    []member // in the order in which they are offered
	forced string   // the tool that the next answer must call
	only   []string // the only tools of the current turn; nil is all that are offered
}

// member is a tool of a set.
type member struct {
	*tool.Tool
	offered bool
	gone    bool // it was removed; its declaration now says so
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

// Put adds tools after the existing ones, or replaces those with the same names. All of them
// are offered. If it fails, for example because providers refuse a name, nothing has changed.
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

// Remove removes tools, for example when their server is gone. The model keeps their
// definitions, so that its provider's cache stays valid; a call tells the model that the tool
// is no longer available. The definitions go when the cache is lost for another reason: with
// another model, or with Offer.
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

// unavailable returns a tool that is declared like t and does nothing.
func unavailable(t *tool.Tool) *tool.Tool {
	return &tool.Tool{
		Name: t.Name, Label: t.Label, Description: t.Description, Parameters: t.Parameters, Strict: t.Strict,
		Access: func(json.RawMessage) ([]tool.Access, error) { return nil, nil },
		Run: func(context.Context, tool.Call) (*tool.Result, error) {
			return nil, fmt.Errorf("the tool %s is not available any more. Do not call it again", t.Name)
		},
	}
}

// include offers a tool of the set, if it is there and is not offered yet.
func (s *ToolSet) include(name string) error {
	s.mu.Lock()
	i := index(s.all, name)
	there := i >= 0 && !s.all[i].offered
	s.mu.Unlock()
	if !there {
		return nil
	}
	return s.change(func(all []member) ([]member, error) {
		if i := index(all, name); i >= 0 {
			all[i].offered = true
		}
		return all, nil
	})
}

// limit offers only these tools of those that are offered, or all of them again.
func (s *ToolSet) limit(names []string) error {
	s.changing.Lock()
	defer s.changing.Unlock()
	s.mu.Lock()
	before := s.requested()
	was := s.only
	s.only = names
	now := s.requested()
	if len(now) == 0 && len(names) > 0 {
		s.only = was
	}
	s.mu.Unlock()
	switch {
	case len(now) == 0 && len(names) > 0:
		return fmt.Errorf("none of %s is offered", strings.Join(names, ", "))
	case !slices.Equal(before, now):
		s.use(now)
	}
	return nil
}

// requested returns the tools of the next request. The caller holds mu.
func (s *ToolSet) requested() []*tool.Tool {
	on := tools(s.all)
	if s.only == nil {
		return on
	}
	return slices.DeleteFunc(on, func(t *tool.Tool) bool { return t.Name != ResultTool && !slices.Contains(s.only, t.Name) })
}

// Offer offers exactly the tools with these names, from the next request on. The tool that
// hands over a result by a schema is always offered.
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

// Force makes the first answer to the next prompt call a tool. Models that must think before a
// call answer without thinking or, if they can't, as they like.
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

// adapt replaces tools by name, offered or not, for another model. The cache of the
// conversation is lost with the previous model, so removed tools go.
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

// change changes the set and informs the loop and faces if it makes a difference.
func (s *ToolSet) change(f func(all []member) ([]member, error)) error {
	s.changing.Lock()
	defer s.changing.Unlock()
	s.mu.Lock()
	before, was := s.all, s.requested()
	all, err := f(slices.Clone(before))
	if err == nil {
		_, err = tool.NewSet(tools(all)...)
	}
	if err == nil {
		s.all = all
	}
	now := s.requested()
	s.mu.Unlock()
	if err != nil {
		return err
	}
	if !slices.Equal(was, now) {
		s.use(now)
	}
	if !slices.EqualFunc(shown(before), shown(all), sameForFaces) {
		s.tell(toolNames(shown(all)))
	}
	return nil
}

// sameForFaces reports whether faces see no difference between two members.
func sameForFaces(a, b member) bool {
	return a.Name == b.Name && a.Label == b.Label && a.Description == b.Description
}

// shown returns the tools that users see as offered.
func shown(all []member) []member {
	return slices.DeleteFunc(slices.Clone(all), func(m member) bool { return m.gone || !m.offered })
}

// tools returns the tools of requests.
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

// force makes the next answer call a tool; "" makes it optional.
func (s *ToolSet) force(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forced = name
}

// choice returns the tool that the next answer must call; "" if none.
func (s *ToolSet) choice() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.forced
}

// offered returns the tools of the next request.
func (s *ToolSet) offered() []*tool.Tool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requested()
}

// definitions returns the tools as requests have them.
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

package session

import (
	"fmt"
	"slices"
	"strings"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/tool"
)

// ToolState is a tool of the session, offered to the model or not.
type ToolState struct {
	Name        string
	Label       string // for people
	Description string // as the model reads it
	Effects     tool.Effects
	Enabled     bool
	Tokens      int // that each request pays for it while it is enabled, estimated
}

// Tools are all tools of the session, in the order in which they are offered.
func (s *Session) Tools() []ToolState {
	s.mu.Lock()
	on := s.tools
	s.mu.Unlock()
	var all []ToolState
	for _, t := range s.allTools() {
		all = append(all, ToolState{
			Name: t.Name, Label: t.Label, Description: t.Description, Effects: t.Effects,
			Enabled: slices.Contains(on, t), Tokens: toolTokens(t),
		})
	}
	return all
}

// SetTools offers exactly the tools of these names, from the next request on. The
// vendor's cache of the conversation begins anew with it: tools are what a request
// begins with. The tool that hands over a result of a schema is always offered.
func (s *Session) SetTools(names []string) error {
	all := s.allTools()
	var on []*tool.Tool
	for _, t := range all {
		if t.Name == ResultTool || slices.Contains(names, t.Name) {
			on = append(on, t)
		}
	}
	for _, name := range names {
		if !slices.ContainsFunc(all, func(t *tool.Tool) bool { return t.Name == name }) {
			return fmt.Errorf("there is no tool %q; there are %s", name, toolNames(all))
		}
	}
	s.mu.Lock()
	same := slices.Equal(s.tools, on)
	s.tools = on
	s.mu.Unlock()
	if same {
		return nil
	}
	s.agent.Update(func(o *agent.Options) { o.Tools = on })
	s.hub.emit(Event{Event: agent.Event{Type: ToolsChanged}, Text: toolNames(on)})
	return nil
}

// Force has the first answer to the next prompt call a tool. Models that must think before
// they call one answer without thinking, or, where they cannot, as they like.
func (s *Session) Force(name string) error {
	if offered := s.offered(); !slices.ContainsFunc(offered, func(t *tool.Tool) bool { return t.Name == name }) {
		return fmt.Errorf("there is no tool %q; there are %s", name, toolNames(offered))
	}
	s.force(name)
	return nil
}

func (s *Session) force(name string) {
	s.mu.Lock()
	s.forced = name
	s.mu.Unlock()
}

// allTools are the tools that are offered at first and those that can be, in one
// order whatever is offered now.
func (s *Session) allTools() []*tool.Tool { return slices.Concat(s.o.Tools, s.o.MoreTools) }

// offered are the tools of the next request.
func (s *Session) offered() []*tool.Tool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tools
}

// definitions are the tools as requests have them.
func (s *Session) definitions() []llm.Tool {
	set, err := tool.NewSet(s.offered()...)
	if err != nil {
		return nil
	}
	return set.Definitions()
}

func (s *Session) hasTool(name string) bool {
	return slices.ContainsFunc(s.offered(), func(t *tool.Tool) bool { return t.Name == name })
}

func toolTokens(t *tool.Tool) int {
	return textTokens(t.Description) + textTokens(string(t.Parameters))
}

func toolNames(tools []*tool.Tool) string {
	var names []string
	for _, t := range tools {
		names = append(names, t.Name)
	}
	return strings.Join(names, ", ")
}

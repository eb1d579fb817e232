package subagent

import (
	"encoding/json"

	"github.com/burin-dev/burin/llm"
)

type Definition struct {
	Name, Description, Prompt string
	Tools, Spawns, Models     []string
	Thinking                  llm.Level
	Output                    json.RawMessage
	Blocking                  bool
	Skills                    []string
	Requests                  int
	Isolated                  *bool
	Path                      string
}

type Set struct{ all []*Definition }

func (s *Set) All() []*Definition { return s.all }
func (s *Set) Get(name string) (*Definition, bool) {
	for _, d := range s.all {
		if d.Name == name {
			return d, true
		}
	}
	return nil, false
}
func (s *Set) WithBundled() *Set {
	return &Set{append(s.all, &Definition{Name: "explore", Description: "searches", Prompt: "You search.", Tools: []string{"read", "grep", "find", "ls"}, Models: []string{"burin/smol"}},
		&Definition{Name: "task", Description: "does any work", Prompt: "You do the task.", Spawns: []string{"*"}})}
}

package tui

import (
	"strings"

	"github.com/burin-dev/burin/internal/mode/tui/editor"
	"github.com/burin-dev/burin/internal/mode/tui/key"
)

// command is something that is called by "/" and its name.
type command struct {
	name    string
	aliases []string
	args    string // what may follow, for people; "": nothing may
	help    string
	needs   need
	waits   bool // for what runs ahead of it, as prompts do; what follows builds on both
	yields  bool // to a file of the person's or the project's with the same name
	run     func(args string)
	// complete proposes arguments; nil proposes none.
	complete func(arg string) []editor.Item
}

// need is what must be there for a command.
type need uint8

const (
	nothing need = iota
	aSession
	aRest // a session in which nothing runs
)

// commandOf are the commands that keys call.
func commandOf(action key.Action) (string, bool) {
	name, ok := map[key.Action]string{
		key.SelectModel: "model", key.TemporaryModel: "model", key.SearchHistory: "history",
		key.OpenTranscript: "transcript", key.AgentHub: "hub", key.OpenTree: "tree", key.NewSession: "new",
		key.ForkSession: "fork", key.ResumeSession: "resume",
	}[action]
	return name, ok
}

// choices proposes those words that begin with what was typed.
func choices(words ...string) func(string) []editor.Item {
	return func(arg string) []editor.Item {
		var items []editor.Item
		for _, w := range words {
			if strings.HasPrefix(w, arg) {
				items = append(items, editor.Item{Label: w})
			}
		}
		return items
	}
}

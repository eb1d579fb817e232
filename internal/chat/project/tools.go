package project

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
)

// Tools are the tools of a project's chats, with their options. What isn't there is off.
type Tools struct {
	// Filesystem reads and changes the files of the project.
	Filesystem *FilesystemTool `json:"filesystem,omitempty"`
	// Memory are notes in /memories that all chats of the project share.
	Memory *MemoryTool `json:"memory,omitempty"`
	// Knowledge are the files in /knowledge, which the model knows: all of them, or what fits a message.
	Knowledge *ToolOn `json:"knowledge,omitempty"`
	// JavaScript runs programs of the model that work on the files.
	JavaScript *JavaScriptTool `json:"javascript,omitempty"`
	// Sketchbook is a notepad that the model only adds to.
	Sketchbook *ToolOn `json:"sketchbook,omitempty"`
	// Checkpoint lets the model leave behind what it thought and did for a part of its work.
	Checkpoint *CheckpointTool `json:"checkpoint,omitempty"`
	// Minion has agents do parts of the work, each in a chat of its own.
	Minion *MinionTool `json:"minion,omitempty"`
	// Web searches the web and reads pages.
	Web *WebTool `json:"web,omitempty"`
	// Ask puts questions to the person.
	Ask *ToolOn `json:"ask,omitempty"`
	// Todo is a list of work that the person sees.
	Todo *ToolOn `json:"todo,omitempty"`
	// Calc calculates.
	Calc *ToolOn `json:"calc,omitempty"`
	// History finds what was said before the conversation was compacted.
	History *ToolOn `json:"history,omitempty"`
}

// ToolOn is a tool without options.
type ToolOn struct{}

// FilesystemTool are the options of filesystem.
type FilesystemTool struct {
	ReadOnly bool `json:"readOnly,omitempty"` // the model changes nothing
}

// MemoryTool are the options of memory.
type MemoryTool struct {
	// SystemPrompt puts the list of the notes, and README.md among them, into the system prompt of each turn.
	SystemPrompt bool `json:"systemPrompt,omitempty"`
}

// WebTool are the options of web.
type WebTool struct {
	// Model has the model itself search, at its provider, where it can and nobody is asked. It is so everywhere with the server's
	// setting providers.webSearch: model.
	Model bool `json:"model,omitempty"`
}

// JavaScriptTool are the options of javascript.
type JavaScriptTool struct {
	// NoLibrary doesn't run the files /lib/*.js before each program, in the order of their names.
	NoLibrary bool `json:"noLibrary,omitempty"`
	// ReadOnly keeps programs from changing files. It is so, too, where filesystem is readOnly.
	ReadOnly bool `json:"readOnly,omitempty"`
}

// CheckpointTool are the options of checkpoint.
type CheckpointTool struct {
	// ContinueMessage is what the model reads when it goes on; "" is "please continue".
	ContinueMessage string `json:"continueMessage,omitempty"`
	// Keep are the tools whose calls stay in the conversation: filesystem, memory, javascript, sketchbook, checkpoint, minion, web.
	Keep []string `json:"keep,omitempty"`
}

// MinionTool are the options of minion.
type MinionTool struct {
	// Instructions are what agents without a persona are told.
	Instructions string `json:"instructions,omitempty"`
	Model        string `json:"model,omitempty"` // a selector; "" is the model of the chat
	// Personas gives agents the instructions of /minions/NAME.md, after those of /minions/_global.md. Each works on
	// the files below /minions/NAME, reads /share, and changes /sharerw.
	Personas bool `json:"personas,omitempty"`
	// Tools are those that agents have, of those of the project. nil is all.
	Tools []string `json:"tools,omitempty"`
	// Return says how agents hand over a result: last ends the work with the tool return, deferred keeps what was given to it
	// and lets them go on, none has no such tool. "" is last. Without a call of it the last message is the result.
	Return      string `json:"return,omitempty"`
	Concurrency int    `json:"concurrency,omitempty"` // agents that work at a time; 0 is 4
}

// Swipeable are the tools whose calls a checkpoint leaves behind, unless they are kept.
func Swipeable() []string {
	return []string{"filesystem", "memory", "javascript", "sketchbook", "checkpoint", "minion", "web"}
}

// ForMinions are the tools that agents may have.
func ForMinions() []string {
	return []string{"filesystem", "memory", "knowledge", "javascript", "sketchbook", "web", "ask", "todo", "calc"}
}

// OfMinions are the tools of the project's agents.
func (t *Tools) OfMinions() *Tools {
	may := func(name string) bool { return t.Minion.Tools == nil || slices.Contains(t.Minion.Tools, name) }
	own := &Tools{}
	for name, give := range map[string]func(){
		"filesystem": func() { own.Filesystem = t.Filesystem }, "memory": func() { own.Memory = t.Memory }, "knowledge": func() { own.Knowledge = t.Knowledge }, "javascript": func() { own.JavaScript = t.JavaScript }, "sketchbook": func() { own.Sketchbook = t.Sketchbook },
		"web": func() { own.Web = t.Web }, "ask": func() { own.Ask = t.Ask }, "todo": func() { own.Todo = t.Todo }, "calc": func() { own.Calc = t.Calc },
	} {
		if may(name) {
			give()
		}
	}
	return own
}

// StandardTools are those of projects in which nothing else was chosen.
func StandardTools() *Tools {
	return &Tools{Filesystem: &FilesystemTool{}, Knowledge: &ToolOn{}, Web: &WebTool{}, Ask: &ToolOn{}, Todo: &ToolOn{}, Calc: &ToolOn{}, History: &ToolOn{}}
}

func (t *Tools) check() error {
	if m := t.Minion; m != nil {
		switch {
		case len(m.Instructions) > maxText:
			return invalid("tools.minion.instructions: at most %d bytes, not %d", maxText, len(m.Instructions))
		case m.Return != "" && m.Return != "last" && m.Return != "deferred" && m.Return != "none":
			return invalid("tools.minion.return: last, deferred or none, not %q", m.Return)
		case m.Concurrency < 0 || m.Concurrency > 64:
			return invalid("tools.minion.concurrency: from 0 to 64, not %d", m.Concurrency)
		}
		for _, name := range m.Tools {
			if !slices.Contains(ForMinions(), name) {
				return invalid("tools.minion.tools: want some of %s, not %q", strings.Join(ForMinions(), ", "), name)
			}
		}
	}
	c := t.Checkpoint
	if c == nil {
		return nil
	}
	if len(c.ContinueMessage) > maxText {
		return invalid("tools.checkpoint.continueMessage: at most %d bytes, not %d", maxText, len(c.ContinueMessage))
	}
	for _, name := range c.Keep {
		if !slices.Contains(Swipeable(), name) {
			return invalid("tools.checkpoint.keep: want some of %s, not %q", strings.Join(Swipeable(), ", "), name)
		}
	}
	return nil
}

// readSettings reads the settings of a project as they are kept. Older ones have the names of tools as a list.
func readSettings(err error, data func() ([]byte, error), s *Settings) error {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && wrong.Field == "tools" {
		var old struct{ Tools []string }
		raw, failed := data()
		if failed != nil {
			return failed
		}
		if err = json.Unmarshal(raw, &old); err == nil {
			s.Tools = toolsNamed(old.Tools)
		}
	}
	if err == nil && s.Tools == nil {
		s.Tools = StandardTools()
		s.Tools.Knowledge = nil // which they didn't choose
	}
	return err
}

// toolsNamed are the tools that a list of names means.
func toolsNamed(names []string) *Tools {
	has := func(any ...string) bool {
		return slices.ContainsFunc(any, func(name string) bool { return slices.Contains(names, name) })
	}
	on := func(any ...string) *ToolOn {
		if has(any...) {
			return &ToolOn{}
		}
		return nil
	}
	t := &Tools{Ask: on("ask"), Todo: on("todo"), Calc: on("calc"), History: on("history")}
	if has("fetch", "web_search") {
		t.Web = &WebTool{}
	}
	if has("read", "ls", "find", "grep", "write", "edit", "undo_edit") {
		t.Filesystem = &FilesystemTool{ReadOnly: !has("write", "edit", "undo_edit")}
	}
	return t
}

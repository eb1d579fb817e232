// Package kit makes the tools that chats of projects have beyond those of every session: memory, knowledge,
// JavaScript, sketchbook, checkpoint, and what only a tree of files with versions can do.
//
// They work on the project's files, where people see and change the same notes. What a
// checkpoint leaves behind is derived from the conversation: its result in the transcript is all that is kept of it.
package kit

import (
	"slices"
	"time"

	"github.com/burin-dev/burin/internal/chat/project"
	"github.com/burin-dev/burin/internal/chat/vfs"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/tool"
)

// Options of the tools of a chat.
type Options struct {
	Tools *project.Tools
	Tree  *vfs.Tree // of the project, or as a persona sees it
	Chat  string    // its id, which names its sketchbook
	// Format is what the model reads with each message of the person, nil: the message alone; Began is when the chat did.
	Format *project.Format
	Began  time.Time
	// Temperature and Prefill are what the project says about how answers are made: nil and "" leave them to the model.
	Temperature *float64
	Prefill     string
	// Return lets an agent hand over a result; nil: it can't.
	Return *Returning
	Now    func() time.Time
	// Engine runs programs of the model. nil: it can't run any.
	Engine *Engine
	// Library keeps the texts of knowledge files of the project for its chats. nil: each reads them for itself.
	Library *Library
	Project string
}

// Kit are the tools of a chat.
type Kit struct {
	Tools   []*tool.Tool   // that it has besides those of every session
	Without []string       // those of every session that it doesn't have
	Tree    *vfs.Tree      // for the tools that work on files
	Chains  session.Chains // with which they take part in the conversation
}

// names are the tools of every session that a project chooses together.
func names(t *project.Tools) map[string][]string {
	off := map[string][]string{"": {session.CheckpointTool, session.RewindTool}} // a chat has a checkpoint of its own
	add := func(group string, on bool, tools ...string) {
		if !on {
			off[group] = append(off[group], tools...)
		}
	}
	add("filesystem", t.Filesystem != nil, "read", "ls", "find", "grep")
	add("filesystem", t.Filesystem != nil && !t.Filesystem.ReadOnly, "write", "edit", "undo_edit")
	add("web", t.Web != nil, "fetch", "web_search")
	add("ask", t.Ask != nil, "ask")
	add("todo", t.Todo != nil, "todo")
	add("calc", t.Calc != nil, "calc")
	add("history", t.History != nil, "history")
	return off
}

// New makes the tools of a chat.
func New(o Options) *Kit {
	if o.Now == nil {
		o.Now = time.Now
	}
	k := &Kit{Tree: o.Tree}
	for _, off := range names(o.Tools) {
		k.Without = append(k.Without, off...)
	}
	slices.Sort(k.Without)
	var known *shelf
	if o.Tools.Knowledge != nil {
		if o.Library == nil {
			o.Library = NewLibrary()
		}
		known = &shelf{tree: o.Tree, library: o.Library, project: o.Project, reads: o.Tools.Filesystem != nil, now: o.Now}
		k.Tree = vfs.Walled(k.Tree, knowledge)
		k.Chains.Requests = append(k.Chains.Requests, session.RequestInterceptor{Name: "knowledge", Change: known.add})
	}
	if o.Format != nil {
		k.Chains.Requests = append(k.Chains.Requests, session.RequestInterceptor{Name: "format", Change: newFormatter(o.Format, o.Began).change})
	}
	if known != nil {
		k.Chains.Requests = append(k.Chains.Requests, session.RequestInterceptor{Name: "knowledge", Change: known.join})
	}
	if o.Temperature != nil || o.Prefill != "" {
		k.Chains.Requests = append(k.Chains.Requests, session.RequestInterceptor{Name: "project", Change: asked{o.Temperature, o.Prefill}.change})
	}
	if m := o.Tools.Memory; m != nil {
		n := &notes{tree: o.Tree}
		k.Tree = vfs.Walled(k.Tree, memories)
		k.Tools = append(k.Tools, newMemory(n))
		change := nativeMemory
		if m.SystemPrompt {
			change = (&listing{notes: n}).add
		}
		k.Chains.Requests = append(k.Chains.Requests, session.RequestInterceptor{Name: "memory", Change: change})
	}
	if f := o.Tools.Filesystem; f != nil && !f.ReadOnly {
		k.Tools = append(k.Tools, newFilesystem(k.Tree))
	}
	if j := o.Tools.JavaScript; j != nil && o.Engine != nil {
		f := o.Tools.Filesystem
		k.Tools = append(k.Tools, newJavaScript(o.Engine, k.Tree, j, j.ReadOnly || f != nil && f.ReadOnly))
	}
	if o.Tools.Sketchbook != nil {
		k.Tools = append(k.Tools, newSketchbook(o.Tree, o.Chat))
	}
	if o.Return != nil {
		k.Tools = append(k.Tools, newReturn(*o.Return))
	}
	if c := o.Tools.Checkpoint; c != nil {
		k.Tools = append(k.Tools, newCheckpoint())
		k.Chains.Requests = append(k.Chains.Requests, session.RequestInterceptor{Name: "checkpoint", Change: swiper(c).change})
		k.Chains.Continue = append(k.Chains.Continue, session.Continuation{Name: session.CheckpointTool, Max: maxContinues, Ask: onwards(c, o.Now)})
	}
	return k
}

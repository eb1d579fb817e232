package acp

import (
	"encoding/json"

	proto "github.com/burin-dev/burin/internal/acp"
)

// method is one that a client can call. What [Run] answers to initialize, and the table of
// docs/acp.md, are made of the list of them.
type method struct {
	name  string
	about string
	// since says that it is not in the stable schema: "unstable", or "earlier draft".
	since string
	// begin takes a call while the connection reads; see [proto.Handler].
	begin func(a *face, params json.RawMessage) (proto.Work, error)
	// offered is how initialize tells of it, capability its name there. Nil: every agent has it.
	capability string
	offered    func(*proto.AgentCapabilities)
	notice     bool // it is a notification
}

// methods are all that there are, in the order in which a client meets them.
func methods() []method {
	yes := func() *proto.Empty { return &proto.Empty{} }
	return []method{
		{name: proto.MethodInitialize, begin: (*face).initialize, about: "Agrees on version 1 of the protocol."},
		{name: proto.MethodAuthenticate, begin: (*face).authenticate, about: "Looks for a key again, after a person has set one."},
		{name: proto.MethodSessionNew, begin: (*face).newSession, about: "Begins a session in `cwd`, with its own instruction files, rules and undo journal."},
		{
			name: proto.MethodSessionLoad, begin: (*face).loadSession, about: "Opens a session and sends the whole conversation before it answers.",
			capability: "loadSession", offered: func(c *proto.AgentCapabilities) { c.LoadSession = true },
		},
		{
			name: proto.MethodSessionResume, begin: (*face).resumeSession, about: "Opens a session without sending the conversation.",
			capability: "sessionCapabilities.resume", offered: func(c *proto.AgentCapabilities) { c.SessionCapabilities.Resume = yes() },
		},
		{
			name: proto.MethodSessionList, begin: (*face).listSessions, about: "Lists sessions, newest first, 50 a page; of one folder where `cwd` is given.",
			capability: "sessionCapabilities.list", offered: func(c *proto.AgentCapabilities) { c.SessionCapabilities.List = yes() },
		},
		{
			name: proto.MethodSessionFork, begin: (*face).forkSession, since: "unstable", about: "Copies a session and opens the copy.",
			capability: "sessionCapabilities.fork", offered: func(c *proto.AgentCapabilities) { c.SessionCapabilities.Fork = yes() },
		},
		{
			name: proto.MethodSessionClose, begin: (*face).closeSession, about: "Stops what is under way and closes the session.",
			capability: "sessionCapabilities.close", offered: func(c *proto.AgentCapabilities) { c.SessionCapabilities.Close = yes() },
		},
		{
			name: proto.MethodSessionDelete, begin: (*face).deleteSession, about: "Closes the session and moves it to the trash, from which `burin sessions restore` brings it back.",
			capability: "sessionCapabilities.delete", offered: func(c *proto.AgentCapabilities) { c.SessionCapabilities.Delete = yes() },
		},
		{
			name: proto.MethodSessionStatus, begin: (*face).sessionStatus, since: "unstable", about: "Says whether a session is open here.",
			capability: "sessionCapabilities.status", offered: func(c *proto.AgentCapabilities) { c.SessionCapabilities.Status = yes() },
		},
		{
			name: proto.MethodSessionSetTitle, begin: (*face).setTitle, since: "unstable", about: "Names a session.",
			capability: "sessionCapabilities.title", offered: func(c *proto.AgentCapabilities) { c.SessionCapabilities.Title = yes() },
		},
		{name: proto.MethodSessionPrompt, begin: (*face).prompt, about: "Sends a prompt, or a slash command, and answers when all is done for it. While the model works, it steers."},
		{name: proto.MethodSessionCancel, begin: (*face).cancel, notice: true, about: "Stops what is under way; prompts are answered with `cancelled`."},
		{name: proto.MethodSessionSetMode, begin: (*face).setMode, about: "Sets what runs without a question: plan, ask, auto-edit or full."},
		{name: proto.MethodSessionSetOption, begin: (*face).setOption, about: "Sets an option: `mode`, `model` or `thinking`."},
		{name: proto.MethodSessionSetModel, begin: (*face).setModel, since: "earlier draft", about: "Sets the model, for clients of before config options."},
	}
}

// byName finds methods.
func byName() map[string]*method {
	all := methods()
	found := make(map[string]*method, len(all))
	for i := range all {
		found[all[i].name] = &all[i]
	}
	return found
}

// take takes what the client sends.
func (a *face) take(name string, params json.RawMessage, isRequest bool) (proto.Work, error) {
	m := a.methods[name]
	switch {
	case m == nil || m.notice == isRequest:
		return nil, proto.Errorf(proto.CodeMethodNotFound, "no method %q", name)
	case a.greeted() == nil && name != proto.MethodInitialize:
		return nil, proto.Errorf(proto.CodeInvalidRequest, "%s comes before initialize", name)
	}
	return m.begin(a, params)
}

// read reads parameters.
func read[P any](params json.RawMessage) (*P, error) {
	var p P
	if len(params) == 0 || params[0] != '{' {
		return nil, proto.Invalid("params must be an object")
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, proto.Invalid("params: %v", err)
	}
	return &p, nil
}

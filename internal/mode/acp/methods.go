package acp

import (
	"encoding/json"

	proto "github.com/burin-dev/burin/internal/acp"
)

// method is a method that a client can call. The response to initialize and the table in
// docs/acp.md are made from the list of methods.
type method struct {
	name  string
	about string
	// since marks a method outside the stable schema: "unstable" or "earlier draft".
	since string
	// begin handles a call on the reading goroutine; see [proto.Handler].
	begin func(a *face, params json.RawMessage) (proto.Work, error)
	// offered advertises the method in the response to initialize, under the name capability.
	// Nil: every agent has the method.
	capability string
	offered    func(*proto.AgentCapabilities)
	notice     bool // it is a notification
}

// methods lists all methods, in the order in which a client needs them.
func methods() []method {
	yes := func() *proto.Empty { return &proto.Empty{} }
	return []method{
		{name: proto.MethodInitialize, begin: (*face).initialize, about: "Agrees on version 1 of the protocol."},
		{name: proto.MethodAuthenticate, begin: (*face).authenticate, about: "Looks for a key again, after a person has set one."},
		{name: proto.MethodSessionNew, begin: (*face).newSession, about: "Starts a session in `cwd`, with its own instruction files, rules and undo journal."},
		{
			name: proto.MethodSessionLoad, begin: (*face).loadSession, about: "Opens a session and sends the whole conversation before it answers.",
			capability: "loadSession", offered: func(c *proto.AgentCapabilities) { c.LoadSession = true },
		},
		{
			name: proto.MethodSessionResume, begin: (*face).resumeSession, about: "Opens a session without sending the conversation.",
			capability: "sessionCapabilities.resume", offered: func(c *proto.AgentCapabilities) { c.SessionCapabilities.Resume = yes() },
		},
		{
			name: proto.MethodSessionList, begin: (*face).listSessions, about: "Lists sessions, newest first, 50 per page; with `cwd`, those of one folder.",
			capability: "sessionCapabilities.list", offered: func(c *proto.AgentCapabilities) { c.SessionCapabilities.List = yes() },
		},
		{
			name: proto.MethodSessionFork, begin: (*face).forkSession, since: "unstable", about: "Copies a session and opens the copy.",
			capability: "sessionCapabilities.fork", offered: func(c *proto.AgentCapabilities) { c.SessionCapabilities.Fork = yes() },
		},
		{
			name: proto.MethodSessionClose, begin: (*face).closeSession, about: "Stops the running turn and closes the session.",
			capability: "sessionCapabilities.close", offered: func(c *proto.AgentCapabilities) { c.SessionCapabilities.Close = yes() },
		},
		{
			name: proto.MethodSessionDelete, begin: (*face).deleteSession, about: "Closes the session and moves it to the trash; `burin sessions restore` restores it.",
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
		{name: proto.MethodSessionPrompt, begin: (*face).prompt, about: "Sends a prompt or a slash command and answers when it is done. While the model works, a prompt steers it."},
		{name: proto.MethodSessionCancel, begin: (*face).cancel, notice: true, about: "Stops the running turn; open prompts are answered with `cancelled`."},
		{name: proto.MethodSessionSetMode, begin: (*face).setMode, about: "Sets what runs without asking: plan, ask, auto-edit or full."},
		{name: proto.MethodSessionSetOption, begin: (*face).setOption, about: "Sets an option: `mode`, `model` or `thinking`."},
		{name: proto.MethodSessionSetModel, begin: (*face).setModel, since: "earlier draft", about: "Sets the model, for clients that predate config options."},
	}
}

// byName indexes the methods.
func byName() map[string]*method {
	all := methods()
	found := make(map[string]*method, len(all))
	for i := range all {
		found[all[i].name] = &all[i]
	}
	return found
}

// take handles a request or notification of the client.
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

// read decodes parameters.
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

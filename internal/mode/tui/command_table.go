package tui

import (
	"slices"

	"github.com/burin-dev/burin/internal/mode/tui/card"

	"github.com/burin-dev/burin/internal/mode/tui/editor"
)

// groups are what the commands are methods of, by what they are about.
type groups struct {
	archives     *archives
	conversation *conversation
	models       *models
	setup        *setup
	views        *views
	agents       *agents
	servers      *serverPanel
	tasks        *tasks
	pursuit      *pursuit
	plan         *planMode
	reader       *reader
	repeater     *repeater
	outbox       *outbox
	exit         *exit
	subagents    *subagents
}

// table are all commands of the face, as /help lists them.
func table(g *groups) []command {
	return slices.Concat(sessionCommands(g), modelCommands(g), viewCommands(g), workCommands(g), pursuitCommands(g), programCommands(g))
}

// sessionCommands are about the conversation as a whole.
func sessionCommands(g *groups) []command {
	return []command{
		{name: "new", aliases: []string{"clear"}, help: "start a new session", run: g.archives.newSession},
		{name: "resume", aliases: []string{"sessions", "continue"}, args: "[id or words]", help: "resume another session", run: g.archives.resume},
		{name: "tree", help: "move to another point of this session", needs: aSession, run: g.conversation.openTree},
		{name: "branch", help: "start a session from an earlier prompt", needs: aRest, run: g.archives.branch},
		{name: "fork", aliases: []string{"clone"}, help: "continue in a copy of this session", needs: aRest, run: g.archives.fork},
		{name: "rename", aliases: []string{"name", "title"}, args: "<title>", help: "name this session", needs: aSession, run: g.conversation.rename},
		{name: "transcript", aliases: []string{"view"}, help: "read and search the whole conversation", needs: aSession, run: g.reader.open},
		{name: "session", aliases: []string{"info", "status"}, args: "[delete]", help: "facts about this session", needs: aSession, run: g.conversation.sessionCommand, complete: choices("info", "delete")},
		{name: "compact", aliases: []string{"compress", "summarize"}, args: "[what matters]", help: "condense the conversation", needs: aRest, waits: true, run: g.conversation.compact},
		{
			name: "shake", args: "[images]", help: "remove old outputs, or pictures, from what the model sees", needs: aRest, waits: true, run: g.conversation.shake,
			complete: choices("images"),
		},
		{name: "handoff", args: "[what comes next]", help: "continue in a new session with the model's summary", needs: aRest, run: g.archives.handoff},
		{name: "pin", args: "<words>", help: "keep text in the model's sight, even after condensing", needs: aSession, run: g.conversation.pin},
		{name: "unpin", args: "[words]", help: "list and remove pins", needs: aSession, run: g.conversation.unpin},
		{
			name: "export", args: "[file]", help: "export the session as HTML, Markdown or JSON", needs: aSession, run: g.archives.export,
			complete: func(arg string) []editor.Item {
				return choices("session.html", "session.md", "session.json")(arg)
			},
		},
		{name: "share", help: "share the session by link", needs: aSession, run: g.archives.share},
		{name: "dump", help: "copy the conversation as text", needs: aSession, run: g.archives.dump},
		{
			name: "copy", args: "[code, prompt, command or all]", help: "copy the last answer, or its code, or more", needs: aSession, run: g.archives.copyCommand,
			complete: choices("code", "prompt", "command", "all"),
		},
		{name: "move", args: "<folder>", help: "continue in another folder", needs: aRest, run: g.archives.move},
		{name: "drop", help: "delete this session (to the trash)", needs: aRest, run: g.archives.dropSession},
	}
}

// modelCommands are about which model answers, and how it is paid.
func modelCommands(g *groups) []command {
	return []command{
		{name: "model", aliases: []string{"models", "switch"}, args: "[name]", help: "choose the model and the models of roles", waits: true, run: g.models.openModels},
		{
			name: "thinking", aliases: []string{"effort"}, args: "[level]", help: "how hard the model thinks", needs: aSession, run: g.models.openThinking,
			complete: func(arg string) []editor.Item {
				var words []string
				for _, l := range g.models.thinkingLevels() {
					words = append(words, string(l))
				}
				return choices(words...)(arg)
			},
		},
		{name: "login", aliases: []string{"auth", "connect"}, args: "[provider]", help: "log in to a provider, or store a key", run: g.models.openLogin},
		{name: "logout", args: "[provider]", help: "remove logins and keys", run: g.models.openLogin},
		{name: "cost", aliases: []string{"stats"}, help: "what was spent, by day and model", run: g.views.openCost},
		{name: "usage", help: "plans and limits of your providers, and what was spent", run: g.views.openUsage},
		{name: "context", help: "what fills the context window", needs: aSession, run: g.views.openContext},
	}
}

// viewCommands are about what is seen.
func viewCommands(g *groups) []command {
	return []command{
		{name: "help", aliases: []string{"commands", "?"}, help: "all commands", run: g.views.openHelp},
		{name: "changelog", aliases: []string{"whatsnew", "release-notes"}, help: "what changed in burin, newest first", run: g.views.openChangelog},
		{name: "hotkeys", aliases: []string{"keys", "keybindings"}, help: "all keys", run: g.views.openHotkeys},
		{name: "skills", help: "skills: where they are from, and what is wrong with some", run: g.views.openSkills},
		{
			name: "agents", args: "[name, edit or try and a name]", help: "agents that the model can start: look at, try and edit them", run: g.agents.command,
			complete: choices("edit", "show", "try"),
		},
		{
			name: "memory", args: "[add, update, clear, rebuild or path]", help: "what burin remembers of this project and of you", run: g.views.memory,
			complete: choices("view", "add", "update", "clear", "rebuild", "path"),
		},
		{name: "history", args: "[words]", help: "search earlier prompts", run: g.views.openHistory},
		{name: "settings", aliases: []string{"config"}, args: "[words]", help: "all settings", run: g.views.openSettings},
		{name: "theme", aliases: []string{"themes"}, args: "[name]", help: "choose the colors", run: g.views.openThemes},
	}
}

// workCommands are about what the model does.
func workCommands(g *groups) []command {
	return []command{
		{
			name: "commit", args: "[what to say, or undo]", help: "divide the changes into commits", needs: aRest, yields: true, run: g.views.commit,
			complete: choices("undo"),
		},
		{
			name: "review", args: "[range, commit or pull request]", help: "have agents review changes", needs: aRest, yields: true, run: g.views.review,
		},
		{name: "retry", aliases: []string{"again"}, help: "retry what failed or was stopped", needs: aRest, run: g.tasks.retry},
		{name: "btw", aliases: []string{"aside"}, args: "<question>", help: "ask a side question", needs: aSession, run: g.tasks.aside},
		{
			name: "plan", aliases: []string{"plan-review"}, args: "[review, show, go, compact, off or a prompt]", help: "plan mode: the model only looks, and hands over a plan", needs: aSession, run: g.plan.plan,
			complete: choices("review", "show", "go", "compact", "off"),
		},
		{
			name: "mode", aliases: []string{"approval", "approvals"}, args: "[plan, ask, auto-edit or full]", help: "what runs without a question", needs: aSession, run: g.plan.mode,
			complete: choices("plan", "ask", "auto-edit", "full"),
		},
		{name: "permissions", aliases: []string{"allow", "allowed-tools"}, help: "rules for calls: list, try and revoke", needs: aSession, run: g.tasks.openPermissions},
		{name: "rules", help: "instructions that the model gets when they matter", run: g.views.openRules},
		{name: "tools", help: "which tools the model has", needs: aSession, run: g.tasks.openTools},
		{
			name: "todo", aliases: []string{"todos"}, args: "[edit, done, start, drop, rm, append, export, import, copy]", help: "the list of tasks", needs: aSession, run: g.tasks.todoCommand,
			complete: choices("edit", "copy", "export", "import", "append", "start", "done", "drop", "rm"),
		},
		{name: "hub", aliases: []string{"agent-hub"}, help: "what works: sub-agents, to watch, talk to or stop, and other sessions", needs: aSession, run: g.subagents.openHub},
		{name: "jobs", aliases: []string{"bashes", "tasks"}, help: "commands and agents that run in the background", needs: aSession, run: g.tasks.openJobs},
		{name: "lsp", help: "language servers: their states and logs, restart one", needs: aSession, run: func(string) { openLanguages(g.tasks) }},
		{name: "mcp", args: "[name]", help: "MCP servers: states, tools and logs; switch them, reconnect, log in", yields: true, run: g.servers.open},
		{name: "undo", aliases: []string{"rewind"}, args: "[turn]", help: "undo what a turn changed", needs: aRest, run: g.tasks.openUndo},
		{name: "queue", help: "move queued messages back into the prompt", needs: aSession, run: func(string) { g.outbox.unqueue(false) }},
	}
}

// pursuitCommands are about work that goes on over more than one answer.
func pursuitCommands(g *groups) []command {
	return []command{
		{
			name: "goal", args: "[words, pause, resume, drop, budget]", help: "a goal that the model works toward until it is reached", needs: aSession, run: g.pursuit.goal,
			complete: choices("show", "pause", "resume", "drop", "budget", "set"),
		},
		{
			name: "advisor", args: "[on, quiet, off or status]", help: "a second model reads what is done and may add a remark", needs: aSession, run: g.pursuit.advisor,
			complete: choices("on", "quiet", "off", "status"),
		},
		{name: "loop", args: "[times] <prompt>", help: "repeat a prompt whenever it is done", needs: aSession, run: g.repeater.command, complete: choices("stop")},
		{name: "force", args: "<tool> <prompt>", help: "a prompt whose first answer must call that tool", needs: aRest, run: g.pursuit.force, complete: g.pursuit.offeredTools},
	}
}

// detach leaves the face and has the session continue without one. Jobs stop with the face, which
// names them as it does whenever it is left.
func detach(g *groups) {
	f := g.tasks.session.Facts()
	if !f.Kept {
		g.tasks.notice(card.Warning, "Nothing to continue: no model has answered yet, or the session isn't kept.")
		return
	}
	g.exit.detach, g.exit.quit = &Detached{Mode: f.Mode, Working: f.Working || len(g.subagents.facts.agents.active) > 0}, true
}

// programCommands are about burin itself.
func programCommands(g *groups) []command {
	return []command{
		{name: "setup", help: "set up keys, model and look, step by step", run: g.setup.open},
		{name: "doctor", help: "check all sessions for damage", run: g.archives.doctor},
		{name: "import", args: "[path]", help: "import sessions of other programs", run: g.archives.importSessions},
		{
			name: "debug", aliases: []string{"version", "about", "bug", "feedback"}, args: "[dump-next-request <file>]", help: "facts about burin and this terminal, for bug reports", run: g.views.debug,
			complete: choices(dumpWord),
		},
		{name: "background", aliases: []string{"bg"}, help: "leave, and let this session continue in the background", needs: aSession, run: func(string) { detach(g) }},
		{name: "quit", aliases: []string{"exit", "q", "bye"}, help: "leave", run: func(string) { g.exit.quit = true }},
	}
}

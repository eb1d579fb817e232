package hook

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"time"
)

// program is how a program writes its hooks, what it tells them and what they answer, where
// that differs from Claude Code.
type program struct {
	moments map[string]moment
	// ignored are its events for which burin has no moment, settings keys that it does not run.
	ignored, settings []string
	tools             map[string][]string // its names of burin's tools, the most usual first
	unit              time.Duration       // of timeouts
	loose             bool                // a matcher need not match all of a name
	flat              bool                // an event has hooks, not groups of them
	// tell changes what Claude Code's hooks are told into what its own are told.
	tell func(h *Hook, told map[string]any)
	// hear changes what its hooks answer into what Claude Code's do.
	hear func(h *Hook, a *answer)
}

// moment is what an event means.
type moment struct {
	event  Event
	also   Event    // "" is none
	tools  []string // of burin; nil is any
	onText bool     // the matcher is for a command, not for the name of a tool
}

// programOf says how the program of a source writes its hooks.
func programOf(id string) *program {
	switch id {
	case "gemini":
		return gemini()
	case "cursor":
		return cursor()
	}
	p := &program{
		moments: map[string]moment{}, unit: time.Second, loose: id == "codex", settings: []string{"state"},
		ignored: []string{
			"Setup", "TeammateIdle", "TaskCreated", "TaskCompleted", "ConfigChange", "CwdChanged", "FileChanged",
			"InstructionsLoaded", "WorktreeCreate", "WorktreeRemove", "Elicitation", "ElicitationResult", "PermissionDenied", "PostToolBatch",
			"UserPromptExpansion", "Interrupt",
		},
		tools: map[string][]string{
			"bash": {"Bash", "shell"}, "read": {"Read"}, "write": {"Write"}, "edit": {"Edit", "MultiEdit", "apply_patch"},
			"grep": {"Grep"}, "find": {"Glob"}, "ls": {"LS"}, "fetch": {"WebFetch"}, "web_search": {"WebSearch"},
			"todo": {"TodoWrite"}, "ask": {"AskUserQuestion"}, "exit_plan": {"ExitPlanMode"}, "job_poll": {"BashOutput"}, "job_kill": {"KillShell"},
		},
		tell: func(*Hook, map[string]any) {}, hear: func(*Hook, *answer) {},
	}
	for _, e := range Events() {
		p.moments[string(e)] = moment{event: e}
	}
	return p
}

// gemini is Gemini CLI, as geminicli.com/docs/hooks/reference has it.
func gemini() *program {
	return &program{
		moments: map[string]moment{
			"SessionStart": {event: SessionStart}, "SessionEnd": {event: SessionEnd}, "BeforeAgent": {event: UserPromptSubmit},
			"AfterAgent": {event: Stop}, "BeforeTool": {event: PreToolUse}, "AfterTool": {event: PostToolUse, also: PostToolUseFailure},
			"PreCompress": {event: PreCompact}, "Notification": {event: Notification},
		},
		ignored: []string{"BeforeModel", "AfterModel", "BeforeToolSelection"}, settings: []string{"enabled", "disabled", "notifications"},
		tools: map[string][]string{
			"bash": {"run_shell_command"}, "read": {"read_file", "read_many_files"}, "write": {"write_file"}, "edit": {"replace"},
			"grep": {"grep_search", "search_file_content"}, "find": {"glob"}, "ls": {"list_directory"}, "fetch": {"web_fetch"},
			"web_search": {"google_web_search"}, "todo": {"write_todos"}, "ask": {"ask_user"},
		},
		unit: time.Millisecond, loose: true,
		tell: func(_ *Hook, told map[string]any) {
			told["timestamp"] = time.Now().UTC().Format(time.RFC3339)
			if last, ok := told["last_assistant_message"]; ok {
				told["prompt_response"] = last
			}
			if r, ok := told["tool_response"].(map[string]any); ok {
				told["tool_response"] = map[string]any{"llmContent": r["content"], "returnDisplay": r["content"]}
				if r["is_error"] == true {
					told["tool_response"] = map[string]any{"llmContent": r["content"], "returnDisplay": r["content"], "error": map[string]any{"message": r["content"]}}
				}
			}
		},
		hear: func(h *Hook, a *answer) {
			denied := a.Decision == "deny" || a.Decision == "block"
			a.Decision = ""
			switch s := &a.Specific; {
			case h.Event == PreCompact || h.Event == Notification || h.Event == SessionStart || h.Event == SessionEnd: // it only tells
				a.Continue = nil
			case denied && h.Event == PostToolUse: // the reason stands for the result
				s.Output, _ = json.Marshal(a.Reason)
			case denied:
				a.Decision = "block"
			}
			if a.Specific.ToolOutput != nil {
				a.Specific.Output = a.Specific.ToolOutput
			}
			a.Specific.Input, a.partial = a.Specific.ToolInput, true
			a.Specific.Decision, a.Specific.Permit = "", nil
		},
	}
}

// cursor is Cursor, as cursor.com/docs/agent/hooks has it.
func cursor() *program {
	edits := []string{"edit", "write"}
	return &program{
		moments: map[string]moment{
			"sessionStart": {event: SessionStart}, "sessionEnd": {event: SessionEnd}, "beforeSubmitPrompt": {event: UserPromptSubmit},
			"preToolUse": {event: PreToolUse}, "postToolUse": {event: PostToolUse}, "postToolUseFailure": {event: PostToolUseFailure},
			"beforeShellExecution": {event: PreToolUse, tools: []string{"bash"}, onText: true},
			"afterShellExecution":  {event: PostToolUse, also: PostToolUseFailure, tools: []string{"bash"}, onText: true},
			"beforeReadFile":       {event: PreToolUse, tools: []string{"read"}}, "afterFileEdit": {event: PostToolUse, tools: edits},
			"preCompact": {event: PreCompact}, "stop": {event: Stop}, "subagentStart": {event: SubagentStart}, "subagentStop": {event: SubagentStop},
		},
		ignored: []string{
			"beforeMCPExecution", "afterMCPExecution", "afterAgentResponse", "afterAgentThought",
			"beforeTabFileRead", "afterTabFileEdit", "workspaceOpen",
		},
		tools: map[string][]string{
			"bash": {"Shell"}, "read": {"Read"}, "write": {"Write"}, "edit": {"Write", "Edit", "StrReplace"}, "grep": {"Grep"}, "find": {"Glob"},
			"ls": {"LS"}, "fetch": {"WebFetch"}, "web_search": {"WebSearch"}, "todo": {"TodoWrite"},
		},
		unit: time.Second, loose: true, flat: true, tell: tellCursor,
		hear: func(h *Hook, a *answer) {
			reason := first(a.AgentMessage, a.UserMessage)
			a.Decision, a.Specific.Decision, a.Specific.Permit = "", "", nil
			a.Specific.Context, a.Specific.Input = a.Context, a.UpdatedInput
			switch {
			case h.Event == PreCompact || h.Event == SessionEnd: // it only tells
			case a.Permission == "deny", h.Event == UserPromptSubmit && a.Continue != nil && !*a.Continue:
				a.Decision, a.Reason = "block", reason
			case a.Permission == "ask":
				a.Specific.Decision, a.Reason = string(Ask), reason
			case (h.Event == Stop || h.Event == SubagentStop) && a.FollowUp != "":
				a.Decision, a.Reason = "block", a.FollowUp
			}
			a.Continue = nil
		},
	}
}

// tellCursor is what Cursor's hooks are told.
func tellCursor(h *Hook, told map[string]any) {
	told["conversation_id"], told["generation_id"] = told["session_id"], told["session_id"]
	told["workspace_roots"] = []any{told["cwd"]}
	input, _ := told["tool_input"].(map[string]json.RawMessage)
	response, _ := told["tool_response"].(map[string]any)
	switch h.As {
	case "beforeShellExecution", "afterShellExecution":
		told["command"] = input["command"]
		if response != nil {
			told["output"] = response["content"]
		}
	case "beforeReadFile", "afterFileEdit":
		told["file_path"] = input["file_path"]
		if response != nil {
			told["edits"] = []any{}
		}
	case "postToolUse":
		told["tool_output"] = response["content"]
	case "postToolUseFailure":
		told["error_message"] = told["error"]
	case "stop":
		told["status"], told["loop_count"] = "completed", told["times"]
	case "subagentStop":
		told["status"], told["loop_count"], told["summary"] = "completed", told["times"], told["last_assistant_message"]
	}
	if kind, ok := told["agent_type"]; ok {
		told["subagent_id"], told["subagent_type"] = told["agent_id"], kind
		told["parent_conversation_id"] = told["session_id"]
	}
}

// names are those by which matchers may mean a tool of burin's: its own, and those of tools of
// the program that do the same. The first is what hooks are told.
func (p *program) names(tool string) []string { return append(slices.Clone(p.tools[tool]), tool) }

// ofCall reports whether an event is about a call.
func (e Event) ofCall() bool {
	return e == PreToolUse || e == PermissionRequest || e == PostToolUse || e == PostToolUseFailure
}

// ofAgent reports whether an event is about a sub-agent.
func (e Event) ofAgent() bool { return e == SubagentStart || e == SubagentStop }

// matches reports whether a hook is about an event and one of the names of its subject; of a
// call that is burin's name of the tool.
func (h *Hook) matches(event Event, names []string) bool {
	if h.Event != event && h.also != event {
		return false
	}
	if event.ofCall() && len(names) == 1 {
		if h.tools != nil && !slices.Contains(h.tools, names[0]) {
			return false
		}
		names = h.program.names(names[0])
	}
	return h.match == nil || h.onText || slices.ContainsFunc(names, h.match.MatchString)
}

// Wants reports whether a hook is about a command, where it is only about some.
func (h *Hook) Wants(fields map[string]any) bool {
	if h.match == nil || !h.onText {
		return true
	}
	input, _ := fields["tool_input"].(map[string]json.RawMessage)
	var command string
	return json.Unmarshal(input["command"], &command) == nil && h.match.MatchString(command)
}

// Input is what a hook reads: the fields that Claude Code's hooks know and those of the event,
// as its program names them.
func (h *Hook) Input(m Moment, event Event, fields map[string]any) []byte {
	told := map[string]any{
		"session_id": m.Session, "transcript_path": m.Transcript, "cwd": m.Dir, "hook_event_name": string(event),
		"permission_mode": modeName(m.Mode), "model": m.Model,
	}
	if m.Agent != "" {
		told["agent_id"], told["agent_type"] = m.Agent, m.AgentType
	}
	maps.Copy(told, fields)
	if tool, ok := told["burin_tool"].(string); ok {
		told["tool_name"] = h.program.names(tool)[0]
	}
	if h.As != "" {
		told["hook_event_name"] = h.As
	}
	h.program.tell(h, told)
	delete(told, "times")
	return encode(told)
}

// runsIn is the folder that a hook of a place runs in; "" is that of the session. Cursor runs
// the user's own beside their file, and those of a project in it.
func (p *program) runsIn(path, base string) string {
	switch {
	case !p.flat:
		return ""
	case base == "":
		return filepath.Dir(path)
	}
	return base
}

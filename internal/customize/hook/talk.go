package hook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/burin-dev/burin/internal/prose"
)

// Moment is what every hook is told.
type Moment struct {
	Session    string // its id
	Transcript string // the session file; "" if there is none
	Dir        string
	Mode       string // of permission, as burin names it
	Model      string
}

// Input is what a hook reads: the fields that Claude Code's hooks know, and those of the
// event.
func Input(m Moment, event Event, fields map[string]any) []byte {
	all := map[string]any{
		"session_id": m.Session, "transcript_path": m.Transcript, "cwd": m.Dir, "hook_event_name": string(event),
		"permission_mode": modeName(m.Mode), "model": m.Model,
	}
	maps.Copy(all, fields)
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)    // for scripts that look for text
	if e.Encode(all) != nil { // a value that has no JSON
		return []byte("{}\n")
	}
	return b.Bytes()
}

// modeName is what Claude Code calls a mode.
func modeName(mode string) string {
	switch mode {
	case "ask":
		return "default"
	case "auto-edit":
		return "acceptEdits"
	case "full":
		return "bypassPermissions"
	}
	return mode
}

// ToolNames are the names by which matchers may mean a tool of burin's: its own, and those
// of tools of Claude Code and Codex that do the same. The first of those is what hooks are
// told.
func ToolNames(tool string) []string {
	if names := toolNames()[tool]; names != nil {
		return append(names, tool)
	}
	return []string{tool}
}

// OwnTool is the tool of burin's that a name means: its own, or one of [ToolNames]. It is the
// name itself, in lower case, if none is known.
func OwnTool(name string) string {
	for tool, names := range toolNames() {
		if slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, name) }) {
			return tool
		}
	}
	return strings.ToLower(name)
}

func toolNames() map[string][]string {
	return map[string][]string{
		"bash": {"Bash", "shell"}, "read": {"Read"}, "write": {"Write"}, "edit": {"Edit", "MultiEdit", "apply_patch"},
		"grep": {"Grep"}, "find": {"Glob"}, "ls": {"LS"}, "fetch": {"WebFetch"}, "web_search": {"WebSearch"},
		"todo": {"TodoWrite"}, "ask": {"AskUserQuestion"}, "exit_plan": {"ExitPlanMode"}, "job_poll": {"BashOutput"}, "job_kill": {"KillShell"},
	}
}

// aliases are names of arguments that hooks of other programs look for, by burin's own.
func aliases(tool string) map[string]string {
	switch tool {
	case "read", "write", "edit":
		return map[string]string{"path": "file_path"}
	}
	return nil
}

// ToolFields are the fields about a call. Paths that hooks of other programs look for stand
// beside burin's own arguments, from the root of the disk.
func ToolFields(tool, call, dir string, args json.RawMessage) map[string]any {
	return map[string]any{
		"tool_name": ToolNames(tool)[0], "burin_tool": tool, "tool_use_id": call, "tool_input": toolInput(tool, dir, args),
	}
}

func toolInput(tool, dir string, args json.RawMessage) any {
	var fields map[string]json.RawMessage
	if json.Unmarshal(args, &fields) != nil {
		return args
	}
	for own, theirs := range aliases(tool) {
		var path string
		if fields[theirs] != nil || json.Unmarshal(fields[own], &path) != nil || strings.Contains(path, "://") {
			continue
		}
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		if text, err := json.Marshal(path); err == nil {
			fields[theirs] = text
		}
	}
	return fields
}

// Rewritten are the arguments that a hook wants for a call: what differs from what it was
// told is taken over, under burin's names.
func Rewritten(tool, dir string, args json.RawMessage, wanted map[string]json.RawMessage) (json.RawMessage, error) {
	var now map[string]json.RawMessage
	if err := json.Unmarshal(args, &now); err != nil {
		return nil, err
	}
	told, _ := toolInput(tool, dir, args).(map[string]json.RawMessage)
	names := map[string]string{}
	for own, theirs := range aliases(tool) {
		names[theirs] = own
	}
	changed := false
	for key, value := range wanted {
		if string(told[key]) == string(value) {
			continue
		}
		if own := names[key]; own != "" {
			key = own
		}
		now[key], changed = value, true
	}
	for key := range now {
		if _, kept := wanted[key]; !kept && told[key] != nil && names[key] == "" {
			delete(now, key) // it was taken out
			changed = true
		}
	}
	if !changed {
		return args, nil
	}
	return json.Marshal(now)
}

// Decision is what a hook says about a call.
type Decision string

// The decisions, the strictest last.
const (
	NoDecision Decision = ""
	Allow      Decision = "allow"
	Ask        Decision = "ask"
	Deny       Decision = "deny"
)

// Outcome is what a hook, or several, said.
type Outcome struct {
	Decision Decision // Deny also means: block what is about to happen, or go on instead of stopping
	Reason   string   // of the decision
	// Input replaces the arguments of a call; nil leaves them unchanged.
	Input map[string]json.RawMessage
	// Context is added for the model.
	Context []string
	// Output replaces the result of a call; nil: it stays.
	Output *string
	// End stops the work after this, with EndReason.
	End       bool
	EndReason string
	// Told is for the person: messages, and what went wrong.
	Told []string
}

// MaxContext is how many bytes of a hook's words reach the model.
const MaxContext = 10_000

type outputJSON struct {
	Continue      *bool  `json:"continue"`
	StopReason    string `json:"stopReason"`
	SystemMessage string `json:"systemMessage"`
	Decision      string `json:"decision"` // block, approve
	Reason        string `json:"reason"`
	Specific      struct {
		Decision  string                     `json:"permissionDecision"`
		Reason    string                     `json:"permissionDecisionReason"`
		Input     map[string]json.RawMessage `json:"updatedInput"`
		Context   string                     `json:"additionalContext"`
		Output    *json.RawMessage           `json:"updatedToolOutput"`
		MCPOutput *json.RawMessage           `json:"updatedMCPToolOutput"`
		Permit    *struct {
			Behavior string                     `json:"behavior"`
			Input    map[string]json.RawMessage `json:"updatedInput"`
			Message  string                     `json:"message"`
		} `json:"decision"` // of PermissionRequest
	} `json:"hookSpecificOutput"`
}

// Read understands what a hook has said: its exit code, standard output and error. 0 is
// success, and standard output may be an object; 2 blocks, with standard error as the
// reason; any other is a failure that blocks nothing, which the person is told.
func (h *Hook) Read(exit int, stdout, stderr string) Outcome {
	switch exit {
	case 0:
	case 2:
		return Outcome{Decision: Deny, Reason: cut(first(stderr, stdout, "a hook has blocked it: "+h.String()))}
	default:
		return h.failure(fmt.Sprintf("exit code %d: %s", exit, first(stderr, stdout, "it said nothing")))
	}
	stdout = strings.TrimSpace(stdout)
	if !strings.HasPrefix(stdout, "{") {
		if stdout != "" && (h.Event == UserPromptSubmit || h.Event == SessionStart) {
			return Outcome{Context: []string{cut(stdout)}}
		}
		return Outcome{}
	}
	var j outputJSON
	if err := decode(stdout, &j); err != nil {
		return h.failure("its output is not what hooks write: " + prose.Line(err.Error()))
	}
	o := Outcome{Input: j.Specific.Input, Reason: cut(first(j.Specific.Reason, j.Reason, ""))}
	switch {
	case j.Decision == "block":
		o.Decision = Deny
	case j.Decision == "approve":
		o.Decision = Allow
	}
	switch d := Decision(j.Specific.Decision); d {
	case Allow, Ask, Deny:
		o.Decision = d
	}
	if p := j.Specific.Permit; p != nil {
		switch p.Behavior {
		case "allow":
			o.Decision, o.Input = Allow, p.Input
		case "deny":
			o.Decision, o.Reason = Deny, cut(p.Message)
		}
	}
	if o.Decision == Deny && o.Reason == "" {
		o.Reason = "a hook has blocked it: " + h.String()
	}
	if j.Specific.Context != "" {
		o.Context = []string{cut(j.Specific.Context)}
	}
	for _, out := range []*json.RawMessage{j.Specific.Output, j.Specific.MCPOutput} {
		if out == nil {
			continue
		}
		text := string(*out)
		var plain string
		if json.Unmarshal(*out, &plain) == nil {
			text = plain
		}
		o.Output = &text
	}
	if j.Continue != nil && !*j.Continue {
		o.End, o.EndReason = true, first(j.StopReason, "a hook has stopped it: "+h.String())
	}
	if j.SystemMessage != "" {
		o.Told = []string{prose.Short(j.SystemMessage, 500)}
	}
	return o
}

// failure is the outcome of a hook that failed: the person is told, nothing is blocked.
func (h *Hook) failure(why string) Outcome {
	return Outcome{Told: []string{"the hook " + prose.Inline(h.String()) + " failed: " + prose.Short(prose.Inline(why), 300)}}
}

// TimedOut is the outcome of a hook that took too long.
func (h *Hook) TimedOut() Outcome { return h.failure(fmt.Sprintf("it took longer than %v", h.Timeout)) }

// Failed is the outcome of a hook that could not be run.
func (h *Hook) Failed(err error) Outcome { return h.failure(err.Error()) }

func cut(text string) string { return prose.Head(strings.TrimSpace(text), MaxContext) }

// first is the first text that says something.
func first(texts ...string) string {
	for _, t := range texts {
		if t = strings.TrimSpace(t); t != "" {
			return t
		}
	}
	return ""
}

// Merge joins what several hooks said about one thing: the strictest decision wins, and of
// arguments and outputs the last.
func Merge(all []Outcome) Outcome {
	rank := []Decision{NoDecision, Allow, Ask, Deny}
	var o Outcome
	for _, one := range all {
		if slices.Index(rank, one.Decision) > slices.Index(rank, o.Decision) {
			o.Decision, o.Reason = one.Decision, one.Reason
		}
		if one.Input != nil {
			o.Input = one.Input
		}
		if one.Output != nil {
			o.Output = one.Output
		}
		if one.End && !o.End {
			o.End, o.EndReason = true, one.EndReason
		}
		o.Context = append(o.Context, one.Context...)
		o.Told = append(o.Told, one.Told...)
	}
	return o
}

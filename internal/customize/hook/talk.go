package hook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/prose"
)

// Moment is what every hook is told. Hooks of a sub-agent are told of the session that it works
// for, as those of Claude Code are.
type Moment struct {
	Session    string // its id
	Transcript string // the session file; "" if there is none
	Agent      string // id of the sub-agent; "" is the session's own model
	AgentType  string // the name of its definition
	Dir        string
	Mode       string // of permission, as burin names it
	Model      string
}

// encode writes what a hook is told.
func encode(told map[string]any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)     // for scripts that look for text
	if e.Encode(told) != nil { // a value that has no JSON
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

// OwnTool is the tool of burin's that a name means: its own, or what Claude Code, Codex, Gemini or
// Cursor call a tool that does the same. It is the name itself, in lower case, if none is known.
func OwnTool(name string) string {
	for _, p := range []*program{programOf(""), gemini(), cursor()} {
		for _, tool := range slices.Sorted(maps.Keys(p.tools)) {
			if slices.ContainsFunc(p.tools[tool], func(n string) bool { return strings.EqualFold(n, name) }) {
				return tool
			}
		}
	}
	return strings.ToLower(name)
}

// aliases are names of arguments that hooks of other programs look for, by burin's own.
func aliases(tool string) map[string]string {
	switch tool {
	case "read", "write", "edit":
		return map[string]string{"path": "file_path"}
	}
	return nil
}

// ToolName is what Claude Code calls a tool of burin's.
func ToolName(tool string) string { return programOf("").names(tool)[0] }

// Real is what a call is about, whatever its arguments say: they may name an address in place of
// a path. What is empty is what they say.
type Real struct {
	File    string // from the root of the disk
	Command string
}

// ToolFields are the fields about a call. Paths that hooks of other programs look for stand
// beside burin's own arguments, from the root of the disk.
func ToolFields(tool, call, dir string, args json.RawMessage, real Real) map[string]any {
	return map[string]any{
		"burin_tool": tool, "tool_use_id": call, "tool_input": toolInput(tool, dir, args, real),
	}
}

func toolInput(tool, dir string, args json.RawMessage, real Real) any {
	var fields map[string]json.RawMessage
	if json.Unmarshal(args, &fields) != nil {
		return args
	}
	for own, theirs := range aliases(tool) {
		var path string
		if json.Unmarshal(fields[own], &path) != nil {
			continue
		}
		switch {
		case real.File != "":
			path = real.File
		case fields[theirs] != nil || strings.Contains(path, "://"):
			continue
		case !filepath.IsAbs(path):
			path = filepath.Join(dir, path)
		}
		fields[theirs] = quoted(path)
	}
	if real.Command != "" && fields["command"] != nil {
		fields["command"] = quoted(real.Command)
	}
	return fields
}

// quoted is a text as JSON.
func quoted(text string) json.RawMessage {
	b, _ := json.Marshal(text) // never fails
	return b
}

// Rewritten are the arguments that a hook wants for a call: what differs from what it was
// told is taken over, under burin's names. partial says that what is not wanted stays.
func Rewritten(tool, dir string, args json.RawMessage, real Real, wanted map[string]json.RawMessage, partial bool) (json.RawMessage, error) {
	var now map[string]json.RawMessage
	if err := json.Unmarshal(args, &now); err != nil {
		return nil, err
	}
	told, _ := toolInput(tool, dir, args, real).(map[string]json.RawMessage)
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
		if _, kept := wanted[key]; !kept && !partial && told[key] != nil && names[key] == "" {
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
	// Input replaces the arguments of a call, or those that it names if Partial; nil leaves
	// them unchanged.
	Input   map[string]json.RawMessage
	Partial bool
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

// answer is the object that a hook writes, with the words of all programs.
type answer struct {
	Continue      *bool  `json:"continue"`
	StopReason    string `json:"stopReason"`
	SystemMessage string `json:"systemMessage"`
	Decision      string `json:"decision"` // block, approve; of Gemini allow, deny
	Reason        string `json:"reason"`
	Specific      struct {
		Decision  string                     `json:"permissionDecision"`
		Reason    string                     `json:"permissionDecisionReason"`
		Input     map[string]json.RawMessage `json:"updatedInput"`
		Context   string                     `json:"additionalContext"`
		Output    json.RawMessage            `json:"updatedToolOutput"`
		MCPOutput json.RawMessage            `json:"updatedMCPToolOutput"`
		Permit    *struct {
			Behavior string                     `json:"behavior"`
			Input    map[string]json.RawMessage `json:"updatedInput"`
			Message  string                     `json:"message"`
		} `json:"decision"` // of PermissionRequest
		ToolInput  map[string]json.RawMessage `json:"tool_input"`  // Gemini's
		ToolOutput json.RawMessage            `json:"tool_output"` // the same
	} `json:"hookSpecificOutput"`
	// Cursor's.
	Permission   string                     `json:"permission"`
	UserMessage  string                     `json:"user_message"`
	AgentMessage string                     `json:"agent_message"`
	FollowUp     string                     `json:"followup_message"`
	Context      string                     `json:"additional_context"`
	UpdatedInput map[string]json.RawMessage `json:"updated_input"`

	partial bool // Specific.Input has only what changes
}

// Read understands what a hook has said: its exit code, standard output and error. 0 is
// success, and standard output may be an object; 2 blocks, with standard error as the
// reason; any other is a failure that blocks nothing, which the person is told.
func (h *Hook) Read(exit int, stdout, stderr string) Outcome {
	switch exit {
	case 0:
	case 2:
		reason := cut(first(stderr, stdout, "a hook has blocked it: "+h.String()))
		if h.Event == SubagentStart && !h.program.flat { // only Cursor's can prevent an agent
			return h.failure("exit code 2: " + reason)
		}
		if h.program.unit == time.Millisecond && h.Event == PostToolUse { // Gemini's replaces the result
			return Outcome{Output: &reason}
		}
		return Outcome{Decision: Deny, Reason: reason}
	default:
		return h.failure(fmt.Sprintf("exit code %d: %s", exit, first(stderr, stdout, "it said nothing")))
	}
	stdout = strings.TrimSpace(stdout)
	if !strings.HasPrefix(stdout, "{") {
		if stdout != "" && (h.Event == UserPromptSubmit || h.Event == SessionStart || h.Event == SubagentStart) {
			return Outcome{Context: []string{cut(stdout)}}
		}
		return Outcome{}
	}
	var j answer
	if err := decode(stdout, &j); err != nil {
		return h.failure("its output is not what hooks write: " + prose.Line(err.Error()))
	}
	h.program.hear(h, &j)
	o := Outcome{Input: j.Specific.Input, Partial: j.partial && j.Specific.Input != nil, Reason: cut(first(j.Specific.Reason, j.Reason, ""))}
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
	for _, out := range []json.RawMessage{j.Specific.Output, j.Specific.MCPOutput} {
		if out == nil {
			continue
		}
		text := string(out)
		var plain string
		if json.Unmarshal(out, &plain) == nil {
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

// failure is the outcome of a hook that failed: the person is told, and nothing is blocked
// unless the hook wants that.
func (h *Hook) failure(why string) Outcome {
	o := Outcome{Told: []string{"the hook " + prose.Inline(h.String()) + " failed: " + prose.Short(prose.Inline(why), 300)}}
	if h.FailClosed {
		o.Decision, o.Reason = Deny, "a hook that must work failed: "+h.String()
	}
	return o
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
			o.Input, o.Partial = one.Input, one.Partial
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

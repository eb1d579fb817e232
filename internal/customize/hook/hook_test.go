package hook_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/customize/hook"
	"github.com/burin-dev/burin/internal/customize/source"
)

// discover finds the hooks of files below a folder: home/ and repo/.
func discover(t testing.TB, files map[string]string) (*hook.Set, []string, string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	home, repo := filepath.Join(dir, "home"), filepath.Join(dir, "repo")
	if err := os.MkdirAll(repo, 0o777); err != nil {
		t.Fatal(err)
	}
	set, warnings := hook.Discover(source.Options{Dir: repo, Root: repo, ConfigDir: filepath.Join(home, ".burin"), UserHome: home})
	for i := range warnings {
		warnings[i] = strings.ReplaceAll(warnings[i], dir+string(filepath.Separator), "")
	}
	return set, warnings, dir
}

func TestDiscover(t *testing.T) {
	set, warnings, _ := discover(t, map[string]string{
		"home/.burin/hooks.json": `{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "own"}]}]}}`,
		"repo/.claude/settings.json": `{"model": "opus", "hooks": {
  "PreToolUse": [{"matcher": "Edit|Write", "hooks": [
    {"type": "command", "command": " gofmt ", "timeout": 5},
    {"type": "prompt", "prompt": "Is it good?"},
    {"type": "command"},
    {"type": "http", "url": "https://hooks.example/x", "headers": {"Authorization": "Bearer $KEY ${OTHER}"}, "allowedEnvVars": ["KEY"]},
    {"type": "command", "command": "x", "timeout": 6000}
  ]}, {"matcher": "(", "hooks": [{"type": "command", "command": "x"}]}, {"matcher": "*", "hooks": []}],
  "PreTolUse": [],
  "TeammateIdle": [{"hooks": [{"type": "command", "command": "x"}]}],
  "Stop": {}
}}`,
		"home/.claude/settings.json": `{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "own"}, {"type": "command", "command": "theirs"}]}]}}`,
		"home/.codex/hooks.json":     `{"hooks": {"Stop": [}}`,
		"repo/.codex/hooks.json":     `{"disableAllHooks": true, "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "off"}]}]}}`,
	})
	want := []string{
		`repo/.claude/settings.json:4: PreToolUse: hooks that ask a model are not run: write a command`,
		`repo/.claude/settings.json:5: PreToolUse: the command is empty`,
		`repo/.claude/settings.json:7: PreToolUse: timeout: 6000 must be 0 to 600 seconds`,
		"repo/.claude/settings.json:8: PreToolUse: the matcher \"(\" is no regular expression: error parsing regexp: missing closing ): `^(?:()$`",
		`repo/.claude/settings.json:8: PreToolUse: {matcher, hooks} with a list of hooks is wanted`,
		`repo/.claude/settings.json:9: unknown event "PreTolUse"`,
		`repo/.claude/settings.json:11: Stop: a list of {matcher, hooks} is wanted`,
		`home/.codex/hooks.json:1: hooks are left out: invalid character '}' looking for beginning of value`,
	}
	for i := range warnings {
		warnings[i] = filepath.ToSlash(warnings[i])
	}
	if diff := cmp.Diff(want, warnings); diff != "" {
		t.Error(diff)
	}
	all := func(*hook.File) bool { return true }
	names := func(hooks []*hook.Hook) (out []string) {
		for _, h := range hooks {
			out = append(out, h.Owner+" "+h.String())
		}
		return out
	}
	if diff := cmp.Diff([]string{"burin, user Stop: own", "Claude Code, user Stop: theirs"}, names(set.For(hook.Stop, all))); diff != "" {
		t.Error(diff)
	}
	own := func(f *hook.File) bool { return f.Own }
	if diff := cmp.Diff([]string{"burin, user Stop: own"}, names(set.For(hook.Stop, own))); diff != "" {
		t.Error(diff)
	}
	before := set.For(hook.PreToolUse, all, "write")
	if diff := cmp.Diff([]string{"Claude Code, project PreToolUse Edit|Write: gofmt", "Claude Code, project PreToolUse Edit|Write: POST https://hooks.example/x"}, names(before)); diff != "" {
		t.Error(diff)
	}
	if got := before[1].Expand("Bearer $KEY ${OTHER}!", func(name string) string { return "v-" + name }); got != "Bearer v-KEY !" {
		t.Errorf("header %q", got)
	}
	if got := set.For(hook.PreToolUse, all, "bash"); got != nil {
		t.Errorf("bash is matched by %v", names(got))
	}
	if f := set.Files[1]; f.Item.Name != ".claude/settings.json" || !strings.HasSuffix(f.Project, "repo") || f.Own {
		t.Errorf("%+v", f)
	}
}

// Trust is for what runs: the sum follows it and nothing else of the file.
func TestSum(t *testing.T) {
	sum := func(text string) string {
		set, _, _ := discover(t, map[string]string{"repo/.claude/settings.json": text})
		return set.Files[0].Item.Sum
	}
	first := sum(`{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "a"}]}]}}`)
	if first != sum(`{"model": "x", "hooks": {"Stop": [{"matcher": "", "hooks": [{"command": "a", "type": "command"}]}]}}`) {
		t.Error("another model changes the sum")
	}
	for _, other := range []string{
		`{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "b"}]}]}}`,
		`{"hooks": {"SessionEnd": [{"hooks": [{"type": "command", "command": "a"}]}]}}`,
		`{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "a", "async": true}]}]}}`,
		`{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "a"}, {"type": "command", "command": "a"}]}]}}`,
	} {
		if first == sum(other) {
			t.Errorf("%s has the same sum", other)
		}
	}
}

func TestRead(t *testing.T) {
	set, _, _ := discover(t, map[string]string{"home/.burin/hooks.json": `{"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "x"}]}], "UserPromptSubmit": [{"hooks": [{"type": "command", "command": "x"}]}]}}`})
	all := func(*hook.File) bool { return true }
	call, prompt := set.For(hook.PreToolUse, all, "bash")[0], set.For(hook.UserPromptSubmit, all)[0]
	failed := func(why string) []string { return []string{"the hook PreToolUse: x failed: " + why} }
	for _, tt := range []struct {
		h              *hook.Hook
		exit           int
		stdout, stderr string
		want           hook.Outcome
	}{
		{call, 0, "", "", hook.Outcome{}},
		{call, 0, "all is well", "", hook.Outcome{}},
		{prompt, 0, "know this\n", "", hook.Outcome{Context: []string{"know this"}}},
		{call, 2, `{"decision": "approve"}`, "no\n", hook.Outcome{Decision: hook.Deny, Reason: "no"}},
		{call, 2, "", "", hook.Outcome{Decision: hook.Deny, Reason: "a hook has blocked it: PreToolUse: x"}},
		{call, 1, "", "a\x1b[31m\nb", hook.Outcome{Told: failed("exit code 1: a␛[31m b")}},
		{call, 0, `{"decision": "block"`, "", hook.Outcome{Told: failed("its output is not what hooks write: unexpected EOF")}},
		{call, 0, `{} {}`, "", hook.Outcome{Told: failed("its output is not what hooks write: there is more behind the object")}},
		{call, 0, `{"decision": "block", "reason": "old style"}`, "", hook.Outcome{Decision: hook.Deny, Reason: "old style"}},
		{call, 0, `{"decision": "approve"}`, "", hook.Outcome{Decision: hook.Allow}},
		{call, 0, `{"hookSpecificOutput": {"permissionDecision": "ask", "permissionDecisionReason": "look", "additionalContext": "c"}}`, "", hook.Outcome{Decision: hook.Ask, Reason: "look", Context: []string{"c"}}},
		{call, 0, `{"hookSpecificOutput": {"permissionDecision": "perhaps"}}`, "", hook.Outcome{}},
		{call, 0, `{"hookSpecificOutput": {"decision": {"behavior": "deny", "message": "m"}}}`, "", hook.Outcome{Decision: hook.Deny, Reason: "m"}},
		{call, 0, `{"continue": false, "stopReason": "enough", "systemMessage": "hello"}`, "", hook.Outcome{End: true, EndReason: "enough", Told: []string{"hello"}}},
	} {
		if diff := cmp.Diff(tt.want, tt.h.Read(tt.exit, tt.stdout, tt.stderr)); diff != "" {
			t.Errorf("%d %q %q: %s", tt.exit, tt.stdout, tt.stderr, diff)
		}
	}
	long := call.Read(2, "", strings.Repeat("ä", hook.MaxContext))
	if len(long.Reason) > hook.MaxContext {
		t.Errorf("%d bytes of a reason", len(long.Reason))
	}
	o := call.Read(0, `{"hookSpecificOutput": {"updatedToolOutput": "text", "updatedInput": {"a": 1}}}`, "")
	if o.Output == nil || *o.Output != "text" || string(o.Input["a"]) != "1" {
		t.Errorf("%+v", o)
	}
	strict := hook.Merge([]hook.Outcome{{Decision: hook.Allow}, {Decision: hook.Deny, Reason: "a"}, {Decision: hook.Ask, Reason: "b", Context: []string{"c"}}})
	if strict.Decision != hook.Deny || strict.Reason != "a" || len(strict.Context) != 1 {
		t.Errorf("%+v", strict)
	}
}

// A hook that writes back what it was told changes nothing; what it changes comes back
// under burin's names.
func TestRewritten(t *testing.T) {
	args := json.RawMessage(`{"path":"a.txt","content":"x"}`)
	set, _, _ := discover(t, map[string]string{"home/.burin/hooks.json": `{"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "x"}]}]}}`})
	h := set.For(hook.PreToolUse, func(*hook.File) bool { return true }, "write")[0]
	told := func(change func(map[string]any)) map[string]json.RawMessage {
		var all struct {
			Input map[string]any `json:"tool_input"`
		}
		text := h.Input(hook.Moment{}, hook.PreToolUse, hook.ToolFields("write", "1", "/repo", args, hook.Real{}))
		if err := json.Unmarshal(text, &all); err != nil {
			t.Fatal(err)
		}
		change(all.Input)
		back, err := json.Marshal(all.Input)
		if err != nil {
			t.Fatal(err)
		}
		var raw map[string]json.RawMessage
		if err := json.Unmarshal(back, &raw); err != nil {
			t.Fatal(err)
		}
		return raw
	}
	for name, tt := range map[string]struct {
		change func(map[string]any)
		want   string
	}{
		"nothing":         {func(map[string]any) {}, string(args)},
		"content":         {func(m map[string]any) { m["content"] = "y" }, `{"content":"y","path":"a.txt"}`},
		"their name":      {func(m map[string]any) { m["file_path"] = "/repo/b.txt" }, `{"content":"x","path":"/repo/b.txt"}`},
		"taken out":       {func(m map[string]any) { delete(m, "content") }, `{"path":"a.txt"}`},
		"their name gone": {func(m map[string]any) { delete(m, "file_path") }, string(args)},
	} {
		got, err := hook.Rewritten("write", "/repo", args, hook.Real{}, told(tt.change), false)
		if err != nil || string(got) != tt.want {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
}

// A hook is told of the file behind an address; one that writes that back changes nothing either.
func TestRewrittenAddress(t *testing.T) {
	for tool, args := range map[string]string{"read": `{"path":"skill://greet/a.txt"}`, "bash": `{"command":"cat skill://greet/a.txt"}`} {
		real := hook.Real{File: "/skills/greet/a.txt", Command: "cat /skills/greet/a.txt"}
		told, _ := hook.ToolFields(tool, "1", "/repo", json.RawMessage(args), real)["tool_input"].(map[string]json.RawMessage)
		if text := string(told["file_path"]) + string(told["command"]); !strings.Contains(text, "/skills/greet/a.txt") {
			t.Errorf("%s is told %s", tool, text)
		}
		got, err := hook.Rewritten(tool, "/repo", json.RawMessage(args), real, told, false)
		if err != nil || string(got) != args {
			t.Errorf("%s: %s, %v", tool, got, err)
		}
	}
}

// Hooks of Codex's config.toml, of Gemini and of Cursor are those of burin's moments; what has
// none is named with its line, and so are mistakes.
func TestPrograms(t *testing.T) {
	set, warnings, dir := discover(t, map[string]string{
		"repo/.codex/config.toml": `model = "x"
notify = ["notify-send"]

[[hooks.PreToolUse]]
matcher = "^(Bash|Edit)$"
[[hooks.PreToolUse.hooks]]
type = "command"
command = "codex-check"
timeout = 5

[[hooks.TeammateIdle]]
[[hooks.TeammateIdle.hooks]]
type = "command"
command = "never"

[[hooks.PreToolUs]]
[hooks.state."x"]
trusted_hash = "y"
`,
		"home/.codex/config.toml": "a = 1\nb = [\n",
		"repo/.gemini/settings.json": `{ // with comments
  "hooksConfig": {"disabled": ["unwanted"]},
  "hooks": {
    "BeforeTool": [{"matcher": "write|replace", "hooks": [
      {"name": "guard", "type": "command", "command": "gemini-guard", "timeout": 2500},
      {"name": "unwanted", "type": "command", "command": "no"},
      {"type": "command", "command": "x", "timeout": 700000},
    ]}],
    "AfterTool": [{"hooks": [{"type": "command", "command": "gemini-look"}]}],
    "BeforeModel": [{"hooks": [{"type": "command", "command": "never"}]}],
    "PreToolUse": []
  }
}`,
		"home/.gemini/settings.json": `{"hooks": {"enabled": false, "BeforeTool": [{"hooks": [{"type": "command", "command": "off"}]}]}}`,
		"repo/.cursor/hooks.json": `{"version": 1, "hooks": {
  "beforeShellExecution": [{"command": "cursor-shell", "matcher": "curl|wget"}, {"command": "cursor-all", "failClosed": true}, {"type": "prompt", "prompt": "?"}],
  "afterFileEdit": [{"command": "cursor-format", "timeout": 7}],
  "stop": {"command": "x"},
  "afterAgentThought": [{"command": "never"}]
}}`,
		"home/.cursor/hooks.json": `{"version": 1, "hooks": {"beforeSubmitPrompt": [{"command": "./cursor-prompt"}]}}`,
	})
	for i := range warnings {
		warnings[i] = filepath.ToSlash(warnings[i])
	}
	if diff := cmp.Diff([]string{
		`repo/.codex/config.toml:16: unknown event "PreToolUs"`,
		"home/.codex/config.toml:2: hooks are left out: unexpected EOF; expected value",
		`repo/.gemini/settings.json:7: BeforeTool: timeout: 700000 must be 0 to 600000 milliseconds`,
		`repo/.gemini/settings.json:11: unknown event "PreToolUse"`,
		`repo/.cursor/hooks.json:2: beforeShellExecution: hooks that ask a model are not run: write a command`,
		`repo/.cursor/hooks.json:4: stop: a list of {command} is wanted`,
	}, warnings); diff != "" {
		t.Error(diff)
	}
	var unmapped []string
	for _, u := range set.Unmapped {
		unmapped = append(unmapped, fmt.Sprintf("%s:%d: %s", filepath.Base(u.Path), u.Line, u.Event))
	}
	if diff := cmp.Diff([]string{"config.toml:11: TeammateIdle", "config.toml:2: notify", "settings.json:10: BeforeModel", "hooks.json:5: afterAgentThought"}, unmapped); diff != "" {
		t.Error(diff)
	}
	all := func(*hook.File) bool { return true }
	for _, tt := range []struct {
		event hook.Event
		tool  string
		want  []string
	}{
		{hook.PreToolUse, "bash", []string{"codex-check", "cursor-shell", "cursor-all"}},
		{hook.PreToolUse, "edit", []string{"codex-check", "gemini-guard"}},
		{hook.PreToolUse, "write", []string{"gemini-guard"}},
		{hook.PostToolUse, "write", []string{"gemini-look", "cursor-format"}},
		{hook.PostToolUseFailure, "bash", []string{"gemini-look"}},
		{hook.UserPromptSubmit, "", []string{"./cursor-prompt"}},
	} {
		var got []string
		for _, h := range set.For(tt.event, all, tt.tool) {
			got = append(got, h.Command)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s %s: %s", tt.event, tt.tool, diff)
		}
	}
	before := set.For(hook.PreToolUse, all, "bash")
	curl, ls := hook.ToolFields("bash", "1", "/repo", json.RawMessage(`{"command":"curl x"}`), hook.Real{}), hook.ToolFields("bash", "1", "/repo", json.RawMessage(`{"command":"ls"}`), hook.Real{})
	if shell := before[1]; !shell.Wants(curl) || shell.Wants(ls) || shell.Dir != filepath.Join(dir, "repo") {
		t.Errorf("%+v", shell)
	}
	if o := before[2].Read(1, "", ""); o.Decision != hook.Deny {
		t.Errorf("a hook that must work has failed, and the call runs: %+v", o)
	}
	if h := set.For(hook.UserPromptSubmit, all)[0]; h.Dir != filepath.Join(dir, "home", ".cursor") {
		t.Errorf("the user's hook runs in %s", h.Dir)
	}
	if h := set.For(hook.PreToolUse, all, "write")[0]; h.Timeout != 2500*time.Millisecond {
		t.Errorf("timeout %v", h.Timeout)
	}
}

// What hooks of other programs are told and answer is what they know from there. None of them
// allows what a person would be asked about.
func TestProgramsTalk(t *testing.T) {
	set, _, _ := discover(t, map[string]string{
		"repo/.gemini/settings.json": `{"hooks": {"BeforeTool": [{"hooks": [{"type": "command", "command": "g"}]}], "AfterTool": [{"hooks": [{"type": "command", "command": "g"}]}],
			"AfterAgent": [{"hooks": [{"type": "command", "command": "g"}]}], "PreCompress": [{"hooks": [{"type": "command", "command": "g"}]}]}}`,
		"repo/.cursor/hooks.json": `{"hooks": {"preToolUse": [{"command": "c"}], "afterShellExecution": [{"command": "c"}], "beforeReadFile": [{"command": "c"}],
			"beforeSubmitPrompt": [{"command": "c"}], "stop": [{"command": "c"}], "postToolUse": [{"command": "c"}], "sessionStart": [{"command": "c"}],
			"subagentStart": [{"command": "c", "matcher": "plor"}], "subagentStop": [{"command": "c"}]}}`,
	})
	call := hook.ToolFields("bash", "1", "/repo", json.RawMessage(`{"command":"ls"}`), hook.Real{})
	file := hook.ToolFields("read", "1", "/repo", json.RawMessage(`{"path":"a.txt"}`), hook.Real{})
	done := maps.Clone(call)
	done["tool_response"] = map[string]any{"content": "out", "is_error": false}
	text := "hidden"
	denied := hook.Outcome{Decision: hook.Deny, Reason: "no"}
	for _, tt := range []struct {
		as     string
		event  hook.Event
		fields map[string]any
		told   []string
		said   string
		want   hook.Outcome
	}{
		{"BeforeTool", hook.PreToolUse, call, []string{`"tool_name":"run_shell_command"`, `"hook_event_name":"BeforeTool"`, `"timestamp":`}, `{"decision": "deny", "reason": "no"}`, denied},
		{"BeforeTool", hook.PreToolUse, call, nil, `{"decision": "allow", "hookSpecificOutput": {"tool_input": {"command": "pwd"}}}`, hook.Outcome{Input: map[string]json.RawMessage{"command": json.RawMessage(`"pwd"`)}, Partial: true}},
		{"AfterTool", hook.PostToolUse, done, []string{`"llmContent":"out"`}, `{"decision": "deny", "reason": "hidden"}`, hook.Outcome{Output: &text, Reason: "hidden"}},
		{"AfterTool", hook.PostToolUse, done, nil, `{"hookSpecificOutput": {"tool_output": "hidden", "additionalContext": "c"}}`, hook.Outcome{Output: &text, Context: []string{"c"}}},
		{"AfterAgent", hook.Stop, map[string]any{"last_assistant_message": "bye"}, []string{`"prompt_response":"bye"`}, `{"decision": "block", "reason": "no"}`, denied},
		{"PreCompress", hook.PreCompact, nil, nil, `{"decision": "block", "reason": "no", "continue": false}`, hook.Outcome{Reason: "no"}},
		{"preToolUse", hook.PreToolUse, call, []string{`"tool_name":"Shell"`, `"conversation_id":"s"`, `"workspace_roots":["/repo"]`}, `{"permission": "deny", "agent_message": "no", "user_message": "u"}`, denied},
		{"preToolUse", hook.PreToolUse, call, nil, `{"permission": "allow"}`, hook.Outcome{}},
		{"preToolUse", hook.PreToolUse, call, nil, `{"permission": "ask", "user_message": "look", "updated_input": {"command": "pwd"}}`, hook.Outcome{Decision: hook.Ask, Reason: "look", Input: map[string]json.RawMessage{"command": json.RawMessage(`"pwd"`)}}},
		{"afterShellExecution", hook.PostToolUse, done, []string{`"command":"ls"`, `"output":"out"`}, `{}`, hook.Outcome{}},
		{"beforeReadFile", hook.PreToolUse, file, []string{`"file_path":"/repo/a.txt"`}, `{"permission": "deny", "user_message": "no"}`, denied},
		{"postToolUse", hook.PostToolUse, done, []string{`"tool_output":"out"`}, `{"additional_context": "c"}`, hook.Outcome{Context: []string{"c"}}},
		{"beforeSubmitPrompt", hook.UserPromptSubmit, map[string]any{"prompt": "p"}, []string{`"prompt":"p"`}, `{"continue": false, "user_message": "no"}`, denied},
		{"stop", hook.Stop, map[string]any{"times": 2}, []string{`"loop_count":2`, `"status":"completed"`}, `{"followup_message": "no"}`, denied},
		{"subagentStart", hook.SubagentStart, nil, []string{`"subagent_type":"explore"`, `"subagent_id":"finder"`, `"parent_conversation_id":"s"`}, `{"permission": "deny", "user_message": "no"}`, denied},
		{"subagentStop", hook.SubagentStop, map[string]any{"times": 2, "last_assistant_message": "bye"}, []string{`"agent_type":"explore"`, `"loop_count":2`, `"summary":"bye"`}, `{"followup_message": "no"}`, denied},
		{"sessionStart", hook.SessionStart, map[string]any{"source": "startup"}, nil, `{"additional_context": "c", "env": {"A": "b"}}`, hook.Outcome{Context: []string{"c"}}},
	} {
		var h *hook.Hook
		tool, _ := tt.fields["burin_tool"].(string)
		m := hook.Moment{Session: "s", Dir: "/repo"}
		if strings.HasPrefix(tt.as, "subagent") {
			tool, m.Agent, m.AgentType = "explore", "finder", "explore"
		}
		for _, other := range set.For(tt.event, func(*hook.File) bool { return true }, tool) {
			if other.As == tt.as || tt.as == "SessionStart" {
				h = other
			}
		}
		if h == nil {
			t.Errorf("%s is not a hook of %s", tt.as, tt.event)
			continue
		}
		told := string(h.Input(m, tt.event, tt.fields))
		for _, want := range tt.told {
			if !strings.Contains(told, want) {
				t.Errorf("%s is not told %s: %s", tt.as, want, told)
			}
		}
		if diff := cmp.Diff(tt.want, h.Read(0, tt.said, "")); diff != "" {
			t.Errorf("%s says %s: %s", tt.as, tt.said, diff)
		}
	}
}

func FuzzDiscover(f *testing.F) {
	for _, s := range []string{
		`{"hooks": {"Stop": [{"matcher": "a", "hooks": [{"type": "command", "command": "x"}]}]}}`, `{"hooks": {"Stop": [[]]}}`, `{"hooks": 1}`, "",
		"[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = 'command'\ncommand = 'x'", `{"hooks": {"stop": [{"command": "x"}], "BeforeTool": [{"hooks": [{"type": "command", "command": "x"}]}]}}`,
		`{"command": "x", "permission": "deny", "hookSpecificOutput": {"tool_input": {}}}`,
	} {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, text, said string) {
		set, _, _ := discover(t, map[string]string{
			"repo/.claude/settings.json": text, "repo/.codex/config.toml": text, "repo/.gemini/settings.json": text, "repo/.cursor/hooks.json": text,
		})
		fields := hook.ToolFields("bash", "1", "/repo", json.RawMessage(said), hook.Real{})
		for _, e := range hook.Events() {
			for _, h := range set.For(e, func(*hook.File) bool { return true }, "bash") {
				h.Wants(fields)
				h.Input(hook.Moment{}, e, fields)
				h.Read(0, said, said)
				h.Expand(said, func(string) string { return "" })
			}
		}
	})
}

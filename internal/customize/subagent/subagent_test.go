package subagent_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/customize/source"
	"github.com/burin-dev/burin/internal/customize/subagent"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/tool"
)

// place is a home folder and a project with files.
func place(t *testing.T, files map[string]string) source.Options {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	repo := filepath.Join(dir, "repo")
	return source.Options{Dir: filepath.Join(repo, "sub"), Root: repo, ConfigDir: filepath.Join(dir, "config"), UserHome: filepath.Join(dir, "home")}
}

// one is the agent of a set that has only one file.
func one(t *testing.T, file, text string) (*subagent.Definition, []string) {
	t.Helper()
	set, warnings := subagent.Discover(place(t, map[string]string{file: text}))
	if len(set.List()) != 1 {
		t.Fatalf("%s: %d agents; %q", file, len(set.List()), warnings)
	}
	return set.List()[0], warnings
}

func names(all []*subagent.Definition) string {
	var names []string
	for _, d := range all {
		names = append(names, d.Name)
	}
	return strings.Join(names, " ")
}

func TestBundled(t *testing.T) {
	set := (&subagent.Set{}).WithBundled()
	if got, want := names(set.All()), "checker designer explore librarian oracle plan quick_task review task"; got != want {
		t.Fatalf("bundled: %s; want %s", got, want)
	}
	reads := []string{"read", "grep", "find", "ls", "web_search"}
	for _, c := range []struct {
		name     string
		models   []string
		thinking llm.Level
		tools    []string
		spawns   []string
		blocking bool
		requests int
	}{
		{name: "explore", models: []string{"burin/smol"}, thinking: llm.LevelMedium, tools: reads, requests: 40},
		{name: "plan", models: []string{"burin/plan", "burin/slow"}, thinking: llm.LevelHigh, tools: []string{"read", "grep", "find", "ls", "fetch", "web_search"}, spawns: []string{"explore"}},
		{name: "checker", thinking: llm.LevelMedium, tools: []string{"read", "grep", "find", "ls", "bash"}, blocking: true, requests: 40},
		{name: "designer", models: []string{"burin/designer"}, thinking: llm.LevelMedium},
		{name: "review", models: []string{"burin/slow"}, thinking: llm.LevelHigh, tools: []string{"read", "grep", "find", "ls", "bash", "fetch", "web_search"}, spawns: []string{"explore"}, blocking: true},
		{name: "librarian", models: []string{"burin/smol"}, thinking: llm.LevelMinimal, tools: []string{"read", "grep", "find", "ls", "bash", "fetch", "web_search"}},
		{name: "quick_task", models: []string{"burin/smol"}, thinking: llm.LevelMinimal, requests: 40},
		{name: "task", thinking: llm.LevelMedium, spawns: []string{"*"}},
		{name: "oracle", models: []string{"burin/slow"}, thinking: llm.LevelXHigh, tools: []string{"read", "grep", "find", "ls", "fetch", "web_search"}, spawns: []string{"explore"}, blocking: true},
	} {
		d, ok := set.Get(c.name)
		if !ok {
			t.Errorf("no %s", c.name)
			continue
		}
		if d.Description == "" || len(d.Prompt) < 200 || !d.Bundled() || d.Project {
			t.Errorf("%s: %+v", c.name, d)
		}
		got := []any{d.Models, d.Thinking, d.Tools, d.Spawns, d.Blocking, d.Requests}
		if diff := cmp.Diff([]any{c.models, c.thinking, c.tools, c.spawns, c.blocking, c.requests}, got); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
		if text, ok := subagent.BundledText(c.name); !ok || !strings.Contains(text, d.Prompt) {
			t.Errorf("%s: its file is %q", c.name, text)
		}
	}
	for alias, name := range map[string]string{"reviewer": "review", "general-purpose": "task", "general": "task", "Explore": "explore"} {
		if d, ok := set.Get(alias); !ok || d.Name != name {
			t.Errorf("%s is %v", alias, d)
		}
	}
}

func TestReviewIsTyped(t *testing.T) {
	d, _ := (&subagent.Set{}).WithBundled().Get("reviewer")
	result := tool.Tool{Name: "result", Parameters: d.Output}
	if strings.Contains(string(d.Output), "null") { // a comma in a text that isn't quoted
		t.Errorf("its schema is %s", d.Output)
	}
	for args, valid := range map[string]bool{
		`{"verdict": "approve", "summary": "Fine.", "findings": []}`: true,
		`{"verdict": "request_changes", "summary": "Bad.", "findings": [{"file": "a.go", "line": 3, "severity": "P0", "confidence": 0.9, "title": "t", "body": "b"}]}`: true,
		`{"verdict": "comment", "summary": "x", "findings": [{"file": "a.go", "line": 3, "severity": "P5", "confidence": 0.9, "title": "t", "body": "b"}]}`:            false,
		`{"verdict": "comment", "summary": "x", "findings": [{"file": "a.go", "line": 3, "severity": "P1", "confidence": 2, "title": "t", "body": "b"}]}`:              false,
		`{"summary": "x", "findings": []}`: false,
	} {
		if _, err := result.Validate(llm.ToolCall{Name: "result", Arguments: args}); (err == nil) != valid {
			t.Errorf("%s: %v", args, err)
		}
	}
}

func yes() *bool { b := true; return &b }

func TestDiscoverFormats(t *testing.T) {
	const head, body = "---\n", "---\nYou are it.\n"
	readers := []string{"read", "grep", "find", "ls", "fetch", "web_search"}
	for _, c := range []struct {
		name, file, text string
		want             subagent.Definition
	}{
		{"burin", "config/agents/db.md", head + "description: Looks at databases\ntools: [read, bash]\nspawns: explore, plan\nmodel: burin/smol, anthropic/claude-x:high\nthinking: low\nblocking: true\nskills: [sql]\nrequests: 12\nisolated: true\n" + body, subagent.Definition{
			Name: "db", Description: "Looks at databases", Tools: []string{"read", "bash"}, Spawns: []string{"explore", "plan"},
			Models: []string{"burin/smol", "anthropic/claude-x:high"}, Thinking: llm.LevelLow, Blocking: true, Skills: []string{"sql"}, Requests: 12, Isolated: yes(), Source: "burin, user",
		}},
		{"burin in folders", "repo/.burin/agents/team/x.md", head + "description: d\n" + body, subagent.Definition{Name: "x", Description: "d", Source: "burin, project", Project: true}},
		{"Claude Code", "repo/.claude/agents/rev.md", head + "name: code-reviewer\ndescription: |\n  Reviews code.\n  Use it often.\ntools: Read, Grep, Glob, Bash, TodoWrite\nmodel: haiku\neffort: max\nskills:\n  - a\n  - b\nmaxTurns: 5\nisolation: worktree\ncolor: red\n" + body, subagent.Definition{
			Name: "code-reviewer", Description: "Reviews code. Use it often.", Tools: []string{"read", "grep", "find", "bash"}, Models: []string{"haiku", "burin/smol"},
			Thinking: llm.LevelXHigh, Skills: []string{"a", "b"}, Requests: 5, Isolated: yes(), Source: "Claude Code, project", Project: true,
		}},
		{"Claude Code, inherit", "home/.claude/agents/a.md", head + "name: a\ndescription: d\nmodel: inherit\n" + body, subagent.Definition{Name: "a", Description: "d", Source: "Claude Code, user"}},
		{"Claude Code, some agents", "home/.claude/agents/a.md", head + "name: a\ndescription: d\ntools: Read, Agent(worker, researcher)\n" + body, subagent.Definition{
			Name: "a", Description: "d", Tools: []string{"read", "task"}, Spawns: []string{"worker", "researcher"}, Source: "Claude Code, user",
		}},
		{"Claude Code, disallowed", "home/.claude/agents/a.md", head + "name: a\ndescription: d\ntools: Read, Write, Edit\ndisallowedTools: Write, Edit\n" + body, subagent.Definition{Name: "a", Description: "d", Tools: []string{"read"}, Source: "Claude Code, user"}},
		{"opencode", "repo/.opencode/agent/docs.md", head + "name: other\ndescription: Writes docs\nmode: subagent\nmodel: anthropic/claude-sonnet-4\ntemperature: 0.1\ntools:\n  write: false\n  edit: false\n  bash: false\n  ask: false\n" + body, subagent.Definition{
			Name: "docs", Description: "Writes docs", Models: []string{"anthropic/claude-sonnet-4"},
			Tools: append(slices.Clone(readers), "job_list", "job_poll", "job_kill", "calc", "history", "task"), Spawns: []string{"*"}, Source: "opencode, project", Project: true,
		}},
		{"opencode, only some", "home/.config/opencode/agents/a.md", head + "description: d\ntools: {\"*\": false, read: true, webfetch: true}\n" + body, subagent.Definition{
			Name: "a", Description: "d", Tools: []string{"read", "fetch"}, Source: "opencode, user",
		}},
		{"opencode, permissions", "home/.config/opencode/agents/a.md", head + "description: d\npermission:\n  edit: deny\n  bash:\n    \"*\": deny\n  webfetch: ask\n  task: deny\n" + body, subagent.Definition{
			Name: "a", Description: "d", Tools: append(slices.Clone(readers), "job_list", "job_poll", "job_kill", "ask", "calc", "history"), Source: "opencode, user",
		}},
		{"opencode, for the person", "home/.config/opencode/agent/a.md", head + "description: d\nmode: primary\n" + body, subagent.Definition{
			Name: "a", Description: "d", Source: "opencode, user", Off: "it is a mode for the person (mode: primary), not an agent for tasks",
		}},
		{"pi family", "home/.omp/agent/agents/scout.md", head + "name: scout\ndescription: Scouts\ntools: [read, search, task, yield]\nmodel:\n  - pi/smol\n  - gpt-5\nthinking-level: minimal\nautoloadSkills: perf\nblocking: true\nreadSummarize: false\n" + body, subagent.Definition{
			Name: "scout", Description: "Scouts", Tools: []string{"read", "grep", "find", "task"}, Spawns: []string{"*"}, Models: []string{"pi/smol", "gpt-5"},
			Thinking: llm.LevelMinimal, Skills: []string{"perf"}, Blocking: true, Source: "oh-my-pi, user",
		}},
		{"Codex", "repo/.codex/agents/sec.toml", "name = \"security\"\ndescription = \"Finds holes\"\ndeveloper_instructions = \"\"\"\nYou are it.\n\"\"\"\nmodel = \"gpt-5\"\nmodel_reasoning_effort = \"high\"\nsandbox_mode = \"read-only\"\n[mcp_servers.x]\ncommand = \"y\"\n", subagent.Definition{
			Name: "security", Description: "Finds holes", Models: []string{"gpt-5"}, Thinking: llm.LevelHigh, Tools: readers, Source: "Codex, project", Project: true,
		}},
		{"Gemini", "repo/.gemini/agents/a.md", head + "name: a\ndescription: d\nkind: local\ntools:\n  - read_file\n  - grep_search\n  - run_shell_command\nmodel: gemini-3-pro\nmax_turns: 10\n" + body, subagent.Definition{
			Name: "a", Description: "d", Tools: []string{"read", "grep", "bash"}, Models: []string{"gemini-3-pro"}, Requests: 10, Source: "Gemini, project", Project: true,
		}},
		{"Cursor", "repo/.cursor/agents/a.md", head + "name: a\ndescription: d\nmodel: fast\nreadonly: true\n" + body, subagent.Definition{Name: "a", Description: "d", Models: []string{"burin/smol"}, Tools: readers, Source: "Cursor, project", Project: true}},
		{"Copilot", "repo/.github/agents/planner.agent.md", head + "description: d\ntools: ['search/codebase', 'fetch', 'mcp__x__y']\nmodel: Claude Sonnet 4.5 (copilot)\nagents: []\n" + body, subagent.Definition{
			Name: "planner", Description: "d", Tools: []string{"grep", "find", "fetch", "mcp__x__y"}, Models: []string{"claude-sonnet-4.5"}, Source: "Copilot, project", Project: true,
		}},
		{"Copilot, chat modes", "repo/.github/chatmodes/q.chatmode.md", head + "description: d\n" + body, subagent.Definition{Name: "q", Description: "d", Source: "Copilot, project", Project: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, warnings := one(t, c.file, c.text)
			if len(warnings) > 0 {
				t.Errorf("warnings: %q", warnings)
			}
			if got.Prompt != "You are it." || !strings.HasSuffix(filepath.ToSlash(got.Path), c.file) || got.Project != (got.Sum != "") || got.Project != (got.Repository != "") || got.Project == got.Trusted {
				t.Errorf("prompt, path, sum, repository: %q, %q, %q, %q", got.Prompt, got.Path, got.Sum, got.Repository)
			}
			d := *got
			d.Prompt, d.Path, d.Sum, d.Repository, d.Trusted = "", "", "", "", false
			if len(d.Spawns) == 0 {
				d.Spawns = nil
			}
			if diff := cmp.Diff(c.want, d, cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".known" }, cmp.Ignore())); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestOutput(t *testing.T) {
	for _, c := range []struct{ name, output, want string }{
		{"a JSON schema", "output:\n  type: object\n  properties:\n    n: {type: integer}\n", `{"type": "object", "properties": {"n": {"type": "integer"}}}`},
		{"a JSON schema as JSON", `output: {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}` + "\n", `{"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}`},
		{"JSON over lines", "output: {\n  \"type\": \"object\", \"properties\": {}\n  }\n", `{"type": "object", "properties": {}}`},
		{"no object", "output:\n  type: array\n  items: {type: string}\n", `{"type": "object", "properties": {"result": {"type": "array", "items": {"type": "string"}}}, "required": ["result"], "additionalProperties": false}`},
		{"a type definition", `output:
  properties:
    summary:
      metadata: {description: what was found}
      type: string
    files:
      elements:
        properties:
          path: {type: string}
          line: {type: uint32}
    kind: {enum: [a, b]}
    when: {type: timestamp, nullable: true}
  optionalProperties:
    more: {values: {type: float64}}
    any: {}
`, `{"type": "object", "additionalProperties": false, "required": ["files", "kind", "summary", "when"], "properties": {
			"summary": {"type": "string", "description": "what was found"},
			"files": {"type": "array", "items": {"type": "object", "additionalProperties": false, "required": ["line", "path"], "properties": {"path": {"type": "string"}, "line": {"type": "integer"}}}},
			"kind": {"type": "string", "enum": ["a", "b"]},
			"when": {"anyOf": [{"type": "string", "format": "date-time"}, {"type": "null"}]},
			"more": {"type": "object", "additionalProperties": {"type": "number"}}, "any": {}}}`},
		{"references and choices", `output:
  definitions:
    dot: {properties: {x: {type: int8}}}
  elements:
    discriminator: kind
    mapping:
      point: {properties: {at: {ref: dot}}}
`, `{"type": "object", "additionalProperties": false, "required": ["result"], "properties": {"result": {"type": "array", "items": {"oneOf": [
			{"type": "object", "additionalProperties": false, "required": ["kind", "at"], "properties": {"kind": {"const": "point"}, "at": {"type": "object", "additionalProperties": false, "required": ["x"], "properties": {"x": {"type": "integer"}}}}}]}}}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, warnings := one(t, "config/agents/a.md", "---\ndescription: d\n"+c.output+"---\nx\n")
			if len(warnings) > 0 {
				t.Fatal(warnings)
			}
			var got, want any
			if err := json.Unmarshal(d.Output, &got); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal([]byte(c.want), &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWarnings(t *testing.T) {
	for _, c := range []struct{ file, text, want string }{
		{"config/agents/a.md", "Some text.\n", "a.md: left out: it doesn't begin with lines of --- around a description; write what the agent does and when to use it"},
		{"config/agents/a.md", "---\nname: a\n---\nx\n", "a.md: left out: no description; write what the agent does and when to use it"},
		{"config/agents/a.md", "---\ndescription: d\n---\n\n", "a.md: left out: it has no text below its head; write what the agent must know of its part"},
		{"config/agents/a.md", "---\nname: a b\ndescription: d\n---\nx\n", "a.md: left out: the name a b can't be used; use letters, digits, dots, hyphens and underscores, at most 64"},
		{"repo/.codex/agents/a.toml", "name = \n", "a.toml: left out: line 1: "},
		{"repo/.codex/agents/a.toml", "name = \"a\"\ndescription = \"d\"\n", "a.toml: left out: no developer_instructions; write what the agent must know of its part"},
		{"config/agents/a.md", "---\ndescription: d\ntools: read, lsp, ast_grep\n---\nx\n", "a.md:3: unknown tools: lsp, ast_grep"},
		{"config/agents/a.md", "---\ndescription: d\ntools: Bash(git:*)\n---\nx\n", "a.md:3: Bash(git:*): limits of a tool are not taken over; burin asks before calls, as your rules have it"},
		{"config/agents/a.md", "---\ndescription: d\nthinking: much\n---\nx\n", `a.md:3: unknown thinking level "much" (want off, minimal, low, medium, high or xhigh)`},
		{"config/agents/a.md", "---\ndescription: d\nrequests: -1\n---\nx\n", "a.md:3: requests must be a number from 1 to 10000"},
		{"config/agents/a.md", "---\ndescription: d\nisolated: maybe\n---\nx\n", "a.md:3: isolated must be true or false"},
		{"config/agents/a.md", "---\ndescription: d\nblocking: 7\n---\nx\n", "a.md:3: blocking must be true or false"},
		{"config/agents/a.md", "---\ndescription: d\nreadonly: yes\n---\nx\n", "a.md:3: readonly must be true or false"},
		{"config/agents/a.md", "---\ndescription: d\noutput: &a [*a]\n---\nx\n", "a.md:3: output is not used: anchors and aliases are not read"},
		{"config/agents/a.md", "---\ndescription: d\noutput: [\n---\nx\n", "a.md:3: output is not used: it is not valid YAML"},
		{"config/agents/a.md", "---\ndescription: d\noutput: text\n---\nx\n", "a.md:3: output is not used: it is not a mapping of names to values"},
		{"config/agents/a.md", "---\ndescription: d\noutput: {elements: {ref: x}, definitions: {x: {elements: {ref: x}}}}\n---\nx\n", "a.md:3: output is not used: it is nested more than 32 levels, or refers to itself"},
		{"config/agents/a.md", "---\ndescription: d\noutput: {elements: {type: color}}\n---\nx\n", `a.md:3: output is not used: unknown type "color"`},
		{"config/agents/a.md", "---\ndescription: d\nacp: bin/agent --acp\n---\nx\n", "a.md: left out: acp: write bin/agent as a name in PATH or as an absolute path"},
		{"config/agents/a.md", "---\ndescription: d\nacp: []\n---\nx\n", "a.md: left out: acp names no program; write the command of an agent that speaks the Agent Client Protocol"},
		{"config/agents/a.md", "---\ndescription: d\nacp: agent\nacpEnv: [=x]\n---\nx\n", `a.md:4: acpEnv: want NAME or NAME=VALUE, not "=x"`},
		{"repo/.claude/agents/a.md", "---\ndescription: d\nacp: agent\n---\nx\n", "a.md:3: acp counts only in burin's own folders of agents"},
		{"config/agents/a.md", "---\ndescription: d" + strings.Repeat("d", 1024) + "\n---\nx\n", "a.md:2: the description has more than 1024 characters and is cut"},
	} {
		_, warnings := subagent.Discover(place(t, map[string]string{c.file: c.text}))
		if len(warnings) != 1 || !strings.Contains(warnings[0], string(filepath.Separator)+c.want) {
			t.Errorf("%q: %q; want %q", c.text, warnings, c.want)
		}
	}
}

func TestPrecedence(t *testing.T) {
	agent := func(name string) string { return "---\nname: " + name + "\ndescription: d\n---\nx\n" }
	o := place(t, map[string]string{
		"config/agents/a.md":              agent("a"),
		"repo/.burin/agents/a.md":         agent("a"),
		"repo/sub/.claude/agents/a.md":    agent("a"),
		"repo/sub/.claude/agents/b.md":    agent("b"),
		"repo/.claude/agents/b.md":        agent("b"),
		"home/.claude/agents/b.md":        agent("b"),
		"home/.claude/agents/explore.md":  agent("explore"),
		"home/.claude/agents/reviewer.md": agent("reviewer"),
		"home/.claude/agents/general.md":  agent("general"),
	})
	found, warnings := subagent.Discover(o)
	set := found.WithBundled()
	if len(warnings) > 0 {
		t.Error(warnings)
	}
	if got, want := names(set.All()), "a b explore general reviewer checker designer librarian oracle plan quick_task task"; got != want {
		t.Errorf("got %s; want %s", got, want)
	}
	from := func(s *subagent.Set, name string) string {
		d, ok := s.Get(name)
		if !ok {
			return "none"
		}
		if d.Bundled() {
			return d.Source
		}
		rel, err := filepath.Rel(filepath.Dir(o.Root), d.Path)
		if err != nil {
			t.Fatal(err)
		}
		return filepath.ToSlash(rel)
	}
	for name, want := range map[string]string{
		"a": "repo/.burin/agents/a.md", "b": "repo/sub/.claude/agents/b.md", "explore": "home/.claude/agents/explore.md",
		"review": "none", "reviewer": "home/.claude/agents/reviewer.md", "general-purpose": "burin, bundled", "general": "home/.claude/agents/general.md",
	} {
		if got := from(set, name); got != want {
			t.Errorf("%s is from %s; want %s", name, got, want)
		}
	}
	// What is off leaves its name to the next.
	ours := set.Edit(func(d *subagent.Definition) {
		if !d.Trusted {
			d.Off = "not trusted"
		}
	})
	if got, want := from(ours, "a")+" "+from(ours, "b"), "config/agents/a.md home/.claude/agents/b.md"; got != want {
		t.Errorf("without the project: %s; want %s", got, want)
	}
	if len(ours.List()) != len(set.List()) || from(set, "a") != "repo/.burin/agents/a.md" {
		t.Error("a decision changes the set it is made of, or forgets what is off")
	}
	shadowed := 0
	for _, d := range set.List() {
		if d.ShadowedBy != "" {
			shadowed++
		}
	}
	if shadowed != 6 { // a, a, b, b and the bundled explore and review
		t.Errorf("%d are shadowed", shadowed)
	}
	if got := strings.Join(set.Near("explroe"), " ") + "," + strings.Join(set.Near("qwertz"), " "); got != "explore," {
		t.Errorf("near: %s", got)
	}
}

func TestLimits(t *testing.T) {
	files := map[string]string{"repo/.burin/agents/big.md": strings.Repeat("x", subagent.MaxFile+1), "repo/.burin/agents/zero.md": "---\ndescription: \x00\n---\n"}
	for i := range subagent.MaxAgents {
		files["repo/.burin/agents/n"+strings.Repeat("x", i/10)+string(rune('0'+i%10))+".md"] = "---\ndescription: d\n---\nx\n"
	}
	set, warnings := subagent.Discover(place(t, files))
	if n := len(set.All()); n > subagent.MaxAgents || n < subagent.MaxAgents-60 {
		t.Errorf("%d agents", n)
	}
	if !slices.ContainsFunc(warnings, func(w string) bool { return strings.Contains(w, "left out with all that follow: 300 files") }) ||
		!slices.ContainsFunc(warnings, func(w string) bool { return strings.Contains(w, "big.md: left out: it is larger than 256 KB") }) {
		t.Errorf("warnings: %q", warnings)
	}
}

// A repository's link can't bring in what the person has elsewhere.
func TestLinkOutIsRefused(t *testing.T) {
	o := place(t, map[string]string{"repo/.burin/agents/a.md": "---\ndescription: d\n---\nx\n", "home/secret.md": "---\ndescription: s\n---\nx\n"})
	if err := os.Symlink(filepath.Join(o.UserHome, "secret.md"), filepath.Join(o.Root, ".burin", "agents", "b.md")); err != nil {
		t.Skip(err)
	}
	set, warnings := subagent.Discover(o)
	if got := names(set.All()); got != "a" || len(warnings) != 1 || !strings.Contains(warnings[0], "leads out") {
		t.Errorf("%s, %q", got, warnings)
	}
}

// Whatever a file says: nothing panics, and what comes out can be used.
func FuzzDiscover(f *testing.F) {
	f.Add("---\nname: a\ndescription: d\ntools: {\"*\": false, read: true}\noutput: {elements: {ref: x}}\npermission: {edit: deny}\n---\nx\n")
	f.Add("---\ndescription: |\n  x\ntools: Read, Task(a, b), Bash(x)\nmodel: [a, b]\noutput:\n  discriminator: k\n  mapping: {a: {properties: {x: {type: string}}}}\n---\nx\n")
	dir := f.TempDir()
	file := filepath.Join(dir, "agents", "a.md")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		set, _ := subagent.Discover(source.Options{ConfigDir: dir})
		for _, d := range set.All() {
			if d.Name == "" || d.Description == "" || d.Prompt == "" || d.Output != nil && !json.Valid(d.Output) || strings.ContainsAny(d.Description, "\n\x1b") {
				t.Errorf("%q gives %+v", text, d)
			}
		}
	})
}

package subagent

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/burin-dev/burin/internal/customize/front"
	"github.com/burin-dev/burin/internal/customize/source"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
)

// fault is what was not understood.
type fault struct {
	line int
	text string
}

// document is what a file says.
type document struct {
	source string // whose format it is
	named  string // the file, without its ending

	name, description, prompt string
	tools                     choice
	spawns, models, skills    []string
	spawnsSet                 bool
	thinking                  llm.Level
	output                    json.RawMessage
	blocking                  bool
	requests                  int
	isolated                  *bool
	acp, acpEnv               []string
	off                       string

	faults  []fault
	refusal string // why it cannot be used; "" is that it can
}

func (d *document) fault(line int, format string, args ...any) {
	d.faults = append(d.faults, fault{line, fmt.Sprintf(format, args...)})
}

// key is one key of a head.
type key struct {
	front.Entry
	name  string // lower case, without hyphens and underscores
	line  int    // in the file
	block string // the key with all that stands below it
}

// markdown reads a file with a head.
func (d *document) markdown(text string) {
	head, body := front.Split(text)
	d.prompt, d.tools.all = strings.TrimSpace(body), true
	entries, lines := front.Entries(head), strings.SplitAfter(head, "\n")
	for i, e := range entries {
		end := len(lines)
		if i+1 < len(entries) {
			end = entries[i+1].Line - 1
		}
		name := strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(e.Key))
		d.set(key{Entry: e, name: name, line: e.Line + 1, block: strings.Join(lines[e.Line-1:end], "")})
	}
	switch {
	case d.refusal != "":
	case head == "":
		d.refusal = "it doesn't begin with lines of --- around a description; write what the agent does and when to use it"
	case d.description == "":
		d.refusal = "no description; write what the agent does and when to use it"
	case d.prompt == "":
		d.refusal = "it has no text below its head; write what the agent must know of its part"
	}
}

// codex reads a file of Codex.
func (d *document) codex(text string) {
	var file struct {
		Name, Description, Model string
		Instructions             string `toml:"developer_instructions"`
		Effort                   string `toml:"model_reasoning_effort"`
		Sandbox                  string `toml:"sandbox_mode"`
	}
	if line, err := source.DecodeTOML(text, &file); err != nil {
		d.refusal = fmt.Sprintf("line %d: %v", line, err)
		return
	}
	d.tools.all = file.Sandbox != "read-only"
	d.tools.some = readers()
	d.name, d.description, d.prompt = file.Name, prose.Plain(file.Description, MaxDescription), strings.TrimSpace(file.Instructions)
	if file.Model != "" {
		d.models = []string{prose.Inline(file.Model)}
	}
	d.think(1, file.Effort)
	switch {
	case d.description == "":
		d.refusal = "no description; write what the agent does and when to use it"
	case d.prompt == "":
		d.refusal = "no developer_instructions; write what the agent must know of its part"
	}
}

func (d *document) set(k key) {
	switch k.name {
	case "name":
		d.name = strings.TrimSpace(k.Text())
	case "description":
		if d.description = strings.TrimSpace(k.Raw + " " + strings.Join(k.Items, " ")); utf8.RuneCountInString(d.description) > MaxDescription {
			d.fault(k.line, "the description has more than %d characters and is cut", MaxDescription)
		}
		d.description = prose.Plain(d.description, MaxDescription)
	case "tools":
		d.list(k)
	case "disallowedtools":
		for _, name := range k.List() {
			d.forbid(name)
		}
	case "permission":
		d.permission(k)
	case "readonly":
		if on, ok := d.flag(k); ok && on {
			d.tools = choice{some: readers()}
		}
	case "spawns", "agents":
		d.spawns, d.spawnsSet = k.List(), true
	case "model":
		d.model(k)
	case "thinkinglevel", "thinking", "effort", "reasoningeffort":
		d.think(k.line, k.Raw)
	case "output":
		d.result(k)
	case "blocking":
		d.blocking, _ = d.flag(k)
	case "skills", "autoloadskills":
		d.skills = k.List()
	case "requests", "maxturns", "steps", "maxsteps":
		n, err := strconv.Atoi(strings.TrimSpace(k.Raw))
		if err != nil || n < 1 || n > 10_000 {
			d.fault(k.line, "%s must be a number from 1 to 10000", k.Key)
			return
		}
		d.requests = n
	case "isolated":
		if on, ok := d.flag(k); ok {
			d.isolated = &on
		}
	case "isolation": // Claude Code: worktree
		on := k.Raw != "" && !strings.EqualFold(k.Raw, "none")
		d.isolated = &on
	case "acp":
		d.program(k)
	case "acpenv":
		for _, v := range k.List() {
			if name, _, _ := strings.Cut(v, "="); strings.TrimSpace(name) == "" {
				d.fault(k.line, "%s: want NAME or NAME=VALUE, not %q", k.Key, prose.Short(v, 60))
				continue
			}
			d.acpEnv = append(d.acpEnv, v)
		}
	default:
		d.leave(k)
	}
}

// program reads the command of another agent: words, or a list where they hold spaces.
func (d *document) program(k key) {
	words := k.Items
	if s := strings.TrimSpace(k.Raw); len(words) == 0 && strings.HasPrefix(s, "[") {
		words = k.List()
	} else if len(words) == 0 {
		words = strings.Fields(s)
	}
	switch {
	case d.source != "burin":
		d.fault(k.line, "%s counts only in burin's own folders of agents", k.Key)
	case len(words) == 0:
		d.refusal = k.Key + " names no program; write the command of an agent that speaks the Agent Client Protocol"
	case strings.ContainsAny(words[0], `/\`) && !filepath.IsAbs(words[0]) && !strings.HasPrefix(words[0], "~/"):
		// From the folder of the session it would be whatever a repository has there.
		d.refusal = fmt.Sprintf("%s: write %s as a name in PATH or as an absolute path", k.Key, prose.Short(words[0], 60))
	default:
		d.acp = words
	}
}

// leave reads the keys with which other programs say that an agent is none for tasks.
func (d *document) leave(k key) {
	on := truth(k.Raw)
	switch {
	case k.name == "mode" && strings.EqualFold(k.Raw, "primary"):
		d.off = "it is a mode for the person (mode: primary), not an agent for tasks"
	case k.name == "kind" && strings.EqualFold(k.Raw, "remote"):
		d.off = "it runs on a server (kind: remote)"
	case (k.name == "disable" || k.name == "disabled") && on:
		d.off = "its file says " + k.Key
	case k.name == "disablemodelinvocation" && on:
		d.off = "only a person may start it (disable-model-invocation)"
	}
}

// flag reads true or false; ok is false for anything else, which is a fault.
func (d *document) flag(k key) (on, ok bool) {
	on = truth(k.Raw)
	if ok = on || strings.EqualFold(strings.TrimSpace(k.Raw), "false"); !ok {
		d.fault(k.line, "%s must be true or false", k.Key)
	}
	return on, ok
}

func truth(s string) bool { return strings.EqualFold(strings.TrimSpace(s), "true") }

// list reads the tools: a list, or opencode's mapping of names to true and false.
func (d *document) list(k key) {
	var on map[string]bool
	if len(k.Items) == 0 && decode(k.block, &on) == nil && len(on) > 0 {
		d.tools.all = true
		if all, ok := on["*"]; ok && !all {
			d.tools.all = false
		}
		var unknown []string
		for _, name := range sortedKeys(on) {
			tools, known := toolsOf(name)
			switch {
			case name == "*":
			case !on[name]:
				d.forbid(name)
			case !known:
				unknown = append(unknown, name)
			case !d.tools.all:
				d.tools.some = append(d.tools.some, tools...)
			}
		}
		d.unknown(k.line, unknown)
		return
	}
	d.tools = choice{without: d.tools.without}
	var unknown []string
	for _, item := range k.List() {
		name, inside, limited := strings.Cut(item, "(")
		if name = strings.TrimSpace(name); name == "*" || strings.EqualFold(name, "all") {
			d.tools.all = true
			continue
		}
		tools, known := toolsOf(name)
		if !known {
			unknown = append(unknown, name)
			continue
		}
		d.tools.some = append(d.tools.some, tools...)
		switch {
		case !limited:
		case slices.Contains(tools, "task"): // Agent(one, another)
			for one := range strings.SplitSeq(strings.TrimSuffix(strings.TrimSpace(inside), ")"), ",") {
				d.spawns = append(d.spawns, strings.TrimSpace(one))
			}
			d.spawnsSet = true
		default:
			d.fault(k.line, "%s: limits of a tool are not taken over; burin asks before calls, as your rules have it", prose.Short(item, 60))
		}
	}
	d.unknown(k.line, unknown)
}

func (d *document) unknown(line int, names []string) {
	if len(names) > 0 {
		d.fault(line, "unknown %s: %s", prose.Noun(len(names), "tool"), prose.Short(strings.Join(names, ", "), 200))
	}
}

// forbid leaves a tool out. One that changes files goes with all that do, as opencode has it.
func (d *document) forbid(name string) {
	name, _, _ = strings.Cut(name, "(")
	tools, _ := toolsOf(name)
	for _, t := range tools {
		switch t {
		case "bash":
			tools = append(tools, "job_write")
		case "edit":
			tools = append(tools, "undo_edit")
		}
	}
	d.tools.without = append(d.tools.without, tools...)
}

// permission reads opencode's permissions, of which a refusal counts: questions are burin's own.
func (d *document) permission(k key) {
	var all map[string]any
	if decode(k.block, &all) != nil {
		return
	}
	for name, value := range all {
		rules, several := value.(map[string]any)
		if value != "deny" && (!several || len(rules) != 1 || rules["*"] != "deny") {
			continue
		}
		d.forbid(name)
		if name == "edit" {
			d.forbid("write")
		}
	}
}

// tier is a word of Claude Code or Cursor for a class of models.
func tier(model string) []string {
	switch model {
	case "haiku", "fast":
		return []string{model, "burin/smol"}
	case "opus":
		return []string{model, "burin/slow"}
	}
	return []string{model}
}

// called is what follows a model's name in Copilot's files.
var called = regexp.MustCompile(`\s*\([^)]*\)$`)

func (d *document) model(k key) {
	for _, m := range k.List() {
		m = prose.Inline(strings.TrimSpace(m))
		if d.source == "copilot" {
			m = strings.ReplaceAll(strings.ToLower(called.ReplaceAllString(m, "")), " ", "-")
		}
		switch m {
		case "", "inherit", "default", "auto":
			return
		case "fast":
			d.models = append(d.models, "burin/smol")
		default:
			d.models = append(d.models, tier(m)...)
		}
	}
}

func (d *document) think(line int, word string) {
	switch word = strings.ToLower(strings.TrimSpace(word)); word {
	case "", "inherit", "default":
		return
	case "max", "ultra":
		word = "xhigh"
	case "none":
		word = "off"
	}
	level, err := llm.ParseLevel(word)
	if err != nil {
		d.fault(line, "%v", err)
		return
	}
	d.thinking = level
}

// result reads the schema of the result.
func (d *document) result(k key) {
	var given map[string]any
	if err := decode(k.block, &given); err != nil {
		d.fault(k.line, "output is not used: %v", err)
		return
	}
	schema, err := schemaOf(given)
	if err != nil {
		d.fault(k.line, "output is not used: %v", err)
		return
	}
	d.output = schema
}

// definition puts together what the file says.
func (d *document) definition() *Definition {
	def := &Definition{
		Name: d.name, Description: d.description, Prompt: d.prompt, Tools: d.tools.names(), Spawns: d.spawns, Models: d.models,
		Thinking: d.thinking, Output: d.output, Blocking: d.blocking, Skills: d.skills, Requests: d.requests, Isolated: d.isolated, Off: d.off,
		ACP: d.acp, ACPEnv: d.acpEnv,
	}
	if def.Name == "" || d.source == "opencode" {
		def.Name = d.named
	}
	if !d.spawnsSet && slices.Contains(def.Tools, "task") {
		def.Spawns = []string{"*"}
	}
	if def.ACP != nil { // it has its own model, and burin's tools are not among its own
		def.Models, def.Thinking, def.Output, def.Spawns, def.Requests = nil, llm.LevelDefault, nil, nil, 0
	}
	return def
}

package subagent

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
)

// Fact is something about an agent, for people.
type Fact struct{ Name, Value string }

// Facts say what an agent is allowed and how it works. What is as in the parent is left out,
// except the model and the tools.
func (d *Definition) Facts() []Fact {
	var facts []Fact
	add := func(name, value string) {
		if value != "" {
			facts = append(facts, Fact{name, prose.Inline(value)})
		}
	}
	list := func(all []string, none string) string {
		if len(all) == 0 {
			return none
		}
		return strings.Join(all, ", ")
	}
	if d.ACP != nil {
		add("runs", strings.Join(d.ACP, " "))
		add("variables", list(d.ACPEnv, ""))
	} else {
		add("model", list(d.Models, "the session's"))
	}
	if d.Thinking != llm.LevelDefault {
		add("thinking", string(d.Thinking))
	}
	if d.Tools == nil {
		add("tools", "all of the session's")
	} else {
		add("tools", list(d.Tools, "none"))
	}
	if len(d.Spawns) == 1 && d.Spawns[0] == "*" {
		add("starts", "any agent")
	} else {
		add("starts", list(d.Spawns, ""))
	}
	if d.Output != nil {
		add("result", "typed")
	}
	if d.Blocking {
		add("waits", "who starts it always waits for it")
	}
	add("skills", list(d.Skills, ""))
	if d.Requests > 0 {
		add("requests", "about "+strconv.Itoa(d.Requests))
	}
	if d.Isolated != nil {
		add("copy", map[bool]string{true: "works in a copy of the repository", false: "never works in a copy of the repository"}[*d.Isolated])
	}
	return facts
}

// Status says why an agent isn't used; "" is that it is.
func (d *Definition) Status() string {
	switch {
	case d.Off != "":
		return d.Off
	case d.ShadowedBy != "":
		return d.ShadowedBy + " is used instead"
	}
	return ""
}

// Show is an agent in Markdown: what it is for, its facts, and its prompt.
func (d *Definition) Show() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%s\n\n", d.Name, d.Description)
	if s := d.Status(); s != "" {
		fmt.Fprintf(&b, "- not used: %s\n", prose.Inline(s))
	}
	from := d.Source
	if d.Path != "" {
		from += ", `" + prose.Inline(d.Path) + "`"
	}
	fmt.Fprintf(&b, "- from: %s\n", from)
	if len(d.Aliases) > 0 {
		fmt.Fprintf(&b, "- also called: %s\n", strings.Join(d.Aliases, ", "))
	}
	for _, f := range d.Facts() {
		fmt.Fprintf(&b, "- %s: %s\n", f.Name, f.Value)
	}
	fmt.Fprintf(&b, "\n%s\n", d.Prompt)
	if d.Output != nil {
		fmt.Fprintf(&b, "\n## Result\n\n```json\n%s\n```\n", d.Output)
	}
	return b.String()
}

// Text is a set in Markdown: each agent with where it is from, and what is wrong with some.
func Text(s *Set, warnings []string) string {
	var b strings.Builder
	for _, d := range s.List() {
		note := ""
		if status := d.Status(); status != "" {
			note = "; not used: " + prose.Inline(status)
		}
		fmt.Fprintf(&b, "- **%s** (%s%s): %s\n", d.Name, d.Source, note, prose.Short(d.Description, 200))
	}
	for _, w := range warnings {
		fmt.Fprintf(&b, "\n%s\n", prose.Inline(w))
	}
	return b.String()
}

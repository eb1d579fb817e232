// Package task holds the tools with which a model has sub-agents work for it: task starts
// them, irc talks to them.
package task

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/tool"
)

// Crew runs agents.
type Crew interface {
	// Run starts agents. It returns when all have ended, in the order of the orders; or, with
	// background, when all are started. If ctx ends because the user has sent a message, they go on in the background.
	Run(ctx context.Context, call string, orders []Order, background bool, tell func([]Report)) ([]Report, error)
	// Kinds are the agents that may be started, for the description.
	Kinds() []Kind
}

// Kind is a definition of agents.
type Kind struct{ Name, Description string }

// Order is a piece of work for one agent.
type Order struct {
	Agent       string
	ID          string // wanted; "" makes one
	Description string
	Context     string // what all orders of a call share
	Assignment  string
	Isolated    *bool // nil: as the agent's definition says
}

// Report is what became of an order.
type Report struct {
	ID          string        `json:"id"`
	Agent       string        `json:"agent"`
	Index       int           `json:"index"`
	Description string        `json:"description,omitempty"`
	State       string        `json:"state"`            // running, done, failed, stopped
	Output      string        `json:"output,omitempty"` // the result, or its start
	More        bool          `json:"more,omitempty"`   // agent:// has more of it
	Error       string        `json:"error,omitempty"`
	Notes       []string      `json:"notes,omitempty"` // such as what was merged, or what is missing
	Requests    int           `json:"requests"`
	Tokens      int           `json:"tokens"`
	Cost        llm.USD       `json:"cost"`
	Known       bool          `json:"known"` // the cost is
	Took        time.Duration `json:"-"`
	TookMS      int64         `json:"durationMs"`
	Model       string        `json:"model,omitempty"`
	Patch       string        `json:"patch,omitempty"`  // its file, of an isolated agent
	Branch      string        `json:"branch,omitempty"` // the same, if it came back as a branch
	Kept        bool          `json:"kept,omitempty"`   // agent:// and history:// have it
}

// Details are those of a result of task.
type Details struct {
	Background bool     `json:"background,omitempty"`
	Agents     []Report `json:"agents"`
}

//go:embed task.md
var description string

// MaxTasks is how many agents one call starts at most; a call with more starts none.
const MaxTasks = 64

// MaxID is how long a name of an agent may be.
const MaxID = 48

type item struct {
	ID          string `json:"id"`
	Description string `json:"description"`
	Assignment  string `json:"assignment"`
	Isolated    *bool  `json:"isolated"`
}

type arguments struct {
	item
	Agent      string `json:"agent"`
	Context    string `json:"context"`
	Tasks      []item `json:"tasks"`
	Background bool   `json:"background"`
}

// Options of the tool.
type Options struct {
	Crew     Crew
	Flat     bool // one task for each call, instead of a list
	Isolates bool // agents can work in folders of their own
	Waits    bool // a call always waits for its agents
}

// New makes the tool.
func New(o Options) *tool.Tool {
	text := description
	if o.Waits {
		text = strings.Replace(text, " With background it returns at once, and each result arrives as a message.", "", 1)
	}
	for _, k := range o.Crew.Kinds() {
		text += fmt.Sprintf("\n- %s: %s", k.Name, k.Description)
	}
	return &tool.Tool{
		Name: "task", Label: "Task", Description: text, Parameters: parameters(o),
		Access:   func(json.RawMessage) ([]tool.Access, error) { return nil, nil }, // an agent's calls are judged
		Together: func(json.RawMessage) bool { return true },
		Run:      func(ctx context.Context, c tool.Call) (*tool.Result, error) { return run(ctx, o, c) },
	}
}

// parameters is the schema. The shape that the model doesn't see is understood, too.
func parameters(o Options) json.RawMessage {
	text := func(about string) map[string]any { return map[string]any{"type": "string", "description": about} }
	one := map[string]any{
		"id":          map[string]any{"type": "string", "maxLength": MaxID, "description": "a short name for the agent, such as auth-tests; default: made from the agent's"},
		"description": text("three to seven words for the user"),
		"assignment":  text("the task, complete in itself: goal, where to look, limits, what to report"),
	}
	if o.Isolates {
		one["isolated"] = map[string]any{"type": "boolean", "description": "work in a copy of the repository; the changes are merged when it ends"}
	}
	properties := map[string]any{
		"agent": text("which agent does it"),
	}
	if !o.Waits {
		properties["background"] = map[string]any{"type": "boolean", "description": "don't wait: results arrive as messages when agents are done"}
	}
	required := []string{"agent"}
	if o.Flat {
		for name, p := range one {
			properties[name] = p
		}
		required = append(required, "assignment")
	} else {
		properties["context"] = text("background that all tasks share; each agent reads it before its assignment")
		properties["tasks"] = map[string]any{
			"type": "array", "maxItems": MaxTasks, "description": "one agent for each",
			"items": map[string]any{"type": "object", "properties": one, "required": []string{"assignment"}},
		}
	}
	raw, err := json.Marshal(map[string]any{"type": "object", "properties": properties, "required": required})
	if err != nil {
		panic(err) // it holds nothing but text
	}
	return raw
}

// orders reads the arguments.
func orders(a arguments) ([]Order, error) {
	tasks := a.Tasks
	if a.Assignment != "" {
		if len(tasks) > 0 {
			return nil, errors.New("give either tasks or an assignment, not both")
		}
		tasks = []item{a.item}
	}
	switch {
	case a.Agent == "":
		return nil, errors.New("agent is missing: name the agent that does the work")
	case len(tasks) == 0:
		return nil, errors.New("tasks is missing: give at least one, each with an assignment")
	case len(tasks) > MaxTasks:
		return nil, fmt.Errorf("%d tasks in one call, at most %d: nothing was started", len(tasks), MaxTasks)
	}
	all := make([]Order, len(tasks))
	taken := map[string]bool{}
	for i, t := range tasks {
		if strings.TrimSpace(t.Assignment) == "" {
			return nil, fmt.Errorf("task %d has no assignment: say what the agent does", i+1)
		}
		if name := strings.ToLower(t.ID); name != "" {
			if taken[name] {
				return nil, fmt.Errorf("two tasks have the id %q: ids differ in more than case", t.ID)
			}
			taken[name] = true
		}
		all[i] = Order{Agent: a.Agent, ID: t.ID, Description: t.Description, Context: a.Context, Assignment: t.Assignment, Isolated: t.Isolated}
	}
	return all, nil
}

func run(ctx context.Context, o Options, c tool.Call) (*tool.Result, error) {
	var a arguments
	if err := json.Unmarshal(c.Arguments, &a); err != nil {
		return nil, err
	}
	all, err := orders(a)
	if err != nil {
		return nil, err
	}
	reports, err := o.Crew.Run(ctx, c.ID, all, a.Background && !o.Waits, func(now []Report) {
		c.Update(*tool.Text("").WithDetails(Details{a.Background, now}))
	})
	if err != nil && reports == nil {
		return nil, err
	}
	r := tool.Text(Words(reports)).WithDetails(Details{a.Background, reports})
	failed := 0
	for _, report := range reports {
		if report.State == "failed" || report.State == "stopped" {
			failed++
		}
	}
	r.IsError = failed > 0 && failed == len(reports)
	return r, err
}

// Words is what a model reads of reports.
func Words(reports []Report) string {
	var b strings.Builder
	for i, r := range reports {
		if i > 0 {
			b.WriteString("\n\n")
		}
		fmt.Fprintf(&b, "# %s (%s)", r.ID, r.Agent)
		switch r.State {
		case "running":
			b.WriteString(": works in the background. Its result arrives as a message; go on with other work, or end your answer.")
			continue
		case "done":
			fmt.Fprintf(&b, ": done in %s, %d requests", r.Took.Round(time.Second), r.Requests)
		default:
			fmt.Fprintf(&b, ": %s after %s, %d requests", r.State, r.Took.Round(time.Second), r.Requests)
			if r.Error != "" {
				b.WriteString(": " + r.Error)
			}
		}
		b.WriteString("\n")
		if r.Output != "" {
			b.WriteString(r.Output + "\n")
		}
		if r.More {
			fmt.Fprintf(&b, "[This is the start: read agent://%s for all of it.]\n", r.ID)
		}
		for _, note := range r.Notes {
			b.WriteString("[" + note + "]\n")
		}
	}
	return strings.TrimSpace(b.String())
}

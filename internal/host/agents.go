package host

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/internal/bench"
	"github.com/burin-dev/burin/internal/customize/config"
	"github.com/burin-dev/burin/internal/customize/subagent"
	"github.com/burin-dev/burin/internal/host/archive"
	"github.com/burin-dev/burin/internal/host/crew"
	"github.com/burin-dev/burin/internal/host/hooks"
	"github.com/burin-dev/burin/internal/model/catalog"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
)

// giveAgents lets a session have agents work for it; given is what was asked for, before anything
// was found for it. What it returns is told of the session.
func giveAgents(h *Host, o *Session, given Session, settings *config.Config) (bind func(*session.Session)) {
	none := func(*session.Session) {}
	if o.External != nil || o.Under != nil && o.Crew == nil {
		return none
	}
	own, _ := o.Crew.(*crew.Crew)
	checks := own == nil && settings.Bool("goal.enabled") && settings.Bool("goal.checker")
	if own == nil {
		if o.agents == nil && (o.NoTools || settings.Int("task.maxRecursionDepth") == 0 || !checks && !offersAgents(o)) {
			return none
		}
		agents := h.Agents
		if o.agents != nil {
			agents = func() *subagent.Set { return o.agents }
		}
		if o.Desk == nil {
			o.Desk = session.NewDesk(session.DeskOptions{})
		}
		parent := &agentsOf{host: h, given: given, settings: settings}
		own = crew.New(crew.Options{
			Limits: agentLimits(settings), Agents: agents, Open: parent.open,
			Isolate: isolation(h, o, settings), Desk: o.Desk, Awaits: !o.Wakes, Waits: o.NoBackground, Warn: o.Warn, Now: o.Ground.Now,
		})
		parent.session = o
		o.Crew = own
		bind = func(s *session.Session) { parent.facts = s.Facts; own.Bind(s) }
		if o.hired != nil {
			o.hired(own)
		}
	}
	if checks {
		o.CheckGoal = own.CheckGoal
	}
	if o.Under != nil || offersAgents(o) {
		o.CrewTools = own.Tools()
		o.Workers = own.Workers
	}
	o.Lend = own.Lend
	o.News = own.News
	o.Chains.Continue = append(slices.Clip(o.Chains.Continue), own.Continuation())
	readAgents(o, own)
	if bind == nil {
		bind = own.Bind
	}
	return bind
}

// offersAgents reports whether the model may start agents.
func offersAgents(o *Session) bool {
	if len(o.Tools) > 0 {
		return slices.Contains(o.Tools, "task")
	}
	return !slices.Contains(o.Without, "task")
}

// readAgents puts what agents have said behind agent:// and history://.
func readAgents(o *Session, c *crew.Crew) {
	o.URLs = maps.Clone(o.URLs)
	if o.URLs == nil {
		o.URLs = map[string]func(context.Context, string) (string, error){}
	}
	o.URLs["agent"] = c.Read
	o.AgentFile = c.AgentFile
}

func agentLimits(c *config.Config) crew.Limits {
	return crew.Limits{
		Concurrency: c.Int("task.maxConcurrency"), Depth: c.Int("task.maxRecursionDepth"), Runtime: milliseconds(c.Int("task.maxRuntimeMs")),
		Requests: c.Int("task.softRequestBudget"), IdleTTL: milliseconds(c.Int("task.agentIdleTtlMs")), Flat: !c.Bool("task.batch"), Messages: milliseconds(c.Int("irc.timeoutMs")),
		Merge: c.Text("task.isolation.merge"),
	}
}

// isolation makes folders for agents; nil: it is off.
func isolation(h *Host, o *Session, c *config.Config) func(ctx context.Context, name, left string) (*bench.Isolated, error) {
	mode := c.Text("task.isolation.mode")
	if mode == "none" || o.Ground.Files != nil {
		return nil
	}
	i := bench.NewIsolator(h.o.Paths.Data, mode, o.Warn)
	return func(ctx context.Context, name, left string) (*bench.Isolated, error) {
		return i.Open(ctx, o.Ground.Dir, name, left)
	}
}

// agentsOf opens the sessions of a session's agents.
type agentsOf struct {
	host     *Host
	given    Session  // as the session was asked for
	session  *Session // as it was opened
	settings *config.Config
	facts    func() session.Facts // of the session, once it is open

	mu   sync.Mutex
	told map[string]bool // agents of whose missing skills the person knows, by name
}

// open opens the session of an agent on the same ground, with the same settings.
func (a *agentsOf) open(ctx context.Context, op crew.Opening) (*session.Session, error) {
	d, parent := op.Definition, a.session
	words := op.Append + a.skills(d)
	o := Session{Ground: a.given.Ground, NoSkills: a.given.NoSkills, NoLSP: a.given.NoLSP, Passed: a.given.Passed, Skills: a.given.Skills, Note: func(string) {}}
	if op.Dir != "" {
		o.Ground.Dir = op.Dir
	}
	o.Session = bench.Session{
		Approval: op.Mode, Desk: op.Desk, Tools: op.Tools, NoTools: len(op.Tools) == 0, Output: d.Output,
		System: parent.System, Append: parent.Append + "\n\n" + words, NoSession: op.File == "", Parent: op.Parent, Keys: parent.Keys,
		Under: op.Under, Lender: op.Lender, Emit: op.Emit, Meter: parent.Meter, Cache: llm.CacheHint{Retention: parent.Cache.Retention},
		Warn:         func(line string) { parent.Warn(fmt.Sprintf("agent %s: %s", op.ID, line)) },
		NoBackground: true, Interrupt: agent.Wait, Tooling: parent.Tooling, Refused: parent.Refused, MaxTokens: parent.MaxTokens,
		// What a model writes to an agent is no command of a person.
		Expand: func(_ context.Context, text string) (string, error) { return text, nil },
	}
	o.agent = &hooks.Agent{ID: op.ID, Type: d.Name, Names: d.Names(), For: a.facts}
	if op.Crew != nil {
		o.Crew = op.Crew
	} else {
		o.CrewTools = op.Talk
	}
	if op.Resume {
		o.Resume = op.File
	} else {
		o.File = op.File
	}
	if o.Tools == nil {
		o.Tools = []string{}
	}
	o.Thinking.Level = d.Thinking
	if d.ACP != nil {
		o.External = a.external(d, words, op.Tools)
	} else if selector := a.model(ctx, d.Models); selector != "" {
		o.Choice.Model = selector
	} else {
		o.Client, o.Model, o.Models, o.Roles, o.Fallbacks = op.Model.Client, op.Model.Model, parent.Models, parent.Roles, parent.Fallbacks
		if o.Thinking.Level == llm.LevelDefault {
			o.Thinking.Level = op.Model.Level
		}
	}
	readAgents(&o, op.Family)
	s, err := a.host.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	if title := op.Title; title != "" && !op.Resume {
		_ = s.Face("burin", false).Conversation().SetTitle(ctx, title) // it never fails in this process
	}
	return s, nil
}

// external is the program that does the work of an agent, with what it may use.
func (a *agentsOf) external(d *subagent.Definition, instructions string, tools []string) *bench.External {
	command := slices.Clone(d.ACP)
	if strings.HasPrefix(command[0], "~/") {
		command[0] = archive.HomePath(command[0])
	}
	return &bench.External{
		Name: d.Name, Command: command, Env: d.ACPEnv, Version: a.host.o.Version, Instructions: instructions, Tools: append([]string{}, tools...),
	}
}

// skills are the texts of the skills that an agent knows from the start. What is wrong with them
// is told once, however many such agents there are.
func (a *agentsOf) skills(d *subagent.Definition) string {
	if len(d.Skills) == 0 || a.given.NoSkills {
		return ""
	}
	text, missing := a.host.Skills().Preload(d.Skills)
	if len(missing) > 0 {
		a.mu.Lock()
		told := a.told[d.Name]
		if a.told == nil {
			a.told = map[string]bool{}
		}
		a.told[d.Name] = true
		a.mu.Unlock()
		if !told {
			a.session.Warn(fmt.Sprintf("agent %s begins without %s that its file names: %s", d.Name, prose.Noun(len(missing), "skill"), strings.Join(missing, "; ")))
		}
	}
	if text == "" {
		return ""
	}
	return "\n" + text
}

// model is the first of the selectors that can be used; "" if none can.
func (a *agentsOf) model(ctx context.Context, selectors []string) string {
	if a.given.Client != nil || len(selectors) == 0 {
		return ""
	}
	models, err := a.host.Models()
	if err != nil {
		return ""
	}
	for _, selector := range selectors {
		choice, err := models.Choose(ctx, catalog.Wish{Selector: selector})
		if err == nil && models.Missing(ctx, choice.Model) == nil {
			return selector
		}
	}
	return ""
}

package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/internal/bench"
	"github.com/burin-dev/burin/internal/customize/config"
	"github.com/burin-dev/burin/internal/customize/subagent"
	"github.com/burin-dev/burin/internal/host/crew"
	"github.com/burin-dev/burin/internal/platform/workspace"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/tool"
	"github.com/burin-dev/burin/transcript"
)

// Minions are the agents of a chat. The same code runs them as the agents of other sessions: each is a session of its
// own, under the limits of the chat's.
type Minions struct {
	Keep crew.Keeper
	// Log opens the transcript of an agent.
	Log func(id string, o transcript.Options) (*transcript.Log, error)
	// Personas are the kinds of agents there are now.
	Personas func() ([]Persona, error)
	// Desk gives what an agent works with.
	Desk func(id, persona string) (MinionDesk, error)
	// Result gives what an agent hands over with a tool; "" is that it doesn't.
	Result      func(agent.Outcome) string
	Model       string // a selector; "" is that of the chat
	Concurrency int    // that work at a time
}

// Persona is a kind of agent.
type Persona struct{ Name, Description, Prompt string }

// MinionDesk is what an agent works with.
type MinionDesk struct {
	Files   workspace.Files // nil: those of the chat
	Without []string
	Extra   []*tool.Tool
	Chains  session.Chains
}

// giveMinions lets a chat have agents work for it. What it returns is told of the session, and of its bench.
func giveMinions(h *Host, c *Chat, o *Session, may permitted, settings *config.Config) (bind func(*bench.Bench, *session.Session)) {
	m := c.Minions
	if m == nil {
		return func(*bench.Bench, *session.Session) {}
	}
	limits := agentLimits(settings)
	limits.Concurrency, limits.Depth = cmp.Or(m.Concurrency, 4), 1
	x := &minionsOf{Minions: m, host: h, parent: o, may: may, settings: settings}
	own := crew.New(crew.Options{
		Limits: limits, Agents: x.agents, Open: x.open, Desk: c.Desk, Awaits: true, Waits: true, Warn: c.Warn, Keep: m.Keep, Result: m.Result,
	})
	o.Crew, o.CrewTools, o.Lend, o.News = own, own.Tools(), own.Lend, own.News
	o.Chains.Continue = append(slices.Clip(o.Chains.Continue), own.Continuation())
	readAgents(o, own)
	return func(b *bench.Bench, s *session.Session) {
		x.bench = b
		own.Bind(s)
	}
}

// minionsOf opens the agents of a chat.
type minionsOf struct {
	*Minions
	host     *Host
	parent   *Session
	may      permitted
	settings *config.Config
	bench    *bench.Bench
}

// agents are the kinds of agents as files have them now.
func (x *minionsOf) agents() *subagent.Set {
	all, err := x.Personas()
	if err != nil {
		x.parent.Warn("the personas can't be read: " + err.Error())
	}
	var found []*subagent.Definition
	for _, p := range all {
		found = append(found, &subagent.Definition{Name: p.Name, Description: p.Description, Prompt: p.Prompt, Blocking: true, Trusted: true})
	}
	return subagent.Of(found...)
}

// open opens the session of an agent.
func (x *minionsOf) open(ctx context.Context, op crew.Opening) (*session.Session, error) {
	parent := x.parent
	desk, err := x.Desk(op.ID, op.Definition.Name)
	if err != nil {
		return nil, err
	}
	warn := func(line string) { parent.Warn(fmt.Sprintf("agent %s: %s", op.ID, line)) }
	tools := slices.DeleteFunc(slices.Clone(op.Tools), func(name string) bool { return slices.Contains(desk.Without, name) })
	o := Session{Note: func(string) {}, Session: bench.Session{
		System: chatWords, Append: op.Append, Approval: op.Mode, Desk: op.Desk, Tools: tools, NoTools: len(tools) == 0, ExtraTools: desk.Extra, Chains: desk.Chains, CrewTools: op.Talk,
		Log: func(o transcript.Options) (*transcript.Log, error) { return x.Log(op.ID, o) }, Parent: op.Parent,
		Under: op.Under, Lender: op.Lender, Emit: op.Emit, Meter: parent.Meter, MaxTokens: parent.MaxTokens, Cache: llm.CacheHint{Retention: parent.Cache.Retention},
		Retry: parent.Retry, Compaction: parent.Compaction, WebSearch: parent.WebSearch, LargeImages: parent.LargeImages, NoImages: parent.NoImages,
		NoGoals: true, NoBackground: true, Advisor: session.AdvisorOff, Interrupt: agent.Wait, Warn: warn,
	}}
	if x.Model != "" {
		o.Choice.Model = x.Model
		if _, err := findPresentModel(ctx, x.host, &o, x.settings); err != nil {
			return nil, err
		}
		if err := x.may.bind(ctx, &o); err != nil {
			return nil, err
		}
	} else {
		o.Client, o.Model, o.Models, o.Roles, o.Fallbacks = op.Model.Client, op.Model.Model, parent.Models, parent.Roles, parent.Fallbacks
		o.Thinking.Level = op.Model.Level
	}
	readAgents(&o, op.Family)
	b := x.bench
	if desk.Files != nil {
		b = bench.On(b, desk.Files)
	}
	s, err := b.Start(ctx, o.Session)
	if errors.Is(err, transcript.ErrLocked) {
		err = fmt.Errorf("another server has the agent's transcript open: try again in a minute: %w", err)
	}
	if err != nil {
		return nil, err
	}
	if op.Title != "" {
		_ = s.Face("burin", false).Conversation().SetTitle(ctx, op.Title) // it never fails in this process
	}
	return s, nil
}

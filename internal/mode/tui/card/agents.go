package card

import (
	"cmp"
	"encoding/json"
	"fmt"
	"time"

	"github.com/burin-dev/burin/internal/mode/tui/theme"
	"github.com/burin-dev/burin/internal/mode/tui/theme/styled"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
)

const (
	collapsedAgents = 12 // rows of agents in a collapsed card
	maxAgents       = 64 // that a card looks at
	minDoing        = 12 // cells below which it isn't said what an agent does
)

// agentReport is what a result says of an agent.
type agentReport struct {
	ID          string   `json:"id"`
	Agent       string   `json:"agent"`
	Index       int      `json:"index"`
	Description string   `json:"description"`
	State       string   `json:"state"` // running, done, failed, stopped
	Output      string   `json:"output"`
	Error       string   `json:"error"`
	Notes       []string `json:"notes"`
	Requests    int      `json:"requests"`
	Tokens      int      `json:"tokens"`
	Cost        llm.USD  `json:"cost"`
	Known       bool     `json:"known"`
	TookMS      int64    `json:"durationMs"`
}

type agentsDetails struct {
	Background bool          `json:"background"`
	Agents     []agentReport `json:"agents"`
}

// agentRow is an agent as a card shows it: what the call says, then what is known since.
type agentRow struct {
	agentReport
	assignment string
	doing      string // the tool that runs
	took       string
}

// AgentResults is the card of a message with the results of agents in the background.
func AgentResults(details json.RawMessage) Call {
	c := Call{Name: "task", Label: "Agent result", Details: details, State: Done}
	if rows := c.agentRows(nil); countAgents(rows, "failed", "stopped") == len(rows) && len(rows) > 0 {
		c.State = Failed
	}
	return c
}

// paintAgents shows the agents that a call has work for it, in the order of its tasks.
func paintAgents(p *painter, c *Call, args fields) {
	rows := c.agentRows(args)
	if c.State == Failed && countAgents(rows, "") == len(rows) {
		rows = nil // none was started
	}
	kind := args.string("agent")
	if kind == "" && len(rows) == 1 {
		kind = rows[0].Agent
	}
	p.title(c, words(kind, theme.Text), agentFacts(c, rows)...)
	shown := rows
	if !p.Expanded && len(rows) > collapsedAgents+1 { // a row that only says that one is missing is no gain
		shown = rows[:collapsedAgents]
	}
	for i := range shown {
		paintAgent(p, &shown[i])
	}
	if n := len(rows) - len(shown); n > 0 {
		words := fmt.Sprintf("%s %s", p.sign.Ellipsis, prose.Count(n, "more agent"))
		if p.Hint != "" {
			words += " (" + prose.Inline(p.Hint) + ")"
		}
		p.add(styled.Line{{Text: bodyIndent}, {Text: words, Look: theme.Look{Fg: theme.Muted}}})
	}
	if c.State == Failed && countAgents(rows, "failed", "stopped") == 0 {
		p.failure(c)
	}
}

func countAgents(rows []agentRow, states ...string) (n int) {
	for i := range rows {
		for _, s := range states {
			if rows[i].State == s {
				n++
			}
		}
	}
	return n
}

// agentFacts say how many agents there are and how far they are.
func agentFacts(c *Call, rows []agentRow) []string {
	var facts []string
	done, failed, stopped := countAgents(rows, "done"), countAgents(rows, "failed"), countAgents(rows, "stopped")
	switch {
	case len(rows) < 2:
	case c.State == Running && done > 0:
		facts = append(facts, fmt.Sprintf("%d of %s done", done, prose.Count(len(rows), "agent")))
	default:
		facts = append(facts, prose.Count(len(rows), "agent"))
	}
	if failed > 0 {
		facts = append(facts, fmt.Sprintf("%d failed", failed))
	}
	if stopped > 0 {
		facts = append(facts, fmt.Sprintf("%d stopped", stopped))
	}
	if c.State == Done && countAgents(rows, "queued", "running") > 0 {
		facts = append(facts, "in the background")
	}
	return facts
}

// paintAgent is the row of one agent, and what it was told and answers in an expanded card.
func paintAgent(p *painter, r *agentRow) {
	sign, look := p.sign.Running, theme.Dim
	switch r.State {
	case "running":
		look = theme.Accent
	case "done":
		sign, look = p.sign.Done, theme.Text
	case "failed", "stopped":
		sign, look = p.sign.Failed, theme.Error
	}
	left := styled.Line{{Text: bodyIndent + sign + " ", Look: theme.Look{Fg: look}}, {Text: prose.Inline(cmp.Or(r.ID, "agent")), Look: theme.Look{Fg: theme.Text, Mod: theme.Bold}}}
	if about := cmp.Or(r.Description, prose.Head(r.assignment, 300)); about != "" {
		fg := theme.Text
		if r.Description == "" {
			fg = theme.Muted
		}
		left = append(left, styled.Span{Text: ": " + firstLine(about), Look: theme.Look{Fg: fg}})
	}
	doing := r.doing
	if r.State == "queued" {
		doing = "queued"
	}
	need := min(minDoing, styled.Width(doing))
	requests := ""
	if r.Requests > 0 {
		requests = prose.Count(r.Requests, "request")
	}
	var facts styled.Line
	for _, some := range [][]string{{requests, r.spent(), r.took}, {r.spent(), r.took}, {r.took}, {}} { // who it is comes first
		if facts = factsOf(p, nil, some...); min(left.Width(), p.Width/2)+need+facts.Width() <= p.Width {
			break
		}
	}
	left = styled.Truncate(left, p.Width-facts.Width()-need, p.sign.Ellipsis)
	if room := p.Width - left.Width() - facts.Width(); doing != "" && room >= need {
		left = append(left, styled.Truncate(factsOf(p, nil, doing), room, p.sign.Ellipsis)...)
	}
	p.add(append(left, facts...))
	if r.Error != "" && r.State != "done" {
		belowAgent(p, r.Error, theme.Error, 2)
	}
	for _, note := range r.Notes[:min(len(r.Notes), 5)] {
		belowAgent(p, note, theme.Muted, 2)
	}
	if !p.Expanded {
		return
	}
	if r.Description != "" {
		belowAgent(p, r.assignment, theme.Muted, 4)
	}
	belowAgent(p, r.Output, theme.ToolOutput, expandedLines)
}

// belowAgent adds lines of a text below an agent's row, at most so many.
func belowAgent(p *painter, text string, fg theme.Token, most int) {
	lines := p.split(text)
	for _, line := range lines[:min(len(lines), most)] {
		p.hanging(styled.Of(bodyIndent+line, fg), len(bodyIndent))
	}
	if n := len(lines) - most; n > 0 && p.Expanded {
		p.hanging(styled.Of(fmt.Sprintf("%s%s %s", bodyIndent, p.sign.Ellipsis, prose.Count(n, "more line")), theme.Muted), 0)
	}
}

// factsOf joins facts by dots, each with one before it.
func factsOf(p *painter, l styled.Line, facts ...string) styled.Line {
	for _, f := range facts {
		if f = prose.Inline(f); f != "" {
			l = append(l, styled.Span{Text: " " + p.sign.Dot + " ", Look: theme.Look{Fg: theme.Dim}}, styled.Span{Text: f, Look: theme.Look{Fg: theme.Muted}})
		}
	}
	return l
}

// spent is what an agent has used.
func (r *agentRow) spent() string {
	if r.Tokens == 0 {
		return ""
	}
	words := prose.Tokens(r.Tokens) + " tokens"
	switch {
	case r.Known && r.Cost > 0:
		words += ", " + dollars(r.Cost)
	case !r.Known && r.Cost > 0:
		words += ", at least " + dollars(r.Cost)
	}
	return words
}

// agentRows puts together what is known of the agents of a call: its arguments, what its
// agents do, and its result.
func (c *Call) agentRows(args fields) []agentRow {
	type item struct{ ID, Description, Assignment string }
	tasks := read[[]item](args["tasks"])
	if len(tasks) == 0 && args.string("assignment") != "" {
		tasks = []item{{args.string("id"), args.string("description"), args.string("assignment")}}
	}
	var rows []agentRow
	at := func(index int) *agentRow {
		if index < 0 || index >= maxAgents {
			return &agentRow{} // no call has as many: it is left out
		}
		for len(rows) <= index {
			rows = append(rows, agentRow{})
		}
		return &rows[index]
	}
	for i, t := range tasks {
		r := at(i)
		r.ID, r.Description, r.assignment = t.ID, t.Description, t.Assignment
	}
	for i, report := range read[agentsDetails](c.Details).Agents {
		if len(tasks) > 0 {
			i = report.Index
		}
		r := at(i)
		r.agentReport = report
		if report.TookMS > 0 {
			r.took = elapsed(time.Duration(report.TookMS) * time.Millisecond)
		}
	}
	for i := range c.Agents {
		a := &c.Agents[i]
		if r := at(a.Index); r.State == "" || r.State == "running" {
			r.live(a, c.Now)
		}
	}
	return rows
}

// live takes what an agent does now.
func (r *agentRow) live(a *session.Agent, now time.Time) {
	r.ID, r.Agent, r.Error = a.ID, a.Agent, a.Error
	r.Description = cmp.Or(a.Description, r.Description)
	r.assignment = cmp.Or(r.assignment, a.Task)
	r.Requests, r.Tokens, r.Cost, r.Known = a.Requests, a.Tokens, a.Cost, a.Known
	r.doing = a.Tool
	switch {
	case a.State == session.AgentQueued:
		r.State = "queued"
		return
	case a.State == session.AgentRunning:
		r.State = "running"
	case a.State == session.AgentStopped:
		r.State = "stopped"
	case a.Failed():
		r.State = "failed"
	default:
		r.State = "done"
	}
	switch {
	case !a.Ended.IsZero() && !a.Active():
		r.took = elapsed(a.Ended.Sub(a.Started))
	case !now.IsZero():
		r.took = now.Sub(a.Started).Truncate(time.Second).String()
	}
}

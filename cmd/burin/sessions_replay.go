package main

import (
	"context"
	"encoding/json"

	"github.com/spf13/cobra"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/internal/host/words"
	"github.com/burin-dev/burin/internal/mode/print"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/tool"
	"github.com/burin-dev/burin/transcript"
)

type replayOptions struct {
	which string
	mode  string
}

func sessionsReplayCommand(p *program) *cobra.Command {
	var o replayOptions
	cmd := &cobra.Command{
		Use:               "replay ID",
		ValidArgsFunction: offerSessions(p),
		Short:             "Print what happened in a session again, without a model",
		Long: `Print what happened in a session, in order, abandoned branches included. burin sends
nothing to a model and runs no tool. --mode json prints the events of burin -p --mode json,
with each answer in one piece.

  burin sessions replay 1f9d --mode json`,
		Args: arguments(1, 1),
		RunE: about(&o.which, func(ctx context.Context) error { return replaySession(ctx, p, o) }),
	}
	cmd.Flags().StringVar(&o.mode, "mode", "text", "output: text, or json (one event a line)")
	if err := cmd.RegisterFlagCompletionFunc("mode", values("text", "json")); err != nil {
		panic(err) // a flag of that name is not registered: a mistake of this file
	}
	return cmd
}

func replaySession(ctx context.Context, p *program, o replayOptions) error {
	mode, err := print.ParseMode(o.mode)
	if err != nil {
		return usage("--mode: %w", err)
	}
	l, err := p.session(ctx, o.which)
	if err != nil {
		return err
	}
	defer l.Close()
	if mode == print.Text {
		if err := print.Show(p.out, uninterrupted(ctx, l.All()), p.color(p.out)); err != nil {
			return err
		}
		return ctx.Err()
	}
	printer := print.New(print.Options{Mode: mode, Out: p.out})
	r := &replay{log: l, emit: printer.Event, calls: map[string]llm.ToolCall{}}
	if _, err := printer.Print(ctx, func(ctx context.Context) agent.Outcome { return r.Prompt(ctx, llm.Message{}) }); err != nil {
		return err
	}
	return ctx.Err()
}

// replay emits the events of a session from its entries. An entry holds what an event
// told, and entries have the order of the events.
type replay struct {
	log  *transcript.Log
	emit func(session.Event)

	seq     uint64
	leaf    string // the entry before
	lost    bool   // it could not be read
	model   string
	spoken  bool // the state before that is what the session began with
	running bool // a run was begun
	turn    bool // a turn was begun
	turns   int
	answer  *llm.Message // of the turn
	results []llm.Message
	said    []llm.Message // by the run
	calls   map[string]llm.ToolCall
	open    map[string]bool // calls of the answer that have no result yet
}

// Prompt emits everything; what it is given is not looked at.
func (r *replay) Prompt(ctx context.Context, _ llm.Message) agent.Outcome {
	for e, err := range r.log.All() {
		if ctx.Err() != nil {
			break
		}
		if err != nil {
			r.send(session.Event{Event: agent.Event{Type: session.Warning}, Text: words.Error(err)})
			r.lost = true
			continue
		}
		r.entry(e)
	}
	r.endRun()
	return agent.Outcome{Reason: agent.ReasonDone}
}

func (r *replay) send(e session.Event) {
	r.seq++
	e.Seq = r.seq
	r.emit(e)
}

func (r *replay) event(e agent.Event) { r.send(session.Event{Event: e}) }

// entry emits what happened when an entry was written.
func (r *replay) entry(e *transcript.Entry) {
	parent := ""
	if e.ParentID != nil {
		parent = *e.ParentID
	}
	if parent != r.leaf && !r.lost || e.Type == transcript.TypeBranchSummary {
		r.endRun()
		at := parent
		if e.Type == transcript.TypeBranchSummary {
			at = e.ID // one moves behind what is said of the branch that was left
		}
		r.send(session.Event{Event: agent.Event{Type: session.TreeMoved}, EntryID: at})
	}
	r.leaf, r.lost = e.ID, false
	if e.Type != transcript.TypeMessage || e.Execution != nil {
		r.endDone()
	}
	switch e.Type {
	case transcript.TypeMessage:
		switch {
		case e.Execution != nil:
			r.send(session.Event{Event: agent.Event{Type: session.CommandStart}, Text: e.Execution.Command})
			r.send(session.Event{Event: agent.Event{Type: session.CommandEnd}, EntryID: e.ID, Text: e.Execution.Command})
		case e.Message != nil:
			r.message(e.ID, e.Message)
		}
	case transcript.TypeCustomMessage:
		if words, err := e.Words(); err == nil && e.Display {
			r.whole(e.ID, &llm.Message{Role: llm.RoleCustom, CustomType: e.CustomType, Display: e.Display, Content: words, Time: e.Time()})
		}
	case transcript.TypeMode:
		if r.spoken {
			r.send(session.Event{Event: agent.Event{Type: session.ModeChanged}, Text: e.Mode})
		}
	case transcript.TypeModel:
		if r.model != "" {
			r.send(session.Event{Event: agent.Event{Type: session.ModelChanged}, Data: &session.Change{From: r.model, To: e.Model, Role: e.Role}})
		}
		r.model = e.Model
	case transcript.TypeThinking:
		r.send(session.Event{Event: agent.Event{Type: session.ThinkingChanged}, Text: e.ThinkingLevel})
	case transcript.TypeInfo:
		r.send(session.Event{Event: agent.Event{Type: session.TitleChanged}, Text: e.Name})
	case transcript.TypeCompaction:
		info := &session.CompactionInfo{Reason: "recorded", Before: e.TokensBefore}
		r.send(session.Event{Event: agent.Event{Type: session.CompactionStart}, Data: info})
		end := *info
		end.Summary = e.ShortSummary
		r.send(session.Event{Event: agent.Event{Type: session.CompactionEnd}, EntryID: e.ID, Data: &end})
	}
}

func (r *replay) message(id string, m *llm.Message) {
	r.spoken = true
	switch m.Role {
	case llm.RoleAssistant:
		if r.answer != nil {
			r.endTurn()
		}
		r.beginTurn()
		r.assistant(id, m)
		if len(r.open) == 0 {
			r.endTurn()
		}
	case llm.RoleToolResult:
		r.beginTurn()
		r.result(id, m)
		if len(r.open) == 0 {
			r.endTurn()
		}
	default:
		r.endDone() // who speaks begins a run
		if r.answer != nil {
			r.endTurn()
		}
		r.beginTurn()
		r.whole(id, m)
	}
}

func (r *replay) beginTurn() {
	if !r.running {
		r.running = true
		r.event(agent.Event{Type: agent.AgentStart})
	}
	if !r.turn {
		r.turn = true
		r.event(agent.Event{Type: agent.TurnStart})
	}
}

func (r *replay) endTurn() {
	if !r.turn {
		return
	}
	r.event(agent.Event{Type: agent.TurnEnd, Message: r.answer, ToolResults: r.results})
	r.turn, r.answer, r.results, r.open = false, nil, nil, nil
}

// endDone ends a run, unless the model was still to answer.
func (r *replay) endDone() {
	if r.running && !r.turn && (len(r.said) == 0 || r.said[len(r.said)-1].Role != llm.RoleToolResult) {
		r.endRun()
	}
}

func (r *replay) endRun() {
	if !r.running {
		return
	}
	r.endTurn()
	out := agent.Outcome{Reason: agent.ReasonDone, Messages: r.said, Turns: r.turns}
	for _, m := range r.said {
		if m.Usage != nil {
			out.Usage = out.Usage.Add(*m.Usage)
		}
	}
	if n := len(r.said); n > 0 && r.said[n-1].Error != nil {
		out.Reason, out.Err = agent.ReasonError, r.said[n-1].Error
		if r.said[n-1].StopReason == llm.StopAborted {
			out.Reason = agent.ReasonAborted
		}
	}
	r.event(agent.Event{Type: agent.AgentEnd, Messages: r.said, Outcome: &out})
	r.running, r.said, r.turns = false, nil, 0
}

// whole emits a message that came in one piece.
func (r *replay) whole(id string, m *llm.Message) {
	r.event(agent.Event{Type: agent.MessageStart, Message: m})
	r.send(session.Event{Event: agent.Event{Type: agent.MessageEnd, Message: m}, EntryID: id})
}

// assistant emits an answer, block by block.
func (r *replay) assistant(id string, m *llm.Message) {
	r.turns++
	r.answer, r.open = m, map[string]bool{}
	head := *m
	head.Content = nil
	r.event(agent.Event{Type: agent.MessageStart, Message: &head})
	for i, b := range m.Content {
		switch b := b.(type) {
		case llm.Text:
			r.block([3]llm.EventType{llm.EventTextStart, llm.EventTextDelta, llm.EventTextEnd}, i, llm.Text{}, b.Text, b)
		case llm.Thinking:
			r.block([3]llm.EventType{llm.EventThinkingStart, llm.EventThinkingDelta, llm.EventThinkingEnd}, i, llm.Thinking{}, b.Text, b)
		case llm.ToolCall:
			begun := llm.ToolCall{ID: b.ID, Name: b.Name}
			r.block([3]llm.EventType{llm.EventToolCallStart, llm.EventToolCallDelta, llm.EventToolCallEnd}, i, begun, b.Arguments, b)
			r.calls[b.ID], r.open[b.ID] = b, true
		}
	}
	r.said = append(r.said, *m)
	r.send(session.Event{Event: agent.Event{Type: agent.MessageEnd, Message: m}, EntryID: id})
}

// block emits a piece of an answer: that it begins, all of it, and that it ends.
func (r *replay) block(types [3]llm.EventType, i int, begun llm.Block, delta string, whole llm.Block) {
	for _, e := range []llm.Event{{Type: types[0], Block: begun}, {Type: types[1], Delta: delta}, {Type: types[2], Block: whole}} {
		if e.Type.Delta() && delta == "" {
			continue
		}
		e.Index = i
		r.event(agent.Event{Type: agent.MessageUpdate, Stream: e})
	}
}

// result emits a call and what came of it.
func (r *replay) result(id string, m *llm.Message) {
	args := json.RawMessage(r.calls[m.ToolCallID].Arguments)
	if !json.Valid(args) {
		args = nil
	}
	call := &tool.Call{ID: m.ToolCallID, Name: m.ToolName, Arguments: args}
	r.event(agent.Event{Type: agent.ToolStart, Label: m.ToolName, Call: call})
	end := agent.Event{
		Type: agent.ToolEnd, Label: m.ToolName, Call: call,
		Result: &tool.Result{Content: m.Content, Details: m.Details, IsError: m.IsError},
	}
	r.event(end)
	r.whole(id, m)
	r.results, r.said = append(r.results, *m), append(r.said, *m)
	delete(r.open, m.ToolCallID)
}

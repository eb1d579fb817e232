package rpc

import (
	"context"
	"encoding/json"
	"strconv"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
)

// familyWriter writes events in the shapes of the pi family. If its programs have two names for
// an event, it writes both. Events unknown to the family have the shape of docs/events.md; its
// clients skip types they don't know.
type familyWriter struct {
	h   session.Handle
	out *output
	ctx context.Context

	ended *session.Event // the end of a run, held until the next event says whether it is retried
	ran   bool           // a run has begun since agent_settled
	told  []told         // how much of each block of the current answer was written
	line  []byte         // a reused buffer
}

// unused is the usage in a piece; the real one is known at the end.
const unused = `"usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}}`

func (w *familyWriter) event(e *session.Event) {
	if w.ended != nil {
		end := w.ended
		w.ended = nil
		w.put(agentEndJSON{agent.AgentEnd, messagesOf(end.Messages), repeats(e)})
	}
	switch e.Type {
	case agent.MessageUpdate:
		w.piece(&e.Stream)
	case agent.AgentStart:
		w.ran = true
		w.put(typeJSON{e.Type})
	case agent.TurnStart:
		w.put(typeJSON{e.Type})
	case agent.AgentEnd:
		held := *e
		w.ended = &held
	case session.AgentSettled:
		w.settled(e)
	case agent.MessageStart, agent.MessageEnd:
		if e.Type == agent.MessageEnd {
			w.complete(e.Message)
		}
		w.told = w.told[:0]
		w.put(messageJSON{e.Type, message(e.Message)})
	case agent.TurnEnd:
		w.put(turnEndJSON{e.Type, message(e.Message), messagesOf(e.ToolResults)})
	case session.CompactionStart, session.CompactionEnd:
		w.compaction(e)
	case session.ThinkingChanged:
		w.put(thinkingJSON{"thinking_level_changed", e.Text})
	case session.CommandOutput:
		// The client that ran the command gets bash_execution_update.
	default:
		w.other(e)
	}
}

// other writes an event that keeps its shape or needs other lines.
func (w *familyWriter) other(e *session.Event) {
	switch e.Type {
	case session.QuestionAsked, session.QuestionSettled: // sent as extension UI requests
		return
	case session.QueueChanged:
		q, _ := e.Data.(*session.Queued)
		if q == nil {
			return
		}
		w.put(queueUpdateJSON{"queue_update", textsOf(q.Steering), textsOf(q.FollowUps)})
		return
	case session.TitleChanged:
		w.put(nameJSON{"session_info_changed", e.Text})
		w.put(uiJSON{Type: uiRequest, ID: newID(), Method: "setTitle", Title: prose.Row(e.Text, 200)})
		return
	case session.RetryStart:
		if r, ok := e.Data.(*session.RetryInfo); ok {
			w.put(retryJSON{e.Type, r.Attempt, r.Max, r.DelayMS, r.Error})
		}
		return
	case session.Warning:
		w.put(uiJSON{Type: uiRequest, ID: newID(), Method: "notify", Message: e.Text, Notify: "warning"})
		return
	}
	if raw, err := e.MarshalJSON(); err == nil { // what can't be written can't be sent
		w.out.put(raw)
	}
}

func (w *familyWriter) put(v any) { w.out.put(encode(v)) }

type typeJSON struct {
	Type agent.EventType `json:"type"`
}

type agentEndJSON struct {
	Type      agent.EventType   `json:"type"`
	Messages  []json.RawMessage `json:"messages"`
	WillRetry bool              `json:"willRetry"`
}

type thinkingJSON struct {
	Type  string `json:"type"`
	Level string `json:"level"`
}

type messageJSON struct {
	Type    agent.EventType `json:"type"`
	Message json.RawMessage `json:"message"`
}

type turnEndJSON struct {
	Type    agent.EventType   `json:"type"`
	Message json.RawMessage   `json:"message"`
	Results []json.RawMessage `json:"toolResults"`
}

type retryJSON struct {
	Type    agent.EventType `json:"type"`
	Attempt int             `json:"attempt"`
	Max     int             `json:"maxAttempts"`
	Delay   int64           `json:"delayMs"`
	Error   string          `json:"errorMessage"`
}

type nameJSON struct {
	Type string `json:"type"`
	Name string `json:"name,omitempty"`
}

type queueUpdateJSON struct {
	Type     string   `json:"type"`
	Steering []string `json:"steering"`
	FollowUp []string `json:"followUp"`
}

func textsOf(all []session.Waiting) []string {
	out := make([]string, len(all))
	for i, w := range all {
		out[i] = w.Text
	}
	return out
}

// repeats reports whether the event after the end of a run begins another attempt.
func repeats(next *session.Event) bool {
	if next.Type == session.CompactionStart {
		c, _ := next.Data.(*session.CompactionInfo)
		return c != nil && (c.Reason == "overflow" || c.Reason == "incomplete")
	}
	return next.Type == session.RetryStart || next.Type == session.FallbackApplied || next.Type == session.Promoted
}

// settled writes agent_settled once nothing is running or queued: burin settles each message,
// the family only all of them together.
func (w *familyWriter) settled(e *session.Event) {
	t, _ := e.Data.(*session.SettledTurn)
	if t == nil || !w.ran && t.Reason == agent.ReasonAborted { // the message was taken back from the queue
		return
	}
	if w.h.Facts().Working {
		return
	}
	if q, err := w.h.Queue().Waiting(w.ctx); err == nil && !q.Held && len(q.Steering)+len(q.FollowUps) > 0 {
		return
	}
	w.ran = false
	w.put(typeJSON{e.Type})
}

// told is what was written of a block.
type told struct {
	begun, ended bool
	bytes        int // of its deltas
}

// complete writes the pieces of a finished answer that the feed has dropped: some clients show
// nothing but pieces.
func (w *familyWriter) complete(m *llm.Message) {
	if m == nil || m.Role != llm.RoleAssistant {
		return
	}
	for i, b := range m.Content {
		var start, delta, end llm.EventType
		text := ""
		switch b := b.(type) {
		case llm.Text:
			start, delta, end, text = llm.EventTextStart, llm.EventTextDelta, llm.EventTextEnd, b.Text
		case llm.Thinking:
			start, delta, end, text = llm.EventThinkingStart, llm.EventThinkingDelta, llm.EventThinkingEnd, b.Text
		case llm.ToolCall:
			start, delta, end, text = llm.EventToolCallStart, llm.EventToolCallDelta, llm.EventToolCallEnd, b.Arguments
		default:
			continue
		}
		t := *w.block(i)
		if !t.begun {
			w.piece(&llm.Event{Type: start, Index: i, Block: b})
		}
		if t.bytes < len(text) && !t.ended {
			w.piece(&llm.Event{Type: delta, Index: i, Delta: text[t.bytes:]})
		}
		if !t.ended {
			w.piece(&llm.Event{Type: end, Index: i, Block: b})
		}
	}
}

// block returns what was written of a block.
func (w *familyWriter) block(i int) *told {
	for len(w.told) <= i {
		w.told = append(w.told, told{})
	}
	return &w.told[i]
}

// note records what a piece contained.
func (w *familyWriter) note(e *llm.Event) {
	t := w.block(e.Index)
	switch e.Type {
	case llm.EventTextStart, llm.EventThinkingStart, llm.EventToolCallStart:
		t.begun = true
	case llm.EventTextEnd, llm.EventThinkingEnd, llm.EventToolCallEnd:
		t.ended = true
	}
	t.bytes += len(e.Delta)
}

// piece writes a piece of an answer. Most lines are pieces, so it avoids allocations.
func (w *familyWriter) piece(e *llm.Event) {
	switch e.Type {
	case llm.EventTextDelta, llm.EventThinkingDelta, llm.EventToolCallDelta:
		w.open(e)
		w.line = append(w.line, `,"delta":`...)
		w.line = append(w.line, encode(e.Delta)...)
	case llm.EventTextStart, llm.EventThinkingStart:
		w.open(e)
	case llm.EventToolCallStart:
		w.open(e)
		if c, ok := e.Block.(llm.ToolCall); ok {
			w.field("id", c.ID)
			w.field("toolName", c.Name)
		}
	case llm.EventTextEnd, llm.EventThinkingEnd:
		w.open(e)
		switch b := e.Block.(type) {
		case llm.Text:
			w.field("content", b.Text)
		case llm.Thinking:
			w.field("content", b.Text)
		}
	case llm.EventToolCallEnd:
		w.open(e)
		w.field("toolCall", blockOf(e.Block))
	default:
		return // only the provider understands it
	}
	w.line = append(w.line, "}}"...)
	w.out.put(w.line)
	w.note(e)
}

// open starts the line of a piece.
func (w *familyWriter) open(e *llm.Event) {
	w.line = append(w.line[:0], `{"type":"message_update",`+unused+`,"assistantMessageEvent":{"type":"`...)
	w.line = append(w.line, e.Type...)
	w.line = append(w.line, `","contentIndex":`...)
	w.line = strconv.AppendInt(w.line, int64(e.Index), 10)
}

func (w *familyWriter) field(name string, value any) {
	w.line = append(w.line, `,"`+name+`":`...)
	w.line = append(w.line, encode(value)...)
}

// blockOf encodes a block as it is in a message.
func blockOf(b llm.Block) json.RawMessage {
	var m struct {
		Content []json.RawMessage `json:"content"`
	}
	if json.Unmarshal(encode(llm.Message{Role: llm.RoleAssistant, Content: []llm.Block{b}}), &m) != nil || len(m.Content) != 1 {
		return json.RawMessage("null")
	}
	return m.Content[0]
}

type compactionEventJSON struct {
	Type      string          `json:"type"`
	Reason    string          `json:"reason"`
	Action    string          `json:"action,omitempty"`
	Result    *compactionJSON `json:"result,omitempty"`
	Aborted   *bool           `json:"aborted,omitempty"`
	WillRetry *bool           `json:"willRetry,omitempty"`
	Error     string          `json:"errorMessage,omitempty"`
}

// compaction writes the start or end of a compaction under both of its names.
func (w *familyWriter) compaction(e *session.Event) {
	c, _ := e.Data.(*session.CompactionInfo)
	if c == nil {
		return
	}
	j := compactionEventJSON{Reason: c.Reason, Action: c.Action}
	switch c.Reason {
	case "manual", "threshold", "overflow":
	case "incomplete":
		j.Reason = "overflow"
	default:
		j.Reason = "threshold"
	}
	name := "compaction_start"
	if e.Type == session.CompactionEnd {
		name = "compaction_end"
		done := !c.Aborted && c.Error == ""
		again := done && j.Reason == "overflow"
		j.Aborted, j.WillRetry, j.Error = &c.Aborted, &again, c.Error
		if done {
			j.Result = &compactionJSON{Summary: c.Summary, Before: c.Before, After: c.After}
			if entry, err := w.h.Transcript().Entry(e.EntryID); err == nil && e.EntryID != "" {
				j.Result.Summary, j.Result.FirstKept, j.Result.Details = entry.Summary, entry.FirstKeptID, entry.Details
			}
		}
	}
	j.Type = "auto_" + name
	w.put(j)
	j.Type, j.Action = name, ""
	w.put(j)
}

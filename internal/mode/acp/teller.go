package acp

import (
	"context"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/burin-dev/burin/agent"
	proto "github.com/burin-dev/burin/internal/acp"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/tool/todo"
)

// Kinds of pieces of messages.
const (
	chunkUser    = "user_message_chunk"
	chunkAgent   = "agent_message_chunk"
	chunkThought = "agent_thought_chunk"
)

// maxPicture is the largest picture that is sent to the client.
const maxPicture = 4 << 20

// teller translates the events of a session into updates. Only the goroutine that follows the
// session uses it.
type teller struct {
	handle session.Handle
	places places
	client *proto.InitializeRequest
	own    func(id string) bool // reports whether this client sent a message

	tellings map[agent.EventType]telling

	seq      uint64 // of the previous event
	answer   *answer
	calls    map[string]*call
	replayed map[string]bool // entries that were sent when the session was loaded
	command  *command        // the person's own command that is running
	now      func() time.Time
}

// answer is what was sent of a message that is being written.
type answer struct {
	id   string
	sent map[int]*strings.Builder // by block
	gap  bool                     // pieces are missing; the whole message fills them in
}

// command is a person's own command.
type command struct {
	id, output string
}

func newTeller(h session.Handle, dir string, client *proto.InitializeRequest, own func(string) bool) *teller {
	return &teller{handle: h, tellings: tellings(), places: places{dir}, client: client, own: own, calls: map[string]*call{}, replayed: map[string]bool{}, now: time.Now}
}

// telling translates one type of event; nil: it has no update.
type telling func(t *teller, ctx context.Context, e *session.Event) []any

// tellings has all types of events, so that a new one is not forgotten. Nil are those without
// an update; questions, options and the ends of prompts are requests and responses, which
// [live.happened] sends.
func tellings() map[agent.EventType]telling {
	return map[agent.EventType]telling{
		agent.AgentStart: nil, agent.AgentEnd: nil, agent.TurnStart: nil, agent.TurnEnd: nil,
		agent.MessageStart: (*teller).messageStart, agent.MessageUpdate: (*teller).messageUpdate, agent.MessageEnd: (*teller).messageEnd,
		agent.ToolStart: (*teller).toolStart, agent.ToolUpdate: (*teller).toolUpdate, agent.ToolEnd: (*teller).toolEnd,
		session.AgentSettled:  (*teller).settled,
		session.QuestionAsked: nil, session.QuestionSettled: nil, session.QueueChanged: nil, session.AgentChanged: nil,
		session.RetryStart: (*teller).retryStart, session.RetryEnd: nil,
		session.FallbackApplied: (*teller).otherModel, session.Promoted: (*teller).otherModel,
		session.CompactionStart: (*teller).compaction, session.CompactionEnd: (*teller).compaction, session.Pruned: nil, session.CacheReport: nil,
		session.ModelChanged: nil, session.ThinkingChanged: nil, session.ModeChanged: (*teller).modeChanged,
		session.PolicyChanged: nil, session.ToolsChanged: nil, session.GoalChanged: nil, session.PlanChanged: nil, session.PinsChanged: nil,
		session.TodosChanged: func(t *teller, ctx context.Context, _ *session.Event) []any { return t.plan(ctx) },
		session.TitleChanged: (*teller).titleChanged,
		session.LabelChanged: nil,
		session.TreeMoved:    func(t *teller, ctx context.Context, _ *session.Event) []any { return t.plan(ctx) },
		session.Rewound:      (*teller).rewound, session.AdvisorSpoke: (*teller).advised,
		session.ConsoleOpened: (*teller).consoleOpened, session.ConsoleClosed: nil, session.JobsChanged: nil, session.TasksChanged: nil,
		session.CommandStart: (*teller).commandStart, session.CommandOutput: (*teller).commandOutput, session.CommandEnd: (*teller).commandEnd,
		session.RulesTriggered: nil,
		session.CostCounted:    func(t *teller, _ context.Context, _ *session.Event) []any { return t.usage() },
		session.Warning:        (*teller).warning,
		session.OwnerChanged:   nil, session.EventsLost: nil,
	}
}

// translate returns the updates for an event.
func (t *teller) translate(ctx context.Context, e *session.Event) []any {
	if e.Seq != 0 {
		if t.answer != nil && t.seq != 0 && e.Seq != t.seq+1 {
			t.answer.gap = true
		}
		t.seq = e.Seq
	}
	if tell := t.tellings[e.Type]; tell != nil {
		return tell(t, ctx, e)
	}
	return nil
}

func (t *teller) messageStart(_ context.Context, e *session.Event) []any {
	if e.Message != nil && e.Message.Role == llm.RoleAssistant {
		t.answer = newAnswer(e.Seq)
	}
	return nil
}

func newAnswer(seq uint64) *answer {
	return &answer{id: "live-" + strconv.FormatUint(seq, 10), sent: map[int]*strings.Builder{}}
}

// piece records a piece of an answer and reports whether to send it.
func (a *answer) piece(block int, text string) bool {
	if a.gap || text == "" {
		return false
	}
	b := a.sent[block]
	if b == nil {
		b = new(strings.Builder)
		a.sent[block] = b
	}
	b.WriteString(text)
	return true
}

// rest returns the part of a block that was not sent yet.
func (a *answer) rest(block int, whole string) string {
	b := a.sent[block]
	if b == nil {
		return whole
	}
	if rest, ok := strings.CutPrefix(whole, b.String()); ok {
		return rest
	}
	if a.gap {
		return whole[min(b.Len(), len(whole)):]
	}
	return "" // secrets are hidden differently in pieces and in the whole
}

func (t *teller) messageUpdate(_ context.Context, e *session.Event) []any {
	if t.answer == nil { // the answer began before the feed
		t.answer = newAnswer(e.Seq)
		t.answer.gap = true
	}
	s := &e.Stream
	switch s.Type {
	case llm.EventTextDelta:
		if t.answer.piece(s.Index, s.Delta) {
			return []any{chunk(chunkAgent, s.Delta, t.answer.id)}
		}
	case llm.EventThinkingDelta:
		if t.answer.piece(s.Index, s.Delta) {
			return []any{chunk(chunkThought, s.Delta, t.answer.id)}
		}
	case llm.EventToolCallStart:
		if c, ok := s.Block.(llm.ToolCall); ok {
			return t.announce(c.ID, c.Name, "", "")
		}
	case llm.EventToolCallEnd:
		if c, ok := s.Block.(llm.ToolCall); ok {
			return t.announce(c.ID, c.Name, "", c.Arguments)
		}
	}
	return nil
}

func chunk(kind, text, id string) proto.Chunk {
	return proto.Chunk{Kind: kind, Content: proto.Text(text), MessageID: id}
}

func (t *teller) messageEnd(_ context.Context, e *session.Event) []any {
	m := e.Message
	if m == nil || t.replayed[e.EntryID] {
		return nil
	}
	switch m.Role {
	case llm.RoleAssistant:
		a := t.answer
		t.answer = nil
		if a == nil {
			a = newAnswer(e.Seq)
		}
		return append(t.said(m, a), t.usage()...)
	case llm.RoleUser:
		if t.own(e.Turn) {
			return nil // the client shows its own prompts
		}
		return blocks(chunkUser, m.Content, e.EntryID)
	case llm.RoleCustom:
		if m.Display {
			return blocks(chunkAgent, m.Content, e.EntryID)
		}
	}
	return nil
}

// said returns what was not sent of an answer yet.
func (t *teller) said(m *llm.Message, a *answer) (all []any) {
	for i, b := range m.Content {
		switch b := b.(type) {
		case llm.Text:
			if rest := a.rest(i, b.Text); rest != "" {
				all = append(all, chunk(chunkAgent, rest, a.id))
			}
		case llm.Thinking:
			if rest := a.rest(i, b.Text); rest != "" {
				all = append(all, chunk(chunkThought, rest, a.id))
			}
		case llm.ToolCall:
			all = append(all, t.announce(b.ID, b.Name, "", b.Arguments)...)
		case llm.Image:
			all = append(all, blocks(chunkAgent, []llm.Block{b}, a.id)...)
		}
	}
	return all
}

// blocks turns content into chunks.
func blocks(kind string, content []llm.Block, id string) (all []any) {
	for _, b := range content {
		if c := block(b); c != nil {
			all = append(all, proto.Chunk{Kind: kind, Content: c, MessageID: id})
		}
	}
	return all
}

// block turns a block into one of the protocol; nil: the protocol has none for it.
func block(b llm.Block) any {
	switch b := b.(type) {
	case llm.Text:
		if b.Text != "" {
			return proto.Text(b.Text)
		}
	case llm.Image:
		if len(b.Data) > 0 && len(b.Data) <= maxPicture {
			return proto.ContentBlock{Type: "image", MimeType: b.MIME, Data: base64.StdEncoding.EncodeToString(b.Data)}
		}
		return proto.Text("[a picture]")
	case llm.Document:
		return proto.Text("[" + b.Name + "]")
	}
	return nil
}

// usage reports how full the context is, if the size of the window is known.
func (t *teller) usage() []any {
	s := t.handle.Facts().Stats
	if s.Window <= 0 {
		return nil
	}
	u := proto.UsageUpdate{Kind: "usage_update", Used: max(0, s.Context), Size: s.Window}
	if s.Known {
		u.Cost = &proto.Cost{Amount: s.Cost.Float(), Currency: "USD"}
	}
	return []any{u}
}

// plan sends the list of tasks, if there is one.
func (t *teller) plan(ctx context.Context) []any {
	phases, err := t.handle.Work().Todos(ctx)
	if err != nil {
		return nil
	}
	return planOf(phases)
}

func planOf(phases []todo.Phase) []any {
	entries := []proto.PlanEntry{}
	for _, p := range phases {
		for _, task := range p.Tasks {
			e := proto.PlanEntry{Content: task.Content, Priority: "medium", Status: "pending"}
			switch task.Status {
			case todo.InProgress:
				e.Status, e.Priority = "in_progress", "high"
			case todo.Completed:
				e.Status = "completed"
			case todo.Abandoned:
				continue // the protocol has no status for an abandoned task
			}
			entries = append(entries, e)
		}
	}
	if len(entries) == 0 && len(phases) == 0 {
		return nil
	}
	return []any{proto.Plan{Kind: "plan", Entries: entries}}
}

// settled marks calls that never ran as failed, such as those of a stopped answer.
func (t *teller) settled(context.Context, *session.Event) (all []any) {
	for id := range t.calls {
		all = append(all, proto.ToolCall{Kind: "tool_call_update", ToolCallID: id, Status: proto.ToolFailed})
		delete(t.calls, id)
	}
	return all
}

func (t *teller) retryStart(_ context.Context, e *session.Event) []any {
	if r, ok := e.Data.(*session.RetryInfo); ok {
		return t.notice("info", "The request failed; retrying: "+r.Error)
	}
	return nil
}

func (t *teller) otherModel(_ context.Context, e *session.Event) []any {
	if c, ok := e.Data.(*session.Change); ok {
		return t.notice("info", c.To+" takes over from "+c.From+".")
	}
	return nil
}

func (t *teller) rewound(_ context.Context, e *session.Event) []any {
	if r, ok := e.Data.(*session.Rewind); ok {
		return t.notice("info", fmt.Sprintf("Rewound to the checkpoint: %s left behind. Files stay as they are.", prose.Count(r.Messages, "message")))
	}
	return nil
}

func (t *teller) advised(_ context.Context, e *session.Event) []any {
	if e.Text == "" {
		return nil
	}
	return t.notice("info", "Advisor: "+e.Text)
}

// warning passes on a warning from the owner of the session. In the owner itself, Wish.Warn
// does.
func (t *teller) warning(_ context.Context, e *session.Event) []any {
	if t.handle.Owns() {
		return nil
	}
	return t.notice("warning", e.Text)
}

func (t *teller) notice(severity, text string) []any {
	if s := t.client.ClientCapabilities.Session; s == nil || s.Notices == nil || text == "" {
		return nil
	}
	return []any{proto.Notice{Kind: "notice", Severity: severity, Title: text}}
}

func (t *teller) compaction(_ context.Context, e *session.Event) []any {
	c, ok := e.Data.(*session.CompactionInfo)
	if s := t.client.ClientCapabilities.Session; !ok || s == nil || s.Compaction == nil {
		return nil
	}
	u := proto.Compaction{Kind: "compaction_update", CompactionID: "compaction", Status: "in_progress"}
	if e.Type == session.CompactionEnd {
		switch {
		case c.Aborted:
			u.Status = "cancelled"
		case c.Error != "":
			u.Status, u.Error = "failed", c.Error
		default:
			u.Status = "completed"
			if c.Summary != "" {
				u.Summary = []any{proto.Text(c.Summary)}
			}
		}
		return append([]any{u}, t.usage()...)
	}
	return []any{u}
}

func (t *teller) modeChanged(_ context.Context, e *session.Event) []any {
	return []any{proto.CurrentMode{Kind: "current_mode_update", CurrentModeID: e.Text}}
}

func (t *teller) titleChanged(_ context.Context, e *session.Event) []any {
	return []any{proto.InfoUpdate{Kind: "session_info_update", Title: e.Text, UpdatedAt: t.now().UTC().Format(time.RFC3339)}}
}

// consoleOpened sends nothing: see [terminals]. What the program writes is not sent as text then.
func (t *teller) consoleOpened(_ context.Context, e *session.Event) []any {
	if p, ok := e.Data.(*session.Console); ok && t.client.ClientCapabilities.Terminal && t.calls[p.CallID] != nil {
		t.calls[p.CallID].terminal = true
	}
	return nil
}

func (t *teller) commandStart(_ context.Context, e *session.Event) []any {
	t.command = &command{id: "command-" + strconv.FormatUint(e.Seq, 10)}
	return []any{proto.ToolCall{Kind: "tool_call", ToolCallID: t.command.id, Title: e.Text, ToolKind: "execute", Status: proto.ToolRunning}}
}

func (t *teller) commandOutput(_ context.Context, e *session.Event) []any {
	if t.command == nil {
		return nil
	}
	t.command.output = tail(t.command.output + e.Text)
	return []any{proto.ToolCall{Kind: "tool_call_update", ToolCallID: t.command.id, Content: []any{fenced(t.command.output)}}}
}

func (t *teller) commandEnd(context.Context, *session.Event) []any {
	c := t.command
	if t.command = nil; c == nil {
		return nil
	}
	return []any{proto.ToolCall{Kind: "tool_call_update", ToolCallID: c.id, Status: proto.ToolCompleted}}
}

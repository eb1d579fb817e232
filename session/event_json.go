package session

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/tool"
)

// EventVersion is the version of the events' JSON. It changes when a program that reads the
// previous version could misread an event.
const EventVersion = 1

// EventHead is the first line of a stream of events: it names the version of the events. It
// is not an event, and has no number.
func EventHead() []byte {
	return fmt.Appendf(nil, `{"type":"burin","version":%d}`, EventVersion)
}

// shape describes how events of one type are written and read. [Event.MarshalJSON],
// [Event.UnmarshalJSON] and docs/events.md are based on its table.
type shape struct {
	typ   agent.EventType
	about string // when it comes
	// payload is a value of the type whose fields the event has in addition to the common
	// ones; nil if it has none.
	payload any
	write   func(e *Event) any
	read    func(e *Event, raw []byte) error
}

// of returns the shape of events whose payload is a P.
func of[P any](typ agent.EventType, about string, from func(*Event) P, into func(*Event, P)) shape {
	return shape{
		typ: typ, about: about, payload: *new(P),
		write: func(e *Event) any { return from(e) },
		read: func(e *Event, raw []byte) error {
			var p P
			if err := json.Unmarshal(raw, &p); err != nil {
				return err
			}
			into(e, p)
			return nil
		},
	}
}

// data returns the shape of events whose Data is a *P.
func data[P any](typ agent.EventType, about string) shape {
	s := of(typ, about,
		func(e *Event) *P { p, _ := e.Data.(*P); return p },
		func(e *Event, p *P) { e.Data = p })
	s.payload = *new(P)
	return s
}

// plain returns the shape of events that have only the common fields.
func plain(typ agent.EventType, about string) shape { return shape{typ: typ, about: about} }

// shapes are all events, in the order of docs/events.md.
var shapes = []shape{
	plain(agent.AgentStart, "A run starts."),
	of(agent.AgentEnd, "A run ended. If a policy continues (a retry, a reminder), that is another run of the same turn.", writeEnd, readEnd),
	data[SettledTurn](AgentSettled, "These messages are done. Every submitted message gets exactly one."),
	plain(agent.TurnStart, "A request to the model starts."),
	of(agent.TurnEnd, "An answer and the results of its calls are complete.",
		func(e *Event) turnEndJSON { return turnEndJSON{e.Message, listOf(e.ToolResults)} },
		func(e *Event, p turnEndJSON) { e.Message, e.ToolResults = p.Message, p.ToolResults }),
	of(agent.MessageStart, "A message starts.", writeMessage, readMessage),
	of(agent.MessageUpdate, "A piece of an answer. Slow readers miss some; message_end has the whole message.",
		func(e *Event) updateJSON { return updateJSON{streamOf(&e.Stream)} },
		func(e *Event, p updateJSON) { e.Stream = p.Stream.event() }),
	of(agent.MessageEnd, "A message is complete, and in the transcript as entryId.", writeMessage, readMessage),
	of(agent.ToolStart, "A tool call starts.", writeCall, readCall),
	of(agent.ToolUpdate, "The result of a call so far.",
		func(e *Event) toolUpdateJSON { return toolUpdateJSON{writeCall(e), resultOf(e.Result)} },
		func(e *Event, p toolUpdateJSON) { readCall(e, p.callJSON); e.Result = p.Partial.result(false) }),
	of(agent.ToolEnd, "A call ended.",
		func(e *Event) toolEndJSON {
			return toolEndJSON{writeCall(e), resultOf(e.Result), e.Result != nil && e.Result.IsError, e.Elapsed.Milliseconds()}
		},
		func(e *Event, p toolEndJSON) {
			readCall(e, p.callJSON)
			e.Result, e.Elapsed = p.Result.result(p.IsError), time.Duration(p.ElapsedMS)*time.Millisecond
		}),

	of(QuestionAsked, "burin asks the user. A face that may answer does so with the id.",
		func(e *Event) questionJSON { q, _ := e.Data.(*Question); return questionJSON{q} },
		func(e *Event, p questionJSON) { e.Data = p.Question }),
	data[Settled](QuestionSettled, "A question is settled: answered, canceled or timed out."),
	data[Queued](QueueChanged, "The queue of messages for the model changed."),

	of(RetryStart, "A request failed and will be retried.", writeRetry, readRetry),
	of(RetryEnd, "Retrying ended.",
		func(e *Event) retryEndJSON {
			r, _ := e.Data.(*RetryInfo)
			if r == nil {
				return retryEndJSON{}
			}
			return retryEndJSON{r.Success, r.Attempt, r.Error}
		},
		func(e *Event, p retryEndJSON) {
			e.Data = &RetryInfo{Success: p.Success, Attempt: p.Attempt, Error: p.Error}
		}),
	data[Triggered](RulesTriggered, "Stream rules apply to what the model wrote: it reads them, and answers again if its answer was stopped."),
	of(FallbackApplied, "Another model takes over because the first one keeps failing.", writeChange, readChange),
	of(Promoted, "A larger model takes over because the conversation has outgrown the first one.", writeChange, readChange),
	data[CompactionInfo](CompactionStart, "Compaction starts."),
	data[CompactionInfo](CompactionEnd, "Compaction ended; entryId is its entry."),
	data[CompactionInfo](Pruned, "Old outputs were shortened."),
	of(CacheReport, "How much of a request was in the provider's cache.",
		func(e *Event) cacheJSON { c, _ := e.Data.(*CacheInfo); return cacheJSON{c} },
		func(e *Event, p cacheJSON) { e.Data = p.Cache }),

	of(ModelChanged, "The user chose another model.", writeChange, readChange),
	plain(ThinkingChanged, "The thinking level changed; text is the level."),
	plain(ModeChanged, "The approval mode changed; text is its name."),
	data[Policy](PolicyChanged, "The session's policies changed: automatic retry and compaction, and how it takes messages."),
	plain(ToolsChanged, "The offered tools changed; text has their names."),
	of(GoalChanged, "The goal changed; text is its state, and is missing if there is no goal.",
		func(e *Event) goalJSON { g, _ := e.Data.(*Goal); return goalJSON{g} },
		func(e *Event, p goalJSON) { e.Data = p.Goal }),
	of(PlanChanged, "The model handed over a plan, or its state changed; text is its state: proposed, approved or done.",
		func(e *Event) planJSON { p, _ := e.Data.(*Plan); return planJSON{p} },
		func(e *Event, p planJSON) { e.Data = p.Plan }),
	plain(PinsChanged, "The pins changed."),
	plain(TodosChanged, "The user changed the todos."),
	data[Console](ConsoleOpened, "A program that a call started has a terminal, where the user can watch and type."),
	data[Console](ConsoleClosed, "That program ended."),
	plain(JobsChanged, "A background command started or ended."),
	data[Agent](AgentChanged, "A sub-agent started, got on, or ended; at most seven times a second for each."),
	plain(TasksChanged, "The list of tasks that the session shares with its sub-agents changed."),
	plain(TitleChanged, "The session's title changed; text is the title."),
	plain(LabelChanged, "The label of the entry entryId changed; text is the label, and is missing if it was removed."),
	plain(TreeMoved, "The conversation continues after the entry entryId; text is a prompt to edit and send again."),
	data[Rewind](Rewound, "The model went back to its checkpoint; entryId is its report, which follows the checkpoint."),
	data[Advised](AdvisorSpoke, "The advisor has read what the model did for a prompt; text is its remark, and is missing if it has none. The model reads the remark next."),
	plain(CommandStart, "A command of the user's own starts; text is the command."),
	plain(CommandOutput, "A piece of its output."),
	plain(CommandEnd, "It ended; entryId is its entry, and is missing if it didn't run."),
	plain(CostCounted, "After a resume: requests, tokens and cost now include what came before."),
	plain(Warning, "Something the user should know."),

	data[Owner](OwnerChanged, "The first event of an epoch: readers from before continue from these entries."),
	data[Lost](EventsLost, "This reader was too slow, or its cursor is from another epoch: read the transcript instead. It has no seq."),
}

// shapeOf finds the shape of a type; nil if there is none.
func shapeOf(typ agent.EventType) *shape {
	for i := range shapes {
		if shapes[i].typ == typ {
			return &shapes[i]
		}
	}
	return nil
}

// headJSON has the common fields.
type headJSON struct {
	Type    agent.EventType `json:"type"`
	Seq     uint64          `json:"seq,omitempty"`
	EntryID string          `json:"entryId,omitempty"`
	Turn    string          `json:"turn,omitempty"`
	Text    string          `json:"text,omitempty"`
}

// MarshalJSON writes the event as one object without newlines, as docs/events.md describes.
func (e Event) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(headJSON{e.Type, e.Seq, e.EntryID, e.Turn, e.Text}); err != nil {
		return nil, err
	}
	s := shapeOf(e.Type)
	if s == nil || s.write == nil {
		return b.Bytes()[:b.Len()-1], nil
	}
	head := b.Len() - 2 // without "}" and the end of the line
	b.Truncate(head)
	if err := enc.Encode(s.write(&e)); err != nil {
		return nil, err
	}
	out := b.Bytes()[:b.Len()-1]
	switch string(out[head:]) {
	case "{}", "null":
		return append(out[:head], '}'), nil
	}
	out[head] = ',' // replaces "{"
	return out, nil
}

// UnmarshalJSON reads what MarshalJSON writes. Of an event of unknown type it keeps the common
// fields.
func (e *Event) UnmarshalJSON(raw []byte) error {
	var h headJSON
	if err := json.Unmarshal(raw, &h); err != nil {
		return fmt.Errorf("read event: %w", err)
	}
	*e = Event{Seq: h.Seq, Event: agent.Event{Type: h.Type}, EntryID: h.EntryID, Turn: h.Turn, Text: h.Text}
	if s := shapeOf(h.Type); s != nil && s.read != nil {
		if err := s.read(e, raw); err != nil {
			return fmt.Errorf("read event %s: %w", h.Type, err)
		}
	}
	return nil
}

type messageJSON struct {
	Message *llm.Message `json:"message,omitempty"`
}

func writeMessage(e *Event) messageJSON   { return messageJSON{e.Message} }
func readMessage(e *Event, p messageJSON) { e.Message = p.Message }

type turnEndJSON struct {
	Message     *llm.Message  `json:"message,omitempty"` // missing if there was no answer
	ToolResults []llm.Message `json:"toolResults"`
}

// listOf is never null in JSON.
func listOf(messages []llm.Message) []llm.Message {
	if messages == nil {
		return []llm.Message{}
	}
	return messages
}

// endJSON is an outcome.
type endJSON struct {
	Messages []llm.Message `json:"messages"` // what the run added, the newest 1,000
	Reason   agent.Reason  `json:"reason,omitempty"`
	Error    string        `json:"error,omitempty"`
	Failure  *Failure      `json:"failure,omitempty"` // the error, for programs
	Turns    int           `json:"turns,omitempty"`   // requests
	Usage    *llm.Usage    `json:"usage,omitempty"`
}

func writeEnd(e *Event) endJSON { return endOf(e.Outcome, e.Messages) }

func endOf(o *agent.Outcome, messages []llm.Message) endJSON {
	p := endJSON{Messages: listOf(messages)}
	if o == nil {
		return p
	}
	p.Reason, p.Turns = o.Reason, o.Turns
	if o.Err != nil {
		p.Error, p.Failure = o.Err.Error(), FailureOf(o.Err)
		p.Failure.Message = "" // Error already has it
	}
	if o.Usage != (llm.Usage{}) {
		p.Usage = &o.Usage
	}
	return p
}

func readEnd(e *Event, p endJSON) {
	e.Messages = p.Messages
	if p.Reason != "" {
		o := p.outcome()
		e.Outcome = &o
	}
}

func (p endJSON) outcome() agent.Outcome {
	o := agent.Outcome{Reason: p.Reason, Turns: p.Turns, Messages: p.Messages}
	if p.Failure != nil {
		p.Failure.Message = p.Error
		o.Err = p.Failure.Err()
	} else if p.Error != "" {
		o.Err = errors.New(p.Error)
	}
	if p.Usage != nil {
		o.Usage = *p.Usage
	}
	return o
}

type updateJSON struct {
	Stream streamJSON `json:"assistantMessageEvent"`
}

// streamJSON has only the delta, not the message so far, so that the output doesn't grow with
// the square of the answer.
type streamJSON struct {
	Type         llm.EventType   `json:"type"`
	ContentIndex int             `json:"contentIndex"`
	Delta        string          `json:"delta,omitempty"`
	Content      string          `json:"content,omitempty"`  // of text_end and thinking_end
	ToolCall     *callLineJSON   `json:"toolCall,omitempty"` // of toolcall_start and toolcall_end
	Block        json.RawMessage `json:"block,omitempty"`    // the whole block, if it has more than that
}

type callLineJSON struct {
	ID        string     `json:"id"`
	Name      string     `json:"name"`
	Arguments string     `json:"arguments,omitempty"` // as the model wrote them
	Defect    llm.Defect `json:"defect,omitempty"`
}

func streamOf(ev *llm.Event) streamJSON {
	s := streamJSON{Type: ev.Type, ContentIndex: ev.Index, Delta: ev.Delta}
	more := false
	switch b := ev.Block.(type) {
	case nil:
	case llm.Text:
		s.Content, more = b.Text, b.Signature != "" || b.Citations != nil
	case llm.Thinking:
		s.Content, more = b.Text, b.Signature != "" || b.Redacted
	case llm.ToolCall:
		s.ToolCall, more = &callLineJSON{ID: b.ID, Name: b.Name, Arguments: b.Arguments, Defect: b.Defect}, b.Signature != ""
	default:
		more = true
	}
	if more {
		s.Block = blockJSON(ev.Block)
	}
	return s
}

func (s *streamJSON) event() llm.Event {
	ev := llm.Event{Type: s.Type, Index: s.ContentIndex, Delta: s.Delta}
	switch {
	case s.Block != nil:
		if blocks := blocksOf(append(append([]byte("["), s.Block...), ']')); len(blocks) == 1 {
			ev.Block = blocks[0]
		}
	case s.ToolCall != nil:
		ev.Block = llm.ToolCall{ID: s.ToolCall.ID, Name: s.ToolCall.Name, Arguments: s.ToolCall.Arguments, Defect: s.ToolCall.Defect}
	case s.Type == llm.EventTextStart, s.Type == llm.EventTextEnd:
		ev.Block = llm.Text{Text: s.Content}
	case s.Type == llm.EventThinkingStart, s.Type == llm.EventThinkingEnd:
		ev.Block = llm.Thinking{Text: s.Content}
	}
	return ev
}

type callJSON struct {
	ID        string          `json:"toolCallId"`
	Name      string          `json:"toolName"`
	Label     string          `json:"label,omitempty"` // for users
	Arguments json.RawMessage `json:"args"`
}

func writeCall(e *Event) callJSON {
	p := callJSON{Label: e.Label, Arguments: json.RawMessage("{}")}
	if c := e.Call; c != nil {
		p.ID, p.Name = c.ID, c.Name
		if len(c.Arguments) > 0 {
			p.Arguments = c.Arguments
		}
	}
	return p
}

func readCall(e *Event, p callJSON) {
	e.Label, e.Call = p.Label, &tool.Call{ID: p.ID, Name: p.Name, Arguments: p.Arguments}
}

type toolUpdateJSON struct {
	callJSON
	Partial *resultJSON `json:"partialResult,omitempty"`
}

type toolEndJSON struct {
	callJSON
	Result    *resultJSON `json:"result,omitempty"`
	IsError   bool        `json:"isError"`
	ElapsedMS int64       `json:"elapsedMs"`
}

type resultJSON struct {
	Content json.RawMessage `json:"content"`
	Details json.RawMessage `json:"details,omitempty"`
	Final   bool            `json:"final,omitempty"` // the result ends the run
}

func resultOf(r *tool.Result) *resultJSON {
	if r == nil {
		return nil
	}
	return &resultJSON{contentJSON(r.Content), r.Details, r.Final}
}

func (p *resultJSON) result(isError bool) *tool.Result {
	if p == nil {
		return nil
	}
	return &tool.Result{Content: blocksOf(p.Content), Details: p.Details, Final: p.Final, IsError: isError}
}

// contentJSON writes blocks as in a message.
func contentJSON(blocks []llm.Block) json.RawMessage {
	var part struct {
		Content json.RawMessage `json:"content"`
	}
	raw, err := llm.Message{Role: llm.RoleCustom, Content: blocks}.MarshalJSON()
	if err == nil {
		err = json.Unmarshal(raw, &part)
	}
	if err != nil {
		return json.RawMessage("[]") // blocks can always be marshaled
	}
	return part.Content
}

func blockJSON(b llm.Block) json.RawMessage {
	list := contentJSON([]llm.Block{b})
	return list[1 : len(list)-1]
}

func blocksOf(content json.RawMessage) []llm.Block {
	var m llm.Message
	raw := append(append([]byte(`{"role":"custom","content":`), content...), '}')
	if json.Unmarshal(raw, &m) != nil {
		return nil
	}
	return m.Content
}

func writeRetry(e *Event) RetryInfo {
	r, _ := e.Data.(*RetryInfo)
	if r == nil {
		return RetryInfo{}
	}
	return *r
}

func readRetry(e *Event, r RetryInfo) {
	r.Delay = time.Duration(r.DelayMS) * time.Millisecond
	e.Data = &r
}

type retryEndJSON struct {
	Success bool   `json:"success"` // there was an answer
	Attempt int    `json:"attempt"`
	Error   string `json:"finalError,omitempty"`
}

type changeJSON struct {
	Change *Change `json:"change,omitempty"`
}

func writeChange(e *Event) changeJSON   { c, _ := e.Data.(*Change); return changeJSON{c} }
func readChange(e *Event, p changeJSON) { e.Data = p.Change }

type questionJSON struct {
	Question *Question `json:"question,omitempty"`
}

type cacheJSON struct {
	Cache *CacheInfo `json:"cache,omitempty"`
}

type goalJSON struct {
	Goal *Goal `json:"goal,omitempty"`
}

type planJSON struct {
	Plan *Plan `json:"plan,omitempty"`
}

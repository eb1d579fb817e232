package agent

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/tool"
)

// EventType names an event.
type EventType string

const (
	AgentStart    EventType = "agent_start"
	AgentEnd      EventType = "agent_end" // Messages, Outcome
	TurnStart     EventType = "turn_start"
	TurnEnd       EventType = "turn_end"              // Message, nil if there was no answer, and its ToolResults
	MessageStart  EventType = "message_start"         // Message
	MessageUpdate EventType = "message_update"        // Stream
	MessageEnd    EventType = "message_end"           // Message, which is now part of the conversation
	ToolStart     EventType = "tool_execution_start"  // Call
	ToolUpdate    EventType = "tool_execution_update" // Call, Result (partial)
	ToolEnd       EventType = "tool_execution_end"    // Call, Result, Elapsed
)

// Event is something that happened. Its JSON is a line of print's and RPC's
// output. What its pointers lead to is for reading.
type Event struct {
	Type        EventType
	Message     *llm.Message
	Stream      llm.Event // of MessageUpdate
	Call        *tool.Call
	Label       string // of tool events: the tool's label
	Result      *tool.Result
	Elapsed     time.Duration // of ToolEnd: how long the tool ran; 0 if it did not
	ToolResults []llm.Message
	Messages    []llm.Message
	Outcome     *Outcome
}

// line is an event as JSON. Updates carry the delta alone, not the message so
// far, so that the output does not grow with the square of the answer.
type line struct {
	Type    EventType    `json:"type"`
	Message *llm.Message `json:"message,omitempty"`
	Stream  *streamLine  `json:"assistantMessageEvent,omitempty"`

	CallID        string          `json:"toolCallId,omitempty"`
	ToolName      string          `json:"toolName,omitempty"`
	Label         string          `json:"label,omitempty"`
	Arguments     json.RawMessage `json:"args,omitempty"`
	PartialResult *resultLine     `json:"partialResult,omitempty"`
	Result        *resultLine     `json:"result,omitempty"`
	IsError       *bool           `json:"isError,omitempty"`
	ElapsedMS     *int64          `json:"elapsedMs,omitempty"`

	ToolResults *[]llm.Message `json:"toolResults,omitempty"`
	Messages    *[]llm.Message `json:"messages,omitempty"`
	Reason      Reason         `json:"reason,omitempty"`
	Error       string         `json:"error,omitempty"`
	Turns       int            `json:"turns,omitempty"`
	Usage       *llm.Usage     `json:"usage,omitempty"`
}

type streamLine struct {
	Type         llm.EventType `json:"type"`
	ContentIndex int           `json:"contentIndex"`
	Delta        string        `json:"delta,omitempty"`
	Content      string        `json:"content,omitempty"`  // of text_end and thinking_end
	ToolCall     *callLine     `json:"toolCall,omitempty"` // of toolcall_start and toolcall_end
}

type callLine struct {
	ID        string     `json:"id"`
	Name      string     `json:"name"`
	Arguments string     `json:"arguments,omitempty"` // as the model wrote them
	Defect    llm.Defect `json:"defect,omitempty"`
}

type resultLine struct {
	Content json.RawMessage `json:"content"`
	Details json.RawMessage `json:"details,omitempty"`
}

// MarshalJSON writes the event as one object without line ends: its type and
//
//   - message_start, message_end: message;
//   - message_update: assistantMessageEvent with type, contentIndex, and delta,
//     content or toolCall;
//   - tool_execution_start: toolCallId, toolName, label, args; _update has a
//     partialResult and _end a result, of content and details, isError and
//     elapsedMs besides;
//   - turn_end: message and toolResults;
//   - agent_end: messages, reason, error, turns and usage.
func (e Event) MarshalJSON() ([]byte, error) {
	l := line{Type: e.Type, Message: e.Message, Label: e.Label}
	switch e.Type {
	case MessageUpdate:
		l.Stream = streamOf(e.Stream)
	case TurnEnd:
		l.ToolResults = listOf(e.ToolResults)
	case AgentEnd:
		l.Messages = listOf(e.Messages)
		l.outcome(e.Outcome)
	}
	if e.Call != nil {
		if err := l.call(e); err != nil {
			return nil, err
		}
	}
	return marshal(l)
}

func (l *line) outcome(o *Outcome) {
	if o == nil {
		return
	}
	l.Reason, l.Turns = o.Reason, o.Turns
	if o.Err != nil {
		l.Error = o.Err.Error()
	}
	if o.Usage != (llm.Usage{}) {
		l.Usage = &o.Usage
	}
}

func (l *line) call(e Event) error {
	l.CallID, l.ToolName, l.Arguments = e.Call.ID, e.Call.Name, e.Call.Arguments
	if len(l.Arguments) == 0 {
		l.Arguments = json.RawMessage("{}")
	}
	if e.Result == nil {
		return nil
	}
	content, err := contentOf(e.Result.Content)
	if err != nil {
		return err
	}
	result := &resultLine{Content: content, Details: e.Result.Details}
	if e.Type == ToolUpdate {
		l.PartialResult = result
		return nil
	}
	l.Result = result
	l.IsError = &e.Result.IsError
	took := e.Elapsed.Milliseconds()
	l.ElapsedMS = &took
	return nil
}

func streamOf(ev llm.Event) *streamLine {
	s := &streamLine{Type: ev.Type, ContentIndex: ev.Index, Delta: ev.Delta}
	switch b := ev.Block.(type) {
	case llm.Text:
		s.Content = b.Text
	case llm.Thinking:
		s.Content = b.Text
	case llm.ToolCall:
		s.ToolCall = &callLine{ID: b.ID, Name: b.Name, Arguments: b.Arguments, Defect: b.Defect}
	}
	return s
}

// listOf never is null in JSON.
func listOf(messages []llm.Message) *[]llm.Message {
	if messages == nil {
		messages = []llm.Message{}
	}
	return &messages
}

// contentOf writes blocks as they stand in a message.
func contentOf(blocks []llm.Block) (json.RawMessage, error) {
	m, err := marshal(llm.Message{Role: llm.RoleCustom, Content: blocks})
	if err != nil {
		return nil, err
	}
	var part struct {
		Content json.RawMessage `json:"content"`
	}
	err = json.Unmarshal(m, &part)
	return part.Content, err
}

// marshal is json.Marshal without escaping of <, > and &.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

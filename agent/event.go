package agent

import (
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

// Event is something that happened. What its pointers point to must not be modified.
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

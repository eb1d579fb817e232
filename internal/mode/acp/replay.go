package acp

import (
	"context"
	"fmt"
	"slices"

	proto "github.com/burin-dev/burin/internal/acp"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/tool"
	"github.com/burin-dev/burin/transcript"
)

// replay sends the conversation so far. The feed starts where the transcript ends, so what
// happens meanwhile follows.
func (l *live) replay(ctx context.Context) error {
	log := l.handle.Transcript()
	nodes := log.Nodes()
	for range 3 { // until nothing was written between reading the transcript and the position of the events
		l.feed = l.handle.Events(session.Cursor{})
		again := log.Nodes()
		same := len(again) == len(nodes)
		if nodes = again; same {
			break
		}
	}
	var branch []int
	for at := slices.IndexFunc(nodes, func(n transcript.Node) bool { return n.ID == log.Leaf() }); at >= 0; at = nodes[at].Parent {
		branch = append(branch, at)
	}
	for _, at := range slices.Backward(branch) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		e, err := log.Entry(nodes[at].ID)
		if err != nil {
			return fmt.Errorf("read the conversation: %w", err)
		}
		l.teller.replayed[e.ID] = true
		if !e.Shown() {
			continue
		}
		if err := l.tell(l.teller.entry(e)...); err != nil {
			return err
		}
	}
	if err := l.tell(l.teller.settled(ctx, nil)...); err != nil {
		return err
	}
	return l.tell(l.teller.usage()...)
}

// entry translates an entry of the transcript.
func (t *teller) entry(e *transcript.Entry) []any {
	switch {
	case e.Execution != nil:
		x := e.Execution
		id := "command-" + e.ID
		return []any{
			proto.ToolCall{Kind: "tool_call", ToolCallID: id, Title: x.Command, ToolKind: "execute", Status: proto.ToolCompleted, Content: []any{fenced(tail(x.Output))}},
		}
	case e.Type == transcript.TypeCompaction, e.Type == transcript.TypeBranchSummary:
		return nil // the client gets the entries that it condensed
	case e.Type == transcript.TypeCustomMessage:
		words, err := e.Words()
		if err != nil {
			return nil
		}
		return blocks(chunkAgent, words, e.ID)
	case e.Message == nil:
		return nil
	}
	switch m := e.Message; m.Role {
	case llm.RoleUser:
		return blocks(chunkUser, m.Content, e.ID)
	case llm.RoleAssistant:
		return t.said(m, &answer{id: e.ID})
	case llm.RoleToolResult:
		all := t.announce(m.ToolCallID, m.ToolName, "", "")
		delete(t.calls, m.ToolCallID)
		return append(all, t.result(m.ToolCallID, m.ToolName, &tool.Result{Content: m.Content, Details: m.Details, IsError: m.IsError}))
	case llm.RoleCustom:
		return blocks(chunkAgent, m.Content, e.ID)
	}
	return nil
}

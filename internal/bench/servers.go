package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/burin-dev/burin/internal/platform/document"
	"github.com/burin-dev/burin/internal/platform/mcp"
	"github.com/burin-dev/burin/internal/tools/server"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/tool"
	"github.com/burin-dev/burin/transcript"
)

// serverTools are the tools of MCP servers, as far as they are known.
func serverTools(b *seat) []*tool.Tool {
	if len(b.Servers) == 0 || b.NoTools {
		return nil
	}
	o := server.Options{
		Links: b.Servers, Artifacts: b.kept, Images: imageLimits(b, b.Model),
		Search: b.Serving.Search, Always: b.Serving.Always, Found: foundTools(b), Warn: b.Session.Warn,
		Person: serverPerson{b.Desk},
	}
	if b.Serving.Sample {
		o.Sample = func(ctx context.Context, r mcp.Sampling) (*mcp.Sampled, error) { return sample(ctx, b, r) }
	}
	b.servers = server.New(o)
	return b.servers.Tools()
}

// serverPerson puts what servers ask on the desk.
type serverPerson struct{ desk *session.Desk }

// AskFor implements [server.Person].
func (p serverPerson) AskFor(ctx context.Context, name, call string, questions []server.Question) ([]server.Reply, error) {
	choices := make([]session.Choice, len(questions))
	for i, q := range questions {
		choices[i] = session.Choice{ID: fmt.Sprint(i + 1), Text: q.Text, Options: q.Options, Multi: q.Multi, Recommended: q.Recommended}
	}
	reply, err := p.desk.Ask(ctx, session.Question{Kind: session.AskChoice, CallID: call, From: "MCP server " + name, Choices: choices})
	switch {
	case errors.Is(err, session.ErrUnattended), errors.Is(err, session.ErrTimedOut):
		return nil, server.ErrNobody
	case err != nil:
		return nil, err
	case reply.Dismissed || len(reply.Choices) != len(questions):
		return nil, server.ErrDismissed
	}
	replies := make([]server.Reply, len(questions))
	for i, c := range reply.Choices {
		replies[i] = server.Reply{Selected: c.Selected, Custom: c.Custom}
	}
	return replies, nil
}

// sample has the session's model answer a server.
func sample(ctx context.Context, b *seat, r mcp.Sampling) (*mcp.Sampled, error) {
	request := llm.Request{System: r.System, MaxTokens: r.MaxTokens, Stop: r.Stop}
	for _, m := range r.Messages {
		sent := llm.Message{Role: llm.RoleUser, Time: b.Now()}
		if m.Role == "assistant" {
			sent.Role = llm.RoleAssistant
		}
		for _, c := range m.Content {
			if c.Type == "text" {
				sent.Content = append(sent.Content, llm.Text{Text: c.Text})
				continue
			}
			p, err := document.FitImage(c.Data, imageLimits(b, b.Model))
			if err != nil {
				return nil, fmt.Errorf("an image of the server: %w", err)
			}
			sent.Content = append(sent.Content, llm.Image{MIME: p.MIME, Data: p.Data})
		}
		request.Messages = append(request.Messages, sent)
	}
	m, err := b.sampler.Sample(ctx, request)
	if err != nil {
		return nil, err
	}
	out := &mcp.Sampled{Model: m.Model, Text: m.Text(), Stop: "endTurn"}
	if m.StopReason == llm.StopLength {
		out.Stop = "maxTokens"
	}
	return out, nil
}

// foundTools are the tools of servers that the model has found earlier in the session.
func foundTools(b *seat) []string {
	e := transcript.LastOf(b.log, b.log.Leaf(),
		func(n transcript.Node) bool {
			return n.Role == llm.RoleToolResult && (n.Name == server.SearchTool || n.Name == "")
		},
		func(e *transcript.Entry) bool {
			return e.Message != nil && e.Message.ToolName == server.SearchTool && !e.Message.IsError && len(e.Message.Details) > 0
		})
	if e == nil {
		return nil
	}
	return server.Restore(e.Message.Details)
}

// joinServers adds to a live session what servers add to their tools.
func joinServers(b *seat, s *session.Session) func() error {
	var set server.Set = s.Tools()
	if len(b.Tools) > 0 {
		set = chosen{set, b.Tools}
	}
	leave := b.servers.Join(set)
	return func() error { leave(); return nil }
}

// chosen are the tools of a session that may have a few only.
type chosen struct {
	server.Set
	names []string
}

// Put implements [server.Set].
func (c chosen) Put(tools ...*tool.Tool) error {
	searches := slices.Contains(c.names, server.SearchTool)
	tools = slices.DeleteFunc(slices.Clone(tools), func(t *tool.Tool) bool { return !searches && !slices.Contains(c.names, t.Name) })
	if len(tools) == 0 {
		return nil
	}
	return c.Set.Put(tools...)
}

// Remove implements [server.Set].
func (c chosen) Remove(names ...string) error {
	names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !slices.Contains(c.names, name) })
	if len(names) == 0 {
		return nil
	}
	return c.Set.Remove(names...)
}

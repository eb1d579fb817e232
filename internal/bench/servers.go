package bench

import (
	"slices"

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
	b.servers = server.New(server.Options{
		Links: b.Servers, Artifacts: b.kept, Images: imageLimits(b, b.Model),
		Search: b.Serving.Search, Always: b.Serving.Always, Found: foundTools(b), Warn: b.Session.Warn,
	})
	return b.servers.Tools()
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

package mcpserver

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/burin-dev/burin/internal/platform/mcp"
	"github.com/burin-dev/burin/internal/prose"
)

// maxPassed is how many servers a client may pass for a session.
const maxPassed = 100

// Passed reads the servers that an editor passes for a session, in the form of the Agent Client
// Protocol: lists of names and values where files have maps. Values are as they are meant: nothing
// of burin's environment is put in. A server that can't be used is a problem, and the others stay.
func Passed(all []json.RawMessage) (servers []Definition, problems []string) {
	seen := map[string]bool{}
	for i, raw := range all {
		if i == maxPassed {
			return servers, append(problems, fmt.Sprintf("the editor passes %d MCP servers: only the first %d are used", len(all), maxPassed))
		}
		d, err := passed(raw)
		switch {
		case err != nil:
			problems = append(problems, err.Error())
		case seen[d.Name]:
			problems = append(problems, fmt.Sprintf("MCP server %s: the editor passes another one with this name", d.Name))
		default:
			seen[d.Name] = true
			servers = append(servers, d)
		}
	}
	return servers, problems
}

func passed(raw json.RawMessage) (Definition, error) {
	type pairs []struct{ Name, Value string }
	var e struct {
		Type, Name, Command, URL string
		Args                     []string
		Env, Headers             pairs
	}
	if json.Unmarshal(raw, &e) != nil { // what it says may hold a secret
		return Definition{}, fmt.Errorf("MCP server %s: its definition is not that of the Agent Client Protocol", prose.Short(prose.Inline(e.Name), 60))
	}
	values := func(all pairs) map[string]string {
		m := make(map[string]string, len(all))
		for _, p := range all {
			m[p.Name] = p.Value
		}
		return m
	}
	kind := strings.ToLower(e.Type)
	if kind == "" {
		kind = mcp.Stdio
	}
	d := Definition{Server: mcp.Server{Name: Name(e.Name), Type: kind}}
	wrong := ""
	switch {
	case e.Name == "" || len(e.Name) > maxName:
		wrong = fmt.Sprintf("a name has 1 to %d characters", maxName)
	case kind == mcp.Stdio && e.Command == "":
		wrong = "a command is missing"
	case kind == mcp.Stdio:
		d.Command, d.Args, d.Env = e.Command, e.Args, values(e.Env)
	case kind != mcp.HTTP && kind != mcp.SSE:
		wrong = fmt.Sprintf("type %q: want stdio, http or sse", prose.Short(prose.Inline(kind), 40))
	case e.URL == "":
		wrong = "a url is missing"
	default:
		d.URL, d.Headers = e.URL, values(e.Headers)
	}
	if wrong != "" {
		return Definition{}, fmt.Errorf("MCP server %s: %s", prose.Short(prose.Inline(e.Name), 60), wrong)
	}
	return d, nil
}

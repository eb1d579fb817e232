package bench

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/burin-dev/burin/internal/platform/autorun"
	"github.com/burin-dev/burin/internal/platform/mcp"
	"github.com/burin-dev/burin/internal/platform/private"
	"github.com/burin-dev/burin/internal/platform/sandbox"
)

// ConfineServer makes the sandbox of an MCP server that is a program and works in a folder. What it
// may write and must not read is as for commands of the model, but it follows no mode: its entry
// says how. own are burin's folders, which stay hidden. What can't be held isn't begun, as somebody
// has asked for it.
func ConfineServer(s *mcp.Sandbox, dir, home string, own []string, getenv func(string) string) (*mcp.Confined, error) {
	if can := sandbox.Available(); !can.Files || !can.Network {
		return nil, fmt.Errorf("this machine can't confine it as its entry wants (sandbox): %s", strings.TrimSpace(can.Missing))
	}
	for _, folder := range s.Writable {
		if !filepath.IsAbs(folder) {
			return nil, fmt.Errorf("sandbox.writable: %q is not absolute", folder)
		}
	}
	for _, folder := range own { // what lies in the workspace can't be hidden from who may write there
		if rel, err := filepath.Rel(dir, folder); err == nil && filepath.IsLocal(rel) {
			return nil, errors.New("burin's own files lie in this folder, and could not be kept from it (sandbox): work in a folder below")
		}
	}
	p := sandbox.Policy{
		Mode: sandbox.Mode(s.Mode), Workspace: dir, Writable: slices.Concat(Caches(home), s.Writable), Secret: slices.Clone(own), Network: s.Network, Hosts: s.Hosts,
	}
	if home != "" {
		p.Secret = append(p.Secret, private.Find(home, getenv).Hidden()...)
	}
	if p.Mode == sandbox.WorkspaceWrite { // what git and burin execute would run outside
		runs := autorun.New(dir, "")
		p.Walls, p.Configs = runs.Walls(), runs.Configs()
	}
	box, err := sandbox.Start(p)
	if err != nil {
		return nil, fmt.Errorf("confine it: %w", err)
	}
	return &mcp.Confined{Policy: box.Encoded(), Env: box.Env(), Close: func() { _ = box.Close() }}, nil // its proxy has nothing left to do
}

package tui

import (
	"context"
	"strings"

	"github.com/burin-dev/burin/internal/host"
	"github.com/burin-dev/burin/internal/mode/tui/complete"
	"github.com/burin-dev/burin/internal/mode/tui/editor"
)

// resourcesOf completes resources of MCP servers after "@"; nil where the terminal has no servers.
func resourcesOf(w *host.ServerWords) func(ctx context.Context, typed string) []editor.Item {
	if w == nil {
		return nil
	}
	return func(ctx context.Context, typed string) []editor.Item { return itemsOf(w.Resource(ctx, typed)) }
}

// serverCommands are the prompts of MCP servers. It is asked at each key, and answers from memory.
func serverCommands(w *host.ServerWords) (all []complete.Command) {
	if w == nil {
		return nil
	}
	for _, s := range w.Commands() {
		c := complete.Command{Name: s.Name, Help: s.Help, Args: s.Args}
		if s.Args != "" {
			c.Later = func(ctx context.Context, arg string) []editor.Item { return itemsOf(w.Argument(ctx, s.Name, arg)) }
		}
		all = append(all, c)
	}
	return all
}

func itemsOf(proposals []host.Proposal) (items []editor.Item) {
	for _, p := range proposals {
		items = append(items, editor.Item{Label: strings.TrimSuffix(p.Text, " "), Detail: p.About, Insert: p.Text, More: p.More})
	}
	return items
}

package server

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/burin-dev/burin/internal/platform/mcp"
	"github.com/burin-dev/burin/internal/prose"
)

// Scheme is that of the addresses of servers' resources: mcp:// lists the servers, mcp://SERVER
// its resources, and mcp://SERVER/URI is one.
const Scheme = "mcp"

// resources is what rules call the reading of a resource, as if it were a tool.
const resources = "resources"

// Resources reads the resources of a session's servers.
type Resources struct{ Links []*mcp.Link }

// split takes an address apart.
func split(address string) (server, uri string) {
	rest := strings.TrimPrefix(address, Scheme+"://")
	server, uri, _ = strings.Cut(rest, "/")
	return server, uri
}

// Target is the call that reading an address is, for rules; "" is none.
func (Resources) Target(address string) string {
	server, uri := split(address)
	if server == "" {
		return ""
	}
	args := map[string]string{}
	if uri != "" {
		args["uri"] = uri
	}
	raw, _ := json.Marshal(args) // of texts: it cannot fail
	return Address(server, resources) + ":" + canonical(raw)
}

// Read gives the text behind an address.
func (r Resources) Read(ctx context.Context, address string) (string, error) {
	name, uri := split(address)
	var b strings.Builder
	if name == "" {
		for _, l := range r.Links {
			if l.Off() {
				continue
			}
			s := l.Server()
			fmt.Fprintf(&b, "%s://%s lists the resources of %s\n", Scheme, s.Name, prose.Inline(s.Where()))
		}
		if b.Len() == 0 {
			return "No MCP servers.\n", nil
		}
		return b.String(), nil
	}
	for _, l := range r.Links {
		if l.Server().Name != name || l.Off() {
			continue
		}
		if uri == "" {
			return listed(ctx, l)
		}
		return read(ctx, l, uri)
	}
	return "", fmt.Errorf("%s: no MCP server %q; %s:// lists them", address, name, Scheme)
}

func listed(ctx context.Context, l *mcp.Link) (string, error) {
	name := l.Server().Name
	all, err := l.Resources(ctx)
	if err != nil {
		return "", fmt.Errorf("MCP server %s: %w", name, err)
	}
	if len(all) == 0 {
		return "MCP server " + name + " has no resources.\n", nil
	}
	var b strings.Builder
	for _, one := range all {
		fmt.Fprintf(&b, "%s://%s/%s", Scheme, name, cmp.Or(one.URI, one.Template))
		for _, word := range []string{cmp.Or(one.Title, one.Name), one.MIME, one.Description} {
			if word != "" {
				fmt.Fprintf(&b, "  %s", word)
			}
		}
		if one.URI == "" {
			b.WriteString("  (fill in what is in braces)")
		}
		b.WriteByte('\n')
	}
	return b.String(), nil
}

func read(ctx context.Context, l *mcp.Link, uri string) (string, error) {
	parts, err := l.Read(ctx, uri)
	if err != nil {
		return "", fmt.Errorf("MCP server %s: %w", l.Server().Name, err)
	}
	var b strings.Builder
	for _, p := range parts {
		if len(parts) > 1 {
			fmt.Fprintf(&b, "[%s]\n", prose.Inline(p.URI))
		}
		if p.Blob != nil {
			fmt.Fprintf(&b, "[%s, %d bytes, is not shown]\n", prose.Inline(cmp.Or(p.MIME, "binary")), len(p.Blob))
			continue
		}
		b.WriteString(strings.TrimSuffix(p.Text, "\n") + "\n")
	}
	return b.String(), nil
}

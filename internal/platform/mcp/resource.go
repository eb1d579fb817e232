package mcp

import (
	"context"
	"fmt"

	"github.com/burin-dev/burin/internal/prose"
)

// Listed is a resource that a server lists, or a template for the addresses of many.
type Listed struct {
	URI         string `json:"uri"`
	Template    string `json:"uriTemplate"` // of RFC 6570, instead of URI
	Name        string `json:"name"`
	Title       string `json:"title"`
	Description string `json:"description"`
	MIME        string `json:"mimeType"`
}

const (
	maxResources = 1000    // that are listed
	maxURI       = 4 << 10 // bytes of an address
)

// Resources lists the resources of a server, and the templates of others.
func (l *Link) Resources(ctx context.Context) ([]Listed, error) {
	c, err := l.connect(ctx)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithTimeout(ctx, l.server.timeout())
	defer stop()
	return listResources(ctx, c)
}

func listResources(ctx context.Context, c *conn) (all []Listed, err error) {
	for _, of := range []struct{ method, name string }{{"resources/list", "resources"}, {"resources/templates/list", "resourceTemplates"}} {
		some, err := list[Listed](ctx, c, of.method, of.name, maxResources)
		if err != nil {
			return nil, fmt.Errorf("list its resources: %w", err)
		}
		for _, r := range some {
			if len(r.URI) > maxURI || len(r.Template) > maxURI || r.URI == "" && r.Template == "" {
				continue
			}
			r.URI, r.Template, r.MIME = prose.Inline(r.URI), prose.Inline(r.Template), prose.Inline(r.MIME)
			r.Name, r.Title = prose.Short(prose.Inline(r.Name), 100), prose.Short(prose.Inline(r.Title), 100)
			r.Description = prose.Short(prose.Inline(visible(r.Description)), 300)
			all = append(all, r)
		}
	}
	return all, nil
}

// Read reads a resource, whose address need not be listed: templates have many.
func (l *Link) Read(ctx context.Context, uri string) ([]Resource, error) {
	c, err := l.connect(ctx)
	if err != nil {
		return nil, err
	}
	var r struct {
		Contents []Resource `json:"contents"`
	}
	if err := l.ask(ctx, c, "resources/read", map[string]any{"uri": uri}, &r); err != nil {
		return nil, err
	}
	return r.Contents, nil
}

// Prompt is a prompt that a server has.
type Prompt struct {
	Name        string     `json:"name"`
	Title       string     `json:"title,omitempty"`
	Description string     `json:"description,omitempty"`
	Arguments   []Argument `json:"arguments"`
}

// Argument is an argument of a prompt.
type Argument struct {
	Name     string `json:"name"`
	Required bool   `json:"required"`
}

const (
	maxPrompts   = 1000 // of a server
	maxArguments = 100  // of a prompt
)

// Prompts lists the prompts of a server.
func (l *Link) Prompts(ctx context.Context) ([]Prompt, error) {
	c, err := l.connect(ctx)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithTimeout(ctx, l.server.timeout())
	defer stop()
	return listPrompts(ctx, c)
}

func listPrompts(ctx context.Context, c *conn) ([]Prompt, error) {
	all, err := list[Prompt](ctx, c, "prompts/list", "prompts", maxPrompts)
	if err != nil {
		return nil, fmt.Errorf("list its prompts: %w", err)
	}
	for i := range all {
		p := &all[i]
		p.Title, p.Description = prose.Short(prose.Inline(p.Title), 100), prose.Short(prose.Inline(visible(p.Description)), 300)
		p.Arguments = p.Arguments[:min(len(p.Arguments), maxArguments)]
	}
	return all, nil
}

// Prompt gives the contents of a prompt's messages.
func (l *Link) Prompt(ctx context.Context, name string, args map[string]string) ([]Content, error) {
	c, err := l.connect(ctx)
	if err != nil {
		return nil, err
	}
	var r struct {
		Messages []struct {
			Content Content `json:"content"`
		} `json:"messages"`
	}
	if err := l.ask(ctx, c, "prompts/get", map[string]any{"name": name, "arguments": args}, &r); err != nil {
		return nil, err
	}
	all := make([]Content, len(r.Messages))
	for i := range r.Messages {
		all[i] = r.Messages[i].Content
	}
	return all, nil
}

package host

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/burin-dev/burin/internal/platform/mcp"
	"github.com/burin-dev/burin/internal/prose"
)

// maxServerPrompt is how long the text of a server's prompt may be, in bytes.
const maxServerPrompt = 256 << 10

// ServerPrompt reports whether the name of a command is that of a prompt of an MCP server that
// burin uses: SERVER:PROMPT. The server is not asked whether it has it.
func ServerPrompt(h *Host, name string) bool {
	server, prompt, ok := strings.Cut(name, ":")
	return ok && server != "" && prompt != "" && UsesServer(h, server)
}

// UsesServer reports whether burin uses an MCP server of this name. It reads files.
func UsesServer(h *Host, server string) bool {
	all, _, err := Servers(h)
	return err == nil && slices.ContainsFunc(all, func(s Server) bool { return s.Name == server && s.Standing == ServerOn })
}

// serverPrompt gives the text of the prompt that /SERVER:PROMPT calls, with the words after it as
// its arguments. ok is false if text calls none.
func serverPrompt(ctx context.Context, links []*mcp.Link, text string) (prompt string, ok bool, err error) {
	call, rest, _ := strings.Cut(strings.TrimSpace(text), " ")
	name, ok := strings.CutPrefix(call, "/")
	server, name, found := strings.Cut(name, ":")
	i := slices.IndexFunc(links, func(l *mcp.Link) bool { return l.Server().Name == server && !l.Off() })
	if !ok || !found || name == "" || i < 0 {
		return "", false, nil
	}
	l := links[i]
	wrong := func(err error) (string, bool, error) {
		return "", true, fmt.Errorf("MCP server %s: %w", server, err)
	}
	all, err := l.Prompts(ctx)
	if err != nil {
		return wrong(err)
	}
	at := slices.IndexFunc(all, func(p mcp.Prompt) bool { return p.Name == name })
	if at < 0 {
		names := make([]string, len(all))
		for i := range all {
			names[i] = "/" + server + ":" + prose.Inline(all[i].Name)
		}
		if len(names) == 0 {
			return wrong(errors.New("it has no prompts"))
		}
		return wrong(fmt.Errorf("no prompt %q; it has %s", prose.Short(name, 60), prose.Short(strings.Join(names, ", "), 500)))
	}
	args, err := promptArguments(&all[at], rest)
	if err != nil {
		return wrong(err)
	}
	parts, err := l.Prompt(ctx, name, args)
	if err != nil {
		return wrong(err)
	}
	var texts []string
	for _, p := range parts {
		switch {
		case p.Type == "text":
			texts = append(texts, p.Text)
		case p.Resource != nil && p.Resource.Blob == nil:
			texts = append(texts, fmt.Sprintf("[%s]\n%s", prose.Inline(p.Resource.URI), p.Resource.Text))
		}
	}
	prompt = strings.TrimSpace(strings.Join(texts, "\n\n"))
	switch {
	case prompt == "":
		return wrong(fmt.Errorf("the prompt %q has no text", prose.Short(name, 60)))
	case len(prompt) > maxServerPrompt:
		return wrong(fmt.Errorf("the prompt %q has more than %d KB", prose.Short(name, 60), maxServerPrompt>>10))
	}
	return prompt, true, nil
}

// promptArguments makes the arguments of a prompt of words: NAME=VALUE, or the values in the
// prompt's order. The last one takes all the words that are left.
func promptArguments(p *mcp.Prompt, words string) (map[string]string, error) {
	args := map[string]string{}
	left := strings.Fields(words)
	for i := range p.Arguments {
		a := &p.Arguments[i]
		at := slices.IndexFunc(left, func(w string) bool { return strings.HasPrefix(w, a.Name+"=") })
		if at >= 0 {
			args[a.Name] = left[at][len(a.Name)+1:]
			left = slices.Delete(left, at, at+1)
		}
	}
	open := slices.DeleteFunc(slices.Clone(p.Arguments), func(a mcp.Argument) bool {
		_, given := args[a.Name]
		return given
	})
	for i := range open {
		switch {
		case len(left) == 0 && open[i].Required:
			return nil, fmt.Errorf("the prompt %s needs %s: write %s=VALUE", prose.Inline(p.Name), prose.Inline(open[i].Name), prose.Inline(open[i].Name))
		case len(left) == 0:
		case i == len(open)-1:
			args[open[i].Name], left = strings.Join(left, " "), nil
		default:
			args[open[i].Name], left = left[0], left[1:]
		}
	}
	if len(left) > 0 {
		return nil, fmt.Errorf("the prompt %s takes %s", prose.Inline(p.Name), prose.Count(len(p.Arguments), "argument"))
	}
	return args, nil
}

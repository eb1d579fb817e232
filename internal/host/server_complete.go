package host

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/burin-dev/burin/internal/platform/mcp"
	"github.com/burin-dev/burin/internal/prose"
)

// ServerWords completes what the MCP servers of the process have for prompts.
type ServerWords struct{ host *Host }

// WordsOf are those of a host's sessions.
func WordsOf(h *Host) *ServerWords { return &ServerWords{h} }

// Calls reports whether the name of a command is that of a prompt of an MCP server: SERVER:PROMPT. The
// server is not asked whether it has it.
func (w *ServerWords) Calls(name string) bool { return ServerPrompt(w.host, name) }

// Proposal is a way how a word of a prompt can go on that an MCP server knows.
type Proposal struct {
	Text  string // all of the word
	About string
	More  bool // it goes on from here
}

// ServerCommand is a prompt of an MCP server, as a command.
type ServerCommand struct {
	Name string // SERVER:PROMPT
	Help string
	Args string // such as "<who> [how]"
}

// maxProposals is how many are given.
const maxProposals = 200

// Commands are the prompts that the MCP servers in use are known to have. It answers from memory.
func (w *ServerWords) Commands() (all []ServerCommand) {
	for _, l := range w.host.pool().Links() {
		for _, p := range l.Offer().Prompts {
			if p.Name == "" || strings.ContainsAny(p.Name, " \t") || prose.Inline(p.Name) != p.Name {
				continue // no prompt can hold it
			}
			args := make([]string, len(p.Arguments))
			for i, a := range p.Arguments {
				if args[i] = "[" + prose.Inline(a.Name) + "]"; a.Required {
					args[i] = "<" + prose.Inline(a.Name) + ">"
				}
			}
			name := l.Server().Name + ":" + p.Name
			if !slices.ContainsFunc(all, func(c ServerCommand) bool { return c.Name == name }) {
				all = append(all, ServerCommand{Name: name, Help: cmp.Or(p.Description, p.Title, "prompt of "+l.Server().Name), Args: strings.Join(args, " ")})
			}
		}
	}
	return all
}

// Argument gives how the words after a server's prompt can go on, as the server proposes. It may
// wait for the server until ctx ends, and for 2 s at most.
func (w *ServerWords) Argument(ctx context.Context, command, words string) (all []Proposal) {
	server, name, _ := strings.Cut(command, ":")
	l := serverLink(w.host, server)
	if l == nil {
		return nil
	}
	prompts := l.Offer().Prompts
	at := slices.IndexFunc(prompts, func(p mcp.Prompt) bool { return p.Name == name })
	if at < 0 {
		return nil
	}
	argument, typed, last, with := beingTyped(&prompts[at], words)
	if argument == "" {
		return nil
	}
	before := strings.TrimSuffix(words, typed)
	for _, v := range l.Propose(ctx, name, "", argument, typed, with) {
		switch {
		case last:
			all = append(all, Proposal{Text: before + v})
		case !strings.ContainsAny(v, " \t"):
			all = append(all, Proposal{Text: before + v + " ", More: true})
		}
	}
	return all
}

// beingTyped finds the argument of a prompt that the end of words is about, as [promptArguments]
// takes them, with what is typed of it. last says that it takes all words that are left.
func beingTyped(p *mcp.Prompt, words string) (argument, typed string, last bool, with map[string]string) {
	fields := strings.Fields(words)
	if words != "" && !strings.HasSuffix(words, " ") && len(fields) > 0 {
		typed, fields = fields[len(fields)-1], fields[:len(fields)-1]
	}
	with = map[string]string{}
	named := func(word string) (name, value string, ok bool) {
		name, value, ok = strings.Cut(word, "=")
		return name, value, ok && slices.ContainsFunc(p.Arguments, func(a mcp.Argument) bool { return a.Name == name })
	}
	var inOrder []string
	for _, f := range fields {
		if name, value, ok := named(f); ok {
			with[name] = value
		} else {
			inOrder = append(inOrder, f)
		}
	}
	if name, value, ok := named(typed); ok {
		return name, value, false, with
	}
	open := slices.DeleteFunc(slices.Clone(p.Arguments), func(a mcp.Argument) bool { _, given := with[a.Name]; return given })
	if len(open) == 0 {
		return "", "", false, nil
	}
	at := min(len(inOrder), len(open)-1)
	for i := range at {
		with[open[i].Name] = inOrder[i]
	}
	if last = at == len(open)-1; last {
		rest := strings.Join(append(inOrder[at:], typed), " ")
		if strings.HasSuffix(words, rest) {
			typed = rest
		}
	}
	return open[at].Name, typed, last, with
}

// Resource gives how "SERVER:URI" after an "@" can go on: names of servers, resources that
// they are known to have, and, of templates, what the server proposes, for which it may wait until
// ctx ends, and for 2 s at most.
func (w *ServerWords) Resource(ctx context.Context, typed string) (all []Proposal) {
	server, uri, of := strings.Cut(typed, ":")
	if !of {
		for _, l := range w.host.pool().Links() {
			name := l.Server().Name + ":"
			if strings.HasPrefix(name, typed) && len(l.Offer().Resources) > 0 && !slices.ContainsFunc(all, func(p Proposal) bool { return p.Text == name }) {
				all = append(all, Proposal{Text: name, About: "MCP server", More: true})
			}
		}
		return all
	}
	l := serverLink(w.host, server)
	if l == nil {
		return nil
	}
	low := strings.ToLower(uri)
	add := func(text, about string, more bool) {
		p := Proposal{Text: server + ":" + text, About: about, More: more}
		if len(all) < maxProposals && !slices.ContainsFunc(all, func(known Proposal) bool { return known.Text == p.Text }) {
			all = append(all, p)
		}
	}
	for _, r := range l.Offer().Resources {
		about := cmp.Or(r.Title, r.Name)
		if r.URI != "" {
			if strings.Contains(strings.ToLower(r.URI), low) || strings.Contains(strings.ToLower(about), low) {
				add(r.URI, about, false)
			}
			continue
		}
		t, ok := fill(r.Template, uri)
		switch {
		case !ok:
		case t.variable == "" && t.done != uri:
			add(t.done, about, true)
		case t.variable != "":
			for _, v := range l.Propose(ctx, "", r.Template, t.variable, t.typed, t.with) {
				end := strings.IndexByte(t.after, '{')
				if end < 0 {
					end = len(t.after)
				}
				add(t.done+v+t.after[:end], about, end < len(t.after))
			}
		}
	}
	return all
}

func serverLink(h *Host, server string) *mcp.Link {
	links := h.pool().Links()
	if i := slices.IndexFunc(links, func(l *mcp.Link) bool { return l.Server().Name == server }); i >= 0 {
		return links[i]
	}
	return nil
}

// filled is a template of addresses as far as it is typed.
type filled struct {
	done     string // before the variable that is being typed; all of the literal text if there is none
	variable string
	typed    string // of it
	after    string // of the template, behind the variable
	with     map[string]string
}

// fill matches what is typed with a template, whose variables stand for text up to what follows
// them. Where the typed text ends within the literal text, that is what it can go on as.
func fill(template, typed string) (f filled, ok bool) {
	f.with = map[string]string{}
	for {
		literal, rest, more := strings.Cut(template, "{")
		if !strings.HasPrefix(typed, literal) {
			f.done += literal
			return f, strings.HasPrefix(literal, typed)
		}
		f.done += literal
		typed = typed[len(literal):]
		if !more {
			return f, typed == ""
		}
		name, after, closed := strings.Cut(rest, "}")
		name = strings.TrimLeft(name, "+#./;?&")
		if !closed || name == "" || strings.ContainsAny(name, ",*:") {
			return f, typed == "" && f.done != "" // burin does not know how it is filled in
		}
		next, _, _ := strings.Cut(after, "{")
		end := strings.Index(typed, next)
		if next == "" || end < 0 {
			f.variable, f.typed, f.after = name, typed, after
			return f, true
		}
		f.with[name] = typed[:end]
		f.done += typed[:end]
		typed, template = typed[end:], after
	}
}

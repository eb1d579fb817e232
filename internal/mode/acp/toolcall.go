package acp

import (
	"cmp"
	"context"
	"encoding/json"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	proto "github.com/burin-dev/burin/internal/acp"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/tool"
)

// Limits on what is sent about a call. The transcript has everything.
const (
	maxOutput  = 32 << 10 // bytes of output
	maxPartial = 8 << 10  // bytes of output while the call runs: the end of it
	maxRaw     = 16 << 10 // bytes of arguments or details
	maxTitle   = 200      // characters
	maxDiffs   = 100      // changed parts of one call
)

// call is a call that was announced and has not ended.
type call struct {
	name      string
	arguments bool // they were sent
	terminal  bool // the client shows its output in a terminal
}

// places turns names into absolute paths as the client knows them.
type places struct{ dir string }

func (p places) path(name string) string {
	name = filepath.FromSlash(name)
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(p.dir, name)
}

// announce sends a call when it begins and again when its arguments are known.
func (t *teller) announce(id, name, label, arguments string) []any {
	c := t.calls[id]
	u := proto.ToolCall{Kind: "tool_call_update", ToolCallID: id}
	switch {
	case c == nil:
		c = &call{name: name}
		t.calls[id] = c
		u.Kind, u.Name, u.ToolKind, u.Status = "tool_call", name, kindOf(name), proto.ToolPending
		u.Title = cmp.Or(label, labelOf(name))
	case c.arguments || arguments == "":
		return nil
	}
	if arguments != "" {
		c.arguments = true
		t.describe(&u, name, arguments)
	}
	return []any{u}
}

// describe fills in what the arguments say: title, input, location.
func (t *teller) describe(u *proto.ToolCall, name, arguments string) {
	var args map[string]any
	if json.Unmarshal([]byte(arguments), &args) != nil {
		return
	}
	u.Title = titleOf(name, args)
	u.RawInput = shortened(args, arguments)
	if at, _ := args["path"].(string); at != "" && isFileTool(name) && !addressed(at) {
		u.Locations = []proto.ToolLocation{t.location(at)}
	}
}

// lineOf matches the line numbers at the end of a path: ":10-40".
var lineOf = regexp.MustCompile(`:(\d+)(?:[-+]\d*)?$`)

func (t *teller) location(at string) proto.ToolLocation {
	line := 0
	if m := lineOf.FindStringSubmatchIndex(at); m != nil {
		line, _ = strconv.Atoi(at[m[2]:m[3]])
		at = at[:m[0]]
	}
	return proto.ToolLocation{Path: t.places.path(at), Line: line}
}

// addressed reports whether a path is an address, such as local://plan.md.
func addressed(at string) bool { return strings.Contains(at, "://") }

func isFileTool(name string) bool {
	switch name {
	case "read", "ls", "grep", "find", "edit", "write", "undo_edit":
		return true
	}
	return false
}

// kindOf returns the protocol's kind of a tool.
func kindOf(name string) string {
	switch name {
	case "read", "ls":
		return "read"
	case "grep", "find", "web_search", "history":
		return "search"
	case "edit", "write", "undo_edit":
		return "edit"
	case "bash", "job_list", "job_poll", "job_write", "job_kill":
		return "execute"
	case "fetch":
		return "fetch"
	case "todo", "calc":
		return "think"
	}
	return "other"
}

// labelOf returns the name of a tool for people.
func labelOf(name string) string {
	words := strings.ReplaceAll(name, "_", " ")
	if words == "" {
		return "Call"
	}
	return strings.ToUpper(words[:1]) + words[1:]
}

// titleOf describes a call in one line.
func titleOf(name string, args map[string]any) string {
	text := func(key string) string { s, _ := args[key].(string); return s }
	title := labelOf(name)
	switch {
	case text("command") != "":
		title = text("command")
	case text("pattern") != "" && text("path") != "":
		title += " " + text("pattern") + " in " + text("path")
	default:
		for _, key := range []string{"pattern", "path", "url", "query", "job", "expression"} {
			if s := text(key); s != "" {
				title += " " + s
				break
			}
		}
	}
	return cmp.Or(prose.Short(prose.Line(title), maxTitle), labelOf(name))
}

// shortened returns the arguments, with long texts cut if they are more than maxRaw bytes.
func shortened(args map[string]any, whole string) any {
	if len(whole) <= maxRaw {
		return json.RawMessage(whole)
	}
	short := make(map[string]any, len(args))
	for key, value := range args {
		switch v := value.(type) {
		case string:
			short[key] = prose.Cut(v, 1000)
		case bool, float64:
			short[key] = v
		default:
			short[key] = "(too long to show)"
		}
	}
	return short
}

func (t *teller) toolStart(_ context.Context, e *session.Event) []any {
	if e.Call == nil {
		return nil
	}
	all := t.announce(e.Call.ID, e.Call.Name, e.Label, string(e.Call.Arguments))
	return append(all, proto.ToolCall{Kind: "tool_call_update", ToolCallID: e.Call.ID, Status: proto.ToolRunning})
}

func (t *teller) toolUpdate(_ context.Context, e *session.Event) []any {
	if e.Call == nil || e.Result == nil {
		return nil
	}
	all := t.announce(e.Call.ID, e.Call.Name, e.Label, string(e.Call.Arguments))
	var text strings.Builder
	for _, b := range e.Result.Content {
		if b, ok := b.(llm.Text); ok {
			text.WriteString(b.Text)
		}
	}
	if text.Len() == 0 || t.calls[e.Call.ID].terminal {
		return all
	}
	return append(all, proto.ToolCall{Kind: "tool_call_update", ToolCallID: e.Call.ID, Content: []any{fenced(tail(text.String()))}})
}

func (t *teller) toolEnd(ctx context.Context, e *session.Event) []any {
	if e.Call == nil {
		return nil
	}
	all := t.announce(e.Call.ID, e.Call.Name, e.Label, string(e.Call.Arguments))
	all = append(all, t.result(e.Call.ID, e.Call.Name, e.Result))
	delete(t.calls, e.Call.ID)
	if e.Call.Name == "todo" {
		all = append(all, t.plan(ctx)...)
	}
	return all
}

// result is the update with the result of a call.
func (t *teller) result(id, name string, r *tool.Result) proto.ToolCall {
	u := proto.ToolCall{Kind: "tool_call_update", ToolCallID: id, Status: proto.ToolCompleted}
	if r == nil {
		return u
	}
	if r.IsError {
		u.Status = proto.ToolFailed
	}
	if len(r.Details) > 0 && len(r.Details) <= maxRaw {
		u.RawOutput = r.Details
	}
	var c changed
	if kindOf(name) == "edit" && json.Unmarshal(r.Details, &c) == nil && len(c.Paths) > 0 {
		for _, p := range c.Paths {
			if addressed(p) {
				return u // the editor has no such file
			}
			u.Locations = append(u.Locations, proto.ToolLocation{Path: t.places.path(p)})
		}
		for _, d := range t.diffs(&c) {
			u.Content = append(u.Content, d.Diff)
			for i := range u.Locations {
				if u.Locations[i].Path == d.Path && u.Locations[i].Line == 0 {
					u.Locations[i].Line = d.line
				}
			}
		}
		if len(u.Content) > 0 {
			return u
		}
	}
	for _, b := range r.Content {
		switch b := b.(type) {
		case llm.Text:
			if b.Text == "" {
				continue
			}
			text := b.Text
			if len(text) > maxOutput {
				text = prose.Head(text, maxOutput) + "\n[The rest is in the session.]"
			}
			u.Content = append(u.Content, fenced(text))
		default:
			if c := block(b); c != nil {
				u.Content = append(u.Content, proto.ToolContent{Type: "content", Content: c})
			}
		}
	}
	return u
}

// fenced puts output into a code block, because clients render text as Markdown.
func fenced(text string) proto.ToolContent {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return proto.ToolContent{Type: "content", Content: proto.Text(fence + "\n" + strings.TrimSuffix(text, "\n") + "\n" + fence)}
}

// tail returns the end of a long text.
func tail(text string) string {
	if len(text) <= maxPartial {
		return text
	}
	return strings.ToValidUTF8(text[len(text)-maxPartial/2:], "")
}

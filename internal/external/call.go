package external

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/burin-dev/burin/internal/acp"
	"github.com/burin-dev/burin/internal/platform/edit"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/tool"
)

// call is something that the agent does: a call of its own, or a request for a file or a
// command of burin's. Its fields are under the agent's mu.
type call struct {
	id, agentID string

	title, kind, status string
	locations           []acp.ToolLocation
	input, output       json.RawMessage
	content             []acp.ReceivedContent

	args arguments // of a request for something of burin's, whose tool is kind
	own  bool      // it is one
	done *tool.Result

	gate    *gate // whether it may run; nil: the agent has not asked
	refusal error // why not
	judging bool  // a person may be looking at it
	queued  bool  // the loop will see it
	shown   bool  // the loop has seen it
	ended   bool
}

// gate is a question of the agent's whether a call may run.
type gate struct{ verdict verdict }

// verdict is the answer to it.
type verdict uint8

const (
	pending verdict = iota
	allowed
	refused
	cancelled
)

// undecided reports whether the agent waits for an answer.
func (c *call) undecided() bool { return c.gate != nil && c.gate.verdict == pending }

// decide answers the agent, if it waits. Whoever changes the verdict wakes who waits for it.
func (c *call) decide(v verdict) {
	if c.undecided() {
		c.gate.verdict = v
	}
}

// granted reports whether a call of the agent's that was allowed, and runs, is about that; mu
// is held.
func (a *Agent) granted(kind tool.AccessKind, target string) bool {
	for _, c := range a.calls {
		if c.own || c.ended || c.gate == nil || c.gate.verdict != allowed {
			continue
		}
		name, args := c.describe(a.o.Ground.Name)
		if slices.ContainsFunc(accesses(name, args), func(x tool.Access) bool { return x.Kind == kind && x.Target == target }) {
			return true
		}
	}
	return false
}

// merge takes what an update says of a call.
func (c *call) merge(u *acp.ReceivedCall) {
	if u.Title != nil && *u.Title != "" {
		c.title = prose.Row(*u.Title, 1000)
	}
	if u.ToolKind != "" {
		c.kind = u.ToolKind
	}
	if u.Status != "" {
		c.status = u.Status
	}
	if u.Locations != nil {
		c.locations = u.Locations[:min(len(u.Locations), 100)]
	}
	if len(u.RawInput) > 0 && len(u.RawInput) <= maxContent {
		c.input = u.RawInput
	}
	if len(u.RawOutput) > 0 && len(u.RawOutput) <= maxContent {
		c.output = u.RawOutput
	}
	var content []acp.ReceivedContent
	if len(u.Content) > 0 && json.Unmarshal(u.Content, &content) == nil && content != nil {
		c.content = content[:min(len(content), 200)]
	}
}

// arguments are those of burin's tools for the calls of an agent. Their names are those that
// faces know from burin's own tools.
type arguments struct {
	Title   string          `json:"title,omitempty"`
	Command string          `json:"command,omitempty"`
	CWD     string          `json:"cwd,omitempty"`
	Pattern string          `json:"pattern,omitempty"`
	Path    string          `json:"path,omitempty"`
	More    []string        `json:"paths,omitempty"` // further ones
	URL     string          `json:"url,omitempty"`
	Query   string          `json:"query,omitempty"`
	Patch   string          `json:"patch,omitempty"`
	Content string          `json:"content,omitempty"`
	Kind    string          `json:"kind,omitempty"`
	Input   json.RawMessage `json:"input,omitempty"`
	// Unclear says that the agent has not told all of what it is going to do.
	Unclear bool `json:"unclear,omitempty"`
	// Watched says that the agent has not asked: there is nothing to decide.
	Watched bool `json:"watched,omitempty"`
}

// input is what agents call the arguments of their tools.
type input struct {
	Command  json.RawMessage `json:"command"` // text, or words
	CWD      string          `json:"cwd"`
	FilePath string          `json:"file_path"`
	AbsPath  string          `json:"abs_path"`
	Path     string          `json:"path"`
	Pattern  string          `json:"pattern"`
	Query    string          `json:"query"`
	URL      string          `json:"url"`
}

// line is the command.
func (in *input) line() string {
	var text string
	var words []string
	switch {
	case json.Unmarshal(in.Command, &text) == nil:
		return text
	case json.Unmarshal(in.Command, &words) == nil:
		return quoted(words)
	}
	return ""
}

// Names of the tools. Rules, words and cards of burin's own tools hold for those of the same
// names.
const (
	toolRun   = "bash"
	toolEdit  = "edit"
	toolWrite = "write"
	toolRead  = "read"
	toolGrep  = "grep"
	toolFetch = "fetch"
	toolTodo  = "todo"
	toolAny   = "agent"
)

// describe puts a call in burin's words; mu is held.
func (c *call) describe(nameOf func(string) string) (name string, args arguments) {
	if c.own {
		return c.kind, c.args
	}
	var in input
	_ = json.Unmarshal(c.input, &in) // what it does not have is not known
	args.Title = c.title
	var paths []string
	add := func(path string) {
		if path == "" {
			return
		}
		if at := nameOf(path); !slices.Contains(paths, at) {
			paths = append(paths, at)
		}
	}
	for _, at := range []string{in.FilePath, in.AbsPath, in.Path} {
		add(at)
	}
	for _, at := range c.locations {
		add(at.Path)
	}
	var patch strings.Builder
	for i := range c.content {
		if d := &c.content[i]; d.Type == "diff" {
			add(d.Path)
			diff, _, _ := unified(d, nameOf)
			patch.WriteString(diff)
		}
	}
	args.Patch = prose.Head(patch.String(), maxContent)
	if len(paths) > 0 {
		args.Path, args.More = paths[0], paths[1:]
	}
	command := in.line()
	switch {
	case command != "" || c.kind == "execute":
		name, args.Command, args.CWD = toolRun, command, in.CWD
		args.Path, args.More = "", nil
		if command == "" {
			args.Command, args.Unclear = c.title, true
		}
	case c.kind == "edit", c.kind == "delete", c.kind == "move", patch.Len() > 0:
		name, args.Unclear = toolEdit, len(paths) == 0
	case c.kind == "read":
		name, args.Unclear = toolRead, len(paths) == 0
	case c.kind == "search":
		name, args.Pattern = toolGrep, firstOf(in.Pattern, in.Query)
	case c.kind == "fetch":
		name, args.URL, args.Query = toolFetch, in.URL, in.Query
		args.Path, args.More = "", nil
	default:
		name, args.Kind = toolAny, c.kind
		args.Path, args.More = "", nil
		if args.Input = c.input; len(args.Input) > maxInput {
			args.Input = marshal(prose.Cut(string(args.Input), maxInput))
		}
	}
	args.Watched = c.gate == nil
	return name, args
}

func firstOf(all ...string) string {
	for _, s := range all {
		if s != "" {
			return s
		}
	}
	return ""
}

// accesses are what a call touches.
func accesses(name string, a arguments) []tool.Access {
	if a.Watched {
		return nil
	}
	return touched(name, a)
}

// touched is accesses, whether or not the agent has asked.
func touched(name string, a arguments) (all []tool.Access) {
	files := func(kind tool.AccessKind) {
		for _, at := range append([]string{a.Path}, a.More...) {
			if at != "" {
				all = append(all, tool.Access{Kind: kind, Target: at})
			}
		}
	}
	switch name {
	case toolRun:
		all = append(all, tool.Access{Kind: tool.AccessExecute, Target: a.Command, Dir: a.CWD})
	case toolEdit, toolWrite:
		files(tool.AccessWrite)
		if len(all) == 0 {
			all = append(all, tool.Access{Kind: tool.AccessWrite})
		}
	case toolRead, toolGrep:
		files(tool.AccessRead)
		if len(all) == 0 {
			all = append(all, tool.Access{Kind: tool.AccessRead, Target: "."})
		}
	case toolFetch:
		all = append(all, tool.Access{Kind: tool.AccessNetwork, Target: a.URL})
	case toolAny:
		all = append(all, tool.Access{Kind: tool.AccessExecute})
	}
	if a.Unclear && name != toolAny {
		all = append(all, tool.Access{Kind: tool.AccessExecute}) // what is not known may be anything
	}
	return all
}

// Watched reports whether a call of the agent's runs whatever anybody decides, by its arguments.
func Watched(raw json.RawMessage) bool {
	var args arguments
	return json.Unmarshal(raw, &args) == nil && args.Watched
}

// makeTools makes burin's tools for the calls of an agent.
func (a *Agent) makeTools() map[string]*tool.Tool {
	all := map[string]*tool.Tool{}
	for _, t := range []struct {
		name, label string
		effects     tool.Effects
	}{
		{toolRun, "Run", tool.Reads | tool.Writes | tool.Executes | tool.Network},
		{toolEdit, "Edit", tool.Writes},
		{toolWrite, "Write", tool.Writes},
		{toolRead, "Read", tool.Reads},
		{toolGrep, "Search", tool.Reads},
		{toolFetch, "Fetch", tool.Network},
		{toolTodo, "Todo", 0},
		{toolAny, "Agent", tool.Executes},
	} {
		all[t.name] = &tool.Tool{
			Name: t.name, Label: t.label, Effects: t.effects,
			Parameters: json.RawMessage(`{"type":"object"}`),
			Access: func(raw json.RawMessage) ([]tool.Access, error) {
				var args arguments
				if err := json.Unmarshal(raw, &args); err != nil {
					return nil, err
				}
				return accesses(t.name, args), nil
			},
			Together: func(json.RawMessage) bool { return t.name != toolTodo },
			Run:      a.run,
		}
	}
	return all
}

// Tools are burin's tools for the calls of the agent.
func (a *Agent) Tools() []*tool.Tool {
	var all []*tool.Tool
	for _, name := range []string{toolRun, toolEdit, toolWrite, toolRead, toolGrep, toolFetch, toolTodo, toolAny} {
		all = append(all, a.tools[name])
	}
	return all
}

// errOver is that the agent has finished without a word about a call.
var errOver = errors.New("the agent has ended its work without a word about what became of this call")

// errChanged is that a hook, or the agent itself, has made another call of one.
var errChanged = errors.New("refused: this call is not the one that was judged, a hook or the agent has changed it")

// same reports whether a call that was judged touches what the agent's does; mu is held.
func (c *call) same(tc tool.Call, nameOf func(string) string) bool {
	var judged arguments
	if json.Unmarshal(tc.Arguments, &judged) != nil {
		return false
	}
	name, args := c.describe(nameOf)
	return tc.Name == name && slices.Equal(touched(name, judged), touched(name, args))
}

// run is a call that the loop has allowed: it tells the agent, and waits until the agent is
// done with it.
func (a *Agent) run(ctx context.Context, tc tool.Call) (*tool.Result, error) {
	a.mu.Lock()
	if tc.Name == toolTodo && a.turn != nil && a.calls[tc.ID] == nil {
		tasks := a.turn.plan
		a.mu.Unlock()
		return a.o.Ground.Plan(tasks), nil
	}
	c, t := a.calls[tc.ID], a.turn
	if c == nil || t == nil {
		a.mu.Unlock()
		return nil, errOver
	}
	watched := Watched(tc.Arguments) // nobody has judged it: if the agent asks by now, judgeWaiting does
	if !watched && !c.same(tc, a.o.Ground.Name) {
		c.refusal = errChanged
		c.decide(refused)
		a.wake()
		a.mu.Unlock()
		return nil, errChanged
	}
	if !watched {
		c.decide(allowed)
	}
	a.wake()
	a.mu.Unlock()
	var shown string
	for {
		a.mu.Lock()
		ended, over, changed := c.ended && a.judging == 0, t.over || a.turn != t, a.changed
		r, text := c.result(a.o.Ground.Name, t.link), ""
		if !ended {
			text = textOf(r)
		}
		a.judgeWaiting(ctx)
		a.mu.Unlock()
		switch {
		case ended:
			return r, nil
		case ctx.Err() != nil:
			a.Interrupt()
			return nil, context.Cause(ctx)
		case over:
			return r, errOver
		}
		if text != shown && text != "" {
			shown = text
			tc.Update(*r)
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
}

// judgeWaiting decides about calls that the agent asks about while the loop waits for another
// one: that one may not end before they do. mu is held.
func (a *Agent) judgeWaiting(ctx context.Context) {
	for _, c := range a.calls {
		if !c.undecided() || c.judging {
			continue
		}
		c.judging = true
		a.judging++
		name, args := c.describe(a.o.Ground.Name)
		tc := tool.Call{ID: c.id, Name: name, Arguments: marshal(args), Update: func(tool.Result) {}}
		go func() {
			err := a.o.Ground.Judge(ctx, a.tools[name], tc)
			a.mu.Lock()
			defer a.mu.Unlock()
			c.judging = false
			a.judging--
			switch {
			case err == nil && !c.same(tc, a.o.Ground.Name):
				c.refusal = errChanged
				c.decide(refused)
			case err == nil:
				c.decide(allowed)
			case ctx.Err() != nil: // whoever has ended it says what becomes of the call
			default:
				c.refusal = err
				c.decide(refused)
			}
			a.wake()
		}()
	}
}

// textOf is the words of a result.
func textOf(r *tool.Result) string {
	var b strings.Builder
	for _, block := range r.Content {
		if t, ok := block.(llm.Text); ok {
			b.WriteString(t.Text)
		}
	}
	return b.String()
}

// unified is a change of a file as a diff, with the lines that it adds and removes.
func unified(d *acp.ReceivedContent, nameOf func(string) string) (string, int, int) {
	var before []byte
	if d.OldText != nil {
		before = []byte(*d.OldText)
	}
	return edit.Diff(nameOf(d.Path), before, []byte(d.NewText))
}

// changes are details of calls that change files, as faces know them.
type changes struct {
	Paths   []string `json:"paths"`
	Diff    string   `json:"diff,omitempty"`
	Added   int      `json:"added"`
	Removed int      `json:"removed"`
	Created bool     `json:"created,omitempty"`
}

// execution are details of commands, as faces know them.
type execution struct {
	ExitCode *int `json:"exitCode,omitempty"`
}

// result is what came of a call so far; mu is held.
func (c *call) result(nameOf func(string) string, l *link) *tool.Result {
	if c.done != nil {
		return c.done
	}
	name, _ := c.describe(nameOf)
	r := &tool.Result{IsError: c.status == acp.ToolFailed}
	var text strings.Builder
	var diffs changes
	for i := range c.content {
		switch part := &c.content[i]; part.Type {
		case "diff":
			diff, added, removed := unified(part, nameOf)
			diffs.Paths, diffs.Diff = append(diffs.Paths, nameOf(part.Path)), diffs.Diff+diff
			diffs.Added, diffs.Removed = diffs.Added+added, diffs.Removed+removed
			diffs.Created = diffs.Created || part.OldText == nil
		case "terminal":
			if t := l.terminals.find(part.TerminalID); t != nil {
				out, cut := t.Output()
				if cut {
					out = "[The beginning is missing.]\n" + out
				}
				text.WriteString(out)
				if code, over := t.exit(); over {
					r = r.WithDetails(execution{&code})
					r.IsError = r.IsError || c.own && code != 0
				}
			}
		case "content":
			if part.Content.Type == "text" {
				if text.Len() > 0 {
					text.WriteString("\n")
				}
				text.WriteString(unfenced(part.Content.Text))
			} else if img, ok := image(&part.Content); ok {
				r.Content = append(r.Content, img)
			}
		}
	}
	if len(diffs.Paths) > 0 && len(diffs.Diff) <= maxContent {
		r = r.WithDetails(diffs)
	}
	if text.Len() == 0 && len(c.content) == 0 {
		text.WriteString(words(c.output))
	}
	if c.refusal != nil && c.ended {
		text.WriteString("\n[Refused: " + c.refusal.Error() + "]")
	}
	if c.gate == nil && c.ended && name != toolRead && name != toolGrep {
		text.WriteString("\n[The agent did this without asking burin.]")
	}
	out := tool.Fit(strings.TrimLeft(text.String(), "\n"), tool.SinkOptions{Head: maxContent / 3, Tail: maxContent / 3})
	words := out.Text
	if notice := out.Notice(); notice != "" {
		words += "\n" + notice
	}
	if words != "" {
		r.Content = append([]llm.Block{llm.Text{Text: words}}, r.Content...)
	}
	return r
}

// words are a raw output for people.
func words(raw json.RawMessage) string {
	var s string
	switch {
	case len(raw) == 0 || string(raw) == "null":
		return ""
	case json.Unmarshal(raw, &s) == nil:
		return s
	}
	return string(raw)
}

// unfenced is a text without the fence around all of it: agents put output into one, as
// clients show text as Markdown.
func unfenced(text string) string {
	trimmed := strings.TrimSpace(text)
	fence := trimmed[:len(trimmed)-len(strings.TrimLeft(trimmed, "`"))]
	if len(fence) < 3 || !strings.HasSuffix(trimmed, "\n"+fence) {
		return text
	}
	_, inside, ok := strings.Cut(trimmed, "\n")
	inside = strings.TrimSuffix("\n"+inside, "\n"+fence)
	if !ok || strings.Contains(inside, fence) {
		return text
	}
	return strings.TrimPrefix(inside, "\n")
}

func image(b *acp.ContentBlock) (llm.Image, bool) {
	if b.Type != "image" || !strings.HasPrefix(b.MimeType, "image/") {
		return llm.Image{}, false
	}
	data, err := base64.StdEncoding.DecodeString(b.Data)
	return llm.Image{MIME: b.MimeType, Data: data}, err == nil && len(data) > 0 && len(data) <= 4<<20
}

package external

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/acp"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/tool"
	"github.com/burin-dev/burin/tool/todo"
)

// take takes a message of the agent's, while the connection reads.
func (l *link) take(method string, params json.RawMessage, isRequest bool) (acp.Work, error) {
	switch method {
	case acp.MethodSessionUpdate:
		var u acp.Received
		if json.Unmarshal(params, &u) == nil { // nobody can be told of what it means otherwise
			l.agent.update(l, &u)
		}
		return nil, nil
	case acp.MethodRequestPermission:
		return requested(params, l.permission)
	case acp.MethodReadTextFile:
		return requested(params, l.readFile)
	case acp.MethodWriteTextFile:
		return requested(params, l.writeFile)
	case acp.MethodTerminalCreate:
		return requested(params, l.createTerminal)
	case acp.MethodTerminalOutput:
		return requested(params, l.terminalOutput)
	case acp.MethodTerminalWait:
		return requested(params, l.awaitTerminal)
	case acp.MethodTerminalKill:
		return requested(params, l.killTerminal)
	case acp.MethodTerminalRelease:
		return requested(params, l.releaseTerminal)
	}
	if !isRequest {
		return nil, nil
	}
	return nil, acp.Errorf(acp.CodeMethodNotFound, "burin has no method %s", prose.Row(method, 100))
}

// requested reads the parameters of a request.
func requested[P any](params json.RawMessage, do func(context.Context, *P) (any, error)) (acp.Work, error) {
	p := new(P)
	if err := json.Unmarshal(params, p); err != nil {
		return nil, acp.Invalid("the parameters cannot be read: %v", err)
	}
	return func(ctx context.Context) (any, error) { return do(ctx, p) }, nil
}

// update takes what the agent tells of a session.
func (a *Agent) update(l *link, u *acp.Received) {
	var title string
	defer func() {
		if title != "" {
			a.o.Titled(title)
		}
	}()
	a.mu.Lock()
	defer a.mu.Unlock()
	if u.Update.Kind == "available_commands_update" { // also before the session is open
		a.commands = u.Update.AvailableCommands[:min(len(u.Update.AvailableCommands), 1000)]
	}
	if a.link != l || u.SessionID != a.session {
		return
	}
	defer a.wake()
	switch u.Update.Kind {
	case "usage_update":
		a.money.update(u.Update.Used, u.Update.Size, u.Update.Cost, l.loading)
	case "session_info_update":
		if u.Update.Title != nil && !l.loading {
			title = prose.Row(*u.Update.Title, 200)
		}
	}
	t := a.turn
	if t == nil || t.link != l || t.over || l.loading {
		return
	}
	switch u.Update.Kind {
	case "agent_message_chunk", "agent_thought_chunk":
		t.say(said(u.Update.Content), u.Update.Kind == "agent_thought_chunk")
	case "tool_call", "tool_call_update":
		if u.Update.ToolCallID != "" {
			a.tells(t, &u.Update.ReceivedCall)
		}
	case "plan":
		t.plans(u.Update.Entries)
	}
	if t.unread > maxUnread {
		a.overflow(t, fmt.Errorf("%s says more than burin can take: %d MB that nobody has read", a.o.Name, maxUnread>>20))
	}
}

// overflow ends a prompt of an agent that makes burin keep too much; mu is held.
func (a *Agent) overflow(t *turn, err error) {
	t.over, t.err = true, err
	t.items, t.unread = nil, 0
	go t.link.stop()
}

// said is the words of a piece of a message.
func said(raw json.RawMessage) string {
	var b acp.ContentBlock
	if json.Unmarshal(raw, &b) != nil {
		return ""
	}
	switch b.Type {
	case "text":
		return b.Text
	case "resource_link":
		return firstOf(b.Name, b.URI) + " (" + b.URI + ")"
	case "resource":
		if b.Resource != nil && b.Resource.Text != nil {
			return *b.Resource.Text
		}
	}
	return "[" + prose.Row(b.Type, 40) + "]"
}

// tells takes what the agent tells of a call; mu is held.
func (a *Agent) tells(t *turn, u *acp.ReceivedCall) *call {
	c := a.byAgent[u.ToolCallID]
	if c == nil {
		if len(a.calls) >= maxCalls {
			a.overflow(t, fmt.Errorf("%s makes more than %d calls for one prompt", a.o.Name, maxCalls))
			return &call{ended: true}
		}
		c = &call{id: newID(), agentID: u.ToolCallID, kind: "other"}
		a.calls[c.id], a.byAgent[c.agentID] = c, c
	}
	if c.ended {
		return c
	}
	c.merge(u)
	switch c.status {
	case acp.ToolCompleted, acp.ToolFailed:
		c.ended = true
		a.queue(t, c, time.Time{})
	case acp.ToolRunning:
		a.queue(t, c, time.Now().Add(askTime))
	}
	return c
}

// queue has the loop see a call, once; mu is held.
func (a *Agent) queue(t *turn, c *call, due time.Time) {
	if !c.queued {
		c.queued = true
		t.items = append(t.items, item{call: c, due: due})
		return
	}
	for i := range t.items {
		if t.items[i].call == c {
			t.items[i].due = due
		}
	}
}

// plans takes the list of work.
func (t *turn) plans(entries []acp.PlanEntry) {
	var tasks []todo.Task
	for _, e := range entries[:min(len(entries), 200)] {
		task := todo.Task{Content: prose.Row(e.Content, 400), Status: todo.Pending}
		switch e.Status {
		case "in_progress":
			task.Status = todo.InProgress
		case "completed":
			task.Status = todo.Completed
		}
		if task.Content != "" && !slices.ContainsFunc(tasks, func(o todo.Task) bool { return o.Content == task.Content }) {
			tasks = append(tasks, task)
		}
	}
	if slices.Equal(tasks, t.plan) {
		return
	}
	t.plan = tasks
	if !slices.ContainsFunc(t.items, func(i item) bool { return i.plan }) {
		t.items = append(t.items, item{plan: true})
	}
}

// permission answers whether a call may run.
func (l *link) permission(ctx context.Context, p *acp.ReceivedPermission) (any, error) {
	a := l.agent
	var answer acp.PermissionResponse
	answer.Outcome.Outcome = "cancelled"
	a.mu.Lock()
	t := a.turn
	if t == nil || t.link != l || t.over || p.SessionID != a.session {
		a.mu.Unlock()
		return answer, nil
	}
	if p.ToolCall.ToolCallID == "" {
		p.ToolCall.ToolCallID = newID()
	}
	c := a.tells(t, &p.ToolCall)
	g := &gate{}
	if c.ended {
		a.mu.Unlock()
		return answer, nil
	}
	c.gate, c.refusal = g, nil
	a.queue(t, c, time.Time{})
	a.wake()
	a.mu.Unlock()
	if a.wait(ctx, func() bool { return g.verdict != pending }) != nil {
		return answer, nil
	}
	kind := acp.AllowOnce
	switch g.verdict {
	case refused:
		kind = acp.RejectOnce
	case cancelled:
		return answer, nil
	}
	i := slices.IndexFunc(p.Options, func(o acp.PermissionOption) bool { return o.Kind == kind })
	if i < 0 && kind == acp.AllowOnce {
		a.o.Warn(a.o.Name + " cannot be allowed a call for one time only, and burin allows it no more: the call was not answered")
	}
	if i >= 0 {
		answer.Outcome.Outcome, answer.Outcome.OptionID = "selected", p.Options[i].OptionID
	}
	return answer, nil
}

// request has the loop decide about something that the agent wants of burin, as about a call,
// and does it. A call of the agent's that was allowed covers it.
func (l *link) request(ctx context.Context, kind tool.AccessKind, name, target string, args arguments, do func(context.Context, *call) error) error {
	a := l.agent
	a.mu.Lock()
	t := a.turn
	if t == nil || t.link != l || t.over {
		a.mu.Unlock()
		return acp.Errorf(acp.CodeInternal, "no prompt is being worked on")
	}
	if a.granted(kind, target) {
		a.mu.Unlock()
		return do(ctx, nil)
	}
	if len(a.calls) >= maxCalls {
		a.overflow(t, fmt.Errorf("%s makes more than %d calls for one prompt", a.o.Name, maxCalls))
		a.wake()
		a.mu.Unlock()
		return acp.Errorf(acp.CodeInternal, "too many calls")
	}
	c := &call{id: newID(), kind: name, args: args, own: true, gate: &gate{}}
	a.calls[c.id] = c
	a.queue(t, c, time.Time{})
	a.wake()
	a.mu.Unlock()
	err := a.wait(ctx, func() bool { return c.gate.verdict != pending })
	if err == nil && c.gate.verdict != allowed {
		if err = acp.Errorf(acp.CodeInternal, "the user does not allow this"); c.refusal != nil {
			err = acp.Errorf(acp.CodeInternal, "%s", c.refusal.Error())
		}
	} else if err == nil {
		err = do(ctx, c)
	}
	if err != nil {
		a.finish(c, tool.Failure("Error: "+err.Error()))
	}
	return err
}

// finish ends a request.
func (a *Agent) finish(c *call, r *tool.Result) {
	if c == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if !c.ended {
		c.ended, c.done = true, r
		a.wake()
	}
}

// maxShown is how much of a file that is written stands in the session.
const maxShown = 64 << 10

func (l *link) writeFile(ctx context.Context, p *acp.WriteTextFileRequest) (any, error) {
	a := l.agent
	name := a.o.Ground.Name(p.Path)
	if err := a.o.Ground.Reach(name); err != nil {
		return nil, err
	}
	content := p.Content
	if len(content) > maxShown {
		content = prose.Head(content, maxShown) + "\n[…]"
	}
	err := l.request(ctx, tool.AccessWrite, toolWrite, name, arguments{Path: name, Content: content}, func(ctx context.Context, c *call) error {
		r, err := a.o.Ground.WriteText(ctx, name, p.Content)
		if err == nil {
			a.finish(c, r)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return acp.Empty{}, nil
}

// readFile is judged without the loop: reading changes nothing, and a session would be full
// of it. A question is asked all the same.
func (l *link) readFile(ctx context.Context, p *acp.ReadLinesRequest) (any, error) {
	a := l.agent
	name := a.o.Ground.Name(p.Path)
	if err := a.o.Ground.Reach(name); err != nil {
		return nil, err
	}
	a.mu.Lock()
	covered := a.granted(tool.AccessRead, name)
	a.mu.Unlock()
	if !covered {
		args := marshal(arguments{Path: name})
		if err := a.o.Ground.Judge(ctx, a.tools[toolRead], tool.Call{Name: toolRead, Arguments: args}); err != nil {
			return nil, acp.Errorf(acp.CodeInternal, "%s", err.Error())
		}
	}
	text, err := a.o.Ground.ReadText(ctx, name)
	if err != nil {
		return nil, err
	}
	if p.Line != nil || p.Limit != nil {
		lines := slices.Collect(strings.Lines(text))
		if p.Line != nil && *p.Line > 1 {
			lines = lines[min(*p.Line-1, len(lines)):]
		}
		if p.Limit != nil && *p.Limit >= 0 && *p.Limit < len(lines) {
			lines = lines[:*p.Limit]
		}
		text = strings.Join(lines, "")
	}
	return acp.ReadTextFileResponse{Content: text}, nil
}

// account is what the agent says of tokens and money.
type account struct {
	used, window int
	known        bool    // it has named a cost
	silent       bool    // it has ended a prompt and named none
	last         llm.USD // the cost that it named last
	fresh        llm.USD // what was added since the last answer
	total        llm.USD // what was added in this process
}

// begin begins with a session that has cost nothing.
func (m *account) begin() { m.last = 0 }

func (m *account) update(used, size int, cost *acp.Cost, loading bool) {
	m.used, m.window = max(0, used), max(0, size)
	if cost == nil || cost.Currency != "USD" || !(cost.Amount >= 0 && cost.Amount < 1e9) {
		return
	}
	m.known = true
	now := llm.Dollars(cost.Amount)
	if loading {
		m.last = now
		return
	}
	added := now - m.last
	if added < 0 { // it counts anew since it was started
		added = now
	}
	m.last = now
	m.fresh += added
	m.total += added
}

package crew

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/internal/bench"
	"github.com/burin-dev/burin/internal/customize/subagent"
	"github.com/burin-dev/burin/internal/host/crew/task"
	"github.com/burin-dev/burin/internal/platform/smallfile"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/transcript"
	"github.com/burin-dev/burin/transcript/place"
)

// member is one agent.
type member struct {
	crew       *Crew // that started it
	id         string
	file       string // of its session; "": it is kept in memory
	definition *subagent.Definition
	order      task.Order
	isolated   bool

	opening sync.Mutex // held while its session is opened or closed

	mu       sync.Mutex
	agent    session.Agent
	live     *session.Session         // nil: it has not begun, or is parked
	own      *Crew                    // its own agents
	dir      string                   // of an isolated one; "": it has no folder
	folder   string                   // the id of its folder, for a later owner of the session
	back     func(keep bool) []string // brings back what it changed in the folder, and says what became of it
	leave    func()                   // leaves the folder for a later owner of the session
	lost     bool                     // its definition is not there: it can't go on
	asking   int                      // who wait for its answer, and read what back says
	faces    int                      // that look at it
	begun    time.Time
	output   string // the whole result
	notes    []string
	patch    string
	branch   string
	why      string      // it is to end
	cut      string      // why the piece of work that is under way, or was last, was ended
	timer    *time.Timer // of its time limit
	cancel   context.CancelFunc
	finished chan struct{} // closed when its first work is over
	started  chan struct{} // closed when its session has its task, or never will
	starts   sync.Once
	early    []task.Letter // that came before it began
	over_    bool
	done     bool // over_, and not because the session ended
	awaited  bool
	delivery delivery // of its result, if it works in the background
	requests int      // of this piece of work
	park     *time.Timer
	told     time.Time // when the row was last told
	telling  *time.Timer
}

// row is the agent as faces see it.
func (m *member) row() session.Agent {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.agent
}

// tell says to the session what became of changes.
func (m *member) tell(notes []string) {
	if len(notes) > 0 && m.crew.life.Err() == nil {
		_, _ = m.crew.family.Speaker(m.id).Send(m.crew.life, task.Main, strings.Join(notes, "\n")) // it is kept until it is read
	}
}

// over is closed when the agent's first work is over.
func (m *member) over() <-chan struct{} { return m.finished }

// maxPreview is how many characters of a result the session reads; agent:// has the rest.
const maxPreview = 5000

// report is what the session reads of the agent.
func (m *member) report() task.Report {
	m.mu.Lock()
	defer m.mu.Unlock()
	a := &m.agent
	r := task.Report{
		ID: m.id, Agent: a.Agent, Index: a.Index, Description: a.Description, State: "running", Error: a.Error, Notes: slices.Clone(m.notes),
		Requests: a.Requests, Tokens: a.Tokens, Cost: a.Cost, Known: a.Known, Model: a.Model, Patch: m.patch, Branch: m.branch, Kept: m.file != "",
	}
	if !m.over_ {
		return r
	}
	r.Took = a.Ended.Sub(m.begun)
	r.TookMS = r.Took.Milliseconds()
	r.Output = prose.Head(m.output, maxPreview)
	r.More = len(r.Output) < len(m.output)
	switch {
	case m.why != "":
		r.State = "stopped"
	case a.Error != "":
		r.State = "failed"
	default:
		r.State = "done"
	}
	return r
}

// stop ends the agent for good.
func (m *member) stop() {
	m.abort("it was stopped")
	m.opening.Lock()
	defer m.opening.Unlock()
	m.mu.Lock()
	live, back := m.live, m.back
	if !m.over_ { // its first work brings back what it changed
		back = nil
	}
	m.live = nil
	m.agent.State = session.AgentStopped
	if back != nil {
		m.back, m.dir, m.folder = nil, "", ""
	}
	m.mu.Unlock()
	if live != nil {
		_ = live.Close() // its transcript has what was said
	}
	if back != nil {
		m.tell(back(false))
	}
	m.freeTasks()
	_ = m.note()
	m.changed(true)
}

// callStopped is why agents end whose call is stopped, by a person or by the end of the session. What
// an isolated one has changed is half of something: it stays in its folder until it has gone on.
const callStopped = "the call was stopped"

// abort ends the piece of work that is under way.
func (m *member) abort(why string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.cancel != nil && m.why == "" {
		m.why = why
		m.cancel()
	}
	if m.live != nil {
		m.cut = why
		go m.live.Abort()
	}
}

// cutShort says why the work that ended with err was ended.
func (m *member) cutShort(err error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.cut != "" {
		return errors.New(m.cut)
	}
	return err
}

// close closes its session.
func (m *member) close() error {
	m.opening.Lock()
	defer m.opening.Unlock()
	m.mu.Lock()
	live, back, leave := m.live, m.back, m.leave
	working := !m.done || live != nil && live.Facts().Working
	m.live, m.back, m.leave, m.dir = nil, nil, nil, ""
	for _, t := range []*time.Timer{m.park, m.telling, m.timer} {
		if t != nil {
			t.Stop()
		}
	}
	m.mu.Unlock()
	var err error
	if live != nil {
		err = live.Close()
	}
	switch {
	case back == nil:
	case working: // half of a change helps nobody: it can go on later
		leave()
	default:
		back(false)
		m.mu.Lock()
		m.folder = ""
		m.mu.Unlock()
		err = errors.Join(err, m.note())
	}
	return err
}

// errEnded is the end of a piece of work whose session ends.
var errEnded = errors.New("the session was closed")

// first does the work that the agent was started for.
func (m *member) first(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(m.crew.life, cancel)()
	m.mu.Lock()
	m.cancel = cancel
	if m.why != "" {
		cancel()
	}
	m.mu.Unlock()
	output, err := m.work(ctx)
	m.start()
	if m.crew.life.Err() != nil {
		err = errEnded // a later owner of the session says that it was not finished
	}
	m.mu.Lock()
	m.cancel, m.over_ = nil, true
	m.agent.Ended, m.agent.Tool = m.crew.o.Now(), ""
	m.output = output
	if err != nil {
		m.agent.Error = prose.Short(prose.Line(err.Error()), 500)
		if m.why != "" {
			m.agent.Error = m.why
		}
	}
	if m.agent.State != session.AgentStopped {
		m.agent.State = session.AgentIdle
	}
	m.mu.Unlock()
	if !errors.Is(err, errEnded) {
		m.mu.Lock()
		m.done = m.why != callStopped
		m.mu.Unlock()
		m.keepOutput(output)
		if err := m.note(); err != nil {
			m.crew.o.Warn(fmt.Sprintf("agent %s: %v", m.id, err))
		}
	}
	if err == nil {
		m.finishTodos()
	}
	m.freeTasks()
	close(m.finished)
	m.changed(true)
	m.rest()
}

// finishTodos marks what the session had planned and the agent has done.
func (m *member) finishTodos() {
	m.crew.mu.Lock()
	live := m.crew.live
	m.crew.mu.Unlock()
	if live == nil || m.agent.Description == "" {
		return
	}
	if err := session.FinishTodos(live, m.id, m.agent.Description); err != nil {
		m.crew.o.Warn(fmt.Sprintf("the todo list does not know that agent %s is done: %v", m.id, err))
	}
}

// work opens the agent's session, has it do the work, and gives its result.
func (m *member) work(ctx context.Context) (output string, err error) {
	c := m.crew
	if m.isolated { // somebody may look at it, and so give it its folder, before its turn comes
		defer m.brought(true)
	}
	if c.slots != nil {
		select {
		case c.slots <- struct{}{}:
			defer m.placed()()
		case <-ctx.Done():
			return "", errors.New("it had not begun")
		}
	}
	m.mu.Lock()
	m.limit()
	m.mu.Unlock()
	live, err := m.awake(ctx)
	if err != nil {
		return "", err
	}
	m.mu.Lock()
	m.agent.State, m.begun = session.AgentRunning, c.o.Now()
	m.mu.Unlock()
	m.changed(true)
	return m.ask(ctx, live, llm.UserText(m.order.Assignment))
}

// limit begins the time that a piece of work may take. m.mu must be held.
func (m *member) limit() {
	if m.timer != nil {
		m.timer.Stop()
		m.timer = nil
	}
	if limit := m.crew.o.Limits.Runtime; limit > 0 {
		m.timer = time.AfterFunc(limit, func() { m.abort(fmt.Sprintf("it reached its time limit of %s (task.maxRuntimeMs)", limit)) })
	}
}

// isolate gives an isolated agent its folder: the one that a killed burin has left, or a new one
// with the files as they are now.
func (m *member) isolate(ctx context.Context) error {
	if m.crew.o.Isolate == nil {
		return errors.New("isolation is off: task.isolation.mode in config.yml turns it on")
	}
	m.mu.Lock()
	left := m.folder
	m.mu.Unlock()
	folder, err := m.crew.o.Isolate(ctx, m.id, left)
	if err != nil {
		return fmt.Errorf("isolate it: %w", err)
	}
	m.mu.Lock()
	m.dir, m.folder = folder.Dir(), folder.ID()
	m.back = func(keep bool) []string { return m.bringBack(context.WithoutCancel(ctx), folder, keep) }
	m.leave = func() { _ = folder.Leave() } // its lock ends with the process anyway
	m.mu.Unlock()
	return m.note()
}

// brought brings back what an isolated agent changed, and says what became of it. Its session goes
// with the folder; the next message opens it in a new one. While somebody looks at the session, or it
// works, that has to wait; at the end of the agent's first work the changes come back at once, and the
// folder stays for who looks. Where the session ends, close does it.
func (m *member) brought(first bool) []string {
	m.opening.Lock()
	defer m.opening.Unlock()
	m.mu.Lock()
	back, live, faces, why := m.back, m.live, m.faces, m.why
	m.mu.Unlock()
	switch {
	case back == nil, m.crew.life.Err() != nil:
		return nil
	case first && why == callStopped:
		m.mu.Lock()
		m.notes = append(m.notes, "What it changed is in its own folder, and comes back when it has gone on.")
		m.mu.Unlock()
		return nil
	case first && faces > 0:
		return back(true)
	case first:
	case faces > 0, live != nil && live.Facts().Working:
		return nil
	}
	m.mu.Lock()
	m.back, m.leave, m.dir, m.live = nil, nil, "", nil
	m.mu.Unlock()
	notes := back(false)
	m.mu.Lock()
	m.folder = ""
	m.mu.Unlock()
	if live != nil {
		_ = live.Close() // what it says is in its file
	}
	if !first {
		_ = m.note()
	}
	return notes
}

// bringBack gives the changes of an isolated agent to its session.
func (m *member) bringBack(ctx context.Context, f *bench.Isolated, keep bool) []string {
	patch, branch := "", ""
	if m.file != "" {
		patch = strings.TrimSuffix(m.file, ".jsonl") + ".patch"
	}
	if m.crew.o.Limits.Merge == "branch" {
		branch = "burin/task/" + strings.ReplaceAll(m.id, ".", "-")
	}
	m.crew.mu.Lock()
	lent := m.crew.lent
	m.crew.mu.Unlock()
	b, err := f.BringBack(ctx, lent, patch, branch, prose.Head(m.id+": "+m.row().Task, 200), keep)
	if err != nil {
		where := ""
		if b.Patch != "" {
			where = "; they are in the patch " + b.Patch
		}
		b.Notes = append(b.Notes, "Its changes could not be brought back: "+err.Error()+where)
	}
	m.mu.Lock()
	m.notes, m.patch, m.branch = append(m.notes, b.Notes...), b.Patch, b.Branch
	m.mu.Unlock()
	return b.Notes
}

// ask has the agent answer a message.
func (m *member) ask(ctx context.Context, live *session.Session, message llm.Message) (string, error) {
	m.mu.Lock()
	m.requests = 0
	m.mu.Unlock()
	receipt, err := m.begin(ctx, live, message)
	if err != nil {
		return "", err
	}
	out, err := live.Wait(ctx, receipt.ID)
	if err != nil {
		live.Abort()
		late, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortGrace)
		defer cancel()
		if out, err = live.Wait(late, receipt.ID); err != nil {
			return "", errors.New("it did not stop")
		}
	}
	text := ""
	if m.crew.o.Result != nil {
		text = m.crew.o.Result(out)
	}
	if text == "" {
		text = result(out, m.definition.Output != nil)
	}
	switch {
	case out.Reason == agent.ReasonDone && text == "":
		return "", errors.New("it ended without a result")
	case out.Reason == agent.ReasonDone:
		return text, nil
	case out.Err != nil:
		return text, out.Err
	}
	return text, fmt.Errorf("it ended early: %s", out.Reason)
}

// abortGrace is how long an agent may take to stop.
const abortGrace = 5 * time.Second

// result is what an agent hands over: by its tool result if it has one, else what it said last.
func result(out agent.Outcome, typed bool) string {
	if typed {
		handed, _ := session.Result(out)
		return string(handed)
	}
	for _, msg := range slices.Backward(out.Messages) {
		if text := strings.TrimSpace(msg.Text()); msg.Role == llm.RoleAssistant && text != "" {
			return text
		}
	}
	return ""
}

// awake gives the agent's session, opened if it is not.
func (m *member) awake(ctx context.Context) (*session.Session, error) {
	m.opening.Lock()
	defer m.opening.Unlock()
	m.mu.Lock()
	live, state, dir, own := m.live, m.agent.State, m.dir, m.own
	if m.park != nil {
		m.park.Stop()
	}
	m.mu.Unlock()
	c := m.crew
	switch {
	case live != nil:
		return live, nil
	case c.life.Err() != nil:
		return nil, session.ErrClosed
	case state == session.AgentStopped:
		return nil, fmt.Errorf("%s was stopped: its transcript is history://%s", m.id, m.id)
	case m.lost:
		return nil, fmt.Errorf("%s can't go on: there is no agent %q that may run now, see burin agents; its transcript is history://%s", m.id, m.definition.Name, m.id)
	case state == session.AgentParked && !isKept(m):
		return nil, fmt.Errorf("%s is not kept", m.id)
	case m.isolated && dir == "":
		if err := m.isolate(ctx); err != nil {
			if _, begun := m.transcript(); begun {
				err = fmt.Errorf("%w; its transcript is history://%s", err, m.id)
			}
			return nil, err
		}
		m.mu.Lock()
		dir = m.dir
		m.mu.Unlock()
	}
	c.mu.Lock()
	parent, lent := c.live, c.lent
	c.mu.Unlock()
	if parent == nil {
		return nil, errors.New("the session has not begun")
	}
	depth := strings.Count(m.id, ".") + 1 // of the agent; after a resume it is with the crew of the session
	if own == nil && len(m.definition.Spawns) > 0 && (c.o.Limits.Depth < 0 || depth < c.o.Limits.Depth) {
		own = c.crew(m.id, m.definition.Spawns)
	}
	facts := parent.Facts()
	lender := session.Lend(parent)
	o := Opening{
		ID: m.id, Talk: c.talk(m.id), Parent: facts.ID, Family: c, Definition: m.definition, Dir: dir, File: m.file, Tools: m.tools(parent, own != nil), Append: m.role(), Mode: facts.Mode, Model: lender.Model(), Crew: own,
		Under: lent, Lender: lender, Desk: session.NewDesk(session.DeskOptions{Under: c.o.Desk, From: m.id}), Emit: m.heard, Title: m.agent.Description,
	}
	if path, ok := m.transcript(); ok {
		o.File, o.Resume = path, true
	}
	live, err := c.o.Open(context.WithoutCancel(ctx), o)
	if err != nil {
		return nil, err
	}
	if own != nil {
		own.Bind(live)
	}
	m.mu.Lock()
	m.live, m.own = live, own
	m.agent.Model = live.Facts().Model.Ref()
	m.agent.Window = live.Facts().Model.ContextWindow
	if m.agent.State == session.AgentParked {
		m.agent.State = session.AgentIdle
	}
	m.mu.Unlock()
	return live, nil
}

// transcript finds the file of the agent's session; before the first answer it is a draft, which a
// killed burin leaves. ok is false if there is none.
func (m *member) transcript() (path string, ok bool) {
	if m.file == "" {
		return "", false
	}
	for _, path := range []string{m.file, m.file + ".draft"} {
		if _, err := os.Stat(path); err == nil {
			return path, true
		}
	}
	return "", false
}

// tools are the names of the tools that the agent may use: those of its definition, and never
// more than its session has.
func (m *member) tools(parent *session.Session, starts bool) []string {
	states, _ := parent.Tools().List(context.Background()) // it never fails in this process
	var names []string
	for _, t := range states {
		switch t.Name {
		case "todo", session.PlanTool, session.ResultTool: // are the session's own
			continue
		case "task":
			if !starts {
				continue
			}
		case "irc", "task_list":
		default:
			if m.definition.Tools != nil && !slices.Contains(m.definition.Tools, t.Name) {
				continue
			}
		}
		if t.Enabled {
			names = append(names, t.Name)
		}
	}
	return names
}

// role is what the agent reads of its place.
func (m *member) role() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Your role\n\nYou are %s, a sub-agent (%s). Another model has given you a task; it sees only your result, not your work.\n\n%s\n", m.id, m.definition.Name, strings.TrimSpace(m.definition.Prompt))
	if text := strings.TrimSpace(m.order.Context); text != "" {
		fmt.Fprintf(&b, "\n# Context\n\n%s\n", text)
	}
	if m.isolated {
		b.WriteString("\n# Where you work\n\nYou work in a copy of the repository. What you change in files is brought back when you are done; do not commit.\n")
	}
	b.WriteString("\n# When you are done\n\n")
	if m.definition.Output != nil {
		b.WriteString("Hand over the result with the tool result, once.\n")
	} else {
		b.WriteString("Your last message is the result: say what you found or did, with paths and lines, and what is left open. Nobody answers questions about it unless you ask them with a tool.\n")
	}
	return b.String()
}

// heard takes what the agent's session says.
func (m *member) heard(e session.Event) {
	m.mu.Lock()
	a := &m.agent
	now := false
	switch e.Type {
	case agent.AgentStart:
		if a.State != session.AgentStopped {
			a.State, a.Error = session.AgentRunning, ""
		}
		if m.over_ { // a piece of work of its own
			m.requests, m.cut = 0, ""
			m.limit()
		}
		now = true
	case session.AgentSettled:
		if m.timer != nil {
			m.timer.Stop()
			m.timer = nil
		}
		if m.over_ && a.State == session.AgentRunning {
			m.done = true
			a.State, a.Ended, a.Tool = session.AgentIdle, m.crew.o.Now(), ""
			now = true
			if m.back != nil && m.asking == 0 {
				defer m.crew.report(m)
			} else {
				defer m.rest()
			}
			defer m.freeTasks()
		}
	case agent.ToolStart:
		a.Tool = prose.Short(prose.Line(e.Call.Name+" "+about(e.Call.Arguments)), 120)
		a.Calls++
	case agent.ToolEnd:
		a.Tool = ""
	case session.ModelChanged, session.FallbackApplied, session.Promoted:
		if c, ok := e.Data.(*session.Change); ok {
			a.Model = c.To
		}
	case agent.MessageEnd:
		if e.Message.Role == llm.RoleAssistant {
			m.answered(e.Message)
		}
	default:
		m.mu.Unlock()
		return
	}
	m.mu.Unlock()
	m.changed(now)
}

// about is what a call works on.
func about(args json.RawMessage) string {
	var a map[string]any
	if json.Unmarshal(args, &a) != nil {
		return ""
	}
	for _, key := range []string{"path", "command", "pattern", "query", "url", "agent", "job"} {
		if s, ok := a[key].(string); ok {
			return prose.Head(s, 200)
		}
	}
	return ""
}

// answered counts an answer. m.mu must be held.
func (m *member) answered(msg *llm.Message) {
	a := &m.agent
	a.Requests++
	m.requests++
	if lines := strings.Split(strings.TrimSpace(msg.Text()), "\n"); lines[len(lines)-1] != "" {
		a.Said = prose.Short(prose.Line(lines[len(lines)-1]), 200)
	}
	if u := msg.Usage; u != nil {
		a.Tokens += u.Input + u.Output + u.CacheWrite
		a.Context = u.Prompt() + u.Output
		if u.Cost != nil {
			a.Cost += u.Cost.Total
		}
	}
	a.Known = a.Known && msg.Usage != nil && msg.Usage.Cost != nil && !msg.Usage.Cost.Unknown
	budget := m.crew.o.Limits.Requests
	if n := m.definition.Requests; n != 0 && budget != 0 {
		budget = n
	}
	if m.definition.ACP != nil { // its answers end where it calls something, and a message would cancel its work
		budget = 0
	}
	if budget <= 0 || m.live == nil || len(msg.ToolCalls()) == 0 {
		return
	}
	switch live := m.live; {
	case m.requests == budget:
		notice := llm.UserText(fmt.Sprintf("You have made %d requests, which is what this task was expected to need. Finish what you are at, and report what you have, open points included.", budget))
		notice.Role, notice.CustomType = llm.RoleCustom, "budget"
		go func() { _, _ = live.Submit(m.crew.life, session.Input{Message: notice}) }() // an agent that has ended needs none
	case m.requests >= budget+(budget+1)/2:
		why := fmt.Sprintf("it made %d requests, where %d were expected (task.softRequestBudget)", m.requests, budget)
		go m.abort(why)
	}
}

// tellEvery is how often faces are told of an agent that works.
const tellEvery = 150 * time.Millisecond

// changed tells faces of the agent: now, or within a moment.
func (m *member) changed(now bool) {
	m.mu.Lock()
	since := time.Since(m.told)
	if !now && since < tellEvery {
		if m.telling == nil {
			m.telling = time.AfterFunc(tellEvery-since, func() {
				m.mu.Lock()
				m.telling = nil
				m.mu.Unlock()
				m.changed(true)
			})
		}
		m.mu.Unlock()
		return
	}
	m.told = time.Now()
	row := m.agent
	m.mu.Unlock()
	if m.crew.life.Err() != nil {
		return
	}
	f := m.crew.family
	f.mu.Lock()
	var above []*Crew
	for _, c := range f.crews {
		if c.below(row.ID) {
			above = append(above, c)
		}
	}
	f.mu.Unlock()
	for _, c := range above {
		c.mu.Lock()
		tell := c.tell
		c.mu.Unlock()
		if tell != nil {
			tell(row)
		}
	}
}

// rest parks the agent after a while without work.
func (m *member) rest() {
	ttl := m.crew.o.Limits.IdleTTL
	if ttl <= 0 || !isKept(m) {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.back != nil { // bringing back closes it
		return
	}
	if m.park != nil {
		m.park.Stop()
	}
	m.park = time.AfterFunc(ttl, func() { m.sleep() })
}

// sleep parks the agent, unless it works or somebody looks at it.
func (m *member) sleep() {
	m.opening.Lock()
	defer m.opening.Unlock()
	m.mu.Lock()
	if m.agent.State != session.AgentIdle || m.faces > 0 || m.live == nil || m.crew.life.Err() != nil {
		m.mu.Unlock()
		return
	}
	live := m.live
	m.live, m.agent.State = nil, session.AgentParked
	m.mu.Unlock()
	_ = live.Close() // what it says is in its file
	_ = m.note()
	m.changed(true)
}

// face gives a handle of the agent's session.
func (m *member) face(ctx context.Context, name string, answers bool) (session.Handle, error) {
	live, err := m.awake(ctx)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	m.faces++
	m.mu.Unlock()
	return &looking{live.Face(name, answers), sync.OnceFunc(func() {
		m.mu.Lock()
		m.faces--
		stale := m.faces == 0 && m.isolated && m.over_
		back := m.back != nil
		m.mu.Unlock()
		switch {
		case stale && back:
			m.crew.report(m)
		case stale: // its folder is gone
			m.sleep()
		default:
			m.rest()
		}
	})}, nil
}

// looking is a handle that keeps an agent from being parked.
type looking struct {
	session.Handle
	leave func()
}

func (l *looking) Close() error {
	l.leave()
	return l.Handle.Close()
}

// maxOutput is how many bytes of a result are kept.
const maxOutput = 500_000

// outputFile is where an agent's result is, sidecar where its facts are.
func (m *member) outputFile() string { return strings.TrimSuffix(m.file, ".jsonl") + ".md" }
func (m *member) sidecar() string    { return strings.TrimSuffix(m.file, ".jsonl") + ".agent.json" }

// keepOutput writes the result for agent://.
func (m *member) keepOutput(output string) {
	if m.file == "" || output == "" {
		return
	}
	if len(output) > maxOutput {
		output = prose.Head(output, maxOutput) + "\n[Cut here: a result has at most 500,000 bytes.]\n"
	}
	if err := smallfile.Replace(m.outputFile(), []byte(output)); err != nil {
		m.crew.o.Warn(fmt.Sprintf("the result of agent %s is not kept: %v", m.id, err))
	}
}

// kept is what is kept of an agent beside its session.
type kept struct {
	session.Agent
	Order    task.Order `json:"order"`
	Isolated bool       `json:"isolated,omitempty"`
	Folder   string     `json:"folder,omitempty"` // of an isolated agent, while it has one
	Notes    []string   `json:"notes,omitempty"`
	Over     bool       `json:"over"` // its first work is
	Stopped  string     `json:"stopped,omitempty"`
}

// isKept reports whether its session can be closed and opened again.
func isKept(m *member) bool { return m.file != "" || m.crew.o.Keep != nil }

// view opens its transcript to read.
func view(ctx context.Context, m *member) (*transcript.Log, error) {
	if m.file == "" && m.crew.o.Keep != nil {
		return m.crew.o.Keep.View(ctx, m.id)
	}
	l, _, err := place.Read(ctx, m.file, nil, transcript.Options{})
	return l, err
}

// hasTranscript reports whether it has one.
func hasTranscript(m *member) bool {
	if m.file != "" {
		_, ok := m.transcript()
		return ok
	}
	l, err := view(context.Background(), m)
	if err != nil {
		return false
	}
	_ = l.Close() // it was only read
	return true
}

// note writes what a later owner of the session must know.
func (m *member) note() error {
	if !isKept(m) {
		return nil
	}
	m.mu.Lock()
	raw, err := json.Marshal(kept{m.agent, m.order, m.isolated, m.folder, m.notes, m.over_, m.why})
	m.mu.Unlock()
	if err != nil {
		return err
	}
	if m.file == "" {
		return m.crew.o.Keep.Note(context.Background(), m.id, raw)
	}
	return smallfile.Replace(m.sidecar(), raw)
}

// recall reads the agents that the session had before.
func (c *Crew) recall(l *bench.Lent) {
	var found []*member
	unread := map[string]*member{} // whose results the session may not have read
	for path, raw := range notesOf(c, l.Folder()) {
		var k kept
		if json.Unmarshal(raw, &k) != nil || k.ID == "" {
			continue
		}
		m := &member{crew: c, id: k.ID, file: path, order: k.Order, isolated: k.Isolated, folder: k.Folder, notes: k.Notes, over_: k.Over, why: k.Stopped, done: k.Stopped != callStopped, begun: k.Started, finished: make(chan struct{}), started: make(chan struct{})}
		close(m.finished)
		m.start()
		m.agent = k.Agent
		m.agent.Path = path
		if k.Active() || !k.Over {
			m.agent.Error = lostError
			c.lost = append(c.lost, m)
		} else if k.Parent == "" {
			unread[k.ID] = m
		}
		if m.agent.State != session.AgentStopped {
			m.agent.State = session.AgentParked
		}
		m.over_ = true
		found = append(found, m)
	}
	for _, r := range results(l, len(unread)) {
		delete(unread, r.ID)
	}
	c.lost = slices.AppendSeq(c.lost, maps.Values(unread))
	for _, all := range [][]*member{found, c.lost} {
		slices.SortStableFunc(all, func(a, b *member) int {
			return cmp.Or(a.agent.Started.Compare(b.agent.Started), a.agent.Index-b.agent.Index, strings.Compare(a.id, b.id))
		})
	}
	c.family.mu.Lock()
	defer c.family.mu.Unlock()
	for _, m := range found {
		d, ok := c.o.Agents().Get(m.agent.Agent)
		if !ok {
			d, m.lost = &subagent.Definition{Name: m.agent.Agent}, true // with which tools it worked is not known
		}
		m.definition = d
		m.crew = c // agents of agents are asked by the session, too
		c.members = append(c.members, m)
		c.byID[strings.ToLower(m.id)] = m
	}
}

// notesOf are what is kept of agents, with the paths of their session files; these are "" where there are none.
func notesOf(c *Crew, folder string) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		if keep := c.o.Keep; keep != nil && folder == "" {
			all, err := keep.Notes(c.life)
			if err != nil {
				c.o.Warn("the agents of the session can't be read: " + err.Error())
			}
			for _, raw := range all {
				if !yield("", raw) {
					return
				}
			}
			return
		}
		if folder == "" {
			return
		}
		files, _ := os.ReadDir(folder) // there is none before the first agent
		for _, entry := range files {
			name, ok := strings.CutSuffix(entry.Name(), ".agent.json")
			if !ok {
				continue
			}
			raw, err := smallfile.Read(filepath.Join(folder, entry.Name()), 1<<20)
			if err == nil && !yield(filepath.Join(folder, name+".jsonl"), raw) {
				return
			}
		}
	}
}

// results are those that the session has read of agents that were done: of calls, and in messages of
// ours. enough says how many are looked for.
func results(l *bench.Lent, enough int) (all []task.Report) {
	if enough == 0 {
		return nil
	}
	l.Last(func(n transcript.Node) bool {
		return n.Name == "task" || n.Type == transcript.TypeMessage && n.Role == ""
	}, func(e *transcript.Entry) bool {
		var d task.Details
		raw := e.Details
		if e.Message != nil {
			raw = e.Message.Details
		}
		if json.Unmarshal(raw, &d) == nil {
			for _, r := range d.Agents {
				if r.State != "running" {
					all = append(all, r)
				}
			}
		}
		return len(all) >= enough
	})
	return all
}

// Spent implements [session.Crew].
func (c *Crew) Spent(ctx context.Context) (all []session.AgentCost) {
	c.family.mu.Lock()
	members := slices.Clone(c.members)
	c.family.mu.Unlock()
	for _, m := range members {
		if !isKept(m) || !c.below(m.id) || ctx.Err() != nil {
			continue
		}
		l, err := view(ctx, m)
		if err != nil {
			continue // it has not answered
		}
		all = append(all, session.CostOf(l))
		_ = l.Close() // it was only read
	}
	return all
}

// News tells the model, once, what became of the agents that the last owner of the session did not
// finish, and of those whose results it has not read.
func (c *Crew) News() []llm.Message {
	c.family.mu.Lock()
	lost := c.lost
	c.lost = nil
	c.family.mu.Unlock()
	if len(lost) == 0 || c.of != "" {
		return nil
	}
	var b strings.Builder
	b.WriteString("burin ended while agents worked. What they did until then is done; they don't work now. Ask one to go on with irc, or read what it did.\n")
	var told task.Details
	for _, m := range lost {
		m.count()
		a := m.row()
		fmt.Fprintf(&b, "- %s (%s): %s; %s; history://%s\n", a.ID, a.Agent, a.Task, m.did(), a.ID)
		if a.Error != lostError {
			told.Agents = append(told.Agents, m.report())
		}
	}
	m := llm.UserText(b.String())
	m.Role, m.CustomType = llm.RoleCustom, customLost
	if raw, err := json.Marshal(told); err == nil {
		m.Details = raw
	}
	return []llm.Message{m}
}

// did is what an agent had done when burin ended.
func (m *member) did() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	a := &m.agent
	did := "it had not begun"
	if hasTranscript(m) {
		did = "it had no answer yet"
	}
	if a.Requests > 0 {
		did = "it had made " + prose.Count(a.Requests, "request")
		if a.Said != "" {
			did += " and said last: " + a.Said
		}
	}
	if a.Error == lostError {
		if m.folder != "" {
			did += "; its changes are in its own folder, and come back when it has gone on"
		}
		return did
	}
	if m.why != "" || a.Error != "" {
		did += "; it ended: " + cmp.Or(m.why, a.Error)
	} else {
		did += "; it was done, and you have not read its result: agent://" + m.id
	}
	for _, note := range m.notes {
		did += "; " + prose.Short(prose.Line(note), 300)
	}
	return did
}

// customLost is the custom type of a message about agents that the last owner did not finish.
const customLost = "agents_interrupted"

// lostError is the error of an agent that was not done.
const lostError = "burin ended while it worked"

// count reads from the agent's transcript what its last owner did not note.
func (m *member) count() {
	l, err := view(context.Background(), m)
	if err != nil {
		return // it has not answered
	}
	defer l.Close()
	cost := session.CostOf(l)
	m.mu.Lock()
	defer m.mu.Unlock()
	a := &m.agent
	a.Requests, a.Cost, a.Known = cost.Requests, cost.Cost, !cost.Unknown
	a.Tokens = cost.Usage.Input + cost.Usage.Output + cost.Usage.CacheWrite
	if last := lastWords(l); last != nil {
		a.Said = prose.Short(prose.Line(last.Message.Text()), 200)
	}
}

// Package crew runs the sub-agents of a session. Each is a session of its own in this process,
// with a file beside that of the session that started it. What it changes, may do and costs is
// that session's: see [bench.Lent] and [session.Lender].
//
// An agent that is done stays idle, so that it can be asked further questions, and is parked
// after a while: its session is closed, and opened again for the next message.
package crew

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/internal/bench"
	"github.com/burin-dev/burin/internal/customize/subagent"
	"github.com/burin-dev/burin/internal/fuzzy"
	"github.com/burin-dev/burin/internal/host/crew/task"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/tool"
	"github.com/burin-dev/burin/transcript"
)

// Opening says how the session of an agent is opened.
type Opening struct {
	ID         string
	Definition *subagent.Definition
	Parent     string       // id of the session that it works for
	Talk       []*tool.Tool // to work with others, if it has no crew
	Family     *Crew        // of the session that started it
	Dir        string       // of an isolated agent; "": that of its session
	File       string       // for its session; "": it is kept in memory
	Resume     bool         // File is there
	Tools      []string     // that it may use
	Append     string       // to the system prompt
	Mode       string
	Model      session.Opened // that it uses where its definition names none that can be used
	Crew       *Crew          // its own
	Under      *bench.Lent
	Lender     *session.Lender
	Desk       *session.Desk
	Emit       func(session.Event)
	Title      string
}

// Limits are those of the settings.
type Limits struct {
	Concurrency int           // agents of one session that work at a time; 0: all
	Depth       int           // how deep agents may start agents: 1 is the session's own; below 0: any
	Runtime     time.Duration // of one piece of work; 0: any
	Requests    int           // after which an agent is told to finish; half as many more end it; 0: never
	IdleTTL     time.Duration // until an idle agent is parked; 0: never
	Messages    time.Duration // that irc waits; 0: any
	Flat        bool          // one task for each call
	Merge       string        // patch or branch
}

// Options of the crew of a session.
type Options struct {
	Limits Limits
	// Agents are the definitions as they are now.
	Agents func() *subagent.Set
	Open   func(ctx context.Context, o Opening) (*session.Session, error)
	// Isolate makes a folder of its own for an agent, or opens the one that a killed burin has left
	// for it; nil: isolation is off.
	Isolate func(ctx context.Context, name, left string) (*bench.Isolated, error)
	Desk    *session.Desk // where the session's questions are asked
	// Awaits says that a turn ends only when the agents in the background are done. Otherwise
	// their results begin a turn.
	Awaits bool
	// Waits says that no agent works in the background. Agents of agents never do.
	Waits bool
	Warn  func(string)
	Now   func() time.Time
	// Keep keeps the agents of a session that has no files; nil: they have files beside that of the session, or are
	// not kept.
	Keep Keeper
	// Result gives what an agent hands over with a piece of work; nil, and "", is its typed result, or its last message.
	Result func(agent.Outcome) string
}

// Keeper keeps agents without files. [Options].Open finds their transcripts.
type Keeper interface {
	// Note keeps what is to be known of an agent, and Notes gives it back for all of them. Drop forgets one.
	Note(ctx context.Context, id string, facts []byte) error
	Notes(ctx context.Context) ([][]byte, error)
	Drop(ctx context.Context, id string) error
	// View opens the transcript of an agent to read. The error is an [fs.ErrNotExist] if there is none.
	View(ctx context.Context, id string) (*transcript.Log, error)
}

// Crew are the agents of one session: of a person's, or of another agent.
type Crew struct {
	*family
	of    string // id of the agent whose crew it is; "": a person's session
	may   []string
	slots chan struct{} // nil: any number at a time

	mu      sync.Mutex
	live    *session.Session
	lent    *bench.Lent
	tell    func(session.Agent)
	results []*member     // in the background that have ended, and whose results the session is to read
	letters []task.Letter // to the session, that its model has not read
	arrived chan struct{} // has room for one
	awaited int           // agents in the background that work
}

// family is what the crews of a session and of its agents share.
type family struct {
	o    Options
	life context.Context
	end  context.CancelFunc
	work sync.WaitGroup

	mu      sync.Mutex
	crews   map[string]*Crew // by the agent whose crew it is
	members []*member        // in the order in which they were started
	byID    map[string]*member
	post    mail
	waits   waits
	lost    []*member // that the last owner of the session did not finish

	listing sync.Mutex
	shared  *task.List // nil: nobody has asked for it
}

var (
	_ session.Crew = (*Crew)(nil)
	_ task.Crew    = (*Crew)(nil)
)

// New makes the crew of a person's session.
func New(o Options) *Crew {
	if o.Now == nil {
		o.Now = time.Now
	}
	f := &family{o: o, crews: map[string]*Crew{}, byID: map[string]*member{}}
	f.life, f.end = context.WithCancel(context.Background())
	return f.crew("", nil)
}

// crew makes the crew of a session of the family.
func (f *family) crew(of string, may []string) *Crew {
	c := &Crew{family: f, of: of, may: may, arrived: make(chan struct{}, 1)}
	if n := f.o.Limits.Concurrency; n > 0 {
		c.slots = make(chan struct{}, n)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.crews[of] = c
	return c
}

// Lend takes what the session lends, before it begins, and reads which agents it has had.
func (c *Crew) Lend(l *bench.Lent) {
	c.mu.Lock()
	c.lent = l
	c.mu.Unlock()
	if c.of == "" {
		c.recall(l)
	}
}

// Bind says which session it is.
func (c *Crew) Bind(s *session.Session) {
	c.mu.Lock()
	c.live = s
	c.mu.Unlock()
}

// Watch implements [session.Crew].
func (c *Crew) Watch(changed func(session.Agent)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tell = changed
}

// below reports whether an agent is one of the crew's, or of their agents.
func (c *Crew) below(id string) bool { return c.of == "" || strings.HasPrefix(id, c.of+".") }

// List implements [session.Agents].
func (c *Crew) List(context.Context) ([]session.Agent, error) {
	c.family.mu.Lock()
	members := slices.Clone(c.members)
	c.family.mu.Unlock()
	var all []session.Agent
	for _, m := range members {
		if row := m.row(); c.below(row.ID) {
			all = append(all, row)
		}
	}
	return all, nil
}

// member finds an agent of the crew. People and models write ids in any case.
func (c *Crew) member(id string) (*member, error) {
	c.family.mu.Lock()
	m := c.byID[strings.ToLower(id)]
	var ids []string
	for _, other := range c.members {
		if c.below(other.id) {
			ids = append(ids, other.id)
		}
	}
	c.family.mu.Unlock()
	if m != nil && c.below(m.id) {
		return m, nil
	}
	if len(ids) == 0 {
		return nil, fmt.Errorf("%w %q: none has been started", session.ErrNoAgent, id)
	}
	return nil, fmt.Errorf("%w %q; there are %s", session.ErrNoAgent, id, strings.Join(ids, ", "))
}

// Open implements [session.Agents].
func (c *Crew) Open(ctx context.Context, id, name string, answers bool) (session.Handle, error) {
	m, err := c.member(id)
	if err != nil {
		return nil, err
	}
	return m.face(ctx, name, answers)
}

// Stop implements [session.Agents].
func (c *Crew) Stop(_ context.Context, id string) error {
	m, err := c.member(id)
	if err != nil {
		return err
	}
	c.family.mu.Lock()
	all := []*member{m}
	for _, other := range c.members {
		if strings.HasPrefix(other.id, m.id+".") {
			all = append(all, other)
		}
	}
	c.family.mu.Unlock()
	for _, m := range all { // an agent before its own, or it would start others
		m.stop()
	}
	return nil
}

// Close ends all agents of the family, if the crew is that of a person's session. Their
// transcripts stay.
func (c *Crew) Close() error {
	if c.of != "" {
		return nil
	}
	c.end()
	c.work.Wait()
	c.family.mu.Lock()
	members := slices.Clone(c.members)
	c.family.mu.Unlock()
	var all error
	for _, m := range slices.Backward(members) {
		all = errors.Join(all, m.close())
	}
	return all
}

// Kinds implements [task.Crew].
func (c *Crew) Kinds() []task.Kind {
	var all []task.Kind
	for _, d := range c.o.Agents().All() {
		if c.mayStart(d.Name) {
			all = append(all, task.Kind{Name: d.Name, Description: prose.Short(d.Description, 500)})
		}
	}
	return all
}

func (c *Crew) mayStart(name string) bool {
	return c.of == "" || slices.Contains(c.may, "*") || slices.Contains(c.may, name)
}

// definition finds the definition of an agent that the crew may start.
func (c *Crew) definition(name string) (*subagent.Definition, error) {
	set := c.o.Agents()
	d, ok := set.Get(name)
	if ok && c.mayStart(d.Name) {
		return d, nil
	}
	var names []string
	for _, k := range c.Kinds() {
		names = append(names, k.Name)
	}
	switch {
	case ok:
		return nil, fmt.Errorf("%s does not start %s; it may start %s", c.of, name, cmp.Or(strings.Join(names, ", "), "none"))
	case len(names) == 0:
		return nil, errors.New("there are no agents")
	}
	near := ""
	for _, known := range names {
		if fuzzy.Distance(known, strings.ToLower(name), 2) <= 2 {
			near = "; did you mean " + known + "?"
			break
		}
	}
	return nil, fmt.Errorf("no agent %q%s There are %s", name, cmp.Or(near, "."), strings.Join(names, ", "))
}

// Run implements [task.Crew].
func (c *Crew) Run(ctx context.Context, call string, orders []task.Order, background bool, tell func([]task.Report)) ([]task.Report, error) {
	d, err := c.definition(orders[0].Agent)
	if err != nil {
		return nil, err
	}
	background = background && !d.Blocking
	members, err := c.enlist(d, orders, call, background)
	if err != nil {
		return nil, err
	}
	done := make(chan int, len(members))
	waited := make([]func(), len(members))
	for i, m := range members {
		from := ctx
		if background {
			from = c.life
		} else {
			waited[i] = c.waits.session(c, m.id)
			defer waited[i]()
		}
		c.work.Go(func() {
			m.run(from)
			done <- i
		})
		if background {
			c.await(m)
		}
	}
	reports := make([]task.Report, len(members))
	for i, m := range members {
		reports[i] = m.report()
	}
	if background {
		return reports, nil
	}
	tell(slices.Clone(reports))
	for range members {
		select {
		case i := <-done:
			waited[i]()
			reports[i] = members[i].report()
			tell(slices.Clone(reports))
		case <-ctx.Done():
			if errors.Is(context.Cause(ctx), agent.ErrSpoke) {
				// Their work is not thrown away because the user said something.
				for i, m := range members {
					if reports[i] = m.report(); reports[i].State == "running" {
						c.await(m)
					}
				}
				return reports, nil
			}
			for _, m := range members {
				m.abort(callStopped)
			}
			for i, m := range members {
				<-m.over()
				reports[i] = m.report()
			}
			return reports, context.Cause(ctx) // the session must know what came back
		}
	}
	return reports, nil
}

// run has an agent do the work that it was started for.
func (m *member) run(ctx context.Context) {
	defer m.crew.waits.leave(m.id, m.crew)
	m.first(context.WithoutCancel(ctx))
}

// placed notes that the agent has its place among those that work at a time. leave gives it up.
func (m *member) placed() (leave func()) {
	c := m.crew
	c.waits.place(m.id, c)
	return func() {
		c.waits.leave(m.id, c)
		<-c.slots
	}
}

// enlist makes agents that have not begun yet: all that were ordered, or none.
func (c *Crew) enlist(d *subagent.Definition, orders []task.Order, call string, background bool) (members []*member, err error) {
	c.mu.Lock()
	lent := c.lent
	c.mu.Unlock()
	if lent == nil {
		return nil, errors.New("the session has not begun")
	}
	for _, o := range orders {
		if isolates(d, o) && c.o.Isolate == nil {
			return nil, errors.New("isolation is off: task.isolation.mode in config.yml turns it on")
		}
	}
	folder := lent.Folder()
	if folder != "" {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return nil, fmt.Errorf("start an agent: %w", err)
		}
		folder = c.folder(folder)
	}
	for i, o := range orders {
		// What is kept and shown of an order holds no secrets; the agent itself never reads one.
		o.Description, o.Context, o.Assignment = lent.Hide(o.Description), lent.Hide(o.Context), lent.Hide(o.Assignment)
		m := &member{crew: c, definition: d, order: o, isolated: isolates(d, o), finished: make(chan struct{}), started: make(chan struct{})}
		m.begun = c.o.Now()
		m.agent = session.Agent{
			Agent: d.Name, Parent: c.of, CallID: call, Index: i, Description: prose.Short(prose.Line(o.Description), 200),
			Task: prose.Short(prose.Line(o.Assignment), 200), Background: background, State: session.AgentQueued, Started: m.begun, Known: true,
		}
		m.join(folder)
		members = append(members, m)
		if err := m.note(); err != nil {
			discharge(c, members)
			return nil, fmt.Errorf("start an agent: %w", err)
		}
	}
	for _, m := range members {
		m.changed(true)
	}
	return members, nil
}

// isolates reports whether an agent works in a folder of its own.
func isolates(d *subagent.Definition, o task.Order) bool {
	if o.Isolated != nil {
		return *o.Isolated
	}
	return d.Isolated != nil && *d.Isolated
}

// join gives an agent its name, and its file in a folder if there is one.
func (m *member) join(folder string) {
	c := m.crew
	c.family.mu.Lock()
	defer c.family.mu.Unlock()
	name := cmp.Or(clean(m.order.ID), m.definition.Name)
	if numbered(name) {
		name = m.definition.Name + "-" + name
	}
	m.id = c.freeID(name)
	if folder != "" {
		m.file = filepath.Join(folder, m.id+".jsonl")
	}
	m.agent.ID, m.agent.Path = m.id, m.file
	c.members = append(c.members, m)
	c.byID[strings.ToLower(m.id)] = m
	c.waits.queue(m.id, c)
}

// discharge takes agents out again that will never begin.
func discharge(c *Crew, members []*member) {
	c.family.mu.Lock()
	c.members = slices.DeleteFunc(c.members, func(m *member) bool { return slices.Contains(members, m) })
	for _, m := range members {
		delete(c.byID, strings.ToLower(m.id))
	}
	c.family.mu.Unlock()
	for _, m := range members {
		c.waits.leave(m.id, c)
		switch {
		case m.file != "":
			_ = os.Remove(m.sidecar()) // it may be the one that could not be written
		case c.o.Keep != nil:
			_ = c.o.Keep.Drop(context.Background(), m.id) // the same
		}
		m.mu.Lock()
		m.over_, m.agent.State, m.agent.Error = true, session.AgentStopped, "it had not begun"
		m.mu.Unlock()
		m.start()
		close(m.finished)
	}
}

// folder is where the files of all agents of the family are: that of the person's session.
func (c *Crew) folder(own string) string {
	c.family.mu.Lock()
	root := c.crews[""]
	c.family.mu.Unlock()
	root.mu.Lock()
	defer root.mu.Unlock()
	if root.lent != nil && root.lent.Folder() != "" {
		return root.lent.Folder()
	}
	return own
}

// clean makes a name of what a model wrote.
func clean(name string) string {
	name = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		case r == ' ', r == '.', r == '/':
			return '-'
		}
		return -1
	}, strings.TrimSpace(name))
	name = strings.Trim(name[:min(len(name), task.MaxID)], "-")
	return name
}

// freeID is a name that no agent has yet: the wanted one, or with a number. family.mu must be
// held.
func (c *Crew) freeID(name string) string {
	if c.of != "" {
		name = c.of + "." + name
	}
	id := name
	for n := 2; ; n++ {
		if _, taken := c.byID[strings.ToLower(id)]; !taken && !strings.EqualFold(id, task.Main) && !strings.EqualFold(id, task.All) {
			return id
		}
		id = fmt.Sprintf("%s-%d", name, n)
	}
}

// await counts an agent in the background, and gives its result to the session when it is done.
func (c *Crew) await(m *member) {
	m.mu.Lock()
	if m.awaited {
		m.mu.Unlock()
		return
	}
	m.awaited = true
	m.agent.Background = true
	over := m.finished
	m.mu.Unlock()
	c.mu.Lock()
	c.awaited++
	c.mu.Unlock()
	c.work.Go(func() {
		<-over
		if c.life.Err() != nil {
			return
		}
		c.hand(m)
		c.mu.Lock()
		c.awaited--
		c.mu.Unlock()
		select { // whoever waits for it may have read it by a call
		case c.arrived <- struct{}{}:
		default:
		}
	})
}

// CustomResult is the custom type of a message with results of agents.
const CustomResult = "agent_result"

// take gives the results that have come in since.
func (c *Crew) take() (message llm.Message, ok bool) {
	c.mu.Lock()
	all := c.results
	c.results = nil
	c.mu.Unlock()
	if len(all) == 0 {
		letters := c.read()
		return letterMessage(letters...), len(letters) > 0
	}
	var reports []task.Report
	for _, m := range all {
		m.delivery.mu.Lock()
		m.delivery.given = true
		m.delivery.mu.Unlock()
		reports = append(reports, m.report())
	}
	return resultMessage(reports), true
}

// resultMessage is what the model reads of agents in the background.
func resultMessage(reports []task.Report) llm.Message {
	m := llm.UserText("Results of agents in the background:\n\n" + task.Words(reports))
	m.Role, m.CustomType = llm.RoleCustom, CustomResult
	if raw, err := json.Marshal(task.Details{Background: true, Agents: reports}); err == nil {
		m.Details = raw
	}
	return m
}

// deliver gives what waits for a session to it at once: a resting one begins a turn.
func (c *Crew) deliver(live *session.Session) {
	m, ok := c.take()
	if !ok || live == nil {
		return
	}
	if _, err := live.Submit(c.life, session.Input{Message: m, When: session.After}); err != nil && c.life.Err() == nil {
		c.o.Warn("the messages of agents could not be given to the model: " + err.Error())
	}
}

// Undelivered implements [session.Crew].
func (c *Crew) Undelivered() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.awaited > 0 || len(c.results) > 0 || len(c.letters) > 0
}

// Continuation waits for agents in the background when the model has ended, and gives it their
// results. An agent, and a session whose faces go when a turn ends, cannot be woken later.
func (c *Crew) Continuation() session.Continuation {
	return session.Continuation{Name: CustomResult, Max: 1000, Ask: func(ctx context.Context, _ session.Ending) (*session.Onward, error) {
		for c.Undelivered() {
			if m, ok := c.take(); ok {
				return &session.Onward{Message: m}, nil
			}
			if !c.o.Awaits && c.of == "" {
				return nil, nil
			}
			if err := arrival(ctx, c); err != nil {
				return nil, err
			}
		}
		return nil, nil
	}}
}

// arrival waits until something may be there for the crew's session, which waits for all its agents in
// the background.
func arrival(ctx context.Context, c *Crew) error {
	c.family.mu.Lock()
	members := slices.Clone(c.members)
	c.family.mu.Unlock()
	for _, m := range members {
		m.mu.Lock()
		waits := m.crew == c && m.awaited && !m.over_
		m.mu.Unlock()
		if waits {
			defer c.waits.session(c, m.id)()
		}
	}
	select {
	case <-c.arrived:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// AgentFile finds the session file of an agent of the family.
func (f *family) AgentFile(id string) (path string, ok bool) {
	f.mu.Lock()
	m := f.byID[strings.ToLower(id)]
	f.mu.Unlock()
	if m == nil {
		return "", false
	}
	return m.transcript()
}

// Tools are what the model of the session does with agents.
func (c *Crew) Tools() []*tool.Tool {
	return append([]*tool.Tool{
		task.New(task.Options{Crew: c, Flat: c.o.Limits.Flat, Isolates: c.o.Isolate != nil, Waits: c.o.Waits || c.of != ""}),
	}, c.talk(c.of)...)
}

// talk are the tools with which the session, or an agent with that id, works with the others.
func (f *family) talk(id string) []*tool.Tool {
	return []*tool.Tool{task.IRC(f.Speaker(id), f.o.Limits.Messages), task.TaskList(f.tasks, nameOf(id), f.hide)}
}

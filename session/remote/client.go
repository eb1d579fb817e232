package remote

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/tool/change"
	"github.com/burin-dev/burin/tool/permit"
	"github.com/burin-dev/burin/tool/todo"
	"github.com/burin-dev/burin/transcript"
)

// Client is the handle of a session in another process.
type Client struct {
	// Dial connects to the owner once more, for the session of an agent; nil: it can't.
	Dial func(context.Context) (net.Conn, error)

	*link
	welcome welcome
	copy    *replica

	mu    sync.Mutex
	now   session.Facts
	next  uint64
	calls map[uint64]*call
	gone  error         // why the connection ended
	over  chan struct{} // closed when it has ended
}

var _ session.Handle = (*Client)(nil)

// call is a pending request.
type call struct {
	chunk func(string)
	event func(session.Event)
	done  chan *line // buffered, for the response
}

// Connect says hello on a connection and returns a handle of the session at the other end. The
// name tells other faces who this is. The client may get fewer rights than it wants: see
// [Client.Rights].
func Connect(ctx context.Context, conn net.Conn, name string, want Rights) (*Client, error) {
	return connect(ctx, conn, hello{Name: name, Rights: want})
}

func connect(ctx context.Context, conn net.Conn, say hello) (*Client, error) {
	say.Versions = []int{Version}
	c := &Client{link: newLink(conn), calls: map[uint64]*call{}, over: make(chan struct{})}
	stop := context.AfterFunc(ctx, func() { conn.Close() }) //nolint:errcheck // it wakes the reader
	err := c.send(&line{Hello: &say})
	var in *line
	if err == nil {
		in, err = c.receive()
	}
	switch {
	case !stop():
		err = context.Cause(ctx)
	case err != nil:
		err = fmt.Errorf("%w: %w", session.ErrOwnerGone, err)
	case in.Failure != nil:
		err = in.Failure.Err()
	case in.Welcome == nil || in.Welcome.Version != Version:
		err = errors.New("the program that answered is not burin")
	case in.Welcome.Agent != say.Agent:
		err = errors.New("the burin that has this session open knows no agents: update it")
	}
	if err != nil {
		conn.Close() //nolint:errcheck // nothing was sent but the hello
		return nil, err
	}
	c.welcome, c.now = *in.Welcome, in.Welcome.Facts
	c.copy = &replica{c: c}
	go c.listen()
	return c, nil
}

// Behind is the client that a handle is, or that it says it stands for; nil: the session is in this
// process.
func Behind(h session.Handle) *Client {
	if front, ok := h.(interface{ Behind() session.Handle }); ok {
		h = front.Behind()
	}
	c, _ := h.(*Client)
	return c
}

// Gone reports whether the owner is known to be gone. What the client remembers may be out of date
// then.
func (c *Client) Gone() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.gone != nil
}

// Rights returns the rights that the owner granted.
func (c *Client) Rights() Rights { return c.welcome.Rights }

// Owner returns what the owner said of itself when this client connected.
func (c *Client) Owner() Owner { return c.welcome.Owner }

// listen reads what the owner sends, until the connection ends.
func (c *Client) listen() {
	var err error
	for err == nil {
		var in *line
		if in, err = c.receive(); err == nil {
			c.take(in)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gone = session.ErrOwnerGone
	close(c.over)
	c.conn.Close() //nolint:errcheck // it has ended
}

func (c *Client) take(in *line) {
	c.mu.Lock()
	if in.Facts != nil {
		c.now = *in.Facts
	}
	k := c.calls[in.ID]
	answered := in.Event == nil && in.Chunk == nil
	if k != nil && answered {
		delete(c.calls, in.ID)
	}
	c.mu.Unlock()
	switch {
	case k == nil:
	case in.Event != nil && k.event != nil:
		var e session.Event
		if json.Unmarshal(in.Event, &e) != nil {
			return // unknown, from a newer owner
		}
		c.copy.hear(&e)
		k.event(e)
	case in.Chunk != nil && k.chunk != nil:
		k.chunk(*in.Chunk)
	case answered:
		k.done <- in
	}
}

// begin sends a request.
func (c *Client) begin(do string, with any, k *call) (id uint64, err error) {
	raw, err := json.Marshal(with)
	if err != nil {
		return 0, err
	}
	k.done = make(chan *line, 1)
	c.mu.Lock()
	if c.gone != nil {
		c.mu.Unlock()
		return 0, c.gone
	}
	c.next++
	id = c.next
	c.calls[id] = k
	c.mu.Unlock()
	if err := c.send(&line{ID: id, Do: do, With: raw}); err != nil {
		return 0, fmt.Errorf("%w: %w", session.ErrOwnerGone, err)
	}
	return id, nil
}

// stop cancels a request.
func (c *Client) stop(id uint64) {
	_ = c.send(&line{ID: id, Stop: true}) // an owner that is gone does nothing more anyway
}

// ask sends a request, waits for the response and decodes it into is.
func (c *Client) ask(ctx context.Context, do string, with, is any, chunk func(string)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	k := &call{chunk: chunk}
	id, err := c.begin(do, with, k)
	if err != nil {
		return err
	}
	select {
	case in := <-k.done:
		return c.answered(in, is)
	case <-ctx.Done():
		c.stop(id)
		if chunk == nil {
			return context.Cause(ctx)
		}
		// A canceled request says how far it got, or that it had finished.
		late := time.NewTimer(stopTime)
		defer late.Stop()
		select {
		case in := <-k.done:
			return c.answered(in, is)
		case <-late.C:
		case <-c.over:
		}
		return context.Cause(ctx)
	case <-c.over:
		select {
		case in := <-k.done:
			return c.answered(in, is)
		default:
			return c.gone
		}
	}
}

// stopTime is how long a canceled request may take to respond.
const stopTime = 5 * time.Second

func (c *Client) answered(in *line, is any) error {
	if in.Failure != nil {
		return in.Failure.Err()
	}
	if is == nil || len(in.Is) == 0 {
		return nil
	}
	return json.Unmarshal(in.Is, is)
}

// get is ask for a request without partial output.
func get[R any](ctx context.Context, c *Client, do string, with any) (is R, err error) {
	err = c.ask(ctx, do, with, &is, nil)
	return is, err
}

// do is ask for a request without a result.
func (c *Client) do(ctx context.Context, do string, with any) error {
	return c.ask(ctx, do, with, nil, nil)
}

// Facts implements [session.Handle].
func (c *Client) Facts() session.Facts {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *Client) Conversation() session.Conversation { return conversation{c} }
func (c *Client) Queue() session.Queue               { return queue{c} }
func (c *Client) Models() session.Models             { return models{c} }
func (c *Client) Policies() session.Policies         { return policies{c} }
func (c *Client) Tree() session.Tree                 { return tree{c} }
func (c *Client) Tools() session.Tools               { return tools{c} }
func (c *Client) Work() session.Work                 { return work{c} }
func (c *Client) Jobs() session.Jobs                 { return jobs{c} }
func (c *Client) Languages() session.Languages       { return languages{c} }
func (c *Client) Agents() session.Agents             { return agents{c} }
func (c *Client) Questions() session.Questions       { return questions{c} }
func (c *Client) Consoles() session.Consoles         { return consoles{c} }
func (c *Client) Transcript() session.Transcript     { return c.copy }

func (c *Client) Permissions() session.Permissions {
	if !c.welcome.Permissions {
		return nil
	}
	return permissions{c}
}

func (c *Client) Changes() session.Changes {
	if !c.welcome.Changes {
		return nil
	}
	return undo{c}
}

// Owns implements [session.Handle].
func (c *Client) Owns() bool { return false }

// Close implements [session.Handle]: it leaves the session, which continues.
func (c *Client) Close() error {
	c.conn.Close() //nolint:errcheck // nothing is lost with it
	<-c.over
	return nil
}

// End asks the owner to end the session and waits until it has. It is an error if the owner has
// a face of its own.
func (c *Client) End(ctx context.Context) error {
	if err := c.do(ctx, "end", nil); err != nil {
		return err
	}
	select {
	case <-c.over:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

type (
	conversation struct{ c *Client }
	queue        struct{ c *Client }
	models       struct{ c *Client }
	policies     struct{ c *Client }
	tree         struct{ c *Client }
	tools        struct{ c *Client }
	work         struct{ c *Client }
	jobs         struct{ c *Client }
	languages    struct{ c *Client }
	consoles     struct{ c *Client }
	questions    struct{ c *Client }
	permissions  struct{ c *Client }
	undo         struct{ c *Client }
)

// Submit waits for the response even when ctx ends, to learn whether the owner has accepted the
// message: a caller that puts it back into its prompt would otherwise have it twice.
func (r conversation) Submit(ctx context.Context, in session.Input) (is session.Receipt, err error) {
	err = r.c.ask(ctx, "submit", in, &is, func(string) {})
	return is, err
}

func (r conversation) Wait(ctx context.Context, id string) (agent.Outcome, error) {
	e, err := get[session.Event](ctx, r.c, "wait", idJSON{id})
	if err != nil || e.Outcome == nil {
		return agent.Outcome{}, err
	}
	return *e.Outcome, nil
}

func (r conversation) Resend(ctx context.Context) (session.Receipt, error) {
	return get[session.Receipt](ctx, r.c, "resend", nil)
}
func (r conversation) Abort(ctx context.Context) error { return r.c.do(ctx, "abort", nil) }

func (r conversation) AbortRetry(ctx context.Context) error { return r.c.do(ctx, "abort_retry", nil) }

func (r conversation) AbortCommand(ctx context.Context) error {
	return r.c.do(ctx, "abort_command", nil)
}

func (r conversation) Aside(ctx context.Context, question string, delta func(string)) (string, error) {
	var is textJSON
	err := r.c.ask(ctx, "aside", textJSON{question}, &is, delta)
	return is.Text, err
}

func (r conversation) Run(ctx context.Context, command string, private bool, output func(string)) (is session.CommandResult, err error) {
	err = r.c.ask(ctx, "run", runJSON{command, private}, &is, output)
	return is, err
}

func (r conversation) Compact(ctx context.Context, instructions string) error {
	return r.c.do(ctx, "compact", textJSON{instructions})
}

func (r conversation) Shake(ctx context.Context, kind string) (int, error) {
	return get[int](ctx, r.c, "shake", textJSON{kind})
}

func (r conversation) Handoff(ctx context.Context, focus string) (string, error) {
	is, err := get[textJSON](ctx, r.c, "handoff", textJSON{focus})
	return is.Text, err
}

func (r conversation) SetTitle(ctx context.Context, title string) error {
	return r.c.do(ctx, "set_title", textJSON{title})
}

func (r conversation) Breakdown(ctx context.Context) (session.Breakdown, error) {
	return get[session.Breakdown](ctx, r.c, "breakdown", nil)
}

func (r conversation) ApprovePlan(ctx context.Context, a session.PlanApproval) (session.Receipt, error) {
	return get[session.Receipt](ctx, r.c, "approve_plan", a)
}

func (r queue) Waiting(ctx context.Context) (session.Queued, error) {
	return get[session.Queued](ctx, r.c, "queue", nil)
}

func (r queue) TakeBack(ctx context.Context) ([]session.Input, error) {
	return get[[]session.Input](ctx, r.c, "take_back", nil)
}
func (r queue) Release(ctx context.Context) error { return r.c.do(ctx, "release", nil) }

func (r models) SetModel(ctx context.Context, selector string) error {
	return r.c.do(ctx, "set_model", textJSON{selector})
}

func (r models) SetThinking(ctx context.Context, level llm.Level) error {
	return r.c.do(ctx, "set_thinking", textJSON{string(level)})
}

func (r models) SetMode(ctx context.Context, mode string) error {
	return r.c.do(ctx, "set_mode", textJSON{mode})
}

func (r policies) Policy(ctx context.Context) (session.Policy, error) {
	return get[session.Policy](ctx, r.c, "policy", nil)
}

func (r policies) Change(ctx context.Context, c session.PolicyChange) (session.Policy, error) {
	return get[session.Policy](ctx, r.c, "change_policy", c)
}

func (r tree) Navigate(ctx context.Context, id string, o session.Navigation) (string, error) {
	is, err := get[textJSON](ctx, r.c, "navigate", moveJSON{ID: id, How: o})
	return is.Text, err
}

func (r tree) SetLabel(ctx context.Context, id, label string) error {
	return r.c.do(ctx, "set_label", moveJSON{ID: id, Name: label})
}

func (r tools) List(ctx context.Context) ([]session.ToolState, error) {
	return get[[]session.ToolState](ctx, r.c, "tools", nil)
}

func (r tools) Offer(ctx context.Context, names []string) error { return r.c.do(ctx, "offer", names) }

func (r tools) Force(ctx context.Context, name string) error {
	return r.c.do(ctx, "force", textJSON{name})
}

func (r work) Todos(ctx context.Context) ([]todo.Phase, error) {
	return get[[]todo.Phase](ctx, r.c, "todos", nil)
}

func (r work) SetTodos(ctx context.Context, list []todo.Phase) error {
	return r.c.do(ctx, "set_todos", list)
}

func (r work) Goal(ctx context.Context) (session.Goal, error) {
	return get[session.Goal](ctx, r.c, "goal", nil)
}

func (r work) Plan(ctx context.Context) (session.Plan, error) {
	return get[session.Plan](ctx, r.c, "plan", nil)
}

func (r work) SetGoal(ctx context.Context, g session.Goal) error { return r.c.do(ctx, "set_goal", g) }

func (r work) Pins(ctx context.Context) ([]string, error) {
	return get[[]string](ctx, r.c, "pins", nil)
}

func (r work) Pin(ctx context.Context, text string) error { return r.c.do(ctx, "pin", textJSON{text}) }

func (r work) Unpin(ctx context.Context, text string) error {
	return r.c.do(ctx, "unpin", textJSON{text})
}

func (r consoles) List(ctx context.Context) ([]session.Console, error) {
	return get[[]session.Console](ctx, r.c, "consoles", nil)
}

func (r consoles) Follow(ctx context.Context, id string, output func([]byte) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var failed error // from output, which one goroutine calls before ask returns
	err := r.c.ask(ctx, "console_follow", idJSON{id}, nil, func(chunk string) {
		b, err := base64.StdEncoding.DecodeString(chunk)
		if err == nil && failed == nil {
			err = output(b)
		}
		if err != nil && failed == nil {
			failed = err
			cancel(err)
		}
	})
	return cmp.Or(failed, err)
}

func (r consoles) Type(ctx context.Context, id string, keys []byte) error {
	return r.c.do(ctx, "console_type", keysJSON{id, keys})
}

func (r consoles) Resize(ctx context.Context, id string, cols, rows int) error {
	return r.c.do(ctx, "console_resize", sizeJSON{id, cols, rows})
}

func (r consoles) Stop(ctx context.Context, id string) error {
	return r.c.do(ctx, "console_stop", idJSON{id})
}

func (r languages) List(ctx context.Context) ([]session.LanguageServer, error) {
	return get[[]session.LanguageServer](ctx, r.c, "language_servers", nil)
}

func (r languages) Log(ctx context.Context, id string) (string, error) {
	text, err := get[textJSON](ctx, r.c, "language_server_log", idJSON{id})
	return text.Text, err
}

func (r languages) Restart(ctx context.Context, id string) error {
	return r.c.do(ctx, "restart_language_server", idJSON{id})
}

func (r jobs) List(ctx context.Context) ([]session.Job, error) {
	return get[[]session.Job](ctx, r.c, "jobs", nil)
}

func (r jobs) Kill(ctx context.Context, id string) error { return r.c.do(ctx, "job_kill", idJSON{id}) }

func (r jobs) Output(ctx context.Context, id string) (string, error) {
	is, err := get[textJSON](ctx, r.c, "job_output", idJSON{id})
	return is.Text, err
}

func (r questions) Open(ctx context.Context) ([]session.Question, error) {
	return get[[]session.Question](ctx, r.c, "questions", nil)
}

func (r questions) Answer(ctx context.Context, id string, reply session.Reply) error {
	return r.c.do(ctx, "answer", answerJSON{id, reply})
}

func (r permissions) Rules(ctx context.Context) ([]permit.Rule, error) {
	return get[[]permit.Rule](ctx, r.c, "rules", nil)
}

func (r permissions) Grant(ctx context.Context, rule string, scope permit.Scope) (permit.Rule, error) {
	return get[permit.Rule](ctx, r.c, "grant", grantJSON{[]string{rule}, string(scope)})
}

func (r permissions) Revoke(ctx context.Context, id string) error {
	return r.c.do(ctx, "revoke", idJSON{id})
}

func (r permissions) Try(ctx context.Context, rules ...string) ([]permit.Tried, error) {
	return get[[]permit.Tried](ctx, r.c, "try_rules", grantJSON{Rules: rules})
}

func (r undo) Turns(ctx context.Context) ([]change.Turn, error) {
	return get[[]change.Turn](ctx, r.c, "turns", nil)
}

func (r undo) Preview(ctx context.Context, turn string) ([]change.Planned, error) {
	return get[[]change.Planned](ctx, r.c, "preview_undo", idJSON{turn})
}

func (r undo) Diff(ctx context.Context, turn string) ([]change.Diff, error) {
	return get[[]change.Diff](ctx, r.c, "turn_diff", idJSON{turn})
}

func (r undo) Undo(ctx context.Context, turn string) (*change.Undone, error) {
	return get[*change.Undone](ctx, r.c, "undo", idJSON{turn})
}

// Limits of the events queued for a reader. Above maxHeard the feed drops pieces of answers,
// above maxKept everything, and the reader learns how many.
const (
	maxHeard = 1024
	maxKept  = 8 * maxHeard
)

// Events implements [session.Handle].
func (c *Client) Events(from session.Cursor) session.Feed {
	if (from == session.Cursor{}) {
		from = c.cursor()
	}
	f := &feed{at: from, wake: make(chan struct{}, 1)}
	k := &call{event: f.put}
	if _, err := c.begin("follow", from, k); err != nil {
		f.end(err)
		return f
	}
	go func() {
		select {
		case in := <-k.done:
			f.end(in.Failure.Err())
		case <-c.over:
			f.end(session.ErrOwnerGone)
		}
	}()
	return f
}

// cursor returns the current position of the session's events.
func (c *Client) cursor() session.Cursor {
	ctx, cancel := context.WithTimeout(context.Background(), fetchTime)
	defer cancel()
	now, err := get[session.Cursor](ctx, c, "cursor", nil)
	if err != nil {
		return c.welcome.Cursor
	}
	return now
}

// feed is a Feed of events from a connection. Adding events never blocks.
type feed struct {
	at   session.Cursor // used by the reader only
	wake chan struct{}  // holds one signal

	mu     sync.Mutex
	events []session.Event
	lost   uint64 // number of events dropped before events
	over   error  // why there will be no more
}

func (f *feed) Cursor() session.Cursor { return f.at }

func piece(e *session.Event) bool {
	return e.Type == agent.MessageUpdate || e.Type == agent.ToolUpdate || e.Type == session.CommandOutput
}

// put adds an event.
func (f *feed) put(e session.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.events) >= maxHeard {
		n := len(f.events)
		f.events = slices.DeleteFunc(f.events, func(o session.Event) bool { return piece(&o) })
		f.lost += uint64(n - len(f.events))
		if n = len(f.events); n >= maxKept {
			f.lost, f.events = f.lost+uint64(n), nil
		}
	}
	f.events = append(f.events, e)
	f.rouse()
}

func (f *feed) end(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.over = err; err == nil {
		f.over = session.ErrClosed
	}
	f.rouse()
}

func (f *feed) rouse() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// take returns the next event; ok is false if there is none yet.
func (f *feed) take() (e session.Event, ok bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.lost > 0:
		e = session.Event{Event: agent.Event{Type: session.EventsLost}, Data: &session.Lost{Events: f.lost}}
		f.lost = 0
		return e, true, nil
	case len(f.events) > 0:
		e = f.events[0]
		f.events[0] = session.Event{}
		f.events = f.events[1:]
		return e, true, nil
	}
	return e, false, f.over
}

func (f *feed) Next(ctx context.Context) (session.Event, error) {
	for {
		e, ok, err := f.take()
		switch {
		case ok:
			if o, is := e.Data.(*session.Owner); is {
				f.at = session.Cursor{Epoch: o.Epoch, Seq: 1}
			} else if e.Seq > 0 {
				f.at.Seq = e.Seq + 1
			}
			return e, nil
		case err != nil:
			return e, err
		}
		select {
		case <-f.wake:
		case <-ctx.Done():
			return session.Event{}, ctx.Err()
		}
	}
}

// Rest implements [session.Feed]. Events arrive in batches anyway.
func (f *feed) Rest(ctx context.Context, d time.Duration) {
	f.mu.Lock()
	busy := f.over != nil || slices.ContainsFunc(f.events, func(e session.Event) bool { return !piece(&e) })
	f.mu.Unlock()
	if busy {
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			f.rouse()
			return
		case <-ctx.Done():
			return
		case <-f.wake:
			f.mu.Lock()
			now := f.over != nil || len(f.events) > 0 && !piece(&f.events[len(f.events)-1])
			f.mu.Unlock()
			if now {
				f.rouse()
				return
			}
		}
	}
}

// fetchTime is how long a request for part of the transcript may take.
const fetchTime = 5 * time.Second

// maxEntries is the number of cached entries.
const maxEntries = 256

// replica is a copy of those parts of the transcript that were asked for.
type replica struct {
	c *Client

	naming sync.Mutex
	labels map[string]string // changed since their nodes were fetched

	mu      sync.Mutex
	nodes   []transcript.Node
	at      map[string]int // indexes of nodes, by id
	entries map[string]*transcript.Entry
	order   []string // ids of entries, oldest first
}

func (r *replica) Header() transcript.Header { return r.c.welcome.Header }
func (r *replica) ID() string                { return r.c.welcome.Header.ID }
func (r *replica) Len() int                  { return r.c.Facts().Stats.Entries }
func (r *replica) Leaf() string              { return r.c.Facts().Leaf }

func (r *replica) Label(id string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.grow()
	if i, ok := r.at[id]; ok {
		return r.nodes[i].Label
	}
	return ""
}

// rename applies the labels that have changed since. The caller holds mu.
func (r *replica) rename() {
	r.naming.Lock()
	defer r.naming.Unlock()
	for id, label := range r.labels {
		if i, ok := r.at[id]; ok {
			r.nodes[i].Label = label
			delete(r.labels, id)
		}
	}
}

// Nodes fetches the nodes that are new since the last call. Those that it can't fetch are
// missing.
func (r *replica) Nodes() []transcript.Node {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.grow()
	return append([]transcript.Node(nil), r.nodes...)
}

// grow fetches new nodes, page by page. The caller holds mu.
func (r *replica) grow() {
	defer r.rename()
	ctx, cancel := context.WithTimeout(context.Background(), fetchTime)
	defer cancel()
	for len(r.nodes) < r.Len() {
		page, err := get[nodesJSON](ctx, r.c, "nodes", pageJSON{len(r.nodes)})
		if err != nil || len(page.Nodes) == 0 {
			return
		}
		if r.at == nil {
			r.at = map[string]int{}
		}
		for _, n := range page.Nodes {
			r.at[n.ID] = len(r.nodes)
			r.nodes = append(r.nodes, n)
		}
	}
}

// hear records what an event says about nodes that are cached. The goroutine that reads
// responses calls it, so it must not wait for one.
func (r *replica) hear(e *session.Event) {
	if e.Type != session.LabelChanged {
		return
	}
	r.naming.Lock()
	defer r.naming.Unlock()
	if r.labels == nil {
		r.labels = map[string]string{}
	}
	r.labels[e.EntryID] = e.Text
}

func (r *replica) Entry(id string) (*transcript.Entry, error) {
	r.mu.Lock()
	e := r.entries[id]
	r.mu.Unlock()
	if e != nil {
		copied := *e
		return &copied, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), fetchTime)
	defer cancel()
	is, err := get[entryJSON](ctx, r.c, "entry", idJSON{id})
	if err != nil {
		return nil, err
	}
	if is.Entry == nil {
		return nil, errors.New("the owner of the session sent no entry")
	}
	is.Entry.Execution, is.Entry.Lost = is.Execution, is.Lost
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.entries == nil {
		r.entries = map[string]*transcript.Entry{}
	}
	if r.entries[id] == nil {
		r.order = append(r.order, id)
	}
	r.entries[id] = is.Entry
	if len(r.order) > maxEntries {
		delete(r.entries, r.order[0])
		r.order = r.order[1:]
	}
	copied := *is.Entry
	return &copied, nil
}

type agents struct{ c *Client }

func (a agents) List(ctx context.Context) (all []session.Agent, err error) {
	return all, a.c.ask(ctx, "agents", nil, &all, nil)
}

func (a agents) Tasks(ctx context.Context) (all []session.SharedTask, err error) {
	return all, a.c.ask(ctx, "agent_tasks", nil, &all, nil)
}

func (a agents) Open(ctx context.Context, id, name string, answers bool) (session.Handle, error) {
	if a.c.Dial == nil {
		return nil, errors.New("this connection can't be made a second time")
	}
	conn, err := a.c.Dial(ctx)
	if err != nil {
		return nil, err
	}
	rights := a.c.Rights()
	if !answers && ranks[rights] > ranks[Steer] {
		rights = Steer
	}
	c, err := connect(ctx, conn, hello{Name: name, Rights: rights, Agent: id})
	if err != nil {
		return nil, err
	}
	c.Dial = a.c.Dial
	return c, nil
}

func (a agents) Stop(ctx context.Context, id string) error {
	return a.c.ask(ctx, "stop_agent", idJSON{ID: id}, nil, nil)
}

package remote

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"reflect"
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

// ServeOptions configure [Serve].
type ServeOptions struct {
	// Open returns the handle of a face with that name. It answers questions if answers is
	// set. Serve closes it when the connection ends. nil means that the session has ended.
	Open func(name string, answers bool) session.Handle
	// Most limits the rights of a connection.
	Most Rights
	// End asks the session to end and does not wait; nil: clients can't end it. It requires
	// the right Own.
	End func()
	// Owner describes this process to clients; nil tells them nothing.
	Owner func() Owner
	// Told is the error that a client gets for one of a request; nil: the same.
	Told func(error) error
	// Cache is shared by all connections of a session; nil: there is only one.
	Cache *Cache
}

// Cache holds the newest events of a session and its facts as they are sent, so that they are
// encoded once for all connections.
type Cache struct {
	mu    sync.Mutex
	last  []encoded // by number; nil until somebody follows the session, as few sessions of a server are
	facts session.Facts
	line  []byte // encodes facts; nil: none yet
}

// cachedEvents is how many events a Cache holds.
const cachedEvents = 256

type encoded struct {
	seq uint64
	raw []byte
}

// tell encodes the line with the facts.
func (c *Cache) tell(now *session.Facts) ([]byte, error) {
	if c != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.line != nil && c.facts.Same(now) {
			return c.line, nil
		}
	}
	raw, err := json.Marshal(line{Facts: now})
	if raw = append(raw, '\n'); err == nil && c != nil {
		c.facts, c.line = *now, raw
	}
	return raw, err
}

// event encodes an event.
func (c *Cache) event(e *session.Event) ([]byte, error) {
	if c == nil || e.Seq == 0 {
		return e.MarshalJSON()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last == nil {
		c.last = make([]encoded, cachedEvents)
	}
	slot := &c.last[e.Seq%cachedEvents]
	if slot.seq == e.Seq {
		return slot.raw, nil
	}
	raw, err := e.MarshalJSON()
	if err == nil && len(raw) <= maxCached {
		slot.seq, slot.raw = e.Seq, raw
	}
	return raw, err
}

// maxCached is the size of the largest event that is cached, in bytes.
const maxCached = 64 << 10

// Serve serves a connection until it or ctx ends, and closes it.
func Serve(ctx context.Context, conn net.Conn, o ServeOptions) error {
	l := newLink(conn)
	defer conn.Close() //nolint:errcheck // nothing is written any more
	if err := conn.SetReadDeadline(time.Now().Add(helloTime)); err != nil {
		return err
	}
	first, err := l.receive()
	if err != nil {
		return ended(err)
	}
	h := first.Hello
	switch {
	case h == nil || ranks[h.Rights] == 0:
		return errors.Join(errors.New("the connection did not start with a hello"), l.send(&line{Failure: &session.Failure{Message: "start with a hello: versions, name, rights"}}))
	case !slices.Contains(h.Versions, Version):
		return l.send(&line{Failure: &session.Failure{Message: fmt.Sprintf("this burin speaks protocol version %d, the other %v: update the older one", Version, h.Versions)}})
	}
	if ranks[h.Rights] > ranks[o.Most] {
		h.Rights = o.Most
	}
	if err := conn.SetReadDeadline(time.Time{}); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(ctx, func() { conn.Close() })() //nolint:errcheck // it wakes the reader
	handle := o.Open(h.Name, ranks[h.Rights] >= ranks[Answer])
	if handle == nil {
		return l.send(&line{Failure: session.FailureOf(session.ErrClosed)})
	}
	defer handle.Close() //nolint:errcheck // it only leaves
	if h.Agent != "" {
		of, err := handle.Agents().Open(ctx, h.Agent, h.Name, ranks[h.Rights] >= ranks[Answer])
		if err != nil {
			return l.send(&line{Failure: session.FailureOf(err)})
		}
		defer of.Close() //nolint:errcheck // it only leaves
		handle, o.Cache, o.End = of, nil, nil
	}
	s := &server{link: l, cache: o.Cache, end: o.End, owner: o.Owner, says: o.Told, h: handle, agent: h.Agent, rights: h.Rights, ctx: ctx, stops: map[uint64]context.CancelFunc{}, room: make(chan struct{}, maxRequests)}
	return s.run()
}

// server is one connection of the owner.
type server struct {
	*link
	cache  *Cache
	end    func()
	owner  func() Owner
	says   func(error) error // nil: the error itself
	h      session.Handle
	agent  string // the agent whose session it is
	rights Rights
	ctx    context.Context

	room  chan struct{} // one element for each running request
	doing sync.WaitGroup
	mu    sync.Mutex
	stops map[uint64]context.CancelFunc
}

func (s *server) run() error {
	facts := s.h.Facts()
	s.link.facts, s.told = facts, true
	var owner Owner
	if s.owner != nil {
		owner = s.owner()
	}
	err := s.send(&line{Welcome: &welcome{
		Owner: owner, Version: Version, Rights: s.rights, Header: s.h.Transcript().Header(), Facts: facts, Cursor: s.h.Events(session.Cursor{}).Cursor(),
		Permissions: s.h.Permissions() != nil, Changes: s.h.Changes() != nil, Agent: s.agent,
	}})
	for err == nil {
		var in *line
		if in, err = s.receive(); err == nil {
			s.take(in)
		}
	}
	s.mu.Lock()
	for _, stop := range s.stops {
		stop()
	}
	s.mu.Unlock()
	s.doing.Wait()
	return ended(err)
}

// take starts or cancels a request.
func (s *server) take(in *line) {
	if in.Stop {
		s.mu.Lock()
		stop := s.stops[in.ID]
		s.mu.Unlock()
		if stop != nil {
			stop()
		}
		return
	}
	s.room <- struct{}{}
	ctx, stop := context.WithCancel(s.ctx)
	s.mu.Lock()
	s.stops[in.ID] = stop
	s.mu.Unlock()
	s.doing.Go(func() {
		is, err := s.answer(ctx, in)
		s.mu.Lock()
		delete(s.stops, in.ID)
		s.mu.Unlock()
		stop()
		<-s.room
		if s.ctx.Err() != nil {
			return // the connection ends, and that is the response
		}
		if err != nil && s.says != nil {
			err = s.says(err)
		}
		out := &line{ID: in.ID, Failure: session.FailureOf(err)}
		if err == nil {
			if out.Is, err = json.Marshal(is); err != nil {
				out.Failure = session.FailureOf(err)
			} else if len(out.Is) > MaxLine-1<<10 {
				out.Is, out.Failure = nil, session.FailureOf(errTooLong)
			}
		}
		s.link.mu.Lock()
		defer s.link.mu.Unlock()
		if s.tellFacts(s.h.Facts(), s.cache) == nil && s.write(out) == nil {
			_ = s.flush() // an error ends the connection, and is seen there
		}
	})
}

// answer carries out a request.
func (s *server) answer(ctx context.Context, in *line) (any, error) {
	do, ok := methods[in.Do]
	switch in.Do {
	case "follow":
		return nil, s.follow(ctx, in)
	case "end":
		do, ok = method{needs: Own, run: s.endSession}, true
	}
	if !ok {
		return nil, fmt.Errorf("unknown request %q", in.Do)
	}
	if ranks[s.rights] < ranks[do.needs] {
		return nil, fmt.Errorf("%s: %w; its rights are %q", in.Do, session.ErrDenied, s.rights)
	}
	with := in.With
	if len(with) == 0 {
		with = []byte("{}")
	}
	is, err := do.run(ctx, s.h, with, func(text string) {
		_ = s.send(&line{ID: in.ID, Chunk: &text}) // an error ends the connection, and is seen there
	})
	if err == nil && Behind(s.h) == nil {
		err = unkept(s.h)
	}
	return is, err
}

// unkept is the error of a session in this process that is written no more: what it says may not be kept.
func unkept(h session.Handle) error {
	past, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := h.Events(session.Cursor{}).Next(past); errors.Is(err, session.ErrOwnerGone) {
		return fmt.Errorf("%w: ask again", session.ErrOwnerGone)
	}
	return nil
}

func (s *server) endSession(context.Context, session.Handle, json.RawMessage, func(string)) (any, error) {
	if s.end == nil {
		return nil, errors.New("this session is not in the background: it ends with its terminal or script")
	}
	s.end()
	return nil, nil
}

// follow sends events until the client cancels it or the session ends.
func (s *server) follow(ctx context.Context, in *line) error {
	var from session.Cursor
	if err := json.Unmarshal(in.With, &from); err != nil {
		return err
	}
	feed := s.h.Events(from)
	past, cancel := context.WithCancel(ctx) // canceled: with it, Next does not block
	cancel()
	wait := ctx
	for {
		e, err := feed.Next(wait)
		switch {
		case err == nil:
			if err := s.pass(in.ID, &e); err != nil {
				return err
			}
			wait = past
		case wait == past && ctx.Err() == nil && errors.Is(err, context.Canceled): // no more events for now
			s.link.mu.Lock()
			err := s.flush()
			s.link.mu.Unlock()
			if err != nil {
				return err
			}
			wait = ctx
		case errors.Is(err, session.ErrClosed):
			return session.ErrClosed
		default:
			return err
		}
	}
}

// pass adds an event to the buffer, after the facts that it may depend on.
func (s *server) pass(id uint64, e *session.Event) error {
	raw, err := s.cache.event(e)
	if err != nil {
		return err
	}
	s.link.mu.Lock()
	defer s.link.mu.Unlock()
	if e.Type != agent.MessageUpdate && e.Type != agent.ToolUpdate && e.Type != session.CommandOutput {
		if err := s.tellFacts(s.h.Facts(), s.cache); err != nil {
			return err
		}
	}
	return s.writeEvent(id, raw)
}

// method handles one type of request.
type method struct {
	needs   Rights
	in, out reflect.Type // of the parameters and the result; nil: there are none
	run     func(ctx context.Context, h session.Handle, with json.RawMessage, chunk func(string)) (any, error)
}

// on makes a method from a function that takes the parameters as a P and returns an R; the R
// any is no result.
func on[P, R any](needs Rights, f func(ctx context.Context, h session.Handle, p P, chunk func(string)) (R, error)) method {
	return method{needs, typeOf[P](), typeOf[R](), func(ctx context.Context, h session.Handle, with json.RawMessage, chunk func(string)) (any, error) {
		var p P
		if err := json.Unmarshal(with, &p); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrParameters, err)
		}
		return f(ctx, h, p, chunk)
	}}
}

// of makes a method without parameters.
func of[R any](needs Rights, f func(h session.Handle) func(context.Context) (R, error)) method {
	return method{needs, nil, typeOf[R](), func(ctx context.Context, h session.Handle, _ json.RawMessage, _ func(string)) (any, error) {
		return f(h)(ctx)
	}}
}

// typeOf is the type T; nil stands for types without a value: any and struct{}.
func typeOf[T any]() reflect.Type {
	if t := reflect.TypeFor[T](); t != reflect.TypeFor[any]() && t != reflect.TypeFor[struct{}]() {
		return t
	}
	return nil
}

// rules returns the rules of a session.
func rules(h session.Handle) (session.Permissions, error) {
	if r := h.Permissions(); r != nil {
		return r, nil
	}
	return nil, errors.New("this session has no rules")
}

func changes(h session.Handle) (session.Changes, error) {
	if c := h.Changes(); c != nil {
		return c, nil
	}
	return nil, errors.New("nothing to undo here")
}

// methods are all requests except follow and end.
var methods = map[string]method{
	"submit": on(Steer, func(ctx context.Context, h session.Handle, in session.Input, _ func(string)) (session.Receipt, error) {
		return h.Conversation().Submit(ctx, in)
	}),
	"wait": on(Watch, func(ctx context.Context, h session.Handle, p idJSON, _ func(string)) (session.Event, error) {
		out, err := h.Conversation().Wait(ctx, p.ID)
		return session.Event{Event: agent.Event{Type: agent.AgentEnd, Messages: out.Messages, Outcome: &out}}, err
	}),
	"resend": of(Steer, func(h session.Handle) func(context.Context) (session.Receipt, error) { return h.Conversation().Resend }),
	"abort": on(Steer, func(ctx context.Context, h session.Handle, _ struct{}, _ func(string)) (any, error) {
		return nil, h.Conversation().Abort(ctx)
	}),
	"abort_retry": on(Steer, func(ctx context.Context, h session.Handle, _ struct{}, _ func(string)) (any, error) {
		return nil, h.Conversation().AbortRetry(ctx)
	}),
	"abort_command": on(Steer, func(ctx context.Context, h session.Handle, _ struct{}, _ func(string)) (any, error) {
		return nil, h.Conversation().AbortCommand(ctx)
	}),
	"aside": on(Steer, func(ctx context.Context, h session.Handle, p textJSON, chunk func(string)) (textJSON, error) {
		text, err := h.Conversation().Aside(ctx, p.Text, chunk)
		return textJSON{text}, err
	}),
	"run": on(Own, func(ctx context.Context, h session.Handle, p runJSON, chunk func(string)) (session.CommandResult, error) {
		return h.Conversation().Run(ctx, p.Command, p.Private, chunk)
	}),
	"compact": on(Steer, func(ctx context.Context, h session.Handle, p textJSON, _ func(string)) (any, error) {
		return nil, h.Conversation().Compact(ctx, p.Text)
	}),
	"shake": on(Steer, func(ctx context.Context, h session.Handle, p textJSON, _ func(string)) (int, error) {
		return h.Conversation().Shake(ctx, p.Text)
	}),
	"handoff": on(Steer, func(ctx context.Context, h session.Handle, p textJSON, _ func(string)) (textJSON, error) {
		text, err := h.Conversation().Handoff(ctx, p.Text)
		return textJSON{text}, err
	}),
	"set_title": on(Steer, func(ctx context.Context, h session.Handle, p textJSON, _ func(string)) (any, error) {
		return nil, h.Conversation().SetTitle(ctx, p.Text)
	}),
	"breakdown": of(Watch, func(h session.Handle) func(context.Context) (session.Breakdown, error) {
		return h.Conversation().Breakdown
	}),

	"approve_plan": on(Own, func(ctx context.Context, h session.Handle, a session.PlanApproval, _ func(string)) (session.Receipt, error) {
		return h.Conversation().ApprovePlan(ctx, a)
	}),

	"queue":     of(Watch, func(h session.Handle) func(context.Context) (session.Queued, error) { return h.Queue().Waiting }),
	"take_back": of(Steer, func(h session.Handle) func(context.Context) ([]session.Input, error) { return h.Queue().TakeBack }),
	"release": on(Steer, func(ctx context.Context, h session.Handle, _ struct{}, _ func(string)) (any, error) {
		return nil, h.Queue().Release(ctx)
	}),

	"set_model": on(Own, func(ctx context.Context, h session.Handle, p textJSON, _ func(string)) (any, error) {
		return nil, h.Models().SetModel(ctx, p.Text)
	}),
	"set_thinking": on(Own, func(ctx context.Context, h session.Handle, p textJSON, _ func(string)) (any, error) {
		return nil, h.Models().SetThinking(ctx, llm.Level(p.Text))
	}),
	"set_mode": on(Own, func(ctx context.Context, h session.Handle, p textJSON, _ func(string)) (any, error) {
		return nil, h.Models().SetMode(ctx, p.Text)
	}),

	"policy": of(Watch, func(h session.Handle) func(context.Context) (session.Policy, error) { return h.Policies().Policy }),
	"change_policy": on(Own, func(ctx context.Context, h session.Handle, c session.PolicyChange, _ func(string)) (session.Policy, error) {
		return h.Policies().Change(ctx, c)
	}),

	"navigate": on(Own, func(ctx context.Context, h session.Handle, p moveJSON, _ func(string)) (textJSON, error) {
		text, err := h.Tree().Navigate(ctx, p.ID, p.How)
		return textJSON{text}, err
	}),
	"set_label": on(Steer, func(ctx context.Context, h session.Handle, p moveJSON, _ func(string)) (any, error) {
		return nil, h.Tree().SetLabel(ctx, p.ID, p.Name)
	}),

	"tools": of(Watch, func(h session.Handle) func(context.Context) ([]session.ToolState, error) { return h.Tools().List }),
	"offer": on(Own, func(ctx context.Context, h session.Handle, names []string, _ func(string)) (any, error) {
		return nil, h.Tools().Offer(ctx, names)
	}),
	"force": on(Steer, func(ctx context.Context, h session.Handle, p textJSON, _ func(string)) (any, error) {
		return nil, h.Tools().Force(ctx, p.Text)
	}),

	"todos": of(Watch, func(h session.Handle) func(context.Context) ([]todo.Phase, error) { return h.Work().Todos }),
	"set_todos": on(Steer, func(ctx context.Context, h session.Handle, list []todo.Phase, _ func(string)) (any, error) {
		return nil, h.Work().SetTodos(ctx, list)
	}),
	"goal": of(Watch, func(h session.Handle) func(context.Context) (session.Goal, error) { return h.Work().Goal }),
	"plan": of(Watch, func(h session.Handle) func(context.Context) (session.Plan, error) { return h.Work().Plan }),
	"set_goal": on(Own, func(ctx context.Context, h session.Handle, g session.Goal, _ func(string)) (any, error) {
		return nil, h.Work().SetGoal(ctx, g)
	}),
	"pins": of(Watch, func(h session.Handle) func(context.Context) ([]string, error) { return h.Work().Pins }),
	"pin": on(Steer, func(ctx context.Context, h session.Handle, p textJSON, _ func(string)) (any, error) {
		return nil, h.Work().Pin(ctx, p.Text)
	}),
	"unpin": on(Steer, func(ctx context.Context, h session.Handle, p textJSON, _ func(string)) (any, error) {
		return nil, h.Work().Unpin(ctx, p.Text)
	}),

	"agents":      of(Watch, func(h session.Handle) func(context.Context) ([]session.Agent, error) { return h.Agents().List }),
	"agent_tasks": of(Watch, func(h session.Handle) func(context.Context) ([]session.SharedTask, error) { return h.Agents().Tasks }),
	"stop_agent": on(Steer, func(ctx context.Context, h session.Handle, p idJSON, _ func(string)) (any, error) {
		return nil, h.Agents().Stop(ctx, p.ID)
	}),

	"jobs": of(Watch, func(h session.Handle) func(context.Context) ([]session.Job, error) { return h.Jobs().List }),
	"job_output": on(Watch, func(ctx context.Context, h session.Handle, p idJSON, _ func(string)) (textJSON, error) {
		text, err := h.Jobs().Output(ctx, p.ID)
		return textJSON{text}, err
	}),
	"job_kill": on(Steer, func(ctx context.Context, h session.Handle, p idJSON, _ func(string)) (any, error) {
		return nil, h.Jobs().Kill(ctx, p.ID)
	}),

	"language_servers": of(Watch, func(h session.Handle) func(context.Context) ([]session.LanguageServer, error) {
		return h.Languages().List
	}),
	"language_server_log": on(Watch, func(ctx context.Context, h session.Handle, p idJSON, _ func(string)) (any, error) {
		text, err := h.Languages().Log(ctx, p.ID)
		return textJSON{text}, err
	}),
	"restart_language_server": on(Steer, func(ctx context.Context, h session.Handle, p idJSON, _ func(string)) (any, error) {
		return nil, h.Languages().Restart(ctx, p.ID)
	}),

	"consoles": of(Watch, func(h session.Handle) func(context.Context) ([]session.Console, error) { return h.Consoles().List }),
	// What a program shows may contain secrets; nothing else here does.
	"console_follow": on(Own, func(ctx context.Context, h session.Handle, p idJSON, chunk func(string)) (any, error) {
		return nil, h.Consoles().Follow(ctx, p.ID, func(b []byte) error {
			chunk(base64.StdEncoding.EncodeToString(b))
			return ctx.Err()
		})
	}),
	"console_type": on(Own, func(ctx context.Context, h session.Handle, p keysJSON, _ func(string)) (any, error) {
		return nil, h.Consoles().Type(ctx, p.ID, p.Keys)
	}),
	"console_resize": on(Own, func(ctx context.Context, h session.Handle, p sizeJSON, _ func(string)) (any, error) {
		return nil, h.Consoles().Resize(ctx, p.ID, p.Cols, p.Rows)
	}),
	"console_stop": on(Own, func(ctx context.Context, h session.Handle, p idJSON, _ func(string)) (any, error) {
		return nil, h.Consoles().Stop(ctx, p.ID)
	}),

	"questions": of(Watch, func(h session.Handle) func(context.Context) ([]session.Question, error) { return h.Questions().Open }),
	"answer": on(Answer, func(ctx context.Context, h session.Handle, p answerJSON, _ func(string)) (any, error) {
		return nil, h.Questions().Answer(ctx, p.ID, p.Reply)
	}),

	"rules": on(Watch, func(ctx context.Context, h session.Handle, _ struct{}, _ func(string)) ([]permit.Rule, error) {
		r, err := rules(h)
		if err != nil {
			return nil, err
		}
		return r.Rules(ctx)
	}),
	"grant": on(Own, func(ctx context.Context, h session.Handle, p grantJSON, _ func(string)) (permit.Rule, error) {
		r, err := rules(h)
		if err != nil {
			return permit.Rule{}, err
		}
		if len(p.Rules) != 1 {
			return permit.Rule{}, errors.New("grant one rule at a time")
		}
		return r.Grant(ctx, p.Rules[0], permit.Scope(p.Scope))
	}),
	"revoke": on(Own, func(ctx context.Context, h session.Handle, p idJSON, _ func(string)) (any, error) {
		r, err := rules(h)
		if err != nil {
			return nil, err
		}
		return nil, r.Revoke(ctx, p.ID)
	}),
	"try_rules": on(Watch, func(ctx context.Context, h session.Handle, p grantJSON, _ func(string)) ([]permit.Tried, error) {
		r, err := rules(h)
		if err != nil {
			return nil, err
		}
		return r.Try(ctx, p.Rules...)
	}),

	"turns": on(Watch, func(ctx context.Context, h session.Handle, _ struct{}, _ func(string)) ([]change.Turn, error) {
		c, err := changes(h)
		if err != nil {
			return nil, err
		}
		return c.Turns(ctx)
	}),
	"preview_undo": on(Watch, func(ctx context.Context, h session.Handle, p idJSON, _ func(string)) ([]change.Planned, error) {
		c, err := changes(h)
		if err != nil {
			return nil, err
		}
		return c.Preview(ctx, p.ID)
	}),
	"turn_diff": on(Own, func(ctx context.Context, h session.Handle, p idJSON, _ func(string)) ([]change.Diff, error) {
		c, err := changes(h)
		if err != nil {
			return nil, err
		}
		return c.Diff(ctx, p.ID)
	}),
	"undo": on(Own, func(ctx context.Context, h session.Handle, p idJSON, _ func(string)) (*change.Undone, error) {
		c, err := changes(h)
		if err != nil {
			return nil, err
		}
		return c.Undo(ctx, p.ID)
	}),

	"cursor": on(Watch, func(_ context.Context, h session.Handle, _ struct{}, _ func(string)) (session.Cursor, error) {
		return h.Events(session.Cursor{}).Cursor(), nil
	}),
	"nodes": on(Watch, func(ctx context.Context, h session.Handle, p pageJSON, _ func(string)) (nodesJSON, error) {
		if c := Behind(h); c != nil { // its copy may lack some
			return get[nodesJSON](ctx, c, "nodes", p)
		}
		all := h.Transcript().Nodes()
		from := min(max(p.From, 0), len(all))
		return nodesJSON{all[from:min(from+pageNodes, len(all))], len(all)}, nil
	}),
	"entry": on(Watch, func(_ context.Context, h session.Handle, p idJSON, _ func(string)) (entryJSON, error) {
		e, err := h.Transcript().Entry(p.ID)
		if err != nil {
			return entryJSON{}, err
		}
		return entryOf(e), nil
	}),
	"entries": on(Watch, func(_ context.Context, h session.Handle, p idsJSON, _ func(string)) (entriesJSON, error) {
		if len(p.IDs) > pageEntries {
			return entriesJSON{}, fmt.Errorf("%w: ids: name at most %d entries, not %d", ErrParameters, pageEntries, len(p.IDs))
		}
		is := entriesJSON{Entries: make([]entryJSON, 0, len(p.IDs))}
		for _, id := range p.IDs {
			e, err := h.Transcript().Entry(id)
			if err != nil {
				return entriesJSON{}, err
			}
			is.Entries = append(is.Entries, entryOf(e))
		}
		return is, nil
	}),
}

func entryOf(e *transcript.Entry) entryJSON {
	return entryJSON{Entry: e, Execution: e.Execution, Lost: e.Lost}
}

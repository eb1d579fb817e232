package session

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/transcript"
)

// When says when the model reads a message that is submitted while it works.
type When string

const (
	Soon  When = ""      // as soon as the model can read it
	After When = "after" // when the model is done
	Next  When = "next"  // with the next request, whatever that is for; it starts none
)

// Input is a user message, or a custom message of a program: an [llm.RoleCustom] with a custom
// type, which the model reads like a user's. A message with Next is in the transcript at once,
// and nothing is settled for it.
type Input struct {
	// ID identifies the message. The submitter chooses it; submitting the same id again, for
	// example after a lost connection, does nothing. "" makes a new one.
	ID      string      `json:"id,omitempty"`
	Message llm.Message `json:"message"`
	When    When        `json:"when,omitempty"`
}

// Receipt says that a message is on disk, and what happened to it first.
type Receipt struct {
	ID      string `json:"id"`                // for Wait
	Started bool   `json:"started,omitempty"` // it started a turn; otherwise it is queued
	Again   bool   `json:"again,omitempty"`   // it was known already, and nothing was done
}

// CustomQueue is the custom type of the entry that stores a message from its submission until
// the model reads it. Other programs ignore it.
const CustomQueue = transcript.CustomQueue

// queueEntry is the data of an entry of type CustomQueue.
type queueEntry struct {
	ID      string       `json:"id,omitempty"` // of Message
	When    When         `json:"when,omitempty"`
	By      string       `json:"by,omitempty"`
	Message *llm.Message `json:"message,omitempty"` // as the model reads it, with references for large pieces; nil means that messages were taken back
	// Typed has the texts of Message as the user wrote them, if they were expanded.
	Typed []string `json:"typed,omitempty"`
	Turn  *Turn    `json:"turn,omitempty"`
	// Waiting has the ids of the queued messages, including this one. Only the newest entry
	// counts, so looking at that is enough.
	Waiting []string `json:"waiting"`
}

// submitted is a message that was submitted and not settled yet.
type submitted struct {
	id, by string
	when   When
	typed  llm.Message // as the user wrote it
	m      llm.Message // as the model reads it; its time identifies it in the loop's queues
	read   bool        // it is part of a run
	turn   *Turn       // what is different for it; nil is nothing
}

// words returns the texts as the user wrote them; nil if the model reads the same.
func (q *submitted) words() (typed []string) {
	same := true
	for i, b := range q.typed.Content {
		t, ok := b.(llm.Text)
		if !ok {
			continue
		}
		typed = append(typed, t.Text)
		read, _ := q.m.Content[i].(llm.Text)
		same = same && read.Text == t.Text
	}
	if same {
		return nil
	}
	return typed
}

// retyped returns a message with the texts that the user wrote.
func retyped(m llm.Message, typed []string) llm.Message {
	m.Content = slices.Clone(m.Content)
	for i, b := range m.Content {
		if t, ok := b.(llm.Text); ok && len(typed) > 0 {
			t.Text, typed = typed[0], typed[1:]
			m.Content[i] = t
		}
	}
	return m
}

// inbox is the queue of messages.
type inbox struct {
	loop   *agent.Agent // has the messages in its queues
	rec    *record
	beside func(context.Context) (context.Context, func(), error)
	life   context.Context

	accepting sync.Mutex // held while a message is accepted, so that messages keep their order
	saying    sync.Mutex // held while the queues are told of, so that the last event has what is true

	mu      sync.Mutex
	all     []*submitted // not settled yet
	held    bool         // queued messages don't start by themselves
	last    time.Time    // of the previous message
	stopped time.Time    // of the last message before the user stopped what runs; zero: they didn't
	turns   map[string]*turn
	settled []string        // ids of finished turns, oldest first
	earlier map[string]bool // ids of messages of earlier owners; nil: not looked for yet
	now     string          // id of the running turn
	told    int             // queued messages, as last emitted
}

// turn is what is done for a message.
type turn struct {
	done chan struct{} // closed when everything is done, and everybody was told
	out  agent.Outcome // valid after that
	over bool          // guarded by inbox.mu: it has ended
}

// maxSettled is how many past outcomes are kept for late callers of Wait.
const maxSettled = 64

// open registers a message to wait for.
func (b *inbox) open(id string) *turn {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := &turn{done: make(chan struct{})}
	if b.turns == nil {
		b.turns = map[string]*turn{}
	}
	b.turns[id] = t
	return t
}

func (b *inbox) turn(id string) *turn {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.turns[id]
}

// maxEarlier is how many messages of earlier owners are known again: whoever had no answer when
// an owner died sends them again soon.
const maxEarlier = 256

// before reports whether a message was submitted to an earlier owner of the session.
func (b *inbox) before(id string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.earlier == nil {
		b.earlier = map[string]bool{}
		nodes := b.rec.log.Nodes()
		for i := len(nodes) - 1; i >= 0 && len(b.earlier) < maxEarlier; i-- {
			if nodes[i].Type != transcript.TypeCustom || nodes[i].Name != CustomQueue {
				continue
			}
			var e queueEntry
			if entry, err := b.rec.log.Entry(nodes[i].ID); err == nil && json.Unmarshal(entry.Data, &e) == nil && e.ID != "" {
				b.earlier[e.ID] = true
			}
		}
	}
	return b.earlier[id]
}

// running returns the id of the running turn; "" if there is none.
func (b *inbox) running() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.now
}

// stop notes that the user stops what runs, or that nothing runs any more.
func (b *inbox) stop(is bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stopped = time.Time{}
	if is {
		b.stopped = b.last
	}
}

// hold decides at the end of a run whether queued messages start by themselves: not if it was stopped, unless the
// user has sent one since then, before it had ended.
func (b *inbox) hold(out agent.Outcome) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held = out.Reason == agent.ReasonAborted && (b.stopped.IsZero() || !slices.ContainsFunc(b.all, func(q *submitted) bool {
		return !q.read && q.m.Role == llm.RoleUser && q.m.Time.After(b.stopped)
	}))
}

// settle ends the turns of ids. It returns those that were open; tell informs those who wait
// for them, which must be the last step.
func (b *inbox) settle(out agent.Outcome, ids ...string) (ended []string, tell func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var over []*turn
	tell = func() {
		for _, t := range over {
			close(t.done)
		}
	}
	for _, id := range ids {
		t := b.turns[id]
		if t == nil {
			continue
		}
		if t.over {
			continue
		}
		t.over, t.out = true, out
		over, ended = append(over, t), append(ended, id)
		if b.settled = append(b.settled, id); len(b.settled) > maxSettled {
			delete(b.turns, b.settled[0])
			b.settled = slices.Delete(b.settled, 0, 1)
		}
	}
	b.all = slices.DeleteFunc(b.all, func(s *submitted) bool { return slices.Contains(ids, s.id) })
	return ended, tell
}

// refuse forgets a message that could not be accepted: whoever submits it again is not told that it is
// known.
func (b *inbox) refuse(id string, out agent.Outcome) {
	_, tell := b.settle(out, id)
	b.mu.Lock()
	delete(b.turns, id)
	b.settled = slices.DeleteFunc(b.settled, func(s string) bool { return s == id })
	b.mu.Unlock()
	tell()
}

// waiting returns the messages that no run has read.
func (b *inbox) waiting() (all []*submitted) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.all {
		if !s.read {
			all = append(all, s)
		}
	}
	return all
}

// Submit accepts a message, and returns when it is on disk: after that it can't be lost. If
// nothing is running, it starts a turn; otherwise the message is queued, in order, for the
// model or until the current operation ends. An error, such as that of a template, means that
// nothing was accepted.
func (s *Session) Submit(ctx context.Context, in Input) (Receipt, error) {
	return s.submit(ctx, in, "")
}

func (s *Session) submit(ctx context.Context, in Input, by string) (Receipt, error) {
	s.inbox.accepting.Lock()
	defer s.inbox.accepting.Unlock()
	if err := in.check(); err != nil {
		return Receipt{}, err
	}
	if why := s.hub.silent(); why != nil { // what it knows of messages isn't true
		return Receipt{}, overtaken(why)
	}
	if in.ID == "" {
		in.ID = rand.Text()[:16]
	} else if s.inbox.turn(in.ID) != nil || s.inbox.before(in.ID) {
		return Receipt{ID: in.ID, Again: true}, nil
	}
	ctx, done, err := s.stage.beside(ctx)
	if err != nil {
		return Receipt{}, err
	}
	defer done()
	in.Message.Time = s.inbox.stamp(s.timed(in.Message).Time)
	if in.Message, err = attach(ctx, s, in.Message); err != nil {
		return Receipt{}, err
	}
	m, turn, err := s.accept(ctx, in.Message)
	switch {
	case ctx.Err() != nil:
		return Receipt{}, ErrUnsent
	case err != nil:
		return Receipt{}, err
	}
	if in.When == Next {
		s.inbox.keepTyped(s.redactor.message(in.Message), m)
		id := s.rec.note(s.redactor.message(m))
		if why := s.hub.silent(); why != nil {
			return Receipt{}, overtaken(why)
		}
		s.outdated()
		return Receipt{ID: id}, nil
	}
	q := &submitted{id: in.ID, by: by, when: in.When, typed: s.redactor.message(in.Message), m: s.redactor.message(m), turn: turn}
	if q.m.Time != in.Message.Time {
		q.m.Time = in.Message.Time
	}
	inner, end, err := s.stage.wake(s.stage.life) // the turn outlives whoever started it
	busy := errors.Is(err, ErrBusy)
	if err != nil && !busy {
		return Receipt{}, err
	}
	s.inbox.open(q.id)
	if err := s.inbox.keepQueue(q); err != nil && s.hub.silent() != nil { // it would be lost
		if !busy {
			end()
		}
		s.inbox.refuse(q.id, unsent())
		return Receipt{}, overtaken(err)
	}
	if !busy {
		s.serve(inner, end, q)
		return Receipt{ID: q.id, Started: true}, nil
	}
	put := s.agent.Steer
	if q.when == After {
		put = s.agent.FollowUp
	}
	if err := put(q.m); err != nil {
		s.inbox.refuse(q.id, agent.Outcome{Reason: agent.ReasonError, Err: err})
		_ = s.inbox.keepQueue(nil) // it is written with the next entry
		return Receipt{}, err
	}
	s.inbox.tellQueue()
	s.pump() // the current operation may have ended before the message was in the queue
	return Receipt{ID: q.id}, nil
}

// errNoMessage means that what was submitted is not a message for the model.
var errNoMessage = errors.New("only a user's message, or a custom one with a custom type, can be submitted")

func (in *Input) check() error {
	m := &in.Message
	switch {
	case len(m.Content) == 0:
		return errors.New("the message is empty")
	case m.Role == llm.RoleUser && m.CustomType == "", m.Role == llm.RoleCustom && m.CustomType != "" && !reserved(m.CustomType):
	default:
		return errNoMessage
	}
	switch in.When {
	case Soon, After, Next:
		return nil
	}
	return fmt.Errorf("delivery is \"\", %q or %q, not %q", After, Next, in.When)
}

// reserved reports whether burin itself uses that type of custom messages.
func reserved(customType string) bool {
	return strings.HasPrefix(customType, "burin.") || early(customType)
}

// stamp gives each message a unique time, in whole milliseconds as files store them.
func (b *inbox) stamp(t time.Time) time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	t = t.Truncate(time.Millisecond)
	if !t.After(b.last) {
		t = b.last.Add(time.Millisecond)
	}
	b.last = t
	return t
}

// overtaken is the error of who asks a session that is not written any more.
func overtaken(err error) error { return fmt.Errorf("%w: %w", ErrOwnerGone, err) }

// keepQueue records the queue, with the new message if it is not nil.
func (b *inbox) keepQueue(q *submitted) error {
	var e queueEntry
	var stowed error
	b.mu.Lock()
	if q != nil {
		e.ID, e.When, e.By, e.Typed, e.Turn = q.id, q.when, q.by, q.words(), q.turn
		var err error
		if e.Message, err = transcript.Stow(b.rec.log, &q.m); err != nil {
			stowed = err
		}
		b.all = append(b.all, q)
	}
	b.mu.Unlock()
	if stowed != nil {
		b.rec.written(stowed)
	}
	return b.writeQueue(e)
}

// keepTyped records what the user wrote of a message that doesn't wait, if it was expanded:
// what reads the session later must not take the text of a file for the user's words.
func (b *inbox) keepTyped(typed, m llm.Message) {
	if words := (&submitted{typed: typed, m: m}).words(); words != nil {
		_ = b.writeQueue(queueEntry{Message: &llm.Message{Role: m.Role, Time: m.Time}, Typed: words})
	}
}

// writeQueue records an entry with the queue as it is.
func (b *inbox) writeQueue(e queueEntry) error {
	e.Waiting = []string{}
	b.mu.Lock()
	for _, o := range b.all {
		if !o.read {
			e.Waiting = append(e.Waiting, o.id)
		}
	}
	b.mu.Unlock()
	data, err := json.Marshal(e)
	if err != nil {
		b.rec.warn("queued messages are not saved: " + err.Error())
		return nil
	}
	_, err = b.rec.keep(transcript.Entry{Type: transcript.TypeCustom, CustomType: CustomQueue, Data: data})
	return err
}

// Announce writes the file of a session in which nothing was said yet, so that others find it.
// If nothing is ever said, the file is removed with the session.
func (s *Session) Announce() {
	if s.log.Len() == 0 {
		_ = s.inbox.keepQueue(nil) // it is written with the first message
	}
}

// serve lets the model work on a message, in the background.
func (s *Session) serve(ctx context.Context, end func(), q *submitted) {
	s.inbox.mu.Lock()
	s.inbox.held, s.inbox.now, q.read = false, q.id, true
	s.inbox.mu.Unlock()
	s.stage.tasks.Go(func() {
		defer s.tools.force("")
		if ctx.Err() != nil {
			s.settleRun(unsent(), end)
			return
		}
		s.openTurn(q.typed.Text())
		if q.typed.Role == llm.RoleUser {
			s.titles.begin(q.typed)
		}
		s.compactor.refresh()
		out := s.finish(ctx, s.attempts.run(ctx, s.agent.Run, append(s.preface(), q.m)...))
		s.wishes.end(context.WithoutCancel(ctx))
		s.settleRun(out, end)
	})
}

// settleRun ends a submitted run: its messages are settled, and queued ones start.
func (s *Session) settleRun(out agent.Outcome, end func()) {
	out = s.redactor.outcome(out)
	s.inbox.mu.Lock()
	var ids []string
	for _, q := range s.inbox.all {
		if q.read {
			ids = append(ids, q.id)
		}
	}
	if s.inbox.now != "" && !slices.Contains(ids, s.inbox.now) {
		ids = append(ids, s.inbox.now) // of a run without a message of its own
	}
	s.inbox.now = ""
	s.inbox.mu.Unlock()
	s.inbox.hold(out)
	end()
	ended, tell := s.inbox.settle(out, ids...)
	if len(ended) > 0 {
		told := &SettledTurn{IDs: ended, Reason: out.Reason}
		if out.Err != nil {
			told.Error = out.Err.Error()
			told.ResumeAt = resumeAt(out.Err)
		}
		s.rec.emit(Event{Event: agent.Event{Type: AgentSettled}, Turn: ended[0], Data: told})
	}
	tell()
	s.pump()
}

// pump starts with the first queued message, if nothing is running.
func (s *Session) pump() {
	if _, held := s.inbox.queueState(); held || len(s.inbox.waiting()) == 0 || s.stage.life.Err() != nil {
		return
	}
	ctx, end, err := s.stage.begin(s.stage.life)
	if err != nil {
		return // the current operation pumps when it ends
	}
	q := s.inbox.takeFirst()
	if q == nil {
		end()
		return
	}
	s.serve(ctx, end, q)
}

// takeFirst takes the first queued message out of the loop's queues; the others become its
// follow-ups, except the custom messages of its type that follow it: they are read with it.
func (b *inbox) takeFirst() *submitted {
	steering, followUps := b.loop.ClearQueues()
	all := append(steering, followUps...)
	var first *submitted
	next := false // all since first are of its type
	for i := range all {
		q := b.find(&all[i])
		if first == nil && q != nil {
			first, next = q, true
			continue
		}
		if next = next && all[i].Role == llm.RoleCustom && all[i].CustomType == first.m.CustomType; next {
			_ = b.loop.Steer(all[i]) // there was room for it before
			continue
		}
		_ = b.loop.FollowUp(all[i]) // there was room for it before
	}
	return first
}

// find returns the submitted message from which m was made.
func (b *inbox) find(m *llm.Message) *submitted {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, q := range b.all {
		if q.m.Time.Equal(m.Time) {
			return q
		}
	}
	return nil
}

// wasRead notes that the loop has read a message. It returns nil if it was not submitted.
func (b *inbox) wasRead(m *llm.Message) *submitted {
	if m.Role != llm.RoleUser && m.Role != llm.RoleCustom {
		return nil
	}
	q := b.find(m)
	if q == nil || q.m.CustomType != m.CustomType { // a note of burin's may have the same time
		return nil
	}
	b.mu.Lock()
	q.read = true
	b.mu.Unlock()
	return q
}

// queueState returns the queue, for faces.
func (b *inbox) queueState() (Queued, bool) {
	steering, followUps := b.loop.Queued()
	b.mu.Lock()
	held := b.held
	made := make(map[int64]*submitted, len(b.all)) // each message has a unique time
	for _, q := range b.all {
		made[q.m.Time.UnixMilli()] = q
	}
	b.mu.Unlock()
	out := Queued{Held: held && len(steering)+len(followUps) > 0}
	for i := range steering {
		out.Steering = append(out.Steering, waitingOf(&steering[i], made[steering[i].Time.UnixMilli()]))
	}
	for i := range followUps {
		out.FollowUps = append(out.FollowUps, waitingOf(&followUps[i], made[followUps[i].Time.UnixMilli()]))
	}
	return out, held
}

// waitingOf describes a queued message; q is nil if nobody submitted it.
func waitingOf(m *llm.Message, q *submitted) Waiting {
	w := Waiting{}
	if q != nil {
		w.ID, w.By, m = q.id, q.by, &q.typed
	}
	var files []string
	for _, b := range m.Content {
		t, ok := b.(llm.Text)
		name, file := attachedFile(t.Text)
		switch {
		case file:
			files = append(files, name)
			w.Attached++
		case ok && w.Text == "":
			w.Text = t.Text
		default:
			w.Attached++
		}
	}
	w.Text = cmp.Or(w.Text, strings.Join(files, ", "))
	return w
}

// attachedFile is the name of the file that a text is, from <file path="…"> to </file>.
func attachedFile(text string) (name string, ok bool) {
	quoted, ok := strings.CutPrefix(text, "<file path=")
	if !ok || !strings.HasSuffix(strings.TrimRight(text, "\n"), "\n</file>") {
		return "", false
	}
	head, _, _ := strings.Cut(quoted, ">\n")
	name, err := strconv.Unquote(head)
	return name, err == nil
}

// takeBack removes and returns the queued messages, as the user wrote them.
func (b *inbox) takeBack() []Input {
	steering, followUps := b.loop.ClearQueues()
	var out []Input
	var ids []string
	for i, m := range append(steering, followUps...) {
		in := Input{Message: m}
		if i >= len(steering) {
			in.When = After
		}
		if q := b.find(&m); q != nil {
			in.ID, in.Message = q.id, q.typed
			ids = append(ids, q.id)
		}
		out = append(out, in)
	}
	if len(out) > 0 {
		b.unsent(ids...)
	}
	return out
}

// unsent settles messages that are out of the queues again, and records the queue without them.
func (b *inbox) unsent(ids ...string) {
	ended, tell := b.settle(agent.Outcome{Reason: agent.ReasonAborted, Err: ErrUnsent}, ids...)
	defer tell()
	_ = b.keepQueue(nil) // it is written with the next entry
	b.tellQueue()
	if len(ended) > 0 {
		b.rec.emit(Event{Event: agent.Event{Type: AgentSettled}, Turn: ended[0], Data: &SettledTurn{IDs: ended, Reason: agent.ReasonAborted, Error: ErrUnsent.Error()}})
	}
}

// Unread counts the messages of a custom type that s reads as soon as it can or when it is done, and
// their bytes.
func Unread(s *Session, customType string) (n, size int) {
	steering, followUps := s.agent.Queued()
	for _, queue := range [...][]llm.Message{steering, followUps} {
		for i := range queue {
			if m := &queue[i]; m.CustomType == customType {
				n++
				size += len(m.Text())
			}
		}
	}
	return n, size
}

// Withdraw takes back the message that was submitted to s with that id. It returns false if the
// model has read it, or is about to.
func Withdraw(s *Session, id string) bool {
	b := s.inbox
	var at time.Time
	for _, q := range b.waiting() {
		if q.id == id {
			at = q.m.Time
		}
	}
	if at.IsZero() || b.loop.Withdraw(func(m *llm.Message) bool { return m.Time.Equal(at) }) == 0 {
		return false
	}
	b.unsent(id)
	return true
}

// releaseQueue lets held messages start.
func (s *Session) releaseQueue() {
	s.inbox.mu.Lock()
	s.inbox.held = false
	s.inbox.mu.Unlock()
	s.inbox.tellQueue()
	s.pump()
}

// Wait waits until everything for a submitted message is done, or until ctx ends, which stops
// nothing. Of what ended before the last 64 messages, and of messages of an earlier owner, it says what the
// transcript has.
func (s *Session) Wait(ctx context.Context, id string) (agent.Outcome, error) {
	t := s.inbox.turn(id)
	if t == nil {
		return waitEarlier(ctx, s, id)
	}
	select {
	case <-t.done:
		if why := s.hub.silent(); why != nil { // the outcome is not that of the turn, which goes on elsewhere
			return agent.Outcome{}, overtaken(why)
		}
		return t.out, nil
	case <-ctx.Done():
		return agent.Outcome{}, context.Cause(ctx)
	}
}

// restoreQueue restores the queue of a resumed session. Opening a session must not spend
// money, so nothing starts by itself.
func (b *inbox) restoreQueue() {
	isQueue := func(n transcript.Node) bool { return n.Type == transcript.TypeCustom && n.Name == CustomQueue }
	nodes := b.rec.log.Nodes()
	last := len(nodes) - 1
	for last >= 0 && !isQueue(nodes[last]) {
		last--
	}
	if last < 0 {
		return
	}
	read := func(i int) (e queueEntry, ok bool) {
		entry, err := b.rec.log.Entry(nodes[i].ID)
		return e, err == nil && json.Unmarshal(entry.Data, &e) == nil
	}
	state, ok := read(last)
	if !ok || len(state.Waiting) == 0 {
		return
	}
	found := map[string]*submitted{}
	for i, e := last, state; i >= 0 && len(found) < len(state.Waiting); i-- {
		if i != last {
			if !isQueue(nodes[i]) {
				continue
			}
			if e, ok = read(i); !ok {
				continue
			}
		}
		if e.Message != nil && slices.Contains(state.Waiting, e.ID) && found[e.ID] == nil {
			transcript.Unstow(b.rec.log, e.Message)
			found[e.ID] = &submitted{id: e.ID, by: e.By, when: e.When, typed: retyped(*e.Message, e.Typed), m: *e.Message, turn: e.Turn}
		}
	}
	b.forgetRead(nodes, last, found)
	for _, id := range state.Waiting {
		q := found[id]
		if q == nil {
			continue
		}
		b.open(id)
		b.all = append(b.all, q)
		b.held = true
		b.last = q.m.Time
		put := b.loop.Steer
		if q.when == After {
			put = b.loop.FollowUp
		}
		_ = put(q.m) // there is room at the start
	}
}

// forgetRead removes what the model has read since the entry at from.
func (b *inbox) forgetRead(nodes []transcript.Node, from int, waiting map[string]*submitted) {
	for i := from + 1; i < len(nodes) && len(waiting) > 0; i++ {
		if n := &nodes[i]; n.Role != llm.RoleUser && n.Type != transcript.TypeMessage && n.Type != transcript.TypeCustomMessage {
			continue
		}
		e, err := b.rec.log.Entry(nodes[i].ID)
		if err != nil || e.Message == nil {
			continue
		}
		for id, q := range waiting {
			if q.m.Time.Equal(e.Message.Time) {
				delete(waiting, id)
			}
		}
	}
}

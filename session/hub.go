package session

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"sort"
	"sync"
	"time"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/llm"
)

// backlog is how many events are kept for readers that are late or slow. When it is reached,
// the oldest quarter goes.
const backlog = 1024

// hub keeps the newest events and wakes their readers. Emitting never waits for a reader. It
// keeps pieces of an answer until the answer is complete, and partial results until there is a
// result: the final events repeat them.
type hub struct {
	sink func(Event)

	telling sync.Mutex // held while an event is numbered and passed to sink, so that sink gets all events in order

	mu      sync.Mutex
	events  []slot  // by seq, with gaps where pieces were
	epoch   string  // of this owner
	owner   Owner   // at the start of the epoch
	next    uint64  // seq of the next event
	gone    uint64  // events up to this seq were dropped without a later event that repeats them
	resting []*feed // see [Feed]
	waiting int
	wake    chan struct{} // closed for waiting readers
	ended   bool
	muted   error // why nothing more is told; see mute
}

func newHub(sink func(Event)) *hub {
	return &hub{epoch: rand.Text()[:12], next: 1, wake: make(chan struct{}), sink: sink}
}

// begin records the start of the epoch. Its event has no number, and goes to readers from
// another epoch.
func (h *hub) begin(o Owner) {
	h.mu.Lock()
	defer h.mu.Unlock()
	o.Epoch = h.epoch
	h.owner = o
}

// feed returns a feed that reads events from a cursor on.
func (h *hub) feed(from Cursor) *feed {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case from == Cursor{}:
		return &feed{hub: h, seq: h.next}
	case from.Epoch != h.epoch && from.Epoch != "", from.Seq > h.next, from.Seq == 0:
		return &feed{hub: h, seq: 1, foreign: true} // all that has happened since the transcript of the owner
	}
	return &feed{hub: h, seq: from.Seq}
}

// emit numbers e and passes it to everyone.
func (h *hub) emit(e Event) {
	h.telling.Lock()
	defer h.telling.Unlock()
	h.mu.Lock()
	if h.muted != nil {
		h.mu.Unlock()
		return
	}
	e.Seq = h.next
	h.next++
	held := slotOf(&e)
	switch e.Type {
	case agent.MessageEnd:
		h.drop(agent.MessageUpdate, agent.MessageStart, "")
	case agent.ToolEnd:
		h.drop(agent.ToolUpdate, agent.ToolStart, e.Call.ID)
	case CommandEnd:
		h.drop(CommandOutput, CommandStart, "")
	}
	if len(h.events) >= backlog {
		n := backlog / 4
		h.gone = h.events[n-1].seq
		h.events = slices.Delete(h.events, 0, n)
	}
	h.events = append(h.events, held)
	h.rouse()
	h.ring(piece(e.Type))
	h.mu.Unlock()
	if h.sink != nil {
		h.sink(e)
	}
}

// drop removes the events of type piece after the last one of type start; if call is set, only
// those of that call.
func (h *hub) drop(piece, start agent.EventType, call string) {
	of := func(o slot, typ agent.EventType) bool {
		return o.typ() == typ && (call == "" || o.whole.Call.ID == call)
	}
	from := len(h.events)
	for from > 0 && !of(h.events[from-1], start) {
		from--
	}
	h.events = append(h.events[:from], slices.DeleteFunc(h.events[from:], func(o slot) bool { return of(o, piece) })...)
	if cap(h.events) > backlog/8 && len(h.events) < cap(h.events)/4 {
		h.events = slices.Clone(h.events) // so that an idle session doesn't keep the memory of a long answer
	}
}

// slot is an event that a hub holds. An answer has a thousand small pieces, and an [Event] has
// room for all that any event may have (some 350 bytes), so those pieces are kept as what they say.
type slot struct {
	seq   uint64
	whole *Event // nil: the event says delta
	delta string
	index int32
	kind  deltaKind
}

// deltaKind is the type of a delta, as few bytes.
type deltaKind int8

const (
	textDelta deltaKind = iota
	thinkingDelta
	toolCallDelta
)

var deltaTypes = [...]llm.EventType{textDelta: llm.EventTextDelta, thinkingDelta: llm.EventThinkingDelta, toolCallDelta: llm.EventToolCallDelta}

// slotOf makes the form of e in which a hub holds it.
func slotOf(e *Event) slot {
	if kind := slices.Index(deltaTypes[:], e.Stream.Type); kind >= 0 && e.Type == agent.MessageUpdate && e.Stream.Block == nil && e.Stream.Message == nil {
		return slot{seq: e.Seq, delta: e.Stream.Delta, index: int32(e.Stream.Index), kind: deltaKind(kind)}
	}
	whole := *e
	return slot{seq: e.Seq, whole: &whole}
}

// event sets e, which is empty, to what was kept.
func (k slot) event(e *Event) {
	if k.whole != nil {
		*e = *k.whole
		return
	}
	e.Seq, e.Type = k.seq, agent.MessageUpdate
	e.Stream.Type, e.Stream.Index, e.Stream.Delta = deltaTypes[k.kind], int(k.index), k.delta
}

func (k slot) typ() agent.EventType {
	if k.whole != nil {
		return k.whole.Type
	}
	return agent.MessageUpdate
}

// piece reports whether an event of the type is a part of something that a later event has
// completely.
func piece(t agent.EventType) bool {
	return t == agent.MessageUpdate || t == agent.ToolUpdate || t == CommandOutput
}

// ring ends the rests that are over, or all of them if the event is not a piece.
func (h *hub) ring(piece bool) {
	if len(h.resting) == 0 {
		return
	}
	now := time.Now()
	h.resting = slices.DeleteFunc(h.resting, func(f *feed) bool {
		over := !piece || !now.Before(f.due)
		if over {
			close(f.bell)
		}
		return over
	})
}

// rouse wakes waiting readers.
func (h *hub) rouse() {
	if h.waiting > 0 {
		close(h.wake)
		h.wake, h.waiting = make(chan struct{}), 0
	}
}

// mute drops what is emitted from now on: it isn't in the session, and readers hear from whoever has that
// now what becomes of it.
func (h *hub) mute(why error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.muted == nil {
		h.muted = why
	}
	h.rouse()
	h.ring(false)
}

// silent is why the hub is muted; nil: it isn't.
func (h *hub) silent() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.muted
}

func (h *hub) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ended = true
	h.rouse()
	h.ring(false)
}

// ErrClosed means that the session has ended.
var ErrClosed = errors.New("the session has ended")

// Feed reads the events of a session, each once. It must be used from one goroutine.
type Feed interface {
	// Next waits for the next event. A reader that was too slow gets [EventsLost] for what it
	// missed. After the last event the error is [ErrClosed], or [ErrOwnerGone] if another process
	// has the session; otherwise it is that of ctx.
	Next(ctx context.Context) (Event, error)
	// Rest collects pieces of answers and results for the time d, so that the reader isn't
	// woken for each of them. It ends with the first event after d, or a quarter of d later
	// without one, and at once with an event that is not a piece or the end of ctx.
	Rest(ctx context.Context, d time.Duration)
	// Cursor returns the position of the next event: every event before it was read, or is
	// gone.
	Cursor() Cursor
}

// feed is the Feed of a hub. It holds no resources and needn't be closed.
type feed struct {
	hub *hub
	seq uint64 // of the next event to read
	// foreign means that the requested cursor is from another epoch.
	foreign bool

	due  time.Time     // end of its rest
	bell chan struct{} // closed at the end of its rest
}

func (f *feed) Cursor() Cursor { return Cursor{f.hub.epoch, f.seq} }

func (f *feed) Next(ctx context.Context) (e Event, err error) {
	for {
		wake, err := f.take(&e)
		if wake == nil {
			return e, err
		}
		select {
		case <-wake:
		case <-ctx.Done():
			return e, ctx.Err()
		}
	}
}

// take sets e to the next event, or returns a channel to wait for.
func (f *feed) take(e *Event) (<-chan struct{}, error) {
	h := f.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	if f.foreign {
		owner := h.owner
		f.foreign = false
		e.Type, e.Data = OwnerChanged, &owner
		return nil, nil
	}
	if f.seq <= h.gone {
		e.Type, e.Data = EventsLost, &Lost{h.gone - f.seq + 1}
		f.seq = h.gone + 1
		return nil, nil
	}
	if left := f.left(); len(left) > 0 {
		f.seq = left[0].seq + 1
		left[0].event(e)
		return nil, nil
	}
	switch {
	case h.muted != nil:
		return nil, ErrOwnerGone
	case h.ended:
		return nil, ErrClosed
	}
	h.waiting++
	return h.wake, nil
}

// left returns the available events that were not read.
func (f *feed) left() []slot {
	all := f.hub.events
	return all[sort.Search(len(all), func(i int) bool { return all[i].seq >= f.seq }):]
}

// Rest implements [Feed]. An event wakes the reader, not the clock: while a model streams, a
// timer costs more than everything that is done with its words.
func (f *feed) Rest(ctx context.Context, d time.Duration) {
	bell := f.rest(d)
	if bell == nil {
		return
	}
	late := time.NewTimer(d + d/4)
	defer late.Stop()
	select {
	case <-bell:
		return
	case <-late.C:
	case <-ctx.Done():
	}
	h := f.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	h.resting = slices.DeleteFunc(h.resting, func(o *feed) bool { return o == f })
}

// rest returns a channel that is closed when a rest of d is over, or nil if there is no reason
// for one.
func (f *feed) rest(d time.Duration) <-chan struct{} {
	h := f.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended || h.muted != nil || slices.ContainsFunc(f.left(), func(k slot) bool { return !piece(k.typ()) }) {
		return nil
	}
	f.due, f.bell = time.Now().Add(d), make(chan struct{})
	h.resting = append(h.resting, f)
	return f.bell
}

package session

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/burin-dev/burin/agent"
)

// Events of a session, beside those of its loop.
const (
	RetryStart      agent.EventType = "auto_retry_start"       // Retry
	RetryEnd        agent.EventType = "auto_retry_end"         // Retry
	FallbackApplied agent.EventType = "retry_fallback_applied" // Change
	Promoted        agent.EventType = "context_promotion"      // Change
	CompactionStart agent.EventType = "auto_compaction_start"  // Compaction
	CompactionEnd   agent.EventType = "auto_compaction_end"    // Compaction
	Pruned          agent.EventType = "context_pruned"         // Compaction
	ModelChanged    agent.EventType = "model_changed"          // Change
	ThinkingChanged agent.EventType = "thinking_changed"       // Text: the level
	TitleChanged    agent.EventType = "title_changed"          // Text
	TreeMoved       agent.EventType = "session_tree"           // EntryID: the leaf; Text: words to edit
	CacheReport     agent.EventType = "cache_report"           // Cache
	ModeChanged     agent.EventType = "mode_changed"           // Text: the mode
	ToolsChanged    agent.EventType = "tools_changed"          // Text: the names of those that are offered
	GoalChanged     agent.EventType = "goal_changed"           // Text: its state; "" is no goal
	TodosChanged    agent.EventType = "todos_changed"          // a person changed the list of work
	QueueChanged    agent.EventType = "queue_changed"          // something was queued, taken or taken back
	JobsChanged     agent.EventType = "jobs_changed"           // a job has started or ended
	CommandStart    agent.EventType = "command_start"          // Text: a person's own command
	CommandEnd      agent.EventType = "command_end"            // Text: the command; EntryID
	Warning         agent.EventType = "warning"                // Text: what a person should know
)

// Event is something that happened in a session. Events and entries of the
// transcript have one order: an event that tells of an entry comes after it was
// appended.
type Event struct {
	Seq uint64 // counts from 1
	agent.Event
	EntryID string // of message_end: the entry in the transcript

	Retry      *RetryInfo
	Compaction *CompactionInfo
	Change     *Change
	Cache      *CacheInfo
	Text       string
}

// RetryInfo tells of an attempt to repeat a failed request. At the end its JSON has
// success, attempt and finalError.
type RetryInfo struct {
	Attempt int           `json:"attempt"`
	Max     int           `json:"maxAttempts,omitempty"`
	Delay   time.Duration `json:"-"`
	DelayMS int64         `json:"delayMs,omitempty"`
	Error   string        `json:"errorMessage,omitempty"` // what went wrong; at the end, what remained wrong
	Success bool          `json:"-"`                      // at the end: there was an answer
}

// CompactionInfo tells of a compaction, or of outputs that were shortened.
type CompactionInfo struct {
	Reason  string `json:"reason"` // manual, threshold, overflow, incomplete, idle; of pruning: superseded, old, shake
	Action  string `json:"action,omitempty"`
	Before  int    `json:"tokensBefore,omitempty"`
	After   int    `json:"tokensAfter,omitempty"`
	Summary string `json:"summary,omitempty"` // short
	Aborted bool   `json:"aborted,omitempty"`
	Error   string `json:"errorMessage,omitempty"`
}

// Change is a model that took the place of another.
type Change struct {
	From string `json:"from"`
	To   string `json:"to"`
	Role string `json:"role,omitempty"`
	Why  string `json:"why,omitempty"`
}

// CacheInfo says how much of a request the vendor had in its cache.
type CacheInfo struct {
	Read  int `json:"read"`  // tokens
	Write int `json:"write"` // tokens
	Fresh int `json:"fresh"` // tokens that were neither
	// Missed is why less was read than the request before it had: what changed
	// first ("system prompt", "tools", "message 12 (toolResult)", "model"), or that
	// the cache has ended; "" if nothing was missed.
	Missed string `json:"missed,omitempty"`
}

// MarshalJSON writes the event of the loop, with seq, entryId and what else there is
// behind its type.
func (e Event) MarshalJSON() ([]byte, error) {
	body, err := e.Event.MarshalJSON()
	if err != nil {
		return nil, err
	}
	more, err := unescaped(struct {
		Seq     uint64     `json:"seq"`
		EntryID string     `json:"entryId,omitempty"`
		Text    string     `json:"text,omitempty"`
		Change  *Change    `json:"change,omitempty"`
		Cache   *CacheInfo `json:"cache,omitempty"`
	}{e.Seq, e.EntryID, e.Text, e.Change, e.Cache})
	if err != nil {
		return nil, err
	}
	// The type stands first, and is a word without escapes.
	at := len(`{"type":""`) + len(e.Type)
	out := append(make([]byte, 0, len(body)+len(more)), body[:at]...)
	out = append(append(out, ','), more[1:len(more)-1]...)
	parts := []any{e.Retry, e.Compaction}
	if e.Type == RetryEnd && e.Retry != nil {
		parts[0] = struct {
			Success bool   `json:"success"`
			Attempt int    `json:"attempt"`
			Error   string `json:"finalError,omitempty"`
		}{e.Retry.Success, e.Retry.Attempt, e.Retry.Error}
	}
	for _, part := range parts {
		raw, err := unescaped(part)
		if err != nil {
			return nil, err
		}
		if raw[0] == '{' {
			out = append(append(out, ','), raw[1:len(raw)-1]...)
		}
	}
	return append(out, body[at:]...), nil
}

// unescaped is json.Marshal without escaping of <, > and &.
func unescaped(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// backlog is how many events are kept for readers that come late or are slow. The
// oldest quarter goes when it is reached.
const backlog = 1024

// hub keeps the newest events and wakes their readers. Emitting never waits for a
// reader. Pieces of an answer are kept until the answer is whole, partial results
// until there is a result: what ends them says all that they said.
type hub struct {
	sink func(Event)

	telling sync.Mutex // held while an event is numbered and told to sink, so that it hears all in order

	mu      sync.Mutex
	events  []Event // by Seq, with gaps where pieces were
	next    uint64  // seq of the event to come
	gone    uint64  // events up to this seq were dropped that nothing else says
	resting []*Feed // see [Feed.Rest]
	waiting int
	wake    chan struct{} // closed for those who wait
	ended   bool
}

func newHub(sink func(Event)) *hub {
	return &hub{next: 1, wake: make(chan struct{}), sink: sink}
}

// emit numbers e and gives it to everyone.
func (h *hub) emit(e Event) {
	h.telling.Lock()
	defer h.telling.Unlock()
	h.mu.Lock()
	e.Seq = h.next
	h.next++
	switch e.Type {
	case agent.MessageEnd:
		h.drop(agent.MessageUpdate, agent.MessageStart, "")
	case agent.ToolEnd:
		h.drop(agent.ToolUpdate, agent.ToolStart, e.Call.ID)
	}
	if len(h.events) >= backlog {
		n := backlog / 4
		h.gone = h.events[n-1].Seq
		h.events = append(h.events[:0], h.events[n:]...)
	}
	h.events = append(h.events, e)
	h.rouse()
	h.ring(e.piece())
	h.mu.Unlock()
	if h.sink != nil {
		h.sink(e)
	}
}

// drop takes out events of type piece behind the last one of type start; those of one
// call, if it is named.
func (h *hub) drop(piece, start agent.EventType, call string) {
	of := func(o *Event, typ agent.EventType) bool { return o.Type == typ && (call == "" || o.Call.ID == call) }
	from := len(h.events)
	for from > 0 && !of(&h.events[from-1], start) {
		from--
	}
	kept := slices.DeleteFunc(h.events[from:], func(o Event) bool { return of(&o, piece) })
	h.events = h.events[:from+len(kept)]
	if cap(h.events) > backlog/8 && len(h.events) < cap(h.events)/4 {
		h.events = slices.Clone(h.events) // a session that is idle does not hold the room of a long answer
	}
}

// piece reports whether e is a part of something that a later event says whole.
func (e *Event) piece() bool {
	return e.Type == agent.MessageUpdate || e.Type == agent.ToolUpdate
}

// ring ends the rests that are over, all of them at anything else than a piece.
func (h *hub) ring(piece bool) {
	if len(h.resting) == 0 {
		return
	}
	now := time.Now()
	h.resting = slices.DeleteFunc(h.resting, func(f *Feed) bool {
		over := !piece || !now.Before(f.due)
		if over {
			close(f.bell)
		}
		return over
	})
}

// rouse wakes those who wait.
func (h *hub) rouse() {
	if h.waiting > 0 {
		close(h.wake)
		h.wake, h.waiting = make(chan struct{}), 0
	}
}

func (h *hub) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ended = true
	h.rouse()
	h.ring(false)
}

// ErrClosed is that a session has ended.
var ErrClosed = errors.New("the session has ended")

// LagError is that a reader was too slow: events are gone. What they said is in the
// transcript; the next read goes on with the oldest event that is left.
type LagError struct {
	Lost uint64 // how many; 0: the reader's number is of a process that has ended
}

func (e *LagError) Error() string {
	if e.Lost == 0 {
		return "these events are of a process that has ended; read the transcript instead"
	}
	return fmt.Sprintf("%d events are gone; read the transcript instead", e.Lost)
}

// Feed reads the events of a session, each once. It belongs to one goroutine and
// holds nothing, so it need not be closed.
type Feed struct {
	hub *hub
	seq uint64 // of the event to read
	// foreign is that the number that was asked for has not been given out.
	foreign bool

	due  time.Time     // of its rest
	bell chan struct{} // closed when that is over
}

// Seq is the number from which the feed reads on: every event before it was read, or
// is gone. A feed that was just made by [Session.Events] of 0 says how many there are.
func (f *Feed) Seq() uint64 { return f.seq }

// Next waits for the next event. It gives a [*LagError] if events were lost, and
// [ErrClosed] behind the last one.
func (f *Feed) Next(ctx context.Context) (Event, error) {
	for {
		e, wake, err := f.take()
		if wake == nil {
			return e, err
		}
		select {
		case <-wake:
		case <-ctx.Done():
			return Event{}, ctx.Err()
		}
	}
}

// take gives the next event, or what to wait for.
func (f *Feed) take() (Event, <-chan struct{}, error) {
	h := f.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	if f.foreign {
		f.foreign = false
		return Event{}, nil, &LagError{}
	}
	if f.seq <= h.gone {
		lost := h.gone - f.seq + 1
		f.seq = h.gone + 1
		return Event{}, nil, &LagError{lost}
	}
	if left := f.left(); len(left) > 0 {
		f.seq = left[0].Seq + 1
		return left[0], nil, nil
	}
	if h.ended {
		return Event{}, nil, ErrClosed
	}
	h.waiting++
	return Event{}, h.wake, nil
}

// left are the events that are there and were not read.
func (f *Feed) left() []Event {
	i, _ := slices.BinarySearchFunc(f.hub.events, f.seq, func(e Event, seq uint64) int { return cmp.Compare(e.Seq, seq) })
	return f.hub.events[i:]
}

// Rest lets pieces of answers and results come together for the time d, so that its
// reader is not woken for each of them. It ends with the first event after d, a quarter
// of d later without one, and at once with an event that is no piece or the end of ctx.
//
// The event wakes, not the clock: while a model speaks, a timer that fires costs more
// than all that is done with its words.
func (f *Feed) Rest(ctx context.Context, d time.Duration) {
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
	h.resting = slices.DeleteFunc(h.resting, func(o *Feed) bool { return o == f })
}

// rest gives what is closed when a rest of d is over, nil if there is no reason for one.
func (f *Feed) rest(d time.Duration) <-chan struct{} {
	h := f.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended || slices.ContainsFunc(f.left(), func(e Event) bool { return !e.piece() }) {
		return nil
	}
	f.due, f.bell = time.Now().Add(d), make(chan struct{})
	h.resting = append(h.resting, f)
	return f.bell
}

package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/burin-dev/burin/llm"
)

// answers is the chain of answer watchers.
type answers struct {
	links    []AnswerWatcher
	redactor redactor
	warn     func(string)
	now      func() time.Time

	stopped []int // answers that each link has stopped for the prompt; only the loop's goroutine uses it
}

// begin resets the counts of the previous prompt.
func (x *answers) begin() { clear(x.stopped) }

// errStop is the cause of a request that a watcher ended.
var errStop = errors.New("the answer was stopped")

// stoppedAnswer is the error of an answer that a watcher stopped.
type stoppedAnswer struct {
	name, why, note string
	keep            bool
	rules           []Rule
	times, most     int
}

func (s *stoppedAnswer) Error() string {
	if s.why == "" {
		return "stopped by " + s.name
	}
	return fmt.Sprintf("stopped by %s: %s", s.name, s.why)
}

// message is what the model reads before it answers again.
func (s *stoppedAnswer) message(now time.Time) []llm.Message {
	if s.note == "" {
		return nil
	}
	return []llm.Message{{Role: llm.RoleCustom, CustomType: s.name, Time: now, Content: []llm.Block{llm.Text{Text: s.note}}}}
}

// watcher is a link that watches one answer.
type watcher struct {
	link int
	see  func(llm.Event) *Stop
}

// watch sends a request with send, and lets the links watch its answer.
func (x *answers) watch(ctx context.Context, r *llm.Request, send func(context.Context) llm.Stream) llm.Stream {
	var all []watcher
	for i := range x.links {
		l := &x.links[i]
		if x.stopped == nil {
			x.stopped = make([]int, len(x.links))
		}
		if x.stopped[i] >= x.most(l) {
			continue
		}
		var see func(llm.Event) *Stop
		err := guarded("watcher", l.Name, func() error { see = l.Watch(ctx, r); return nil })
		switch {
		case err != nil:
			x.warn(err.Error())
		case see != nil:
			all = append(all, watcher{i, see})
		}
	}
	if len(all) == 0 {
		return send(ctx)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	return &watched{Stream: send(ctx), chain: x, watchers: all, cancel: cancel}
}

func (x *answers) most(l *AnswerWatcher) int {
	if l.Max == 0 {
		return MaxStops
	}
	return l.Max
}

// watched is an answer that links watch.
type watched struct {
	llm.Stream
	chain    *answers
	watchers []watcher
	cancel   context.CancelCauseFunc
}

// Next implements [llm.Stream].
func (w *watched) Next() (llm.Event, bool) {
	e, ok := w.Stream.Next()
	if !ok {
		return e, ok
	}
	for i := 0; i < len(w.watchers); i++ {
		l := &w.chain.links[w.watchers[i].link]
		var stop *Stop
		if err := guarded("watcher", l.Name, func() error { stop = w.watchers[i].see(e); return nil }); err != nil {
			w.chain.warn(err.Error())
			w.watchers = append(w.watchers[:i:i], w.watchers[i+1:]...)
			i--
			continue
		}
		if stop != nil {
			return w.end(e, w.watchers[i].link, stop), true
		}
	}
	return e, true
}

// end ends the answer. It reads the rest of it, because that says what the answer has cost.
func (w *watched) end(e llm.Event, link int, stop *Stop) llm.Event {
	w.watchers = nil
	w.cancel(errStop)
	for ok := true; ok && !e.Type.Terminal(); {
		var next llm.Event
		if next, ok = w.Stream.Next(); ok {
			e = next
		}
	}
	x := w.chain
	l := &x.links[link]
	m := e.Message
	if !e.Type.Terminal() || m == nil {
		m = &llm.Message{Role: llm.RoleAssistant, Time: x.now()}
	}
	if m.Error != nil && m.Error.Kind != llm.ErrAborted {
		return e // it failed by itself, which is handled as usual
	}
	x.stopped[link]++
	why := &stoppedAnswer{
		name: l.Name, why: x.redactor.hide(stop.Why), note: x.redactor.hide(stop.Note), keep: stop.Keep && stop.Note != "", rules: stop.Rules,
		times: x.stopped[link], most: x.most(l),
	}
	m.StopReason = llm.StopError
	m.Error = &llm.Error{Kind: llm.ErrAborted, Message: why.Error(), Provider: m.Provider, Err: why}
	return llm.Event{Type: llm.EventError, Message: m}
}

// Close implements [llm.Stream].
func (w *watched) Close() error {
	err := w.Stream.Close()
	w.cancel(nil)
	return err
}

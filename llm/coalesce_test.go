package llm_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/burin-dev/burin/llm"
	"github.com/google/go-cmp/cmp"
)

// paced is a stream whose events come at given times.
type paced struct {
	events []llm.Event
	at     []time.Duration
	began  time.Time
	closed chan struct{}
}

func (p *paced) Next() (llm.Event, bool) {
	if len(p.events) == 0 {
		return llm.Event{}, false
	}
	select {
	case <-time.After(p.at[0] - time.Since(p.began)):
	case <-p.closed:
		return llm.Event{}, false
	}
	ev := p.events[0]
	p.events, p.at = p.events[1:], p.at[1:]
	return ev, true
}

func (p *paced) Close() error { close(p.closed); return nil }

func TestCoalesce(t *testing.T) {
	text := func(i int, s string) llm.Event {
		return llm.Event{Type: llm.EventTextDelta, Index: i, Delta: s}
	}
	think := llm.Event{Type: llm.EventThinkingDelta, Delta: "t"}
	done := llm.Event{Type: llm.EventDone}
	synctest.Test(t, func(t *testing.T) {
		p := &paced{
			began: time.Now(), closed: make(chan struct{}),
			events: []llm.Event{{Type: llm.EventStart}, text(0, "a"), text(0, "b"), text(0, "c"), text(0, "d"), text(1, "e"), think, text(1, "f"), done},
			at:     ms(0, 0, 20, 40, 60, 61, 62, 63, 64),
		}
		s := llm.Coalesce(p, 50*time.Millisecond)
		var got []llm.Event
		var when []time.Duration
		for {
			ev, ok := s.Next()
			if !ok {
				break
			}
			got = append(got, ev)
			when = append(when, time.Since(p.began))
		}
		want := []llm.Event{{Type: llm.EventStart}, text(0, "abc"), text(0, "d"), text(1, "e"), think, text(1, "f"), done}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(ms(0, 50, 61, 62, 63, 64, 64), when); diff != "" {
			t.Errorf("times: %s", diff)
		}
		if _, ok := s.Next(); ok {
			t.Error("an event after the end")
		}
	})
}

func TestCoalesceClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // fails if a goroutine stays behind
		p := &paced{began: time.Now(), closed: make(chan struct{}), events: []llm.Event{{Type: llm.EventStart}, {Type: llm.EventDone}}, at: ms(0, 3_600_000)}
		s := llm.Coalesce(p, time.Second)
		s.Next()
		s.Close()
		synctest.Wait()
	})
}

func ms(n ...int) (out []time.Duration) {
	for _, n := range n {
		out = append(out, time.Duration(n)*time.Millisecond)
	}
	return out
}

package session

import (
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/llm"
)

func TestFirstChange(t *testing.T) {
	at := time.Now()
	messages := []llm.Message{llm.UserText("a"), llm.AssistantText("b"), {Role: llm.RoleToolResult}}
	base := cacheState{at: at, model: "m", system: 1, tools: 2, messages: []uint64{1, 2, 3}}
	tests := []struct {
		name string
		now  cacheState
		want string
	}{
		{"nothing", cacheState{at: at, model: "m", system: 1, tools: 2, messages: []uint64{1, 2, 3}}, ""},
		{"grown", cacheState{at: at, model: "m", system: 1, tools: 2, messages: []uint64{1, 2, 3, 4}}, ""},
		{"model before all", cacheState{at: at, model: "n", system: 2, tools: 3}, "model"},
		{"tools stand before the system prompt", cacheState{at: at, model: "m", system: 2, tools: 3}, "tools"},
		{"system", cacheState{at: at, model: "m", system: 2, tools: 2}, "system prompt"},
		{"message", cacheState{at: at, model: "m", system: 1, tools: 2, messages: []uint64{1, 2, 9}}, "message 3 (toolResult)"},
		{"shorter", cacheState{at: at, model: "m", system: 1, tools: 2, messages: []uint64{1}}, "the history was shortened from message 2 on"},
		{"idle", cacheState{at: at.Add(6 * time.Minute), model: "m", system: 1, tools: 2, messages: []uint64{1, 2, 3}}, "the cache had 6m0s to end"},
	}
	for _, tt := range tests {
		if got := base.firstChange(&tt.now, messages, touched{}); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	if got := new(cacheState).firstChange(&base, messages, touched{}); got != "" {
		t.Errorf("the first request: %q", got)
	}
}

// The owner hears events in the order of their numbers, one at a time.
func TestSinkOrder(t *testing.T) {
	last, inside := uint64(0), false
	h := newHub(func(e Event) {
		if inside || e.Seq != last+1 {
			t.Errorf("heard %d after %d, two at a time: %v", e.Seq, last, inside)
		}
		inside = true
		runtime.Gosched()
		last, inside = e.Seq, false
	})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 500 {
				h.emit(Event{Event: agent.Event{Type: Warning}})
			}
		})
	}
	wg.Wait()
}

// A waiting reader is woken by each event, and costs no goroutine.
func BenchmarkEmit(b *testing.B) {
	for _, readers := range []int{0, 3} {
		b.Run(fmt.Sprintf("readers=%d", readers), func(b *testing.B) {
			h := newHub(nil)
			var wg sync.WaitGroup
			for range readers {
				f := &feed{hub: h, seq: 1}
				wg.Go(func() {
					for {
						if _, err := f.Next(b.Context()); err == ErrClosed {
							return
						}
					}
				})
			}
			e := Event{Event: agent.Event{Type: agent.MessageUpdate, Stream: llm.Event{Type: llm.EventTextDelta, Delta: "word "}}}
			end := Event{Event: agent.Event{Type: agent.MessageEnd, Message: &llm.Message{}}}
			for range 2 * backlog { // from here on it holds as much as it ever does
				h.emit(end)
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if i%500 == 499 {
					h.emit(end)
				} else {
					h.emit(e)
				}
			}
			h.end()
			wg.Wait()
		})
	}
}

// While an answer comes, a server holds all of its pieces for each of hundreds of sessions.
func TestPiecesAreSmall(t *testing.T) {
	if size := unsafe.Sizeof(slot{}); size > 40 {
		t.Errorf("a piece takes %d bytes besides its text", size)
	}
	h := newHub(nil)
	f := &feed{hub: h, seq: 1}
	for i, typ := range []llm.EventType{
		llm.EventTextStart, llm.EventTextDelta, llm.EventTextEnd, llm.EventThinkingDelta, llm.EventToolCallDelta, llm.EventOpaque,
	} {
		want := Event{Event: agent.Event{Type: agent.MessageUpdate, Stream: llm.Event{Type: typ, Index: i, Delta: "w"}}}
		if typ == llm.EventTextEnd || typ == llm.EventToolCallDelta {
			want.Stream.Block = llm.Text{Text: "w"}
		}
		h.emit(want)
		got, err := f.Next(t.Context())
		if want.Seq = uint64(i + 1); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", typ, diff)
		}
	}
}

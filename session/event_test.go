package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/llmtest"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/tool"
)

// read reads a feed to its end.
func read(t testing.TB, f session.Feed) (events []session.Event, lost uint64) {
	t.Helper()
	for {
		e, err := f.Next(t.Context())
		gone, isGone := e.Data.(*session.Lost)
		switch {
		case isGone:
			lost += gone.Events
			continue
		case errors.Is(err, session.ErrClosed):
			return events, lost
		case err != nil:
			t.Fatal(err)
		}
		events = append(events, e)
	}
}

func numbers(events []session.Event) (out []uint64) {
	for _, e := range events {
		out = append(out, e.Seq)
	}
	return out
}

func piece(e session.Event) bool {
	return e.Type == agent.MessageUpdate || e.Type == agent.ToolUpdate
}

func TestReplay(t *testing.T) {
	eachFormat(t, func(t *testing.T, f format) {
		partial := simple("partial", tool.Reads, func(_ context.Context, c tool.Call, path string) (*tool.Result, error) {
			for range 5 {
				c.Update(*tool.Text("part of " + path))
			}
			return tool.Text("all of " + path), nil
		})
		r := start(t, f, func(r *rig, o *session.Options) { o.Tools = []*tool.Tool{partial} },
			refused(llm.ErrOverload, "busy"), calls(`c1 partial {"path":"x"}`, `c2 partial {"path":"y"}`), say("two or three words"))
		r.on = func(e session.Event) {
			if e.Type != agent.MessageEnd {
				return
			}
			kept, err := r.Log().Entry(e.EntryID)
			if err != nil || kept.Message == nil || kept.Message.Text() != e.Message.Text() {
				t.Errorf("event %d tells of the entry %q, which is not there: %v", e.Seq, e.EntryID, err)
			}
		}
		live := r.Feed(session.Cursor{})
		var seen []session.Event
		var wg sync.WaitGroup
		wg.Go(func() { seen, _ = read(t, live) })
		r.prompt("go", agent.ReasonDone)
		late := r.Feed(session.Cursor{})
		r.Close()
		wg.Wait()

		var want []uint64 // what is left when all is said
		for i, e := range r.events {
			if e.Seq != uint64(i+1) {
				t.Fatalf("event %d has number %d", i+1, e.Seq)
			}
			if !piece(e) {
				want = append(want, e.Seq)
			}
		}
		for from := uint64(1); from <= uint64(len(r.events)+1); from++ {
			events, lost := read(t, r.Feed(session.Cursor{Seq: from}))
			rest := want
			for len(rest) > 0 && rest[0] < from {
				rest = rest[1:]
			}
			if !slices.Equal(rest, numbers(events)) || lost > 0 {
				t.Fatalf("from %d: %v, %d lost; want %v", from, numbers(events), lost, rest)
			}
		}
		at := 0 // the live reader misses nothing but pieces
		for _, e := range seen {
			for at < len(r.events) && r.events[at].Seq < e.Seq {
				if !piece(r.events[at]) {
					t.Errorf("the live reader missed %s", r.events[at].Type)
				}
				at++
			}
			at++
		}
		if events, _ := read(t, late); len(events) != 0 {
			t.Errorf("one who came late got %v", numbers(events))
		}
		for _, c := range []session.Cursor{{Seq: 1 << 40}, {Epoch: "another", Seq: 1}, {Epoch: r.Feed(session.Cursor{}).Cursor().Epoch}} {
			f := r.Feed(c)
			e, err := f.Next(t.Context())
			if first, err := f.Next(t.Context()); err != nil || first.Seq != 1 {
				t.Errorf("from %+v: the new epoch goes on with %d, %v", c, first.Seq, err)
			}
			if o, ok := e.Data.(*session.Owner); err != nil || !ok || e.Type != session.OwnerChanged || o.Entries != 0 || o.Epoch == "" {
				t.Errorf("from %+v: %+v, %v", c, e, err)
			}
		}
	})
}

// One who comes in the middle of an answer gets what was said of it so far.
func TestLateFace(t *testing.T) {
	r := start(t, formats()[0], nil, llmtest.Turn{Parts: []llmtest.Part{{Text: "a b c d e f"}}, Fault: llmtest.Fault{StallAfterEvents: 6}})
	said := make(chan struct{}, 16)
	r.on = func(e session.Event) {
		if piece(e) && e.Stream.Type == llm.EventTextDelta {
			said <- struct{}{}
		}
	}
	done := make(chan struct{})
	go func() { defer close(done); r.Prompt(context.Background(), llm.UserText("go")) }()
	for range 4 {
		<-said
	}
	late, text := r.Feed(session.Cursor{Seq: 1}), ""
	for range 4 {
		for {
			e, err := late.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if piece(e) && e.Stream.Type == llm.EventTextDelta {
				text += e.Stream.Delta
				break
			}
		}
	}
	if text != "a b c d " {
		t.Errorf("it was told %q", text)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := late.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("waiting with a context that has ended: %v", err)
	}
	r.Abort()
	<-done
}

// A reader that does not read costs neither memory nor time, and learns what it missed.
func TestSlowReader(t *testing.T) {
	pacetest.Costly(t)
	const pieces = 100_000
	r := start(t, formats()[0], func(r *rig, o *session.Options) { o.Emit = nil }, llmtest.Turn{Events: llmtest.Say(strings.Repeat("a ", pieces))}, say("ok"))
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	slow := r.Feed(session.Cursor{Seq: 1})
	began := time.Now()
	r.prompt("go", agent.ReasonDone)
	took := time.Since(began)
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 8<<20 {
		t.Errorf("%d KB more are held", grown>>10)
	}
	if took > time.Minute {
		t.Errorf("it took %s", took)
	}
	t.Logf("%d pieces in %s", pieces, took)
	e, err := slow.Next(t.Context())
	if lag, ok := e.Data.(*session.Lost); !ok || e.Type != session.EventsLost || lag.Events < pieces/2 {
		t.Errorf("the slow reader learns %+v, %v", e, err)
	}
	r.prompt("more", agent.ReasonDone)
	r.Close()
	events, lost := read(t, slow)
	if lost > 0 || len(events) == 0 || events[len(events)-1].Type != agent.AgentEnd {
		t.Errorf("it then got %d events, %d lost", len(events), lost)
	}
	whole := false
	for _, e := range events {
		whole = whole || e.Type == agent.MessageEnd && len(e.Message.Text()) == 2*pieces
	}
	if !whole {
		t.Error("the end of the long answer is gone too")
	}
}

// Whatever happens beside a prompt, all hear everything in one order.
func TestOneOrder(t *testing.T) {
	r := start(t, formats()[0], nil, say(strings.Repeat("word ", 300)), say("ok"))
	var all [3][]session.Event
	var readers, others sync.WaitGroup
	for i := range all {
		f := r.Feed(session.Cursor{Seq: 1})
		readers.Go(func() { all[i], _ = read(t, f) })
	}
	for i := range 4 {
		others.Go(func() {
			for n := range 20 {
				r.SetTitle(strings.Repeat("x", 1+i*20+n))
				r.SetThinking(llm.Levels()[n%3])
			}
		})
	}
	r.prompt("go", agent.ReasonDone)
	others.Wait()
	r.prompt("more", agent.ReasonDone)
	r.Close()
	readers.Wait()
	for i, e := range r.events {
		if e.Seq != uint64(i+1) {
			t.Fatalf("the owner heard %d as event %d", e.Seq, i+1)
		}
	}
	for i := range all {
		last := uint64(0)
		for _, e := range all[i] {
			if e.Seq <= last {
				t.Fatalf("reader %d heard %d after %d", i, e.Seq, last)
			}
			last = e.Seq
		}
	}
	r.resume()
	r.consistent()
}

func TestEventJSON(t *testing.T) {
	of := func(typ agent.EventType) session.Event { return session.Event{Seq: 7, Event: agent.Event{Type: typ}} }
	with := func(typ agent.EventType, set func(*session.Event)) session.Event {
		e := of(typ)
		set(&e)
		return e
	}
	m := llm.AssistantText("<hi> & bye")
	call := &tool.Call{ID: "c1", Name: "read", Arguments: json.RawMessage(`{"path":"x"}`)}
	tests := []struct {
		event session.Event
		want  string
	}{
		{of(agent.AgentStart), `{"type":"agent_start","seq":7}`},
		{of(agent.TurnStart), `{"type":"turn_start","seq":7}`},
		{with(agent.MessageEnd, func(e *session.Event) { e.Message, e.EntryID = &m, "ab12" }), `{"type":"message_end","seq":7,"entryId":"ab12","message":{"role":"assistant","content":[{"type":"text","text":"<hi> & bye"}],"stopReason":"stop"}}`},
		{with(agent.MessageUpdate, func(e *session.Event) { e.Stream = llm.Event{Type: llm.EventTextDelta, Delta: "hi"} }), `{"type":"message_update","seq":7,"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"hi"}}`},
		{with(agent.ToolStart, func(e *session.Event) { e.Call, e.Label = call, "Read" }), `{"type":"tool_execution_start","seq":7,"toolCallId":"c1","toolName":"read","label":"Read","args":{"path":"x"}}`},
		{with(agent.ToolEnd, func(e *session.Event) { e.Call, e.Result = call, tool.Text("x") }), `{"type":"tool_execution_end","seq":7,"toolCallId":"c1","toolName":"read","args":{"path":"x"},"result":{"content":[{"type":"text","text":"x"}]},"isError":false,"elapsedMs":0}`},
		{with(agent.TurnEnd, func(e *session.Event) { e.Message = &m }), `{"type":"turn_end","seq":7,"message":{"role":"assistant","content":[{"type":"text","text":"<hi> & bye"}],"stopReason":"stop"},"toolResults":[]}`},
		{with(agent.AgentEnd, func(e *session.Event) { e.Outcome = &agent.Outcome{Reason: agent.ReasonDone, Turns: 1} }), `{"type":"agent_end","seq":7,"messages":[],"reason":"done","turns":1}`},
		{with(session.RetryStart, func(e *session.Event) {
			e.Data = &session.RetryInfo{Attempt: 1, Max: 3, Delay: time.Second, DelayMS: 1000, Error: "busy"}
		}), `{"type":"auto_retry_start","seq":7,"attempt":1,"maxAttempts":3,"delayMs":1000,"errorMessage":"busy"}`},
		{with(session.RetryEnd, func(e *session.Event) { e.Data = &session.RetryInfo{Attempt: 3, Error: "busy"} }), `{"type":"auto_retry_end","seq":7,"success":false,"attempt":3,"finalError":"busy"}`},
		{with(session.RetryEnd, func(e *session.Event) { e.Data = &session.RetryInfo{Attempt: 1, Success: true} }), `{"type":"auto_retry_end","seq":7,"success":true,"attempt":1}`},
		{with(session.FallbackApplied, func(e *session.Event) {
			e.Data = &session.Change{From: "a/b", To: "c/d", Role: "default", Why: "busy"}
		}), `{"type":"retry_fallback_applied","seq":7,"change":{"from":"a/b","to":"c/d","role":"default","why":"busy"}}`},
		{with(session.Promoted, func(e *session.Event) { e.Data = &session.Change{From: "a/b", To: "a/c"} }), `{"type":"context_promotion","seq":7,"change":{"from":"a/b","to":"a/c"}}`},
		{with(session.ModelChanged, func(e *session.Event) { e.Data = &session.Change{From: "a/b", To: "a/c"} }), `{"type":"model_changed","seq":7,"change":{"from":"a/b","to":"a/c"}}`},
		{with(session.CompactionStart, func(e *session.Event) { e.Data = &session.CompactionInfo{Reason: "manual", Before: 9} }), `{"type":"auto_compaction_start","seq":7,"reason":"manual","tokensBefore":9}`},
		{with(session.CompactionEnd, func(e *session.Event) {
			e.EntryID = "ab12"
			e.Data = &session.CompactionInfo{Reason: "overflow", Action: "context-full", Before: 9, After: 3, Summary: "s", Aborted: true, Error: "stopped"}
		}), `{"type":"auto_compaction_end","seq":7,"entryId":"ab12","reason":"overflow","action":"context-full","tokensBefore":9,"tokensAfter":3,"summary":"s","aborted":true,"errorMessage":"stopped"}`},
		{with(session.RulesTriggered, func(e *session.Event) {
			e.Data = &session.Triggered{Rules: []session.Rule{{Name: "a", Path: "/a.md"}, {Name: "b"}}, Stopped: true}
		}), `{"type":"ttsr_triggered","seq":7,"rules":[{"name":"a","path":"/a.md"},{"name":"b"}],"stopped":true}`},
		{with(session.Pruned, func(e *session.Event) { e.Data = &session.CompactionInfo{Reason: "old", Action: "prune"} }), `{"type":"context_pruned","seq":7,"reason":"old","action":"prune"}`},
		{with(session.ThinkingChanged, func(e *session.Event) { e.Text = "high" }), `{"type":"thinking_changed","seq":7,"text":"high"}`},
		{with(session.TitleChanged, func(e *session.Event) { e.Text = "<a> & b" }), `{"type":"title_changed","seq":7,"text":"<a> & b"}`},
		{with(session.TreeMoved, func(e *session.Event) { e.EntryID, e.Text = "ab12", "edit" }), `{"type":"session_tree","seq":7,"entryId":"ab12","text":"edit"}`},
		{with(session.CacheReport, func(e *session.Event) { e.Data = &session.CacheInfo{Read: 1, Missed: "tools"} }), `{"type":"cache_report","seq":7,"cache":{"read":1,"write":0,"fresh":0,"missed":"tools"}}`},
		{with(session.Warning, func(e *session.Event) { e.Text = "mind" }), `{"type":"warning","seq":7,"text":"mind"}`},
	}
	for _, tt := range tests {
		got, err := tt.event.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, string(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.event.Type, diff)
		}
		if !json.Valid(got) {
			t.Errorf("%s is no JSON: %s", tt.event.Type, got)
		}
	}
}

package session_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/llmtest"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/session/handletest"
	"github.com/burin-dev/burin/tool"
)

// till is a meter that writes down what it is asked.
type till struct {
	mu    sync.Mutex
	all   []*receipt
	limit int         // reservations that are let through; 0: all
	on    func(n int) // looks on
}

type receipt struct {
	planned           session.Planned
	settled, released int
}

func (m *till) Reserve(_ context.Context, p session.Planned) (session.Spending, error) {
	m.mu.Lock()
	n := len(m.all)
	if m.limit > 0 && n >= m.limit {
		m.mu.Unlock()
		return nil, errors.New("the month's money is spent")
	}
	r := &receipt{planned: p}
	m.all = append(m.all, r)
	m.mu.Unlock()
	if m.on != nil {
		m.on(n)
	}
	return entry{m, r}, nil
}

type entry struct {
	m *till
	r *receipt
}

func (e entry) Settle(*llm.Message, time.Duration, time.Duration) {
	e.m.mu.Lock()
	defer e.m.mu.Unlock()
	e.r.settled++
}

func (e entry) Release() {
	e.m.mu.Lock()
	defer e.m.mu.Unlock()
	e.r.released++
}

// check checks that each reservation has ended once.
func (m *till) check(t testing.TB, purposes ...string) {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	var got []string
	for i, r := range m.all {
		got = append(got, r.planned.Purpose)
		if r.settled+r.released != 1 {
			t.Errorf("reservation %d for %s: settled %d times, released %d times", i, r.planned.Purpose, r.settled, r.released)
		}
		if r.planned.PromptTokens <= 0 || r.planned.Model == nil || r.planned.Session == "" {
			t.Errorf("reservation %d: %+v", i, r.planned)
		}
	}
	// A title is written beside the first answer, whenever.
	slices.SortStableFunc(got, func(a, b string) int {
		isTitle := func(p string) int {
			if p == session.ForTitle {
				return -1
			}
			return 0
		}
		return isTitle(a) - isTitle(b)
	})
	if diff := cmp.Diff(purposes, got); diff != "" {
		t.Errorf("purposes (-want +got):\n%s", diff)
	}
}

func TestMeterSeesEveryRequest(t *testing.T) {
	eachFormat(t, func(t *testing.T, f format) {
		m := &till{}
		r := start(t, f, func(r *rig, o *session.Options) {
			o.Meter, o.Compaction = m, small()
			r.assistant(o, say("A title"), refused(llm.ErrOverload, "busy"), say("SUMMARY"), say("short"), say("BRANCH"))
			o.Tools = []*tool.Tool{simple("panics", tool.Reads, func(context.Context, tool.Call, string) (*tool.Result, error) { panic("a mistake") })}
		}, refused(llm.ErrOverload, "busy"), calls(`c1 panics {"path":"x"}`), say("done"),
			refused(llm.ErrOverload, "busy"), say("# Handoff"))
		r.prompt(long(900), agent.ReasonDone)
		waitFor(t, func() bool { return r.Log().Title() != "" })
		if err := r.Compact(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
		if doc, err := r.Handoff(t.Context(), "tests"); err != nil || doc != "# Handoff" {
			t.Fatalf("handoff: %q, %v", doc, err)
		}
		if _, err := r.Navigate(t.Context(), r.Log().Nodes()[0].ID, session.Navigation{Summarize: true}); err != nil {
			t.Fatal(err)
		}
		m.check(t, session.ForTitle, session.ForTurn, session.ForRetry, session.ForTurn,
			session.ForCompaction, session.ForCompaction, session.ForCompaction,
			session.ForHandoff, session.ForHandoff, session.ForBranch)
		if n := r.Stats().Requests; n != 10 {
			t.Errorf("the account has %d requests", n)
		}
	})
}

func TestMeterWhenStopped(t *testing.T) {
	for _, how := range []string{"abort before it is sent", "abort in the stream", "close in the stream", "cancelled context"} {
		t.Run(how, func(t *testing.T) {
			m := &till{}
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			var r *rig
			if how == "abort before it is sent" {
				m.on = func(int) { r.Abort() }
			}
			r = start(t, formats()[0], func(r *rig, o *session.Options) { o.Meter = m },
				llmtest.Turn{Parts: []llmtest.Part{{Text: "a b c d e f"}}, Fault: llmtest.Fault{StallAfterEvents: 4}})
			r.on = func(e session.Event) {
				if e.Type != agent.MessageUpdate {
					return
				}
				switch how {
				case "abort in the stream":
					go r.Abort()
				case "close in the stream":
					go r.Close()
				case "cancelled context":
					cancel()
				}
			}
			if out := r.Prompt(ctx, llm.UserText("go")); out.Reason != agent.ReasonAborted {
				t.Errorf("ended as %s, %v", out.Reason, out.Err)
			}
			m.check(t, session.ForTurn)
			if sent := len(r.srv.Requests()); (how == "abort before it is sent") != (m.all[0].released == 1) || sent != m.all[0].settled {
				t.Errorf("%d requests; settled %d, released %d", sent, m.all[0].settled, m.all[0].released)
			}
		})
	}
}

// What a vendor refuses costs nothing. What it may have begun to answer does, whether
// anything of it was seen or not.
func TestMeterReleasesOnlyWhatNobodyCharges(t *testing.T) {
	type trial struct {
		name     string
		turn     llmtest.Turn
		released bool
	}
	fault := func(f llmtest.Fault) llmtest.Turn {
		return llmtest.Turn{Parts: []llmtest.Part{{Text: "a b c d e f"}}, Fault: f}
	}
	trials := []trial{
		{"no answer in time", fault(llmtest.Fault{StallHead: true}), false},
		{"nothing after the head", fault(llmtest.Fault{StallAfterEvents: -1}), false},
		{"nothing after the start", fault(llmtest.Fault{StallAfterEvents: 1}), false},
		{"the connection is dropped", fault(llmtest.Fault{Drop: true}), false},
		{"the connection breaks off", fault(llmtest.Fault{CutAfterBytes: -1}), false},
		{"an error within the answer", llmtest.Turn{Events: llmtest.Fail(&llm.Error{Kind: llm.ErrOverload, Message: "busy"})}, false},
		{"stopped", fault(llmtest.Fault{StallHead: true}), false},
		{"nobody is there", llmtest.Turn{}, true},
	}
	for _, kind := range []llm.ErrorKind{
		llm.ErrAuth, llm.ErrRateLimit, llm.ErrOverload, llm.ErrUsageLimit, llm.ErrContextOverflow, llm.ErrInvalidRequest, llm.ErrContentFilter,
	} {
		trials = append(trials, trial{"refused: " + string(kind), refused(kind, "no"), true})
	}
	eachFormat(t, func(t *testing.T, f format) {
		for _, tt := range trials {
			t.Run(tt.name, func(t *testing.T) {
				m := &till{}
				r := start(t, f, func(r *rig, o *session.Options) {
					o.Meter, o.Retry.Off = m, true
					if strings.HasPrefix(tt.name, "no") {
						o.Client = r.asking(300 * time.Millisecond)
					}
				}, tt.turn)
				switch tt.name {
				case "nobody is there":
					r.srv.Close()
				case "stopped":
					go func() {
						waitFor(t, func() bool { return len(r.srv.Requests()) > 0 })
						r.Abort()
					}()
				}
				out := r.Prompt(t.Context(), llm.UserText("go"))
				if out.Err == nil {
					t.Fatalf("it ended as %s", out.Reason)
				}
				m.check(t, session.ForTurn)
				if (m.all[0].released == 1) != tt.released {
					t.Errorf("released %d times, settled %d times: %v", m.all[0].released, m.all[0].settled, out.Err)
				}
			})
		}
	})
}

// What one turn has spent is not held against another, however the session went on
// between them.
func TestTurnsOfTheAccountAreDifferent(t *testing.T) {
	m := &till{}
	r := start(t, formats()[0], func(r *rig, o *session.Options) {
		o.Meter, o.Retry.Off = m, true
		o.Tools = []*tool.Tool{echo("read", tool.Reads)}
		handletest.On(o).OnRun = func(context.Context, string, bool, func(string)) (session.CommandResult, error) {
			return session.CommandResult{Output: "x"}, nil
		}
	}, calls(`c1 read {"path":"x"}`), say("1"), refused(llm.ErrOverload, "busy"), say("2"), say("3"), say("4"), say("5"))
	r.prompt("one", agent.ReasonDone)
	if _, err := r.Run(t.Context(), "ls", true, nil); err != nil {
		t.Fatal(err)
	}
	r.prompt("two", agent.ReasonError)
	if out := r.Resend(t.Context()); out.Reason != agent.ReasonDone {
		t.Fatal(out.Err)
	}
	r.resume()
	r.prompt("three", agent.ReasonDone)
	r.prompt("four", agent.ReasonDone)
	r.resume()
	r.prompt("five", agent.ReasonDone)
	var turns []int // numbered as they come
	seen := map[string]int{}
	for _, one := range m.all {
		if _, ok := seen[one.planned.Turn]; !ok {
			seen[one.planned.Turn] = len(seen) + 1
		}
		turns = append(turns, seen[one.planned.Turn])
	}
	if diff := cmp.Diff([]int{1, 1, 2, 3, 4, 5, 6}, turns); diff != "" {
		t.Errorf("turns of the requests (-want +got):\n%s", diff)
	}
}

func TestMeterRefuses(t *testing.T) {
	m := &till{limit: 1}
	r := start(t, formats()[0], func(r *rig, o *session.Options) {
		o.Meter = m
		o.Tools = []*tool.Tool{echo("read", tool.Reads)}
	}, calls(`c1 read {"path":"x"}`))
	r.prompt("go", agent.ReasonRefused)
	m.check(t, session.ForTurn)
	r.clean()
}

// A retry that was refused is over: the next prompt is none.
func TestMeterRefusesRetry(t *testing.T) {
	m := &till{limit: 1}
	r := start(t, formats()[0], func(r *rig, o *session.Options) { o.Meter = m }, refused(llm.ErrOverload, "busy"), say("ok"))
	r.prompt("go", agent.ReasonRefused)
	m.limit = 0
	r.prompt("again", agent.ReasonDone)
	m.check(t, session.ForTurn, session.ForTurn)
	if diff := cmp.Diff([]string{"start 1/3", "end 1 false"}, r.retries()); diff != "" {
		t.Error(diff)
	}
}

func TestMaxCost(t *testing.T) {
	eachFormat(t, func(t *testing.T, f format) {
		// A million tokens of output are 15 dollars.
		dear := func() llmtest.Turn {
			turn := calls(`c1 read {"path":"x"}`)
			turn.Events = llmtest.Stop(llm.StopToolUse, llm.Usage{Input: 10, Output: 1_000_000})
			return turn
		}
		r := start(t, f, func(r *rig, o *session.Options) {
			o.MaxCost = llm.Dollars(20)
			o.Tools = []*tool.Tool{echo("read", tool.Reads)}
		}, dear(), dear(), dear(), dear())
		out := r.prompt("go", agent.ReasonRefused)
		if !errors.Is(out.Err, session.ErrBudget) || len(r.srv.Requests()) != 2 {
			t.Errorf("%d requests, %v", len(r.srv.Requests()), out.Err)
		}
		if err := r.Compact(t.Context(), ""); err == nil {
			t.Error("there is money for a compaction")
		}
		if _, err := r.Handoff(t.Context(), ""); !errors.Is(err, session.ErrBudget) {
			t.Errorf("handoff: %v", err)
		}
		r.resume()
		if out := r.prompt("go on", agent.ReasonRefused); !errors.Is(out.Err, session.ErrBudget) || len(r.srv.Requests()) != 2 {
			t.Errorf("after resuming: %d requests, %v", len(r.srv.Requests()), out.Err)
		}
		if cost, _, known := r.Spent(); !known || cost < llm.Dollars(30) || cost > llm.Dollars(30.001) {
			t.Errorf("spent %v, %v", cost, known)
		}
	})
}

// What a session has cost is there again after a resume: at once, or of a long one a moment later.
func TestCostAfterResume(t *testing.T) {
	f := formats()[0]
	for _, answers := range []int{3, 101} {
		turn := say("fine")
		turn.Events = llmtest.Stop(llm.StopEnd, llm.Usage{Input: 10, Output: 1000})
		r := start(t, f, nil, slices.Repeat([]llmtest.Turn{turn}, answers)...)
		for range answers {
			r.prompt("hello", agent.ReasonDone)
		}
		cost, usage, _ := r.Spent()
		r.resume()
		if answers > 100 {
			ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
			for feed := r.face().Events(session.Cursor{Seq: 1}); ; {
				if e, err := feed.Next(ctx); err != nil || e.Type == session.CostCounted {
					break
				}
			}
			stop()
		}
		if again, used, known := r.Spent(); again != cost || used.Output != usage.Output || !known || cost == 0 || r.Facts().Stats.Requests != answers {
			t.Errorf("%d answers: %v and %+v, now %v and %+v, %v, %d requests", answers, cost, usage, again, used, known, r.Facts().Stats.Requests)
		}
	}
}

// An answer that was stopped before its vendor said what it costs counts as what it
// costs at least, also in the next process. Until then it is shown as unknown.
func TestMaxCostCountsStoppedAnswers(t *testing.T) {
	for _, f := range formats()[:3] {
		t.Run(f.name, func(t *testing.T) {
			stalled := llmtest.Turn{Parts: []llmtest.Part{{Text: "a b c d e f g h i j"}}, Fault: llmtest.Fault{StallAfterEvents: 4}}
			r := start(t, f, func(r *rig, o *session.Options) {
				o.MaxCost = llm.Dollars(0.06) // a prompt is some 0.04
			}, say("fine"), stalled, stalled, stalled)
			r.prompt("hello", agent.ReasonDone)
			r.stopped(long(10000))
			if cost, _, known := r.Spent(); known || cost > llm.Dollars(0.01) {
				t.Errorf("spent %v, known: %v", cost, known)
			}
			r.stopped("again")
			refused := func() {
				t.Helper()
				out := r.prompt("and again", agent.ReasonRefused)
				if !errors.Is(out.Err, session.ErrBudget) || !strings.Contains(out.Err.Error(), "that were cut short") {
					t.Errorf("refused: %v", out.Err)
				}
			}
			refused()
			r.resume()
			refused()
			if n := len(r.srv.Requests()); n != 3 {
				t.Errorf("%d requests", n)
			}
		})
	}
}

// Under a limit no model without a price comes into use, by whatever way.
func TestUnknownPrice(t *testing.T) {
	f := formats()[0]
	free := called(f.model, "free")
	free.Price, free.ContextWindow = llm.Price{}, 1_000_000
	_, err := session.New(session.Options{Request: llm.Request{Model: &free}, MaxCost: 1})
	if err == nil {
		t.Error("a session began")
	}
	r := start(t, f, func(r *rig, o *session.Options) {
		o.MaxCost, o.Models, o.Fallbacks = llm.Dollars(1), r.opener(free), chain("free")
		r.model.PromotionTarget = "free"
	}, refused(llm.ErrAuth, "no"), refused(llm.ErrContextOverflow, "prompt is too long"))
	if err := r.SetModel(t.Context(), "free"); err == nil {
		t.Error("it could be chosen")
	}
	r.prompt("go", agent.ReasonError)
	r.prompt("go", agent.ReasonError)
	for _, id := range r.modelsAsked() {
		if id == "free" {
			t.Error("it was asked")
		}
	}
	if w := r.warned(); len(w) != 1 {
		t.Errorf("warnings: %q", w)
	}
}

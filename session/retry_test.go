package session_test

import (
	"context"
	"fmt"
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

// waitFor waits until something that another goroutine does is so.
func waitFor(t testing.TB, so func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for range 5000 {
		if so() {
			return
		}
		<-tick.C
	}
	t.Fatal("it did not come to pass")
}

func TestRetry(t *testing.T) {
	cut := func(parts ...llmtest.Part) llmtest.Turn {
		return llmtest.Turn{Parts: parts, Fault: llmtest.Fault{StallAfterEvents: 4}}
	}
	soon, late := time.Now().Add(2*time.Second), time.Now().Add(2*time.Hour)
	refuse := func(e llm.Error) llmtest.Turn { return llmtest.Turn{Fault: llmtest.Fault{Error: &e}} }
	ok := say("fine")
	tests := []struct {
		name   string
		retry  session.Retry
		turns  []llmtest.Turn
		reason agent.Reason
		events []string
		asked  int
	}{
		{"rate limit", session.Retry{}, []llmtest.Turn{refuse(llm.Error{Kind: llm.ErrRateLimit, Message: "slow down"}), ok}, agent.ReasonDone, []string{"start 1/3", "end 1 true"}, 2},
		{"rate limit beyond patience", session.Retry{Limit: time.Second}, []llmtest.Turn{refuse(llm.Error{Kind: llm.ErrRateLimit, RetryAfter: time.Minute, Message: "slow down"})}, agent.ReasonError, nil, 1},
		{"overload", session.Retry{}, []llmtest.Turn{refuse(llm.Error{Kind: llm.ErrOverload, Message: "busy"}), refuse(llm.Error{Kind: llm.ErrOverload, Message: "busy"}), ok}, agent.ReasonDone, []string{"start 1/3", "start 2/3", "end 2 true"}, 3},
		{"overload in the stream", session.Retry{}, []llmtest.Turn{{Events: append(llmtest.Say("half"), llmtest.Fail(&llm.Error{Kind: llm.ErrOverload, Message: "busy"})...)}, ok}, agent.ReasonDone, []string{"start 1/3", "end 1 true"}, 2},
		{"exhausted", session.Retry{Max: 2}, []llmtest.Turn{refused(llm.ErrOverload, "a"), refused(llm.ErrOverload, "b"), refused(llm.ErrOverload, "c")}, agent.ReasonError, []string{"start 1/2", "start 2/2", "end 2 false"}, 3},
		{"off", session.Retry{Off: true}, []llmtest.Turn{refused(llm.ErrOverload, "a")}, agent.ReasonError, nil, 1},
		{"stall", session.Retry{}, []llmtest.Turn{{Parts: []llmtest.Part{{Text: "a b c d e f g"}}, Fault: llmtest.Fault{StallAfterEvents: 4}}, ok}, agent.ReasonDone, []string{"start 1/3", "end 1 true"}, 2},
		{"stall of a call", session.Retry{}, []llmtest.Turn{cut(llmtest.Part{Call: "count", ID: "x", Args: `{"path":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}`}), ok}, agent.ReasonDone, []string{"start 1/3", "end 1 true"}, 2},
		{"no answer", session.Retry{}, []llmtest.Turn{{Fault: llmtest.Fault{Drop: true}}, ok}, agent.ReasonDone, []string{"start 1/3", "end 1 true"}, 2},
		{"usage limit that ends soon", session.Retry{Base: time.Millisecond, Limit: time.Minute}, []llmtest.Turn{refuse(llm.Error{Kind: llm.ErrUsageLimit, Message: "quota", ResetAt: soon}), ok}, agent.ReasonDone, []string{"start 1/3", "end 1 true"}, 2},
		{"usage limit that ends late", session.Retry{}, []llmtest.Turn{refuse(llm.Error{Kind: llm.ErrUsageLimit, Message: "quota", ResetAt: late})}, agent.ReasonError, nil, 1},
		{"auth", session.Retry{}, []llmtest.Turn{refused(llm.ErrAuth, "no")}, agent.ReasonError, nil, 1},
		{"invalid", session.Retry{}, []llmtest.Turn{refused(llm.ErrInvalidRequest, "no")}, agent.ReasonError, nil, 1},
		{"answer without end", session.Retry{}, []llmtest.Turn{{Events: llmtest.Say(strings.Repeat(strings.Repeat("x", 64<<10)+" ", 80))}}, agent.ReasonError, nil, 1},
		{"worked until then, then for good", session.Retry{Max: 2}, []llmtest.Turn{calls(`c1 count {"path":"x"}`), refused(llm.ErrOverload, "a"), refused(llm.ErrOverload, "b"), refused(llm.ErrOverload, "c"), refused(llm.ErrOverload, "d")}, agent.ReasonError, []string{"start 1/2", "start 2/2", "end 2 false"}, 4},
		{"twice, with an answer between", session.Retry{Max: 1}, []llmtest.Turn{refused(llm.ErrOverload, "a"), calls(`c1 count {"path":"x"}`), refused(llm.ErrOverload, "b"), ok}, agent.ReasonDone, []string{"start 1/1", "end 1 true", "start 1/1", "end 1 true"}, 4},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			eachFormat(t, func(t *testing.T, f format) {
				t.Parallel()
				r := start(t, f, func(r *rig, o *session.Options) {
					o.Retry = tt.retry
					if strings.HasPrefix(tt.name, "stall") {
						o.Client = r.asking(300 * time.Millisecond)
					}
					if o.Retry.Base == 0 {
						o.Retry.Base = time.Millisecond
					}
					o.Tools = []*tool.Tool{echo("count", tool.Executes)}
				}, tt.turns...)
				out := r.prompt("go", tt.reason)
				if diff := cmp.Diff(tt.events, r.retries()); diff != "" {
					t.Errorf("events (-want +got):\n%s", diff)
				}
				if n := len(r.srv.Requests()); n != tt.asked {
					t.Errorf("%d requests, want %d", n, tt.asked)
				}
				if tt.reason == agent.ReasonError && out.Err == nil || len(r.warned()) > 0 {
					t.Errorf("error %v, warnings %q", out.Err, r.warned())
				}
				r.prefixed()
				r.clean()
				failed := 0
				for e, err := range r.Log().All() {
					if err == nil && e.Message != nil && e.Message.Error != nil {
						failed++
					}
				}
				if want := strings.Count(strings.Join(tt.events, ","), "start"); failed < want {
					t.Errorf("%d failed answers are in the transcript, want at least %d", failed, want)
				}
				if tt.reason == agent.ReasonDone {
					for _, m := range out.Messages {
						if m.Error != nil {
							t.Errorf("the outcome has an answer that failed: %v", m.Error)
						}
					}
				}
			})
		})
	}
}

// Each cut of an answer with two calls: no call runs twice, whatever came through,
// and what failed is in no request.
func TestCutAnywhereRunsNothingTwice(t *testing.T) {
	eachFormat(t, func(t *testing.T, f format) {
		two := append(llmtest.Say("I will. "), append(llmtest.Call("a1", "count", `{"path":"one and a long path"}`), llmtest.Call("b2", "count", `{"path":"two"}`)...)...)
		for at := 1; at <= len(two)+1; at++ {
			t.Run(fmt.Sprint(at), func(t *testing.T) {
				t.Parallel()
				var mu sync.Mutex
				runs := map[string]int{}
				count := simple("count", tool.Executes, func(_ context.Context, c tool.Call, path string) (*tool.Result, error) {
					mu.Lock()
					defer mu.Unlock()
					runs[c.ID+" "+path]++
					return tool.Text("ran " + path), nil
				})
				broken := append(slices.Clone(two[:at-1]), llmtest.Fail(&llm.Error{Kind: llm.ErrOverload, Message: "busy"})...)
				r := start(t, f, func(r *rig, o *session.Options) { o.Tools = []*tool.Tool{count} },
					llmtest.Turn{Events: broken}, llmtest.Turn{Events: two}, say("done"))
				r.prompt("go", agent.ReasonDone)
				for id, n := range runs {
					if n > 1 {
						t.Errorf("%s ran %d times", id, n)
					}
				}
				if len(runs) != 2 {
					t.Errorf("ran: %v", runs)
				}
				r.prefixed()
				r.clean()
				r.resume()
				r.consistent()
			})
		}
	})
}

// The same with a connection that breaks after any number of bytes.
func TestBrokenConnectionRunsNothingTwice(t *testing.T) {
	eachFormat(t, func(t *testing.T, f format) {
		answer := func(q *llm.Request) []llm.Event {
			if q.Messages[len(q.Messages)-1].Role == llm.RoleToolResult {
				return llmtest.Say("done")
			}
			return append(llmtest.Call("a1", "count", `{"path":"one and a long path"}`), llmtest.Call("b2", "count", `{"path":"two"}`)...)
		}
		for at := 1; at < 3000; at += 67 {
			var mu sync.Mutex
			runs := map[string]int{}
			count := simple("count", tool.Executes, func(_ context.Context, c tool.Call, path string) (*tool.Result, error) {
				mu.Lock()
				defer mu.Unlock()
				runs[c.ID+" "+path]++
				return tool.Text("ran " + path), nil
			})
			turn := llmtest.Turn{Reply: answer}
			r := start(t, f, func(r *rig, o *session.Options) { o.Tools = []*tool.Tool{count} },
				llmtest.Turn{Reply: answer, Fault: llmtest.Fault{CutAfterBytes: at}}, turn, turn)
			r.prompt("go", agent.ReasonDone)
			if len(runs) != 2 {
				t.Errorf("cut at %d: ran %v", at, runs)
			}
			for id, n := range runs {
				if n > 1 {
					t.Errorf("cut at %d: %s ran %d times", at, id, n)
				}
			}
			r.prefixed()
			r.Close()
			r.srv.Close()
		}
	})
}

// What is said while a request waits to be repeated is in it.
func TestSteerWhileWaiting(t *testing.T) {
	r := start(t, formats()[0], nil, refused(llm.ErrOverload, "busy"), say("ok"), say("then"))
	r.on = func(e session.Event) {
		if e.Type == session.RetryStart {
			r.Steer(llm.UserText("be quick"))
			r.FollowUp(llm.UserText("and then"))
		}
	}
	r.prompt("go", agent.ReasonDone)
	for i, want := range []string{"go", "be quick", "and then"} {
		if got := said(r.srv.Requests()[i].Messages); !strings.HasSuffix(got[len(got)-1], want) {
			t.Errorf("request %d ends with %q, want %q", i+1, got[len(got)-1], want)
		}
	}
	if s, f := r.Queued(); len(s)+len(f) > 0 {
		t.Errorf("still queued: %v %v", s, f)
	}
}

func TestRetryDelays(t *testing.T) {
	r := start(t, formats()[0], func(r *rig, o *session.Options) {
		o.Retry = session.Retry{Base: time.Millisecond, Max: 6, Limit: 5 * time.Millisecond}
	}, refused(llm.ErrOverload, "a"), refused(llm.ErrOverload, "a"), refused(llm.ErrOverload, "a"), refused(llm.ErrOverload, "a"), refused(llm.ErrOverload, "a"), say("ok"))
	r.prompt("go", agent.ReasonDone)
	var got []time.Duration
	for _, e := range r.seen(session.RetryStart) {
		got = append(got, e.Data.(*session.RetryInfo).Delay/time.Microsecond)
		if e.Data.(*session.RetryInfo).Error == "" || e.Data.(*session.RetryInfo).DelayMS != e.Data.(*session.RetryInfo).Delay.Milliseconds() {
			t.Errorf("the event says %+v", e.Data.(*session.RetryInfo))
		}
	}
	// The own wait grows up to the limit and stays there. Its last quarter is random.
	most := []time.Duration{1000, 2000, 4000, 5000, 5000}
	even := true
	for i, d := range got {
		if i >= len(most) || d > most[i] || d < most[i]*3/4 {
			t.Errorf("waits of %v µs", got)
		}
		even = even && d == most[i]
	}
	if even || len(got) != len(most) {
		t.Errorf("waits of %v µs", got)
	}
}

func TestAbortWhileWaiting(t *testing.T) {
	eachFormat(t, func(t *testing.T, f format) {
		r := start(t, f, func(r *rig, o *session.Options) { o.Retry.Base = time.Hour; o.Retry.Limit = 2 * time.Hour }, refused(llm.ErrOverload, "busy"), say("later"))
		waiting := make(chan struct{})
		r.on = func(e session.Event) {
			if e.Type == session.RetryStart {
				close(waiting)
			}
		}
		done := make(chan agent.Outcome)
		go func() { done <- r.Prompt(context.Background(), llm.UserText("go")) }()
		<-waiting
		began := time.Now()
		r.Abort()
		out := <-done
		if took := time.Since(began); took > patience/2 {
			t.Errorf("it took %s", took)
		}
		if out.Reason != agent.ReasonAborted || llm.KindOf(out.Err) != llm.ErrAborted {
			t.Errorf("ended as %s, %v", out.Reason, out.Err)
		}
		if diff := cmp.Diff([]string{"start 1/3", "end 1 false"}, r.retries()); diff != "" {
			t.Error(diff)
		}
		r.consistent()
		r.prompt("again", agent.ReasonDone)
	})
}

func TestFallback(t *testing.T) {
	eachFormat(t, func(t *testing.T, f format) {
		second, third := called(f.model, "second"), called(f.model, "third")
		r := start(t, f, func(r *rig, o *session.Options) {
			o.Retry.Max = 1
			o.Fallbacks, o.Models = chain("missing", f.model.Ref(), "second", "third"), r.opener(f.model, second, third)
		}, refused(llm.ErrOverload, "a"), refused(llm.ErrOverload, "b"), refused(llm.ErrAuth, "no key"), say("third answers"), say("still third"))
		r.prompt("go", agent.ReasonDone)
		r.prompt("more", agent.ReasonDone)
		if diff := cmp.Diff([]string{f.model.ID, f.model.ID, "second", "third", "third"}, r.modelsAsked()); diff != "" {
			t.Error(diff)
		}
		want := []string{
			"start 1/1", "end 1 false",
			"retry_fallback_applied " + f.model.Ref() + " -> " + second.Ref(),
			"retry_fallback_applied " + second.Ref() + " -> " + third.Ref(),
		}
		if diff := cmp.Diff(want, r.retries()); diff != "" {
			t.Error(diff)
		}
		if w := r.warned(); len(w) != 1 || !strings.Contains(w[0], "missing") {
			t.Errorf("warnings: %q", w)
		}
		// It holds for this process: the transcript has the person's choice.
		c, err := r.Log().Context(r.Log().Leaf())
		if err != nil || c.Models["default"] != f.model.Ref() {
			t.Errorf("the transcript has %v, %v", c.Models, err)
		}
	})
}

func TestNoFallbackForWhatIsWrongWithTheRequest(t *testing.T) {
	for _, kind := range []llm.ErrorKind{llm.ErrInvalidRequest, llm.ErrContentFilter} {
		f := formats()[0]
		r := start(t, f, func(r *rig, o *session.Options) {
			o.Fallbacks, o.Models = chain("second"), r.opener(called(f.model, "second"))
		}, refused(kind, "no"))
		r.prompt("go", agent.ReasonError)
		if n := len(r.srv.Requests()); n != 1 {
			t.Errorf("%s: %d requests", kind, n)
		}
	}
}

func TestPromotion(t *testing.T) {
	eachFormat(t, func(t *testing.T, f format) {
		large := called(f.model, "large")
		large.ContextWindow = 1_000_000
		r := start(t, f, func(r *rig, o *session.Options) {
			r.model.PromotionTarget = "large"
			o.Models = r.opener(large)
		}, refused(llm.ErrContextOverflow, "prompt is too long"), say("ok"))
		r.prompt("go", agent.ReasonDone)
		if diff := cmp.Diff([]string{f.model.ID, "large"}, r.modelsAsked()); diff != "" {
			t.Error(diff)
		}
		if got := r.retries(); len(got) != 1 || !strings.HasPrefix(got[0], string(session.Promoted)) {
			t.Errorf("events: %v", got)
		}
		r.prefixedBut(0)
	})
}

// At the threshold, the very request that was too large goes to the larger model.
func TestPromotionAtThreshold(t *testing.T) {
	f := formats()[0]
	large := called(f.model, "large")
	r := start(t, f, func(r *rig, o *session.Options) {
		r.model.ContextWindow, r.model.PromotionTarget = 4000, "large"
		o.Models = r.opener(large)
	}, say("ok"))
	r.prompt(long(3000), agent.ReasonDone)
	if diff := cmp.Diff([]string{"large"}, r.modelsAsked()); diff != "" {
		t.Error(diff)
	}
	if out := r.Messages(); out[len(out)-1].Model != "large" {
		t.Errorf("the answer is by %s", out[len(out)-1].Model)
	}
}

func TestOverflow(t *testing.T) {
	eachFormat(t, func(t *testing.T, f format) {
		over := refused(llm.ErrContextOverflow, "prompt is too long: 210000 tokens > 200000 maximum")
		t.Run("compacted", func(t *testing.T) {
			r := start(t, f, func(r *rig, o *session.Options) { o.Compaction = small() },
				say("one"), over, say("SUMMARY"), say("short"), say("goes on"))
			r.prompt(long(900), agent.ReasonDone)
			out := r.prompt("the question", agent.ReasonDone)
			if got := out.Messages[len(out.Messages)-1].Text(); got != "goes on" || len(out.Messages) != 1 {
				t.Errorf("the answer is %q of %v", got, said(out.Messages))
			}
			last := r.srv.Requests()[4]
			if text := strings.Join(said(last.Messages), "\n"); !strings.Contains(text, "SUMMARY") || !strings.Contains(text, "the question") {
				t.Errorf("the request after the compaction: %s", text)
			}
			r.clean()
			r.resume()
			r.consistent()
		})
		t.Run("again", func(t *testing.T) {
			r := start(t, f, func(r *rig, o *session.Options) {
				o.Compaction = small()
				o.Tools = []*tool.Tool{echo("read", tool.Reads)}
			}, say("one"), calls(`c1 read {"path":"x"}`), over, say("SUMMARY"), say("short"), over, over, over)
			r.prompt(long(900), agent.ReasonDone)
			out := r.prompt("the question", agent.ReasonError)
			if llm.KindOf(out.Err) != llm.ErrContextOverflow || strings.ContainsAny(out.Err.Error(), "\n;") {
				t.Errorf("error %v", out.Err)
			}
			if n := len(r.srv.Requests()); n > 7 {
				t.Errorf("%d requests: it went round in circles", n)
			}
		})
		t.Run("nothing to compact", func(t *testing.T) {
			r := start(t, f, nil, over)
			out := r.prompt("hi", agent.ReasonError)
			if llm.KindOf(out.Err) != llm.ErrContextOverflow || len(r.srv.Requests()) != 1 {
				t.Errorf("error %v after %d requests", out.Err, len(r.srv.Requests()))
			}
		})
	})
}

// To stop the compaction that an overflow needs is to stop the prompt.
func TestAbortWhileOverflowIsMended(t *testing.T) {
	r := start(t, formats()[0], func(r *rig, o *session.Options) { o.Compaction = small() },
		say("one"), refused(llm.ErrContextOverflow, "prompt is too long"), llmtest.Turn{Fault: llmtest.Fault{StallHead: true}})
	r.prompt(long(900), agent.ReasonDone)
	r.on = func(e session.Event) {
		if e.Type == session.CompactionStart {
			go r.Abort()
		}
	}
	out := r.prompt("two", agent.ReasonAborted)
	if llm.KindOf(out.Err) != llm.ErrAborted {
		t.Errorf("error %v", out.Err)
	}
}

// An answer that the window cut is given again after a compaction, once.
func TestIncomplete(t *testing.T) {
	f := formats()[0]
	full := func() llmtest.Turn {
		return llmtest.Turn{Parts: []llmtest.Part{{Text: "it breaks off in the"}}, Events: llmtest.Stop(llm.StopLength, llm.Usage{Input: 199_000, Output: 900})}
	}
	r := start(t, f, func(r *rig, o *session.Options) { o.Compaction = small() },
		say("one"), full(), say("SUMMARY"), say("short"), full(), full())
	r.prompt(long(900), agent.ReasonDone)
	out := r.prompt("the question", agent.ReasonLength)
	if n := len(r.srv.Requests()); n != 5 || out.Err != nil {
		t.Errorf("%d requests, want 5; error %v", n, out.Err)
	}
	// What came of it in the end is kept.
	if got := said(r.Messages()); got[len(got)-1] != "assistant: it breaks off in the" {
		t.Errorf("the conversation ends with %q", got[len(got)-1])
	}
}

// The server's requests from that number on, each a continuation of the one before,
// but for the name of the model.
func (r *rig) prefixedBut(from int) {
	r.t.Helper()
	raw := r.srv.Raw()[from:]
	for i := 1; i < len(raw); i++ {
		_, old := sent(r.t, raw[i-1])
		_, now := sent(r.t, raw[i])
		if diff := cmp.Diff(old, now[:min(len(old), len(now))]); diff != "" {
			r.t.Errorf("request %d:\n%s", from+i+1, diff)
		}
	}
}

// What one prompt may use holds for all that is done for it: attempts after a failure
// and reminders. The next prompt, and a person's own retry, begin anew.
func TestLimitsArePerPrompt(t *testing.T) {
	busy := refused(llm.ErrOverload, "busy")
	tools := []*tool.Tool{
		echo("read", tool.Reads),
		simple("fails", tool.Reads, func(context.Context, tool.Call, string) (*tool.Result, error) { return tool.Failure("no"), nil }),
	}
	for _, tt := range []struct {
		name     string
		max      int
		remind   bool
		turns    []llmtest.Turn
		reason   agent.Reason
		requests int
	}{
		{"retries", 3, false, []llmtest.Turn{calls(`c1 read {"path":"x"}`), busy}, agent.ReasonMaxTurns, 3},
		{"the last one fails", 2, false, []llmtest.Turn{calls(`c1 read {"path":"x"}`), busy}, agent.ReasonError, 2},
		{"reminders", 3, true, []llmtest.Turn{calls(`c1 read {"path":"x"}`), say("done")}, agent.ReasonMaxTurns, 3},
		{"the same failing call", 0, false, []llmtest.Turn{calls(`c1 fails {"path":"x"}`), busy}, agent.ReasonLoop, 9},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := start(t, formats()[0], func(_ *rig, o *session.Options) {
				o.MaxTurns, o.Tools = tt.max, tools
				if tt.remind {
					o.Reminders, o.Tasks = 3, handletest.Tasks{OnReminder: func() string { return "go on" }}
				}
			}, slices.Repeat(tt.turns, 20)...)
			out := r.prompt("go", tt.reason)
			if n := len(r.srv.Requests()); n != tt.requests || out.Turns != n {
				t.Errorf("%d requests, %d turns; want %d", n, out.Turns, tt.requests)
			}
			again := r.Resend
			if tt.reason != agent.ReasonError {
				again = func(ctx context.Context) agent.Outcome { return r.Prompt(ctx, llm.UserText("and now?")) }
			}
			if again(t.Context()); len(r.srv.Requests()) < tt.requests+2 {
				t.Error("what the person asks for next does not begin anew")
			}
		})
	}
}

// An answer without end stays in the transcript as far as it came, with its reason,
// and nothing of it runs.
func TestAnswerWithoutEndIsKept(t *testing.T) {
	eachFormat(t, func(t *testing.T, f format) {
		ran := false
		args := `{"path":"` + strings.Repeat("x", 5<<20) + `"}`
		r := start(t, f, func(r *rig, o *session.Options) {
			o.Fallbacks = chain("another")
			o.Models = handletest.Opener(func(context.Context, string) (*llm.Model, llm.Client, error) {
				t.Error("another model is asked")
				return &r.model, r.client, nil
			})
			o.Tools = []*tool.Tool{echo("count", tool.Executes)}
		}, llmtest.Turn{Events: append(llmtest.Say("I will. "), llmtest.Call("c1", "count", args)...)})
		out := r.prompt("go", agent.ReasonError)
		if llm.KindOf(out.Err) != llm.ErrAnswerLimit {
			t.Errorf("error %v", out.Err)
		}
		for e, err := range r.Log().All() {
			if err != nil {
				t.Fatal(err)
			}
			if e.Message == nil || e.Message.Role != llm.RoleAssistant {
				ran = ran || e.Message != nil && e.Message.Role == llm.RoleToolResult
				continue
			}
			calls := e.Message.ToolCalls()
			if e.Message.Text() != "I will. " || len(calls) != 1 || calls[0].Defect != llm.DefectCut || llm.KindOf(e.Message.Error) != llm.ErrAnswerLimit {
				t.Errorf("kept %q, %d calls, %v", e.Message.Text(), len(calls), e.Message.Error)
			}
		}
		if ran {
			t.Error("a call of the answer ran")
		}
	})
}

// The first model is asked again when the wait is over that its vendor asked for, or
// after five minutes, unless that is not wanted.
func TestBackFromFallback(t *testing.T) {
	for _, tt := range []struct {
		name  string
		stay  bool
		asked time.Duration // by the vendor
		after time.Duration
		want  string
	}{
		{"not yet", false, 0, 4 * time.Minute, "second"},
		{"after five minutes", false, 0, 5 * time.Minute, "first"},
		{"as the vendor says", false, time.Minute, time.Minute, "first"},
		{"never", true, time.Minute, time.Hour, "second"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := formats()[0]
			now := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
			failing := refused(llm.ErrOverload, "a")
			failing.Fault.Error.RetryAfter = tt.asked
			turns := []llmtest.Turn{failing, say("second answers"), say("who?")}
			if tt.asked == 0 { // else it is not asked a second time
				turns = append([]llmtest.Turn{failing}, turns...)
			}
			r := start(t, f, func(r *rig, o *session.Options) {
				o.Retry.Max, o.Retry.Stay, o.Now = 1, tt.stay, func() time.Time { return now }
				o.Fallbacks, o.Models = chain("second"), r.opener(f.model, called(f.model, "second"))
			}, turns...)
			r.prompt("go", agent.ReasonDone)
			now = now.Add(tt.after)
			r.prompt("more", agent.ReasonDone)
			asked := r.modelsAsked()
			want := tt.want
			if want == "first" {
				want = f.model.ID
			}
			if got := asked[len(asked)-1]; got != want {
				t.Errorf("asked %v, want %s at last", asked, want)
			}
		})
	}
}

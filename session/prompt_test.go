package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/llmtest"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/session/compact"
	"github.com/burin-dev/burin/session/handletest"
	"github.com/burin-dev/burin/tool"
)

func TestPrefixSurvivesResume(t *testing.T) {
	eachFormat(t, func(t *testing.T, f format) {
		thinking := llmtest.Turn{Parts: []llmtest.Part{{Thinking: "First look.", Signature: "c2lnbmF0dXJl"}, {Text: "Two files. "}, {Call: "read", ID: "c1", Args: `{ "path" : "a\u002fb" }`}}}
		r := start(t, f, func(r *rig, o *session.Options) {
			o.Tools = []*tool.Tool{echo("read", tool.Reads), simple("odd", tool.Reads, func(context.Context, tool.Call, string) (*tool.Result, error) {
				return tool.Text("tab\t <&> \u2028 🦊 \x1b[31m \x00 end"), errors.New("and it failed")
			})}
			o.Preface = []llm.Message{{Role: llm.RoleCustom, CustomType: "note", Content: []llm.Block{llm.Text{Text: "It is Monday."}}}}
			o.Mode = "ask"
		},
			thinking, calls(`c2 odd {"path":"x"}`, `c3 read {"path":"y"}`), say("Done."),
			llmtest.Turn{Parts: []llmtest.Part{{Text: "half of an answer that is cut"}}, Fault: llmtest.Fault{CutAfterBytes: 700}}, say("Second."),
			say("Third."), calls(`c1 read {"path":"again"}`), say("Fourth."))
		r.prompt("one <b> & \"two\"", agent.ReasonDone)
		r.prompt("two", agent.ReasonDone)
		r.resume()
		r.consistent()
		r.prompt("three", agent.ReasonDone)
		r.resume()
		r.prompt("four", agent.ReasonDone)
		r.prefixed()
		r.clean()
		if n := len(r.srv.Raw()); n != 8 {
			t.Errorf("%d requests, want 8", n)
		}
		first := strings.Join(said(r.srv.Requests()[0].Messages), "\n")
		if !strings.Contains(first, "It is Monday.") || strings.Count(strings.Join(said(r.Messages()), "\n"), "It is Monday.") != 1 {
			t.Errorf("the preface is not there once: %s", first)
		}
	})
}

// What is set before the first prompt does not take the place of what must come
// before it.
func TestPrefaceAfterSettings(t *testing.T) {
	f := formats()[0]
	other := called(f.model, "other")
	r := start(t, f, func(r *rig, o *session.Options) {
		o.Models = r.opener(other)
		o.Mode = "ask"
		o.Preface = []llm.Message{llm.UserText("PREFACE")}
	}, say("ok"), say("ok"))
	r.SetThinking(llm.LevelOff)
	r.SetTitle("A title")
	if err := r.SetModel(t.Context(), other.Ref()); err != nil {
		t.Fatal(err)
	}
	if err := r.Pin("keep <this>"); err != nil {
		t.Fatal(err)
	}
	r.prompt("hi", agent.ReasonDone)
	text := strings.Join(said(r.srv.Requests()[0].Messages), "\n")
	if !strings.Contains(text, "PREFACE") || !strings.Contains(text, "keep <this>") {
		t.Errorf("the first request has only %s", text)
	}
	c, err := r.Log().Context(r.Log().Leaf())
	if err != nil {
		t.Fatal(err)
	}
	if c.Models["default"] != other.Ref() || c.Mode != "ask" || c.Thinking != llm.LevelOff {
		t.Errorf("the branch has model %v, mode %s, thinking %s", c.Models, c.Mode, c.Thinking)
	}
	r.prompt("again", agent.ReasonDone)
	if n := strings.Count(strings.Join(said(r.Messages()), "\n"), "PREFACE"); n != 1 {
		t.Errorf("the preface is there %d times", n)
	}
}

func TestPinReachesTheNextRequest(t *testing.T) {
	f := formats()[0]
	r := start(t, f, nil)
	r.Close()
	var pinned *rig
	pin := simple("work", tool.Executes, func(context.Context, tool.Call, string) (*tool.Result, error) {
		return tool.Text("ok"), pinned.Pin("never push")
	})
	pinned = start(t, f, func(r *rig, o *session.Options) { o.Tools = []*tool.Tool{pin} }, calls(`c1 work {"path":"x"}`), say("done"))
	pinned.prompt("go", agent.ReasonDone)
	if last := strings.Join(said(pinned.srv.Requests()[1].Messages), "\n"); !strings.Contains(last, "never push") {
		t.Errorf("what was pinned while the model worked is not in the next request: %s", last)
	}
	pinned.clean()
	if err := pinned.Pin(" \n"); err == nil {
		t.Error("nothing could be pinned")
	}
}

func TestBusy(t *testing.T) {
	eachFormat(t, func(t *testing.T, f format) {
		wait, running := blocking("wait")
		r := start(t, f, func(r *rig, o *session.Options) { o.Tools = []*tool.Tool{wait} }, say("one"), calls(`c1 wait {"path":"x"}`), say("summary"), say("short"))
		r.prompt(strings.Repeat("a first prompt with some words ", 20), agent.ReasonDone)
		root := r.Log().Nodes()[0].ID
		done := make(chan agent.Outcome)
		go func() { done <- r.Prompt(context.Background(), llm.UserText("go")) }()
		<-running
		if out := r.Prompt(t.Context(), llm.UserText("me too")); !errors.Is(out.Err, session.ErrBusy) {
			t.Errorf("a second prompt: %v", out.Err)
		}
		if _, err := r.Navigate(t.Context(), root, session.Navigation{}); !errors.Is(err, session.ErrBusy) {
			t.Errorf("to navigate: %v", err)
		}
		if _, err := r.Handoff(t.Context(), ""); !errors.Is(err, session.ErrBusy) {
			t.Errorf("a handoff: %v", err)
		}
		began := time.Now()
		r.Abort()
		if out := <-done; out.Reason != agent.ReasonAborted || llm.KindOf(out.Err) != llm.ErrAborted {
			t.Errorf("ended as %s, %v", out.Reason, out.Err)
		}
		if took := time.Since(began); took > patience/2 {
			t.Errorf("it took %s to stop", took)
		}
		r.consistent()
	})
}

// Compact stops what is under way, and then has the session for itself.
func TestCompactWhileRunning(t *testing.T) {
	wait, running := blocking("wait")
	r := start(t, formats()[0], func(r *rig, o *session.Options) {
		o.Tools = []*tool.Tool{wait}
		o.Compaction = small()
	}, say("one"), calls(`c1 wait {"path":"x"}`), say("summary"), say("short"), say("turn"), say("short"))
	r.prompt(long(900), agent.ReasonDone)
	done := make(chan agent.Outcome)
	go func() { done <- r.Prompt(context.Background(), llm.UserText("go")) }()
	<-running
	if err := r.Compact(t.Context(), ""); err != nil {
		t.Errorf("compact: %v", err)
	}
	if out := <-done; out.Reason != agent.ReasonAborted {
		t.Errorf("the prompt ended as %s", out.Reason)
	}
	r.consistent()
}

// Nothing is stopped where there is nothing to summarise.
func TestCompactOfNothingStopsNothing(t *testing.T) {
	asked, answer := make(chan struct{}), make(chan struct{})
	r := start(t, formats()[0], nil, llmtest.Turn{Reply: func(*llm.Request) []llm.Event {
		close(asked)
		<-answer
		return llmtest.Say("the answer")
	}})
	done := make(chan agent.Outcome)
	go func() { done <- r.Prompt(context.Background(), llm.UserText("go")) }()
	<-asked
	if err := r.Compact(t.Context(), ""); !errors.Is(err, compact.ErrNothing) {
		t.Errorf("compact: %v", err)
	}
	close(answer)
	if out := <-done; out.Reason != agent.ReasonDone {
		t.Errorf("the prompt ended as %s, %v", out.Reason, out.Err)
	}
}

func TestCloseWhileRunning(t *testing.T) {
	eachFormat(t, func(t *testing.T, f format) {
		for _, during := range []string{"stream", "tool", "wait"} {
			t.Run(during, func(t *testing.T) {
				wait, running := blocking("wait")
				closed, ended := false, false
				turn := map[string]llmtest.Turn{
					"stream": {Parts: []llmtest.Part{{Text: "half of this answer comes and then"}}, Fault: llmtest.Fault{StallAfterEvents: 4}},
					"tool":   calls(`c1 wait {"path":"x"}`),
					"wait":   refused(llm.ErrOverload, "busy"),
				}[during]
				r := start(t, f, func(r *rig, o *session.Options) {
					o.Tools = []*tool.Tool{wait}
					o.Retry.Base = time.Minute
					o.Close = func() error { closed = true; return nil }
				}, turn)
				under := make(chan struct{}, 100)
				r.on = func(e session.Event) {
					if e.Type == agent.MessageUpdate && e.Stream.Type == llm.EventTextDelta || e.Type == session.RetryStart {
						under <- struct{}{}
					}
					ended = ended || e.Type == agent.AgentEnd
				}
				done := make(chan agent.Outcome, 1)
				go func() { done <- r.Prompt(context.Background(), llm.UserText("go")) }()
				select {
				case <-under:
				case <-running:
				}
				if err := r.Close(); err != nil {
					t.Errorf("close: %v", err)
				}
				if !ended {
					t.Error("Close returned before the prompt had ended")
				}
				if out := <-done; out.Reason != agent.ReasonAborted {
					t.Errorf("ended as %s, %v", out.Reason, out.Err)
				}
				if !closed || r.Close() != nil {
					t.Error("what the tools stand on was not closed, or a second Close fails")
				}
				var stops []string
				if during == "tool" {
					stops = []string{"stopped with the session: wait"}
				}
				if diff := cmp.Diff(stops, r.warned()); diff != "" {
					t.Errorf("warnings: %s", diff)
				}
				if out := r.Prompt(context.Background(), llm.UserText("more")); !errors.Is(out.Err, session.ErrClosed) {
					t.Errorf("a prompt after the end: %v", out.Err)
				}
				text, err := os.ReadFile(r.path)
				if err != nil || !strings.Contains(string(text), `"aborted"`) && during != "wait" && during != "tool" {
					t.Errorf("the answer that was stopped is not kept: %v\n%s", err, text)
				}
			})
		}
	})
}

// The model and the client that it is served by change together.
func TestSetModelWhileRunning(t *testing.T) {
	f := formats()[0]
	var r *rig
	other := called(f.model, "other")
	r = start(t, f, func(r *rig, o *session.Options) {
		o.Models = r.opener(other)
		o.Tools = []*tool.Tool{simple("switch", tool.Executes, func(ctx context.Context, _ tool.Call, _ string) (*tool.Result, error) {
			r.SetThinking(llm.LevelLow)
			return tool.Text("ok"), r.SetModel(ctx, "other")
		})}
	}, calls(`c1 switch {"path":"x"}`), say("done"), say("still"))
	r.prompt("go", agent.ReasonDone)
	r.prompt("more", agent.ReasonDone)
	if diff := cmp.Diff([]string{f.model.ID, "other", "other"}, r.modelsAsked()); diff != "" {
		t.Error(diff)
	}
	if err := r.SetModel(t.Context(), "nowhere"); err == nil || r.Stats().Model != other.Ref() {
		t.Errorf("a model that is not there: %v, now %s", err, r.Stats().Model)
	}
	if st := r.Stats(); st.Thinking != llm.LevelLow || st.Requests != 3 || st.Cost == 0 && st.Known && st.Usage.Output > 0 {
		t.Errorf("stats: %+v", st)
	}
}

// Wherever the model freezes, to stop takes no time, and what was said stays.
func TestAbortAnywhere(t *testing.T) {
	eachFormat(t, func(t *testing.T, f format) {
		parts := []llmtest.Part{{Thinking: "hm hm hm", Signature: "c2ln"}, {Text: "a b c"}, {Call: "read", ID: "c1", Args: `{"path":"some/long/path"}`}}
		for at := -1; at <= 14; at++ {
			turn := llmtest.Turn{Parts: parts, Fault: llmtest.Fault{StallAfterEvents: at, StallHead: at == 0}}
			r := start(t, f, func(r *rig, o *session.Options) { o.Tools = []*tool.Tool{echo("read", tool.Reads)} }, turn, say("on"))
			reached := make(chan struct{}, 64)
			r.on = func(e session.Event) {
				if e.Type == agent.MessageStart && e.Message.Role == llm.RoleAssistant || e.Type == agent.MessageUpdate {
					reached <- struct{}{}
				}
			}
			done := make(chan agent.Outcome)
			go func() { done <- r.Prompt(context.Background(), llm.UserText("go")) }()
			waitFor(t, func() bool { return len(r.srv.Requests()) == 1 })
			if at > 0 {
				<-reached
			}
			began := time.Now()
			r.Abort()
			out := <-done
			if took := time.Since(began); took > patience/2 || out.Reason != agent.ReasonAborted {
				t.Errorf("frozen at %d: ended as %s, %v after %s", at, out.Reason, out.Err, took)
			}
			r.on = nil
			r.consistent()
			r.prompt("on", agent.ReasonDone)
			r.clean()
			lawful(t, r.srv.Requests()[1])
			r.Close()
			r.srv.Close()
		}
	})
}

// A prompt that is stopped before it was written down leaves nothing behind.
func TestUnsent(t *testing.T) {
	r := start(t, formats()[0], func(r *rig, o *session.Options) {
		o.Expand = func(ctx context.Context, text string) (string, error) {
			if text == "slow" {
				r.Abort()
			}
			return text, ctx.Err()
		}
	}, say("on"))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for name, out := range map[string]agent.Outcome{
		"while it is expanded":  r.Prompt(t.Context(), llm.UserText("slow")),
		"with a ctx that ended": r.Prompt(ended, llm.UserText("late")),
	} {
		if out.Reason != agent.ReasonAborted || !errors.Is(out.Err, session.ErrUnsent) || llm.KindOf(out.Err) != llm.ErrAborted {
			t.Errorf("%s: %s, %v", name, out.Reason, out.Err)
		}
	}
	if n := len(r.Messages()) + len(r.srv.Raw()); n > 0 {
		t.Errorf("%d messages and requests", n)
	}
	r.prompt("go", agent.ReasonDone)
	r.clean()
}

// watched is a client that serves one model only.
type watched struct {
	llm.Client
	t  testing.TB
	id string
}

func (w watched) Stream(ctx context.Context, q *llm.Request) llm.Stream {
	if q.Model.ID != w.id {
		w.t.Errorf("the client of %s was sent a request for %s", w.id, q.Model.ID)
	}
	return w.Client.Stream(ctx, q)
}

// In whatever moment the model is changed, it is asked through its own client.
func TestModelAndClientGoTogether(t *testing.T) {
	f := formats()[0]
	m := &till{}
	var r *rig
	m.on = func(n int) {
		if n == 0 {
			if err := r.SetModel(context.Background(), "other"); err != nil {
				t.Error(err)
			}
		}
	}
	other := called(f.model, "other")
	r = start(t, f, func(r *rig, o *session.Options) {
		o.Meter, o.Client = m, watched{r.client, t, f.model.ID}
		o.Tools = []*tool.Tool{echo("read", tool.Reads)}
		o.Models = handletest.Opener(func(context.Context, string) (*llm.Model, llm.Client, error) {
			return &other, watched{r.client, t, "other"}, nil
		})
	}, calls(`c1 read {"path":"x"}`), say("done"))
	r.prompt("go", agent.ReasonDone)
	if diff := cmp.Diff([]string{f.model.ID, "other"}, r.modelsAsked()); diff != "" {
		t.Error(diff)
	}
}

// Whatever is called at the same time, nothing breaks, every request is paid once,
// and the transcript tells what the loop has.
func TestStorm(t *testing.T) {
	f := formats()[0]
	m := &till{}
	other := called(f.model, "other")
	script := brain(4000, func(int) string { return "SUMMARY" }, calls(`c read {"path":"p"}`), say("some words "+long(60)))
	r := start(t, f, func(r *rig, o *session.Options) {
		o.Meter, o.Compaction, o.Models = m, small(), r.opener(f.model, other)
		o.Tools = []*tool.Tool{echo("read", tool.Reads)}
	}, script...)
	r.prompt("begin", agent.ReasonDone)
	ctx := t.Context()
	var wg sync.WaitGroup
	for _, do := range []func(n int){
		func(n int) { r.Prompt(ctx, llm.UserText(fmt.Sprint("prompt ", n))) },
		func(n int) { r.Steer(llm.UserText(fmt.Sprint("steer ", n))) },
		func(n int) { r.SetModel(ctx, []string{"other", f.model.ID}[n%2]) },
		func(n int) { r.SetThinking(llm.Levels()[n%2]) },
		func(n int) { r.SetTitle(fmt.Sprint("title ", n)) },
		func(n int) { r.Pin(fmt.Sprint("pin ", n%3)) },
		func(int) { r.Stats(); r.Messages(); r.Spent() },
		func(int) { r.Abort() },
		func(int) { r.Compact(ctx, "") },
		func(int) { r.Handoff(ctx, "") },
		func(n int) {
			nodes := r.Log().Nodes()
			r.Navigate(ctx, nodes[n*7%len(nodes)].ID, session.Navigation{Summarize: n%3 == 0})
		},
	} {
		wg.Go(func() {
			for n := range 25 {
				do(n)
			}
		})
	}
	wg.Wait()
	waitFor(t, func() bool { // what was steered at last may have begun
		r.Unqueue()
		r.Abort()
		return !r.Facts().Working
	})
	r.prompt("the end", agent.ReasonDone)
	r.clean()
	for _, q := range r.srv.Requests() {
		lawful(t, q)
	}
	for i, p := range m.all {
		if p.settled+p.released != 1 {
			t.Errorf("reservation %d: settled %d times, released %d times", i, p.settled, p.released)
		}
	}
	r.resume()
	r.consistent()
}

func TestTitle(t *testing.T) {
	f := formats()[0]
	r := start(t, f, func(r *rig, o *session.Options) {
		r.assistant(o, say("  A Fine\nTitle "))
	}, say("answer"), say("more"))
	titled := make(chan string, 1)
	r.on = func(e session.Event) {
		if e.Type == session.TitleChanged {
			titled <- e.Text
		}
	}
	r.prompt("hello", agent.ReasonDone)
	if got := <-titled; got == "" || strings.ContainsAny(got, "\n") || r.Log().Title() != got {
		t.Errorf("title %q", got)
	}
	r.prompt("more", agent.ReasonDone)
	r.resume()
	if r.Stats().Title == "" {
		t.Error("the title is not kept")
	}
}

// What is set between an answer that failed and the next one holds on the branch
// that goes on.
func TestSettingsBehindFailedAnswer(t *testing.T) {
	f := formats()[0]
	second := called(f.model, "second")
	r := start(t, f, func(r *rig, o *session.Options) {
		o.Fallbacks = chain("second")
		o.Models = handletest.Opener(func(context.Context, string) (*llm.Model, llm.Client, error) {
			r.SetThinking(llm.LevelHigh)
			r.SetTitle("named")
			return &second, r.client, r.Pin("never push")
		})
	}, refused(llm.ErrAuth, "no key"), say("ok"))
	r.prompt("go", agent.ReasonDone)
	if text := strings.Join(said(r.srv.Requests()[1].Messages), "\n"); !strings.Contains(text, "never push") {
		t.Errorf("the pin is not in the next request: %s", text)
	}
	r.resume()
	c, err := r.Log().Context(r.Log().Leaf())
	if err != nil {
		t.Fatal(err)
	}
	if c.Thinking != llm.LevelHigh || r.Stats().Title != "named" {
		t.Errorf("thinking %q, title %q", c.Thinking, r.Stats().Title)
	}
	r.consistent()
}

func TestResultTool(t *testing.T) {
	eachFormat(t, func(t *testing.T, f format) {
		final := simple(session.ResultTool, tool.Reads, func(context.Context, tool.Call, string) (*tool.Result, error) {
			return &tool.Result{Content: []llm.Block{llm.Text{Text: "taken"}}, Final: true}, nil
		})
		r := start(t, f, func(r *rig, o *session.Options) { o.Tools = []*tool.Tool{final} },
			say("It is done."), calls(`c1 result {"path":"x"}`), say("no"), say("no"), say("no"))
		r.prompt("go", agent.ReasonDone)
		if q := r.srv.Requests()[1]; q.ToolChoice.Mode != llm.ToolNamed || q.ToolChoice.Name != session.ResultTool {
			t.Errorf("the second request leaves the choice: %+v", q.ToolChoice)
		}
		if out := r.prompt("again", agent.ReasonError); !errors.Is(out.Err, session.ErrNoResult) {
			t.Errorf("without a result: %v", out.Err)
		}
		if n := len(r.srv.Requests()); n != 5 {
			t.Errorf("%d requests, want 5", n)
		}
	})
}

// A tool whose details are no JSON loses them, and nothing else.
func TestDetailsWithoutJSON(t *testing.T) {
	broken := simple("broken", tool.Reads, func(context.Context, tool.Call, string) (*tool.Result, error) {
		return &tool.Result{Content: []llm.Block{llm.Text{Text: "the output"}}, Details: json.RawMessage(`{"a":`)}, nil
	})
	r := start(t, formats()[0], func(r *rig, o *session.Options) { o.Tools = []*tool.Tool{broken} }, calls(`c1 broken {"path":"x"}`), say("done"), say("more"))
	r.prompt("go", agent.ReasonDone)
	for _, e := range r.seen(agent.ToolEnd) {
		if _, err := json.Marshal(e); err != nil {
			t.Error(err)
		}
	}
	r.resume()
	r.prompt("more", agent.ReasonDone)
	r.prefixed()
}

// A model that ends with open tasks is reminded, once if nothing else is set.
func TestReminder(t *testing.T) {
	open, asked := 2, 0
	r := start(t, formats()[0], func(_ *rig, o *session.Options) {
		o.Reminders = 3
		o.Tasks = handletest.Tasks{OnReminder: func() string {
			if asked++; open == 0 {
				return ""
			}
			open--
			return "Open: one task."
		}}
	}, say("done"), say("oh"), say("now it is"))
	r.prompt("do it", agent.ReasonDone)
	if got := said(r.Messages()); len(got) != 6 || got[2] != "custom: Open: one task." || got[5] != "assistant: now it is" {
		t.Errorf("the conversation: %q", got)
	}
	r2 := start(t, formats()[0], func(_ *rig, o *session.Options) {
		o.Tasks = handletest.Tasks{OnReminder: func() string { return "Open." }}
	}, say("1"), say("2"), say("3"), say("4"))
	if out := r2.prompt("do it", agent.ReasonDone); out.Turns != 2 {
		t.Errorf("%d requests", out.Turns)
	}
	r2.clean()
	r3 := start(t, formats()[0], func(_ *rig, o *session.Options) {
		o.Reminders = -1
		o.Tasks = handletest.Tasks{OnReminder: func() string { return "Open." }}
	}, say("1"), say("2"))
	if out := r3.prompt("do it", agent.ReasonDone); out.Turns != 1 {
		t.Errorf("%d requests without reminders", out.Turns)
	}
}

package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/llmtest"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/session/handletest"
	"github.com/burin-dev/burin/session/secret"
	"github.com/burin-dev/burin/tool"
)

func onward(text string) *session.Onward {
	return &session.Onward{Message: llm.Message{Content: []llm.Block{llm.Text{Text: text}}}}
}

// Links are asked in order, from the first one again after each message, as often as they
// may. One that fails is passed over.
func TestContinuations(t *testing.T) {
	var asked []string
	link := func(name string, limit int, ask func(session.Ending) (*session.Onward, error)) session.Continuation {
		return session.Continuation{Name: name, Max: limit, Ask: func(_ context.Context, e session.Ending) (*session.Onward, error) {
			asked = append(asked, fmt.Sprintf("%s %d:%d", name, e.Times, len(e.Since)))
			return ask(e)
		}}
	}
	r := start(t, formats()[0], func(_ *rig, o *session.Options) {
		open := true
		o.Reminders = 3
		o.Tasks = handletest.Tasks{OnReminder: func() string {
			asked = append(asked, "tasks")
			if was := open; was {
				open = false
				return "Open: one."
			}
			return ""
		}}
		o.Chains.Continue = []session.Continuation{
			link("breaks", 0, func(session.Ending) (*session.Onward, error) { panic("oh no") }),
			link("fails", 0, func(session.Ending) (*session.Onward, error) { return nil, errors.New("no disk") }),
			link("stop", 2, func(e session.Ending) (*session.Onward, error) { return onward(fmt.Sprint("Not yet ", e.Times)), nil }),
			link("last", 1, func(session.Ending) (*session.Onward, error) { return onward("One more thing."), nil }),
		}
	}, say("1"), say("2"), say("3"), say("4"), say("5"))
	out := r.prompt("go", agent.ReasonDone)
	want := []string{
		"user: go", "assistant: 1", "custom: Open: one.", "assistant: 2", "custom: Not yet 0", "assistant: 3", "custom: Not yet 1", "assistant: 4",
		"custom: One more thing.", "assistant: 5",
	}
	if diff := cmp.Diff(want, said(r.Messages())); diff != "" || out.Turns != 5 {
		t.Errorf("%d turns:\n%s", out.Turns, diff)
	}
	if m := r.Messages()[4]; m.CustomType != "stop" {
		t.Errorf("the message is of kind %q", m.CustomType)
	}
	wantAsked := []string{
		"tasks",
		"tasks", "breaks 0:2", "fails 0:2", "stop 0:2",
		"tasks", "breaks 0:3", "fails 0:3", "stop 1:1",
		"tasks", "breaks 0:4", "fails 0:4", "last 0:4",
		"tasks", "breaks 0:5", "fails 0:5",
	}
	if diff := cmp.Diff(wantAsked, asked); diff != "" {
		t.Errorf("asked:\n%s", diff)
	}
	if w := r.warned(); len(w) != 8 || w[0] != `the continuation "breaks" failed: panic: oh no` || w[1] != `the continuation "fails" failed: no disk` {
		t.Errorf("told: %q", w)
	}
	asked = nil
	r.srv.Close()
	r.Prompt(t.Context(), llm.UserText("again")) // fails: nobody is asked
	if len(asked) != 0 {
		t.Errorf("asked about a failure: %q", asked)
	}
}

// Who stops a prompt stops a link that is being asked; the prompt is one that was stopped.
func TestContinuationIsStopped(t *testing.T) {
	asked := make(chan struct{})
	r := start(t, formats()[0], func(_ *rig, o *session.Options) {
		o.Chains.Continue = []session.Continuation{{Name: "slow", Ask: func(ctx context.Context, _ session.Ending) (*session.Onward, error) {
			close(asked)
			<-ctx.Done()
			return nil, ctx.Err()
		}}}
	}, say("done"))
	go func() {
		<-asked
		r.Abort()
	}()
	r.prompt("go", agent.ReasonAborted)
	if w := r.warned(); len(w) != 0 {
		t.Errorf("told: %q", w)
	}
}

// A link may have the next answer call a tool.
func TestContinuationForcesTool(t *testing.T) {
	r := start(t, formats()[0], func(_ *rig, o *session.Options) {
		o.Tools = []*tool.Tool{echo("read", tool.Reads)}
		o.Chains.Continue = []session.Continuation{{Name: "check", Max: 1, Ask: func(context.Context, session.Ending) (*session.Onward, error) {
			on := onward("Look first.")
			on.Tool = "read"
			return on, nil
		}}}
	}, say("1"), calls(`c1 read {"path":"x"}`), say("2"))
	r.prompt("go", agent.ReasonDone)
	var forced []string
	for _, q := range r.srv.Requests() {
		forced = append(forced, q.ToolChoice.Name)
	}
	if !slices.Equal(forced, []string{"", "read", ""}) {
		t.Errorf("forced %q", forced)
	}
}

// recorder notes what a tool ran with.
type recorder struct {
	mu  sync.Mutex
	ran []string
}

func (x *recorder) tool(name string, effects tool.Effects) *tool.Tool {
	return simple(name, effects, func(_ context.Context, c tool.Call, _ string) (*tool.Result, error) {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.ran = append(x.ran, string(c.Arguments))
		return tool.Text("ran " + name), nil
	})
}

// Interceptors rewrite, block and answer calls, in order, before permission; what that has
// judged is what runs. Events have what runs, the transcript what the model wrote.
func TestCallInterceptors(t *testing.T) {
	eachFormat(t, func(t *testing.T, f format) {
		vault, err := secret.New(secret.Options{Env: []string{"SERVICE_TOKEN=" + canary}})
		if err != nil {
			t.Fatal(err)
		}
		var tools recorder
		var judged, seen []string
		before := func(name string, f func(c *tool.Call) (*tool.Result, error)) session.CallInterceptor {
			return session.CallInterceptor{
				Name: name,
				Before: func(_ context.Context, _ *tool.Tool, c *tool.Call) (*tool.Result, error) {
					seen = append(seen, name+" "+string(c.Arguments))
					return f(c)
				},
				After: func(_ context.Context, _ *tool.Tool, c tool.Call, r *tool.Result) (*tool.Result, error) {
					seen = append(seen, "after "+name+" "+string(c.Arguments))
					return tool.Text(textOf(r) + " " + name), nil
				},
			}
		}
		r := start(t, f, func(_ *rig, o *session.Options) {
			o.Secrets = vault
			o.Tools = []*tool.Tool{tools.tool("run", tool.Executes)}
			handletest.On(o).OnAuthorize = func(_ context.Context, _ *tool.Tool, c tool.Call) error {
				judged = append(judged, string(c.Arguments))
				return nil
			}
			o.Chains.Calls = []session.CallInterceptor{
				before("one", func(c *tool.Call) (*tool.Result, error) {
					switch {
					case strings.Contains(string(c.Arguments), "block"):
						return nil, errors.New("not on a Friday, " + canary)
					case strings.Contains(string(c.Arguments), "answer"):
						return tool.Text("from the cache, " + canary), nil
					case strings.Contains(string(c.Arguments), "panic"):
						panic("oh no")
					case strings.Contains(string(c.Arguments), "wrong"):
						c.Arguments = json.RawMessage(`{"path":7,"more":[]}`)
					default:
						c.Arguments = json.RawMessage(strings.Replace(string(c.Arguments), "curl", "curl -s", 1))
					}
					return nil, nil
				}),
				before("two", func(c *tool.Call) (*tool.Result, error) {
					c.Arguments = json.RawMessage(strings.Replace(string(c.Arguments), "-s", "-s -S", 1))
					return nil, nil
				}),
			}
		}, llmtest.Turn{Reply: func(q *llm.Request) []llm.Event {
			p := placeholder.FindString(strings.Join(said(q.Messages), "\n"))
			return llmtest.Call("c1", "run", `{"path":"curl `+p+`"}`)
		}}, calls(`c2 run {"path":"block"}`), calls(`c3 run {"path":"answer"}`), calls(`c4 run {"path":"panic"}`), calls(`c5 run {"path":"wrong"}`), say("done"))
		r.prompt("use "+canary, agent.ReasonDone)
		want := `{"path":"curl -s -S ` + canary + `"}`
		if !slices.Equal(judged, []string{want}) || !slices.Equal(tools.ran, judged) {
			t.Errorf("judged %q, ran %q", judged, tools.ran)
		}
		hide := func(text string) string { return placeholder.ReplaceAllString(text, "*") }
		var results []string
		for _, m := range r.Messages() {
			if m.Role == llm.RoleToolResult {
				results = append(results, hide(m.Text()))
			}
			for _, c := range m.ToolCalls() {
				if strings.Contains(c.Arguments, "-s") {
					t.Errorf("the transcript has %s", c.Arguments)
				}
			}
		}
		wantResults := []string{"ran run one two", "Error: not on a Friday, *", "from the cache, *", `Error: the interceptor "one" failed: panic: oh no`}
		if diff := cmp.Diff(wantResults, results[:4]); diff != "" || !strings.HasPrefix(results[4], "Error: run did not run") {
			t.Errorf("results %q:\n%s", results[4], diff)
		}
		wantSeen := []string{`one {"path":"curl *"}`, `two {"path":"curl -s *"}`, `after one {"path":"curl -s -S *"}`, `after two {"path":"curl -s -S *"}`}
		for i := range seen {
			seen[i] = hide(seen[i])
		}
		if diff := cmp.Diff(wantSeen, seen[:4]); diff != "" {
			t.Errorf("seen:\n%s", diff)
		}
		for _, e := range r.seen(agent.ToolEnd)[:1] {
			if got := hide(string(e.Call.Arguments)); got != `{"path":"curl -s -S *"}` {
				t.Errorf("the event has %s", got)
			}
		}
		if w := r.warned(); !slices.Equal(w, []string{`the interceptor "one" failed: panic: oh no`}) {
			t.Errorf("told: %q", w)
		}
		for _, e := range r.seen(agent.ToolStart, agent.ToolEnd, agent.MessageEnd) {
			if raw, _ := json.Marshal(e); strings.Contains(string(raw), canary) {
				t.Errorf("an event has the secret: %s", raw)
			}
		}
		r.clean()
	})
}

func textOf(r *tool.Result) (text string) {
	m := llm.Message{Content: r.Content}
	return m.Text()
}

// An interceptor ends the prompt by ErrAbort. An After that fails leaves the result.
func TestCallInterceptorEnds(t *testing.T) {
	r := start(t, formats()[0], func(_ *rig, o *session.Options) {
		o.Tools = []*tool.Tool{echo("read", tool.Reads)}
		o.Chains.Calls = []session.CallInterceptor{{
			Name: "guard",
			Before: func(_ context.Context, _ *tool.Tool, c *tool.Call) (*tool.Result, error) {
				if strings.Contains(string(c.Arguments), "end") {
					return nil, fmt.Errorf("enough: %w", tool.ErrAbort)
				}
				return nil, nil
			},
			After: func(context.Context, *tool.Tool, tool.Call, *tool.Result) (*tool.Result, error) { panic("oh no") },
		}}
	}, calls(`c1 read {"path":"a"}`), calls(`c2 read {"path":"end"}`))
	out := r.prompt("go", agent.ReasonAborted)
	if !errors.Is(out.Err, tool.ErrAbort) {
		t.Errorf("ended with %v", out.Err)
	}
	if got := said(r.Messages()); got[2] != "toolResult: read a" {
		t.Errorf("the conversation: %q", got)
	}
	if w := r.warned(); !slices.Equal(w, []string{`the interceptor "guard" failed: panic: oh no`}) {
		t.Errorf("told: %q", w)
	}
}

// Request interceptors change every request, before it is measured. The cache report names
// them where they change what the request before began with.
func TestRequestInterceptors(t *testing.T) {
	eachFormat(t, func(t *testing.T, f format) {
		vault, err := secret.New(secret.Options{Env: []string{"SERVICE_TOKEN=" + canary}})
		if err != nil {
			t.Fatal(err)
		}
		m := &till{}
		n, change := 0, false
		var purposes []string
		r := start(t, f, func(_ *rig, o *session.Options) {
			o.Secrets, o.Meter = vault, m
			o.Chains.Requests = []session.RequestInterceptor{
				{"steady", func(_ context.Context, purpose string, q *llm.Request) error {
					purposes = append(purposes, purpose)
					q.System += " " + strings.Repeat("Mind the gap. ", 2000) + canary
					return nil
				}},
				{"clock", func(_ context.Context, _ string, q *llm.Request) error {
					if n++; change {
						q.System += fmt.Sprint(" It is ", n)
					}
					return nil
				}},
				{"greedy", func(_ context.Context, _ string, q *llm.Request) error {
					q.Model = &llm.Model{ID: "another"}
					return nil
				}},
			}
		}, used("1", llm.Usage{Input: 5000, Output: 10, CacheWrite: 4000}), used("2", llm.Usage{Input: 10, Output: 10, CacheRead: 9000}), say("aside"),
			used("3", llm.Usage{Input: 9000, Output: 10}), say("4"))
		r.prompt("go", agent.ReasonDone)
		if got := m.all[0].planned.PromptTokens; got < 4000 {
			t.Errorf("measured as %d tokens", got)
		}
		r.prompt("on", agent.ReasonDone)
		if _, err := r.Aside(t.Context(), "why?", nil); err != nil {
			t.Fatal(err)
		}
		r.prefixed()
		change = true
		r.prompt("and on", agent.ReasonDone)
		infos := r.seen(session.CacheReport)
		if missed := infos[len(infos)-1].Data.(*session.CacheInfo).Missed; missed != "system prompt, changed by steady and clock" {
			t.Errorf("the cache was missed because of %q", missed)
		}
		if !slices.Equal(purposes, []string{session.ForTurn, session.ForTurn, session.ForAside, session.ForTurn}) {
			t.Errorf("purposes %q", purposes)
		}
		for _, q := range r.srv.Requests() {
			if q.Model.ID != f.model.ID || !strings.Contains(q.System, "Mind the gap") || strings.Contains(q.System, canary) {
				t.Errorf("sent to %s: %.60q", q.Model.ID, q.System)
			}
		}
	})
}

// A request that an interceptor refuses, or fails on, is not sent and costs nothing.
func TestRequestInterceptorRefuses(t *testing.T) {
	for name, change := range map[string]func() error{
		"refuses": func() error { return errors.New("no names of customers") },
		"breaks":  func() error { panic("no names of customers") },
	} {
		t.Run(name, func(t *testing.T) {
			m, on := &till{}, true
			r := start(t, formats()[0], func(_ *rig, o *session.Options) {
				o.Meter = m
				o.Chains.Requests = []session.RequestInterceptor{{"privacy", func(context.Context, string, *llm.Request) error {
					if on {
						return change()
					}
					return nil
				}}}
			}, say("fine"))
			out := r.prompt("go", agent.ReasonRefused)
			if text := out.Err.Error(); !strings.HasPrefix(text, `the interceptor "privacy" failed: `) || !strings.HasSuffix(text, "no names of customers") || strings.Contains(text, "\n") {
				t.Errorf("ended with %q", text)
			}
			m.check(t)
			on = false
			r.prompt("again", agent.ReasonDone)
			m.check(t, session.ForTurn)
		})
	}
}

// stopAt stops answers at the first piece of text that has a word.
func stopAt(word, note string) func(context.Context, *llm.Request) func(llm.Event) *session.Stop {
	return func(context.Context, *llm.Request) func(llm.Event) *session.Stop {
		text := ""
		return func(e llm.Event) *session.Stop {
			if text += e.Delta; strings.Contains(text, word) {
				return &session.Stop{Why: "it says " + word, Note: note}
			}
			return nil
		}
	}
}

// A watcher stops an answer: none of its calls runs, it is paid for, and the model answers
// again with the note.
func TestWatcherStopsAnswer(t *testing.T) {
	eachFormat(t, func(t *testing.T, f format) {
		var tools recorder
		m := &till{}
		r := start(t, f, func(_ *rig, o *session.Options) {
			o.Meter, o.Tools = m, []*tool.Tool{tools.tool("run", tool.Executes)}
			o.Chains.Answers = []session.AnswerWatcher{{Name: "no-sudo", Watch: stopAt("sudo", "Do not use sudo.")}}
		}, llmtest.Turn{
			Parts: []llmtest.Part{{Call: "run", ID: "c1", Args: `{"path":"ls"}`}, {Text: strings.Repeat("I use sudo. ", 20)}},
			Fault: llmtest.Fault{StallAfterEvents: 20},
		},
			calls(`c3 run {"path":"ls"}`), say("done"))
		out := r.prompt("go", agent.ReasonDone)
		if !slices.Equal(tools.ran, []string{`{"path":"ls"}`}) || out.Turns != 3 {
			t.Errorf("%d turns, ran %q", out.Turns, tools.ran)
		}
		want := []string{"user: go", "custom: Do not use sudo.", `assistant:  [c3 run {"path":"ls"}]`, "toolResult: ran run", "assistant: done"}
		if diff := cmp.Diff(want, said(r.Messages())); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]string{"start 1/2", "end 1 true"}, r.retries()); diff != "" {
			t.Error(diff)
		}
		m.check(t, session.ForTurn, session.ForRetry, session.ForTurn)
		cost, _, known := r.Spent()
		if m.all[0].settled != 1 || known || cost != 0 {
			t.Errorf("the stopped answer: settled %d times, known %v", m.all[0].settled, known)
		}
		failed := 0
		for e, err := range r.Log().All() {
			if err != nil {
				t.Fatal(err)
			}
			if e.Message != nil && e.Message.Error != nil {
				failed++
				if e.Message.Error.Error() != f.model.Provider+": stopped by no-sudo: it says sudo" || llm.KindOf(e.Message.Error) != llm.ErrAborted {
					t.Errorf("kept as %v", e.Message.Error)
				}
			}
		}
		if failed != 1 {
			t.Errorf("%d failed answers are kept", failed)
		}
		for _, q := range r.srv.Requests() {
			lawful(t, q)
		}
		r.clean()
		r.resume()
		r.consistent()
	})
}

// A watcher may stop so many answers for one prompt, and a session has a limit of cost
// that counts them. One that breaks is passed over.
func TestWatcherIsBounded(t *testing.T) {
	watched := 0
	r := start(t, formats()[0], func(_ *rig, o *session.Options) {
		o.Chains.Answers = []session.AnswerWatcher{
			{Name: "breaks", Watch: func(context.Context, *llm.Request) func(llm.Event) *session.Stop {
				return func(llm.Event) *session.Stop { panic("oh no") }
			}},
			{Name: "strict", Max: 3, Watch: func(ctx context.Context, q *llm.Request) func(llm.Event) *session.Stop {
				watched++
				return func(e llm.Event) *session.Stop {
					if e.Type == llm.EventDone { // also an answer that is whole is stopped
						return &session.Stop{}
					}
					return nil
				}
			}},
		}
	}, slices.Repeat([]llmtest.Turn{used("no", llm.Usage{Input: 1000, Output: 10})}, 8)...)
	r.prompt("go", agent.ReasonDone)
	if n := len(r.srv.Requests()); n != 4 || watched != 3 {
		t.Errorf("%d requests, %d watched", n, watched)
	}
	if diff := cmp.Diff([]string{"user: go", "assistant: no"}, said(r.Messages())); diff != "" {
		t.Error(diff)
	}
	cost, usage, known := r.Spent()
	if want := 4 * r.model.Price.Cost(llm.Usage{Input: 1000, Output: 10}).Total; usage.Input != 4000 || !known || cost != want {
		t.Errorf("spent %s (want %s), %+v, known %v", cost, want, usage, known)
	}
	for _, w := range r.warned() {
		if w != `the watcher "breaks" failed: panic: oh no` {
			t.Errorf("told %q", w)
		}
	}
	r.prompt("next", agent.ReasonDone) // begins anew
	if n := len(r.srv.Requests()); n != 8 {
		t.Errorf("%d requests", n)
	}
}

// Who stops a prompt while a watcher has stopped an answer has stopped the prompt.
func TestWatcherAndAbort(t *testing.T) {
	var r *rig
	r = start(t, formats()[0], func(_ *rig, o *session.Options) {
		o.Chains.Answers = []session.AnswerWatcher{{Name: "w", Watch: func(context.Context, *llm.Request) func(llm.Event) *session.Stop {
			return func(e llm.Event) *session.Stop {
				if e.Type == llm.EventTextDelta {
					r.Abort()
					return &session.Stop{Note: "again"}
				}
				return nil
			}
		}}}
	}, say("a b c"), say("never"))
	r.prompt("go", agent.ReasonAborted)
	if n := len(r.srv.Requests()); n != 1 {
		t.Errorf("%d requests", n)
	}
}

// A stop may leave what was said in the conversation, and names its rules in the transcript
// and in an event.
func TestWatcherKeepsAnswer(t *testing.T) {
	eachFormat(t, func(t *testing.T, f format) {
		rules := []session.Rule{{Name: "no-sudo", Path: "/r/no-sudo.md"}}
		r := start(t, f, func(_ *rig, o *session.Options) {
			o.Chains.Answers = []session.AnswerWatcher{{Name: "rule", Watch: func(ctx context.Context, q *llm.Request) func(llm.Event) *session.Stop {
				stop := stopAt("sudo", "Do not use sudo.")(ctx, q)
				return func(e llm.Event) *session.Stop {
					s := stop(e)
					if s != nil {
						s.Keep, s.Rules = true, rules
					}
					return s
				}
			}}}
		}, say("I use sudo now."), say("done"))
		r.prompt("go", agent.ReasonDone)
		got := said(r.Messages())
		if len(got) != 4 || !strings.HasPrefix(got[1], "assistant: I use sudo") || got[2] != "custom: Do not use sudo." || got[3] != "assistant: done" {
			t.Errorf("%q", got)
		}
		past, err := r.Log().Context(r.Log().Leaf())
		if err != nil || !slices.Equal(past.Rules, []string{"no-sudo"}) {
			t.Errorf("the transcript knows %q, %v", past.Rules, err)
		}
		for _, q := range r.srv.Requests() {
			lawful(t, q)
		}
		r.clean()
		r.resume()
		r.consistent()
	})
}

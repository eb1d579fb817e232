package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/llmtest"
	"github.com/burin-dev/burin/tool"
)

// Whatever a tool does, its call has a result and the run goes on.
func TestResults(t *testing.T) {
	image := llm.Image{MIME: "image/png", Data: []byte("png")}
	huge := strings.Repeat("a line of text\n", 40_000)
	give := func(r *tool.Result, err error) *tool.Tool {
		return simple("x", tool.Reads, func(context.Context, string) (*tool.Result, error) { return r, err })
	}
	for name, tt := range map[string]struct {
		tool *tool.Tool
		call string
		want string // "!" for an error; "…" cuts the rest
		more func(*testing.T, llm.Message)
	}{
		"nothing":             {give(nil, nil), "", "", nil},
		"text":                {give(tool.Text("fine"), nil), "", "fine", nil},
		"details":             {give(tool.Text("fine").WithDetails(1), nil), "", "fine", func(t *testing.T, m llm.Message) { wantDetails(t, m, "1") }},
		"bad news":            {give(tool.Failure("exit 1"), nil), "", "!exit 1", nil},
		"an error":            {give(nil, errors.New("no such file")), "", "!Error: no such file", nil},
		"output and error":    {give(tool.Text("some\n").WithDetails(2), errors.New("then it broke")), "", "!some\nError: then it broke", func(t *testing.T, m llm.Message) { wantDetails(t, m, "2") }},
		"a cancel of its own": {give(nil, context.Canceled), "", "!Error: context canceled", nil},
		"an image": {give(&tool.Result{Content: []llm.Block{image}}, nil), "", "", func(t *testing.T, m llm.Message) {
			if diff := cmp.Diff([]llm.Block{image}, m.Content); diff != "" {
				t.Error(diff)
			}
		}},
		"a panic": {simple("x", tool.Reads, func(context.Context, string) (*tool.Result, error) { panic("oops") }), "", "!Error: the tool failed through a mistake of its own: oops", func(t *testing.T, m llm.Message) {
			if !strings.Contains(string(m.Details), "tools_test.go") {
				t.Errorf("the details do not say where: %s", m.Details)
			}
		}},
		"far too much": {give(tool.Text(huge), nil), "", "a line of text\n…", func(t *testing.T, m llm.Message) {
			if n := len(m.Text()); n < 200<<10 || n > 256<<10 || !strings.HasSuffix(m.Text(), "left out]") {
				t.Errorf("%d bytes, at the end %q", n, m.Text()[n-60:])
			}
		}},
		"an unknown tool":  {echo("grep", tool.Reads), `gerp {"path":"a"}`, `!Error: no tool "gerp". Did you mean "grep"? The tools are grep`, nil},
		"another spelling": {echo("grep", tool.Reads), `Grep {"path":"a"}`, "grep a", nil},
		"wrong arguments":  {echo("grep", tool.Reads), `grep {"path":7}`, "!Error: grep did not run: path: expected a string, got 7\n…", nil},
		"no JSON":          {echo("grep", tool.Reads), `grep {"path":"a"]`, "!Error: grep did not run: the arguments are not valid JSON…", nil},
		"repaired":         {echo("count", 0), `count {"path":"a\qb"}`, `count a\qb`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if tt.call == "" {
				tt.call = `x {"path":"p"}`
			}
			o, srv := local(t, calls(tt.call), say("done"))
			o.Tools = []*tool.Tool{tt.tool}
			events := record(t, &o)
			a := agent.New(o)
			wantReason(t, a.Run(t.Context(), llm.UserText("go")), agent.ReasonDone)
			events.check(a)
			clean(t, srv)
			got := results(a.Messages())[0]
			if head, cut := strings.CutSuffix(tt.want, "…"); cut && !strings.HasPrefix(got, head) || !cut && got != tt.want {
				t.Errorf("the result is %.200q, want %q", got, tt.want)
			}
			if tt.more != nil {
				tt.more(t, a.Messages()[2])
			}
		})
	}
}

func wantDetails(t *testing.T, m llm.Message, want string) {
	t.Helper()
	if string(m.Details) != want {
		t.Errorf("details %s, want %s", m.Details, want)
	}
}

// Reads run side by side, eight at a time; what writes or executes runs alone, in
// order; results are in the model's order.
func TestParallel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var now, most int
		var log []string
		work := func(name string) func(context.Context, string) (*tool.Result, error) {
			return func(_ context.Context, path string) (*tool.Result, error) {
				mu.Lock()
				now++
				most = max(most, now)
				if name == "write" && now > 1 {
					log = append(log, "not alone")
				}
				log = append(log, path)
				mu.Unlock()
				wait := time.Second
				if path == "r1" {
					wait = time.Minute // the first to start is the last to end
				}
				<-time.After(wait)
				mu.Lock()
				now--
				mu.Unlock()
				return tool.Text(path), nil
			}
		}
		var list []string
		for i := 1; i <= 10; i++ {
			list = append(list, fmt.Sprintf(`read {"path":"r%d"}`, i))
		}
		list = append(list, `write {"path":"w1"}`, `write {"path":"w2"}`, `read {"path":"r11"}`, `nothing {}`, `read {"path":"r12"}`)
		o, _ := local(t, calls(list...), say("done"))
		o.Tools = []*tool.Tool{simple("read", tool.Reads, work("read")), simple("write", tool.Writes, work("write"))}
		events := record(t, &o)
		a := agent.New(o)
		began := time.Now()
		wantReason(t, a.Run(t.Context(), llm.UserText("go")), agent.ReasonDone)
		events.check(a)
		if took := time.Since(began); took != time.Minute+3*time.Second {
			t.Errorf("took %s", took)
		}
		if got := strings.Join(results(a.Messages()), " "); !strings.HasPrefix(got, "r1 r2 r3 r4 r5 r6 r7 r8 r9 r10 w1 w2 r11 !Error: no tool") || !strings.HasSuffix(got, " r12") {
			t.Errorf("results %s", got)
		}
		if most != 8 || strings.Contains(strings.Join(log, " "), "not alone") {
			t.Errorf("%d ran at once: %v", most, log)
		}
	})
}

// A tool may decide by the arguments what runs together.
func TestTogetherByArguments(t *testing.T) {
	var running, most atomic.Int32
	all := make(chan struct{}) // three run together
	job := tool.New(tool.Definition[pathArgs]{
		Name: "job", Effects: tool.Executes,
		Together: func(a pathArgs) bool {
			if a.Path == "panic" {
				panic("no")
			}
			return a.Path == "poll"
		},
		Run: func(_ context.Context, _ tool.Call, a pathArgs) (*tool.Result, error) {
			n := running.Add(1)
			defer running.Add(-1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			if a.Path != "poll" {
				<-time.After(20 * time.Millisecond)
				return nil, nil
			}
			if n == 3 {
				close(all)
			}
			select {
			case <-all:
			case <-time.After(10 * time.Second): // the others do not come
			}
			return nil, nil
		},
	})
	for _, tt := range []struct {
		path string
		want int32
	}{{"poll", 3}, {"kill", 1}, {"panic", 1}} {
		most.Store(0)
		c := `job {"path":"` + tt.path + `"}`
		o, _ := local(t, calls(c, c, c), say("done"))
		o.Tools = []*tool.Tool{job}
		wantReason(t, agent.New(o).Run(t.Context(), llm.UserText("go")), agent.ReasonDone)
		if got := most.Load(); got != tt.want {
			t.Errorf("%s: %d at once, want %d", tt.path, got, tt.want)
		}
	}
}

// Permission is asked for one call at a time, in order; what it refuses never
// runs, and the model reads why.
func TestBeforeAndAfterTool(t *testing.T) {
	var ran []string
	o, _ := local(t, calls(`write {"path":"a"}`, `write {"path":"secret"}`, `write {"path":"panic"}`, `write {"file":1}`, `write {"path":"b"}`), say("done"))
	o.Tools = []*tool.Tool{simple("write", tool.Writes, func(_ context.Context, path string) (*tool.Result, error) {
		ran = append(ran, path)
		return tool.Text(path), nil
	})}
	var asked []string
	o.BeforeTool = func(_ context.Context, x *tool.Tool, c *tool.Call) (*tool.Result, error) {
		asked = append(asked, x.Name+string(c.Arguments))
		switch {
		case strings.Contains(string(c.Arguments), "panic"):
			panic("the hook broke")
		case strings.Contains(string(c.Arguments), "secret"):
			return nil, errors.New("not there")
		}
		return nil, nil
	}
	o.AfterTool = func(_ context.Context, _ *tool.Tool, c tool.Call, r *tool.Result) *tool.Result {
		if c.ID == "a" {
			return tool.Text("changed").WithDetails("d")
		}
		return nil
	}
	events := record(t, &o)
	a := agent.New(o)
	wantReason(t, a.Run(t.Context(), llm.UserText("go")), agent.ReasonDone)
	events.check(a)
	got := results(a.Messages())
	if got[0] != "changed" || got[1] != "!Error: not there" || !strings.Contains(got[2], "the hook broke") || !strings.HasPrefix(got[3], "!Error: write did not run") || got[4] != "b" {
		t.Errorf("results %q", got)
	}
	if strings.Join(ran, " ") != "a b" || len(asked) != 4 {
		t.Errorf("asked for %q, ran %q", asked, ran)
	}
}

// While a person is asked about a call, those that run beside it go on and end. A
// hook that does not listen is not waited for for ever.
func TestPermissionTakesTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, _ := local(t, calls(`read {"path":"a"}`, `fetch {"path":"b"}`, `read {"path":"c"}`), calls(`fetch {"path":"deaf"}`))
		o.Tools = []*tool.Tool{echo("read", tool.Reads), echo("fetch", tool.Reads|tool.Network)}
		ctx, cancel := context.WithCancel(t.Context())
		asked := 0
		o.BeforeTool = func(_ context.Context, x *tool.Tool, _ *tool.Call) (*tool.Result, error) {
			if x.Name == "fetch" {
				if asked++; asked == 2 {
					cancel()
				}
				<-time.After(time.Minute)
			}
			return nil, nil
		}
		events := record(t, &o)
		a := agent.New(o)
		began := time.Now()
		ended := map[string]time.Duration{}
		events.on = func(e agent.Event) error {
			if e.Type == agent.ToolEnd && len(ended) < 3 {
				ended[e.Call.ID] = time.Since(began)
			}
			return nil
		}
		wantReason(t, a.Run(ctx, llm.UserText("go")), agent.ReasonAborted)
		events.check(a)
		if took := time.Since(began); took != time.Minute+2*time.Second {
			t.Errorf("took %s", took)
		}
		if diff := cmp.Diff(map[string]time.Duration{"a": 0, "b": time.Minute, "c": time.Minute}, ended); diff != "" {
			t.Errorf("calls ended after\n%s", diff)
		}
		if got := results(a.Messages()); len(got) != 4 || got[1] != "fetch b" || !strings.HasPrefix(got[3], "!Not run") {
			t.Errorf("results %q", got)
		}
		<-time.After(time.Minute) // for the deaf
	})
}

// A call runs with the arguments that BeforeTool gave it, alone if these ask for it; events
// and the conversation keep the model's. A result takes the place of a run.
func TestRewrittenCall(t *testing.T) {
	o, _ := local(t, calls(`run {"path":"a"}`, `run {"path":"b"}`, `run {"path":"c"}`, `run {"path":"d"}`), say("done"))
	var mu sync.Mutex
	var ran []string
	running, beside := 0, map[string]int{}
	together := make(chan struct{}) // closed when the first two run
	run := simple("run", tool.Reads, func(_ context.Context, path string) (*tool.Result, error) {
		mu.Lock()
		running++
		ran, beside[path] = append(ran, path), running
		if running == 2 {
			close(together)
		}
		mu.Unlock()
		if path != "alone" {
			<-together
		}
		mu.Lock()
		defer mu.Unlock()
		running--
		return tool.Text("ran " + path), nil
	})
	run.Together = func(args json.RawMessage) bool { return !strings.Contains(string(args), "alone") }
	o.Tools = []*tool.Tool{run}
	o.BeforeTool = func(_ context.Context, _ *tool.Tool, c *tool.Call) (*tool.Result, error) {
		switch {
		case strings.Contains(string(c.Arguments), `"c"`):
			c.Arguments = json.RawMessage(`{"path":"alone"}`)
		case strings.Contains(string(c.Arguments), `"d"`):
			return tool.Text("from elsewhere"), nil
		}
		return nil, nil
	}
	events := record(t, &o)
	a := agent.New(o)
	wantReason(t, a.Run(t.Context(), llm.UserText("go")), agent.ReasonDone)
	events.check(a)
	if got := results(a.Messages()); !slices.Equal(got, []string{"ran a", "ran b", "ran alone", "from elsewhere"}) {
		t.Errorf("results %q", got)
	}
	if len(ran) != 3 || ran[2] != "alone" || beside["alone"] != 1 {
		t.Errorf("ran %q, beside others: %v", ran, beside)
	}
	for _, m := range a.Messages() {
		for _, c := range m.ToolCalls() {
			if strings.Contains(c.Arguments, "alone") {
				t.Errorf("the conversation has %s", c.Arguments)
			}
		}
	}
}

// AfterTool may take its time: what runs beside goes on, and the run can be stopped.
func TestReviewTakesTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, _ := local(t, calls(`read {"path":"a"}`, `read {"path":"b"}`))
		o.Tools = []*tool.Tool{echo("read", tool.Reads)}
		ctx, cancel := context.WithCancel(t.Context())
		o.AfterTool = func(_ context.Context, _ *tool.Tool, c tool.Call, _ *tool.Result) *tool.Result {
			if c.ID == "b" {
				time.AfterFunc(time.Second, cancel)
				<-time.After(time.Minute) // it does not listen
			}
			return tool.Text("seen")
		}
		events := record(t, &o)
		a := agent.New(o)
		began := time.Now()
		wantReason(t, a.Run(ctx, llm.UserText("go")), agent.ReasonAborted)
		events.check(a)
		if took := time.Since(began); took != 3*time.Second {
			t.Errorf("took %s", took)
		}
		if got := results(a.Messages()); len(got) != 2 || got[0] != "seen" && !strings.HasPrefix(got[0], "!Interrupted") || !strings.HasPrefix(got[1], "!Interrupted") {
			t.Errorf("results %q", got)
		}
		<-time.After(time.Minute)
	})
}

// A tool that says so ends the run: a question was cancelled. Others do not start.
func TestAbortByTool(t *testing.T) {
	for name, hook := range map[string]bool{"tool": false, "hook": true} {
		t.Run(name, func(t *testing.T) {
			cancelled := fmt.Errorf("the question was cancelled: %w", agent.ErrAbort)
			o, srv := local(t, calls(`ask {"path":"a"}`, `read {"path":"b"}`))
			o.Tools = []*tool.Tool{
				simple("ask", tool.Asks, func(context.Context, string) (*tool.Result, error) { return nil, cancelled }),
				echo("read", tool.Reads),
			}
			if hook {
				o.BeforeTool = func(context.Context, *tool.Tool, *tool.Call) (*tool.Result, error) { return nil, cancelled }
			}
			events := record(t, &o)
			a := agent.New(o)
			out := a.Run(t.Context(), llm.UserText("go"))
			wantReason(t, out, agent.ReasonAborted)
			events.check(a)
			if !errors.Is(out.Err, agent.ErrAbort) || llm.KindOf(out.Err) != llm.ErrAborted || len(srv.Requests()) != 1 {
				t.Errorf("%v after %d requests", out.Err, len(srv.Requests()))
			}
			if got := results(a.Messages()); !strings.HasPrefix(got[0], "!Error: the question was cancelled") || !strings.HasPrefix(got[1], "!Not run: the run was stopped") {
				t.Errorf("results %q", got)
			}
		})
	}
}

// A call that was cut at the token limit never runs; the others of the answer do.
func TestCutCall(t *testing.T) {
	eachFormat(t, func(t *testing.T, f format) {
		turn := calls(`write {"path":"a"}`, `write {"path":"b`)
		turn.Events = llmtest.Stop(llm.StopLength, llm.Usage{})
		o, srv := f.options(t, turn, say("ok"))
		o.Tools = []*tool.Tool{echo("write", tool.Writes)}
		a := agent.New(o)
		wantReason(t, a.Run(t.Context(), llm.UserText("go")), agent.ReasonDone)
		clean(t, srv)
		got := results(a.Messages())
		if f.name != "google" { // whose calls arrive whole or not at all, and the last one is never trusted
			if len(got) != 2 || got[0] != "write a" {
				t.Fatalf("results %q", got)
			}
			got = got[1:]
		}
		if len(got) != 1 || !strings.HasPrefix(got[0], "!Error: write did not run") || !strings.Contains(got[0], "token limit") {
			t.Errorf("the model is told %q", got)
		}
	})
}

func TestLength(t *testing.T) {
	o, _ := local(t, billed(say("and so on and"), llm.StopLength), say("steered"))
	events := record(t, &o)
	a := agent.New(o)
	a.FollowUp(llm.UserText("later"))
	wantReason(t, a.Run(t.Context(), llm.UserText("go")), agent.ReasonLength)
	if _, waiting := a.Queued(); len(waiting) != 1 {
		t.Error("the follow-up was taken though the model was not done")
	}
	a.ClearQueues()
	a.Steer(llm.UserText("shorter"))
	wantReason(t, a.Continue(t.Context()), agent.ReasonDone)
	events.check(a)
}

// A call whose arguments hold a vendor's control text never runs.
func TestCorruptCall(t *testing.T) {
	f := formats()[1]
	o, _ := f.options(t, calls(`write {"path":"a"}<|call|>commentary`), say("ok"))
	ran := false
	o.Tools = []*tool.Tool{simple("write", tool.Writes, func(context.Context, string) (*tool.Result, error) { ran = true; return nil, nil })}
	a := agent.New(o)
	wantReason(t, a.Run(t.Context(), llm.UserText("go")), agent.ReasonDone)
	if got := results(a.Messages()); ran || len(got) != 1 || !strings.HasPrefix(got[0], "!Error: write did not run") {
		t.Errorf("ran %v, results %q", ran, got)
	}
}

// After a call has ended nothing more is heard of it.
func TestUpdateAfterEnd(t *testing.T) {
	var late func(tool.Result)
	o, _ := local(t, calls(`x {"path":"a"}`), say("done"))
	o.Tools = []*tool.Tool{tool.New(tool.Definition[pathArgs]{Name: "x", Run: func(_ context.Context, c tool.Call, _ pathArgs) (*tool.Result, error) {
		late = c.Update
		c.Update(*tool.Text("now"))
		return nil, nil
	}})}
	events := record(t, &o)
	a := agent.New(o)
	a.Run(t.Context(), llm.UserText("go"))
	n := len(events.list())
	late(*tool.Text("late"))
	events.check(a)
	if got := events.list(); len(got) != n {
		t.Errorf("after the end: %q", got[n:])
	}
}

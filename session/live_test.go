package session_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/llmtest"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/session/handletest"
	"github.com/burin-dev/burin/tool"
	"github.com/burin-dev/burin/transcript"
)

// modes lets a session change its mode.
func modes(o *session.Options) {
	o.Mode = "ask"
	handletest.On(o).OnSetMode = func(mode string) (string, error) {
		if mode == "bad" {
			return "", errors.New("no such mode")
		}
		return "MODE IS " + mode, nil
	}
}

// notices counts the notices of modes in a request.
func notices(r *llm.Request) (all []string) {
	for _, m := range r.Messages {
		for line := range strings.Lines(m.Text()) {
			if strings.HasPrefix(line, "MODE IS ") {
				all = append(all, strings.TrimSpace(line))
			}
		}
	}
	return all
}

// The model hears of a mode once, with the next request, whoever changed it when; and
// what requests begin with stays as it is.
func TestMode(t *testing.T) {
	eachFormat(t, func(t *testing.T, f format) {
		var r *rig
		r = start(t, f, func(_ *rig, o *session.Options) {
			modes(o)
			o.Preface = []llm.Message{{Role: llm.RoleCustom, CustomType: "context", Content: []llm.Block{llm.Text{Text: "PREFACE"}}}}
			o.Tools = []*tool.Tool{simple("switch", tool.Executes, func(context.Context, tool.Call, string) (*tool.Result, error) {
				return tool.Text("ok"), r.SetMode("full")
			})}
		}, say("one"), calls(`c1 switch {"path":"x"}`), say("two"), say("three"), say("four"))
		for _, mode := range []string{"auto-edit", "full", "plan"} { // before anyone spoke
			if err := r.SetMode(mode); err != nil {
				t.Fatal(err)
			}
		}
		if err := r.SetMode("bad"); err == nil || r.Mode() != "plan" {
			t.Errorf("a mode that does not exist: %v, now %s", err, r.Mode())
		}
		r.prompt("hello", agent.ReasonDone)
		r.prompt("work", agent.ReasonDone)
		for _, mode := range []string{"ask", "full"} { // there and back is no news
			if err := r.SetMode(mode); err != nil {
				t.Fatal(err)
			}
		}
		r.prompt("more", agent.ReasonDone)
		r.o.Mode = "full" // and that is what the new system prompt says, and the conversation
		r.resume()
		r.prompt("again", agent.ReasonDone)
		var got [][]string
		for _, q := range r.srv.Requests() {
			got = append(got, notices(q))
		}
		plan, full := []string{"MODE IS plan"}, []string{"MODE IS plan", "MODE IS full"}
		if diff := cmp.Diff([][]string{plan, plan, full, full, full}, got); diff != "" {
			t.Errorf("what the model is told of modes:\n%s", diff)
		}
		if first := strings.Join(said(r.srv.Requests()[0].Messages), "\n"); !strings.Contains(first, "PREFACE") {
			t.Errorf("the preface is gone: %s", first)
		}
		var told []string
		for _, e := range r.seen(session.ModeChanged) {
			told = append(told, e.Text)
		}
		if diff := cmp.Diff([]string{"auto-edit", "full", "plan", "full", "ask", "full"}, told); diff != "" {
			t.Errorf("events:\n%s", diff)
		}
		if c, err := r.Log().Context(r.Log().Leaf()); err != nil || c.Mode != "full" {
			t.Errorf("the branch has mode %q, %v", c.Mode, err)
		}
		r.prefixed()
		r.clean()
	})
}

func TestSetTools(t *testing.T) {
	r := start(t, formats()[0], func(_ *rig, o *session.Options) {
		o.Tools = []*tool.Tool{echo("read", tool.Reads), echo("write", tool.Writes)}
		o.MoreTools = []*tool.Tool{echo("dig", tool.Executes)}
	}, say("one"), say("two"), say("three"))
	state := func() (on []string) {
		list, _ := r.Tools().List(t.Context())
		for _, s := range list {
			if s.Enabled {
				on = append(on, s.Name)
			}
			if s.Tokens <= 0 || s.Description == "" || s.Label == "" {
				t.Errorf("%+v", s)
			}
		}
		return on
	}
	if list, _ := r.Tools().List(t.Context()); len(list) != 3 || !slices.Equal(state(), []string{"read", "write"}) {
		t.Errorf("at first there are %v", state())
	}
	r.prompt("one", agent.ReasonDone)
	if err := r.Tools().Offer(t.Context(), []string{"dig", "read"}); err != nil {
		t.Fatal(err)
	}
	if err := r.Tools().Offer(t.Context(), []string{"hammer"}); err == nil || !strings.Contains(err.Error(), "read, write, dig") {
		t.Errorf("a tool that is not there: %v", err)
	}
	r.prompt("two", agent.ReasonDone)
	if err := r.Tools().Offer(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	r.prompt("three", agent.ReasonDone)
	var got []string
	for _, q := range r.srv.Requests() {
		var names []string
		for _, d := range q.Tools {
			names = append(names, d.Name)
		}
		got = append(got, strings.Join(names, " "))
	}
	if diff := cmp.Diff([]string{"read write", "read dig", ""}, got); diff != "" {
		t.Errorf("tools of the requests:\n%s", diff)
	}
	if n := len(r.seen(session.ToolsChanged)); n != 2 {
		t.Errorf("%d events, want 2", n)
	}
}

// A failed answer is tried again on a branch of its own, also by another process, and
// calls that ran do not run again.
func TestResend(t *testing.T) {
	eachFormat(t, func(t *testing.T, f format) {
		ran := 0
		broken := refused(llm.ErrInvalidRequest, "no")
		r := start(t, f, func(_ *rig, o *session.Options) {
			o.Tools = []*tool.Tool{simple("work", tool.Executes, func(context.Context, tool.Call, string) (*tool.Result, error) {
				ran++
				return tool.Text("worked"), nil
			})}
			handletest.On(o).OnRun = func(context.Context, string, bool, func(string)) (session.CommandResult, error) {
				return session.CommandResult{Output: "LOOKED"}, nil
			}
		}, calls(`c1 work {"path":"x"}`), broken, broken, say("done"), say("more"))
		if out := r.Resend(t.Context()); !errors.Is(out.Err, session.ErrAnswered) {
			t.Errorf("with nothing said: %v", out.Err)
		}
		r.prompt("go", agent.ReasonError)
		if out := r.Resend(t.Context()); out.Reason != agent.ReasonError || errors.Is(out.Err, session.ErrAnswered) {
			t.Fatalf("the second try ended as %s, %v", out.Reason, out.Err)
		}
		r.consistent()
		if _, err := r.Run(t.Context(), "look", false, nil); err != nil {
			t.Fatal(err)
		}
		r.resume()
		if out := r.Resend(t.Context()); out.Reason != agent.ReasonDone {
			t.Fatalf("the third try ended as %s, %v", out.Reason, out.Err)
		}
		r.consistent()
		if out := r.Resend(t.Context()); !errors.Is(out.Err, session.ErrAnswered) {
			t.Errorf("after a good answer: %v", out.Err)
		}
		r.prompt("and now", agent.ReasonDone)
		story := strings.Join(said(r.Messages()), "\n")
		if ran != 1 || strings.Contains(story, "!") || strings.Count(story, "user: go") != 1 || !strings.Contains(story, "LOOKED") {
			t.Errorf("%d calls; the conversation is\n%s", ran, story)
		}
		failed := 0
		for e, err := range r.Log().All() {
			if err == nil && e.Message != nil && e.Message.Error != nil {
				failed++
			}
		}
		if failed != 2 {
			t.Errorf("the transcript keeps %d failed answers, want 2", failed)
		}
		r.clean()
	})
}

// A question beside the conversation has its prefix, and leaves nothing behind.
func TestAside(t *testing.T) {
	eachFormat(t, func(t *testing.T, f format) {
		var r *rig
		var heard strings.Builder
		var answer string
		r = start(t, f, func(_ *rig, o *session.Options) {
			o.Tools = []*tool.Tool{simple("wonder", tool.Reads, func(ctx context.Context, _ tool.Call, _ string) (*tool.Result, error) {
				var err error
				answer, err = r.Aside(ctx, "What is it?", func(s string) { heard.WriteString(s) })
				return tool.Text("ok"), err
			})}
		}, say("one"), calls(`c1 wonder {"path":"x"}`), say("a short answer"), say("done"), say("last"))
		r.prompt("first", agent.ReasonDone)
		before := r.Stats().Requests
		r.prompt("second", agent.ReasonDone)
		if answer != "a short answer" || heard.String() != answer {
			t.Errorf("the answer is %q, heard was %q", answer, heard.String())
		}
		if n := r.Stats().Requests - before; n != 3 {
			t.Errorf("%d requests are in the account, want 3", n)
		}
		asked := r.srv.Requests()[2]
		if last := asked.Messages[len(asked.Messages)-1].Text(); !strings.Contains(last, "What is it?") || asked.ToolChoice.Mode != llm.ToolNone && len(asked.Tools) > 0 {
			t.Errorf("asked was %q, tools %v", last, asked.ToolChoice)
		}
		if story := strings.Join(said(r.Messages()), "\n"); strings.Contains(story, "What is it?") || strings.Contains(story, "short answer") {
			t.Errorf("the conversation has it: %s", story)
		}
		for e, err := range r.Log().All() {
			if err != nil || strings.Contains(string(e.Raw), "short answer") {
				t.Errorf("the transcript has it: %s, %v", e.Raw, err)
			}
		}
		if _, err := r.Aside(t.Context(), "  ", nil); err == nil {
			t.Error("nothing could be asked")
		}
		r.prompt("third", agent.ReasonDone)
		r.clean()
		r.Close()
		if _, err := r.Aside(t.Context(), "Still there?", nil); !errors.Is(err, session.ErrClosed) {
			t.Errorf("after the end: %v", err)
		}
	})
}

// Texts of people are expanded wherever they come in; what cannot be is not sent.
func TestExpand(t *testing.T) {
	var r *rig
	r = start(t, formats()[0], func(_ *rig, o *session.Options) {
		o.Expand = func(_ context.Context, text string) (string, error) {
			if strings.Contains(text, "/bad") {
				return "", errors.New("unknown command bad")
			}
			return strings.ReplaceAll(text, "/fix", "Fix it."), nil
		}
		o.Tools = []*tool.Tool{simple("wait", tool.Reads, func(context.Context, tool.Call, string) (*tool.Result, error) {
			return tool.Text("ok"), errors.Join(r.Steer(llm.UserText("/fix now")), r.FollowUp(llm.UserText("/fix then")))
		})}
	}, calls(`c1 wait {"path":"x"}`), say("one"), say("two"))
	if out := r.prompt("/bad", agent.ReasonError); out.Err == nil || !strings.Contains(out.Err.Error(), "unknown command bad") {
		t.Errorf("ended with %v", out.Err)
	}
	if err := errors.Join(r.Steer(llm.UserText("/bad"))); err == nil {
		t.Error("a bad message could be queued")
	}
	if n := r.Log().Len(); n != 0 {
		t.Errorf("%d entries of what was not sent", n)
	}
	r.prompt("/fix", agent.ReasonDone)
	var users []string
	for _, m := range r.Messages() {
		if m.Role == llm.RoleUser {
			users = append(users, m.Text())
		}
	}
	if diff := cmp.Diff([]string{"Fix it.", "Fix it. now", "Fix it. then"}, users); diff != "" {
		t.Error(diff)
	}
	if n := len(r.srv.Requests()); n != 3 {
		t.Errorf("%d requests", n)
	}
}

// Whoever looks at the queues after each event has seen each state that lasted.
func TestQueueChanged(t *testing.T) {
	wait, running := blocking("wait")
	r := start(t, formats()[0], func(_ *rig, o *session.Options) { o.Tools = []*tool.Tool{wait} },
		calls(`c1 wait {"path":"x"}`), say("steered"), say("followed"))
	feed := r.Feed(session.Cursor{})
	next := func(want int) {
		t.Helper()
		for {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			e, err := feed.Next(ctx)
			cancel()
			if err != nil {
				t.Fatal(err)
			}
			if s, f := r.Queued(); e.Type == session.QueueChanged && len(s)+len(f) == want {
				return
			}
		}
	}
	done := make(chan agent.Outcome, 1)
	go func() { done <- r.Prompt(context.Background(), llm.UserText("go")) }()
	<-running
	if err := r.FollowUp(llm.UserText("one")); err != nil {
		t.Fatal(err)
	}
	next(1)
	if err := r.FollowUp(llm.UserText("two")); err != nil {
		t.Fatal(err)
	}
	next(2)
	if _, f := r.Unqueue(); len(f) != 2 {
		t.Errorf("took back %d", len(f))
	}
	next(0)
	if err := r.FollowUp(llm.UserText("then")); err != nil {
		t.Fatal(err)
	}
	next(1)
	if err := r.Steer(llm.UserText("hurry")); err != nil {
		t.Fatal(err)
	}
	if out := <-done; out.Reason != agent.ReasonDone {
		t.Fatalf("ended as %s, %v", out.Reason, out.Err)
	}
	next(0) // of what was queued last
	next(0) // of what the model took
}

// commanded is a session with a shell that does as its command says.
func commanded(t *testing.T, tools []*tool.Tool, turns ...llmtest.Turn) *rig {
	return start(t, formats()[0], func(_ *rig, o *session.Options) {
		o.Tools = tools
		handletest.On(o).OnRun = func(ctx context.Context, line string, journal bool, output func(string)) (session.CommandResult, error) {
			output(line)
			switch line {
			case "wait":
				<-ctx.Done()
				return session.CommandResult{Output: "half", ExitCode: -1, Cancelled: true}, nil
			case "cannot":
				return session.CommandResult{}, errors.New("there is no shell")
			}
			return session.CommandResult{Output: "OUT " + line + fmt.Sprint(journal), ExitCode: 3, Truncated: true, Artifact: "artifact://1"}, nil
		}
	}, turns...)
}

func TestRun(t *testing.T) {
	r := commanded(t, nil, say("seen"), say("again"))
	shown := ""
	res, err := r.Run(t.Context(), "make <x>", false, func(s string) { shown += s })
	if err != nil || shown != "make <x>" || res.ExitCode != 3 || res.EntryID == "" {
		t.Errorf("%+v, %v; shown %q", res, err, shown)
	}
	if _, err := r.Run(t.Context(), "secretly", true, nil); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	r.on = func(e session.Event) {
		if e.Type == session.CommandStart && e.Text == "wait" {
			stop()
		}
	}
	if res, err := r.Run(ctx, "wait", false, nil); err != nil || !res.Cancelled {
		t.Errorf("a command that was ended: %+v, %v", res, err)
	}
	for _, bad := range []string{"cannot", " \n"} {
		if _, err := r.Run(t.Context(), bad, false, nil); err == nil {
			t.Errorf("%q ran", bad)
		}
	}
	r.prompt("what do you see?", agent.ReasonDone)
	text := strings.Join(said(r.srv.Requests()[0].Messages), "\n")
	if !strings.Contains(text, "make <x>") || !strings.Contains(text, "OUT make <x>true") || !strings.Contains(text, "Exit code: 3") ||
		!strings.Contains(text, "cancelled") || strings.Contains(text, "secretly") {
		t.Errorf("the model reads\n%s", text)
	}
	if n := len(r.seen(session.CommandStart)); n != 4 || len(r.seen(session.CommandEnd)) != n {
		t.Errorf("%d begin, %d end", n, len(r.seen(session.CommandEnd)))
	}
	r.resume()
	r.prompt("and now?", agent.ReasonDone)
	r.prefixed()
	e, err := r.Log().Entry(res.EntryID)
	if err != nil || !strings.Contains(string(e.Raw), `"message":{"role":"bashExecution","command":"make <x>","output":"OUT make <x>true","exitCode":3,"cancelled":false,"truncated":true,"fullOutputPath":"artifact://1","timestamp":`) {
		t.Errorf("the entry is %s, %v", e.Raw, err)
	}
	want := &transcript.Execution{Command: "make <x>", Output: "OUT make <x>true", ExitCode: e.Execution.ExitCode, Truncated: true, Full: "artifact://1", Timestamp: e.Execution.Timestamp}
	if diff := cmp.Diff(want, e.Execution); diff != "" {
		t.Error(diff)
	}
	r.clean()
}

// A command that is stopped before its shell is there did not run, and says so in words
// for people.
func TestRunStoppedBeforeItBegan(t *testing.T) {
	for name, stop := range map[string]func(r *rig, cancel func()){
		"by Abort":       func(r *rig, _ func()) { r.Abort() },
		"by its context": func(_ *rig, cancel func()) { cancel() },
	} {
		t.Run(name, func(t *testing.T) {
			starting := make(chan struct{})
			r := start(t, formats()[0], func(_ *rig, o *session.Options) {
				handletest.On(o).OnRun = func(ctx context.Context, _ string, _ bool, _ func(string)) (session.CommandResult, error) {
					close(starting)
					<-ctx.Done()
					return session.CommandResult{}, ctx.Err()
				}
			})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go func() {
				<-starting
				stop(r, cancel)
			}()
			if _, err := r.Run(ctx, "ls", false, nil); !errors.Is(err, session.ErrNotBegun) || err.Error() != "stopped before it began" {
				t.Errorf("it ended with %v", err)
			}
		})
	}
}

// A command runs beside a prompt, and is read with its next request.
func TestRunBeside(t *testing.T) {
	var r *rig
	work := simple("work", tool.Executes, func(ctx context.Context, _ tool.Call, _ string) (*tool.Result, error) {
		_, err := r.Run(ctx, "look", false, nil)
		return tool.Text("ok"), err
	})
	r = commanded(t, []*tool.Tool{work}, calls(`c1 work {"path":"x"}`), say("seen"), say("later"))
	r.prompt("go", agent.ReasonDone)
	if text := strings.Join(said(r.srv.Requests()[1].Messages), "\n"); !strings.Contains(text, "OUT lookfalse") {
		t.Errorf("the second request has\n%s", text)
	}
	r.prompt("more", agent.ReasonDone)
	r.clean()
	done := make(chan session.CommandResult, 1)
	begun := make(chan struct{})
	go func() {
		res, _ := r.Run(context.Background(), "wait", false, func(string) { close(begun) })
		done <- res
	}()
	<-begun
	if out := r.Prompt(t.Context(), llm.UserText("me too")); !errors.Is(out.Err, session.ErrBusy) {
		t.Errorf("a prompt while a command runs: %v", out.Err)
	}
	r.Abort()
	if res := <-done; !res.Cancelled {
		t.Errorf("Abort left %+v", res)
	}
}

func TestBreakdown(t *testing.T) {
	r := start(t, formats()[0], func(r *rig, o *session.Options) {
		o.Request.System = "Own words are here. " + long(300)
		o.Parts = []session.Part{{Name: "AGENTS.md", Text: long(300)}}
		o.Tools = []*tool.Tool{echo("read", tool.Reads), echo("grep", tool.Reads)}
	}, calls(`c1 read {"path":"x"}`, `c2 grep {"path":"`+strings.Repeat("y", 3000)+`"}`), used("done", llm.Usage{Input: 12_345, Output: 6}), say("x"))
	if b := r.Breakdown(); b.Window != 200_000 || b.Total == 0 || len(b.Messages) > 0 {
		t.Errorf("before anyone spoke: %+v", b)
	}
	if err := r.Pin("keep this"); err != nil {
		t.Fatal(err)
	}
	r.prompt("go "+long(100), agent.ReasonDone)
	b := r.Breakdown()
	sum := 0
	got := map[string]int{}
	for _, list := range [][]session.Share{b.System, b.Tools, b.Messages} {
		for _, s := range list {
			sum += s.Tokens
			got[strings.TrimSpace(string(s.Kind)+" "+s.Name)] = s.Count
			if s.Tokens <= 0 {
				t.Errorf("%+v", s)
			}
		}
	}
	want := map[string]int{
		"words": 1, "file AGENTS.md": 1, "tool read": 1, "tool grep": 1, "pin": 1, "user": 1, "assistant": 1, "tool_call": 2,
		"tool_result read": 1, "tool_result grep": 1,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the parts (-want +got):\n%s", diff)
	}
	if sum != b.Total || b.Total != r.Stats().Context || b.Total < 12_345 {
		t.Errorf("the parts are %d, the total %d, the context %d", sum, b.Total, r.Stats().Context)
	}
	if b.Free+b.Total+b.Reserve != b.Window {
		t.Errorf("free %d, total %d, reserve %d of %d", b.Free, b.Total, b.Reserve, b.Window)
	}
	if len(b.Largest) != len(r.Messages()) || !slices.IsSortedFunc(b.Largest, func(x, y session.Big) int { return y.Tokens - x.Tokens }) {
		t.Errorf("the largest are %+v", b.Largest)
	}
	if m := r.Messages()[b.Largest[0].Index]; m.Role != llm.RoleAssistant && m.Role != llm.RoleToolResult {
		t.Errorf("the largest is %+v", b.Largest[0])
	}
}

func TestShakeByHand(t *testing.T) {
	kept := ""
	dump := simple("dump", tool.Reads, func(context.Context, tool.Call, string) (*tool.Result, error) {
		r := tool.Text(long(3000))
		return r, nil
	})
	shot := simple("shot", tool.Reads, func(context.Context, tool.Call, string) (*tool.Result, error) {
		return &tool.Result{Content: []llm.Block{llm.Image{MIME: "image/png", Data: []byte("picture")}}}, nil
	})
	r := start(t, formats()[0], func(r *rig, o *session.Options) {
		r.model.Input = []llm.Modality{llm.ModalityText, llm.ModalityImage}
		o.Tools = []*tool.Tool{dump, shot}
		handletest.On(o).OnArtifact = func(_, text string) (string, error) { kept = text; return "artifact://7", nil }
	}, calls(`c1 dump {"path":"x"}`, `c2 shot {"path":"y"}`), say("seen"), say("later"))
	r.prompt("go", agent.ReasonDone)
	for _, tt := range []struct {
		kind  string
		least int
	}{{session.ShakeImages, 1000}, {session.ShakeImages, 0}, {"", 1000}, {session.ShakeBulk, 0}} {
		freed, err := r.Shake(t.Context(), tt.kind)
		if err != nil || freed < tt.least || tt.least == 0 && freed != 0 {
			t.Errorf("%q freed %d, %v", tt.kind, freed, err)
		}
		r.consistent()
	}
	if _, err := r.Shake(t.Context(), "everything"); err == nil {
		t.Error("an unknown kind was taken out")
	}
	r.prompt("more", agent.ReasonDone)
	text := strings.Join(said(r.srv.Requests()[2].Messages), "\n")
	if !strings.Contains(text, "artifact://7") || !strings.Contains(text, "a picture was here") || !strings.Contains(kept, long(3000)) {
		t.Errorf("the model reads %.300s; kept are %d bytes", text, len(kept))
	}
	if n := len(r.seen(session.Pruned)); n != 2 {
		t.Errorf("%d events, want 2", n)
	}
	r.clean()
}

// An answer that the vendor paused goes on with nothing between its parts, whatever a
// person does meanwhile: in the requests, and in the session when it is opened again.
func TestNothingComesIntoAPause(t *testing.T) {
	var r *rig
	n := 0
	part := func(text string, end []llm.Event) llmtest.Turn {
		return llmtest.Turn{Reply: func(*llm.Request) []llm.Event {
			n++
			_, err := r.Run(context.Background(), fmt.Sprint("look ", n), false, nil)
			if err := errors.Join(err, r.Pin(fmt.Sprint("pin ", n)), r.SetMode([]string{"ask", "full"}[n%2])); err != nil {
				t.Error(err)
			}
			return append(llmtest.Say(text), end...)
		}}
	}
	pause := llmtest.Stop(llm.StopPause, llm.Usage{})
	r = start(t, formats()[0], func(_ *rig, o *session.Options) {
		modes(o)
		handletest.On(o).OnRun = func(context.Context, string, bool, func(string)) (session.CommandResult, error) {
			return session.CommandResult{Output: "x"}, nil
		}
		o.Tools = []*tool.Tool{echo("read", tool.Reads)}
	}, part("[1", pause), part("2", pause), part("3]", llmtest.Call("c1", "read", `{"path":"x"}`)), say("done"), say("again"))
	r.prompt("go", agent.ReasonDone)
	for i, want := range []string{"", "[1", "[12", "[123]"} { // parts are one message to the vendor
		if got := strings.Join(said(r.srv.Requests()[i].Messages), "\n"); !strings.Contains(got, want) {
			t.Errorf("the request after part %d is\n%s", i, got)
		}
	}
	whole := strings.Join(said(r.srv.Requests()[3].Messages), "\n")
	for _, want := range []string{"look 1", "look 2", "look 3", "pin 1", "pin 2", "pin 3", "MODE IS full"} {
		if n := strings.Count(whole, want); n != 1 {
			t.Errorf("the request after the pauses tells of %q %d times:\n%s", want, n, whole)
		}
	}
	r.clean()
	r.resume()
	r.prompt("and now?", agent.ReasonDone)
	lawful(t, r.srv.Requests()[4])
	if got := strings.Join(said(r.Messages()), "|"); !strings.Contains(got, "assistant: [1|assistant: 2|assistant: 3] [c1") {
		t.Errorf("opened again it has %s", got)
	}
}

// What was steered while nothing ran was said before the prompt that follows; what is
// steered while the prompt is still on its way was said after it.
func TestSteeringBeforeAPrompt(t *testing.T) {
	var r *rig
	r = start(t, formats()[0], func(_ *rig, o *session.Options) {
		o.Preface = []llm.Message{llm.UserText("the date")}
		o.Expand = func(_ context.Context, text string) (string, error) {
			if text != "second" {
				return text, nil
			}
			return text, r.Steer(llm.UserText("third"))
		}
	}, stalls(), say("ok"), say("ok"))
	stop := r.busy("zero")
	if err := r.Steer(llm.UserText("first")); err != nil {
		t.Fatal(err)
	}
	stop()
	r.prompt("second", agent.ReasonDone)
	want := regexp.MustCompile(`^user: the date\|user: zero\|assistant: a [b ]*!aborted\|user: first\|user: second\|user: third\|assistant: ok$`)
	if got := strings.Join(said(r.Messages()), "|"); !want.MatchString(got) { // how much of the answer came depends on when it was stopped
		t.Errorf("the conversation is %s, want %s", got, want)
	}
	if steering, _ := r.Queued(); len(steering) > 0 {
		t.Errorf("%d messages still wait", len(steering))
	}
}

// stalls is an answer that does not go on after its first words.
func stalls() llmtest.Turn {
	return llmtest.Turn{Parts: []llmtest.Part{{Text: "a b c d e f g h"}}, Fault: llmtest.Fault{StallAfterEvents: 4}}
}

// busy sends a prompt whose answer stalls, and returns when that speaks. stop ends it.
func (r *rig) busy(text string) (stop func()) {
	r.t.Helper()
	feed := r.Feed(session.Cursor{})
	done := make(chan agent.Outcome, 1)
	go func() { done <- r.Prompt(context.Background(), llm.UserText(text)) }()
	for {
		e, err := feed.Next(r.t.Context())
		if err != nil {
			r.t.Fatal(err)
		}
		if e.Type == agent.MessageUpdate && e.Stream.Type == llm.EventTextDelta {
			break
		}
	}
	return func() {
		r.Abort()
		<-done
	}
}

// What does not fit into the queue is the sender's still, and no event says otherwise.
func TestFullQueue(t *testing.T) {
	pacetest.Costly(t)
	r := start(t, formats()[0], nil, stalls())
	defer r.busy("go")()
	const most = 1000 // of messages; the limit in bytes is the agent's and tested there
	for range most {
		if err := r.Steer(llm.UserText("look")); err != nil {
			t.Fatal(err)
		}
	}
	waitFor(t, func() bool { return len(r.seen(session.QueueChanged)) == most })
	if err := r.FollowUp(llm.UserText("and then")); !errors.Is(err, agent.ErrQueueFull) {
		t.Errorf("one more: %v", err)
	}
	if steering, followUps := r.Unqueue(); len(steering) != most || len(followUps) != 0 {
		t.Errorf("%d and %d messages wait", len(steering), len(followUps))
	}
	if err := r.FollowUp(llm.UserText("and then")); err != nil {
		t.Errorf("with room again: %v", err)
	}
}

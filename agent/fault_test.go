package agent_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/llmtest"
	"github.com/burin-dev/burin/tool"
)

// A server that drops, cuts, damages and repeats, in the middle of a task and in
// every format: the run ends, nothing of the broken answer has run, and the
// conversation goes on afterwards.
func TestFaults(t *testing.T) {
	busy := &llm.Error{Kind: llm.ErrOverload, Status: 503, Message: "busy"}
	faults := []struct {
		name  string
		fault llmtest.Fault
		want  agent.Reason
	}{
		{"drop", llmtest.Fault{Drop: true}, agent.ReasonError},
		{"refuse", llmtest.Fault{Error: busy}, agent.ReasonError},
		{"cut after the head", llmtest.Fault{CutAfterBytes: -1}, agent.ReasonError},
		{"cut early", llmtest.Fault{CutAfterBytes: 60}, agent.ReasonError},
		{"cut late", llmtest.Fault{CutAfterBytes: 330}, agent.ReasonError},
		{"damage", llmtest.Fault{MalformedAfterEvents: 4}, agent.ReasonError},
		{"repeat the end", llmtest.Fault{RepeatEnd: true}, agent.ReasonDone},
		{"go on after the end", llmtest.Fault{Trailing: "data: nonsense\n\n"}, agent.ReasonDone},
	}
	eachFormat(t, func(t *testing.T, f format) {
		for _, tt := range faults {
			if f.name == "google" && tt.fault.Trailing != "" {
				continue // its stream has no end but that of the connection
			}
			t.Run(tt.name, func(t *testing.T) {
				broken := calls(`write {"path":"broken"}`)
				broken.Parts = slices.Insert(broken.Parts, 0, llmtest.Part{Text: "Now I write the file, and then some more words follow before it."})
				broken.Fault = tt.fault
				ran := 0
				o, srv := f.options(t, calls(`read {"path":"a"}`), broken, say("well"), say("well"))
				o.Tools = []*tool.Tool{echo("read", tool.Reads), simple("write", tool.Writes, func(context.Context, string) (*tool.Result, error) {
					ran++
					return nil, nil
				})}
				events := record(t, &o)
				a := agent.New(o)
				out := a.Run(t.Context(), llm.UserText("go"))
				wantReason(t, out, tt.want)
				events.check(a)
				if last := out.Messages[len(out.Messages)-1]; tt.want == agent.ReasonError {
					if ran != 0 || last.StopReason != llm.StopError || out.Turns != 2 {
						t.Errorf("%d calls of a broken answer ran; it ended as %s", ran, last.StopReason)
					}
				} else if ran != 1 {
					t.Errorf("%d calls ran", ran)
				}
				wantReason(t, a.Run(t.Context(), llm.UserText("go on")), agent.ReasonDone)
				events.check(a)
				clean(t, srv)
			})
		}
	})
}

// Within 100 ms, wherever the provider is stuck.
func TestAbortWhileStalled(t *testing.T) {
	eachFormat(t, func(t *testing.T, f format) {
		for name, fault := range map[string]llmtest.Fault{
			"before the head": {StallHead: true}, "after the head": {StallAfterEvents: -1},
			"after the start": {StallAfterEvents: 1}, "in the text": {StallAfterEvents: 4}, "in a call": {StallAfterEvents: 9},
		} {
			t.Run(name, func(t *testing.T) {
				const enough = 100 * time.Millisecond
				var took time.Duration
				for range 20 { // the machine may be busy with something else
					if took = f.abort(t, fault); took < enough {
						return
					}
				}
				t.Errorf("took %s", took)
			})
		}
	})
}

// said is the text that has been streamed.
func (r *recorder) said() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var b strings.Builder
	for _, e := range r.events {
		if e.Type == agent.MessageUpdate && e.Stream.Type == llm.EventTextDelta {
			b.WriteString(e.Stream.Delta)
		}
	}
	return b.String()
}

// abort stops a run that is stuck, checks what is left of it, and says how long
// that took.
func (f format) abort(t *testing.T, fault llmtest.Fault) time.Duration {
	stuck := calls(`write {"path":"a long path, so that it comes in several pieces"}`)
	stuck.Parts = slices.Insert(stuck.Parts, 0, llmtest.Part{Text: "one two three four"})
	stuck.Fault = fault
	o, srv := f.options(t, stuck, say("well"))
	o.Tools = []*tool.Tool{echo("write", tool.Writes)}
	events := record(t, &o)
	a := agent.New(o)
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	var at time.Time
	stopped := errors.New("esc")
	go func() {
		// As far as the stream comes, and a moment more.
		for n := -1; ; {
			now := len(events.list())
			come := fault.StallAfterEvents <= 3 || strings.HasPrefix(events.said(), "one two ")
			if len(srv.Requests()) > 0 && now == n && come {
				break
			}
			n = now
			<-time.After(20 * time.Millisecond)
		}
		at = time.Now()
		cancel(stopped)
	}()
	out := a.Run(ctx, llm.UserText("go"))
	took := time.Since(at)
	wantReason(t, out, agent.ReasonAborted)
	events.check(a)
	if !errors.Is(out.Err, stopped) && !errors.Is(out.Err, context.Canceled) || llm.KindOf(out.Err) != llm.ErrAborted {
		t.Errorf("aborted with %v", out.Err)
	}
	last := out.Messages[len(out.Messages)-1]
	if last.StopReason != llm.StopAborted || len(results(a.Messages())) > 0 {
		t.Errorf("the answer ended as %s, with results %q", last.StopReason, results(a.Messages()))
	}
	if text := last.Text(); fault.StallAfterEvents > 3 && !strings.HasPrefix(text, "one two ") {
		t.Errorf("what had come is lost: %q", text)
	}
	wantReason(t, a.Run(t.Context(), llm.UserText("go on")), agent.ReasonDone)
	clean(t, srv)
	return took
}

// When the run is stopped while tools run, they are cancelled, and what has not
// begun never does. A tool that does not listen is left behind.
func TestAbortWhileToolsRun(t *testing.T) {
	for _, tt := range []struct {
		name  string
		calls []string
		want  []string
		took  time.Duration
	}{
		{"in order", []string{`bash {"path":"slow"}`, `bash {"path":"next"}`}, []string{"!half of slow\nInterrupted: the run was stopped", "!Not run: the run was stopped"}, 0},
		{"side by side", []string{`read {"path":"quick"}`, `read {"path":"slow"}`}, []string{"quick", "!half of slow\nInterrupted"}, 0},
		{"a change too", []string{`write {"path":"slow"}`}, []string{"!half of slow\nInterrupted"}, 0},
		{"deaf", []string{`write {"path":"deaf"}`, `read {"path":"next"}`}, []string{"!Interrupted: the run was stopped while this call was running. What it had done until then is done. It did not stop within 2s", "!Not run"}, 2 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o, srv := local(t, calls(tt.calls...), say("well"))
				ctx, cancel := context.WithCancel(t.Context())
				begun := func(path string) {
					if path == "slow" || path == "deaf" {
						cancel()
					}
				}
				o.Tools = []*tool.Tool{
					patient("read", tool.Reads, begun), patient("bash", tool.Executes|tool.Writes, begun), patient("write", tool.Reads|tool.Writes, begun),
				}
				events := record(t, &o)
				a := agent.New(o)
				began := time.Now()
				out := a.Run(ctx, llm.UserText("go"))
				if took := time.Since(began); took != tt.took {
					t.Errorf("took %s, want %s", took, tt.took)
				}
				wantReason(t, out, agent.ReasonAborted)
				events.check(a)
				if n := strings.Count(strings.Join(events.list(), " "), "turn_start"); n != 1 {
					t.Errorf("%d turns began", n)
				}
				got := results(a.Messages())
				for i, want := range tt.want {
					if len(got) != len(tt.want) || !strings.HasPrefix(got[i], want) {
						t.Fatalf("results %q, want %q", got, tt.want)
					}
				}
				<-time.After(time.Minute) // for the deaf
				wantReason(t, a.Run(t.Context(), llm.UserText("go on")), agent.ReasonDone)
				clean(t, srv)
			})
		})
	}
}

// A run that is stopped before it begins keeps what the person said.
func TestAbortBeforeRequest(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	o, srv := local(t, say("no"))
	o.BeforeRequest = func(context.Context, *llm.Request) error { cancel(); return nil }
	events := record(t, &o)
	a := agent.New(o)
	for _, said := range []string{"one", "two"} {
		out := a.Run(ctx, llm.UserText(said))
		wantReason(t, out, agent.ReasonAborted)
		if out.Turns != 0 || len(out.Messages) != 0 {
			t.Errorf("%d turns, %d messages", out.Turns, len(out.Messages))
		}
	}
	events.check(a)
	if got := texts(a.Messages()); got != "one|two" || len(srv.Requests()) > 0 {
		t.Errorf("the conversation is %q after %d requests", got, len(srv.Requests()))
	}
}

// silent is a client whose stream breaks its promises: it ends without an end.
type silent struct{}

func (silent) Stream(context.Context, *llm.Request) llm.Stream { return silent{} }
func (silent) Next() (llm.Event, bool)                         { return llm.Event{}, false }
func (silent) Close() error                                    { return nil }

// vague is a client that calls a cancelled stream a broken one.
type vague struct{}

func (vague) Stream(ctx context.Context, _ *llm.Request) llm.Stream {
	<-ctx.Done()
	return llm.Failed(llm.Message{Provider: "p"}, &llm.Error{Kind: llm.ErrTransport, Message: "connection reset"})
}

func TestAbortThatLooksLikeAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // the time is up when the client is asked, not before
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		out := agent.New(agent.Options{Client: vague{}}).Run(ctx, llm.UserText("hi"))
		wantReason(t, out, agent.ReasonAborted)
		if m := out.Messages[0]; m.StopReason != llm.StopAborted || llm.KindOf(out.Err) != llm.ErrAborted || !errors.Is(out.Err, context.DeadlineExceeded) {
			t.Errorf("%s, %v", m.StopReason, out.Err)
		}
	})
}

func TestStreamWithoutEnd(t *testing.T) {
	o := agent.Options{Client: silent{}}
	events := record(t, &o)
	a := agent.New(o)
	out := a.Run(t.Context(), llm.UserText("hi"))
	wantReason(t, out, agent.ReasonError)
	if llm.KindOf(out.Err) != llm.ErrTransport {
		t.Errorf("ended with %v", out.Err)
	}
	events.check(a)
}

package agent_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/tool"
)

// patient is a tool that tells when it has begun and works for a second, or until
// its context ends. "deaf" does not look at its context.
func patient(name string, effects tool.Effects, begun func(path string)) *tool.Tool {
	return simple(name, effects, func(ctx context.Context, path string) (*tool.Result, error) {
		begun(path)
		if path == "quick" {
			return tool.Text("quick"), nil
		}
		end := ctx.Done()
		if path == "deaf" {
			end = nil
		}
		select {
		case <-time.After(time.Minute):
			return tool.Text(path), nil
		case <-end:
			if path == "grumpy" {
				return nil, errors.New("killed")
			}
			return tool.Text("half of " + path + "\n"), context.Cause(ctx)
		}
	})
}

// A person who speaks while tools run is heard at once: what runs is cancelled,
// what has finished is kept, what has not begun does not begin.
func TestSteering(t *testing.T) {
	for _, tt := range []struct {
		name  string
		mode  agent.InterruptMode
		calls []string
		want  []string // beginnings of results
		took  time.Duration
	}{
		{
			"runs and waits", "",
			[]string{`bash {"path":"slow"}`, `bash {"path":"next"}`},
			[]string{"!half of slow\nInterrupted: the user sent a message while", "!Not run: the user sent a message"},
			0,
		},
		{
			"side by side", agent.Immediate,
			[]string{`read {"path":"quick"}`, `read {"path":"slow"}`},
			[]string{"quick", "!half of slow\nInterrupted"},
			0,
		},
		{
			"a change is not left half done", agent.Immediate,
			[]string{`write {"path":"slow"}`, `bash {"path":"next"}`},
			[]string{"slow", "!Not run"},
			time.Minute,
		},
		{
			"deaf", agent.Immediate,
			[]string{`bash {"path":"deaf"}`},
			[]string{"!Interrupted: the user sent a message while this call was running. What it had done until then is done. It did not stop within 2s"},
			2 * time.Second,
		},
		{
			"in its own words", agent.Immediate,
			[]string{`bash {"path":"grumpy"}`},
			[]string{"!Interrupted: the user sent a message while this call was running. What it had done until then is done. The tool says: killed"},
			0,
		},
		{
			"later", agent.Wait,
			[]string{`bash {"path":"slow"}`, `bash {"path":"next"}`},
			[]string{"slow", "next"},
			2 * time.Minute,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o, srv := local(t, calls(tt.calls...), say("I see."))
				o.Interrupt = tt.mode
				var a *agent.Agent
				begun := func(path string) {
					if path == "slow" || path == "deaf" || path == "grumpy" {
						a.Steer(llm.UserText("no, wait"))
					}
				}
				o.Tools = []*tool.Tool{
					patient("read", tool.Reads, begun), patient("bash", tool.Executes|tool.Writes, begun), patient("write", tool.Reads|tool.Writes, begun),
				}
				events := record(t, &o)
				a = agent.New(o)
				began := time.Now()
				out := a.Run(t.Context(), llm.UserText("go"))
				took := time.Since(began)
				wantReason(t, out, agent.ReasonDone)
				events.check(a)
				clean(t, srv)
				got := results(a.Messages())
				for i, want := range tt.want {
					if len(got) != len(tt.want) || !strings.HasPrefix(got[i], want) {
						t.Fatalf("results %q, want %q", got, tt.want)
					}
				}
				if took != tt.took {
					t.Errorf("took %s, want %s", took, tt.took)
				}
				if n := len(a.Messages()); a.Messages()[n-2].Text() != "no, wait" || a.Messages()[n-1].Text() != "I see." {
					t.Errorf("the conversation ends with %q", texts(a.Messages()[n-2:]))
				}
				<-time.After(time.Minute) // for the deaf
			})
		})
	}
}

// A person who speaks while a question is open, or while the model writes, is
// heard before any call begins.
func TestSteeringBeforeCalls(t *testing.T) {
	for _, name := range []string{"while asked", "and yet allowed", "while the model writes"} {
		o, _ := local(t, calls(`read {"path":"a"}`), say("ok"))
		o.Tools = []*tool.Tool{echo("read", tool.Reads)}
		events := record(t, &o)
		a := agent.New(o)
		speak := func() { a.Steer(llm.UserText("wait")) }
		if name == "while the model writes" {
			events.on = func(e agent.Event) error {
				if e.Stream.Type == llm.EventToolCallStart {
					speak()
				}
				return nil
			}
		} else {
			a.Update(func(o *agent.Options) {
				o.BeforeTool = func(ctx context.Context, _ *tool.Tool, _ *tool.Call) (*tool.Result, error) {
					speak()
					<-ctx.Done()
					if name == "and yet allowed" {
						return nil, nil
					}
					return nil, ctx.Err()
				}
			})
		}
		wantReason(t, a.Run(t.Context(), llm.UserText("go")), agent.ReasonDone)
		events.check(a)
		if got := results(a.Messages()); len(got) != 1 || !strings.HasPrefix(got[0], "!Not run: the user sent a message") {
			t.Errorf("%s: results %q", name, got)
		}
	}
}

func TestQueueModes(t *testing.T) {
	for _, tt := range []struct {
		steering, followUp agent.QueueMode
		want               string // texts of the conversation
	}{
		{"", "", "go|1|s1|2|s2|3|f1|4|f2|5"},
		{agent.All, agent.OneAtATime, "go|1|s1|s2|2|f1|3|f2|4"},
		{agent.OneAtATime, agent.All, "go|1|s1|2|s2|3|f1|f2|4"},
		{agent.All, agent.All, "go|1|s1|s2|2|f1|f2|3"},
	} {
		o, _ := local(t, say("1"), say("2"), say("3"), say("4"), say("5"))
		o.Steering, o.FollowUp = tt.steering, tt.followUp
		events := record(t, &o)
		a := agent.New(o)
		events.on = func(e agent.Event) error {
			if e.Type == agent.MessageEnd && e.Message.Text() == "1" {
				a.FollowUp(llm.UserText("f1"))
				a.Steer(llm.UserText("s1"))
				a.Steer(llm.UserText("s2"))
				a.FollowUp(llm.UserText("f2"))
			}
			return nil
		}
		wantReason(t, a.Run(t.Context(), llm.UserText("go")), agent.ReasonDone)
		events.check(a)
		if got := texts(a.Messages()); got != tt.want {
			t.Errorf("%s, %s: %s, want %s", tt.steering, tt.followUp, got, tt.want)
		}
	}
}

// Neighboring custom messages of one type count as one.
func TestQueueModesOfCustomMessages(t *testing.T) {
	o, _ := local(t, say("1"), say("2"), say("3"), say("4"), say("5"))
	events := record(t, &o)
	a := agent.New(o)
	custom := func(kind, text string) llm.Message {
		m := llm.UserText(text)
		m.Role, m.CustomType = llm.RoleCustom, kind
		return m
	}
	events.on = func(e agent.Event) error {
		if e.Type == agent.MessageEnd && e.Message.Text() == "1" {
			for _, m := range []llm.Message{custom("x", "x1"), custom("x", "x2"), custom("y", "y1"), llm.UserText("u1")} {
				a.Steer(m)
			}
			a.FollowUp(custom("x", "x3"))
			a.FollowUp(custom("x", "x4"))
		}
		return nil
	}
	wantReason(t, a.Run(t.Context(), llm.UserText("go")), agent.ReasonDone)
	events.check(a)
	if got, want := texts(a.Messages()), "go|1|x1|x2|2|y1|3|u1|4|x3|x4|5"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestQueues(t *testing.T) {
	o, _ := local(t, say("ok"))
	a := agent.New(o)
	a.Steer(llm.UserText("s"))
	a.FollowUp(llm.UserText("f"))
	steering, followUps := a.Queued()
	if diff := cmp.Diff("s f", texts(steering)+" "+texts(followUps)); diff != "" {
		t.Error(diff)
	}
	steering, followUps = a.ClearQueues()
	if diff := cmp.Diff("s f", texts(steering)+" "+texts(followUps)); diff != "" {
		t.Error(diff)
	}
	if steering, followUps = a.Queued(); len(steering)+len(followUps) > 0 {
		t.Error("the queues are not empty")
	}
}

// What people say is read in the order in which they said it, also where it was said
// while nothing ran.
func TestSteeringBeforeARun(t *testing.T) {
	at := func(text string, second int) llm.Message {
		m := llm.UserText(text)
		if second > 0 {
			m.Time = time.Unix(int64(second), 0)
		}
		return m
	}
	note := at("note", 0)
	for _, tt := range []struct {
		name    string
		steered []llm.Message
		prompt  llm.Message
		want    string
		added   string
	}{
		{"before", []llm.Message{at("a", 0), at("b", 0)}, at("go", 0), "note|a|b|go|1", "1"},
		{"after, while the prompt was on its way", []llm.Message{at("a", 1), at("b", 3), at("c", 4)}, at("go", 2), "note|a|go|b|1|c|2", "b|1|c|2"},
		{"as the prompt says", []llm.Message{at("a", 2)}, at("go", 2), "note|a|go|1", "1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o, srv := local(t, say("1"), say("2"))
			events := record(t, &o)
			a := agent.New(o)
			for _, m := range tt.steered {
				a.Steer(m)
			}
			out := a.Run(t.Context(), note, tt.prompt)
			wantReason(t, out, agent.ReasonDone)
			events.check(a)
			clean(t, srv)
			if got := texts(a.Messages()); got != tt.want {
				t.Errorf("the conversation is %s, want %s", got, tt.want)
			}
			if got := texts(out.Messages); got != tt.added {
				t.Errorf("the run added %s, want %s", got, tt.added)
			}
		})
	}
}

// What waits is bounded, in number and in bytes, and what does not fit stays with whoever
// sent it.
func TestQueuesAreBounded(t *testing.T) {
	small, large := llm.UserText("x"), llm.UserText("x")
	large.Content = append(large.Content, llm.Image{MIME: "image/png", Data: make([]byte, 20<<20)})
	for _, tt := range []struct {
		name string
		m    llm.Message
		fit  int
	}{{"number", small, 1000}, {"bytes", large, 3}} {
		t.Run(tt.name, func(t *testing.T) {
			o, _ := local(t, say("ok"))
			a := agent.New(o)
			n := 0
			var err error
			for ; err == nil && n <= 2000; n++ {
				put := a.Steer
				if n%2 == 1 {
					put = a.FollowUp
				}
				err = put(tt.m)
			}
			if !errors.Is(err, agent.ErrQueueFull) || n-1 != tt.fit {
				t.Fatalf("%d were taken, then %v; want %d", n-1, err, tt.fit)
			}
			if steering, followUps := a.Queued(); len(steering)+len(followUps) != tt.fit {
				t.Errorf("%d wait", len(steering)+len(followUps))
			}
			a.ClearQueues()
			if err := errors.Join(a.Steer(tt.m), a.FollowUp(tt.m)); err != nil {
				t.Errorf("when there is room again: %v", err)
			}
		})
	}
}

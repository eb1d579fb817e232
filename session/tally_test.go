package session_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/llmtest"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/session/handletest"
	"github.com/burin-dev/burin/tool"
	"github.com/burin-dev/burin/transcript"
)

// moody answers as it is drawn: with words or a call, with and without what it
// counted, or not at all.
type moody struct{ rt *rapid.T }

func (m moody) answer(q *llm.Request) []llm.Event {
	if len(q.Tools) == 0 {
		return llmtest.Say("SUMMARY of what was done")
	}
	size := rapid.IntRange(1, 400).Draw(m.rt, "words")
	events := llmtest.Say(long(7 * size))
	if rapid.IntRange(0, 3).Draw(m.rt, "calls") == 0 && q.Messages[len(q.Messages)-1].Role != llm.RoleToolResult {
		events = llmtest.Call(fmt.Sprint("c", len(q.Messages)), "read", fmt.Sprintf(`{"path":"f%d"}`, size%3))
	}
	switch rapid.IntRange(0, 9).Draw(m.rt, "end") {
	case 0, 1, 2, 3:
		return append(events, llmtest.Stop(llm.StopEnd, llm.Usage{Input: 50 * len(q.Messages), Output: size})...)
	case 4:
		return append(events, llmtest.Fail(&llm.Error{Kind: llm.ErrOverload, Message: "no"})...)
	case 5:
		return append(events, llmtest.Fail(&llm.Error{Kind: llm.ErrInvalidRequest, Message: "no"})...)
	case 6:
		return append(events, llmtest.Fail(&llm.Error{Kind: llm.ErrContextOverflow, Message: "too long"})...)
	}
	return events
}

// The figures of a session, which look at each message once, are those that come of
// looking at all messages again, whatever happens: at each event, and after each step.
func TestStatsOfRandomHistories(t *testing.T) {
	pacetest.Costly(t)
	rapid.Check(t, func(rt *rapid.T) {
		m, other := formats()[0].model, called(formats()[0].model, "other")
		m.ContextWindow, other.ContextWindow = 6000, 9000
		client := direct{moody{rt}.answer}
		var s *session.Session
		check := func(when string) {
			if s == nil {
				return
			}
			if got, want := s.Stats().Context, session.Recounted(s); got != want {
				rt.Fatalf("%s: the context has %d tokens, counted anew %d", when, got, want)
			}
			if !session.Fingerprinted(s) {
				rt.Fatalf("%s: the last request is not known by its messages", when)
			}
		}
		o := session.Options{
			Client: client, Request: llm.Request{Model: &m, System: "You are terse."}, Compaction: small(), Warn: func(string) {},
			Retry: session.Retry{Base: time.Microsecond, Max: 2}, Tools: []*tool.Tool{echo("read", tool.Reads)},
			Emit: func(e session.Event) { check(string(e.Type)) }, Mode: "ask",
			Ground: &handletest.Ground{
				OnSetMode:  func(mode string) (string, error) { return "The mode is " + mode, nil },
				OnArtifact: func(string, string) (string, error) { return "artifact://1", nil },
			},
			Models: handletest.Opener(func(_ context.Context, selector string) (*llm.Model, llm.Client, error) {
				if selector == other.Ref() {
					return &other, client, nil
				}
				return &m, client, nil
			}),
		}
		store := new(transcript.Memory)
		open := func() {
			var err error
			if o.Log == nil {
				o.Log, err = transcript.Create(store, transcript.Header{}, transcript.Options{})
			} else {
				o.Log, _, err = transcript.Open(store, transcript.Options{})
			}
			if err == nil {
				s, err = session.New(o)
			}
			if err != nil {
				rt.Fatal(err)
			}
		}
		open()
		for range rapid.IntRange(1, 25).Draw(rt, "steps") {
			step := rapid.SampledFrom([]string{"prompt", "prompt", "prompt", "resend", "compact", "navigate", "model", "mode", "pin", "shake", "reopen", "tools"}).Draw(rt, "step")
			face := s.Handle("test", false)
			switch step {
			case "prompt":
				s.Prompt(rt.Context(), llm.UserText(long(rapid.IntRange(1, 900).Draw(rt, "prompt"))))
			case "resend":
				s.Resend(rt.Context())
			case "compact":
				_ = s.Compact(rt.Context(), "") // there may be nothing to condense
			case "navigate":
				if nodes := s.Log().Nodes(); len(nodes) > 0 {
					to := rapid.IntRange(0, len(nodes)-1).Draw(rt, "to")
					if _, err := s.Navigate(rt.Context(), nodes[to].ID, session.Navigation{Summarize: to%3 == 0}); err != nil && to%3 != 0 {
						rt.Fatal(err)
					}
				}
			case "model":
				if err := face.Models().SetModel(rt.Context(), rapid.SampledFrom([]string{m.Ref(), other.Ref()}).Draw(rt, "model")); err != nil {
					rt.Fatal(err)
				}
			case "mode":
				if err := face.Models().SetMode(rt.Context(), rapid.SampledFrom([]string{"ask", "plan", "full"}).Draw(rt, "mode")); err != nil {
					rt.Fatal(err)
				}
			case "pin":
				if err := face.Work().Pin(rt.Context(), "keep this in mind"); err != nil {
					rt.Fatal(err)
				}
			case "shake":
				if _, err := s.Shake(rt.Context(), session.ShakeBulk); err != nil {
					rt.Fatal(err)
				}
			case "tools":
				names := [][]string{{"read"}, {}}
				if err := s.Tools().Offer(rt.Context(), names[rapid.IntRange(0, 1).Draw(rt, "tools")]); err != nil {
					rt.Fatal(err)
				}
			case "reopen":
				if !s.Log().Answered() {
					break // there is no session yet
				}
				if err := s.Close(); err != nil {
					rt.Fatal(err)
				}
				s = nil
				open()
			}
			check(step)
		}
		if err := s.Close(); err != nil {
			rt.Fatal(err)
		}
	})
}

// talked is a session of n messages that was opened again; measured is that its last
// answer says what the vendor counted.
func talked(t testing.TB, n int, measured bool) *session.Session {
	t.Helper()
	log, err := transcript.Create(new(transcript.Memory), transcript.Header{}, transcript.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range n - 2 {
		m := llm.UserText(fmt.Sprintf("Question %d: how is this part of the program meant, and what does it do?", i))
		if i%2 == 1 {
			m = llm.AssistantText(fmt.Sprintf("Answer %d. It reads the settings, and **then** the session.\n\n- one\n- two\n", i))
		}
		if _, err := log.Append(transcript.Entry{Type: transcript.TypeMessage, Message: &m}); err != nil {
			t.Fatal(err)
		}
	}
	model := formats()[0].model
	model.ContextWindow = 0 // it fits whatever there is
	s, err := session.New(session.Options{
		Client: direct{func(*llm.Request) []llm.Event {
			if !measured {
				return llmtest.Say("well")
			}
			return append(llmtest.Say("well"), llmtest.Stop(llm.StopEnd, llm.Usage{Input: 1000, Output: 20})...)
		}},
		Request: llm.Request{Model: &model, System: "You are terse."}, Log: log,
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Prompt(t.Context(), llm.UserText("and now?"))
	return s
}

// The face asks for the figures with each message.
func BenchmarkStats(b *testing.B) {
	for _, measured := range []bool{true, false} {
		for _, n := range []int{10, 10_000, 100_000} {
			b.Run(fmt.Sprintf("measured=%t/%d", measured, n), func(b *testing.B) {
				s := talked(b, n, measured)
				defer s.Close()
				b.ReportAllocs()
				for b.Loop() {
					if s.Stats().Context == 0 {
						b.Fatal("nothing was counted")
					}
				}
			})
		}
	}
}

// A prompt and its answer in a session that was never condensed. The request has all
// messages in it, so it costs more in a long one; what is not of the request must not.
func BenchmarkPromptAfterLongConversation(b *testing.B) {
	for _, n := range []int{10_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := talked(b, n, false)
			defer s.Close()
			b.ReportAllocs()
			for b.Loop() {
				s.Prompt(b.Context(), llm.UserText("and now?"))
			}
		})
	}
}

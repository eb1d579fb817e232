package session_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/llmtest"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/session/compact"
	"github.com/burin-dev/burin/session/compact/snap"
	"github.com/burin-dev/burin/session/handletest"
	"github.com/burin-dev/burin/tool"
	"github.com/burin-dev/burin/transcript"
)

// With pictures nobody is asked for a summary, and the model gets the history as
// images, also when the session is gone on with.
func TestSnapCompact(t *testing.T) {
	eachFormat(t, func(t *testing.T, f format) {
		r := start(t, f, func(r *rig, o *session.Options) {
			r.model.Input = []llm.Modality{llm.ModalityText, llm.ModalityImage}
			o.Compaction = small()
			o.Compaction.Strategy = compact.SnapCompact
			log, err := transcript.Create(transcript.CreateFile(r.path), transcript.Header{CWD: "/"}, transcript.Options{Pictures: pictures(t)})
			if err != nil {
				t.Fatal(err)
			}
			o.Log = log
		}, say("one"), say("two"), say("three"))
		r.prompt(long(900), agent.ReasonDone)
		r.prompt("second", agent.ReasonDone)
		if err := r.Compact(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
		r.prompt("third", agent.ReasonDone)
		requests := r.srv.Requests()
		if len(requests) != 3 {
			t.Fatalf("%d requests: somebody was asked for a summary", len(requests))
		}
		images := 0
		for _, m := range requests[2].Messages {
			for _, b := range m.Content {
				if _, ok := b.(llm.Image); ok {
					images++
				}
			}
		}
		if images == 0 || !strings.Contains(said(r.Messages())[0], "# History as pictures") {
			t.Errorf("%d images, and the model gets %.300q", images, said(r.Messages())[0])
		}
		r.clean()
	})
}

func pictures(t testing.TB) func(*transcript.Entry) []llm.Block {
	return func(e *transcript.Entry) []llm.Block {
		blocks, err := snap.Images(e)
		if err != nil {
			t.Error(err)
		}
		return blocks
	}
}

// A model that reads no images gets words, and a person is told why.
func TestSnapCompactWithoutImages(t *testing.T) {
	r := start(t, formats()[0], func(r *rig, o *session.Options) {
		r.model.Input = []llm.Modality{llm.ModalityText}
		o.Compaction = small()
		o.Compaction.Strategy = compact.SnapCompact
	}, say("one"), say("two"), say("SUMMARY"), say("in short"))
	r.prompt(long(900), agent.ReasonDone)
	r.prompt("second", agent.ReasonDone)
	if err := r.Compact(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	if got := said(r.Messages())[0]; !strings.Contains(got, "SUMMARY") {
		t.Errorf("the model gets %q", got)
	}
	if w := r.warned(); len(w) != 1 || !strings.Contains(w[0], "text summary") {
		t.Errorf("warnings %q", w)
	}
}

// Shaking puts a bulky output aside, without a model, and says where it is.
func TestShake(t *testing.T) {
	kept := map[string]string{}
	bulky := simple("dump", 0, func(context.Context, tool.Call, string) (*tool.Result, error) {
		return tool.Text(strings.Repeat("0123456789 ", 9000)), nil
	})
	r := start(t, formats()[0], func(r *rig, o *session.Options) {
		r.model.ContextWindow = 200_000
		o.Tools = []*tool.Tool{bulky}
		o.Compaction.Strategy, o.Compaction.Enabled = compact.ShakeOut, true
		o.Compaction.ThresholdTokens, o.Compaction.KeepRecentTokens, o.Compaction.ReserveTokens = 90_000, 1000, 1000
		handletest.On(o).OnArtifact = func(kind, text string) (string, error) {
			ref := "artifact://" + kind
			kept[ref] = text
			return ref, nil
		}
	}, calls(`c1 dump {"path":"x"}`), say("seen"), say(long(60_000)), say("and now?"))
	r.prompt("dump it", agent.ReasonDone)
	r.prompt("write something long", agent.ReasonDone)
	r.prompt("go on", agent.ReasonDone)
	events := r.seen(session.Pruned)
	if len(events) != 1 || events[0].Data.(*session.CompactionInfo).Reason != "shake" || events[0].Data.(*session.CompactionInfo).After >= events[0].Data.(*session.CompactionInfo).Before*3/4 {
		t.Fatalf("events %+v", events)
	}
	if len(kept) != 1 || !strings.Contains(kept["artifact://shake"], "0123456789 0123456789") {
		t.Errorf("%d artifacts", len(kept))
	}
	last := r.srv.Requests()[3]
	if i := slices.IndexFunc(last.Messages, func(m llm.Message) bool { return strings.Contains(m.Text(), "artifact://shake") }); i < 0 {
		t.Error("the model is not told where the output is")
	}
	lawful(t, last)
	r.clean()
}

// A server for summaries writes them; where it fails, the model does.
func TestSummariserOfItsOwn(t *testing.T) {
	var fail error
	asked := 0
	r := start(t, formats()[0], func(_ *rig, o *session.Options) {
		o.Compaction = small()
		o.Summariser = func(_ context.Context, system, prompt string, _ int) (string, error) {
			asked++
			if system == "" || prompt == "" {
				t.Error("it is asked nothing")
			}
			return "FROM AFAR", fail
		}
	}, say("one"), say("two"), say("three"), say("SUMMARY"), say("in short"))
	r.prompt(long(900), agent.ReasonDone)
	r.prompt("second", agent.ReasonDone)
	if err := r.Compact(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	if got := said(r.Messages())[0]; !strings.Contains(got, "FROM AFAR") || asked == 0 || len(r.srv.Requests()) != 2 {
		t.Errorf("asked %d times; the model gets %q", asked, got)
	}
	fail = errors.New("no route to it")
	r.prompt(long(900), agent.ReasonDone)
	if err := r.Compact(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	if got := said(r.Messages())[0]; !strings.Contains(got, "SUMMARY") {
		t.Errorf("the model gets %q", got)
	}
	if w := r.warned(); len(w) == 0 || !strings.Contains(w[0], "no route to it") {
		t.Errorf("warnings %q", w)
	}
}

// A conversation that rests is condensed, once, if that is wanted.
func TestIdleCompaction(t *testing.T) {
	r := start(t, formats()[0], func(_ *rig, o *session.Options) {
		o.Compaction = small()
		o.Compaction.IdleEnabled, o.Compaction.IdleThresholdTokens, o.Compaction.IdleTimeout = true, 900, time.Millisecond
	}, say("one"), say(long(900)), say("SUMMARY"), say("in short"))
	feed := r.Feed(session.Cursor{})
	r.prompt(long(400), agent.ReasonDone)
	r.prompt("second", agent.ReasonDone)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for {
		e, err := feed.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if e.Type == session.CompactionEnd {
			if e.Data.(*session.CompactionInfo).Reason != "idle" || e.Data.(*session.CompactionInfo).Error != "" {
				t.Errorf("%+v", e.Data.(*session.CompactionInfo))
			}
			return
		}
	}
}

// A prompt does not wait for such a compaction, nor is it refused.
func TestPromptWakes(t *testing.T) {
	begun := make(chan struct{})
	var once sync.Once
	r := start(t, formats()[0], func(_ *rig, o *session.Options) {
		o.Compaction = small()
		o.Compaction.IdleEnabled, o.Compaction.IdleThresholdTokens, o.Compaction.IdleTimeout = true, 900, time.Millisecond
		o.Summariser = func(ctx context.Context, _, _ string, _ int) (string, error) {
			once.Do(func() { close(begun) })
			<-ctx.Done()
			return "", ctx.Err()
		}
	}, say("one"), say(long(900)), say("three"))
	r.prompt(long(400), agent.ReasonDone)
	r.prompt("second", agent.ReasonDone)
	<-begun
	r.prompt("third", agent.ReasonDone)
	r.clean()
}

// A compaction of a conversation that rests is tried once, however it ends, until
// something happens again: each attempt costs a request.
func TestIdleCompactionIsNotRepeated(t *testing.T) {
	for name, summary := range map[string]llmtest.Turn{
		"refused": refused(llm.ErrInvalidRequest, "no"),
		"blank":   say(" "),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := startLocal(t, func(_ *rig, o *session.Options) {
					o.Compaction = small()
					o.Compaction.IdleEnabled, o.Compaction.IdleThresholdTokens, o.Compaction.IdleTimeout = true, 900, time.Minute
				}, say("one"), say(long(900)), summary, say("three"), summary, summary)
				defer r.Close()
				r.prompt(long(400), agent.ReasonDone)
				r.prompt("second", agent.ReasonDone)
				<-time.After(time.Hour)
				if n := len(r.srv.Requests()); n != 3 {
					t.Fatalf("%d requests for two prompts and one compaction", n)
				}
				r.prompt("third", agent.ReasonDone)
				<-time.After(time.Hour)
				if n := len(r.seen(session.CompactionStart)); n != 2 {
					t.Errorf("%d compactions were begun, after another prompt; want 2", n)
				}
			})
		})
	}
}

// What a person does with the tree does not wait for such a compaction, nor is it
// refused.
func TestTreeWakes(t *testing.T) {
	for name, do := range map[string]func(r *rig) error{
		"navigate": func(r *rig) error {
			_, err := r.Navigate(context.Background(), r.Log().Nodes()[2].ID, session.Navigation{})
			return err
		},
		"handoff": func(r *rig) error {
			_, err := r.Handoff(context.Background(), "")
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			begun := make(chan struct{})
			var once sync.Once
			r := start(t, formats()[0], func(_ *rig, o *session.Options) {
				o.Compaction = small()
				o.Compaction.IdleEnabled, o.Compaction.IdleThresholdTokens, o.Compaction.IdleTimeout = true, 900, time.Millisecond
				o.Summariser = func(ctx context.Context, _, _ string, _ int) (string, error) {
					once.Do(func() { close(begun) })
					<-ctx.Done()
					return "", ctx.Err()
				}
			}, say("one"), say(long(900)), say("a document"))
			r.prompt(long(400), agent.ReasonDone)
			r.prompt("second", agent.ReasonDone)
			<-begun
			if err := do(r); err != nil {
				t.Error(err)
			}
		})
	}
}

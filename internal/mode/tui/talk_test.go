package tui

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/internal/mode/tui/card"
	"github.com/burin-dev/burin/internal/mode/tui/theme"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/tool"
	"github.com/burin-dev/burin/transcript"
)

// scrollback takes what a talk lets go.
type scrollback struct{ lines []string }

func (s *scrollback) Commit(lines []string) error {
	for _, l := range lines {
		s.lines = append(s.lines, ansi.Strip(l))
	}
	return nil
}

func (s *scrollback) CommitPicture(string, int) error { return nil }

func talkOf(t *testing.T) *talk {
	t.Helper()
	dark, ok := theme.Builtin(theme.DefaultDark)
	if !ok {
		t.Fatal("there is no default theme")
	}
	talk := newTalk()
	talk.look.View = card.View{Width: 60, Styles: theme.NewStyles(dark, theme.NoStyle)}
	return talk
}

func event(e agent.Event) *session.Event { return &session.Event{Event: e} }

// stream plays an answer as the session tells it.
func stream(m llm.Message, piece int) []*session.Event {
	events := []*session.Event{event(agent.Event{Type: agent.MessageStart, Message: &llm.Message{Role: llm.RoleAssistant}})}
	update := func(e llm.Event) {
		events = append(events, event(agent.Event{Type: agent.MessageUpdate, Stream: e}))
	}
	for i, b := range m.Content {
		switch b := b.(type) {
		case llm.Text:
			update(llm.Event{Type: llm.EventTextStart, Index: i})
			for s := b.Text; s != ""; s = s[min(piece, len(s)):] {
				update(llm.Event{Type: llm.EventTextDelta, Index: i, Delta: s[:min(piece, len(s))]})
			}
			update(llm.Event{Type: llm.EventTextEnd, Index: i})
		case llm.Thinking:
			update(llm.Event{Type: llm.EventThinkingDelta, Index: i, Delta: b.Text})
			update(llm.Event{Type: llm.EventThinkingEnd, Index: i})
		case llm.ToolCall:
			update(llm.Event{Type: llm.EventToolCallStart, Index: i, Block: llm.ToolCall{ID: b.ID, Name: b.Name}})
			update(llm.Event{Type: llm.EventToolCallDelta, Index: i, Delta: b.Arguments})
		}
	}
	return append(events, event(agent.Event{Type: agent.MessageEnd, Message: &m}))
}

func answerOf() llm.Message {
	return llm.Message{Role: llm.RoleAssistant, StopReason: llm.StopToolUse, Content: []llm.Block{
		llm.Thinking{Text: "I think.\nAnd think."},
		llm.Text{Text: "# Title\n\nfirst paragraph\n\n- one\n- two\n\nlast words"},
		llm.ToolCall{ID: "a", Name: "bash", Arguments: `{"command":"ls"}`},
		llm.ToolCall{ID: "b", Name: "bash", Arguments: `{"command":"pwd"}`},
	}}
}

func endOf(id, output string, failed bool) *session.Event {
	return event(agent.Event{
		Type: agent.ToolEnd, Call: &tool.Call{ID: id, Name: "bash", Arguments: json.RawMessage(`{"command":"x"}`)}, Label: "Run",
		Result: &tool.Result{IsError: failed, Content: []llm.Block{llm.Text{Text: output}}},
	})
}

// Whatever pieces come, and whenever the lines are taken, the scrollback holds the same
// in the end.
func TestTalkIsTheSameHoweverItComes(t *testing.T) {
	var want []string
	for _, piece := range []int{1000, 1, 7} {
		for _, often := range []bool{false, true} {
			talk, out := talkOf(t), &scrollback{}
			for _, e := range append(stream(answerOf(), piece), endOf("b", "second", false), endOf("a", "first", true)) {
				talk.event(e)
				if often {
					talk.rows(nil)
					if err := talk.settle(out); err != nil {
						t.Fatal(err)
					}
				}
			}
			if err := talk.settle(out); err != nil {
				t.Fatal(err)
			}
			if rest := talk.rows(nil); len(rest) > 0 {
				t.Errorf("in pieces of %d: left over: %q", piece, rest)
			}
			if want == nil {
				want = out.lines
				text := strings.Join(want, "\n")
				if strings.Index(text, "first paragraph") > strings.Index(text, "last words") || strings.Index(text, "first\n") > strings.Index(text, "second") {
					t.Errorf("the order is wrong:\n%s", text)
				}
				continue
			}
			if diff := cmp.Diff(want, out.lines); diff != "" {
				t.Errorf("in pieces of %d, taken often: %v (-want +got):\n%s", piece, often, diff)
			}
		}
	}
}

// Pieces that are lost come with the whole message, once.
func TestTalkLosesNothingThatTheWholeMessageHas(t *testing.T) {
	for lostFrom := range 12 {
		talk, out := talkOf(t), &scrollback{}
		events := stream(answerOf(), 5)
		for i, e := range events {
			if i > lostFrom && i < len(events)-1 {
				talk.lose()
				continue
			}
			talk.event(e)
			if err := talk.settle(out); err != nil {
				t.Fatal(err)
			}
		}
		talk.event(endOf("a", "x", false))
		talk.event(endOf("b", "y", false))
		if err := talk.settle(out); err != nil {
			t.Fatal(err)
		}
		text := strings.Join(out.lines, "\n")
		for _, words := range []string{"Title", "first paragraph", "one", "last words", "Thinking"} {
			if n := strings.Count(text, words); n != 1 {
				t.Errorf("lost from event %d on: %q is there %d times:\n%s", lostFrom, words, n, text)
			}
		}
	}
}

// brokenOff is an answer of which a piece came.
func brokenOff(words string) llm.Message {
	return llm.Message{
		Role: llm.RoleAssistant, StopReason: llm.StopError, Content: []llm.Block{llm.Text{Text: words}},
		Error: &llm.Error{Kind: llm.ErrTransport, Message: "connection reset", Provider: "anthropic"},
	}
}

// Behind a piece of an answer that was tried again stands a row that says so; where
// nothing came, the same words do not stand there twice, and nothing has to be said.
func TestTalkMarksPiecesOfAnswersThatWereTriedAgain(t *testing.T) {
	tests := map[string]struct {
		first string
		then  func(*talk)
		want  []string
	}{
		"tried again": {
			"one two", func(t *talk) { t.forgive(); playAll(t, stream(sayMessage("one two three"), 100)) },
			[]string{"one two", "", "· broke off: anthropic: connection reset; tried again", "", "one two three"},
		},
		"stopped before": {
			"one two", func(t *talk) { t.forgive(); t.gaveUp() },
			[]string{"one two", "", "· broke off: anthropic: connection reset", "", "! Stopped."},
		},
		"the end": {
			"one two", func(t *talk) { t.event(event(agent.Event{Type: agent.AgentEnd})); t.confirm() },
			[]string{"one two", "", "✗ anthropic: connection reset"},
		},
		"nothing came": {
			"", func(t *talk) { t.forgive(); playAll(t, stream(sayMessage("one two three"), 100)) },
			[]string{"one two three"},
		},
	}
	for name, tt := range tests {
		talk, out := talkOf(t), &scrollback{}
		playAll(talk, stream(brokenOff(tt.first), 3))
		if err := talk.settle(out); err != nil {
			t.Fatal(err)
		}
		tt.then(talk)
		if err := talk.settle(out); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, out.lines); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if rest := talk.rows(nil); len(rest) > 0 {
			t.Errorf("%s: left over: %q", name, rest)
		}
	}
}

func playAll(t *talk, events []*session.Event) {
	for _, e := range events {
		t.event(e)
	}
}

func sayMessage(words string) llm.Message {
	return llm.Message{Role: llm.RoleAssistant, StopReason: llm.StopEnd, Content: []llm.Block{llm.Text{Text: words}}}
}

// A call that has no result holds back what follows it; nothing overtakes.
func TestTalkKeepsOrder(t *testing.T) {
	talk, out := talkOf(t), &scrollback{}
	for _, e := range stream(answerOf(), 100) {
		talk.event(e)
	}
	talk.notice(card.Info, "a notice")
	talk.event(endOf("b", "second", false))
	if err := talk.settle(out); err != nil {
		t.Fatal(err)
	}
	if text := strings.Join(out.lines, "\n"); strings.Contains(text, "second") || strings.Contains(text, "notice") {
		t.Errorf("something overtook the first call:\n%s", text)
	}
	if live := strings.Join(talk.rows(nil), "\n"); !strings.Contains(live, "second") || !strings.Contains(live, "a notice") {
		t.Errorf("what waits is not shown:\n%s", live)
	}
	talk.abandon()
	if err := talk.settle(out); err != nil {
		t.Fatal(err)
	}
	if text := strings.Join(out.lines, "\n"); !strings.Contains(text, "a notice") {
		t.Errorf("what was held back is not there in the end:\n%s", text)
	}
}

// A piece costs the same at the end of a long answer as at its beginning.
func BenchmarkTalkToken(b *testing.B) {
	for _, before := range []int{0, 50_000} {
		b.Run(fmt.Sprint(before), func(b *testing.B) {
			dark, _ := theme.Builtin(theme.DefaultDark)
			talk, out := newTalk(), &discard{}
			talk.look.View = card.View{Width: 100, Styles: theme.NewStyles(dark, theme.TrueColor)}
			talk.event(event(agent.Event{Type: agent.MessageStart, Message: &llm.Message{Role: llm.RoleAssistant}}))
			token := func(i int) {
				delta := "word "
				if i%60 == 59 {
					delta = "end.\n\n"
				}
				talk.event(event(agent.Event{Type: agent.MessageUpdate, Stream: llm.Event{Type: llm.EventTextDelta, Delta: delta}}))
			}
			for i := range before {
				token(i)
				if i%100 == 0 {
					_ = talk.settle(out)
				}
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				token(i)
				if i%100 == 0 { // a frame
					_ = talk.settle(out)
					talk.rows(nil)
				}
			}
		})
	}
}

type discard struct{}

func (*discard) Commit([]string) error           { return nil }
func (*discard) CommitPicture(string, int) error { return nil }

// Events are read from before the transcript is: what both tell is shown once, calls without a
// result end with their events, and those of an answer before never ended.
func TestReplayWhileWorking(t *testing.T) {
	log, err := transcript.Create(transcript.CreateFile(filepath.Join(t.TempDir(), "s.jsonl")), transcript.Header{CWD: "/"}, transcript.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	var events []*session.Event
	add := func(m llm.Message) {
		id, err := log.Append(transcript.Entry{Type: transcript.TypeMessage, Message: &m})
		if err != nil {
			t.Fatal(err)
		}
		if m.Role == llm.RoleAssistant {
			events = append(events, event(agent.Event{Type: agent.MessageStart, Message: &llm.Message{Role: llm.RoleAssistant}}))
		}
		e := event(agent.Event{Type: agent.MessageEnd, Message: &m})
		e.EntryID = id
		events = append(events, e)
	}
	lost := answerOf()
	lost.Content = []llm.Block{llm.ToolCall{ID: "a", Name: "bash", Arguments: `{"command":"lost"}`}}
	add(lost)
	add(llm.UserText("go on"))
	add(answerOf())
	events = append(events, endOf("b", "second", false))
	add(llm.Message{Role: llm.RoleToolResult, ToolCallID: "b", Content: []llm.Block{llm.Text{Text: "second"}}})

	talk, out := talkOf(t), &scrollback{}
	talk.replay(log, beginning{past: recent(log), working: true})
	events = append(events, endOf("a", "first", false))
	for _, e := range append(events, stream(answerOf(), 100)...) {
		if !talk.again(e) {
			talk.event(e)
		}
	}
	for _, e := range []*session.Event{endOf("a", "third", false), endOf("b", "fourth", false)} { // the same ids
		if !talk.again(e) {
			talk.event(e)
		}
	}
	if err := talk.settle(out); err != nil {
		t.Fatal(err)
	}
	text := strings.Join(out.lines, "\n")
	for what, n := range map[string]int{"did not end": 1, "go on": 1, "Title": 2, "first paragraph": 2, "first\n": 1, "second": 1, "third": 1, "fourth": 1} {
		if got := strings.Count(text+"\n", what); got != n {
			t.Errorf("%q stands there %d times, want %d:\n%s", what, got, n, text)
		}
	}
	if left := talk.rows(nil); len(left) > 0 {
		t.Errorf("not final: %q", left)
	}
}

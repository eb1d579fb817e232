package llm_test

import (
	"testing"

	"github.com/burin-dev/burin/llm"
	"github.com/google/go-cmp/cmp"
)

func drain(b *llm.Builder) (events []llm.Event) {
	for {
		ev, ok := b.Next()
		if !ok {
			return events
		}
		events = append(events, ev)
	}
}

func types(events []llm.Event) (out []llm.EventType) {
	for _, ev := range events {
		out = append(out, ev.Type)
	}
	return out
}

func last(events []llm.Event) *llm.Message { return events[len(events)-1].Message }

func TestBuilderOrder(t *testing.T) {
	b := llm.NewBuilder(llm.Message{Provider: "p"})
	th := b.OpenThinking()
	b.Delta(th, "hm")
	b.AddSignature(th, "sig")
	b.CloseBlock(th)
	b.CloseBlock(th)
	one, two := b.OpenToolCall("1", "read"), b.OpenToolCall("2", "grep")
	b.Delta(one, `{"path":`)
	b.Delta(two, `{}`)
	b.Delta(one, `"a"}`)
	b.Done(llm.StopToolUse)
	b.Done(llm.StopEnd)
	b.Fail(&llm.Error{Kind: llm.ErrTransport})
	b.Delta(one, "late")

	events := drain(b)
	want := []llm.EventType{
		"start", "thinking_start", "thinking_delta", "thinking_end", "toolcall_start", "toolcall_start",
		"toolcall_delta", "toolcall_delta", "toolcall_delta", "toolcall_end", "toolcall_end", "done",
	}
	if diff := cmp.Diff(want, types(events)); diff != "" {
		t.Fatal(diff)
	}
	wantContent := []llm.Block{
		llm.Thinking{Text: "hm", Signature: "sig"},
		llm.ToolCall{ID: "1", Name: "read", Arguments: `{"path":"a"}`},
		llm.ToolCall{ID: "2", Name: "grep", Arguments: `{}`},
	}
	if diff := cmp.Diff(wantContent, last(events).Content); diff != "" {
		t.Error(diff)
	}
}

func TestBuilderHoldsBackHalfCharacters(t *testing.T) {
	const text = "aé日😀z"
	for n := 1; n <= 4; n++ {
		b := llm.NewBuilder(llm.Message{})
		i := b.OpenText()
		for s := text; s != ""; {
			k := min(n, len(s))
			b.Delta(i, s[:k])
			s = s[k:]
		}
		b.Done(llm.StopEnd)
		joined := ""
		for _, ev := range drain(b) {
			joined += ev.Delta
		}
		if joined != text {
			t.Errorf("pieces of %d bytes: %q", n, joined)
		}
	}
	b := llm.NewBuilder(llm.Message{})
	i := b.OpenText()
	b.Delta(i, "a\xf0\x9f")
	b.Delta(i, "b\xff")
	b.Delta(i, "\xe6")
	b.Done(llm.StopEnd)
	if got := last(drain(b)).Text(); got != "a\uFFFDb\uFFFD\uFFFD" {
		t.Errorf("invalid bytes became %q", got)
	}
}

// A token limit inside a call must not leave a call that can run.
func TestBuilderLengthCutsTheLastCall(t *testing.T) {
	for args, defect := range map[string]llm.Defect{
		``:               llm.DefectCut,
		`{"path":"a`:     llm.DefectCut,
		`{"path":"a"}`:   "",
		` {"path":"a"} `: "",
	} {
		for _, closed := range []bool{true, false} {
			b := llm.NewBuilder(llm.Message{})
			first := b.OpenToolCall("0", "ls")
			b.CloseBlock(first)
			i := b.OpenToolCall("1", "rm")
			b.Delta(i, args)
			if closed {
				b.CloseBlock(i)
			}
			b.Done(llm.StopLength)
			m := last(drain(b))
			if got := m.Content[1].(llm.ToolCall); got.Defect != defect {
				t.Errorf("arguments %q, closed %v: defect %q, want %q", args, closed, got.Defect, defect)
			}
			if got := m.Content[0].(llm.ToolCall); got.Defect != "" {
				t.Errorf("the finished call before it got defect %q", got.Defect)
			}
		}
	}
}

func TestBuilderFailKeepsWhatCame(t *testing.T) {
	b := llm.NewBuilder(llm.Message{Provider: "acme"})
	i := b.OpenText()
	b.Delta(i, "half")
	c := b.OpenToolCall("1", "write")
	b.Delta(c, `{}`)
	b.Fail(&llm.Error{Kind: llm.ErrAborted})
	events := drain(b)
	want := []llm.EventType{"start", "text_start", "text_delta", "toolcall_start", "toolcall_delta", "error"}
	if diff := cmp.Diff(want, types(events)); diff != "" {
		t.Error(diff)
	}
	m := last(events)
	wantContent := []llm.Block{llm.Text{Text: "half"}, llm.ToolCall{ID: "1", Name: "write", Arguments: "{}", Defect: llm.DefectCut}}
	if diff := cmp.Diff(wantContent, m.Content); diff != "" {
		t.Error(diff)
	}
	if m.StopReason != llm.StopAborted || m.Error.Provider != "acme" {
		t.Errorf("stop %s, error %v", m.StopReason, m.Error)
	}
}

// The message of the start event belongs to the reader.
func TestBuilderStartIsNotChangedLater(t *testing.T) {
	b := llm.NewBuilder(llm.Message{})
	b.Usage().Input = 7
	b.Start()
	start, _ := b.Next()
	b.Usage().Output = 9
	b.CloseBlock(b.OpenText())
	b.Done(llm.StopEnd)
	if *start.Message.Usage != (llm.Usage{Input: 7}) || len(start.Message.Content) != 0 {
		t.Errorf("the start changed to %+v", start.Message)
	}
}

func TestBuilderStopReasonFollowsTheCalls(t *testing.T) {
	for _, tt := range []struct {
		call      bool
		say, want llm.StopReason
	}{
		{true, llm.StopEnd, llm.StopToolUse},
		{true, llm.StopToolUse, llm.StopToolUse},
		{false, llm.StopToolUse, llm.StopEnd},
		{false, llm.StopPause, llm.StopPause},
	} {
		b := llm.NewBuilder(llm.Message{})
		if tt.call {
			b.CloseBlock(b.OpenToolCall("1", "x"))
		}
		b.Done(tt.say)
		if got := last(drain(b)).StopReason; got != tt.want {
			t.Errorf("call %v, vendor says %s: %s, want %s", tt.call, tt.say, got, tt.want)
		}
	}
}

func TestBuilderFinalArguments(t *testing.T) {
	b := llm.NewBuilder(llm.Message{})
	i := b.OpenToolCall("1", "x")
	b.SetArguments(i, `{"a":1}`) // a server that sends no deltas
	b.CloseBlock(i)
	j := b.OpenToolCall("2", "y")
	b.Delta(j, `{"a"`)
	b.SetArguments(j, `{"a":2}`)
	b.SetArguments(j, `{"b":3}`) // contradicts what came: the final word counts
	b.Done(llm.StopToolUse)
	events := drain(b)
	deltas := ""
	for _, ev := range events {
		if ev.Index == 0 {
			deltas += ev.Delta
		}
	}
	if deltas != `{"a":1}` {
		t.Errorf("deltas %q", deltas)
	}
	if got := last(events).Content[1].(llm.ToolCall).Arguments; got != `{"b":3}` {
		t.Errorf("final arguments %q", got)
	}
}

func BenchmarkBuilderDelta(b *testing.B) {
	const deltas = 1000 // of one answer, whose growing text is part of the cost
	b.ReportAllocs()
	for b.Loop() {
		bl := llm.NewBuilder(llm.Message{})
		i := bl.OpenText()
		for range deltas {
			bl.Delta(i, "word ")
			for ev, ok := bl.Next(); ok; ev, ok = bl.Next() {
				_ = ev
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*deltas), "ns/delta")
}

// An error that several streams end with belongs to none of them.
func TestFailKeepsTheCallersError(t *testing.T) {
	shared := &llm.Error{Kind: llm.ErrAuth, Message: "log in first"}
	for _, p := range []string{"a", "b"} {
		_, err := llm.Collect(llm.Failed(llm.Message{Provider: p}, shared))
		if want := p + ": log in first"; err.Error() != want {
			t.Errorf("%q, want %q", err, want)
		}
	}
	if shared.Provider != "" {
		t.Error("the caller's error was changed")
	}
}

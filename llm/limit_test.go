package llm_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/burin-dev/burin/llm"
)

func TestAnswerLimit(t *testing.T) {
	const mib = 1 << 20
	for name, tt := range map[string]struct {
		r    llm.Request
		want int
	}{
		"nothing known":     {llm.Request{}, 9 * mib},
		"model":             {llm.Request{Model: &llm.Model{MaxOutput: 16384}}, 2 * mib},
		"request":           {llm.Request{Model: &llm.Model{MaxOutput: 8192}, MaxTokens: 16384}, 2 * mib},
		"thinking on top":   {llm.Request{MaxTokens: 16384, Thinking: llm.Thought{Budget: 16384}}, 3 * mib},
		"thinking by level": {llm.Request{MaxTokens: 12288, Thinking: llm.Thought{Level: llm.LevelLow}}, 2 * mib},
		"absurd":            {llm.Request{MaxTokens: 1 << 62, Thinking: llm.Thought{Budget: 1 << 62}}, 16 * mib},
		"absurd thinking":   {llm.Request{MaxTokens: 1, Thinking: llm.Thought{Budget: 1 << 62}}, 16 * mib},
	} {
		if got := llm.AnswerLimit(&tt.r); got != tt.want {
			t.Errorf("%s: %d bytes, want %d", name, got, tt.want)
		}
	}
}

// Whatever an endpoint sends without end, the answer ends and holds what came.
func TestBuilderLimit(t *testing.T) {
	const limit = 1 << 20
	piece := strings.Repeat("x", 1000)
	for name, feed := range map[string]func(b *llm.Builder) func(){
		"text":      func(b *llm.Builder) func() { i := b.OpenText(); return func() { b.Delta(i, piece) } },
		"thinking":  func(b *llm.Builder) func() { i := b.OpenThinking(); return func() { b.Delta(i, piece) } },
		"arguments": func(b *llm.Builder) func() { i := b.OpenToolCall("a", "read"); return func() { b.Delta(i, piece) } },
		"replaced arguments": func(b *llm.Builder) func() {
			i, n := b.OpenToolCall("a", "read"), 0
			return func() { n++; b.SetArguments(i, string(rune('a'+n%2))+piece) }
		},
		"empty blocks":    func(b *llm.Builder) func() { return func() { b.CloseBlock(b.OpenText()) } },
		"calls":           func(b *llm.Builder) func() { return func() { b.OpenToolCall("a", "read") } },
		"signature":       func(b *llm.Builder) func() { i := b.OpenThinking(); return func() { b.AddSignature(i, piece) } },
		"new signatures":  func(b *llm.Builder) func() { i := b.OpenThinking(); return func() { b.Sign(i, piece) } },
		"encrypted":       func(b *llm.Builder) func() { i := b.OpenThinking(); return func() { b.Redact(i, piece) } },
		"citations":       func(b *llm.Builder) func() { i := b.OpenText(); return func() { b.Cite(i, llm.Citation{Text: piece}) } },
		"empty citations": func(b *llm.Builder) func() { i := b.OpenText(); return func() { b.Cite(i, llm.Citation{}) } },
		"names":           func(b *llm.Builder) func() { i := b.OpenToolCall("a", ""); return func() { b.Name(i, piece, piece) } },
		"items": func(b *llm.Builder) func() {
			return func() { b.Opaque("server_tool_use", json.RawMessage(`"`+piece+`"`)) }
		},
		"held by a codec": func(b *llm.Builder) func() { return func() { b.Hold(len(piece)) } },
	} {
		t.Run(name, func(t *testing.T) {
			b := llm.NewBuilder(llm.Message{})
			b.Limit(limit)
			text := b.OpenText()
			b.Delta(text, "first")
			b.CloseBlock(text)
			call := b.OpenToolCall("whole", "read")
			b.Delta(call, `{"path":"half`)
			more := feed(b)
			var m *llm.Message
			for n := 0; m == nil; n++ {
				if n > 200_000 {
					t.Fatal("the answer does not end")
				}
				more()
				for ev, ok := b.Next(); ok; ev, ok = b.Next() {
					if ev.Type.Terminal() {
						m = ev.Message
					}
				}
			}
			if m.StopReason != llm.StopError || llm.KindOf(m.Error) != llm.ErrAnswerLimit || m.Error.Retryable() {
				t.Fatalf("ended with %s: %v", m.StopReason, m.Error)
			}
			if m.Content[0].(llm.Text).Text != "first" {
				t.Errorf("kept %v", m.Content[0])
			}
			for _, c := range m.ToolCalls() {
				if _, _, err := c.Object(); err == nil {
					t.Errorf("%v may run", c)
				}
			}
			size := len(m.Content)
			more() // the rest of the codec's frame
			b.Done(llm.StopEnd)
			if ev, ok := b.Next(); ok {
				t.Errorf("%s after the end", ev.Type)
			}
			if len(m.Content) != size {
				t.Errorf("the message grew after its end")
			}
		})
	}
}

// A signature of many pieces costs its length, not its square.
func TestBuilderSignaturePieces(t *testing.T) {
	b := llm.NewBuilder(llm.Message{})
	i := b.OpenThinking()
	allocs := testing.AllocsPerRun(1, func() {
		for range 10_000 {
			b.AddSignature(i, "0123456789")
		}
	})
	if allocs > 100 {
		t.Errorf("%v allocations for 10,000 pieces", allocs)
	}
	b.Done(llm.StopEnd)
	if got := last(drain(b)).Content[0].(llm.Thinking).Signature; len(got) != 200_000 {
		t.Errorf("%d bytes", len(got))
	}
}

package acp

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/burin-dev/burin/agent"
	proto "github.com/burin-dev/burin/internal/acp"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/tool"
)

// still is a session in which nothing happens.
type still struct{ session.Handle }

func (still) Facts() session.Facts {
	return session.Facts{Stats: session.Stats{Window: 200_000, Context: 1000, Known: true}}
}
func (still) Owns() bool { return true }

// An event costs less than 20 µs, from the session to the line: a piece of an answer, and a
// call from its beginning to its end.
func BenchmarkEvent(b *testing.B) {
	c := proto.New(io.Discard, nil)
	ended := make(chan struct{})
	r, w := io.Pipe()
	go func() {
		_ = c.Serve(context.Background(), r, func() {})
		close(ended)
	}()
	defer func() {
		w.Close()
		<-ended
	}()
	ctx := context.Background()
	tell := newTeller(still{}, "/project", &proto.InitializeRequest{}, func(string) bool { return false })
	send := func(e *session.Event) {
		for _, u := range tell.translate(ctx, e) {
			if err := c.Notify(ctx, proto.MethodSessionUpdate, proto.Update{SessionID: "s", Update: u}); err != nil {
				b.Fatal(err)
			}
		}
	}
	seq := uint64(0)
	event := func(e agent.Event) *session.Event {
		seq++
		return &session.Event{Seq: seq, Event: e}
	}
	b.Run("piece", func(b *testing.B) {
		b.ReportAllocs()
		send(event(agent.Event{Type: agent.MessageStart, Message: &llm.Message{Role: llm.RoleAssistant}}))
		for range b.N {
			send(event(agent.Event{Type: agent.MessageUpdate, Stream: llm.Event{Type: llm.EventTextDelta, Delta: "some words "}}))
		}
	})
	b.Run("call", func(b *testing.B) {
		b.ReportAllocs()
		call := &tool.Call{ID: "c", Name: "bash", Arguments: json.RawMessage(`{"command":"go test ./..."}`)}
		result := tool.Text(strings.Repeat("ok  package\n", 50)).WithDetails(map[string]int{"exitCode": 0})
		for range b.N { // three events
			send(event(agent.Event{Type: agent.ToolStart, Call: call, Label: "Bash"}))
			send(event(agent.Event{Type: agent.ToolUpdate, Call: call, Result: result}))
			send(event(agent.Event{Type: agent.ToolEnd, Call: call, Result: result}))
		}
	})
}

// A client that loses pieces, as it is slow, has the whole message in the end.
func TestLostPieces(t *testing.T) {
	for _, tt := range []struct {
		name  string
		lost  int // of five pieces, which is the first that is lost; 5: none
		after bool
	}{{"none", 5, false}, {"all", 0, false}, {"the end", 3, false}, {"some in between", 2, true}} {
		t.Run(tt.name, func(t *testing.T) {
			tell := newTeller(still{}, "/project", &proto.InitializeRequest{}, func(string) bool { return false })
			pieces := []string{"one ", "two ", "three ", "four ", "five"}
			var said strings.Builder
			send := func(seq uint64, e agent.Event) {
				for _, u := range tell.translate(t.Context(), &session.Event{Seq: seq, Event: e}) {
					if c, ok := u.(proto.Chunk); ok {
						said.WriteString(c.Content.(proto.TextBlock).Text)
					}
				}
			}
			send(1, agent.Event{Type: agent.MessageStart, Message: &llm.Message{Role: llm.RoleAssistant}})
			for i, p := range pieces {
				if i < tt.lost || tt.after && i > tt.lost {
					send(uint64(i+2), agent.Event{Type: agent.MessageUpdate, Stream: llm.Event{Type: llm.EventTextDelta, Delta: p}})
				}
			}
			send(9, agent.Event{Type: agent.MessageEnd, Message: &llm.Message{Role: llm.RoleAssistant, Content: []llm.Block{llm.Text{Text: strings.Join(pieces, "")}}}})
			if got := said.String(); got != strings.Join(pieces, "") {
				t.Errorf("it heard %q", got)
			}
		})
	}
}

// Whatever a client sends, burin answers each request once and ends when the client does.
func FuzzFace(f *testing.F) {
	for _, m := range methods() {
		f.Add(m.name, `{"sessionId":"x","cwd":"/","prompt":[{"type":"text","text":"x"}],"modeId":"plan"}`)
	}
	f.Add("initialize", `{"protocolVersion":1,"clientCapabilities":{"fs":{"readTextFile":true},"_meta":{"burin":{"events":true}}}}`)
	f.Fuzz(func(t *testing.T, method, params string) {
		if !json.Valid([]byte(params)) || strings.ContainsAny(params, "\n\r") {
			return
		}
		name, err := json.Marshal(method)
		if err != nil {
			return
		}
		in := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}` + "\n" +
			`{"jsonrpc":"2.0","id":2,"method":` + string(name) + `,"params":` + params + `}` + "\n" +
			`{"jsonrpc":"2.0","method":` + string(name) + `,"params":` + params + `}` + "\n"
		var out strings.Builder
		no := errors.New("no")
		err = Run(t.Context(), Options{
			In: strings.NewReader(in), Out: &out, Dir: "/", Log: func(string) {},
			Open:   func(context.Context, Wish) (session.Handle, error) { return nil, no },
			Folder: func(string) (Folder, error) { return nil, no },
		})
		if n := strings.Count(out.String(), "\n"); err != nil || n < 2 || n > 3 { // a notification without a method is answered too
			t.Errorf("%v: %q", err, out.String())
		}
	})
}

// Whatever a prompt holds, it is a message or an error.
func FuzzPrompt(f *testing.F) {
	f.Add(`[{"type":"text","text":"x"},{"type":"image","data":"AAAA","mimeType":"image/png"}]`)
	f.Add(`[{"type":"resource","resource":{"uri":"file:///p/a","text":"x"}},{"type":"resource_link","uri":"http://x","name":"n"}]`)
	f.Add(`[{"type":"resource","resource":{"uri":"%zz","blob":"!!!"}}]`)
	f.Fuzz(func(t *testing.T, prompt string) {
		var blocks []proto.ContentBlock
		if json.Unmarshal([]byte(prompt), &blocks) != nil || strings.Contains(strings.ToLower(prompt), "file:") {
			return
		}
		if m, err := message(blocks, "/project"); err == nil && len(m.Content) == 0 {
			t.Error("an empty prompt is a message")
		}
	})
}

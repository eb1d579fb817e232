package rpc

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/burin-dev/burin/agent"
	files "github.com/burin-dev/burin/internal/customize/command"
	"github.com/burin-dev/burin/internal/customize/skill"
	"github.com/burin-dev/burin/internal/host/slash"
	"github.com/burin-dev/burin/internal/model/connect"
	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/anthropic"
	"github.com/burin-dev/burin/llm/llmtest"
	"github.com/burin-dev/burin/llm/wire"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/transcript"
)

// A line that is too long is refused with the id in its beginning, and the next one is
// carried out.
func TestLongLine(t *testing.T) {
	pacetest.Costly(t)
	c := newClient(t, live(t, hello), Options{})
	go c.send(`{"id":"long","type":"get_state","x":"`+strings.Repeat("y", MaxLine)+`"}`, `{"id":"short","type":"get_state"}`)
	for _, want := range []string{
		`{"id":"long","type":"response","command":"parse","success":false,"error":"the line is longer than 64 MB"}`,
		`{"id":"short","type":"response","command":"get_state","success":true`,
	} {
		if !c.out.Scan() || !strings.HasPrefix(c.out.Text(), want) {
			t.Errorf("got %.200s, want %s", c.out.Text(), want)
		}
	}
	c.end()
}

func TestIDOf(t *testing.T) {
	for line, want := range map[string]string{
		`{"id":"1","type":`: `"1"`, `{"type":"x","id":7,"message":"`: "7", `{"a":{"id":"inner"},"id":"2"`: `"2"`,
		`{"id":{"x":1}`: "", `{"message":"\"id\":\"3\"`: "", `nonsense`: "", ``: "", `["id","4"]`: "", `{"id":"half`: "",
	} {
		if got := string(idOf([]byte(line))); got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
}

// nothing is a host that has no models, files or sessions.
type nothing struct{}

func (nothing) Models() (*connect.Models, error) { return nil, errors.New("no models") }
func (nothing) FileCommands() *files.Set         { return &files.Set{} }
func (nothing) Skills() *skill.Set               { return &skill.Set{} }
func (nothing) Archive() (Archive, error)        { return nil, errors.New("no archive") }

// live is a session in memory over a model that says one thing.
func live(t testing.TB, reply func(*llm.Request) []llm.Event) *session.Session {
	t.Helper()
	srv, err := llmtest.Serve(anthropic.Server{}, llmtest.Script{Turns: slices.Repeat([]llmtest.Turn{{Reply: reply}}, 10_000)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	log, err := transcript.Create(new(transcript.Memory), transcript.Header{CWD: "/work"}, transcript.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := session.New(session.Options{
		Client:  anthropic.New(anthropic.Options{Endpoint: wire.Endpoint{BaseURL: srv.URL}}),
		Request: llm.Request{Model: &llm.Model{ID: "m", Provider: "box", API: llm.APIAnthropic, ContextWindow: 200_000, MaxOutput: 1000}},
		Log:     log, Retry: session.Retry{Off: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func hello(*llm.Request) []llm.Event {
	return append(llmtest.Say("Hello, hello."), llmtest.Stop(llm.StopEnd, llm.Usage{Input: 10, Output: 2})...)
}

// client is a face and who talks to it.
type client struct {
	testing.TB
	in   *io.PipeWriter
	out  *bufio.Scanner
	done chan error
}

func newClient(t testing.TB, s *session.Session, o Options) *client {
	from, in := io.Pipe()
	out, to := io.Pipe()
	o.In, o.Out, o.Host = from, to, nothing{}
	o.Open = func(context.Context, Wish) (session.Handle, error) { return s.Face("client", true), nil }
	c := &client{TB: t, in: in, out: bufio.NewScanner(out), done: make(chan error, 1)}
	c.out.Buffer(nil, 16<<20)
	go func() {
		_, err := Run(t.Context(), o)
		to.Close() //nolint:errcheck // the reader sees the end
		c.done <- err
	}()
	return c
}

func (c *client) send(lines ...string) {
	if _, err := io.WriteString(c.in, strings.Join(lines, "\n")+"\n"); err != nil {
		c.Error(err)
	}
}

func (c *client) end() {
	c.in.Close() //nolint:errcheck // a pipe in memory
	for c.out.Scan() {
		continue
	}
	if err := <-c.done; err != nil {
		c.Error(err)
	}
}

// A command of burin's own that takes long holds up neither events nor other commands, and abort
// stops it.
func TestAbortStopsOwnCommand(t *testing.T) {
	begun := make(chan struct{})
	c := newClient(t, live(t, hello), Options{Own: slash.Own{Commit: func(ctx context.Context, _, arg string) (string, error) {
		close(begun)
		<-ctx.Done()
		return "", fmt.Errorf("%s: %w", arg, context.Cause(ctx))
	}}})
	until := func(want string) {
		t.Helper()
		for c.out.Scan() {
			if strings.Contains(c.out.Text(), want) {
				return
			}
		}
		t.Fatalf("%s never came", want)
	}
	c.send(`{"id":"1","type":"prompt","message":"/commit all of it"}`)
	<-begun
	c.send(`{"id":"2","type":"set_session_name","name":"meanwhile"}`)
	until(`"id":"2"`)
	c.send(`{"id":"3","type":"burin/follow","with":{"epoch":"","seq":1}}`)
	until("meanwhile") // the event
	c.send(`{"id":"4","type":"abort"}`)
	until(`"error":"/commit: all of it: context canceled"`)
	until(`"id":"4"`)
	c.send(`{"id":"5","type":"prompt","message":"hello"}`)
	until(`"type":"agent_settled"`)
	c.end()
}

// Four clients on one session prompt, steer, look and stop at once. Each gets one response to
// each of its commands, and all see the same events.
func TestStorm(t *testing.T) {
	s := live(t, hello)
	const rounds = 25
	var all sync.WaitGroup
	ends := make([]string, 4)
	for n := range 4 {
		c := newClient(t, s, Options{Patience: time.Minute})
		all.Go(func() {
			c.send(`{"id":"follow","type":"burin/follow","with":{"epoch":"","seq":1}}`)
			answered := map[string]int{}
			read := make(chan struct{})
			go func() {
				defer close(read)
				var events strings.Builder
				for c.out.Scan() {
					var v struct {
						Type, ID string
						Event    json.RawMessage
					}
					if err := json.Unmarshal(c.out.Bytes(), &v); err != nil {
						t.Errorf("%s: %v", c.out.Text(), err)
					}
					switch v.Type {
					case "response":
						answered[v.ID]++
					case "burin/event":
						var e session.Event
						if err := json.Unmarshal(v.Event, &e); err != nil {
							t.Error(err)
						}
						if e.Type == session.TitleChanged {
							events.WriteString(e.Text + "\n")
						}
					}
					// Messages are answered beside the others: the last command need not be the last answer.
					if len(answered) == 6*rounds+rounds/8+2 && strings.Count(events.String(), "\n") >= 4*rounds {
						break
					}
				}
				ends[n] = events.String()
			}()
			for i := range rounds {
				id := func(k int) string { return fmt.Sprintf("%d-%d-%d", n, i, k) }
				c.send(
					fmt.Sprintf(`{"id":%q,"type":"prompt","message":"hello","streamingBehavior":"followUp"}`, id(0)),
					fmt.Sprintf(`{"id":%q,"type":"get_state"}`, id(1)),
					fmt.Sprintf(`{"id":%q,"type":"steer","message":"more"}`, id(2)),
					fmt.Sprintf(`{"id":%q,"type":"set_session_name","name":"%d %d"}`, id(3), n, i),
					fmt.Sprintf(`{"id":%q,"type":"get_messages"}`, id(4)),
					fmt.Sprintf(`{"id":%q,"type":"burin/goal"}`, id(5)),
				)
				if i%8 == 7 {
					c.send(fmt.Sprintf(`{"id":%q,"type":"abort"}`, id(6)))
				}
			}
			c.send(`{"id":"last","type":"clear_queue"}`)
			<-read
			c.end()
			for i := range rounds {
				for k := range 6 {
					if id := fmt.Sprintf("%d-%d-%d", n, i, k); answered[id] != 1 {
						t.Errorf("%s was answered %d times", id, answered[id])
					}
				}
			}
		})
	}
	all.Wait()
	for n := range ends {
		if ends[n] != ends[0] || strings.Count(ends[n], "\n") != 4*rounds {
			t.Errorf("client %d saw\n%s\nand the first\n%s", n, ends[n], ends[0])
		}
	}
}

// Whatever comes as lines, the face answers or ignores it, and ends with its input.
func FuzzLines(f *testing.F) {
	for _, c := range table() {
		f.Add([]byte(fmt.Sprintf(`{"id":"1","type":%q}`, c.name)))
	}
	for _, line := range []string{
		"", "\n\n", "\r\n", "null", "[]", "1", `"x"`, `{"type":5}`, `{"type":"prompt","message":5}`, `{"type":"prompt","message":"x","images":[{}]}`,
		`{"id":{},"type":"get_state"}`, `{"type":"extension_ui_response","id":"1","value":5}`, `{"type":"burin/follow","with":{"seq":9}}`,
		`{"type":"burin/custom_message","with":{"customType":"x","content":"y","triggerTurn":true}}`, `{"type":"burin/submit","with":{"message":null}}`,
		`{"type":"get_entries","since":""}`, `{"id":"\ud800","type":"get_tree"}`, "{\"type\":\"get_state\"}\u2028{}", `{"type":"set_steering_mode","mode":"x"}`,
		strings.Repeat(`{"a":`, 20_000), `{"type":"burin/stop","with":{"id":"1"}}`, `{"id":1e999,"type":"get_state"}`, "\xff\xfe",
	} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		s := live(t, hello)
		var out bytes.Buffer
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		_, err := Run(ctx, Options{
			In: bytes.NewReader(input), Out: &out, Host: nothing{},
			Open: func(context.Context, Wish) (session.Handle, error) { return s.Face("fuzz", true), nil },
		})
		if ctx.Err() != nil || err != nil {
			t.Fatalf("it did not end in order: %v", err)
		}
		for line := range bytes.Lines(out.Bytes()) {
			if !json.Valid(line) {
				t.Fatalf("no JSON: %q", line)
			}
		}
	})
}

// What the client does not read is held by nobody.
func TestSpool(t *testing.T) {
	gate, got := make(chan struct{}), 0
	s := newSpool(func(piece string) {
		<-gate
		got += len(piece)
	})
	for range 100 {
		s.add(strings.Repeat("x", 100_000)) // never waits
	}
	close(gate)
	s.close()
	if got == 0 || got > 3*maxSpooled {
		t.Errorf("%d bytes of 10 MB were kept", got)
	}
}

// The answer that is whole before its pieces were read comes in pieces all the same.
func TestMissedPieces(t *testing.T) {
	var out bytes.Buffer
	o := newOutput(&out, func(err error) { t.Error(err) })
	w := &familyWriter{out: o, ctx: t.Context()}
	m := &llm.Message{Role: llm.RoleAssistant, StopReason: llm.StopToolUse, Content: []llm.Block{
		llm.Thinking{Text: "hmm"}, llm.Text{Text: "Hello there"}, llm.ToolCall{ID: "1", Name: "read", Arguments: `{"path":"a"}`},
	}}
	event := func(e agent.Event) { w.event(&session.Event{Event: e}) }
	event(agent.Event{Type: agent.MessageStart, Message: &llm.Message{Role: llm.RoleAssistant}})
	event(agent.Event{Type: agent.MessageUpdate, Stream: llm.Event{Type: llm.EventTextStart, Index: 1, Block: llm.Text{}}})
	event(agent.Event{Type: agent.MessageUpdate, Stream: llm.Event{Type: llm.EventTextDelta, Index: 1, Delta: "Hello "}})
	event(agent.Event{Type: agent.MessageEnd, Message: m})
	o.flush()
	var got []string
	for line := range strings.Lines(out.String()) {
		var v struct {
			Type   string
			Stream struct {
				Type, Delta, Content, ToolName string
				Index                          int `json:"contentIndex"`
			} `json:"assistantMessageEvent"`
		}
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Fatal(err)
		}
		if v.Type == "message_update" {
			got = append(got, strings.TrimSpace(fmt.Sprint(v.Stream.Index, " ", v.Stream.Type, " ", v.Stream.Delta, v.Stream.Content, v.Stream.ToolName)))
		}
	}
	want := []string{
		"1 text_start", "1 text_delta Hello", "0 thinking_start", "0 thinking_delta hmm", "0 thinking_end hmm", "1 text_delta there", "1 text_end Hello there",
		"2 toolcall_start read", `2 toolcall_delta {"path":"a"}`, "2 toolcall_end",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

func BenchmarkEvent(b *testing.B) {
	o := newOutput(io.Discard, func(err error) { b.Error(err) })
	w := &familyWriter{out: o, ctx: b.Context()}
	e := &session.Event{Seq: 1, Event: agent.Event{Type: agent.MessageUpdate, Stream: llm.Event{Type: llm.EventTextDelta, Delta: "a few words of it "}}}
	b.ReportAllocs()
	for b.Loop() {
		w.event(e)
	}
}

package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/anthropic"
	"github.com/burin-dev/burin/llm/bedrock"
	"github.com/burin-dev/burin/llm/google"
	"github.com/burin-dev/burin/llm/llmtest"
	"github.com/burin-dev/burin/llm/openai"
	"github.com/burin-dev/burin/llm/wire"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// format is a wire format with both of its halves.
type format struct {
	name   string
	server wire.Server
	model  llm.Model
	open   func(wire.Endpoint) llm.Client
}

func formats() []format {
	price := llm.Price{Input: llm.PerMillion(3), Output: llm.PerMillion(15)}
	model := func(id, provider string, api llm.API) llm.Model {
		return llm.Model{ID: id, Provider: provider, API: api, Price: price, ContextWindow: 200_000, MaxOutput: 64_000}
	}
	bedrockEnv := map[string]string{"AWS_BEDROCK_SKIP_AUTH": "1", "AWS_REGION": "us-east-1"}
	return []format{
		{"anthropic", anthropic.Server{}, model("claude-sonnet-4-5", "anthropic", llm.APIAnthropic), func(e wire.Endpoint) llm.Client {
			return anthropic.New(anthropic.Options{Endpoint: e})
		}},
		{"completions", openai.CompletionsServer{}, model("some-model", "local", llm.APICompletions), func(e wire.Endpoint) llm.Client {
			return openai.NewCompletions(openai.CompletionsOptions{Endpoint: e})
		}},
		{"responses", openai.ResponsesServer{}, model("gpt-4.1", "openai", llm.APIResponses), func(e wire.Endpoint) llm.Client {
			return openai.NewResponses(openai.ResponsesOptions{Endpoint: e})
		}},
		{"google", google.Server{}, model("gemini-2.5-flash", "google", llm.APIGoogle), func(e wire.Endpoint) llm.Client {
			return google.New(google.Options{Endpoint: e})
		}},
		{"bedrock", bedrock.Server{}, model("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "amazon-bedrock", llm.APIBedrock), func(e wire.Endpoint) llm.Client {
			return bedrock.New(bedrock.Options{Endpoint: e, Getenv: func(name string) string { return bedrockEnv[name] }})
		}},
	}
}

// eachFormat runs a test in every wire format.
func eachFormat(t *testing.T, test func(t *testing.T, f format)) {
	t.Helper()
	for _, f := range formats() {
		t.Run(f.name, func(t *testing.T) { test(t, f) })
	}
}

// options are those of an agent whose model plays turns over loopback.
func (f format) options(t testing.TB, turns ...llmtest.Turn) (agent.Options, *llmtest.Server) {
	t.Helper()
	srv, err := llmtest.Serve(f.server, llmtest.Script{Turns: turns})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	tr := &http.Transport{DisableCompression: true}
	t.Cleanup(tr.CloseIdleConnections)
	return agent.Options{
		Client:  f.open(wire.Endpoint{BaseURL: srv.URL, Client: &http.Client{Transport: tr}}),
		Request: llm.Request{Model: &f.model, System: "You are terse."},
	}, srv
}

// local is options without a network, for tests of simulated time.
func local(t testing.TB, turns ...llmtest.Turn) (agent.Options, *llmtest.Server) {
	f := formats()[0]
	srv := llmtest.New(llmtest.Script{Turns: turns}, f.server)
	t.Cleanup(srv.Close)
	return agent.Options{
		Client:  f.open(wire.Endpoint{BaseURL: "http://model.invalid", Client: &http.Client{Transport: memory{srv}}}),
		Request: llm.Request{Model: &f.model},
	}, srv
}

// memory answers requests by calling a handler.
type memory struct{ h http.Handler }

func (m memory) RoundTrip(r *http.Request) (resp *http.Response, err error) {
	defer func() {
		if p := recover(); p != nil {
			if p != http.ErrAbortHandler {
				panic(p)
			}
			err = errors.New("the connection broke")
		}
	}()
	w := httptest.NewRecorder()
	in := r.Clone(r.Context())
	in.RequestURI = r.URL.RequestURI()
	m.h.ServeHTTP(w, in)
	resp = w.Result()
	resp.Request = r
	return resp, nil
}

// recorder keeps events.
type recorder struct {
	mu     sync.Mutex
	events []agent.Event
	calls  int                     // of Emit that are under way
	on     func(agent.Event) error // looks on
	t      testing.TB
}

// record makes o report to a recorder, which checks the order of events when the
// test ends.
func record(t testing.TB, o *agent.Options) *recorder {
	r := &recorder{t: t}
	o.Emit = r.take
	return r
}

func (r *recorder) take(e agent.Event) {
	r.mu.Lock()
	r.calls++
	if r.calls > 1 {
		r.t.Error("Emit is called by two goroutines at a time")
	}
	r.events = append(r.events, e)
	on := r.on
	r.mu.Unlock()
	if on != nil {
		if err := on(e); err != nil {
			r.t.Error(err)
		}
	}
	r.mu.Lock()
	r.calls--
	r.mu.Unlock()
}

// list is the events in short, deltas left out.
func (r *recorder) list() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []string
	for _, e := range r.events {
		s := string(e.Type)
		switch e.Type {
		case agent.MessageUpdate:
			if e.Stream.Type.Delta() {
				continue
			}
			s += " " + string(e.Stream.Type)
		case agent.MessageStart, agent.MessageEnd:
			s += " " + string(e.Message.Role)
		case agent.ToolStart, agent.ToolUpdate, agent.ToolEnd:
			s += " " + e.Call.ID
		case agent.AgentEnd:
			s += " " + string(e.Outcome.Reason)
		}
		out = append(out, s)
	}
	return out
}

// check holds the events of whole runs against the order that the package
// promises, and the conversation against what it promises of that.
func (r *recorder) check(a *agent.Agent) {
	r.t.Helper()
	if err := grammar(r.events); err != nil {
		r.t.Errorf("%v in\n%s", err, strings.Join(r.list(), "\n"))
	}
	if err := answered(a.Messages()); err != nil {
		r.t.Error(err)
	}
}

// grammar says what is wrong with the order of events.
func grammar(events []agent.Event) error {
	var inRun, inTurn, inMessage bool
	open := map[string]int{}
	for i, e := range events {
		bad := func(why string) error { return fmt.Errorf("event %d, %s: %s", i, e.Type, why) }
		switch e.Type {
		case agent.AgentStart:
			if inRun {
				return bad("within a run")
			}
			inRun = true
		case agent.AgentEnd:
			if !inRun || inTurn || e.Outcome == nil {
				return bad("not after the turns of a run")
			}
			inRun = false
		case agent.TurnStart:
			if !inRun || inTurn {
				return bad("not between turns")
			}
			inTurn = true
		case agent.TurnEnd:
			if !inTurn || inMessage || len(open) > 0 {
				return bad("while something is open")
			}
			inTurn = false
		case agent.MessageStart:
			if !inTurn || inMessage || e.Message == nil {
				return bad("not between messages")
			}
			inMessage = true
		case agent.MessageUpdate, agent.MessageEnd:
			if !inMessage {
				return bad("outside of a message")
			}
			inMessage = e.Type == agent.MessageUpdate
		case agent.ToolStart:
			if !inTurn || inMessage {
				return bad("not between messages")
			}
			open[e.Call.ID]++
		case agent.ToolUpdate, agent.ToolEnd:
			if open[e.Call.ID] == 0 || e.Result == nil {
				return bad("of a call that is not under way")
			}
			if e.Type == agent.ToolEnd {
				if open[e.Call.ID]--; open[e.Call.ID] == 0 {
					delete(open, e.Call.ID)
				}
			}
		}
	}
	if inRun {
		return errors.New("no agent_end")
	}
	return nil
}

// answered says whether each call of an answer that did not fail has its result,
// in order, and no other answer has any.
func answered(messages []llm.Message) error {
	var want []string
	for i, m := range messages {
		if m.Role == llm.RoleToolResult {
			if len(want) == 0 || want[0] != m.ToolCallID {
				return fmt.Errorf("message %d is the result of %s, wanted are %q", i, m.ToolCallID, want)
			}
			want = want[1:]
			continue
		}
		if len(want) > 0 {
			return fmt.Errorf("message %d: there are no results of %q", i, want)
		}
		if m.Role == llm.RoleAssistant && m.Error == nil {
			for _, c := range m.ToolCalls() {
				want = append(want, c.ID)
			}
		}
	}
	if len(want) > 0 {
		return fmt.Errorf("at the end there are no results of %q", want)
	}
	return nil
}

// say, calls and stops are turns of a script.
func say(text string) llmtest.Turn { return llmtest.Turn{Parts: []llmtest.Part{{Text: text}}} }

// calls is a turn of calls, each "name {args}"; their ids are a, b, c and so on.
func calls(list ...string) llmtest.Turn {
	var turn llmtest.Turn
	for i, c := range list {
		name, args, _ := strings.Cut(c, " ")
		turn.Parts = append(turn.Parts, llmtest.Part{Call: name, ID: string(rune('a' + i)), Args: args})
	}
	return turn
}

// results are the texts of the tool results of a conversation, "!" before those
// of errors.
func results(messages []llm.Message) []string {
	var out []string
	for _, m := range messages {
		if m.Role == llm.RoleToolResult {
			s := m.Text()
			if m.IsError {
				s = "!" + s
			}
			out = append(out, s)
		}
	}
	return out
}

type pathArgs struct {
	Path string `json:"path"`
}

// simple is a tool with a path that calls f.
func simple(name string, effects tool.Effects, f func(ctx context.Context, path string) (*tool.Result, error)) *tool.Tool {
	return tool.New(tool.Definition[pathArgs]{
		Name: name, Label: strings.ToUpper(name[:1]) + name[1:], Description: "It does " + name + ".", Effects: effects,
		Run: func(ctx context.Context, _ tool.Call, a pathArgs) (*tool.Result, error) { return f(ctx, a.Path) },
	})
}

// echo is a tool that succeeds with its name and path.
func echo(name string, effects tool.Effects) *tool.Tool {
	return simple(name, effects, func(_ context.Context, path string) (*tool.Result, error) { return tool.Text(name + " " + path), nil })
}

// failing is a tool that fails.
func failing(name string) *tool.Tool {
	return simple(name, tool.Reads, func(_ context.Context, path string) (*tool.Result, error) {
		return nil, fmt.Errorf("no %s in %s", name, path)
	})
}

// wantReason checks how a run ended.
func wantReason(t testing.TB, out agent.Outcome, want agent.Reason) {
	t.Helper()
	if out.Reason != want {
		t.Fatalf("the run ended as %s, %v; want %s", out.Reason, out.Err, want)
	}
	if hasError := slices.Contains([]agent.Reason{agent.ReasonError, agent.ReasonAborted, agent.ReasonRefused, agent.ReasonLoop}, want); hasError != (out.Err != nil) {
		t.Errorf("%s has the error %v", want, out.Err)
	}
}

// clean fails the test if the server found fault with a request.
func clean(t testing.TB, srv *llmtest.Server) {
	t.Helper()
	if err := srv.Err(); err != nil {
		t.Errorf("the server refused a request: %v", err)
	}
}

// lines are events as JSON mode writes them.
func lines(t testing.TB, events []agent.Event) string {
	t.Helper()
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	for _, e := range events {
		if err := enc.Encode(session.Event{Event: e}); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

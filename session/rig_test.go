package session_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
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
	"github.com/burin-dev/burin/session/handletest"
	"github.com/burin-dev/burin/tool"
	"github.com/burin-dev/burin/transcript"
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
	model := func(id, provider string, api llm.API) llm.Model {
		return llm.Model{
			ID: id, Provider: provider, API: api, ContextWindow: 200_000, MaxOutput: 8000,
			Price: llm.Price{Input: llm.PerMillion(3), Output: llm.PerMillion(15)},
		}
	}
	bedrockEnv := map[string]string{"AWS_BEDROCK_SKIP_AUTH": "1", "AWS_REGION": "us-east-1"}
	return []format{
		{"anthropic", anthropic.Server{}, model("claude-sonnet-4-5", "anthropic", llm.APIAnthropic), func(e wire.Endpoint) llm.Client {
			return anthropic.New(anthropic.Options{Endpoint: e})
		}},
		{"responses", openai.ResponsesServer{}, model("gpt-4.1", "openai", llm.APIResponses), func(e wire.Endpoint) llm.Client {
			return openai.NewResponses(openai.ResponsesOptions{Endpoint: e})
		}},
		{"completions", openai.CompletionsServer{}, model("some-model", "local", llm.APICompletions), func(e wire.Endpoint) llm.Client {
			return openai.NewCompletions(openai.CompletionsOptions{Endpoint: e})
		}},
		{"google", google.Server{}, model("gemini-2.5-flash", "google", llm.APIGoogle), func(e wire.Endpoint) llm.Client {
			return google.New(google.Options{Endpoint: e})
		}},
		{"bedrock", bedrock.Server{}, model("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "amazon-bedrock", llm.APIBedrock), func(e wire.Endpoint) llm.Client {
			return bedrock.New(bedrock.Options{Endpoint: e, Getenv: func(name string) string { return bedrockEnv[name] }})
		}},
	}
}

// eachFormat runs a test over two wire formats that have little in common.
func eachFormat(t *testing.T, test func(t *testing.T, f format)) {
	t.Helper()
	for _, f := range formats()[:2] {
		t.Run(f.name, func(t *testing.T) { test(t, f) })
	}
}

// rig is a session over a scripted model, with its transcript in a file.
type rig struct {
	*session.Session
	t      testing.TB
	f      format
	srv    *llmtest.Server
	small  *llmtest.Server   // of the small model; nil: there is none
	net    http.RoundTripper // to srv
	client llm.Client
	model  llm.Model
	path   string
	o      session.Options

	mu       sync.Mutex
	events   []session.Event
	warnings []string
	on       func(session.Event) // looks on
}

// patience is how long the client waits for the model. What happens at once in a
// test takes less than half of it, however busy the machine is.
const patience = 20 * time.Second

// start begins a session. Retries wait for milliseconds; change adjusts the options.
func start(t testing.TB, f format, change func(*rig, *session.Options), turns ...llmtest.Turn) *rig {
	t.Helper()
	srv, err := llmtest.Serve(f.server, llmtest.Script{Turns: turns})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	tr := &http.Transport{DisableCompression: true}
	t.Cleanup(tr.CloseIdleConnections)
	return (&rig{t: t, f: f, srv: srv, net: tr}).start(change)
}

// startLocal is start without a network, for tests of simulated time.
func startLocal(t testing.TB, change func(*rig, *session.Options), turns ...llmtest.Turn) *rig {
	t.Helper()
	f := formats()[0]
	srv := llmtest.New(llmtest.Script{Turns: turns}, f.server)
	t.Cleanup(srv.Close)
	return (&rig{t: t, f: f, srv: srv, net: memory{srv}}).start(change)
}

// memory answers requests by calling a handler.
type memory struct{ http.Handler }

func (m memory) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	in := r.Clone(r.Context())
	in.RequestURI = r.URL.RequestURI()
	m.ServeHTTP(w, in)
	resp := w.Result()
	resp.Request = r
	return resp, nil
}

func (r *rig) start(change func(*rig, *session.Options)) *rig {
	t := r.t
	t.Helper()
	r.model, r.path = r.f.model, filepath.Join(t.TempDir(), "s.jsonl")
	r.client = r.asking(patience)
	r.o = session.Options{
		Client: r.client, Request: llm.Request{Model: &r.model, System: "You are terse."}, Path: r.path,
		Retry: session.Retry{Base: time.Millisecond}, Emit: r.take,
		Warn: func(text string) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.warnings = append(r.warnings, text)
		},
	}
	if change != nil {
		change(r, &r.o)
	}
	if r.o.Log == nil {
		log, err := transcript.Create(transcript.CreateFile(r.path), transcript.Header{CWD: "/"}, transcript.Options{})
		if err != nil {
			t.Fatal(err)
		}
		r.o.Log = log
	}
	r.open()
	return r
}

// asking is a client that waits that long for each event of an answer.
func (r *rig) asking(wait time.Duration) llm.Client {
	url := r.srv.URL
	if url == "" {
		url = "http://model.invalid"
	}
	return r.f.open(wire.Endpoint{BaseURL: url, Client: &http.Client{Transport: r.net}, FirstEvent: wait, Idle: wait})
}

func (r *rig) open() {
	r.t.Helper()
	s, err := session.New(r.o)
	if err != nil {
		r.t.Fatal(err)
	}
	r.Session = s
	r.t.Cleanup(func() { s.Close() })
}

// resume ends the session and goes on with its file, as another process does.
func (r *rig) resume() {
	r.t.Helper()
	if err := r.Close(); err != nil {
		r.t.Fatal(err)
	}
	store, err := transcript.OpenFile(r.path)
	if err != nil {
		r.t.Fatal(err)
	}
	log, damage, err := transcript.Open(store, transcript.Options{})
	if err != nil {
		r.t.Fatal(err)
	}
	if damage.String() != "nothing is damaged" {
		r.t.Errorf("the transcript: %v", damage)
	}
	r.o.Log = log
	r.open()
}

func (r *rig) take(e session.Event) {
	r.mu.Lock()
	r.events = append(r.events, e)
	on := r.on
	r.mu.Unlock()
	if on != nil {
		on(e)
	}
}

// prompt sends text, checks how it ended, and that the transcript tells the same
// story as the loop.
func (r *rig) prompt(text string, want agent.Reason) agent.Outcome {
	r.t.Helper()
	out := r.Prompt(context.Background(), llm.UserText(text))
	if out.Reason != want {
		r.t.Fatalf("%q ended as %s, %v; want %s", text, out.Reason, out.Err, want)
	}
	r.consistent()
	return out
}

// consistent holds the conversation of the loop against that of the transcript.
func (r *rig) consistent() {
	r.t.Helper()
	c, err := r.Log().Context(r.Log().Leaf())
	if err != nil {
		r.t.Fatal(err)
	}
	if diff := cmp.Diff(said(c.Messages), said(r.Messages())); diff != "" {
		r.t.Errorf("what the transcript has and the loop has not (-), and the other way round (+):\n%s", diff)
	}
}

// seen are the events of a type.
func (r *rig) seen(types ...agent.EventType) (out []session.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.events {
		if slices.Contains(types, e.Type) {
			out = append(out, e)
		}
	}
	return out
}

// retries are the events of retries in short.
func (r *rig) retries() (out []string) {
	for _, e := range r.seen(session.RetryStart, session.RetryEnd, session.FallbackApplied, session.Promoted) {
		switch {
		case e.Type == session.FallbackApplied || e.Type == session.Promoted:
			out = append(out, fmt.Sprintf("%s %s -> %s", e.Type, e.Data.(*session.Change).From, e.Data.(*session.Change).To))
		case e.Type == session.RetryStart:
			out = append(out, fmt.Sprintf("start %d/%d", e.Data.(*session.RetryInfo).Attempt, e.Data.(*session.RetryInfo).Max))
		default:
			out = append(out, fmt.Sprintf("end %d %v", e.Data.(*session.RetryInfo).Attempt, e.Data.(*session.RetryInfo).Success))
		}
	}
	return out
}

// stopped sends text, stops it at the first piece of an answer, and waits until nothing of
// that is under way: a late Abort would stop what comes next.
func (r *rig) stopped(text string) {
	r.t.Helper()
	listen := func(on func(session.Event)) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.on = on
	}
	var once sync.Once
	over := make(chan struct{})
	listen(func(e session.Event) {
		if e.Type == agent.MessageUpdate {
			once.Do(func() {
				go func() {
					r.Abort()
					close(over)
				}()
			})
		}
	})
	r.prompt(text, agent.ReasonAborted)
	<-over
	listen(nil)
}

func (r *rig) warned() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.warnings)
}

// clean fails the test if the server found fault with a request.
func (r *rig) clean() {
	r.t.Helper()
	if err := r.srv.Err(); err != nil {
		r.t.Errorf("the server refused a request: %v", err)
	}
}

// said is a conversation in short.
func said(messages []llm.Message) (out []string) {
	for _, m := range messages {
		s := string(m.Role) + ": " + m.Text()
		for _, c := range m.ToolCalls() {
			s += " [" + c.ID + " " + c.Name + " " + c.Arguments + "]"
		}
		if m.Error != nil {
			s += " !" + string(m.Error.Kind)
		}
		out = append(out, s)
	}
	return out
}

// sent is what a request of the wire begins with: all but its messages, and these,
// each as bytes. Marks that tell a vendor where to cache are no part of it.
func sent(t testing.TB, raw llmtest.Raw) (head string, messages []string) {
	t.Helper()
	body := cacheMark.ReplaceAll(raw.Body, nil)
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"messages", "input", "contents"} {
		var list []json.RawMessage
		if json.Unmarshal(fields[key], &list) == nil && list != nil {
			for _, m := range list {
				messages = append(messages, string(m))
			}
			delete(fields, key)
		}
	}
	rest, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	return string(rest), messages
}

var cacheMark = regexp.MustCompile(`,?"cache_control":\{[^}]*\}`)

// prefixed checks that each request begins with the one before it, to the byte.
func (r *rig) prefixed() {
	r.t.Helper()
	raw := r.srv.Raw()
	for i := 1; i < len(raw); i++ {
		head, old := sent(r.t, raw[i-1])
		next, now := sent(r.t, raw[i])
		if diff := cmp.Diff(head, next); diff != "" {
			r.t.Errorf("system prompt, tools or options of request %d:\n%s", i+1, diff)
		}
		if len(now) < len(old) {
			r.t.Errorf("request %d has %d messages, the one before %d", i+1, len(now), len(old))
			continue
		}
		if diff := cmp.Diff(old, now[:len(old)]); diff != "" {
			r.t.Errorf("request %d does not begin with the one before:\n%s", i+1, diff)
		}
	}
}

// say is a turn of text.
func say(text string) llmtest.Turn { return llmtest.Turn{Parts: []llmtest.Part{{Text: text}}} }

// used is an answer with what the vendor counted.
func used(text string, u llm.Usage) llmtest.Turn {
	return llmtest.Turn{Parts: []llmtest.Part{{Text: text}}, Events: llmtest.Stop(llm.StopEnd, u)}
}

// calls is a turn of calls, each "id name {args}".
func calls(list ...string) llmtest.Turn {
	var turn llmtest.Turn
	for _, c := range list {
		part := strings.SplitN(c, " ", 3)
		turn.Parts = append(turn.Parts, llmtest.Part{Call: part[1], ID: part[0], Args: part[2]})
	}
	return turn
}

func refused(kind llm.ErrorKind, message string) llmtest.Turn {
	return llmtest.Turn{Fault: llmtest.Fault{Error: &llm.Error{Kind: kind, Message: message}}}
}

type pathArgs struct {
	Path string `json:"path"`
}

// simple is a tool with a path that calls f.
func simple(name string, effects tool.Effects, f func(ctx context.Context, c tool.Call, path string) (*tool.Result, error)) *tool.Tool {
	return tool.New(tool.Definition[pathArgs]{
		Name: name, Label: name, Description: "It does " + name + ".", Effects: effects,
		Run: func(ctx context.Context, c tool.Call, a pathArgs) (*tool.Result, error) { return f(ctx, c, a.Path) },
	})
}

// echo is a tool that succeeds with its name and path.
func echo(name string, effects tool.Effects) *tool.Tool {
	return simple(name, effects, func(_ context.Context, _ tool.Call, path string) (*tool.Result, error) {
		return tool.Text(name + " " + path), nil
	})
}

// blocking is a tool that tells when it runs, and waits until its context ends.
func blocking(name string) (*tool.Tool, <-chan struct{}) {
	running := make(chan struct{}, 16)
	return simple(name, tool.Executes, func(ctx context.Context, _ tool.Call, _ string) (*tool.Result, error) {
		running <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	}), running
}

// opener finds models by selector; every one is served by the rig's own server.
func (r *rig) opener(models ...llm.Model) handletest.Opener {
	return func(_ context.Context, selector string) (*llm.Model, llm.Client, error) {
		for i := range models {
			if models[i].Ref() == selector || models[i].ID == selector {
				return &models[i], r.client, nil
			}
		}
		return nil, nil, fmt.Errorf("there is no model %s", selector)
	}
}

// called is the model by another name.
func called(m llm.Model, id string) llm.Model {
	m.ID = id
	return m
}

// assistant gives the session a small model on a server of its own, which names it.
func (r *rig) assistant(o *session.Options, turns ...llmtest.Turn) {
	r.t.Helper()
	srv, err := llmtest.Serve(r.f.server, llmtest.Script{Turns: turns})
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(srv.Close)
	r.small = srv
	model := called(r.f.model, "small")
	client := r.f.open(wire.Endpoint{BaseURL: srv.URL, Client: &http.Client{Transport: r.net}, FirstEvent: patience, Idle: patience})
	o.Titles, o.Roles = true, map[string]string{"smol": "small"}
	o.Models = handletest.Opener(func(context.Context, string) (*llm.Model, llm.Client, error) { return &model, client, nil })
}

// chain is the fallbacks of the conversation's model.
func chain(selectors ...string) map[string][]string {
	return map[string][]string{"default": selectors}
}

// modelsAsked are the models of the requests.
func (r *rig) modelsAsked() (out []string) {
	for _, q := range r.srv.Requests() {
		out = append(out, q.Model.ID)
	}
	return out
}

// What faces do through a handle, in short.

func (r *rig) face() session.Handle { return r.Handle("test", false) }

// Steer says something while the model works.
func (r *rig) Steer(m llm.Message) error {
	_, err := r.Submit(context.Background(), session.Input{Message: m})
	return err
}

// FollowUp says something for when the model is done.
func (r *rig) FollowUp(m llm.Message) error {
	_, err := r.Submit(context.Background(), session.Input{Message: m, When: session.After})
	return err
}

func (r *rig) SetModel(ctx context.Context, selector string) error {
	return r.face().Models().SetModel(ctx, selector)
}

func (r *rig) SetThinking(level llm.Level) error {
	return r.face().Models().SetThinking(context.Background(), level)
}

func (r *rig) SetMode(mode string) error {
	return r.face().Models().SetMode(context.Background(), mode)
}

func (r *rig) SetTitle(title string) error {
	return r.face().Conversation().SetTitle(context.Background(), title)
}

func (r *rig) SetLabel(id, label string) error {
	return r.face().Tree().SetLabel(context.Background(), id, label)
}
func (r *rig) Pin(text string) error   { return r.face().Work().Pin(context.Background(), text) }
func (r *rig) Unpin(text string) error { return r.face().Work().Unpin(context.Background(), text) }

func (r *rig) Pins() []string {
	pins, _ := r.face().Work().Pins(context.Background())
	return pins
}

func (r *rig) Goal() session.Goal {
	g, _ := r.face().Work().Goal(context.Background())
	return g
}

func (r *rig) SetGoal(g session.Goal) error { return r.face().Work().SetGoal(context.Background(), g) }

func (r *rig) Mode() string      { return r.Facts().Mode }
func (r *rig) Model() *llm.Model { return r.Facts().Model }

func (r *rig) Spent() (llm.USD, llm.Usage, bool) {
	s := r.Stats()
	return s.Cost, s.Usage, s.Known
}

// Queued is what waits.
func (r *rig) Queued() (steering, followUps []session.Waiting) {
	waits, _ := r.face().Queue().Waiting(context.Background())
	return waits.Steering, waits.FollowUps
}

// Unqueue takes back what waits.
func (r *rig) Unqueue() (steering, followUps []session.Input) {
	all, _ := r.face().Queue().TakeBack(context.Background())
	for _, in := range all {
		if in.When == session.After {
			followUps = append(followUps, in)
		} else {
			steering = append(steering, in)
		}
	}
	return steering, followUps
}

package burin_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/burin-dev/burin"
	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/internal/pacetest"
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

func TestMain(m *testing.M) {
	burin.Main() // commands have guards, which are this program again
	goleak.VerifyTestMain(m)
}

// formats are the wire formats with a client and a server of each.
func formats() map[string]struct {
	api    llm.API
	server wire.Server
	client func(base string) llm.Client
} {
	return map[string]struct {
		api    llm.API
		server wire.Server
		client func(base string) llm.Client
	}{
		"anthropic": {llm.APIAnthropic, anthropic.Server{}, func(base string) llm.Client {
			return anthropic.New(anthropic.Options{Endpoint: wire.Endpoint{BaseURL: base}})
		}},
		"completions": {llm.APICompletions, openai.CompletionsServer{}, func(base string) llm.Client {
			return openai.NewCompletions(openai.CompletionsOptions{Endpoint: wire.Endpoint{BaseURL: base}})
		}},
		"responses": {llm.APIResponses, openai.ResponsesServer{}, func(base string) llm.Client {
			return openai.NewResponses(openai.ResponsesOptions{Endpoint: wire.Endpoint{BaseURL: base}})
		}},
		"google": {llm.APIGoogle, google.Server{}, func(base string) llm.Client {
			return google.New(google.Options{Endpoint: wire.Endpoint{BaseURL: base}})
		}},
		"bedrock": {llm.APIBedrock, bedrock.Server{}, func(base string) llm.Client {
			return bedrock.New(bedrock.Options{Endpoint: wire.Endpoint{BaseURL: base}, Getenv: func(name string) string {
				return map[string]string{"AWS_BEDROCK_SKIP_AUTH": "1", "AWS_REGION": "us-east-1"}[name]
			}})
		}},
	}
}

// project is a small repository with a bug.
func project(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"AGENTS.md": "Use tabs.", "sum.sh": "echo $(($1 - $2))\n", "check.sh": "test \"$(sh sum.sh 2 3)\" = 5 || { echo wrong sum; exit 1; }\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// task is a model's part in fixing it: run, look, edit, run again.
func task() llmtest.Script {
	said := func(words string) func(*llm.Request) error {
		return func(r *llm.Request) error {
			for i := len(r.Messages) - 1; i >= 0 && r.Messages[i].Role != llm.RoleAssistant; i-- {
				if strings.Contains(r.Messages[i].Text(), words) {
					return nil
				}
			}
			return errors.New("no result says " + words)
		}
	}
	return llmtest.Script{Turns: []llmtest.Turn{
		{Parts: []llmtest.Part{{Text: "First the check."}, {Call: "bash", Args: `{"command":"sh check.sh"}`}}},
		{Check: said("wrong sum"), Parts: []llmtest.Part{{Call: "grep", Args: `{"pattern":"echo"}`}, {Call: "read", Args: `{"path":"sum.sh"}`}}},
		{Check: said("1|echo"), Parts: []llmtest.Part{{Call: "edit", Args: `{"path":"sum.sh","edits":[{"old":"$1 - $2","new":"$1 + $2"}]}`}}},
		{Check: said("Edited sum.sh"), Parts: []llmtest.Part{{Call: "bash", Args: `{"command":"sh check.sh && echo fine"}`}}},
		{Check: said("fine"), Parts: []llmtest.Part{{Text: "Fixed."}}},
	}}
}

// homeless lets the first command find no start-up files: those of whoever runs the tests may take
// seconds.
func homeless(t *testing.T) { t.Setenv("HOME", t.TempDir()) }

func start(t *testing.T, format string, script llmtest.Script, o burin.Options) (*session.Session, *llmtest.Server) {
	t.Helper()
	homeless(t)
	f := formats()[format]
	srv, err := llmtest.Serve(f.server, script)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	o.Client = f.client(srv.URL)
	o.Model = &llm.Model{ID: "m", Provider: "p", API: f.api, ContextWindow: 100_000, MaxOutput: 4096, Input: []llm.Modality{llm.ModalityText, llm.ModalityImage}}
	o.EditEngine = "replace"
	o.Alone = true
	s, err := burin.New(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s, srv
}

// Tools that burin doesn't know are offered beside its own, or in place of one, and come
// and go while the session lives.
func TestExtraTools(t *testing.T) {
	own := func(name, answer string) *tool.Tool {
		return tool.New(tool.Definition[struct{}]{
			Name: name, Description: "It does " + name + ".", Effects: tool.Reads,
			Run: func(context.Context, tool.Call, struct{}) (*tool.Result, error) { return tool.Text(answer), nil },
		})
	}
	script := llmtest.Script{Turns: []llmtest.Turn{
		{Parts: []llmtest.Part{{Call: "tickets", Args: "{}"}, {Call: "read", Args: "{}"}}},
		{Parts: []llmtest.Part{{Text: "Done."}}},
		{Parts: []llmtest.Part{{Call: "later", Args: "{}"}}},
		{Parts: []llmtest.Part{{Text: "Done."}}},
	}}
	s, srv := start(t, "anthropic", script, burin.Options{
		Dir: project(t), Tools: []string{"ls"}, ExtraTools: []*tool.Tool{own("tickets", "three tickets"), own("read", "from elsewhere")},
	})
	results := func() (all []string) {
		for _, m := range s.Messages() {
			if m.Role == llm.RoleToolResult {
				all = append(all, m.Text())
			}
		}
		return all
	}
	s.Prompt(t.Context(), llm.UserText("go"))
	if err := s.Tools().Put(own("later", "better late")); err != nil {
		t.Fatal(err)
	}
	s.Prompt(t.Context(), llm.UserText("go on"))
	if got := results(); !slices.Equal(got, []string{"three tickets", "from elsewhere", "better late"}) {
		t.Errorf("results %q", got)
	}
	var names []string
	for _, d := range srv.Requests()[2].Tools {
		names = append(names, d.Name)
	}
	if !slices.Equal(names, []string{"ls", "tickets", "read", "later"}) {
		t.Errorf("tools %q", names)
	}
	if _, err := burin.New(t.Context(), burin.Options{Dir: t.TempDir(), Client: openai.NewCompletions(openai.CompletionsOptions{}), Model: &llm.Model{ID: "m"}, ExtraTools: []*tool.Tool{own("no name", "")}}); err == nil || !strings.Contains(err.Error(), `"no name"`) {
		t.Errorf("a name that no provider takes: %v", err)
	}
}

// The same work through each wire format.
func TestWork(t *testing.T) {
	for name := range formats() {
		t.Run(name, func(t *testing.T) {
			dir := project(t)
			s, srv := start(t, name, task(), burin.Options{Dir: dir, Approval: "full", StateDir: t.TempDir()})
			out := s.Prompt(context.Background(), llm.UserText("Make the check pass."))
			if out.Reason != agent.ReasonDone || out.Err != nil || srv.Err() != nil {
				t.Fatalf("it ended with %s, %v, %v", out.Reason, out.Err, srv.Err())
			}
			if text, err := os.ReadFile(filepath.Join(dir, "sum.sh")); err != nil || string(text) != "echo $(($1 + $2))\n" {
				t.Errorf("the file holds %q, %v", text, err)
			}
			prefixIsStable(t, srv)
		})
	}
}

// prefixIsStable checks that what a vendor caches stays the same from turn to turn:
// what is said of tools, the system prompt, and every message that was sent before.
func prefixIsStable(t *testing.T, srv *llmtest.Server) {
	t.Helper()
	asked := srv.Requests()
	for i, r := range asked[1:] {
		before := asked[i]
		if r.System != before.System || len(r.Messages) <= len(before.Messages) {
			t.Fatalf("request %d has another system prompt, or no more messages", i+2)
		}
		a, err := json.Marshal([]any{before.Tools, before.Messages})
		if err != nil {
			t.Fatal(err)
		}
		b, err := json.Marshal([]any{r.Tools, r.Messages[:len(before.Messages)]})
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(a, b) {
			t.Errorf("request %d begins otherwise than the one before:\n%s\n%s", i+2, a, b)
		}
	}
}

// A server that misbehaves ends the run cleanly, whatever it does and in whatever
// format, and no call runs twice.
func TestFaults(t *testing.T) {
	for name, fault := range map[string]llmtest.Fault{
		"drops":     {Drop: true},
		"stalls":    {StallAfterEvents: 3},
		"never":     {StallHead: true},
		"truncates": {CutAfterBytes: 400},
		"damages":   {MalformedAfterEvents: 3},
		"repeats":   {RepeatEnd: true},
		"babbles":   {Trailing: "data: more\n\n"},
		"is busy":   {Error: &llm.Error{Kind: llm.ErrOverload, Status: 529, Message: "busy"}},
	} {
		for format := range formats() {
			t.Run(name+"/"+format, func(t *testing.T) {
				if format != "anthropic" {
					pacetest.Costly(t)
				}
				survives(t, format, fault)
			})
		}
	}
}

// survives works with a server that misbehaves in its second answer.
func survives(t *testing.T, format string, fault llmtest.Fault) {
	ran := map[string]int{}
	script := task()
	script.Turns[1].Fault = fault
	s, _ := start(t, format, script, burin.Options{
		Dir: project(t), Approval: "full", StateDir: t.TempDir(), Retry: session.Retry{Base: time.Millisecond},
		Emit: func(e session.Event) {
			if e.Type == agent.ToolStart {
				ran[e.Call.ID]++
			}
		},
	})
	ctx, cancel := context.WithTimeout(context.Background(), 700*time.Millisecond)
	defer cancel()
	began := time.Now()
	out := s.Prompt(ctx, llm.UserText("Make the check pass."))
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("it took %v", took)
	}
	if out.Reason == agent.ReasonDone && out.Err != nil || out.Reason != agent.ReasonDone && out.Err == nil {
		t.Errorf("it ended with %s, %v", out.Reason, out.Err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	for id, n := range ran {
		if n > 1 {
			t.Errorf("call %s ran %d times", id, n)
		}
	}
}

// Without a person a question is a refusal, the model goes on, and the program can
// say what would have allowed the call.
func TestRefusal(t *testing.T) {
	dir := project(t)
	var refused []error
	script := llmtest.Script{Turns: []llmtest.Turn{
		{Parts: []llmtest.Part{{Call: "bash", Args: `{"command":"touch made"}`}, {Call: "write", Args: `{"path":"made","content":"x"}`}}},
		{Parts: []llmtest.Part{{Text: "I may not."}}},
	}}
	s, srv := start(t, "anthropic", script, burin.Options{Dir: dir, Refused: func(err error) { refused = append(refused, err) }})
	if out := s.Prompt(context.Background(), llm.UserText("make it")); out.Reason != agent.ReasonDone {
		t.Fatalf("it ended with %s, %v", out.Reason, out.Err)
	}
	if _, err := os.Stat(filepath.Join(dir, "made")); err == nil {
		t.Error("the file is there")
	}
	if len(refused) != 2 || !strings.Contains(refused[0].Error(), "--allow 'bash(touch") {
		t.Errorf("refused: %v", refused)
	}
	last := srv.Requests()[1].Messages
	if got := last[len(last)-1]; !got.IsError || !strings.Contains(got.Text(), "made") {
		t.Errorf("the model is told %q", got.Text())
	}
}

// What is sent with the first request is small: people pay for it with each one.
func TestFirstRequestIsSmall(t *testing.T) {
	const most = 24_000
	dir := project(t)
	script := llmtest.Script{Turns: []llmtest.Turn{{Parts: []llmtest.Part{{Text: "hello"}}}}}
	began := time.Now()
	s, srv := start(t, "anthropic", script, burin.Options{Dir: dir, Desk: session.NewDesk(session.DeskOptions{Wait: true})})
	if out := s.Prompt(context.Background(), llm.UserText("hi")); out.Err != nil {
		t.Fatal(out.Err)
	}
	r := srv.Requests()[0]
	tools := 0
	for _, one := range r.Tools {
		tools += len(one.Name) + len(one.Description) + len(one.Schema)
		t.Logf("%-12s %5d bytes", one.Name, len(one.Name)+len(one.Description)+len(one.Schema))
	}
	total := len(r.System) + tools
	t.Logf("system prompt %d bytes, %d tools %d bytes, together %d bytes, about %d tokens", len(r.System), len(r.Tools), tools, total, total/4)
	if total > most {
		t.Errorf("the first request has %d bytes of prompt and tools, more than %d", total, most)
	}
	if !strings.Contains(r.System, "Use tabs.") || strings.Contains(r.System, began.Format("January 2006")) {
		t.Errorf("the system prompt lacks the repository's instructions, or has the date in it:\n%s", r.System)
	}
	const day = "2 January 2006"
	if first := r.Messages[0].Text(); !strings.Contains(first, began.Format(day)) && !strings.Contains(first, time.Now().Format(day)) {
		t.Errorf("the first message does not tell the date: %s", first)
	}
}

func TestBudget(t *testing.T) {
	f := formats()["anthropic"]
	script := task()
	script.Turns[0].Events = llmtest.Stop(llm.StopToolUse, llm.Usage{Input: 1000, Output: 100_000}) // $1.503
	srv, err := llmtest.Serve(f.server, script)
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	homeless(t)
	o := burin.Options{
		Dir: project(t), Approval: "full", Client: f.client(srv.URL), EditEngine: "replace", MaxCost: llm.Dollars(1.5),
		Model: &llm.Model{ID: "m", Provider: "p", API: llm.APIAnthropic, Price: llm.Price{Input: llm.PerMillion(3), Output: llm.PerMillion(15)}},
	}
	o.Alone = true
	s, err := burin.New(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	out := s.Prompt(context.Background(), llm.UserText("go"))
	if out.Reason != agent.ReasonRefused || !errors.Is(out.Err, session.ErrBudget) || len(srv.Requests()) != 1 {
		t.Errorf("it ended with %s, %v after %d requests", out.Reason, out.Err, len(srv.Requests()))
	}
	o.Model = &llm.Model{ID: "m", Provider: "p", API: llm.APIAnthropic}
	if _, err := burin.New(context.Background(), o); err == nil || !strings.Contains(err.Error(), "p/m has no known price") {
		t.Errorf("a limit without a price: %v", err)
	}
}

func TestBadOptions(t *testing.T) {
	model := &llm.Model{ID: "m", Provider: "p", API: llm.APIAnthropic}
	client := formats()["anthropic"].client("http://127.0.0.1:1")
	for want, o := range map[string]burin.Options{
		"needs a model":             {},
		`no edit engine "magic"`:    {EditEngine: "magic"},
		`no sandbox "castle"`:       {Sandbox: "castle"},
		`no tool "hammer"`:          {Tools: []string{"hammer"}},
		"--allow":                   {Allow: []string{"bash("}},
		"does not say allow":        {Allow: []string{"!bash(ls)"}},
		`its type must be "object"`: {Output: json.RawMessage(`{"type":"array"}`)},
		"open the workspace":        {Dir: "no/such/folder"},
		"add a folder":              {AddDirs: []string{"no/such/folder"}},
	} {
		if want != "needs a model" {
			o.Model, o.Client = model, client
		}
		if o.Dir == "" {
			o.Dir = t.TempDir()
		}
		o.Alone = true
		if s, err := burin.New(context.Background(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v", want, err)
			if s != nil {
				s.Close()
			}
		}
	}
}

package print_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/internal/host"
	"github.com/burin-dev/burin/internal/mode/print"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/anthropic"
	"github.com/burin-dev/burin/llm/llmtest"
	"github.com/burin-dev/burin/llm/wire"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/tool"
	"github.com/burin-dev/burin/tool/permit"
	"github.com/burin-dev/burin/transcript"
)

// shout is a tool that fails when told to.
func shout() *tool.Tool {
	type args struct {
		Query string `json:"query"`
	}
	return tool.New(tool.Definition[args]{
		Name: "shout", Label: "Shout",
		Run: func(_ context.Context, _ tool.Call, a args) (*tool.Result, error) {
			if a.Query == "fail" {
				return nil, errors.New("lost the voice")
			}
			return tool.Text(strings.ToUpper(a.Query) + "!\n\x1b[2Jtwo"), nil
		},
	})
}

// run prints what a session with a scripted model does.
func run(t *testing.T, o print.Options, so session.Options, turns ...llmtest.Turn) (agent.Outcome, error) {
	t.Helper()
	srv, err := llmtest.Serve(anthropic.Server{}, llmtest.Script{Turns: turns})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	p := print.New(o)
	so.Client = anthropic.New(anthropic.Options{Endpoint: wire.Endpoint{BaseURL: srv.URL}})
	so.Request.Model = &llm.Model{ID: "claude", Provider: "anthropic", API: llm.APIAnthropic}
	so.Emit, so.Retry.Off = p.Event, true
	s, err := session.New(so)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return p.Run(context.Background(), s.Handle("script", false), llm.UserText("hi"))
}

func TestText(t *testing.T) {
	said := func(parts ...llmtest.Part) llmtest.Turn { return llmtest.Turn{Parts: parts} }
	call := said(llmtest.Part{Text: "I'll shout."}, llmtest.Part{Call: "shout", Args: `{"query":"hey"}`})
	failing := said(llmtest.Part{Call: "shout", Args: `{"query":"fail"}`})
	const hostile = "\x1b]0;owned\a\x1b[2Ja\tb\r\nc\u009b\u202e"
	tests := []struct {
		name  string
		o     print.Options
		turns []llmtest.Turn
		out   string
		steps string
		kind  llm.ErrorKind
	}{
		{"ends its last line", print.Options{}, []llmtest.Turn{said(llmtest.Part{Thinking: "hm"}, llmtest.Part{Text: "an answer"})}, "an answer\n", "", ""},
		{"has ended it already", print.Options{}, []llmtest.Turn{said(llmtest.Part{Text: "an answer\n"})}, "an answer\n", "", ""},
		{"breaks off", print.Options{}, []llmtest.Turn{{Events: append(llmtest.Say("half"), llmtest.Fail(&llm.Error{Kind: llm.ErrOverload, Message: "busy"})...)}}, "half\n", "", llm.ErrOverload},
		{"is refused", print.Options{}, []llmtest.Turn{{Fault: llmtest.Fault{Error: &llm.Error{Kind: llm.ErrAuth, Status: 401, Message: "no"}}}}, "", "", llm.ErrAuth},
		{
			"answers after a call",
			print.Options{},
			[]llmtest.Turn{call, failing, said(llmtest.Part{Text: "done"})},
			"done\n",
			"I'll shout.\n\n● Shout  hey\n  HEY!\n  ␛[2Jtwo\n\n● Shout  fail\n  Error: lost the voice\n\n", "",
		},
		{"is shown at a terminal", print.Options{Terminal: true}, []llmtest.Turn{said(llmtest.Part{Text: hostile})}, "]0;owned[2Ja\tb\nc\n", "", ""},
		{"comes at a terminal", print.Options{Live: true, Terminal: true}, []llmtest.Turn{said(llmtest.Part{Text: hostile})}, "]0;owned[2Ja\tb\nc\n", "", ""},
		{"goes into a pipe", print.Options{}, []llmtest.Turn{said(llmtest.Part{Text: hostile})}, hostile + "\n", "", ""},
		{"lives", print.Options{Live: true}, []llmtest.Turn{call, said(llmtest.Part{Text: "done"})}, "I'll shout.\ndone\n", "● Shout  hey\n  HEY!\n  ␛[2Jtwo\n\n", ""},
		{
			"paints",
			print.Options{Color: true},
			[]llmtest.Turn{failing, said(llmtest.Part{Text: "done"})},
			"done\n",
			"\x1b[32m●\x1b[0m \x1b[1mShout\x1b[0m  fail\n  \x1b[31mError: lost the voice\x1b[0m\n\n", "",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var out, steps bytes.Buffer
			tt.o.Mode, tt.o.Out, tt.o.Steps = print.Text, &out, &steps
			_, err := run(t, tt.o, session.Options{Tools: []*tool.Tool{shout()}}, tt.turns...)
			if out.String() != tt.out || llm.KindOf(err) != tt.kind {
				t.Errorf("wrote %q, error %v; want %q and kind %q", out.String(), err, tt.out, tt.kind)
			}
			if diff := cmp.Diff(tt.steps, steps.String()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestJSON(t *testing.T) {
	var out bytes.Buffer
	_, err := run(t, print.Options{Mode: print.JSON, Out: &out}, session.Options{Tools: []*tool.Tool{shout()}},
		llmtest.Turn{Parts: []llmtest.Part{{Text: "hello"}, {Call: "shout", ID: "c1", Args: `{"query":"<a>"}`}}},
		llmtest.Turn{Parts: []llmtest.Part{{Text: "bye"}}})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(out.String()) {
		var l struct {
			Type  string
			Event struct {
				Type     string
				Delta    string
				Content  string
				ToolCall struct{ ID, Name, Arguments string }
			} `json:"assistantMessageEvent"`
			Message    *llm.Message
			Messages   []llm.Message
			ToolCallID string
			ToolName   string
			Args       json.RawMessage
			IsError    bool
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		s := l.Type
		switch {
		case l.Event.Type == "toolcall_delta":
			continue // how many there are is the script's matter
		case l.Event.Type != "":
			s += " " + l.Event.Type + " " + l.Event.Delta + l.Event.Content + l.Event.ToolCall.Name + l.Event.ToolCall.Arguments
		case l.ToolCallID != "":
			s += " " + l.ToolName + string(l.Args)
		case l.Message != nil:
			s += " " + string(l.Message.Role) + " " + l.Message.Text()
		}
		got = append(got, strings.TrimSpace(s))
	}
	want := []string{
		"burin", "agent_start", "turn_start", "message_start user hi", "message_end user hi", "message_start assistant",
		"message_update text_start", "message_update text_delta hello", "message_update text_end hello",
		"message_update toolcall_start shout", `message_update toolcall_end shout{"query":"<a>"}`, "message_end assistant hello",
		"cache_report",
		`tool_execution_start shout{"query":"<a>"}`, `tool_execution_end shout{"query":"<a>"}`,
		"message_start toolResult <A>!\n\x1b[2Jtwo", "message_end toolResult <A>!\n\x1b[2Jtwo", "turn_end assistant hello",
		"turn_start", "message_start assistant", "message_update text_start", "message_update text_delta bye", "message_update text_end bye",
		"message_end assistant bye", "cache_report", "turn_end assistant bye", "agent_end", "agent_settled",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// brokenPipe takes n bytes.
type brokenPipe struct{ n int }

func (b *brokenPipe) Write(p []byte) (int, error) {
	if b.n -= len(p); b.n < 0 {
		return 0, errors.New("pipe is gone")
	}
	return len(p), nil
}

// When nobody reads any more the answer is not read to its end either: this
// model would never end it.
func TestStopsWhenNobodyReads(t *testing.T) {
	for _, mode := range []print.Mode{print.Text, print.JSON} {
		_, err := run(t, print.Options{Mode: mode, Live: true, Out: &brokenPipe{n: 5}}, session.Options{},
			llmtest.Turn{Parts: []llmtest.Part{{Text: "some words and more"}}, Fault: llmtest.Fault{StallAfterEvents: 6}})
		if err == nil || !strings.Contains(err.Error(), "pipe is gone") {
			t.Errorf("%s: error %v", mode, err)
		}
	}
}

// A session with a schema prints the result, and asks for it if need be.
func TestResult(t *testing.T) {
	result := &tool.Tool{
		Name: session.ResultTool, Parameters: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`),
		Run: func(context.Context, tool.Call) (*tool.Result, error) { return &tool.Result{Final: true}, nil },
	}
	say := func(text string) llmtest.Turn { return llmtest.Turn{Parts: []llmtest.Part{{Text: text}}} }
	give := func(args string) llmtest.Turn {
		return llmtest.Turn{Parts: []llmtest.Part{{Text: "here"}, {Call: "result", Args: args}}}
	}
	forced := give(`{"n": 3}`)
	forced.Check = func(r *llm.Request) error {
		if r.ToolChoice != (llm.ToolChoice{Mode: llm.ToolNamed, Name: "result"}) {
			return errors.New("the result is not asked for")
		}
		return nil
	}
	for name, tt := range map[string]struct {
		turns []llmtest.Turn
		want  string
		err   error
	}{
		"at once":           {[]llmtest.Turn{give(`{"n": 1}`)}, "{\"n\":1}\n", nil},
		"wrong, then right": {[]llmtest.Turn{give(`{"n":"x"}`), give(`{"n":2}`)}, "{\"n\":2}\n", nil},
		"after being asked": {[]llmtest.Turn{say("done"), forced}, "{\"n\":3}\n", nil},
		"never":             {[]llmtest.Turn{say("done"), say("done"), say("done")}, "", session.ErrNoResult},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			one := &tool.Tool{Name: result.Name, Parameters: result.Parameters, Run: result.Run}
			_, err := run(t, print.Options{Mode: print.Text, Out: &out, Result: true}, session.Options{Tools: []*tool.Tool{one}}, tt.turns...)
			if out.String() != tt.want || !errors.Is(err, tt.err) {
				t.Errorf("wrote %q, error %v; want %q, %v", out.String(), err, tt.want, tt.err)
			}
		})
	}
}

func TestTerminal(t *testing.T) {
	question := permit.Decision{Reason: "it runs a command", Offers: []permit.Offer{
		{
			Words: "all `go test` commands", Examples: []string{"go test ./..."}, Rules: []permit.Rule{{Tool: "bash", Pattern: "go test:*", Words: "allow it", Scope: permit.Session}},
			Scopes: []permit.Scope{permit.Session, permit.Project},
		},
	}}
	request := permit.Request{Tool: "bash", Access: []tool.Access{{Kind: tool.AccessExecute, Target: "go \x1b[2Jtest"}}}
	asked := &session.Question{Kind: session.AskPermission, Permission: &permit.Question{Request: request, Decision: question}}
	for typed, want := range map[string]permit.Answer{
		"y\n":                  {Allow: true},
		"\n\nNO\n":             {},
		"7\n1\n":               {Allow: true, Grant: question.Offers[0].Rules},
		"1P\n":                 {Allow: true, Grant: question.Offers[0].In(permit.Project)},
		"1u\nn\n":              {}, // it is not offered for everywhere
		"use the other file\n": {Note: "use the other file"},
		"?\ny\n":               {Allow: true},
	} {
		var out bytes.Buffer
		term := &print.Terminal{In: strings.NewReader(typed), Out: &out}
		got, err := term.Answer(context.Background(), asked)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(&want, got.Permission); diff != "" {
			t.Errorf("%q: %s", typed, diff)
		}
		for _, part := range []string{"bash wants to run:\n  execute go ␛[2Jtest\n", "it runs a command\n", "  1  Allow all `go test` commands in this session\n  p after a number: in this project\n  ?  details\n"} {
			if !strings.Contains(out.String(), part) {
				t.Errorf("the question lacks %q:\n%s", part, &out)
			}
		}
		fine := "  1  Holds  until burin ends\n     Rule   bash(go test:*)\n            allow it, in this session\n     Also   go test ./...\n"
		if strings.Contains(out.String(), fine) != (typed[0] == '?') {
			t.Errorf("%q shows the fine print, or doesn't:\n%s", typed, &out)
		}
	}
	var out bytes.Buffer
	ofAgent := *asked
	ofAgent.From = "finder"
	if _, err := (&print.Terminal{In: strings.NewReader("n\n"), Out: &out}).Answer(context.Background(), &ofAgent); err != nil || !strings.Contains(out.String(), "\nfinder: bash wants to run:\n") {
		t.Errorf("it isn't said which agent asks: %v\n%s", err, &out)
	}
	closed := &print.Terminal{In: strings.NewReader(""), Out: io.Discard}
	if _, err := closed.Answer(context.Background(), asked); !errors.Is(err, print.ErrNoAnswer) {
		t.Errorf("a closed terminal says %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	open, w := io.Pipe()
	defer w.Close()
	if _, err := (&print.Terminal{In: open, Out: io.Discard}).Answer(ctx, asked); !errors.Is(err, context.Canceled) {
		t.Errorf("an interrupted question says %v", err)
	}
}

// A grant of several rules, which one line may not name, is given once they were shown.
func TestTerminalShowsSeveralRules(t *testing.T) {
	offer := permit.Offer{
		Words: "all `npm ci` commands and 1 more", Scopes: []permit.Scope{permit.Session},
		Rules: []permit.Rule{{Tool: "bash", Pattern: "npm ci:*"}, {Tool: "bash", Pattern: "make all:*"}},
	}
	asked := &session.Question{Kind: session.AskPermission, Permission: &permit.Question{Decision: permit.Decision{Offers: []permit.Offer{offer}}}}
	for typed, granted := range map[string]bool{"1\nn\n": false, "1\n1\n": true} {
		var out bytes.Buffer
		got, err := (&print.Terminal{In: strings.NewReader(typed), Out: &out}).Answer(context.Background(), asked)
		if err != nil || len(got.Permission.Grant) == 2 != granted || !strings.Contains(out.String(), "Rule   bash(make all:*)") {
			t.Errorf("%q: %+v, %v\n%s", typed, got.Permission, err, &out)
		}
	}
}

func TestTerminalQuestions(t *testing.T) {
	questions := []session.Choice{
		{ID: "a", Text: "Which?", Options: []string{"x", "y"}, Recommended: 1},
		{ID: "b", Text: "Which ones?", Options: []string{"p", "q", "r"}, Multi: true, Recommended: -1},
		{ID: "c", Text: "Or?", Options: []string{"z"}, Recommended: -1},
	}
	var out bytes.Buffer
	term := &print.Terminal{In: strings.NewReader("2\n3, 1,3\nsomething else\n"), Out: &out}
	got, err := term.Answer(context.Background(), &session.Question{Kind: session.AskChoice, Choices: questions})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]session.Chosen{{Selected: []string{"y"}}, {Selected: []string{"r", "p"}}, {Custom: "something else"}}, got.Choices); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(out.String(), "  2  y (recommended)\n") {
		t.Errorf("shown: %s", &out)
	}
	term = &print.Terminal{In: strings.NewReader("\n"), Out: io.Discard}
	if r, err := term.Answer(context.Background(), &session.Question{Kind: session.AskChoice, Choices: questions}); err != nil || !r.Dismissed {
		t.Errorf("an empty line says %+v, %v", r, err)
	}
}

func TestShow(t *testing.T) {
	l, err := transcript.Create(new(transcript.Memory), transcript.Header{}, transcript.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	add := func(entries ...transcript.Entry) {
		t.Helper()
		for _, e := range entries {
			if _, err := l.Append(e); err != nil {
				t.Fatal(err)
			}
		}
	}
	say := func(messages ...llm.Message) {
		for _, m := range messages {
			add(transcript.Entry{Type: transcript.TypeMessage, Message: &m})
		}
	}
	failed, done := 2, 0
	say(
		llm.Message{Role: llm.RoleCustom, CustomType: "context", Content: []llm.Block{llm.Text{Text: "hidden"}}},
		llm.UserText("fix\nit"),
		llm.Message{Role: llm.RoleAssistant, Content: []llm.Block{llm.Text{Text: "I'll look."}, llm.ToolCall{ID: "1", Name: "bash", Arguments: `{"command":"ls"}`}, llm.ToolCall{ID: "2", Name: "read", Arguments: `{"path":"a.go"}`}}},
		llm.ToolResultText(llm.ToolCall{ID: "1", Name: "bash"}, "a.go", false),
		llm.Message{Role: llm.RoleToolResult, ToolCallID: "2", ToolName: "read", Details: json.RawMessage(`{"lines":1}`)},
		llm.AssistantText("Done.\x1b[31m"),
		llm.Message{Role: llm.RoleAssistant, Content: []llm.Block{llm.ToolCall{ID: "3", Name: "gr\x1b[2Jep", Arguments: `{"pattern":"x"}`}, llm.ToolCall{ID: "4", Name: "read", Arguments: `{"path":"b.go"}`}}},
		llm.ToolResultText(llm.ToolCall{ID: "3", Name: "gr\x1b[2Jep"}, "none", false),
		llm.UserText("stop"),
	)
	fork := l.Leaf()
	add(
		transcript.NewExecution(transcript.Execution{Command: "go test", Output: "FAIL\x1b[2J\n", ExitCode: &failed}),
		transcript.NewExecution(transcript.Execution{Command: "env", Output: "A=b", ExitCode: &done, Excluded: true}),
		transcript.NewExecution(transcript.Execution{Command: "sleep 9", Cancelled: true}),
		transcript.Entry{Type: transcript.TypeCustomMessage, CustomType: "reminder", Display: true, Content: json.RawMessage(`"The budget\nis used up."`)},
		transcript.Entry{Type: transcript.TypeCustomMessage, CustomType: "rules", Content: json.RawMessage(`"hidden too"`)},
		transcript.Entry{Type: transcript.TypeCompaction, TokensBefore: 1200, FirstKeptID: fork, Summary: "## Goal\n\nIt is fixed."},
	)
	say(llm.Message{Role: llm.RoleAssistant, StopReason: llm.StopError, Error: &llm.Error{Message: "overloaded"}})
	if err := l.Move(fork); err != nil {
		t.Fatal(err)
	}
	add(transcript.Entry{Type: transcript.TypeBranchSummary, FromID: fork, Summary: "It was tested."})
	say(
		llm.Message{Role: llm.RoleUser, Content: []llm.Block{llm.Image{MIME: "image/png", Data: []byte("png")}, llm.Document{Name: "a.pdf", MIME: "application/pdf"}}},
		llm.Message{Role: llm.RoleAssistant, Content: []llm.Block{llm.Text{Text: "I"}}, StopReason: llm.StopAborted},
	)

	const start = "> fix\n> it\n\nI'll look.\n\n● bash  ls\n  a.go\n\n● read  a.go\n  1 line\n\nDone.␛[31m\n\n" +
		"● gr␛[2Jep  x\n  none\n\n● read  b.go\n  No result.\n\n> stop\n\n"
	const left = "● You  go test\n  FAIL␛[2J\n  [Exit code 2.]\n\n● Your own command  env\n  A=b\n\n● You  sleep 9\n  [Stopped.]\n\n" +
		"[reminder] The budget\n  is used up.\n\n[condensed, before it about 1200 tokens] ## Goal\n  \n  It is fixed.\n\n  overloaded\n\n"
	const end = "[summary of another branch] It was tested.\n\n> [image/png]\n> [a.pdf]\n\nI\n\n  The answer was stopped.\n\n"
	m := llm.UserText("go on")
	afterLoss := transcript.Entry{Type: transcript.TypeMessage, ID: "b", ParentID: &fork, Message: &m}
	branch, err := l.Branch(l.Leaf())
	if err != nil {
		t.Fatal(err)
	}
	active := func(yield func(*transcript.Entry, error) bool) {
		for i := range branch {
			if !yield(&branch[i], nil) {
				return
			}
		}
	}
	for name, tt := range map[string]struct {
		entries iter.Seq2[*transcript.Entry, error]
		want    string
	}{
		"the branch":  {active, start + end},
		"all entries": {l.All(), start + left + "[another branch from an earlier point]\n\n" + end},
		"damage": {func(yield func(*transcript.Entry, error) bool) {
			_ = yield(nil, errors.New("line 3 is damaged")) && yield(&afterLoss, nil)
		}, "  line 3 is damaged\n\n> go on\n\n"},
	} {
		var out bytes.Buffer
		if err := print.Show(&out, tt.entries, false); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, out.String()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if err := print.Show(&brokenPipe{n: 3}, l.All(), false); err == nil {
		t.Error("a broken pipe is no error")
	}
}

func TestPrompt(t *testing.T) {
	dir := t.TempDir()
	write := func(name, data string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	png := "\x89PNG\r\n\x1a\n...."
	notes, photo, paper := write("notes.md", "# Notes\n\n"), write("photo", png), write("paper.pdf", "%PDF-1.7 ...")
	m, err := print.Prompt([]string{"what", "is", "@" + photo, "this", "@" + notes, "@" + paper, "@@home"}, strings.NewReader("from a pipe\n"), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []llm.Block{
		llm.Image{MIME: "image/png", Data: []byte(png)},
		llm.Text{Text: "<file path=\"" + notes + "\">\n# Notes\n</file>"},
		llm.Document{Name: "paper.pdf", MIME: "application/pdf", Data: []byte("%PDF-1.7 ...")},
		llm.Text{Text: "<file path=\"standard input\">\nfrom a pipe\n</file>"},
		llm.Text{Text: "what is this @home"},
	}
	if diff := cmp.Diff(want, m.Content); diff != "" {
		t.Error(diff)
	}

	big := write("big.txt", strings.Repeat("a", host.MaxTextFile+1))
	for name, tt := range map[string]struct {
		words []string
		stdin string
		want  string
	}{
		"nothing":      {nil, " \n", "there is no prompt"},
		"missing file": {[]string{"@" + filepath.Join(dir, "no")}, "", "no: no such file or directory"},
		"folder":       {[]string{"@" + dir}, "", "it is a folder: name a file"},
		"binary":       {[]string{"@" + write("bin", "a\x00b")}, "", "neither text, nor"},
		"big file":     {[]string{"@" + big}, "", "larger than 4 MB"},
		"big input":    {nil, strings.Repeat("a", host.MaxTextFile+1), "standard input is larger than 4 MB"},
		"binary input": {nil, "\xff\xfe", "standard input is not text"},
	} {
		_, err := print.Prompt(tt.words, strings.NewReader(tt.stdin), nil)
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
	if _, err := print.Prompt([]string{"hi"}, nil, nil); err != nil {
		t.Errorf("without standard input: %v", err)
	}
}

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/anthropic"
	"github.com/burin-dev/burin/llm/llmtest"
	"github.com/burin-dev/burin/llm/wire"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/session/handletest"
	"github.com/burin-dev/burin/tool"
	"github.com/burin-dev/burin/transcript"
)

// What a session told while it lived, its replay tells again: the same events in the same
// order about the same entries.
func TestReplayTellsTheSame(t *testing.T) {
	t.Parallel()
	call := llmtest.Turn{Parts: []llmtest.Part{{Text: "I look."}, {Call: "look", Args: `{}`}}}
	say := func(text string) llmtest.Turn { return llmtest.Turn{Parts: []llmtest.Part{{Text: text}}} }
	srv, err := llmtest.Serve(anthropic.Server{}, llmtest.Script{Turns: []llmtest.Turn{call, say("It is there."), say("the summary"), say("the title"), say("Yes."), say("what was left"), say("No.")}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	l, err := transcript.Create(new(transcript.Memory), transcript.Header{CWD: "/p"}, transcript.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var live []session.Event
	o := session.Options{
		Client:  anthropic.New(anthropic.Options{Endpoint: wire.Endpoint{BaseURL: srv.URL}}),
		Request: llm.Request{Model: &llm.Model{ID: "claude", Provider: "anthropic", API: llm.APIAnthropic, ContextWindow: 200_000, MaxOutput: 8000}},
		Log:     l, Mode: "ask",
		Emit:    func(e session.Event) { live = append(live, e) },
		Preface: []llm.Message{{Role: llm.RoleCustom, CustomType: "context", Content: []llm.Block{llm.Text{Text: "Today is Monday."}}}},
		Ground: &handletest.Ground{
			OnSetMode: func(mode string) (string, error) { return "Now " + mode, nil },
			OnRun: func(_ context.Context, line string, _ bool, _ func(string)) (session.CommandResult, error) {
				return session.CommandResult{Output: "ran " + line}, nil
			},
		},
		Tools: []*tool.Tool{{Name: "look", Parameters: json.RawMessage(`{"type":"object"}`), Run: func(context.Context, tool.Call) (*tool.Result, error) {
			return tool.Text("found"), nil
		}}},
	}
	o.Compaction.KeepRecentTokens = 1
	s, err := session.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	prompt := func(text string) {
		t.Helper()
		if out := s.Prompt(t.Context(), llm.UserText(text)); out.Err != nil {
			t.Fatal(out.Err)
		}
	}
	run := func(line string, private bool) {
		t.Helper()
		if _, err := s.Run(t.Context(), line, private, nil); err != nil {
			t.Fatal(err)
		}
	}
	run("ls", false)
	face := s.Handle("test", false)
	if err := face.Models().SetThinking(t.Context(), llm.LevelLow); err != nil {
		t.Fatal(err)
	}
	prompt("look for it")
	first := l.Leaf()
	run("go test", false)
	run("env", true)
	if err := s.Compact(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	if err := face.Conversation().SetTitle(t.Context(), "Looking"); err != nil {
		t.Fatal(err)
	}
	if err := face.Models().SetMode(t.Context(), "plan"); err != nil {
		t.Fatal(err)
	}
	prompt("is it?")
	if _, err := s.Navigate(t.Context(), first, session.Navigation{Summarize: true}); err != nil {
		t.Fatal(err)
	}
	prompt("is it not?")

	var again []session.Event
	r := &replay{log: l, emit: func(e session.Event) { again = append(again, e) }, calls: map[string]llm.ToolCall{}}
	r.Prompt(t.Context(), llm.Message{})
	if diff := cmp.Diff(told(live), told(again)); diff != "" {
		t.Errorf("(-live +replayed):\n%s", diff)
	}
}

// told is what events tell, without what no entry keeps: pieces, the queue and the cache.
func told(events []session.Event) []string {
	var out []string
	for _, e := range events {
		switch e.Type {
		case agent.MessageUpdate, session.QueueChanged, session.CacheReport, session.ToolsChanged, session.JobsChanged, session.TasksChanged:
			continue
		}
		line := fmt.Sprint(e.Type, " ", e.EntryID, " ", e.Text)
		if e.Message != nil {
			line += fmt.Sprint(" ", e.Message.Role)
		}
		if e.Call != nil {
			line += " " + e.Call.ID
		}
		if c, ok := e.Data.(*session.CompactionInfo); ok {
			line += " " + c.Summary
		}
		if e.Outcome != nil {
			line += fmt.Sprint(" ", e.Outcome.Reason, " ", e.Outcome.Turns, " ", len(e.Messages))
		}
		out = append(out, line)
	}
	return out
}

// All that shows a session shows what a person ran, what programs have shown, and what
// stands for what was condensed or left.
func TestShownEverywhere(t *testing.T) {
	t.Setenv("BURIN_HOME", t.TempDir())
	dir, failed := t.TempDir(), 2
	said := message(llm.RoleAssistant, llm.Text{Text: "Hello."})
	file := sessionIn(t, dir, transcript.Options{},
		message(llm.RoleUser, llm.Text{Text: "Hi."}), said,
		transcript.NewExecution(transcript.Execution{Command: "go test ./...", Output: "FAIL: TestStore", ExitCode: &failed}),
		transcript.NewExecution(transcript.Execution{Command: "cat notes", Output: "my notes", Excluded: true}),
		transcript.Entry{Type: transcript.TypeCustomMessage, CustomType: "reminder", Display: true, Content: json.RawMessage(`"half of it is used up"`)},
		transcript.Entry{Type: transcript.TypeCustomMessage, CustomType: "rules", Content: json.RawMessage(`"not for people"`)},
		transcript.Entry{Type: transcript.TypeCompaction, Summary: "greetings were exchanged", TokensBefore: 1200},
		transcript.Entry{Type: transcript.TypeBranchSummary, Summary: "another greeting was tried"},
		message(llm.RoleUser, llm.Text{Text: "Bye."}),
	)
	for _, args := range [][]string{
		{"show", file},
		{"replay", file},
		{"export", file, "--format", "md", "-o", "-"},
		{"export", file, "--format", "html", "-o", "-"},
	} {
		var out, errs bytes.Buffer
		p := program{out: &out, err: &errs, getenv: func(name string) string {
			if name == "BURIN_HOME" {
				return dir
			}
			return ""
		}}
		if code := p.run(append([]string{"sessions"}, args...)); code != exitDone {
			t.Fatalf("%v: exit %d: %s", args, code, &errs)
		}
		text := out.String()
		for _, want := range []string{"go test ./...", "FAIL: TestStore", "Exit code 2.", "cat notes", "my notes", "half of it is used up", "greetings were exchanged", "another greeting was tried"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s lacks %q", args[0], want)
			}
		}
		if slices.Contains(args, "html") {
			text, _, _ = strings.Cut(text, `class="msg note quiet"`) // it is there for who asks for everything
		}
		if strings.Contains(text, "not for people") {
			t.Errorf("%s shows what is not for people", args[0])
		}
		if t.Failed() {
			t.Log(text)
		}
	}
}

// What was interrupted is not taken for all there is.
func TestShowInterrupted(t *testing.T) {
	t.Setenv("BURIN_HOME", t.TempDir())
	file := sessionIn(t, t.TempDir(), transcript.Options{}, message(llm.RoleUser, llm.Text{Text: "Hi."}), message(llm.RoleAssistant, llm.Text{Text: "Hello."}))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out bytes.Buffer
	p := program{out: &out, err: &out, getenv: os.Getenv}
	for name, err := range map[string]error{
		"show": showSession(ctx, &p, showOptions{which: file}), "show --json": showSession(ctx, &p, showOptions{which: file, json: true}),
		"replay": replaySession(ctx, &p, replayOptions{which: file, mode: "text"}), "replay --mode json": replaySession(ctx, &p, replayOptions{which: file, mode: "json"}),
	} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

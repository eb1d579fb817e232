package print_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/mode/print"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/anthropic"
	"github.com/burin-dev/burin/llm/llmtest"
	"github.com/burin-dev/burin/llm/wire"
)

// serve gives a client of a scripted model and the model it speaks for.
func serve(t *testing.T, turns ...llmtest.Turn) (llm.Client, *llmtest.Server, *llm.Request) {
	t.Helper()
	srv, err := llmtest.Serve(anthropic.Server{}, llmtest.Script{Turns: turns})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	client := anthropic.New(anthropic.Options{Endpoint: wire.Endpoint{BaseURL: srv.URL}})
	model := &llm.Model{
		ID: "claude", Provider: "anthropic", API: llm.APIAnthropic,
		Price: llm.Price{Input: llm.PerMillion(3), Output: llm.PerMillion(15)},
	}
	return client, srv, &llm.Request{Model: model, Messages: []llm.Message{llm.UserText("hi")}}
}

func TestRunText(t *testing.T) {
	tests := []struct {
		name string
		turn llmtest.Turn
		want string
		kind llm.ErrorKind
	}{
		{"ends its last line", llmtest.Turn{Parts: []llmtest.Part{{Thinking: "hm"}, {Text: "an answer"}}}, "an answer\n", ""},
		{"has ended it already", llmtest.Turn{Parts: []llmtest.Part{{Text: "an answer\n"}}}, "an answer\n", ""},
		{"says nothing", llmtest.Turn{Events: llmtest.Stop(llm.StopEnd, llm.Usage{})}, "", ""},
		{"breaks off", llmtest.Turn{Events: append(llmtest.Say("half"), llmtest.Fail(&llm.Error{Kind: llm.ErrOverload, Message: "busy"})...)}, "half\n", llm.ErrOverload},
		{"is refused", llmtest.Turn{Fault: llmtest.Fault{Error: &llm.Error{Kind: llm.ErrAuth, Status: 401, Message: "no"}}}, "", llm.ErrAuth},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			client, _, req := serve(t, tt.turn)
			var out bytes.Buffer
			_, err := print.Run(context.Background(), client, req, print.Text, &out)
			if out.String() != tt.want || llm.KindOf(err) != tt.kind {
				t.Errorf("wrote %q, error %v; want %q and kind %q", out.String(), err, tt.want, tt.kind)
			}
		})
	}
}

func TestRunPrices(t *testing.T) {
	client, _, req := serve(t, llmtest.Turn{Parts: []llmtest.Part{{Text: "a"}}, Events: llmtest.Stop(llm.StopEnd, llm.Usage{Input: 1200, Output: 350})})
	said, err := print.Run(context.Background(), client, req, print.Text, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if got := said[0].Usage.Cost.Total; got != llm.Dollars(0.00885) {
		t.Errorf("cost %v", got)
	}
}

// A turn that the vendor paused goes on by itself.
func TestRunContinuesAfterPause(t *testing.T) {
	client, srv, req := serve(t,
		llmtest.Turn{Events: append(llmtest.Say("first "), llmtest.Stop(llm.StopPause, llm.Usage{})...)},
		llmtest.Turn{Parts: []llmtest.Part{{Text: "second"}}},
	)
	var out bytes.Buffer
	said, err := print.Run(context.Background(), client, req, print.Text, &out)
	if err != nil || out.String() != "first second\n" || len(said) != 2 {
		t.Errorf("wrote %q, %d messages, error %v", out.String(), len(said), err)
	}
	if asked := srv.Requests(); len(asked) != 2 || len(asked[1].Messages) < 2 || len(req.Messages) != 1 {
		t.Errorf("asked %d times; the request now has %d messages", len(asked), len(req.Messages))
	}
}

func TestRunJSON(t *testing.T) {
	client, _, req := serve(t, llmtest.Turn{Parts: []llmtest.Part{{Text: "hello"}, {Call: "read", ID: "c1", Args: `{"path":"a"}`}}})
	var out bytes.Buffer
	if _, err := print.Run(context.Background(), client, req, print.JSON, &out); err != nil {
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
			Message  *llm.Message
			Messages []llm.Message
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
		case l.Message != nil:
			s += " " + string(l.Message.Role) + " " + l.Message.Text()
		case l.Messages != nil:
			s += " " + string(l.Messages[0].StopReason)
		}
		got = append(got, strings.TrimSpace(s))
	}
	want := []string{
		"agent_start", "message_start user hi", "message_end user hi", "message_start assistant",
		"message_update text_start", "message_update text_delta hello", "message_update text_end hello",
		"message_update toolcall_start read", `message_update toolcall_end read{"path":"a"}`,
		"message_end assistant hello", "agent_end toolUse",
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

// When nobody reads any more the answer is not read to its end either.
func TestRunStopsWhenNobodyReads(t *testing.T) {
	client, _, req := serve(t, llmtest.Turn{Parts: []llmtest.Part{{Text: "some words and more"}}, Fault: llmtest.Fault{StallAfterEvents: 6}})
	_, err := print.Run(context.Background(), client, req, print.Text, &brokenPipe{n: 5})
	if err == nil || !strings.Contains(err.Error(), "pipe is gone") {
		t.Errorf("error %v", err)
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
	m, err := print.Prompt([]string{"what", "is", "@" + photo, "this", "@" + notes, "@" + paper, "@@home"}, strings.NewReader("from a pipe\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := []llm.Block{
		llm.Image{MIME: "image/png", Data: []byte(png)},
		llm.Text{Text: "<file path=\"" + notes + "\">\n# Notes\n</file>"},
		llm.Document{Name: "paper.pdf", MIME: "application/pdf", Data: []byte("%PDF-1.7 ...")},
		llm.Text{Text: "from a pipe"},
		llm.Text{Text: "what is this @home"},
	}
	if diff := cmp.Diff(want, m.Content); diff != "" {
		t.Error(diff)
	}

	big := write("big.txt", strings.Repeat("a", print.MaxTextFile+1))
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
		"big input":    {nil, strings.Repeat("a", print.MaxTextFile+1), "standard input is larger than 4 MB"},
		"binary input": {nil, "\xff\xfe", "standard input is not text"},
	} {
		_, err := print.Prompt(tt.words, strings.NewReader(tt.stdin))
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
	if _, err := print.Prompt([]string{"hi"}, nil); err != nil {
		t.Errorf("without standard input: %v", err)
	}
}

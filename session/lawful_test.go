package session_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/llmtest"
	"github.com/burin-dev/burin/llm/wire"
	"github.com/burin-dev/burin/transcript"
)

// Whatever is cut, lost, swapped or flipped in a session with all that a session may hold,
// every wire format takes what is left of it.
func TestDamagedSessionsAreLawful(t *testing.T) {
	pacetest.Costly(t)
	dir := t.TempDir()
	o := transcript.Options{Blobs: transcript.NewBlobs(filepath.Join(dir, "blobs"))}
	path := filepath.Join(dir, "s.jsonl")
	motley(t, path, o)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		text, how := spoiled(rng, whole)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		log, _, err := transcript.ReadSession(path, o)
		if errors.Is(err, transcript.ErrNotSession) {
			continue // nothing is left
		}
		if err != nil {
			t.Fatalf("%s: %v", how, err)
		}
		leaf := log.Leaf()
		if nodes := log.Nodes(); len(nodes) > 0 && rng.IntN(2) == 0 {
			leaf = nodes[rng.IntN(len(nodes))].ID
		}
		c, err := log.Context(leaf)
		if err != nil {
			t.Fatalf("%s: %v", how, err)
		}
		for _, f := range formats() {
			if err := taken(t, f, append(c.Messages, llm.UserText("go on"))); err != nil {
				t.Errorf("%s, at %s, for %s: %v", how, leaf, f.name, err)
			}
		}
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// taken sends messages in a wire format, and gives what its server half says of them.
func taken(t *testing.T, f format, messages []llm.Message) error {
	t.Helper()
	srv := llmtest.New(llmtest.Script{Turns: []llmtest.Turn{say("ok")}}, f.server)
	defer srv.Close()
	client := f.open(wire.Endpoint{BaseURL: "http://model.invalid", Client: &http.Client{Transport: memory{srv}}, FirstEvent: patience, Idle: patience})
	_, err := llm.Collect(client.Stream(t.Context(), &llm.Request{Model: &f.model, Messages: messages, MaxTokens: 100}))
	if err = errors.Join(err, srv.Err()); err != nil {
		return err
	}
	lawful(t, srv.Requests()[0])
	return nil
}

// spoiled is a text with some damage, and which.
func spoiled(rng *rand.Rand, whole []byte) (text []byte, how string) {
	lines := bytes.SplitAfter(slices.Clone(whole), []byte("\n"))
	a, b := rng.IntN(len(lines)), rng.IntN(len(lines))
	switch rng.IntN(4) {
	case 0:
		return bytes.Join(slices.Delete(lines, a, a+1), nil), fmt.Sprintf("without line %d", a+1)
	case 1:
		lines[a], lines[b] = lines[b], lines[a]
		return bytes.Join(lines, nil), fmt.Sprintf("lines %d and %d swapped", a+1, b+1)
	case 2:
		n := rng.IntN(len(whole))
		return whole[:n], fmt.Sprintf("cut at %d", n)
	}
	text = slices.Clone(whole)
	var at []string
	for range 1 + rng.IntN(30) {
		n := rng.IntN(len(text))
		text[n] ^= 1 << rng.IntN(8)
		at = append(at, fmt.Sprint(n))
	}
	return text, "flipped at " + strings.Join(at, ", ")
}

// motley writes a session of all vendors, with every kind of entry and block.
func motley(t *testing.T, path string, o transcript.Options) {
	t.Helper()
	l, err := transcript.Create(transcript.CreateFile(path), transcript.Header{CWD: "/"}, o)
	if err != nil {
		t.Fatal(err)
	}
	add := func(e transcript.Entry) string {
		t.Helper()
		id, err := l.Append(e)
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	say := func(m llm.Message) string { return add(transcript.Entry{Type: transcript.TypeMessage, Message: &m}) }
	picture := func(n int) llm.Block { return llm.Image{MIME: "image/png", Data: bytes.Repeat([]byte{1}, n)} }
	document := llm.Document{Name: "a b.pdf", MIME: "application/pdf", Data: []byte("%PDF-1.4"), Text: "words"}
	kept := ""
	for i, f := range slices.Repeat(formats(), 2) {
		asked := say(llm.Message{Role: llm.RoleUser, Content: []llm.Block{llm.Text{Text: fmt.Sprint("ask ", i)}, picture(10 + 900*(i%2)), document}})
		answer := llm.Message{Role: llm.RoleAssistant, API: f.model.API, Provider: f.model.Provider, Model: f.model.ID, StopReason: llm.StopToolUse}
		calls := []llm.ToolCall{
			{ID: fmt.Sprintf("call%d|fc_%d", i, i), Name: "read", Arguments: `{"path":"a"}`},
			{ID: fmt.Sprint("call", i), Name: "read file!", Arguments: `{"path":`, Defect: llm.DefectCut},
		}
		answer.Content = []llm.Block{llm.Thinking{Text: "hm", Signature: "sig"}, llm.Text{Text: "I look"}, calls[0], calls[1]}
		if f.model.API == llm.APIAnthropic {
			answer.Content = append(answer.Content, llm.Opaque{API: f.model.API, Kind: "server_tool_use", Raw: json.RawMessage(`{"type":"server_tool_use","id":"srv1","name":"web_search","input":{}}`)})
		}
		say(answer)
		for _, c := range calls {
			result := llm.ToolResultText(c, "out", i%3 == 0)
			result.Content = append(result.Content, picture(900))
			say(result)
		}
		add(transcript.NewExecution(transcript.Execution{Command: "ls", Output: "x"}))
		answer.Content, answer.StopReason = []llm.Block{llm.Text{Text: "done"}}, []llm.StopReason{llm.StopEnd, llm.StopPause, llm.StopAborted}[i%3]
		say(answer)
		switch i {
		case 3:
			kept = asked
			add(transcript.Entry{Type: transcript.TypeCustomMessage, CustomType: "x", Content: json.RawMessage(`[{"type":"image","data":"QUJD","mimeType":"image/png"},{"type":"text","text":"hi"}]`)})
		case 6:
			add(transcript.Entry{Type: transcript.TypeCompaction, Summary: "what was said", FirstKeptID: kept})
		case 7:
			add(transcript.Entry{Type: transcript.TypeCustom, CustomType: transcript.CustomPrune, Data: json.RawMessage(`{"entries":[{"id":"` + kept + `","text":"short","block":1}]}`)})
		case 8:
			add(transcript.Entry{Type: transcript.TypeBranchSummary, Summary: "another way"})
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

package foreign

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
)

// gemRecord is a session file of Gemini CLI, or a line of one: a header, a message,
// changes of the header, or a step back.
type gemRecord struct {
	Session  string          `json:"sessionId"`
	Started  stamp           `json:"startTime"`
	Summary  string          `json:"summary"`
	Messages []gemMessage    `json:"messages"`
	Set      *gemRecord      `json:"$set"`
	RewindTo string          `json:"$rewindTo"`
	ID       string          `json:"id"`
	Kind     string          `json:"kind"`
	Type     string          `json:"type"`
	Content  json.RawMessage `json:"content"`
}

type gemMessage struct {
	ID       string          `json:"id"`
	Time     stamp           `json:"timestamp"`
	Type     string          `json:"type"`
	Content  json.RawMessage `json:"content"`
	Model    string          `json:"model"`
	Thoughts []struct {
		Subject     string `json:"subject"`
		Description string `json:"description"`
	} `json:"thoughts"`
	Calls  []gemCall `json:"toolCalls"`
	Tokens *struct {
		Input    int `json:"input"` // with what was cached
		Output   int `json:"output"`
		Cached   int `json:"cached"`
		Thoughts int `json:"thoughts"` // not part of the output
	} `json:"tokens"`
}

type gemCall struct {
	ID     string          `json:"id"`
	Name   string          `json:"name"`
	Args   json.RawMessage `json:"args"`
	Result json.RawMessage `json:"result"`
	Status string          `json:"status"`
}

// gemPart has the fields of the parts of content.
type gemPart struct {
	Text    string `json:"text"`
	Thought bool   `json:"thought"`
	Inline  *struct {
		MIME string `json:"mimeType"`
		Data string `json:"data"`
	} `json:"inlineData"`
	File *struct {
		MIME string `json:"mimeType"`
		URI  string `json:"fileUri"`
	} `json:"fileData"`
	Response *struct {
		Response json.RawMessage `json:"response"`
		Parts    []gemPart       `json:"parts"`
	} `json:"functionResponse"`
}

// gemStep is a message and the one that it follows, by index.
type gemStep struct {
	message gemMessage
	parent  int
}

// gemReader collects messages. A later line with the id of an earlier one replaces
// it.
type gemReader struct {
	t      *tree
	steps  []gemStep
	at     map[string]int
	end    int // the last step of the active branch
	header gemRecord
	marks  int
}

func gemini(ctx context.Context, path string) (*Session, error) {
	r := &gemReader{t: newTree(GeminiCLI, path, strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))), at: map[string]int{}, end: root}
	whole, err := isWhole(path)
	switch {
	case err != nil:
		return nil, err
	case whole:
		err = r.whole(path)
	default:
		err = r.t.lines(ctx, path, func(_ int, text []byte) error { return r.line(text) })
	}
	if err != nil {
		return nil, err
	}
	return r.build(), nil
}

// isWhole reports whether a file is one JSON value rather than lines, whatever its
// name. One that was cut off is, if its first line is no value by itself and its name
// promises no lines.
func isWhole(path string) (bool, error) {
	file, err := os.Open(path)
	if err != nil {
		return false, fmt.Errorf("import: %w", err)
	}
	defer file.Close()
	br := bufio.NewReaderSize(io.LimitReader(file, maxWhole), 64<<10)
	var long []byte
	line, _, _ := readLine(br, &long) // a file without a line end is one line
	if !json.Valid(line) {
		return !strings.HasSuffix(path, ".jsonl"), nil
	}
	_, err = firstByte(br)
	return err != nil, nil // nothing but white space follows
}

func (r *gemReader) whole(path string) error {
	text, err := readWhole(path)
	if err != nil {
		return err
	}
	if err := r.line(bytes.TrimSpace(text)); err != nil {
		return fmt.Errorf("import %s: %w", prose.Plain(path, maxPath), err)
	}
	return nil
}

func (r *gemReader) line(text []byte) error {
	var rec gemRecord
	if _, err := decode(text, &rec); err != nil {
		return err
	}
	switch {
	case rec.RewindTo != "":
		r.rewind(rec.RewindTo)
	case rec.Set != nil:
		r.set(rec.Set)
	case rec.ID != "" && rec.Session == "":
		var m gemMessage
		if _, err := decode(text, &m); err != nil {
			return err
		}
		r.add(m)
	case rec.Session != "":
		r.set(&rec)
	default:
		return errors.New("a line of an unknown kind")
	}
	return nil
}

// set takes what a header, or a change of it, says.
func (r *gemReader) set(rec *gemRecord) {
	h := &r.header
	if rec.Session != "" {
		h.Session = rec.Session
	}
	if rec.Started.known() {
		h.Started = rec.Started
	}
	if rec.Summary != "" {
		h.Summary = rec.Summary
	}
	if rec.Kind != "" {
		h.Kind = rec.Kind
	}
	if len(rec.Messages) > 0 {
		r.end = root // they stand for all before
		for _, m := range rec.Messages {
			r.add(m)
		}
	}
}

func (r *gemReader) add(m gemMessage) {
	if i, ok := r.at[m.ID]; ok && m.ID != "" && r.onBranch(i) {
		r.steps[i].message = m
		return
	}
	r.at[m.ID] = len(r.steps)
	r.steps = append(r.steps, gemStep{m, r.end})
	r.end = len(r.steps) - 1
}

func (r *gemReader) onBranch(i int) bool {
	for at := r.end; at != root; at = r.steps[at].parent {
		if at == i {
			return true
		}
	}
	return false
}

// rewind goes back to before a message; an unknown one is before all.
func (r *gemReader) rewind(id string) {
	r.end = root
	if i, ok := r.at[id]; ok {
		r.end = r.steps[i].parent
	}
}

func (r *gemReader) build() *Session {
	t := r.t
	t.head(r.header.Summary, "", r.header.Started)
	if r.header.Session != "" {
		t.s.Header.ID = sessionID(GeminiCLI, r.header.Session)
	}
	if r.header.Kind == "subagent" {
		t.lose(1, "conversations of sub-agents", "this is one")
	}
	places := make([]int, len(r.steps))
	for i := range r.steps {
		at := root
		if p := r.steps[i].parent; p != root {
			at = places[p]
		}
		places[i] = r.message(at, &r.steps[i].message)
	}
	t.lose(r.marks, "notes of the program", "they were not part of the conversation")
	if r.end == root {
		return t.finish(root)
	}
	return t.finish(places[r.end])
}

func (r *gemReader) message(at int, m *gemMessage) int {
	switch m.Type {
	case "user":
		blocks := r.content(m.Content)
		if len(blocks) == 0 {
			return at
		}
		return r.t.message(at, m.Time, llm.Message{Role: llm.RoleUser, Content: blocks})
	case "gemini":
		return r.answer(at, m)
	case "info", "error", "warning":
		r.marks++
	default:
		r.t.lose(1, "messages of an unknown role", prose.Plain(m.Type, maxTitle))
	}
	return at
}

func (r *gemReader) answer(at int, m *gemMessage) int {
	// Which of Google's services answered is not said, and thoughts are kept as
	// titles without signatures, so nothing of it can be proved to the provider.
	u := newTurn(r.t, at, m.Time, llm.Message{Provider: "google", Model: m.Model})
	for _, th := range m.Thoughts {
		if text := strings.TrimSpace(th.Subject + "\n\n" + th.Description); text != "" {
			u.say(llm.Thinking{Text: text})
		}
	}
	for _, b := range r.content(m.Content) {
		u.say(b)
	}
	for _, c := range m.Calls {
		call := llm.ToolCall{ID: c.ID, Name: c.Name, Arguments: arguments(c.Args)}
		if len(c.Result) == 0 || string(c.Result) == "null" {
			u.unanswered(call)
			continue
		}
		u.answered(call, llm.Message{
			ToolCallID: c.ID, ToolName: c.Name, Content: r.content(c.Result), IsError: c.Status == "error" || c.Status == "cancelled",
		})
	}
	var usage *llm.Usage
	if k := m.Tokens; k != nil && (k.Input > 0 || k.Output > 0) {
		usage = &llm.Usage{Input: max(k.Input-k.Cached, 0), CacheRead: k.Cached, Output: k.Output + k.Thoughts, Reasoning: k.Thoughts}
		usage.TotalTokens = usage.Context()
	}
	return u.end(usage, "", nil)
}

// content reads text, a part, or a list of parts.
func (r *gemReader) content(raw json.RawMessage) []llm.Block {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	if raw[0] == '"' {
		return textBlock(oneWords(raw))
	}
	list := []json.RawMessage{raw}
	if raw[0] == '[' {
		if err := json.Unmarshal(raw, &list); err != nil {
			r.t.unreadable("content", err)
		}
	}
	var out []llm.Block
	for _, one := range list {
		if len(one) > 0 && one[0] == '"' {
			out = append(out, textBlock(oneWords(one))...)
			continue
		}
		var p gemPart
		if _, err := decode(one, &p); err != nil {
			r.t.unreadable("a part", err)
			continue
		}
		out = append(out, r.part(&p, one)...)
	}
	return out
}

func (r *gemReader) part(p *gemPart, raw json.RawMessage) []llm.Block {
	switch {
	case p.Inline != nil:
		return []llm.Block{r.t.encoded(p.Inline.MIME, p.Inline.Data, "")}
	case p.File != nil && strings.HasPrefix(p.File.MIME, "image/"):
		return []llm.Block{r.t.missingImage()}
	case p.File != nil:
		return []llm.Block{r.t.missingFile("")}
	case p.Response != nil:
		out := textBlock(gemOutput(p.Response.Response))
		for i := range p.Response.Parts {
			if in := p.Response.Parts[i].Inline; in != nil {
				out = append(out, r.t.encoded(in.MIME, in.Data, ""))
			}
		}
		return out
	case p.Thought && p.Text != "":
		return []llm.Block{llm.Thinking{Text: p.Text}}
	case p.Text != "":
		return textBlock(p.Text)
	case string(raw) == "{}" || bytes.HasPrefix(raw, []byte(`{"text"`)):
		return nil
	}
	r.t.lose(1, "parts of unknown kinds", "they are kept and not sent to models")
	return []llm.Block{keep("part", raw)}
}

// gemOutput is the text of a response: its output or error, or all of it.
func gemOutput(raw json.RawMessage) string {
	var o struct {
		Output *string `json:"output"`
		Error  *string `json:"error"`
	}
	if mistyped, err := decode(raw, &o); err == nil && !mistyped {
		switch {
		case o.Output != nil:
			return *o.Output
		case o.Error != nil:
			return *o.Error
		}
	}
	return arguments(raw)
}

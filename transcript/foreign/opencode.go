package foreign

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/internal/sorting"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/transcript"
)

// maxRecord is the most bytes of one file of opencode's storage.
const maxRecord = 64 << 20

// ocSession is the record of an opencode session.
type ocSession struct {
	ID        string `json:"id"`
	Parent    string `json:"parentID"`
	Title     string `json:"title"`
	Directory string `json:"directory"`
	Time      struct {
		Created stamp `json:"created"`
	} `json:"time"`
	Revert struct {
		Message string `json:"messageID"`
	} `json:"revert"`
}

// ocMessage is the record of a message; what it says is in its parts.
type ocMessage struct {
	ID   string `json:"id"`
	Role string `json:"role"`
	Time struct {
		Created stamp `json:"created"`
	} `json:"time"`
	System   words           `json:"system"`
	Model    string          `json:"modelID"`
	Provider string          `json:"providerID"`
	Finish   string          `json:"finish"`
	Summary  json.RawMessage `json:"summary"` // true: the answer is a summary of what was before
	Cost     *float64        `json:"cost"`
	Tokens   *ocTokens       `json:"tokens"`
	Error    *struct {
		Name string `json:"name"`
		Data struct {
			Message string `json:"message"`
			Status  int    `json:"statusCode"`
		} `json:"data"`
	} `json:"error"`
}

type ocTokens struct {
	Total     int `json:"total"`
	Input     int `json:"input"`
	Output    int `json:"output"`
	Reasoning int `json:"reasoning"`
	Cache     struct {
		Read  int `json:"read"`
		Write int `json:"write"`
	} `json:"cache"`
}

// ocPart has the fields of all kinds of parts.
type ocPart struct {
	ID        string     `json:"id"`
	Type      string     `json:"type"`
	Text      string     `json:"text"`
	Synthetic bool       `json:"synthetic"`
	Ignored   bool       `json:"ignored"`
	MIME      string     `json:"mime"`
	Name      string     `json:"filename"`
	URL       string     `json:"url"`
	CallID    string     `json:"callID"`
	Tool      string     `json:"tool"`
	Prompt    string     `json:"prompt"`        // of a subtask
	TailStart string     `json:"tail_start_id"` // of a compaction: the first message that stays
	Metadata  ocMetadata `json:"metadata"`
	State     struct {
		Status      string          `json:"status"`
		Input       json.RawMessage `json:"input"`
		Output      string          `json:"output"`
		Error       string          `json:"error"`
		Attachments []ocPart        `json:"attachments"`
	} `json:"state"`
}

// ocMetadata is what providers want back, by provider.
type ocMetadata struct {
	Anthropic struct {
		Signature string `json:"signature"`
		Redacted  string `json:"redactedData"`
	} `json:"anthropic"`
	Google struct {
		Signature string `json:"thoughtSignature"`
	} `json:"google"`
	OpenAI struct {
		Encrypted string `json:"reasoningEncryptedContent"`
	} `json:"openai"`
}

// ocRead is a message with its parts.
type ocRead struct {
	message ocMessage
	parts   []ocPart
}

// isStorage reports whether a folder is opencode's storage.
func isStorage(dir string) bool {
	return isDir(filepath.Join(dir, "session")) && isDir(filepath.Join(dir, "message"))
}

func isDir(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir()
}

// openCodeStorage imports the sessions of a storage folder, or the one of that id.
func (in *importer) openCodeStorage(ctx context.Context, dir, only string) {
	store, err := os.OpenRoot(dir) // links in it lead nowhere else
	if err != nil {
		in.fail(fmt.Errorf("import: %w", err))
		return
	}
	defer store.Close()
	files, err := fs.Glob(store.FS(), "session/*/*.json")
	if err != nil {
		in.fail(fmt.Errorf("import %s: %w", prose.Plain(dir, maxPath), err))
	}
	seen := false
	for _, at := range files {
		if only != "" && strings.TrimSuffix(path.Base(at), ".json") != only {
			continue
		}
		seen = true
		s, err := openCodeSession(ctx, store.FS(), dir, at)
		if err != nil {
			err = fmt.Errorf("import %s: %w", prose.Plain(at, maxPath), err)
			if !in.fail(err) || ctx.Err() != nil {
				return
			}
			continue
		}
		if !in.give(ctx, s) {
			return
		}
	}
	if !seen {
		in.fail(fmt.Errorf("import %s: it holds no session", prose.Plain(dir, maxPath)))
	}
}

func openCodeSession(ctx context.Context, files fs.FS, dir, at string) (*Session, error) {
	var info ocSession
	if err := readRecord(files, at, &info); err != nil {
		return nil, err
	}
	if info.ID == "" || !fs.ValidPath(info.ID) || strings.Contains(info.ID, "/") {
		return nil, errors.New("it has no id")
	}
	t := newTree(OpenCode, filepath.Join(dir, filepath.FromSlash(at)), info.ID)
	messages, err := fs.ReadDir(files, "message/"+info.ID)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var read []ocRead
	for _, d := range messages { // by name, which is the order in time
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		var m ocRead
		if err := readRecord(files, "message/"+info.ID+"/"+d.Name(), &m.message); err != nil {
			t.unreadable("message "+d.Name(), err)
			continue
		}
		id := strings.TrimSuffix(d.Name(), ".json")
		parts, err := fs.ReadDir(files, "part/"+id)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.unreadable("the parts of message "+id, err)
		}
		for _, d := range parts {
			var p ocPart
			if err := readRecord(files, "part/"+id+"/"+d.Name(), &p); err != nil {
				t.unreadable("part "+d.Name(), err)
				continue
			}
			m.parts = append(m.parts, p)
		}
		read = append(read, m)
	}
	return openCode(t, &info, read), nil
}

// readRecord reads one JSON file.
func readRecord(files fs.FS, name string, v any) error {
	info, err := fs.Stat(files, name)
	if err != nil {
		return err
	}
	if info.Size() > maxRecord || !info.Mode().IsRegular() {
		return errors.New("not a file of at most 64 MB")
	}
	text, err := fs.ReadFile(files, name)
	if err != nil {
		return err
	}
	_, err = decode(text, v)
	return err
}

// openCodeFile imports a file of the storage, or what "opencode export" writes.
func (in *importer) openCodeFile(ctx context.Context, at string) {
	text, err := readWhole(at)
	if err != nil {
		in.fail(err)
		return
	}
	var file struct {
		ocSession
		Info     *ocSession `json:"info"`
		Messages []struct {
			Info  ocMessage `json:"info"`
			Parts []ocPart  `json:"parts"`
		} `json:"messages"`
	}
	if _, err := decode(text, &file); err != nil {
		in.fail(fmt.Errorf("import %s: %w", prose.Plain(at, maxPath), err))
		return
	}
	if file.Info == nil {
		if dir := filepath.Dir(filepath.Dir(filepath.Dir(at))); isStorage(dir) {
			in.openCodeStorage(ctx, dir, strings.TrimSuffix(filepath.Base(at), ".json"))
			return
		}
		in.fail(fmt.Errorf("import %s: its messages are not in the folders next to it", prose.Plain(at, maxPath)))
		return
	}
	var read []ocRead
	for _, m := range file.Messages {
		read = append(read, ocRead{m.Info, m.Parts})
	}
	in.give(ctx, openCode(newTree(OpenCode, at, file.Info.ID), file.Info, read))
}

// openCode makes the session of its records.
func openCode(t *tree, info *ocSession, messages []ocRead) *Session {
	t.head(info.Title, info.Directory, info.Time.Created)
	if info.Parent != "" {
		t.forked(info.Parent)
		t.lose(1, "conversations of sub-agents", "this is one; it names the session that it belongs to")
	}
	if info.ID != "" {
		t.s.Header.ID = sessionID(OpenCode, info.ID)
	}
	at, active := root, root
	reverted := false
	places := map[string]string{} // message -> id of its first entry
	keepFrom := ""
	for i := range messages {
		m := &messages[i]
		if m.message.ID != "" && m.message.ID == info.Revert.Message {
			active, reverted = at, true
		}
		before := len(t.s.Entries)
		at = openCodeMessage(t, at, m, places, &keepFrom)
		if len(t.s.Entries) > before {
			places[m.message.ID] = t.s.Entries[before].ID
		}
	}
	if !reverted || active == root {
		active = at
	}
	return t.finish(active)
}

func openCodeMessage(t *tree, at int, m *ocRead, places map[string]string, keepFrom *string) int {
	t.system(string(m.message.System), m.message.Time.Created)
	switch m.message.Role {
	case "user":
		for i := range m.parts {
			if p := &m.parts[i]; p.Type == "compaction" {
				*keepFrom = places[p.TailStart]
			}
		}
		return openCodePrompt(t, at, m)
	case "assistant":
		if string(m.message.Summary) == "true" {
			return openCodeSummary(t, at, m, keepFrom)
		}
		return openCodeAnswer(t, at, m)
	}
	t.lose(1, "messages of an unknown role", prose.Plain(m.message.Role, maxTitle))
	return at
}

func openCodePrompt(t *tree, at int, m *ocRead) int {
	var said, added []llm.Block
	for i := range m.parts {
		p := &m.parts[i]
		switch p.Type {
		case "text":
			switch {
			case p.Ignored:
				t.lose(1, "notes of the program", "they were not part of the conversation")
			case p.Synthetic:
				added = append(added, textBlock(p.Text)...)
			default:
				said = append(said, textBlock(p.Text)...)
			}
		case "file":
			said = append(said, t.attached(p))
		case "subtask":
			said = append(said, textBlock(p.Prompt)...)
		}
	}
	created := m.message.Time.Created
	if len(said) > 0 {
		at = t.message(at, created, llm.Message{Role: llm.RoleUser, Content: said})
	}
	if len(added) > 0 {
		at = t.note(at, created, "synthetic", false, added)
	}
	return at
}

// attached is a file of a part. One that is not in the record is only named, also
// if its URL is that of a file of this machine.
func (t *tree) attached(p *ocPart) llm.Block {
	if strings.HasPrefix(p.URL, "data:") {
		return t.dataURL(p.URL, p.Name)
	}
	if strings.HasPrefix(p.MIME, "image/") {
		return t.missingImage()
	}
	return t.missingFile(p.Name)
}

// openCodeSummary writes the summary that stands for what was before.
func openCodeSummary(t *tree, at int, m *ocRead, keepFrom *string) int {
	var text []string
	for _, p := range m.parts {
		if p.Type == "text" && p.Text != "" {
			text = append(text, p.Text)
		}
	}
	if len(text) == 0 {
		t.unreadable("the summary "+m.message.ID, errors.New("it is empty"))
		return at
	}
	kept := *keepFrom
	*keepFrom = ""
	return t.add(at, m.message.Time.Created, transcript.Entry{
		Type: transcript.TypeCompaction, Summary: strings.Join(text, "\n\n"), FirstKeptID: kept,
	})
}

func openCodeAnswer(t *tree, at int, m *ocRead) int {
	who := llm.Message{Provider: prose.Plain(m.message.Provider, maxTitle), Model: m.message.Model}
	switch who.Provider {
	case "anthropic":
		who.API = llm.APIAnthropic
	case "google":
		who.API = llm.APIGoogle
	case "openai":
		who.API = llm.APIResponses
	}
	u := newTurn(t, at, m.message.Time.Created, who)
	for i := range m.parts {
		openCodeAnswerPart(u, &m.parts[i])
	}
	return u.end(m.usage(), openCodeStop(m.message.Finish), m.failed())
}

func openCodeAnswerPart(u *turn, p *ocPart) {
	switch p.Type {
	case "text":
		if p.Text != "" {
			u.say(llm.Text{Text: p.Text})
		}
	case "reasoning":
		openCodeReasoning(u, p)
	case "step-start":
		if len(u.results) > 0 {
			u.flush()
		}
	case "file":
		u.say(u.t.attached(p))
	case "tool":
		call := llm.ToolCall{ID: p.CallID, Name: p.Tool, Arguments: arguments(p.State.Input)}
		if u.who.Provider == "google" {
			call.Signature = p.Metadata.Google.Signature
		}
		result := llm.Message{ToolCallID: p.CallID, ToolName: p.Tool}
		switch p.State.Status {
		case "completed":
			result.Content = textBlock(p.State.Output)
			for i := range p.State.Attachments {
				result.Content = append(result.Content, u.t.attached(&p.State.Attachments[i]))
			}
		case "error":
			result.IsError, result.Content = true, textBlock(p.State.Error)
		default:
			u.unanswered(call) // it never ended
			return
		}
		u.answered(call, result)
	}
}

func openCodeReasoning(u *turn, p *ocPart) {
	b := llm.Thinking{Text: p.Text}
	switch u.who.Provider {
	case "anthropic":
		b.Signature = p.Metadata.Anthropic.Signature
		if p.Text == "" && p.Metadata.Anthropic.Redacted != "" {
			b.Signature, b.Redacted = p.Metadata.Anthropic.Redacted, true
		}
	case "google":
		b.Signature = p.Metadata.Google.Signature
	}
	if p.Metadata.OpenAI.Encrypted != "" {
		u.t.lose(1, "encrypted reasoning", "opencode does not keep the item that its vendor wants back")
	}
	if b.Text != "" || b.Signature != "" {
		u.say(b)
	}
}

// usage are the counts of an answer. Whether reasoning is part of the output
// differs between versions; the total tells where it is given.
func (m *ocRead) usage() *llm.Usage {
	tok := m.message.Tokens
	if tok == nil || tok.Input == 0 && tok.Output == 0 && tok.Cache.Read == 0 && tok.Cache.Write == 0 {
		return nil
	}
	u := llm.Usage{
		Input: tok.Input, Output: tok.Output, CacheRead: tok.Cache.Read, CacheWrite: tok.Cache.Write, Reasoning: tok.Reasoning,
	}
	if tok.Total > 0 && u.Context()+tok.Reasoning == tok.Total {
		u.Output += tok.Reasoning
	}
	u.Reasoning = min(u.Reasoning, u.Output)
	u.TotalTokens = u.Context()
	if cost := m.message.Cost; cost != nil && *cost > 0 && *cost < 1e6 {
		u.Cost = &llm.Cost{Total: llm.Dollars(*cost)} // it does not say for what
	}
	return &u
}

func (m *ocRead) failed() *llm.Error {
	e := m.message.Error
	if e == nil {
		return nil
	}
	out := &llm.Error{Message: prose.Plain(e.Data.Message, maxTitle), Code: prose.Plain(e.Name, maxTitle), Status: e.Data.Status}
	if e.Name == "MessageAbortedError" {
		out.Kind = llm.ErrAborted
	}
	return out
}

func openCodeStop(finish string) llm.StopReason {
	switch finish {
	case "stop":
		return llm.StopEnd
	case "length":
		return llm.StopLength
	case "tool-calls":
		return llm.StopToolUse
	}
	return ""
}

// sortByID puts messages and parts in the order of their ids, which is that of time.
func sortByID(messages []ocRead) {
	sorting.Stable(messages, func(a, b ocRead) int { return strings.Compare(a.message.ID, b.message.ID) })
	for _, m := range messages {
		sorting.Stable(m.parts, func(a, b ocPart) int { return strings.Compare(a.ID, b.ID) })
	}
}

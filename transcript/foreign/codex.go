package foreign

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/transcript"
)

// maxWhole is the most bytes of a file that is one JSON value of one conversation.
const maxWhole = 128 << 20

// readWhole reads such a file.
func readWhole(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("import: %w", err)
	}
	if info.Size() > maxWhole {
		return nil, fmt.Errorf("import %s: it is larger than %d MB", prose.Plain(path, maxPath), maxWhole>>20)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("import: %w", err)
	}
	return bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")), nil
}

// codexLine is a line of a rollout file. Newer files hold items in a payload, those
// before September 2025 hold them as they are.
type codexLine struct {
	Time    stamp           `json:"timestamp"`
	Type    string          `json:"type"`
	Payload json.RawMessage `json:"payload"`
}

// codexMeta is what the first line, or the turn, says.
type codexMeta struct {
	ID               string          `json:"id"`
	Time             stamp           `json:"timestamp"`
	CWD              string          `json:"cwd"`
	Instructions     words           `json:"instructions"`
	BaseInstructions words           `json:"base_instructions"`
	Provider         string          `json:"model_provider"`
	Model            string          `json:"model"`
	ForkedFrom       string          `json:"forked_from_id"`
	Source           json.RawMessage `json:"source"`
}

// codexEvent is an event for the screen; few of them say what items do not.
type codexEvent struct {
	Type  string `json:"type"`
	Turns int    `json:"num_turns"`   // of thread_rolled_back
	Name  string `json:"thread_name"` // of thread_name_updated
	Info  struct {
		Last *codexUsage `json:"last_token_usage"`
	} `json:"info"` // of token_count
}

type codexUsage struct {
	Input     int `json:"input_tokens"`
	Cached    int `json:"cached_input_tokens"`
	Output    int `json:"output_tokens"`
	Reasoning int `json:"reasoning_output_tokens"`
}

// codexItem has the fields of all items of the Responses API that are kept.
type codexItem struct {
	Type      string          `json:"type"`
	ID        string          `json:"id"`
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	Summary   words           `json:"summary"`
	Encrypted string          `json:"encrypted_content"`
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	Input     string          `json:"input"`
	Output    json.RawMessage `json:"output"`
	Action    json.RawMessage `json:"action"`
	Result    string          `json:"result"` // of image_generation_call
	Status    string          `json:"status"`
	Record    string          `json:"record_type"` // of lines that are no items
}

// codexReader reads items one after the other.
type codexReader struct {
	t        *tree
	at       int
	turn     *turn // the answer that is being read, or nil
	prompts  []int // the entry before each prompt of the user
	provider string
	model    string
	known    bool // there was a header
	tools    map[string]string
}

func codex(ctx context.Context, path string) (*Session, error) {
	id := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(path), ".jsonl"), ".json")
	r := &codexReader{t: newTree(Codex, path, id), at: root, tools: map[string]string{}}
	if strings.HasSuffix(path, ".json") {
		if err := r.whole(path); err != nil {
			return nil, err
		}
	} else if err := r.t.lines(ctx, path, func(_ int, text []byte) error { return r.line(text) }); err != nil {
		return nil, err
	}
	r.end()
	return r.t.finish(r.at), nil
}

// whole reads a file of the first versions, which is one JSON object.
func (r *codexReader) whole(path string) error {
	text, err := readWhole(path)
	if err != nil {
		return err
	}
	var file struct {
		Session codexMeta         `json:"session"`
		Items   []json.RawMessage `json:"items"`
	}
	if _, err := decode(text, &file); err != nil {
		return fmt.Errorf("import %s: %w", prose.Plain(path, maxPath), err)
	}
	r.meta(&file.Session)
	for i, raw := range file.Items {
		if err := r.item(raw, stamp{}); err != nil {
			r.t.unreadable(fmt.Sprintf("item %d", i+1), err)
		}
	}
	return nil
}

func (r *codexReader) line(text []byte) error {
	var l codexLine
	if _, err := decode(text, &l); err != nil {
		return err
	}
	if l.Payload == nil {
		if l.Type == "" {
			return r.metaText(text)
		}
		return r.item(text, l.Time)
	}
	switch l.Type {
	case "session_meta":
		return r.metaText(l.Payload)
	case "turn_context":
		var m codexMeta
		if _, err := decode(l.Payload, &m); err != nil {
			return err
		}
		r.model = m.Model
	case "response_item":
		return r.item(l.Payload, l.Time)
	case "compacted":
		return r.compacted(l.Payload, l.Time)
	case "event_msg":
		return r.event(l.Payload)
	}
	return nil
}

func (r *codexReader) metaText(text []byte) error {
	var m codexMeta
	if _, err := decode(text, &m); err != nil {
		return err
	}
	if m.ID != "" {
		r.meta(&m)
	}
	return nil
}

// meta takes the header. A forked session repeats that of its origin further down.
func (r *codexReader) meta(m *codexMeta) {
	if r.known {
		return
	}
	r.known = true
	if m.ID != "" {
		r.t.s.Header.ID = sessionID(Codex, m.ID)
	}
	r.t.head("", m.CWD, m.Time)
	r.t.forked(m.ForkedFrom)
	var source struct {
		Sub struct {
			Spawn struct {
				Parent string `json:"parent_thread_id"`
			} `json:"thread_spawn"`
		} `json:"subagent"`
	}
	if _, err := decode(m.Source, &source); err == nil && source.Sub.Spawn.Parent != "" {
		r.t.forked(source.Sub.Spawn.Parent)
		r.t.lose(1, "conversations of sub-agents", "this is one; it names the session that it belongs to")
	}
	r.provider = m.Provider
	r.t.system(strings.TrimSpace(string(m.BaseInstructions)+"\n\n"+string(m.Instructions)), m.Time)
}

// end finishes the answer that is being read.
func (r *codexReader) end() {
	if r.turn != nil {
		r.at = r.turn.end(nil, "", nil)
		r.turn = nil
	}
}

// speak returns the answer that is being read.
func (r *codexReader) speak(at stamp) *turn {
	if r.turn == nil {
		// Codex speaks the Responses API with nearly all of its models; only
		// OpenAI's own are sure to.
		who := llm.Message{Provider: prose.Plain(r.provider, maxTitle), Model: r.model}
		if who.Provider == "openai" {
			who.API = llm.APIResponses
		}
		r.turn = newTurn(r.t, r.at, at, who)
	}
	r.turn.time = at
	return r.turn
}

func (r *codexReader) item(raw []byte, at stamp) error {
	var it codexItem
	if _, err := decode(raw, &it); err != nil {
		return err
	}
	switch it.Type {
	case "message":
		return r.message(&it, at)
	case "reasoning":
		r.reasoning(&it, raw, at)
	case "function_call":
		r.call(&it, it.Name, arguments(it.Arguments), at)
	case "custom_tool_call":
		r.call(&it, it.Name, r.t.object(it.Input), at)
	case "local_shell_call":
		r.call(&it, "local_shell", arguments(it.Action), at)
	case "function_call_output", "custom_tool_call_output", "local_shell_call_output":
		r.output(&it, at)
	case "image_generation_call":
		if it.Result != "" {
			r.speak(at).say(r.t.encoded("image/png", it.Result, ""))
		}
	case "ghost_snapshot", "":
		// marks of the program
	case "compaction", "compaction_summary", "context_compaction":
		r.t.lose(1, "encrypted summaries of Codex", "only its vendor can read them; they are kept and not sent")
		r.speak(at).say(keep(it.Type, raw))
	default:
		r.t.lose(1, "tools that ran at the vendor", "their items are kept and not sent to models")
		r.speak(at).say(keep(it.Type, raw))
	}
	return nil
}

func (r *codexReader) message(it *codexItem, at stamp) error {
	blocks, err := r.content(it.Content)
	if len(blocks) == 0 {
		return err
	}
	switch it.Role {
	case "assistant":
		for _, b := range blocks {
			r.speak(at).say(b)
		}
	case "system", "developer":
		r.end()
		r.t.injected(1) // what it told its model of sandbox, permissions and modes
	case "user":
		r.end()
		before := r.at
		if r.at = r.t.message(before, at, llm.Message{Role: llm.RoleUser, Content: blocks}); r.at != before {
			r.prompts = append(r.prompts, before)
		}
	default:
		return fmt.Errorf("a message of the unknown role %q", prose.Plain(it.Role, maxTitle))
	}
	return err
}

// content reads the content of a message or of a result: a string, or a list.
func (r *codexReader) content(raw json.RawMessage) ([]llm.Block, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || raw[0] != '[' {
		return textBlock(oneWords(raw)), nil
	}
	var list []struct {
		Type  string          `json:"type"`
		Text  string          `json:"text"`
		Image json.RawMessage `json:"image_url"`
	}
	mistyped, err := decode(raw, &list)
	if mistyped {
		err = errors.New("content of an unexpected kind")
	}
	var out []llm.Block
	for _, c := range list {
		switch c.Type {
		case "input_image":
			out = append(out, r.t.dataURL(imageURL(c.Image), "image.png"))
		default:
			out = append(out, textBlock(c.Text)...)
		}
	}
	return out, err
}

// imageURL is a URL as text, or as {"url": …}.
func imageURL(raw json.RawMessage) string {
	var url string
	if json.Unmarshal(raw, &url) == nil {
		return url
	}
	var o struct {
		URL string `json:"url"`
	}
	if _, err := decode(raw, &o); err != nil {
		return ""
	}
	return o.URL
}

// reasoning keeps the whole item as the signature, as the Responses API wants it
// back.
func (r *codexReader) reasoning(it *codexItem, raw []byte, at stamp) {
	text := string(it.Summary)
	if text == "" {
		blocks, err := r.content(it.Content)
		if err != nil {
			r.t.unreadable("reasoning", err)
		}
		text = (&llm.Message{Content: blocks}).Text()
	}
	b := llm.Thinking{Text: text}
	if it.Encrypted != "" {
		r.t.lose(1, "encrypted reasoning of Codex", "kept opaque; only OpenAI can read it, and only for the account that it was made for")
		if r.provider == "openai" {
			b.Signature = compact(raw)
		}
	}
	if b.Text == "" && b.Signature == "" {
		return
	}
	r.speak(at).say(b)
}

func (r *codexReader) call(it *codexItem, name, args string, at stamp) {
	id := it.CallID
	if id == "" {
		id = it.ID
	}
	r.tools[id] = name
	r.speak(at).call(llm.ToolCall{ID: id, Name: name, Arguments: args})
}

func (r *codexReader) output(it *codexItem, at stamp) {
	m := llm.Message{ToolCallID: it.CallID, ToolName: r.tools[it.CallID]}
	if _, ok := r.tools[it.CallID]; !ok {
		r.t.lose(1, "tool results without a call", "the file does not hold the call")
	}
	var o struct {
		Content json.RawMessage `json:"content"`
		Success *bool           `json:"success"`
	}
	output := it.Output
	if len(output) > 0 && output[0] == '{' {
		if _, err := decode(output, &o); err == nil {
			output = o.Content
			m.IsError = o.Success != nil && !*o.Success
		}
	}
	blocks, err := r.content(output)
	if err != nil {
		r.t.unreadable("the output of "+it.CallID, err)
	}
	m.Content = blocks
	r.speak(at).result(m)
}

// compacted writes the summary that stands for all before it.
func (r *codexReader) compacted(raw json.RawMessage, at stamp) error {
	var c struct {
		Message string `json:"message"`
	}
	if _, err := decode(raw, &c); err != nil {
		return err
	}
	if c.Message == "" {
		r.t.lose(1, "encrypted summaries of Codex", "only its vendor can read them; the whole history stays in view")
		return nil
	}
	r.end()
	r.at = r.t.add(r.at, at, transcript.Entry{Type: transcript.TypeCompaction, Summary: c.Message})
	return nil
}

func (r *codexReader) event(raw json.RawMessage) error {
	var e codexEvent
	if _, err := decode(raw, &e); err != nil {
		return err
	}
	switch e.Type {
	case "thread_name_updated":
		r.t.head(e.Name, "", stamp{})
	case "thread_rolled_back":
		r.end()
		if n := len(r.prompts) - e.Turns; e.Turns > 0 && n >= 0 {
			r.at, r.prompts = r.prompts[n], r.prompts[:n]
		}
	case "token_count":
		r.usage(e.Info.Last)
	}
	return nil
}

// usage belongs to the answer before it.
func (r *codexReader) usage(u *codexUsage) {
	if u == nil || u.Input == 0 && u.Output == 0 {
		return
	}
	if r.turn == nil || len(r.turn.blocks) == 0 {
		return
	}
	r.turn.usage = &llm.Usage{
		Input: max(u.Input-u.Cached, 0), CacheRead: u.Cached, Output: u.Output, Reasoning: u.Reasoning,
	}
	r.turn.usage.TotalTokens = r.turn.usage.Context()
}

package foreign

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
)

// anthropicBlock has the fields of the content blocks of Anthropic's Messages.
type anthropicBlock struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	Signature string          `json:"signature"`
	Data      string          `json:"data"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Title     string          `json:"title"`
	URL       string          `json:"url"`
	Input     json.RawMessage `json:"input"`
	CallID    string          `json:"tool_use_id"`
	Content   json.RawMessage `json:"content"`
	IsError   bool            `json:"is_error"`
	Source    struct {
		Type string `json:"type"`
		MIME string `json:"media_type"`
		Data string `json:"data"`
	} `json:"source"`
}

// anthropicBlocks splits content, which is a string or a list of blocks.
func anthropicBlocks(content json.RawMessage) ([]json.RawMessage, error) {
	content = bytes.TrimSpace(content)
	if len(content) == 0 || string(content) == "null" {
		return nil, nil
	}
	switch content[0] {
	case '"':
		raw, err := encode(map[string]json.RawMessage{"type": json.RawMessage(`"text"`), "text": content})
		return []json.RawMessage{raw}, err
	case '{':
		return []json.RawMessage{content}, nil
	}
	var list []json.RawMessage
	err := json.Unmarshal(content, &list)
	return list, err
}

// anthropicInput reads content that a model gets: of a user, or of a tool.
func anthropicInput(t *tree, content json.RawMessage) []llm.Block {
	raws, err := anthropicBlocks(content)
	if err != nil {
		t.unreadable("content", err)
	}
	var out []llm.Block
	for _, raw := range raws {
		var b anthropicBlock
		if _, err := decode(raw, &b); err != nil {
			t.unreadable("content", err)
			continue
		}
		out = append(out, anthropicInputBlock(t, &b, raw)...)
	}
	return out
}

func anthropicInputBlock(t *tree, b *anthropicBlock, raw json.RawMessage) []llm.Block {
	switch b.Type {
	case "text":
		return textBlock(b.Text)
	case "image":
		if b.Source.Data == "" {
			return []llm.Block{t.missingImage()}
		}
		return []llm.Block{t.encoded(b.Source.MIME, b.Source.Data, "")}
	case "document":
		switch {
		case b.Source.Type == "text":
			return []llm.Block{llm.Document{Name: prose.Plain(b.Title, maxTitle), MIME: b.Source.MIME, Text: b.Source.Data}}
		case b.Source.Data == "":
			return []llm.Block{t.missingFile(b.Title)}
		}
		return []llm.Block{t.encoded(b.Source.MIME, b.Source.Data, b.Title)}
	}
	if text := strings.TrimSpace(b.Title + "\n" + b.URL + "\n\n" + b.Text); text != "" {
		return textBlock(text) // such as a source that was found
	}
	t.lose(1, "parts of unknown kinds", "they are kept and not sent to models")
	return []llm.Block{keep(b.Type, raw)}
}

// anthropicAnswer reads a block of an answer. own says that the model is one of
// Anthropic's, which can take its reasoning and its own tools' calls back. index is
// for calls without an id.
func anthropicAnswer(t *tree, raw json.RawMessage, own bool, index int) llm.Block {
	var b anthropicBlock
	if _, err := decode(raw, &b); err != nil {
		t.unreadable(fmt.Sprintf("block %d of an answer", index+1), err)
		return nil
	}
	switch b.Type {
	case "text":
		if b.Text == "" {
			return nil
		}
		return llm.Text{Text: b.Text}
	case "thinking":
		if !own {
			b.Signature = ""
		}
		if b.Thinking == "" && b.Signature == "" {
			return nil
		}
		return llm.Thinking{Text: b.Thinking, Signature: b.Signature}
	case "redacted_thinking":
		if !own {
			t.lose(1, "encrypted reasoning", "only its vendor could read it")
			return nil
		}
		return llm.Thinking{Signature: b.Data, Redacted: true}
	case "tool_use":
		return llm.ToolCall{ID: b.ID, Name: b.Name, Arguments: arguments(b.Input)}
	}
	if own {
		return llm.Opaque{API: llm.APIAnthropic, Kind: b.Type, Raw: bytes.Clone(raw)}
	}
	t.lose(1, "parts of unknown kinds", "they are kept and not sent to models")
	return keep(b.Type, raw)
}

// anthropicUsage are token counts as Anthropic gives them.
type anthropicUsage struct {
	Input      int `json:"input_tokens"`
	Output     int `json:"output_tokens"`
	CacheRead  int `json:"cache_read_input_tokens"`
	CacheWrite int `json:"cache_creation_input_tokens"`
	Creation   struct {
		Long int `json:"ephemeral_1h_input_tokens"`
	} `json:"cache_creation"`
	Server struct {
		Searches int `json:"web_search_requests"`
		Fetches  int `json:"web_fetch_requests"`
	} `json:"server_tool_use"`
}

// usage is nil where nothing was counted.
func (u *anthropicUsage) usage() *llm.Usage {
	if u == nil || u.Input == 0 && u.Output == 0 && u.CacheRead == 0 && u.CacheWrite == 0 {
		return nil
	}
	out := llm.Usage{
		Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite,
		CacheWriteLong: u.Creation.Long, WebSearches: u.Server.Searches, WebFetches: u.Server.Fetches,
	}
	out.TotalTokens = out.Context()
	return &out
}

func anthropicStop(reason string) llm.StopReason {
	switch reason {
	case "end_turn", "stop_sequence":
		return llm.StopEnd
	case "max_tokens", "model_context_window_exceeded":
		return llm.StopLength
	case "tool_use":
		return llm.StopToolUse
	case "pause_turn":
		return llm.StopPause
	}
	return ""
}

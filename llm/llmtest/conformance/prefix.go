package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/burin-dev/burin/llm"
)

// testPrefix grows a conversation turn by turn. What a request has in common
// with the one before it must be encoded in the same bytes, or the provider's
// cache is lost and the whole conversation is paid again.
func (s historyChecks) testPrefix(t *testing.T) {
	turns := s.longConversation()
	var last []byte
	for n, messages := range turns {
		body := s.cacheable(t, messages)
		for range 5 {
			if again := s.cacheable(t, messages); !bytes.Equal(body, again) {
				t.Fatalf("turn %d: the same request was encoded in two ways:\n%s\n%s", n, body, again)
			}
		}
		if last != nil {
			if err := extends(last, body); err != nil {
				t.Errorf("turn %d: %v", n, err)
			}
		}
		last = body
	}
}

// cacheable is the body of a request with many options, in which map order
// would show.
func (s historyChecks) cacheable(t *testing.T, messages []llm.Message) []byte {
	req := s.ask()
	req.Messages = messages
	req.Cache = llm.CacheHint{Key: "session-1"}
	req.Metadata = map[string]string{"a": "1", "b": "2", "c": "3"}
	req.Extra = map[string]json.RawMessage{"zeta": json.RawMessage(`1`), "alpha": json.RawMessage(`{"y":1,"x":2}`)}
	req.Tools = append(req.Tools, llm.Tool{Name: "now", Description: "Tells the time.", Schema: json.RawMessage(`{"type":"object","properties":{"zone":{"type":"string"},"at":{"type":"string"},"b":{"type":"boolean"}}}`)})
	_, body := s.sends(t, req)
	return body
}

// longConversation returns the history of each request of a conversation.
func (s historyChecks) longConversation() [][]llm.Message {
	image := llm.Image{MIME: "image/png", Data: pngFile}
	other := otherAPIs(s.Model.API)[0]
	steps := [][]llm.Message{
		{llm.UserText("Begin.")},
		{
			s.own(llm.Thinking{Text: "hm", Signature: "c2ln"}, llm.Text{Text: "Reading."}, call("call_a", `{"b":1,"a":2}`), call("call_b", `{}`)),
			result("call_a", "read", "A"), result("call_b", "read", "B"),
		},
		{s.own(llm.Thinking{Text: "hm", Signature: "c2lo"}, call("same", `{"n":1.50}`)), {Role: llm.RoleToolResult, ToolCallID: "same", ToolName: "read", Content: []llm.Block{image}}},
		{s.own(llm.Text{Text: "Done."}), llm.UserText("Next."), llm.UserText("And quickly.")},
		{foreign(other, llm.Thinking{Text: "hm", Signature: "foreign"}, llm.Text{Text: "Hello."}, call("same", `{}`)), result("same", "read", "again")},
		{s.own(call("a|b+c", `{}`), call("", `{}`)), result("a|b+c", "read", "odd"), llm.UserText("Stop.")},
		{s.own(llm.Text{Text: "Stopped."}), {Role: llm.RoleUser, Content: []llm.Block{llm.Text{Text: "Look:"}, image}}},
		{s.own(llm.Text{Text: "Nice."}), llm.UserText("Bye.")},
	}
	var out [][]llm.Message
	var all []llm.Message
	for _, step := range steps {
		all = append(all, step...)
		out = append(out, append([]llm.Message(nil), all...))
	}
	return out
}

// extends reports whether body next is body last with more messages at the end.
func extends(last, next []byte) error {
	lastMessages, lastRest, err := split(last)
	if err != nil {
		return err
	}
	nextMessages, nextRest, err := split(next)
	if err != nil {
		return err
	}
	if lastRest != nextRest {
		return fmt.Errorf("what surrounds the messages changed from\n%s\nto\n%s", lastRest, nextRest)
	}
	if len(nextMessages) < len(lastMessages) {
		return fmt.Errorf("%d messages became %d", len(lastMessages), len(nextMessages))
	}
	for i, m := range lastMessages {
		if m != nextMessages[i] {
			return fmt.Errorf("message %d changed from\n%s\nto\n%s", i, m, nextMessages[i])
		}
	}
	return nil
}

// split takes the messages out of a body, all without marks for the cache.
func split(body []byte) (messages []string, rest string, err error) {
	bare, err := withoutMarks(body)
	if err != nil {
		return nil, "", err
	}
	entries, err := conversation(bare)
	if err != nil {
		return nil, "", err
	}
	for _, e := range entries {
		messages = append(messages, string(e))
	}
	list, err := rawList(bare)
	if err != nil {
		return nil, "", err
	}
	return messages, string(bytes.Replace(bare, list, []byte("…"), 1)), nil
}

// rawList is the list of messages as it stands in the body.
func rawList(body []byte) ([]byte, error) {
	var top map[string]json.RawMessage
	if err := json.Unmarshal(body, &top); err != nil {
		return nil, err
	}
	for _, key := range []string{"messages", "input", "contents"} {
		if list, ok := top[key]; ok {
			return list, nil
		}
	}
	return nil, fmt.Errorf("the body has no messages")
}

// withoutMarks compacts JSON and leaves out what only tells the provider where to
// cache: the key cache_control and items of the kind cachePoint. The order of
// keys stays.
func withoutMarks(raw json.RawMessage) (json.RawMessage, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	first, err := dec.Token()
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	switch first {
	case json.Delim('{'):
		out.WriteByte('{')
		for dec.More() {
			key, err := dec.Token()
			if err != nil {
				return nil, err
			}
			var value json.RawMessage
			if err := dec.Decode(&value); err != nil {
				return nil, err
			}
			if key == "cache_control" {
				continue
			}
			if value, err = withoutMarks(value); err != nil {
				return nil, err
			}
			separate(&out)
			name, err := json.Marshal(key)
			if err != nil {
				return nil, err
			}
			out.Write(name)
			out.WriteByte(':')
			out.Write(value)
		}
		out.WriteByte('}')
	case json.Delim('['):
		out.WriteByte('[')
		for dec.More() {
			var value json.RawMessage
			if err := dec.Decode(&value); err != nil {
				return nil, err
			}
			if bytes.HasPrefix(bytes.TrimSpace(value), []byte(`{"cachePoint"`)) {
				continue
			}
			if value, err = withoutMarks(value); err != nil {
				return nil, err
			}
			separate(&out)
			out.Write(value)
		}
		out.WriteByte(']')
	default:
		if err := json.Compact(&out, raw); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), nil
}

// separate writes a comma unless a container has just begun.
func separate(out *bytes.Buffer) {
	if last := out.Bytes()[out.Len()-1]; last != '{' && last != '[' {
		out.WriteByte(',')
	}
}

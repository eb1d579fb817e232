package conformance

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/burin-dev/burin/llm"
)

// checkLegal says what is wrong with a conversation as the server half read it
// from body: what no provider would accept.
func (s historyChecks) checkLegal(req *llm.Request, body []byte) error {
	c := legality{ids: map[string]bool{}}
	if s.CallIDs != "" {
		c.legalID = regexp.MustCompile(s.CallIDs)
	}
	if !utf8.Valid(body) || !json.Valid(body) {
		c.fail("the body is not JSON in UTF-8")
	}
	if len(req.Messages) == 0 {
		c.fail("the conversation is empty")
	} else if r := req.Messages[0].Role; r == llm.RoleAssistant || r == llm.RoleToolResult {
		c.fail("the conversation begins with %s", r)
	}
	for i := range req.Messages {
		c.message(i, &req.Messages[i])
	}
	c.settled(len(req.Messages))
	entries, err := conversation(body)
	if err != nil {
		c.fail("%v", err)
	}
	c.entries(entries, s.Alternation)
	return errors.Join(c.errs...)
}

type legality struct {
	legalID *regexp.Regexp
	ids     map[string]bool
	pending []string // calls that want an answer, in order
	errs    []error
}

func (c *legality) fail(format string, args ...any) {
	c.errs = append(c.errs, fmt.Errorf(format, args...))
}

func (c *legality) message(i int, m *llm.Message) {
	switch m.Role {
	case llm.RoleToolResult:
		if len(c.pending) == 0 || c.pending[0] != m.ToolCallID {
			c.fail("message %d answers call %q, expected %q", i, m.ToolCallID, c.pending)
		} else {
			c.pending = c.pending[1:]
		}
	case llm.RoleUser, llm.RoleAssistant, llm.RoleSystem:
		c.settled(i)
	default:
		c.fail("message %d has the role %q", i, m.Role)
	}
	if len(m.Content) == 0 {
		c.fail("message %d (%s) is empty", i, m.Role)
	}
	for _, b := range m.Content {
		c.block(i, m, b)
	}
}

// settled says that all calls before message i must have been answered.
func (c *legality) settled(i int) {
	if len(c.pending) > 0 {
		c.fail("message %d comes before the answers to the calls %q", i, c.pending)
		c.pending = nil
	}
}

func (c *legality) block(i int, m *llm.Message, b llm.Block) {
	switch b := b.(type) {
	case llm.Text:
		if strings.TrimSpace(b.Text) == "" || !utf8.ValidString(b.Text) {
			c.fail("message %d (%s) has the text %q", i, m.Role, b.Text)
		}
	case llm.Thinking:
		if b.Text == "" && b.Signature == "" {
			c.fail("message %d has empty reasoning", i)
		}
	case llm.ToolCall:
		c.call(i, m, b)
	case llm.Image:
		if len(b.Data) == 0 && b.URL == "" {
			c.fail("message %d has an empty picture", i)
		}
	}
}

func (c *legality) call(i int, m *llm.Message, call llm.ToolCall) {
	if m.Role != llm.RoleAssistant {
		c.fail("message %d (%s) has a call", i, m.Role)
	}
	if call.ID == "" || c.ids[call.ID] {
		c.fail("message %d: call id %q is empty or taken", i, call.ID)
	}
	if c.legalID != nil && !c.legalID.MatchString(call.ID) {
		c.fail("message %d: call id %q is not legal", i, call.ID)
	}
	c.ids[call.ID] = true
	if !legalName.MatchString(call.Name) {
		c.fail("message %d: tool name %q", i, call.Name)
	}
	if _, _, err := call.Object(); err != nil {
		c.fail("message %d: %w", i, err)
	}
	c.pending = append(c.pending, call.ID)
}

var legalName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// entries looks at the conversation as the provider would see it.
func (c *legality) entries(entries []json.RawMessage, alternate bool) {
	previous := ""
	for i, raw := range entries {
		var e struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
			Parts   json.RawMessage `json:"parts"`
		}
		if err := json.Unmarshal(raw, &e); err != nil {
			c.fail("entry %d: %w", i, err)
			continue
		}
		if string(e.Content) == "[]" || string(e.Parts) == "[]" {
			c.fail("entry %d has no content: %s", i, raw)
		}
		if bytes.Contains(raw, []byte(`"text":""`)) && !bytes.Contains(raw, []byte(`ignature`)) {
			c.fail("entry %d has an empty text: %s", i, clip(string(raw)))
		}
		if alternate && e.Role == previous {
			c.fail("entries %d and %d are both of %s", i-1, i, e.Role)
		}
		if alternate && i == 0 && e.Role != "user" {
			c.fail("the first entry is of %s", e.Role)
		}
		previous = e.Role
	}
}

// conversation is the list of messages in a body, under the name that the
// provider gives it.
func conversation(body []byte) ([]json.RawMessage, error) {
	var top struct {
		Messages []json.RawMessage `json:"messages"`
		Input    []json.RawMessage `json:"input"`
		Contents []json.RawMessage `json:"contents"`
	}
	if err := json.Unmarshal(body, &top); err != nil {
		return nil, fmt.Errorf("the body: %w", err)
	}
	for _, list := range [][]json.RawMessage{top.Messages, top.Input, top.Contents} {
		if list != nil {
			return list, nil
		}
	}
	return nil, errors.New("the body has none of messages, input and contents")
}

package session

import (
	"context"
	"encoding/json"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/tool"
)

func (s *Session) hide(text string) string {
	if s.o.Secrets == nil {
		return text
	}
	return s.o.Secrets.Hide(text)
}

func (s *Session) hideMessage(m llm.Message) llm.Message {
	if s.o.Secrets == nil {
		return m
	}
	return s.o.Secrets.HideMessages([]llm.Message{m})[0]
}

// hideBlock hides in one piece of an answer.
func (s *Session) hideBlock(b llm.Block) llm.Block {
	if s.o.Secrets == nil || b == nil {
		return b
	}
	return s.hideMessage(llm.Message{Role: llm.RoleAssistant, Content: []llm.Block{b}}).Content[0]
}

// hideResult hides what is secret in a tool's result. Details that are no JSON are
// left out: no event and no transcript could hold them.
func (s *Session) hideResult(r *tool.Result) *tool.Result {
	if r == nil {
		return nil
	}
	out := *r
	if !json.Valid(out.Details) {
		out.Details = nil
	}
	m := s.hideMessage(llm.Message{Role: llm.RoleToolResult, Content: out.Content, Details: out.Details})
	out.Content, out.Details = m.Content, m.Details
	return &out
}

func (s *Session) afterTool(_ context.Context, _ *tool.Tool, _ tool.Call, r *tool.Result) *tool.Result {
	return s.hideResult(r)
}

// authorize asks whether a call may run. It is asked about the real values, so what
// it answers may hold them.
func (s *Session) authorize(ctx context.Context, t *tool.Tool, c tool.Call) error {
	if s.o.Authorize == nil {
		return nil
	}
	return s.hideError(s.o.Authorize(ctx, t, c))
}

// arguments puts values in place of the placeholders that the model wrote, for
// tools that work on the workspace, commands among them. What does nothing but go over
// the network keeps them.
func (s *Session) arguments(t *tool.Tool, args json.RawMessage) json.RawMessage {
	if s.o.Secrets == nil || t == nil || t.Effects.Has(tool.Network) && !t.Effects.Has(tool.Executes) {
		return args
	}
	return json.RawMessage(s.o.Secrets.RestoreArgs(string(args)))
}

// hidden is an error whose text held a secret. It is what it wraps to those who ask
// with errors.Is and errors.As.
type hidden struct {
	text string
	err  error
}

func (h *hidden) Error() string { return h.text }
func (h *hidden) Unwrap() error { return h.err }

func (s *Session) hideError(err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	if safe := s.hide(text); safe != text {
		return &hidden{safe, err}
	}
	return err
}

func (s *Session) hideOutcome(o *agent.Outcome) *agent.Outcome {
	if o == nil || o.Err == nil {
		return o
	}
	out := *o
	out.Err = s.hideError(o.Err)
	return &out
}

package session

import (
	"encoding/json"
	"fmt"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session/secret"
	"github.com/burin-dev/burin/tool"
)

// redactor hides secrets in what leaves the session, and puts values in place of the model's
// placeholders. Without a vault it changes nothing.
type redactor struct{ vault *secret.Vault }

func (x redactor) hide(text string) string {
	if x.vault == nil {
		return text
	}
	return x.vault.Hide(text)
}

func (x redactor) message(m llm.Message) llm.Message {
	if x.vault == nil {
		return m
	}
	return x.vault.HideMessages([]llm.Message{m})[0]
}

func (x redactor) messages(all []llm.Message) []llm.Message {
	if x.vault == nil {
		return all
	}
	return x.vault.HideMessages(all)
}

// block hides secrets in one piece of an answer.
func (x redactor) block(b llm.Block) llm.Block {
	if x.vault == nil || b == nil {
		return b
	}
	return x.message(llm.Message{Role: llm.RoleAssistant, Content: []llm.Block{b}}).Content[0]
}

// raw hides secrets in JSON.
func (x redactor) raw(data json.RawMessage) json.RawMessage {
	if x.vault == nil {
		return data
	}
	return x.vault.HideJSON(data)
}

// result hides secrets in a tool's result. Details that are not JSON are left out, because no
// event or transcript could hold them.
func (x redactor) result(r *tool.Result) *tool.Result {
	if r == nil {
		return nil
	}
	out := *r
	if !json.Valid(out.Details) {
		out.Details = nil
	}
	m := x.message(llm.Message{Role: llm.RoleToolResult, Content: out.Content, Details: out.Details})
	out.Content, out.Details = m.Content, m.Details
	return &out
}

// arguments replaces the model's placeholders with values, for tools that work on the
// workspace, including commands. Tools that only use the network keep the placeholders. A
// placeholder whose value is no longer known must not get into a file: that is an error.
func (x redactor) arguments(t *tool.Tool, args json.RawMessage) (json.RawMessage, error) {
	if x.vault == nil || t == nil || t.Effects.Has(tool.Network) && !t.Effects.Has(tool.Executes) {
		return args, nil
	}
	restored := x.vault.RestoreArgs(string(args))
	if t.Effects&(tool.Writes|tool.Executes) != 0 {
		if lost := x.vault.Lost(restored); lost != "" {
			return nil, fmt.Errorf("nothing was run: %s stands for a secret that burin does not know any more. Read the place where it is kept, and use what stands there then", lost)
		}
	}
	return json.RawMessage(restored), nil
}

// hidden is an error whose text contained a secret. It matches what it wraps with errors.Is
// and errors.As.
type hidden struct {
	text string
	err  error
}

func (h *hidden) Error() string { return h.text }
func (h *hidden) Unwrap() error { return h.err }

func (x redactor) err(err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	if safe := x.hide(text); safe != text {
		return &hidden{safe, err}
	}
	return err
}

func (x redactor) outcome(o agent.Outcome) agent.Outcome {
	o.Err = x.err(o.Err)
	return o
}

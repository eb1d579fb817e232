package session

import (
	"encoding/json"
	"fmt"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session/secret"
	"github.com/burin-dev/burin/tool"
)

// veil hides secrets in what leaves the session, and puts values in place of the model's
// placeholders. Without a vault it changes nothing.
type veil struct{ vault *secret.Vault }

func (v veil) hide(text string) string {
	if v.vault == nil {
		return text
	}
	return v.vault.Hide(text)
}

func (v veil) message(m llm.Message) llm.Message {
	if v.vault == nil {
		return m
	}
	return v.vault.HideMessages([]llm.Message{m})[0]
}

func (v veil) messages(all []llm.Message) []llm.Message {
	if v.vault == nil {
		return all
	}
	return v.vault.HideMessages(all)
}

// block hides secrets in one piece of an answer.
func (v veil) block(b llm.Block) llm.Block {
	if v.vault == nil || b == nil {
		return b
	}
	return v.message(llm.Message{Role: llm.RoleAssistant, Content: []llm.Block{b}}).Content[0]
}

// raw hides secrets in JSON.
func (v veil) raw(data json.RawMessage) json.RawMessage {
	if v.vault == nil {
		return data
	}
	return v.vault.HideJSON(data)
}

// result hides secrets in a tool's result. Details that are not JSON are left out, because no
// event or transcript could hold them.
func (v veil) result(r *tool.Result) *tool.Result {
	if r == nil {
		return nil
	}
	out := *r
	if !json.Valid(out.Details) {
		out.Details = nil
	}
	m := v.message(llm.Message{Role: llm.RoleToolResult, Content: out.Content, Details: out.Details})
	out.Content, out.Details = m.Content, m.Details
	return &out
}

// arguments replaces the model's placeholders with values, for tools that work on the
// workspace, including commands. Tools that only use the network keep the placeholders. A
// placeholder whose value is no longer known must not get into a file: that is an error.
func (v veil) arguments(t *tool.Tool, args json.RawMessage) (json.RawMessage, error) {
	if v.vault == nil || t == nil || t.Effects.Has(tool.Network) && !t.Effects.Has(tool.Executes) {
		return args, nil
	}
	restored := v.vault.RestoreArgs(string(args))
	if t.Effects&(tool.Writes|tool.Executes) != 0 {
		if lost := v.vault.Lost(restored); lost != "" {
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

func (v veil) err(err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	if safe := v.hide(text); safe != text {
		return &hidden{safe, err}
	}
	return err
}

func (v veil) outcome(o agent.Outcome) agent.Outcome {
	o.Err = v.err(o.Err)
	return o
}

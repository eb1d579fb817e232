package secret

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/burin-dev/burin/llm"
)

// HideMessages hides the secrets of a history: of text, reasoning, arguments of
// calls, results, documents, citations, details and error messages. The messages
// given are not changed; what holds no secret is shared, the whole slice if none
// does.
//
// A block that its provider signed loses the signature when it held a secret, since
// the provider refuses a signed block that was changed. An [llm.Opaque] loses its
// API instead, so that no request carries it.
func (v *Vault) HideMessages(history []llm.Message) []llm.Message {
	out := history
	for range maxRounds {
		age := v.age.Load()
		out = v.hideHistory(history)
		if v.age.Load() == age {
			break // otherwise a value was learned that earlier messages may hold
		}
	}
	return out
}

func (v *Vault) hideHistory(history []llm.Message) []llm.Message {
	var out []llm.Message
	for i := range history {
		m, changed := v.hideMessage(&history[i])
		if !changed {
			continue
		}
		if out == nil {
			out = slices.Clone(history)
		}
		out[i] = m
	}
	if out == nil {
		return history
	}
	return out
}

// hideMessage returns the zero message when nothing has changed.
func (v *Vault) hideMessage(m *llm.Message) (llm.Message, bool) {
	var content []llm.Block
	for i, b := range m.Content {
		hidden, changed := v.hideBlock(b)
		if !changed {
			continue
		}
		if content == nil {
			content = slices.Clone(m.Content)
		}
		content[i] = hidden
	}
	details, changed := v.hideRaw(m.Details)
	failure := v.hideError(m.Error)
	if content == nil && !changed && failure == m.Error {
		return llm.Message{}, false
	}
	out := *m
	if content != nil {
		out.Content = content
	}
	out.Details, out.Error = details, failure
	return out, true
}

func (v *Vault) hideError(e *llm.Error) *llm.Error {
	if e == nil {
		return nil
	}
	message := v.hideOnce(e.Message, false)
	if message == e.Message && (e.Err == nil || v.Hide(e.Err.Error()) == e.Err.Error()) {
		return e
	}
	out := *e
	out.Message, out.Err = message, nil // the cause may hold the text too
	return &out
}

// hideRaw hides in JSON.
func (v *Vault) hideRaw(raw json.RawMessage) (json.RawMessage, bool) {
	if len(raw) == 0 {
		return raw, false
	}
	text := string(raw)
	hidden := v.hideOnce(text, true)
	if hidden == text {
		return raw, false
	}
	return json.RawMessage(hidden), true
}

// hideText hides in a field and notes whether that changed it.
func (v *Vault) hideText(field *string, changed *bool) {
	if hidden := v.hideOnce(*field, false); hidden != *field {
		*field, *changed = hidden, true
	}
}

// checkSignature drops a signature that holds a secret itself, and that of a block
// that was changed.
func (v *Vault) checkSignature(signature *string, changed *bool) {
	if *signature == "" {
		return
	}
	if *changed || v.hideOnce(*signature, strings.HasPrefix(*signature, "{")) != *signature {
		*signature, *changed = "", true
	}
}

// hideBlock returns b itself when nothing has changed, which takes no memory.
func (v *Vault) hideBlock(b llm.Block) (_ llm.Block, changed bool) {
	switch t := b.(type) {
	case llm.Text:
		v.hideText(&t.Text, &changed)
		if cited, did := v.hideCitations(t.Citations); did {
			t.Citations, changed = cited, true
		}
		if v.checkSignature(&t.Signature, &changed); changed {
			return t, true
		}
	case llm.Thinking:
		v.hideText(&t.Text, &changed)
		if v.checkSignature(&t.Signature, &changed); changed {
			return t, true
		}
	case llm.ToolCall:
		if args := v.hideOnce(t.Arguments, true); args != t.Arguments {
			t.Arguments, changed = args, true
		}
		if v.checkSignature(&t.Signature, &changed); changed {
			return t, true
		}
	case llm.Image:
		if v.hideText(&t.URL, &changed); changed {
			return t, true
		}
	case llm.Document:
		if v.hideDocument(&t, &changed); changed {
			return t, true
		}
	case llm.Opaque:
		if t.Raw, changed = v.hideRaw(t.Raw); changed {
			t.API = ""
			return t, true
		}
	}
	return b, false
}

func (v *Vault) hideDocument(d *llm.Document, changed *bool) {
	v.hideText(&d.Name, changed)
	v.hideText(&d.URL, changed)
	v.hideText(&d.Text, changed)
	if len(d.Data) > 0 && textual(d.MIME) {
		if data := v.HideBytes(d.Data); &data[0] != &d.Data[0] {
			d.Data, *changed = data, true
		}
	}
}

// textual reports whether a document of that type is text.
func textual(mime string) bool {
	mime, _, _ = strings.Cut(mime, ";")
	for _, part := range [...]string{"text/", "json", "xml", "yaml", "toml", "javascript", "x-sh", "x-pem"} {
		if strings.Contains(mime, part) {
			return true
		}
	}
	return false
}

func (v *Vault) hideCitations(in []llm.Citation) ([]llm.Citation, bool) {
	var out []llm.Citation
	for i, c := range in {
		changed := false
		v.hideText(&c.URL, &changed)
		v.hideText(&c.Title, &changed)
		v.hideText(&c.Text, &changed)
		if _, did := v.hideRaw(c.Raw); did || changed {
			c.Raw, changed = nil, true // the provider's own record must not be changed
		}
		if !changed {
			continue
		}
		if out == nil {
			out = slices.Clone(in)
		}
		out[i] = c
	}
	return out, out != nil
}

package openai

import (
	"encoding/json"

	"github.com/burin-dev/burin/llm"
)

// reasoning adds what a chunk holds of it. The same words may come in a text
// field and again in a record, or in two text fields.
func (d *chatDecoder) reasoning(x *chatDelta, b *llm.Builder) {
	field, text := chatReasoningField(x, d.field)
	if text != "" {
		d.fields = true
		d.ponder(field, text, b)
	}
	for _, raw := range x.ReasoningDetails {
		var r chatDetail
		if json.Unmarshal(raw, &r) == nil {
			d.record(r, b)
		}
	}
}

// chatReasoningField is the first field that holds reasoning, the preferred one
// before the others.
func chatReasoningField(x *chatDelta, prefer string) (field, text string) {
	for _, f := range []string{prefer, chatReasoningContent, chatReasoningPlain, chatReasoningText} {
		switch f {
		case chatReasoningContent:
			text = string(x.ReasoningContent)
		case chatReasoningPlain:
			text = string(x.Reasoning)
		case chatReasoningText:
			text = string(x.ReasoningText)
		}
		if text != "" {
			return f, text
		}
	}
	return "", ""
}

// ponder adds reasoning. After a record that seals a block another one begins.
func (d *chatDecoder) ponder(field, text string, b *llm.Builder) {
	if text == "" {
		return
	}
	if d.think.sealed() {
		d.closeThinking(b)
	}
	d.openThinking(b)
	d.think.field = field
	b.Delta(d.think.block-1, text)
}

func (d *chatDecoder) openThinking(b *llm.Builder) {
	if d.think.block == 0 {
		d.closeText(b)
		d.think.block = b.OpenThinking() + 1
	}
}

func (t *chatThinking) sealed() bool {
	n := len(t.details)
	return n > 0 && (t.details[n-1].Signature != "" || t.details[n-1].Type == chatDetailEncrypted)
}

// chatRecordBytes is about what a record costs the decoder beyond what it holds.
const chatRecordBytes = 256

// record adds a record of reasoning_details. Pieces of one record follow each
// other with the same type and index.
func (d *chatDecoder) record(r chatDetail, b *llm.Builder) {
	if r.Format == chatOwnFormat && (r.Type == chatDetailEncrypted || d.think.sealed()) {
		d.closeThinking(b) // each record of ours is a block
	}
	if !d.fields {
		d.ponder(chatReasoningContent, r.Text+r.Summary, b)
	}
	d.openThinking(b)
	if b.Hold(chatRecordBytes + len(r.Text) + len(r.Summary) + len(r.Data) + len(r.Signature)) {
		d.think.add(r)
	}
}

// add adds a record, or a piece of the last one.
func (t *chatThinking) add(r chatDetail) {
	if n := len(t.details); n > 0 && chatSameRecord(&t.details[n-1], &r) {
		t.grow(&r)
		last := &t.details[n-1]
		if r.Signature != "" {
			last.Signature = r.Signature
		}
		if last.ID == "" {
			last.ID = r.ID
		}
		if last.Format == "" {
			last.Format = r.Format
		}
		return
	}
	t.settle()
	t.grow(&r)
	t.details = append(t.details, r)
}

func (t *chatThinking) grow(r *chatDetail) {
	t.text = append(t.text, r.Text...)
	t.summary = append(t.summary, r.Summary...)
	t.data = append(t.data, r.Data...)
}

// settle writes what has grown into the last record.
func (t *chatThinking) settle() {
	if n := len(t.details); n > 0 {
		last := &t.details[n-1]
		last.Text, last.Summary, last.Data = string(t.text), string(t.summary), string(t.data)
	}
	t.text, t.summary, t.data = t.text[:0], t.summary[:0], t.data[:0]
}

func chatSameRecord(a, b *chatDetail) bool {
	if a.Type != b.Type || (a.ID != "" && b.ID != "" && a.ID != b.ID) {
		return false
	}
	if a.Index == nil || b.Index == nil {
		return a.Index == b.Index
	}
	return *a.Index == *b.Index
}

// closeThinking signs and ends the block of reasoning.
func (d *chatDecoder) closeThinking(b *llm.Builder) {
	t := d.think
	if t.block == 0 {
		return
	}
	d.think = chatThinking{}
	t.settle()
	i := t.block - 1
	signature, encrypted := chatSignature(&t)
	switch {
	case encrypted && b.Size(i) == 0:
		b.Redact(i, signature)
	case signature != "":
		b.Sign(i, signature)
	}
	b.CloseBlock(i)
}

// chatSignature is what a block must keep so that it can go back as it came. See
// the package comment.
func chatSignature(t *chatThinking) (signature string, encrypted bool) {
	if len(t.details) == 0 {
		if t.field == chatReasoningContent {
			return "", false
		}
		return t.field, false
	}
	encrypted = true
	for _, r := range t.details {
		encrypted = encrypted && r.Type == chatDetailEncrypted
	}
	if r := t.details[0]; len(t.details) == 1 && r.Format == chatOwnFormat {
		return r.Signature + r.Data, encrypted
	}
	return string(chatJSON(t.details)), encrypted
}

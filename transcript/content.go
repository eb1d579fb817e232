package transcript

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/burin-dev/burin/llm"
)

// Pieces of messages from these sizes on are stored as blobs.
const (
	bigImage = 768     // bytes; 1,024 as base64
	bigText  = 500_000 // bytes
)

// literal starts a text in a record that would otherwise be read as a reference to a blob, or
// as a text with this prefix.
const literal = "blob:text:"

// looksStored reports whether a text has a special meaning in a record: a reference, after any
// number of literals.
func looksStored(text string) bool {
	for strings.HasPrefix(text, literal) {
		text = text[len(literal):]
	}
	return IsRef(text)
}

// quote returns m as it is written: texts that look like references to blobs are marked as
// texts. It doesn't modify m.
func quote(m *llm.Message) *llm.Message {
	out := m
	for i, b := range m.Content {
		if t, ok := b.(llm.Text); !ok || !looksStored(t.Text) {
			continue
		}
		if out == m {
			c := *m
			c.Content = slices.Clone(m.Content)
			out = &c
		}
		out.Content[i] = quoteBlock(b)
	}
	return out
}

func quoteBlock(b llm.Block) llm.Block {
	if t, ok := b.(llm.Text); ok && looksStored(t.Text) {
		t.Text = literal + t.Text
		return t
	}
	return b
}

// outsource returns m as it is written: with references to blobs for large images and texts.
// It doesn't modify m. Without blobs, or if one can't be written, the piece stays in the
// record, and the error says why.
func outsource(blobs *Blobs, m *llm.Message) (*llm.Message, error) {
	if blobs == nil {
		return m, nil
	}
	var out *llm.Message
	var all error
	for i, b := range m.Content {
		ref, err := outsourceBlock(blobs, b)
		if err != nil {
			all = errors.Join(all, err)
		}
		if ref == nil {
			continue
		}
		if out == nil {
			c := *m
			c.Content = append([]llm.Block(nil), m.Content...)
			out = &c
		}
		out.Content[i] = ref
	}
	if out == nil {
		out = m
	}
	return out, all
}

// Stow returns a message as messages of entries are written, for storing it in an entry's Data
// in the log l: with references to blobs for large images and texts. It doesn't modify m. What
// can't be stored as a blob stays in the message, and the error says why.
func Stow(l *Log, m *llm.Message) (*llm.Message, error) {
	if m = quote(m); l.o.Inline {
		return m, nil
	}
	return outsource(l.o.Blobs, m)
}

// Unstow restores what Stow took out of a message, or puts a note in its place.
func Unstow(l *Log, m *llm.Message) { l.o.Blobs.restoreBlocks("", m.Content) }

// outsourceBlock returns the block that replaces b; nil if b stays.
func outsourceBlock(blobs *Blobs, b llm.Block) (llm.Block, error) {
	switch b := b.(type) {
	case llm.Image:
		if len(b.Data) >= bigImage {
			ref, err := blobs.Put(b.Data)
			if err != nil {
				return nil, err
			}
			b.Data, b.URL = nil, ref
			return b, nil
		}
	case llm.Document:
		if len(b.Data) >= bigImage {
			ref, err := blobs.Put(b.Data)
			if err != nil {
				return nil, err
			}
			b.Data, b.URL = nil, ref
			return b, nil
		}
	case llm.Text:
		if len(b.Text) >= bigText {
			ref, err := blobs.Put([]byte(b.Text))
			if err != nil {
				return nil, err
			}
			b.Text = ref
			return b, nil
		}
	}
	return nil, nil
}

// Lost is a piece of an entry whose blob can't be read.
type Lost struct {
	EntryID string
	Block   int    // index in the entry's content
	What    string // image, text, or document with its quoted name
	Ref     string
	Size    int64 // bytes of the damaged blob; 0 if unknown
	Err     error // [ErrNoBlob], [ErrBadBlob], or the error of reading the blob
}

// Why says what is wrong with it: "the image … is not there any more".
func (p *Lost) Why() string {
	switch {
	case errors.Is(p.Err, ErrNoBlob):
		return "is not there any more"
	case errors.Is(p.Err, ErrBadBlob):
		return "is damaged"
	}
	return "cannot be read (" + p.Err.Error() + ")"
}

// restore restores the blobs of an entry, and records what is lost.
func (b *Blobs) restore(e *Entry) {
	if e.Message != nil {
		e.Lost = b.restoreBlocks(e.ID, e.Message.Content)
	}
	if e.Type != TypeCustomMessage || !hasRef(e.Content) {
		return
	}
	e.Content, _ = changeBlocks(e.Content, func(i int, block llm.Block) (llm.Block, bool) {
		if isText(block) {
			return block, false
		}
		now, gone := restoreBlock(b, block)
		if gone != nil {
			gone.EntryID, gone.Block = e.ID, i
			e.Lost = append(e.Lost, *gone)
		}
		return now, true
	})
}

// isText reports whether a block of a "custom_message" is never a blob: other programs store
// only images as blobs there, so a text that looks like a reference is a text.
func isText(b llm.Block) bool {
	_, ok := b.(llm.Text)
	return ok
}

func (b *Blobs) restoreBlocks(id string, blocks []llm.Block) (lost []Lost) {
	for i, block := range blocks {
		now, gone := restoreBlock(b, block)
		if gone != nil {
			gone.EntryID, gone.Block = id, i
			lost = append(lost, *gone)
		}
		blocks[i] = now
	}
	return lost
}

// hasRef reports whether a record may have a reference to a blob.
func hasRef(record []byte) bool {
	return bytes.Contains(record, []byte(blobPrefix)) || bytes.Contains(record, []byte(piecePrefix))
}

// inBlob reports whether a stored block is a blob.
func inBlob(b llm.Block) bool {
	switch b := b.(type) {
	case llm.Image:
		return IsRef(b.URL)
	case llm.Document:
		return IsRef(b.URL)
	case llm.Text:
		return IsRef(b.Text)
	}
	return false
}

// restoreBlock returns a block with its blob restored, or with a note in its place and the
// reason.
func restoreBlock(blobs *Blobs, b llm.Block) (llm.Block, *Lost) {
	if t, ok := b.(llm.Text); ok && strings.HasPrefix(t.Text, literal) && looksStored(t.Text) {
		t.Text = t.Text[len(literal):]
		return t, nil
	}
	if !inBlob(b) {
		return b, nil
	}
	switch b := b.(type) {
	case llm.Image:
		data, lost := fetch(blobs, b.URL, "image")
		if lost != nil {
			return lost.words(), lost
		}
		// Image parts of providers are stored as data URLs.
		if bytes.HasPrefix(data, []byte("data:")) {
			b.URL = string(data)
			return b, nil
		}
		b.Data, b.URL = data, ""
		return b, nil
	case llm.Document:
		data, lost := fetch(blobs, b.URL, fmt.Sprintf("document %.100q", b.Name))
		if lost != nil && b.Text == "" {
			return lost.words(), lost
		}
		b.Data, b.URL = data, ""
		return b, lost
	case llm.Text:
		data, lost := fetch(blobs, b.Text, "text")
		if lost != nil {
			return lost.words(), lost
		}
		b.Text = string(data)
		return b, nil
	}
	return b, nil
}

// words returns a note in place of a lost piece.
func (p *Lost) words() llm.Text {
	return llm.Text{Text: fmt.Sprintf("[%s that is not there any more: %s]", p.What, p.Ref)}
}

// fetch reads a blob.
func fetch(blobs *Blobs, ref, what string) ([]byte, *Lost) {
	if blobs == nil {
		return nil, &Lost{What: what, Ref: ref, Err: ErrNoBlob}
	}
	data, err := blobs.Get(ref)
	if err == nil {
		return data, nil
	}
	lost := &Lost{What: what, Ref: ref, Err: err}
	if blobs.pieces == nil {
		if info, err := os.Stat(blobs.Path(ref)); err == nil {
			lost.Size = info.Size()
		}
	}
	return nil, lost
}

// InlineRecord returns a record with its blobs restored, for a session that must not depend on
// them. Missing ones stay references.
func InlineRecord(blobs *Blobs, record []byte) ([]byte, error) {
	if !hasRef(record) {
		return record, nil
	}
	return withBlocks(record, func(b llm.Block, custom bool) (llm.Block, bool) {
		if !inBlob(b) || custom && isText(b) {
			return b, false
		}
		now, lost := restoreBlock(blobs, b)
		return quoteBlock(now), lost == nil
	})
}

// OutsourceRecord returns a record with its large images and texts as blobs, as [Log.Append]
// writes it. The record is valid even if there is an error: what could not be stored as a blob
// is in it.
func OutsourceRecord(blobs *Blobs, record []byte) ([]byte, error) {
	if len(record) < bigImage {
		return record, nil
	}
	var all error
	out, err := withBlocks(record, func(b llm.Block, custom bool) (llm.Block, bool) {
		if custom {
			return b, false
		}
		ref, err := outsourceBlock(blobs, b)
		all = errors.Join(all, err)
		return ref, ref != nil
	})
	if err != nil {
		return record, errors.Join(all, err)
	}
	return out, all
}

// withBlocks returns a record in which change has replaced blocks of the message, or of a
// "custom_message". Unchanged blocks keep their bytes.
func withBlocks(record []byte, change func(b llm.Block, custom bool) (llm.Block, bool)) ([]byte, error) {
	var e struct {
		Type    string
		Message json.RawMessage
		Content json.RawMessage
	}
	if json.Unmarshal(record, &e) != nil {
		return record, nil
	}
	if e.Type == TypeCustomMessage {
		content, changed := changeBlocks(e.Content, func(_ int, b llm.Block) (llm.Block, bool) { return change(b, true) })
		if !changed {
			return record, nil
		}
		return withField(record, "content", content)
	}
	var m struct{ Content json.RawMessage }
	if json.Unmarshal(e.Message, &m) != nil {
		return record, nil
	}
	content, changed := changeBlocks(m.Content, func(_ int, b llm.Block) (llm.Block, bool) { return change(b, false) })
	if !changed {
		return record, nil
	}
	message, err := withField(e.Message, "content", content)
	if err != nil {
		return nil, err
	}
	return withField(record, "message", json.RawMessage(message))
}

// changeBlocks returns content, a list of blocks or a string, with other blocks.
func changeBlocks(content json.RawMessage, change func(int, llm.Block) (llm.Block, bool)) (out json.RawMessage, changed bool) {
	read := func(content json.RawMessage) []llm.Block {
		var m llm.Message
		record, err := encode(map[string]json.RawMessage{"content": content})
		if err != nil || json.Unmarshal(record, &m) != nil {
			return nil
		}
		return m.Content
	}
	var list []json.RawMessage
	if json.Unmarshal(content, &list) != nil {
		list = []json.RawMessage{content}
	}
	for i, raw := range list {
		one := raw
		if len(raw) > 0 && raw[0] == '{' {
			one = slices.Concat([]byte("["), raw, []byte("]"))
		}
		blocks := read(one)
		if len(blocks) != 1 {
			continue
		}
		now, other := change(i, blocks[0])
		if !other {
			continue
		}
		var m struct{ Content []json.RawMessage }
		record, err := encode(llm.Message{Content: []llm.Block{now}})
		if err == nil && json.Unmarshal(record, &m) == nil && len(m.Content) == 1 {
			list[i], changed = m.Content[0], true
		}
	}
	if !changed {
		return content, false
	}
	out, err := encode(list)
	return out, err == nil
}

// adopt converts a message with a role of another program of the pi family into one that a
// model can read.
func adopt(e *Entry) {
	m := e.Message
	switch m.Role {
	case llm.RoleSystem, llm.RoleUser, llm.RoleAssistant, llm.RoleToolResult, llm.RoleCustom:
		return
	}
	var record struct {
		Message struct {
			Command, Output, Code, Summary string
			ExitCode                       *int `json:"exitCode"`
			Cancelled                      bool
			Exclude                        bool `json:"excludeFromContext"`
			Files                          []struct{ Path, Content string }
		}
	}
	_ = json.Unmarshal(e.Raw, &record) // missing fields stay empty
	r := record.Message
	kind := string(m.Role)
	m.CustomType, m.Role = kind, llm.RoleCustom
	switch kind {
	case "bashExecution", "pythonExecution":
		if m.CustomType == string(RoleExecution) {
			e.Execution = executionOf(e.Raw)
		}
		m.CustomType = kind
		if r.Exclude {
			m.CustomType = CustomExcluded
		}
		what := r.Command
		if kind == "pythonExecution" {
			what = r.Code
		}
		text := fmt.Sprintf("The user ran:\n%s\n\nOutput:\n%s", what, r.Output)
		if r.ExitCode != nil && *r.ExitCode != 0 {
			text += fmt.Sprintf("\n\nExit code: %d", *r.ExitCode)
		}
		if r.Cancelled {
			text += "\n\nIt was cancelled."
		}
		m.Content = []llm.Block{llm.Text{Text: text}}
	case "branchSummary":
		m.Content = []llm.Block{llm.Text{Text: branchWords(r.Summary)}}
	case "compactionSummary":
		m.Content = []llm.Block{llm.Text{Text: summaryWords(r.Summary)}}
	case "hookMessage":
		m.CustomType = "hook"
	default:
		var b strings.Builder
		for _, f := range r.Files {
			fmt.Fprintf(&b, "<file path=%q>\n%s\n</file>\n", f.Path, f.Content)
		}
		if b.Len() > 0 {
			m.Content = append(m.Content, llm.Text{Text: b.String()})
		}
	}
}

// CustomExcluded is the custom type of a private command of the user's: it is not sent to a
// model.
const CustomExcluded = "excluded"

func summaryWords(summary string) string {
	return "What was said before this point has been condensed. Summary:\n\n<summary>\n" + strings.ReplaceAll(summary, "</summary", "&lt;/summary") +
		"\n</summary>\n\nGo on from there. What the summary says was done is done; do not do it again."
}

func branchWords(summary string) string {
	return "The conversation went another way for a while and came back to this point. What happened there:\n\n<summary>\n" + summary + "\n</summary>"
}

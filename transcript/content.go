package transcript

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/burin-dev/burin/llm"
)

// From these sizes on a piece of a message lies in a blob.
const (
	bigImage = 768     // bytes; 1,024 as base64
	bigText  = 500_000 // bytes
)

// literal begins a text in a record that is none of its own: one that would be taken for
// a reference to a blob, or for a text that this was put before.
const literal = "blob:text:"

// looksStored reports whether a text means something else in a record: a reference,
// behind any number of literals.
func looksStored(text string) bool {
	for strings.HasPrefix(text, literal) {
		text = text[len(literal):]
	}
	return IsRef(text)
}

// quote gives m as it is written: texts that look like references to blobs are marked as
// texts. m is not changed.
func quote(m *llm.Message) *llm.Message {
	out := m
	for i, b := range m.Content {
		t, ok := b.(llm.Text)
		if !ok || !looksStored(t.Text) {
			continue
		}
		if out == m {
			c := *m
			c.Content = slices.Clone(m.Content)
			out = &c
		}
		t.Text = literal + t.Text
		out.Content[i] = t
	}
	return out
}

// outsource gives m as it is written: large images and texts are references to
// blobs. m is not changed. Without blobs, or where one cannot be written, it stays
// in the record, and the error says why.
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

// outsourceBlock gives the block that stands for b; nil if b stays.
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

// restore puts back what lies in blobs. What is not there is said in its place.
func restore(blobs *Blobs, m *llm.Message) {
	for i, b := range m.Content {
		switch b := b.(type) {
		case llm.Image:
			if !IsRef(b.URL) {
				continue
			}
			data, err := fetchBlob(blobs, b.URL)
			if err != nil {
				m.Content[i] = llm.Text{Text: "[an image that is not there any more: " + err.Error() + "]"}
				continue
			}
			// Providers' image parts are kept as data addresses.
			if addr := string(data[:min(len(data), 5)]); addr == "data:" {
				b.URL, data = string(data), nil
			} else {
				b.URL = ""
			}
			b.Data = data
			m.Content[i] = b
		case llm.Document:
			if !IsRef(b.URL) {
				continue
			}
			if data, err := fetchBlob(blobs, b.URL); err == nil {
				b.Data, b.URL = data, ""
				m.Content[i] = b
			} else if b.Text == "" {
				m.Content[i] = llm.Text{Text: "[a document that is not there any more: " + err.Error() + "]"}
			}
		case llm.Text:
			if strings.HasPrefix(b.Text, literal) && looksStored(b.Text) {
				b.Text = b.Text[len(literal):]
				m.Content[i] = b
				continue
			}
			if !IsRef(b.Text) {
				continue
			}
			if data, err := fetchBlob(blobs, b.Text); err == nil {
				b.Text = string(data)
				m.Content[i] = b
			}
		}
	}
}

// InlineRecord gives a record with what lies in blobs put back into it, for a session
// that shall not depend on them. What is not there stays a reference.
func InlineRecord(blobs *Blobs, record []byte) ([]byte, error) {
	if !bytes.Contains(record, []byte(blobPrefix)) {
		return record, nil
	}
	var e Entry
	if json.Unmarshal(record, &e) != nil || e.Message == nil {
		return record, nil
	}
	m := *e.Message
	m.Content = slices.Clone(m.Content)
	restore(blobs, &m)
	for i, was := range e.Message.Content {
		before, wasText := was.(llm.Text)
		now, text := m.Content[i].(llm.Text)
		switch {
		case text && !wasText:
			m.Content[i] = was // it is not there any more
		case text && now.Text != before.Text:
			m.Content[i] = quote(&llm.Message{Content: []llm.Block{now}}).Content[0]
		}
	}
	return withField(record, "message", m)
}

// OutsourceRecord gives a record with its large images and texts in blobs, as
// [Log.Append] writes them. The record is good also if there is an error: what could
// not be kept as a blob is in it.
func OutsourceRecord(blobs *Blobs, record []byte) ([]byte, error) {
	if len(record) < bigImage {
		return record, nil
	}
	var e Entry
	if json.Unmarshal(record, &e) != nil || e.Message == nil {
		return record, nil
	}
	m, err := outsource(blobs, e.Message)
	if m == e.Message {
		return record, err
	}
	out, ferr := withField(record, "message", m)
	if ferr != nil {
		return record, errors.Join(err, ferr)
	}
	return out, err
}

func fetchBlob(blobs *Blobs, ref string) ([]byte, error) {
	if blobs == nil {
		return nil, errors.New("there is no blob store")
	}
	return blobs.Get(ref)
}

// adopt makes the message of another program's role one that a model can read.
// The roles are those of the pi family.
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
	_ = json.Unmarshal(e.Raw, &record) // what is not there stays empty
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

// CustomExcluded is the custom type of what a person ran only for their own eyes: it
// is not given to a model.
const CustomExcluded = "excluded"

func summaryWords(summary string) string {
	return "What was said before this point has been condensed. Summary:\n\n<summary>\n" + strings.ReplaceAll(summary, "</summary", "&lt;/summary") +
		"\n</summary>\n\nGo on from there. What the summary says was done is done; do not do it again."
}

func branchWords(summary string) string {
	return "The conversation went another way for a while and came back to this point. What happened there:\n\n<summary>\n" + summary + "\n</summary>"
}

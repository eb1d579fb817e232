package transcript_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/transcript"
)

// A text that looks like a reference to a blob is a text, in every kind of session, also
// after its record has been made one without blobs and one with them.
func TestTextLikeReference(t *testing.T) {
	blobs := transcript.NewBlobs(t.TempDir())
	ref := put(t, blobs, "what another session keeps")
	texts := []string{ref, "blob:text:" + ref, "blob:text:blob:text:" + ref, ref + " ", "blob:text:", strings.Repeat("long ", 200_000)}
	for name, o := range map[string]transcript.Options{
		"with blobs":    {Blobs: blobs},
		"without blobs": {},
		"inline":        {Blobs: blobs, Inline: true},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "s.jsonl")
			l, err := transcript.Create(transcript.CreateFile(path), transcript.Header{}, o)
			if err != nil {
				t.Fatal(err)
			}
			m := llm.Message{Role: llm.RoleUser}
			for _, text := range texts {
				m.Content = append(m.Content, llm.Text{Text: text})
			}
			id := add(t, l, transcript.Entry{Type: transcript.TypeMessage, Message: &m}, assistant("an answer"))[0]
			if got := m.Content[0].(llm.Text).Text; got != ref {
				t.Errorf("the caller's message has become %q", got)
			}
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			again, _, err := transcript.ReadSession(path, o)
			if err != nil {
				t.Fatal(err)
			}
			defer again.Close()
			check := func(how string, content []llm.Block) {
				t.Helper()
				var got []string
				for _, b := range content {
					got = append(got, b.(llm.Text).Text)
				}
				if diff := cmp.Diff(texts, got); diff != "" {
					t.Errorf("%s: %.1000s", how, diff)
				}
			}
			e, err := again.Entry(id)
			if err != nil {
				t.Fatal(err)
			}
			check("the entry", e.Message.Content)
			c, err := again.Context(id)
			if err != nil {
				t.Fatal(err)
			}
			check("the context", c.Messages[0].Content)

			record, err := transcript.InlineRecord(blobs, e.Raw)
			if err != nil {
				t.Fatal(err)
			}
			check("the record without blobs", reread(t, transcript.Options{Blobs: blobs, Inline: true}, record))
			if record, err = transcript.OutsourceRecord(blobs, record); err != nil {
				t.Fatal(err)
			}
			check("the record with blobs", reread(t, transcript.Options{Blobs: blobs}, record))
		})
	}
}

// reread gives what a session of one record says.
func reread(t *testing.T, o transcript.Options, record []byte) []llm.Block {
	t.Helper()
	store := new(transcript.Memory)
	if _, err := store.Append([]byte(`{"type":"session","version":3,"id":"x"}`), record); err != nil {
		t.Fatal(err)
	}
	l, _, err := transcript.Open(store, o)
	if err != nil {
		t.Fatal(err)
	}
	e, err := l.Entry(l.Leaf())
	if err != nil {
		t.Fatal(err)
	}
	return e.Message.Content
}

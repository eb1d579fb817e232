package transcript_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/transcript"
)

// What lay in blobs that are gone or damaged is replaced by words, and told of: of the
// active context only what the model would have got.
func TestLostPieces(t *testing.T) {
	dir := t.TempDir()
	blobs := transcript.NewBlobs(dir)
	o := transcript.Options{Blobs: blobs}
	path := filepath.Join(t.TempDir(), "s.jsonl")
	l, err := transcript.Create(transcript.CreateFile(path), transcript.Header{}, o)
	if err != nil {
		t.Fatal(err)
	}
	piece := func(c byte) []byte { return bytes.Repeat([]byte{c}, 2000) }
	said := func(blocks ...llm.Block) transcript.Entry {
		return transcript.Entry{Type: transcript.TypeMessage, Message: &llm.Message{Role: llm.RoleUser, Content: blocks}}
	}
	hung, err := json.Marshal([]map[string]string{{"type": "image", "mimeType": "image/png", "data": put(t, blobs, "of another program")}})
	if err != nil {
		t.Fatal(err)
	}
	call := llm.ToolCall{ID: "c", Name: "read", Arguments: "{}"}
	result := llm.ToolResultText(call, "seen", false)
	result.Content = append(result.Content, llm.Image{MIME: "image/png", Data: piece('p')})
	ids := add(t, l,
		said(llm.Text{Text: "one"}, llm.Image{MIME: "image/png", Data: piece('i')}, llm.Image{MIME: "image/png", Data: piece('k')}),
		said(llm.Document{Name: "a.pdf", MIME: "application/pdf", Data: piece('d')}),
		said(llm.Document{Name: "b.pdf", MIME: "application/pdf", Data: piece('e'), Text: "its words"}),
		said(llm.Text{Text: strings.Repeat("long ", 200_000)}),
		transcript.Entry{Type: transcript.TypeCustomMessage, CustomType: "other", Content: hung},
		transcript.Entry{Type: transcript.TypeMessage, Message: &result},
		transcript.Entry{Type: transcript.TypeCustom, CustomType: transcript.CustomPrune},
		assistant("an answer"),
	)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text = bytes.Replace(text, []byte(`"customType":"burin.prune"`), []byte(`"customType":"burin.prune","data":{"entries":[{"id":"`+ids[5]+`","text":"[short]"}]}`), 1)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	kept := put(t, blobs, string(piece('k')))
	damaged := put(t, blobs, string(piece('d')))
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		switch name := filepath.Join(dir, f.Name()); name {
		case blobPath(dir, kept):
		case blobPath(dir, damaged):
			err = os.WriteFile(name, piece('d')[:123], 0o600)
		default:
			err = os.Remove(name)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if l, _, err = transcript.ReadSession(path, o); err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := l.Context(l.Leaf())
	if err != nil {
		t.Fatal(err)
	}
	type lost struct {
		Entry, What string
		Missing     bool
		Size        int64
	}
	short := func(all []transcript.Lost) (out []lost) {
		for _, p := range all {
			if !errors.Is(p.Err, transcript.ErrNoBlob) && !errors.Is(p.Err, transcript.ErrBadBlob) {
				t.Errorf("%+v", p)
			}
			out = append(out, lost{p.EntryID, p.What, errors.Is(p.Err, transcript.ErrNoBlob), p.Size})
		}
		return out
	}
	want := []lost{
		{ids[0], "image", true, 0},
		{ids[1], `document "a.pdf"`, false, 123},
		{ids[2], `document "b.pdf"`, true, 0},
		{ids[3], "text", true, 0},
		{ids[4], "image", true, 0},
	}
	if diff := cmp.Diff(want, short(c.Lost)); diff != "" {
		t.Error(diff)
	}
	if len(c.Messages) != 7 || c.Messages[5].Text() != "[short]" {
		t.Fatalf("%d messages: %+v", len(c.Messages), c.Messages)
	}
	for i, m := range c.Messages[:5] {
		for _, b := range m.Content {
			switch b := b.(type) {
			case llm.Image:
				if i != 0 || !bytes.Equal(b.Data, piece('k')) || b.URL != "" {
					t.Errorf("message %d has %+v", i, b)
				}
			case llm.Document:
				if i != 2 || len(b.Data) > 0 || b.URL != "" || b.Text != "its words" {
					t.Errorf("message %d has %+v", i, b)
				}
			case llm.Text:
				if b.Text != "one" && (!strings.HasPrefix(b.Text, "[") || !strings.Contains(b.Text, "not there any more")) {
					t.Errorf("message %d has %.200q", i, b.Text)
				}
			}
		}
	}

	want = append(want, lost{ids[5], "image", true, 0})
	var all []transcript.Lost
	for e, err := range l.All() {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e.Lost...)
		record, err := transcript.InlineRecord(blobs, e.Raw)
		if err != nil {
			t.Fatal(err)
		}
		if refs := bytes.Count(record, []byte("blob:sha256:")); refs != len(e.Lost) || bytes.Contains(record, []byte("any more")) {
			t.Errorf("%d pieces are lost; as a record of its own the entry is %.300s", len(e.Lost), record)
		}
	}
	if diff := cmp.Diff(want, short(all)); diff != "" {
		t.Error(diff)
	}
}

// What burin does not know of a record stays in it when its pieces go into blobs or come
// back from there.
func TestPiecesKeepTheirRecord(t *testing.T) {
	blobs := transcript.NewBlobs(t.TempDir())
	ref := put(t, blobs, strings.Repeat("picture ", 200))
	picture := `{"type":"image","mimeType":"image/png","data":"` + ref + `"}`
	inline := `{"type":"image","data":"` + base64.StdEncoding.EncodeToString([]byte(strings.Repeat("picture ", 200))) + `","mimeType":"image/png"}`
	for name, record := range map[string]string{
		"of a message":           `{"type":"message","id":"a","mood":1,"message":{"role":"other","command":"ls","content":[{"type":"text","text":"x","hue":2},` + picture + `],"tail":3},"end":4}`,
		"of a program's message": `{"type":"custom_message","id":"a","customType":"x","content":[{"type":"text","text":"` + ref + `","hue":2},` + picture + `],"end":4}`,
	} {
		t.Run(name, func(t *testing.T) {
			got, err := transcript.InlineRecord(blobs, []byte(record))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.ReplaceAll(record, picture, inline), string(got)); diff != "" {
				t.Error(diff)
			}
			again, err := transcript.OutsourceRecord(blobs, got)
			if err != nil {
				t.Fatal(err)
			}
			want := strings.ReplaceAll(record, picture, `{"type":"image","data":"`+ref+`","mimeType":"image/png"}`)
			if strings.Contains(name, "program") {
				want = string(got) // only other programs put pieces of these into blobs
			}
			if diff := cmp.Diff(want, string(again)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

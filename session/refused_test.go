package session_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/llmtest"
	"github.com/burin-dev/burin/session"
)

// withImage is a message with an image whose bytes are data.
func withImage(text, data string) llm.Message {
	return llm.Message{Role: llm.RoleUser, Content: []llm.Block{llm.Text{Text: text}, llm.Image{MIME: "image/png", Data: []byte(data)}}}
}

// eyes lets the model read images.
func eyes(r *rig, _ *session.Options) {
	r.model.Input = []llm.Modality{llm.ModalityText, llm.ModalityImage}
}

// images are the bytes of the images in each request.
func (r *rig) images() (out []string) {
	for _, req := range r.srv.Requests() {
		var all []string
		for _, m := range req.Messages {
			for _, b := range m.Content {
				if img, ok := b.(llm.Image); ok {
					all = append(all, string(img.Data))
				}
			}
		}
		out = append(out, strings.Join(all, " "))
	}
	return out
}

// What came since the last answer is set aside first, then the rest; then it is an error
// like any other. After a resume it is still set aside.
func TestRefusedImages(t *testing.T) {
	eachFormat(t, func(t *testing.T, f format) {
		no := refused(llm.ErrInvalidRequest, "Could not process image")
		r := start(t, f, eyes, say("a"), no, say("b"), no, no, say("c"), no, say("d"))
		for _, data := range []string{"one", "two", "three"} {
			r.Prompt(t.Context(), withImage(data, data))
		}
		r.prompt("none", agent.ReasonError)
		r.resume()
		r.prompt("again", agent.ReasonDone)
		if diff := cmp.Diff([]string{"one", "one two", "one", "one three", "one", "", "", ""}, r.images()); diff != "" {
			t.Error(diff)
		}
		r.consistent()
	})
}

// Requests that are too large as a whole are repeated without the images of before.
func TestTooLargeWithImages(t *testing.T) {
	f := formats()[0]
	large := llmtest.Turn{Fault: llmtest.Fault{Error: &llm.Error{Kind: llm.ErrContextOverflow, Status: 413, Message: "Request exceeds the maximum size"}}}
	r := start(t, f, eyes, say("a"), large, say("b"))
	r.Prompt(t.Context(), withImage("one", "one"))
	r.Prompt(t.Context(), withImage("two", "two"))
	if diff := cmp.Diff([]string{"one", "one two", "two"}, r.images()); diff != "" {
		t.Error(diff)
	}
	if w := r.warned(); len(w) != 1 || !strings.Contains(w[0], "1 attachment of the conversation left out") {
		t.Error(w)
	}
}

// A document that is refused goes on as its text.
func TestRefusedDocument(t *testing.T) {
	f := formats()[0]
	r := start(t, f, eyes, refused(llm.ErrInvalidRequest, "The PDF specified was not valid"), say("ok"))
	r.Prompt(t.Context(), llm.Message{Role: llm.RoleUser, Content: []llm.Block{
		llm.Text{Text: "read"}, llm.Document{Name: "a.pdf", MIME: "application/pdf", Data: []byte("%PDF"), Text: "its words"},
	}})
	last := r.srv.Requests()[1].Messages
	if text := last[len(last)-1].Text(); !strings.Contains(text, "its words") {
		t.Errorf("the model read %q", text)
	}
}

// fitting is a ground that fits images by cutting them.
type fitting struct{ session.Bare }

func (fitting) Attach(_ context.Context, m *llm.Model, content []llm.Block) ([]llm.Block, []string, error) {
	content = slices.Clone(content)
	content[1] = llm.Image{MIME: "image/png", Data: []byte("cut")}
	return content, []string{"cut for " + m.ID}, nil
}

// What is attached fits before it is kept, by whatever way it comes.
func TestAttachmentsAreFitted(t *testing.T) {
	f := formats()[0]
	r := start(t, f, func(r *rig, o *session.Options) { eyes(r, o); o.Ground = fitting{} }, say("a"), say("b"))
	r.Prompt(t.Context(), withImage("one", "whole"))
	receipt, err := r.Submit(t.Context(), session.Input{Message: withImage("two", "whole")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Wait(t.Context(), receipt.ID); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"cut", "cut cut"}, r.images()); diff != "" {
		t.Error(diff)
	}
	if want := "cut for " + f.model.ID; !slices.Equal(r.warned(), []string{want, want}) {
		t.Error(r.warned())
	}
	c, err := r.Log().Context(r.Log().Leaf())
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range c.Messages {
		for _, b := range m.Content {
			if img, ok := b.(llm.Image); ok && string(img.Data) != "cut" {
				t.Errorf("the session keeps %q", img.Data)
			}
		}
	}
}

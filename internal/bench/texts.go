package bench

import (
	"bytes"
	"context"
	"crypto/sha256"
	"slices"
	"strings"
	"sync"

	"github.com/burin-dev/burin/internal/platform/document"
	"github.com/burin-dev/burin/internal/platform/permission"
	"github.com/burin-dev/burin/llm"
)

const pdfType = "application/pdf"

// beforeRequest fits a request to its model; see [session.Options.BeforeRequest].
func beforeRequest(search string, rules *permission.Policy) func(context.Context, *llm.Request) bool {
	own, texts := ownSearch(search, rules), &pdfTexts{of: map[[sha256.Size]byte]string{}}
	return func(ctx context.Context, r *llm.Request) bool {
		if own != nil {
			own(r)
		}
		return texts.fill(ctx, r)
	}
}

// pdfTexts are the texts of attached PDFs. One that came while the model read PDFs gets its
// text when a model that doesn't is asked: extracting can take seconds, and mostly no model
// needs it.
type pdfTexts struct {
	mu sync.Mutex
	of map[[sha256.Size]byte]string
}

// fill gives PDFs of a request their text, where its model needs that.
func (x *pdfTexts) fill(ctx context.Context, r *llm.Request) (filled bool) {
	if r.Model.Accepts(llm.ModalityDocument) {
		return false
	}
	for i, m := range r.Messages {
		cloned := false
		for k, b := range m.Content {
			d, ok := b.(llm.Document)
			if !ok || d.MIME != pdfType || d.Text != "" || len(d.Data) == 0 {
				continue
			}
			if d.Text = x.text(ctx, d.Data); d.Text == "" {
				continue
			}
			if !filled { // the conversation's own messages stay as they are
				r.Messages = slices.Clone(r.Messages)
			}
			if !cloned {
				r.Messages[i].Content, cloned = slices.Clone(m.Content), true
			}
			r.Messages[i].Content[k], filled = d, true
		}
	}
	return filled
}

func (x *pdfTexts) text(ctx context.Context, data []byte) string {
	key := sha256.Sum256(data)
	x.mu.Lock()
	defer x.mu.Unlock()
	text, ok := x.of[key]
	if !ok {
		text, _ = document.Extract(ctx, document.PDF, bytes.NewReader(data), int64(len(data))) // none: the model reads that it was left out
		text = strings.TrimSpace(text)
		if ctx.Err() == nil {
			x.of[key] = text
		}
	}
	return text
}

package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/burin-dev/burin/internal/platform/document"
	"github.com/burin-dev/burin/llm"
)

// Attach implements [session.Ground]: pictures get the limits that the read tool has, and a
// PDF its text, for a model that doesn't read PDFs.
func (g ground) Attach(ctx context.Context, m *llm.Model, content []llm.Block) (fitted []llm.Block, notes []string, err error) {
	fitted = slices.Clone(content)
	images, n := 0, 0
	for i, b := range fitted {
		if ref := referred(b); ref != "" && g.seat.Attached != nil {
			if fitted[i], err = g.seat.Attached(ctx, b, ref); err != nil {
				return nil, nil, err
			}
		}
		if _, ok := fitted[i].(llm.Image); ok {
			images++
		}
	}
	for i, b := range fitted {
		var note string
		switch b := b.(type) {
		case llm.Image:
			n++
			name := "the attached image"
			if images > 1 {
				name = fmt.Sprintf("attached image %d of %d", n, images)
			}
			fitted[i], note = attachImage(g.seat, m, b, name)
		case llm.Document:
			fitted[i], note = attachDocument(ctx, m, b)
		}
		if note != "" {
			notes = append(notes, note)
		}
	}
	return fitted, notes, nil
}

// referred is where the content of an attachment is; "" if it is in the block.
func referred(b llm.Block) string {
	switch b := b.(type) {
	case llm.Image:
		if len(b.Data) == 0 {
			return b.URL
		}
	case llm.Document:
		if len(b.Data) == 0 {
			return b.URL
		}
	}
	return ""
}

// attachImage makes an image fit a model. What cannot is left out, and both the model and
// the person read so: the provider would refuse the whole request.
func attachImage(b *seat, m *llm.Model, img llm.Image, name string) (llm.Block, string) {
	unread := ""
	switch {
	case b.NoImages:
		unread = name + " does not reach the model: images.blockImages is on"
	case !m.Accepts(llm.ModalityImage):
		unread = fmt.Sprintf("%s does not reach the model: %s does not read images", name, m.Ref())
	}
	if len(img.Data) == 0 {
		return img, unread
	}
	p, err := document.FitImage(img.Data, imageLimits(b, m))
	if err != nil {
		return llm.Text{Text: fmt.Sprintf("[An image was attached here. It could not be sent: %v.]", err)},
			fmt.Sprintf("%s was left out: %v", name, err)
	}
	fitted := llm.Image{MIME: p.MIME, Data: p.Data}
	switch {
	case unread != "":
		return fitted, unread
	case p.Resized:
		return fitted, fmt.Sprintf("%s was resized from %d×%d to %d×%d pixels, which %s reads", name, p.Width, p.Height, p.ShownWidth, p.ShownHeight, m.Ref())
	case p.MIME != img.MIME || !bytes.Equal(p.Data, img.Data):
		return fitted, fmt.Sprintf("%s was converted from %s to %s", name, kindOfImage(img.MIME), kindOfImage(p.MIME))
	}
	return fitted, ""
}

func kindOfImage(mime string) string { return strings.ToUpper(strings.TrimPrefix(mime, "image/")) }

// attachDocument gives a PDF its text.
func attachDocument(ctx context.Context, m *llm.Model, d llm.Document) (llm.Block, string) {
	if len(d.Data) == 0 || d.Text != "" || d.MIME != pdfType || m.Accepts(llm.ModalityDocument) {
		return d, "" // see [pdfTexts]
	}
	text, err := document.Extract(ctx, document.PDF, bytes.NewReader(d.Data), int64(len(d.Data)))
	d.Text = strings.TrimSpace(text)
	switch {
	case err != nil:
		return d, fmt.Sprintf("%s does not reach the model: %s does not read PDFs, and its text could not be read: %v", d.Name, m.Ref(), err)
	case d.Text == "":
		return d, fmt.Sprintf("%s does not reach the model: %s does not read PDFs, and there is no text in it", d.Name, m.Ref())
	}
	return d, fmt.Sprintf("%s was sent as text: %s does not read PDFs", d.Name, m.Ref())
}

// AudioType tells the MIME type of a recording; "" if data is none.
func AudioType(data []byte) string { return document.AudioType(data[:min(len(data), 4096)]) }

// DocumentText gives the text of a document other than a PDF, of at most limit bytes; ok is that there is one in data. What
// lies beyond a limit is left out, and the last line says so.
func DocumentText(ctx context.Context, data []byte, name string, limit int) (text string, ok bool, err error) {
	kind := document.Detect(name, data[:min(len(data), document.HeadSize)])
	if !document.Readable(kind) {
		return "", false, nil
	}
	text, err = document.Extract(ctx, kind, bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return "", true, fmt.Errorf("its text can't be read: %w", err)
	}
	if text = strings.ToValidUTF8(strings.TrimSpace(text), ""); text == "" {
		return "", true, errors.New("there is no text in it")
	}
	if len(text) > limit {
		text = fmt.Sprintf("%s\n\n[The text is longer than %d MB. The rest was left out.]", strings.ToValidUTF8(text[:limit], ""), limit>>20)
	}
	return text, true, nil
}

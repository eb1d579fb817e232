package main

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/burin-dev/burin/internal/chat/attachment"
	"github.com/burin-dev/burin/internal/chat/people"
	"github.com/burin-dev/burin/internal/chat/project"
)

// maxExports is how many people export at a time: each takes the memory of a large file or chat.
const maxExports = 4

// export gives what writes all that is kept of a person, as an archive. Nothing is written before it is called.
// The error is a [people.ErrBusy] if too many do so already, and says why it can't be read now.
func (k *kept) export(ctx context.Context, by people.By, person string) (write func(io.Writer) error, err error) {
	if _, err := k.vault.Ring(ctx, person); err != nil {
		return nil, err
	}
	select {
	case k.exports <- struct{}{}:
	default:
		return nil, fmt.Errorf("%w: %d exports run", people.ErrBusy, maxExports)
	}
	account, err := k.people.Export(ctx, by, person)
	if err != nil {
		<-k.exports
		return nil, err
	}
	return func(w io.Writer) error {
		defer func() { <-k.exports }()
		to := zip.NewWriter(w)
		err := project.WriteJSON(to, "account.json", account)
		if err == nil {
			err = project.Export(ctx, k.projects, person, to)
		}
		if err == nil {
			err = k.exportAttachments(ctx, person, to)
		}
		if err == nil {
			err = k.private.Export(ctx, person, func(name string, v any) error { return project.WriteJSON(to, name, v) })
		}
		if err == nil {
			err = to.Close()
		}
		return err
	}, nil
}

// exportAttachments writes the attachments of a person into an archive.
func (k *kept) exportAttachments(ctx context.Context, person string, to *zip.Writer) error {
	const page = 500
	for after := ""; ; {
		ids, err := k.pieces.List(ctx, person, after, page)
		for _, id := range ids {
			if err == nil {
				err = k.exportAttachment(ctx, person, id, to)
			}
			after = id
		}
		if err != nil || len(ids) < page {
			return err
		}
	}
}

func (k *kept) exportAttachment(ctx context.Context, person, id string, to *zip.Writer) error {
	r, err := k.pieces.Open(ctx, person, id)
	if errors.Is(err, attachment.ErrUnknown) { // it was deleted meanwhile
		return nil
	}
	if err != nil {
		return err
	}
	w, err := to.Create("attachments/" + id + endingOf(r.Type))
	if err == nil {
		_, err = io.Copy(w, r)
	}
	return err
}

// endingOf is how the name of a file of a type ends.
func endingOf(mime string) string {
	switch mime {
	case "image/png":
		return ".png"
	case "image/jpeg":
		return ".jpg"
	case "image/gif":
		return ".gif"
	case "image/webp":
		return ".webp"
	case "application/pdf":
		return ".pdf"
	}
	return ""
}

package objectstore

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
)

// partSize is that of the parts of an upload but the last. A service takes 10,000 parts of 5 MB
// to 5 GB.
const partSize = 8 << 20

// Upload makes an object of what is written to it. It is there after Close, not before; a small
// one is a single request. One goroutine uses it.
type Upload struct {
	b    *Bucket
	key  string
	id   string // "" while all fits into one part
	tags []string
	part bytes.Buffer
}

// Upload begins one.
func (b *Bucket) Upload(key string) *Upload { return &Upload{b: b, key: key} }

// Write adds data.
func (u *Upload) Write(ctx context.Context, data []byte) error {
	u.part.Write(data)
	for u.part.Len() >= 2*partSize || u.id != "" && u.part.Len() >= partSize {
		if err := u.send(ctx, u.part.Next(partSize)); err != nil {
			return fmt.Errorf("upload %s: %w", u.key, err)
		}
	}
	return nil
}

func (u *Upload) send(ctx context.Context, part []byte) error {
	if u.id == "" {
		a, err := u.b.do(ctx, call{method: http.MethodPost, key: u.key, query: url.Values{"uploads": {""}}, want: http.StatusOK, limit: maxError})
		if err != nil {
			return err
		}
		var begun struct {
			ID string `xml:"UploadId"`
		}
		if err := xml.Unmarshal(a.body, &begun); err != nil || begun.ID == "" {
			return errors.New("the object store gives no id of the upload")
		}
		u.id = begun.ID
	}
	a, err := u.b.do(ctx, call{
		method: http.MethodPut, key: u.key, want: http.StatusOK, limit: maxError, body: part,
		query: url.Values{"uploadId": {u.id}, "partNumber": {strconv.Itoa(len(u.tags) + 1)}},
	})
	if err != nil {
		return err
	}
	u.tags = append(u.tags, a.header.Get("ETag"))
	return nil
}

// Close ends the upload. If it fails, Abort is still wanted.
func (u *Upload) Close(ctx context.Context) error {
	if u.id == "" {
		return u.b.Put(ctx, u.key, u.part.Bytes())
	}
	if err := u.complete(ctx); err != nil {
		return fmt.Errorf("upload %s: %w", u.key, err)
	}
	return nil
}

func (u *Upload) complete(ctx context.Context) error {
	if u.part.Len() > 0 {
		if err := u.send(ctx, u.part.Bytes()); err != nil {
			return err
		}
	}
	type part struct {
		PartNumber int
		ETag       string
	}
	var list struct {
		XMLName xml.Name `xml:"CompleteMultipartUpload"`
		Parts   []part   `xml:"Part"`
	}
	for i, tag := range u.tags {
		list.Parts = append(list.Parts, part{i + 1, tag})
	}
	body, err := xml.Marshal(list)
	if err != nil {
		return err
	}
	for try := 1; ; try++ {
		a, err := u.b.do(ctx, call{method: http.MethodPost, key: u.key, query: url.Values{"uploadId": {u.id}}, body: body, want: http.StatusOK, limit: maxError})
		var refused *Error
		if errors.As(err, &refused) && refused.Code == "NoSuchUpload" && a.tries+try > 2 {
			_, err := u.b.Get(ctx, u.key, 0, 1) // an earlier try has done it, and its answer was lost
			return err
		}
		if err != nil {
			return err
		}
		var e struct {
			XMLName xml.Name
			Error
		}
		if err := xml.Unmarshal(a.body, &e); err != nil {
			return fmt.Errorf("read what the object store says: %w", err)
		}
		if e.XMLName.Local != "Error" {
			return nil
		}
		// The status was sent before the work was done.
		e.Status = http.StatusInternalServerError
		if try == tries {
			return &e.Error
		}
	}
}

// Abort gives up the upload.
func (u *Upload) Abort(ctx context.Context) error {
	u.part.Reset()
	if u.id == "" {
		return nil
	}
	_, err := u.b.do(ctx, call{method: http.MethodDelete, key: u.key, query: url.Values{"uploadId": {u.id}}, want: http.StatusNoContent, limit: maxError})
	if err != nil {
		return fmt.Errorf("give up the upload of %s: %w", u.key, err)
	}
	return nil
}

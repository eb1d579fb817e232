package conformance

import (
	"bytes"
	"context"
	"io"
)

func readerOf(b []byte) func() io.Reader {
	return func() io.Reader { return bytes.NewReader(b) }
}

// stallingReader returns its data and then nothing until ctx ends.
type stallingReader struct {
	ctx  context.Context
	data []byte
}

func (r *stallingReader) Read(p []byte) (int, error) {
	if len(r.data) == 0 {
		<-r.ctx.Done()
		return 0, r.ctx.Err()
	}
	n := copy(p, r.data)
	r.data = r.data[n:]
	return n, nil
}

// brokenReader returns its data and then an error.
type brokenReader struct {
	data []byte
	err  error
}

func (r *brokenReader) Read(p []byte) (int, error) {
	if len(r.data) == 0 {
		return 0, r.err
	}
	n := copy(p, r.data)
	r.data = r.data[n:]
	return n, nil
}

// spread returns at most n numbers from 0 to end, evenly apart, both included.
func spread(end, n int) []int {
	var out []int
	for i := range n {
		at := end * i / (n - 1)
		if len(out) == 0 || out[len(out)-1] != at {
			out = append(out, at)
		}
	}
	return out
}

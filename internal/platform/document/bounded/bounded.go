// Package bounded reads what others wrote without trusting how large it says it
// is. [Reader] takes from an allowance that several readers share and ends when
// a context does; [Zip] opens a zip file whose directory cannot fill the memory.
package bounded

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
)

// ErrTooLarge is input that exceeds its allowance.
var ErrTooLarge = errors.New("unpacks to more than is read of one file")

// maxDirectory is how much of a zip is read to list it: about 150,000 entries.
const maxDirectory = 16 << 20

// Reader gives what r gives until ctx ends or *left bytes have been read, by it
// or another reader with the same allowance; then it fails with the context's
// error or [ErrTooLarge].
func Reader(ctx context.Context, r io.Reader, left *int64) io.Reader {
	return &reader{done: ctx.Err, r: r, left: left}
}

type reader struct {
	done func() error
	r    io.Reader
	left *int64
}

func (b *reader) Read(p []byte) (int, error) {
	if err := b.done(); err != nil {
		return 0, err
	}
	if *b.left <= 0 {
		// Exactly as much as is allowed is not too much.
		var one [1]byte
		if n, err := b.r.Read(one[:]); n == 0 {
			return 0, err
		}
		return 0, ErrTooLarge
	}
	if int64(len(p)) > *b.left {
		p = p[:*b.left]
	}
	n, err := b.r.Read(p)
	*b.left -= int64(n)
	return n, err
}

// Zip opens a zip file. Of a directory that is larger than 16 MB nothing is kept
// and the error is [ErrTooLarge].
func Zip(r io.ReaderAt, size int64) (*zip.Reader, error) {
	m := &meter{r: r, left: maxDirectory}
	z, err := zip.NewReader(m, size)
	m.open = true
	if m.left < 0 {
		return nil, fmt.Errorf("zip directory: %w", ErrTooLarge)
	}
	if err != nil {
		return nil, fmt.Errorf("read the zip directory: %w", err)
	}
	return z, nil
}

// meter limits what may be read until open is set.
type meter struct {
	r    io.ReaderAt
	left int64
	open bool
}

func (m *meter) ReadAt(p []byte, off int64) (int, error) {
	if !m.open {
		if m.left -= int64(len(p)); m.left < 0 {
			return 0, ErrTooLarge
		}
	}
	return m.r.ReadAt(p, off)
}

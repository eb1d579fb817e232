package office

import (
	"context"
	"io"
)

// WordWithin is Word with another allowance of unpacked bytes.
func WordWithin(ctx context.Context, r io.ReaderAt, size int64, max int, allowance int64) (string, error) {
	c, err := open(ctx, r, size)
	if err != nil {
		return "", err
	}
	c.left = allowance
	return c.word(max)
}

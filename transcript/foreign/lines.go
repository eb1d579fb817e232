package foreign

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
)

// maxLine is the most bytes of a line. A longer one is left out and listed.
const maxLine = 64 << 20

var errLongLine = fmt.Errorf("the line is longer than %d MB", maxLine>>20)

// eachLine calls line with each line that is not empty. The bytes are valid until
// it returns. For a line that is too long err is set. An error of reading ends it,
// after what was read.
func eachLine(ctx context.Context, r io.Reader, line func(n int, text []byte, err error)) error {
	br := bufio.NewReaderSize(r, 64<<10)
	var long []byte
	for n := 1; ; n++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		text, skipped, err := readLine(br, &long)
		if n == 1 {
			text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
		}
		switch text = bytes.TrimSpace(text); {
		case skipped:
			line(n, nil, errLongLine)
		case len(text) > 0:
			line(n, text, nil)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// readLine reads a line, with long as room for one that the reader's buffer does
// not hold.
func readLine(br *bufio.Reader, long *[]byte) (text []byte, skipped bool, err error) {
	text, err = br.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		return text, false, err
	}
	*long = append((*long)[:0], text...)
	for errors.Is(err, bufio.ErrBufferFull) {
		text, err = br.ReadSlice('\n')
		if skipped = skipped || len(*long)+len(text) > maxLine; skipped {
			*long = nil // its room is not kept while the rest passes
			continue
		}
		*long = append(*long, text...)
	}
	return *long, skipped, err
}

// lines reads a file's lines; what is wrong with one is noted in t. An error is
// about the file as a whole.
func (t *tree) lines(ctx context.Context, path string, line func(n int, text []byte) error) error {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("import: %w", err)
	}
	defer file.Close()
	return t.linesOf(ctx, file, "line", line)
}

// linesOf is lines of a reader. what names a line in the report.
func (t *tree) linesOf(ctx context.Context, r io.Reader, what string, line func(n int, text []byte) error) error {
	err := eachLine(ctx, r, func(n int, text []byte, err error) {
		if err == nil {
			err = line(n, text)
		}
		if err != nil {
			t.unreadable(fmt.Sprintf("%s %d", what, n), err)
		}
	})
	if err != nil && ctx.Err() == nil {
		t.unreadable("the rest of the file", err)
		return nil
	}
	return err
}

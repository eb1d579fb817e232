package file

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"unicode/utf8"

	"github.com/burin-dev/burin/internal/platform/document"
	"github.com/burin-dev/burin/internal/platform/workspace"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/tool"
)

// readLarge shows a file that is larger than [workspace.MaxFile], of which never more than a
// part is in memory: lines of a text, tables of a database, the text of a document. The model
// has not seen it as a whole, so that write does not replace it.
func (f *files) readLarge(ctx context.Context, name string, info fs.FileInfo, sel selection) (*tool.Result, error) {
	file, err := f.fs.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	r := bufio.NewReaderSize(file, 256<<10)
	head, err := r.Peek(512)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	kind := document.Detect(name, head)
	switch kind {
	case document.SQLite:
		return f.query(ctx, name, "")
	case document.Archive:
		return f.readArchive(ctx, name, "", sel)
	case document.Binary:
		return nil, fmt.Errorf("%s is a binary file (%s) that cannot be shown as text", name, size(info.Size()))
	case document.Text:
	case document.Image, document.Notebook:
		return nil, fmt.Errorf("%s has %s: a file of kind %s is read up to %s", name, size(info.Size()), kind, size(workspace.MaxFile))
	default:
		at, ok := file.(io.ReaderAt)
		if !ok {
			return nil, fmt.Errorf("%s cannot be read at random", name)
		}
		text, err := document.Extract(ctx, kind, at, info.Size())
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		return f.text(name, string(kind), text, sel), nil
	}
	if sel.conflicts {
		return nil, fmt.Errorf("%s has %s: conflicts are listed up to %s; use grep", name, size(info.Size()), size(workspace.MaxFile))
	}
	if len(head) > 1 && (head[0] == 0xff && head[1] == 0xfe || head[0] == 0xfe && head[1] == 0xff) {
		return nil, fmt.Errorf("%s has %s and is UTF-16, which is read up to %s: convert it with a command", name, size(info.Size()), size(workspace.MaxFile))
	}
	v, err := showStream(ctx, r, sel)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	f.Learn(v.text.String())
	res := tool.Text(v.text.String() + v.notice()).WithDetails(readDetails{
		Path: name, Kind: string(kind), Lines: v.lines, Total: v.total, Truncated: v.next > 0 || v.cut > 0,
	})
	if len(sel.spans) == 0 {
		res.Content = append(res.Content, llm.Text{Text: fmt.Sprintf("[%s has %s: read it by lines, or search it with grep.]", name, size(info.Size()))})
	}
	return res, nil
}

// showStream is show for a text that is too large to be held. It reads to the end, to count
// the lines; of a line it keeps no more than is shown.
func showStream(ctx context.Context, r *bufio.Reader, sel selection) (*view, error) {
	spans := widened(sel)
	v, line := &view{most: cmp.Or(sel.most, maxLines)}, []byte(nil)
	for at := 0; ; {
		if v.total%4096 == 0 && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		n := v.total + 1
		for at < len(spans) && spans[at].to > 0 && n > spans[at].to {
			at++
		}
		most := 0
		if at < len(spans) && n >= spans[at].from && v.next == 0 {
			most = maxColumns + utf8.UTFMax
		}
		var err error
		if line, err = readLine(ctx, r, line[:0], most); err != nil {
			if errors.Is(err, io.EOF) {
				break
			}
			return nil, err
		}
		v.total = n
		if most > 0 {
			text, _, err := document.Decode(wholeRunes(line))
			if err != nil {
				return nil, err
			}
			v.add(n, text, at > 0, n == spans[at].from, sel.raw)
		}
	}
	if len(sel.spans) > 0 && sel.spans[0].from > v.total { // only the line before it was there
		return &view{total: v.total}, nil
	}
	return v, nil
}

// wholeRunes is a line without the character in which it was cut.
func wholeRunes(line []byte) []byte {
	for i := len(line) - 1; i >= max(0, len(line)-utf8.UTFMax); i-- {
		if utf8.RuneStart(line[i]) {
			if !utf8.FullRune(line[i:]) {
				return line[:i]
			}
			break
		}
	}
	return line
}

// readLine reads a line and appends at most that many bytes of it to buf. The error is
// io.EOF behind the last one.
func readLine(ctx context.Context, r *bufio.Reader, buf []byte, most int) ([]byte, error) {
	for read := 0; ; {
		piece, err := r.ReadSlice('\n')
		buf = append(buf, piece[:min(len(piece), most-len(buf))]...)
		switch read += len(piece); {
		case err == nil, errors.Is(err, io.EOF) && read > 0:
			return buf, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return buf, err
		case ctx.Err() != nil:
			return buf, context.Cause(ctx)
		}
	}
}

package file

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/burin-dev/burin/internal/platform/edit"
	"github.com/burin-dev/burin/internal/platform/workspace"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/tool"
)

// largeEdit changes one place of a file that is too large for the engines. It is found by its
// exact text, which must be there once; the rest of the file is copied, never held.
type largeEdit struct {
	files   *files
	written string // the path as the model wrote it
	name    string
}

// newLargeEdit is the edit of these paths; nil if it is one for the engines.
func newLargeEdit(f *files, paths []string) *largeEdit {
	if len(paths) != 1 {
		return nil
	}
	name, err := f.Workspace.Resolve(paths[0])
	if err != nil {
		return nil
	}
	info, err := f.fs.Stat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() <= workspace.MaxFile {
		return nil
	}
	return &largeEdit{f, paths[0], name}
}

func (l *largeEdit) apply(ctx context.Context, args json.RawMessage) (*tool.Result, error) {
	f, name := l.files, l.name
	s, err := edit.OneSwap(f.Engine, l.written, args)
	if err != nil {
		return nil, err
	}
	file, err := f.fs.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	head := make([]byte, 1024)
	n, err := io.ReadFull(file, head)
	if err != nil {
		return nil, err
	}
	if err := f.handwritten(name, head[:n]); err != nil {
		return nil, err
	}
	if bytes.IndexByte(head[:n], 0) >= 0 {
		return nil, fmt.Errorf("%s: binary data, not text", name)
	}
	old, fresh := []byte(s.Old), []byte(s.New)
	crlf := func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("\n"), []byte("\r\n")) }
	first := bytes.IndexByte(head[:n], '\n')
	if first > 0 && head[first-1] == '\r' { // as the file ends its lines
		old, fresh = crlf(old), crlf(fresh)
	}
	at, line, err := findOnce(ctx, io.MultiReader(bytes.NewReader(head[:n]), file), old, s.Lines)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", l.written, err)
	}
	if err := f.Workspace.Splice(ctx, name, at, old, fresh); err != nil {
		return nil, err
	}
	f.done.add(made{changes: []workspace.Change{{Path: name, Before: old, After: fresh}}, spliced: true, at: at})
	if f.saved.Cache != nil {
		f.invalidate(name)
	}
	diff, added, removed := edit.Diff(name, old, fresh)
	words := fmt.Sprintf("Edited %s at line %d\n+%d -%d lines", name, line, added, removed)
	return tool.Text(words).WithDetails(changeDetails{Paths: []string{name}, Diff: diff, Added: added, Removed: removed}), nil
}

// findOnce finds the one place of a text in a stream: its offset and its line. lines wants it
// at the beginning of a line.
func findOnce(ctx context.Context, r io.Reader, text []byte, lines bool) (at int64, line int, err error) {
	const block = 1 << 20
	at = -1
	buf := make([]byte, 0, 2*len(text)+block)
	start, passed := int64(0), 0 // offset of buf, and the line feeds before it
	lineStart := true            // buf begins a line
	for ended := false; !ended; {
		if ctx.Err() != nil {
			return 0, 0, context.Cause(ctx)
		}
		n, err := r.Read(buf[len(buf):min(cap(buf), len(buf)+block)])
		buf = buf[:len(buf)+n]
		if ended = errors.Is(err, io.EOF); err != nil && !ended {
			return 0, 0, err
		}
		for from := 0; ; {
			i := bytes.Index(buf[from:], text)
			if i < 0 {
				break
			}
			i += from
			from = i + 1
			if lines && (i == 0 && !lineStart || i > 0 && buf[i-1] != '\n') {
				continue
			}
			here := passed + bytes.Count(buf[:i], []byte("\n")) + 1
			if at >= 0 {
				return 0, 0, fmt.Errorf("the text is there more than once, at lines %d and %d: name more of what is around it", line, here)
			}
			at, line = start+int64(i), here
		}
		// What is kept is shorter than the text, so that nothing is found twice.
		drop := max(0, len(buf)-len(text)+1)
		if drop > 0 {
			lineStart = buf[drop-1] == '\n'
			passed += bytes.Count(buf[:drop], []byte("\n"))
			start += int64(drop)
			buf = buf[:copy(buf, buf[drop:])]
		}
	}
	if at < 0 {
		near, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
		return 0, 0, fmt.Errorf("the exact text is not in the file: find its lines with grep, as with %q, and read them", prose.Clip(strings.TrimSpace(near), 60))
	}
	return at, line, nil
}

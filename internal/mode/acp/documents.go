package acp

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	proto "github.com/burin-dev/burin/internal/acp"
	"github.com/burin-dev/burin/internal/platform/workspace"
)

const (
	// documentWait is how long the editor may take to read or write a file.
	documentWait = 10 * time.Second
	// maxDocument is the largest file that burin asks the editor about. Nobody edits a larger
	// one by hand.
	maxDocument = 4 << 20
)

// documents are the files as the editor has them, unsaved changes included. The protocol does
// not say which files are open, so burin asks the editor about each file that a tool reads,
// and uses the editor's text where it differs from the disk. Searches see the text of files
// that differed when they were last read.
type documents struct {
	conn  *proto.Conn
	dir   string // as the client names it
	write bool

	mu      sync.Mutex
	session string          // "" while it is being opened
	unsaved map[string]bool // files that differed from the disk when last read
}

var _ workspace.Buffers = (*documents)(nil)

// newDocuments returns nil where the client does not offer to read files, or is another burin
// (acp-run): its files are those on the disk, and it could not write one while this burin
// holds the undo journal that both have.
func newDocuments(c *proto.Conn, client *proto.InitializeRequest, dir string) *documents {
	fs := client.ClientCapabilities.FS
	if !fs.ReadTextFile || client.ClientInfo != nil && client.ClientInfo.Name == "burin" {
		return nil
	}
	return &documents{conn: c, dir: dir, write: fs.WriteTextFile, unsaved: map[string]bool{}}
}

// of sets the session whose documents they are.
func (d *documents) of(session string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.session = session
}

func (d *documents) id() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.session
}

// path is the absolute path of a name.
func (d *documents) path(name string) string {
	name = filepath.FromSlash(name)
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(d.dir, name)
}

// Read implements [workspace.Buffers].
func (d *documents) Read(ctx context.Context, name string) ([]byte, bool, error) {
	id := d.id()
	if id == "" {
		return nil, false, nil
	}
	at := d.path(name)
	saved, err := readSaved(at)
	if err != nil || saved != nil && !utf8.Valid(saved) {
		return nil, false, nil //nolint:nilerr // the workspace says what is wrong with it
	}
	ctx, stop := context.WithTimeout(ctx, documentWait)
	defer stop()
	var r proto.ReadTextFileResponse
	err = d.conn.Call(ctx, proto.MethodReadTextFile, proto.ReadTextFileRequest{SessionID: id, Path: at}, &r)
	var refused *proto.Error
	switch {
	case errors.As(err, &refused), errors.Is(err, proto.ErrClosed):
		return nil, false, nil // the editor cannot find it or read it as text
	case errors.Is(err, context.DeadlineExceeded):
		return nil, false, errors.New("the editor did not answer in time when asked for " + name)
	case err != nil:
		return nil, false, err
	}
	text := []byte(r.Content)
	if saved != nil && bytes.Contains(saved, []byte("\r\n")) && !bytes.Contains(text, []byte("\r\n")) {
		text = bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n")) // some editors return LF whatever the file has
	}
	same := saved != nil && bytes.Equal(bytes.TrimPrefix(saved, byteOrderMark()), bytes.TrimPrefix(text, byteOrderMark()))
	same = same || saved == nil && len(text) == 0 // some editors return a missing file as empty
	d.mu.Lock()
	defer d.mu.Unlock()
	if same {
		delete(d.unsaved, name)
		return nil, false, nil
	}
	d.unsaved[name] = true
	return text, true, nil
}

func byteOrderMark() []byte { return []byte("\uFEFF") }

// readSaved reads the file on disk; nil: there is none. Anything but a regular file of at most
// maxDocument bytes is an error.
func readSaved(at string) ([]byte, error) {
	info, err := os.Stat(at)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular() || info.Size() > maxDocument:
		return nil, errors.ErrUnsupported
	}
	data, err := os.ReadFile(at)
	if data == nil && err == nil {
		data = []byte{}
	}
	return data, err
}

// Write implements [workspace.Buffers]. The editor writes the file, so that its undo knows
// of the change. It cannot remove one.
func (d *documents) Write(ctx context.Context, name string, before, after []byte) (bool, error) {
	id := d.id()
	if id == "" || !d.write || after == nil || !utf8.Valid(after) || len(after) > maxDocument {
		return false, nil
	}
	now, unsaved, err := d.Read(ctx, name)
	if err != nil {
		return false, err
	}
	if unsaved && (before == nil || !bytes.Equal(now, before)) {
		return false, &workspace.StaleError{Path: name}
	}
	ctx, stop := context.WithTimeout(ctx, documentWait)
	defer stop()
	err = d.conn.Call(ctx, proto.MethodWriteTextFile, proto.WriteTextFileRequest{SessionID: id, Path: d.path(name), Content: string(after)}, nil)
	var refused *proto.Error
	switch {
	case err == nil:
		d.mu.Lock()
		delete(d.unsaved, name)
		d.mu.Unlock()
		return true, nil
	case errors.As(err, &refused) && !unsaved, errors.Is(err, proto.ErrClosed):
		return false, nil // the workspace writes it
	case errors.Is(err, context.DeadlineExceeded):
		return false, errors.New("the editor did not answer in time whether it wrote " + name)
	}
	return false, err
}

// Names implements [workspace.Buffers].
func (d *documents) Names() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	names := make([]string, 0, len(d.unsaved))
	for name := range d.unsaved {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

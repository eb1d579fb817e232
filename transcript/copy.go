package transcript

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/jsontext"
	"github.com/burin-dev/burin/internal/prose"
)

// copyBatch is how many bytes of records a copy collects before it writes them.
const copyBatch = 1 << 20

// ErrEmpty means that there is nothing to copy: no message, or no such branch.
var ErrEmpty = errors.New("nothing has been said in the session")

// ErrSealedSession means that a session is encrypted, so its folder and title can't be changed
// without the key.
var ErrSealedSession = errors.New("the session is encrypted")

// Fork copies every entry of a session, with its record unchanged, after a new header. It
// fills in what h leaves open: a new id, the current time, the folder and the title of the
// session, and the session as its parent.
//
// The copy refers to the same blobs. [CopyArtifacts] copies its artifacts. After an error, to
// has a part of the session, and is not published.
func Fork(from *Log, to Store, h Header) error {
	from.mu.Lock()
	n := int32(len(from.tree.nodes))
	typed, header, now := from.typed, from.heading.Header, from.o.Now()
	from.mu.Unlock()
	if !typed {
		return ErrEmpty
	}
	w, err := newCopier(header, now, to, h)
	if err != nil {
		return err
	}
	for i := range n {
		from.mu.Lock()
		record, err := from.placed(i)
		from.mu.Unlock()
		if err != nil {
			return fmt.Errorf("copy session: %w", err)
		}
		if err := w.add(record); err != nil {
			return err
		}
	}
	return w.end()
}

// CopyBranch copies the entries from the root to leaf, and nothing of other branches. Labels
// are written again, at the end, for entries that exist. Otherwise it works like [Fork].
func CopyBranch(from *Log, leaf string, to Store, h Header) error {
	from.mu.Lock()
	defer from.mu.Unlock()
	at, err := from.tree.find(leaf)
	if err != nil {
		return err
	}
	path := from.tree.path(at)
	isLabel := func(i int32) bool { return from.tree.typ(i) == TypeLabel }
	kept := slices.DeleteFunc(slices.Clone(path), isLabel)
	if len(kept) == 0 {
		return ErrEmpty
	}
	// The first entry after a label takes the label's place.
	instead := map[string]string{}
	for k, i := range path {
		if !isLabel(i) {
			continue
		}
		if next := slices.IndexFunc(path[k:], func(i int32) bool { return !isLabel(i) }); next >= 0 {
			instead[from.tree.nodes[i].id] = from.tree.nodes[path[k+next]].id
		}
	}
	w, err := newCopier(from.heading.Header, from.o.Now(), to, h)
	if err != nil {
		return err
	}
	parent := ""
	for _, i := range kept {
		record, err := from.behind(i, parent, instead)
		if err != nil {
			return fmt.Errorf("copy session: %w", err)
		}
		if err := w.add(record); err != nil {
			return err
		}
		parent = from.tree.nodes[i].id
	}
	for _, i := range kept {
		label := from.tree.labels[from.tree.nodes[i].id]
		if label == "" {
			continue
		}
		behind := parent
		e := Entry{Type: TypeLabel, ID: from.tree.freeID(), ParentID: &behind, Timestamp: stamp(from.o.Now()), TargetID: from.tree.nodes[i].id, Label: label}
		record, err := encode(&e)
		if err != nil {
			return fmt.Errorf("copy session: %w", err)
		}
		if err := w.add(record); err != nil {
			return err
		}
		parent = e.ID
	}
	return w.end()
}

// behind returns the record of an entry as a child of parent, or as a root for "".
func (l *Log) behind(i int32, parent string, instead map[string]string) ([]byte, error) {
	record, err := l.placed(i)
	if err != nil {
		return nil, err
	}
	was := ""
	if p := l.tree.nodes[i].parent; p >= 0 {
		was = l.tree.nodes[p].id
	}
	if e, _, _ := readEnvelope(record); was != parent || parent != string(e.parent) {
		var value any = parent
		if parent == "" {
			value = nil
		}
		if record, err = withField(record, "parentId", value); err != nil {
			return nil, err
		}
	}
	if l.tree.typ(i) != TypeCompaction {
		return record, nil
	}
	var e struct {
		Kept string `json:"firstKeptEntryId"`
	}
	if json.Unmarshal(record, &e) == nil && instead[e.Kept] != "" {
		return withField(record, "firstKeptEntryId", instead[e.Kept])
	}
	return record, nil
}

// withField returns record with a new value for a field; everything else keeps its bytes. A
// missing field is added at the end.
func withField(record []byte, key string, value any) ([]byte, error) {
	v, err := encode(value)
	if err != nil {
		return nil, err
	}
	from, to := -1, -1
	w := jsontext.Reader{Text: record}
	ok := w.Object(func(k []byte) bool {
		w.Peek()
		start := w.At
		if !w.Skip() {
			return false
		}
		if string(k) == key {
			from, to = start, w.At
		}
		return true
	})
	switch {
	case !ok:
		return nil, errors.New("a record is not JSON")
	case from >= 0:
		return slices.Concat(record[:from], v, record[to:]), nil
	}
	last := w.At - 1 // the closing brace
	comma := ","
	if len(bytes.TrimSpace(record[:last])) == 1 {
		comma = ""
	}
	return slices.Concat(record[:last], []byte(comma+`"`+key+`":`), v, record[last:]), nil
}

// copier writes records in batches.
type copier struct {
	to    Store
	batch [][]byte
	bytes int
}

// newCopier starts a copy of the session with the header from.
func newCopier(from Header, now time.Time, to Store, h Header) (*copier, error) {
	h.Type, h.Version = "session", Version
	fill := func(to *string, value string) {
		if *to == "" {
			*to = value
		}
	}
	fill(&h.ID, randomHex(8))
	fill(&h.Timestamp, stamp(now))
	fill(&h.CWD, from.CWD)
	fill(&h.Title, from.Title)
	fill(&h.ParentSession, from.ID)
	record, err := encode(h)
	if err != nil {
		return nil, fmt.Errorf("copy session: %w", err)
	}
	w := &copier{to: to}
	return w, w.add(record)
}

func (w *copier) add(record []byte) error {
	w.batch = append(w.batch, record)
	if w.bytes += len(record); w.bytes < copyBatch {
		return nil
	}
	return w.flush()
}

func (w *copier) flush() error {
	if len(w.batch) == 0 {
		return nil
	}
	_, err := w.to.Append(w.batch...)
	w.batch, w.bytes = w.batch[:0], 0
	return err
}

// end makes the copy durable.
func (w *copier) end() error {
	if err := w.flush(); err != nil {
		return err
	}
	if err := w.to.Sync(); err != nil {
		return err
	}
	if p, ok := w.to.(publisher); ok {
		return p.Publish()
	}
	return nil
}

// CopyArtifacts copies the artifacts of a session, including those of sub-agents, to a place
// that doesn't exist yet. It is no error if there are none. After an error nothing is left.
func CopyArtifacts(from, to string) error {
	dir, as := ArtifactDir(from), ArtifactDir(to)
	_, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		if _, there := os.Lstat(as); there == nil {
			err = &fs.PathError{Op: "copy", Path: as, Err: fs.ErrExist}
		} else if err = fillTree(dir, as, copyFile); err != nil {
			err = errors.Join(err, os.RemoveAll(as))
		}
	}
	if err != nil {
		return fmt.Errorf("copy the artifacts of session %s: %w", from, err)
	}
	return nil
}

// Rename sets the title of a session, for lists and exports. It fails with [ErrLocked] while
// another process writes the session.
func Rename(path, title string) (err error) {
	if err := movable(path); err != nil {
		return fmt.Errorf("rename session %s: %w", path, err)
	}
	l, _, err := OpenSession(path, Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	return l.Rename(title)
}

// Rename sets the title like the function, for sessions that are not plain files.
func (l *Log) Rename(title string) error {
	if title = prose.Plain(title, maxName); title == "" {
		return errors.New("rename session: a title has words")
	}
	_, err := l.Append(Entry{Type: TypeInfo, Name: title})
	return err
}

// maxName is how many characters of a title given by the user are kept.
const maxName = 200

// movable says why a session file can't be changed; nil if it can.
func movable(path string) error {
	if _, draft := cutDraft(path); draft {
		return errors.New("it is a draft without an answer: continue it first")
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	head := make([]byte, len(sealedMark))
	if n, _ := f.Read(head); isSealed(head[:n]) {
		return ErrSealedSession
	}
	return nil
}

// lockFile opens a session file and takes its lock.
func lockFile(path string) (*os.File, error) {
	f, err := openLocked(path, func() (*os.File, error) { return os.OpenFile(path, os.O_RDWR, 0) })
	if err == nil {
		_ = os.Remove(path + newSuffix)
	}
	return f, err
}

// Move moves a session to the folder of another working directory: the file, with the
// directory in its header changed, its artifacts, and its other companion files. If a step
// fails, everything is where it was. It fails with [ErrLocked] while another process writes
// the session, and with [fs.ErrExist] if the other folder has a file of that name. An error
// together with a path means that the session was moved, but some of its companions could not
// be removed from the old place.
//
// The new file and its companions are complete before the old one goes: if the process ends in
// between, both exist.
func Move(path, root, cwd string) (newPath string, err error) {
	moved := false
	defer func() {
		if err != nil {
			err = fmt.Errorf("move session %s: %w", path, err)
		}
		if !moved {
			newPath = ""
		}
	}()
	if err := movable(path); err != nil {
		return "", err
	}
	old, err := lockFile(path)
	if err != nil {
		return "", err
	}
	defer old.Close()
	info, err := old.Stat()
	if err != nil {
		return "", err
	}
	newPath = filepath.Join(root, EncodeDir(cwd), filepath.Base(path))
	if same(path, newPath) {
		return "", fmt.Errorf("it is in the folder of %s already", cwd)
	}
	if err := os.MkdirAll(filepath.Dir(newPath), 0o700); err != nil {
		return "", err
	}
	if err := writeMoved(path, newPath, cwd); err != nil {
		return "", err
	}
	undo, err := copyBeside(path, newPath, false)
	if err == nil {
		_ = os.Chtimes(newPath, info.ModTime(), info.ModTime()) // only its position in lists depends on it
		err = disk{}.SyncDir(filepath.Dir(newPath))
	}
	if err == nil {
		err = removeLocked(old, path)
	}
	if err != nil {
		return "", errors.Join(err, undo(), os.Remove(newPath))
	}
	moved = true
	return newPath, removeBeside(path)
}

func same(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

// removeLocked removes a file whose lock is f, before another process can get it.
func removeLocked(f *os.File, path string) error {
	if runtime.GOOS == "windows" { // open files can't be removed there
		_ = f.Close() // it was only read
	}
	return os.Remove(path)
}

// writeMoved writes the session at path to newPath, with cwd in its header.
func writeMoved(path, newPath, cwd string) (err error) {
	if _, err := os.Lstat(newPath); err == nil {
		return fmt.Errorf("%s: %w", newPath, fs.ErrExist)
	}
	from, err := OpenFileReadOnly(path)
	if err != nil {
		return err
	}
	defer from.Close()
	to := CreateFile(newPath)
	defer func() { err = errors.Join(err, to.Close()) }() // an unpublished file is removed
	l, damage, err := Open(from, Options{Header: Header{ID: idOf(path)}})
	if err != nil {
		return err
	}
	w := copier{to: to}
	headed := damage.NoHeader || damage.Header
	if headed {
		head, err := l.HeaderRecord()
		if err != nil {
			return err
		}
		if head, err = withField(head, "cwd", cwd); err != nil {
			return err
		}
		if err := w.add(head); err != nil {
			return err
		}
	}
	err = from.Records(func(_ Ref, record []byte) error {
		if TooLong(record) {
			return ErrTooLong
		}
		record = bytes.Clone(record)
		if e, _, ok := readEnvelope(record); ok && !headed && string(e.typ) == "session" {
			headed = true
			if record, err = withField(record, "cwd", cwd); err != nil {
				return err
			}
		}
		return w.add(record)
	})
	if err != nil {
		return err
	}
	return w.end()
}

// fromSuffix ends the name of the note that says where a session in the trash was.
const fromSuffix = ".from"

// Trash moves a session, or a draft, with its companion files to the trash, and returns its
// path there. It fails with [ErrLocked] while another process writes the session. An error
// together with a path means that the session is completely in the trash, but some of its
// companions could not be removed from the old place.
//
// At any moment the session is complete in one of the two places.
func Trash(path, trashRoot string) (trashed string, err error) {
	moved := false
	defer func() {
		if err != nil {
			err = fmt.Errorf("delete session %s: %w", path, err)
		}
		if !moved {
			trashed = ""
		}
	}()
	path, err = filepath.Abs(path)
	if err != nil {
		return "", err
	}
	f, err := lockFile(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	dir := trashFolder(trashRoot)
	trashed = filepath.Join(dir, filepath.Base(path))
	if err := putNote(path, trashed); err != nil {
		return "", err
	}
	if runtime.GOOS == "windows" {
		_ = f.Close() // open files can't be moved there
	}
	_, err = copyBeside(path, trashed, false)
	if err == nil {
		err = moveFile(path, trashed)
	}
	if err != nil {
		return "", errors.Join(err, os.RemoveAll(dir)) // it only contains copies
	}
	moved = true
	return trashed, removeBeside(path)
}

// trashFolder returns a new folder in the trash: what is deleted twice is there twice.
func trashFolder(trashRoot string) string {
	return filepath.Join(trashRoot, time.Now().UTC().Format("20060102T150405.000")+"-"+randomHex(2))
}

// putNote creates the folder in the trash, and notes the old place.
func putNote(path, trashed string) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(trashed), 0o700); err != nil {
		return err
	}
	return os.WriteFile(trashed+fromSuffix, []byte(path+"\n"), 0o600)
}

// Restore moves a session in the trash back to where it was, and returns its path. It fails
// with [fs.ErrExist] if something else is there now. Companion files that are still there, or
// there again, after an interrupted Trash or Restore are no obstacle.
func Restore(trashed string) (path string, err error) {
	defer func() {
		if err != nil {
			path, err = "", fmt.Errorf("restore session %s: %w", trashed, err)
		}
	}()
	note, err := os.ReadFile(trashed + fromSuffix)
	if err != nil {
		return "", err
	}
	path = strings.TrimSpace(string(note))
	if !filepath.IsAbs(path) || filepath.Base(path) != filepath.Base(trashed) {
		return "", errors.New("the note of where it was is damaged: move the file by hand")
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", err
	}
	if _, err := os.Lstat(path); err == nil {
		return "", fmt.Errorf("%s: %w", path, fs.ErrExist)
	}
	undo, err := copyBeside(trashed, path, true)
	if err == nil {
		err = moveFile(trashed, path)
	}
	if err != nil {
		return "", errors.Join(err, undo())
	}
	_ = removeBeside(trashed) // the session is back; leftovers in the trash are harmless
	_ = os.Remove(trashed + fromSuffix)
	_ = os.Remove(filepath.Dir(trashed))
	return path, nil
}

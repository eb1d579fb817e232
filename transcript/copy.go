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

// copyBatch is how many bytes of records a copy holds before it writes them.
const copyBatch = 1 << 20

// ErrEmpty is that there is nothing to copy: no message, or no such branch.
var ErrEmpty = errors.New("nothing has been said in the session")

// ErrSealedSession is that a session is encrypted, so that its folder and its title
// cannot be changed without the key.
var ErrSealedSession = errors.New("the session is encrypted")

// Fork writes every entry of a session, its record as it is, behind a header of its
// own. What h leaves open is filled in: a new id, this moment, the folder and the
// title of the session, and the session as its parent.
//
// The copy refers to the same blobs. Its artifacts are copied by [CopyArtifacts].
// After an error to holds a part of the session, and is not published.
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

// CopyBranch writes the entries from the root to leaf, and nothing of other branches.
// Labels are written anew, behind the rest, for entries that are there. Everything
// else is as with [Fork].
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
	// An entry that was a label gives its place to the first entry behind it.
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

// behind is the record of an entry as the child of parent, "" for none.
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

// withField gives record with another value of a field of it; what else it holds
// keeps its bytes. A field that is not there is added behind the others.
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
	last := w.At - 1 // the bracket that ends it
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

// newCopier begins a copy of the session that has the header from.
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

// end makes the copy last.
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

// CopyArtifacts copies the artifacts of the session at one path for that at another,
// those of sub-agents included, to where nothing is. That there are none is no error;
// after one nothing is left.
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

// Rename names a session, for lists and exports. It fails with [ErrLocked] while
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

// Rename names the session as the function does. It is for those that are not plain
// files.
func (l *Log) Rename(title string) error {
	if title = prose.Plain(title, maxName); title == "" {
		return errors.New("rename session: a title has words")
	}
	_, err := l.Append(Entry{Type: TypeInfo, Name: title})
	return err
}

// maxName is how many characters of a title that a person gave are kept.
const maxName = 200

// movable says why a session file cannot be changed; nil if it can.
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

// Move brings a session to the folder of another working directory: its file, in
// whose header the directory is rewritten, its artifacts, and what lies beside it by
// its name. Where a step fails, everything is where it was. It fails with
// [ErrLocked] while another process writes the session, and with [fs.ErrExist]
// where the other folder has a file of that name. An error with a path is that the
// session has been moved, but not all that belongs to it could be removed from where
// it was.
//
// The new file is complete, with all that belongs to it, before the old one goes: the
// end of the process in between leaves both.
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
		_ = os.Chtimes(newPath, info.ModTime(), info.ModTime()) // only its place in lists depends on it
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

// removeLocked removes a file whose lock is f, before another process can have it.
func removeLocked(f *os.File, path string) error {
	if runtime.GOOS == "windows" { // what is open there cannot be removed
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
	defer func() { err = errors.Join(err, to.Close()) }() // unpublished, it is removed
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

// Trash moves a session, or a draft, with all that belongs to it, to the trash and
// gives where it is there. It fails with [ErrLocked] while another process writes
// the session. An error with a path is that the session is in the trash, whole, but not
// all that belongs to it could be removed from where it was.
//
// At each moment the session is whole in one of the two places.
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
		_ = f.Close() // what is open there cannot be moved
	}
	_, err = copyBeside(path, trashed, false)
	if err == nil {
		err = moveFile(path, trashed)
	}
	if err != nil {
		return "", errors.Join(err, os.RemoveAll(dir)) // there are only copies in it
	}
	moved = true
	return trashed, removeBeside(path)
}

// trashFolder is a folder of its own for what goes to the trash: what was deleted
// twice lies there twice.
func trashFolder(trashRoot string) string {
	return filepath.Join(trashRoot, time.Now().UTC().Format("20060102T150405.000")+"-"+randomHex(2))
}

// putNote makes the folder of what goes to the trash, and notes where it was.
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

// Restore brings a session in the trash back to where it was, and gives its path. It
// fails with [fs.ErrExist] where something else is there now. What belongs to the
// session and is still there, or there again, after Trash or Restore was broken off, is
// no obstacle.
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
	_ = removeBeside(trashed) // the session is back; what is left in the trash harms nobody
	_ = os.Remove(trashed + fromSuffix)
	_ = os.Remove(filepath.Dir(trashed))
	return path, nil
}

package transcript

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/burin-dev/burin/internal/platform/filelock"
)

// draftSuffix ends the name of a session's file until a model has answered in it.
const draftSuffix = ".draft"

// newSuffix ends the name of a file that is to replace a session's file. Whoever has the
// session's lock writes it. If another process finds one, its writer was killed; it may
// contain what is encrypted or hidden by now, and is removed.
const newSuffix = ".new"

// ErrLocked means that another process writes the session.
var ErrLocked = errors.New("another burin has this session open")

// ErrTakenOver is the error of a store whose session another process has taken over: nothing was written, and
// nothing will be. What works with the session here has to end.
var ErrTakenOver = errors.New("another process goes on with the session")

// ErrUnkept is the error of a store that could not write, and writes nothing more: what was said since is not in
// the session. What works with it here has to end; whoever opens it again goes on from what is there.
var ErrUnkept = errors.New("the session can't be saved here any more")

// FileStore stores a session in a file, one record a line. Other programs read this format
// too.
//
// Each Append is one system call without fsync: what was acknowledged survives if the process
// dies, and survives a power cut after the next Sync.
type FileStore struct {
	path string
	fs   fileSystem
	f    *os.File // nil if it doesn't exist yet; see [CreateFile]
	// name is the file's current name: path, or path and draftSuffix.
	name     string
	readOnly bool
	left     bool // it is the draft of a crashed process
	kept     bool // it stays even as a draft; see Keep
	closes   bool // it is closed while its file is renamed; see [renamesOpen]
	size     int64
	torn     bool // the file does not end with a newline, so the next append starts with one
	endless  bool // the last line from Records had no newline
}

var (
	_ Store    = (*FileStore)(nil)
	_ tearable = (*FileStore)(nil)
)

// CreateFile makes a store for a new session at path. The file is a draft until Publish is
// called, and the first Append creates it. Closing the store removes a draft unless Keep was
// called.
func CreateFile(path string) *FileStore {
	return &FileStore{path: path, name: path + draftSuffix, fs: disk{}, closes: !renamesOpen}
}

// OpenFile opens a session file, or the draft of a crashed process, for reading and appending.
// A second process gets [ErrLocked].
func OpenFile(path string) (*FileStore, error) { return openFile(disk{}, path, false) }

// OpenFileReadOnly opens a session file for reading; others may write it meanwhile.
func OpenFileReadOnly(path string) (*FileStore, error) { return openFile(disk{}, path, true) }

func openFile(d fileSystem, path string, readOnly bool) (*FileStore, error) {
	s := &FileStore{path: path, name: path, fs: d, readOnly: readOnly, closes: !renamesOpen}
	if final, ok := cutDraft(path); ok {
		s.path, s.left = final, true
	}
	if readOnly {
		f, err := d.OpenFile(path, os.O_RDONLY, 0)
		if err != nil {
			return nil, fmt.Errorf("open session: %w", err)
		}
		s.f = f
	} else {
		if err := s.openLocked(); err != nil {
			return nil, fmt.Errorf("open session: %w", err)
		}
		_ = d.Remove(path + newSuffix)
	}
	if err := s.look(); err != nil {
		s.f.Close()
		return nil, fmt.Errorf("open session %s: %w", path, err)
	}
	return s, nil
}

// maxOpens is how many times a file is opened if it was replaced each time before it could be
// locked.
const maxOpens = 10

// openLocked opens the file of the store for writing.
func (s *FileStore) openLocked() error {
	f, err := openLocked(s.name, func() (*os.File, error) {
		return s.fs.OpenFile(s.name, os.O_RDWR|os.O_APPEND, 0)
	})
	if err == nil {
		s.f = f
	}
	return err
}

// openLocked opens the file at path with open and takes its lock. In between another process
// may give the name to a new file, as Replace does. The locked file then has no name, and
// openLocked opens the one that has it.
func openLocked(path string, open func() (*os.File, error)) (*os.File, error) {
	for range maxOpens {
		f, err := open()
		if err != nil {
			return nil, err
		}
		there, err := false, lock(f)
		if err == nil {
			there, err = names(path, f)
		}
		if there {
			return f, nil
		}
		if err = errors.Join(err, f.Close()); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil, fmt.Errorf("%s: another file takes its place again and again", path)
}

// names reports whether f is the file at path. It is no error if path doesn't exist.
func names(path string, f *os.File) (bool, error) {
	have, err := f.Stat()
	if err != nil {
		return false, err
	}
	want, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(have, want), err
}

// lock takes the lock of f.
func lock(f *os.File) error {
	ok, err := filelock.Try(f)
	switch {
	case err != nil:
		return fmt.Errorf("lock: %w", err)
	case !ok:
		return ErrLocked
	}
	return nil
}

func cutDraft(path string) (string, bool) {
	if filepath.Ext(path) != draftSuffix {
		return path, false
	}
	return path[:len(path)-len(draftSuffix)], true
}

// look finds the end of the file.
func (s *FileStore) look() error {
	info, err := s.f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return errors.New("not a file")
	}
	s.size = info.Size()
	if s.size > 0 {
		var last [1]byte
		if _, err := s.f.ReadAt(last[:], s.size-1); err != nil {
			return err
		}
		s.torn = last[0] != '\n'
	}
	return nil
}

// Path returns where the session is, or will be once it is published.
func (s *FileStore) Path() string { return s.path }

// Draft reports whether the session is unpublished.
func (s *FileStore) Draft() bool { return s.name != s.path }

// Keep keeps a draft when it is closed: its content must not be lost, though it could not be
// published or completely written.
func (s *FileStore) Keep() { s.kept = true }

// Publish gives a draft its final name. It never replaces another file. After an error the
// draft is unchanged, and Publish may be called again. On a store that was opened for reading
// it does nothing.
func (s *FileStore) Publish() error {
	if !s.Draft() || s.f == nil || s.readOnly {
		return nil
	}
	// The name contains a random id, so another file can only have it if someone put it there:
	// then both are kept.
	if _, err := os.Lstat(s.path); err == nil {
		return fmt.Errorf("name session file: %s: %w", s.path, fs.ErrExist)
	}
	if err := s.rename(s.name, s.path); err != nil {
		return fmt.Errorf("name session file: %w", err)
	}
	if err := s.fs.SyncDir(filepath.Dir(s.path)); err != nil {
		return fmt.Errorf("name session file: %w", err)
	}
	return nil
}

// Records implements [Store].
func (s *FileStore) Records(yield func(Ref, []byte) error) error {
	if s.f == nil {
		return nil
	}
	s.endless = false
	buf := make([]byte, 0, bufferSize)
	pos := int64(0) // of buf[0]
	for eof := false; !eof || len(buf) > 0; {
		if !eof {
			n, err := s.f.ReadAt(buf[len(buf):cap(buf)], pos+int64(len(buf)))
			buf = buf[:len(buf)+n]
			if errors.Is(err, io.EOF) {
				eof = true
			} else if err != nil {
				return fmt.Errorf("read session %s: %w", s.name, err)
			}
		}
		done := 0
		for done < len(buf) {
			i := bytes.IndexByte(buf[done:], '\n')
			if i < 0 {
				if !eof {
					break
				}
				i, s.endless = len(buf)-done, true
			}
			if line := bytes.TrimSuffix(buf[done:done+i], []byte("\r")); len(line) > 0 {
				if err := yield(Ref{pos + int64(done), int32(len(line))}, line); err != nil {
					return err
				}
			}
			done += min(i+1, len(buf)-done)
		}
		rest := buf[done:]
		pos += int64(done)
		if len(rest) == cap(buf) { // a line longer than the buffer
			n, err := s.lineLength(pos)
			if err != nil {
				return fmt.Errorf("read session %s: %w", s.name, err)
			}
			if n > MaxRecord {
				if err := yield(Ref{pos, -1}, []byte(longRecord)); err != nil {
					return err
				}
				pos, buf = pos+n+1, buf[:0]
				continue
			}
			buf = append(make([]byte, 0, n+bufferSize), rest...)
			continue
		}
		buf = append(buf[:0], rest...)
		if eof {
			return nil
		}
	}
	return nil
}

// bufferSize is how much Records reads at once.
const bufferSize = 256 << 10

// lineLength returns the length of the line at pos without its newline. Long lines are
// measured before they are read, so that a line costs its own length or, beyond [MaxRecord],
// nothing.
func (s *FileStore) lineLength(pos int64) (int64, error) {
	buf := make([]byte, bufferSize)
	for n := int64(0); ; {
		read, err := s.f.ReadAt(buf, pos+n)
		if i := bytes.IndexByte(buf[:read], '\n'); i >= 0 {
			return n + int64(i), nil
		}
		n += int64(read)
		switch {
		case errors.Is(err, io.EOF):
			return n, nil
		case err != nil:
			return 0, err
		}
	}
}

// Torn reports whether the last line from Records had no newline, as after an interrupted
// write.
func (s *FileStore) Torn() bool { return s.endless }

// Read implements [Store].
func (s *FileStore) Read(ref Ref) ([]byte, error) {
	if s.f == nil || ref.Len < 0 || ref.Pos < 0 {
		return nil, errors.New("no such record")
	}
	b := make([]byte, ref.Len)
	if _, err := s.f.ReadAt(b, ref.Pos); err != nil {
		return nil, fmt.Errorf("read session %s: %w", s.name, err)
	}
	return b, nil
}

// readSpan fills b with the file's content at pos.
func (s *FileStore) readSpan(b []byte, pos int64) error {
	if s.f == nil {
		return errors.New("no such record")
	}
	_, err := s.f.ReadAt(b, pos)
	return err
}

// Append implements [Store].
func (s *FileStore) Append(records ...[]byte) ([]Ref, error) {
	if s.readOnly {
		return nil, errors.New("write session: it was opened to read")
	}
	if s.f == nil {
		if err := s.create(); err != nil {
			return nil, err
		}
	}
	var block []byte
	if s.torn {
		block = append(block, '\n')
	}
	refs := make([]Ref, 0, len(records))
	for _, r := range records {
		if err := checkRecord(r); err != nil {
			return nil, err
		}
		refs = append(refs, Ref{s.size + int64(len(block)), int32(len(r))})
		block = append(append(block, r...), '\n')
	}
	n, err := s.fs.Write(s.f, block)
	if err == nil {
		s.size += int64(n)
		s.torn = false
		return refs, nil
	}
	// Undo a partial write. If even that fails, the next append starts a new line.
	if n > 0 && s.fs.Truncate(s.f, s.size) != nil {
		s.size += int64(n)
		s.torn = block[n-1] != '\n'
	}
	return nil, fmt.Errorf("write session %s: %w", s.name, err)
}

func (s *FileStore) create() error {
	if err := os.MkdirAll(filepath.Dir(s.path), 0o700); err != nil {
		return fmt.Errorf("write session: %w", err)
	}
	f, err := s.fs.OpenFile(s.name, os.O_RDWR|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("write session: %w", err)
	}
	if err := lock(f); err != nil { // it is new, so look would find nothing
		f.Close()
		return fmt.Errorf("write session %s: %w", s.name, err)
	}
	s.f = f
	return nil
}

// Sync implements [Store]. It returns [ErrGone] if the file had to be written again.
func (s *FileStore) Sync() error {
	if err := s.flush(); err != nil || s.f == nil || s.readOnly {
		return err
	}
	return s.again()
}

// flush makes the disk keep what was written.
func (s *FileStore) flush() error {
	if s.f == nil || s.readOnly {
		return nil
	}
	if err := s.fs.Sync(s.f); err != nil {
		return fmt.Errorf("sync session %s: %w", s.name, err)
	}
	return nil
}

// Replace implements [Store]: a new file gets the name of the old one, which is kept as
// <name>.before-<time>.
func (s *FileStore) Replace(records iter.Seq[[]byte]) (err error) {
	renamed := false
	if s.readOnly || s.f == nil {
		return errors.New("replace session: it is not open to write")
	}
	next, err := s.beside()
	if err != nil {
		return fmt.Errorf("replace session: %w", err)
	}
	defer func() {
		if err != nil && !renamed {
			next.f.Close()
			_ = s.fs.Remove(next.name) // the next try overwrites leftovers
		}
	}()
	if err := lock(next.f); err != nil {
		return fmt.Errorf("replace session %s: %w", s.name, err)
	}
	for r := range records {
		if _, err := next.Append(r); err != nil {
			return err
		}
	}
	if err := next.Sync(); err != nil {
		return err
	}
	if err := keep(s.name, time.Now()); err != nil {
		return fmt.Errorf("keep the session as it was: %w", err)
	}
	if renamed, err = s.takeOver(next); err != nil {
		return fmt.Errorf("replace session %s: %w", s.name, err)
	}
	// The new records are in place. If the folder doesn't reach the disk before a power cut,
	// the old ones are there: that is not a failure of this call.
	_ = s.fs.SyncDir(filepath.Dir(s.name))
	return nil
}

// beside creates the empty file that is to replace the session's.
func (s *FileStore) beside() (*FileStore, error) {
	temp := s.name + newSuffix
	if err := s.fs.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	f, err := s.fs.OpenFile(temp, os.O_RDWR|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	return &FileStore{path: s.path, name: temp, fs: s.fs, f: f}, nil
}

// ErrChanged means that a session changed since a copy was made of it.
var ErrChanged = errors.New("the session was changed meanwhile")

// Exchange replaces the session with the file with, a copy of the session in another form, and
// moves the original with its companion files to a new folder below trashRoot. It returns the
// path there; [Restore] reverses it. At any moment one of the two is completely in place. The
// store is closed, even after an error; with then stays where it is. An error together with a
// path means that the two were exchanged, but some companions of the session could not be
// removed from the old place.
func (s *FileStore) Exchange(with, trashRoot string) (trashed string, err error) {
	done := false
	defer func() {
		if err != nil {
			err = fmt.Errorf("exchange session %s: %w", s.name, err)
		}
		if !done {
			trashed = ""
		}
	}()
	info, err := s.f.Stat()
	if err == nil && info.Size() != s.size {
		err = ErrChanged
	}
	dir := trashFolder(trashRoot)
	trashed = filepath.Join(dir, filepath.Base(s.name))
	if err == nil {
		err = putNote(s.name, trashed)
	}
	if err == nil {
		err = linkOrCopy(s.name, trashed)
	}
	if runtime.GOOS == "windows" || err != nil {
		err = errors.Join(err, s.f.Close()) // open files can't be replaced there
	} else {
		defer s.f.Close() // it has the lock until the new file is in place
	}
	if err != nil {
		return "", errors.Join(err, os.RemoveAll(dir))
	}
	_, err = copyBeside(s.name, trashed, false)
	if err == nil {
		_ = os.Chtimes(with, info.ModTime(), info.ModTime()) // only its position in lists depends on it
		err = os.Rename(with, s.name)
	}
	if err != nil {
		return "", errors.Join(err, os.RemoveAll(dir)) // it only contains copies
	}
	done = true
	return trashed, errors.Join(disk{}.SyncDir(filepath.Dir(s.name)), removeBeside(s.name))
}

// Close implements [Store]. It removes a draft of this process, because no model has answered
// in it. After [FileStore.Keep] the draft stays, and an error says where it is. The draft of a
// crashed process stays until a model answers. A file that was deleted since the last Sync
// stays deleted.
func (s *FileStore) Close() error {
	if s.f == nil {
		return nil
	}
	var err error
	draft := s.Draft() && !s.left && !s.kept
	if !draft {
		err = s.flush()
	}
	if s.Draft() && s.kept && !s.readOnly {
		err = errors.Join(err, fmt.Errorf("the session could not get its name, or not be written to its end: what there is of it is kept in %s", s.name))
	}
	if cerr := filelock.Close(s.f); err == nil && cerr != nil {
		err = fmt.Errorf("close session %s: %w", s.name, cerr)
	}
	if draft && !s.readOnly {
		if rerr := s.fs.Remove(s.name); err == nil && rerr != nil {
			err = fmt.Errorf("remove the draft of a session: %w", rerr)
		}
	}
	return err
}

// keep gives a file a second name, <name>.before-<time>, so that it stays when the first is
// used again.
func keep(name string, at time.Time) error {
	as := name + ".before-" + at.UTC().Format("20060102T150405.000")
	for n := 2; ; n++ {
		err := linkOrCopy(name, as)
		if !errors.Is(err, fs.ErrExist) || n > 1000 {
			return err
		}
		as = fmt.Sprintf("%s.before-%s-%d", name, at.UTC().Format("20060102T150405.000"), n)
	}
}

// linkOrCopy gives a file another name, or copies it if that isn't possible.
func linkOrCopy(name, as string) error {
	err := os.Link(name, as)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		err = copyFile(name, as) // not every file system has links
	}
	return err
}

// copyFile copies a file to a new place. The copy gets its name when it is complete.
func copyFile(name, as string) (err error) {
	if _, err := os.Lstat(as); err == nil {
		return &fs.PathError{Op: "copy", Path: as, Err: fs.ErrExist}
	}
	from, err := os.Open(name)
	if err != nil {
		return err
	}
	defer from.Close()
	part := as + ".part"
	to, err := os.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	if err = errors.Join(err, to.Sync(), to.Close()); err == nil {
		err = os.Rename(part, as)
	}
	if err != nil {
		return errors.Join(err, os.Remove(part))
	}
	return nil
}

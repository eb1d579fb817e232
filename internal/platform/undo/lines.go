package undo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/burin-dev/burin/internal/platform/filelock"
)

// line is a line of the journal.
type line struct {
	Turn    string    `json:"turn"`
	Key     string    `json:"key,omitempty"`
	Session string    `json:"session,omitempty"`
	Label   string    `json:"label,omitempty"`
	Time    time.Time `json:"time,omitzero"`
	Changes []Change  `json:"changes,omitempty"`
	Over    []string  `json:"over,omitempty"` // of a whole turn: see Turn.over
	Undone  *bool     `json:"undone,omitempty"`
	Taken   []string  `json:"taken,omitempty"`   // paths that an undo has taken back
	Back    []string  `json:"back,omitempty"`    // paths that the undo of an undo has brought back
	Gone    []string  `json:"gone,omitempty"`    // of a whole turn: see fateGone
	Intent  string    `json:"intent,omitempty"`  // the changes are about to be made
	Settles string    `json:"settles,omitempty"` // the intent that is over
}

// lines are the file of the journal: its lines, as this process has read them, the lock
// that orders what processes write, and the one that tells that the journal is in use.
type lines struct {
	dir      string // of the journal
	turns    *turns // that the lines tell of
	recovery recovery

	filing sync.Mutex // held with the lock of the file; guards file, offset, inUse
	file   *os.File
	offset int64    // up to where the file was read
	inUse  *os.File // tells other processes not to prune
}

// linesFile is where the lines are in the folder of a journal.
func linesFile(dir string) string { return filepath.Join(dir, "journal.jsonl") }

// lockWait is how long a process waits for another that writes.
const lockWait = 15 * time.Second

// open reads the file for the first time. What is known of the journal is complete
// unless another process holds it for long: what that has written is read, but its
// intent is not ours to settle.
func (ls *lines) open() (complete bool, err error) {
	ls.filing.Lock()
	defer ls.filing.Unlock()
	unlock, err := ls.lock()
	if err != nil {
		return false, ls.read()
	}
	defer unlock()
	return true, ls.catchUp()
}

// take keeps other processes, and others in this one, from writing, and reads what they
// have added. release ends that.
func (ls *lines) take() (release func(), err error) {
	ls.filing.Lock()
	unlock, err := ls.lock()
	if err != nil {
		ls.filing.Unlock()
		return nil, err
	}
	release = func() { unlock(); ls.filing.Unlock() }
	if err := ls.catchUp(); err != nil {
		release()
		return nil, err
	}
	return release, nil
}

// exclusive runs f while no other process writes the journal, after what others
// have added to it was read.
func (ls *lines) exclusive(f func() error) error {
	release, err := ls.take()
	if err != nil {
		return err
	}
	defer release()
	return f()
}

// lock takes the lock of the journal.
func (ls *lines) lock() (unlock func(), err error) {
	if err := ls.share(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(context.Background(), lockWait, errors.New("another process holds it"))
	defer cancel()
	f, err := filelock.Take(ctx, filepath.Join(ls.dir, "lock"))
	if err != nil {
		return nil, fmt.Errorf("write the undo journal: %w", err)
	}
	return func() { _ = filelock.Close(f) }, nil
}

// use makes the folder of the journal, and tells other processes that this one relies
// on what is in it.
func (ls *lines) use() error {
	ls.filing.Lock()
	defer ls.filing.Unlock()
	return ls.share()
}

// share takes a share of the lock that whoever prunes holds alone for a moment.
func (ls *lines) share() error {
	if ls.inUse != nil {
		return nil
	}
	if err := os.MkdirAll(ls.dir, 0o700); err != nil {
		return fmt.Errorf("write the undo journal: %w", err)
	}
	if err := private(ls.dir); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(context.Background(), lockWait, errors.New("another process is tidying it"))
	defer cancel()
	f, err := filelock.TakeShared(ctx, filepath.Join(ls.dir, "users"))
	if err != nil {
		return fmt.Errorf("open the undo journal: %w", err)
	}
	ls.inUse = f
	return nil
}

// private lets nobody but the owner into a folder that holds the contents of files. An
// older program, a copy or a restored backup may have made it with other permissions.
func private(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("open the undo journal: %w", err)
	}
	if runtime.GOOS == "windows" || info.Mode().Perm()&0o077 == 0 {
		return nil
	}
	if err := os.Chmod(dir, info.Mode().Perm()&0o700); err != nil {
		return fmt.Errorf("others may read the undo journal %s, and that cannot be changed: %w", dir, err)
	}
	return nil
}

// refresh reads what others have added. Where that fails, what is known counts.
func (ls *lines) refresh() {
	ls.filing.Lock()
	defer ls.filing.Unlock()
	_ = ls.read()
}

// catchUp reads what others have added and settles what the killed left behind.
// The lock must be held.
func (ls *lines) catchUp() error {
	if err := ls.read(); err != nil {
		return err
	}
	return ls.settleOthers()
}

// settleOthers ends the intents of processes that were killed. The lock must be
// held: whoever has an intent under way holds it, so these have nobody.
func (ls *lines) settleOthers() error {
	for _, l := range ls.turns.unsettled() {
		changes, err := ls.recovery.resolve(l)
		if err != nil {
			return fmt.Errorf("settle what a killed process was doing: %w", err)
		}
		if l.Undone != nil {
			done := &l.Back
			if *l.Undone {
				done = &l.Taken
			}
			for _, c := range changes {
				*done = append(*done, c.Path)
			}
			changes = nil
		}
		if err := ls.settle(l, l.Intent, changes); err != nil {
			return err
		}
	}
	return nil
}

// read reads the journal from where the last read ended. A torn line at the end is
// left for later: the next line begins after a line feed in any case. A journal
// that was written anew is read from its beginning.
func (ls *lines) read() error {
	if err := ls.followFile(); err != nil || ls.file == nil {
		return err
	}
	info, err := ls.file.Stat()
	if err != nil {
		return fmt.Errorf("read the undo journal: %w", err)
	}
	if info.Size() <= ls.offset {
		return nil
	}
	data := make([]byte, info.Size()-ls.offset)
	n, err := ls.file.ReadAt(data, ls.offset)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read the undo journal: %w", err)
	}
	data = data[:bytes.LastIndexByte(data[:n], '\n')+1]
	ls.offset += int64(len(data))
	ls.turns.read(data)
	return nil
}

// parseLine reads a line; what is none is left out.
func parseLine(text []byte) (l line, ok bool) {
	return l, json.Unmarshal(text, &l) == nil && l.Turn != ""
}

// followFile opens the journal, anew if another process has replaced it.
func (ls *lines) followFile() error {
	now, err := os.Stat(linesFile(ls.dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the undo journal: %w", err)
	}
	if ls.file != nil {
		if was, err := ls.file.Stat(); err == nil && os.SameFile(was, now) {
			return nil
		}
		_ = ls.file.Close()
		ls.file = nil
	}
	f, err := os.OpenFile(linesFile(ls.dir), os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("read the undo journal: %w", err)
	}
	ls.file, ls.offset = f, 0
	ls.turns.clear()
	return nil
}

// write appends a line to the file and to what is known. The lock must be held,
// and everything before have been read.
func (ls *lines) write(l line) error {
	if ls.file == nil {
		f, err := os.OpenFile(linesFile(ls.dir), os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
		if err != nil {
			return fmt.Errorf("write the undo journal: %w", err)
		}
		ls.file = f
	}
	b, err := json.Marshal(l)
	if err != nil {
		return err
	}
	// A torn line of a process that was killed must not swallow this one.
	if _, err := ls.file.Write(append([]byte("\n"), append(b, '\n')...)); err != nil {
		return fmt.Errorf("write the undo journal: %w", err)
	}
	info, err := ls.file.Stat()
	if err != nil {
		return fmt.Errorf("write the undo journal: %w", err)
	}
	ls.offset = info.Size()
	ls.turns.add(l)
	return nil
}

// record adds changes to a turn.
func (ls *lines) record(turn line, changes []Change) error {
	if len(changes) == 0 {
		return nil
	}
	turn.Time, turn.Changes = time.Now().UTC(), changes
	return ls.write(turn)
}

// settle writes what became of an intent.
func (ls *lines) settle(turn line, intent string, changes []Change) error {
	turn.Settles, turn.Intent, turn.Undone, turn.Changes = intent, "", nil, nil
	if len(changes) == 0 {
		return ls.write(turn)
	}
	return ls.record(turn, changes)
}

// alone reports whether no other process has the journal open, and keeps it that way
// until the file is closed. It is false of a journal that was not used.
func (ls *lines) alone() (bool, error) {
	if ls.inUse == nil {
		return false, nil
	}
	_ = filelock.Close(ls.inUse) // our own share is in the way
	f, err := os.OpenFile(ls.inUse.Name(), os.O_RDWR, 0)
	if err != nil {
		return false, fmt.Errorf("tidy the undo journal: %w", err)
	}
	ls.inUse = f
	return filelock.Try(f)
}

// rewrite replaces the lines by those of these turns. Nobody else has the journal open.
func (ls *lines) rewrite(turns []*Turn) error {
	f, err := os.CreateTemp(ls.dir, "journal-")
	if err != nil {
		return err
	}
	out := json.NewEncoder(f)
	for _, t := range turns {
		if err == nil {
			err = out.Encode(t.line())
		}
	}
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), linesFile(ls.dir))
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

// close closes the file, after last has run with the file in the hands of this process.
func (ls *lines) close(last func() error) error {
	ls.filing.Lock()
	defer ls.filing.Unlock()
	err := last()
	for _, f := range []*os.File{ls.file, ls.inUse} {
		if f != nil {
			if cerr := filelock.Close(f); err == nil {
				err = cerr
			}
		}
	}
	ls.file, ls.inUse = nil, nil
	return err
}

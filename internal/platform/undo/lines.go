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

// lockWait is how long a process waits for another that writes.
const lockWait = 15 * time.Second

// exclusive runs f while no other process writes the journal, after what others
// have added to it was read.
func (j *Journal) exclusive(f func() error) error {
	j.filing.Lock()
	defer j.filing.Unlock()
	unlock, err := j.lock()
	if err != nil {
		return err
	}
	defer unlock()
	if err := j.catchUp(); err != nil {
		return err
	}
	return f()
}

// lock takes the lock of the journal.
func (j *Journal) lock() (unlock func(), err error) {
	if err := j.use(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(context.Background(), lockWait, errors.New("another process holds it"))
	defer cancel()
	f, err := filelock.Take(ctx, filepath.Join(j.dir, "lock"))
	if err != nil {
		return nil, fmt.Errorf("write the undo journal: %w", err)
	}
	return func() { _ = f.Close() }, nil
}

// use makes the folder, and tells others that this process relies on what is in
// it. Whoever prunes holds that lock alone for a moment.
func (j *Journal) use() error {
	if j.inUse != nil {
		return nil
	}
	if err := os.MkdirAll(j.dir, 0o700); err != nil {
		return fmt.Errorf("write the undo journal: %w", err)
	}
	if err := private(j.dir); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(context.Background(), lockWait, errors.New("another process is tidying it"))
	defer cancel()
	f, err := filelock.TakeShared(ctx, filepath.Join(j.dir, "users"))
	if err != nil {
		return fmt.Errorf("open the undo journal: %w", err)
	}
	j.inUse = f
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
func (j *Journal) refresh() {
	j.filing.Lock()
	defer j.filing.Unlock()
	_ = j.read()
}

// catchUp reads what others have added and settles what the killed left behind.
// The lock must be held.
func (j *Journal) catchUp() error {
	if err := j.read(); err != nil {
		return err
	}
	return j.settleOthers()
}

// read reads the journal from where the last read ended. A torn line at the end is
// left for later: the next line begins after a line feed in any case. A journal
// that was written anew is read from its beginning.
func (j *Journal) read() error {
	if err := j.followFile(); err != nil || j.file == nil {
		return err
	}
	info, err := j.file.Stat()
	if err != nil {
		return fmt.Errorf("read the undo journal: %w", err)
	}
	if info.Size() <= j.offset {
		return nil
	}
	data := make([]byte, info.Size()-j.offset)
	n, err := j.file.ReadAt(data, j.offset)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read the undo journal: %w", err)
	}
	data = data[:bytes.LastIndexByte(data[:n], '\n')+1]
	j.offset += int64(len(data))
	j.mu.Lock()
	defer j.mu.Unlock()
	for text := range bytes.Lines(data) {
		if l, ok := parseLine(text); ok {
			if l.Session != j.session {
				j.hear(l)
			}
			j.apply(l)
		}
	}
	return nil
}

// parseLine reads a line; what is none is left out.
func parseLine(text []byte) (l line, ok bool) {
	return l, json.Unmarshal(text, &l) == nil && l.Turn != ""
}

// followFile opens the journal, anew if another process has replaced it.
func (j *Journal) followFile() error {
	now, err := os.Stat(j.path())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the undo journal: %w", err)
	}
	if j.file != nil {
		if was, err := j.file.Stat(); err == nil && os.SameFile(was, now) {
			return nil
		}
		_ = j.file.Close()
		j.file = nil
	}
	f, err := os.OpenFile(j.path(), os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("read the undo journal: %w", err)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.file, j.offset = f, 0
	j.turns, j.byKey, j.pending = nil, map[string]*Turn{}, map[string]line{}
	return nil
}

// apply adds a line to what is known.
func (j *Journal) apply(l line) {
	if l.Intent != "" {
		j.pending[l.Intent] = l
		return
	}
	delete(j.pending, l.Settles)
	if len(l.Changes) == 0 && l.Undone == nil && len(l.Taken)+len(l.Back) == 0 {
		return
	}
	t := j.byKey[l.Turn+"@"+l.Key]
	if t == nil {
		t = &Turn{ID: l.Turn, Session: l.Session, Label: l.Label, Time: l.Time, key: l.Key, over: map[string]bool{}, fates: map[string]fate{}}
		j.byKey[t.fullID()] = t
		j.turns = append(j.turns, t)
	}
	for _, c := range l.Changes {
		t.add(c)
		delete(t.fates, c.Path)
		t.Undone = false // it goes on
	}
	t.decide(l)
	for _, p := range l.Over {
		t.over[p] = true
	}
}

// decide notes what became of the paths of a turn by an undo.
func (t *Turn) decide(l line) {
	for _, p := range l.Taken {
		t.fates[p] = fateTaken
	}
	for _, p := range l.Back {
		delete(t.fates, p)
	}
	for _, p := range l.Gone {
		t.fates[p] = fateGone
	}
	if l.Undone == nil {
		return
	}
	t.Undone = *l.Undone
	for p, f := range t.fates {
		if f == fateTaken && !t.Undone {
			t.fates[p] = fateGone
		}
	}
}

// write appends a line to the file and to what is known. The lock must be held,
// and everything before have been read.
func (j *Journal) write(l line) error {
	if j.file == nil {
		f, err := os.OpenFile(j.path(), os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
		if err != nil {
			return fmt.Errorf("write the undo journal: %w", err)
		}
		j.file = f
	}
	b, err := json.Marshal(l)
	if err != nil {
		return err
	}
	// A torn line of a process that was killed must not swallow this one.
	if _, err := j.file.Write(append([]byte("\n"), append(b, '\n')...)); err != nil {
		return fmt.Errorf("write the undo journal: %w", err)
	}
	info, err := j.file.Stat()
	if err != nil {
		return fmt.Errorf("write the undo journal: %w", err)
	}
	j.offset = info.Size()
	j.mu.Lock()
	defer j.mu.Unlock()
	j.apply(l)
	return nil
}

// record adds changes to a turn.
func (j *Journal) record(turn line, changes []Change) error {
	if len(changes) == 0 {
		return nil
	}
	turn.Time, turn.Changes = time.Now().UTC(), changes
	return j.write(turn)
}

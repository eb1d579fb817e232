package memory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/burin-dev/burin/internal/platform/filelock"
	"github.com/burin-dev/burin/internal/platform/smallfile"
)

// stateFile is where a store keeps its [State].
func (s Store) stateFile() string { return filepath.Join(s.own, "state.json") }

// State is what was done for a project.
type State struct {
	Root     string          `json:"root"` // the project's folder, for people
	Sessions map[string]Seen `json:"sessions,omitempty"`
	// Since leaves out sessions that were over by then: the memory was cleared.
	Since   time.Time `json:"since,omitzero"`
	Updated time.Time `json:"updated,omitzero"` // the last update that changed something
	// Failed counts the updates in a row whose result could not be used.
	Failed int `json:"failed,omitempty"`
}

// Seen is a session that was read, as its file was then.
type Seen struct {
	Size     int64     `json:"size"`
	Modified time.Time `json:"modified"`
	Facts    bool      `json:"facts,omitempty"`  // some were found
	Merged   bool      `json:"merged,omitempty"` // and are in MEMORY.md
	Failed   int       `json:"failed,omitempty"` // how often it could not be read
}

// State reads what was done.
func (s Store) State() (State, error) {
	st := State{Root: s.root, Sessions: map[string]Seen{}}
	text, err := smallfile.Read(s.stateFile(), smallfile.Table)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return st, nil
	case err == nil:
		err = json.Unmarshal(text, &st)
	}
	if err != nil {
		return st, fmt.Errorf("%s can't be read: %w; remove it, and the next update reads the sessions again", s.stateFile(), err)
	}
	if st.Sessions == nil {
		st.Sessions = map[string]Seen{}
	}
	st.Root = s.root
	return st, nil
}

// SetState keeps what was done. Whoever calls it has the lock.
func (s Store) SetState(st State) error {
	text, err := json.MarshalIndent(st, "", " ")
	if err != nil {
		return err
	}
	return write(s.stateFile(), string(text))
}

// ErrBusy means that another burin is updating the memory.
var ErrBusy = errors.New("another burin is updating this memory: try again when it is done")

// Lock keeps updates of other processes away until unlock is called. It ends with the process,
// also when that is killed. It doesn't wait: if another process has it, the error is [ErrBusy].
func (s Store) Lock() (unlock func(), err error) {
	if err := os.MkdirAll(s.own, 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(s.own, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	ok, err := filelock.Try(f)
	if err == nil && !ok {
		err = ErrBusy
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return func() { _ = filelock.Close(f) }, nil
}

// Await is [Store.Lock], and waits until ctx ends.
func (s Store) Await(ctx context.Context) (unlock func(), err error) {
	if err := os.MkdirAll(s.own, 0o700); err != nil {
		return nil, err
	}
	f, err := filelock.Take(ctx, filepath.Join(s.own, "lock"))
	if err != nil {
		return nil, err
	}
	return func() { _ = filelock.Close(f) }, nil
}

// briefly is for locks that nobody holds long.
func briefly() (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(context.Background(), 10*time.Second, errors.New("another burin holds it"))
}

// Clear removes what is remembered, old versions included. Sessions that are over by now are
// not read again.
func (s Store) Clear(now time.Time) error {
	unlock, err := s.Lock()
	if err != nil {
		return err
	}
	defer unlock()
	if err := errors.Join(os.RemoveAll(s.dir), os.RemoveAll(filepath.Join(s.own, "old"))); err != nil {
		return err
	}
	if s.root == "" {
		return nil
	}
	return s.SetState(State{Root: s.root, Since: now})
}

// Rebuild has the next update merge all facts again, and read sessions that were left out
// because the memory had been cleared.
func (s Store) Rebuild() error {
	unlock, err := s.Lock()
	if err != nil {
		return err
	}
	defer unlock()
	st, err := s.State()
	if err != nil {
		return err
	}
	st.Since, st.Failed = time.Time{}, 0
	for id, seen := range st.Sessions {
		seen.Merged, seen.Failed = false, 0
		st.Sessions[id] = seen
	}
	return s.SetState(st)
}

// Package workspace is the ground that tools act on: a file system, with what burin
// knows of it.
//
// [Open] opens a directory. [New] takes any [Files]: [NewMemory], [NewOverlay], or an
// implementation of somebody else's. Only a workspace of Open has a directory in which
// commands can run ([Workspace.Dir]), and a journal. The open documents of an editor are
// no workspace of their own: they belong to the session that the editor opened
// ([Options]) or to a prompt, and so to a context ([WithBuffers]); [Workspace.For] is the
// workspace as that prompt sees it.
//
// [Workspace.Files] is a rooted file system. Names are relative to the root, and
// nothing leads out of it: not "..", not an absolute path, not a symbolic link,
// also not one that is put there meanwhile. Additional folders have absolute
// names, and what lies in a [Mount] has addresses. [Workspace.Resolve] makes a name of what a model or a person wrote.
//
// The workspace remembers what the model has seen of a file ([Workspace.Read],
// [Workspace.Changed]) and makes changes all or none ([Workspace.Commit]), each
// only if the file still holds what the change is based on. What changed is in
// the journal of package undo, by turns.
package workspace

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/burin-dev/burin/internal/platform/undo"
	"github.com/burin-dev/burin/tool/change"
)

// Options of a workspace.
type Options struct {
	Extra    []Extra // additional folders that tools may use
	Mounts   []Mount // folders behind addresses
	ReadOnly bool    // every write fails with fs.ErrPermission, until SetReadOnly
	StateDir string  // where undo journals live, outside the workspace; empty: no undo
	Session  string  // whose turns an Undo by plain id means; empty: of this Workspace only
	// Own are absolute paths of files and folders that are burin's own, such as those that
	// the session is kept in. They need not exist. No tool reads or writes them, and they
	// are in no turn.
	Own []string
	// Buffers are the open documents of the face that owns the session, for calls whose
	// context names no others; nil: there are none.
	Buffers Buffers
}

// Extra is an additional folder.
type Extra struct {
	Dir      string
	Writable bool
}

// Workspace is a file system with what burin knows of it. It is safe for
// concurrent use.
type Workspace struct {
	*core
	files  Files
	seen   *memory
	forked bool // somebody else closes it
}

// core is what the views of a workspace share.
type core struct {
	dir     string  // empty: commands cannot run in it
	disk    *rooted // the directory that names are of; nil: there is none
	home    string
	journal *undo.Journal // nil: no undo
	buffers Buffers       // see Options

	committing sync.RWMutex // held for reading by commits: none is caught half way by SetReadOnly
	locked     atomic.Bool  // nothing may be written, for now
}

// Open opens the directory dir.
func Open(dir string, o Options) (*Workspace, error) {
	abs, err := filepath.Abs(dir)
	if err == nil {
		abs, err = filepath.EvalSymlinks(abs)
	}
	if err != nil {
		return nil, fmt.Errorf("open the workspace: %w", err)
	}
	files, err := openRoots(abs, o)
	if err != nil {
		return nil, err
	}
	w := &Workspace{core: &core{dir: abs, disk: files, buffers: o.Buffers}, files: files, seen: newMemory()}
	w.locked.Store(o.ReadOnly)
	w.home, _ = os.UserHomeDir() // without one "~" is an ordinary name
	if o.StateDir != "" {
		if w.journal, err = undo.OpenSession(files.main.Root, filepath.Join(o.StateDir, journalID(abs)), o.Session, files.main.isOwn); err != nil {
			return nil, errors.Join(err, files.close())
		}
	}
	return w, nil
}

// New makes a workspace of any file system. It has no directory, and no journal. An
// absolute path is one from the root of the file system, unless that is an [Overlay] of
// a directory: then paths are those of the directory.
func New(files Files) *Workspace {
	w := &Workspace{core: &core{disk: diskOf(files)}, files: files, seen: newMemory()}
	if w.disk != nil {
		w.home, _ = os.UserHomeDir()
	}
	return w
}

// Close ends it. Nothing of the journal is lost. Files that were given to New are left
// to whoever made them.
func (w *Workspace) Close() error {
	if w.forked {
		return nil
	}
	var err error
	if w.journal != nil {
		err = w.journal.Close()
	}
	if w.dir != "" {
		err = errors.Join(err, w.disk.close())
	}
	return err
}

// Fork is the same workspace for another model, which has seen none of its files yet. Changes
// belong to the turn that is open in w. Its Close closes nothing; it must not be used once w
// is closed.
func (w *Workspace) Fork() *Workspace {
	return &Workspace{core: w.core, files: w.files, seen: newMemory(), forked: true}
}

// SetReadOnly says whether writes fail, from now on. A commit that is under way is
// waited for. An undo is a person's and writes all the same.
func (w *Workspace) SetReadOnly(on bool) {
	w.committing.Lock()
	defer w.committing.Unlock()
	w.locked.Store(on)
	if w.dir != "" {
		w.disk.locked.Store(on)
	}
}

// Dir is the directory that holds the files, absolute and without links. It is empty if
// there is none: then no command can run.
func (w *Workspace) Dir() string { return w.dir }

// Files are the files. The value is also what package search needs to search it fast.
func (w *Workspace) Files() Files { return w.files }

// File is what was read.
type File struct {
	Name    string
	Data    []byte
	Mode    fs.FileMode
	ModTime time.Time
}

// Read reads a file and remembers that the model has seen it like this. A file of
// more than 64 MB is an error: parts of it can be read through Files.
func (w *Workspace) Read(name string) (*File, error) {
	data, info, err := read(w.files, name)
	if err != nil {
		return nil, err
	}
	w.seen.saw(name, data)
	return &File{Name: name, Data: data, Mode: info.Mode(), ModTime: info.ModTime()}, nil
}

// Freshness is what the model knows of a file.
type Freshness string

const (
	Unseen Freshness = "unseen" // not read in this session
	Fresh  Freshness = "fresh"  // as the model saw it
	Stale  Freshness = "stale"  // changed since
	Gone   Freshness = "gone"   // removed since
)

// Changed reports how the file differs from what the model last saw of it.
func (w *Workspace) Changed(name string) Freshness {
	hash, ok := w.seen.what(name)
	if !ok {
		return Unseen
	}
	data, _, err := read(w.files, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Gone
	case err != nil || sha256.Sum256(data) != hash:
		return Stale
	}
	return Fresh
}

// BeginTurn opens a turn of the journal: changes belong to it until the next begins. In a fork
// it does nothing.
func (w *Workspace) BeginTurn(id, label string) error {
	if w.journal != nil && !w.forked {
		w.journal.BeginTurn(id, label)
	}
	return nil
}

// Prepare looks at the whole tree once, so that the first Watch has less to do.
func (w *Workspace) Prepare(ctx context.Context) error {
	if w.journal == nil {
		return nil
	}
	return w.journal.Prepare(ctx)
}

// Watch runs f, which may change files in ways that nobody declared (a shell
// command), and records in the journal what it changed. Whose a change is that
// was made meanwhile, package undo says in watch.go. Watches run one after the
// other. Additional folders are not watched.
func (w *Workspace) Watch(ctx context.Context, f func() error) (changed []string, err error) {
	if w.journal == nil {
		return nil, f()
	}
	return w.journal.Watch(ctx, f)
}

// WatchJob watches a command that goes on in the background, in the open turn. end
// must be called when it has ended; it gives the paths that the command changed.
func (w *Workspace) WatchJob(ctx context.Context) (end func(context.Context) ([]string, error), err error) {
	if w.journal == nil {
		return func(context.Context) ([]string, error) { return nil, nil }, nil
	}
	watched, err := w.journal.Begin(ctx)
	if err != nil {
		return nil, err
	}
	return watched.End, nil
}

// NotOurs tells that a person has just changed these files, in an editor for
// instance, so that it does not count as the work of a command that runs.
func (w *Workspace) NotOurs(names ...string) error {
	if w.journal == nil {
		return nil
	}
	return w.journal.NotOurs(names...)
}

// UndoNotice says in one line which files cannot be restored because they exceed
// the limits of the journal; empty: all can.
func (w *Workspace) UndoNotice() string {
	if w.journal == nil {
		return ""
	}
	return w.journal.Notice()
}

// Turns are the turns that changed something, newest first, of all sessions.
func (w *Workspace) Turns() ([]change.Turn, error) {
	if w.journal == nil {
		return nil, nil
	}
	var all []change.Turn
	for _, t := range slices.Backward(w.journal.Turns()) {
		one := change.Turn{ID: t.ID, Session: t.Session, Label: t.Label, Time: t.Time, Undone: t.Undone}
		for _, c := range t.Changes {
			one.Paths = append(one.Paths, c.Path)
		}
		all = append(all, one)
	}
	return all, nil
}

// Undo restores what the turn changed. Files that someone changed since are left
// as they are and reported. Undoing an undone turn brings its changes back.
func (w *Workspace) Undo(ctx context.Context, turn string) (*change.Undone, error) {
	if w.journal == nil {
		return nil, errNoJournal
	}
	return w.journal.Undo(ctx, turn)
}

// PreviewUndo says what Undo would do with each path of a turn, and does nothing.
func (w *Workspace) PreviewUndo(ctx context.Context, turn string) ([]change.Planned, error) {
	if w.journal == nil {
		return nil, errNoJournal
	}
	return w.journal.Preview(ctx, turn)
}

// Contents gives what a turn found in files and left there.
func (w *Workspace) Contents(ctx context.Context, turn string) ([]undo.Content, error) {
	if w.journal == nil {
		return nil, errNoJournal
	}
	return w.journal.Contents(ctx, turn)
}

var errNoJournal = errors.New("this workspace has no undo journal")

// Overview shows the top of the tree, folders with what is in them, at most so
// many entries: what a newcomer would see first. Hidden entries are left out.
func (w *Workspace) Overview(most int) (string, error) {
	entries, err := w.files.ReadDir(".")
	if err != nil {
		return "", fmt.Errorf("list the workspace: %w", err)
	}
	var b strings.Builder
	shown := 0
	for i, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		if shown == most {
			fmt.Fprintf(&b, "… %d more\n", len(entries)-i)
			break
		}
		shown++
		if !e.IsDir() {
			b.WriteString(e.Name() + "\n")
			continue
		}
		b.WriteString(e.Name() + "/" + w.within(e.Name()) + "\n")
	}
	return b.String(), nil
}

// within names what is in a folder, on one line.
func (w *Workspace) within(dir string) string {
	const most = 8
	entries, err := w.files.ReadDir(dir)
	if err != nil {
		return ""
	}
	var names []string
	for _, e := range entries {
		if name := e.Name(); !strings.HasPrefix(name, ".") {
			if e.IsDir() {
				name += "/"
			}
			names = append(names, name)
		}
	}
	if n := len(names); n > most {
		names = append(names[:most], fmt.Sprintf("… %d more", n-most))
	}
	if len(names) == 0 {
		return ""
	}
	return "  " + strings.Join(names, " ")
}

// Journals are the folders of the undo journals under stateDir: that of the workspace
// dir, or with an empty dir all of them.
func Journals(stateDir, dir string) ([]string, error) {
	if dir == "" {
		found, err := os.ReadDir(stateDir)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		var all []string
		for _, d := range found {
			if d.IsDir() {
				all = append(all, filepath.Join(stateDir, d.Name()))
			}
		}
		return all, err
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if real, err := filepath.EvalSymlinks(abs); err == nil { // one that is gone is found all the same
		abs = real
	}
	name := filepath.Join(stateDir, journalID(abs))
	if _, err := os.Stat(name); err != nil {
		return nil, nil // nothing was recorded there
	}
	return []string{name}, nil
}

// journalID names the journal of a workspace.
func journalID(abs string) string {
	sum := sha256.Sum256([]byte(abs))
	return filepath.Base(abs) + "-" + hex.EncodeToString(sum[:6])
}

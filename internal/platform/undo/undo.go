// Package undo is the journal of what an agent changed in a folder, turn by turn.
//
// A [Journal] lives outside of the folder. It holds, for each turn, what every
// changed path was before and after, with the contents in a store by their
// SHA-256. Changes that are declared are announced before they are made
// ([Journal.Intend]); what a command does is found by two looks at the whole tree,
// before and after it ([Journal.Watch], [Journal.Begin]). Restoring
// ([Journal.Undo]) touches a path only while it is what the turn made of it, so
// that nobody else's change is ever lost. [Journal.Preview] says what it would do.
//
// The journal is a file of JSON lines that is only added to. Several processes
// may have it open: a lock file orders what they write, and each reads what the
// others added. A process that is killed leaves at most a torn line, which is
// skipped, and an intent, which the next one that takes the lock settles by
// looking at what the files hold.
//
// A journal has parts, each with a state of its own: the store keeps contents; the
// folder reads and restores what is on the disk; the lines are the file, and the turns
// what it tells of; the baseline is what the folder was when it was last accounted for;
// the watch says whose a change is. An undo in progress is an undoing.
//
// Git's own folder is not looked into. Of git, HEAD, the branches and other refs,
// the index and a few small files are kept and restored; objects are git's.
// Links are kept as links, never followed.
package undo

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// State is what a path is at one moment.
type State struct {
	Kind string      `json:"kind"` // "", "file", "dir" or "link"; "" is nothing; of git: "ref", "index", "plain", "repository"
	Mode fs.FileMode `json:"mode,omitempty"`
	Hash string      `json:"hash,omitempty"` // of a file's contents; of a ref, the object
	Link string      `json:"link,omitempty"` // where a link leads; of an index, what is in it
	Lost string      `json:"lost,omitempty"` // why the contents were not kept
	Sum  string      `json:"sum,omitempty"`  // of a file that was not kept, if it was read: the hash of its contents
}

// same reports whether two states are the same for a person.
func (s State) same(t State) bool {
	if s.Kind != t.Kind || s.Link != t.Link {
		return false
	}
	if s.Sum != "" && t.Sum != "" { // which tells more than when it was written
		return s.Mode.Perm() == t.Mode.Perm() && s.Sum == t.Sum
	}
	// The bytes of an index also hold times, which every look at it changes.
	return s.Kind == "link" || s.Kind == kindIndex || s.Mode.Perm() == t.Mode.Perm() && s.Hash == t.Hash
}

// Journal is the journal of one folder. It is safe for concurrent use.
type Journal struct {
	dir    string // where it lives
	store  *store
	folder *folder
	base   *baseline
	turns  *turns
	lines  *lines
	watch  *watch
}

// OpenSession opens the journal of root in dir, which is made when something is recorded.
// The root stays the caller's. A session with a name finds its own turns again when it
// is resumed in another process; without a name, its turns belong to nobody else. own
// reports which paths of root are burin's own, such as the session's file: they are in
// no turn, and are not opened; nil is none.
func OpenSession(root *os.Root, dir, session string, own func(name string) bool) (*Journal, error) {
	if session == "" {
		session = newKey()
	}
	j := &Journal{dir: dir, store: newStore(dir), base: newBaseline(dir)}
	j.folder = &folder{root: root, own: own, store: j.store, mostIgnored: MaxIgnoredFiles}
	j.turns = newTurns(session, j.base.hear)
	j.lines = &lines{dir: dir, turns: j.turns, recovery: recovery{j.folder}}
	j.watch = &watch{folder: j.folder, lines: j.lines, base: j.base}
	j.BeginTurn("0", "before the first prompt")
	if _, err := os.Stat(dir); err != nil {
		if os.IsNotExist(err) {
			return j, nil
		}
		return nil, fmt.Errorf("open the undo journal: %w", err)
	}
	complete, err := j.lines.open()
	if err != nil {
		return nil, err
	}
	if complete && j.store.hasTree() { // without contents, what the tree names cannot be restored
		j.base.load()
	}
	return j, nil
}

// Close closes the journal. It keeps what it knows of the tree for the next
// session, and once a day it drops turns that are too old, if nobody else has the
// journal open.
func (j *Journal) Close() error {
	defer j.watch.holdLooks()()
	return j.lines.close(func() error {
		ours, err := j.base.save()
		if ours {
			err = j.store.noteTree()
		}
		if terr := j.tidy(time.Now()); err == nil {
			err = terr
		}
		return err
	})
}

// BeginTurn opens a turn: changes belong to it until the next begins. An id that
// was used before, by an earlier session for instance, means a new turn all the
// same.
func (j *Journal) BeginTurn(id, label string) { j.turns.begin(id, label) }

// newKey tells a turn from all others.
func newKey() string {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails
	return time.Now().UTC().Format("20060102T150405") + "-" + hex.EncodeToString(b[:])
}

// Turns are the turns that changed something, oldest first, also those of other
// sessions. A turn of this session has the id it was begun with; of several with
// the same id, the newest has it. All others have an id with a suffix.
func (j *Journal) Turns() []Turn {
	j.lines.refresh()
	return j.turns.list()
}

// Notice says in one line which part of the tree cannot be restored because of the
// limits, as of the last look; empty: none.
func (j *Journal) Notice() string { return j.base.notice() }

// Put keeps contents and returns their hash.
func (j *Journal) Put(data []byte) (string, error) { return j.store.Put(data) }

// Get returns contents by their hash. Damaged contents are an error.
func (j *Journal) Get(hash string) ([]byte, error) { return j.store.Get(hash) }

// StateOf looks at a path now. Contents of files are kept, so that the state can
// be restored.
func (j *Journal) StateOf(name string) (State, error) { return j.folder.stateOf(name) }

// NotOurs tells that someone else, a person in an editor for instance, has just
// changed these paths, so that it does not count as the work of a command that is
// watched.
func (j *Journal) NotOurs(paths ...string) error {
	for _, p := range paths {
		now, err := j.folder.stateOf(p)
		if err != nil {
			return err
		}
		j.base.tell(p, now)
	}
	return nil
}

// Prepare looks at the tree once, so that the first Watch has less to read.
func (j *Journal) Prepare(ctx context.Context) error { return j.watch.closeBooks(ctx) }

// Watch runs f and records what the tree is afterwards that it was not before.
// It returns the paths, without those of git. Watches run one after the other.
//
// f runs unless ctx has ended before. Its changes are recorded also if it fails,
// in the turn that was open when it began. An error of the looks means that they
// cannot be undone.
func (j *Journal) Watch(ctx context.Context, f func() error) ([]string, error) {
	return j.watch.run(ctx, f)
}

// Begin watches a command that goes on in the background, in the open turn.
// Other commands, changes and undos may come meanwhile. End must be called when
// it has ended.
func (j *Journal) Begin(ctx context.Context) (*Watched, error) {
	c, err := j.watch.begin(ctx, true)
	if err != nil {
		return nil, err
	}
	return &Watched{j.watch, c}, nil
}

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
// Git's own folder is not looked into. Of git, HEAD, the branches and other refs,
// the index and a few small files are kept and restored; objects are git's.
// Links are kept as links, never followed.
package undo

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// State is what a path is at one moment.
type State struct {
	Kind string      `json:"kind"` // "", "file", "dir" or "link"; "" is nothing; of git: "ref", "index", "plain", "repository"
	Mode fs.FileMode `json:"mode,omitempty"`
	Hash string      `json:"hash,omitempty"` // of a file's contents; of a ref, the object
	Link string      `json:"link,omitempty"` // where a link leads; of an index, what is in it
	Lost string      `json:"lost,omitempty"` // why the contents were not kept
}

// same reports whether two states are the same for a person.
func (s State) same(t State) bool {
	if s.Kind != t.Kind || s.Link != t.Link {
		return false
	}
	// The bytes of an index also hold times, which every look at it changes.
	return s.Kind == "link" || s.Kind == kindIndex || s.Mode.Perm() == t.Mode.Perm() && s.Hash == t.Hash
}

// Change is what became of a path.
type Change struct {
	Path   string `json:"path"` // relative, with slashes; below ".git" what it is to git
	Before State  `json:"before"`
	After  State  `json:"after"`
}

// Turn is a turn that changed something.
type Turn struct {
	ID      string
	Session string // the journal's that recorded it
	Label   string
	Time    time.Time
	Changes []Change // one for each path, sorted by path
	Undone  bool

	key string // tells turns with the same ID apart
	// over holds the paths that someone else changed between two changes of the
	// turn. Only the last change of such a path can be taken back.
	over  map[string]bool
	fates map[string]fate // of paths whose change no longer stands
}

// fate is what became of a turn's change of a path. An undo takes back what stands,
// the undo of the undo brings back what was taken: what someone else made of a
// path in between is theirs, even if it is the same.
type fate string

const (
	fateStands fate = ""
	fateTaken  fate = "taken"
	fateGone   fate = "gone" // it was taken back, and then someone else changed the path
)

// Journal is the journal of one folder. It is safe for concurrent use.
type Journal struct {
	root    *os.Root
	dir     string // where it lives
	session string

	own         func(name string) bool // nil: nothing is
	mostIgnored int                    // files of ignored folders that are kept
	packFrom    int                    // see packFrom

	watching sync.Mutex // held while a command runs under Watch: they share no looks
	looking  sync.Mutex // held during a look
	filing   sync.Mutex // held with the lock of the file; guards file, offset, inUse

	file   *os.File
	offset int64    // up to where the file was read
	inUse  *os.File // tells other processes not to prune

	mu      sync.Mutex
	turns   []*Turn
	byKey   map[string]*Turn
	pending map[string]line // intents that are not settled
	open    line            // the open turn
	active  []*Watched      // in the order in which they began
	known   map[string]entry
	told    map[string]State // what declared changes made of paths since the last look began
	repo    *repository      // what the last look saw of git; nil: nothing
	unkept  unkept           // of the last look
	cached  bool             // known is worth saving
}

// OpenSession opens the journal of root in dir, which is made when something is recorded.
// The root stays the caller's. A session with a name finds its own turns again when it
// goes on in another process; without one they belong to nobody else. own reports which paths of root are burin's
// own, such as the session's file: they are in no turn, and are not opened; nil is none.
func OpenSession(root *os.Root, dir, session string, own func(name string) bool) (*Journal, error) {
	if session == "" {
		session = newKey()
	}
	j := &Journal{
		root: root, dir: dir, session: session, own: own, mostIgnored: MaxIgnoredFiles, packFrom: packFrom, byKey: map[string]*Turn{}, pending: map[string]line{},
		known: map[string]entry{}, told: map[string]State{},
	}
	j.BeginTurn("0", "before the first prompt")
	if _, err := os.Stat(dir); err != nil {
		if os.IsNotExist(err) {
			return j, nil
		}
		return nil, fmt.Errorf("open the undo journal: %w", err)
	}
	j.filing.Lock()
	defer j.filing.Unlock()
	unlock, err := j.lock()
	if err != nil {
		// Another process holds it for long. What it has written is read; its
		// intent is not ours to settle.
		return j, j.read()
	}
	defer unlock()
	if err := j.catchUp(); err != nil {
		return nil, err
	}
	j.load()
	return j, nil
}

func (j *Journal) path() string { return filepath.Join(j.dir, "journal.jsonl") }

// Close closes the journal. It keeps what it knows of the tree for the next
// session, and once a day it drops turns that are too old, if nobody else has the
// journal open.
func (j *Journal) Close() error {
	j.looking.Lock()
	defer j.looking.Unlock()
	j.filing.Lock()
	defer j.filing.Unlock()
	err := j.save()
	if terr := j.tidy(time.Now()); err == nil {
		err = terr
	}
	for _, f := range []*os.File{j.file, j.inUse} {
		if f != nil {
			if cerr := f.Close(); err == nil {
				err = cerr
			}
		}
	}
	j.file, j.inUse = nil, nil
	return err
}

// BeginTurn opens a turn: changes belong to it until the next begins. An id that
// was used before, by an earlier session for instance, means a new turn all the
// same.
func (j *Journal) BeginTurn(id, label string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.open = line{Turn: id, Label: label, Key: newKey(), Session: j.session}
}

// newKey tells a turn from all others.
func newKey() string {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails
	return time.Now().UTC().Format("20060102T150405") + "-" + hex.EncodeToString(b[:])
}

// turn is the open turn, to record in.
func (j *Journal) turn() line {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.open
}

// add joins a change with an earlier one of the same path: the turn as a whole
// went from the first before to the last after. A change that begins with
// something else than the earlier one left goes over what someone did in between,
// which must not be lost: it stands alone then.
func (t *Turn) add(c Change) {
	i, found := slices.BinarySearchFunc(t.Changes, c.Path, func(c Change, p string) int { return strings.Compare(c.Path, p) })
	if !found {
		t.Changes = slices.Insert(t.Changes, i, c)
		return
	}
	if was := t.Changes[i]; !c.Before.same(was.After) && !c.Before.same(was.Before) {
		t.over[c.Path] = true
		t.Changes[i].Before = c.Before
	}
	t.Changes[i].After = c.After
}

// changed reports whether the turn as a whole changed something.
func (t *Turn) changed() bool { return len(t.Changes) > 0 }

// Turns are the turns that changed something, oldest first, also those of other
// sessions. A turn of this session has the id it was begun with; of several with
// the same id, the newest has it. All others have an id with a suffix.
func (j *Journal) Turns() []Turn {
	j.refresh()
	j.mu.Lock()
	defer j.mu.Unlock()
	var all []Turn
	taken := map[string]bool{}
	for _, t := range slices.Backward(j.turns) {
		if !t.changed() {
			continue
		}
		c := *t
		c.Changes = slices.Clone(t.Changes)
		if c.Session != j.session || taken[c.ID] {
			c.ID = t.fullID()
		}
		taken[c.ID] = true
		all = append(all, c)
	}
	slices.Reverse(all)
	return all
}

func (t *Turn) fullID() string { return t.ID + "@" + t.key }

// find gives the index of a turn that changed something: the newest of this
// session with this id, or the one with this full id.
func (j *Journal) find(id string) (int, error) {
	other := ""
	for i, t := range slices.Backward(j.turns) {
		switch {
		case !t.changed():
		case t.fullID() == id || t.ID == id && t.Session == j.session:
			return i, nil
		case t.ID == id && other == "":
			other = t.fullID()
		}
	}
	if other != "" {
		return -1, fmt.Errorf("this session has no turn %q that changed something; another session's is %s", id, other)
	}
	return -1, fmt.Errorf("there is no turn %q that changed something", id)
}

// Package undo is the journal of what an agent changed in a folder, turn by turn.
//
// A [Journal] lives outside of the folder. It holds, for each turn, what every
// changed path was before and after, with the contents in a store by their
// SHA-256. Changes that are declared come through [Journal.Record]; what a
// command does is found by two looks at the whole tree, before and after it
// ([Journal.Watch]). Restoring ([Journal.Undo]) touches a path only while it is
// what the turn made of it, so that nobody else's change is ever lost.
//
// The journal is a file of JSON lines that is only added to. A process that is
// killed leaves at most a torn line, which is skipped.
//
// Git's own folder is not looked into: commits, branches and the index are git's
// to restore. Links are kept as links, never followed.
package undo

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/burin-dev/burin/internal/platform/undo/rootfile"
)

// Limits of what is kept. What exceeds them is still noticed as changed, but
// cannot be restored, and Undo says so.
const (
	MaxFile  = 64 << 20 // bytes of one file
	MaxStore = 1 << 30  // bytes of contents copied from one tree
)

// State is what a path is at one moment.
type State struct {
	Kind string      `json:"kind"` // "", "file", "dir" or "link"; "" is nothing
	Mode fs.FileMode `json:"mode,omitempty"`
	Hash string      `json:"hash,omitempty"` // of a file's contents
	Link string      `json:"link,omitempty"` // where a link leads
	Lost string      `json:"lost,omitempty"` // why the contents were not kept
}

// same reports whether two states are the same for a person.
func (s State) same(t State) bool {
	return s.Kind == t.Kind && s.Mode.Perm() == t.Mode.Perm() && s.Hash == t.Hash && s.Link == t.Link || s.Kind == "link" && t.Kind == "link" && s.Link == t.Link
}

// Change is what became of a path.
type Change struct {
	Path   string `json:"path"` // relative, with slashes
	Before State  `json:"before"`
	After  State  `json:"after"`
}

// Turn is a turn that changed something.
type Turn struct {
	ID      string
	Label   string
	Time    time.Time
	Changes []Change // one for each path, sorted by path
	Undone  bool

	key string // tells turns with the same ID apart
	// over holds the paths that someone else changed between two changes of the
	// turn. Only the last change of such a path can be taken back.
	over map[string]bool
}

// line is a line of the journal.
type line struct {
	Turn    string    `json:"turn"`
	Key     string    `json:"key,omitempty"`
	Label   string    `json:"label,omitempty"`
	Time    time.Time `json:"time,omitzero"`
	Changes []Change  `json:"changes,omitempty"`
	Undone  *bool     `json:"undone,omitempty"`
}

// Journal is the journal of one folder. It is safe for concurrent use.
type Journal struct {
	root *os.Root
	dir  string // where it lives

	mu    sync.Mutex
	file  *os.File
	turns []*Turn
	open  line             // the open turn
	known map[string]entry // what the last look saw
	store int64            // bytes copied for looks

	looked   time.Time  // when the last look began
	watching sync.Mutex // held while commands run under watch: they share no looks
}

// entry is a path of a tree with its stat.
type entry struct {
	stat  rootfile.Stat
	fresh bool // changed right before the look
	state State
}

// Open opens the journal of root in dir, which is made when something is recorded.
// The root stays the caller's.
func Open(root *os.Root, dir string) (*Journal, error) {
	j := &Journal{root: root, dir: dir, known: map[string]entry{}}
	data, err := os.ReadFile(j.path())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("open the undo journal: %w", err)
	}
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, len(data)+1)
	for lines.Scan() {
		var l line
		if json.Unmarshal(lines.Bytes(), &l) == nil && l.Turn != "" {
			j.apply(l)
		}
	}
	return j, nil
}

func (j *Journal) path() string { return filepath.Join(j.dir, "journal.jsonl") }

// Close closes the journal.
func (j *Journal) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.file == nil {
		return nil
	}
	err := j.file.Close()
	j.file = nil
	return err
}

// BeginTurn opens a turn: changes belong to it until the next begins. An id that
// was used before, by an earlier session for instance, means a new turn all the
// same.
func (j *Journal) BeginTurn(id, label string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.open = line{Turn: id, Label: label, Key: newKey()}
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

// apply adds a line to what is known.
func (j *Journal) apply(l line) {
	var t *Turn
	if i := slices.IndexFunc(j.turns, func(t *Turn) bool { return t.ID == l.Turn && t.key == l.Key }); i >= 0 {
		t = j.turns[i]
	} else {
		t = &Turn{ID: l.Turn, Label: l.Label, Time: l.Time, key: l.Key, over: map[string]bool{}}
		j.turns = append(j.turns, t)
	}
	if l.Undone != nil {
		t.Undone = *l.Undone
	}
	for _, c := range l.Changes {
		t.add(c)
	}
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

// write appends a line to the file.
func (j *Journal) write(l line) error {
	if j.file == nil {
		if err := os.MkdirAll(j.dir, 0o700); err != nil {
			return fmt.Errorf("write the undo journal: %w", err)
		}
		f, err := os.OpenFile(j.path(), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
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
	return nil
}

// Record adds changes to the open turn.
func (j *Journal) Record(changes []Change) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.record(j.open, changes)
}

func (j *Journal) record(turn line, changes []Change) error {
	if len(changes) == 0 {
		return nil
	}
	l := turn
	l.Time, l.Changes = time.Now().UTC(), changes
	j.apply(l)
	return j.write(l)
}

// Put keeps contents and gives their hash.
func (j *Journal) Put(data []byte) (string, error) {
	sum := sha256.Sum256(data)
	hash := hex.EncodeToString(sum[:])
	dir := filepath.Join(j.dir, "objects", hash[:2])
	name := filepath.Join(dir, hash[2:])
	if _, err := os.Stat(name); err == nil {
		return hash, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("keep a file for undo: %w", err)
	}
	temp, err := os.CreateTemp(dir, "new-")
	if err != nil {
		return "", fmt.Errorf("keep a file for undo: %w", err)
	}
	_, err = temp.Write(data)
	if cerr := temp.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(temp.Name(), name)
	}
	if err != nil {
		_ = os.Remove(temp.Name())
		return "", fmt.Errorf("keep a file for undo: %w", err)
	}
	return hash, nil
}

// Get gives contents by their hash. Contents that are damaged are an error.
func (j *Journal) Get(hash string) ([]byte, error) {
	if len(hash) != 2*sha256.Size {
		return nil, errors.New("its contents were not kept")
	}
	data, err := os.ReadFile(filepath.Join(j.dir, "objects", hash[:2], hash[2:]))
	if err != nil {
		return nil, fmt.Errorf("its contents cannot be read: %w", err)
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != hash {
		return nil, errors.New("its contents in the journal are damaged")
	}
	return data, nil
}

// Turns are the turns that changed something, oldest first. If several have the
// same id, it stands for the newest; the others have an id with a suffix.
func (j *Journal) Turns() []Turn {
	j.mu.Lock()
	defer j.mu.Unlock()
	var all []Turn
	taken := map[string]bool{}
	for _, t := range slices.Backward(j.turns) {
		if len(t.Changes) > 0 {
			c := *t
			c.Changes = slices.Clone(t.Changes)
			if taken[c.ID] {
				c.ID = t.fullID()
			}
			taken[c.ID] = true
			all = append(all, c)
		}
	}
	slices.Reverse(all)
	return all
}

func (t *Turn) fullID() string { return t.ID + "@" + t.key }

// find gives the index of a turn that changed something, -1 if there is none.
func (j *Journal) find(id string) int {
	for i, t := range slices.Backward(j.turns) {
		if len(t.Changes) > 0 && (t.ID == id || t.fullID() == id) {
			return i
		}
	}
	return -1
}

// StateOf looks at a path now. Contents of files are kept, so that the state can
// be restored.
func (j *Journal) StateOf(name string) (State, error) {
	info, err := j.root.Lstat(filepath.FromSlash(name))
	if errors.Is(err, fs.ErrNotExist) || isNotDir(err) {
		return State{}, nil
	}
	if err != nil {
		return State{}, err
	}
	return j.stateOf(name, info, &j.store)
}

// isNotDir reports that a parent of a path is a file: the path does not exist.
func isNotDir(err error) bool {
	return err != nil && strings.Contains(err.Error(), "not a directory")
}

// stateOf gives the state of a path and keeps its contents within the limits.
func (j *Journal) stateOf(name string, info fs.FileInfo, budget *int64) (State, error) {
	s := State{Mode: info.Mode().Perm()}
	switch {
	case info.IsDir():
		s.Kind = "dir"
		return s, nil
	case info.Mode()&fs.ModeSymlink != 0:
		s.Kind = "link"
		to, err := j.root.Readlink(filepath.FromSlash(name))
		s.Link = to
		return s, err
	case !info.Mode().IsRegular():
		s.Kind, s.Lost = "other", "not a regular file"
		return s, nil
	}
	s.Kind = "file"
	if info.Size() > MaxFile {
		s.Lost = fmt.Sprintf("larger than %d MB: not kept", MaxFile>>20)
		s.Hash = fmt.Sprintf("size %d, changed %d", info.Size(), info.ModTime().UnixNano())
		return s, nil
	}
	data, _, err := rootfile.Read(j.root, filepath.FromSlash(name), MaxFile)
	if err != nil {
		return s, err
	}
	if *budget+int64(len(data)) > MaxStore {
		sum := sha256.Sum256(data)
		s.Hash, s.Lost = hex.EncodeToString(sum[:]), fmt.Sprintf("the %d MB that are kept of this folder are full", MaxStore>>20)
		return s, nil
	}
	*budget += int64(len(data))
	s.Hash, err = j.Put(data)
	return s, err
}

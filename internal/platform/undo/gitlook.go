package undo

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/platform/git"
	"github.com/burin-dev/burin/internal/platform/undo/rootfile"
)

// What is kept of git: HEAD, all refs, the index, and the small files that say
// which operation is under way, what is stashed and how branches are set up. That
// is read without git, through the root, at each look.
//
// Only a ".git" folder of the watched folder itself is read. Linked work trees
// share their refs with others, who may use them at the same time, and so do
// submodules and parts of a repository: there, git's state is left to git, as it
// is with the reftable format and the split index.
const gitDir = ".git"

// The kinds of states that only git has.
const (
	kindRef   = "ref"
	kindIndex = "index"
	kindPlain = "plain"      // a small file
	kindRepo  = "repository" // the folder itself, which is not kept
)

// maxGitFile is the size in bytes of what is read of git; maxRefs the number of
// refs. A repository with more is left to git.
const (
	maxGitFile = 64 << 20
	maxRefs    = 50_000
)

// plainFiles are those of git that are kept as they are.
var plainFiles = []string{
	"config", "MERGE_HEAD", "MERGE_MSG", "MERGE_MODE", "CHERRY_PICK_HEAD", "REVERT_HEAD", "logs/refs/stash",
}

// repository is what a look saw of git.
type repository struct {
	exists bool
	known  bool // states say everything
	states map[string]State
	files  map[string]gitFile // what was read, by path
}

// gitFile is a file of git with its stat.
type gitFile struct {
	stat  rootfile.Stat
	fresh bool
	state State
	refs  map[string]string // of packed-refs
}

// since gives what changed of git since an earlier look.
func (r *repository) since(old *repository) []Change {
	if r == nil || old == nil {
		return nil
	}
	if r.exists != old.exists {
		kind := map[bool]State{true: {Kind: kindRepo, Lost: "git's folder itself is not kept"}}
		return []Change{{Path: gitDir, Before: kind[old.exists], After: kind[r.exists]}}
	}
	if !r.known || !old.known {
		return nil
	}
	var changes []Change
	for p, now := range r.states {
		if was := old.states[p]; !was.same(now) {
			changes = append(changes, Change{Path: p, Before: was, After: now})
		}
	}
	for p, was := range old.states {
		if _, ok := r.states[p]; !ok {
			changes = append(changes, Change{Path: p, Before: was})
		}
	}
	return changes
}

// gitReader reads a repository.
type gitReader struct {
	*repository
	root  *os.Root
	store *store
	last  map[string]gitFile
	began time.Time
}

var errUnknown = errors.New("this repository is left to git")

// lookAtGit reads the repository. Files that have the stat they had at the last
// look are not read again.
func (f *folder) lookAtGit(ctx context.Context, last *repository) *repository {
	r := &gitReader{repository: &repository{states: map[string]State{}, files: map[string]gitFile{}}, root: f.root, store: f.store, began: time.Now()}
	if last != nil {
		r.last = last.files
	}
	info, err := f.root.Lstat(gitDir)
	if err != nil || !info.IsDir() {
		r.exists = err == nil
		return r.repository
	}
	r.exists = true
	for _, unknown := range []string{"commondir", "reftable"} {
		if _, err := f.root.Lstat(filepath.Join(gitDir, unknown)); err == nil {
			return r.repository
		}
	}
	r.known = errors.Join(r.head(), r.packed(), r.loose(ctx, "refs"), r.index(), r.plain()) == nil
	return r.repository
}

// read gives a file of git and what it was made into at the last look. data is nil
// if the file need not be read again, or is not there; ok says which.
func (r *gitReader) read(name string) (data []byte, f gitFile, ok bool, err error) {
	file := filepath.FromSlash(gitDir + "/" + name)
	info, err := r.root.Lstat(file)
	if errors.Is(err, fs.ErrNotExist) || isNotDir(err) {
		return nil, f, false, nil
	}
	if err != nil || !info.Mode().IsRegular() {
		return nil, f, false, errUnknown
	}
	stat := rootfile.StatOf(info)
	if old, ok := r.last[name]; ok && old.stat == stat && !old.fresh {
		r.files[name] = old
		return nil, old, true, nil
	}
	f = gitFile{stat: stat, fresh: r.began.UnixNano()-max(stat.MTime, stat.CTime) < int64(clockTick)}
	data, _, err = rootfile.Read(r.root, file, maxGitFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, f, false, nil
	}
	if data == nil {
		data = []byte{}
	}
	return data, f, err == nil, err
}

// state makes a file one state, with parse.
func (r *gitReader) state(name string, parse func([]byte) (State, error)) error {
	data, f, ok, err := r.read(name)
	if err != nil || !ok {
		return err
	}
	if data != nil {
		if f.state, err = parse(data); err != nil {
			return err
		}
		r.files[name] = f
	}
	r.states[gitDir+"/"+name] = f.state
	return nil
}

func (r *gitReader) head() error { return r.state("HEAD", parseRef) }

// parseRef reads a loose ref.
func parseRef(data []byte) (State, error) {
	link, object, ok := git.ParseRef(string(data))
	if !ok {
		return State{}, errUnknown
	}
	return State{Kind: kindRef, Link: link, Hash: object}, nil
}

// packed reads packed-refs. Loose refs, read later, win.
func (r *gitReader) packed() error {
	data, f, ok, err := r.read("packed-refs")
	if err != nil || !ok {
		return err
	}
	if data != nil {
		if f.refs, err = parsePackedRefs(data); err != nil {
			return err
		}
		r.files["packed-refs"] = f
	}
	for name, id := range f.refs {
		r.states[gitDir+"/"+name] = State{Kind: kindRef, Hash: id}
	}
	return nil
}

// parsePackedRefs reads lines of "<object> <ref>"; "#" begins a comment and "^" the
// object behind a tag.
func parsePackedRefs(data []byte) (map[string]string, error) {
	refs := map[string]string{}
	for line := range bytes.Lines(data) {
		text := strings.TrimSuffix(string(line), "\n")
		if text == "" || text[0] == '#' || text[0] == '^' {
			continue
		}
		id, name, ok := strings.Cut(text, " ")
		if !ok || !git.IsObjectID(id) || !strings.HasPrefix(name, "refs/") || !fs.ValidPath(name) || len(refs) == maxRefs {
			return nil, errUnknown
		}
		refs[name] = id
	}
	return refs, nil
}

// loose reads the refs below a folder.
func (r *gitReader) loose(ctx context.Context, dir string) error {
	if ctx.Err() != nil || len(r.states) > maxRefs {
		return errUnknown
	}
	d, err := r.root.Open(filepath.FromSlash(gitDir + "/" + dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return errUnknown
	}
	entries, err := d.ReadDir(-1)
	_ = d.Close()
	if err != nil {
		return errUnknown
	}
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		switch {
		case e.IsDir():
			err = r.loose(ctx, name)
		case strings.HasSuffix(e.Name(), ".lock"): // of a git that is at work
			continue
		default:
			err = r.state(name, parseRef)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *gitReader) plain() error {
	for _, name := range plainFiles {
		err := r.state(name, func(data []byte) (State, error) {
			hash, err := r.store.Put(data)
			return State{Kind: kindPlain, Hash: hash}, err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *gitReader) index() error {
	return r.state("index", func(data []byte) (State, error) {
		what, err := indexContents(data)
		if err != nil {
			return State{}, err
		}
		// An index in which only times changed stays the one that is kept.
		if old, ok := r.last["index"]; ok && old.state.Link == what {
			return old.state, nil
		}
		hash, err := r.store.Put(data)
		return State{Kind: kindIndex, Hash: hash, Link: what}, err
	})
}

// indexContents is a hash of what an index says, without the times and sizes that
// git writes into it to be faster. The format is that of git's
// Documentation/gitformat-index.txt, versions 2 to 4. An index that is split, or
// anything else, is an error.
func indexContents(data []byte) (string, error) {
	const header, statLen = 12, 40
	if len(data) < header || string(data[:4]) != "DIRC" {
		return "", errUnknown
	}
	version, count := be32(data[4:]), be32(data[8:])
	for _, idLen := range []int{20, 32} { // SHA-1, SHA-256: the one that fits
		h := sha256.New()
		at, ok := header, version >= 2 && version <= 4
		for range count {
			n := 0
			if ok {
				n = indexEntry(data[at:], statLen, idLen, version)
			}
			if n <= 0 {
				ok = false
				break
			}
			e := data[at : at+n]
			h.Write(e[24:28]) // mode
			h.Write(e[statLen:])
			at += n
		}
		if ok && indexTail(data[at:], idLen) {
			return hex.EncodeToString(h.Sum(nil)), nil
		}
	}
	return "", errUnknown
}

func be32(b []byte) uint32 {
	return uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
}

// indexEntry gives the length of the entry that data begins with; 0 is none.
func indexEntry(data []byte, statLen, idLen int, version uint32) int {
	at := statLen + idLen + 2
	if len(data) < at {
		return 0
	}
	if data[at-2]&0x40 != 0 { // extended flags
		if version < 3 {
			return 0
		}
		at += 2
	}
	if version == 4 { // how much of the last name to cut, as a number of varying length
		for at < len(data) && data[at]&0x80 != 0 {
			at++
		}
		at++
	}
	if at >= len(data) {
		return 0
	}
	end := bytes.IndexByte(data[at:], 0)
	if end < 0 {
		return 0
	}
	n := at + end + 1
	if version < 4 {
		n = (at + end + 8) &^ 7
	}
	if n > len(data) {
		return 0
	}
	return n
}

// indexTail reports whether data is extensions and a checksum, and no extension
// makes the index unlike others.
func indexTail(data []byte, idLen int) bool {
	for len(data) > idLen {
		if len(data) < 8+idLen || string(data[:4]) == "link" {
			return false
		}
		n := int64(be32(data[4:]))
		if n > int64(len(data)-8-idLen) {
			return false
		}
		data = data[8+n:]
	}
	return len(data) == idLen
}

// stashLog holds the older stashes. Git writes it with the ref.
const stashLog = gitDir + "/logs/refs/stash"

// gitChanges are the changes of a turn that concern git.
func gitChanges(all []Change) []Change {
	return slices.DeleteFunc(slices.Clone(all), func(c Change) bool { return !isGit(c.Path) })
}

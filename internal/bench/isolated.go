package bench

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/burin-dev/burin/internal/platform/isolate"
	"github.com/burin-dev/burin/internal/platform/smallfile"
	"github.com/burin-dev/burin/internal/platform/workspace"
	"github.com/burin-dev/burin/internal/prose"
)

// Isolator makes folders in which agents work by themselves.
type Isolator struct {
	under, mode string
	warn        func(string)
	prune       sync.Once
	merging     sync.Mutex // held while the changes of one are brought back
}

// NewIsolator makes one. Folders are made in the data folder; mode is one of package isolate's.
func NewIsolator(data, mode string, warn func(string)) *Isolator {
	return &Isolator{under: filepath.Join(data, "isolated"), mode: mode, warn: warn}
}

// Isolated is the folder of one agent.
type Isolated struct {
	*isolate.Folder
	of *Isolator
}

// keepLeft is how long the folder of an agent is kept whose burin was killed, so that the agent can
// be asked to go on.
const keepLeft = 7 * 24 * time.Hour

// Open makes a folder with the files of a workspace as they are; or opens the one with the id left,
// which a killed burin has left, if it is there.
func (i *Isolator) Open(ctx context.Context, dir, name, left string) (*Isolated, error) {
	i.prune.Do(func() {
		if err := isolate.Prune(i.under, keepLeft); err != nil {
			i.warn("folders of agents whose burin is gone could not be removed: " + err.Error())
		}
	})
	o := isolate.Options{Dir: dir, Under: i.under, Mode: i.mode, Name: name}
	f, err := isolate.Adopt(ctx, left, o)
	if errors.Is(err, isolate.ErrGone) {
		f, err = isolate.Open(ctx, o)
	}
	if err != nil {
		return nil, err
	}
	return &Isolated{f, i}, nil
}

// Brought is what became of the changes of an isolated agent.
type Brought struct {
	Notes  []string // for the session
	Patch  string   // the file with all changes
	Branch string
}

// BringBack gives the changes to the session that lent its workspace, and removes the folder, unless
// keep is true: then the agent goes on there. They become changes of files in the undo turn that is
// open, or a branch of that name. What does not fit is said; patch is the file where all of it
// goes, "" is none. A file and a branch that are there get a number.
func (f *Isolated) BringBack(ctx context.Context, to *Lent, patch, branch, message string, keep bool) (b Brought, err error) {
	defer func() {
		switch {
		case !keep:
			err = errors.Join(err, f.Close())
		case branch == "" && err == nil: // a later branch has all of it
			err = f.Rebase(ctx)
		}
	}()
	all, err := f.Patch(ctx)
	if err != nil || len(all) == 0 {
		return b, err
	}
	if patch != "" {
		patch = freeFile(patch)
		if err := smallfile.Replace(patch, all); err != nil {
			return b, err
		}
		b.Patch = patch
	}
	f.of.merging.Lock()
	defer f.of.merging.Unlock()
	if branch != "" {
		made, commit, err := f.Branch(ctx, branch, message)
		if err != nil {
			return b, err
		}
		b.Branch = made
		b.Notes = []string{fmt.Sprintf("Its changes are on the branch %s (%s); the files here are as they were.", made, prose.Head(commit, 12))}
		return b, nil
	}
	return b, f.merge(ctx, to, &b)
}

// freeFile is a path that is not there yet: the wanted one, or with a number.
func freeFile(path string) string {
	ending := filepath.Ext(path)
	free := path
	for n := 2; ; n++ {
		if _, err := os.Lstat(free); errors.Is(err, fs.ErrNotExist) {
			return free
		}
		free = fmt.Sprintf("%s-%d%s", strings.TrimSuffix(path, ending), n, ending)
	}
}

// merge writes the changes that fit.
func (f *Isolated) merge(ctx context.Context, to *Lent, b *Brought) error {
	changes, err := f.Changes(ctx)
	if err != nil {
		return err
	}
	ws := to.seat.ws
	read := isolate.Reader(ws.Dir())
	merged, err := isolate.Merge(changes, read)
	if err != nil {
		return err
	}
	var writes []workspace.Change
	var names, left []string
	why := unwritable(merged.Writes, read)
	for _, w := range merged.Writes {
		if why[w.Path] != "" {
			left = append(left, fmt.Sprintf("%s (%s)", w.Path, why[w.Path]))
			continue
		}
		before, perm, err := read(w.Path)
		switch {
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			left = append(left, fmt.Sprintf("%s (%v)", w.Path, err)) // it has changed just now
			continue
		case err == nil && before == nil:
			before = []byte{}
		}
		after := w.Data
		if w.Delete {
			after = nil
		} else if after == nil {
			after = []byte{}
		}
		c := workspace.Change{Path: w.Path, Before: before, After: after, Mode: w.Mode}
		if w.Chmod && perm != 0 {
			c.Chmod = executable(perm, w.Mode&0o100 != 0)
		}
		writes = append(writes, c)
		names = append(names, w.Path)
	}
	if len(writes) > 0 {
		if err := ws.Commit(ctx, writes); err != nil {
			return err
		}
		to.seat.cache.Invalidate(to.seat.dir)
		b.Notes = append(b.Notes, fmt.Sprintf("Its changes of %s were brought back: %s.", prose.Count(len(names), "file"), prose.Short(strings.Join(names, ", "), 1000)))
	}
	for _, x := range merged.Conflicts {
		note := fmt.Sprintf("Not brought back: %s: %s.", x.Path, x.Why)
		if x.Text != nil {
			note += " With both versions:\n" + prose.Head(string(x.Text), maxConflict)
		}
		b.Notes = append(b.Notes, note)
	}
	if len(left) > 0 {
		b.Notes = append(b.Notes, "Not brought back: "+strings.Join(left, ", ")+".")
	}
	if b.Patch != "" && len(merged.Conflicts)+len(left) > 0 {
		b.Notes = append(b.Notes, "All its changes are in the patch "+b.Patch)
	}
	return nil
}

// unwritable says which of the writes a commit can't make, and why: links, and files that take the
// place of a folder or the other way around. What was deleted to make room for these stays, too.
func unwritable(writes []isolate.Write, read func(string) ([]byte, fs.FileMode, error)) map[string]string {
	why := map[string]string{}
	within := func(name, dir string) bool { return strings.HasPrefix(name, dir+"/") }
	for _, w := range writes {
		_, _, err := read(w.Path)
		if w.Mode&fs.ModeSymlink != 0 || errors.As(err, new(*isolate.Link)) {
			why[w.Path] = "a link"
		}
		for _, gone := range writes {
			if w.Delete || !gone.Delete {
				continue
			}
			words := ""
			switch {
			case within(gone.Path, w.Path) && err != nil: // the folder is there, or a link to one
				words = "a file in the place of a folder"
			case within(w.Path, gone.Path):
				words = "a folder in the place of a file"
			default:
				continue
			}
			if why[w.Path] == "" {
				why[w.Path] = words
			}
			why[gone.Path] = words
		}
	}
	return why
}

// executable gives the right to execute to whoever may read, or takes it from all.
func executable(perm fs.FileMode, yes bool) fs.FileMode {
	if yes {
		return perm | perm&0o444>>2
	}
	return perm &^ 0o111
}

// maxConflict is how many characters of a conflict the session reads.
const maxConflict = 4000

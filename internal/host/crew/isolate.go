package crew

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/burin-dev/burin/internal/platform/isolate"
	"github.com/burin-dev/burin/internal/platform/smallfile"
	"github.com/burin-dev/burin/internal/platform/workspace"
	"github.com/burin-dev/burin/internal/prose"
)

// Folder is a folder of its own for an agent.
type Folder interface {
	Dir() string
	// Patch is what was changed in it.
	Patch(ctx context.Context) ([]byte, error)
	Changes(ctx context.Context) ([]isolate.Change, error)
	// Branch puts the changes on a new branch.
	Branch(ctx context.Context, name, message string, author ...string) (commit string, err error)
	Close() error
}

// bringBack gives the changes of an isolated agent to its session: as changes of files, in the
// undo turn that is open, or as a branch. What doesn't fit is left in the patch, and said.
func (m *member) bringBack(ctx context.Context, f Folder) (notes []string, err error) {
	defer func() {
		m.mu.Lock()
		m.dir = ""
		m.mu.Unlock()
		err = errors.Join(err, f.Close())
	}()
	patch, err := f.Patch(ctx)
	if err != nil || len(patch) == 0 {
		return nil, err
	}
	if m.file != "" {
		path := strings.TrimSuffix(m.file, ".jsonl") + ".patch"
		if err := smallfile.Replace(path, patch); err != nil {
			return nil, err
		}
		m.mu.Lock()
		m.patch = path
		m.mu.Unlock()
	}
	m.crew.merging.Lock()
	defer m.crew.merging.Unlock()
	if m.crew.o.Limits.Merge == "branch" {
		name := "burin/task/" + strings.ReplaceAll(m.id, ".", "/")
		commit, err := f.Branch(ctx, name, prose.Head(m.id+": "+m.row().Task, 200))
		if err != nil {
			return nil, err
		}
		m.mu.Lock()
		m.branch = name
		m.mu.Unlock()
		return []string{fmt.Sprintf("Its changes are on the branch %s (%s); the files here are as they were.", name, prose.Head(commit, 12))}, nil
	}
	return m.merge(ctx, f)
}

// merge writes the changes that fit.
func (m *member) merge(ctx context.Context, f Folder) (notes []string, err error) {
	changes, err := f.Changes(ctx)
	if err != nil {
		return nil, err
	}
	c := m.crew
	c.mu.Lock()
	lent := c.lent
	c.mu.Unlock()
	ws := lent.Workspace()
	read := isolate.Reader(ws.Dir())
	merged, err := isolate.Merge(changes, read)
	if err != nil {
		return nil, err
	}
	var writes []workspace.Change
	var by []string // hand
	for _, w := range merged.Writes {
		before, err := read(w.Path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) || w.Mode&fs.ModeSymlink != 0 {
			by = append(by, w.Path+" (a link)")
			continue
		}
		if errors.Is(err, fs.ErrNotExist) {
			before = nil
		} else if before == nil {
			before = []byte{}
		}
		after := w.Data
		if after == nil && !w.Delete {
			after = []byte{}
		}
		if w.Delete {
			after = nil
		}
		writes = append(writes, workspace.Change{Path: w.Path, Before: before, After: after, Mode: w.Mode})
	}
	if len(writes) > 0 {
		if err := ws.Commit(ctx, writes); err != nil {
			return nil, fmt.Errorf("%w; the patch %s has them", err, m.patch)
		}
		lent.Outdate()
		var names []string
		for _, w := range writes {
			names = append(names, w.Path)
		}
		notes = append(notes, fmt.Sprintf("Its changes of %s were brought back: %s.", prose.Count(len(names), "file"), prose.Short(strings.Join(names, ", "), 1000)))
	}
	for _, x := range merged.Conflicts {
		note := fmt.Sprintf("Not brought back: %s: %s.", x.Path, x.Why)
		if x.Text != nil {
			note += " With both versions:\n" + prose.Head(string(x.Text), maxConflict)
		}
		notes = append(notes, note)
	}
	if len(by) > 0 {
		notes = append(notes, "Not brought back: "+strings.Join(by, ", ")+".")
	}
	if m.patch != "" && len(merged.Conflicts)+len(by) > 0 {
		notes = append(notes, "All its changes are in the patch "+m.patch)
	}
	return notes, nil
}

// maxConflict is how many characters of a conflict the session reads.
const maxConflict = 4000

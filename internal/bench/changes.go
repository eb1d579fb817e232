package bench

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/burin-dev/burin/internal/platform/edit"
	"github.com/burin-dev/burin/internal/platform/undo"
	"github.com/burin-dev/burin/internal/platform/workspace"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/tool/change"
)

// Changes are what sessions have changed in a workspace, by turn.
type Changes struct {
	ws      *workspace.Workspace
	changed func() // tells that files may have changed; nil: nobody wants to know
}

var _ session.Changes = (*Changes)(nil)

// OpenChanges opens the undo journal of the workspace dir. The caller closes it.
func OpenChanges(dir, stateDir string) (*Changes, error) {
	dir, err := realDir(dir)
	if err != nil {
		return nil, err
	}
	if stateDir == "" {
		return nil, errors.New("no undo journal is kept without a data folder")
	}
	ws, err := workspace.Open(dir, workspace.Options{StateDir: filepath.Join(stateDir, "undo")})
	if err != nil {
		return nil, err
	}
	return &Changes{ws: ws}, nil
}

// Close closes a journal of OpenChanges.
func (c *Changes) Close() error { return c.ws.Close() }

// Turns implements [session.Changes].
func (c *Changes) Turns(context.Context) ([]change.Turn, error) { return c.ws.Turns() }

// Preview implements [session.Changes].
func (c *Changes) Preview(ctx context.Context, turn string) ([]change.Planned, error) {
	return c.ws.PreviewUndo(ctx, turn)
}

// maxFiles and maxDiffs limit what is shown of a turn.
const (
	maxFiles = 500
	maxDiffs = 2 << 20 // bytes of all diffs
)

// Diff implements [session.Changes].
func (c *Changes) Diff(ctx context.Context, turn string) ([]change.Diff, error) {
	found, err := c.ws.Contents(ctx, turn)
	if err != nil {
		return nil, err
	}
	var all []change.Diff
	size := 0
	for i, f := range found {
		d := change.Diff{Path: f.Path, Created: f.Before == nil, Deleted: f.After == nil, Why: f.Why}
		switch {
		case i >= maxFiles || size > maxDiffs:
			d.Why = "too much changed to show all of it"
		case f.Why == "":
			d.Diff, d.Added, d.Removed = edit.Diff(f.Path, f.Before, f.After)
		}
		if d.Why != "" {
			d.Created, d.Deleted = false, false
		}
		size += len(d.Diff)
		all = append(all, d)
	}
	return all, nil
}

// Undo implements [session.Changes].
func (c *Changes) Undo(ctx context.Context, turn string) (*change.Undone, error) {
	done, err := c.ws.Undo(ctx, turn)
	if c.changed != nil {
		c.changed()
	}
	return done, err
}

// What is searched for in undo journals, and what was found.
type (
	Scrubber = undo.Scrubber
	Scrubbed = undo.Scrubbed
)

// Journals are the folders of the undo journals in a data folder: that of the workspace
// dir, or with an empty dir all.
func Journals(stateDir, dir string) ([]string, error) {
	return workspace.Journals(filepath.Join(stateDir, "undo"), dir)
}

// ScrubJournal finds secrets in an undo journal, and takes them out if s says so.
func ScrubJournal(ctx context.Context, journal string, s Scrubber) (Scrubbed, error) {
	return undo.Scrub(ctx, journal, s)
}

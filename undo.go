package burin

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/burin-dev/burin/internal/platform/workspace"
)

// What the undo journal says.
type (
	// Turn is a prompt and what was changed for it.
	Turn = workspace.Turn
	// PlannedUndo is a path with what an undo would do with it.
	PlannedUndo = workspace.Planned
	// Undone is what an undo did.
	Undone = workspace.Undone
)

// Changes are what sessions have changed in a workspace, by turn.
type Changes struct{ ws *workspace.Workspace }

// OpenChanges opens the undo journal of the workspace dir. The caller closes it.
func OpenChanges(dir, stateDir string) (*Changes, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("find the workspace: %w", err)
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return nil, fmt.Errorf("open the workspace: %w", err)
	}
	if stateDir == "" {
		return nil, errors.New("no undo journal is kept without a data folder")
	}
	ws, err := workspace.Open(dir, workspace.Options{StateDir: filepath.Join(stateDir, "undo")})
	if err != nil {
		return nil, err
	}
	return &Changes{ws}, nil
}

// Turns are the turns that changed something, newest first.
func (c *Changes) Turns() ([]Turn, error) { return c.ws.Turns() }

// Preview says what Undo would do with each path of a turn, and does nothing.
func (c *Changes) Preview(ctx context.Context, turn string) ([]PlannedUndo, error) {
	return c.ws.PreviewUndo(ctx, turn)
}

// Undo restores what a turn changed; of a turn that is undone it brings the changes
// back. What someone changed since is left as it is and reported.
func (c *Changes) Undo(ctx context.Context, turn string) (*Undone, error) {
	return c.ws.Undo(ctx, turn)
}

// Close closes the journal.
func (c *Changes) Close() error { return c.ws.Close() }

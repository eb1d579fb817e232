package archive

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/burin-dev/burin/transcript"
	"github.com/burin-dev/burin/transcript/place"
)

// Rename names a session. Secrets in the name are hidden.
func (a *Archive) Rename(ctx context.Context, which, title string) error {
	file, err := a.Find(ctx, which)
	if err != nil {
		return err
	}
	if title, err = a.Hide(title); err != nil {
		return err
	}
	if !sealedSession(file) && !place.Parse(file).SQL {
		return Explain(file, transcript.Rename(file, title))
	}
	l, _, err := place.Open(ctx, file, a.keys(ctx), transcript.Options{})
	if err != nil {
		return Explain(file, err)
	}
	return Explain(file, errors.Join(l.Rename(title), l.Close()))
}

// Moved is where a session has gone.
type Moved struct {
	ID, File string
	Dir      string // the folder that it belongs to now
}

// Move lets a session belong to another folder.
func (a *Archive) Move(ctx context.Context, which, dir string) (Moved, error) {
	file, err := a.Find(ctx, which)
	if err != nil {
		return Moved{}, err
	}
	if err := inDatabase(file); err != nil {
		return Moved{}, err
	}
	if err := listable(file); err != nil {
		return Moved{}, err
	}
	if !IsDir(dir) {
		return Moved{}, usagef("%q is not a folder", dir)
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return Moved{}, fmt.Errorf("find the folder: %w", err)
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return Moved{}, fmt.Errorf("find the folder: %w", err)
	}
	path, err := transcript.Move(file, a.root, dir)
	if err != nil {
		return Moved{}, Explain(file, err)
	}
	return Moved{ID: trashID(path), File: path, Dir: dir}, nil
}

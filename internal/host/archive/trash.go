package archive

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/burin-dev/burin/internal/host/words"
	"github.com/burin-dev/burin/transcript"
	"github.com/burin-dev/burin/transcript/index"
	"github.com/burin-dev/burin/transcript/place"
)

// oneListed is the session of a database that a name means. What is deleted must be
// named, unless there is only one.
func oneListed(n place.Name, list []place.Listed) (place.Name, error) {
	db := place.Name{File: n.File, SQL: true}
	switch {
	case n.Session != "":
		if slices.ContainsFunc(list, func(l place.Listed) bool { return l.Name.Session == n.Session }) {
			return n, nil
		}
		return n, fmt.Errorf("no session %q in %s: burin sessions list %s lists them", n.Session, words.ShortPath(n.File), words.ShortPath(db.String()))
	case len(list) == 0:
		return n, fmt.Errorf("no sessions in %s", words.ShortPath(n.File))
	case len(list) == 1:
		return list[0].Name, nil
	}
	return n, usagef("there are %d sessions in %s: say which, as in %s; burin sessions list %s lists them", len(list), words.ShortPath(n.File), words.ShortPath(list[0].Name.String()), words.ShortPath(db.String()))
}

// oneTrashed is the file of the one session in the trash that a word names. Only a path
// tells apart what was deleted twice.
func oneTrashed(which string, list []index.Info) (string, error) {
	if named, err := os.Stat(which); err == nil && isPath(which) {
		for _, s := range list {
			if info, err := os.Stat(s.Path); err == nil && os.SameFile(named, info) {
				return s.Path, nil
			}
		}
	}
	return oneOf(which, list)
}

// Deleted is a session that was thrown away.
type Deleted struct {
	File     string // its own, as it was
	Name     string // that brings it back; "" if it is gone for good
	Database bool   // it is in the trash of its database
}

// Delete moves a session to the trash, or, of a database, to the trash of that. forGood
// is asked before it is deleted for good instead; its error is passed on. Nil: it goes to
// the trash.
func (a *Archive) Delete(ctx context.Context, which string, forGood func(index.Info) error) (Deleted, error) {
	file, err := a.Find(ctx, which)
	if err != nil {
		return Deleted{}, err
	}
	if n := place.Parse(file); n.SQL {
		return deleteInDatabase(ctx, n, forGood != nil)
	}
	if err := listable(file); err != nil {
		return Deleted{}, err
	}
	if forGood != nil {
		info, _ := index.Read(file) // an empty one has no title and is deleted too
		if err := forGood(info); err != nil {
			return Deleted{}, err
		}
	}
	trashed, err := transcript.Trash(file, a.trash)
	if err != nil {
		return Deleted{}, Explain(file, err)
	}
	if forGood == nil {
		return Deleted{File: file, Name: trashID(trashed)}, nil
	}
	if err := os.RemoveAll(filepath.Dir(trashed)); err != nil {
		return Deleted{}, fmt.Errorf("session %s is in the trash, but could not be deleted: %w", trashed, err)
	}
	return Deleted{File: file}, nil
}

// deleteInDatabase moves a session to the trash of its database. There is no way to
// delete one of them for good: a database is emptied as a whole or not at all.
func deleteInDatabase(ctx context.Context, n place.Name, force bool) (Deleted, error) {
	if force {
		return Deleted{}, usagef("--force is not for sessions in a database: without it %s goes to the trash in that database", words.ShortPath(n.String()))
	}
	list, err := place.List(ctx, n.File)
	if err != nil {
		return Deleted{}, Explain(n.String(), err)
	}
	if n, err = oneListed(n, list); err != nil {
		return Deleted{}, err
	}
	if err := place.Trash(ctx, n); err != nil {
		return Deleted{}, Explain(n.String(), err)
	}
	return Deleted{File: n.String(), Name: n.String(), Database: true}, nil
}

// Trash lists what is in the trash.
func (a *Archive) Trash(ctx context.Context) ([]index.Info, error) {
	return index.List(ctx, a.trash, index.ListOptions{})
}

// TrashOf lists what is in the trash of a database.
func (a *Archive) TrashOf(ctx context.Context, database string) ([]place.Listed, error) {
	n, err := place.Parse(database).Abs()
	if err != nil {
		return nil, err
	}
	if !n.Exists() {
		return nil, noDatabase(n)
	}
	list, err := place.Trashed(ctx, n.File)
	if err != nil {
		return nil, Explain(n.String(), err)
	}
	return list, nil
}

// Restore takes a session back from the trash to where it was, and says where. What lies
// there twice is named by its file.
func (a *Archive) Restore(ctx context.Context, which string) (string, error) {
	if n := place.Parse(which); n.SQL {
		return a.restoreInDatabase(ctx, n)
	}
	list, err := a.Trash(ctx)
	if err != nil {
		return "", err
	}
	trashed, err := oneTrashed(which, list)
	if _, ambiguous := errors.AsType[UsageError](err); err != nil && !ambiguous {
		return "", fmt.Errorf("no session %q in the trash: burin sessions restore lists them", which)
	}
	if err != nil {
		return "", err
	}
	path, err := transcript.Restore(trashed)
	if errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("%w: delete or move that one first", err)
	}
	return path, err
}

// restoreInDatabase takes a session back from the trash of its database.
func (a *Archive) restoreInDatabase(ctx context.Context, n place.Name) (string, error) {
	list, err := a.TrashOf(ctx, n.String())
	if err != nil {
		return "", err
	}
	if n, err = n.Abs(); err != nil {
		return "", err
	}
	if !slices.ContainsFunc(list, func(l place.Listed) bool { return l.Name.Session == n.Session }) {
		db := place.Name{File: n.File, SQL: true}
		return "", fmt.Errorf("no session %q in the trash of %s: burin sessions restore %s lists what is there", n.Session, words.ShortPath(n.File), words.ShortPath(db.String()))
	}
	if err := place.Restore(ctx, n); err != nil {
		return "", Explain(n.String(), err)
	}
	return n.String(), nil
}

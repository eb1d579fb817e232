package place

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/burin-dev/burin/transcript/sqlstore"
)

// Trash moves a session of a database to the trash in that database: nothing of it is
// lost, and [Restore] takes it back. It fails with [transcript.ErrLocked] while another
// process writes the session. The name says which session of the database it is.
func Trash(ctx context.Context, n Name) error {
	return change(ctx, n, func(db *database) changer { return db.trash })
}

// Restore takes a session of a database back from the trash in it.
func Restore(ctx context.Context, n Name) error {
	return change(ctx, n, func(db *database) changer { return db.restore })
}

// changer changes a session of a database.
type changer = func(context.Context, *sql.DB, string) error

func change(ctx context.Context, n Name, which func(*database) changer) error {
	db, err := openDB(ctx, n, writing)
	if err != nil {
		return err
	}
	return errors.Join(which(db)(ctx, db.DB, n.Session), db.Close())
}

// Trashed returns the sessions in the trash of a database, the last changed first.
// Updated is when each was moved there.
func Trashed(ctx context.Context, file string) ([]Listed, error) {
	return list(ctx, named(file), func(i *sqlstore.Info) (time.Time, bool) { return i.Trashed, !i.Trashed.IsZero() })
}

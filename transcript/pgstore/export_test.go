package pgstore

import (
	"context"
	"database/sql"
	"time"
)

// OpenFor is Open with a lease of that length.
func OpenFor(ctx context.Context, db *sql.DB, session string, lease time.Duration) (*Store, error) {
	return open(ctx, db, session, lease)
}

// Abandon ends what a store does by itself, as the end of the process does.
func Abandon(s *Store) {
	s.lease.stop()
	<-s.lease.done
}

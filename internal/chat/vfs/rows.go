package vfs

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/burin-dev/burin/internal/chat/store"
	"github.com/burin-dev/burin/internal/chat/vault"
)

// rows are those of a project, with the keys to them.
type rows struct {
	db      *store.DB
	project string
	ring    *vault.Ring
}

// delta is what has changed in a tree.
type delta struct {
	revision, purged, last, bytes int64
	nodes                         []*node
}

// delta reads what has changed since a revision, in one statement, so that it is of one moment.
func (r rows) delta(ctx context.Context, q store.Querier, since int64) (d delta, err error) {
	d.revision = -1
	found, err := q.Query(ctx, `SELECT p.revision, p.purged, p.last, p.bytes, n.node, n.parent, n.version, n.oldest, n.deleted, n.sealed
		FROM {vfs_projects} p LEFT JOIN {vfs_nodes} n ON n.project = p.project AND n.revision > ?2 WHERE p.project = ?1`, r.project, since)
	if err != nil {
		return d, fmt.Errorf("read the files of the project: %w", err)
	}
	defer found.Close()
	var id, parent, version, oldest, deleted sql.NullInt64
	var sealed sql.RawBytes
	for found.Next() {
		if err := found.Scan(&d.revision, &d.purged, &d.last, &d.bytes, &id, &parent, &version, &oldest, &deleted, &sealed); err != nil {
			return d, fmt.Errorf("read the files of the project: %w", err)
		}
		if !id.Valid {
			continue
		}
		n := &node{id: id.Int64, parent: parent.Int64, version: version.Int64, oldest: oldest.Int64, deleted: deleted.Int64 != 0}
		record, err := r.ring.Open(n.place(r.project), sealed)
		if err == nil {
			err = n.read(record)
		}
		if err != nil {
			return d, fmt.Errorf("%w: %w", ErrUnreadable, err)
		}
		d.nodes = append(d.nodes, n)
	}
	if err := found.Err(); err != nil {
		return d, fmt.Errorf("read the files of the project: %w", err)
	}
	if d.revision < 0 {
		return d, ErrProject
	}
	return d, nil
}

// serve makes a transaction wait for the row of the project, as one that is serializable would
// be too old after it has waited, again and again while another server writes. All that is
// read and written is behind that row.
func (r rows) serve(ctx context.Context, q store.Querier) error {
	if !r.db.Server() {
		return nil
	}
	_, err := q.Exec(ctx, `SET TRANSACTION ISOLATION LEVEL READ COMMITTED`)
	return err
}

// step begins the next revision, if the tree is at one; then nobody else writes until the end of
// the transaction.
func (r rows) step(ctx context.Context, q store.Querier, revision int64) (bool, error) {
	n, err := q.Exec(ctx, `UPDATE {vfs_projects} SET revision = revision + 1 WHERE project = ?1 AND revision = ?2`, r.project, revision)
	return n == 1, err
}

// lock keeps other writers away until the end of the transaction.
func (r rows) lock(ctx context.Context, q store.Querier) error {
	n, err := q.Exec(ctx, `UPDATE {vfs_projects} SET revision = revision WHERE project = ?1`, r.project)
	if err == nil && n == 0 {
		err = ErrProject
	}
	return err
}

// errGone means that a version went while it was to be read: somebody changed the tree.
var errGone = errors.New("the version is not there any more")

func (r rows) content(ctx context.Context, q store.Querier, n *node, version int64) ([]byte, error) {
	var sealed []byte
	err := q.QueryRow(ctx, `SELECT data FROM {vfs_contents} WHERE project = ?1 AND node = ?2 AND version = ?3`, r.project, n.id, version).Scan(&sealed)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, errGone
	}
	if err != nil {
		return nil, fmt.Errorf("read a file of the project: %w", err)
	}
	data, err := r.ring.Open(placed("data", r.project, n.id, version), sealed)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	return data, nil
}

package vfs

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/burin-dev/burin/internal/chat/store"
	"github.com/burin-dev/burin/internal/chat/vault"
)

// resealBytes are those of contents that are sealed again in one transaction, at least one.
const resealBytes = 16 << 20

// Reseal seals again what isn't sealed with the ring's newest key, limit records at most, in one
// transaction. It begins after the place that the last call gave as next, at first "". After the
// last record next is "". Who still has an older ring may have written meanwhile: only a whole
// pass that did nothing means that no older key is in use.
func (s *Store) Reseal(ctx context.Context, project string, ring *vault.Ring, after string, limit int) (next string, n int, err error) {
	limit = max(limit, 1)
	table, place, _ := strings.Cut(after, "/")
	of := rows{s.db, project, ring}
	err = s.db.Update(ctx, func(q store.Querier) (err error) {
		if err := of.serve(ctx, q); err != nil {
			return err
		}
		if err := of.lock(ctx, q); err != nil {
			return err
		}
		switch table {
		case "", "nodes":
			next, n, err = of.resealNodes(ctx, q, place, limit)
		case "contents":
			next, n, err = of.resealContents(ctx, q, place, limit)
		default:
			err = fmt.Errorf("%q is not a place of a reseal", after)
		}
		return err
	})
	if err != nil {
		return "", 0, fmt.Errorf("seal the files of a project again: %w", err)
	}
	return next, n, nil
}

func (r rows) resealNodes(ctx context.Context, q store.Querier, after string, limit int) (next string, n int, err error) {
	last := int64(-1)
	if after != "" {
		if last, err = strconv.ParseInt(after, 10, 64); err != nil {
			return "", 0, err
		}
	}
	newest := int64(r.ring.Newest())
	found, err := q.Query(ctx, `SELECT node, parent, version, oldest, deleted, sealed FROM {vfs_nodes}
		WHERE project = ?1 AND node > ?2 AND generation <> ?3 ORDER BY node LIMIT ?4`, r.project, last, newest, limit)
	if err != nil {
		return "", 0, err
	}
	defer found.Close()
	sealed, looked := map[int64][]byte{}, 0
	for found.Next() {
		looked++
		var of node
		var deleted int64
		var old []byte
		if err := found.Scan(&of.id, &of.parent, &of.version, &of.oldest, &deleted, &old); err != nil {
			return "", 0, err
		}
		of.deleted = deleted != 0
		last = of.id
		fresh, err := r.reseal(of.place(r.project), old)
		if err != nil && vault.Skip(ctx, err) {
			continue
		}
		if err != nil {
			return "", 0, err
		}
		sealed[of.id] = fresh
	}
	if err := found.Err(); err != nil {
		return "", 0, err
	}
	found.Close()
	for id, now := range sealed {
		if _, err := q.Exec(ctx, `UPDATE {vfs_nodes} SET sealed = ?3, generation = ?4 WHERE project = ?1 AND node = ?2`, r.project, id, now, newest); err != nil {
			return "", 0, err
		}
	}
	if looked < limit {
		return "contents", len(sealed), nil
	}
	return "nodes/" + strconv.FormatInt(last, 10), len(sealed), nil
}

func (r rows) reseal(place string, old []byte) ([]byte, error) {
	data, err := r.ring.Open(place, old)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	return r.ring.Seal(place, data)
}

func (r rows) resealContents(ctx context.Context, q store.Querier, after string, limit int) (next string, n int, err error) {
	lastNode, lastVersion := int64(0), int64(0)
	if after != "" {
		node, version, _ := strings.Cut(after, "/")
		if lastNode, err = strconv.ParseInt(node, 10, 64); err == nil {
			lastVersion, err = strconv.ParseInt(version, 10, 64)
		}
		if err != nil {
			return "", 0, err
		}
	}
	newest, grown := int64(r.ring.Newest()), int64(0)
	looked := 0
	for done := int64(0); looked < limit && done < resealBytes; looked++ {
		found, err := q.Query(ctx, `SELECT node, version, size, facts, data FROM {vfs_contents}
			WHERE project = ?1 AND (node, version) > (?2, ?3) AND generation <> ?4 ORDER BY node, version LIMIT 1`, r.project, lastNode, lastVersion, newest)
		if err != nil {
			return "", 0, err
		}
		var size int64
		var c content
		there := found.Next()
		if there {
			err = found.Scan(&c.node, &c.version, &size, &c.facts, &c.data)
		}
		found.Close()
		if err == nil {
			err = found.Err()
		}
		if err == nil && there {
			lastNode, lastVersion = c.node, c.version
			if c.facts, err = r.reseal(placed("facts", r.project, c.node, c.version), c.facts); err == nil {
				c.data, err = r.reseal(placed("data", r.project, c.node, c.version), c.data)
			}
		}
		if err != nil && there && vault.Skip(ctx, err) {
			done += size
			continue
		}
		if err == nil && there {
			n++
			_, err = q.Exec(ctx, `UPDATE {vfs_contents} SET size = ?4, generation = ?5, facts = ?6, data = ?7 WHERE project = ?1 AND node = ?2 AND version = ?3`,
				r.project, c.node, c.version, c.size(), newest, c.facts, c.data)
		}
		if err != nil {
			return "", 0, err
		}
		if !there {
			return "", n, r.grow(ctx, q, grown)
		}
		done += size
		grown += c.size() - size
	}
	return fmt.Sprintf("contents/%d/%d", lastNode, lastVersion), n, r.grow(ctx, q, grown)
}

func (r rows) grow(ctx context.Context, q store.Querier, bytes int64) error {
	if bytes == 0 {
		return nil
	}
	_, err := q.Exec(ctx, `UPDATE {vfs_projects} SET bytes = bytes + ?2 WHERE project = ?1`, r.project, bytes)
	return err
}

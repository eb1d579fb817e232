package vfs

import (
	"context"
	"errors"
	"fmt"
	"path"
	"time"

	"github.com/aymanbagabas/go-udiff"
)

// Version is one of a file's contents.
type Version struct {
	Number   int64
	Size     int64
	Modified time.Time
	By       Author
}

// Versions are what is kept of a file, newest first: the current one, and those that were written
// over.
func (t *Tree) Versions(ctx context.Context, name string) ([]Version, error) {
	n, err := t.versioned(ctx, name)
	if err != nil {
		return nil, failed("read", name, err)
	}
	rows, err := t.s.db.Query(ctx, `SELECT version, facts FROM {vfs_contents} WHERE project = ?1 AND node = ?2 ORDER BY version DESC`, t.rows.project, n.ID)
	if err != nil {
		return nil, fmt.Errorf("read the versions of a file: %w", err)
	}
	defer rows.Close()
	var all []Version
	for rows.Next() {
		var v Version
		var sealed []byte
		if err := rows.Scan(&v.Number, &sealed); err != nil {
			return nil, fmt.Errorf("read the versions of a file: %w", err)
		}
		facts, err := t.rows.ring.Open(placed("facts", t.rows.project, n.ID, v.Number), sealed)
		if err == nil {
			err = v.readFacts(facts)
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
		}
		all = append(all, v)
	}
	return all, rows.Err()
}

// versioned tells of a file whose versions are wanted. It may be deleted.
func (t *Tree) versioned(ctx context.Context, name string) (Info, error) {
	info, err := t.Peek(ctx, name)
	if err == nil && info.Dir {
		err = NotFile
	}
	return info, err
}

// ReadVersion reads a version of a file, which may be deleted.
func (t *Tree) ReadVersion(ctx context.Context, name string, version int64) ([]byte, error) {
	n, err := t.versioned(ctx, name)
	if err != nil {
		return nil, failed("read", name, err)
	}
	data, err := t.rows.content(ctx, t.s.db, &node{id: n.ID}, version)
	if errors.Is(err, errGone) {
		err = fmt.Errorf("%w: version %d is not kept", NotFound, version)
	}
	return data, failed("read", name, err)
}

// DropVersions removes old versions of a file for good. It keeps so many, with the current one.
func (t *Tree) DropVersions(ctx context.Context, name string, keep int) error {
	if keep < 1 {
		return errors.New("at least the current version is kept: keep 1 or more")
	}
	return t.do(ctx, "write", name, func(e *edit, at string) error {
		n, _, err := e.findAll(at)
		if err != nil {
			return err
		}
		if n.dir {
			return NotFile
		}
		oldest := n.version - int64(keep) + 1
		if oldest <= n.oldest {
			return nil
		}
		kept := *n
		kept.oldest = oldest
		e.dropped[n.id] = oldest
		e.put(&kept)
		return nil
	})
}

// RollBack writes what a file held in a version as a new version.
func (t *Tree) RollBack(ctx context.Context, name string, version int64) (Info, error) {
	return t.file(ctx, "write", name, func(e *edit, at string) (*node, error) {
		n, err := e.find(at)
		if err != nil {
			return nil, err
		}
		if n.dir {
			return nil, NotFile
		}
		if version < n.oldest || version > n.version {
			return nil, fmt.Errorf("%w: version %d is not kept", NotFound, version)
		}
		data, err := t.rows.content(ctx, e.q, n, version)
		if err != nil {
			return nil, err
		}
		return e.file(at, data, n.mode)
	})
}

// Diff compares two versions of a file as a unified diff.
func (t *Tree) Diff(ctx context.Context, name string, before, after int64) (string, error) {
	var texts [2]string
	for i, version := range []int64{before, after} {
		data, err := t.ReadVersion(ctx, name, version)
		if err != nil {
			return "", err
		}
		if typeOf(data) != plainText {
			return "", failed("compare", name, Binary)
		}
		texts[i] = string(data)
	}
	label := path.Base(Clean(name))
	return udiff.Unified(fmt.Sprintf("%s (version %d)", label, before), fmt.Sprintf("%s (version %d)", label, after), texts[0], texts[1]), nil
}

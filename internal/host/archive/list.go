package archive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/burin-dev/burin/internal/host/sessionkey"
	"github.com/burin-dev/burin/internal/host/words"
	"github.com/burin-dev/burin/transcript"
	"github.com/burin-dev/burin/transcript/index"
	"github.com/burin-dev/burin/transcript/place"
	"github.com/burin-dev/burin/transcript/sealed"
	"github.com/burin-dev/burin/transcript/sqlstore"
)

// addNames takes names from the search index, if there is one. A list is whole
// without them.
func (a *Archive) addNames(ctx context.Context, list []index.Info) {
	if _, err := os.Stat(a.index); err != nil {
		return
	}
	ix, err := index.Open(ctx, a.index)
	if err != nil {
		return
	}
	defer ix.Close()
	_ = ix.Names(ctx, list)
}

// List lists sessions, newest first: those of the folder dir, or all where it is "".
// limit is how many at most; 0 is all.
func (a *Archive) List(ctx context.Context, dir string, limit int) ([]index.Info, error) {
	list, err := index.List(ctx, a.root, index.ListOptions{Limit: limit, CWD: dir})
	if err != nil {
		return nil, err
	}
	a.addNames(ctx, list)
	return list, nil
}

// ListDatabase lists the sessions in a database, of whatever folder.
func (a *Archive) ListDatabase(ctx context.Context, file string, limit int) ([]index.Info, error) {
	n := place.Parse(file)
	switch {
	case !n.SQL:
		return nil, usagef("%q is not a session database: its name must end with .db or begin with postgres://", file)
	case !n.Exists():
		return nil, noDatabase(n)
	}
	if !n.Server() {
		if err := regular(n.File); err != nil {
			return nil, err
		}
	}
	db, err := place.OpenDatabase(ctx, n.File)
	if errors.Is(err, sqlstore.ErrEmpty) {
		return nil, nil
	}
	if err != nil {
		return nil, Explain(n.String(), err)
	}
	defer db.Close() //nolint:errcheck // it was only read
	found, err := db.Sessions(ctx)
	if err != nil {
		return nil, Explain(n.String(), err)
	}
	var list []index.Info
	for _, f := range found {
		if limit > 0 && len(list) == limit {
			break
		}
		list = append(list, a.listed(ctx, db, f))
	}
	return list, nil
}

// listed is what a list says of a session in a database.
func (a *Archive) listed(ctx context.Context, db *place.Database, f place.Listed) index.Info {
	info := index.Info{Path: f.Name.String(), ID: f.Name.Session, Title: f.Name.Session, Created: f.Updated, Modified: f.Updated}
	l, damage, err := db.Read(ctx, f.Name.Session, a.keys(ctx), transcript.Options{Blobs: a.blobs()})
	if _, keyless := errors.AsType[sessionkey.Error](err); keyless || errors.Is(err, sealed.ErrKey) {
		info.Sealed = true
	} else if err != nil {
		info.Damaged = true
	} else {
		info.CWD, info.Damaged = l.Header().CWD, damage.Serious()
		info.Title = cmp.Or(NameOf(l), info.ID)
		if at, err := time.Parse(time.RFC3339Nano, l.Header().Timestamp); err == nil {
			info.Created = at
		}
		_ = l.Close() // it was only read
	}
	return info
}

// SearchReport is what a search found.
type SearchReport struct {
	Hits []index.Hit // the best first
	// Stale is why the index could not take in what is newer; nil: it has it all.
	Stale error
}

// Search finds messages in which all words of a query stand: in sessions of the folder dir,
// or in all where it is "". It brings the index up to date first.
func (a *Archive) Search(ctx context.Context, query, dir string, limit int) (SearchReport, error) {
	ix, err := index.Open(ctx, a.index)
	if err != nil {
		return SearchReport{}, fmt.Errorf("search with %s: %w", words.ShortPath(a.index), err)
	}
	defer ix.Close()
	var r SearchReport
	if r.Stale = ix.Update(ctx, a.root); r.Stale != nil && ctx.Err() != nil {
		return r, ctx.Err()
	}
	r.Hits, err = ix.Search(ctx, query, index.SearchOptions{Limit: limit, CWD: dir})
	return r, err
}

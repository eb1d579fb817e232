package host

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/burin-dev/burin/internal/platform/search"
)

const (
	// findFresh is how old what is known of the tree may be when a query begins anew.
	findFresh = 5 * time.Second
	// findMost is how many paths are given where no limit is asked for.
	findMost = 100
)

// FindFiles gives a function that looks for files and folders below dir by a part of
// their paths, for somebody who types: mentions and completions. What the workspace's
// ignore rules leave out is not found. Paths are relative, with slashes; those of
// folders end with "/". The best come first; limit 0 is 100.
//
// The tree is walked when a query begins anew, that is, does not go on with the one
// before, and what is known is older than some seconds; other queries are answered from
// memory. The function may be called from any goroutine. It starts nothing that goes
// on.
func FindFiles(dir string) func(ctx context.Context, query string, limit int) ([]string, error) {
	f := &finder{dir: dir}
	return f.find
}

// finder remembers a tree.
type finder struct {
	dir string

	mu    sync.Mutex // held while the tree is walked: who comes meanwhile wants its result
	names *search.Names
	last  string // query
}

func (f *finder) find(ctx context.Context, query string, limit int) ([]string, error) {
	if limit <= 0 {
		limit = findMost
	}
	names, err := f.known(ctx, query)
	if err != nil {
		return nil, fmt.Errorf("look for files in %s: %w", f.dir, err)
	}
	return names.Find(ctx, query, limit)
}

// known gives the tree, walked anew if it is time.
func (f *finder) known(ctx context.Context, query string) (*search.Names, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	goesOn := f.last != "" && (strings.HasPrefix(query, f.last) || query != "" && strings.HasPrefix(f.last, query))
	f.last = query
	if f.names != nil && (goesOn || time.Since(f.names.Made) < findFresh) {
		return f.names, nil
	}
	dir, err := filepath.Abs(f.dir)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return nil, err
	}
	names, err := search.ListNames(ctx, tree{os.DirFS(dir), dir}, search.Filter{})
	if err != nil {
		return nil, err
	}
	f.names = names
	return names, nil
}

// tree is a directory as searches want one.
type tree struct {
	fs.FS
	dir string
}

func (t tree) Dir() string { return t.dir }

package undo

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/platform/undo/rootfile"
)

// Watch runs f and records what the tree is afterwards that it was not before.
// It gives the paths. What others change meanwhile cannot be told apart. Watches
// run one after the other.
//
// f runs unless ctx has ended before. Its changes are recorded also if it fails,
// in the turn that was open when it began. An error of the looks means that they
// cannot be undone.
func (j *Journal) Watch(ctx context.Context, f func() error) ([]string, error) {
	j.watching.Lock()
	defer j.watching.Unlock()
	before, lookErr := j.look(ctx)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	turn := j.turn()
	ferr := f()
	if lookErr != nil {
		return nil, errors.Join(ferr, lookErr)
	}
	// What f has done is done, also if ctx has ended by now.
	after, err := j.look(context.WithoutCancel(ctx))
	if err != nil {
		return nil, errors.Join(ferr, err)
	}
	var changes []Change
	var paths []string
	for name, now := range after {
		if was := before[name]; !was.state.same(now.state) {
			changes = append(changes, Change{Path: name, Before: was.state, After: now.state})
		}
	}
	for name, was := range before {
		if _, ok := after[name]; !ok {
			changes = append(changes, Change{Path: name, Before: was.state})
		}
	}
	slices.SortFunc(changes, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	for _, c := range changes {
		paths = append(paths, c.Path)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.record(turn, changes); err != nil {
		return paths, errors.Join(ferr, err)
	}
	return paths, ferr
}

// Prepare looks at the tree once, so that the first Watch has less to read.
func (j *Journal) Prepare(ctx context.Context) error {
	j.watching.Lock()
	defer j.watching.Unlock()
	_, err := j.look(ctx)
	return err
}

// clockTick is how coarse the clocks of file systems may be.
const clockTick = 50 * time.Millisecond

// look gives the whole tree as it is. Only what has another stat than at the last
// look is read.
func (j *Journal) look(ctx context.Context) (map[string]entry, error) {
	now := make(map[string]entry, len(j.known)+16)
	j.looked = time.Now()
	budget := int64(0)
	err := j.folder(ctx, ".", now, &budget)
	if err != nil {
		return nil, err
	}
	j.known = now
	return now, nil
}

func (j *Journal) folder(ctx context.Context, dir string, now map[string]entry, budget *int64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	f, err := j.root.Open(filepath.FromSlash(dir))
	if err != nil {
		return skippable(err)
	}
	infos, err := f.Readdir(-1)
	_ = f.Close()
	if err != nil && len(infos) == 0 {
		return skippable(err)
	}
	for _, info := range infos {
		name := path.Join(dir, info.Name())
		if info.Name() == ".git" || rootfile.IsTemp(info.Name()) {
			continue
		}
		e := entry{stat: rootfile.StatOf(info)}
		// A file that changed within the resolution of the clock may change again
		// without a trace in its stat: it is read again next time.
		e.fresh = !info.IsDir() && j.looked.Sub(info.ModTime()) < clockTick
		if old, ok := j.known[name]; ok && old.stat == e.stat && !old.fresh {
			e.state = old.state
			if e.state.Kind == "file" && e.state.Lost == "" {
				*budget += e.stat.Size
			}
		} else if e.state, err = j.stateOf(name, info, budget); err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				continue // gone meanwhile
			}
			e.state.Lost = "it cannot be read: " + err.Error()
		}
		now[name] = e
		if info.IsDir() {
			if err := j.folder(ctx, name, now, budget); err != nil {
				return err
			}
		}
	}
	return nil
}

// skippable is nil for folders that are gone or closed to us: they are not ours
// to restore.
func skippable(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || isNotDir(err) || errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}

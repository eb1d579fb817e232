// Package watch tells when a person changes files that the terminal's face goes by: settings,
// key bindings, themes.
//
// The system reports changes, so that nothing runs while there are none. What happens at once,
// as when an editor replaces a file, is told once. A change may be told that is none to the
// reader: it compares what it reads.
package watch

import (
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
)

// quiet is how long nothing has happened to the files when a change is told.
const quiet = 60 * time.Millisecond

// Watcher watches files until it is closed.
type Watcher struct {
	system  *fsnotify.Watcher
	changed func()
	missed  chan struct{} // has room for one: something may have changed unseen

	mu    sync.Mutex
	paths map[string]bool
}

// New starts a watcher of no files. changed is called in a goroutine of the watcher's.
func New(changed func()) (*Watcher, error) {
	system, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	w := &Watcher{system: system, changed: changed, missed: make(chan struct{}, 1)}
	go w.run()
	return w, nil
}

// Set says which files to watch from now on, by absolute paths. Of a folder the files in it
// are watched. Files and folders that do not exist are told when they appear, if the folder
// above them exists. Where a path is a link, what it leads to is watched as well. A folder that
// was not watched before counts as a change: what was written there meanwhile was not seen.
func (w *Watcher) Set(paths ...string) {
	all := map[string]bool{}
	folders := map[string]bool{}
	for _, path := range paths {
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			real = path
		}
		for _, p := range []string{path, real} {
			all[p] = true
			folders[filepath.Dir(p)] = true
		}
		if info, err := os.Stat(real); err == nil && info.IsDir() {
			folders[path], folders[real] = true, true
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	before := w.system.WatchList()
	w.paths = all
	for _, watched := range before {
		if !folders[watched] {
			_ = w.system.Remove(watched) // else it is gone
		}
	}
	for folder := range folders {
		err := w.system.Add(folder) // one that doesn't exist has no files
		if err != nil || slices.Contains(before, folder) {
			continue
		}
		select {
		case w.missed <- struct{}{}:
		default:
		}
	}
}

// Close ends the watcher. changed may still be running.
func (w *Watcher) Close() { _ = w.system.Close() } // always nil

func (w *Watcher) run() {
	var due <-chan time.Time // nil: nothing has changed
	for {
		select {
		case e, ok := <-w.system.Events:
			if !ok {
				return
			}
			if w.about(e) {
				due = time.After(quiet)
			}
		case _, ok := <-w.system.Errors: // events were lost: what they told is read now
			if !ok {
				return
			}
			due = time.After(quiet)
		case <-w.missed:
			due = time.After(quiet)
		case <-due:
			due = nil
			w.changed()
		}
	}
}

func (w *Watcher) about(e fsnotify.Event) bool {
	if e.Op == fsnotify.Chmod {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.paths[e.Name] || w.paths[filepath.Dir(e.Name)]
}

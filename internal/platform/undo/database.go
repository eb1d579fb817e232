package undo

import (
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"github.com/burin-dev/burin/internal/platform/sqlfile"
	"github.com/burin-dev/burin/internal/platform/undo/rootfile"
)

// SQLite keeps files beside a database that is in use: its log, the index of that, or
// what it needs to roll back. Only together they are the database, and only SQLite can
// say which of them belong together: restoring one of them, or the database alone, would
// damage it. And a process that closes a database's file loses the locks that it holds
// on it. So the files beside are in no turn, and a database that has some is neither
// read nor restored.
var sidecars = []string{"-wal", "-shm", "-journal"}

// inUseNow says why a database is left alone.
const inUseNow = "it is a database in use: end what uses it, and undo again"

// used are the databases of a folder that are in use.
type used map[string]bool

// databases finds the databases in use among what a folder has.
func (f *folder) databases(dir string, infos []fs.FileInfo) used {
	var all used
	for _, info := range infos {
		base, ok := besideOf(info.Name())
		if !ok || all[base] || !info.Mode().IsRegular() {
			continue
		}
		name := path.Join(dir, base)
		if f.isOwn(name) || !f.isDatabase(name) {
			continue
		}
		if all == nil {
			all = used{}
		}
		all[base] = true
	}
	return all
}

// beside reports whether a file is one of those beside a database in use.
func (u used) beside(base string) bool {
	of, ok := besideOf(base)
	return ok && u[of]
}

// besideOf gives the database that a file lies beside, by their names.
func besideOf(base string) (database string, ok bool) {
	for _, s := range sidecars {
		if of, ok := strings.CutSuffix(base, s); ok && of != "" {
			return of, true
		}
	}
	return "", false
}

// isDatabase reports whether a file is an SQLite database, or empty.
func (f *folder) isDatabase(name string) bool {
	file, err := rootfile.Open(f.root, filepath.FromSlash(name))
	if err != nil {
		return false
	}
	defer func() { _ = file.Close() }()
	head := make([]byte, len(sqlfile.Magic))
	n, err := io.ReadFull(file, head)
	return err == nil && string(head) == sqlfile.Magic || n == 0
}

// isUsed reports whether a path is a database in use, or lies beside one.
func (f *folder) isUsed(name string) bool {
	if base, ok := besideOf(name); ok && f.isDatabase(base) {
		return true
	}
	for _, s := range sidecars {
		if info, err := f.root.Lstat(filepath.FromSlash(name + s)); err == nil && info.Mode().IsRegular() {
			return f.isDatabase(name)
		}
	}
	return false
}

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
func (j *Journal) databases(dir string, infos []fs.FileInfo) used {
	var all used
	for _, info := range infos {
		base, ok := besideOf(info.Name())
		if !ok || all[base] || !info.Mode().IsRegular() {
			continue
		}
		name := path.Join(dir, base)
		if j.own != nil && j.own(name) || !j.isDatabase(name) {
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
func (j *Journal) isDatabase(name string) bool {
	f, err := rootfile.Open(j.root, filepath.FromSlash(name))
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	head := make([]byte, len(sqlfile.Magic))
	n, err := io.ReadFull(f, head)
	return err == nil && string(head) == sqlfile.Magic || n == 0
}

// isUsed reports whether a path is a database in use, or lies beside one.
func (j *Journal) isUsed(name string) bool {
	if base, ok := besideOf(name); ok && j.isDatabase(base) {
		return true
	}
	for _, s := range sidecars {
		if info, err := j.root.Lstat(filepath.FromSlash(name + s)); err == nil && info.Mode().IsRegular() {
			return j.isDatabase(name)
		}
	}
	return false
}

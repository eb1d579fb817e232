package workspace

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
)

// Mount is a folder whose files have addresses in place of paths: with the address
// "local://", local://notes/a.md is notes/a.md in it. [Workspace.Resolve] makes a name of
// such an address, and [Files] reads and writes under that name like any other. It has no
// journal.
type Mount struct {
	Address string // with a slash at its end: "local://", "memory://user/"
	// Dir gives the folder, absolute. It is asked at the first use, and the folder is made
	// then. An error says why there is none.
	Dir func() (string, error)
	// Always lets files be written while the workspace is open for reading only.
	Always bool
}

// mount is a Mount in use.
type mount struct {
	Mount
	mu     sync.Mutex
	folder *folder // nil: not used yet
}

// open gives the folder, which is made if it is missing.
func (m *mount) open() (*folder, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.folder != nil {
		return m.folder, nil
	}
	dir, err := m.Dir()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if m.folder, err = openFolder(dir, true); err != nil {
		return nil, err
	}
	m.folder.always = m.Always
	return m.folder, nil
}

func (m *mount) close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.folder == nil {
		return nil
	}
	return m.folder.Close()
}

// mounted finds the mount of an address and the path behind it. Names that package path has
// shortened, such as local:/a, mean the same.
func (r *rooted) mounted(name string) (m *mount, rel string) {
	scheme, rest, ok := strings.Cut(name, ":")
	if !ok || len(r.mounts) == 0 || rest != "" && rest[0] != '/' {
		return nil, ""
	}
	address := scheme + "://"
	if rest = strings.Trim(rest, "/"); rest != "" {
		address += rest + "/"
	}
	for _, one := range r.mounts {
		if below, ok := strings.CutPrefix(address, one.Address); ok {
			if below == "" {
				return one, "."
			}
			return one, path.Clean(below)
		}
	}
	return nil, ""
}

// address makes a name of an address; ok is false for what is none.
func (w *Workspace) address(written string) (name string, ok bool, err error) {
	if w.disk == nil {
		return "", false, nil
	}
	m, rel := w.disk.mounted(filepath.ToSlash(written))
	switch {
	case m == nil:
		return "", false, nil
	case !fs.ValidPath(rel):
		return "", true, fmt.Errorf("%s: write a path without .. behind %s", written, m.Address)
	case rel == ".":
		return m.Address, true, nil
	}
	return m.Address + rel, true, nil
}

// Mounted reports whether a path is an address of a file, or of a folder, of a [Mount].
func (w *Workspace) Mounted(written string) bool {
	_, ok, _ := w.address(written)
	return ok
}

// Mounts are the addresses of all mounts.
func (w *Workspace) Mounts() []string {
	if w.disk == nil {
		return nil
	}
	var all []string
	for _, m := range w.disk.mounts {
		all = append(all, m.Address)
	}
	return all
}

// Below gives the files of a mount for searches, and in them the path of a name that Resolve
// gave.
func (w *Workspace) Below(name string) (files fs.FS, rel string, err error) {
	m, rel := w.disk.mounted(name)
	if m == nil {
		return embed.FS{}, ".", nil // which is empty
	}
	f, err := m.open()
	if err != nil {
		return nil, "", err
	}
	return f.FS(), rel, nil
}

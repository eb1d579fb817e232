package transcript

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/burin-dev/burin/tool"
)

// Artifacts are complete outputs that the conversation shows only in part. They are files named
// <id>.<kind>.log in one folder, with ids counting from 0. The first one creates the folder.
// Links are not followed: a session file may come with a repository, and they would lead from
// beside it to any file. Artifacts are safe for concurrent use.
type Artifacts struct {
	dir string

	mu   sync.Mutex
	next int // -1 if the folder was not read yet
}

var _ tool.Artifacts = (*Artifacts)(nil)

// NewArtifacts stores artifacts in dir, in addition to existing ones.
func NewArtifacts(dir string) *Artifacts { return &Artifacts{dir: dir, next: -1} }

// root opens the folder; nil without an error: there is none.
func (a *Artifacts) root() (*os.Root, error) {
	parent, err := os.OpenRoot(filepath.Dir(a.dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer parent.Close()
	base := filepath.Base(a.dir)
	info, err := parent.Lstat(base)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case !info.IsDir():
		return nil, fmt.Errorf("%s is not a folder but a file or a link: remove it", a.dir)
	}
	return parent.OpenRoot(base)
}

// Create opens a new artifact.
func (a *Artifacts) Create(kind string) (tool.Artifact, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	err := os.MkdirAll(a.dir, 0o700)
	var root *os.Root
	if err == nil {
		root, err = a.root()
	}
	if err == nil && root == nil { // it was removed just now
		err = fs.ErrNotExist
	}
	if err != nil {
		return nil, fmt.Errorf("keep the whole output: %w", err)
	}
	defer root.Close()
	if a.next < 0 {
		a.next = 0
		for id := range ids(root) {
			a.next = max(a.next, id+1)
		}
	}
	for {
		id := strconv.Itoa(a.next)
		a.next++
		f, err := root.OpenFile(id+"."+cleanKind(kind)+".log", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if os.IsExist(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("keep the whole output: %w", err)
		}
		return &artifact{File: f, id: id}, nil
	}
}

var unclean = regexp.MustCompile(`[^A-Za-z0-9-]+`)

func cleanKind(kind string) string {
	if kind = unclean.ReplaceAllString(kind, "-"); kind == "" {
		return "output"
	}
	return kind
}

// ids returns the numbers in use with their files.
func ids(root *os.Root) map[int]string {
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return nil
	}
	found := map[int]string{}
	for _, e := range entries {
		first, rest, ok := strings.Cut(e.Name(), ".")
		if n, err := strconv.Atoi(first); ok && err == nil && n >= 0 && strings.HasSuffix(rest, ".log") {
			found[n] = e.Name()
		}
	}
	return found
}

// find gives the open folder, and the name of an artifact's file in it.
func (a *Artifacts) find(id string) (*os.Root, string, error) {
	n, err := strconv.Atoi(id)
	if err != nil || n < 0 {
		return nil, "", fmt.Errorf("artifact://%s: the id is a number", id)
	}
	root, err := a.root()
	if err != nil {
		return nil, "", fmt.Errorf("artifact://%s: %w", id, err)
	}
	known := "none"
	if root != nil {
		all := ids(root)
		if name, ok := all[n]; ok {
			info, err := root.Lstat(name)
			if err == nil && info.Mode().IsRegular() {
				return root, name, nil
			}
			_ = root.Close()
			if err == nil {
				err = fmt.Errorf("%s is not a regular file", filepath.Join(a.dir, name))
			}
			return nil, "", fmt.Errorf("artifact://%s: %w", id, err)
		}
		_ = root.Close()
		var words []string
		for _, n := range slices.Sorted(maps.Keys(all)) {
			words = append(words, strconv.Itoa(n))
		}
		if len(words) > 0 {
			known = strings.Join(words, ", ")
		}
	}
	return nil, "", fmt.Errorf("no artifact://%s; available: %s", id, known)
}

// File is the file of an artifact.
func (a *Artifacts) File(id string) (string, error) {
	root, name, err := a.find(id)
	if err != nil {
		return "", err
	}
	return filepath.Join(a.dir, name), root.Close()
}

// Open reads an artifact.
func (a *Artifacts) Open(id string) (tool.ArtifactReader, error) {
	root, name, err := a.find(id)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, err
	}
	return &artifactReader{File: f, size: info.Size()}, nil
}

type artifact struct {
	*os.File
	id string
}

func (a *artifact) ID() string { return a.id }

type artifactReader struct {
	*os.File
	size int64
}

func (r *artifactReader) Size() int64 { return r.size }

var _ io.ReadSeekCloser = (*artifactReader)(nil)

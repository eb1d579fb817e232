package transcript

import (
	"fmt"
	"io"
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
// Artifacts are safe for concurrent use.
type Artifacts struct {
	dir string

	mu   sync.Mutex
	next int // -1 if the folder was not read yet
}

var _ tool.Artifacts = (*Artifacts)(nil)

// NewArtifacts stores artifacts in dir, in addition to existing ones.
func NewArtifacts(dir string) *Artifacts { return &Artifacts{dir: dir, next: -1} }

// Create opens a new artifact.
func (a *Artifacts) Create(kind string) (tool.Artifact, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := os.MkdirAll(a.dir, 0o700); err != nil {
		return nil, fmt.Errorf("keep the whole output: %w", err)
	}
	if a.next < 0 {
		a.next = 0
		for _, id := range a.ids() {
			a.next = max(a.next, id+1)
		}
	}
	for {
		id := strconv.Itoa(a.next)
		a.next++
		f, err := os.OpenFile(filepath.Join(a.dir, id+"."+cleanKind(kind)+".log"), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
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

// ids returns the numbers in use, sorted.
func (a *Artifacts) ids() []int {
	entries, err := os.ReadDir(a.dir)
	if err != nil {
		return nil
	}
	var ids []int
	for _, e := range entries {
		first, rest, ok := strings.Cut(e.Name(), ".")
		if n, err := strconv.Atoi(first); ok && err == nil && n >= 0 && strings.HasSuffix(rest, ".log") {
			ids = append(ids, n)
		}
	}
	slices.Sort(ids)
	return ids
}

// File is the file of an artifact.
func (a *Artifacts) File(id string) (string, error) {
	n, err := strconv.Atoi(id)
	if err != nil || n < 0 {
		return "", fmt.Errorf("artifact://%s: the id is a number", id)
	}
	found, err := filepath.Glob(filepath.Join(globEscape(a.dir), strconv.Itoa(n)+".*.log"))
	if err != nil || len(found) == 0 {
		return "", fmt.Errorf("no artifact://%s; available: %s", id, a.known())
	}
	return found[0], nil
}

// Open reads an artifact.
func (a *Artifacts) Open(id string) (tool.ArtifactReader, error) {
	file, err := a.File(id)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(file)
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

// globEscape quotes the metacharacters of filepath.Glob.
func globEscape(s string) string {
	return strings.NewReplacer(`*`, `[*]`, `?`, `[?]`, `[`, `[[]`).Replace(s)
}

func (a *Artifacts) known() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	var words []string
	for _, id := range a.ids() {
		words = append(words, strconv.Itoa(id))
	}
	if len(words) == 0 {
		return "none"
	}
	return strings.Join(words, ", ")
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

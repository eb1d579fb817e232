// Package vfs keeps the files of chat projects in the server's database. Each project has one
// tree. Models work on it with the tools of a workspace, people with a page, scripts with an
// fs object.
//
// [Store] is all projects, [Tree] one of them with the keys of its person, [Tree.Files] the
// file system that a workspace stands on. [Tree.Namespace] is the tree as a persona sees it.
//
// # What is promised
//
//   - Each change is one transaction. What was acknowledged survives a kill, and nobody sees
//     half of a change. Changes of several processes and servers come one after the other: what
//     one is based on is what it finds when it is made.
//   - A read sees every change that was acknowledged before it began, wherever it was made.
//   - What is written over stays as a version. What is deleted stays until it is purged, and is
//     restored with everything in it. A file that another kind of file takes the place of is an
//     orphan, which can be restored too.
//   - Names, sizes, times, types and contents are sealed, each for its place. In the clear are
//     how files hang together, version numbers, whether something is deleted, and the length of
//     what is sealed.
//   - A tree that can't be read, because of its key or because it is damaged, is an error of
//     every operation. It is never taken for an empty one, and so never written over.
//
// # Limits
//
// [Limits] are per project. What would go over one is refused with an error that names it, and
// nothing changes; only old versions are dropped by themselves. Trees in memory are bounded:
// those that were used longest ago are forgotten and loaded again when they are needed.
package vfs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall"
	"unicode/utf8"

	"github.com/burin-dev/burin/internal/chat/store"
	"github.com/burin-dev/burin/internal/chat/vault"
	"github.com/burin-dev/burin/internal/platform/workspace"
)

// Part is the tables of the files.
//
// A project's revision counts its changes. A node has the revision that last changed it, so
// that another process reads only what is new to it. purged is the revision at which rows were
// last removed, last the number of the newest node.
var Part = store.Part{Name: "vfs", Steps: []string{
	`CREATE TABLE {vfs_projects} (
		project TEXT PRIMARY KEY, revision INTEGER NOT NULL, purged INTEGER NOT NULL,
		last INTEGER NOT NULL, bytes INTEGER NOT NULL) STRICT`,
	`CREATE TABLE {vfs_nodes} (
		project TEXT NOT NULL, node INTEGER NOT NULL, parent INTEGER NOT NULL, version INTEGER NOT NULL,
		oldest INTEGER NOT NULL, deleted INTEGER NOT NULL, revision INTEGER NOT NULL,
		generation INTEGER NOT NULL, sealed BLOB NOT NULL, PRIMARY KEY (project, node)) STRICT`,
	`CREATE INDEX vfs_nodes_by_revision ON {vfs_nodes} (project, revision)`,
	`CREATE TABLE {vfs_contents} (
		project TEXT NOT NULL, node INTEGER NOT NULL, version INTEGER NOT NULL, size INTEGER NOT NULL,
		generation INTEGER NOT NULL, facts BLOB NOT NULL, data BLOB NOT NULL, PRIMARY KEY (project, node, version)) STRICT`,
}}

// Limits bound a project. A zero is the default.
type Limits struct {
	File     int64 // bytes of a file: [MaxFile]
	Nodes    int   // files and folders, with deleted ones and orphans: 10,000
	Name     int   // bytes of a name: 512
	Versions int   // of a file, with the current one; the oldest are dropped: 100
	Bytes    int64 // that a project takes in the database, with old versions: 1 GiB
	Import   int64 // bytes of an archive, unpacked: 256 MiB
}

// MaxFile is how many bytes a file has at most, unless [Limits] say otherwise.
const MaxFile = 10 << 20

const (
	maxPath  = 4096 // bytes of a path
	maxDepth = 64   // folders in each other
)

func (l Limits) orDefault() Limits {
	set := func(n *int64, to int64) {
		if *n == 0 {
			*n = to
		}
	}
	nodes, name, versions := int64(l.Nodes), int64(l.Name), int64(l.Versions)
	set(&l.File, MaxFile)
	set(&nodes, 10_000)
	set(&name, 512)
	set(&versions, 100)
	set(&l.Bytes, 1<<30)
	set(&l.Import, 256<<20)
	l.Nodes, l.Name, l.Versions = int(nodes), int(name), int(versions)
	return l
}

// Code says what is wrong with an operation, for programs. Errors of operations are
// *fs.PathError with a Code in them; it is also what package fs has for the case.
type Code string

// The codes.
const (
	NotFound          Code = "PATH_NOT_FOUND"
	Deleted           Code = "IS_DELETED"
	FileExists        Code = "FILE_EXISTS"
	DirExists         Code = "DIR_EXISTS"
	DestinationExists Code = "DESTINATION_EXISTS"
	NotFile           Code = "NOT_A_FILE"
	NotDir            Code = "NOT_A_DIRECTORY"
	NotEmpty          Code = "DIR_NOT_EMPTY"
	InvalidPath       Code = "INVALID_PATH"
	ReadOnly          Code = "READONLY"
	Binary            Code = "BINARY_FILE"
	Limit             Code = "LIMIT"
	Changed           Code = "CHANGED"
)

func (c Code) Error() string {
	switch c {
	case NotFound:
		return "no such file or folder"
	case Deleted:
		return "it was deleted: restore it first"
	case FileExists:
		return "a file of that name exists"
	case DirExists:
		return "a folder of that name exists"
	case DestinationExists:
		return "the destination exists"
	case NotFile:
		return "is a folder"
	case NotDir:
		return "is not a folder"
	case NotEmpty:
		return "the folder is not empty"
	case InvalidPath:
		return "not a valid path"
	case ReadOnly:
		return "it can only be read here"
	case Binary:
		return "it is not text"
	case Limit:
		return "over a limit"
	case Changed:
		return "it was changed meanwhile: read it again"
	}
	return string(c)
}

// Is makes a code what package fs has for the case.
func (c Code) Is(target error) bool {
	switch c {
	case NotFound, Deleted:
		return target == fs.ErrNotExist
	case FileExists, DirExists, DestinationExists:
		return target == fs.ErrExist
	case InvalidPath:
		return target == fs.ErrInvalid
	case ReadOnly:
		return target == fs.ErrPermission
	case NotDir:
		return target == syscall.ENOTDIR
	case NotFile, NotEmpty, Binary, Limit, Changed:
	}
	return false
}

var (
	// ErrProject means that a project has no tree: it was never made, or is deleted.
	ErrProject = errors.New("the project has no files: it was deleted, or never created")
	// ErrUnreadable means that a tree can't be read. It is left as it is.
	ErrUnreadable = errors.New("the files of the project can't be read")
)

func failed(op, name string, err error) error {
	if _, ok := errors.AsType[*fs.PathError](err); err == nil || ok {
		return err
	}
	if _, ok := errors.AsType[*workspace.StaleError](err); ok {
		return err
	}
	return &fs.PathError{Op: op, Path: name, Err: err}
}

// Store is the files of all projects. Any goroutine may use it.
type Store struct {
	db     *store.DB
	limits Limits

	mu       sync.Mutex
	projects map[string]*project
	clock    uint64 // counts uses
}

// New gives the files in a database, which has [Part].
func New(db *store.DB, limits Limits) *Store {
	return &Store{db: db, limits: limits.orDefault(), projects: map[string]*project{}}
}

// Create makes the empty tree of a new project, in the transaction that makes the project.
func (s *Store) Create(ctx context.Context, q store.Querier, project string) error {
	_, err := q.Exec(ctx, `INSERT INTO {vfs_projects} (project, revision, purged, last, bytes) VALUES (?1, 0, 0, 0, 0)`, project)
	return err
}

// Delete removes all files of a project for good, in the transaction that deletes the project.
// Whoever still writes to it gets [ErrProject].
func (s *Store) Delete(ctx context.Context, q store.Querier, project string) error {
	for _, table := range []string{"vfs_projects", "vfs_nodes", "vfs_contents"} { // the first row keeps writers away
		if _, err := q.Exec(ctx, `DELETE FROM {`+table+`} WHERE project = ?1`, project); err != nil {
			return err
		}
	}
	s.Forget(project)
	return nil
}

// Bytes is what projects take in the database.
func Bytes(ctx context.Context, q store.Querier, projects []string) (sum int64, err error) {
	for some := range slices.Chunk(projects, 500) {
		var n int64
		marks, args := make([]string, len(some)), make([]any, len(some))
		for i, id := range some {
			marks[i], args[i] = fmt.Sprintf("?%d", i+1), id
		}
		if err := q.QueryRow(ctx, `SELECT CAST(COALESCE(SUM(bytes), 0) AS BIGINT) FROM {vfs_projects} WHERE project IN (`+strings.Join(marks, ", ")+`)`, args...).Scan(&n); err != nil {
			return 0, fmt.Errorf("count the files of projects: %w", err)
		}
		sum += n
	}
	return sum, nil
}

// Forget takes a project's tree out of memory, as when its person's keys are locked.
func (s *Store) Forget(project string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.projects, project)
}

// Tree gives a project's files, to be read with the keys of its person.
func (s *Store) Tree(project string, ring *vault.Ring) *Tree {
	return &Tree{s: s, rows: rows{s.db, project, ring}}
}

// Tree is the files of a project. Paths are absolute, and normalized by [Clean]. Any goroutine
// may use it.
type Tree struct {
	s       *Store
	rows    rows
	persona string   // the folder that is its root; "": the project's
	walled  []string // the folders, as the tree has them, in which nothing can be changed
	fits    func(ctx context.Context, q store.Querier) error
	author  Author
	changed func() // nil: nobody is told
	guard   Guard  // nil: whoever has the tree may do all
}

// Author is who writes versions of files; the zero is nobody who is known.
type Author struct {
	Who Writer
	ID  string // of the person, or of the chat in which a model wrote, 512 bytes at most; "" if it isn't known
}

// Writer is a kind of author.
type Writer byte

// The writers. Their numbers are kept.
const (
	Unknown Writer = iota
	Person
	Model
)

// By gives a tree whose changes have an author. What is imported or restored has the one who did it.
func By(t *Tree, author Author) *Tree {
	n := *t
	if n.author = author; len(author.ID) > maxAuthor {
		n.author.ID = ""
	}
	return &n
}

const maxAuthor = 512 // bytes of an id

// Telling gives a tree that calls a function after each change that was made through it. The
// function must return at once.
func Telling(t *Tree, changed func()) *Tree {
	n := *t
	n.changed = changed
	return &n
}

// Guard says why somebody may not read a tree now, or write it. For what is written it is asked in the transaction of the change.
type Guard func(ctx context.Context, q store.Querier, write bool) error

// Guarded gives a tree with a guard, which is asked before each operation.
func Guarded(t *Tree, guard Guard) *Tree {
	n := *t
	n.guard = guard
	return &n
}

// allowed asks the guard.
func allowed(ctx context.Context, t *Tree, q store.Querier, write bool) error {
	if t.guard == nil {
		return nil
	}
	return t.guard(ctx, q, write)
}

// Within gives a tree with a limit beyond those of the project: fits is asked in the transaction
// of a change that makes it larger, and its error undoes that.
func Within(t *Tree, fits func(ctx context.Context, q store.Querier) error) *Tree {
	n := *t
	n.fits = fits
	return &n
}

// Walled gives a tree in which one more folder can only be read.
func Walled(t *Tree, dir string) *Tree {
	n := *t
	n.walled = append(slices.Clip(t.walled), Clean(dir))
	return &n
}

// Clean normalizes a path: it begins with a slash and doesn't end with one, "." and empty parts
// are left out, ".." removes a part and never leads above the root.
func Clean(written string) string {
	if strings.TrimSpace(written) == "" {
		return "/"
	}
	return path.Clean("/" + written)
}

const (
	share   = "/share"   // every persona reads it
	shareRW = "/sharerw" // and this it writes, too
	global  = "_global"  // prompts for all personas, and no persona
)

// Namespace gives the tree as a persona sees it: dir, which is /minions/NAME, is the root. It
// need not exist. Of the rest of the project /share can be read, and /sharerw be read and
// written. A NAME has letters, digits, "_" and "-", 64 at most, and isn't "_global".
func (t *Tree) Namespace(dir string) (*Tree, error) {
	name, ok := strings.CutPrefix(dir, "/minions/")
	if !ok || t.persona != "" || !isPersona(name) {
		return nil, failed("namespace", dir, InvalidPath)
	}
	n := *t
	n.persona = dir
	return &n, nil
}

func isPersona(name string) bool {
	const allowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"
	return name != "" && len(name) <= 64 && !strings.ContainsFunc(name, func(r rune) bool { return !strings.ContainsRune(allowed, r) }) && name != global
}

// within reports whether a path is dir, or in it.
func within(name, dir string) bool {
	rest, ok := strings.CutPrefix(name, dir)
	return ok && (rest == "" || rest[0] == '/' || dir == "/")
}

// real gives the place in the project of a path as it was written.
func (t *Tree) real(written string) (string, error) {
	clean := Clean(written)
	switch {
	case len(written) > maxPath, strings.Count(clean, "/") > maxDepth, !utf8.ValidString(clean), strings.IndexByte(clean, 0) >= 0:
		return "", InvalidPath
	case t.persona == "", within(clean, share), within(clean, shareRW):
		return clean, nil
	}
	return path.Join(t.persona, clean), nil
}

// writable is real for what changes something there.
func (t *Tree) writable(written string) (string, error) {
	real, err := t.real(written)
	if err == nil && (t.persona != "" && within(real, share) || slices.ContainsFunc(t.walled, func(dir string) bool { return within(Clean(written), dir) })) {
		return "", ReadOnly
	}
	return real, err
}

// shown is the path that leads to a real one; false: none does.
func (t *Tree) shown(real string) (string, bool) {
	if t.persona == "" || within(real, share) || within(real, shareRW) {
		return real, true
	}
	inside, ok := strings.CutPrefix(real, t.persona)
	if !ok || inside == "" || inside[0] != '/' || within(inside, share) || within(inside, shareRW) {
		return "", false
	}
	return inside, true
}

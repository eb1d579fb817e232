package archive

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/host/words"
	"github.com/burin-dev/burin/internal/platform/smallfile"
	"github.com/burin-dev/burin/internal/sorting"
	"github.com/burin-dev/burin/transcript"
	"github.com/burin-dev/burin/transcript/index"
	"github.com/burin-dev/burin/transcript/place"
)

// Resumption says which session to go on with. At most one of Last, Session and Which is
// given; none means a new one.
type Resumption struct {
	Last    bool   // the last one of this terminal, or of the folder
	Session string // a file, a database, or a folder to keep new sessions in
	Which   string // an id, the beginning of it, or a file
	// Note is the file that says which session this terminal used; "" if there is none.
	Note string
}

// Resume is the file of the session to go on with in the folder dir; "" is a new one.
func (a *Archive) Resume(ctx context.Context, r Resumption, dir string) (string, error) {
	switch {
	case r.Last:
		root := a.root
		if r.Session != "" && IsDir(r.Session) {
			root = r.Session
		}
		return a.last(ctx, r.Note, filepath.Join(root, transcript.EncodeDir(dir)), dir)
	case place.Parse(r.Session).SQL && !IsDir(r.Session):
		return databaseSession(ctx, r.Session)
	case r.Session != "" && !IsDir(r.Session):
		r.Session = published(r.Session)
		_, err := os.Stat(r.Session)
		if errors.Is(err, fs.ErrNotExist) {
			return "", usagef("--session: no session file or folder %s", r.Session)
		}
		if err != nil {
			return "", usagef("--session: %w", err)
		}
		if err := regular(r.Session); err != nil {
			return "", usagef("--session: %w", err)
		}
		return r.Session, nil
	case r.Which == "":
		return "", nil
	}
	path, err := a.Find(ctx, r.Which)
	if err != nil {
		return "", err
	}
	l, _, err := a.read(ctx, path)
	if err != nil {
		return "", Explain(path, err)
	}
	path = published(path)
	cwd := l.Header().CWD
	if err := l.Close(); err != nil {
		return "", err
	}
	if strings.ContainsAny(r.Which, `/\`) || cwd == "" || cwd == string([]rune(dir)) { // records are UTF-8
		return path, nil
	}
	return "", fmt.Errorf("session %s is of another folder, %s: go there, or bring a copy of it here with burin sessions fork %s", r.Which, cwd, r.Which)
}

// databaseSession is which session of a database is meant; it may be one to begin.
func databaseSession(ctx context.Context, word string) (string, error) {
	n, err := place.Parse(word).Abs()
	if err != nil {
		return "", err
	}
	_, id := transcript.NewPath("", "", time.Now())
	n, found, err := place.Resolve(ctx, n, id)
	if err == nil && !found {
		err = notTrashed(ctx, n)
	}
	return n.String(), Explain(n.String(), err)
}

// Nameable refuses to begin a session in a database by a name that holds a secret: names
// are kept in the clear, and what is found by one cannot be hidden.
func (a *Archive) Nameable(ctx context.Context, name string) error {
	n := place.Parse(name)
	if !n.SQL {
		return nil
	}
	if _, found, err := place.Resolve(ctx, n, n.Session); err != nil || found {
		return err
	}
	hidden, err := a.Hide(n.Session)
	if err == nil && hidden != n.Session {
		err = usagef("--session: the name of the session contains a secret, and names are not encrypted: choose another")
	}
	return err
}

// notTrashed refuses to begin a session whose name one in the trash of the database has.
func notTrashed(ctx context.Context, n place.Name) error {
	if !n.Exists() {
		return nil
	}
	list, err := place.Trashed(ctx, n.File)
	for _, l := range list {
		if l.Name.Session == n.Session {
			return fmt.Errorf("session %s is in the trash: burin sessions restore %[1]s takes it back", words.ShortPath(n.String()))
		}
	}
	return err
}

// last is the session that this terminal used last in dir, else the newest
// of the folder. "" if there is none. What is no session is passed over, and said.
func (a *Archive) last(ctx context.Context, note, sessions, dir string) (string, error) {
	passed := ""
	if note != "" {
		if b, err := smallfile.Read(note, smallfile.Note); err == nil {
			cwd, path, _ := strings.Cut(strings.TrimSpace(string(b)), "\n")
			if place.Parse(path).Exists() && cwd == dir {
				if a.fit(ctx, path) {
					return path, nil
				}
				passed = path
			}
		}
	}
	entries, err := os.ReadDir(sessions)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("look for sessions: %w", err)
	}
	type file struct {
		path string
		at   time.Time
	}
	var files []file
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || !IsSession(e.Name()) {
			continue
		}
		files = append(files, file{filepath.Join(sessions, e.Name()), info.ModTime()})
	}
	sorting.Stable(files, func(a, b file) int { return b.at.Compare(a.at) })
	for _, f := range files {
		if f.path != passed && a.fit(ctx, f.path) {
			return f.path, nil
		}
	}
	return "", nil
}

// fit reports whether there is something to go on with in a session. It says why not.
func (a *Archive) fit(ctx context.Context, path string) bool {
	if info, err := index.Read(path); err == nil && !info.Damaged {
		return true
	}
	// What can be read of it, if anything, takes reading it whole. That it is encrypted, or
	// open elsewhere, is for who opens it.
	l, _, err := place.Read(ctx, path, nil, transcript.Options{})
	if err == nil {
		_ = l.Close() // it was only read
	}
	if err == nil || errors.Is(err, transcript.ErrSealedSession) || errors.Is(err, transcript.ErrLocked) {
		return true
	}
	a.warn(fmt.Sprintf("session %s is passed over: %s", words.ShortPath(path), strings.TrimPrefix(words.Error(err), "session "+path+": ")))
	return false
}

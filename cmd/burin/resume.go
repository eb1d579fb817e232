package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/burin-dev/burin/internal/customize/config"
	"github.com/burin-dev/burin/transcript"
	"github.com/burin-dev/burin/transcript/index"
	"github.com/burin-dev/burin/transcript/place"
)

// resumption says with which session to go on.
type resumption struct {
	goOn    bool
	resume  string
	session string
	seal    bool
	choose  bool                   // from a list, in the terminal
	given   func(flag string) bool // reports whether a flag was written; nil: none was
}

func (r *resumption) register(f *pflag.FlagSet) {
	f.BoolVarP(&r.goOn, "continue", "c", false, "go on with the last session of this terminal, or of this folder")
	f.StringVar(&r.resume, "resume", "", "go on with a session: its id, the beginning of it, or its file")
	f.StringVar(&r.session, "session", "", "a session file to go on with, a database FILE.db to keep it in, or a folder to keep new sessions in")
	r.given = f.Changed
	f.BoolVar(&r.seal, "seal", false, "encrypt the new session: with a key of the system's keyring, or a pass phrase")
}

func (r *resumption) check() error {
	// A script whose variable is empty does not want a new session.
	switch {
	case r.given == nil:
	case r.resume == "" && r.given("resume"):
		return usage("--resume: %w", errUnnamed)
	case r.session == "" && r.given("session"):
		return usage("--session: no file is named: give a session file, a database FILE.db, or a folder")
	}
	n := 0
	for _, given := range []bool{r.goOn, r.resume != "", r.session != "" && !isDir(r.session)} {
		if given {
			n++
		}
	}
	if r.seal && (r.goOn || r.resume != "" || r.session != "" && !place.Parse(r.session).SQL && !isDir(r.session)) {
		return usage("--seal is for new sessions; burin sessions seal encrypts one that is there")
	}
	if n > 1 {
		return usage("--continue, --resume and --session FILE each name a session: give one of them")
	}
	return nil
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// workDir is the working directory as sessions name it: without symbolic links.
func workDir() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the working directory: %w", err)
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	return dir, nil
}

// toResume is the file of the session to go on with; "" is a new one.
func (p *program) toResume(ctx context.Context, r resumption, root, crumbs, dir string) (string, error) {
	switch {
	case r.goOn:
		return p.lastSession(ctx, crumbs, filepath.Join(root, transcript.EncodeDir(dir)), dir)
	case place.Parse(r.session).SQL && !isDir(r.session):
		return databaseSession(ctx, r.session)
	case r.session != "" && !isDir(r.session):
		_, err := os.Stat(r.session)
		if errors.Is(err, fs.ErrNotExist) {
			return "", usage("--session: there is no session file or folder %s", r.session)
		}
		if err != nil {
			return "", usage("--session: %w", err)
		}
		if err := regular(r.session); err != nil {
			return "", usage("--session: %w", err)
		}
		return r.session, nil
	case r.resume == "":
		return "", nil
	}
	path, err := p.findSession(r.resume)
	if err != nil {
		return "", err
	}
	l, _, err := place.Read(ctx, path, p.sessionKeys(ctx), transcript.Options{})
	if err != nil {
		return "", explain(path, err)
	}
	cwd := l.Header().CWD
	if err := l.Close(); err != nil {
		return "", err
	}
	if strings.ContainsAny(r.resume, `/\`) || cwd == "" || cwd == string([]rune(dir)) { // records are UTF-8
		return path, nil
	}
	return "", fmt.Errorf("session %s is of another folder, %s: go there, or bring a copy of it here with burin sessions fork %s", r.resume, cwd, r.resume)
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
	return n.String(), explain(n.String(), err)
}

// nameable refuses to begin a session in a database by a name that holds a secret: names
// are kept in the clear, and what is found by one cannot be hidden.
func (p *program) nameable(ctx context.Context, name string) error {
	n := place.Parse(name)
	if !n.SQL {
		return nil
	}
	if _, found, err := place.Resolve(ctx, n, n.Session); err != nil || found {
		return err
	}
	a, err := p.archive()
	if err != nil {
		return err
	}
	hidden, err := p.hidden(a, n.Session)
	if err == nil && hidden != n.Session {
		err = usage("--session: the name of the session holds a secret, and names are kept in the clear: choose another")
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
			return fmt.Errorf("session %s is in the trash: burin sessions restore %[1]s takes it back", shortPath(n.String()))
		}
	}
	return err
}

// lastSession is the session that this terminal used last in dir, else the newest
// of the folder. "" if there is none. What is no session is passed over, and said.
func (p *program) lastSession(ctx context.Context, crumbs, sessions, dir string) (string, error) {
	passed := ""
	if terminal := p.terminalID(); terminal != "" {
		if b, err := os.ReadFile(filepath.Join(crumbs, terminal)); err == nil {
			cwd, path, _ := strings.Cut(strings.TrimSpace(string(b)), "\n")
			if place.Parse(path).Exists() && cwd == dir {
				if p.fit(ctx, path) {
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
		if err != nil || !info.Mode().IsRegular() || !isSession(e.Name()) {
			continue
		}
		files = append(files, file{filepath.Join(sessions, e.Name()), info.ModTime()})
	}
	slices.SortStableFunc(files, func(a, b file) int { return b.at.Compare(a.at) })
	for _, f := range files {
		if f.path != passed && p.fit(ctx, f.path) {
			return f.path, nil
		}
	}
	return "", nil
}

// fit reports whether there is something to go on with in a session. It says why not.
func (p *program) fit(ctx context.Context, path string) bool {
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
	fmt.Fprintf(p.err, "burin: session %s is passed over: %s\n", shortPath(path), strings.TrimPrefix(oneLine(err), "session "+path+": "))
	return false
}

// isSession reports whether a file is a session, or the draft that a crash left of
// one.
func isSession(name string) bool {
	return strings.HasSuffix(name, ".jsonl") || strings.HasSuffix(name, ".jsonl.draft")
}

// leaveBreadcrumb notes which session this terminal uses. It is a convenience: where
// it cannot be written, nothing is said.
func (p *program) leaveBreadcrumb(crumbs, dir, path string) {
	terminal := p.terminalID()
	if terminal == "" || path == "" {
		return
	}
	if err := os.MkdirAll(crumbs, 0o700); err != nil {
		return
	}
	_ = os.WriteFile(filepath.Join(crumbs, terminal), []byte(dir+"\n"+path+"\n"), 0o600)
}

var unclean = regexp.MustCompile(`[^A-Za-z0-9.-]+`)

// crumbsIn is the folder of the notes which session each terminal used.
func crumbsIn(paths config.Paths) string { return filepath.Join(paths.Data, "terminal-sessions") }

// terminalID names the terminal that burin runs in; "" if it has none. The device
// comes first: the variables outlive the window they were set for.
func (p *program) terminalID() string {
	id := ""
	if p.isTerminal(p.in) {
		if tty, err := os.Readlink("/proc/self/fd/0"); err == nil {
			id = tty
		}
	}
	for _, name := range []string{"KITTY_WINDOW_ID", "TMUX_PANE", "TERM_SESSION_ID", "WT_SESSION"} {
		if v := p.getenv(name); id == "" && v != "" {
			id = name + "-" + v
		}
	}
	return strings.Trim(unclean.ReplaceAllString(id, "-"), "-")
}

// sessionRoot is where sessions are kept. It does not depend on the folder that burin is
// started in: a relative one is of the home folder.
func sessionRoot(c *config.Config, paths config.Paths) string {
	if c.SessionDir == "" {
		return filepath.Join(paths.Data, "sessions")
	}
	dir := expandHome(c.SessionDir)
	if home, err := os.UserHomeDir(); err == nil && !filepath.IsAbs(dir) {
		dir = filepath.Join(home, dir)
	}
	return dir
}

// expandHome puts the home folder in the place of a leading "~".
func expandHome(path string) string {
	rest, ok := strings.CutPrefix(path, "~")
	if !ok || rest != "" && rest[0] != '/' && rest[0] != filepath.Separator {
		return path
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return path
	}
	return filepath.Join(home, rest)
}

// Package bench holds what sessions in one folder share: the workspace, the sandboxes of
// commands, the secrets that are known, caches. [Bench.Start] puts a session on it, with
// its own rules, shells, list of work and place in the undo journal.
package bench

import (
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"sync"
	"time"

	"github.com/burin-dev/burin/internal/platform/lsp"
	"github.com/burin-dev/burin/internal/platform/private"
	"github.com/burin-dev/burin/internal/platform/process"
	"github.com/burin-dev/burin/internal/platform/script"
	"github.com/burin-dev/burin/internal/platform/search"
	"github.com/burin-dev/burin/internal/platform/shell"
	"github.com/burin-dev/burin/internal/platform/workspace"
	"github.com/burin-dev/burin/internal/tools/web"
	"github.com/burin-dev/burin/session/secret"
)

// SearXNG is a server to search the web with.
type SearXNG = web.SearXNG

// Options of a bench: all that holds for every session on it.
type Options struct {
	Dir     string   // the workspace; empty is the working directory
	AddDirs []string // more folders that tools may use; they are writable
	// Files are a workspace without a directory, in place of Dir: no command can run in
	// it, and nothing is in a journal.
	Files workspace.Files `json:"-"`

	Allow          []string // rules such as bash(go test:*)
	Deny           []string
	PermissionFile string // where lasting grants are kept; empty: nowhere
	// GrantsLast is how long grants for a project or for all projects hold; 0: until they are
	// taken back.
	GrantsLast time.Duration

	Sandbox  string   // read-only, workspace-write or full; empty follows the mode of permission
	Hosts    []string // that confined commands may reach
	Writable []string // more folders that confined commands may write
	Secrets  []string // more paths that they must not read

	Shell string // path of the shell, or "builtin"; empty finds one
	// UserShell runs a person's own commands: a path or a name, zsh and fish too; empty is
	// Shell, or else bash, zsh or fish of $SHELL in Environ.
	UserShell string
	HTTP      http.RoundTripper `json:"-"` // for fetch and web_search; nil is the default
	SearXNG   SearXNG           // a server for web_search

	StateDir  string // burin's data folder; empty: no undo, no session file
	ConfigDir string // burin's configuration folder; its AGENTS.md is the user's own
	UserHome  string // for instruction files and secret paths; empty: none
	NoFiles   bool   // leave out AGENTS.md and its like

	// Secret values are hidden from models, files and events, those that look like
	// secrets and those of Environ ("NAME=value") whose names do, and SecretEntries.
	NoSecrets     bool // hide nothing
	Environ       []string
	SecretEntries []secret.Entry

	Warn func(string)     `json:"-"` // what a person should know of the bench itself, a line each
	Now  func() time.Time `json:"-"`
}

// Bench is what sessions share. It is safe for concurrent use.
type Bench struct {
	Options
	dir     string          // absolute, without links; empty: there is none
	vault   *secret.Vault   // nil: nothing is hidden
	private *private.Places // nil: there are none
	hidden  func() []string // the private places that exist
	cache   *search.Cache   // of which files there are
	boxes   boxes
	own     bool // burin's own files lie in the workspace

	pooling sync.Mutex
	pool    *lsp.Pool // nil: no session has language servers
}

// Main runs the guard of a command, the built-in shell, or the engine of JavaScript, if this process was
// started as one, and then does not return.
func Main() {
	process.Main()
	shell.Main()
	script.Main()
}

// Open opens a bench. The sessions on it must be closed before it is.
func Open(o Options) (*Bench, error) {
	if o.Warn == nil {
		o.Warn = func(string) {}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	b := &Bench{Options: o, cache: search.NewCache()}
	if o.Files == nil {
		dir, err := realDir(o.Dir)
		if err != nil {
			return nil, err
		}
		b.dir = dir
		b.findSecrets()
		b.own = b.holdsOwnFiles()
	}
	if b.own {
		// Someone works in the home folder. Tools could write the grants there, so
		// none are read.
		b.PermissionFile = ""
	}
	for i, d := range b.AddDirs {
		abs, err := filepath.Abs(d)
		if err != nil {
			return nil, fmt.Errorf("add folder %s: %w", d, err)
		}
		if i == 0 {
			b.AddDirs = append([]string(nil), b.AddDirs...)
		}
		b.AddDirs[i] = abs
	}
	if err := b.openVault(); err != nil {
		return nil, err
	}
	return b, nil
}

// On gives a bench without a directory on other files, with the same secrets. It need not be closed.
func On(b *Bench, files workspace.Files) *Bench {
	o := b.Options
	o.Files = files
	return &Bench{Options: o, vault: b.vault, cache: search.NewCache()}
}

// Close ends what is shared.
func (b *Bench) Close() error {
	b.pooling.Lock()
	defer b.pooling.Unlock()
	if b.pool != nil {
		return errors.Join(b.pool.Close(), b.boxes.close())
	}
	return b.boxes.close()
}

// realDir is a directory by its absolute name without links.
func realDir(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("find the workspace: %w", err)
	}
	if abs, err = filepath.EvalSymlinks(abs); err != nil {
		return "", fmt.Errorf("open the workspace: %w", err)
	}
	return abs, nil
}

// holdsOwnFiles reports whether burin's own files lie in the workspace.
func (b *Bench) holdsOwnFiles() bool {
	for _, p := range []string{b.StateDir, b.ConfigDir, b.PermissionFile} {
		if p == "" {
			continue
		}
		abs, err := filepath.Abs(p)
		if err != nil {
			return true
		}
		// The folder may not exist yet: what is above it does.
		for at := abs; ; at = filepath.Dir(at) {
			if real, err := filepath.EvalSymlinks(at); err == nil {
				rest, _ := filepath.Rel(at, abs)
				abs = filepath.Join(real, rest)
				break
			}
			if at == filepath.Dir(at) {
				break
			}
		}
		if rel, err := filepath.Rel(b.dir, abs); err == nil && filepath.IsLocal(rel) {
			return true
		}
	}
	return false
}

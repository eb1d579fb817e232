package bench

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/burin-dev/burin/internal/platform/workspace"
	"github.com/burin-dev/burin/internal/tools/github"
	"github.com/burin-dev/burin/internal/tools/server"
	"github.com/burin-dev/burin/internal/tools/web"
)

// Scratch is the address of the files that are a session's own: plans, notes, whatever is
// not part of the project. They may be written in every mode.
const Scratch = "local://"

// scratchFolder is the name of their folder, among the session's artifacts.
const scratchFolder = "local"

// addresses are what reads the addresses of a session, by scheme.
func addresses(b *seat, hub *github.Reader) map[string]func(context.Context, string) (string, error) {
	all := map[string]func(context.Context, string) (string, error){
		"history": past{b}.read, "docs": manual{}.read, "agent": noAgents, "issue": hub.Read, "pr": hub.Read,
		server.Scheme: server.Resources{Links: b.Servers}.Read,
	}
	maps.Copy(all, b.URLs)
	return all
}

// newHub makes what reads issues and pull requests. Nothing is asked before an address is read.
func newHub(b *seat) *github.Reader {
	o := hubOptions(b.Bench)
	if b.StateDir != "" && !b.sealed {
		o.Keep = filepath.Join(b.StateDir, "github")
	}
	hub := github.New(o)
	b.onClose(hub.Close)
	return hub
}

func hubOptions(b *Bench) github.Options {
	o := github.Options{
		Web: web.Options{Transport: b.HTTP}, API: b.variable("GITHUB_API_URL"), Dir: b.dir, Writable: b.AddDirs, Now: b.Now,
	}
	if o.API != "" {
		if u, err := url.Parse(o.API); err == nil {
			o.Web.Private = []string{u.Host} // the user named it
		}
	}
	if b.vault != nil {
		o.Hide = b.vault.Hide
	}
	return o
}

// PullRequest reads the pull request that a person wrote a number or an address of, as it is now. ok
// is false if they wrote something else.
func PullRequest(ctx context.Context, b *Bench, written string) (p *github.Pull, ok bool, err error) {
	address, ok := github.PullAddress(written)
	if !ok {
		return nil, false, nil
	}
	hub := github.New(hubOptions(b))
	p, err = hub.Pull(ctx, address)
	return p, true, errors.Join(err, hub.Close())
}

// trees are the files behind the addresses of a session, by scheme.
func trees(b *seat) map[string]Tree {
	all := map[string]Tree{"docs": manual{}}
	maps.Copy(all, b.Trees)
	return all
}

// noAgents is the error for the output of an agent.
func noAgents(_ context.Context, address string) (string, error) {
	return "", fmt.Errorf("%s: this session has no agents", address)
}

// mounts are the folders behind addresses.
func mounts(b *seat) []workspace.Mount {
	var temporary atomic.Pointer[string]
	b.onClose(func() error {
		if dir := temporary.Load(); dir != nil {
			return os.RemoveAll(*dir)
		}
		return nil
	})
	dir := sync.OnceValues(func() (string, error) {
		switch {
		case b.sealed:
			return "", errors.New(Scratch + " is not available in an encrypted session: its files would not be encrypted")
		case b.path != "":
			folder := folderOf(b)
			dir := filepath.Join(folder, scratchFolder)
			return dir, errors.Join(notLinked(folder), notLinked(dir))
		}
		dir, err := os.MkdirTemp("", "burin-local-")
		if err == nil {
			temporary.Store(&dir)
		}
		return dir, err
	})
	return append([]workspace.Mount{{Address: Scratch, Dir: dir, Always: true}}, b.Mounts...)
}

// notLinked is an error for what is there and no folder. A session file may come with a
// repository, where a link in the place of a folder of the session's would lead anywhere.
func notLinked(dir string) error {
	if info, err := os.Lstat(dir); err == nil && !info.IsDir() {
		return fmt.Errorf("%s is not a folder but a file or a link: remove it", dir)
	}
	return nil
}

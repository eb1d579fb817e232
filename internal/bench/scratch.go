package bench

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/burin-dev/burin/internal/platform/workspace"
	"github.com/burin-dev/burin/transcript"
)

// Scratch is the address of the files that are a session's own: plans, notes, whatever is
// not part of the project. They may be written in every mode.
const Scratch = "local://"

// addresses are what reads the addresses of a session, by scheme.
func addresses(b *seat) map[string]func(context.Context, string) (string, error) {
	all := map[string]func(context.Context, string) (string, error){"history": past{b}.read, "docs": manual{}.read, "agent": noAgents}
	maps.Copy(all, b.URLs)
	return all
}

// trees are the files behind the addresses of a session, by scheme.
func trees(b *seat) map[string]Tree {
	all := map[string]Tree{"docs": manual{}}
	maps.Copy(all, b.Trees)
	return all
}

// noAgents is the error for the output of an agent.
func noAgents(_ context.Context, address string) (string, error) {
	return "", fmt.Errorf("%s: there are no agents yet", address)
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
			return filepath.Join(transcript.ArtifactDir(b.path), "local"), nil
		}
		dir, err := os.MkdirTemp("", "burin-local-")
		if err == nil {
			temporary.Store(&dir)
		}
		return dir, err
	})
	return append([]workspace.Mount{{Address: Scratch, Dir: dir, Always: true}}, b.Mounts...)
}

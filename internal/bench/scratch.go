package bench

import (
	"errors"
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

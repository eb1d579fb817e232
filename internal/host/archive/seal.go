package archive

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/burin-dev/burin/internal/host/sessionkey"
	"github.com/burin-dev/burin/internal/host/words"
	"github.com/burin-dev/burin/transcript/place"
)

// SealOptions say which sessions are encrypted: one, or all that are not.
type SealOptions struct {
	Session string
	All     bool
	Purge   bool // delete what was in the clear, instead of keeping it in the trash
	// Sure is asked before sessions are purged; its error ends it. Nil: it is sure.
	Sure func(sessions int) error
	// Start is told before the first session is encrypted. Nil: nobody is.
	Start func()
	// Failed is told why one of several sessions was not encrypted. Nil: nobody is.
	Failed func(error)
}

// SealReport is what was encrypted.
type SealReport struct {
	Sessions int // that were to be encrypted
	Sealed   int
}

// Left is how many sessions were to be encrypted and are not.
func (r SealReport) Left() int { return r.Sessions - r.Sealed }

// Seal encrypts sessions. Of several, one that cannot be does not keep the others out.
func (a *Archive) Seal(ctx context.Context, o SealOptions) (SealReport, error) {
	var r SealReport
	files, err := a.plainSessions(ctx, o)
	if err != nil {
		return r, err
	}
	r.Sessions = len(files)
	if o.Purge && o.Sure != nil && len(files) > 0 {
		if err := o.Sure(len(files)); err != nil {
			return r, err
		}
	}
	if o.Start != nil {
		o.Start()
	}
	for _, file := range files {
		if err := ctx.Err(); err != nil {
			return r, err
		}
		if err := a.sealOne(ctx, file, o.Purge); err != nil {
			if keyless, ok := errors.AsType[sessionkey.Error](err); ok && r.Sealed == 0 {
				return r, keyless // it is so for all of them
			}
			if len(files) == 1 {
				return r, err
			}
			if o.Failed != nil {
				o.Failed(err)
			}
			continue
		}
		r.Sealed++
	}
	// It has copies of what was said. It is made again when needed.
	return r, a.dropIndex()
}

// plainSessions are the files that are to be encrypted.
func (a *Archive) plainSessions(ctx context.Context, o SealOptions) ([]string, error) {
	if o.Session == "" && !o.All {
		return nil, usagef("say which session, or --all")
	}
	files, err := a.chosen(ctx, o.Session, o.All)
	if err != nil || o.Session != "" {
		return files, err
	}
	return slices.DeleteFunc(files, func(f string) bool { return sealedSession(f) || isDraft(f) }), nil
}

// Unseal makes an encrypted session readable again, and gives its id.
func (a *Archive) Unseal(ctx context.Context, which string) (id string, err error) {
	file, err := a.Find(ctx, which)
	if err != nil {
		return "", err
	}
	if _, err := place.Unseal(file, a.keys(ctx), a.trash); err != nil {
		return "", Explain(file, fmt.Errorf("decrypt session %s: %w", words.ShortPath(file), err))
	}
	return trashID(file), nil
}

func (a *Archive) sealOne(ctx context.Context, file string, purge bool) error {
	if place.Parse(file).SQL {
		return errors.New("a session in a database is encrypted from its beginning or never: start one with --seal")
	}
	trashed, err := place.Seal(file, a.keys(ctx), a.blobs(), a.trash)
	if err != nil {
		return Explain(file, fmt.Errorf("encrypt session %s: %w", words.ShortPath(file), err))
	}
	if !purge {
		return nil
	}
	if err := os.RemoveAll(filepath.Dir(trashed)); err != nil {
		return fmt.Errorf("session %s is encrypted, but what it was could not be deleted: %w", words.ShortPath(file), err)
	}
	return nil
}

// dropIndex removes the search index.
func (a *Archive) dropIndex() error {
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(a.index + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove the search index, which may hold what was said: %w", err)
		}
	}
	return nil
}

// newSession is the store of a new session: encrypted if the settings say so, or what
// it is made of is.
func (a *Archive) newSession(ctx context.Context, path, from string) (place.Draft, error) {
	seal := a.settings.Sessions.Encrypt || from != "" && sealedSession(from)
	return place.New(path, a.keys(ctx), seal, a.blobs())
}

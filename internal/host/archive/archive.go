// Package archive has what is done with sessions as a whole: they are found, listed,
// searched, imported, exported, copied, moved, encrypted, examined, freed of secrets and
// thrown away. What was done is told by reports, which the command line and the faces
// show in their own ways. Nothing here writes to a terminal or reads one: questions are
// put by functions that the caller passes in.
package archive

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/burin-dev/burin/internal/customize/config"
	"github.com/burin-dev/burin/transcript"
	"github.com/burin-dev/burin/transcript/place"
)

// Options say where an archive is. Paths, Settings and Keys are required.
type Options struct {
	Paths    config.Paths
	Settings *config.Config
	// Keys asks for the keys of encrypted sessions.
	Keys func(context.Context) place.Keys
	// Warn is told what a person should know, a line each; nil: nobody is.
	Warn func(string)
	// Version of burin stands in exported pages.
	Version string
}

// Archive is where sessions and what belongs to them lie.
type Archive struct {
	paths    config.Paths
	settings *config.Config
	root     string // of the folders of session files
	trash    string
	index    string // file of the search index
	version  string
	keys     func(context.Context) place.Keys
	warn     func(string)
}

// New is the archive of these settings. It opens nothing.
func New(o Options) *Archive {
	a := &Archive{
		paths: o.Paths, settings: o.Settings, root: Root(o.Settings, o.Paths), version: o.Version,
		trash: filepath.Join(o.Paths.Data, "trash"), index: filepath.Join(o.Paths.Cache, "sessions.db"),
		keys: o.Keys, warn: o.Warn,
	}
	if a.warn == nil {
		a.warn = func(string) {}
	}
	return a
}

// Root is the folder of the folders of session files.
func (a *Archive) Root() string { return a.root }

// Index is the file of the search index. It may not be there.
func (a *Archive) Index() string { return a.index }

// Open finds a session and opens it to be read. Damage is a warning.
func (a *Archive) Open(ctx context.Context, which string) (file string, l *transcript.Log, err error) {
	if file, err = a.Find(ctx, which); err != nil {
		return "", nil, err
	}
	l, damage, err := a.read(ctx, file)
	if err != nil {
		return file, nil, Explain(file, err)
	}
	file = published(file)
	if damage.Serious() {
		a.warn(fmt.Sprintf("session %s: %s; what can be read is used", file, damage))
	}
	return file, l, nil
}

// blobs are the large pieces that sessions share.
func (a *Archive) blobs() *transcript.Blobs {
	return transcript.NewBlobs(filepath.Join(a.paths.Data, "blobs"))
}

// read opens a session to read it whole, also a draft that has been published since it
// was found.
func (a *Archive) read(ctx context.Context, name string) (*transcript.Log, *transcript.Damage, error) {
	o := transcript.Options{Blobs: a.blobs()}
	l, damage, err := place.Read(ctx, name, a.keys(ctx), o)
	if final := published(name); errors.Is(err, fs.ErrNotExist) && final != name {
		return place.Read(ctx, final, a.keys(ctx), o)
	}
	return l, damage, err
}

// IsDir reports whether a path leads to a folder.
func IsDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// WorkDir is the working directory as sessions name it: without symbolic links.
func WorkDir() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the working directory: %w", err)
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	return dir, nil
}

// IsSession reports whether a file is a session, or the draft that a crash left of
// one.
func IsSession(name string) bool {
	return strings.HasSuffix(name, ".jsonl") || strings.HasSuffix(name, ".jsonl.draft")
}

// Root is where sessions are kept. It does not depend on the folder that burin is
// started in: a relative one is of the home folder.
func Root(c *config.Config, paths config.Paths) string {
	if c.SessionDir == "" {
		return filepath.Join(paths.Data, "sessions")
	}
	return HomePath(c.SessionDir)
}

// HomePath is a path of the settings: with "~" for the home folder, where a relative one is too.
func HomePath(path string) string {
	dir := expandHome(path)
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

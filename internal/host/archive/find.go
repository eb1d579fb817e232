package archive

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/burin-dev/burin/internal/host/words"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/transcript"
	"github.com/burin-dev/burin/transcript/index"
	"github.com/burin-dev/burin/transcript/place"
)

// ErrUnnamed is that an argument is there and empty. A script whose variable is empty
// means neither no session nor all of them.
var ErrUnnamed = usagef("no session is named: give its id, the beginning of it, or its file")

func noDatabase(n place.Name) error { return fmt.Errorf("session database %s not found", n.File) }

// isPath reports whether a word of the command line names a file rather than an id.
func isPath(word string) bool {
	return strings.ContainsAny(word, `/\`) || strings.HasSuffix(word, ".jsonl") || strings.HasSuffix(word, ".draft") || place.Parse(word).SQL
}

// Find is the file of the session that a word names: its file, its file's name, its id or
// the beginning of it.
func (a *Archive) Find(ctx context.Context, which string) (string, error) {
	if which == "" {
		return "", ErrUnnamed
	}
	if n := place.Parse(which); n.SQL {
		n, err := n.Abs()
		if err == nil && !n.Exists() {
			err = noDatabase(n)
		}
		if err == nil && !n.Server() {
			err = regular(n.File)
		}
		return n.String(), err
	}
	if isPath(which) {
		which = published(which)
		_, err := os.Stat(which)
		switch {
		case err == nil:
			if err := regular(which); err != nil {
				return "", err
			}
			return filepath.Abs(which)
		case strings.ContainsAny(which, `/\`):
			return "", fmt.Errorf("no session file %s", which)
		}
	}
	list, err := index.List(ctx, a.root, index.ListOptions{})
	if err != nil {
		return "", err
	}
	return oneOf(which, list)
}

// published is where a session is now. A draft gets its name with the first answer, which
// may come after somebody was told of the draft.
func published(path string) string {
	name, draft := strings.CutSuffix(path, ".draft")
	if !draft {
		return path
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return path
	}
	if _, err := os.Stat(name); err != nil {
		return path
	}
	return name
}

// regular refuses what is no file. A pipe would be waited for, for as long as nobody
// writes to it.
func regular(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	what := "a device"
	switch mode := info.Mode(); {
	case mode.IsRegular():
		return nil
	case mode.IsDir():
		what = "a folder"
	case mode&fs.ModeNamedPipe != 0:
		what = "a pipe"
	case mode&fs.ModeSocket != 0:
		what = "a socket"
	}
	return fmt.Errorf("%s is not a session file: it is %s", path, what)
}

// oneOf is the file of the one session that a word names. A whole id comes before the
// beginnings of others.
func oneOf(which string, list []index.Info) (string, error) {
	var found, exact []index.Info
	for _, s := range list {
		switch {
		case s.ID == which || filepath.Base(s.Path) == which:
			exact = append(exact, s)
		case strings.HasPrefix(s.ID, which):
			found = append(found, s)
		}
	}
	if len(exact) > 0 {
		found = exact
	}
	switch {
	case len(found) == 0:
		return "", fmt.Errorf("no session %q: burin sessions --all lists them", which)
	case len(found) == 1:
		return found[0].Path, nil
	case len(exact) > 1:
		return "", usagef("%d files have the id %q: write which: %s", len(found), which, several(found, func(s index.Info) string { return s.Path }))
	}
	return "", usagef("%q fits %d sessions: %s; write more of the id", which, len(found), several(found, func(s index.Info) string { return s.ID }))
}

// several says what a person tells sessions apart by.
func several(list []index.Info, name func(index.Info) string) string {
	const shown = 5
	var names []string
	for i, s := range list {
		if i == shown {
			names = append(names, "…")
			break
		}
		names = append(names, fmt.Sprintf("%s (%s, %s%s)", prose.Inline(name(s)), words.Stamp(s.Modified), prose.Row(s.Title, 40), Marks(s)))
	}
	return strings.Join(names, ", ")
}

// chosen are the session files that a command is about: one, those of this folder, or
// all, the drafts included.
func (a *Archive) chosen(ctx context.Context, which string, all bool) ([]string, error) {
	if which != "" {
		if all {
			return nil, usagef("--all and an id contradict each other")
		}
		file, err := a.Find(ctx, which)
		return []string{file}, err
	}
	pattern := "*"
	if !all {
		dir, err := WorkDir()
		if err != nil {
			return nil, err
		}
		pattern = transcript.EncodeDir(dir)
	}
	entries, err := os.ReadDir(a.root)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("look for sessions: %w", err)
	}
	var files []string
	for _, d := range entries {
		if !d.IsDir() || pattern != "*" && d.Name() != pattern {
			continue
		}
		names, err := os.ReadDir(filepath.Join(a.root, d.Name()))
		if err != nil {
			return nil, fmt.Errorf("look for sessions: %w", err)
		}
		for _, e := range names {
			if e.Type().IsRegular() && IsSession(e.Name()) {
				files = append(files, filepath.Join(a.root, d.Name(), e.Name()))
			}
		}
	}
	return files, nil
}

// sealedSession reports whether nothing can be seen of a session.
func sealedSession(file string) bool {
	info, err := index.Read(file)
	return err == nil && info.Sealed
}

// inDatabase refuses what is not done with a session in a database.
func inDatabase(name string) error {
	if place.Parse(name).SQL {
		return fmt.Errorf("session %s is in a database, where this is not done: burin sessions fork makes a file of it", words.ShortPath(name))
	}
	return nil
}

// listable refuses to put a file where only a list leads to it again, if none does.
func listable(file string) error {
	if IsSession(file) {
		return nil
	}
	return fmt.Errorf("%s: lists would not find it, because its name does not end with .jsonl: rename it first", words.ShortPath(file))
}

// trashID is what names a session in the trash.
func trashID(trashed string) string {
	if info, err := index.Read(trashed); err == nil {
		return info.ID
	}
	return filepath.Base(trashed)
}

// Marks say what is special about a session.
func Marks(s index.Info) string {
	var words []string
	if s.Draft {
		words = append(words, "draft")
	}
	if s.Damaged {
		words = append(words, "damaged")
	}
	if s.Sealed {
		words = append(words, "encrypted")
	}
	if len(words) == 0 {
		return ""
	}
	return " [" + strings.Join(words, ", ") + "]"
}

// files are the session files that a command is about which works on files only.
func (a *Archive) files(ctx context.Context, which string, all bool) ([]string, error) {
	files, err := a.chosen(ctx, which, all)
	if err == nil && which != "" {
		err = inDatabase(files[0])
	}
	return files, err
}

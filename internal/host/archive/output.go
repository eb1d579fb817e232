package archive

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/burin-dev/burin/internal/host/words"
	"github.com/burin-dev/burin/transcript/sqlstore"
)

// output is a file that a person has named to be written.
type output struct {
	name   string // as it was written
	path   string // without symbolic links, so that what they point at is looked at and replaced
	stream bool   // a device or a pipe: it is written to, and not replaced
}

// outputFile finds where an export goes. It refuses what would be lost for good: sessions,
// whatever they are called, and what is in burin's own folders. Another file that is there is
// replaced only by force: nobody can take that back.
func (a *Archive) outputFile(name string, force bool) (output, error) {
	o := output{name: name}
	info, err := os.Stat(name)
	switch {
	case err == nil && info.IsDir():
		return o, usagef("write %s: it is a folder: name a file in it", name)
	case err == nil && !info.Mode().IsRegular():
		o.path, o.stream = name, true
		return o, nil
	}
	there := err == nil
	if o.path, err = resolved(name, there); err != nil {
		return o, fmt.Errorf("write %s: %w", name, err)
	}
	if there {
		kept, err := holdsSession(o.path)
		if err != nil {
			return o, fmt.Errorf("write %s: look at what is there: %w", name, Pathless(err))
		}
		if kept {
			return o, usagef("write %s: it is a session: choose another file", name)
		}
	}
	for _, own := range []string{a.paths.Data, a.paths.Config, a.paths.Cache, a.paths.State} {
		if liesIn(o.path, own) {
			return o, usagef("write %s: it is in burin's own folder %s: choose another place", name, words.ShortPath(own))
		}
	}
	if there && !force {
		return o, fmt.Errorf("write %s: it is there already: choose another file with -o, or add --force to replace it", name)
	}
	return o, nil
}

// resolved is a path without symbolic links. What is not there yet is in a folder that may
// be reached by one.
func resolved(name string, there bool) (string, error) {
	path, err := filepath.Abs(name)
	if err != nil || there {
		return evaluated(path, err)
	}
	dir, err := evaluated(filepath.Dir(path), nil)
	return filepath.Join(dir, filepath.Base(path)), err
}

func evaluated(path string, err error) (string, error) {
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(path)
	return real, Pathless(err)
}

// liesIn reports whether a path lies in a folder, however the two are spelled.
func liesIn(path, folder string) bool {
	own, err := os.Stat(folder)
	if err != nil {
		return false
	}
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		if info, err := os.Stat(dir); err == nil && os.SameFile(info, own) {
			return true
		}
		if dir == filepath.Dir(dir) {
			return false
		}
	}
}

// holdsSession reports whether a file is a session, a draft, or a database, in which there
// may be sessions: by its name, or by how it begins.
func holdsSession(path string) (bool, error) {
	if IsSession(path) {
		return true, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	head := make([]byte, 4<<10)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return false, err
	}
	head = head[:n]
	if sqlstore.IsDatabase(head) {
		return true, nil
	}
	// The header is the first record, unless that is torn or a title stands before it.
	for range 4 {
		var line []byte
		line, head, _ = bytes.Cut(head, []byte("\n"))
		var record struct{ Type string }
		if json.Unmarshal(line, &record) == nil && (record.Type == "session" || record.Type == "sealed") {
			return true, nil
		}
	}
	return false, nil
}

// write writes the file whole or not at all; a device or a pipe gets what there is.
func (o output) write(write func(io.Writer) error) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("write %s: %w", o.name, err)
		}
	}()
	if !o.stream {
		return putFile(o.path, write)
	}
	f, err := os.OpenFile(o.path, os.O_WRONLY, 0)
	if err != nil {
		return Pathless(err)
	}
	return errors.Join(write(f), f.Close())
}

// writeFile writes a file whole or not at all. Another file is replaced only if that
// is wanted.
func writeFile(path string, replace bool, write func(io.Writer) error) error {
	if _, err := os.Lstat(path); err == nil && !replace {
		return fmt.Errorf("write %s: it is there already: choose another file with -o", path)
	}
	if err := putFile(path, write); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// putFile writes a file whole or not at all, in place of one that is there. Errors do not
// name it, nor the file that is written first.
func putFile(path string, write func(io.Writer) error) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".burin-") // 0600
	if err != nil {
		return Pathless(err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name()) // it is half a file
			err = Pathless(err)
		}
	}()
	if err := errors.Join(write(f), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// Pathless is an error without the path that the operating system's call was given.
func Pathless(err error) error {
	if wrong, ok := errors.AsType[*fs.PathError](err); ok {
		return wrong.Err
	}
	if wrong, ok := errors.AsType[*os.LinkError](err); ok {
		return wrong.Err
	}
	return err
}

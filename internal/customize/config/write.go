package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/burin-dev/burin/internal/customize/config/edit"
	"github.com/burin-dev/burin/internal/platform/smallfile"
)

const (
	attempts = 300                   // to replace a file that others write at the same time
	pause    = 10 * time.Millisecond // while another program writes it
	stale    = 5 * time.Second       // age of what a program left behind that ended while writing
	maxLinks = 40                    // from config.yml to the file
	suffix   = ".new"                // of the file beside it that takes its place
)

// Set gives a key of config.yml in dir a value, and makes the file where there is
// none. The value is of the setting's type; entries of records are set as
// "modelRoles.smol". It may be called from several programs at once: a change made
// meanwhile is kept. The file is left as it was where the result would not load.
func Set(dir, key string, value any) error {
	path, err := keyPath(key)
	if err != nil {
		return err
	}
	if s, ok := Find(key); ok {
		if err := s.fits(value); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("write the settings: %w", err)
	}
	return change(dir, func(file string, data []byte) ([]byte, error) {
		if path[0] == "theme" {
			if c, err := parse(file, data); err == nil && c.file.flatTheme() {
				both := map[string]any{"dark": c.Theme.Dark, "light": c.Theme.Light}
				both[path[1]] = value
				return edit.Set(data, path[:1], both)
			}
		}
		return edit.Set(data, path, value)
	})
}

// Unset removes a key from config.yml in dir, so that its default holds.
func Unset(dir, key string) error {
	path, err := keyPath(key)
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(dir, name)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return change(dir, func(file string, data []byte) ([]byte, error) {
		if path[0] == "theme" {
			if c, err := parse(file, data); err == nil && c.file.flatTheme() {
				other := map[string]any{"dark": c.Theme.Dark, "light": c.Theme.Light}
				delete(other, path[1])
				return edit.Set(data, path[:1], other)
			}
		}
		return edit.Unset(data, path)
	})
}

// keyPath is the names a key consists of: those of a setting, and one more of an
// entry of a record.
func keyPath(key string) ([]string, error) {
	if _, ok := Find(key); ok {
		return strings.Split(key, "."), nil
	}
	for i := range table {
		entry, ok := strings.CutPrefix(key, table[i].Key+".")
		if ok && entry != "" && table[i].Type == Record {
			return append(strings.Split(table[i].Key, "."), entry), nil
		}
	}
	return nil, unknown(key)
}

// fits says what is wrong with a value that shall be written.
func (s Setting) fits(v any) error {
	ok := false
	switch v.(type) {
	case bool:
		ok = s.Type == Bool
	case string:
		ok = s.Type == Enum || s.Type == String
	case int:
		ok = s.Type == Number
	case float64:
		ok = s.Type == Number && s.Fraction
	case []string:
		ok = s.Type == List
	case map[string]any:
		ok = s.Type == Record
	}
	if !ok {
		if s.Type == Enum {
			return fmt.Errorf("one of %s is wanted", strings.Join(s.Choices, ", "))
		}
		return fmt.Errorf("%s is wanted", map[Type]string{Bool: "on or off", Number: "a number", String: "a text", List: "a list", Record: "a mapping"}[s.Type])
	}
	return s.Check(v)
}

// change replaces config.yml by what edited makes of it.
func change(dir string, edited func(file string, data []byte) ([]byte, error)) error {
	return Rewrite(filepath.Join(dir, name), edited, func(file string, data []byte) error {
		_, err := parse(file, data)
		return err
	})
}

// Rewrite replaces a file of settings by what edited makes of it, if check finds nothing wrong with that. Links are
// followed, a file that isn't there is made. The new file is written beside it under a fixed name, which only one program can have; before it takes the
// place, the old one is compared with what was edited, for programs that do not know
// of this. Owner and extended attributes are not kept.
func Rewrite(path string, edited func(file string, data []byte) ([]byte, error), check func(file string, data []byte) error) error {
	file, err := target(path)
	if err != nil {
		return fmt.Errorf("write the settings: %w", err)
	}
	for range attempts {
		done, err := replace(file, edited, check)
		if done || err != nil {
			return err
		}
		time.Sleep(pause)
	}
	return fmt.Errorf("write the settings: another program writes %s all the time, or left %s behind: delete that one and try again", file, filepath.Base(file)+suffix)
}

// target follows links to the file itself, which need not be there yet.
func target(path string) (string, error) {
	for range maxLinks {
		to, err := os.Readlink(path)
		if err != nil {
			return path, nil //nolint:nilerr // it is no link
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(path), to)
		}
		path = to
	}
	return "", fmt.Errorf("%s: too many links", path)
}

// replace does one attempt; false is to try again.
func replace(file string, edited func(string, []byte) ([]byte, error), check func(string, []byte) error) (bool, error) {
	beside := file + suffix
	f, err := os.OpenFile(beside, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		if info, err := os.Lstat(beside); err == nil && time.Since(info.ModTime()) > stale {
			os.Remove(beside)
		}
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("write the settings: %w", err)
	}
	done, err := write(f, file, edited, check)
	left := ours(f, beside)
	f.Close() // first: Windows removes no open files
	if left {
		os.Remove(beside)
	}
	return done, err
}

// write fills f and puts it in the place of file.
func write(f *os.File, file string, edited func(string, []byte) ([]byte, error), check func(string, []byte) error) (bool, error) {
	old, mode, err := readFile(file)
	if busy(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	mark := old[:len(old)-len(bytes.TrimPrefix(old, bom))]
	data, err := edited(file, old[len(mark):])
	if err != nil {
		return false, fmt.Errorf("%s:%w: nothing was changed", file, err)
	}
	if err := check(file, data); err != nil {
		return false, fmt.Errorf("%w: nothing was changed", err)
	}
	if data = append(bytes.Clone(mark), data...); bytes.Equal(data, old) {
		return true, nil
	}
	if _, err := f.Write(data); err != nil {
		return false, fmt.Errorf("write the settings: %w", err)
	}
	if err := errors.Join(f.Chmod(mode), f.Sync()); err != nil {
		return false, fmt.Errorf("write the settings: %w", err)
	}
	now, _, err := readFile(file)
	if busy(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if !bytes.Equal(now, old) || !ours(f, f.Name()) {
		return false, nil
	}
	if err := f.Close(); err != nil { // Windows renames no open files
		return false, fmt.Errorf("write the settings: %w", err)
	}
	if err := os.Rename(f.Name(), file); err != nil {
		os.Remove(f.Name())
		if runtime.GOOS == "windows" { // nor files that others are reading
			return false, nil
		}
		return false, fmt.Errorf("write the settings: %w", err)
	}
	if d, err := os.Open(filepath.Dir(file)); err == nil {
		_ = d.Sync() // what cannot be synced has been renamed all the same
		d.Close()
	}
	return true, nil
}

// busy reports that another program is replacing the file just now, which on Windows keeps
// readers out.
func busy(err error) bool {
	const sharingViolation = syscall.Errno(32)
	return runtime.GOOS == "windows" && errors.Is(err, sharingViolation)
}

// ours says that path still is the file that f was opened as: somebody may have taken
// it for left behind.
func ours(f *os.File, path string) bool {
	mine, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := os.Lstat(path)
	return err == nil && os.SameFile(mine, there)
}

func readFile(file string) ([]byte, fs.FileMode, error) {
	info, err := os.Stat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, 0o600, nil
	case err != nil:
		return nil, 0, fmt.Errorf("read the settings: %w", err)
	case !info.Mode().IsRegular():
		return nil, 0, fmt.Errorf("%s is not a settings file", file)
	case info.Mode()&0o200 == 0:
		return nil, 0, fmt.Errorf("%s is read-only: nothing was changed", file)
	}
	data, err := smallfile.Read(file, smallfile.Settings)
	if err != nil {
		return nil, 0, fmt.Errorf("read the settings: %w", err)
	}
	return data, info.Mode().Perm(), nil
}

package discover

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/burin-dev/burin/internal/model/catalog"
	"github.com/burin-dev/burin/internal/prose"
)

// maxThemes is how many themes are copied.
const maxThemes = 200

// file copies a file of others to name in burin's folder, if there is none.
func (s *search) file(ctx context.Context, from, name string, check func(path string) error) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	if check != nil {
		if err := check(from); err != nil {
			return "", fmt.Errorf("not copied: %w", err)
		}
	}
	b, err := readFile(from)
	if err != nil {
		return "", fmt.Errorf("copy %s: %w", name, err)
	}
	to := filepath.Join(s.o.ConfigDir, name)
	if err := create(to, b); errors.Is(err, fs.ErrExist) {
		return "Kept your own " + name + "; that of " + from + " was not copied.", nil
	} else if err != nil {
		return "", fmt.Errorf("copy %s: %w", name, err)
	}
	return "Copied to " + to + ".", nil
}

// create writes a new file that only its owner can read: models.yml may hold keys. A
// file that is there stays, even if it appears meanwhile.
func create(to string, b []byte) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(to), ".import-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(b)
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	if err = os.Link(f.Name(), to); err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	// A file system without links: the name is taken first.
	n, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = n.Write(b)
	if cerr := n.Close(); err == nil {
		err = cerr
	}
	return err
}

// models offers a file of models, if burin has none yet.
func (s *search) models(program, dir string) {
	for _, name := range []string{"models.yml", "models.yaml", "models.json"} {
		path := under(dir, name)
		if !isFile(path) {
			continue
		}
		f := Finding{Kind: Models, Program: program, Path: path, What: "A file of models and servers."}
		if has := s.has("models.yml", "models.yaml", "models.json"); has != "" {
			f.What += " You have " + has + " already, which stays as it is."
		} else if s.o.ConfigDir != "" {
			f.Import = func(ctx context.Context) (string, error) {
				if has := s.has("models.yml", "models.yaml", "models.json"); has != "" {
					return "Kept your own " + has + "; that of " + program + " was not copied.", nil
				}
				return s.file(ctx, path, name, readable)
			}
		}
		s.add(f)
		return
	}
}

// readable says what burin could not read in a file of models.
func readable(path string) error {
	_, err := catalog.Open(catalog.Options{File: path, Getenv: func(string) string { return "" }})
	return err
}

// has is the first of the names that burin's folder has.
func (s *search) has(names ...string) string {
	for _, n := range names {
		if exists(under(s.o.ConfigDir, n)) {
			return n
		}
	}
	return ""
}

// bindings offers a file of keys.
func (s *search) bindings(program, dir string) {
	const name = "keybindings.json"
	path := under(dir, name)
	if !isFile(path) {
		return
	}
	f := Finding{Kind: Bindings, Program: program, Path: path, What: "Your keys."}
	if s.has(name) != "" {
		f.What += " You have " + name + " already, which stays as it is."
	} else if s.o.ConfigDir != "" {
		f.Import = func(ctx context.Context) (string, error) {
			return s.file(ctx, path, name, func(path string) error { _, err := readJSON(path); return err })
		}
	}
	s.add(f)
}

// themes offers the theme files of a folder that burin does not have.
func (s *search) themes(program, dir string) {
	dir = under(dir, "themes")
	names := themeFiles(dir)
	if len(names) == 0 {
		return
	}
	f := Finding{Kind: Themes, Program: program, Path: dir, What: prose.Count(len(names), "theme") + " of your own."}
	if s.o.ConfigDir != "" {
		f.Import = func(ctx context.Context) (string, error) { return s.copyThemes(ctx, dir) }
	}
	s.add(f)
}

func themeFiles(dir string) []string {
	if dir == "" {
		return nil
	}
	entries, _ := os.ReadDir(dir) // what cannot be listed has no themes
	var names []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".json") && !e.IsDir() && len(names) < maxThemes {
			names = append(names, e.Name())
		}
	}
	return names
}

func (s *search) copyThemes(ctx context.Context, dir string) (string, error) {
	copied, kept := 0, 0
	var failed error
	for _, name := range themeFiles(dir) {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		b, err := readFile(filepath.Join(dir, name))
		if err == nil {
			err = create(filepath.Join(s.o.ConfigDir, "themes", name), b)
		}
		switch {
		case errors.Is(err, fs.ErrExist):
			kept++
		case err != nil:
			failed = errors.Join(failed, fmt.Errorf("copy the theme %s: %w", name, err))
		default:
			copied++
		}
	}
	report := prose.Count(copied, "theme") + " copied"
	if kept > 0 {
		report += fmt.Sprintf(", %d kept because you have them", kept)
	}
	return report + ".", failed
}

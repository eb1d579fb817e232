// Package installed finds the programs that burin starts by itself: git, editors, clipboard
// tools, the browser. Unlike the commands of a model they are not confined, so none may be
// one that a command could have put there.
//
// [Find] searches PATH as a shell does, and passes over what lies in a folder that
// commands may write: the current folder, which is the workspace as a rule, temporary
// folders, the caches of package managers, and what the caller names. Relative entries of
// PATH are passed over too. The result has no links in it, so that what was judged is what
// is started. Where the workspace is the root folder nothing is outside of it; then the
// root does not count.
//
// [Command] makes a program ready that starts in the root folder, where no configuration
// of a workspace is found, with a PATH without those folders.
package installed

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Caches are the folders outside a workspace that commands may write by default, because
// builds need them. Not all exist. home may be "".
func Caches(home string) []string {
	var all []string
	if cache, err := os.UserCacheDir(); err == nil {
		all = append(all, cache)
	}
	if home != "" {
		for _, d := range []string{"go/pkg", ".npm", ".cargo/registry", ".cargo/git", ".gradle", ".m2", ".pnpm-store", ".local/share/pnpm"} {
			all = append(all, filepath.Join(home, filepath.FromSlash(d)))
		}
	}
	return all
}

// Find gives the absolute path of a program without links. name is searched in PATH, or
// absolute. writable are further folders that commands may write.
func Find(name string, writable ...string) (string, error) {
	_, path, err := foldersOf(writable).search(name)
	return path, err
}

// Path is like [Find], with links: for a shell, which behaves as it is called.
func Path(name string, writable ...string) (string, error) {
	path, _, err := foldersOf(writable).search(name)
	return path, err
}

// search gives the path of a program as it was found, and without links.
func (f *folders) search(name string) (found, resolved string, err error) {
	if filepath.IsAbs(name) {
		return f.find(name, name)
	}
	if filepath.Base(name) != name {
		return "", "", fmt.Errorf("%s: a program is named by its name or an absolute path", name)
	}
	var refused error
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if !filepath.IsAbs(dir) {
			continue
		}
		found, resolved, err := f.find(filepath.Join(dir, name), name)
		if err == nil {
			return found, resolved, nil
		}
		if errors.Is(err, ErrPlanted) && refused == nil {
			refused = err
		}
	}
	if refused != nil {
		return "", "", refused
	}
	return "", "", &exec.Error{Name: name, Err: exec.ErrNotFound}
}

// ErrPlanted reports that a program lies where commands may write.
var ErrPlanted = errors.New("it lies in a folder that commands may write, and is not started unconfined: install it elsewhere")

// Command prepares a program that burin starts by itself, with the caller's folders as in
// [Find]. Streams and the folder may be changed.
func Command(ctx context.Context, writable []string, name string, args ...string) (*exec.Cmd, error) {
	f := foldersOf(writable)
	_, path, err := f.search(name)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Args[0] = filepath.Base(name) // one file may be several programs
	cmd.Dir = filepath.VolumeName(path) + string(filepath.Separator)
	cmd.Env = f.environment()
	return cmd, nil
}

// Own is [Command] for a program in burin's own folders, given by its absolute path. Commands
// can't write there, wherever these folders are.
func Own(ctx context.Context, path string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir = filepath.VolumeName(path) + string(filepath.Separator)
	cmd.Env = foldersOf(nil).environment()
	return cmd
}

// folders are those that commands may write.
type folders struct {
	writable []os.FileInfo
	held     map[string]bool // what hold has found out
}

func foldersOf(writable []string) *folders {
	home, _ := os.UserHomeDir() // without one there are no caches
	all := append([]string{".", os.TempDir()}, Caches(home)...)
	f := &folders{held: map[string]bool{}}
	for _, path := range append(all, writable...) {
		abs, err := filepath.Abs(path)
		if err != nil || abs == filepath.Dir(abs) {
			continue
		}
		if info, err := os.Stat(abs); err == nil {
			f.writable = append(f.writable, info)
		}
	}
	return f
}

// find gives the program at path, unless commands may write it.
func (f *folders) find(path, name string) (found, resolved string, err error) {
	if found, err = exec.LookPath(path); err != nil { // on Windows with its ending
		return "", "", err
	}
	if resolved, err = filepath.EvalSymlinks(found); err != nil {
		return "", "", err
	}
	if f.hold(found) || f.hold(resolved) {
		return "", "", fmt.Errorf("%s: %w", name, ErrPlanted)
	}
	return found, resolved, nil
}

// hold reports whether path is in one of the folders. It compares files, since a name can
// be written in several ways.
func (f *folders) hold(path string) bool {
	held, known := f.held[path]
	if known {
		return held
	}
	if info, err := os.Stat(path); err == nil {
		held = slices.ContainsFunc(f.writable, func(folder os.FileInfo) bool { return os.SameFile(info, folder) })
	}
	if parent := filepath.Dir(path); !held && parent != path {
		held = f.hold(parent)
	}
	f.held[path] = held
	return held
}

// environment is burin's own with a PATH that leads to no folder of f.
func (f *folders) environment() []string {
	var env []string
	for _, v := range os.Environ() {
		name, value, _ := strings.Cut(v, "=")
		if !strings.EqualFold(name, "PATH") {
			env = append(env, v)
			continue
		}
		var kept []string
		for _, dir := range filepath.SplitList(value) {
			if resolved, err := filepath.EvalSymlinks(dir); err == nil && filepath.IsAbs(dir) && !f.hold(dir) && !f.hold(resolved) {
				kept = append(kept, dir)
			}
		}
		env = append(env, name+"="+strings.Join(kept, string(filepath.ListSeparator)))
	}
	return env
}

//go:build unix

package ipc

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
)

// next is added to the name of a socket until it takes the place of the one before.
const next = ".new"

// longest is the longest path of a socket: 103 bytes on macOS, 107 on Linux. Linux reaches
// longer ones by their folder.
const longest = len(syscall.RawSockaddrUnix{}.Path) - 1

// Address gives the address of what has that identity: a path or an id. The socket lies
// in burin's folder of the user's runtime directory: XDG_RUNTIME_DIR (/run/user/ID on
// Linux if that isn't set) if it belongs to the user alone; else in the folder run of
// burin's data folder. The folder is made if it is missing, and refused if it is
// a link or anybody else can reach into it.
func Address(identity, data string, getenv func(string) string) (string, error) {
	dir := filepath.Join(data, "run")
	if runtime := runtimeDir(getenv); runtime != "" {
		dir = filepath.Join(runtime, "burin")
	}
	path := filepath.Join(dir, hash(identity))
	if !filepath.IsAbs(path) {
		return "", fmt.Errorf("socket folder %s: not an absolute path", dir)
	}
	if n := len(path) + len(next); n > longest && !viaFolder {
		return "", fmt.Errorf("socket path %s is %d bytes too long: set XDG_RUNTIME_DIR to a shorter folder of yours", path, n-longest)
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return "", fmt.Errorf("socket folder: %w", err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("socket folder: %w", err)
	}
	if err := checkFolder(dir); err != nil {
		return "", fmt.Errorf("socket folder %s: %w", dir, err)
	}
	return path, nil
}

// viaFolder says that a socket can be reached by an open folder.
const viaFolder = runtime.GOOS == "linux"

// short gives a name of a socket that is short enough, which is good until done is called.
func short(path string) (name string, done func(), err error) {
	if len(path) <= longest {
		return path, func() {}, nil
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return "", nil, err
	}
	return fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), filepath.Base(path)), func() { dir.Close() }, nil //nolint:errcheck // it was only looked up
}

// runtimeDir is the user's runtime directory, or "".
func runtimeDir(getenv func(string) string) string {
	dir := getenv("XDG_RUNTIME_DIR")
	if dir == "" && runtime.GOOS == "linux" { // such as under cron, where it isn't set but there
		dir = "/run/user/" + strconv.Itoa(os.Geteuid())
	}
	if !filepath.IsAbs(dir) || checkPrivate(dir) != nil { // after su it is still the other user's
		return ""
	}
	return dir
}

// checkFolder checks that nobody else can put a socket into dir, or another folder in
// its place.
func checkFolder(dir string) error {
	if err := checkPrivate(dir); err != nil {
		return err
	}
	parent, err := os.Stat(filepath.Dir(dir))
	if err != nil {
		return err
	}
	if parent.Mode()&0o002 != 0 && parent.Mode()&fs.ModeSticky == 0 {
		return errors.New("anybody can write to the folder that holds it")
	}
	if owner := ownerOf(parent); owner != os.Geteuid() && owner != 0 {
		return fmt.Errorf("the folder that holds it belongs to another user (%d)", owner)
	}
	return nil
}

func checkPrivate(dir string) error {
	info, err := os.Lstat(dir)
	switch {
	case err != nil:
		return err
	case info.Mode()&fs.ModeSymlink != 0:
		return errors.New("it is a symbolic link")
	case !info.IsDir():
		return errors.New("it is not a folder")
	case ownerOf(info) != os.Geteuid():
		return fmt.Errorf("it belongs to another user (%d)", ownerOf(info))
	case info.Mode().Perm() != 0o700:
		return fmt.Errorf("its mode is %04o: it must be 0700", info.Mode().Perm())
	}
	return nil
}

func ownerOf(info fs.FileInfo) int {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(s.Uid)
	}
	return -1
}

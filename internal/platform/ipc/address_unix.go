//go:build unix

package ipc

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
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
	return socketIn(socketDir(data, getenv), identity)
}

// Lasting is [Address] for a process that outlives a logout: the socket lies in the data folder,
// because the runtime directory is removed with the user's last login.
func Lasting(identity, data string) (string, error) {
	return socketIn(lastingDir(data), identity)
}

// HasLasting reports whether somebody listens at the lasting address, or has until it was killed.
// It gives that address.
func HasLasting(identity, data string) (address string, there bool) {
	address = filepath.Join(lastingDir(data), hash(identity))
	return address, checkSocket(address) == nil
}

// List returns the addresses at which somebody listens, or has until it was killed.
func List(data string, getenv func(string) string) ([]string, error) {
	var found []string
	for _, dir := range Folders(data, getenv) {
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("list the sockets: %w", err)
		}
		for _, e := range entries {
			if len(e.Name()) == len(hash("")) && e.Type() == fs.ModeSocket {
				found = append(found, filepath.Join(dir, e.Name()))
			}
		}
	}
	return found, nil
}

// Folders are those in which sockets come and go. They need not be there.
func Folders(data string, getenv func(string) string) []string {
	return slices.Compact([]string{socketDir(data, getenv), lastingDir(data)})
}

func lastingDir(data string) string { return filepath.Join(data, "run") }

func socketDir(data string, getenv func(string) string) string {
	if runtime := runtimeDir(getenv); runtime != "" {
		return filepath.Join(runtime, "burin")
	}
	return lastingDir(data)
}

// socketIn is the socket of an identity in a folder, which is made if it is missing.
func socketIn(dir, identity string) (string, error) {
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

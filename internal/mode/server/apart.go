package server

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// apart is files that releases have in a folder beside the program, as few people need them and the
// program would be much larger: the loop of private projects, what draws diagrams, what runs models in
// the browser. Who builds burin may have them in the program.
type apart struct {
	what   string // for messages
	folder string
	file   string // one that is there if all are
	docs   string // the page that says more
}

// versionFile has the version of the burin that a folder belongs to; none: it isn't checked.
const versionFile = "version"

// absent is the problem of an apart that isn't there.
type absent struct {
	apart
	why string
}

func (a absent) Error() string {
	return fmt.Sprintf("this burin came without %s: keep the folder %q of the release beside the program (see %s)%s", a.what, a.folder, a.docs, a.why)
}

// of finds the files for a program: in it, or where a release puts them.
func (a apart) of(built fs.FS, program, version string) (fs.FS, error) {
	if _, err := fs.Stat(built, a.file); err == nil {
		return built, nil
	}
	// An archive has the folder beside the program, a package has it in share.
	bin := filepath.Dir(program)
	for _, dir := range []string{filepath.Join(bin, a.folder), filepath.Join(bin, "..", "share", "burin", a.folder)} {
		if _, err := os.Stat(filepath.Join(dir, a.file)); err != nil {
			continue
		}
		is, err := os.ReadFile(filepath.Join(dir, versionFile))
		if name := strings.TrimSpace(string(is)); err == nil && name != version {
			return nil, absent{a, ": that folder is of another version"} // which one, and where it lies, is nothing for strangers
		}
		return os.DirFS(dir), nil
	}
	return nil, absent{apart: a}
}

// find finds the files for the program that runs, once. built is those that are in it.
func (a apart) find(built fs.FS, version string) func() (fs.FS, error) {
	return sync.OnceValues(func() (fs.FS, error) {
		program, err := os.Executable()
		if err == nil {
			program, err = filepath.EvalSymlinks(program)
		}
		if err != nil {
			return nil, absent{a, ": " + err.Error()}
		}
		return a.of(built, program, version)
	})
}

// isAbsent reports whether an error is that of files that aren't there.
func isAbsent(err error) bool { return errors.As(err, &absent{}) }

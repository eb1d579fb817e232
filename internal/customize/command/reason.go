package command

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"syscall"
)

// reason says in a few words why a file was refused, without repeating its path.
func reason(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	switch {
	case errors.Is(err, fs.ErrPermission):
		return "it cannot be read; check its permissions"
	case strings.Contains(err.Error(), "escapes"): // os.Root has no error of its own for it
		return "it is a link that leads out of its folder; put the file itself there"
	case errors.Is(err, fs.ErrNotExist):
		return "it is a link to nothing"
	}
	return err.Error()
}

// notFolder says that something stands there that is no folder, which is somebody
// else's and no concern of ours.
func notFolder(err error) bool {
	return errors.Is(err, syscall.ENOTDIR) || strings.HasSuffix(err.Error(), "not a directory") // os.Root's own
}

func sortEntries(entries []fs.DirEntry) {
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
}

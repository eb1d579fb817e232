package memory

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/burin-dev/burin/internal/platform/smallfile"
)

// Root is the folder that names the project of dir: the main worktree of its repository, so that
// all worktrees have one memory; the repository itself where it is bare; dir where there is none.
// Only the files of git are read.
//
// A .git file leads elsewhere, and anybody can write one. It counts if the repository knows the
// worktree, too: else a folder from a stranger could be given the memory of another project.
func Root(dir string) string {
	for at := dir; ; at = filepath.Dir(at) {
		link := filepath.Join(at, ".git")
		switch info, err := os.Lstat(link); {
		case err == nil && info.Mode().IsRegular():
			return primary(at, link)
		case err == nil:
			return at
		case at == filepath.Dir(at):
			return dir
		}
	}
}

// primary is the main worktree of the linked worktree at, whose .git is the file link.
func primary(at, link string) string {
	target, ok := strings.CutPrefix(line(link), "gitdir: ")
	git := resolved(at, target)
	main := resolved(git, line(filepath.Join(git, "commondir")))
	known := resolved(git, line(filepath.Join(git, "gitdir")))
	if !ok || git == "" || main == "" || filepath.Dir(git) != filepath.Join(main, "worktrees") || known != resolved(at, link) {
		return at // a submodule, or a stranger
	}
	if filepath.Base(main) == ".git" {
		main = filepath.Dir(main)
	}
	return main
}

// resolved is a path as a file of git has it, from dir on and without links; "" if it leads
// nowhere.
func resolved(dir, written string) string {
	if dir == "" || written == "" {
		return ""
	}
	if !filepath.IsAbs(written) {
		written = filepath.Join(dir, written)
	}
	real, err := filepath.EvalSymlinks(written)
	if err != nil {
		return ""
	}
	return real
}

// line is the only line of a small file; "" if there is none.
func line(file string) string {
	text, err := smallfile.Read(file, 4<<10)
	if err != nil || strings.Count(strings.TrimSpace(string(text)), "\n") > 0 {
		return ""
	}
	return strings.TrimSpace(string(text))
}

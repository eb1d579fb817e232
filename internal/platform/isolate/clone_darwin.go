package isolate

import "golang.org/x/sys/unix"

// clone makes target a file that shares its blocks with source; false where the file system
// cannot.
func clone(source, target string) bool {
	return unix.Clonefile(source, target, unix.CLONE_NOFOLLOW) == nil
}

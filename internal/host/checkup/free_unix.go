//go:build unix

package checkup

import "golang.org/x/sys/unix"

// free is the room that is left for the user on the disk of a folder.
func free(dir string) (uint64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, err
	}
	return uint64(s.Bavail) * uint64(s.Bsize), nil //nolint:unconvert // types differ from system to system
}

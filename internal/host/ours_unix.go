//go:build unix

package host

import (
	"os"
	"syscall"
)

// ours reports whether a file belongs to the user who runs burin.
func ours(info os.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}

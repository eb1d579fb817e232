package bench

import (
	"bytes"
	"os"
	"path/filepath"

	"github.com/burin-dev/burin/internal/platform/undo/rootfile"
)

// LinesIn counts the lines of files below a folder; ok is false if there is no such file. No link
// leads out of the folder.
func LinesIn(dir string) func(name string) (int, bool) {
	return func(name string) (n int, ok bool) {
		root, err := os.OpenRoot(dir)
		if err != nil {
			return 0, false
		}
		defer root.Close()
		f, err := rootfile.Open(root, filepath.FromSlash(name))
		if err != nil {
			return 0, false
		}
		defer f.Close()
		if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
			return 0, false
		}
		buf, last := make([]byte, 64<<10), byte('\n')
		for {
			k, err := f.Read(buf)
			if k > 0 {
				n += bytes.Count(buf[:k], []byte{'\n'})
				last = buf[k-1]
			}
			if err != nil {
				break
			}
		}
		if last != '\n' {
			n++
		}
		return n, true
	}
}

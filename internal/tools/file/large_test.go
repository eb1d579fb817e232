package file_test

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// A text beyond 64 MB is read by lines, in little memory, and is not overwritten.
func TestReadLarge(t *testing.T) {
	b := open(t, "replace", map[string]string{"small.txt": "x\n"})
	f, err := os.Create(filepath.Join(b.dir, "big.log"))
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriter(f)
	const lines = 1_000_000
	for i := 1; i <= lines; i++ {
		switch i {
		case 500_000:
			fmt.Fprintf(w, "the middle %s\n", strings.Repeat("ä", 300_000))
		default:
			fmt.Fprintf(w, "%07d %s\n", i, "a line of a log that is as long as such lines often are ..")
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	f.Close()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	b.wantPart("read", args{"path": "big.log:777777-777778"}, "777776|0777776 a line", "777781|0777781", "often are ..\n")
	runtime.ReadMemStats(&after)
	if n := (after.TotalAlloc - before.TotalAlloc) >> 20; n > 8 {
		t.Errorf("two lines took %d MB", n)
	}
	b.wantPart("read", args{"path": "big.log"}, "1|0000001 a line", fmt.Sprintf(" of %d shown; continue with :", lines), " MB: read it by lines, or search it with grep")
	b.wantPart("read", args{"path": "big.log:500000"}, "500000|the middle ää", "1 long line cut at 2000 bytes", "continue with :")
	b.want("read", args{"path": "big.log:1-2,1000000:raw"}, "0000001 a line of a log that is as long as such lines often are ..\n0000002 a line of a log that is as long as such lines often are ..\n…\n1000000 a line of a log that is as long as such lines often are ..\n")
	b.want("read", args{"path": "big.log:1000001-1000002"}, "[No such lines: there are 1000000; use :1 or :1000000.]")
	b.refused("read", args{"path": "big.log:conflicts"}, "use grep")
	b.refused("write", args{"path": "big.log", "content": "gone"}, "more than 64 MB")
	b.wantPart("grep", args{"pattern": "^0999999", "path": "big.log"}, "999999:0999999 a line")
}

package file_test

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/pacetest"
)

// A text beyond 64 MB is read by lines, in little memory, and is not overwritten.
func TestReadLarge(t *testing.T) {
	pacetest.Costly(t)
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
	if err := os.Chmod(f.Name(), 0o640); err != nil {
		t.Fatal(err)
	}
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
	edits := func(old, fresh string) args {
		return args{"path": "big.log", "edits": []args{{"old": old, "new": fresh}}}
	}
	runtime.ReadMemStats(&before)
	b.wantPart("edit", edits("0777777 a line", "0777777 one line\nmore of it:"), "Edited big.log at line 777777\n+2 -1 lines")
	runtime.ReadMemStats(&after)
	if n := (after.TotalAlloc - before.TotalAlloc) >> 20; n > 16 {
		t.Errorf("the edit took %d MB", n)
	}
	b.wantPart("read", args{"path": "big.log:777777-777778"}, "777777|0777777 one line\n777778|more of it: of a log", "777779|0777778 a line")
	b.wantPart("edit", edits("0999999 a line", "0999999 the last line"), "Edited big.log at line 1000000")
	b.wantPart("undo_edit", args{"path": "big.log"}, "Restored big.log")
	b.refused("edit", edits("0999999 the last line", "x"), "the exact text is not in the file")
	b.refused("edit", edits("a line of a log", "x"), "more than once, at lines 1 and 2")
	b.refused("edit", edits("a line of a lag", "x"), "the exact text is not in the file")
	b.refused("edit", args{"path": "big.log", "edits": []args{{"old": "a", "new": "b", "all": true}}}, "one place is changed at a time, by its exact text of at most 1 MB")
	if info, err := os.Stat(filepath.Join(b.dir, "big.log")); err != nil || info.Size() < 64<<20 || info.Mode().Perm() != 0o640 {
		t.Errorf("%v, %v", info, err)
	}
	if left, err := os.ReadDir(b.dir); err != nil || len(left) != 2 {
		t.Errorf("files were left: %v, %v", left, err)
	}
	b.wantPart("grep", args{"pattern": "^0999999", "path": "big.log"}, "1000000:0999999 a line")

	// Whoever changed the place since keeps it.
	b.wantPart("edit", edits("0000001 a line", "0000001 THE line"), "Edited big.log at line 1")
	f, err = os.OpenFile(filepath.Join(b.dir, "big.log"), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte("mine"), 0); err != nil {
		t.Fatal(err)
	}
	f.Close()
	b.refused("undo_edit", args{"path": "big.log"}, "has changed since your edit")
}

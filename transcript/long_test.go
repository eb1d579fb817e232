package transcript_test

import (
	"errors"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/transcript"
)

// hole puts size zero bytes behind the text of a file, which take no room on the disk.
func hole(t testing.TB, path, before string, size int64, after string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	end, err := f.Seek(0, io.SeekEnd)
	if err == nil {
		_, err = f.WriteString(before)
	}
	if err == nil {
		_, err = f.WriteAt([]byte(after+"\n"), end+int64(len(before))+size)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// allocated is how much memory work takes in all.
func allocated(work func()) int64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	work()
	runtime.ReadMemStats(&after)
	return int64(after.TotalAlloc - before.TotalAlloc)
}

// A line that is larger than a record may be is damage like any other: it is named and
// stays, the rest opens and goes on, and nobody holds it in memory.
func TestRecordTooLong(t *testing.T) {
	pacetest.Costly(t)
	const size, most = 300 << 20, 32 << 20
	tail := `{"type":"message","id":"tail0001","parentId":null,"timestamp":"2026-01-02T03:04:05.000Z","message":{"role":"user","content":"behind"}}`
	for name, tt := range map[string]struct{ before, after string }{
		"junk":                   {"", "\n" + tail},
		"entry":                  {`{"type":"message","id":"long0001","message":{"role":"user","content":"`, `"}}` + "\n" + tail},
		"without end":            {"{", ""},
		"first bytes of nothing": {strings.Repeat(" ", 300<<10), ""},
	} {
		t.Run(name, func(t *testing.T) {
			l, path := create(t)
			add(t, l, user("one"), assistant("two"))
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			hole(t, path, tt.before, size, tt.after)
			before, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			var damage *transcript.Damage
			if n := allocated(func() { l, damage, err = transcript.OpenSession(path, transcript.Options{}) }); n > most || err != nil {
				t.Fatalf("opening took %d MB: %v", n>>20, err)
			}
			if !damage.Serious() || len(damage.Bad) != 1 || !damage.Bad[0].TooLong || damage.Bad[0].Line != 4 {
				t.Errorf("damage %+v", damage)
			}
			if got := damage.String(); got != "line 4 is larger than 256 MB and was left out" {
				t.Errorf("said %q", got)
			}
			aside, err := os.ReadFile(path + ".damage")
			if err != nil || len(aside) > 1000 || !strings.Contains(string(aside), "larger than 256 MB") {
				t.Errorf("set aside: %d bytes, %v", len(aside), err)
			}
			want := 2
			if strings.Contains(tt.after, "tail0001") {
				want = 3
			}
			if got := len(l.Nodes()); got != want {
				t.Errorf("%d entries were read, want %d", got, want)
			}
			add(t, l, user("more"))
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			if after, err := os.Stat(path); err != nil || after.Size() < before.Size() {
				t.Errorf("the file lost something: %v", err)
			}
			l, _ = open(t, path)
			if got := len(l.Nodes()); got != want+1 {
				t.Errorf("%d entries are there now, want %d", got, want+1)
			}
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// A long record that may be is read in one piece, at its own cost.
func TestLongRecordCostsItsLength(t *testing.T) {
	pacetest.Costly(t)
	const size = 40 << 20
	l, path := create(t)
	add(t, l, user("one"), assistant("two"))
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteString(`{"type":"message","id":"long0001","parentId":null,"message":{"role":"user","content":"` + strings.Repeat("x", size) + `"}}` + "\n")
	if err != nil || f.Close() != nil {
		t.Fatal(err)
	}
	store, err := transcript.OpenFileReadOnly(path)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	longest := 0
	n := allocated(func() {
		err = store.Records(func(_ transcript.Ref, r []byte) error { longest = max(longest, len(r)); return nil })
	})
	if err != nil || longest < size || n > size*5/4 {
		t.Errorf("read %d MB of %d with %d MB: %v", longest>>20, size>>20, n>>20, err)
	}
}

// Whoever would write a session somewhere else without the record gives up.
func TestRecordTooLongIsNotCopiedAway(t *testing.T) {
	l, path := create(t)
	add(t, l, user("one"), assistant("two"))
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	hole(t, path, "{", 300<<20, "}")
	if _, err := transcript.Move(path, t.TempDir(), "/elsewhere"); !errors.Is(err, transcript.ErrTooLong) {
		t.Errorf("error %v", err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
}

package stretch

import (
	"bytes"
	"runtime"
	"runtime/debug"
	"sync"
	"testing"

	"golang.org/x/crypto/argon2"
)

const memory = 32 << 10 // KiB

// However many ask at once, the memory is that of two keys, and afterwards it is given back.
func TestKeyMemory(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	debug.FreeOSMemory()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	want := argon2.IDKey([]byte("quince"), []byte("somesalt"), 1, memory, 1, 32)
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			if got := Key([]byte("quince"), []byte("somesalt"), 1, memory, 1, 32); !bytes.Equal(got, want) {
				t.Errorf("%x, want %x", got, want)
			}
		})
	}
	all.Wait()
	runtime.ReadMemStats(&after)
	// The memory of the system never shrinks: it is what was needed at a time. The first key, of the test, is there too.
	if grown, limit := int64(after.HeapSys)-int64(before.HeapSys), int64(most+2)*memory<<10; grown > limit {
		t.Errorf("10 keys took %d MB, want at most %d", grown>>20, limit>>20)
	}
	if held, had := after.HeapSys-after.HeapReleased, before.HeapSys-before.HeapReleased; held > had+8<<20 {
		t.Errorf("%d MB are held afterwards, %d before", held>>20, had>>20)
	}
}

func BenchmarkKey(b *testing.B) {
	for b.Loop() {
		Key([]byte("quince"), []byte("somesalt"), 3, 64<<10, 1, 32)
	}
}

func BenchmarkPlain(b *testing.B) {
	for b.Loop() {
		argon2.IDKey([]byte("quince"), []byte("somesalt"), 3, 64<<10, 1, 32)
	}
}

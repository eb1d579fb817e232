//go:build !windows

package storetest

import (
	"math"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/burin-dev/burin/transcript"
)

// tooLong is a record that is longer than any store takes. It is no memory of Go's,
// and costs none while nobody writes to it.
func tooLong(t *testing.T) []byte {
	n := int64(transcript.MaxRecord) + 1
	if n > math.MaxInt {
		return nil // nothing is that long on this machine
	}
	b, err := unix.Mmap(-1, 0, int(n), unix.PROT_READ, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Logf("no 2 GB of addresses to be had: %v", err)
		return nil
	}
	t.Cleanup(func() { _ = unix.Munmap(b) })
	return b
}

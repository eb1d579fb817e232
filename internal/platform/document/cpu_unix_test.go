//go:build unix

package document_test

import (
	"time"

	"golang.org/x/sys/unix"
)

// spent is the time that the processor has worked for this process, which unlike the
// clock doesn't run while others have the machine.
func spent() time.Duration {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

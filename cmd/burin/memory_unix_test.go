//go:build unix

package main

import (
	"os"
	"runtime"
	"syscall"
	"testing"
)

// peakMemory is the most memory a process held, in bytes. On Linux it is never
// less than what this test held when it started the process.
func peakMemory(p *os.ProcessState) int64 {
	usage, ok := p.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	return inBytes(usage)
}

// ownPeakMemory is the most memory that this test held, in bytes.
func ownPeakMemory(t *testing.T) int64 {
	t.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		t.Fatal(err)
	}
	return inBytes(&usage)
}

func inBytes(usage *syscall.Rusage) int64 {
	n := int64(usage.Maxrss)
	if runtime.GOOS != "darwin" && runtime.GOOS != "ios" {
		n *= 1024
	}
	return n
}

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// While memory is off not a file of it is opened.
func TestMemoryOffReadsNothing(t *testing.T) {
	for backend, touched := range map[string]bool{"off": false, "local": true} {
		c := configure(t, fmt.Sprintf("memory: {backend: %s}\n", backend), says("Hello.", 100))
		c.put("burin/memory/user/summary.md", "- a fact\n")
		watch, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
		if err != nil {
			t.Fatal(err)
		}
		events := os.NewFile(uintptr(watch), "inotify")
		defer events.Close()
		for _, dir := range []string{"burin/memory", "burin/memory/user"} {
			if _, err := unix.InotifyAddWatch(watch, filepath.Join(c.dir, dir), unix.IN_OPEN|unix.IN_ACCESS|unix.IN_CREATE|unix.IN_MODIFY); err != nil {
				t.Fatal(err)
			}
		}
		out := c.burin("-p", "hello")
		var b [4096]byte
		n, _ := unix.Read(watch, b[:]) // without an event there is nothing to read
		if (n > 0) != touched {
			t.Errorf("%s: %d bytes of events\n%s", backend, n, out)
		}
	}
}

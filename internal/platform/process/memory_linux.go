package process

import (
	"os"
	"strconv"
	"strings"
)

// Memory is how many bytes of memory the descendants of a process have, shared ones counted for
// each; 0 if nobody knows. Of a program that [Command] started it is the program with all it started,
// without its guard.
func Memory(pid int) (bytes int64) {
	for _, p := range Descendants(pid) {
		text, err := os.ReadFile("/proc/" + strconv.Itoa(p) + "/statm")
		if fields := strings.Fields(string(text)); err == nil && len(fields) > 1 {
			pages, _ := strconv.ParseInt(fields[1], 10, 64) // 0 if the system writes nonsense
			bytes += pages * int64(os.Getpagesize())
		}
	}
	return bytes
}

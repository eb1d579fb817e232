package pgstore

import (
	"bytes"
	"fmt"
	"os"
	"strings"
)

// life tells this process from every other one: the start of the system, the namespace of
// process numbers, and when the process began. "" if that cannot be known here.
func life() string { return lifeOf(os.Getpid()) }

func lifeOf(pid int) string {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	space, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return ""
	}
	state, began := processState(pid)
	if state == "" {
		return ""
	}
	return fmt.Sprintf("%s %s %d %s", bytes.TrimSpace(boot), space, pid, began)
}

// processState is a letter, and when the process began; "" if there is none.
func processState(pid int) (state, began string) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", ""
	}
	// The name of the program, in parentheses, may have anything in it.
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < 20 {
		return "", ""
	}
	return fields[0], fields[19]
}

// ended reports whether a process is known to have ended. One of another machine, or of another
// container, is not known.
func ended(life string) bool {
	var boot, space, began string
	var pid int
	if n, err := fmt.Sscan(life, &boot, &space, &pid, &began); n != 4 || err != nil {
		return false
	}
	mine := strings.Fields(lifeOf(os.Getpid()))
	if len(mine) != 4 || mine[0] != boot || mine[1] != space {
		return false
	}
	state, since := processState(pid)
	if state == "" { // it is gone, if processes can be seen at all
		_, err := os.Stat(fmt.Sprintf("/proc/%d", pid))
		return os.IsNotExist(err)
	}
	return since != began || state == "Z" || state == "X"
}

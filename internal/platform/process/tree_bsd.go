//go:build unix && !linux && !darwin

package process

import (
	"bufio"
	"bytes"
	"fmt"
	"os/exec"
)

// childLister asks ps for all processes once.
func childLister() func(pid int) []int {
	f := family{}
	eachProcess(f.add)
	return f.children
}

func allProcesses() []int {
	var pids []int
	eachProcess(func(pid, _ int) { pids = append(pids, pid) })
	return pids
}

// eachProcess visits all processes but the ps that tells of them.
func eachProcess(visit func(pid, parent int)) {
	ps := exec.Command("/bin/ps", "-ax", "-o", "pid=", "-o", "ppid=")
	out, err := ps.Output()
	if err != nil {
		return
	}
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		var pid, parent int
		if _, err := fmt.Sscan(lines.Text(), &pid, &parent); err == nil && pid != ps.Process.Pid {
			visit(pid, parent)
		}
	}
}

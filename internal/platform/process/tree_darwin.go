package process

import "golang.org/x/sys/unix"

// childLister looks at all processes once.
func childLister() func(pid int) []int {
	f := family{}
	all, _ := unix.SysctlKinfoProcSlice("kern.proc.all")
	for _, p := range all {
		f.add(int(p.Proc.P_pid), int(p.Eproc.Ppid))
	}
	return f.children
}

func allProcesses() []int {
	all, _ := unix.SysctlKinfoProcSlice("kern.proc.all")
	pids := make([]int, 0, len(all))
	for _, p := range all {
		pids = append(pids, int(p.Proc.P_pid))
	}
	return pids
}

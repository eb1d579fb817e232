package process

import (
	"bytes"
	"os"
	"strconv"
)

// childLister asks the kernel's own list of children (CONFIG_PROC_CHILDREN, on in
// every distribution), or, where there is none, looks at all processes once.
func childLister() func(pid int) []int {
	if _, err := os.Stat("/proc/thread-self/children"); err == nil {
		return children
	}
	return scan().children
}

// children lists the direct children of all threads of pid.
func children(pid int) []int {
	tasks := "/proc/" + strconv.Itoa(pid) + "/task/"
	dir, err := os.Open(tasks)
	if err != nil {
		return nil
	}
	threads, err := dir.Readdirnames(-1)
	dir.Close()
	if err != nil {
		return nil
	}
	var pids []int
	for _, thread := range threads {
		data, _ := os.ReadFile(tasks + thread + "/children") // empty if the thread has ended
		for _, field := range bytes.Fields(data) {
			if child, err := strconv.Atoi(string(field)); err == nil {
				pids = append(pids, child)
			}
		}
	}
	return pids
}

// scan asks every process for its parent.
func scan() family {
	f := family{}
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue
		}
		// pid (name) state parent …; the name may hold anything.
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		if len(fields) < 2 {
			continue
		}
		if parent, err := strconv.Atoi(string(fields[1])); err == nil {
			f.add(pid, parent)
		}
	}
	return f
}

package process

import (
	"unsafe"

	"golang.org/x/sys/windows"
)

// childLister takes a snapshot of all processes.
func childLister() func(pid int) []int {
	f := family{}
	snapshot, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPPROCESS, 0)
	if err != nil {
		return f.children
	}
	defer windows.CloseHandle(snapshot)
	var p windows.ProcessEntry32
	p.Size = uint32(unsafe.Sizeof(p))
	for err := windows.Process32First(snapshot, &p); err == nil; err = windows.Process32Next(snapshot, &p) {
		f.add(int(p.ProcessID), int(p.ParentProcessID))
	}
	return f.children
}

package checkup

import "golang.org/x/sys/windows"

// free is the room that is left for the user on the disk of a folder.
func free(dir string) (n uint64, err error) {
	name, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return 0, err
	}
	err = windows.GetDiskFreeSpaceEx(name, &n, nil, nil)
	return n, err
}

//go:build linux && (amd64 || arm64)

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// place is what a path of a call leads to: a name in a folder, and the file of that
// name if there is one. Both are held by O_PATH descriptors, so that what is judged
// is what is used.
type place struct {
	folder int
	name   string // as the call has it, a slash at its end included; may be "." or ".."
	file   int    // -1 if there is none; the folder's own if the path is one with no name
}

func (p place) close() {
	_ = unix.Close(p.folder)
	if p.file >= 0 && p.file != p.folder {
		_ = unix.Close(p.file)
	}
}

// path is where the name is, without links. It is empty if the folder has no place.
func (p place) path() string {
	folder := nameOf(p.folder)
	if !strings.HasPrefix(folder, "/") {
		return ""
	}
	return path.Join(folder, p.name)
}

// maxLinks is how many symbolic links a path may lead through, as in the kernel.
const maxLinks = 40

// base opens what relative paths of a call begin with.
func (t caller) base(folder int, name string) (int, error) {
	if strings.HasPrefix(name, "/") {
		return unix.Open("/", unix.O_PATH|unix.O_CLOEXEC, 0)
	}
	return t.openFile(folder)
}

// find follows a path of the caller up to its last name. If follow is set, that is
// followed too as long as it is a link.
func (s *supervisor) find(t caller, folder int, name string, follow bool) (place, error) {
	if name == "" {
		return place{}, unix.ENOENT
	}
	at, err := t.base(folder, name)
	if err != nil {
		return place{}, err
	}
	for range maxLinks {
		dir, last := splitPath(name)
		var p place
		if p.folder, err = s.walk(t, at, dir); err != nil {
			_ = unix.Close(at)
			return place{}, err
		}
		_ = unix.Close(at)
		p.name, p.file = last, -1
		if last == "" { // "/" or "//"
			p.name, p.file = ".", p.folder
			return p, nil
		}
		if p.file, err = s.step(t, p.folder, strings.TrimRight(last, "/")); errors.Is(err, unix.ENOENT) {
			p.file = -1
			return p, nil
		} else if err != nil {
			p.close()
			return place{}, err
		}
		if !(follow || strings.HasSuffix(last, "/")) || !isLink(p.file) {
			return p, nil
		}
		if name, err = readLink(p.file); err != nil {
			p.close()
			return place{}, err
		}
		if strings.HasPrefix(name, "/") {
			p.close()
			if at, err = t.base(0, name); err != nil {
				return place{}, err
			}
			continue
		}
		at = p.folder
		_ = unix.Close(p.file)
	}
	_ = unix.Close(at)
	return place{}, unix.ELOOP
}

// splitPath cuts a path before its last name, which keeps the slashes at its end.
func splitPath(name string) (dir, last string) {
	i := strings.LastIndexByte(strings.TrimRight(name, "/"), '/')
	return name[:i+1], strings.TrimLeft(name[i+1:], "/")
}

func isLink(fd int) bool {
	var st unix.Stat_t
	return unix.Fstat(fd, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFLNK
}

func readLink(fd int) (string, error) {
	b := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(fd, "", b)
	return string(b[:n]), err
}

// walk opens the folder that dir leads to from the folder at.
func (s *supervisor) walk(t caller, at int, dir string) (int, error) {
	dir = strings.TrimLeft(dir, "/")
	if dir == "" {
		return unix.FcntlInt(uintptr(at), unix.F_DUPFD_CLOEXEC, 0)
	}
	fd, err := unix.Openat2(at, dir, &unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_NO_MAGICLINKS,
	})
	if err == nil && !below(nameOf(fd), "/proc") {
		return fd, nil
	}
	// In /proc some names mean another thing to each process, and links lead to what
	// is open elsewhere.
	if err == nil {
		_ = unix.Close(fd)
	} else if !errors.Is(err, unix.ELOOP) {
		return -1, err
	}
	return s.walkByName(t, at, dir)
}

// walkByName is walk, name by name.
func (s *supervisor) walkByName(t caller, at int, dir string) (int, error) {
	fd, err := unix.FcntlInt(uintptr(at), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	names, links := strings.Split(dir, "/"), 0
	for len(names) > 0 {
		name := names[0]
		names = names[1:]
		if name == "" || name == "." {
			continue
		}
		next, err := s.step(t, fd, name)
		if err != nil {
			_ = unix.Close(fd)
			return -1, err
		}
		if !isLink(next) {
			_ = unix.Close(fd)
			fd = next
			continue
		}
		to, err := readLink(next)
		_ = unix.Close(next)
		if links++; err == nil && links > maxLinks {
			err = unix.ELOOP
		}
		if err == nil && strings.HasPrefix(to, "/") {
			_ = unix.Close(fd)
			fd, err = t.base(0, to)
		}
		if err != nil {
			_ = unix.Close(fd)
			return -1, err
		}
		names = append(strings.Split(to, "/"), names...)
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err == nil && st.Mode&unix.S_IFMT != unix.S_IFDIR {
		_ = unix.Close(fd)
		return -1, unix.ENOTDIR
	}
	return fd, nil
}

// step opens a name in a folder without following it if it is a link, unless it is
// one of those in /proc that lead to what a process has open.
func (s *supervisor) step(t caller, folder int, name string) (int, error) {
	const flags = unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC
	if !onProc(folder) {
		return unix.Openat(folder, name, flags, 0)
	}
	dir := nameOf(folder)
	if dir == "/proc" {
		switch name {
		case "self":
			return unix.Openat(folder, strconv.Itoa(t.process()), flags, 0)
		case "thread-self":
			return unix.Openat(folder, fmt.Sprintf("%d/task/%d", t.process(), t.thread), flags, 0)
		}
	}
	fd, err := unix.Openat(folder, name, flags, 0)
	if err != nil || processOf(dir) == 0 || !isLink(fd) {
		return fd, err
	}
	_ = unix.Close(fd)
	if !s.mayEnter(dir) {
		return -1, unix.EACCES
	}
	return unix.Openat(folder, name, unix.O_PATH|unix.O_CLOEXEC, 0)
}

func onProc(fd int) bool {
	var fs unix.Statfs_t
	return unix.Fstatfs(fd, &fs) == nil && fs.Type == unix.PROC_SUPER_MAGIC
}

// processOf is the process that a path in /proc is of, 0 if of none.
func processOf(name string) int {
	rest, ok := strings.CutPrefix(name, "/proc/")
	if !ok {
		return 0
	}
	first, _, _ := strings.Cut(rest, "/")
	pid, err := strconv.Atoi(first)
	if err != nil {
		return 0
	}
	return pid
}

// mayEnter reports whether what a process has open or in memory may be reached by
// its folder in /proc: that of the command's own processes, and without a sandbox
// of all but the guard.
func (s *supervisor) mayEnter(name string) bool {
	switch pid := processOf(name); {
	case pid == s.kin.guard:
		return false
	case s.c.Mode == Full:
		return true
	default:
		return s.kin.guards(pid)
	}
}

// guards reports whether a process is below this guard.
func (k *kin) guards(pid int) bool {
	for range 1000 {
		if pid = parentOf(pid); pid <= 1 {
			return false
		}
		if pid == k.guard {
			return true
		}
	}
	return false
}

// public are the files of a process in /proc that all may read.
var public = map[string]bool{
	"stat": true, "status": true, "statm": true, "cmdline": true, "comm": true, "cgroup": true, "limits": true, "loginuid": true,
	"oom_score": true, "oom_score_adj": true, "sched": true, "schedstat": true, "wchan": true, "mountinfo": true, "mounts": true,
}

// mayWrite reports whether the mode lets a path be written, made, renamed or removed.
func (s *supervisor) mayWrite(name string) bool {
	if s.c.Mode == Full {
		pid := processOf(name) // of another process, its memory is a way around walls
		return name != "" && (pid == 0 || s.kin.guards(pid))
	}
	for _, folder := range s.c.writable() {
		if below(name, folder) {
			return true
		}
	}
	return s.isDevice(name)
}

// isDevice reports whether a path is a device that every command may use.
func (s *supervisor) isDevice(name string) bool {
	for _, device := range harmlessDevices {
		if name == device {
			return true
		}
	}
	return name != "" && name == s.tty
}

// mayRead reports whether the mode lets a path be read. It repeats what Landlock
// decides for calls that the kernel carries out.
func (s *supervisor) mayRead(name string, folder bool) bool {
	switch pid := processOf(name); {
	case s.c.Mode == Full:
		return name != "" && (pid == 0 || s.mayEnter(name) || public[path.Base(name)])
	case folder && pid == 0:
		return true // names can be listed everywhere
	case pid != 0:
		return s.mayEnter(name) || public[path.Base(name)] || folder && strings.Count(name, "/") == 2
	case below(name, "/dev"):
		return s.isDevice(name) || s.mayWrite(name)
	}
	if s.mayWrite(name) {
		return true
	}
	for _, folder := range s.c.Readable {
		if below(name, folder) {
			return true
		}
	}
	for _, secret := range s.c.Secret {
		if below(name, secret) {
			return false
		}
	}
	return name != ""
}

// terminal is the name of the caller's controlling terminal.
func (t caller) terminal() (string, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", t.thread))
	if err != nil {
		return "", unix.ESRCH
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if len(fields) < 5 {
		return "", unix.ENXIO
	}
	device, err := strconv.ParseUint(fields[4], 10, 64)
	if err != nil || device == 0 {
		return "", unix.ENXIO
	}
	const firstPTS, lastPTS = 136, 143
	major, minor := unix.Major(device), unix.Minor(device)
	if major < firstPTS || major > lastPTS {
		return "", unix.ENXIO
	}
	return fmt.Sprintf("/dev/pts/%d", (major-firstPTS)<<8|minor), nil
}

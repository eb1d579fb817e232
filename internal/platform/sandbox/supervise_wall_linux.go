//go:build linux && (amd64 || arm64)

package sandbox

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/burin-dev/burin/internal/platform/gitconfig"
)

// Walls except files from folders that may be written, which Landlock cannot. The
// kernel therefore asks the supervisor at every call that could write to a file by
// its name, or make, rename or remove one, and, where a wall is against reading, at
// every call that opens one. The supervisor finds the file, judges the place where it
// really is, and carries the call out on what it found. Nothing is looked at and then
// left to the kernel: between the two a command could put another file there.

// fileOp is what a call does to files.
type fileOp uint8

const (
	opOpen fileOp = iota
	opMakeFolder
	opMakeNode
	opMakeLink // symbolic
	opLink
	opRename
	opRemove
	opRemoveFolder
	opTruncate
)

// fileCall says which arguments of a call hold what. none is no such argument.
type fileCall struct {
	op              fileOp
	folder, path    int
	flags, mode     int
	folder2, path2  int
	alwaysFlags     int // beside those of the argument
	device, content int
}

// fileCalls are the calls that a wall is about, by number.
func fileCalls() map[uint32]fileCall {
	calls := map[uint32]fileCall{
		unix.SYS_OPENAT:    {op: opOpen, folder: 0, path: 1, flags: 2, mode: 3},
		unix.SYS_MKDIRAT:   {op: opMakeFolder, folder: 0, path: 1, flags: none, mode: 2},
		unix.SYS_MKNODAT:   {op: opMakeNode, folder: 0, path: 1, flags: none, mode: 2, device: 3},
		unix.SYS_SYMLINKAT: {op: opMakeLink, content: 0, folder: 1, path: 2, flags: none, mode: none},
		unix.SYS_LINKAT:    {op: opLink, folder: 0, path: 1, folder2: 2, path2: 3, flags: 4, mode: none},
		unix.SYS_RENAMEAT:  {op: opRename, folder: 0, path: 1, folder2: 2, path2: 3, flags: none, mode: none},
		unix.SYS_RENAMEAT2: {op: opRename, folder: 0, path: 1, folder2: 2, path2: 3, flags: 4, mode: none},
		unix.SYS_UNLINKAT:  {op: opRemove, folder: 0, path: 1, flags: 2, mode: none},
		unix.SYS_TRUNCATE:  {op: opTruncate, folder: none, path: 0, flags: none, mode: none},
	}
	addOldFileCalls(calls)
	return calls
}

// writing are the flags with which open may change something.
const writing = unix.O_ACCMODE | unix.O_CREAT | unix.O_TRUNC

// wallCalls passes the calls that walls are about to the supervisor.
func (c confinement) wallCalls() program {
	if len(c.Walls) == 0 {
		return nil
	}
	notify := action(unix.SECCOMP_RET_USER_NOTIF)
	p := call(unix.SYS_OPENAT2, errno(unix.ENOSYS)) // its flags are behind a pointer; programs fall back to openat
	p = append(p, call(unix.SYS_BIND, notify)...)   // makes a file of a Unix socket
	calls := fileCalls()
	for _, nr := range slices.Sorted(maps.Keys(calls)) {
		switch f := calls[nr]; {
		case f.op == opOpen && f.flags != none && !c.readWalls():
			p = append(p, call(nr, anyBit(f.flags, writing, notify), allow())...)
		default:
			p = append(p, call(nr, notify)...)
		}
	}
	return p
}

func (c confinement) readWalls() bool {
	for _, w := range c.Walls {
		if w.Read {
			return true
		}
	}
	return false
}

// errLater is for calls that are answered by somebody else when they have ended.
var errLater = errors.New("answered later")

// fileCall carries out a call that walls are about. The value is the descriptor of
// open.
func (s *supervisor) fileCall(t caller, n *notification, f fileCall) (err error) {
	restore, err := s.become(t)
	if err != nil {
		return err
	}
	defer restore()
	folder := unix.AT_FDCWD
	if f.folder != none {
		folder = int(int32(n.args[f.folder]))
	}
	name, err := t.readString(n.args[f.path])
	if err != nil {
		return err
	}
	flags := f.alwaysFlags
	if f.flags != none {
		flags |= int(int32(n.args[f.flags]))
	}
	if !s.valid(n) { // what was read is the caller's
		return unix.ESRCH
	}
	switch f.op {
	case opOpen:
		return s.open(t, n, f, folder, name, flags)
	case opTruncate:
		return s.truncate(t, n, folder, name)
	case opLink, opRename:
		return s.move(t, n, f, folder, name, flags)
	}
	p, err := s.find(t, folder, name, false)
	if err != nil {
		return err
	}
	defer p.close()
	if err := s.mayChangeName(p); err != nil {
		return err
	}
	switch f.op {
	case opMakeFolder:
		return t.withUmask(func() error { return unix.Mkdirat(p.folder, p.name, uint32(n.args[f.mode])) })
	case opMakeNode:
		mode := uint32(n.args[f.mode])
		if kind := mode & unix.S_IFMT; s.c.Mode != Full && (kind == unix.S_IFCHR || kind == unix.S_IFBLK) {
			return unix.EACCES
		}
		return t.withUmask(func() error { return unix.Mknodat(p.folder, p.name, mode, int(n.args[f.device])) })
	case opMakeLink:
		to, err := t.readString(n.args[f.content])
		if err != nil {
			return err
		}
		return unix.Symlinkat(to, p.folder, p.name)
	case opRemoveFolder:
		return unix.Unlinkat(p.folder, p.name, unix.AT_REMOVEDIR)
	default:
		return unix.Unlinkat(p.folder, p.name, flags)
	}
}

// mayChangeName judges making or removing what has a name.
func (s *supervisor) mayChangeName(p place) error {
	name := p.path()
	if _, walled := s.walls.Refuses(name); walled || !s.mayWrite(name) {
		return unix.EACCES
	}
	return nil
}

// move gives a file another name, or one more.
func (s *supervisor) move(t caller, n *notification, f fileCall, folder int, name string, flags int) error {
	folder2 := unix.AT_FDCWD
	if f.folder2 != none {
		folder2 = int(int32(n.args[f.folder2]))
	}
	name2, err := t.readString(n.args[f.path2])
	if err != nil {
		return err
	}
	follow := f.op == opLink && flags&unix.AT_SYMLINK_FOLLOW != 0
	var from place
	if f.op == opLink && name == "" && flags&unix.AT_EMPTY_PATH != 0 {
		from.name, from.folder = ".", -1
		from.file, err = t.openFile(folder)
		follow = true
	} else {
		from, err = s.find(t, folder, name, follow)
	}
	if err != nil {
		return err
	}
	defer from.close()
	to, err := s.find(t, folder2, name2, false)
	if err != nil {
		return err
	}
	defer to.close()
	old, fresh := from.path(), to.path()
	if f.op == opRename && flags == 0 && from.file >= 0 && slices.Contains(s.c.Configs, fresh) && old == fresh+".lock" {
		return s.replaceConfig(t, from, to)
	}
	if follow && from.file >= 0 {
		old = nameOf(from.file)
	}
	read, write := s.walls.Refuses(old)
	_, walled := s.walls.Refuses(fresh)
	if read || write || walled || s.walls.Moved(old, fresh) {
		return unix.EACCES
	}
	switch a, b := s.mayWrite(old), s.mayWrite(fresh); {
	case !a && !b:
		return unix.EACCES
	case !a || !b:
		return unix.EXDEV // as between file systems: programs copy then
	}
	switch {
	case f.op == opRename && flags == 0:
		return unix.Renameat(from.folder, from.name, to.folder, to.name)
	case f.op == opRename:
		if flags&unix.RENAME_EXCHANGE != 0 {
			if read, _ := s.walls.Refuses(fresh); read || s.walls.Moved(fresh, old) {
				return unix.EACCES
			}
		}
		return unix.Renameat2(from.folder, from.name, to.folder, to.name, uint(flags))
	case follow:
		if from.file < 0 {
			return unix.ENOENT
		}
		return unix.Linkat(unix.AT_FDCWD, magicLink(from.file), to.folder, to.name, unix.AT_SYMLINK_FOLLOW)
	}
	return unix.Linkat(from.folder, from.name, to.folder, to.name, 0)
}

// replaceConfig does what git does when it has written a configuration beside the one in
// use: it takes its place. A version that makes git execute something else does not. The
// text that was judged is written to a file of its own, which is behind a wall.
func (s *supervisor) replaceConfig(t caller, from, to place) error {
	fresh, mode, err := readConfig(from.file)
	if err != nil {
		return err
	}
	old := []byte(nil)
	if to.file >= 0 {
		if old, _, err = readConfig(to.file); err != nil {
			return err
		}
	}
	if !gitconfig.Harmless(old, fresh) {
		return unix.EACCES
	}
	own := fmt.Sprintf("%s.burin-%d", to.name, os.Getpid())
	if _, walled := s.walls.Refuses(path.Join(nameOf(to.folder), own)); !walled {
		return unix.EACCES // others could change it
	}
	fd, err := unix.Openat(to.folder, own, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return err
	}
	file := os.NewFile(uintptr(fd), own)
	_, err = file.Write(fresh)
	if err == nil {
		err = file.Chmod(os.FileMode(mode & 0o777))
	}
	if e := file.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = unix.Renameat(to.folder, own, to.folder, to.name)
	}
	if err != nil {
		_ = unix.Unlinkat(to.folder, own, 0)
		return err
	}
	return unix.Unlinkat(from.folder, from.name, 0)
}

// readConfig reads the file behind an O_PATH descriptor.
func readConfig(path int) (text []byte, mode uint32, err error) {
	var st unix.Stat_t
	if err := unix.Fstat(path, &st); err != nil {
		return nil, 0, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG || st.Size > gitconfig.MaxSize {
		return nil, 0, unix.EACCES
	}
	file, err := os.Open(magicLink(path))
	if err != nil {
		return nil, 0, err
	}
	defer file.Close()
	text, err = io.ReadAll(io.LimitReader(file, gitconfig.MaxSize+1))
	return text, st.Mode, err
}

func (s *supervisor) truncate(t caller, n *notification, folder int, name string) error {
	p, err := s.find(t, folder, name, true)
	if err != nil {
		return err
	}
	defer p.close()
	if p.file < 0 {
		return unix.ENOENT
	}
	if err := s.mayOpen(p.file, unix.O_WRONLY); err != nil {
		return err
	}
	fd, err := unix.Open(magicLink(p.file), unix.O_WRONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Ftruncate(fd, int64(n.args[1]))
}

// mayOpen judges opening the file behind an O_PATH descriptor.
func (s *supervisor) mayOpen(file, flags int) error {
	name := nameOf(file)
	if !strings.HasPrefix(name, "/") || strings.HasPrefix(name, "/memfd:") {
		return nil // a pipe or memory, which only a descriptor leads to
	}
	access := flags & unix.O_ACCMODE
	read, write := s.walls.Refuses(name)
	if changes := access != unix.O_RDONLY || flags&unix.O_TRUNC != 0; changes && (write || !s.mayWrite(name)) {
		return unix.EACCES
	}
	if access == unix.O_WRONLY {
		return nil
	}
	var st unix.Stat_t
	if err := unix.Fstat(file, &st); err != nil {
		return err
	}
	if read || !s.mayRead(name, st.Mode&unix.S_IFMT == unix.S_IFDIR) {
		return unix.EACCES
	}
	return nil
}

// open opens a file for the caller and gives it the descriptor.
func (s *supervisor) open(t caller, n *notification, f fileCall, folder int, name string, flags int) error {
	if flags&unix.O_PATH != 0 {
		return goOn // a name only, which cannot be handed over; what is done with it is judged then
	}
	var mode uint32
	if f.mode != none {
		mode = uint32(n.args[f.mode])
	}
	fresh := flags&(unix.O_CREAT|unix.O_EXCL) == unix.O_CREAT|unix.O_EXCL
	follow := flags&unix.O_NOFOLLOW == 0 && !fresh
	for range 10 { // the file may come and go meanwhile
		p, err := s.find(t, folder, name, follow)
		if err != nil {
			return err
		}
		err = s.openPlace(t, n, p, flags, mode)
		p.close()
		if err != errAgain {
			return err
		}
	}
	return unix.EAGAIN
}

// errAgain tells that a file has come or gone since it was looked for.
var errAgain = errors.New("look again")

func (s *supervisor) openPlace(t caller, n *notification, p place, flags int, mode uint32) error {
	if p.file < 0 {
		return s.openNew(t, n, p, flags, mode)
	}
	var st unix.Stat_t
	if err := unix.Fstat(p.file, &st); err != nil {
		return err
	}
	kind := st.Mode & unix.S_IFMT
	switch {
	case flags&unix.O_CREAT != 0 && flags&unix.O_EXCL != 0:
		return unix.EEXIST
	case kind == unix.S_IFLNK:
		return unix.ELOOP
	case flags&unix.O_CREAT != 0 && kind == unix.S_IFDIR:
		return unix.EISDIR
	}
	if flags&unix.O_TMPFILE == unix.O_TMPFILE {
		return s.openNameless(t, n, p.file, flags, mode)
	}
	if kind == unix.S_IFCHR && unix.Major(st.Rdev) == 5 && unix.Minor(st.Rdev) == 0 { // /dev/tty is another one for each
		name, err := t.terminal()
		if err != nil {
			return err
		}
		tty, err := unix.Open(name, unix.O_PATH|unix.O_CLOEXEC, 0)
		if err != nil {
			return unix.ENXIO
		}
		defer unix.Close(tty)
		return s.openFound(n, tty, flags)
	}
	if err := s.mayOpen(p.file, flags); err != nil {
		return err
	}
	if kind == unix.S_IFIFO && flags&unix.O_NONBLOCK == 0 && flags&unix.O_ACCMODE != unix.O_RDWR {
		return s.openPipe(n, p.file, flags)
	}
	return s.openFound(n, p.file, flags)
}

// openFound opens the file behind an O_PATH descriptor, which has been judged.
func (s *supervisor) openFound(n *notification, file, flags int) error {
	fd, err := reopen(file, flags)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return s.hand(n, fd, flags)
}

func reopen(file, flags int) (int, error) {
	return unix.Open(magicLink(file), flags&^(unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW)|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
}

// maxPipes is how many named pipes may wait for their other end at a time.
const maxPipes = 256

// openPipe opens a named pipe, which takes until somebody opens its other end.
func (s *supervisor) openPipe(n *notification, file, flags int) error {
	select {
	case s.pipes <- struct{}{}:
	default:
		return unix.ENFILE
	}
	own, err := unix.FcntlInt(uintptr(file), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		<-s.pipes
		return err
	}
	go func() {
		defer func() { <-s.pipes }()
		err := s.openFound(n, own, flags)
		_ = unix.Close(own)
		if err != errLater {
			s.respond(n, number(err))
		}
	}()
	return errLater
}

// openNew makes a file.
func (s *supervisor) openNew(t caller, n *notification, p place, flags int, mode uint32) error {
	switch {
	case flags&unix.O_CREAT == 0:
		return unix.ENOENT
	case strings.HasSuffix(p.name, "/"):
		return unix.EISDIR
	case flags&unix.O_DIRECTORY != 0:
		return unix.EINVAL
	}
	if err := s.mayChangeName(p); err != nil {
		return err
	}
	if read, _ := s.walls.Refuses(p.path()); read && flags&unix.O_ACCMODE != unix.O_WRONLY {
		return unix.EACCES
	}
	fd := -1
	err := t.withUmask(func() (err error) {
		fd, err = unix.Openat(p.folder, p.name, flags|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC|unix.O_NOCTTY, mode)
		return err
	})
	switch {
	case errors.Is(err, unix.EEXIST) && flags&unix.O_EXCL == 0:
		return errAgain
	case err != nil:
		return err
	}
	defer unix.Close(fd)
	return s.hand(n, fd, flags)
}

// openNameless makes a file without a name in a folder.
func (s *supervisor) openNameless(t caller, n *notification, folder, flags int, mode uint32) error {
	name := nameOf(folder)
	if _, walled := s.walls.Refuses(name); walled || !s.mayWrite(name) {
		return unix.EACCES
	}
	fd := -1
	err := t.withUmask(func() (err error) {
		fd, err = unix.Openat(folder, ".", flags&^unix.O_NOFOLLOW|unix.O_CLOEXEC, mode)
		return err
	})
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return s.hand(n, fd, flags)
}

// hand gives the caller a descriptor as the result of its call.
func (s *supervisor) hand(n *notification, fd, flags int) error {
	a := addition{id: n.id, flags: unix.SECCOMP_ADDFD_FLAG_SEND, source: uint32(fd), newFlags: uint32(flags & unix.O_CLOEXEC)}
	if err := s.add(&a); err != nil {
		if errors.Is(err, unix.ENOENT) { // the caller has died
			return errLater
		}
		return err
	}
	return errLater
}

// become takes the rights on files of a caller who has become another user, which
// only root can. The function gives them back.
func (s *supervisor) become(t caller) (restore func(), err error) {
	nothing := func() {}
	if os.Geteuid() != 0 {
		return nothing, nil
	}
	var st unix.Stat_t
	if err := unix.Stat("/proc/"+strconv.Itoa(t.thread), &st); err != nil {
		return nothing, unix.ESRCH
	}
	if st.Uid == 0 {
		return nothing, nil
	}
	id, err := t.identity()
	if err != nil {
		return nothing, unix.ESRCH
	}
	setGroups(id.groups)
	_ = unix.Setfsgid(id.group)
	_ = unix.Setfsuid(id.user)
	return func() {
		_ = unix.Setfsuid(0)
		_ = unix.Setfsgid(os.Getegid())
		setGroups(s.groups)
	}, nil
}

// identity is what the kernel makes files with for a thread.
type identity struct {
	user, group int // of the file system
	groups      []int
	umask       int
}

func (t caller) identity() (identity, error) {
	f, err := os.Open(fmt.Sprintf("/proc/%d/status", t.thread))
	if err != nil {
		return identity{}, err
	}
	defer f.Close()
	id := identity{umask: -1, user: -1, group: -1}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		key, rest, _ := strings.Cut(lines.Text(), ":")
		fields := strings.Fields(rest)
		switch {
		case key == "Umask" && len(fields) == 1:
			mask, err := strconv.ParseUint(fields[0], 8, 16)
			if err != nil {
				return identity{}, err
			}
			id.umask = int(mask)
		case key == "Uid" && len(fields) == 4:
			id.user, err = strconv.Atoi(fields[3])
		case key == "Gid" && len(fields) == 4:
			id.group, err = strconv.Atoi(fields[3])
		case key == "Groups":
			for _, g := range fields {
				n, err := strconv.Atoi(g)
				if err != nil {
					return identity{}, err
				}
				id.groups = append(id.groups, n)
			}
			return id, nil // what follows is not needed
		}
		if err != nil {
			return identity{}, err
		}
	}
	return identity{}, unix.ESRCH
}

// setGroups is for the calling thread alone; that of package unix is for the process.
func setGroups(groups []int) {
	list := make([]uint32, len(groups)+1) // never empty: its address is taken
	for i, g := range groups {
		list[i] = uint32(g)
	}
	_, _, _ = unix.RawSyscall(unix.SYS_SETGROUPS, uintptr(len(groups)), uintptr(unsafe.Pointer(&list[0])), 0)
}

// withUmask makes something with the caller's mask of modes. The supervisor's thread
// has one of its own.
func (t caller) withUmask(do func() error) error {
	id, err := t.identity()
	if err != nil || id.umask < 0 {
		return unix.ESRCH
	}
	unix.Umask(id.umask)
	return do()
}

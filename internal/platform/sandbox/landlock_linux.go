//go:build linux && (amd64 || arm64)

package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Versions of Landlock that brought what the sandbox needs.
const (
	abiRefer    = 2 // Linux 5.19
	abiTruncate = 3 // 6.2
	abiNetwork  = 4 // 6.7
	abiDevices  = 5 // 6.10
	abiScope    = 6 // 6.12
)

// Rights on files.
const (
	readRights  = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	writeRights = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE |
		unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SYM |
		unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_REFER
	makeDevices = unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK
	deviceRight = unix.LANDLOCK_ACCESS_FS_IOCTL_DEV

	// fileRights are those that a rule on a single file may give.
	fileRights = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE |
		unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
)

// maxRules bounds the work for folders full of files beside a secret; what comes
// after stays hidden too.
const maxRules = 20_000

// harmlessDevices can be read and written in every mode.
var harmlessDevices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"}

// landlockABI is the version of Landlock, 0 if there is none.
func landlockABI() int {
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(abi)
}

// ruleset is a Landlock ruleset in the making.
type ruleset struct {
	fd      int
	handled uint64 // rights on files that are denied where no rule gives them
	held    uint64 // rights that no further rule gives
	rules   int

	judgesTCP bool
}

// fileRules makes the rules of c on files. They deny TCP unless c allows it: what
// commands may do there the guard does, or reaches the proxy.
func (c confinement) fileRules(abi int) (*ruleset, error) {
	attr := unix.LandlockRulesetAttr{Handled_access_fs: handledRights(abi)}
	if abi >= abiNetwork && !c.Network {
		attr.Handled_access_net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
	}
	if abi >= abiScope {
		attr.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET
		if c.only == nil { // otherwise the thread is burin's own, and Go's threads signal each other
			attr.Scoped |= unix.LANDLOCK_SCOPE_SIGNAL
		}
	}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return nil, fmt.Errorf("create Landlock rules: %w", errno)
	}
	r := &ruleset{fd: int(fd), handled: attr.Handled_access_fs, judgesTCP: attr.Handled_access_net != 0}
	if c.only != nil {
		for _, path := range c.only {
			r.allow(path, unix.LANDLOCK_ACCESS_FS_EXECUTE|unix.LANDLOCK_ACCESS_FS_READ_FILE)
		}
		r.held = unix.LANDLOCK_ACCESS_FS_EXECUTE
	}
	r.allowReading(c.Secret)
	for _, path := range c.Readable {
		r.allow(path, readRights)
	}
	r.allowWriting(c)
	return r, nil
}

// enforce puts the calling thread under the rules.
func (r *ruleset) enforce(c confinement, supervised bool) error {
	if c.Port > 0 && !supervised && r.judgesTCP {
		if err := r.allowPort(c.Port); err != nil {
			return err
		}
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(r.fd), 0, 0); errno != 0 {
		return fmt.Errorf("enforce Landlock rules: %w", errno)
	}
	return nil
}

func (r *ruleset) close() { _ = unix.Close(r.fd) }

func handledRights(abi int) uint64 {
	rights := uint64(readRights | writeRights | makeDevices)
	if abi < abiRefer {
		rights &^= unix.LANDLOCK_ACCESS_FS_REFER
	}
	if abi < abiTruncate {
		rights &^= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	if abi >= abiDevices {
		rights |= deviceRight
	}
	return rights
}

// allow gives rights on path and what is below it. Paths without links are taken
// only: what stands there now might have been put there by a command. What cannot
// be opened, or is gone, gets no rule and stays denied.
func (r *ruleset) allow(path string, rights uint64) {
	fd, err := unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_CLOEXEC | unix.O_NOFOLLOW,
		Resolve: unix.RESOLVE_NO_SYMLINKS,
	})
	if err != nil {
		return
	}
	r.allowFile(fd, rights)
	_ = unix.Close(fd)
}

func (r *ruleset) allowFile(fd int, rights uint64) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || r.rules >= maxRules {
		return
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
	case unix.S_IFLNK:
		return
	default:
		rights &= fileRights
	}
	rule := unix.LandlockPathBeneathAttr{Allowed_access: rights & r.handled &^ r.held, Parent_fd: int32(fd)}
	if rule.Allowed_access == 0 {
		return
	}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(r.fd), unix.LANDLOCK_RULE_PATH_BENEATH,
		uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	if errno == 0 {
		r.rules++
	}
}

// allowReading allows all but the secrets and devices: it walks down to them and
// allows what stands beside the way. Names can be listed everywhere.
func (r *ruleset) allowReading(secrets []string) {
	hidden := map[string]bool{"/dev": true}
	way := map[string]bool{"/": true}
	for _, path := range secrets {
		hidden[path] = true
		for folder := filepath.Dir(path); !way[folder]; folder = filepath.Dir(folder) {
			way[folder] = true
		}
	}
	r.allow("/", unix.LANDLOCK_ACCESS_FS_READ_DIR)
	var walk func(folder string)
	walk = func(folder string) {
		entries, err := os.ReadDir(folder)
		if err != nil {
			return // a file, or not readable anyway
		}
		for _, e := range entries {
			switch path := filepath.Join(folder, e.Name()); {
			case hidden[path]:
			case way[path]:
				walk(path)
			default:
				r.allow(path, readRights)
			}
		}
	}
	if !hidden["/"] {
		walk("/")
	}
}

func (r *ruleset) allowWriting(c confinement) {
	for _, device := range harmlessDevices {
		r.allow(device, unix.LANDLOCK_ACCESS_FS_READ_FILE|unix.LANDLOCK_ACCESS_FS_WRITE_FILE|unix.LANDLOCK_ACCESS_FS_TRUNCATE|deviceRight)
	}
	// The command's own terminal, whatever its name.
	if _, err := unix.IoctlGetTermios(0, unix.TCGETS); err == nil && c.only == nil {
		if fd, err := unix.Open("/proc/self/fd/0", unix.O_PATH|unix.O_CLOEXEC, 0); err == nil {
			r.allowFile(fd, readRights|writeRights|deviceRight)
			_ = unix.Close(fd)
		}
	}
	if c.Mode != WorkspaceWrite {
		return
	}
	for _, folder := range c.writable() {
		rights := uint64(readRights | writeRights)
		if below(folder, "/dev") && folder != sharedMemory {
			rights |= deviceRight // a device that the policy names is to be used
		}
		r.allow(folder, rights)
	}
}

// sharedMemory is where the C library keeps semaphores and shared memory, which
// commands with several processes need.
const sharedMemory = "/dev/shm"

// writable are the folders that may be written in workspace-write.
func (c confinement) writable() []string {
	if c.Mode != WorkspaceWrite {
		return nil
	}
	return append([]string{sharedMemory}, c.Writable...)
}

func (r *ruleset) allowPort(port int) error {
	rule := struct{ access, port uint64 }{unix.LANDLOCK_ACCESS_NET_CONNECT_TCP, uint64(port)}
	const ruleNetPort = 2
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(r.fd), ruleNetPort, uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	if errno != 0 {
		return fmt.Errorf("allow the proxy's port: %w", errno)
	}
	return nil
}

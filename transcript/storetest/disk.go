package storetest

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
)

// Fault is what happens to one call of a store to its medium.
type Fault struct {
	At  int    // the call, counted from 1 since Arm; 0: none
	Op  string // counts these only, such as "write"; "": all
	Err error  // what the call reports
	// Keep is how much of the call happens: bytes of a write; of other calls all if
	// it is not 0. More than there is is all.
	Keep int
	// Dead is that no later call happens: the process was killed.
	Dead bool
}

// All is a [Fault.Keep] that lets the whole call happen.
const All = 1 << 30

// errDead is what calls report that a killed process cannot make.
var errDead = errors.New("the process is dead")

// Faults counts the calls of a store to its medium and lets one of them fail. It
// is safe for concurrent use.
type Faults struct {
	mu    sync.Mutex
	fault Fault
	calls int
	fired bool
}

// Arm counts from the start and lets the calls from here on meet the fault.
func (f *Faults) Arm(fault Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fault, f.calls, f.fired = fault, 0, false
}

// Calls is how many calls there were since Arm, of the kind that the fault counts.
func (f *Faults) Calls() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls
}

// Fired reports whether the fault has happened since Arm.
func (f *Faults) Fired() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.fired
}

// Call is asked by the medium before each call; size is the bytes of a write, 1 of
// others. Of the call, n shall happen, and then err be reported if it is not nil.
func (f *Faults) Call(op string, size int) (n int, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fired && f.fault.Dead {
		return 0, errDead
	}
	if f.fault.Op != "" && f.fault.Op != op {
		return size, nil
	}
	if f.calls++; f.calls != f.fault.At {
		return size, nil
	}
	f.fired = true
	return min(f.fault.Keep, size), f.fault.Err
}

// FaultyDisk is the calls to a real disk by which a store of files changes it, with
// faults, and with a memory of what would survive a power cut.
type FaultyDisk struct {
	Faults Faults

	mu      sync.Mutex
	spare   string // a folder for what renames have replaced
	open    []*os.File
	files   map[*os.File]*diskFile
	names   map[string]*diskFile
	renames []rename
}

type diskFile struct {
	name   string
	synced int64 // bytes that survive a power cut
}

// rename is one that a power cut may undo.
type rename struct {
	from, to string
	replaced string // what was at to; "" if nothing
}

// NewFaultyDisk returns a disk that keeps what it needs in the empty folder spare.
func NewFaultyDisk(spare string) *FaultyDisk {
	return &FaultyDisk{spare: spare, files: map[*os.File]*diskFile{}, names: map[string]*diskFile{}}
}

// OpenFile is [os.OpenFile].
func (d *FaultyDisk) OpenFile(name string, flag int, perm os.FileMode) (*os.File, error) {
	n, err := d.Faults.Call("open", 1)
	if n == 0 {
		return nil, err
	}
	f, oerr := os.OpenFile(name, flag, perm)
	if oerr != nil {
		return nil, oerr
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.names[name] == nil {
		d.names[name] = &diskFile{name, info.Size()}
	}
	d.open = append(d.open, f)
	d.files[f] = d.names[name]
	return f, nil
}

// Write is one write to f.
func (d *FaultyDisk) Write(f *os.File, p []byte) (int, error) {
	n, err := d.Faults.Call("write", len(p))
	if n == 0 && err != nil {
		return 0, err
	}
	n, werr := f.Write(p[:n])
	if werr != nil {
		err = werr
	}
	return n, err
}

// Truncate cuts f.
func (d *FaultyDisk) Truncate(f *os.File, size int64) error {
	n, err := d.Faults.Call("truncate", 1)
	if n == 0 {
		return err
	}
	d.mu.Lock()
	if known := d.files[f]; known != nil {
		known.synced = min(known.synced, size)
	}
	d.mu.Unlock()
	return errors.Join(f.Truncate(size), err)
}

// Sync makes f as it is survive a power cut.
func (d *FaultyDisk) Sync(f *os.File) error {
	n, err := d.Faults.Call("sync", 1)
	if n == 0 {
		return err
	}
	info, serr := f.Stat()
	if serr != nil {
		return serr
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if known := d.files[f]; known != nil {
		known.synced = info.Size()
	}
	return err
}

// Rename returns the file at from the name to. A rename that reports an error has
// not happened, unless nobody is left to hear of it.
func (d *FaultyDisk) Rename(from, to string) error {
	n, err := d.Faults.Call("rename", 1)
	if n == 0 || err != nil && !d.Faults.dead() {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	r := rename{from: from, to: to}
	if _, err := os.Lstat(to); err == nil {
		r.replaced = filepath.Join(d.spare, filepath.Base(to)+"."+randomName())
		if err := os.Link(to, r.replaced); err != nil {
			return err
		}
	}
	if err := os.Rename(from, to); err != nil {
		return err
	}
	d.renames = append(d.renames, r)
	if moved := d.names[from]; moved != nil {
		delete(d.names, from)
		moved.name = to
		d.names[to] = moved
	}
	return err
}

func (f *Faults) dead() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.fired && f.fault.Dead
}

func randomName() string {
	const letters = "abcdefghijklmnopqrstuvwxyz"
	b := make([]byte, 12)
	for i := range b {
		b[i] = letters[rand.IntN(len(letters))]
	}
	return string(b)
}

// Remove is [os.Remove].
func (d *FaultyDisk) Remove(name string) error {
	n, err := d.Faults.Call("remove", 1)
	if n == 0 {
		return err
	}
	if rerr := os.Remove(name); rerr != nil {
		return rerr
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.names, name)
	return err
}

// SyncDir makes the names in dir survive a power cut.
func (d *FaultyDisk) SyncDir(dir string) error {
	n, err := d.Faults.Call("syncdir", 1)
	if n == 0 {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.renames = slices.DeleteFunc(d.renames, func(r rename) bool { return filepath.Dir(r.to) == filepath.Clean(dir) })
	return err
}

// Crash closes what is open, as the end of the process does.
func (d *FaultyDisk) Crash() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, f := range d.open {
		_ = f.Close() // most are closed already
	}
	d.open = nil
	clear(d.files)
}

// PowerCut is a crash in which of what was not synced any part may be lost: the
// ends of files, and renames.
func (d *FaultyDisk) PowerCut(rng *rand.Rand) error {
	d.Crash()
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, f := range d.names {
		info, err := os.Stat(f.name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return err
		}
		if lost := info.Size() - f.synced; lost > 0 {
			if err := os.Truncate(f.name, f.synced+rng.Int64N(lost+1)); err != nil {
				return err
			}
		}
	}
	for _, r := range slices.Backward(d.renames) {
		if rng.IntN(2) == 0 {
			continue
		}
		if err := os.Rename(r.to, r.from); err != nil {
			return err
		}
		if r.replaced != "" {
			if err := os.Rename(r.replaced, r.to); err != nil {
				return err
			}
		}
	}
	d.renames = nil
	clear(d.names)
	return nil
}

package search

import (
	"bytes"
	"encoding/binary"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// fdTree is a directory reached through descriptors: each name is looked up in
// the open folder it is in, so that no link that is put in its place meanwhile
// can lead out.
type fdTree struct{ fd int }

type fdFolder struct{ fd int }

const openFolder = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC

func openTree(dir string) (tree, error) {
	fd, err := openAt(unix.AT_FDCWD, dir, openFolder)
	if err != nil {
		return nil, err
	}
	return &fdTree{fd}, nil
}

func openAt(fd int, name string, flags int) (int, error) {
	for {
		n, err := unix.Openat(fd, name, flags, 0)
		if err == nil {
			return n, nil
		}
		if err != unix.EINTR {
			return -1, &fs.PathError{Op: "open", Path: name, Err: err}
		}
	}
}

func (t *fdTree) open(name string) (folder, error) {
	at := fdFolder{t.fd}
	owned := false
	for part := range strings.SplitSeq(name, "/") {
		next, err := openAt(at.fd, part, openFolder|unix.O_NOFOLLOW)
		if owned {
			at.close()
		}
		if err != nil {
			return nil, err
		}
		at, owned = fdFolder{next}, true
	}
	return &at, nil
}

func (t *fdTree) close() { _ = unix.Close(t.fd) }

func (f *fdFolder) close() { _ = unix.Close(f.fd) }

func (f *fdFolder) child(name string) (folder, error) {
	fd, err := openAt(f.fd, name, openFolder|unix.O_NOFOLLOW)
	if err != nil {
		return nil, err
	}
	return &fdFolder{fd}, nil
}

// file does not wait for a pipe that has taken the place of a file.
func (f *fdFolder) file(name string) (file, error) {
	fd, err := openAt(f.fd, name, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NOFOLLOW|unix.O_NONBLOCK)
	if err != nil {
		return nil, err
	}
	return fdFile(fd), nil
}

func (f *fdFolder) info(name string) (entryInfo, error) {
	var st unix.Stat_t
	for {
		err := unix.Fstatat(f.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW)
		if err == nil {
			break
		}
		if err != unix.EINTR {
			return entryInfo{}, &fs.PathError{Op: "stat", Path: name, Err: err}
		}
	}
	sec, nsec := st.Mtim.Unix()
	return entryInfo{kind: kindOfStat(st.Mode), size: st.Size, mod: time.Unix(sec, nsec)}, nil
}

func kindOfStat(mode uint32) entryKind {
	switch mode & unix.S_IFMT {
	case unix.S_IFREG:
		return kindFile
	case unix.S_IFDIR:
		return kindFolder
	case unix.S_IFLNK:
		return kindLink
	}
	return kindOther
}

// The fixed part of a directory record: inode, offset, length, type.
const (
	direntLen  = 16
	direntType = 18
	direntName = 19
)

// list takes the kinds from the records, without looking at each file. The names
// share one string.
func (f *fdFolder) list(s *scratch) ([]entry, error) {
	records, err := f.records(s)
	if err != nil {
		return nil, err
	}
	names := string(s.names)
	entries := make([]entry, 0, len(records))
	at := 0
	for _, r := range records {
		e := entry{name: names[at:r.end]}
		at = r.end
		switch r.kind {
		case unix.DT_REG:
			e.kind = kindFile
		case unix.DT_DIR:
			e.kind = kindFolder
		case unix.DT_LNK:
			e.kind = kindLink
		case unix.DT_UNKNOWN: // the file system does not say
			info, err := f.info(e.name)
			if err != nil {
				continue
			}
			e.kind = info.kind
		default:
			e.kind = kindOther
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// record is a directory record: its name ends at end of scratch.names.
type record struct {
	end  int
	kind uint8
}

// records reads the directory and leaves the names in s.names.
func (f *fdFolder) records(s *scratch) ([]record, error) {
	if s.buf == nil {
		s.buf = make([]byte, 32<<10)
	}
	s.names = s.names[:0]
	var records []record
	for {
		n, err := unix.ReadDirent(f.fd, s.buf)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return nil, os.NewSyscallError("getdents", err)
		}
		if n <= 0 {
			return records, nil
		}
		for buf := s.buf[:n]; len(buf) >= direntName; {
			size := int(binary.NativeEndian.Uint16(buf[direntLen:]))
			if size < direntName || size > len(buf) {
				break
			}
			name, _, _ := bytes.Cut(buf[direntName:size], []byte{0})
			if ino := binary.NativeEndian.Uint64(buf); ino != 0 && string(name) != "." && string(name) != ".." {
				s.names = append(s.names, name...)
				records = append(records, record{len(s.names), buf[direntType]})
			}
			buf = buf[size:]
		}
	}
}

// fdFile reads from a descriptor without the runtime's poller, which files do not
// need.
type fdFile int

func (f fdFile) Read(p []byte) (int, error) {
	for {
		n, err := unix.Read(int(f), p)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return 0, err
		case n == 0 && len(p) > 0:
			return 0, io.EOF
		}
		return n, nil
	}
}

func (f fdFile) Close() error { return unix.Close(int(f)) }

func (f fdFile) size() (int64, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(f), &st); err != nil {
		return 0, err
	}
	return st.Size, nil
}

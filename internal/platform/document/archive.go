package document

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/burin-dev/burin/internal/platform/document/bounded"
	"github.com/burin-dev/burin/internal/sorting"
)

const (
	maxMember      = 64 << 20  // bytes of a member that is read
	maxMembers     = 200_000   // members of an archive, with the folders they imply
	maxUnpack      = 1 << 30   // bytes unpacked to find a member of a compressed tar
	maxRewrite     = 256 << 20 // bytes of an archive, packed or not, that is written anew
	maxMemberName  = 4096
	maxMemberDepth = 100
)

// Member is an entry of an archive.
type Member struct {
	Name string // cleaned, slash-separated, never leaves the archive
	Dir  bool
	Size int64 // as the archive says it
}

// ArchiveFile is an archive that is open for reading, for as long as the reader
// it was opened with is. It is not safe for concurrent use.
type ArchiveFile struct {
	members []Member
	index   map[string]int
	zipped  map[string]*zip.File
	tarball func() (*tar.Reader, error) // a fresh one from the beginning
}

// OpenArchive reads the listing of a zip or tar (also gzipped). The name is for
// errors; the format is known by the content. Archives of more than 200,000
// members, and compressed ones that unpack to more than 1 GB, are refused.
func OpenArchive(name string, r io.ReaderAt, size int64) (*ArchiveFile, error) {
	a := &ArchiveFile{index: map[string]int{}}
	head := make([]byte, 512)
	n, err := r.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read archive %s: %w", name, err)
	}
	head = head[:n]
	switch {
	case bytes.HasPrefix(head, []byte("PK")):
		err = a.listZip(r, size)
	default:
		a.tarball = func() (*tar.Reader, error) { return openTar(io.NewSectionReader(r, 0, size), head, maxUnpack) }
		err = a.listTar()
	}
	if err != nil {
		return nil, fmt.Errorf("read archive %s: %w", name, err)
	}
	sorting.Stable(a.members, func(x, y Member) int { return strings.Compare(x.Name, y.Name) })
	for i, m := range a.members {
		a.index[m.Name] = i
	}
	return a, nil
}

// openTar opens a tar, unpacking it where it is compressed. One that is not keeps
// being a Seeker, which lets the tar reader pass over members without reading.
func openTar(r *io.SectionReader, head []byte, allowance int64) (*tar.Reader, error) {
	if !bytes.HasPrefix(head, []byte{0x1f, 0x8b}) {
		return tar.NewReader(r), nil
	}
	z, err := gzip.NewReader(bufio.NewReaderSize(r, 64<<10))
	if err != nil {
		return nil, err
	}
	return tar.NewReader(bounded.Reader(context.Background(), z, &allowance)), nil
}

func (a *ArchiveFile) listZip(r io.ReaderAt, size int64) error {
	z, err := bounded.Zip(r, size)
	if err != nil {
		return err
	}
	a.zipped = make(map[string]*zip.File, len(z.File))
	for _, f := range z.File {
		name := cleanMember(strings.ReplaceAll(f.Name, `\`, "/"))
		dir := strings.HasSuffix(f.Name, "/") || f.Mode().IsDir()
		if err := a.add(name, dir, int64(min(f.UncompressedSize64, 1<<62))); err != nil {
			return err
		}
		a.zipped[name] = f
	}
	return nil
}

func (a *ArchiveFile) listTar() error {
	t, err := a.tarball()
	if err != nil {
		return err
	}
	for {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := a.add(cleanMember(h.Name), h.Typeflag == tar.TypeDir, h.Size); err != nil {
			return err
		}
	}
}

// cleanMember makes a name that stays inside: ".." at the root leads nowhere.
func cleanMember(name string) string {
	return strings.TrimPrefix(path.Clean("/"+strings.ToValidUTF8(name, "\ufffd")), "/")
}

// add lists a member and the folders it lies in. A later member replaces one of
// the same name, as it would where the archive is unpacked.
func (a *ArchiveFile) add(name string, dir bool, size int64) error {
	if name == "" {
		return nil // the root
	}
	if len(name) > maxMemberName {
		return fmt.Errorf("a member's name has %d bytes, %d are the limit", len(name), maxMemberName)
	}
	if i, ok := a.index[name]; ok {
		a.members[i] = Member{Name: name, Dir: dir, Size: size}
		return nil
	}
	a.index[name] = len(a.members)
	a.members = append(a.members, Member{Name: name, Dir: dir, Size: size})
	parent := path.Dir(name)
	for range maxMemberDepth {
		if _, ok := a.index[parent]; ok || parent == "." {
			break
		}
		a.index[parent] = len(a.members)
		a.members = append(a.members, Member{Name: parent, Dir: true})
		parent = path.Dir(parent)
	}
	if len(a.members) > maxMembers {
		return fmt.Errorf("more than %d members", maxMembers)
	}
	return nil
}

// Members are the members by name, each once. Folders that only the names of
// other members tell of are among them.
func (a *ArchiveFile) Members() []Member { return slices.Clone(a.members) }

// ReadFile reads a member, at most 64 MB. The error wraps [fs.ErrNotExist] where
// there is none; folders, links and encrypted members are errors too.
func (a *ArchiveFile) ReadFile(name string) ([]byte, error) {
	name = cleanMember(name)
	i, ok := a.index[name]
	switch {
	case !ok:
		return nil, fmt.Errorf("archive member %s: %w", name, fs.ErrNotExist)
	case a.members[i].Dir:
		return nil, fmt.Errorf("archive member %s is a folder", name)
	}
	data, err := a.readMember(name)
	if err != nil {
		return nil, fmt.Errorf("archive member %s: %w", name, err)
	}
	return data, nil
}

func (a *ArchiveFile) readMember(name string) ([]byte, error) {
	if a.zipped != nil {
		return readZipped(a.zipped[name])
	}
	t, err := a.tarball()
	if err != nil {
		return nil, err
	}
	var data []byte
	err = fs.ErrNotExist
	for { // to the end, because the last member of a name counts
		h, next := t.Next()
		if errors.Is(next, io.EOF) {
			return data, err
		}
		if next != nil {
			return nil, next
		}
		if cleanMember(h.Name) != name {
			continue
		}
		switch h.Typeflag {
		case tar.TypeReg, tar.TypeGNUSparse:
			if data, err = readAtMost(t, h.Size); err != nil {
				return nil, err
			}
		case tar.TypeSymlink, tar.TypeLink:
			data, err = nil, fmt.Errorf("is a link to %s", h.Linkname)
		default:
			data, err = nil, errors.New("is not a regular file")
		}
	}
}

func readZipped(f *zip.File) ([]byte, error) {
	if f.Flags&1 != 0 {
		return nil, errors.New("is encrypted")
	}
	if f.Mode()&fs.ModeType != 0 {
		return nil, errors.New("is not a regular file")
	}
	rc, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer rc.Close()
	return readAtMost(rc, int64(min(f.UncompressedSize64, 1<<62)))
}

// readAtMost reads a member. The size that the archive claims is only believed
// where it says that the member is too large.
func readAtMost(r io.Reader, claimed int64) ([]byte, error) {
	if claimed > maxMember {
		return nil, fmt.Errorf("has %d bytes, %d are the limit", claimed, maxMember)
	}
	data, err := io.ReadAll(io.LimitReader(r, maxMember+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxMember {
		return nil, fmt.Errorf("has more than %d bytes", maxMember)
	}
	return data, nil
}

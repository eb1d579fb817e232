package document

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/platform/document/bounded"
)

// WriteArchive gives the archive data with one member added or replaced; data may
// be nil for a new one. The format follows the name: .zip, .tar, .tar.gz, .tgz.
// All other members stay as they are, in their order. Mode 0 is 0644. Archives of
// more than 256 MB, packed or unpacked, are refused.
func WriteArchive(name string, data []byte, member string, content []byte, mode fs.FileMode) ([]byte, error) {
	if err := checkMember(member); err != nil {
		return nil, err
	}
	if len(data) > maxRewrite || len(content) > maxRewrite {
		return nil, fmt.Errorf("archive %s: more than %d bytes", name, maxRewrite)
	}
	member = cleanMember(member)
	if len(data) > 0 {
		a, err := OpenArchive(name, bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return nil, err
		}
		if err := a.collides(member); err != nil {
			return nil, fmt.Errorf("archive %s: %w", name, err)
		}
	}
	if mode == 0 {
		mode = 0o644
	}
	var out []byte
	var err error
	switch extension(name) {
	case ".zip":
		out, err = writeZip(data, member, content, mode)
	case ".tar", ".tar.gz", ".tgz":
		out, err = writeTar(data, member, content, mode, extension(name) != ".tar")
	default:
		return nil, fmt.Errorf("archive %s: only .zip, .tar, .tar.gz and .tgz can be written", name)
	}
	if err != nil {
		return nil, fmt.Errorf("write archive %s: %w", name, err)
	}
	return out, nil
}

func checkMember(member string) error {
	member = strings.ReplaceAll(member, `\`, "/")
	switch {
	case slices.Contains(strings.Split(member, "/"), ".."):
		return fmt.Errorf("archive path %q cannot contain \"..\"", member)
	case cleanMember(member) == "":
		return errors.New("archive path must name a file inside the archive")
	case strings.HasSuffix(member, "/"):
		return fmt.Errorf("archive path %q names a folder, not a file", member)
	}
	return nil
}

// collides reports whether writing member would make a folder of a file or the
// other way round.
func (a *ArchiveFile) collides(member string) error {
	if i, ok := a.index[member]; ok && a.members[i].Dir {
		return fmt.Errorf("%s is a folder", member)
	}
	for i := range len(member) {
		if member[i] != '/' {
			continue
		}
		if j, ok := a.index[member[:i]]; ok && !a.members[j].Dir {
			return fmt.Errorf("%s is a file", member[:i])
		}
	}
	return nil
}

func writeZip(data []byte, member string, content []byte, mode fs.FileMode) ([]byte, error) {
	var buf bytes.Buffer
	w := zip.NewWriter(&buf)
	written := false
	put := func() error {
		written = true
		h := &zip.FileHeader{Name: member, Method: zip.Deflate, Modified: time.Now()}
		h.SetMode(mode.Perm())
		f, err := w.CreateHeader(h)
		if err != nil {
			return err
		}
		_, err = f.Write(content)
		return err
	}
	if len(data) > 0 {
		z, err := bounded.Zip(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return nil, err
		}
		if err := w.SetComment(z.Comment); err != nil {
			return nil, err
		}
		for _, f := range z.File {
			switch same := cleanMember(strings.ReplaceAll(f.Name, `\`, "/")) == member; {
			case same && written:
				continue
			case same:
				err = put()
			default:
				err = w.Copy(f) // as it is packed
			}
			if err != nil {
				return nil, fmt.Errorf("%s: %w", f.Name, err)
			}
		}
	}
	if !written {
		if err := put(); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}

func writeTar(data []byte, member string, content []byte, mode fs.FileMode, compress bool) ([]byte, error) {
	var buf bytes.Buffer
	var sink io.Writer = &buf
	var z *gzip.Writer
	if compress {
		z = gzip.NewWriter(&buf)
		sink = z
	}
	w := tar.NewWriter(sink)
	if err := copyTar(w, data, member, content, mode); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	if z != nil {
		if err := z.Close(); err != nil {
			return nil, err
		}
	}
	return buf.Bytes(), nil
}

func copyTar(w *tar.Writer, data []byte, member string, content []byte, mode fs.FileMode) error {
	written := false
	put := func() error {
		written = true
		h := &tar.Header{
			Name: member, Typeflag: tar.TypeReg, Size: int64(len(content)), Mode: int64(mode.Perm()),
			ModTime: time.Now().Truncate(time.Second),
		}
		if err := w.WriteHeader(h); err != nil {
			return err
		}
		_, err := w.Write(content)
		return err
	}
	if len(data) > 0 {
		r := io.NewSectionReader(bytes.NewReader(data), 0, int64(len(data)))
		t, err := openTar(r, data, maxRewrite)
		if err != nil {
			return err
		}
		for total := int64(0); ; {
			h, err := t.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return err
			}
			if total += h.Size; h.Size > maxRewrite || total > maxRewrite { // holes of sparse files cost nothing to claim
				return bounded.ErrTooLarge
			}
			switch same := cleanMember(h.Name) == member; {
			case same && written:
				continue
			case same:
				err = put()
			default:
				err = copyTarMember(w, h, t)
			}
			if err != nil {
				return fmt.Errorf("%s: %w", h.Name, err)
			}
		}
	}
	if written {
		return nil
	}
	return put()
}

func copyTarMember(w *tar.Writer, h *tar.Header, r io.Reader) error {
	// The writer has no sparse files; their holes become zeros.
	if h.Typeflag == tar.TypeGNUSparse {
		h.Typeflag = tar.TypeReg
	}
	maps.DeleteFunc(h.PAXRecords, func(key, _ string) bool { return strings.HasPrefix(key, "GNU.sparse.") })
	h.Format = tar.FormatUnknown // whatever holds the header
	if err := w.WriteHeader(h); err != nil {
		return err
	}
	_, err := io.Copy(w, r)
	return err
}

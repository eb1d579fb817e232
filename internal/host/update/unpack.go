package update

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// maxUnpacked is how much an archive may unpack to, what is passed over included: an
// archive of 10 MB can hold 10 GB.
const maxUnpacked = 400 << 20

var errTooLarge = errors.New("too large")

// unpack writes the program that an archive holds, and into stage the files that it has in some
// folders, of at most limit bytes with what is passed over. Nothing else of it is written.
func unpack(archive *os.File, name string, limit int64, to io.Writer, stage string, folders []string) error {
	p := &program{to: to, left: limit, stage: stage, folders: folders}
	if err := p.read(archive, strings.HasSuffix(name, ".zip")); err != nil {
		switch {
		case errors.Is(err, io.ErrUnexpectedEOF):
			return errors.New("it is cut off")
		case errors.Is(err, errTooLarge):
			return fmt.Errorf("it unpacks to more than %d MB", limit>>20)
		}
		return err
	}
	if !p.found {
		return errors.New("it holds no burin")
	}
	return nil
}

// program looks for the one file of an archive that is the program, and for folders.
type program struct {
	to    io.Writer
	left  int64 // of what may be unpacked
	found bool

	stage   string
	folders []string
}

func (p *program) read(archive *os.File, zipped bool) error {
	if zipped {
		info, err := archive.Stat()
		if err != nil {
			return err
		}
		r, err := zip.NewReader(archive, info.Size())
		if err != nil {
			return err
		}
		for _, f := range r.File {
			n, err := p.entry(f.Name, f.Mode(), func() (io.ReadCloser, error) { return f.Open() })
			if p.left -= n; err != nil {
				return err
			}
		}
		return nil
	}
	if _, err := archive.Seek(0, io.SeekStart); err != nil {
		return err
	}
	packed, err := gzip.NewReader(archive)
	if err != nil {
		return err
	}
	// What is passed over is unpacked, too.
	all := tar.NewReader(&bounded{packed, &p.left})
	for {
		h, err := all.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if _, err := p.entry(h.Name, h.FileInfo().Mode(), func() (io.ReadCloser, error) { return io.NopCloser(all), nil }); err != nil {
			return err
		}
	}
}

// entry writes a file of the archive if it is the program, or in one of the folders. n is how many bytes that were.
func (p *program) entry(name string, mode os.FileMode, open func() (io.ReadCloser, error)) (n int64, err error) {
	if !filepath.IsLocal(filepath.FromSlash(name)) || strings.Contains(name, `\`) {
		return 0, fmt.Errorf("%q leads out of it", name)
	}
	folder, file, within := strings.Cut(name, "/")
	to := p.to
	switch {
	case name == "burin" || name == "burin.exe":
		if !mode.IsRegular() || p.found {
			return 0, fmt.Errorf("its %s is no file, or there twice", name)
		}
		p.found = true
	case within && file != "" && slices.Contains(p.folders, folder):
		if !mode.IsRegular() || strings.Contains(file, "/") {
			return 0, fmt.Errorf("its %s is no file, or in a folder of its own", name)
		}
		if err := os.MkdirAll(filepath.Join(p.stage, folder), 0o755); err != nil {
			return 0, err
		}
		out, failed := os.OpenFile(filepath.Join(p.stage, folder, file), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if failed != nil {
			return 0, failed
		}
		defer func() { err = errors.Join(err, out.Close()) }()
		to = out
	default:
		return 0, nil
	}
	content, err := open()
	if err != nil {
		return 0, err
	}
	defer content.Close()
	left := p.left // a tar's own reader counts, too
	return io.Copy(to, &bounded{content, &left})
}

// bounded reads until so many bytes were read.
type bounded struct {
	io.Reader
	left *int64
}

func (b *bounded) Read(to []byte) (int, error) {
	n, err := b.Reader.Read(to)
	if *b.left -= int64(n); *b.left < 0 {
		return 0, errTooLarge
	}
	return n, err
}

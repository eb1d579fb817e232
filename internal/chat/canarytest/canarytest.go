// Package canarytest looks for canaries in files: words that a test has given to a server, and
// that no file may have, in no form that a file could have them in. It searches files as
// they are and what gzip, zlib, DEFLATE and zstd have in them, for text, UTF-16 and base64,
// within each other.
//
// A test that finds none proves something only where the same search finds all of them when
// nothing is encrypted: each one has such a control.
package canarytest

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"crypto/rand"
	"debug/elf"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

const (
	prefixSize  = 12
	maxUnpacked = 64 << 20 // bytes of what is in a file
	maxDepth    = 3        // forms within each other
	deflateAll  = 1 << 20  // see [Canaries.Deflated]
)

// Canaries are words of small letters, which no index or format changes.
type Canaries struct {
	Words []string
	// Deflated is how many bytes a file may have for each of them to be tried as the beginning of DEFLATE data,
	// which has no mark of its own. It takes seconds for each 10 MB.
	Deflated int

	marks [][]byte   // the beginning of all, in each form
	forms [][][]byte // of each
}

// New makes n of them.
func New(n int) *Canaries {
	letters := func(size int) string {
		b := make([]byte, size)
		_, _ = rand.Read(b) // never fails
		for i := range b {
			b[i] = 'a' + b[i]%26
		}
		return string(b)
	}
	prefix := letters(prefixSize)
	c := &Canaries{Deflated: deflateAll, marks: forms(prefix)}
	for range n {
		word := prefix + letters(prefixSize)
		c.Words = append(c.Words, word)
		c.forms = append(c.forms, forms(word))
	}
	return c
}

// Add adds a secret that the server has made, in all the spellings that it could be kept in, such as
// a text and the bytes that it stands for. The first one is its name. Each has at least 12 bytes.
func (c *Canaries) Add(spellings ...string) {
	var all [][]byte
	for _, s := range spellings {
		if len(s) < prefixSize {
			panic("a canary is too short to be found by itself")
		}
		all = append(all, forms(s)...)
	}
	c.Words = append(c.Words, spellings[0])
	c.marks = append(c.marks, all...)
	c.forms = append(c.forms, all)
}

// forms are the forms of a word: itself, UTF-16 in both orders, base64 wherever it stands, and that in base64.
func forms(word string) [][]byte {
	var little, big []byte
	for _, b := range []byte(word) {
		little, big = append(little, b, 0), append(big, 0, b)
	}
	all := [][]byte{[]byte(word), little, big}
	for _, once := range encoded([]byte(word)) {
		all = append(append(all, once), encoded(once)...)
	}
	return all
}

// encoded is what a word is in base64, wherever it stands.
func encoded(word []byte) (all [][]byte) {
	for skip := range 3 {
		// The first characters depend on what is before the word, the last on what is after it.
		inner := word[(3-skip)%3:]
		inner = inner[:len(inner)/3*3]
		all = append(all, base64.StdEncoding.AppendEncode(nil, inner))
	}
	return all
}

// Search says where each canary was found in the files below folders. Files that are made or
// removed meanwhile may be missed.
func (c *Canaries) Search(t testing.TB, folders ...string) map[string]string {
	t.Helper()
	found := map[string]string{}
	files, size := 0, int64(0)
	for _, folder := range folders {
		err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			data, err := os.ReadFile(path)
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err == nil {
				files, size = files+1, size+int64(len(data))
				c.look(data, path, 0, found)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("searched %d files of %d KB in %q", files, size>>10, folders)
	if files == 0 {
		t.Errorf("there is no file in %q", folders)
	}
	return found
}

// None reports each canary that is there.
func (c *Canaries) None(t testing.TB, folders ...string) {
	t.Helper()
	for word, where := range c.Search(t, folders...) {
		t.Errorf("canary %d is in %s", slices.Index(c.Words, word), where)
	}
}

// All reports each canary that is not there.
func (c *Canaries) All(t testing.TB, folders ...string) {
	t.Helper()
	found := c.Search(t, folders...)
	for i, word := range c.Words {
		if found[word] == "" {
			t.Errorf("canary %d was not found: the search can't find what it should", i)
		}
	}
}

func (c *Canaries) look(data []byte, where string, depth int, found map[string]string) {
	if slices.ContainsFunc(c.marks, func(mark []byte) bool { return bytes.Contains(data, mark) }) {
		for i, word := range c.Words {
			if found[word] == "" && slices.ContainsFunc(c.forms[i], func(form []byte) bool { return bytes.Contains(data, form) }) {
				found[word] = where
			}
		}
	}
	if depth == maxDepth {
		return
	}
	inner := func(name string, r io.Reader, err error) {
		if err != nil {
			return
		}
		unpacked, _ := io.ReadAll(io.LimitReader(r, maxUnpacked)) // up to where it is damaged
		if len(unpacked) >= prefixSize {
			c.look(unpacked, where+" › "+name, depth+1, found)
		}
	}
	each(data, []byte("\x1f\x8b\x08"), func(rest []byte) {
		r, err := gzip.NewReader(bytes.NewReader(rest))
		inner("gzip", r, err)
	})
	for _, second := range []byte{0x01, 0x5e, 0x9c, 0xda} {
		each(data, []byte{0x78, second}, func(rest []byte) {
			r, err := zlib.NewReader(bytes.NewReader(rest))
			inner("zlib", r, err)
		})
	}
	each(data, []byte("\x28\xb5\x2f\xfd"), func(rest []byte) {
		r, err := zstd(rest)
		inner("zstd", r, err)
	})
	if depth == 0 && len(data) <= c.Deflated {
		c.deflated(data, where, found)
	}
}

// each calls do with what follows each mark, which is a part of it.
func each(data, mark []byte, do func(rest []byte)) {
	for at := 0; ; at++ {
		n := bytes.Index(data[at:], mark)
		if n < 0 {
			return
		}
		at += n
		do(data[at:])
	}
}

// deflated tries DEFLATE at each byte.
func (c *Canaries) deflated(data []byte, where string, found map[string]string) {
	in := bytes.NewReader(nil)
	r := flate.NewReader(in)
	out := make([]byte, 64<<10)
	for at := range data {
		rest := data[at:]
		switch rest[0] >> 1 & 3 {
		case 3: // no such block
			continue
		case 0: // not compressed: it would have been seen
			continue
		}
		in.Reset(rest)
		if err := r.(flate.Resetter).Reset(in, nil); err != nil {
			return
		}
		n, _ := io.ReadFull(r, out)
		if n >= prefixSize {
			c.look(out[:n], where+" › DEFLATE", maxDepth, found)
		}
	}
}

// zstd reads a zstd frame. The standard library has a decoder only within debug/elf, for
// compressed sections: so the frame becomes one.
func zstd(frame []byte) (io.Reader, error) {
	const head, section = 64, 64
	names := "\x00.z\x00"
	var b bytes.Buffer
	put := func(v any) { _ = binary.Write(&b, binary.LittleEndian, v) } // a buffer takes all
	put(elf.Header64{
		Ident: [16]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)},
		Type:  uint16(elf.ET_REL), Machine: uint16(elf.EM_X86_64), Version: uint32(elf.EV_CURRENT),
		Shoff: head, Ehsize: head, Shentsize: section, Shnum: 3, Shstrndx: 2,
	})
	at := uint64(head + 3*section)
	compressed := uint64(24 + len(frame))
	put(elf.Section64{})
	put(elf.Section64{Name: 1, Type: uint32(elf.SHT_PROGBITS), Flags: uint64(elf.SHF_COMPRESSED), Off: at, Size: compressed, Addralign: 1})
	put(elf.Section64{Type: uint32(elf.SHT_STRTAB), Off: at + compressed, Size: uint64(len(names)), Addralign: 1})
	put(elf.Chdr64{Type: uint32(elf.COMPRESS_ZSTD), Size: maxUnpacked, Addralign: 1})
	b.Write(frame)
	b.WriteString(names)
	f, err := elf.NewFile(bytes.NewReader(b.Bytes()))
	if err != nil {
		return nil, err
	}
	return f.Sections[1].Open(), nil
}

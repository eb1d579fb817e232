package undo

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A look that finds much that is new, as the first one does, puts it into one file:
// making a file for each takes most of the time. A pack is contents one behind the
// other, in objects/packs; its index has their hashes, in order, with where they
// are. Nothing refers to a pack before its index is there, which is the last to be
// written: a process that is killed before leaves a file that the next tidying
// removes, and no look that was taken for done.
//
// An index is a line of text, then for each of the contents its hash (32 bytes), its
// place and its length (8 bytes each), then the CRC-32 of all that.
const (
	packHeader = "burin pack 1\n"
	packEntry  = sha256.Size + 16
	// packFrom is how many contents a look puts into files of their own before it
	// begins a pack: what a command changes is mostly less.
	packFrom = 64
)

func (s *store) packDir() string { return filepath.Join(s.objects(), "packs") }

// packed is where contents are in a pack.
type packed struct {
	hash     [sha256.Size]byte
	at, size int64
}

func (p packed) append(b []byte) []byte {
	b = append(b, p.hash[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(p.at))
	return binary.BigEndian.AppendUint64(b, uint64(p.size))
}

func packedOf(b []byte) packed {
	return packed{[sha256.Size]byte(b), int64(binary.BigEndian.Uint64(b[sha256.Size:])), int64(binary.BigEndian.Uint64(b[sha256.Size+8:]))}
}

// packer keeps the contents that one look finds.
type packer struct {
	store *store
	from  int // see packFrom
	loose int
	there []map[[sha256.Size]byte]bool // in packs of before; nil until a pack is begun
	f     *os.File
	w     *bufio.Writer
	at    int64
	have  map[[sha256.Size]byte]bool // what this pack holds
	buf   []byte                     // contents as they are written
	index []packed
}

func (s *store) newPacker() *packer { return &packer{store: s, from: s.packFrom} }

// Put keeps contents, for sure once end has returned.
func (p *packer) Put(data []byte) (string, error) {
	if p.loose < p.from {
		p.loose++
		return p.store.Put(data)
	}
	hash := sha256.Sum256(data)
	name := hex.EncodeToString(hash[:])
	if err := p.put(hash, name, data); err != nil {
		return "", fmt.Errorf("keep a file for undo: %w", err)
	}
	return name, nil
}

func (p *packer) put(hash [sha256.Size]byte, name string, data []byte) error {
	if p.f == nil {
		if err := p.begin(); err != nil {
			return err
		}
	}
	if p.have[hash] || slices.ContainsFunc(p.there, func(m map[[sha256.Size]byte]bool) bool { return m[hash] }) {
		return nil
	}
	size := p.store.box.size(len(data))
	if info, err := os.Lstat(p.store.object(name)); err == nil && info.Size() == size {
		return nil
	}
	p.buf = p.store.box.seal(p.buf[:0], data, hash)
	return p.write(hash, p.buf)
}

// write adds encrypted contents to the pack.
func (p *packer) write(hash [sha256.Size]byte, sealed []byte) error {
	if _, err := p.w.Write(sealed); err != nil {
		return err
	}
	p.have[hash] = true
	p.index = append(p.index, packed{hash, p.at, int64(len(sealed))})
	p.at += int64(len(sealed))
	return nil
}

func (p *packer) begin() error {
	if err := p.store.box.make(); err != nil {
		return err
	}
	if err := os.MkdirAll(p.store.packDir(), 0o700); err != nil {
		return err
	}
	for _, index := range p.store.indexes() {
		entries, err := readIndex(index)
		if err != nil {
			continue // what it names is kept once more
		}
		known := make(map[[sha256.Size]byte]bool, len(entries))
		for _, e := range entries {
			known[e.hash] = true
		}
		p.there = append(p.there, known)
	}
	f, err := os.CreateTemp(p.store.packDir(), "*.pack") // 0600
	if err != nil {
		return err
	}
	p.f, p.w, p.have = f, bufio.NewWriterSize(f, 1<<20), map[[sha256.Size]byte]bool{}
	return nil
}

// end makes what was kept last.
func (p *packer) end() error {
	if p.f == nil {
		return nil
	}
	err := errors.Join(p.w.Flush(), p.f.Close())
	if err == nil && len(p.index) > 0 {
		err = p.writeIndex()
	}
	if err != nil || len(p.index) == 0 {
		_ = os.Remove(p.f.Name()) // or the next tidying does
	}
	if err != nil {
		return fmt.Errorf("keep files for undo: %w", err)
	}
	return nil
}

// abandon is for a look that broke off.
func (p *packer) abandon() {
	if p.f != nil {
		_ = p.f.Close()
		_ = os.Remove(p.f.Name()) // or the next tidying does
	}
}

func (p *packer) writeIndex() error {
	slices.SortFunc(p.index, func(a, b packed) int { return bytes.Compare(a.hash[:], b.hash[:]) })
	data := append(make([]byte, 0, len(packHeader)+len(p.index)*packEntry+crc32.Size), packHeader...)
	for _, e := range p.index {
		data = e.append(data)
	}
	data = binary.BigEndian.AppendUint32(data, crc32.ChecksumIEEE(data))
	name := indexOf(p.f.Name())
	if err := os.WriteFile(name+".new", data, 0o600); err != nil {
		_ = os.Remove(name + ".new")
		return err
	}
	return os.Rename(name+".new", name)
}

// indexOf is the index of a pack, and packOf the other way round.
func indexOf(pack string) string { return strings.TrimSuffix(pack, ".pack") + ".idx" }
func packOf(index string) string { return strings.TrimSuffix(index, ".idx") + ".pack" }

// indexes are those of all packs.
func (s *store) indexes() []string {
	found, _ := filepath.Glob(filepath.Join(globbed(s.packDir()), "*.idx")) // of a pattern that is right
	return found
}

// globbed is a path as a pattern that only it fits.
func globbed(path string) string {
	return strings.NewReplacer(`*`, `[*]`, `?`, `[?]`, `[`, `[[]`).Replace(path)
}

// readIndex reads an index whole.
func readIndex(name string) ([]packed, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return decodeIndex(data)
}

func decodeIndex(data []byte) ([]packed, error) {
	n := len(data) - crc32.Size
	if n < len(packHeader) || string(data[:len(packHeader)]) != packHeader || (n-len(packHeader))%packEntry != 0 ||
		crc32.ChecksumIEEE(data[:n]) != binary.BigEndian.Uint32(data[n:]) {
		return nil, errors.New("an index of kept files is damaged")
	}
	var all []packed
	for body := data[len(packHeader):n]; len(body) > 0; body = body[packEntry:] {
		all = append(all, packedOf(body))
	}
	return all, nil
}

// getPacked returns contents from a pack, as they were written.
func (s *store) getPacked(sum [sha256.Size]byte) ([]byte, error) {
	err := fs.ErrNotExist
	for _, index := range s.indexes() {
		e, ok := search(index, sum[:])
		if !ok {
			continue
		}
		var data []byte
		if data, err = e.read(packOf(index)); err == nil {
			return data, nil
		}
	}
	return nil, err
}

// search finds a hash in an index without reading all of it.
func search(index string, hash []byte) (packed, bool) {
	f, err := os.Open(index)
	if err != nil {
		return packed{}, false
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return packed{}, false
	}
	low, high := int64(0), (info.Size()-int64(len(packHeader)))/packEntry
	var buf [packEntry]byte
	for low < high {
		mid := (low + high) / 2
		if _, err := f.ReadAt(buf[:], int64(len(packHeader))+mid*packEntry); err != nil {
			return packed{}, false
		}
		switch c := bytes.Compare(buf[:sha256.Size], hash); {
		case c == 0:
			return packedOf(buf[:]), true
		case c < 0:
			low = mid + 1
		default:
			high = mid
		}
	}
	return packed{}, false
}

func (p packed) read(pack string) ([]byte, error) {
	if p.size < 0 || p.size > MaxFile+overhead || p.at < 0 {
		return nil, errors.New("an index of kept files is damaged")
	}
	f, err := os.Open(pack)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data := make([]byte, p.size)
	_, err = io.ReadFull(io.NewSectionReader(f, p.at, p.size), data)
	return data, err
}

// prunePacks removes packs that hold nothing live, those without an index, and writes
// anew those of which most is dead. Nobody else has the journal open.
func (s *store) prunePacks(live map[string]bool) error {
	for _, index := range s.indexes() {
		entries, err := readIndex(index)
		if err != nil {
			continue // it may still name what is wanted
		}
		var kept []packed
		var all, alive int64
		for _, e := range entries {
			all += e.size
			if live[hex.EncodeToString(e.hash[:])] {
				kept = append(kept, e)
				alive += e.size
			}
		}
		if len(kept) > 0 && alive > all/2 {
			continue
		}
		if err := s.repack(packOf(index), kept); err != nil {
			return err
		}
		_ = os.Remove(index) // the next time, if not now
		_ = os.Remove(packOf(index))
	}
	left, _ := filepath.Glob(filepath.Join(globbed(s.packDir()), "*"))
	for _, name := range left {
		if strings.HasSuffix(name, ".new") || strings.HasSuffix(name, ".pack") && !exists(indexOf(name)) {
			_ = os.Remove(name)
		}
	}
	return nil
}

func exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

// repack copies what is still wanted of a pack.
func (s *store) repack(pack string, kept []packed) error {
	p := &packer{store: s}
	for _, e := range kept {
		data, err := e.read(pack)
		if err == nil && p.f == nil {
			err = p.begin()
		}
		if err == nil {
			err = p.write(e.hash, data)
		}
		if err != nil {
			p.abandon()
			return err
		}
	}
	return p.end()
}

package undo

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash/crc32"
	"io/fs"

	"github.com/burin-dev/burin/internal/platform/undo/rootfile"
)

// What a look has seen is kept beside the journal, so that the first look of the
// next session reads only files whose stat has changed. As in git's index, a file
// that was changed right before the look may have been changed again within the
// resolution of the clock, without a trace: it is left out, and read again.
//
// The file is a line of text, then the entries, then their CRC-32. Each entry is a
// path and a state's kind, mode, hash (of a file: 32 bytes), link and reason why
// it was not kept, then the stat: texts and numbers with their length as in
// encoding/binary. A file that is damaged counts as none.
const cacheHeader = "burin tree 1\n"

func encodeTree(tree map[string]entry) []byte {
	b := make([]byte, 0, 128*len(tree)+64)
	b = append(b, cacheHeader...)
	text := func(s string) {
		b = binary.AppendUvarint(b, uint64(len(s)))
		b = append(b, s...)
	}
	for name, e := range tree {
		// What was told has no stat, and what could not be read may become readable.
		if e.fresh || e.stat == (rootfile.Stat{}) || e.state.Lost != "" && e.state.Hash == "" {
			continue
		}
		text(name)
		text(e.state.Kind)
		b = binary.AppendUvarint(b, uint64(e.state.Mode))
		hash := e.state.Hash
		if raw, err := hex.DecodeString(hash); err == nil {
			hash = string(raw)
		}
		text(hash)
		text(e.state.Link)
		text(e.state.Lost)
		b = binary.AppendUvarint(b, uint64(e.stat.Mode))
		b = binary.AppendVarint(b, e.stat.Size)
		b = binary.AppendVarint(b, e.stat.MTime)
		b = binary.AppendVarint(b, e.stat.CTime)
		b = binary.AppendUvarint(b, e.stat.Inode)
		ignored := uint64(0)
		if e.inIgnored {
			ignored = 1
		}
		b = binary.AppendUvarint(b, ignored)
	}
	return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
}

// treeReader reads what encodeTree writes.
type treeReader struct {
	data []byte
	bad  bool
}

func (r *treeReader) uint() uint64 {
	v, n := binary.Uvarint(r.data)
	r.skip(n)
	return v
}

func (r *treeReader) int() int64 {
	v, n := binary.Varint(r.data)
	r.skip(n)
	return v
}

func (r *treeReader) skip(n int) {
	if n <= 0 {
		r.bad, r.data = true, nil
		return
	}
	r.data = r.data[n:]
}

func (r *treeReader) text() string {
	n := r.uint()
	if n > uint64(len(r.data)) {
		r.bad, r.data = true, nil
		return ""
	}
	s := string(r.data[:n])
	r.data = r.data[n:]
	return s
}

func decodeTree(data []byte) (map[string]entry, error) {
	damaged := errors.New("what is known of the folder is damaged")
	n := len(data) - crc32.Size
	if n < len(cacheHeader) || string(data[:len(cacheHeader)]) != cacheHeader || crc32.ChecksumIEEE(data[:n]) != binary.BigEndian.Uint32(data[n:]) {
		return nil, damaged
	}
	tree := make(map[string]entry, n/128)
	for r := (&treeReader{data: data[len(cacheHeader):n]}); len(r.data) > 0; {
		name := r.text()
		e := entry{state: State{Kind: r.text(), Mode: fs.FileMode(r.uint()), Hash: r.text(), Link: r.text(), Lost: r.text()}}
		if e.state.Lost == "" {
			e.state.Hash = hex.EncodeToString([]byte(e.state.Hash))
		}
		e.stat = rootfile.Stat{Mode: fs.FileMode(r.uint()), Size: r.int(), MTime: r.int(), CTime: r.int(), Inode: r.uint()}
		e.inIgnored = r.uint() == 1
		if r.bad || !fs.ValidPath(name) {
			return nil, damaged
		}
		tree[name] = e
	}
	return tree, nil
}

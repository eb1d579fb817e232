package vfs

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io/fs"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/burin-dev/burin/internal/chat/vault"
)

const (
	root    = 0  // the node that has no row
	nowhere = -1 // the parent of orphans
)

// node is a file or folder. It never changes: a changed one takes its place. It is also what
// package fs wants to know of it.
type node struct {
	id, parent      int64
	version, oldest int64 // of a file: the current one, and the oldest that is kept
	deleted         bool  // itself; what is in a deleted folder is deleted, too

	// What is sealed.
	name              string
	dir               bool
	mime              string
	size              int64
	created, modified int64 // milliseconds
	mode              fs.FileMode
	orphaned          int64  // milliseconds; 0: it is none
	path              string // of an orphan: where it was
}

func (n *node) Name() string               { return n.name }
func (n *node) Size() int64                { return n.size }
func (n *node) IsDir() bool                { return n.dir }
func (n *node) Type() fs.FileMode          { return n.Mode().Type() }
func (n *node) Info() (fs.FileInfo, error) { return n, nil }
func (n *node) Sys() any                   { return nil }
func (n *node) ModTime() time.Time         { return time.UnixMilli(n.modified) }

func (n *node) Mode() fs.FileMode {
	if n.dir {
		return n.mode | fs.ModeDir
	}
	return n.mode
}

var _ interface {
	fs.FileInfo
	fs.DirEntry
} = (*node)(nil)

// place binds what is sealed to what stands in the clear next to it. The project comes last: it
// is the only part that could hold a slash.
func (n *node) place(project string) string {
	deleted := int64(0)
	if n.deleted {
		deleted = 1
	}
	return placed("node", project, n.id, n.parent, n.version, n.oldest, deleted)
}

func placed(what, project string, numbers ...int64) string {
	b := append(make([]byte, 0, 128), "vfs/"...)
	b = append(b, what...)
	for _, n := range numbers {
		b = strconv.AppendInt(append(b, '/'), n, 10)
	}
	return string(append(append(b, '/'), project...))
}

const recordFormat = 1

// record is what is sealed of a node. It is small, as a tree is opened node by node.
func (n *node) record() []byte {
	b := append(make([]byte, 0, 64), recordFormat, 0)
	if n.dir {
		b[1] = 1
	}
	b = binary.AppendUvarint(b, uint64(n.mode.Perm()))
	for _, v := range []int64{n.size, n.created, n.modified, n.orphaned} {
		b = binary.AppendVarint(b, v)
	}
	for _, s := range []string{n.mime, n.name, n.path} {
		b = append(binary.AppendUvarint(b, uint64(len(s))), s...)
	}
	return b
}

var errRecord = errors.New("a record is not in the format of this burin")

// read takes what was sealed of a node.
func (n *node) read(b []byte) error {
	if len(b) < 2 || b[0] != recordFormat {
		return errRecord
	}
	r := bytes.NewReader(b[2:])
	n.dir = b[1]&1 != 0
	mode, err := binary.ReadUvarint(r)
	n.mode = fs.FileMode(mode).Perm()
	for _, v := range []*int64{&n.size, &n.created, &n.modified, &n.orphaned} {
		if err == nil {
			*v, err = binary.ReadVarint(r)
		}
	}
	for _, s := range []*string{&n.mime, &n.name, &n.path} {
		if err != nil {
			break
		}
		var length uint64
		if length, err = binary.ReadUvarint(r); err == nil && length > uint64(r.Len()) {
			err = errRecord
		}
		if err == nil {
			at := len(b) - r.Len()
			*s = intern(b[at : at+int(length)])
			_, err = r.Seek(int64(length), 1)
		}
	}
	if err != nil {
		return errRecord
	}
	return nil
}

// intern spares the memory of the types, which are few.
func intern(b []byte) string {
	switch string(b) {
	case plainText:
		return plainText
	case folderType:
		return folderType
	}
	return string(b)
}

// facts are what is sealed of a version. Those of before authors were kept end after the size.
func facts(modified, size int64, by Author) []byte {
	b := binary.AppendVarint(binary.AppendVarint(nil, modified), size)
	return append(append(b, byte(by.Who)), by.ID...)
}

// readFacts takes what was sealed of a version.
func (v *Version) readFacts(b []byte) error {
	r := bytes.NewReader(b)
	modified, err := binary.ReadVarint(r)
	if err == nil {
		v.Size, err = binary.ReadVarint(r)
	}
	if err != nil {
		return errRecord
	}
	v.Modified = time.UnixMilli(modified)
	if rest := b[len(b)-r.Len():]; len(rest) > 0 {
		v.By = Author{Writer(rest[0]), string(rest[1:])}
	}
	return nil
}

// content is a version of a file that is being written.
type content struct {
	node, version int64
	facts, data   []byte // sealed
}

func seal(ring *vault.Ring, project string, n *node, data []byte, by Author) (c content, err error) {
	c = content{node: n.id, version: n.version}
	if c.data, err = ring.Seal(placed("data", project, n.id, n.version), data); err != nil {
		return c, err
	}
	c.facts, err = ring.Seal(placed("facts", project, n.id, n.version), facts(n.modified, n.size, by))
	return c, err
}

func (c content) size() int64 { return int64(len(c.data) + len(c.facts)) }

const (
	plainText  = "text/plain"
	folderType = "application/x-directory"
)

// typeOf tells the type of a file from how it begins.
func typeOf(data []byte) string {
	for _, known := range []struct{ begins, mime string }{
		{"\xff\xd8\xff", "image/jpeg"},
		{"\x89PNG\r\n\x1a\n", "image/png"},
		{"GIF87a", "image/gif"},
		{"GIF89a", "image/gif"},
		{"%PDF-", "application/pdf"},
		{"PK\x03\x04", "application/zip"},
		{"PK\x05\x06", "application/zip"}, // an empty one
	} {
		if bytes.HasPrefix(data, []byte(known.begins)) {
			return known.mime
		}
	}
	if len(data) >= 12 && string(data[:4]) == "RIFF" && string(data[8:12]) == "WEBP" {
		return "image/webp"
	}
	if utf8.Valid(data) && bytes.IndexByte(data, 0) < 0 {
		return plainText
	}
	return "application/octet-stream"
}

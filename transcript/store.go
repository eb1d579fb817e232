package transcript

import (
	"bytes"
	"errors"
	"iter"
	"slices"
	"sync"
)

// Store stores the records of one session, oldest first: JSON objects without newlines,
// starting with the header. A store doesn't interpret records.
//
// Every store passes the suite in transcript/storetest. It is used by one [Log], from one
// goroutine at a time.
type Store interface {
	// Records calls yield with each record in order. The bytes are valid until yield returns;
	// an error of yield ends the walk and is returned. A torn record at the end, left by a
	// crash, is passed unchanged. A store that may have one has a method Torn() bool;
	// otherwise it is considered damage.
	Records(yield func(Ref, []byte) error) error
	// Read returns a record again. The bytes belong to the caller.
	Read(Ref) ([]byte, error)
	// Append adds records after the last one, in one write. After an error none of them
	// counts: opened again, the store has the previous records and at most one torn record
	// after them, and later appends are complete.
	Append(records ...[]byte) ([]Ref, error)
	// Sync returns when what was appended survives a power cut.
	Sync() error
	// Replace replaces all records: afterwards, even after a crash, there are either all the
	// old ones or all the new ones. Earlier Refs become invalid.
	Replace(records iter.Seq[[]byte]) error
	// Close syncs and releases the resources of the store. It must be called once.
	Close() error
}

// Ref is the position of a record in its store.
type Ref struct {
	Pos int64
	Len int32 // bytes of the record, at most MaxRecord; -1 for a longer one
}

// MaxRecord is the largest size of a record in bytes. Append refuses longer ones. In a file a
// longer one counts as damage: it is reported, stays where it is and is never loaded, and the
// other records are read.
const MaxRecord = 256 << 20

// ErrTooLong means that a record has more than [MaxRecord] bytes.
var ErrTooLong = errors.New("the entry is larger than 256 MB")

// longRecord is what Records returns for a record of more than [MaxRecord] bytes. No JSON text
// starts like this.
const longRecord = "\x00record too long"

// TooLong reports whether a record from Records stands for one of more than [MaxRecord] bytes.
// Code that copies records must fail with [ErrTooLong], because the copy would lack it.
func TooLong(record []byte) bool { return string(record) == longRecord }

// LongRecord returns what Records returns for such a record, for stores in other packages.
func LongRecord() []byte { return []byte(longRecord) }

// checkRecord refuses invalid records.
func checkRecord(r []byte) error {
	switch {
	case len(r) == 0:
		return errors.New("write session: an empty record")
	case len(r) > MaxRecord:
		return ErrTooLong
	case bytes.IndexByte(r, '\n') >= 0:
		return errors.New("write session: a record with a line end")
	}
	return nil
}

// Memory is a store in memory, for sessions that are not kept. Its zero value is an empty
// session. It may be read while a log writes to it.
type Memory struct {
	mu      sync.Mutex
	records [][]byte
}

var _ Store = (*Memory)(nil)

// Records implements [Store].
func (m *Memory) Records(yield func(Ref, []byte) error) error {
	m.mu.Lock()
	records := slices.Clip(m.records)
	m.mu.Unlock()
	for i, r := range records {
		if err := yield(Ref{int64(i), int32(len(r))}, r); err != nil {
			return err
		}
	}
	return nil
}

// Read implements [Store].
func (m *Memory) Read(ref Ref) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if ref.Pos < 0 || ref.Pos >= int64(len(m.records)) {
		return nil, errors.New("no such record")
	}
	return bytes.Clone(m.records[ref.Pos]), nil
}

// Append implements [Store].
func (m *Memory) Append(records ...[]byte) ([]Ref, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	refs := make([]Ref, 0, len(records))
	for _, r := range records {
		if err := checkRecord(r); err != nil {
			return nil, err
		}
		refs = append(refs, Ref{int64(len(m.records) + len(refs)), int32(len(r))})
	}
	for _, r := range records {
		m.records = append(m.records, bytes.Clone(r))
	}
	return refs, nil
}

// Sync implements [Store].
func (m *Memory) Sync() error { return nil }

// Replace implements [Store].
func (m *Memory) Replace(records iter.Seq[[]byte]) error {
	var all [][]byte
	for r := range records {
		if err := checkRecord(r); err != nil {
			return err
		}
		all = append(all, bytes.Clone(r))
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.records = all
	return nil
}

// Close implements [Store].
func (m *Memory) Close() error { return nil }

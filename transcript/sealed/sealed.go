// Package sealed encrypts sessions at rest. [New] puts a [transcript.Store] around
// another one: what is appended is encrypted before it reaches the store below, and
// nothing of it is ever there in the clear.
//
// # What is promised
//
// Records are encrypted with XChaCha20-Poly1305 and random nonces, each session
// under a key of its own. A record is bound to its session, its number and the
// record before it. Whoever can change the stored bytes but has no key cannot
// change a record, add one, move it, double it, drop it from the middle, or take
// one from another session or from an older state of this one, without that a
// record becomes unreadable. What is unreadable is passed on as a torn record, as
// every store does, and the others are read; what the stored bytes said is not
// passed on.
//
// Not hidden are how many records there are, how long each is, and when it was
// written. Not noticed are the two changes that need no key: records cut off the
// end, and the whole session set back to an older state.
//
// # The stored form
//
// It still is one JSON object a line, so that any store can keep it, and [Sealed]
// recognizes it. The first two records are the header, twice, because without it
// all would be lost:
//
//	{"type":"sealed","v":1,"id":"…","salt":"…","time":3,"memory":65536,"lanes":4,"check":"…"}
//	{"type":"sealed","d":"…"}
//
// A record grows by a third and 110 bytes. A key is 32 bytes or a passphrase, from
// which Argon2id makes them; a header that asks for more than a bounded cost is
// refused before any of it is paid.
package sealed

import (
	"bufio"
	"bytes"
	"crypto/hmac"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"strings"

	"github.com/burin-dev/burin/transcript"
)

var (
	// ErrKey means that the key is not that of the session.
	ErrKey = errors.New("the key does not open this session")
	// ErrNotSealed means that the session is not encrypted.
	ErrNotSealed = errors.New("the session is not encrypted")
)

// store is a sealed session.
type store struct {
	below  transcript.Store
	master *master
	sealer *sealer
	// heads are the records of the header, if they are not stored yet: they go with
	// the first Append.
	heads  [][]byte
	next   place // where the next record goes, if known
	known  bool
	broken error // set when it is not known which session the store below has
}

// publisher is a store that keeps a session aside until it is wanted.
type publisher interface{ Publish() error }

// published is a sealed session in such a store.
type published struct {
	*store
	publisher
}

// Keep has the draft below stay when it is closed.
func (p published) Keep() {
	if k, ok := p.publisher.(interface{ Keep() }); ok {
		k.Keep()
	}
}

var _ transcript.Store = (*store)(nil)

// New returns the session in s, which is sealed, or makes an empty one sealed. Where
// s has a method Publish, so has the result. With a wrong key the error is [ErrKey],
// with a session in the clear [ErrNotSealed]; nothing has been written then, and s
// is still the caller's to close. Otherwise it is closed by Close of the result.
func New(s transcript.Store, key Key) (transcript.Store, error) {
	if key.empty() {
		return nil, errors.New("open sealed session: no key")
	}
	x := &store{below: s}
	if err := x.unlock(key); err != nil {
		return nil, fmt.Errorf("open sealed session: %w", err)
	}
	if p, ok := s.(publisher); ok {
		return published{x, p}, nil
	}
	return x, nil
}

// unlock finds the header and tries the key.
func (s *store) unlock(key Key) error {
	heads, err := headers(s.below)
	if err != nil {
		return err
	}
	if len(heads) == 0 {
		s.start(key.newMaster())
		return nil
	}
	if len(heads) == 2 && bytes.Equal(heads[0].record(), heads[1].record()) {
		heads = heads[:1] // the copy would cost the same and say the same
	}
	for _, h := range heads {
		m, merr := key.masterOf(h)
		if merr != nil {
			err = merr
			continue
		}
		if hmac.Equal(m.check(h), h.Check) {
			s.master, s.sealer = m, m.sealer(h)
			return nil
		}
		err = ErrKey
	}
	return err
}

// start makes a new header.
func (s *store) start(m *master) {
	h := m.newHeader()
	s.master, s.sealer = m, m.sealer(h)
	s.heads = [][]byte{h.record(), h.record()}
	s.next, s.known = place{}, true
}

// errEnough ends a walk.
var errEnough = errors.New("enough")

// headers returns the header and its copy from the first records, as far as they can be
// read. An empty session, or one with only the remains of a crash within the first
// Append, has none; in any other session a missing header is an error.
func headers(s transcript.Store) (found []*header, err error) {
	whole, plain := 0, false
	var refused error
	err = s.Records(func(_ transcript.Ref, r []byte) error {
		h, err := parseHeader(r)
		switch {
		case err == nil:
			if found = append(found, h); len(found) == 2 {
				return errEnough
			}
		case !errors.Is(err, errNoHeader):
			refused = err
		case !isSealed(r) && json.Valid(r):
			plain = true
		}
		if !bytes.HasSuffix(r, []byte("}")) {
			return nil // torn
		}
		if whole++; whole == 4 {
			return errEnough
		}
		return nil
	})
	switch {
	case err != nil && !errors.Is(err, errEnough):
		return nil, err
	case len(found) > 0:
		return found, nil
	case refused != nil:
		return nil, refused
	case plain:
		return nil, ErrNotSealed
	case whole > 0:
		return nil, errNoHeader
	}
	return nil, nil
}

// WantsPassphrase reports whether the key of the encrypted session in s is a
// passphrase; otherwise it is one of [KeySize] bytes.
func WantsPassphrase(s transcript.Store) (bool, error) {
	heads, err := headers(s)
	if err != nil {
		return false, fmt.Errorf("open sealed session: %w", err)
	}
	return len(heads) > 0 && heads[0].Salt != nil, nil
}

func isSealed(record []byte) bool { return bytes.HasPrefix(record, []byte(unreadable)) }

// Records implements [transcript.Store].
func (s *store) Records(yield func(transcript.Ref, []byte) error) error {
	if s.heads != nil {
		return s.below.Records(func(ref transcript.Ref, _ []byte) error {
			return yield(damaged(ref), []byte(unreadable)) // the header that a crash has torn
		})
	}
	var at place
	gap := false
	head := s.sealer.header.record()
	heads := 0
	err := s.below.Records(func(ref transcript.Ref, r []byte) error {
		if heads < 2 && at.number == 0 && bytes.Equal(r, head) {
			heads++
			return nil
		}
		text, made, next, ok := s.sealer.open(r)
		if !ok || !follows(made, at, gap) {
			gap = true
			return yield(damaged(ref), []byte(unreadable))
		}
		at, gap = next, false
		return yield(transcript.Ref{Pos: ref.Pos, Len: int32(len(text))}, text)
	})
	if err == nil {
		s.next, s.known = at, true
	}
	return err
}

// damaged is the Ref of an unreadable record.
func damaged(ref transcript.Ref) transcript.Ref {
	return transcript.Ref{Pos: -1 - ref.Pos, Len: int32(len(unreadable))}
}

// Read implements [transcript.Store].
func (s *store) Read(ref transcript.Ref) ([]byte, error) {
	if ref.Pos < 0 && int(ref.Len) == len(unreadable) {
		return []byte(unreadable), nil
	}
	if ref.Len < 0 || int64(ref.Len) > int64(maxPlain) {
		return nil, errors.New("read sealed session: no such record")
	}
	record, err := s.below.Read(transcript.Ref{Pos: ref.Pos, Len: int32(sealedLen(int(ref.Len)))})
	if err != nil {
		return nil, err
	}
	text, _, _, ok := s.sealer.open(record)
	if !ok || len(text) != int(ref.Len) {
		return nil, errors.New("read sealed session: the record has been changed")
	}
	return text[:len(text):len(text)], nil
}

// Append implements [transcript.Store].
func (s *store) Append(records ...[]byte) ([]transcript.Ref, error) {
	for _, r := range records {
		if err := check(r); err != nil {
			return nil, fmt.Errorf("write sealed session: %w", err)
		}
	}
	if len(records) == 0 {
		return []transcript.Ref{}, nil
	}
	if err := s.find(); err != nil {
		return nil, fmt.Errorf("write sealed session: %w", err)
	}
	at := s.next
	all := make([][]byte, 0, len(s.heads)+len(records))
	all = append(all, s.heads...)
	for _, r := range records {
		var sealed []byte
		sealed, at = s.sealer.seal(r, at)
		all = append(all, sealed)
	}
	refs, err := s.below.Append(all...)
	if err != nil {
		s.known = false // a store that cannot take back what it wrote may have some of it
		return nil, err
	}
	refs = refs[len(s.heads):]
	for i, r := range records {
		refs[i].Len = int32(len(r))
	}
	s.next, s.heads = at, nil
	return refs, nil
}

// find finds the place of the next record, where nobody has walked over the session
// since it was opened or an Append failed.
func (s *store) find() error {
	if s.broken != nil || s.known {
		return s.broken
	}
	if s.heads != nil {
		there, err := s.has(s.heads[0])
		if err != nil {
			return err
		}
		if !there {
			s.next, s.known = place{}, true
			return nil
		}
		s.heads = nil
	}
	return s.Records(func(transcript.Ref, []byte) error { return nil })
}

// has reports whether head is the header that is stored.
func (s *store) has(head []byte) (bool, error) {
	found, err := headers(s.below)
	return len(found) > 0 && bytes.Equal(found[0].record(), head), err
}

func check(r []byte) error {
	if len(r) > maxPlain {
		return transcript.ErrTooLong
	}
	return transcript.CheckRecord(r)
}

// Torn reports whether the last record was not written whole, where the store below can
// tell.
func (s *store) Torn() bool {
	t, ok := s.below.(interface{ Torn() bool })
	return ok && t.Torn()
}

// Sync implements [transcript.Store].
func (s *store) Sync() error { return s.below.Sync() }

// Replace implements [transcript.Store]. The new records are a new session, under
// another key: none of the old ones can be put among them.
func (s *store) Replace(records iter.Seq[[]byte]) error {
	if s.broken != nil {
		return fmt.Errorf("replace sealed session: %w", s.broken)
	}
	fresh := &store{}
	fresh.start(s.master)
	var refused error
	err := s.below.Replace(func(yield func([]byte) bool) {
		for _, h := range fresh.heads {
			if !yield(h) {
				return
			}
		}
		for r := range records {
			if refused = check(r); refused != nil {
				// An early end would make a shorter session. No store takes a line end,
				// so this makes it give up.
				yield([]byte("\n"))
				return
			}
			var sealed []byte
			sealed, fresh.next = fresh.sealer.seal(r, fresh.next)
			if !yield(sealed) {
				return
			}
		}
	})
	if err == nil {
		s.sealer, s.heads, s.next, s.known = fresh.sealer, nil, fresh.next, true
		return nil
	}
	// The new records may be in place all the same, and then only the new key fits.
	there, herr := s.has(fresh.heads[0])
	if herr != nil {
		s.broken = fmt.Errorf("it is not known what an earlier failure has left: open it again (%w)", herr)
	} else if there {
		s.sealer, s.heads, s.known = fresh.sealer, nil, false
	}
	if refused != nil {
		return fmt.Errorf("replace sealed session: %w", refused)
	}
	return err
}

// Close implements [transcript.Store].
func (s *store) Close() error { return s.below.Close() }

// Sealed reports whether the file at path is a sealed session. It reads only the
// beginning; an unreadable file is not one.
func Sealed(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	lines := bufio.NewReader(io.LimitReader(f, 64<<10))
	for range 4 { // the first may be torn
		line, err := lines.ReadString('\n')
		if strings.HasPrefix(line, unreadable) {
			return true
		}
		if err != nil {
			return false
		}
	}
	return false
}

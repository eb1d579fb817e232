// Package vault encrypts what a server keeps of a person: names, messages, attachments, files.
// Each person has keys of their own, a [Ring], and the [Vault] keeps the rings of all people.
//
// # Keys
//
// A person has a random key for each generation. [Vault.Rotate] makes a new generation; the rooms
// that keep records seal them again in the background ([Vault.Tend]), and when none has a
// record of the old generation any more, the old key is deleted. How keys are wrapped depends on
// the person's [Mode]:
//
//   - Server: each key is wrapped with the server's key, which comes from a [Source]. The server
//     can open the records at any time.
//   - Own: each key is wrapped with a lock key, and that with the person's pass phrase
//     (Argon2id) and with a recovery key. The server can open the records only after
//     [Vault.Unlock], until [Vault.Lock], 12 hours without use, or its end. [Vault.Wait] waits for
//     the person; [Vault.Hold] keeps the ring for a turn that runs.
//
// Several servers on one database share the server's key. A value in the database shows whether
// a server has it; one with another key stops before it writes a record. An unlocked person is
// unlocked on one server only.
//
// What was sealed under an old wrap can be opened by whoever has a copy of the database from that
// time and that wrap's key. So [Vault.SetMode] makes a new generation, and [Vault.ChangePassphrase]
// alone doesn't protect from who knew the old pass phrase.
//
// # The format
//
// A sealed record is a byte 1, the generation of its key as four bytes, a random nonce of
// twelve, and what AES-256-GCM makes of the record, which is compressed first where that makes
// it smaller. The additional data is the place of the record, such as "chat/17/title": a record
// that somebody with the database has put into another place doesn't open there. Older states
// of the same record do: only a backup of the whole database would tell.
//
// # Transcripts
//
// Transcripts are sealed by package transcript/sealed with a key that is derived from the ring
// ([Ring.OpenSession]). Equal are the strength, the fresh random nonce of each record, and that no
// record opens elsewhere. Different are
//
//   - the cipher: XChaCha20-Poly1305, under a key of its own for each session;
//   - the place: a record is bound to its session, its number and the record before it, so that
//     records can't be taken out of the middle or put back to older ones either;
//   - no compression. A [transcript.Ref] has the length of the record in the clear, from which
//     the store finds that of the sealed one. Compressed records would need a second length in
//     every Ref of every store. Measured one record at a time, compression would save 31 % of
//     messages of 300 bytes, 44 % of 1 KB, and 61 % of outputs of 8 KB: not enough for that.
package vault

import (
	"bytes"
	"compress/flate"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"
)

// KeySize is the length of a key in bytes.
const KeySize = 32

var (
	// ErrKey means that a record was not sealed with any key of the ring, or is in another
	// place, or damaged.
	ErrKey = errors.New("the key doesn't open it")
	// ErrRetired means that the key of a record is not in the ring any more.
	ErrRetired = errors.New("its key is not there any more")
	// ErrLocked means that the person's keys can't be opened until they unlock them.
	ErrLocked = errors.New("the keys are locked: unlock them with the password, at /account or with POST /v1/me/unlock")
	// ErrLarge means that a record would not fit.
	ErrLarge = errors.New("it is too large")
)

const (
	format     = 1
	headSize   = 1 + 4 + nonceSize
	nonceSize  = 12
	maxRecord  = 256 << 20 // bytes of a record, before it is compressed
	leastPress = 64        // bytes from which a record is compressed
)

// The first byte within a record.
const (
	plain   = 0
	pressed = 1 // DEFLATE
)

// Ring is the keys of a person: the newest seals, all open. Any goroutine may use it. It prints
// as "key".
//
// A ring of a [Vault] gets the keys that are made later, so that whoever keeps it for long seals
// with the newest too. Its keys are taken away when the person is locked.
type Ring struct {
	mu     sync.RWMutex
	newest uint32
	keys   map[uint32]*key // nil is locked

	// renew reads the keys again, for a generation that isn't known; nil: it can't.
	renew func()
}

// take takes the keys of another ring.
func (r *Ring) take(other *Ring) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.keys, r.newest = other.keys, other.newest
}

// using calls do with the key of a generation, which it looks for if it isn't known yet.
func (r *Ring) using(generation uint32, do func(k *key) error) error {
	err := r.tryUsing(generation, do)
	if errors.Is(err, ErrRetired) && r.renew != nil && generation > r.Newest() {
		r.renew()
		err = r.tryUsing(generation, do)
	}
	return err
}

func (r *Ring) tryUsing(generation uint32, do func(k *key) error) error {
	r.mu.RLock()
	defer r.mu.RUnlock()
	k, err := r.key(generation)
	if err != nil {
		return err
	}
	return do(k)
}

// Format implements [fmt.Formatter].
func (r *Ring) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "key") }

// wipe takes the keys away. What still uses the ring gets [ErrLocked].
func (r *Ring) wipe() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, k := range r.keys {
		clear(k.raw)
	}
	r.keys = nil // the ciphers have copies, which nobody can overwrite
}

// key is that of a generation.
func (r *Ring) key(generation uint32) (*key, error) {
	if r.keys == nil {
		return nil, ErrLocked
	}
	k := r.keys[generation]
	if k == nil {
		return nil, ErrRetired
	}
	return k, nil
}

type key struct {
	raw  []byte
	aead cipher.AEAD
}

// NewRing makes a ring of keys by their generations, at least one.
func NewRing(keys map[uint32][]byte) (*Ring, error) {
	r := &Ring{keys: map[uint32]*key{}}
	for generation, raw := range keys {
		if len(raw) != KeySize {
			return nil, fmt.Errorf("a key has %d bytes, not %d", KeySize, len(raw))
		}
		block, err := aes.NewCipher(derive(raw, "records"))
		if err != nil {
			return nil, err
		}
		aead, err := cipher.NewGCM(block)
		if err != nil {
			return nil, err
		}
		r.keys[generation] = &key{bytes.Clone(raw), aead}
		r.newest = max(r.newest, generation)
	}
	if len(r.keys) == 0 {
		return nil, errors.New("a ring needs a key")
	}
	return r, nil
}

// derive gives a key for one purpose.
func derive(raw []byte, purpose string) []byte {
	derived, err := hkdf.Key(sha256.New, raw, nil, "burin vault "+purpose, KeySize)
	if err != nil { // only a length that is too large
		panic(err)
	}
	return derived
}

// Newest is the generation that seals.
func (r *Ring) Newest() uint32 {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.newest
}

// Derive gives a key of a generation for another purpose than records, such as transcripts.
func (r *Ring) Derive(generation uint32, purpose string) (derived []byte, err error) {
	err = r.using(generation, func(k *key) error {
		derived = derive(k.raw, "derived "+purpose)
		return nil
	})
	return derived, err
}

var writers = sync.Pool{New: func() any {
	w, _ := flate.NewWriter(io.Discard, flate.BestSpeed) // the level is a valid one
	return w
}}

// Seal encrypts a record for its place.
func (r *Ring) Seal(place string, record []byte) ([]byte, error) {
	if len(record) > maxRecord {
		return nil, fmt.Errorf("%w: %d bytes, and a record has at most %d", ErrLarge, len(record), maxRecord)
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	k, err := r.key(r.newest)
	if err != nil {
		return nil, err
	}
	sealed := make([]byte, headSize, headSize+1+len(record)+k.aead.Overhead())
	sealed[0] = format
	binary.BigEndian.PutUint32(sealed[1:], r.newest)
	_, _ = rand.Read(sealed[5:headSize]) // never fails
	body := append(make([]byte, 0, 1+len(record)), plain)
	if len(record) >= leastPress {
		if small := press(record); len(small) < len(record) {
			body = append(body[:0], pressed)
			record = small
		}
	}
	body = append(body, record...)
	return k.aead.Seal(sealed, sealed[5:headSize], body, []byte(place)), nil
}

// press compresses a record. Of a long one it tries a part first: pictures and archives don't
// become smaller.
func press(record []byte) []byte {
	const sample = 16 << 10
	if len(record) > 4*sample {
		middle := record[len(record)/2:][:sample]
		if len(press(middle)) > sample*15/16 {
			return record
		}
	}
	var b bytes.Buffer
	w := writers.Get().(*flate.Writer)
	defer writers.Put(w)
	w.Reset(&b)
	_, err := w.Write(record)
	if err = errors.Join(err, w.Close()); err != nil { // a buffer takes all
		return record
	}
	return b.Bytes()
}

// Open decrypts what Seal made for a place.
func (r *Ring) Open(place string, sealed []byte) ([]byte, error) {
	generation, err := Generation(sealed)
	if err != nil {
		return nil, err
	}
	var body []byte
	err = r.using(generation, func(k *key) error {
		if body, err = k.aead.Open(nil, sealed[5:headSize], sealed[headSize:], []byte(place)); err != nil || len(body) == 0 {
			return ErrKey
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	switch body[0] {
	case plain:
		return body[1:], nil
	case pressed:
		unpacked, err := unpress(body[1:])
		if err != nil || len(unpacked) > maxRecord {
			return nil, ErrKey
		}
		return unpacked, nil
	}
	return nil, ErrKey
}

var readers = sync.Pool{New: func() any { return flate.NewReader(nil) }}

func unpress(small []byte) ([]byte, error) {
	r := readers.Get().(io.Reader)
	defer readers.Put(r)
	if err := r.(flate.Resetter).Reset(bytes.NewReader(small), nil); err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(r, maxRecord+1))
}

// Generation is that of the key that a record was sealed with.
func Generation(sealed []byte) (uint32, error) {
	if len(sealed) < headSize || sealed[0] != format {
		return 0, ErrKey
	}
	return binary.BigEndian.Uint32(sealed[1:]), nil
}

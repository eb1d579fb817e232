package sealed

import (
	"bytes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"

	"golang.org/x/crypto/chacha20poly1305"

	"github.com/burin-dev/burin/transcript"
)

// A sealed record is {"type":"sealed","d":"…"}. In the string, in base64, are its
// number, the tag of the record before it, a nonce, and the ciphertext with its
// own tag. Number and tag are authenticated with it.
const (
	recordHead = `{"type":"sealed","d":"`
	recordTail = `"}`

	numberSize = 8
	tagSize    = chacha20poly1305.Overhead
	placeSize  = numberSize + tagSize
	plainHead  = placeSize + chacha20poly1305.NonceSizeX
	overhead   = plainHead + tagSize
)

// maxPlain is the most bytes that fit into a record of the store below.
const maxPlain = (transcript.MaxRecord-len(recordHead)-len(recordTail))/4*3 - overhead

// unreadable stands for a record that cannot be opened. It is a torn record, so
// that nobody takes it for an entry; the bytes that are stored may be an
// attacker's, so they are not handed on.
const unreadable = `{"type":"sealed"`

// sealedLen is the length of a record that holds n bytes.
func sealedLen(n int) int {
	return len(recordHead) + base.EncodedLen(overhead+n) + len(recordTail)
}

// place is where a record belongs: how many there were before it in the session,
// and the tag of the last of them.
type place struct {
	number uint64
	tag    [tagSize]byte // of zeros for the first
}

// sealer seals and opens the records of one session.
type sealer struct {
	aead   cipher.AEAD
	header *header
}

// seal makes a record of text and gives the place behind it.
func (s *sealer) seal(text []byte, at place) ([]byte, place) {
	raw := make([]byte, plainHead, overhead+len(text))
	binary.BigEndian.PutUint64(raw, at.number)
	copy(raw[numberSize:], at.tag[:])
	nonce := raw[placeSize:plainHead]
	_, _ = rand.Read(nonce) // never fails
	raw = s.aead.Seal(raw, nonce, text, s.bound(raw))
	out := make([]byte, 0, sealedLen(len(text)))
	out = append(out, recordHead...)
	out = base.AppendEncode(out, raw)
	out = append(out, recordTail...)
	return out, behind(raw)
}

// bound is what a record is tied to: the session and the place. The key is the
// session's own already; the id is there for those who read this.
func (s *sealer) bound(raw []byte) []byte {
	return append(append([]byte("burin record\x00"), s.header.ID...), raw[:placeSize]...)
}

// behind is the place behind the record raw.
func behind(raw []byte) place {
	return place{binary.BigEndian.Uint64(raw) + 1, [tagSize]byte(raw[len(raw)-tagSize:])}
}

// open returns what a record holds, the place that it was made for, and the place
// behind it. ok is false for anything that this session's key did not seal.
func (s *sealer) open(record []byte) (text []byte, at, next place, ok bool) {
	inner, isRecord := bytes.CutPrefix(record, []byte(recordHead))
	inner, hasTail := bytes.CutSuffix(inner, []byte(recordTail))
	if !isRecord || !hasTail {
		return nil, at, next, false
	}
	raw := make([]byte, base.DecodedLen(len(inner)))
	n, err := base.Decode(raw, inner)
	if err != nil || n < overhead || sealedLen(n-overhead) != len(record) { // line ends are skipped by Decode
		return nil, at, next, false
	}
	raw = raw[:n]
	next = behind(raw)
	at = place{binary.BigEndian.Uint64(raw), [tagSize]byte(raw[numberSize:placeSize])}
	text, err = s.aead.Open(raw[plainHead:plainHead], raw[placeSize:plainHead], raw[plainHead:], s.bound(raw))
	if err != nil {
		return nil, at, next, false
	}
	return text, at, next, true
}

// follows reports whether a record that was made for the place at may come here.
// behind is the place behind the last record that could be opened; gap is that
// something that could not be opened lies between.
func follows(at, behind place, gap bool) bool {
	if at.number == behind.number {
		return at.tag == behind.tag
	}
	return gap && at.number > behind.number
}

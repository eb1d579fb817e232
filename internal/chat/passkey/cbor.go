package passkey

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// Major types of CBOR (RFC 8949).
const (
	majorUint  = 0
	majorInt   = 1 // below zero
	majorBytes = 2
	majorText  = 3
	majorList  = 4
	majorMap   = 5
	majorTag   = 6
	majorOther = 7
)

const (
	maxDepth = 4  // of what is in one another, as in CTAP2
	maxItems = 64 // of a list or map
)

var (
	errShort = errors.New("it ends too early")
	errLeft  = errors.New("something is left over")
	errForm  = errors.New("it isn't in the canonical form")
)

// cbor reads the part of CBOR that authenticators write: the canonical form of CTAP2, in which
// lengths are known and numbers as short as can be.
type cbor struct{ rest []byte }

// head reads the beginning of an item: its type, and its number or length.
func (r *cbor) head() (major byte, n uint64, err error) {
	if len(r.rest) == 0 {
		return 0, 0, errShort
	}
	first := r.rest[0]
	major, n = first>>5, uint64(first&0x1f)
	r.rest = r.rest[1:]
	if n < 24 {
		return major, n, nil
	}
	if n > 27 { // 31 is a length that isn't known
		return 0, 0, errForm
	}
	size := 1 << (n - 24)
	if len(r.rest) < size {
		return 0, 0, errShort
	}
	var full [8]byte
	copy(full[8-size:], r.rest)
	r.rest = r.rest[size:]
	least := map[int]uint64{1: 24, 2: math.MaxUint8 + 1, 4: math.MaxUint16 + 1, 8: math.MaxUint32 + 1}[size]
	if n = binary.BigEndian.Uint64(full[:]); n < least && major != majorOther { // a float has the size that it says
		return 0, 0, errForm
	}
	return major, n, nil
}

// want reads the head of an item of a type.
func (r *cbor) want(major byte) (uint64, error) {
	is, n, err := r.head()
	if err == nil && is != major {
		err = fmt.Errorf("it has the type %d, not %d", is, major)
	}
	return n, err
}

// take reads bytes.
func (r *cbor) take(n uint64) ([]byte, error) {
	if n > uint64(len(r.rest)) {
		return nil, errShort
	}
	is := r.rest[:n]
	r.rest = r.rest[n:]
	return is, nil
}

// bytes reads a byte or text string.
func (r *cbor) bytes(major byte) ([]byte, error) {
	n, err := r.want(major)
	if err != nil {
		return nil, err
	}
	return r.take(n)
}

// int reads a whole number.
func (r *cbor) int() (int64, error) {
	major, n, err := r.head()
	switch {
	case err != nil:
		return 0, err
	case major > majorInt:
		return 0, fmt.Errorf("it has the type %d, and is no number", major)
	case n > math.MaxInt32:
		return 0, errors.New("the number is too large")
	case major == majorInt:
		return -1 - int64(n), nil
	}
	return int64(n), nil
}

// skip reads an item, and those in it.
func (r *cbor) skip(depth int) error {
	major, n, err := r.head()
	if err != nil {
		return err
	}
	switch major {
	case majorUint, majorInt, majorOther:
		return nil
	case majorBytes, majorText:
		_, err := r.take(n)
		return err
	case majorTag:
		return errForm
	}
	if depth == maxDepth || n > maxItems {
		return errors.New("it has too many parts")
	}
	if major == majorMap {
		n *= 2
	}
	for range n {
		if err := r.skip(depth + 1); err != nil {
			return err
		}
	}
	return nil
}

// fields reads a map, whose values are read by do. No key is there twice.
func fields[K comparable](r *cbor, key func() (K, error), do func(key K) error) error {
	n, err := r.want(majorMap)
	if err != nil {
		return err
	}
	if n > maxItems {
		return errors.New("it has too many parts")
	}
	seen := map[K]bool{}
	for range n {
		k, err := key()
		if err != nil {
			return err
		}
		if seen[k] {
			return fmt.Errorf("%v is there twice", k)
		}
		seen[k] = true
		if err := do(k); err != nil {
			return fmt.Errorf("%v: %w", k, err)
		}
	}
	return nil
}

// readAttestation gives the authenticator's data of an attestation object.
func readAttestation(raw []byte) (data []byte, err error) {
	r := cbor{raw}
	text := func() (string, error) {
		b, err := r.bytes(majorText)
		return string(b), err
	}
	err = fields(&r, text, func(key string) (err error) {
		switch key {
		case "authData":
			data, err = r.bytes(majorBytes)
		case "fmt":
			_, err = r.bytes(majorText)
		default:
			err = r.skip(1)
		}
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case len(r.rest) > 0:
		return nil, errLeft
	case data == nil:
		return nil, errors.New("the authenticator's data is missing")
	}
	return data, nil
}

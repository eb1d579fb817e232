package gremlin

import (
	"bytes"
	"compress/gzip"
	"crypto/aes"
	"crypto/cipher"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/subtle"
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode"
)

const (
	keySize   = 32
	nonceSize = 12
	letters   = "abcdefghijklmnopqrstuvwxyz234567"

	tenantSalt   = "gremlinofa-userid-v1"
	tenantRounds = 600_000
	passwordSalt = "|gremlinofa"

	maxPlain = 256 << 20 // bytes of a record that was decompressed
)

// Key encrypts the records of a tenant.
type Key struct {
	raw    [keySize]byte
	aead   cipher.AEAD
	tenant func() string
}

// ParseKey reads a key as the application shows it: 52 letters and digits of base32, in which
// upper case and white space don't matter, or base64 of older installations.
func ParseKey(text string) (*Key, error) {
	text = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, text)
	if text == "" {
		return nil, errors.New("the key is empty")
	}
	raw, ok := decode32(strings.ToLower(text))
	if !ok {
		// Browsers take base64 with and without padding.
		var err error
		if raw, err = base64.RawStdEncoding.DecodeString(strings.TrimRight(text, "=")); err != nil {
			return nil, errors.New("the key is neither base32, 52 letters and digits, nor base64")
		}
	}
	if len(raw) != keySize {
		return nil, fmt.Errorf("the key has %d bytes; a key of GremlinOFA has %d", len(raw), keySize)
	}
	return newKey([keySize]byte(raw))
}

func newKey(raw [keySize]byte) (*Key, error) {
	block, err := aes.NewCipher(raw[:])
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCM(block)
	return &Key{raw, aead, sync.OnceValue(func() string { return tenantOf(raw) })}, err
}

// decode32 decodes base32, whatever the bits are that are left over: the application takes any.
func decode32(text string) (raw []byte, ok bool) {
	bits, held := 0, uint32(0)
	for _, c := range []byte(text) {
		n := strings.IndexByte(letters, c)
		if n < 0 {
			return nil, false
		}
		held, bits = held<<5|uint32(n), bits+5
		if bits >= 8 {
			bits -= 8
			raw = append(raw, byte(held>>bits))
		}
	}
	return raw, true
}

// Text is the key as the application shows it.
func (k *Key) Text() string {
	return strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(k.raw[:]))
}

// Is reports whether two keys are the same, whatever their texts were.
func (k *Key) Is(other *Key) bool { return subtle.ConstantTimeCompare(k.raw[:], other.raw[:]) == 1 }

// Tenant is the id under which a server has the rows of the key. It is a secret. The first call takes a
// moment.
func (k *Key) Tenant() string { return k.tenant() }

func tenantOf(raw [keySize]byte) string {
	id, err := pbkdf2.Key(sha256.New, string(raw[:]), []byte(tenantSalt), tenantRounds, keySize)
	if err != nil { // only lengths that are too large
		panic(err)
	}
	return hex.EncodeToString(id)
}

// PasswordHash is what the application sends for a password; "" for none.
func PasswordHash(password string) string {
	if password == "" {
		return ""
	}
	sum := sha512.Sum512([]byte(password + passwordSalt))
	return hex.EncodeToString(sum[:])
}

// seal encrypts a record.
func (k *Key) seal(plain []byte) string {
	out := make([]byte, nonceSize, nonceSize+len(plain)+k.aead.Overhead())
	_, _ = rand.Read(out) // never fails
	return base64.StdEncoding.EncodeToString(k.aead.Seal(out, out, plain, nil))
}

// open decrypts a record. What it gives may be compressed; inflate undoes that.
func (k *Key) open(record string) ([]byte, error) {
	sealed, err := base64.StdEncoding.DecodeString(record)
	if err != nil || len(sealed) < nonceSize {
		return nil, ErrKey
	}
	plain, err := k.aead.Open(nil, sealed[:nonceSize], sealed[nonceSize:], nil)
	if err != nil {
		return nil, ErrKey
	}
	return plain, nil
}

// pressed begins a record that is compressed. JSON never begins so.
var pressed = []byte("GZ")

// inflate gives the JSON of a record that open has decrypted, of any table.
func inflate(plain []byte) ([]byte, error) { return inflateUpTo(plain, maxPlain) }

func inflateUpTo(plain []byte, most int64) ([]byte, error) {
	packed, ok := bytes.CutPrefix(plain, pressed)
	if !ok {
		return plain, nil
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	z.Multistream(false)
	text, err := io.ReadAll(io.LimitReader(z, most+1))
	if err == nil && int64(len(text)) > most {
		err = fmt.Errorf("it has more than %d MB", most>>20)
	}
	return text, err
}

// destroyed reports whether a decrypted record was compressed and then encrypted as text, which an
// import of the original does where the keys differ: the second byte of gzip has become U+FFFD. Nobody
// can read it again.
func destroyed(plain []byte) bool {
	packed, ok := bytes.CutPrefix(plain, pressed)
	return ok && bytes.HasPrefix(bytes.TrimPrefix(packed, []byte{0x1f}), []byte("\ufffd"))
}

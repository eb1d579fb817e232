// Package minisign signs and verifies in the format of the program minisign, so that a
// person can check a release with that program, too:
//
//	minisign -V -P PUBLICKEY -m checksums.txt
//
// The format is at https://jedisct1.github.io/minisign. A signature covers the content's
// BLAKE2b-512, and a second one covers the first and the trusted comment. The older kind,
// which signs the content itself, is neither made nor accepted.
package minisign

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/crypto/blake2b"
)

const (
	keyKind       = "Ed"
	signatureKind = "ED"
	idSize        = 8

	untrusted = "untrusted comment: "
	trusted   = "trusted comment: "
)

// ErrUnknownKey reports a signature by a key that is not among those expected.
var ErrUnknownKey = errors.New("signed by an unknown key")

// PublicKey verifies signatures.
type PublicKey struct {
	id  [idSize]byte
	key ed25519.PublicKey
}

// String is the key as minisign takes it with -P.
func (k PublicKey) String() string {
	return base64.StdEncoding.EncodeToString(slices.Concat([]byte(keyKind), k.id[:], k.key))
}

// ParseKeys reads public keys, one a line. Empty lines, lines that begin with "#", and
// the comments of minisign's own files are passed over.
func ParseKeys(text string) ([]PublicKey, error) {
	var keys []PublicKey
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") || strings.HasPrefix(line, untrusted) {
			continue
		}
		b, err := base64.StdEncoding.DecodeString(line)
		if err != nil || len(b) != len(keyKind)+idSize+ed25519.PublicKeySize || string(b[:len(keyKind)]) != keyKind {
			return nil, fmt.Errorf("%q is not a public key of minisign", line)
		}
		b = b[len(keyKind):]
		keys = append(keys, PublicKey{id: [idSize]byte(b), key: b[idSize:]})
	}
	return keys, nil
}

// PrivateKey makes signatures.
type PrivateKey struct{ key ed25519.PrivateKey }

// ParseSeed reads a private key: the 32 bytes of an ed25519 seed in base64.
func ParseSeed(text string) (PrivateKey, error) {
	seed, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
	if err != nil || len(seed) != ed25519.SeedSize {
		return PrivateKey{}, fmt.Errorf("not a key: want %d bytes in base64", ed25519.SeedSize) // the text is secret
	}
	return PrivateKey{ed25519.NewKeyFromSeed(seed)}, nil
}

// Public is the key that verifies what k signs. Its id follows from it, so that the seed
// is all there is to keep.
func (k PrivateKey) Public() PublicKey {
	public, _ := k.key.Public().(ed25519.PublicKey)
	sum := blake2b.Sum512(public)
	return PublicKey{id: [idSize]byte(sum[:]), key: public}
}

// Sign gives the text of a signature file. The comment is one line, and signed, too.
func (k PrivateKey) Sign(content []byte, comment string) []byte {
	public, sum := k.Public(), blake2b.Sum512(content)
	signature := ed25519.Sign(k.key, sum[:])
	both := ed25519.Sign(k.key, slices.Concat(signature, []byte(comment)))
	encode := base64.StdEncoding.EncodeToString
	return fmt.Appendf(nil, "%ssigned with %s\n%s\n%s%s\n%s\n", untrusted, public,
		encode(slices.Concat([]byte(signatureKind), public.id[:], signature)), trusted, comment, encode(both))
}

// Verify checks that file is a signature of content by one of the keys, and gives its
// trusted comment.
func Verify(keys []PublicKey, content, file []byte) (comment string, err error) {
	lines := strings.Split(strings.ReplaceAll(string(bytes.TrimSpace(file)), "\r\n", "\n"), "\n")
	if len(lines) != 4 || !strings.HasPrefix(lines[0], untrusted) || !strings.HasPrefix(lines[2], trusted) {
		return "", errors.New("not a signature of minisign")
	}
	first, err1 := base64.StdEncoding.Strict().DecodeString(lines[1])
	both, err2 := base64.StdEncoding.Strict().DecodeString(lines[3])
	if errors.Join(err1, err2) != nil || len(first) != len(signatureKind)+idSize+ed25519.SignatureSize || len(both) != ed25519.SignatureSize {
		return "", errors.New("a damaged signature")
	}
	if string(first[:len(signatureKind)]) != signatureKind {
		return "", errors.New("a signature of a kind that is not accepted")
	}
	id, signature := [idSize]byte(first[len(signatureKind):]), first[len(signatureKind)+idSize:]
	at := slices.IndexFunc(keys, func(k PublicKey) bool { return k.id == id })
	if at < 0 {
		return "", ErrUnknownKey
	}
	comment = strings.TrimPrefix(lines[2], trusted)
	sum := blake2b.Sum512(content)
	if !ed25519.Verify(keys[at].key, sum[:], signature) {
		return "", errors.New("the content is not what was signed")
	}
	if !ed25519.Verify(keys[at].key, slices.Concat(signature, []byte(comment)), both) {
		return "", errors.New("the comment is not what was signed")
	}
	return comment, nil
}

// Package passkeytest is an authenticator for tests: what a browser and a security key answer to a
// server together, and the ways in which they could lie.
package passkeytest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"testing"

	"github.com/burin-dev/burin/internal/chat/passkey"
)

// Kind is a kind of key.
type Kind string

// The kinds that servers ask for.
const (
	ES256 Kind = "ES256"
	EdDSA Kind = "EdDSA"
	RS256 Kind = "RS256"
)

// Flags of what an authenticator says.
const (
	Present, Verified, Synced, BackedUp, HasKey, HasMore = 1, 4, 8, 16, 64, 128
)

// Key is a passkey in an authenticator. Tests change what it says.
type Key struct {
	ID      []byte
	User    []byte // the handle
	Party   string // that it says it is for
	Origin  string
	Client  map[string]any // more of the client data
	Flags   byte
	Counter uint32
	More    []byte // of extensions

	t      testing.TB
	signer crypto.Signer
	public []byte
}

// New makes a key for a server.
func New(t testing.TB, kind Kind, party passkey.Party) *Key {
	t.Helper()
	k := &Key{t: t, ID: make([]byte, 32), Party: party.ID, Origin: party.Origin, Flags: Present | Verified}
	_, _ = rand.Read(k.ID) // never fails
	switch kind {
	case ES256:
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		point, err := key.PublicKey.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		k.signer = key
		k.public = Map(Int(1), Int(2), Int(3), Int(-7), Int(-1), Int(1), Int(-2), Bytes(point[1:33]), Int(-3), Bytes(point[33:]))
	case EdDSA:
		public, key, err := ed25519.GenerateKey(rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		k.signer = key
		k.public = Map(Int(1), Int(1), Int(3), Int(-8), Int(-1), Int(6), Int(-2), Bytes(public))
	case RS256:
		key, err := rsa.GenerateKey(rand.Reader, 2048)
		if err != nil {
			t.Fatal(err)
		}
		k.signer = key
		k.public = Map(Int(1), Int(3), Int(3), Int(-257), Int(-1), Bytes(key.N.Bytes()), Int(-2), Bytes([]byte{1, 0, 1}))
	}
	return k
}

// Make answers to the options for a new key.
func (k *Key) Make(o passkey.Creation) (m passkey.Made) {
	k.User = o.User.ID
	k.Flags |= HasKey
	m.ID = k.ID
	m.Response.ClientData = k.client("webauthn.create", o.Challenge)
	m.Response.Attestation = Map(Text("fmt"), Text("none"), Text("attStmt"), Map(), Text("authData"), Bytes(k.data()))
	k.Flags &^= HasKey
	return m
}

// Sign answers to the options for a sign-in.
func (k *Key) Sign(o passkey.Request) (s passkey.Signed) {
	k.t.Helper()
	s.ID, s.Response.User = k.ID, k.User
	s.Response.ClientData = k.client("webauthn.get", o.Challenge)
	s.Response.AuthData = k.data()
	sum := sha256.Sum256(s.Response.ClientData)
	said := append(s.Response.AuthData[:len(s.Response.AuthData):len(s.Response.AuthData)], sum[:]...)
	var with crypto.SignerOpts = crypto.Hash(0)
	if _, ok := k.signer.(ed25519.PrivateKey); !ok {
		hash := sha256.Sum256(said)
		said, with = hash[:], crypto.SHA256
	}
	signature, err := k.signer.Sign(rand.Reader, said, with)
	if err != nil {
		k.t.Fatal(err)
	}
	s.Response.Signature = signature
	return s
}

func (k *Key) client(kind string, challenge []byte) []byte {
	c := map[string]any{"type": kind, "challenge": passkey.Bytes(challenge), "origin": k.Origin, "crossOrigin": false}
	for name, is := range k.Client {
		c[name] = is
	}
	data, err := json.Marshal(c)
	if err != nil {
		k.t.Fatal(err)
	}
	return data
}

func (k *Key) data() []byte {
	name := sha256.Sum256([]byte(k.Party))
	data := binary.BigEndian.AppendUint32(append(name[:], k.Flags), k.Counter)
	if k.Flags&HasKey != 0 {
		data = append(data, make([]byte, 16)...)
		data = append(binary.BigEndian.AppendUint16(data, uint16(len(k.ID))), k.ID...)
		data = append(data, k.public...)
	}
	return append(data, k.More...)
}

// Public is the key as COSE has it.
func (k *Key) Public() []byte { return k.public }

func head(major byte, n uint64) []byte {
	switch {
	case n < 24:
		return []byte{major<<5 | byte(n)}
	case n < 256:
		return []byte{major<<5 | 24, byte(n)}
	}
	return binary.BigEndian.AppendUint16([]byte{major<<5 | 25}, uint16(n))
}

// Int is a number in CBOR.
func Int(n int) []byte {
	if n < 0 {
		return head(1, uint64(-1-n))
	}
	return head(0, uint64(n))
}

// Bytes are bytes in CBOR.
func Bytes(b []byte) []byte { return append(head(2, uint64(len(b))), b...) }

// Text is a text in CBOR.
func Text(s string) []byte { return append(head(3, uint64(len(s))), s...) }

// Map is a map in CBOR, of its keys and values in turn.
func Map(items ...[]byte) []byte {
	all := head(5, uint64(len(items)/2))
	for _, item := range items {
		all = append(all, item...)
	}
	return all
}

// Package passkey checks the answers of passkeys, as WebAuthn level 3 has them: what an
// authenticator says when it makes a key for a person, and when it signs them in with it.
//
// A [Party] is who asks: a server under one name. It gives the options for the browser's
// navigator.credentials, and checks what comes back. Who made the challenge, and that it is used once,
// is the caller's to see to; [ChallengeOf] says which one an answer is for.
//
// # What is promised
//
//   - An answer counts only for the challenge, the origin and the name it was made for, and only if the
//     authenticator has verified its user, by a PIN, a finger or a face: a passkey is both factors.
//   - A key of which a copy signs in, too, is refused, as far as the authenticator counts.
//   - Statements about the make of an authenticator are neither asked for nor looked at.
//   - What comes from the browser is bounded and read strictly: an answer with anything left over,
//     or in a form that no authenticator writes, is refused.
package passkey

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strings"
)

// Limits of what is looked at, in bytes.
const (
	maxClientData = 8 << 10
	maxAuthData   = 8 << 10
	maxID         = 1023 // which is what WebAuthn allows
	maxKey        = 1 << 10
	maxSignature  = 1 << 10
)

// minChallenge is how many bytes a challenge has at least.
const minChallenge = 16

// waitFor is how long a browser waits for its user, in milliseconds.
const waitFor = 300_000

// ErrAddress means that a server is asked for by its address, for which there are no passkeys.
var ErrAddress = errors.New("passkeys are for servers with a name, not for an address such as 192.0.2.1")

// ErrCopied means that the counter of an authenticator went back: there is a copy of its key.
var ErrCopied = errors.New("the counter of the passkey went back, as that of a copy does")

// Bytes are bytes that JSON has as base64url, as WebAuthn writes them.
type Bytes []byte

// MarshalText implements [encoding.TextMarshaler].
func (b Bytes) MarshalText() ([]byte, error) {
	return base64.RawURLEncoding.AppendEncode(nil, b), nil
}

// UnmarshalText implements [encoding.TextUnmarshaler].
func (b *Bytes) UnmarshalText(text []byte) (err error) {
	*b, err = base64.RawURLEncoding.Strict().AppendDecode(nil, text)
	return err
}

// Party is a server under one of its names.
type Party struct {
	ID     string // the name, which the keys are bound to
	Origin string // of its pages
}

// PartyOf gives the party that has an origin, such as https://burin.example.org. The error is
// [ErrAddress] if it has no name.
func PartyOf(origin string) (Party, error) {
	u, err := url.Parse(strings.ToLower(origin))
	if err != nil {
		return Party{}, fmt.Errorf("read the origin: %w", err)
	}
	name := u.Hostname()
	if _, err := netip.ParseAddr(name); err == nil || name == "" {
		return Party{}, ErrAddress
	}
	if port := u.Port(); u.Scheme == "https" && port == "443" || u.Scheme == "http" && port == "80" { // browsers leave it out
		u.Host = name
	} else if port != "" {
		u.Host = net.JoinHostPort(name, port)
	}
	return Party{ID: name, Origin: u.Scheme + "://" + u.Host}, nil
}

// Descriptor names a key.
type Descriptor struct {
	Type string `json:"type"` // public-key
	ID   Bytes  `json:"id"`
}

// User is whose key is made, as their authenticator keeps it.
type User struct {
	ID          Bytes  `json:"id"` // says nothing of the person
	Name        string `json:"name"`
	DisplayName string `json:"displayName"`
}

// Service is for whom a key is made.
type Service struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// Kind is a kind of key.
type Kind struct {
	Type      string `json:"type"` // public-key
	Algorithm int    `json:"alg"`  // of COSE
}

// Selection says which authenticators are wanted.
type Selection struct {
	ResidentKey        string `json:"residentKey"`
	RequireResidentKey bool   `json:"requireResidentKey"` // for browsers that don't know residentKey
	UserVerification   string `json:"userVerification"`
}

// Creation is what a browser makes a key with: PublicKeyCredentialCreationOptionsJSON.
type Creation struct {
	Service     Service      `json:"rp"`
	User        User         `json:"user"`
	Challenge   Bytes        `json:"challenge"`
	Kinds       []Kind       `json:"pubKeyCredParams"`
	Timeout     int          `json:"timeout"` // milliseconds
	Exclude     []Descriptor `json:"excludeCredentials"`
	Selection   Selection    `json:"authenticatorSelection"`
	Attestation string       `json:"attestation"`
}

// Request is what a browser signs in with: PublicKeyCredentialRequestOptionsJSON. It names no
// key: the browser offers those that it has for the server.
type Request struct {
	Challenge        Bytes  `json:"challenge"`
	Timeout          int    `json:"timeout"` // milliseconds
	ID               string `json:"rpId"`
	UserVerification string `json:"userVerification"`
}

// Creation gives the options for a new key of a person who has some already.
func (p Party) Creation(challenge Bytes, user User, had []Bytes) Creation {
	c := Creation{
		Service: Service{p.ID, "burin"}, User: user, Challenge: challenge, Timeout: waitFor, Attestation: "none",
		Kinds:     []Kind{{"public-key", algES256}, {"public-key", algEdDSA}, {"public-key", algRS256}},
		Selection: Selection{"required", true, "required"},
		Exclude:   []Descriptor{},
	}
	for _, id := range had {
		c.Exclude = append(c.Exclude, Descriptor{"public-key", id})
	}
	return c
}

// Request gives the options for a sign-in.
func (p Party) Request(challenge Bytes) Request {
	return Request{challenge, waitFor, p.ID, "required"}
}

// Made is a new key: the part of RegistrationResponseJSON that counts.
type Made struct {
	ID       Bytes `json:"id"`
	Response struct {
		ClientData  Bytes `json:"clientDataJSON"`
		Attestation Bytes `json:"attestationObject"`
	} `json:"response"`
}

// Signed is an answer to a challenge: the part of AuthenticationResponseJSON that counts.
type Signed struct {
	ID       Bytes `json:"id"`
	Response struct {
		ClientData Bytes `json:"clientDataJSON"`
		AuthData   Bytes `json:"authenticatorData"`
		Signature  Bytes `json:"signature"`
		User       Bytes `json:"userHandle,omitempty"` // [User].ID
	} `json:"response"`
}

// Key is what a server keeps of a passkey.
type Key struct {
	ID      []byte
	Public  []byte // as COSE has it
	Counter uint32 // of its uses; 0 is that it doesn't count
	Synced  bool   // it may be on several devices of its person
}

// clientData is what the browser says of a request.
type clientData struct {
	Type        string `json:"type"`
	Challenge   Bytes  `json:"challenge"`
	Origin      string `json:"origin"`
	CrossOrigin bool   `json:"crossOrigin"`
	TopOrigin   string `json:"topOrigin"`
}

func readClientData(raw []byte) (c clientData, err error) {
	if len(raw) > maxClientData {
		return c, errors.New("the client data is too long")
	}
	if err := json.Unmarshal(raw, &c); err != nil {
		return c, fmt.Errorf("read the client data: %w", err)
	}
	return c, nil
}

// ChallengeOf is the challenge that an answer is for.
func ChallengeOf(client Bytes) (Bytes, error) {
	c, err := readClientData(client)
	return c.Challenge, err
}

// checkClient checks what the browser says.
func (p Party) checkClient(raw []byte, kind string, challenge []byte) error {
	c, err := readClientData(raw)
	switch {
	case err != nil:
		return err
	case c.Type != kind:
		return fmt.Errorf("the answer is for %q, not %q", c.Type, kind)
	case len(challenge) < minChallenge || subtle.ConstantTimeCompare(c.Challenge, challenge) != 1:
		return errors.New("the answer is for another challenge")
	case c.Origin != p.Origin:
		return fmt.Errorf("the answer is for a page of %q, not of %q", c.Origin, p.Origin)
	case c.CrossOrigin || c.TopOrigin != "":
		return errors.New("the page is in a frame of another origin")
	}
	return nil
}

// Flags of what an authenticator says.
const (
	flagPresent  = 1 << 0 // its user touched it
	flagVerified = 1 << 2 // and was verified
	flagSynced   = 1 << 3 // the key may be on several devices
	flagBackedUp = 1 << 4 // and is
	flagKey      = 1 << 6 // a key follows
	flagMore     = 1 << 7 // a map of extensions follows
)

// authData is what an authenticator says.
type authData struct {
	flags   byte
	counter uint32
	id      []byte // of the key that follows, and the key; nil is none
	public  []byte
}

// readAuthData reads what an authenticator says to this party.
func (p Party) readAuthData(raw []byte) (a authData, err error) {
	if len(raw) < 37 || len(raw) > maxAuthData {
		return a, errors.New("the authenticator's data has the wrong length")
	}
	if name := sha256.Sum256([]byte(p.ID)); !bytes.Equal(raw[:32], name[:]) {
		return a, errors.New("the key is for another server")
	}
	a.flags, a.counter = raw[32], binary.BigEndian.Uint32(raw[33:])
	r := cbor{raw[37:]}
	switch {
	case a.flags&flagPresent == 0 || a.flags&flagVerified == 0:
		return a, errors.New("the authenticator hasn't verified its user")
	case a.flags&flagBackedUp != 0 && a.flags&flagSynced == 0:
		return a, errors.New("the authenticator contradicts itself about copies of the key")
	}
	if a.flags&flagKey != 0 {
		if len(r.rest) < 18 { // its make, and a length
			return a, errShort
		}
		n := int(binary.BigEndian.Uint16(r.rest[16:]))
		if r.rest = r.rest[18:]; n == 0 || n > maxID || n > len(r.rest) {
			return a, errors.New("the key's id has the wrong length")
		}
		a.id, r.rest = r.rest[:n], r.rest[n:]
		before := r.rest
		if err := r.skip(0); err != nil {
			return a, fmt.Errorf("read the key: %w", err)
		}
		a.public = before[:len(before)-len(r.rest)]
	}
	if a.flags&flagMore != 0 {
		if len(r.rest) == 0 || r.rest[0]>>5 != majorMap {
			return a, errors.New("the extensions are not a map")
		}
		if err := r.skip(0); err != nil {
			return a, fmt.Errorf("read the extensions: %w", err)
		}
	}
	if len(r.rest) > 0 {
		return a, errLeft
	}
	return a, nil
}

// Register checks a new key that was made for a challenge.
func (p Party) Register(challenge []byte, m Made) (Key, error) {
	if err := p.checkClient(m.Response.ClientData, "webauthn.create", challenge); err != nil {
		return Key{}, err
	}
	raw, err := readAttestation(m.Response.Attestation)
	if err != nil {
		return Key{}, fmt.Errorf("read the attestation: %w", err)
	}
	a, err := p.readAuthData(raw)
	switch {
	case err != nil:
		return Key{}, err
	case a.id == nil:
		return Key{}, errors.New("the authenticator gives no key")
	case !bytes.Equal(a.id, m.ID):
		return Key{}, errors.New("the key has another id than its answer")
	}
	if _, err := readKey(a.public); err != nil {
		return Key{}, fmt.Errorf("read the key: %w", err)
	}
	return Key{bytes.Clone(a.id), bytes.Clone(a.public), a.counter, a.flags&flagSynced != 0}, nil
}

// Check checks the answer of a key to a challenge, and gives what the counter is now. The error
// is [ErrCopied] if that went back.
func (p Party) Check(challenge []byte, s Signed, k Key) (counter uint32, err error) {
	if !bytes.Equal(s.ID, k.ID) {
		return 0, errors.New("the answer is of another key")
	}
	if err := p.checkClient(s.Response.ClientData, "webauthn.get", challenge); err != nil {
		return 0, err
	}
	a, err := p.readAuthData(s.Response.AuthData)
	switch {
	case err != nil:
		return 0, err
	case a.id != nil:
		return 0, errors.New("a sign-in gives no key")
	case a.flags&flagSynced != 0 != k.Synced:
		return 0, errors.New("the key was made to be on several devices, or not, and says something else now")
	case len(s.Response.Signature) > maxSignature:
		return 0, errors.New("the signature is too long")
	}
	public, err := readKey(k.Public)
	if err != nil {
		return 0, fmt.Errorf("read the key: %w", err)
	}
	sum := sha256.Sum256(s.Response.ClientData)
	if !public.verify(append(bytes.Clone(s.Response.AuthData), sum[:]...), s.Response.Signature) {
		return 0, errors.New("the signature is wrong")
	}
	if (a.counter != 0 || k.Counter != 0) && a.counter <= k.Counter {
		return 0, ErrCopied
	}
	return a.counter, nil
}

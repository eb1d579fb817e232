// Package pushtest is a push service for tests, and the browsers that subscribe to it: it checks who
// sends, and decrypts what they get.
package pushtest

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// Service is a push service.
type Service struct {
	*httptest.Server
	// Received are the messages that were taken.
	Received chan Received
	// Now is the time; it may be set before the first request.
	Now func() time.Time
	t   testing.TB

	mu       sync.Mutex
	browsers map[string]*Browser // by the path of the endpoint
	refuse   []func(w http.ResponseWriter)
	requests int
}

// Browser is one that has subscribed.
type Browser struct {
	Endpoint, P256dh, Auth string

	private *ecdh.PrivateKey
	auth    []byte
	key     string // the server's that may send
}

// Received is a message that a browser got.
type Received struct {
	Browser           *Browser
	Kind, Chat, Title string
	Text              string // as it was encrypted
	Head              http.Header
	Sub               string // of the sender's token
}

// Serve starts a push service, which ends with the test.
func Serve(t testing.TB) *Service {
	s := &Service{Received: make(chan Received, 100), Now: time.Now, t: t, browsers: map[string]*Browser{}}
	s.Server = httptest.NewTLSServer(http.HandlerFunc(s.take))
	t.Cleanup(s.Server.Close)
	return s
}

// Host is where the service listens.
func (s *Service) Host() string { return strings.TrimPrefix(s.URL, "https://") }

// Certificate is that of the service, as PEM.
func (s *Service) Certificate() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Server.Certificate().Raw})
}

// Subscribe makes a browser that takes messages of the server with a public key.
func (s *Service) Subscribe(key string) *Browser {
	s.t.Helper()
	private, err := ecdh.P256().GenerateKey(rand.Reader)
	if err != nil {
		s.t.Fatal(err)
	}
	b := &Browser{private: private, auth: make([]byte, 16), key: key}
	_, _ = rand.Read(b.auth) // never fails
	b.P256dh, b.Auth = b64.EncodeToString(private.PublicKey().Bytes()), b64.EncodeToString(b.auth)
	s.mu.Lock()
	defer s.mu.Unlock()
	path := fmt.Sprintf("/push/%d", len(s.browsers))
	b.Endpoint = s.URL + path
	s.browsers[path] = b
	return b
}

// Refuse has the service answer the next requests by itself, one function each, and take none of them.
func (s *Service) Refuse(with ...func(w http.ResponseWriter)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse = append(s.refuse, with...)
}

// Requests is how many came.
func (s *Service) Requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests
}

// Next is the next message that was taken.
func (s *Service) Next() Received {
	s.t.Helper()
	select {
	case r := <-s.Received:
		return r
	case <-time.After(time.Minute):
		s.t.Fatal("no message came")
		return Received{}
	}
}

func (s *Service) take(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.requests++
	b := s.browsers[r.URL.Path]
	var refuse func(w http.ResponseWriter)
	if len(s.refuse) > 0 {
		refuse, s.refuse = s.refuse[0], s.refuse[1:]
	}
	s.mu.Unlock()
	body, err := io.ReadAll(r.Body)
	if err != nil || b == nil || r.Method != http.MethodPost {
		http.Error(w, "no such subscription", http.StatusNotFound)
		return
	}
	got := Received{Browser: b, Head: r.Header}
	if got.Sub, err = b.sender(r.Header.Get("Authorization"), s.URL, s.Now()); err == nil {
		got.Text, err = b.decrypt(body)
	}
	if err == nil {
		err = json.Unmarshal([]byte(got.Text), &got)
	}
	for _, name := range []string{"TTL", "Urgency", "Content-Encoding"} {
		if r.Header.Get(name) == "" {
			err = errors.Join(err, fmt.Errorf("the header %s is missing", name))
		}
	}
	if err != nil {
		s.t.Errorf("push service: %v", err)
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if refuse != nil {
		refuse(w)
		return
	}
	s.Received <- got
	w.WriteHeader(http.StatusCreated)
}

var b64 = base64.RawURLEncoding

// sender checks who sends, as RFC 8292 has it.
func (b *Browser) sender(authorization, audience string, now time.Time) (sub string, err error) {
	token, key, ok := strings.Cut(strings.TrimPrefix(authorization, "vapid t="), ", k=")
	parts := strings.Split(token, ".")
	if !ok || len(parts) != 3 || key != b.key {
		return "", fmt.Errorf("%q is not of the server that the browser has subscribed to", authorization)
	}
	var head struct{ Typ, Alg string }
	var claims struct {
		Aud, Sub string
		Exp      int64
	}
	rawHead, err1 := b64.DecodeString(parts[0])
	rawClaims, err2 := b64.DecodeString(parts[1])
	signature, err3 := b64.DecodeString(parts[2])
	rawKey, err4 := b64.DecodeString(key)
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return "", err
	}
	if err := errors.Join(json.Unmarshal(rawHead, &head), json.Unmarshal(rawClaims, &claims)); err != nil {
		return "", err
	}
	public, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), rawKey)
	if err != nil || len(signature) != 64 {
		return "", fmt.Errorf("the key or the signature has another form: %v", err)
	}
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	left := time.Unix(claims.Exp, 0).Sub(now)
	switch {
	case !ecdsa.Verify(public, sum[:], new(big.Int).SetBytes(signature[:32]), new(big.Int).SetBytes(signature[32:])):
		return "", errors.New("the signature of the token is wrong")
	case head.Typ != "JWT" || head.Alg != "ES256" || claims.Aud != audience || left <= 0 || left > 24*time.Hour:
		return "", fmt.Errorf("the token says %s %s", rawHead, rawClaims)
	}
	return claims.Sub, nil
}

// decrypt is the browser's half of RFC 8291.
func (b *Browser) decrypt(body []byte) (string, error) {
	if len(body) < 21 || len(body) < 21+int(body[20]) {
		return "", errors.New("the message is too short")
	}
	salt, size, id, record := body[:16], binary.BigEndian.Uint32(body[16:]), body[21:21+int(body[20])], body[21+int(body[20]):]
	from, err := ecdh.P256().NewPublicKey(id)
	if err != nil || int(size) < len(record) {
		return "", fmt.Errorf("the head is wrong: %v", err)
	}
	shared, err := b.private.ECDH(from)
	if err != nil {
		return "", err
	}
	secret, err1 := hkdf.Key(sha256.New, shared, b.auth, "WebPush: info\x00"+string(b.private.PublicKey().Bytes())+string(id), 32)
	key, err2 := hkdf.Key(sha256.New, secret, salt, "Content-Encoding: aes128gcm\x00", 16)
	nonce, err3 := hkdf.Key(sha256.New, secret, salt, "Content-Encoding: nonce\x00", 12)
	block, err4 := aes.NewCipher(key)
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return "", err
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return "", err
	}
	text, err := aead.Open(nil, nonce, record, nil)
	if err != nil {
		return "", err
	}
	plain := strings.TrimRight(string(text), "\x00")
	if !strings.HasSuffix(plain, "\x02") {
		return "", errors.New("the last record has no end")
	}
	return plain[:len(plain)-1], nil
}

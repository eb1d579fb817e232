package credential

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"golang.org/x/crypto/chacha20poly1305"

	"github.com/burin-dev/burin/internal/model/credential/oauth"
	"github.com/burin-dev/burin/internal/model/credential/secret"
)

// payload is the sealed part of a credential. A login keeps where it is renewed
// with it: a configuration file that changes later cannot send the refresh token
// anywhere else.
type payload struct {
	Key      string            `json:"key,omitempty"`
	Access   string            `json:"access,omitempty"`
	Refresh  string            `json:"refresh,omitempty"`
	Expiry   int64             `json:"expiry,omitempty"` // Unix milliseconds; 0 = not known
	Account  string            `json:"account,omitempty"`
	TokenURL string            `json:"tokenUrl,omitempty"`
	ClientID string            `json:"clientId,omitempty"`
	Params   map[string]string `json:"params,omitempty"`

	ClientSecret string   `json:"clientSecret,omitempty"` // of a client that was registered for the login
	Basic        bool     `json:"basic,omitempty"`        // how it is sent
	RevokeURL    string   `json:"revokeUrl,omitempty"`
	Scopes       []string `json:"scopes,omitempty"` // that were granted
	Wanted       []string `json:"wanted,omitempty"` // that the service wants, and were not
}

func (p *payload) secret() secret.Secret {
	if p.Key != "" {
		return secret.Secret(p.Key)
	}
	return secret.Secret(p.Access)
}

// early is how long before its end an access token is renewed.
const early = time.Minute

// validFor says whether an access token lives for longer than d.
func (p *payload) validFor(d time.Duration, now time.Time) bool {
	return p.Expiry == 0 || now.Add(d).UnixMilli() < p.Expiry
}

// setToken takes over a token that was asked for at that time.
func (p *payload) setToken(t oauth.Token, asked time.Time) {
	p.Access, p.Refresh, p.Expiry = t.Access.Reveal(), t.Refresh.Reveal(), 0
	if t.Lifetime > 0 {
		p.Expiry = asked.Add(t.Lifetime).UnixMilli()
	}
	if t.Account != "" {
		p.Account = t.Account
	}
}

func (p *payload) auth() oauth.ClientAuth {
	return oauth.ClientAuth{Secret: secret.Secret(p.ClientSecret), Basic: p.Basic}
}

func (p *payload) renewal() oauth.Renewal {
	return oauth.Renewal{TokenURL: p.TokenURL, ClientID: p.ClientID, Auth: p.auth(), Params: p.Params, Refresh: secret.Secret(p.Refresh)}
}

// A sealed value is a version byte, the id of its key, the nonce and the
// ciphertext.
const (
	sealVersion = 1
	sealHead    = 1 + 8 + chacha20poly1305.NonceSizeX
)

var errDamaged = errors.New("it is damaged")

// binding is the associated data: what a sealed value belongs to.
func binding(id int64, provider string, kind Kind) []byte {
	return []byte("burin credential\x00" + strconv.FormatInt(id, 10) + "\x00" + provider + "\x00" + string(kind))
}

func (k *sealKey) seal(id int64, provider string, kind Kind, p *payload) ([]byte, error) {
	text, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	out := make([]byte, sealHead, sealHead+len(text)+chacha20poly1305.Overhead)
	out[0] = sealVersion
	copy(out[1:], k.id[:])
	_, _ = rand.Read(out[9:sealHead]) // never fails
	return k.aead.Seal(out, out[9:sealHead], text, binding(id, provider, kind)), nil
}

// open opens the sealed part of a row.
func (s *sealKeys) open(ctx context.Context, r *row) (*payload, error) {
	if len(r.sealed) < sealHead || r.sealed[0] != sealVersion {
		return nil, errDamaged
	}
	key, err := s.withID(ctx, [8]byte(r.sealed[1:9]))
	if err != nil {
		return nil, fmt.Errorf("its sealing key cannot be had: %w", err)
	}
	text, err := key.aead.Open(nil, r.sealed[9:sealHead], r.sealed[sealHead:], binding(r.id, r.provider, r.kind))
	if err != nil {
		return nil, errDamaged
	}
	p := new(payload)
	if json.Unmarshal(text, p) != nil || p.secret() == "" {
		return nil, errDamaged
	}
	return p, nil
}

package push

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/chat/store"
	"github.com/burin-dev/burin/internal/chat/vault"
)

const (
	keyPlace = "push_server/1"
	// tokenFor is how long a push service may take a token again: at most a day, by RFC 8292.
	tokenFor = 12 * time.Hour
)

// Key is the server's public key, which a browser needs to subscribe: applicationServerKey, in base64url.
func (s *Store) Key(ctx context.Context) (string, error) {
	private, err := s.private(ctx)
	if err != nil {
		return "", err
	}
	return publicOf(private)
}

func publicOf(private *ecdsa.PrivateKey) (string, error) {
	raw, err := private.PublicKey.Bytes()
	return base64.RawURLEncoding.EncodeToString(raw), err
}

// private is the server's key. The first who asks makes it; subscriptions hold for it alone.
func (s *Store) private(ctx context.Context) (*ecdsa.PrivateKey, error) {
	ring, err := s.keys.Ring(ctx, KeysID)
	if err != nil {
		return nil, err
	}
	closed, err := readKey(ctx, s.db)
	if errors.Is(err, sql.ErrNoRows) {
		closed, err = s.makeKey(ctx, ring)
	}
	var raw []byte
	if err == nil {
		raw, err = ring.Open(keyPlace, closed)
	}
	var key *ecdsa.PrivateKey
	if err == nil {
		key, err = ecdsa.ParseRawPrivateKey(elliptic.P256(), raw)
	}
	if err != nil {
		return nil, fmt.Errorf("the server's key for push services: %w", err)
	}
	return key, nil
}

func readKey(ctx context.Context, q store.Querier) (closed []byte, err error) {
	err = q.QueryRow(ctx, `SELECT sealed FROM {push_server} WHERE id = 1`).Scan(&closed)
	return closed, err
}

func (s *Store) makeKey(ctx context.Context, ring *vault.Ring) (closed []byte, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	raw, err := key.Bytes()
	if err == nil {
		closed, err = ring.Seal(keyPlace, raw)
	}
	if err != nil {
		return nil, err
	}
	if _, err := s.db.Exec(ctx, `INSERT INTO {push_server} (id, sealed) VALUES (1, ?1) ON CONFLICT (id) DO NOTHING`, closed); err != nil {
		return nil, err
	}
	return readKey(ctx, s.db) // another server's, perhaps
}

func (s *Store) resealKey(ctx context.Context, ring *vault.Ring) error {
	old, err := readKey(ctx, s.db)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	fresh, err := again(ring, keyPlace, old)
	if err != nil || fresh == nil {
		return err
	}
	_, err = s.db.Exec(ctx, `UPDATE {push_server} SET sealed = ?2 WHERE id = 1 AND sealed = ?1`, old, fresh)
	return err
}

// authorization proves to the push service of an endpoint who sends: a token signed with the
// server's key, which is for that service alone, and the key that browsers know the server by.
func authorization(private *ecdsa.PrivateKey, endpoint *url.URL, contact string, now time.Time) (string, error) {
	claims := map[string]any{"aud": endpoint.Scheme + "://" + endpoint.Host, "exp": now.Add(tokenFor).Unix()}
	if strings.HasPrefix(contact, "mailto:") || strings.HasPrefix(contact, "https://") { // services take no other
		claims["sub"] = contact
	}
	body, err := json.Marshal(claims)
	if err != nil {
		return "", err
	}
	b64 := base64.RawURLEncoding.EncodeToString
	signed := b64([]byte(`{"typ":"JWT","alg":"ES256"}`)) + "." + b64(body)
	sum := sha256.Sum256([]byte(signed))
	r, t, err := ecdsa.Sign(rand.Reader, private, sum[:])
	if err != nil {
		return "", err
	}
	signature := make([]byte, 64)
	r.FillBytes(signature[:32])
	t.FillBytes(signature[32:])
	public, err := publicOf(private)
	return "vapid t=" + signed + "." + b64(signature) + ", k=" + public, err
}

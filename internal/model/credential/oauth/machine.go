package oauth

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
	"time"
)

// assertionTime is how long an assertion of a client may be used.
const assertionTime = 2 * time.Minute

// ClientCredentials gets a token for a client itself, without a person (RFC 6749, section 4.4). The
// client shows its secret, or what it signs with key (RFC 7523); key is nil where it has a secret.
func (c Client) ClientCredentials(ctx context.Context, p Provider, key crypto.Signer) (Token, error) {
	form := formOf(p.TokenParams)
	form.Set("grant_type", "client_credentials")
	if len(p.Scopes) > 0 {
		form.Set("scope", strings.Join(p.Scopes, " "))
	}
	client := Registration{p.ClientID, p.Auth}
	if key != nil {
		audience := p.Issuer
		if audience == "" {
			audience = p.TokenURL
		}
		signed, err := assertion(p.ClientID, audience, key, time.Now())
		if err != nil {
			return Token{}, err
		}
		client.Auth = ClientAuth{}
		form.Set("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
		form.Set("client_assertion", signed)
	}
	return c.token(ctx, p.TokenURL, form, client)
}

// ParseKey reads a private key in PEM for assertions: ECDSA with P-256, or RSA from 2048 bits on.
func ParseKey(text string) (crypto.Signer, error) {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return nil, errors.New("the private key is not in PEM")
	}
	var key any
	var err error
	switch block.Type {
	case "EC PRIVATE KEY":
		key, err = x509.ParseECPrivateKey(block.Bytes)
	case "RSA PRIVATE KEY":
		key, err = x509.ParsePKCS1PrivateKey(block.Bytes)
	default:
		key, err = x509.ParsePKCS8PrivateKey(block.Bytes)
	}
	if err != nil {
		return nil, errors.New("the private key can't be read: it must be PKCS #8, without a pass phrase")
	}
	switch k := key.(type) {
	case *ecdsa.PrivateKey:
		if k.Curve == elliptic.P256() {
			return k, nil
		}
	case *rsa.PrivateKey:
		if k.N.BitLen() >= 2048 {
			return k, nil
		}
	}
	return nil, errors.New("the private key must be ECDSA with P-256, or RSA with 2048 bits or more")
}

// assertion is what a client says of itself to an authorization server, signed.
func assertion(client, audience string, key crypto.Signer, now time.Time) (string, error) {
	alg := "ES256"
	if _, ok := key.(*rsa.PrivateKey); ok {
		alg = "RS256"
	}
	part := func(v any) string {
		raw, _ := json.Marshal(v) // of texts and numbers: it cannot fail
		return base64.RawURLEncoding.EncodeToString(raw)
	}
	signed := part(map[string]string{"alg": alg, "typ": "JWT"}) + "." + part(map[string]any{
		"iss": client, "sub": client, "aud": audience, "jti": rand.Text(), "iat": now.Unix(), "exp": now.Add(assertionTime).Unix(),
	})
	sum := sha256.Sum256([]byte(signed))
	var signature []byte
	switch k := key.(type) {
	case *ecdsa.PrivateKey:
		r, s, err := ecdsa.Sign(rand.Reader, k, sum[:])
		if err != nil {
			return "", fmt.Errorf("sign for the authorization server: %w", err)
		}
		signature = make([]byte, 64) // the two numbers, as RFC 7518 has them
		r.FillBytes(signature[:32])
		s.FillBytes(signature[32:])
	case *rsa.PrivateKey:
		var err error
		if signature, err = rsa.SignPKCS1v15(rand.Reader, k, crypto.SHA256, sum[:]); err != nil {
			return "", fmt.Errorf("sign for the authorization server: %w", err)
		}
	default:
		return "", errors.New("the private key must be ECDSA or RSA")
	}
	return signed + "." + base64.RawURLEncoding.EncodeToString(signature), nil
}

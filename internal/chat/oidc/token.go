package oidc

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"
)

const (
	maxToken = 64 << 10
	maxKeys  = 100
	skew     = time.Minute      // by which clocks may differ
	fresh    = 10 * time.Minute // how old the token of a sign-in may be
	maxText  = 255              // bytes of a claim, which is what a subject may have
)

// Claims are what an issuer says of a person.
type Claims struct {
	Subject       string // the same for ever, and no other's
	Email         string
	EmailVerified bool
	Display       string   // for people
	Names         []string // to sign in with, the best first
	Groups        []string
}

// key is a key of an issuer.
type key struct {
	id     string
	alg    string // RS256 or ES256
	public crypto.PublicKey
}

var b64 = base64.RawURLEncoding.Strict()

// segment decodes the JSON in a part of a token.
func segment(part string, into any) error {
	data, err := b64.DecodeString(part)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, into)
}

// verify checks an ID token.
func (p *Provider) verify(ctx context.Context, a *addresses, token, nonce string) (none Claims, err error) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 || len(token) > maxToken {
		return none, errors.New("it gives no ID token")
	}
	var head struct {
		Alg  string          `json:"alg"`
		Key  string          `json:"kid"`
		Crit json.RawMessage `json:"crit"`
	}
	if err := segment(parts[0], &head); err != nil {
		return none, errors.New("the head of its token can't be read")
	}
	switch {
	case head.Alg != "RS256" && head.Alg != "ES256":
		return none, fmt.Errorf("its token is signed by %.20q, not by RS256 or ES256", head.Alg)
	case head.Crit != nil:
		return none, errors.New("its token asks for what isn't known here")
	}
	signature, err := b64.DecodeString(parts[2])
	if err != nil {
		return none, errors.New("the signature of its token can't be read")
	}
	keys, err := p.keysFor(ctx, a, head.Key, head.Alg)
	if err != nil {
		return none, err
	}
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	if !slices.ContainsFunc(keys, func(k key) bool { return k.signed(sum[:], signature) }) {
		return none, errors.New("the signature of its token is wrong")
	}
	var all map[string]any
	if err := segment(parts[1], &all); err != nil {
		return none, errors.New("its token can't be read")
	}
	return p.claims(all, nonce)
}

// claims checks what a token says, which is signed.
func (p *Provider) claims(all map[string]any, nonce string) (none Claims, err error) {
	text := func(name string) string {
		s, _ := all[name].(string)
		if len(s) > maxText {
			return ""
		}
		return s
	}
	at := func(name string) (time.Time, bool) {
		n, ok := all[name].(float64)
		return time.Unix(int64(min(max(n, 0), 1<<40)), 0), ok
	}
	audience := texts(all["aud"])
	azp, hasAZP := all["azp"]
	expires, hasExpires := at("exp")
	issued, hasIssued := at("iat")
	before, hasBefore := at("nbf")
	now := p.now()
	switch {
	case text("iss") != p.Issuer:
		return none, errors.New("its token is of another issuer")
	case !slices.Contains(audience, p.ClientID), len(audience) > 1 && !hasAZP, hasAZP && azp != p.ClientID:
		return none, errors.New("its token is for another client")
	case !hasExpires || now.After(expires.Add(skew)):
		return none, errors.New("its token has expired")
	case !hasIssued || issued.After(now.Add(skew)) || now.Sub(issued) > fresh+skew, hasBefore && before.After(now.Add(skew)):
		return none, errors.New("its token is of another time: is the clock right?")
	case nonce == "" || subtle.ConstantTimeCompare([]byte(text("nonce")), []byte(nonce)) != 1:
		return none, errors.New("its token is for another sign-in")
	case text("sub") == "":
		return none, errors.New("its token names nobody")
	}
	c := Claims{Subject: text("sub"), Email: text("email"), Display: text("name"), Groups: texts(all[p.GroupsClaim])}
	switch is := all["email_verified"].(type) {
	case bool:
		c.EmailVerified = is
	case string: // as some write it
		c.EmailVerified = is == "true"
	}
	for _, name := range []string{text(p.NameClaim), text("email")} {
		if name != "" && !slices.Contains(c.Names, name) {
			c.Names = append(c.Names, name)
		}
	}
	return c, nil
}

// texts are those of a claim that is one or a list of them.
func texts(claim any) (all []string) {
	switch is := claim.(type) {
	case string:
		return []string{is}
	case []any:
		for _, one := range is {
			if s, ok := one.(string); ok {
				all = append(all, s)
			}
		}
	}
	return all
}

// signed reports whether a signature of a sum is that of the key.
func (k key) signed(sum, signature []byte) bool {
	switch public := k.public.(type) {
	case *rsa.PublicKey:
		return rsa.VerifyPKCS1v15(public, crypto.SHA256, sum, signature) == nil
	case *ecdsa.PublicKey:
		return len(signature) == 64 && ecdsa.Verify(public, sum, new(big.Int).SetBytes(signature[:32]), new(big.Int).SetBytes(signature[32:]))
	}
	return false
}

// keysFor gives the keys of the issuer that may have signed a token.
func (p *Provider) keysFor(ctx context.Context, a *addresses, id, alg string) (fit []key, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	find := func() []key {
		return slices.DeleteFunc(slices.Clone(p.keys), func(k key) bool { return k.alg != alg || id != "" && k.id != id })
	}
	now := p.now()
	if fit = find(); len(fit) > 0 && now.Sub(p.keysAt) < keptFor {
		return fit, nil
	}
	if now.Sub(p.askedAt) < againAfter {
		return nil, errors.New("its token is signed with an unknown key")
	}
	p.askedAt = now
	keys, err := fetchKeys(ctx, a.Keys)
	if err != nil {
		if ctx.Err() != nil {
			p.askedAt = time.Time{}
		}
		return nil, fmt.Errorf("get the keys of %s: %w", p.Issuer, err)
	}
	p.keys, p.keysAt = keys, now
	if fit = find(); len(fit) == 0 {
		return nil, errors.New("its token is signed with an unknown key")
	}
	return fit, nil
}

// fetchKeys gets the keys of an issuer: those that it signs with, by the two algorithms.
func fetchKeys(ctx context.Context, address string) (keys []key, err error) {
	var set struct {
		Keys []struct {
			Kind  string `json:"kty"`
			ID    string `json:"kid"`
			Use   string `json:"use"`
			Alg   string `json:"alg"`
			Curve string `json:"crv"`
			N     string `json:"n"`
			E     string `json:"e"`
			X     string `json:"x"`
			Y     string `json:"y"`
		} `json:"keys"`
	}
	if err := get(ctx, address, &set); err != nil {
		return nil, err
	}
	number := func(text string) []byte {
		b, _ := b64.DecodeString(text) // none is no key
		return b
	}
	for i, k := range set.Keys {
		if i == maxKeys {
			break
		}
		one := key{id: k.ID}
		switch {
		case k.Use != "" && k.Use != "sig":
			continue
		case k.Kind == "RSA" && (k.Alg == "" || k.Alg == "RS256"):
			n, e := new(big.Int).SetBytes(number(k.N)), new(big.Int).SetBytes(number(k.E))
			if n.BitLen() < 2048 || n.BitLen() > 8192 || n.Bit(0) == 0 || e.BitLen() < 2 || e.BitLen() > 31 || e.Bit(0) == 0 {
				continue
			}
			one.alg, one.public = "RS256", &rsa.PublicKey{N: n, E: int(e.Int64())}
		case k.Kind == "EC" && k.Curve == "P-256" && (k.Alg == "" || k.Alg == "ES256"):
			public, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), slices.Concat([]byte{4}, number(k.X), number(k.Y)))
			if err != nil {
				continue
			}
			one.alg, one.public = "ES256", public
		default:
			continue
		}
		keys = append(keys, one)
	}
	return keys, nil
}

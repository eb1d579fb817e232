package azureauth

import (
	"cmp"
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"golang.org/x/crypto/pkcs12"
)

// principal is the service principal whose secret or certificate the environment names.
func (s *Signer) principal(ctx context.Context) (token, error) {
	secret, file := s.getenv("AZURE_CLIENT_SECRET"), s.getenv("AZURE_CLIENT_CERTIFICATE_PATH")
	switch {
	case s.getenv("AZURE_TENANT_ID") == "" || s.getenv("AZURE_CLIENT_ID") == "" || secret == "" && file == "":
		return token{}, errAbsent // some of them are for other sources, too
	case secret != "":
		return s.entra(ctx, url.Values{"client_secret": {secret}})
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		return token{}, fmt.Errorf("AZURE_CLIENT_CERTIFICATE_PATH: %w", err)
	}
	key, chain, err := readCertificate(raw, s.getenv("AZURE_CLIENT_CERTIFICATE_PASSWORD"))
	if err != nil {
		return token{}, fmt.Errorf("AZURE_CLIENT_CERTIFICATE_PATH: %w", err)
	}
	address, err := s.authority()
	if err != nil {
		return token{}, err
	}
	whole := s.getenv("AZURE_CLIENT_SEND_CERTIFICATE_CHAIN")
	assertion, err := assertionOf(key, chain, s.getenv("AZURE_CLIENT_ID"), address, whole == "1" || strings.EqualFold(whole, "true"))
	if err != nil {
		return token{}, err
	}
	return s.asserted(ctx, assertion)
}

// workload is the identity that a cluster or CI put into a file.
func (s *Signer) workload(ctx context.Context) (token, error) {
	file := s.getenv("AZURE_FEDERATED_TOKEN_FILE")
	if s.getenv("AZURE_TENANT_ID") == "" || s.getenv("AZURE_CLIENT_ID") == "" || file == "" {
		return token{}, errAbsent
	}
	raw, err := os.ReadFile(file) // each time: it is replaced before it expires
	if err != nil {
		return token{}, fmt.Errorf("AZURE_FEDERATED_TOKEN_FILE: %w", err)
	}
	return s.asserted(ctx, strings.TrimSpace(string(raw)))
}

func (s *Signer) asserted(ctx context.Context, assertion string) (token, error) {
	return s.entra(ctx, url.Values{
		"client_assertion_type": {"urn:ietf:params:oauth:client-assertion-type:jwt-bearer"}, "client_assertion": {assertion},
	})
}

// entra asks Entra ID for a token of the application AZURE_CLIENT_ID, which proves itself with what
// proof holds.
func (s *Signer) entra(ctx context.Context, proof url.Values) (token, error) {
	address, err := s.authority()
	if err != nil {
		return token{}, err
	}
	proof.Set("grant_type", "client_credentials")
	proof.Set("client_id", s.getenv("AZURE_CLIENT_ID"))
	proof.Set("scope", Audience+"/.default")
	return exchange(ctx, s.public(), http.MethodPost, address, http.Header{"Content-Type": {form}}, proof.Encode())
}

// authority is where the tenant's tokens come from.
func (s *Signer) authority() (string, error) {
	host, tenant := cmp.Or(s.getenv("AZURE_AUTHORITY_HOST"), "https://login.microsoftonline.com"), s.getenv("AZURE_TENANT_ID")
	if u, err := url.Parse(host); err != nil || u.Scheme != "https" || u.Host == "" {
		return "", errors.New("AZURE_AUTHORITY_HOST must be an https address")
	}
	for _, c := range tenant {
		if c != '-' && c != '.' && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') {
			return "", errors.New("AZURE_TENANT_ID must be the id or a domain of a tenant")
		}
	}
	return strings.TrimRight(host, "/") + "/" + tenant + "/oauth2/v2.0/token", nil
}

// readCertificate reads a private key and its certificates, that of the key first, as PEM or PKCS #12.
func readCertificate(raw []byte, password string) (*rsa.PrivateKey, []*x509.Certificate, error) {
	var blocks []*pem.Block
	for rest := raw; password == ""; {
		var b *pem.Block
		if b, rest = pem.Decode(rest); b == nil {
			break
		}
		blocks = append(blocks, b)
	}
	if blocks == nil {
		var err error
		if blocks, err = pkcs12.ToPEM(raw, password); err != nil {
			return nil, nil, errors.New("it is neither PEM nor PKCS #12 that burin can read with the password given: write it as PEM without one")
		}
	}
	var key *rsa.PrivateKey
	var chain []*x509.Certificate
	for _, b := range blocks {
		switch b.Type {
		case "CERTIFICATE":
			c, err := x509.ParseCertificate(b.Bytes)
			if err != nil {
				return nil, nil, errors.New("its certificate can't be read")
			}
			chain = append(chain, c)
		case "PRIVATE KEY", "RSA PRIVATE KEY":
			any, err := x509.ParsePKCS8PrivateKey(b.Bytes)
			if err != nil {
				any, err = x509.ParsePKCS1PrivateKey(b.Bytes)
			}
			ours, ok := any.(*rsa.PrivateKey)
			if err != nil || !ok || key != nil {
				return nil, nil, errors.New("it must have one private key, of the kind RSA and not encrypted")
			}
			key = ours
		}
	}
	if key == nil {
		return nil, nil, errors.New("it has no private key that isn't encrypted")
	}
	for i, c := range chain {
		if key.PublicKey.Equal(c.PublicKey) {
			chain[0], chain[i] = chain[i], chain[0]
			return key, chain, nil
		}
	}
	return nil, nil, errors.New("it has no certificate of its key")
}

// assertionOf is a JWT by which an application proves that it has a certificate's key. whole adds the
// certificates, for tenants that trust who issued them.
func assertionOf(key *rsa.PrivateKey, chain []*x509.Certificate, client, audience string, whole bool) (string, error) {
	print := sha256.Sum256(chain[0].Raw)
	head := map[string]any{"alg": "PS256", "typ": "JWT", "x5t#S256": base64.RawURLEncoding.EncodeToString(print[:])}
	if whole {
		var all [][]byte
		for _, c := range chain {
			all = append(all, c.Raw)
		}
		head["x5c"] = all
	}
	now := time.Now()
	claims := map[string]any{
		"aud": audience, "iss": client, "sub": client, "jti": rand.Text(), "nbf": now.Unix(), "exp": now.Add(10 * time.Minute).Unix(),
	}
	var parts []string
	for _, part := range []any{head, claims} {
		raw, err := json.Marshal(part)
		if err != nil {
			return "", err
		}
		parts = append(parts, base64.RawURLEncoding.EncodeToString(raw))
	}
	signed := strings.Join(parts, ".")
	sum := sha256.Sum256([]byte(signed))
	signature, err := rsa.SignPSS(rand.Reader, key, crypto.SHA256, sum[:], &rsa.PSSOptions{SaltLength: rsa.PSSSaltLengthEqualsHash})
	if err != nil {
		return "", fmt.Errorf("sign with the certificate's key: %w", err)
	}
	return signed + "." + base64.RawURLEncoding.EncodeToString(signature), nil
}

// Package oidc signs people in with an account that they have elsewhere, by OpenID Connect: the
// authorization code flow with PKCE, of OpenID Connect Core 1.0.
//
// A [Provider] is one issuer that the server's owner trusts. [Provider.Begin] says where a browser goes,
// and [Provider.Finish] what its issuer says of the person who came back. Who that is here is the
// caller's to decide; so is that the browser which comes back is the one that was sent.
//
// # What is promised
//
//   - An ID token counts only if it was signed with a key of its issuer, by RS256 or ES256, for this
//     client, now, and for the nonce of this sign-in. The token itself never says how it is checked.
//   - Requests go to the issuer's https addresses only (http at this machine's own address), follow
//     no redirect, end after ten seconds, and read a limited answer.
//   - The issuer's addresses and keys are kept for an hour. A key that isn't known is asked for at
//     once, at most once in ten seconds: so keys can be replaced at any time.
//   - No error has a secret, a code or a token in it.
package oidc

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	maxAnswer  = 512 << 10 // bytes
	fetchTime  = 10 * time.Second
	keptFor    = time.Hour        // an issuer's addresses and keys
	againAfter = 10 * time.Second // a failed or repeated look
)

// ErrDown means that the issuer doesn't answer as one does.
var ErrDown = errors.New("can't be reached now")

// ErrRefused means that the issuer, or its token, says no.
var ErrRefused = errors.New("didn't sign you in")

// Provider is an issuer that people may sign in with.
type Provider struct {
	ID       string // in addresses
	Label    string // for people
	Issuer   string // its address
	ClientID string
	Secret   string // "" is that of a public client, which has only PKCE

	Scopes      []string // besides openid
	Domains     []string // of verified e-mail addresses; none is all
	Groups      []string // people have to be in one of them; none is all
	GroupsClaim string   // that says in which groups a person is
	NameClaim   string   // that gives the name of a person who is new
	Admit       string   // the role of people who are new; "" is that they aren't admitted

	Now func() time.Time // nil is the clock

	mu      sync.Mutex
	found   *addresses
	foundAt time.Time
	failed  error // of the last look for the addresses
	keys    []key
	keysAt  time.Time
	askedAt time.Time // for keys, with or without success
}

// addresses are what an issuer says of itself.
type addresses struct {
	Issuer   string   `json:"issuer"`
	Begin    string   `json:"authorization_endpoint"`
	Token    string   `json:"token_endpoint"`
	Keys     string   `json:"jwks_uri"`
	AuthWays []string `json:"token_endpoint_auth_methods_supported"`
}

// Check says what is wrong with a provider.
func (p *Provider) Check() error {
	switch {
	case checkURL(p.Issuer) != nil:
		return fmt.Errorf("issuer: %w", checkURL(p.Issuer))
	case p.ClientID == "":
		return errors.New("clientId: the issuer gives one to each client")
	case p.ID == "" || len(p.ID) > 40 || strings.Trim(p.ID, "abcdefghijklmnopqrstuvwxyz0123456789-") != "":
		return errors.New("use 1 to 40 lower-case letters, digits and - for the name of a provider, which is in addresses")
	}
	return nil
}

// checkURL says why an address isn't one to trust.
func checkURL(address string) error {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "" || u.User != nil || u.Fragment != "":
		return fmt.Errorf("%.200q is not an address such as https://login.example.org", address)
	case u.Scheme == "https":
		return nil
	case u.Scheme == "http" && here(u.Hostname()):
		return nil
	}
	return fmt.Errorf("%.200q is not an https address", address)
}

// here reports whether a host is this machine.
func here(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

func (p *Provider) now() time.Time {
	if p.Now != nil {
		return p.Now()
	}
	return time.Now()
}

var client = &http.Client{
	Timeout:       fetchTime,
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// fetch sends a request, and reads the JSON that answers it. The status is 0 without an answer.
func fetch(r *http.Request, into any) (status int, err error) {
	r.Header.Set("Accept", "application/json")
	answer, err := client.Do(r)
	if err != nil {
		if broken, ok := errors.AsType[*url.Error](err); ok {
			err = broken.Err // without the address
		}
		return 0, fmt.Errorf("%w: %w", ErrDown, err)
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer+1))
	switch {
	case err != nil:
		return answer.StatusCode, fmt.Errorf("%w: %w", ErrDown, err)
	case len(data) > maxAnswer:
		return answer.StatusCode, fmt.Errorf("%w: the answer has more than %d KB", ErrDown, maxAnswer>>10)
	case answer.StatusCode != http.StatusOK:
		return answer.StatusCode, fmt.Errorf("%w: it answers with %d", ErrDown, answer.StatusCode)
	}
	if err := json.Unmarshal(data, into); err != nil {
		return answer.StatusCode, fmt.Errorf("%w: the answer isn't the JSON it should be", ErrDown)
	}
	return answer.StatusCode, nil
}

func get(ctx context.Context, address string, into any) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	_, err = fetch(r, into)
	return err
}

// addresses looks where the issuer has what.
func (p *Provider) addresses(ctx context.Context) (*addresses, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	age := p.now().Sub(p.foundAt)
	switch {
	case p.found != nil && age < keptFor:
		return p.found, nil
	case p.failed != nil && age < againAfter:
		return nil, p.failed
	}
	var a addresses
	err := get(ctx, strings.TrimSuffix(p.Issuer, "/")+"/.well-known/openid-configuration", &a)
	if err == nil {
		err = errors.Join(checkURL(a.Begin), checkURL(a.Token), checkURL(a.Keys))
		if a.Issuer != p.Issuer {
			err = fmt.Errorf("it says that it is %.200q, not %q", a.Issuer, p.Issuer)
		}
		if err != nil {
			err = fmt.Errorf("%w: %w", ErrDown, err)
		}
	}
	if ctx.Err() != nil { // who asked has gone; the next one asks again
		return nil, err
	}
	p.foundAt = p.now()
	if p.failed = err; err != nil {
		p.found = nil
		return nil, fmt.Errorf("find %s: %w", p.Issuer, err)
	}
	p.found = &a
	return p.found, nil
}

// Begin gives the address at which a browser signs in and comes back from to another one. State is for
// the browser, nonce for the token, verifier is the secret of PKCE.
func (p *Provider) Begin(ctx context.Context, back, state, nonce, verifier string) (string, error) {
	a, err := p.addresses(ctx)
	if err != nil {
		return "", err
	}
	u, err := url.Parse(a.Begin)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(verifier))
	q := u.Query()
	for name, value := range map[string]string{
		"response_type": "code", "client_id": p.ClientID, "redirect_uri": back, "state": state, "nonce": nonce,
		"scope":          strings.Join(append([]string{"openid"}, p.Scopes...), " "),
		"code_challenge": base64.RawURLEncoding.EncodeToString(sum[:]), "code_challenge_method": "S256",
	} {
		q.Set(name, value)
	}
	u.RawQuery = q.Encode()
	return u.String(), nil
}

// Finish gives what the issuer says of the person who came back with a code.
func (p *Provider) Finish(ctx context.Context, back, code, nonce, verifier string) (Claims, error) {
	a, err := p.addresses(ctx)
	if err != nil {
		return Claims{}, err
	}
	form := url.Values{"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {back}, "code_verifier": {verifier}}
	basic := p.Secret != "" && (len(a.AuthWays) == 0 || slices.Contains(a.AuthWays, "client_secret_basic"))
	if !basic {
		form.Set("client_id", p.ClientID)
		if p.Secret != "" {
			form.Set("client_secret", p.Secret)
		}
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, a.Token, strings.NewReader(form.Encode()))
	if err != nil {
		return Claims{}, err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if basic {
		r.SetBasicAuth(url.QueryEscape(p.ClientID), url.QueryEscape(p.Secret))
	}
	var got struct {
		Token string `json:"id_token"`
	}
	switch status, err := fetch(r, &got); {
	case status == http.StatusBadRequest, status == http.StatusUnauthorized, status == http.StatusForbidden:
		return Claims{}, fmt.Errorf("%w: it answers the code with %d", ErrRefused, status)
	case err != nil:
		return Claims{}, err
	}
	claims, err := p.verify(ctx, a, got.Token, nonce)
	if err != nil && !errors.Is(err, ErrDown) {
		err = fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return claims, err
}

// Allows says why a person may not sign in here: because of the domain or the groups. nil is that
// they may.
func (p *Provider) Allows(c Claims) error {
	if len(p.Domains) > 0 {
		_, domain, _ := strings.Cut(c.Email, "@")
		if !c.EmailVerified || domain == "" || strings.Contains(domain, "@") || !slices.ContainsFunc(p.Domains, func(d string) bool { return strings.EqualFold(d, domain) }) {
			return errors.New("your e-mail address is not of a domain that may sign in here")
		}
	}
	if len(p.Groups) > 0 && !slices.ContainsFunc(p.Groups, func(g string) bool { return slices.Contains(c.Groups, g) }) {
		return errors.New("you are in no group that may sign in here")
	}
	return nil
}

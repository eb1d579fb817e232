package oauth

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"golang.org/x/oauth2"

	"github.com/burin-dev/burin/internal/model/credential/secret"
	"github.com/burin-dev/burin/internal/prose"
)

// LoginTimeout is how long a person may take to log in in a browser.
const LoginTimeout = 10 * time.Minute

// UI is what a login needs of the face it runs in. Nil functions are left out.
type UI struct {
	// Show tells the person where to go. It is called once.
	Show func(Notice)
	// Open opens a browser. Its failure is not one of the login: Show has said
	// where to go.
	Open func(url string) error
	// Paste asks for the address the browser ended at, for logins from a remote
	// shell, whose loopback interface the browser cannot reach. problem says what
	// was wrong with the answer before; empty the first time. It runs beside the
	// callback and should return when ctx ends; the login does not wait for it.
	Paste func(ctx context.Context, problem string) (string, error)
}

// Notice says where to log in.
type Notice struct {
	URL      string
	UserCode string    // of a device login: the code to type there
	Expires  time.Time // when the login gives up
}

// Authorize runs the authorization code flow with PKCE and returns what the
// code was exchanged for. It ends after [LoginTimeout] or with ctx.
func (c Client) Authorize(ctx context.Context, p Provider, ui UI) (Token, error) {
	if err := p.Validate(); err != nil {
		return Token{}, err
	}
	if p.AuthURL == "" {
		return Token{}, fmt.Errorf("%s has no login in a browser", p.Title())
	}
	ctx, cancel := context.WithTimeoutCause(ctx, LoginTimeout, fmt.Errorf("the login was not finished within %s: start it again", LoginTimeout))
	defer cancel()
	cb := newCallback(p, rand.Text())
	if err := cb.listen(); err != nil {
		if ui.Paste == nil {
			return Token{}, err
		}
		// The person can still paste.
	}
	defer cb.close()
	if p.Register != nil {
		client, err := p.Register(ctx, cb.redirect)
		if err != nil {
			return Token{}, err
		}
		p.ClientID, p.Auth = client.ID, client.Auth
	}
	verifier := oauth2.GenerateVerifier()
	target, err := authURL(p, cb, verifier)
	if err != nil {
		return Token{}, err
	}
	if ui.Show != nil {
		deadline, _ := ctx.Deadline()
		ui.Show(Notice{URL: target, Expires: deadline})
	}
	if ui.Open != nil {
		_ = ui.Open(target)
	}
	if ui.Paste != nil {
		go cb.paste(ctx, ui.Paste)
	}
	var got callbackResult
	select {
	case got = <-cb.results:
	case <-ctx.Done():
		return Token{}, context.Cause(ctx)
	}
	if got.err != nil {
		return Token{}, got.err
	}
	if p.Exchange == ForKey {
		return c.exchangeForKey(ctx, p, got.code, verifier)
	}
	form := formOf(p.TokenParams)
	form.Set("grant_type", "authorization_code")
	form.Set("code", got.code)
	form.Set("redirect_uri", cb.redirect)
	form.Set("code_verifier", verifier)
	token, err := c.token(ctx, p.TokenURL, form, Registration{p.ClientID, p.Auth})
	token.Client = Registration{p.ClientID, p.Auth}
	return token, err
}

func authURL(p Provider, cb *callback, verifier string) (string, error) {
	u, err := url.Parse(p.AuthURL)
	if err != nil {
		return "", errors.New("authUrl is not a URL")
	}
	q := u.Query()
	for k, v := range p.AuthParams {
		q.Set(k, v)
	}
	q.Set("code_challenge", oauth2.S256ChallengeFromVerifier(verifier))
	q.Set("code_challenge_method", "S256")
	if p.Exchange == ForKey {
		q.Set("callback_url", cb.redirect)
	} else {
		q.Set("response_type", "code")
		q.Set("client_id", p.ClientID)
		q.Set("redirect_uri", cb.redirect)
		q.Set("state", cb.state)
		if len(p.Scopes) > 0 {
			q.Set("scope", strings.Join(p.Scopes, " "))
		}
	}
	u.RawQuery = q.Encode()
	return u.String(), nil
}

// exchangeForKey exchanges a code for an API key as OpenRouter does.
func (c Client) exchangeForKey(ctx context.Context, p Provider, code, verifier string) (Token, error) {
	body, err := json.Marshal(map[string]string{
		"code": code, "code_verifier": verifier, "code_challenge_method": "S256",
	})
	if err != nil {
		return Token{}, err
	}
	var a struct {
		Key  string `json:"key"`
		User string `json:"user_id"`
	}
	if err := c.post(ctx, p.TokenURL, jsonType, nil, body, &a); err != nil {
		return Token{}, err
	}
	if !sendable(a.Key) {
		return Token{}, fmt.Errorf("%s answered without a usable key", hostOf(p.TokenURL))
	}
	return Token{Access: secret.Secret(a.Key), Account: prose.Plain(a.User, maxWords), APIKey: true}, nil
}

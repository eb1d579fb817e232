package oauth

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/model/credential/secret"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm/wire"
)

// Limits of one exchange with a token endpoint.
const (
	requestTimeout = 20 * time.Second
	maxAnswer      = 1 << 20 // bytes
	retryDelay     = 250 * time.Millisecond
)

// Client talks to authorization servers. The zero value is ready.
type Client struct {
	HTTP *http.Client // nil = [wire.DefaultClient]
}

// Token is what a login or a renewal gave.
type Token struct {
	Access  secret.Secret // an access token, or a lasting API key where APIKey is set
	Refresh secret.Secret // empty = cannot be renewed
	// Lifetime is how long Access may be used, counted from when it was asked
	// for; 0 = not known.
	Lifetime time.Duration
	Account  string // whose it is, for people; may be empty
	APIKey   bool
	Scopes   []string     // what it may be used for, if the server said so
	Client   Registration // that a login in the browser was for
}

// Renewal is all that a renewal needs. It is kept with the token, so that a
// later change of configuration cannot send a refresh token elsewhere.
type Renewal struct {
	TokenURL string
	ClientID string
	Auth     ClientAuth
	Params   map[string]string
	Refresh  secret.Secret
}

// Error is the refusal of an authorization server.
type Error struct {
	Host        string
	Status      int    // HTTP status
	Code        string // error code of RFC 6749 and RFC 8628; may be empty
	Description string // the server's own words; may be empty
}

func (e *Error) Error() string {
	s := e.Host + " refused: "
	switch {
	case e.Code != "" && e.Description != "":
		return s + e.Code + " (" + e.Description + ")"
	case e.Code != "":
		return s + e.Code
	case e.Description != "":
		return s + e.Description
	}
	return s + "HTTP " + strconv.Itoa(e.Status)
}

// transportError is an exchange that broke: whether the server acted on the
// request is not known.
type transportError struct {
	text string
	err  error
}

func (e *transportError) Error() string { return e.text }
func (e *transportError) Unwrap() error { return e.err }

// broken words a failed exchange. The error of net/http is not shown: it says
// the URL again.
func broken(ctx context.Context, host string, err error) error {
	e := &transportError{text: host + ": " + wire.TransportError(err).Message, err: err}
	if ctx.Err() == context.DeadlineExceeded {
		e.text = fmt.Sprintf("%s did not answer within %s", host, requestTimeout)
	}
	return e
}

// Transient says whether err is a failure of the network or the server that may
// pass, as opposed to a refusal.
func Transient(err error) bool {
	var t *transportError
	return errors.As(err, &t) || transient(err)
}

// Revoked says whether err means that the login itself has ended: a refresh
// token that expired, was revoked or was used before.
func Revoked(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Code == "invalid_grant"
}

// transient says whether the same request may be sent again at once, because the
// server has not acted on it: the connection was never made, or the server said
// that it failed.
func transient(err error) bool {
	var e *Error
	if errors.As(err, &e) {
		return e.Status >= 500 || e.Status == http.StatusTooManyRequests
	}
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

// Refresh renews an access token. The new token holds the old refresh token if
// the server gave no new one. A failure of the server is tried once more; a
// connection that broke in the middle is not, because the server may have
// replaced the refresh token already and would take a second use for theft.
func (c Client) Refresh(ctx context.Context, r Renewal) (Token, error) {
	if r.Refresh == "" {
		return Token{}, errors.New("there is no refresh token")
	}
	form := formOf(r.Params)
	form.Set("grant_type", "refresh_token")
	form.Set("refresh_token", r.Refresh.Reveal())
	client := Registration{r.ClientID, r.Auth}
	t, err := c.token(ctx, r.TokenURL, form, client)
	if err != nil && transient(err) {
		if wait(ctx, retryDelay) != nil {
			return Token{}, err
		}
		t, err = c.token(ctx, r.TokenURL, form, client)
	}
	if err != nil {
		return Token{}, err
	}
	if t.Refresh == "" {
		t.Refresh = r.Refresh
	}
	return t, nil
}

// wait waits for d or the end of ctx.
func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

func formOf(params map[string]string) url.Values {
	form := url.Values{}
	for k, v := range params {
		form.Set(k, v)
	}
	return form
}

type tokenAnswer struct {
	Access    string          `json:"access_token"`
	Refresh   string          `json:"refresh_token"`
	Type      string          `json:"token_type"`
	ExpiresIn json.RawMessage `json:"expires_in"` // a number, by some servers in quotes
	IDToken   string          `json:"id_token"`
	Scope     string          `json:"scope"`
}

// token posts form to a token endpoint.
func (c Client) token(ctx context.Context, endpoint string, form url.Values, client Registration) (Token, error) {
	var a tokenAnswer
	header := http.Header{}
	client.put(form, header)
	if err := c.post(ctx, endpoint, formType, header, []byte(form.Encode()), &a); err != nil {
		return Token{}, err
	}
	if !sendable(a.Access) {
		return Token{}, fmt.Errorf("%s answered without a usable access token", hostOf(endpoint))
	}
	if a.Type != "" && !strings.EqualFold(a.Type, "bearer") {
		return Token{}, fmt.Errorf("%s gave a token of a kind that is not supported: only bearer tokens are", hostOf(endpoint))
	}
	t := Token{Access: secret.Secret(a.Access), Refresh: secret.Secret(a.Refresh), Account: accountOf(a.IDToken), Scopes: Scopes(a.Scope)}
	if s, err := strconv.ParseFloat(strings.Trim(string(a.ExpiresIn), `"`), 64); err == nil && s > 0 && s < 1e10 {
		t.Lifetime = time.Duration(s * float64(time.Second))
	}
	return t, nil
}

// sendable says whether s can stand in a header: printable ASCII.
func sendable(s string) bool {
	for _, c := range []byte(s) {
		if c <= ' ' || c > '~' {
			return false
		}
	}
	return s != ""
}

// accountOf is whom an id token is about. Its signature is not checked: it came
// straight from the token endpoint over TLS, which OpenID Connect accepts in
// place of the signature, and it only becomes a label.
func accountOf(idToken string) string {
	parts := strings.Split(idToken, ".")
	if len(parts) != 3 {
		return ""
	}
	raw, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return ""
	}
	var claims struct {
		Email string `json:"email"`
		Name  string `json:"preferred_username"`
		Sub   string `json:"sub"`
	}
	if json.Unmarshal(raw, &claims) != nil {
		return ""
	}
	for _, s := range []string{claims.Email, claims.Name, claims.Sub} {
		if s != "" {
			return prose.Plain(s, maxWords)
		}
	}
	return ""
}

// The kinds of bodies.
const (
	formType = "application/x-www-form-urlencoded"
	jsonType = "application/json"
)

// post sends body and decodes a JSON answer into out, unless that is nil. A refusal is an [*Error].
func (c Client) post(ctx context.Context, endpoint, contentType string, header http.Header, body []byte, out any) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	host := hostOf(endpoint)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("the endpoint at %s is not usable", host)
	}
	maps.Copy(req.Header, header)
	req.Header.Set("Content-Type", contentType)
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", wire.UserAgent)
	resp, err := c.do(req)
	if err != nil {
		return broken(ctx, host, err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return broken(ctx, host, err)
	}
	var refusal struct {
		Error       json.RawMessage `json:"error"`
		Description string          `json:"error_description"`
	}
	_ = json.Unmarshal(data, &refusal)
	e := &Error{Host: host, Status: resp.StatusCode, Description: prose.Plain(refusal.Description, maxWords)}
	if json.Unmarshal(refusal.Error, &e.Code) != nil {
		// Not RFC 6749: {"error":{"message":…}} as model APIs say it.
		var nested struct {
			Message string `json:"message"`
		}
		if json.Unmarshal(refusal.Error, &nested) == nil && e.Description == "" {
			e.Description = prose.Plain(nested.Message, maxWords)
		}
	}
	e.Code = prose.Plain(e.Code, maxWords)
	// Some servers refuse with status 200.
	if resp.StatusCode/100 != 2 || e.Code != "" {
		return e
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(data, out); err != nil {
		return fmt.Errorf("%s answered with something that is not JSON", host)
	}
	return nil
}

// do sends a request and follows no redirect: the address was checked, and a body with a code or
// a token must go nowhere else.
func (c Client) do(req *http.Request) (*http.Response, error) {
	client := c.HTTP
	if client == nil {
		client = wire.DefaultClient()
	}
	still := *client
	still.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return still.Do(req)
}

func hostOf(endpoint string) string {
	if u, err := url.Parse(endpoint); err == nil && u.Host != "" {
		return u.Host
	}
	return "the server"
}

// maxWords is how many characters of a server's words are shown.
const maxWords = 200

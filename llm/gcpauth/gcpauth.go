// Package gcpauth authorizes requests to Google Cloud with application default
// credentials: the file that GOOGLE_APPLICATION_CREDENTIALS names, else the one
// that `gcloud auth application-default login` wrote.
//
// It promises that nothing is read or fetched before the first request needs
// it, that the file is read again whenever a new token is needed, so that a new
// login takes effect without a restart, that a token is used until a minute
// before it expires, that concurrent requests fetch one token, and that no
// error holds a secret. The metadata server of Google's own machines is not
// asked: looking for it delays every start elsewhere.
package gcpauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/oauth2"

	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/wire"
)

// scope is what Vertex AI asks for.
const scope = "https://www.googleapis.com/auth/cloud-platform"

// skew is how long before its end a token is replaced;
// GOOGLE_VERTEX_REFRESH_SKEW_MS overrides it.
const skew = time.Minute

// Auth authorizes requests. It is safe for concurrent use.
type Auth struct {
	getenv func(string) string
	turn   chan struct{} // holds one value; whoever takes it may use token
	token  *oauth2.Token
	quota  string // project that pays, if the credentials name one
}

// New makes an Auth that reads the variables of getenv, nil = os.Getenv. It
// costs nothing before its first use.
func New(getenv func(string) string) *Auth {
	if getenv == nil {
		getenv = os.Getenv
	}
	a := &Auth{getenv: getenv, turn: make(chan struct{}, 1)}
	a.turn <- struct{}{}
	return a
}

// Project is the project to use: GOOGLE_CLOUD_PROJECT, GCP_PROJECT,
// GCLOUD_PROJECT, or what the credentials file names; "" if none does.
func (a *Auth) Project() string {
	if p := a.first("GOOGLE_CLOUD_PROJECT", "GCP_PROJECT", "GCLOUD_PROJECT"); p != "" {
		return p
	}
	c, err := a.load()
	if err != nil {
		return "" // the first request tells what is wrong with the file
	}
	if c.ProjectID != "" {
		return c.ProjectID
	}
	return c.QuotaProjectID
}

// Location is the location to use: GOOGLE_VERTEX_LOCATION,
// GOOGLE_CLOUD_LOCATION or VERTEX_LOCATION; "" if none is set.
func (a *Auth) Location() string {
	return a.first("GOOGLE_VERTEX_LOCATION", "GOOGLE_CLOUD_LOCATION", "VERTEX_LOCATION")
}

func (a *Auth) first(names ...string) string {
	for _, name := range names {
		if v := a.getenv(name); v != "" {
			return v
		}
	}
	return ""
}

// Authorize sets the bearer token of req, and the project that pays where the
// credentials name one. The body plays no part in it. Errors are *llm.Error.
func (a *Auth) Authorize(ctx context.Context, req *http.Request, _ []byte) error {
	select {
	case <-a.turn:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { a.turn <- struct{}{} }()
	if err := a.refresh(ctx); err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+a.token.AccessToken)
	if a.quota != "" && req.Header.Get("x-goog-user-project") == "" {
		req.Header.Set("x-goog-user-project", a.quota)
	}
	return nil
}

// refresh fetches a token unless there is one that lasts.
func (a *Auth) refresh(ctx context.Context) error {
	if t := a.token; t != nil && (t.Expiry.IsZero() || time.Until(t.Expiry) > a.skew()) {
		return nil
	}
	c, err := a.load()
	if err != nil {
		return &llm.Error{Kind: llm.ErrAuth, Message: err.Error(), Err: err}
	}
	client := *wire.DefaultClient()
	network := &witness{next: client.Transport}
	client.Transport = network
	source, err := c.source(context.WithValue(ctx, oauth2.HTTPClient, &client))
	if err != nil {
		return &llm.Error{Kind: llm.ErrAuth, Message: fmt.Sprintf("the credentials in %s: %v", c.path, err), Err: err}
	}
	t, err := source.Token()
	if err != nil {
		if network.err != nil && ctx.Err() == nil {
			return wire.TransportError(network.err)
		}
		return explain(ctx, c, err)
	}
	a.token, a.quota = t, c.QuotaProjectID
	if q := a.getenv("GOOGLE_CLOUD_QUOTA_PROJECT"); q != "" {
		a.quota = q
	}
	return nil
}

// witness remembers how a connection failed: not all token sources pass the
// cause on.
type witness struct {
	next http.RoundTripper
	err  error
}

func (w *witness) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := w.next.RoundTrip(r)
	w.err = err
	return resp, err
}

func (a *Auth) skew() time.Duration {
	if ms, err := strconv.Atoi(a.getenv("GOOGLE_VERTEX_REFRESH_SKEW_MS")); err == nil && ms >= 0 {
		return time.Duration(ms) * time.Millisecond
	}
	return skew
}

const login = "run: gcloud auth application-default login"

// load reads the credentials file.
func (a *Auth) load() (*credentials, error) {
	path := a.getenv("GOOGLE_APPLICATION_CREDENTIALS")
	named := path != ""
	if !named {
		path = a.wellKnown()
	}
	raw, err := os.ReadFile(path)
	switch {
	case err == nil:
	case errors.Is(err, fs.ErrNotExist) && named:
		return nil, fmt.Errorf("GOOGLE_APPLICATION_CREDENTIALS names %s, which does not exist", path)
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("no Google Cloud credentials: set GOOGLE_APPLICATION_CREDENTIALS to a file, or %s (looked for %s)", login, path)
	default:
		return nil, fmt.Errorf("read Google Cloud credentials: %w", err)
	}
	c := &credentials{path: path}
	if err := json.Unmarshal(raw, c); err != nil {
		// The decoder's message could quote the file.
		return nil, fmt.Errorf("the Google Cloud credentials in %s are not valid JSON", path)
	}
	return c, nil
}

// wellKnown is where gcloud keeps application default credentials.
func (a *Auth) wellKnown() string {
	const file = "application_default_credentials.json"
	if dir := a.getenv("CLOUDSDK_CONFIG"); dir != "" {
		return filepath.Join(dir, file)
	}
	if runtime.GOOS == "windows" {
		return filepath.Join(a.getenv("APPDATA"), "gcloud", file)
	}
	return filepath.Join(a.getenv("HOME"), ".config", "gcloud", file)
}

// explain turns the failure to get a token into one line that says what to do.
func explain(ctx context.Context, c *credentials, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var refused *oauth2.RetrieveError
	if !errors.As(err, &refused) || refused.Response == nil {
		return &llm.Error{Kind: llm.ErrAuth, Message: fmt.Sprintf("no token for the credentials in %s: %s", c.path, prose.Line(err.Error())), Err: err}
	}
	var body struct {
		Code        string `json:"error"`
		Description string `json:"error_description"`
	}
	_ = json.Unmarshal(refused.Body, &body) // what is not JSON tells nothing
	status := refused.Response.StatusCode
	reason := body.Description
	if reason == "" {
		reason = body.Code
	}
	e := wire.Sort(status, body.Code, reason)
	if e.Kind == llm.ErrInvalidRequest {
		e.Kind = llm.ErrAuth
	}
	advice := ""
	if e.Kind == llm.ErrAuth && c.Type == authorizedUser {
		advice = "; " + login
	}
	e.Message = fmt.Sprintf("Google gave no token for the credentials in %s: %s%s", c.path, e.Message, advice)
	return e
}

package azureauth

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/installed"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm/wire"
)

const (
	form      = "application/x-www-form-urlencoded"
	maxAnswer = 1 << 20          // bytes
	cliTime   = 30 * time.Second // that a command line tool has
)

// errAnswer means that an answer is no token.
var errAnswer = errors.New("the answer holds no token")

// statusError is an answer that is a refusal.
type statusError struct {
	code      int
	reason    string // what the service says; never a secret
	challenge string // WWW-Authenticate
}

func (e *statusError) Error() string {
	return strings.TrimSuffix(fmt.Sprintf("HTTP %d: %s", e.code, e.reason), ": ")
}

// exchange asks for a token.
func exchange(ctx context.Context, client *http.Client, method, address string, header http.Header, body string) (token, error) {
	raw, err := again(ctx, client, method, address, header, body)
	if err != nil {
		return token{}, err
	}
	t, _, err := decode(raw)
	return t, err
}

// again sends a request, and sends it again while the service is not ready: that of a machine that has
// just started, or been given an identity, says 404 or 410.
func again(ctx context.Context, client *http.Client, method, address string, header http.Header, body string) ([]byte, error) {
	const tries = 4
	for n := 1; ; n++ {
		raw, err := send(ctx, client, method, address, header, body)
		status, refused := errors.AsType[*statusError](err)
		if !refused || n == tries {
			return raw, err
		}
		switch c := status.code; {
		case c == http.StatusNotFound, c == http.StatusGone, c == http.StatusTooManyRequests, c >= 500:
		default:
			return raw, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(100 * time.Millisecond << n):
		}
	}
}

// send sends a request.
func send(ctx context.Context, client *http.Client, method, address string, header http.Header, body string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(body))
	if err != nil {
		return nil, errors.New("the address for tokens is not a URL")
	}
	if header != nil {
		req.Header = header.Clone()
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close() //nolint:errcheck // it was read
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil || resp.StatusCode == http.StatusOK {
		return raw, err
	}
	var said struct {
		Error       any    `json:"error"`
		Description string `json:"error_description"`
	}
	_ = json.Unmarshal(raw, &said) // what is no JSON says nothing
	reason := said.Description
	if code, ok := said.Error.(string); ok && reason == "" {
		reason = code
	}
	reason, _, _ = strings.Cut(reason, "\n") // then come numbers to trace the request
	return nil, &statusError{resp.StatusCode, prose.Cut(prose.Line(reason), 200), resp.Header.Get("WWW-Authenticate")}
}

// decode reads a token and whose it is, as Entra ID and the services of machines write them. Its
// errors quote nothing.
func decode(raw []byte) (t token, client string, err error) {
	var a struct {
		Token  string          `json:"access_token"`
		Lasts  json.RawMessage `json:"expires_in"` // seconds, also as a string
		Ends   json.RawMessage `json:"expires_on"` // seconds of 1970, also as a string; some services write a date
		Client string          `json:"client_id"`
	}
	if err := json.Unmarshal(raw, &a); err != nil || a.Token == "" {
		return token{}, "", errAnswer
	}
	ends, lasts := strings.Trim(string(a.Ends), `"`), strings.Trim(string(a.Lasts), `"`)
	if n, err := strconv.ParseInt(ends, 10, 64); err == nil {
		return token{a.Token, time.Unix(n, 0)}, a.Client, nil
	}
	if n, err := strconv.ParseInt(lasts, 10, 64); err == nil {
		return token{a.Token, time.Now().Add(time.Duration(n) * time.Second)}, a.Client, nil
	}
	for _, layout := range []string{"1/2/2006 15:04:05 -07:00", "1/2/2006 3:04:05 PM -07:00"} {
		if at, err := time.Parse(layout, ends); err == nil {
			return token{a.Token, at}, a.Client, nil
		}
	}
	return token{}, "", errAnswer
}

// azureCLI is the login of az.
func (s *Signer) azureCLI(ctx context.Context) (token, error) {
	raw, err := runCLI(ctx, "az", "account", "get-access-token", "-o", "json", "--resource", Audience)
	if err != nil {
		return token{}, err
	}
	var a struct {
		Token string `json:"accessToken"`
		Unix  int64  `json:"expires_on"`
		Local string `json:"expiresOn"` // all that old versions have
	}
	if err := json.Unmarshal(raw, &a); err != nil || a.Token == "" {
		return token{}, errAnswer
	}
	ends := time.Unix(a.Unix, 0)
	if a.Unix == 0 {
		if ends, err = time.ParseInLocation("2006-01-02 15:04:05.999999", a.Local, time.Local); err != nil {
			return token{}, errAnswer
		}
	}
	return token{a.Token, ends}, nil
}

// developerCLI is the login of azd.
func (s *Signer) developerCLI(ctx context.Context) (token, error) {
	raw, err := runCLI(ctx, "azd", "auth", "token", "-o", "json", "--no-prompt", "--scope", Audience+"/.default")
	if err != nil {
		return token{}, err
	}
	var a struct {
		Token string    `json:"token"`
		Ends  time.Time `json:"expiresOn"`
	}
	if err := json.Unmarshal(raw, &a); err != nil || a.Token == "" {
		return token{}, errAnswer
	}
	return token{a.Token, a.Ends}, nil
}

// runCLI runs a command line tool that prints a token. Its output is in no error.
func runCLI(ctx context.Context, name string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, cliTime)
	defer cancel()
	cmd, err := installed.Command(ctx, nil, name, args...)
	if errors.Is(err, exec.ErrNotFound) {
		return nil, errAbsent
	}
	if err != nil {
		return nil, err
	}
	var said bytes.Buffer
	cmd.Stderr, cmd.WaitDelay = &said, time.Second
	out, err := cmd.Output()
	if err != nil {
		last := strings.TrimSpace(said.String())
		last = last[strings.LastIndexByte(last, '\n')+1:]
		return nil, fmt.Errorf("%s failed: %s", name, prose.Cut(prose.Line(last), 200))
	}
	return out, nil
}

// direct is a client for services of the machine itself, which no proxy reaches.
func direct() *http.Client {
	return &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}, CheckRedirect: stay}
}

// viaProxy is the client for everything else.
func viaProxy() *http.Client {
	client := *wire.DefaultClient()
	client.Timeout, client.CheckRedirect = 30*time.Second, stay
	return &client
}

// stay follows no redirect: it would take secrets to another host.
func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

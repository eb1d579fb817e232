package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/prose"
)

// Waits of the device flow.
const (
	defaultInterval = 5 * time.Second // where the server names none; also what slow_down adds (RFC 8628, 3.5)
	minInterval     = time.Second
	maxInterval     = time.Minute
	deviceTimeout   = 15 * time.Minute // where the server names no end
)

// Device runs the device flow: the person types a code on any device, and this
// program asks the server until it is done. It ends when the server's code
// expires or with ctx.
func (c Client) Device(ctx context.Context, p Provider, ui UI) (Token, error) {
	if err := p.Validate(); err != nil {
		return Token{}, err
	}
	if p.DeviceURL == "" {
		return Token{}, fmt.Errorf("%s has no device login", p.Title())
	}
	d, err := c.deviceCode(ctx, p)
	if err != nil {
		return Token{}, err
	}
	expired := fmt.Errorf("the code was not entered in time: start the login again")
	ctx, cancel := context.WithTimeoutCause(ctx, d.lifetime, expired)
	defer cancel()
	if ui.Show != nil {
		deadline, _ := ctx.Deadline()
		ui.Show(Notice{URL: d.url, UserCode: d.userCode, Expires: deadline})
	}
	if ui.Open != nil {
		_ = ui.Open(d.complete)
	}
	form := formOf(p.TokenParams)
	form.Set("grant_type", "urn:ietf:params:oauth:grant-type:device_code")
	form.Set("device_code", d.code)
	form.Set("client_id", p.ClientID)
	interval := d.interval
	for {
		if wait(ctx, interval) != nil {
			return Token{}, context.Cause(ctx)
		}
		t, err := c.token(ctx, p.TokenURL, form, Registration{ID: p.ClientID})
		if err == nil {
			return t, nil
		}
		if ctx.Err() != nil {
			return Token{}, context.Cause(ctx)
		}
		refusal := new(Error)
		errors.As(err, &refusal)
		switch {
		case Transient(err):
			// The network or the server failed: ask less often (RFC 8628, 3.5).
			interval = min(2*interval, maxInterval)
		case refusal.Code == "authorization_pending":
		case refusal.Code == "slow_down":
			interval += defaultInterval
		case refusal.Code == "expired_token":
			return Token{}, expired
		case refusal.Code == "access_denied":
			return Token{}, errors.New("the login was refused: " + describe(refusal.Code, refusal.Description))
		default:
			return Token{}, err
		}
	}
}

type deviceCode struct {
	code, userCode string
	url, complete  string // complete holds the user code where the server offers it
	interval       time.Duration
	lifetime       time.Duration
}

func (c Client) deviceCode(ctx context.Context, p Provider) (deviceCode, error) {
	form := formOf(p.AuthParams)
	form.Set("client_id", p.ClientID)
	if len(p.Scopes) > 0 {
		form.Set("scope", strings.Join(p.Scopes, " "))
	}
	var a struct {
		Code     string          `json:"device_code"`
		UserCode string          `json:"user_code"`
		URI      string          `json:"verification_uri"`
		URL      string          `json:"verification_url"` // name in drafts, still in use
		Complete string          `json:"verification_uri_complete"`
		Expires  json.RawMessage `json:"expires_in"`
		Interval json.RawMessage `json:"interval"`
	}
	err := c.post(ctx, p.DeviceURL, formType, nil, []byte(form.Encode()), &a)
	if err != nil {
		return deviceCode{}, err
	}
	if a.URI == "" {
		a.URI = a.URL
	}
	d := deviceCode{
		code: a.Code, userCode: prose.Plain(a.UserCode, maxWords), url: a.URI, complete: a.Complete,
		interval: max(seconds(a.Interval, defaultInterval), minInterval),
		lifetime: seconds(a.Expires, deviceTimeout),
	}
	if d.code == "" || d.userCode == "" {
		return deviceCode{}, fmt.Errorf("%s answered without a code", hostOf(p.DeviceURL))
	}
	// Both are shown and opened: a server must not make us open a file or a
	// program.
	if checkURL(d.url) != nil {
		return deviceCode{}, fmt.Errorf("%s answered without a usable address to log in at", hostOf(p.DeviceURL))
	}
	if checkURL(d.complete) != nil {
		d.complete = d.url
	}
	return d, nil
}

// seconds reads a number of seconds, in quotes or not.
func seconds(raw json.RawMessage, def time.Duration) time.Duration {
	s, err := strconv.ParseFloat(strings.Trim(string(raw), `"`), 64)
	if err != nil || s <= 0 || s > 1e6 {
		return def
	}
	return time.Duration(s * float64(time.Second))
}

package web

import (
	"errors"
	"net/http"
	"net/url"
	"slices"

	"github.com/burin-dev/burin/internal/platform/outbound"
)

// client sends requests, past a guard that keeps them away from what is not public.
type client struct{ http *http.Client }

// do sends a request. The errors do not repeat it.
func (c *client) do(r *http.Request) (*http.Response, error) {
	r.Header.Set("User-Agent", "Mozilla/5.0 (compatible; burin)")
	r.Header.Set("Accept-Language", "en, *;q=0.5")
	resp, err := c.http.Do(r)
	if err != nil {
		return nil, plain(err)
	}
	return resp, nil
}

// plain is the error without the request that it repeats.
func plain(err error) error {
	var u *url.Error
	if !errors.As(err, &u) {
		return err
	}
	if u.Timeout() {
		return errors.New("no answer in time")
	}
	return u.Err
}

// newClient makes the client of all requests.
func newClient(o Options) *client {
	allowed := o.Private
	if u, err := url.Parse(o.SearXNG.URL); err == nil && u.Host != "" { // the user named it
		allowed = append(slices.Clone(allowed), u.Host)
	}
	base, ok := o.Transport.(*http.Transport)
	if !ok {
		base = http.DefaultTransport.(*http.Transport) //nolint:forcetypeassert // it is one
	}
	base = base.Clone()
	base.DisableCompression = false // pages are read as a whole
	return &client{&http.Client{Transport: outbound.Transport(base, allowed...), Timeout: timeout}}
}

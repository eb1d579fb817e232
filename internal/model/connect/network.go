package connect

import (
	"net/http"
	"sync"

	"github.com/burin-dev/burin/internal/model/credential"
	"github.com/burin-dev/burin/llm/wire"
)

// network is the HTTP client that all share, with the proxies and certificates
// of the environment. It is made when it is first needed. It is a transport
// itself for those who are given a client before that.
type network struct {
	getenv func(string) string

	mu     sync.Mutex
	client *http.Client
	err    error
}

func (n *network) get() (*http.Client, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.client == nil && n.err == nil {
		n.client, n.err = wire.NewClient(wire.OptionsFromEnv(n.getenv))
	}
	return n.client, n.err
}

// RoundTrip sends r through the client, which is made if need be.
func (n *network) RoundTrip(r *http.Request) (*http.Response, error) {
	c, err := n.get()
	if err != nil {
		if r.Body != nil {
			r.Body.Close()
		}
		return nil, err
	}
	return c.Transport.RoundTrip(r)
}

// late is a client that does as the shared one, for use before that is made.
func (n *network) late() *http.Client {
	return &http.Client{
		Transport:     n,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// close frees connections that are kept for further requests.
func (n *network) close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.client != nil {
		n.client.CloseIdleConnections()
	}
}

// bearer is a transport that moves the key of a request from the header which
// the wire format has for keys into Authorization: for access tokens, which no
// vendor takes elsewhere, and for hosts that want all their keys so.
type bearer struct {
	next   http.RoundTripper
	always bool
}

// RoundTrip sends r, or a copy of it with the key moved.
func (b *bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	used := usedBy(r.Context())
	if used == nil || used.Secret == "" || !b.always && used.Kind != credential.KindOAuth {
		return b.next.RoundTrip(r)
	}
	for _, name := range []string{"X-Api-Key", "X-Goog-Api-Key", "Api-Key"} {
		if r.Header.Get(name) != used.Secret.Reveal() {
			continue // a header of the user's
		}
		r = r.Clone(r.Context())
		r.Header.Del(name)
		if r.Header.Get("Authorization") == "" {
			r.Header.Set("Authorization", "Bearer "+used.Secret.Reveal())
		}
	}
	return b.next.RoundTrip(r)
}

package discover

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"

	"github.com/burin-dev/burin/internal/model/catalog"
	"github.com/burin-dev/burin/internal/prose"
)

// servers asks the model servers of this machine.
func (s *search) servers(ctx context.Context) []Finding {
	var out []Finding
	for _, r := range s.catalog.Servers.Discover(ctx, catalog.Search{Local: true}) {
		if r.Err != nil || r.BaseURL == "" {
			continue
		}
		what := r.Provider + " runs and has " + prose.Count(r.Models, "model") + "."
		if r.Models == 0 {
			what = r.Provider + " runs and has no models yet; load one there."
		}
		out = append(out, Finding{Kind: Server, Program: r.Provider, What: what, Path: r.BaseURL, Providers: []string{r.Provider}, Models: r.Models})
	}
	return out
}

var errOutside = errors.New("the address is not on this machine")

// loopbackClient reaches this machine and nothing else, whatever variables, proxies and
// redirects say.
func loopbackClient() *http.Client {
	var d net.Dialer
	return &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true, // nothing stays behind
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			host, port, err := net.SplitHostPort(address)
			if err != nil {
				return nil, err
			}
			if host == "localhost" { // never by a name server
				host = "127.0.0.1"
			}
			if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
				return nil, fmt.Errorf("connect to %s: %w", address, errOutside)
			}
			return d.DialContext(ctx, network, net.JoinHostPort(host, port))
		},
	}}
}

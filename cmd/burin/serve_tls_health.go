package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"github.com/burin-dev/burin/internal/customize/config"
)

// healthTime is how long a server may take to say that it works.
const healthTime = 5 * time.Second

// healthCommand asks the server of this machine how it is: containers and monitors have no other client.
func healthCommand(p *program) *cobra.Command {
	return &cobra.Command{
		Use:   "health [ADDRESS]",
		Short: "Ask whether the server on this machine works",
		Long: `Ask whether the server on this machine works, and exit with 1 if it doesn't. ADDRESS is that
of the server, unless it started last. It needs no token, and sends none.

  burin admin health
  burin admin health http://127.0.0.1:4647`,
		Args: arguments(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			at := ""
			if len(args) > 0 {
				at = args[0]
			}
			return health(cmd.Context(), p, at)
		},
	}
}

func health(ctx context.Context, p *program, at string) error {
	if at == "" {
		paths, err := config.FindPaths(p.getenv)
		if err != nil {
			return err
		}
		s, err := readServed(paths)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		at = cmp.Or(s.URL, "http://"+serveAddress)
	}
	u, err := url.Parse(at)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return usage("%q is not the address of a server, such as http://%s", at, serveAddress)
	}
	t := &http.Transport{DisableKeepAlives: true}
	// The name of the server may lead through the network and back.
	t.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		host, port, err := net.SplitHostPort(address)
		if _, wrong := netip.ParseAddr(host); err == nil && wrong != nil {
			address = net.JoinHostPort("127.0.0.1", port)
		}
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}
	t.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: true} //nolint:gosec // it sends nothing secret, and a server that answers is alive whatever its certificate
	ctx, cancel := context.WithTimeout(ctx, healthTime)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, u.JoinPath("readyz").String(), nil)
	if err != nil {
		return err
	}
	answer, err := (&http.Client{Transport: t}).Do(r)
	if err != nil {
		return fmt.Errorf("ask %s: %w", u, plainURLError(err))
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %w", u, cmp.Or(problemOf(answer), errors.New(answer.Status)))
	}
	fmt.Fprintln(p.out, "ok")
	return nil
}

// plainURLError is the error without the request that it repeats.
func plainURLError(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

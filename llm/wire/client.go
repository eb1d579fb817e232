package wire

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/http/httpproxy"
)

// ClientOptions shape the HTTP client that endpoints share.
type ClientOptions struct {
	// ExtraCA are certificates to trust besides the system's: a file's path or PEM
	// text, in which "\n" may stand for a line end.
	ExtraCA string
	// ClientCert and ClientKey identify this client: paths or PEM text, both or none.
	ClientCert, ClientKey string
	// HTTPProxy and HTTPSProxy are URLs of proxies (http, https or socks5) for
	// plain and encrypted connections; NoProxy lists the hosts that go without, as
	// in the NO_PROXY variable. This machine itself always goes without.
	HTTPProxy, HTTPSProxy, NoProxy string
}

// OptionsFromEnv reads NODE_EXTRA_CA_CERTS, CLAUDE_CODE_CLIENT_CERT and
// CLAUDE_CODE_CLIENT_KEY, and HTTP_PROXY, HTTPS_PROXY, ALL_PROXY (where the
// specific one is not set) and NO_PROXY in upper or lower case.
func OptionsFromEnv(getenv func(string) string) ClientOptions {
	first := func(names ...string) string {
		for _, name := range names {
			for _, n := range []string{name, strings.ToLower(name)} {
				if v := getenv(n); v != "" {
					return v
				}
			}
		}
		return ""
	}
	return ClientOptions{
		ExtraCA:    getenv("NODE_EXTRA_CA_CERTS"),
		ClientCert: getenv("CLAUDE_CODE_CLIENT_CERT"),
		ClientKey:  getenv("CLAUDE_CODE_CLIENT_KEY"),
		HTTPProxy:  first("HTTP_PROXY", "ALL_PROXY"),
		HTTPSProxy: first("HTTPS_PROXY", "ALL_PROXY"),
		NoProxy:    first("NO_PROXY"),
	}
}

// NewClient makes an HTTP client for streams: connections are kept and used
// again, connecting and the TLS handshake are limited to 30 and 15 seconds, the
// exchange as a whole is not. Redirects are not followed, so that no key travels to another host.
func NewClient(o ClientOptions) (*http.Client, error) {
	proxies := httpproxy.Config{HTTPProxy: o.HTTPProxy, HTTPSProxy: o.HTTPSProxy, NoProxy: o.NoProxy}
	proxy := proxies.ProxyFunc()
	t := &http.Transport{
		Proxy:                 func(r *http.Request) (*url.URL, error) { return proxy(r.URL) },
		DialContext:           (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		ForceAttemptHTTP2:     true,
		TLSHandshakeTimeout:   15 * time.Second,
		MaxIdleConns:          64,
		MaxIdleConnsPerHost:   16,
		IdleConnTimeout:       90 * time.Second,
		ExpectContinueTimeout: time.Second,
		DisableCompression:    true, // a compressed stream arrives in lumps
		// A connection that died without a word (sleep, another network) is found
		// and dropped; otherwise every retry would be sent into it again.
		HTTP2: &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 10 * time.Second},
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if o.ExtraCA != "" {
		pem, err := readPEM(o.ExtraCA)
		if err != nil {
			return nil, fmt.Errorf("extra CA certificates: %w", err)
		}
		pool, err := x509.SystemCertPool()
		if err != nil {
			pool = x509.NewCertPool()
		}
		if !pool.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("extra CA certificates: no certificate found in %s", sourceName(o.ExtraCA))
		}
		config.RootCAs = pool
	}
	if (o.ClientCert == "") != (o.ClientKey == "") {
		return nil, fmt.Errorf("client certificate: certificate and key must be given together")
	}
	if o.ClientCert != "" {
		cert, err := readPEM(o.ClientCert)
		if err != nil {
			return nil, fmt.Errorf("client certificate: %w", err)
		}
		key, err := readPEM(o.ClientKey)
		if err != nil {
			return nil, fmt.Errorf("client key: %w", err)
		}
		pair, err := tls.X509KeyPair(cert, key)
		if err != nil {
			return nil, fmt.Errorf("client certificate: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	t.TLSClientConfig = config
	return &http.Client{
		Transport:     t,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, nil
}

func readPEM(s string) ([]byte, error) {
	if strings.Contains(s, "-----BEGIN") {
		return []byte(strings.ReplaceAll(s, `\n`, "\n")), nil
	}
	return os.ReadFile(s)
}

// sourceName names where PEM text came from without printing it.
func sourceName(s string) string {
	if strings.Contains(s, "-----BEGIN") {
		return "the text given"
	}
	return s
}

// DefaultClient is the client of endpoints that name none, with the proxies of
// the environment. It is shared so that connections are.
var DefaultClient = sync.OnceValue(func() *http.Client {
	o := OptionsFromEnv(os.Getenv)
	c, _ := NewClient(ClientOptions{HTTPProxy: o.HTTPProxy, HTTPSProxy: o.HTTPSProxy, NoProxy: o.NoProxy}) // cannot fail without certificates
	return c
})

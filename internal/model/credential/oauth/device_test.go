package oauth_test

import (
	"context"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/burin-dev/burin/internal/model/credential/oauth"
	"github.com/burin-dev/burin/internal/model/credential/oauth/oauthtest"
	"github.com/burin-dev/burin/internal/model/credential/secret"
)

func secretOf(s string) secret.Secret { return secret.Secret(s) }

// pipes is a listener whose connections live in memory, so that servers and
// clients share the clock of a synctest bubble.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}
func (p *pipes) Close() error   { p.once.Do(func() { close(p.done) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

// inBubble serves h for every https host over pipes.
func inBubble(t *testing.T, h http.Handler) oauth.Client {
	p := &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
	server := &http.Server{Handler: h}
	go func() { _ = server.Serve(p) }()
	dial := func(context.Context, string, string) (net.Conn, error) {
		near, far := net.Pipe()
		p.conns <- far
		return near, nil
	}
	tr := &http.Transport{DialTLSContext: dial, DialContext: dial}
	t.Cleanup(func() {
		tr.CloseIdleConnections()
		_ = server.Close()
	})
	return oauth.Client{HTTP: &http.Client{Transport: tr}}
}

func TestDevice(t *testing.T) {
	fault := func(at int, f func(w http.ResponseWriter)) func(http.ResponseWriter, *http.Request, string) bool {
		n := 0
		return func(w http.ResponseWriter, _ *http.Request, path string) bool {
			if path != "/token" {
				return false
			}
			n++
			if n == at {
				f(w)
			}
			return n == at
		}
	}
	tests := []struct {
		name   string
		server oauthtest.Server
		want   string // of the error; empty = success
		after  time.Duration
	}{
		{"at once", oauthtest.Server{Device: oauthtest.Device{Interval: 2}}, "", 2 * time.Second},
		{"default interval", oauthtest.Server{}, "", 5 * time.Second},
		{"pending", oauthtest.Server{Device: oauthtest.Device{Interval: 3, Answers: []string{"authorization_pending", "authorization_pending"}}}, "", 9 * time.Second},
		{"slow down", oauthtest.Server{Device: oauthtest.Device{Interval: 1, Answers: []string{"slow_down", "authorization_pending", "slow_down"}}}, "", (1 + 6 + 6 + 11) * time.Second},
		{"server fails", oauthtest.Server{Device: oauthtest.Device{Interval: 1}, Intercept: fault(1, func(w http.ResponseWriter) { w.WriteHeader(500) })}, "", (1 + 2) * time.Second},
		{"connection breaks", oauthtest.Server{Device: oauthtest.Device{Interval: 1}, Intercept: fault(1, func(http.ResponseWriter) { panic(http.ErrAbortHandler) })}, "", (1 + 2) * time.Second},
		{"denied", oauthtest.Server{Device: oauthtest.Device{Interval: 1, Answers: []string{"access_denied"}}}, "denied", time.Second},
		{"expired there", oauthtest.Server{Device: oauthtest.Device{Interval: 1, Answers: []string{"expired_token"}}}, "not entered in time", time.Second},
		{"expired here", oauthtest.Server{Device: oauthtest.Device{Interval: 4, ExpiresIn: 10, Answers: []string{"authorization_pending", "authorization_pending", "authorization_pending"}}}, "not entered in time", 10 * time.Second},
		{"unknown refusal", oauthtest.Server{Device: oauthtest.Device{Interval: 1, Answers: []string{"unauthorized_client"}}}, "unauthorized_client", time.Second},
	}
	for i := range tests {
		tt := &tests[i]
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tt.server.ClientID = "c"
				if tt.server.Device.URI == "" {
					tt.server.Device.URI = "https://acme.example/enter"
				}
				c := inBubble(t, &tt.server)
				p := oauth.Provider{ID: "acme", ClientID: "c", DeviceURL: "https://acme.example/device", TokenURL: "https://acme.example/token"}
				var notice oauth.Notice
				begin := time.Now()
				token, err := c.Device(t.Context(), p, oauth.UI{Show: func(n oauth.Notice) { notice = n }})
				if (err != nil) != (tt.want != "") || err != nil && !strings.Contains(err.Error(), tt.want) {
					t.Fatalf("error %v, want %q", err, tt.want)
				}
				if err == nil && token.Access == "" {
					t.Error("no token")
				}
				if got := time.Since(begin); got != tt.after {
					t.Errorf("after %s, want %s", got, tt.after)
				}
				if notice.UserCode != "WDJB-MJHT" || notice.URL != "https://acme.example/enter" {
					t.Errorf("notice %+v", notice)
				}
			})
		})
	}
}

func TestDeviceRefusesDangerousAddress(t *testing.T) {
	s := &oauthtest.Server{Device: oauthtest.Device{URI: "file:///etc/passwd"}}
	p := serve(t, s)
	_, err := client(t).Device(t.Context(), p, oauth.UI{Open: func(u string) error { t.Errorf("opened %s", u); return nil }})
	if err == nil || !strings.Contains(err.Error(), "usable address") {
		t.Errorf("error %v", err)
	}
}

func TestValidate(t *testing.T) {
	good := oauth.Provider{ID: "acme", AuthURL: "https://a.example/authorize", TokenURL: "https://a.example/token", ClientID: "abc"}
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	for _, p := range oauth.Builtin() {
		if err := p.Validate(); err != nil {
			t.Errorf("built in: %v", err)
		}
	}
	tests := []struct {
		name  string
		spoil func(*oauth.Provider)
		want  string
	}{
		{"nothing to visit", func(p *oauth.Provider) { p.AuthURL = "" }, "authUrl or deviceUrl must be set"},
		{"no token endpoint", func(p *oauth.Provider) { p.TokenURL = "" }, "tokenUrl must be set"},
		{"plain http", func(p *oauth.Provider) { p.TokenURL = "http://a.example/token" }, "tokenUrl must begin with https://"},
		{"other scheme", func(p *oauth.Provider) { p.AuthURL = "javascript://a/b" }, "authUrl must begin with https://"},
		{"no URL", func(p *oauth.Provider) { p.DeviceURL = "device" }, "deviceUrl is not a URL"},
		{"password", func(p *oauth.Provider) { p.TokenURL = "https://u:p@a.example/" }, "user name or password"},
		{"fragment", func(p *oauth.Provider) { p.AuthURL = "https://a.example/#x" }, "fragment"},
		{"no client", func(p *oauth.Provider) { p.ClientID = "" }, "clientId"},
		{"two scopes in one", func(p *oauth.Provider) { p.Scopes = []string{"a b"} }, "scopes"},
		{"foreign host", func(p *oauth.Provider) { p.RedirectHost = "0.0.0.0" }, "redirectHost"},
		{"port", func(p *oauth.Provider) { p.RedirectPort = 70000 }, "redirectPort"},
		{"path", func(p *oauth.Provider) { p.RedirectPath = "//evil.example/" }, "redirectPath"},
		{"path with query", func(p *oauth.Provider) { p.RedirectPath = "/cb?x=1" }, "redirectPath"},
		{"state by hand", func(p *oauth.Provider) { p.AuthParams = map[string]string{"state": "x"} }, `authParams cannot set "state"`},
		{"secret", func(p *oauth.Provider) { p.TokenParams = map[string]string{"client_secret": "x"} }, `tokenParams cannot set "client_secret"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := good
			tt.spoil(&p)
			if err := p.Validate(); err == nil || !strings.Contains(err.Error(), "oauth of acme: ") || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
	for _, local := range []string{"http://127.0.0.1:99/token", "http://localhost/token", "http://[::1]/token"} {
		p := good
		p.TokenURL = local
		if err := p.Validate(); err != nil {
			t.Errorf("%s: %v", local, err)
		}
	}
}

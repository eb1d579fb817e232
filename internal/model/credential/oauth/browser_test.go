package oauth_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/burin-dev/burin/internal/model/credential/oauth"
	"github.com/burin-dev/burin/internal/model/credential/oauth/oauthtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// client is an HTTP client of its own, so that no test leaves connections.
func client(t *testing.T) oauth.Client {
	t.Helper()
	tr := &http.Transport{}
	t.Cleanup(tr.CloseIdleConnections)
	return oauth.Client{HTTP: &http.Client{Transport: tr}}
}

func serve(t *testing.T, s *oauthtest.Server) oauth.Provider {
	t.Helper()
	s.ClientID = "our-client"
	ts := httptest.NewServer(s)
	t.Cleanup(ts.Close)
	return oauth.Provider{
		ID: "acme", AuthURL: ts.URL + "/authorize?tenant=1", TokenURL: ts.URL + "/token", DeviceURL: ts.URL + "/device",
		ClientID: s.ClientID, Scopes: []string{"models", "offline"},
	}
}

// browser visits the address as a browser would and returns the last page.
func browser(t *testing.T, address string) (status int, body string) {
	t.Helper()
	tr := &http.Transport{}
	defer tr.CloseIdleConnections()
	resp, err := (&http.Client{Transport: tr}).Get(address)
	if err != nil {
		t.Errorf("browser: %v", err)
		return 0, ""
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Errorf("browser: %v", err)
	}
	return resp.StatusCode, string(b)
}

// redirectOf is the callback address that an authorization URL names.
func redirectOf(t *testing.T, address string) (redirect *url.URL, state string) {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	s := u.Query().Get("redirect_uri")
	if s == "" {
		s = u.Query().Get("callback_url")
	}
	if redirect, err = url.Parse(s); err != nil {
		t.Fatal(err)
	}
	return redirect, u.Query().Get("state")
}

func TestAuthorize(t *testing.T) {
	s := &oauthtest.Server{ExpiresIn: 3600}
	p := serve(t, s)
	p.AuthParams = map[string]string{"prompt": "consent"}
	p.TokenParams = map[string]string{"audience": "models"}
	var page string
	var notice oauth.Notice
	token, err := client(t).Authorize(t.Context(), p, oauth.UI{
		Show: func(n oauth.Notice) { notice = n },
		Open: func(u string) error { _, page = browser(t, u); return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(token.Access.Reveal(), "access-canary") || !strings.HasPrefix(token.Refresh.Reveal(), "refresh-canary") || token.APIKey {
		t.Errorf("token %q, refresh %q, key %v", token.Access.Reveal(), token.Refresh.Reveal(), token.APIKey)
	}
	if token.Lifetime != time.Hour {
		t.Errorf("lives %s, want an hour", token.Lifetime)
	}
	if token.Account != "kim@example.com" {
		t.Errorf("account %q", token.Account)
	}
	if !strings.Contains(page, "go back to the terminal") {
		t.Errorf("the page says %q", page)
	}
	q, err := url.Parse(notice.URL)
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{"tenant": "1", "prompt": "consent", "scope": "models offline", "response_type": "code"} {
		if got := q.Query().Get(key); got != want {
			t.Errorf("authorization parameter %s = %q, want %q", key, got, want)
		}
	}
	if got := s.Forms()[0].Get("audience"); got != "models" {
		t.Errorf("token parameter audience = %q", got)
	}
	redirect, _ := redirectOf(t, notice.URL)
	if conn, err := net.Dial("tcp", redirect.Host); err == nil {
		conn.Close()
		t.Error("something still listens after the login")
	}
}

func TestAuthorizeForKey(t *testing.T) {
	p := serve(t, &oauthtest.Server{})
	base := strings.TrimSuffix(p.TokenURL, "/token")
	p = oauth.Builtin()[0]
	p.AuthURL, p.TokenURL = base+"/auth", base+"/keys"
	var opened string
	token, err := client(t).Authorize(t.Context(), p, oauth.UI{Open: func(u string) error {
		opened = u
		redirect, _ := redirectOf(t, u)
		redirect.Path = "/callback/wrong"
		redirect.RawQuery = "code=stolen"
		if status, _ := browser(t, redirect.String()); status != http.StatusNotFound {
			t.Errorf("a wrong state in the path gives %d", status)
		}
		browser(t, u)
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	if !token.APIKey || !strings.HasPrefix(token.Access.Reveal(), "sk-or-canary") || token.Account != "user_1" {
		t.Errorf("key %q of %q, is a key: %v", token.Access.Reveal(), token.Account, token.APIKey)
	}
	if redirect, _ := redirectOf(t, opened); redirect.Hostname() != "localhost" {
		t.Errorf("callback %s, want the host the vendor documents", redirect)
	}
}

// What reaches the callback beside the one right answer must neither end the
// login nor count.
func TestCallbackRefuses(t *testing.T) {
	p := serve(t, &oauthtest.Server{})
	visit := func(u *url.URL, method, host string) int {
		req, err := http.NewRequest(method, u.String(), nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = host
		tr := &http.Transport{}
		defer tr.CloseIdleConnections()
		resp, err := tr.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp.StatusCode
	}
	tests := []struct {
		name, method, path, query, host string
		want                            int
	}{
		{"wrong state", "GET", "", "code=x&state=wrong", "", 400},
		{"no state", "GET", "", "code=x", "", 400},
		{"refusal without state", "GET", "", "error=access_denied", "", 400},
		{"no code", "GET", "", "state=STATE", "", 400},
		{"other path", "GET", "/other", "code=x&state=STATE", "", 404},
		{"post", "POST", "", "code=x&state=STATE", "", 405},
		{"other host", "GET", "", "code=x&state=STATE", "evil.example:80", 403},
	}
	_, err := client(t).Authorize(t.Context(), p, oauth.UI{Open: func(address string) error {
		redirect, state := redirectOf(t, address)
		for _, tt := range tests {
			u := *redirect
			if tt.path != "" {
				u.Path = tt.path
			}
			u.RawQuery = strings.ReplaceAll(tt.query, "STATE", state)
			if got := visit(&u, tt.method, tt.host); got != tt.want {
				t.Errorf("%s: status %d, want %d", tt.name, got, tt.want)
			}
		}
		browser(t, address)
		return nil
	}})
	if err != nil {
		t.Errorf("the login did not survive: %v", err)
	}
}

func TestCallbackCountsOnce(t *testing.T) {
	s := &oauthtest.Server{}
	p := serve(t, s)
	_, err := client(t).Authorize(t.Context(), p, oauth.UI{Open: func(address string) error {
		browser(t, address)
		redirect, state := redirectOf(t, address)
		redirect.RawQuery = url.Values{"code": {"replayed"}, "state": {state}}.Encode()
		if status, _ := browser(t, redirect.String()); status != http.StatusGone {
			t.Errorf("a second answer gives %d, want gone", status)
		}
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Forms()[0].Get("code"); got == "replayed" {
		t.Error("the second answer won")
	}
}

func TestAuthorizeFails(t *testing.T) {
	refuseIn := func(path string, status int, code string) func(http.ResponseWriter, *http.Request, string) bool {
		return func(w http.ResponseWriter, _ *http.Request, at string) bool {
			if at != path {
				return false
			}
			oauthtest.Refuse(w, status, code, "because")
			return true
		}
	}
	tests := []struct {
		name   string
		server *oauthtest.Server
		answer string // query sent to the callback instead of the server's
		want   string
	}{
		{"denied", &oauthtest.Server{}, "error=access_denied&state=STATE", "access was denied in the browser"},
		{"denied with markup", &oauthtest.Server{}, "error=server_error&error_description=<script>%0Aalert&state=STATE", "server_error (<script> alert)"},
		{"code refused", &oauthtest.Server{}, "code=guessed&state=STATE", "invalid_grant (the code does not fit)"},
		{"token endpoint fails", &oauthtest.Server{Intercept: refuseIn("/token", 500, "server_error")}, "", "server_error (because)"},
		{"web page", &oauthtest.Server{Intercept: func(w http.ResponseWriter, _ *http.Request, at string) bool {
			if at == "/token" {
				fmt.Fprint(w, "<html>hello")
			}
			return at == "/token"
		}}, "", "not JSON"},
		{"no token", &oauthtest.Server{Intercept: func(w http.ResponseWriter, _ *http.Request, at string) bool {
			if at == "/token" {
				fmt.Fprint(w, `{"access_token":"a\nb"}`)
			}
			return at == "/token"
		}}, "", "without a usable access token"},
		{"strange token", &oauthtest.Server{Intercept: func(w http.ResponseWriter, _ *http.Request, at string) bool {
			if at == "/token" {
				fmt.Fprint(w, `{"access_token":"canary","token_type":"mac"}`)
			}
			return at == "/token"
		}}, "", "only bearer tokens"},
		{"refusal with status 200", &oauthtest.Server{Intercept: refuseIn("/token", 200, "bad_verification_code")}, "", "bad_verification_code (because)"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := serve(t, tt.server)
			var page string
			_, err := client(t).Authorize(t.Context(), p, oauth.UI{Open: func(address string) error {
				if tt.answer != "" {
					redirect, state := redirectOf(t, address)
					redirect.RawQuery = strings.ReplaceAll(tt.answer, "STATE", state)
					address = redirect.String()
				}
				_, page = browser(t, address)
				return nil
			}})
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %v, want one line with %q", err, tt.want)
			}
			if err != nil && strings.Contains(err.Error(), "canary") {
				t.Errorf("the error shows a secret: %v", err)
			}
			if strings.Contains(page, "<script>") {
				t.Errorf("markup reached the page: %s", page)
			}
		})
	}
}

func TestAuthorizePasted(t *testing.T) {
	p := serve(t, &oauthtest.Server{})
	base := strings.TrimSuffix(p.TokenURL, "/token")
	key := oauth.Builtin()[0]
	key.AuthURL, key.TokenURL = base+"/auth", base+"/keys"
	for _, p := range []oauth.Provider{p, key} {
		t.Run(p.ID, func(t *testing.T) {
			var opened string
			asked := 0
			var problems []string
			_, err := client(t).Authorize(t.Context(), p, oauth.UI{
				Open: func(u string) error { opened = u; return errors.New("no browser on this machine") },
				Paste: func(_ context.Context, problem string) (string, error) {
					problems = append(problems, problem)
					asked++
					landed := landing(t, opened)
					switch asked {
					case 1:
						return "hello", nil
					case 2:
						return landed.Query().Get("code"), nil
					case 3:
						return "http://127.0.0.1/callback/nonsense?state=wrong&code=abc", nil
					}
					return "  '" + landed.String() + "'\n", nil
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			if len(problems) != 4 || problems[0] != "" || !strings.Contains(problems[1], "whole address") || !strings.Contains(problems[3], "does not belong") {
				t.Errorf("problems %q", problems)
			}
		})
	}
}

// landing is where the authorization server sends the browser.
func landing(t *testing.T, address string) *url.URL {
	tr := &http.Transport{}
	defer tr.CloseIdleConnections()
	req, err := http.NewRequest(http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := tr.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	u, err := resp.Location()
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestFixedPort(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	p := serve(t, &oauthtest.Server{})
	p.RedirectPort, p.RedirectHost, p.RedirectPath = l.Addr().(*net.TCPAddr).Port, "localhost", "/auth/back"

	_, err = client(t).Authorize(t.Context(), p, oauth.UI{})
	if err == nil || !strings.Contains(err.Error(), "another login") {
		t.Errorf("error %v of a port in use", err)
	}
	var opened string
	_, err = client(t).Authorize(t.Context(), p, oauth.UI{
		Open:  func(u string) error { opened = u; return nil },
		Paste: func(context.Context, string) (string, error) { return landing(t, opened).String(), nil },
	})
	if err != nil {
		t.Errorf("pasting does not help: %v", err)
	}
	redirect, _ := redirectOf(t, opened)
	if want := fmt.Sprintf("http://localhost:%d/auth/back", p.RedirectPort); redirect.String() != want {
		t.Errorf("callback %s, want %s", redirect, want)
	}
	if _, err = client(t).Authorize(t.Context(), p, oauth.UI{
		Paste: func(context.Context, string) (string, error) { return "", io.ErrUnexpectedEOF },
	}); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("error %v, want that of the paste", err)
	}
	l.Close()
	if _, err := client(t).Authorize(t.Context(), p, oauth.UI{Open: func(u string) error {
		u2, err := url.Parse(u)
		if err != nil {
			t.Fatal(err)
		}
		browser(t, u2.String())
		return nil
	}}); err != nil {
		t.Errorf("a free port: %v", err)
	}
}

func TestAuthorizeEndsWithContext(t *testing.T) {
	p := serve(t, &oauthtest.Server{})
	ctx, cancel := context.WithCancel(t.Context())
	_, err := client(t).Authorize(ctx, p, oauth.UI{Open: func(string) error { cancel(); return nil }})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want cancelled", err)
	}
}

func TestRefresh(t *testing.T) {
	s := &oauthtest.Server{ExpiresIn: 60}
	p := serve(t, s)
	r := oauth.Renewal{TokenURL: p.TokenURL, ClientID: p.ClientID, Params: map[string]string{"resource": "x"}}
	r.Refresh = secretOf(s.Issue())
	first, err := client(t).Refresh(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if first.Refresh == r.Refresh || s.Forms()[0].Get("resource") != "x" {
		t.Errorf("refresh token not rotated, or parameters %v", s.Forms()[0])
	}
	_, err = client(t).Refresh(t.Context(), r)
	if !oauth.Revoked(err) || oauth.Transient(err) {
		t.Errorf("a second use gives %v", err)
	}
	s.KeepRefresh = true
	r.Refresh = secretOf(s.Issue())
	kept, err := client(t).Refresh(t.Context(), r)
	if err != nil || kept.Refresh != r.Refresh {
		t.Errorf("a server that gives no new refresh token: %v, kept %v", err, kept.Refresh == r.Refresh)
	}
}

func TestRefreshUnderFaults(t *testing.T) {
	tests := []struct {
		name      string
		intercept func(n int, w http.ResponseWriter, r *http.Request) bool
		want      string // of the error; empty = success
		requests  int
		transient bool
		revoked   bool
	}{
		{"fails once", func(n int, w http.ResponseWriter, _ *http.Request) bool {
			if n == 1 {
				w.WriteHeader(500)
			}
			return n == 1
		}, "", 2, false, false},
		{"fails for good", func(_ int, w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(503); return true }, "HTTP 503", 2, true, false},
		{"too many", func(_ int, w http.ResponseWriter, _ *http.Request) bool {
			oauthtest.Refuse(w, 429, "slow_down", "")
			return true
		}, "slow_down", 2, true, false},
		{"breaks in the middle", func(_ int, w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Content-Length", "100")
			fmt.Fprint(w, "{")
			panic(http.ErrAbortHandler)
		}, "acme.example: ", 1, true, false},
		{"invalid grant", func(_ int, w http.ResponseWriter, _ *http.Request) bool {
			oauthtest.Refuse(w, 400, "invalid_grant", "revoked\nby you")
			return true
		}, "acme.example refused: invalid_grant (revoked by you)", 1, false, true},
		{"model API's error", func(_ int, w http.ResponseWriter, _ *http.Request) bool {
			w.WriteHeader(403)
			fmt.Fprint(w, `{"error":{"message":"no","code":403}}`)
			return true
		}, "acme.example refused: no", 1, false, false},
		{"silent", func(_ int, _ http.ResponseWriter, r *http.Request) bool {
			_, _ = io.Copy(io.Discard, r.Body) // else the server does not see that the client is gone
			<-r.Context().Done()
			return true
		}, "did not answer within 20s", 1, true, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var n atomic.Int32
				s := &oauthtest.Server{ClientID: "c", Intercept: func(w http.ResponseWriter, r *http.Request, _ string) bool {
					return tt.intercept(int(n.Add(1)), w, r)
				}}
				c := inBubble(t, s)
				_, err := c.Refresh(t.Context(), oauth.Renewal{TokenURL: "https://acme.example/token", ClientID: "c", Refresh: secretOf(s.Issue())})
				if (err != nil) != (tt.want != "") || err != nil && !strings.Contains(err.Error(), tt.want) {
					t.Errorf("error %v, want %q", err, tt.want)
				}
				if got := int(n.Load()); got != tt.requests {
					t.Errorf("%d requests, want %d", got, tt.requests)
				}
				if oauth.Transient(err) != tt.transient || oauth.Revoked(err) != tt.revoked {
					t.Errorf("transient %v revoked %v, want %v %v", oauth.Transient(err), oauth.Revoked(err), tt.transient, tt.revoked)
				}
				if err != nil && (strings.Contains(err.Error(), "canary") || strings.Contains(err.Error(), "\n")) {
					t.Errorf("error %q", err)
				}
			})
		})
	}
}

package oauth_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/model/credential/oauth"
	"github.com/burin-dev/burin/internal/model/credential/oauth/oauthtest"
)

// to sends all requests to one handler, whatever their host, and notes where they went.
type to struct {
	handler http.Handler
	hosts   *[]string
}

func (t to) RoundTrip(r *http.Request) (*http.Response, error) {
	*t.hosts = append(*t.hosts, r.URL.Scheme+"://"+r.URL.Host)
	w := httptest.NewRecorder()
	t.handler.ServeHTTP(w, r)
	return w.Result(), nil
}

// What a service and its authorization server say is checked, and no other host is asked.
func TestDiscover(t *testing.T) {
	t.Parallel()
	const service = "https://service.example/mcp"
	put := func(what, key string, value any) func(string, map[string]any) {
		return func(doc string, d map[string]any) {
			if doc == what {
				d[key] = value
			}
		}
	}
	for name, tt := range map[string]struct {
		change func(string, map[string]any)
		edit   func(*oauth.Resource)
		wrong  string // "" = it can be logged in to
	}{
		"as it should be":            {},
		"another service":            {change: put("resource", "resource", "https://other.example/mcp"), wrong: "about another service"},
		"a path next to it":          {change: put("resource", "resource", "https://service.example/mc"), wrong: "about another service"},
		"the whole host":             {change: put("resource", "resource", "https://service.example")},
		"metadata elsewhere":         {edit: func(r *oauth.Resource) { r.Challenge.Metadata = "https://evil.example/metadata" }, wrong: "at another host"},
		"a server in the clear":      {change: put("resource", "authorization_servers", []string{"http://auth.example"}), wrong: "https://"},
		"a server of this machine":   {change: put("resource", "authorization_servers", []string{"https://127.0.0.1:9"}), wrong: "this machine"},
		"another issuer":             {change: put("server", "issuer", "https://evil.example"), wrong: "says that it is another one"},
		"no PKCE":                    {change: put("server", "code_challenge_methods_supported", []string{"plain"}), wrong: "PKCE"},
		"a token endpoint in clear":  {change: put("server", "token_endpoint", "http://service.example/token"), wrong: "token endpoint"},
		"a token endpoint here":      {change: put("server", "token_endpoint", "http://localhost:11434/api"), wrong: "this machine"},
		"a page to log in of a file": {change: put("server", "authorization_endpoint", "file:///etc/passwd"), wrong: "page to log in"},
		"a registration here":        {change: put("server", "registration_endpoint", "http://127.0.0.1/x"), wrong: "registration"},
		"no registration":            {change: put("server", "registration_endpoint", ""), wrong: "oauth.clientId"},
		"a client of the user":       {change: put("server", "registration_endpoint", ""), edit: func(r *oauth.Resource) { r.Client.ID = "mine" }},
		"a service in the clear":     {edit: func(r *oauth.Resource) { r.URL = "http://service.example/mcp" }, wrong: "https://"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &oauthtest.Service{URL: service, Change: tt.change}
			var hosts []string
			c := oauth.Client{HTTP: &http.Client{Transport: to{s, &hosts}}}
			r := oauth.Resource{URL: service, Refused: true}
			if tt.edit != nil {
				tt.edit(&r)
			}
			p, err := c.Discover(t.Context(), r)
			if tt.wrong != "" {
				if err == nil || !strings.Contains(err.Error(), tt.wrong) {
					t.Errorf("%v, want %q", err, tt.wrong)
				}
			} else if err != nil {
				t.Error(err)
			} else if p.AuthURL != "https://service.example/authorize" || p.Issuer != "https://service.example" || !slices.Equal(p.Scopes, []string{"read"}) ||
				!strings.HasPrefix(p.TokenParams["resource"], "https://service.example") {
				t.Errorf("%+v", p)
			}
			for _, h := range hosts {
				if h != "https://service.example" {
					t.Errorf("%s was asked", h)
				}
			}
		})
	}
}

// A service that is its own authorization server, as in 2025-03-26, may call itself by any path of its
// host, and by no other host.
func TestDiscoverPlain(t *testing.T) {
	t.Parallel()
	for issuer, ok := range map[string]bool{"https://service.example/oauth": true, "https://service.example.evil.example/": false, "https://evil.example/oauth": false} {
		s := &oauthtest.Service{URL: "https://service.example/mcp", Change: func(doc string, d map[string]any) {
			if d["issuer"] = issuer; doc == "resource" {
				d["authorization_servers"] = []string{}
			}
		}}
		var hosts []string
		_, err := oauth.Client{HTTP: &http.Client{Transport: to{s, &hosts}}}.Discover(t.Context(), oauth.Resource{URL: s.URL, Refused: true})
		if ok != (err == nil) {
			t.Errorf("%s: %v", issuer, err)
		}
	}
}

// A redirect does not lead a request for metadata, or one with a code, to another host.
func TestDiscoverFollowsNoRedirect(t *testing.T) {
	t.Parallel()
	var hosts []string
	c := oauth.Client{HTTP: &http.Client{Transport: to{http.RedirectHandler("https://evil.example/", http.StatusTemporaryRedirect), &hosts}}}
	if _, err := c.Discover(t.Context(), oauth.Resource{URL: "https://service.example/mcp"}); err == nil {
		t.Error("a redirect is metadata")
	}
	if _, err := c.Refresh(t.Context(), oauth.Renewal{TokenURL: "https://service.example/token", ClientID: "c", Refresh: "r"}); err == nil {
		t.Error("a redirect is a token")
	}
	if slices.Contains(hosts, "https://evil.example") {
		t.Errorf("asked: %q", hosts)
	}
}

// An answer that names another issuer than the login began at ends the login.
func TestAnotherIssuerAnswers(t *testing.T) {
	for _, tt := range []struct {
		iss   string
		named bool
		ok    bool
	}{{"", false, true}, {"ISSUER", true, true}, {"https://evil.example", false, false}, {"", true, false}} {
		s := &oauthtest.Server{}
		p := serve(t, s)
		p.Issuer, p.NamesIssuer = strings.TrimSuffix(p.TokenURL, "/token"), tt.named
		s.Intercept = func(w http.ResponseWriter, r *http.Request, path string) bool {
			if path != "/authorize" || tt.iss == "" {
				return false
			}
			q := r.URL.Query()
			back := q.Get("redirect_uri")
			q.Set("redirect_uri", back+"?iss="+strings.Replace(tt.iss, "ISSUER", p.Issuer, 1))
			r.URL.RawQuery = q.Encode()
			return false
		}
		_, err := client(t).Authorize(t.Context(), p, oauth.UI{Open: func(u string) error { browser(t, u); return nil }})
		if tt.ok && err != nil && strings.Contains(err.Error(), "another authorization server") || !tt.ok && (err == nil || !strings.Contains(err.Error(), "another authorization server")) {
			t.Errorf("iss %q, named %v: %v", tt.iss, tt.named, err)
		}
	}
}

func TestParseChallenge(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		headers            []string
		metadata, code, sc string
	}{
		{[]string{`Bearer resource_metadata="https://a.example/x", scope="a b", error=invalid_token`}, "https://a.example/x", "invalid_token", "a b"},
		{[]string{`Basic realm="x"`, `bearer Error="insufficient_scope",scope="c"`}, "", "insufficient_scope", "c"},
		{[]string{`Bearer realm="a, scope=\"x\"", scope=d`}, "", "", "d"},
		{[]string{`Bearer`, `Bearer =`, `Bearer scope="never closed`}, "", "", "never closed"},
		{nil, "", "", ""},
	} {
		got := oauth.ParseChallenge(tt.headers)
		if got.Metadata != tt.metadata || got.Error != tt.code || strings.Join(got.Scopes, " ") != tt.sc {
			t.Errorf("%q: %+v", tt.headers, got)
		}
	}
}

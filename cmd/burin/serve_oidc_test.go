package main

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/browsertest"
	"github.com/burin-dev/burin/internal/chat/oidc/oidctest"
	"github.com/burin-dev/burin/internal/chat/people"
	"github.com/burin-dev/burin/internal/pacetest"
)

// oidcServer is a server whose people sign in with an issuer.
func oidcServer(t *testing.T, is *oidctest.Issuer, more string, args ...string) (*exec.Cmd, *httpClient) {
	t.Helper()
	cmd := machine(t, newBrain(t), rpcConfig+"server:\n  oidc:\n    box:\n      label: The <Box>\n      issuer: "+is.URL+"\n      clientId: burin\n      clientSecretEnv: BOX_SECRET\n"+more)
	cmd.Env = append(cmd.Env, "BOX_SECRET="+oidctest.Secret)
	return cmd, serveIt(t, cmd, args...)
}

// flow is a browser on its way through a provider.
type flow struct {
	c      *httpClient
	with   string       // the provider; "" is box
	cookie *http.Cookie // of the way
	signed *http.Cookie // that it is signed in with; nil: it isn't
}

// begins goes to the provider.
func (f *flow) begins() (to string) {
	f.c.t.Helper()
	answer, body := f.c.get("/signin/with/"+cmp.Or(f.with, "box"), f.signed)
	if answer.StatusCode != http.StatusSeeOther || len(answer.Cookies()) != 1 {
		f.c.t.Fatalf("%s %v\n%s", answer.Status, answer.Cookies(), body)
	}
	f.cookie = answer.Cookies()[0]
	return answer.Header.Get("Location")
}

// returns gives the address at which the provider has the browser come back.
func (f *flow) returns(to string) string {
	f.c.t.Helper()
	r, err := http.NewRequestWithContext(f.c.t.Context(), "GET", to, nil)
	if err != nil {
		f.c.t.Fatal(err)
	}
	answer, _ := f.c.visit(r)
	back, err := answer.Location()
	if err != nil || back.Scheme+"://"+back.Host != f.c.url {
		f.c.t.Fatalf("%s leads to %v, %v", to, back, err)
	}
	return back.RequestURI()
}

// comes comes back.
func (f *flow) comes(path string) (*http.Response, string) {
	f.c.t.Helper()
	r := f.c.request("GET", path, "")
	r.Header.Del("Authorization")
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	for _, c := range []*http.Cookie{f.cookie, f.signed} {
		if c != nil {
			r.AddCookie(c)
		}
	}
	answer, body := f.c.visit(r)
	for _, c := range answer.Cookies() {
		if !strings.HasSuffix(c.Name, "-flow") {
			f.signed = c
		} else if c.MaxAge >= 0 {
			f.c.t.Errorf("the way stays: %v", c)
		}
	}
	return answer, body
}

// signsIn goes all the way.
func (f *flow) signsIn() (*http.Response, string) {
	f.c.t.Helper()
	return f.comes(f.returns(f.begins()))
}

// People sign in with an account elsewhere that they have linked, or that brings an account with it where
// the settings say so; nobody becomes somebody else. With admit they are admitted, with domains and
// groups only some.
func TestServeOIDC(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	is := oidctest.New(t)
	is.Person(map[string]any{"sub": "1", "email": "ann@example.org", "email_verified": true, "name": "Ann Other", "preferred_username": "ann", "roles": []string{"staff"}})
	without := serveIt(t, machine(t, newBrain(t), rpcConfig+"server:\n  oidc: {}\n"))
	if _, said := (asker{}).ask(without, "GET", "/v1/signin", ""); !strings.Contains(said, `"providers":[]`) {
		t.Error(said)
	}
	cmd, c := oidcServer(t, is, "")
	ann := c.member(cmd, "ann", people.Member)
	if answer, body := c.get("/signin", nil); answer.StatusCode != http.StatusOK || !strings.Contains(body, `<a class="button" href="/signin/with/box">Sign in with The &lt;Box&gt;</a>`) {
		t.Errorf("%s\n%s", answer.Status, body)
	}
	if _, said := (asker{}).ask(c, "GET", "/v1/signin", ""); !strings.Contains(said, `{"passkeys":false,"providers":[{"id":"box","label":"The \u003cBox\u003e","path":"/signin/with/box"}]}`) {
		t.Error(said)
	}
	f := &flow{c: c}
	if answer, body := f.signsIn(); answer.StatusCode != http.StatusUnprocessableEntity || f.signed != nil || !strings.Contains(body, "nobody here has linked that account") {
		t.Errorf("%s\n%s", answer.Status, body)
	}
	if f.cookie.Name != "burin-flow" || !f.cookie.HttpOnly || f.cookie.SameSite != http.SameSiteLaxMode || f.cookie.MaxAge != 600 {
		t.Errorf("%v", f.cookie)
	}
	// Ann links it.
	if answer, body := c.form("/account/link", ann.cookie, url.Values{"provider": {"box"}, "password": {"wrong"}}); answer.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(body, "The password is wrong.") {
		t.Errorf("%s\n%s", answer.Status, body)
	}
	answer, body := c.form("/account/link", ann.cookie, url.Values{"provider": {"box"}, "password": {personPassword}})
	to := strings.TrimPrefix(answer.Header.Get("Refresh"), "0; url=")
	if answer.StatusCode != http.StatusOK || !strings.HasPrefix(to, is.URL+"/authorize?") || len(answer.Cookies()) != 1 || !strings.Contains(body, `<a class="button" href="`+is.URL) {
		t.Fatalf("%s %v\n%s", answer.Status, answer.Header, body)
	}
	way := answer.Cookies()[0]
	back := (&flow{c: c}).returns(to)
	bob := c.member(cmd, "bob", people.Member)
	thief := &flow{c: c, cookie: way, signed: bob.cookie}
	if answer, _ := thief.comes(back); answer.Header.Get("Location") != "/signin" {
		t.Errorf("bob ends what ann began: %s %v", answer.Status, answer.Header)
	}
	_, said := ann.ask(c, "POST", "/v1/me/linked/begin", fmt.Sprintf(`{"provider":"box","password":%q}`, personPassword))
	if !strings.Contains(said, is.URL+"/authorize?") {
		t.Fatal(said)
	}
	answer, _ = c.form("/account/link", ann.cookie, url.Values{"provider": {"box"}, "password": {personPassword}})
	linking := &flow{c: c, cookie: answer.Cookies()[0], signed: ann.cookie}
	if answer, body := linking.comes(linking.returns(strings.TrimPrefix(answer.Header.Get("Refresh"), "0; url="))); answer.Header.Get("Location") != "/account?done=linked" {
		t.Fatalf("%s\n%s", answer.Status, body)
	}
	_, body = c.get("/account?done=linked", ann.cookie)
	if !strings.Contains(body, "The account is linked.") || !strings.Contains(body, "ann@example.org · never used") {
		t.Error(body)
	}
	me := func(f *flow) string {
		_, said := (asker{cookie: f.signed}).ask(c, "GET", "/v1/me", "")
		return said
	}
	if answer, body := f.signsIn(); answer.Header.Get("Location") != "/" || !strings.Contains(me(f), `"name":"ann"`) {
		t.Fatalf("%s %s\n%s", answer.Status, me(f), body)
	}
	if list := run(t, cmd, "admin", "user", "list"); !strings.Contains(list, "password, linked account") {
		t.Error(list)
	}
	id := regexp.MustCompile(`name="linked" value="(\w+)"`).FindStringSubmatch(body)[1]
	if status, _ := bob.ask(c, "POST", "/v1/me/linked/"+id+"/remove", ""); status != http.StatusNotFound {
		t.Errorf("bob unlinks: %d", status)
	}
	if answer, _ := c.form("/account/unlink", ann.cookie, url.Values{"linked": {id}}); answer.Header.Get("Location") != "/account?done=unlink" {
		t.Error(answer.Status)
	}
	c.end()
	if strings.Contains(c.said.String(), oidctest.Secret) {
		t.Error("the secret is said")
	}
	// With admit, who is new gets a role, and nobody's name.
	tests := []struct {
		more, want string
		claims     map[string]any
	}{
		{"admit: viewer", `"role":"viewer"`, nil},
		{"admit: viewer, nameClaim: nick", `"name":"annie"`, map[string]any{"nick": "annie"}},
		{"admit: member, domains: [example.org], scopes: [email]", `"role":"member"`, nil},
		{"admit: member, domains: [example.org]", "e-mail address is not of a domain", map[string]any{"email_verified": false}},
		{"admit: member, groups: [staff], groupsClaim: roles", `"role":"member"`, nil},
		{"admit: member, groups: [staff]", "in no group", nil},
		{"admit: viewer", "The name Owner is taken here", map[string]any{"preferred_username": "Owner"}},
	}
	more := ""
	for i, tt := range tests {
		more += fmt.Sprintf("    p%d: {issuer: %q, clientId: burin, clientSecretEnv: BOX_SECRET, %s}\n", i, is.URL, tt.more)
	}
	_, c = oidcServer(t, is, more)
	for i, tt := range tests {
		claims := map[string]any{"sub": fmt.Sprint(i), "email": "ann@example.org", "email_verified": true, "preferred_username": fmt.Sprint("ann", i), "roles": "staff"}
		maps.Copy(claims, tt.claims)
		is.Person(claims)
		f := &flow{c: c, with: fmt.Sprint("p", i)}
		to := f.begins()
		_, body := f.comes(f.returns(to))
		if f.signed != nil {
			_, body = (asker{cookie: f.signed}).ask(c, "GET", "/v1/me", "")
		}
		if !strings.Contains(body, tt.want) || strings.Contains(tt.more, "scopes") == strings.Contains(to, "profile") {
			t.Errorf("%q: %s\n%s", tt.more, to, body)
		}
	}
}

// Attackers at each step of the way get nowhere, and a provider that is down keeps nobody from
// signing in another way.
func TestOIDCAttacks(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	is := oidctest.New(t)
	is.Person(map[string]any{"sub": "1", "preferred_username": "eve"})
	cmd, c := oidcServer(t, is, "      admit: member\n")
	c.member(cmd, "ann", people.Member)
	nobody := func(what string, answer *http.Response, body, want string) {
		t.Helper()
		for _, one := range answer.Cookies() {
			if one.Name == "burin" {
				t.Errorf("%s: signed in", what)
			}
		}
		if answer.StatusCode < 400 || !strings.Contains(body, want) || !strings.Contains(body, `name="password"`) {
			t.Errorf("%s: %s\n%s", what, answer.Status, body)
		}
	}
	// What another browser has begun.
	mine, hers := &flow{c: c}, &flow{c: c}
	back := mine.returns(mine.begins())
	hers.begins()
	answer, body := hers.comes(back)
	nobody("another browser", answer, body, "sign in again")
	answer, body = (&flow{c: c}).comes(back)
	nobody("no browser", answer, body, "sign in again")
	if answer, body := mine.comes(back); answer.Header.Get("Location") != "/" {
		t.Fatalf("%s\n%s", answer.Status, body)
	}
	mine.signed = nil
	answer, body = mine.comes(back)
	nobody("again", answer, body, "sign in again")
	for what, change := range map[string]func(q url.Values){
		"another issuer": func(q url.Values) { q.Set("iss", "https://evil.example") },
		"no code":        func(q url.Values) { q.Del("code"); q.Set("error", "access_denied") },
		"another code":   func(q url.Values) { q.Set("code", "<script>") },
	} {
		f := &flow{c: c}
		u, err := url.Parse(f.returns(f.begins()))
		if err != nil {
			t.Fatal(err)
		}
		q := u.Query()
		change(q)
		answer, body := f.comes(u.Path + "?" + q.Encode())
		nobody(what, answer, body, "The &lt;Box&gt; didn&#39;t sign you in")
	}
	for what, do := range map[string]func(){
		"alg none":        func() { is.Sign("none") },
		"HS256":           func() { is.Sign("HS256") },
		"another nonce":   func() { is.Lie(map[string]any{"nonce": "x"}, nil) },
		"another client":  func() { is.Lie(map[string]any{"aud": "x"}, nil) },
		"expired":         func() { is.Lie(map[string]any{"exp": time.Now().Add(-time.Hour).Unix()}, nil) },
		"a foreign token": func() { is.Lie(map[string]any{"iss": "https://evil.example"}, nil) },
	} {
		do()
		f := &flow{c: c}
		answer, body := f.signsIn()
		nobody(what, answer, body, "The &lt;Box&gt; didn&#39;t sign you in")
		is.Sign("RS256")
		is.Lie(nil, nil)
	}
	if log := run(t, cmd, "admin", "audit", "--limit", "20"); strings.Count(log, "signin.fail") < 8 || !strings.Contains(log, `its token is signed by "none"`) {
		t.Error(log)
	}
	for _, path := range []string{"/signin/with/nothing", "/signin/with/nothing/back"} {
		if answer, body := c.get(path, nil); answer.StatusCode != http.StatusNotFound || !strings.Contains(body, "Unknown provider.") {
			t.Errorf("%s: %s\n%s", path, answer.Status, body)
		}
	}
	f := &flow{c: c}
	back = f.returns(f.begins())
	is.Down(true)
	answer, body = f.comes(back)
	nobody("down on the way", answer, body, "The &lt;Box&gt; can&#39;t be reached now: sign in another way.")
	c.end()
	c = serveIt(t, cmd)
	answer, body = c.get("/signin/with/box", nil)
	if answer.StatusCode != http.StatusServiceUnavailable {
		t.Error(answer.Status)
	}
	nobody("down", answer, body, "The &lt;Box&gt; can&#39;t be reached now: sign in another way.")
	if cookie := c.signIn("/v1/signin", map[string]string{"name": "ann", "password": personPassword}); cookie == nil {
		t.Error("nobody signs in")
	}
}

// Behind a proxy the provider sends the browser back to the proxy's name, over https.
func TestOIDCProxy(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	is := oidctest.New(t)
	_, c := oidcServer(t, is, "", "--host", "burin.example.org", "--proxy", "127.0.0.1")
	at, err := url.Parse(c.url)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(at)
		r.Out.Host = "burin.example.org"
		r.Out.Header.Set("X-Forwarded-Proto", "https")
		r.Out.Header.Set("X-Forwarded-For", "192.0.2.1")
	}})
	defer proxy.Close()
	r, err := http.NewRequestWithContext(t.Context(), "GET", proxy.URL+"/signin/with/box", nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, body := c.visit(r)
	to, err := answer.Location()
	if err != nil || to.Query().Get("redirect_uri") != "https://burin.example.org/signin/with/box/back" {
		t.Errorf("%s %v\n%s", answer.Status, to, body)
	}
	if cookie := answer.Cookies()[0]; cookie.Name != "__Host-burin-flow" || !cookie.Secure || cookie.Path != "/" {
		t.Errorf("%v", cookie)
	}
}

// What is wrong with a provider in the settings is said before the server starts.
func TestOIDCSettings(t *testing.T) {
	t.Parallel()
	for set, want := range map[string]string{
		"box: {issuer: 'http://login.example.org', clientId: x}":                                   `server.oidc.box: issuer: "http://login.example.org" is not an https address`,
		"box: {issuer: 'https://login.example.org'}":                                               "server.oidc.box: clientId:",
		"Box: {issuer: 'https://login.example.org', clientId: x}":                                  "server.oidc.Box: use 1 to 40 lower-case letters",
		"box: {issuer: 'https://login.example.org', clientId: x, clientSecretEnv: NO_SUCH_SECRET}": "the variable NO_SUCH_SECRET is not set",
		"box: {issuer: 'https://login.example.org', clientId: x, admit: king}":                     `admit: must be admin, member or viewer, not "king"`,
		"box: {issuer: 'https://login.example.org', secret: x}":                                    `unknown setting "server.oidc.box.secret"`,
	} {
		cmd := machine(t, newBrain(t), rpcConfig+"server:\n  oidc:\n    "+set+"\n")
		cmd.Args = append(cmd.Args, "serve", "--check", "--addr", "127.0.0.1:0")
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), want) {
			t.Errorf("%s: %v %s", set, err, out)
		}
	}
}

// A real browser goes all the way, on a phone and on a screen: the pages' policy lets it.
func TestOIDCPages(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	is := oidctest.New(t)
	is.Person(map[string]any{"sub": "1", "email": "ann@example.org", "preferred_username": "ann", "name": "Ann Other"})
	_, c := oidcServer(t, is, "      admit: member\n")
	c.url = strings.Replace(c.url, "127.0.0.1", "localhost", 1)
	for i, size := range [][2]int{{390, 844}, {1280, 800}} {
		b := browsertest.Start(t, size[0], size[1], i == 1)
		b.Call("Emulation.setScriptExecutionDisabled", map[string]any{"value": true}, nil)
		p := pageVisit{t, b, fmt.Sprintf("oidc%d", i)}
		b.Open(c.url + "/signin")
		p.sees("signin", "Sign in with The <Box>")
		p.press("a.button")
		b.Open(c.url + "/account") // the app needs scripts
		p.sees("account", "Ann Other")
		b.Eval(`document.querySelector('#provider').closest('details').open = true`, nil)
		b.Eval(`document.querySelector('#provider').scrollIntoView({block: 'center'})`, nil)
		p.sees("linked", "ann@example.org · used just now")
		is.Person(map[string]any{"sub": fmt.Sprint(2 + i)})
		b.Forget()
		b.Eval(`document.querySelector("[action='/account/link'] button").click()`, nil)
		b.AwaitTimes("Page.loadEventFired", 2) // the page that leads there, and the account
		p.sees("linked-two", "The account is linked.")
		is.Person(map[string]any{"sub": "1", "email": "ann@example.org"})
	}
}

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/browsertest"
	"github.com/burin-dev/burin/internal/chat/people"
	"github.com/burin-dev/burin/internal/pacetest"
)

// passkeyVisit is a person with a browser that has an authenticator.
type passkeyVisit struct {
	pageVisit
	c             *httpClient
	cmd           *exec.Cmd
	authenticator string
}

// passkeys starts a server, and a browser with an authenticator.
func passkeys(t *testing.T, width, height int, dark bool, picture string) passkeyVisit {
	t.Helper()
	cmd := machine(t, newBrain(t), rpcConfig)
	c := serveIt(t, cmd)
	c.url = strings.Replace(c.url, "127.0.0.1", "localhost", 1)
	b := browsertest.Start(t, width, height, dark)
	b.Call("WebAuthn.enable", nil, nil)
	v := passkeyVisit{pageVisit{t, b, picture}, c, cmd, ""}
	var made struct{ AuthenticatorID string }
	b.Call("WebAuthn.addVirtualAuthenticator", map[string]any{"options": map[string]any{
		"protocol": "ctap2", "transport": "internal", "hasResidentKey": true, "hasUserVerification": true, "isUserVerified": true,
	}}, &made)
	v.authenticator = made.AuthenticatorID
	return v
}

// joins makes a person by an invitation, in the browser.
func (v passkeyVisit) joins(name string) {
	v.t.Helper()
	v.b.Open(strings.TrimSpace(run(v.t, v.cmd, "admin", "invite", "--url", v.c.url)))
	v.fill("name", name)
	v.fill("password", personPassword)
	v.press("form button")
	v.b.Open(v.c.url + "/account")
}

// adds adds a passkey at the account.
func (v passkeyVisit) adds(name string) {
	v.t.Helper()
	v.b.Eval(`document.querySelector('[data-passkey=with]').open = true`, nil)
	v.fill("passkey-name", name)
	v.fill("passkey-password", personPassword)
	v.sees("passkey-add", "New passkey")
	v.press("[data-passkey=add] button")
	v.sees("passkey-added", "The passkey is added.")
}

// touch has somebody touch the authenticator whenever it wants that, or not.
func (v passkeyVisit) touch(is bool) {
	v.t.Helper()
	v.b.Call("WebAuthn.setAutomaticPresenceSimulation", map[string]any{"authenticatorId": v.authenticator, "enabled": is}, nil)
}

// signs has the authenticator sign a challenge on the page that is open, and gives what the page
// would send.
func (v passkeyVisit) signs(options string) (credential map[string]any) {
	v.t.Helper()
	v.b.Eval(fmt.Sprintf(`(async () => (await navigator.credentials.get({publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(%s)})).toJSON())()`, options), &credential)
	return credential
}

// begins gives the options for a sign-in.
func (v passkeyVisit) begins() string {
	v.t.Helper()
	status, said := (asker{}).ask(v.c, "POST", "/v1/signin/passkey/begin", "")
	if status != http.StatusOK {
		v.t.Fatalf("%d %s", status, said)
	}
	return said
}

// sends signs in with a credential, and gives the cookie that comes.
func (v passkeyVisit) sends(credential map[string]any) (status int, said string, cookies []*http.Cookie) {
	v.t.Helper()
	body, err := json.Marshal(map[string]any{"credential": credential})
	if err != nil {
		v.t.Fatal(err)
	}
	r := v.c.request("POST", "/v1/signin/passkey", string(body))
	r.Header.Del("Authorization")
	answer, text := v.c.visit(r)
	return answer.StatusCode, text, answer.Cookies()
}

// A person adds a passkey on their page, signs out, signs in with it without a name, and
// removes it: then it is refused. At the sizes of a phone and a screen.
func TestPasskeyPages(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	for i, size := range [][2]int{{390, 844}, {1280, 800}} {
		t.Run(fmt.Sprint(size[0]), func(t *testing.T) {
			t.Parallel()
			v := passkeys(t, size[0], size[1], i == 1, fmt.Sprintf("passkey%d", i))
			v.touch(false)
			if i == 1 { // a browser that offers nothing by itself, so that the button does
				v.b.Call("Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": "delete PublicKeyCredential.isConditionalMediationAvailable"}, nil)
			}
			v.joins("ann")
			v.sees("passkeys", "New passkey")
			v.touch(true)
			v.adds("Laptop")
			v.sees("passkey-list", "Laptop\nnever used · since just now")
			// The authenticator has one of this account already.
			v.b.Eval(`document.querySelector('[data-passkey=with]').open = true`, nil)
			v.fill("passkey-password", personPassword)
			v.b.Eval(`document.querySelector('[data-passkey=add] button').click()`, nil)
			v.b.Until(`!document.querySelector('[data-passkey=add] .wrong').hidden`)
			v.sees("passkey-again", "This device has a passkey for your account already.")
			v.fill("passkey-password", "a wrong one")
			v.b.Eval(`document.querySelector('[data-passkey=add] button').click()`, nil)
			v.b.Until(`document.querySelector('[data-passkey=add] .wrong').innerText.includes('password')`)
			v.sees("passkey-wrong", "The password is wrong.")
			v.touch(false)
			v.press("[action='/signout'] button")
			v.sees("passkey-signin", "Sign in with a passkey")
			v.touch(true)
			if i == 1 {
				v.press("[data-passkey=signin] button")
			} else { // the browser offers it in the field for the name
				v.b.Forget()
				v.b.Call("Page.reload", nil, nil)
				v.b.AwaitTimes("Page.loadEventFired", 2) // the page, and the app
			}
			v.b.Open(v.c.url + "/account")
			v.sees("passkey-in", "used just now")
			v.press("[action='/account/unpasskey'] button")
			v.sees("passkey-removed", "The passkey is removed.")
			v.press("[action='/signout'] button")
			if i == 1 {
				v.b.Eval(`document.querySelector('[data-passkey=signin] button').click()`, nil)
			}
			v.b.Until(`!document.querySelector('[data-passkey=signin] .wrong').hidden`)
			v.sees("passkey-refused", "This passkey doesn't sign you in here")
			// At an address there are none, and the page says so.
			link := strings.TrimSpace(run(t, v.cmd, "admin", "link", "--url", strings.Replace(v.c.url, "localhost", "127.0.0.1", 1)))
			v.b.Open(link)
			v.press("form button")
			v.b.Open(strings.Replace(v.c.url, "localhost", "127.0.0.1", 1) + "/account")
			v.sees("passkey-address", "open this server by a name")
		})
	}
}

// What a real browser answers signs in once, for one person, at one origin, with a verified user;
// all else is refused and logged.
func TestPasskeyAttacks(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	v := passkeys(t, 1280, 800, false, "passkey-attacks")
	v.joins("bob")
	v.adds("Phone")
	var had struct {
		Credentials []map[string]any
	}
	v.b.Call("WebAuthn.getCredentials", map[string]any{"authenticatorId": v.authenticator}, &had)
	if len(had.Credentials) != 1 {
		t.Fatalf("%v", had)
	}
	bob := v.signs(v.begins())
	v.b.Call("WebAuthn.clearCredentials", map[string]any{"authenticatorId": v.authenticator}, nil)
	v.joins("ann")
	v.adds("Laptop")
	refused := func(what string, credential map[string]any, log string) {
		t.Helper()
		status, said, cookies := v.sends(credential)
		if status != http.StatusUnauthorized || !strings.Contains(said, `"refused"`) || len(cookies) != 0 {
			t.Errorf("%s: %d %s %v", what, status, said, cookies)
		}
		if all := run(t, v.cmd, "admin", "audit", "--limit", "1"); !strings.Contains(all, "signin.fail") || !strings.Contains(all, log) {
			t.Errorf("%s: the log says\n%s", what, all)
		}
	}
	signed := v.signs(v.begins())
	status, said, cookies := v.sends(signed)
	if status != http.StatusOK || len(cookies) != 1 {
		t.Fatalf("%d %s", status, said)
	}
	if _, said := (asker{cookie: cookies[0]}).ask(v.c, "GET", "/v1/me", ""); !strings.Contains(said, `"name":"ann"`) || !strings.Contains(said, `"passkeys":1`) {
		t.Error(said)
	}
	refused("the same again", signed, "used already")
	mixed := v.signs(v.begins())
	mixed["id"] = bob["id"]
	mixed["rawId"] = bob["rawId"]
	refused("with another's id", mixed, "somebody else")
	mixed["response"].(map[string]any)["userHandle"] = bob["response"].(map[string]any)["userHandle"]
	refused("with another's id and handle", mixed, "signature")
	// A page of another origin, under the same name.
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<p>evil") }))
	defer other.Close()
	v.b.Open(strings.Replace(other.URL, "127.0.0.1", "localhost", 1))
	refused("another origin", v.signs(v.begins()), "a page of")
	v.b.Open(v.c.url + "/reset/nothing")
	// A copy of the key counts on its own.
	v.b.Call("WebAuthn.getCredentials", map[string]any{"authenticatorId": v.authenticator}, &had)
	for range 3 {
		if status, said, _ := v.sends(v.signs(v.begins())); status != http.StatusOK {
			t.Fatalf("%d %s", status, said)
		}
	}
	v.b.Call("WebAuthn.clearCredentials", map[string]any{"authenticatorId": v.authenticator}, nil)
	v.b.Call("WebAuthn.addCredential", map[string]any{"authenticatorId": v.authenticator, "credential": had.Credentials[0]}, nil)
	refused("a copy", v.signs(v.begins()), "went back")
	for range 3 {
		v.signs(v.begins()) // until it counts further
	}
	// A user who isn't verified: the browser refuses, even if the page doesn't ask for it, so does the server.
	v.b.Call("WebAuthn.setUserVerified", map[string]any{"authenticatorId": v.authenticator, "isUserVerified": false}, nil)
	refused("not verified", v.signs(strings.Replace(v.begins(), `"userVerification":"required"`, `"userVerification":"discouraged"`, 1)), "verified its user")
	v.b.Call("WebAuthn.setUserVerified", map[string]any{"authenticatorId": v.authenticator, "isUserVerified": true}, nil)
	run(t, v.cmd, "admin", "user", "disable", "ann")
	refused("disabled", v.signs(v.begins()), "disabled")
	run(t, v.cmd, "admin", "user", "enable", "ann")
	if list := run(t, v.cmd, "admin", "user", "list"); !strings.Contains(list, "password, passkey") {
		t.Errorf("the list:\n%s", list)
	}
	// The link of an admin removes them when it is used.
	link := strings.TrimSpace(run(t, v.cmd, "admin", "user", "reset", "ann", "--passkeys", "--url", v.c.url))
	before := v.signs(v.begins())
	if status, said := (asker{}).ask(v.c, "POST", "/v1/reset", fmt.Sprintf(`{"secret":%q,"password":"another fine one"}`, link[strings.LastIndexByte(link, '/')+1:])); status != http.StatusOK {
		t.Fatalf("%d %s", status, said)
	}
	refused("removed by an admin", before, "isn't known")
	var last int
	for range 10 {
		last, _, _ = v.sends(before)
	}
	if last != http.StatusTooManyRequests {
		t.Errorf("after 10 attempts: %d", last)
	}
}

// Programs find the same operations, and are told what is wrong with what they send.
func TestPasskeyRefuses(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	cmd := machine(t, newBrain(t), rpcConfig)
	c := serveIt(t, cmd)
	ann := c.member(cmd, "ann", people.Member)
	for _, path := range []string{"/v1/signin/passkey/begin", "/v1/me/passkeys/begin", "/v1/signin/passkey", "/v1/me/passkeys"} {
		if status, said := ann.ask(c, "POST", path, `{}`); status != http.StatusUnprocessableEntity || !strings.Contains(said, `"address"`) || !strings.Contains(said, "a name, not for an address") {
			t.Errorf("%s at an address: %d %s", path, status, said)
		}
	}
	c.url = strings.Replace(c.url, "127.0.0.1", "localhost", 1)
	for _, tt := range []struct {
		path, body string
		status     int
		want       string
	}{
		{"/v1/me/passkeys/begin", `{"password":"wrong"}`, 422, "password: the password is wrong"},
		{"/v1/me/passkeys", `{"credential":{}}`, 422, "the passkey can't be added"},
		{"/v1/me/passkeys", `{"credential":{"id":"not base64 ="}}`, 400, "read the request"},
		{"/v1/me/passkeys/nothing/remove", ``, 404, "unknown passkey"},
		{"/v1/signin/passkey", `{}`, 401, "this passkey doesn't sign you in here"},
		{"/v1/signin/passkey", `{"credential":{"id":"` + strings.Repeat("A", 90_000) + `"}}`, 413, "65536 bytes"},
	} {
		if status, said := ann.ask(c, "POST", tt.path, tt.body); status != tt.status || !strings.Contains(said, tt.want) {
			t.Errorf("%s %.80s: %d %s", tt.path, tt.body, status, said)
		}
	}
	if status, said := ann.ask(c, "GET", "/v1/me/passkeys", ""); status != http.StatusOK || strings.TrimSpace(said) != "[]" {
		t.Errorf("%d %s", status, said)
	}
	answer, body := c.get("/passkeys.js", nil)
	if csp := answer.Header.Get("Content-Security-Policy"); answer.StatusCode != http.StatusOK || answer.Header.Get("Content-Type") != "text/javascript; charset=utf-8" || !strings.Contains(body, "navigator.credentials") || !strings.Contains(csp, "script-src "+c.url+"/passkeys.js;") {
		t.Errorf("%s %q", answer.Status, csp)
	}
}

package main

import (
	"archive/zip"
	"bufio"
	"bytes"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/chat/people"
	"github.com/burin-dev/burin/internal/pacetest"
)

// form sends a form as a browser does that shows a page of the server.
func (c *httpClient) form(path string, cookie *http.Cookie, fields url.Values, change ...func(*http.Request)) (*http.Response, string) {
	c.t.Helper()
	r, err := http.NewRequestWithContext(c.t.Context(), "POST", c.url+path, strings.NewReader(fields.Encode()))
	if err != nil {
		c.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	if cookie != nil {
		r.AddCookie(cookie)
	}
	for _, do := range change {
		do(r)
	}
	return c.visit(r)
}

// visit sends a request and follows no redirect.
func (c *httpClient) visit(r *http.Request) (*http.Response, string) {
	c.t.Helper()
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		c.t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return answer, string(body)
}

func (c *httpClient) get(path string, cookie *http.Cookie) (*http.Response, string) {
	c.t.Helper()
	r := c.request("GET", path, "")
	r.Header.Del("Authorization")
	if cookie != nil {
		r.AddCookie(cookie)
	}
	return c.visit(r)
}

// opened signs a browser in as the owner, by a link.
func (c *httpClient) opened(cmd *exec.Cmd) *http.Cookie {
	c.t.Helper()
	link := strings.TrimSpace(run(c.t, cmd, "admin", "link", "--url", c.url))
	return c.signIn("/v1/open", map[string]string{"secret": link[strings.LastIndexByte(link, '/')+1:]})
}

// The link that burin serve prints signs a browser in, once, and only when the button of its
// page is pressed.
func TestServeLink(t *testing.T) {
	t.Parallel()
	cmd := machine(t, newBrain(t), rpcConfig)
	s := again(cmd)
	s.Args = append(s.Args, "serve", "--addr", "127.0.0.1:0")
	said, err := s.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = s.Process.Kill(), s.Wait() })
	var link *url.URL
	for in := bufio.NewScanner(said); link == nil && in.Scan(); {
		if strings.Contains(in.Text(), "/open/") {
			if link, err = url.Parse(in.Text()); err != nil {
				t.Fatal(err)
			}
		}
	}
	if link == nil {
		t.Fatal("no link was printed")
	}
	c := &httpClient{t: t, url: "http://" + link.Host, cmd: s}
	for range 3 { // as previews look at it
		answer, body := c.get(link.Path, nil)
		if answer.StatusCode != http.StatusOK || !strings.Contains(body, "<button") || len(answer.Cookies()) != 0 ||
			answer.Header.Get("Referrer-Policy") != "no-referrer" || strings.Contains(body, strings.TrimPrefix(link.Path, "/open/")) {
			t.Fatalf("%s %v\n%s", answer.Status, answer.Header, body)
		}
	}
	for what, change := range map[string]func(*http.Request){
		"no page":        func(r *http.Request) { r.Header.Del("Sec-Fetch-Site") },
		"another page":   func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") },
		"another port":   func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "same-site") },
		"another origin": func(r *http.Request) { r.Header.Del("Sec-Fetch-Site"); r.Header.Set("Origin", "http://127.0.0.1:1") },
		"no origin":      func(r *http.Request) { r.Header.Del("Sec-Fetch-Site"); r.Header.Set("Origin", "null") },
	} {
		if answer, _ := c.form(link.Path, nil, nil, change); answer.StatusCode != http.StatusForbidden {
			t.Errorf("%s redeems the link: %s", what, answer.Status)
		}
	}
	var won atomic.Int32
	var cookie *http.Cookie
	var work sync.WaitGroup
	for range 5 {
		work.Go(func() {
			answer, body := c.form(link.Path, nil, nil)
			switch answer.StatusCode {
			case http.StatusSeeOther:
				won.Add(1)
				cookie = answer.Cookies()[0]
				if to := answer.Header.Get("Location"); to != "/" {
					t.Errorf("it leads to %q", to)
				}
			case http.StatusGone:
				if !strings.Contains(body, "was used already") {
					t.Error(body)
				}
			default:
				t.Error(answer.Status)
			}
		})
	}
	work.Wait()
	if won.Load() != 1 {
		t.Fatalf("%d won", won.Load())
	}
	if cookie.Name != "burin" || !cookie.HttpOnly || cookie.Secure || cookie.SameSite != http.SameSiteLaxMode || cookie.Path != "/" || cookie.Domain != "" {
		t.Errorf("the cookie is %v", cookie)
	}
	if answer, body := c.get("/v1/sessions", cookie); answer.StatusCode != http.StatusOK {
		t.Errorf("%s %s", answer.Status, body)
	}
	answer, body := c.get("/account", cookie)
	if csp := answer.Header.Get("Content-Security-Policy"); answer.StatusCode != http.StatusOK || !strings.Contains(csp, "default-src 'none'; style-src 'sha256-") || strings.Contains(csp, "unsafe") || strings.Contains(body, "<script") || strings.Contains(body, " style=") {
		t.Errorf("%s %q", answer.Status, csp)
	}
	if at := run(t, cmd, "admin", "link"); !strings.HasPrefix(at, c.url+"/open/") { // it knows where the server is
		t.Errorf("the link is %q", at)
	}
}

// What a browser is signed in with is worth nothing to pages of others, to other people, and
// after it was signed out.
func TestServeBrowser(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	cmd := machine(t, newBrain(t), rpcConfig)
	c := serveIt(t, cmd)
	owner := c.opened(cmd)
	ann := c.member(cmd, "ann", people.Member)
	bob := c.member(cmd, "bob", people.Member)
	me := map[string]string{"display": "x"}
	body, err := json.Marshal(me)
	if err != nil {
		t.Fatal(err)
	}
	for what, change := range map[string]func(*http.Request){
		"a page elsewhere": func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") },
		"another port":     func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "same-site") },
		"its origin":       func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") },
		"nothing":          func(*http.Request) {},
	} {
		for _, verb := range []string{"POST", "GET"} {
			if verb == "GET" && (what == "nothing" || what == "its origin") { // a page can't read what comes, and nothing is done
				continue
			}
			r := c.request(verb, map[string]string{"POST": "/v1/me/profile", "GET": "/v1/me"}[verb], map[string]string{"POST": string(body)}[verb])
			r.Header.Del("Authorization")
			r.AddCookie(owner)
			change(r)
			if answer, said := c.visit(r); answer.StatusCode != http.StatusForbidden {
				t.Errorf("%s by %s: %s %s", verb, what, answer.Status, said)
			}
		}
	}
	// Sessions of this machine are for admins, whatever a member knows of them.
	var made struct{ ID string }
	c.must(http.StatusCreated, "POST", "/v1/sessions", map[string]any{"folder": cmd.Dir}, &made)
	for _, path := range []string{"/v1/sessions", "/v1/sessions/" + made.ID, "/v1/sessions/" + made.ID + "/attach", "/v1/events?session=" + made.ID, "/metrics", "/v1/admin/people"} {
		if status, said := ann.ask(c, "GET", path, ""); status != http.StatusForbidden || !strings.Contains(said, "admin") {
			t.Errorf("a member gets %s: %d %s", path, status, said)
		}
	}
	if status, said := ann.ask(c, "POST", "/v1/sessions/"+made.ID+"/submit", `{"message":{"role":"user","content":"say no"}}`); status != http.StatusForbidden {
		t.Errorf("a member submits: %d %s", status, said)
	}
	// A chat is its person's.
	status, said := ann.ask(c, "POST", "/v1/chats", `{"title":"mine"}`)
	var begun struct{ Chat struct{ ID string } }
	if err := json.Unmarshal([]byte(said), &begun); err != nil || status != http.StatusCreated {
		t.Fatalf("%d %s, %v", status, said, err)
	}
	if status, said := ann.ask(c, "GET", "/v1/sessions/"+begun.Chat.ID, ""); status != http.StatusOK {
		t.Errorf("ann's chat: %d %s", status, said)
	}
	for _, other := range []asker{bob, {cookie: owner}} {
		for _, path := range []string{"/v1/sessions/", "/v1/chats/"} {
			if status, said := other.ask(c, "GET", path+begun.Chat.ID, ""); status != http.StatusNotFound {
				t.Errorf("another's chat: %d %s", status, said)
			}
		}
	}
	// Another's devices.
	var devices []people.Device
	_, said = ann.ask(c, "GET", "/v1/me/devices", "")
	if err := json.Unmarshal([]byte(said), &devices); err != nil || len(devices) != 1 {
		t.Fatalf("%s, %v", said, err)
	}
	if status, said := bob.ask(c, "POST", "/v1/me/devices/"+devices[0].ID+"/signout", ""); status != http.StatusNotFound {
		t.Errorf("bob signs ann out: %d %s", status, said)
	}
	// A secret that was there before the sign-in is worth nothing after it.
	before := ann.cookie
	r := c.request("POST", "/v1/signin", `{"name":"ANN","password":"`+personPassword+`"}`)
	r.Header.Del("Authorization")
	r.AddCookie(before)
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	answer, said := c.visit(r)
	if answer.StatusCode != http.StatusOK || answer.Cookies()[0].Value == before.Value {
		t.Fatalf("%s %s", answer.Status, said)
	}
	ann.cookie = answer.Cookies()[0]
	if status, _ := (asker{cookie: before}).ask(c, "GET", "/v1/me", ""); status != http.StatusUnauthorized {
		t.Errorf("the cookie from before: %d", status)
	}
	for what, value := range map[string]string{"one that somebody chose": "0123456789", "none": "", "long": strings.Repeat("x", 5000), "with quotes": `"; DROP TABLE people`} {
		if status, _ := (asker{cookie: &http.Cookie{Name: "burin", Value: value}}).ask(c, "GET", "/v1/me", ""); status != http.StatusUnauthorized {
			t.Errorf("a cookie %s: %d", what, status)
		}
	}
	r = c.request("GET", "/v1/me", "")
	r.Header.Del("Authorization")
	r.Header["Cookie"] = []string{"burin=" + bob.cookie.Value + "; burin=" + ann.cookie.Value}
	if answer, _ := c.visit(r); answer.StatusCode != http.StatusUnauthorized { // which of them was put there?
		t.Errorf("two cookies: %s", answer.Status)
	}
	// Where a page leads is never what a request says.
	for _, path := range []string{"/", "/signin?next=https://evil.example", "/account//evil.example", "//evil.example", "/account?done=<script>", "/%0d%0aSet-Cookie:x=1", "/open/%0d%0aX:y"} {
		answer, body := c.get(path, ann.cookie)
		if to := answer.Header.Get("Location"); strings.Contains(to, "evil") || strings.Contains(body, "<script>") || answer.Header.Get("X") != "" || strings.Contains(body, "evil.example\"") {
			t.Errorf("%s leads to %q\n%s", path, to, body)
		}
	}
	// Names are shown as they are.
	if answer, body := c.form("/signin", nil, url.Values{"name": {`"><script>alert(1)</script>`}, "password": {"x"}}); answer.StatusCode != http.StatusUnauthorized || strings.Contains(body, "<script>") {
		t.Errorf("%s\n%s", answer.Status, body)
	}
	// Nobody waits for large requests of who isn't known.
	if status, said := (asker{}).ask(c, "POST", "/v1/signin", `{"name":"`+strings.Repeat("x", 100_000)+`"}`); status != http.StatusRequestEntityTooLarge {
		t.Errorf("100 KB: %d %.200s", status, said)
	}
	if status, said := (asker{}).ask(c, "POST", "/v1/signin", `{"name":"ann","password":"`+strings.Repeat("x", 2000)+`"}`); status != http.StatusUnprocessableEntity {
		t.Errorf("a long password: %d %.200s", status, said)
	}
	// Who guesses has to wait, and is told so, whether there is such a person or not.
	// A wait counts from the beginning of an attempt: the first ones are over by the time that a slow
	// machine has answered, but each is twice the one before.
	for _, name := range []string{"bob", "nobody"} {
		attempts, last := 0, 0
		for ; last != http.StatusTooManyRequests && attempts < 16; attempts++ {
			r := c.request("POST", "/v1/signin", `{"name":"`+name+`","password":"a wrong one"}`)
			r.Header.Del("Authorization")
			answer, said := c.visit(r)
			last = answer.StatusCode
			if last == http.StatusTooManyRequests && answer.Header.Get("Retry-After") == "" || last != http.StatusTooManyRequests && !strings.Contains(said, "the name or the password is wrong") {
				t.Errorf("%s: %s %v", name, said, answer.Header)
			}
		}
		if last != http.StatusTooManyRequests || attempts <= 5 {
			t.Errorf("%s after %d attempts: %d", name, attempts, last)
		}
	}
}

// A device that is signed out is nobody's; what is under way on it ends, and so does what
// somebody does whose role is changed.
func TestServeSignedOut(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	cmd := machine(t, newBrain(t), rpcConfig)
	c := serveIt(t, cmd)
	var made struct{ ID string }
	c.must(http.StatusCreated, "POST", "/v1/sessions", map[string]any{"folder": cmd.Dir}, &made)
	gone, demoted, stays := c.member(cmd, "ann", people.Admin), c.member(cmd, "bob", people.Admin), c.opened(cmd)
	follow := func(cookie *http.Cookie) *bufio.Reader {
		r := c.request("GET", "/v1/events?session="+made.ID, "")
		r.Header.Del("Authorization")
		r.AddCookie(cookie)
		answer, err := http.DefaultClient.Do(r)
		if err != nil || answer.StatusCode != http.StatusOK {
			t.Fatalf("%v %v", answer, err)
		}
		t.Cleanup(func() { _ = answer.Body.Close() })
		in := bufio.NewReader(answer.Body)
		if _, err := in.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
		return in
	}
	streams := []*bufio.Reader{follow(gone.cookie), follow(demoted.cookie)}
	witness := follow(stays)
	run(t, cmd, "admin", "user", "disable", "ann")
	run(t, cmd, "admin", "user", "role", "bob", "viewer")
	began := time.Now()
	for _, in := range streams {
		if _, err := io.Copy(io.Discard, in); err != nil {
			t.Log(err) // cut off, or ended
		}
		if took := time.Since(began); took > pacetest.Within(8*time.Second) {
			t.Errorf("a stream went on for %v", took)
		}
	}
	if status, _ := gone.ask(c, "GET", "/v1/me", ""); status != http.StatusUnauthorized {
		t.Errorf("disabled: %d", status)
	}
	if status, said := demoted.ask(c, "GET", "/v1/me", ""); status != http.StatusOK || !strings.Contains(said, `"rights":"watch"`) {
		t.Errorf("a viewer: %d %s", status, said)
	}
	c.must(http.StatusOK, "POST", "/v1/sessions/"+made.ID+"/submit", saying("say hello"), nil)
	for {
		line, err := witness.ReadString('\n')
		if err != nil {
			t.Fatal(err) // of others nothing ends
		}
		if strings.Contains(line, `"agent_settled"`) {
			break
		}
	}
}

// Over https the cookie can't be set by others, and browsers are told to stay there.
func TestServeBrowserTLS(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	cmd := machine(t, newBrain(t), rpcConfig)
	cert, key := filepath.Join(t.TempDir(), "cert.pem"), filepath.Join(t.TempDir(), "key.pem")
	pool := certify(t, cert, key, time.Now().Add(time.Hour), "box.example.org", "localhost")
	s := again(cmd)
	s.Args = append(s.Args, "serve", "--addr", "127.0.0.1:0", "--tls-cert", cert, "--tls-key", key)
	s.Env = append(s.Env, tokenVariable+"="+testToken)
	out, err := s.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = s.Process.Kill(), s.Wait() })
	at, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	at = strings.TrimSpace(at)
	link := strings.TrimSpace(run(t, cmd, "admin", "link", "--url", at))
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, ServerName: "localhost"}}
	defer transport.CloseIdleConnections()
	post := func(host, path, body string) *http.Response {
		r, err := http.NewRequestWithContext(t.Context(), "POST", at+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Host = host
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Sec-Fetch-Site", "same-origin")
		answer, err := transport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, answer.Body)
		_ = answer.Body.Close()
		return answer
	}
	answer := post("box.example.org", "/v1/open", fmt.Sprintf(`{"secret":%q}`, link[strings.LastIndexByte(link, '/')+1:]))
	if answer.StatusCode != http.StatusOK || len(answer.Cookies()) != 1 {
		t.Fatalf("%s %v", answer.Status, answer.Header)
	}
	if c := answer.Cookies()[0]; c.Name != "__Host-burin" || !c.Secure || !c.HttpOnly || c.Path != "/" || c.Domain != "" {
		t.Errorf("the cookie is %v", c)
	}
	if answer.Header.Get("Strict-Transport-Security") == "" {
		t.Error("browsers aren't told to stay with https")
	}
	if answer := post("localhost", "/v1/signin", `{}`); answer.Header.Get("Strict-Transport-Security") != "" {
		t.Error("other servers of this machine would need https, too")
	}
}

var field = regexp.MustCompile(`name="ticket" value="([^"]+)"`)

// The pages do all that an account needs, without a script.
func TestServeAccount(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	cmd := machine(t, newBrain(t), rpcConfig)
	c := serveIt(t, cmd)
	link := strings.TrimSpace(run(t, cmd, "admin", "invite", "--role", "member", "--url", c.url))
	path := strings.TrimPrefix(link, c.url)
	if answer, body := c.get(path, nil); answer.StatusCode != http.StatusOK || !strings.Contains(body, "invited as member") {
		t.Fatalf("%s\n%s", answer.Status, body)
	}
	if answer, body := c.form(path, nil, url.Values{"name": {"a b"}, "password": {"short"}}); answer.StatusCode != http.StatusUnprocessableEntity ||
		strings.Count(body, `aria-invalid="true"`) != 2 || !strings.Contains(body, `role="alert"`) || !strings.Contains(body, "<title>Error: ") || !strings.Contains(body, `value="a b"`) {
		t.Errorf("%s\n%s", answer.Status, body)
	}
	answer, body := c.form(path, nil, url.Values{"name": {"ann"}, "display": {"Ann"}, "password": {personPassword}})
	if answer.StatusCode != http.StatusSeeOther {
		t.Fatalf("%s\n%s", answer.Status, body)
	}
	cookie := answer.Cookies()[0]
	// do sends a form of the account, and gives what the page says then.
	do := func(what string, fields url.Values) string {
		t.Helper()
		answer, body := c.form("/account/"+what, cookie, fields)
		if answer.StatusCode == http.StatusSeeOther {
			_, body = c.get(answer.Header.Get("Location"), cookie)
		}
		return body
	}
	said := func(body, want string) {
		t.Helper()
		if !strings.Contains(body, want) {
			t.Errorf("the page doesn't say %q:\n%s", want, body[max(0, strings.Index(body, "<main")):])
		}
	}
	said(do("profile", url.Values{"display": {"Ann <Other>"}}), "Ann &lt;Other&gt;")
	said(do("password", url.Values{"old": {"wrong"}, "password": {"another fine one"}}), "The password is wrong.")
	said(do("password", url.Values{"old": {personPassword}, "password": {"another fine one"}}), "all other devices are signed out")
	said(do("token", url.Values{"name": {"ci"}, "rights": {"steer"}, "days": {"30"}}), "burin_")
	said(do("token", url.Values{"name": {"ci"}, "rights": {"steer"}, "days": {"30"}}), "is taken")
	said(do("token", url.Values{"name": {"more"}, "rights": {"steer"}, "days": {"x"}}), "Must be from 0 to")
	said(do("untoken", url.Values{"token": {"ci"}}), "The token is removed.")
	body = do("factor", url.Values{"password": {"another fine one"}})
	said(body, "otpauth://totp/burin:ann?secret=")
	secret := regexp.MustCompile(`secret=([A-Z2-7]+)`).FindStringSubmatch(body)[1]
	said(do("confirm", url.Values{"code": {"000000"}}), "It is wrong")
	body = do("confirm", url.Values{"code": {totp(t, secret)}})
	codes := regexp.MustCompile(`<li>([A-Z2-7]{4}(?:-[A-Z2-7]{4}){3})</li>`).FindAllStringSubmatch(body, -1)
	if len(codes) != 10 {
		t.Fatalf("%d recovery codes:\n%s", len(codes), body)
	}
	// A sign-in takes two steps now.
	_, body = c.form("/signin", nil, url.Values{"name": {"ann"}, "password": {"another fine one"}})
	ticket := field.FindStringSubmatch(body)
	if ticket == nil {
		t.Fatal(body)
	}
	if answer, body := c.form("/signin/code", nil, url.Values{"ticket": {ticket[1]}, "code": {"1"}}); answer.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(body, ticket[1]) {
		t.Errorf("%s\n%s", answer.Status, body)
	}
	answer, body = c.form("/signin/code", nil, url.Values{"ticket": {ticket[1]}, "code": {codes[0][1]}})
	if answer.StatusCode != http.StatusSeeOther {
		t.Fatalf("%s\n%s", answer.Status, body)
	}
	other := answer.Cookies()[0]
	_, body = c.get("/account", cookie)
	said(body, "9 recovery codes left")
	device := regexp.MustCompile(`name="device" value="([^"]+)"`).FindStringSubmatch(body)
	said(do("signout", url.Values{"device": {device[1]}}), "The device is signed out.")
	if answer, _ := c.get("/account", other); answer.Header.Get("Location") != "/signin" {
		t.Errorf("the other device: %s", answer.Status)
	}
	said(do("codes", url.Values{"password": {"another fine one"}}), "Your recovery codes")
	said(do("unfactor", url.Values{"password": {"another fine one"}}), "The second factor is off.")
	answer, body = c.form("/account/export", cookie, nil)
	var all people.Account
	archive, err := zip.NewReader(strings.NewReader(body), int64(len(body)))
	if err != nil {
		t.Fatal(err)
	}
	file, err := archive.Open("account.json")
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &all); err != nil || all.Person.Name != "ann" || len(all.Log) < 10 || !strings.HasPrefix(answer.Header.Get("Content-Disposition"), "attachment") || strings.Contains(string(data), "argon2") {
		t.Errorf("%v %s", err, body)
	}
	said(do("nothing", nil), "nothing is at /account/nothing")
	said(do("delete", url.Values{"password": {"wrong"}}), "The password is wrong.")
	if answer, body := c.form("/account/delete", cookie, url.Values{"password": {"another fine one"}}); answer.StatusCode != http.StatusSeeOther || answer.Header.Get("Clear-Site-Data") == "" {
		t.Errorf("%s %v\n%s", answer.Status, answer.Header, body)
	}
	if answer, _ := c.get("/account", cookie); answer.Header.Get("Location") != "/signin" {
		t.Errorf("after the account was deleted: %s", answer.Status)
	}
	if log := run(t, cmd, "admin", "audit"); !strings.Contains(log, "person.remove") || !strings.Contains(log, "token.add") || strings.Contains(log, secret) {
		t.Errorf("the log:\n%s", log)
	}
	c.end()
	if bytes.Contains(c.said.Bytes(), []byte("fine")) {
		t.Errorf("the server said %s", c.said)
	}
}

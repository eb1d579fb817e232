package main

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/pacetest"
)

// The pages of the server are in the language of the browser, or in the one that was chosen in the
// app: of the texts of the English pages the German ones have none but names.
func TestServeGermanPages(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	cmd := machine(t, newBrain(t), rpcConfig)
	c := serveIt(t, cmd, "--proxy", "127.0.0.1")
	c.url = strings.Replace(c.url, "127.0.0.1", "localhost", 1) // where passkeys work
	texts := regexp.MustCompile(`>\s*([^<>]*\pL[^<>]*?)\s*<|aria-label="([^"]*)"`)
	style := regexp.MustCompile(`(?s)<style>.*?</style>`)
	german := func(r *http.Request) { r.Header.Set("Accept-Language", "fr, de-CH;q=0.9, en;q=0.8") }
	secret := regexp.MustCompile(`open it in one</a> on this device.</p>\s*<p class="secret" tabindex="0">([^<]*)<`)
	same := []string{ // names, and what is the same in both
		"burin", "burin admin link", "burin admin link --url http://localhost:PORT", "Kim", "kim · member", "Name", "Code", "Passkeys", "Tokens", "box", "watch", "steer", "answer", "own", "Go-http-client/1.1", "t",
	}
	all := func(body string) (found []string) {
		for _, m := range texts.FindAllStringSubmatch(style.ReplaceAllString(body, ""), -1) {
			found = append(found, m[1]+m[2])
		}
		return found
	}
	// differs looks at a page in both languages.
	differs := func(what, english, other string) {
		t.Helper()
		a, b := all(english), all(other)
		if len(a) == 0 || len(a) != len(b) || !strings.Contains(other, `<html lang="de">`) || !strings.Contains(english, `<html lang="en">`) {
			t.Errorf("%s: %d texts in English, %d in German", what, len(a), len(b))
		}
		for i := range min(len(a), len(b)) {
			if a[i] == b[i] && !slices.Contains(same, a[i]) && !strings.Contains(a[i], "127.0.0.1") {
				t.Errorf("%s: %q is not translated", what, a[i])
			}
		}
	}
	var cookie *http.Cookie
	look := func(path string) {
		t.Helper()
		_, english := c.get(path, cookie)
		r := c.request("GET", path, "")
		r.Header.Del("Authorization")
		german(r)
		if cookie != nil {
			r.AddCookie(cookie)
		}
		_, other := c.visit(r)
		differs(path, english, other)
	}
	// send sends a form that is refused, or that shows something, in both languages.
	send := func(path string, fields url.Values) (english string) {
		t.Helper()
		_, other := c.form(path, cookie, fields, german)
		_, english = c.form(path, cookie, fields)
		differs(path, english, other)
		return english
	}
	pathOf := func(link string) string {
		at, err := url.Parse(strings.TrimSpace(link))
		if err != nil {
			t.Fatal(err)
		}
		return at.Path
	}
	look("/signin")
	look("/signin?done=reset")
	look("/open/x")
	look("/join/x")
	look("/reset/x")
	send("/open/x", url.Values{})
	invited := pathOf(run(t, cmd, "admin", "invite", "--url", c.url))
	look(invited)
	send(invited, url.Values{"name": {"?"}, "password": {"short"}})
	send(invited, url.Values{"name": {"owner"}, "password": {personPassword}})
	answer, body := c.form(invited, nil, url.Values{"name": {"kim"}, "display": {"Kim"}, "password": {personPassword}})
	if answer.StatusCode != http.StatusSeeOther || len(answer.Cookies()) == 0 {
		t.Fatalf("%s\n%s", answer.Status, body)
	}
	send("/signin", url.Values{"name": {"kim"}, "password": {"wrong"}})
	cookie = answer.Cookies()[0]
	for _, done := range []string{"profile", "password", "signout", "lock", "unlock", "unown", "untoken", "passkey", "unpasskey", "linked", "unlink", "unfactor"} {
		look("/account?done=" + done)
	}
	_, english := c.form("/account/factor", cookie, url.Values{"password": {personPassword}})
	found := secret.FindStringSubmatch(english)
	if found == nil {
		t.Fatalf("no secret:\n%s", english)
	}
	same = append(same, found[1], "kim")
	send("/account/confirm", url.Values{"code": {"000000"}})
	if _, body := c.form("/account/confirm", cookie, url.Values{"code": {totp(t, strings.ReplaceAll(found[1], " ", ""))}}, german); !strings.Contains(body, "Deine Wiederherstellungscodes") {
		t.Errorf("no codes:\n%s", body)
	}
	send("/account/profile", url.Values{"display": {strings.Repeat("x", 200)}})
	send("/account/password", url.Values{"old": {"wrong"}, "password": {"another good one"}})
	send("/account/token", url.Values{"name": {"t"}, "rights": {"watch"}, "days": {"x"}})
	send("/account/token", url.Values{"name": {"t"}, "rights": {"all"}, "days": {"1"}})
	if _, body := c.form("/account/token", cookie, url.Values{"name": {"t"}, "rights": {"watch"}, "days": {"1"}}, german); !strings.Contains(body, "Dein neuer Token") {
		t.Errorf("no token:\n%s", body)
	}
	send("/account/token", url.Values{"name": {"t"}, "rights": {"watch"}, "days": {"1"}})
	send("/account/untoken", url.Values{"token": {"none"}})
	send("/account/unpasskey", url.Values{"passkey": {"none"}})
	send("/account/signout", url.Values{"device": {"none"}})
	look("/account")
	if _, body := c.form("/account/own", cookie, url.Values{"password": {personPassword}}, german); !strings.Contains(body, "Dein Wiederherstellungsschlüssel") {
		t.Errorf("no key:\n%s", body)
	}
	look("/account")
	if answer, body := c.form("/account/lock", cookie, nil); answer.StatusCode != http.StatusSeeOther {
		t.Fatalf("%s\n%s", answer.Status, body)
	}
	look("/account")
	send("/account/unlock", url.Values{"password": {"wrong"}})
	reset := pathOf(run(t, cmd, "admin", "user", "reset", "kim", "--url", c.url))
	look(reset)
	cookie = nil
	send("/signin", url.Values{"name": {"kim"}, "password": {personPassword}})

	// What was chosen in the app comes first.
	r := c.request("GET", "/signin", "")
	german(r)
	r.AddCookie(&http.Cookie{Name: "language", Value: "en"})
	if _, body := c.visit(r); !strings.Contains(body, "Welcome back") {
		t.Error("English that was chosen is not used")
	}
	r = c.request("GET", "/signin", "")
	r.AddCookie(&http.Cookie{Name: "language", Value: "de"})
	if _, body := c.visit(r); !strings.Contains(body, "Willkommen zurück") {
		t.Error("German that was chosen is not used")
	}
}

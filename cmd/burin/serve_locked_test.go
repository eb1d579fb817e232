package main

import (
	"bytes"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/chat/people"
	"github.com/burin-dev/burin/internal/mode/server"
	"github.com/burin-dev/burin/internal/pacetest"
)

// signedIn signs somebody in with a password.
func (a asker) signedIn(c *httpClient, password string) asker {
	c.t.Helper()
	a.cookie = c.signIn("/v1/signin", map[string]string{"name": a.name, "password": password})
	return a
}

// rested waits until no turn of somebody runs.
func (a asker) rested(c *httpClient) {
	c.t.Helper()
	for me, late := (server.Me{}), time.Now().Add(time.Minute); ; {
		if a.does(c, http.StatusOK, "GET", "/v1/me", nil, &me); me.Used.Turns == 0 {
			return
		}
		if time.Now().After(late) {
			c.t.Fatal("a turn still runs")
		}
	}
}

func (a asker) keys(c *httpClient) server.MyKeys {
	c.t.Helper()
	var me server.Me
	a.does(c, http.StatusOK, "GET", "/v1/me", nil, &me)
	return me.Keys
}

// A person's keys open with their password only: at a sign-in, until a restart or until they have signed out everywhere. A
// turn that runs meanwhile ends, and one whose server was killed waits for them.
func TestServeLocked(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	b := newBrain(t)
	cmd := machine(t, b, rpcConfig)
	c := serveIt(t, cmd)
	ann := c.member(cmd, "ann", people.Member)
	if is := ann.keys(c); is != (server.MyKeys{Mode: "server", Open: true}) {
		t.Errorf("keys %+v", is)
	}
	var p struct{ ID string }
	ann.does(c, http.StatusCreated, "POST", "/v1/projects", map[string]any{"name": "Quince"}, &p)
	file := "/v1/projects/" + p.ID + "/file?path=/a.txt"
	ann.does(c, http.StatusCreated, "PUT", file, "a medlar", nil)
	ann.refused(c, http.StatusUnprocessableEntity, "input", "POST", "/v1/me/keys", map[string]any{"mode": "own", "password": "not it, not it"}, "password")
	var key server.Recovery
	ann.does(c, http.StatusOK, "POST", "/v1/me/keys", map[string]any{"mode": "own", "password": personPassword}, &key)
	if len(key.Recovery) < 32 || ann.keys(c) != (server.MyKeys{Mode: "own", Open: true}) {
		t.Errorf("%q, %+v", key.Recovery, ann.keys(c))
	}
	ann.refused(c, http.StatusConflict, "mode", "POST", "/v1/me/keys", map[string]any{"mode": "own", "password": personPassword})
	chat := ann.chat(c)
	ann.does(c, http.StatusOK, "POST", chat+"/submit", toldTo("1", "gate say hi"), nil)
	b.started(t, 1)
	if err := c.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.cmd.Wait()
	b.free()

	// After a restart all is locked, for programs too, and the turn waits.
	c = serveIt(t, cmd)
	token := asker{name: "ann's program", token: strings.TrimSpace(run(t, cmd, "admin", "token", "add", "ci", "--rights", "own", "--person", "ann"))}
	locked := func(one asker) {
		t.Helper()
		for verb, path := range map[string]string{"GET": "/v1/projects", "PUT": file, "POST": chat + "/todos", "PATCH": "/v1/chats/" + strings.TrimPrefix(chat, "/v1/sessions/")} {
			one.refused(c, http.StatusLocked, "locked", verb, path, nil, "unlock them with the password")
		}
		one.refused(c, http.StatusLocked, "locked", "GET", "/v1/events?session="+strings.TrimPrefix(chat, "/v1/sessions/"), nil)
	}
	locked(ann)
	locked(token)
	if is := ann.keys(c); is.Open {
		t.Errorf("keys %+v", is)
	}
	if n := len(b.srv.Requests()); n != 1 {
		t.Errorf("%d requests while the keys are locked", n)
	}
	ann.refused(c, http.StatusUnprocessableEntity, "input", "POST", "/v1/me/unlock", map[string]any{"password": "not it, not it"}, "doesn't open")
	ann.does(c, http.StatusOK, "POST", "/v1/me/unlock", map[string]any{"password": personPassword}, nil)
	b.started(t, 2) // it was asked again
	b.free()
	ann.rested(c)
	token.does(c, http.StatusOK, "GET", file, nil, nil)

	// Locked while a turn runs, it ends, and nothing else is read.
	ann.does(c, http.StatusOK, "POST", chat+"/submit", toldTo("2", "gate say bye"), nil)
	b.started(t, 3)
	other := ann.signedIn(c, personPassword)
	ann.does(c, http.StatusOK, "POST", "/v1/signout", map[string]any{}, nil)
	token.does(c, http.StatusOK, "GET", file, nil, nil) // another device is signed in
	other.does(c, http.StatusOK, "POST", "/v1/signout", map[string]any{}, nil)
	token.refused(c, http.StatusLocked, "locked", "GET", file, nil)
	b.free()
	for late := time.Now().Add(time.Minute); ; { // until the chat has ended, too
		if status, _ := token.ask(c, "POST", chat+"/todos", ""); status == http.StatusLocked || time.Now().After(late) {
			break
		}
	}
	locked(token)
	ann = ann.signedIn(c, personPassword)
	ann.does(c, http.StatusOK, "POST", chat+"/submit", toldTo("3", "say more"), nil)
	ann.does(c, http.StatusOK, "POST", chat+"/wait", map[string]any{"id": "3"}, nil)
	all := b.srv.Requests()
	if texts := textsOf(all[len(all)-1].Messages); len(all) != 4 || !strings.Contains(texts, "gate say bye|bye|say more|") {
		t.Errorf("%d requests; the model read %s", len(all), texts)
	}

	// A new password opens them, and one after a reset only with the old one or the recovery key.
	ann.does(c, http.StatusOK, "POST", "/v1/me/password", map[string]any{"old": personPassword, "password": "a second pass phrase"}, nil)
	ann.does(c, http.StatusOK, "POST", "/v1/me/lock", map[string]any{}, nil)
	locked(ann)
	ann = ann.signedIn(c, "a second pass phrase")
	ann.does(c, http.StatusOK, "GET", "/v1/projects", nil, nil)
	reset := again(cmd)
	reset.Args = append(reset.Args, "admin", "user", "reset", "ann", "--url", c.url)
	var said bytes.Buffer
	reset.Stderr = &said
	link, err := reset.Output()
	if err != nil || !strings.Contains(said.String(), "ann: their data stays locked") {
		t.Fatalf("%v: %s", err, &said)
	}
	path := strings.TrimPrefix(strings.TrimSpace(string(link)), c.url)
	if _, body := c.get(path, nil); !strings.Contains(body, "the new one doesn&#39;t open it") && !strings.Contains(body, "the new one doesn't open it") {
		t.Error(body)
	}
	if answer, body := c.form(path, nil, url.Values{"password": {"a third pass phrase"}}); answer.StatusCode != http.StatusSeeOther {
		t.Fatalf("%s\n%s", answer.Status, body)
	}
	c.end()
	c = serveIt(t, cmd)
	ann = ann.signedIn(c, "a third pass phrase")
	locked(ann)
	ann.refused(c, http.StatusUnprocessableEntity, "input", "POST", "/v1/me/unlock", map[string]any{"password": "a third pass phrase"}, "reset")
	ann.refused(c, http.StatusUnprocessableEntity, "input", "POST", "/v1/me/unlock", map[string]any{"password": "a third pass phrase", "old": personPassword}, "another password")
	var next server.Recovery
	ann.does(c, http.StatusOK, "POST", "/v1/me/unlock", map[string]any{"password": "a third pass phrase", "recovery": key.Recovery}, &next)
	if next.Recovery == "" || next.Recovery == key.Recovery {
		t.Errorf("the new recovery key is %q", next.Recovery)
	}
	ann.does(c, http.StatusOK, "POST", "/v1/me/lock", map[string]any{}, nil)
	ann = ann.signedIn(c, "a third pass phrase")
	if _, text := ann.ask(c, "GET", file, ""); text != "a medlar" {
		t.Errorf("the file is %q", text)
	}
	ann.does(c, http.StatusOK, "POST", "/v1/me/keys", map[string]any{"mode": "server", "password": "a third pass phrase"}, nil)
	c.end()
	c = serveIt(t, cmd)
	if _, text := ann.ask(c, "GET", file, ""); text != "a medlar" {
		t.Errorf("the file is %q", text)
	}
}

// started waits until the model was asked so often.
func (b *brain) started(t *testing.T, n int) {
	t.Helper()
	for late := time.Now().Add(time.Minute); len(b.srv.Requests()) < n; {
		if time.Now().After(late) {
			t.Fatalf("%d requests, not %d", len(b.srv.Requests()), n)
		}
		<-time.After(5 * time.Millisecond)
	}
}

// The page of the account locks the keys, opens them again, and asks for a second factor before.
func TestServeLockedPages(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	cmd := machine(t, newBrain(t), rpcConfig)
	c := serveIt(t, cmd)
	ann := c.member(cmd, "ann", people.Member)
	do := func(what string, fields url.Values, want string) string {
		t.Helper()
		answer, body := c.form("/account/"+what, ann.cookie, fields)
		if answer.StatusCode == http.StatusSeeOther {
			_, body = c.get(answer.Header.Get("Location"), ann.cookie)
		}
		if !strings.Contains(body, want) {
			t.Errorf("the page doesn't say %q:\n%s", want, body[max(0, strings.Index(body, "<main")):])
		}
		return body
	}
	password := url.Values{"password": {personPassword}}
	do("own", url.Values{"password": {"not it, not it"}}, "The password is wrong.")
	do("own", password, "Your recovery key")
	do("lock", nil, "Your data is locked.")
	do("unlock", url.Values{"password": {"not it, not it"}}, "doesn&#39;t open the keys")
	do("unlock", password, "The keys are open.")
	secret := between(do("factor", password, "otpauth://"), "secret=", "&")
	do("confirm", url.Values{"code": {totp(t, secret)}}, "Your recovery codes")
	body := do("codes", password, "Your recovery codes")
	code := between(body, "<li>", "</li>")
	do("lock", nil, "Your data is locked.")
	_, body = c.form("/signin", nil, url.Values{"name": {"ann"}, "password": {personPassword}})
	if ann.keys(c).Open {
		t.Error("the password alone has opened the keys")
	}
	ticket := field.FindStringSubmatch(body)
	if answer, body := c.form("/signin/code", nil, url.Values{"ticket": {ticket[1]}, "code": {code}}); answer.StatusCode != http.StatusSeeOther {
		t.Fatal(body)
	}
	if !ann.keys(c).Open {
		t.Error("the second factor has not opened the keys")
	}
	do("unown", password, "The server opens the keys")
	if is := ann.keys(c); is.Mode != "server" {
		t.Errorf("keys %+v", is)
	}
}

func between(text, before, after string) string {
	_, text, _ = strings.Cut(text, before)
	text, _, _ = strings.Cut(text, after)
	return text
}

package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/chat/push/pushtest"
	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/internal/platform/pgtest"
)

// pushed is a machine whose server trusts a push service.
func pushed(t *testing.T, b *brain, s *pushtest.Service, contact string) *exec.Cmd {
	t.Helper()
	cmd := machine(t, b, strings.Replace(rpcConfig, "maxRetries: 3", "maxRetries: 0", 1)+fmt.Sprintf("server: {push: %q, pushHosts: [%q]}\n", contact, s.Host()))
	trust := filepath.Join(homeOf(cmd), "push.pem")
	if err := os.WriteFile(trust, s.Certificate(), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd.Env = append(cmd.Env, "SSL_CERT_FILE="+trust)
	return cmd
}

// subscribed subscribes the browser of somebody who is signed in.
func (c *httpClient) subscribed(who asker, s *pushtest.Service, title bool) (b *pushtest.Browser, id string) {
	c.t.Helper()
	status, said := who.ask(c, "GET", "/v1/me/push", "")
	var is struct{ Key string }
	if err := json.Unmarshal([]byte(said), &is); err != nil || status != http.StatusOK || is.Key == "" {
		c.t.Fatalf("%d %s, %v", status, said, err)
	}
	b = s.Subscribe(is.Key)
	var made struct {
		ID            string
		Name, Failure string
		Current       bool
	}
	status, said = who.ask(c, "POST", "/v1/me/push", fmt.Sprintf(`{"endpoint":%q,"expirationTime":null,"keys":{"p256dh":%q,"auth":%q},"title":%t}`, b.Endpoint, b.P256dh, b.Auth, title))
	if err := json.Unmarshal([]byte(said), &made); err != nil || status != http.StatusOK || !made.Current || made.Name == "" {
		c.t.Fatalf("%d %s, %v", status, said, err)
	}
	return b, made.ID
}

// A browser is told what happens in a chat while nobody looks: what it is about, who it is from, and no
// more. It is told no more once somebody has signed out there.
func TestServePush(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	s, b := pushtest.Serve(t), newBrain(t)
	cmd := pushed(t, b, s, "mailto:ann@example.org")
	c := serveIt(t, cmd)
	phone, laptop := asker{cookie: c.opened(cmd)}, asker{cookie: c.opened(cmd)}
	first, id := c.subscribed(phone, s, false)
	if status, said := phone.ask(c, "POST", "/v1/me/push/"+id+"/test", ""); status != http.StatusOK {
		t.Fatalf("%d %s", status, said)
	}
	if m := s.Next(); m.Text != `{"kind":"test"}` || m.Sub != "mailto:ann@example.org" {
		t.Errorf("the test is %+v", m)
	}
	var p struct{ ID string }
	c.must(http.StatusCreated, "POST", "/v1/projects", map[string]any{"name": "Book", "tools": map[string]any{"web": nil}}, &p)
	begin := func(text string) string {
		t.Helper()
		var begun struct{ Chat chatOf }
		c.must(http.StatusCreated, "POST", "/v1/chats", map[string]any{"project": p.ID, "message": map[string]any{"message": saying(text)["message"]}}, &begun)
		return begun.Chat.ID
	}
	tell := func(kind, chat string) {
		t.Helper()
		m := s.Next()
		if want := fmt.Sprintf(`{"kind":%q,"chat":%q}`, kind, chat); m.Text != want || m.Browser != first {
			t.Errorf("told %s, want %s", m.Text, want)
		}
	}
	chat := begin("say hello")
	tell("done", chat)
	tell("error", begin("fail"))
	asking := begin("ask")
	tell("question", asking)
	var open struct{ Questions []struct{ ID string } }
	c.must(http.StatusOK, "POST", "/v1/sessions/"+asking+"/questions", nil, &open.Questions)
	c.must(http.StatusOK, "POST", "/v1/sessions/"+asking+"/answer", map[string]any{"id": open.Questions[0].ID, "reply": map[string]any{"choices": []any{map[string]any{"selected": []string{"red"}}}}}, nil)
	tell("done", asking)

	// Who looks isn't told; a page in the background doesn't look.
	f := c.follow("", "session="+chat)
	f.until("", nil)
	c.must(http.StatusOK, "POST", "/v1/sessions/"+chat+"/submit", saying("say more"), nil)
	f.until("agent_settled", nil)
	g := c.follow("", "watching=false&session="+asking)
	g.until("", nil)
	c.must(http.StatusOK, "POST", "/v1/sessions/"+asking+"/submit", saying("say more"), nil)
	tell("done", asking)
	f.stop()
	g.stop()

	// Another browser wants titles. The first one is signed out.
	second, other := c.subscribed(laptop, s, true)
	if status, said := phone.ask(c, "POST", "/v1/signout", ""); status != http.StatusOK {
		t.Fatalf("%d %s", status, said)
	}
	before := s.Requests()
	titled := begin("say the title is this")
	if m := s.Next(); m.Title != "say the title is this" || m.Chat != titled || m.Browser != second {
		t.Errorf("told %+v", m)
	}
	if n := s.Requests() - before; n != 1 {
		t.Errorf("%d requests for one browser", n)
	}
	if status, said := laptop.ask(c, "GET", "/v1/me/push", ""); status != http.StatusOK || strings.Contains(said, id) || strings.Contains(said, "push/") {
		t.Errorf("%d %s", status, said)
	}
	// Nobody removes what isn't theirs.
	bob := c.member(cmd, "bob", "member")
	for who, want := range map[asker]int{bob: http.StatusNotFound, {token: testToken}: http.StatusForbidden} {
		if status, said := who.ask(c, "POST", "/v1/me/push/"+other+"/remove", ""); status != want {
			t.Errorf("%d %s", status, said)
		}
	}
	if status, said := laptop.ask(c, "POST", "/v1/me/push/"+other+"/remove", ""); status != http.StatusOK {
		t.Errorf("%d %s", status, said)
	}
	c.end()
	for _, word := range []string{"/push/0", "/push/1", first.P256dh} {
		if found := filesWith(t, homeOf(cmd), word); len(found) > 0 {
			t.Errorf("%q is in %v", word, found)
		}
	}
}

// Who looks at a chat by a server that doesn't have it isn't told either, and of two servers one tells.
func TestTwoServersPush(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	s := pushtest.Serve(t)
	trust := filepath.Join(t.TempDir(), "push.pem")
	if err := os.WriteFile(trust, s.Certificate(), 0o600); err != nil {
		t.Fatal(err)
	}
	p := newPair(t, pgtest.Start(t, pgtest.Options{}).Database(t), "address: http://localhost", fmt.Sprintf("  pushHosts: [%q]\n", s.Host()), trust)
	c, d := &httpClient{t: t, url: p.url(0)}, &httpClient{t: t, url: p.url(1)}
	for _, one := range []*httpClient{c, d} {
		one.must(http.StatusOK, "GET", "/v1/openapi.json", nil, &one.spec)
	}
	c.subscribed(asker{cookie: c.opened(p.cmds[0])}, s, false)
	begin := func(text string) string {
		t.Helper()
		var begun struct{ Chat chatOf }
		c.must(http.StatusCreated, "POST", "/v1/chats", map[string]any{"message": map[string]any{"message": saying(text)["message"]}}, &begun)
		if m := s.Next(); m.Chat != begun.Chat.ID || m.Kind != "done" || m.Sub != "" {
			t.Errorf("told %+v", m)
		}
		return begun.Chat.ID
	}
	chat := begin("turn 1 0")
	for i, query := range []string{"&watching=false", ""} {
		f := d.follow("", "session="+chat+query)
		f.until("", nil)
		d.must(http.StatusOK, "POST", "/v1/sessions/"+chat+"/submit", saying(fmt.Sprint("turn 1 ", i+1)), nil)
		f.until("agent_settled", nil)
		if query != "" {
			if m := s.Next(); m.Chat != chat || m.Kind != "done" {
				t.Errorf("told %+v", m)
			}
		}
		defer f.stop()
	}
	begin("turn 2 0")
	if n := s.Requests(); n != 3 {
		t.Errorf("%d requests", n)
	}
}

// server.push: off sends nothing and says so; what is no contact is refused at the start.
func TestServePushOff(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	s := pushtest.Serve(t)
	cmd := pushed(t, newBrain(t), s, pushOff)
	c := serveIt(t, cmd)
	if status, said := (asker{cookie: c.opened(cmd)}).ask(c, "GET", "/v1/me/push", ""); status != http.StatusNotFound || !strings.Contains(said, "server.push") {
		t.Errorf("%d %s", status, said)
	}
	c.end()
	for _, contact := range []string{"ann@example.org", "http://example.org", "https:", "mailto:"} {
		wrong := pushed(t, newBrain(t), s, contact)
		wrong.Args = append(wrong.Args, "serve", "--check", "--addr", "127.0.0.1:0")
		if out, err := wrong.CombinedOutput(); err == nil || !strings.Contains(string(out), "server.push: ") {
			t.Errorf("%q: %v: %s", contact, err, out)
		}
	}
}

// Admins who want it are told of coding sessions: that a question waits, and that a turn is over. Who
// looks at it, who stops it and who isn't asked for is not.
func TestServePushSessions(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	s, b := pushtest.Serve(t), newBrain(t)
	cmd := pushed(t, b, s, "")
	c := serveIt(t, cmd, "--approval", "ask")
	owner, laptop := asker{cookie: c.opened(cmd)}, asker{cookie: c.opened(cmd)}
	bob := c.member(cmd, "bob", "member")
	phone, id := c.subscribed(owner, s, true)
	subscribe := func(who asker) *pushtest.Browser {
		t.Helper()
		var is struct{ Key string }
		_, said := who.ask(c, "GET", "/v1/me/push", "")
		if err := json.Unmarshal([]byte(said), &is); err != nil {
			t.Fatal(err)
		}
		b := s.Subscribe(is.Key)
		if status, said := who.ask(c, "POST", "/v1/me/push", fmt.Sprintf(`{"endpoint":%q,"keys":{"p256dh":%q,"auth":%q},"sessions":true}`, b.Endpoint, b.P256dh, b.Auth)); status != http.StatusOK || !strings.Contains(said, `"sessions":true`) {
			t.Fatalf("%d %s", status, said)
		}
		return b
	}
	wants := subscribe(laptop)
	subscribe(bob) // who is no admin
	_, _ = phone, id
	var made struct{ ID string }
	c.must(http.StatusCreated, "POST", "/v1/sessions", map[string]any{"folder": cmd.Dir}, &made)
	at := "/v1/sessions/" + made.ID
	tell := func(kind string) {
		t.Helper()
		m := s.Next()
		if want := fmt.Sprintf(`{"kind":%q,"session":%q}`, kind, made.ID); m.Text != want || m.Browser != wants {
			t.Errorf("told %s, want %s", m.Text, want)
		}
	}
	background := c.follow("", "session="+made.ID+"&answers=true&watching=false")
	background.until("", nil)
	c.must(http.StatusOK, "POST", at+"/submit", saying("run touch made"), nil)
	tell("question")
	var open []struct{ ID string }
	c.must(http.StatusOK, "POST", at+"/questions", nil, &open)
	c.must(http.StatusOK, "POST", at+"/answer", map[string]any{"id": open[0].ID, "reply": map[string]any{"permission": map[string]any{"allow": true}}}, nil)
	tell("done")
	background.stop()
	c.end()
}

package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/chat/people"
	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/session/remote"
)

// asker is somebody who asks a server: with a token, or with the cookie of a browser.
type asker struct {
	name   string
	token  string
	cookie *http.Cookie
	role   people.Role
	rights remote.Rights
}

// ask sends a request as somebody.
func (a asker) ask(c *httpClient, verb, path, body string) (status int, said string) {
	c.t.Helper()
	r := c.request(verb, path, body)
	r.Header.Del("Authorization")
	if a.token != "" {
		r.Header.Set("Authorization", "Bearer "+a.token)
	}
	if a.cookie != nil {
		r.AddCookie(a.cookie)
		r.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	status, data := c.do(r)
	return status, string(data)
}

// signIn makes a request that signs somebody in, and gives the cookie.
func (c *httpClient) signIn(path string, with map[string]string) *http.Cookie {
	c.t.Helper()
	body, err := json.Marshal(with)
	if err != nil {
		c.t.Fatal(err)
	}
	r := c.request("POST", path, string(body))
	r.Header.Del("Authorization")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		c.t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK || len(answer.Cookies()) != 1 {
		data, _ := io.ReadAll(answer.Body)
		c.t.Fatalf("%s: %s %v %s", path, answer.Status, answer.Cookies(), data)
	}
	return answer.Cookies()[0]
}

const personPassword = "a fine pass phrase"

// member makes a person with a role by an invitation, and signs them in.
func (c *httpClient) member(cmd *exec.Cmd, name string, role people.Role) asker {
	c.t.Helper()
	link := strings.TrimSpace(run(c.t, cmd, "admin", "invite", "--role", string(role), "--url", c.url))
	cookie := c.signIn("/v1/join", map[string]string{"code": link[strings.LastIndexByte(link, '/')+1:], "name": name, "password": personPassword})
	return asker{name: name, cookie: cookie, role: role, rights: role.Most()}
}

// Each operation is refused to whose role or rights don't include what openapi.json says that it
// needs, and reached by who has them: by tokens, and by browsers.
func TestServeTokens(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	cmd := machine(t, newBrain(t), rpcConfig)
	c := serveIt(t, cmd)
	var made struct{ ID string }
	c.must(http.StatusCreated, "POST", "/v1/sessions", map[string]any{"folder": cmd.Dir}, &made)
	order := []remote.Rights{remote.Watch, remote.Steer, remote.Answer, remote.Own}
	tokens := map[remote.Rights]string{}
	var all []asker
	for _, role := range []people.Role{people.Admin, people.Member, people.Viewer} {
		one := c.member(cmd, string(role), role)
		all = append(all, one)
		for _, r := range order {
			if !role.Most().Include(r) {
				continue
			}
			token := strings.TrimSpace(run(t, cmd, "admin", "token", "add", string(r), "--rights", string(r), "--person", one.name))
			if !strings.HasPrefix(token, "burin_") {
				t.Fatalf("the token is %q", token)
			}
			all = append(all, asker{string(role) + " with " + string(r), token, nil, role, r})
			if role == people.Admin {
				tokens[r] = token
			}
		}
	}
	needed, roles := map[remote.Rights]int{}, map[people.Role]int{}
	for path, verbs := range c.spec["paths"].(map[string]any) {
		for verb, op := range verbs.(map[string]any) {
			ways := dig(op, "security").([]any)
			if len(ways) == 0 || path == "/v1/signout" { // which is done below
				continue
			}
			var needs remote.Rights
			for _, way := range ways {
				for _, right := range anys(dig(way, "token")) {
					needs = remote.Rights(right.(string))
				}
			}
			role := people.Role(dig(op, "x-role").(string))
			if !role.Known() {
				t.Errorf("%s %s is for the role %q", verb, path, role)
			}
			needed[needs]++
			roles[role]++
			for _, a := range all {
				status, said := a.ask(c, strings.ToUpper(verb), strings.ReplaceAll(path, "{id}", "nowhere"), "{}") // where it does nothing
				if strings.HasPrefix(path, "/v1/sessions/{id}") && a.role != people.Admin {
					role = people.Admin // none of their chats
				}
				may := a.role.Include(role) && (a.cookie != nil && needs == "" || needs != "" && a.rights.Include(needs))
				if may == (status == http.StatusForbidden) || status == http.StatusUnauthorized {
					t.Errorf("%s %s, for the role %q and the right %q, by %s: %d %s", verb, path, role, needs, a.name, status, said)
				}
			}
		}
	}
	for _, r := range order {
		if r != remote.Watch && r != remote.Own && needed[r] == 0 || needed[r]+needed[""] == 0 {
			t.Errorf("no operation needs %q", r)
		}
	}
	if roles[people.Admin] < 15 || roles[people.Viewer] < 10 {
		t.Errorf("the operations are for %v", roles)
	}
	for _, a := range all {
		want := map[bool]int{true: http.StatusOK, false: http.StatusForbidden}[a.cookie != nil]
		if status, said := a.ask(c, "POST", "/v1/signout", ""); status != want {
			t.Errorf("%s signs out: %d %s", a.name, status, said)
		}
		if status, said := a.ask(c, "GET", "/v1/me", ""); a.cookie != nil && status != http.StatusUnauthorized {
			t.Errorf("%s is still signed in: %d %s", a.name, status, said)
		}
	}
	with := func(r remote.Rights, verb, path, body string) (int, string) {
		req := c.request(verb, path, body)
		req.Header.Set("Authorization", "Bearer "+tokens[r])
		status, said := c.do(req)
		return status, string(said)
	}
	if status, said := with(remote.Steer, "GET", "/v1/events?answers=true&session="+made.ID, ""); status != http.StatusForbidden {
		t.Errorf("a token that can't answer follows as one that does: %d %s", status, said)
	}
	if status, said := with(remote.Steer, "POST", "/v1/sessions/"+made.ID+"/submit", `{"message":{"role":"user","content":"say steered"}}`); status != http.StatusOK {
		t.Errorf("steer can't submit: %d %s", status, said)
	}
	// The protocol of burin attach has the same rights.
	p := &program{getenv: func(name string) string {
		return map[string]string{tokenVariable: tokens[remote.Watch], "BURIN_HOME": t.TempDir()}[name]
	}}
	h, err := joinServer(t.Context(), p, c.url+"/"+made.ID, "test", remote.Own)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	if _, err := h.Conversation().Submit(t.Context(), session.Input{Message: llm.UserText("say no")}); !errors.Is(err, session.ErrDenied) {
		t.Errorf("attached with watch, it may submit: %v", err)
	}
}

// A token that is removed, and one that has expired, is nobody's; what is under way with it ends.
func TestServeTokenEnds(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	cmd := machine(t, newBrain(t), rpcConfig)
	c := serveIt(t, cmd)
	var made struct{ ID string }
	c.must(http.StatusCreated, "POST", "/v1/sessions", map[string]any{"folder": cmd.Dir}, &made)
	token := strings.TrimSpace(run(t, cmd, "admin", "token", "add", "one", "--rights", "watch", "--days", "1"))
	for _, path := range []string{"/v1/events?session=" + made.ID, "/v1/sessions/" + made.ID} {
		r := c.request("GET", path, "")
		r.Header.Set("Authorization", "Bearer "+token)
		answer, err := http.DefaultClient.Do(r)
		if err != nil || answer.StatusCode != http.StatusOK {
			t.Fatalf("%s: %v %v", path, answer, err)
		}
		defer answer.Body.Close()
		if !strings.HasPrefix(path, "/v1/events") {
			continue
		}
		defer func(in *bufio.Reader) {
			if _, err := in.ReadString('\n'); err != nil {
				t.Error(err)
			}
			run(t, cmd, "admin", "token", "remove", "one")
			if status, body := c.do(r); status != http.StatusUnauthorized {
				t.Errorf("with a removed token: %d %s", status, body)
			}
			began := time.Now()
			for {
				if _, err := in.ReadString('\n'); err != nil {
					break
				}
			}
			if took := time.Since(began); took > pacetest.Within(8*time.Second) {
				t.Errorf("its stream went on for %v", took)
			}
		}(bufio.NewReader(answer.Body))
	}
	if list := run(t, cmd, "admin", "token", "list"); !strings.Contains(list, "one   watch") || strings.Contains(list, token) {
		t.Errorf("the list:\n%s", list)
	}
}

// What is wrong gets one clear line.
func TestAdminRefuses(t *testing.T) {
	t.Parallel()
	cmd := machine(t, newBrain(t), rpcConfig)
	run(t, cmd, "admin", "token", "add", "one")
	for _, tt := range []struct{ args, want string }{
		{"add one", `there is a token "one" already: burin admin token remove "one" removes it`},
		{"add two --rights all", `--rights: must be watch, steer, answer or own, not "all"`},
		{"add two --days -1", "--days: must be from 0 to 3650, not -1"},
		{"add", "an argument is missing"},
		{"remove two", `no token "two": burin admin token list lists them`},
		{"add two --person ann", `no person "ann": burin admin user list lists them`},
		{"lst", "did you mean burin admin token list?"},
	} {
		c := again(cmd)
		c.Args = append(append(c.Args, "admin", "token"), strings.Fields(tt.args)...)
		out, err := c.CombinedOutput()
		if err == nil || !strings.Contains(string(out), tt.want) {
			t.Errorf("%s: %v: %s", tt.args, err, out)
		}
	}
}

func anys(v any) []any {
	list, _ := v.([]any)
	return list
}

// run runs burin, and gives its standard output.
func run(t *testing.T, cmd *exec.Cmd, args ...string) string {
	t.Helper()
	c := again(cmd)
	c.Args = append(c.Args, args...)
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%v: %v: %s", args, err, err)
	}
	return string(out)
}

var consoleStep = regexp.MustCompile(`(?m)^\$ burin (admin .*)\n((?:[^$` + "`" + `\n].*\n)*)`)

// The commands of docs/serve.md about tokens run as they stand there, one after the other.
func TestServePageCommands(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	text, err := os.ReadFile("../../docs/serve.md")
	if err != nil {
		t.Fatal(err)
	}
	cmd := machine(t, newBrain(t), rpcConfig)
	ran := 0
	for _, m := range consoleStep.FindAllStringSubmatch(string(text), -1) {
		ran++
		c := again(cmd)
		c.Args = append(c.Args, strings.Fields(m[1])...)
		out, err := c.CombinedOutput()
		want := strings.ReplaceAll(regexp.QuoteMeta(m[2]), "…", ".*")
		if err != nil || !regexp.MustCompile("^"+want+"$").Match(out) {
			t.Errorf("burin %s: %v: the page says\n%s\nit says\n%s", m[1], err, m[2], out)
		}
	}
	if ran < 3 {
		t.Errorf("only %s", fmt.Sprint(ran, " commands ran"))
	}
}

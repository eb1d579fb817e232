package main

import (
	"bufio"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/session/remote"
)

// Each operation is refused to a token whose rights don't include what openapi.json says that it
// needs, and reached by one whose rights do.
func TestServeTokens(t *testing.T) {
	cmd := machine(t, newBrain(t), rpcConfig)
	c := serveIt(t, cmd)
	var made struct{ ID string }
	c.must(http.StatusCreated, "POST", "/v1/sessions", map[string]any{"folder": cmd.Dir}, &made)
	order := []remote.Rights{remote.Watch, remote.Steer, remote.Answer, remote.Own}
	tokens := map[remote.Rights]string{}
	for _, r := range order {
		tokens[r] = strings.TrimSpace(run(t, cmd, "admin", "token", "add", string(r), "--rights", string(r)))
		if !strings.HasPrefix(tokens[r], "burin_") {
			t.Fatalf("the token is %q", tokens[r])
		}
	}
	needed := map[remote.Rights]int{}
	for path, verbs := range c.spec["paths"].(map[string]any) {
		for verb, op := range verbs.(map[string]any) {
			if path == "/healthz" || path == "/readyz" {
				continue
			}
			var needs remote.Rights
			for _, one := range dig(op, "security").([]any) {
				for _, right := range dig(one, "token").([]any) {
					needs = remote.Rights(right.(string))
				}
			}
			if !needs.Known() {
				t.Errorf("%s %s needs %q", verb, path, needs)
			}
			needed[needs]++
			for i, r := range order {
				req := c.request(strings.ToUpper(verb), strings.ReplaceAll(path, "{id}", "nowhere"), "{}") // where it does nothing
				req.Header.Set("Authorization", "Bearer "+tokens[r])
				status, body := c.do(req)
				if may := i >= slices.Index(order, needs); may == (status == http.StatusForbidden) || status == http.StatusUnauthorized {
					t.Errorf("%s %s, which needs %q, with a token for %q: %d %s", verb, path, needs, r, status, body)
				}
			}
		}
	}
	for _, r := range order {
		if needed[r] == 0 {
			t.Errorf("no operation needs %q", r)
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
			if took := time.Since(began); took > 8*time.Second {
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
	cmd := machine(t, newBrain(t), rpcConfig)
	run(t, cmd, "admin", "token", "add", "one")
	for _, tt := range []struct{ args, want string }{
		{"add one", `there is a token "one" already: burin admin token remove "one" removes it`},
		{"add two --rights all", `--rights: must be watch, steer, answer or own, not "all"`},
		{"add two --days -1", "--days: must be from 0 to 3650, not -1"},
		{"add", "an argument is missing"},
		{"remove two", `there is no token "two": burin admin token list lists them`},
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

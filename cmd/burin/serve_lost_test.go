package main

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/pacetest"
)

// withoutModel takes the model two of box out of models.yml; back puts it there again.
func withoutModel(t *testing.T, cmd *exec.Cmd) (back func()) {
	t.Helper()
	at := filepath.Join(homeOf(cmd), "burin", "models.yml")
	was, err := os.ReadFile(at)
	if err != nil {
		t.Fatal(err)
	}
	lines := slices.DeleteFunc(strings.SplitAfter(string(was), "\n"), func(l string) bool { return strings.Contains(l, "id: two") })
	if err := os.WriteFile(at, []byte(strings.Join(lines, "")), 0o600); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := os.WriteFile(at, was, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// A chat whose model is unknown by now, or has no key, opens, is read, says what is missing, and continues with another
// model, or with its own once that can be used again.
func TestServeModelGone(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	b := newBrain(t)
	cmd := machine(t, b, rpcConfig)
	c := serveIt(t, cmd)
	var begun struct{ Chat chatOf }
	c.must(http.StatusCreated, "POST", "/v1/chats", map[string]any{"model": "box/two", "message": map[string]any{"id": "a", "message": saying("say hello")["message"]}}, &begun)
	at := "/v1/sessions/" + begun.Chat.ID
	c.must(http.StatusOK, "POST", at+"/wait", map[string]any{"id": "a"}, nil)
	c.end()
	back := withoutModel(t, cmd)
	c = serveIt(t, cmd)

	type sessionOf struct {
		Facts struct {
			Unusable string
			Model    struct{ Provider, ID string }
		}
	}
	open := func(wants ...string) {
		t.Helper()
		var is sessionOf
		c.must(http.StatusOK, "GET", at, nil, &is)
		for _, want := range wants {
			if !strings.Contains(is.Facts.Unusable, want) {
				t.Errorf("the session says %q; want %q", is.Facts.Unusable, want)
			}
		}
		if (is.Facts.Unusable == "") != (len(wants) == 0) || strings.Contains(is.Facts.Unusable, "\n") || is.Facts.Model.ID != "two" && len(wants) > 0 {
			t.Errorf("the session says %+v", is.Facts)
		}
	}
	open(`no model "box/two"`)
	var nodes struct{ Nodes []nodeOf }
	c.must(http.StatusOK, "POST", at+"/nodes", nil, &nodes)
	if len(nodes.Nodes) < 2 {
		t.Errorf("the transcript has %+v", nodes.Nodes)
	}
	asked := len(b.srv.Requests())
	said := saying("say more")["message"]
	status, answer := c.do(c.request("POST", at+"/submit", `{"id": "b", "message": {"role": "user", "content": "say more"}}`))
	if status != http.StatusUnprocessableEntity || !strings.Contains(string(answer), "choose another one") || len(b.srv.Requests()) != asked {
		t.Errorf("a message: %d %s", status, answer)
	}
	c.must(http.StatusOK, "POST", at+"/set_model", map[string]any{"text": "box/one"}, nil)
	open()
	c.must(http.StatusOK, "POST", at+"/submit", map[string]any{"id": "c", "message": said}, nil)
	c.must(http.StatusOK, "POST", at+"/wait", map[string]any{"id": "c"}, nil)
	all := b.srv.Requests()
	if len(all) != asked+1 || !strings.Contains(textsOf(all[asked].Messages), "say hello|") {
		t.Errorf("%d requests", len(all)-asked)
	}
	c.end()

	// The key of its provider is gone: the same, until it is there again.
	back()
	c = serveIt(t, cmd)
	c.must(http.StatusOK, "PATCH", "/v1/chats/"+begun.Chat.ID, map[string]any{"model": "box/two"}, nil)
	c.end()
	keyless := *cmd
	keyless.Env = slices.DeleteFunc(slices.Clone(cmd.Env), func(v string) bool { return strings.HasPrefix(v, "BOX_KEY=") })
	c = serveIt(t, &keyless)
	open("BOX_KEY")
	status, answer = c.do(c.request("POST", at+"/submit", `{"id": "d", "message": {"role": "user", "content": "say more"}}`))
	if status != http.StatusUnprocessableEntity || !strings.Contains(string(answer), "BOX_KEY") {
		t.Errorf("a message without a key: %d %s", status, answer)
	}
	c.end()
	c = serveIt(t, cmd)
	open()
	c.must(http.StatusOK, "POST", at+"/submit", map[string]any{"id": "e", "message": said}, nil)
	c.must(http.StatusOK, "POST", at+"/wait", map[string]any{"id": "e"}, nil)
	c.end()
}

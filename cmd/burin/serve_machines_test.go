package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/pacetest"
)

// The sessions of another machine's server are listed with those of this one, in the page too, where they
// lead to the pages of that server. What can't be asked says why.
func TestServeMachines(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	desk := serveIt(t, machine(t, newBrain(t), rpcConfig))
	var made struct{ ID string }
	desk.must(http.StatusCreated, "POST", "/v1/sessions", map[string]any{"folder": desk.cmd.Dir}, &made)
	desk.must(http.StatusOK, "POST", "/v1/sessions/"+made.ID+"/submit", map[string]any{"id": "1", "message": saying("say hello")["message"]}, nil)
	desk.must(http.StatusOK, "POST", "/v1/sessions/"+made.ID+"/wait", map[string]any{"id": "1"}, nil)

	b := newBrain(t)
	cmd := machine(t, b, appConfig+`server:
  machines:
    desk: {address: "`+desk.url+`", tokenEnv: DESK_TOKEN}
    gone: {address: "http://127.0.0.1:1", tokenEnv: DESK_TOKEN}
    stranger: {address: "`+desk.url+`", tokenEnv: WRONG_TOKEN}
`)
	cmd.Env = append(cmd.Env, "DESK_TOKEN="+testToken, "WRONG_TOKEN=burin_wrong")
	v := appOn(t, b.srv, cmd, 1280, 800, false)
	var all []struct {
		Name, Address, Problem string
		Sessions               []struct{ ID, State string }
	}
	v.c.must(http.StatusOK, "GET", "/v1/machines", nil, &all)
	if len(all) != 3 || all[0].Name != "desk" || all[0].Address != desk.url || all[0].Problem != "" || len(all[0].Sessions) != 1 || all[0].Sessions[0].ID != made.ID || all[0].Sessions[0].State != "idle" {
		t.Errorf("the machines are %+v", all)
	}
	for i, want := range []string{"", "not reached", "refuses the token"} {
		if i < len(all) && !strings.Contains(all[i].Problem, want) || strings.Contains(all[i].Problem, "burin_") {
			t.Errorf("%s has the problem %q", all[i].Name, all[i].Problem)
		}
	}
	v.b.Open(v.c.url + "/s")
	v.b.Until(`document.querySelector('a[href="` + desk.url + `/s/` + made.ID + `"][target="_blank"]') && document.body.innerText.includes("refuses the token")`)
	v.shows("machines", "desk", "gone")

	for wrong, words := range map[string]string{
		`{address: "http://desk.example:4647", tokenEnv: DESK_TOKEN}`:        "must begin with https://",
		`{address: "https://desk.example:4647/s", tokenEnv: DESK_TOKEN}`:     "is not one like https://",
		`{address: "https://desk.example:4647"}`:                             "names no variable",
		`{address: "https://desk.example:4647", tokenEnv: NOT_SET_ANYWHERE}`: "NOT_SET_ANYWHERE is not set",
	} {
		other := machine(t, b, "")
		if err := os.WriteFile(filepath.Join(homeOf(other), "burin", "config.yml"), []byte("server:\n  machines:\n    desk: "+wrong+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		other.Args = append(other.Args, "serve", "--check")
		if said, err := other.CombinedOutput(); err == nil || !strings.Contains(string(said), "server.machines.desk") || !strings.Contains(string(said), words) {
			t.Errorf("%s: %v %s", wrong, err, said)
		}
	}
}

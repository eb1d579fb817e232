package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/chat/people"
	"github.com/burin-dev/burin/internal/mode/server"
	"github.com/burin-dev/burin/internal/pacetest"
)

// does asks as somebody, and gives the answer, which must have the status.
func (a asker) does(c *httpClient, status int, verb, path string, with any, is any) {
	c.t.Helper()
	body := ""
	if raw, ok := with.(string); ok {
		body = raw
	} else if with != nil {
		data, err := json.Marshal(with)
		if err != nil {
			c.t.Fatal(err)
		}
		body = string(data)
	}
	got, said := a.ask(c, verb, path, body)
	if got != status {
		c.t.Fatalf("%s %s as %s: %d %s, not %d", verb, path, a.name, got, said, status)
	}
	if is != nil {
		if err := json.Unmarshal([]byte(said), is); err != nil {
			c.t.Fatalf("%v: %s", err, said)
		}
	}
}

// refused asks as somebody who is refused with a problem that says all the words.
func (a asker) refused(c *httpClient, status int, code, verb, path string, with any, words ...string) {
	c.t.Helper()
	var p server.Problem
	a.does(c, status, verb, path, with, &p)
	if p.Code != code || p.Status != status {
		c.t.Errorf("%s %s: the problem is %+v", verb, path, p)
	}
	for _, word := range words {
		if !strings.Contains(p.Detail, word) {
			c.t.Errorf("%s %s: %q doesn't say %q", verb, path, p.Detail, word)
		}
	}
}

func toldTo(id, text string) map[string]any {
	m := saying(text)
	m["id"] = id
	return m
}

// chat begins an empty chat.
func (a asker) chat(c *httpClient) string {
	c.t.Helper()
	var begun struct{ Chat chatOf }
	a.does(c, http.StatusCreated, "POST", "/v1/chats", map[string]any{}, &begun)
	return "/v1/sessions/" + begun.Chat.ID
}

// A person's limits hold: turns at a time, storage, and money, which ends a turn that runs.
func TestServeLimits(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	b := newBrain(t)
	cmd := machine(t, b, rpcConfig)
	c := serveIt(t, cmd)
	ann := c.member(cmd, "ann", people.Member)
	one, two := ann.chat(c), ann.chat(c)

	run(t, cmd, "admin", "quota", "ann", "--turns", "1")
	ann.does(c, http.StatusOK, "POST", one+"/submit", toldTo("1", "gate say hi"), nil)
	ann.refused(c, http.StatusTooManyRequests, "turns", "POST", two+"/submit", toldTo("2", "say no"), "1 of your turns run", "1 may", "stop one")
	ann.does(c, http.StatusOK, "POST", one+"/submit", toldTo("3", "say more"), nil) // it is the same turn
	var me server.Me
	ann.does(c, http.StatusOK, "GET", "/v1/me", nil, &me)
	if me.Used.Turns != 1 {
		t.Errorf("used %+v", me.Used)
	}
	b.free()
	ann.does(c, http.StatusOK, "POST", one+"/wait", map[string]any{"id": "3"}, nil)
	ann.rested(c)
	ann.does(c, http.StatusOK, "POST", two+"/submit", toldTo("2", "say yes"), nil)
	ann.does(c, http.StatusOK, "POST", two+"/wait", map[string]any{"id": "2"}, nil)

	var p struct{ ID string }
	ann.does(c, http.StatusCreated, "POST", "/v1/projects", map[string]any{"name": "Attic"}, &p)
	run(t, cmd, "admin", "quota", "ann", "--storage", "0.0001")
	file := "/v1/projects/" + p.ID + "/file?path=/a.txt"
	ann.does(c, http.StatusCreated, "PUT", file, strings.Repeat("a quince\n", 5000), nil)
	ann.does(c, http.StatusOK, "PUT", file, strings.Repeat("a medlar\n", 5000), nil)
	var others struct{ ID string }
	ann.does(c, http.StatusCreated, "POST", "/v1/projects", map[string]any{"name": "Cellar"}, &others)
	for i := range 400 { // what is sealed was compressed before
		status, said := ann.ask(c, "PUT", fmt.Sprintf("/v1/projects/%s/file?path=/%d.txt", others.ID, i), noise(i))
		if status == http.StatusInsufficientStorage {
			if !strings.Contains(said, `"code":"storage"`) || !strings.Contains(said, "of 100000 bytes") || !strings.Contains(said, "ask an admin") {
				t.Error(said)
			}
			break
		}
		if status != http.StatusCreated || i == 399 {
			t.Fatalf("%d %s", status, said)
		}
	}
	ann.does(c, http.StatusOK, "GET", "/v1/me", nil, &me)
	if me.Used.Storage > 100_000 || me.Used.Storage < 80_000 {
		t.Errorf("used %+v", me.Used)
	}
	ann.does(c, http.StatusOK, "DELETE", "/v1/projects/"+others.ID+"/file?path=/0.txt", nil, nil) // which makes room, later

	spent := me.Used.Cost
	if spent == 0 || me.Used.Requests < 3 {
		t.Errorf("used %+v", me.Used)
	}
	run(t, cmd, "admin", "quota", "ann", "--budget", fmt.Sprint(spent.Float()+1e-9))
	ann.does(c, http.StatusOK, "POST", one+"/submit", toldTo("4", "call ls /"), nil)
	var ended struct {
		Error   string
		Failure struct{ Code string }
	}
	ann.does(c, http.StatusOK, "POST", one+"/wait", map[string]any{"id": "4"}, &ended)
	if ended.Failure.Code != "budget" || !strings.Contains(ended.Error, "your budget is used up") {
		t.Errorf("the turn ended with %+v", ended)
	}
	ann.refused(c, http.StatusPaymentRequired, "budget", "POST", one+"/submit", toldTo("5", "say no"), "for this month", "wait until 1 ")
	n := len(b.srv.Requests())
	ann.refused(c, http.StatusPaymentRequired, "budget", "POST", one+"/aside", map[string]any{"text": "say no"}, "your budget")
	if len(b.srv.Requests()) != n {
		t.Error("the model was asked")
	}
	run(t, cmd, "admin", "quota", "ann", "--budget", "none")
	ann.does(c, http.StatusOK, "POST", one+"/submit", toldTo("6", "say yes"), nil)
	ann.does(c, http.StatusOK, "POST", one+"/wait", map[string]any{"id": "6"}, nil)
}

// noise is a text that can't be compressed much.
func noise(n int) string {
	var b strings.Builder
	x := uint64(n)*2654435761 + 1
	for range 200 {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		fmt.Fprintf(&b, "%016x\n", x)
	}
	return b.String()
}

// Whose groups may use some models only is refused all others, and doesn't see them.
func TestServeModels(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	b := newBrain(t)
	cmd := machine(t, b, rpcConfig)
	c := serveIt(t, cmd)
	ann := c.member(cmd, "ann", people.Member)
	list := func() (all []string) {
		var models []struct{ ID string }
		ann.does(c, http.StatusOK, "GET", "/v1/models", nil, &models)
		for _, m := range models {
			all = append(all, m.ID)
		}
		return all
	}
	before := strings.Join(list(), " ")
	if !strings.Contains(before, "box/one") || !strings.Contains(before, "box/two") {
		t.Fatal(before)
	}
	chat := ann.chat(c)
	ann.does(c, http.StatusOK, "POST", chat+"/submit", toldTo("1", "say hi"), nil)
	ann.does(c, http.StatusOK, "POST", chat+"/wait", map[string]any{"id": "1"}, nil)
	run(t, cmd, "admin", "group", "set", "students", "--model", "box/t*")
	run(t, cmd, "admin", "group", "join", "students", "ann")
	if now := strings.Join(list(), " "); now != "box/two" {
		t.Errorf("models %s", now)
	}
	words := []string{"your groups may use box/t*", "box/one is not among them"}
	// A chat that is open with that model, one for which it is chosen, and models that may be used or not.
	ann.refused(c, http.StatusForbidden, "denied", "POST", chat+"/submit", toldTo("2", "say no"), words...)
	ann.refused(c, http.StatusForbidden, "denied", "POST", chat+"/set_model", map[string]any{"text": "box/one"}, words...)
	ann.refused(c, http.StatusForbidden, "denied", "PATCH", "/v1/chats/"+strings.TrimPrefix(chat, "/v1/sessions/"), map[string]any{"model": "one"}, words...)
	ann.refused(c, http.StatusForbidden, "denied", "POST", "/v1/projects", map[string]any{"name": "x", "model": "box/one"}, words...)
	ann.refused(c, http.StatusForbidden, "denied", "POST", "/v1/chats", map[string]any{"model": "box/one"}, words...)
	ann.does(c, http.StatusOK, "POST", chat+"/set_model", map[string]any{"text": "box/two"}, nil)
	ann.does(c, http.StatusOK, "POST", chat+"/submit", toldTo("3", "say yes"), nil)
	ann.does(c, http.StatusOK, "POST", chat+"/wait", map[string]any{"id": "3"}, nil)
	// Without a choice it is one that they may use.
	other := ann.chat(c)
	ann.does(c, http.StatusOK, "POST", other+"/submit", toldTo("1", "say yes"), nil)
	ann.does(c, http.StatusOK, "POST", other+"/wait", map[string]any{"id": "1"}, nil)
	for i, r := range b.srv.Requests() {
		if want := map[bool]string{true: "one", false: "two"}[i == 0]; r.Model.ID != want {
			t.Errorf("request %d was for %s", i, r.Model.ID)
		}
	}
}

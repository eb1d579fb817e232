package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/burin-dev/burin/llm"
)

// What a project says about how its answers are made reaches the model, and an answer that was begun
// for it is shown and kept as the model has it, once.
func TestServeAnswers(t *testing.T) {
	t.Parallel()
	b := newBrain(t)
	c := serveIt(t, machine(t, b, rpcConfig))
	var p struct{ ID, Prefill string }
	c.must(http.StatusCreated, "POST", "/v1/projects", map[string]any{"name": "Verse", "thinking": "off", "temperature": 0.25, "maxTokens": 321, "prefill": "Roses are \n"}, &p)
	if p.Prefill != "Roses are" {
		t.Errorf("the project begins answers with %q", p.Prefill)
	}
	at := "/v1/projects/" + p.ID
	c.must(http.StatusBadRequest, "PATCH", at, map[string]any{"prefill": strings.Repeat("x", 10_001)}, nil)
	last := func() llm.Request {
		all := b.srv.Requests()
		return *all[len(all)-1]
	}

	b.script = []string{" red.", `call calc {"expression":"1+1"}`, " blue.", " done."}
	chat := c.begin(p.ID, "a poem")
	r := last()
	if r.Temperature == nil || *r.Temperature != 0.25 || r.MaxTokens != 321 {
		t.Errorf("the model was asked with temperature %v and at most %d tokens", r.Temperature, r.MaxTokens)
	}
	if m := r.Messages[len(r.Messages)-1]; m.Role != llm.RoleAssistant || m.Text() != "Roses are" {
		t.Errorf("the last message is %s %q", m.Role, m.Text())
	}
	said := func() string {
		t.Helper()
		var nodes struct{ Nodes []struct{ ID, Role string } }
		c.must(http.StatusOK, "POST", "/v1/sessions/"+chat+"/nodes", nil, &nodes)
		var all []string
		for _, n := range nodes.Nodes {
			if n.Role == "assistant" {
				all = append(all, c.send(http.StatusOK, "POST", "/v1/sessions/"+chat+"/entries", `{"ids":["`+n.ID+`"]}`, nil))
			}
		}
		return strings.Join(all, "\n")
	}
	if got := said(); strings.Count(got, "Roses are red.") != 1 {
		t.Errorf("the transcript has %s", got)
	}

	// A call is not text, and after it nothing is begun.
	c.must(http.StatusOK, "POST", "/v1/sessions/"+chat+"/submit", map[string]any{"id": "n", "message": saying("and now")["message"]}, nil)
	c.must(http.StatusOK, "POST", "/v1/sessions/"+chat+"/wait", map[string]any{"id": "n"}, nil)
	r = last()
	if m := r.Messages[len(r.Messages)-1]; m.Role != llm.RoleToolResult {
		t.Errorf("after a call the last message is %s", m.Role)
	}
	if got := said(); strings.Count(got, "Roses are") != 1 || !strings.Contains(got, `" blue."`) {
		t.Errorf("the transcript has %s", got)
	}

	// A model that thinks begins its answers itself.
	c.must(http.StatusOK, "PATCH", at, map[string]any{"thinking": "high"}, nil)
	b.script = []string{" white."}
	chat = c.begin(p.ID, "another")
	r = last()
	if m := r.Messages[len(r.Messages)-1]; r.Model.Thinking.Mode != llm.ThinkingNone && m.Role != llm.RoleUser {
		t.Errorf("while it thinks the last message is %s", m.Role)
	}
	c.end()
}

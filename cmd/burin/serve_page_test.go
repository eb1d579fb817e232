package main

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/pacetest"
)

var httpStep = regexp.MustCompile("(?ms)^```http\n(\\w+) (\\S+)\n(.*?)\n?\n(\\d+)\n(.*?)\n?^```$|^<!-- (model|received:)\\s(.*?)\\s*-->$")

// The examples of docs/serve.md run as they stand there, one after the other on one server.
func TestServePage(t *testing.T) { runServePage(t, "../../docs/serve.md") }

// The same of docs/chat-tools.md.
func TestChatToolsPage(t *testing.T) { runServePage(t, "../../docs/chat-tools.md") }

func runServePage(t *testing.T, page string) {
	t.Helper()
	pacetest.Costly(t)
	t.Parallel()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	b := newBrain(t)
	cmd := machine(t, b, rpcConfig)
	c := serveIt(t, cmd, "--approval", "ask")
	ids := map[string]string{}
	bundle := "" // a ZIP archive
	ran := 0
	named := func(text string) string {
		return strings.NewReplacer("DIR", cmd.Dir, "/ID", "/"+ids["ID"], "/PROJECT", "/"+ids["PROJECT"], "/CHAT", "/"+ids["CHAT"], ":PIECE", ":"+ids["PIECE"], "/PIECE", "/"+ids["PIECE"]).Replace(text)
	}
	for _, m := range httpStep.FindAllStringSubmatch(string(text), -1) {
		switch {
		case m[6] == "model":
			b.mu.Lock()
			b.script = strings.Split(m[7], "\n")
			b.mu.Unlock()
			continue
		case m[6] == "received:":
			// The message is on disk; what it leads to comes later.
			f := c.follow("", "session="+ids["ID"])
			if f.until("", nil); f.facts["working"] == true {
				f.until("agent_settled", nil)
			}
			f.stop()
			if !strings.Contains(b.sent(), m[7]) {
				t.Errorf("the model did not receive %q: %s", m[7], b.sent())
			}
			continue
		}
		ran++
		status, body := c.do(c.request(m[1], named(m[2]), strings.NewReplacer(`"PROJECT"`, fmt.Sprintf("%q", ids["PROJECT"]), "BUNDLE", bundle).Replace(named(m[3]))))
		if fmt.Sprint(status) != m[4] {
			t.Fatalf("%s %s: %d %s", m[1], m[2], status, body)
		}
		c.fits(m[1], named(m[2]), status, body)
		if m[5] == "BUNDLE" {
			bundle = string(body)
		}
		if m[5] == "…" || m[5] == "BUNDLE" {
			continue
		}
		var want, got any
		if err := json.Unmarshal([]byte(named(m[5])), &want); err != nil {
			t.Fatalf("%v: %s", err, m[5])
		}
		if err := json.Unmarshal(body, &got); err != nil || !fitsPage(want, got, ids) {
			t.Errorf("%s %s: the page says %s, the server %s", m[1], m[2], m[5], body)
		}
	}
	if ran < 5 {
		t.Errorf("only %d examples ran", ran)
	}
}

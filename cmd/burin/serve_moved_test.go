package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/chat/people"
	"github.com/burin-dev/burin/internal/chat/project"
	"github.com/burin-dev/burin/internal/pacetest"
)

// What is changed of a chat while a turn runs counts from the next turn: its instructions, and the project that it moves to, whose
// files its models have then, and no more those of the one that it left.
func TestServeChatMovesWhileBusy(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	b := newBrain(t)
	cmd := machine(t, b, rpcConfig)
	c := serveIt(t, cmd)
	ann := c.member(cmd, "ann", people.Member)
	var from, to project.Project
	ann.does(c, http.StatusCreated, "POST", "/v1/projects", map[string]any{"name": "From", "instructions": "Say okapi."}, &from)
	ann.does(c, http.StatusCreated, "POST", "/v1/projects", map[string]any{"name": "To", "instructions": "Say quagga."}, &to)
	chat := ann.begins(c, from.ID)
	ann.says(c, chat, "1", "say hello")
	for i, change := range []map[string]any{{"instructions": "Be brief."}, {"project": to.ID}} {
		id := string(rune('a' + i))
		ann.does(c, http.StatusOK, "POST", "/v1/sessions/"+chat+"/submit", toldTo(id, "gate say more"), nil)
		gate := <-b.gates
		ann.does(c, http.StatusOK, "PATCH", "/v1/chats/"+chat, change, nil)
		close(gate)
		ann.does(c, http.StatusOK, "POST", "/v1/sessions/"+chat+"/wait", map[string]any{"id": id}, nil)
		ann.rested(c)
		for late := time.Now().Add(time.Minute); ; { // while the session that it had ends, nothing is sent
			status, said := ann.ask(c, "POST", "/v1/sessions/"+chat+"/submit", fmt.Sprintf(`{"id":"after%s","message":{"role":"user","content":[{"type":"text","text":"say hello"}]}}`, id))
			if status == http.StatusOK {
				break
			}
			if status != http.StatusConflict && status != http.StatusServiceUnavailable || time.Now().After(late) {
				t.Fatal(status, said)
			}
		}
		ann.does(c, http.StatusOK, "POST", "/v1/sessions/"+chat+"/wait", map[string]any{"id": "after" + id}, nil)
		heard, inProject := b.heard(), []string{"Say okapi.", "Say quagga."}[i]
		if !strings.Contains(heard, "Be brief.") || !strings.Contains(heard, inProject) {
			t.Errorf("after %v the model heard\n%.3000s", change, heard)
		}
	}
}

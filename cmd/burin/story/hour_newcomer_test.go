package story_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm/llmtest"
)

// A newcomer has no key, makes the mistakes that everybody makes, and goes home with a bug
// that is fixed. docs/tutorial.md is their way; TestFirstRunDemo and TestDemo show the demo.
func TestFirstHourOfANewcomer(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	long := gated("It begins")
	defer long.open()
	h := aHour(t, map[string]llmtest.Turn{
		"what does this":  {Parts: []llmtest.Part{{Call: "read", Args: `{"path":"greet.go"}`}}},
		"fix the typo":    call("edit", `{"path":"greet.go","edits":[{"old":"Helo","new":"Hello"}]}`),
		"ERROR line 2000": say("The last line is an error."),
		"tell me a story": long.Turn,
		"hello":           say("Understood."),
		"what did you do": say("You took back the fix."),
	}, nil)
	key := "sk-ant-0123456789"
	vendor := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Api-Key") == key {
			h.model.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprint(w, `{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}`)
	}))
	t.Cleanup(vendor.Close)
	h.home.Env = append(h.home.Env, "ANTHROPIC_BASE_URL="+vendor.URL)

	// The command line says what is missing, and what to do.
	h.says(0, "burin demo                       watch it work, without a key or network", "--help")
	h.says(1, "no API key found: set ANTHROPIC_API_KEY", "-p", "hello")
	h.says(1, "run burin login or burin keys add anthropic", "doctor")
	h.says(0, "no model can be used yet: burin help keys says how to get one", "models")
	h.says(0, "keys add", "keys")

	// One screen leads to a key. A wrong one is refused at once.
	s := h.burin()
	s.WaitText("Welcome to burin")
	s.WaitText("Demo       watch burin fix a bug; no key, no network")
	s.WaitText("→ Anthropic")
	s.Press("down", "up", "enter")
	s.WaitText("API key for anthropic")
	s.Paste("sk-ant-wrong")
	s.Press("enter")
	s.WaitText("invalid x-api-key")
	s.Press("ctrl+u")
	s.Paste(key)
	s.Press("enter")
	s.WaitText("· Ready. /model changes the model")
	s.WaitText("Ask anything")

	// The tutorial in the terminal: ask, change, take back.
	s.asks("what does this package do?", "It is done.")
	s.wants(-1, true, "what does this package do?")
	s.send("fix the typo")
	s.WaitText("Change this file?")
	s.WaitText("+ Hello")
	s.answer("y")
	s.WaitText("+1 −1")
	s.WaitGone("Working")
	s.fixed()
	s.undoes("/undo")
	s.looks("/help", "/resume")

	// A log of 2,000 lines.
	var log strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&log, "12:00:00 ERROR line %d\n", i+1)
	}
	s.Paste(log.String())
	s.WaitText("[paste #1 +2000 lines]")
	s.Press("enter")
	s.WaitText("The last line is an error.")
	s.WaitGone("Working")
	s.wants(-1, true, "ERROR line 1\n", "ERROR line 1000\n", "ERROR line 2000")

	// An answer that is stopped, a model that isn't there, a window that is too small.
	s.send("tell me a story")
	long.wait(t)
	s.Press("esc")
	s.WaitText("! Stopped.")
	long.open() // nobody listens any more
	s.hinted("/modle", "Did you mean /model?")
	s.send("/model claude-opis-4-5")
	s.WaitText("> claude-opus-4-5") // the nearest is in the list
	s.WaitText("→   claude-opus-4-5")
	s.Press("enter")
	s.WaitText("│ claude-opus-4-5")
	s.WaitText("Ask anything")
	s.sees(`no model "claude-opis-4-5"; did you mean`)
	s.Resize(12, 3)
	s.send("hello")
	s.sees("Understood.")
	s.Resize(80, 24)
	s.WaitText("Ask anything, / for commands")

	// Tomorrow it is there again.
	s.leave()
	s.WaitText("burin --continue resumes this session.")
	h.says(0, "what does this package do?", "sessions")
	s = h.burin()
	s.WaitText("Ask anything")
	s.send("/resume")
	s.WaitText("what does this package do?")
	s.finds("this package", "what does this package do?", "The last line is an error.")
	s.WaitText("Ask anything")
	s.asks("what did you do?", "You took back the fix.")
	s.wants(-1, true, "what does this package do?", "fix the typo", "hello")
	s.leave()

	// The network is gone. What was asked is kept.
	vendor.Close()
	s = h.burin("--continue")
	s.WaitText("You took back the fix.")
	s.send("and then?")
	s.WaitText("no connection to 127.0.0.1")
	s.WaitText("retrying in")
	s.Press("esc")
	s.WaitGone("esc stops")
	s.leave()
	h.says(0, "and then?", "sessions", "search", "and then")
}

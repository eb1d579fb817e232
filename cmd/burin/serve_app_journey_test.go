package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/anthropic"
	"github.com/burin-dev/burin/llm/llmtest"
)

// everyTool are calls of the tools that a chat can have, but for those of the web, with something that the answer has.
var everyTool = []struct{ name, args, answer string }{
	{"write", `{"path":"/plan.md","content":"Go by train.\n"}`, "plan.md"},
	{"read", `{"path":"/plan.md"}`, "Go by train."},
	{"edit", `{"path":"/plan.md","edits":[{"old":"train","new":"ferry"}]}`, "+1 -1"},
	{"undo_edit", `{"path":"/plan.md"}`, "plan.md"},
	{"ls", `{"path":"/"}`, "plan.md"},
	{"find", `{"pattern":"*.md"}`, "plan.md"},
	{"grep", `{"pattern":"train"}`, "Go by train."},
	{"filesystem", `{"command":"rename","path":"/plan.md","new_path":"/trip.md"}`, "trip.md"},
	{"memory", `{"command":"create","path":"/memories/README.md","file_text":"Prefers trains.\n"}`, "README.md"},
	{"sketchbook", `{"content":"Lisbon, three days."}`, ""},
	{"javascript", `{"code":"return 6 * 7;"}`, "42"},
	{"calc", `{"expressions":["12*12"]}`, "144"},
	{"todo", `{"ops":[{"op":"init","list":[{"phase":"Trip","items":["book the ferry"]}]},{"op":"done","task":"book the ferry"}]}`, "book the ferry"},
	{"history", `{"query":"train"}`, ""},
	{"task", `{"agent":"default","tasks":[{"id":"first","description":"Look for ferries","assignment":"Find a ferry."}]}`, "one at noon"},
	{"ask", `{"questions":[{"id":"day","question":"Which day?","options":[{"label":"Friday"},{"label":"Saturday"}]}]}`, "Saturday"},
	{"checkpoint", `{"note":"The trip is planned."}`, "Checkpoint"},
}

// counted is a text in which a gap or something that is told twice shows.
func counted(n int) string {
	var all strings.Builder
	for i := range n {
		fmt.Fprintf(&all, "%d ", i+1)
	}
	return strings.TrimSpace(all.String())
}

// From an empty machine: the server starts, its page asks for a key, a model answers and calls every tool; the chat is
// edited and forked, the page is reloaded in the middle of an answer, the server goes and comes back, and a question of
// a session in a terminal is answered in the page. BURIN_PICTURES=1 BURIN_LONG=ci draws the steps for the documentation.
func TestServeAppJourney(t *testing.T) {
	sized(t, func(t *testing.T, width, height int, dark bool) {
		used := llm.Usage{Input: 1200, Output: 300}
		say := func(text string) llmtest.Turn {
			return llmtest.Turn{Events: slices.Concat(llmtest.Say(text), llmtest.Stop(llm.StopEnd, used))}
		}
		turns := []llmtest.Turn{say("Yes.")} // that the key is right
		for i, call := range everyTool {
			turns = append(turns, llmtest.Turn{Events: slices.Concat(llmtest.Call(fmt.Sprint("call_", i), call.name, call.args), llmtest.Stop(llm.StopToolUse, used))})
			if call.name == "task" {
				turns = append(turns, llmtest.Turn{Events: slices.Concat(llmtest.Call("call_return", "return", `{"result":"one at noon"}`), llmtest.Stop(llm.StopToolUse, used))})
			}
		}
		long := counted(250)
		turns = append(turns,
			say("Your trip is planned."), say("Have a good trip."), // before the checkpoint and after it
			say("Pack light."), say("Pack very light."),
			llmtest.Turn{Events: slices.Concat(llmtest.Say(long), llmtest.Stop(llm.StopEnd, used)), Pace: 15 * time.Millisecond},
			say("Welcome back."))
		srv, err := llmtest.Serve(anthropic.Server{}, llmtest.Script{Turns: append(turns, codingTurns()...)})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(srv.Close)
		cmd := machine(t, &brain{srv: srv}, appConfig)
		cmd.Env = slices.DeleteFunc(cmd.Env, func(e string) bool { return strings.HasPrefix(e, "BOX_KEY=") })
		v := appOn(t, srv, cmd, width, height, dark)
		look := map[bool]string{true: "phone-", false: "desktop-"}[width < 600] + map[bool]string{true: "dark", false: "light"}[dark]
		v.name = "journey-" + look
		b := v.b
		shows := func(step string, says ...string) {
			t.Helper()
			v.shows(step, says...)
			if os.Getenv("BURIN_PICTURES") == "1" {
				v.draws(look + "-" + step)
			}
		}
		const calm = ` && !document.querySelector('[aria-busy=true], .go.stop')`

		b.Open(v.c.url + "/")
		b.Until(`document.querySelector('#setup-provider')?.value === 'box'`)
		v.fills("#setup-key", "sk-right")
		shows("setup", "Welcome to burin", "API key")
		v.presses("form button", "Connect")
		b.Until(`document.querySelector('.composer textarea') && document.querySelector('.chip')?.innerText`)

		// Every tool is called once, and its result is below the answer.
		on := map[string]any{}
		for _, name := range []string{"filesystem", "memory", "sketchbook", "javascript", "calc", "todo", "history", "minion", "ask"} {
			on[name] = map[string]any{}
		}
		on["checkpoint"] = map[string]any{"continueMessage": "Go on."}
		var p struct{ ID string }
		v.c.must(http.StatusCreated, "POST", "/v1/projects", map[string]any{"name": "Trip to Lisbon", "icon": "🧭", "mode": "full", "tools": on}, &p)
		b.Open(v.c.url + "/p/" + p.ID)
		b.Until(`document.querySelector('.chip')?.innerText && document.querySelector('h1')?.innerText.includes('Lisbon')`)
		v.sends("Plan a trip, with everything you have.")
		b.Until(`document.querySelector('.question fieldset')`)
		b.Eval(`[...document.querySelectorAll('.question label')].find((e) => e.innerText.includes('Saturday')).querySelector('input').click()`, nil)
		shows("question", "Which day?", "Friday")
		v.presses(".question .button", "Answer")
		b.Until(`document.body.innerText.includes('Have a good trip.')` + calm)
		results := map[string]string{}
		for _, r := range srv.Requests() {
			for _, m := range r.Messages {
				if m.Role == llm.RoleToolResult {
					results[m.ToolCallID] = m.Text()
					if m.IsError {
						t.Errorf("the result of %s is an error: %s", m.ToolCallID, m.Text())
					}
				}
			}
		}
		for i, call := range everyTool {
			if got, ok := results[fmt.Sprint("call_", i)]; !ok || !strings.Contains(got, call.answer) {
				t.Errorf("%s gave the model %q", call.name, got)
			}
		}
		b.Eval(`document.querySelector('.scroller').scrollTo(0, 0)`, nil)
		b.Eval(`document.querySelector('.steps .head').click()`, nil)
		b.Until(fmt.Sprintf(`document.querySelectorAll('.steps .body details').length === %d && document.querySelector('.steps li a')?.innerText.includes('done')`, len(everyTool)))
		shows("tools", "sketchbook", "javascript", "memory")
		b.Eval(`document.querySelector('.steps .head').click()`, nil)

		// What was said is edited, and the chat is forked.
		v.sends("What do I pack?")
		b.Until(`document.body.innerText.includes('Pack light.')` + calm)
		b.Eval(`[...document.querySelectorAll('[aria-label=Edit]')].at(-1).click()`, nil)
		b.Until(`document.querySelector('.editing')`)
		v.sends(" I carry it myself.")
		b.Until(`document.body.innerText.includes('Pack very light.') && document.body.innerText.includes('2/2')` + calm)
		shows("edited", "2/2", "I carry it myself.")
		was := v.at()
		b.Eval(`[...document.querySelectorAll('[aria-label="Fork from here"]')].at(-1).click()`, nil)
		b.Until(fmt.Sprintf(`location.pathname.startsWith('/c/') && location.pathname !== %q && document.body.innerText.includes('Pack very light.')`, was))

		// A reload in the middle of an answer misses nothing of it, and shows nothing twice.
		v.sends("Count to 250.")
		b.Until(`document.querySelector('[aria-busy=true]')?.innerText.includes(' 40 ')`)
		b.Open(v.c.url + v.at())
		b.Until(`document.querySelector('[aria-busy=true]')?.innerText.includes(' 90 ')`)
		var sofar string
		if b.Eval(`[...document.querySelectorAll('.answer .md')].at(-1).innerText.trim()`, &sofar); !strings.HasPrefix(long, sofar) {
			t.Errorf("while it goes on the answer is %q", sofar)
		}
		b.Until(`document.body.innerText.includes(' 249 250')` + calm)
		var answers []string
		if b.Eval(`[...document.querySelectorAll('.answer .md')].map((e) => e.innerText.trim())`, &answers); answers[len(answers)-1] != long {
			t.Errorf("after the reload the answer is %q", answers)
		}

		// Without the server the chat is there and a draft is kept; it is sent when the server is there again.
		b.Forget()
		v.c.end()
		b.Until(`document.body.innerText.includes('Offline')`)
		v.writes("Are you there?")
		shows("offline", "Offline", " 249 250")
		at := strings.TrimPrefix(v.c.url, "http://")
		v.c = serveIt(t, cmd, "--addr", at)
		if v.c.url != "http://"+at {
			t.Fatalf("the server is at %s, and was at %s", v.c.url, at)
		}
		b.Until(`!document.body.innerText.includes('Offline')`)
		b.Forget() // what couldn't be reached
		b.Eval(`document.querySelector('.go').click()`, nil)
		b.Until(`document.body.innerText.includes('Welcome back.')` + calm)
		shows("back", "Are you there?", "Welcome back.")

		// A session of a terminal asks, and continues with the answers of the page.
		tty := greeting(v)
		b.Open(v.c.url + "/s")
		b.Until(`document.querySelector('main section li .waiting')`)
		b.Eval(`document.querySelector('main section li a').click()`, nil)
		b.Until(`document.querySelector('.ask .add')`)
		shows("terminal", "Change this file?", "greet.go")
		b.Eval(`document.querySelector('.ask .yes').click()`, nil)
		b.Until(`document.querySelector('.ask .command')?.innerText.includes('touch ran')`)
		b.Eval(`document.querySelector('.ask .yes').click()`, nil)
		tty.WaitText("All done.")
		b.Until(`document.body.innerText.includes('All done.') && !document.querySelector('.ask')`)
		if _, err := os.Stat(filepath.Join(v.c.cmd.Dir, "ran")); err != nil {
			t.Error(err)
		}
		v.quiet("terminal")
	})
}

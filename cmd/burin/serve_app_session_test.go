package main

import (
	"encoding/base64"
	"fmt"
	"image/color"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm/llmtest"
)

// aPlan is one that tries to do more than be read.
const aPlan = "## Greet people\n\n1. Add `greet.go`\n2. Run the **tests**\n\n<img src=x onerror=window.fired=1>"

// The page of a session has what its terminal has: pictures that open larger, the todos as they are done,
// a plan that is read, changed and approved.
func TestServeAppSession(t *testing.T) {
	t.Parallel()
	pacetest.Costly(t)
	for i, size := range [][2]int{{390, 844}, {1280, 800}} {
		t.Run(fmt.Sprint(size[0]), func(t *testing.T) {
			t.Parallel()
			v := appOf(t, rpcConfig+"todo: {reminders: false}\n", []llmtest.Turn{
				turnCalling("c1", "read", `{"path":"map.png"}`),
				turnCalling("c2", "todo", `{"ops":[{"op":"init","list":[{"phase":"Build","items":["Write the greeting","Run the <b>tests</b>"]},{"phase":"Ship","items":["Tell people"]}]}]}`),
				turnCalling("c3", "exit_plan", fmt.Sprintf(`{"title":"Greet people","plan":%q}`, aPlan)),
				turnCalling("c4", "todo", `{"ops":[{"op":"done","task":"Write the greeting"}]}`),
				turnSaying("All **done**."),
				turnSaying("Animals are greeted."),
			}, size[0], size[1], i == 0)
			v.name = "session-" + fmt.Sprint(size[0])
			b, c := v.b, v.c
			if err := os.WriteFile(filepath.Join(c.cmd.Dir, "map.png"), square(t, color.RGBA{0, 128, 128, 255}), 0o600); err != nil {
				t.Fatal(err)
			}
			var made struct{ ID string }
			c.must(http.StatusCreated, "POST", "/v1/sessions", map[string]any{"folder": c.cmd.Dir, "mode": "full"}, &made)
			at := "/v1/sessions/" + made.ID
			c.must(http.StatusOK, "POST", at+"/set_mode", map[string]any{"text": "plan"}, nil)
			b.Open(c.url + "/s/" + made.ID)
			b.Until(`document.querySelector('textarea')`)
			c.must(http.StatusOK, "POST", at+"/submit", map[string]any{"message": map[string]any{"role": "user", "content": []map[string]any{
				{"type": "image", "mimeType": "image/png", "data": base64.StdEncoding.EncodeToString(square(t, color.RGBA{200, 0, 0, 255}))}, {"type": "text", "text": "Greet people"},
			}}}, nil)

			// Both pictures come by their address, though events brought their bytes.
			const loaded = `[...document.querySelectorAll('.pictures img')].filter((i) => i.naturalWidth === 60 && i.getAttribute('src').startsWith('/v1/sessions/')).length`
			b.Until(`document.querySelector('.plan')`)
			b.Until(loaded + ` === 2`)
			var text string
			if b.Eval(`document.querySelector('.plan .body').innerText`, &text); !strings.Contains(text, "<img src=x") {
				t.Errorf("the plan is %q", text)
			}
			v.shows("plan", "Greet people", "waits for you", "Approve and execute in full mode", "Approve and execute in ask mode", "Keep planning")

			// It is changed, and approved with a note.
			b.Eval(`document.querySelector('.plan .row .button').click()`, nil)
			b.Until(`document.querySelector('.plan textarea')`)
			b.Eval(`document.querySelector('.plan textarea').focus()`, nil)
			b.Write("\nThen a cake.")
			b.Eval(`document.querySelector('.plan .line').focus()`, nil)
			b.Write("be quick")
			v.shows("plan-edit", "Send back with my changes")
			b.Eval(`document.querySelector('.plan .first').click()`, nil)
			b.Until(`document.body.innerText.includes('All done.') && !document.querySelector('.plan')`)
			b.Until(`document.querySelector('.bar button b')?.innerText === '1/3'`)
			sent := v.said()
			if !strings.Contains(sent, "Then a cake.") || !strings.Contains(sent, "The user adds: be quick") {
				t.Errorf("the model got %s", sent)
			}
			b.Eval(`document.querySelector('.bar button').click()`, nil)
			b.Until(`document.querySelector('.panel li.completed')`)
			v.shows("todos", "1/3", "Run the <b>tests</b>", "Tell people", "Ship")
			b.Eval(`[...document.querySelectorAll('.bar button')].find((e) => e.innerText === 'Plan').click()`, nil)
			b.Until(`document.querySelector('.plan')`)
			v.shows("plan-done", "carried out", "Then a cake.")
			b.Eval(`document.querySelector('.plan header .button').click()`, nil)
			b.Until(`!document.querySelector('.plan')`)

			b.Eval(`document.querySelector('.call .pictures button').click()`, nil)
			b.Until(`document.querySelector('dialog img')?.naturalWidth === 60`)
			v.shows("picture", "map.png")
			b.Press("Escape")
			b.Until(`!document.querySelector('dialog')`)

			// The person goes back to the prompt and sends another one: the old branch stays, can be continued,
			// and a session begins with it.
			tree := func(entry, button string) {
				t.Helper()
				b.Eval(`document.querySelector('.chip[aria-label=Branches]').click()`, nil)
				row := `[...document.querySelectorAll('dialog[open] li button')].find((e) => e.innerText.includes('` + entry + `'))`
				b.Until(row)
				b.Eval(row+`.click()`, nil)
				b.Until(`document.querySelector('dialog[open] .acts')`)
				if button == "" {
					return
				}
				b.Eval(`[...document.querySelectorAll('dialog .acts button')].find((e) => e.innerText === '`+button+`').click()`, nil)
				b.Until(`!document.querySelector('dialog')`)
			}
			tree("Greet people", "Edit and send again")
			b.Until(`document.querySelector('textarea').value === 'Greet people' && !document.body.innerText.includes('All done.')`)
			v.sends(" and animals")
			b.Until(`document.body.innerText.includes('Animals are greeted.') && !document.querySelector('.go.stop')`)
			tree("All", "")
			v.shows("tree", "Branches", "here", "Continue from here", "New session from here")
			b.Press("Escape")
			b.Until(`!document.querySelector('dialog')`)
			tree("All", "Continue from here")
			b.Until(`document.body.innerText.includes('All done.') && !document.body.innerText.includes('Animals are greeted.')`)
			tree("All", "New session from here")
			b.Until(`location.pathname.startsWith('/s/') && !location.pathname.endsWith('` + made.ID + `') && document.body.innerText.includes('All done.') && document.querySelector('.bar b')`)
			v.shows("fork", "All done.", "1/3")

			// Todos and pictures are there, too, for who comes later.
			b.Open(c.url + "/s/" + made.ID)
			b.Until(loaded + ` === 2 && document.querySelector('.bar button b')?.innerText === '1/3'`)
			var fired any
			if b.Eval(`window.fired ?? null`, &fired); fired != nil {
				t.Error("something of the model's ran in the page")
			}
			v.quiet("session")
		})
	}
}

// What runs in the background is listed with its output as it comes, and is stopped from the page. A program with a
// terminal is shown as it draws, and gets what is typed there. What they write stays text.
func TestServeAppPrograms(t *testing.T) {
	t.Parallel()
	pacetest.Costly(t)
	for i, size := range [][2]int{{390, 844}, {1280, 800}} {
		t.Run(fmt.Sprint(size[0]), func(t *testing.T) {
			t.Parallel()
			v := appOf(t, rpcConfig, []llmtest.Turn{
				turnCalling("c1", "bash", `{"background":true,"command":"printf 'tick <img src=x onerror=window.fired=1>\\n'; until [ -e go ]; do sleep 0.05; done; printf '\\033[31mred\\033[0m \\033]0;title\\007tock\\n'; sleep 600"}`),
				turnCalling("c2", "bash", `{"tty":true,"command":"printf 'your <b>name</b>? '; read n; printf '\\033[2J\\033[5;3Hhello \\033[32m%s\\033[0m \\033[1;1Htop' \"$n\"; read x; echo bye"}`),
				turnSaying("All **done**."),
			}, size[0], size[1], i == 1)
			v.name = "programs-" + fmt.Sprint(size[0])
			b, c := v.b, v.c
			var made struct{ ID string }
			c.must(http.StatusCreated, "POST", "/v1/sessions", map[string]any{"folder": c.cmd.Dir, "mode": "full"}, &made)
			at := "/v1/sessions/" + made.ID
			b.Open(c.url + "/s/" + made.ID)
			b.Until(`document.querySelector('textarea')`)
			v.sends("Run both")

			// The program opens by itself, and what is typed in the page is typed there.
			b.Until(`document.querySelector('.program pre')?.innerText.includes('your <b>name</b>?')`)
			b.Eval(`document.querySelector('.program input').focus()`, nil)
			b.Write("Ada")
			b.Eval(`document.querySelector('.program form').requestSubmit()`, nil)
			b.Until(`document.querySelector('.program pre')?.innerText.includes('hello Ada')`)
			var lines []string
			if b.Eval(`document.querySelector('.program pre').innerText.split('\n')`, &lines); lines[0] != "top" || strings.TrimRight(lines[4], " ") != "  hello Ada" {
				t.Errorf("the screen of the program is %q", lines)
			}
			var green bool
			if b.Eval(`[...document.querySelectorAll('.program .a2')].some((e) => e.innerText === 'Ada')`, &green); !green {
				t.Error("the name isn't green")
			}
			v.shows("program", "hello Ada", "Ctrl+C")
			b.Eval(`document.querySelector('.program form').requestSubmit()`, nil)
			b.Until(`!document.querySelector('.program') && document.body.innerText.includes('All done.')`)
			b.Until(`document.querySelectorAll('.prompt').length === 1`) // though it was sent while the session was loaded

			b.Eval(`[...document.querySelectorAll('.bar button')].find((e) => e.innerText.includes('In the background')).click()`, nil)
			b.Until(`document.querySelector('.panel .last')?.innerText.includes('tick <img')`)
			b.Eval(`document.querySelector('.panel .head').click()`, nil)
			b.Until(`document.querySelector('.panel pre')?.innerText.includes('tick <img')`)
			if err := os.WriteFile(filepath.Join(c.cmd.Dir, "go"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			b.Until(`document.querySelector('.panel pre')?.innerText.includes('\nred tock')`)
			v.shows("jobs", "tock", "running")
			b.Eval(`document.querySelector('.panel [aria-label^=Stop]').click()`, nil)
			b.Until(`document.querySelector('.panel small')?.innerText === 'stopped'`)
			var jobs []struct{ Running bool }
			if c.must(http.StatusOK, "POST", at+"/jobs", nil, &jobs); len(jobs) != 1 || jobs[0].Running {
				t.Errorf("the jobs are %+v", jobs)
			}
			var fired any
			if b.Eval(`window.fired ?? null`, &fired); fired != nil {
				t.Error("something that a program wrote ran in the page")
			}
			v.quiet("programs")
		})
	}
}

// said is what people and programs have said to the model, in its last request.
func (v *appVisit) said() string {
	all := v.srv.Requests()
	var b strings.Builder
	for _, m := range all[len(all)-1].Messages {
		b.WriteString(m.Text() + "\n")
	}
	return b.String()
}

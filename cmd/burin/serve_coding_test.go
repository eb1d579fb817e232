package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/mode/tui/robot"
	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/anthropic"
	"github.com/burin-dev/burin/llm/llmtest"
)

// A browser begins sessions in the folders that the settings allow, and in no other, whatever path
// it names. Programs with the token may begin them anywhere.
func TestServeFolders(t *testing.T) {
	t.Parallel()
	cmd := machine(t, newBrain(t), rpcConfig)
	home := filepath.Dir(cmd.Dir)
	for _, dir := range []string{"code/app/.git", "code/app/src", "code/.hidden", "secret"} {
		if err := os.MkdirAll(filepath.Join(home, filepath.FromSlash(dir)), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(home, "secret"), filepath.Join(home, "code", "way")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, "burin", "config.yml"), []byte(rpcConfig+"server: {folders: [~/code]}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := serveIt(t, cmd)
	cookie := c.opened(cmd)
	ask := func(verb, path, body string) (int, string) {
		r := c.request(verb, path, body)
		r.Header.Del("Authorization")
		r.AddCookie(cookie)
		if body != "" {
			r.Header.Set("Origin", c.url)
		}
		answer, said := c.visit(r)
		return answer.StatusCode, said
	}
	code := filepath.Join(home, "code")
	if status, said := ask("GET", "/v1/folders", ""); status != http.StatusOK || !strings.Contains(said, fmt.Sprintf("%q", code)) {
		t.Errorf("the allowed folders: %d %s", status, said)
	}
	status, said := ask("GET", "/v1/folders?path="+code, "")
	if status != http.StatusOK || !strings.Contains(said, `"repository":true`) || strings.Contains(said, "hidden") || strings.Contains(said, "way") {
		t.Errorf("what is in one: %d %s", status, said)
	}
	for _, path := range []string{home, filepath.Join(home, "secret"), code + "/../secret", code + "/way", "/", filepath.Join(home, "nowhere")} {
		if status, said := ask("GET", "/v1/folders?path="+path, ""); status != http.StatusForbidden {
			t.Errorf("look at %s: %d %s", path, status, said)
		}
		if path == filepath.Join(home, "nowhere") {
			continue
		}
		if status, said := ask("POST", "/v1/sessions", fmt.Sprintf(`{"folder":%q}`, path)); status != http.StatusForbidden {
			t.Errorf("begin in %s: %d %s", path, status, said)
		}
	}
	if status, said := ask("POST", "/v1/sessions", fmt.Sprintf(`{"folder":%q}`, filepath.Join(code, "app", "src"))); status != http.StatusCreated {
		t.Errorf("begin in an allowed folder: %d %s", status, said)
	}
	c.must(http.StatusCreated, "POST", "/v1/sessions", map[string]any{"folder": cmd.Dir}, nil)
}

// codingTurns are what a model says that edits a file, runs a command and asks for it.
func codingTurns() []llmtest.Turn {
	used := llm.Usage{Input: 1200, Output: 300}
	call := func(id, name, args string) llmtest.Turn {
		return llmtest.Turn{Events: slices.Concat(llmtest.Call(id, name, args), llmtest.Stop(llm.StopToolUse, used))}
	}
	return []llmtest.Turn{
		{Events: slices.Concat(llmtest.Think("I read the file first.", ""), llmtest.Say("I look at it."), llmtest.Call("c1", "read", `{"path":"main.go"}`), llmtest.Stop(llm.StopToolUse, used))},
		call("c2", "write", `{"path":"greet.go","content":"package main\n\nfunc greet() string {\n\treturn \"hello <b>you</b>\"\n}\n"}`),
		call("c3", "bash", `{"command":"printf 'one\\n\\033[31mred\\033[0m two\\n' && touch ran"}`),
		{Events: slices.Concat(llmtest.Say("All **done**."), llmtest.Stop(llm.StopEnd, used))},
		{Events: slices.Concat(llmtest.Say("Thank you."), llmtest.Stop(llm.StopEnd, used))},
	}
}

// greeting begins a session in a terminal, and comes to where it asks whether it may write.
func greeting(v *appVisit) *robot.Robot {
	t := v.t
	t.Helper()
	if err := os.WriteFile(filepath.Join(v.c.cmd.Dir, "main.go"), []byte("package main\n\nfunc main() {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(t.TempDir(), "burin") // the tests are the program by this name
	if err := os.Symlink(v.c.cmd.Path, bin); err != nil {
		t.Fatal(err)
	}
	tty := robot.Start(t, robot.Options{Timeout: time.Minute, Width: 100, Height: 40, Dir: v.c.cmd.Dir, Env: append(slices.Clone(v.c.cmd.Env), "BURIN_SKIP_SETUP=1")}, bin, "--approval", "ask")
	tty.WaitText("two")
	tty.Type("Greet people")
	tty.Press("enter")
	tty.WaitText("Change this file?")
	return tty
}

// A session of a terminal is in the app, live: the page shows what the terminal asks, answers it, and
// the terminal goes on at once; the terminal answers, and the question goes from the page.
func TestServeAppCoding(t *testing.T) {
	t.Parallel()
	pacetest.Costly(t)
	for i, size := range [][2]int{{390, 844}, {1280, 800}} {
		t.Run(fmt.Sprint(size[0]), func(t *testing.T) {
			t.Parallel()
			v := app(t, codingTurns(), size[0], size[1], i == 1)
			v.name = "coding-" + fmt.Sprint(size[0])
			b := v.b
			b.Open(v.c.url + "/s")
			b.Until(`document.querySelector('main .empty')`)
			tty := greeting(v) // which the list hears of
			b.Until(`document.querySelector('.coding .item') && document.querySelector('main section li a')`)
			b.Until(`document.querySelector('main section li .waiting')`)
			v.shows("list", "may run write?")
			b.Eval(`document.querySelector('main section li a').click()`, nil)
			b.Until(`document.querySelector('.ask')`)
			b.Until(`document.querySelector('.ask .add')`)
			v.shows("question", "Change this file?", "greet.go", "Yes, this once", "hello <b>you</b>", "in this session")

			// The page answers, and the terminal goes on.
			b.Eval(`document.querySelector('.ask .yes').click()`, nil)
			tty.WaitText("answered elsewhere: burin serve")
			tty.WaitText("Run this command?")
			b.Until(`document.querySelector('.ask .command')?.innerText.includes('touch ran')`)
			v.shows("command", "Run this command?", "touch ran")
			// The terminal answers, and the page goes on.
			<-time.After(350 * time.Millisecond) // until then the question takes no key, as it may be meant for what was there before
			tty.Type("y")
			b.Until(`!document.querySelector('.ask') && document.body.innerText.includes('All done.')`)
			b.Until(`document.querySelector('.output')?.innerText.includes('red two')`)
			v.shows("transcript", "I look at it.", "greet.go", "+5")
			tty.WaitText("All done.")
			if _, err := os.Stat(filepath.Join(v.c.cmd.Dir, "ran")); err != nil {
				t.Error(err)
			}

			v.writes("Thanks")
			b.Eval(`document.querySelector('.go').click()`, nil)
			b.Until(`document.body.innerText.includes('Thank you.')`)
			tty.WaitText("Thank you.")

			b.Eval(`document.querySelector('.chip').click()`, nil)
			b.Until(`document.querySelector('dialog section .head')`)
			b.Eval(`[...document.querySelectorAll('dialog section .head')].at(-1).click()`, nil)
			b.Until(`document.querySelector('dialog .add')`)
			v.shows("files", "Files changed", "greet.go")
			b.Eval(`document.querySelector('dialog .undo').click()`, nil)
			b.Until(`document.querySelector('dialog .plan')`)
			v.shows("undo", "Undo what this turn changed?")
			b.Eval(`document.querySelector('dialog .plan .first').click()`, nil)
			b.Until(`document.querySelector('dialog .undo').innerText === 'Bring back'`)
			if _, err := os.Stat(filepath.Join(v.c.cmd.Dir, "greet.go")); !os.IsNotExist(err) {
				t.Errorf("greet.go is there after the undo: %v", err)
			}
			v.quiet("coding")

			// What was said while it was open is there without the server, too.
			v.keeps("Greet people", "Thank you.")
			at := v.at()
			b.Forget()
			v.c.end()
			b.Open(v.c.url + at)
			b.Until(`['Greet people', 'All done.', 'Thank you.', 'Offline'].every((s) => document.body.innerText.includes(s))`)
		})
	}
}

// keeps waits until the browser has kept texts, for where there is no connection.
func (v *appVisit) keeps(texts ...string) {
	v.t.Helper()
	all, _ := json.Marshal(texts)
	v.b.Until(fmt.Sprintf(`await (async () => {
		const data = await caches.open('data');
		const kept = (await Promise.all((await data.keys()).map(async (k) => k.url + (await (await data.match(k))?.text())))).join();
		return %s.every((s) => kept.includes(s));
	})()`, all))
}

// The app can be installed, starts without a connection, and shows what was read in it. After a
// sign-out nothing of that is left.
func TestServeAppOffline(t *testing.T) {
	t.Parallel()
	pacetest.Costly(t)
	say := func(text string) llmtest.Turn {
		return llmtest.Turn{Events: slices.Concat(llmtest.Say(text), llmtest.Stop(llm.StopEnd, llm.Usage{Input: 1, Output: 1}))}
	}
	v := app(t, []llmtest.Turn{say("An okapi is a **mammal**."), say("It lives in the Congo."), say("It eats leaves.")}, 390, 844, false)
	v.name = "offline-390"
	b := v.b
	b.Open(v.c.url + "/")
	b.Until(`document.querySelector('.chip')?.innerText`)
	b.Until(`navigator.serviceWorker.controller`)
	var manifest struct {
		URL    string           `json:"url"`
		Errors []map[string]any `json:"errors"`
		Data   string           `json:"data"`
	}
	b.Call("Page.getAppManifest", nil, &manifest)
	if len(manifest.Errors) > 0 || !strings.Contains(manifest.Data, `"standalone"`) {
		t.Errorf("the manifest: %+v", manifest)
	}
	for _, is := range [][2]string{{"What is an okapi?", "mammal"}, {"Where does it live?", "Congo"}, {"What does it eat?", "leaves"}} {
		v.sends(is[0]) // the chat isn't opened again, so its transcript was read in pieces
		b.Until(fmt.Sprintf(`document.body.innerText.includes(%q) && !document.querySelector('[aria-busy=true], .go.stop')`, is[1]))
	}
	at := v.at()
	v.writes("half a thought")
	b.Until(`localStorage.getItem('draft:' + location.pathname.slice(3)) === 'half a thought'`)
	v.keeps("leaves", "What does it eat?", "/v1/models")
	b.Settle()
	b.Forget()
	v.c.end()
	b.Open(v.c.url + at)
	b.Until(`['mammal', 'Congo', 'leaves', 'Offline'].every((s) => document.body.innerText.includes(s))`)
	b.Until(`document.querySelector('textarea').value === 'half a thought'`)
	b.Until(`[...document.querySelectorAll('.chat')].some((e) => e.textContent.includes('okapi'))`) // the lists, too
	v.shows("chat", "Offline", "What is an okapi?")

	b.Eval(`navigator.serviceWorker.controller.postMessage('forget')`, nil)
	b.Until(`!(await caches.keys()).includes('data')`)
}

// What was written and not sent stays with who wrote it: it is gone after a sign-out, and when somebody
// else is signed in, however that came about.
func TestServeAppSignOut(t *testing.T) {
	t.Parallel()
	pacetest.Costly(t)
	v := app(t, nil, 1280, 800, false)
	b := v.b
	b.Open(v.c.url + "/")
	b.Until(`document.querySelector('.chip')?.innerText && localStorage.getItem('person')`)
	b.Eval(`(localStorage.setItem('draft:new:', 'a secret'), localStorage.setItem('person', 'somebody'))`, nil)
	b.Open(v.c.url + "/")
	b.AwaitTimes("Page.loadEventFired", 2) // what fields had of it goes, too
	b.Until(`document.querySelector('textarea')?.value === '' && localStorage.getItem('draft:new:') === null && localStorage.getItem('person') !== 'somebody'`)
	v.writes("a secret")
	b.Until(`Object.values(localStorage).includes('a secret')`)
	b.Open(v.c.url + "/settings/appearance")
	b.Eval(`dispatchEvent(new KeyboardEvent('keydown', {key: 'k', ctrlKey: true, bubbles: true, cancelable: true}))`, nil)
	b.Until(`[...document.querySelectorAll('dialog[open] [role=option]')].some((e) => e.innerText.includes('Sign out'))`)
	b.Forget()
	b.Eval(`[...document.querySelectorAll('dialog[open] [role=option]')].find((e) => e.innerText.includes('Sign out')).click()`, nil)
	b.Await("Page.loadEventFired")
	var left []string
	if b.Eval(`Object.keys(localStorage).filter((k) => k.startsWith('draft:'))`, &left); len(left) > 0 {
		t.Errorf("after the sign-out there is %q", left)
	}
}

// A sub-agent has a session of its own, which admins read at ID:AGENT, and nobody else.
func TestServeAgentSession(t *testing.T) {
	t.Parallel()
	used := llm.Usage{Input: 10, Output: 10}
	say := func(text string) llmtest.Turn {
		return llmtest.Turn{Events: slices.Concat(llmtest.Say(text), llmtest.Stop(llm.StopEnd, used))}
	}
	srv, err := llmtest.Serve(anthropic.Server{}, llmtest.Script{Turns: []llmtest.Turn{
		{Events: slices.Concat(llmtest.Call("t1", "task", `{"agent":"task","tasks":[{"id":"finder","description":"find it","assignment":"find the number"}]}`), llmtest.Stop(llm.StopToolUse, used))},
		say("I found 42."),
		say("It is 42."),
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	cmd := machine(t, &brain{srv: srv}, rpcConfig)
	c := serveIt(t, cmd)
	var made struct{ ID string }
	c.must(http.StatusCreated, "POST", "/v1/sessions", map[string]any{"folder": cmd.Dir}, &made)
	at := "/v1/sessions/" + made.ID
	said := saying("go")
	said["id"] = "1"
	c.must(http.StatusOK, "POST", at+"/submit", said, nil)
	c.must(http.StatusOK, "POST", at+"/wait", map[string]any{"id": "1"}, nil)
	var agents []struct{ ID, Description string }
	c.must(http.StatusOK, "POST", at+"/agents", nil, &agents)
	if len(agents) != 1 || agents[0].Description != "find it" {
		t.Fatalf("the agents are %+v", agents)
	}
	own := at + ":" + agents[0].ID
	var nodes struct{ Nodes []struct{ ID string } }
	c.must(http.StatusOK, "POST", own+"/nodes", map[string]any{"from": 0}, &nodes)
	var ids []string
	for _, n := range nodes.Nodes {
		ids = append(ids, n.ID)
	}
	status, entries := c.do(c.request("POST", own+"/entries", fmt.Sprintf(`{"ids":["%s"]}`, strings.Join(ids, `","`))))
	if status != http.StatusOK || !strings.Contains(string(entries), "I found 42.") || strings.Contains(string(entries), "It is 42.") {
		t.Errorf("the session of the agent: %d %s", status, entries)
	}
	if status, said := c.do(c.request("GET", at+":nobody", "")); status < 400 {
		t.Errorf("an agent that isn't there: %d %s", status, said)
	}
	bob := c.member(cmd, "bob", "member")
	if status, said := bob.ask(c, "GET", own, ""); status != http.StatusForbidden {
		t.Errorf("somebody else: %d %s", status, said)
	}
}

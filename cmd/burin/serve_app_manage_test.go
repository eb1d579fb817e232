package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/browsertest"
	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/anthropic"
	"github.com/burin-dev/burin/llm/llmtest"
)

// ticks sets a check box, and chooses picks an option of a select, as a person does.
func (v *appVisit) ticks(selector string) {
	v.t.Helper()
	v.b.Until(fmt.Sprintf(`document.querySelector(%q)`, selector))
	v.b.Eval(fmt.Sprintf(`document.querySelector(%q).click()`, selector), nil)
}

func (v *appVisit) chooses(selector, value string) {
	v.t.Helper()
	v.b.Until(fmt.Sprintf(`document.querySelector(%q)`, selector))
	v.b.Eval(fmt.Sprintf(`(() => { const s = document.querySelector(%q); s.value = %q; s.dispatchEvent(new Event('change', {bubbles: true})); })()`, selector, value), nil)
}

// saves presses Save of the form at the bottom, and waits until it is done.
func (v *appVisit) saves() {
	v.t.Helper()
	v.presses(".bottom button", "Save")
	v.b.Until(`!document.querySelector('.bottom')`)
}

// A project gets tools with options, a form for messages, and notes, in the page. The model has what was set.
func TestServeAppProject(t *testing.T) {
	t.Parallel()
	pacetest.Costly(t)
	for i, size := range [][2]int{{390, 844}, {1280, 800}} {
		dark := i == 0
		t.Run(fmt.Sprint(size[0], dark), func(t *testing.T) {
			t.Parallel()
			used := llm.Usage{Input: 100, Output: 30}
			v := app(t, []llmtest.Turn{
				{Events: slices.Concat(llmtest.Call("c1", "memory", `{"command":"create","path":"/memories/README.md","file_text":"Likes quaggas.\n"}`), llmtest.Stop(llm.StopToolUse, used))},
				{Events: slices.Concat(llmtest.Say("Noted."), llmtest.Stop(llm.StopEnd, used))},
				{Events: slices.Concat(llmtest.Say("You like okapis."), llmtest.Stop(llm.StopEnd, used))},
			}, size[0], size[1], dark)
			v.name = "project-" + v.name
			b := v.b
			var made struct{ ID string }
			v.c.must(http.StatusCreated, "POST", "/v1/projects", map[string]any{"name": "Zoo"}, &made)
			settings := v.c.url + "/p/" + made.ID + "/settings"
			b.Open(settings)
			v.ticks("#tool-memory")
			v.ticks("#tool-prompt")
			v.ticks("#tool-web")
			v.ticks("#tool-readonly")
			v.ticks("#tool-checkpoint")
			v.ticks(".some input[value=memory]")
			v.ticks("#tool-minion")
			v.fills("#tool-instructions", "Be quick.")
			v.chooses("#tool-return", "deferred")
			v.fills("#tool-concurrency", "2")
			v.chooses("#p-mode", "full")
			v.chooses("#p-format", "template")
			v.fills("#p-template", "[{{modelName}}] {{userMessage}}")
			b.Eval(`document.querySelector('#format').scrollIntoView()`, nil)
			v.shows("format", "Message format", "currentCost")
			b.Eval(`document.querySelector('#tools').scrollIntoView()`, nil)
			v.shows("tools", "Tools", "Only read and search", "Show the notes")
			b.Eval(`document.querySelector('#tool-minion').scrollIntoView()`, nil)
			v.shows("agents", "Agents at a time", "A call, and they continue")
			v.saves()
			tools := v.c.toolsOf(made.ID)
			if tools["memory"]["systemPrompt"] != true || tools["filesystem"]["readOnly"] != true || tools["web"] != nil || tools["calc"] == nil || tools["minion"]["concurrency"] != 2.0 ||
				tools["minion"]["return"] != "deferred" || tools["minion"]["instructions"] != "Be quick." || fmt.Sprint(tools["checkpoint"]["keep"]) != "[memory]" {
				t.Errorf("the project has %v", tools)
			}
			for range 2 { // the folder is made, and then it is there
				b.Open(settings)
				v.presses("#tools ~ ul a", "Open the folder")
				b.Until(`location.hash === '#/knowledge' && document.body.innerHTML.includes('All chats know what is here')`)
			}

			b.Open(v.c.url + "/p/" + made.ID)
			b.Until(`document.querySelector('textarea')`)
			v.sends("I like quaggas")
			b.Until(`document.querySelector('.answer')?.innerText.includes('Noted.') && !document.querySelector('[aria-busy=true], .go.stop')`)
			v.received("] I like quaggas", "The /memories directory is empty", "checkpoint")
			var prompt string
			if b.Eval(`document.querySelector('.prompt .bubble').innerText`, &prompt); prompt != "I like quaggas" {
				t.Errorf("the page shows %q", prompt)
			}

			// What the model noted is read, changed, added to and deleted.
			b.Open(settings)
			v.presses(".notes .name", "README.md")
			b.Until(`document.querySelector('#note-text')?.value === 'Likes quaggas.\n'`)
			v.fills("#note-text", "Likes okapis.")
			b.Eval(`document.querySelector('#memory').scrollIntoView()`, nil)
			v.shows("memory", "Memory", "README.md")
			v.presses("form button", "Save")
			b.Until(`!document.querySelector('#note-text')`)
			v.presses("section button", "New note")
			v.fills("#note-name", "trips/basel.md")
			v.fills("#note-text", "By train.")
			v.presses("form button", "Save")
			b.Until(`document.querySelectorAll('.notes > li').length === 2`)
			v.presses(".notes button", "Delete trips/basel.md")
			b.Until(`document.querySelectorAll('.notes > li').length === 1`)
			if got := v.c.send(http.StatusOK, "GET", "/v1/projects/"+made.ID+"/file?path=/memories/README.md", "", nil); got != "Likes okapis." {
				t.Errorf("the note says %q", got)
			}
			b.Open(v.c.url + "/settings/memory")
			b.Until(`document.querySelector('details summary')?.innerText.includes('Zoo')`)
			b.Eval(`document.querySelector('details summary').click()`, nil)
			b.Until(`document.querySelector('.notes')?.innerText.includes('README.md')`)
			v.shows("all-memory", "What models noted")
			b.Open(v.c.url + "/p/" + made.ID)
			b.Until(`document.querySelector('textarea')`)
			v.sends("What do I like?")
			b.Until(`document.querySelector('.answer')?.innerText.includes('okapis') && !document.querySelector('[aria-busy=true], .go.stop')`)
			v.received("Likes okapis.")
		})
	}
}

// Without a provider's key the app asks for one, and keeps it only if the provider takes it. Nobody reads it again. Then the first question is answered.
func TestServeAppFirstRun(t *testing.T) {
	t.Parallel()
	pacetest.Costly(t)
	for i, size := range [][2]int{{390, 844}, {1280, 800}} {
		dark := i == 1
		t.Run(fmt.Sprint(size[0], dark), func(t *testing.T) {
			t.Parallel()
			used := llm.Usage{Input: 100, Output: 30}
			say := func(text string) llmtest.Turn {
				return llmtest.Turn{Events: slices.Concat(llmtest.Say(text), llmtest.Stop(llm.StopEnd, used))}
			}
			refused := llmtest.Turn{Fault: llmtest.Fault{Error: &llm.Error{Kind: llm.ErrAuth, Status: 401, Message: "invalid x-api-key"}}}
			srv, err := llmtest.Serve(anthropic.Server{}, llmtest.Script{Turns: []llmtest.Turn{refused, say("Yes."), say("Hello, world."), say("Yes."), refused}})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(srv.Close)
			cmd := machine(t, &brain{srv: srv}, appConfig)
			cmd.Env = slices.DeleteFunc(cmd.Env, func(e string) bool { return strings.HasPrefix(e, "BOX_KEY=") })
			v := appOn(t, srv, cmd, size[0], size[1], dark)
			v.name = "first-" + v.name
			b := v.b
			b.Open(v.c.url + "/")
			b.Until(`document.querySelector('#setup-provider')?.value === 'box'`)
			v.shows("setup", "Welcome to burin", "API key")
			v.fills("#setup-key", "sk-wrong-CANARY")
			v.presses("form button", "Connect")
			b.Until(`document.querySelector('[role=alert]')`)
			v.shows("refused", "box didn't accept this", "invalid x-api-key")
			v.fills("#setup-key", "sk-right-CANARY")
			v.presses("form button", "Connect")
			b.Until(`document.querySelector('.composer textarea, textarea')`)
			v.shows("ready", "box is connected")
			v.sends("Hello?")
			b.Until(`document.querySelector('.answer')?.innerText.includes('Hello, world.') && !document.querySelector('[aria-busy=true], .go.stop')`)

			// The key is in the list of providers, which tests it.
			b.Open(v.c.url + "/settings/providers")
			b.Until(`document.querySelector('.key')`)
			v.presses(".rows button", "Test box")
			b.Until(`document.querySelector('.said')?.innerText.includes('answered in')`)
			v.shows("providers", "Key", "ready")
			v.presses(".rows button", "Test box")
			b.Until(`document.querySelector('.said.wrong')?.innerText.includes('invalid x-api-key')`)
			v.presses(".rows button", "Add a key: box")
			v.fills("#key-text", "sk-second-CANARY")
			v.fills("#key-label", "work")
			v.shows("key", "Nobody can read it again")
			v.presses("form button", "Save")
			b.Until(`document.querySelectorAll('.key').length === 2 && document.querySelector('.rows').innerText.includes('Key work')`)
			v.presses(".key button", "Delete Key work")
			b.Until(`document.querySelectorAll('.key').length === 1`)
			var listed string
			if listed = v.c.send(http.StatusOK, "GET", "/v1/admin/providers", "", nil); strings.Contains(listed, "sk-right") {
				t.Errorf("the list of providers has the key: %s", listed)
			}
			if err := filepath.WalkDir(v.home, func(path string, d os.DirEntry, err error) error {
				if err != nil || d.IsDir() {
					return err
				}
				data, err := os.ReadFile(path)
				if strings.Contains(string(data), "sk-right-CANARY") {
					t.Errorf("%s has the key in the clear", path)
				}
				return err
			}); err != nil {
				t.Fatal(err)
			}
			var log []struct{ What, Detail string }
			v.c.must(http.StatusOK, "GET", "/v1/admin/audit", nil, &log)
			if !slices.ContainsFunc(log, func(e struct{ What, Detail string }) bool { return e.What == "key.add" && e.Detail == "provider box" }) {
				t.Errorf("the log has %v", log)
			}
			v.c.must(http.StatusUnprocessableEntity, "POST", "/v1/admin/providers/nowhere/keys", map[string]any{"key": "k"}, nil)
			v.c.must(http.StatusUnprocessableEntity, "POST", "/v1/admin/keys/999999/remove", nil, nil)
			v.c.must(http.StatusUnprocessableEntity, "POST", "/v1/admin/providers/box/keys", map[string]any{"key": "two\nlines"}, nil)
		})
	}
}

// An admin manages people, groups and tokens in the page.
func TestServeAppPeople(t *testing.T) {
	t.Parallel()
	pacetest.Costly(t)
	for i, size := range [][2]int{{390, 844}, {1280, 800}} {
		dark := i == 0
		t.Run(fmt.Sprint(size[0], dark), func(t *testing.T) {
			t.Parallel()
			v := app(t, nil, size[0], size[1], dark)
			v.name = "people-" + v.name
			b := v.b
			b.Open(v.c.url + "/settings/people")
			v.presses("section button", "Add a person")
			v.fills("#person-name", "ann")
			v.shows("add", "Role")
			v.presses("form button", "Add a person")
			b.Until(`document.querySelector('#person-link')?.value.includes('/reset/') && document.querySelector('.rows').innerText.includes('ann')`)
			v.shows("added", "Send this link to ann", "Owner")
			v.chooses(`[aria-label="Role of ann"]`, "viewer")
			v.presses(".rows button", "Disable")
			b.Until(`document.querySelector('.rows').innerText.includes('disabled')`)
			v.presses(".rows button", "Enable")
			b.Until(`!document.querySelector('.rows').innerText.includes('disabled')`)
			v.presses("section button", "Invite with a link")
			v.presses("form button", "Invite with a link")
			b.Until(`document.querySelector('#person-link')?.value.includes('/join/') && document.body.innerText.includes('Open invitations')`)
			v.presses(".rows button", "Withdraw")
			b.Until(`!document.body.innerText.includes('Open invitations')`)
			v.presses("section button", "New group")
			v.fills("#group-name", "students")
			v.fills("#group-models", "box/two")
			v.fills("#group-budget", "5")
			v.ticks(".few input[value=ann]")
			b.Eval(`document.querySelector('#group-name').scrollIntoView()`, nil)
			v.shows("group", "Budget a month")
			v.presses("form button", "Save")
			b.Until(`document.body.innerText.includes('box/two · $5.00 a month · ann')`)
			var groups []struct {
				Name    string
				Members []string
			}
			v.c.must(http.StatusOK, "GET", "/v1/admin/groups", nil, &groups)
			if len(groups) != 1 || len(groups[0].Members) != 1 {
				t.Errorf("the groups are %v", groups)
			}
			var people []struct{ Name, Role string }
			v.c.must(http.StatusOK, "GET", "/v1/admin/people", nil, &people)
			if !slices.Contains(people, struct{ Name, Role string }{"ann", "viewer"}) {
				t.Errorf("the people are %v", people)
			}
			v.presses(".rows button", "Delete ann")
			b.Until(`document.querySelector('[role=alert]')`)
			v.shows("remove", "can't be undone")
			v.presses("[role=alert] button", "Remove")
			b.Until(`![...document.querySelectorAll('.rows strong')].some((e) => e.innerText === 'ann')`)

			b.Open(v.c.url + "/settings/tokens")
			v.presses("section button", "New token")
			v.fills("#token-name", "dashboard")
			v.presses("form button", "Save")
			b.Until(`document.querySelector('#made-token')?.value`)
			v.shows("token", "Copy it now", "Only look")
			v.presses(".rows button", "Delete dashboard")
			b.Until(`document.body.innerText.includes('No tokens yet')`)
		})
	}
}

// The app speaks the language of the browser, or the one that is chosen. Others are not loaded.
func TestServeAppGerman(t *testing.T) {
	t.Parallel()
	pacetest.Costly(t)
	for i, size := range [][2]int{{390, 844}, {1280, 800}} {
		dark := i == 1
		t.Run(fmt.Sprint(size[0], dark), func(t *testing.T) {
			t.Parallel()
			v := app(t, []llmtest.Turn{{Events: slices.Concat(llmtest.Say("Mit **Freude**."), llmtest.Stop(llm.StopEnd, llm.Usage{Input: 1200, Output: 30}))}}, size[0], size[1], dark)
			v.name = "german-" + v.name
			b := v.b
			loaded := func() bool {
				return slices.ContainsFunc(b.Events(), func(e browsertest.Event) bool {
					return e.Method == "Network.requestWillBeSent" && strings.Contains(string(e.Params), "/app/de-")
				})
			}
			b.Open(v.c.url + "/")
			b.Until(`document.querySelector('.chip')?.innerText && document.documentElement.lang === 'en'`)
			if loaded() {
				t.Error("an English browser loads German")
			}
			var agent string
			b.Eval(`navigator.userAgent`, &agent)
			b.Call("Emulation.setUserAgentOverride", map[string]any{"userAgent": agent, "acceptLanguage": "de-CH,de"}, nil)
			b.Open(v.c.url + "/")
			b.Until(`document.querySelector('textarea')?.placeholder === 'Nachricht an burin' && document.querySelector('h1')?.innerText.includes('Guten') && document.querySelector('.chip')?.innerText`)
			if !loaded() {
				t.Error("the test doesn't see what is loaded")
			}
			v.shows("home", "Guten ", "Temporärer Chat")
			v.sends("Hilfst du mir?")
			b.Until(`document.querySelector('.answer')?.innerText.includes('Freude') && !document.querySelector('[aria-busy=true], .go.stop')`)
			v.shows("chat", "Bisherige Kosten")
			v.presses("header button", "Einstellungen des Chats")
			b.Until(`document.querySelector('dialog #c-instructions')`)
			v.shows("chat-settings", "Links zum Lesen", "Anweisungen für diesen Chat")
			for _, page := range []string{"usage", "people", "providers", "memory", "prompts"} {
				b.Open(v.c.url + "/settings/" + page)
				b.Until(fmt.Sprintf(`document.querySelector('#s-%s') && document.querySelector('.chat') && !document.body.innerText.includes('Wird geladen')`, page))
				v.shows(page, "Einstellungen")
			}
			var projects []struct{ ID string }
			v.c.must(http.StatusOK, "GET", "/v1/projects", nil, &projects)
			b.Open(v.c.url + "/p/" + projects[0].ID + "/settings")
			b.Until(`document.querySelector('#tools')`)
			b.Eval(`document.querySelector('#tools').scrollIntoView()`, nil)
			v.shows("project", "Werkzeuge", "Aufrufe, die auf dich warten")
			v.c.send(http.StatusCreated, "PUT", "/v1/projects/"+projects[0].ID+"/file?path=/notiz.md", "# Notiz\n", nil)
			b.Open(v.c.url + "/p/" + projects[0].ID + "/files#/notiz.md")
			b.Until(`document.querySelector('.text h2')?.innerText === 'Notiz'`)
			v.shows("files", "notiz.md", "Version 1")
			v.presses("article header button", "Bearbeiten")
			v.fills("article textarea", "Neu")
			v.shows("files-editing", "Sichern", "Deine Änderungen sind noch nicht gesichert")
			v.presses("article .bar button", "Verwerfen")
			b.Until(`!document.querySelector('article textarea')`)
			b.Eval(`location.hash = 'trash'`, nil)
			b.Until(`document.querySelector('.trash')?.innerText.includes('leer')`)
			v.shows("files-trash", "Papierkorb")
			b.Open(v.c.url + "/chats")
			b.Until(`document.querySelector('.list .rows li')`)
			v.shows("library", "Papierkorb")
			b.Open(v.c.url + "/account")
			v.shows("account", "Zweiter Faktor", "Deine Schlüssel")

			b.Open(v.c.url + "/settings/appearance")
			b.Until(`document.querySelector('#language')`)
			v.shows("language", "Wie im Browser")
			b.Forget()
			v.chooses("#language", "en")
			b.Await("Page.loadEventFired")
			b.Until(`document.querySelector('.panel h2')?.innerText === 'Appearance' && document.querySelector('#language')?.value === 'en'`)
			v.shows("english", "As in the browser")
			b.Open(v.c.url + "/account")
			v.shows("account-english", "Second factor")
		})
	}
}

// A chat of a project begins with the model of the project, whatever was chosen elsewhere in this browser.
func TestServeAppModelOfProject(t *testing.T) {
	t.Parallel()
	pacetest.Costly(t)
	v := app(t, []llmtest.Turn{{Events: slices.Concat(llmtest.Say("Fine."), llmtest.Stop(llm.StopEnd, llm.Usage{Input: 1, Output: 1}))}}, 1280, 800, false)
	b := v.b
	var made struct{ ID string }
	v.c.must(http.StatusCreated, "POST", "/v1/projects", map[string]any{"name": "Small", "model": "box/one"}, &made)
	b.Open(v.c.url + "/")
	b.Eval(`localStorage.setItem('model', 'box/two')`, nil)
	b.Open(v.c.url + "/p/" + made.ID)
	b.Until(`document.querySelector('.picker .chip')?.innerText === 'One'`)
	v.sends("How are you?")
	b.Until(`document.body.innerText.includes('Fine.') && document.querySelector('.picker .chip')?.innerText === 'One'`)
	if is := v.srv.Requests()[0].Model.ID; is != "one" {
		t.Errorf("the model %q was asked", is)
	}
	// A chat with another model says that it isn't the project's.
	const differs = `document.querySelector('.picker .chip .differs') && document.querySelector('.picker .chip').ariaLabel.includes('not the model of the project')`
	var is bool
	if b.Eval(`!!(`+differs+`)`, &is); is {
		t.Error("the project's model is marked as another one")
	}
	b.Click(`.composer .chip`)
	b.Until(`document.querySelector('#models li')`)
	b.Click(`#models li:not([aria-selected=true])`)
	b.Until(differs)
	v.shows("differs")
}

// A call that waits says what it would change; who denies it may say why, which the model reads.
func TestServeAppAsks(t *testing.T) {
	t.Parallel()
	pacetest.Costly(t)
	for i, size := range [][2]int{{390, 844}, {1280, 800}} {
		used := llm.Usage{Input: 10, Output: 10}
		v := app(t, []llmtest.Turn{
			{Events: slices.Concat(llmtest.Call("c1", "memory", `{"command":"create","path":"secret-plan.md","file_text":"yes"}`), llmtest.Stop(llm.StopToolUse, used))},
			{Events: slices.Concat(llmtest.Say("Then not."), llmtest.Stop(llm.StopEnd, used))},
			{Events: slices.Concat(llmtest.Call("c2", "javascript", `{"code":"const n = 6;\nreturn n * 7;"}`), llmtest.Stop(llm.StopToolUse, used))},
			{Events: slices.Concat(llmtest.Say("It is done."), llmtest.Stop(llm.StopEnd, used))},
		}, size[0], size[1], i == 0)
		v.name = "asks-" + v.name
		b := v.b
		var made struct{ ID string }
		v.c.must(http.StatusCreated, "POST", "/v1/projects", map[string]any{"name": "Book", "mode": "ask", "tools": map[string]any{"memory": map[string]any{}, "javascript": map[string]any{}}}, &made)
		b.Open(v.c.url + "/p/" + made.ID)
		b.Until(`document.querySelector('.chip')?.innerText`)
		v.sends("Note it")
		b.Until(`document.querySelector('.question .reason')`)
		v.shows("question", "memory", "secret-plan.md")
		b.Eval(`document.querySelector('.question .reason').focus()`, nil)
		b.Write("not that one")
		b.Eval(`[...document.querySelectorAll('.question .button')].find((e) => e.innerText === 'Deny').click()`, nil)
		b.Until(`document.body.innerText.includes('Then not.') && !document.querySelector('.question')`)
		all := v.srv.Requests()
		if said := textsOf(all[len(all)-1].Messages); !strings.Contains(said, "not that one") {
			t.Errorf("the model read %s", said)
		}

		// A program is read before it runs, with its lines, in a page that was just opened, too.
		v.sends("Calculate")
		const code = `document.querySelector('.question pre')?.innerText === 'const n = 6;\nreturn n * 7;'`
		b.Until(code)
		var at string
		b.Eval(`location.href`, &at)
		b.Open("about:blank")
		b.Open(at)
		b.Until(code)
		v.shows("program", "javascript")
		b.Eval(`[...document.querySelectorAll('.question .button')].find((e) => e.innerText === 'Allow').click()`, nil)
		b.Until(`document.body.innerText.includes('It is done.') && !document.querySelector('.question')`)
		all = v.srv.Requests()
		if said := textsOf(all[len(all)-1].Messages); !strings.HasSuffix(said, "|42|") {
			t.Errorf("the model read %s", said)
		}
	}
}

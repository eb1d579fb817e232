package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/chat/project"
	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/llmtest"
	"github.com/burin-dev/burin/transcript"
)

// sized runs a test on a phone and on a desktop, one of them dark; in the long form both are both.
func sized(t *testing.T, run func(t *testing.T, width, height int, dark bool)) {
	t.Parallel()
	pacetest.Costly(t)
	for i, size := range [][2]int{{390, 844}, {1280, 800}} {
		for _, dark := range []bool{false, true} {
			if dark != (i == 0) && !pacetest.Long(false, true, true) {
				continue
			}
			t.Run(fmt.Sprint(size[0], dark), func(t *testing.T) {
				t.Parallel()
				run(t, size[0], size[1], dark)
			})
		}
	}
}

// wrote begins a chat that has messages, the last one written a while ago.
func wrote(t *testing.T, s *project.Store, title string, ago time.Duration, messages ...llm.Message) (id string) {
	t.Helper()
	c, err := s.NewChat(t.Context(), ownerPerson, "", project.About{Title: title})
	if err != nil {
		t.Fatal(err)
	}
	at := time.Now().Add(-ago)
	l, err := s.Open(t.Context(), ownerPerson, c, transcript.Options{Now: func() time.Time { return at }}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range messages {
		m.Time = at.Add(-12 * time.Second)
		if m.Role == llm.RoleAssistant {
			m.StopReason, m.Provider, m.Model = llm.StopEnd, "box", "two"
		}
		if _, err := l.Append(transcript.Entry{Type: transcript.TypeMessage, Message: &m}); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return c.ID
}

func wroteYou(text string) llm.Message {
	return llm.Message{Role: llm.RoleUser, Content: []llm.Block{llm.Text{Text: text}}}
}

func wroteModel(text string, used *llm.Usage) llm.Message {
	return llm.Message{Role: llm.RoleAssistant, Content: []llm.Block{llm.Text{Text: text}}, Usage: used}
}

// arrives shows another address of the app as a link in it does.
func arrives(v *appVisit, path string) {
	v.t.Helper()
	v.b.Eval(fmt.Sprintf(`(history.pushState(null, '', %q), dispatchEvent(new PopStateEvent('popstate')), 0)`, path), nil)
}

// A chat whose model is gone is read in the app, and continues with another one.
func TestServeAppModelGone(t *testing.T) {
	sized(t, func(t *testing.T, width, height int, dark bool) {
		b := newBrain(t)
		cmd := machine(t, b, rpcConfig)
		c := serveIt(t, cmd)
		var begun struct{ Chat chatOf }
		c.must(http.StatusCreated, "POST", "/v1/chats", map[string]any{"model": "box/two", "message": map[string]any{"id": "a", "message": saying("say hello there")["message"]}}, &begun)
		c.must(http.StatusOK, "POST", "/v1/sessions/"+begun.Chat.ID+"/wait", map[string]any{"id": "a"}, nil)
		c.end()
		withoutModel(t, cmd)
		v := appOn(t, b.srv, cmd, width, height, dark)
		v.name = "gone-" + v.name
		v.b.Open(v.c.url + "/c/" + begun.Chat.ID)
		v.b.Until(`document.querySelector('.answer')?.innerText.includes('hello there') && document.querySelector('.unusable')`)
		v.shows("gone", "two can't be used", "doesn't have it any more", "Choose a model")
		v.presses(".unusable button", "Choose a model")
		v.b.Until(`document.querySelector('#models [role=option]')`)
		v.b.Eval(`document.querySelector('#models [role=option]').click()`, nil)
		v.b.Until(`!document.querySelector('.unusable') && document.querySelector('.chip')?.innerText === 'One'`)
		v.sends("say on we go")
		v.b.Until(`document.querySelectorAll('.answer').length === 2 && !document.querySelector('[aria-busy=true], .go.stop')`)
		v.shows("goes-on", "on we go")
	})
}

// What can't be opened stands apart in the lists, says why, and is deleted; the rest is as always.
func TestServeAppLost(t *testing.T) {
	sized(t, func(t *testing.T, width, height int, dark bool) {
		v := app(t, []llmtest.Turn{{Events: slices.Concat(llmtest.Say("Fine."), llmtest.Stop(llm.StopEnd, llm.Usage{Input: 1, Output: 1}))}}, width, height, dark)
		v.name = "lost-" + v.name
		b := v.b
		var p, q struct{ ID string }
		v.c.must(http.StatusCreated, "POST", "/v1/projects", map[string]any{"name": "Good"}, &q)
		v.c.must(http.StatusCreated, "POST", "/v1/projects", map[string]any{"name": "Bad"}, &p)
		v.c.must(http.StatusOK, "PATCH", "/v1/preferences", map[string]any{"instructions": "Be brief."}, nil)
		db, _ := serverRooms(t, v.home)
		store := roomOf(t, v.home)
		var ids []string
		for _, title := range []string{"Damaged", "Healthy", "Inside"} {
			in := q.ID
			if title == "Inside" {
				in = p.ID
			}
			c, err := store.NewChat(t.Context(), ownerPerson, in, project.About{Title: title})
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, c.ID)
		}
		for statement, id := range map[string]string{
			`UPDATE {chats} SET sealed = ?2 WHERE id = ?1`: ids[0], `UPDATE {projects} SET sealed = ?2 WHERE id = ?1`: p.ID, `UPDATE {preferences} SET sealed = ?2 WHERE id = ?1`: ownerPerson,
		} {
			if _, err := db.Exec(t.Context(), statement, id, []byte("damaged")); err != nil {
				t.Fatal(err)
			}
		}
		b.Open(v.c.url + "/")
		if width < 600 {
			b.Eval(`document.querySelector('.toggle').click()`, nil)
		}
		lost := `[...document.querySelectorAll('.lists h2')].find((h) => h.innerText === "Can't be opened")?.nextElementSibling?.querySelectorAll('li').length`
		b.Until(lost + ` === 3`)
		v.shows("list", "Healthy", "Inside", "Good", "Damaged, or sealed with another key", "Settings for all chats")

		// Each is deleted, and comes back with Undo as it was.
		v.presses(".lists li:last-child button", "Delete: Chat of")
		b.Until(lost + ` === 2`)
		v.presses(".toast button", "Undo")
		b.Until(lost + ` === 3`)
		v.presses(".lists li:last-child button", "Delete: Chat of")
		b.Until(lost + ` === 2`)

		// The chat in the project that can't be opened is moved out of it, and is read then.
		b.Forget() // that it can't be opened
		arrives(v, "/c/"+ids[2])
		b.Until(`document.querySelector('.problem')?.innerText.includes('Move the chat to another project')`)
		b.Forget()
		v.shows("move", "can't be opened")
		v.presses(".problem button", "Move and tags")
		v.chooses("#c-project", q.ID)
		v.presses("dialog button", "Save")
		b.Until(`!document.querySelector('.problem, .skeleton') && document.querySelector('.scroller') && document.querySelector('.chip')?.innerText`)
		v.sends("Well?")
		b.Until(`document.querySelector('.answer')?.innerText.includes('Fine.')`)

		arrives(v, "/chats#trash")
		b.Until(`document.querySelector('.list .rows li')`)
		v.shows("trash", "Can't be opened: Damaged")
		arrives(v, "/settings/instructions")
		b.Until(`document.querySelector('.panel [role=alert]')`)
		v.shows("settings", "your chats go without it")
		v.presses(".panel button", "Remove it")
		v.presses(".panel button", "Remove it for good?")
		b.Until(`document.querySelector('.panel textarea')`)
		v.c.must(http.StatusOK, "PATCH", "/v1/preferences", map[string]any{"instructions": "Be brief again."}, nil)
	})
}

// What fails while it is drawn costs its own place, shows what it would have drawn as text, and is tried again.
func TestServeAppBoundary(t *testing.T) {
	sized(t, func(t *testing.T, width, height int, dark bool) {
		v := app(t, []llmtest.Turn{{Events: slices.Concat(llmtest.Say("Still here."), llmtest.Stop(llm.StopEnd, llm.Usage{Input: 1, Output: 1}))}}, width, height, dark)
		v.name = "boundary-" + v.name
		b := v.b
		id := wrote(t, roomOf(t, v.home), "Animals", time.Minute,
			wroteYou("One"), wroteModel("The quagga is gone.", nil), wroteYou("Two"), wroteModel("The okapi:\n\n```markdown\n# Okapi\n\nIt\n\nlives\n\nin\n\nthe forest.\n\nIt lives.\n```\n", nil))
		b.Open(v.c.url + "/")
		b.Until(`document.querySelector('.chip')?.innerText`)
		// A browser whose strings can't be split fails where Markdown is read.
		breaks := func(word string) {
			b.Eval(fmt.Sprintf(`(() => { window.split ??= String.prototype.split; String.prototype.split = function (...a) { if (this.includes(%q)) throw new Error('broken'); return window.split.apply(this, a); }; })()`, word), nil)
		}
		mends := func() { b.Eval(`(String.prototype.split = window.split, 0)`, nil) }
		breaks("quagga is")
		arrives(v, "/c/"+id)
		b.Until(`document.querySelector('.row .broken') && document.body.innerText.includes('The okapi')`)
		v.shows("message", "This part can't be shown.", "One", "Two")
		v.presses(".broken button", "Show the raw text")
		b.Until(`document.querySelector('.broken pre')?.innerText.includes('The quagga is gone.')`)
		v.shows("raw", "quagga")
		v.presses(".broken button", "Try again") // it fails again
		b.Until(`document.querySelector('.row .broken') && !document.querySelector('.broken pre')`)
		v.sends("Are you there?")
		b.Until(`document.body.innerText.includes('Still here.') && !document.querySelector('[aria-busy=true], .go.stop')`)
		mends()
		v.presses(".broken button", "Try again")
		b.Until(`document.body.innerText.includes('The quagga is gone.') && !document.querySelector('.broken')`)

		breaks("It lives")
		b.Eval(`[...document.querySelectorAll('[aria-label="Open in the side pane"]')].at(-1).click()`, nil)
		b.Until(`document.querySelector('aside .broken')`)
		v.shows("pane", "This part can't be shown.")
		mends()
		v.presses("aside .broken button", "Try again")
		b.Until(`document.querySelector('aside .body')?.innerText.includes('It lives')`)
		b.Eval(`document.querySelector('aside [aria-label="Close the side pane"]').click()`, nil)

		b.Eval(`(window.day = Date.prototype.toLocaleDateString, Date.prototype.toLocaleDateString = () => { throw new Error('broken'); }, 0)`, nil)
		arrives(v, "/chats")
		b.Until(`document.querySelector('main > .broken')`)
		v.shows("page", "This part can't be shown.")
		arrives(v, "/c/"+id) // elsewhere all is well
		b.Until(`document.body.innerText.includes('The quagga is gone.') && !document.querySelector('.broken')`)
		arrives(v, "/chats")
		b.Until(`document.querySelector('main > .broken')`)
		b.Eval(`(Date.prototype.toLocaleDateString = window.day, 0)`, nil)
		v.presses("main > .broken button", "Try again")
		b.Until(`document.querySelector('.list .rows li')`)
	})
}

// Each answer has a line with its time and cost, which opens; guessed prices are marked, and so is a cache that has ended.
// Line breaks in lists stay.
func TestServeAppFigures(t *testing.T) {
	sized(t, func(t *testing.T, width, height int, dark bool) {
		v := app(t, []llmtest.Turn{{Events: slices.Concat(llmtest.Say("- one\n  two\n- three"), llmtest.Stop(llm.StopEnd, llm.Usage{Input: 1200, Output: 3000}))}}, width, height, dark)
		v.name = "figures-" + v.name
		b := v.b
		store := roomOf(t, v.home)
		used := func(guessed bool) *llm.Usage {
			return &llm.Usage{Input: 50, Output: 700, CacheRead: 2000, CacheWrite: 100_000, Reasoning: 300, Cost: &llm.Cost{Total: llm.Dollars(0.25), Unreliable: guessed}}
		}
		old := wrote(t, store, "Old", time.Hour, wroteYou("One"), wroteModel("First.", used(true)))
		fresh := wrote(t, store, "Fresh", time.Minute, wroteYou("One"), wroteModel("Second.", used(false)))

		b.Open(v.c.url + "/c/" + old)
		b.Until(`document.querySelector('.answer .used') && document.querySelector('.ended')`)
		v.shows("ended", "Tokens: 102,050 in (2,000 from the cache, 100,000 written to it), 700 out (300 for thinking)", "↑102.1K ↓700", "≈$0.25", "12 s", "Cache ended, next: ≈$0.13")
		b.Eval(`document.querySelector('.answer .used').click()`, nil)
		b.Until(`document.querySelector('.answer dl')`)
		v.shows("open", "102,750", "of 200,000, 51%", "102,050", "2,000 from the cache", "100,000 written to the cache", "300 thinking", "taken from a similar one")
		b.Eval(`document.querySelector('.answer .used').click()`, nil)
		b.Until(`!document.querySelector('.answer dl')`)

		// A message of a person has its time, too, and can be copied as the transcript has it.
		b.Call("Browser.grantPermissions", map[string]any{"origin": v.c.url, "permissions": []string{"clipboardReadWrite", "clipboardSanitizedWrite"}}, nil)
		b.Call("Page.bringToFront", nil, nil)
		b.Eval(`document.querySelector('.prompt .used').click()`, nil)
		b.Until(`document.querySelector('.prompt dl')`)
		v.shows("message", "Written", "Copy as JSON")
		b.Click(`.prompt [aria-label="Copy as JSON"]`)
		b.Until(`document.querySelector('.prompt .copy [aria-label=Copied]')`)
		var copied string
		b.Eval(`navigator.clipboard.readText()`, &copied)
		var entries []transcript.Entry
		if err := json.Unmarshal([]byte(copied), &entries); err != nil || len(entries) != 1 || entries[0].Message.Text() != "One" {
			t.Errorf("%v: copied %s", err, copied)
		}
		var times []struct{ Short, At string }
		b.Eval(`[...document.querySelectorAll('.used time')].map((e) => ({short: e.innerText, at: e.dateTime}))`, &times)
		for _, is := range times {
			if at, err := time.Parse(time.RFC3339, is.At); err != nil || !strings.Contains(is.Short, at.Local().Format(":04")) {
				t.Errorf("%v: %+v", err, is)
			}
		}
		if len(times) != 2 {
			t.Errorf("the times are %v", times)
		}

		arrives(v, "/c/"+fresh)
		b.Until(`document.body.innerText.includes('Second.') && document.querySelector('.answer .used')?.innerText.includes('$0.25')`)
		var ended bool
		if b.Eval(`!!document.querySelector('.ended') || document.body.innerText.includes('≈')`, &ended); ended {
			t.Error("a fresh cache has ended, or an exact price was guessed")
		}

		// Settled figures are there at the end of a turn, with what the transcript says.
		arrives(v, "/")
		b.Until(`document.querySelector('h1') && document.querySelector('.chip')?.innerText`)
		v.sends("List them")
		b.Until(`document.querySelector('.answer .used') && !document.querySelector('[aria-busy=true], .go.stop')`)
		v.shows("settled", "$0.02")
		var text string
		if b.Eval(`document.querySelector('.answer li').innerText.trim()`, &text); text != "one\ntwo" {
			t.Errorf("the item is %q", text)
		}
		if b.Eval(`document.querySelector('.answer .used').innerText`, &text); !strings.Contains(text, "two") || !strings.Contains(text, " s") {
			t.Errorf("the line is %q", text)
		}
	})
}

// From the call that had an agent work a link leads to the agent's chat, which can be read and continued, and back.
func TestServeAppMinion(t *testing.T) {
	sized(t, func(t *testing.T, width, height int, dark bool) {
		used := llm.Usage{Input: 100, Output: 20}
		call := func(id, name, args string, more ...llm.Event) llmtest.Turn {
			return llmtest.Turn{Events: slices.Concat(more, llmtest.Call(id, name, args), llmtest.Stop(llm.StopToolUse, used))}
		}
		say := func(text string) llmtest.Turn {
			return llmtest.Turn{Events: slices.Concat(llmtest.Say(text), llmtest.Stop(llm.StopEnd, used))}
		}
		seen := make(chan struct{})
		v := app(t, []llmtest.Turn{
			call("c1", "task", `{"agent":"default","tasks":[{"id":"first","description":"Look at the draft","assignment":"Look at draft.txt."}]}`),
			call("c2", "todo", `{"op":"list"}`, llmtest.Say("I count its mistakes.")...),
			{Reply: func(*llm.Request) []llm.Event {
				select {
				case <-seen:
				case <-t.Context().Done():
				}
				return slices.Concat(llmtest.Call("c3", "return", `{"result":"one mistake"}`), llmtest.Stop(llm.StopToolUse, used))
			}},
			say("It found one."), say("nothing more"),
		}, width, height, dark)
		v.name = "minion-" + v.name
		b := v.b
		var p struct{ ID string }
		v.c.must(http.StatusCreated, "POST", "/v1/projects", map[string]any{"name": "Book", "tools": map[string]any{"minion": map[string]any{}}}, &p)
		b.Open(v.c.url + "/p/" + p.ID)
		b.Until(`document.querySelector('.chip')?.innerText`)
		v.sends("check it")
		// While it works, a line says what it does.
		b.Until(`document.querySelector('.steps li .now')?.innerText.includes('I count its mistakes.')`)
		v.shows("works", "Look at the draft", "running")
		close(seen)
		b.Until(`document.body.innerText.includes('It found one.') && !document.querySelector('.steps .now') && document.querySelector('.steps li a') && !document.querySelector('[aria-busy=true], .go.stop')`)
		v.shows("call", "Look at the draft", "done")
		b.Eval(`document.querySelector('.steps li a').click()`, nil)
		b.Until(`location.pathname.endsWith('.first') && document.querySelector('.prompt')?.innerText.includes('Look at draft.txt.')`)
		v.shows("chat", "Agent", "Look at the draft", "Back to check it")
		v.sends("say nothing more")
		b.Until(`document.body.innerText.includes('nothing more') && document.querySelectorAll('.answer').length === 2 && !document.querySelector('[aria-busy=true], .go.stop')`)
		b.Eval(`document.querySelector('.back').click()`, nil)
		b.Until(`!location.pathname.includes('.first') && document.body.innerText.includes('It found one.')`)
		// What it said is found, and leads there.
		b.Call("Input.dispatchKeyEvent", map[string]any{"type": "rawKeyDown", "key": "k", "windowsVirtualKeyCode": 75, "modifiers": 2}, nil)
		b.Until(`document.querySelector('dialog input')`)
		b.Write("count its mistakes")
		b.Until(`document.querySelector('.row.at')?.innerText.includes('I count its mistakes.') && document.querySelector('.row.at').innerText.includes('check it · first')`)
		v.shows("found", "I count its mistakes.")
		b.Press("Enter")
		b.Until(`/[.]first#[0-9a-f]+$/.test(location.href) && document.querySelector('.row.found')?.innerText.includes('I count its mistakes.')`)
		v.quiet("back")
	})
}

// Where German is chosen, notifications and what the server refuses are German.
func TestServeAppProblemsGerman(t *testing.T) {
	t.Parallel()
	pacetest.Costly(t)
	v := app(t, nil, 1280, 800, false)
	b := v.b
	b.Call("Browser.grantPermissions", map[string]any{"permissions": []string{"notifications"}, "origin": v.c.url}, nil)
	b.Call("ServiceWorker.enable", nil, nil)
	b.Call("BackgroundService.startObserving", map[string]any{"service": "notifications"}, nil)
	b.Call("BackgroundService.setRecording", map[string]any{"service": "notifications", "shouldRecord": true}, nil)
	id := ""
	notified := func(language, want string) {
		t.Helper()
		b.Open(v.c.url + "/settings/appearance")
		b.Until(`document.querySelector('#language') && navigator.serviceWorker.controller`)
		for _, e := range b.Events() {
			var is struct {
				Registrations []struct {
					RegistrationID string `json:"registrationId"`
				}
			}
			if e.Method == "ServiceWorker.workerRegistrationUpdated" && json.Unmarshal(e.Params, &is) == nil && len(is.Registrations) > 0 {
				id = is.Registrations[0].RegistrationID
			}
		}
		b.Forget()
		v.chooses("#language", language)
		b.Await("Page.loadEventFired")
		b.Until(fmt.Sprintf(`document.querySelector('#language')?.value === %q`, language))
		b.Until(fmt.Sprintf(`await (await caches.match('/language', {cacheName: 'language'}))?.text() === %q`, language))
		b.Call("ServiceWorker.deliverPushMessage", map[string]any{"origin": v.c.url, "registrationId": id, "data": `{"kind": "done", "chat": "x"}`}, nil)
		// Chromium forgets one that it is asked for while it begins to show it: what it shows, it tells here.
		b.AwaitSaid("BackgroundService.backgroundServiceEventReceived", want)
	}
	notified("en", "The answer is ready.")
	notified("de", "Die Antwort ist fertig.")
	var said string
	b.Eval(`fetch('/v1/chats/none', {method: 'PATCH', body: '{}', headers: {'Content-Type': 'application/json'}}).then((r) => r.json()).then((p) => p.detail)`, &said)
	if said != "nichts hat diese Kennung" {
		t.Errorf("the server says %q", said)
	}
}

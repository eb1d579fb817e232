package main

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/chat/people"
	"github.com/burin-dev/burin/internal/chat/project"
	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm/anthropic"
	"github.com/burin-dev/burin/llm/llmtest"
)

// What a person attached to chats is listed in the page with pictures, opened, and removed where no message has it. The
// settings say how full their limit is, and which version this is.
func TestServeAppAttachments(t *testing.T) {
	t.Parallel()
	pacetest.Costly(t)
	for i, size := range [][2]int{{390, 844}, {1280, 800}} {
		dark := i == 1
		t.Run(fmt.Sprint(size[0], dark), func(t *testing.T) {
			t.Parallel()
			v := app(t, nil, size[0], size[1], dark)
			v.name = "attachments-" + v.name
			b, c := v.b, v.c
			attach := func(title string, files ...string) (chat string, all []project.Attachment) {
				t.Helper()
				var begun struct{ Chat chatOf }
				c.must(http.StatusCreated, "POST", "/v1/chats", map[string]any{"title": title}, &begun)
				for i := 0; i < len(files); i += 2 {
					var f project.Attachment
					c.send(http.StatusCreated, "POST", "/v1/chats/"+begun.Chat.ID+"/attachments?name="+files[i], files[i+1], &f)
					all = append(all, f)
				}
				return begun.Chat.ID, all
			}
			trip, files := attach("A trip to Basel", "bridge.png", string(pictureBytes(t, "")), "plan.txt", "By train.\n")
			attach("Recipes", "list.txt", "Quinces, sugar.\n", "other.txt", "Okapi.\n")
			var me struct{ ID string }
			c.must(http.StatusOK, "GET", "/v1/me", nil, &me)
			var all project.AllAttachments
			c.must(http.StatusOK, "GET", "/v1/attachments", nil, &all)
			if len(all.Chats) != 2 || all.Sum.Files != 4 || all.Unused.Files != 4 {
				t.Fatalf("all attachments are %+v", all)
			}
			c.must(http.StatusOK, "POST", "/v1/admin/people/"+me.ID, map[string]any{"quota": map[string]any{"storage": all.Sum.Bytes * 10 / 9}}, nil)
			c.must(http.StatusOK, "POST", "/v1/sessions/"+trip+"/submit", map[string]any{"id": "m", "message": map[string]any{"role": "user", "content": []any{
				map[string]any{"type": "image", "url": "attachment:" + files[0].ID}, map[string]any{"type": "text", "text": "look"},
			}}}, nil)

			b.Open(c.url + "/settings/attachments")
			b.Until(`document.querySelector('.thumb img')?.naturalWidth === 64`)
			v.shows("list", "4 files", "A trip to Basel", "bridge.png", "in a message", "in no message", "today", "(90%)", "Almost full")
			v.presses(".rows button", "Open bridge.png")
			b.Until(`document.querySelector('dialog img')?.naturalWidth === 64`)
			v.presses("dialog button", "Close")
			v.presses(".rows button", "Remove plan.txt")
			v.shows("question", "Remove plan.txt? This can't be undone.")
			v.presses(".ask button", "Remove")
			b.Until(`!document.querySelector('.panel').innerText.includes('plan.txt') && document.querySelector('.sum').innerText.includes('3 files')`)
			v.presses(".panel button", "Remove all that are in no message")
			v.presses(".ask button", "Remove")
			b.Until(`document.querySelectorAll('.rows > li').length === 1 && document.querySelector('.toasts').innerText.includes('2 files removed')`)
			v.shows("left", "1 file", "bridge.png")
			b.Eval(`document.querySelector('h3 a').click()`, nil)
			b.Until(`location.pathname === '/c/` + trip + `'`)
			b.Open(c.url + "/settings/usage")
			b.Until(`document.querySelector('.fill')`)
			v.shows("usage", "used (")
			b.Open(c.url + "/settings/about")
			b.Until(`document.querySelector('.version')`)
			b.Eval(`document.querySelector('details summary').click()`, nil)
			b.Until(`document.querySelector('details .md')?.innerText.includes('Added')`)
			v.shows("about", "burin "+version(), "What is new in this version", "Unreleased")
			b.Eval(`localStorage.setItem('language', 'de')`, nil)
			b.Open(c.url + "/settings/attachments")
			b.Until(`document.querySelector('.thumb img')`)
			v.shows("german", "Angehängte Dateien", "1 Datei", "in einer Nachricht", "heute")
		})
	}
}

// An admin adds a provider of their own in the page: its models are asked for, it is tried, a chat that was open before
// talks with it, and it is changed and removed.
func TestServeAppOwnProvider(t *testing.T) {
	t.Parallel()
	pacetest.Costly(t)
	for i, size := range [][2]int{{390, 844}, {1280, 800}} {
		dark := i == 0
		t.Run(fmt.Sprint(size[0], dark), func(t *testing.T) {
			t.Parallel()
			v := app(t, sayings("From the box."), size[0], size[1], dark)
			v.name = "own-" + v.name
			b, c := v.b, v.c
			far := newModelHost(t, sayings("Yes.", "Hello from afar.")...)
			b.Open(c.url + "/")
			b.Until(`document.querySelector('textarea')`)
			v.sends("Where are you?")
			b.Until(`document.querySelector('.answer')?.innerText.includes('box') && !document.querySelector('[aria-busy=true], .go.stop')`)
			var chat string
			b.Eval(`location.pathname`, &chat)

			b.Open(c.url + "/settings/providers")
			v.presses(".panel button", "Add a provider of your own")
			v.fills("#own-name", "Far Away")
			v.fills("#own-icon", "🦓")
			v.chooses("#own-api", "anthropic-messages")
			v.fills("#own-address", far.URL)
			v.fills("#own-key", "sk-far-CANARY")
			v.presses("form button", "Get list")
			b.Until(`document.querySelector('form [role=alert]')`)
			v.shows("refused", "far-away/MODEL", "this machine or its network")
			v.ticks("#own-local")
			v.presses("form button", "Get list")
			b.Until(`document.querySelectorAll('.listed input[type=checkbox]').length === 2`)
			b.Eval(`document.querySelector('.listed input').click()`, nil)
			b.Until(`document.querySelector('#own-models').value === 'okapi-1'`)
			b.Eval(`document.querySelector('.listed').scrollIntoView({block: 'center'})`, nil)
			v.shows("form", "2 models of the server", "Kind of API")
			v.presses("form button", "Save")
			b.Until(`document.querySelector('.rows')?.innerText.includes('🦓 Far Away')`)
			v.presses(".rows button", "Test far-away")
			b.Until(`document.querySelector('.said')?.innerText.includes('answered in')`)
			v.shows("saved", "🦓 Far Away", "far-away · 1 models")

			b.Open(c.url + chat)
			b.Until(`document.querySelector('.chip')`)
			b.Eval(`document.querySelector('.picker .chip').click()`, nil)
			b.Until(`[...document.querySelectorAll('[role=option]')].some((o) => o.innerText.includes('Far Away · far-away/okapi-1'))`)
			v.shows("picker", "🦓")
			b.Eval(`[...document.querySelectorAll('[role=option]')].find((o) => o.innerText.includes('far-away/okapi-1')).click()`, nil)
			b.Until(`document.querySelector('.picker .chip').innerText.includes('kapi')`)
			v.sends("And now?")
			b.Until(`[...document.querySelectorAll('.answer')].at(-1)?.innerText.includes('afar') && !document.querySelector('[aria-busy=true], .go.stop')`)
			if got := far.got(); len(got) < 3 || got[len(got)-1] != "sk-far-CANARY" {
				t.Errorf("the server got %v", got)
			}

			b.Open(c.url + "/settings/providers")
			v.presses(".rows button", "Edit Far Away")
			b.Until(`document.querySelector('#own-models')?.value === 'okapi-1'`)
			v.fills("#own-models", "okapi-1\nsaola-2")
			v.presses("form button", "Save")
			b.Until(`document.querySelector('.rows')?.innerText.includes('far-away · 2 models')`)
			v.presses(".rows button", "Delete Far Away")
			v.shows("remove", "Remove Far Away from models.yml")
			v.presses(".ask button", "Remove")
			b.Until(`!document.querySelector('.rows').innerText.includes('Far Away')`)
		})
	}
}

// An admin sees the tokens of others and removes them, and reads in the log what was done.
func TestServeAppLog(t *testing.T) {
	t.Parallel()
	pacetest.Costly(t)
	for i, size := range [][2]int{{390, 844}, {1280, 800}} {
		dark := i == 1
		t.Run(fmt.Sprint(size[0], dark), func(t *testing.T) {
			t.Parallel()
			srv, err := llmtest.Serve(anthropic.Server{}, llmtest.Script{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(srv.Close)
			cmd := machine(t, &brain{srv: srv}, appConfig)
			v := appOn(t, srv, cmd, size[0], size[1], dark)
			v.name = "log-" + v.name
			b, c := v.b, v.c
			bert := c.member(cmd, "bert", people.Member)
			secret := strings.TrimSpace(run(t, cmd, "admin", "token", "add", "dashboard", "--person", "bert", "--rights", "watch"))
			status := func() int {
				t.Helper()
				r := c.request("GET", "/v1/me", "")
				r.Header.Set("Authorization", "Bearer "+secret)
				got, _ := c.do(r)
				return got
			}
			if got := status(); got != http.StatusOK {
				t.Fatalf("the token: %d", got)
			}
			b.Open(c.url + "/settings/tokens")
			b.Until(`document.querySelector('.others')?.innerText.includes('bert')`)
			v.presses(".others button", "Delete dashboard of bert")
			v.shows("tokens", "Tokens of others", "Remove dashboard of bert?")
			v.presses(".ask button", "Remove")
			b.Until(`!document.querySelector('.others li') || !document.querySelector('.others').innerText.includes('dashboard')`)
			if got := status(); got != http.StatusUnauthorized {
				t.Errorf("the removed token: %d", got)
			}
			b.Open(c.url + "/settings/log")
			b.Until(`document.querySelector('.log')?.innerText.includes('Token removed')`)
			v.shows("log", "Token removed", "by owner", "→ bert", "dashboard", "Joined")
			v.fills("#log-find", "joined bert")
			b.Until(`document.querySelectorAll('.log > li').length === 1`)
			v.fills("#log-find", "")
			b.Eval(`(() => { const s = document.querySelector('#log-person'); s.value = [...s.options].find((o) => o.text === 'bert').value; s.dispatchEvent(new Event('change', {bubbles: true})); })()`, nil)
			b.Until(`document.querySelector('.log')?.innerText.includes('Joined')`)
			for _, path := range []string{"/v1/admin/tokens", "/v1/admin/audit"} {
				if got, _ := bert.ask(c, "GET", path, ""); got != http.StatusForbidden {
					t.Errorf("a member: %s: %d", path, got)
				}
			}
		})
	}
}

// The archive of an account is dropped onto the page, and what is missing comes in.
func TestServeAppBring(t *testing.T) {
	t.Parallel()
	pacetest.Costly(t)
	for i, size := range [][2]int{{390, 844}, {1280, 800}} {
		dark := i == 0
		t.Run(fmt.Sprint(size[0], dark), func(t *testing.T) {
			t.Parallel()
			srv, err := llmtest.Serve(anthropic.Server{}, llmtest.Script{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(srv.Close)
			cmd := machine(t, &brain{srv: srv}, appConfig)
			v := appOn(t, srv, cmd, size[0], size[1], dark)
			v.name = "bring-" + v.name
			b, c := v.b, v.c
			var zoo struct{ ID string }
			bert := c.member(cmd, "bert", people.Member)
			bert.does(c, http.StatusCreated, "POST", "/v1/projects", map[string]any{"name": "Zoo", "icon": "🦓"}, &zoo)
			bert.does(c, http.StatusCreated, "PUT", "/v1/projects/"+zoo.ID+"/file?path=/day.md", "# Day", nil)
			bert.does(c, http.StatusCreated, "POST", "/v1/chats", map[string]any{"project": zoo.ID, "title": "Animals"}, nil)
			archive := bert.archive(c)
			b.Open(c.url + "/settings/moving")
			b.Until(`document.querySelector('.drop')`)
			drop := func(name, data string) {
				b.Eval(fmt.Sprintf(`(() => { const data = new DataTransfer(); data.items.add(new File([Uint8Array.from(atob(%q), (c) => c.charCodeAt(0))], %q)); document.querySelector('.drop').dispatchEvent(new DragEvent('drop', {dataTransfer: data, bubbles: true, cancelable: true})); })()`,
					base64.StdEncoding.EncodeToString([]byte(data)), name), nil)
			}
			drop("cut.zip", archive[:len(archive)-80])
			b.Until(`document.querySelector('.result.wrong')?.innerText.includes("can't be imported")`)
			b.Forget()
			drop("archive.zip", archive)
			b.Until(`document.querySelector('.result:not(.wrong)')?.innerText.includes('1 chat imported') && !document.querySelector('progress')`)
			b.Eval(`document.querySelector('.results').scrollIntoView({block: 'center'})`, nil)
			b.Until(`document.body.innerText.includes('Zoo')`) // the list follows the stream
			v.shows("after", "New projects: 1. New files: 1.", "Zoo")
			b.Until(`[...document.querySelectorAll('.chat')].some((e) => e.textContent.includes('Animals'))`)
			drop("archive.zip", archive)
			b.Until(`document.querySelector('.result')?.innerText.includes("1 chat was already there.") && !document.querySelector('progress')`)

			// A project is exported in its settings, and becomes a new one.
			var all []struct{ ID, Name string }
			c.must(http.StatusOK, "GET", "/v1/projects", nil, &all)
			old := all[slices.IndexFunc(all, func(p struct{ ID, Name string }) bool { return p.Name == "Zoo" })].ID
			b.Open(c.url + "/p/" + old + "/settings")
			b.Until(`document.querySelector('#bundle')`)
			b.Eval(`document.querySelector('#bundle').scrollIntoView({block: 'center'})`, nil)
			v.shows("bundle", "Export project", "without chats, members, keys, costs and old versions")
			var file string
			b.Eval(`fetch(document.querySelector('[aria-labelledby=bundle] a[download]').href).then((r) => r.arrayBuffer()).then((a) => btoa(String.fromCharCode(...new Uint8Array(a))))`, &file)
			b.Open(c.url + "/settings/moving")
			b.Until(`document.querySelector('.drop')`)
			data, err := base64.StdEncoding.DecodeString(file)
			if err != nil {
				t.Fatal(err)
			}
			drop("Zoo.zip", string(data))
			b.Until(`document.querySelector('.result:not(.wrong)')?.innerText.includes('New projects: 1. New files: 1.') && !document.querySelector('progress')`)
			b.Eval(`document.querySelector('.results').scrollIntoView({block: 'center'})`, nil)
			v.shows("imported", "New projects: 1. New files: 1.", "Show")
			v.presses(".result a", "Show")
			b.Until(`/^\/p\/./.test(location.pathname) && location.pathname !== '/p/` + old + `'`)
		})
	}
}

package main

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/burin-dev/burin/internal/chat/people"
	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/anthropic"
	"github.com/burin-dev/burin/llm/llmtest"
)

// becomes has the browser be somebody else's.
func (v *appVisit) becomes(who *http.Cookie) {
	v.t.Helper()
	v.b.Open("about:blank")
	v.b.Call("Storage.clearDataForOrigin", map[string]any{"origin": v.c.url, "storageTypes": "local_storage"}, nil) // else the app reloads
	v.b.Call("Network.setCookie", map[string]any{"name": who.Name, "value": who.Value, "url": v.c.url, "httpOnly": true}, nil)
}

// A person shares a project in its settings. A member sees whose it is, reads it and can't change it, gets the right to, and leaves.
func TestServeAppMembers(t *testing.T) {
	t.Parallel()
	pacetest.Costly(t)
	for i, size := range [][2]int{{390, 844}, {1280, 800}} {
		dark := i == 0
		t.Run(fmt.Sprint(size[0], dark), func(t *testing.T) {
			t.Parallel()
			used := llm.Usage{Input: 100, Output: 30}
			srv, err := llmtest.Serve(anthropic.Server{}, llmtest.Script{Turns: []llmtest.Turn{{Events: slices.Concat(llmtest.Say("A quagga."), llmtest.Stop(llm.StopEnd, used))}}})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(srv.Close)
			cmd := machine(t, &brain{srv: srv}, appConfig)
			v := appOn(t, srv, cmd, size[0], size[1], dark)
			v.name = "members-" + v.name
			b := v.b
			bob := v.c.member(cmd, "bob", people.Member)
			var made struct{ ID string }
			v.c.must(http.StatusCreated, "POST", "/v1/projects", map[string]any{"name": "Zoo", "icon": "🦓", "instructions": "Say quagga.", "tools": map[string]any{"memory": map[string]any{}, "filesystem": map[string]any{}}}, &made)
			v.c.send(http.StatusCreated, "PUT", "/v1/projects/"+made.ID+"/file?path=/animals.txt", "okapi\n", nil)
			v.c.send(http.StatusCreated, "PUT", "/v1/projects/"+made.ID+"/file?path=/memories/README.md", "kudu\n", nil)
			settings := v.c.url + "/p/" + made.ID + "/settings"
			b.Open(settings)
			b.Until(`document.querySelector('#m-name')`)
			v.fills("#m-name", "nobody")
			v.presses(".add button", "Add")
			b.Until(`document.body.innerText.includes('unknown person "nobody"')`)
			b.Forget() // the browser tells of the answer
			v.fills("#m-name", "bob")
			v.presses(".add button", "Add")
			b.Until(`document.querySelector('[aria-label="Right of bob"]')?.value === 'read'`)
			b.Eval(`document.querySelector('#members').scrollIntoView()`, nil)
			v.shows("owner", "Members", "bob", "Who may read has chats")

			// The member reads it.
			v.becomes(bob.cookie)
			b.Open(settings)
			b.Until(`document.querySelector('.shared')`)
			v.shows("reads", "owner shares this project with you", "You may read it")
			for what, bad := range map[string]string{
				"a field that can be changed":    `!document.querySelector('#p-name').matches(':disabled') || !document.querySelector('#p-instructions').matches(':disabled') || !document.querySelector('#tool-memory').matches(':disabled')`,
				"a way to delete it":             `!!document.querySelector('#danger')`,
				"a way to bring files":           `!!document.querySelector('.drop')`,
				"a way to add members":           `!!document.querySelector('.add')`,
				"a way to note or delete things": `[...document.querySelectorAll('main button, .page button')].some((e) => /New note|Delete /.test(e.innerText + e.ariaLabel))`,
			} {
				var is bool
				if b.Eval(bad, &is); is {
					t.Errorf("who may read has %s", what)
				}
			}
			b.Eval(`document.querySelector('#members').scrollIntoView()`, nil)
			v.shows("leave", "Leave the project", "Owner", "You")
			b.Open(v.c.url + "/p/" + made.ID + "/files#/animals.txt")
			b.Until(`document.body.innerText.includes('okapi')`)
			v.shows("files", map[bool]string{true: "okapi", false: "You may only read this project"}[size[0] < 600])
			var edits int
			if b.Eval(`document.querySelectorAll('[aria-label="Edit"], [aria-label="New file"], [aria-label="Upload files"]').length`, &edits); edits != 0 {
				t.Errorf("who may read has %d ways to write files", edits)
			}
			b.Open(v.c.url + "/p/" + made.ID)
			b.Until(`document.querySelector('textarea')`)
			if size[0] < 600 {
				v.presses("button", "Open the list")
				b.Until(`document.querySelector('nav .of')`)
			}
			v.shows("list", "owner")
			if size[0] < 600 {
				b.Press("Escape")
				b.Open(v.c.url + "/p/" + made.ID)
				b.Until(`document.querySelector('textarea')`)
			}
			v.sends("which animal?")
			b.Until(`document.querySelector('.answer')?.innerText.includes('A quagga.') && !document.querySelector('[aria-busy=true], .go.stop')`)
			v.received("Say quagga.")

			// With the right to write, settings are changed; the budget is the owner's.
			v.c.must(http.StatusOK, "PUT", "/v1/projects/"+made.ID+"/members/bob", map[string]any{"right": "write"}, nil)
			b.Open(settings)
			b.Until(`document.querySelector('#p-name') && !document.querySelector('#p-name').matches(':disabled')`)
			var locked bool
			if b.Eval(`document.querySelector('#p-cost').matches(':disabled')`, &locked); !locked {
				t.Error("a member changes the budget")
			}
			v.fills("#p-instructions", "Say zebra.")
			v.saves()
			v.shows("writes", "You may change its settings and files")

			// The owner sees what was changed, and that it is shared.
			v.becomes(v.c.opened(cmd))
			b.Open(v.c.url + "/settings")
			b.Until(`document.querySelector('nav .of')`)
			b.Open(settings)
			b.Until(`document.querySelector('#p-instructions')?.value === 'Say zebra.'`)
			v.becomes(bob.cookie)
			b.Open(settings)
			v.presses("button", "Leave the project")
			v.presses(".acts button.danger", "Leave the project")
			b.Until(`location.pathname === '/' && document.body.innerText.includes('You have left Zoo')`)
			var chats []struct{ Project string }
			bob.does(v.c, http.StatusOK, "GET", "/v1/chats", nil, &chats)
			if len(chats) != 1 || chats[0].Project == made.ID {
				t.Errorf("the chats are %+v", chats)
			}

			// What an owner has locked is marked, and the rest of the app works.
			ann := v.c.member(cmd, "ann", people.Member)
			ann.does(v.c, http.StatusCreated, "POST", "/v1/projects", map[string]any{"name": "Lake"}, &made)
			ann.does(v.c, http.StatusOK, "PUT", "/v1/projects/"+made.ID+"/members/bob", map[string]any{"right": "read"}, nil)
			ann.does(v.c, http.StatusOK, "POST", "/v1/me/keys", map[string]any{"mode": "own", "password": personPassword}, nil)
			ann.does(v.c, http.StatusOK, "POST", "/v1/me/lock", map[string]any{}, nil)
			b.Open(v.c.url + "/p/" + made.ID + "/settings")
			b.Until(`document.querySelector('[role=alert]')?.innerText.includes('the keys of ann are locked')`)
			b.Forget() // the browser tells of the answer
			b.Until(`document.querySelector('nav')?.textContent.includes('Locked by ann') && !document.querySelector('.locked')`)
			v.shows("locked", "the keys of ann are locked")
		})
	}
}

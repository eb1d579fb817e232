package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/burin-dev/burin/docs"
	"github.com/burin-dev/burin/internal/mode/server"
	"github.com/burin-dev/burin/internal/pacetest"
)

// Whoever may ask gets the pages of the handbook as the program has them, once: the next time they are the same.
func TestServeHelp(t *testing.T) {
	t.Parallel()
	pacetest.Costly(t)
	cmd := machine(t, newBrain(t), rpcConfig)
	c := serveIt(t, cmd)
	for path, want := range map[string]string{"/v1/help": `"version"`, "/v1/help?page=howto%2Fundo": "# Undo what a prompt changed"} {
		r := c.request("GET", path, "")
		answer, text := c.visit(r)
		tag := answer.Header.Get("ETag")
		if answer.StatusCode != http.StatusOK || !strings.Contains(text, want) || tag == "" {
			t.Fatalf("%s: %s %v\n%s", path, answer.Status, answer.Header, text)
		}
		r = c.request("GET", path, "")
		r.Header.Set("If-None-Match", tag)
		if answer, text = c.visit(r); answer.StatusCode != http.StatusNotModified || text != "" {
			t.Errorf("%s again: %s %s", path, answer.Status, text)
		}
		r = c.request("GET", path, "")
		r.Header.Del("Authorization")
		if answer, text = c.visit(r); answer.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s for nobody: %s %s", path, answer.Status, text)
		}
	}
	var page server.Help
	c.must(http.StatusOK, "GET", "/v1/help?page=serve", nil, &page)
	f, err := docs.Files().Open("serve.md")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || int64(len(page.Text)) != info.Size() {
		t.Errorf("the page has %d bytes, the file %d: %v", len(page.Text), info.Size(), err)
	}
	for _, name := range []string{"nothing", "howto", "../go", "/etc/passwd", "docs.go", "openapi.json", "%00"} {
		c.must(http.StatusNotFound, "GET", "/v1/help?page="+name, nil, nil)
	}
	var found server.Help
	c.must(http.StatusOK, "GET", "/v1/help?q=recovery+key", nil, &found)
	if len(found.Topics) == 0 || found.Topics[0].Title == "" || found.Topics[0].About == "" {
		t.Errorf("found %+v", found)
	}
	found = server.Help{}
	c.must(http.StatusOK, "GET", "/v1/help?q=recovery+zyzzyva", nil, &found)
	if len(found.Topics) != 0 {
		t.Errorf("found %+v", found)
	}
	c.must(http.StatusBadRequest, "GET", "/v1/help?q="+strings.Repeat("x", 201), nil, nil)
}

// A person reads the handbook in the app: topics, pages, links, a search, by keyboard, in German, and without a connection.
func TestServeAppHelp(t *testing.T) {
	t.Parallel()
	pacetest.Costly(t)
	for i, size := range [][2]int{{390, 844}, {1280, 800}} {
		dark := i == 0
		t.Run(fmt.Sprint(size[0], dark), func(t *testing.T) {
			t.Parallel()
			v := app(t, nil, size[0], size[1], dark)
			v.name = "help-" + v.name
			b := v.b
			heading := func(text string) string {
				return fmt.Sprintf(`document.querySelector('h1.title')?.innerText === %q`, text)
			}
			b.Open(v.c.url + "/")
			b.Until(`document.querySelector('.chip')?.innerText && navigator.serviceWorker.controller`)
			if sum := v.weight(); sum > firstLoad {
				t.Errorf("the first load took %d bytes", sum)
			}
			b.Eval(`window.here = true`, nil)
			if size[0] < 600 {
				v.presses("header button", "Open the list of chats")
			}
			v.presses(".you > button", "")
			v.presses(".menu a", "Help")
			b.Until(`location.pathname === '/help' && document.querySelectorAll('section.panel').length === 4`)
			v.shows("topics", "The handbook of burin "+version(), "Private projects", "Your first session", "Providers of your own")
			v.presses("main button", "Keyboard")
			b.Until(`document.querySelector('dialog dl')`)
			v.presses("dialog button", "Close")

			// A page, a section of another one, and back.
			v.presses(".topics a", "Private projects")
			b.Until(heading("Private projects") + ` && document.activeElement.tagName === 'H1'`)
			v.shows("page", "A private project is one that the server can't read.", "On this page")
			v.presses("article a", "loop")
			b.Until(`location.hash === '#the-loop' && document.activeElement.innerText === 'The loop'`)
			b.Open(v.c.url + "/help/chat-tools")
			b.Until(heading("Tools of chats"))
			b.Eval(`(window.here = true, [...document.querySelectorAll('article a')].find((a) => a.pathname === '/help/serve').click())`, nil)
			b.Until(heading("The server") + ` && document.querySelector('article .md')`)
			v.shows("long", "On this page")
			b.Eval(`history.back()`, nil)
			b.Until(heading("Tools of chats"))
			b.Eval(`document.querySelector('.crumb').click()`, nil)
			b.Until(`location.pathname === '/help' && document.querySelector('.topics')`)
			v.presses(".topics a", "On your home screen")
			b.Until(`location.hash === '#on-your-home-screen' && document.activeElement.innerText === 'On your home screen' && Math.abs(document.activeElement.getBoundingClientRect().top - document.querySelector('.page').getBoundingClientRect().top) < 60`)
			v.shows("section", "On your home screen")
			var out []string
			b.Eval(`[...document.querySelectorAll('article a')].filter((a) => a.origin !== location.origin).map((a) => a.target + ' ' + a.href)`, &out)
			if len(out) == 0 || strings.Contains(strings.Join(out, "\n"), "/docs/models.md") {
				t.Errorf("links lead to %q", out)
			}
			for _, to := range out {
				if !strings.HasPrefix(to, "_blank ") {
					t.Errorf("a link is %q", to)
				}
			}
			var wrong []string // no comment, picture or break of a line of the file is on the page
			b.Eval(`[...document.querySelectorAll('article p, article li')].filter((e) => /<!--|!\[|\]\(/.test(e.innerText) && !e.querySelector('code') || getComputedStyle(e).whiteSpaceCollapse !== 'collapse').map((e) => e.innerText.slice(0, 80))`, &wrong)
			if len(wrong) > 0 {
				t.Errorf("the page shows %q", wrong)
			}

			// A search finds a section, by keyboard.
			v.fills("main input[type=search]", "recovery key")
			b.Until(`document.querySelector('.topics')?.innerText.includes('recovery key')`)
			v.shows("found", "The server")
			b.Press("Tab")
			b.Until(`document.activeElement.closest('.topics')`)
			b.Press("Enter")
			b.Until(`document.querySelector('article .md') && document.querySelector('main input[type=search]').value === ''`)
			v.fills("main input[type=search]", "zyzzyva")
			b.Until(`document.querySelector('[role=status].about')?.innerText.includes('No page has')`)
			v.shows("nothing", "No page has all of these words.")
			v.fills("main input[type=search]", "")
			var here bool
			if b.Eval(`!!window.here`, &here); !here {
				t.Error("a link of the help loaded the app again")
			}

			// The command palette leads there, and says nothing to ?.
			b.Eval(`document.activeElement.blur(); document.dispatchEvent(new KeyboardEvent('keydown', {key: 'k', ctrlKey: true, bubbles: true}))`, nil)
			b.Until(`document.querySelector('dialog input')`)
			b.Write("Help")
			b.Until(`document.querySelector('.row.at')?.innerText.trim() === 'Help'`)
			b.Press("Enter")
			b.Until(`location.pathname === '/help' && document.querySelector('.topics')`)

			// What was read is there without a connection, the rest says why not.
			b.Call("Network.emulateNetworkConditions", map[string]any{"offline": true, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}, nil)
			v.c.end()
			b.Open(v.c.url + "/help/private")
			b.Until(heading("Private projects") + ` && document.querySelector('.bar')`)
			v.shows("offline", "Offline", "A private project is one that the server can't read.")
			v.fills("main input[type=search]", "home screen")
			b.Until(`document.querySelector('.topics')?.innerText.includes('On your home screen')`)
			v.shows("offline-found", "only titles are searched")
			b.Open(v.c.url + "/help/gremlin")
			b.Until(`document.querySelector('[role=alert]')?.innerText.includes("can't be read without a connection")`)
		})
	}
}

// In German the frame is German, and says once that the pages aren't.
func TestServeAppHelpGerman(t *testing.T) {
	t.Parallel()
	pacetest.Costly(t)
	v := app(t, nil, 390, 844, false)
	v.name = "help-german"
	b := v.b
	b.Open(v.c.url + "/")
	b.Eval(`localStorage.setItem('language', 'de')`, nil)
	b.Open(v.c.url + "/help")
	b.Until(`document.querySelectorAll('section.panel').length === 4`)
	v.shows("topics", "Hilfe", "Die Seiten sind auf Englisch.", "Sitzungen", "Private projects")
	v.presses(".topics a", "Private projects")
	b.Until(`document.querySelector('article .md')`)
	v.shows("page", "Alle Themen", "Auf dieser Seite", "A private project is one that the server can't read.")
	var language string
	if b.Eval(`document.querySelector('article').lang + document.documentElement.lang`, &language); language != "ende" {
		t.Errorf("the languages of the page and its frame are %q", language)
	}
}

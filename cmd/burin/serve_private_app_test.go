package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm"
)

// A person makes a private project in the chat app, keeps the recovery key, chats, comes back later, mistypes the pass
// phrase, opens it with the recovery key, and takes a chat over from another tab. Nothing of it is at the server, and
// nothing stays in the browser.
func TestPrivateApp(t *testing.T) {
	if pacetest.Long("", "ci", "whole") == "" {
		t.Skip("tries many pass phrases, which costs on purpose: set BURIN_LONG=ci")
	}
	for _, width := range []int{390, 1280} {
		t.Run(fmt.Sprint(width), func(t *testing.T) { privateApp(t, width) })
	}
}

func privateApp(t *testing.T, width int) {
	next := make(chan struct{})
	goOn := sync.OnceFunc(func() { close(next) })
	t.Cleanup(goOn)
	v := app(t, nil, width, 800, width > 600)
	v.name = "private-" + v.name
	if status, said := v.c.do(v.c.request("GET", "/private/worker.js", "")); status == http.StatusNotFound && strings.Contains(string(said), "docs/private.md") {
		t.Skip("this burin has no loop of private projects: run go generate ./internal/mode/server")
	}
	brain := newBrain(t)
	provider := crossOrigin(t, brain.srv.URL, next)
	b := v.b
	fill := func(label, text string) {
		t.Helper()
		b.Eval(fmt.Sprintf(`(() => { const e = [...document.querySelectorAll('label')].find((l) => l.innerText.trim() === %[1]q); if (!e) throw new Error('no field %[1]s'); (e.control ?? e.querySelector('input, textarea, select')).focus(); })()`, label), nil)
		b.Write(text)
	}
	choose := func(label, value string) {
		t.Helper()
		b.Eval(fmt.Sprintf(`(() => { const s = [...document.querySelectorAll('label')].find((l) => l.innerText.trim().startsWith(%q)).querySelector('select'); s.value = %q; s.dispatchEvent(new Event('change', {bubbles: true})); })()`, label, value), nil)
	}
	press := func(text string) {
		t.Helper()
		b.Until(fmt.Sprintf(`[...document.querySelectorAll('button, a')].some((e) => e.innerText.trim() === %q && !e.disabled)`, text))
		b.Eval(fmt.Sprintf(`[...document.querySelectorAll('button, a')].find((e) => e.innerText.trim() === %q).click()`, text), nil)
	}
	says := func(text string) {
		t.Helper()
		b.Until(fmt.Sprintf(`document.body.innerText.includes(%q)`, text))
	}

	b.Open(v.c.url + "/private")
	says("The server can't read a private project")
	v.shows("list", "What it costs", "An answer stops when you close its tab")
	press("New private project")
	fill("Name", "Gardenia plans")
	fill("Instructions", "Speak of roses.")
	choose("Provider", "own")
	choose("It speaks the API of", "anthropic-messages")
	fill("Address", provider)
	fill("API key", "sk-secret-lilac")
	fill("Models, separated by commas", "m")
	fill("Pass phrase", "correct horse battery")
	fill("The pass phrase again", "correct horse batterx")
	press("Make the project")
	says("The two pass phrases are different.")
	v.shows("new")
	b.Eval(`[...document.querySelectorAll('label')].find((l) => l.innerText.trim() === 'The pass phrase again').querySelector('input').select()`, nil)
	b.Write("correct horse battery")
	press("Make the project")
	says("opens the project if you forget the pass phrase")
	var recovery string
	b.Eval(`document.querySelector('.key code').innerText`, &recovery)
	v.shows("recovery", "It is shown only now")
	press("I have kept it")
	b.Until(`document.querySelector('textarea') && location.pathname.startsWith('/private/')`)
	v.shows("open")

	v.sends("say **tulips** bloom")
	b.Until(`document.querySelector('.answer')?.innerText.includes('tulips')`)
	goOn()
	b.Until(`!document.querySelector('.go.stop') && location.pathname.includes('/c/')`)
	v.shows("chat", "tulips bloom")
	at := v.at()
	if heard := brain.srv.Requests(); len(heard) == 0 || !strings.Contains(heard[0].System, "Speak of roses.") {
		t.Error("the model did not get the project's instructions")
	}

	// Another tab, which is this one after a reload: the key is gone with it.
	b.Open(v.c.url + at)
	says("Unlock the project")
	fill("Pass phrase", "correct horse batterz")
	press("Unlock")
	says("Neither the pass phrase nor the recovery key.")
	v.shows("wrong")
	b.Eval(`document.querySelector('input').select()`, nil)
	b.Write(recovery)
	press("Unlock")
	press("Use it here") // the lease of the tab before has not run out
	b.Until(`document.querySelector('.answer')?.innerText.includes('tulips')`)
	b.Eval(`(async () => {
		const canvas = document.createElement('canvas');
		canvas.width = canvas.height = 8;
		const data = new DataTransfer();
		data.items.add(new File([await new Promise((r) => canvas.toBlob(r))], 'bed.png', {type: 'image/png'}));
		document.querySelector('textarea').dispatchEvent(new ClipboardEvent('paste', {clipboardData: data, bubbles: true, cancelable: true}));
	})()`, nil)
	b.Until(`document.querySelector('.files img')`)
	v.sends("say lilies")
	b.Until(`document.querySelectorAll('.answer').length === 2 && document.body.innerText.includes('lilies')`)
	b.Until(`!document.querySelector('.go.stop')`)
	heard := brain.srv.Requests()
	if asked := heard[len(heard)-1].Messages; !slices.ContainsFunc(asked[len(asked)-1].Content, func(b llm.Block) bool { _, ok := b.(llm.Image); return ok }) {
		t.Errorf("the model did not see the picture: %+v", asked[len(asked)-1])
	}

	// The list of the app has none of it, nor has the browser.
	var left string
	b.Eval(`JSON.stringify(localStorage) + JSON.stringify(sessionStorage)`, &left)
	for _, word := range []string{"tulips", "lilies", "Gardenia", "horse"} {
		if strings.Contains(left, word) {
			t.Errorf("the browser keeps %q: %s", word, left)
		}
	}
	b.Open(v.c.url + "/")
	b.Until(`document.querySelector('textarea')`)
	b.Eval(`document.body.innerText`, &left)
	if strings.Contains(left, "Gardenia") || strings.Contains(left, "tulips") {
		t.Errorf("the list of chats has it:\n%s", left)
	}
	files, err := filepath.Glob(filepath.Join(v.home, "server.db*"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, word := range []string{"tulips", "lilies", "Gardenia", "roses", "lilac", "horse battery", recovery} {
			if strings.Contains(string(data), word) {
				t.Errorf("%s has %q", file, word)
			}
		}
	}
}

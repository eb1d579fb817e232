package main

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/llmtest"
)

// A person drops the exports of other programs onto the page, reads what came of them, switches to another branch of an
// imported chat, has it answered again, and saves it.
func TestServeAppImport(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	for i, size := range [][2]int{{390, 844}, {1280, 800}} {
		for _, dark := range []bool{false, true} {
			if dark != (i == 0) && !pacetest.Long(false, true, true) {
				continue
			}
			t.Run(fmt.Sprint(size[0], dark), func(t *testing.T) {
				t.Parallel()
				v := app(t, []llmtest.Turn{{Events: slices.Concat(llmtest.Say("In Ireland."), llmtest.Stop(llm.StopEnd, llm.Usage{Input: 100, Output: 10}))}}, size[0], size[1], dark)
				v.name = "import-" + v.name
				v.imports(dark)
			})
		}
	}
}

func (v *appVisit) imports(german bool) {
	b := v.b
	v.c.must(http.StatusCreated, "POST", "/v1/projects", map[string]any{"name": "Past"}, nil)
	b.Open(v.c.url + "/settings/moving")
	b.Until(`document.querySelector('#into option:nth-child(2)')`)
	v.shows("before", "Import and export", "Drop files here", "Export chats")
	b.Eval(`(() => { const s = document.querySelector('#into'); s.selectedIndex = 1; s.dispatchEvent(new Event('change', {bubbles: true})); })()`, nil)
	drop := func(files string) {
		b.Eval(`(() => { const data = new DataTransfer(); for (const [name, text] of `+files+`) data.items.add(new File([text], name)); document.querySelector('.drop').dispatchEvent(new DragEvent('drop', {dataTransfer: data, bubbles: true, cancelable: true})); })()`, nil)
	}
	damaged := exported(v.t, "chatgpt")
	damaged = damaged[:len(damaged)-2] + `,{"title":"Broken","mapping":{"a":{"parent":1}}}]`
	drop(fmt.Sprintf(`[["conversations.json", %q], ["open-webui.json", %q], ["holiday.json", "[1, 2"]]`, damaged, exported(v.t, "openwebui")))
	b.Until(`document.querySelectorAll('.result').length === 3 && !document.querySelector('progress')`)
	b.Eval(`document.querySelector('.results').scrollIntoView()`, nil)
	b.Forget() // that one of the files was refused
	v.shows("after", "1 chat imported, with 3 messages: Past.", "1 chat failed:", "No. 2, Broken:", "3 parts left out", "the JSON ends too early", "1 chat imported, with 4 messages: Past.")
	v.presses(".result a", "Show")
	b.Until(`location.pathname.startsWith('/p/')`)
	var chats []struct{ ID, Title string }
	v.c.must(http.StatusOK, "GET", "/v1/chats", nil, &chats)
	at := slices.IndexFunc(chats, func(c struct{ ID, Title string }) bool { return c.Title == "A walk" })
	if at < 0 {
		v.t.Fatalf("the chats are %v", chats)
	}
	b.Open(v.c.url + "/c/" + chats[at].ID)
	b.Until(`document.querySelector('.answer')?.innerText.includes('In Scotland.') && document.querySelector('.chip')?.innerText`)
	v.shows("chat", "Attached: hill.png")
	v.presses(".answer button, .turn button, button", "Previous version")
	b.Until(`document.querySelector('.answer')?.innerText.includes('In Wales.')`)
	v.sends("And where else?")
	b.Until(`[...document.querySelectorAll('.answer')].some((e) => e.innerText.includes('In Ireland.')) && !document.querySelector('[aria-busy=true], .go.stop')`)
	v.shows("continued", "In Wales.", "In Ireland.")

	var links []string
	b.Eval(`document.querySelector('nav .chat [aria-haspopup]').click()`, nil)
	b.Until(`document.querySelector('.chat .menu a')`)
	b.Eval(`[...document.querySelectorAll('.chat .menu a')].map((e) => e.getAttribute('href'))`, &links)
	if len(links) != 2 {
		v.t.Fatalf("the menu has %v", links)
	}
	for _, link := range links {
		v.c.must(http.StatusOK, "GET", link, nil, nil)
	}
	if !german {
		return
	}
	b.Eval(`localStorage.setItem('language', 'de')`, nil)
	b.Open(v.c.url + "/settings/moving")
	b.Until(`document.querySelector('#into option:nth-child(2)') && document.documentElement.lang === 'de'`)
	drop(fmt.Sprintf(`[["conversations.json", %q]]`, damaged))
	b.Until(`document.querySelectorAll('.result').length === 1`)
	b.Call("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-contrast", "value": "more"}}}, nil)
	b.Eval(`document.querySelector('.results').scrollIntoView()`, nil)
	v.shows("german", "1 Chat war schon da.", "1 Chat ist gescheitert:")
}

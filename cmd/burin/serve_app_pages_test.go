package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/browsertest"
	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/llmtest"
)

// A person sets up a project, their instructions and prompts, and keeps order among their chats, on a phone
// and on a screen. What they set reaches the model, what they share is read by who isn't signed in.
func TestServeAppPages(t *testing.T) {
	t.Parallel()
	pacetest.Costly(t)
	for i, size := range [][2]int{{390, 844}, {1280, 800}} {
		dark := i == 0
		t.Run(fmt.Sprint(size[0], dark), func(t *testing.T) {
			t.Parallel()
			used := llm.Usage{Input: 1200, Output: 300}
			turn := llmtest.Turn{Events: slices.Concat(llmtest.Say("It works, **as asked**."), llmtest.Stop(llm.StopEnd, used))}
			v := app(t, slices.Repeat([]llmtest.Turn{turn}, 12), size[0], size[1], dark)
			v.name = "pages-" + v.name
			v.setsUp()
			v.keepsOrder()
			v.shares()
			v.looksAround()
		})
	}
}

// fills writes a text into a field as a person does.
func (v *appVisit) fills(selector, text string) {
	v.t.Helper()
	v.b.Until(fmt.Sprintf(`document.querySelector(%q)`, selector))
	v.b.Eval(fmt.Sprintf(`document.querySelector(%q).focus(); document.querySelector(%q).select?.()`, selector, selector), nil)
	v.b.Write(text)
}

// presses clicks a button with a text.
func (v *appVisit) presses(within, text string) {
	v.t.Helper()
	find := fmt.Sprintf(`[...document.querySelectorAll(%q)].find((e) => (e.innerText || e.ariaLabel || '').trim().startsWith(%q) || e.ariaLabel === %q)`, within, text, text)
	v.b.Until(`!!` + find)
	v.b.Eval(find+`.click()`, nil)
}

// setsUp changes a project, what counts for all chats, and begins a chat with them.
func (v *appVisit) setsUp() {
	b, t := v.b, v.t
	var made struct{ ID string }
	v.c.must(http.StatusCreated, "POST", "/v1/projects", map[string]any{"name": "Book"}, &made)
	b.Open(v.c.url + "/p/" + made.ID + "/settings")
	b.Until(`document.querySelector('#p-name')?.value === 'Book'`)
	v.shows("project", "Project settings", "Instructions", "Files")
	v.fills("#p-name", "The book")
	v.fills("#p-instructions", "Answer like PIRATES.")
	v.fills("#p-cost", "1.5")
	v.presses(".icons button", "📚")
	b.Until(`document.querySelector('.bottom')`)
	v.shows("project-changed", "unsaved")
	v.presses(".bottom button", "Save")
	b.Until(`!document.querySelector('.bottom') && document.querySelector('.toasts').innerText.includes('Saved')`)
	var is struct {
		Name, Icon, Instructions string
		MaxCost                  float64
	}
	v.c.must(http.StatusOK, "GET", "/v1/projects/"+made.ID, nil, &is)
	if is.Name != "The book" || is.Icon != "📚" || is.Instructions != "Answer like PIRATES." || is.MaxCost != 1.5 {
		t.Errorf("the project is %+v", is)
	}
	b.Eval(`(() => { const data = new DataTransfer(); data.items.add(new File(['A plan.'], 'plan.txt')); document.querySelector('.drop').dispatchEvent(new DragEvent('drop', {dataTransfer: data, bubbles: true, cancelable: true})); })()`, nil)
	b.Until(`document.querySelector('.drop ~ .rows')?.innerText.includes('plan.txt')`)
	b.Eval(`document.querySelector('.drop').scrollIntoView()`, nil)
	v.shows("project-files", "plan.txt")
	v.presses(".rows button", "Delete plan.txt")
	b.Until(`document.body.innerText.includes('No files yet')`)
	v.presses(".toast button", "Undo")
	b.Until(`document.querySelector('.drop ~ .rows')?.innerText.includes('plan.txt')`)

	b.Open(v.c.url + "/settings/instructions")
	v.fills("section textarea", "Write in BRITISH English.")
	v.presses("section button", "Save")
	b.Until(`document.querySelector('.toasts').innerText.includes('Saved')`)
	v.shows("instructions", "Instructions for all chats")
	b.Open(v.c.url + "/settings/prompts")
	v.presses("section button", "New prompt")
	v.fills("#prompts-name", "translate")
	v.fills("#prompts-text", "Translate into {{language}}: {{text}}")
	v.shows("prompt", "Type / in an empty message")
	v.presses("section form button", "Save")
	b.Until(`document.querySelector('.rows')?.innerText.includes('translate')`)
	v.fills("input[type=search]", "cost")
	b.Until(`document.querySelector('.panel h2')?.innerText === 'Usage'`)

	// The prompt is inserted, and its variables are asked for.
	b.Open(v.c.url + "/p/" + made.ID)
	b.Until(`document.querySelector('h1')?.innerText.includes('The book')`)
	v.writes("/tr")
	b.Until(`document.querySelector('#reuse [role=option]')?.innerText.includes('translate')`)
	v.shows("prompts", "translate")
	b.Press("Enter")
	b.Until(`document.activeElement?.closest('.fill')`)
	b.Write("Dutch")
	b.Eval(`document.querySelectorAll('.fill input')[1].focus()`, nil)
	b.Write("the moon")
	v.shows("fill", "Fill in language")
	b.Press("Enter")
	b.Until(`document.querySelector('textarea').value === 'Translate into Dutch: the moon'`)
	b.Eval(`document.querySelector('.go').click()`, nil)
	b.Until(`location.pathname.startsWith('/c/') && document.querySelector('.answer')?.innerText.includes('as asked') && !document.querySelector('[aria-busy=true]')`)
	v.received("PIRATES", "BRITISH")

	// This chat has instructions of its own, from the next message on.
	v.presses("header button", "Chat settings")
	v.fills("#c-instructions", "Rhyme like MARINERS.")
	v.fills("#c-tags", "moon, dutch")
	v.fills("#c-folder", "Sky")
	v.shows("chat-settings", "Read-only links", "Instructions for this chat")
	v.presses("dialog form button", "Save")
	b.Until(`!document.querySelector('dialog')`)
	const sky = `[...document.querySelectorAll('nav .folder button')].find((e) => e.textContent.startsWith('Sky'))`
	b.Until(sky + `?.getAttribute('aria-expanded') === 'true' && document.querySelectorAll('nav .folder + ul .chat').length === 1`)
	v.sends("And the sun?")
	b.Until(`document.querySelectorAll('.answer').length >= 2 && !document.querySelector('[aria-busy=true], .go.stop')`)
	v.received("MARINERS")
	b.Eval(`getSelection().selectAllChildren(document.querySelector('.answer strong'))`, nil)
	v.presses(".over button", "Quote")
	b.Until(`document.querySelector('textarea').value.startsWith('> as asked')`)
	v.b.Eval(`document.querySelector('textarea').select()`, nil)
	b.Call("Input.dispatchKeyEvent", map[string]any{"type": "keyDown", "key": "Backspace", "windowsVirtualKeyCode": 8}, nil)
	b.Eval(`(() => { const data = new DataTransfer(); data.setData('text/plain', 'long '.repeat(4000)); document.querySelector('textarea').dispatchEvent(new ClipboardEvent('paste', {clipboardData: data, bubbles: true, cancelable: true})); })()`, nil)
	b.Until(`document.querySelector('.files')?.innerText.includes('pasted text.txt')`)
	v.presses(".files button", "Remove")
}

// received checks that the last request that the model got says something.
func (v *appVisit) received(wants ...string) {
	v.t.Helper()
	all := v.srv.Requests()
	data, err := json.Marshal(all[len(all)-1])
	if err != nil {
		v.t.Fatal(err)
	}
	for _, want := range wants {
		if !strings.Contains(string(data), want) {
			v.t.Errorf("the model didn't receive %q", want)
		}
	}
}

// keepsOrder archives, deletes, restores and moves chats, several at a time.
func (v *appVisit) keepsOrder() {
	b, t := v.b, v.t
	for n := range 5 {
		v.c.must(http.StatusCreated, "POST", "/v1/chats", map[string]any{"title": fmt.Sprint("Note ", n+1)}, nil)
	}
	// The list hears of them without being asked for.
	b.Until(`[...document.querySelectorAll('nav .chat')].filter((e) => e.textContent.includes('Note')).length === 5`)
	b.Open(v.c.url + "/chats")
	b.Until(`[...document.querySelectorAll('.list .rows li')].length === 6`)
	v.shows("library", "Note 1", "moon")
	pick := func(titles ...string) {
		for _, title := range titles {
			b.Eval(fmt.Sprintf(`document.querySelector('[aria-label="Select %s"]').click()`, title), nil)
		}
	}
	pick("Note 1", "Note 2")
	b.Until(`document.querySelector('.bottom')`)
	v.shows("library-selected", "2 selected")
	v.presses(".bottom button", "Archive")
	b.Until(`[...document.querySelectorAll('.list .rows li')].length === 4`)
	pick("Note 3", "Note 4")
	v.presses(".bottom button", "Delete")
	b.Until(`[...document.querySelectorAll('.list .rows li')].length === 2`)
	pick("Note 5")
	v.presses(".bottom button", "Add tag")
	b.Until(`document.activeElement.ariaLabel === 'Add tag'`)
	b.Write("later")
	b.Press("Enter")
	b.Until(`document.querySelector('.list').innerText.includes('later') && !document.querySelector('.bottom')`)
	pick("Note 5")
	v.presses(".bottom button", "Folder")
	b.Until(`document.activeElement.ariaLabel === 'Folder'`)
	b.Write("Sea")
	b.Press("Enter")
	b.Until(`document.querySelector('.list').innerText.includes('/ Sea') && !document.querySelector('.bottom')`)
	const sea = `[...document.querySelectorAll('nav .folder button')].find((e) => e.textContent.startsWith('Sea'))`
	b.Until(sea + `?.getAttribute('aria-expanded') === 'false'`)
	b.Eval(sea+`.click()`, nil)
	b.Until(`[...document.querySelectorAll('nav .folder + ul .chat')].some((e) => e.textContent.includes('Note 5'))`)
	v.shows("folders", "Sky", "Sea")
	pick("Note 5")
	b.Eval(`(() => { const s = document.querySelector('.bottom select'); s.value = [...s.options].find((o) => o.text === 'The book').value; s.dispatchEvent(new Event('change', {bubbles: true})); })()`, nil)
	b.Until(`[...document.querySelectorAll('.list .rows li')].every((e) => e.innerText.includes('The book'))`)
	v.presses(".choice a", "Archive")
	b.Until(`location.hash === '#archive' && [...document.querySelectorAll('.list .rows li')].length === 2`)
	v.shows("archive", "Note 1", "Note 2")
	v.presses(".choice a", "Trash")
	b.Until(`document.querySelector('.list')?.innerText.includes('Note 4')`)
	pick("Note 3")
	v.presses(".bottom button", "Restore")
	b.Until(`[...document.querySelectorAll('.list .rows li')].length === 1`)
	pick("Note 4")
	v.presses(".bottom button", "Delete for good")
	b.Until(`document.querySelector('.bottom [role=alert]')`)
	v.shows("purge", "can't be undone")
	v.presses(".bottom button.danger", "Delete for good")
	b.Until(`document.body.innerText.includes('The trash is empty')`)
	v.shows("trash", "The trash is empty")
	var left []struct{ Title string }
	v.c.must(http.StatusOK, "GET", "/v1/chats?trash=true", nil, &left)
	if len(left) != 0 {
		t.Errorf("%v is in the trash", left)
	}
}

// shares makes a link to a chat, reads it as somebody else, and removes it.
func (v *appVisit) shares() {
	b, t := v.b, v.t
	b.Eval(`void [...document.querySelectorAll('nav .chat a.item')].find((e) => e.textContent.includes('Translate')).click()`, nil)
	b.Until(`document.querySelector('.answer')`)
	v.presses("header button", "Chat settings")
	v.presses("dialog button", "Make a link")
	b.Until(`document.querySelector('#made-link')?.value.includes('/share/')`)
	b.Eval(`document.querySelector('#made-link').scrollIntoView()`, nil)
	v.shows("share", "Copy it now")
	var link string
	b.Eval(`document.querySelector('#made-link').value`, &link)
	r := browsertest.Start(t, 1280, 800, false)
	reader := &appVisit{pageVisit: pageVisit{t, r, v.name}, c: v.c, axe: v.axe}
	r.Open(link)
	r.Until(`document.querySelector('article strong')?.innerText === 'as asked'`)
	reader.shows("shared", "Read-only copy", "Translate into Dutch", "And the sun?")
	path, _, _ := strings.Cut(link, "#")
	r.Open("about:blank")
	r.Open(path + "#AAAA")
	r.Until(`document.body.innerText.includes('Nothing to read here')`)
	v.presses("dialog .rows button", "Remove")
	b.Until(`!document.querySelector('dialog .rows')`)
	r.Open("about:blank")
	r.Open(link)
	r.Until(`document.body.innerText.includes('Nothing to read here')`)
	reader.b.Forget()
	var audit []struct{ What string }
	v.c.must(http.StatusOK, "GET", "/v1/admin/audit", nil, &audit)
	for _, want := range []string{"share.add", "share.remove"} {
		if !slices.ContainsFunc(audit, func(e struct{ What string }) bool { return e.What == want }) {
			t.Errorf("the log has no %s: %v", want, audit)
		}
	}
	b.Press("Escape")
}

// looksAround reads what was spent, and begins a chat that isn't kept.
func (v *appVisit) looksAround() {
	b, t := v.b, v.t
	b.Open(v.c.url + "/settings")
	b.Until(`document.querySelector('.panel')`)
	v.shows("settings", "Appearance")
	run(t, v.c.cmd, "admin", "quota", "owner", "--storage", "1")
	b.Open(v.c.url + "/settings/usage")
	b.Until(`document.querySelector('figure rect')`)
	v.shows("usage", " of 1.0 GB used (0%)", "By model", "By project", "The book")
	b.Open(v.c.url + "/")
	v.presses(".with button", "Temporary chat")
	v.shows("temporary", "In no list")
	v.sends("Between us")
	b.Until(`location.pathname.startsWith('/c/') && document.querySelector('.answer')?.innerText.includes('as asked') && !document.querySelector('[aria-busy=true]')`)
	v.shows("temporary-chat", "Temporary chat")
	var all []struct{ Title string }
	v.c.must(http.StatusOK, "GET", "/v1/chats", nil, &all)
	for _, c := range all {
		if strings.Contains(c.Title, "Between us") {
			t.Errorf("the list has the temporary chat: %v", all)
		}
	}
}

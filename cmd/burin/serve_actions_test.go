package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/burin-dev/burin/docs"
	"github.com/burin-dev/burin/internal/browsertest"
	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/llmtest"
)

// doer does actions of the chat app with a mouse and a keyboard, and writes down what each took.
type doer struct {
	*appVisit
	steps   []string // of the action: C, K, T, D and W, as docs/actions.md says
	dialogs int      // that were open after the last step
	chooser []byte   // the dialog for files that a click opened
}

// step writes down a step that has been done, and what had to open before the next one.
func (a *doer) step(kind, until string) {
	a.t.Helper()
	a.steps = append(a.steps, kind)
	a.b.Until(until)
	var open int
	a.b.Eval(`document.querySelectorAll('dialog[open]').length + (window.here ? 0 : 100)`, &open)
	if open > a.dialogs {
		a.steps = append(a.steps, "W")
	}
	a.dialogs = open
	for _, e := range a.b.Events() {
		if e.Method == "Page.fileChooserOpened" && a.chooser == nil {
			a.chooser = e.Params
			a.steps = append(a.steps, "W")
		}
	}
}

func (a *doer) click(selector, until string) {
	a.t.Helper()
	a.b.Click(selector)
	a.step("C", until)
}

// writes types a text where the focus is.
func (a *doer) types(text, until string) {
	a.t.Helper()
	a.b.Write(text)
	a.step("T", until)
}

// press presses a key, or several at once: Ctrl+Shift+O.
func (a *doer) press(chord, until string) {
	a.t.Helper()
	a.b.Settle()
	keys := strings.Split(chord, "+")
	key, held := keys[len(keys)-1], 0
	for _, k := range keys[:len(keys)-1] {
		held |= map[string]int{"Alt": 1, "Ctrl": 2, "Shift": 8}[k]
	}
	code, ok := map[string]int{"Enter": 13, "Escape": 27, "ArrowUp": 38, "Backspace": 8}[key]
	if !ok {
		code = int(strings.ToUpper(key)[0])
	}
	down := map[string]any{"type": "rawKeyDown", "key": key, "windowsVirtualKeyCode": code, "modifiers": held}
	if key == "Enter" {
		down["type"], down["text"] = "keyDown", "\r"
	}
	if chord == "Ctrl+V" {
		down["commands"] = []string{"paste"} // the editing command that the platform has on this key
	}
	a.b.Call("Input.dispatchKeyEvent", down, nil)
	a.b.Call("Input.dispatchKeyEvent", map[string]any{"type": "keyUp", "key": key, "windowsVirtualKeyCode": code, "modifiers": held}, nil)
	a.step("K", until)
}

// drag drags an element onto another one.
func (a *doer) drag(from, to, until string) {
	a.t.Helper()
	b := a.b
	b.Call("Input.setInterceptDrags", map[string]any{"enabled": true}, nil)
	var at [2]struct{ X, Y float64 }
	for i, selector := range []string{from, to} {
		b.Until(fmt.Sprintf(`document.querySelector(%q)`, selector))
		b.Eval(fmt.Sprintf(`(() => { const r = document.querySelector(%q).getBoundingClientRect(); return {x: r.x + r.width / 2, y: r.y + r.height / 2}; })()`, selector), &at[i])
	}
	mouse := func(kind string, x, y float64) {
		b.Call("Input.dispatchMouseEvent", map[string]any{"type": kind, "x": x, "y": y, "button": "left", "buttons": 1, "clickCount": 1}, nil)
	}
	b.Forget()
	mouse("mouseMoved", at[0].X, at[0].Y)
	mouse("mousePressed", at[0].X, at[0].Y)
	mouse("mouseMoved", at[0].X+9, at[0].Y+9)
	mouse("mouseMoved", at[1].X, at[1].Y)
	b.Await("Input.dragIntercepted")
	events := b.Events()
	i := slices.IndexFunc(events, func(e browsertest.Event) bool { return e.Method == "Input.dragIntercepted" })
	var carried struct{ Data json.RawMessage }
	if err := json.Unmarshal(events[i].Params, &carried); err != nil {
		a.t.Fatal(err)
	}
	for _, kind := range []string{"dragEnter", "dragOver", "drop"} {
		b.Call("Input.dispatchDragEvent", map[string]any{"type": kind, "x": at[1].X, "y": at[1].Y, "data": carried.Data}, nil)
	}
	mouse("mouseReleased", at[1].X, at[1].Y)
	b.Call("Input.setInterceptDrags", map[string]any{"enabled": false}, nil)
	a.step("D", until)
}

// clipboard is what was copied.
func (a *doer) clipboard() (text string) {
	a.b.Eval(`navigator.clipboard.readText()`, &text)
	return text
}

// What the twenty actions of docs/actions.md take is counted in the app. The table has these
// figures, and none is more than that of another program.
func TestServeActions(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	used := llm.Usage{Input: 1200, Output: 300}
	answer := func(text string) llmtest.Turn {
		return llmtest.Turn{Events: slices.Concat(llmtest.Say(text), llmtest.Stop(llm.StopEnd, used))}
	}
	steered := make(chan struct{})
	slow := llmtest.Turn{Events: llmtest.Say(strings.Repeat("It takes its time. ", 40)), Fault: llmtest.Fault{StallAfterEvents: 60}}
	v := app(t, []llmtest.Turn{
		answer("First:\n\n```go\nprintln(1)\n```\n"), // a new chat
		answer("Again."),  // regenerated
		answer("Edited."), // edited
		{Reply: func(*llm.Request) []llm.Event {
			<-steered
			return slices.Concat(llmtest.Say("At length."), llmtest.Stop(llm.StopEnd, used))
		}},
		answer("Steered."),
		slow,               // stopped
		answer("Thought."), // with another effort
		answer("Seen."),    // with a picture
	}, 1280, 800, false)
	a := &doer{appVisit: v}
	b := a.b
	const calm = `!document.querySelector('[aria-busy=true], .go.stop')`
	says := func(text string) string {
		return fmt.Sprintf(`[...document.querySelectorAll('.answer')].at(-1)?.innerText.includes(%q) && %s`, text, calm)
	}
	origin := map[string]any{"origin": v.c.url, "permissions": []string{"clipboardReadWrite", "clipboardSanitizedWrite"}}
	b.Call("Browser.grantPermissions", origin, nil)
	b.Call("Page.bringToFront", nil, nil)
	v.c.must(201, "POST", "/v1/projects", map[string]any{"name": "Book"}, nil)
	b.Open(v.c.url + "/")
	b.Until(`document.querySelector('.chip') && document.querySelector('.own') && document.activeElement.matches('textarea')`)
	b.Eval(`void (window.here = true)`, nil)

	took := map[string]string{}
	does := func(action string, do func()) {
		t.Helper()
		a.steps, a.dialogs, a.chooser = nil, 0, nil
		b.Forget()
		do()
		took[action] = strings.Join(a.steps, " ")
		b.Eval(`document.querySelector('dialog[open]')?.close()`, nil) // what comes after the action isn't counted
		b.Eval(`document.querySelectorAll('.toast .icon').forEach((e) => e.click())`, nil)
		b.Until(`!document.querySelector('dialog[open], .toast')`)
		v.quiet(action)
	}

	does("A new chat and its first message", func() {
		a.press("Ctrl+Shift+O", `document.activeElement.matches('textarea')`)
		a.types("How does it begin?", `document.querySelector('.go:not(:disabled)')`)
		a.press("Enter", `location.pathname.startsWith('/c/') && `+says("First"))
	})
	chat := strings.TrimPrefix(v.at(), "/c/")
	does("Copy an answer", func() {
		a.click(`.answer [aria-label="Copy as Markdown"]`, `document.querySelector('.answer .actions [aria-label=Copied]')`)
		if got := a.clipboard(); !strings.Contains(got, "```go") {
			t.Errorf("copied %q", got)
		}
	})
	does("Copy a code block", func() {
		a.click(`figure [aria-label="Copy code"]`, `document.querySelector('figure [aria-label=Copied]')`)
		if got := a.clipboard(); strings.TrimSpace(got) != "println(1)" {
			t.Errorf("copied %q", got)
		}
	})
	does("Regenerate an answer", func() {
		b.Until(`!document.querySelector('[aria-label=Regenerate]:disabled')`)
		a.click(`[aria-label=Regenerate]`, says("Again.")+` && document.querySelector('.prompt').innerText.includes('2/2')`)
	})
	does("Switch to another version", func() {
		a.click(`.prompt [aria-label="Previous version"]`, says("First")+` && document.querySelector('.prompt').innerText.includes('1/2')`)
	})
	b.Until(`document.querySelector('.composer')`)
	does("Edit the last message and resend it", func() {
		b.Eval(`document.querySelector('textarea').focus()`, nil) // where it is when somebody writes
		a.press("ArrowUp", `document.querySelector('.editing') && document.querySelector('textarea').value === 'How does it begin?'`)
		a.types(" Tell me.", `document.querySelector('textarea').value.endsWith('Tell me.')`)
		a.press("Enter", says("Edited.")+` && document.querySelector('.bubble').innerText.endsWith('Tell me.')`)
	})
	v.sends("At length")
	b.Until(`document.querySelector('.go.stop') && document.activeElement.matches('textarea')`)
	does("Steer an answer that is being written", func() {
		a.types("Shorter", `document.querySelector('.go:not(.stop):not(:disabled)')`)
		a.press("Enter", `document.querySelector('.waiting')?.innerText.includes('Shorter')`)
		close(steered)
		b.Until(says("Steered."))
		v.received("Shorter")
	})
	v.sends("At length again")
	b.Until(`document.querySelector('[aria-busy=true]')?.innerText.includes('its time')`)
	does("Stop an answer", func() {
		a.press("Escape", calm+` && document.body.innerText.includes('Stopped')`)
	})
	does("Change the thinking effort", func() {
		a.click(`.composer .chip`, `document.querySelector('.effort')`)
		v.shows("effort", "Thinking", "Highest")
		a.click(`.effort button:nth-of-type(6)`, `!document.querySelector('.effort')`)
		b.Click(`.composer .chip`)
		b.Until(`document.querySelector('.effort [aria-pressed=true]')?.innerText === 'High'`)
		b.Press("Escape")
		b.Until(`!document.querySelector('.effort')`)
		v.sends("And now?")
		b.Until(says("Thought."))
		if r := v.srv.Requests(); r[len(r)-1].Thinking.Budget <= r[len(r)-2].Thinking.Budget {
			t.Errorf("the model thinks %+v, and did %+v", r[len(r)-1].Thinking, r[len(r)-2].Thinking)
		}
	})
	does("Choose another model", func() {
		a.click(`.composer .chip`, `document.querySelector('#models li')`)
		a.click(`#models li:not([aria-selected=true])`, `document.querySelector('.composer .chip').innerText.trim() === 'One'`)
	})
	does("Rename the chat", func() {
		a.click(`h1 button`, `document.activeElement.ariaLabel === 'Title'`)
		a.types("Beginnings", `document.activeElement.value === 'Beginnings'`)
		a.press("Enter", `document.querySelector('main h1').textContent === 'Beginnings' && document.querySelector('nav .chat').innerText.includes('Beginnings') && document.activeElement.matches('h1 button')`)
	})
	does("Pin the chat", func() {
		a.click(`.chat .more`, `document.querySelector('.chat .menu')`)
		a.click(`.chat .menu button:nth-of-type(2)`, `document.querySelector('nav').innerText.includes('Pinned')`)
	})
	does("Put the chat into a project", func() {
		a.drag(`.chat a`, `.own:nth-child(2) a`, `document.querySelector('header .title p')?.innerText === 'Book' && document.querySelector('.toast').innerText.includes('Moved to Book.')`)
		b.Eval(`document.querySelector('.toast button').click()`, nil)
		b.Until(`document.querySelector('header .title p')?.innerText !== 'Book'`)
		b.Call("Input.dispatchKeyEvent", map[string]any{"type": "rawKeyDown", "key": "k", "windowsVirtualKeyCode": 75, "modifiers": 2}, nil)
		b.Until(`document.querySelector('dialog input')`)
		b.Write("Move to Book")
		b.Until(`document.querySelector('.row.at')?.innerText.includes('Move to Book')`)
		b.Press("Enter")
		b.Until(`document.querySelector('header .title p')?.innerText === 'Book'`)
	})
	does("Share a link to the chat", func() {
		a.click(`header [aria-label="Chat settings"]`, `document.querySelector('dialog .for')`)
		a.click(`dialog .for + .button`, `document.querySelector('#made-link')?.value.includes('/share/') && document.querySelector('.toast:last-child')?.innerText.includes('opied')`)
		if got := a.clipboard(); !strings.HasPrefix(got, v.c.url+"/share/") {
			t.Errorf("copied %q", got)
		}
	})
	does("Attach a file", func() {
		b.Call("Page.setInterceptFileChooserDialog", map[string]any{"enabled": true}, nil)
		b.Click(`.composer [aria-label="Attach files"]`)
		b.Await("Page.fileChooserOpened")
		a.step("C", `true`)
		var opened struct{ BackendNodeID int }
		if err := json.Unmarshal(a.chooser, &opened); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "notes.txt")
		writeFile(t, path, []byte("notes"), 0o600)
		b.Call("DOM.setFileInputFiles", map[string]any{"files": []string{path}, "backendNodeId": opened.BackendNodeID}, nil)
		b.Until(`document.querySelector('.files').innerText.includes('notes.txt')`)
	})
	does("Paste a picture", func() {
		var pic bytes.Buffer
		if err := png.Encode(&pic, image.NewGray(image.Rect(0, 0, 8, 8))); err != nil {
			t.Fatal(err)
		}
		data, _ := json.Marshal(pic.Bytes()) // base64
		b.Eval(fmt.Sprintf(`navigator.clipboard.write([new ClipboardItem({'image/png': new Blob([Uint8Array.from(atob(%s), (c) => c.charCodeAt(0))], {type: 'image/png'})})])`, data), nil)
		b.Eval(`document.querySelector('textarea').focus()`, nil)
		a.press("Ctrl+V", `document.querySelector('.files img')`)
	})
	v.sends("Look at it")
	b.Until(says("Seen."))
	if r := v.srv.Requests(); len(r) > 0 {
		data, _ := json.Marshal(r[len(r)-1])
		if !bytes.Contains(data, []byte("image/png")) {
			t.Error("the model didn't get the picture")
		}
	}
	does("Fork the chat", func() {
		b.Eval(`[...document.querySelectorAll('[aria-label="Fork from here"]')].at(-1).id = 'fork'`, nil)
		a.click(`#fork`, fmt.Sprintf(`location.pathname.startsWith('/c/') && location.pathname !== '/c/%s' && document.querySelector('.answer')`, chat))
	})
	does("Open the last chat", func() {
		a.click(fmt.Sprintf(`nav a[href="/c/%s"]`, chat), fmt.Sprintf(`location.pathname === '/c/%s' && document.querySelector('.answer')`, chat))
	})
	does("Search all chats", func() {
		a.press("Ctrl+k", `document.activeElement.matches('dialog input')`)
		a.types("takes its time", `document.querySelector('.row.at mark')`)
		a.press("Enter", `!document.querySelector('dialog[open]') && location.pathname.startsWith('/c/')`)
	})
	if v.at() != "/c/"+chat {
		b.Click(fmt.Sprintf(`nav a[href="/c/%s"]`, chat))
		b.Until(fmt.Sprintf(`location.pathname === '/c/%s' && document.querySelector('.answer')`, chat))
	}
	v.shows("actions")
	does("Delete the chat", func() {
		a.press("Ctrl+Shift+Backspace", fmt.Sprintf(`location.pathname === '/' && !document.querySelector('nav a[href="/c/%s"]')`, chat))
		b.Eval(`[...document.querySelectorAll('.toast button')].find((e) => e.innerText === 'Undo').click()`, nil)
		b.Until(fmt.Sprintf(`document.querySelector('nav a[href="/c/%s"]')`, chat))
	})
	comparesActions(t, took)
}

// comparesActions holds what actions took against the table of the document.
func comparesActions(t *testing.T, took map[string]string) {
	t.Helper()
	page, err := fs.ReadFile(docs.Files(), "actions.md")
	if err != nil {
		t.Fatal(err)
	}
	said := regexp.MustCompile(`^(not documented|not known|[CKTDW]( [CKTDW])*)( \([a-z]\))?$`)
	count := func(steps string) (own, waits int) {
		waits = strings.Count(steps, "W")
		return len(strings.Fields(steps)) - waits, waits
	}
	rows := 0
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if len(cells) != 5 || cells[0] == "Action" || strings.HasPrefix(cells[0], "-") {
			continue
		}
		rows++
		is, ok := took[cells[0]]
		if !ok || cells[1] != is {
			t.Errorf("docs/actions.md says %q for %q, it took %q", cells[1], cells[0], is)
		}
		own, waits := count(is)
		for _, peer := range cells[2:] {
			m := said.FindStringSubmatch(peer)
			if m == nil {
				t.Errorf("docs/actions.md says %q for %q", peer, cells[0])
			} else if theirs, theirWaits := count(m[1]); m[1][0] < 'a' && (own > theirs || waits > theirWaits) {
				t.Errorf("%s takes %s, and elsewhere %s", cells[0], is, m[1])
			}
		}
	}
	if rows != 20 || len(took) != 20 {
		t.Errorf("%d actions were done, and docs/actions.md has %d, want 20", len(took), rows)
	}
}

package main

import (
	"encoding/base64"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm"
)

// A message is sent when its person means it, and once: not by the Enter of an input method, and not twice by two
// clicks. A picture needs no text. The answer is made while nobody looks, and whoever can't see the page hears of each one.
func TestServeAppSends(t *testing.T) {
	t.Parallel()
	pacetest.Costly(t)
	brain := newBrain(t)
	cmd := machine(t, brain, strings.Replace(rpcConfig, "default: box/one", "default: box/one, transcribe: ear/hears", 1))
	ears(t, filepath.Join(filepath.Dir(cmd.Dir), "burin"), "I take the train at nine.")
	v := appOn(t, brain.srv, cmd, 1280, 800, false)
	v.name = "sends-" + v.name
	b := v.b
	b.Open(v.c.url + "/")
	b.Until(`document.querySelector('.chip')?.innerText && document.activeElement.matches('textarea')`)

	// Chromium says of a key that an input method is composing, other browsers give it the code 229.
	b.Call("Input.imeSetComposition", map[string]any{"text": "say かな", "selectionStart": 6, "selectionEnd": 6}, nil)
	b.Until(`document.querySelector('textarea').value === 'say かな'`)
	enter := func(code int) {
		for _, kind := range []string{"rawKeyDown", "keyUp"} {
			b.Call("Input.dispatchKeyEvent", map[string]any{"type": kind, "key": "Enter", "windowsVirtualKeyCode": code}, nil)
		}
		b.Settle()
		if sent := v.at() != "/" || len(brain.srv.Requests()) > 0; sent {
			t.Fatalf("Enter with the code %d sent what is being composed", code)
		}
	}
	enter(13)
	b.Call("Input.insertText", map[string]any{"text": "say 仮名"}, nil)
	b.Until(`document.querySelector('textarea').value === 'say 仮名'`)
	enter(229)

	// Two clicks and a key are one chat with one message.
	b.Eval(`(() => { const go = document.querySelector('.go'); go.click(); go.click(); document.querySelector('textarea').dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter', bubbles: true, cancelable: true})); go.click(); })()`, nil)
	const calm = ` && !document.querySelector('[aria-busy=true], .go.stop')`
	b.Until(`document.querySelector('.answer')?.innerText.includes('仮名')` + calm)
	var chats []chatOf
	v.c.must(http.StatusOK, "GET", "/v1/chats", nil, &chats)
	if n := len(brain.srv.Requests()); len(chats) != 1 || n != 1 {
		t.Fatalf("%d chats and %d requests", len(chats), n)
	}

	// A picture alone is sent by Enter.
	b.Eval(`(async () => {
		const canvas = document.createElement('canvas');
		canvas.width = canvas.height = 8;
		const data = new DataTransfer();
		data.items.add(new File([await new Promise((r) => canvas.toBlob(r))], 'square.png', {type: 'image/png'}));
		document.querySelector('textarea').dispatchEvent(new ClipboardEvent('paste', {clipboardData: data, bubbles: true, cancelable: true}));
	})()`, nil)
	b.Until(`document.querySelector('.files img') && document.activeElement.matches('textarea')`)
	b.Press("Enter")
	b.Until(`document.querySelectorAll('.answer').length === 2` + calm)
	all := brain.srv.Requests()
	last := all[len(all)-1].Messages
	pictures := 0
	for _, block := range last[len(last)-1].Content {
		if _, ok := block.(llm.Image); ok {
			pictures++
		}
	}
	if pictures != 1 {
		t.Errorf("the model read %+v", last[len(last)-1])
	}

	// A recording is heard in the page, and read.
	b.Eval(`(() => {
		const data = new DataTransfer();
		data.items.add(new File([Uint8Array.from(atob('`+base64.StdEncoding.EncodeToString([]byte(recording()))+`'), (c) => c.charCodeAt(0))], 'memo.wav', {type: 'audio/wav'}));
		document.querySelector('textarea').dispatchEvent(new ClipboardEvent('paste', {clipboardData: data, bubbles: true, cancelable: true}));
	})()`, nil)
	b.Until(`document.querySelector('.files')?.innerText.includes('memo.wav') && document.activeElement.matches('textarea')`)
	b.Press("Enter")
	b.Until(`document.querySelectorAll('.answer').length === 3` + calm)
	b.Until(`document.querySelector('audio')?.duration === 1`)
	b.Eval(`(() => { document.querySelector('.prompt details').open = true; const a = document.querySelector('audio'); a.muted = true; void a.play(); })()`, nil)
	b.Until(`document.querySelector('audio').ended`)
	v.shows("recording", "memo.wav", "I take the train at nine.")

	// The page is left while the model thinks; the answer is there when its person comes back.
	const heard = `document.querySelector('p.hide[role=status]').innerText`
	b.Until(heard + ` === 'Answer'`)
	id := strings.TrimPrefix(v.at(), "/c/")
	v.sends("gate say patience pays")
	b.Until(`document.querySelector('.go.stop') && ` + heard + ` === ''`) // so that the next one is heard, too
	b.Open("about:blank")
	f := v.c.follow("", "session="+id)
	f.until("", nil)
	brain.free()
	f.until("agent_settled", nil)
	f.stop()
	b.Open(v.c.url + "/c/" + id)
	b.Until(`document.querySelectorAll('.answer').length === 4 && document.querySelector('main').innerText.includes('patience pays')` + calm)
	v.sends("gate say and so on")
	b.Until(`document.querySelector('.go.stop')`)
	brain.free()
	b.Until(heard + ` === 'Answer'`)
	v.keepsFiles(brain)
	v.leavesTheEnd(brain)
	v.quiet("sends")
}

// keepsFiles checks that an attached text is a file in the message, in an edit, which survives a reload, and in what is taken back
// from the queue, as it is when the answer is stopped.
func (v *appVisit) keepsFiles(brain *brain) {
	b, t := v.b, v.t
	t.Helper()
	attaches := func() {
		b.Eval(`(() => { const data = new DataTransfer(); data.items.add(new File(['The word is okapi.'], 'plan.txt')); document.querySelector('textarea').dispatchEvent(new ClipboardEvent('paste', {clipboardData: data, bubbles: true, cancelable: true})); })()`, nil)
		b.Until(`document.querySelector('.files')?.innerText.includes('plan.txt')`)
	}
	read := func() string {
		all := brain.srv.Requests()
		return textsOf(all[len(all)-1].Messages[len(all[len(all)-1].Messages)-1:])
	}
	const calm = ` && !document.querySelector('[aria-busy=true], .go.stop')`
	attaches()
	v.sends("say read it")
	b.Until(`document.querySelectorAll('.answer').length === 6` + calm)
	const newest = `[...document.querySelectorAll('.prompt')].at(-1)`
	b.Until(newest + `.querySelector('.part')?.innerText.includes('plan.txt') && ` + newest + `.querySelector('.bubble').innerText === 'say read it'`)
	if got := read(); !strings.Contains(got, "The word is okapi.") {
		t.Errorf("the model read %q", got)
	}
	b.Press("ArrowUp")
	const editing = `document.querySelector('.editing') && document.querySelector('.files')?.innerText.includes('plan.txt') && document.querySelector('textarea').value === `
	b.Until(editing + `'say read it'`)
	b.Write(" again")
	b.Until(editing + `'say read it again'`)
	b.Open(v.c.url + v.at())
	b.Until(editing + `'say read it again'`)
	b.Eval(`document.querySelector('.go').click()`, nil)
	b.Until(newest + `?.querySelector('.bubble').innerText === 'say read it again' && ` + newest + `.querySelector('.part')?.innerText.includes('plan.txt') && !document.querySelector('.editing')` + calm)
	if got := read(); !strings.Contains(got, "The word is okapi.") || strings.Count(got, "<file") != 1 {
		t.Errorf("the model read %q", got)
	}

	v.sends("gate say first")
	b.Until(`document.querySelector('.go.stop')`)
	attaches()
	v.writes("say second")
	b.Until(`[...document.querySelectorAll('.composer .button')].some((e) => e.innerText.includes('Queue'))`)
	b.Eval(`[...document.querySelectorAll('.composer .button')].find((e) => e.innerText.includes('Queue')).click()`, nil)
	b.Until(`document.querySelector('.waiting')?.innerText.includes('second') && document.querySelector('textarea').value === ''`)
	b.Eval(`document.querySelector('.go.stop').click()`, nil)
	b.Until(`!document.querySelector('.waiting') && document.querySelector('textarea').value === 'say second' && document.querySelector('.files')?.innerText.includes('plan.txt') && !document.querySelector('.composer .row .button')` + calm) // which is there to queue
	brain.free()
	b.Eval(`document.querySelector('.go').click()`, nil)
	b.Until(newest + `.innerText.includes('plan.txt') && document.querySelector('main').innerText.includes('second')` + calm)
	if got := read(); !strings.Contains(got, "The word is okapi.") || !strings.Contains(got, "say second") {
		t.Errorf("the model read %q", got)
	}

	// What is sent in the moment of a stop isn't stopped with it.
	v.sends("gate say third")
	b.Until(`document.querySelector('.go.stop')`)
	v.writes("say fourth")
	b.Until(`[...document.querySelectorAll('.composer .button')].some((e) => e.innerText.includes('Queue'))`)
	b.Eval(`document.querySelector('textarea').dispatchEvent(new KeyboardEvent('keydown', {key: 'Escape', bubbles: true})); [...document.querySelectorAll('.composer .button')].find((e) => e.innerText.includes('Queue')).click()`, nil)
	b.Until(`[...document.querySelectorAll('.answer')].at(-1).innerText.includes('fourth') && !document.querySelector('.waiting')` + calm)
	brain.free()
}

// leavesTheEnd checks that a page stays at the end when the field grows, and when it becomes small while an answer grows, that
// one which is scrolled up a little doesn't follow the answer, and that the list of models opens by its
// key with all of them, and gives the focus back.
func (v *appVisit) leavesTheEnd(brain *brain) {
	b := v.b
	v.t.Helper()
	const left = `(() => { const s = document.querySelector('.scroller'); return s.scrollHeight - s.scrollTop - s.clientHeight; })()`
	v.sends("say " + strings.Repeat("A line of many words that fills the page. ", 100))
	b.Until(`[...document.querySelectorAll('.answer')].at(-1)?.innerText.startsWith('A line of many') && !document.querySelector('[aria-busy=true], .go.stop') && ` + left + ` < 2`)
	b.Eval(`(() => { const s = document.querySelector('.scroller'); s.scrollTop -= 1; s.scrollTop += 1; document.querySelector('.composer textarea').style.height = '200px'; })()`, nil)
	b.Settle()
	b.Until(`document.querySelector('.composer textarea').offsetHeight === 200 && ` + left + ` < 2 && !document.querySelector('.latest')`)
	b.Eval(`(() => { document.querySelector('.composer textarea').style.height = ''; void document.querySelector('.scroller').scrollTop; [...document.querySelectorAll('.answer')].at(-1).style.paddingBottom = '300px'; })()`, nil)
	b.Settle()
	b.Until(left + ` < 2 && !document.querySelector('.latest')`)
	v.sends("gate say " + strings.Repeat("one more ", 200))
	b.Until(`document.querySelector('.after .dots') && ` + left + ` < 2`)
	b.Call("Input.dispatchMouseEvent", map[string]any{"type": "mouseWheel", "x": 700, "y": 300, "deltaX": 0, "deltaY": -20}, nil)
	b.Until(left + ` > 10`)
	brain.free()
	b.Until(`[...document.querySelectorAll('.answer')].at(-1).innerText.includes('one more') && ` + left + ` > 20 && document.querySelector('.latest')`)
	b.Eval(`document.querySelector('.latest').click()`, nil)
	b.Until(left + ` < 2 && !document.querySelector('.latest')`)

	models := func() {
		b.Eval(`(document.querySelector('textarea').focus(), document.querySelector('textarea').dispatchEvent(new KeyboardEvent('keydown', {key: 'M', ctrlKey: true, shiftKey: true, bubbles: true, cancelable: true})))`, nil)
		b.Until(`document.activeElement.matches('.picker input') && document.activeElement.value === '' && document.querySelectorAll('.picker [role=option]').length > 1`)
	}
	models()
	b.Write("two")
	b.Until(`document.querySelectorAll('.picker [role=option]').length === 1`)
	b.Press("Escape")
	b.Until(`!document.querySelector('.picker .menu') && document.activeElement.matches('textarea')`)
	models()
	b.Write("two")
	b.Press("Enter")
	b.Until(`document.querySelector('.picker .chip').innerText === 'two' && document.activeElement.matches('textarea')`)
}

// A chat has an outline until it is read, sources stand below the answer that cites them, and the look is that of the
// system or the one that was chosen.
func TestServeAppReads(t *testing.T) {
	sized(t, func(t *testing.T, width, height int, dark bool) {
		v := app(t, nil, width, height, dark)
		v.name = "reads-" + v.name
		b := v.b
		cites := llm.Message{Role: llm.RoleAssistant, Content: []llm.Block{
			llm.Text{Text: "The okapi lives in the "},
			llm.Text{Text: "Ituri forest", Citations: []llm.Citation{
				{URL: "https://animals.example/okapi", Title: "Okapi", Text: "found only in the Ituri forest"}, {URL: "javascript:alert(1)", Title: "No address"}, {URL: "https://animals.example/okapi", Title: "Again"},
			}},
			llm.Text{Text: "."},
		}}
		id := wrote(t, roomOf(t, v.home), "Animals", time.Minute, wroteYou("Where do okapis live?"), cites)
		b.Open(v.c.url + "/")
		b.Until(`document.querySelector('.chip')?.innerText`)
		b.Eval(`new MutationObserver(() => window.outline ||= document.querySelector('.skeleton')?.textContent).observe(document.body, {childList: true, subtree: true})`, nil)
		arrives(v, "/c/"+id)
		b.Until(`document.querySelector('.sources') && document.querySelector('.answer').innerText.includes('lives in the Ituri forest.')`)
		var is struct {
			Outline, Title, Host, Rel string
			Links                     int
		}
		b.Eval(`document.querySelector('.sources summary').click()`, nil)
		b.Until(`document.querySelector('.sources').open`)
		b.Eval(`(() => { const a = document.querySelectorAll('.sources a'); return {outline: window.outline, title: a[0].title, host: a[0].parentElement.innerText, rel: a[0].rel, links: a.length}; })()`, &is)
		if is.Outline != "Loading the chat…" || is.Title != "found only in the Ituri forest" || is.Host != "Okapi animals.example" || !strings.Contains(is.Rel, "noreferrer") || is.Links != 1 {
			t.Errorf("a chat with sources: %+v", is)
		}
		v.shows("sources", "Sources: 1", "animals.example")

		ground := func() (color string) {
			b.Eval(`getComputedStyle(document.body).backgroundColor`, &color)
			return color
		}
		system := ground()
		other := map[bool]string{true: "Light", false: "Dark"}[dark]
		b.Open(v.c.url + "/settings/appearance")
		v.presses(".choice button", other)
		b.Until(`document.querySelector('.choice [aria-pressed=true]').innerText === '` + other + `'`)
		v.shows("look", other)
		if ground() == system {
			t.Errorf("with the look %s the ground is %s", other, system)
		}
		b.Open(v.c.url + "/c/" + id)
		b.Until(`document.querySelector('.sources')`)
		if ground() == system {
			t.Error("after a reload the look is that of the system")
		}
		b.Open(v.c.url + "/settings/appearance")
		v.presses(".choice button", "System")
		b.Until(`document.querySelector('.choice [aria-pressed=true]').innerText === 'System'`)
		if got := ground(); got != system {
			t.Errorf("as the system the ground is %s, and was %s", got, system)
		}
	})
}

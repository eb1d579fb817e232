package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/llmtest"
)

// What a person writes and attaches: Enter does what the settings say, a large picture is made smaller while the page says
// so, and is shown in large. On a phone no field is so small that iOS zooms, and the page ends above a keyboard. Errors that
// nothing handles are told.
func TestServeAppComposer(t *testing.T) {
	sized(t, func(t *testing.T, width, height int, dark bool) {
		phone := width < 600
		answer := llmtest.Turn{Events: slices.Concat(llmtest.Say("Seen."), llmtest.Stop(llm.StopEnd, llm.Usage{Input: 1, Output: 1}))}
		v := app(t, slices.Repeat([]llmtest.Turn{answer}, 4), width, height, dark)
		v.name = "composer-" + v.name
		b := v.b
		opens := func(path string) {
			b.Open(v.c.url + path)
			b.Until(`document.querySelector('.chip')?.innerText || document.querySelector('#enter')`)
		}
		enters := func(modifiers int) {
			b.Call("Input.dispatchKeyEvent", map[string]any{"type": "keyDown", "key": "Enter", "text": "\r", "windowsVirtualKeyCode": 13, "modifiers": modifiers}, nil)
			b.Call("Input.dispatchKeyEvent", map[string]any{"type": "keyUp", "key": "Enter", "windowsVirtualKeyCode": 13, "modifiers": modifiers}, nil)
		}
		const answered = `location.pathname.startsWith('/c/') && document.querySelector('.answer')?.innerText.includes('Seen.') && !document.querySelector('[aria-busy=true], .go.stop')`

		// Enter sends, or on a phone begins a line; each can be had on both.
		first, other := "send", "line"
		if phone {
			first, other = other, first
		}
		for _, wish := range []string{"", other} {
			opens("/settings/appearance")
			if wish != "" {
				v.chooses("#enter", wish)
				v.shows("enter", "Begins a line; Ctrl+Enter sends")
			}
			opens("/")
			v.writes("one")
			enters(0)
			if wish == "" && first == "line" || wish == "line" {
				b.Until(`document.querySelector('textarea').value === 'one\n'`)
				enters(2) // with Ctrl
			}
			b.Until(answered)
		}

		// A large picture: its place says that it is prepared, and then it is smaller.
		b.Eval(`(async () => {
			window.prepared = [];
			new MutationObserver(() => window.prepared.push(...[...document.querySelectorAll('.preparing')].map((e) => e.innerText))).observe(document.body, {subtree: true, childList: true});
			const canvas = document.createElement('canvas');
			[canvas.width, canvas.height] = [4096, 1024];
			canvas.getContext('2d').fillStyle = 'teal';
			canvas.getContext('2d').fillRect(0, 0, 4096, 600);
			const data = new DataTransfer();
			data.items.add(new File([await new Promise((r) => canvas.toBlob(r))], 'wide.png', {type: 'image/png'}));
			document.querySelector('textarea').dispatchEvent(new ClipboardEvent('paste', {clipboardData: data, bubbles: true, cancelable: true}));
		})()`, nil)
		b.Until(`document.querySelector('.files img')?.complete && !document.querySelector('.preparing')`)
		var is struct {
			Said   []string
			Width  int
			Height int
		}
		b.Eval(`({said: window.prepared, width: document.querySelector('.files img').naturalWidth, height: document.querySelector('.files img').naturalHeight})`, &is)
		if !slices.Contains(is.Said, "Preparing wide.png…") || is.Width != 2048 || is.Height != 512 {
			t.Errorf("the picture is %+v", is)
		}
		v.sends("Look")
		b.Until(`document.querySelectorAll('.answer').length === 2 && document.querySelector('.prompt .shot img')?.naturalWidth > 1000 && ` + answered)

		// It is shown in large, and closes with Escape or a click next to it.
		b.Click(`.prompt .shot`)
		b.Until(`document.querySelector('dialog[open] .picture img')?.naturalWidth > 1000`)
		v.shows("large")
		var wide float64
		if b.Eval(`document.querySelector('dialog[open] .picture img').getBoundingClientRect().width / innerWidth`, &wide); wide < 0.8 || wide > 1 {
			t.Errorf("the picture takes %v of the width", wide)
		}
		b.Press("Escape")
		b.Until(`!document.querySelector('dialog')`)
		b.Click(`.prompt .shot`)
		b.Until(`document.querySelector('dialog[open] .picture img')`)
		b.Click(`dialog[open] [aria-label=Close]`)
		b.Until(`!document.querySelector('dialog')`)

		// A message that is edited keeps its picture.
		b.Eval(`[...document.querySelectorAll('.prompt [aria-label=Edit]')].at(-1).click()`, nil)
		b.Until(`document.querySelector('.editing')`)
		v.sends(" again")
		b.Until(`(() => { const p = [...document.querySelectorAll('.prompt')].at(-1); return p.innerText.includes('2/2') && p.innerText.includes('Look again') && p.querySelector('.shot img'); })() && ` + answered)

		// Files are dropped anywhere in the page; a phone has its camera, too.
		b.Eval(`(() => { const data = new DataTransfer(); data.items.add(new File(['A plan.'], 'plan.txt')); dispatchEvent(new DragEvent('drop', {dataTransfer: data, bubbles: true, cancelable: true})); })()`, nil)
		b.Until(`document.querySelector('.files')?.innerText.includes('plan.txt')`)
		v.presses(".files button", "Remove plan.txt")
		b.Until(`!document.querySelector('.files')`)
		var camera bool
		if b.Eval(`!!document.querySelector('[aria-label="Take a picture"]') && !!document.querySelector('input[capture][accept="image/*"]')`, &camera); camera != phone {
			t.Errorf("there is a camera: %v", camera)
		}

		if phone {
			v.fitsPhones()
		}
		v.failsAloud()
	})
}

// fitsPhones checks fields, and what a keyboard does that covers the page.
func (v *appVisit) fitsPhones() {
	b, t := v.b, v.t
	t.Helper()
	const small = `[...document.querySelectorAll('input, textarea, select')].filter((e) => parseFloat(getComputedStyle(e).fontSize) < 16).map((e) => e.outerHTML)`
	var found []string
	b.Eval(`document.querySelector('.toggle').click()`, nil)
	b.Until(`document.querySelector('.side').getBoundingClientRect().x === 0`)
	b.Eval(`document.querySelector('[aria-label="New project"]').click()`, nil)
	b.Until(`document.activeElement.ariaLabel === 'Name of the project'`)
	if b.Eval(small, &found); len(found) > 0 {
		t.Errorf("iOS zooms into %q", found)
	}
	b.Press("Escape")
	b.Eval(`document.querySelector('.shade').click()`, nil)
	// Chromium makes the page smaller by itself: here it reports what Safari does, where the page stays as it is.
	covers := func(height string) {
		b.Eval(`(Object.defineProperty(visualViewport, 'height', {configurable: true, value: `+height+`}), visualViewport.dispatchEvent(new Event('resize')), 0)`, nil)
	}
	end := `Math.round(document.querySelector('.composer').getBoundingClientRect().bottom)`
	var before, covered int
	b.Eval(end, &before)
	covers("420")
	b.Until(end + ` < 420`)
	v.shows("keyboard")
	covers("innerHeight - 60") // a bar of the browser
	b.Until(fmt.Sprintf(`%s === %d`, end, before))
	if b.Eval(`document.documentElement.classList.contains('keyboard') ? 1 : 0`, &covered); covered != 0 {
		t.Error("a bar of the browser counts as a keyboard")
	}
}

// failsAloud checks that errors which nothing handles are told, each once, with what helps to find them.
func (v *appVisit) failsAloud() {
	b, t := v.b, v.t
	t.Helper()
	b.Call("Browser.grantPermissions", map[string]any{"origin": v.c.url, "permissions": []string{"clipboardReadWrite", "clipboardSanitizedWrite"}}, nil)
	b.Call("Page.bringToFront", nil, nil)
	b.Eval(`(setTimeout(() => { throw new Error('the lever broke'); }), setTimeout(() => { throw new Error('the lever broke'); }), setTimeout(() => Promise.reject(new Error('nobody waits'))), 0)`, nil)
	b.Until(`document.querySelectorAll('.toast').length === 2`)
	b.Forget()
	v.shows("failed", "Something in the page failed: the lever broke", "nobody waits")
	v.presses(".toast button", "Copy details")
	b.Until(`document.querySelectorAll('.toast').length === 1`)
	var copied string
	b.Eval(`navigator.clipboard.readText()`, &copied)
	if !strings.HasPrefix(copied, "the lever broke\nError: the lever broke\n") || !strings.Contains(copied, v.at()) {
		t.Errorf("copied %q", copied)
	}
}

// A new version of the service worker is offered, and loaded when the person says so. Where one is broken, the page of the account
// removes it and all that it kept, without a script.
func TestServeAppUpdates(t *testing.T) {
	t.Parallel()
	pacetest.Costly(t)
	v := app(t, nil, 1280, 800, false)
	v.name = "updates"
	b := v.b
	// The server is behind one that serves other workers later.
	var worker atomic.Value
	behind, err := url.Parse(v.c.url)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host = behind.Scheme, behind.Host
			r.Out.Host = r.In.Host
			if worker.Load() != nil && r.In.URL.Path == "/sw.js" {
				r.Out.Header.Del("Accept-Encoding")
				r.Out.Header.Del("If-None-Match")
			}
		},
		ModifyResponse: func(r *http.Response) error {
			if change, ok := worker.Load().(func(*http.Response)); ok && r.Request.URL.Path == "/sw.js" {
				change(r)
			}
			return nil
		},
	})
	t.Cleanup(func() { proxy.CloseClientConnections(); proxy.Close() }) // streams would keep it
	v.c.url = proxy.URL
	b.Open(v.c.url + "/")
	b.Until(`document.querySelector('.chip')?.innerText && navigator.serviceWorker.controller`)
	b.Open(v.c.url + "/")
	b.Until(`document.querySelector('.chip')?.innerText && navigator.serviceWorker.controller`)
	v.writes("half a thought")
	b.Until(`localStorage.getItem('draft:new:') === 'half a thought'`)

	changed := func(text func(string) string) {
		worker.Store(func(r *http.Response) { replaceBody(t, r, text) })
		b.Eval(`navigator.serviceWorker.ready.then((r) => r.update()).then(() => 0)`, nil)
	}
	changed(func(text string) string {
		return text + "\nself.addEventListener('message', (e) => e.data === 'who' && e.source.postMessage({next: true}));"
	})
	b.Until(`document.querySelector('.toast')`)
	v.shows("offered", "A new version is here.")
	b.Eval(`(window.here = true, navigator.serviceWorker.addEventListener('message', (e) => (window.next = e.data.next)), navigator.serviceWorker.controller.postMessage('who'), 0)`, nil)
	b.Settle()
	var early bool
	if b.Eval(`!!window.next`, &early); early {
		t.Error("the new worker was not waited for")
	}
	b.Forget()
	v.presses(".toast button", "Reload")
	b.Await("Page.loadEventFired")
	b.Until(`!window.here && document.querySelector('.chip')?.innerText && document.querySelector('textarea').value === 'half a thought'`)
	b.Eval(`(navigator.serviceWorker.addEventListener('message', (e) => (window.next = e.data.next)), navigator.serviceWorker.controller.postMessage('who'), 0)`, nil)
	b.Until(`window.next`)

	// One that answers every page with nothing is taken over, too: the account is left alone, and helps.
	changed(func(string) string {
		return "self.addEventListener('install', () => self.skipWaiting()); self.addEventListener('fetch', (e) => { if (!new URL(e.request.url).pathname.startsWith('/account')) e.respondWith(new Response('broken')); });"
	})
	b.Until(`fetch('/').then((r) => r.text()).then((text) => text === 'broken')`)
	worker.Store(func(*http.Response) {})
	b.Open(v.c.url + "/account")
	b.Until(`document.querySelector('form[action="/account/browser"] button')`)
	b.Forget()
	b.Eval(`document.querySelector('form[action="/account/browser"] button').click()`, nil)
	b.Await("Page.loadEventFired")
	b.Until(`document.body.innerText.includes('The app starts afresh in this browser.')`)
	const remains = `Promise.all([navigator.serviceWorker.getRegistrations(), caches.keys()]).then(([r, c]) => JSON.stringify([r.length, c.length, localStorage.length]))`
	var left string
	if b.Eval(remains, &left); left != "[0,0,0]" {
		t.Errorf("the browser has workers, caches and texts: %s", left)
	}
	b.Open(v.c.url + "/")
	b.Until(`document.querySelector('.chip')?.innerText && navigator.serviceWorker.controller`) // and the person is still signed in

	// A sign-out there leaves nothing either.
	v.writes("a secret")
	b.Until(`Object.values(localStorage).includes('a secret')`)
	b.Open(v.c.url + "/account")
	b.Forget()
	b.Eval(`document.querySelector('form[action="/signout"] button').click()`, nil)
	b.Await("Page.loadEventFired")
	b.Until(`location.pathname === '/signin'`)
	if b.Eval(remains, &left); left != "[0,0,0]" {
		t.Errorf("after the sign-out the browser has workers, caches and texts: %s", left)
	}
}

// replaceBody changes the text of an answer.
func replaceBody(t *testing.T, r *http.Response, text func(string) string) {
	data, err := io.ReadAll(r.Body)
	if err != nil {
		t.Error(err)
	}
	body := text(string(data))
	r.Body = io.NopCloser(strings.NewReader(body))
	r.ContentLength = int64(len(body))
	r.Header.Set("Content-Length", fmt.Sprint(len(body)))
	r.Header.Del("ETag")
}

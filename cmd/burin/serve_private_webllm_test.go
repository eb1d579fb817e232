package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/burin-dev/burin/internal/browsertest"
	"github.com/burin-dev/burin/internal/pacetest"
)

// scriptedLibrary has the form of WebLLM and does what it does, but for the model.
//
//go:embed testdata/webllm.js
var scriptedLibrary string

// scriptedModels are those of the list: what Chromium computes itself has 2 GB and no shader-f16.
const scriptedModels = `[
	{"id": "Small-q4f16_1-MLC", "vramRequired": 400000000, "lowResource": true, "features": ["shader-f16"], "bufferRequired": 0, "contextWindow": 4096},
	{"id": "Small-q4f32_1-MLC", "vramRequired": 600000000, "lowResource": true, "features": [], "bufferRequired": 0, "contextWindow": 4096},
	{"id": "Other-q4f32_1-MLC", "vramRequired": 1900000000, "lowResource": false, "features": [], "bufferRequired": 0, "contextWindow": 2048},
	{"id": "Large-q4f32_1-MLC", "vramRequired": 8000000000, "lowResource": false, "features": [], "bufferRequired": 0, "contextWindow": 4096}
]`

// gates let requests through one after the other.
type gates struct {
	mu   sync.Mutex
	open map[string]chan struct{}
}

func (g *gates) of(name string) chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.open[name] == nil {
		g.open[name] = make(chan struct{})
	}
	return g.open[name]
}

// weights serves the files of models to pages. Requests with "gate" in their paths wait for it.
func (g *gates) weights(t *testing.T, files func(path string) (body string, ok bool)) (at string, asked func() string) {
	var mu sync.Mutex
	var seen strings.Builder
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Access-Control-Allow-Origin", "*")
		mu.Lock()
		fmt.Fprintln(&seen, r.Method, r.URL.Path)
		mu.Unlock()
		body, ok := files(r.URL.Path)
		if !ok {
			http.NotFound(w, r)
			return
		}
		if _, name, held := strings.Cut(body, "gate "); held {
			select {
			case <-g.of(name):
			case <-r.Context().Done():
				return
			}
		}
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(s.Close)
	return s.URL, func() string {
		mu.Lock()
		defer mu.Unlock()
		return seen.String()
	}
}

// withLibrary puts a library in the place of the server's own, and gives what it says of itself.
func (g *gates) withLibrary(t *testing.T, v *appVisit, there *atomic.Bool) (said func() string) {
	target, err := url.Parse(v.c.url)
	if err != nil {
		t.Fatal(err)
	}
	through := &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = r.In.Host
	}}
	var mu sync.Mutex
	var log strings.Builder
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/private/webllm.js":
			if !there.Load() {
				w.WriteHeader(http.StatusNotFound)
				_, _ = io.WriteString(w, `{"status": 404, "detail": "the library isn't there yet"}`)
				return
			}
			w.Header().Set("Content-Type", "text/javascript")
			_, _ = io.WriteString(w, scriptedLibrary)
		case "/private/webllm.json":
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, scriptedModels)
		case "/test/says":
			data, _ := io.ReadAll(r.Body) // what is missing is missed
			mu.Lock()
			fmt.Fprintf(&log, "%s\n", data)
			mu.Unlock()
		case "/test/waits":
			select {
			case <-g.of(r.URL.RawQuery):
			case <-r.Context().Done():
			}
		default:
			through.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(s.Close)
	v.c.url = s.URL
	return func() string {
		mu.Lock()
		defer mu.Unlock()
		return log.String()
	}
}

// field and option do what a person does in a form.
func (v *appVisit) field(label, text string) {
	v.t.Helper()
	v.b.Eval(fmt.Sprintf(`(() => { const l = [...document.querySelectorAll('label')].find((l) => l.innerText.trim().startsWith(%[1]q)); if (!l) throw new Error('no field %[1]s'); const e = l.control ?? l.querySelector('input, textarea'); e.focus(); e.select(); })()`, label), nil)
	v.b.Write(text)
}

func (v *appVisit) option(label, value string) {
	v.t.Helper()
	v.b.Eval(fmt.Sprintf(`(() => { const s = [...document.querySelectorAll('label')].find((l) => l.innerText.trim().startsWith(%q)).querySelector('select'); s.value = %q; s.dispatchEvent(new Event('change', {bubbles: true})); })()`, label, value), nil)
}

func (v *appVisit) button(text string) {
	v.t.Helper()
	v.b.Until(fmt.Sprintf(`[...document.querySelectorAll('button, a')].some((e) => e.innerText.trim() === %q && !e.disabled)`, text))
	v.b.Eval(fmt.Sprintf(`[...document.querySelectorAll('button, a')].find((e) => e.innerText.trim() === %q).click()`, text), nil)
}

func (v *appVisit) says(text string) {
	v.t.Helper()
	v.b.Until(fmt.Sprintf(`document.body.innerText.includes(%q)`, text))
}

// localProject makes a private project with models in the browser, as far as the list of them.
func (v *appVisit) localProject(weights string) {
	v.t.Helper()
	v.b.Open(v.c.url + "/private")
	v.says("The server can't read a private project")
	v.button("New private project")
	v.field("Name", "At home")
	v.option("Provider", "webllm")
	if weights != "" {
		v.field("Address of the models", weights)
	}
}

// made ends the form, and opens the project.
func (v *appVisit) made() {
	v.t.Helper()
	v.field("Pass phrase", "correct horse battery")
	v.field("The pass phrase again", "correct horse battery")
	v.button("Make the project")
	v.says("opens the project if you forget the pass phrase")
	v.button("I have kept it")
	v.b.Until(`document.querySelector('textarea') && location.pathname.startsWith('/private/')`)
}

// localVisit opens the app for a test of models in the browser.
func localVisit(t *testing.T, b *browsertest.Browser, width int, dark bool) *appVisit {
	t.Helper()
	brain := newBrain(t)
	v := appIn(t, b, brain.srv, machine(t, brain, appConfig), width, dark)
	v.name = "webllm-" + v.name
	if status, said := v.c.do(v.c.request("GET", "/private/worker.js", "")); status == http.StatusNotFound && strings.Contains(string(said), "docs/private.md") {
		t.Skip("this burin has no loop of private projects: run go generate ./internal/mode/server")
	}
	return v
}

// A person has models that run in the browser: chooses those that fit, sees one being loaded, stops that, gets an
// answer, stops another one, attaches a picture, and changes the model. It costs nothing, and nothing of it goes to
// anybody but the address of the weights. The library is a script that has the same form; what it loads, and what is
// around it, is real.
func TestPrivateBrowserModels(t *testing.T) {
	if pacetest.Long("", "ci", "whole") == "" {
		t.Skip("tries pass phrases and computes a GPU, which costs: set BURIN_LONG=ci")
	}
	for _, width := range []int{390, 1280} {
		t.Run(fmt.Sprint(width), func(t *testing.T) { browserModels(t, width) })
	}
}

func browserModels(t *testing.T, width int) {
	dark := width < 600
	b := browsertest.StartGPU(t, width, 844, dark)
	v := localVisit(t, b, width, dark)
	g := &gates{open: map[string]chan struct{}{}}
	var there atomic.Bool
	said := g.withLibrary(t, v, &there)
	var stopped sync.Once
	at, _ := g.weights(t, func(path string) (string, bool) {
		if strings.HasSuffix(path, "/tensor-cache.json") && strings.Contains(path, "Small") {
			gate := "gate loaded"
			stopped.Do(func() { gate = "gate never" })
			return gate, true
		}
		return "{}", true
	})

	v.localProject(at + "/models/")
	b.Until(`document.querySelectorAll('fieldset li').length === 4`)
	var rows []struct {
		Text string
		Off  bool
	}
	b.Eval(`[...document.querySelectorAll('fieldset li')].map((l) => ({text: l.innerText, off: l.querySelector('input').disabled}))`, &rows)
	for i, want := range []struct {
		text string
		off  bool
	}{
		{"Requires shader-f16", true}, {"600 MB of memory, 4,096 tokens", false}, {"May be tight on VRAM (estimated ~2.1 GB available)", false}, {"Requires ~8.0 GB VRAM (estimated ~2.1 GB available)", true},
	} {
		if !strings.Contains(rows[i].Text, want.text) || rows[i].Off != want.off {
			t.Errorf("the model %d says %+v, want %+v", i, rows[i], want)
		}
	}
	v.shows("form", "the GPU of this device")
	b.Eval(`document.querySelector('fieldset').scrollIntoView({block: 'center'})`, nil)
	tick := func(name string) {
		t.Helper()
		b.Eval(fmt.Sprintf(`[...document.querySelectorAll('fieldset li')].find((l) => l.innerText.includes(%q)).querySelector('input').click()`, name), nil)
	}
	tick("Small-q4f32_1")
	v.shows("models")
	v.made()

	v.sends("early")
	v.says("The answer failed. webllm: the library isn't there yet")
	there.Store(true)

	// The next answer is stopped while its model comes; the one after waits for it.
	v.sends("hello")
	b.Until(`document.querySelector('[role=progressbar]')?.getAttribute('aria-valuenow') === '25'`)
	v.shows("loading", "Downloading Small-q4f32_1-MLC: 129 MB, 25 %")
	b.Eval(`document.querySelector('.go.stop').click()`, nil)
	b.Until(`!document.querySelector('[role=progressbar]') && !document.querySelector('.go.stop')`)
	v.sends("hello again")
	b.Until(`document.querySelector('[role=progressbar]')`)
	close(g.of("loaded"))
	b.Until(`[...document.querySelectorAll('.answer')].at(-1)?.innerText.includes('Hello') && document.querySelector('.go.stop') && !document.querySelector('[role=progressbar]')`) // it streams
	close(g.of("first"))
	b.Until(`[...document.querySelectorAll('.answer')].at(-1)?.innerText.includes('Hello from the browser') && !document.querySelector('.go.stop')`)
	b.Until(`document.querySelector('.facts .tokens')?.innerText.includes('↑11 ↓7')`)
	v.shows("answer", "$0")

	v.sends("long")
	b.Until(`[...document.querySelectorAll('.answer')].at(-1)?.innerText.includes('On and on')`)
	b.Eval(`document.querySelector('.go.stop').click()`, nil)
	b.Until(`!document.querySelector('.go.stop')`)

	b.Eval(`new Promise((done) => { const c = document.createElement('canvas'); c.width = c.height = 8; c.toBlob((blob) => { const data = new DataTransfer(); data.items.add(new File([blob], 'dot.png', {type: 'image/png'})); dispatchEvent(new DragEvent('drop', {dataTransfer: data, bubbles: true, cancelable: true})); done(0); }); })`, nil)
	b.Until(`document.body.innerText.includes('dot.png') || document.querySelector('form img, .files img')`)
	v.sends("what is this")
	b.Until(`[...document.querySelectorAll('.answer')].at(-1)?.innerText.includes('has read it') && !document.querySelector('.go.stop')`)

	// Another model is added in the settings, and loaded in place of the first.
	b.Eval(`void dispatchEvent(new KeyboardEvent('keydown', {key: ',', ctrlKey: true, bubbles: true}))`, nil)
	b.Until(`document.querySelector('dialog[open] fieldset li input:checked') && document.querySelectorAll('dialog[open] fieldset li input:checked').length === 1`)
	tick("Other-q4f32_1")
	v.shows("settings")
	v.button("Save")
	b.Until(`!document.querySelector('dialog[open]')`)
	b.Eval(`document.querySelector('.picker button').click()`, nil)
	b.Until(`document.querySelectorAll('#models [role=option]').length === 2`)
	b.Eval(`[...document.querySelectorAll('#models [role=option]')].find((o) => o.innerText.includes('Other')).click()`, nil)
	b.Until(`document.querySelector('.picker button').innerText.includes('Other')`)
	v.sends("and you")
	b.Until(`[...document.querySelectorAll('.answer')].at(-1)?.innerText.includes('Other-q4f32_1-MLC') && !document.querySelector('.go.stop')`)
	v.shows("second", "$0", "of 2048 tokens")

	log := said()
	for _, want := range []string{
		"load Small-q4f32_1-MLC " + at + "/models/mlc-ai/Small-q4f32_1-MLC/resolve/main/ " + at + "/models/web-llm-models/v9/base/Small-q4f32_1-webgpu.wasm",
		"unload Small-q4f32_1-MLC\nload Other-q4f32_1-MLC", "interrupted",
		`what is this\n\n[Note: 1 image(s) were attached but this local model doesn't support vision]`,
	} {
		if !strings.Contains(log, want) {
			t.Errorf("the library doesn't say %q", want)
		}
	}
	if n := strings.Count(log, "load Small"); n != 3 { // stopped, loaded, and unloaded for the other one
		t.Errorf("the first model was loaded and unloaded %d times", n)
	}
	if strings.Contains(log, `"tools"`) || strings.Contains(log, "data:image") || strings.Count(log, "engine\n") != 1 {
		t.Error("the library got tools or a picture, or there was more than one engine")
	}

	// Whoever signs out leaves no weights behind.
	var kept []string
	b.Eval(`caches.keys()`, &kept)
	if !strings.Contains(strings.Join(kept, " "), "webllm/model") {
		t.Errorf("the browser keeps no weights: %q", kept)
	}
	v.quiet("end")
	b.Eval(`fetch('/signout', {method: 'POST', headers: {'Content-Type': 'application/x-www-form-urlencoded'}}).then((r) => r.status)`, nil)
	b.Eval(`caches.keys()`, &kept)
	if len(kept) > 0 {
		t.Errorf("after signing out the browser keeps %q", kept)
	}
}

// The real library says what is missing: WebGPU, or the weights at their address. It starts under the policy of the worker.
func TestPrivateWebLLM(t *testing.T) {
	if pacetest.Long("", "ci", "whole") == "" {
		t.Skip("tries pass phrases and computes a GPU, which costs: set BURIN_LONG=ci")
	}
	t.Run("without WebGPU", func(t *testing.T) {
		v := localVisit(t, browsertest.Start(t, 390, 844, false), 390, false)
		v.needsLibrary()
		v.localProject("")
		v.says("WebGPU")
		v.b.Until(`document.querySelectorAll('fieldset li input:disabled').length > 100`)
		v.shows("no-gpu")
		// A project that was made on another device, which this page takes itself for.
		v.b.Eval(`Object.defineProperty(GPU.prototype, 'requestAdapter', {value: async () => ({limits: {maxBufferSize: 2 ** 32, maxStorageBufferBindingSize: 2 ** 32}, features: new Set()})}), 0`, nil)
		v.option("Provider", "own")
		v.option("Provider", "webllm")
		v.b.Until(`document.querySelector('fieldset li input:not(:disabled)')`)
		v.b.Eval(`document.querySelector('fieldset li input:not(:disabled)').click()`, nil)
		v.made()
		v.sends("hello")
		v.says("The answer failed. webllm: WebGPU finds no GPU here that this browser may use")
		v.shows("no-gpu-answer", "Chrome or Edge 113 or newer, or Safari 18 or newer")
	})
	t.Run("without weights", func(t *testing.T) {
		v := localVisit(t, browsertest.StartGPU(t, 1280, 800, false), 1280, false)
		v.needsLibrary()
		g := &gates{open: map[string]chan struct{}{}}
		at, asked := g.weights(t, func(path string) (string, bool) { return "", false })
		v.localProject(at)
		v.b.Until(`document.querySelectorAll('fieldset li').length > 100`)
		v.shows("real")
		var wrong []string // those for small devices come first, then by memory, each with its two addresses
		v.b.Eval(`fetch('/private/webllm.json').then((r) => r.json()).then((all) => all.filter((m, i) => !(m.weights.startsWith('mlc-ai/') && /^web-llm-models\/v[0-9_]+\/base\/.+\.wasm$/.test(m.library) && m.vramRequired > 1e8 && m.contextWindow > 500)
			|| i > 0 && (m.lowResource && !all[i - 1].lowResource || m.lowResource === all[i - 1].lowResource && m.vramRequired < all[i - 1].vramRequired)).map((m) => m.id))`, &wrong)
		if len(wrong) > 0 {
			t.Errorf("in the list these models are wrong: %q", wrong)
		}
		v.b.Eval(`document.querySelector('fieldset li input:not(:disabled)').click()`, nil)
		v.made()
		v.sends("hello")
		v.says("aren't at the address: " + at + "/mlc-ai/")
		v.says("mlc-chat-config.json answered 404 Not Found")
		v.shows("no-weights", "The answer failed. webllm: the files of")
		if n := strings.Count(asked(), "mlc-chat-config.json"); n < 2 { // the library asked, and then the worker, which says why
			t.Errorf("the library asked for nothing:\n%s", asked())
		}
		v.b.Open(v.c.url + "/private")
		v.says("In this browser (WebLLM)")
		for _, e := range v.b.Events() {
			if strings.Contains(string(e.Params), "Content Security Policy") {
				t.Errorf("a policy was in the way: %s", e.Params)
			}
		}
	})
}

// needsLibrary skips a test of a burin without the real library, after a look at what that says.
func (v *appVisit) needsLibrary() {
	v.t.Helper()
	status, said := v.c.do(v.c.request("GET", "/private/webllm.js", ""))
	if status == http.StatusOK {
		return
	}
	var p struct{ Detail string }
	if err := json.Unmarshal(said, &p); err != nil || status != http.StatusNotFound || !strings.Contains(p.Detail, "docs/private.md") {
		v.t.Errorf("without the library: %d %s", status, said)
	}
	v.localProject("")
	v.says("this burin came without what runs models in the browser: keep the folder \"web\" of the release beside the program")
	v.t.Skip("this burin has no WebLLM: run web/extra/build")
}

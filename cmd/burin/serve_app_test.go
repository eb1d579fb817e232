package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/burin-dev/burin/internal/browsertest"
	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/anthropic"
	"github.com/burin-dev/burin/llm/llmtest"
)

// firstLoad is how many bytes the app may take until it can be used.
const firstLoad = 150_000

// essay is an answer that has what answers have.
const essay = "Here is a small **HTTP server** in Go. It answers on `localhost` and stops in order:\n\n" +
	"```go\npackage main\n\nimport \"net/http\"\n\n// main serves a greeting.\nfunc main() {\n\thttp.HandleFunc(\"/\", func(w http.ResponseWriter, r *http.Request) {\n\t\tw.Write([]byte(\"hello, \" + r.URL.Path[1:]))\n\t})\n\thttp.ListenAndServe(\"127.0.0.1:8080\", nil)\n}\n```\n\n" +
	"## What to know\n\n1. The handler runs for *every* path.\n2. `ListenAndServe` blocks:\n   - put it last, or\n   - start a goroutine.\n\n" +
	"| Setting | Default | Better |\n|---|---|--:|\n| `ReadHeaderTimeout` | none | 10 s |\n| `IdleTimeout` | none | 2 min |\n\n> Timeouts matter as soon as others reach it.\n\nMore is in the [package's documentation](https://pkg.go.dev/net/http)."

// hostile are texts that must run nothing, whoever says them.
var hostile = []string{
	"<script>window.fired=1</script>", "<img src=x onerror=window.fired=1>", "<svg onload=window.fired=1>", "<iframe srcdoc='<script>parent.fired=1</script>'></iframe>",
	"[a](javascript:window.fired=1)", "[a](JaVaScRiPt:window.fired=1)", "[a](java\tscript:window.fired=1)", "[a](data:text/html,<script>opener.fired=1</script>)", "[a](vbscript:x)",
	"![a](javascript:window.fired=1)", "![a](http://foreign.example/track.png)", "![a\" onerror=\"window.fired=1](http://foreign.example/x)", "<javascript:window.fired=1>",
	"<details open ontoggle=window.fired=1>", "<a href=javascript:window.fired=1 id=x autofocus onfocus=window.fired=1>y</a>", "<style>@import url(http://foreign.example/a.css)</style>",
	"<link rel=stylesheet href=http://foreign.example/b.css>", "<base href=http://foreign.example/>", "<meta http-equiv=refresh content='0;url=http://foreign.example'>", "<form action=http://foreign.example><button autofocus>x</button></form>",
	"```html\n<script>window.fired=1</script>\n```", "```\"><img src=x onerror=window.fired=1>\nx\n```", "`<img src=x onerror=window.fired=1>`", "| <img src=x onerror=window.fired=1> |\n|---|\n| <script>window.fired=1</script> |",
	"# <svg/onload=window.fired=1>", "> <object data=javascript:window.fired=1>", "- <embed src=javascript:window.fired=1>", "<math><mtext><img src=x onerror=window.fired=1>", "[x]: javascript:window.fired=1\n[x]", "&lt;img src=x onerror=window.fired=1&gt;",
	"[a](https://foreign.example/\"onmouseover=\"window.fired=1)", "<https://foreign.example/\"><script>window.fired=1</script>>", "{@html '<img src=x onerror=window.fired=1>'}", "${window.fired=1}", "\u202e<script>window.fired=1</script>",
}

// appVisit is a person at the chat app.
type appVisit struct {
	pageVisit
	c    *httpClient
	srv  *llmtest.Server // the model
	home string          // of burin's data
	axe  string
}

// app serves the app for a model with a script, and gives a browser that is signed in there.
func app(t *testing.T, turns []llmtest.Turn, width, height int, dark bool) *appVisit {
	t.Helper()
	return appOf(t, appConfig, turns, width, height, dark)
}

// appOf is app with other settings.
func appOf(t *testing.T, config string, turns []llmtest.Turn, width, height int, dark bool) *appVisit {
	t.Helper()
	srv, err := llmtest.Serve(anthropic.Server{}, llmtest.Script{Turns: turns})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	return appOn(t, srv, machine(t, &brain{srv: srv}, config), width, height, dark)
}

const appConfig = "modelRoles: {default: box/two}\nretry: {maxRetries: 0}\n"

// appOn serves the app on a machine.
func appOn(t *testing.T, srv *llmtest.Server, cmd *exec.Cmd, width, height int, dark bool) *appVisit {
	t.Helper()
	return appIn(t, browsertest.Start(t, width, height, dark), srv, cmd, width, dark)
}

// appIn serves the app on a machine to a browser.
func appIn(t *testing.T, b *browsertest.Browser, srv *llmtest.Server, cmd *exec.Cmd, width int, dark bool) *appVisit {
	t.Helper()
	c := serveIt(t, cmd)
	v := &appVisit{pageVisit: pageVisit{t, b, fmt.Sprintf("app-%d", width)}, c: c, srv: srv, home: filepath.Join(homeOf(cmd), "burin")}
	if dark {
		v.name += "-dark"
	}
	t.Cleanup(func() {
		if !t.Failed() {
			return
		}
		for _, e := range b.Events() {
			if e.Method == "Runtime.exceptionThrown" {
				t.Logf("%s", e.Params)
			}
		}
		if dir := os.Getenv(pictures); dir != "" {
			_ = os.WriteFile(filepath.Join(dir, v.name+"-at-the-end.png"), b.Picture(), 0o644)
			var is any
			b.Eval(`({at: location.pathname, articles: [...document.querySelectorAll('article')].map((a) => a.innerText.slice(0, 60)), here: document.body.innerText.slice(-300), stops: document.body.innerText.split('In fewer words').length})`, &is)
			t.Logf("%v", is)
		}
	})
	if dir := os.Getenv("BURIN_NPM"); dir != "" {
		axe, err := os.ReadFile(filepath.Join(dir, "node_modules", "axe-core", "axe.min.js"))
		if err != nil {
			t.Fatal(err)
		}
		v.axe = string(axe)
	}
	if width < 600 {
		b.Call("Emulation.setTouchEmulationEnabled", map[string]any{"enabled": true}, nil)
	}
	cookie := c.opened(cmd)
	b.Call("Network.setCookie", map[string]any{"name": cookie.Name, "value": cookie.Value, "url": c.url, "httpOnly": true}, nil)
	return v
}

// writes types a text into the field for messages.
func (v *appVisit) writes(text string) {
	v.t.Helper()
	v.b.Eval(`document.querySelector('textarea').focus()`, nil)
	v.b.Write(text)
}

// sends types a message and sends it.
func (v *appVisit) sends(text string) {
	v.t.Helper()
	v.writes(text)
	v.b.Eval(`document.querySelector('.go').click()`, nil)
}

// shows checks a state of the app: what it says, that it fits, that axe finds nothing, and that
// the browser complains of nothing and asks nobody else.
func (v *appVisit) shows(picture string, says ...string) {
	v.t.Helper()
	v.b.Settle()
	var text string
	v.b.Eval(`document.body.innerText`, &text)
	for _, want := range says {
		if !strings.Contains(text, want) {
			v.t.Errorf("%s: the page doesn't say %q:\n%s", picture, want, text)
		}
	}
	if dir := os.Getenv(pictures); dir != "" {
		if err := os.WriteFile(filepath.Join(dir, v.name+"-"+picture+".png"), v.b.Picture(), 0o644); err != nil {
			v.t.Fatal(err)
		}
	}
	var wide bool
	if v.b.Eval(`document.documentElement.scrollWidth > innerWidth`, &wide); wide {
		v.t.Errorf("%s: the page is wider than the screen", picture)
	}
	if v.axe != "" {
		var found []string
		var there bool
		if v.b.Eval(`!!window.axe`, &there); !there {
			v.b.Eval(v.axe+"; 0", nil)
		}
		v.b.Eval(`axe.run(document, {resultTypes: ['violations']}).then((r) => r.violations.flatMap((v) => v.nodes.map((n) => v.id + ': ' + n.target + ' ' + n.html.slice(0, 200) + ' ' + (n.any[0]?.message ?? ''))))`, &found)
		for _, f := range found {
			v.t.Errorf("%s: axe: %s", picture, f)
		}
	}
	v.quiet(picture)
}

// quiet checks that the browser complains of nothing, and asked nobody else.
func (v *appVisit) quiet(picture string) {
	v.t.Helper()
	for _, e := range v.b.Events() {
		switch e.Method {
		case "Runtime.exceptionThrown":
			v.t.Errorf("%s: %s", picture, e.Params)
		case "Runtime.consoleAPICalled", "Log.entryAdded":
			if said := string(e.Params); strings.Contains(said, `"error"`) && !strings.Contains(said, "net::ERR_") {
				v.t.Errorf("%s: the browser complains: %s", picture, said)
			}
		case "Network.requestWillBeSent":
			var sent struct{ Request struct{ URL string } }
			if err := json.Unmarshal(e.Params, &sent); err != nil {
				v.t.Fatal(err)
			}
			if to, err := url.Parse(sent.Request.URL); err != nil || to.Scheme == "http" && "http://"+to.Host != v.c.url || to.Scheme == "https" {
				v.t.Errorf("%s: a request went to %s", picture, sent.Request.URL)
			}
		}
	}
}

// weight is how many bytes came over the network.
func (v *appVisit) weight() (sum int) {
	for _, e := range v.b.Events() {
		var done struct{ EncodedDataLength float64 }
		if e.Method == "Network.loadingFinished" && json.Unmarshal(e.Params, &done) == nil {
			sum += int(done.EncodedDataLength)
		}
	}
	return sum
}

// A person opens the app, talks with a model and changes what was said, on a phone and on a
// screen, light and dark: two of the four, all with BURIN_LONG. Each state is accessible and asks nobody else.
func TestServeApp(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	for i, size := range [][2]int{{390, 844}, {1280, 800}} {
		for _, dark := range []bool{false, true} {
			if dark != (i == 0) && !pacetest.Long(false, true, true) {
				continue
			}
			t.Run(fmt.Sprint(size[0], dark), func(t *testing.T) {
				t.Parallel()
				used := llm.Usage{Input: 1200, Output: 300}
				answer := func(text string) llmtest.Turn {
					return llmtest.Turn{Events: slices.Concat(llmtest.Say(text), llmtest.Stop(llm.StopEnd, used))}
				}
				v := app(t, []llmtest.Turn{
					{Events: slices.Concat(llmtest.Think("The person wants a small server. I look at what is there.", ""), llmtest.Call("call_1", "glob", `{"pattern":"/**"}`), llmtest.Stop(llm.StopToolUse, used))},
					answer(essay),
					{Events: llmtest.Say(strings.Repeat("A long **answer** that takes its time, with `code` in it. ", 30)), Fault: llmtest.Fault{StallAfterEvents: 90}},
					answer("Shorter: it works."),
					{Fault: llmtest.Fault{Error: &llm.Error{Kind: llm.ErrOverload, Status: 529, Message: "The model has too much to do."}}},
					answer("Now it worked."),
					answer("In fewer words: a server."),
				}, size[0], size[1], dark)
				v.walk(i == 0)
			})
		}
	}
}

func (v *appVisit) walk(phone bool) {
	b, t := v.b, v.t
	b.Open(v.c.url + "/")
	b.Until(`document.querySelector('.chip')?.innerText && document.querySelector('h1')?.innerText.includes('Owner')`)
	if sum := v.weight(); sum > firstLoad || sum < 10_000 {
		t.Errorf("the first load took %d bytes, want at most %d", sum, firstLoad)
	}
	v.shows("home", "Good ")

	v.sends("How do I write an HTTP server in Go?")
	b.Until(`location.pathname.startsWith('/c/') && document.body.innerText.includes("package's documentation") && document.querySelector('.k') && !document.querySelector('[aria-busy=true]')`)
	v.shows("chat", "HTTP server")
	b.Eval(`void document.querySelector('.scroller').scrollTo(0, 0)`, nil)
	b.Eval(`document.querySelector('.steps .head').click()`, nil)
	b.Until(`document.querySelector('.thought')?.innerText.includes('small server')`)
	v.shows("steps", "I look at what is there")
	b.Eval(`document.querySelector('.steps .head').click()`, nil)

	v.sends("Tell me more, at length")
	b.Until(`document.querySelector('[aria-busy=true] strong')`)
	v.shows("streaming")
	var marks bool
	if b.Eval(`/\*\*|\x60/.test(document.querySelector('[aria-busy=true]').innerText)`, &marks); marks {
		t.Error("marks of Markdown are shown while it streams")
	}
	// The answer goes on where it was after a reload, with its beginning.
	b.Open(v.c.url + v.at())
	b.Until(`document.querySelector('[aria-busy=true]')?.innerText.startsWith('A long answer')`)
	v.writes("And what about TLS?")
	b.Until(`[...document.querySelectorAll('.composer .button')].some((e) => e.innerText.includes('Queue'))`)
	b.Eval(`[...document.querySelectorAll('.composer .button')].find((e) => e.innerText.includes('Queue')).click()`, nil)
	b.Until(`document.querySelector('.waiting')?.innerText.includes('TLS')`)
	v.shows("queued", "Take back")
	b.Eval(`document.querySelector('.waiting .button').click()`, nil)
	b.Until(`document.querySelector('textarea').value.includes('TLS') && !document.querySelector('.waiting')`)
	b.Eval(`document.querySelector('textarea').select()`, nil)
	b.Call("Input.dispatchKeyEvent", map[string]any{"type": "keyDown", "key": "Backspace", "windowsVirtualKeyCode": 8}, nil)
	b.Until(`document.querySelector('.go.stop')`)
	b.Eval(`document.querySelector('.go.stop').click()`, nil)
	b.Until(`document.body.innerText.includes('Stopped') && !document.querySelector('[aria-busy=true], .go.stop')`)
	b.Until(`(window.calm = document.body.innerText.includes('Try again') && !document.querySelector('[aria-busy=true], .go.stop') ? window.calm ?? performance.now() : undefined) && performance.now() - window.calm > 500`)
	v.shows("stopped", "Try again")

	// What was said is edited; the old version is there.
	b.Eval(`[...document.querySelectorAll('[aria-label=Edit]')].at(-1).click()`, nil)
	b.Until(`document.querySelector('.editing')`)
	v.shows("editing", "Editing a message")
	v.sends(", shorter")
	b.Until(`document.body.innerText.includes('Shorter: it works.') && document.body.innerText.includes('2/2') && !document.querySelector('[aria-busy=true], .go.stop')`)
	v.shows("versions", "2/2")
	b.Eval(`[...document.querySelectorAll('[aria-label="Previous version"]')].at(-1).click()`, nil)
	b.Until(`document.body.innerText.includes('A long answer') && document.body.innerText.includes('1/2')`)
	b.Eval(`[...document.querySelectorAll('[aria-label="Next version"]')].at(-1).click()`, nil)
	b.Until(`document.body.innerText.includes('Shorter: it works.')`)

	v.sends("Go on")
	b.Until(`document.querySelector('.wrong')`)
	v.shows("failed", "too much to do")
	b.Eval(`document.querySelector('.wrong .button').click()`, nil)
	b.Until(`document.body.innerText.includes('Now it worked.') && !document.querySelector('.wrong, [aria-busy=true], .go.stop')`)
	b.Until(`!document.querySelector('[aria-label=Regenerate]:disabled')`)
	b.Eval(`[...document.querySelectorAll('[aria-label=Regenerate]')].at(-1).click()`, nil)
	b.Until(`document.body.innerText.includes('In fewer words') && !document.body.innerText.includes('Now it worked.') && !document.querySelector('[aria-busy=true], .go.stop')`)

	v.manages(phone)
}

// at is the path of the page.
func (v *appVisit) at() (path string) {
	v.b.Eval(`location.pathname`, &path)
	return path
}

// manages renames, pins, forks and deletes chats, and finds what was said.
func (v *appVisit) manages(phone bool) {
	b := v.b
	if phone {
		b.Eval(`document.querySelector('.toggle').click()`, nil)
		b.Until(`getComputedStyle(document.querySelector('.side')).visibility === 'visible' && document.querySelector('.side').getBoundingClientRect().x === 0`)
	}
	b.Until(`document.querySelector('.chat .more')`)
	v.shows("sidebar", "How do I write")
	b.Eval(`document.querySelector('.chat .more').click()`, nil)
	b.Until(`document.querySelector('.chat .menu')`)
	v.shows("menu", "Rename", "Fork", "Delete")
	b.Eval(`document.querySelector('.chat .menu button').click()`, nil)
	b.Until(`document.activeElement.ariaLabel === 'Title'`)
	b.Write("Servers in Go")
	b.Press("Enter")
	b.Until(`document.querySelector('.chat').innerText.includes('Servers in Go') && document.querySelector('main h1').textContent === 'Servers in Go'`)
	b.Eval(`document.querySelector('.chat .more').click()`, nil)
	b.Until(`document.querySelector('.chat .menu')`)
	b.Eval(`document.querySelectorAll('.chat .menu button')[1].click()`, nil)
	b.Until(`document.querySelector('nav').innerText.includes('Pinned')`)
	b.Eval(`document.querySelector('[aria-label="New project"]').click()`, nil)
	b.Until(`document.activeElement.ariaLabel === 'Name of the project'`)
	b.Write("Book")
	b.Press("Enter")
	b.Until(`location.pathname.startsWith('/p/') && document.querySelector('h1').innerText.includes('Book')`)
	v.shows("project", "In Book")
	b.Eval(`history.back()`, nil)
	b.Until(`document.body.innerText.includes('In fewer words')`)
	was := v.at()
	const long = `[...document.querySelectorAll('article')].find((a) => a.innerText.includes("package's documentation"))` // which isn't in the page before
	b.Until(`(document.querySelector('.scroller').scrollTo(0, 0), ` + long + `)`)                                         // a chat that has just opened goes to its end first
	b.Eval(long+`.querySelector('[aria-label="Fork from here"]').click()`, nil)
	b.Until(fmt.Sprintf(`location.pathname.startsWith('/c/') && location.pathname !== %q && document.body.innerText.includes("package's documentation") && !document.body.innerText.includes('In fewer words')`, was))

	b.Eval(`dispatchEvent(new KeyboardEvent('keydown', {key: 'k', ctrlKey: true, bubbles: true, cancelable: true}))`, nil)
	b.Until(`document.querySelector('dialog[open] input')`)
	b.Eval(`document.querySelector('dialog input').focus()`, nil)
	v.shows("palette", "New chat")
	b.Write("documentat")
	b.Until(`document.querySelector('dialog mark')`)
	v.shows("search")
	b.Press("Enter")
	b.Until(`!document.querySelector('dialog')`)
	b.Eval(`document.activeElement.blur?.(); dispatchEvent(new KeyboardEvent('keydown', {key: 'x'}))`, nil)
	b.Eval(`document.body.dispatchEvent(new KeyboardEvent('keydown', {key: '?', bubbles: true, cancelable: true}))`, nil)
	b.Until(`document.querySelector('dialog[open] dl')`)
	v.shows("keys", "Stop the answer")
	b.Press("Escape")
	b.Until(`!document.querySelector('dialog')`)
	b.Eval(`document.querySelector('.picker .chip').click()`, nil)
	b.Until(`document.querySelector('.picker .menu')`)
	v.shows("models", "box/one", "200K", "$3 / $15")
	b.Eval(`[...document.querySelectorAll('[role=option]')].find((e) => e.innerText.includes('box/one')).click()`, nil)
	b.Until(`document.querySelector('.picker .chip').innerText === 'One'`)

	// A picture is pasted, and goes with the message.
	b.Eval(`(async () => {
		const canvas = document.createElement('canvas');
		canvas.width = canvas.height = 40;
		canvas.getContext('2d').fillStyle = 'teal';
		canvas.getContext('2d').fillRect(0, 0, 40, 40);
		const data = new DataTransfer();
		data.items.add(new File([await new Promise((r) => canvas.toBlob(r))], 'square.png', {type: 'image/png'}));
		document.querySelector('textarea').dispatchEvent(new ClipboardEvent('paste', {clipboardData: data, bubbles: true, cancelable: true}));
	})()`, nil)
	b.Until(`document.querySelector('.files img')`)
	v.shows("attached", "square.png")

	// The server goes away: what is there stays, and the page says so.
	b.Forget()
	v.c.end()
	b.Until(`document.body.innerText.includes('Offline')`)
	v.shows("offline", "Offline")
}

// Texts of people and of models run nothing, and load nothing from elsewhere. As a control, a page
// without the app's renderer and policy makes HTML of them: there, many do something.
func TestServeAppHostile(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	var asked atomic.Int64
	foreign := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/control" && r.URL.Path != "/favicon.ico" {
			asked.Add(1)
		}
	}))
	defer foreign.Close()
	all := hostiles()
	for i := range all {
		all[i] = strings.ReplaceAll(all[i], "http://foreign.example", foreign.URL)
	}
	if len(all) < 200 {
		t.Fatalf("%d hostile texts", len(all))
	}
	text := strings.Join(all, "\n\n")
	turn := llmtest.Turn{Events: slices.Concat(llmtest.Think(text, ""), llmtest.Say(text), llmtest.Stop(llm.StopEnd, llm.Usage{Input: 1, Output: 1}))}
	v := app(t, []llmtest.Turn{turn}, 1280, 800, false)
	var begun struct{ Chat struct{ ID string } }
	v.c.must(http.StatusCreated, "POST", "/v1/chats", map[string]any{"title": hostile[1], "message": map[string]any{"id": "1", "message": map[string]any{"role": "user", "content": text}}}, &begun)
	v.c.must(http.StatusOK, "POST", "/v1/sessions/"+begun.Chat.ID+"/wait", map[string]any{"id": "1"}, nil)
	v.b.Open(v.c.url + "/c/" + begun.Chat.ID)
	v.b.Until(`document.querySelector('.answer')?.innerText.includes('window.fired') && document.querySelector('.steps') && document.querySelector('.used')`)
	v.b.Eval(`document.querySelector('.steps .head').click()`, nil)
	v.b.Settle()
	var got struct {
		Fired bool
		Bad   []string
	}
	const look = `({
		fired: 'fired' in window,
		bad: [...document.querySelectorAll('main script, main object, main embed, main form:not(.composer), main style, main link, main meta, main base, main svg[onload], main img, main iframe:not([sandbox="allow-scripts"][src="/frame/still"]), main [onerror], main a:not([href^="http://"], [href^="https://"], [href^="mailto:"], [href="/"], [href="/account"])')].map((e) => e.outerHTML.slice(0, 100)),
	})`
	v.b.Eval(look, &got)
	if got.Fired || len(got.Bad) > 0 {
		t.Errorf("hostile texts made something in an answer: %+v", got)
	}
	v.b.Eval(`document.querySelector('.scroller').scrollTo(0, 0)`, nil) // only what is near is in the page
	v.b.Until(`document.querySelector('.prompt')?.innerText.includes('window.fired')`)
	v.b.Settle()
	if v.b.Eval(look, &got); got.Fired || len(got.Bad) > 0 {
		t.Errorf("hostile texts made something in a message: %+v", got)
	}
	v.quiet("hostile")
	if n := asked.Load(); n > 0 {
		t.Errorf("%d requests went to another server", n)
	}

	// A page that makes HTML of them, and has no policy.
	v.b.Open(foreign.URL + "/control")
	data, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	var fired int
	v.b.Eval(fmt.Sprintf(`(async () => {
		let n = 0;
		for (const text of %s) {
			const f = document.createElement('iframe');
			document.body.append(f);
			const d = f.contentDocument, w = f.contentWindow;
			w.addEventListener('error', (e) => e.preventDefault());
			const html = text.replace(/!\[([^\]]*)\]\(([^)]*)\)/g, '<img src="$2">').replace(/\[([^\]]*)\]\(([^)]*)\)/g, '<a href="$2">$1</a>'); // what a careless renderer does
			d.body.innerHTML = html;
			for (const s of d.querySelectorAll('script')) { const c = d.createElement('script'); c.text = s.text; try { s.replaceWith(c); } catch {} }
			await new Promise((r) => setTimeout(r, 30));
			for (const a of d.querySelectorAll('a[href^="javascript:" i]')) a.click();
			await new Promise((r) => setTimeout(r, 5));
			if (w.fired || w.parent.fired || window.fired) n++;
			delete window.fired;
			f.remove();
		}
		return n;
	})()`, data), &fired)
	t.Logf("without the app, %d of %d texts run something", fired, len(all))
	if fired < 50 {
		t.Errorf("only %d of the texts would do something without the app: they show little", fired)
	}
	if asked.Load() == 0 {
		t.Error("without the app, no text asks another server")
	}
}

// hostiles are the texts, and the same attempts in other places and other spellings.
func hostiles() []string {
	all := slices.Clone(hostile)
	for _, tag := range []string{"img src=x onerror", "svg onload", "body onload", "video src=x onerror", "audio src=x onerror", "input autofocus onfocus", "details open ontoggle", "img src=data:image/gif;base64,R0lGODlhAQABAAAAACH5BAEKAAEALAAAAAABAAEAAAICTAEAOw== onload", "iframe onload", "object data=x onerror", "style onload", "marquee onstart"} {
		fire := "<" + tag + "=window.fired=1>"
		all = append(all, fire, strings.ToUpper(tag[:3])+" "+fire, "# "+fire, "> "+fire, "- "+fire, "1. "+fire, "**"+fire+"**", "| a |\n|---|\n| "+fire+" |",
			"[text "+fire+"](https://foreign.example)", "~~"+fire+"~~", "<div>"+fire+"</div>", "$x^2$ "+fire)
	}
	for _, link := range []string{"javascript:window.fired=1", "JAVASCRIPT:window.fired=1", " javascript:window.fired=1", "java&#115;cript:window.fired=1", "&#106;avascript:window.fired=1", "javascript&colon;window.fired=1", "data:text/html;base64,PHNjcmlwdD4=", "file:///etc/passwd", "//foreign.example/x.png", "blob:https://foreign.example/x"} {
		all = append(all, "[a]("+link+")", "![a]("+link+")", "[![a](http://foreign.example/i.png)]("+link+")")
	}
	return append(all,
		"$\\href{javascript:window.fired=1}{x^2}$", "$\\includegraphics{http://foreign.example/x.png}$", "$\\htmlStyle{background:url(http://foreign.example)}{x^2}$", "$\\url{javascript:window.fired=1}$", "$$\\htmlData{x=1}{y}$$",
		"```svg\n<svg xmlns=\"http://www.w3.org/2000/svg\" onload=\"parent.fired=1\"><image href=\"http://foreign.example/x.png\"/><script>top.fired=1</script></svg>\n```",
		"```html\n<script>top.fired=1;fetch('http://foreign.example')</script>\n```", "<thinking><img src=x onerror=window.fired=1></thinking>", "<a class=\"citation-link\" href=javascript:window.fired=1>src</a>",
		"![a](http://foreign.example/a.png \"t\" onload=window.fired=1)", "<img src=`x` onerror=window.fired=1>", "<svg><animate onbegin=window.fired=1 attributeName=x dur=1s>", "<svg><script>window.fired=1</script></svg>", "<math href=javascript:window.fired=1>x</math>")
}

// The files of the app are compressed and stay in caches; the page is asked for again and is not
// sent again. Who isn't signed in signs in first.
func TestServeAppFiles(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	cmd := machine(t, newBrain(t), rpcConfig)
	c := serveIt(t, cmd)
	cookie := c.opened(cmd)
	get := func(path string, change func(*http.Request)) (*http.Response, string) {
		r := c.request("GET", path, "")
		r.Header.Del("Authorization")
		if change != nil {
			change(r)
		}
		return c.visit(r)
	}
	for _, path := range []string{"/", "/c/x", "/p/x"} {
		if answer, _ := get(path, nil); answer.StatusCode != http.StatusSeeOther || answer.Header.Get("Location") != "/signin" {
			t.Errorf("%s for nobody: %s %v", path, answer.Status, answer.Header)
		}
	}
	answer, page := get("/", func(r *http.Request) { r.AddCookie(cookie); r.Header.Set("Accept-Encoding", "identity") })
	policy := answer.Header.Get("Content-Security-Policy")
	if answer.StatusCode != http.StatusOK || !strings.Contains(page, `<div id="app">`) || strings.Contains(policy, "unsafe") || !strings.Contains(policy, "require-trusted-types-for 'script'") ||
		answer.Header.Get("Cache-Control") != "no-cache" || answer.Header.Get("Referrer-Policy") != "no-referrer" {
		t.Fatalf("%s %v\n%s", answer.Status, answer.Header, page)
	}
	tag := answer.Header.Get("ETag")
	if answer, _ := get("/", func(r *http.Request) {
		r.AddCookie(cookie)
		r.Header.Set("Accept-Encoding", "identity")
		r.Header.Set("If-None-Match", tag)
	}); tag == "" || answer.StatusCode != http.StatusNotModified {
		t.Errorf("the same page again: %s", answer.Status)
	}
	_, script, _ := strings.Cut(page, `src="`)
	script, _, _ = strings.Cut(script, `"`)
	answer, packed := get(script, func(r *http.Request) { r.Header.Set("Accept-Encoding", "gzip") })
	if answer.Header.Get("Content-Encoding") != "gzip" || !strings.Contains(answer.Header.Get("Cache-Control"), "immutable") || !strings.HasPrefix(answer.Header.Get("Content-Type"), "text/javascript") {
		t.Errorf("%s: %s %v", script, answer.Status, answer.Header)
	}
	answer, plain := get(script, func(r *http.Request) { r.Header.Set("Accept-Encoding", "identity") })
	if answer.Header.Get("Content-Encoding") != "" || len(plain) < 2*len(packed) || answer.Header.Get("Vary") != "Accept-Encoding" {
		t.Errorf("%s without compression: %d bytes, %d with it, %v", script, len(plain), len(packed), answer.Header)
	}
	for _, path := range []string{"/app/nothing.js", "/app/..%2fweb.go", "/app/"} {
		if answer, _ := get(path, func(r *http.Request) { r.AddCookie(cookie) }); answer.StatusCode != http.StatusNotFound || strings.Contains(answer.Header.Get("Cache-Control"), "immutable") {
			t.Errorf("%s: %s %v", path, answer.Status, answer.Header)
		}
	}
}

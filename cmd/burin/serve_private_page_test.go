package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/burin-dev/burin/internal/browsertest"
	"github.com/burin-dev/burin/internal/chat/canarytest"
	"github.com/burin-dev/burin/internal/pacetest"
)

// privatePage does what a page of the chat app does: it starts the worker, asks, and hears events.
const privatePage = `<!doctype html><meta charset="utf-8"><title>private</title><script src="/test/page.js"></script>`

const privateScript = `
function tab(project) {
  const began = performance.now();
  const worker = new Worker('/private/worker.js' + (project ? '?project=' + project : ''));
  const waiting = new Map(), events = [];
  let last = 0;
  const t = { events, ended: null };
  const ready = new Promise((done) => {
    worker.onmessage = ({ data }) => {
      if (data.ready) return done(t.ms = performance.now() - began);
      if (data.ended) return (t.ended = data.ended);
      if (data.event) return events.push(data.event);
      waiting.get(data.id)?.(data);
    };
  });
  t.ready = ready;
  t.ask = (method, path, body) => new Promise((done) => {
    waiting.set(++last, done);
    worker.postMessage({ id: last, method, path, body });
  });
  t.close = () => worker.terminate();
  return t;
}`

// pageServer is burin serve with a test page, and keeps what is sent to it.
type pageServer struct {
	*httptest.Server
	mu   sync.Mutex
	seen bytes.Buffer
}

func servePage(t *testing.T, at string) *pageServer {
	target, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	p := &pageServer{}
	through := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = r.In.Host
	}}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/test/":
			w.Header().Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; worker-src 'self'; connect-src 'none'")
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, privatePage)
			return
		case "/test/page.js":
			w.Header().Set("Content-Type", "text/javascript")
			_, _ = io.WriteString(w, privateScript)
			return
		}
		data, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		r.Body = io.NopCloser(bytes.NewReader(data))
		p.mu.Lock()
		fmt.Fprintln(&p.seen, r.Method, r.URL, r.Header)
		p.seen.Write(data)
		p.mu.Unlock()
		through.ServeHTTP(w, r)
	}))
	t.Cleanup(p.Close)
	return p
}

// crossOrigin is a provider that allows calls of pages. After the first piece of its first answer it waits for next.
func crossOrigin(t *testing.T, at string, next <-chan struct{}) string {
	target, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	to := httputil.NewSingleHostReverseProxy(target)
	to.FlushInterval = -1
	to.ModifyResponse = func(r *http.Response) error {
		out, in := io.Pipe()
		from := r.Body
		r.Body = out
		go func() {
			defer from.Close() //nolint:errcheck // it was read
			lines := bufio.NewReader(from)
			for piece := false; ; {
				line, err := lines.ReadString('\n')
				if _, werr := io.WriteString(in, line); err != nil || werr != nil {
					in.CloseWithError(err)
					return
				}
				if piece && line == "\n" { // which ends an event
					<-next
				}
				piece = strings.Contains(line, "text_delta")
			}
		}()
		return nil
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Access-Control-Allow-Origin", "*")
		w.Header().Set("Access-Control-Allow-Headers", "*")
		if r.Method == http.MethodOptions {
			return
		}
		if r.Header.Get("Anthropic-Dangerous-Direct-Browser-Access") != "true" {
			t.Errorf("the header for browsers is missing: %v", r.Header)
		}
		to.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func literal(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// A person has a private project in a real browser: the worker is loaded and chats, a tab is closed in the
// middle of an answer, and the next one goes on. Nothing of it is at the server, and the worker reaches nobody
// but the server and the project's provider.
func TestPrivatePage(t *testing.T) {
	pacetest.Costly(t)
	if pacetest.Long("", "ci", "whole") == "" {
		t.Skip("tries many pass phrases, which costs on purpose: set BURIN_LONG=ci")
	}
	t.Parallel()
	brain := newBrain(t)
	cmd := machine(t, brain, rpcConfig)
	c := serveIt(t, cmd)
	status, said := c.do(c.request("GET", "/private/worker.js", ""))
	if status == http.StatusNotFound && strings.Contains(string(said), "docs/private.md") {
		t.Skip("this burin has no loop of private projects: run go generate ./internal/mode/server")
	}
	next := make(chan struct{})
	goOn := sync.OnceFunc(func() { close(next) })
	t.Cleanup(goOn)
	page, provider := servePage(t, c.url), crossOrigin(t, brain.srv.URL, next)
	at := strings.Replace(page.URL, "127.0.0.1", "localhost", 1)
	canaries := canarytest.New(4)
	words := canaries.Words
	b := browsertest.Start(t, 800, 600, false)
	b.Open(strings.TrimSpace(run(t, cmd, "admin", "link", "--url", at)))
	b.Forget()
	b.Eval(`document.querySelector('form button').click()`, nil)
	b.Await("Page.loadEventFired")

	b.Open(at + "/test/")
	b.Eval(`window.first = tab(), first.ready.then(() => 0)`, nil)
	var made madeProject
	eval := func(expression string, is any) {
		t.Helper()
		b.Eval(`(async () => { const r = await `+expression+`; if (r.status >= 300) throw new Error(JSON.stringify(r)); return r.body ?? null; })()`, is)
	}
	eval(`first.ask('POST', '/v1/projects', `+literal(t, privateProject(words[0], provider))+`)`, &made)
	// This worker may not reach the provider: its policy came before there was one.
	project := made.Project.ID
	b.Eval(fmt.Sprintf(`first.close(), window.second = tab(%q), second.ready.then(() => 0)`, project), nil)
	eval(fmt.Sprintf(`second.ask('POST', '/v1/projects/%s/unlock', {passphrase: 'correct horse battery'})`, project), nil)
	var begun begunChat
	eval(fmt.Sprintf(`second.ask('POST', '/v1/chats', {project: %q, title: %q})`, project, words[1]), &begun)
	chat := begun.Chat.ID
	session := "/v1/sessions/" + chat
	submit := func(tab, text string) {
		t.Helper()
		eval(tab+`.ask('POST', '`+session+`/submit', `+literal(t, saying(text))+`)`, nil)
	}
	b.Eval(`void second.ask('GET', '/v1/events?answers=true&session=`+chat+`')`, nil)
	b.Until(`second.events.length > 0`)
	submit("second", "say "+words[2])
	b.Until(`second.events.some((e) => e.data.event?.type === 'message_update' && JSON.stringify(e).includes('text_delta'))`) // it streams
	goOn()
	b.Until(`second.events.some((e) => e.data.event?.type === 'agent_settled')`)

	submit("second", "ask")
	b.Until(`second.events.some((e) => e.data.event?.type === 'question_asked')`)
	eval(`second.ask('POST', '`+session+`/questions', {}).then((r) => second.ask('POST', '`+session+`/answer', {id: r.body[0].id, reply: {choices: [{selected: ['blue']}]}}))`, nil)
	b.Until(`second.events.filter((e) => e.data.event?.type === 'agent_settled').length === 2`)

	// A message that comes while the model answers steers it; a stop ends the answer.
	submit("second", "gate say one")
	b.Until(`second.events.some((e) => e.data.event?.type === 'message_end' && JSON.stringify(e).includes('gate say one'))`)
	submit("second", "say steered")
	eval(`second.ask('POST', '`+session+`/abort', {})`, nil)
	brain.free()
	b.Until(`second.events.filter((e) => e.data.event?.type === 'agent_settled').length >= 3`)
	eval(`second.ask('POST', '`+session+`/take_back', {})`, nil)

	// The tab is closed in the middle of an answer. Until its lease ends, the next one is told that another has
	// the chat, and takes it over.
	submit("second", "gate say "+words[3])
	b.Until(fmt.Sprintf(`second.events.some((e) => e.data.event?.type === 'message_end' && JSON.stringify(e).includes(%q))`, words[3]))
	b.Open(at + "/test/")
	brain.free()
	b.Eval(fmt.Sprintf(`window.third = tab(%q), third.ready.then(() => 0)`, project), nil)
	var refused struct {
		Status int
		Body   struct{ Code string }
	}
	b.Eval(fmt.Sprintf(`third.ask('POST', '/v1/projects/%s/unlock', {passphrase: 'correct horse batterz'})`, project), &refused)
	if refused.Status != 403 || refused.Body.Code != "passphrase" {
		t.Errorf("the wrong pass phrase: %+v", refused)
	}
	eval(fmt.Sprintf(`third.ask('POST', '/v1/projects/%s/unlock', {passphrase: 'correct horse battery'})`, project), nil)
	b.Eval(`third.ask('GET', '`+session+`')`, &refused)
	if refused.Status != 409 || refused.Body.Code != "held" {
		t.Errorf("a chat that another tab has: %+v", refused)
	}
	eval(`third.ask('GET', '`+session+`?take=true')`, nil)
	var kept string
	eval(`third.ask('POST', '`+session+`/nodes', {from: 0}).then(async (r) => ({body: JSON.stringify(await Promise.all(r.body.nodes.map((n) => third.ask('POST', '`+session+`/entry', {id: n.id}))))}))`, &kept)
	for _, want := range []string{words[2], "gate say " + words[3]} {
		if !strings.Contains(kept, want) {
			t.Errorf("%q was kept, and is gone", want)
		}
	}
	b.Eval(`void third.ask('GET', '/v1/events?session=`+chat+`')`, nil)
	submit("third", "say again")
	b.Until(`third.events.some((e) => e.data.event?.type === 'agent_settled')`)

	var ms float64
	b.Eval(`third.ms`, &ms)
	t.Logf("the worker was ready after %.0f ms", ms)

	page.mu.Lock()
	sent := page.seen.String()
	page.mu.Unlock()
	for _, word := range append(words, "correct horse battery", made.Recovery, "sk-"+words[0]) {
		if strings.Contains(sent, word) {
			t.Errorf("a request to the server has %q", word)
		}
	}
	if !strings.Contains(sent, "/v1/private/chats/"+chat+"/records") {
		t.Error("nothing was recorded")
	}
	c.end()
	canaries.None(t, filepath.Join(filepath.Dir(cmd.Dir), "burin"))
	for _, e := range b.Events() {
		if strings.Contains(string(e.Params), "Content Security Policy") {
			t.Errorf("a policy was in the way: %s", e.Params)
		}
	}
}

// The worker may reach the server and the project's providers, and compile WebAssembly; nothing else.
func TestPrivateWorkerPolicy(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	b := newBrain(t)
	c := serveIt(t, machine(t, b, rpcConfig))
	tab := newTab(t, c.url)
	var made madeProject
	tab.ask(201, "POST", "/v1/projects", privateProject("policy", b.srv.URL), &made)
	local := privateProject("local", "https://weights.example/models")
	local["providers"] = []map[string]any{{"id": "webllm", "api": "webllm", "url": "https://weights.example/models", "models": []map[string]any{{"id": "m"}}}}
	var home madeProject
	tab.ask(201, "POST", "/v1/projects", local, &home)
	local["providers"] = []map[string]any{{"id": "webllm", "api": "webllm", "url": "http://weights.example"}}
	tab.refused(400, "", "POST", "/v1/projects", local)
	const script = "script-src 'wasm-unsafe-eval'"
	for query, want := range map[string]string{
		"": script + "; connect-src 'self'", "?project=" + made.Project.ID: script + "; connect-src 'self' " + b.srv.URL,
		"?project=" + home.Project.ID: script + " " + c.url + "/private/webllm.js; connect-src 'self' https://weights.example",
	} {
		r, err := http.DefaultClient.Do(c.request("GET", "/private/worker.js"+query, ""))
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r.Body)
		_ = r.Body.Close() // it was read
		if err != nil {
			t.Fatal(err)
		}
		if r.StatusCode == http.StatusNotFound {
			if !strings.Contains(string(data), "docs/private.md") {
				t.Errorf("without the loop: %s", data)
			}
			continue
		}
		if got := r.Header.Get("Content-Security-Policy"); got != "default-src 'none'; "+want {
			t.Errorf("%q has the policy %s", query, got)
		}
	}
}

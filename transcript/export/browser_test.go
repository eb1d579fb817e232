package export

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// browser is a headless Chromium on its debugging pipe.
type browser struct {
	t       testing.TB
	in      *os.File
	session string

	mu      sync.Mutex
	next    int
	waiting map[int]chan reply
	events  []event
	changed chan struct{} // closed and replaced at every event
	done    chan struct{} // closed when the pipe ends
}

type reply struct {
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Message string `json:"message"`
	} `json:"error"`
}

type event struct {
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

// startBrowser starts Chromium for one test, with a page of the given size.
func startBrowser(t testing.TB, width, height int, dark bool) *browser {
	t.Helper()
	var path string
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			path = p
			break
		}
	}
	if path == "" {
		t.Skip("no chromium, chromium-browser or google-chrome on PATH: the page cannot be opened")
	}
	theirs, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, theirOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	home, err := os.MkdirTemp("", "burin-browser-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(home) }) // what the browser's processes still write is only in the way
	cmd := exec.Command(path, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions",
		"--hide-scrollbars", "--remote-debugging-pipe", "--user-data-dir="+home, "about:blank")
	cmd.Env = append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_CACHE_HOME="+home)
	cmd.ExtraFiles = []*os.File{theirs, theirOut}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	theirs.Close()
	theirOut.Close()
	b := &browser{t: t, in: in, waiting: map[int]chan reply{}, changed: make(chan struct{}), done: make(chan struct{})}
	go b.read(out)
	t.Cleanup(func() {
		b.send("", "Browser.close", nil, make(chan reply, 1))
		select {
		case <-b.done:
		case <-time.After(30 * time.Second):
			cmd.Process.Kill()
		}
		in.Close()
		cmd.Wait()
	})
	var target struct{ TargetID string }
	b.callIn("", "Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct{ SessionID string }
	b.callIn("", "Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	b.session = attached.SessionID
	for _, domain := range []string{"Page", "Runtime", "Log", "Network"} {
		b.call(domain+".enable", nil, nil)
	}
	b.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}, nil)
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	b.call("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}}}, nil)
	return b
}

func (b *browser) read(out *os.File) {
	defer close(b.done)
	defer out.Close()
	r := bufio.NewReaderSize(out, 1<<16)
	for {
		data, err := r.ReadBytes(0)
		if err != nil {
			return
		}
		var m struct {
			ID int `json:"id"`
			reply
			event
		}
		if json.Unmarshal(bytes.TrimSuffix(data, []byte{0}), &m) != nil {
			continue
		}
		b.mu.Lock()
		if m.ID != 0 {
			if c := b.waiting[m.ID]; c != nil {
				c <- m.reply
				delete(b.waiting, m.ID)
			}
		} else {
			b.events = append(b.events, m.event)
			close(b.changed)
			b.changed = make(chan struct{})
		}
		b.mu.Unlock()
	}
}

func (b *browser) send(session, method string, params any, answer chan reply) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.next++
	m := map[string]any{"id": b.next, "method": method}
	if params != nil {
		m["params"] = params
	}
	if session != "" {
		m["sessionId"] = session
	}
	b.waiting[b.next] = answer
	data, err := json.Marshal(m)
	if err != nil {
		b.t.Fatal(err)
	}
	b.in.Write(append(data, 0)) //nolint:errcheck // a dead browser is seen by who waits
}

func (b *browser) call(method string, params, result any) {
	b.t.Helper()
	b.callIn(b.session, method, params, result)
}

func (b *browser) callIn(session, method string, params, result any) {
	b.t.Helper()
	answer := make(chan reply, 1)
	b.send(session, method, params, answer)
	select {
	case r := <-answer:
		if r.Error != nil {
			b.t.Fatalf("%s: %s", method, r.Error.Message)
		}
		if result != nil {
			if err := json.Unmarshal(r.Result, result); err != nil {
				b.t.Fatal(err)
			}
		}
	case <-b.done:
		b.t.Fatalf("%s: the browser ended", method)
	case <-time.After(3 * time.Minute):
		b.t.Fatalf("%s: no answer", method)
	}
}

// open shows a file and waits until it is loaded.
func (b *browser) open(path string) {
	b.t.Helper()
	b.mu.Lock()
	b.events = nil
	b.mu.Unlock()
	u := url.URL{Scheme: "file", Path: filepath.ToSlash(path)}
	b.call("Page.navigate", map[string]any{"url": u.String()}, nil)
	b.await("Page.loadEventFired")
}

// page writes a page to a file and opens it.
func (b *browser) page(html string) {
	b.t.Helper()
	path := filepath.Join(b.t.TempDir(), "session.html")
	if err := os.WriteFile(path, []byte(html), 0o600); err != nil {
		b.t.Fatal(err)
	}
	b.open(path)
}

func (b *browser) await(method string) {
	b.t.Helper()
	timeout := time.After(3 * time.Minute)
	for {
		b.mu.Lock()
		changed := b.changed
		for _, e := range b.events {
			if e.Method == method {
				b.mu.Unlock()
				return
			}
		}
		b.mu.Unlock()
		select {
		case <-changed:
		case <-timeout:
			b.t.Fatalf("%s did not come", method)
		}
	}
}

// eval runs an expression, which may be a promise, and reads its value into result.
func (b *browser) eval(expression string, result any) {
	b.t.Helper()
	var r struct {
		Result struct {
			Value json.RawMessage `json:"value"`
		} `json:"result"`
		Exception *struct {
			Exception struct {
				Description string `json:"description"`
			} `json:"exception"`
		} `json:"exceptionDetails"`
	}
	b.call("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true}, &r)
	if r.Exception != nil {
		b.t.Fatalf("%s: %s", expression, r.Exception.Exception.Description)
	}
	if result != nil {
		if err := json.Unmarshal(r.Result.Value, result); err != nil {
			b.t.Fatalf("%s: %v in %s", expression, err, r.Result.Value)
		}
	}
}

// until waits for a condition in the page, frame by frame.
func (b *browser) until(condition string) {
	b.t.Helper()
	b.eval(fmt.Sprintf(`new Promise((done, fail) => {
		const end = performance.now() + 60000;
		const look = () => (%s) ? done(true) : performance.now() > end ? fail(new Error('never true')) : setTimeout(look, 10);
		look();
	})`, condition), nil)
}

// settle waits until the page has been drawn.
func (b *browser) settle() {
	b.t.Helper()
	b.eval(`new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(r, 50))))`, nil)
}

// busy is how long the page's main thread has worked since it began.
func (b *browser) busy() time.Duration {
	b.t.Helper()
	var r struct {
		Metrics []struct {
			Name  string  `json:"name"`
			Value float64 `json:"value"` // seconds
		} `json:"metrics"`
	}
	b.call("Performance.getMetrics", nil, &r)
	for _, m := range r.Metrics {
		if m.Name == "TaskDuration" {
			return time.Duration(m.Value * float64(time.Second))
		}
	}
	b.t.Fatal("the browser does not say how long the page worked")
	return 0
}

func (b *browser) press(key string) {
	b.t.Helper()
	text := key
	if len(key) > 1 {
		text = map[string]string{"Enter": "\r"}[key]
	}
	code := map[string]int{"Enter": 13, "ArrowDown": 40, "ArrowUp": 38, "ArrowLeft": 37, "ArrowRight": 39, "Escape": 27, "Home": 36, "End": 35}[key]
	b.call("Input.dispatchKeyEvent", map[string]any{"type": "keyDown", "key": key, "text": text, "windowsVirtualKeyCode": code}, nil)
	b.call("Input.dispatchKeyEvent", map[string]any{"type": "keyUp", "key": key, "windowsVirtualKeyCode": code}, nil)
	b.settle()
}

func (b *browser) write(text string) {
	b.t.Helper()
	b.call("Input.insertText", map[string]any{"text": text}, nil)
}

// click presses the mouse in the middle of an element once it stands still and nothing lies
// over it: what is scrolled into view is laid out only then, and moves the rest.
func (b *browser) click(selector string) {
	b.t.Helper()
	var at struct{ X, Y float64 }
	b.eval(fmt.Sprintf(`new Promise((done, fail) => {
		const end = performance.now() + 60000;
		let still = 0, x, y;
		const look = () => {
			const e = document.querySelector(%q);
			e.scrollIntoView({block: 'nearest'});
			const r = e.getBoundingClientRect(), left = r.x + r.width / 2, top = r.y + r.height / 2;
			still = left === x && top === y && e.contains(document.elementFromPoint(x, y)) ? still + 1 : 0;
			[x, y] = [left, top];
			if (still === 10) done({x, y});
			else if (performance.now() > end) fail(new Error('never still'));
			else requestAnimationFrame(look);
		};
		look();
	})`, selector), &at)
	for _, kind := range []string{"mousePressed", "mouseReleased"} {
		b.call("Input.dispatchMouseEvent", map[string]any{"type": kind, "x": at.X, "y": at.Y, "button": "left", "clickCount": 1}, nil)
	}
	b.settle()
}

// screenshots is the folder for pictures of the pages, for people to look at.
const screenshots = "EXPORT_SCREENSHOTS"

// screenshot takes a picture when the page has been drawn, if pictures are wanted.
func (b *browser) screenshot(name string) {
	b.t.Helper()
	if os.Getenv(screenshots) != "" {
		b.settle()
		b.shot(name)
	}
}

// shot takes a picture at once, if pictures are wanted.
func (b *browser) shot(name string) {
	b.t.Helper()
	dir := os.Getenv(screenshots)
	if dir == "" {
		return
	}
	var shot struct{ Data string }
	b.call("Page.captureScreenshot", map[string]any{"format": "png"}, &shot)
	data, err := base64.StdEncoding.DecodeString(shot.Data)
	if err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
		b.t.Fatal(err)
	}
}

// quiet fails the test if the page reported an error, opened a dialog or asked for
// anything but itself.
func (b *browser) quiet() {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.events {
		switch e.Method {
		case "Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded", "Page.javascriptDialogOpening":
			b.t.Errorf("%s: %s", e.Method, e.Params)
		case "Network.requestWillBeSent":
			var p struct {
				Request struct {
					URL string `json:"url"`
				} `json:"request"`
			}
			if err := json.Unmarshal(e.Params, &p); err != nil {
				b.t.Fatal(err)
			}
			if !strings.HasPrefix(p.Request.URL, "file:///") && !strings.HasPrefix(p.Request.URL, "data:") || strings.Count(p.Request.URL, "file:") > 0 && !strings.Contains(p.Request.URL, "session.html") {
				b.t.Errorf("the page asked for %s", p.Request.URL)
			}
		}
	}
}

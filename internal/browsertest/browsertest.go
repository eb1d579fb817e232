// Package browsertest drives a headless Chromium in tests, on its debugging pipe: pages are opened,
// clicked and read as a person does it.
package browsertest

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"time"
)

// Browser is a headless Chromium on its debugging pipe.
type Browser struct {
	t       testing.TB
	in      *os.File
	session string

	mu      sync.Mutex
	next    int
	waiting map[int]chan reply
	events  []Event
	changed chan struct{} // closed and replaced at every event
	done    chan struct{} // closed when the pipe ends
}

type reply struct {
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Message string `json:"message"`
	} `json:"error"`
}

// Event is what the browser tells of.
type Event struct {
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

// Start starts Chromium for one test, with a page of the given size.
func Start(t testing.TB, width, height int, dark bool) *Browser {
	t.Helper()
	return start(t, width, height, dark, "--disable-gpu")
}

// StartGPU is Start with a GPU for pages (WebGPU), which Chromium computes itself.
func StartGPU(t testing.TB, width, height int, dark bool) *Browser {
	t.Helper()
	return start(t, width, height, dark, "--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader", "--enable-features=Vulkan")
}

func start(t testing.TB, width, height int, dark bool, flags ...string) *Browser {
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
	cmd := exec.Command(path, append(flags, "--headless", "--no-sandbox", "--disable-dev-shm-usage", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions",
		"--hide-scrollbars", "--remote-debugging-pipe", "--user-data-dir="+home, "about:blank")...)
	cmd.Env = append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_CACHE_HOME="+home)
	cmd.ExtraFiles = []*os.File{theirs, theirOut}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	theirs.Close()
	theirOut.Close()
	b := &Browser{t: t, in: in, waiting: map[int]chan reply{}, changed: make(chan struct{}), done: make(chan struct{})}
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
		b.Call(domain+".enable", nil, nil)
	}
	b.Call("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}, nil)
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	b.Call("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}}}, nil)
	return b
}

func (b *Browser) read(out *os.File) {
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
			Event
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
			b.events = append(b.events, m.Event)
			close(b.changed)
			b.changed = make(chan struct{})
		}
		b.mu.Unlock()
	}
}

func (b *Browser) send(session, method string, params any, answer chan reply) {
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

// Call calls a method of the page, and reads its result, which may be nil.
func (b *Browser) Call(method string, params, result any) {
	b.t.Helper()
	b.callIn(b.session, method, params, result)
}

func (b *Browser) callIn(session, method string, params, result any) {
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

// Open shows the page at an address and waits until it is loaded. The events before are forgotten.
func (b *Browser) Open(address string) {
	b.t.Helper()
	b.Forget()
	b.Call("Page.navigate", map[string]any{"url": address}, nil)
	b.Await("Page.loadEventFired")
}

// Await waits for an event.
func (b *Browser) Await(method string) {
	b.t.Helper()
	b.AwaitTimes(method, 1)
}

// AwaitTimes waits until an event came so often.
func (b *Browser) AwaitTimes(method string, n int) {
	b.t.Helper()
	b.await(method, func(Event) bool { n--; return n == 0 })
}

// AwaitSaid waits for an event that says something.
func (b *Browser) AwaitSaid(method, what string) {
	b.t.Helper()
	b.await(method, func(e Event) bool { return bytes.Contains(e.Params, []byte(what)) })
}

func (b *Browser) await(method string, is func(Event) bool) {
	b.t.Helper()
	timeout := time.After(3 * time.Minute)
	looked := 0
	for {
		b.mu.Lock()
		changed, events := b.changed, b.events
		b.mu.Unlock()
		for ; looked < len(events); looked++ {
			if e := events[looked]; e.Method == method && is(e) {
				return
			}
		}
		select {
		case <-changed:
		case <-timeout:
			b.t.Fatalf("%s did not come", method)
		}
	}
}

// Eval runs an expression, which may be a promise, and reads its value into result.
func (b *Browser) Eval(expression string, result any) {
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
	b.Call("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true}, &r)
	if r.Exception != nil {
		b.t.Fatalf("%s: %s", expression, r.Exception.Exception.Description)
	}
	if result != nil {
		if err := json.Unmarshal(r.Result.Value, result); err != nil {
			b.t.Fatalf("%s: %v in %s", expression, err, r.Result.Value)
		}
	}
}

// Until waits for a condition in the page, which may await.
func (b *Browser) Until(condition string) {
	b.t.Helper()
	b.Eval(fmt.Sprintf(`new Promise((done, fail) => {
		const end = performance.now() + 60000;
		const look = async () => (%s) ? done(true) : performance.now() > end ? fail(new Error('never true')) : setTimeout(() => look().catch(fail), 10);
		look().catch(fail);
	})`, condition), nil)
}

// Settle waits until the page has been drawn.
func (b *Browser) Settle() {
	b.t.Helper()
	b.Eval(`new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(r, 50))))`, nil)
}

// Busy is how long the page's main thread has worked since it began.
func (b *Browser) Busy() time.Duration {
	b.t.Helper()
	return b.spent("TaskDuration")
}

// Worked is how long the page's main thread has run scripts and laid out since it began.
func (b *Browser) Worked() time.Duration {
	b.t.Helper()
	return b.spent("ScriptDuration", "LayoutDuration", "RecalcStyleDuration")
}

// spent sums measures of the page. Performance.enable comes first.
func (b *Browser) spent(names ...string) (sum time.Duration) {
	b.t.Helper()
	var r struct {
		Metrics []struct {
			Name  string  `json:"name"`
			Value float64 `json:"value"` // seconds
		} `json:"metrics"`
	}
	b.Call("Performance.getMetrics", nil, &r)
	found := 0
	for _, m := range r.Metrics {
		if slices.Contains(names, m.Name) {
			sum += time.Duration(m.Value * float64(time.Second))
			found++
		}
	}
	if found != len(names) {
		b.t.Fatal("the browser does not say how long the page worked")
	}
	return sum
}

// Press presses a key.
func (b *Browser) Press(key string) {
	b.t.Helper()
	text := key
	if len(key) > 1 {
		text = map[string]string{"Enter": "\r"}[key]
	}
	code := map[string]int{"Enter": 13, "ArrowDown": 40, "ArrowUp": 38, "ArrowLeft": 37, "ArrowRight": 39, "Escape": 27, "Home": 36, "End": 35}[key]
	b.Call("Input.dispatchKeyEvent", map[string]any{"type": "keyDown", "key": key, "text": text, "windowsVirtualKeyCode": code}, nil)
	b.Call("Input.dispatchKeyEvent", map[string]any{"type": "keyUp", "key": key, "windowsVirtualKeyCode": code}, nil)
	b.Settle()
}

// Write types text.
func (b *Browser) Write(text string) {
	b.t.Helper()
	b.Call("Input.insertText", map[string]any{"text": text}, nil)
}

// Click presses the mouse in the middle of an element once it stands still and nothing lies
// over it: what is scrolled into view is laid out only then, and moves the rest.
func (b *Browser) Click(selector string) {
	b.t.Helper()
	var at struct{ X, Y float64 }
	b.Eval(fmt.Sprintf(`new Promise((done, fail) => {
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
		b.Call("Input.dispatchMouseEvent", map[string]any{"type": kind, "x": at.X, "y": at.Y, "button": "left", "clickCount": 1}, nil)
	}
	b.Settle()
}

// Picture takes a picture of what is shown.
func (b *Browser) Picture() []byte {
	b.t.Helper()
	var shot struct{ Data string }
	b.Call("Page.captureScreenshot", map[string]any{"format": "png"}, &shot)
	data, err := base64.StdEncoding.DecodeString(shot.Data)
	if err != nil {
		b.t.Fatal(err)
	}
	return data
}

// Forget forgets the events so far, before something that another one is awaited of.
func (b *Browser) Forget() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.events = nil
}

// Events are those since the page was opened.
func (b *Browser) Events() []Event {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.events)
}

package export

import (
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/browsertest"
)

// browser shows pages of sessions.
type browser struct {
	t testing.TB
	*browsertest.Browser
}

func startBrowser(t testing.TB, width, height int, dark bool) *browser {
	t.Helper()
	return &browser{t, browsertest.Start(t, width, height, dark)}
}

func (b *browser) call(method string, params, result any) {
	b.t.Helper()
	b.Call(method, params, result)
}
func (b *browser) eval(expression string, result any) { b.t.Helper(); b.Eval(expression, result) }
func (b *browser) until(condition string)             { b.t.Helper(); b.Until(condition) }
func (b *browser) settle()                            { b.t.Helper(); b.Settle() }
func (b *browser) busy() time.Duration                { b.t.Helper(); return b.Busy() }
func (b *browser) press(key string)                   { b.t.Helper(); b.Press(key) }
func (b *browser) write(text string)                  { b.t.Helper(); b.Write(text) }
func (b *browser) click(selector string)              { b.t.Helper(); b.Click(selector) }

// open shows a file and waits until it is loaded.
func (b *browser) open(path string) {
	b.t.Helper()
	u := url.URL{Scheme: "file", Path: filepath.ToSlash(path)}
	b.Open(u.String())
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
	if err := os.WriteFile(filepath.Join(dir, name), b.Picture(), 0o644); err != nil {
		b.t.Fatal(err)
	}
}

// quiet fails the test if the page reported an error, opened a dialog or asked for
// anything but itself.
func (b *browser) quiet() {
	b.t.Helper()
	for _, e := range b.Events() {
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

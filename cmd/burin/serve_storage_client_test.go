package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/browsertest"
)

// originalClient serves the pages of GremlinOFA, built by "vite build" from its source into the folder that
// BURIN_GREMLIN names.
func originalClient(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("BURIN_GREMLIN")
	if dir == "" {
		t.Skip("needs GremlinOFA: set BURIN_GREMLIN to the folder that its build made")
	}
	if _, err := os.Stat(filepath.Join(dir, "index.html")); err != nil {
		t.Fatal(err)
	}
	files := http.FileServer(http.Dir(dir))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := os.Stat(filepath.Join(dir, filepath.FromSlash(r.URL.Path))); err != nil {
			r.URL.Path = "/" // its pages are one
		}
		files.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// original is a person at the original client.
type original struct {
	t  *testing.T
	b  *browsertest.Browser
	at string
}

func newOriginal(t *testing.T, at string) *original {
	t.Helper()
	o := &original{t, browsertest.Start(t, 1280, 800, false), at}
	o.b.Open(at + "/")
	o.sees("Welcome to GremlinOFA")
	return o
}

func (o *original) sees(text string) {
	o.t.Helper()
	o.b.Until(fmt.Sprintf(`document.body?.innerText.includes(%q)`, text))
}

// presses clicks what says a text.
func (o *original) presses(text string) {
	o.t.Helper()
	find := fmt.Sprintf(`[...document.querySelectorAll('button:not(:disabled), label')].find((e) => e.innerText.trim().includes(%q))`, text)
	o.b.Until(`!!` + find)
	o.b.Eval(find+`.click()`, nil)
}

func (o *original) fills(placeholder, text string) {
	o.t.Helper()
	find := fmt.Sprintf(`document.querySelector('[placeholder^=%q]')`, placeholder)
	o.b.Until(`!!` + find)
	o.b.Eval(find+`.focus(), `+find+`.select()`, nil)
	o.b.Write(text)
}

// begins sets the client up, with the data of a key or, without one, with a new key, which it gives.
func (o *original) begins(storage, key, password string) string {
	o.t.Helper()
	o.presses("Remote Storage")
	o.fills("https://example.com/storage", storage)
	if password != "" {
		o.fills("Server password", password)
	}
	if key != "" {
		o.presses("Use Existing Data")
		o.fills("Enter your encryption key", key)
	}
	o.presses("Get Started")
	return key
}

func (o *original) launches() (key string) {
	o.t.Helper()
	o.sees("Setup Complete!")
	o.b.Eval(`document.querySelector('code').innerText`, &key)
	o.b.Forget()
	o.presses("Launch App")
	o.b.Await("Page.loadEventFired")
	o.sees("New Project")
	return strings.TrimSpace(key)
}

func (o *original) newProject(name string) {
	o.t.Helper()
	o.presses("+ New Project")
	o.fills("Project name", name)
	o.presses("Create")
	o.sees(name)
}

func (o *original) reloads() {
	o.t.Helper()
	o.b.Open(o.at + "/")
	o.sees("New Project")
}

// GremlinOFA itself keeps its data on burin: as its own storage server, and as a part of burin serve with a path and a
// password. Two clients of a key see what the other one wrote, and a wrong key changes nothing; ACC-01, ACC-02, ACC-07.
func TestOriginalClient(t *testing.T) {
	at := originalClient(t)
	t.Run("only", func(t *testing.T) {
		first := command(t)
		file := filepath.Join(first.Dir, "data.db")
		_, storage := storageOnly(t, first, "PORT=0", "DB_PATH="+file, "CORS_ORIGIN="+at)
		one := newOriginal(t, at)
		one.begins(storage, "", "")
		key := one.launches()
		one.newProject("Lisbon")
		one.reloads()
		one.sees("Lisbon")
		sharesOriginal(t, one, storage, key, "")
	})
	t.Run("serve", func(t *testing.T) {
		const key, password = "aaaqeayeaudaocajbifqydiob4ibceqtcqkrmfyydenbwha5dypq", "correct horse"
		cmd := machine(t, newBrain(t), rpcConfig+"server: {storage: true, storageOrigins: [\""+at+"\"]}\n")
		keyFile, passwordFile := filepath.Join(cmd.Dir, "key.txt"), filepath.Join(cmd.Dir, "password.txt")
		writeFile(t, keyFile, []byte(key), 0o600)
		writeFile(t, passwordFile, []byte(password), 0o600)
		run(t, cmd, "admin", "storage", "add", "laptop", "--key-file", keyFile, "--password-file", passwordFile)
		c := serveIt(t, cmd)
		storage := c.url + "/storage"
		for what, wrong := range map[string][2]string{"another key": {strings.Repeat("b", 52), password}, "another password": {key, "wrong horse"}} {
			o := newOriginal(t, at)
			o.begins(storage, wrong[0], wrong[1])
			o.b.Until(`document.querySelector('.bg-red-50')`)
			var said string
			if o.b.Eval(`document.querySelector('.bg-red-50').innerText`, &said); said == "" {
				t.Errorf("with %s nothing is said", what)
			}
			t.Logf("with %s it says %q", what, said)
		}
		if listed := run(t, cmd, "admin", "storage", "list"); !strings.Contains(listed, " 0 ") {
			t.Errorf("after what was wrong there is %s", listed)
		}
		one := newOriginal(t, at)
		one.begins(storage, key, password)
		one.launches()
		one.newProject("Lisbon")
		one.reloads()
		one.sees("Lisbon")
		sharesOriginal(t, one, storage, key, password)
	})
}

// sharesOriginal has a second client use what the first one has.
func sharesOriginal(t *testing.T, one *original, storage, key, password string) {
	t.Helper()
	two := newOriginal(t, one.at)
	two.begins(storage, key, password)
	if got := two.launches(); got != key {
		t.Errorf("the second client has the key %q", got)
	}
	two.sees("Lisbon")
	two.newProject("Porto")
	one.reloads()
	one.sees("Porto")
}

package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
)

// vendor is a server that answers as a file says, and writes down what it was asked.
type vendor struct {
	mu    sync.Mutex
	asked strings.Builder
}

// vendors are those of a script.
type vendors map[string]*vendor

// serveLimits serves what providers tell of limits: limits NAME FILE sets $NAME to the address
// of a server. A line of the file is a path, a status and a body; with status 302 the body is where
// to go, and "stall" never answers.
func serveLimits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: limits NAME FILE")
	}
	text := os.Expand(ts.ReadFile(args[1]), ts.Getenv)
	v, done := new(vendor), make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v.mu.Lock()
		fmt.Fprintf(&v.asked, "%s %s %s %s|%s|\n", r.Method, r.URL.Path, r.Header.Get("Authorization"), r.Header.Get("Anthropic-Beta"), r.Header.Get("ChatGPT-Account-Id"))
		v.mu.Unlock()
		for line := range strings.Lines(text) {
			path, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
			status, body, _ := strings.Cut(rest, " ")
			if path != r.URL.Path {
				continue
			}
			switch status {
			case "stall":
				select {
				case <-done:
				case <-r.Context().Done():
				}
			case "302":
				http.Redirect(w, r, body, http.StatusFound)
			default:
				var code int
				_, _ = fmt.Sscan(status, &code)
				w.WriteHeader(code)
				_, _ = fmt.Fprint(w, body)
			}
			return
		}
		http.NotFound(w, r)
	}))
	ts.Defer(func() { close(done); srv.Close() })
	ts.Setenv(args[0], srv.URL)
	ts.Value("vendors").(vendors)[args[0]] = v
}

// toldLimits checks what such a server was asked: told NAME TEXT.
func toldLimits(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: told NAME TEXT")
	}
	v := ts.Value("vendors").(vendors)[args[0]]
	v.mu.Lock()
	defer v.mu.Unlock()
	if strings.Contains(v.asked.String(), args[1]) == neg {
		ts.Fatalf("%s was asked:\n%s", args[0], v.asked.String())
	}
}

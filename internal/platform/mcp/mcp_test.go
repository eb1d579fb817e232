package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/burin-dev/burin/internal/platform/mcp"
	"github.com/burin-dev/burin/internal/platform/mcp/mcptest"
	"github.com/burin-dev/burin/internal/platform/process"
)

func TestMain(m *testing.M) {
	process.Main()
	mcptest.Main()
	goleak.VerifyTestMain(m)
}

// program is the test's own program as a server.
func program(more string, how ...string) mcp.Server {
	return mcp.Server{Name: "test", Type: mcp.Stdio, Command: os.Args[0], Args: append([]string{mcptest.Marker, more}, how...), Env: map[string]string{"OWN": "given"}}
}

func pool(t *testing.T, o mcp.Options) *mcp.Pool {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	o.HTTP, o.Version = transport, "test"
	return mcp.NewPool(o)
}

func use(t *testing.T, p *mcp.Pool, s mcp.Server) *mcp.Link {
	t.Helper()
	l, leave := p.Use(s, t.TempDir())
	t.Cleanup(leave)
	return l
}

func call(t *testing.T, l *mcp.Link, tool, args string) string {
	t.Helper()
	r, err := l.Call(t.Context(), tool, json.RawMessage(args), nil)
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	var texts []string
	for _, c := range r.Content {
		texts = append(texts, c.Text)
	}
	return strings.Join(texts, "\n")
}

// The client does the same over every transport, with the SDK's server.
func TestTransports(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(mcptest.HTTP(45, "secret"))
	defer srv.Close()
	headers := map[string]string{"Authorization": "Bearer secret"}
	for name, s := range map[string]mcp.Server{
		"stdio": program("45"),
		"older": program("45", "older"),
		"new":   {Name: "test", Type: mcp.HTTP, URL: srv.URL + "/new", Headers: headers},
		"http":  {Name: "test", Type: mcp.HTTP, URL: srv.URL + "/mcp", Headers: headers},
		"sse":   {Name: "test", Type: mcp.SSE, URL: srv.URL + "/sse", Headers: headers},
		"found": {Name: "test", Type: mcp.HTTP, URL: srv.URL + "/sse", Headers: headers}, // an older server at an address without a type
	} {
		t.Run(name, func(t *testing.T) {
			l := use(t, pool(t, mcp.Options{Environ: os.Environ()}), s)
			if got := call(t, l, "echo", `{"text":"héllo"}`); got != "echo: héllo" {
				t.Errorf("echo: %q", got)
			}
			tools, known := l.Tools()
			if !known || len(tools) < 52 || !slices.IsSortedFunc(tools, func(a, b mcp.Tool) int { return strings.Compare(a.Name, b.Name) }) {
				t.Errorf("%d tools, known: %v", len(tools), known)
			}
			r, err := l.Call(t.Context(), "picture", nil, nil)
			if err != nil || len(r.Content) != 3 || len(r.Content[0].Data) == 0 || r.Content[1].Resource == nil || r.Content[2].URI != "test://two" {
				t.Errorf("picture: %+v, %v", r, err)
			}
			r, err = l.Call(t.Context(), "fail", nil, nil)
			if err != nil || !r.IsError || r.Content[0].Text != "it failed as it should" {
				t.Errorf("fail: %+v, %v", r, err)
			}
			if _, err := l.Call(t.Context(), "nothing", nil, nil); err == nil {
				t.Error("a tool that isn't there answers")
			}
			changed := make(chan struct{}, 10)
			defer l.Watch(func() { changed <- struct{}{} })()
			before, _ := l.Tools()
			grown := func(t mcp.Tool) bool { return t.Name == "grown" }
			if !slices.ContainsFunc(before, grown) { // the server over HTTP is one for all
				call(t, l, "grow", "{}")
				<-changed
				if after, _ := l.Tools(); !slices.ContainsFunc(after, grown) {
					t.Error("a tool that was added later is missing")
				}
			}
			ctx, stop := context.WithCancel(t.Context())
			time.AfterFunc(20*time.Millisecond, stop)
			if _, err := l.Call(ctx, "hang", nil, nil); err == nil {
				t.Error("a canceled call answers")
			}
			if got := call(t, l, "echo", `{"text":"on"}`); got != "echo: on" {
				t.Errorf("after a canceled call: %q", got)
			}
		})
	}
}

// A call is canceled even if the server hears of that before it has the call.
func TestCancelOvertakes(t *testing.T) {
	t.Parallel()
	whole := mcptest.HTTP(0, "")
	canceled := make(chan struct{}, 10)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		switch {
		case bytes.Contains(body, []byte(`"hang"`)):
			<-canceled // the first time it is told
		case bytes.Contains(body, []byte(`"notifications/cancelled"`)):
			defer func() { canceled <- struct{}{} }()
		}
		whole.ServeHTTP(w, r)
	}))
	for _, s := range []mcp.Server{{Name: "test", Type: mcp.HTTP, URL: srv.URL + "/mcp"}, {Name: "test", Type: mcp.SSE, URL: srv.URL + "/sse"}} {
		l, leave := pool(t, mcp.Options{Environ: os.Environ()}).Use(s, t.TempDir())
		if err := l.Connect(t.Context()); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		time.AfterFunc(20*time.Millisecond, stop)
		if _, err := l.Call(ctx, "hang", nil, nil); err == nil {
			t.Errorf("%s: a canceled call answers", s.Type)
		}
		leave()
		for len(canceled) > 0 {
			<-canceled
		}
	}
	ended := make(chan struct{})
	go func() {
		srv.Close() // it waits for the sessions, and those for the calls
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(20 * time.Second):
		t.Error("the calls continue")
	}
}

// A program gets its own variables and those that programs need, and no others.
func TestEnvironment(t *testing.T) {
	t.Parallel()
	l := use(t, pool(t, mcp.Options{Environ: []string{"PATH=/bin", "ANTHROPIC_API_KEY=key", "LC_ALL=C"}}), program("0"))
	got := strings.Split(call(t, l, "environment", "{}"), "\n")
	slices.Sort(got)
	if want := []string{"LC_ALL=C", "OWN=given", "PATH=/bin"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// A server that ends during a call costs the call; the next one connects again.
func TestServerEnds(t *testing.T) {
	t.Parallel()
	l := use(t, pool(t, mcp.Options{}), program("0"))
	_, err := l.Call(t.Context(), "stop", nil, nil)
	if err == nil || !strings.Contains(err.Error(), "what the call did until then is not known") {
		t.Errorf("a call of a server that ended: %v", err)
	}
	if got := call(t, l, "echo", `{"text":"again"}`); got != "echo: again" {
		t.Errorf("after the end: %q", got)
	}
}

// A server that doesn't start says why, and isn't tried again at once.
func TestBackoff(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 28, 0, 0, 0, 0, time.UTC)
	s := mcp.Server{Name: "bad", Type: mcp.Stdio, Command: "sh", Args: []string{"-c", "echo no key is set >&2; echo x >> tries; exit 1"}}
	l, leave := pool(t, mcp.Options{Environ: os.Environ(), Now: func() time.Time { return now }}).Use(s, t.TempDir())
	defer leave()
	if err := l.Connect(t.Context()); err == nil || !strings.Contains(err.Error(), "no key is set") {
		t.Errorf("the first attempt: %v", err)
	}
	if err := l.Connect(t.Context()); err == nil || !strings.Contains(err.Error(), "tries again in 1s") {
		t.Errorf("at once: %v", err)
	}
	now = now.Add(time.Second)
	if err := l.Connect(t.Context()); err == nil || strings.Contains(err.Error(), "tries again") {
		t.Errorf("a second later: %v", err)
	}
	if err := l.Connect(t.Context()); err == nil || !strings.Contains(err.Error(), "tries again in 2s") {
		t.Errorf("after the second failure: %v", err)
	}
}

// What a server had is known in the next run without asking it.
func TestTheNextRunKnows(t *testing.T) {
	t.Parallel()
	cache, dir := t.TempDir(), t.TempDir()
	first, leave := pool(t, mcp.Options{Cache: cache}).Use(program("3"), dir)
	if _, known := first.Tools(); known || !first.Stale() {
		t.Error("tools are known before anyone asked")
	}
	if err := first.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	want, _ := first.Tools()
	leave()
	second, leave := pool(t, mcp.Options{Cache: cache}).Use(program("3"), dir)
	defer leave()
	if got, known := second.Tools(); !known || second.Stale() || len(got) != len(want) || string(got[0].InputSchema) != string(want[0].InputSchema) {
		t.Errorf("%d tools of %d, known: %v", len(got), len(want), known)
	}
}

// Everyone in a process uses the same server.
func TestShared(t *testing.T) {
	t.Parallel()
	p, dir := pool(t, mcp.Options{}), t.TempDir()
	a, leaveA := p.Use(program("0"), dir)
	b, leaveB := p.Use(program("0"), dir)
	if a != b {
		t.Error("two links for one server")
	}
	call(t, a, "echo", "{}")
	leaveA()
	call(t, b, "echo", "{}")
	leaveB()
	if _, err := b.Call(t.Context(), "echo", nil, nil); err == nil {
		t.Error("a server answers after everyone has left")
	}
}

// Headers may hold tokens: they go nowhere else, and who lacks one is told what to do.
func TestTokens(t *testing.T) {
	t.Parallel()
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("another host was asked")
	}))
	defer other.Close()
	away := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	defer away.Close()
	l := use(t, pool(t, mcp.Options{}), mcp.Server{Name: "away", Type: mcp.HTTP, URL: away.URL + "?key=hidden", Headers: map[string]string{"X-Key": "secret"}})
	if err := l.Connect(t.Context()); err == nil || !strings.Contains(err.Error(), "another host") || strings.Contains(err.Error(), "hidden") {
		t.Errorf("a redirect: %v", err)
	}
	srv := httptest.NewServer(mcptest.HTTP(0, "secret"))
	defer srv.Close()
	l = use(t, pool(t, mcp.Options{}), mcp.Server{Name: "test", Type: mcp.HTTP, URL: srv.URL + "/mcp"})
	if err := l.Connect(t.Context()); err == nil || !strings.Contains(err.Error(), "wants a login") {
		t.Errorf("without a token: %v", err)
	}
}

// What a server says is cut, and has no hidden characters.
func TestHostileTools(t *testing.T) {
	t.Parallel()
	huge := strings.Repeat("x", 100<<10)
	tools := `[{"name":"b","description":"a\u202eb\u001b[31m` + huge + `","inputSchema":{"type":"array"}},{"name":"a","inputSchema":{"properties":{"k":{"description":"` + huge + `"}}}},{"name":"a"},{"name":"` + strings.Repeat("n", 300) + `"}]`
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct{ Cursor string }
		}
		if json.NewDecoder(r.Body).Decode(&m) != nil || m.ID == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		result := `{"tools":` + tools + `,"nextCursor":"on"}` // for ever
		if m.Method == "initialize" {
			result = `{"protocolVersion":"2025-06-18"}`
		}
		if m.Params.Cursor != "" {
			result = `{"tools":[],"nextCursor":"on"}`
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":` + result + `}`))
	}))
	defer srv.Close()
	l := use(t, pool(t, mcp.Options{}), mcp.Server{Name: "bad", Type: mcp.HTTP, URL: srv.URL, Timeout: 5 * time.Minute})
	if err := l.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	got, _ := l.Tools()
	if len(got) != 2 || got[0].Name != "a" || string(got[0].InputSchema) != `{"properties":{},"type":"object"}` {
		t.Fatalf("%d tools: %.300v", len(got), got)
	}
	if d := got[1].Description; !strings.HasPrefix(d, "ab[31mxxx") || len(d) > 5<<10 || !strings.Contains(string(got[1].InputSchema), `"type":"object"`) {
		t.Errorf("%d bytes: %.40q, %s", len(d), d, got[1].InputSchema)
	}
}

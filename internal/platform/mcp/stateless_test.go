package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/internal/platform/mcp"
	"github.com/burin-dev/burin/internal/platform/mcp/mcptest"
)

// heard is a request that a server got.
type heard struct {
	http   string // its method in HTTP
	header http.Header
	method string
	params map[string]json.RawMessage
}

// listening serves a handler, and notes what it hears.
func listening(t *testing.T, h http.Handler) (url string, all func() []heard) {
	t.Helper()
	var mu sync.Mutex
	var said []heard
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		var m struct {
			Method string
			Params map[string]json.RawMessage
		}
		_ = json.Unmarshal(body, &m) // a GET has none
		mu.Lock()
		said = append(said, heard{r.Method, r.Header.Clone(), m.Method, m.Params})
		mu.Unlock()
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(srv.Close)
	return srv.URL, func() []heard {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(said)
	}
}

func methods(all []heard) string {
	var names []string
	for _, h := range all {
		names = append(names, h.method)
	}
	return strings.Join(names, " ")
}

// Each request to a server of the newest version says what it is, in its headers too, and there is no
// handshake, no session and no stream besides that of changes.
func TestNewestOverHTTP(t *testing.T) {
	t.Parallel()
	url, all := listening(t, mcptest.HTTP(0, ""))
	l, leave := pool(t, mcp.Options{Sampling: true}).Use(mcp.Server{Name: "test", Type: mcp.HTTP, URL: url + "/newasking"}, t.TempDir())
	defer leave()
	call(t, l, "echo", `{"text":"x"}`)
	if _, err := l.Read(t.Context(), "test://one"); err != nil {
		t.Error(err)
	}
	if _, err := l.Prompt(t.Context(), "greet", map[string]string{"who": "Kim"}); err != nil {
		t.Error(err)
	}
	callFor(t, l, "note", &mcp.Caller{Elicit: func(context.Context, mcp.Form) (mcp.Answer, error) { return mcp.Answer{}, nil }})
	if len(l.Log()) == 0 {
		t.Error("there is no log")
	}
	got := all()
	names := methods(got)
	for _, want := range []string{"server/discover", "subscriptions/listen", "tools/list", "tools/call resources/read prompts/get tools/call"} {
		if !strings.Contains(names, want) {
			t.Errorf("%s is missing: %s", want, names)
		}
	}
	for _, h := range got {
		var meta map[string]json.RawMessage
		_ = json.Unmarshal(h.params["_meta"], &meta)
		name := map[string]string{"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}[h.method]
		var named string
		_ = json.Unmarshal(h.params[name], &named)
		if h.http != http.MethodPost || h.header.Get("Mcp-Method") != h.method || h.header.Get("Mcp-Name") != named || h.header.Get("Mcp-Session-Id") != "" ||
			h.header.Get("Mcp-Protocol-Version") != mcptest.Newest || string(meta["io.modelcontextprotocol/protocolVersion"]) != `"`+mcptest.Newest+`"` ||
			!strings.Contains(string(meta["io.modelcontextprotocol/clientInfo"]), `"burin"`) {
			t.Errorf("%s %s: %v, %s", h.http, h.method, h.header, h.params["_meta"])
		}
		can := string(meta["io.modelcontextprotocol/clientCapabilities"])
		if asks := h.method == "tools/list" || strings.Contains(string(h.params["name"]), "note"); strings.Contains(can, `"url":{}`) != (asks || !strings.Contains("tools/call resources/read prompts/get", h.method)) {
			t.Errorf("%s can: %s", h.method, can)
		}
	}
	leave()
}

// What older servers do with the question what they speak costs nothing but the question, once a week.
func TestOlderServers(t *testing.T) {
	t.Parallel()
	older := mcptest.HTTP(0, "")
	answers := func(do func(w http.ResponseWriter, id json.RawMessage)) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			r.Body = io.NopCloser(bytes.NewReader(body))
			var m struct {
				ID     json.RawMessage
				Method string
			}
			if _ = json.Unmarshal(body, &m); m.Method == "server/discover" {
				do(w, m.ID)
				return
			}
			older.ServeHTTP(w, r)
		})
	}
	for name, do := range map[string]func(w http.ResponseWriter, id json.RawMessage){
		"status":  func(w http.ResponseWriter, _ json.RawMessage) { w.WriteHeader(http.StatusBadRequest) },
		"broken":  func(w http.ResponseWriter, _ json.RawMessage) { w.WriteHeader(http.StatusInternalServerError) },
		"nothing": func(w http.ResponseWriter, _ json.RawMessage) { w.WriteHeader(http.StatusAccepted) },
		"another": func(w http.ResponseWriter, id json.RawMessage) {
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{}}`, id)
		},
		"error": func(w http.ResponseWriter, id json.RawMessage) {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"no session"}}`, id)
		},
		"unsupported": func(w http.ResponseWriter, id json.RawMessage) {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32022,"message":"no","data":{"supported":["2025-06-18"]}}}`, id)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, all := listening(t, answers(do))
			now := time.Date(2026, 11, 29, 0, 0, 0, 0, time.UTC)
			cache, dir := t.TempDir(), t.TempDir()
			connect := func() (said []heard) {
				t.Helper()
				before := len(all())
				l, leave := pool(t, mcp.Options{Cache: cache, Now: func() time.Time { return now }}).Use(mcp.Server{Name: "test", Type: mcp.HTTP, URL: url + "/mcp"}, dir)
				if got := call(t, l, "echo", `{"text":"x"}`); got != "echo: x" {
					t.Errorf("echo: %s", got)
				}
				leave()
				return all()[before:]
			}
			if got := methods(connect()); !strings.HasPrefix(got, "server/discover initialize ") {
				t.Errorf("the first time: %s", got)
			}
			if got := methods(connect()); !strings.HasPrefix(got, "initialize ") || strings.Contains(got, "discover") {
				t.Errorf("the second time: %s", got)
			}
			now = now.Add(8 * 24 * time.Hour)
			if got := methods(connect()); !strings.HasPrefix(got, "server/discover ") {
				t.Errorf("a week later: %s", got)
			}
		})
	}
	// One that speaks neither says what it speaks.
	url, _ := listening(t, answers(func(w http.ResponseWriter, id json.RawMessage) {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32022,"message":"no","data":{"supported":["2031-01-01"]}}}`, id)
	}))
	l := use(t, pool(t, mcp.Options{}), mcp.Server{Name: "test", Type: mcp.HTTP, URL: url + "/mcp"})
	if err := l.Connect(t.Context()); err == nil || !strings.Contains(err.Error(), `"2031-01-01"`) || !strings.Contains(err.Error(), mcptest.Newest) {
		t.Errorf("another version: %v", err)
	}
}

// A server that was an older one and is a newer one now is found to be that.
func TestRenewedServer(t *testing.T) {
	t.Parallel()
	var newer sync.Map
	whole := mcptest.HTTP(0, "")
	url, all := listening(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, ok := newer.Load("it"); ok {
			r.URL.Path = "/new"
		}
		whole.ServeHTTP(w, r)
	}))
	cache, dir := t.TempDir(), t.TempDir()
	l, leave := pool(t, mcp.Options{Cache: cache}).Use(mcp.Server{Name: "test", Type: mcp.HTTP, URL: url + "/mcp"}, dir)
	call(t, l, "echo", "{}")
	leave()
	newer.Store("it", true)
	before := len(all())
	l, leave = pool(t, mcp.Options{Cache: cache}).Use(mcp.Server{Name: "test", Type: mcp.HTTP, URL: url + "/mcp"}, dir)
	call(t, l, "echo", "{}")
	if got := methods(all()[before:]); !strings.HasPrefix(got, "initialize ") || !strings.Contains(got, "server/discover") {
		t.Errorf("a newer one: %s", got)
	}
	newer.Delete("it")
	if _, err := l.Call(t.Context(), "echo", nil, nil); err == nil || !strings.Contains(err.Error(), "call it again") {
		t.Errorf("an older one again: %v", err)
	}
	call(t, l, "echo", "{}")
	leave()
}

// A program that says nothing to what it doesn't know is asked otherwise, and one that ends is started
// again.
func TestOlderPrograms(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	if os.Getenv("PATH") == "" {
		t.Skip("no shell")
	}
	for name, first := range map[string]string{
		"silent": `read -r line; `,                                            // the question is lost
		"ends":   `test -e began || { touch began; read -r line; exit 1; }; `, // as some SDKs do
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			s := program("0", "older")
			s.Dir, s.Args, s.Command = dir, append([]string{"-c", first + `exec "$0" "$@"`, s.Command}, s.Args...), "sh"
			self, err := filepath.Abs(os.Args[0])
			if err != nil {
				t.Fatal(err)
			}
			s.Args[2] = self
			l := use(t, pool(t, mcp.Options{Environ: os.Environ()}), s)
			if got := call(t, l, "echo", `{"text":"x"}`); got != "echo: x" {
				t.Errorf("echo: %s", got)
			}
		})
	}
}

// A server that takes its time to say that it is a newer one is taken for that, and one that never says anything
// costs no more than its time.
func TestSlowServers(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	whole := mcptest.HTTP(0, "")
	asked := make(chan struct{})
	url, all := listening(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.Header.Get("Mcp-Method") {
		case "":
			w.WriteHeader(http.StatusBadRequest)
			close(asked)
			return
		case "server/discover":
			<-asked
		}
		whole.ServeHTTP(w, r)
	}))
	l := use(t, pool(t, mcp.Options{}), mcp.Server{Name: "test", Type: mcp.HTTP, URL: url + "/new", Timeout: 6 * time.Second})
	if got := call(t, l, "echo", `{"text":"x"}`); got != "echo: x" {
		t.Errorf("%s", got)
	}
	if got := methods(all()); !strings.HasPrefix(got, "server/discover initialize ") {
		t.Errorf("%s", got)
	}
	hangs := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if r.Header.Get("Mcp-Method") == "" {
			w.WriteHeader(http.StatusTeapot)
			return
		}
		<-r.Context().Done()
	}))
	t.Cleanup(hangs.Close)
	l = use(t, pool(t, mcp.Options{}), mcp.Server{Name: "test", Type: mcp.HTTP, URL: hangs.URL, Timeout: time.Second})
	if err := l.Connect(t.Context()); err == nil || !strings.Contains(err.Error(), "no answer within 1s") {
		t.Errorf("one that hangs: %v", err)
	}
}

// A person opens the pages that a server wants opened; burin doesn't.
func TestPages(t *testing.T) {
	t.Parallel()
	for name, s := range asking(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := use(t, pool(t, mcp.Options{Environ: os.Environ()}), s)
			var form mcp.Form
			answer := func(action string) *mcp.Caller {
				return &mcp.Caller{Elicit: func(_ context.Context, f mcp.Form) (mcp.Answer, error) {
					form = f
					return mcp.Answer{Action: action}, nil
				}}
			}
			for _, action := range []string{mcp.Accept, mcp.Decline, mcp.Cancel} {
				if got := callFor(t, l, "open", answer(action)); got != "page: "+action {
					t.Errorf("%s: %s", action, got)
				}
			}
			if form.URL != mcptest.Page || form.Message != "Connect your calendar." || len(form.Fields) > 0 {
				t.Errorf("%+v", form)
			}
			if name == "new" || name == "stdio" {
				return
			}
			// 2025-11-25 has an error for that.
			form = mcp.Form{}
			if got := callFor(t, l, "connect", answer(mcp.Accept)); got != "connected" || form.URL != mcptest.Page {
				t.Errorf("connect: %s, %+v", got, form)
			}
			if _, err := l.Call(t.Context(), "connect", nil, answer(mcp.Decline)); err == nil {
				t.Error("the page was refused, and the call is there")
			}
		})
	}
}

// scripted is a server whose answers to calls are given, one after the other.
func scripted(t *testing.T, version string, answers ...string) (*mcp.Link, func() []heard) {
	t.Helper()
	var mu sync.Mutex
	url, all := listening(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		if r.Method != http.MethodPost {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		if json.NewDecoder(r.Body).Decode(&m) != nil || m.ID == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		result := `"result":{"tools":[{"name":"t","inputSchema":{}}]}`
		switch m.Method {
		case "server/discover":
			result = `"result":{"supportedVersions":["` + version + `"],"capabilities":{}}`
		case "initialize":
			result = `"result":{"protocolVersion":"2025-11-25","capabilities":{}}`
		case "tools/call":
			mu.Lock()
			result, answers = answers[0], answers[1:]
			mu.Unlock()
		}
		if strings.HasPrefix(result, "data:") {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, strings.ReplaceAll(result, "ID", string(m.ID)))
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%s}`, m.ID, result)
	}))
	return use(t, pool(t, mcp.Options{}), mcp.Server{Name: "test", Type: mcp.HTTP, URL: url}), all
}

// The questions in results are answered until there are none, with the server's state as it is.
func TestRounds(t *testing.T) {
	t.Parallel()
	state := `{"opaque": [1.0,  "é"]}`
	l, all := scripted(t, mcptest.Newest,
		`"result":{"resultType":"input_required","requestState":`+state+`,"inputRequests":{"b":{"method":"elicitation/create","params":{"message":"Sure?"}},"a":{"method":"roots/list"}}}`,
		`"result":{"resultType":"input_required","requestState":"later"}`,
		`"result":{"resultType":"complete","content":[{"type":"text","text":"done"}]}`,
		`"result":{"resultType":"task"}`,
		`"result":{"resultType":"input_required","inputRequests":{"a":{"method":"tasks/get"}}}`,
	)
	asked := 0
	caller := &mcp.Caller{Elicit: func(context.Context, mcp.Form) (mcp.Answer, error) {
		asked++
		return mcp.Answer{Action: mcp.Accept}, nil
	}}
	if got := callFor(t, l, "t", caller); got != "done" || asked != 1 {
		t.Errorf("%s, asked %d times", got, asked)
	}
	var calls []heard
	for _, h := range all() {
		if h.method == "tools/call" {
			calls = append(calls, h)
		}
	}
	if len(calls) != 3 || string(calls[1].params["requestState"]) != strings.ReplaceAll(state, " ", "") && string(calls[1].params["requestState"]) != state ||
		!strings.Contains(string(calls[1].params["inputResponses"]), `"b":{"action":"accept"}`) || !strings.Contains(string(calls[1].params["inputResponses"]), `"a":{"roots":[{`) {
		t.Errorf("%d calls, the second: %s", len(calls), calls[1].params)
	}
	if string(calls[2].params["requestState"]) != `"later"` || calls[2].params["inputResponses"] != nil {
		t.Errorf("the third: %s", calls[2].params)
	}
	for _, want := range []string{`type "task"`, "does not support tasks/get"} {
		if _, err := l.Call(t.Context(), "t", nil, caller); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %s: %v", want, err)
		}
	}
	endless := slices.Repeat([]string{`"result":{"resultType":"input_required","inputRequests":{"a":{"method":"roots/list"}}}`}, 11)
	l, _ = scripted(t, mcptest.Newest, endless...)
	if _, err := l.Call(t.Context(), "t", nil, caller); err == nil || !strings.Contains(err.Error(), "10 times") {
		t.Errorf("without an end: %v", err)
	}
}

// A page that the server says is done needs no answer of the person.
func TestPageIsDone(t *testing.T) {
	t.Parallel()
	l, _ := scripted(t, "2025-11-25",
		`"error":{"code":-32042,"message":"open it","data":{"elicitations":[{"mode":"url","message":"m","url":"https://example.com","elicitationId":"p"}]}}`,
		`data: {"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{"elicitationId":"p"}}`+"\n\n"+`data: {"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"other"}]}}`+"\n\n",
		`"result":{"content":[{"type":"text","text":"done"}]}`,
	)
	got := callFor(t, l, "t", &mcp.Caller{Elicit: func(ctx context.Context, _ mcp.Form) (mcp.Answer, error) {
		if got := callFor(t, l, "t", nil); got != "other" { // with which the server says so
			t.Errorf("the other call: %s", got)
		}
		<-ctx.Done()
		return mcp.Answer{}, ctx.Err()
	}})
	if got != "done" {
		t.Errorf("%s", got)
	}
}

// Arguments that a tool wants as headers go along as such; a tool that wants what can't be is left out.
func TestHeaders(t *testing.T) {
	t.Parallel()
	tools := `{"tools":[
		{"name":"é","inputSchema":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},"n":{"type":"integer","x-mcp-header":"N"},
			"deep":{"type":"object","properties":{"on":{"type":"boolean","x-mcp-header":"On"}}},"gone":{"type":"string","x-mcp-header":"Gone"}}}},
		{"name":"number","inputSchema":{"properties":{"a":{"type":"number","x-mcp-header":"A"}}}},
		{"name":"twice","inputSchema":{"properties":{"a":{"type":"string","x-mcp-header":"A"},"b":{"type":"string","x-mcp-header":"a"}}}},
		{"name":"items","inputSchema":{"properties":{"a":{"type":"array","items":{"type":"string","x-mcp-header":"A"}}}}},
		{"name":"any","inputSchema":{"anyOf":[{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}]}},
		{"name":"defs","inputSchema":{"$defs":{"d":{"type":"string","x-mcp-header":"A"}}}},
		{"name":"bad","inputSchema":{"properties":{"a":{"type":"string","x-mcp-header":"A\r\nAuthorization: x"}}}},
		{"name":"empty","inputSchema":{"properties":{"a":{"type":"string","x-mcp-header":""}}}}]}`
	mismatch := true
	url, all := listening(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		_ = json.NewDecoder(r.Body).Decode(&m)
		result := `"result":` + tools
		switch m.Method {
		case "server/discover":
			result = `"result":{"supportedVersions":["2026-07-28"],"capabilities":{}}`
		case "tools/call":
			result = `"result":{"content":[]}`
			if mismatch {
				mismatch = false
				w.WriteHeader(http.StatusBadRequest)
				result = `"error":{"code":-32020,"message":"the schema is another one"}`
			}
		}
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%s}`, m.ID, result)
	}))
	l := use(t, pool(t, mcp.Options{}), mcp.Server{Name: "test", Type: mcp.HTTP, URL: url, Headers: map[string]string{"Mcp-Param-Region": "own"}})
	if _, err := l.Call(t.Context(), "é", json.RawMessage(`{"region":" a\nb","n":-7,"deep":{"on":true},"gone":null}`), nil); err != nil {
		t.Fatal(err)
	}
	if offered, _ := l.Tools(); len(offered) != 1 {
		t.Errorf("%+v", offered)
	}
	got := all()
	last := got[len(got)-1].header
	if last.Get("Mcp-Name") != "=?base64?w6k=?=" || last.Get("Mcp-Param-Region") != "=?base64?IGEKYg==?=" || last.Get("Mcp-Param-N") != "-7" || last.Get("Mcp-Param-On") != "true" || last["Mcp-Param-Gone"] != nil {
		t.Errorf("%v", last)
	}
	if names := methods(got); names != "server/discover tools/list tools/call tools/list tools/call" {
		t.Errorf("%s", names)
	}
}

// A subscription that breaks is begun again, with what changed meanwhile; changes without one and requests of
// the server mean nothing.
func TestSubscription(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	var mu sync.Mutex
	listens, lists, tools := 0, 0, `{"name":"a"}`
	cut := make(chan struct{})
	url, all := listening(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage
			Method string
			Result json.RawMessage
		}
		_ = json.NewDecoder(r.Body).Decode(&m)
		say := func(format string, args ...any) {
			fmt.Fprintf(w, "data: "+format+"\n\n", args...)
			_ = http.NewResponseController(w).Flush()
		}
		w.Header().Set("Content-Type", "text/event-stream")
		switch m.Method {
		case "server/discover":
			say(`{"jsonrpc":"2.0","id":%s,"result":{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true}}}}`, m.ID)
		case "tools/list":
			mu.Lock()
			lists++
			say(`{"jsonrpc":"2.0","id":%s,"result":{"tools":[%s]}}`, m.ID, tools)
			mu.Unlock()
		case "tools/call": // with what it must not say
			say(`{"jsonrpc":"2.0","id":7,"method":"roots/list"}`)
			say(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
			say(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":999}}}`)
			say(`{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}`, m.ID)
		case "subscriptions/listen":
			say(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{},"_meta":{"io.modelcontextprotocol/subscriptionId":%s}}}`, m.ID)
			mu.Lock()
			listens++
			first := listens == 1
			mu.Unlock()
			if first {
				<-cut
				return
			}
			<-r.Context().Done()
		default:
			t.Errorf("the server got %s %s", m.Method, m.Result)
		}
	}))
	l, leave := pool(t, mcp.Options{}).Use(mcp.Server{Name: "test", Type: mcp.HTTP, URL: url}, t.TempDir())
	defer leave()
	if _, err := l.Call(t.Context(), "a", nil, nil); err != nil {
		t.Fatal(err)
	}
	changed := make(chan struct{}, 10)
	defer l.Watch(func() { changed <- struct{}{} })()
	mu.Lock()
	if lists != 1 {
		t.Errorf("the tools were asked for %d times", lists)
	}
	tools += `,{"name":"b"}`
	mu.Unlock()
	close(cut)
	<-changed
	if now, _ := l.Tools(); len(now) != 2 {
		t.Errorf("%+v", now)
	}
	if got := methods(all()); strings.Count(got, "subscriptions/listen") != 2 {
		t.Errorf("%s", got)
	}
}

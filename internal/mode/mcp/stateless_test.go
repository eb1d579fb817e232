package mcp_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

const (
	says  = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	token = "a token of sixteen characters"
)

// Over pipes each request says what it speaks, and older clients are served beside those.
func TestNewestOverPipes(t *testing.T) {
	t.Parallel()
	in, out := io.Pipe()
	answers, write := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- server(make(chan struct{}, 9)).Serve(t.Context(), in, write) }()
	lines := bufio.NewScanner(answers)
	for _, tt := range []struct {
		say  string
		want []string // in the lines that come of it
	}{
		{`{"id":1,"method":"server/discover","params":{` + says + `}}`, []string{`"supportedVersions":["2026-07-28","2025-11-25",`}},
		{`{"id":2,"method":"tools/list","params":{` + says + `}}`, []string{`"ttlMs":3600000`}},
		{`{"id":3,"method":"tools/call","params":{"name":"say",` + says + `}}`, []string{`"resultType":"complete"`}},
		{`{"id":"s","method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},` + says + `}}`, []string{`"_meta":{"io.modelcontextprotocol/subscriptionId":"s"},"notifications":{}`, `"id":"s","result":{`}},
		{`{"id":4,"method":"ping","params":{` + says + `}}`, []string{`-32601`}},
		{`{"id":5,"method":"initialize","params":{` + says + `}}`, []string{`-32601`}},
		{`{"id":6,"method":"server/discover"}`, []string{`-32602`}},
		{`{"id":7,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`, []string{`-32602`}},
		{`{"id":8,"method":"tools/list","params":{` + strings.Replace(says, "2026", "2031", 1) + `}}`, []string{`"code":-32022,"message":"this version of the protocol is not spoken here","data":{"requested":"2031-07-28","supported":["2026-07-28"`}},
		{`{"id":9,"method":"ping"}`, []string{`"id":9,"result":{}`}},
		{`{"id":10,"method":"tools/list"}`, []string{`"id":10,"result":{"tools":[`}},
	} {
		if _, err := io.WriteString(out, tt.say+"\n"); err != nil {
			t.Fatal(err)
		}
		for _, want := range tt.want {
			if !lines.Scan() || !strings.Contains(lines.Text(), want) {
				t.Errorf("%s: %s, want %s", tt.say, lines.Text(), want)
			}
		}
		if old := strings.HasSuffix(tt.say, `list"}`); old && strings.Contains(lines.Text(), "resultType") {
			t.Errorf("an older client got %s", lines.Text())
		}
	}
	out.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// Over HTTP the headers must say what the request says, and who leaves cancels it.
func TestNewestOverHTTP(t *testing.T) {
	t.Parallel()
	began := make(chan struct{}, 1)
	srv := httptest.NewServer(server(began).Handler(token))
	t.Cleanup(srv.Close)
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(client.CloseIdleConnections)
	post := func(ctx context.Context, body string, headers ...string) (int, string, http.Header) {
		t.Helper()
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, srv.URL, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		r.Header.Set("Authorization", "Bearer "+token)
		r.Header.Set("Accept", "application/json, text/event-stream")
		resp, err := client.Do(r)
		if err != nil {
			return 0, err.Error(), nil
		}
		defer resp.Body.Close()
		text, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, string(text), resp.Header
	}
	list := `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + says + `}}`
	call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"say",` + strings.Replace(says, "{", `{"progressToken":7,`, 1) + `}}`
	const version, method, name = "Mcp-Protocol-Version", "Mcp-Method", "Mcp-Name"
	for _, tt := range []struct {
		body    string
		headers []string
		status  int
		want    string
	}{
		{list, []string{version, "2026-07-28", method, "tools/list"}, 200, `"resultType":"complete"`},
		{list, []string{version, "2026-07-28", method, "tools/list", "Mcp-Session-Id", "any"}, 200, `"cacheScope":"private"`},
		{list, []string{version, "2026-07-28", method, "tools/call"}, 400, "-32020"},
		{list, []string{version, "2026-07-28"}, 400, "-32020"},
		{list, []string{method, "tools/list"}, 400, "-32020"},
		{list, []string{version, "2025-11-25", method, "tools/list"}, 400, "-32020"},
		{list, []string{version, "2031-01-01", method, "tools/list"}, 400, "-32020"},
		{strings.Replace(list, "2026", "2031", 1), []string{version, "2031-07-28", method, "tools/list"}, 400, `"requested":"2031-07-28"`},
		{strings.Replace(list, "2026", "2031", 1), []string{version, "2026-07-28", method, "tools/list"}, 400, "-32020"},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, []string{version, "2031-07-28", method, "tools/list"}, 400, `"requested":"2031-07-28"`},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, []string{version, "2026-07-28", method, "tools/list"}, 400, "-32602"},
		{`{"jsonrpc":"2.0","id":1,"method":"resources/list","params":{` + says + `}}`, []string{version, "2026-07-28", method, "resources/list"}, 404, "-32601"},
		{call, []string{version, "2026-07-28", method, "tools/call"}, 400, "-32020"},
		{call, []string{version, "2026-07-28", method, "tools/call", name, "wait"}, 400, "-32020"},
		{call, []string{version, "2026-07-28", method, "tools/call", name, "say"}, 200, `"message":"one","progress":1,"progressToken":7`},
		{call, []string{version, "2026-07-28", method, "tools/call", name, "=?base64?c2F5?="}, 200, `"resultType":"complete"`},
		{strings.ReplaceAll(strings.ReplaceAll(list, "tools/list", "subscriptions/listen"), `"id":1`, `"id":5`), []string{version, "2026-07-28", method, "subscriptions/listen"}, 200, `"io.modelcontextprotocol/subscriptionId":5},"notifications":{}}}`},
		{`{"jsonrpc":"2.0","method":"notifications/cancelled"}`, []string{version, "2026-07-28", method, "notifications/cancelled"}, 202, ""},
	} {
		status, text, header := post(t.Context(), tt.body, tt.headers...)
		if status != tt.status || !strings.Contains(text, tt.want) || header.Get("Mcp-Session-Id") != "" {
			t.Errorf("%s %v: %d %s, want %d %s", tt.body, tt.headers, status, text, tt.status, tt.want)
		}
	}
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan string, 1)
	go func() {
		_, text, _ := post(ctx, strings.ReplaceAll(call, `"say"`, `"wait"`), version, "2026-07-28", method, "tools/call", name, "wait")
		left <- text
	}()
	<-began
	leave()
	if text := <-left; !strings.Contains(text, "canceled") {
		t.Errorf("who left got %s", text)
	}
	srv.Close() // it waits for the call
}

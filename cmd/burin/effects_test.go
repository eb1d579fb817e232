package main

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/anthropic"
	"github.com/burin-dev/burin/llm/llmtest"
)

// configured is a home with settings and a scripted model; burin runs in it.
type configured struct {
	t     *testing.T
	dir   string
	model *llmtest.Server
}

func configure(t *testing.T, config string, turns ...llmtest.Turn) *configured {
	t.Helper()
	model, err := llmtest.Serve(anthropic.Server{}, llmtest.Script{Turns: turns})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(model.Close)
	c := &configured{t: t, dir: t.TempDir(), model: model}
	c.put("burin/models.yml", fmt.Sprintf("providers: {box: {baseUrl: '%s', api: anthropic-messages, auth: none, models: [{id: m, contextWindow: 100000, cost: free}]}}\n", model.URL))
	c.put("burin/config.yml", "modelRoles: {default: box/m}\n"+config)
	return c
}

func (c *configured) put(name, text string) {
	c.t.Helper()
	path := filepath.Join(c.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		c.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		c.t.Fatal(err)
	}
}

// burin runs and gives what was printed.
func (c *configured) burin(args ...string) string {
	c.t.Helper()
	cmd := command(c.t, args...)
	cmd.Dir = filepath.Join(c.dir, "work")
	if err := os.MkdirAll(cmd.Dir, 0o700); err != nil {
		c.t.Fatal(err)
	}
	cmd.Env = append(cmd.Env, "HOME="+c.dir, "BURIN_HOME="+filepath.Join(c.dir, "burin"))
	out, _ := cmd.CombinedOutput() // whether it fails is what the tests look at
	return string(out)
}

func says(text string, used int) llmtest.Turn {
	return llmtest.Turn{Parts: []llmtest.Part{{Text: text}}, Events: llmtest.Stop(llm.StopEnd, llm.Usage{Input: used, Output: 20})}
}

func calls(tool, args string, used int) llmtest.Turn {
	return llmtest.Turn{Parts: []llmtest.Part{{Call: tool, Args: args}}, Events: llmtest.Stop(llm.StopToolUse, llm.Usage{Input: used, Output: 20})}
}

// web_search asks the server of searxng.endpoint.
func TestSearXNGSetting(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"results":[{"title":"Found %s","url":"https://found.example/","content":"here"}]}`, r.URL.Query().Get("q"))
	}))
	t.Cleanup(srv.Close)
	for endpoint, found := range map[string]bool{srv.URL: true, "http://127.0.0.1:1": false} {
		c := configure(t, "approval: full\nsearxng: {endpoint: '"+endpoint+"'}\n", calls("web_search", `{"query":"herons"}`, 100), says("Done.", 100))
		out := c.burin("-p", "search")
		if got := strings.Contains(string(c.model.Raw()[1].Body), "Found herons"); got != found {
			t.Errorf("%s: found is %v\n%s", endpoint, got, out)
		}
	}
}

// searxng.token, or searxng.basicUsername and basicPassword, prove who asks; searxng.categories and
// language choose. The secret ones are not listed.
func TestSearXNGAccountSettings(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	var asked atomic.Value
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Store(r.Header.Get("Authorization") + " " + r.URL.Query().Get("categories") + " " + r.URL.Query().Get("language"))
		fmt.Fprint(w, `{"results":[]}`)
	}))
	t.Cleanup(srv.Close)
	for _, tt := range []struct{ settings, want string }{
		{"", "  "},
		{", token: tok-73, categories: 'it,science', language: de", "Bearer tok-73 it,science de"},
		{", basicUsername: me, basicPassword: pw-73, language: en", "Basic " + base64.StdEncoding.EncodeToString([]byte("me:pw-73")) + "  en"},
	} {
		c := configure(t, "approval: full\nsearxng: {endpoint: '"+srv.URL+"'"+tt.settings+"}\n", calls("web_search", `{"query":"herons"}`, 100), says("Done.", 100))
		if out := c.burin("-p", "search"); asked.Load() != tt.want {
			t.Errorf("%s: the server was asked %q, want %q\n%s", tt.settings, asked.Load(), tt.want, out)
		}
		if out := c.burin("config", "list", "searxng") + c.burin("config", "list", "searxng", "--json"); strings.Contains(out, "-73") {
			t.Errorf("%s: listed: %s", tt.settings, out)
		}
	}
}

// What proves who asks is for the user's own server, and not for one that a project names, trusted
// or not.
func TestSearXNGAccountStaysWithTheUsersServer(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	var asked atomic.Value
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Store("asked " + r.Header.Get("Authorization"))
		fmt.Fprint(w, `{"results":[]}`)
	}))
	t.Cleanup(srv.Close)
	for _, account := range []string{"token: tok-73", "basicUsername: me, basicPassword: pw-73"} {
		asked.Store("")
		c := configure(t, "approval: full\nsearxng: {endpoint: 'http://127.0.0.1:1', "+account+"}\n", calls("web_search", `{"query":"herons"}`, 100), says("Done.", 100))
		c.put("work/.git/HEAD", "ref: refs/heads/main\n")
		c.put("work/.burin/config.yml", "searxng: {endpoint: '"+srv.URL+"'}\n")
		out := c.burin("trust", "--allow", ".burin/config.yml") + c.burin("-p", "search")
		if asked.Load() != "asked " {
			t.Errorf("%s: the project's server was asked %q\n%s", account, asked.Load(), out)
		}
	}
}

// Settings of what tools do and show: each of two values gives the model another result.
func TestToolSettings(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	for _, tt := range []struct {
		key, a, b    string // two values
		tool, args   string
		isA, isB     string // what is in the result with a, and with b
		onlyUnixLike bool
	}{
		{"edit: {fuzzyMatch: %s}", "true", "false", "edit", `{"path":"a.txt","edits":[{"old":"one  \ntwo","new":"three"}]}`, "Edited a.txt", "edits must be exact here", false},
		{"edit: {blockAutoGenerated: %s}", "true", "false", "edit", `{"path":"gen.go","edits":[{"old":"package gen","new":"package other"}]}`, "gen.go is generated", "Edited gen.go", false},
		{"read: {defaultLimit: %s}", "2", "2000", "read", `{"path":"long.txt"}`, "2 lines of 10 shown; continue with :3", "line 10", false},
		{"search: {contextBefore: %s}", "0", "2", "grep", `{"pattern":"line 5","path":"long.txt"}`, `long.txt\n5:line 5`, `long.txt\n3-line 3\n4-line 4\n5:line 5`, false},
		{"search: {contextAfter: %s}", "0", "1", "grep", `{"pattern":"line 5","path":"long.txt"}`, `5:line 5\n"`, `5:line 5\n6-line 6\n"`, false},
		{"bash: {stripTrailingHeadTail: %s}", "true", "false", "bash", `{"command":"(echo lo*st; seq 9; exit 3) | tail -1"}`, `"lo*st\n1\n`, "", true},
		{"tools: {artifactHeadBytes: %s}", "1", "0", "bash", `{"command":"seq 30000"}`, `1\n2\n3\n`, "", true},
		{"tools: {artifactTailBytes: %s}", "1", "30", "bash", `{"command":"seq 30000"}`, "", `\n29000\n`, true},
		{"tools: {outputMaxColumns: %s}", "0", "100", "bash", `{"command":"printf %0900d 7; echo"}`, strings.Repeat("0", 899) + "7", "", true},
	} {
		if tt.onlyUnixLike && runtime.GOOS == "windows" {
			continue
		}
		for i, value := range []string{tt.a, tt.b} {
			c := configure(t, "approval: full\n"+fmt.Sprintf(tt.key, value)+"\n", calls("read", `{"path":"a.txt:1"}`, 100), calls(tt.tool, tt.args, 100), says("Done.", 100))
			c.put("work/a.txt", "one\ntwo\n")
			c.put("work/gen.go", "// Code generated by x. DO NOT EDIT.\npackage gen\n")
			var long strings.Builder
			for n := range 10 {
				fmt.Fprintf(&long, "line %d\n", n+1)
			}
			c.put("work/long.txt", long.String())
			out := c.burin("-p", "do it")
			result := string(c.model.Raw()[2].Body)
			want, not := tt.isA, tt.isB
			if i == 1 {
				want, not = not, want
			}
			if !strings.Contains(result, want) || not != "" && strings.Contains(result, not) && !strings.Contains(want, not) {
				t.Errorf("%s: want %q, not %q\n%s\n%s", fmt.Sprintf(tt.key, value), want, not, out, result)
			}
		}
	}
}

// compaction.remoteEndpoint writes the summaries instead of a model.
func TestSummaryServerSetting(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	var asked atomic.Int32
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		fmt.Fprint(w, `{"summary":"REMOTE SUMMARY"}`)
	}))
	t.Cleanup(srv.Close)
	for _, remote := range []bool{true, false} {
		asked.Store(0)
		config := "contextPromotion: {enabled: false}\ncompaction: {keepRecentTokens: 1, thresholdTokens: 9000"
		if remote {
			config += ", remoteEndpoint: '" + srv.URL + "'"
		}
		c := configure(t, config+"}\n", says("One.", 12_000), says("MODEL SUMMARY", 100), says("short", 100), says("Two.", 100))
		c.burin("-p", strings.Repeat("remember this ", 1000))
		out := c.burin("-p", "go on", "--continue")
		all := c.model.Raw()
		if got := strings.Contains(string(all[len(all)-1].Body), "REMOTE SUMMARY"); got != remote || (asked.Load() > 0) != remote {
			t.Errorf("with a server %v: its summary is there %v, it was asked %d times\n%s", remote, got, asked.Load(), out)
		}
	}
}

// A read of what was written since is shortened, unless compaction.supersedeReads is off.
func TestSupersedeReadsSetting(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	for _, on := range []bool{true, false} {
		c := configure(t, fmt.Sprintf("approval: full\ncompaction: {supersedeReads: %v}\n", on),
			calls("read", `{"path":"a.txt"}`, 4000), calls("write", `{"path":"a.txt","content":"short"}`, 14_000), says("Done.", 100))
		c.put("work/a.txt", strings.Repeat("a line of the file\n", 1500))
		out := c.burin("-p", "shorten it")
		all := c.model.Raw()
		if n := strings.Count(string(all[len(all)-1].Body), "a line of the file"); (n == 0) != on {
			t.Errorf("supersedeReads %v: the model reads %d lines of the file\n%s", on, n, out)
		}
	}
}

// An answer that only shows signs of life ends after stream.noContentTimeoutMs.
func TestNoContentSetting(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for end := time.After(1500 * time.Millisecond); ; {
			select {
			case <-r.Context().Done():
				return
			case <-end: // it has something to say after all
				fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"At last.\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
				return
			case <-tick.C:
				fmt.Fprint(w, ": ping\n\n")
				w.(http.Flusher).Flush()
			}
		}
	}))
	t.Cleanup(srv.Close)
	for ms, want := range map[int]string{300: "signs of life", 60_000: "At last."} {
		c := configure(t, fmt.Sprintf("stream: {noContentTimeoutMs: %d}\nretry: {enabled: false}\n", ms))
		if out := c.burin("-p", "hello", "--model", "local/x", "--api", "openai-completions", "--base-url", srv.URL+"/v1"); !strings.Contains(out, want) {
			t.Errorf("%d ms: %s", ms, out)
		}
	}
}

// The model is told what the sandbox lets commands do.
func TestSandboxSettings(t *testing.T) {
	t.Parallel()
	for config, want := range map[string]string{
		"sandbox: {mode: read-only}":                                 "read files but not change any, and have no network.",
		"sandbox: {mode: workspace-write}":                           "write in the workspace, temporary folders and build caches only, and have no network.",
		"sandbox: {mode: workspace-write, hosts: [api.example.com]}": "have no network but for api.example.com.",
	} {
		c := configure(t, config+"\n", says("One.", 100))
		out := c.burin("-p", "hello")
		if strings.Contains(out, "sandbox") {
			t.Skip("no sandbox here: ", out)
		}
		if body := string(c.model.Raw()[0].Body); !strings.Contains(body, want) {
			t.Errorf("%s: the model does not read %q\n%s", config, want, out)
		}
	}
}

// A login of one's own is begun where its provider says.
func TestOAuthSetting(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		http.Error(w, "no", http.StatusTeapot)
	}))
	t.Cleanup(srv.Close)
	for _, own := range []bool{true, false} {
		asked.Store(0)
		config := ""
		if own {
			config = "oauth: {box: {tokenUrl: '" + srv.URL + "/token', deviceUrl: '" + srv.URL + "/device', clientId: x}}\n"
		}
		c := configure(t, config)
		if out := c.burin("login", "box", "--device"); (asked.Load() > 0) != own {
			t.Errorf("own login %v: the provider was asked %d times\n%s", own, asked.Load(), out)
		}
	}
}

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/burin-dev/burin/internal/pacetest"
)

// testToken is the token of the server of a test.
const testToken = "0123456789abcdef0123"

// httpClient asks a server that runs as a program of its own.
type httpClient struct {
	t    *testing.T
	url  string
	cmd  *exec.Cmd
	spec map[string]any
	said *bytes.Buffer // on standard error; read once it has ended
}

// serveIt starts burin serve.
func serveIt(t *testing.T, cmd *exec.Cmd, args ...string) *httpClient {
	t.Helper()
	return serveWith(t, cmd.Path, cmd, args...)
}

// serveWith starts burin serve with another program of burin's.
func serveWith(t *testing.T, bin string, cmd *exec.Cmd, args ...string) *httpClient {
	t.Helper()
	cmd = in(cmd, bin, cmd.Dir)
	cmd.Env = slices.Clone(cmd.Env)
	cmd.Args = append(cmd.Args, append([]string{"serve", "--addr", "127.0.0.1:0"}, args...)...)
	cmd.Env = append(cmd.Env, tokenVariable+"="+testToken)
	said := new(bytes.Buffer)
	cmd.Stderr = said
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // it may have ended
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		_ = cmd.Wait()
		t.Fatalf("%v: %s", err, said)
	}
	c := &httpClient{t: t, url: strings.TrimSpace(line), cmd: cmd, said: said}
	c.must(http.StatusOK, "GET", "/v1/openapi.json", nil, &c.spec)
	return c
}

// end tells the server to end.
func (c *httpClient) end() {
	c.t.Helper()
	if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		c.t.Fatal(err)
	}
	_ = c.cmd.Wait() // a signal ends it
}

func (c *httpClient) request(verb, path, body string) *http.Request {
	c.t.Helper()
	r, err := http.NewRequestWithContext(c.t.Context(), verb, c.url+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+testToken)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
		for raw := range c.takes(verb, path) {
			r.Header.Set("Content-Type", raw)
		}
	}
	return r
}

// takes gives the types of bodies that an operation has in place of JSON.
func (c *httpClient) takes(verb, path string) map[string]any {
	content, _ := dig(c.operation(verb, path), "requestBody", "content").(map[string]any)
	if content["application/json"] != nil {
		return nil
	}
	return content
}

// operation is the description of what a path is for; nil: it has none.
func (c *httpClient) operation(verb, path string) any {
	path, _, _ = strings.Cut(path, "?")
	op := dig(c.spec, "paths", path, strings.ToLower(verb))
	for parts, i := strings.Split(path, "/"), 3; op == nil && i < len(parts); i++ { // one of them is an id, and the last perhaps a file's or a name
		parts := slices.Concat(parts[:i], []string{"{id}"}, parts[i+1:])
		op = dig(c.spec, "paths", strings.Join(parts, "/"), strings.ToLower(verb))
		for _, last := range []string{"{file}", "{name}"} {
			if op == nil {
				parts[len(parts)-1] = last
				op = dig(c.spec, "paths", strings.Join(parts, "/"), strings.ToLower(verb))
			}
		}
	}
	return op
}

func (c *httpClient) do(r *http.Request) (status int, body []byte) {
	c.t.Helper()
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		c.t.Fatal(err)
	}
	defer answer.Body.Close()
	if body, err = io.ReadAll(answer.Body); err != nil {
		c.t.Fatal(err)
	}
	return answer.StatusCode, body
}

// must asks, and reads the answer, which must have the status and be as openapi.json says.
func (c *httpClient) must(status int, verb, path string, with, is any) {
	c.t.Helper()
	body := ""
	if with != nil {
		data, err := json.Marshal(with)
		if err != nil {
			c.t.Fatal(err)
		}
		body = string(data)
	}
	got, data := c.do(c.request(verb, path, body))
	if got != status {
		c.t.Fatalf("%s %s: %d %s", verb, path, got, data)
	}
	c.fits(verb, path, got, data)
	if is == nil {
		return
	}
	if err := json.Unmarshal(data, is); err != nil {
		c.t.Fatalf("%s %s: %v: %s", verb, path, err, data)
	}
}

// fits holds an answer against the description of its operation.
func (c *httpClient) fits(verb, path string, status int, data []byte) {
	c.t.Helper()
	if c.spec == nil {
		return
	}
	op, ok := c.operation(verb, path).(map[string]any)
	if !ok {
		c.t.Fatalf("%s %s is not described", verb, path)
	}
	schema := dig(op, "responses", fmt.Sprint(status), "content", "application/json", "schema")
	if status >= 400 {
		schema = map[string]any{"$ref": "#/components/schemas/Problem"}
	}
	if schema == nil {
		return
	}
	raw, err := json.Marshal(map[string]any{"allOf": []any{schema}, "$defs": dig(c.spec, "components", "schemas")})
	if err != nil {
		c.t.Fatal(err)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(bytes.ReplaceAll(raw, []byte("#/components/schemas/"), []byte("#/$defs/")), &s); err != nil {
		c.t.Fatal(err)
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		c.t.Fatal(err)
	}
	var value any
	if err := json.Unmarshal(data, &value); err != nil {
		c.t.Fatal(err)
	}
	if err := resolved.Validate(value); err != nil {
		c.t.Errorf("%s %s: %v: %s", verb, path, err, data)
	}
}

func dig(v any, keys ...string) any {
	for _, k := range keys {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[k]
	}
	return v
}

// followed is an event stream.
type followed struct {
	t     *testing.T
	stop  context.CancelFunc
	lines chan string
	id    string         // of the last event
	seqs  []float64      // of the events, but for pieces, which a late reader gets as a whole
	facts map[string]any // the last ones
}

func (c *httpClient) follow(last, query string) *followed {
	c.t.Helper()
	ctx, stop := context.WithCancel(c.t.Context())
	r := c.request("GET", "/v1/events?"+query, "").WithContext(ctx)
	if last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		c.t.Fatal(err)
	}
	if answer.StatusCode != http.StatusOK {
		data, _ := io.ReadAll(answer.Body)
		c.t.Fatalf("%s: %s", answer.Status, data)
	}
	f := &followed{t: c.t, stop: stop, lines: make(chan string, 10000)}
	go func() {
		defer answer.Body.Close()
		defer close(f.lines)
		in := bufio.NewScanner(answer.Body)
		in.Buffer(nil, 1<<20)
		for in.Scan() {
			f.lines <- in.Text()
		}
	}()
	return f
}

// until reads until an event of a type that fits; "" is the first facts.
func (f *followed) until(typ string, fits func(map[string]any) bool) map[string]any {
	f.t.Helper()
	late := time.After(time.Minute)
	for {
		select {
		case line, ok := <-f.lines:
			if !ok {
				f.t.Fatalf("the stream ended before %s", typ)
			}
			if id, ok := strings.CutPrefix(line, "id: "); ok {
				f.id = id
			}
			data, ok := strings.CutPrefix(line, "data: ")
			if !ok {
				continue
			}
			var v struct {
				Session      string
				Facts, Event map[string]any
			}
			if err := json.Unmarshal([]byte(data), &v); err != nil {
				f.t.Fatalf("%v: %s", err, data)
			}
			if v.Facts != nil {
				f.facts = v.Facts
				if typ == "" {
					return nil
				}
			}
			if v.Event == nil {
				continue
			}
			piece := v.Event["type"] == "message_update" || v.Event["type"] == "tool_execution_update"
			if seq, ok := v.Event["seq"].(float64); ok && !piece {
				f.seqs = append(f.seqs, seq)
			}
			if v.Event["type"] == typ && (fits == nil || fits(v.Event)) {
				return v.Event
			}
		case <-late:
			f.t.Fatalf("no %s within a minute", typ)
		}
	}
}

func saying(text string) map[string]any {
	return map[string]any{"message": map[string]any{"role": "user", "content": text}}
}

// A program begins a session, follows it, answers what it asks, is cut off and misses nothing.
func TestServe(t *testing.T) {
	t.Parallel()
	b := newBrain(t)
	cmd := machine(t, b, rpcConfig)
	c := serveIt(t, cmd, "--approval", "ask")
	var made struct{ ID string }
	c.must(http.StatusCreated, "POST", "/v1/sessions", map[string]any{"folder": cmd.Dir}, &made)
	at := "/v1/sessions/" + made.ID
	early := c.follow("", "session="+made.ID+"&answers=true&name=test")
	early.until("", nil)
	early.stop() // before the first event
	witness := c.follow("", "session="+made.ID)
	c.must(http.StatusOK, "POST", at+"/submit", saying("say hello"), nil)
	f := c.follow(early.id, "session="+made.ID+"&answers=true&name=test")
	f.until("agent_settled", nil)
	f.stop()

	c.must(http.StatusOK, "POST", at+"/submit", saying("run touch made"), nil)
	g := c.follow(f.id, "session="+made.ID+"&answers=true")
	q := g.until("question_asked", nil)
	id := dig(q, "question", "id")
	if id == nil {
		t.Fatalf("the question is %v", q)
	}
	var list []struct{ ID, State, Question, Folder string }
	c.must(http.StatusOK, "GET", "/v1/sessions", nil, &list)
	if len(list) != 1 || list[0].State != "waiting" || list[0].Question != "may run bash?" {
		t.Errorf("the list is %+v", list)
	}
	c.must(http.StatusOK, "POST", at+"/answer", map[string]any{"id": id, "reply": map[string]any{"permission": map[string]any{"allow": true}}}, nil)
	g.until("agent_settled", nil)
	if _, err := os.Stat(filepath.Join(cmd.Dir, "made")); err != nil {
		t.Error(err)
	}
	g.stop()
	witness.until("agent_settled", nil)
	witness.until("agent_settled", nil)
	if all := slices.Concat(f.seqs, g.seqs); !slices.Equal(all, witness.seqs) {
		t.Errorf("cut off in between, a client saw the events %v, another one %v", all, witness.seqs)
	}
	var open struct {
		Header struct{ ID string }
		Facts  struct{ Working bool }
	}
	c.must(http.StatusOK, "GET", at, nil, &open)
	if open.Header.ID != made.ID || open.Facts.Working {
		t.Errorf("the session is %+v", open)
	}
	for _, m := range []string{"agents", "breakdown", "cursor", "goal", "jobs", "nodes", "plan", "policy", "queue", "questions", "rules", "todos", "tools", "turns", "pins", "consoles"} {
		c.must(http.StatusOK, "POST", at+"/"+m, nil, nil)
	}
	c.end()

	// Another server opens the session again. A cursor of the one before is answered with what is missing.
	c = serveIt(t, cmd)
	h := c.follow(g.id, "")
	h.until("owner_changed", nil)
	c.must(http.StatusOK, "POST", at+"/submit", saying("say again"), nil)
	h.until("agent_settled", nil)
	r := c.request("POST", at+"/aside", `{"text":"say aside"}`)
	r.Header.Set("Accept", "text/event-stream")
	if _, body := c.do(r); !strings.Contains(string(body), "event: chunk\ndata: \"SUMMARY \"") || !strings.Contains(string(body), "event: result\ndata: {\"text\":\"SUMMARY of what was said\"}") {
		t.Errorf("aside came as\n%s", body)
	}
	c.end()
}

// A session of another process is joined where it is: what is said over HTTP is heard there.
func TestServeJoins(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	b := newBrain(t)
	cmd := machine(t, b, rpcConfig)
	owner := drive(t, cmd, "--mode", "rpc")
	owner.send(`{"id":"1","type":"prompt","message":"say hello"}`)
	owner.event("agent_settled")
	id := owner.ask("2", `{"id":"2","type":"get_state"}`)["sessionId"].(string)
	c := serveIt(t, cmd)
	f := c.follow("", "session="+id)
	c.must(http.StatusOK, "POST", "/v1/sessions/"+id+"/submit", saying("say from afar"), nil)
	f.until("agent_settled", nil)
	owner.until("the answer", func(v map[string]any) bool {
		return v["type"] == "message_end" && strings.Contains(v["\x00"].(string), `"text":"from afar"`)
	})
	var list []struct{ ID, State string }
	c.must(http.StatusOK, "GET", "/v1/sessions?limit=1", nil, &list)
	if len(list) != 1 || list[0].State != "idle" {
		t.Errorf("the list is %+v", list)
	}
	owner.end(exitDone)
	// The next request opens it in the server.
	var status int
	for range 3 { // the first one finds that the owner has gone
		if status, _ = c.do(c.request("POST", "/v1/sessions/"+id+"/submit", `{"message":{"role":"user","content":"say alone"}}`)); status == http.StatusOK {
			break
		}
	}
	if status != http.StatusOK {
		t.Errorf("after its owner has ended: %d", status)
	}
	c.end()
}

// burin attach joins a session of a server, and needs its token.
func TestAttachToServer(t *testing.T) {
	t.Parallel()
	b := newBrain(t)
	cmd := machine(t, b, rpcConfig)
	c := serveIt(t, cmd)
	var made struct{ ID string }
	c.must(http.StatusCreated, "POST", "/v1/sessions", map[string]any{"folder": cmd.Dir, "model": "box/two", "mode": "full"}, &made)
	watch := func(address string, env ...string) (*exec.Cmd, *bufio.Reader, *bytes.Buffer) {
		w := again(cmd)
		w.Args = append(w.Args, "attach", address, "--mode", "json")
		w.Env = append(w.Env, env...)
		said := new(bytes.Buffer)
		w.Stderr = said
		out, err := w.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Start(); err != nil {
			t.Fatal(err)
		}
		return w, bufio.NewReader(out), said
	}
	w, out, said := watch(c.url+"/"+made.ID, tokenVariable+"="+testToken)
	if line, err := out.ReadString('\n'); err != nil || !strings.Contains(line, `"type":"burin"`) {
		t.Fatalf("%v: %q %s", err, line, said)
	}
	c.must(http.StatusOK, "POST", "/v1/sessions/"+made.ID+"/submit", saying("say seen"), nil)
	for {
		line, err := out.ReadString('\n')
		if err != nil {
			t.Fatalf("%v: %s", err, said)
		}
		if strings.Contains(line, `"type":"message_end"`) && strings.Contains(line, `"text":"seen"`) {
			break
		}
	}
	if m := b.srv.Requests(); m[len(m)-1].Model.ID != "two" {
		t.Errorf("asked the model %q", m[len(m)-1].Model.ID)
	}
	for _, tt := range []struct{ address, env, want string }{
		{c.url, "A=", "no token for " + c.url + ": set BURIN_SERVER_TOKEN"},
		{c.url, tokenVariable + "=wrong-wrong-wrong-wrong", "send a token of this server"},
		{c.url + "/nowhere", tokenVariable + "=" + testToken, `unknown session "nowhere"`},
		{"http://example.org/x", tokenVariable + "=" + testToken, "would carry the token in the clear"},
	} {
		w, out, said := watch(tt.address, tt.env)
		_, _ = io.ReadAll(out)
		if err := w.Wait(); err == nil || !strings.Contains(said.String(), tt.want) {
			t.Errorf("%s with %s: %v: %s", tt.address, tt.env, err, said)
		}
	}
	c.end()
	if err := w.Wait(); err != nil {
		t.Errorf("the watcher: %v: %s", err, said)
	}
}

// Every operation refuses who has no token, and pages of others. What is wrong gets one clear line.
func TestServeRefuses(t *testing.T) {
	t.Parallel()
	b := newBrain(t)
	cmd := machine(t, b, rpcConfig)
	c := serveIt(t, cmd)
	var made struct{ ID string }
	c.must(http.StatusCreated, "POST", "/v1/sessions", map[string]any{"folder": cmd.Dir}, &made)
	for path, verbs := range c.spec["paths"].(map[string]any) {
		for verb, op := range verbs.(map[string]any) {
			open := len(dig(op, "security").([]any)) == 0
			at := strings.ReplaceAll(path, "{id}", made.ID)
			for what, change := range map[string]func(*http.Request){
				"401 no token":       func(r *http.Request) { r.Header.Del("Authorization") },
				"401 wrong token":    func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+strings.Repeat("x", 20)) },
				"401 token as Basic": func(r *http.Request) { r.SetBasicAuth("", testToken) },
				"421 other host":     func(r *http.Request) { r.Host = "burin.example.org" },
			} {
				r := c.request(strings.ToUpper(verb), at, "{}")
				change(r)
				if open && strings.HasPrefix(what, "401") {
					continue
				}
				if status, body := c.do(r); fmt.Sprint(status) != what[:3] || !json.Valid(body) {
					t.Errorf("%s %s, %s: %d %s", verb, at, what, status, body)
				}
			}
			if verb == "post" {
				r := c.request("POST", at, "{}")
				r.Header.Set("Origin", "https://example.org")
				r.Header.Set("Sec-Fetch-Site", "cross-site")
				if status, body := c.do(r); status != http.StatusForbidden {
					t.Errorf("%s from a page: %d %s", at, status, body)
				}
			}
		}
	}
	at := "/v1/sessions/" + made.ID
	for _, tt := range []struct {
		verb, path, body string
		status           int
		want             string
	}{
		{"GET", "/v1/nothing", "", 404, "/v1/openapi.json"},
		{"DELETE", "/v1/sessions", "", 405, "takes GET"},
		{"GET", at + "/submit", "", 405, "takes POST"},
		{"POST", "/v1/sessions/none/submit", `{"message":{"role":"user","content":"x"}}`, 404, "unknown session"},
		{"POST", at + "/nothing", "{}", 404, "nothing is at"},
		{"POST", at + "/submit", `{"message":`, 400, "unexpected end"},
		{"POST", at + "/submit", `{"message":7}`, 400, "wrong parameters"},
		{"POST", at + "/answer", `{"id":"q9","reply":{}}`, 409, ""},
		{"POST", "/v1/sessions", `{"folder":"here"}`, 400, "absolute"},
		{"POST", "/v1/sessions", `{"folder":"/nowhere/at/all"}`, 422, "no such file"},
		{"POST", "/v1/sessions", fmt.Sprintf(`{"folder":%q,"thinking":"hard"}`, cmd.Dir), 422, "--thinking"},
		{"GET", "/v1/sessions?limit=-1", "", 400, "limit"},
		{"GET", "/v1/events", "", 400, "from 1 to 100"},
		{"GET", "/v1/events?session=" + made.ID + "&session=" + made.ID, "", 400, "twice"},
		{"GET", "/v1/events?session=" + made.ID + "@x", "", 400, "ID@EPOCH.SEQ"},
		{"GET", "/v1/events?session=none", "", 404, "unknown session"},
		{"GET", at + "/attach", "", 426, `"status":426`},
	} {
		status, body := c.do(c.request(tt.verb, tt.path, tt.body))
		if status != tt.status || !strings.Contains(string(body), tt.want) {
			t.Errorf("%s %s %s: %d %s", tt.verb, tt.path, tt.body, status, body)
		}
	}
	r := c.request("POST", at+"/submit", "{}")
	r.Header.Set("Content-Type", "text/plain")
	if status, body := c.do(r); status != http.StatusUnsupportedMediaType {
		t.Errorf("text/plain: %d %s", status, body)
	}
	c.end()
	for _, args := range [][]string{{"--addr", "0.0.0.0:0"}, {"--addr", "192.168.1.1:80"}, {"--addr", "here"}, {"--resume", "x"}} {
		s := again(cmd)
		s.Args = append(append(s.Args, "serve"), args...)
		out, err := s.CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != exitUsage {
			t.Errorf("%v: %v: %s", args, err, out)
		}
	}
}

// The token is in a file that only its owner reads, and stays the same.
func TestServerToken(t *testing.T) {
	t.Parallel()
	cmd := machine(t, newBrain(t), rpcConfig)
	var tokens []string
	for range 2 {
		s := again(cmd)
		s.Args = append(s.Args, "serve", "--addr", "127.0.0.1:0")
		out, err := s.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Start(); err != nil {
			t.Fatal(err)
		}
		at, err := bufio.NewReader(out).ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		var home string
		for _, v := range s.Env {
			if v, ok := strings.CutPrefix(v, "BURIN_HOME="); ok {
				home = v
			}
		}
		file := filepath.Join(home, "server.json")
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		if mode := info.Mode().Perm(); mode != 0o600 {
			t.Errorf("the file's mode is %o", mode)
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var kept served
		if err := json.Unmarshal(data, &kept); err != nil || kept.URL != strings.TrimSpace(at) || len(kept.Token) < tokenSize {
			t.Errorf("%v: %s", err, data)
		}
		tokens = append(tokens, kept.Token)
		if err := s.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		_ = s.Wait() // a signal ends it
	}
	if tokens[0] != tokens[1] {
		t.Errorf("the tokens are %q", tokens)
	}
}

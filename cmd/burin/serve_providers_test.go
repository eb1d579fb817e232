package main

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/burin-dev/burin/internal/chat/people"
	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/anthropic"
	"github.com/burin-dev/burin/llm/llmtest"
)

// modelHost is a server of models that lists them, and notes which keys it gets.
type modelHost struct {
	*httptest.Server
	mu   sync.Mutex
	keys []string
}

func newModelHost(t *testing.T, turns ...llmtest.Turn) *modelHost {
	t.Helper()
	srv, err := llmtest.Serve(anthropic.Server{}, llmtest.Script{Turns: turns})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	to, err := url.Parse(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	v, through := &modelHost{}, httputil.NewSingleHostReverseProxy(to)
	v.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v.mu.Lock()
		v.keys = append(v.keys, r.Header.Get("X-Api-Key"))
		v.mu.Unlock()
		if r.URL.Path == "/v1/models" {
			_, _ = w.Write([]byte(`{"data":[{"id":"okapi-1","display_name":"Okapi"},{"id":"saola-2","max_input_tokens":9000}]}`))
			return
		}
		through.ServeHTTP(w, r)
	}))
	t.Cleanup(v.Close)
	return v
}

func (v *modelHost) got() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Clone(v.keys)
}

func sayings(texts ...string) (all []llmtest.Turn) {
	for _, text := range texts {
		all = append(all, llmtest.Turn{Events: slices.Concat(llmtest.Say(text), llmtest.Stop(llm.StopEnd, llm.Usage{Input: 10, Output: 5}))})
	}
	return all
}

// An admin adds, changes and removes a provider over HTTP. What stands in models.yml besides stays, keys go to no other
// host, addresses of the machine's network only on demand, and nobody else may do any of it.
func TestServeOwnProviders(t *testing.T) {
	t.Parallel()
	pacetest.Costly(t)
	cmd := machine(t, newBrain(t), rpcConfig)
	file := filepath.Join(homeOf(cmd), "burin", "models.yml")
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	mine := "# my providers\n" + string(before) + "  # the last one\n  keyed:\n    baseUrl: https://keyed.example/v1\n    apiKey: sk-file-CANARY\n    api: openai-completions\n    models:\n      # small\n      - id: a # best\n        contextWindow: 4096\n"
	if err := os.WriteFile(file, []byte(mine), 0o600); err != nil {
		t.Fatal(err)
	}
	text := func() string {
		t.Helper()
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	c := serveIt(t, cmd)
	bert := c.member(cmd, "bert", people.Member)
	from := newModelHost(t, sayings("Yes.", "Hello from afar.")...)
	other := newModelHost(t)
	type saved struct {
		Written   bool
		Why, Text string
	}
	set := func(status int, id string, change map[string]any) (is saved) {
		t.Helper()
		in := map[string]any{"name": "Far away", "icon": "🦓", "api": "anthropic-messages", "address": from.URL, "models": []string{"okapi-1"}, "local": true}
		for k, v := range change {
			in[k] = v
		}
		if status != http.StatusOK {
			c.must(status, "POST", "/v1/admin/providers/"+id, in, nil)
			return is
		}
		c.must(status, "POST", "/v1/admin/providers/"+id, in, &is)
		return is
	}

	// The server's own network is asked only on demand, and lists come with the key that is given.
	ask := map[string]any{"api": "anthropic-messages", "address": from.URL, "key": "sk-far-CANARY"}
	for _, address := range []string{from.URL, "http://169.254.169.254/latest", "http://localhost:1/v1", "http://[::1]:1"} {
		ask["address"] = address
		var is struct{ Problem string }
		if c.must(http.StatusOK, "POST", "/v1/admin/models", ask, &is); !strings.Contains(is.Problem, "this machine or its network") {
			t.Errorf("%s: %q", address, is.Problem)
		}
	}
	if got := from.got(); len(got) > 0 {
		t.Errorf("the server got %v", got)
	}
	ask["address"], ask["local"] = from.URL, true
	var listed struct {
		Models []struct {
			ID     string
			Window int
		}
	}
	c.must(http.StatusOK, "POST", "/v1/admin/models", ask, &listed)
	if got := from.got(); len(listed.Models) != 2 || listed.Models[1].Window != 9000 || !slices.Equal(got, []string{"sk-far-CANARY"}) {
		t.Errorf("listed %v with %v", listed, got)
	}

	// What can't be is refused, and changes nothing.
	for what, change := range map[string]map[string]any{
		"private":  {"local": false},
		"variable": {"address": "https://example.com/{BOX_KEY}"},
		"password": {"address": "https://a:b@example.com"},
		"file":     {"address": "file:///etc/passwd"},
		"format":   {"api": "bedrock-converse-stream"},
		"models":   {"models": []string{}},
		"twice":    {"models": []string{"a", " a"}},
		"key":      {"key": "two\nlines"},
		"icon":     {"icon": strings.Repeat("x", 40)},
	} {
		change["new"] = true
		if what == "icon" {
			if is := set(http.StatusOK, "far", change); is.Written || !strings.Contains(is.Why, "emoji") {
				t.Errorf("%s: %+v", what, is)
			}
			continue
		}
		set(http.StatusUnprocessableEntity, "far", change)
	}
	for id, change := range map[string]map[string]any{"box": {"new": true}, "anthropic": {"new": true}, "Far": {"new": true}, "far": {}, "keyed": {"api": "openai-completions"}} {
		set(http.StatusUnprocessableEntity, id, change)
	}
	if text() != mine {
		t.Errorf("the file is now\n%s", text())
	}
	for _, path := range []string{"/v1/admin/models", "/v1/admin/providers/far", "/v1/admin/providers/keyed/remove"} {
		if status, said := bert.ask(c, "POST", path, `{}`); status != http.StatusForbidden {
			t.Errorf("a member: %s: %d %s", path, status, said)
		}
	}

	// It is added after what is there, and answers at once.
	if is := set(http.StatusOK, "far", map[string]any{"new": true, "key": "sk-far-CANARY"}); !is.Written {
		t.Fatalf("not written: %+v", is)
	}
	added := "  far:\n    name: \"Far away\"\n    icon: \"🦓\"\n    baseUrl: " + from.URL + "\n    api: anthropic-messages\n    auth: apiKey\n    models:\n      - id: okapi-1\n"
	if got := text(); got != mine+added {
		t.Errorf("the file is now\n%s", got)
	}
	var tried struct{ Model, Problem string }
	c.must(http.StatusOK, "POST", "/v1/admin/providers/far/try", map[string]any{}, &tried)
	if tried.Model != "far/okapi-1" || tried.Problem != "" {
		t.Errorf("tried %+v", tried)
	}
	var usable []struct{ ID, Icon, From string }
	c.must(http.StatusOK, "GET", "/v1/models", nil, &usable)
	if !slices.Contains(usable, struct{ ID, Icon, From string }{"far/okapi-1", "🦓", "Far away"}) {
		t.Errorf("usable are %+v", usable)
	}
	var is struct {
		Name, Address string
		Models        []string
		Keyed         bool
	}
	if said := c.send(http.StatusOK, "GET", "/v1/admin/providers/keyed", "", nil); strings.Contains(said, "CANARY") {
		t.Errorf("the key is given out: %s", said)
	}

	// A change keeps the models that stay as they are written; the key stays with its host.
	c.must(http.StatusOK, "POST", "/v1/admin/providers/keyed", map[string]any{"api": "openai-completions", "address": "https://keyed.example/v1", "models": []string{"a", "b"}}, nil)
	if got := text(); !strings.Contains(got, "      # small\n      - id: a # best\n        contextWindow: 4096\n      - id: b\n  far:\n") || !strings.Contains(got, "    apiKey: sk-file-CANARY\n") {
		t.Errorf("the file is now\n%s", got)
	}
	c.must(http.StatusUnprocessableEntity, "POST", "/v1/admin/providers/keyed", map[string]any{"api": "openai-completions", "address": other.URL, "models": []string{"a"}, "local": true}, nil)
	c.must(http.StatusOK, "POST", "/v1/admin/models", map[string]any{"api": "anthropic-messages", "address": other.URL, "provider": "far", "local": true}, nil)
	set(http.StatusOK, "far", map[string]any{"address": other.URL, "models": []string{"saola-2"}})
	c.must(http.StatusOK, "GET", "/v1/admin/providers/far", nil, &is)
	if is.Address != other.URL || !slices.Equal(is.Models, []string{"saola-2"}) {
		t.Errorf("far is %+v", is)
	}
	c.must(http.StatusOK, "POST", "/v1/admin/providers/far/try", map[string]any{}, &tried)
	if got := other.got(); tried.Problem == "" || slices.Contains(got, "sk-far-CANARY") {
		t.Errorf("another host got %v, %+v", got, tried)
	}

	// It is removed; the log has all of it. A file that only a person can change is left, and the answer has what to write.
	c.must(http.StatusOK, "POST", "/v1/admin/providers/far/remove", nil, nil)
	if strings.Contains(text(), "far") {
		t.Errorf("the file is now\n%s", text())
	}
	var log []struct{ What, Detail string }
	c.must(http.StatusOK, "GET", "/v1/admin/audit", nil, &log)
	for _, what := range []string{"provider.set", "provider.remove"} {
		if !slices.Contains(log, struct{ What, Detail string }{what, "provider far"}) {
			t.Errorf("the log has no %s: %v", what, log)
		}
	}
	c.end()
	flow := "providers: {far: {baseUrl: 'https://far.example', api: anthropic-messages, auth: none, models: [{id: a}]}} # mine\n"
	if err := os.WriteFile(file, []byte(flow), 0o600); err != nil {
		t.Fatal(err)
	}
	c = serveIt(t, cmd)
	hand := set(http.StatusOK, "near", map[string]any{"new": true})
	if hand.Written || !strings.Contains(hand.Why, "by hand") || !strings.Contains(hand.Text, "near:\n    name: \"Far away\"") || !strings.Contains(hand.Text, "      - id: okapi-1\n") || text() != flow {
		t.Errorf("%+v, and the file is\n%s", hand, text())
	}
}

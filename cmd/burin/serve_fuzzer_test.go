package main

import (
	"archive/zip"
	"bytes"
	"cmp"
	"context"
	cryptorand "crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/burin-dev/burin/internal/chat/oidc/oidctest"
	"github.com/burin-dev/burin/internal/chat/passkey"
	"github.com/burin-dev/burin/internal/chat/passkey/passkeytest"
	"github.com/burin-dev/burin/internal/chat/people"
	"github.com/burin-dev/burin/internal/chat/push/pushtest"
	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/anthropic"
	"github.com/burin-dev/burin/llm/llmtest"
	"github.com/burin-dev/burin/session/remote"
)

const (
	fuzzedMemory = 400 << 20        // bytes that the server has of the system at most: two passwords at a time take 64 MB each
	fuzzedAnswer = 60 * time.Second // after which an answer doesn't come any more
	fuzzedWait   = 4 * time.Second  // for what answers when something ends
	fuzzedGrace  = 4 * time.Minute  // for operations that nobody has reached yet; in CI a quarter of a minute, as what is missing is only told there
)

// operation is one of openapi.json.
type operation struct {
	verb, path string
	name       string // the last part of the path
	needs      remote.Rights
	role       people.Role
	open       bool // for everybody
	device     bool // for browsers only
	query      []string
	in         any    // the schema of the body
	takes      string // the type of a body that isn't JSON

	answers sync.Map // the schema of each status, resolved
}

// needed says what must be there before an operation of a session can succeed: the operation that lists it, and what
// the model is told to make some.
var needed = map[string]struct{ list, tell string }{
	"answer": {"questions", "ask"}, "console_follow": {"consoles", "console"}, "console_resize": {"consoles", "console"},
	"console_type": {"consoles", "console"}, "console_stop": {"consoles", "console"}, "entry": {"nodes", "say hello"},
	"navigate": {"nodes", "say hello"}, "set_label": {"nodes", "say hello"}, "job_kill": {"jobs", "job"}, "job_output": {"jobs", "job"},
	"preview_undo": {"turns", "write"}, "turn_diff": {"turns", "write"}, "undo": {"turns", "write"}, "revoke": {"rules", "say hello"}, "stop_agent": {"agents", "agent"},
	"approve_plan": {"plan", "plan"}, "resend": {"nodes", "fail"}, "unpin": {"pins", "say hello"}, "handoff": {"nodes", "say hello"},
	"compact": {"nodes", "say more"}, "wait": {"queue", "say hello"}, "language_server_log": {"language_servers", "say hello"}, "restart_language_server": {"language_servers", "say hello"},
}

// notInChats are the methods that chats don't have: no command or language server runs there, and they have no goals, plans and agents.
var notInChats = []string{
	"approve_plan", "console_follow", "console_resize", "console_stop", "console_type", "job_kill", "job_output", "language_server_log", "preview_undo", "restart_language_server", "run", "set_goal",
	"stop_agent", "turn_diff", "turns", "undo",
}

// words are values that make sense for a field, besides those that answers had.
var fieldWords = map[string][]any{
	"right": {"read", "write"}, "rights": {"watch", "steer", "answer", "own"}, "role": {"admin", "member", "viewer"}, "thinking": {"off", "low", "high", ""},
	"mode": {"plan", "ask", "auto-edit", "full"}, "model": {"box/one", "box/two"}, "when": {"", "after", "next"}, "scope": {"session", "once"},
	"verdict": {"allow", "ask", "deny"}, "status": {"pending", "in_progress", "completed"}, "state": {"active", "paused"},
	"steering": {"all", "one-at-a-time"}, "followUp": {"all", "one-at-a-time"}, "interrupt": {"immediate", "wait"}, "advisor": {"off"},
	"key": {"sk-fuzzed"}, "tool": {"bash", "read", "write"}, "path": {"/a.txt", "/b/c.md", "/picture", "/b", "/"}, "to": {"/d.txt", "/e/f"}, "from": {"/a.txt", "/b/c.md"},
	"limit": {"1", "50"}, "recursive": {"true", ""}, "purge": {"true", ""}, "trash": {"true", ""}, "deleted": {"true"}, "inline": {"true"}, "version": {1.0, 2.0},
	"keep": {1.0, 2.0}, "q": {"words", "Some words", `"words of" mod`}, "days": {0.0, 7.0}, "cols": {80.0}, "rows": {24.0}, "revision": {0.0}, "tools": {map[string]any{"calc": map[string]any{}}},
	"budget": {1.0, 100.0}, "maxCost": {0.0, 5.0}, "maxTokens": {0.0, 100.0}, "storage": {1e9}, "turns": {2.0}, "temperature": {0.5}, "before": {"2030-01-01T00:00:00Z"},
	"models": {[]any{"box/*"}}, "icon": {"📗"}, "tags": {[]any{"a", "b"}}, "folder": {"Sea"}, "expires": {"2030-01-01T00:00:00Z"},
	"tenant": {gremlinTenant}, "format": {"json", "markdown"}, "disabled": {false, false, true}, "pattern": {"echo:*"},
}

// strange is a value that no client should send.
func (a *actor) strange() any {
	all := []any{
		nil, true, 0.0, -1.0, 1e300, 9007199254740993.0, 0.5, "", "\x00", "../../etc/passwd", "/", "//", strings.Repeat("x", 70_000), strings.Repeat("/x", 300), "\u202e\u0000", "%00", "'; DROP TABLE people; --",
		"🦫",
		[]any{},
		map[string]any{},
		[]any{[]any{[]any{}}},
		map[string]any{"id": map[string]any{}},
		"2026-13-45", "NaN", "owner",
	}
	return all[a.rnd.IntN(len(all))]
}

const picture = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"

// fuzzer sends requests that are made from openapi.json.
type fuzzer struct {
	*testing.T
	c          *httpClient
	issuer     *oidctest.Issuer
	push       *pushtest.Service
	folder     string
	operations []*operation
	until      time.Time
	sent       atomic.Int64
	named      atomic.Int64
	links      chan string // that sign in as the owner
	grace      time.Duration

	mu     sync.Mutex
	wrong  map[string]string // what must not be, with an example
	counts map[int]int       // by status
}

// actor is somebody who sends them.
type actor struct {
	asker
	f       *fuzzer
	what    string
	rights  remote.Rights // of the token; "": a browser
	rnd     *rand.Rand
	known   map[string][]any // what answers had
	flow    *http.Cookie     // of a sign-in elsewhere
	reached map[*operation]bool
	tries   map[*operation]int
	last    map[*operation]string // what a valid request got last
	project string
	private [2]string // a private project and its chat
	file    string    // that was attached to the first chat
	failed  string    // the last of what must succeed
	main    []string  // sessions that a client follows that answers
	end     context.CancelFunc
}

// Whoever is signed in reaches every operation that their role and rights allow, and nothing that they send makes the
// server fail, hang or grow without end. Requests are made from openapi.json: valid ones, of what earlier answers had, and strange ones.
// BURIN_SEED repeats the choices.
func TestServeFuzzer(t *testing.T) {
	lasts := pacetest.Long(0, 30*time.Second, 10*time.Minute)
	if lasts == 0 {
		t.Skip("takes a minute and all processors: set BURIN_LONG=ci")
	}
	model, err := llmtest.Serve(anthropic.Server{}, llmtest.Script{Turns: repeatTurns(llmtest.Turn{Reply: madReply}, 1_000_000)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(model.Close)
	issuer := oidctest.New(t)
	browsers := pushtest.Serve(t)
	go func() { // nobody reads what they are told
		for range browsers.Received {
		}
	}()
	cmd := machine(t, &brain{srv: model}, rpcConfig+fmt.Sprintf("background: {idle: 60}\nserver: {folders: [~/work], storage: true, push: 'mailto:box@example.org', pushHosts: [%q], oidc: {box: {issuer: %q, clientId: burin, clientSecretEnv: BOX_SECRET}}}\n", browsers.Host(), issuer.URL))
	writeFile(t, filepath.Join(homeOf(cmd), "burin", "lsp.json"), []byte(`{"odd": {"command": "cat", "fileTypes": [".odd"], "rootMarkers": []}}`), 0o600)
	writeFile(t, filepath.Join(cmd.Dir, "a.odd"), []byte("odd\n"), 0o600)
	writeFile(t, filepath.Join(homeOf(cmd), "push.pem"), browsers.Certificate(), 0o600)
	cmd.Env = append(cmd.Env, "SSL_CERT_FILE="+filepath.Join(homeOf(cmd), "push.pem"))
	cmd.Env = append(cmd.Env, "BOX_SECRET="+oidctest.Secret)
	c := serveIt(t, cmd, "--log", "--proxy", "127.0.0.1", "--drain", "0")
	c.url = strings.Replace(c.url, "127.0.0.1", "localhost", 1) // where passkeys work
	f := &fuzzer{T: t, c: c, issuer: issuer, push: browsers, folder: cmd.Dir, wrong: map[string]string{}, counts: map[int]int{}, until: time.Now().Add(lasts)}
	f.links = make(chan string, 5)
	for range cap(f.links) {
		link := strings.TrimSpace(run(t, cmd, "admin", "link", "--url", c.url))
		f.links <- link[strings.LastIndexByte(link, '/')+1:]
	}
	f.read()
	seed := uint64(time.Now().UnixNano())
	if s, err := strconv.ParseUint(os.Getenv("BURIN_SEED"), 10, 64); err == nil {
		seed = s
	}
	t.Logf("seed %d", seed)
	var actors []*actor
	for _, role := range []people.Role{people.Admin, people.Member, people.Viewer} {
		for _, rights := range []remote.Rights{"", remote.Watch, remote.Steer, remote.Answer, remote.Own} {
			if rights == "" || role.Most().Include(rights) {
				seed++
				a := &actor{f: f, asker: asker{role: role}, what: strings.TrimSpace(string(role) + " " + string(rights)), rights: rights, rnd: rand.New(rand.NewPCG(seed, 1)), reached: map[*operation]bool{}, tries: map[*operation]int{}, last: map[*operation]string{}}
				if !a.begin() {
					t.Fatalf("%s can't begin: %s", a.what, a.failed)
				}
				actors = append(actors, a)
			}
		}
	}
	f.until, f.grace = time.Now().Add(lasts), min(fuzzedGrace, lasts/2)
	var all sync.WaitGroup
	for _, a := range actors {
		all.Go(a.play)
	}
	stopped := make(chan struct{})
	var memory []int64
	go func() {
		defer close(stopped)
		memory = f.guard(lasts + f.grace)
	}()
	all.Wait()
	f.mu.Lock()
	f.until = time.Time{}
	f.mu.Unlock()
	<-stopped
	for _, a := range actors {
		if a.end != nil {
			a.end()
		}
		var missing []string
		for _, o := range f.operations {
			if a.may(o) && !a.reached[o] {
				missing = append(missing, fmt.Sprint(o.verb, " ", o.path, " (", a.tries[o], "): ", a.last[o]))
			}
		}
		if len(missing) > 0 {
			say := t.Errorf
			if lasts < time.Minute { // too short for luck
				say = t.Logf
			}
			say("%s has not reached %d operations. How often it tried, and the last answer:\n%s", a.what, len(missing), strings.Join(missing, "\n"))
		}
	}
	var quarters []int64
	for i := 1; i <= 4 && len(memory) > 0; i++ {
		quarters = append(quarters, memory[len(memory)*i/4-1]>>20)
	}
	most := slices.Max(append(memory, 0))
	t.Logf("%d requests, answers %v; the server has %d MB at most, %v at the end of each quarter", f.sent.Load(), f.counts, most>>20, quarters)
	for what, example := range f.wrong {
		t.Errorf("%s: %s", what, example)
	}
	limit := int64(fuzzedMemory)
	if raced {
		limit *= 4
	}
	if most > limit {
		t.Errorf("the server has %d MB, want at most %d", most>>20, limit>>20)
	}
	c.end()
	if said := c.said.String(); strings.Contains(said, "panic") || strings.Contains(said, "DATA RACE") {
		t.Errorf("the server said %.5000s", said[max(0, strings.Index(said, "panic")):])
	}
}

// madReply does what it is told in a word.
func madReply(r *llm.Request) []llm.Event {
	used := llm.Usage{Input: 100, Output: 20}
	last := r.Messages[len(r.Messages)-1]
	call := func(tool, args string) []llm.Event {
		return append(llmtest.Call(fmt.Sprintf("call_%d", len(r.Messages)), tool, args), llmtest.Stop(llm.StopToolUse, used)...)
	}
	if last.Role != llm.RoleToolResult {
		switch strings.TrimSpace(last.Text()) {
		case "ask":
			return call("ask", `{"questions":[{"id":"color","question":"Which color?","options":[{"label":"red"},{"label":"blue"}]}]}`)
		case "console":
			return call("bash", `{"command":"sleep 3","tty":true}`)
		case "job":
			return call("bash", `{"command":"echo begun; sleep 20","background":true}`)
		case "run":
			return call("bash", `{"command":"echo done"}`)
		case "write":
			return call("write", fmt.Sprintf(`{"path":"w%d.txt","content":"some words\n"}`, rand.N(1_000_000)))
		case "read":
			return call("read", `{"path":"a.txt"}`)
		case "agent":
			return call("task", `{"agent":"task","tasks":[{"id":"a1","description":"work","assignment":"job"}],"background":true}`)
		case "plan":
			return call("exit_plan", `{"title":"all","plan":"1. Run it."}`)
		case "fail":
			return llmtest.Fail(&llm.Error{Kind: llm.ErrAuth, Message: "no"})
		}
	}
	return append(llmtest.Say("Some words of the model."), llmtest.Stop(llm.StopEnd, used)...)
}

// read reads the operations.
func (f *fuzzer) read() {
	for path, verbs := range f.c.spec["paths"].(map[string]any) {
		for verb, op := range verbs.(map[string]any) {
			o := &operation{verb: strings.ToUpper(verb), path: path, name: path[strings.LastIndexByte(path, '/')+1:]}
			ways := anys(dig(op, "security"))
			o.open, o.device = len(ways) == 0, true
			for _, way := range ways {
				for _, right := range anys(dig(way, "token")) {
					o.needs, o.device = remote.Rights(right.(string)), false
				}
			}
			role, _ := dig(op, "x-role").(string)
			o.role = people.Role(role)
			for _, p := range anys(dig(op, "parameters")) {
				if dig(p, "in") == "query" {
					o.query = append(o.query, dig(p, "name").(string))
				}
			}
			content, _ := dig(op, "requestBody", "content").(map[string]any)
			for kind := range content {
				if o.in = dig(content, kind, "schema"); kind != "application/json" {
					o.takes = kind
				}
			}
			f.operations = append(f.operations, o)
		}
	}
	slices.SortFunc(f.operations, func(a, b *operation) int { return strings.Compare(a.path+a.verb, b.path+b.verb) })
}

// guard gives the memory that the server had, until the actors are done.
func (f *fuzzer) guard(lasts time.Duration) (all []int64) {
	for late := time.Now().Add(lasts); time.Now().Before(late); {
		f.mu.Lock()
		over := f.until.IsZero()
		f.mu.Unlock()
		if over {
			break
		}
		rss, _ := procMemory(f.c.cmd.Process.Pid, "VmRSS:")
		all = append(all, rss)
		select {
		case <-time.After(500 * time.Millisecond):
		case <-f.Context().Done():
		}
	}
	return all
}

func (f *fuzzer) note(what, example string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.wrong) < 30 {
		f.wrong[what] = example
	}
}

// may reports whether an actor must reach an operation.
func (a *actor) may(o *operation) bool {
	if o.open {
		return a.rights == "" && a.role == people.Admin // one is enough
	}
	if a.role != people.Admin && strings.HasPrefix(o.path, "/v1/sessions/{id}") && slices.Contains(notInChats, o.name) {
		return false
	}
	if a.rights == "" {
		return a.role.Include(o.role) && (o.device || a.role.Most().Include(o.needs))
	}
	return !o.device && a.role.Include(o.role) && a.rights.Include(o.needs)
}

// begin makes the account of an actor, with something in it.
func (a *actor) begin() bool {
	a.known = map[string][]any{}
	n := a.f.named.Add(1)
	a.name = fmt.Sprintf("%s%d", a.role, n)
	role := a.role
	if role == people.Viewer { // who had something before
		role = people.Member
	}
	owner := &actor{f: a.f, asker: asker{token: testToken}, what: "owner", rnd: a.rnd, known: map[string][]any{}}
	joined := false
	for range 5 { // an admin may take an invitation back before it is used
		var link struct{ Link string }
		if !owner.get("POST", "/v1/admin/invitations", map[string]any{"role": role}, &link) {
			a.failed = owner.failed
			return false
		}
		a.token, a.cookie = "", nil
		join := map[string]any{"code": link.Link[strings.LastIndexByte(link.Link, '/')+1:], "name": a.name, "password": personPassword}
		if joined = a.get("POST", "/v1/join", join, nil); joined {
			break
		}
	}
	if !joined {
		return false
	}
	var me struct{ ID string }
	if !a.get("GET", "/v1/me", nil, &me) {
		return false
	}
	var project struct{ ID string }
	if !a.get("POST", "/v1/projects", map[string]any{"name": "First"}, &project) {
		return false
	}
	for range 2 {
		a.put("/v1/projects/"+project.ID+"/file?path=/a.txt", "text/plain", fmt.Appendf(nil, "words %d\n", a.rnd.Int()))
	}
	var begun struct{ Chat struct{ ID string } }
	if !a.get("POST", "/v1/chats", map[string]any{"project": project.ID, "message": map[string]any{"id": "first", "message": map[string]any{"role": "user", "content": []any{
		map[string]any{"type": "image", "mimeType": "image/png", "data": pictureBytes(a.f.T, "here")}, map[string]any{"type": "text", "text": "write"},
	}}}}, &begun) {
		return false
	}
	a.main, a.project = []string{begun.Chat.ID}, project.ID
	if a.file = a.attach(); a.file == "" {
		return false
	}
	a.known[begun.Chat.ID+" submit.id"] = []any{"first"}
	if !a.seclude() {
		return false
	}
	if a.role == people.Admin {
		var made struct{ ID string }
		if !a.get("POST", "/v1/sessions", map[string]any{"folder": a.f.folder, "mode": "full"}, &made) {
			return false
		}
		a.main = append(a.main, made.ID)
	}
	if a.rights != "" {
		var token struct{ Token string }
		if !a.get("POST", "/v1/me/tokens", map[string]any{"name": "x", "rights": a.rights}, &token) {
			return false
		}
		a.cookie, a.token = nil, token.Token
	}
	if a.role == people.Viewer && !owner.get("POST", "/v1/admin/people/"+me.ID, map[string]any{"role": people.Viewer}, nil) {
		a.failed = owner.failed
		return false
	}
	a.follow()
	return true
}

// seclude makes a private project with a chat.
func (a *actor) seclude() bool {
	a.private = [2]string{strings.ToLower(cryptorand.Text()), strings.ToLower(cryptorand.Text())}
	sealed := []byte("sealed")
	at := "/v1/private/projects/" + a.private[0]
	return a.get("PUT", at, map[string]any{"data": sealed, "keys": sealed}, nil) && a.get("PUT", at+"/chats/"+a.private[1], map[string]any{"revision": 0, "data": sealed}, nil)
}

// sealed gives the body of an operation on what is private; nil: such an operation needs none of its own.
func (a *actor) sealed(o *operation) any {
	sealed := []byte("sealed")
	chat := "/v1/private/chats/" + a.private[1]
	var is struct{ Revision, Total int64 }
	var hold struct{ Lease string }
	switch strings.TrimPrefix(o.path, "/v1/private/") {
	case "projects/{id}":
		a.get("GET", "/v1/private/projects/"+a.private[0], nil, &is)
		return map[string]any{"revision": is.Revision, "data": sealed, "connect": []string{"https://api.example.com"}}
	case "projects/{id}/chats/{chat}":
		a.get("GET", chat, nil, &is)
		return map[string]any{"revision": is.Revision, "data": sealed}
	case "chats/{id}/lease":
		return map[string]any{"take": true}
	case "chats/{id}/records":
		a.get("GET", chat+"/records", nil, &is)
		a.get("POST", chat+"/lease", map[string]any{"take": true}, &hold)
		return map[string]any{"lease": hold.Lease, "at": is.Total, "records": [][]byte{sealed}}
	case "chats/{id}/release":
		a.get("POST", chat+"/lease", map[string]any{"take": true}, &hold)
		return map[string]any{"lease": hold.Lease}
	}
	return nil
}

// preparePublic sees that there is a copy of a chat or a key of a provider for an operation that needs one.
func (a *actor) preparePublic(o *operation) {
	switch o.path {
	case "/v1/shared/{id}":
		var is struct{ Path string }
		if a.get("POST", "/v1/chats/"+a.main[0]+"/shares", map[string]any{"days": 7}, &is) {
			id, secret, _ := strings.Cut(path.Base(is.Path), "#")
			a.known["shared.id"], a.known["shared.secret"] = []any{id}, []any{secret}
		}
	case "/v1/admin/keys/{id}/remove":
		var is struct{ ID int64 }
		if a.get("POST", "/v1/admin/providers/anthropic/keys", map[string]any{"key": "sk-fuzzed"}, &is) {
			a.known["keys.id"] = []any{is.ID}
		}
	}
}

// pictured is the query of a picture in the first chat.
func (a *actor) pictured() url.Values {
	var is struct{ Nodes []struct{ ID, Role string } }
	a.get("POST", "/v1/sessions/"+a.main[0]+"/nodes", map[string]any{}, &is)
	for _, n := range is.Nodes {
		if n.Role == "user" {
			return url.Values{"entry": {n.ID}, "n": {"0"}}
		}
	}
	return url.Values{}
}

// follow has the actor follow its sessions and answer there, if it may.
func (a *actor) follow() {
	if a.end != nil {
		a.end()
	}
	if a.rights == "" && a.role != people.Viewer || a.rights.Include(remote.Answer) {
		ctx, end := context.WithCancel(a.f.Context())
		a.end = end
		r := a.request(ctx, "GET", "/v1/events?answers=true&session="+strings.Join(a.main, "&session="), nil)
		go func() {
			if answer, err := http.DefaultClient.Do(r); err == nil {
				_, _ = io.Copy(io.Discard, answer.Body) // until it is canceled
				answer.Body.Close()
			}
		}()
	}
}

// attach attaches a file to the first chat; "": that failed.
func (a *actor) attach() string {
	r := a.request(a.f.Context(), "POST", "/v1/chats/"+a.main[0]+"/attachments?name=a.txt", fmt.Appendf(nil, "words %d\n", a.rnd.Int()))
	r.Header.Set("Content-Type", "application/octet-stream")
	var is struct{ ID string }
	status, data, err := a.send(r)
	if err != nil || status != http.StatusCreated || json.Unmarshal(data, &is) != nil {
		a.failed = fmt.Sprintf("%s can't attach a file: %d %s %v", a.what, status, data, err)
	}
	return is.ID
}

// get makes a request that must succeed; false: it didn't.
func (a *actor) get(verb, path string, with, is any) bool {
	var body []byte
	if with != nil {
		var err error
		if body, err = json.Marshal(with); err != nil {
			a.f.Error(err)
			return false
		}
	}
	ctx, cancel := context.WithTimeout(a.f.Context(), fuzzedAnswer)
	defer cancel()
	status, data, err := a.send(a.request(ctx, verb, path, body))
	if err != nil || status/100 != 2 {
		a.failed = fmt.Sprintf("%s can't %s %s: %d %s %v", a.what, verb, path, status, data, err)
		return false
	}
	return is == nil || json.Unmarshal(data, is) == nil
}

func (a *actor) put(path, kind string, body []byte) {
	r := a.request(a.f.Context(), "PUT", path, body)
	r.Header.Set("Content-Type", kind)
	_, _, _ = a.send(r)
}

// request makes a request as the actor, from an address of its own: who guesses has to wait.
func (a *actor) request(ctx context.Context, verb, path string, body []byte) *http.Request {
	r, err := http.NewRequestWithContext(ctx, verb, a.f.c.url+path, bytes.NewReader(body))
	if err != nil { // an id that no URL can have
		r, _ = http.NewRequestWithContext(ctx, verb, a.f.c.url+"/v1/me", nil)
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	r.Header.Set("X-Forwarded-For", fmt.Sprintf("10.%d.%d.%d", a.rnd.IntN(256), a.rnd.IntN(256), a.rnd.IntN(256)))
	if strings.TrimSpace(a.token) != "" {
		r.Header.Set("Authorization", "Bearer "+a.token)
	}
	if a.cookie != nil {
		r.AddCookie(a.cookie)
		r.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	return r
}

// send sends a request, and takes the cookie of a browser that was signed in.
func (a *actor) send(r *http.Request) (status int, data []byte, err error) {
	a.f.sent.Add(1)
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return 0, nil, err
	}
	defer answer.Body.Close()
	for _, c := range answer.Cookies() {
		if strings.HasSuffix(c.Name, "-flow") {
			a.flow = c
			continue
		}
		if a.rights == "" || a.cookie == nil && a.token == "" {
			if a.cookie = c; c.Value == "" {
				a.cookie = nil
			}
		}
	}
	if answer.StatusCode == http.StatusSwitchingProtocols {
		return answer.StatusCode, nil, nil
	}
	data, err = io.ReadAll(io.LimitReader(answer.Body, 32<<20))
	if strings.HasPrefix(answer.Header.Get("Content-Type"), "text/event-stream") {
		err = nil // it was ended here
	}
	return answer.StatusCode, data, err
}

// play sends requests until the time is over.
func (a *actor) play() {
	late := a.f.until.Add(a.f.grace)
	var mine []*operation
	for _, o := range a.f.operations {
		if a.may(o) {
			mine = append(mine, o)
		}
	}
	for a.f.Context().Err() == nil {
		o := a.f.operations[a.rnd.IntN(len(a.f.operations))]
		var missing []*operation
		for _, m := range mine {
			if !a.reached[m] {
				missing = append(missing, m)
			}
		}
		now := time.Now()
		if now.After(late) || now.After(a.f.until) && len(missing) == 0 {
			return
		}
		valid := a.rnd.IntN(3) > 0
		if len(missing) > 0 && a.rnd.IntN(3) > 0 {
			o = missing[a.rnd.IntN(len(missing))]
			valid = a.rnd.IntN(10) > 0
		}
		if a.reached[o] && ends(o) && a.rnd.IntN(20) > 0 {
			continue
		}
		a.try(o, valid)
	}
}

// ends reports whether an operation ends what others need.
func ends(o *operation) bool {
	return slices.Contains([]string{"delete", "signout", "remove", "password", "{id}", "disable", "lock", "unlock", "keys"}, o.name) && o.verb != "GET" || strings.HasPrefix(o.path, "/v1/me/factor")
}

// try sends a request for an operation.
func (a *actor) try(o *operation, valid bool) {
	a.tries[o]++
	if valid && (o.name == "picture" || o.path == "/v1/shared/{id}" || strings.Contains(o.path, "/attachments")) && !a.get("GET", "/v1/chats/"+a.main[0], nil, nil) {
		a.begin() // the first chat was deleted
	}
	if valid {
		a.prepareAccount(o)
		a.prepareSignIn(o)
		a.prepareKept(o)
		a.preparePublic(o)
	}
	session := ""
	at := o.path
	if strings.Contains(at, "{id}") {
		id := a.id(o)
		if !valid && a.rnd.IntN(3) == 0 {
			id = fmt.Sprint(a.strange())
		}
		at = strings.ReplaceAll(at, "{id}", url.PathEscape(id))
		if strings.HasPrefix(o.path, "/v1/sessions/") {
			session = id
			if need, ok := needed[o.name]; ok && valid {
				a.prepare(session, need.list, need.tell)
			}
		}
	}
	if rest, ok := strings.CutPrefix(o.path, "/v1/private/"); ok && valid {
		of := a.private[0]
		if strings.HasPrefix(rest, "chats") {
			of = a.private[1]
		}
		at = strings.NewReplacer("{id}", of, "{chat}", a.private[1]).Replace(o.path)
	}
	at = strings.ReplaceAll(at, "{chat}", "none")
	if strings.HasSuffix(o.path, "/members/{name}") { // the machine's own person is always there
		if valid {
			at = strings.ReplaceAll(o.path, "{id}", a.project)
		}
		at = strings.ReplaceAll(at, "{name}", "owner")
		if valid && o.verb == "DELETE" {
			a.get("PUT", at, map[string]any{"right": "read"}, nil)
		}
	}
	if i := strings.Index(o.path, "/attachments"); strings.HasPrefix(o.path, "/v1/chats/") && i >= 0 && valid {
		at = "/v1/chats/" + a.main[0] + o.path[i:]
		at = strings.ReplaceAll(at, "{file}", a.file)
	}
	at = strings.ReplaceAll(at, "{file}", fmt.Sprint(append([]any{"none"}, a.known["attachments.id"]...)[len(a.known["attachments.id"])]))
	if strings.HasSuffix(o.name, "_orphan") && valid {
		at = strings.ReplaceAll(o.path, "{id}", a.project)
		file := "/v1/projects/" + a.project + "/file?path=/picture"
		a.put(file, o.takes, []byte(picture))
		a.put(file, o.takes, []byte("text"))
		var all []any
		a.get("GET", "/v1/projects/"+a.project+"/files/orphans", nil, &all)
		a.known["files.id"] = nil
		for _, one := range all {
			a.known["files.id"] = append(a.known["files.id"], dig(one, "id"))
		}
	}
	query := url.Values{}
	for _, q := range o.query {
		if valid && (q == "path" || q == "q" || q == "session" || q == "name" && o.name == "attachments" || q == "from" && o.name == "diff" || q == "to" && o.name == "diff" || a.rnd.IntN(4) == 0) || !valid && a.rnd.IntN(2) == 0 {
			v := fmt.Sprint(a.field(o, session, q))
			if q == "session" {
				v = a.id(&operation{path: "/v1/sessions/{id}"})
			}
			if o.name == "diff" && (q == "from" || q == "to") {
				v = fmt.Sprint(1 + a.rnd.IntN(2))
			}
			if q == "limit" && !valid || !valid && a.rnd.IntN(3) == 0 {
				v = fmt.Sprint(a.strange())
			}
			query.Set(q, v)
		}
	}
	switch {
	case o.name == "picture" && valid:
		at, query = "/v1/sessions/"+a.main[0]+"/picture", a.pictured()
	case o.name == "help" && valid && query.Has("page"):
		query = url.Values{"page": {"howto/undo"}}
	case o.name == "records" && valid:
		query = url.Values{}
	}
	if len(query) > 0 {
		at += "?" + query.Encode()
	}
	var body []byte
	switch {
	case o.path == "/v1/chats/import" && valid:
		body = []byte(`{"format":"burin.chat","version":1,"id":"x","messages":[{"id":"1","role":"user","text":"words"}]}`)
	case o.takes == "application/zip":
		body = a.archive(valid)
	case o.takes != "":
		body = a.content()
	case o.in != nil:
		var v any = a.value(o, session, o.in, "", 0)
		if !valid {
			v = a.mutate(v)
		}
		if is := a.signsIn(o); valid && is != nil {
			v = is
		}
		if is := a.keeps(o); valid && is != nil {
			v = is
		}
		if is := a.sealed(o); valid && is != nil {
			v = is
		}
		if m, ok := v.(map[string]any); ok && o.name == "run" { // whatever else it is, it is harmless
			m["command"] = []any{"true", "echo words", "sleep 0.1"}[a.rnd.IntN(3)]
		}
		body, _ = json.Marshal(v) // plain values
		if !valid && a.rnd.IntN(8) == 0 && len(body) > 0 {
			body = body[:a.rnd.IntN(len(body))]
		}
	case !valid && a.rnd.IntN(4) == 0:
		body = []byte(`{"x":[1,2]}`)
	}
	limit := fuzzedAnswer
	if slices.Contains([]string{"wait", "console_follow", "aside", "events", "attach", "run", "compact", "handoff", "navigate"}, o.name) {
		limit = fuzzedWait
	}
	ctx, cancel := context.WithTimeout(a.f.Context(), limit)
	defer cancel()
	sender := a
	if o.open {
		sender = &actor{f: a.f, what: "somebody", rights: remote.Watch, asker: asker{token: " "}, rnd: a.rnd}
	}
	r := sender.request(ctx, o.verb, at, body)
	if o.takes != "" {
		r.Header.Set("Content-Type", o.takes)
	}
	if o.name == "attach" {
		for k, v := range map[string]string{"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="} {
			r.Header.Set(k, v)
		}
	}
	if !valid {
		a.strangeHeaders(r)
	}
	status, data, err := sender.send(r)
	if err != nil {
		if ctx.Err() == nil {
			a.f.note(fmt.Sprint("no answer to ", o.verb, " ", o.path), fmt.Sprintf("%v: %.300s", err, body))
		} else if limit == fuzzedAnswer && a.f.Context().Err() == nil {
			a.f.note(fmt.Sprint("no answer within ", limit, " to ", o.verb, " ", o.path), fmt.Sprintf("%.300s", body))
		}
		return
	}
	a.judge(o, r, session, status, data, body)
	if strings.HasPrefix(o.path, "/v1/private/") && o.verb == "DELETE" && status/100 == 2 && !a.seclude() && a.f.Context().Err() == nil {
		a.f.note(a.what+" can't make a private project", a.failed)
	}
	if o.path == "/v1/me/lock" && status/100 == 2 {
		a.unlock()
	}
}

var internals = regexp.MustCompile(`(?i)sqlite|constraint|\bpq:|runtime error|nil pointer|goroutine|out of range|database is|no such table|invalid byte sequence`)

// judge looks at an answer.
func (a *actor) judge(o *operation, r *http.Request, session string, status int, data, body []byte) {
	a.f.mu.Lock()
	a.f.counts[status]++
	a.f.mu.Unlock()
	example := func() string {
		return fmt.Sprintf("%s sends %s %.300s, gets %d %.500s", a.what, r.URL.RequestURI(), body, status, data)
	}
	switch {
	case status/100 == 2 || status == http.StatusSwitchingProtocols:
		if r.Header.Get("Accept") == "" { // else a problem may be an event
			a.reached[o] = true
		}
		if o.verb == "DELETE" && strings.HasSuffix(o.path, "{id}") {
			a.known["trash"] = append(a.known["trash"], path.Base(r.URL.Path))
		}
		a.learn(o, session, data)
	case status == http.StatusServiceUnavailable && bytes.Contains(data, []byte(`"code"`)), status == http.StatusInsufficientStorage: // clients are told of both
	case status >= 500:
		a.f.note(fmt.Sprint(status, " of ", o.verb, " ", o.path), example())
	case status == http.StatusLocked:
		a.unlock()
	case status == http.StatusTooManyRequests && strings.HasPrefix(o.path, "/v1/me/push/"):
	case status == http.StatusUnauthorized && !o.open && r.URL.Path != "/v1/signin", status == http.StatusTooManyRequests,
		status == http.StatusForbidden && a.may(o) && bytes.Contains(data, []byte("needs the right")): // an admin has changed who this is
		if !a.begin() && a.f.Context().Err() == nil {
			a.f.note(a.what+" can't begin again", a.failed)
		}
	case internals.Match(data):
		a.f.note(fmt.Sprint("what is inside is told by ", o.verb, " ", o.path), example())
	}
	if status/100 != 2 {
		a.last[o] = example()
	}
	if status >= 400 {
		if status == http.StatusRequestHeaderFieldsTooLarge { // nobody but the library has seen it
			return
		}
		var p struct {
			Title, Detail string
			Status        int
		}
		if json.Unmarshal(data, &p) != nil || p.Status != status || p.Title == "" || p.Detail == "" {
			a.f.note(fmt.Sprint("no problem is told by ", o.verb, " ", o.path), example())
		}
		return
	}
	if r.Header.Get("Accept") != "" {
		return
	}
	if err := a.f.fits(o, status, data); err != nil {
		a.f.note(fmt.Sprint("not as described: ", o.verb, " ", o.path), err.Error()+": "+example())
	}
}

// fits holds an answer against its description.
func (f *fuzzer) fits(o *operation, status int, data []byte) error {
	schema := dig(f.c.spec, "paths", o.path, strings.ToLower(o.verb), "responses", fmt.Sprint(status), "content", "application/json", "schema")
	if schema == nil {
		return nil
	}
	kept, ok := o.answers.Load(status)
	if !ok {
		raw, err := json.Marshal(map[string]any{"allOf": []any{schema}, "$defs": dig(f.c.spec, "components", "schemas")})
		if err != nil {
			return err
		}
		var s jsonschema.Schema
		if err := json.Unmarshal(bytes.ReplaceAll(raw, []byte("#/components/schemas/"), []byte("#/$defs/")), &s); err != nil {
			return err
		}
		resolved, err := s.Resolve(nil)
		if err != nil {
			return err
		}
		kept, _ = o.answers.LoadOrStore(status, resolved)
	}
	var value any
	if err := json.Unmarshal(data, &value); err != nil {
		return err
	}
	return kept.(*jsonschema.Resolved).Validate(value)
}

// prepare sees that there is something in a session that an operation needs.
func (a *actor) prepare(session, list, tell string) {
	ask := func(name string, with any) {
		for _, o := range a.f.operations {
			if o.path == "/v1/sessions/{id}/"+name {
				body, _ := json.Marshal(with) // plain values
				ctx, cancel := context.WithTimeout(a.f.Context(), fuzzedAnswer)
				r := a.request(ctx, "POST", "/v1/sessions/"+url.PathEscape(session)+"/"+name, body)
				if status, data, err := a.send(r); err == nil {
					a.judge(o, r, session, status, data, body)
				}
				cancel()
			}
		}
	}
	delete(a.known, session+" "+list+".id")
	ask(list, map[string]any{"from": 0})
	if len(a.known[session+" "+list+".id"]) == 0 && a.rnd.IntN(2) == 0 {
		if a.role == people.Admin {
			ask("set_mode", map[string]any{"text": map[bool]string{true: "plan", false: "full"}[tell == "plan"]})
		}
		ask("submit", map[string]any{"message": map[string]any{"role": "user", "content": tell}})
		ask(list, map[string]any{"from": 0})
	}
}

// prepareAccount sees that there is something of an account that an operation needs.
func (a *actor) prepareAccount(o *operation) {
	var factor struct{ Secret string }
	var codes struct{ Codes []string }
	var entered struct{ Ticket string }
	password := map[string]any{"password": personPassword}
	switch o.path {
	case "/v1/projects/{id}/restore", "/v1/chats/{id}/restore":
		of := strings.TrimSuffix(o.path, "/{id}/restore")
		var made struct {
			ID   string
			Chat struct{ ID string }
		}
		with := map[string]any{"name": "Old"}
		if of == "/v1/chats" {
			with = map[string]any{}
		}
		if a.get("POST", of, with, &made) && a.get("DELETE", of+"/"+cmp.Or(made.ID, made.Chat.ID), nil, nil) {
			a.known["trash"] = []any{cmp.Or(made.ID, made.Chat.ID)}
		}
	case "/v1/me/tokens/remove":
		a.get("POST", "/v1/me/tokens", map[string]any{"name": "old", "rights": "watch"}, nil)
		a.known["tokens.name"] = []any{"old"}
	case "/v1/me/factor/confirm":
		a.get("POST", "/v1/me/factor", password, &factor)
		a.known["factor.secret"] = []any{factor.Secret}
	case "/v1/me/factor/codes", "/v1/me/factor/remove", "/v1/signin/code":
		if a.get("POST", "/v1/me/factor", password, &factor) {
			a.get("POST", "/v1/me/factor/confirm", map[string]any{"code": totp(a.f.T, factor.Secret)}, nil)
		}
		if o.path == "/v1/signin/code" && a.get("POST", "/v1/me/factor/codes", password, &codes) && a.get("POST", "/v1/signin", map[string]any{"name": a.name, "password": personPassword}, &entered) {
			a.known["codes.id"], a.known["signin.ticket"] = []any{codes.Codes[0]}, []any{entered.Ticket}
		}
	}
}

// signsIn gives the body of an operation with passkeys or linked accounts; nil: such an operation needs nothing special.
func (a *actor) signsIn(o *operation) any {
	party, err := passkey.PartyOf(a.f.c.url)
	if err != nil {
		a.f.Error(err)
	}
	password := map[string]any{"password": personPassword}
	key := passkeytest.New(a.f.T, passkeytest.EdDSA, party)
	makes := func() any {
		var made passkey.Creation
		if !a.get("POST", "/v1/me/passkeys/begin", password, &made) {
			return nil
		}
		return map[string]any{"name": "a key", "credential": key.Make(made)}
	}
	var one struct{ ID string }
	switch o.path {
	case "/v1/me/passkeys":
		if o.verb == "POST" {
			return makes()
		}
	case "/v1/signin/passkey":
		var asked passkey.Request
		if is := makes(); is != nil && a.get("POST", "/v1/me/passkeys", is, &one) && a.get("POST", "/v1/signin/passkey/begin", nil, &asked) {
			return map[string]any{"credential": key.Sign(asked)}
		}
	case "/v1/admin/providers/{id}":
		return ownProvider()
	case "/v1/me/linked/begin":
		return map[string]any{"provider": "box", "password": personPassword}
	}
	return nil
}

// prepareSignIn sees that there is a passkey or a linked account.
func (a *actor) prepareSignIn(o *operation) {
	switch o.path {
	case "/v1/me/passkeys/{id}/remove":
		var one struct{ ID string }
		if is := a.signsIn(&operation{path: "/v1/me/passkeys", verb: "POST"}); is != nil && a.get("POST", "/v1/me/passkeys", is, &one) {
			a.known["passkeys.id"] = []any{one.ID}
		}
	case "/v1/me/linked/{id}/remove":
		var to struct{ Link string }
		if !a.get("POST", "/v1/me/linked/begin", map[string]any{"provider": "box", "password": personPassword}, &to) || a.flow == nil {
			return
		}
		a.f.issuer.Person(map[string]any{"sub": fmt.Sprint(a.rnd.Uint64())})
		r, err := http.NewRequestWithContext(a.f.Context(), "GET", to.Link, nil)
		if err != nil {
			return
		}
		answer, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			return
		}
		_ = answer.Body.Close()
		if back, err := answer.Location(); err == nil {
			r := a.request(a.f.Context(), "GET", back.RequestURI(), nil)
			r.AddCookie(a.flow)
			_, _, _ = a.send(r)
		}
		var all []any
		a.get("GET", "/v1/me/linked", nil, &all)
		a.known["linked.id"] = nil
		for _, one := range all {
			a.known["linked.id"] = append(a.known["linked.id"], dig(one, "id"))
		}
	}
}

// prepareKept sees that there is what an operation needs of files, subscriptions and locks.
func (a *actor) prepareKept(o *operation) {
	switch o.path {
	case "/v1/chats/{id}/attachments/{file}":
		if o.verb == "DELETE" || a.rights.Include(remote.Steer) || a.rights == "" && a.role != people.Viewer {
			a.file = cmp.Or(a.attach(), a.file)
		}
	case "/v1/me/push/{id}/remove", "/v1/me/push/{id}/test":
		var one struct{ ID string }
		if is := a.subscription(); is != nil && a.get("POST", "/v1/me/push", is, &one) {
			a.known["push.id"] = []any{one.ID}
		}
	case "/v1/me/lock", "/v1/me/unlock":
		a.get("POST", "/v1/me/keys", map[string]any{"mode": "own", "password": personPassword}, nil) // they may be so already
		if o.name == "unlock" {
			a.get("POST", "/v1/me/lock", nil, nil)
		}
	}
}

// keeps gives the body of an operation with subscriptions or keys; nil: such an operation needs nothing special.
func (a *actor) keeps(o *operation) any {
	switch {
	case o.path == "/v1/me/push" && o.verb == "POST":
		if is := a.subscription(); is != nil {
			return is
		}
	case o.path == "/v1/me/keys":
		var me struct{ Keys struct{ Mode string } }
		a.get("GET", "/v1/me", nil, &me)
		return map[string]any{"mode": map[bool]string{true: "own", false: "server"}[me.Keys.Mode == "server"], "password": personPassword}
	case o.path == "/v1/me/unlock":
		return map[string]any{"password": personPassword}
	}
	return nil
}

// subscription is that of a browser; nil: the server's key isn't known.
func (a *actor) subscription() map[string]any {
	var is struct{ Key string }
	if !a.get("GET", "/v1/me/push", nil, &is) {
		return nil
	}
	b := a.f.push.Subscribe(is.Key)
	return map[string]any{"endpoint": b.Endpoint, "keys": map[string]any{"p256dh": b.P256dh, "auth": b.Auth}, "title": true}
}

// unlock unlocks the keys of the actor, whose chats have ended.
func (a *actor) unlock() {
	if a.get("POST", "/v1/me/unlock", map[string]any{"password": personPassword}, nil) {
		a.follow()
	} else if !a.begin() && a.f.Context().Err() == nil {
		a.f.note(a.what+" can't begin again", a.failed)
	}
}

// id is one for the path of an operation.
func (a *actor) id(o *operation) string {
	rest, _, _ := strings.Cut(o.path, "/{id}")
	kind := rest[strings.LastIndexByte(rest, '/')+1:]
	switch kind {
	case "sessions":
		if a.rnd.IntN(3) > 0 {
			return a.main[a.rnd.IntN(len(a.main))]
		}
		if a.rnd.IntN(2) == 0 {
			kind = "chats"
		}
	case "providers":
		if o.verb == "POST" && (o.name == "{id}" || o.name == "remove") { // never the one that the others need
			return a.ownProvider(o.name == "remove")
		}
	case "chats", "projects":
		if kind == "projects" && o.verb != "DELETE" && a.rnd.IntN(2) == 0 {
			return a.project
		}
		if o.name == "restore" || o.verb == "DELETE" {
			if all := a.known["trash"]; len(all) > 0 && a.rnd.IntN(2) == 0 {
				return fmt.Sprint(all[a.rnd.IntN(len(all))])
			}
		}
	}
	all := a.known[kind+".id"]
	if len(all) == 0 {
		return "none"
	}
	return fmt.Sprint(all[max(a.rnd.IntN(len(all)), a.rnd.IntN(len(all)))]) // rather a new one
}

// ownProvider is the id of a provider that is written into models.yml; there: it is there already.
func (a *actor) ownProvider(there bool) string {
	id := fmt.Sprint("own", a.rnd.IntN(20))
	if there {
		a.get("POST", "/v1/admin/providers/"+id, ownProvider(), nil)
	}
	return id
}

func ownProvider() map[string]any {
	return map[string]any{"api": "openai-completions", "address": "https://192.0.2.1", "models": []any{"m"}, "no_key": true, "local": true, "new": true}
}

const mostKnown = 30

// learn remembers what an answer had.
func (a *actor) learn(o *operation, session string, data []byte) {
	var v any
	if len(data) > 1<<20 || json.Unmarshal(data, &v) != nil {
		return
	}
	parts := strings.FieldsFunc(strings.ReplaceAll(o.path, "{id}", ""), func(r rune) bool { return r == '/' })
	a.remember(session, parts[len(parts)-1], v, 0)
}

func (a *actor) remember(session, kind string, v any, depth int) {
	add := func(key string, v any) {
		if s, ok := v.(string); ok && (len(s) > 200 || s == "") {
			return
		}
		all := a.known[key]
		if !slices.Contains(all, v) {
			all = append(all, v)
		}
		a.known[key] = all[max(0, len(all)-mostKnown):]
	}
	switch v := v.(type) {
	case []any:
		for _, one := range v[:min(len(v), 20)] {
			if s, ok := one.(string); ok && session != "" {
				add(session+" "+kind+".id", s)
			}
			a.remember(session, kind, one, depth+1)
		}
	case map[string]any:
		for name, one := range v {
			switch one.(type) {
			case string, float64:
				if link, ok := one.(string); ok && name == "link" {
					at := strings.Split(link, "/")
					add(at[len(at)-2]+" link", at[len(at)-1])
				}
				add(kind+"."+name, one)
				if session != "" {
					add(session+" "+kind+"."+name, one)
				}
			default:
				if depth < 6 {
					if name == "chat" {
						name = "chats"
					}
					a.remember(session, name, one, depth+1)
				}
			}
		}
	}
}

// value is one that fits a schema.
func (a *actor) value(o *operation, session string, schema any, name string, depth int) any {
	if ref, ok := dig(schema, "$ref").(string); ok {
		schema = dig(a.f.c.spec, "components", "schemas", ref[strings.LastIndexByte(ref, '/')+1:])
	}
	if dig(schema, "description") == "a Message" {
		tell := []string{"say hello", "ask", "console", "job", "run", "write", "read", "agent", "plan", "fail", "<x>", "/help", "@a.txt"}
		return map[string]any{"role": "user", "content": tell[a.rnd.IntN(len(tell))]}
	}
	typ := dig(schema, "type")
	if several := anys(typ); len(several) > 0 {
		typ = several[len(several)-1]
	}
	if words := fieldWords[name]; len(words) > 0 && typ != "object" && (typ != "array" || words[0] == nil || isList(words[0])) {
		return a.field(o, session, name)
	}
	switch typ {
	case "object":
		if depth > 8 {
			return map[string]any{}
		}
		object := map[string]any{}
		properties, _ := dig(schema, "properties").(map[string]any)
		for _, property := range sortedKeys(properties) {
			if slices.Contains(anys(dig(schema, "required")), any(property)) || a.rnd.IntN(4) == 0 {
				object[property] = a.value(o, session, properties[property], property, depth+1)
			}
		}
		return object
	case "array":
		if o.name == "offer" {
			return []any{"read", "write"}
		}
		list := []any{}
		for range 1 + a.rnd.IntN(2) {
			list = append(list, a.value(o, session, dig(schema, "items"), name, depth+1))
		}
		return list
	case "boolean":
		return a.rnd.IntN(2) == 0
	case "integer":
		if all := a.known[path.Base(path.Dir(o.path))+"."+name]; len(all) > 0 && name == "id" {
			return all[a.rnd.IntN(len(all))]
		}
		return a.field(o, session, name)
	case "number":
		return float64(a.rnd.IntN(10))
	case "string":
		return a.field(o, session, name)
	}
	return map[string]any{}
}

func sortedKeys(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }

func isList(v any) bool { _, ok := v.([]any); return ok }

// field is a value for a field or a parameter of an operation.
func (a *actor) field(o *operation, session, name string) any {
	any1 := func(of []any, otherwise any) any {
		if len(of) == 0 {
			return otherwise
		}
		return of[max(a.rnd.IntN(len(of)), a.rnd.IntN(len(of)))]
	}
	fresh := fmt.Sprintf("%s%d", a.role, a.f.named.Add(1))
	switch of := strings.TrimPrefix(o.path, "/v1/"); {
	case name == "folder":
		return a.f.folder
	case of == "signin" && name == "name":
		return a.name
	case of == "storage/tenants" && name == "tenant":
		return fmt.Sprintf("%064x", a.rnd.Uint64())
	case of == "storage/tenants" && name == "password":
		return ""
	case name == "password" || name == "old":
		return personPassword
	case of == "join" && name == "code":
		return any1(a.known["join link"], "none")
	case of == "reset" && name == "secret":
		return any1(a.known["reset link"], "none")
	case of == "open" && name == "secret":
		if a.what == "admin" {
			select {
			case secret := <-a.f.links:
				return secret
			default:
			}
		}
		return "none"
	case name == "ticket":
		return any1(a.known["signin.ticket"], "none")
	case strings.HasPrefix(of, "shared/") && name == "secret":
		return any1(a.known["shared.secret"], "none")
	case of == "signin/code" && name == "code":
		return any1(a.known["codes.id"], "000000")
	case name == "code":
		if secret, ok := any1(a.known["factor.secret"], "").(string); ok && secret != "" {
			return totp(a.f.T, secret)
		}
	case name == "person":
		return any1(a.known["people.id"], "none")
	case name == "group", of == "admin/groups/remove":
		return any1(a.known["groups.name"], "none")
	case of == "me/tokens/remove":
		return any1(a.known["tokens.name"], "none")
	case name == "project":
		return any1(a.known["projects.id"], "none")
	case name == "entry", name == "before", name == "cursor":
		return ""
	case o.name == "search" && (name == "from" || name == "to"):
		return any1([]any{"2020-01-01T00:00:00Z", "2040-01-01T00:00:00Z"}, nil)
	case o.name == "wait":
		return any1(a.known[session+" submit.id"], "none")
	case o.name == "submit" && name == "id", name == "name", name == "title", name == "display":
		return fresh
	case o.name == "set_mode":
		return any1(fieldWords["mode"], nil)
	case o.name == "set_model":
		return any1(fieldWords["model"], nil)
	case o.name == "set_thinking":
		return any1(fieldWords["thinking"], nil)
	case o.name == "force":
		return any1(fieldWords["tool"], nil)
	case name == "rules":
		return "bash(echo:*)"
	case name == "keys":
		return "d29yZHMK"
	case o.name == "shake":
		return ""
	case o.name == "unpin":
		return any1(a.known[session+" pins.id"], "none")
	case name == "id" && session != "":
		return any1(a.known[session+" "+needed[o.name].list+".id"], "none")
	case o.name == "nodes" && name == "from":
		return 0
	case len(fieldWords[name]) > 0:
		return any1(fieldWords[name], nil)
	}
	if all := a.known[path.Base(o.path)+"."+name]; len(all) > 0 && a.rnd.IntN(2) == 0 {
		return any1(all, nil)
	}
	return fmt.Sprint("words ", a.rnd.IntN(100))
}

// mutate makes one thing in a value strange.
func (a *actor) mutate(v any) any {
	switch v := v.(type) {
	case map[string]any:
		keys := sortedKeys(v)
		if len(keys) == 0 || a.rnd.IntN(6) == 0 {
			return a.strange()
		}
		key := keys[a.rnd.IntN(len(keys))]
		switch a.rnd.IntN(4) {
		case 0:
			delete(v, key)
		case 1:
			v[fmt.Sprint(a.strange())] = a.strange()
		default:
			v[key] = a.mutate(v[key])
		}
		return v
	case []any:
		if len(v) == 0 || a.rnd.IntN(4) == 0 {
			return a.strange()
		}
		if a.rnd.IntN(4) == 0 {
			return slices.Repeat(v, 1+a.rnd.IntN(300))
		}
		v = slices.Clone(v)
		i := a.rnd.IntN(len(v))
		v[i] = a.mutate(v[i])
		return v
	}
	return a.strange()
}

func (a *actor) strangeHeaders(r *http.Request) {
	for range a.rnd.IntN(3) {
		head := [][2]string{
			{"If-Match", "*"},
			{"If-None-Match", "*"},
			{"If-Match", `"x"`},
			{"Range", "bytes=0-3"},
			{"Range", "bytes=900000-1"},
			{"Accept", "text/event-stream"},
			{"Content-Type", "text/plain"},
			{"Content-Type", "application/json; charset=utf-16"},
			{"Last-Event-ID", "x@y.z"},
			{"Last-Event-ID", strings.Repeat("a@b.1,", 200)},
			{"Accept-Encoding", "gzip"},
			{"Expect", "100-continue"},
			{"If-Modified-Since", "Mon, 02 Jan 2006 15:04:05 GMT"},
			{"Origin", "null"},
			{"X-HTTP-Method-Override", "DELETE"},
		}[a.rnd.IntN(15)]
		r.Header.Set(head[0], head[1])
	}
}

// archive is a ZIP archive, which may be damaged.
func (a *actor) archive(valid bool) []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	names := []string{"in/a.txt", "in/b.txt"}
	if !valid {
		names = append(names, []string{"../out", "/abs", "x/", "a\\b", strings.Repeat("n", 5000)}[a.rnd.IntN(5)])
	}
	for _, name := range names {
		if w, err := z.Create(name); err == nil {
			_, _ = w.Write(a.content()) // a buffer takes all
		}
	}
	_ = z.Close() // the same
	data := b.Bytes()
	if !valid && a.rnd.IntN(2) == 0 {
		data[a.rnd.IntN(len(data))] ^= 1 << a.rnd.IntN(8)
	}
	return data
}

// content is that of a file: a text, a picture or anything.
func (a *actor) content() []byte {
	switch a.rnd.IntN(4) {
	case 0:
		return []byte(picture)
	case 1:
		return bytes.Repeat([]byte{byte(a.rnd.IntN(256))}, a.rnd.IntN(200_000))
	}
	return fmt.Appendf(nil, "words\n%d\n", a.rnd.Int())
}

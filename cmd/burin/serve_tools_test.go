package main

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/chat/project"
	"github.com/burin-dev/burin/llm"
)

// toolsOf asks for a project's tools.
func (c *httpClient) toolsOf(project string) (tools map[string]map[string]any) {
	c.t.Helper()
	var p struct{ Tools map[string]map[string]any }
	c.must(http.StatusOK, "GET", "/v1/projects/"+project, nil, &p)
	return p.Tools
}

// begin begins a chat of a project, and waits until the message is answered.
func (c *httpClient) begin(project, text string) (chat string) {
	c.t.Helper()
	var begun struct{ Chat chatOf }
	c.must(http.StatusCreated, "POST", "/v1/chats", map[string]any{"project": project, "message": map[string]any{"id": "m", "message": saying(text)["message"]}}, &begun)
	c.must(http.StatusOK, "POST", "/v1/sessions/"+begun.Chat.ID+"/wait", map[string]any{"id": "m"}, nil)
	return begun.Chat.ID
}

// A project chooses the tools of its chats. What the model notes is read by the next chat, and by the person, who changes it.
func TestServeTools(t *testing.T) {
	t.Parallel()
	b := newBrain(t)
	c := serveIt(t, machine(t, b, rpcConfig))
	var p struct{ ID string }
	c.must(http.StatusCreated, "POST", "/v1/projects", map[string]any{"name": "Book"}, &p)
	at := "/v1/projects/" + p.ID
	if got := c.toolsOf(p.ID); len(got) != 7 || got["filesystem"] == nil || got["memory"] != nil {
		t.Errorf("a new project has %v", got)
	}
	c.begin(p.ID, "say hello")
	_, standard := b.systemOf(t)
	if slices.Contains(standard, "memory") || slices.Contains(standard, "checkpoint") || !slices.Contains(standard, "filesystem") || !slices.Contains(standard, "web_search") {
		t.Errorf("the standard tools are %v", standard)
	}
	c.must(http.StatusOK, "PATCH", at, map[string]any{"tools": map[string]any{
		"web": nil, "filesystem": map[string]any{"readOnly": true}, "memory": map[string]any{"systemPrompt": true}, "sketchbook": map[string]any{},
	}}, nil)
	if got := c.toolsOf(p.ID); got["web"] != nil || got["calc"] == nil || got["memory"]["systemPrompt"] != true {
		t.Errorf("after the change it has %v", got)
	}
	for _, wrong := range []any{map[string]any{"bash": map[string]any{}}, map[string]any{"memory": map[string]any{"size": 1}}, map[string]any{"checkpoint": map[string]any{"keep": []string{"all"}}}} {
		c.must(http.StatusBadRequest, "PATCH", at, map[string]any{"tools": wrong}, nil)
	}

	b.script = []string{`call memory {"command":"create","path":"/memories/README.md","file_text":"Likes quaggas.\n"}`, `call sketchbook {"content":"a draft"}`, "Noted."}
	chat := c.begin(p.ID, "note it")
	system, tools := b.systemOf(t)
	for name, want := range map[string]bool{"read": true, "write": false, "edit": false, "filesystem": false, "memory": true, "sketchbook": true, "fetch": false, "calc": true} {
		if slices.Contains(tools, name) != want {
			t.Errorf("%s: it has %v", name, tools)
		}
	}
	if !strings.Contains(system, "The /memories directory is empty.") { // until the person speaks again
		t.Errorf("the model was told %q", system)
	}
	if got := c.send(http.StatusOK, "GET", at+"/file?path=/memories/README.md", "", nil); got != "Likes quaggas.\n" {
		t.Errorf("the person reads %q", got)
	}
	if got := c.send(http.StatusOK, "GET", at+"/file?path=/sketchbook/"+chat+".md", "", nil); got != "a draft" {
		t.Errorf("the sketchbook holds %q", got)
	}
	c.send(http.StatusOK, "PUT", at+"/file?path=/memories/README.md", "Likes okapis.\n", nil)
	c.begin(p.ID, "say more")
	if system, _ := b.systemOf(t); !strings.Contains(system, "<content>\nLikes okapis.\n</content>") {
		t.Errorf("in the next chat the model was told %q", system)
	}
	c.must(http.StatusOK, "PATCH", at, map[string]any{"tools": nil}, nil)
	if got := c.toolsOf(p.ID); len(got) != 7 || got["web"] == nil {
		t.Errorf("with the standard it has %v", got)
	}
	c.end()
}

// Claude at Anthropic gets its own memory tool, whose calls change the same notes; with the notes in the system prompt, and
// elsewhere, the model reads a description of ours.
func TestServeMemoryTool(t *testing.T) {
	t.Parallel()
	b := newBrain(t)
	cmd := machine(t, b, rpcConfig)
	cmd.Env = append(cmd.Env, "ANTHROPIC_API_KEY=k")
	models := filepath.Join(filepath.Dir(cmd.Dir), "burin", "models.yml")
	was, err := os.ReadFile(models)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, models, append(was, "  anthropic: {baseUrl: '"+b.srv.URL+"'}\n"...), 0o600)
	c := serveIt(t, cmd)
	var p struct{ ID string }
	c.must(http.StatusCreated, "POST", "/v1/projects", map[string]any{"name": "Book", "model": "anthropic/claude-sonnet-4-5", "tools": map[string]any{"memory": map[string]any{}}}, &p)
	at := "/v1/projects/" + p.ID
	last := func() string {
		all := b.srv.Raw()
		return string(all[len(all)-1].Body)
	}
	const native = `{"type":"memory_20250818","name":"memory"`
	b.script = []string{`call memory {"command":"create","path":"/memories/a.md","file_text":"yes"}`, "Noted."}
	c.begin(p.ID, "note it")
	if got := last(); strings.Count(got, native) != 1 || strings.Contains(got, "Keeps notes in /memories") {
		t.Errorf("Claude was told %s", got)
	}
	if got := c.send(http.StatusOK, "GET", at+"/file?path=/memories/a.md", "", nil); got != "yes" {
		t.Errorf("the note is %q", got)
	}
	for _, change := range []map[string]any{{"tools": map[string]any{"memory": map[string]any{"systemPrompt": true}}}, {"model": "box/one", "tools": map[string]any{"memory": map[string]any{}}}} {
		c.must(http.StatusOK, "PATCH", at, change, nil)
		c.begin(p.ID, "say hello")
		if got := last(); strings.Contains(got, native) || !strings.Contains(got, "Keeps notes in /memories") {
			t.Errorf("after %v the model was told %s", change, got)
		}
	}
	c.end()
}

// The model runs a program on the files of the project, in the program as it is built; what it would need too much of is
// an answer that the model can act on.
func TestServeJavaScript(t *testing.T) {
	t.Parallel()
	b := newBrain(t)
	c := serveIt(t, machine(t, b, rpcConfig))
	var p struct{ ID string }
	c.must(http.StatusCreated, "POST", "/v1/projects", map[string]any{"name": "Book", "tools": map[string]any{"javascript": map[string]any{}}}, &p)
	at := "/v1/projects/" + p.ID
	c.send(http.StatusCreated, "PUT", at+"/file?path=/lib/words.js", "const words = (s) => s.split(/\\s+/u).filter(Boolean);", nil)
	c.send(http.StatusCreated, "PUT", at+"/file?path=/a.txt", "three small words", nil)
	b.script = []string{
		`call javascript {"code":"const n = words(await fs.readFile('/a.txt', 'utf8')).length; console.log('counted'); await fs.writeFile('/count.txt', ` + "`${n}`" + `); return {n}"}`,
		`call javascript {"code":"const all = []; for (;;) all.push(new Array(1000).fill('x'))"}`,
		"Done.",
	}
	c.begin(p.ID, "count")
	if _, tools := b.systemOf(t); !slices.Contains(tools, "javascript") {
		t.Errorf("the model has %v", tools)
	}
	asked := b.srv.Requests()
	said := textsOf(asked[len(asked)-1].Messages)
	if !strings.Contains(said, "=== Console output ===\n[LOG] counted\n=== Result ===\n{\n  \"n\": 3\n}") || !strings.Contains(said, "InternalError: out of memory") {
		t.Errorf("the model got %s", said)
	}
	if got := c.send(http.StatusOK, "GET", at+"/file?path=/count.txt", "", nil); got != "3" {
		t.Errorf("the person reads %q", got)
	}
	c.end()
}

// A project has its models search the web themselves.
func TestServeModelSearches(t *testing.T) {
	t.Parallel()
	b := newBrain(t)
	cmd := machine(t, b, rpcConfig)
	models := filepath.Join(filepath.Dir(cmd.Dir), "burin", "models.yml")
	text, err := os.ReadFile(models)
	if err == nil {
		err = os.WriteFile(models, []byte(strings.ReplaceAll(string(text), "contextWindow: 200000", "contextWindow: 200000, webSearch: true")), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	c := serveIt(t, cmd)
	for _, model := range []bool{false, true} {
		var p struct{ ID string }
		c.must(http.StatusCreated, "POST", "/v1/projects", map[string]any{"name": "News", "tools": map[string]any{"web": map[string]any{"model": model}}}, &p)
		if got := c.toolsOf(p.ID)["web"]["model"]; (got == true) != model {
			t.Errorf("of %v is kept %v", model, got)
		}
		c.begin(p.ID, "say hello")
		all := b.srv.Requests()
		r := all[len(all)-1]
		_, tools := b.systemOf(t)
		if searches := len(r.ServerTools) == 1 && r.ServerTools[0].Kind == llm.ServerWebSearch; searches != model || slices.Contains(tools, "web_search") == model || !slices.Contains(tools, "fetch") {
			t.Errorf("%v: the model got %v and of its provider %v", model, tools, r.ServerTools)
		}
	}
	c.end()
}

// A model goes on by itself after a checkpoint, without the calls before it, also in the next server. They stay in the transcript.
func TestServeCheckpoint(t *testing.T) {
	t.Parallel()
	b := newBrain(t)
	cmd := machine(t, b, rpcConfig)
	c := serveIt(t, cmd)
	var p struct{ ID string }
	c.must(http.StatusCreated, "POST", "/v1/projects", map[string]any{"name": "Book", "tools": map[string]any{"checkpoint": map[string]any{"continueMessage": "go on"}}}, &p)
	c.send(http.StatusCreated, "PUT", "/v1/projects/"+p.ID+"/file?path=/a.txt", "The word is quagga.\n", nil)
	b.script = []string{`call read {"path":"a.txt"}`, `call checkpoint {"note":"read"}`, "Waiting.", "All done."}
	chat := c.begin(p.ID, "work")
	asked := b.srv.Requests()
	if len(asked) != 4 {
		t.Fatalf("%d requests", len(asked))
	}
	before, after := textsOf(asked[2].Messages), textsOf(asked[3].Messages)
	if !strings.Contains(before, "quagga") || strings.Contains(after, "quagga") || !strings.Contains(after, "Checkpoint saved.") || !strings.Contains(after, "go on") {
		t.Errorf("before the end of the answer the model got %s, and then %s", before, after)
	}
	if slices.ContainsFunc(asked[3].Messages, func(m llm.Message) bool {
		return slices.ContainsFunc(m.ToolCalls(), func(c llm.ToolCall) bool { return c.Name == "read" })
	}) {
		t.Error("the model still got the call of read")
	}
	var nodes struct{ Nodes []struct{ Role, Name string } }
	c.must(http.StatusOK, "POST", "/v1/sessions/"+chat+"/nodes", nil, &nodes)
	if n := len(nodes.Nodes); n < 8 {
		t.Errorf("the transcript has %d entries: %+v", n, nodes)
	}
	c.end()
	c = serveIt(t, cmd)
	c.must(http.StatusOK, "POST", "/v1/sessions/"+chat+"/submit", map[string]any{"id": "n", "message": saying("say more")["message"]}, nil)
	c.must(http.StatusOK, "POST", "/v1/sessions/"+chat+"/wait", map[string]any{"id": "n"}, nil)
	all := b.srv.Requests()
	if said := textsOf(all[len(all)-1].Messages); strings.Contains(said, "quagga") || !strings.Contains(said, "All done.") {
		t.Errorf("at the next server the model got %s", said)
	}
	c.end()
}

type minionOf struct {
	ID, Agent, State, Error string
	Cost                    float64
}

// Agents work for a chat with a persona, in its own part of the files, and hand over a result. Each is a session, which is
// read, asked again and continued on another branch, also in the next server.
func TestServeMinions(t *testing.T) {
	t.Parallel()
	b := newBrain(t)
	cmd := machine(t, b, rpcConfig)
	c := serveIt(t, cmd)
	var p struct{ ID string }
	c.must(http.StatusCreated, "POST", "/v1/projects", map[string]any{"name": "Book", "tools": map[string]any{"minion": map[string]any{"personas": true}, "memory": map[string]any{}}}, &p)
	at := "/v1/projects/" + p.ID
	for path, text := range map[string]string{
		"/minions/_global.md": "Be brief.", "/minions/critic.md": "# Finds mistakes\nYou are a critic.", "/minions/critic/draft.txt": "The word is quagga.",
		"/minions/..md": "no", "/draft.txt": "The word is okapi.", "/share/s.txt": "shared",
	} {
		c.send(http.StatusCreated, "PUT", at+"/file?path="+path, text, nil)
	}
	b.script = []string{
		`call task {"agent":"critic","tasks":[{"id":"first","description":"Look at the draft","assignment":"Look at draft.txt."}]}`,
		`call read {"path":"/draft.txt"}`, `call write {"path":"/share/new.txt","content":"mine"}`, `call memory {"command":"create","path":"a.md","file_text":"note"}`, `call return {"result":"one mistake"}`,
		"It found one.",
	}
	chat := c.begin(p.ID, "check it")
	asked := b.srv.Requests()
	if len(asked) != 6 {
		t.Fatalf("%d requests", len(asked))
	}
	var tools []string
	for _, tool := range asked[1].Tools {
		tools = append(tools, tool.Name)
	}
	if !slices.Contains(tools, "return") || slices.Contains(tools, "task") || slices.Contains(tools, "checkpoint") || !slices.Contains(tools, "memory") {
		t.Errorf("the agent has %v", tools)
	}
	if system := asked[1].System; !strings.Contains(system, "Be brief.") || !strings.Contains(system, "You are a critic.") {
		t.Errorf("the agent was told %q", system)
	}
	if said := textsOf(asked[4].Messages); !strings.Contains(said, "quagga") || strings.Contains(said, "okapi") || !strings.Contains(said, "only be read") {
		t.Errorf("the agent read %s", said)
	}
	if said := textsOf(asked[5].Messages); !strings.Contains(said, "one mistake") {
		t.Errorf("the model was told %s", said)
	}
	if !slices.ContainsFunc(asked[0].Tools, func(tool llm.Tool) bool {
		return tool.Name == "task" && strings.Contains(tool.Description, "critic: Finds mistakes")
	}) {
		t.Error("task doesn't name the persona")
	}
	if got := c.send(http.StatusOK, "GET", at+"/file?path=/minions/critic/memories/a.md", "", nil); got != "note" {
		t.Errorf("the persona's memory holds %q", got)
	}
	if got := c.send(http.StatusOK, "GET", at+"/file?path=/share/s.txt", "", nil); got != "shared" {
		t.Errorf("what is shared is %q", got)
	}

	// Its session is one of the API, and what it cost is in that of the chat.
	minion := "/v1/sessions/" + chat + ".first"
	entries := func() (nodes []struct{ ID, Role string }) {
		var is struct{ Nodes []struct{ ID, Role string } }
		c.must(http.StatusOK, "POST", minion+"/nodes", nil, &is)
		return is.Nodes
	}
	before := entries()
	var list []minionOf
	c.must(http.StatusOK, "POST", "/v1/sessions/"+chat+"/agents", nil, &list)
	if len(list) != 1 || list[0].ID != "first" || list[0].Agent != "critic" || list[0].State != "idle" || list[0].Cost == 0 {
		t.Errorf("the agents are %+v", list)
	}
	var open struct{ Facts struct{ Cost float64 } }
	c.must(http.StatusNotFound, "GET", "/v1/sessions/"+chat+".other", nil, nil)
	c.must(http.StatusOK, "GET", minion, nil, &open)

	// What it said is found, and leads to its session.
	var hits project.Found
	c.must(http.StatusOK, "GET", "/v1/search?q=draft.txt", nil, &hits)
	if len(hits.Hits) == 0 || hits.Hits[0].Agent != "first" || hits.Hits[0].Chat != chat || !slices.ContainsFunc(before, func(n struct{ ID, Role string }) bool { return n.ID == hits.Hits[0].Entry }) {
		t.Errorf("found %+v of %+v", hits, before)
	}

	// After a restart it is still there, and does its work again on another branch.
	c.end()
	c = serveIt(t, cmd)
	if after := entries(); len(after) < len(before) {
		t.Errorf("after a restart it has %d entries of %d", len(after), len(before))
	}
	user := ""
	for _, n := range before {
		if n.Role == "user" && user == "" {
			user = n.ID
		}
	}
	c.must(http.StatusOK, "POST", minion+"/navigate", map[string]any{"id": user}, nil)
	b.script = []string{"No mistake."}
	c.must(http.StatusOK, "POST", minion+"/submit", map[string]any{"id": "again", "message": saying("Look at draft.txt once more.")["message"]}, nil)
	c.must(http.StatusOK, "POST", minion+"/wait", map[string]any{"id": "again"}, nil)
	all := b.srv.Requests()
	if said := textsOf(all[len(all)-1].Messages); strings.Contains(said, "quagga") || !strings.Contains(said, "once more") {
		t.Errorf("on the other branch it got %s", said)
	}
	b.script = []string{`call irc {"op":"send","to":"first","message":"And now?","await":true}`, "Still none.", "None at all."}
	c.must(http.StatusOK, "POST", "/v1/sessions/"+chat+"/submit", map[string]any{"id": "more", "message": saying("ask it")["message"]}, nil)
	c.must(http.StatusOK, "POST", "/v1/sessions/"+chat+"/wait", map[string]any{"id": "more"}, nil)

	// It goes with its chat.
	c.must(http.StatusOK, "DELETE", "/v1/chats/"+chat, nil, nil)
	c.must(http.StatusOK, "DELETE", "/v1/chats/"+chat+"?purge=true", nil, nil)
	c.must(http.StatusNotFound, "GET", minion, nil, nil)
	c.end()
	for _, word := range []string{"one mistake", "Look at the draft", "You are a critic"} {
		if found := filesWith(t, homeOf(cmd), word); len(found) > 0 {
			t.Errorf("%q is in %v", word, found)
		}
	}
}

// In a project that asks, a note waits for its person, who accepts or rejects it; the model reads why.
func TestServeToolsAsk(t *testing.T) {
	t.Parallel()
	b := newBrain(t)
	c := serveIt(t, machine(t, b, rpcConfig))
	var p struct{ ID string }
	c.must(http.StatusCreated, "POST", "/v1/projects", map[string]any{"name": "Book", "mode": "ask", "tools": map[string]any{"memory": map[string]any{}}}, &p)
	b.script = []string{
		`call memory {"command":"create","path":"a.md","file_text":"yes"}`, `call memory {"command":"create","path":"b.md","file_text":"no"}`, "Done.",
	}
	var begun struct{ Chat chatOf }
	c.must(http.StatusCreated, "POST", "/v1/chats", map[string]any{"project": p.ID}, &begun)
	at := "/v1/sessions/" + begun.Chat.ID
	f := c.follow("", "session="+begun.Chat.ID)
	f.until("", nil)
	c.must(http.StatusOK, "POST", at+"/submit", map[string]any{"id": "m", "message": saying("note it")["message"]}, nil)
	for _, reply := range []map[string]any{{"allow": true}, {"allow": false, "note": "not that one"}} {
		f.until("question_asked", nil)
		var open []struct{ ID string }
		c.must(http.StatusOK, "POST", at+"/questions", nil, &open)
		if len(open) != 1 {
			t.Fatalf("the questions are %+v", open)
		}
		c.must(http.StatusOK, "POST", at+"/answer", map[string]any{"id": open[0].ID, "reply": map[string]any{"permission": reply}}, nil)
	}
	f.until("agent_settled", nil)
	f.stop()
	c.send(http.StatusOK, "GET", "/v1/projects/"+p.ID+"/file?path=/memories/a.md", "", nil)
	c.send(http.StatusNotFound, "GET", "/v1/projects/"+p.ID+"/file?path=/memories/b.md", "", nil)
	all := b.srv.Requests()
	if said := textsOf(all[len(all)-1].Messages); !strings.Contains(said, "not that one") {
		t.Errorf("the model read %s", said)
	}
	c.end()
}

// The model reads messages in the form of the project; the transcript and the person keep what was written.
func TestServeFormat(t *testing.T) {
	t.Parallel()
	b := newBrain(t)
	c := serveIt(t, machine(t, b, rpcConfig))
	var p struct{ ID string }
	c.must(http.StatusCreated, "POST", "/v1/projects", map[string]any{"name": "Book", "format": map[string]any{"mode": "template", "template": "[{{modelName}}] {{userMessage}}"}}, &p)
	chat := c.begin(p.ID, "say hello")
	said := func() string {
		all := b.srv.Requests()
		return textsOf(all[len(all)-1].Messages)
	}
	first := said()
	if !strings.Contains(first, "] say hello|") || !strings.Contains(first, "[") {
		t.Errorf("the model got %q", first)
	}
	c.must(http.StatusOK, "POST", "/v1/sessions/"+chat+"/submit", map[string]any{"id": "n", "message": saying("say more")["message"]}, nil)
	c.must(http.StatusOK, "POST", "/v1/sessions/"+chat+"/wait", map[string]any{"id": "n"}, nil)
	if then := said(); !strings.HasPrefix(then, first) || !strings.Contains(then, "] say more|") {
		t.Errorf("the model got %q, then %q", first, then)
	}
	var nodes struct{ Nodes []struct{ ID, Role string } }
	c.must(http.StatusOK, "POST", "/v1/sessions/"+chat+"/nodes", nil, &nodes)
	for _, n := range nodes.Nodes {
		if n.Role == "user" {
			if kept := c.send(http.StatusOK, "POST", "/v1/sessions/"+chat+"/entries", `{"ids":["`+n.ID+`"]}`, nil); strings.Contains(kept, "[box/") || !strings.Contains(kept, "say ") {
				t.Errorf("the transcript has %s", kept)
			}
		}
	}
	at := "/v1/projects/" + p.ID
	for _, wrong := range []map[string]any{{"mode": "xml"}, {"template": "nothing"}, {"template": "{{userMessage}}{{price}}"}, {"zone": "Mars/Olympus"}, {"time": "soon"}} {
		c.must(http.StatusBadRequest, "PATCH", at, map[string]any{"format": wrong}, nil)
	}
	c.must(http.StatusOK, "PATCH", at, map[string]any{"format": nil}, nil)
	c.begin(p.ID, "say plain")
	if got := said(); !strings.HasSuffix(got, "say plain|") || strings.Contains(got, "]") {
		t.Errorf("without a form the model got %q", got)
	}
	c.end()
}

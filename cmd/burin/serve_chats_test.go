package main

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/chat/people"
	"github.com/burin-dev/burin/internal/chat/store"
	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm"
)

// systemOf is what the model was told last before anyone spoke, and toolsOf which tools it had.
func (b *brain) systemOf(t *testing.T) (system string, tools []string) {
	t.Helper()
	all := b.srv.Requests()
	if len(all) == 0 {
		t.Fatal("the model was not asked")
	}
	r := all[len(all)-1]
	for _, tool := range r.Tools {
		tools = append(tools, tool.Name)
	}
	return r.System, tools
}

type nodeOf struct{ ID, Type, Role string }

type chatOf struct {
	ID, Project, Title, Draft, Model, Origin string
	Revision                                 int64
	Cost                                     float64
	Pinned                                   bool
}

// A chat is begun in a project, goes on after the server was killed, is forked, and is the
// project's alone.
func TestServeChats(t *testing.T) {
	t.Parallel()
	b := newBrain(t)
	cmd := machine(t, b, rpcConfig)
	for name, text := range map[string]string{"AGENTS.md": "The word of the folder is quagga.", "notes.txt": "x"} {
		if err := os.WriteFile(filepath.Join(cmd.Dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := serveIt(t, cmd)
	var p struct{ ID string }
	c.must(http.StatusCreated, "POST", "/v1/projects", map[string]any{"name": "Book", "icon": "📗", "instructions": "Answer in rhymes."}, &p)
	hello := saying("say hello")["message"]
	var begun struct {
		Chat    chatOf
		Receipt struct{ ID string }
	}
	c.must(http.StatusCreated, "POST", "/v1/chats", map[string]any{"project": p.ID, "message": map[string]any{"id": "mine", "message": hello}}, &begun)
	if begun.Receipt.ID != "mine" || begun.Chat.Project != p.ID {
		t.Fatalf("begun %+v", begun)
	}
	at := "/v1/sessions/" + begun.Chat.ID
	c.must(http.StatusOK, "POST", at+"/wait", map[string]any{"id": "mine"}, nil)
	system, tools := b.systemOf(t)
	if !strings.Contains(system, "Answer in rhymes.") || strings.Contains(system, "quagga") || strings.Contains(system, cmd.Dir) || strings.Contains(system, "coding agent") {
		t.Errorf("the model was told %q", system)
	}
	if slices.Contains(tools, "bash") || slices.Contains(tools, "task") || !slices.Contains(tools, "read") {
		t.Errorf("its tools are %v", tools)
	}

	// The same message again is the same message.
	var again struct{ Again bool }
	c.must(http.StatusOK, "POST", at+"/submit", map[string]any{"id": "mine", "message": hello}, &again)
	if n := len(b.srv.Requests()); n != 1 || !again.Again {
		t.Errorf("%d requests, again %v", n, again.Again)
	}

	// What was said is there after a kill.
	if err := c.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.cmd.Wait()
	c = serveIt(t, cmd)
	again.Again = false
	c.must(http.StatusOK, "POST", at+"/submit", map[string]any{"id": "mine", "message": hello}, &again)
	if n := len(b.srv.Requests()); n != 1 || !again.Again {
		t.Errorf("at the next server: %d requests, again %v", n, again.Again)
	}
	f := c.follow("", "session="+begun.Chat.ID)
	c.must(http.StatusOK, "POST", at+"/submit", saying("say more"), nil)
	f.until("agent_settled", nil)
	f.stop()
	all := b.srv.Requests()
	if texts := textsOf(all[len(all)-1].Messages); !strings.Contains(texts, "say hello|") || !strings.HasSuffix(texts, "say more|") {
		t.Errorf("the model read %s", texts)
	}
	var list []chatOf
	for late := time.Now().Add(time.Minute); len(list) != 1 || list[0].Cost == 0; { // it is noted after the event
		if time.Now().After(late) {
			break
		}
		c.must(http.StatusOK, "GET", "/v1/chats?project="+p.ID, nil, &list)
	}
	if len(list) != 1 || list[0].Title != "say hello" || list[0].Cost == 0 {
		t.Errorf("chats %+v", list)
	}

	// It is forked, changed, thrown away and taken back.
	var fork chatOf
	c.must(http.StatusCreated, "POST", "/v1/chats/"+begun.Chat.ID+"/fork", map[string]any{}, &fork)
	if fork.Origin != begun.Chat.ID {
		t.Errorf("the fork is %+v", fork)
	}
	c.must(http.StatusOK, "POST", "/v1/sessions/"+fork.ID+"/submit", map[string]any{"id": "there", "message": hello}, nil)
	c.must(http.StatusOK, "POST", "/v1/sessions/"+fork.ID+"/wait", map[string]any{"id": "there"}, nil)
	all = b.srv.Requests()
	if texts := textsOf(all[len(all)-1].Messages); !strings.Contains(texts, "say more|") {
		t.Errorf("in the fork the model read %s", texts)
	}
	var changed chatOf
	c.must(http.StatusOK, "PATCH", "/v1/chats/"+fork.ID, map[string]any{"title": "Rhymes", "draft": "And th", "pinned": true}, &changed)
	if changed.Title != "Rhymes" || !changed.Pinned || changed.Origin != begun.Chat.ID {
		t.Errorf("changed %+v", changed)
	}
	c.must(http.StatusConflict, "PATCH", "/v1/chats/"+fork.ID, map[string]any{"revision": 1, "title": "Late"}, nil)
	c.must(http.StatusBadRequest, "PATCH", "/v1/chats/"+fork.ID, map[string]any{"titel": "Late"}, nil)
	c.must(http.StatusOK, "DELETE", "/v1/chats/"+fork.ID, nil, nil)
	c.must(http.StatusNotFound, "GET", "/v1/sessions/nosuch", nil, nil)
	c.must(http.StatusOK, "GET", "/v1/chats?trash=true", nil, &list)
	if len(list) != 1 || list[0].ID != fork.ID {
		t.Errorf("trash %+v", list)
	}
	c.must(http.StatusOK, "POST", "/v1/chats/"+fork.ID+"/restore", nil, nil)
	c.must(http.StatusNotFound, "DELETE", "/v1/chats/"+fork.ID+"?purge=true", nil, nil)
	c.must(http.StatusOK, "DELETE", "/v1/chats/"+fork.ID, nil, nil)
	c.must(http.StatusOK, "DELETE", "/v1/chats/"+fork.ID+"?purge=true", nil, nil)
	c.must(http.StatusNotFound, "GET", "/v1/chats/"+fork.ID, nil, nil)

	// Nothing of it is in the clear anywhere, and no other process finds it.
	c.end()
	for _, word := range []string{"say hello", "Answer in rhymes", "Book"} {
		if found := filesWith(t, filepath.Dir(cmd.Dir), word); len(found) > 0 {
			t.Errorf("%q is in %v", word, found)
		}
	}
}

// A chat in which something is done can't be thrown away, but it can be renamed; what is done stops from anywhere.
func TestServeChatBusy(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	b := newBrain(t)
	c := serveIt(t, machine(t, b, rpcConfig))
	var begun struct{ Chat chatOf }
	c.must(http.StatusCreated, "POST", "/v1/chats", map[string]any{"message": map[string]any{"id": "m", "message": saying("gate say hello")["message"]}}, &begun)
	id := begun.Chat.ID
	f := c.follow("", "session="+id)
	f.until("", nil)
	if !strings.HasPrefix(f.id, id+"@") { // who is cut off now would miss what comes first
		t.Errorf("the stream begins at %q", f.id)
	}
	c.must(http.StatusConflict, "DELETE", "/v1/chats/"+id, nil, nil)
	c.must(http.StatusConflict, "DELETE", "/v1/projects/"+begun.Chat.Project, nil, nil)
	<-b.gates
	c.must(http.StatusOK, "POST", "/v1/sessions/"+id+"/abort", nil, nil)
	c.must(http.StatusOK, "POST", "/v1/sessions/"+id+"/abort", nil, nil) // which does no harm
	c.must(http.StatusOK, "POST", "/v1/sessions/"+id+"/wait", map[string]any{"id": "m"}, nil)

	// What is changed around a chat while it is answered stays when the turn ends.
	c.must(http.StatusOK, "POST", "/v1/sessions/"+id+"/submit", map[string]any{"id": "n", "message": saying("gate say more")["message"]}, nil)
	gate := <-b.gates
	file := "/v1/projects/" + begun.Chat.Project + "/file?path=/a.txt"
	c.must(http.StatusOK, "PATCH", "/v1/chats/"+id, map[string]any{"title": "Renamed", "pinned": true}, nil)
	c.must(http.StatusOK, "PATCH", "/v1/projects/"+begun.Chat.Project, map[string]any{"name": "Meanwhile", "instructions": "Be brief."}, nil)
	c.send(http.StatusCreated, "PUT", file, "written meanwhile", nil)
	close(gate)
	c.must(http.StatusOK, "POST", "/v1/sessions/"+id+"/wait", map[string]any{"id": "n"}, nil)
	var is chatOf
	for late := time.Now().Add(time.Minute); is.Cost == 0 && time.Now().Before(late); { // it is noted after the turn
		c.must(http.StatusOK, "GET", "/v1/chats/"+id, nil, &is)
	}
	var in struct{ Name, Instructions string }
	c.must(http.StatusOK, "GET", "/v1/projects/"+begun.Chat.Project, nil, &in)
	if is.Cost == 0 || is.Title != "Renamed" || !is.Pinned || in.Name != "Meanwhile" || in.Instructions != "Be brief." {
		t.Errorf("after the turn the chat is %+v, the project %+v", is, in)
	}
	if got := c.send(http.StatusOK, "GET", file, "", nil); got != "written meanwhile" {
		t.Errorf("the file has %q", got)
	}
	c.must(http.StatusOK, "DELETE", "/v1/chats/"+id, nil, nil)
	c.must(http.StatusNotFound, "GET", "/v1/sessions/"+id, nil, nil)
	if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = c.cmd.Wait() // a signal ends it
}

// A second server on the same file says which of them has a chat, and what several servers need. What is
// thrown away with its project ends.
func TestServeChatElsewhere(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	b := newBrain(t)
	cmd := machine(t, b, rpcConfig)
	c := serveIt(t, cmd)
	var begun struct{ Chat chatOf }
	c.must(http.StatusCreated, "POST", "/v1/chats", map[string]any{"message": map[string]any{"id": "m", "message": saying("say hello")["message"]}}, &begun)
	id := begun.Chat.ID
	c.must(http.StatusOK, "POST", "/v1/sessions/"+id+"/wait", map[string]any{"id": "m"}, nil)
	d := serveIt(t, cmd)
	var is struct{ Code, Detail string }
	status, data := d.do(d.request("GET", "/v1/sessions/"+id, ""))
	if err := json.Unmarshal(data, &is); err != nil || status != http.StatusConflict || is.Code != "locked" ||
		is.Detail != "another burin serve has this chat open: use that one, or end it; servers share chats only on PostgreSQL (server.database)" {
		t.Errorf("%d %s", status, data)
	}
	f := c.follow("", "session="+id)
	f.until("", nil)
	c.must(http.StatusOK, "DELETE", "/v1/projects/"+begun.Chat.Project, nil, nil)
	for range f.lines { // it ends with the chat
	}
	c.must(http.StatusOK, "POST", "/v1/projects/"+begun.Chat.Project+"/restore", nil, nil)
	d.must(http.StatusOK, "GET", "/v1/sessions/"+id, nil, nil) // which is free
	d.end()
	c.end()
}

// A chat that was closed because nobody used it goes on with the next request.
func TestServeChatIdle(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	c := serveIt(t, machine(t, newBrain(t), rpcConfig+"background: {idle: 1}\n"))
	var begun struct{ Chat chatOf }
	c.must(http.StatusCreated, "POST", "/v1/chats", map[string]any{"message": map[string]any{"id": "m", "message": saying("say hello")["message"]}}, &begun)
	at := "/v1/sessions/" + begun.Chat.ID
	c.must(http.StatusOK, "POST", at+"/wait", map[string]any{"id": "m"}, nil)
	for late := time.Now().Add(time.Minute); !strings.Contains(c.send(http.StatusOK, "GET", "/metrics", "", nil), "\nburin_sessions_open 0\n"); {
		if time.Now().After(late) {
			t.Fatal("it stays open")
		}
		<-time.After(20 * time.Millisecond)
	}
	c.must(http.StatusOK, "POST", at+"/submit", saying("say more"), nil)
	c.end()
}

// A turn that was under way when the server ended, or was killed, goes on by itself in the next one.
func TestServeChatGoesOn(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		t.Run(sig.String(), func(t *testing.T) {
			b := newBrain(t)
			cmd := machine(t, b, rpcConfig)
			c := serveIt(t, cmd, "--drain", "0")
			var begun struct{ Chat chatOf }
			c.must(http.StatusCreated, "POST", "/v1/chats", map[string]any{"message": map[string]any{"id": "m", "message": saying("gate say hello")["message"]}}, &begun)
			gate := <-b.gates // the model is asked, and hasn't answered
			if err := c.cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			_ = c.cmd.Wait() // a signal ends it
			close(gate)
			c = serveIt(t, cmd)
			b.free()
			f := c.follow("", "session="+begun.Chat.ID)
			if f.until("", nil); f.facts["working"] == true {
				f.until("agent_settled", nil)
			}
			f.stop()
			var nodes struct{ Nodes []struct{ Role string } }
			c.must(http.StatusOK, "POST", "/v1/sessions/"+begun.Chat.ID+"/nodes", nil, &nodes)
			if last := nodes.Nodes[len(nodes.Nodes)-1]; last.Role != "assistant" {
				t.Errorf("the last entry is %+v", last)
			}
			if n := len(b.srv.Requests()); n != 2 {
				t.Errorf("%d requests", n)
			}
			c.end()
		})
	}
}

// homeOf is the home folder of a machine.
func homeOf(cmd *exec.Cmd) string { return filepath.Dir(cmd.Dir) }

func textsOf(messages []llm.Message) string {
	var all strings.Builder
	for _, m := range messages {
		all.WriteString(strings.TrimSpace(m.Text()) + "|")
	}
	return all.String()
}

// filesWith are the files below a folder that have a word in them.
func filesWith(t *testing.T, dir, word string) (found []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if strings.Contains(string(data), word) {
			found = append(found, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// A person's chats are theirs alone, and go with them.
func TestServeChatsOfPeople(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	b := newBrain(t)
	cmd := machine(t, b, rpcConfig)
	c := serveIt(t, cmd)
	run(t, cmd, "admin", "user", "add", "bob", "--role", "member", "--url", c.url)
	token := strings.TrimSpace(run(t, cmd, "admin", "token", "add", "pocket", "--person", "bob", "--rights", "own"))
	asBob := func(verb, path, body string) (int, string) {
		t.Helper()
		r := c.request(verb, path, body)
		r.Header.Set("Authorization", "Bearer "+token)
		status, data := c.do(r)
		return status, string(data)
	}
	status, said := asBob("POST", "/v1/chats", `{"title":"secret plans","message":{"id":"m","message":{"role":"user","content":"say hello"}}}`)
	if status != http.StatusCreated {
		t.Fatalf("%d %s", status, said)
	}
	var begun struct{ Chat chatOf }
	if err := json.Unmarshal([]byte(said), &begun); err != nil {
		t.Fatal(err)
	}
	id := begun.Chat.ID
	if status, said := asBob("POST", "/v1/sessions/"+id+"/wait", `{"id":"m"}`); status != http.StatusOK {
		t.Errorf("%d %s", status, said)
	}
	// The owner of the machine reads neither it nor that it is there.
	for _, path := range []string{"/v1/chats/" + id, "/v1/sessions/" + id, "/v1/events?session=" + id} {
		if status, said := c.do(c.request("GET", path, "")); status != http.StatusNotFound {
			t.Errorf("the owner gets %s: %d %s", path, status, said)
		}
	}
	var list []chatOf
	c.must(http.StatusOK, "GET", "/v1/chats", nil, &list)
	if len(list) != 0 {
		t.Errorf("the owner lists %+v", list)
	}
	// And bob nothing of the machine.
	var made struct{ ID string }
	c.must(http.StatusCreated, "POST", "/v1/sessions", map[string]any{"folder": cmd.Dir}, &made)
	for verb, path := range map[string]string{"GET": "/v1/sessions/" + made.ID, "POST": "/v1/sessions"} {
		if status, said := asBob(verb, path, ""); status != http.StatusForbidden {
			t.Errorf("bob gets %s %s: %d %s", verb, path, status, said)
		}
	}

	run(t, cmd, "admin", "user", "remove", "bob", "--yes")
	if status, _ := asBob("GET", "/v1/chats", ""); status != http.StatusUnauthorized {
		t.Errorf("after the removal: %d", status)
	}
	c.end()
	c = serveIt(t, cmd)
	db, err := store.Open(t.Context(), filepath.Join(homeOf(cmd), "burin", "server.db"), "", serverParts()...)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows := -1
	for late := time.Now().Add(time.Minute); rows != 0 && time.Now().Before(late); {
		err := db.QueryRow(t.Context(), `SELECT (SELECT count(*) FROM {chats}) + (SELECT count(*) FROM {projects} WHERE person <> ?1)
			+ (SELECT count(*) FROM sessions) + (SELECT count(*) FROM records) + (SELECT count(*) FROM {removed})
			+ (SELECT count(*) FROM {vault_keys} WHERE person NOT IN (?1, ?2))`, ownerPerson, people.KeysID).Scan(&rows)
		if err != nil {
			t.Fatal(err)
		}
	}
	if rows != 0 {
		t.Errorf("%d rows of a person who was removed", rows)
	}
	c.end()
}

// What was said in chats is found by whoever said it, and by nobody else.
func TestServeSearch(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	b := newBrain(t)
	cmd := machine(t, b, rpcConfig)
	c := serveIt(t, cmd)
	begin := func(text string) string {
		t.Helper()
		var begun struct{ Chat chatOf }
		c.must(http.StatusCreated, "POST", "/v1/chats", map[string]any{"title": text, "message": map[string]any{"id": "m", "message": saying(text)["message"]}}, &begun)
		c.must(http.StatusOK, "POST", "/v1/sessions/"+begun.Chat.ID+"/wait", map[string]any{"id": "m"}, nil)
		return begun.Chat.ID
	}
	id := begin("say the quagga sleeps")
	begin("say nothing of it")
	type found struct {
		Total  int
		Cursor string
		Hits   []struct {
			Kind, Chat, Entry, Role, Title string
			Snippet                        struct {
				Text   string
				Ranges [][2]int
			}
		}
	}
	var r, next found
	c.must(http.StatusOK, "GET", "/v1/search?q=quagga+sle&limit=1", nil, &r)
	c.must(http.StatusOK, "GET", "/v1/search?q=quagga+sle&limit=2&cursor="+r.Cursor, nil, &next)
	if all := append(r.Hits, next.Hits...); r.Total != 3 || len(all) != 3 || next.Cursor != "" || all[0].Chat != id || all[0].Title != "say the quagga sleeps" {
		t.Errorf("found %+v, then %+v", r, next)
	}
	for _, h := range append(r.Hits, next.Hits...) {
		if h.Kind == "message" {
			var e struct{ Entry struct{ Message llm.Message } }
			c.must(http.StatusOK, "POST", "/v1/sessions/"+id+"/entry", map[string]any{"id": h.Entry}, &e)
			if m := e.Entry.Message; string(m.Role) != h.Role || !strings.Contains(m.Text(), "quagga") {
				t.Errorf("%+v is %+v", h, e)
			}
		}
		if got := h.Snippet; got.Text[got.Ranges[0][0]:got.Ranges[0][1]] != "quagga" {
			t.Errorf("the snippet is %+v", got)
		}
	}
	if status, said := c.member(cmd, "bert", people.Member).ask(c, "GET", "/v1/search?q=quagga", ""); status != http.StatusOK || !strings.Contains(said, `"total":0`) {
		t.Errorf("another person: %d %s", status, said)
	}
	for query, want := range map[string]string{"": "q: it is missing", "q=x&limit=51": "limit", "q=x&cursor=x": "cursor", "q=x&to=now": "to: "} {
		if status, said := c.do(c.request("GET", "/v1/search?"+query, "")); status != http.StatusBadRequest || !strings.Contains(string(said), want) {
			t.Errorf("%q: %d %s", query, status, said)
		}
	}
	c.must(http.StatusOK, "DELETE", "/v1/chats/"+id, nil, nil)
	c.must(http.StatusOK, "GET", "/v1/search?q=quagga", nil, &r)
	if r.Total != 0 {
		t.Errorf("in the trash: %+v", r)
	}
	c.end()
	if found := filesWith(t, filepath.Dir(cmd.Dir), "quagga"); len(found) > 0 {
		t.Errorf("in the clear in %v", found)
	}
}

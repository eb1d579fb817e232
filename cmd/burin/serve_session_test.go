package main

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"image"
	"image/color"
	"image/png"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/chat/people"
	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/anthropic"
	"github.com/burin-dev/burin/llm/llmtest"
)

// turnCalling is a turn that calls a tool.
func turnCalling(id, name, args string) llmtest.Turn {
	return llmtest.Turn{Events: slices.Concat(llmtest.Call(id, name, args), llmtest.Stop(llm.StopToolUse, llm.Usage{Input: 1200, Output: 300}))}
}

// turnSaying is a turn of words only.
func turnSaying(text string) llmtest.Turn {
	return llmtest.Turn{Events: slices.Concat(llmtest.Say(text), llmtest.Stop(llm.StopEnd, llm.Usage{Input: 1200, Output: 300}))}
}

// scripted is a server on a machine whose model has a script.
func scripted(t *testing.T, config string, turns []llmtest.Turn, args ...string) (*httpClient, *exec.Cmd) {
	t.Helper()
	srv, err := llmtest.Serve(anthropic.Server{}, llmtest.Script{Turns: turns})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	cmd := machine(t, &brain{srv: srv}, config)
	return serveIt(t, cmd, args...), cmd
}

// begun begins a session in the folder of the machine, and gives its address.
func (c *httpClient) begun() (id, at string) {
	c.t.Helper()
	var made struct{ ID string }
	c.must(http.StatusCreated, "POST", "/v1/sessions", map[string]any{"folder": c.cmd.Dir}, &made)
	return made.ID, "/v1/sessions/" + made.ID
}

// done sends a message, and waits until everything for it is done.
func (c *httpClient) done(at string, message map[string]any) {
	c.t.Helper()
	var receipt struct{ ID string }
	c.must(http.StatusOK, "POST", at+"/submit", message, &receipt)
	c.must(http.StatusOK, "POST", at+"/wait", map[string]any{"id": receipt.ID}, nil)
}

// entries are those of a session, with the addresses of their pictures.
func (c *httpClient) entries(at string) []entryOf {
	c.t.Helper()
	var nodes struct{ Nodes []struct{ ID string } }
	c.must(http.StatusOK, "POST", at+"/nodes", map[string]any{"from": 0}, &nodes)
	var ids []string
	for _, n := range nodes.Nodes {
		ids = append(ids, n.ID)
	}
	var all struct{ Entries []struct{ Entry entryOf } }
	c.must(http.StatusOK, "POST", at+"/entries?pictures=address", map[string]any{"ids": ids}, &all)
	var out []entryOf
	for _, e := range all.Entries {
		out = append(out, e.Entry)
	}
	return out
}

type entryOf struct {
	ID, Type string
	Message  struct {
		Role    string
		Content json.RawMessage
	}
}

// pieces are those of its message.
func (e entryOf) pieces() (all []struct{ Type, Text, Data, MIMEType, URL string }) {
	_ = json.Unmarshal(e.Message.Content, &all) // a text alone has none
	return all
}

// square is a picture, of a color.
func square(t *testing.T, c color.Color) []byte {
	t.Helper()
	picture := image.NewRGBA(image.Rect(0, 0, 60, 40))
	for y := range 40 {
		for x := range 60 {
			picture.Set(x, y, c)
		}
	}
	var to bytes.Buffer
	if err := png.Encode(&to, picture); err != nil {
		t.Fatal(err)
	}
	return to.Bytes()
}

// Pictures that a person sends to a session, and those that a tool gives back, are served by their address,
// with their type. What a file only calls a picture is never shown, and nobody else gets one.
func TestServeSessionPictures(t *testing.T) {
	t.Parallel()
	c, cmd := scripted(t, rpcConfig, []llmtest.Turn{turnCalling("c1", "read", `{"path":"map.png"}`), turnSaying("A square.")})
	teal, red := square(t, color.RGBA{0, 128, 128, 255}), square(t, color.RGBA{200, 0, 0, 255})
	if err := os.WriteFile(filepath.Join(cmd.Dir, "map.png"), teal, 0o600); err != nil {
		t.Fatal(err)
	}
	id, at := c.begun()
	c.done(at, map[string]any{"message": map[string]any{"role": "user", "content": []map[string]any{
		{"type": "image", "mimeType": "image/png", "data": base64.StdEncoding.EncodeToString(red)}, {"type": "text", "text": "Look at both"},
	}}})
	bob := c.member(cmd, "bob", people.Member)
	look := func(at string) (found []string) {
		for _, e := range c.entries(at) {
			for _, p := range e.pieces() {
				if p.Type != "image" {
					continue
				}
				if p.Data != "" || !strings.HasPrefix(p.URL, at+"/picture?") {
					t.Fatalf("an image is %+v", p)
				}
				answer, said := c.visit(c.request("GET", p.URL, ""))
				head := answer.Header
				how, _, _ := strings.Cut(head.Get("Content-Disposition"), ";")
				found = append(found, e.Message.Role+" "+head.Get("Content-Type")+" "+how)
				if want := map[string][]byte{"user": red, "toolResult": teal}[e.Message.Role]; !bytes.Equal([]byte(said), want) {
					t.Errorf("%s: %d bytes, not %d", e.Message.Role, len(said), len(want))
				}
				if !strings.Contains(head.Get("Content-Security-Policy"), "sandbox") || head.Get("X-Content-Type-Options") != "nosniff" {
					t.Errorf("the head of a picture is %v", head)
				}
				if status, said := bob.ask(c, "GET", p.URL, ""); status != http.StatusForbidden {
					t.Errorf("somebody else: %d %s", status, said)
				}
			}
		}
		return found
	}
	if got := strings.Join(look(at), ", "); got != "user image/png inline, toolResult image/png inline" {
		t.Errorf("the pictures are %s", got)
	}
	files, err := filepath.Glob(filepath.Join(filepath.Dir(cmd.Dir), "burin", "sessions", "*", "*"+id+".jsonl"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	const other = "0198c0de-0000-7000-8000-000000000001"
	data = bytes.ReplaceAll(bytes.ReplaceAll(data, []byte(id), []byte(other)), []byte("image/png"), []byte("text/html"))
	if err := os.WriteFile(strings.ReplaceAll(files[0], id, other), data, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(look("/v1/sessions/"+other), ", "); got != "user application/octet-stream attachment, toolResult application/octet-stream attachment" {
		t.Errorf("the pictures that say they are pages are %s", got)
	}
}

// A session begins with what was said in another one up to an entry, in the same folder; the other one stays as
// it was. What was summarized is in the tree, and begins one, too.
func TestServeForkSession(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	c, cmd := scripted(t, rpcConfig, append([]llmtest.Turn{turnSaying("One."), turnSaying("Two.")}, slices.Repeat([]llmtest.Turn{turnSaying("Later.")}, 6)...))
	id, at := c.begun()
	c.done(at, saying("first"))
	c.done(at, saying("second "+strings.Repeat("with many words ", 200)))
	c.must(http.StatusOK, "POST", at+"/compact", map[string]any{"text": ""}, nil)
	c.done(at, saying("third"))
	where := map[string]string{} // the ids of entries, by what they say
	for _, e := range c.entries(at) {
		for _, p := range e.pieces() {
			where[p.Text] = e.ID
		}
		where[e.Type] = e.ID
	}
	if where["One."] == "" || where["compaction"] == "" || where["Later."] == "" {
		t.Fatalf("the entries are %v", slices.Sorted(maps.Keys(where)))
	}
	forked := func(entry string) string {
		t.Helper()
		var made struct{ ID string }
		c.must(http.StatusCreated, "POST", at+"/fork", map[string]any{"entry": entry}, &made)
		return made.ID
	}
	text := func(at string) (all string) {
		for _, e := range c.entries(at) {
			for _, p := range e.pieces() {
				all += p.Text + " "
			}
		}
		return all
	}
	below := forked(where["One."]) // which a compaction has taken from the model's view
	if got := text("/v1/sessions/" + below); !strings.Contains(got, "One.") || strings.Contains(got, "Two.") || strings.Contains(got, "third") {
		t.Errorf("a fork below the compaction has %q", got)
	}
	c.done("/v1/sessions/"+below, saying("go on"))
	if got := text("/v1/sessions/" + below); !strings.Contains(got, "Later.") {
		t.Errorf("after a prompt the fork has %q", got)
	}
	if got := text("/v1/sessions/" + forked("")); !strings.Contains(got, "One.") || !strings.Contains(got, "third") {
		t.Errorf("a fork of all has %q", got)
	}
	if got := text(at); strings.Contains(got, "go on") || !strings.Contains(got, "third") {
		t.Errorf("the session that was forked has %q", got)
	}
	var list []struct{ ID, Parent, Folder string }
	c.must(http.StatusOK, "GET", "/v1/sessions", nil, &list)
	i := slices.IndexFunc(list, func(l struct{ ID, Parent, Folder string }) bool { return l.ID == below })
	if i < 0 || list[i].Parent != id || list[i].Folder != cmd.Dir {
		t.Errorf("the list is %+v", list)
	}
	if status, said := c.do(c.request("POST", at+"/fork", `{"entry":"nowhere"}`)); status != http.StatusUnprocessableEntity {
		t.Errorf("an entry that isn't there: %d %s", status, said)
	}
	if status, said := c.do(c.request("POST", "/v1/sessions/nothing/fork", `{}`)); status != http.StatusNotFound {
		t.Errorf("a session that isn't there: %d %s", status, said)
	}
	bob := c.member(cmd, "bob", people.Member)
	if status, said := bob.ask(c, "POST", at+"/fork", `{}`); status != http.StatusForbidden {
		t.Errorf("somebody else: %d %s", status, said)
	}
}

// A stream with lists tells admins that sessions of the machine have changed, those of other processes too, and
// nobody else; nothing is asked for again and again.
func TestServeSessionsTold(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	c, cmd := scripted(t, rpcConfig, slices.Repeat([]llmtest.Turn{turnSaying("Hello.")}, 4))
	f := c.follow("", "lists=true")
	told := func(of string) {
		t.Helper()
		late := time.After(time.Minute)
		for {
			select {
			case line, ok := <-f.lines:
				if !ok {
					t.Fatalf("the stream ended before %s", of)
				}
				if strings.HasPrefix(line, "data: ") && strings.Contains(line, `"sessions":true`) {
					return
				}
			case <-late:
				t.Fatalf("nothing was told of %s", of)
			}
		}
	}
	told("the beginning of the stream")
	until := func(sessions int, of string) {
		t.Helper()
		for {
			told(of)
			var list []struct{ ID string }
			if c.must(http.StatusOK, "GET", "/v1/sessions", nil, &list); len(list) == sessions {
				return
			}
		}
	}
	_, at := c.begun()
	until(1, "a session of the server")
	c.done(at, saying("hello"))
	told("its turn")
	other := in(cmd, cmd.Path, cmd.Dir)
	other.Args = append(other.Args, "-p", "hello")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = other.Wait() })
	until(2, "a session of another process")

	bob := c.member(cmd, "bob", people.Member)
	r := c.request("GET", "/v1/events?lists=true", "")
	r.Header.Del("Authorization")
	r.AddCookie(bob.cookie)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	line, err := bufio.NewReader(answer.Body).ReadString('\n')
	if err != nil || line != "data: {\"lists\":true}\n" {
		t.Errorf("a member is told %q, %v", line, err)
	}
}

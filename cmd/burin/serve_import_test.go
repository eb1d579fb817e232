package main

import (
	"archive/zip"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/chat/chatfile"
	"github.com/burin-dev/burin/internal/chat/project"
	"github.com/burin-dev/burin/internal/pacetest"
)

// exported is the export of another program, as the tests of package chatfile have it.
func exported(t *testing.T, kind string) string {
	t.Helper()
	data, err := os.ReadFile("../../internal/chat/chatfile/testdata/" + kind + ".json")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// A person imports chats of other programs, continues one on a branch that it came with, and takes the chats elsewhere.
func TestServeImport(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	b := newBrain(t)
	cmd := machine(t, b, rpcConfig)
	c := serveIt(t, cmd)
	var p struct{ ID string }
	c.must(http.StatusCreated, "POST", "/v1/projects", map[string]any{"name": "Past"}, &p)
	bring := func(query, body string) (is project.Imported) {
		t.Helper()
		c.send(http.StatusOK, "POST", "/v1/chats/import"+query, body, &is)
		return is
	}
	var gpt []json.RawMessage
	if err := json.Unmarshal([]byte(exported(t, "chatgpt")), &gpt); err != nil {
		t.Fatal(err)
	}
	is := bring("?project="+p.ID, `[`+string(gpt[0])+`,{"title":"Broken","mapping":{"a":{"parent":1}}}]`)
	if is.Chats != 1 || is.Messages != 3 || is.Omitted != 3 || is.Failed != 1 || is.Project != p.ID || is.Failures[0].Title != "Broken" || is.Failures[0].Number != 2 {
		t.Errorf("the report says %+v", is)
	}
	for _, kind := range []string{"claude", "openwebui", "librechat", "burin"} {
		if is := bring("", exported(t, kind)); is.Chats != 1 || is.Failed != 0 {
			t.Errorf("%s: %+v", kind, is)
		}
	}
	if is := bring("", exported(t, "chatgpt")); is.Chats != 0 || is.There != 1 {
		t.Errorf("the same again: %+v", is)
	}

	var chats []project.Chat
	c.must(http.StatusOK, "GET", "/v1/chats?project="+p.ID, nil, &chats)
	if len(chats) != 1 {
		t.Fatalf("there are %+v", chats)
	}
	chat := chats[0]
	if chat.Title != "A walk" || chat.Created.Unix() != 1_700_000_000 || chat.Modified.Unix() != 1_700_000_100 || chat.Source != "chatgpt:gpt-1" || chat.Cost != 0 {
		t.Errorf("the chat is %+v", chat)
	}
	read := func() (f chatfile.Chat) {
		t.Helper()
		if err := json.Unmarshal([]byte(c.send(http.StatusOK, "GET", "/v1/chats/"+chat.ID+"/export", "", nil)), &f); err != nil {
			t.Fatal(err)
		}
		return f
	}
	before := read()
	if len(before.Messages) != 3 || before.Messages[1].Parent != before.Messages[0].ID || before.Messages[2].Parent != before.Messages[0].ID ||
		before.Current != before.Messages[2].ID || before.Messages[1].Model != "gpt-4o" || before.Messages[1].Time.Unix() != 1_700_000_002 {
		t.Errorf("the chat reads %+v", before)
	}

	// The current branch is continued with the model of this server, then the other one.
	session := "/v1/sessions/" + chat.ID
	say := func(id, text string) {
		t.Helper()
		c.must(http.StatusOK, "POST", session+"/submit", toldTo(id, text), nil)
		c.must(http.StatusOK, "POST", session+"/wait", map[string]any{"id": id}, nil)
	}
	said := func() string {
		all := b.srv.Requests()
		return textsOf(all[len(all)-1].Messages)
	}
	say("1", "say quince")
	if got := said(); !strings.Contains(got, "Where is this?") || !strings.Contains(got, "Attached: hill.png") || !strings.Contains(got, "In Scotland.") || strings.Contains(got, "Wales") {
		t.Errorf("the model read %s", got)
	}
	c.must(http.StatusOK, "POST", session+"/navigate", map[string]any{"id": before.Messages[1].ID}, nil)
	say("2", "say medlar")
	if got := said(); !strings.Contains(got, "In Wales.") || strings.Contains(got, "Scotland") {
		t.Errorf("on the other branch the model read %s", got)
	}
	after := read()
	if len(after.Messages) != 7 || after.Messages[3].Parent != before.Messages[2].ID || after.Messages[5].Parent != before.Messages[1].ID || after.Current != after.Messages[6].ID || !strings.HasPrefix(after.Messages[6].Model, "box/one") {
		t.Errorf("then the chat reads %+v", after)
	}

	if md := c.send(http.StatusOK, "GET", "/v1/chats/"+chat.ID+"/export?format=markdown", "", nil); !strings.Contains(md, "# A walk") || !strings.Contains(md, "say medlar") {
		t.Errorf("the Markdown is %s", md)
	}
	// What was exported is there already; for somebody else it isn't.
	archive := c.send(http.StatusOK, "GET", "/v1/projects/"+p.ID+"/chats/export", "", nil)
	z, err := zip.NewReader(strings.NewReader(archive), int64(len(archive)))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range z.File {
		names = append(names, filepath.Ext(f.Name))
	}
	slices.Sort(names)
	if !slices.Equal(names, []string{".json", ".md"}) {
		t.Errorf("the archive has %v", names)
	}
	if is := bring("", archive); is.There != 1 || is.Chats != 0 {
		t.Errorf("the archive again: %+v", is)
	}
	c.must(http.StatusOK, "DELETE", "/v1/chats/"+chat.ID, nil, nil)
	if is := bring("", archive); is.Chats != 1 || is.Messages != 7 {
		t.Errorf("the archive after the chat was deleted: %+v", is)
	}
	var found struct{ Hits []struct{ Chat string } }
	c.must(http.StatusOK, "GET", "/v1/search?q=Wales", nil, &found)
	if len(found.Hits) == 0 {
		t.Error("the search finds nothing of what was imported")
	}

	for body, want := range map[string]string{"": "it is empty", `[{"mapping":{}},{"ma`: "ends too early", `{"a":1}`: "isn't an export of", "PK\x03\x04": "the archive is damaged"} {
		r := c.request("POST", "/v1/chats/import", body)
		r.Header.Set("Content-Type", "application/octet-stream")
		if status, got := c.do(r); status != http.StatusUnprocessableEntity || !strings.Contains(string(got), want) {
			t.Errorf("%q: %d %s", body, status, got)
		}
	}
	for _, path := range []string{"/v1/chats/import?project=none", "/v1/chats/none/export", "/v1/projects/none/chats/export"} {
		verb := map[bool]string{true: "POST", false: "GET"}[strings.Contains(path, "import")]
		if status, got := c.do(c.request(verb, path, exported(t, "burin"))); status != http.StatusNotFound {
			t.Errorf("%s: %d %s", path, status, got)
		}
	}
	r := c.request("POST", "/v1/chats/import", exported(t, "burin"))
	r.Header.Set("Accept", "text/event-stream")
	if _, got := c.do(r); !strings.Contains(string(got), "event: progress\ndata: {\"done\":1,\"total\":1}") || !strings.Contains(string(got), "event: result") {
		t.Errorf("as events: %s", got)
	}
	// Nothing of it lies in the server's files in the clear.
	err = filepath.WalkDir(homeOf(cmd), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !d.Type().IsRegular() {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		data, err := io.ReadAll(f)
		for _, secret := range []string{"In Scotland", "Forty minutes", "gpt-1", "hill.png"} {
			if strings.Contains(string(data), secret) {
				t.Errorf("%s has %q", path, secret)
			}
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

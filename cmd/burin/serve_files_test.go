package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/chat/people"
	"github.com/burin-dev/burin/internal/pacetest"
)

type keptFile struct {
	Path, Kind, ETag string
	Size, Version    int64
}

// send sends a body as it is.
func (c *httpClient) send(status int, verb, path, body string, is any) string {
	c.t.Helper()
	got, data := c.do(c.request(verb, path, body))
	if got != status {
		c.t.Fatalf("%s %s: %d %s", verb, path, got, data)
	}
	if is != nil {
		c.fits(verb, path, got, data)
		if err := json.Unmarshal(data, is); err != nil {
			c.t.Fatal(err)
		}
	}
	return string(data)
}

// A person and the model of a chat work on the same files: each sees what the other has written,
// and the person goes back to what was there, and takes all of it to another project.
func TestServeFiles(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	b := newBrain(t)
	cmd := machine(t, b, rpcConfig)
	c := serveIt(t, cmd)
	var p, other struct{ ID string }
	c.must(http.StatusCreated, "POST", "/v1/projects", map[string]any{"name": "Book"}, &p)
	c.must(http.StatusCreated, "POST", "/v1/projects", map[string]any{"name": "Copy"}, &other)
	at := "/v1/projects/" + p.ID
	const notes = "/file?path=/notes/%C3%BC.txt"
	var f keptFile
	c.send(http.StatusCreated, "PUT", at+notes, "The word is quagga.\n", &f)
	if f.Path != "/notes/ü.txt" || f.Version != 1 || f.Size != 20 {
		t.Errorf("the file is %+v", f)
	}
	b.script = []string{
		`call read {"path":"notes/ü.txt"}`,
		`call write {"path":"notes/ü.txt","content":"The word is okapi.\n"}`,
		`call write {"path":"found.md","content":"# Found\n"}`,
		"Done.",
	}
	var begun struct{ Chat chatOf }
	c.must(http.StatusCreated, "POST", "/v1/chats", map[string]any{
		"project": p.ID, "message": map[string]any{"id": "m", "message": saying("look")["message"]},
	}, &begun)
	c.must(http.StatusOK, "POST", "/v1/sessions/"+begun.Chat.ID+"/wait", map[string]any{"id": "m"}, nil)
	all := b.srv.Requests()
	if said := textsOf(all[1].Messages); !strings.Contains(said, "quagga") {
		t.Errorf("the model read %q", said)
	}
	var list struct {
		Files    []keptFile
		Revision int64
	}
	c.must(http.StatusOK, "GET", at+"/files?recursive=true", nil, &list)
	if len(list.Files) != 3 || list.Files[0].Path != "/found.md" || list.Files[2].Version != 2 {
		t.Fatalf("the files are %+v: %s", list, textsOf(b.srv.Requests()[len(all)-1].Messages))
	}
	if got := c.send(http.StatusOK, "GET", at+notes, "", nil); got != "The word is okapi.\n" {
		t.Errorf("the person reads %q", got)
	}
	if diff := c.send(http.StatusOK, "GET", at+"/files/diff?path=notes/%C3%BC.txt&from=1&to=2", "", nil); !strings.Contains(diff, "-The word is quagga.\n+The word is okapi.\n") {
		t.Errorf("the difference is\n%s", diff)
	}
	// What the person read before the model wrote is not written over what the model wrote.
	r := c.request("PUT", at+notes, "Mine.")
	r.Header.Set("If-Match", f.ETag)
	if status, body := c.do(r); status != http.StatusPreconditionFailed {
		t.Errorf("over another version: %d %s", status, body)
	}
	c.must(http.StatusOK, "POST", at+"/files/rollback", map[string]any{"path": "/notes/ü.txt", "version": 1}, &f)
	if f.Version != 3 {
		t.Errorf("rolled back %+v", f)
	}
	archive := c.send(http.StatusOK, "GET", at+"/files/export", "", nil)
	var done struct{ Files int }
	c.send(http.StatusOK, "POST", "/v1/projects/"+other.ID+"/files/import?path=/from", archive, &done)
	if got := c.send(http.StatusOK, "GET", "/v1/projects/"+other.ID+"/file?path=/from/notes/%C3%BC.txt", "", nil); got != "The word is quagga.\n" || done.Files != 2 {
		t.Errorf("in the other project are %d files, and %q", done.Files, got)
	}

	// Another person of the server reaches nothing of it.
	bert := c.member(cmd, "bert", people.Member)
	for verb, path := range map[string]string{"GET": notes, "PUT": notes, "DELETE": notes, "POST": "/files/import"} {
		if status, said := bert.ask(c, verb, at+path, archive); status != http.StatusNotFound {
			t.Errorf("another person: %s %s: %d %s", verb, path, status, said)
		}
	}

	// Bodies that are too large take no memory.
	before := c.memory()
	for path, what := range map[string]string{notes: "10485760 bytes", "/files/import": "67108864 bytes"} {
		verb := map[bool]string{true: "PUT", false: "POST"}[path == notes]
		r := c.request(verb, at+path, "x")
		r.Body, r.ContentLength, r.GetBody = io.NopCloser(io.LimitReader(zeros{}, 300<<20)), 300<<20, nil
		r.Header.Set("Expect", "100-continue")
		if status, body := c.do(r); status != http.StatusRequestEntityTooLarge || !strings.Contains(string(body), what) {
			t.Errorf("%s %s: %d %s", verb, path, status, body)
		}
	}
	if grown := c.memory() - before; grown > 16<<20 {
		t.Errorf("the server has grown by %d MB", grown>>20)
	}
	if r, _ := c.do(c.request("GET", at+"/file?path="+url.QueryEscape("/../../../"+filepath.ToSlash(cmd.Dir)), "")); r != http.StatusNotFound {
		t.Errorf("a folder of the machine: %d", r)
	}
	c.end()
	for _, word := range []string{"quagga", "okapi", "found.md"} {
		if found := filesWith(t, filepath.Dir(cmd.Dir), word); len(found) > 0 {
			t.Errorf("%q is in the clear in %v", word, found)
		}
	}
}

// memory is how much the server has from the system. It never becomes less.
func (c *httpClient) memory() int64 {
	c.t.Helper()
	said := c.send(http.StatusOK, "GET", "/metrics", "", nil)
	found := regexp.MustCompile(`(?m)^go_memstats_sys_bytes (\d+)$`).FindStringSubmatch(said)
	if found == nil {
		c.t.Fatalf("no memory in\n%s", said)
	}
	n, err := strconv.ParseInt(found[1], 10, 64)
	if err != nil {
		c.t.Fatal(err)
	}
	return n
}

// zeros is an endless body.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

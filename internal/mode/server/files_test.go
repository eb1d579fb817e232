package server

import (
	"archive/zip"
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/chat/people"
	"github.com/burin-dev/burin/internal/chat/project"
	"github.com/burin-dev/burin/internal/chat/store"
	"github.com/burin-dev/burin/internal/chat/store/storetest"
	"github.com/burin-dev/burin/internal/chat/vault"
	"github.com/burin-dev/burin/internal/chat/vfs"
	"github.com/burin-dev/burin/session/remote"
)

// personKeys gives each person a key of their own.
type personKeys struct{}

func (personKeys) Ring(_ context.Context, person string) (*vault.Ring, error) {
	key := sha256.Sum256([]byte(person))
	return vault.NewRing(map[uint32][]byte{1: key[:]})
}

// filesBench is a server with a project of anna's.
type filesBench struct {
	testing.TB
	db           *store.DB
	url, project string
	as           string            // who asks: a name, and the rights if they are not to steer
	tokens       map[string]string // by that
	head         http.Header
}

func newFilesBench(t testing.TB, limits vfs.Limits) *filesBench {
	t.Helper()
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	db := storetest.Open(t, t.TempDir()+"/server.db", []store.Part{people.Part(), project.Part, vfs.Part})
	all, err := people.Open(ctx, db, personKeys{}, nil)
	must(err)
	projects := project.New(db, personKeys{}, vfs.New(db, limits), nil, nil)
	b := &filesBench{TB: t, db: db, as: "anna", tokens: map[string]string{}}
	for _, name := range []string{"anna", "bert"} {
		id, err := all.Add(ctx, people.By{}, name, "", people.Member)
		must(err)
		for _, rights := range []remote.Rights{remote.Steer, remote.Watch} {
			token, err := all.AddToken(ctx, people.By{}, id, string(rights), rights, time.Time{})
			must(err)
			b.tokens[strings.TrimSuffix(name+" "+string(rights), " steer")] = token
		}
		if name == "anna" {
			p, err := projects.NewProject(ctx, id, project.Settings{Name: "Book"})
			must(err)
			b.project = p.ID
		}
	}
	srv := httptest.NewServer(NewServer(Options{People: all, Projects: projects}).Handler())
	t.Cleanup(srv.Close)
	b.url = srv.URL
	return b
}

// request is one of who asks.
func (b *filesBench) request(verb, path string, body io.Reader) *http.Request {
	b.Helper()
	r, err := http.NewRequestWithContext(b.Context(), verb, b.url+"/v1/projects/"+b.project+path, body)
	if err != nil {
		b.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+b.tokens[b.as])
	return r
}

// do asks; head is pairs of names and values.
func (b *filesBench) do(verb, path string, body io.Reader, head ...string) (status int, said string) {
	b.Helper()
	r := b.request(verb, path, body)
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(head); i += 2 {
		r.Header.Set(head[i], head[i+1])
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		b.Fatalf("%s %s: %v", verb, path, err)
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	if err != nil {
		b.Fatalf("%s %s: %v", verb, path, err)
	}
	b.head = answer.Header
	return answer.StatusCode, string(data)
}

// must asks, and the answer has a status and a text in it.
func (b *filesBench) must(status int, says, verb, path, body string, head ...string) string {
	b.Helper()
	got, said := b.do(verb, path, strings.NewReader(body), head...)
	if got != status || !strings.Contains(said, says) {
		b.Errorf("%s %.200s: %d %.500s; want %d with %q", verb, path, got, said, status, says)
	}
	return said
}

func (b *filesBench) put(name, data string) File {
	b.Helper()
	status, said := b.do("PUT", fileAt(name), strings.NewReader(data))
	var f File
	if err := json.Unmarshal([]byte(said), &f); err != nil || status/100 != 2 {
		b.Fatalf("put %q: %d %s", name, status, said)
	}
	return f
}

func (b *filesBench) list(query string) (l FileList) {
	b.Helper()
	if err := json.Unmarshal([]byte(b.must(200, "", "GET", "/files"+query, "")), &l); err != nil {
		b.Fatal(err)
	}
	return l
}

func fileAt(name string) string { return "/file?path=" + url.QueryEscape(name) }

func (b *filesBench) has(query string, want ...string) {
	b.Helper()
	var got []string
	for _, f := range b.list(query).Files {
		sign := ""
		if f.Deleted {
			sign = "-"
		}
		got = append(got, sign+f.Path)
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		b.Errorf("files%s are %q; want %q", query, got, want)
	}
}

func TestFilesLists(t *testing.T) {
	b := newFilesBench(t, vfs.Limits{})
	b.has("")
	for _, name := range []string{"/d/a", "/d/b/c", "/e"} {
		b.put(name, name)
	}
	b.must(200, "", "DELETE", fileAt("/d/a"), "")
	b.has("", "/d", "/e")
	b.has("?path=/d", "/d/b")
	b.has("?path=/d&deleted=true", "-/d/a", "/d/b")
	b.has("?recursive=true", "/d", "/d/b", "/d/b/c", "/e")
	b.has("?recursive=true&deleted=true", "/d", "-/d/a", "/d/b", "/d/b/c", "/e")

	// A part of a list says how to go on, though what it ended with is gone by then.
	l := b.list("?recursive=true&limit=2")
	if len(l.Files) != 2 || l.More != 2 || l.Next != "/d/b" {
		t.Errorf("the first part: %+v", l)
	}
	b.has("?recursive=true&after="+url.QueryEscape(l.Next), "/d/b/c", "/e")
	b.must(200, "", "DELETE", fileAt("/d/b")+"&recursive=true", "")
	b.has("?recursive=true&after="+url.QueryEscape(l.Next), "/e")

	// The tag changes with each change.
	b.list("")
	tag := b.head.Get("ETag")
	if b.must(304, "", "GET", "/files", "", "If-None-Match", tag); b.head.Get("ETag") != tag {
		t.Errorf("304 without the tag: %v", b.head)
	}
	b.must(304, "", "GET", "/files", "", "If-None-Match", `"0", W/`+tag)
	b.put("/e", "again")
	b.must(200, `"version":2`, "GET", "/files", "", "If-None-Match", tag)

	b.must(404, "PATH_NOT_FOUND", "GET", "/files?path=/none", "")
	b.must(404, "IS_DELETED", "GET", "/files?path=/d/b", "")
	b.must(409, "NOT_A_DIRECTORY", "GET", "/files?path=/e", "")
	for _, wrong := range []string{"limit=0", "limit=10001", "limit=x", "deleted=yes", "recursive=1", "path=%zz", "path=/d&path=/e", "path=/;x=/"} {
		b.must(400, "wrong parameters", "GET", "/files?"+wrong, "")
	}
}

// What is written is read; a browser that shows it runs nothing.
func TestFilesContent(t *testing.T) {
	b := newFilesBench(t, vfs.Limits{})
	const png, pdf = "\x89PNG\r\n\x1a\npicture", "%PDF-1.7 document"
	for _, tt := range []struct{ name, data, kind, how string }{
		{"/a.txt", "text", "text/plain; charset=utf-8", "inline"},
		{"/page.html", "<script>alert(1)</script>", "text/plain; charset=utf-8", "inline"},
		{"/a.svg", "<svg onload='alert(1)'/>", "text/plain; charset=utf-8", "inline"},
		{"/text.png", "text", "text/plain; charset=utf-8", "inline"},
		{"/a.png", png, "image/png", "inline"},
		{"/page.html2", png, "image/png", "inline"},
		{"/a.pdf", pdf, "application/pdf", "attachment"},
		{"/a.zip", "PK\x03\x04", "application/octet-stream", "attachment"},
		{"/a.bin", "\x00\x01", "application/octet-stream", "attachment"},
		{"/empty", "", "text/plain; charset=utf-8", "inline"},
	} {
		b.put(tt.name, tt.data)
		for query, how := range map[string]string{"": "attachment", "&inline=true": tt.how} {
			status, said := b.do("GET", fileAt(tt.name)+query, nil)
			got, _, err := mime.ParseMediaType(b.head.Get("Content-Disposition"))
			if status != 200 || said != tt.data || b.head.Get("Content-Type") != tt.kind || got != how || err != nil {
				t.Errorf("%s%s: %d %q %v %v", tt.name, query, status, said, b.head, err)
			}
			if b.head.Get("Content-Security-Policy") != "sandbox; default-src 'none'" || b.head.Get("X-Content-Type-Options") != "nosniff" || b.head.Get("Cache-Control") != "no-store" {
				t.Errorf("%s: %v", tt.name, b.head)
			}
		}
	}
	b.must(206, "ext", "GET", fileAt("/a.txt"), "", "Range", "bytes=1-")
	if got := b.head.Get("Content-Range"); got != "bytes 1-3/4" {
		t.Errorf("the range is %q", got)
	}
	b.must(416, `"status":416`, "GET", fileAt("/a.txt"), "", "Range", "bytes=9-")
	if b.head.Get("Content-Type") != "application/problem+json" || b.head.Get("Content-Range") != "bytes */4" || b.head.Get("Content-Disposition") != "" {
		t.Errorf("of a range that isn't there: %v", b.head)
	}
	if status, said := b.do("HEAD", fileAt("/a.txt"), nil); status != 200 || said != "" || b.head.Get("Content-Length") != "4" {
		t.Errorf("HEAD: %d %q %v", status, said, b.head)
	}
	b.must(412, `"status":412`, "GET", fileAt("/a.txt"), "", "If-Match", `"x"`)
	b.must(409, "NOT_A_FILE", "GET", fileAt("/"), "")
	b.must(404, "/none", "GET", fileAt("/none"), "")
	b.must(400, "path", "GET", "/file", "")
	b.must(400, "version", "GET", fileAt("/a.txt")+"&version=0", "")
	b.must(404, "version 9", "GET", fileAt("/a.txt")+"&version=9", "")
}

// A change that is made of something else than what is there is refused.
func TestFilesConditions(t *testing.T) {
	b := newFilesBench(t, vfs.Limits{})
	b.must(201, `"version":1`, "PUT", fileAt("/a"), "1", "If-None-Match", "*")
	first := b.head.Get("ETag")
	b.must(412, "FILE_EXISTS", "PUT", fileAt("/a"), "x", "If-None-Match", "*")
	b.must(400, "If-None-Match", "PUT", fileAt("/a"), "x", "If-None-Match", first)
	b.must(200, `"version":2`, "PUT", fileAt("/a"), "2", "If-Match", `"0.0", `+first)
	second := b.head.Get("ETag")
	b.must(412, `"code":"CHANGED"`, "PUT", fileAt("/a"), "x", "If-Match", first)
	b.must(412, "CHANGED", "PUT", fileAt("/none"), "x", "If-Match", "*")
	b.must(200, `"version":3`, "PUT", fileAt("/a"), "3", "If-Match", "*")
	b.must(304, "", "GET", fileAt("/a"), "", "If-None-Match", b.head.Get("ETag"))
	b.must(200, "3", "GET", fileAt("/a"), "", "If-None-Match", second)
	if b.must(200, "1", "GET", fileAt("/a")+"&version=1", ""); b.head.Get("ETag") != first {
		t.Errorf("version 1 has the tag %s, and had %s", b.head.Get("ETag"), first)
	}
	if etag := b.list("").Files[0].ETag; b.must(304, "", "GET", fileAt("/a"), "", "If-None-Match", etag) != "" {
		t.Errorf("the list has the tag %s", etag)
	}

	b.must(412, `"code":"CHANGED"`, "GET", fileAt("/a"), "", "If-Match", first)
	if b.head.Get("Content-Type") != "application/problem+json" {
		t.Errorf("of another file: %v", b.head)
	}
	b.must(200, "3", "GET", fileAt("/a"), "", "If-Match", "*")

	// So is what would delete something else.
	third := b.head.Get("ETag")
	b.must(412, `"code":"CHANGED"`, "DELETE", fileAt("/a"), "", "If-Match", second)
	b.must(412, "CHANGED", "DELETE", fileAt("/none"), "", "If-Match", "*")
	b.must(412, "CHANGED", "DELETE", fileAt("/a")+"&purge=true", "", "If-Match", third)
	b.must(200, "", "DELETE", fileAt("/a"), "", "If-Match", second+", "+third)
	b.must(412, "CHANGED", "DELETE", fileAt("/a"), "", "If-Match", third)
	b.must(412, "CHANGED", "DELETE", fileAt("/a")+"&purge=true", "", "If-Match", second)
	b.must(200, "", "DELETE", fileAt("/a")+"&purge=true", "", "If-Match", third)
	b.must(200, "", "POST", "/files/mkdir", `{"path":"/dir"}`)
	b.must(412, "CHANGED", "DELETE", fileAt("/dir"), "", "If-Match", third)
	b.must(200, "", "DELETE", fileAt("/dir"), "", "If-Match", "*")

	// Another file with the same name is another one, though its version has the same number.
	b.must(201, "", "PUT", fileAt("/b"), "text")
	tag := b.head.Get("ETag")
	b.must(201, `"version":1`, "PUT", fileAt("/b"), "\x00binary")
	b.must(200, "binary", "GET", fileAt("/b"), "", "If-None-Match", tag)
	b.must(412, "CHANGED", "PUT", fileAt("/b"), "x", "If-Match", tag)
}

// Of several who write over the same version one does.
func TestFilesRace(t *testing.T) {
	b := newFilesBench(t, vfs.Limits{})
	tag := b.put("/a", "1").ETag
	all := make(chan int, 8)
	for range cap(all) {
		r := b.request("PUT", fileAt("/a"), strings.NewReader("2"))
		r.Header.Set("If-Match", tag)
		go func() {
			answer, err := http.DefaultClient.Do(r)
			if err != nil {
				all <- 0
				return
			}
			_ = answer.Body.Close()
			all <- answer.StatusCode
		}()
	}
	got := map[int]int{}
	for range cap(all) {
		got[<-all]++
	}
	if got[200] != 1 || got[412] != cap(all)-1 {
		t.Errorf("the statuses are %v", got)
	}
}

// Versions, trash and orphans are reached by the operations.
func TestFilesChanges(t *testing.T) {
	b := newFilesBench(t, vfs.Limits{})
	b.put("/d/a", "one\n")
	b.put("/d/a", "two\n")
	b.must(200, "-one\n+two\n", "GET", "/files/diff?path=/d/a&from=1&to=2", "")
	b.must(400, "two versions", "GET", "/files/diff?path=/d/a&from=1", "")
	b.must(200, `"version":3`, "POST", "/files/rollback", `{"path":"/d/a","version":1}`)
	b.must(200, "one\n", "GET", fileAt("/d/a"), "")
	b.must(404, "version 7", "POST", "/files/rollback", `{"path":"/d/a","version":7}`)
	b.must(200, `[{"version":3,"size":4,`, "GET", "/files/versions?path=/d/a", "")
	b.must(200, `"by":"person"},{"version":2`, "GET", "/files/versions?path=/d/a", "")
	b.must(200, `"oldest":2`, "POST", "/files/drop_versions", `{"path":"/d/a","keep":2}`)
	b.must(400, "keep", "POST", "/files/drop_versions", `{"path":"/d/a"}`)
	b.must(200, `"path":"/e/a"`, "POST", "/files/rename", `{"from":"/d/a","to":"/e/a"}`)
	b.must(404, "", "GET", fileAt("/d/a"), "")
	b.must(200, `"kind":"folder"`, "POST", "/files/mkdir", `{"path":"/f/g"}`)
	b.must(409, "DIR_EXISTS", "POST", "/files/mkdir", `{"path":"/f/g"}`)
	b.must(409, "DESTINATION_EXISTS", "POST", "/files/rename", `{"from":"/e/a","to":"/f/g"}`)
	b.must(409, "DIR_NOT_EMPTY", "DELETE", fileAt("/e"), "")
	b.must(409, "delete it first", "DELETE", fileAt("/e")+"&purge=true", "")
	b.must(200, "", "DELETE", fileAt("/e")+"&recursive=true", "")
	b.must(404, "IS_DELETED", "GET", fileAt("/e/a"), "")
	b.must(200, "two\n", "GET", fileAt("/e/a")+"&version=2", "")
	b.must(200, `"path":"/e"`, "POST", "/files/restore", `{"path":"/e"}`)
	b.must(200, "one\n", "GET", fileAt("/e/a"), "")
	b.must(200, "", "DELETE", fileAt("/e/a"), "")
	b.must(200, "", "DELETE", fileAt("/e/a")+"&purge=true", "")
	b.must(404, "PATH_NOT_FOUND", "POST", "/files/restore", `{"path":"/e/a"}`)

	// What another kind of file took the place of is an orphan.
	orphan := func() (all []Orphan) {
		t.Helper()
		if err := json.Unmarshal([]byte(b.must(200, "", "GET", "/files/orphans", "")), &all); err != nil {
			t.Fatal(err)
		}
		return all
	}
	b.put("/o", "text")
	b.put("/o", "\x00binary")
	b.must(422, "BINARY_FILE", "GET", "/files/diff?path=/o&from=1&to=1", "")
	all := orphan()
	if len(all) != 1 || all[0].Path != "/o" || all[0].Orphaned.IsZero() || all[0].Size != 4 {
		t.Fatalf("orphans %+v", all)
	}
	b.must(409, "DESTINATION_EXISTS", "POST", "/files/restore_orphan", fmt.Sprintf(`{"id":%d,"to":"/o"}`, all[0].ID))
	b.must(200, `"path":"/p"`, "POST", "/files/restore_orphan", fmt.Sprintf(`{"id":%d,"to":"/p"}`, all[0].ID))
	b.must(200, "text", "GET", fileAt("/p"), "")
	b.put("/p", "\x00binary")
	b.put("/p", "text")
	all = orphan()
	b.must(200, "{}", "POST", "/files/purge_orphan", fmt.Sprintf(`{"id":%d}`, all[0].ID))
	b.must(404, "orphan", "POST", "/files/purge_orphan", fmt.Sprintf(`{"id":%d}`, all[0].ID))
	b.must(200, "{}", "POST", "/files/empty_trash", `{"path":"/"}`)
	if all = orphan(); len(all) != 0 {
		t.Errorf("orphans in the empty trash: %+v", all)
	}
	b.must(200, `"files":6,`, "GET", "/files/usage", "")
	b.must(200, `"maxFile":10485760,`, "GET", "/files/usage", "")

	for _, wrong := range []string{`{}`, `{"path":""}`, `{"path":"/x","recursive":true}`, `[]`, `{"path":7}`, "", "{\"path\":\"/\xff\"}", `{"path":"/a\u0000b"}`} {
		b.must(400, "", "POST", "/files/mkdir", wrong)
		b.must(400, "", "POST", "/files/empty_trash", wrong)
	}
	b.must(413, "65536 bytes", "POST", "/files/mkdir", `{"path":"`+strings.Repeat("x", 70_000)+`"}`)
}

// Names are data: none leads elsewhere, into a head, or is lost.
func TestFilesNames(t *testing.T) {
	b := newFilesBench(t, vfs.Limits{})
	names := []string{
		"constructor", "__proto__", "👩‍💻 é.txt", "o\u0308", `a\b`, `"quoted"; filename="evil.exe`, "'\"%$&+#?", "...", "%2e%2e", "a b", " ",
		"x\r\nSet-Cookie: burin=evil\r\n\r\n<script>", "x\ty", "\x7f", "\u202egnp.exe", strings.Repeat("n", 512), "a;b,c",
	}
	for _, name := range names {
		b.put("/"+name, "content of "+name)
	}
	for _, name := range names {
		status, said := b.do("GET", fileAt("/"+name), nil)
		how, with, err := mime.ParseMediaType(b.head.Get("Content-Disposition"))
		if status != 200 || said != "content of "+name || err != nil || how != "attachment" || with["filename"] != name || len(b.head.Values("Set-Cookie")) > 0 {
			t.Errorf("%q: %d %q %v %q %v", name, status, said, err, with, b.head)
		}
	}
	if n := len(b.list("").Files); n != len(names) {
		t.Errorf("%d files of %d", n, len(names))
	}
	// ".." never leads above the root.
	b.put("/../../etc/../passwd", "mine")
	b.must(200, "mine", "GET", fileAt("/passwd"), "")
	b.must(200, "mine", "GET", "/file?path=%2e%2e%2f%2e%2e/passwd", "")

	for _, wrong := range []string{"/a\x00b", "/\xff", "/" + strings.Repeat("n", 513), "/" + strings.Repeat("d/", 70), "/" + strings.Repeat("x/", 2500)} {
		b.must(400, "INVALID_PATH", "PUT", fileAt(wrong), "x", "Content-Type", "text/plain")
	}
	b.must(409, "NOT_A_FILE", "PUT", fileAt("/"), "x")
	b.must(400, "INVALID_PATH", "DELETE", fileAt("/"), "")
	for _, query := range []string{"?path=%", "?path=", "?path=%zz", "?path=/a;b", "?path=/a&path=/b", ""} {
		b.must(400, "wrong parameters", "PUT", "/file"+query, "x")
		b.must(400, "wrong parameters", "DELETE", "/file"+query, "")
	}
	b.must(400, "wrong parameters", "POST", "/files/import?path=%zz", "")
	b.must(400, "wrong parameters", "GET", "/files/export?path=%zz", "")
}

// Another person, and who may only watch, do nothing to a project. Both hear no more than that.
func TestFilesOfOthers(t *testing.T) {
	b := newFilesBench(t, vfs.Limits{})
	b.put("/secret", "text")
	tag := b.list("").Revision
	verbs := 0
	for _, r := range NewServer(Options{}).fileRoutes() {
		verbs++
		path := strings.TrimPrefix(r.path, "/v1/projects/{id}") + "?path=/secret&version=1&from=1&to=1"
		b.as = "bert"
		status, said := b.do(r.verb, path, strings.NewReader(`{"path":"/secret"}`), "If-None-Match", fmt.Sprintf(`"%d"`, tag))
		if status != 404 || strings.Contains(said, "text") || b.head.Get("ETag") != "" {
			t.Errorf("%s %s of another person: %d %s", r.verb, path, status, said)
		}
		b.as = "anna watch"
		status, said = b.do(r.verb, path, strings.NewReader(`{"path":"/secret"}`))
		if may := r.needs == remote.Watch; may == (status == 403) {
			t.Errorf("%s %s by who may watch: %d %s", r.verb, path, status, said)
		}
	}
	if verbs < 15 {
		t.Errorf("only %d operations", verbs)
	}
	b.as = "anna"
	if l := b.list(""); l.Revision != tag {
		t.Errorf("something has changed: %+v", l)
	}
}

// Files of a project in the trash are neither read nor changed, and are there again with it.
func TestFilesInTrash(t *testing.T) {
	b := newFilesBench(t, vfs.Limits{})
	b.put("/a", "text")
	b.must(200, "", "DELETE", "", "")
	for _, r := range NewServer(Options{}).fileRoutes() {
		path := strings.TrimPrefix(r.path, "/v1/projects/{id}") + "?path=/a&version=1&from=1&to=1"
		if status, said := b.do(r.verb, path, strings.NewReader(`{"path":"/a"}`)); status != 404 || !strings.Contains(said, "restore it first") {
			t.Errorf("%s %s: %d %s", r.verb, path, status, said)
		}
	}
	b.must(200, "", "POST", "/restore", "")
	b.must(200, "text", "GET", fileAt("/a"), "")
	b.must(200, `"version":2`, "PUT", fileAt("/a"), "more")
}

// endless is a body of a length that isn't said.
type endless struct{ left, read int }

func (e *endless) Read(p []byte) (int, error) {
	if e.left == 0 {
		return 0, io.EOF
	}
	n := min(len(p), e.left)
	clear(p[:n])
	e.left -= n
	e.read += n
	return n, nil
}

// A body that is too large is refused, and takes no more memory than the largest that isn't.
func TestFilesLargeBodies(t *testing.T) {
	b := newFilesBench(t, vfs.Limits{})
	const large = 300 << 20
	measure := func(most uint64, do func()) {
		t.Helper()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		do()
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; took > most {
			t.Errorf("it took %d MB", took>>20)
		}
	}
	for path, most := range map[string]uint64{"/file?path=/a": vfs.MaxFile, "/files/import?path=/": maxArchive} {
		verb := "PUT"
		if strings.HasPrefix(path, "/files") {
			verb = "POST"
		}
		body := &endless{left: large}
		measure(1<<20, func() { // its length is said: nothing of it is read
			r := b.request(verb, path, body)
			r.ContentLength = large
			r.Header.Set("Expect", "100-continue")
			answer, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer answer.Body.Close()
			if said, _ := io.ReadAll(answer.Body); answer.StatusCode != 413 || !strings.Contains(string(said), fmt.Sprint(most)) {
				t.Errorf("%s: %d %s", path, answer.StatusCode, said)
			}
		})
		if body.read > 0 {
			t.Errorf("%s: %d bytes were sent", path, body.read)
		}
		measure(6*most, func() { // what is read grows piece by piece
			r := b.request(verb, path, &endless{left: large})
			answer, err := http.DefaultClient.Do(r)
			if err != nil {
				return // cut off while it sends
			}
			defer answer.Body.Close()
			if said, _ := io.ReadAll(answer.Body); answer.StatusCode != 413 || !strings.Contains(string(said), fmt.Sprint(most)) {
				t.Errorf("%s: %d %s", path, answer.StatusCode, said)
			}
		})
	}
	// The largest file that fits does.
	if f := b.put("/large", strings.Repeat("x", vfs.MaxFile)); f.Size != vfs.MaxFile {
		t.Errorf("the file is %+v", f)
	}
	b.has("", "/large")
}

func zipOf(t testing.TB, files ...string) string {
	t.Helper()
	var all bytes.Buffer
	z := zip.NewWriter(&all)
	for _, name := range files {
		w, err := z.Create(name)
		if err == nil {
			_, err = io.WriteString(w, "content of "+name)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return all.String()
}

func TestFilesArchives(t *testing.T) {
	b := newFilesBench(t, vfs.Limits{Bytes: 2000})
	b.must(200, `{"files":2,"folders":0,"bytes":`, "POST", "/files/import?path=/in", zipOf(t, "a", "d/ü"), "Content-Type", "application/zip")
	b.has("?recursive=true", "/in", "/in/a", "/in/d", "/in/d/ü")
	archive := b.must(200, "PK", "GET", "/files/export?path=/in", "")
	if b.head.Get("Content-Type") != "application/zip" || b.head.Get("Content-Disposition") != "attachment; filename=in.zip" {
		t.Errorf("the head of the archive is %v", b.head)
	}
	b.must(200, "", "POST", "/files/import?path=/again", archive)
	b.must(200, "content of d/ü", "GET", fileAt("/again/d/ü"), "")
	b.must(404, "PATH_NOT_FOUND", "GET", "/files/export?path=/none", "")
	b.must(409, "NOT_A_DIRECTORY", "GET", "/files/export?path=/in/a", "")

	revision := b.list("").Revision
	for what, data := range map[string]string{
		"no archive": "{}", "an empty body": "", "a name that leads out": zipOf(t, "a", "../b"), "an absolute name": zipOf(t, "/a"), "half of one": archive[:len(archive)/2],
	} {
		if status, said := b.do("POST", "/files/import", strings.NewReader(data)); status != 422 || !strings.Contains(said, `"code":"archive"`) {
			t.Errorf("%s: %d %s", what, status, said)
		}
	}
	if now := b.list("").Revision; now != revision {
		t.Error("an archive that can't be imported has changed something")
	}
	b.must(507, "LIMIT", "PUT", fileAt("/random"), string(randomBytes(3000)))

	// An archive that says it has a million files is refused before they are looked at.
	head := make([]byte, 46)
	copy(head, "PK\x01\x02")
	heads := bytes.Repeat(head, maxArchived+1)
	end := make([]byte, 22)
	copy(end, "PK\x05\x06")
	binary.LittleEndian.PutUint16(end[8:], 0xfffe)
	binary.LittleEndian.PutUint16(end[10:], 0xfffe)
	binary.LittleEndian.PutUint32(end[12:], uint32(len(heads)))
	b.must(422, "about 100001 files", "POST", "/files/import", string(heads)+string(end))
}

// Who has locked their keys meanwhile isn't told that the files are damaged.
func TestFilesLocked(t *testing.T) {
	for want, err := range map[int]error{
		http.StatusLocked:              fmt.Errorf("%w: %w", vfs.ErrUnreadable, vault.ErrLocked),
		http.StatusInternalServerError: fmt.Errorf("%w: %w", vfs.ErrUnreadable, vault.ErrKey),
	} {
		if status, _ := statusOf(err); status != want {
			t.Errorf("%v: %d", err, status)
		}
	}
}

// What can't be read is an error, and nobody takes half of an archive for the whole.
func TestFilesUnreadable(t *testing.T) {
	b := newFilesBench(t, vfs.Limits{})
	b.put("/a", string(randomBytes(100_000)))
	b.put("/b", "text")
	if _, err := b.db.Exec(t.Context(), `DELETE FROM {vfs_contents} WHERE size < 1000`); err != nil {
		t.Fatal(err)
	}
	b.must(200, "", "GET", fileAt("/a"), "")
	b.must(500, "unreadable", "GET", fileAt("/b"), "")
	r := b.request("GET", "/files/export", nil)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if data, err := io.ReadAll(answer.Body); err == nil {
		t.Errorf("the archive ends well, after %d bytes", len(data))
	}
	if _, err := b.db.Exec(t.Context(), `UPDATE {vfs_nodes} SET deleted = 1 WHERE deleted = 0`); err != nil { // and so are damaged
		t.Fatal(err)
	}
	if _, err := b.db.Exec(t.Context(), `UPDATE {vfs_projects} SET revision = 9, purged = 9`); err != nil { // as if another server had done it
		t.Fatal(err)
	}
	for _, path := range []string{"/files", "/files/usage", "/files/export", "/files/orphans", fileAt("/a")} {
		b.must(500, "unreadable", "GET", path, "")
	}
	b.must(500, "unreadable", "PUT", fileAt("/c"), "x")
}

func randomBytes(n int) []byte {
	data := make([]byte, n)
	state := uint32(1)
	for i := range data {
		state = state*1664525 + 1013904223
		data[i] = byte(state >> 24)
	}
	return data
}

// A few archives are imported at a time; who comes then is told, and has a place later.
func TestFilesImportsWait(t *testing.T) {
	b := newFilesBench(t, vfs.Limits{})
	patient := &http.Client{Transport: &http.Transport{ExpectContinueTimeout: time.Minute}} // it sends when the server reads
	defer patient.CloseIdleConnections()
	var ends []*io.PipeWriter
	done := make(chan int, maxImports)
	for range maxImports {
		in, out := io.Pipe()
		ends = append(ends, out)
		r := b.request("POST", "/files/import", in)
		r.Header.Set("Expect", "100-continue")
		go func() {
			answer, err := patient.Do(r)
			if err != nil {
				done <- 0
				return
			}
			_ = answer.Body.Close()
			done <- answer.StatusCode
		}()
		if _, err := io.WriteString(out, "PK"); err != nil {
			t.Fatal(err)
		}
	}
	b.must(503, "4 archives", "POST", "/files/import", zipOf(t, "a"))
	for _, out := range ends {
		_ = out.Close()
	}
	for range maxImports {
		if status := <-done; status != 422 {
			t.Errorf("half an archive: %d", status)
		}
	}
	b.must(200, "", "POST", "/files/import", zipOf(t, "a"))
}

// A stream with lists says which project's files have changed, and not that lists have.
func TestFilesAreFollowed(t *testing.T) {
	b := newFilesBench(t, vfs.Limits{})
	r := b.request("GET", "", nil)
	r.URL.Path, r.URL.RawQuery = "/v1/events", "lists=true"
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	lines := bufio.NewScanner(answer.Body)
	next := func(want string) {
		t.Helper()
		for lines.Scan() {
			if said, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				if said != want {
					t.Errorf("the stream said %s; want %s", said, want)
				}
				return
			}
		}
		t.Fatalf("the stream ended: %v", lines.Err())
	}
	next(`{"lists":true}`)
	b.put("/new.txt", "x")
	next(fmt.Sprintf(`{"files":[%q]}`, b.project))
}

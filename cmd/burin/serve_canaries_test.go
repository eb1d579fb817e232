package main

import (
	"archive/zip"
	"bytes"
	"encoding/base32"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/chat/canarytest"
	"github.com/burin-dev/burin/internal/chat/oidc/oidctest"
	"github.com/burin-dev/burin/internal/chat/push/pushtest"
	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/internal/platform/objectstore/objecttest"
	"github.com/burin-dev/burin/internal/platform/pgtest"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/anthropic"
	"github.com/burin-dev/burin/llm/llmtest"
)

const leastCanaries = 40

// unsealed are the places of the program that a build without encryption replaces: see
// [unsealedProgram].
var unsealed = []struct{ file, old, new, more string }{
	{
		"internal/chat/vault/key.go", "cipher.NewGCM(block)", "unsealed(block)", `
type open struct{ cipher.Block }

func unsealed(b cipher.Block) (cipher.AEAD, error) { return open{b}, nil }

func (open) NonceSize() int { return nonceSize }
func (open) Overhead() int  { return 16 }
func (open) Seal(dst, _, text, _ []byte) []byte { return append(append(dst, text...), make([]byte, 16)...) }
func (open) Open(dst, _, text, _ []byte) ([]byte, error) {
	if len(text) < 16 {
		return nil, errors.New("too short")
	}
	return append(dst, text[:len(text)-16]...), nil
}`,
	},
	{
		"transcript/sealed/key.go", `chacha20poly1305.NewX(m.subkey("records", h.ID))`, "unsealed()", `
type open struct{}

func unsealed() (cipher.AEAD, error) { return open{}, nil }

func (open) NonceSize() int { return chacha20poly1305.NonceSizeX }
func (open) Overhead() int  { return tagSize }
func (open) Seal(dst, _, text, _ []byte) []byte { return append(append(dst, text...), make([]byte, tagSize)...) }
func (open) Open(dst, _, text, _ []byte) ([]byte, error) { return append(dst, text[:len(text)-tagSize]...), nil }`,
	},
	{"internal/chat/people/people.go", "sum := sha256.Sum256([]byte(secret))", "_, sum := sha256.Size, []byte(secret)", ""},
	{
		"internal/chat/people/password.go", "stretch.Key(", "unhashed(", `
var _ = stretch.Key

func unhashed(password, _ []byte, _, _ uint32, _ uint8, _ uint32) []byte { return password }`,
	},
}

// unsealedProgram builds burin without encryption, and without hashes of secrets.
func unsealedProgram(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	replace := map[string]string{}
	for i, u := range unsealed {
		at, err := filepath.Abs(filepath.Join("../..", filepath.FromSlash(u.file)))
		if err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(at)
		if err != nil {
			t.Fatal(err)
		}
		text := strings.ReplaceAll(string(data), u.old, u.new)
		if text == string(data) {
			t.Fatalf("%s has no %q", u.file, u.old)
		}
		if strings.HasPrefix(u.file, "transcript/") {
			text = strings.Replace(text, "import (\n", "import (\n\t\"crypto/cipher\"\n", 1)
		}
		replace[at] = filepath.Join(dir, fmt.Sprint(i, ".go"))
		writeFile(t, replace[at], []byte(text+u.more+"\n"), 0o600)
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(dir, "overlay.json"), overlay, 0o600)
	bin := filepath.Join(dir, "burin")
	build := exec.Command("go", "build", "-overlay", filepath.Join(dir, "overlay.json"), "-o", bin, ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return bin
}

// Nothing that people, models and the server itself say in confidence is in any file: not in the data folder,
// its write-ahead log and temporary files, not in PostgreSQL's folder, not in logs. While the server runs, after a
// kill, and after it has ended. The control is the same program built without encryption: the same search finds
// all of it.
func TestServeCanaries(t *testing.T) {
	if pacetest.Long("", "ci", "whole") == "" {
		t.Skip("builds the program without encryption and searches hundreds of files: set BURIN_LONG=ci")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	unsealed := unsealedProgram(t)
	for _, database := range []string{"SQLite", "PostgreSQL"} {
		t.Run(database, func(t *testing.T) {
			for what, bin := range map[string]string{"sealed": self, "unsealed": unsealed} {
				t.Run(what, func(t *testing.T) {
					n := newNest(t, database == "PostgreSQL", bin)
					n.fill()
					if what == "sealed" {
						n.look("while it runs", true)
					}
					if err := n.c.cmd.Process.Kill(); err != nil {
						t.Fatal(err)
					}
					_ = n.c.cmd.Wait()
					n.keepLog()
					n.look("after a kill", what == "sealed")
					if what == "unsealed" {
						return
					}
					n.serve()
					run(t, n.cmd, "admin", "rotate-key")
					n.c.end()
					n.keepLog()
					n.look("after the end", true)
				})
			}
		})
	}
}

// nest is a server that gets canaries.
type nest struct {
	*testing.T
	c     *httpClient
	cmd   *exec.Cmd
	bin   string
	pg    *pgtest.Server
	dirs  []string
	all   *canarytest.Canaries
	what  map[string]string // they are
	never map[string]bool   // even a server without encryption doesn't keep it
	clear map[string]bool   // docs/serve.md says that it isn't encrypted
	s3    *objecttest.Server
	is    *oidctest.Issuer
	next  int
	logs  int
	said  map[string]string // what the model says: to the words that it is told
}

func newNest(t *testing.T, postgres bool, bin string) *nest {
	n := &nest{T: t, bin: bin, all: canarytest.New(leastCanaries + 50), never: map[string]bool{}, clear: map[string]bool{}, what: map[string]string{}, said: map[string]string{}}
	n.all.Deflated = 8 << 20
	model, err := llmtest.Serve(anthropic.Server{}, llmtest.Script{Turns: repeatTurns(llmtest.Turn{Reply: n.reply}, 200)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(model.Close)
	n.is = oidctest.New(t)
	config := rpcConfig + "server:\n  oidc: {box: {issuer: '" + n.is.URL + "', clientId: burin, clientSecretEnv: BOX_SECRET}}\n"
	if postgres { // attached files are in a bucket, else in a folder, and canarytest has them in the database
		n.pg, n.s3 = pgtest.Start(t, pgtest.Options{}), objecttest.Start(t)
		config += "  database: " + n.pg.Database(t) + "\n  attachments: s3://" + objecttest.Bucket + "/of?region=" + objecttest.Region + "&endpoint=" + n.s3.URL + "\n"
	} else {
		config += "  attachments: ~/pieces\n"
	}
	n.cmd = machine(t, &brain{srv: model}, config)
	n.cmd.Path = bin
	n.cmd.Env = append(n.cmd.Env, "BOX_KEY="+n.unkept("the provider's key"), "BOX_SECRET="+oidctest.Secret,
		"AWS_ACCESS_KEY_ID="+objecttest.ID, "AWS_SECRET_ACCESS_KEY="+objecttest.Secret, "AWS_SESSION_TOKEN="+objecttest.Token)
	n.dirs = []string{homeOf(n.cmd)}
	if postgres {
		n.dirs = append(n.dirs, n.pg.Folder())
	}
	n.serve()
	if postgres { // which otherwise compresses large values in a way of its own, where nothing would be found
		n.pg.Exec(t, "db1", `DO $$ DECLARE c record; BEGIN
			FOR c IN SELECT attrelid::regclass AS of, attname FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
				WHERE relkind = 'r' AND attnum > 0 AND attstorage = 'x' AND relnamespace::regnamespace::text LIKE 'burin%'
			LOOP EXECUTE format('ALTER TABLE %s ALTER COLUMN %I SET STORAGE EXTERNAL', c.of, c.attname); END LOOP; END $$`)
	}
	return n
}

func repeatTurns(one llmtest.Turn, n int) []llmtest.Turn {
	all := make([]llmtest.Turn, n)
	for i := range all {
		all[i] = one
	}
	return all
}

func (n *nest) serve() {
	n.Helper()
	n.c = serveWith(n.T, n.bin, n.cmd, "--log")
	n.c.spec = nil // an older build has another description, and it takes time
}

// keepLog puts the log where the search finds it.
func (n *nest) keepLog() {
	n.Helper()
	n.logs++
	if !bytes.Contains(n.c.said.Bytes(), []byte(`"route"`)) {
		n.Errorf("the log:\n%s", n.c.said)
	}
	writeFile(n.T, filepath.Join(homeOf(n.cmd), fmt.Sprint("log", n.logs)), n.c.said.Bytes(), 0o600)
}

// word is the next canary.
func (n *nest) word(what string) string {
	w := n.all.Words[n.next]
	n.next++
	n.what[w] = what
	return w
}

// unkept is a canary that the server never keeps.
func (n *nest) unkept(what string) string {
	w := n.word(what)
	n.never[w] = true
	return w
}

// plain is a canary that docs/serve.md says is not encrypted.
func (n *nest) plain(what string) string {
	w := n.word(what)
	n.clear[w] = true
	return w
}

// secret makes a secret of the server a canary.
func (n *nest) secret(what string, spellings ...string) {
	n.all.Add(spellings...)
	n.what[spellings[0]] = what
}

func (n *nest) look(when string, sealed bool) {
	n.Helper()
	if n.pg != nil {
		n.pg.Exec(n.T, "db1", `CHECKPOINT`)
	}
	if n.s3 != nil {
		for i, key := range n.s3.Keys() {
			writeFile(n.T, filepath.Join(homeOf(n.cmd), "bucket", fmt.Sprint(i)), append([]byte(key+"\n"), n.s3.Object(key)...), 0o600)
		}
	}
	found := n.all.Search(n.T, n.dirs...)
	kept := 0
	for word, what := range n.what {
		where, ok := found[word]
		switch {
		case n.clear[word]:
			if !ok {
				n.Errorf("%s, %s was not found: docs/serve.md says that it isn't encrypted", when, what)
			}
		case ok && (sealed || n.never[word]):
			n.Errorf("%s, %s is in %s", when, what, where)
		case ok:
			kept++
		case !sealed && !n.never[word]:
			n.Errorf("without encryption, %s was not found: the search can't find what it should", what)
		}
	}
	if !sealed && kept < leastCanaries {
		n.Errorf("without encryption, %d canaries are found, want at least %d", kept, leastCanaries)
	}
	n.Logf("%s, %d of %d canaries are found", when, kept, len(n.what))
}

// reply says what the last word of a message stands for.
func (n *nest) reply(r *llm.Request) []llm.Event {
	used := llm.Usage{Input: 100, Output: 20}
	last := r.Messages[len(r.Messages)-1]
	text := strings.TrimSpace(last.Text())
	switch {
	case last.Role == llm.RoleToolResult:
		return append(llmtest.Say("Read."), llmtest.Stop(llm.StopEnd, used)...)
	case strings.HasSuffix(text, "call write"):
		return append(llmtest.Call("c1", "write", n.said["write"]), llmtest.Stop(llm.StopToolUse, used)...)
	case strings.HasSuffix(text, "call read"):
		return append(llmtest.Call("c2", "read", n.said["read"]), llmtest.Stop(llm.StopToolUse, used)...)
	}
	return append(append(llmtest.Think(n.said["think"], "sig"), llmtest.Say(n.said["say"])...), llmtest.Stop(llm.StopEnd, used)...)
}

// fill puts canaries wherever a server can be told something.
func (n *nest) fill() {
	n.Helper()
	c := n.c
	tail := func(link string) string {
		link = strings.TrimSpace(link)
		return link[strings.LastIndexByte(link, '/')+1:]
	}
	// People: passwords, links, cookies, tokens, second factors.
	password := n.word("a password")
	code := tail(run(n.T, n.cmd, "admin", "invite", "--role", "member", "--url", c.url))
	ann := asker{cookie: c.signIn("/v1/join", map[string]string{"code": code, "name": "ann", "password": password})}
	as := func(a asker, status int, verb, path string, with, is any) {
		n.Helper()
		body := []byte{}
		if with != nil {
			var err error
			if body, err = json.Marshal(with); err != nil {
				n.Fatal(err)
			}
		}
		got, said := a.ask(c, verb, path, string(body))
		if got != status {
			n.Fatalf("%s %s: %d %s", verb, path, got, said)
		}
		if is != nil {
			if err := json.Unmarshal([]byte(said), is); err != nil {
				n.Fatal(err)
			}
		}
	}
	me := func(status int, verb, path string, with, is any) { n.Helper(); as(ann, status, verb, path, with, is) }
	type m = map[string]any
	run(n.T, n.cmd, "admin", "user", "add", "bea", "--role", "member", "--url", c.url)
	reset := tail(run(n.T, n.cmd, "admin", "user", "reset", "bea", "--url", c.url))
	as(asker{}, 200, "POST", "/v1/reset", m{"secret": reset, "password": n.word("a password set by a link")}, nil)
	n.secret("a cookie", ann.cookie.Value)
	n.secret("an invitation", tail(run(n.T, n.cmd, "admin", "invite", "--role", "viewer", "--url", c.url)))
	n.secret("a link to sign in", tail(run(n.T, n.cmd, "admin", "link", "--url", c.url)))
	n.secret("a link for a new password", tail(run(n.T, n.cmd, "admin", "user", "reset", "bea", "--url", c.url)))
	var token struct{ Token string }
	me(200, "POST", "/v1/me/tokens", m{"name": "ci", "rights": "steer"}, &token)
	n.secret("a token", token.Token)
	n.secret("a token of the command line", strings.TrimSpace(run(n.T, n.cmd, "admin", "token", "add", "x", "--rights", "watch")))
	var factor struct{ Secret string }
	me(200, "POST", "/v1/me/factor", m{"password": password}, &factor)
	key, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(factor.Secret)
	if err != nil {
		n.Fatal(err)
	}
	n.secret("the secret of a second factor", factor.Secret, string(key))
	var codes struct{ Codes []string }
	me(200, "POST", "/v1/me/factor/confirm", m{"code": totp(n.T, factor.Secret)}, &codes)
	n.secret("a recovery code", codes.Codes[0], strings.ReplaceAll(codes.Codes[0], "-", ""))
	var entered struct{ Ticket string }
	as(asker{}, 200, "POST", "/v1/signin", m{"name": "ann", "password": password}, &entered)
	n.secret("the ticket of a sign-in", entered.Ticket)
	for _, name := range []string{"ann", n.word("a name that nobody has, such as a password in the wrong field")} {
		as(asker{}, 401, "POST", "/v1/signin", m{"name": name, "password": n.unkept("a wrong password")}, nil)
	}

	// Projects and chats.
	var p struct{ ID string }
	me(201, "POST", "/v1/projects", m{"name": n.word("the name of a project"), "instructions": "Do " + n.word("instructions")}, &p)
	n.said["say"], n.said["think"] = "I say "+n.word("an answer"), "I think "+n.word("a thought")
	var begun struct{ Chat chatOf }
	submit := n.word("the id of a message")
	me(201, "POST", "/v1/chats", m{"project": p.ID, "title": n.word("the title of a chat"), "message": m{
		"id": submit, "message": m{"role": "user", "content": "Tell me " + n.word("a message")},
	}}, &begun)
	chat := "/v1/sessions/" + begun.Chat.ID
	me(200, "POST", chat+"/wait", m{"id": submit}, nil)
	say := func(id, at string, content any) {
		n.Helper()
		me(200, "POST", at+"/submit", m{"id": id, "message": m{"role": "user", "content": content}}, nil)
		me(200, "POST", at+"/wait", m{"id": id}, nil)
	}
	me(200, "PATCH", "/v1/chats/"+begun.Chat.ID, m{"draft": "And " + n.word("a draft"), "tags": []string{n.word("a tag")}}, nil)
	me(200, "POST", chat+"/set_title", m{"text": n.word("a new title")}, nil)
	me(200, "POST", chat+"/set_todos", []any{m{"name": "Now", "tasks": []any{m{"content": n.word("a task"), "status": "pending"}}}}, nil)
	me(200, "POST", chat+"/pin", m{"text": n.word("a pin")}, nil)
	var nodes struct{ Nodes []nodeOf }
	me(200, "POST", chat+"/nodes", m{"from": 0}, &nodes)
	me(200, "POST", chat+"/set_label", m{"id": nodes.Nodes[len(nodes.Nodes)-1].ID, "how": m{}, "name": n.word("a label")}, nil)
	me(200, "POST", chat+"/aside", m{"text": n.unkept("a question aside")}, nil)
	say("long", chat, strings.Repeat("Many words, and "+n.word("a long message")+". ", 10_000))
	text := "A note.\n" + n.word("a document") + "\n"
	say("attached", chat, []any{
		m{"type": "text", "text": "Look at this."},
		m{"type": "document", "name": n.word("the name of a document") + ".txt", "mimeType": "text/plain", "data": base64.StdEncoding.EncodeToString([]byte(text))},
	})
	var fork chatOf
	me(201, "POST", "/v1/chats/"+begun.Chat.ID+"/fork", m{}, &fork)
	say("fork", "/v1/sessions/"+fork.ID, "Else "+n.word("a message in a fork"))
	n.said["say"] = "A summary: " + n.word("a summary")
	me(200, "POST", "/v1/sessions/"+fork.ID+"/compact", m{"text": "Keep " + n.unkept("what a compaction keeps")}, nil)
	me(200, "DELETE", "/v1/chats/"+fork.ID, nil, nil)
	var gone struct{ ID string }
	me(201, "POST", "/v1/projects", m{"name": n.word("the name of a project in the trash")}, &gone)
	me(200, "DELETE", "/v1/projects/"+gone.ID, nil, nil)

	// Files, by the person and by the model.
	at := "/v1/projects/" + p.ID
	put := func(path, content string) {
		n.Helper()
		status, said := ann.ask(c, "PUT", at+"/file?path="+url.QueryEscape(path), content)
		if status/100 != 2 {
			n.Fatalf("%s: %d %s", path, status, said)
		}
	}
	read := "/" + n.word("the name of a folder") + "/" + n.word("the name of a file") + ".txt"
	put(read, "It was "+n.word("an old version")+strings.Repeat(" word", 50))
	put(read, "It is "+strings.Repeat(n.word("the content of a large file")+" ", 10_000))
	put("/gone.txt", "It was "+n.word("a deleted file"))
	me(200, "DELETE", at+"/file?path=/gone.txt", nil, nil)
	put("/turned", "\x89PNG\r\n\x1a\n\x00\x00\x00\x00"+n.word("a file that became an orphan"))
	put("/turned", "Text.")
	put("/"+n.word("the old name of a file"), "x")
	me(200, "POST", at+"/files/rename", m{"from": "/" + n.all.Words[n.next-1], "to": "/moved"}, nil)
	var archive bytes.Buffer
	z := zip.NewWriter(&archive)
	w, err := z.Create(n.word("a name in an archive") + ".md")
	if err == nil {
		_, err = io.WriteString(w, n.word("a file in an archive"))
	}
	if err != nil || z.Close() != nil {
		n.Fatal(err)
	}
	r := c.request("POST", at+"/files/import?path=/", archive.String())
	r.Header.Del("Authorization")
	r.Header.Set("Content-Type", "application/zip")
	r.AddCookie(ann.cookie)
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	if status, said := c.do(r); status != http.StatusOK {
		n.Fatalf("%d %s", status, said)
	}
	n.said["write"] = fmt.Sprintf(`{"path":%q,"content":%q}`, n.word("the path of a call")+".md", n.word("what a model writes"))
	say("write", chat, "call write")
	n.said["read"] = fmt.Sprintf(`{"path":%q}`, strings.TrimPrefix(read, "/"))
	say("read", chat, "call read")
	n.fillKept(ann, password, begun.Chat.ID, say, as)
	ann.ask(c, "GET", at+"/file?path=/"+n.unkept("a path that is not there"), "")
	ann.ask(c, "GET", "/v1/"+n.unkept("an address that is not there"), "")
}

// fillKept puts canaries into attached files, searches, subscriptions, accounts of other services and browsers.
func (n *nest) fillKept(ann asker, password, chat string, say func(id, at string, content any), as func(a asker, status int, verb, path string, with, is any)) {
	n.Helper()
	type m = map[string]any
	c := n.c
	for i, content := range []string{
		"A note with " + n.word("an attached file") + ".",
		strings.Repeat("A line with "+n.word("a large attached file")+".\n", 30_000),
		"\x89PNG\r\n\x1a\n",
		zipOf(n.T, "[Content_Types].xml", "<Types/>", "word/document.xml", "<w:document><w:p><w:r><w:t>"+n.word("an attached document")+"</w:t></w:r></w:p></w:document>"),
	} {
		if i == 2 {
			content = string(pictureBytes(n.T, n.unkept("where a picture was made")))
		}
		r := c.request("POST", "/v1/chats/"+chat+"/attachments?name="+n.word("the name of an attached file")+[]string{".txt", ".txt", ".png", ".docx"}[i], content)
		r.Header.Del("Authorization")
		r.Header.Set("Content-Type", "application/octet-stream")
		r.AddCookie(ann.cookie)
		r.Header.Set("Sec-Fetch-Site", "same-origin")
		var is struct{ ID string }
		status, said := c.do(r)
		if err := json.Unmarshal(said, &is); err != nil || status != http.StatusCreated {
			n.Fatalf("attach: %d %s, %v", status, said, err)
		}
		kind := "document"
		if i == 2 {
			kind = "image"
		}
		say(fmt.Sprint("file", i), "/v1/sessions/"+chat, []any{m{"type": kind, "url": "attachment:" + is.ID}, m{"type": "text", "text": "Look."}})
	}
	as(ann, 200, "GET", "/v1/search?q="+n.unkept("a search term"), nil, nil)

	// Where its browser gets notifications.
	var push struct{ Key string }
	as(ann, 200, "GET", "/v1/me/push", nil, &push)
	b := pushtest.Serve(n.T).Subscribe(push.Key)
	n.secret("the key of a subscription", b.P256dh)
	n.secret("the secret of a subscription", b.Auth)
	as(ann, 200, "POST", "/v1/me/push", m{"endpoint": "https://push.example.org/" + n.word("the address of a subscription"), "keys": m{"p256dh": b.P256dh, "auth": b.Auth}, "title": true}, nil)

	// What belongs to the account, which is needed before any key is open.
	as(ann, 200, "POST", "/v1/me/tokens", m{"name": n.plain("the name of a token"), "rights": "watch"}, nil)
	run(n.T, n.cmd, "admin", "group", "set", n.plain("the name of a group"))
	person := n.plain("the name of a person")
	run(n.T, n.cmd, "admin", "user", "add", person, "--role", "member", "--url", c.url)
	n.is.Person(m{"sub": n.plain("the id at another service"), "email": n.plain("the name at another service") + "@example.org", "name": n.unkept("the full name at another service"), "phone_number": n.unkept("what else a service tells"), "picture": "https://example.org/" + n.unkept("a picture that a service tells")})
	answer, body := c.form("/account/link", ann.cookie, url.Values{"provider": {"box"}, "password": {password}})
	if answer.StatusCode != http.StatusOK {
		n.Fatalf("%s\n%s", answer.Status, body)
	}
	linking := &flow{c: c, cookie: answer.Cookies()[0], signed: ann.cookie}
	if answer, body := linking.comes(linking.returns(strings.TrimPrefix(answer.Header.Get("Refresh"), "0; url="))); answer.Header.Get("Location") != "/account?done=linked" {
		n.Fatalf("%s\n%s", answer.Status, body)
	}
	r := c.request("GET", "/v1/me", "")
	r.Header.Set("User-Agent", n.unkept("what a browser says it is"))
	c.do(r)
}

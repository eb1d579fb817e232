package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/chat/store"
	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/internal/platform/objectstore/objecttest"
	"github.com/burin-dev/burin/transcript"
)

// One server, whose database is a file, is killed again and again while people chat. What was accepted ends,
// once, and clients hear of everything once.
func TestServeKills(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	chats, kills := pacetest.Long(4, 10, 50), pacetest.Long(2, 10, 50)
	p := newSingle(t)
	c := p.gather(chats)
	for range kills {
		select {
		case <-time.After(time.Duration(rand.N(int64(time.Second)))):
		case <-t.Context().Done():
		}
		p.kill(0)
		p.start(0)
	}
	c.finish()
	t.Logf("%d chats, %d kills: %s", chats, kills, c.figures())
	p.stopped.Store(true)
	p.kill(0)
	c.watchers.Wait()
}

// A copy that is made while people chat, write files and attach some, which are in a folder, has all that was accepted before
// it was begun. Another home continues from there, with attachments in the database, a folder or a bucket: turns that
// hadn't ended end there, once.
func TestServeBackupLoad(t *testing.T) {
	chats, copies := pacetest.Long(0, 10, 50), pacetest.Long(0, 3, 10)
	if copies == 0 {
		t.Skip("takes ten seconds: set BURIN_LONG=ci")
	}
	p := newPairModel(t)
	p.alone(machine(t, &brain{srv: p.model}, rpcConfig+"server: {attachments: '"+t.TempDir()+"'}\n"))
	c := p.gather(chats)
	var made struct{ ID string }
	single := &httpClient{t: t, url: p.url(0), cmd: p.running[0]}
	single.must(http.StatusCreated, "POST", "/v1/projects", map[string]any{"name": "Files"}, &made)
	var files atomic.Int32
	c.clients.Go(func() {
		for n := 0; !c.done.Load(); n++ {
			r := single.request("PUT", loadedFile(made.ID, n), loadedContent(n))
			r.Header.Set("Content-Type", "application/octet-stream")
			if status, said := single.do(r); status != http.StatusCreated {
				t.Errorf("file %d: %d %s", n, status, said)
				return
			}
			files.Store(int32(n + 1))
		}
	})
	var begun struct{ Chat chatOf }
	single.must(http.StatusCreated, "POST", "/v1/chats", map[string]any{}, &begun)
	attached := make(chan string, 10_000) // ids, in their order
	c.clients.Go(func() {
		for n := 0; !c.done.Load() && n < cap(attached); n++ {
			r := single.request("POST", fmt.Sprintf("/v1/chats/%s/attachments?name=f%d.txt", begun.Chat.ID, n), attachedContent(n))
			r.Header.Set("Content-Type", "application/octet-stream")
			var is struct{ ID string }
			status, said := single.do(r)
			if status != http.StatusCreated || json.Unmarshal(said, &is) != nil {
				t.Errorf("attachment %d: %d %s", n, status, said)
				return
			}
			attached <- is.ID
		}
	})
	s := objecttest.Start(t)
	places := []string{"database", t.TempDir(), "s3://" + objecttest.Bucket + "/%d?region=" + objecttest.Region + "&endpoint=" + s.URL}
	var ids []string
	for i := range copies {
		for !t.Failed() && slices.ContainsFunc(indexes(chats), func(n int) bool { return int(c.turns[n].Load()) < 2*(i+1) }) {
			p.rest()
		}
		accepted := make([]int, chats)
		for n := range accepted {
			accepted[n] = int(c.turns[n].Load())
		}
		written := int(files.Load())
		for range len(attached) {
			ids = append(ids, <-attached)
		}
		to := filepath.Join(t.TempDir(), "copy.db")
		run(t, p.cmds[0], "admin", "backup", to)
		at := places[i%len(places)]
		switch i % len(places) {
		case 1:
			at = filepath.Join(at, fmt.Sprint(i))
		case 2:
			at = fmt.Sprintf(at, i)
		}
		t.Logf("copy %d for %s has %d files, %d attached ones and the turns %v", i, at, written, len(ids), accepted)
		p.restored(to, at, made.ID, written, begun.Chat.ID, ids, accepted, c)
	}
	c.finish()
	p.stopped.Store(true)
	p.kill(0)
	c.watchers.Wait()
}

func indexes(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

func loadedFile(project string, n int) string {
	return "/v1/projects/" + project + "/file?path=" + url.QueryEscape(fmt.Sprintf("/d%d/f%d.txt", n%7, n))
}

func attachedContent(n int) string {
	return strings.Repeat(fmt.Sprintf("%016x\n", rand.NewPCG(uint64(n), 1).Uint64()), 1+n%7*10_000)
}

func loadedContent(n int) string { return strings.Repeat(fmt.Sprint("line ", n, "\n"), 1+n%500) }

// restored puts a copy into another home, and looks whether all of it is there.
func (p *pair) restored(from, at, files string, written int, with string, attached []string, accepted []int, c *crowd) {
	p.Helper()
	q := &pair{T: p.T, model: p.model}
	cmd := machine(p.T, &brain{srv: p.model}, rpcConfig+"server: {attachments: '"+at+"'}\n")
	cmd.Env = append(cmd.Env, "AWS_ACCESS_KEY_ID="+objecttest.ID, "AWS_SECRET_ACCESS_KEY="+objecttest.Secret, "AWS_SESSION_TOKEN="+objecttest.Token)
	home := filepath.Join(homeOf(cmd), "burin")
	key, err := os.ReadFile(filepath.Join(homeOf(p.cmds[0]), "burin", "server.key"))
	if err != nil {
		p.Fatal(err)
	}
	writeFile(p.T, filepath.Join(home, "server.key"), key, 0o600)
	run(p.T, cmd, "admin", "restore", from)
	if at == "database" {
		p.damaged(cmd, from)
	}
	run(p.T, cmd, "serve", "--check", "--addr", "127.0.0.1:0")

	// As it was copied: whole, and all records of it open.
	db := q.open(filepath.Join(home, "server.db"), cmd)
	if err := db.Check(p.Context()); err != nil {
		p.Error(err)
	}
	for i, id := range c.ids {
		one, err := q.store.Chat(p.Context(), ownerPerson, id)
		if err != nil {
			p.Errorf("chat %d: %v", i, err)
			continue
		}
		l, err := q.store.View(p.Context(), ownerPerson, one, transcript.Options{})
		if err != nil {
			p.Errorf("chat %d: %v", i, err)
			continue
		}
		parents := map[string]bool{}
		for _, n := range l.Nodes() {
			e, err := l.Entry(n.ID)
			if err != nil {
				p.Errorf("chat %d: entry %s: %v", i, n.ID, err)
			} else if e.ParentID != nil && *e.ParentID != "" && !parents[*e.ParentID] {
				p.Errorf("chat %d: the entry before %s is missing", i, n.ID)
			}
			parents[n.ID] = true
		}
		l.Close()
	}
	orphaned(p.T, db)
	var inside int
	if err := db.QueryRow(p.Context(), `SELECT (SELECT count(*) FROM {piece_copies}) + (SELECT count(*) FROM {piece_chunks})`).Scan(&inside); err != nil || (inside > 0) != (at == "database" && len(attached) > 0) {
		p.Errorf("%d parts of attachments are in the database, %v", inside, err)
	}

	// Another server goes on with it.
	port := "127.0.0.1:" + freePorts(p.T, 1)[0]
	q.cmds[0], q.ports = cmd, [2]string{port, port}
	q.start(0)
	defer q.kill(0)
	q.settled(c.ids)
	for i, id := range c.ids {
		q.verify(i, id, accepted[i], int(c.turns[i].Load())+1, &heard{}) // the copy came a moment later
	}
	client := &httpClient{t: p.T, url: q.url(0), cmd: q.running[0]}
	for n := range written {
		if status, got := client.do(client.request("GET", loadedFile(files, n), "")); status != http.StatusOK || string(got) != loadedContent(n) {
			p.Errorf("file %d: %d, %d bytes", n, status, len(got))
		}
	}
	for n, id := range attached {
		if status, got := client.do(client.request("GET", "/v1/chats/"+with+"/attachments/"+id, "")); status != http.StatusOK || string(got) != attachedContent(n) {
			p.Errorf("attachment %d: %d, %d bytes", n, status, len(got))
		}
	}
}

// damaged sees that a copy with a changed attachment isn't restored.
func (p *pair) damaged(cmd *exec.Cmd, from string) {
	p.Helper()
	data, err := os.ReadFile(from)
	if err != nil {
		p.Fatal(err)
	}
	broken := filepath.Join(p.TempDir(), "broken.db")
	writeFile(p.T, broken, data, 0o600)
	db, err := store.Open(p.Context(), broken, "", serverParts()...)
	if err != nil {
		p.Fatal(err)
	}
	n, err := db.Exec(p.Context(), `UPDATE {piece_copies} SET data = zeroblob(length(data)) WHERE n = 0`)
	if err = errors.Join(err, db.Close()); err != nil || n == 0 {
		p.Fatal(n, err)
	}
	again := again(cmd)
	again.Args = append(again.Args, "admin", "restore", broken)
	if said, err := again.CombinedOutput(); err == nil || !strings.Contains(string(said), "damaged") {
		p.Errorf("a damaged copy is restored: %s", said)
	}
}

// orphaned reports rows that name others which aren't there, also where the database doesn't know of it.
func orphaned(t *testing.T, db *store.DB) {
	t.Helper()
	for what, query := range map[string]string{
		"chats without a project":        `SELECT count(*) FROM {chats} WHERE project NOT IN (SELECT id FROM {projects})`,
		"files without a project":        `SELECT count(*) FROM {vfs_nodes} WHERE project NOT IN (SELECT id FROM {projects})`,
		"contents without a file":        `SELECT count(*) FROM {vfs_contents} c WHERE NOT EXISTS (SELECT 1 FROM {vfs_nodes} n WHERE n.project = c.project AND n.node = c.node)`,
		"transcripts without a chat":     `SELECT count(*) FROM sessions WHERE name NOT IN (SELECT 'chat/' || id FROM {chats})`,
		"records without a transcript":   `SELECT count(*) FROM records WHERE session NOT IN (SELECT id FROM sessions)`,
		"projects without keys":          `SELECT count(*) FROM {projects} WHERE person NOT IN (SELECT person FROM {vault_keys})`,
		"rows with a broken foreign key": `SELECT count(*) FROM pragma_foreign_key_check`,
	} {
		n := 0
		if err := db.QueryRow(t.Context(), query).Scan(&n); err != nil || n != 0 {
			t.Errorf("%d %s, %v", n, what, err)
		}
	}
}

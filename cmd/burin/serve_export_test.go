package main

import (
	"archive/zip"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/chat/attachment"
	"github.com/burin-dev/burin/internal/chat/people"
	"github.com/burin-dev/burin/internal/chat/store"
	"github.com/burin-dev/burin/internal/chat/store/storetest"
	"github.com/burin-dev/burin/internal/chat/vault"
	"github.com/burin-dev/burin/internal/pacetest"
)

// export downloads all that is kept of somebody, and gives the files by the names that they begin and end with.
func (a asker) export(c *httpClient) (names []string, read func(prefix, suffix string) string) {
	c.t.Helper()
	status, said := a.ask(c, "GET", "/v1/me/export", "")
	if status != http.StatusOK {
		c.t.Fatal(status, said)
	}
	z, err := zip.NewReader(strings.NewReader(said), int64(len(said)))
	if err != nil {
		c.t.Fatal(err)
	}
	for _, f := range z.File {
		names = append(names, f.Name)
	}
	return names, func(prefix, suffix string) string {
		c.t.Helper()
		i := slices.IndexFunc(names, func(n string) bool { return strings.HasPrefix(n, prefix) && strings.HasSuffix(n, suffix) })
		if i < 0 {
			c.t.Fatalf("%s…%s is not in %q", prefix, suffix, names)
		}
		r, err := z.File[i].Open()
		if err != nil {
			c.t.Fatal(err)
		}
		defer r.Close()
		data, err := io.ReadAll(r)
		if err != nil {
			c.t.Fatal(err)
		}
		return string(data)
	}
}

// serverRooms are the database of a server that runs, and its keys.
func serverRooms(t *testing.T, data string) (*store.DB, *vault.Vault) {
	t.Helper()
	db := storetest.Open(t, filepath.Join(data, "server.db"), serverParts())
	v, err := vault.Open(t.Context(), db, vault.KeyFile(filepath.Join(data, "server.key")), vault.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(v.Close)
	return db, v
}

// A person downloads everything that is theirs, and nothing of others, unless it is locked. Of who deletes the
// account nothing stays, even if the server is killed in the middle of it.
func TestServeExport(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	b := newBrain(t)
	cmd := machine(t, b, rpcConfig)
	data := filepath.Join(homeOf(cmd), "burin")
	c := serveIt(t, cmd)
	ann, ben := c.member(cmd, "ann", people.Member), c.member(cmd, "ben", people.Member)
	for _, one := range []asker{ann, ben} {
		var p struct{ ID string }
		one.does(c, http.StatusCreated, "POST", "/v1/projects", map[string]any{"name": "A/B: " + one.name, "instructions": "Rhyme."}, &p)
		one.does(c, http.StatusCreated, "PUT", "/v1/projects/"+p.ID+"/file?path=/notes/day.md", "# Day of "+one.name, nil)
		var begun struct{ Chat chatOf }
		one.does(c, http.StatusCreated, "POST", "/v1/chats", map[string]any{"project": p.ID, "title": "../Jam"}, &begun)
		chat := "/v1/sessions/" + begun.Chat.ID
		one.does(c, http.StatusOK, "POST", chat+"/submit", toldTo("1", "say quince of "+one.name), nil)
		one.does(c, http.StatusOK, "POST", chat+"/wait", map[string]any{"id": "1"}, nil)
		one.rested(c)
	}
	var me struct{ ID string }
	ann.does(c, http.StatusOK, "GET", "/v1/me", nil, &me)
	db, v := serverRooms(t, data)
	const picture = "\x89PNG\r\n\x1a\nand so on"
	pieces, err := attachment.New(t.Context(), db, v, nil)
	if err == nil {
		_, err = pieces.Put(t.Context(), me.ID, strings.NewReader(picture), attachment.PutOptions{Limit: 1 << 20})
	}
	if err != nil {
		t.Fatal(err)
	}

	names, read := ann.export(c)
	if !strings.Contains(read("account.json", ""), `"name": "ann"`) || !strings.Contains(read("projects/A_B_ ann ", "/project.json"), `"Rhyme."`) ||
		read("projects/A_B_ ann ", "/files/notes/day.md") != "# Day of ann" || read("attachments/", ".png") != picture {
		t.Errorf("the archive has %q", names)
	}
	chat := read("projects/A_B_ ann ", ".jsonl")
	md := slices.IndexFunc(names, func(n string) bool { return strings.Contains(n, "/chats/") && strings.HasSuffix(n, ".md") })
	if md < 0 || !strings.Contains(read(names[md], ""), "say quince of ann") {
		t.Errorf("no text of the chat is in %q", names)
	}
	if !strings.HasPrefix(chat, `{"type":"session"`) || !strings.Contains(chat, "say quince of ann") {
		t.Errorf("the chat is %s", chat)
	}
	for _, name := range names {
		if strings.Contains(name, "ben") || strings.Contains(name, "..") {
			t.Errorf("%s is in the archive", name)
		}
	}
	file := filepath.Join(t.TempDir(), "chat.jsonl")
	if err := os.WriteFile(file, []byte(chat), 0o600); err != nil {
		t.Fatal(err)
	}
	if said := run(t, cmd, "sessions", "export", file, "--format", "md", "-o", "-"); !strings.Contains(said, "say quince of ann") {
		t.Errorf("burin reads %s", said)
	}

	ann.does(c, http.StatusOK, "POST", "/v1/me/keys", map[string]any{"mode": "own", "password": personPassword}, nil)
	ann.does(c, http.StatusOK, "POST", "/v1/me/lock", map[string]any{}, nil)
	ann.refused(c, http.StatusLocked, "locked", "GET", "/v1/me/export", nil)

	ann.does(c, http.StatusOK, "POST", "/v1/me/delete", map[string]any{"password": personPassword}, nil)
	if err := c.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.cmd.Wait()
	c = serveIt(t, cmd)
	rows := func(table, column string) (n int) {
		t.Helper()
		if err := db.QueryRow(t.Context(), `SELECT count(*) FROM {`+table+`} WHERE `+column+` = ?1`, me.ID).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	for late := time.Now().Add(time.Minute); rows("removed", "person") > 0; {
		if time.Now().After(late) {
			t.Fatal("it was not removed")
		}
		<-time.After(20 * time.Millisecond)
	}
	tables, err := db.SQL().QueryContext(t.Context(), `SELECT m.name FROM sqlite_master m JOIN pragma_table_info(m.name) c WHERE m.type = 'table' AND c.name = 'person'`)
	if err != nil {
		t.Fatal(err)
	}
	var with []string
	for tables.Next() {
		var name string
		if err := tables.Scan(&name); err != nil {
			t.Fatal(err)
		}
		with = append(with, name)
	}
	if err := tables.Close(); err != nil || len(with) < 10 {
		t.Fatal(err, with)
	}
	for _, table := range with {
		if n := rows(table, "person"); n > 0 {
			t.Errorf("%d rows of %s stay", n, table)
		}
	}
	var transcripts, files int
	if err := db.SQL().QueryRowContext(t.Context(), `SELECT count(*) FROM sessions`).Scan(&transcripts); err != nil || transcripts != 1 {
		t.Errorf("%d transcripts, %v", transcripts, err)
	}
	if err := db.QueryRow(t.Context(), `SELECT count(*) FROM {vfs_contents}`).Scan(&files); err != nil || files != 1 {
		t.Errorf("%d files, %v", files, err)
	}
	if _, read := ben.export(c); read("projects/A_B_ ben ", "/files/notes/day.md") != "# Day of ben" {
		t.Error("another's files are gone")
	}
}

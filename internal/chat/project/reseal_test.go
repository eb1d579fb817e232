package project_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/chat/project"
	"github.com/burin-dev/burin/internal/chat/search"
	"github.com/burin-dev/burin/internal/chat/store"
	"github.com/burin-dev/burin/internal/chat/store/storetest"
	"github.com/burin-dev/burin/internal/chat/vault"
	"github.com/burin-dev/burin/internal/chat/vfs"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/transcript"
)

func message(text string) transcript.Entry {
	m := llm.UserText(text)
	return transcript.Entry{Type: transcript.TypeMessage, Message: &m}
}

// After a rotation all is sealed with the new key, a chat that was open at first included.
func TestReseal(t *testing.T) {
	storetest.Each(t, parts, func(t *testing.T, open func() *store.DB) {
		ctx, db := t.Context(), open()
		key := vault.KeyFile(filepath.Join(t.TempDir(), "server.key"))
		v := must[*vault.Vault](t)(vault.Open(ctx, db, key, vault.Options{Grace: time.Nanosecond}))
		defer v.Close()
		s := project.New(db, v, vfs.New(db, vfs.Limits{}), search.New(db, v, 0), piecesOf(t, db, v))
		p := must[project.Project](t)(s.NewProject(ctx, "ann", project.Settings{Name: "Plums"}))
		said := must[project.Chat](t)(s.NewChat(ctx, "ann", p.ID, project.About{Title: "said"}))
		silent := must[project.Chat](t)(s.NewChat(ctx, "ann", p.ID, project.About{Title: "silent"}))
		live := must[project.Chat](t)(s.NewChat(ctx, "ann", p.ID, project.About{Title: "live"}))
		write := func(c project.Chat, text string) *transcript.Log {
			t.Helper()
			l := must[*transcript.Log](t)(s.Open(ctx, "ann", c, transcript.Options{}, nil))
			must[string](t)(l.Append(message(text)))
			return l
		}
		if err := write(said, "plum jam").Close(); err != nil {
			t.Fatal(err)
		}
		busy := write(live, "while it changes")
		keysLeft := func() (n int) {
			t.Helper()
			if err := db.QueryRow(ctx, `SELECT count(*) FROM {vault_keys}`).Scan(&n); err != nil {
				t.Fatal(err)
			}
			return n
		}
		if _, err := v.Rotate(ctx, "ann"); err != nil {
			t.Fatal(err)
		}
		if err := v.Reseal(ctx, s); err != nil {
			t.Fatal(err)
		}
		if n := keysLeft(); n != 2 {
			t.Errorf("%d keys while a chat is open", n)
		}
		must[string](t)(busy.Append(message("still open")))
		if err := busy.Close(); err != nil {
			t.Fatal(err)
		}
		if err := v.Reseal(ctx, s); err != nil {
			t.Fatal(err)
		}
		if n := keysLeft(); n != 1 {
			t.Errorf("%d keys", n)
		}
		second := must[*vault.Vault](t)(vault.Open(ctx, db, key, vault.Options{}))
		defer second.Close()
		s = project.New(db, second, vfs.New(db, vfs.Limits{}), search.New(db, second, 0), piecesOf(t, db, second)) // with the new keys alone
		if got := must[project.Project](t)(s.Project(ctx, "ann", p.ID)); got.Name != "Plums" {
			t.Errorf("the project is %q", got.Name)
		}
		for _, tt := range []struct {
			chat project.Chat
			want string
		}{{said, "plum jam"}, {live, "while it changes still open"}, {silent, ""}} {
			c := must[project.Chat](t)(s.Chat(ctx, "ann", tt.chat.ID))
			l := must[*transcript.Log](t)(s.Open(ctx, "ann", c, transcript.Options{}, nil))
			var texts []string
			for _, n := range l.Nodes() {
				if e, err := l.Entry(n.ID); err == nil && e.Message != nil {
					texts = append(texts, e.Message.Text())
				}
			}
			if got := strings.Join(texts, " "); got != tt.want || c.Title != tt.chat.Title {
				t.Errorf("%s: %q, want %q", c.Title, got, tt.want)
			}
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// What can't be opened keeps its old key, is counted, and doesn't stop the rotation of the rest.
func TestResealDamaged(t *testing.T) {
	storetest.Each(t, parts, func(t *testing.T, open func() *store.DB) {
		ctx, db := t.Context(), open()
		key := vault.KeyFile(filepath.Join(t.TempDir(), "server.key"))
		v := must[*vault.Vault](t)(vault.Open(ctx, db, key, vault.Options{Grace: time.Nanosecond}))
		defer v.Close()
		pieces := piecesOf(t, db, v)
		s := project.New(db, v, vfs.New(db, vfs.Limits{}), search.New(db, v, 0), pieces)
		attachments := project.NewAttachments(s)
		bad := must[project.Project](t)(s.NewProject(ctx, "ann", project.Settings{Name: "Bad"}))
		good := must[project.Project](t)(s.NewProject(ctx, "ann", project.Settings{Name: "Good"}))
		tree := must[*vfs.Tree](t)(s.Files(ctx, "ann", good.ID))
		for _, name := range []string{"/a", "/b", "/c"} {
			must[vfs.Info](t)(tree.Write(ctx, name, []byte(name), vfs.Missing))
		}
		var chats []project.Chat
		for range 3 {
			chats = append(chats, must[project.Chat](t)(s.NewChat(ctx, "ann", good.ID, project.About{Title: "A chat"})))
		}
		one := must[project.Attachment](t)(attachments.Put(ctx, "ann", chats[0].ID, "a.txt", strings.NewReader("a")))
		two := must[project.Attachment](t)(attachments.Put(ctx, "ann", chats[0].ID, "b.txt", strings.NewReader("b")))
		damage := func(table, column, where string, args ...any) {
			t.Helper()
			var data []byte
			if err := db.QueryRow(ctx, `SELECT `+column+` FROM {`+table+`} WHERE `+where, args...).Scan(&data); err != nil {
				t.Fatal(err)
			}
			data[len(data)-1] ^= 1
			if n, err := db.Exec(ctx, `UPDATE {`+table+`} SET `+column+` = ?`+strconv.Itoa(len(args)+1)+` WHERE `+where, append(args, data)...); err != nil || n != 1 {
				t.Fatal(n, err)
			}
		}
		damage("projects", "sealed", "id = ?1", bad.ID)
		damage("chats", "sealed", "id = ?1", chats[1].ID)
		damage("chat_pieces", "sealed", "piece = ?1", one.ID)
		damage("pieces", "head", "id = ?1", two.ID)
		damage("vfs_contents", "data", "project = ?1 AND node = (SELECT max(node) FROM {vfs_contents})", good.ID)
		must[bool](t)(v.Rotate(ctx, "ann"))
		for range 2 {
			if err := v.Reseal(ctx, s, attachments, pieces); err == nil || !strings.Contains(err.Error(), "5 records can't be opened") {
				t.Errorf("reseal: %v", err)
			}
		}
		generations := func(table string) (all string) {
			t.Helper()
			for generation, n := range must[map[uint32]int](t)(sealedWith(db, table)) {
				all += fmt.Sprint(generation, ":", n, " ")
			}
			return all
		}
		for table, want := range map[string]string{"projects": "1:1 2:1", "chats": "1:1 2:2", "chat_pieces": "1:1 2:1"} {
			got := strings.Fields(generations(table))
			slices.Sort(got)
			if strings.Join(got, " ") != want {
				t.Errorf("%s are sealed with %v, want %s", table, got, want)
			}
		}
		var keys, old int
		err := errors.Join(db.QueryRow(ctx, `SELECT count(*) FROM {vault_keys} WHERE person = 'ann'`).Scan(&keys), db.QueryRow(ctx, `SELECT count(*) FROM {vfs_contents} WHERE generation = 1`).Scan(&old))
		if err != nil || keys != 2 || old != 1 {
			t.Errorf("%d keys and %d old contents, %v", keys, old, err)
		}
		// Once what can't be opened is deleted, the old key goes.
		for _, c := range chats {
			if err := errors.Join(s.TrashChat(ctx, "ann", c.ID, true), s.PurgeChat(ctx, "ann", c.ID)); err != nil {
				t.Fatal(err)
			}
		}
		for _, p := range []project.Project{bad, good} {
			if err := errors.Join(s.TrashProject(ctx, "ann", p.ID, true), s.PurgeProject(ctx, "ann", p.ID)); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := db.Exec(ctx, `DELETE FROM {pieces} WHERE refs = 0`); err != nil {
			t.Fatal(err)
		}
		if err := v.Reseal(ctx, s, attachments, pieces); err != nil {
			t.Error(err)
		}
		if err := db.QueryRow(ctx, `SELECT count(*) FROM {vault_keys} WHERE person = 'ann'`).Scan(&keys); err != nil || keys != 1 {
			t.Errorf("%d keys at the end, %v", keys, err)
		}
	})
}

// sealedWith counts the rows of a table by the generation of their key.
func sealedWith(db *store.DB, table string) (map[uint32]int, error) {
	rows, err := db.Query(context.Background(), `SELECT sealed FROM {`+table+`} WHERE length(sealed) > 0`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	all := map[uint32]int{}
	for rows.Next() {
		var sealed []byte
		if err := rows.Scan(&sealed); err != nil {
			return nil, err
		}
		g, err := vault.Generation(sealed)
		if err != nil {
			return nil, err
		}
		all[g]++
	}
	return all, rows.Err()
}

package project_test

import (
	"path/filepath"
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

package project_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/chat/attachment"
	"github.com/burin-dev/burin/internal/chat/project"
	"github.com/burin-dev/burin/internal/chat/search"
	"github.com/burin-dev/burin/internal/chat/store"
	"github.com/burin-dev/burin/internal/chat/store/storetest"
	"github.com/burin-dev/burin/internal/chat/vault"
	"github.com/burin-dev/burin/internal/chat/vfs"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/transcript"
)

// attaching is a server as far as it keeps attachments.
type attaching struct {
	*testing.T
	db     *store.DB
	vault  *vault.Vault
	pieces *attachment.Store
	store  *project.Store
	*project.Attachments
}

func TestAttach(t *testing.T) {
	storetest.Each(t, parts, func(t *testing.T, open func() *store.DB) {
		for name, test := range map[string]func(*attaching){"files": testAttachFiles, "transcript": testAttachTranscript, "fork": testAttachFork, "reseal": testAttachReseal, "all": testAttachAll} {
			t.Run(name, func(t *testing.T) {
				db := open()
				v := must[*vault.Vault](t)(vault.Open(t.Context(), db, vault.KeyFile(t.TempDir()+"/server.key"), vault.Options{Grace: time.Nanosecond}))
				t.Cleanup(v.Close)
				pieces := piecesOf(t, db, v)
				s := project.New(db, v, vfs.New(db, vfs.Limits{}), search.New(db, v, 0), pieces)
				test(&attaching{t, db, v, pieces, s, project.NewAttachments(s)})
			})
		}
	})
}

func (a *attaching) chat(person string) project.Chat {
	a.Helper()
	return must[project.Chat](a.T)(a.store.NewChat(a.Context(), person, "", project.About{Title: "One"}))
}

// refs is how many references all pieces have, and how many pieces there are.
func (a *attaching) refs() string {
	a.Helper()
	var n, refs int
	if err := a.db.QueryRow(a.Context(), `SELECT count(*), coalesce(sum(refs), 0) FROM {pieces}`).Scan(&n, &refs); err != nil {
		a.Fatal(err)
	}
	return fmt.Sprint(n, " ", refs)
}

func (a *attaching) purge(person string, c project.Chat) {
	a.Helper()
	if err := errors.Join(a.store.TrashChat(a.Context(), person, c.ID, true), a.store.PurgeChat(a.Context(), person, c.ID)); err != nil {
		a.Fatal(err)
	}
}

// Files come and go with their chat, or when no message has them for a day; another person has
// none of them.
func testAttachFiles(a *attaching) {
	ctx := a.Context()
	c, other := a.chat("ann"), a.chat("ann")
	f := must[project.Attachment](a.T)(a.Put(ctx, "ann", c.ID, `C:\notes\..\my  "list".txt`, strings.NewReader("A quince.\n")))
	if f.Name != `my "list".txt` || f.Type != "text/plain; charset=utf-8" || f.Size != 10 || f.Used || f.Added.IsZero() {
		a.Errorf("attached %+v", f)
	}
	same := must[project.Attachment](a.T)(a.Put(ctx, "ann", c.ID, "again.txt", strings.NewReader("A quince.\n")))
	must[project.Attachment](a.T)(a.Put(ctx, "ann", other.ID, "there.txt", strings.NewReader("A quince.\n")))
	if got := must[[]project.Attachment](a.T)(a.List(ctx, "ann", c.ID)); same.ID != f.ID || len(got) != 1 || got[0].Name != "again.txt" || a.refs() != "1 2" {
		a.Errorf("the same again: %+v, %s", got, a.refs())
	}
	if n := must[int64](a.T)(a.Size(ctx, "ann")); n != 10 {
		a.Errorf("ann has %d bytes", n)
	}
	for what, err := range map[string]error{
		"bert lists":    second(a.List(ctx, "bert", c.ID)),
		"bert reads":    second(a.Stat(ctx, "bert", c.ID, f.ID)),
		"bert attaches": second(a.Put(ctx, "bert", c.ID, "x", strings.NewReader("x"))),
		"bert removes":  a.Remove(ctx, "bert", c.ID, f.ID),
		"nothing":       second(a.Stat(ctx, "ann", c.ID, "0000")),
	} {
		if !errors.Is(err, project.ErrUnknown) && !errors.Is(err, attachment.ErrUnknown) {
			a.Errorf("%s: %v", what, err)
		}
	}
	for name, content := range map[string]string{"": "x", "..": "x", strings.Repeat("x", 201): "x", "a.zip": "PK\x03\x04" + strings.Repeat("\x00", 100), "a.avif": "\x00\x00\x00\x1cftypavif\x00\x00\x00\x00"} {
		if _, err := a.Put(ctx, "ann", c.ID, name, strings.NewReader(content)); !errors.Is(err, project.ErrInvalid) {
			a.Errorf("%.10q: %v", name, err)
		}
	}
	if _, err := a.Put(ctx, "ann", c.ID, "large", io.LimitReader(endless{}, project.MaxAttachment+1)); !errors.Is(err, attachment.ErrLarge) {
		a.Errorf("too large: %v", err)
	}
	// One that a message has stays; another one goes.
	data, name, err := a.Take(ctx, "ann", c.ID, f.ID)
	if string(data) != "A quince.\n" || name != "again.txt" || err != nil {
		a.Errorf("taken %q, %q, %v", data, name, err)
	}
	if err := a.Remove(ctx, "ann", c.ID, f.ID); !errors.Is(err, project.ErrUsed) {
		a.Errorf("remove one that a message has: %v", err)
	}
	if err := a.Remove(ctx, "ann", other.ID, f.ID); err != nil || !strings.HasSuffix(a.refs(), " 1") {
		a.Errorf("remove another one: %v, %s", err, a.refs())
	}
	must[project.Attachment](a.T)(a.Put(ctx, "ann", other.ID, "late.txt", strings.NewReader("A quince.\n")))
	if err := a.Sweep(ctx, time.Now().Add(-time.Hour)); err != nil || !strings.HasSuffix(a.refs(), " 2") {
		a.Errorf("too early: %v, %s", err, a.refs())
	}
	if err := a.Sweep(ctx, time.Now().Add(time.Hour)); err != nil || !strings.HasSuffix(a.refs(), " 1") {
		a.Errorf("a day later: %v, %s", err, a.refs())
	}
	// In the trash it is nobody's.
	if err := a.store.TrashChat(ctx, "ann", c.ID, true); err != nil {
		a.Fatal(err)
	}
	if _, err := a.Stat(ctx, "ann", c.ID, f.ID); !errors.Is(err, project.ErrUnknown) {
		a.Errorf("in the trash: %v", err)
	}
	if err := a.store.PurgeChat(ctx, "ann", c.ID); err != nil || !strings.HasSuffix(a.refs(), " 0") {
		a.Errorf("purged: %v, %s", err, a.refs())
	}
}

func second[T any](_ T, err error) error { return err }

// endless is a text without an end.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

func withPicture(data []byte) transcript.Entry {
	return transcript.Entry{Type: transcript.TypeMessage, Message: &llm.Message{Role: llm.RoleUser, Time: time.Now(), Content: []llm.Block{llm.Image{MIME: "image/png", Data: data}, llm.Text{Text: "look"}}}}
}

// A picture of a message is kept once, and its transcript only says which it is.
func testAttachTranscript(a *attaching) {
	ctx := a.Context()
	c := a.chat("ann")
	picture := make([]byte, 300_000)
	_, _ = rand.NewChaCha8([32]byte{}).Read(picture)
	open := func() *transcript.Log {
		a.Helper()
		return must[*transcript.Log](a.T)(a.store.Open(ctx, "ann", c, transcript.Options{}, nil))
	}
	l := open()
	var ids []string
	for range 3 {
		ids = append(ids, must[string](a.T)(l.Append(withPicture(picture))))
	}
	if err := l.Close(); err != nil {
		a.Fatal(err)
	}
	var size int
	if err := a.db.SQL().QueryRowContext(ctx, map[bool]string{true: `SELECT sum(length(data)) FROM burin.records`, false: `SELECT sum(length(data)) FROM records`}[a.db.Server()]).Scan(&size); err != nil || size > 5000 {
		a.Errorf("the transcript has %d bytes, %v", size, err)
	}
	if a.refs() != "1 1" {
		a.Errorf("pieces and references: %s", a.refs())
	}
	if got := must[[]project.Attachment](a.T)(a.List(ctx, "ann", c.ID)); len(got) != 0 {
		a.Errorf("nobody has attached %+v", got)
	}
	l = open()
	for _, id := range ids {
		e := must[*transcript.Entry](a.T)(l.Entry(id))
		if got, _ := e.Message.Content[0].(llm.Image); !bytes.Equal(got.Data, picture) || len(e.Lost) > 0 {
			a.Errorf("entry %s has %d bytes, and lost %v", id, len(got.Data), e.Lost)
		}
	}
	if err := l.Close(); err != nil {
		a.Fatal(err)
	}
	a.purge("ann", c)
	if a.refs() != "1 0" {
		a.Errorf("after the chat is gone: %s", a.refs())
	}
}

// A fork has what the chat has, and keeps it when that goes.
func testAttachFork(a *attaching) {
	ctx := a.Context()
	c := a.chat("ann")
	f := must[project.Attachment](a.T)(a.Put(ctx, "ann", c.ID, "a.txt", strings.NewReader("A quince.\n")))
	l := must[*transcript.Log](a.T)(a.store.Open(ctx, "ann", c, transcript.Options{}, nil))
	picture := bytes.Repeat([]byte("picture "), 1000)
	entry := must[string](a.T)(l.Append(withPicture(picture)))
	if err := l.Close(); err != nil {
		a.Fatal(err)
	}
	fork := must[project.Chat](a.T)(a.store.Fork(ctx, "ann", c.ID, ""))
	if a.refs() != "2 4" {
		a.Errorf("pieces and references: %s", a.refs())
	}
	a.purge("ann", c)
	if a.refs() != "2 2" {
		a.Errorf("without the chat: %s", a.refs())
	}
	if got := must[project.Attachment](a.T)(a.Stat(ctx, "ann", fork.ID, f.ID)); got.Name != "a.txt" {
		a.Errorf("the fork has %+v", got)
	}
	l = must[*transcript.Log](a.T)(a.store.View(ctx, "ann", fork, transcript.Options{}))
	defer l.Close()
	if got, _ := must[*transcript.Entry](a.T)(l.Entry(entry)).Message.Content[0].(llm.Image); !bytes.Equal(got.Data, picture) {
		a.Errorf("the fork reads %d bytes", len(got.Data))
	}
}

// After a rotation names and pieces are sealed with the new key.
func testAttachReseal(a *attaching) {
	ctx := a.Context()
	c, other := a.chat("ann"), a.chat("ann")
	var ids []string
	for i := range 5 {
		for _, in := range []project.Chat{c, other} {
			f := must[project.Attachment](a.T)(a.Put(ctx, "ann", in.ID, fmt.Sprint(i, ".txt"), strings.NewReader(fmt.Sprint("text ", i))))
			ids = append(ids, f.ID)
		}
	}
	must[bool](a.T)(a.vault.Rotate(ctx, "ann"))
	if err := a.vault.Reseal(ctx, a.store, a.Attachments, a.pieces); err != nil {
		a.Fatal(err)
	}
	var n int
	if err := a.db.QueryRow(ctx, `SELECT count(*) FROM {vault_keys} WHERE person = 'ann'`).Scan(&n); err != nil || n != 1 {
		a.Fatalf("%d keys, %v", n, err)
	}
	for i, id := range ids {
		f := must[project.Attachment](a.T)(a.Stat(ctx, "ann", []project.Chat{c, other}[i%2].ID, id))
		if f.Name != fmt.Sprint(i/2, ".txt") {
			a.Errorf("%s is %+v", id, f)
		}
	}
	if all := must[[]project.Attachment](a.T)(a.List(ctx, "ann", other.ID)); len(all) != 5 {
		a.Errorf("listed %+v", all)
	}
}

// What a person attached is listed by chat, with what can't be opened; what no message has goes at once.
func testAttachAll(a *attaching) {
	ctx := a.Context()
	put := func(c project.Chat, name, text string) project.Attachment {
		a.Helper()
		return must[project.Attachment](a.T)(a.Put(ctx, "ann", c.ID, name, strings.NewReader(text)))
	}
	c, other, trashed, lost := a.chat("ann"), a.chat("ann"), a.chat("ann"), a.chat("ann")
	foreign := must[project.Chat](a.T)(a.store.NewChat(ctx, "bert", "", project.About{}))
	must[project.Attachment](a.T)(a.Put(ctx, "bert", foreign.ID, "bert.txt", strings.NewReader("bert")))
	used := put(c, "used.txt", "A quince.")
	put(c, "spare.txt", "spare")
	nameless := put(c, "nameless.txt", "nameless")
	headless := put(c, "headless.txt", "headless")
	put(other, "again.txt", "A quince.")
	put(trashed, "trashed.txt", "in the trash")
	put(lost, "lost.txt", "lost")
	if _, _, err := a.Take(ctx, "ann", c.ID, used.ID); err != nil {
		a.Fatal(err)
	}
	for statement, args := range map[string][]any{
		`UPDATE {chat_pieces} SET sealed = ?2 WHERE piece = ?1`: {nameless.ID, []byte("x")},
		`UPDATE {pieces} SET head = ?2 WHERE id = ?1`:           {headless.ID, []byte("x")},
		`UPDATE {chats} SET sealed = ?2 WHERE id = ?1`:          {lost.ID, []byte("x")},
		`UPDATE {chats} SET trashed = 1 WHERE id = ?1`:          {trashed.ID},
	} {
		if _, err := a.db.Exec(ctx, statement, args...); err != nil {
			a.Fatal(err)
		}
	}
	files := map[string]project.Attachment{}
	for _, f := range must[[]project.Attachment](a.T)(a.List(ctx, "ann", c.ID)) {
		files[f.ID] = f
	}
	if f := files[nameless.ID]; len(files) != 4 || f.Name != "" || f.Unreadable != project.ForDamage || f.Size != 8 {
		a.Errorf("without a name: %+v of %d", f, len(files))
	}
	if f := files[headless.ID]; f.Name != "headless.txt" || f.Unreadable != project.ForDamage || f.Size != 8 || f.Type != "" {
		a.Errorf("without a head: %+v", f)
	}
	r, at, err := a.Open(ctx, "ann", c.ID, nameless.ID)
	if err != nil || at.Name != "attachment" || string(must[[]byte](a.T)(io.ReadAll(r))) != "nameless" {
		a.Errorf("what has no name is read as %+v, %v", at, err)
	}
	all := must[project.AllAttachments](a.T)(a.OfAll(ctx, "ann", ""))
	var said []string
	for _, c := range all.Chats {
		said = append(said, fmt.Sprint(c.Title, c.Unreadable, len(c.Files)))
	}
	slices.Sort(said)
	if fmt.Sprint(said) != "[One1 One4 damaged1]" || all.After != "" || all.Sum != (project.AttachedSum{Files: 5, Bytes: 9 + 5 + 8 + 8 + 4}) || all.Unused != (project.AttachedSum{Files: 4, Bytes: 25}) {
		a.Errorf("all are %v, and %+v", said, all)
	}
	if got := must[project.AttachedSum](a.T)(a.RemoveUnused(ctx, "ann")); got != all.Unused {
		a.Errorf("removed %+v", got)
	}
	all = must[project.AllAttachments](a.T)(a.OfAll(ctx, "ann", ""))
	if len(all.Chats) != 1 || len(all.Chats[0].Files) != 1 || !all.Chats[0].Files[0].Used || all.Unused.Files != 0 || len(must[project.AllAttachments](a.T)(a.OfAll(ctx, "bert", "")).Chats) != 1 {
		a.Errorf("left are %+v", all)
	}
	if err := a.store.TrashChat(ctx, "ann", trashed.ID, false); err != nil || len(must[[]project.Attachment](a.T)(a.List(ctx, "ann", trashed.ID))) != 1 {
		a.Errorf("what is in the trash was removed, too: %v", err)
	}

	// A long list comes in parts.
	for i := range 105 {
		put(a.chat("ann"), "a.txt", fmt.Sprint(i))
	}
	first := must[project.AllAttachments](a.T)(a.OfAll(ctx, "ann", ""))
	rest := must[project.AllAttachments](a.T)(a.OfAll(ctx, "ann", first.After))
	seen := map[string]bool{}
	for _, c := range append(first.Chats, rest.Chats...) {
		seen[c.Chat] = true
	}
	if len(first.Chats) != 100 || len(seen) != 107 || rest.After != "" || first.Sum.Files != 107 {
		a.Errorf("%d and %d chats, %d in all, then %q", len(first.Chats), len(rest.Chats), len(seen), rest.After)
	}
	if _, err := a.OfAll(ctx, "ann", "x"); !errors.Is(err, project.ErrInvalid) {
		a.Errorf("after x: %v", err)
	}
}

package project_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/burin-dev/burin/internal/chat/attachment"
	"github.com/burin-dev/burin/internal/chat/project"
	"github.com/burin-dev/burin/internal/chat/search"
	"github.com/burin-dev/burin/internal/chat/store"
	"github.com/burin-dev/burin/internal/chat/store/storetest"
	"github.com/burin-dev/burin/internal/chat/vault"
	"github.com/burin-dev/burin/internal/chat/vfs"
	"github.com/burin-dev/burin/internal/platform/pgtest"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/transcript"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(pgtest.Main(m)) }

var parts = []store.Part{project.Part, vfs.Part, vault.Part(), search.Part(), attachment.Part()}

func piecesOf(t *testing.T, db *store.DB, v *vault.Vault) *attachment.Store {
	t.Helper()
	return must[*attachment.Store](t)(attachment.New(t.Context(), db, v, nil))
}

func keysOf(t *testing.T, db *store.DB) *vault.Vault {
	t.Helper()
	v := must[*vault.Vault](t)(vault.Open(t.Context(), db, vault.KeyFile(filepath.Join(t.TempDir(), "server.key")), vault.Options{}))
	t.Cleanup(v.Close)
	return v
}

func fresh(t *testing.T, db *store.DB) *project.Store {
	v := keysOf(t, db)
	return project.New(db, v, vfs.New(db, vfs.Limits{}), search.New(db, v, 0), piecesOf(t, db, v))
}

func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func names(all []project.Project) (n []string) {
	for _, p := range all {
		n = append(n, p.Name)
	}
	return n
}

func titles(all []project.Chat) (n []string) {
	for _, c := range all {
		n = append(n, c.Title)
	}
	return n
}

func TestProjects(t *testing.T) {
	storetest.Each(t, parts, func(t *testing.T, open func() *store.DB) {
		t.Run("projects", func(t *testing.T) { testProjects(t, fresh(t, open())) })
		t.Run("chats", func(t *testing.T) { testChats(t, fresh(t, open())) })
		t.Run("transcripts", func(t *testing.T) { db := open(); testTranscripts(t, db, fresh(t, db)) })
		t.Run("trash", func(t *testing.T) { db := open(); testTrash(t, db, fresh(t, db)) })
		t.Run("turns", func(t *testing.T) { testTurns(t, fresh(t, open())) })
		t.Run("preferences", func(t *testing.T) { db := open(); testPreferences(t, db, fresh(t, db)) })
		t.Run("shares", func(t *testing.T) { db := open(); testShares(t, db, fresh(t, db)) })
		t.Run("watch", func(t *testing.T) { db := open(); testWatch(t, db, fresh(t, db)) })
		t.Run("unreadable", func(t *testing.T) { db := open(); testUnreadable(t, db, fresh(t, db)) })
		t.Run("many", func(t *testing.T) { testMany(t, fresh(t, open())) })
	})
}

func testProjects(t *testing.T, s *project.Store) {
	ctx := t.Context()
	warm := 0.5
	p := must[project.Project](t)(s.NewProject(ctx, "anna", project.Settings{Name: " A  book ", Icon: "📗", Instructions: "Be brief.", Temperature: &warm, MaxCost: llm.Dollars(2)}))
	if p.Name != "A book" || p.Revision != 1 {
		t.Errorf("made %+v", p)
	}
	got := must[project.Project](t)(s.Project(ctx, "anna", p.ID))
	if got.Instructions != "Be brief." || *got.Temperature != 0.5 || !got.Created.Equal(p.Created) {
		t.Errorf("read %+v", got)
	}
	if _, err := s.Project(ctx, "bert", p.ID); !errors.Is(err, project.ErrUnknown) {
		t.Errorf("another person reads it: %v", err)
	}
	set := func(name string) func(*project.Settings) error {
		return func(s *project.Settings) error { s.Name = name; return nil }
	}
	if _, err := s.SetProject(ctx, "bert", p.ID, 0, set("x")); !errors.Is(err, project.ErrUnknown) {
		t.Errorf("another person changes it: %v", err)
	}
	must[project.Project](t)(s.SetProject(ctx, "anna", p.ID, 1, set("Two")))
	if _, err := s.SetProject(ctx, "anna", p.ID, 1, set("Three")); !errors.Is(err, project.ErrChanged) {
		t.Errorf("of an old revision: %v", err)
	}
	must[project.Project](t)(s.SetProject(ctx, "anna", p.ID, 0, set("Three")))
	for what, wrong := range map[string]project.Settings{
		"name": {}, "instructions": {Name: "x", Instructions: strings.Repeat("x", 1<<20+1)}, "mode": {Name: "x", Mode: "plan"}, "thinking": {Name: "x", Thinking: "hard"},
	} {
		if _, err := s.NewProject(ctx, "anna", wrong); !errors.Is(err, project.ErrInvalid) || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
	must[project.Project](t)(s.NewProject(ctx, "anna", project.Settings{Name: "Four"}))
	must[project.Project](t)(s.NewProject(ctx, "bert", project.Settings{Name: "Bert's"}))
	if got := fmt.Sprint(names(must[[]project.Project](t)(s.Projects(ctx, "anna", false)))); got != "[Four Three]" && got != "[Three Four]" {
		t.Errorf("projects %s", got)
	}
	// Whoever comes first at the same moment, there is one default project.
	var work sync.WaitGroup
	for range 8 {
		work.Go(func() {
			if p, err := s.Default(ctx, "carl"); err != nil || p.Name != "Chats" {
				t.Errorf("%+v, %v", p, err)
			}
		})
	}
	work.Wait()
	if n := len(must[[]project.Project](t)(s.Projects(ctx, "carl", false))); n != 1 {
		t.Errorf("%d default projects", n)
	}
}

func testChats(t *testing.T, s *project.Store) {
	ctx := t.Context()
	p := must[project.Project](t)(s.NewProject(ctx, "anna", project.Settings{Name: "P"}))
	other := must[project.Project](t)(s.NewProject(ctx, "anna", project.Settings{Name: "Q"}))
	c := must[project.Chat](t)(s.NewChat(ctx, "anna", p.ID, project.About{Title: "One"}))
	if _, err := s.NewChat(ctx, "bert", p.ID, project.About{}); !errors.Is(err, project.ErrUnknown) {
		t.Errorf("a chat in another person's project: %v", err)
	}
	if _, err := s.Chat(ctx, "bert", c.ID); !errors.Is(err, project.ErrUnknown) {
		t.Errorf("another person's chat: %v", err)
	}
	c = must[project.Chat](t)(s.SetChat(ctx, "anna", c.ID, c.Revision, other.ID, func(a *project.About) error { a.Draft, a.Tags = "half a", []string{"x  y"}; return nil }))
	if c.Project != other.ID || c.Draft != "half a" || c.Tags[0] != "x y" {
		t.Errorf("changed %+v", c)
	}
	if _, err := s.SetChat(ctx, "anna", c.ID, 0, "nowhere", func(*project.About) error { return nil }); !errors.Is(err, project.ErrInvalid) {
		t.Errorf("moved nowhere: %v", err)
	}
	must[project.Chat](t)(s.NewChat(ctx, "anna", "", project.About{Title: "Two"}))
	must[project.Chat](t)(s.SetChat(ctx, "anna", must[project.Chat](t)(s.NewChat(ctx, "anna", p.ID, project.About{Title: "Old"})).ID, 0, "", func(a *project.About) error { a.Archived = true; return nil }))
	if got := must[[]project.Chat](t)(s.Chats(ctx, "anna", project.Listing{})); len(got) != 2 || got[0].Modified.Before(got[1].Modified) {
		t.Errorf("chats %v", titles(got))
	}
	if got := fmt.Sprint(titles(must[[]project.Chat](t)(s.Chats(ctx, "anna", project.Listing{Archived: true})))); got != "[Old]" {
		t.Errorf("archived %s", got)
	}
	if got := fmt.Sprint(titles(must[[]project.Chat](t)(s.Chats(ctx, "anna", project.Listing{Project: other.ID})))); got != "[One]" {
		t.Errorf("of a project %s", got)
	}
	if got := must[[]project.Chat](t)(s.Chats(ctx, "bert", project.Listing{Project: other.ID})); len(got) != 0 {
		t.Errorf("another person lists %v", titles(got))
	}
}

func say(t *testing.T, l *transcript.Log, role llm.Role, text string) string {
	t.Helper()
	return must[string](t)(l.Append(transcript.Entry{Type: transcript.TypeMessage, Message: &llm.Message{Role: role, Content: []llm.Block{llm.Text{Text: text}}, Time: time.Now()}}))
}

func said(t *testing.T, l *transcript.Log) (all []string) {
	t.Helper()
	c := must[*transcript.Context](t)(l.Context(l.Leaf()))
	for _, m := range c.Messages {
		all = append(all, m.Text())
	}
	return all
}

func testTranscripts(t *testing.T, db *store.DB, s *project.Store) {
	ctx := t.Context()
	c := must[project.Chat](t)(s.NewChat(ctx, "anna", "", project.About{Title: "One"}))
	if _, err := s.Fork(ctx, "anna", c.ID, ""); !errors.Is(err, project.ErrInvalid) {
		t.Errorf("fork where nothing was said: %v", err)
	}
	l := must[*transcript.Log](t)(s.Open(ctx, "anna", c, transcript.Options{}, nil))
	if l.ID() != c.ID {
		t.Errorf("the transcript's id is %s", l.ID())
	}
	say(t, l, llm.RoleUser, "a marked question")
	first := say(t, l, llm.RoleAssistant, "an answer")
	say(t, l, llm.RoleUser, "more")
	if _, err := s.Open(ctx, "anna", c, transcript.Options{}, nil); !errors.Is(err, transcript.ErrLocked) {
		t.Errorf("a second writer: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l = must[*transcript.Log](t)(s.Open(ctx, "anna", c, transcript.Options{}, nil))
	if got := fmt.Sprint(said(t, l)); got != "[a marked question an answer more]" {
		t.Errorf("read again: %s", got)
	}
	// Nobody reads it in the database, and nobody with another key.
	rows, err := db.SQL().QueryContext(ctx, map[bool]string{true: `SELECT data FROM burin.records`, false: `SELECT data FROM records`}[db.Server()])
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	n := 0
	for rows.Next() {
		var data []byte
		if err := rows.Scan(&data); err != nil {
			t.Fatal(err)
		}
		if n++; bytes.Contains(data, []byte("marked")) {
			t.Errorf("in the clear: %q", data)
		}
	}
	if n < 4 {
		t.Errorf("%d records", n)
	}
	if _, err := s.View(ctx, "bert", c, transcript.Options{}); err == nil {
		t.Error("another person's key opens it")
	}
	fork := must[project.Chat](t)(s.Fork(ctx, "anna", c.ID, first))
	f := must[*transcript.Log](t)(s.View(ctx, "anna", fork, transcript.Options{}))
	defer f.Close()
	if got := fmt.Sprint(said(t, f)); got != "[a marked question an answer]" || fork.Origin != c.ID || fork.Entry != first || fork.Title != "One (2)" {
		t.Errorf("the fork has %s: %+v", got, fork)
	}
	for i, of := range []project.Chat{c, fork} { // also of a fork
		made := must[project.Chat](t)(s.Fork(ctx, "anna", of.ID, first))
		if next := fmt.Sprintf("One (%d)", i+3); made.Title != next {
			t.Errorf("a fork of %q is called %q, not %q", of.Title, made.Title, next)
		}
	}
	before := len(must[[]project.Chat](t)(s.Chats(ctx, "anna", project.Listing{})))
	if _, err := s.Fork(ctx, "anna", c.ID, "nothing"); !errors.Is(err, project.ErrInvalid) {
		t.Errorf("fork at nothing: %v", err)
	}
	if after := len(must[[]project.Chat](t)(s.Chats(ctx, "anna", project.Listing{}))); after != before {
		t.Errorf("a fork that failed left %d chats, of %d", after, before)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

func testTrash(t *testing.T, db *store.DB, s *project.Store) {
	ctx := t.Context()
	p := must[project.Project](t)(s.NewProject(ctx, "anna", project.Settings{Name: "P"}))
	c := must[project.Chat](t)(s.NewChat(ctx, "anna", p.ID, project.About{Title: "One"}))
	files := must[*vfs.Tree](t)(s.Files(ctx, "anna", p.ID))
	if err := files.Files(ctx).WriteFile("a/b.txt", []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Files(ctx, "bert", p.ID); !errors.Is(err, project.ErrUnknown) {
		t.Errorf("another person's files: %v", err)
	}
	l := must[*transcript.Log](t)(s.Open(ctx, "anna", c, transcript.Options{}, nil))
	say(t, l, llm.RoleUser, "x")
	say(t, l, llm.RoleAssistant, "y")
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.PurgeChat(ctx, "anna", c.ID); !errors.Is(err, project.ErrUnknown) {
		t.Errorf("purge what isn't in the trash: %v", err)
	}
	if err := s.TrashProject(ctx, "bert", p.ID, true); !errors.Is(err, project.ErrUnknown) {
		t.Errorf("another person trashes it: %v", err)
	}
	if err := s.TrashProject(ctx, "anna", p.ID, true); err != nil {
		t.Fatal(err)
	}
	if got := must[[]project.Chat](t)(s.Chats(ctx, "anna", project.Listing{})); len(got) != 0 {
		t.Errorf("chats of a project in the trash: %v", titles(got))
	}
	if got := must[[]project.Project](t)(s.Projects(ctx, "anna", true)); len(got) != 1 {
		t.Errorf("trash %v", names(got))
	}
	if err := s.TrashProject(ctx, "anna", p.ID, false); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(titles(must[[]project.Chat](t)(s.Chats(ctx, "anna", project.Listing{})))); got != "[One]" {
		t.Errorf("restored %s", got)
	}
	if err := s.TrashProject(ctx, "anna", p.ID, true); err != nil {
		t.Fatal(err)
	}
	if err := s.Purge(ctx, time.Now().Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	if got := must[[]project.Project](t)(s.Projects(ctx, "anna", true)); len(got) != 1 {
		t.Errorf("purged too early: %v", names(got))
	}
	if err := s.Purge(ctx, time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{"{projects}", "{chats}"} {
		var n int
		if err := db.QueryRow(ctx, `SELECT count(*) FROM `+table).Scan(&n); err != nil || n != 0 {
			t.Errorf("%d rows in %s, %v", n, table, err)
		}
	}
	if err := files.Files(ctx).WriteFile("late.txt", []byte("x"), 0o644); err == nil {
		t.Error("a file was written in a project that is gone")
	}
	var n int
	if err := db.SQL().QueryRow(map[bool]string{true: `SELECT count(*) FROM burin.records`, false: `SELECT count(*) FROM records`}[db.Server()]).Scan(&n); err != nil || n != 0 {
		t.Errorf("%d records, %v", n, err)
	}
}

// A turn is settled by who holds the chat, and by nobody else.
func testTurns(t *testing.T, s *project.Store) {
	ctx := t.Context()
	c := must[project.Chat](t)(s.NewChat(ctx, "anna", "", project.About{}))
	if _, err := s.Accept(ctx, c.ID, "a/1", nil); !errors.Is(err, project.ErrNotHeld) {
		t.Errorf("accepted by nobody: %v", err)
	}
	if must[bool](t)(s.Hold(ctx, c.ID, "", "a/1")) {
		t.Error("a new chat has a turn")
	}
	n := must[int64](t)(s.Accept(ctx, c.ID, "a/1", nil))
	if got := must[map[string]string](t)(s.Unsettled(ctx)); len(got) != 1 || got[c.ID] != "a/1" {
		t.Errorf("unsettled %v", got)
	}
	if !must[bool](t)(s.Hold(ctx, c.ID, "a/1", "b/1")) {
		t.Error("the turn is gone")
	}
	// One was stopped before it could say that it holds the chat.
	if _, err := s.Hold(ctx, c.ID, "a/1", "a/2"); !errors.Is(err, project.ErrNotHeld) {
		t.Errorf("it takes the chat back: %v", err)
	}
	// The first server goes on after it was stopped.
	told := 0
	tell := func(store.Querier) error { told++; return nil }
	if err := s.Settle(ctx, c.ID, "a/1", n, tell); err != nil || told != 0 {
		t.Errorf("it tells of the turn %d times: %v", told, err)
	}
	if err := s.Holding(ctx, c.ID, "a/1", tell); !errors.Is(err, project.ErrNotHeld) || told != 0 {
		t.Errorf("it tells of something %d times: %v", told, err)
	}
	if err := s.Note(ctx, "anna", c.ID, "a/1", func(a *project.Chat) { a.Title = "stale" }); !errors.Is(err, project.ErrNotHeld) {
		t.Errorf("it notes something: %v", err)
	}
	if _, err := s.Accept(ctx, c.ID, "a/1", nil); !errors.Is(err, project.ErrNotHeld) {
		t.Errorf("it accepts a turn: %v", err)
	}
	if got := must[map[string]string](t)(s.Unsettled(ctx)); len(got) != 1 || got[c.ID] != "b/1" {
		t.Errorf("unsettled %v", got)
	}
	second := must[int64](t)(s.Accept(ctx, c.ID, "b/1", nil))
	if err := s.Settle(ctx, c.ID, "b/1", n, nil); err != nil {
		t.Error(err)
	}
	if err := s.Holding(ctx, c.ID, "b/1", tell); err != nil || told != 1 {
		t.Errorf("told %d times: %v", told, err)
	}
	if got := must[map[string]string](t)(s.Unsettled(ctx)); len(got) != 1 {
		t.Errorf("one of two turns has ended: %v", got)
	}
	for range 2 { // it is told once
		if err := s.Settle(ctx, c.ID, "b/1", second, tell); err != nil || told != 2 {
			t.Errorf("told %d times: %v", told, err)
		}
	}
	if err := s.Note(ctx, "anna", c.ID, "b/1", func(a *project.Chat) { a.Title = "fresh" }); err != nil {
		t.Error(err)
	}
	if got := must[map[string]string](t)(s.Unsettled(ctx)); len(got) != 0 {
		t.Errorf("unsettled %v", got)
	}
	if c = must[project.Chat](t)(s.Chat(ctx, "anna", c.ID)); c.Title != "fresh" || must[string](t)(s.Holder(ctx, c.ID)) != "b/1" {
		t.Errorf("the chat is %+v", c)
	}
	// Of turns that begin at the same time only as many are accepted as may run.
	var accepted, refused atomic.Int32
	var work sync.WaitGroup
	most := 2
	for range 6 {
		c := must[project.Chat](t)(s.NewChat(ctx, "anna", "", project.About{}))
		must[bool](t)(s.Hold(ctx, c.ID, "", "a/1"))
		work.Go(func() {
			switch _, err := s.Accept(ctx, c.ID, "a/1", &most); {
			case err == nil:
				accepted.Add(1)
			case errors.As(err, new(project.TurnsError)):
				refused.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	work.Wait()
	if accepted.Load() != 2 || refused.Load() != 4 || must[int](t)(project.Running(ctx, s, "anna")) != 2 || must[int](t)(project.Running(ctx, s, "ben")) != 0 {
		t.Errorf("%d accepted, %d refused", accepted.Load(), refused.Load())
	}
	if err := s.Beat(ctx, "a", "http://there"); err != nil {
		t.Fatal(err)
	}
	if got := must[string](t)(s.Address(ctx, project.ServerOf("a/1"), time.Minute)); got != "http://there" {
		t.Errorf("address %q", got)
	}
	if got := must[string](t)(s.Address(ctx, "a", -time.Minute)); got != "" {
		t.Errorf("address of one that is silent %q", got)
	}
	if err := s.Leave(ctx, "a"); err != nil {
		t.Fatal(err)
	}
	if got := must[string](t)(s.Address(ctx, "a", time.Minute)); got != "" {
		t.Errorf("address of one that has left %q", got)
	}
}

// A list goes on page by page, also where many chats were changed in one millisecond.
func testMany(t *testing.T, s *project.Store) {
	ctx := t.Context()
	for i := range 450 {
		c := must[project.Chat](t)(s.NewChat(ctx, "anna", "", project.About{Title: fmt.Sprint(i)}))
		if i%2 == 0 {
			must[project.Chat](t)(s.SetChat(ctx, "anna", c.ID, 0, "", func(a *project.About) error { a.Archived = true; return nil }))
		}
	}
	seen := map[string]bool{}
	for _, c := range must[[]project.Chat](t)(s.Chats(ctx, "anna", project.Listing{})) {
		seen[c.Title] = true
	}
	if len(seen) != 225 {
		t.Errorf("%d of 225 chats", len(seen))
	}
	if got := must[[]project.Chat](t)(s.Chats(ctx, "anna", project.Listing{Limit: 7})); len(got) != 7 {
		t.Errorf("%d of 7 chats", len(got))
	}
}

// canceling is keys that end a context when they are asked for the n-th time.
type canceling struct {
	*vault.Vault
	left   int
	cancel context.CancelFunc
}

func (c *canceling) Ring(ctx context.Context, person string) (*vault.Ring, error) {
	if c.left--; c.left == 0 {
		c.cancel()
	}
	return c.Vault.Ring(ctx, person)
}

// A fork whose client has gone is whole, or isn't there.
func TestForkCanceled(t *testing.T) {
	db := must[*store.DB](t)(store.Open(t.Context(), filepath.Join(t.TempDir(), "a.db"), "", parts...))
	t.Cleanup(func() { _ = db.Close() })
	v := keysOf(t, db)
	keys := &canceling{Vault: v}
	s := project.New(db, keys, vfs.New(db, vfs.Limits{}), search.New(db, v, 0), piecesOf(t, db, v))
	ctx := t.Context()
	c := must[project.Chat](t)(s.NewChat(ctx, "anna", "", project.About{Title: "One"}))
	l := must[*transcript.Log](t)(s.Open(ctx, "anna", c, transcript.Options{}, nil))
	say(t, l, llm.RoleUser, "a question")
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	failed := 0
	for n := 1; n < 10; n++ {
		gone, cancel := context.WithCancel(ctx)
		keys.left, keys.cancel = n, cancel
		fork, err := s.Fork(gone, "anna", c.ID, "")
		cancel()
		keys.left = 0
		all := must[[]project.Chat](t)(s.Chats(ctx, "anna", project.Listing{}))
		if err != nil {
			failed++
		} else if err := errors.Join(s.TrashChat(ctx, "anna", fork.ID, true), s.PurgeChat(ctx, "anna", fork.ID)); err != nil {
			t.Fatal(err)
		}
		if want := map[bool]int{true: 1, false: 2}[err != nil]; len(all) != want {
			t.Errorf("after %d keys: %d chats, %v", n, len(all), err)
		}
	}
	if failed < 3 {
		t.Errorf("%d forks failed", failed)
	}
}

// A chat doesn't move into a project in the trash, where nobody sees it.
func TestMoveIntoTrash(t *testing.T) {
	storetest.Each(t, parts, func(t *testing.T, open func() *store.DB) {
		ctx, s := t.Context(), fresh(t, open())
		p := must[project.Project](t)(s.NewProject(ctx, "anna", project.Settings{Name: "P"}))
		c := must[project.Chat](t)(s.NewChat(ctx, "anna", "", project.About{Title: "One"}))
		if err := s.TrashProject(ctx, "anna", p.ID, true); err != nil {
			t.Fatal(err)
		}
		if _, err := s.SetChat(ctx, "anna", c.ID, 0, p.ID, func(*project.About) error { return nil }); !errors.Is(err, project.ErrInvalid) || !strings.Contains(err.Error(), "restore it first") {
			t.Errorf("moved: %v", err)
		}
	})
}

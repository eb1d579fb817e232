package project_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
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
	"github.com/burin-dev/burin/transcript/pgstore"
)

// finding is a server as far as it finds something.
type finding struct {
	*testing.T
	db    *store.DB
	vault *vault.Vault
	index *search.Index
	store *project.Store
	*project.Finder
}

func newFinding(t *testing.T, db *store.DB, v *vault.Vault) *finding {
	index := search.New(db, v, 0)
	s := project.New(db, v, vfs.New(db, vfs.Limits{}), index, piecesOf(t, db, v))
	return &finding{t, db, v, index, s, project.NewFinder(s)}
}

// found is what a query finds, as TITLE:ROLE:TEXT.
func (f *finding) found(person string, q project.Query) string {
	f.Helper()
	r := must[project.Found](f.T)(f.Search(f.Context(), person, q))
	var all []string
	for _, h := range r.Hits {
		if h.Kind == "title" {
			h.Role = "title"
		}
		all = append(all, fmt.Sprintf("%s:%s:%s", h.Title, h.Role, h.Snippet.Text))
	}
	slices.Sort(all)
	return strings.Join(all, "|")
}

func (f *finding) finds(person, text, want string) {
	f.Helper()
	if got := f.found(person, project.Query{Text: text}); got != want {
		f.Errorf("%s finds %q for %s, not %q", person, got, text, want)
	}
}

// chat begins a chat in which a turn has ended, as the server does.
func (f *finding) chat(person, in, title string, say ...string) project.Chat {
	f.Helper()
	c := must[project.Chat](f.T)(f.store.NewChat(f.Context(), person, in, project.About{Title: title}))
	f.turn(person, c, say...)
	return c
}

func (f *finding) turn(person string, c project.Chat, texts ...string) {
	f.Helper()
	ctx := f.Context()
	l := must[*transcript.Log](f.T)(f.store.Open(ctx, person, c, transcript.Options{}, nil))
	must[bool](f.T)(f.store.Hold(ctx, c.ID, must[string](f.T)(f.store.Holder(ctx, c.ID)), "a/1"))
	n := must[int64](f.T)(f.store.Accept(ctx, c.ID, "a/1", nil))
	for i, text := range texts {
		say(f.T, l, []llm.Role{llm.RoleUser, llm.RoleAssistant}[i%2], text)
	}
	if err := errors.Join(f.store.Settle(ctx, c.ID, "a/1", n, nil), l.Close()); err != nil {
		f.Fatal(err)
	}
}

func TestFind(t *testing.T) {
	storetest.Each(t, parts, func(t *testing.T, open func() *store.DB) {
		for name, test := range map[string]func(*finding){
			"own": testFindOwn, "trash": testFindTrash, "old": testFindOld, "servers": testFindServers, "locked": testFindLocked, "cut": testFindCut, "unkept": testFindUnkept, "unread": testFindUnread, "agents": testFindAgents,
		} {
			t.Run(name, func(t *testing.T) {
				db := open()
				test(newFinding(t, db, keysOf(t, db)))
			})
		}
	})
}

// What a person has said, was told and calls chats is found by them, and by nobody else.
func testFindOwn(f *finding) {
	ctx := f.Context()
	trip := must[project.Project](f.T)(f.store.NewProject(ctx, "ann", project.Settings{Name: "Trip"}))
	plums := f.chat("ann", trip.ID, "Plums", "How do I dry a quince?", "A quince needs sun.")
	f.chat("ann", "", "Quince jelly", "And a pear?")
	f.chat("bert", "", "Mine", "Has ann a quince?")
	f.finds("ann", "quince", "Plums:assistant:A quince needs sun.|Plums:user:How do I dry a quince?|Quince jelly:title:Quince jelly")
	f.finds("bert", "quince", "Mine:user:Has ann a quince?")
	f.finds("carl", "quince", "")
	for q, want := range map[project.Query]string{
		{Project: trip.ID, Chat: ""}:  "Plums:assistant:A quince needs sun.|Plums:user:How do I dry a quince?",
		{Chat: plums.ID, Limit: 1}:    "Plums:assistant:A quince needs sun.",
		{To: time.Now().Add(-1e12)}:   "",
		{Offset: 3}:                   "",
		{Project: "nosuch"}:           "",
		{From: time.Now().Add(-1e12)}: "Plums:assistant:A quince needs sun.|Plums:user:How do I dry a quince?|Quince jelly:title:Quince jelly",
	} {
		if q.Text = "quince"; f.found("ann", q) != want {
			f.Errorf("%+v finds %q, not %q", q, f.found("ann", q), want)
		}
	}
	// The entry is that of the tree, and the ranges are where the word is.
	r := must[project.Found](f.T)(f.Search(ctx, "ann", project.Query{Text: "sun"}))
	h := r.Hits[0]
	l := must[*transcript.Log](f.T)(f.store.View(ctx, "ann", plums, transcript.Options{}))
	defer l.Close()
	if e := must[*transcript.Entry](f.T)(l.Entry(h.Entry)); r.Total != 1 || e.Message.Text() != "A quince needs sun." || h.Snippet.Text[h.Snippet.Ranges[0][0]:h.Snippet.Ranges[0][1]] != "sun" {
		f.Errorf("found %+v", r)
	}
	// Branches stay, a title is replaced, and a chat that moves is found where it is.
	f.turn("ann", plums, "A second branch with quinces")
	must[project.Chat](f.T)(f.store.SetChat(ctx, "ann", plums.ID, 0, "chats-ann", func(a *project.About) error { a.Title = "Fruit"; return nil }))
	f.finds("ann", "plums", "")
	f.finds("ann", "fruit", "Fruit:title:Fruit")
	if got := f.found("ann", project.Query{Text: "quinces", Project: trip.ID}); got != "" {
		f.Errorf("in the project that it left: %q", got)
	}
	f.finds("ann", "second", "Fruit:user:A second branch with quinces")
	fork := must[project.Chat](f.T)(f.store.Fork(ctx, "ann", plums.ID, ""))
	f.finds("ann", "second", "Fruit (2):user:A second branch with quinces|Fruit:user:A second branch with quinces")
	if got := f.found("ann", project.Query{Text: "second", Chat: fork.ID}); got != "Fruit (2):user:A second branch with quinces" {
		f.Errorf("in the fork: %q", got)
	}
	for _, q := range []project.Query{{}, {Text: " "}, {Text: strings.Repeat("x", 401)}} {
		if _, err := f.Search(ctx, "ann", q); !errors.Is(err, project.ErrInvalid) {
			f.Errorf("%.20q: %v", q.Text, err)
		}
	}
}

// What agents of a chat have said is found in their chats, each message once; also of a chat that was in the index
// before agents were.
func testFindAgents(f *finding) {
	ctx := f.Context()
	c := f.chat("ann", "", "Plums", "Ask somebody about quinces.")
	m := project.MinionsOf(f.store, "ann", c)
	work := func(id string, texts ...string) {
		f.Helper()
		l := must[*transcript.Log](f.T)(m.Open(ctx, id, transcript.Options{}))
		for i, text := range texts {
			say(f.T, l, []llm.Role{llm.RoleUser, llm.RoleAssistant}[i%2], text)
		}
		if err := errors.Join(l.Close(), m.Note(ctx, id, []byte("{}"))); err != nil {
			f.Fatal(err)
		}
	}
	if err := m.Note(ctx, "idle", []byte("{}")); err != nil {
		f.Fatal(err)
	}
	var many []string
	for i := range 401 { // more than are indexed at a time
		many = append(many, fmt.Sprintf("pear %d", i))
	}
	f.finds("ann", "quinces", "Plums:user:Ask somebody about quinces.")
	work("cook", "How is a quince cooked?", "A quince is cooked slowly.")
	if _, err := f.db.Exec(ctx, `UPDATE {chats} SET indexed = 0 WHERE indexed > 0 AND id IN (SELECT chat FROM {minions})`); err != nil { // as the update of the tables does
		f.Fatal(err)
	}
	f.finds("ann", "cooked", "Plums:assistant:A quince is cooked slowly.|Plums:user:How is a quince cooked?")
	work("long", many...)
	f.turn("ann", c, "And?")
	f.finds("ann", "cooked", "Plums:assistant:A quince is cooked slowly.|Plums:user:How is a quince cooked?")
	r := must[project.Found](f.T)(f.Search(ctx, "ann", project.Query{Text: "slowly", Chat: c.ID}))
	if len(r.Hits) != 1 || r.Hits[0].Agent != "cook" || r.Hits[0].Chat != c.ID {
		f.Fatalf("found %+v", r)
	}
	l := must[*transcript.Log](f.T)(m.View(ctx, "cook"))
	if e, err := l.Entry(r.Hits[0].Entry); err != nil || e.Message.Text() != "A quince is cooked slowly." {
		f.Errorf("at the hit is %+v, %v", e, err)
	}
	_ = l.Close()

	work("cook", "And a pear, cooked?")
	f.turn("ann", c, "Go on.")
	f.finds("ann", "cooked", "Plums:assistant:A quince is cooked slowly.|Plums:user:And a pear, cooked?|Plums:user:How is a quince cooked?")
	if r := must[project.Found](f.T)(f.Search(ctx, "ann", project.Query{Text: "pear"})); r.Total != len(many)+1 {
		f.Errorf("found %d pears of %d", r.Total, len(many)+1)
	}
	var behind int
	if err := f.db.QueryRow(ctx, `SELECT count(*) FROM {minions} WHERE indexed = 0`).Scan(&behind); err != nil || behind != 1 { // the idle one
		f.Errorf("%d are behind, %v", behind, err)
	}
	if err := f.store.TrashChat(ctx, "ann", c.ID, true); err != nil {
		f.Fatal(err)
	}
	f.finds("ann", "cooked", "")
}

// What is in the trash isn't found, and what was removed leaves the index.
func testFindTrash(f *finding) {
	ctx := f.Context()
	p := must[project.Project](f.T)(f.store.NewProject(ctx, "ann", project.Settings{Name: "Trip"}))
	one := f.chat("ann", p.ID, "One", "a quince")
	f.chat("ann", "", "Two", "a quince")
	const both = "One:user:a quince|Two:user:a quince"
	f.finds("ann", "quince", both)
	for _, way := range []func(bool) error{
		func(trash bool) error { return f.store.TrashChat(ctx, "ann", one.ID, trash) },
		func(trash bool) error { return f.store.TrashProject(ctx, "ann", p.ID, trash) },
	} {
		if err := way(true); err != nil {
			f.Fatal(err)
		}
		f.finds("ann", "quince", "Two:user:a quince")
		if err := way(false); err != nil {
			f.Fatal(err)
		}
		f.finds("ann", "quince", both)
	}
	if err := errors.Join(f.store.TrashProject(ctx, "ann", p.ID, true), f.store.PurgeProject(ctx, "ann", p.ID)); err != nil {
		f.Fatal(err)
	}
	f.finds("ann", "quince", "Two:user:a quince")
	if err := f.index.Merge(ctx, "ann"); err != nil {
		f.Fatal(err)
	}
	if r := must[search.Result](f.T)(f.index.Search(ctx, "ann", "quince", search.Options{})); r.Total != 1 {
		f.Errorf("the index has %+v", r)
	}
	var n int
	if err := f.db.QueryRow(ctx, `SELECT count(*) FROM {search_gone}`).Scan(&n); err != nil || n != 0 {
		f.Errorf("%d are to be forgotten, %v", n, err)
	}
}

// Chats of before there was an index are indexed in the background, whoever's they are.
func testFindOld(f *finding) {
	for i := range 3 {
		f.chat("ann", "", fmt.Sprint("Old ", i), "a quince", "a pear")
	}
	f.chat("bert", "", "Old", "a quince")
	for _, statement := range []string{`DELETE FROM {search_segments}`, `UPDATE {chats} SET indexed = -1, entries = 0`} {
		if _, err := f.db.Exec(f.Context(), statement); err != nil {
			f.Fatal(err)
		}
	}
	ctx, stop := context.WithCancel(f.Context())
	var work sync.WaitGroup
	work.Go(func() { f.Tend(ctx, func(err error) { f.Error(err) }) })
	for late := time.Now().Add(time.Minute); ; {
		var n int
		if err := f.db.QueryRow(ctx, `SELECT count(*) FROM {chats} WHERE indexed < accepted + settled`).Scan(&n); err != nil {
			f.Fatal(err)
		}
		if n == 0 || time.Now().After(late) {
			break
		}
	}
	stop()
	work.Wait()
	for who, want := range map[string]int{"ann": 3, "bert": 1} {
		if r := must[search.Result](f.T)(f.index.Search(f.Context(), who, "quince", search.Options{})); r.Total != want {
			f.Errorf("%s: the index has %d of %d", who, r.Total, want)
		}
	}
	f.finds("ann", "old", "Old 0:title:Old 0|Old 1:title:Old 1|Old 2:title:Old 2")
}

// Two servers find the same, and index a chat once, whoever of them does.
func testFindServers(f *finding) {
	other := newFinding(f.T, f.db, f.vault)
	c := f.chat("ann", "", "One", "a quince")
	other.finds("ann", "quince", "One:user:a quince")
	// What is said while a turn is under way, too, by whoever has it open.
	l := must[*transcript.Log](f.T)(f.store.Open(f.Context(), "ann", c, transcript.Options{}, nil))
	must[int64](f.T)(f.store.Accept(f.Context(), c.ID, "a/1", nil))
	for i := range 500 {
		say(f.T, l, llm.RoleUser, fmt.Sprintf("pear %d", i))
	}
	var work sync.WaitGroup
	for i := range 6 {
		work.Go(func() {
			if err := []*finding{f, other}[i%2].Index(f.Context(), "ann", c.ID, "", nil); err != nil {
				f.Error(err)
			}
		})
	}
	work.Wait()
	for _, one := range []*finding{f, other} {
		if r := must[project.Found](f.T)(one.Search(f.Context(), "ann", project.Query{Text: "pear "})); r.Total != 500 || len(r.Hits) != 20 || r.Behind {
			f.Errorf("found %d, %d, %v", r.Total, len(r.Hits), r.Behind)
		}
	}
	// Who has lost the chat says nothing about it.
	say(f.T, l, llm.RoleUser, "a plum")
	if err := f.Index(f.Context(), "ann", c.ID, "b/1", l); err != nil {
		f.Error(err)
	}
	if r := must[search.Result](f.T)(f.index.Search(f.Context(), "ann", "plum", search.Options{})); r.Total != 0 {
		f.Error("it was indexed")
	}
	if err := l.Close(); err != nil {
		f.Fatal(err)
	}
}

// Where a person is locked nothing is found or indexed, and the rest goes on.
func testFindLocked(f *finding) {
	ctx := f.Context()
	must[string](f.T)(f.vault.SetMode(ctx, "ann", vault.Own, "a long pass phrase"))
	c := f.chat("ann", "", "One", "a quince")
	if err := f.store.TrashChat(ctx, "ann", f.chat("ann", "", "Two", "a quince").ID, true); err != nil {
		f.Fatal(err)
	}
	f.finds("ann", "quince", "One:user:a quince")
	f.vault.Lock("ann")
	if _, err := f.Search(ctx, "ann", project.Query{Text: "quince"}); !errors.Is(err, vault.ErrLocked) {
		f.Errorf("while locked: %v", err)
	}
	if err := f.Index(ctx, "ann", c.ID, "", nil); !errors.Is(err, vault.ErrLocked) {
		f.Errorf("indexed while locked: %v", err)
	}
	// What was in the trash for too long goes all the same, and leaves the index later.
	if err := f.store.Purge(ctx, time.Now().Add(time.Hour)); err != nil {
		f.Error(err)
	}
	if err := f.vault.Unlock(ctx, "ann", "a long pass phrase"); err != nil {
		f.Fatal(err)
	}
	f.finds("ann", "quince", "One:user:a quince")
	if err := f.index.Merge(ctx, "ann"); err != nil {
		f.Fatal(err)
	}
	if r := must[search.Result](f.T)(f.index.Search(ctx, "ann", "two", search.Options{})); r.Total != 0 {
		f.Errorf("the index has %+v", r)
	}
}

// A long chat is indexed in parts, of which none is lost or done twice when it is cut off.
func testFindCut(f *finding) {
	var texts []string
	for i := range 900 {
		texts = append(texts, fmt.Sprintf("quince %d", i))
	}
	c := f.chat("ann", "", "Long", texts...)
	parts := 0
	for indexed := 0; indexed < len(texts); parts++ {
		ctx, cancel := context.WithCancel(f.Context())
		was := indexed
		go func() {
			defer cancel()
			for now := was; now == was && ctx.Err() == nil; { // one part further
				_ = f.db.QueryRow(f.Context(), `SELECT entries FROM {chats} WHERE id = ?1`, c.ID).Scan(&now)
			}
		}()
		err := f.Index(ctx, "ann", c.ID, "", nil)
		cancel()
		if err := f.db.QueryRow(f.Context(), `SELECT entries FROM {chats} WHERE id = ?1`, c.ID).Scan(&indexed); err != nil {
			f.Fatal(err)
		}
		if err == nil && indexed < len(texts) {
			f.Fatalf("%d of %d are indexed", indexed, len(texts))
		}
	}
	if r := must[search.Result](f.T)(f.index.Search(f.Context(), "ann", "quince ", search.Options{})); r.Total != len(texts) {
		f.Errorf("found %d in %d parts", r.Total, parts)
	}
}

// records is the table with the entries of chats.
func (f *finding) records() string {
	if f.db.Server() {
		return "burin.records"
	}
	return "records"
}

// An answer that could not be written is not noted as indexed: the one that is written in its place is found.
func testFindUnkept(f *finding) {
	ctx := f.Context()
	c := f.chat("ann", "", "Plums", "a quince")
	lost := 0
	l := must[*transcript.Log](f.T)(f.store.Open(ctx, "ann", c, transcript.Options{}, func() { lost++ }))
	must[bool](f.T)(f.store.Hold(ctx, c.ID, "a/1", "a/2"))
	rename := func(from, to string) {
		f.Helper()
		if _, err := f.db.Exec(ctx, "ALTER TABLE "+from+" RENAME TO "+to); err != nil {
			f.Fatal(err)
		}
	}
	rename(f.records(), "moved")
	unkept := transcript.Entry{Type: transcript.TypeMessage, Message: &llm.Message{Role: llm.RoleAssistant, Content: []llm.Block{llm.Text{Text: "no pear"}}, Time: time.Now()}}
	if _, err := l.Append(unkept); !errors.Is(err, transcript.ErrUnkept) || lost != 1 {
		f.Errorf("told %d times of %v", lost, err)
	}
	rename(strings.Replace(f.records(), "records", "moved", 1), "records")
	if _, err := l.Append(unkept); !errors.Is(err, transcript.ErrUnkept) || lost != 1 { // what works with it has ended
		f.Errorf("told %d times of %v", lost, err)
	}
	if err := f.Index(ctx, "ann", c.ID, "a/2", l); err != nil {
		f.Fatal(err)
	}
	if err := l.Close(); !errors.Is(err, transcript.ErrUnkept) {
		f.Error(err)
	}
	f.turn("ann", c, "a pear", "the medlar")
	f.finds("ann", "pear", "Plums:user:a pear")
	f.finds("ann", "medlar", "Plums:assistant:the medlar")
}

// cutOff is a store whose records can't be read for a while.
type cutOff struct {
	transcript.Memory
	err error
}

func (c *cutOff) Read(ref transcript.Ref) ([]byte, error) {
	if c.err != nil {
		return nil, c.err
	}
	return c.Memory.Read(ref)
}

// An entry that can't be read as the connection breaks is indexed when it can be.
func testFindUnread(f *finding) {
	ctx := f.Context()
	c := f.chat("ann", "", "Plums")
	below := &cutOff{}
	l := must[*transcript.Log](f.T)(transcript.Create(below, transcript.Header{ID: c.ID}, transcript.Options{}))
	say(f.T, l, llm.RoleUser, "a quince")
	below.err = fmt.Errorf("read: %w", pgstore.ErrLost)
	if err := f.Index(ctx, "ann", c.ID, "a/1", l); !errors.Is(err, pgstore.ErrLost) {
		f.Errorf("index: %v", err)
	}
	below.err = nil
	if err := f.Index(ctx, "ann", c.ID, "a/1", l); err != nil {
		f.Error(err)
	}
	if r := must[search.Result](f.T)(f.index.Search(ctx, "ann", "quince", search.Options{})); r.Total != 1 {
		f.Errorf("the index has %+v", r)
	}
}

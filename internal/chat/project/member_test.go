package project_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"io/fs"
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
	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/transcript"
)

func TestMembers(t *testing.T) {
	storetest.Each(t, parts, func(t *testing.T, open func() *store.DB) {
		t.Run("rights", func(t *testing.T) { testMemberRights(t, fresh(t, open())) })
		t.Run("files", func(t *testing.T) { testMemberFiles(t, fresh(t, open())) })
		t.Run("leaving", func(t *testing.T) { db := open(); testMembersLeave(t, db, fresh(t, db)) })
		t.Run("chats", func(t *testing.T) { testMembersChats(t, fresh(t, open())) })
		t.Run("attachments", func(t *testing.T) { testMembersAttachments(t, fresh(t, open())) })
		t.Run("keys", func(t *testing.T) { testMembersKeys(t, open()) })
		t.Run("many", func(t *testing.T) { testManyShared(t, fresh(t, open())) })
		t.Run("watch", func(t *testing.T) { testMembersWatch(t, fresh(t, open())) })
	})
}

func rename(name string) func(*project.Settings) error {
	return func(s *project.Settings) error { s.Name = name; return nil }
}

// share makes a project of ann, and shares it with others.
func share(t *testing.T, s *project.Store, with map[string]project.Right) project.Project {
	t.Helper()
	p := must[project.Project](t)(s.NewProject(t.Context(), "ann", project.Settings{Name: "Zoo", Instructions: "Be brief."}))
	for person, right := range with {
		if err := project.SetMember(t.Context(), s, "ann", p.ID, person, right, nothing); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// What members may do depends on their right, and nobody but the owner shares, trashes or deletes.
func testMemberRights(t *testing.T, s *project.Store) {
	ctx := t.Context()
	s.Name = func(_ context.Context, person string) string { return strings.ToUpper(person) }
	p := share(t, s, map[string]project.Right{"bob": project.Reads, "cid": project.Writes})
	for _, person := range []string{"bob", "cid"} {
		got := must[project.Project](t)(s.Project(ctx, person, p.ID))
		if got.Instructions != "Be brief." || got.Owner != "ANN" || got.Right != map[string]project.Right{"bob": project.Reads, "cid": project.Writes}[person] || got.Members != 0 {
			t.Errorf("%s has %+v", person, got)
		}
		all := must[[]project.Project](t)(s.Projects(ctx, person, false))
		if len(all) != 1 || all[0].Name != "Zoo" || all[0].Owner != "ANN" {
			t.Errorf("%s lists %+v", person, all)
		}
		for what, err := range map[string]error{
			"trash":   s.TrashProject(ctx, person, p.ID, true),
			"add":     project.SetMember(ctx, s, person, p.ID, "eve", project.Reads, nothing),
			"promote": project.SetMember(ctx, s, person, p.ID, person, project.Writes, nothing),
		} {
			if !errors.Is(err, project.ErrDenied) || !strings.Contains(err.Error(), "ANN") {
				t.Errorf("%s: %s: %v", person, what, err)
			}
		}
		other := map[string]string{"bob": "cid", "cid": "bob"}[person]
		if _, err := project.RemoveMember(ctx, s, person, p.ID, other, nothing); !errors.Is(err, project.ErrDenied) {
			t.Errorf("%s removes %s: %v", person, other, err)
		}
		if err := s.PurgeProject(ctx, person, p.ID); !errors.Is(err, project.ErrUnknown) {
			t.Errorf("%s purges it: %v", person, err)
		}
		if all := must[[]project.Member](t)(project.MembersOf(ctx, s, person, p.ID)); len(all) != 2 {
			t.Errorf("%s sees %v", person, all)
		}
	}
	if own := must[[]project.Project](t)(s.Projects(ctx, "ann", false)); own[0].Members != 2 || own[0].Owner != "" || own[0].Right != "" {
		t.Errorf("the owner has %+v", own[0])
	}
	if _, err := s.SetProject(ctx, "bob", p.ID, 0, rename("x")); !errors.Is(err, project.ErrDenied) {
		t.Errorf("who may read changes settings: %v", err)
	}
	must[project.Project](t)(s.SetProject(ctx, "cid", p.ID, 1, rename("Two")))
	if _, err := s.SetProject(ctx, "cid", p.ID, 0, func(s *project.Settings) error { s.MaxCost = llm.Dollars(100); return nil }); !errors.Is(err, project.ErrDenied) {
		t.Errorf("a member raises what the owner pays: %v", err)
	}
	if got := must[project.Project](t)(s.Project(ctx, "ann", p.ID)); got.Name != "Two" || got.MaxCost != 0 {
		t.Errorf("the owner reads %+v", got)
	}
	// Others have nothing of it.
	if _, err := s.Project(ctx, "eve", p.ID); !errors.Is(err, project.ErrUnknown) {
		t.Errorf("another person reads it: %v", err)
	}
	if _, err := s.Files(ctx, "eve", p.ID); !errors.Is(err, project.ErrUnknown) {
		t.Errorf("another person has the files: %v", err)
	}
	if _, err := s.NewChat(ctx, "eve", p.ID, project.About{}); !errors.Is(err, project.ErrUnknown) {
		t.Errorf("another person has a chat in it: %v", err)
	}
	if _, err := project.MembersOf(ctx, s, "eve", p.ID); !errors.Is(err, project.ErrUnknown) {
		t.Errorf("another person sees the members: %v", err)
	}
	if err := project.SetMember(ctx, s, "eve", p.ID, "eve", project.Writes, nothing); !errors.Is(err, project.ErrUnknown) {
		t.Errorf("another person joins: %v", err)
	}
	for person, right := range map[string]project.Right{"ann": project.Reads, "eve": "own"} {
		if err := project.SetMember(ctx, s, "ann", p.ID, person, right, nothing); !errors.Is(err, project.ErrInvalid) {
			t.Errorf("%s becomes a member with %q: %v", person, right, err)
		}
	}
}

// Files are the owner's, whoever writes them. A right that was taken holds for what is open, too.
func testMemberFiles(t *testing.T, s *project.Store) {
	ctx := t.Context()
	var counted []string
	s.Fits = func(_ context.Context, _ store.Querier, person string) error {
		if counted = append(counted, person); len(counted) > 3 {
			return errors.New("full")
		}
		return nil
	}
	p := share(t, s, map[string]project.Right{"bob": project.Reads, "cid": project.Writes})
	ann := must[*vfs.Tree](t)(s.Files(ctx, "ann", p.ID))
	must[vfs.Info](t)(ann.Write(ctx, "/a.txt", []byte("one"), vfs.Anything))
	cid := must[*vfs.Tree](t)(s.Files(ctx, "cid", p.ID))
	must[vfs.Info](t)(cid.Write(ctx, "/a.txt", []byte("two"), vfs.Anything))
	bob := must[*vfs.Tree](t)(s.Files(ctx, "bob", p.ID))
	read := func(tree *vfs.Tree) (string, error) {
		data, _, err := tree.Read(ctx, "/a.txt")
		return string(data), err
	}
	for who, tree := range map[string]*vfs.Tree{"ann": ann, "bob": bob, "cid": cid} {
		if got, err := read(tree); err != nil || got != "two" {
			t.Errorf("%s reads %q, %v", who, got, err)
		}
	}
	if want := []string{"ann", "ann"}; !slices.Equal(counted, want) {
		t.Errorf("it counts for %v", counted)
	}
	writes := func(tree *vfs.Tree) map[string]error {
		_, write := tree.Write(ctx, "/b.txt", nil, vfs.Anything)
		_, appended := tree.Append(ctx, "/a.txt", []byte("x"))
		_, rolled := tree.RollBack(ctx, "/a.txt", 1)
		_, imported := tree.Import(ctx, bytes.NewReader(nil), 0, "/")
		_ = imported // an archive that is none is refused before
		return map[string]error{
			"write": write, "append": appended, "roll back": rolled, "mkdir": tree.Mkdir(ctx, "/d"), "rename": tree.Rename(ctx, "/a.txt", "/c.txt"),
			"remove": tree.Remove(ctx, "/a.txt", true), "drop": tree.DropVersions(ctx, "/a.txt", 1), "purge": tree.PurgeAll(ctx, "/"),
			"workspace": tree.Files(ctx).WriteFile("b.txt", nil, 0o600),
		}
	}
	for how, err := range writes(bob) {
		if !errors.Is(err, project.ErrDenied) || !errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("who may read does %s: %v", how, err)
		}
	}
	persona := must[*vfs.Tree](t)(bob.Namespace("/minions/x"))
	if _, err := persona.Write(ctx, "/b.txt", nil, vfs.Anything); !errors.Is(err, project.ErrDenied) {
		t.Errorf("an agent of who may read writes: %v", err)
	}
	if err := project.SetMember(ctx, s, "ann", p.ID, "bob", project.Writes, nothing); err != nil {
		t.Fatal(err)
	}
	if _, err := bob.Write(ctx, "/b.txt", []byte("b"), vfs.Anything); err != nil {
		t.Errorf("a new right doesn't count: %v", err)
	}
	if _, err := bob.Write(ctx, "/c.txt", []byte("b"), vfs.Anything); err == nil || !strings.Contains(err.Error(), "the storage of ann is full") {
		t.Errorf("where the owner has no room: %v", err)
	}
	if err := project.SetMember(ctx, s, "ann", p.ID, "cid", project.Reads, nothing); err != nil {
		t.Fatal(err)
	}
	for how, err := range writes(cid) {
		if !errors.Is(err, project.ErrDenied) {
			t.Errorf("a right that was taken counts for %s: %v", how, err)
		}
	}
	if _, err := project.RemoveMember(ctx, s, "ann", p.ID, "cid", nothing); err != nil {
		t.Fatal(err)
	}
	if got, err := read(cid); !errors.Is(err, project.ErrDenied) || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("who was removed reads %q, %v", got, err)
	}
	if err := s.TrashProject(ctx, "ann", p.ID, true); err != nil {
		t.Fatal(err)
	}
	if got, err := read(bob); !errors.Is(err, project.ErrDenied) {
		t.Errorf("of a project in the trash a member reads %q, %v", got, err)
	}
}

// chatIn begins a chat in which something was said.
func chatIn(t *testing.T, s *project.Store, person, in, title string) project.Chat {
	t.Helper()
	c := must[project.Chat](t)(s.NewChat(t.Context(), person, in, project.About{Title: title}))
	l := must[*transcript.Log](t)(s.Open(t.Context(), person, c, transcript.Options{}, nil))
	say(t, l, llm.RoleUser, "a quagga of "+person)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return c
}

// Whoever isn't a member any more keeps their chats, also while their keys are locked: removed, left, or with the project, or the
// account of its owner.
func testMembersLeave(t *testing.T, db *store.DB, s *project.Store) {
	ctx := t.Context()
	for what, end := range map[string]func(p project.Project) error{
		"removed": func(p project.Project) error {
			ids, err := project.RemoveMember(ctx, s, "ann", p.ID, "bob", nothing)
			if len(ids) != 2 {
				t.Errorf("chats that moved: %v", ids)
			}
			return err
		},
		"left": func(p project.Project) error {
			_, err := project.RemoveMember(ctx, s, "bob", p.ID, "bob", nothing)
			return err
		},
		"trashed": func(p project.Project) error { return s.TrashProject(ctx, "ann", p.ID, true) },
		"purged": func(p project.Project) error {
			if err := s.TrashProject(ctx, "ann", p.ID, true); err != nil {
				return err
			}
			return s.PurgeProject(ctx, "ann", p.ID)
		},
		"gone": func(project.Project) error { return project.PurgePerson(ctx, s, "ann") },
	} {
		p := share(t, s, map[string]project.Right{"bob": project.Reads})
		c := chatIn(t, s, "bob", p.ID, "Kept "+what)
		own := chatIn(t, s, "ann", p.ID, "Mine")
		bin := chatIn(t, s, "bob", p.ID, "Bin")
		if err := s.TrashChat(ctx, "bob", bin.ID, true); err != nil {
			t.Fatal(err)
		}
		if unsettled, err := s.Hold(ctx, c.ID, "", "srv/1"); err != nil || unsettled {
			t.Fatal(unsettled, err)
		}
		must[int64](t)(s.Accept(ctx, c.ID, "srv/1", nil))
		if err := end(p); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		got := must[project.Chat](t)(s.Chat(ctx, "bob", c.ID))
		if got.Project == p.ID || got.Title != "Kept "+what || got.Working {
			t.Errorf("%s: the chat is %+v", what, got)
		}
		home := must[project.Project](t)(s.Project(ctx, "bob", got.Project))
		if home.Name != "Chats" || home.Owner != "" || home.Tools == nil {
			t.Errorf("%s: it is in %+v", what, home)
		}
		if err := s.Holding(ctx, c.ID, "srv/1", func(store.Querier) error { return nil }); !errors.Is(err, project.ErrNotHeld) {
			t.Errorf("%s: who had it open holds it still: %v", what, err)
		}
		if all := must[[]project.Chat](t)(s.Chats(ctx, "bob", project.Listing{})); !slices.ContainsFunc(all, func(one project.Chat) bool { return one.ID == c.ID }) {
			t.Errorf("%s: it is not in the list", what)
		}
		if err := errors.Join(s.TrashChat(ctx, "bob", bin.ID, false)); err != nil {
			t.Errorf("%s: what was in the trash is lost: %v", what, err)
		}
		if _, err := s.Project(ctx, "bob", p.ID); !errors.Is(err, project.ErrUnknown) {
			t.Errorf("%s: the project is there: %v", what, err)
		}
		if _, err := s.NewChat(ctx, "bob", p.ID, project.About{}); !errors.Is(err, project.ErrUnknown) {
			t.Errorf("%s: a chat begins in it: %v", what, err)
		}
		if _, err := s.SetChat(ctx, "bob", c.ID, 0, p.ID, func(*project.About) error { return nil }); !errors.Is(err, project.ErrInvalid) {
			t.Errorf("%s: the chat moves back: %v", what, err)
		}
		if what == "removed" || what == "left" {
			if got := must[project.Chat](t)(s.Chat(ctx, "ann", own.ID)); got.Project != p.ID {
				t.Errorf("%s: the owner's chat is in %s", what, got.Project)
			}
		}
		if what == "trashed" {
			if err := s.TrashProject(ctx, "ann", p.ID, false); err != nil {
				t.Fatal(err)
			}
			must[project.Project](t)(s.Project(ctx, "bob", p.ID)) // shared as before
		}
		// The settings of what was made without keys are sealed with the first change.
		must[project.Project](t)(s.SetProject(ctx, "bob", home.ID, 0, func(s *project.Settings) error { s.Icon = "🦓"; return nil }))
		if err := project.PurgePerson(ctx, s, "bob"); err != nil {
			t.Fatal(err)
		}
	}
	var left int
	if err := db.QueryRow(ctx, `SELECT count(*) FROM {members}`).Scan(&left); err != nil || left != 0 {
		t.Errorf("%d members of nothing are left, %v", left, err)
	}
	// A project for chats that is in the trash isn't one for those that lost theirs.
	p := share(t, s, map[string]project.Right{"bob": project.Reads})
	c := chatIn(t, s, "bob", p.ID, "Once more")
	first := must[project.Project](t)(s.Default(ctx, "bob"))
	if err := s.TrashProject(ctx, "bob", first.ID, true); err != nil {
		t.Fatal(err)
	}
	if _, err := project.RemoveMember(ctx, s, "ann", p.ID, "bob", nothing); err != nil {
		t.Fatal(err)
	}
	if got := must[project.Chat](t)(s.Chat(ctx, "bob", c.ID)); got.Project == first.ID {
		t.Error("it is in the trash")
	}
	// A member who is removed from the server leaves nothing.
	if err := project.SetMember(ctx, s, "ann", p.ID, "bob", project.Writes, nothing); err != nil {
		t.Fatal(err)
	}
	chatIn(t, s, "bob", p.ID, "Lost")
	if err := project.PurgePerson(ctx, s, "bob"); err != nil {
		t.Fatal(err)
	}
	if ids := must[[]string](t)(project.ChatsOf(ctx, s, "bob", "")); len(ids) != 0 {
		t.Errorf("chats of a removed person: %v", ids)
	}
	if all := must[[]project.Member](t)(project.MembersOf(ctx, s, "ann", p.ID)); len(all) != 0 {
		t.Errorf("members: %v", all)
	}
	must[project.Project](t)(s.Project(ctx, "ann", p.ID))
}

// Chats in a shared project are their person's: in lists, in the search, in exports, and under their ids.
func testMembersChats(t *testing.T, s *project.Store) {
	ctx := t.Context()
	p := share(t, s, map[string]project.Right{"bob": project.Writes})
	anns, bobs := chatIn(t, s, "ann", p.ID, "Of Ann"), chatIn(t, s, "bob", p.ID, "Of Bob")
	f := project.NewFinder(s)
	for person, c := range map[string]project.Chat{"ann": anns, "bob": bobs} {
		if err := f.Index(ctx, person, c.ID, "", nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Index(ctx, "ann", bobs.ID, "", nil); !errors.Is(err, project.ErrUnknown) {
		t.Errorf("the owner indexes a member's chat: %v", err)
	}
	for person, want := range map[string]project.Chat{"ann": anns, "bob": bobs} {
		for _, in := range []string{"", p.ID} {
			if all := must[[]project.Chat](t)(s.Chats(ctx, person, project.Listing{Project: in})); len(all) != 1 || all[0].ID != want.ID {
				t.Errorf("%s lists %v", person, titles(all))
			}
			if found := must[project.Found](t)(f.Search(ctx, person, project.Query{Text: "quagga", Project: in})); found.Total != 1 || found.Hits[0].Chat != want.ID {
				t.Errorf("%s finds %+v", person, found)
			}
		}
		var buf, chats bytes.Buffer
		to := zip.NewWriter(&buf)
		if err := errors.Join(project.Export(ctx, s, person, to), to.Close()); err != nil {
			t.Fatal(err)
		}
		to = zip.NewWriter(&chats)
		if err := errors.Join(project.WriteChats(ctx, s, person, p.ID, to), to.Close()); err != nil {
			t.Fatal(err)
		}
		for i, data := range [][]byte{buf.Bytes(), chats.Bytes()} {
			r, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
			if err != nil {
				t.Fatal(err)
			}
			all := ""
			for _, one := range r.File {
				all += one.Name + "\n"
			}
			other := map[string]string{"ann": bobs.ID, "bob": anns.ID}[person]
			if !strings.Contains(all, want.ID) || strings.Contains(all, other) || i == 0 && strings.Contains(all, "project.json") != (person == "ann") {
				t.Errorf("the export of %s has\n%s", person, all)
			}
		}
	}
	for what, err := range map[string]error{
		"read": func() error { _, err := s.Chat(ctx, "ann", bobs.ID); return err }(),
		"set": func() error {
			_, err := s.SetChat(ctx, "ann", bobs.ID, 0, "", func(*project.About) error { return nil })
			return err
		}(),
		"trash": s.TrashChat(ctx, "ann", bobs.ID, true),
		"fork":  func() error { _, err := s.Fork(ctx, "ann", bobs.ID, ""); return err }(),
		"share": func() error { _, _, err := project.NewShare(ctx, s, "ann", bobs.ID, time.Time{}, nothing); return err }(),
	} {
		if !errors.Is(err, project.ErrUnknown) {
			t.Errorf("the owner does %s with a member's chat: %v", what, err)
		}
	}
	// A chat moves into a shared project and out of it, and a fork stays there.
	c := must[project.Chat](t)(s.SetChat(ctx, "bob", bobs.ID, 0, must[project.Project](t)(s.Default(ctx, "bob")).ID, func(*project.About) error { return nil }))
	if c = must[project.Chat](t)(s.SetChat(ctx, "bob", c.ID, 0, p.ID, func(*project.About) error { return nil })); c.Project != p.ID {
		t.Errorf("it is in %s", c.Project)
	}
	if fork := must[project.Chat](t)(s.Fork(ctx, "bob", c.ID, "")); fork.Project != p.ID {
		t.Errorf("the fork is in %s", fork.Project)
	}
	// What a member's chats do makes the owner hear nothing.
	w := project.Watch(s, "ann")
	defer w.Leave()
	must[project.Chat](t)(s.NewChat(ctx, "bob", p.ID, project.About{}))
	soon, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	if news, err := w.Next(soon); err == nil {
		t.Errorf("of a member's chat the owner hears %+v", news)
	}
	if ids := must[[]string](t)(project.MembersChats(ctx, s, "ann", p.ID)); len(ids) != 3 {
		t.Errorf("chats of members: %v", ids)
	}
	if ids := must[[]string](t)(project.MembersChats(ctx, s, "bob", p.ID)); len(ids) != 0 {
		t.Errorf("a member is told of chats of others: %v", ids)
	}
}

// lockable has keys that can be locked, as a person's in mode Own.
type lockable struct {
	*vault.Vault
	locked map[string]bool
}

func (l *lockable) Ring(ctx context.Context, person string) (*vault.Ring, error) {
	if l.locked[person] {
		return nil, vault.ErrLocked
	}
	return l.Vault.Ring(ctx, person)
}

// What is shared is sealed with the owner's keys: while these are locked, members are told so, and have their chats all the same. Who is
// locked themselves has nothing. New keys of the owner change nothing for members.
func testMembersKeys(t *testing.T, db *store.DB) {
	ctx := t.Context()
	v := keysOf(t, db)
	keys := &lockable{v, map[string]bool{}}
	s := project.New(db, keys, vfs.New(db, vfs.Limits{}), search.New(db, v, 0), must[*attachment.Store](t)(attachment.New(ctx, db, v, nil)))
	p := share(t, s, map[string]project.Right{"bob": project.Writes})
	c := chatIn(t, s, "bob", p.ID, "Mine")
	files := must[*vfs.Tree](t)(s.Files(ctx, "bob", p.ID))
	must[vfs.Info](t)(files.Write(ctx, "/a.txt", []byte("one"), vfs.Anything))
	keys.locked["ann"] = true
	says := func(what string, err error) {
		t.Helper()
		var locked *project.LockedError
		if !errors.As(err, &locked) || locked.Person != "ann" || !errors.Is(err, vault.ErrLocked) || !strings.Contains(err.Error(), "the keys of ann are locked") {
			t.Errorf("%s: %v", what, err)
		}
	}
	_, err := s.Project(ctx, "bob", p.ID)
	says("the project", err)
	_, err = s.SetProject(ctx, "bob", p.ID, 0, rename("x"))
	says("a change", err)
	_, err = s.Files(ctx, "bob", p.ID)
	says("its files", err)
	_, _, err = files.Read(ctx, "/a.txt")
	says("files that were open", err)
	_, err = files.Write(ctx, "/a.txt", nil, vfs.Anything)
	says("writing files that were open", err)
	if all := must[[]project.Project](t)(s.Projects(ctx, "bob", false)); len(all) != 1 || !all[0].Locked || all[0].Name != "" || all[0].Owner != "ann" {
		t.Errorf("the list has %+v", all)
	}
	if all := must[[]project.Chat](t)(s.Chats(ctx, "bob", project.Listing{})); len(all) != 1 || all[0].Title != "Mine" {
		t.Errorf("the chats are %v", titles(all))
	}
	keys.locked = map[string]bool{"bob": true}
	for what, err := range map[string]error{
		"the project": func() error { _, err := s.Project(ctx, "bob", p.ID); return err }(),
		"its files":   func() error { _, err := s.Files(ctx, "bob", p.ID); return err }(),
	} {
		if !errors.Is(err, vault.ErrLocked) || strings.Contains(err.Error(), "ann") {
			t.Errorf("a locked member and %s: %v", what, err)
		}
	}
	// A locked member is removed, and has the chat when they are back.
	if _, err := project.RemoveMember(ctx, s, "ann", p.ID, "bob", nothing); err != nil {
		t.Fatal(err)
	}
	keys.locked = map[string]bool{}
	if got := must[project.Chat](t)(s.Chat(ctx, "bob", c.ID)); got.Project == p.ID {
		t.Errorf("the chat is in %s", got.Project)
	}
	if err := project.SetMember(ctx, s, "ann", p.ID, "bob", project.Writes, nothing); err != nil {
		t.Fatal(err)
	}
	old := must[*vault.Ring](t)(v.Ring(ctx, "ann")).Newest()
	for _, person := range []string{"ann", "bob"} {
		must[bool](t)(v.Rotate(ctx, person))
	}
	if err := v.Reseal(ctx, s); err != nil {
		t.Fatal(err)
	}
	if must[*vault.Ring](t)(v.Ring(ctx, "ann")).Newest() == old {
		t.Fatal("the key is the old one")
	}
	if data, _, err := must[*vfs.Tree](t)(s.Files(ctx, "bob", p.ID)).Read(ctx, "/a.txt"); err != nil || string(data) != "one" {
		t.Errorf("%q, %v", data, err)
	}
}

// The owner and the members hear of what they share, and of nothing else.
func testMembersWatch(t *testing.T, s *project.Store) {
	ctx := t.Context()
	p := share(t, s, nil)
	ann, bob := project.Watch(s, "ann"), project.Watch(s, "bob")
	defer ann.Leave()
	defer bob.Leave()
	hears := func(w *project.Watcher, wait time.Duration) (project.Change, bool) {
		ctx, cancel := context.WithTimeout(ctx, wait)
		defer cancel()
		news, err := w.Next(ctx)
		return news, err == nil
	}
	told := func(what string, all ...*project.Watcher) {
		t.Helper()
		for i, w := range all {
			if _, ok := hears(w, 10*time.Second); !ok {
				t.Errorf("watcher %d doesn't hear of %s", i, what)
			}
		}
	}
	if err := project.SetMember(ctx, s, "ann", p.ID, "bob", project.Reads, nothing); err != nil {
		t.Fatal(err)
	}
	told("the member", ann, bob)
	must[project.Project](t)(s.SetProject(ctx, "ann", p.ID, 0, rename("Two")))
	told("a change", ann, bob)
	files := must[*vfs.Tree](t)(s.Files(ctx, "ann", p.ID))
	if err := files.Mkdir(ctx, "/notes"); err != nil {
		t.Fatal(err)
	}
	for _, w := range []*project.Watcher{ann, bob} {
		if news, ok := hears(w, 10*time.Second); !ok || !slices.Contains(news.Files, p.ID) {
			t.Errorf("of a new folder was said %+v", news)
		}
	}
	if _, err := project.RemoveMember(ctx, s, "bob", p.ID, "bob", nothing); err != nil {
		t.Fatal(err)
	}
	told("the end", ann, bob)
	if err := files.Mkdir(ctx, "/more"); err != nil {
		t.Fatal(err)
	}
	told("a folder", ann)
	if news, ok := hears(bob, 20*time.Millisecond); ok {
		t.Errorf("who has left hears of %+v", news)
	}
	if err := project.SetMember(ctx, s, "ann", p.ID, "bob", project.Reads, nothing); err != nil {
		t.Fatal(err)
	}
	told("the member", bob)
	if err := project.PurgePerson(ctx, s, "ann"); err != nil {
		t.Fatal(err)
	}
	told("the end of the owner", bob)
}

// What members attach to chats in projects of others is listed with the rest of theirs, as it counts with it.
func testMembersAttachments(t *testing.T, s *project.Store) {
	ctx := t.Context()
	p := share(t, s, map[string]project.Right{"bob": project.Reads})
	chat := must[project.Chat](t)(s.NewChat(ctx, "bob", p.ID, project.About{Title: "Mine"}))
	a := project.NewAttachments(s)
	must[project.Attachment](t)(a.Put(ctx, "bob", chat.ID, "a.txt", strings.NewReader("quagga")))
	all := must[project.AllAttachments](t)(a.OfAll(ctx, "bob", ""))
	if len(all.Chats) != 1 || all.Chats[0].Chat != chat.ID || all.Sum.Files != 1 || all.Unused.Files != 1 {
		t.Errorf("the member's attachments are %+v", all)
	}
	if all := must[project.AllAttachments](t)(a.OfAll(ctx, "ann", "")); len(all.Chats) != 0 || all.Sum.Files != 0 {
		t.Errorf("the owner's attachments are %+v", all)
	}
	if is := must[project.AttachedSum](t)(a.RemoveUnused(ctx, "bob")); is.Files != 1 {
		t.Errorf("removed %+v", is)
	}
}

// Nobody fills somebody's list with what they share.
func testManyShared(t *testing.T, s *project.Store) {
	pacetest.Costly(t)
	first := share(t, s, map[string]project.Right{"bob": project.Reads})
	for range 199 {
		share(t, s, map[string]project.Right{"bob": project.Reads})
	}
	more := share(t, s, nil)
	if err := project.SetMember(t.Context(), s, "ann", more.ID, "bob", project.Reads, nothing); !errors.Is(err, project.ErrInvalid) || !strings.Contains(err.Error(), "200 projects of others") {
		t.Errorf("one more: %v", err)
	}
	if err := project.SetMember(t.Context(), s, "ann", first.ID, "bob", project.Writes, nothing); err != nil {
		t.Errorf("another right: %v", err)
	}
	must[[]string](t)(project.RemoveMember(t.Context(), s, "bob", first.ID, "bob", nothing))
	if err := project.SetMember(t.Context(), s, "ann", more.ID, "bob", project.Reads, nothing); err != nil {
		t.Errorf("after leaving one: %v", err)
	}
}

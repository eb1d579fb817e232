package project_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/chat/project"
	"github.com/burin-dev/burin/internal/chat/store"
	"github.com/burin-dev/burin/internal/chat/vfs"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/transcript"
)

func nothing(store.Querier) error { return nil }

// Preferences are one person's, are sealed, and are changed by whoever has read them last.
func testPreferences(t *testing.T, db *store.DB, s *project.Store) {
	ctx := t.Context()
	set := func(person string, revision int64, change func(*project.Preferences)) (project.Preferences, error) {
		return project.SetPreferences(ctx, s, person, revision, func(p *project.Preferences) error { change(p); return nil })
	}
	p := must[project.Preferences](t)(set("ann", 0, func(p *project.Preferences) {
		p.Instructions = "secret wishes"
		p.Prompts = []project.Prompt{{Name: " tidy ", Text: "Tidy {{text}}"}}
	}))
	if p.Revision != 1 || p.Prompts[0].Name != "tidy" {
		t.Errorf("preferences are %+v", p)
	}
	if other := must[project.Preferences](t)(project.PreferencesOf(ctx, s, "bob")); other.Instructions != "" {
		t.Errorf("another person's are %+v", other)
	}
	if _, err := set("ann", 7, func(*project.Preferences) {}); !errors.Is(err, project.ErrChanged) {
		t.Errorf("a change of an old revision: %v", err)
	}
	if _, err := set("ann", 0, func(p *project.Preferences) { p.Prompts = append(p.Prompts, project.Prompt{Name: "tidy"}) }); !errors.Is(err, project.ErrInvalid) {
		t.Errorf("two prompts of one name: %v", err)
	}
	var sealed []byte
	if err := db.QueryRow(ctx, `SELECT sealed FROM {preferences} WHERE id = ?1`, "ann").Scan(&sealed); err != nil || strings.Contains(string(sealed), "wishes") {
		t.Errorf("the row is %q, %v", sealed, err)
	}
	if err := project.PurgePerson(ctx, s, "ann"); err != nil {
		t.Fatal(err)
	}
	if p := must[project.Preferences](t)(project.PreferencesOf(ctx, s, "ann")); p.Revision != 0 {
		t.Errorf("a removed person has %+v", p)
	}
}

// A copy is read with its secret only, until it expires, is removed, or its chat is in the trash.
func testShares(t *testing.T, db *store.DB, s *project.Store) {
	ctx := t.Context()
	c := must[project.Chat](t)(s.NewChat(ctx, "ann", "", project.About{Title: "Moon"}))
	if _, _, err := project.NewShare(ctx, s, "ann", c.ID, time.Time{}, nothing); !errors.Is(err, project.ErrInvalid) {
		t.Errorf("a chat without a word was shared: %v", err)
	}
	l := must[*transcript.Log](t)(s.Open(ctx, "ann", c, transcript.Options{}, nil))
	say(t, l, llm.RoleUser, "what is the moon")
	say(t, l, llm.RoleAssistant, "a stone")
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	share := func(until time.Time) (string, string) {
		t.Helper()
		is, secret, err := project.NewShare(ctx, s, "ann", c.ID, until, nothing)
		if err != nil {
			t.Fatal(err)
		}
		return is.ID, secret
	}
	reads := func(id, secret string) bool {
		t.Helper()
		data, person, err := project.OpenShare(ctx, s, id, secret)
		if err != nil && !errors.Is(err, project.ErrUnknown) {
			t.Fatal(err)
		}
		return err == nil && person == "ann" && strings.Contains(string(data), "a stone")
	}
	id, secret := share(time.Time{})
	if !reads(id, secret) || reads(id, secret+"x") || reads("x"+id, secret) {
		t.Error("a copy is read with its secret, and with nothing else")
	}
	var sealed []byte
	if err := db.QueryRow(ctx, `SELECT sealed FROM {shares} WHERE id = ?1`, id).Scan(&sealed); err != nil || strings.Contains(string(sealed), "stone") {
		t.Errorf("the row is %q, %v", sealed, err)
	}
	if _, _, err := project.NewShare(ctx, s, "bob", c.ID, time.Time{}, nothing); !errors.Is(err, project.ErrUnknown) {
		t.Errorf("somebody shared another one's chat: %v", err)
	}
	if err := project.RemoveShare(ctx, s, "bob", id, nothing); !errors.Is(err, project.ErrUnknown) {
		t.Errorf("somebody removed another one's link: %v", err)
	}
	late, lateSecret := share(time.Now().Add(time.Hour))
	if _, err := db.Exec(ctx, `UPDATE {shares} SET expires = 1 WHERE id = ?1`, late); err != nil {
		t.Fatal(err)
	}
	if all := must[[]project.Share](t)(project.Shares(ctx, s, "ann", "")); reads(late, lateSecret) || len(all) != 1 {
		t.Errorf("a copy that has expired is read, or listed: %v", all)
	}
	if err := s.TrashChat(ctx, "ann", c.ID, true); err != nil {
		t.Fatal(err)
	}
	if reads(id, secret) {
		t.Error("a copy of a chat in the trash is read")
	}
	if err := s.TrashChat(ctx, "ann", c.ID, false); err != nil || !reads(id, secret) {
		t.Errorf("a restored chat's copy isn't read: %v", err)
	}
	if err := project.RemoveShare(ctx, s, "ann", id, nothing); err != nil || reads(id, secret) {
		t.Errorf("a removed link is read: %v", err)
	}
}

// Who watches hears of each change of a person's lists, and of nobody else's. Temporary chats are in no list.
func testWatch(t *testing.T, db *store.DB, s *project.Store) {
	ctx := t.Context()
	w := project.Watch(s, "ann")
	defer w.Leave()
	hears := func(what string, wait time.Duration) bool {
		ctx, cancel := context.WithTimeout(ctx, wait)
		defer cancel()
		_, err := w.Next(ctx)
		return err == nil
	}
	c := must[project.Chat](t)(project.NewTemporaryChat(ctx, s, "ann", "", project.About{}))
	if !hears("a chat", 10*time.Second) {
		t.Error("nobody said that there is a chat")
	}
	if all := must[[]project.Chat](t)(s.Chats(ctx, "ann", project.Listing{})); len(all) != 0 || !c.Temporary {
		t.Errorf("a temporary chat is listed: %v", all)
	}
	must[project.Chat](t)(s.NewChat(ctx, "bob", "", project.About{}))
	if hears("another's chat", 20*time.Millisecond) {
		t.Error("somebody heard of another one's chat")
	}
	files := must[*vfs.Tree](t)(s.Files(ctx, "ann", c.Project))
	if err := files.Mkdir(ctx, "/notes"); err != nil {
		t.Fatal(err)
	}
	if news := must[project.Change](t)(w.Next(ctx)); !slices.Equal(news.Files, []string{c.Project}) || news.Lists {
		t.Errorf("of a new folder was said: %+v", news)
	}
	must[project.Chat](t)(s.SetChat(ctx, "ann", c.ID, 0, "", func(a *project.About) error { a.Seen = time.Now(); return nil }))
	if !hears("what was seen", 10*time.Second) {
		t.Error("nobody said what was seen elsewhere")
	}
	if _, err := db.Exec(ctx, `UPDATE {chats} SET modified = 1 WHERE id = ?1`, c.ID); err != nil {
		t.Fatal(err)
	}
	if err := s.Purge(ctx, time.Now().AddDate(0, 0, -30)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Chat(ctx, "ann", c.ID); !errors.Is(err, project.ErrUnknown) {
		t.Errorf("a temporary chat of long ago is there: %v", err)
	}
}

package project_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/chat/project"
	"github.com/burin-dev/burin/internal/chat/store"
)

// What can't be opened stands in the lists as that, among the others; it is deleted, and nothing is written over it.
func testUnreadable(t *testing.T, db *store.DB, s *project.Store) {
	ctx := t.Context()
	run := func(statement string, args ...any) {
		t.Helper()
		if _, err := db.Exec(ctx, statement, args...); err != nil {
			t.Fatal(err)
		}
	}
	rowOf := func(table, id string) (sealed []byte) {
		t.Helper()
		if err := db.QueryRow(ctx, `SELECT sealed FROM {`+table+`} WHERE id = ?1`, id).Scan(&sealed); err != nil {
			t.Fatal(err)
		}
		return sealed
	}
	good := must[project.Project](t)(s.NewProject(ctx, "ann", project.Settings{Name: "Good"}))
	bad := must[project.Project](t)(s.NewProject(ctx, "ann", project.Settings{Name: "Bad"}))
	in := must[project.Chat](t)(s.NewChat(ctx, "ann", bad.ID, project.About{Title: "In it"}))
	fine := must[project.Chat](t)(s.NewChat(ctx, "ann", good.ID, project.About{Title: "Fine"}))
	damaged := must[project.Chat](t)(s.NewChat(ctx, "ann", good.ID, project.About{Title: "Damaged", Pinned: true}))
	retired := must[project.Chat](t)(s.NewChat(ctx, "ann", good.ID, project.About{Title: "Retired"}))
	run(`UPDATE {projects} SET sealed = ?2 WHERE id = ?1`, bad.ID, rowOf("projects", good.ID)) // sealed for another row
	run(`UPDATE {chats} SET sealed = ?2 WHERE id = ?1`, damaged.ID, []byte("x"))
	foreign := rowOf("chats", retired.ID)
	foreign[4] += 7 // the generation of a key that isn't there
	run(`UPDATE {chats} SET sealed = ?2 WHERE id = ?1`, retired.ID, foreign)

	why := map[string]string{}
	for _, p := range must[[]project.Project](t)(s.Projects(ctx, "ann", false)) {
		why[p.ID] = p.Unreadable
		if p.Unreadable != "" && p.Name != "" {
			t.Errorf("an unreadable project has a name: %+v", p)
		}
	}
	for _, c := range must[[]project.Chat](t)(s.Chats(ctx, "ann", project.Listing{})) {
		why[c.ID] = c.Unreadable
		if c.Unreadable != "" && (c.Title != "" || c.Modified.IsZero()) {
			t.Errorf("an unreadable chat is %+v", c)
		}
	}
	for id, want := range map[string]string{good.ID: "", bad.ID: project.ForDamage, in.ID: "", fine.ID: "", damaged.ID: project.ForDamage, retired.ID: project.ForKey} {
		if got, ok := why[id]; !ok || got != want {
			t.Errorf("%s: %q, listed %v; want %q", id, got, ok, want)
		}
	}

	// Nothing is written over them.
	_, set := s.SetChat(ctx, "ann", damaged.ID, 0, "", func(a *project.About) error { a.Title = "New"; return nil })
	_, named := s.SetProject(ctx, "ann", bad.ID, 0, func(p *project.Settings) error { p.Name = "New"; return nil })
	_, one := s.Chat(ctx, "ann", retired.ID)
	for _, err := range []error{set, named, one} {
		if !errors.Is(err, project.ErrUnreadable) {
			t.Errorf("a change of what can't be opened: %v", err)
		}
	}
	if string(rowOf("chats", damaged.ID)) != "x" {
		t.Error("the row was written over")
	}

	// A chat gets out of a project that can't be opened, and the account is exported with the rest.
	must[project.Chat](t)(s.SetChat(ctx, "ann", in.ID, 0, good.ID, func(*project.About) error { return nil }))
	var archive bytes.Buffer
	to := zip.NewWriter(&archive)
	if err := errors.Join(project.Export(ctx, s, "ann", to), to.Close()); err != nil {
		t.Errorf("export: %v", err)
	}
	var files []string
	for _, f := range must[*zip.Reader](t)(zip.NewReader(bytes.NewReader(archive.Bytes()), int64(archive.Len()))).File {
		files = append(files, f.Name)
	}
	if all := strings.Join(files, "\n"); !strings.Contains(all, "Fine") || !strings.Contains(all, damaged.ID+".json") {
		t.Errorf("the archive has %s", all)
	}

	// They are deleted like others.
	for _, id := range []string{damaged.ID, retired.ID} {
		if err := errors.Join(s.TrashChat(ctx, "ann", id, true), s.PurgeChat(ctx, "ann", id)); err != nil {
			t.Errorf("delete %s: %v", id, err)
		}
	}
	if err := s.TrashProject(ctx, "ann", bad.ID, true); err != nil {
		t.Error(err)
	}
	if gone := must[[]project.Project](t)(s.Projects(ctx, "ann", true)); len(gone) != 1 || gone[0].Unreadable == "" {
		t.Errorf("the trash has %+v", gone)
	}
	if err := s.PurgeProject(ctx, "ann", bad.ID); err != nil {
		t.Error(err)
	}
	if left := titles(must[[]project.Chat](t)(s.Chats(ctx, "ann", project.Listing{}))); len(left) != 2 {
		t.Errorf("the chats are %v", left)
	}

	// Chats without a project get another one where theirs can't be opened, or is in the trash.
	first := must[project.Project](t)(s.Default(ctx, "ann"))
	run(`UPDATE {projects} SET sealed = ?2 WHERE id = ?1`, first.ID, []byte("x"))
	second := must[project.Chat](t)(s.NewChat(ctx, "ann", "", project.About{Title: "New"})).Project
	if err := s.TrashProject(ctx, "ann", second, true); err != nil {
		t.Error(err)
	}
	third := must[project.Project](t)(s.Default(ctx, "ann")).ID
	if again := must[project.Project](t)(s.Default(ctx, "ann")).ID; third == second || third == first.ID || again != third {
		t.Errorf("the default projects are %s, %s, %s and %s", first.ID, second, third, again)
	}

	// Preferences that can't be opened count for nothing until they are removed.
	instruct := func(p *project.Preferences) error { p.Instructions = "Be brief."; return nil }
	must[project.Preferences](t)(project.SetPreferences(ctx, s, "ann", 0, instruct))
	if err := project.ResetPreferences(ctx, s, "ann"); !errors.Is(err, project.ErrInvalid) {
		t.Errorf("good preferences were removed: %v", err)
	}
	run(`UPDATE {preferences} SET sealed = ?2 WHERE id = ?1`, "ann", []byte("x"))
	if p := must[project.Preferences](t)(project.PreferencesOf(ctx, s, "ann")); p.Unreadable != project.ForDamage || p.Instructions != "" {
		t.Errorf("the preferences are %+v", p)
	}
	if _, err := project.SetPreferences(ctx, s, "ann", 0, instruct); !errors.Is(err, project.ErrUnreadable) {
		t.Errorf("unreadable preferences were written over: %v", err)
	}
	if err := project.ResetPreferences(ctx, s, "ann"); err != nil {
		t.Error(err)
	}
	must[project.Preferences](t)(project.SetPreferences(ctx, s, "ann", 0, instruct))
}

package project_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/chat/project"
	"github.com/burin-dev/burin/internal/chat/search"
	"github.com/burin-dev/burin/internal/chat/store"
	"github.com/burin-dev/burin/internal/chat/store/storetest"
	"github.com/burin-dev/burin/internal/chat/vault"
	"github.com/burin-dev/burin/internal/chat/vfs"
	"github.com/burin-dev/burin/transcript"
)

// Projects that were made when tools were a list of names, or before there were any, are read with what they meant.
func TestToolsOfOldProjects(t *testing.T) {
	t.Parallel()
	db := storetest.Open(t, filepath.Join(t.TempDir(), "db"), parts)
	v := keysOf(t, db)
	s := project.New(db, v, vfs.New(db, vfs.Limits{}), search.New(db, v, 0), piecesOf(t, db, v))
	p := must[project.Project](t)(s.NewProject(t.Context(), "ann", project.Settings{Name: "Plums"}))
	ring := must[*vault.Ring](t)(v.Ring(t.Context(), "ann"))
	for _, tt := range []struct{ kept, want string }{
		{`{"name":"Plums","tools":["ask","read","grep"],"mode":"ask"}`, `{"filesystem":{"readOnly":true},"ask":{}}`},
		{`{"name":"Plums","tools":["edit","fetch"],"mode":"ask"}`, `{"filesystem":{},"web":{}}`},
		{`{"name":"Plums","mode":"ask"}`, `{"filesystem":{},"web":{},"ask":{},"todo":{},"calc":{},"history":{}}`},
	} {
		sealed, err := ring.Seal("projects/"+p.ID, []byte(tt.kept))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.Exec(t.Context(), `UPDATE {projects} SET sealed = ?2 WHERE id = ?1`, p.ID, sealed); err != nil {
			t.Fatal(err)
		}
		got := must[project.Project](t)(s.Project(t.Context(), "ann", p.ID))
		tools, err := json.Marshal(got.Tools)
		if err != nil || string(tools) != tt.want || got.Mode != "ask" {
			t.Errorf("%s is read as %s, mode %q, %v", tt.kept, tools, got.Mode, err)
		}
	}
}

// exported is what the archive of a person has, by the names of files.
func exported(t *testing.T, s *project.Store, person string) map[string]string {
	t.Helper()
	var archive bytes.Buffer
	to := zip.NewWriter(&archive)
	if err := errors.Join(project.Export(t.Context(), s, person, to), to.Close()); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, f := range must[*zip.Reader](t)(zip.NewReader(bytes.NewReader(archive.Bytes()), int64(archive.Len()))).File {
		r := must[io.ReadCloser](t)(f.Open())
		files[f.Name] = string(must[[]byte](t)(io.ReadAll(r)))
		_ = r.Close()
	}
	return files
}

// What is kept of a chat's agents is exported, follows a change of keys, and goes with the chat.
func TestMinions(t *testing.T) {
	storetest.Each(t, parts, func(t *testing.T, open func() *store.DB) {
		ctx, db := t.Context(), open()
		v := must[*vault.Vault](t)(vault.Open(ctx, db, vault.KeyFile(filepath.Join(t.TempDir(), "server.key")), vault.Options{Grace: time.Nanosecond}))
		defer v.Close()
		s := project.New(db, v, vfs.New(db, vfs.Limits{}), search.New(db, v, 0), piecesOf(t, db, v))
		c := must[project.Chat](t)(s.NewChat(ctx, "ann", "", project.About{Title: "plums"}))
		m := project.MinionsOf(s, "ann", c)
		for _, facts := range []string{`"begins"`, `"is done"`} {
			if err := m.Note(ctx, "first", []byte(facts)); err != nil {
				t.Fatal(err)
			}
		}
		if err := m.Note(ctx, "second", []byte("never began")); err != nil {
			t.Fatal(err)
		}
		if err := m.Drop(ctx, "second"); err != nil {
			t.Fatal(err)
		}
		l := must[*transcript.Log](t)(m.Open(ctx, "first", transcript.Options{}))
		must[string](t)(l.Append(message("plum jam")))
		reseal := func(want int) {
			t.Helper()
			if err := v.Reseal(ctx, s); err != nil {
				t.Fatal(err)
			}
			var n int
			if err := db.QueryRow(ctx, `SELECT count(*) FROM {vault_keys}`).Scan(&n); err != nil || n != want {
				t.Errorf("%d keys, want %d, %v", n, want, err)
			}
		}
		if _, err := v.Rotate(ctx, "ann"); err != nil {
			t.Fatal(err)
		}
		reseal(2) // it is open
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		reseal(1)
		notes, err := m.Notes(ctx)
		if err != nil || len(notes) != 1 || !slices.Equal(notes[0], []byte(`"is done"`)) {
			t.Errorf("kept %q, %v", notes, err)
		}
		l = must[*transcript.Log](t)(m.View(ctx, "first"))
		if e, err := l.Entry(l.Leaf()); err != nil || e.Message.Text() != "plum jam" {
			t.Errorf("it said %+v, %v", e, err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		files := exported(t, s, "ann")
		for name, want := range map[string]string{"first.json": `"is done"`, "first.jsonl": `plum jam`, "first.md": "plum jam"} {
			name = "/agents/plums " + c.ID + "/" + name
			if !slices.ContainsFunc(slices.Collect(maps.Keys(files)), func(n string) bool { return strings.HasSuffix(n, name) && strings.Contains(files[n], want) }) {
				t.Errorf("%s isn't in %q", name, files)
			}
		}
		if err := s.TrashChat(ctx, "ann", c.ID, true); err != nil {
			t.Fatal(err)
		}
		if err := s.PurgeChat(ctx, "ann", c.ID); err != nil {
			t.Fatal(err)
		}
		if _, err := m.View(ctx, "first"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("after the purge: %v", err)
		}
	})
}

package server

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/chat/attachment"
	"github.com/burin-dev/burin/internal/chat/people"
	"github.com/burin-dev/burin/internal/chat/project"
	"github.com/burin-dev/burin/internal/chat/search"
	"github.com/burin-dev/burin/internal/chat/store"
	"github.com/burin-dev/burin/internal/chat/store/storetest"
	"github.com/burin-dev/burin/internal/chat/vault"
	"github.com/burin-dev/burin/internal/chat/vfs"
	"github.com/burin-dev/burin/session/remote"
)

// Where the keys of a person are locked, a search and the attachments say so.
func TestLockedChats(t *testing.T) {
	ctx := t.Context()
	db := storetest.Open(t, t.TempDir()+"/server.db", []store.Part{people.Part(), project.Part, vfs.Part, vault.Part(), search.Part(), attachment.Part()})
	v, err := vault.Open(ctx, db, vault.KeyFile(t.TempDir()+"/server.key"), vault.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(v.Close)
	pieces, err := attachment.New(ctx, db, v, nil)
	if err != nil {
		t.Fatal(err)
	}
	all, err := people.Open(ctx, db, v, nil)
	if err != nil {
		t.Fatal(err)
	}
	ann, err := all.Add(ctx, people.By{}, "ann", "", people.Member)
	if err != nil {
		t.Fatal(err)
	}
	token, err := all.AddToken(ctx, people.By{}, ann, "all", remote.Steer, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	projects := project.New(db, v, vfs.New(db, vfs.Limits{}), search.New(db, v, 0), pieces)
	chat, err := projects.NewChat(ctx, ann, "", project.About{Title: "Quince"})
	_, err2 := v.SetMode(ctx, ann, vault.Own, "a long pass phrase")
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(NewServer(Options{People: all, Projects: projects, Finder: project.NewFinder(projects), Attachments: project.NewAttachments(projects)}).Handler())
	t.Cleanup(srv.Close)
	ask := func(verb, path string) (int, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(ctx, verb, srv.URL+path, strings.NewReader("text"))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+token)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		said, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode, string(said)
	}
	for _, locked := range []bool{false, true} {
		if locked {
			v.Lock(ann)
		}
		for path, open := range map[string]int{"GET /v1/search?q=quince": http.StatusOK, "GET /v1/chats/" + chat.ID + "/attachments": http.StatusOK, "POST /v1/chats/" + chat.ID + "/attachments?name=a.txt": http.StatusCreated} {
			verb, path, _ := strings.Cut(path, " ")
			status, said := ask(verb, path)
			if !locked && status != open || locked && (status != http.StatusLocked || !strings.Contains(said, `"code":"locked"`)) {
				t.Errorf("locked %v: %s %s: %d %s", locked, verb, path, status, said)
			}
		}
	}
}

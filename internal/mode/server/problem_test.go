package server

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/chat/attachment"
	"github.com/burin-dev/burin/internal/chat/project"
	"github.com/burin-dev/burin/internal/chat/push"
	"github.com/burin-dev/burin/internal/chat/store"
	"github.com/burin-dev/burin/internal/chat/vault"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
)

// What goes wrong with the database is the server's fault. Who asks isn't told more, and the log has the
// cause. What nothing else fits stays the sender's.
func TestBrokenDatabase(t *testing.T) {
	db, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "x.db"), "")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	_, broken := db.Exec(t.Context(), "INSERT INTO {secrets} VALUES (1)")
	_, away := store.Open(t.Context(), "postgres://ann@127.0.0.1:1/db", "")
	for _, tt := range []struct {
		err    error
		status int
		said   string
	}{
		{fmt.Errorf("look for it: %w", broken), http.StatusInternalServerError, session.ErrServer.Error()},
		{fmt.Errorf("look for it: %w", away), http.StatusInternalServerError, session.ErrServer.Error()},
		{errors.New("there is no such branch"), http.StatusUnprocessableEntity, "there is no such branch"},
		{fmt.Errorf("ask: %w", &llm.Error{Kind: llm.ErrTransport, Message: "the model is away", Err: away}), http.StatusUnprocessableEntity, "the model is away"},
	} {
		if tt.err == nil || errors.Unwrap(tt.err) == nil && tt.status == http.StatusInternalServerError {
			t.Fatal("nothing went wrong")
		}
		var logged bytes.Buffer
		s := &Server{o: Options{Log: slog.New(slog.NewTextHandler(&logged, nil))}}
		w := httptest.NewRecorder()
		told := &problems{ResponseWriter: w}
		failed(told, tt.err)
		s.note(httptest.NewRequest("GET", "/v1/x", nil), w.Code, told.cause, time.Now())
		ours := tt.status == http.StatusInternalServerError
		if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.said) || ours && strings.Contains(w.Body.String(), "look for it") || ours != strings.Contains(logged.String(), "look for it") {
			t.Errorf("%v: %d %s, and the log has %s", tt.err, w.Code, w.Body, &logged)
		}
	}
}

// Problems are told in the language of who asks: German to a browser that wants it, English to programs. What the packages say
// is what is translated.
func TestProblemsInGerman(t *testing.T) {
	for _, err := range []error{
		session.ErrBusy, session.ErrClosed, session.ErrSettled, session.ErrAnswered, session.ErrNoAgent, session.ErrBudget, session.ErrDenied, session.ErrServer, session.ErrOwnerGone,
		project.ErrUnknown, project.ErrTrashed, project.ErrChanged,
		project.TurnsError{Running: 2, Most: 2},
		attachment.ErrUnknown, attachment.ErrLarge, attachment.ErrImage, attachment.ErrDamaged, vault.ErrLocked, push.ErrGone,
		push.WaitError{Wait: time.Second},
		errPushOff, &project.LockedError{Name: "ann"},
		fmt.Errorf("%w: stop what is done in the chat first", session.ErrBusy), fmt.Errorf("%w: name: at most 200 bytes, not 300", project.ErrInvalid),
	} {
		said := map[string]string{}
		for _, language := range []string{"", "de-CH, en;q=0.5", "en, de"} {
			r := httptest.NewRequest("GET", "/v1/x", nil)
			r.Header.Set("Accept-Language", language)
			w := httptest.NewRecorder()
			fail(&problems{ResponseWriter: w, asked: r}, http.StatusConflict, "x", err)
			said[language] = w.Body.String()
		}
		english, german := said[""], said["de-CH, en;q=0.5"]
		if german == english || !strings.Contains(german, `"code":"x"`) || said["en, de"] != english || !strings.Contains(english, strings.SplitN(err.Error(), `"`, 2)[0]) {
			t.Errorf("%v: in German %s", err, german)
		}
	}
	if is := germanProblem("not possible: name: at most 200 bytes, not 300"); is != "nicht möglich: name: höchstens 200 Byte, nicht 300" {
		t.Error(is)
	}
	for english, want := range map[string]string{
		"write /a.txt: you may only read this project: ask ann, whose project it is, for the right to write": "du darfst dieses Projekt nur lesen: Bitte ann darum, schreiben zu dürfen",
		"you may only read this project: ask ann, whose project it is, for the right to write":               "du darfst dieses Projekt nur lesen: Bitte ann darum, schreiben zu dürfen",
		"only ann, whose project it is, may do that":                                                         "das darf nur ann: Das Projekt gehört dir nicht",
		"the project of this chat can't be opened: move the chat to another project (damaged)":               "das Projekt dieses Chats lässt sich nicht öffnen: Verschiebe den Chat in ein anderes",
		`unknown person "x"`: `hier heißt niemand "x"`,
	} {
		if is := germanProblem(english); is != want {
			t.Errorf("%s: in German %s", english, is)
		}
	}
	r := httptest.NewRequest("GET", "/v1/x", nil)
	r.AddCookie(&http.Cookie{Name: languageCookie, Value: "de"})
	w := httptest.NewRecorder()
	told := &problems{ResponseWriter: w, asked: r}
	http.Error(told, "there is no such attachment", http.StatusNotFound) // as libraries answer
	if !strings.Contains(w.Body.String(), "diesen Anhang gibt es nicht") {
		t.Errorf("a library says %s", w.Body)
	}
}

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

	"github.com/burin-dev/burin/internal/chat/store"
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

package place_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/internal/platform/pgtest"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/transcript"
	"github.com/burin-dev/burin/transcript/pgstore"
	"github.com/burin-dev/burin/transcript/place"
)

// A password is in the name that opens a session, and in nothing that anybody sees of it.
func TestSecretNames(t *testing.T) {
	for word, password := range map[string]string{
		"postgres://ann:quince@h:5433/db?sslmode=disable#one":        "quince",
		"postgresql://ann:qu%2Fi@n#c%40e@h/db#a@b":                   "qu/i@n#c@e",
		"postgres://:quince@h/db":                                    "quince",
		"postgres://ann@h/db?password=qu%3Fince&sslmode=disable#x":   "qu?ince",
		"postgres://h/db#none":                                       "",
		"postgres:///db?host=/tmp#ann@home":                          "",
		"postgres://ann:quin%25ce@h/db?application_name=a%20b#x y z": "quin%ce",
	} {
		n := place.Parse(word)
		if !n.Server() || n.Password != password {
			t.Errorf("%s has the password %q", word, n.Password)
		}
		if again := place.Parse(n.Secret()); again != n {
			t.Errorf("%s is written as %s, which is %+v", word, n.Secret(), again)
		}
		shown := n
		shown.Password = ""
		if again := place.Parse(n.String()); again != shown || password != "" && strings.Contains(n.String(), password) {
			t.Errorf("%s is shown as %s", word, n)
		}
		if abs, err := n.Abs(); err != nil || abs != n || !n.Exists() {
			t.Errorf("%s as a path: %v, %v", word, abs, err)
		}
	}
}

// A session on a server, encrypted, that its password in the address opens.
func TestServer(t *testing.T) {
	pacetest.Costly(t)
	server := pgtest.Start(t, pgtest.Options{})
	server.Exec(t, "postgres", "CREATE ROLE ann LOGIN PASSWORD 'quince' IN ROLE "+pgtest.Guarded, "CREATE DATABASE talks OWNER ann")
	shown := server.AddressOf("ann", "talks") + "#one"
	secret := strings.Replace(shown, "ann@", "ann:quince@", 1)
	asked := 0
	k := keys(t, 1, &asked)
	if _, err := place.Create(t.Context(), shown, k, true, transcript.Header{ID: "i"}, transcript.Options{}); !errors.Is(err, pgstore.ErrPassword) {
		t.Errorf("without a password: %v", err)
	}
	n, found, err := place.Resolve(t.Context(), place.Parse(secret), "id")
	if err != nil || found || n.Password != "quince" {
		t.Fatalf("%v, %v, %v", n, found, err)
	}
	l, err := place.Create(t.Context(), n.Secret(), k, true, transcript.Header{ID: "i", CWD: "/"}, transcript.Options{})
	if err != nil {
		t.Fatal(err)
	}
	appendAll(t, l, says("hello"), answers(llm.Text{Text: "hi"}))
	_, _, err = place.Open(t.Context(), secret, k, transcript.Options{})
	if !errors.Is(err, transcript.ErrLocked) || strings.Contains(err.Error(), "quince") {
		t.Errorf("a second writer: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	t.Setenv(place.PasswordVariable, "quince")
	if diff := cmp.Diff([]string{"hello", "hi"}, texts(t, shown, k, transcript.Options{})); diff != "" {
		t.Error(diff)
	}
	if _, _, err := place.Read(t.Context(), shown, nil, transcript.Options{}); !errors.Is(err, transcript.ErrSealedSession) || strings.Contains(err.Error(), "quince") {
		t.Errorf("without a key: %v", err)
	}
	list, err := place.List(t.Context(), secret)
	if err != nil || len(list) != 1 || list[0].Name.String() != shown {
		t.Errorf("%v, %v", list, err)
	}
	if err := place.Trash(t.Context(), n); err != nil {
		t.Error(err)
	}
	if gone, err := place.Trashed(t.Context(), n.File); err != nil || len(gone) != 1 {
		t.Errorf("%v, %v", gone, err)
	}
	if err := place.Restore(t.Context(), n); err != nil {
		t.Error(err)
	}
}

// What is said while the server is away is kept when it is back, once.
func TestServerAway(t *testing.T) {
	pacetest.Costly(t)
	server := pgtest.Start(t, pgtest.Options{Durable: true})
	name := server.Database(t) + "#one"
	l, err := place.Create(t.Context(), name, nil, false, transcript.Header{ID: "i", CWD: "/"}, transcript.Options{})
	if err != nil {
		t.Fatal(err)
	}
	appendAll(t, l, says("one"))
	server.Crash(t)
	for _, text := range []string{"two", "three"} {
		if _, err := l.Append(says(text)); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("without a server: %v", err)
		}
	}
	server.Restart(t)
	appendAll(t, l, answers(llm.Text{Text: "four"}))
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"one", "two", "three", "four"}, texts(t, name, nil, transcript.Options{})); diff != "" {
		t.Error(diff)
	}
}

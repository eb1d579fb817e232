package place_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/platform/sqlfile"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/transcript"
	"github.com/burin-dev/burin/transcript/place"
	"github.com/burin-dev/burin/transcript/sealed"
	"github.com/burin-dev/burin/transcript/sqlstore"
)

// keys gives one key, and counts how often it is asked for.
func keys(t *testing.T, b byte, asked *int) place.Keys {
	t.Helper()
	key, err := sealed.NewKey(bytes.Repeat([]byte{b}, sealed.KeySize))
	if err != nil {
		t.Fatal(err)
	}
	return func(place.Wanted) (sealed.Key, error) {
		*asked++
		return key, nil
	}
}

func says(text string) transcript.Entry {
	return transcript.Entry{Type: transcript.TypeMessage, Message: &llm.Message{Role: llm.RoleUser, Content: []llm.Block{llm.Text{Text: text}}}}
}

func answers(blocks ...llm.Block) transcript.Entry {
	return transcript.Entry{Type: transcript.TypeMessage, Message: &llm.Message{Role: llm.RoleAssistant, Content: blocks}}
}

// texts are what is said in a session.
func texts(t *testing.T, name string, k place.Keys, o transcript.Options) []string {
	t.Helper()
	l, damage, err := place.Read(t.Context(), name, k, o)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if damage.Serious() {
		t.Errorf("%s: %s", name, damage)
	}
	var out []string
	for e, err := range l.All() {
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range e.Message.Content {
			switch b := b.(type) {
			case llm.Text:
				out = append(out, b.Text)
			case llm.Image:
				out = append(out, string(b.Data[:7]))
			}
		}
	}
	return out
}

func TestNames(t *testing.T) {
	for word, want := range map[string]place.Name{
		"a/b.jsonl":        {File: "a/b.jsonl"},
		"1f9d":             {File: "1f9d"},
		"x#y.jsonl":        {File: "x#y.jsonl"},
		"a/t.db":           {File: "a/t.db", SQL: true},
		"a/t.db#one":       {File: "a/t.db", Session: "one", SQL: true},
		"sqlite:t":         {File: "t", SQL: true},
		"sqlite:t#one two": {File: "t", Session: "one two", SQL: true},
		"sqlite:t.db#x":    {File: "t.db", Session: "x", SQL: true},
	} {
		n := place.Parse(word)
		if diff := cmp.Diff(want, n); diff != "" {
			t.Errorf("%s: %s", word, diff)
		}
		if again := place.Parse(n.String()); again != n {
			t.Errorf("%s is written as %s, which is %v", word, n, again)
		}
	}
}

// A session that is begun encrypted, in a file or a database, says nothing to who has
// no key, wherever it is looked for; and goes on with one.
func TestBegunSealed(t *testing.T) {
	for _, name := range []string{"s.jsonl", "s.db", "s.db#one"} {
		t.Run(name, func(t *testing.T) {
			dir, asked := t.TempDir(), 0
			k := keys(t, 1, &asked)
			o := transcript.Options{Blobs: transcript.NewBlobs(filepath.Join(dir, "blobs"))}
			picture := append([]byte("quince!"), bytes.Repeat([]byte{7}, 2000)...)
			n := place.Parse(filepath.Join(dir, name))
			if n.SQL {
				var err error
				if n, _, err = place.Resolve(t.Context(), n, "fresh"); err != nil {
					t.Fatal(err)
				}
			}
			l, err := place.Create(t.Context(), n.String(), k, true, transcript.Header{ID: "i", CWD: "/quince"}, o)
			if err != nil {
				t.Fatal(err)
			}
			appendAll(t, l, says("the quince"), answers(llm.Text{Text: "quinces"}, llm.Image{Data: picture, MIME: "image/png"}))
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			if l, _, err = place.Open(t.Context(), n.String(), k, o); err != nil {
				t.Fatal(err)
			}
			appendAll(t, l, answers(llm.Image{Data: picture, MIME: "image/png"}))
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{"the quince", "quinces", "quince!", "quince!"}, texts(t, n.String(), k, o)); diff != "" {
				t.Error(diff)
			}
			absent(t, dir, "quince")
			if _, _, err := place.Read(t.Context(), n.String(), nil, o); !errors.Is(err, transcript.ErrSealedSession) {
				t.Errorf("without a key: %v", err)
			}
			if _, _, err := place.Open(t.Context(), n.String(), keys(t, 2, &asked), o); !errors.Is(err, sealed.ErrKey) {
				t.Errorf("with another key: %v", err)
			}
		})
	}
}

func appendAll(t *testing.T, l *transcript.Log, entries ...transcript.Entry) {
	t.Helper()
	for _, e := range entries {
		if _, err := l.Append(e); err != nil {
			t.Fatal(err)
		}
	}
}

// absent looks for a word in all files below dir.
func absent(t *testing.T, dir, word string) {
	t.Helper()
	root := os.DirFS(dir)
	err := walk(root, func(path string, data []byte) {
		if bytes.Contains(data, []byte(word)) || bytes.Contains(data, []byte("cXVpbmNl")) {
			t.Errorf("%s holds %q", path, word)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestDatabase(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "t.db")
	begin := func(name, text string) {
		l, err := place.Create(t.Context(), name, nil, false, transcript.Header{ID: "i"}, transcript.Options{})
		if err != nil {
			t.Fatal(err)
		}
		appendAll(t, l, says(text))
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := place.Read(t.Context(), file, nil, transcript.Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what is not there: %v", err)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("reading has made the database")
	}
	begin(file+"#a", "first")
	begin(file+"#b", "second")
	empty, err := place.Create(t.Context(), file+"#c", nil, false, transcript.Header{ID: "i"}, transcript.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := empty.Close(); err != nil {
		t.Fatal(err)
	}
	list, err := place.List(t.Context(), file)
	if err != nil || len(list) != 2 {
		t.Fatalf("%v, %v", list, err)
	}
	for name, want := range map[string]string{file: list[0].Name.Session, file + "#a": "a", file + "#new": "new"} {
		n, found, err := place.Resolve(t.Context(), place.Parse(name), "id")
		if err != nil || n.Session != want || found != (want != "new") {
			t.Errorf("%s: %v, %v, %v", name, n, found, err)
		}
	}
	if got := texts(t, file+"#a", nil, transcript.Options{}); strings.Join(got, "") != "first" {
		t.Error(got)
	}
	l, _, err := place.Open(t.Context(), file+"#a", nil, transcript.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, _, err := place.Open(t.Context(), file+"#a", nil, transcript.Options{}); !errors.Is(err, transcript.ErrLocked) {
		t.Errorf("a second writer: %v", err)
	}
}

// The database of another program is not read as sessions, and nothing is put into it.
func TestForeignDatabase(t *testing.T) {
	for name, tables := range map[string]string{"users": `CREATE TABLE users (id)`, "sessions": `CREATE TABLE sessions (id INTEGER, data BLOB)`} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "app.db")
			db, err := sqlfile.Open(file, time.Second)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := db.ExecContext(t.Context(), tables); err != nil {
				t.Fatal(err)
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			before, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			_, listed := place.List(t.Context(), file)
			_, _, read := place.Read(t.Context(), file+"#a", nil, transcript.Options{})
			_, _, opened := place.Open(t.Context(), file+"#a", nil, transcript.Options{})
			_, created := place.Create(t.Context(), file+"#a", nil, false, transcript.Header{ID: "i"}, transcript.Options{})
			for what, err := range map[string]error{
				"list": listed, "read": read, "open": opened, "create": created, "restore": place.Restore(t.Context(), place.Parse(file+"#a")),
			} {
				if !errors.Is(err, sqlstore.ErrForeign) || !strings.Contains(err.Error(), file) {
					t.Errorf("%s: %v", what, err)
				}
			}
			if after, err := os.ReadFile(file); err != nil || !bytes.Equal(before, after) {
				t.Errorf("it was changed, %v", err)
			}
		})
	}
}

// An empty file is a database to come.
func TestEmptyDatabase(t *testing.T) {
	file := filepath.Join(t.TempDir(), "t.db")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if list, err := place.List(t.Context(), file); err != nil || len(list) != 0 {
		t.Errorf("%v, %v", list, err)
	}
	if info, err := os.Stat(file); err != nil || info.Size() != 0 {
		t.Errorf("listing has made it a database: %v, %v", info, err)
	}
	l, err := place.Create(t.Context(), file+"#a", nil, false, transcript.Header{ID: "i"}, transcript.Options{})
	if err != nil {
		t.Fatal(err)
	}
	appendAll(t, l, says("first"))
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if got := texts(t, file+"#a", nil, transcript.Options{}); strings.Join(got, "") != "first" {
		t.Error(got)
	}
}

package canarytest_test

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/chat/attachment"
	"github.com/burin-dev/burin/internal/chat/canarytest"
	"github.com/burin-dev/burin/internal/chat/search"
	"github.com/burin-dev/burin/internal/chat/store"
	"github.com/burin-dev/burin/internal/chat/store/storetest"
	"github.com/burin-dev/burin/internal/chat/vault"
	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/internal/platform/pgtest"
	"github.com/burin-dev/burin/transcript"
)

var letters = store.Part{Name: "letters", Steps: []string{`CREATE TABLE {letters} (id INTEGER PRIMARY KEY, letter BLOB NOT NULL) STRICT`}}

const number = 40

// each runs a test with both databases; dirs are all that is written to.
func each(t *testing.T, test func(t *testing.T, db *store.DB, dir string, dirs []string)) {
	parts := []store.Part{letters, vault.Part(), attachment.Part(), search.Part()}
	folder := func(t *testing.T) string {
		dir := t.TempDir()
		temp := filepath.Join(dir, "tmp")
		if err := os.Mkdir(temp, 0o700); err != nil {
			t.Fatal(err)
		}
		t.Setenv("TMPDIR", temp)
		return dir
	}
	t.Run("SQLite", func(t *testing.T) {
		dir := folder(t)
		test(t, storetest.Open(t, filepath.Join(dir, "server.db"), parts), dir, []string{dir})
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		pacetest.Costly(t)
		s := pgtest.Start(t, pgtest.Options{})
		dir := folder(t)
		db := storetest.Open(t, s.Database(t), parts)
		test(t, db, dir, []string{dir, s.Folder()})
	})
}

// flush has what was written in the files.
func flush(t *testing.T, db *store.DB) {
	t.Helper()
	if db.Server() {
		if _, err := db.SQL().ExecContext(t.Context(), `CHECKPOINT`); err != nil {
			t.Fatal(err)
		}
	}
}

func put(t *testing.T, db *store.DB, id int, letter []byte) {
	t.Helper()
	if _, err := db.Exec(t.Context(), `INSERT INTO {letters} (id, letter) VALUES (?1, ?2)`, id, letter); err != nil {
		t.Fatal(err)
	}
}

// No canary that went through records, transcripts, attachments and the index is in any file, nor is the pass
// phrase. While files grow, and after a rotation and merges.
func TestNoCanaryIsStored(t *testing.T) {
	each(t, func(t *testing.T, db *store.DB, dir string, dirs []string) {
		ctx := t.Context()
		c := canarytest.New(number)
		v, err := vault.Open(ctx, db, vault.KeyFile(filepath.Join(dir, "server.key")), vault.Options{Grace: time.Nanosecond})
		if err != nil {
			t.Fatal(err)
		}
		defer v.Close()
		recovery, err := v.SetMode(ctx, "ann", vault.Own, c.Words[0])
		if err != nil {
			t.Fatal(err)
		}
		ring, err := v.Ring(ctx, "ann")
		if err != nil {
			t.Fatal(err)
		}
		inDatabase, err := attachment.New(ctx, db, v, nil)
		if err != nil {
			t.Fatal(err)
		}
		inFolder, err := attachment.New(ctx, db, v, attachment.Folder(filepath.Join(dir, "pieces")))
		if err != nil {
			t.Fatal(err)
		}
		index := search.New(db, v, 0)
		session, _, err := ring.OpenSession(transcript.CreateFile(filepath.Join(dir, "session.jsonl")))
		if err != nil {
			t.Fatal(err)
		}
		pieces := map[int]string{}
		for i, word := range c.Words[1:] {
			text := strings.Repeat("Some words before it. ", i*3) + word + " and after it"
			var err error
			switch i % 5 {
			case 0:
				var letter []byte
				letter, err = ring.Seal(fmt.Sprint("letters/", i), []byte(text))
				put(t, db, i, letter)
			case 1, 2:
				at := []*attachment.Store{inDatabase, inFolder}[i%5-1]
				big := io.MultiReader(strings.NewReader(text), strings.NewReader(strings.Repeat(word+" ", 60_000)))
				var p attachment.Piece
				if p, err = at.Put(ctx, "ann", big, attachment.PutOptions{Limit: 8 << 20}); err == nil {
					err = at.Use(ctx, db, "ann", p.ID)
				}
				pieces[i] = p.ID
			case 3:
				err = index.Write(ctx, db, ring, "ann", []search.Doc{{Ref: search.Ref{Kind: "message", ID: word}, Parent: word, Time: time.Now(), Text: text}}, nil)
			case 4:
				_, err = session.Append(fmt.Appendf(nil, `{"text":%q}`, text))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if _, err := inDatabase.Put(ctx, "ann", io.MultiReader(strings.NewReader(strings.Repeat(c.Words[0], 200_000)), broken{}), attachment.PutOptions{Limit: 8 << 20}); err == nil {
			t.Error("a connection that broke")
		}
		find := func() {
			t.Helper()
			for i, word := range c.Words[1:] {
				if i%5 == 3 {
					if r, err := index.Search(ctx, "ann", word, search.Options{}); err != nil || r.Total != 1 {
						t.Errorf("canary %d isn't in the index: %v", i, err)
					}
				}
			}
			for i, id := range pieces {
				r, err := inFolder.Open(ctx, "ann", id)
				if err != nil {
					t.Fatal(err)
				}
				if data, err := io.ReadAll(r); err != nil || !bytes.Contains(data, []byte(c.Words[i+1])) {
					t.Errorf("canary %d isn't in its attachment: %v", i, err)
				}
			}
		}
		find()
		flush(t, db)
		c.None(t, dirs...)
		for range 20 {
			if err := index.Write(ctx, db, ring, "ann", []search.Doc{{Ref: search.Ref{Kind: "message", ID: "x"}, Text: c.Words[0]}}, nil); err != nil {
				t.Fatal(err)
			}
		}
		if err := index.Merge(ctx, "ann"); err != nil {
			t.Fatal(err)
		}
		if _, err := v.Rotate(ctx, "ann"); err != nil {
			t.Fatal(err)
		}
		if err := v.Reseal(ctx, inFolder, index); err != nil {
			t.Fatal(err)
		}
		find()
		v.Lock("ann")
		if _, err := v.Recover(ctx, "ann", recovery, c.Words[1]); err != nil {
			t.Fatal(err)
		}
		if err := session.Close(); err != nil {
			t.Fatal(err)
		}
		flush(t, db)
		c.None(t, dirs...)
	})
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("the connection broke") }

// The control: not sealed, in all the forms that a file could have them in, all are found.
func TestAllCanariesAreFound(t *testing.T) {
	forms := map[string]func(word string) []byte{
		"as it is": func(w string) []byte { return []byte(w) },
		"JSON":     func(w string) []byte { return fmt.Appendf(nil, `{"a":%q}`, w) },
		"UTF-16":   func(w string) []byte { return utf16(w, 0, 1) }, "UTF-16, the other order": func(w string) []byte { return utf16(w, 1, 0) },
		"base64": func(w string) []byte { return []byte(base64.StdEncoding.EncodeToString([]byte(w))) },
		"base64, a byte later": func(w string) []byte {
			return []byte(base64.RawURLEncoding.EncodeToString([]byte("x" + w + "?>~")))
		},
		"base64, two bytes later": func(w string) []byte { return []byte(base64.StdEncoding.EncodeToString([]byte("xy" + w))) },
		"base64, twice": func(w string) []byte {
			return []byte(base64.StdEncoding.EncodeToString([]byte("{" + base64.StdEncoding.EncodeToString([]byte("x"+w+"y")) + "}")))
		},
		"gzip": func(w string) []byte {
			return packed(func(b io.Writer) io.WriteCloser { return gzip.NewWriter(b) }, spaced(w))
		},
		"zlib": func(w string) []byte {
			return packed(func(b io.Writer) io.WriteCloser { return zlib.NewWriter(b) }, spaced(w))
		},
		"DEFLATE": func(w string) []byte { return packed(deflate, spaced(w)) },
		"zstd":    zstd,
		"base64 in gzip": func(w string) []byte {
			return packed(func(b io.Writer) io.WriteCloser { return gzip.NewWriter(b) }, base64.StdEncoding.EncodeToString([]byte(spaced(w))))
		},
		"gzip in zlib": func(w string) []byte {
			return packed(func(b io.Writer) io.WriteCloser { return zlib.NewWriter(b) }, string(packed(func(b io.Writer) io.WriteCloser { return gzip.NewWriter(b) }, spaced(w))))
		},
	}
	hidden := map[string]bool{"gzip": true, "zlib": true, "DEFLATE": true, "zstd": true}
	each(t, func(t *testing.T, db *store.DB, dir string, dirs []string) {
		c := canarytest.New(number)
		names := []string{}
		for name := range forms {
			names = append(names, name)
		}
		for i, word := range c.Words {
			name := names[i%len(names)]
			data := append([]byte("before "), forms[name](word)...)
			if hidden[name] && bytes.Contains(data, []byte(word)) {
				t.Errorf("%s doesn't hide it", name)
			}
			if i%2 == 0 && name != "DEFLATE" { // which would be looked for at each byte of large files
				put(t, db, i, data)
				continue
			}
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		flush(t, db)
		c.All(t, dirs...)
		canarytest.New(number).None(t, dirs...)
	})
}

// spaced has a word between others, so that it becomes smaller.
func spaced(word string) string {
	return strings.Repeat("some words ", 20) + word[:7] + " " + word + strings.Repeat(" some words", 20)
}

func utf16(word string, letter, zero int) []byte {
	out := make([]byte, 2*len(word))
	for i := range len(word) {
		out[2*i+letter], out[2*i+zero] = word[i], 0
	}
	return out
}

func deflate(w io.Writer) io.WriteCloser {
	f, _ := flate.NewWriter(w, flate.BestCompression) // a valid level
	return f
}

func packed(with func(io.Writer) io.WriteCloser, text string) []byte {
	var b bytes.Buffer
	w := with(&b)
	_, _ = io.WriteString(w, text) // a buffer takes all
	_ = w.Close()
	return b.Bytes()
}

// zstd is a frame whose blocks part the word.
func zstd(word string) []byte {
	frame := []byte{0x28, 0xb5, 0x2f, 0xfd, 0x20, byte(len(word))}
	for i := 0; i < len(word); i += 6 {
		head := 6 << 3
		if i+6 == len(word) {
			head |= 1
		}
		frame = append(frame, byte(head), byte(head>>8), byte(head>>16))
		frame = append(frame, word[i:i+6]...)
	}
	return frame
}

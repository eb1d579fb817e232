package attachment_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"go.uber.org/goleak"

	"github.com/burin-dev/burin/internal/chat/attachment"
	"github.com/burin-dev/burin/internal/chat/store"
	"github.com/burin-dev/burin/internal/chat/store/storetest"
	"github.com/burin-dev/burin/internal/chat/vault"
	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/internal/platform/objectstore/objecttest"
	"github.com/burin-dev/burin/internal/platform/pgtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(pgtest.Main(m)) }

const mb = 1 << 20

// kit is a store with its parts, and what only the place below it can do.
type kit struct {
	db    *store.DB
	vault *vault.Vault
	*attachment.Store
	blobs  func() []string                  // that are there, also those that are not finished
	change func(do func(raw []byte) []byte) // each file or row
	age    func()                           // by two days
}

func content(size int, seed byte) []byte {
	data := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{seed}).Read(data)
	return data
}

func (k *kit) put(t *testing.T, person string, data []byte) attachment.Piece {
	t.Helper()
	p, err := k.Put(t.Context(), person, iotest{bytes.NewReader(data)}, attachment.PutOptions{Limit: 64 * mb})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// iotest reads in pieces that fit nothing.
type iotest struct{ r io.Reader }

func (r iotest) Read(p []byte) (int, error) { return r.r.Read(p[:min(len(p), 77_777)]) }

func (k *kit) get(t *testing.T, person, id string) ([]byte, error) {
	t.Helper()
	r, err := k.Open(t.Context(), person, id)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

func (k *kit) same(t *testing.T, person, id string, want []byte) {
	t.Helper()
	if got, err := k.get(t, person, id); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes of %d, %v", len(got), len(want), err)
	}
}

func TestPlaces(t *testing.T) {
	storetest.Each(t, []store.Part{vault.Part(), attachment.Part()}, func(t *testing.T, open func() *store.DB) {
		for name, make := range map[string]func(t *testing.T, k *kit) attachment.Place{"database": inDatabase, "folder": inFolder, "bucket": inBucket} {
			t.Run(name, func(t *testing.T) {
				conformance(t, func() *kit {
					k := &kit{db: open()}
					var err error
					if k.vault, err = vault.Open(t.Context(), k.db, vault.KeyFile(filepath.Join(t.TempDir(), "server.key")), vault.Options{Grace: time.Nanosecond}); err != nil {
						t.Fatal(err)
					}
					t.Cleanup(k.vault.Close)
					if k.Store, err = attachment.New(t.Context(), k.db, k.vault, make(t, k)); err != nil {
						t.Fatal(err)
					}
					return k
				})
			})
		}
	})
}

func exec(t *testing.T, db *store.DB, statement string, args ...any) {
	t.Helper()
	if _, err := db.Exec(t.Context(), statement, args...); err != nil {
		t.Fatal(err)
	}
}

func (k *kit) ageRows(t *testing.T) {
	exec(t, k.db, `UPDATE {pieces} SET touched = touched - 200000`)
	exec(t, k.db, `UPDATE {piece_chunks} SET made = made - 200000`)
}

func inDatabase(t *testing.T, k *kit) attachment.Place {
	type chunk struct {
		blob string
		n    int
		data []byte
	}
	all := func() (all []chunk) {
		rows, err := k.db.Query(t.Context(), `SELECT blob, n, data FROM {piece_chunks} ORDER BY blob, n`)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		for rows.Next() {
			var c chunk
			if err := rows.Scan(&c.blob, &c.n, &c.data); err != nil {
				t.Fatal(err)
			}
			all = append(all, c)
		}
		return all
	}
	k.blobs = func() (names []string) {
		for _, c := range all() {
			if c.n == 0 {
				names = append(names, c.blob)
			}
		}
		return names
	}
	k.change = func(do func([]byte) []byte) {
		var whole []byte
		chunks := all()
		for _, c := range chunks {
			whole = append(whole, c.data...)
		}
		whole = do(whole)
		for _, c := range chunks {
			n := min(len(whole), len(c.data))
			exec(t, k.db, `UPDATE {piece_chunks} SET data = ?3 WHERE blob = ?1 AND n = ?2`, c.blob, c.n, append([]byte{}, whole[:n]...))
			whole = whole[n:]
		}
	}
	k.age = func() { k.ageRows(t) }
	return nil
}

func inFolder(t *testing.T, k *kit) attachment.Place {
	dir := filepath.Join(t.TempDir(), "new", "pieces")
	files := func() (all []string) {
		err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && strings.Contains(name, ".piece") {
				all = append(all, name)
				if info, err := d.Info(); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
					t.Errorf("%s: %v, %v", name, info.Mode(), err)
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	k.blobs = files
	k.change = func(do func([]byte) []byte) {
		for _, name := range files() {
			data, err := os.ReadFile(name)
			if err == nil {
				err = os.WriteFile(name, do(data), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	k.age = func() {
		k.ageRows(t)
		for _, name := range files() {
			if err := os.Chtimes(name, time.Time{}, time.Now().Add(-48*time.Hour)); err != nil {
				t.Fatal(err)
			}
		}
	}
	return attachment.Folder(dir)
}

func newBucket(t *testing.T, s *objecttest.Server, prefix string) attachment.Place {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	b, err := attachment.Bucket(attachment.BucketOptions{
		Bucket: objecttest.Bucket, Region: objecttest.Region, Endpoint: s.URL, PathStyle: true, Pause: time.Millisecond,
		Client: &http.Client{Transport: transport},
		Credentials: func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: objecttest.ID, SecretAccessKey: objecttest.Secret, SessionToken: objecttest.Token}, nil
		},
	}, prefix)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func inBucket(t *testing.T, k *kit) attachment.Place {
	s := objecttest.Start(t)
	k.blobs = func() (names []string) {
		for _, key := range s.Keys() {
			if strings.HasSuffix(key, ".piece") {
				names = append(names, key)
			}
		}
		for range s.Uploads() {
			names = append(names, "an upload")
		}
		return names
	}
	k.change = func(do func([]byte) []byte) {
		for _, key := range k.blobs() {
			s.Set(key, do(bytes.Clone(s.Object(key))), time.Now())
		}
	}
	k.age = func() {
		k.ageRows(t)
		for _, key := range k.blobs() {
			s.Set(key, s.Object(key), time.Now().Add(-48*time.Hour))
		}
	}
	return newBucket(t, s, "/some/prefix")
}

// conformance is what every place must do.
func conformance(t *testing.T, open func() *kit) {
	ctx := t.Context()
	t.Run("content comes back, whole and in ranges", func(t *testing.T) {
		k := open()
		for i, size := range []int{0, 1, mb - 1, mb, mb + 1, 2 * mb, 3*mb + 5} {
			data := content(size, byte(i))
			p := k.put(t, "ann", data)
			if p.Size != int64(size) {
				t.Errorf("%d bytes became %d", size, p.Size)
			}
			k.same(t, "ann", p.ID, data)
		}
		data := content(17*mb+3, 42) // in parts, where there are any
		p := k.put(t, "ann", data)
		k.same(t, "ann", p.ID, data)
		for _, ask := range []string{"bytes=0-0", "bytes=1048570-1048580", "bytes=5000000-", "bytes=-7", "bytes=2097152-4194303"} {
			r, err := k.Open(ctx, "ann", p.ID)
			if err != nil {
				t.Fatal(err)
			}
			ranged, whole := httptest.NewRecorder(), httptest.NewRecorder()
			req := httptest.NewRequest("GET", "/", nil)
			req.Header.Set("Range", ask)
			http.ServeContent(ranged, req, "x", time.Time{}, r)
			http.ServeContent(whole, req, "x", time.Time{}, bytes.NewReader(data))
			if ranged.Code != http.StatusPartialContent || !bytes.Equal(ranged.Body.Bytes(), whole.Body.Bytes()) {
				t.Errorf("%s: %d, %d bytes of %d", ask, ranged.Code, ranged.Body.Len(), whole.Body.Len())
			}
		}
	})
	t.Run("what somebody has no room for is not kept", func(t *testing.T) {
		k := open()
		full := errors.New("full")
		k.Fits = func(ctx context.Context, q store.Querier, person string) error {
			if n, err := k.Size(ctx, q, person); err != nil || n <= 2*mb {
				return err
			}
			return full
		}
		k.put(t, "ann", content(mb, 1))
		k.put(t, "bob", content(2*mb, 2))
		if _, err := k.Put(ctx, "ann", bytes.NewReader(content(mb+1, 3)), attachment.PutOptions{Limit: 64 * mb}); !errors.Is(err, full) || len(k.blobs()) != 2 {
			t.Errorf("%v, %d blobs", err, len(k.blobs()))
		}
		k.put(t, "ann", content(mb, 1)) // the same is there already
	})
	t.Run("the same is kept once, for one person", func(t *testing.T) {
		k := open()
		data := content(mb+100, 1)
		a, again, b := k.put(t, "ann", data), k.put(t, "ann", data), k.put(t, "bob", data)
		if a.ID != again.ID || a.ID == b.ID || len(k.blobs()) != 2 {
			t.Errorf("pieces %s, %s, bob's %s, blobs %q", a.ID, again.ID, b.ID, k.blobs())
		}
		if _, err := k.get(t, "bob", a.ID); !errors.Is(err, attachment.ErrUnknown) {
			t.Errorf("bob opens ann's: %v", err)
		}
		var work sync.WaitGroup
		ids := make([]string, 8)
		for i := range ids {
			work.Go(func() {
				p, err := k.Put(ctx, "cem", bytes.NewReader(data), attachment.PutOptions{Limit: 2 * mb})
				if err != nil {
					t.Error(err)
				}
				ids[i] = p.ID
			})
		}
		work.Wait()
		for _, id := range ids {
			if id != ids[0] {
				t.Errorf("put at once: %q", ids)
			}
		}
		k.same(t, "cem", ids[0], data)
		if n := len(k.blobs()); n != 3 {
			t.Errorf("%d blobs of three people", n)
		}
		if n, err := k.Size(ctx, k.db, "cem"); n != int64(len(data)) || err != nil {
			t.Errorf("cem has %d bytes, %v", n, err)
		}
	})
	t.Run("what can't be kept leaves nothing", func(t *testing.T) {
		k := open()
		for _, tt := range []struct {
			in   io.Reader
			want error
		}{
			{bytes.NewReader(content(20*mb, 1)), attachment.ErrLarge},
			{io.MultiReader(bytes.NewReader(content(18*mb, 1)), broken{}), errBroken},
		} {
			if _, err := k.Put(ctx, "ann", tt.in, attachment.PutOptions{Limit: 19 * mb}); !errors.Is(err, tt.want) {
				t.Errorf("%v, want %v", err, tt.want)
			}
		}
		if left := k.blobs(); len(left) != 0 {
			t.Errorf("left: %q", left)
		}
		p, err := k.Put(ctx, "ann", bytes.NewReader(content(mb, 1)), attachment.PutOptions{Limit: mb})
		if err != nil || p.Size != mb {
			t.Errorf("as large as it may be: %v", err)
		}
	})
	t.Run("what was changed doesn't open", func(t *testing.T) {
		k := open()
		data := bytes.Repeat([]byte("compressible "), 300_000)
		p := k.put(t, "ann", data)
		k.same(t, "ann", p.ID, data)
		var original []byte
		k.change(func(raw []byte) []byte { original = bytes.Clone(raw); return raw })
		if bytes.Contains(original, []byte("compressible")) {
			t.Error("it is there in the clear")
		}
		third := len(original) / 3
		for name, do := range map[string]func([]byte) []byte{
			"a bit":       func(b []byte) []byte { b[third] ^= 1; return b },
			"cut off":     func(b []byte) []byte { return b[:2*third] },
			"a byte less": func(b []byte) []byte { return b[:len(b)-1] },
			"another order": func(b []byte) []byte {
				return append(bytes.Clone(b[third:]), b[:third]...)
			},
			"nothing": func([]byte) []byte { return []byte{} },
		} {
			k.change(func([]byte) []byte { return do(bytes.Clone(original)) })
			if got, err := k.get(t, "ann", p.ID); err == nil {
				t.Errorf("%s: %d bytes", name, len(got))
			}
			k.change(func(raw []byte) []byte { return raw })
			if name == "nothing" {
				break
			}
		}
	})
	t.Run("what nobody uses goes after a day", func(t *testing.T) {
		k := open()
		used, unused := k.put(t, "ann", content(mb, 1)), k.put(t, "ann", content(mb, 2))
		fail := errors.New("no")
		err := k.db.Update(ctx, func(q store.Querier) error {
			return errors.Join(k.Use(ctx, q, "ann", unused.ID), fail)
		})
		if !errors.Is(err, fail) {
			t.Fatal(err)
		}
		if err := k.Use(ctx, k.db, "ann", used.ID); err != nil {
			t.Fatal(err)
		}
		if err := k.Use(ctx, k.db, "bob", used.ID); !errors.Is(err, attachment.ErrUnknown) {
			t.Errorf("bob uses ann's: %v", err)
		}
		if n, err := k.Sweep(ctx); n != 0 || err != nil {
			t.Errorf("%d of today deleted, %v", n, err)
		}
		k.age()
		young := k.put(t, "ann", content(mb, 3))
		if n, err := k.Sweep(ctx); n != 1 || err != nil {
			t.Errorf("%d deleted, %v", n, err)
		}
		k.same(t, "ann", used.ID, content(mb, 1))
		k.same(t, "ann", young.ID, content(mb, 3))
		if _, err := k.get(t, "ann", unused.ID); !errors.Is(err, attachment.ErrUnknown) {
			t.Errorf("what was deleted: %v", err)
		}
		if err := k.Use(ctx, k.db, "ann", unused.ID); !errors.Is(err, attachment.ErrUnknown) {
			t.Errorf("what was deleted is used: %v", err)
		}
		if err := k.Release(ctx, k.db, "ann", used.ID); err != nil {
			t.Fatal(err)
		}
		if err := k.Release(ctx, k.db, "ann", used.ID); err == nil {
			t.Error("released more often than used")
		}
		// A process that ended between chunks and head has left chunks.
		exec(t, k.db, `DELETE FROM {pieces} WHERE id = ?1`, young.ID)
		if _, err := k.Sweep(ctx); err != nil || len(k.blobs()) != 2 {
			t.Errorf("chunks of today: %q, %v", k.blobs(), err)
		}
		k.age()
		if _, err := k.Sweep(ctx); err != nil || len(k.blobs()) != 0 {
			t.Errorf("left: %q, %v", k.blobs(), err)
		}
	})
	t.Run("a rotation", func(t *testing.T) {
		k := open()
		var pieces []attachment.Piece
		for i := range 3 {
			pieces = append(pieces, k.put(t, "ann", content(mb+i, byte(i))))
		}
		reading, err := k.Open(ctx, "ann", pieces[0].ID)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.CopyN(io.Discard, reading, 10); err != nil {
			t.Fatal(err)
		}
		if _, err := k.vault.Rotate(ctx, "ann"); err != nil {
			t.Fatal(err)
		}
		if err := k.vault.Reseal(ctx, k.Store); err != nil {
			t.Fatal(err)
		}
		var keys int
		if err := k.db.QueryRow(ctx, `SELECT count(*) FROM {vault_keys}`).Scan(&keys); err != nil || keys != 1 {
			t.Errorf("%d keys, %v", keys, err)
		}
		if rest, err := io.ReadAll(reading); err != nil || len(rest) != mb-10 {
			t.Errorf("who was reading got %d bytes, %v", len(rest), err)
		}
		for i, p := range pieces {
			k.same(t, "ann", p.ID, content(mb+i, byte(i)))
			if again := k.put(t, "ann", content(mb+i, byte(i))); again.ID != p.ID {
				t.Errorf("the same content is %s now, and was %s", again.ID, p.ID)
			}
		}
		if n := len(k.blobs()); n != 3 {
			t.Errorf("%d blobs of 3 pieces", n)
		}
	})
	t.Run("all of a person", func(t *testing.T) {
		k := open()
		k.put(t, "ann", content(10, 1))
		p := k.put(t, "bob", content(10, 1))
		if err := k.Delete(ctx, k.db, "ann"); err != nil {
			t.Fatal(err)
		}
		if err := k.Use(ctx, k.db, "bob", p.ID); err != nil {
			t.Fatal(err)
		}
		k.age()
		if _, err := k.Sweep(ctx); err != nil || len(k.blobs()) != 1 {
			t.Errorf("%q, %v", k.blobs(), err)
		}
	})
}

var errBroken = errors.New("the connection broke")

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errBroken }

// A folder with another server's pieces is left alone, and so are files of nobody's.
func TestPlaceOfAnother(t *testing.T) {
	ctx := t.Context()
	dir := t.TempDir()
	make := func(name string) (*attachment.Store, error) {
		db := storetest.Open(t, filepath.Join(t.TempDir(), name), []store.Part{vault.Part(), attachment.Part()})
		v, err := vault.Open(ctx, db, vault.KeyFile(filepath.Join(t.TempDir(), "server.key")), vault.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(v.Close)
		return attachment.New(ctx, db, v, attachment.Folder(dir))
	}
	first, err := make("1.db")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := make("2.db"); err == nil || !strings.Contains(err.Error(), "another server") {
		t.Errorf("a second server: %v", err)
	}
	mine := filepath.Join(dir, "ab", "letter.piece")
	if err := os.MkdirAll(filepath.Dir(mine), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{mine, filepath.Join(dir, "photo.jpg")} {
		if err := os.WriteFile(name, []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(name, time.Time{}, time.Now().Add(-48*time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := first.Sweep(ctx); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{mine, filepath.Join(dir, "photo.jpg")} {
		if _, err := os.Stat(name); err != nil {
			t.Error(err)
		}
	}
}

// What was put into the database is found when another place is set, and goes there with the next key.
func TestPlaceChanges(t *testing.T) {
	ctx := t.Context()
	k := &kit{db: storetest.Open(t, filepath.Join(t.TempDir(), "server.db"), []store.Part{vault.Part(), attachment.Part()})}
	var err error
	if k.vault, err = vault.Open(ctx, k.db, vault.KeyFile(filepath.Join(t.TempDir(), "server.key")), vault.Options{Grace: time.Nanosecond}); err != nil {
		t.Fatal(err)
	}
	defer k.vault.Close()
	inDatabase(t, k)
	rows := k.blobs
	if k.Store, err = attachment.New(ctx, k.db, k.vault, nil); err != nil {
		t.Fatal(err)
	}
	p := k.put(t, "ann", content(mb, 1))
	if k.Store, err = attachment.New(ctx, k.db, k.vault, inFolder(t, k)); err != nil {
		t.Fatal(err)
	}
	k.same(t, "ann", p.ID, content(mb, 1))
	if _, err := k.vault.Rotate(ctx, "ann"); err != nil {
		t.Fatal(err)
	}
	if err := k.vault.Reseal(ctx, k.Store); err != nil {
		t.Fatal(err)
	}
	k.same(t, "ann", p.ID, content(mb, 1))
	if a, b := len(rows()), len(k.blobs()); a != 0 || b != 1 {
		t.Errorf("%d blobs in the database, %d in the folder", a, b)
	}
}

// Memory stays the same, however large a piece is.
func TestMemory(t *testing.T) {
	pacetest.Costly(t)
	k := &kit{db: storetest.Open(t, filepath.Join(t.TempDir(), "server.db"), []store.Part{vault.Part(), attachment.Part()})}
	var err error
	if k.vault, err = vault.Open(t.Context(), k.db, vault.KeyFile(filepath.Join(t.TempDir(), "server.key")), vault.Options{}); err != nil {
		t.Fatal(err)
	}
	defer k.vault.Close()
	if k.Store, err = attachment.New(t.Context(), k.db, k.vault, inFolder(t, k)); err != nil {
		t.Fatal(err)
	}
	const size = 200 * mb
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	p, err := k.Put(t.Context(), "ann", io.LimitReader(rand.NewChaCha8([32]byte{}), size), attachment.PutOptions{Limit: size})
	if err != nil {
		t.Fatal(err)
	}
	r, err := k.Open(t.Context(), "ann", p.ID)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := io.Copy(io.Discard, r); n != size || err != nil {
		t.Errorf("%d bytes, %v", n, err)
	}
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapSys) - int64(before.HeapSys); grown > 64*mb {
		t.Errorf("the heap has grown by %d MB", grown/mb)
	}
	fmt.Fprintf(t.Output(), "heap grown by %d MB for a piece of %d MB\n", (int64(after.HeapSys)-int64(before.HeapSys))/mb, size/mb)
}

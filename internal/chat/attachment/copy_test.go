package attachment_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/chat/attachment"
	"github.com/burin-dev/burin/internal/chat/store"
	"github.com/burin-dev/burin/internal/chat/store/storetest"
	"github.com/burin-dev/burin/internal/chat/vault"
	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/internal/platform/objectstore/objecttest"
)

// copies is a server whose pieces are in a place, and copies of its database.
type copies struct {
	*testing.T
	*kit
	key    string
	pieces map[string][]byte // by their ids
}

func (c *copies) open(path string) *store.DB {
	return storetest.Open(c.T, path, []store.Part{vault.Part(), attachment.Part()})
}

func (c *copies) with(db *store.DB, at attachment.Place) *kit {
	c.Helper()
	k := &kit{db: db}
	var err error
	if k.vault, err = vault.Open(c.Context(), db, vault.KeyFile(c.key), vault.Options{Grace: time.Nanosecond}); err != nil {
		c.Fatal(err)
	}
	c.Cleanup(k.vault.Close)
	if k.Store, err = attachment.New(c.Context(), db, k.vault, at); err != nil {
		c.Fatal(err)
	}
	return k
}

func newCopies(t *testing.T, at attachment.Place) *copies {
	c := &copies{T: t, key: filepath.Join(t.TempDir(), "server.key"), pieces: map[string][]byte{}}
	c.kit = c.with(c.open(filepath.Join(t.TempDir(), "server.db")), at)
	// 1,048,576 bytes of a blob are a whole slice: sealed, a chunk of random bytes has some more.
	for i, size := range []int{0, 1, 1000, mb - 100, mb, 3*mb + 5} {
		data := content(size, byte(i))
		c.pieces[c.put(t, "ann", data).ID] = data
	}
	exact := c.exact()
	c.pieces[c.put(t, "ann", exact).ID] = exact
	return c
}

// exact is content whose blob has exactly the size of a slice.
func (c *copies) exact() []byte {
	c.Helper()
	one := c.put(c.T, "bea", content(1000, 99))
	var sealed int
	for size := mb - 200; size <= mb; size++ {
		ring, err := c.vault.Ring(c.Context(), "bea")
		if err != nil {
			c.Fatal(err)
		}
		raw, err := ring.Seal("somewhere", content(size, 98))
		if err != nil {
			c.Fatal(err)
		}
		if sealed = len(raw); sealed == mb {
			return content(size, 98)
		}
	}
	c.Fatalf("no content has a blob of 1 MB; the last one has %d; %v", sealed, one)
	return nil
}

// saved is the path of a copy of the database with all pieces.
func (c *copies) saved() string {
	c.Helper()
	path := filepath.Join(c.TempDir(), "copy.db")
	if err := c.db.Backup(c.Context(), path); err != nil {
		c.Fatal(err)
	}
	to := c.open(path)
	copied, missing, err := c.CopyTo(c.Context(), to)
	if err != nil || missing != 0 || copied != len(c.pieces)+1 {
		c.Fatalf("%d copied, %d missing, %v", copied, missing, err)
	}
	if err := attachment.CheckCopies(c.Context(), to); err != nil {
		c.Fatal(err)
	}
	return path
}

func (c *copies) look(k *kit) {
	c.Helper()
	for id, want := range c.pieces {
		k.same(c.T, "ann", id, want)
	}
}

// A copy of a database has the pieces that are in a folder or a bucket. It can be used as it is, and its pieces can be
// moved to any place, again where a move was cut off.
func TestCopies(t *testing.T) {
	pacetest.Costly(t)
	s := objecttest.Start(t)
	places := map[string]func(t *testing.T, of string) attachment.Place{
		"folder": func(t *testing.T, of string) attachment.Place {
			return attachment.Folder(filepath.Join(t.TempDir(), of))
		},
		"bucket": func(t *testing.T, of string) attachment.Place { return newBucket(t, s, of) },
	}
	for name, make := range places {
		t.Run(name, func(t *testing.T) {
			c := newCopies(t, make(t, "from-"+name))
			c.look(c.kit)

			// As it is, also after new keys.
			k := c.with(c.open(c.saved()), nil)
			c.look(k)
			if n, err := k.MoveOut(t.Context()); n != 0 || err != nil {
				t.Errorf("%d moved, %v", n, err)
			}
			if _, err := k.vault.Rotate(t.Context(), "ann"); err != nil {
				t.Fatal(err)
			}
			if err := k.vault.Reseal(t.Context(), k.Store); err != nil {
				t.Fatal(err)
			}
			c.look(k)

			for other, elsewhere := range places {
				at := elsewhere(t, "to-"+other+"-from-"+name)
				k := c.with(c.open(c.saved()), at)
				ctx, cancel := context.WithCancel(t.Context())
				cut := &cutting{Place: at, cancel: cancel, left: 3}
				if _, err := c.with(k.db, cut).MoveOut(ctx); err == nil || cut.left >= 0 {
					t.Error("a move that was cut off succeeds")
				}
				c.look(k)
				if _, err := k.MoveOut(t.Context()); err != nil {
					t.Fatal(err)
				}
				c.look(k)
				var n int
				if err := k.db.QueryRow(t.Context(), `SELECT (SELECT count(*) FROM {piece_chunks}) + (SELECT count(*) FROM {piece_copies})`).Scan(&n); err != nil || n != 0 {
					t.Errorf("%d parts are left in the database, %v", n, err)
				}
			}
		})
	}
}

// cutting is a place where a context ends after some blobs.
type cutting struct {
	attachment.Place
	cancel context.CancelFunc
	left   int
}

func (c *cutting) Create(ctx context.Context, blob string) (attachment.Writer, error) {
	if c.left--; c.left < 0 {
		c.cancel()
		return nil, ctx.Err()
	}
	return c.Place.Create(ctx, blob)
}

// A copy says what is missing and what was changed while it was made; a damaged one is refused.
func TestCopyDamage(t *testing.T) {
	ctx := t.Context()
	dir := t.TempDir()
	c := newCopies(t, attachment.Folder(dir))
	path := c.saved()
	for what, statement := range map[string]string{
		"a changed byte":      `UPDATE {piece_copies} SET data = zeroblob(length(data)) WHERE n = 1`,
		"a missing slice":     `DELETE FROM {piece_copies} WHERE n = 2`,
		"a missing end":       `DELETE FROM {piece_copies} WHERE n = 3`,
		"a missing beginning": `DELETE FROM {piece_copies} WHERE n = 0 AND last = 0`,
	} {
		broken := filepath.Join(t.TempDir(), "broken.db")
		data, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(broken, data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		db := c.open(broken)
		if n, err := db.Exec(ctx, statement); err != nil || n == 0 {
			t.Fatal(n, err)
		}
		if err := attachment.CheckCopies(ctx, db); !errors.Is(err, attachment.ErrDamaged) {
			t.Errorf("%s: %v", what, err)
		}
	}

	copied := func() (*store.DB, int, error) {
		path := filepath.Join(t.TempDir(), "copy.db")
		if err := c.db.Backup(ctx, path); err != nil {
			t.Fatal(err)
		}
		to := c.open(path)
		if _, err := c.vault.Rotate(ctx, "bea"); err != nil { // after the moment of the copy
			t.Fatal(err)
		}
		if err := c.vault.Reseal(ctx, c.Store); err != nil {
			t.Fatal(err)
		}
		_, missing, err := c.CopyTo(ctx, to)
		return to, missing, err
	}
	if _, _, err := copied(); !errors.Is(err, attachment.ErrChanged) {
		t.Errorf("while keys were changed: %v", err)
	}
	exec(t, c.db, `DELETE FROM {pieces} WHERE person = 'bea'`)
	lost := filepath.Join(dir, "*", "*.piece")
	all, err := filepath.Glob(lost)
	if err != nil || len(all) < len(c.pieces) {
		t.Fatal(all, err)
	}
	for _, name := range all {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	if _, missing, err := copied(); err != nil || missing != len(c.pieces) {
		t.Errorf("%d are missing, %v", missing, err)
	}
}

package vfs_test

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/chat/store"
	"github.com/burin-dev/burin/internal/chat/vfs"
)

// Each version has who wrote it, and each change is told of once it is made.
func TestAuthors(t *testing.T) {
	each(t, vfs.Limits{}, func(t *testing.T, b *bench) {
		told := 0
		tree := vfs.Telling(b.Tree, func() { told++ })
		person, model := vfs.Author{Who: vfs.Person}, vfs.Author{Who: vfs.Model, ID: "c1"}
		b.write("/f", "nobody")
		_, err := vfs.By(tree, person).Write(b.ctx, "/f", []byte("a person"), vfs.Anything)
		b.ok(err)
		b.ok(vfs.By(tree, model).Files(b.ctx).WriteFile("f", []byte("a model"), 0o644))
		_, err = vfs.By(tree, vfs.Author{Who: vfs.Model, ID: strings.Repeat("x", 513)}).Append(b.ctx, "/f", []byte(" once more"))
		b.ok(err)
		versions, err := b.Versions(b.ctx, "/f")
		b.ok(err)
		var got []vfs.Author
		for _, v := range versions {
			got = append(got, v.By)
		}
		if want := []vfs.Author{{Who: vfs.Model}, model, person, {}}; !slices.Equal(got, want) {
			t.Errorf("the authors are %v; want %v", got, want)
		}
		if told != 3 {
			t.Errorf("of 3 changes %d were told", told)
		}
		if _, err := tree.Write(b.ctx, "/f", nil, 1); err == nil || told != 3 {
			t.Errorf("a change that isn't made: %v, told %d", err, told)
		}
	})
}

// Versions of before authors were kept are read.
func TestFactsWithoutAuthor(t *testing.T) {
	old := binary.AppendVarint(binary.AppendVarint(nil, 1_700_000_000_000), 42)
	v, err := vfs.ReadFacts(old)
	if err != nil || v.Size != 42 || !v.Modified.Equal(time.UnixMilli(1_700_000_000_000)) || v.By != (vfs.Author{}) {
		t.Errorf("read %+v: %v", v, err)
	}
	if _, err := vfs.ReadFacts(old[:len(old)-1]); err == nil {
		t.Error("facts that are cut off are read")
	}
}

// Whoever has a guarded tree may do what the guard says, each time: for a change in the transaction that makes it, too.
func TestGuarded(t *testing.T) {
	each(t, vfs.Limits{}, func(t *testing.T, b *bench) {
		refusal := errors.New("not you")
		var readable, writable, inside bool
		tree := vfs.Guarded(b.Tree, func(_ context.Context, q store.Querier, write bool) error {
			if _, db := q.(*store.DB); !readable || write && !writable || write && !db && !inside {
				return refusal
			}
			return nil
		})
		_, err := b.Write(b.ctx, "/f", []byte("one"), vfs.Anything)
		b.ok(err)
		reads := func() error {
			_, _, err := tree.Read(b.ctx, "/f")
			_, listed := tree.List(b.ctx, "/", false)
			_, versions := tree.Versions(b.ctx, "/f")
			_, old := tree.ReadVersion(b.ctx, "/f", 1)
			_, file := tree.Files(b.ctx).ReadFile("f")
			for _, other := range []error{listed, versions, old, file} {
				if errors.Is(other, refusal) != errors.Is(err, refusal) {
					t.Errorf("one read says %v, another %v", err, other)
				}
			}
			return err
		}
		writes := func(text string) error {
			_, err := tree.Write(b.ctx, "/f", []byte(text), vfs.Anything)
			return err
		}
		if read, written := reads(), writes("x"); !errors.Is(read, refusal) || !errors.Is(written, refusal) {
			t.Errorf("without any right: %v, %v", read, written)
		}
		readable = true
		b.ok(reads())
		if err := writes("x"); !errors.Is(err, refusal) {
			t.Errorf("without the right to write: %v", err)
		}
		writable = true
		if err := writes("x"); !errors.Is(err, refusal) {
			t.Errorf("a right that was taken before the transaction: %v", err)
		}
		if data, _, err := b.Read(b.ctx, "/f"); err != nil || string(data) != "one" {
			t.Errorf("the file is %q, %v", data, err)
		}
		inside = true
		b.ok(writes("two"))
		if data, _, err := tree.Read(b.ctx, "/f"); err != nil || string(data) != "two" {
			t.Errorf("the file is %q, %v", data, err)
		}
	})
}

package vfs_test

import (
	"encoding/binary"
	"slices"
	"strings"
	"testing"
	"time"

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

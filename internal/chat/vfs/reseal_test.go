package vfs_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/chat/vault"
	"github.com/burin-dev/burin/internal/chat/vfs"
)

func TestReseal(t *testing.T) {
	each(t, vfs.Limits{}, func(t *testing.T, b *bench) {
		for i := range 30 {
			b.write(fmt.Sprintf("/d%d/f", i%10), fmt.Sprint("text ", i))
		}
		b.ok(b.Remove(b.ctx, "/d0", true))
		b.write("/d0/f", "over what was deleted")
		want := b.everything()
		both := ring(t, 1, 2)
		b.Tree = b.store.Tree("p", both)
		b.write("/d1/f", "with the new key already")
		want["/d1/f"] = "with the new key already"
		pass := func() (calls, sealed int) {
			for next := ""; ; calls++ {
				after, n, err := b.store.Reseal(b.ctx, "p", both, next, 7)
				b.ok(err)
				if n > 7 {
					t.Errorf("%d records at once", n)
				}
				sealed += n
				if next = after; next == "" {
					return calls + 1, sealed
				}
				if diff := cmp.Diff(want, b.everything()); diff != "" { // half way
					t.Fatal(diff)
				}
			}
		}
		calls, sealed := pass()
		var generations []uint32
		for _, columns := range []string{"sealed FROM {vfs_nodes}", "facts FROM {vfs_contents}", "data FROM {vfs_contents}"} {
			rows, err := b.db.Query(b.ctx, "SELECT "+columns)
			b.ok(err)
			for rows.Next() {
				var data []byte
				b.ok(rows.Scan(&data))
				g, err := vault.Generation(data)
				b.ok(err)
				generations = append(generations, g)
			}
			b.ok(rows.Close())
		}
		for _, g := range generations {
			if g != 2 {
				t.Fatalf("generations %v", generations)
			}
		}
		if sealed < 45 || calls < sealed/7 {
			t.Errorf("%d calls sealed %d records again", calls, sealed)
		}
		if _, again := pass(); again != 0 {
			t.Errorf("a second pass sealed %d", again)
		}
		b.Tree = vfs.New(b.db, vfs.Limits{}).Tree("p", ring(t, 2)) // the old key is gone
		if diff := cmp.Diff(want, b.everything()); diff != "" {
			t.Error(diff)
		}
		if _, _, err := b.store.Reseal(b.ctx, "p", both, "elsewhere", 7); err == nil {
			t.Error("a place that is none was taken")
		}
	})
}

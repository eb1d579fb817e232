package private_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/burin-dev/burin/internal/chat/private"
	"github.com/burin-dev/burin/internal/chat/store"
	"github.com/burin-dev/burin/internal/chat/store/storetest"
	"github.com/burin-dev/burin/internal/platform/pgtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(pgtest.Main(m)) }

const ann, bob = "ann", "bob"

func newID() string { return strings.ToLower(rand.Text()) }

func rig(t *testing.T, test func(t *testing.T, s *private.Store, db *store.DB)) {
	storetest.Each(t, []store.Part{private.Part()}, func(t *testing.T, open func() *store.DB) {
		db := open()
		test(t, private.New(db), db)
	})
}

func fine[T any](t *testing.T) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func is(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("the error is %v, not %v", err, want)
	}
}

func begin(t *testing.T, s *private.Store) (project, chat string) {
	t.Helper()
	project, chat = newID(), newID()
	fine[private.Project](t)(s.PutProject(t.Context(), ann, project, private.ProjectChange{Keys: []byte("wrapped"), Data: []byte("sealed"), Connect: []string{"https://api.example.com"}}))
	fine[private.Chat](t)(s.PutChat(t.Context(), ann, project, chat, private.ChatChange{Data: []byte("title")}))
	return project, chat
}

func TestProjects(t *testing.T) {
	rig(t, func(t *testing.T, s *private.Store, _ *store.DB) {
		ctx := t.Context()
		project, chat := begin(t, s)
		is(t, second(s.PutProject(ctx, ann, project, private.ProjectChange{Keys: []byte("k"), Data: []byte("d")})), private.ErrChanged)
		is(t, second(s.PutProject(ctx, bob, project, private.ProjectChange{Keys: []byte("k"), Data: []byte("d")})), private.ErrChanged)
		p := fine[private.Project](t)(s.PutProject(ctx, ann, project, private.ProjectChange{Revision: 1, Data: []byte("newer")}))
		if p.Revision != 2 || string(p.Data) != "newer" || string(p.Keys) != "wrapped" || len(p.Connect) != 1 {
			t.Errorf("changed: %+v", p)
		}
		is(t, second(s.PutProject(ctx, ann, project, private.ProjectChange{Revision: 1, Data: []byte("older")})), private.ErrChanged)
		c := fine[private.Chat](t)(s.PutChat(ctx, ann, project, chat, private.ChatChange{Revision: 1, Data: []byte("renamed")}))
		if c.Revision != 2 || string(c.Data) != "renamed" {
			t.Errorf("changed: %+v", c)
		}
		is(t, second(s.PutChat(ctx, ann, project, chat, private.ChatChange{Revision: 1, Data: []byte("x")})), private.ErrChanged)

		// Another person sees, changes and removes nothing, an admin neither: nobody but its person is asked for.
		is(t, second(s.Project(ctx, bob, project)), private.ErrUnknown)
		is(t, second(s.Chat(ctx, bob, chat)), private.ErrUnknown)
		is(t, second(s.Records(ctx, bob, chat, 0)), private.ErrUnknown)
		is(t, second(s.Hold(ctx, bob, chat, "", true)), private.ErrUnknown)
		is(t, second(s.PutProject(ctx, bob, project, private.ProjectChange{Revision: 2, Data: []byte("x")})), private.ErrUnknown)
		is(t, second(s.PutChat(ctx, bob, project, chat, private.ChatChange{Revision: 2, Data: []byte("x")})), private.ErrUnknown)
		is(t, second(s.PutChat(ctx, bob, project, newID(), private.ChatChange{Data: []byte("x")})), private.ErrUnknown)
		is(t, s.Append(ctx, bob, chat, private.Added{Lease: "x", Records: [][]byte{[]byte("x")}}), private.ErrUnknown)
		is(t, s.RemoveChat(ctx, bob, chat), private.ErrUnknown)
		is(t, s.RemoveProject(ctx, bob, project), private.ErrUnknown)
		if all := fine[[]private.Project](t)(s.Projects(ctx, bob)); len(all) != 0 {
			t.Errorf("bob has %v", all)
		}
		if all := fine[[]private.Chat](t)(s.Chats(ctx, bob, project)); len(all) != 0 {
			t.Errorf("bob has %v", all)
		}

		if err := s.RemoveProject(ctx, ann, project); err != nil {
			t.Fatal(err)
		}
		is(t, second(s.Chat(ctx, ann, chat)), private.ErrUnknown)
	})
}

func second[T any](_ T, err error) error { return err }

func TestRefused(t *testing.T) {
	rig(t, func(t *testing.T, s *private.Store, _ *store.DB) {
		ctx := t.Context()
		good := private.ProjectChange{Keys: []byte("k"), Data: []byte("d")}
		for _, id := range []string{"", "short", strings.Repeat("A", 26), strings.Repeat("a", 25) + "'"} {
			is(t, second(s.PutProject(ctx, ann, id, good)), private.ErrInvalid)
		}
		for _, connect := range []string{
			"", "*", "https://*", "https:", "https://a.example/", "https://a.example; script-src *", "http://a.example", "https://a.example https://b.example", "data:", "https://u@a.example", "https://A.example",
		} {
			c := good
			c.Connect = []string{connect}
			if err := second(s.PutProject(ctx, ann, newID(), c)); !errors.Is(err, private.ErrInvalid) {
				t.Errorf("%q: %v", connect, err)
			}
		}
		for _, connect := range []string{"https://a.example", "https://a.example:8443", "http://localhost:11434", "http://127.0.0.1:1", "http://[::1]:80"} {
			c := good
			c.Connect = []string{connect}
			if err := second(s.PutProject(ctx, ann, newID(), c)); err != nil {
				t.Errorf("%q: %v", connect, err)
			}
		}
		is(t, second(s.PutProject(ctx, ann, newID(), private.ProjectChange{Data: []byte("d")})), private.ErrInvalid)
		is(t, second(s.PutProject(ctx, ann, newID(), private.ProjectChange{Keys: make([]byte, 5000), Data: []byte("d")})), private.ErrInvalid)
		is(t, second(s.PutProject(ctx, ann, newID(), private.ProjectChange{Keys: []byte("k"), Data: make([]byte, 3<<20)})), private.ErrInvalid)
		_, chat := begin(t, s)
		is(t, s.Append(ctx, ann, chat, private.Added{}), private.ErrInvalid)
		is(t, s.Append(ctx, ann, chat, private.Added{Lease: "x"}), private.ErrInvalid)
		is(t, s.Append(ctx, ann, chat, private.Added{Lease: "x", Records: [][]byte{{}}}), private.ErrInvalid)
	})
}

// Two tabs can't both write.
func TestLease(t *testing.T) {
	rig(t, func(t *testing.T, s *private.Store, _ *store.DB) {
		ctx := t.Context()
		_, chat := begin(t, s)
		record := [][]byte{[]byte("sealed")}
		is(t, s.Append(ctx, ann, chat, private.Added{Lease: "none", Records: record}), private.ErrHeld)
		first := fine[private.Hold](t)(s.Hold(ctx, ann, chat, "", false))
		is(t, second(s.Hold(ctx, ann, chat, "", false)), private.ErrHeld)
		if again := fine[private.Hold](t)(s.Hold(ctx, ann, chat, first.Lease, false)); again != first {
			t.Errorf("renewed: %+v, not %+v", again, first)
		}
		if err := s.Append(ctx, ann, chat, private.Added{Lease: first.Lease, Records: record}); err != nil {
			t.Fatal(err)
		}
		is(t, s.Append(ctx, ann, chat, private.Added{Lease: first.Lease, Records: record}), private.ErrChanged)
		if c := fine[private.Chat](t)(s.Chat(ctx, ann, chat)); !c.Open || c.Records != 1 || c.Bytes != 6 {
			t.Errorf("the chat is %+v", c)
		}
		taken := fine[private.Hold](t)(s.Hold(ctx, ann, chat, "", true))
		is(t, s.Append(ctx, ann, chat, private.Added{Lease: first.Lease, At: 1, Records: record}), private.ErrHeld)
		is(t, second(s.Hold(ctx, ann, chat, first.Lease, false)), private.ErrHeld)
		if err := s.Release(ctx, ann, chat, first.Lease); err != nil { // who lost it gives back nothing
			t.Fatal(err)
		}
		is(t, second(s.Hold(ctx, ann, chat, "", false)), private.ErrHeld)
		if err := s.Release(ctx, ann, chat, taken.Lease); err != nil {
			t.Fatal(err)
		}
		fine[private.Hold](t)(s.Hold(ctx, ann, chat, "", false))

		// Of tabs that come at once one gets it, and of appends at one number one.
		_, other := begin(t, s)
		var work sync.WaitGroup
		got := make(chan string, 8)
		for range 8 {
			work.Go(func() {
				if h, err := s.Hold(ctx, ann, other, "", false); err == nil {
					got <- h.Lease
				} else if !errors.Is(err, private.ErrHeld) {
					t.Error(err)
				}
			})
		}
		work.Wait()
		if len(got) != 1 {
			t.Fatalf("%d tabs have it", len(got))
		}
		lease := <-got
		won := make(chan int, 8)
		for i := range 8 {
			work.Go(func() {
				switch err := s.Append(ctx, ann, other, private.Added{Lease: lease, Records: record}); {
				case err == nil:
					won <- i
				case !errors.Is(err, private.ErrChanged):
					t.Error(err)
				}
			})
		}
		work.Wait()
		if len(won) != 1 {
			t.Errorf("%d were appended at 0", len(won))
		}
	})
}

func TestRecords(t *testing.T) {
	rig(t, func(t *testing.T, s *private.Store, db *store.DB) {
		ctx := t.Context()
		_, chat := begin(t, s)
		lease := fine[private.Hold](t)(s.Hold(ctx, ann, chat, "", false)).Lease
		var want [][]byte
		for i := range 7 {
			want = append(want, bytes.Repeat([]byte{byte('a' + i)}, 1<<20))
		}
		want = append(want, []byte("last"))
		for i, r := range want {
			if err := s.Append(ctx, ann, chat, private.Added{Lease: lease, At: int64(i), Records: [][]byte{r}}); err != nil {
				t.Fatal(err)
			}
		}
		var got [][]byte
		for len(got) < len(want) {
			some := fine[private.Records](t)(s.Records(ctx, ann, chat, int64(len(got))))
			if len(some.Records) == 0 || len(some.Records) > 4 || some.Total != 8 {
				t.Fatalf("a page of %d, of %d", len(some.Records), some.Total)
			}
			got = append(got, some.Records...)
		}
		for i := range want {
			if !bytes.Equal(got[i], want[i]) {
				t.Errorf("record %d is another one", i)
			}
		}
		if n, err := private.Bytes(ctx, db, ann); err != nil || n != 7<<20+4+int64(len("wrapped"+"sealed"+"title")) {
			t.Errorf("%d bytes, %v", n, err)
		}
		errFull := errors.New("full")
		s.Fits = func(context.Context, store.Querier, string) error { return errFull }
		is(t, s.Append(ctx, ann, chat, private.Added{Lease: lease, At: 8, Records: want[:1]}), errFull)
		if c := fine[private.Chat](t)(s.Chat(ctx, ann, chat)); c.Records != 8 {
			t.Errorf("what didn't fit was kept: %+v", c)
		}
		var names []string
		if err := s.Export(ctx, ann, func(name string, _ any) error {
			names = append(names, name)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf("[private/projects.json private/%[1]s.json private/%[1]s-0.json private/%[1]s-4.json]", chat); fmt.Sprint(names) != want {
			t.Errorf("exported %v, not %v", names, want)
		}
		if err := db.Update(ctx, func(q store.Querier) error { return private.Forget(ctx, q, ann) }); err != nil {
			t.Fatal(err)
		}
		if n, err := private.Bytes(ctx, db, ann); err != nil || n != 0 {
			t.Errorf("%d bytes are left, %v", n, err)
		}
	})
}

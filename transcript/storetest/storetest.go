// Package storetest is the suite that every [transcript.Store] passes.
//
// [Run] asks for an [Opener], which opens one session again and again. Openers
// that can crash, or whose medium can be made to fail by way of [Faults], are also
// tested at each call by which the store changes the medium: the call fails, is
// half done, is done but reported as failed, or is the last that happens at all.
// [FaultyDisk] brings such faults to stores of files. [RunKilled] kills a real
// process that writes.
//
// What the suite holds a store to is the comment of [transcript.Store]; where the
// process is killed within an Append that was not acknowledged, any number of its
// records may be there, in order and whole but for the last.
package storetest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/transcript"
)

// Opener is the place of one session. It is empty at first.
type Opener struct {
	// Open opens the session. The store that was opened before is closed or has
	// crashed.
	Open func() (transcript.Store, error)
	// Crash ends the open store as kill -9 would, without a call of it. nil: the
	// place does not outlive its store, and nothing is tested that needs it.
	Crash func()
	// PowerCut ends the open store as a power cut would: of what was not synced,
	// any part is lost. nil: it cannot be done.
	PowerCut func(*rand.Rand)
	// Faults make calls to the medium fail. nil: that cannot be done.
	Faults *Faults
	// Small is that the store has no record of more than a megabyte in this
	// environment; such tests are left out.
	Small bool
}

// Run tests a store. open gives a new place each time. Tests of many cases are left out unless all
// cases are to be tried.
func Run(t *testing.T, open func(t *testing.T) *Opener) {
	run(t, open, pacetest.Costly)
}

// RunWhole is [Run] of a store that is quick enough for all of it.
func RunWhole(t *testing.T, open func(t *testing.T) *Opener) {
	run(t, open, func(testing.TB) {})
}

func run(t *testing.T, open func(t *testing.T) *Opener, costly func(testing.TB)) {
	s := suite{open}
	many := func(test func(*testing.T)) func(*testing.T) {
		return func(t *testing.T) { costly(t); test(t) }
	}
	for _, tt := range []struct {
		name string
		test func(*testing.T)
	}{
		{"empty", s.testEmpty},
		{"order", s.testOrder},
		{"odd bytes", s.testOddBytes},
		{"bytes", s.testBytes},
		{"large", many(s.testLarge)},
		{"refused", s.testRefused},
		{"yield", s.testYield},
		{"replace", many(s.testReplace)},
		{"replace from itself", s.testReplaceFromItself},
		{"replace refused", s.testReplaceRefused},
		{"history", many(s.testHistory)},
		{"crash", s.testCrash},
		{"power cut", s.testPowerCut},
		{"faults", many(s.testFaults)},
		{"short writes", many(s.testShortWrites)},
	} {
		t.Run(tt.name, tt.test)
	}
}

type suite struct {
	open func(t *testing.T) *Opener
}

// session is an opened place under test.
type session struct {
	t *testing.T
	*Opener
	store transcript.Store
}

func (s suite) start(t *testing.T) *session {
	t.Helper()
	x := &session{t: t, Opener: s.open(t)}
	x.reopen()
	return x
}

func (x *session) reopen() {
	x.t.Helper()
	store, err := x.Open()
	if err != nil {
		x.t.Fatalf("open: %v", err)
	}
	x.store = store
}

func (x *session) close() {
	x.t.Helper()
	if err := x.store.Close(); err != nil {
		x.t.Fatalf("close: %v", err)
	}
}

func (x *session) append(records ...[]byte) []transcript.Ref {
	x.t.Helper()
	refs, err := x.store.Append(records...)
	if err != nil {
		x.t.Fatalf("append: %v", err)
	}
	if len(refs) != len(records) {
		x.t.Fatalf("append of %d records gave %d refs", len(records), len(refs))
	}
	return refs
}

// records are the records that the store walks over, each read again by its Ref.
func (x *session) records() [][]byte {
	x.t.Helper()
	var all [][]byte
	var refs []transcript.Ref
	err := x.store.Records(func(ref transcript.Ref, r []byte) error {
		all, refs = append(all, bytes.Clone(r)), append(refs, ref)
		return nil
	})
	if err != nil {
		x.t.Fatalf("records: %v", err)
	}
	for i, ref := range refs {
		x.reads(ref, all[i])
	}
	return all
}

func (x *session) reads(ref transcript.Ref, want []byte) {
	x.t.Helper()
	got, err := x.store.Read(ref)
	if err != nil {
		x.t.Fatalf("read %v: %v", ref, err)
	}
	if !bytes.Equal(got, want) {
		x.t.Fatalf("read %v gave %s, want %s", ref, clip(got), clip(want))
	}
	if int(ref.Len) != len(want) {
		x.t.Errorf("%v is the ref of %d bytes", ref, len(want))
	}
}

func (x *session) has(want ...[]byte) {
	x.t.Helper()
	if got := x.records(); !slices.EqualFunc(got, want, bytes.Equal) {
		x.t.Fatalf("the records are\n%s\nwant\n%s", list(got), list(want))
	}
}

func record(i int) []byte {
	return fmt.Appendf(nil, `{"type":"message","id":"%08x","text":"record %d"}`, i, i)
}

func batch(from, to int) (records [][]byte) {
	for i := from; i < to; i++ {
		records = append(records, record(i))
	}
	return records
}

// padded is a record of n bytes that does not compress or repeat.
func padded(n int, seed uint64) []byte {
	rng := rand.New(rand.NewPCG(seed, 1))
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/"
	r := append(make([]byte, 0, n), `{"x":"`...)
	for len(r)+8 < n-2 {
		for v, i := rng.Uint64(), 0; i < 8; i++ {
			r = append(r, letters[v&63])
			v >>= 6
		}
	}
	for len(r) < n-2 {
		r = append(r, '.')
	}
	return append(r, `"}`...)
}

func list(records [][]byte) string {
	var b bytes.Buffer
	for _, r := range records {
		fmt.Fprintf(&b, "\t%s\n", clip(r))
	}
	return b.String()
}

func clip(b []byte) string {
	if len(b) > 100 {
		return fmt.Sprintf("%q… (%d bytes)", b[:100], len(b))
	}
	return fmt.Sprintf("%q", b)
}

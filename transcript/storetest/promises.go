package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/burin-dev/burin/transcript"
)

func (s suite) testEmpty(t *testing.T) {
	x := s.start(t)
	x.has()
	if refs := x.append(); len(refs) != 0 {
		t.Errorf("appending nothing gave %v", refs)
	}
	x.has()
	if err := x.store.Sync(); err != nil {
		t.Errorf("sync: %v", err)
	}
	x.close()
	x.reopen()
	x.has()
	x.append(record(1))
	x.has(record(1))
	x.close()
}

func (s suite) testOrder(t *testing.T) {
	x := s.start(t)
	const n = 300
	var want [][]byte
	var refs []transcript.Ref
	for i := 0; i < n; {
		more := batch(i, min(n, i+1+i%4))
		refs = append(refs, x.append(more...)...)
		want = append(want, more...)
		i += len(more)
	}
	x.has(want...)
	for i := range refs { // also those that were given first
		x.reads(refs[i], want[i])
	}
	x.close()
	x.reopen()
	x.has(want...)
	x.append(record(n))
	x.has(append(want, record(n))...)
	x.close()
}

func (s suite) testOddBytes(t *testing.T) {
	odd := [][]byte{
		[]byte(`{}`),
		[]byte("{\"a\":\"\x00\x01\x02\x7f\"}"),
		[]byte("{\"bad utf-8\":\"\xff\xfe\xc3\x28\xed\xa0\x80\"}"),
		[]byte("{\"lines\":\"a\rb\u2028c\u2029d\u0085e\vf\fg\"}"),
		[]byte("\ufeff{\"mark\":true}"),
		[]byte(`{"type":"sealed"}`),
		[]byte(`{"quote":"'\"` + "`" + `%s $1 ? :name --"}`),
		[]byte(`  {"spaces" : true}  `),
		[]byte(`not JSON at all`),
		[]byte(`{"torn":"`),
		{0},
	}
	x := s.start(t)
	x.append(odd...)
	for _, r := range odd {
		x.append(r)
	}
	want := append(slices.Clone(odd), odd...)
	x.has(want...)
	x.close()
	x.reopen()
	x.has(want...)
	x.close()
}

// What is given to Append and what Read gives belongs to the caller.
func (s suite) testBytes(t *testing.T) {
	x := s.start(t)
	mine := [][]byte{record(1), record(2)}
	refs := x.append(mine...)
	for _, r := range mine {
		for i := range r {
			r[i] = '!'
		}
	}
	mine[0] = nil
	x.has(record(1), record(2))
	got, err := x.store.Read(refs[0])
	if err != nil {
		t.Fatal(err)
	}
	for i := range got[:cap(got)] {
		got[:cap(got)][i] = '!'
	}
	x.has(record(1), record(2))

	// A buffer that is used again for each record.
	var buf []byte
	err = x.store.Replace(func(yield func([]byte) bool) {
		for i := range 3 {
			buf = append(buf[:0], record(10+i)...)
			if !yield(buf) {
				return
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	copy(buf, "!!!!")
	x.has(record(10), record(11), record(12))
	x.close()
}

func (s suite) testLarge(t *testing.T) {
	x := s.start(t)
	sizes := []int{10, 4095, 4096, 4097, 65_535, 65_536, 65_537, 256<<10 - 1, 256 << 10, 256<<10 + 1, 1_000_000}
	if !x.Small {
		sizes = append(sizes, 3<<20+7, 9<<20)
	}
	var want [][]byte
	for i, n := range sizes {
		r := padded(n, uint64(i))
		x.reads(x.append(r)[0], r)
		want = append(want, r, record(i))
		x.append(record(i))
	}
	x.append(want...)
	want = append(want, want...)
	x.has(want...)
	x.close()
	x.reopen()
	x.has(want...)
	if err := x.store.Replace(slices.Values(want[1:])); err != nil {
		t.Fatal(err)
	}
	x.has(want[1:]...)
	x.close()
}

// unfit are records that a store refuses: what has a line end would be two lines
// in a file, and what is empty would be none.
type unfit struct {
	name   string
	record []byte
}

// unfits end with the one that a store that takes it would copy, which few machines
// have the memory for: it is left out once the test has failed.
func unfits(t *testing.T) func(yield func(unfit) bool) {
	return func(yield func(unfit) bool) {
		for _, u := range []unfit{
			{"a line end", []byte("{\"a\":\n1}")},
			{"a line end behind", []byte("{}\n")},
			{"only a line end", []byte("\n")},
			{"an empty record", []byte{}},
			{"no record", nil},
		} {
			if !yield(u) {
				return
			}
		}
		if r := tooLong(t); r != nil && !t.Failed() {
			yield(unfit{"too long", r})
		}
	}
}

func (s suite) testRefused(t *testing.T) {
	x := s.start(t)
	x.append(record(1))
	for u := range unfits(t) {
		name, r := u.name, u.record
		for _, records := range [][][]byte{{r}, {record(8), r}, {r, record(9)}} {
			refs, err := x.store.Append(records...)
			if err == nil || refs != nil {
				t.Errorf("%s: accepted as %v, %v", name, refs, err)
			}
			if name == "too long" && !errors.Is(err, transcript.ErrTooLong) {
				t.Errorf("%s: %v", name, err)
			}
			if err != nil && strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: the error is not one line: %q", name, err)
			}
		}
	}
	x.append(record(2))
	x.has(record(1), record(2))
	x.close()
	x.reopen()
	x.has(record(1), record(2))
	for _, ref := range []transcript.Ref{{Pos: -1, Len: 1}, {Pos: 1 << 40, Len: 10}} {
		if got, err := x.store.Read(ref); err == nil {
			t.Errorf("there is no record at %v, and %s was read", ref, clip(got))
		}
	}
	x.close()
}

func (s suite) testYield(t *testing.T) {
	x := s.start(t)
	refs := x.append(batch(0, 50)...)
	stop := errors.New("stop")
	n := 0
	err := x.store.Records(func(ref transcript.Ref, r []byte) error {
		x.reads(ref, r) // reading within the walk
		x.reads(refs[len(refs)-1], record(49))
		if n++; n == 20 {
			return stop
		}
		return nil
	})
	if !errors.Is(err, stop) || n != 20 {
		t.Errorf("%d records and %v, want 20 and the error of yield", n, err)
	}
	x.append(record(50))
	x.has(batch(0, 51)...)
	x.close()
}

func (s suite) testReplace(t *testing.T) {
	x := s.start(t)
	for i, records := range [][][]byte{batch(0, 5), batch(100, 130), {}, batch(7, 8), batch(0, 2000)} {
		x.append(record(1000 + i))
		if err := x.store.Replace(slices.Values(records)); err != nil {
			t.Fatalf("replace by %d records: %v", len(records), err)
		}
		x.has(records...)
		ref := x.append(record(2000 + i))[0]
		want := append(slices.Clone(records), record(2000+i))
		x.has(want...)
		x.reads(ref, record(2000+i))
		x.close()
		x.reopen()
		x.has(want...)
	}
	x.close()
}

// A session is rewritten by reading one record after the other.
func (s suite) testReplaceFromItself(t *testing.T) {
	x := s.start(t)
	refs := x.append(batch(0, 400)...)
	err := x.store.Replace(func(yield func([]byte) bool) {
		for i := len(refs) - 1; i >= 0; i -= 2 {
			r, err := x.store.Read(refs[i])
			if err != nil || !bytes.Equal(r, record(i)) {
				t.Errorf("within Replace, record %d read as %s, %v", i, clip(r), err)
				return
			}
			if !yield(r) {
				t.Error("Replace ended early")
				return
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	var want [][]byte
	for i := 399; i >= 0; i -= 2 {
		want = append(want, record(i))
	}
	x.has(want...)
	x.close()
	x.reopen()
	x.has(want...)
	x.close()
}

func (s suite) testReplaceRefused(t *testing.T) {
	x := s.start(t)
	refs := x.append(batch(0, 3)...)
	for u := range unfits(t) {
		name, r := u.name, u.record
		if err := x.store.Replace(slices.Values([][]byte{record(8), r, record(9)})); err == nil {
			t.Errorf("%s: accepted", name)
		}
		x.has(batch(0, 3)...)
		x.reads(refs[1], record(1))
	}
	x.append(record(3))
	x.close()
	x.reopen()
	x.has(batch(0, 4)...)
	x.close()
}

// Whatever is done in whatever order, the store has what a list would have.
func (s suite) testHistory(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 3))
			x := s.start(t)
			var want [][]byte
			var refs []transcript.Ref
			for i := range 150 {
				switch k := rng.IntN(20); {
				case k < 12:
					var more [][]byte
					for range rng.IntN(4) {
						more = append(more, padded(10+rng.IntN(1<<rng.IntN(17)), uint64(i)))
					}
					refs = append(refs, x.append(more...)...)
					want = append(want, more...)
				case k < 15 && len(want) > 0:
					j := rng.IntN(len(want))
					x.reads(refs[j], want[j])
				case k < 16:
					if err := x.store.Sync(); err != nil {
						t.Fatal(err)
					}
				case k < 18:
					if x.Crash != nil && k == 16 {
						x.Crash()
					} else {
						x.close()
					}
					x.reopen()
					refs = x.refs(want)
				case k < 19:
					want = want[len(want)/2:]
					if err := x.store.Replace(slices.Values(want)); err != nil {
						t.Fatal(err)
					}
					refs = x.refs(want)
				default:
					x.has(want...)
				}
			}
			x.has(want...)
			x.close()
		})
	}
}

// refs gives the refs of the records, which are want.
func (x *session) refs(want [][]byte) []transcript.Ref {
	x.t.Helper()
	x.has(want...)
	var refs []transcript.Ref
	err := x.store.Records(func(ref transcript.Ref, _ []byte) error {
		refs = append(refs, ref)
		return nil
	})
	if err != nil {
		x.t.Fatal(err)
	}
	return refs
}

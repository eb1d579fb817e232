package storetest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"

	"github.com/burin-dev/burin/internal/pacetest"
)

func (s suite) testCrash(t *testing.T) {
	if s.open(t).Crash == nil {
		t.Skip("the store does not outlive its process")
	}
	x := s.start(t)
	x.append(batch(0, 10)...)
	x.Crash()
	x.reopen()
	x.has(batch(0, 10)...)
	x.append(record(10))
	if err := x.store.Replace(slices.Values(batch(5, 11))); err != nil {
		t.Fatal(err)
	}
	x.append(record(11))
	x.Crash()
	x.reopen()
	x.has(batch(5, 12)...)
	x.close()
}

func (s suite) testPowerCut(t *testing.T) {
	if s.open(t).PowerCut == nil {
		t.Skip("the medium cannot lose what was not synced")
	}
	for seed := range uint64(40) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 4))
			x := s.start(t)
			x.append(batch(0, 5)...)
			if err := x.store.Sync(); err != nil {
				t.Fatal(err)
			}
			x.append(batch(5, 9)...)
			x.PowerCut(rng)
			x.reopen()
			x.recovered(batch(0, 5), batch(5, 9), true, nil)

			old := x.records()
			if err := x.store.Sync(); err != nil {
				t.Fatal(err)
			}
			if err := x.store.Replace(slices.Values(batch(20, 30))); err != nil {
				t.Fatal(err)
			}
			x.PowerCut(rng)
			x.reopen()
			if got := x.records(); !slices.EqualFunc(got, old, bytes.Equal) && !slices.EqualFunc(got, batch(20, 30), bytes.Equal) {
				t.Errorf("after a power cut there are neither all the old records nor all the new ones:\n%s", list(got))
			}
			x.close()
		})
	}
}

// action is something that a store does, and what may be there afterwards.
type action struct {
	name    string
	tried   [][]byte // what it appends
	replace [][]byte // what it puts in place of all
	do      func(x *session) error
}

func appends(name string, records ...[]byte) action {
	return action{name: name, tried: records, do: func(x *session) error {
		_, err := x.store.Append(records...)
		return err
	}}
}

func actions() []action {
	return []action{
		appends("append", record(100)),
		appends("append three", batch(100, 103)...),
		appends("append a large one", padded(300_000, 9), record(101)),
		{name: "sync", do: func(x *session) error { return x.store.Sync() }},
		{name: "replace", replace: batch(200, 203), do: func(x *session) error {
			return x.store.Replace(slices.Values(batch(200, 203)))
		}},
		{name: "close", do: func(x *session) error { return x.store.Close() }},
		{name: "open", do: func(x *session) error {
			x.Crash()
			store, err := x.Open()
			if err == nil {
				x.store = store
			}
			return err
		}},
	}
}

// base is what is there before an action.
func base() [][]byte { return batch(0, 4) }

// testFaults lets every call of every action fail in every way.
func (s suite) testFaults(t *testing.T) {
	if s.open(t).Faults == nil {
		t.Skip("the medium cannot be made to fail")
	}
	ways := []struct {
		name  string
		fault Fault
	}{
		{"fails", Fault{Err: syscall.EIO}},
		{"no space", Fault{Err: syscall.ENOSPC}},
		{"done but fails", Fault{Err: syscall.EIO, Keep: All}},
		{"killed before", Fault{Err: errDead, Dead: true}},
		{"killed within", Fault{Err: errDead, Dead: true, Keep: 20}},
		{"killed after", Fault{Err: errDead, Dead: true, Keep: All}},
	}
	for _, a := range actions() {
		x := s.start(t)
		x.append(base()...)
		x.Faults.Arm(Fault{})
		if err := a.do(x); err != nil {
			t.Fatalf("%s without a fault: %v", a.name, err)
		}
		calls := x.Faults.Calls()
		x.Crash()
		for at := 1; at <= calls; at++ {
			for i, way := range ways {
				if pacetest.Cases(at%2 != i%2, false) { // of each call half of the ways, and of each way half of the calls
					continue
				}
				t.Run(fmt.Sprintf("%s/%d of %d %s", a.name, at, calls, way.name), func(t *testing.T) {
					fault := way.fault
					fault.At = at
					s.faulty(t, a, fault)
				})
			}
		}
	}
}

// testShortWrites cuts every write of an append behind every byte.
func (s suite) testShortWrites(t *testing.T) {
	if s.open(t).Faults == nil {
		t.Skip("the medium cannot be made to fail")
	}
	a := appends("append two", batch(100, 102)...)
	for keep := 0; ; keep++ {
		fired := false
		for _, dead := range []bool{false, true} {
			fault := Fault{At: 1, Op: "write", Err: syscall.ENOSPC, Keep: keep, Dead: dead}
			fired = s.faulty(t, a, fault) || fired
		}
		if t.Failed() {
			t.Fatalf("with a write cut behind %d bytes", keep)
		}
		if !fired || keep > 2*len(record(100))+100 {
			return
		}
	}
}

// faulty does a with a fault, and then looks at what is there.
func (s suite) faulty(t *testing.T, a action, fault Fault) (fired bool) {
	t.Helper()
	x := s.start(t)
	x.t = t
	x.append(base()...)
	x.Faults.Arm(fault)
	err := a.do(x)
	fired = x.Faults.Fired()
	var after [][]byte
	if err != nil && !fault.Dead && a.name != "close" && a.name != "open" {
		// The store may continue or refuse everything, but what it takes counts.
		if _, err := x.store.Append(record(300)); err == nil {
			after = batch(300, 301)
		}
	}
	x.Crash()
	x.Faults.Arm(Fault{})
	x.reopen()
	if a.replace == nil {
		acked, tried := base(), a.tried
		if err == nil {
			acked, tried = append(acked, tried...), nil
		}
		x.recovered(acked, tried, fault.Dead, after)
	} else {
		x.replaced(a.replace, err, after)
	}
	x.close()
	return fired
}

// recovered fails unless the store has what was acknowledged; behind it, if loose,
// the first of those that were tried; at most one torn record; and what came after.
// It then must take more.
func (x *session) recovered(acked, tried [][]byte, loose bool, after [][]byte) {
	x.t.Helper()
	all := x.records()
	known := slices.Concat(acked, tried, after)
	var got [][]byte
	torn := 0
	for i, r := range all {
		if slices.ContainsFunc(known, func(k []byte) bool { return bytes.Equal(k, r) }) {
			got = append(got, r)
			continue
		}
		if torn++; i < len(acked) || torn > 1 {
			x.t.Fatalf("record %d is damaged:\n%s", i, list(all))
		}
	}
	k := len(got) - len(acked) - len(after)
	if k < 0 || k > len(tried) || k > 0 && !loose || !slices.EqualFunc(got, slices.Concat(acked, tried[:max(k, 0)], after), bytes.Equal) {
		x.t.Fatalf("the records are\n%s%d were acknowledged, %d came after a failure, and %d of %d that failed are there", list(all), len(acked), len(after), k, len(tried))
	}
	more := batch(400, 403)
	refs := x.append(more...)
	x.reads(refs[2], more[2])
	x.close()
	x.reopen()
	if now := x.records(); !slices.EqualFunc(withoutTorn(now, all), append(got, more...), bytes.Equal) {
		x.t.Fatalf("after the recovery and an append the records are\n%s", list(now))
	}
}

// withoutTorn leaves out a record that is not one that this package wrote; before
// are the records in which it was first seen.
func withoutTorn(now, before [][]byte) [][]byte {
	return slices.DeleteFunc(slices.Clone(now), func(r []byte) bool {
		whole := bytes.HasPrefix(r, []byte(`{`)) && bytes.HasSuffix(r, []byte(`"}`))
		return !whole && slices.ContainsFunc(before, func(b []byte) bool { return bytes.Equal(b, r) })
	})
}

func (x *session) replaced(records [][]byte, err error, after [][]byte) {
	x.t.Helper()
	got := x.records()
	fresh := append(slices.Clone(records), after...)
	old := append(base(), after...)
	switch {
	case slices.EqualFunc(got, fresh, bytes.Equal):
	case err != nil && slices.EqualFunc(got, old, bytes.Equal):
	default:
		x.t.Fatalf("after a Replace that ended with %v the records are\n%s", err, list(got))
	}
	if err := x.store.Replace(slices.Values(records)); err != nil {
		x.t.Fatalf("replace after the recovery: %v", err)
	}
	x.has(records...)
}

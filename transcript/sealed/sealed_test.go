package sealed_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/transcript"
	"github.com/burin-dev/burin/transcript/sealed"
	"github.com/burin-dev/burin/transcript/storetest"
)

func key(t testing.TB, b byte) sealed.Key {
	t.Helper()
	k, err := sealed.NewKey(bytes.Repeat([]byte{b}, sealed.KeySize))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// cheap is a passphrase that does not cost a test its time.
func cheap(t testing.TB, text string) sealed.Key {
	t.Helper()
	k, err := sealed.Passphrase(text, sealed.Cost{Time: 1, Memory: 64, Lanes: 1})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func seal(t testing.TB, below transcript.Store, k sealed.Key) transcript.Store {
	t.Helper()
	s, err := sealed.New(below, k)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// session makes a sealed session of records {"n":0}, {"n":1} and so on.
func session(t testing.TB, k sealed.Key, n int) *transcript.Memory {
	t.Helper()
	below := new(transcript.Memory)
	s := seal(t, below, k)
	for i := range n {
		if _, err := s.Append(fmt.Appendf(nil, `{"n":%d}`, i)); err != nil {
			t.Fatal(err)
		}
	}
	return below
}

func raw(t testing.TB, s transcript.Store) (all [][]byte) {
	t.Helper()
	err := s.Records(func(ref transcript.Ref, r []byte) error {
		all = append(all, bytes.Clone(r))
		again, err := s.Read(ref)
		if err == nil && !bytes.Equal(again, r) {
			err = fmt.Errorf("record %s reads as %s", r, again)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// numbers are the records as a line: their numbers, and ? for one that cannot be read.
func numbers(t testing.TB, s transcript.Store) string {
	t.Helper()
	var out []string
	for _, r := range raw(t, s) {
		var n int
		if c, err := fmt.Sscanf(string(r), `{"n":%d}`, &n); c == 1 && err == nil {
			out = append(out, fmt.Sprint(n))
			continue
		}
		if string(r) != `{"type":"sealed"` {
			t.Errorf("an unreadable record was passed on as %q", r)
		}
		out = append(out, "?")
	}
	return strings.Join(out, " ")
}

func memory(t testing.TB, records [][]byte) *transcript.Memory {
	t.Helper()
	m := new(transcript.Memory)
	if _, err := m.Append(records...); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestIsAStore(t *testing.T) {
	t.Run("memory", func(t *testing.T) {
		storetest.Run(t, func(t *testing.T) *storetest.Opener {
			m := new(transcript.Memory)
			return &storetest.Opener{
				Open:  func() (transcript.Store, error) { return sealed.New(m, key(t, 1)) },
				Crash: func() {},
			}
		})
	})
	t.Run("file", func(t *testing.T) {
		storetest.Run(t, func(t *testing.T) *storetest.Opener {
			path := filepath.Join(t.TempDir(), "session.jsonl")
			return &storetest.Opener{Open: func() (transcript.Store, error) { return openFile(path, cheap(t, "a passphrase")) }}
		})
	})
}

func openFile(path string, k sealed.Key) (transcript.Store, error) {
	f, err := os.OpenFile(path, os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := f.Close(); err != nil {
		return nil, err
	}
	below, err := transcript.OpenFile(path)
	if err != nil {
		return nil, err
	}
	return sealed.New(below, k)
}

func TestSurvivesKills(t *testing.T) {
	pacetest.Costly(t)
	storetest.RunKilled(t, func(dir string) (transcript.Store, error) {
		return openFile(filepath.Join(dir, "session.jsonl"), key(t, 1))
	})
}

func TestNothingInTheClear(t *testing.T) {
	path := filepath.Join(t.TempDir(), "session.jsonl")
	s, err := openFile(path, cheap(t, "correct horse"))
	if err != nil {
		t.Fatal(err)
	}
	if sealed.Sealed(path) {
		t.Error("an empty file is sealed")
	}
	const secret = "the canary sings"
	if _, err := s.Append([]byte(`{"text":"` + secret + `"}`)); err != nil {
		t.Fatal(err)
	}
	if err := s.Replace(slices.Values([][]byte{[]byte(`{"text":"` + secret + `!"}`)})); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(filepath.Dir(path), func(p string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(p)
		if bytes.Contains(text, []byte("canary")) || bytes.Contains(text, []byte("horse")) {
			t.Errorf("%s says what it should not:\n%s", p, text)
		}
		for line := range bytes.Lines(text) {
			if !bytes.HasPrefix(line, []byte(`{"type":"sealed","`)) || !bytes.HasSuffix(line, []byte("\"}\n")) {
				t.Errorf("a line that is not recognised: %s", line)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if !sealed.Sealed(path) {
		t.Error("a sealed file is not recognised")
	}
}

func TestSealed(t *testing.T) {
	for text, want := range map[string]bool{
		"":                            false,
		`{"type":"session"}` + "\n":   false,
		"{\"ty\n{\"type\":\"sealed\"": true,
		`{"type":"sealed","v":1`:      true,
		strings.Repeat("x", 1<<17) + "\n" + `{"type":"sealed"}`: false,
	} {
		path := filepath.Join(t.TempDir(), "s")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := sealed.Sealed(path); got != want {
			t.Errorf("%.30q: %v", text, got)
		}
	}
	if sealed.Sealed(t.TempDir()) || sealed.Sealed("/none") {
		t.Error("a directory, or nothing, is sealed")
	}
}

func TestWrongKey(t *testing.T) {
	short, err := sealed.NewKey(make([]byte, 31))
	if err == nil {
		t.Errorf("a key of 31 bytes: %v", short)
	}
	if _, err := sealed.Passphrase("", sealed.Cost{}); err == nil {
		t.Error("an empty passphrase")
	}
	if _, err := sealed.New(new(transcript.Memory), sealed.Key{}); err == nil {
		t.Error("no key")
	}
	for name, tt := range map[string]struct{ right, wrong sealed.Key }{
		"bytes":                    {key(t, 1), key(t, 2)},
		"passphrase":               {cheap(t, "right"), cheap(t, "wrong")},
		"passphrase, not bytes":    {cheap(t, "right"), key(t, 1)},
		"bytes, not a passphrase":  {key(t, 1), cheap(t, "right")},
		"a passphrase is not trim": {cheap(t, "right"), cheap(t, "right ")},
	} {
		t.Run(name, func(t *testing.T) {
			below := session(t, tt.right, 3)
			before := raw(t, below)
			_, err := sealed.New(below, tt.wrong)
			if !errors.Is(err, sealed.ErrKey) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %v", err)
			}
			if diff := cmp.Diff(before, raw(t, below)); diff != "" {
				t.Errorf("the wrong key changed the session:\n%s", diff)
			}
			if got := numbers(t, seal(t, below, tt.right)); got != "0 1 2" {
				t.Errorf("with the right key: %s", got)
			}
		})
	}
}

func TestNotSealed(t *testing.T) {
	for _, text := range []string{`{"type":"session","version":3}`, `{ "type" : "session" }`, `{"type":"title","v":1}`} {
		if _, err := sealed.New(memory(t, [][]byte{[]byte(text)}), key(t, 1)); !errors.Is(err, sealed.ErrNotSealed) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// A hostile header does not make the machine work.
func TestHostileHeader(t *testing.T) {
	header := string(raw(t, session(t, cheap(t, "x"), 1))[0])
	for _, change := range [][2]string{
		{`"memory":64`, `"memory":4294967295`},
		{`"memory":64`, `"memory":262145`},
		{`"memory":64`, `"memory":1`},
		{`"memory":64`, `"memory":-1`},
		{`"time":1`, `"time":4000000000`},
		{`"time":1`, `"time":0`},
		{`"lanes":1`, `"lanes":255`},
		{`"lanes":1`, `"lanes":0`},
		{`"v":1`, `"v":2`},
		{`"salt":"`, `"salt":"AAAA`},
		{`"check":"`, `"check":"AAAA`},
		{`"id":"`, `"id":"AAAA`},
	} {
		hostile := strings.Replace(header, change[0], change[1], 1)
		if hostile == header {
			t.Fatalf("%s is not in %s", change[0], header)
		}
		_, err := sealed.New(memory(t, [][]byte{[]byte(hostile), []byte(hostile)}), cheap(t, "x"))
		if err == nil || errors.Is(err, sealed.ErrKey) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", change[1], err)
		}
	}
}

// What the one without a key can do to the stored records, and how it shows.
func TestTampering(t *testing.T) {
	k := key(t, 1)
	other := raw(t, session(t, k, 8)) // another session of the same key
	fork := func(t *testing.T, all [][]byte) [][]byte {
		// The session from record 3 on as it was in another life.
		s := seal(t, memory(t, all[:5]), k)
		_ = numbers(t, s)
		m := memory(t, all[:5])
		s = seal(t, m, k)
		for i := range 5 {
			if _, err := s.Append(fmt.Appendf(nil, `{"n":%d}`, 100+i)); err != nil {
				t.Fatal(err)
			}
		}
		return raw(t, m)
	}
	const h = 2 // records of the header
	for _, tt := range []struct {
		name   string
		change func(t *testing.T, r [][]byte) [][]byte
		want   string
	}{
		{"nothing", func(_ *testing.T, r [][]byte) [][]byte { return r }, "0 1 2 3 4 5"},
		{"cut off", func(_ *testing.T, r [][]byte) [][]byte { return r[:h+4] }, "0 1 2 3"},
		{"first header lost", func(_ *testing.T, r [][]byte) [][]byte { return r[1:] }, "0 1 2 3 4 5"},
		{"first header damaged", func(_ *testing.T, r [][]byte) [][]byte { r[0] = []byte("{"); return r }, "? 0 1 2 3 4 5"},
		{"second header damaged", func(_ *testing.T, r [][]byte) [][]byte { r[1] = []byte("{}"); return r }, "? 0 1 2 3 4 5"},
		{"a third header", func(_ *testing.T, r [][]byte) [][]byte { return slices.Insert(r, h, r[0]) }, "? 0 1 2 3 4 5"},
		{"a header behind", func(_ *testing.T, r [][]byte) [][]byte { return append(r, r[0]) }, "0 1 2 3 4 5 ?"},
		{"dropped", func(_ *testing.T, r [][]byte) [][]byte { return slices.Delete(r, h+2, h+3) }, "0 1 ? 4 5"},
		{"first dropped", func(_ *testing.T, r [][]byte) [][]byte { return slices.Delete(r, h, h+1) }, "? 2 3 4 5"},
		{"many dropped", func(_ *testing.T, r [][]byte) [][]byte { return slices.Delete(r, h+1, h+4) }, "0 ? 5"},
		{"swapped", func(_ *testing.T, r [][]byte) [][]byte { r[h+2], r[h+3] = r[h+3], r[h+2]; return r }, "0 1 ? 2 ? 5"},
		{"doubled", func(_ *testing.T, r [][]byte) [][]byte { return slices.Insert(r, h+3, r[h+2]) }, "0 1 2 ? 3 4 5"},
		{"an old one behind", func(_ *testing.T, r [][]byte) [][]byte { return append(r, r[h+3]) }, "0 1 2 3 4 5 ?"},
		{"of another session", func(_ *testing.T, r [][]byte) [][]byte { r[h+2] = other[h+2]; return r }, "0 1 ? 3 4 5"},
		{"of another session, behind", func(_ *testing.T, r [][]byte) [][]byte { return append(r, other[h+6]) }, "0 1 2 3 4 5 ?"},
		{"of another life", func(t *testing.T, r [][]byte) [][]byte { r[h+4] = fork(t, r)[h+4]; return r }, "0 1 2 3 ? 5"},
		{"in the clear", func(_ *testing.T, r [][]byte) [][]byte { r[h+2] = []byte(`{"n":2}`); return r }, "0 1 ? 3 4 5"},
		{"in the clear, within", func(_ *testing.T, r [][]byte) [][]byte {
			return slices.Insert(r, h+1, []byte(`{"type":"sealed" {"type":"message","id":"x"}`))
		}, "0 ? 1 2 3 4 5"},
		{"torn", func(_ *testing.T, r [][]byte) [][]byte { r[h+5] = r[h+5][:40]; return r }, "0 1 2 3 4 ?"},
		{"padded", func(_ *testing.T, r [][]byte) [][]byte { r[h+5] = append(r[h+5], ' '); return r }, "0 1 2 3 4 ?"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := memory(t, tt.change(t, raw(t, session(t, k, 6))))
			s := seal(t, m, k)
			if got := numbers(t, s); got != tt.want {
				t.Errorf("the records are %s, want %s", got, tt.want)
			}
			// It is still a session that takes more.
			if _, err := seal(t, m, k).Append([]byte(`{"n":77}`)); err != nil {
				t.Fatal(err)
			}
			if got := numbers(t, s); got != tt.want+" 77" {
				t.Errorf("with one more they are %s, want %s 77", got, tt.want)
			}
		})
	}
}

// Every bit of what is stored may be another one: what can be read is what was
// written, and the rest is read.
func TestFlips(t *testing.T) {
	k := cheap(t, "x")
	stored := raw(t, session(t, k, 3))
	for i := range stored {
		for at := range stored[i] {
			changed := slices.Clone(stored)
			changed[i] = bytes.Clone(stored[i])
			if changed[i][at] ^= 1 << (at % 7); changed[i][at] == '\n' {
				continue
			}
			s, err := sealed.New(memory(t, changed), k)
			if err != nil {
				t.Fatalf("byte %d of record %d: %v", at, i, err)
			}
			want := "? 0 1 2"
			if i >= 2 {
				want = strings.Replace("0 1 2", fmt.Sprint(i-2), "?", 1)
			}
			if got := numbers(t, s); got != want {
				t.Fatalf("with byte %d of record %d changed there are %s, want %s", at, i, got, want)
			}
		}
	}
}

// The last record may be torn at any byte, the first ones too.
func TestTorn(t *testing.T) {
	k := key(t, 1)
	stored := raw(t, session(t, k, 2))
	for n := range stored {
		for at := range stored[n] {
			if at == 0 {
				continue // that is no record
			}
			m := memory(t, append(slices.Clone(stored[:n]), stored[n][:at]))
			s := seal(t, m, k)
			want := []string{"? 5", "? 5", "? 5", "0 ? 5"}[n]
			if _, err := s.Append([]byte(`{"n":5}`)); err != nil {
				t.Fatal(err)
			}
			if got := numbers(t, seal(t, m, k)); got != want {
				t.Fatalf("torn behind byte %d of record %d: %s, want %s", at, n, got, want)
			}
		}
	}
}

// leaky keeps some of what it says it could not write, as a file does that cannot
// be cut either.
type leaky struct {
	transcript.Memory
	keep int // records of the next Append that stay; -1: it does not fail
}

func (l *leaky) Append(records ...[]byte) ([]transcript.Ref, error) {
	keep := l.keep
	if l.keep = -1; keep < 0 {
		return l.Memory.Append(records...)
	}
	_, err := l.Memory.Append(records[:min(keep, len(records))]...)
	return nil, errors.Join(errors.New("no space left"), err)
}

func TestAppendThatFailsButStays(t *testing.T) {
	for there := range 3 {
		for keep := range 5 {
			below := &leaky{keep: -1}
			s := seal(t, below, key(t, 1))
			var want []string
			add := func(n int) error {
				_, err := s.Append(fmt.Appendf(nil, `{"n":%d}`, n), fmt.Appendf(nil, `{"n":%d}`, n+1))
				return err
			}
			for i := range there {
				if err := add(10 * i); err != nil {
					t.Fatal(err)
				}
				want = append(want, fmt.Sprint(10*i), fmt.Sprint(10*i+1))
			}
			below.keep = keep
			if err := add(50); err == nil {
				t.Fatal("it did not fail")
			}
			stay := keep
			if there == 0 {
				stay -= 2 // the header
			}
			want = append(want, []string{"50", "51"}[:min(max(stay, 0), 2)]...)
			if err := add(60); err != nil {
				t.Fatal(err)
			}
			want = append(want, "60", "61")
			if got := numbers(t, seal(t, below, key(t, 1))); got != strings.Join(want, " ") {
				// One copy of the header more is one damaged record more.
				if there > 0 || got != "? "+strings.Join(want, " ") {
					t.Errorf("with %d records before, and %d that stayed, there are %s, want %s", 2*there, keep, got, want)
				}
			}
		}
	}
}

func TestPublish(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new.jsonl")
	s := seal(t, transcript.CreateFile(path), key(t, 1))
	if _, err := s.Append([]byte(`{"n":0}`)); err != nil {
		t.Fatal(err)
	}
	if sealed.Sealed(path) {
		t.Error("a draft has the name of a session")
	}
	if err := s.(interface{ Publish() error }).Publish(); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if !sealed.Sealed(path) {
		t.Error("the session is not there")
	}
}

// A log in a sealed store is as any other.
func TestLog(t *testing.T) {
	m := new(transcript.Memory)
	l, err := transcript.Create(seal(t, m, key(t, 1)), transcript.Header{ID: "a", CWD: "/x"}, transcript.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"one", "two", "three"} {
		if _, err := l.Append(transcript.Entry{Type: transcript.TypeCustomMessage, CustomType: "x", Content: []byte(`"` + text + `"`)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	stored := raw(t, m)
	stored[len(stored)-2][60] ^= 4
	l, damage, err := transcript.Open(seal(t, memory(t, stored), key(t, 1)), transcript.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if l.Len() != 2 || len(damage.Bad) != 1 || damage.Migrated || damage.NoHeader {
		t.Errorf("%d entries, damage %+v: want 2 and one bad record", l.Len(), damage)
	}
}

func FuzzNew(f *testing.F) {
	for _, k := range []sealed.Key{key(f, 1), cheap(f, "x")} {
		stored := raw(f, session(f, k, 2))
		f.Add(bytes.Join(stored, []byte("\n")))
		f.Add(bytes.Join(stored[1:], []byte("\n")))
	}
	f.Add([]byte(`{"type":"sealed","v":1,"id":"","check":""}`))
	k := key(f, 1)
	f.Fuzz(func(t *testing.T, text []byte) {
		m := new(transcript.Memory)
		for line := range bytes.SplitSeq(text, []byte("\n")) {
			if _, err := m.Append(line); err != nil {
				continue
			}
		}
		s, err := sealed.New(m, k)
		if err != nil {
			return
		}
		before := numbers(t, s)
		if _, err := s.Append([]byte(`{"n":7}`)); err != nil {
			t.Fatal(err)
		}
		if got := numbers(t, s); got != strings.TrimSpace(before+" 7") {
			t.Errorf("%s and one more are %s", before, got)
		}
	})
}

func BenchmarkAppend(b *testing.B) {
	for _, size := range []int{300, 100_000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			s := seal(b, new(discard), key(b, 1))
			r := bytes.Repeat([]byte("x"), size)
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.Append(r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// discard is a store that keeps nothing.
type discard struct{ transcript.Memory }

func (*discard) Records(func(transcript.Ref, []byte) error) error { return nil }

func (*discard) Append(records ...[]byte) ([]transcript.Ref, error) {
	return make([]transcript.Ref, len(records)), nil
}

func BenchmarkRecords(b *testing.B) {
	below := new(transcript.Memory)
	s := seal(b, below, key(b, 1))
	r := []byte(`{"x":"` + strings.Repeat("x", 300) + `"}`)
	const n = 10_000
	for range n {
		if _, err := s.Append(r); err != nil {
			b.Fatal(err)
		}
	}
	b.SetBytes(int64(n * len(r)))
	b.ReportAllocs()
	for b.Loop() {
		if err := s.Records(func(transcript.Ref, []byte) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPassphrase(b *testing.B) {
	k, err := sealed.Passphrase("correct horse battery staple", sealed.DefaultCost())
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		seal(b, new(transcript.Memory), k)
	}
}

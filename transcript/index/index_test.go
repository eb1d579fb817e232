package index_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/transcript"
	"github.com/burin-dev/burin/transcript/index"
)

// sessions is a folder of sessions that a test writes.
type sessions struct {
	testing.TB
	root string
	now  time.Time
}

func newSessions(t testing.TB) *sessions {
	return &sessions{t, t.TempDir(), time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
}

func header(id, cwd, more string) string {
	return fmt.Sprintf(`{"type":"session","version":3,"id":%q,"timestamp":"2026-01-02T03:04:05.000Z","cwd":%q%s}`+"\n", id, cwd, more)
}

func said(id, role, text string) string {
	return fmt.Sprintf(`{"type":"message","id":%q,"parentId":null,"timestamp":"t","message":{"role":%q,"content":[{"type":"text","text":%q}]}}`+"\n", id, role, text)
}

// put writes a session file, a minute later than the one before.
func (s *sessions) put(cwd, id string, lines ...string) string {
	s.Helper()
	path := filepath.Join(s.root, transcript.EncodeDir(cwd), "2026-01-01T00-00-00-000Z_"+id+".jsonl")
	s.write(path, lines...)
	return path
}

func (s *sessions) write(path string, lines ...string) {
	s.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		s.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.Join(lines, "")), 0o600); err != nil {
		s.Fatal(err)
	}
	s.now = s.now.Add(time.Minute)
	if err := os.Chtimes(path, s.now, s.now); err != nil {
		s.Fatal(err)
	}
}

// add writes more behind a session file.
func (s *sessions) add(path, text string) {
	s.Helper()
	before, err := os.ReadFile(path)
	if err != nil {
		s.Fatal(err)
	}
	s.write(path, string(before), text)
}

func (s *sessions) list(o index.ListOptions) []index.Info {
	s.Helper()
	list, err := index.List(context.Background(), s.root, o)
	if err != nil {
		s.Fatal(err)
	}
	return list
}

func (s *sessions) index() *index.Index {
	s.Helper()
	return s.indexIn(filepath.Join(s.TempDir(), "sessions.db"))
}

func (s *sessions) indexIn(file string) *index.Index {
	s.Helper()
	ix, err := index.Open(context.Background(), file)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { ix.Close() })
	s.update(ix)
	return ix
}

func (s *sessions) update(ix *index.Index) {
	s.Helper()
	if err := ix.Update(context.Background(), s.root); err != nil {
		s.Fatal(err)
	}
}

// found are the hits of a query, as session/entry.
func (s *sessions) found(ix *index.Index, query string) map[string]bool {
	s.Helper()
	hits, err := ix.Search(context.Background(), query, index.SearchOptions{PerSession: 1000})
	if err != nil {
		s.Fatalf("%q: %v", query, err)
	}
	found := map[string]bool{}
	for _, h := range hits {
		found[h.ID+"/"+h.EntryID] = true
	}
	return found
}

func (s *sessions) want(ix *index.Index, query string, want ...string) {
	s.Helper()
	set := map[string]bool{}
	for _, w := range want {
		set[w] = true
	}
	if diff := cmp.Diff(set, s.found(ix, query)); diff != "" {
		s.Errorf("%q: %s", query, diff)
	}
}

func TestSearch(t *testing.T) {
	s := newSessions(t)
	s.put("/a", "one", header("one", "/a", ""),
		said("e1", "user", "Fix the flaky login test"),
		`{"type":"message","id":"e2","parentId":"e1","message":{"role":"assistant","content":[{"type":"thinking","thinking":"pondering"},{"type":"text","text":"The test is flaky because of the clock."},{"type":"toolCall","id":"c","name":"bash","arguments":{"command":"go test ./login"}}]}}`+"\n",
		said("e3", "toolResult", "--- FAIL: TestLogin"),
	)
	s.put("/b", "two", header("two", "/b", ""),
		`{"type":"custom_message","id":"e0","parentId":null,"customType":"context","content":"Today is a flaky day"}`+"\n",
		`{"type":"message","id":"e1","parentId":null,"message":{"role":"user","content":"Ein Café in Zürich"}}`+"\n",
		`{"type":"compaction","id":"e2","parentId":"e1","summary":"they spoke of coffee"}`+"\n",
		`{"type":"session_info","id":"e3","parentId":"e2","name":"Holiday plans"}`+"\n",
	)
	ix := s.index()
	for query, want := range map[string][]string{
		"flaky":               {"one/e1", "one/e2"},
		"FLAKY login":         {"one/e1", "one/e2"},
		`"flaky login"`:       {"one/e1"},
		`"login flaky"`:       nil,
		"flaky -clock":        {"one/e1"},
		`flaky -"the clock"`:  {"one/e1"},
		"log*":                {"one/e1", "one/e2"},
		"testlog*":            {"one/e3"},
		"cafe zurich":         {"two/e1"},
		"coffee":              {"two/e2"},
		"holiday":             {"two/e3"},
		"pondering":           nil,
		"-flaky":              nil,
		"":                    nil,
		"e1":                  nil,
		"go.test":             {"one/e2"},
		`unclosed "flaky log`: nil,
		`"flaky lo"*`:         {"one/e1"},
	} {
		s.want(ix, query, want...)
	}
	hits, err := ix.Search(context.Background(), "clock", index.SearchOptions{CWD: "/a"})
	if err != nil || len(hits) != 1 {
		t.Fatalf("%v %v", hits, err)
	}
	h := hits[0]
	if h.Snippet[h.Marks[0][0]:h.Marks[0][1]] != "clock" || h.Role != "assistant" || h.Title != "Fix the flaky login test" || h.CWD != "/a" || h.Score <= 0 {
		t.Errorf("%+v", h)
	}
	if hits, err = ix.Search(context.Background(), "clock", index.SearchOptions{CWD: "/b"}); err != nil || len(hits) > 0 {
		t.Errorf("in another folder: %v %v", hits, err)
	}
	if hits, err = ix.Search(context.Background(), "test*", index.SearchOptions{PerSession: 1}); err != nil || len(hits) != 1 {
		t.Errorf("one of each session: %v %v", hits, err)
	}
}

func TestUpdate(t *testing.T) {
	s := newSessions(t)
	path := s.put("/a", "one", header("one", "/a", ""), said("e1", "user", "alpha"))
	other := s.put("/a", "two", header("two", "/a", ""), said("e1", "user", "alpha"))
	ix := s.index()
	s.want(ix, "alpha", "one/e1", "two/e1")

	s.add(path, said("e2", "assistant", "alpha beta")+`{"type":"message","id":"e3","mess`)
	s.update(ix)
	s.want(ix, "alpha", "one/e1", "one/e2", "two/e1")
	s.write(path, header("one", "/a", ""), said("e1", "user", "alpha"), said("e2", "assistant", "alpha beta"), said("e3", "user", "gamma"))
	s.update(ix)
	s.want(ix, "alpha", "one/e1", "one/e2", "two/e1")
	s.want(ix, "gamma", "one/e3")

	// Another text of the same size, then a shorter one.
	s.write(path, header("one", "/a", ""), said("e1", "user", "delta"), said("e2", "assistant", "alpha beta"), said("e3", "user", "gamma"))
	s.update(ix)
	s.want(ix, "alpha", "one/e2", "two/e1")
	s.want(ix, "delta", "one/e1")
	s.write(path, header("one", "/a", ""), said("e1", "user", "short"))
	s.update(ix)
	s.want(ix, "alpha", "two/e1")
	s.want(ix, "short", "one/e1")

	if err := os.Remove(other); err != nil {
		t.Fatal(err)
	}
	s.write(path, `{"type":"sealed","v":1}`+"\n")
	s.update(ix)
	s.want(ix, "alpha")
	s.want(ix, "short")
	s.want(ix, "sealed")
}

// What has grown is not read from its beginning.
func TestUpdateGoesOn(t *testing.T) {
	s := newSessions(t)
	long := strings.Repeat("word ", 1000)
	path := s.put("/a", "one", header("one", "/a", ""), said("e1", "user", "alpha"), said("e2", "user", long), said("e3", "user", "omega"), said("e4", "user", long))
	ix := s.index()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// Only who reads it again sees that it was changed in its middle.
	s.write(path, strings.Replace(string(text), "omega", "delta", 1), said("e5", "user", "beta"))
	s.update(ix)
	s.want(ix, "omega", "one/e3")
	s.want(ix, "beta", "one/e5")
}

// A file takes many transactions; each leaves it so that another process can go on.
func TestManyEntries(t *testing.T) {
	s := newSessions(t)
	lines := []string{header("one", "/a", "")}
	for i := range 2500 {
		lines = append(lines, said(fmt.Sprintf("e%d", i), "user", fmt.Sprintf("common word%d", i)))
	}
	path := s.put("/a", "one", lines...)
	file := filepath.Join(t.TempDir(), "sessions.db")
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			ix, err := index.Open(context.Background(), file)
			if err != nil {
				t.Error(err)
				return
			}
			defer ix.Close()
			if err := ix.Update(context.Background(), s.root); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	ix := s.indexIn(file)
	if n := len(s.found(ix, "word2*")); n != 50 { // the most that are given
		t.Errorf("%d entries found", n)
	}
	for i := 3; i < 2500; i += 17 {
		hits, err := ix.Search(context.Background(), fmt.Sprintf("word%d", i), index.SearchOptions{})
		if err != nil || len(hits) != 1 {
			t.Fatalf("word%d: %d hits, %v", i, len(hits), err)
		}
	}
	s.write(path, header("one", "/a", ""), said("e1", "user", "alpha"))
	s.update(ix)
	s.want(ix, "common")
	s.want(ix, "alpha", "one/e1")
}

func TestDamagedIndex(t *testing.T) {
	pacetest.Costly(t)
	s := newSessions(t)
	for i := range 300 {
		s.put("/a", fmt.Sprint("s", i), header(fmt.Sprint("s", i), "/a", ""), said("e1", "user", fmt.Sprintf("alpha unique%d", i)))
	}
	file := filepath.Join(t.TempDir(), "sessions.db")
	if err := s.indexIn(file).Close(); err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for name, bad := range map[string][]byte{
		"another file": []byte("this is no database, whatever its name says"),
		"cut":          good[:len(good)/2],
		"empty":        nil,
		"zeros within": append(append(append([]byte{}, good[:4096]...), make([]byte, len(good)/2)...), good[4096+len(good)/2:]...),
	} {
		t.Run(name, func(t *testing.T) {
			for _, suffix := range []string{"-wal", "-shm"} {
				_ = os.Remove(file + suffix)
			}
			if err := os.WriteFile(file, bad, 0o600); err != nil {
				t.Fatal(err)
			}
			s := &sessions{t, s.root, s.now}
			ix := s.indexIn(file)
			s.want(ix, "unique7", "s7/e1")
			s.update(ix)
			s.want(ix, "unique299", "s299/e1")
			if err := ix.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestNames(t *testing.T) {
	s := newSessions(t)
	filler := said("e2", "assistant", strings.Repeat("long ", 3000))
	s.put("/a", "one", header("one", "/a", ""), said("e1", "user", "hi"), filler, `{"type":"session_info","id":"e3","name":"Named"}`+"\n", filler)
	ix := s.index()
	list := s.list(index.ListOptions{})
	if list[0].Title != "hi" {
		t.Fatalf("title %q: the name is too far from the end to be seen", list[0].Title)
	}
	if err := ix.Names(context.Background(), list); err != nil || list[0].Title != "Named" {
		t.Errorf("title %q: %v", list[0].Title, err)
	}
}

func FuzzSearch(f *testing.F) {
	s := newSessions(f)
	s.put("/a", "one", header("one", "/a", ""), said("e1", "user", "alpha beta"))
	ix := s.index()
	for _, seed := range []string{`a AND`, `"`, `""`, `-`, `*`, `-"`, `a* -b*`, `NEAR(a b, 3)`, `text:a`, "\x00a", "\xff", `^a + b`, `{a}: b`, "a\"b\"c", "“a”", "\u0301"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, query string) {
		if _, err := ix.Search(context.Background(), query, index.SearchOptions{}); err != nil {
			t.Errorf("%q: %v", query, err)
		}
	})
}

// many writes n sessions of 20 entries.
func many(b testing.TB, n int) *sessions {
	s := newSessions(b)
	for i := range n {
		lines := []string{header(fmt.Sprint("s", i), fmt.Sprint("/project", i%10), "")}
		for k := range 10 {
			lines = append(lines,
				said(fmt.Sprint("u", k), "user", fmt.Sprintf("please look at number%d of the parser in part %d", i, k)),
				said(fmt.Sprint("a", k), "assistant", fmt.Sprintf("I have looked at it: %s topic%d", strings.Repeat("the parser reads tokens and makes trees ", 20), (i*7+k)%100)))
		}
		s.put(fmt.Sprint("/project", i%10), fmt.Sprint("s", i), lines...)
	}
	return s
}

// A word that stands everywhere is found where it was said last.
func TestCommonWord(t *testing.T) {
	s := many(t, 300)
	s.put("/last", "last", header("last", "/last", ""), said("e1", "user", "an end without it"), said("e2", "user", "the end of the parser"))
	ix := s.index()
	s.put("/zz", "newest", header("newest", "/zz", ""), said("e1", "user", "parser"))
	s.update(ix)
	for _, tt := range []struct {
		query, cwd string
		n          int
		first      string
		ranked     bool
	}{
		{"parser", "", 50, "newest/e1", false},
		{"parser end", "", 1, "last/e2", true},
		{"parser", "/last", 1, "last/e2", false},
	} {
		hits, err := ix.Search(t.Context(), tt.query, index.SearchOptions{CWD: tt.cwd})
		if err != nil || len(hits) != tt.n || hits[0].ID+"/"+hits[0].EntryID != tt.first || hits[0].Score > 0 != tt.ranked || math.Signbit(hits[0].Score) {
			t.Errorf("%s in %q: %d hits of %+v, %v", tt.query, tt.cwd, len(hits), hits[:min(1, len(hits))], err)
		}
	}
}

// However much one session has to say of a word, others are found too.
func TestTalkativeSession(t *testing.T) {
	for _, n := range []int{200, 6000} { // few enough to be compared, and too many
		s := newSessions(t)
		for _, id := range []string{"one", "two", "three"} {
			s.put("/a", id, header(id, "/a", ""), said("e", "user", "the word, among others that are not looked for"))
		}
		ix := s.index()
		lines := []string{header("talk", "/a", "")}
		for i := range n {
			lines = append(lines, said(fmt.Sprint("e", i), "user", "word"))
		}
		s.put("/a", "talk", lines...)
		s.update(ix)
		for _, cwd := range []string{"", "/a"} {
			hits, err := ix.Search(t.Context(), "word", index.SearchOptions{CWD: cwd, Limit: 5, PerSession: 1})
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]bool{}
			for _, h := range hits {
				got[h.ID+": "+h.Snippet] = true
			}
			const rest = ": the word, among others that are not looked for"
			want := map[string]bool{"talk: word": true, "one" + rest: true, "two" + rest: true, "three" + rest: true}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%d matches in %q: %s", n, cwd, diff)
			}
			if hits[0].ID != "talk" || hits[0].Marks[0] != [2]int{0, 4} || hits[0].Score > 0 != (n < 5000) {
				t.Errorf("%d matches: the first is %+v", n, hits[0])
			}
		}
	}
}

func BenchmarkList1000(b *testing.B) {
	s := many(b, 1000)
	b.ReportAllocs()
	for b.Loop() {
		if n := len(s.list(index.ListOptions{})); n != 1000 {
			b.Fatal(n)
		}
	}
}

func BenchmarkSearch1000(b *testing.B) {
	s := many(b, 1000)
	ix := s.index()
	for _, query := range []string{"topic42", "parser", `"reads tokens" topic7`, "num*"} {
		b.Run(query, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := ix.Search(context.Background(), query, index.SearchOptions{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkUpdate(b *testing.B) {
	s := many(b, 100)
	b.Run("all of 100", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			s.indexIn(filepath.Join(b.TempDir(), "sessions.db"))
		}
	})
	ix := s.index()
	b.Run("nothing new", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			s.update(ix)
		}
	})
}

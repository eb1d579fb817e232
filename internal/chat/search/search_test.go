package search_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/burin-dev/burin/internal/chat/search"
	"github.com/burin-dev/burin/internal/chat/store"
	"github.com/burin-dev/burin/internal/chat/store/storetest"
	"github.com/burin-dev/burin/internal/chat/vault"
	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/internal/platform/pgtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(pgtest.Main(m)) }

var parts = []store.Part{vault.Part(), search.Part()}

// kit is an index with what it stands on.
type kit struct {
	t     testing.TB
	db    *store.DB
	vault *vault.Vault
	*search.Index
}

func newKit(t testing.TB, db *store.DB, key string, memory int64) *kit {
	t.Helper()
	v, err := vault.Open(t.Context(), db, vault.KeyFile(key), vault.Options{Grace: time.Nanosecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(v.Close)
	return &kit{t, db, v, search.New(db, v, memory)}
}

func (k *kit) write(who string, docs []search.Doc, gone ...search.Ref) {
	k.t.Helper()
	ring, err := k.vault.Ring(k.t.Context(), who)
	if err == nil {
		err = k.db.Update(k.t.Context(), func(q store.Querier) error {
			return k.Write(k.t.Context(), q, ring, who, docs, gone)
		})
	}
	if err != nil {
		k.t.Fatal(err)
	}
}

func doc(id, text string) search.Doc {
	return search.Doc{Ref: search.Ref{Kind: "message", ID: id}, Parent: "chat", Time: time.Now(), Text: text}
}

// found is the ids of what is found, sorted.
func (k *kit) found(who, query string, o search.Options) string {
	k.t.Helper()
	o.Limit = 1000
	r, err := k.Search(k.t.Context(), who, query, o)
	if err != nil {
		k.t.Fatal(err)
	}
	var ids []string
	for _, h := range r.Hits {
		ids = append(ids, h.ID)
	}
	if len(ids) != r.Total {
		k.t.Errorf("%q: %d hits of %d", query, len(ids), r.Total)
	}
	slices.Sort(ids)
	return strings.Join(ids, " ")
}

func (k *kit) rows() (n int) {
	k.t.Helper()
	if err := k.db.QueryRow(k.t.Context(), `SELECT count(*) FROM {search_segments}`).Scan(&n); err != nil {
		k.t.Fatal(err)
	}
	return n
}

func TestQueries(t *testing.T) {
	db := storetest.Open(t, filepath.Join(t.TempDir(), "server.db"), parts)
	k := newKit(t, db, filepath.Join(t.TempDir(), "key"), 0)
	texts := map[string]string{
		"de": "Die Straße führt über Ærø nach Łódź, café inclus", "en": "The quick brown fox jumps over the lazy dog. the end",
		"code": "call foo_bar(x) in main.go; HTTP2 is on", "zh": "我喜欢喝咖啡和茶", "ja": "コーヒーを飲みます。東京タワー", "ko": "커피를 좋아해요",
		"ru": "Ёлка стоит в лесу", "th": "ผมชอบกาแฟ", "mix": "iPhone手机 is quick brown", "zalgo": "e\u0301te\u0301", "empty": "…!", "greek": "Ο ΣΊΣΥΦΟΣ",
	}
	var docs []search.Doc
	for id, text := range texts {
		docs = append(docs, doc(id, text))
	}
	k.write("ann", docs)
	for query, want := range map[string]string{
		"strasse": "de", "STRASSE": "de", "fuhrt": "de", "führ": "de", "aero lodz": "de", "cafe": "de", "fox": "en", "fo": "code en", "fo ": "", "quick brown": "en mix",
		`"quick brown fox"`: "en", `"brown quick"`: "", `"the lazy" fox`: "en", "fox lazy dog": "en", "fox cat": "", "foo_bar": "code", "foo": "code", "bar x": "code", "main.go": "code",
		"http2": "code", "咖啡": "zh", "喜欢喝": "zh", "茶": "zh", "咖": "zh", "欢喜": "", "东京": "", "東京": "ja", "タワー": "ja", "コーヒー": "ja", "커피": "ko", "ёлка": "ru", "елка": "ru", "ЛЕС": "ru",
		"กาแฟ": "th", "手机": "mix", "iphone": "mix", "ete": "zalgo", "été": "zalgo", "": "", "…": "", `"`: "", "“quick brown”": "en mix", "σισυφοσ": "greek", "the": "en",
	} {
		if got := k.found("ann", query, search.Options{}); got != want {
			t.Errorf("%q finds %q, not %q", query, got, want)
		}
	}
	if got := k.found("bob", "fox", search.Options{}); got != "" {
		t.Errorf("bob finds %q of ann's", got)
	}
}

func TestFilters(t *testing.T) {
	k := newKit(t, storetest.Open(t, filepath.Join(t.TempDir(), "server.db"), parts), filepath.Join(t.TempDir(), "key"), 0)
	day := func(n int) time.Time { return time.Date(2026, 11, n, 0, 0, 0, 0, time.UTC) }
	make := func(kind, id, parent string, at int) search.Doc {
		return search.Doc{Ref: search.Ref{Kind: kind, ID: id}, Parent: parent, Time: day(at), Text: "plum"}
	}
	k.write("ann", []search.Doc{make("message", "1", "a", 1), make("message", "2", "b", 2), make("title", "3", "a", 3), make("file", "4", "b", 4)})
	for _, tt := range []struct {
		o    search.Options
		want string
	}{
		{search.Options{}, "1 2 3 4"},
		{search.Options{Kinds: []string{"message"}}, "1 2"},
		{search.Options{Kinds: []string{"file", "title"}}, "3 4"},
		{search.Options{Parent: "a"}, "1 3"},
		{search.Options{From: day(2)}, "2 3 4"},
		{search.Options{To: day(2)}, "1"},
		{search.Options{From: day(2), To: day(4), Parent: "b"}, "2"},
	} {
		if got := k.found("ann", "plum", tt.o); got != tt.want {
			t.Errorf("%+v: %q, not %q", tt.o, got, tt.want)
		}
	}
	r, err := k.Search(t.Context(), "ann", "plum", search.Options{Limit: 2, Offset: 1})
	if err != nil || r.Total != 4 || len(r.Hits) != 2 || r.Hits[0].ID != "3" || r.Hits[1].ID != "2" || !r.Hits[0].Time.Equal(day(3)) || r.Hits[0].Parent != "a" {
		t.Errorf("the second two of four, newest first: %+v, %v", r, err)
	}
}

func TestRanking(t *testing.T) {
	k := newKit(t, storetest.Open(t, filepath.Join(t.TempDir(), "server.db"), parts), filepath.Join(t.TempDir(), "key"), 0)
	filler := strings.Repeat("words and more words ", 50)
	old := doc("old", "plum jam "+filler)
	old.Time = time.Now().AddDate(-1, 0, 0)
	k.write("ann", []search.Doc{old, doc("new", "plum jam "+filler), doc("often", "plum plum plum jam "+filler), doc("short", "plum jam"), doc("words", filler)})
	r, err := k.Search(t.Context(), "ann", "plum jam", search.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var order []string
	for _, h := range r.Hits {
		order = append(order, h.ID)
	}
	if got := strings.Join(order, " "); got != "short often new old" {
		t.Errorf("%s", got)
	}
}

// Whatever is written, replaced, removed and merged, the index finds what a simple search does.
func TestAgainstSimpleSearch(t *testing.T) {
	storetest.Each(t, parts, func(t *testing.T, open func() *store.DB) {
		db, key := open(), filepath.Join(t.TempDir(), "key")
		k := newKit(t, db, key, 0)
		vocabulary := strings.Fields("plum quince plums quin jam jar 咖啡 茶")
		person := 0
		rapid.Check(t, func(rt *rapid.T) {
			person++
			who := fmt.Sprint("p", person)
			there := map[string][]string{}
			for range rapid.IntRange(1, 30).Draw(rt, "steps") {
				switch rapid.IntRange(0, 9).Draw(rt, "step") {
				case 0:
					if err := k.Merge(t.Context(), who); err != nil {
						rt.Fatal(err)
					}
				case 1:
					if _, err := k.vault.Rotate(t.Context(), who); err != nil {
						rt.Fatal(err)
					}
					if err := k.vault.Reseal(t.Context(), k.Index); err != nil {
						rt.Fatal(err)
					}
				default:
					var docs []search.Doc
					var gone []search.Ref
					for id := range there {
						if rapid.IntRange(0, 5).Draw(rt, "gone") == 0 {
							gone = append(gone, search.Ref{Kind: "message", ID: id})
							delete(there, id)
						}
					}
					for range rapid.IntRange(0, 3).Draw(rt, "docs") {
						id := fmt.Sprint(rapid.IntRange(0, 9).Draw(rt, "id"))
						words := rapid.SliceOfN(rapid.SampledFrom(vocabulary), 0, 6).Draw(rt, "words")
						docs = append(docs, doc(id, strings.Join(words, " ")))
						there[id] = words
					}
					k.write(who, docs, gone...)
				}
			}
			a, b := rapid.SampledFrom(vocabulary).Draw(rt, "a"), rapid.SampledFrom(vocabulary).Draw(rt, "b")
			for query, has := range map[string]func(words []string) bool{
				a + " ": func(words []string) bool { return slices.Contains(words, a) },
				a: func(words []string) bool {
					return slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(w, a) })
				},
				`"` + a + " " + b + `"`: func(words []string) bool { return strings.Contains(" "+strings.Join(words, " ")+" ", " "+a+" "+b+" ") },
			} {
				var want []string
				for id, words := range there {
					if has(words) {
						want = append(want, id)
					}
				}
				slices.Sort(want)
				if got := k.found(who, query, search.Options{}); got != strings.Join(want, " ") {
					rt.Errorf("%q finds %q, not %q in %q", query, got, want, there)
				}
			}
		})
	})
}

func TestMergeKeepsFewSegments(t *testing.T) {
	storetest.Each(t, parts, func(t *testing.T, open func() *store.DB) {
		db, key := open(), filepath.Join(t.TempDir(), "key")
		k := newKit(t, db, key, 0)
		ctx, end := context.WithCancel(t.Context())
		var tended sync.WaitGroup
		tended.Go(func() { k.Tend(ctx, func(err error) { t.Error(err) }) })
		other := newKit(t, db, key, 0) // another server, which merges too
		tended.Go(func() { other.Tend(ctx, func(err error) { t.Error(err) }) })
		const n = 300
		for i := range n {
			[]*kit{k, other}[i%2].write("ann", []search.Doc{doc(fmt.Sprint(i), fmt.Sprintf("plum number%d", i))})
			if i%50 == 0 {
				if got := len(strings.Fields(k.found("ann", "plum", search.Options{}))); got != i+1 {
					t.Errorf("%d of %d found while segments are merged", got, i+1)
				}
			}
		}
		end()
		tended.Wait()
		for range 3 { // what was under way has ended: the rest
			if err := k.Merge(t.Context(), "ann"); err != nil {
				t.Fatal(err)
			}
		}
		if rows := k.rows(); rows > 24 {
			t.Errorf("%d segments of %d documents", rows, n)
		}
		for _, x := range []*kit{k, other, newKit(t, db, key, 0)} {
			if got := len(strings.Fields(x.found("ann", "plum", search.Options{}))); got != n {
				t.Errorf("%d of %d", got, n)
			}
			if got := x.found("ann", "number7 ", search.Options{}); got != "7" {
				t.Errorf("number7 is %q", got)
			}
		}
	})
}

// A process that ends at any time has lost nothing that was committed, and a transaction that
// wasn't has left nothing.
func TestTransaction(t *testing.T) {
	db, key := storetest.Open(t, filepath.Join(t.TempDir(), "server.db"), parts), filepath.Join(t.TempDir(), "key")
	k := newKit(t, db, key, 0)
	k.write("ann", []search.Doc{doc("1", "plum")})
	ring, err := k.vault.Ring(t.Context(), "ann")
	if err != nil {
		t.Fatal(err)
	}
	no := errors.New("no")
	err = db.Update(t.Context(), func(q store.Querier) error {
		return errors.Join(k.Write(t.Context(), q, ring, "ann", []search.Doc{doc("2", "plum")}, nil), no)
	})
	if !errors.Is(err, no) {
		t.Fatal(err)
	}
	for range 20 {
		k.write("ann", []search.Doc{doc("3", "plum")})
	}
	k.write("ann", nil, search.Ref{Kind: "message", ID: "3"})
	next := newKit(t, db, key, 0) // the process that comes after a kill
	if got := next.found("ann", "plum", search.Options{}); got != "1" {
		t.Errorf("%q", got)
	}
	if err := next.Delete(t.Context(), db, "ann"); err != nil {
		t.Fatal(err)
	}
	if got := k.found("ann", "plum", search.Options{}); got != "" {
		t.Errorf("after all was deleted: %q", got)
	}
}

func TestLocked(t *testing.T) {
	pacetest.Costly(t)
	db := storetest.Open(t, filepath.Join(t.TempDir(), "server.db"), parts)
	k := newKit(t, db, filepath.Join(t.TempDir(), "key"), 0)
	if _, err := k.vault.SetMode(t.Context(), "ann", vault.Own, "quince jelly 1"); err != nil {
		t.Fatal(err)
	}
	k.write("ann", []search.Doc{doc("1", "plum")})
	if got := k.found("ann", "plum", search.Options{}); got != "1" {
		t.Errorf("%q", got)
	}
	k.vault.Lock("ann")
	if _, err := k.Search(t.Context(), "ann", "plum", search.Options{}); !errors.Is(err, vault.ErrLocked) {
		t.Errorf("locked: %v", err)
	}
	if err := k.vault.Unlock(t.Context(), "ann", "quince jelly 1"); err != nil {
		t.Fatal(err)
	}
	if got := k.found("ann", "plum", search.Options{}); got != "1" {
		t.Errorf("unlocked: %q", got)
	}
	var data []byte
	if err := db.QueryRow(t.Context(), `SELECT data FROM {search_segments}`).Scan(&data); err != nil || bytes.Contains(data, []byte("plum")) {
		t.Errorf("%q, %v", data, err)
	}
}

func TestSnippet(t *testing.T) {
	long := strings.Repeat("Nothing to see here. ", 40) + "A plum\nand a Quínce lie on the table. " + strings.Repeat("More text follows. ", 40)
	for _, tt := range []struct{ text, query, want string }{
		{"A plum and a pear.", "plum", "A [plum] and a pear."},
		{"plum, Plums and PLUM", "plum ", "[plum], Plums and [PLUM]"},
		{"plum, Plums and PLUM", "plum", "[plum], [Plums] and [PLUM]"},
		{"the end of the line", `"the line"`, "the end of [the line]"},
		{"我喜欢喝咖啡和茶", "喝咖啡", "我喜欢[喝咖啡]和茶"},
		{"我喜欢喝咖啡和茶", "茶", "我喜欢喝咖啡和[茶]"},
		{"Straße", "strasse", "[Straße]"},
		{"nothing", "plum", "nothing"},
		{"", "plum", ""},
	} {
		if got := marked(search.Show(tt.text, tt.query, 100)); got != tt.want {
			t.Errorf("%q in %q: %q, not %q", tt.query, tt.text, got, tt.want)
		}
	}
	got := marked(search.Show(long, "plum quince", 100))
	if !strings.HasPrefix(got, "…") || !strings.HasSuffix(got, "…") || !strings.Contains(got, "[plum]\nand a [Quínce] lie") || len(got) > 130 {
		t.Errorf("%q", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		s := search.Show(rapid.String().Draw(t, "text"), rapid.String().Draw(t, "query"), rapid.IntRange(0, 50).Draw(t, "size"))
		at := 0
		for _, r := range s.Ranges {
			if r[0] < at || r[1] <= r[0] || r[1] > len(s.Text) {
				t.Errorf("ranges %v of %q", s.Ranges, s.Text)
			}
			at = r[1]
		}
	})
}

func marked(s search.Snippet) string {
	out, at := "", 0
	for _, r := range s.Ranges {
		out += s.Text[at:r[0]] + "[" + s.Text[r[0]:r[1]] + "]"
		at = r[1]
	}
	return out + s.Text[at:]
}

// messages are of about 1 KB, with words as often as in real texts, and rare ones.
func messages(n int) (docs []search.Doc) {
	random := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(random, 1.1, 2, 30_000)
	for i := range n {
		var b strings.Builder
		for b.Len() < 1000 {
			fmt.Fprintf(&b, "%s ", word(zipf.Uint64()))
		}
		d := doc(fmt.Sprintf("%08x", i), b.String())
		d.Parent = fmt.Sprint("chat", i/100)
		docs = append(docs, d)
	}
	return docs
}

// word gives short words to small numbers.
func word(n uint64) string {
	const syllables = "tarimodelakunipesovehazu"
	w := ""
	for n++; n > 0; n /= 12 {
		w += syllables[n%12*2:][:2]
	}
	return w
}

// 10,000 messages of 1 KB: opened within 300 ms, searched within 20 ms. TestFigures prints what it was.
func TestFigures(t *testing.T) {
	const n = 10_000
	machine, quiet := pacetest.New(t), os.Getenv("BURIN_BUDGETS") == "1"
	db, key := storetest.Open(t, filepath.Join(t.TempDir(), "server.db"), parts), filepath.Join(t.TempDir(), "key")
	k := newKit(t, db, key, 0)
	docs := messages(n)
	began := time.Now()
	for some := range slices.Chunk(docs, 100) {
		k.write("ann", some)
		if err := k.Merge(t.Context(), "ann"); err != nil {
			t.Fatal(err)
		}
	}
	indexed := time.Since(began)
	docs = nil
	var stored int64
	if err := db.QueryRow(t.Context(), `SELECT sum(size) FROM {search_segments}`).Scan(&stored); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	fresh := newKit(t, db, key, 0)
	began = time.Now()
	if _, err := fresh.Search(t.Context(), "ann", "zzz", search.Options{}); err != nil {
		t.Fatal(err)
	}
	opened := time.Since(began)
	runtime.GC()
	runtime.ReadMemStats(&after)
	fmt.Fprintf(t.Output(), "%d messages: indexed in %v, %d KB sealed in %d segments, opened in %v, %d KB in memory\n",
		n, indexed, stored>>10, k.rows(), opened, (after.HeapAlloc-before.HeapAlloc)>>10)
	for _, query := range []string{word(0) + " ", word(0), word(1)[:1], word(500), word(20_000) + " ", word(0) + " " + word(5) + " " + word(9), `"` + word(0) + " " + word(1) + `"`, `"` + word(3) + " " + word(40) + `"`} {
		best := time.Hour
		var r search.Result
		for range 5 {
			began := time.Now()
			var err error
			if r, err = fresh.Search(t.Context(), "ann", query, search.Options{}); err != nil {
				t.Fatal(err)
			}
			best = min(best, time.Since(began))
		}
		fmt.Fprintf(t.Output(), "%-20q %6d found in %v\n", query, r.Total, best)
		if machine.Look(); best > machine.Allow(20*time.Millisecond) && quiet {
			t.Errorf("%q took %v", query, best)
		}
	}
	if opened > machine.Allow(300*time.Millisecond) && quiet {
		t.Errorf("opened in %v", opened)
	}
	if used := after.HeapAlloc - before.HeapAlloc; used > 16<<20 {
		t.Errorf("%d KB in memory", used>>10)
	}
	runtime.KeepAlive(fresh)
}

// What is in memory is bounded: others are forgotten, and opened again.
func TestMemoryIsBounded(t *testing.T) {
	pacetest.Costly(t)
	db, key := storetest.Open(t, filepath.Join(t.TempDir(), "server.db"), parts), filepath.Join(t.TempDir(), "key")
	k := newKit(t, db, key, 1<<20)
	docs := messages(300)
	const people = 12
	for i := range people {
		k.write(fmt.Sprint("p", i), docs)
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for range 2 {
		for i := range people {
			if got := k.found(fmt.Sprint("p", i), word(0)+" ", search.Options{}); got == "" {
				t.Errorf("p%d finds nothing", i)
			}
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 2<<20 {
		t.Errorf("%d KB for %d people", grown>>10, people)
	}
	runtime.KeepAlive(docs)
}
